"""The covariance of two clamped columns, divisor N − 1.

The correlation of two clamped columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.keywords import takes
from hedgerow.statistics.entry import Field, asked_of_pair, entry_of_pair
from hedgerow.statistics.statistic import (
    COUNT,
    Feature,
    NamedGrid,
    NeedsBounds,
    Places,
    Powers,
    SmoothStatistic,
    Totals,
)

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import FunctionOfTotals
    from hedgerow.statistics.statistic import Columns, Floats


class Covariance(SmoothStatistic):
    """The covariance of two clamped columns."""

    __slots__ = ()
    kind: ClassVar[str] = "covariance"

    @classmethod
    def of(cls, grids: Sequence[NamedGrid]) -> Covariance:
        """Return the covariance of two columns on their grids."""
        most = grids[0][1].half_range * grids[1][1].half_range
        features = features_of(grids, _POWERS)
        return cls(cls.kind, tuple(grids), features, _Covariance(most), -1.01 * most, 1.01 * most)

    @property
    def powers(self) -> Powers:
        """u, v and u·v."""
        return _POWERS

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return E xy − E x·E y, without the bias of the product."""
        from hedgerow.inference.joint import functions

        return functions.CovarianceOfTotals(self.axis(0, places), self.axis(1, places), places[1, 1])


_POWERS = ((1, 0), (0, 1), (1, 1))


@overload
def covariance(first: str, second: str, *, bounds: None = None) -> NeedsBounds: ...
@overload
def covariance(first: str, second: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Covariance: ...
@takes()
def covariance(
    first: str, second: str, *, bounds: Mapping[str, tuple[float, ...]] | None = None
) -> Covariance | NeedsBounds:
    """Request the covariance (divisor N − 1) of two clamped columns.

    Parameters
    ----------
    first, second : str
        The names of two numeric columns.
    bounds : {name: (low, high) or (low, high, step)}, optional
        The declared bounds of both columns. The default bounds are those of the facts.

    Returns
    -------
    Covariance or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> covariance("age", "income", bounds={"age": (0, 100), "income": (0, 10)}).column
    'age, income'
    """
    return asked_of_pair("covariance", (first, second), bounds, Covariance.of, second="second")


def features_of(grids: Sequence[NamedGrid], powers: Powers) -> tuple[Feature, ...]:
    """Return products of powers of columns, each scaled to [−1, 1], as features of replicates."""
    scaled = tuple((column, grid.centre, grid.half_range) for column, grid in grids)
    return tuple(
        Feature(
            name_of(power), 0.0 if all(exponent % 2 == 0 for exponent in power) else -1.0, 1.0, _Product(scaled, power)
        )
        for power in powers
    )


def name_of(power: tuple[int, ...]) -> str:
    """Return the name of a product of powers.

    >>> name_of((1, 1)), name_of((0, 2))
    ('1 1', '0 2')
    """
    return " ".join(map(str, power))


def covariance_of_totals(totals: Totals, *names: str) -> float:
    """Return the covariance of u and v from the totals of u, v and u·v, by their names; NaN without records."""
    first, second, product = names
    n = totals[COUNT]
    return (totals[product] - totals[first] * totals[second] / n) / (n - 1.0) if n > 1.0 else math.nan


@dataclass(frozen=True, slots=True)
class _Product:
    # Functions with names, and not closures: a release that asked for them can be pickled.
    scaled: tuple[tuple[str, float, float], ...]
    power: tuple[int, ...]

    def __call__(self, values: Columns) -> Floats:
        pairs = [(column, power) for column, power in zip(self.scaled, self.power, strict=True) if power]
        parts = [((values[column] - centre) / half) ** power for (column, centre, half), power in pairs]
        made: Floats = parts[0]
        for part in parts[1:]:
            made = made * part
        return made


def of_each_alone(function: object) -> bool:
    """Return whether a function is one of ours that gives a record the same number wherever it stands in an array.

    Differences, quotients, products and squares are rounded correctly; other powers may depend on the place.

    >>> of_each_alone(_Product((("x", 0.0, 1.0),), (2,))), of_each_alone(abs)
    (True, False)
    """
    return type(function) is _Product and max(function.power) <= 2


@dataclass(frozen=True, slots=True)
class _Covariance:
    half: float

    def __call__(self, totals: Totals) -> float:
        return self.half * covariance_of_totals(totals, *map(name_of, _POWERS))


SECOND = ("second", Field("text", "The second column of a covariance or a correlation."))
ENTRY = entry_of_pair(covariance, 10, "A covariance of two columns whose values are clamped to bounds.", SECOND)


class Correlation(SmoothStatistic):
    """Pearson's correlation of two clamped columns."""

    __slots__ = ()
    kind: ClassVar[str] = "correlation"

    @classmethod
    def of(cls, grids: Sequence[NamedGrid]) -> Correlation:
        """Return the correlation of two columns on their grids."""
        return cls(cls.kind, tuple(grids), features_of(grids, _OF_CORRELATION), _Correlation(), -1.0, 1.0)

    @property
    def powers(self) -> Powers:
        """u, v, u·v, u² and v²."""
        return _OF_CORRELATION

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return the covariance over the root of both variances."""
        from hedgerow.inference.joint.functions import CorrelationOfTotals, CovarianceOfTotals

        x, y = self.axis(0, places), self.axis(1, places)
        parts = (
            CovarianceOfTotals(x, y, places[1, 1]),
            CovarianceOfTotals(x, x, places[2, 0]),
            CovarianceOfTotals(y, y, places[0, 2]),
        )
        return CorrelationOfTotals(*parts)


_OF_CORRELATION = ((1, 0), (0, 1), (1, 1), (2, 0), (0, 2))


@overload
def correlation(first: str, second: str, *, bounds: None = None) -> NeedsBounds: ...
@overload
def correlation(first: str, second: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Correlation: ...
@takes()
def correlation(
    first: str, second: str, *, bounds: Mapping[str, tuple[float, ...]] | None = None
) -> Correlation | NeedsBounds:
    """Request the correlation of two clamped columns.

    Parameters
    ----------
    first, second : str
        The names of two numeric columns.
    bounds : {name: (low, high) or (low, high, step)}, optional
        The declared bounds of both columns. The default bounds are those of the facts.

    Returns
    -------
    Correlation or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> correlation("age", "income", bounds={"age": (0, 100), "income": (0, 10)}).high
    1.0
    """
    return asked_of_pair("correlation", (first, second), bounds, Correlation.of, second="second")


@dataclass(frozen=True, slots=True)
class _Correlation:
    # A function with a name, and not a closure: what asked for it can be pickled and compared.
    def __call__(self, totals: Totals) -> float:
        first, second, both, square, other = map(name_of, _OF_CORRELATION)
        x, y = covariance_of_totals(totals, first, first, square), covariance_of_totals(totals, second, second, other)
        return covariance_of_totals(totals, first, second, both) / math.sqrt(x * y) if x > 0.0 < y else math.nan


ENTRY_OF_CORRELATION = entry_of_pair(
    correlation, 11, "A correlation of two columns whose values are clamped to bounds.", SECOND
)
