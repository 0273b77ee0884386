"""Totals of cells with bounds and noise of their own: exact sums plus noise, the step in which they become public."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.cell_totals import CellTotals
from hedgerow.noise.lattice import LatticeNoise, on_lattice
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def noisy_cell_totals(
    histogram: Histogram,
    mechanism: CellTotals,
    source: NoiseSource,
    *,
    cells: Sequence[Mapping[str, Any]],
    copies: int = 1,
) -> AdditiveTable:
    """Return (Σ y, Σ y²) of each cell, y clamped to its bounds, plus noise of its own width on its own lattice.

    With `copies` the histogram holds so many tables one behind the other, as an audit draws them.
    """
    size = len(mechanism.kind_of)
    y = mechanism.clamped(histogram.index, histogram.cell % size)
    kind = np.tile(np.array(mechanism.kind_of, dtype=np.int64), copies)
    columns = [_noisy(mechanism, histogram.cell_sums(y), kind, [one.total for one in mechanism.kinds], source)]
    if mechanism.squared:
        squares = [one.square for one in mechanism.kinds if one.square is not None]
        columns.append(_noisy(mechanism, histogram.cell_sums(y * y), kind, squares, source))
    spread = np.tile(cell_spread(mechanism), (copies, 1))
    law = "gaussian" if mechanism.law == "gaussian" else "laplace"
    return AdditiveTable(cells, ("total", "square")[: len(columns)], np.stack(columns, axis=1), spread, law)


def cell_spread(mechanism: CellTotals) -> Floats:
    """Return the sd of the noise on each number, (cells, features), in units of y and y².

    The width of two-sided geometric noise is its scale; on a fine lattice its sd is √2 times that.
    """
    found = mechanism.cells()
    widths = [found.total] if found.square is None else [found.total, found.square]
    return np.asarray(np.stack(widths, axis=1) * (1.0 if mechanism.law == "gaussian" else math.sqrt(2.0)))


def _noisy(
    mechanism: CellTotals, sums: Integers, kind: Integers, noises: Sequence[LatticeNoise], source: NoiseSource
) -> Floats:
    noisy = np.zeros(len(kind), dtype=np.float64)
    draw = source.discrete_gaussian if mechanism.law == "gaussian" else source.two_sided_geometric
    order = np.argsort(kind, kind="stable")
    ends = np.searchsorted(kind[order], np.arange(len(noises) + 1))
    for place, noise in enumerate(noises):
        chosen = order[ends[place] : ends[place + 1]]
        noisy[chosen] = on_lattice(sums[chosen], draw(float(noise.width), len(chosen)), noise.bits)
    return noisy
