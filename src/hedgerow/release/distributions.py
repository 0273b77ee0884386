"""The distributions that a release holds: what a record keeps of them, and everything that can be read from it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation, Target, Weights, unit_of_text
from hedgerow.facts.validation import format_argument
from hedgerow.inference.distribution.noisy_distribution import Band, Distribution, band
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.interval import parse_level
from hedgerow.inference.operators import texts_of_cell
from hedgerow.inference.region import ScoreRegion
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.release.designs.column_distribution import (
    DistributionStatistic,
    DistributionTest,
    TableReading,
    covered,
    is_clear,
    reading_of,
    remark_of,
)
from hedgerow.release.designs.design import NOT_RELIABLE, PublicFacts
from hedgerow.statistics.distribution.cdf import Cdf, cdf
from hedgerow.statistics.distribution.gini import Gini, gini
from hedgerow.statistics.distribution.histogram import Bin, histogram
from hedgerow.statistics.distribution.lorenz import Lorenz, lorenz
from hedgerow.statistics.distribution.quantile import Quantile, quantile
from hedgerow.statistics.distribution.share_below import ShareBelow, share_below
from hedgerow.statistics.statistic import NeedsBounds, Statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.release.publication.shared import Result


Picture = Literal["cdf", "histogram", "lorenz"]
_BINS = 24
_SHOWN = (0.1, 0.25, 0.5, 0.75, 0.9)  # the quantiles that a notebook shows
_CURVE = "The picture is the distribution function with a band that holds all of it at once."
_LORENZ = (*(share / 20 for share in range(1, 20)), 0.975, 0.99)  # where a Lorenz curve is drawn


@dataclass(frozen=True, slots=True)
class ColumnDistribution:
    """The distribution of one column in one cell, as it was released: all that is read from it costs no budget.

    Attributes
    ----------
    column : str
    cell : mapping
        {column: category}.
    reading : TableReading
        What was released.
    place : int
        Which of its cells it is.
    facts : PublicFacts
        Of the release.
    """

    column: str
    cell: Mapping[str, Any]
    reading: TableReading
    place: int
    facts: PublicFacts

    def __repr__(self) -> str:
        low, high = self.reading.leaves.grid.as_bounds()
        leaves = f"{self.reading.leaves.count:,} leaves"
        return f"<Distribution of {self.column}{self.cell_in_words} on [{low:.15g}, {high:.15g}], {leaves}>"

    @property
    def counts(self) -> Distribution:
        """The least-squares counts, and how exact they are."""
        return self.reading.cells[self.place]

    def quantile(self, probability: float) -> Estimate:
        """Return the quantile of a probability, with its interval (HG112 for a number that is not a probability)."""
        return self.estimate_of(self._asked(quantile(self.column, probability)))

    def cdf(self, x: float) -> Estimate:
        """Return the share of records whose value is at most x (HG112 for an argument that is not a number)."""
        return self.estimate_of(self._asked(cdf(self.column, at=x)))

    def share_below(self, line: float | None = None, *, of_median: float | None = None) -> Estimate:
        """Return the share below a line, or below a part of the median (HG112 for what is neither)."""
        return self.estimate_of(self._asked(share_below(self.column, line=line, of_median=of_median)))

    def histogram(self, bins: Sequence[float]) -> list[Estimate]:
        """Return the shares of records in bins [a, b), the last one closed (HG112 for ends that do not rise)."""
        return [self.estimate_of(self._asked(share)) for share in histogram(self.column, bins=bins)]

    def gini(self) -> Estimate:
        """Return the Gini coefficient (HG112 where values may be negative)."""
        return self.estimate_of(self._asked(gini(self.column)))

    def lorenz(self, share: float) -> Estimate:
        """Return the part of the total that the lowest `share` of the records hold (HG112 where it has none)."""
        return self.estimate_of(self._asked(lorenz(self.column, at=share)))

    def band(self, level: float = 0.95) -> Band:
        """Return a band that holds the whole distribution function with this chance (HG110)."""
        return band(self.counts, parse_level(level))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Picture = "cdf",
        bins: Sequence[float] | None = None,
        level: float = 0.95,
    ) -> Axes:
        """Draw the distribution with its errors; return the axes. Drawing costs no budget.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.
        kind : "cdf", "histogram" or "lorenz"
            The distribution function with a band that holds all of it at once, the shares of bins each with its
            interval, or the Lorenz curve with the interval of each point.
        bins : sequence of numbers, optional
            The ends of the bins of a histogram; about twenty of equal width without it.
        level : float
            Of the band or of each interval.

        Raises
        ------
        ParameterError
            HG110 for the level; HG112: another kind, ends that do not rise, a Lorenz curve of values below 0.
        """
        from hedgerow.plots.curves import (
            DrawnCurve,
            DrawnNumbers,
            draw_distribution,
            draw_histogram,
            draw_lorenz,
        )
        from hedgerow.plots.figure import shown_in_notebook

        label = f"{self.column}{self.cell_in_words}"
        if kind == "cdf":
            around, counts = self.band(level), self.counts
            curve = DrawnCurve(counts.edges, counts.curve, around.edges, around.low, around.high, label, level)
            with shown_in_notebook():
                return draw_distribution(curve, ax)
        if kind not in ("histogram", "lorenz"):
            raise ParameterError(
                "HG112",
                rule="A distribution can be drawn as cdf, histogram or lorenz.",
                finding=f"Found {format_argument(kind)}.",
                remedy='Use "histogram", for example.',
            )
        places = _LORENZ if kind == "lorenz" else tuple(bins) if bins is not None else self._bins()
        read = [self.lorenz(share) for share in places] if kind == "lorenz" else self.histogram(places)
        ends = [number.confidence_interval(level) for number in read]
        shares, low, high = np.array(
            [(number.estimate, end.low, end.high) for number, end in zip(read, ends, strict=True)]
        ).T
        drawn = DrawnNumbers(np.array(places), shares, low, high, label, level)
        with shown_in_notebook():
            return (draw_lorenz if kind == "lorenz" else draw_histogram)(drawn, ax)

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import card_of_lines

        lines = [self.quantile(share)._card_line(with_cell=False) for share in _SHOWN]
        title = f"Distribution of {self.column}{self.cell_in_words}"
        notes = (() if is_clear(self.counts) else (NOT_RELIABLE,)) + (_CURVE,)
        return card_of_lines(title, "", ("statistic",), lines, notes=notes, picture=self.plot)

    def _bins(self) -> tuple[float, ...]:
        """Return the ends of about twenty bins of one width, where leaves begin; the last one may be narrower."""
        edges, leaves = self.counts.edges, self.reading.leaves
        span = math.ceil(len(edges) / _BINS)
        # A width that fits in a whole number of times is taken where one is about as wide.
        span = next((wide for wide in range(span, 2 * span) if (len(edges) - 2) % wide == 0), span)
        low, high = leaves.grid.as_bounds()
        if not leaves.grid.declared:
            inner = edges[span:-1:span]
        else:
            width = span * leaves.group * float(leaves.grid.step)
            inner = np.arange(low + width, high - width / 4.0, width)
        return (low, *inner.tolist(), high)

    @property
    def cell_in_words(self) -> str:
        """The cell in brackets, after a space; nothing where all records are one."""
        return f" ({', '.join(f'{name}={value}' for name, value in self.cell.items())})" if self.cell else ""

    def _asked(self, asked: Statistic | NeedsBounds) -> Statistic:
        return asked.build([(self.column, self.reading.leaves.grid)]) if isinstance(asked, NeedsBounds) else asked

    def estimate_of(self, asked: Statistic) -> Estimate:
        """Return the estimate of a statistic that is read from a distribution."""
        read = asked.read(self.counts, 0.95)
        clear = is_clear(self.counts)
        return Estimate(
            asked.name,
            asked.column,
            dict(self.cell),
            read.value,
            read.sampling_error if clear else None,
            0.0 if clear else None,
            read.privacy_error if clear else None,
            "distribution",
            None,
            clear,
            remark_of(self.reading.leaves, self.facts) if clear else NOT_RELIABLE,
            covered(asked, self.facts),
            ScoreRegion(DistributionTest(asked, self.reading, self.place)),
        )


def facts_stated(release: Result, unit_weight: str | None) -> PublicFacts:
    """Return the public facts that a release states, with what counts alike in distributions of its units."""
    weights = release.weights
    weighed = None if weights is None else Weights.declared((weights["column"], weights["most"]))
    about = Relation(release.relation), unit_of_text(release.unit), Target(release.target), release.n, release.where
    return PublicFacts(*about, weighed, unit_weight)


def readings(
    records: Sequence[Mapping[str, Any]], mechanism: Mechanism, *, n: int | None, target: str, relation: str
) -> Iterator[TableReading]:
    """Yield the released table of each record, with its mechanism, which comes in the same order.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError
        It is no such record, or one of another mechanism.
    """
    parts = DistributionStatistic.parts(mechanism)
    for record, part in zip(records, parts, strict=True):
        yield reading_of(record, part, n=n, census=target == str(Target.FILE), relation=Relation(relation))


def released(
    tables: Iterable[tuple[Mapping[str, Any], TableReading]], facts: PublicFacts
) -> Iterator[ColumnDistribution]:
    """Yield the distribution of each cell of each released table, of which the record goes first."""
    for record, reading in tables:
        for place, cell in enumerate(record["cells"]):
            yield ColumnDistribution(record["column"], dict(cell["cell"]), reading, place, facts)


def distribution_of(
    distributions: Sequence[ColumnDistribution], column: str, cell: Mapping[str, object]
) -> ColumnDistribution:
    """Return the distribution of a column in a cell (HG137: there is none)."""
    wanted = texts_of_cell(cell)
    for distribution in distributions:
        if distribution.column == column and texts_of_cell(distribution.cell) == wanted:
            return distribution
    listed = sorted({f"{each.column}{each.cell_in_words}" for each in distributions})
    raise ParameterError(
        "HG137",
        rule="A distribution of a release is named by its column and its whole cell.",
        finding=f"There is none of {column!r} in this cell.",
        remedy=f"There are those of {'; '.join(listed)}." if listed else "Ask for a quantile of the column.",
    )


def statistic_of(name: str, column: str, grid: Grid) -> Statistic | None:
    """Return the statistic that an estimate is named after; None where it is none of a distribution."""
    kind, *numbers = re.split(r"_(?=[-\d])", name)
    closed = bool(numbers) and numbers[-1].endswith("_closed")
    values = [float(number.removesuffix("_closed")) for number in numbers]
    match (kind, len(values)):
        case ("quantile", 1) if 0.0 < values[0] < 1.0:
            return Quantile.of(column, grid, values[0])
        case ("cdf", 1):
            return Cdf(column, grid, values[0])
        case ("share_below" | "share_below_median", 1):
            return ShareBelow(column, grid, values[0], kind.endswith("median"))
        case ("histogram", 2):
            return Bin(column, grid, values[0], values[1], closed)
        case ("gini", 0) if grid.lower >= 0:
            return Gini.of(column, grid)
        case ("lorenz", 1) if grid.lower >= 0 and 0.0 < values[0] < 1.0:
            return Lorenz.of(column, grid, values[0])
    return None
