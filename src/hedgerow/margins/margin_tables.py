"""`Margins`: all tables of a workload with their errors, which add up; any of them as a `ProtectedTable`."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal, Self, overload

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Scalar
from hedgerow.facts.printed import group_headings
from hedgerow.facts.relation import max_rows_of
from hedgerow.facts.validation import format_argument
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Subject, finite
from hedgerow.inference.interval import parse_level
from hedgerow.inference.means_and_counts import SMALL_COUNT
from hedgerow.margins.joint_margins import joint_values, place_of
from hedgerow.margins.margin_table import MarginTable, with_bounded_sampling
from hedgerow.margins.residuals import Place, TableResiduals
from hedgerow.margins.shown_margins import AGREE, ShownTables, agreeing, in_whole_numbers
from hedgerow.margins.synthesized_margins import Synthesizable
from hedgerow.margins.workload import subsets
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.residual_margins import ColumnSet
from hedgerow.release.ask import Covariances, ask, covariances
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.printed_numbers import reliability_letters
from hedgerow.release.cells.shape import Hierarchy, TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.designs.design import PublicFacts, covers, rows_kept
from hedgerow.release.publication.printed_table import Heading, PrintedTable
from hedgerow.release.publication.shared import REPLAYED, SIMULATED, Result
from hedgerow.release.record import READING
from hedgerow.statistics.statistic import Statistic
from hedgerow.tables.protected import AS_DRAWN, ProtectedTable

_NUMBERS = ("standard_error", "sampling_error", "privacy_error", "low", "high")
_BOUNDED = (
    "Sampling errors are upper bounds: one unit adds {0:,.7g} to a cell at most, so the sampling variance of a cell is "
    "at most {0:,.7g} times the cell."
)
_BY_ORDER = "by order"
REASON = "one vector of residuals, from which all tables follow and add up"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Margins(Synthesizable, Result):
    """A sequence of estimates: all tables by up to a given number of columns, ordered by table and then by cell.

    Guarantee: everything in the result together is (ε, δ)-differentially private, at the price that ``certificate``
    states. All methods are post-processing of the released residuals and cost no further budget.

    The noisy numbers are unbiased, and the totals of all tables agree. The noise can make the numbers fractional or
    negative. The methods `nonnegative` and `rounded` change the shown numbers. Errors and intervals remain those of the
    noisy numbers, with intervals cut at 0; an interval about the changed numbers would not keep its level.

    Attributes
    ----------
    axes : tuple of Category
        The group columns, with their categories.
    residuals : TableResiduals
        The released numbers: the noisy residual of each table.
    facts : PublicFacts
    statistic : Statistic
        The statistic of the cells: counts, or sums of a column.
    remarks : tuple of str
        Notes for readers about the margins as a whole.
    shown : ShownTables or None
        The numbers that are shown in place of the noisy numbers. The attribute `shown` is None if the noisy numbers
        themselves are shown.
    hierarchies : tuple of Hierarchy
        Groups of categories. For columns with a hierarchy, every table also has the totals of groups of categories,
        which are sums of its cells.
    request : dict
        The request as plain JSON data.
    noisy : tuple of dict
        The noisy numbers as plain JSON data.
    steps : tuple of dict
        The list of changes, such as rounding, that made the shown numbers from the noisy numbers, as plain JSON data.
    """

    axes: tuple[Category, ...]
    residuals: TableResiduals
    facts: PublicFacts
    statistic: Statistic
    remarks: tuple[str, ...] = ()
    shown: ShownTables | None = None
    hierarchies: tuple[Hierarchy, ...] = ()
    request: Mapping[str, Any] = field(default_factory=dict)
    noisy: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    _cells: dict[ColumnSet, TableCells] = field(default_factory=dict, init=False)

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Estimate]: ...
    @overload
    def __getitem__(self, index: str | tuple[str, ...]) -> ProtectedTable: ...
    def __getitem__(self, index: int | slice | str | tuple[str, ...]) -> Estimate | Sequence[Estimate] | ProtectedTable:
        """Return an estimate by its place, those of a slice, or a table: ``margins["sex", "region"]``."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not isinstance(index, int):
            return self.table(*((index,) if isinstance(index, str) else index))
        ends = list(accumulate(map(self.residuals.workload.length, self.residuals.workload.tables)))
        place = range(len(self))[index]
        at = bisect_right(ends, place)
        columns = self.residuals.workload.tables[at]
        return self.cells(columns)[place - (ends[at] - self.residuals.workload.length(columns))]

    def __iter__(self) -> Iterator[Estimate]:
        for table in self.residuals.workload.tables:
            yield from self.cells(table)

    def __len__(self) -> int:
        return self.residuals.workload.cells

    def __repr__(self) -> str:
        workload = self.residuals.workload
        again = ", replayed" if self.replayed else ""
        tables = f"{len(workload.tables):,} tables, {workload.cells:,} cells"
        return f"<Margins of up to {workload.order} columns, {tables}, {self.price()}{again}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], *self.table_lines(), *self.notes]
        return "\n".join([*lines, REPLAYED] if self.replayed else lines)

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import Card

        return Card(caption=str(self)).html()

    def table_lines(self) -> list[str]:
        """Return one line for each table: its columns, its number of cells, and the noise of each cell."""
        workload = self.residuals.workload
        return [
            table_line(self.columns(table), workload.length(table), math.sqrt(self.residuals.noise_variance(table)))
            for table in workload.tables
        ]

    def price(self) -> str:
        """Return the privacy price in one line: ε, δ, relation and unit.

        For simulated margins, the line says that there is no price.
        """
        return SIMULATED if self.certificate is None else self.certificate.price()  # type: ignore[attr-defined]  # margins have certificates

    def _noted(self, notes: Sequence[str]) -> Self:
        """Return it with further notes."""
        return replace(self, remarks=(*self.remarks, *notes))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers about the margins as a whole."""
        size = () if self.n is None else (_size(self),)
        limit = self.facts.limit
        units = () if limit is None else (rows_kept(limit),)
        drawn = (AS_DRAWN,) if self.shown is None else self.shown.notes
        bound = () if self.facts.census or self.largest == 1.0 else (_BOUNDED.format(self.largest),)
        return (*self.remarks, *size, *units, *bound, *(() if self.shown is not None else (AGREE,)), *drawn)

    def columns(self, table: ColumnSet) -> tuple[str, ...]:
        """Return the names of the columns of a table, which is given by the positions of its columns in `axes`."""
        return tuple(str(self.axes[place].column) for place in table)

    def cells(self, table: ColumnSet) -> TableCells:
        """Return the cells of one table as arrays. The table is given by the positions of its columns in `axes`."""
        if table not in self._cells:
            limit, counted = self.facts.limit, self.statistic.is_count
            remark = None if limit is None else rows_kept(limit)
            words = covers(self.statistic, self.facts)
            low, high = self._ends
            cells = TableCells(
                TableShape.of([self.axes[place] for place in table]),
                self.residuals.table(table).reshape(-1),
                None,
                self.residuals.noise_variance(table),
                "gaussian",
                self.n if limit is None else None,
                self.facts.census,
                counted,
                low=low,
                high=high,
                shown=None if self.shown is None else self.shown.tables[table],
                subject=Subject(
                    self.statistic.name, self.statistic.column, "margins", words, SMALL_COUNT if counted else "", remark
                ),
            )
            self._cells[table] = with_bounded_sampling(cells, self.largest, self.n)
        return self._cells[table]

    @property
    def largest(self) -> float:
        """The most that one unit adds to a cell, which is 1 for counts of rows."""
        most = 1.0 if self.statistic.is_count else max(map(abs, self.statistic.grids[0][1].as_bounds()))
        return most * (max_rows_of(self.facts.limit) or 1)

    @property
    def _ends(self) -> tuple[float, float]:
        """The least and the most that a cell can be."""
        if not self.statistic.is_count and self.statistic.grids[0][1].as_bounds()[0] < 0.0:
            return -math.inf, math.inf
        return 0.0, math.inf if self.n is None else self.n * self.largest

    def tables(self) -> list[tuple[str, ...]]:
        """Return the columns of every table: the grand total, then tables of one column, of two columns, and so on."""
        return [self.columns(table) for table in self.residuals.workload.tables]

    def table(self, *columns: str) -> ProtectedTable:
        """Return the table by the named columns with all its totals, in the form of `Survey.contingency_table`.

        Parameters
        ----------
        *columns : str
            The columns of the table, in any order. If no columns are named, the method returns the grand total.

        Returns
        -------
        ProtectedTable
            The table, which can be written as CSV, HTML and XLSX. The errors and the price of the table are those of
            the whole release of margins.

        Raises
        ------
        ParameterError
            HG160: the margins include no table by these columns.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "old": [0, 0, 1, 1] * 250})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "old": [0, 1]}, order=2, epsilon=1.0)
        >>> margins.table("sex").shape.columns, margins["old", "sex"].shape.columns
        (('sex',), ('sex', 'old'))
        """
        names = [str(axis.column) for axis in self.axes]
        places = tuple(sorted(names.index(column) for column in columns if column in names))
        if len(places) != len(columns) or places not in self.residuals.workload.tables:
            raise ParameterError(
                "HG160",
                rule=f"A table of margins is named by up to {self.residuals.workload.order} of its columns.",
                finding=f"Found {format_argument(columns)}.",
                remedy=f"The columns are: {', '.join(names)}.",
            )
        return self._table(places)

    def levels(self, table: ColumnSet) -> Iterator[tuple[tuple[str, ...], TableCells]]:
        """Yield the columns and cells of one table, then those of its totals over groups of categories."""
        yield self.columns(table), self.cells(table)
        if any(hierarchy.column in self.columns(table) for hierarchy in self.hierarchies):
            for names, cells in self._table(table).margins.items():
                if len(names) == len(table):
                    yield names, cells

    def every_level(self) -> Iterator[tuple[tuple[str, ...], TableCells]]:
        """Yield the columns and cells of every table, each table followed by its totals over groups of categories."""
        for table in self.residuals.workload.tables:
            yield from self.levels(table)

    def _table(self, places: ColumnSet) -> MarginTable:
        """Return the table by these positions of columns."""
        margins = {self.columns(part): self.cells(part) for part in subsets(places) if part != places}
        table = MarginTable(
            residuals=self.residuals,
            places=places,
            largest=self.largest,
            units=self.n,
            table=ConsistentTable(self.cells(places), margins, (), () if self.shown is None else self.shown.notes),
            guarantee="dp",
            option="margins",
            reason=REASON,
            certificate=self.certificate,
            **{name: getattr(self, name) for name in ("source", "relation", "unit", "target", "n", "missing", "where")},
            derived=self.derived,
            date=self.date,
            about=self.about,
            backend=self.backend,
            remarks=(*self.remarks, AGREE) if self.shown is None else self.remarks,
        )
        return table.with_margins([level for level in self.hierarchies if level.column in self.columns(places)])

    def whole_table(self, mechanism: AtomicMechanism) -> MarginTable:
        """Return the only largest table with the record of the whole release, which `mechanism` drew."""
        (places,) = self.residuals.workload.largest
        about: dict[str, Any] = {"mechanism": mechanism, "request": self.request, "noisy": self.noisy}
        return replace(self._table(places), workload={"order": len(places)}, **about)

    def place(self, cell: Mapping[str, object]) -> Place:
        """Return the position of a cell: its table and its categories; error HG137 says that no such cell exists."""
        axes = [
            (str(axis.column), [str(axis.label(level)) for level in range(axis.levels)], axis.names)
            for axis in self.axes
        ]
        place = place_of(cell, axes)
        if place[0] not in self.residuals.workload.tables:
            raise ParameterError(
                "HG137",
                rule=f"A cell of margins names up to {self.residuals.workload.order} columns.",
                finding=f"Found {len(place[0])}.",
                remedy="Release margins of a higher order (the largest number of columns of a table).",
            )
        return place

    def estimates(self, *cells: Mapping[str, Scalar]) -> list[Estimate]:
        """Return named cells of any tables as estimates.

        The errors of the difference and the ratio of two returned estimates include the covariance of the two
        estimates.

        Parameters
        ----------
        *cells : mapping
            The cells, each as {column: category}; ``{}`` is the grand total.

        Returns
        -------
        list of Estimate
            The drawn numbers. The standard errors and the covariances include the noise exactly. The covariance of two
            cells also includes sampling error if the margins have a table by the columns of both cells.

        Raises
        ------
        ParameterError
            HG137: the margins do not include a named cell. HG130: the sampling covariance of two cells is not known,
            because the margins have no table by the columns of both cells.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "old": [0, 0, 1, 1] * 250})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "old": [0, 1]}, order=2, epsilon=1.0)
        >>> men, old_men = margins.estimates({"sex": 0}, {"sex": 0, "old": 1})
        >>> 0.2 < (old_men / men).estimate < 0.8
        True
        """
        places = [self.place(cell) for cell in cells]
        values = joint_values(
            self.residuals, places, n=self.n, census=self.facts.census, limits=self._ends, largest=self.largest
        )
        made = []
        for (columns, levels), value in zip(places, values, strict=True):
            shape = tuple(self.residuals.workload.sizes[place] for place in columns)
            drawn = self.cells(columns).with_shown(None)
            estimate = drawn[int(np.ravel_multi_index(levels, shape)) if columns else 0]
            made.append(replace(estimate, _region=replace(estimate._region, joint=value)))
        return made

    def covariance(self, *cells: Mapping[str, Scalar]) -> Covariances:
        """Return the covariance matrix of cells of any tables, as a sampling part and a noise part; see `estimates`."""
        return covariances(self.estimates(*cells))

    def ask(self, expression: str) -> Estimate:
        """Return the estimate of an expression of several cells, with its error, at no further price.

        Parameters
        ----------
        expression : str
            The expression: terms such as ``count(| sex=0, region=North)`` and ``count()``; numbers; ``+ - * /``;
            brackets; ``log``, ``exp`` and ``sqrt``. For example, the expression ``100 * count(| sex=0, region=North) /
            count(| region=North)`` is a percentage.

        Raises
        ------
        ParameterError
            HG136: the expression cannot be parsed; the message says where. HG137: the margins do not include a named
            cell. HG130: the covariance of two cells is not known; see `estimates`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "old": [0, 0, 1, 1] * 250})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "old": [0, 1]}, order=2, epsilon=1.0)
        >>> margins.ask("100 * count(| sex=0, old=1) / count(| sex=0)").standard_error > 0
        True
        """
        named: list[Mapping[str, str]] = []
        while True:
            # Each cell that an expression names joins the others, so that all are read from one joint law.
            known = dict(zip(map(_text, named), self.estimates(*named), strict=True)) if named else {}
            try:
                return ask(expression, [_Cells(known, self.statistic)])
            except _NotYet as new:
                named.append(new.cell)

    def nonnegative(self) -> Self:
        """Return the margins with non-negative numbers that agree in all tables; see `margins.agreeing_fit`.

        On average, the changed numbers are nearer to the true counts than the noisy numbers, but they are biased: small
        cells are too large. The intervals remain those of the noisy numbers, cut at 0.
        """
        if not self.statistic.is_count and min(self.statistic.grids[0][1].as_bounds()) < 0.0:
            raise ParameterError(
                "HG164",
                rule="Only counts, and totals of values that are not negative, can be made non-negative.",
                finding=f"The bounds of {self.statistic.column} begin below 0.",
                remedy="Leave the noisy numbers of the margins as they are, even if some are negative.",
            )
        return self._nonnegative(_BY_ORDER)

    def _nonnegative(self, held: str | None) -> Self:
        """Return the margins after a step that held this; None is a step of an earlier version, without ``held``."""
        by_order = {_BY_ORDER: True, None: False}[held]
        shown = agreeing(self.residuals, most=self._ends[1], by_order=by_order)
        return self._showing(shown, {"step": "nonnegative"} | ({"held": _BY_ORDER} if by_order else {}))

    def rounded(self) -> Self:
        """Return the margins with numbers rounded to whole numbers.

        If the rounded tables do not agree exactly, a note states how far they differ.
        """
        return self._showing(in_whole_numbers(self.residuals, self.shown), {"step": "rounded"})

    def after(self, steps: Sequence[Mapping[str, Any]]) -> Self:
        """Return the margins after changes such as rounding, given as the field `steps` of a record states them."""
        made = self
        for step in steps:
            match step["step"]:
                case "nonnegative":
                    made = made._nonnegative(step.get("held"))
                case "rounded":
                    made = made.rounded()
                case other:
                    raise ValueError(other)
        return made

    def _showing(self, shown: ShownTables, step: Mapping[str, Any]) -> Self:
        return replace(self, shown=shown, steps=(*self.steps, step))

    def kept_record(self) -> dict[str, Any]:
        """Return the record that a ledger keeps: the request, the noisy numbers and the price."""
        workload = self.residuals.workload
        about = {"order": workload.order, "by": [axis.record() for axis in self.axes]}
        return {"release": self._facts(self.notes, {"margins": REASON}), "margins": about, **self._determining()}

    def _determining(self) -> dict[str, Any]:
        return {
            "request": dict(self.request),
            "noisy": list(self.noisy),
            "steps": list(self.steps),
            "reading": READING,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
        }

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data: the request, every table with its intervals at `level`, and the certificate."""
        level, kept = parse_level(level), self.kept_record()
        tables = []
        for columns, cells in self.every_level():
            read, spread = cells.columns(level), cells.privacy_error
            listed = {name: finite(getattr(read, name)) for name in ("standard_error", "low", "high")}
            shown = {} if cells.shown is None else {"shown": cells.shown.tolist()}
            # Of groups of unequal size the noise differs.
            noise = float(spread[0]) if np.ptp(spread) == 0.0 else spread.tolist()
            named = {"by": list(columns), "noise_sd": noise}
            tables.append({**named, "estimate": cells.values.tolist(), **listed, **shown})
        fit = {} if self.shown is None else self.shown.record()
        return {**kept, "margins": {**kept["margins"], "level": level, **fit, "tables": tables}}

    def to_json(self, level: float = 0.95) -> str:
        """Return the JSON text of `to_dict`."""
        return "".join(self._publication(level=level).json_parts())

    def _publication(self, title: str | None = None, *, level: float = 0.95) -> MarginsPublication:
        """Return what the formats read, with intervals at `level`."""
        return MarginsPublication(self, parse_level(level))

    def to_columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the cells of all tables as columns of equal length.

        In the line of a total, the entries of the columns over which the total is summed are empty ("").
        """
        head, *lines = self.lines(level)
        return {name: list(column) for name, column in zip(head, zip(*lines, strict=True), strict=True)}

    def lines(self, level: float = 0.95) -> Iterator[Sequence[Any]]:
        """Yield the header with the names of the columns, then one line for each cell of each table."""
        names = [*(str(axis.column) for axis in self.axes), *(level.name for level in self.hierarchies)]
        labelled = [str(axis.column) for axis in self.axes if axis.names]
        headings, of_labels = group_headings(names, labelled)
        yield [*headings.values(), *of_labels.values(), "columns", "estimate", *_NUMBERS, "reliable", "level", "letter"]
        for columns, cells in self.every_level():
            read = cells.columns(level)
            numbers: list[Any] = [cells.published.tolist(), *(finite(getattr(read, name)) for name in _NUMBERS)]
            letters = reliability_letters(cells)
            for place, cell in enumerate(cells.shape.cells()):
                labels = cells.shape.names_of(cell) if labelled else {}
                group = [cell.get(name, "") for name in names] + [labels.get(name, "") for name in labelled]
                own = [part[place] for part in numbers]
                tail = [bool(read.reliable[place]), level, str(letters[place])]
                yield [*group, " × ".join(columns), *own, *tail]


@dataclass(frozen=True, slots=True)
class MarginsPublication:
    """Margins as the formats read them, with intervals at one level."""

    margins: Margins
    level: float

    @property
    def kind(self) -> Literal["margins"]:
        """The kind of publication."""
        return "margins"

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per cell of each table."""
        return self.margins.lines(self.level)

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text."""
        yield json.dumps(self.margins.to_dict(self.level), ensure_ascii=False, allow_nan=False) + "\n"

    def printed(self) -> PrintedTable:
        """Return the list of all tables with the noise of their cells, for a paper."""
        made = self.margins
        workload = made.residuals.workload
        rows = tuple(
            (
                " × ".join(made.columns(table)) or "all",
                f"{workload.length(table):,}",
                f"{math.sqrt(made.residuals.noise_variance(table)):.3g}",
            )
            for table in workload.tables
        )
        heads = (tuple(map(Heading, ("Table", "Cells", "Noise, standard deviation"))),)
        return PrintedTable(repr(made)[1:-1], 1, heads, rows, notes=made.notes)


def table_line(columns: Sequence[str], cells: int, noise_sd: float) -> str:
    """Return a line about a table of a workload: its columns, how many cells it has, and the noise of each.

    >>> table_line(["sex", "age"], 12, 7.25)
    'sex × age                                       12 cells, noise ± 7.25'
    """
    return f"{' × '.join(columns) or 'all':<40} {cells:>9,} cells, noise ± {noise_sd:.4g}"


class _NotYet(Exception):  # no error: a cell that the next reading knows
    def __init__(self, cell: Mapping[str, str]) -> None:
        super().__init__()
        self.cell = cell


def _text(cell: Mapping[str, object]) -> str:
    return json.dumps({column: str(category) for column, category in cell.items()}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Cells(Sequence[Estimate]):
    """The cells that an expression has named so far."""

    known: Mapping[str, Estimate]
    statistic: Statistic

    def __getitem__(self, index: Any) -> Any:
        return ()[index]

    def __len__(self) -> int:
        return 0

    @property
    def _own(self) -> Sequence[Estimate]:
        return ()

    def _read(self, name: str, about: Sequence[tuple[str, ...]], cell: Mapping[str, str]) -> Estimate | None:
        """Return the cell of a term; None for another statistic."""
        column = self.statistic.column
        if name != self.statistic.name or list(about) != ([] if column is None else [(column,)]):
            return None
        if _text(cell) not in self.known:
            raise _NotYet(cell)
        return self.known[_text(cell)]


def _size(margins: Margins) -> str:
    whose = "records" if margins.unit == "row" else f"units ({margins.unit.partition(',')[0]})"
    return f"The file has n = {margins.n:,} {whose}: public under replace-one, exact."
