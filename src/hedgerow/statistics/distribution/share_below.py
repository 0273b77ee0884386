"""The share of the records below a line, or below a part of the median."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import checked_column
from hedgerow.facts.validation import as_float
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, GRID, Field, StatisticEntry, at_places, parse_places, unwritten
from hedgerow.statistics.statistic import NeedsBounds, OfDistribution, Statistic, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read


@dataclass(frozen=True, slots=True)
class ShareBelow(OfDistribution):
    """P(X < line), or P(X < part · median), of a clamped column."""

    line: float
    of_median: bool = False
    kind: ClassVar[str] = "share_below"

    @property
    def name(self) -> str:
        """The statistic with its line."""
        return f"share_below{'_median' * self.of_median}_{self.line:.15g}"

    @property
    def asked(self) -> str:
        """The line in words."""
        return f"share below {self.line:.15g}{' of the median' * self.of_median}"

    @property
    def lines(self) -> tuple[float, ...]:
        """The line."""
        return () if self.of_median else (self.line,)

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return the share with its interval; of a part of the median, with errors from simulation."""
        if not self.of_median:
            return distribution.share_below(self.line, level)
        from hedgerow.inference.distribution.inequality import share_below_of_median

        return share_below_of_median(distribution, self.line, level)


@takes()
def share_below(
    column: str,
    *,
    line: float | None = None,
    of_median: float | None = None,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> Statistic | NeedsBounds:
    """Request the share of records whose value lies below a line.

    The line is a fixed value, or a multiple of the column's median.

    Parameters
    ----------
    column : str
    line, of_median : number
        Give exactly one argument: a fixed value as `line`, or a positive multiple of the median, such as 0.6, as
        `of_median`.
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
        HG112: neither or both of `line` and `of_median` were given, or the given argument is not a number.

    Examples
    --------
    >>> share_below("income", line=12_000, bounds=(0, 200_000), step=100).name
    'share_below_12000'
    >>> share_below("income", of_median=0.6, bounds=(0, 200_000)).name
    'share_below_median_0.6'
    """
    given = as_float(line if of_median is None else of_median)
    relative = of_median is not None
    if given is None or (line is None) is (of_median is None) or (relative and not 0.0 < given <= 10.0):
        raise ParameterError(
            "HG112",
            rule="A share below a line needs the line in units of the column, or a positive fraction of the median.",
            finding="Found both." if line is not None and relative else "Found none that fits.",
            remedy='Give either a fixed line or a part of the median, for example hg.share_below("income", '
            'line=12_000) or hg.share_below("income", of_median=0.6).',
            shell="For example income:12000:0:200000 or income:60%:0:200000.",
        )
    word = f"{'of_median' if relative else 'line'}={given:.15g}"
    checked = checked_column(column)
    return at_places("share_below", checked, word, bounds, step, partial(ShareBelow, line=given, of_median=relative))


def _parse(text: str) -> list[StatisticRequest]:
    """Return the shares of ``COL:LINE[,LINE…][:LO:HI[:STEP]]``; ``60%`` is .6 of the median."""
    form = "COL:LINE or COL:LINE:LO:HI[:STEP], with a number for LINE, or a part of the median such as 60%"
    written, percent = text.replace("%", ""), "%" in text
    parsed = parse_places(written)
    if parsed is None or (percent and (len(parsed[1]) != 1 or f"{parsed[1][0]}%" not in text)):
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} income:12000:0:200000")
    column, places, grid = parsed
    if percent:
        return [share_below(column, of_median=places[0] / 100, **grid)]
    return [share_below(column, line=place, **grid) for place in places]


_TAKES: dict[str, Any] = {
    "line": Field("number", "The line of a share below it."),
    "of_median": Field("number", "A part of the median in place of a line.", above=0),
}
ENTRY = StatisticEntry(
    share_below,
    13,
    {"column": COLUMN},
    {**_TAKES, **GRID},
    metavar="COL:LINE[,LINE…][:LO:HI[:STEP]]",
    about="Shares of the records below a line, or below a part of the median such as 60%.",
    parse=_parse,
)
