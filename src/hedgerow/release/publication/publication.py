"""A table as it is published: with its title, its guarantee and the choices of how it looks. Pure data.

Every format reads this and nothing else, so that all of them show the same numbers, footnotes and letters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.printed import number
from hedgerow.inference.interval import parse_level
from hedgerow.release.cells.margins import ConsistentTable
from hedgerow.release.cells.printed_numbers import (
    STATISTICS_CANADA,
    ReliabilityBands,
    coefficient_of_variation,
    reliability_letters,
)
from hedgerow.release.cells.shape import TableDimension
from hedgerow.release.cells.table_cells import TableCells

_NUMBERS = ("standard_error", "sampling_error", "bootstrap_error", "privacy_error", "low", "high")
_RAW_COUNTS = (
    "Counts carry noise that protects the people in them, so they can be negative or fractional; they were left so, "
    "since cut or rounded numbers would no longer add up without bias."
)
_RAW_TOTALS = (
    "Totals carry noise that protects the people in them, so one can lie below what is possible; they were left so, "
    "since cut numbers would no longer add up without bias."
)
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

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per cell or total with its errors, interval and letter.

        ``by_COLUMN`` for every column, ``summed_over``, the estimate and its errors. Cells first, then the totals; a
        total has nothing in the columns that it adds over, which ``summed_over`` lists, and the group's name in the
        column of a hierarchy. Columns of errors are absent where the errors are withheld; the last column names the
        guarantee, where the publication does.
        """
        columns = self.table.interior.shape.columns
        labelled = [f"label_{axis.column}" for axis in self.table.interior.shape.axes if axis.names]
        head = [*(f"by_{column}" for column in columns), *labelled, "summed_over", "estimate"]
        errors = () if self.table.interior.withheld else (*_NUMBERS, "reliable", "level", "letter")
        yield [*head, *errors, *(("guarantee",) if self.guarantee_name else ())]
        for kept, cells in {columns: self.table.interior, **self.table.margins}.items():
            yield from self._lines_of(kept, cells)

    def _lines_of(self, kept: tuple[str, ...], cells: TableCells) -> Iterator[tuple[Any, ...]]:
        columns = self.table.interior.shape.columns
        holders = {hierarchy.name: hierarchy.column for hierarchy in self.table.hierarchies}
        axis_of = {holders.get(level, level): axis for axis, level in enumerate(kept)}
        axes, named_axes = cells.shape.axes, [axis.column for axis in self.table.interior.shape.axes if axis.names]
        levels = np.unravel_index(np.arange(cells.shape.size), cells.shape.shape) if kept else ()

        def listed(column: str, names: Callable[[TableDimension], Sequence[Any]]) -> Iterable[Any]:
            if column not in axis_of:
                return repeat("")
            found = names(axes[axis_of[column]])
            return [found[at] for at in levels[axis_of[column]].tolist()]

        groups = [listed(column, lambda axis: axis.labels) for column in columns]
        groups += [listed(column, lambda axis: axis.heads) for column in named_axes]
        summed = " × ".join(column for column in columns if column not in axis_of)
        named = [repeat(self.guarantee_name)] if self.guarantee_name else []
        return zip(*groups, repeat(summed), cells.published.tolist(), *self._errors_of(cells), *named, strict=False)

    def _errors_of(self, cells: TableCells) -> list[Any]:
        if cells.withheld:
            return []
        found, letters = cells.columns(self.level), reliability_letters(cells, self.bands)
        columns: list[Any] = [getattr(found, name).tolist() for name in _NUMBERS]
        return [*columns, [str(one) for one in found.reliable.tolist()], repeat(self.level), letters.tolist()]

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

    def error_formatter(self) -> Callable[[float], str]:
        """Return how standard errors are printed: with two digits of the least of them."""
        return _with_decimals(self.error_decimals)

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

    def footnotes(self) -> tuple[str, ...]:
        """Return every footnote, the guarantee last."""
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
            notes.append("Standard errors, after ±, hold sampling and privacy noise together.")
        if self.has_letters:
            notes.append(f"Reliability: {self.bands.legend()}. CV: standard error over estimate, as estimated.")
            notes += [self._said_of_last()] if self._last_letter_occurs() else []
        return tuple(dict.fromkeys(note for note in (*notes, *self.notes, self.guarantee) if note))

    def _said_of_last(self) -> str:
        last = self.bands.last[0]
        if self.hide_unreliable:
            return f"{last} stands in place of its number."
        return f"A number marked {last} is printed because it was released; do not use it by itself."

    def _last_letter_occurs(self) -> bool:
        tables = (self.table.interior, *self.table.margins.values())
        limit = self.bands.bands[-1][1]
        return any(bool((coefficient_of_variation(cells) >= limit).any()) for cells in tables)


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
