"""The form in which data enter: the number of records of each grid value in each cell.

Records with the same q are exchangeable, so a histogram is all that an additive statistic, or a bootstrap of one,
can use; whatever n is, the work after it is O(distinct values) (private_bootstrap.md §1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


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
        gone = inside & (index < 0)
        kept = inside & (index >= 0)
        missing = np.zeros(cells, dtype=np.int64)
        np.add.at(missing, cell[gone], count[gone])
        order = np.lexsort((index[kept], cell[kept]))
        return cls(cell[kept][order], index[kept][order], count[kept][order], missing, int(count[~inside].sum()))

    @property
    def cells(self) -> int:
        """How many cells were declared, empty ones included."""
        return len(self.missing)

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
        if records * largest < 2**62:
            sums = np.zeros(self.cells, dtype=np.int64)
            np.add.at(sums, self.cell, self.count * values.astype(np.int64))
            return sums
        wide = np.zeros(self.cells, dtype=object)
        np.add.at(wide, self.cell, self.count.astype(object) * values.astype(object))
        return wide
