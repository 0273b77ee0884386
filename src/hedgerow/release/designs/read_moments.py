"""Reading a table of moments: means and sums with their errors, in the column's unit. Post-processing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.facts import Missing
from hedgerow.inference.moments import (
    NoisyMoments,
    mean_errors,
    mean_interval_basis,
    mean_skewness,
    sum_interval_basis,
    sum_skewness,
    sum_variance,
)
from hedgerow.inference.score import ScoreArrays
from hedgerow.release.designs.readings import Readings
from hedgerow.release.designs.wording import MIDPOINT, NOT_RELIABLE, covers
from hedgerow.release.draw.table import AdditiveTable

if TYPE_CHECKING:
    from hedgerow.release.designs.moments import MomentsDesign

Floats = NDArray[np.float64]


def read_means(design: MomentsDesign, table: AdditiveTable) -> Readings:
    """Return the mean of each cell."""
    grid = design.statistic.grid
    moments = noisy_moments_of(design, table)
    errors = mean_errors(moments)
    basis = mean_interval_basis(
        moments,
        errors,
        centre=grid.centre,
        reach=grid.half_range,
        noise_law=table.noise_law,
        method=design.method,
        margin=grid.rounding,
    )
    value = grid.centre + grid.half_range * errors.mean
    spread = (grid.half_range * errors.sampling_error, grid.half_range * errors.privacy_error)
    return _readings(design, table, value, spread, moments.reliable, basis)


def read_sums(design: MomentsDesign, table: AdditiveTable) -> Readings:
    """Return the sum of each cell."""
    grid, n = design.statistic.grid, design.facts.n
    moments = noisy_moments_of(design, table)
    records: Floats | float | None = n
    freedom: Floats | float = math.inf
    if design.about_zero:
        unit = float(grid.about_zero()[2]) * design.layout.reach
        value = unit * moments.total
        variance, upper = sum_variance(moments, n)
        skew = sum_skewness(moments, variance, n, *(end / unit for end in grid.as_bounds()))
        skew = (unit * skew[0], unit * skew[1])
    else:
        # The number of records of each cell is public: it divides, and multiplies the result again.
        unit, records = grid.half_range, moments.count
        value = grid.centre * records + unit * moments.total
        errors = mean_errors(moments)
        variance = np.where(moments.reliable, records * errors.variance, 0.0)
        upper = np.where(moments.reliable, records * errors.variance_upper, 0.0)
        skew = mean_skewness(errors, upper > 0.0, unit)
        if moments.square is not None:
            freedom = np.where(moments.reliable, records - 1.0, math.inf)
    noise_sd = unit * moments.total_sd
    low, high = grid.as_bounds()
    basis = sum_interval_basis(
        value,
        sampling_variance=upper * unit**2,
        noise_sd=noise_sd,
        low=_possible_sum(min(low, 0.0 if design.about_zero else low), records),
        high=_possible_sum(max(high, 0.0 if design.about_zero else high), records),
        freedom=freedom,
        noise_law=table.noise_law,
        method=design.method,
        skew=skew,
    )
    inside = np.minimum(np.maximum(value, basis.low), basis.high)
    spread = (unit * np.sqrt(variance), np.full_like(value, noise_sd))
    return _readings(design, table, inside, spread, np.ones(len(value), dtype=bool), basis)


def _possible_sum(each: float, records: Floats | float | None) -> Floats | float:
    if each == 0.0:
        return 0.0
    return each * records if records is not None else math.copysign(math.inf, each)


def noisy_moments_of(design: MomentsDesign, table: AdditiveTable) -> NoisyMoments:
    """Return the cells' moments in units of the reach; a public n stands in for a count that was not released."""
    reach = float(design.layout.reach)
    counted, squared = "count" in table.features, "square" in table.features
    total = table.column("total") / reach
    return NoisyMoments(
        count=table.column("count") if counted else np.full_like(total, float(design.facts.n or 0)),
        total=total,
        square=table.column("square") / reach**2 if squared else None,
        count_sd=table.sd("count") if counted else 0.0,
        total_sd=table.sd("total") / reach,
        square_sd=table.sd("square") / reach**2 if squared else 0.0,
        offset=design.layout.offset / reach**2 if counted else 0.0,
    )


def _readings(
    design: MomentsDesign,
    table: AdditiveTable,
    value: Floats,
    errors: tuple[Floats, Floats],
    known: NDArray[np.bool_],
    basis: ScoreArrays,
) -> Readings:
    return Readings(
        statistic=design.statistic.name,
        column=design.statistic.column,
        cells=table.cells,
        method=design.method,
        covers=covers(design.statistic, design.facts),
        value=value,
        sampling_error=errors[0],
        privacy_error=errors[1],
        known=known,
        reliable=known,
        unsure=NOT_RELIABLE,
        remark=MIDPOINT if design.missing is Missing.MIDPOINT else None,
        basis=basis,
    )
