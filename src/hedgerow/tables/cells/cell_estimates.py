"""Cells and totals as estimates: what arrays of `TableCells` hold of one cell, made when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

from hedgerow.inference.estimate import Estimate, IntervalBasis
from hedgerow.inference.score import ScoreBasis
from hedgerow.release.designs.design import SMALL_COUNT
from hedgerow.tables.cells.cells import TableCells

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
    remark : str or None
        What is said of every number.
    """

    cells: TableCells
    statistic: str
    column: str | None
    method: str
    covers: str
    remark: str | None = None

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
        cells = self.cells
        parts = (cells.sampling_error, cells.bootstrap_error, cells.privacy_error)
        sampling, bootstrap, privacy = (None if cells.withheld else float(part[place]) for part in parts)
        return Estimate(
            statistic=self.statistic,
            column=self.column,
            cell=cells.shape.cell(place),
            estimate=float(cells.published[place]),
            sampling_error=sampling,
            bootstrap_error=bootstrap,
            privacy_error=privacy,
            method=self.method,
            n_resamples=self.n_resamples,
            reliable=bool(cells.reliable[place]),
            note=self.note(place),
            covers=self.covers,
            basis=self._basis(place),
            replicates=self.replicates(place),
        )

    def replicates(self, place: int) -> tuple[float, ...] | None:
        """Return the noisy replicates behind one number, for a bootstrap."""
        drawn = self.cells.resampled
        return None if drawn is None else drawn.estimates[place].replicates

    @property
    def n_resamples(self) -> int | None:
        """Replicates, for a bootstrap."""
        return None if self.cells.resampled is None else self.cells.resampled.design.n_resamples

    @property
    def interval_method(self) -> str:
        """The name of the intervals: that of the release, or of a bootstrap's own method."""
        return self._basis(0).methods[0]

    def note(self, place: int) -> str | None:
        """Return what a reader must know about one number."""
        cells = self.cells
        if cells.withheld:
            return WITHHELD
        if cells.resampled is not None:
            return cells.resampled.estimates[place].note
        low = cells.low if isinstance(cells.low, float) else cells.low[place]
        said = [] if cells.reliable[place] else [SMALL_COUNT]
        said += [NEGATIVE] if cells.published[place] < low else []
        return " ".join([*said, *([self.remark] if self.remark else [])]) or None

    def _basis(self, place: int) -> IntervalBasis:
        basis = self.cells.read.row(place)
        return replace(basis, method=self.method) if isinstance(basis, ScoreBasis) else basis
