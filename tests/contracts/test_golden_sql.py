"""The SQL that a warehouse is sent, of every kind of question, as it was reviewed: `golden/*.sql`, a file a dialect.

``python -m tests.contracts.test_golden_sql`` writes the files anew; a change must be read before it is kept.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from tests.contracts.test_shown_query import planned

import hedgerow as hg
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.query import (
    ClippedSquare,
    ColumnProduct,
    InBall,
    Indicator,
    JointGrid,
    Query,
    SumsQuery,
    ValueOnGrid,
    Weighted,
    WeightOnGrid,
)
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Category, Grid
from hedgerow.facts.relation import UnitLimit
from hedgerow.resampling.counted_values import GridSums

DIALECTS = ("bigquery", "snowflake", "databricks")
GOLDEN = Path(__file__).parent / "golden"
TYPES = {"age": "float64", "pay": "float64", "sex": "int64", "job": "string", "person": "int64", "w": "float64"}
TYPES |= {"rate": "decimal(12, 2)", "employed": "boolean", "name": "string"}


def value(column: str, low: float, high: float, step: float) -> ValueOnGrid:
    return ValueOnGrid(column, Grid.from_bounds(column, (low, high), step))


AGE, PAY = value("age", 0, 100, 1), value("pay", 0, 1000, 0.125)
FINE = ValueOnGrid("age", Grid(Fraction(0), Fraction(100), 2**40))
WEIGHT = WeightOnGrid("w", Grid.from_bounds("w", (0, 8), 0.5))
BY_JOB = Category.declared("job", ["nurse", 'O\'Brien \\ so\n"n"', "é"])
BY_SEX = Category.declared("sex", [0, 1])
SQUARES = (((0, 1),), ((0, 2),), ((0, 1), (1, 1)), ((1, 2),))
TOGETHER = (AGE, value("rate", 0, 50, 0.5))
PRODUCT = ColumnProduct(((AGE, 2), (PAY, 1), (Indicator("sex", 1), 1)))
BY_PLAN = ("count by few groups", "share where", "mean", "quantiles beside means", "bands")
BY_HAND: dict[str, Query | SumsQuery] = {
    "sums of squares beyond 64 bits": SumsQuery((FINE,), (((0, 1),), ((0, 2),)), (BY_JOB,), frozenset([0])),
    "cross moments": SumsQuery((AGE, PAY), SQUARES, (BY_SEX,), frozenset([0, 1])),
    "decimals and booleans": SumsQuery((TOGETHER[1], Indicator("employed", 1)), SQUARES, (), frozenset([0])),
    "weighted": SumsQuery((WEIGHT, Weighted(PAY, WEIGHT)), SQUARES, (), frozenset([0, 1])),
    "a product of values": SumsQuery((PRODUCT, PAY), SQUARES, (), frozenset([0])),
    "counts by many groups": Query(None, by=(Category.declared("job", [*"abcdefghijk"]),)),
    "into a ball": SumsQuery(
        tuple(InBall(TOGETHER, place, 60) for place in (0, None)), SQUARES[:1], (), frozenset([0, 1])
    ),
    "clipped squares": SumsQuery((ClippedSquare((AGE, PAY), (3, -7), 11, 9),), (((0, 1),),), (), frozenset([0])),
    "two values of a table of counts": Query(JointGrid((AGE, PAY))),
    "units of several rows": SumsQuery((AGE,), (((0, 1),), ((0, 2),)), (BY_JOB,), frozenset([0]), UnitLimit("name", 2)),
    "units counted": Query(None, unit=UnitLimit("person", 1)),
}


_BINARY = r"""COLLATE\(([^,]+), 'utf8'\)|CAST\(CAST\(([^ ]+) AS (?:BINARY|BYTES)\) AS STRING\)"""


@dataclass(frozen=True)
class Engine:
    """What stands for a connection that nobody has: a name, by which the SQL is compiled."""

    name: str

    def _run_pre_execute_hooks(self, table: Any) -> None:
        """Do nothing: there is nothing in memory."""


def warehouse(engine: str) -> Any:
    """Return a table of a warehouse that is not there."""
    ibis = pytest.importorskip("ibis", reason="ibis is not installed: its SQL is not tested here")
    import ibis.expr.operations as ops

    schema, nowhere = ibis.schema(TYPES), ops.Namespace()
    return ops.DatabaseTable(name="people", schema=schema, source=Engine(engine), namespace=nowhere).to_expr()


def texts(engine: str) -> Iterator[tuple[str, str]]:
    source = open_source(warehouse(engine))
    for name in BY_PLAN:
        for text in replace(planned(name), source=source).query():
            yield name, text
    for name, query in BY_HAND.items():
        for text in source.statements(query):
            yield name, text


def golden(engine: str) -> str:
    return "\n\n".join(f"-- {name}\n{text};" for name, text in texts(engine)) + "\n"


@pytest.mark.databases
@pytest.mark.parametrize("engine", DIALECTS)
def test_the_sql_is_the_one_that_was_reviewed(engine: str) -> None:
    assert golden(engine) == (GOLDEN / f"{engine}.sql").read_text(), "read the change, then write the file anew"


def people(rows: int = 400) -> pa.Table:
    """Return records with missing, extreme, tied and odd cells."""
    rng = np.random.default_rng(5)
    age, pay = rng.integers(-3, 110, rows).astype(float) + 0.5, rng.lognormal(5, 1, rows)
    age[:6], pay[3:7] = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324], [np.inf, np.nan, 0.0, 1000.0]
    listed = rng.integers(0, 4, rows)
    names = ["nurse", 'O\'Brien \\ so\n"n"', "é", "Nurse"]
    numbers = [Fraction(int(one), 100) for one in rng.integers(-500, 12_000, rows)]
    decimals = pa.array([float(one) for one in numbers], pa.float64()).cast(pa.decimal128(12, 2))
    missing = [None if place % 11 == 0 else float(one) for place, one in enumerate(pay)]
    return pa.table(
        {
            "age": pa.array(age),
            "pay": pa.array(missing, pa.float64(), from_pandas=False),
            "sex": pa.array(rng.integers(0, 3, rows), pa.int64()),
            "job": pa.array([None if place % 13 == 0 else names[one] for place, one in enumerate(listed)]),
            "person": pa.array(np.arange(rows) // 2),
            "w": pa.array(rng.uniform(-1, 10, rows)),
            "rate": decimals,
            "employed": pa.array([None if place % 7 == 0 else place % 3 == 0 for place in range(rows)]),
            "name": pa.array([None if place % 17 == 0 else f"n{place // 3}" for place in range(rows)]),
        }
    )


def asked() -> dict[str, Query | SumsQuery]:
    """Return every question."""
    found = dict(BY_HAND)
    for name in BY_PLAN:
        for query in planned(name).questions():
            found[name + type(query).__name__] = query
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, GridSums):
        sums = ({name: total.tolist() for name, total in found.sums.items()} for found in (one, other))
        return next(sums) == next(sums) and one.missing.tolist() == other.missing.tolist()
    kept = ((x.cell.tolist(), x.index.tolist(), x.count.tolist(), x.missing.tolist(), x.outside) for x in (one, other))
    return next(kept) == next(kept)


def check_answers(engine: str, rows_of: Any, names: str = "") -> None:
    """Check that a warehouse's SQL, run by `rows_of`, gives the integers that rows in memory give."""
    here, there = open_source(people()), open_source(warehouse(engine))
    with mock.patch.object(ibis_tables, "rows_of", rows_of):
        for name, query in asked().items():
            if names not in name:
                continue
            if isinstance(query, SumsQuery):
                assert same(there.sums(query, key=b"key"), here.sums(query, key=b"key")), name
            else:
                assert same(there.histogram(query, key=b"key"), here.histogram(query, key=b"key")), name


@pytest.mark.spark
def test_what_databricks_is_sent_gives_the_same_integers_in_spark(spark: Any) -> None:
    """Spark's SQL is that of Databricks, but for what Databricks adds; with ANSI mode, and without."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.createDataFrame(people()).createOrReplaceTempView("people")

    def rows_of(table: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(ibis_tables.statement(table)).collect()]

    for ansi, names in (("false", "beyond 64 bits"), ("true", "")):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        check_answers("databricks", rows_of, names)


@pytest.mark.databases
@pytest.mark.parametrize("engine", DIALECTS)
def test_the_sql_translated_for_duckdb_gives_the_same_integers(engine: str) -> None:
    """No proof of what a warehouse computes, but none of its steps is left out, and none is another."""
    import duckdb
    import sqlglot

    with duckdb.connect() as connection:
        connection.register("people", people())
        for name in ("ieee_divide", "try_divide"):
            connection.execute(f"CREATE MACRO {name}(a, b) AS a / b")

        def rows_of(table: Any) -> list[tuple[Any, ...]]:
            # What DuckDB has by another name, or needs not: its texts have no collation.
            plain = re.sub(_BINARY, lambda one: one[1] or one[2], ibis_tables.statement(table))
            (text,) = sqlglot.transpile(plain, read=engine, write="duckdb")
            return connection.sql(text).fetchall()

        check_answers(engine, rows_of)


@pytest.mark.databases
@pytest.mark.parametrize("engine", DIALECTS)
def test_no_statement_computes_where_a_dialect_is_not_exact(engine: str) -> None:
    """The rules of the review, of every statement: doubles are doubles, and a sum has room for 2⁴² records."""
    import sqlglot
    from sqlglot import expressions as sql

    for name, text in texts(engine):
        tree = sqlglot.parse_one(text, read=engine)
        for literal in tree.find_all(sql.Literal):
            if engine != "bigquery" and not literal.is_string and not literal.is_int:
                assert isinstance(literal.parent, sql.Cast) and literal.parent.is_type("double"), name
        compared = [one for one in tree.find_all(sql.Column) if one.name in ("job", "name") and one.table == "t0"]
        assert all(one.find_ancestor(sql.Cast, sql.Collate, sql.Anonymous) for one in compared), name
        for window in tree.find_all(sql.Window):
            # Rows are numbered in an order; what has none is a whole partition, without a frame.
            ordered = window.args.get("order") is not None
            assert ordered if isinstance(window.this, sql.RowNumber) else ordered or not window.args.get("spec"), name
            assert window.args.get("partition_by"), f"{name}: one worker would number all rows"


@pytest.mark.databases
def test_more_categories_than_a_query_has_room_for_are_refused_before_it_is_sent() -> None:
    many = Query(None, by=(Category.declared("job", [f"town {place}" for place in range(1001)]),))
    for engine in DIALECTS:
        with pytest.raises(hg.ParameterError, match="HG107"):
            open_source(warehouse(engine)).check(many)
    open_source(warehouse("duckdb")).check(many)


if __name__ == "__main__":
    for one in DIALECTS if len(sys.argv) == 1 else sys.argv[1:]:
        (GOLDEN / f"{one}.sql").write_text(golden(one))
        sys.stdout.write(f"{GOLDEN / one}.sql\n")
