"""The sum of a clamped column over the records present."""

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
class Sum(OnGrid):
    """The sum of a clamped column over the records present."""

    kind: ClassVar[str] = "sum"
    is_total: ClassVar[bool] = True

    def of_moments(self, places: Places) -> SmoothFunction:
        """Return Σx as a function of totals."""
        from hedgerow.inference.joint import functions

        return functions.Total(self.axis(0, places))

    def possible(self, records: float) -> float | None:
        """Return the length of the range of sums of at most `records` values."""
        low, high = self.grid.as_bounds()
        return records * (max(high, 0.0) - min(low, 0.0))

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return the name, the column, its bounds, and its grid where that is coarser than the values."""
        said = OnGrid.in_words(self, by_cell=by_cell)
        # A mean's interval is widened by the rounding; a sum's would need the private count for that.
        step = float(self.grid.step)
        return said if self.grid.declared else f"{said} and rounded to steps of {step:.6g}"


@overload
def sum(column: str, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def sum(column: str, *, bounds: tuple[float, float], step: float | None = None) -> Sum: ...
@takes()
def sum(column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None) -> Sum | NeedsBounds:
    """Ask for the sum of `column`, its values clamped to `bounds`; a missing value adds nothing. See `mean`.

    >>> sum("turnover", bounds=(0, 1_000), step=10).column
    'turnover'
    """
    if bounds is None:
        return NeedsBounds("sum", (checked_column(column),), step, lambda grids: Sum(*grids[0]))
    return Sum(checked_column(column), Grid.from_bounds(column, bounds, step))


ENTRY_OF_SUM = entry_on_grid(sum, 2, "A sum, of values clamped to LO and HI.")
