"""A drawn table read as arrays, by the release's own formulas, with what totals over it need. Post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.cell_totals import CellTotalsDesign
from hedgerow.release.designs.moments import MomentsDesign, noisy_moments_of
from hedgerow.release.designs.readings import Readings
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.release.plan import Plan
from hedgerow.tables.cells.cell_estimates import CellEstimates
from hedgerow.tables.cells.cells import TableCells
from hedgerow.tables.cells.resampled_cells import ResampledCells
from hedgerow.tables.cells.shape import TableShape

Floats = NDArray[np.float64]


def estimates_of(plan: Plan, table: AdditiveTable) -> CellEstimates:
    """Return the cells' estimates, errors and intervals as the release reads them; each is made when it is asked for.

    One unbiased number a cell, the one that is added up: a table cut cell by cell would not add up. (Replicates alone
    are cut, as they are read.)
    """
    (item,) = plan.items
    shape, facts, design = TableShape.of(plan.request.by), plan.facts, item.design
    name, column = item.statistic.name, item.statistic.column
    counted = name == "count"
    if isinstance(design, UnitBootstrapDesign):
        resampled = ResampledCells.of(design, table)
        first, values = resampled.estimates[0], np.array([one.estimate for one in resampled.estimates])
        cells = TableCells.replicated(shape, values, resampled, counted=counted, census=facts.census)
        return CellEstimates(cells, name, column, first.method, first.covers)
    readings = None if design is None else design.estimates(table)
    if not isinstance(readings, Readings):
        raise TypeError("a table has groups, so something is drawn, of every cell alike")
    basis, sampling, privacy = readings.basis, readings.sampling_error**2, readings.privacy_error**2
    known = isinstance(design, MomentsDesign) and not design.about_zero
    square, noise = _second_moment(design, table)
    if known:
        # What the release adds to a sampling variance is half a standard deviation of its noise.
        noise = np.square(2.0 * (basis.sampling.constant - sampling))
    cells = TableCells(
        shape,
        basis.a,
        sampling,
        privacy if isinstance(design, CellTotalsDesign) else float(privacy[0]),
        table.noise_law,
        n=None if known else facts.n,
        census=facts.census,
        counted=counted,
        second_moment=square,
        second_moment_variance=noise,
        low=basis.low,
        high=basis.high,
        freedom=basis.freedom,
        skew=(basis.skew, basis.skew_unsure),
        basis=basis,
    )
    return CellEstimates(cells, name, column, readings.method, readings.covers, readings.remark)


def _second_moment(design: object, table: AdditiveTable) -> tuple[Floats | None, Floats | float]:
    """Return Σx² of each cell in the column's unit and the variance of its noise, where a record may be in any cell."""
    match design:
        case CellTotalsDesign():
            moments, unit = design.moments(table), design.unit
        case MomentsDesign() if design.about_zero:
            unit = float(design.statistic.grid.about_zero()[2]) * design.layout.reach
            moments = noisy_moments_of(design, table)
        case _:
            return None, 0.0
    square = None if moments.square is None else unit**2 * moments.square
    return square, np.square(unit**2 * moments.square_sd)
