"""Cells and totals as estimates: what arrays of `TableCells` hold of one cell, made when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.estimate import Estimate
from hedgerow.tables.cells import TableCells

__all__ = ["CellEstimates"]

Floats = NDArray[np.float64]
NEGATIVE = "This number lies below what is possible: noise was added, and nothing was cut, so that totals add up."
WITHHELD = (
    "No error is given: under bootstrap-dp, which is NOT differential privacy, "
    "it would tell what the noise was scaled to."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellEstimates(Sequence[Estimate]):
    """The cells of a table, or of one of its margins, as estimates.

    Attributes
    ----------
    cells : TableCells
    statistic, column, method, covers : str
        As in `Estimate`.
    """

    cells: TableCells
    statistic: str
    column: str | None
    method: str
    covers: str
    _intervals: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.cells.shape.size

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    def __getitem__(self, index: int | slice) -> Estimate | Sequence[Estimate]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        sampling, privacy = self.errors()
        return Estimate(
            statistic=self.statistic,
            column=self.column,
            cell=self.cells.shape.cell(place),
            estimate=float(self.cells.published[place]),
            sampling_error=None if privacy is None else float(sampling[place]),
            bootstrap_error=None if privacy is None else 0.0,
            privacy_error=None if privacy is None else float(privacy[place]),
            method=self.method,
            n_resamples=None,
            reliable=privacy is not None,
            note=self.note(place),
            covers=self.covers,
            basis=_CellBasis(self, place),
        )

    def note(self, place: int) -> str | None:
        """Return what a reader must know about one number."""
        if self.cells.withheld:
            return WITHHELD
        return NEGATIVE if self.cells.published[place] < self.cells.low else None

    def errors(self) -> tuple[Floats, Floats | None]:
        """Return the sampling and the privacy error of each cell; None for the second where errors are withheld."""
        size, cells = self.cells.shape.size, self.cells
        sampling = np.broadcast_to(np.sqrt(cells.sampling_variance), size)
        if cells.privacy_variance is None:
            return sampling, None
        return sampling, np.broadcast_to(np.sqrt(cells.privacy_variance), size)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level: everything possible where errors are withheld."""
        if level not in self._intervals:
            size = self.cells.shape.size
            if self.cells.privacy_variance is None:
                self._intervals[level] = np.full(size, self.cells.low), np.full(size, self.cells.high)
            else:
                self._intervals[level] = self.cells.interval(level)
        return self._intervals[level]


@dataclass(frozen=True, slots=True)
class _CellBasis:
    """The interval of one cell, out of those of all."""

    estimates: CellEstimates
    place: int

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.estimates.method,)

    @property
    def low(self) -> float:
        return float(self.estimates.cells.low)

    @property
    def high(self) -> float:
        return float(self.estimates.cells.high)

    def interval(self, level: float, method: str) -> tuple[float, float]:
        low, high = self.estimates.interval(level)
        return float(low[self.place]), float(high[self.place])
