"""Derived columns as expressions of an engine, one IEEE double operation at a time; dates by their parts.

log, exp and sqrt are found by comparing the number with constants, the same on every engine: no engine's own function
is called, since they differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from hedgerow.engines.schema import TEXT_CELL, is_of_dates
from hedgerow.facts.column_function import ColumnFunction
from hedgerow.facts.columns import Selection
from hedgerow.facts.expression import DerivedColumn, readings

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.query import ColumnQuery, Query, SumsQuery
    from hedgerow.facts.columns import Grid
    from hedgerow.facts.expression import Arithmetic

    # Whether a cell is needed as a number or as it is compared, or as a date.
    Read = bool | Literal["date"]
    Cell = Callable[[str, Read], nw.Expr]


def present(value: nw.Expr) -> nw.Expr:
    """Return the one rule of missingness: null, NaN and ±∞ are missing; 0·x is NaN for these, and 0 for finite x only.

    Comparing x with the largest double would say the same, but DuckDB answers that from a Parquet file's smallest and
    largest value, among which NaN does not count (duckdb issue 25521), so that NaN would be present.
    """
    return value * 0.0 == 0.0


def computed(expression: Arithmetic, cell: Cell) -> nw.Expr:
    """Return a derived column, one IEEE double operation at a time, missing where anything in it is.

    A divisor is null if it is zero, where some engines raise, or ∞: x / ∞ would be 0. Elsewhere ∞ and NaN are missing.
    """
    import narwhals.stable.v2 as nw

    if isinstance(expression, str):
        return nw.when(present(cell(expression, True))).then(cell(expression, True))
    if isinstance(expression, float):
        return nw.lit(expression, nw.Float64)
    if isinstance(expression, ColumnFunction):
        return _curve(expression, cell) if expression.is_curve else _part(expression, cell(expression.column, "date"))
    left, right = computed(expression.left, cell), computed(expression.right, cell)
    if expression.operator == "/":
        # A divisor that is a column is divided by truly; see `frames._position`.
        right = left * 0.0 + right if isinstance(expression.right, float) else right
        return left / nw.when(present(right) & (right != 0.0)).then(right)
    return left + right if expression.operator == "+" else left - right if expression.operator == "-" else left * right


def on_grid(expression: Arithmetic, grid: Grid | None) -> Arithmetic:
    """Return an expression whose log, exp or sqrt is on the grid of the statistic that reads it."""
    return (
        replace(expression, grid=grid) if isinstance(expression, ColumnFunction) and expression.is_curve else expression
    )


def date_number(date: nw.Expr) -> nw.Expr:
    """Return a date as the number YYYYMMDDhhmmss, by which dates are compared."""
    day = _number(date.dt.year()) * 1e10 + _number(date.dt.month()) * 1e8 + _number(date.dt.day()) * 1e6
    return day + _number(date.dt.hour()) * 1e4 + _number(date.dt.minute()) * 1e2 + _number(date.dt.second())


def columns_of_dates(query: Query | SumsQuery | ColumnQuery, columns: dict[str, str]) -> set[str]:
    """Return the columns of texts that a question reads as dates."""
    named: list[str] = [value.column for value in query.read]
    dates = set[str]()
    for category in query.by:
        if isinstance(category, Selection):
            named += [comparison.column for comparison in category.comparisons]
            dates |= {
                comparison.column
                for comparison in category.comparisons
                if columns.get(comparison.column) == TEXT_CELL and is_of_dates(comparison, TEXT_CELL)
            }
        else:
            named.append(category.column)
    derived = (column for column in named if isinstance(column, DerivedColumn))
    return dates | {name for column in derived for name, of_date in readings(column.expression) if of_date}


def _number(part: nw.Expr) -> nw.Expr:
    import narwhals.stable.v2 as nw

    return part.cast(nw.Float64)


def _part(applied: ColumnFunction, date: nw.Expr) -> nw.Expr:
    import narwhals.stable.v2 as nw

    year, month, day = (_number(part) for part in (date.dt.year(), date.dt.month(), date.dt.day()))
    match applied.function:
        case "year":
            return year
        case "month":
            return month
        case "quarter":
            return ((month + 2.0) * (1.0 / 3.0) + 1e-9).floor()
        case "weekday":
            # Not the library's own: under Spark a Sunday is 0 there. 1970-01-01 was a Thursday.
            days = _days(year, month, day)
            return days + 4.0 - ((days + 3.0) * (1.0 / 7.0) + 1e-9).floor() * 7.0
        case "hour":
            return _number(date.dt.hour())
        case "days":
            return _days(year, month, day)
    then_year, then_month, then_day = applied.at or (0, 0, 0)
    later = (month > then_month) | ((month == then_month) & (day > then_day))
    return nw.lit(float(then_year)) - year - nw.when(later).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def _days(year: nw.Expr, month: nw.Expr, day: nw.Expr) -> nw.Expr:
    """Return the days since 1970-01-01, by the calendar's rules: years begin in March, so that a leap day ends one."""
    import narwhals.stable.v2 as nw

    early = month <= 2.0
    years = year - nw.when(early).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    months = month + nw.when(early).then(nw.lit(9.0)).otherwise(nw.lit(-3.0))
    leaps = (years * 0.25).floor() - (years * 0.01 + 1e-9).floor() + (years * 0.0025).floor()
    return years * 365.0 + leaps + ((months * 153.0 + 2.0) * 0.2 + 1e-9).floor() + day - 719469.0


def _curve(applied: ColumnFunction, cell: Cell) -> nw.Expr:
    """Return log, exp or sqrt on its grid: by halves, ten comparisons of a number with constants."""
    import narwhals.stable.v2 as nw

    values, cuts = applied.cuts()
    number = cell(applied.column, True)

    def among(first: int, last: int) -> nw.Expr:
        if first == last:
            return nw.lit(values[first], nw.Float64)
        middle = (first + last + 1) // 2
        return nw.when(number >= cuts[middle - 1]).then(among(middle, last)).otherwise(among(first, middle - 1))

    there = present(number)
    there = there & (number > 0.0) if applied.function == "log" else there
    there = there & (number >= 0.0) if applied.function == "sqrt" else there
    return nw.when(there).then(among(0, len(cuts)))
