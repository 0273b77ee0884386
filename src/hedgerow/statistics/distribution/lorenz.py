"""The Lorenz curve: which share of a column's total the records with the lowest values hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.keywords import takes
from hedgerow.statistics.distribution.gini import check_nowhere_negative
from hedgerow.statistics.entry import COLUMN, GRID, Field, StatisticEntry, at_places, parse_places, unwritten
from hedgerow.statistics.statistic import NeedsBounds, OfDistribution, Statistic, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read


@dataclass(frozen=True, slots=True)
class Lorenz(OfDistribution):
    """∫_0^at Q(p)dp over the mean of a clamped column."""

    at: float
    kind: ClassVar[str] = "lorenz"

    @classmethod
    def of(cls, column: str, grid: Grid, at: float) -> Lorenz:
        """Return the statistic of a column on its grid (HG112 where values may be negative)."""
        check_nowhere_negative("Lorenz curve", column, grid)
        return cls(column, grid, at)

    @property
    def name(self) -> str:
        """The statistic with its share of the records."""
        return f"lorenz_{self.at:.15g}"

    @property
    def asked(self) -> str:
        """The share of the records in words."""
        return f"part of the total that the lowest {self.at:.15g} of the records hold,"

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return the point of the curve with its interval."""
        from hedgerow.inference.distribution.inequality import lorenz as read_lorenz

        return read_lorenz(distribution, self.at, level)


@overload
def lorenz(
    column: str, *, at: float, bounds: tuple[float, float] | None = None, step: float | None = None
) -> Statistic | NeedsBounds: ...
@overload
def lorenz(
    column: str, *, at: Sequence[float], bounds: tuple[float, float] | None = None, step: float | None = None
) -> list[Statistic | NeedsBounds]: ...
@takes()
def lorenz(
    column: str,
    *,
    at: float | Sequence[float],
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> Statistic | NeedsBounds | list[Statistic | NeedsBounds]:
    """Request the part of a column's total that belongs to the lowest share `at` of the records, or several such parts.

    Parameters
    ----------
    column : str
        The name of a column without negative values.
    at : number or sequence of numbers
        One share of the records or several shares, strictly between 0 and 1.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
        one table of counts.

    Returns
    -------
    Statistic or NeedsBounds, or a list of them
        The request, to be passed to `Survey.release` or `Survey.plan`. The result is a list if several shares are
        given.

    Raises
    ------
    ParameterError
        HG112: a share is not between 0 and 1, or the lower bound is negative.

    Examples
    --------
    >>> [asked.name for asked in lorenz("income", at=[0.4, 0.9], bounds=(0, 200_000))]
    ['lorenz_0.4', 'lorenz_0.9']
    """
    if isinstance(at, (list, tuple)) and at:
        return [_built(column, place, bounds, step) for place in at]
    return _built(column, at, bounds, step)


def _built(column: str, at: object, bounds: tuple[float, float] | None, step: float | None) -> Statistic | NeedsBounds:
    share, checked = as_float(at), checked_column(column)
    if share is None or not 0.0 < share < 1.0:
        raise ParameterError(
            "HG112",
            rule="A Lorenz curve needs a share of the records, strictly between 0 and 1.",
            finding=f"Found {format_argument(at)}.",
            remedy=f'For example hg.lorenz("{checked}", at=0.4).',
            shell=f"For example {checked}:0.4:0:200000.",
        )
    return at_places("lorenz", checked, f"at={share:.15g}", bounds, step, partial(Lorenz.of, at=share))


def _parse(text: str) -> list[StatisticRequest]:
    parsed = parse_places(text)
    if parsed is None:
        form = "COL:P or COL:P:LO:HI[:STEP], with a share of the records, or several apart by commas, for P"
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} income:0.4:0:200000")
    column, places, grid = parsed
    return [lorenz(column, at=place, **grid) for place in places]


ENTRY = StatisticEntry(
    lorenz,
    16,
    {"column": COLUMN, "at": Field("number", "The value of a distribution function, or the share of a Lorenz curve.")},
    GRID,
    by_name=("at",),
    metavar="COL:P[,P…][:LO:HI[:STEP]]",
    about="Parts of the total that belong to the lowest share P of the records.",
    parse=_parse,
)
