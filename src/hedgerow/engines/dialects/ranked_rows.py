"""The rows of units of several rows, counted by value and by what else of its unit a row's vote depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query

Integers = NDArray[np.int64]
T = TypeVar("T", bound=Any)


class RowsOfUnits(NamedTuple):
    """What the indices of an answer stand for.

    Attributes
    ----------
    value : int64 array
        The index of a row's value on its grid.
    within : int64 array
        The row's number, from 1 on, among those of its unit, cell and part of the axis, in the order of their values.
    rank : int64 array
        The row's number, 1 to `rows`, among the rows of its unit and cell, in the same order.
    rows : int64 array
        How many rows its unit has in its cell.
    total : int64 array
        How many rows its unit has in all cells.
    """

    value: Integers
    within: Integers
    rank: Integers
    rows: Integers
    total: Integers


@dataclass(frozen=True, slots=True)
class RankedRows(Query):
    """Count the rows that are kept, at most L of each unit, by cell and index, rank, rows and total of `RowsOfUnits`.

    Let k be the number of a unit's rows up to a value. Then k² = Σ (2·rank − 1) over these rows, so a sum over rows
    tells the second moment of units at every value. Σ rows over the same rows tells the product of k and all rows.

    With `cuts`, the least indices of the parts of the axis behind the first, ranks within parts do the same for each.

    Examples
    --------
    >>> from hedgerow.engines.query import ValueOnGrid
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import UnitLimit
    >>> query = RankedRows(ValueOnGrid("age", Grid.from_bounds("age", (0, 9), 1)), unit=UnitLimit("person_id", 3))
    >>> query.size, query.decoded(np.array([query.code(7, 1, 2, 3, 3)])).rank.tolist()
    (810, [2])
    """

    cuts: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many indices the answer can have: those of a row, times L⁴."""
        return self.row_size * self.most**4

    @property
    def most(self) -> int:
        """The limit of rows L."""
        return 1 if self.unit is None else self.unit.max_rows

    def code(self, index: T, within: T, rank: T, rows: T, total: T) -> T:
        """Return the index of the answer, of integers or of an engine's expressions of them."""
        code: T = index
        for number in (within, rank, rows, total):
            code = code * self.most + number - 1
        return code

    def decoded(self, codes: Integers) -> RowsOfUnits:
        """Return what indices of the answer stand for; whatever they are, 1 ≤ within ≤ rank ≤ rows ≤ total ≤ L."""
        rest, total = np.divmod(np.asarray(codes, dtype=np.int64), self.most)
        rest, rows = np.divmod(rest, self.most)
        rest, rank = np.divmod(rest, self.most)
        value, within = np.divmod(rest, self.most)
        rows = np.minimum(rows, total)
        rank = np.minimum(rank, rows)
        value, within = np.clip(value, 0, self.row_size - 1), np.minimum(within, rank)
        return RowsOfUnits(value, within + 1, rank + 1, rows + 1, total + 1)
