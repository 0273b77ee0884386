"""What a source's schema must allow before any value is read: names, kinds, and values declared in a column's own type.

Nothing here sees data: a refusal made by this file depends on the schema and the request alone, both public.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.engines.cells import ESCAPE
from hedgerow.engines.query import ColumnQuery, Indicator, Query, SumsQuery
from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.column_function import ColumnFunction, as_date, stamp_of
from hedgerow.facts.columns import Category, Scalar, Selection
from hedgerow.facts.expression import Comparison, DerivedColumn, place_of, readings
from hedgerow.facts.validation import check_text, format_argument

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.incoming.statistical import DeclaredColumn

# The kinds of a column: "text-cell" is a column of a CSV file, text that may be read as a number.
NUMBER, BOOLEAN, TEXT, OTHER, TEXT_CELL = "number", "boolean", "text", "other", "text-cell"
DATE = "date"
BLANKS = " \t\r\n\v\f"
EXACT_INTEGERS = 2**53
Comparable = str | float
T = TypeVar("T")


ROW_NAMES_LEFT_OUT = (
    "The first column has no name, as where R or pandas writes the names of rows: it is left out. Name it to use it."
)


def without_row_names(names: Sequence[T]) -> list[T]:
    """Return the names of columns without a blank first one: there R and pandas write the names of rows.

    >>> without_row_names(["", "age"]), without_row_names(["age", ""])
    (['age'], ['age', ''])
    """
    blank = len(names) > 1 and isinstance(names[0], str) and not names[0].strip(BLANKS)
    return list(names[blank:])


def check_names(names: Sequence[object]) -> None:
    """Check that every column can be named by one text that is its own (HG205, HG211; HG206 without a column)."""
    if not names:
        raise DataError("HG206", rule="A source needs a header and at least one column.", finding="Neither was given.")
    rule = "Each column of a source has a name of its own, a non-empty text."
    if any(not isinstance(name, str) for name in names):
        raise DataError(
            "HG205", rule=rule, finding="A column has a name that is not a text.", remedy="Rename the columns."
        )
    texts = [str(name) for name in names]
    for name in texts:
        check_text(name, "The name of a column")
    if any(not name.strip(BLANKS) for name in texts):
        place = next(i for i, name in enumerate(texts, start=1) if not name.strip(BLANKS))
        raise DataError(
            "HG205", rule=rule, finding=f"Column {place} has none.", remedy="Give the column a name in the header."
        )
    if twice := [name for name, times in Counter(texts).items() if times > 1]:
        # By place: in a file without a header the names are a record.
        first = texts.index(twice[0])
        second = texts.index(twice[0], first + 1)
        finding = f"Columns {first + 1} and {second + 1} have the same one."
        raise DataError(
            "HG205", rule=rule, finding=finding, remedy="Rename one of the two columns that have the same name."
        )


def listed_names(source: object) -> list[object] | None:
    """Return the names that a frame states before narwhals sees it; None where asking is not cheap or not usual."""
    if hasattr(source, "collect_schema"):
        return None
    # An Arrow table's `columns` are its data.
    stated = getattr(source, "column_names", None)
    stated = getattr(source, "columns", None) if stated is None else stated
    return None if stated is None or callable(stated) else list(stated)


def check_query(query: Query | SumsQuery, columns: Mapping[str, str]) -> None:
    """Check that a source with these columns (name → kind) can answer; reads no value.

    Raises
    ------
    DataError
        HG203 a column is not there; HG204 a column is no number where one is needed.
    ParameterError
        HG111 a declared value does not fit its column's type, or two do not differ in it; HG115 a column that cannot
        name units.
    """
    for value in query.read:
        kind = _checked_kind(value.column, columns, on_grid=not isinstance(value, Indicator))
        if isinstance(value, Indicator):
            comparable(value.column, value.value, kind)
        else:
            _check_numeric(value.column, kind)
    for category in query.by:
        if isinstance(category, Selection):
            _check_selection(category, columns)
        elif category.edges:
            _check_numeric(category.column, _checked_kind(category.column, columns))
        else:
            comparables(category, _checked_kind(category.column, columns))
    check_present(query.columns(), columns)
    if query.unit is not None:
        check_unit(query.unit.column, columns)


def check_types_of_facts(query: Query | SumsQuery, columns: Mapping[str, str], types: Mapping[str, str]) -> None:
    """Check a question on a file without types against those that the facts declare (name → kind); reads no value.

    Raises
    ------
    DataError
        HG204 a column of texts where a number is needed.
    ParameterError
        HG111 a declared value that cannot be in a column of this type.
    """
    declared = {name: kind for name, kind in types.items() if columns.get(name) == TEXT_CELL}
    if not declared:
        return
    with _adding("The file has no types: that of the facts counts.", _OF_FACTS):
        check_query(query, {**columns, **declared})


def check_types_of_file(
    query: Query | SumsQuery, columns: Mapping[str, str], declared: Mapping[str, DeclaredColumn]
) -> None:
    """Check a question against the types and value labels in the head of a file of Stata or SPSS; reads no cell.

    Raises
    ------
    DataError
        HG204 a column of texts or dates where a number is needed.
    ParameterError
        HG111 a label in place of its code, or a value that cannot be in a column of this type.
    """
    for name in query.columns() if declared else ():
        column = declared.get(name)
        if column is None:
            continue
        with _adding(f"The file declares {_HELD[column.kind]} in this column.", _codes(column)):
            check_query(query, {**columns, name: column.kind})
            for value in _values_asked(query, name):
                _check_code(name, value, column)


_HELD = {NUMBER: "numbers", TEXT: "texts", DATE: "dates"}
_MOST_CODES = 12


def _codes(column: DeclaredColumn) -> str | None:
    """Return a remedy that names the labelled codes of a column of codes; None where no code has a label."""
    if column.kind != NUMBER or not column.labels:
        return None
    named = [f"{_cell_text(code)} ({label})" for code, label in column.labels.items()]
    more = ", …" if len(named) > _MOST_CODES else ""
    return f"Give codes as the file has them, not labels. The file labels {', '.join(named[:_MOST_CODES])}{more}."


def _cell_text(code: Scalar) -> str:
    """Return a code as a file of Stata or SPSS is read: a whole number has no decimal point."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _values_asked(query: Query | SumsQuery, column: str) -> Iterator[Scalar]:
    """Yield the values that a question compares with a column: texts exactly as they are written in it."""
    for value in query.read:
        if isinstance(value, Indicator) and value.column == column:
            yield value.value
    for category in query.by:
        if isinstance(category, Selection):
            for comparison in category.comparisons:
                if comparison.column == column and not is_number(comparison):
                    yield from comparison.constants
        elif category.column == column and not category.edges:
            yield from category.values


def _check_code(name: str, value: Scalar, column: DeclaredColumn) -> None:
    """Refuse a label in place of its code, and a code that no cell is written as, such as 1.0 or "01" (HG111)."""
    codes = {_cell_text(code): str(label) for code, label in column.labels.items()}
    text = str(value).strip()
    labelled = next((code for code, label in codes.items() if label.casefold() == text.casefold()), None)
    meant = labelled if isinstance(value, str) and text not in codes else None
    if meant is None and column.kind == NUMBER:
        meant = _cell_text(float(value))
    if meant is not None and meant != text:
        raise ParameterError(
            "HG111",
            rule="A declared value is written as in the file: a code in place of its label, a whole number without a "
            "decimal point.",
            finding=f"Found {format_argument(value)} for column {format_argument(name)}.",
            remedy=f"Write {meant}.",
        )


def _check_selection(selection: Selection, columns: Mapping[str, str]) -> None:
    for comparison in selection.comparisons:
        with _standing_in(selection.text, comparison.column):
            compared(comparison, _checked_kind(comparison.column, columns))


@contextmanager
def _standing_in(text: str, column: str) -> Iterator[None]:
    """Say in a refusal where in a text of the request the column stands that it is about."""
    place = place_of(column, text)
    with _adding("" if place is None else f"It stands at character {place} of {format_argument(text)}."):
        yield


@contextmanager
def _adding(sentence: str, remedy: str | None = None) -> Iterator[None]:
    """Add a sentence to the finding of a refusal, and give another remedy where there is one."""
    refused: DataError | ParameterError | None = None
    try:
        yield
    except (DataError, ParameterError) as cause:
        refused = cause
    if refused is not None:
        raise type(refused)(
            refused.code,
            rule=refused.rule,
            finding=f"{refused.finding} {sentence}".strip(),
            remedy=refused.remedy if remedy is None else remedy,
            shell=refused.shell if remedy is None else None,
        ) from None


def check_values(query: ColumnQuery, columns: Mapping[str, str]) -> None:
    """Check that records can be counted by the values of a column (HG203; HG111 where it has none to declare)."""
    for group in query.chosen:
        _check_selection(group, columns)
    if _checked_kind(query.column, columns) in (OTHER, DATE):
        raise ParameterError(
            "HG111",
            rule="Categories are numbers, booleans or texts.",
            finding=f"Column {query.column!r} is none of these by the source's schema.",
            remedy="Convert the column to numbers in the source.",
        )


def as_declared(values: Sequence[object], kind: str) -> list[Scalar | None]:
    r"""Return values of a column of this kind as categories are declared; None for a value that no category can be.

    >>> as_declared([1.0, 2.5, 2.0**60], "number"), as_declared([0.0], "boolean"), as_declared(["a", "\udcff"], "text")
    ([1, 2.5, None], [False], ['a', None])
    """
    if kind in (TEXT, TEXT_CELL):
        return [value if isinstance(value, str) and _is_unicode(value) else None for value in values]
    numbers = [float(value) for value in values]  # type: ignore[arg-type]  # doubles, by their kind
    if kind == BOOLEAN:
        return [bool(number) for number in numbers]
    exact = [number if abs(number) < EXACT_INTEGERS else None for number in numbers]
    return [int(number) if number is not None and number.is_integer() else number for number in exact]


def _is_unicode(text: str) -> bool:
    # A text that begins with this sign stands for one that is no Unicode; see `engines.cells`.
    if text.startswith(ESCAPE):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_unit(column: str, columns: Mapping[str, str]) -> None:
    """Check that a column can name units: whole or other numbers, or texts (HG115; HG203 where it is not there)."""
    _check_present(column, columns)
    if columns[column] not in (NUMBER, TEXT, TEXT_CELL):
        raise ParameterError(
            "HG115",
            rule="The column of a unit must hold numbers or texts.",
            finding=f"Column {column!r} is neither by the source's schema.",
            remedy="Convert the column in the source, or choose another column.",
        )


def kind_of_column(column: str, columns: Mapping[str, str]) -> str:
    """Return the kind of a column of the source, or of one that is computed: a number."""
    return NUMBER if isinstance(column, DerivedColumn) else columns[column]


def _checked_kind(column: str, columns: Mapping[str, str], *, on_grid: bool = False) -> str:
    """Return the kind of a column; of one that is computed, check its name and what it is computed from."""
    if isinstance(column, DerivedColumn):
        if column in columns:
            raise DataError(
                "HG205",
                rule="The columns of a source and all derived columns must have different names.",
                finding=f"{str(column)!r} is a column of the source.",
                remedy="Declare the expression in the facts, under another name.",
            )
        if isinstance(column.expression, ColumnFunction) and column.expression.is_curve and not on_grid:
            raise ParameterError(
                "HG132",
                rule="log, exp and sqrt are read on the grid of a statistic, which compares them with its steps.",
                finding=f"{str(column)!r} groups records, selects them, or is searched.",
                remedy="Compare the column itself: `x >= 7.389` in place of `log(x) >= 2`.",
            )
        for source, of_date in readings(column.expression):
            with _standing_in(column.text, source):
                _check_present(source, columns)
                _check_date(source, columns[source]) if of_date else _check_numeric(source, columns[source])
    else:
        _check_present(column, columns)
    return kind_of_column(column, columns)


def compared(comparison: Comparison, kind: str) -> list[Comparable]:
    """Return the constants that a column of this kind is compared with (HG111 for one that it cannot be).

    A cell of a CSV file is read as a number where the constant is one, and text is never ordered by a number.
    """
    if is_of_dates(comparison, kind):
        return [comparable(comparison.column, constant, DATE) for constant in comparison.constants]
    if kind == TEXT_CELL and is_number(comparison):
        return [comparable(comparison.column, constant, NUMBER) for constant in comparison.constants]
    if kind in (TEXT, TEXT_CELL) and comparison.operator in ("<", "<=", ">", ">="):
        _check_order(comparison)
    if kind == TEXT and is_number(comparison) and comparison.operator not in ("in", "not in"):
        raise _incomparable(comparison.column, comparison.constants[0], kind)
    return [comparable(comparison.column, constant, kind) for constant in comparison.constants]


# Texts in this form sort by time, with or without a time of day; in another form they sort by the day or the month.
_SORTED_DATE = re.compile(r"\d{4}([-./])\d\d\1\d\d(\D.*)?")
_ANY_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(\s.*)?")


def _check_order(comparison: Comparison) -> None:
    """Refuse to order texts by a date that does not sort by time, such as 01.06.2022 (HG111)."""
    for constant in comparison.constants:
        text = str(constant).strip()
        if _ANY_DATE.fullmatch(text) and not _SORTED_DATE.fullmatch(text):
            raise ParameterError(
                "HG111",
                rule="Texts are compared letter by letter; only dates that begin with the year sort by time.",
                finding=f"{format_argument(constant)} begins with the day or the month, or has no leading zeros.",
                remedy="Write the date as '2022-06-01'. If the column has dates in another form, convert the column "
                "in the source.",
            )


def is_of_dates(comparison: Comparison, kind: str) -> bool:
    """Whether a comparison is of dates: those of a column of dates, and of texts with constants that are dates all."""
    return kind == DATE or (kind == TEXT_CELL and all(as_date(constant) for constant in comparison.constants))


def is_number(comparison: Comparison) -> bool:
    """Whether a comparison is with numbers; its constants are all of one type."""
    first = comparison.constants[0]
    return isinstance(first, (int, float)) and not isinstance(first, bool)


def comparable(column: str, value: Scalar, kind: str) -> Comparable:
    """Return a declared value as a column of this kind holds it: a float, or a trimmed text (HG111).

    Numbers and booleans are compared as IEEE doubles (true is 1), the one type that every engine compares alike.

    >>> comparable("sex", "1", "number"), comparable("sex", 1, "text-cell"), comparable("owner", True, "boolean")
    (1.0, '1', 1.0)
    """
    value_there: Comparable | None = None
    if isinstance(value, str):
        check_text(value, "A declared value")
    if kind in (TEXT, TEXT_CELL):
        value_there = _as_text(value, trimmed=kind == TEXT_CELL)
    elif kind == NUMBER:
        value_there = _as_number(value)
    elif kind == BOOLEAN:
        value_there = _as_truth(value)
    elif kind == DATE:
        value_there = stamp_of(value)
    if value_there is None:
        raise _incomparable(column, value, kind)
    return value_there


def _incomparable(column: str, value: Scalar, kind: str) -> ParameterError:
    return ParameterError(
        "HG111",
        rule="A declared value of a column must have the type of the column, so that both can be compared.",
        finding=f"{format_argument(value)} cannot be, in column {format_argument(column)}.",
        remedy=_REMEDIES[kind],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A category as the key of what is kept of it: equal ones may have values of other types, such as 1 and True."""

    category: Category

    def __hash__(self) -> int:
        return id(self.category)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.category is self.category


def comparables(category: Category, kind: str) -> list[Comparable]:
    """Return a category's values as their column holds them, in order (HG111 where two are the same there)."""
    return _comparables(_Same(category), kind)


@lru_cache(maxsize=4)  # a release asks four times
def _comparables(same: _Same, kind: str) -> list[Comparable]:
    values: list[Comparable]
    category = same.category
    # Thousands of levels are integers, most often, and no line of Python is run for each of them.
    integers = kind == NUMBER and set(map(type, category.values)) == {int}
    if integers and max(map(abs, category.values)) < EXACT_INTEGERS:  # type: ignore[arg-type]  # as just seen
        values = list(map(float, category.values))
    else:
        values = [comparable(category.column, value, kind) for value in category.values]
    if len(set(values)) < len(values):
        raise ParameterError(
            "HG111",
            rule="Each category of a column is declared once.",
            finding=f"Compared as its type, two declared for column {category.column!r} are the same.",
            remedy="Remove one of the two equal categories of the column.",
        )
    return values


_OF_FACTS = (
    "Correct the request, or the facts: bounds, bands and categories that are numbers declare numbers, categories "
    "that are texts declare texts, and a column with both may hold both."
)
NOUNS = {BOOLEAN: "boolean", DATE: "a date"}
_REMEDIES = {
    TEXT_CELL: 'Columns of a CSV file are text: give the text of the cell, e.g. "true".',
    TEXT: 'Give the text of the cell; a pandas column of dtype object holding booleans needs .astype("boolean").',
    NUMBER: "Give a finite number, 0 or 1 in place of a boolean; whole numbers from 2**53 on are not told apart.",
    BOOLEAN: "Give True or False.",
    DATE: "A date is a text: '2026-06-01', or '2026-06-01 10:30'.",
    OTHER: "The column is neither number, boolean, text nor date without a time zone: convert it first. In a Parquet "
    "file, a timestamp needs microseconds.",
}


def check_present(named: Sequence[str], columns: Mapping[str, str]) -> None:
    """Check that columns are there (HG203)."""
    for column in named:
        _check_present(column, columns)


def check_read(named: Sequence[str], unread: frozenset[str]) -> None:
    """Check that columns are none of those that are not read, by the schema of their file (HG204)."""
    for column in named:
        if column in unread:
            raise DataError(
                "HG204",
                rule="Times of a day, and timestamps in milliseconds, are not read from Parquet files: one value may "
                "stop the reader.",
                finding=f"Column {column!r} holds such times by its declared type.",
                remedy="Write timestamps in microseconds, and times as texts.",
            )


def _check_present(column: str, columns: Mapping[str, str]) -> None:
    if column not in columns:
        raise DataError(
            "HG203",
            rule="The source has no such column; names must be spelt as in the header.",
            finding=f"{column!r} is not; the source has {len(columns)} columns.",
            remedy=_near(column, columns) + "Compare the spelling, upper and lower case included. Nothing was spent.",
        )


def _near(column: str, columns: Mapping[str, str]) -> str:
    """Ask whether a near name was meant; nothing where a name is no single word, as in a record without a header."""
    from difflib import get_close_matches

    if not all(re.fullmatch(r"[^\W\d]\w*", name) for name in columns):
        return ""
    folded = {name.casefold(): name for name in columns}
    nearest = get_close_matches(column.casefold(), folded, n=1)
    return f"Did you mean {folded[nearest[0]]!r}? " if nearest else ""


def _check_numeric(column: str, kind: str) -> None:
    if kind in (NUMBER, TEXT_CELL):
        return
    truth = f"A share is hg.proportion({column!r}, value=True)." if kind == BOOLEAN else ""
    if kind == DATE:
        truth = f"A part of a date is hg.column('year({column})'), and so for month, days and others."
    raise DataError(
        "HG204",
        rule="Sums, means, bands and expressions need a numeric column.",
        finding=f"Column {column!r} is {NOUNS.get(kind, 'no number')} by its declared type.",
        remedy=truth
        or "Convert the column in the source, or choose another column."
        + " A CSV file that Spark reads has numbers with inferSchema=True alone." * (kind == TEXT),
        shell=f"A share is --proportion {shlex.quote(column)}=true." if kind == BOOLEAN else None,
    )


def _check_date(column: str, kind: str) -> None:
    if kind in (DATE, TEXT_CELL):
        return
    raise DataError(
        "HG204",
        rule="Functions of dates need a column of dates, or texts of a CSV file such as 2026-06-01.",
        finding=f"Column {column!r} is none by its declared type.",
        remedy="Convert the column to a type without a time zone in the source; in a Parquet file, to microseconds.",
    )


def _as_text(value: Scalar, *, trimmed: bool) -> str | None:
    if isinstance(value, bool):
        return None
    text = str(value)
    if not trimmed:
        return text
    # An empty cell is a missing one, so an empty text can match nothing.
    return text.strip(BLANKS) or None


def _as_number(value: Scalar) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
        whole = int(value) if isinstance(value, int) else 0
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and max(abs(number), abs(whole)) < EXACT_INTEGERS else None


def _as_truth(value: Scalar) -> float | None:
    if isinstance(value, str):
        return {"true": 1.0, "false": 0.0}.get(value.strip(BLANKS).lower())
    return float(value) if value in (0, 1) else None


def arrow_columns(frame: nw.LazyFrame[Any]) -> frozenset[str]:
    """Return the names of the columns that Arrow keeps, in an Arrow table or below a pandas frame."""
    if frame.implementation.is_pyarrow():
        return frozenset(frame.collect_schema())
    if not frame.implementation.is_pandas_like():
        return frozenset()
    dtypes = zip(frame.collect_schema(), frame.to_native().dtypes, strict=True)
    return frozenset(
        name for name, dtype in dtypes if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow"
    )


def value_column(place: int) -> str:
    """Return the name of a value's column in the frame that `frames.count` takes."""
    return f"value_{place}"


def group_column(place: int) -> str:
    """Return the name of a group's column in the frame that `frames.count` takes."""
    return f"group_{place}"
