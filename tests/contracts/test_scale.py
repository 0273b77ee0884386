"""10¹² records: a table of counts goes through the SQL of each engine, and every sum is exact.

Each row of the table stands for as many records as its column says, up to 10¹⁰. So an engine adds up what it would add
up of all these records, in the same pieces and the same integers; docs/methods/scale.md says where these end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.contracts.database_tables import into_postgres
from tests.contracts.test_golden_sql import DIALECTS, Engine

from hedgerow.engines import frames
from hedgerow.engines.dialects import held, ibis_tables
from hedgerow.engines.query import Query, SumsQuery, ValueOnGrid
from hedgerow.facts.columns import Category, Grid

RECORDS = 10**12
ROWS = 300
KINDS = {"x": "number", "y": "number", "part": "text"}
PARTS = Category.declared("part", ["a", "b", "c"])
X = ValueOnGrid("x", Grid.from_bounds("x", (0, 100_000), 1))
Y = ValueOnGrid("y", Grid(Fraction(0), Fraction(2**29), 2**29))
# Up to 17, 34, 46, 58 and 75 bits a record: the last is a product of two integers of 64 bits.
MONOMIALS = (((0, 1),), ((0, 2),), ((0, 1), (1, 1)), ((1, 2),), ((0, 1), (1, 2)))
SUMS = SumsQuery((X, Y), MONOMIALS, (PARTS,), frozenset([0, 1]))
COUNTS = Query(X, (PARTS,))


def table() -> pa.Table:
    """Return the counts: extreme values most often, some missing, some of no declared part; 10¹² records in all."""
    rng = np.random.default_rng(6)
    x, y = rng.integers(-5, 100_010, ROWS).astype(float), rng.integers(0, 2**29 + 1, ROWS).astype(float)
    x[:100], y[50:150] = 100_000.0, float(2**29)
    x[::29], y[::31] = math.nan, math.inf
    records = rng.integers(1, 2 * RECORDS // ROWS, ROWS)
    records[0] += RECORDS - records.sum()
    parts = [("a", "b", "c", "d", None)[place % 5] for place in range(ROWS)]
    values = {"value_0": x, "value_1": y, "group_0": pa.array(parts, pa.string()), "records": records}
    return pa.table(values)


def rows() -> list[tuple[int, int, int, int]]:
    """Return the level, both grid indices and the records of each row: −1 for no level and a missing value."""
    listed = []
    for row in table().to_pylist():
        indices = [
            min(max(math.floor(row[name] + 0.5), 0), most) if math.isfinite(row[name]) else -1
            for name, most in (("value_0", 100_000), ("value_1", 2**29))
        ]
        level = PARTS.values.index(row["group_0"]) if row["group_0"] in PARTS.values else -1
        listed.append((level, *indices, row["records"]))
    return listed


def expected() -> tuple[dict[Any, list[int]], list[int], int]:
    sums = {monomial: [0, 0, 0] for monomial in ((), *MONOMIALS)}
    missing, outside = [0, 0, 0], 0
    for level, x, y, records in rows():
        if level < 0:
            outside += records
        elif x < 0 or y < 0:
            missing[level] += records
        else:
            for monomial, totals in sums.items():
                totals[level] += records * math.prod((x, y)[place] ** power for place, power in monomial)
    return sums, missing, outside


@pytest.fixture(autouse=True)
def counted_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frames are what `by_raw_values` returns: they hold how many records each row stands for."""
    monkeypatch.setattr(frames, "by_raw_values", lambda rows, query: rows)


def sums_of(frame: Any) -> tuple[dict[Any, list[int]], list[int], int]:
    answer = frames.add_up(frame, SUMS, KINDS, None, few=True).found()
    assert answer.total() == RECORDS
    sums = {monomial: totals.tolist() for monomial, totals in answer.sums.items()}
    return sums, answer.missing.tolist(), answer.outside


def warehouse(engine: str) -> Any:
    import ibis
    import ibis.expr.operations as ops

    schema = ibis.schema({"value_0": "float64", "value_1": "float64", "group_0": "string", "records": "int64"})
    return ops.DatabaseTable(name="people", schema=schema, source=Engine(engine), namespace=ops.Namespace()).to_expr()


def translated(engine: str, most: int) -> Callable[[Any], list[tuple[Any, ...]]]:
    """Return what runs the SQL of a warehouse in DuckDB, and checks that no number of the answer has more bits."""
    import sqlglot

    def rows_of(asked: Any) -> list[tuple[Any, ...]]:
        with duckdb.connect() as connection:
            connection.register("people", table())
            for name in ("ieee_divide", "try_divide"):
                connection.execute(f"CREATE MACRO {name}(a, b) AS a / b")
            plain = re.sub(r"COLLATE\(([^,]+), 'utf8'\)", r"\1", ibis_tables.statement(asked))
            (text,) = sqlglot.transpile(plain, read=engine, write="duckdb")
            answer = connection.sql(text).fetchall()
        assert all(abs(int(number)) < most for row in answer for number in row), "a sum has no room there"
        return answer

    return rows_of


MOST = {"bigquery": 2**63, "databricks": 2**63, "snowflake": 10**38}


def test_the_table_stands_for_a_million_million_records() -> None:
    assert sum(records for *_, records in rows()) == RECORDS
    assert max(expected()[0][((0, 1), (1, 2))]).bit_length() > 110


def test_duckdb_adds_up_exactly() -> None:
    assert sums_of(duckdb.from_arrow(table())) == expected()


def test_duckdb_counts_exactly() -> None:
    counts = frames.count(duckdb.from_arrow(table()), COUNTS, KINDS, None, few=True).found()
    cells: dict[tuple[int, int], int] = {}
    for level, x, _, records in rows():
        cells[level, x] = cells.get((level, x), 0) + records
    inside = {cell: number for cell, number in cells.items() if min(cell) >= 0}
    assert dict(zip(zip(counts.cell, counts.index, strict=True), counts.count, strict=True)) == inside
    assert counts.total() == RECORDS


@pytest.mark.databases
@pytest.mark.parametrize("engine", DIALECTS)
def test_what_a_warehouse_is_sent_adds_up_exactly(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with mock.patch.object(ibis_tables, "rows_of", translated(engine, MOST[engine])):
        assert sums_of(warehouse(engine)) == expected()
        if engine in ibis_tables._PIECES:
            # The sabotage: pieces of 31 bits, whose sums in 64 bits have room for 2³² records.
            monkeypatch.setattr(ibis_tables, "_PIECES", {})
            with pytest.raises(duckdb.OutOfRangeException):
                sums_of(warehouse(engine))


@pytest.mark.databases
def test_postgres_adds_up_exactly(postgres: Any) -> None:
    import ibis

    into_postgres(table(), postgres)
    backend = ibis.connect(postgres.url)
    try:
        assert sums_of(backend.table("people")) == expected()
    finally:
        backend.disconnect()


@pytest.mark.spark
def test_spark_adds_up_exactly(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held_rows = [tuple(row.values()) for row in table().to_pylist()]
    frame = spark.createDataFrame(held_rows, "value_0 double, value_1 double, group_0 string, records bigint")
    assert sums_of(frame) == expected()
    monkeypatch.setattr(held, "_PIECE", 31)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert sums_of(frame)[0] != expected()[0]
