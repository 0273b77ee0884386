"""A design: how one statistic is released, priced and read, decided from public facts before any data are read.

Also what all designs share: the missing policy, applied to a histogram, and the sentences that go out with a number,
which are fixed texts and public facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from hedgerow.engines.query import Indicator, Query, SumsQuery
from hedgerow.errors import ParameterError, SpentError
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.relation import Relation, Target, UnitLimit
from hedgerow.facts.weights import Weights
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.mechanism import Single
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.cells.cells import TableCells
from hedgerow.resampling.grid_sums import GridSums
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.streamed import Tally
from hedgerow.statistics.statistic import Statistic

NoiseLaw = Literal["gaussian", "geometric", "averaged-laplace"]


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """What is public about the records of a survey: whom the guarantee protects, and n where the relation shows it.

    With `where` only the records for which it is true count. How many they are is private, also where n is public. With
    `weights` each record counts as its weight says.
    """

    relation: Relation
    unit: str | UnitLimit
    target: Target
    n: int | None
    where: str | None = None
    weights: Weights | None = None

    def record(self) -> dict[str, Any]:
        """Return relation, unit, target and n as plain JSON data."""
        return {"relation": str(self.relation), "unit": str(self.unit), "target": str(self.target), "n": self.n}

    @property
    def limit(self) -> UnitLimit | None:
        """The limit of rows where units have several; n then counts units."""
        return self.unit if isinstance(self.unit, UnitLimit) else None

    def in_one_cell(self, by: tuple[Category, ...], missing: Missing) -> bool:
        """Whether every record is known to be present in the one cell that there is."""
        return self.relation is Relation.REPLACE_ONE and not by and missing is not Missing.DROP

    @property
    def census(self) -> bool:
        """Whether the records are all there is to know, so that sampling error is 0."""
        return self.target is Target.FILE


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a record says of statistics that one part of its mechanism made: their designs are read from it.

    Attributes
    ----------
    statistics : tuple of Statistic
    by : tuple of Category
    facts : PublicFacts
    missing : Missing
    mechanism : Single
        The part.
    method : str
        The method that the record names.
    estimator, interval : str, and str or None
        As they were asked for.
    n_resamples : int or None
        How many replicates were asked for.
    membership : bool
        Whether the cell of every record is public.
    leaves : (column, grid, group) or None
        Of the counts of a whole column.
    """

    statistics: tuple[Statistic, ...]
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    mechanism: Single
    method: str
    estimator: str = "auto"
    interval: str | None = None
    n_resamples: int | None = None
    membership: bool = False
    leaves: tuple[str, Grid, int] | None = None


class Design(Protocol):
    """One statistic's way through a release."""

    @property
    def query(self) -> Query | SumsQuery:
        """The one question to the engine."""
        ...

    @property
    def method(self) -> str:
        """Name of the method, as in the contract."""
        ...

    @property
    def reason(self) -> str:
        """Why this method, in a sentence."""
        ...

    def mechanism(self, mu: float) -> Single:
        """Return the mechanism whose noise is the sensitivity divided by μ."""
        ...

    def added_up(self, mechanism: Single) -> tuple[str, ...]:
        """Return what is added up in each cell: the features of the table, by name."""
        ...

    def table(self, data: Any, mechanism: Single, source: NoiseSource, /) -> AdditiveTable:
        """Add noise to what the engine answered: a `Histogram`, or `GridSums`."""
        ...

    def estimates(self, table: AdditiveTable) -> Sequence[Estimate]:
        """Read the table. Post-processing."""
        ...


class TableDesign(Design, Protocol):
    """What a table asks of the design of its sum or count."""

    def table_cells(self, table: AdditiveTable, /) -> TableCells:
        """Return the numbers as they were drawn, with what their errors and totals over them are read from."""
        ...

    def table_noise(self, mechanism: Any, /) -> tuple[float, float]:
        """Return the noise on a number, and on its second moment, in the unit of the column; standard deviations."""
        ...

    @property
    def unit_value(self) -> float:
        """What one of the integers that are added up is worth in the column's unit."""
        ...

    @property
    def cell_bounds(self) -> tuple[tuple[int, int], ...] | None:
        """The grid indices of bounds that were declared cell by cell."""
        ...

    @property
    def sensitivity(self) -> str | None:
        """The option of a table that it is, as `hedgerow.tables.dp.choice` names it; None where two are the same."""
        ...

    @property
    def table_remark(self) -> str | None:
        """What a reader of the table must know of its bounds."""
        ...


class WholeTable:
    """A design of a table with one noise, and one pair of bounds, for all cells."""

    __slots__ = ()

    @property
    def unit_value(self) -> float:
        """1: the numbers of a table are in the unit of the column."""
        return 1.0

    @property
    def cell_bounds(self) -> None:
        """None: all cells have the bounds of the table."""
        return None

    @property
    def sensitivity(self) -> str:
        """The option of the table."""
        return "whole-table"

    @property
    def table_remark(self) -> None:
        """None: all cells have the bounds of the table."""
        return None


@dataclass(frozen=True, slots=True)
class PlannedStatistic:
    """One statistic with its design and mechanism; both None where the answer is public and free."""

    statistic: Statistic
    design: Design | None
    mechanism: Single | None


def complete(histogram: Histogram | GridSums | Tally, missing: Missing) -> None:
    """Refuse a missing value in a column that was declared complete.

    The declaration is a public fact, so among the data sets it admits this branch is never taken.

    Raises
    ------
    SpentError
        HG602: the declaration is false.
    """
    if missing is Missing.DECLARED_COMPLETE and histogram.missing.any():
        raise SpentError(
            "HG602",
            rule="A column declared complete holds no missing value.",
            finding="This one does. The data were read, so the price of this call counts as spent.",
            remedy='Release it with missing="drop".',
        )


def apply_policy(histogram: Histogram, missing: Missing, steps: int) -> Histogram:
    """Return the histogram with missing values dropped, put on the midpoint of a grid of `steps`, or refused."""
    complete(histogram, missing)
    return histogram.filled(steps // 2) if missing is Missing.MIDPOINT else histogram


LEFT_OUT = "Records outside the declared categories are left out."
NOT_RELIABLE = "The noisy count of this cell is under 2 sd of its noise: nothing is said beyond what is possible."
PUBLIC_COUNT = "n is public under replace-one: exact, no noise, no price."
PUBLIC_MEMBERSHIP = (
    "which cell every record belongs to is public, as declared: only a value within its cell is protected"
)
MIDPOINT = "Missing values count as the midpoint of the bounds."
END_PAIR = "that the end pair is the worst among values of equal sign was computed on a grid, not proven"


def check_midpoint(statistic: Statistic, missing: Missing) -> None:
    """Refuse a midpoint for missing values of what has none (HG114)."""
    if missing is Missing.MIDPOINT and not statistic.takes_midpoint:
        raise ParameterError(
            "HG114",
            rule='`missing="midpoint"` is for sums and means of one column between bounds.',
            finding=f"It was given with a {statistic.name} of {statistic.column!r}.",
            remedy='Release it with missing="drop".',
        )


def only_where(where: str) -> str:
    """Return what is said of a release of selected records.

    >>> only_where("age >= 25")
    'Only records where age >= 25 count; how many they are is private.'
    """
    return f"Only records where {where} count; how many they are is private."


def rows_kept(unit: UnitLimit) -> str:
    """Return what is said of the rows of units of several rows.

    >>> rows_kept(UnitLimit("person", 4))
    'Over at most 4 rows of each person, drawn at random where there are more; rows without person are left out.'
    """
    rows = "row" if unit.max_rows == 1 else "rows"
    return (
        f"Over at most {unit.max_rows} {rows} of each {unit.column}, drawn at random where there are more; rows "
        f"without {unit.column} are left out."
    )


def declared_complete(column: str) -> str:
    """Return what a certificate says of a column whose values are taken as complete.

    >>> declared_complete("age")
    'column age holds no missing value, as declared'
    """
    return f"column {column} holds no missing value, as declared"


def indicator_name(value: Indicator) -> str:
    """Return what a record has as its feature where it equals a value: 1, else −1.

    >>> indicator_name(Indicator("employed", 1))
    '(((employed = 1) - 0.5) / 0.5)'
    """
    return f"((({value.column} = {value.value}) - 0.5) / 0.5)"


def covers(statistic: Statistic, facts: PublicFacts, *, by_cell: bool = False) -> str:
    """Return what an interval is about, as a clause after "covers"; `by_cell`: each cell has bounds of its own.

    >>> from hedgerow.facts.relation import Relation, Target
    >>> from hedgerow.statistics.mean import mean
    >>> covers(mean("age", bounds=(0, 100)), PublicFacts(Relation.ADD_REMOVE, "row", Target.POPULATION, None))
    'the population mean of age clamped to [0, 100]; sampling and privacy noise are counted'
    """
    what = statistic.in_words(by_cell=by_cell)
    what += "" if facts.weights is None else f", {facts.weights.in_words}"
    among = "" if facts.where is None else f"(among records where {facts.where}) "
    if facts.census:
        return f"{among}this file's {what}; privacy noise is counted, sampling is not (a census)"
    if statistic.is_total:
        return f"{among}the expected {what} in a sample like this one; sampling and privacy noise are counted"
    return f"{among}the population {what}; sampling and privacy noise are counted"
