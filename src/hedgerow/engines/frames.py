"""One expression for every engine: the histogram of a frame, or exact sums, whichever library holds it.

narwhals writes it as DuckDB SQL, Spark columns, polars or Arrow expressions; the engine groups and counts, and only
(cell, grid index, number of records) leaves it. All arithmetic before the counting is IEEE double arithmetic of one
value alone, correctly rounded, so the integers are the same on every engine; there is no floating-point sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from operator import add, and_, ge, gt, le, lt, or_
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hedgerow.engines.cells import as_texts
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.dialects.checked import Steps, distance, within_doubles, within_years
from hedgerow.engines.dialects.computed import computed, date_number, on_grid, present
from hedgerow.engines.dialects.few_values import RECORDS, by_raw_values
from hedgerow.engines.dialects.held import added_up, adds_up_nulls, counted_truths, is_held, read_as_values, terms_of
from hedgerow.engines.dialects.ibis_tables import Asked, asked_counts, asked_values, engine_of
from hedgerow.engines.dialects.levels import code_of, is_whole, literal, whole_columns, with_levels
from hedgerow.engines.dialects.units import (
    UNIT,
    added_up_side_by_side,
    counts_of_units,
    occurrences,
    scores_of,
    units_of,
)
from hedgerow.engines.query import (
    ClippedSquare,
    ColumnProduct,
    ColumnQuery,
    InBall,
    Indicator,
    Query,
    SumsQuery,
    ValueOnGrid,
    Weighted,
    WeightOnGrid,
)
from hedgerow.engines.schema import (
    DATE,
    EXACT_INTEGERS,
    arrow_columns,
    check_names,
    comparable,
    compared,
    group_column,
    is_of_dates,
    kind_of_column,
    value_column,
    without_row_names,
)
from hedgerow.errors import DataError
from hedgerow.facts.columns import Missing, Selection
from hedgerow.facts.expression import DerivedColumn, Junction
from hedgerow.resampling.counted_values import GridSums, Histogram, Integers, ValueCounts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.dialects.computed import Cell, Read
    from hedgerow.engines.query import Value
    from hedgerow.facts.columns import Category, Grid
    from hedgerow.facts.expression import Condition


_CHAIN = 8  # so many constants of a condition are compared one by one, which is fastest
_ORDERED = {"<": lt, "<=": le, ">": gt, ">=": ge}
B = TypeVar("B", Histogram, GridSums)


def lazy_frame(source: object) -> nw.LazyFrame[Any] | None:
    """Return a frame of any library that narwhals reads as a lazy one, which copies nothing; None where it reads none.

    No library is imported for the question: narwhals looks at those that the caller has imported.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(source, pass_through=True)
    return frame.lazy() if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def _lazy(frame: object) -> nw.LazyFrame[Any]:
    import narwhals.stable.v2 as nw

    held: nw.LazyFrame[Any] = nw.from_native(frame).lazy()  # type: ignore[call-overload]  # any library's
    return held


def columns_of(frame: nw.LazyFrame[Any]) -> dict[str, str]:
    """Return name → kind from the schema; no value is read."""
    import narwhals.stable.v2 as nw

    # pandas has texts of dtype object; to look inside would make the kind, and so an error, depend on the values.
    loose = frame.implementation.is_pandas_like()

    def kind(dtype: nw.dtypes.DType) -> str:
        if dtype.is_numeric():
            return "number"
        if isinstance(dtype, nw.Boolean):
            return "boolean"
        if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)) or (loose and isinstance(dtype, nw.Object)):
            return "text"
        # In a time zone a day depends on where it is asked.
        dated = isinstance(dtype, nw.Date) or (isinstance(dtype, nw.Datetime) and dtype.time_zone is None)
        return DATE if dated else "other"

    schema = frame.collect_schema()
    named = without_row_names(list(schema))
    check_names(named)
    if "*" in schema and frame.implementation.is_duckdb():
        raise DataError(
            "HG205",
            rule="Each column of a DuckDB relation needs a name.",
            finding="'*' means all columns.",
            remedy="Rename the column.",
        )
    kinds = {column: kind(schema[column]) for column in named}
    if frame.implementation.is_pyarrow():
        # Arrow cannot group by these yet, and would say so after the price was spent.
        views = [field.name for field in frame.collect().to_native().schema if str(field.type).endswith("_view")]
        kinds |= dict.fromkeys(views, "other")
    return kinds


def roles_of(frame: object, query: Query | SumsQuery | ColumnQuery, columns: dict[str, str]) -> nw.LazyFrame[Any]:
    """Return the columns ``value_0``, …, ``group_0``, … that `count` and `add_up` take, of a frame of any library."""
    import narwhals.stable.v2 as nw

    held = _named(_lazy(frame))
    in_duckdb = held.implementation.is_duckdb()
    arrow = arrow_columns(held)
    needed = query.columns() or list(columns)[:1]
    if ibis := held.implementation.is_ibis():
        held = _lazy(ibis_tables.prepared(held.to_native(), needed))
    frame = _with_texts(held, [name for name in needed if columns[name] == "text" and name not in arrow])
    schema = frame.collect_schema()
    places = {column: place for place, column in enumerate(schema)}

    def as_kind(column: str, read: Read) -> nw.Expr:
        # By position: a name such as "^a.*$" or "*" means several columns to some engines.
        raw = nw.nth(places[column])
        dtype = schema[column]
        if columns[column] == DATE:
            date = within_years(raw, dtype, in_spark=frame.implementation.is_spark_like())
            return date if read == "date" else date_number(date)
        if ibis and isinstance(dtype, nw.Boolean):
            # Not all databases make a number of a boolean.
            return nw.when(raw).then(nw.lit(1.0)).otherwise(nw.when(~raw).then(nw.lit(0.0)))
        if ibis and isinstance(dtype, nw.Decimal):
            raw = within_doubles(raw)
        if in_duckdb and not read and (isinstance(dtype, nw.Boolean) or is_whole(dtype)):
            return raw.cast(nw.Int64)
        if columns[column] in ("number", "boolean"):
            # Arrow refuses to round a whole number beyond 2**53, which no bound and no declared value reaches.
            if column in arrow and dtype == nw.Int64:
                raw = raw.clip(-EXACT_INTEGERS, EXACT_INTEGERS)
            elif column in arrow and dtype == nw.UInt64:
                most = nw.lit(EXACT_INTEGERS, nw.UInt64)
                raw = nw.when(~raw.is_null() & (raw > most)).then(most).otherwise(raw)
            return raw.cast(nw.Float64)
        if isinstance(dtype, nw.String) and not frame.implementation.is_pandas_like():
            return raw
        # Some engines turn a missing category into the text "nan".
        return nw.when(~raw.is_null()).then(raw.cast(nw.String))

    if in_duckdb and not query.columns():
        # No column of the source is named: of one that is, DuckDB reads the footers to plan even a count of records.
        return _lazy(frame.to_native().project(f"NULL AS {value_column(0)}"))
    steps = Steps(frozenset(schema), computed) if ibis else None
    # A query of nothing, or of units alone, still counts records, so some column has to stay.
    some = [nw.nth(places[needed[0]]).alias(value_column(0))]
    roles = _role_columns(query, columns, as_kind, steps, in_duckdb=in_duckdb) or some
    if query.unit is not None:
        # Never made a double: two large ids would become one, and a person a part of another. One that is a double
        # already names nobody where that may have happened.
        name = nw.nth(places[query.unit.column])
        kind = schema[query.unit.column]
        exact = 2**11 if kind == nw.Float16 else 2**24 if kind == nw.Float32 else EXACT_INTEGERS
        numeric, largest = kind.is_numeric(), float(exact)
        # -0.0 and 0.0 name one unit; Arrow and pandas do not group by halves of single precision.
        name = (name.cast(nw.Float64) if kind == nw.Float16 else name) + 0.0 if kind.is_float() else name
        apart = present(name) & (name < largest) & (name > -largest)
        known = apart if kind.is_float() else ~name.is_null()
        roles += [(name if numeric else name.cast(nw.String)).alias(UNIT), known.alias("known")]
    rows = reduce(lambda made, step: _computed_once(made.with_columns(*step)), steps.made if steps else (), frame)
    return rows.select(*roles)


def _computed_once(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    return _lazy(ibis_tables.fenced(frame.to_native())) if frame.implementation.is_ibis() else frame


def _role_columns(
    query: Query | SumsQuery | ColumnQuery,
    columns: dict[str, str],
    cell: Cell,
    steps: Steps | None = None,
    *,
    in_duckdb: bool,
) -> list[nw.Expr]:
    """Return ``value_0``, …, ``group_0``, …: `cell` takes a column and whether its cells are needed as numbers."""

    def role(column: str, read: Read, grid: Grid | None = None) -> nw.Expr:
        if not isinstance(column, DerivedColumn):
            return cell(column, read)
        expression = on_grid(column.expression, grid)
        return steps.result(expression, cell) if steps else computed(expression, cell)

    def group(category: Category) -> nw.Expr:
        if isinstance(category, Selection) and category.condition is not None:
            return _true(category.condition, columns, role, as_is=in_duckdb)
        return role(category.column, bool(category.edges))

    values = [
        role(value.column, False) if isinstance(value, Indicator) else role(value.column, True, value.grid)
        for value in query.read
    ]
    roles = [value.alias(value_column(place)) for place, value in enumerate(values)]
    return roles + [group(category).alias(group_column(place)) for place, category in enumerate(query.by)]


def _true(condition: Condition, columns: dict[str, str], role: Cell, *, as_is: bool) -> nw.Expr:
    """Return whether a condition is true of a record: a missing value makes no comparison true.

    Null is false. `as_is`: a truth may be null; DuckDB looks for selected records while it reads a file, if conditions
    stand as they are. Elsewhere a truth is never null.
    """
    import narwhals.stable.v2 as nw

    if isinstance(condition, Junction):
        parts = (_true(part, columns, role, as_is=as_is) for part in condition.parts)
        return reduce(and_ if condition.every else or_, parts)
    kind = kind_of_column(condition.column, columns)
    constants, of_dates = compared(condition, kind), is_of_dates(condition, kind)
    wanted, numeric = [nw.lit(constant) for constant in constants], isinstance(constants[0], float)
    value = role(condition.column, "date" if of_dates and kind != DATE else numeric)
    value = date_number(value) if of_dates and kind != DATE else value
    there = present(value) if numeric else ~value.is_null()
    if condition.operator in ("in", "not in"):
        test = value.is_in(constants) if len(wanted) > _CHAIN else reduce(or_, [value == one for one in wanted])
        test = ~test if condition.operator == "not in" else test
    else:
        # pandas does not order a text and a missing one.
        value = value if numeric else nw.when(there).then(value).otherwise(nw.lit(""))
        test = _ORDERED[condition.operator](value, wanted[0])
    return there & test if as_is else nw.when(there & test).then(nw.lit(True)).otherwise(nw.lit(False))


def _with_texts(frame: nw.LazyFrame[Any], columns: list[str]) -> nw.LazyFrame[Any]:
    """Return a pandas frame in which these columns, of cells that may be anything, are texts; others as they are."""
    import narwhals.stable.v2 as nw

    if not columns or not (frame.implementation.is_pandas() or frame.implementation.is_modin()):
        return frame
    held = frame.collect()
    cells = {name: as_texts(np.asarray(held.get_column(name).to_native(), dtype=object)) for name in columns}
    made = (nw.new_series(name, texts, nw.String, backend=held.implementation) for name, texts in cells.items())
    return held.with_columns(*made).lazy()


def roles_of_texts(
    relation: object, query: Query | SumsQuery | ColumnQuery, columns: dict[str, str], name: Callable[[str, Read], str]
) -> nw.LazyFrame[Any]:
    """Return the same columns of a file of texts; `name`: (column, whether as numbers) → column of the relation."""
    import narwhals.stable.v2 as nw

    def cell(column: str, read: Read) -> nw.Expr:
        value = nw.col(name(column, read))
        return within_years(value, nw.Datetime("us")) if read == "date" else value

    roles = _role_columns(query, columns, cell, in_duckdb=True) or [nw.nth(0).alias(value_column(0))]
    if query.unit is not None:
        # Text as it stands, but for blanks around it: "007" and "7" are two units.
        unit = nw.col(name(query.unit.column, False))
        roles += [unit.alias(UNIT), (~unit.is_null()).alias("known")]
    return _named(_lazy(relation)).select(*roles)


def _named(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return a DuckDB relation by a name that is always the same: one without a name gets a new one each time."""
    return _lazy(frame.to_native().set_alias("records")) if frame.implementation.is_duckdb() else frame


def count(
    frame: object, query: Query, columns: dict[str, str], key: bytes | None, *, few: bool = False
) -> Asked[Histogram]:
    """Ask for the counts of a frame of columns ``value_0``, … and ``group_0``, …: doubles, or texts.

    The kinds in `columns` say as what declared values are compared. For a query of units there are two columns more:
    ``unit``, and ``known``, whether a unit is named. `few`: raw values are grouped first, since there are few.
    """
    if not query.columns():
        return _count_records(frame)
    chosen = _selected(frame, query)
    if query.unit is not None:
        digits, named = _digits(chosen, query, columns)
        return counts_of_units(digits.select(_index_of(query).alias("index"), "level", *named), query, key)
    width, rows = query.size + 1, _lazy(chosen)
    if few:
        codes = occurrences(keys(by_raw_values(rows, query), query, columns, few=True), few=True)
    elif query.is_condition and rows.implementation.is_duckdb():
        codes = counted_truths(rows.select(**_placed(rows, query, columns, None)).to_native())
    else:
        codes = occurrences(keys(chosen, query, columns))

    def histogram(counted: tuple[Integers, Integers]) -> Histogram:
        places, records = counted
        return query.answer(places // width, places % width - 1, records)

    return _with_others(codes.then(histogram), frame, chosen)


def keys(frame: object, query: Query, columns: dict[str, str], *, few: bool = False) -> nw.LazyFrame[Any]:
    """Return ``key``, cell·(size + 1) + index + 1: a GROUP BY of one integer is the fastest that every engine has."""
    import narwhals.stable.v2 as nw

    digits, named = _digits(frame, query, columns, few=few)
    index = _index_of(query) + 1
    return digits.select((nw.col("level") * (query.size + 1) + index if query.by else index).alias("key"), *named)


def _index_of(query: Query) -> nw.Expr:
    return code_of("index", [part.size for part in query.parts] or [query.row_size])


def count_values(frame: object, query: ColumnQuery, columns: dict[str, str], key: bytes | None) -> Asked[ValueCounts]:
    """Ask for the values that occur and in how many records, over a frame of the column ``group_0``."""
    import narwhals.stable.v2 as nw

    kind, value = kind_of_column(query.column, columns), nw.col(group_column(0))
    # -0.0 and 0.0 are one number.
    there, key_of = (~value.is_null(), value) if kind.startswith("text") else (present(value), value + 0.0)
    keys = _lazy(_selected(frame, query)).filter(there).select(key_of.alias("key"))
    return asked_values(keys.group_by("key").agg(nw.len().alias("records")), kind)


def _selected(frame: object, query: Query | SumsQuery | ColumnQuery) -> object:
    """Return the selected records alone; the frame where all are, or where the others would take Spark a second job."""
    import narwhals.stable.v2 as nw

    places = [place for place, category in enumerate(query.by) if isinstance(category, Selection)]
    whole = not places or (_lazy(frame).implementation.is_spark_like() and not isinstance(query, ColumnQuery))
    return frame if whole else _lazy(frame).filter(*(nw.col(group_column(place)) for place in places))


def _with_others(asked: Asked[B], frame: object, chosen: object) -> Asked[B]:
    """Ask for the records that were not selected too, which are among those outside."""
    if chosen is frame:
        return asked
    return asked.beside(
        _count_records(frame),
        lambda chosen_answer, every: replace(
            chosen_answer, outside=chosen_answer.outside + every.total() - chosen_answer.total()
        ),
    )


def _count_records(frame: object) -> Asked[Histogram]:
    """Ask for the number of records; no value is read for it."""
    import narwhals.stable.v2 as nw

    alone = _lazy(frame).select(nw.len().alias("records")).with_columns(nw.lit(0, nw.Int64).alias("key"))

    def histogram(counted: tuple[Integers, Integers]) -> Histogram:
        cell, records = (column[counted[1] > 0] for column in counted)
        return Histogram.from_triplets(cell, cell, records, cells=1)

    return asked_counts(alone).then(histogram)


def _digits(
    frame: object, query: Query | SumsQuery, columns: dict[str, str], *, few: bool = False
) -> tuple[nw.LazyFrame[Any], list[nw.Expr]]:
    """Return the columns ``index_0``, … and ``level``, the cell, with others that are kept."""
    import narwhals.stable.v2 as nw

    rows, levels = with_levels(_lazy(frame), query.by, columns)
    # A database raises where another engine has an infinite number: values are clamped first, and a place named once.
    engine = engine_of(rows.to_native()) if rows.implementation.is_ibis() else None
    named = [nw.col(name) for name in ((UNIT, "known") if query.unit is not None else (RECORDS,) if few else ())]
    placed, level = _placed(rows, query, columns, engine), code_of("level", [c.levels for c in query.by]).alias("level")
    if engine is None:
        # Each step a column of its own: SQL has no names for parts of an expression, and would compute them again.
        rows = rows.select(*(made.alias(name) for name, made in placed.items()), *levels, *named)
        placed, levels = {name: nw.col(name) for name in placed}, [level]
    indices = _indices(query, placed, nulls=adds_up_nulls(rows, query), clamped=engine is not None)
    digits, names = rows.select(*indices, *levels, *named), (f"index_{place}" for place in range(len(indices)))
    return digits if engine is None else _computed_once(digits).select(*names, level, *named), named


def add_up(
    frame: object, query: SumsQuery, columns: dict[str, str], key: bytes | None, *, few: bool = False
) -> Asked[GridSums]:
    """Ask for the sums of the monomials of a query, by cell, over a frame of the columns that `count` takes.

    The engine is asked for sums of integers alone, and adds them up exactly (`held.added_up`). `few`: as for `count`.
    """
    import narwhals.stable.v2 as nw

    chosen, in_memory = _selected(frame, query), query.unit is None and is_held(_lazy(frame))
    if in_memory and read_as_values(query):
        rows, levels = with_levels(_lazy(chosen), query.by, columns)
        level = code_of("level", [category.levels for category in query.by]).alias("level")
        rows = rows.select(*map(value_column, range(len(query.values))), *levels).with_columns(level)
    else:
        digits, named = _digits(by_raw_values(_lazy(chosen), query) if few else chosen, query, columns, few=few)
        rows = _with_products(digits, query, named)
    if in_memory:
        return _with_others(added_up(rows, query, partial(terms_of, query)), frame, chosen)
    counts = reduce(and_, [nw.col(f"index_{place}") >= 0 for place in sorted(query.needed)] or [nw.lit(True)])
    if len(query.needed) > 1 or query.unit is not None:  # named once: SQL would compute it for each term
        rows, counts = rows.with_columns(counts.alias("counts")), nw.col("counts")
    if query.unit is not None:
        return _add_up_units(rows, query, key)
    ones, zeros, nulls = nw.lit(1, nw.Int64), nw.lit(0, nw.Int64), adds_up_nulls(rows, query)
    one = nw.when(counts).then(ones).otherwise(nw.lit(None) if adds_up_nulls(rows) else zeros)  # not counted
    terms: list[nw.Expr] = []
    for place, value in enumerate(query.values):
        index = nw.col(f"index_{place}")
        there = counts if place in query.needed else counts & (index >= 0) if query.needed else index >= 0
        null = nulls and value in query.read and query.needed <= {place}
        one = index if null and query.needed and not few else one
        terms.append((index if null else nw.when(there).then(index).otherwise(zeros)).alias(f"t_{place}"))
        if any((place, 0) in monomial for monomial in query.monomials):
            terms.append(nw.when(there).then(ones).otherwise(zeros).alias(f"there_{place}"))
    asked = added_up(rows.select("level", one.alias("one"), *terms, *named), query, few=few)
    return _with_others(asked, frame, chosen)


def _with_products(rows: nw.LazyFrame[Any], query: SumsQuery, named: list[nw.Expr]) -> nw.LazyFrame[Any]:
    """Return the rows with the index of each value of the query, from those of what is read."""
    import narwhals.stable.v2 as nw

    if query.read == query.values:
        return rows
    of: dict[Value, nw.Expr] = {part: nw.col(f"index_{place}") for place, part in enumerate(query.read)}
    # A step of their own: written out within a square, which names them many times, they exceed SQLite's statements.
    parts = (part for value in query.values if isinstance(value, ClippedSquare) for part in value.values)
    inner = {part: _index(part, of) for part in parts if part not in of}
    if inner:
        rows = rows.with_columns(*[made.alias(f"inner_{place}") for place, made in enumerate(inner.values())])
        of |= {value: nw.col(f"inner_{place}") for place, value in enumerate(inner)}
    indices = [_index(value, of).alias(f"index_{place}") for place, value in enumerate(query.values)]
    return rows.select(*indices, "level", *named)


def _index(value: Value, of: dict[Value, nw.Expr]) -> nw.Expr:
    """Return the index of a value, −1 where a part of it is missing, from those of what is read or made before."""
    import narwhals.stable.v2 as nw

    if value in of or isinstance(value, (ValueOnGrid, Indicator)):
        return of[value]
    if isinstance(value, Weighted):
        inner = _index(value.value, of)
        there, index = inner >= 0, value.index(of[value.weight], inner)
    else:
        there = reduce(and_, [of[part] >= 0 for part in value.parts])
        if isinstance(value, ClippedSquare):
            index = _share(value, of)
        elif isinstance(value, ColumnProduct):
            index = value.index([of[part] for part in value.parts])
        else:
            index = _shrunk(value, [of[part] for part in value.parts])
    return nw.when(there).then(index).otherwise(nw.lit(-1, nw.Int64))


def _share(value: ClippedSquare, of: dict[Value, nw.Expr]) -> nw.Expr:
    """Return `ClippedSquare.share`: quotients of numbers below 2⁵² round to no other integer in doubles."""
    import narwhals.stable.v2 as nw

    combined = nw.lit(value.constant, nw.Int64)
    if value.values:
        combined = value.combined([_index(term, of) for term in value.values])
    most = nw.lit(2**value.bits, nw.Int64)
    clipped = nw.when(combined.abs() < most).then(combined.abs()).otherwise(most)
    clipped = clipped if value.weight is None else clipped * of[value.weight]
    steps = ((2 * clipped + value.step).cast(nw.Float64) / float(2 * value.step)).floor().cast(nw.Int64)
    return steps * steps


def _shrunk(value: InBall, indices: list[nw.Expr]) -> nw.Expr:
    """Return `InBall.shrunk_index`: of squares below 2⁵⁰ roots and quotients in doubles round to no other integer."""
    import narwhals.stable.v2 as nw

    centred = [2 * index - (part.size - 1) for part, index in zip(value.parts, indices, strict=True)]
    squares = reduce(add, [q * q for q in centred])
    ones, zeros = nw.lit(1, nw.Int64), nw.lit(0, nw.Int64)
    long = squares > value.reach**2
    if value.place is None:
        return nw.when(long).then(ones).otherwise(zeros)
    q = centred[value.place]
    length = nw.when(long).then(squares).otherwise(ones).cast(nw.Float64).sqrt().ceil()
    size = (q.abs() * value.reach).cast(nw.Float64) / length
    inside = nw.when(long).then(size.floor().cast(nw.Int64)).otherwise(q.abs())
    return nw.when(q >= 0).then(inside + value.reach).otherwise(value.reach - inside)


def _add_up_units(rows: nw.LazyFrame[Any], query: SumsQuery, key: bytes | None) -> Asked[GridSums]:
    """Ask for sums over units of several rows, each by its totals t_0, …, and the number of its rows behind them."""
    import narwhals.stable.v2 as nw

    inside = rows.filter(nw.col("known"), nw.col("level") >= 0)
    values = [f"index_{place}" for place in range(len(query.values))]
    counting = inside.filter(nw.col("counts")).select(UNIT, "level", *values)
    units = units_of(counting, values, query.unit, key, many=bool(query.by))
    totals = [*(f"sum_{place}" for place in range(len(values))), "rows"]
    units, totals = scores_of(units, query, totals)
    counted = [nw.col(name).alias(f"t_{place}") for place, name in enumerate(totals)]
    ones = [nw.lit(1, nw.Int64).alias(name) for name in ("one", *(f"there_{i}" for i in range(len(totals))))]
    by_cell = units.select("level", *counted, *ones)
    asked = added_up_side_by_side(units, query, totals) if query.across else added_up(by_cell, query)
    if query.missing is not Missing.DECLARED_COMPLETE:
        return asked

    def with_missing(sums: GridSums, missing: tuple[Integers, Integers]) -> GridSums:
        sums.missing[missing[0]] = missing[1]
        return sums

    missing = occurrences(inside.filter(~nw.col("counts")).select(nw.col("level").alias("key")))
    return asked.beside(missing, with_missing)


def _placed(
    rows: nw.LazyFrame[Any], query: Query | SumsQuery, columns: dict[str, str], engine: str | None
) -> dict[str, nw.Expr]:
    """Return ``there_0``, …, whether a value is present, and ``position_0``, …, its place on the grid or its truth."""
    import narwhals.stable.v2 as nw

    if not query.read:
        # Without any column in it an expression is one row long; groups alone make it as long as the frame.
        return {} if query.by else {"there_0": nw.col(value_column(0)).is_null()}

    wholes = whole_columns(rows)
    apart = partial(distance, bounds_first=engine == "postgres") if engine else lambda x, grid: x - float(grid.lower)

    def placed(place: int, asked: ValueOnGrid | Indicator) -> tuple[nw.Expr, nw.Expr]:
        value = nw.col(value_column(place))
        if not isinstance(asked, Indicator):
            return present(value), _position(apart(value, asked.grid), value, asked.grid)
        wanted = comparable(asked.column, asked.value, kind_of_column(asked.column, columns))
        whole = value_column(place) in wholes
        there = ~value.is_null() if whole or isinstance(wanted, str) else present(value)
        return there, value == literal(wanted, whole=whole)

    each = [placed(place, value) for place, value in enumerate(query.read)]
    theres = {f"there_{place}": there for place, (there, _) in enumerate(each)}
    return theres | {f"position_{place}": position for place, (_, position) in enumerate(each)}


def _position(apart: nw.Expr, value: nw.Expr, grid: Grid) -> nw.Expr:
    """Return (x − L)/step + ½ of x − L (private_bootstrap.md §1).

    Each operation rounds monotonically, so to clamp this to 0..m afterwards is to clamp x to [L, U] before. The latter
    is done where an engine raises at a result beyond the doubles (`checked.distance`).
    """
    if grid.step == 1:
        return apart + 0.5
    # Polars divides by a constant as it multiplies by the rounded reciprocal, one unit in the last place off. A
    # divisor that is a column is divided by truly, and 0·x + step is step for every finite x.
    return apart / (value * 0.0 + float(grid.step)) + 0.5


def _indices(query: Query | SumsQuery, placed: dict[str, nw.Expr], *, nulls: bool, clamped: bool) -> list[nw.Expr]:
    """Return ``index_0``, …: each value's grid index t ∈ {0..m} by its `_placed`, or what it is where it is missing."""
    import narwhals.stable.v2 as nw

    if not query.read:
        zero = nw.lit(0, nw.Int64)
        return [(zero if query.by else nw.when(placed["there_0"]).then(zero).otherwise(zero)).alias("index_0")]

    def absent(value: ValueOnGrid | Indicator) -> int | None:
        if isinstance(value, WeightOnGrid):
            return 0
        if isinstance(query, SumsQuery) and query.missing is Missing.MIDPOINT:
            return (value.size - 1) // 2
        return None if nulls and isinstance(query, SumsQuery) and query.unit is None else -1

    def on_grid(place: int, value: ValueOnGrid | Indicator) -> nw.Expr:
        there, position = placed[f"there_{place}"], placed[f"position_{place}"]
        if isinstance(value, Indicator):
            equal = nw.when(position).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
            return nw.when(there).then(equal).otherwise(nw.lit(absent(value), nw.Int64))
        fill = None if (missing := absent(value)) is None else nw.lit(float(missing))
        if not clamped:  # DuckDB is slower by a sixth where this is written as `clip`
            least, most = nw.lit(0.0), nw.lit(float(value.grid.steps))
            above = nw.when(position < least).then(least).otherwise(position)
            position = nw.when(there).then(nw.when(position > most).then(most).otherwise(above)).otherwise(fill)
        elif fill is not None:
            position = nw.coalesce(position, fill)
        # Floored last: Spark's floor is an integer, and raises an error where a missing or distant value has none.
        return position.floor().cast(nw.Int64)

    return [on_grid(place, value).alias(f"index_{place}") for place, value in enumerate(query.read)]
