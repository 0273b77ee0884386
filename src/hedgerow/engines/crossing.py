"""A crossing of many columns, counted by the cells that occur alone: all its cells could not be held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.resampling.counted_values import Histogram


@dataclass(frozen=True, slots=True)
class Crossing(Query):
    """Count records, or rows of units, by the cells of all columns together; the answer has one cell.

    The index of a record is cell·size + index of the `Query`: with a unit of at most L rows size is L, and the index of
    a unit in a cell with N rows there is N − 1.

    Examples
    --------
    >>> from hedgerow.facts.columns import Category
    >>> query = Crossing(None, (Category.declared("sex", [0, 1]), Category.declared("region", ["n", "s", "w"])))
    >>> answer = query.answer(np.array([4, -1]), np.array([0, 0]), np.array([7, 2]))
    >>> [part.tolist() for part in query.levels(answer)], query.rows(answer).tolist(), answer.outside
    ([[1], [1]], [7], 2)
    """

    def answer(self, cell: NDArray[np.int64], index: NDArray[np.int64], records: NDArray[np.int64]) -> Histogram:
        """Return how often each cell occurs, as the index of one cell; what is in no cell is outside."""
        return Histogram.from_triplets(np.minimum(cell, 0), cell * self.size + index, records, cells=1)

    def levels(self, answer: Histogram) -> list[NDArray[np.int64]]:
        """Return, of each column that cells show, the category of each cell that occurs."""
        rest, levels = answer.index // self.size, []
        for category in reversed(self.by):
            rest, level = np.divmod(rest, category.levels)
            if category.shown:
                levels.append(level)
        return levels[::-1]

    def rows(self, answer: Histogram) -> NDArray[np.int64]:
        """Return how many records, or rows of units, each cell that occurs has."""
        return np.asarray(answer.count * (answer.index % self.size + 1))
