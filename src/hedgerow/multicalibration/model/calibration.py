"""What a fit leaves behind: a public function of (score, classes), free of data, that JSON can hold.

=================  =====================================================================================
`Shifts`           one shift for each atom × score bin of the original score (the count table)
`Patches`          rounds of shifts for group × bucket of the CURRENT score (Algorithm 1 and its private kin)
=================  =====================================================================================

Both add shifts to a score and keep the result in a range; a score that nothing moves stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.blocks import spread_to_patterns
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.model.records import fold_classes
from hedgerow.multicalibration.model.score_grid import STEPS, bucket_of, to_grid

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Calibration(Protocol):
    """Maps scores to calibrated scores. It holds public facts and released numbers, nothing else."""

    @property
    def kind(self) -> str:
        """``"shifts"`` or ``"patches"``: the name in a model file."""
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
    kind: str = field(default="shifts", init=False)

    def apply(self, family: Family, classes: Integers, scores: Floats) -> Floats:
        """Return calibrated scores, (records,)."""
        known = np.where(np.isnan(scores), 0.5, np.clip(scores, 0.0, 1.0))
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
    """One round: every record moves by the sum of the shifts of its cells, all told by the same current score.

    Attributes
    ----------
    cells : int array, (moved, 2)
        (group, bucket) of each cell that moves.
    shift : int array, (moved,)
        By how much, in grid units (1/STEPS).
    """

    cells: Integers
    shift: Integers

    def table(self, family: Family, patterns: Integers, n_buckets: int) -> Integers:
        """Return the shift of each pattern × bucket, (patterns, n_buckets)."""
        shift = np.zeros((len(family.groups), n_buckets))
        np.add.at(shift, (self.cells[:, 0], self.cells[:, 1]), self.shift)
        return spread_to_patterns(family, patterns, shift).astype(np.int64)


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
    kind: str = field(default="patches", init=False)

    def apply(self, family: Family, classes: Integers, scores: Floats) -> Floats:
        """Return calibrated scores, (records,)."""
        patterns, pattern = fold_classes(family, classes)
        first = to_grid(scores)
        current = first.copy()
        for patch in self.rounds:
            moves = patch.table(family, patterns, self.n_buckets)[pattern, bucket_of(current, self.n_buckets)]
            current = np.clip(current + moves, 0, STEPS)
        moved = np.where(np.isnan(scores), 0.5, np.clip(scores, 0.0, 1.0)) + (current - first) / STEPS
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
