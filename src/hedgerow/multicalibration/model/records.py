"""The private side of a fit: how many records share a score, a label and a combination of classes.

Like everything in hedgerow, data enter as a histogram. Two records with the same score, label and classes are
exchangeable, so nothing else is kept; whatever the number of records, work is in the number of distinct rows.

Scores lie on a public **grid**: a score in [0, 1] is a whole number of millionths wherever it is counted or added up.
A residual y − p is then an integer too, so sums are exact and their sensitivity is a whole number. Rounding is a public
function of the score of one record, so it costs no budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.family import Family

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
