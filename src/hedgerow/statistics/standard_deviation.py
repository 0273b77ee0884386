"""The standard deviation of a clamped column, divisor N − 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.facts.columns import Grid, checked_column
from hedgerow.keywords import takes
from hedgerow.statistics.entry import entry_on_grid
from hedgerow.statistics.statistic import NeedsBounds, Places, Powers, Smooth, Totals
from hedgerow.statistics.variance import powers_of, spread_of, variance_of_totals

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import SmoothFunction


class StandardDeviation(Smooth):
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

    def of_moments(self, places: Places) -> SmoothFunction:
        """Return the root of the variance."""
        from hedgerow.inference.joint.functions import Deviation

        return Deviation(spread_of(self, places))


@overload
def standard_deviation(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def standard_deviation(column: str, *, bounds: tuple[float, float], step: float | None = None) -> StandardDeviation: ...
@takes()
def standard_deviation(
    column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None
) -> StandardDeviation | NeedsBounds:
    """Ask for the standard deviation (divisor N − 1) of a clamped column; bounds and step as in `mean`.

    >>> standard_deviation("age", bounds=(0, 100)).high
    50.5
    """
    if bounds is None:
        columns = (checked_column(column),)
        return NeedsBounds("standard_deviation", columns, step, lambda grids: StandardDeviation.of(*grids[0]))
    return StandardDeviation.of(checked_column(column), Grid.from_bounds(column, bounds, step))


@dataclass(frozen=True, slots=True)
class _Deviation:
    half: float

    def __call__(self, totals: Totals) -> float:
        return self.half * math.sqrt(variance_of_totals(totals))


ENTRY_OF_DEVIATION = entry_on_grid(standard_deviation, 6, "A standard deviation, of values clamped to LO and HI.")
