"""The mean of a clamped column over the records present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.facts.columns import Grid, checked_column
from hedgerow.keywords import takes
from hedgerow.statistics.entry import entry_on_grid
from hedgerow.statistics.statistic import NeedsBounds, OnGrid, Places

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import SmoothFunction


@dataclass(frozen=True, slots=True, repr=False)
class Mean(OnGrid):
    """The mean of a clamped column over the records present."""

    kind: ClassVar[str] = "mean"

    def of_moments(self, places: Places) -> SmoothFunction:
        """Return Σx / N as a function of totals."""
        from hedgerow.inference.joint import functions

        return functions.Mean(self.axis(0, places))


@overload
def mean(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def mean(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Mean: ...
@takes()
def mean(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Mean | NeedsBounds:
    """Ask for the mean of `column`, its values clamped to `bounds`.

    Parameters
    ----------
    column : str
        A numeric column.
    bounds : (low, high), optional
        Public, declared; there is no default, ever. Left out, they are those of the facts, or the release is refused
        when it is planned. The estimate is of the mean of the CLAMPED variable.
    step : float, optional
        Grid step; must divide high − low exactly. Bounds and step go together: with `bounds` and without a step the
        range is cut into 1,024 steps; without either both are those of the facts.

    Raises
    ------
    ParameterError
        HG105 to HG107, see `hedgerow explain`; HG104 when planned without bounds from anywhere.

    Examples
    --------
    >>> mean("age", bounds=(0, 100), step=1)
    Mean(column='age', bounds=(0, 100), step=1)
    >>> mean("age")
    NeedsBounds(mean of age, bounds from the facts)
    """
    if bounds is None:
        return NeedsBounds("mean", (checked_column(column),), step, lambda grids: Mean(*grids[0]))
    return Mean(checked_column(column), Grid.from_bounds(column, bounds, step))


ENTRY = entry_on_grid(mean, 1, "A mean, of values clamped to LO and HI.")
