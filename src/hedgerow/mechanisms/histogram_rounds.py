"""Histogram rounds: each round releases a residual sum and a count for every group and bucket, with Gaussian noise.

A record has a label y ∈ {0, 1}, classes that put it into at most M of the groups, and, in round t, a prediction p_t: an
index 0..S of a public grid of scores, computed from its own score and classes and from what earlier rounds released.
Those releases are public, so p_t is a public function of the record, and rounds compose as adaptive Gaussians: their μ²
add up. A **cell** is a group × bucket of p_t; a record adds r = S·y − p_t, an integer with |r| ≤ S, to the residual sum
of each of its cells, and 1 to the count.

How far one record moves the table
----------------------------------
In units of each coordinate's noise, with a = S²/w_R² + 1/w_N² for one cell entered or left, M groups, and W the largest
distance between two grid points of one bucket:

* add-remove: at most M cells, a each: μ² ≤ M·a;
* replace-one, other buckets: each group the record was in loses one cell's worth, each it is in now gains one, and
  these cells are all different: μ² ≤ 2M·a;
* replace-one, same bucket: a group held before and after moves in one cell by |r − r'| ≤ S + W, its count not at all;
  other groups cost a each. With j groups held throughout this is at most j·(S + W)²/w_R² + 2(M − j)·a, linear in j, so
  largest at an end: M·(S + W)²/w_R² or 2M·a.

So μ² per round is M·a, or M·max(2a, (S + W)²/w_R²). (private_multicalibration.md states the two coordinates of this one
by one.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.noise.lattice import LatticeNoise, require_positive


@dataclass(frozen=True, slots=True)
class HistogramRounds:
    """T tables of (residual sum, count) over groups × buckets plus discrete Gaussian noise: μ² = T·μ₁², see the module.

    Attributes
    ----------
    rounds : int
        T. Fewer may be run; the price is that of all.
    groups, buckets : int
        The cells of each table.
    most_groups : int
        M, the number of groups that any record can be in, from the structure of the groups.
    steps : int
        S, the grid of scores and residuals: 0..S.
    residual, count : LatticeNoise
        w_R in grid units and w_N in records, each on its own lattice.
    """

    rounds: int
    groups: int
    buckets: int
    most_groups: int
    steps: int
    residual: LatticeNoise
    count: LatticeNoise
    type: Literal["histogram-rounds"] = "histogram-rounds"

    def __post_init__(self) -> None:
        require_positive(rounds=self.rounds, groups=self.groups, buckets=self.buckets, steps=self.steps)
        require_positive(most_groups=self.most_groups)
        if self.most_groups > self.groups or self.buckets > self.steps:
            raise ParameterError(
                "HG406",
                rule="A record is in no more groups than there are, and a bucket holds a step of the grid.",
                finding=f"Found {self.most_groups} of {self.groups} groups; {self.buckets} of {self.steps}.",
            )

    @property
    def widest_bucket(self) -> int:
        """W: the largest distance of two grid points in one bucket."""
        return widest_bucket(self.buckets, self.steps)

    def mu(self, relation: Relation) -> float:
        """Return √(Σ d_i²/w_i²) of the farthest neighbours over all rounds, up to rounding in the last digits.

        >>> from hedgerow.noise.lattice import LatticeNoise
        >>> ten = LatticeNoise(1000, 0)
        >>> once = HistogramRounds(1, 9, 10, most_groups=4, steps=1000, residual=ten, count=LatticeNoise(1000, 9))
        >>> round(once.mu(Relation.ADD_REMOVE), 3), round(once.mu(Relation.REPLACE_ONE), 3)
        (2.247, 3.178)
        """
        wide = self.residual.in_units
        entered = (self.steps / wide) ** 2 + (1.0 / self.count.in_units) ** 2
        if relation is Relation.ADD_REMOVE:
            farthest = entered
        else:
            farthest = max(2.0 * entered, ((self.steps + self.widest_bucket) / wide) ** 2)
        return math.sqrt(self.rounds * self.most_groups * farthest)


def widest_bucket(buckets: int, steps: int) -> int:
    """Return the largest distance of two indices 0..S in one bucket: i is in bucket min(⌊i·k/S⌋, k − 1).

    The last bucket runs from ⌈(k − 1)S/k⌉ to S, a distance of ⌊S/k⌋; any other ends before the next begins, so its
    distance is at most ⌈S/k⌉ − 1.

    >>> widest_bucket(10, 1_000_000), widest_bucket(3, 4)
    (100000, 1)
    """
    return steps // buckets
