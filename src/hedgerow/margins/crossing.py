"""A crossing of many columns, counted by the cells that occur alone: all its cells could not be held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.resampling.counted_values import Histogram


@dataclass(frozen=True, slots=True)
class Crossing(Query):
    """Count records, or units of several rows, by the cells of all columns together; the answer has one cell.

    The index of a record is cell·size + index of the `Query`, so that the cells that occur alone are kept.

    Examples
    --------
    >>> from hedgerow.facts.columns import Category
    >>> query = Crossing(None, (Category.declared("sex", [0, 1]), Category.declared("region", ["n", "s", "w"])))
    >>> answer = query.answer(np.array([4, -1]), np.array([0, 0]), np.array([7, 2]))
    >>> [part.tolist() for part in query.levels(answer)], query.added(answer).tolist(), answer.outside
    ([[1], [1]], [7], 2)
    """

    def answer(self, cell: NDArray[np.int64], index: NDArray[np.int64], records: NDArray[np.int64]) -> Histogram:
        """Return how often each cell and index occurs, as the index of one cell; what is in no cell is outside."""
        together = np.where(index < 0, -1, cell * self.size + index)
        return Histogram.from_triplets(np.minimum(cell, 0), together, records, cells=1)

    def levels(self, answer: Histogram) -> list[NDArray[np.int64]]:
        """Return, of each column that cells show, the category of each entry of an answer."""
        rest, levels = answer.index // self.size, []
        for category in reversed(self.by):
            rest, level = np.divmod(rest, category.levels)
            if category.shown:
                levels.append(level)
        return levels[::-1]

    def added(self, answer: Histogram, start: int = 1, stride: int = 0) -> NDArray[np.int64]:
        """Return what the records of each entry add up to, a row with grid index t adding start + stride·t.

        By default rows are counted.
        """
        rows, totals = self.unit_totals(answer.index % self.size)
        return np.asarray(answer.count * (start * rows + stride * totals))
