"""Sensitivities of O'Keefe and Charest's own example against every row replacement; needs RiceFarms in $HEDGEROW_DATA.

1,026 farms, so 1,052,676 replacements of one row by one row, each changing a 3 × 3 table. About 1 s.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest
from reproduction.source import data_file

from hedgerow.tables.bootstrap_table import (
    CellExtremes,
    cell_total_sensitivities,
    contingency_table_sensitivity,
    magnitude_table_sensitivity,
    public_membership_sensitivities,
    split_sensitivities,
)
from hedgerow.testing.published import (
    published_cell_sensitivities,
    published_contingency_sensitivity,
    published_magnitude_sensitivity,
)

pytestmark = pytest.mark.data("RiceFarms.csv")


@pytest.fixture(scope="module")
def farms() -> tuple[np.ndarray, np.ndarray]:
    with data_file("RiceFarms.csv").open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    status, varieties = ("mixed", "owner", "share"), ("high", "mixed", "trad")
    cells = [3 * status.index(row["status"]) + varieties.index(row["varieties"]) for row in read]
    return np.array([float(row["noutput"]) for row in read]), np.array(cells)


def changes(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return, for every ordered pair of rows, the table with the second in the first's place minus the table itself."""
    rows = np.zeros((len(values), 9))
    rows[np.arange(len(values)), cells] = values
    return rows[None, :, :] - rows[:, None, :]


def test_every_row_replacement(farms: tuple[np.ndarray, np.ndarray]) -> None:
    values, cells = farms
    table = CellExtremes.of(values, cells)
    moved = np.abs(changes(values, cells))
    assert moved.shape[:2] == (1026, 1026) and moved.shape[0] * moved.shape[1] == 1_052_676
    assert moved.sum(axis=2).max() == magnitude_table_sensitivity(table) == 32_130.0
    assert published_magnitude_sensitivity(table) == 17_528.0
    assert moved.max(axis=(0, 1)).tolist() == cell_total_sensitivities(table).tolist()
    assert (moved / split_sensitivities(table)).sum(axis=2).max() == 1.0
    within = moved[cells[:, None] == cells[None, :]]
    assert within.max(axis=0).tolist() == public_membership_sensitivities(table).tolist()


def test_counts_move_two_cells_in_71_of_100_replacements(farms: tuple[np.ndarray, np.ndarray]) -> None:
    values, cells = farms
    table = CellExtremes.of(np.ones(len(values)), cells)
    moved = np.abs(changes(np.ones(len(values)), cells)).sum(axis=2)
    assert moved.max() == contingency_table_sensitivity(table) == 2.0 != published_contingency_sensitivity(table)
    assert round((moved == 2).mean(), 2) == 0.71


def test_table_2_as_printed(farms: tuple[np.ndarray, np.ndarray]) -> None:
    assert published_cell_sensitivities(CellExtremes.of(*farms)).tolist() == [
        8766, 2600, 3020, 17528, 11800, 8058, 14336, 305, 1900,
    ]  # fmt: skip
