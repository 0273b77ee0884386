"""A user's smooth function of an additive table; ratio, variance, standard deviation and quantile come with it.

What is released is a table of sums of bounded features; the statistic is a function of that table, so whatever it is,
its price depends on the declared bounds alone. It should be smooth, and should not change when every total is doubled
(a function of averages), since a private resample does not fix its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.facts.given import kind_of, real, shown
from hedgerow.keywords import takes
from hedgerow.resampling.awaiting import Awaiting, NamedGrid

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
Totals = Mapping[str, float]
COUNT = "count"
QUANTILE_STEPS = 64
_FACTS = "Write the request of the facts anew; hedgerow schema prints what it may hold."
_RATIO = 'hg.ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)})'
_BOOTSTRAP = 'hg.bootstrap(lambda t: t["tax"] / t["count"], columns={"tax": (0, 50)}, name="mean tax")'


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
    kind : str
        What facts allow or forbid it as: ``"bootstrap"`` for a function of the user's own, whatever its name.
    """

    name: str
    grids: tuple[tuple[str, Grid], ...]
    features: tuple[Feature, ...]
    function: Callable[[Totals], float] = field(compare=False)
    low: float = -math.inf
    high: float = math.inf
    kind: str = "bootstrap"

    is_histogram: ClassVar[bool] = False

    @property
    def column(self) -> str:
        """The columns, for a label."""
        return ", ".join(name for name, _ in self.grids)

    def without_code(self) -> Smooth:
        """Return what was asked for without functions of the user's own, which another process may not have."""
        if self.kind != "bootstrap":
            return self
        features = tuple(one if one.function is None else replace(one, function=_LeftBehind()) for one in self.features)
        return replace(self, function=_LeftBehind(), features=features)


@dataclass(frozen=True, slots=True)
class SmoothHistogram(Smooth):
    """A smooth function of one column's histogram: every grid value has a total of its own."""

    is_histogram: ClassVar[bool] = True


@takes()
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
        raise _no_statistic(
            "A bootstrap is asked for with a function of totals and the columns that it reads.",
            "Found no columns." if columns == {} else f"Found {kind_of(statistic)} and {kind_of(columns)}.",
            _BOOTSTRAP,
        )
    grids = tuple(_grid(column, facts) for column, facts in columns.items())
    if features is None:
        listed = [Feature(column, *grid.as_bounds()) for column, grid in grids]
    else:
        listed = [_feature(key, given) for key, given in features.items()]
    if not listed or any(feature.name == COUNT for feature in listed):
        raise _no_statistic(
            'Features are named, and "count" is the number of records.',
            'A feature is named "count".' if listed else "Found no features.",
            _BOOTSTRAP,
        )
    label = name or getattr(statistic, "__name__", "statistic").replace("<lambda>", "statistic")
    if not isinstance(label, str) or not label.isprintable() or len(label) > 200:
        rule = "The name of a statistic is a printable text of at most 200 characters."
        raise _no_statistic(rule, f"Found {shown(label)}.", _BOOTSTRAP)
    low, high = float(limits[0]), float(limits[1])
    if not low < high:
        rule = "`limits` are two numbers, the lower one first; either may be infinite."
        raise _no_statistic(rule, f"Found {shown(limits)}.", _BOOTSTRAP)
    return Smooth(label, grids, tuple(listed), statistic, low, high)


@overload
def ratio(numerator: str, denominator: str, *, bounds: None = None) -> Awaiting: ...
@overload
def ratio(numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Smooth: ...
@takes()
def ratio(
    numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]] | None = None
) -> Smooth | Awaiting:
    """Ask for Σ numerator / Σ denominator, each column with its declared bounds, or with those of the facts.

    >>> ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}).name
    'ratio'
    """
    columns = checked_column(numerator), checked_column(denominator)
    if numerator == denominator or (bounds is not None and set(bounds) != {*columns}):
        same = f"Both are {shown(numerator)}."
        named = same if numerator == denominator else f"Found bounds of {shown(list(bounds or ()))[1:-1] or 'none'}."
        raise _no_statistic("A ratio has two different columns, each with its bounds.", named, _RATIO)
    if bounds is None:
        return Awaiting("ratio", columns, None, _ratio)
    return _ratio([_grid(column, bounds[column]) for column in columns])


@overload
def variance(column: str, *, bounds: None = None, step: float | None = None) -> Awaiting: ...
@overload
def variance(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Smooth: ...
@takes()
def variance(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Smooth | Awaiting:
    """Ask for the variance (divisor N − 1) of a clamped column; bounds and step as in `mean`."""
    if bounds is None:
        return Awaiting("variance", (checked_column(column),), step, lambda grids: _variance(*grids[0]))
    return _variance(checked_column(column), Grid.from_bounds(column, bounds, step))


@overload
def standard_deviation(column: str, *, bounds: None = None, step: float | None = None) -> Awaiting: ...
@overload
def standard_deviation(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Smooth: ...
@takes()
def standard_deviation(
    column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None
) -> Smooth | Awaiting:
    """Ask for the standard deviation (divisor N − 1) of a clamped column; bounds and step as in `mean`."""
    if bounds is None:
        return Awaiting("standard_deviation", (checked_column(column),), step, lambda grids: _deviation(*grids[0]))
    return _deviation(checked_column(column), Grid.from_bounds(column, bounds, step))


@overload
def quantile(column: str, probability: float, *, bounds: None = None, step: float | None = None) -> Awaiting: ...
@overload
def quantile(column: str, probability: float, *, bounds: tuple[float, float], step: float | None = None) -> Smooth: ...
@takes()
def quantile(
    column: str, probability: float, *, bounds: tuple[float, float] | None = None, step: float | None = None
) -> Smooth | Awaiting:
    """Ask for a quantile, read off the released histogram of a clamped column (64 steps unless `step` says otherwise).

    Records of a grid value are taken to lie evenly within half a step of it.

    >>> quantile("income", 0.5, bounds=(0, 128)).grids[0][1].steps
    64
    """
    share = real(probability)
    if share is None or not 0.0 < share < 1.0:
        raise _no_probability(checked_column(column), probability, share)
    if bounds is None:
        columns = (checked_column(column),)
        return Awaiting(
            "quantile",
            columns,
            step,
            lambda grids: _quantile(*grids[0], share),
            steps=QUANTILE_STEPS,
            given=(f"{share:g}",),
        )
    grid = Grid.from_bounds(column, bounds, step)
    if step is None:
        grid = replace(grid, steps=QUANTILE_STEPS)
    return _quantile(checked_column(column), grid, share)


def _ratio(grids: Sequence[NamedGrid]) -> Smooth:
    (numerator, _), (denominator, _) = grids
    features = tuple(Feature(column, *grid.as_bounds()) for column, grid in grids)
    return Smooth("ratio", tuple(grids), features, _Ratio(numerator, denominator), kind="ratio")


def _variance(column: str, grid: Grid) -> Smooth:
    return _moments(column, grid, "variance", _Variance(grid.half_range), grid.half_range**2 * 1.01)


def _deviation(column: str, grid: Grid) -> Smooth:
    return _moments(column, grid, "standard_deviation", _Deviation(grid.half_range), grid.half_range * 1.01)


def _quantile(column: str, grid: Grid, probability: float) -> Smooth:
    if grid.steps > 1024:
        low, high = grid.as_bounds()
        raise _no_statistic(
            "A quantile is read off a histogram of at most 1,025 grid values: take a coarser step.",
            f"This step makes {grid.steps + 1:,}.",
            f'hg.quantile("{column}", {probability:g}, bounds=({low:.15g}, {high:.15g}))',
        )
    read = _Quantile(grid, probability)
    return SmoothHistogram(f"quantile_{probability:g}", ((column, grid),), (), read, *grid.as_bounds(), "quantile")


def _moments(column: str, grid: Grid, name: str, read: Callable[[Totals], float], largest: float) -> Smooth:
    first, second = (_Power(column, grid.centre, grid.half_range, power) for power in (1, 2))
    features = (Feature("value", -1.0, 1.0, first), Feature("square", 0.0, 1.0, second))
    return Smooth(name, ((column, grid),), features, read, 0.0, largest, name)


# Functions with names, and not closures: a release that asked for them can be pickled, and two that ask for the same
# compare equal.
@dataclass(frozen=True, slots=True)
class _Ratio:
    numerator: str
    denominator: str

    def __call__(self, totals: Totals) -> float:
        return totals[self.numerator] / totals[self.denominator]


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
        return self.half**2 * _scaled_variance(totals)


@dataclass(frozen=True, slots=True)
class _Deviation:
    half: float

    def __call__(self, totals: Totals) -> float:
        return self.half * math.sqrt(_scaled_variance(totals))


def _scaled_variance(totals: Totals) -> float:
    n = totals[COUNT]
    spread = totals["square"] / n - (totals["value"] / n) ** 2
    return spread * n / (n - 1.0) if n > 1.0 and spread >= 0.0 else math.nan


@dataclass(frozen=True, slots=True)
class _Quantile:
    grid: Grid
    probability: float

    def __call__(self, totals: Totals) -> float:
        (low, high), size = self.grid.as_bounds(), self.grid.steps + 1
        edges = low + (np.arange(size + 1) - 0.5) * float(self.grid.step)
        mass = np.array([totals[str(place)] for place in range(size)])
        cumulated = np.concatenate([[0.0], np.cumsum(mass)])
        n = float(cumulated[-1])
        if n <= 0.0:
            return math.nan
        # Noise makes the cumulated counts fall in places: the middle of the two rising curves that enclose them.
        rising = (np.maximum.accumulate(cumulated) + np.minimum.accumulate(cumulated[::-1])[::-1]) / 2
        # The mean over a sampling error's width about p: the density there, which the error bar rests on, is that of
        # several grid values and not of one noisy count.
        width = math.sqrt(self.probability * (1.0 - self.probability) / n)
        sought = np.clip(self.probability + width * np.linspace(-1.0, 1.0, 9), 0.0, 1.0)
        return float(np.mean(np.clip(np.interp(sought * n, rising, edges), low, high)))


class _LeftBehind:
    """A function of the user's own that was not sent along; equal to nothing else."""

    def __call__(self, _: object) -> NoReturn:
        rule = "A function of one's own stays in the process that released it."
        raise _no_statistic(rule, "It was not sent along.", _BOOTSTRAP)


def _grid(column: str, facts: object) -> tuple[str, Grid]:
    given = tuple(facts) if isinstance(facts, (tuple, list)) else ()
    bounds, step = (given[:2], given[2]) if len(given) == 3 else (facts, None)
    return checked_column(column), Grid.from_bounds(column, bounds, step)


def _feature(name: str, given: object) -> Feature:
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(pair) != 2 or not callable(pair[0]):
        rule = f"Feature {name!r} is given as (function, (low, high))."
        raise _no_statistic(rule, f"Found {kind_of(given)}.", _BOOTSTRAP)
    low, high = Grid.from_bounds(name, pair[1], None).as_bounds()
    return Feature(checked_column(name), low, high, pair[0])


def _no_statistic(rule: str, finding: str, example: str) -> ParameterError:
    return ParameterError("HG112", rule=rule, finding=finding, remedy=f"For example {example}.", shell=_FACTS)


def _no_probability(column: str, given: object, number: float | None) -> ParameterError:
    meant = f"{number / 100:.12g}" if number is not None and 1.0 < number < 100.0 else "0.5"
    return ParameterError(
        "HG112",
        rule="A quantile takes a probability strictly between 0 and 1.",
        finding=f"Found {kind_of(given) if number is None else shown(given)}.",
        remedy=f'Write hg.quantile("{column}", {meant}).',
        shell=f"Write probability = {meant} in the facts file.",
    )
