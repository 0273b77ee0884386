"""The form in which data enter: the number of records of each grid value in each cell.

Records with the same q are exchangeable, so a histogram is all that an additive statistic, or a bootstrap of one,
can use; whatever n is, the work after it is O(distinct values) (private_bootstrap.md §1).

The other shape in which data enter: exact sums of monomials of grid integers, cell by cell.

Moments of several columns need no joint histogram, which would have nearly one entry for each record: the sums of
products are enough. They are integers, so they depend neither on the order of records nor on the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.columns import Scalar

Integers = NDArray[np.int64]
Exact = NDArray[Any]
"""Whole numbers: in 64 bits, or Python's own in an array of objects."""
_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of records by (cell, grid index).

    Attributes
    ----------
    cell, index, count : int64 arrays of one length
        ``count[i]`` > 0 records lie in cell ``cell[i]`` at grid index t = ``index[i]``; sorted by cell, then index.
    missing : int64 array, one entry per cell
        Records of the cell whose value is missing.
    outside : int
        Records that belong to no declared cell.

    Examples
    --------
    >>> h = Histogram.from_triplets(np.array([1, 0, 1]), np.array([2, 0, -1]), np.array([3, 4, 5]), cells=2)
    >>> h.count.tolist(), h.missing.tolist(), h.total()
    ([4, 3], [0, 5], 12)
    """

    cell: Integers
    index: Integers
    count: Integers
    missing: Integers
    outside: int

    @classmethod
    def from_triplets(cls, cell: Integers, index: Integers, count: Integers, *, cells: int) -> Histogram:
        """Build from what a GROUP BY returns: cell −1 is no declared cell, index −1 is a missing value."""
        cell, index, count = (np.asarray(part, dtype=np.int64) for part in (cell, index, count))
        inside = cell >= 0
        absent = inside & (index < 0)
        valued = inside & (index >= 0)
        missing = np.zeros(cells, dtype=np.int64)
        np.add.at(missing, cell[absent], count[absent])
        order = np.lexsort((index[valued], cell[valued]))
        return cls(cell[valued][order], index[valued][order], count[valued][order], missing, int(count[~inside].sum()))

    @property
    def cells(self) -> int:
        """How many cells were declared, empty ones included."""
        return len(self.missing)

    def __add__(self, other: Histogram) -> Histogram:
        """Return the counts of the records of both."""
        cell, index, count = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("cell", "index", "count")
        )
        missing, outside = self.missing + other.missing, self.outside + other.outside
        return Histogram.merged(cell, index, count, missing=missing, outside=outside)

    def total(self) -> int:
        """Return the number of all records: counted, missing, and outside every cell."""
        return int(self.count.sum()) + int(self.missing.sum()) + self.outside

    def filled(self, index: int) -> Histogram:
        """Return the histogram in which every missing value counts as grid index `index` (a declared constant)."""
        cells = np.flatnonzero(self.missing)
        return Histogram.merged(
            np.concatenate([self.cell, cells]),
            np.concatenate([self.index, np.full(len(cells), index, dtype=np.int64)]),
            np.concatenate([self.count, self.missing[cells]]),
            missing=np.zeros_like(self.missing),
            outside=self.outside,
        )

    @classmethod
    def merged(cls, cell: Integers, index: Integers, count: Integers, *, missing: Integers, outside: int) -> Histogram:
        """Build from entries in any order, adding up those of the same place."""
        order = np.lexsort((index, cell))
        cell, index, count = cell[order], index[order], count[order]
        first = np.ones(len(cell), dtype=bool)
        first[1:] = (np.diff(cell) != 0) | (np.diff(index) != 0)
        starts = np.flatnonzero(first)
        added = np.add.reduceat(count, starts) if len(starts) else count
        return cls(cell[starts], index[starts], added, missing, outside)

    def cell_sums(self, weight: Integers | None = None) -> Integers:
        """Return Σ count·weight in each cell, in exact integers.

        `weight` has one entry per row of the histogram; None counts records. Where int64 could overflow, Python's own
        integers do the sum (an object array), so that no total can wrap.
        """
        values = np.ones(len(self.count), dtype=np.int64) if weight is None else weight
        records = int(self.count.sum())
        largest = max((abs(int(extreme)) for extreme in (values.max(initial=0), values.min(initial=0))), default=0)
        if records * largest < _LIMIT:
            sums = np.zeros(self.cells, dtype=np.int64)
            np.add.at(sums, self.cell, self.count * values.astype(np.int64))
            return sums
        wide = np.zeros(self.cells, dtype=object)
        np.add.at(wide, self.cell, self.count.astype(object) * values.astype(object))
        return wide


Monomial = tuple[tuple[int, int], ...]
"""Values with their powers, in order: ((0, 1), (2, 1)) is t_0·t_2, added up over records where both are present. A
power of 0 asks for presence alone; () counts the records."""


def combined(terms: Iterable[tuple[int, Exact]]) -> Exact:
    """Return Σ c·a of at least one array, exactly: in 64 bits where nothing can wrap, else in Python's own integers.

    >>> combined([(4, np.array([1, 2])), (-(2**61), np.array([0, 1]))]).tolist()
    [4, -2305843009213693944]
    >>> combined([(2, np.array([2**62]))]).tolist()
    [9223372036854775808]
    """
    listed = [(factor, each, int(np.abs(each).max(initial=0))) for factor, each in terms]
    kind = np.int64 if sum(abs(factor) * most for factor, _, most in listed) < _LIMIT else object
    none = np.zeros(len(listed[0][1]), dtype=kind)
    # A factor of nothing but zeros may be too large for 64 bits itself.
    return np.asarray(sum((factor * each.astype(kind, copy=False) for factor, each, most in listed if most), none))


@dataclass(frozen=True, slots=True, eq=False)
class GridSums:
    """Sums of monomials over the records of each cell.

    Attributes
    ----------
    sums : mapping
        Monomial → exact integers, one entry per cell: in 64 bits where all are below 2⁶², else Python's own. What is
        made of several is made by `combined`.
    missing : int64 array, one entry per cell
        Records of the cell that count nowhere, because a value that every record needs is missing.
    outside : int
        Records that belong to no declared cell.

    Examples
    --------
    >>> sums = GridSums.from_columns([[0, -1], [3, 2], [3, 0], [7, 0]], [(), ((0, 1),)], cells=2)
    >>> sums.sums[((0, 1),)].tolist(), sums.missing.tolist(), sums.outside
    ([7, 0], [0, 0], 2)
    """

    sums: Mapping[Monomial, Exact]
    missing: NDArray[np.int64]
    outside: int

    @classmethod
    def from_columns(
        cls, columns: Iterable[Exact | Sequence[int]], monomials: list[Monomial], *, cells: int
    ) -> GridSums:
        """Build from cells, their records, and a sum for each monomial, the first of them (); cell −1 is not declared.

        Lists are of Python's integers.
        """
        # Without branches: which lines run must not depend on the cells that occur.
        listed = [each if isinstance(each, np.ndarray) else np.array(each, dtype=object) for each in columns]
        cell, records, *sums = (combined([(1, each)]) for each in listed)
        inside = cell >= 0
        places = cell[inside]

        def by_cell(column: Exact) -> Exact:
            made = np.zeros(cells, dtype=column.dtype)
            made[places] = column[inside]
            return made

        outside = int(records[~inside].sum())
        return cls(dict(zip(monomials, map(by_cell, sums), strict=True)), by_cell(records - sums[0]), outside)

    @property
    def cells(self) -> int:
        """How many cells were declared, empty ones included."""
        return len(self.missing)

    def __add__(self, other: GridSums) -> GridSums:
        """Return the sums over the records of both."""
        sums = {monomial: each + other.sums[monomial] for monomial, each in self.sums.items()}
        return GridSums(sums, self.missing + other.missing, self.outside + other.outside)

    def total(self) -> int:
        """Return the number of records, whatever became of them."""
        return int(self.sums[()].sum()) + int(self.missing.sum()) + self.outside


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """The answer to a `ColumnQuery`: what occurs, in any order, and in how many records each does."""

    values: list[Scalar]
    counts: NDArray[np.int64]


def mean_products(values: NDArray[np.float64], monomials: Iterable[Monomial]) -> dict[Monomial, float]:
    """Return the means over records of products of powers of their values, (records, columns).

    >>> mean_products(np.array([[1.0, 2.0], [3.0, 4.0]]), [(), ((0, 2),), ((0, 1), (1, 1))])
    {(): 1.0, ((0, 2),): 5.0, ((0, 1), (1, 1)): 7.0}
    """
    named = {monomial: tuple((i, power) for i, power in monomial if power) for monomial in monomials}
    each = {power: values[:, power[0]] ** power[1] for product_of in named.values() for power in product_of}
    place, columns = {power: k for k, power in enumerate(each)}, np.array([*each.values()]).reshape(len(each), -1)
    # Products of two, which most are, by one multiplication of matrices.
    of_two, alone = columns @ columns.T / len(values), columns.mean(axis=1)

    def mean(product_of: Monomial) -> float:
        at = [place[power] for power in product_of]
        if len(at) > 2:
            return float(np.prod(columns[at], axis=0).mean())
        return float(of_two[at[0], at[1]] if len(at) == 2 else alone[at[0]] if at else 1.0)

    return {monomial: mean(product_of) for monomial, product_of in named.items()}
