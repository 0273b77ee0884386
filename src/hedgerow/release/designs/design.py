"""A design: how one statistic is released, priced and read, decided from public facts before any data are read.

Also what all designs share: the missing policy, applied to a histogram, and the sentences that go out with a number,
which are fixed texts and public facts only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np

from hedgerow.engines.query import Indicator, Query, SumsQuery
from hedgerow.errors import ParameterError, SpentError
from hedgerow.facts.columns import Category, CellLabels, Missing
from hedgerow.facts.relation import Relation, Target, UnitLimit, Weights
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.function_record import function_record
from hedgerow.inference.joint.functions import FunctionOfTotals
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.mechanisms.interface import AtomicMechanism, Mechanism
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.designs.guess import GuessedReading, SupposedCell
from hedgerow.release.request import LISTED_CELLS
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.resampling.replicates import Tally
from hedgerow.statistics.statistic import Statistic

NoiseLaw = Literal["gaussian", "geometric", "averaged-laplace"]


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """What is public about the records of a survey: whom the guarantee protects, and n where the relation shows it.

    With `where` only the records for which it is true count. How many they are is private, also where n is public. With
    `weights` each record counts as its weight says. `unit_weight` says what counts alike in distributions of units of
    several rows: "rows", or each "unit".
    """

    relation: Relation
    unit: str | UnitLimit
    target: Target
    n: int | None
    where: str | None = None
    weights: Weights | None = None
    unit_weight: str | None = None

    def record(self) -> dict[str, Any]:
        """Return relation, unit, target and n as plain JSON data."""
        return {"relation": str(self.relation), "unit": str(self.unit), "target": str(self.target), "n": self.n}

    @property
    def limit(self) -> UnitLimit | None:
        """The limit of rows where units have several; n then counts units."""
        return self.unit if isinstance(self.unit, UnitLimit) else None

    @property
    def totalled(self) -> bool:
        """Whether rows are added up before anything is made of them: those of a unit, or weighted ones."""
        return self.limit is not None or self.weights is not None

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
    mechanism : AtomicMechanism
        The part.
    method : str
        The method that the record names.
    estimator, interval : str, and str or None
        As they were asked for.
    n_resamples : int or None
        How many replicates were asked for.
    membership : bool
        Whether the cell of every record is public.
    leaves : mapping or None
        The counts of a whole column, as a record keeps them.
    """

    statistics: tuple[Statistic, ...]
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    mechanism: AtomicMechanism
    method: str
    estimator: str = "auto"
    interval: str | None = None
    n_resamples: int | None = None
    membership: bool = False
    leaves: Mapping[str, Any] | None = None


M = TypeVar("M", bound=AtomicMechanism)
T = TypeVar("T", bound=AdditiveTable)
_MOST_COVARIANCES = 64  # rows of a matrix on record; of more they follow from the mechanism alone


class Design(Generic[M, T]):
    """One statistic's way through a release, by mechanisms of one kind (M) and tables of one kind (T).

    Whoever deals with designs asks these questions, and never what the class is.
    """

    __slots__ = ()
    drawn_by: ClassVar[type[AtomicMechanism]]
    """The kind of mechanism that draws it."""
    kept_in: ClassVar[str] = "noisy"
    """The field of a record under which its table stands."""
    not_forecast: ClassVar[str] = ""
    """Why no errors of it are forecast, in words; empty where they are."""
    many_cells: ClassVar[bool] = False
    """Whether the numbers of a million cells are held and read as arrays."""

    if TYPE_CHECKING:  # fields of the designs, or properties

        @property
        def statistic(self) -> Statistic:
            """What was asked for."""
            ...

        @property
        def missing(self) -> Missing:
            """What becomes of a record in which a value is missing."""
            ...

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

    @property
    def drawn(self) -> object:
        """What is drawn as a whole: the design itself, or what several statistics share."""
        return self

    @property
    def n_resamples(self) -> int | None:
        """How many replicates there are; None where there are none."""
        return None

    @property
    def streams(self) -> bool:
        """Whether records are read one by one: too many are possible to count each."""
        return False

    @property
    def runs_code(self) -> bool:
        """Whether functions of columns define what is added up."""
        return self.statistic.has_code

    @property
    def narrowed(self) -> str:
        """Why records may not differ as much as the mechanism allows; empty where they may."""
        return ""

    @property
    def function(self) -> FunctionOfTotals | None:
        """What is read from totals with a joint law, so that one can compute with its estimates; None: from none."""
        return None

    @property
    def joint_features(self) -> dict[str, Any]:
        """The features of these totals, as plain JSON data."""
        return {}

    @property
    def rows(self) -> int:
        """How many rows a record has at most."""
        return 1

    def mechanism(self, mu: float) -> M:
        """Return the mechanism whose noise is the sensitivity divided by μ."""
        raise NotImplementedError

    def noise_sd(self, mechanism: M) -> float | None:
        """Return the noise on the released total, in the column's unit (of a bootstrap: of one replicate's).

        None where several totals make the statistic.
        """
        return None

    def expected(self, mechanism: M, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return what would be read of a cell as a guess supposes it: one reading for each guess that may be the worst.

        The design reads expected totals instead of released ones, so no formula of an error is repeated.
        """
        raise NotImplementedError

    def added_up(self, mechanism: M) -> tuple[str, ...]:
        """Return what is added up in each cell: the features of the table, by name."""
        raise NotImplementedError

    def table(self, data: Any, mechanism: M, source: NoiseSource, /) -> T:
        """Add noise to what the engine answered: a `Histogram`, or `GridSums`."""
        raise NotImplementedError

    def estimates(self, table: T) -> Sequence[Estimate]:
        """Read the table. Post-processing."""
        raise NotImplementedError

    def table_cells(self, table: T) -> TableCells:
        """Return the numbers as they were drawn, with what their errors and totals over them are read from."""
        raise NotImplementedError

    def table_noise(self, mechanism: M) -> tuple[float, float]:
        """Return the noise on a number, and on its second moment, in the unit of the column; standard deviations."""
        raise NotImplementedError

    def unread(self, mechanism: M) -> tuple[int, ...]:
        """Return the places of the numbers of a cell that are drawn and that no answer uses."""
        return ()

    @property
    def unit_value(self) -> float:
        """What one of the integers that are added up is worth in the column's unit."""
        return 1.0

    @property
    def cell_bounds(self) -> tuple[tuple[int, int], ...] | None:
        """The grid indices of bounds that were declared cell by cell; None where all cells have those of the column."""
        return None

    @property
    def knows_cells(self) -> bool:
        """Whether it is known how numbers of several cells vary together, once they are released."""
        return True

    @property
    def sensitivity(self) -> str | None:
        """Which option of `hedgerow.tables.table_options` it is; None where two are the same."""
        return "whole-table"

    @property
    def table_remark(self) -> str | None:
        """What a reader of the table must know of its bounds."""
        return None

    def part_of_record(self, first: Estimate) -> PartOfRecord | None:
        """Return what a record keeps of what is drawn, beside noisy numbers, from the estimate of the first cell."""
        function, joint = self.function, first._joint
        if function is None or not isinstance(joint, JointValue):
            return None
        (totals,) = joint.releases
        return PartOfRecord("joint", lambda: self._whole(totals), function_record(function, totals.totals))

    def _whole(self, totals: JointTotals) -> dict[str, Any]:
        """Return the features and noisy moments of what was drawn, as plain JSON data."""
        about = {
            **self.joint_features,
            "noise_law": totals.law,
            **({} if len(totals.mixing) > _MOST_COVARIANCES else {"noise_covariance": noise_on_record(totals)}),
        }
        if len(cells := CellLabels(self.query.by)) > LISTED_CELLS:
            return about
        moments = cells, totals.totals.tolist(), totals.products.tolist()
        across = [] if totals.across is None else totals.across.released.tolist()
        return {
            **about,
            "cells": [
                {"cell": cell, "sums": sums, "second_moments": products, **({"across": row[0]} if row else {})}
                for cell, sums, products, *row in zip(*moments, *filter(None, [across]), strict=True)
            ],
        }

    def table_on_record(self, part: Mapping[str, Any], mechanism: M, cells: CellLabels) -> AdditiveTable:
        """Return the table that a record keeps under `kept_in`.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is none of this mechanism and these cells.
        """
        return table_of(part, mechanism, cells, self.added_up(mechanism))

    @classmethod
    def parts(cls, mechanism: Mechanism) -> list[M]:
        """Return the parts of a mechanism that draw designs of this kind."""
        return [part for part in parts_of(mechanism) if isinstance(part, cls.drawn_by)]  # type: ignore[misc]  # M is what `drawn_by` names

    @classmethod
    def of_record(cls, about: Recorded) -> Sequence[Self]:
        """Return the design of each statistic on record; none where another kind of design made them.

        Why it was chosen is not on record: its reason is empty.
        """
        mine = cls.parts(about.mechanism)
        return cls.recorded(about, mine[0]) if mine else ()

    @classmethod
    def recorded(cls, about: Recorded, part: M) -> Sequence[Self]:
        """Return the designs that a part of their kind of mechanism drew; none where it drew others."""
        raise NotImplementedError


def noise_on_record(totals: JointTotals) -> list[list[float]]:
    """Return the covariances of the noise on (N, Σf, Σff' by rows), as plain JSON data."""
    covariance: list[list[float]] = (totals.mixing @ totals.mixing.T).tolist()
    return covariance


@dataclass(frozen=True, slots=True)
class PartOfRecord:
    """What a record keeps of what is drawn as a whole.

    Attributes
    ----------
    name : str
        The list of the record in which it stands.
    whole : callable
        Returns all of it but for the places of the estimates that were read from it, and how they were read.
    function : dict or None
        How these estimates were read from it, where that is kept.
    """

    name: str
    whole: Callable[[], dict[str, Any]]
    function: dict[str, Any] | None = None


def table_of(
    record: Mapping[str, Any], mechanism: AtomicMechanism, cells: CellLabels, features: Sequence[str]
) -> AdditiveTable:
    """Return the table on record of these features, with the noise of its mechanism.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is none of this mechanism and these cells.
    """
    values = np.array(record["values"], dtype=np.float64).reshape(record["shape"])
    spread = mechanism.table_spread(features)
    if spread is None or values.shape[:2] != (len(cells), spread.shape[-1]) or len(features) != spread.shape[-1]:
        raise ValueError("the table has another shape than its mechanism")
    return AdditiveTable(cells, tuple(features), values, spread, mechanism.table_law)


@dataclass(frozen=True, slots=True)
class PlannedStatistic:
    """One statistic with its design and mechanism; both None where the answer is public and free."""

    statistic: Statistic
    design: Design[Any, Any] | None
    mechanism: AtomicMechanism | None


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
            rule="A column that was declared complete must have no missing value.",
            finding="The column has a missing value. The data were read, so the price of this call counts as spent.",
            remedy='Release the column with missing="drop".',
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
            rule='The policy missing="midpoint" is possible only for sums and means of one column with bounds.',
            finding=f"It was given with a {statistic.name} of {statistic.column!r}.",
            remedy='Release the column with missing="drop".',
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


def missing_in_words(policies: Mapping[str, Missing]) -> tuple[str, ...]:
    """Return what a missing value of each column counts as.

    >>> missing_in_words({"age": Missing.DROP, "pay": Missing.DROP})
    ('missing values of age, pay are left out',)
    """
    columns: dict[Missing, list[str]] = {}
    for column, policy in policies.items():
        columns.setdefault(policy, []).append(column)
    return tuple(f"missing values of {', '.join(named)} {_COUNTS_AS[policy]}" for policy, named in columns.items())


_COUNTS_AS = {
    Missing.DROP: "are left out",
    Missing.MIDPOINT: "count as the midpoint of the bounds",
    Missing.DECLARED_COMPLETE: "are declared not to occur",
}


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
    return covers_number(statistic.in_words(by_cell=by_cell), facts, total=statistic.is_total)


def covers_number(what: str, facts: PublicFacts, *, total: bool = False) -> str:
    """Return what an interval of a number in words is about; a `total` grows with the number of records."""
    what += "" if facts.weights is None else f", {facts.weights.in_words}"
    among = "" if facts.where is None else f"(among records where {facts.where}) "
    if facts.census:
        return f"{among}this file's {what}; privacy noise is counted, sampling is not (a census)"
    if total:
        return f"{among}the expected {what} in a sample like this one; sampling and privacy noise are counted"
    return f"{among}the population {what}; sampling and privacy noise are counted"
