"""The Gini coefficient of a column that is nowhere negative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.keywords import takes
from hedgerow.statistics.entry import at_places, entry_on_grid
from hedgerow.statistics.statistic import NeedsBounds, OfDistribution, Statistic

if TYPE_CHECKING:
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read


@dataclass(frozen=True, slots=True)
class Gini(OfDistribution):
    """∫F(1 − F)dx over the mean of a clamped column."""

    kind: ClassVar[str] = "gini"

    @property
    def name(self) -> str:
        """``"gini"``."""
        return self.kind

    @property
    def asked(self) -> str:
        """What it is, in words."""
        return "Gini coefficient"

    @classmethod
    def of(cls, column: str, grid: Grid) -> Gini:
        """Return the coefficient of a column on its grid (HG112 where values may be negative)."""
        check_nowhere_negative("Gini coefficient", column, grid)
        return cls(column, grid)

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return the coefficient, its bias by noise and by sampling taken away, with its interval."""
        from hedgerow.inference.distribution.inequality import gini as read_gini

        return read_gini(distribution, level)


def check_nowhere_negative(what: str, column: str, grid: Grid) -> None:
    """Refuse a measure of inequality where values may be negative (HG112)."""
    if grid.lower < 0:
        raise ParameterError(
            "HG112",
            rule=f"A {what} is of a column that is nowhere negative.",
            finding=f"The lower bound of {column!r} is {float(grid.lower):g}.",
            remedy="Give bounds that start at 0. With bounds that start at 0, values below 0 count as 0.",
        )


@takes()
def gini(
    column: str, *, bounds: tuple[float, float] | None = None, step: float | None = None
) -> Statistic | NeedsBounds:
    """Request the Gini coefficient of a clamped column.

    Parameters
    ----------
    column : str
        The name of a column without negative values.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
        one table of counts.

    Returns
    -------
    Statistic or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`.

    Raises
    ------
    ParameterError
        HG112: the lower bound of the column is negative.

    Examples
    --------
    >>> gini("income", bounds=(0, 200_000)).name
    'gini'
    """
    return at_places("gini", checked_column(column), None, bounds, step, Gini.of)


ENTRY = entry_on_grid(gini, 15, "A Gini coefficient of values clamped to the bounds LO and HI.")
