"""Ibis tables: what a database needs beyond a frame, and the SQL that is sent to it. The only door to Ibis.

Databases differ from frames in four ways. Texts may be compared by a collation, so they get a binary one. SQLite keeps
any value in a column of any type, so each cell is looked at. Whole numbers in SQL may have 32 bits, and 1.5 may be a
decimal, so constants become integers of 64 bits, and doubles. Where a sum may have 64 bits only, sums are taken of
pieces: an engine that does not say so when a sum wraps around must never come near.

A question as an engine is sent it, and its rows, read out in each engine's way: no second frame library is needed.

Building and sending are two steps, so that what is sent can be shown, word by word, before it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import mul
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from hedgerow.engines.cells import cells_of
from hedgerow.engines.schema import TEXT, as_declared
from hedgerow.errors import DataError, ParameterError
from hedgerow.formats import quoted_name, quoted_text
from hedgerow.resampling.counted_values import Integers, ValueCounts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.schema import Comparable


KNOWN = ("bigquery", "databricks", "duckdb", "postgres", "snowflake", "sqlite")
"""The engines whose comparisons, casts and sums were looked at; docs/how_to/databases.md says which were run."""

# Bits of what is added up: 2³² pieces of 31 bits, or 2⁴² of 21, have a sum within 63 bits. Warehouses may have more
# than 2³² records, and Databricks may wrap around without a word.
_PIECES = {"bigquery": 21, "databricks": 21}
_HALF = 31
_WIDE = ("postgres", "snowflake")  # a sum of integers has no limit, or 38 digits
# What no engine has under one name, replaced in the tree of a statement.
_BINARY, _DIGEST = "hedgerow_binary", "hedgerow_digest"
_SHORT_INTEGERS = ("postgres", "databricks")  # an integer that is written out has 32 bits there
_DECIMALS = ("snowflake", "databricks")  # a number with a point is a decimal there, and 1.0 / 3.0 has six digits
# BigQuery has no such statement, and Databricks writes what is wrong into its answer.
_EXPLAINED = ("duckdb", "postgres", "snowflake", "sqlite")
_TABLES_OF_VALUES = ("duckdb", "postgres", "sqlite")
_FENCE = 2**62  # rows: more than any table has
_LISTED = 1000  # categories that are written out where there is no such table: a query may have a megabyte


class ProductSQL(NamedTuple):
    """A product of columns: one or two lists of them, each with a product below 2⁶², and the bits that one may have."""

    parts: list[list[str]]
    bits: int


def engine_of(table: Any) -> str:
    """Return which engine holds an Ibis table (HG202 for one that was not looked at)."""
    name = str(table.get_backend().name)
    if name not in KNOWN:
        raise DataError(
            "HG202",
            rule=f"An Ibis table is one of {', '.join(KNOWN)}.",
            finding=f"Its engine is {name}, whose arithmetic and comparisons were not examined.",
            remedy="Export the needed columns to a Parquet file, and open the Parquet file.",
        )
    return name


def check_listed(table: Any, categories: int) -> None:
    """Refuse more categories of one column than the engine's query has room for (HG107)."""
    engine, others = engine_of(table), ", ".join(name for name in KNOWN if name not in _TABLES_OF_VALUES)
    if engine not in _TABLES_OF_VALUES and categories > _LISTED:
        raise ParameterError(
            "HG107",
            rule=f"In {others} a column has at most {_LISTED:,} categories.",
            finding=f"Found {categories:,} in {engine}: its query may be too long to be sent.",
            remedy="Declare fewer categories, or export the needed columns to a Parquet file and open that file.",
        )


def table_of(connection: Any, engine: str, name: str, schema: str | None, columns: dict[str, str]) -> Any:
    """Return a table of an open connection; `columns` gives Ibis' types where the engine itself declares none."""
    import ibis

    backend = getattr(ibis, engine).from_connection(connection)
    if not columns:
        return backend.table(name, database=schema)
    listed = ", ".join(map(quoted_name, columns))
    return backend.sql(f"SELECT {listed} FROM {quoted_name(name)}", schema=ibis.schema(columns))


@cache
def _marked(name: str) -> Callable[[Any], Any]:
    import ibis

    def text_of(text: str) -> str: ...  # type: ignore[empty-body]  # Ibis reads its annotations alone

    text_of.__annotations__ = {"text": str, "return": str}
    marked: Callable[[Any], Any] = ibis.udf.scalar.builtin(text_of, name=name)
    return marked


@cache
def _current_setting() -> Callable[..., Any]:
    import ibis

    def current_setting(setting: str, missing_ok: bool) -> str: ...  # type: ignore[empty-body]  # as `_marked`

    current_setting.__annotations__ = {"setting": str, "missing_ok": bool, "return": str}
    marked: Callable[..., Any] = ibis.udf.scalar.builtin(current_setting)
    return marked


def setting(name: str) -> Any:
    """Return a setting of a session of PostgreSQL, as an expression; an empty text where there is none of this name."""
    return _current_setting()(name, True).fill_null("")


def prepared(table: Any, needed: Sequence[str]) -> Any:
    """Return the needed columns: texts compared byte by byte; in SQLite, null where a cell is not of its column's type.

    No cell changes what another becomes, and none can make the engine fail.
    """
    import ibis

    sqlite = engine_of(table) == "sqlite"
    chosen = {}
    for name in needed:
        column = table[name]
        text = column.type().is_string()
        if sqlite:
            dated = column.type().is_date() or column.type().is_timestamp()
            held = column.typeof().isin(["text"] if text or dated else ["integer", "real"])
            # SQLite takes a time or a number for a moment of some day.
            held = held & column.cast("string").like("____-__-__%") if dated else held
            column = ibis.cases((held, column))
        chosen[name] = _marked(_BINARY)(column) if text else column
    return table.select(**chosen)


def fenced(table: Any) -> Any:
    """Return a table whose columns PostgreSQL and SQLite compute before they use them.

    They would put their expressions in the place of their names otherwise, and compute each as often as it is named: in
    expressions of expressions, exponentially often. PostgreSQL reads behind a limit by one worker, and behind
    ``OFFSET '0'`` by several: of ``OFFSET 0`` its planner does not see that no row is left out, since 0 has 32 bits.
    """
    return table.limit(_FENCE) if engine_of(table) in ("postgres", "sqlite") else table


def statement(table: Any, dialect: str | None = None) -> str:
    """Return the SQL that is sent for an Ibis table, in lines: of its engine, or of another dialect."""
    if dialect is not None:
        return _printed(table.unbind(), dialect)
    # Made once for what is planned and then read: to make a text takes longer than many a server takes to answer.
    text = _TEXTS.get(table.op())
    if text is None:
        text = _TEXTS[table.op()] = _printed(table, engine_of(table))
    return text


_TEXTS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def _printed(table: Any, engine: str) -> str:
    import ibis.backends.sql.compilers as compilers
    from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

    compiler = getattr(compilers, engine).compiler
    tree = compiler.to_sqlglot(table).transform(_mended(engine))
    tree = tree.transform(_read_by_several) if engine == "postgres" else tree
    # The parser of SQLite has a stack of 100 places before version 3.46, which deeply nested queries overflow.
    tree = eliminate_subqueries(tree) if engine == "sqlite" else tree
    return str(tree.sql(dialect=compiler.dialect, pretty=True))


def _read_by_several(node: Any) -> Any:
    """Replace the limit of `fenced` by what lets several workers of PostgreSQL read."""
    from sqlglot import expressions as sql

    fence = isinstance(node, sql.Limit) and str(node.expression) == str(_FENCE)
    return sql.Offset(expression=sql.Literal.string("0")) if fence else node


def _mended(engine: str) -> Callable[[Any], Any]:
    """Return what replaces a node of a statement by what this engine needs in its place."""
    from sqlglot import expressions as sql

    # Not those of `GROUP BY 1`, `LIMIT 1` and `DECIMAL(38, 0)`.
    computed = (sql.If, sql.Case, sql.Neg, sql.Binary, sql.Paren, sql.Alias)
    shifts = (sql.BitwiseRightShift, sql.BitwiseLeftShift)  # by an integer of 32 bits

    unknown = type(sql.func(_DIGEST))  # a call of a function that is written as it stands

    def call(name: str, *given: Any) -> Any:
        return unknown(this=name, expressions=list(given))

    def binary(text: Any) -> Any:
        if engine == "postgres":
            # A fixed-length text is padded, and compared without its blanks, until it is a text.
            plain = sql.Cast(this=text, to=sql.DataType.build("text"))
            return sql.Collate(this=plain, expression=sql.to_identifier("C", quoted=True))
        if engine in ("bigquery", "databricks"):
            # A text that was made of octets has no collation.
            octets = sql.Cast(this=text, to=sql.DataType.build("binary"))
            return sql.Cast(this=octets, to=sql.DataType.build("text"))
        if engine == "snowflake":
            return call("COLLATE", text, sql.Literal.string("utf8"))
        return sql.Collate(this=text, expression=sql.Var(this="BINARY")) if engine == "sqlite" else text

    def digest(text: Any) -> Any:
        if engine == "postgres":
            octets = call("SHA256", call("CONVERT_TO", text, sql.Literal.string("UTF8")))
            return call("ENCODE", octets, sql.Literal.string("hex"))
        if engine == "bigquery":
            return call("TO_HEX", call("SHA256", text))
        if engine in ("snowflake", "databricks"):
            return call("SHA2", text, sql.Literal.number(256))
        if engine == "duckdb":
            return call("SHA256", text)
        # SQLite gives Python a text only where it is Unicode.
        return call(_DIGEST, sql.Cast(this=text, to=sql.DataType.build("blob")))

    def mended(node: Any) -> Any:
        if isinstance(node, unknown):
            name = str(node.this).lower()
            if name in (_BINARY, _DIGEST):
                (given,) = node.expressions
                return sql.Paren(this=(binary if name == _BINARY else digest)(given.transform(mended)))
        if (
            isinstance(node, sql.Literal)
            and node.is_int
            and engine in _SHORT_INTEGERS
            and isinstance(node.parent, computed)
            and not isinstance(node.parent, shifts)
        ):
            return sql.Cast(this=node.copy(), to=sql.DataType.build("bigint"))
        if isinstance(node, sql.Literal) and not node.is_string and not node.is_int and engine in _DECIMALS:
            return sql.Cast(this=node.copy(), to=sql.DataType.build("double"))
        if isinstance(node, sql.Window) and not node.args.get("order"):
            # Without an order it is the whole partition; not every engine takes a frame of it.
            return sql.Window(this=node.this.transform(mended), partition_by=node.args.get("partition_by"))
        return node

    return mended


def explain(table: Any) -> None:
    """Let the engine plan the statement of a table, which it does not run; nothing is sent to one that cannot."""
    if engine_of(table) in _EXPLAINED:
        rows_of(table, "EXPLAIN ")


def rows_of(table: Any, verb: str = "") -> list[tuple[Any, ...]]:
    """Send the statement of a table, after a `verb` if there is one, and return the rows of the answer."""
    backend = table.get_backend()
    # It lets the engine see the frames in memory that a caller's own expression names.
    backend._run_pre_execute_hooks(table)
    if backend.name == "sqlite":
        backend.con.create_function(_DIGEST, 1, _digest, deterministic=True)
    answer = backend.raw_sql(verb + statement(table))
    rows = [tuple(row) for row in (answer.fetchall() if hasattr(answer, "fetchall") else answer)]
    if backend.name != "duckdb" and hasattr(answer, "close"):  # DuckDB answers with the connection itself
        answer.close()
    return rows


def pieces_of(table: Any, rows: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a table, so many at once, where the engine lets them be read one after another."""
    backend = table.get_backend()
    if backend.name != "postgres":
        backend._run_pre_execute_hooks(table)
        cursor = backend.raw_sql(statement(table))
    else:
        # A cursor with a name stays on the server: any other one sends all rows at once.
        cursor = backend.con.cursor("hedgerow")
        cursor.execute(statement(table))
    while piece := cursor.fetchmany(rows):
        yield piece
    if backend.name != "duckdb":  # DuckDB answers with the connection itself
        cursor.close()


def texts_of(counted: Any) -> list[tuple[Any, ...]]:
    """Return the rows of columns ``key``, texts, and ``records``; a text that is no Unicode in SQLite stops nothing."""
    if engine_of(counted) != "sqlite":
        return rows_of(counted)
    pairs = rows_of(counted.mutate(key=counted["key"].cast("binary")))
    return [(bytes(key).decode("utf-8", "surrogateescape"), records) for key, records in pairs]


def _digest(octets: bytes | None) -> str | None:
    return None if octets is None else hashlib.sha256(octets).hexdigest()


def summed(
    rows: Any, products: Sequence[ProductSQL], records: str | None = None, *, by: bool
) -> tuple[Any, Callable[[Sequence[Any]], list[list[int]]]]:
    """Return the table of what is added up by ``level``, and what makes of its rows level, records, sums, exact.

    `records` names the column of how many records a row stands for, None where each row is a record. Not `by` level,
    there is one row, of the only level. ``one`` is null where a record does not count: to count it takes less than to
    add it up.
    """
    engine = engine_of(rows)
    terms_of = [_terms(rows, product, engine) for product in products]
    wide = "decimal(38, 0)" if engine in _WIDE else "int64"

    def added(product: ProductSQL, term: Any) -> Any:
        if records is not None:
            return (term.cast(wide) * rows[records]).sum()
        return term.count() if product.parts == [["one"]] else term.sum()

    sums = [added(product, term) for product, each in zip(products, terms_of, strict=True) for term, _ in each]
    every = rows.count() if records is None else rows[records].sum()
    named = {f"sum_{place}": total for place, total in enumerate(sums)}

    def totals(answer: Sequence[Any]) -> list[list[int]]:
        # Sums of no row are null.
        rows = [[int(number or 0) for number in (row if by else (0, *row))] for row in answer]
        read = iter([row[place] for row in rows] for place in range(2 + len(sums)))
        level, records = next(read), next(read)
        shifted = [[[number << shift for number in next(read)] for _, shift in terms] for terms in terms_of]
        return [level, records, *([sum(row) for row in zip(*parts, strict=True)] for parts in shifted)]

    return (rows.group_by("level") if by else rows).aggregate(records=every, **named), totals


def _terms(rows: Any, product: ProductSQL, engine: str) -> list[tuple[Any, int]]:
    """Return columns of integers whose sums the engine has room for, and by how much to shift the sum of each."""
    factors = [reduce(mul, [rows[name] for name in part]) for part in product.parts]
    if engine in _WIDE:
        return [(factors[0] if len(factors) == 1 else factors[0].cast("decimal(38, 0)") * factors[1], 0)]
    size = _PIECES.get(engine, _HALF)
    if len(factors) == 1:
        return _pieces(factors[0], product.bits, size)
    first, second = (_pieces(factor, 62, size) for factor in factors)
    pairs = [(a * b, i + j) for a, i in first for b, j in second]
    return [(piece, shift + more) for pair, shift in pairs for piece, more in _pieces(pair, 2 * size, size)]


def _pieces(number: Any, bits: int, size: int) -> list[tuple[Any, int]]:
    """Return the pieces of a number from 0 on, and where each begins; the last holds whatever lies above."""
    starts = range(0, max(bits, 1), size)
    shifted = [number >> start if start else number for start in starts]
    return [
        *((piece & (2**size - 1), start) for piece, start in zip(shifted[:-1], starts, strict=False)),
        (shifted[-1], starts[-1]),
    ]


def with_digest(rows: Any, text: str, name: str) -> Any:
    """Return the rows with a column more: the SHA-256 of a column of texts, in an order that is that of its octets."""
    return rows.mutate(**{name: _marked(_DIGEST)(rows[text])})


def mark_apart(texts: Sequence[str]) -> str:
    """Return a character that none of the texts has: one text is parsed far faster than a list of thousands.

    >>> mark_apart(["a", "b,c"]), mark_apart(["a", "b|c"])
    ('|', ',')
    """
    used = {*"".join(texts), "'", "\\"}
    return next(mark for mark in (",", "|", ";", *map(chr, range(1, 2**16))) if mark not in used)


def table_of_values(rows: Any, values: Sequence[Comparable], key: str, level: str) -> Any | None:
    """Return a table of declared values and their places, of the engine of some rows; None where it knows no such."""
    import ibis

    engine = engine_of(rows)
    if engine not in _TABLES_OF_VALUES:
        return None
    text = isinstance(values[0], str)
    listed = [value if isinstance(value, str) else value + 0.0 for value in values]
    names = f"AS {quoted_name(key)}", f"AS {quoted_name(level)}"
    if engine == "sqlite":
        # ASCII alone: a text of JSON then holds no sign that is read in another way.
        query = f"SELECT value {names[0]}, key {names[1]} FROM json_each({quoted_text(json.dumps(listed))})"
    else:
        texts = [value if isinstance(value, str) else repr(value) for value in listed]
        mark = mark_apart(texts)
        value = "v" if text else "CAST(v AS DOUBLE PRECISION)"
        split = f"string_to_array({quoted_text(mark.join(texts))}, {quoted_text(mark)})"
        query = f"SELECT {value} {names[0]}, o - 1 {names[1]} FROM unnest({split}) WITH ORDINALITY AS u(v, o)"
    schema = ibis.schema({key: "string" if text else "float64", level: "int64"})
    return rows.get_backend().sql(query, schema=schema)


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Asked(Generic[A]):
    """A question that was built and not sent.

    Attributes
    ----------
    sent : tuple of (frame, callable)
        What the engine computes, in this order, and how the rows of each are read.
    answer : callable
        Makes the answer of all that was read.
    """

    sent: tuple[tuple[Any, Callable[[Any], Any]], ...]
    answer: Callable[..., A]

    def found(self) -> A:
        """Send it, and return the answer."""
        return self.answer(*(read(frame) for frame, read in self.sent))

    def explain(self) -> None:
        """Let a database or Spark plan it: tables, columns and rights are looked up, and no value is read."""
        for frame, _ in self.sent:
            native = _native(frame)
            if hasattr(native, "selectExpr"):
                _ = native.schema  # Spark Connect looks nothing up before
            else:
                explain(native)

    def texts(self) -> list[str]:
        """Return the SQL that is sent: by DuckDB, or for an Ibis table."""
        return [_text(frame) for frame, _ in self.sent]

    def then(self, made: Callable[[A], B]) -> Asked[B]:
        """Return the question whose answer is made of this one's."""
        return Asked(self.sent, lambda *read: made(self.answer(*read)))

    def beside(self, other: Asked[B], made: Callable[[A, B], C]) -> Asked[C]:
        """Return this question and, after it, another one, with one answer made of both."""
        first = len(self.sent)
        return Asked(
            (*self.sent, *other.sent),
            lambda *read: made(self.answer(*read[:first]), other.answer(*read[first:])),
        )


def _native(frame: Any) -> Any:
    # Asked of its class: a frame of Spark Connect takes any name for a column.
    return frame.to_native() if hasattr(type(frame), "to_native") else frame


def _text(frame: Any) -> str:
    native = _native(frame)
    # DuckDB sends exactly this text since 2.0; before, it runs the tree that prints as this text.
    return str(native.sql_query()) if hasattr(native, "sql_query") else statement(native)


def asked_values(counted: nw.LazyFrame[Any], kind: str) -> Asked[ValueCounts]:
    """Return the question for the columns ``key`` and ``records``, without values that no category can be.

    Memory grows with the number of different values. No number of them is too many: a refusal would tell of the last
    record.
    """
    return Asked(((counted, lambda frame: _read_values(frame, kind)),), lambda answer: answer)


def asked_counts(counted: nw.LazyFrame[Any]) -> Asked[tuple[Integers, Integers]]:
    """Return the question for the columns ``key`` and ``records`` of a counted frame, both whole numbers."""
    named = counted.select("key", "records") if counted.implementation.is_ibis() else counted
    return Asked(((named, _read_counts),), lambda answer: answer)


def _read_values(counted: nw.LazyFrame[Any], kind: str) -> ValueCounts:
    engine = counted.implementation
    if engine.is_duckdb() or engine.is_spark_like() or engine.is_ibis():
        native: Any = counted.select("key", "records").to_native()
        if engine.is_ibis():
            pairs = texts_of(native) if kind == TEXT else rows_of(native)
        else:
            pairs = native.fetchall() if engine.is_duckdb() else list(zip(*_by_arrow(native), strict=True))
        keys, records = [pair[0] for pair in pairs], np.array([pair[1] for pair in pairs], dtype=np.int64)
    else:
        held = counted.collect()
        keys, records = cells_of(held["key"].to_native()).tolist(), np.asarray(held["records"].to_numpy(), np.int64)
    declared = as_declared(keys, kind)
    places = [place for place, value in enumerate(declared) if value is not None]
    return ValueCounts([value for value in declared if value is not None], records[places])


def _read_counts(counted: nw.LazyFrame[Any]) -> tuple[Integers, Integers]:
    if counted.implementation.is_duckdb():
        arrays = counted.to_native().fetchnumpy()
        return np.asarray(arrays["key"], np.int64), np.asarray(arrays["records"], np.int64)
    if counted.implementation.is_spark_like():
        key, records = (np.asarray(column, np.int64) for column in _by_arrow(counted.to_native()))
        return key, records
    if counted.implementation.is_ibis():
        rows = rows_of(counted.to_native())
        integers = np.array([[int(number) for number in row] for row in rows], dtype=np.int64).reshape(len(rows), 2)
        return integers[:, 0], integers[:, 1]
    collected = counted.collect()
    return np.asarray(collected["key"].to_numpy(), np.int64), np.asarray(collected["records"].to_numpy(), np.int64)


def _by_arrow(counted: Any) -> list[list[Any]]:
    """Return the columns ``key`` and ``records`` of a Spark frame, not row by row; Spark Connect has this call too."""
    table = counted.select("key", "records").toArrow()
    return [table["key"].to_pylist(), table["records"].to_pylist()]
