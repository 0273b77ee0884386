"""The distribution function: the share of the records up to a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import checked_column
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, GRID, Field, StatisticEntry, at_places, parse_places, unwritten
from hedgerow.statistics.statistic import NeedsBounds, OfDistribution, Statistic, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read


@dataclass(frozen=True, slots=True)
class Cdf(OfDistribution):
    """P(X ≤ at) of a clamped column."""

    at: float
    kind: ClassVar[str] = "cdf"

    @property
    def name(self) -> str:
        """The statistic with its value."""
        return f"cdf_{self.at:.15g}"

    @property
    def asked(self) -> str:
        """The value in words."""
        return f"share up to {self.at:.15g}"

    @property
    def lines(self) -> tuple[float, ...]:
        """What lies just above the value, where it lies on a grid."""
        return (self.at + float(self.grid.step),)

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return the share with its interval."""
        return distribution.share_below(self.at, level, closed=True)


@overload
def cdf(
    column: str, *, at: float, bounds: tuple[float, float] | None = None, step: float | None = None
) -> Statistic | NeedsBounds: ...
@overload
def cdf(
    column: str, *, at: Sequence[float], bounds: tuple[float, float] | None = None, step: float | None = None
) -> list[Statistic | NeedsBounds]: ...
@takes()
def cdf(
    column: str,
    *,
    at: float | Sequence[float],
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> Statistic | NeedsBounds | list[Statistic | NeedsBounds]:
    """Request the share of records whose value is at most `at`, or several such shares.

    All statistics of one column are computed from one table of counts. If no step is declared, the estimate assumes
    that no value of the column equals `at` exactly; the interval also allows for values equal to `at`.

    Parameters
    ----------
    column : str
    at : number or sequence of numbers
        One value or several values of the column.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.quantile`. All statistics of one column are computed from
        one table of counts.

    Returns
    -------
    Statistic or NeedsBounds, or a list of them
        The request, to be passed to `Survey.release` or `Survey.plan`. The result is a list if several values are
        given.

    Raises
    ------
    ParameterError
        HG112: a value is not a number.

    Examples
    --------
    >>> [asked.name for asked in cdf("income", at=[15_000, 30_000], bounds=(0, 200_000), step=100)]
    ['cdf_15000', 'cdf_30000']
    """
    if isinstance(at, (list, tuple)) and at:
        return [_built(column, place, bounds, step) for place in at]
    return _built(column, at, bounds, step)


def _built(column: str, at: object, bounds: tuple[float, float] | None, step: float | None) -> Statistic | NeedsBounds:
    place, checked = as_float(at), checked_column(column)
    if place is None:
        raise ParameterError(
            "HG112",
            rule="A distribution function needs the value of the column at which the function is evaluated.",
            finding=f"Found {format_argument(at)}.",
            remedy=f'For example hg.cdf("{checked}", at=15_000).',
            shell=f"For example {checked}:15000:0:200000.",
        )
    return at_places("cdf", checked, f"at={place:.15g}", bounds, step, partial(Cdf, at=place))


def _parse(text: str) -> list[StatisticRequest]:
    parsed = parse_places(text)
    if parsed is None:
        form = "COL:X or COL:X:LO:HI[:STEP], with a value of the column, or several apart by commas, for X"
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} income:15000:0:200000")
    column, places, grid = parsed
    return [cdf(column, at=place, **grid) for place in places]


ENTRY = StatisticEntry(
    cdf,
    14,
    {"column": COLUMN, "at": Field("number", "The value of a distribution function, or the share of a Lorenz curve.")},
    GRID,
    by_name=("at",),
    metavar="COL:X[,X…][:LO:HI[:STEP]]",
    about="Shares of the records whose value is at most X.",
    parse=_parse,
)
