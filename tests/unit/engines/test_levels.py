"""Declared categories are found alike on every engine, however many there are, and whatever else a column holds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.engines.cells import levels_of
from hedgerow.engines.files import open_file
from hedgerow.engines.query import Query, SumsQuery, ValueOnGrid
from hedgerow.engines.source import Source, open_source
from hedgerow.facts.columns import Category, Grid

NUMBERS = [0.0, 1.0, 2.0, 5.0, -3.0, 0.5, 1e15, -1e-9, *(float(i) for i in range(10, 30))]
TEXTS = ["", "a", "A", "a ", " a", "é", "\x1f", "x\x01y", "'", '"', "1", "1.0", *(f"c{i}" for i in range(20))]
OTHERS = [-0.0, 1.0 + 2.0**-52, 31.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, 11.5]
VALUE = ValueOnGrid("x", Grid.from_bounds("x", (0, 100), 1))
ENGINES = ("pyarrow", "pandas", "polars", "duckdb", "parquet")


def source_of(engine: str, table: pa.Table, folder: Path) -> Source:
    if engine == "pyarrow":
        return open_source(table)
    if engine == "pandas":
        return open_source(table.to_pandas())
    if engine == "polars":
        return open_source(pl.from_arrow(table))
    if engine == "duckdb":
        return open_source(duckdb.from_arrow(table))
    path = folder / "people.parquet"
    pq.write_table(table, path)
    return open_file(path)


def counted(table: pa.Table, engine: str, folder: Path, declared: list[object]) -> tuple[list[int], list[int]]:
    """Return the records and the sums of x by declared value."""
    by = (Category("g", tuple(declared)),)  # type: ignore[arg-type]  # numbers or texts
    source = source_of(engine, table, folder)
    sums = source.sums(SumsQuery((VALUE,), (((0, 1),),), by=by, needed=frozenset([0])))
    histogram = source.histogram(Query(VALUE, by))
    assert [int(n) for n in sums.sums[()]] == histogram.cell_sums().tolist()
    return [int(n) for n in sums.sums[()]], [int(n) for n in sums.sums[((0, 1),)]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["few numbers", "numbers that follow", "many numbers", "few texts", "many texts"])
def test_every_engine_finds_what_plain_python_finds(engine: str, kind: str, tmp_path: Path) -> None:
    declared: list[object] = {
        "few numbers": NUMBERS[:6],
        "numbers that follow": list(range(10, 30)),
        "many numbers": NUMBERS,
        "few texts": TEXTS[:6],
        "many texts": TEXTS,
    }[kind]  # type: ignore[assignment]  # numbers or texts
    pool: list[object] = [*NUMBERS, *OTHERS] if "numbers" in kind else [*TEXTS, "b", "c99", "ä"]
    rng = np.random.default_rng(1)
    cells = [pool[i] for i in rng.integers(len(pool), size=400)] + [None, None]
    x = [float(i % 101) for i in range(len(cells))]
    table = pa.table({"g": pa.array(cells, pa.float64() if "numbers" in kind else pa.string()), "x": x})
    records, sums = counted(table, engine, tmp_path, declared)
    assert records == [sum(cell == value for cell in cells) for value in declared]
    assert sums == [sum(int(t) for t, cell in zip(x, cells, strict=True) if cell == value) for value in declared]
    assert min(records) > 0 and sum(records) < len(cells)


@given(st.lists(st.floats(), min_size=1, max_size=30), st.lists(st.floats(allow_nan=False), min_size=1, unique=True))
@settings(max_examples=200, deadline=None)
def test_levels_of_many_numbers(cells: list[float], values: list[float]) -> None:
    found = levels_of(np.array(cells), values, -1).tolist()
    assert found == [values.index(cell) if cell in values else -1 for cell in cells]


@given(st.text(alphabet=" \t\r\n\v\f+-.eEinfa0123456789_x\x00\u2003\xa0", max_size=12))
@settings(max_examples=300, deadline=None)
def test_a_cast_passes_over_the_blanks_that_are_trimmed(cell: str) -> None:
    """Cells of a CSV file are cast as they stand: the same number as without blanks around it, or none."""
    query = "SELECT TRY_CAST(NULLIF(trim($1, $2), '') AS DOUBLE), TRY_CAST($1 AS DOUBLE)"
    ((trimmed, plain),) = duckdb.execute(query, [cell, " \t\r\n\v\f"]).fetchall()
    assert trimmed == plain or (trimmed != trimmed and plain != plain)
