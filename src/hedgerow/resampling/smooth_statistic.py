"""A user's smooth function of an additive table; ratio, variance, standard deviation and quantile come with it.

What is released is a table of sums of bounded features; the statistic is a function of that table, so whatever it is,
its price depends on the declared bounds alone. It should be smooth, and should not change when every total is doubled
(a function of averages), since a private resample does not fix its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.privacy.facts import Grid, checked_column

__all__ = ["Feature", "Smooth", "bootstrap", "quantile", "ratio", "standard_deviation", "variance"]

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
Totals = Mapping[str, float]
COUNT = "count"


@dataclass(frozen=True, slots=True)
class Feature:
    """One bounded function of a record; `function` None takes the column of that name as it is."""

    name: str
    lower: float
    upper: float
    function: Callable[[Columns], Floats] | None = None

    @property
    def centre(self) -> float:
        """Midpoint of the declared bounds."""
        return (self.lower + self.upper) / 2

    @property
    def half_range(self) -> float:
        """Half the declared range."""
        return (self.upper - self.lower) / 2


@dataclass(frozen=True, slots=True)
class Smooth:
    """A smooth function of the totals of bounded features; made by `bootstrap` and its siblings.

    Attributes
    ----------
    name : str
        What the estimate is called.
    grids : tuple of (column, Grid)
        The columns that are read, clamped and put on their grids.
    features : tuple of Feature
        What is added up; empty where each grid value of the one column is a total of its own (a histogram).
    function : callable
        {feature: total, "count": number} → number; for a histogram {"0": …, "1": …} by grid index.
    low, high : float
        What is possible for the statistic.
    """

    name: str
    grids: tuple[tuple[str, Grid], ...]
    features: tuple[Feature, ...]
    function: Callable[[Totals], float] = field(compare=False)
    low: float = -math.inf
    high: float = math.inf

    is_histogram: ClassVar[bool] = False

    @property
    def column(self) -> str:
        """The columns, for a label."""
        return ", ".join(name for name, _ in self.grids)


@dataclass(frozen=True, slots=True)
class SmoothHistogram(Smooth):
    """A smooth function of one column's histogram: every grid value has a total of its own."""

    is_histogram: ClassVar[bool] = True


def bootstrap(
    statistic: Callable[[Totals], float],
    *,
    columns: Mapping[str, tuple[float, ...]],
    features: Mapping[str, tuple[Callable[[Columns], Floats], tuple[float, float]]] | None = None,
    name: str | None = None,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Smooth:
    """Ask for a smooth function of totals, by a private bootstrap.

    Parameters
    ----------
    statistic : callable
        Takes {feature: total, "count": number of records} and returns a number. The totals are noisy, so it must bear
        any real numbers; where it fails or is not finite the estimate is marked unreliable.
    columns : {name: (low, high) or (low, high, step)}
        Numeric columns with their declared bounds.
    features : {name: (function, (low, high))}, optional
        Functions of the columns, given as arrays of grid values, with declared bounds to which they are clamped.
        Without them the columns themselves are added up.
    name : str, optional
        What to call it; the function's own name otherwise.
    limits : (low, high)
        What is possible for the statistic; intervals are cut there.

    Raises
    ------
    ParameterError
        HG104 to HG107 for bounds, HG112 for what is no statistic.

    Examples
    --------
    >>> rate = bootstrap(lambda t: t["tax"] / t["income"], columns={"tax": (0, 50), "income": (0, 100)}, name="rate")
    >>> rate.column
    'tax, income'
    """
    if not callable(statistic) or not isinstance(columns, Mapping) or not columns:
        raise _no_statistic("A bootstrap is asked for with a function of totals and the columns that it reads.")
    grids = tuple(_grid(column, facts) for column, facts in columns.items())
    if features is None:
        listed = [Feature(column, *grid.as_bounds()) for column, grid in grids]
    else:
        listed = [_feature(key, given) for key, given in features.items()]
    if not listed or any(feature.name == COUNT for feature in listed):
        raise _no_statistic('Features are named, and "count" is the number of records.')
    label = name or getattr(statistic, "__name__", "statistic").replace("<lambda>", "statistic")
    return Smooth(label, grids, tuple(listed), statistic, *map(float, limits))


def ratio(numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Smooth:
    """Ask for Σ numerator / Σ denominator, each column with its declared bounds.

    >>> ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}).name
    'ratio'
    """
    if numerator == denominator or set(bounds) != {numerator, denominator}:
        raise _no_statistic("A ratio has two different columns, each with its bounds.")
    ordered = {numerator: bounds[numerator], denominator: bounds[denominator]}
    return bootstrap(lambda t: t[numerator] / t[denominator], columns=ordered, name="ratio")


def variance(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Smooth:
    """Ask for the variance (divisor N − 1) of a clamped column."""
    grid = Grid.from_bounds(column, bounds, step)
    half = grid.half_range
    return _moments(column, grid, "variance", lambda v: half**2 * v, half**2 * 1.01)


def standard_deviation(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Smooth:
    """Ask for the standard deviation (divisor N − 1) of a clamped column."""
    grid = Grid.from_bounds(column, bounds, step)
    half = grid.half_range
    return _moments(column, grid, "standard_deviation", lambda v: half * math.sqrt(v), half * 1.01)


def quantile(column: str, probability: float, *, bounds: tuple[float, float], step: float | None = None) -> Smooth:
    """Ask for a quantile, read off the released histogram of a clamped column (64 steps unless `step` says otherwise).

    Records of a grid value are taken to lie evenly within half a step of it.

    >>> quantile("income", 0.5, bounds=(0, 128)).grids[0][1].steps
    64
    """
    if isinstance(probability, bool) or not isinstance(probability, (int, float)) or not 0 < probability < 1:
        raise _no_statistic("A quantile has a probability strictly between 0 and 1.")
    low, high = (float(end) for end in Grid.from_bounds(column, bounds, None).as_bounds())
    grid = Grid.from_bounds(column, bounds, step) if step is not None else _coarse(column, bounds)
    if grid.steps > 1024:
        raise _no_statistic("A quantile is read off a histogram of at most 1,025 grid values: take a coarser step.")
    width, size = float(grid.step), grid.steps + 1

    def read(totals: Totals) -> float:
        mass = np.array([totals[str(place)] for place in range(size)])
        cumulated = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(mass)]))
        edges = low + (np.arange(size + 1) - 0.5) * width
        return float(np.clip(np.interp(probability * cumulated[-1], cumulated, edges), low, high))

    return SmoothHistogram(f"quantile_{probability:g}", ((checked_column(column), grid),), (), read, low, high)


def _moments(column: str, grid: Grid, name: str, scaled: Callable[[float], float], largest: float) -> Smooth:
    centre, half = grid.centre, grid.half_range

    def first(values: Columns) -> Floats:
        return (values[column] - centre) / half

    def second(values: Columns) -> Floats:
        return first(values) ** 2

    def read(totals: Totals) -> float:
        n = totals[COUNT]
        spread = totals["square"] / n - (totals["value"] / n) ** 2
        return scaled(spread * n / (n - 1.0)) if n > 1.0 and spread >= 0.0 else math.nan

    features = (Feature("value", -1.0, 1.0, first), Feature("square", 0.0, 1.0, second))
    return Smooth(name, ((checked_column(column), grid),), features, read, 0.0, largest)


def _coarse(column: str, bounds: tuple[float, float]) -> Grid:
    fine = Grid.from_bounds(column, bounds, None)
    return Grid(fine.lower, fine.upper, 64)


def _grid(column: str, facts: object) -> tuple[str, Grid]:
    given = tuple(facts) if isinstance(facts, (tuple, list)) else ()
    bounds, step = (given[:2], given[2]) if len(given) == 3 else (facts, None)
    return checked_column(column), Grid.from_bounds(column, bounds, step)


def _feature(name: str, given: object) -> Feature:
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(pair) != 2 or not callable(pair[0]):
        raise _no_statistic(f"Feature {name!r} is given as (function, (low, high)).")
    low, high = Grid.from_bounds(name, pair[1], None).as_bounds()
    return Feature(checked_column(name), low, high, pair[0])


def _no_statistic(rule: str) -> ParameterError:
    return ParameterError(
        "HG112",
        rule=rule,
        finding="Found something else.",
        remedy='For example hg.ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}).',
    )
