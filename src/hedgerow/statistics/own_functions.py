"""A smooth function of the user's own, of the totals of bounded features.

A smooth function of the user's own, of means of columns, with its error from joint moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.facts.validation import format_argument, kind_of
from hedgerow.keywords import takes
from hedgerow.statistics.entry import StatisticEntry, grid_of
from hedgerow.statistics.statistic import (
    COUNT,
    Feature,
    NamedGrid,
    Places,
    Powers,
    SmoothStatistic,
    Totals,
    code_of,
    ends_of,
)

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import FunctionOfTotals
    from hedgerow.statistics.statistic import Columns, Floats


_EXAMPLE = 'hg.bootstrap(lambda t: t["tax"] / t["count"], columns={"tax": (0, 50)}, name="mean tax")'


class OfOnesOwn(SmoothStatistic):
    """A function of the user's own, whatever its name."""

    __slots__ = ()

    @property
    def is_of_ones_own(self) -> bool:
        """Whether its function is the user's own: it is."""
        return True

    @classmethod
    def of_grids(cls, grids: Sequence[NamedGrid], given: Mapping[str, Any]) -> Self:
        """Return what was asked for without the user's functions."""
        features = features_left_behind(given["features"])
        return cls(str(given["name"]), tuple(grids), features, LeftBehind(), *ends_of(given["limits"]))

    def without_code(self) -> Self:
        """Return what was asked for without the user's functions, which another process may not have."""
        features = tuple(
            feature if feature.function is None else replace(feature, function=LeftBehind())
            for feature in self.features
        )
        return replace(self, function=LeftBehind(), features=features)


class FunctionOfTheUser(OfOnesOwn):
    """A function of totals, by a bootstrap."""

    __slots__ = ()
    kind: ClassVar[str] = "bootstrap"


@takes()
def bootstrap(
    statistic: Callable[[Totals], float],
    *,
    columns: Mapping[str, tuple[float, ...]],
    features: Mapping[str, tuple[Callable[[Columns], Floats], tuple[float, float]]] | None = None,
    name: str | None = None,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> FunctionOfTheUser:
    """Request a smooth function of totals, computed by a private bootstrap.

    Parameters
    ----------
    statistic : callable
        A function that takes {feature: total, "count": number of records} and returns a number. The totals are noisy,
        so the function must accept any real numbers. If the function fails or returns no finite number, the estimate is
        marked as unreliable.
    columns : {name: (low, high) or (low, high, step)}
        Numeric columns with their declared bounds.
    features : {name: (function, (low, high))}, optional
        Functions of the columns, each with declared bounds, whose totals are released. The function of a feature
        receives arrays of grid values, and its results are clamped to the bounds of the feature. If no features are
        given, the columns themselves are summed.
    name : str, optional
        The name under which the statistic is printed. The default is the name of the function.
    limits : (low, high)
        The range of possible values of the statistic. Confidence intervals are cut at the ends of the range `limits`.

    Returns
    -------
    Statistic
        The request, to be passed to `Survey.release` or `Survey.plan`.

    Raises
    ------
    ParameterError
        HG104 to HG107: bounds are invalid. HG112: an argument does not describe a statistic.

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
        )
    grids = tuple(grid_of(column, facts) for column, facts in columns.items())
    if features is None:
        listed = [Feature(column, *grid.as_bounds()) for column, grid in grids]
    else:
        listed = [_feature(key, given) for key, given in features.items()]
    if not listed or any(feature.name == COUNT for feature in listed):
        raise _no_statistic(
            'Features are named, and "count" is the number of records.',
            'A feature is named "count".' if listed else "Found no features.",
        )
    label, (low, high) = checked_label(name, statistic), checked_limits(limits)
    return FunctionOfTheUser(label, grids, tuple(listed), statistic, low, high)


def checked_label(name: object, statistic: object) -> str:
    """Return what a function of the user's own is called (HG112)."""
    label = name or getattr(statistic, "__name__", "statistic").replace("<lambda>", "statistic")
    if not isinstance(label, str) or not label.isprintable() or len(label) > 200:
        rule = "The name of a statistic is a printable text of at most 200 characters."
        raise _no_statistic(rule, f"Found {format_argument(label)}.")
    return label


def checked_limits(limits: tuple[float, float]) -> tuple[float, float]:
    """Return what is possible for a statistic (HG112)."""
    low, high = float(limits[0]), float(limits[1])
    if not low < high:
        rule = "`limits` are two numbers, the lower one first; either may be infinite."
        raise _no_statistic(rule, f"Found {format_argument(limits)}.")
    return low, high


def _feature(name: str, given: object) -> Feature:
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    if len(pair) != 2 or not callable(pair[0]):
        rule = f"Feature {name!r} is given as (function, (low, high))."
        raise _no_statistic(rule, f"Found {kind_of(given)}.")
    low, high = Grid.from_bounds(name, pair[1], None).as_bounds()
    return Feature(checked_column(name), low, high, pair[0])


class LeftBehind:
    """A function of the user's own that was not sent along; equal to nothing else."""

    def __call__(self, _: object) -> NoReturn:
        """Refuse (HG112)."""
        rule = "A function of one's own stays in the process that released it."
        raise _no_statistic(rule, "It was not sent along.")


def features_left_behind(listed: Sequence[Sequence[Any]]) -> tuple[Feature, ...]:
    """Return the features of a record, without functions of the user's own.

    >>> features_left_behind([["value", 0, 1, False]])
    (Feature(name='value', lower=0.0, upper=1.0, function=None),)
    """
    return tuple(
        Feature(str(name), float(low), float(high), LeftBehind() if coded else None)
        for name, low, high, coded in listed
    )


def _no_statistic(rule: str, finding: str) -> ParameterError:
    shell = "Write the request of the facts anew; hedgerow schema prints what it may hold."
    return ParameterError("HG112", rule=rule, finding=finding, remedy=f"For example {_EXAMPLE}.", shell=shell)


ENTRY = StatisticEntry(bootstrap, 9, in_files=False)


class FunctionOfMeans(OfOnesOwn):
    """A function of the user's own of means of columns, whatever its name."""

    __slots__ = ()
    kind: ClassVar[str] = "function"

    @property
    def powers(self) -> Powers:
        """Every column."""
        size = len(self.grids)
        return tuple(tuple(int(place == column) for place in range(size)) for column in range(size))

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return the user's function of totals."""
        from hedgerow.inference.joint.functions import UserFunctionOfTotals

        read = self.function
        if not isinstance(read, _OfMeans):
            return UserFunctionOfTotals(read, (), (self.low, self.high))  # left behind: it refuses when it is called
        axes = tuple((column, self.axis(i, places)) for i, (column, _) in enumerate(self.grids))
        return UserFunctionOfTotals(read.function, axes, (self.low, self.high), read.by_differences)

    def public_record(self) -> list[Any]:
        """Return name, grids, features and limits; the user's function by what it is compiled to."""
        function = self.function.function if isinstance(self.function, _OfMeans) else self.function
        return [*super().public_record()[:-1], code_of(function)]


@takes()
def function(
    statistic: Callable[[Mapping[str, Any]], Any],
    *,
    columns: Mapping[str, tuple[float, ...]],
    name: str | None = None,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> FunctionOfMeans:
    """Request a smooth function of the means of columns.

    The error of the result is computed from the joint noisy moments of the columns.

    Parameters
    ----------
    statistic : callable
        A function that takes {column: mean} and returns a number. The function must be smooth within the bounds. The
        derivative of the function is computed with complex numbers, or by differences if the function does not accept
        complex numbers.
    columns : {name: (low, high) or (low, high, step)}
        Numeric columns with their declared bounds.
    name : str, optional
        The name under which the statistic is printed. The default is the name of the function.
    limits : (low, high)
        The range of possible values of the statistic. Confidence intervals are cut at the ends of the range `limits`.

    Returns
    -------
    FunctionOfMeans
        The request, to be passed to `Survey.release` or `Survey.plan`.

    Raises
    ------
    ParameterError
        HG104 to HG107: bounds are invalid. HG112: the argument `statistic` is not a function of means of columns.
        HG129: the function is not smooth.

    Examples
    --------
    >>> columns = {"income": (0, 200_000, 200), "household": (1, 8, 1)}
    >>> function(lambda t: t["income"] / t["household"], columns=columns, name="income per head").column
    'income, household'
    """
    from hedgerow.inference.joint.functions import ScaledMean, smooth_function

    if not callable(statistic) or not isinstance(columns, Mapping) or not columns:
        raise ParameterError(
            "HG112",
            rule="A smooth function needs a function of means and its columns.",
            finding="Found no columns." if columns == {} else f"Found {kind_of(statistic)} and {kind_of(columns)}.",
            remedy="Give a function of means and the bounds of its columns, for example hg.function(lambda t: "
            't["tax"] / t["income"], columns={"tax": (0, 50), …}).',
            shell="A function of means is asked for in Python.",
        )
    grids = tuple(grid_of(column, facts) for column, facts in columns.items())
    label, (low, high) = checked_label(name, statistic), checked_limits(limits)
    axes = {
        column: ScaledMean(place, grid.centre, grid.half_range) for place, (column, grid) in enumerate(grids, start=1)
    }
    tried = smooth_function(statistic, axes, (low, high))
    features = tuple(Feature(column, *grid.as_bounds()) for column, grid in grids)
    read = _OfMeans(statistic, tuple(columns), tried.by_differences)
    return FunctionOfMeans(label, grids, features, read, low, high)


@dataclass(frozen=True, slots=True)
class _OfMeans:
    """The user's function of means, as a function of totals."""

    function: Callable[[Mapping[str, Any]], Any]
    columns: tuple[str, ...]
    by_differences: bool

    def __call__(self, totals: Totals) -> float:
        return float(self.function({column: totals[column] / totals[COUNT] for column in self.columns}))


ENTRY_OF_FUNCTION = StatisticEntry(function, 12, in_files=False)
