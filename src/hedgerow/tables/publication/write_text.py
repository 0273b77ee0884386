"""A table as aligned plain text for a terminal, with spans, totals, letters and footnotes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from hedgerow.facts.printed import printable
from hedgerow.tables.cells.letters import reliability_letters
from hedgerow.tables.publication.layout import Entry, Layout, arrange
from hedgerow.tables.publication.publication import Publication

_WIDTH = 100
_LABEL = 28
_MOST_ACROSS = 40


def text_of(publication: Publication, *, width: int = _WIDTH, most_rows: int = 200) -> str:
    r"""Return the table as text: headings once over what they span, a rule above totals, footnotes below.

    Where the columns that go across do not fit the width, the table is cut into parts that repeat the row headings;
    more than 40 go down instead.

    Parameters
    ----------
    publication : Publication
    width : int
        In characters.
    most_rows : int
        Rows printed; the text says how many there are beyond.

    Examples
    --------
    >>> from hedgerow.tables.cells.cells import TableCells
    >>> from hedgerow.tables.totals.margins import consistent_table
    >>> from hedgerow.tables.cells.shape import Axis, TableShape
    >>> shape = TableShape((Axis("sex", ("f", "m")), Axis("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [140.0, 2500.0, 130.0, 4400.0], privacy_variance=2.0)
    >>> print(text_of(Publication("People", consistent_table(cells), "")).split("Reliability")[0].rstrip())
    People
    <BLANKLINE>
           region
    sex    north    south    Total
    ------------------------------
    f      140 B  2,500 A  2,640 A
    m      130 B  4,400 A  4,530 A
    ------------------------------
    Total  270 B  6,900 A  7,170 A
    """
    layout = arrange(publication)
    if layout.columns > _MOST_ACROSS:
        layout = arrange(replace(publication, across=()))
    numbers = _numbers(publication, layout, most_rows)
    beside = _beside(layout, len(numbers))
    title = printable(publication.title) + (f" ({printable(publication.unit)})" if publication.unit else "")
    lines = [title, ""]
    for start, stop in _parts(beside, numbers, layout, width):
        lines += [*_part(publication, layout, beside, numbers, start, stop), ""]
    if len(numbers) < layout.rows:
        lines += [f"{layout.rows - len(numbers):,} more rows.", ""]
    return "\n".join([*lines, *(_paragraph(note, width) for note in publication.footnotes())])


def _numbers(publication: Publication, layout: Layout, most_rows: int) -> list[list[str]]:
    values = layout.spread(lambda cells: cells.published)[:most_rows]
    errors = layout.spread(lambda cells: cells.standard_error)[:most_rows] if publication.has_errors else None
    letters: NDArray[Any] | None = None
    if publication.has_letters:
        letters = layout.spread(lambda cells: reliability_letters(cells, publication.bands))[:most_rows]
    printed, printed_error, rows = publication.formatter(), publication.error_formatter(), []
    for row in range(len(values)):
        cells = []
        for column in range(layout.columns):
            text = printed(float(values[row, column]))
            text += f" ±{printed_error(float(errors[row, column]))}" if errors is not None else ""
            if letters is not None:
                letter = str(letters[row, column])
                hidden = publication.hide_unreliable and letter == publication.bands.last[0]
                text = letter if hidden else f"{text} {letter}"
            cells.append(text)
        rows.append(cells)
    return rows


def _beside(layout: Layout, rows: int) -> list[list[str]]:
    """Return the row headings, the columns' names first; a heading is written once where it spans rows."""
    listed = [[_cut(column) for column in layout.down] or [""]]
    before: tuple[Any, ...] = ()
    for row, head in zip(range(rows), layout.heads(layout.down), strict=False):
        first = next((depth for depth in range(len(head)) if head[: depth + 1] != before[: depth + 1]), 0)
        listed.append(
            [_cut(_indented(entry)) if depth >= first or row == 0 else "" for depth, entry in enumerate(head)] or [""]
        )
        before = head
    return listed


def _parts(beside: list[list[str]], numbers: list[list[str]], layout: Layout, width: int) -> list[tuple[int, int]]:
    """Return the columns (start, stop) of each part of a table that is cut to fit."""
    left = sum(_widths(beside)) + 2 * len(beside[0])
    widths = [max(wide, 3) + 2 for wide in _column_widths(layout, numbers)]
    parts, start, used = [], 0, left
    for place, wide in enumerate(widths):
        if place > start and used + wide > width:
            parts.append((start, place))
            start, used = place, left
        used += wide
    return [*parts, (start, len(widths))]


def _part(
    publication: Publication, layout: Layout, beside: list[list[str]], numbers: list[list[str]], start: int, stop: int
) -> list[str]:
    widths = _column_widths(layout, numbers)[start:stop]
    lefts = _widths(beside)
    margin = " " * (sum(lefts) + 2 * (len(lefts) - 1))
    heads = list(layout.heads(layout.across))[start:stop]
    lines = []
    for depth, column in enumerate(layout.across):
        lines.append(f"{margin}  {_cut(column)}".rstrip())
        cells, before = [], None
        for head, wide in zip(heads, widths, strict=True):
            again = head[: depth + 1] == before and depth < len(layout.across) - 1
            cells.append("".rjust(wide) if again else _cut(head[depth].label).rjust(wide))
            before = head[: depth + 1]
        lines.append("  ".join([margin, *cells]).rstrip())
    if not layout.across:
        lines = [f"{margin}  {publication.heading.rjust(widths[0])}"]
    if lines:
        names = "  ".join(cell.ljust(wide) for cell, wide in zip(beside[0], lefts, strict=True))
        lines[-1] = (names + lines[-1][len(margin) :]).rstrip()
    rule = "-" * (len(margin) + sum(widths) + 2 * len(widths))
    lines.append(rule)
    totals = _first_total(layout)
    for row, (labels, cells) in enumerate(zip(beside[1:], numbers, strict=True)):
        if row and row == totals:
            lines.append(rule)
        left = [label.ljust(wide) for label, wide in zip(labels, lefts, strict=True)]
        right = [cell.rjust(wide) for cell, wide in zip(cells[start:stop], widths, strict=True)]
        lines.append("  ".join([*left, *right]).rstrip())
    return lines


def _first_total(layout: Layout) -> int | None:
    """Return the row where the totals over the outermost column begin: a category may be called Total as well."""
    heads = enumerate(layout.heads(layout.down))
    return next((row for row, head in heads if head and head[0].kind == "total"), None)


def _column_widths(layout: Layout, numbers: list[list[str]]) -> list[int]:
    heads = [max((len(_cut(entry.label)) for entry in head), default=0) for head in layout.heads(layout.across)]
    return [max([wide, *(len(row[place]) for row in numbers)]) for place, wide in enumerate(heads)]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _indented(entry: Entry) -> str:
    return f"  {entry.label}" if entry.kind == "member" else entry.label


def _cut(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LABEL else shown[: _LABEL - 1] + "…"


def _paragraph(text: str, width: int) -> str:
    # A pair of bounds stays on one line, and a number with its sign: textwrap breaks at plain spaces only.
    held = re.sub(r"\[(\S+), (\S+)\]", "[\\1,\N{NO-BREAK SPACE}\\2]", printable(text))
    held = held.replace(" %", "\N{NO-BREAK SPACE}%")
    filled = textwrap.fill(held, width, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\N{NO-BREAK SPACE}", " ")
