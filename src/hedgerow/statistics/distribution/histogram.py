"""The shares of the records in bins of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import checked_column
from hedgerow.facts.validation import as_float
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, GRID, Field, StatisticEntry, at_places, parse_places, unwritten
from hedgerow.statistics.statistic import NeedsBounds, OfDistribution, Statistic, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read

_MOST_BINS = 1000


@dataclass(frozen=True, slots=True)
class Bin(OfDistribution):
    """P(low ≤ X < high) of a clamped column; of the last bin P(low ≤ X ≤ high)."""

    low: float
    high: float
    last: bool
    kind: ClassVar[str] = "histogram"

    @property
    def name(self) -> str:
        """The statistic with its bin."""
        return f"histogram_{self.low:.15g}_{self.high:.15g}{'_closed' * self.last}"

    @property
    def asked(self) -> str:
        """The bin in words."""
        return f"share in [{self.low:.15g}, {self.high:.15g}{'])'[not self.last]}"

    @property
    def lines(self) -> tuple[float, ...]:
        """Both ends, the last one only where it lies within the bounds."""
        within = self.last and self.high >= float(self.grid.upper)
        return (self.low,) if within else (self.low, self.high + self.last * float(self.grid.step))

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return the share with its interval."""
        return distribution.bin(self.low, self.high, level, closed=self.last)


@takes()
def histogram(
    column: str,
    *,
    bins: Sequence[float],
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> list[Statistic | NeedsBounds]:
    """Request the shares of records in bins [a, b); the last bin [a, b] includes both ends.

    Parameters
    ----------
    column : str
    bins : sequence of numbers
        The ends of the bins, in ascending order.
    bounds, step : optional
        The bounds and the step of the column, as in `hedgerow.quantile`. Values are clamped to the bounds before they
        are counted.

    Returns
    -------
    list of Statistic or NeedsBounds
        A list with one request for each bin, to be passed to `Survey.release` or `Survey.plan`.

    Raises
    ------
    ParameterError
        HG112: the ends of the bins do not rise, or there are fewer than 2 or more than 1,001 ends.

    Examples
    --------
    >>> [share.name for share in histogram("income", bins=[0, 10_000, 50_000], bounds=(0, 50_000), step=100)]
    ['histogram_0_10000', 'histogram_10000_50000_closed']
    """
    checked = checked_column(column)
    ends = [as_float(end) for end in bins] if isinstance(bins, (list, tuple)) else []
    listed = [end for end in ends if end is not None]
    rising = len(listed) == len(ends) and all(a < b for a, b in pairwise(listed))
    if not rising or not 2 <= len(listed) <= _MOST_BINS + 1:
        raise ParameterError(
            "HG112",
            rule=f"A histogram has 2 to {_MOST_BINS + 1:,} ends of bins, which rise.",
            finding="The given ends of bins do not follow the rule.",
            remedy=f'For example hg.histogram("{checked}", bins=[0, 10_000, 50_000]).',
            shell=f"For example {checked}:0,10000,50000:0:200000.",
        )

    def one_bin(low: float, high: float) -> Statistic | NeedsBounds:
        closed = high == listed[-1]
        word = f"bins={listed}"
        return at_places("histogram", checked, word, bounds, step, partial(Bin, low=low, high=high, last=closed))

    return [one_bin(low, high) for low, high in pairwise(listed)]


def _parse(text: str) -> list[StatisticRequest]:
    parsed = parse_places(text)
    if parsed is None:
        form = "COL:END,END,… or COL:END,END,…:LO:HI[:STEP], with the ends of the bins, which rise"
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} income:0,10000,50000:0:200000")
    column, ends, grid = parsed
    return list(histogram(column, bins=ends, **grid))


ENTRY = StatisticEntry(
    histogram,
    17,
    {"column": COLUMN, "bins": Field("numbers", "The ends of the bins of a histogram, which rise.")},
    GRID,
    by_name=("bins",),
    metavar="COL:END,END[,END…][:LO:HI[:STEP]]",
    about="Shares of the records in bins [END, END); the last bin includes both ends.",
    parse=_parse,
)
