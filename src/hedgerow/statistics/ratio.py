"""The ratio of two columns' totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.keywords import takes
from hedgerow.statistics.entry import Field, asked_of_pair, entry_of_pair
from hedgerow.statistics.statistic import Feature, NamedGrid, NeedsBounds, Places, Powers, SmoothStatistic, Totals

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import FunctionOfTotals


class Ratio(SmoothStatistic):
    """Σ numerator / Σ denominator."""

    __slots__ = ()
    kind: ClassVar[str] = "ratio"

    @classmethod
    def of(cls, grids: Sequence[NamedGrid]) -> Ratio:
        """Return the ratio of two columns on their grids."""
        (numerator, _), (denominator, _) = grids
        features = tuple(Feature(column, *grid.as_bounds()) for column, grid in grids)
        return cls(cls.kind, tuple(grids), features, _Ratio(numerator, denominator))

    @property
    def powers(self) -> Powers:
        """Both columns."""
        return (1, 0), (0, 1)

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return Σx / Σy as a function of totals."""
        from hedgerow.inference.joint import functions

        return functions.RatioOfTotals(self.axis(0, places), self.axis(1, places))


@overload
def ratio(numerator: str, denominator: str, *, bounds: None = None) -> NeedsBounds: ...
@overload
def ratio(numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]]) -> Ratio: ...
@takes()
def ratio(
    numerator: str, denominator: str, *, bounds: Mapping[str, tuple[float, ...]] | None = None
) -> Ratio | NeedsBounds:
    """Request the ratio of the sums of two columns: Σ numerator / Σ denominator.

    Parameters
    ----------
    numerator, denominator : str
        The names of two numeric columns.
    bounds : {name: (low, high) or (low, high, step)}, optional
        The declared bounds of both columns. The default bounds are those of the facts.

    Returns
    -------
    Ratio or NeedsBounds
        The request, to be passed to `Survey.release` or `Survey.plan`. If the bounds come from the facts, the request
        is a `NeedsBounds` object.

    Raises
    ------
    ParameterError
        HG105 to HG107: the bounds or the step are invalid. HG104: neither the call nor the facts declare bounds; this
        error is raised only at the release.

    Examples
    --------
    >>> ratio("tax", "income", bounds={"tax": (0, 50), "income": (0, 100)}).name
    'ratio'
    """
    return asked_of_pair("ratio", (numerator, denominator), bounds, Ratio.of, second="denominator")


@dataclass(frozen=True, slots=True)
class _Ratio:
    # A function with a name, and not a closure: what asked for it can be pickled and compared.
    numerator: str
    denominator: str

    def __call__(self, totals: Totals) -> float:
        return totals[self.numerator] / totals[self.denominator]


_DENOMINATOR = ("denominator", Field("text", "The denominator of a ratio."))
ENTRY = entry_of_pair(ratio, 8, "A ratio of the sums of two columns.", _DENOMINATOR)
