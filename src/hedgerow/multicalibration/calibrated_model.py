"""A calibrated model: calibrations, one a class above two classes, with the public facts that they were made from.

Everything in a private model is a function of noisy releases and public facts, so it may be published with its
certificate. A calibration maps (score, classes) to a calibrated score; it holds no data, and JSON can hold it:

=================  =====================================================================================
`Shifts`           one shift for each atom × score bin of the original score (the count table)
`Patches`          rounds of shifts for group × bucket of the CURRENT score (Algorithm 1 and the mechanisms like it)
=================  =====================================================================================

Both add shifts to a score and clip the result to a range; a score without a shift stays as it is.

Calibration errors are read from `Residuals`, exact or noisy. A **cell** is a group × bucket of the prediction. With y
the labels and p the predictions of its records, R = Σ (y − p) and N is their number. Where a noisy table was released,
R and N come from it, with its noise.

The private side of a fit: how many records share a score, a label and a combination of classes.

Like everything in hedgerow, data enter as a histogram. Two records with the same score, label and classes are
exchangeable, so nothing else is kept; whatever the number of records, work is in the number of distinct rows.

Scores lie on a public **grid**: a score in [0, 1] is a whole number of millionths wherever it is counted or added up.
A residual y − p is then an integer too, so sums are exact and their sensitivity is a whole number. Rounding is a public
function of the score of one record, so it costs no budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError
from hedgerow.facts.columns import Scalar
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.multicalibration.family import Column, Family, RecordColumns, spread_to_patterns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STEPS = 1_000_000
# Scores are neither distinguished nor returned beyond these: a wrong score of exactly 0 or 1 has an infinite log loss.
LOW, HIGH = 0.001, 0.999


def to_grid(scores: Floats) -> Integers:
    """Return scores as indices 0..STEPS, clamped into [0, 1]; NaN counts as ½, a constant.

    >>> to_grid(np.array([0.25, 1.5, float("nan")])).tolist()
    [250000, 1000000, 500000]
    """
    return np.floor(as_scores(scores) * STEPS + 0.5).astype(np.int64)


def from_grid(index: Integers) -> Floats:
    """Return the scores of grid indices.

    >>> from_grid(np.array([250000])).tolist()
    [0.25]
    """
    return np.asarray(index / STEPS, dtype=np.float64)


def as_scores(scores: Floats) -> Floats:
    """Return scores clamped into [0, 1]; NaN counts as ½."""
    return np.where(np.isnan(scores), 0.5, np.clip(scores, 0.0, 1.0))


def bucket_of(index: Integers, n_buckets: int) -> Integers:
    """Return the bucket of each grid index: [b/k, (b + 1)/k), the last one closed, in exact integers.

    >>> bucket_of(np.array([0, 99_999, 100_000, 1_000_000]), 10).tolist()
    [0, 0, 1, 9]
    """
    return np.minimum(index * n_buckets // STEPS, n_buckets - 1)


def score_bucket(scores: Floats, n_buckets: int) -> Integers:
    """Return the bucket of each score, for scores that need not lie on the grid."""
    return np.minimum((scores * n_buckets).astype(np.int64), n_buckets - 1)


@dataclass(frozen=True, slots=True)
class ScoreBins:
    """`count` bins of [0, 1]: their edges divide [logit .001, logit .999] evenly, the end bins reach to 0 and 1.

    Many scores of classifiers are near 0 and 1, where bins of equal width would put unlike scores together.

    >>> ScoreBins(4).edges.round(3).tolist()
    [0.031, 0.5, 0.969]
    >>> ScoreBins(4).of(np.array([0.0, 0.4, 0.5, 1.0])).tolist()
    [0, 1, 2, 3]
    """

    count: int

    def _scores(self, position: Floats) -> Floats:
        end = np.log(HIGH / LOW)
        return np.asarray(1.0 / (1.0 + np.exp(-end * (2.0 * position / self.count - 1.0))), dtype=np.float64)

    @property
    def edges(self) -> Floats:
        """The inner edges, (count − 1,); bin b is [edges[b − 1], edges[b])."""
        return self._scores(np.arange(1.0, self.count))

    @property
    def centres(self) -> Floats:
        """The middle of each bin on the logit scale, (count,)."""
        return self._scores(np.arange(0.5, self.count))

    def of(self, scores: Floats) -> Integers:
        """Return the bin of each score."""
        return np.searchsorted(self.edges, scores, side="right").astype(np.int64)


@dataclass(frozen=True)
class Records:
    """Distinct rows of (pattern, score, label) and how often each occurs. PRIVATE: nothing in here is released.

    Attributes
    ----------
    family : Family
        The public groups.
    patterns : int array, (P, attributes)
        The combinations of classes that occur, which are private too; `pattern` points into it.
    pattern, score, label : int arrays, (D,)
        Row by row: which pattern, grid index of the score (0..STEPS), and label 0 or 1.
    count : array, (D,)
        How many records share the row: integers, or sums of sample weights, which no private mechanism takes.
    """

    family: Family
    patterns: Integers
    pattern: Integers
    score: Integers
    label: Integers
    count: Integers | Floats

    @classmethod
    def of(
        cls, family: Family, classes: Integers, scores: Floats, labels: Integers, weights: Floats | None = None
    ) -> Records:
        """Fold records into distinct rows: `classes` as `Family.classes` gives them, scores in [0, 1], labels 0 or 1.

        >>> family = Family((), depth=1)
        >>> scores, labels = np.array([0.75, 0.25, 0.25]), np.array([0, 1, 1])
        >>> Records.of(family, np.zeros((3, 0), dtype=np.int64), scores, labels).count.tolist()
        [2, 1]
        """
        patterns, pattern = fold_classes(family, classes)
        code = (pattern * (STEPS + 1) + to_grid(np.asarray(scores, dtype=np.float64))) * 2 + labels
        if weights is None:
            rows, count = np.unique(code, return_counts=True)
            count = count.astype(np.int64)
        else:
            rows, row = np.unique(code, return_inverse=True)
            count = np.bincount(row, weights, minlength=len(rows))
        folded, label = np.divmod(rows, 2)
        folded, score = np.divmod(folded, STEPS + 1)
        return cls(family, patterns, folded, score, label, count)

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """Which groups each pattern is in, (P, groups)."""
        return self.family.membership(self.patterns)

    @cached_property
    def residual(self) -> Integers:
        """Residual y − p of each row in grid steps: an integer between −STEPS and STEPS."""
        return self.label * STEPS - self.score

    @cached_property
    def scores(self) -> Floats:
        """The score of each row, in [0, 1]."""
        return from_grid(self.score)

    def total(self) -> float:
        """Return the number of records (or the sum of weights)."""
        return float(self.count.sum())


def fold_classes(family: Family, classes: Integers) -> tuple[Integers, Integers]:
    """Return the distinct combinations of classes, and which of them each record has."""
    if not classes.shape[1]:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(len(classes), dtype=np.int64)
    if family.atoms < 2**20:
        codes = family.atom_codes(classes)
        present = np.bincount(codes, minlength=family.atoms) > 0
        return family.atom_classes()[present], (np.cumsum(present) - 1)[codes]
    if family.atoms < 2**62:
        _, first, inverse = np.unique(family.atom_codes(classes), return_index=True, return_inverse=True)
        return classes[first], inverse
    patterns, inverse = np.unique(classes, axis=0, return_inverse=True)
    return patterns, inverse.ravel()


WRITTEN = 6e-7
"""How far a residual that was read may be from the one that was written, with six decimals."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A mean loss and the standard deviation of the privacy noise in it (0 where it is exact)."""

    value: float
    noise_sd: float


@dataclass(frozen=True, slots=True)
class Residuals:
    """R, N and Σ p of every cell, with the standard deviation of the privacy noise in them.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups, the rows of the arrays.
    residual, count, predicted : float array, (groups, buckets)
        R = Σ (y − p), N, and Σ p. Noisy counts may be negative; they are kept as they were released.
    residual_sd, count_sd : float array, (groups, buckets)
        Standard deviation of the privacy noise on R and on N; 0 where they are exact.
    n : float
        The number of records: exact, public, or read from the noisy table.
    private : bool
        Whether these were read from a release; exact residuals are data, and are never released.
    log_loss, brier : Loss or None
        Mean losses of the scores, where they can be read from the release.
    """

    groups: tuple[str, ...]
    residual: Floats
    count: Floats
    predicted: Floats
    residual_sd: Floats
    count_sd: Floats
    n: float
    private: bool
    log_loss: Loss | None = None
    brier: Loss | None = None

    @classmethod
    def exact(cls, groups: tuple[str, ...], sums: Floats, n: float, *, log_loss: float, brier: float) -> Residuals:
        """Return residuals without noise; `sums` holds R, N and Σ p, (3, groups, buckets)."""
        residual, count, predicted = sums
        none = np.zeros_like(residual)
        return cls(groups, residual, count, predicted, none, none, n, False, Loss(log_loss, 0.0), Loss(brier, 0.0))


class Calibration(Protocol):
    """Maps scores to calibrated scores. It holds only public facts and released numbers."""

    @property
    def kind(self) -> str:
        """``"shifts"`` or ``"patches"``: the name in a model file."""
        ...

    def fits(self, family: Family) -> bool:
        """Whether its cells are those of the groups."""
        ...

    def apply(self, family: Family, classes: Integers, scores: Floats) -> Floats:
        """Return calibrated scores of records of these classes (as `Family.classes` gives them)."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        ...


@dataclass(frozen=True, slots=True)
class Shifts:
    """Calibrated score = clip(p + shift[atom, bin of p], low, high).

    Attributes
    ----------
    edges : float array, (bins − 1,)
        Inner edges of the score bins, rising; bin b is [edges[b − 1], edges[b]).
    shift : float array, (atoms, bins)
        What is added.
    low, high : float
        The range of the output.
    """

    edges: Floats
    shift: Floats
    low: float
    high: float
    kind: ClassVar[str] = "shifts"

    def fits(self, family: Family) -> bool:
        """Whether there is a shift of each atom and bin, and the bins are in order."""
        return self.shift.shape == (family.atoms, len(self.edges) + 1) and bool((np.diff(self.edges) > 0).all())

    def apply(self, family: Family, classes: Integers, scores: Floats) -> Floats:
        """Return calibrated scores, (records,)."""
        known = as_scores(scores)
        bins = np.searchsorted(self.edges, known, side="right")
        moved = known + self.shift[family.atom_codes(classes), bins]
        return np.asarray(np.clip(moved, self.low, self.high), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return {
            "kind": self.kind,
            "edges": self.edges.tolist(),
            "shift": self.shift.tolist(),
            "low": self.low,
            "high": self.high,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Shifts:
        """Read it back."""
        edges, shift = (np.asarray(record[name], dtype=np.float64) for name in ("edges", "shift"))
        return cls(edges, shift, float(record["low"]), float(record["high"]))


@dataclass(frozen=True, slots=True)
class Patch:
    """One round: every record moves by the sum of the shifts of its cells, all found by the same current score.

    Attributes
    ----------
    cells : int array, (shifted, 2)
        (group, bucket) of each cell that is shifted.
    shift : int array, (shifted,)
        By how much, in grid steps (1/STEPS).
    """

    cells: Integers
    shift: Integers

    def move(self, family: Family, patterns: Integers, pattern: Integers, score: Integers, n_buckets: int) -> Integers:
        """Return the scores after this round, as grid indices, of records whose classes are ``patterns[pattern]``."""
        table = np.zeros((len(family.groups), n_buckets))
        np.add.at(table, (self.cells[:, 0], self.cells[:, 1]), self.shift)
        moves = spread_to_patterns(family, patterns, table).astype(np.int64)
        moved: Integers = np.clip(score + moves[pattern, bucket_of(score, n_buckets)], 0, STEPS)
        return moved


@dataclass(frozen=True, slots=True)
class Patches:
    """Rounds of shifts by group and bucket of the current score, projected to [0, 1] after each.

    The current score is kept on the grid of scores, so that applying the model takes exactly the steps that fitting it
    took. The output is clipped to [low, high].

    Attributes
    ----------
    n_buckets : int
        k: how many buckets of equal width.
    rounds : tuple of Patch
        What moves, in order.
    low, high : float
        The range of the output.
    """

    n_buckets: int
    rounds: tuple[Patch, ...]
    low: float = 0.0
    high: float = 1.0
    kind: ClassVar[str] = "patches"

    def fits(self, family: Family) -> bool:
        """Whether every cell is of a group and a bucket."""
        cells = np.concatenate([patch.cells for patch in self.rounds] or [np.zeros((0, 2), dtype=np.int64)])
        return bool((cells >= 0).all() and (cells < [len(family.groups), self.n_buckets]).all())

    def apply(self, family: Family, classes: Integers, scores: Floats) -> Floats:
        """Return calibrated scores, (records,)."""
        patterns, pattern = fold_classes(family, classes)
        first = current = to_grid(scores)
        for patch in self.rounds:
            current = patch.move(family, patterns, pattern, current, self.n_buckets)
        moved = as_scores(scores) + (current - first) / STEPS
        return np.asarray(np.clip(moved, self.low, self.high), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        rounds = [{"cells": patch.cells.tolist(), "shift": patch.shift.tolist()} for patch in self.rounds]
        return {"kind": self.kind, "n_buckets": self.n_buckets, "rounds": rounds, "low": self.low, "high": self.high}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Patches:
        """Read it back."""
        rounds = tuple(
            Patch(np.asarray(r["cells"], dtype=np.int64).reshape(-1, 2), np.asarray(r["shift"], dtype=np.int64))
            for r in record["rounds"]
        )
        return cls(int(record["n_buckets"]), rounds, float(record["low"]), float(record["high"]))


CONSENT = "on_private_rows_without_protection"
"""The value of `base_fit` that allows a base model to be fitted on the private records themselves."""

NOT_PROTECTED = "NOT PROTECTED"
"""The first words of the assumption on a certificate which says that its price does not hold for the records."""

_ALONE = " A record's score depends on no other record of the fit."


class BaseOrigin(Enum):
    """Where a base model comes from; the value is what the certificate says.

    ===============  ====================================================================
    `GIVEN`          it was fitted before the call, or its scores are precomputed
    `CERTIFIED`      it was fitted before the call and has a ``certificate_`` of its own
    `APART`          it was fitted in this call on other rows (`base_rows`)
    `UNPROTECTED`    it was fitted on the private rows themselves, with the caller's consent
    ===============  ====================================================================
    """

    GIVEN = (
        "The base model, its preprocessing and the choice of groups are public facts here: what they tell of the "
        "records that they were made from is not covered." + _ALONE
    )
    CERTIFIED = (
        "The base model carries a certificate of its own, whose price adds to this one; the groups are public facts."
        + _ALONE
    )
    APART = (
        "The base model was fitted in the same call on rows passed apart, which this price does not cover: it holds "
        "for a record that is not among them. The choice of groups is a public fact." + _ALONE
    )
    UNPROTECTED = (
        f"{NOT_PROTECTED}: base_fit={CONSENT!r} was given, so the base model was fitted on the same records without "
        "any protection. It may tell every record, labels included, and so may the model, its report and its "
        "predictions, which are made from its scores. The price is that of the calibration of a base model that is "
        "public; for the records of this fit no ε holds."
    )


@dataclass(frozen=True)
class CalibratedModel:
    """A public function of scores and groups.

    Attributes
    ----------
    family : Family
        The groups.
    classes : tuple
        The labels: two, or more.
    calibrations : tuple of Calibration
        One for the second of two classes, or one a class.
    n_buckets : int
        k, the buckets in which the model is calibrated and reported.
    mechanism : str
        The mechanism that made it.
    before, after : tuple of Residuals or None
        Residuals before and after each calibration, read from the release.
    certificate : Certificate or None
        The price; None for ``none``.
    score : str, int or None
        The column of scores, where they were precomputed.
    n : int or None
        The number of records under replace-one, where it is public.
    request : mapping or None
        What was asked for, as plain JSON data: groups, classes, target, parameters of the mechanism. None of a model
        without a price, or of one that an earlier version wrote.
    released : tuple of tuple of float array
        The noisy numbers of each calibration, from which it was made.
    """

    family: Family
    classes: tuple[Scalar, ...]
    calibrations: tuple[Calibration, ...]
    n_buckets: int
    mechanism: str
    before: tuple[Residuals | None, ...]
    after: tuple[Residuals | None, ...]
    certificate: Certificate | None
    score: Column | None = None
    n: int | None = None
    request: Mapping[str, Any] | None = None
    released: tuple[tuple[Floats, ...], ...] = ()

    def calibrated(self, columns: RecordColumns, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the calibrated probability of every class, (records, classes); rows add up to 1.

        Parameters
        ----------
        columns : RecordColumns
            The columns of the records, for their groups.
        scores : float array, (records,) or (records, classes)
            The original probability of the second of two classes, or of each class.

        Raises
        ------
        DataError
            HG166: a column is missing, or the scores have another shape.
        """
        given = np.asarray(scores, dtype=np.float64)
        given = given[:, None] if given.ndim == 1 else given
        if given.shape != (len(columns), len(self.calibrations)):
            raise DataError(
                "HG166",
                rule="Each record needs one score or, if there are more than two classes, one score for each class.",
                finding=f"Found {given.shape[-1]} columns of scores for {len(self.calibrations)}.",
            )
        classes = self.family.classes(columns)
        made = np.stack(
            [made.apply(self.family, classes, column) for made, column in zip(self.calibrations, given.T, strict=True)],
            axis=1,
        )
        if made.shape[1] == 1:
            return np.concatenate([1.0 - made, made], axis=1)
        total = made.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, made / np.where(total > 0.0, total, 1.0), 1.0 / made.shape[1])
