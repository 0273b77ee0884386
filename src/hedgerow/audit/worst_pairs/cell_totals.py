"""Worst-case records of totals whose bounds differ from cell to cell, found by brute force over each cell's own grid.

The layout that priced them is not asked: bounds are applied, and movements compared, here anew.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.cell_totals import CellTotals

Floats = NDArray[np.float64]
Place = tuple[int, int]
"""A cell and the grid index of a value."""
_BRUTE = 1024  # grids up to here are searched over all pairs; finer ones over pairs that touch an end


def farthest_records(mechanism: CellTotals, *, replace: bool) -> tuple[tuple[str, Place, Place | None], ...]:
    """Return (name, first record, second record or None) of each kind of pair, the farthest apart of its kind."""
    power = 2 if mechanism.law == "gaussian" else 1
    alone: dict[int, tuple[float, Place]] = {}
    within: tuple[float, Place, Place] = (-1.0, (0, 0), (0, 0))
    for cell in range(len(mechanism.kind_of)):
        index, moved = _moved(mechanism, cell)
        cost = (np.abs(moved) ** power).sum(axis=1)
        alone[cell] = float(cost.max()), (cell, int(index[cost.argmax()]))
        ends = range(len(index)) if len(index) <= _BRUTE else (0, len(index) - 1)
        for end in ends:
            apart = (np.abs(moved - moved[end]) ** power).sum(axis=1)
            if float(apart.max()) > within[0]:
                within = float(apart.max()), (cell, int(index[end])), (cell, int(index[apart.argmax()]))
    one_sided = max(alone.values())[1]
    if not replace:
        return (("one-sided", one_sided, None),)
    same = ("same cell", within[1], within[2])
    if len(alone) == 1:
        return same, ("one-sided", one_sided, None)
    first, second = max(combinations(alone, 2), key=lambda pair: alone[pair[0]][0] + alone[pair[1]][0])
    return same, ("across cells", alone[first][1], alone[second][1])


def cell_contribution(mechanism: CellTotals, cell: int, index: int) -> tuple[Floats, Floats]:
    """Return what one record adds to its cell, and the widths of the noise there; both (features,)."""
    kind = mechanism.kinds[mechanism.kind_of[cell]]
    y = float(min(max(mechanism.start + mechanism.stride * index, kind.low), kind.high))
    if kind.square is None:
        return np.array([y]), np.array([kind.total.in_units])
    return np.array([y, y * y]), np.array([kind.total.in_units, kind.square.in_units])


def bits_of_cells(mechanism: CellTotals) -> NDArray[np.int64]:
    """Return the bits of the lattice of each number, (cells, features)."""
    kinds = [[noise.bits for noise in (kind.total, kind.square) if noise is not None] for kind in mechanism.kinds]
    return np.array([kinds[kind] for kind in mechanism.kind_of], dtype=np.int64)


def _moved(mechanism: CellTotals, cell: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the indices within a cell's bounds, and what a record there adds in units of the noise."""
    kind = mechanism.kinds[mechanism.kind_of[cell]]
    first, last = ((end - mechanism.start) // mechanism.stride for end in (kind.low, kind.high))
    index = np.arange(first, last + 1)
    added = [cell_contribution(mechanism, cell, int(one)) for one in index]
    return index, np.array([values / widths for values, widths in added])
