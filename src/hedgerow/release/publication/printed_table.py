"""A table of texts for a paper: headings, rows, rules and notes, as LaTeX and Markdown write them.

Numbers are rounded to two digits of their standard errors, and these stand in brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.facts.printed import decimals, group_headings, number, percent
from hedgerow.inference.estimate import Estimate

IN_BRACKETS = "Standard errors, in brackets, hold sampling and privacy noise together."


@dataclass(frozen=True, slots=True)
class Heading:
    """A text and over how many columns it stands."""

    text: str
    span: int = 1


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A table as it is printed, all of it texts.

    Attributes
    ----------
    caption : str
    left : int
        How many columns at the left hold texts; the others hold numbers.
    heads : tuple of tuple of Heading
        The lines of headings, outermost first; each spans all columns.
    rows : tuple of tuple of str
    rules : frozenset of int
        The rows before which a rule stands.
    notes : tuple of str
        What stands below the table.
    """

    caption: str
    left: int
    heads: tuple[tuple[Heading, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    rules: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns there are."""
        return sum(heading.span for heading in self.heads[-1])

    @property
    def head_texts(self) -> list[list[str]]:
        """The lines of headings with a text for every column."""
        return [[heading.text for heading in head for _ in range(heading.span)] for head in self.heads]


def figure(value: float | None, error: float | None) -> str:
    """Return a number to two digits of its error.

    >>> figure(46.8449, 0.172), figure(-1234.6, 31.0), figure(None, 1.0)
    ('46.84', '−1,235', '–')
    """
    return number(value, decimals(error))


def in_brackets(error: float | None) -> str:
    """Return a standard error in brackets; an empty text where there is none.

    >>> in_brackets(0.1724), in_brackets(None)
    ('(0.17)', '')
    """
    return "" if error is None else f"({number(error, decimals(error))})"


def printed_estimates(
    estimates: Sequence[Estimate], *, caption: str, notes: Sequence[str], level: float
) -> PrintedTable:
    """Return a line for each estimate: what it is, its cell, its number, standard error and interval."""
    columns = list(dict.fromkeys(column for estimate in estimates for column in estimate.cell))
    headings, _ = group_headings(columns)
    heads = ["Statistic", *headings.values(), "Estimate", "(s.e.)", f"{percent(level)} interval"]
    rows, unsure = [], False
    for estimate in estimates:
        error, interval = estimate.standard_error, estimate.confidence_interval(level)
        places = decimals(error)
        ends = interval if places is None else interval.outward(places)
        cell = [str(estimate.labels.get(column, estimate.cell.get(column, ""))) for column in columns]
        name = (
            estimate.statistic if estimate._is_computed or not estimate.column else estimate.label().partition(" (")[0]
        )
        mark, unsure = ("" if estimate.reliable else "†"), unsure or not estimate.reliable
        numbers = (figure(estimate.estimate, error) + mark, in_brackets(error))
        rows.append((name, *cell, *numbers, f"[{number(ends.low, places)}, {number(ends.high, places)}]"))
    said = (IN_BRACKETS, *(("† Not reliable: the noise hides the number.",) if unsure else ()), *notes)
    return PrintedTable(caption, 1 + len(columns), (tuple(map(Heading, heads)),), tuple(rows), notes=said)


def printed_lines(heads: Sequence[str], lines: Sequence[Sequence[object]], caption: str) -> PrintedTable:
    """Return lines of a data file as they are: of numbers whose errors are withheld."""
    rows = tuple(tuple("" if cell is None else _plain(cell) for cell in line) for line in lines)
    return PrintedTable(caption, len(heads), (tuple(map(Heading, heads)),), rows)


def _plain(cell: object) -> str:
    return number(cell) if isinstance(cell, float) else str(cell)
