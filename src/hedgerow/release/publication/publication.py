"""A table as it is published: with its title, its guarantee and the choices of how it looks. Pure data.

Every format reads this and nothing else, so that all of them show the same numbers, footnotes and letters.

`arrange` says where each number is printed: which columns go across and which go down, with their totals in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, repeat
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import group_headings, number
from hedgerow.inference.interval import parse_level
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.printed_numbers import (
    STATISTICS_CANADA,
    ReliabilityBands,
    coefficient_of_variation,
    reliability_letters,
    sampling_is_hidden,
)
from hedgerow.release.cells.shape import TableDimension
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.printed_table import Heading, PrintedTable

_NUMBERS = ("standard_error", "sampling_error", "bootstrap_error", "privacy_error", "low", "high")
_RAW_COUNTS = (
    "Counts carry noise that protects the people in them, so they can be negative or fractional; they were left so, "
    "since cut or rounded numbers would no longer add up without bias."
)
_RAW_TOTALS = (
    "Totals carry noise that protects the people in them, so one can lie below what is possible; they were left so, "
    "since cut numbers would no longer add up without bias."
)
_HIDDEN = (
    "* The noise hides the sampling error: this standard error holds privacy noise alone. Intervals and letters allow "
    "for both."
)
_CV = "CV: half of the 95 % interval over 1.96, divided by the estimate."
_BELOW = "A number below zero comes from the noise that protects the people in it."


class HasRecord(Protocol):
    """What has a record: as plain JSON data, and as its text in parts."""

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return plain JSON data, with intervals at `level`."""
        ...

    def json_parts(self, level: float) -> Iterator[str]:
        """Yield the parts of the JSON text."""
        ...


@dataclass(frozen=True, slots=True)
class Publication:
    """A table as it is to be published.

    Attributes
    ----------
    title : str
        What is counted or added up, of whom, when: the caption.
    table : ConsistentTable
        Its `margins` are printed where it has them.
    guarantee : str
        Who is protected how, and what it cost, in a line: a footnote of every format.
    unit : str
        Of the numbers: ``"persons"``, ``"kg"``.
    across : tuple of str or None
        The columns whose categories stand side by side; None: the last one of two or more. The others go down, the
        first outermost.
    errors : bool
        Print standard errors too.
    letters : bool
        Print reliability letters; never where the errors are withheld.
    hide_unreliable : bool
        Print the last letter alone, in place of the number that it marks.
    bands : ReliabilityBands
    level : float
        Of the intervals, where a format has them.
    notes : tuple of str
        Further footnotes, after those that the table itself has.
    measure : str
        What stands above a single column of numbers without a unit: ``"count"`` or ``"total"``.
    guarantee_name : str
        The guarantee in a word, for a column of a data file and below a picture.
    recorded : HasRecord or None
        What the table's record is read from, where it has one.
    field_of_cells : str
        The field of the record that holds the cells.
    """

    title: str
    table: ConsistentTable
    guarantee: str
    unit: str = ""
    across: tuple[str, ...] | None = None
    errors: bool = False
    letters: bool = True
    hide_unreliable: bool = False
    bands: ReliabilityBands = STATISTICS_CANADA
    level: float = 0.95
    notes: tuple[str, ...] = ()
    measure: str = ""
    guarantee_name: str = ""
    recorded: HasRecord | None = None
    field_of_cells: str = "estimates"

    def __post_init__(self) -> None:
        parse_level(self.level)

    @property
    def kind(self) -> Literal["table"]:
        """The kind of publication: a release or a table."""
        return "table"

    def json_parts(self) -> Iterator[str]:
        """Yield the parts of the table's JSON text."""
        if self.recorded is None:
            raise TypeError("this publication has no record")
        return self.recorded.json_parts(self.level)

    def printed(self) -> PrintedTable:
        """Return the table for a paper, with standard errors."""
        return printed_cells(replace(self, errors=True))

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per cell or total with its errors, interval and letter.

        Every column of groups, ``summed_over``, the estimate and its errors. Cells first, then the totals; a
        total has nothing in the columns that it adds over, which ``summed_over`` lists, and the group's name in the
        column of a hierarchy. Columns of errors are absent where the errors are withheld; the last column names the
        guarantee, where the publication does.
        """
        columns = self.table.interior.shape.columns
        labelled = [axis.column for axis in self.table.interior.shape.axes if axis.names]
        headings, of_labels = group_headings(columns, labelled)
        head = [*headings.values(), *of_labels.values(), "summed_over", "estimate"]
        errors = () if self.table.interior.withheld else (*_NUMBERS, "reliable", "level", "letter")
        yield [*head, *errors, *(("guarantee",) if self.guarantee_name else ())]
        for columns_kept, cells in {columns: self.table.interior, **self.table.margins}.items():
            yield from self._lines_of(columns_kept, cells)

    def _lines_of(self, columns_kept: tuple[str, ...], cells: TableCells) -> Iterator[tuple[Any, ...]]:
        columns = self.table.interior.shape.columns
        holders = {hierarchy.name: hierarchy.column for hierarchy in self.table.hierarchies}
        axis_of = {holders.get(level, level): axis for axis, level in enumerate(columns_kept)}
        axes, named_axes = cells.shape.axes, [axis.column for axis in self.table.interior.shape.axes if axis.names]
        levels = np.unravel_index(np.arange(cells.shape.size), cells.shape.shape) if columns_kept else ()

        def listed(column: str, names: Callable[[TableDimension], Sequence[Any]]) -> Iterable[Any]:
            if column not in axis_of:
                return repeat("")
            labels = names(axes[axis_of[column]])
            return [labels[at] for at in levels[axis_of[column]].tolist()]

        groups = [listed(column, lambda axis: axis.labels) for column in columns]
        groups += [listed(column, lambda axis: axis.heads) for column in named_axes]
        summed = " × ".join(column for column in columns if column not in axis_of)
        named = [repeat(self.guarantee_name)] if self.guarantee_name else []
        return zip(*groups, repeat(summed), cells.published.tolist(), *self._errors_of(cells), *named, strict=False)

    def _errors_of(self, cells: TableCells) -> list[Any]:
        if cells.withheld:
            return []
        numbers, letters = cells.columns(self.level), reliability_letters(cells, self.bands)
        columns: list[Any] = [getattr(numbers, name).tolist() for name in _NUMBERS]
        return [*columns, [str(flag) for flag in numbers.reliable.tolist()], repeat(self.level), letters.tolist()]

    @property
    def heading(self) -> str:
        """What stands above a single column of numbers."""
        return self.unit or self.measure or ("count" if self.table.interior.counted else "total")

    @property
    def has_letters(self) -> bool:
        """Whether letters are printed."""
        return self.letters and not self.table.interior.withheld

    @property
    def has_errors(self) -> bool:
        """Whether standard errors are printed."""
        return self.errors and not self.table.interior.withheld

    def formatter(self) -> Callable[[float], str]:
        """Return how numbers are printed: thousands apart, a minus sign, the same decimals in the whole table.

        No decimals where all numbers are whole; else as many as show one digit of the least standard error, six at
        most.

        >>> from hedgerow.release.cells.shape import TableShape
        >>> cells = TableCells.counts(TableShape(()), [1234.25], privacy_variance=0.02, census=True)
        >>> Publication("All", ConsistentTable(cells), "").formatter()(-1234.25)
        '−1,234.2'
        """
        return _with_decimals(self.decimals)

    def printed_errors(self, layout: Layout, *, most_rows: int | None = None) -> list[list[str]] | None:
        """Return standard errors as they are printed, with two digits of the least; None where none are printed.

        One that holds privacy noise alone, since that hides the sampling error, has a star.
        """
        if not self.has_errors:
            return None
        errors, hidden = layout.spread(lambda cells: cells.standard_error), layout.spread(sampling_is_hidden)
        printed = _with_decimals(self.error_decimals)
        return [
            [printed(float(error)) + "*" * bool(alone) for error, alone in zip(*row, strict=True)]
            for row in zip(errors[:most_rows], hidden[:most_rows], strict=True)
        ]

    @property
    def decimals(self) -> int:
        """How many decimals a number is printed with."""
        return 0 if _whole(self.table.interior.published) else self._decimals(1)

    @property
    def error_decimals(self) -> int:
        """How many decimals a standard error is printed with."""
        return self._decimals(2)

    def _decimals(self, digits: int) -> int:
        if self.table.interior.withheld:
            return 2
        errors = self.table.interior.standard_error
        least = float(errors[errors > 0.0].min(initial=math.inf))
        return min(6, max(0, digits - 1 - math.floor(math.log10(least)))) if math.isfinite(least) else 2

    def footnotes(self, errors: str = "after ±") -> tuple[str, ...]:
        """Return every footnote, the guarantee last; `errors` says where standard errors stand."""
        notes = [*self.table.notes]
        if self.table.interior.shown is not None:
            notes += (
                [_BELOW] if (self.table.interior.published < np.minimum(self.table.interior.low, 0.0)).any() else []
            )
        elif _strange(self.table.interior):
            notes.append(_RAW_COUNTS if self.table.interior.counted else _RAW_TOTALS)
        if not _whole(self.table.interior.published):
            notes.append("Each number is rounded for print by itself, so printed numbers may not quite add up.")
        if self.has_errors:
            notes.append(f"Standard errors, {errors}, hold sampling and privacy noise together.")
            notes += [_HIDDEN] if any(sampling_is_hidden(cells).any() for cells in self._tables()) else []
        if self.has_letters:
            notes.append(f"Reliability: {self.bands.legend()}. {_CV}")
            notes += [self._said_of_last()] if self._last_letter_occurs() else []
        return tuple(dict.fromkeys(note for note in (*notes, *self.notes, self.guarantee) if note))

    def _said_of_last(self) -> str:
        last = self.bands.last[0]
        if self.hide_unreliable:
            return f"{last} stands in place of its number."
        return f"A number marked {last} is printed because it was released; do not use it by itself."

    def _last_letter_occurs(self) -> bool:
        limit = self.bands.bands[-1][1]
        return any(bool((coefficient_of_variation(cells) >= limit).any()) for cells in self._tables())

    def _tables(self) -> tuple[TableCells, ...]:
        return self.table.interior, *self.table.margins.values()


def _strange(cells: TableCells) -> bool:
    """Return whether a printed number is one that no table of the records themselves could hold."""
    numbers = cells.published
    below = bool((numbers < cells.low).any() or (numbers > cells.high).any())
    return below or (cells.counted and not _whole(numbers))


def _with_decimals(decimals: int) -> Callable[[float], str]:
    def printed(value: float) -> str:
        text = number(value, decimals)
        return text if text.strip("−0.,") else text.lstrip("−")

    return printed


def _whole(numbers: NDArray[np.float64]) -> bool:
    return bool(np.array_equal(numbers, np.rint(numbers)))


TOTAL = "Total"
MOST_SHOWN = 100_000


@dataclass(frozen=True, slots=True)
class LayoutEntry:
    """One line of an axis: a category, one that stands under its group, the subtotal of a group, or the total.

    ``level`` is the column, the hierarchy's name, or None; ``place`` counts within it; ``kind`` is ``"category"``,
    ``"member"``, ``"group"`` or ``"total"``.
    """

    level: str | None
    place: int
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class Span:
    """A heading and over how many lines it reaches."""

    entry: LayoutEntry
    length: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A table on paper: `down` and `across` name the columns, outermost first, `entries` the lines of each.

    Rows are the product of the entries of the columns that go down, the last one fastest; likewise across.
    """

    table: ConsistentTable
    down: tuple[str, ...]
    across: tuple[str, ...]
    entries: dict[str, tuple[LayoutEntry, ...]]

    @property
    def rows(self) -> int:
        """How many lines of numbers there are."""
        return math.prod(len(self.entries[column]) for column in self.down)

    @property
    def columns(self) -> int:
        """How many numbers a line has."""
        return math.prod(len(self.entries[column]) for column in self.across)

    def heads(self, columns: Sequence[str]) -> Iterator[tuple[LayoutEntry, ...]]:
        """Yield what stands beside each row, or above each column: one entry for each of the columns."""
        return product(*(self.entries[column] for column in columns))

    def spans(self, columns: Sequence[str], depth: int) -> list[Span]:
        """Return the headings at one depth, in order: each reaches over all that is inside it."""
        inside = math.prod(len(self.entries[column]) for column in columns[depth + 1 :])
        outside = math.prod(len(self.entries[column]) for column in columns[:depth])
        return [Span(entry, inside) for entry in self.entries[columns[depth]]] * outside

    def is_total(self, head: Sequence[LayoutEntry]) -> bool:
        """Return whether a row or column adds over something."""
        return any(entry.kind in ("group", "total") for entry in head)

    def spread(self, read: Callable[[TableCells], NDArray[Any]]) -> NDArray[Any]:
        """Return what is read of the cells and of every margin as one array (rows, columns), each in its place.

        Parameters
        ----------
        read : callable
            From `TableCells` to one number or text a cell.
        """
        order = self.table.interior.shape.columns
        listed = [self.entries[column] for column in order]
        whole: NDArray[Any] | None = None
        for levels in product(*(dict.fromkeys(entry.level for entry in entries) for entries in listed)):
            shown = [level for level in levels if level is not None]
            cells = self.table.margin(shown)
            part = np.asarray(read(cells))
            where = [
                [at for at, entry in enumerate(entries) if entry.level == level]
                for entries, level in zip(listed, levels, strict=True)
            ]
            picked = [[entries[at].place for at in places] for entries, places in zip(listed, where, strict=True)]
            lengths = [1 if level is None else max(places) + 1 for level, places in zip(levels, picked, strict=True)]
            if whole is None:
                whole = np.empty([len(entries) for entries in listed], dtype=part.dtype)
            whole[np.ix_(*where)] = part.reshape(lengths)[np.ix_(*picked)]
        if whole is None:
            raise TypeError("a table has a cell")
        turned = whole.transpose([order.index(column) for column in (*self.down, *self.across)])
        return turned.reshape(self.rows, self.columns)


def arrange(publication: Publication) -> Layout:
    """Return the layout of a publication: its `across` columns side by side, the others down, totals last.

    With one hierarchy on a column each group's subtotal stands before its categories; the groups of further ones stand
    after all categories, before the total.

    Raises
    ------
    ParameterError
        HG160 where a column that should go across is none of the table's.

    Examples
    --------
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableShape
    >>> shape = TableShape((TableDimension("sex", ("f", "m")), TableDimension("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [1.0, 2.0, 3.0, 4.0], privacy_variance=2.0)
    >>> layout = arrange(Publication("People", consistent_table(cells), ""))
    >>> layout.down, layout.across, layout.spread(lambda cells: cells.published).tolist()
    (('sex',), ('region',), [[1.0, 2.0, 3.0], [3.0, 4.0, 7.0], [4.0, 6.0, 10.0]])
    """
    table = publication.table
    columns = table.interior.shape.columns
    usual = columns[-1:] if len(columns) > 1 else ()
    wanted = usual if publication.across is None else publication.across
    if len(set(wanted)) < len(wanted) or not set(wanted) <= set(columns):
        raise ParameterError(
            "HG160",
            rule="The columns whose categories head the columns of the page must be columns of the table, each named "
            "once.",
            finding=f"Found {', '.join(wanted)}.",
            remedy="The columns are: " + ", ".join(columns) + ".",
        )
    entries = {axis.column: _entries(table, axis) for axis in table.interior.shape.axes}
    return Layout(table, tuple(column for column in columns if column not in wanted), tuple(wanted), entries)


def too_large(publication: Publication) -> str | None:
    """Return why no page or workbook shows the whole table, in a few words; None where it has at most 100,000 numbers.

    Totals are among them.
    """
    layout = arrange(publication)
    if layout.rows * layout.columns <= MOST_SHOWN:
        return None
    return f"a page or a workbook shows at most {MOST_SHOWN:,} numbers, totals included"


def check_can_be_shown(layout: Layout) -> None:
    """Refuse a table that no page or spreadsheet shows as a whole (HG164)."""
    numbers = layout.rows * layout.columns
    if numbers > MOST_SHOWN:
        raise ParameterError(
            "HG164",
            rule=f"A page or a spreadsheet shows at most {MOST_SHOWN:,} numbers.",
            finding=f"This table has {numbers:,}, totals included.",
            remedy="Write the table as CSV, which has no such limit.",
        )


def _entries(table: ConsistentTable, axis: TableDimension) -> tuple[LayoutEntry, ...]:
    categories = [LayoutEntry(axis.column, place, label, "category") for place, label in enumerate(axis.heads)]
    if not table.margins:
        return tuple(categories)
    mine = [hierarchy for hierarchy in table.hierarchies if hierarchy.column == axis.column]
    listed: list[LayoutEntry] = categories
    if mine:
        first = mine[0]
        codes = first.codes(axis)
        listed = []
        for place, label in enumerate(first.axis.labels):
            listed.append(LayoutEntry(first.name, place, str(label), "group"))
            listed += [replace(category, kind="member") for category in categories if codes[category.place] == place]
    for further in mine[1:]:
        listed = [
            *listed,
            *(LayoutEntry(further.name, at, str(label), "group") for at, label in enumerate(further.axis.labels)),
        ]
    return (*listed, LayoutEntry(None, 0, TOTAL, "total"))


def printed_cells(publication: Publication) -> PrintedTable:
    """Return a table of counts or totals as it is published, standard errors in brackets where it has some.

    Raises
    ------
    ParameterError
        HG160 a column across that the table lacks; HG164 more than 100,000 numbers.

    Examples
    --------
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> shape = TableShape((TableDimension("sex", ("f", "m")), TableDimension("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [140.0, 2500.0, 130.0, 4400.0], privacy_variance=2.0)
    >>> printed = printed_cells(Publication("People", consistent_table(cells), "", errors=True))
    >>> printed.heads[-1][1].text, printed.rows[0], sorted(printed.rules)
    ('north', ('f', '140 (12) B', '2,500 (50) A', '2,640 (51) A'), [2])
    """
    layout = arrange(publication)
    check_can_be_shown(layout)
    values = layout.spread(lambda cells: cells.published)
    errors = publication.printed_errors(layout)
    letters: NDArray[Any] | None = None
    if publication.has_letters:
        letters = layout.spread(lambda cells: reliability_letters(cells, publication.bands))
    shown, last = publication.formatter(), publication.bands.last[0]

    def cell(row: int, column: int) -> str:
        letter = "" if letters is None else str(letters[row, column])
        if publication.hide_unreliable and letter == last:
            return letter
        error = "" if errors is None else f"({errors[row][column]})"
        return " ".join(text for text in (shown(float(values[row, column])), error, letter) if text)

    rows, rules, before = [], set[int](), tuple[LayoutEntry, ...]()
    for row, head in enumerate(layout.heads(layout.down)):
        again = next((depth for depth in range(len(head)) if head[: depth + 1] != before[: depth + 1]), 0)
        labels = [_label(entry) if depth >= again else "" for depth, entry in enumerate(head)]
        if row and head and head[0].kind == "total" and not (before and before[0].kind == "total"):
            rules.add(row)
        rows.append((*(labels or [""]), *(cell(row, column) for column in range(layout.columns))))
        before = head
    left = max(1, len(layout.down))
    beside = [Heading(column) for column in layout.down] or [Heading("")]
    heads: list[tuple[Heading, ...]] = []
    for depth, column in enumerate(layout.across):
        heads.append((Heading("", left), Heading(column, layout.columns)))
        spans = [Heading(span.entry.label, span.length) for span in layout.spans(layout.across, depth)]
        innermost = depth == len(layout.across) - 1
        heads.append((*(beside if innermost else [Heading("", left)]), *spans))
    heads = heads or [(*beside, Heading(publication.heading))]
    unit = f" ({publication.unit})" if publication.unit else ""
    notes = publication.footnotes("in brackets")
    return PrintedTable(publication.title + unit, left, tuple(heads), tuple(rows), frozenset(rules), notes)


def _label(entry: LayoutEntry) -> str:
    return f"\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}{entry.label}" if entry.kind == "member" else entry.label
