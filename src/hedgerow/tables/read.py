"""A drawn table read as arrays: estimates with errors and intervals, and the plain noisy cells that margins need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.moments import NoisyMoments
from hedgerow.release.cell_totals import CellTotalsDesign
from hedgerow.release.counts import CountsDesign
from hedgerow.release.moments import MomentsDesign
from hedgerow.release.plan import Plan
from hedgerow.release.read_moments import noisy_moments_of
from hedgerow.release.table import AdditiveTable
from hedgerow.tables.cells import TableCells
from hedgerow.tables.shape import TableShape

__all__ = ["cells_of", "estimates_of"]


def estimates_of(plan: Plan, table: AdditiveTable) -> Sequence[Estimate]:
    """Return the cells' estimates; of a large table each is made when it is asked for."""
    (item,) = plan.items
    if item.design is None:
        raise TypeError("a table has groups, so something is drawn")
    return item.design.estimates(table)


def cells_of(plan: Plan, table: AdditiveTable, estimates: Sequence[Estimate]) -> TableCells:
    """Return the noisy numbers as they were drawn, with their variances: what is added up into margins."""
    (item,) = plan.items
    shape, facts = TableShape.of(plan.request.by), plan.facts
    law = table.noise_law
    match item.design:
        case CountsDesign():
            return TableCells.counts(
                shape,
                table.column("count"),
                privacy_variance=table.sd("count") ** 2,
                noise_law=law,
                n=facts.n,
                census=facts.census,
            )
        case CellTotalsDesign():
            return _by_cell(item.design, shape, table, law)
        case MomentsDesign() if item.design.about_zero:
            return _totals(item.design, shape, table, law)
        case MomentsDesign():
            return _known_membership(item.design, shape, table, law, estimates)
    return _listed(shape, estimates, plan)


def _totals(design: MomentsDesign, shape: TableShape, table: AdditiveTable, law: str) -> TableCells:
    grid = design.statistic.grid
    unit = float(grid.about_zero()[2]) * design.layout.reach
    return _sums(shape, noisy_moments_of(design, table), unit, grid.as_bounds(), design.facts.n, law)


def _by_cell(design: CellTotalsDesign, shape: TableShape, table: AdditiveTable, law: str) -> TableCells:
    ends = (design.unit * int(design.limits.min()), design.unit * int(design.limits.max()))
    return _sums(shape, design.moments(table), design.unit, ends, design.facts.n, law)


def _sums(
    shape: TableShape, moments: NoisyMoments, unit: float, ends: tuple[float, float], n: int | None, law: str
) -> TableCells:
    """Return sums about zero of records that may be in a cell or not, and whose values lie between `ends`."""
    low, high = min(ends[0], 0.0), max(ends[1], 0.0)
    return TableCells.totals(
        shape,
        unit * moments.total,
        privacy_variance=(unit * moments.total_sd) ** 2,
        second_moment=None if moments.square is None else unit**2 * moments.square,
        second_moment_variance=(unit**2 * moments.square_sd) ** 2,
        noise_law=law,
        n=n,
        low=-np.inf if n is None and low < 0.0 else low * (n or 0),
        high=np.inf if n is None and high > 0.0 else high * (n or 0),
    )


def _known_membership(
    design: MomentsDesign, shape: TableShape, table: AdditiveTable, law: str, estimates: Sequence[Estimate]
) -> TableCells:
    grid, moments = design.statistic.grid, noisy_moments_of(design, table)
    sampling = np.array([one.sampling_error for one in estimates], dtype=np.float64) ** 2
    return TableCells(
        shape,
        grid.centre * moments.count + grid.half_range * moments.total,
        sampling,
        (grid.half_range * moments.total_sd) ** 2,
        law,
        census=design.facts.census,
    )


def _listed(shape: TableShape, estimates: Sequence[Estimate], plan: Plan) -> TableCells:
    """Return the cells of a resampled release, whose own errors are estimated cell by cell."""
    counted = plan.request.statistics[0].name == "count"
    values = np.array([one.estimate for one in estimates])
    if any(one.standard_error is None for one in estimates):
        return TableCells.without_errors(shape, values, counted=counted)
    sampling = np.array([(one.sampling_error or 0.0) ** 2 + (one.bootstrap_error or 0.0) ** 2 for one in estimates])
    privacy = np.array([(one.privacy_error or 0.0) ** 2 for one in estimates])
    return TableCells(shape, values, sampling, privacy, "gaussian", census=plan.facts.census)
