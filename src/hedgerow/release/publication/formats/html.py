"""A table as HTML that fetches and runs nothing: a page of its own, or the table alone to stand in another page.

Every text is escaped by jinja2, after characters that steer a reader were replaced. Headings span what they head, every
number names its headings and has its error bar below it, and on a narrow screen the table scrolls inside its own box
while its row headings stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.printed import json_for_script, number, page_templates, percent
from hedgerow.release.cells.printed_numbers import reliability_letters
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.publication.publication import (
    Layout,
    LayoutEntry,
    Publication,
    arrange,
    check_can_be_shown,
    too_large,
)
from hedgerow.release.publication.write_file import write_lines

SUFFIXES = (".html",)
KINDS = ("table",)
_LENGTH = 100.0
_MOST_WITH_RECORD = 10_000
# What is thinner cannot be seen.
_THINNEST = 1.5


@dataclass(frozen=True, slots=True)
class Bar:
    """One error bar: starts and lengths along the scale, and the interval in words, rounded outwards.

    `inner` is None where the privacy part is as small as the number is exact; `number` is None where it lies outside.
    """

    start: float
    length: float
    inner: tuple[float, float] | None
    number: float | None
    reliable: bool
    words: str


@dataclass(frozen=True, slots=True)
class Bars:
    """The error bars of a layout. Cells share one scale, which holds 0; totals over the same columns share another.

    A scale reaches as far as the intervals of its reliable numbers do; an unreliable one is cut at its ends, since
    it would squeeze the others to nothing.
    """

    number: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    noise: NDArray[Any]
    reliable: NDArray[Any]
    bottom: NDArray[Any]
    top: NDArray[Any]
    level: float
    decimals: int
    printed: Callable[[float], str]

    @classmethod
    def of(cls, publication: Publication, layout: Layout) -> Bars | None:
        """Return the bars of a publication; None where its errors are withheld."""
        if publication.table.interior.withheld:
            return None

        def reliable(cells: TableCells) -> NDArray[np.bool_]:
            return np.asarray(reliability_letters(cells, publication.bands) != publication.bands.last[0])

        def end(place: int) -> Callable[[TableCells], NDArray[Any]]:
            def reach(cells: TableCells) -> NDArray[Any]:
                ends, known = cells.interval(publication.level)[place], reliable(cells)
                known = known if known.any() else ~known
                # A number that was rounded may lie outside its interval.
                reached = np.concatenate([ends[known], cells.published[known]])
                reached = reached[np.isfinite(reached)]
                return np.full(cells.shape.size, reached.max(initial=0.0) if place else reached.min(initial=0.0))

            return reach

        return cls(
            layout.spread(lambda cells: cells.published),
            layout.spread(lambda cells: cells.interval(publication.level)[0]),
            layout.spread(lambda cells: cells.interval(publication.level)[1]),
            layout.spread(lambda cells: np.sqrt(np.broadcast_to(cells.noise_variance, cells.shape.size))),
            layout.spread(reliable),
            layout.spread(end(0)),
            layout.spread(end(1)),
            publication.level,
            publication.decimals,
            publication.formatter(),
        )

    def at(self, row: int, column: int) -> Bar:
        """Return the bar of one printed number."""
        low, high, number = (float(part[row, column]) for part in (self.low, self.high, self.number))
        reach = NormalDist().inv_cdf(0.5 + self.level / 2.0) * float(self.noise[row, column])
        inner = self._along(row, column, max(low, number - reach), min(high, number + reach)) if reach else None
        start, length = self._along(row, column, low, high)
        place = self._place(row, column, number)
        return Bar(
            start,
            length,
            inner,
            None if not 0.0 <= place <= _LENGTH else round(place, 1),
            bool(self.reliable[row, column]),
            f"{percent(self.level, space=' ')} interval: {self._outwards(low, -1)} to {self._outwards(high, 1)}",
        )

    def _place(self, row: int, column: int, value: float) -> float:
        bottom, top = float(self.bottom[row, column]), float(self.top[row, column])
        return _LENGTH * (value - bottom) / (top - bottom) if top > bottom else 0.0

    def _along(self, row: int, column: int, low: float, high: float) -> tuple[float, float]:
        start, stop = (min(max(self._place(row, column, end), 0.0), _LENGTH) for end in (low, max(low, high)))
        missing = max(_THINNEST - (stop - start), 0.0) / 2.0
        start = min(max(start - missing, 0.0), _LENGTH - _THINNEST)
        return round(start, 1), round(max(stop + missing - start, _THINNEST), 1)

    def _outwards(self, value: float, side: int) -> str:
        """Return an end of the interval as it is printed: never inside the true one."""
        if not math.isfinite(value):
            return number(value)
        unit = 10.0**self.decimals
        # A last digit that only the multiplication made moves nothing.
        moved = value * unit - side * 1e-9 * max(1.0, abs(value * unit))
        return self.printed((math.ceil(moved) if side > 0 else math.floor(moved)) / unit)


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
    field: str
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
    priced: bool
    letters: bool
    level: float | None
    hides_errors: bool


def html_page(publication: Publication) -> str:
    """Return a whole page with the table, its caption and footnotes, to be written as UTF-8.

    Raises
    ------
    ParameterError
        HG160 a column across that the table lacks; HG164 more than 100,000 numbers, which no page shows.
    """
    # A reader hides the standard errors by a box above the table.
    page = _page(replace(publication, errors=True), "table", whole=True)
    numbers = sum(len(row.cells) for group in page.groups for row in group.rows)
    # A page of many numbers stands beside its table.json.
    recorded = publication.recorded if numbers <= _MOST_WITH_RECORD else None
    record = "" if recorded is None else json_for_script(recorded.to_dict(publication.level))
    template = page_templates("hedgerow.release.publication").get_template("page.html")
    return str(template.render(page=page, record=record)) + "\n"


def write(publication: Publication, path: str | Path) -> str:
    """Write `html_page` to a path (HG118 where it cannot be written), and return it."""
    page = html_page(publication)
    write_lines(path, [page])
    return page


def why_not(publication: Publication) -> str | None:
    """Return why there is no page: it would show too many numbers."""
    return too_large(publication)


def html_table(publication: Publication, *, name: str = "table") -> str:
    """Return the table alone, a ``figure`` element; `name` stands before every id in it.

    Examples
    --------
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> cells = TableCells.counts(TableShape((TableDimension("sex", ("<f>", "m")),)), [1.0, 2.0], privacy_variance=2.0)
    >>> table = html_table(Publication("People", consistent_table(cells), ""))
    >>> "<bdi>&lt;f&gt;</bdi>" in table, "<f>" in table
    (True, False)
    """
    return str(
        page_templates("hedgerow.release.publication").get_template("table.html").render(page=_page(publication, name))
    )


def _page(publication: Publication, name: str, *, whole: bool = False) -> _Page:
    layout = arrange(publication)
    check_can_be_shown(layout)
    return _Page(
        name,
        publication.title,
        publication.unit,
        tuple(_head(publication, layout, name)),
        tuple(_groups(publication, layout, name)),
        publication.footnotes(),
        publication.guarantee_name == "dp",
        publication.has_letters,
        None if publication.table.interior.withheld else publication.level,
        whole and publication.has_errors,
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


def _row_heads(layout: Layout, name: str, row: int, head: Sequence[LayoutEntry]) -> Iterator[_Heading]:
    """Yield the headings that start in a row, each over all rows inside it."""
    for depth, entry in enumerate(head):
        inside = math.prod(len(layout.entries[column]) for column in layout.down[depth + 1 :])
        if row % inside == 0:
            # The innermost heading stays in sight where the table scrolls sideways.
            inner = depth == len(head) - 1
            scope, kind = ("row", f"{_kind(entry)} stay".strip()) if inner else ("rowgroup", _kind(entry))
            yield _Heading(f"{name}-r{depth}-{row // inside}", entry.label, scope, 1, inside, kind)


def _cells(publication: Publication, layout: Layout, name: str) -> Iterator[tuple[_Cell, ...]]:
    printed, errors = publication.formatter(), publication.printed_errors(layout)
    values, bars = layout.spread(lambda cells: cells.published), Bars.of(publication, layout)
    fields = layout.spread(lambda cells: _fields(publication, cells))
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
                    str(fields[row, column]),
                    "" if hidden else printed(float(values[row, column])),
                    errors[row][column] if errors is not None and not hidden else "",
                    letter,
                    meanings.get(letter, ""),
                    " ".join(kinds),
                    f"{beside} {above[column]}".strip() if several else "",
                    None if bars is None or hidden else bars.at(row, column),
                )
            )
        yield tuple(line)


def _fields(publication: Publication, cells: TableCells) -> NDArray[Any]:
    """Return the path on record of each number of the cells, or of the totals."""
    totals = list(publication.table.margins.values())
    margin = next((at for at, total in enumerate(totals) if total is cells), None)
    place = publication.field_of_cells if margin is None else f"table.margins.{margin}.estimates"
    return np.array([f"{place}.{at}" for at in range(cells.shape.size)], dtype=object)


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


def _kind(entry: LayoutEntry) -> str:
    return "" if entry.kind == "category" else entry.kind
