"""The rice farms of section 5.3: 1,026 rows, net output in kg, in cells of status × varieties.

The file says ``mixed`` where the paper's tables say *Both* (varieties), and the farms are Indonesian, not Indian; it is
a panel of 171 farms over six seasons, which the paper takes as 1,026 farms, and so do we.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.tables.bootstrap_table import CellExtremes

from ..source import data_file

__all__ = ["CELLS", "FARMS_FILE", "Farms", "by_cell", "extremes", "farms"]

FARMS_FILE = "RiceFarms.csv"
_STATUS = {"Mixed": "mixed", "Owner": "owner", "Share": "share"}
_VARIETIES = {"High": "high", "Both": "mixed", "Trad": "trad"}
CELLS = tuple(f"{status}-{varieties}" for status in _STATUS for varieties in _VARIETIES)
"""The nine cells as the paper's tables have them, row by row."""


@dataclass(frozen=True, eq=False)
class Farms:
    """Net output of each farm, and the place of its cell in `CELLS`."""

    output: NDArray[np.int64]
    cell: NDArray[np.int64]

    def of(self, cell: int) -> NDArray[np.int64]:
        """Return the outputs of one cell."""
        return self.output[self.cell == cell]

    @property
    def totals(self) -> NDArray[np.int64]:
        """Of each cell."""
        return np.array([self.of(cell).sum() for cell in range(len(CELLS))])


@lru_cache(maxsize=1)
def farms() -> Farms:
    """Read the file."""
    place = {
        (status, varieties): i
        for i, (status, varieties) in enumerate((s, v) for s in _STATUS.values() for v in _VARIETIES.values())
    }
    with data_file(FARMS_FILE).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return Farms(
        np.array([int(row["noutput"]) for row in rows]),
        np.array([place[row["status"], row["varieties"]] for row in rows]),
    )


def extremes() -> CellExtremes:
    """Return the extremes of the nine cells, from which every sensitivity is read."""
    return CellExtremes.of(farms().output, farms().cell, n_cells=len(CELLS))


def by_cell(figures: Iterable[float]) -> dict[str, float]:
    """Return nine figures, row by row as the paper's tables stand, by cell."""
    return dict(zip(CELLS, map(float, figures), strict=True))
