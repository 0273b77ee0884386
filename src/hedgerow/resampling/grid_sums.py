"""The other shape in which data enter: exact sums of monomials of grid integers, cell by cell.

Moments of several columns need no joint histogram, which would have nearly one entry for each record: the sums of
products are enough. They are integers, so they depend neither on the order of records nor on the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Monomial = tuple[tuple[int, int], ...]
"""Values with their powers, in order: ((0, 1), (2, 1)) is t_0·t_2, added up over records where both are present. A
power of 0 asks for presence alone; () counts the records."""


@dataclass(frozen=True, slots=True, eq=False)
class GridSums:
    """Sums of monomials over the records of each cell.

    Attributes
    ----------
    sums : mapping
        Monomial → exact integers, an object array with one entry per cell.
    missing : int64 array, one entry per cell
        Records of the cell that count nowhere, because a value that every record needs is missing.
    outside : int
        Records that belong to no declared cell.

    Examples
    --------
    >>> sums = GridSums.from_rows([(0, 3, 3, 7), (-1, 2, 0, 0)], [(), ((0, 1),)], cells=2)
    >>> sums.sums[((0, 1),)].tolist(), sums.missing.tolist(), sums.outside
    ([7, 0], [0, 0], 2)
    """

    sums: Mapping[Monomial, NDArray[np.object_]]
    missing: NDArray[np.int64]
    outside: int

    @classmethod
    def from_rows(cls, rows: list[tuple[Any, ...]], monomials: list[Monomial], *, cells: int) -> GridSums:
        """Build from (cell, records, a sum for each monomial), the first of them (); cell −1 is no declared cell."""
        # Without branches: which lines run must not depend on the cells that occur.
        found = np.array([[int(number) for number in row] for row in rows], dtype=object)
        found = found.reshape(len(rows), 2 + len(monomials))
        cell = found[:, 0].astype(np.int64)
        inside = cell >= 0
        sums, missing = np.zeros((cells, len(monomials)), dtype=object), np.zeros(cells, dtype=np.int64)
        sums[cell[inside]] = found[inside, 2:]
        missing[cell[inside]] = (found[inside, 1] - found[inside, 2]).astype(np.int64)
        outside = int(found[~inside, 1].sum())
        return cls({monomial: sums[:, place] for place, monomial in enumerate(monomials)}, missing, outside)

    @property
    def cells(self) -> int:
        """How many cells were declared, empty ones included."""
        return len(self.missing)

    def total(self) -> int:
        """Return the number of records, whatever became of them."""
        return int(sum(self.sums[()])) + int(self.missing.sum()) + self.outside
