"""A table as HTML that fetches and runs nothing: a page of its own, or the table alone to stand in another page.

Every text is escaped by jinja2, after characters that steer a reader were replaced. Headings span what they head, every
number names its headings and has its error bar below it, and on a narrow screen the table scrolls inside its own box
while its row headings stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from hedgerow.facts.printed import printable
from hedgerow.release.result.write_file import write_lines
from hedgerow.tables.cells.letters import reliability_letters
from hedgerow.tables.publication.bars import Bar, Bars
from hedgerow.tables.publication.layout import Entry, Layout, arrange, check_can_be_shown
from hedgerow.tables.publication.publication import Publication

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class _Heading:
    name: str
    label: str
    scope: str
    across: int = 1
    down: int = 1
    kind: str = ""


@dataclass(frozen=True, slots=True)
class _Cell:
    number: str
    error: str
    letter: str
    meaning: str
    kind: str
    headers: str
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class _Row:
    heads: tuple[_Heading, ...]
    cells: tuple[_Cell, ...]
    total: bool


@dataclass(frozen=True, slots=True)
class _Group:
    rows: tuple[_Row, ...]
    total: bool


@dataclass(frozen=True, slots=True)
class _Page:
    name: str
    title: str
    unit: str
    head: tuple[tuple[_Heading, ...], ...]
    groups: tuple[_Group, ...]
    notes: tuple[str, ...]
    letters: bool
    level: float | None


def html_page(publication: Publication) -> str:
    """Return a whole page with the table, its caption and footnotes, to be written as UTF-8.

    Raises
    ------
    ParameterError
        HG160 a column across that the table lacks; HG164 more than 100,000 numbers, which no page shows.
    """
    return str(_environment().get_template("page.html").render(page=_page(publication, "table"))) + "\n"


def write_html(publication: Publication, path: str | Path | None = None) -> str:
    """Return `html_page`, and write it to `path` where one is given (HG118 where it cannot be written)."""
    page = html_page(publication)
    if path is not None:
        write_lines(path, [page])
    return page


def html_table(publication: Publication, *, name: str = "table") -> str:
    """Return the table alone, a ``figure`` element; `name` stands before every id in it.

    Examples
    --------
    >>> from hedgerow.tables.cells.cells import TableCells
    >>> from hedgerow.tables.totals.margins import consistent_table
    >>> from hedgerow.tables.cells.shape import Axis, TableShape
    >>> cells = TableCells.counts(TableShape((Axis("sex", ("<f>", "m")),)), [1.0, 2.0], privacy_variance=2.0)
    >>> table = html_table(Publication("People", consistent_table(cells), ""))
    >>> "<bdi>&lt;f&gt;</bdi>" in table, "<f>" in table
    (True, False)
    """
    return str(_environment().get_template("table.html").render(page=_page(publication, name)))


def _page(publication: Publication, name: str) -> _Page:
    layout = arrange(publication)
    check_can_be_shown(layout)
    return _Page(
        name,
        publication.title,
        publication.unit,
        tuple(_head(publication, layout, name)),
        tuple(_groups(publication, layout, name)),
        publication.footnotes(),
        publication.has_letters,
        None if publication.table.interior.withheld else publication.level,
    )


def _head(publication: Publication, layout: Layout, name: str) -> Iterator[tuple[_Heading, ...]]:
    """Yield the rows above the numbers: the columns' names, then the headings of each depth."""
    deep = len(layout.across) + 1
    corners = [
        _Heading(f"{name}-r{depth}", column, "col", 1, deep, "corner" + " stay" * (depth == len(layout.down) - 1))
        for depth, column in enumerate(layout.down)
    ]
    if not layout.across:
        yield (*corners, _Heading(f"{name}-c", publication.heading, "col"))
        return
    yield (*corners, _Heading(f"{name}-c", " / ".join(layout.across), "colgroup", layout.columns, 1, "axis"))
    for depth in range(len(layout.across)):
        last = depth == len(layout.across) - 1
        yield tuple(
            _Heading(
                f"{name}-c{depth}-{place}",
                span.entry.label,
                "col" if last else "colgroup",
                span.length,
                1,
                _kind(span.entry) or ("" if last else "span"),
            )
            for place, span in enumerate(layout.spans(layout.across, depth))
        )


def _groups(publication: Publication, layout: Layout, name: str) -> Iterator[_Group]:
    """Yield the bodies of the table: one for each outermost row heading, where rows have several."""
    cells = _cells(publication, layout, name)
    heads = list(layout.heads(layout.down))
    inside = (
        math.prod(len(layout.entries[column]) for column in layout.down[1:]) if len(layout.down) > 1 else layout.rows
    )
    for start in range(0, layout.rows, inside):
        rows = tuple(
            _Row(
                tuple(_row_heads(layout, name, place, heads[place])),
                next(cells),
                any(entry.kind == "total" for entry in heads[place]),
            )
            for place in range(start, start + inside)
        )
        yield _Group(rows, len(layout.down) > 1 and heads[start][0].kind == "total")


def _row_heads(layout: Layout, name: str, row: int, head: Sequence[Entry]) -> Iterator[_Heading]:
    """Yield the headings that start in a row, each over all rows inside it."""
    for depth, entry in enumerate(head):
        inside = math.prod(len(layout.entries[column]) for column in layout.down[depth + 1 :])
        if row % inside == 0:
            # The innermost heading stays in sight where the table scrolls sideways.
            inner = depth == len(head) - 1
            scope, kind = ("row", f"{_kind(entry)} stay".strip()) if inner else ("rowgroup", _kind(entry))
            yield _Heading(f"{name}-r{depth}-{row // inside}", entry.label, scope, 1, inside, kind)


def _cells(publication: Publication, layout: Layout, name: str) -> Iterator[tuple[_Cell, ...]]:
    printed, printed_error = publication.formatter(), publication.error_formatter()
    values, bars = layout.spread(lambda cells: cells.published), Bars.of(publication, layout)
    errors = layout.spread(lambda cells: cells.standard_error) if publication.has_errors else None
    letters: NDArray[Any] | None = None
    if publication.has_letters:
        letters = layout.spread(lambda cells: reliability_letters(cells, publication.bands))
    meanings = {letter: meaning for letter, _, meaning in publication.bands.bands} | dict([publication.bands.last])
    several = len(layout.down) > 1 or len(layout.across) > 1
    above = _named_above(layout, name)
    across = [any(entry.kind == "total" for entry in head) for head in layout.heads(layout.across)]
    for row in range(layout.rows):
        beside = _named_beside(layout, name, row) if several else ""
        line = []
        for column in range(layout.columns):
            letter = str(letters[row, column]) if letters is not None else ""
            unsure = letter == publication.bands.last[0]
            hidden = unsure and publication.hide_unreliable
            kinds = ["total"] * across[column] + ["unreliable"] * unsure
            line.append(
                _Cell(
                    "" if hidden else printed(float(values[row, column])),
                    printed_error(float(errors[row, column])) if errors is not None and not hidden else "",
                    letter,
                    meanings.get(letter, ""),
                    " ".join(kinds),
                    f"{beside} {above[column]}".strip() if several else "",
                    None if bars is None or hidden else bars.at(row, column),
                )
            )
        yield tuple(line)


def _named_above(layout: Layout, name: str) -> list[str]:
    sizes = [
        math.prod(len(layout.entries[column]) for column in layout.across[depth + 1 :])
        for depth in range(len(layout.across))
    ]
    return [
        " ".join(f"{name}-c{depth}-{column // inside}" for depth, inside in enumerate(sizes)) or f"{name}-c"
        for column in range(layout.columns)
    ]


def _named_beside(layout: Layout, name: str, row: int) -> str:
    sizes = (
        math.prod(len(layout.entries[column]) for column in layout.down[depth + 1 :])
        for depth in range(len(layout.down))
    )
    return " ".join(f"{name}-r{depth}-{row // inside}" for depth, inside in enumerate(sizes))


def _kind(entry: Entry) -> str:
    return "" if entry.kind == "category" else entry.kind


def _shown(value: Any) -> Any:
    # Markup is a str too, and already what it should be.
    return printable(value) if type(value) is str else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("hedgerow.tables"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
