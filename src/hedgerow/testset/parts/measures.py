"""Which metrics are read from sums of labels over parts, and what of predictions their parts are made.

==========  ===============================  ===============================  ==========================================
kind        predictions                      parts of a group                 metrics
==========  ===============================  ===============================  ==========================================
right       labels                           one                              accuracy, zero_one_loss
classes     labels                           predicted positive, or not       precision, recall, specificity, f1,
                                                                              balanced_accuracy
ranks       numbers, larger where positive   one, weighted by ranks           roc_auc
            is likelier
chances     chances of the positive label    ten bins of equal width          calibration_error
squares     numbers                          one, of squared errors           r2, mean_squared_error
==========  ===============================  ===============================  ==========================================

Metrics of one kind are read from the same look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.given import format_argument
from hedgerow.testset.parts.readings import Gaps, MeanOfTwo, RankedPairs, Reading, Share
from hedgerow.testset.parts.squares import Determination, MeanSquare

Floats = NDArray[np.float64]
Kind = Literal["right", "classes", "ranks", "chances", "squares"]
BINS = 10
SUBPARTS: dict[Kind, int] = {"right": 1, "classes": 2, "ranks": 1, "chances": BINS, "squares": 1}


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What is known of one group, or of all records: noisy sums of labels by part, and what depends on no label.

    Attributes
    ----------
    sums : float array
        Of `ranks` the number of positive records and the sum of their centred ranks; else the positive (or right)
        records of each part.
    sds : float array
        Of the noise on each.
    sizes : int array
        How many records each part has.
    chances : float array
        The sum of the chances of each part.
    """

    sums: Floats
    sds: Floats
    sizes: NDArray[np.int64]
    chances: Floats


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric by its name."""

    name: str
    kind: Kind
    greater_is_better: bool
    read: Callable[[Any], Reading]
    unread: tuple[str, ...] = ()
    """The fields of a record's ``released`` that hold sums, which this metric is not read from."""


def _right(told: Told) -> Share:
    size = float(told.sizes.sum())
    right = min(size, max(0.0, float(told.sums[0])))
    return Share(right, size - right, (1.0,), (-1.0,), float(told.sds[0]))


def _wrong(told: Told) -> Share:
    right = _right(told)
    return Share(right.wrong, right.right, (-1.0,), (1.0,), right.sd)


def _kinds(told: Told) -> tuple[float, float, float, float, float]:
    """Return true negatives, false negatives, false positives, true positives, and the sd of the noise."""
    missed, found = (float(one) for one in told.sums)
    rest, called = (float(one) for one in told.sizes)
    missed, found = min(rest, max(0.0, missed)), min(called, max(0.0, found))
    return rest - missed, missed, called - found, found, float(told.sds[0])


def _precision(told: Told) -> Share:
    _, _, false, found, sd = _kinds(told)
    return Share(found, false, (0.0, 1.0), (0.0, -1.0), sd)


def _recall(told: Told) -> Share:
    _, missed, _, found, sd = _kinds(told)
    return Share(found, missed, (0.0, 1.0), (1.0, 0.0), sd)


def _specificity(told: Told) -> Share:
    rest, _, false, _, sd = _kinds(told)
    return Share(rest, false, (-1.0, 0.0), (0.0, -1.0), sd)


def _f1(told: Told) -> Share:
    _, missed, false, found, sd = _kinds(told)
    return Share(found, false + missed, (0.0, 1.0), (1.0, -1.0), sd, doubled=True)


def _balanced(told: Told) -> MeanOfTwo:
    return MeanOfTwo(_recall(told), _specificity(told))


def _roc_auc(told: Told) -> RankedPairs:
    records = int(told.sizes.sum())
    positives = min(float(records), max(0.0, float(told.sums[0])))
    return RankedPairs(float(told.sums[1]), positives, records, float(told.sds[1]), float(told.sds[0]))


def _calibration(told: Told) -> Gaps:
    some = told.sizes > 0
    lists = (one[some].tolist() for one in (told.sums, told.chances, told.sizes))
    positives, chances, sizes = (tuple(one) for one in lists)
    return Gaps(positives, chances, sizes, float(told.sds[0]))


MEASURES: dict[str, Measure] = {
    one.name: one
    for one in (
        Measure("accuracy", "right", True, _right),
        Measure("zero_one_loss", "right", False, _wrong),
        Measure("precision", "classes", True, _precision, ("sums.*.0.*",)),
        Measure("recall", "classes", True, _recall),
        Measure("specificity", "classes", True, _specificity),
        Measure("f1", "classes", True, _f1),
        Measure("balanced_accuracy", "classes", True, _balanced),
        Measure("roc_auc", "ranks", True, _roc_auc),
        Measure("calibration_error", "chances", False, _calibration),
        Measure("r2", "squares", True, Determination),
        Measure("mean_squared_error", "squares", False, MeanSquare, ("sums.**",)),
    )
}


def parse_measures(metric: str | Sequence[str]) -> tuple[Measure, ...]:
    """Return the metrics of one name or several of one kind (HG171).

    >>> [one.name for one in parse_measures(["f1", "recall"])]
    ['f1', 'recall']
    """
    names = [metric] if isinstance(metric, str) else list(metric)
    names = [one.replace("-", "_") if isinstance(one, str) else one for one in names]
    names = ["zero_one_loss" if one == "zero_one" else one for one in names]
    unknown = [one for one in names if one not in MEASURES]
    if unknown or not names or len(set(names)) < len(names):
        raise ParameterError(
            "HG171",
            rule="A look by parts tells one or more of " + ", ".join(MEASURES) + ".",
            finding=f"Found {format_argument(unknown[0])}." if unknown else "Found none, or one twice.",
            remedy="brier and log-loss are metrics of a test set of their own. No look was taken.",
        )
    found = tuple(MEASURES[one] for one in names)
    if len({one.kind for one in found}) > 1:
        raise ParameterError(
            "HG171",
            rule="Metrics of one look are read from the same predictions and parts.",
            finding="These need different ones.",
            remedy="Take a look for each kind: "
            + "; ".join(", ".join(one.name for one in MEASURES.values() if one.kind == kind) for kind in SUBPARTS)
            + ". No look was taken.",
        )
    return found
