"""A smooth function of the user's own, of means of columns, with its error from joint moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.errors import ParameterError
from hedgerow.facts.given import kind_of
from hedgerow.keywords import takes
from hedgerow.statistics.bootstrap import OfOnesOwn, checked_label, checked_limits
from hedgerow.statistics.entry import Entry, grid_of
from hedgerow.statistics.statistic import COUNT, Feature, Places, Powers, Totals, code_of

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import SmoothFunction


class FunctionOfMeans(OfOnesOwn):
    """A function of the user's own of means of columns, whatever its name."""

    __slots__ = ()
    kind: ClassVar[str] = "function"

    @property
    def powers(self) -> Powers:
        """Every column."""
        size = len(self.grids)
        return tuple(tuple(int(place == one) for place in range(size)) for one in range(size))

    def of_moments(self, places: Places) -> SmoothFunction:
        """Return the user's function of totals."""
        from hedgerow.inference.joint.functions import UserFunction

        read = self.function
        if not isinstance(read, _OfMeans):
            return UserFunction(read, (), (self.low, self.high))  # left behind: it refuses when it is called
        axes = tuple((column, self.axis(i, places)) for i, (column, _) in enumerate(self.grids))
        return UserFunction(read.function, axes, (self.low, self.high), read.by_differences)

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
    """Ask for a smooth function of means of columns, with its error from joint moments.

    Parameters
    ----------
    statistic : callable
        Takes {column: mean} and returns a number; smooth within the bounds. Its slope is taken by a complex step, or
        by differences where it takes no complex numbers.
    columns : {name: (low, high) or (low, high, step)}
        Numeric columns with their declared bounds.
    name : str, optional
        What to call it; the function's own name otherwise.
    limits : (low, high)
        What is possible for the statistic; intervals are cut there.

    Raises
    ------
    ParameterError
        HG104 to HG107 for bounds, HG112 for what is no function of means, HG129 for one that is not smooth.

    Examples
    --------
    >>> columns = {"income": (0, 200_000, 200), "household": (1, 8, 1)}
    >>> function(lambda t: t["income"] / t["household"], columns=columns, name="income per head").column
    'income, household'
    """
    from hedgerow.inference.joint.functions import Axis, smooth_function

    if not callable(statistic) or not isinstance(columns, Mapping) or not columns:
        raise ParameterError(
            "HG112",
            rule="A function is asked for with a function of means and the columns that it reads.",
            finding="Found no columns." if columns == {} else f"Found {kind_of(statistic)} and {kind_of(columns)}.",
            remedy='For example hg.function(lambda t: t["tax"] / t["income"], columns={"tax": (0, 50), …}).',
            shell="A function of means is asked for in Python.",
        )
    grids = tuple(grid_of(column, facts) for column, facts in columns.items())
    label, (low, high) = checked_label(name, statistic), checked_limits(limits)
    axes = {column: Axis(place, grid.centre, grid.half_range) for place, (column, grid) in enumerate(grids, start=1)}
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


ENTRY_OF_FUNCTION = Entry(function, 12, in_files=False)
