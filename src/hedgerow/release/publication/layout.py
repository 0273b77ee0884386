"""Where each number of a table is printed: which columns go across and which go down, with their totals in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.shape import TableDimension
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.publication import Publication

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
            kept = [level for level in levels if level is not None]
            cells = self.table.margin(kept)
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
            rule="The columns that go across are columns of the table, each once.",
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
            remedy="Write it as CSV, which has no such limit.",
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
            listed += [replace(one, kind="member") for one in categories if codes[one.place] == place]
    for further in mine[1:]:
        listed = [
            *listed,
            *(LayoutEntry(further.name, at, str(label), "group") for at, label in enumerate(further.axis.labels)),
        ]
    return (*listed, LayoutEntry(None, 0, TOTAL, "total"))
