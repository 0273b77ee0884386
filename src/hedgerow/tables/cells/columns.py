"""The numbers of a table as columns: what every data file, frame and picture reads, out of the one `TableCells`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.tables.cells.cells import TableCells

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Numbers of all cells, in order: NaN where an error is not given, infinite where an interval has no end."""

    estimate: Floats
    standard_error: Floats
    sampling_error: Floats
    bootstrap_error: Floats
    privacy_error: Floats
    low: Floats
    high: Floats
    reliable: NDArray[np.bool_]


def columns_of(cells: TableCells, level: float) -> Columns:
    """Return the columns, with intervals at a level that was checked."""
    low, high = cells.read.interval(level)
    return Columns(
        cells.published,
        cells.sampling_error if cells.withheld else cells.standard_error,
        cells.sampling_error,
        cells.bootstrap_error,
        cells.privacy_error,
        low,
        high,
        cells.reliable,
    )
