"""What questions that are answered cell by cell have in common: the cells, their labels, and the columns they need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.columns import Category, CellLabels
from hedgerow.facts.expression import sources_of
from hedgerow.facts.relation import UnitLimit
from hedgerow.resampling.counted_values import Histogram


class ReadsColumns(Protocol):
    """A value of a record."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is read from."""
        ...


class ByCells:
    """A question that is answered cell by cell."""

    __slots__ = ()
    by: tuple[Category, ...]

    @property
    def cells(self) -> int:
        """How many cells the answer has."""
        return math.prod(category.levels for category in self.by)

    @property
    def labels(self) -> CellLabels:
        """Each cell as {column: value}, in order; ``{}`` for the one cell of an ungrouped query."""
        return CellLabels(self.by)

    def columns_of(self, values: Sequence[ReadsColumns], unit: UnitLimit | None) -> list[str]:
        """Return the columns that the answer needs, each once."""
        named = [column for value in values for column in value.columns]
        named += [column for category in self.by for column in category.columns]
        read = [source for column in named for source in sources_of(column)]
        return list(dict.fromkeys([*read, unit.column] if unit is not None else read))

    def answer(self, cell: NDArray[np.int64], index: NDArray[np.int64], records: NDArray[np.int64]) -> Histogram:
        """Return the answer: how often each cell and index occurs, −1 where there is none."""
        return Histogram.from_triplets(cell, index, records, cells=self.cells)
