"""Reading a table of moments: means and sums with their errors, in the column's unit. Post-processing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.moments import (
    NoisyMoments,
    mean_errors,
    mean_interval_basis,
    sum_interval_basis,
    sum_variance,
)
from hedgerow.inference.score import ScoreBasis
from hedgerow.privacy.facts import Missing
from hedgerow.release.table import AdditiveTable
from hedgerow.release.wording import MIDPOINT, NOT_RELIABLE, covers

if TYPE_CHECKING:
    from hedgerow.release.moments import MomentsDesign

__all__ = ["mean_estimate", "sum_estimate"]


def mean_estimate(design: MomentsDesign, table: AdditiveTable, row: int) -> Estimate:
    """Return the mean of one cell."""
    grid = design.statistic.grid
    moments = _moments(design, table, row)
    errors = mean_errors(moments) if moments.reliable else None
    basis = mean_interval_basis(
        moments,
        errors,
        centre=grid.centre,
        reach=grid.half_range,
        noise_law=table.noise_law,
        method=design.method,
        margin=grid.rounding,
    )
    if errors is None:
        ratio = moments.total / moments.count if moments.count > 0 else 0.0
        value = grid.centre + grid.half_range * min(max(ratio, -1.0), 1.0)
        return _estimate(design, table, row, value, (None, None, None), basis)
    value = grid.centre + grid.half_range * errors.mean
    spread = (grid.half_range * errors.sampling_error, 0.0, grid.half_range * errors.privacy_error)
    return _estimate(design, table, row, value, spread, basis)


def sum_estimate(design: MomentsDesign, table: AdditiveTable, row: int) -> Estimate:
    """Return the sum of one cell."""
    grid, n = design.statistic.grid, design.facts.n
    moments = _moments(design, table, row)
    if design.about_zero:
        unit = float(grid.about_zero()[2]) * design.layout.reach
        value, freedom = unit * moments.total, math.inf
        variance, upper = sum_variance(moments, n)
    else:
        unit, count = grid.half_range, float(n or 0)
        value, freedom = grid.centre * count + unit * moments.total, math.inf
        variance = upper = 0.0
        if moments.reliable and moments.square is not None:
            errors = mean_errors(moments)
            variance, upper, freedom = count * errors.variance, count * errors.variance_upper, count - 1.0
    noise_sd = unit * moments.total_sd
    low, high = grid.as_bounds()
    basis = sum_interval_basis(
        value,
        sampling_variance=upper * unit**2,
        noise_sd=noise_sd,
        low=_possible_sum(min(low, 0.0 if design.about_zero else low), n),
        high=_possible_sum(max(high, 0.0 if design.about_zero else high), n),
        freedom=freedom,
        noise_law=table.noise_law,
        method=design.method,
    )
    inside = min(max(value, basis.low), basis.high)
    return _estimate(design, table, row, inside, (unit * math.sqrt(variance), 0.0, noise_sd), basis)


def _possible_sum(each: float, n: int | None) -> float:
    if each == 0.0:
        return 0.0
    return each * n if n is not None else math.copysign(math.inf, each)


def _moments(design: MomentsDesign, table: AdditiveTable, row: int) -> NoisyMoments:
    """Return one cell's moments in units of the reach; a public n stands in for a count that was not released."""
    reach = float(design.layout.reach)
    released = dict(zip(table.features, table.values[row], strict=True))
    spread = dict(zip(table.features, table.noise_sd, strict=True))
    counted = "count" in released
    return NoisyMoments(
        count=float(released["count"]) if counted else float(design.facts.n or 0),
        total=float(released["total"]) / reach,
        square=float(released["square"]) / reach**2 if "square" in released else None,
        count_sd=float(spread["count"]) if counted else 0.0,
        total_sd=float(spread["total"]) / reach,
        square_sd=float(spread.get("square", 0.0)) / reach**2,
        offset=design.layout.offset / reach**2 if counted else 0.0,
    )


def _estimate(
    design: MomentsDesign,
    table: AdditiveTable,
    row: int,
    value: float,
    errors: tuple[float | None, float | None, float | None],
    basis: ScoreBasis,
) -> Estimate:
    sampling, bootstrap, privacy = errors
    notes = [NOT_RELIABLE] if privacy is None else []
    notes += [MIDPOINT] if design.missing is Missing.MIDPOINT else []
    return Estimate(
        statistic=design.statistic.name,
        column=design.statistic.column,
        cell=table.cells[row],
        estimate=value,
        sampling_error=sampling,
        bootstrap_error=bootstrap,
        privacy_error=privacy,
        method=design.method,
        n_resamples=None,
        reliable=privacy is not None,
        note=" ".join(notes) or None,
        covers=covers(design.statistic, design.facts),
        basis=basis,
    )
