"""Which cells differ: from a value, from what the cells have in common, or from an earlier release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import Interval, parse_level
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.many_cells.multiple_tests import METHODS, Method, adjusted
from hedgerow.inference.region import least_alpha
from hedgerow.release.ask import covariances, found
from hedgerow.release.readings.numbers_of_cells import noise_law_of, numbers_of, reach, rows_of_columns, unfit_reading

Floats = NDArray[np.float64]
COMMON = "common"
_PROMISES = {
    "benjamini-yekutieli": "Of the cells that are said to differ, on average at most {:.3g} % do not.",
    "bonferroni": "With a chance of {:.3g} %, some cell is said to differ that does not.",
    "holm": "With a chance of {:.3g} %, some cell is said to differ that does not.",
}


@dataclass(frozen=True, slots=True)
class ScreenedCell:
    """The test of one cell in a screening of many cells.

    Attributes
    ----------
    estimate : Estimate
    difference : float
        The difference between the cell and the reference.
    pvalue : float
        The p-value of the cell alone.
    adjusted_pvalue : float
        The p-value of the cell, adjusted for the number of tests.
    differs : bool
        Whether the adjusted p-value is at most the error rate of the list.
    """

    estimate: Estimate
    difference: float
    pvalue: float
    adjusted_pvalue: float
    differs: bool


@dataclass(frozen=True, slots=True)
class Screening:
    """The tests of all cells of one statistic, with one error rate for the whole list.

    Attributes
    ----------
    cells : tuple of ScreenedCell
        The tests, in the order in which the release lists the cells.
    level : float
    method : str
    against : str
        The reference with which the cells are compared, in words.
    """

    cells: tuple[ScreenedCell, ...]
    level: float
    method: str
    against: str

    @property
    def differing(self) -> tuple[Estimate, ...]:
        """The estimates that differ."""
        return tuple(cell.estimate for cell in self.cells if cell.differs)

    @property
    def promise(self) -> str:
        """What holds for the list of cells that differ, in a sentence."""
        return _PROMISES[self.method].format(100.0 * self.level)

    def __str__(self) -> str:
        lines = [
            f"{cell.estimate.label()}: {cell.difference:+.6g}, adjusted p = {cell.adjusted_pvalue:.3g}"
            for cell in self.cells
            if cell.differs
        ]
        head = f"{len(lines)} of {len(self.cells)} cells differ from {self.against}."
        return "\n".join([head, *lines, f"{self.promise} Sampling and privacy noise are counted."])

    def __repr__(self) -> str:
        return f"<Screening: {len(self.differing)} of {len(self.cells)} cells differ from {self.against}>"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the tests of the cells as columns of equal length."""
        return {
            "cell": [dict(cell.estimate.cell) for cell in self.cells],
            "estimate": [cell.estimate.estimate for cell in self.cells],
            **{
                name: [getattr(cell, name) for cell in self.cells]
                for name in ScreenedCell.__slots__
                if name != "estimate"
            },
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        about = {"level": self.level, "method": self.method, "against": self.against, "promise": self.promise}
        return {**about, "cells": rows_of_columns(self.to_columns())}


def screened(
    estimates: Sequence[Estimate],
    *,
    of: object,
    against: object,
    level: object,
    method: object,
    independent: bool,
) -> Screening:
    """Return the screening of the cells of a statistic; see `Release.screen`."""
    if not isinstance(method, str) or method not in METHODS:
        raise unfit_reading(
            f"A screening is by one of {', '.join(METHODS)}.",
            f"Found {format_argument(method)}.",
            'Use method="benjamini-yekutieli".',
        )
    alpha = parse_level(level)
    numbers = numbers_of(estimates, of, least=2)
    value = as_float(against)
    if value is not None and math.isfinite(value):
        differences = np.array([number.estimate - value for number in numbers])
        pvalues, said = np.array([number.test(value).pvalue for number in numbers]), f"{value:.15g}"
    elif against == COMMON:
        differences, pvalues = _against_common(numbers)
        said = "the mean of all cells" + ("" if _records(numbers) is None else ", weighted by their records")
    elif isinstance(against, Iterable) and not isinstance(against, str):
        differences, pvalues = _against_earlier(numbers, list(against), independent=independent)
        said = "the earlier release"
    else:
        raise unfit_reading(
            'Cells are compared with a number, with "common", or with an earlier release.',
            f"Found {format_argument(against)}.",
            'Use against="common", for example.',
        )
    after = adjusted(pvalues, cast(Method, method))
    rows = zip(numbers, differences.tolist(), pvalues.tolist(), after.tolist(), strict=True)
    cells = tuple(
        ScreenedCell(number, difference, alone, together, together <= alpha)
        for number, difference, alone, together in rows
    )
    return Screening(cells, alpha, method, said)


def _errors(numbers: Sequence[Estimate]) -> tuple[Floats, Floats]:
    """Return the sampling errors and those of the noise, replicates included; ∞ where there are none."""
    parts = [
        (number.sampling_error, math.hypot(number.privacy_error, number.bootstrap_error or 0.0))
        if number.sampling_error is not None and number.privacy_error is not None
        else (math.inf, math.inf)
        for number in numbers
    ]
    sampling, noise = np.array(parts).T
    return sampling, noise


def _against_common(numbers: Sequence[Estimate]) -> tuple[Floats, Floats]:
    """Return the differences of cells from their mean, and the p-values."""
    values, known = np.array([number.estimate for number in numbers]), covariances(numbers)
    read = np.isfinite(np.diag(known.total))
    if read.sum() < 2 or not np.isfinite(known.total[np.ix_(read, read)]).all():
        raise unfit_reading(
            "Cells are compared with what they have in common if it is known how their errors go together.",
            "That is not known here." if read.sum() >= 2 else "Fewer than two cells have errors.",
            "Compare them with a number.",
        )
    records = _records(numbers)
    weights = np.where(read, np.ones(len(values)) if records is None else records, 0.0)
    away = np.eye(len(values)) - weights / weights.sum()
    sampling, noise = (np.where(np.isfinite(part), part, 0.0) for part in (known.sampling, known.noise))
    spread = [np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", away, part, away), 0.0)) for part in (sampling, noise)]
    differences = away @ values
    return differences, np.where(read, _pvalues(differences, spread[0], spread[1], numbers), 1.0)


def _records(numbers: Sequence[Estimate]) -> Floats | None:
    """Return of how many records each number is a mean or a share; None where that is not known of all of them."""
    joints = [number._joint for number in numbers]
    records = [joint.records for joint in joints if isinstance(joint, JointValue)]
    known = [number for number in records if number is not None]
    return np.array(known) if len(known) == len(numbers) and any(known) else None


def _against_earlier(
    numbers: Sequence[Estimate], earlier: Sequence[Estimate], *, independent: bool
) -> tuple[Floats, Floats]:
    """Return the differences of cells from those of an earlier release, and the p-values.

    The same people may be in both: then sampling errors may cancel or add up, and their sum is taken.
    """
    before = [found(earlier, *number._asked_as, number.cell) for number in numbers]
    differences = np.array([new.estimate - old.estimate for new, old in zip(numbers, before, strict=True)])
    (sampling, noise), (sampled_before, noise_before) = _errors(numbers), _errors(before)
    both = np.hypot(sampling, sampled_before) if independent else sampling + sampled_before
    return differences, _pvalues(differences, both, np.hypot(noise, noise_before), numbers)


def _pvalues(differences: Floats, sampling: Floats, noise: Floats, numbers: Sequence[Estimate]) -> Floats:
    """Return two-sided p-values that 0 is the truth, by the law of a normal number plus the noise."""
    law = noise_law_of(numbers)

    def one(difference: float, sampled: float, noisy: float) -> float:
        if not math.isfinite(sampled) or not sampled + noisy:
            return 1.0 if difference == 0.0 or not math.isfinite(sampled) else 0.0
        return least_alpha(lambda alpha: abs(difference) - reach(law, 1.0 - alpha, sampled, noisy))

    return np.array([one(*row) for row in zip(differences.tolist(), sampling.tolist(), noise.tolist(), strict=True)])


def simultaneous(estimates: Sequence[Estimate], *, of: object, level: object) -> tuple[Interval, ...]:
    """Return the intervals of the cells of a statistic which hold all at once; see `Release.simultaneous_intervals`."""
    numbers, number = numbers_of(estimates, of), parse_level(level)
    each = 1.0 - (1.0 - number) / len(numbers)
    return tuple(replace(estimate.confidence_interval(each), level=number) for estimate in numbers)
