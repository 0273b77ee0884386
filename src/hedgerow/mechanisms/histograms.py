"""Counts of a column's values at every level of a tree over its leaves, each plus one integer of noise.

The leaves of a cell are disjoint classes in order, such as bins of income. Level 1 of the tree cuts the cell into as
many nodes as the first branching, level 2 each of these into as many as the second, and so on; the last level are the
leaves. A record adds 1 to one node of every level. The root is the count of the cell.

With w_l the width of the noise of level l, p = 1 for Laplace and p = 2 for Gaussian noise, the costs Σ (|d|/w)^p are

=============  ==================================  =================================================================
pair           cost                                exists under
=============  ==================================  =================================================================
one-sided      Σ_l w_l^−p, the root included       add-remove; replace-one, where a record may lie in no cell
same cell      2 Σ_l w_l^−p, the root left out     replace-one: it leaves one node of a level and enters another
across cells   2 Σ_l w_l^−p, the root included     replace-one, ≥ 2 cells
=============  ==================================  =================================================================

All movements are by 1, so each level has the exact law of the counts of `hedgerow.mechanisms.noisy_counts`. A histogram
is the tree of one level.

Histogram rounds: each round releases a residual sum and a count for every group and bucket, with Gaussian noise.

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
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.accounting.lower_bounds import ExactPair
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AuditRecord, Floats, Neighbours, Quote, Specimen, across_or_one_sided
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Additive, Law
from hedgerow.noise.lattice import (
    LatticeNoise,
    NoiseSource,
    lattice_noise,
    on_lattice,
    require_drawable,
    require_positive,
)
from hedgerow.resampling.counted_values import Histogram

MOST_LEAVES = 2**20
Integers = NDArray[np.int64]
_BRUTE = 64  # up to so many leaves an audit compares every pair


@dataclass(frozen=True, slots=True)
class TreeCounts(Additive):
    """Counts of all nodes of a tree over `leaves` leaves in each of `cells` disjoint cells, plus integer noise.

    Attributes
    ----------
    law : "gaussian" or "laplace"
        Discrete Gaussian noise, or two-sided geometric noise, whose scale is the width.
    leaves : int
        m ≥ 2 leaves of a cell; 2²⁰ at most.
    branching : tuple of int
        Into how many nodes a node of each level is cut, the root first; (m,) is a histogram. The last node of a level
        may have fewer.
    widths : tuple of float
        The width of the noise of each level, from the top: that of the root first where the root is released.
    cells : int

    Examples
    --------
    One record replaced moves two counts of each of two levels:

    >>> tree = TreeCounts("laplace", 4, (2, 2), (4.0, 4.0), cells=1)
    >>> tree.nodes, round(tree.cost(Relation.REPLACE_ONE), 9), round(tree.cost(Relation.ADD_REMOVE), 9)
    ((2, 4), 1.0, 0.5)
    """

    law: Literal["gaussian", "laplace"]
    leaves: int
    branching: tuple[int, ...]
    widths: tuple[float, ...]
    cells: int
    type: Literal["tree-counts"] = "tree-counts"
    price_name: ClassVar[str | None] = "tree-counts"
    price_unit: ClassVar[str] = "counts"
    sized_by_mu: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("distribution",)
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integers = all(type(number) is int for number in (self.leaves, self.cells, *self.branching))
        sound = integers and 2 <= self.leaves <= MOST_LEAVES and self.cells >= 1 and bool(self.branching)
        sound = sound and min(self.branching) >= 2 and self.law in ("gaussian", "laplace")
        # Every level has two nodes or more, and the first no more than its branching allows.
        sound = sound and self.spans[0] < self.leaves <= self.branching[0] * self.spans[0]
        if not sound or len(self.widths) - len(self.branching) not in (0, 1):
            raise ParameterError(
                "HG406",
                rule=f"A tree of counts has 2 to {MOST_LEAVES:,} leaves, branchings of at least 2 whose product just "
                "holds them, and a width for each level, with or without the root.",
                finding="The given mechanism does not follow the rule.",
            )
        require_positive(**{f"widths[{level}]": width for level, width in enumerate(self.widths)})
        require_drawable(*self.widths)

    @property
    def not_priced(self) -> tuple[str, ...]:
        """The branching: a level costs the same however its nodes are cut."""
        return ("branching.*",)

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> TreeCounts:
        """Return a binary tree of 1,024 leaves with Gaussian noise of this sd on every count; n public, or the root."""
        levels = 10 if quote.relation is Relation.REPLACE_ONE else 11
        return cls("gaussian", 1024, (2,) * 10, (noise_sd,) * levels, 1)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return a histogram, which has one level, and trees of one cell and of two."""
        near, far = Relation.ADD_REMOVE, Relation.REPLACE_ONE
        return (
            Specimen("histogram of leaves, pure", cls("laplace", 3, (3,), (2.0,), cells=1), far, 1e-3),
            Specimen("tree of counts", cls("gaussian", 4, (2, 2), (2.0, 1.5), cells=1), far, 1e-3),
            Specimen("tree of counts by group", cls("gaussian", 3, (2, 2), (3.0, 2.0, 2.0), cells=2), far, 1e-3),
            Specimen("tree of counts, pure", cls("laplace", 4, (2, 2), (2.0, 1.0, 1.5), cells=1), near, 0.0),
        )

    @property
    def priced_sd(self) -> float:
        """Standard deviation of the noise of one leaf."""
        return float(self.noise_sds()[-1])

    @property
    def steps_of_one(self) -> int:
        """How many steps of what is added up are one record."""
        return 1

    @property
    def tells_spread(self) -> bool:
        """Whether numbers follow that tell how units vary."""
        return False

    @property
    def moved(self) -> int:
        """By how many steps the worst record moves each count on its path."""
        return 1

    @property
    def rooted(self) -> bool:
        """Whether the count of the cell itself is released."""
        return len(self.widths) > len(self.branching)

    @property
    def spans(self) -> tuple[int, ...]:
        """How many leaves a full node of each level below the root has."""
        return tuple(math.prod(self.branching[level + 1 :]) for level in range(len(self.branching)))

    @property
    def nodes(self) -> tuple[int, ...]:
        """How many nodes each released level of a cell has, from the top."""
        below = tuple(-(-self.leaves // span) for span in self.spans)
        return (1, *below) if self.rooted else below

    @property
    def noise_law(self) -> Law:
        """The law of the noise of every count."""
        return GAUSSIAN if self.law == "gaussian" else LAPLACE

    @property
    def released_cells(self) -> int:
        """`cells`."""
        return self.cells

    def noise_sds(self) -> Floats:
        """Return the sd of the noise of one count of each released level; of Gaussian noise an upper bound."""
        return np.array([self.noise_law.count_sd(width) for width in self.widths])

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return the sd of each count of a cell, level by level from the top."""
        return np.repeat(self.noise_sds(), self.nodes)

    def half_width(self, cells: int, gamma: float) -> float:
        """Return h with P(all counts of the widest level within ± h) ≥ 1 − γ."""
        widest = max(range(len(self.widths)), key=lambda level: self.widths[level])
        many = self.cells * self.nodes[widest]
        reach = self.noise_law.half_width(self.widths[widest], cells=many, gamma=gamma)
        # An integer within ± h of the normal law rounded: half a step more covers both.
        return reach + 0.5 if self.noise_law.power == 2 else reach

    def touched(self, relation: Relation) -> tuple[int, ...]:
        """Return how many counts of each released level one record can change by 1.

        For the root of a single cell under replace-one this is an upper bound: it moves only where a record may be
        missing, and then the levels below move once and not twice.
        """
        twice = 2 if relation is Relation.REPLACE_ONE else 1
        below = (twice,) * len(self.branching)
        return (min(self.cells, twice), *below) if self.rooted else below

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the dominating pair: counts of every level, one or two of each moved by 1."""
        moved: Counter[float] = Counter()
        for width, times in zip(self.widths, self.touched(relation), strict=True):
            moved[width] += times
        return tuple(self.noise_law.count_term(width, times) for width, times in moved.items())

    def cost(self, relation: Relation) -> float:
        """Return Σ (|d|/w)^p: ε of Laplace noise, and μ² of Gaussian noise that is wide enough to be continuous."""
        pairs = zip(self.widths, self.touched(relation), strict=True)
        return math.fsum(times / width**self.noise_law.power for width, times in pairs)

    def excess(self, relation: Relation, difference: Floats) -> float:
        """Return √(Σ (d/w)²), or Σ |d|/w, over what was priced."""
        power = self.noise_law.power
        moved = (np.abs(difference) / np.repeat(np.array(self.widths), self.nodes)) ** power
        return float((moved.sum() / self.cost(relation)) ** (1.0 / power))

    def level_counts(self, leaves: Integers) -> list[Integers]:
        """Return the exact counts of each released level, (cells, nodes), from those of the leaves."""
        levels = [leaves]
        for branching in reversed(self.branching):
            starts = np.arange(0, levels[-1].shape[1], branching)
            levels.append(np.add.reduceat(levels[-1], starts, axis=1))
        return levels[::-1] if self.rooted else levels[-2::-1]

    def noisy(self, leaves: Integers, source: NoiseSource) -> list[Integers]:
        """Return the counts of each released level, (cells, nodes), each plus one integer of noise: all is public.

        Parameters
        ----------
        leaves : int64 array, (cells, leaves)
            Exact counts.
        source : NoiseSource
        """
        return [
            level + self.noise_law.draw(source, width, level.size).reshape(level.shape)
            for level, width in zip(self.level_counts(leaves), self.widths, strict=True)
        ]

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the two leaves of a cell that differ most, by brute force; records of two cells; one against none."""
        pairs: list[Neighbours] = []
        if relation is Relation.REPLACE_ONE:
            tried = range(self.leaves) if self.leaves <= _BRUTE else (0, self.leaves - 1)
            first, second = max(combinations(tried, 2), key=lambda pair: self._distance(*pair))
            pairs.append(Neighbours("same cell", AuditRecord(0, first), AuditRecord(0, second), self.cells))
        if relation is not Relation.REPLACE_ONE or self.cells > 1 or self.rooted:
            across = relation is Relation.REPLACE_ONE and self.cells > 1
            pairs += across_or_one_sided(0, self.cells, across=across)
        return tuple(pairs)

    def _distance(self, first: int, second: int) -> float:
        moved = self._path(AuditRecord(0, first)) ^ self._path(AuditRecord(0, second))
        return math.fsum(self.widths[level] ** -self.noise_law.power for level, _, _ in moved)

    def _path(self, record: AuditRecord) -> frozenset[tuple[int, int, int]]:
        """Return the nodes that count a record: (level, cell, node)."""
        spans = (self.leaves, *self.spans) if self.rooted else self.spans
        return frozenset((level, record.cell, record.index // span) for level, span in enumerate(spans))

    def _exact(self, pair: Neighbours) -> ExactPair:
        """As for any sum, from the nodes that move alone: a tree may have millions."""
        first, second = (frozenset() if record is None else self._path(record) for record in (pair.first, pair.second))
        moved = first ^ second
        return tuple((self.noise_law.exact(float(self.moved), self.widths[level]), 1) for level, _, _ in sorted(moved))

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, nodes of all levels)."""
        leaves = np.zeros((data.cells, self.leaves), dtype=np.int64)
        leaves[data.cell, data.index] = data.count * self.moved
        levels = self.noisy(np.tile(leaves, (n, 1)), noise)
        return np.concatenate(levels, axis=1).astype(np.float64).reshape(n, data.cells, -1)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds to the nodes of its cell, level by level, and the width of the noise of each."""
        spans = (self.leaves, *self.spans) if self.rooted else self.spans
        path = [np.arange(nodes) == record.index // span for nodes, span in zip(self.nodes, spans, strict=True)]
        return np.concatenate(path).astype(np.float64) * self.moved, np.repeat(np.array(self.widths), self.nodes)

    @property
    def size(self) -> int:
        """Roughly how many times three numbers there are to a cell of one output."""
        return 1 + sum(self.nodes) // 3

    @property
    def bits(self) -> tuple[int, ...]:
        """Whole numbers."""
        return (0,) * sum(self.nodes)


def tree_counts(
    law: Literal["gaussian", "laplace"],
    leaves: int,
    branching: tuple[int, ...],
    weights: tuple[float, ...],
    *,
    precision: float,
    cells: int,
    relation: Relation,
) -> TreeCounts:
    """Return a tree whose levels have noise of widths in proportion to 1/weight, at a cost of `precision`.

    The cost is μ = `precision` for wide Gaussian noise, ε = `precision` for Laplace noise.

    >>> tree_counts("laplace", 4, (2, 2), (1.0, 1.0), precision=1.0, cells=1, relation=Relation.REPLACE_ONE).widths
    (4.0, 4.0)
    """
    unit = TreeCounts(law, leaves, branching, tuple(1.0 / weight for weight in weights), cells)
    scale = unit.cost(relation) ** (1.0 / unit.noise_law.power) / precision
    return TreeCounts(law, leaves, branching, tuple(width * scale for width in unit.widths), cells)


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
                rule="A record may be in at most as many groups as there are, and a bucket holds at least one grid "
                "step.",
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
        for sums, own in ((residual, self.residual), (count, self.count)):
            drawn = noise.discrete_gaussian(float(own.width), sums.size).reshape(sums.shape)
            noisy.append(on_lattice(np.asarray(sums, dtype=np.int64), drawn, own.bits))
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
            return (Neighbours("one-sided", AuditRecord(0, 1), None, 2),)
        other = Neighbours("other buckets", AuditRecord(0, 1), AuditRecord(1, 1), 2)
        return other, Neighbours("same bucket", AuditRecord(0, 1), AuditRecord(0, 0), 2)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` releases of all rounds, (n, 2 buckets, 2·rounds·M), drawn by the function that a fit calls."""
        exact = np.zeros((2, 2, self.size), dtype=np.int64)
        for cell, index, count in zip(data.cell, data.index, data.count, strict=True):
            moved = self.contribution(AuditRecord(int(cell), int(index)))[0].astype(np.int64)
            exact[:, int(cell)] += int(count) * moved.reshape(2, self.size)
        residual, counts = (np.broadcast_to(side, (n, *side.shape)) for side in exact)
        return np.concatenate(self.noisy(residual, counts, noise), axis=2)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what a record adds to its cells, and the widths of the noise there: residual sums, then counts.

        >>> fine = LatticeNoise(1000, 0)
        >>> once = HistogramRounds(1, 9, 10, most_groups=2, steps=100, residual=fine, count=fine)
        >>> once.contribution(AuditRecord(0, 1))[0].tolist(), once.contribution(AuditRecord(0, 0))[0].tolist()
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
