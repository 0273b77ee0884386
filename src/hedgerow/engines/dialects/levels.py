"""Which declared category or band a record has: its level, on every engine, at a cost of records plus categories.

A few values are compared one by one, whole numbers that follow one another are found by subtraction. Many values are
looked up: by a join with a table of them where an engine plans queries, by halves in the arrays of other libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.engines.cells import bands_of, cells_of, levels_of
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.schema import EXACT_INTEGERS, comparables, group_column, kind_of_column
from hedgerow.facts.columns import Selection
from hedgerow.formats import quoted_text

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.schema import Comparable
    from hedgerow.facts.columns import Category


# Short lists are compared one by one, which is fastest; a long chain of comparisons nests too deep to parse.
_CHAIN = 8
# Up to here Spark compares by halves, which needs no broadcast; the text of more would grow with n log n.
_HALVES = 256


def with_levels(
    rows: nw.LazyFrame[Any], by: Sequence[Category], columns: dict[str, str]
) -> tuple[nw.LazyFrame[Any], list[nw.Expr]]:
    """Return the rows of columns ``group_0``, …, and the columns ``level_0``, … as expressions of what is returned.

    A value that is not declared, null included, has the level `Category.rest`.
    """
    import narwhals.stable.v2 as nw

    levels, wholes = [], whole_columns(rows)
    for place, category in enumerate(by):
        name = group_column(place)
        level = _compared(nw.col(name), category, columns, whole=name in wholes)
        if level is None:
            rows, level = _looked_up(rows, name, category, columns)
        levels.append(level.alias(f"level_{place}"))
    return rows, levels


def code_of(role: str, radices: list[int]) -> nw.Expr:
    """Return the mixed-radix code of the digits ``role_0``, …, the last fastest; −1 where one is −1, and 0 of none.

    `Query` holds the product of all radices below 2⁶², so nothing here overflows.
    """
    import narwhals.stable.v2 as nw

    if not radices:
        return nw.lit(0, nw.Int64)
    code = nw.col(f"{role}_0")
    inside = code >= 0
    for place, radix in enumerate(radices[1:], start=1):
        digit = nw.col(f"{role}_{place}")
        code, inside = code * radix + digit, inside & (digit >= 0)
    return nw.when(inside).then(code).otherwise(nw.lit(-1, nw.Int64)) if len(radices) > 1 else code


def is_whole(kind: Any) -> bool:
    """Whether all numbers of a type are integers of 64 bits."""
    import narwhals.stable.v2 as nw

    return isinstance(kind, (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32))


def whole_columns(rows: nw.LazyFrame[Any]) -> frozenset[str]:
    """Return the columns of integers that DuckDB compares as such, in half of the time; elsewhere all are doubles."""
    if not rows.implementation.is_duckdb():
        return frozenset()
    return frozenset(name for name, kind in rows.collect_schema().items() if is_whole(kind))


def literal(value: Comparable, *, whole: bool) -> nw.Expr:
    """Return a declared value as an expression: an integer where it is compared with integers, and is one."""
    import narwhals.stable.v2 as nw

    if not whole or isinstance(value, str) or float(value) % 1.0 or abs(value) >= EXACT_INTEGERS:
        return nw.lit(value)
    return nw.lit(int(value), nw.Int64)


def _compared(group: nw.Expr, category: Category, columns: dict[str, str], *, whole: bool) -> nw.Expr | None:
    """Return the level as comparisons of the value, a whole number or another; None where there are too many."""
    import narwhals.stable.v2 as nw

    if isinstance(category, Selection):
        return nw.when(group).then(nw.lit(0, nw.Int64)).otherwise(nw.lit(-1, nw.Int64))
    if category.edges:
        return None if len(category.edges) > _CHAIN else _band(group, category)
    wanted, rest = comparables(category, kind_of_column(category.column, columns)), nw.lit(category.rest, nw.Int64)
    if _follow(wanted):
        if whole:
            least, most = (literal(wanted[end], whole=True) for end in (0, -1))
            return nw.when((group >= least) & (group <= most)).then(group - least).otherwise(rest)
        first, last = float(wanted[0]), float(wanted[-1])
        inside = _within(group, first, last)
        # Only whole numbers between them are made integers: some engines raise at another.
        floored = nw.when(inside).then(group).otherwise(nw.lit(first)).floor()
        return nw.when(inside & (floored == group)).then((floored - first).cast(nw.Int64)).otherwise(rest)
    if len(wanted) > _CHAIN:
        return None
    level = rest
    for place, value in reversed(list(enumerate(wanted))):
        level = nw.when(group == literal(value, whole=whole)).then(nw.lit(place, nw.Int64)).otherwise(level)
    return level


def _follow(values: Sequence[Comparable]) -> bool:
    """Whether values are whole numbers, each one more than the one before, and more than two."""
    if len(values) < 3 or isinstance(values[0], str) or float(values[0]) % 1.0:
        return False
    first = int(values[0])
    return np.array_equal(values, np.arange(first, first + len(values)))


def _within(value: nw.Expr, low: float, high: float) -> nw.Expr:
    """Whether a value is a number between two others; NaN, which some engines hold to be the largest, is not."""
    return (value * 0.0 == 0.0) & (value >= low) & (value <= high)


def _band(value: nw.Expr, category: Category) -> nw.Expr:
    """Return in which of the bands [e_0, e_1), …, [e_k−1, e_k] a number lies; the rest is without, or missing."""
    import narwhals.stable.v2 as nw

    edges = category.edges

    def among(first: int, last: int) -> nw.Expr:
        if last == first:
            return nw.lit(first, nw.Int64)
        middle = (first + last + 1) // 2
        return nw.when(value < edges[middle]).then(among(first, middle - 1)).otherwise(among(middle, last))

    inside = _within(value, edges[0], edges[-1])
    return nw.when(inside).then(among(0, len(edges) - 2)).otherwise(nw.lit(category.rest, nw.Int64))


def _looked_up(
    rows: nw.LazyFrame[Any], name: str, category: Category, columns: dict[str, str]
) -> tuple[nw.LazyFrame[Any], nw.Expr]:
    """Return the rows with the level of a column of many values or bands beside it, or in its place."""
    import narwhals.stable.v2 as nw

    kind, engine = kind_of_column(category.column, columns), rows.implementation
    if engine.is_pandas_like() or engine.is_pyarrow():
        held = rows.collect()
        cells = cells_of(held.get_column(name).to_native())
        if category.edges:
            places = bands_of(cells, category.edges, category.rest)
        else:
            places = levels_of(cells, comparables(category, kind), category.rest)
        return held.with_columns(nw.new_series(name, places, nw.Int64, backend=engine)).lazy(), nw.col(name)
    if category.edges:
        return rows, _band(nw.col(name), category)
    wanted = comparables(category, kind)
    key, level = f"key_of_{name}", f"level_of_{name}"
    halves = engine.is_spark_like() and len(wanted) <= _HALVES
    table = None if halves else _table(rows, wanted, key, level)
    if table is None:
        return rows, _by_halves(nw.col(name), wanted, category.rest)
    # -0.0 and 0.0 are one number.
    value = nw.col(name) if isinstance(wanted[0], str) else nw.col(name) + 0.0
    joined = rows.with_columns(value.alias(key)).join(table, on=key, how="left")
    found_level = nw.col(level)
    return joined, nw.when(~found_level.is_null()).then(found_level).otherwise(nw.lit(category.rest, nw.Int64))


def _table(rows: nw.LazyFrame[Any], values: Sequence[Comparable], key: str, level: str) -> nw.LazyFrame[Any] | None:
    """Return a frame of the declared values and their levels, of the library of some rows; None where it has none."""
    import narwhals.stable.v2 as nw

    if rows.implementation.is_ibis():
        listed = ibis_tables.table_of_values(rows.to_native(), values, key, level)
        return None if listed is None else nw.from_native(listed)
    if rows.implementation.is_spark_like():
        import pyarrow

        keys = pyarrow.array(values, pyarrow.string() if isinstance(values[0], str) else pyarrow.float64())
        held = pyarrow.table({key: keys, level: pyarrow.array(range(len(values)), pyarrow.int64())})
        declared: Any = rows.to_native()
        small: nw.LazyFrame[Any] = nw.from_native(declared.sparkSession.createDataFrame(held).hint("broadcast"))
        return small
    if not rows.implementation.is_duckdb():
        made = {
            key: [value if isinstance(value, str) else value + 0.0 for value in values],
            level: list(range(len(values))),
        }
        return nw.from_dict(made, backend=rows.implementation).lazy()
    texts = [value if isinstance(value, str) else repr(value + 0.0) for value in values]
    mark = ibis_tables.mark_apart(texts)
    split = f"unnest(string_split({quoted_text(mark.join(texts))}, {quoted_text(mark)}))"
    cast = split if isinstance(values[0], str) else f"CAST({split} AS DOUBLE)"
    # A relation of the same connection, that reads none of the rows: a count of no row is one row.
    single: Any = rows.to_native().limit(0).aggregate("count(*)")
    table: nw.LazyFrame[Any] = nw.from_native(
        single.project(f'{cast} AS "{key}", unnest(range({len(values)})) AS "{level}"')
    )
    return table


def _by_halves(group: nw.Expr, wanted: Sequence[Comparable], rest: int) -> nw.Expr:
    """Return the level by comparing with half of the values at a time."""
    import narwhals.stable.v2 as nw

    def among(values: Sequence[Comparable], first: int) -> nw.Expr:
        if len(values) > _CHAIN:
            half = len(values) // 2
            left, right = among(values[:half], first), among(values[half:], first + half)
            return nw.when(group.is_in(values[:half])).then(left).otherwise(right)
        level = nw.lit(rest, nw.Int64)
        for place, value in reversed(list(enumerate(values, start=first))):
            level = nw.when(group == nw.lit(value)).then(nw.lit(place, nw.Int64)).otherwise(level)
        return level

    return among(wanted, 0)
