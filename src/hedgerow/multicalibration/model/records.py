"""The private side of a fit: how many records share a score, a label and a combination of classes.

Like everything in hedgerow, data enter as a histogram. Two records with the same score (on its grid), label and classes
are exchangeable, so nothing else is kept; whatever the number of records, work is in the number of distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.model.score_grid import STEPS, from_grid, to_grid

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """Distinct rows of (pattern, score, label) and how often each occurs. PRIVATE: nothing in here is released.

    Attributes
    ----------
    family : Family
        The public groups.
    patterns : int array, (P, attributes)
        The combinations of classes that occur; `pattern` points into it. That they occur is private too.
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
    count: NDArray[np.int64] | NDArray[np.float64]

    @classmethod
    def of(
        cls,
        family: Family,
        classes: Integers,
        scores: NDArray[np.float64],
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None = None,
    ) -> Records:
        """Fold records into distinct rows: `classes` as `Family.classes` gives them, scores in [0, 1], labels 0 or 1.

        >>> family = Family((), depth=1)
        >>> scores, labels = np.array([0.75, 0.25, 0.25]), np.array([0, 1, 1])
        >>> Records.of(family, np.zeros((3, 0), dtype=np.int64), scores, labels).count.tolist()
        [2, 1]
        """
        patterns, pattern = fold_classes(family, classes)
        code = (pattern * (STEPS + 1) + to_grid(np.asarray(scores, dtype=np.float64))) * 2 + labels
        rows, place, times = np.unique(code, return_inverse=True, return_counts=True)
        where, label = np.divmod(rows, 2)
        where, score = np.divmod(where, STEPS + 1)
        count = times.astype(np.int64) if weights is None else np.bincount(place, weights, minlength=len(rows))
        return cls(family, patterns, where, score, label, count)

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """Which groups each pattern is in, (P, groups)."""
        return self.family.membership(self.patterns)

    @cached_property
    def residual(self) -> Integers:
        """Residual y − p of each row in grid units: an integer between −STEPS and STEPS."""
        return self.label * STEPS - self.score

    @cached_property
    def scores(self) -> NDArray[np.float64]:
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
        place = np.cumsum(present) - 1
        return family.atom_classes()[present], place[codes]
    if family.atoms < 2**62:
        codes = family.atom_codes(classes)
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        return classes[first], inverse
    patterns, inverse = np.unique(classes, axis=0, return_inverse=True)
    return patterns, inverse.ravel()
