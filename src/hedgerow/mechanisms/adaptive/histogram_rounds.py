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

What an audit attacks
---------------------
In bucket 0 of every one of its M groups a record with score 0 and label 1 adds (S, 1) in every round: index 1 here. One
with the highest score of that bucket and label 0 adds (−W, 1): index 0. Cell 1 stands for the same record in another
bucket. Scores of later rounds may follow from earlier ones; an attacker gains most if they stay where they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats, Neighbours, Record, Specimen
from hedgerow.mechanisms.laws import Additive
from hedgerow.noise.lattice import LatticeNoise, lattice_noise, on_lattice, require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HistogramRounds(Additive):
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

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return two rounds over two groups a record, at μ near 1."""
        chosen = (Relation.ADD_REMOVE, 1.0), (Relation.REPLACE_ONE, math.sqrt(2.0))
        return tuple(
            Specimen(
                "histogram rounds",
                cls(2, 5, 10, 2, 1000, lattice_noise(3000.0 * wide), lattice_noise(3.0 * wide)),
                relation,
                1e-3,
                released=False,
            )
            for relation, wide in chosen
        )

    @property
    def widest_bucket(self) -> int:
        """W: the largest distance of two grid points in one bucket."""
        return widest_bucket(self.buckets, self.steps)

    def mu(self, relation: Relation) -> float:
        """Return √(Σ d_i²/w_i²) of the farthest neighbours over all rounds, up to rounding in the last digits.

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

    def noisy(self, residual: Integers, count: Integers, noise: NoiseSource) -> tuple[Floats, Floats]:
        """Return residual sums (in grid steps) and counts, of any shape, plus noise: from here on public.

        >>> from hedgerow.testing.simulated import SimulatedNoise
        >>> fine = LatticeNoise(1000, 0)
        >>> once = HistogramRounds(1, 2, 1, most_groups=1, steps=100, residual=fine, count=fine)
        >>> once.noisy(np.array([[50], [0]]), np.array([[1], [0]]), SimulatedNoise(1))[0].shape
        (2, 1)
        """
        noisy = []
        for sums, one in ((residual, self.residual), (count, self.count)):
            drawn = noise.discrete_gaussian(float(one.width), sums.size).reshape(sums.shape)
            noisy.append(on_lattice(np.asarray(sums, dtype=np.int64), drawn, one.bits))
        return noisy[0], noisy[1]

    @property
    def size(self) -> int:
        """The number of rounds times the largest number of groups that one record is in."""
        return self.rounds * self.most_groups

    @property
    def bits(self) -> tuple[int, ...]:
        """The lattice of each residual sum, then of each count."""
        return (self.residual.bits,) * self.size + (self.count.bits,) * self.size

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return a record against one in other buckets and one in the same; under add-remove against none."""
        if relation is Relation.ADD_REMOVE:
            return (Neighbours("one-sided", Record(0, 1), None, 2),)
        other = Neighbours("other buckets", Record(0, 1), Record(1, 1), 2)
        return other, Neighbours("same bucket", Record(0, 1), Record(0, 0), 2)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` releases of all rounds, (n, 2 buckets, 2·rounds·M), drawn by the function that a fit calls."""
        exact = np.zeros((2, 2, self.size), dtype=np.int64)
        for cell, index, count in zip(data.cell, data.index, data.count, strict=True):
            moved = self.contribution(Record(int(cell), int(index)))[0].astype(np.int64)
            exact[:, int(cell)] += int(count) * moved.reshape(2, self.size)
        residual, counts = (np.broadcast_to(side, (n, *side.shape)) for side in exact)
        return np.concatenate(self.noisy(residual, counts, noise), axis=2)

    def contribution(self, record: Record) -> tuple[Floats, Floats]:
        """Return what a record adds to its cells, and the widths of the noise there: residual sums, then counts.

        >>> fine = LatticeNoise(1000, 0)
        >>> once = HistogramRounds(1, 9, 10, most_groups=2, steps=100, residual=fine, count=fine)
        >>> once.contribution(Record(0, 1))[0].tolist(), once.contribution(Record(0, 0))[0].tolist()
        ([100.0, 100.0, 1.0, 1.0], [-10.0, -10.0, 1.0, 1.0])
        """
        moved = float(self.steps if record.index else -self.widest_bucket)
        widths = (self.residual.in_units, self.count.in_units)
        return np.repeat([moved, 1.0], self.size), np.repeat(widths, self.size)


def widest_bucket(buckets: int, steps: int) -> int:
    """Return the largest distance of two indices 0..S in one bucket: i is in bucket min(⌊i·k/S⌋, k − 1).

    The last bucket runs from ⌈(k − 1)S/k⌉ to S, a distance of ⌊S/k⌋; any other ends before the next begins, so its
    distance is at most ⌈S/k⌉ − 1.

    >>> widest_bucket(10, 1_000_000), widest_bucket(3, 4)
    (100000, 1)
    """
    return steps // buckets
