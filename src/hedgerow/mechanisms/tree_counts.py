r"""Counts of a column's values at every level of a tree over its leaves, each plus one integer of noise.

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

All movements are by 1, so each level has the exact law of the counts of `hedgerow.mechanisms.counts`. A histogram is
the tree of one level.
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

from hedgerow.accounting.lower import ExactPair
from hedgerow.accounting.terms import Term
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats, Neighbours, Quote, Record, Specimen, across_or_one_sided
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Additive, Law
from hedgerow.noise.lattice import require_drawable, require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

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
        integers = all(type(one) is int for one in (self.leaves, self.cells, *self.branching))
        sound = integers and 2 <= self.leaves <= MOST_LEAVES and self.cells >= 1 and bool(self.branching)
        sound = sound and min(self.branching) >= 2 and self.law in ("gaussian", "laplace")
        # Every level has two nodes or more, and the first no more than its branching allows.
        sound = sound and self.spans[0] < self.leaves <= self.branching[0] * self.spans[0]
        if not sound or len(self.widths) - len(self.branching) not in (0, 1):
            raise ParameterError(
                "HG406",
                rule=f"A tree of counts has 2 to {MOST_LEAVES:,} leaves, branchings of at least 2 whose product just "
                "holds them, and a width for each level, with or without the root.",
                finding="This one has not.",
            )
        require_positive(**{f"widths[{level}]": width for level, width in enumerate(self.widths)})
        require_drawable(*self.widths)

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

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return the worst pair: counts of every level, one or two of each moved by 1."""
        moved: Counter[float] = Counter()
        for width, times in zip(self.widths, self.touched(relation), strict=True):
            moved[width] += times
        return tuple(self.noise_law.count_term(width, times) for width, times in moved.items())

    def cost(self, relation: Relation) -> float:
        """Return Σ (|d|/w)^p: ε of Laplace noise, and μ² of Gaussian noise that is wide enough to be continuous."""
        pairs = zip(self.widths, self.touched(relation), strict=True)
        return math.fsum(times / width**self.noise_law.power for width, times in pairs)

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
            pairs.append(Neighbours("same cell", Record(0, first), Record(0, second), self.cells))
        if relation is not Relation.REPLACE_ONE or self.cells > 1 or self.rooted:
            across = relation is Relation.REPLACE_ONE and self.cells > 1
            pairs += across_or_one_sided(0, self.cells, across=across)
        return tuple(pairs)

    def _distance(self, first: int, second: int) -> float:
        moved = self._path(Record(0, first)) ^ self._path(Record(0, second))
        return math.fsum(self.widths[level] ** -self.noise_law.power for level, _, _ in moved)

    def _path(self, record: Record) -> frozenset[tuple[int, int, int]]:
        """Return the nodes that count a record: (level, cell, node)."""
        spans = (self.leaves, *self.spans) if self.rooted else self.spans
        return frozenset((level, record.cell, record.index // span) for level, span in enumerate(spans))

    def _exact(self, pair: Neighbours) -> ExactPair:
        """As for any sum, from the nodes that move alone: a tree may have millions."""
        first, second = (frozenset() if one is None else self._path(one) for one in (pair.first, pair.second))
        moved = first ^ second
        return tuple((self.noise_law.exact(1.0, self.widths[level]), 1) for level, _, _ in sorted(moved))

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, nodes of all levels)."""
        leaves = np.zeros((data.cells, self.leaves), dtype=np.int64)
        leaves[data.cell, data.index] = data.count
        levels = self.noisy(np.tile(leaves, (n, 1)), noise)
        return np.concatenate(levels, axis=1).astype(np.float64).reshape(n, data.cells, -1)

    def contribution(self, record: Record) -> tuple[Floats, Floats]:
        """Return what one record adds to the nodes of its cell, level by level, and the width of the noise of each."""
        spans = (self.leaves, *self.spans) if self.rooted else self.spans
        path = [np.arange(nodes) == record.index // span for nodes, span in zip(self.nodes, spans, strict=True)]
        return np.concatenate(path).astype(np.float64), np.repeat(np.array(self.widths), self.nodes)

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
