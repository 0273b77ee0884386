"""The variance of a clamped column, divisor N − 1.

The standard deviation of a clamped column, divisor N − 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.facts.columns import Grid, checked_column
from hedgerow.keywords import takes
from hedgerow.statistics.entry import entry_on_grid
from hedgerow.statistics.statistic import (
    COUNT,
    Feature,
    NeedsBounds,
    Places,
    Powers,
    SmoothStatistic,
    Totals,
    on_one_grid,
)

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import CovarianceOfTotals, FunctionOfTotals
    from hedgerow.statistics.statistic import Columns, Floats


class Variance(SmoothStatistic):
    """The variance of a clamped column."""

    __slots__ = ()
    kind: ClassVar[str] = "variance"

    @classmethod
    def of(cls, column: str, grid: Grid) -> Variance:
        """Return the statistic of a column on its grid."""
        read = _Variance(grid.half_range)
        return cls(cls.kind, ((column, grid),), powers_of(column, grid), read, 0.0, grid.half_range**2 * 1.01)

    @property
    def powers(self) -> Powers:
        """U and u²."""
        return (1,), (2,)

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return E x² − (E x)², without the bias of the square."""
        return spread_of(self, places)


@overload
def variance(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def variance(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Variance: ...
@takes()
def variance(
    column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None
) -> Variance | NeedsBounds:
    """Request the variance (divisor N − 1) of a clamped column.

    Parameters
    ----------
    column : str
        The name of a numeric column.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.mean`.

    Returns
    -------
    Variance or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> [feature.name for feature in variance("age", bounds=(0, 100)).features]
    ['value', 'square']
    """
    if bounds is None:
        return NeedsBounds("variance", (checked_column(column),), step, partial(on_one_grid, Variance.of))
    return Variance.of(checked_column(column), Grid.from_bounds(column, bounds, step))


def spread_of(statistic: SmoothStatistic, places: Places) -> CovarianceOfTotals:
    """Return the variance of a statistic's one column as a function of totals."""
    from hedgerow.inference.joint.functions import CovarianceOfTotals

    axis = statistic.axis(0, places)
    return CovarianceOfTotals(axis, axis, places[(2,)])


def powers_of(column: str, grid: Grid) -> tuple[Feature, Feature]:
    """Return the features u and u² of a column, u its value from −1 to 1 about the centre."""
    first, second = (_Power(column, grid.centre, grid.half_range, power) for power in (1, 2))
    return Feature("value", -1.0, 1.0, first), Feature("square", 0.0, 1.0, second)


def variance_of_totals(totals: Totals) -> float:
    """Return the variance of u from the totals of u and u²; NaN where they are those of no sample."""
    n = totals[COUNT]
    spread = totals["square"] / n - (totals["value"] / n) ** 2
    return spread * n / (n - 1.0) if n > 1.0 and spread >= 0.0 else math.nan


# Functions with names, and not closures: a release that asked for them can be pickled, and two that ask for the same
# compare equal.
@dataclass(frozen=True, slots=True)
class _Power:
    column: str
    centre: float
    half: float
    power: int

    def __call__(self, values: Columns) -> Floats:
        scaled: Floats = (values[self.column] - self.centre) / self.half
        return scaled if self.power == 1 else scaled**2


@dataclass(frozen=True, slots=True)
class _Variance:
    half: float

    def __call__(self, totals: Totals) -> float:
        return self.half**2 * variance_of_totals(totals)


ENTRY = entry_on_grid(variance, 5, "A variance of values clamped to the bounds LO and HI.", ("var",))


class StandardDeviation(SmoothStatistic):
    """The standard deviation of a clamped column."""

    __slots__ = ()
    kind: ClassVar[str] = "standard_deviation"

    @classmethod
    def of(cls, column: str, grid: Grid) -> StandardDeviation:
        """Return the statistic of a column on its grid."""
        read = _Deviation(grid.half_range)
        return cls(cls.kind, ((column, grid),), powers_of(column, grid), read, 0.0, grid.half_range * 1.01)

    @property
    def powers(self) -> Powers:
        """U and u²."""
        return (1,), (2,)

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return the root of the variance."""
        from hedgerow.inference.joint.functions import DeviationOfTotals

        return DeviationOfTotals(spread_of(self, places))


@overload
def standard_deviation(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def standard_deviation(column: str, *, bounds: tuple[float, float], step: float | None = None) -> StandardDeviation: ...
@takes()
def standard_deviation(
    column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None
) -> StandardDeviation | NeedsBounds:
    """Request the standard deviation (divisor N − 1) of a clamped column.

    Parameters
    ----------
    column : str
        The name of a numeric column.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.mean`.

    Returns
    -------
    StandardDeviation or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> standard_deviation("age", bounds=(0, 100)).high
    50.5
    """
    if bounds is None:
        columns = (checked_column(column),)
        return NeedsBounds("standard_deviation", columns, step, partial(on_one_grid, StandardDeviation.of))
    return StandardDeviation.of(checked_column(column), Grid.from_bounds(column, bounds, step))


@dataclass(frozen=True, slots=True)
class _Deviation:
    half: float

    def __call__(self, totals: Totals) -> float:
        return self.half * math.sqrt(variance_of_totals(totals))


ENTRY_OF_DEVIATION = entry_on_grid(
    standard_deviation, 6, "A standard deviation of values clamped to the bounds LO and HI.", ("std", "sd", "stddev")
)
