"""How wide the noise of a bootstrap-dp table is, cell by cell: integers on a public grid.

Rows are counted on the public grid of the declared bounds and step, so totals are integers y of one public unit, and
noise is two-sided geometric of scale b_i = w_i/ε in that unit: P(Z = z) ∝ e^(−|z|/b_i). For neighbours in Dⁿ the
log-densities differ by Σ_i |Δy_i|/b_i ≤ ε, exactly as for Laplace noise on real numbers, and at every ε and b_i: the
grid costs nothing. It must not depend on D, or the fineness of a published number would tell how wide its noise is; so
it is the declared one, whatever w_i is.

w_i is never below one step. Where all rows of D are alike O'Keefe & Charest's sensitivity is 0 and the number would go
out exactly, which is 'bootstrap private' and tells that they are. A wider noise keeps the guarantee. Counts get the
width that no D exceeds, 2 (1 for a single cell), so for them it tells nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.ledger.bootstrap_statement import Option
from hedgerow.resampling.histogram import Histogram
from hedgerow.tables.bootstrap_dp.table_sensitivity import (
    CellExtremes,
    magnitude_table_sensitivity,
    public_membership_sensitivities,
    split_sensitivities,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_FEWEST = 4


def choose_option(cells: int) -> tuple[Option, str]:
    """Return the option that `auto` takes for totals, and why: from the number of cells alone, which is public.

    Per cell the noise variances add up to Σ w_i²; for the whole table to k·Δ_D². With M₍₁₎ = a the largest reach and
    all others at most b = M₍₂₎, Σ w_i² ≤ 4a² + 4(k − 1)b², and k·Δ_D² ≥ k(a + b)². Their difference is at least (k −
    4)a² + 2kab − (3k − 4)b², concave in b, 0 at b = a and (k − 4)a² at b = 0: so for k ≥ 4 per-cell noise is never the
    larger in total, whatever D is, the floor of one step apart; for k = 2 it is never the smaller, unless one cell's
    spread alone exceeds a + b.

    A choice by the data would be a statement about their extremes, so it is not made.

    Examples
    --------
    >>> choose_option(9)[0], choose_option(2)[0]
    ('per-cell', 'whole-table')
    """
    if cells >= _FEWEST:
        return "per-cell", "from four cells on noise scaled to each cell is nowhere larger in total, whatever the data"
    return "whole-table", "below four cells noise scaled to each cell can be larger in total"


def extremes_of(histogram: Histogram, y: Integers) -> CellExtremes:
    """Return the extremes of the integers y (one entry per row of the histogram) in each cell."""
    low, high = np.full(histogram.cells, np.inf), np.full(histogram.cells, -np.inf)
    np.minimum.at(low, histogram.cell, y)
    np.maximum.at(high, histogram.cell, y)
    occupied = low <= high
    return CellExtremes(
        np.where(occupied, low, 0.0),
        np.where(occupied, high, 0.0),
        occupied,
        histogram.missing > 0,
        histogram.outside > 0,
    )


def total_widths(extremes: CellExtremes, option: Option, *, step: int) -> Floats:
    """Return w_i of each cell's total, in the integers that are added up; at least `step`, one step of the grid."""
    size = len(extremes.low)
    match option:
        case "whole-table":
            widths = np.full(size, magnitude_table_sensitivity(extremes))
        case "per-cell":
            widths = split_sensitivities(extremes)
        case _:
            widths = public_membership_sensitivities(extremes)
    return np.asarray(np.maximum(widths, float(step)))


def count_widths(cells: int) -> Floats:
    """Return w_i of each count: 2, or 1 where there is one cell, whatever the data are."""
    return np.full(cells, 2.0 if cells > 1 else 1.0)
