"""A quantile, read off a released table of counts of a clamped column, or off replicates of its histogram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, checked_column
from hedgerow.facts.validation import as_float, format_argument, kind_of
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, GRID, Field, StatisticEntry, parse_places, unwritten
from hedgerow.statistics.statistic import NamedGrid, NeedsBounds, SmoothStatistic, StatisticRequest, Totals, on_one_grid

if TYPE_CHECKING:
    from hedgerow.inference.distribution.noisy_distribution import Distribution, Read

STEPS = 64
MOST_STEPS = 2**20


class Quantile(SmoothStatistic):
    """A smooth function of one column's histogram: every grid value has a total of its own."""

    __slots__ = ()
    kind: ClassVar[str] = "quantile"
    is_histogram: ClassVar[bool] = True
    of_table: ClassVar[bool] = True
    usual_steps: ClassVar[int] = STEPS

    @classmethod
    def of(cls, column: str, grid: Grid, probability: float) -> Quantile:
        """Return the statistic of a column on its grid (HG112 beyond 2²⁰ steps)."""
        if grid.steps > MOST_STEPS:
            low, high = grid.as_bounds()
            raise ParameterError(
                "HG112",
                rule=f"A quantile is read off a table of at most {MOST_STEPS:,} steps: take a coarser one.",
                finding=f"This step makes {grid.steps + 1:,}.",
                remedy=f'For example hg.quantile("{column}", {probability:g}, bounds=({low:.15g}, {high:.15g})).',
                shell=f"For example {column}:{probability:g}:{low:.15g}:{high:.15g}.",
            )
        read = _Quantile(grid, probability)
        return cls(f"quantile_{probability:g}", ((column, grid),), (), read, *grid.as_bounds())

    @classmethod
    def of_grids(cls, grids: Sequence[NamedGrid], given: Mapping[str, Any]) -> Quantile:
        """Return the quantile of one column on its grid."""
        return cls.of(*grids[0], float(given["probability"]))

    def record(self) -> dict[str, Any]:
        """Return the column with its grid, and the probability."""
        return {**SmoothStatistic.record(self), "probability": self.probability}

    @property
    def probability(self) -> float:
        """The probability."""
        assert isinstance(self.function, _Quantile)  # as `of` builds it
        return self.function.probability

    def read(self, distribution: Distribution, level: float) -> Read:
        """Return the quantile with its interval, by inversion of the distribution function."""
        return distribution.quantile(self.probability, level)


@overload
def quantile(column: str, probability: float, *, bounds: None = None, step: float | None = None) -> NeedsBounds: ...
@overload
def quantile(
    column: str, probability: float, *, bounds: tuple[float, float], step: float | None = None
) -> Quantile: ...
@overload
def quantile(
    column: str,
    probability: Sequence[float],
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> list[Quantile | NeedsBounds]: ...
@takes()
def quantile(
    column: str,
    probability: float | Sequence[float],
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
) -> Quantile | NeedsBounds | list[Quantile | NeedsBounds]:
    """Request a quantile of a clamped column, or several quantiles.

    Parameters
    ----------
    column : str
    probability : number or sequence of numbers
        A number strictly between 0 and 1.
    bounds : (low, high), optional
        The declared bounds of the column. The default bounds are those of the facts.
    step : number, optional
        The distance between neighbouring values, if all values lie on a grid that starts at the lower bound. If a step
        is given, released quantiles are values of the grid.

    Returns
    -------
    Quantile or NeedsBounds, or a list of them
        The request, to be passed to `Survey.release` or `Survey.plan`. The result is a list if several probabilities
        are given.

    Raises
    ------
    ParameterError
        HG112: an entry of `probability` is not a probability, or the grid has more than 2²⁰ steps.

    Examples
    --------
    >>> [asked.name for asked in quantile("income", [0.1, 0.5], bounds=(0, 200_000), step=100)]
    ['quantile_0.1', 'quantile_0.5']
    """
    if isinstance(probability, (list, tuple)) and probability:
        return [_built(column, share, bounds=bounds, step=step) for share in probability]
    return _built(column, probability, bounds=bounds, step=step)


def _built(
    column: str, probability: object, *, bounds: tuple[float, float] | None, step: float | None
) -> Quantile | NeedsBounds:
    share = as_float(probability)
    if share is None or not 0.0 < share < 1.0:
        raise _no_probability(checked_column(column), probability, share)
    columns = (checked_column(column),)
    if bounds is None:
        given, build = (f"{share:g}",), partial(on_one_grid, partial(Quantile.of, probability=share))
        return NeedsBounds("quantile", columns, step, build, steps=STEPS, given=given)
    grid = Grid.from_bounds(column, bounds, step)
    return Quantile.of(column, grid if step is not None else replace(grid, steps=STEPS), share)


@dataclass(frozen=True, slots=True)
class _Quantile:
    grid: Grid
    probability: float

    def __call__(self, totals: Totals) -> float:
        import numpy as np

        (low, high), size = self.grid.as_bounds(), self.grid.steps + 1
        edges = low + (np.arange(size + 1) - 0.5) * float(self.grid.step)
        mass = np.array([totals[str(place)] for place in range(size)])
        cumulated = np.concatenate([[0.0], np.cumsum(mass)])
        n = float(cumulated[-1])
        if n <= 0.0:
            return math.nan
        # Noise makes the cumulated counts fall in places: the middle of the two rising curves that enclose them.
        rising = (np.maximum.accumulate(cumulated) + np.minimum.accumulate(cumulated[::-1])[::-1]) / 2
        # The mean over a sampling error's width about p: the density there, which the error bar rests on, is that of
        # several grid values and not of one noisy count.
        width = math.sqrt(self.probability * (1.0 - self.probability) / n)
        sought = np.clip(self.probability + width * np.linspace(-1.0, 1.0, 9), 0.0, 1.0)
        return float(np.mean(np.clip(np.interp(sought * n, rising, edges), low, high)))


def parse_quantiles(text: str) -> list[StatisticRequest]:
    """Return the quantiles of ``COL:Q[,Q…][:LO:HI[:STEP]]``, split from the right (HG116).

    >>> [asked.name for asked in parse_quantiles("income:0.1,0.5:0:200000")]
    ['quantile_0.1', 'quantile_0.5']
    >>> parse_quantiles("time:utc:0.5")
    [NeedsBounds(quantile of time:utc, bounds from the facts)]
    """
    parsed = parse_places(text)
    if parsed is None:
        form = "COL:Q or COL:Q:LO:HI[:STEP], with a probability, or several apart by commas, for Q"
        raise unwritten(ENTRY.option, form, text, f"{ENTRY.option} income:0.1,0.5:0:200000")
    column, probabilities, grid = parsed
    return [quantile(column, probability, **grid) for probability in probabilities]


def _no_probability(column: str, given: object, number: float | None) -> ParameterError:
    meant = f"{number / 100:.12g}" if number is not None and 1.0 < number < 100.0 else "0.5"
    return ParameterError(
        "HG112",
        rule="A quantile needs a probability strictly between 0 and 1.",
        finding=f"Found {kind_of(given) if number is None else format_argument(given)}.",
        remedy=f'Write hg.quantile("{column}", {meant}).',
        shell=f"Write {column}:{meant}, or probability = {meant} in the facts file.",
    )


_PROBABILITY = Field("number", "The probability of a quantile.", above=0, below=1)
ENTRY = StatisticEntry(
    quantile,
    7,
    {"column": COLUMN, "probability": _PROBABILITY},
    GRID,
    metavar="COL:Q[,Q…][:LO:HI[:STEP]]",
    about="Quantiles of values clamped to the bounds LO and HI.",
    parse=parse_quantiles,
    also_called=("median", "percentile"),
)
