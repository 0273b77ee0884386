"""How a statistic is asked for outside Python: its fields in a facts file, and its option on the command line.

Texts are split from the right, so a column's name may hold colons; where it ends in ``:number``, give the step too. A
value that prints as it was written is read as a whole number or a decimal; any other, such as ``01``, stays text. So a
value that is compared as text (every column of a CSV file) is compared as it was written.

An `ENTRY` in the statistic's own file says both. `hedgerow release --mean age:0:100:1` and ``{ statistic = "mean",
column = "age" }`` end in the same call as ``hg.mean("age", bounds=(0, 100), step=1)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from hedgerow.errors import ParameterError
from hedgerow.facts.column_function import FUNCTIONS
from hedgerow.facts.columns import Grid, Scalar, checked_column
from hedgerow.facts.expression import DerivedColumn
from hedgerow.facts.validation import format_argument
from hedgerow.statistics.statistic import (
    AskedFor,
    NamedGrid,
    NeedsBounds,
    SmoothStatistic,
    Statistic,
    StatisticRequest,
    on_one_grid,
)

Number = int | float
ON_GRID = "COL[:LO:HI[:STEP]]"
Bounds = Mapping[str, tuple[float, ...]] | None
S = TypeVar("S", bound=SmoothStatistic)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a statistic in a facts file.

    Attributes
    ----------
    type : "text", "number", "numbers", "value", "values" or "bounds"
        A value is a text, a number or a boolean; bounds are two numbers, numbers and values lists of any length.
    about : str
        What it means, for the JSON Schema.
    above, below : number or None
        Between which a number lies, the ends excluded.
    """

    type: Literal["text", "number", "numbers", "value", "values", "bounds"]
    about: str
    above: Number | None = None
    below: Number | None = None


COLUMN = Field("text", "Of which column; the numerator of a ratio; none for a count.")
BOUNDS = Field("bounds", "Override those of the column.")
STEP = Field("number", "Overrides that of the column.", above=0)
GRID = {"bounds": BOUNDS, "step": STEP}


@dataclass(frozen=True, slots=True)
class StatisticEntry:
    """How the rest of hedgerow finds a statistic.

    Attributes
    ----------
    ask : callable
        The function that users call; its name is that of the statistic.
    place : int
        Where it stands in lists of statistics.
    needs : mapping of str to Field
        The fields that a facts file must give, arguments by position in this order; `by_name` are given by name.
    takes : mapping of str to Field
        The fields that it may give, arguments by name.
    by_name : tuple of str
        Which of `needs` are given by name.
    in_files : bool
        Whether a facts file and the command line can ask for it; a function of the user's own is for Python alone.
    metavar, about : str
        How its option is written, and what its help says.
    parse : callable
        The text of the option → the statistics that it asks for; None where the option has no value.
    also_called : tuple of str
        Names that other programs give the statistic: who types such a name is told ours.
    variants : mapping of str to (fields, str)
        Further options without a value: by the end of their name the fields that they give, and what their help says.
    """

    ask: Callable[..., AskedFor]
    place: int
    needs: Mapping[str, Field] = field(default_factory=dict)
    takes: Mapping[str, Field] = field(default_factory=dict)
    by_name: tuple[str, ...] = ()
    in_files: bool = True
    metavar: str = ""
    about: str = ""
    parse: Callable[[str], Sequence[StatisticRequest]] | None = None
    also_called: tuple[str, ...] = ()
    variants: Mapping[str, tuple[Mapping[str, Any], str]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The name under which the statistic is printed."""
        return self.ask.__name__

    @property
    def option(self) -> str:
        """Its option on the command line."""
        return "--" + self.kind.replace("_", "-")

    def from_record(self, given: Mapping[str, Any]) -> AskedFor:
        """Return what the fields of a facts file ask for: a statistic, or those that one call asks for together."""
        by_position = [given[name] for name in self.needs if name not in self.by_name]
        named = {name: given[name] for name in (*self.by_name, *self.takes) if name in given}
        return self.ask(*by_position, **named)


def entry_on_grid(
    ask: Callable[..., StatisticRequest], place: int, about: str, also_called: tuple[str, ...] = ()
) -> StatisticEntry:
    """Return the entry of a statistic of one column between bounds."""

    def parse(text: str) -> list[StatisticRequest]:
        column, bounds, step = parse_on_grid(entry.option, text)
        return [ask(column, bounds=bounds, step=step)]

    entry = StatisticEntry(
        ask, place, {"column": COLUMN}, GRID, metavar=ON_GRID, about=about, parse=parse, also_called=also_called
    )
    return entry


def parse_on_grid(option: str, text: str) -> tuple[str, tuple[Number, Number] | None, Number | None]:
    """Return (column, bounds, step) of ``COL:LO:HI[:STEP]``; bounds are None where a column stands alone.

    Raises
    ------
    ParameterError
        HG116: neither three nor four parts, or ends that are no numbers. `hedgerow.mean` checks the bounds themselves.

    Examples
    --------
    >>> parse_on_grid("--mean", "age:0:100:1")
    ('age', (0, 100), 1)
    >>> parse_on_grid("--mean", "time:utc:0:24:0.5")
    ('time:utc', (0, 24), 0.5)
    >>> parse_on_grid("--mean", "age")
    ('age', None, None)
    """
    parts = text.split(":")
    if len(parts) == 1 and text:
        return written_column(text), None, None
    numbers: list[Number] = []
    while len(parts) > 1 and len(numbers) < 3 and (number := parse_number(parts[-1])) is not None:
        numbers.insert(0, number)
        parts.pop()
    column = written_column(":".join(parts))
    if len(numbers) < 2 or not column:
        raise unwritten(
            option, "COL:LO:HI or COL:LO:HI:STEP, with numbers for LO, HI and STEP", text, f"{option} age:0:100:1"
        )
    return column, (numbers[0], numbers[1]), numbers[2] if len(numbers) == 3 else None


def written_column(text: str) -> str:
    """Return a column as the command line writes it: an expression in round brackets is a column that is computed.

    >>> written_column("(income / household)").expression  # doctest: +NORMALIZE_WHITESPACE
    Operation(operator='/', left='income', right='household')
    >>> written_column("income (net)")
    'income (net)'
    """
    computed = any(sign in text for sign in "+-*/") or re.match(rf"\(({'|'.join(FUNCTIONS)})\(", text)
    bracketed = text.startswith("(") and text.endswith(")") and computed
    return DerivedColumn.named(text[1:-1].strip(), text[1:-1]) if bracketed else text


def parse_value(text: str) -> Scalar:
    """Return a declared value: a whole number or a decimal where it prints as it was written, else text.

    >>> parse_value("1"), parse_value("2.5"), parse_value("01"), parse_value("2.50"), parse_value(" north ")
    (1, 2.5, '01', '2.50', 'north')
    """
    text = text.strip()
    number = parse_number(text)
    same = number is not None and str(number) == text and number == number and abs(number) != float("inf")
    return number if number is not None and same else text


def parse_number(text: str) -> Number | None:
    """Return the number that a text is; None for other texts."""
    # Python reads 1_000 and digits of other scripts as numbers too; a command line should not.
    if not text.isascii() or "_" in text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def unwritten(option: str, form: str, text: str, example: str) -> ParameterError:
    """Return the refusal of an option that is written otherwise (HG116)."""
    return ParameterError(
        "HG116",
        rule=f"`{option}` is written {form}.",
        finding=f"Found {format_argument(text)}.",
        remedy=f"For example {example}.",
    )


def grid_of(column: str, given: object) -> NamedGrid:
    """Return a column on the grid of (low, high) or (low, high, step)."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else ()
    bounds, step = (parts[:2], parts[2]) if len(parts) == 3 else (given, None)
    return checked_column(column), Grid.from_bounds(column, bounds, step)


def at_places(
    kind: str,
    column: str,
    given: str | None,
    bounds: tuple[float, float] | None,
    step: float | None,
    build: Callable[[str, Grid], Statistic],
) -> Statistic | NeedsBounds:
    """Return a statistic of a column's distribution, which may wait for bounds; `given` is what else the call has."""
    if bounds is None:
        more = () if given is None else (given,)
        return NeedsBounds(kind, (column,), step, partial(on_one_grid, build), given=more)
    return build(column, Grid.from_bounds(column, bounds, step))


def parse_places(text: str) -> tuple[str, list[Number], dict[str, Any]] | None:
    """Return (column, values, bounds and step) of ``COL:X[,X…][:LO:HI[:STEP]]``; None where it is none.

    >>> parse_places("income:1,2:0:5")
    ('income', [1, 2], {'bounds': (0, 5), 'step': None})
    """
    parts = text.split(":")
    numbers: list[list[Number]] = []
    while len(parts) > 1 and len(numbers) < 4 and (listed := _numbers(parts[-1])):
        numbers.insert(0, listed)
        parts.pop()
        if len(listed) > 1:
            break
    column, grid = ":".join(parts), numbers[1:]
    if not column or len(numbers) not in (1, 3, 4) or any(len(part) > 1 for part in grid):
        return None
    bounds = (grid[0][0], grid[1][0]) if grid else None
    step = grid[2][0] if len(grid) == 3 else None
    return column, numbers[0], {"bounds": bounds, "step": step}


def _numbers(text: str) -> list[Number]:
    """Return numbers apart by commas; none where one is no number."""
    numbers = [parse_number(part) for part in text.split(",")]
    return [number for number in numbers if number is not None] if None not in numbers else []


def asked_of_pair(
    kind: str, columns: tuple[str, str], bounds: Bounds, build: Callable[[Sequence[NamedGrid]], S], *, second: str
) -> S | NeedsBounds:
    """Return a statistic of two columns; `second` is the name of the field that holds the second one (HG112)."""
    checked = checked_column(columns[0]), checked_column(columns[1])
    same = columns[0] == columns[1]
    if same or (bounds is not None and set(bounds) != {*columns}):
        equal = f"Both are {format_argument(columns[0])}."
        finding = equal if same else f"Found bounds of {format_argument(list(bounds or ()))[1:-1] or 'none'}."
        raise ParameterError(
            "HG112",
            rule=f"A {kind} has two different columns, each with its bounds.",
            finding=finding,
            remedy=f'For example hg.{kind}("tax", "income", bounds={{"tax": (0, 50), "income": (0, 100)}}).',
            shell=f"For example tax:0:50/income:0:100, or the {second} in the facts file.",
        )
    if bounds is None:
        return NeedsBounds(kind, checked, None, build)
    return build([grid_of(column, bounds[column]) for column in checked])


def entry_of_pair(
    ask: Callable[..., StatisticRequest], place: int, about: str, second: tuple[str, Field]
) -> StatisticEntry:
    """Return the entry of a statistic of two columns, written ``COL[:LO:HI[:STEP]]/COL[:LO:HI[:STEP]]``."""

    def parse(text: str) -> list[StatisticRequest]:
        sides = text.split("/")
        parsed = [parse_on_grid(entry.option, side) for side in sides] if len(sides) == 2 and all(sides) else []
        given = {column: bounds if step is None else (*bounds, step) for column, bounds, step in parsed if bounds}
        if not parsed or len(given) == 1:
            form = "COL/COL or COL:LO:HI[:STEP]/COL:LO:HI[:STEP], with one slash"
            raise unwritten(entry.option, form, text, f"{entry.option} tax:0:50/income:0:100")
        return [ask(parsed[0][0], parsed[1][0], bounds=given or None)]

    needs = {"column": COLUMN, second[0]: second[1]}
    entry = StatisticEntry(ask, place, needs, metavar=f"{ON_GRID}/{ON_GRID}", about=about, parse=parse)
    return entry
