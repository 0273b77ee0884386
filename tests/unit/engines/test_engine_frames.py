"""Frames: what is recognised, names that engines read as patterns, types, and failures that quote nothing."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.engines.query import Indicator, Query, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.columns import Category, Grid

CANARY = "SECRET-4711"
TENS = Grid.from_bounds("v", (0, 10), 1)
VALUE = Query(ValueOnGrid("v", TENS))


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (pd.DataFrame({"v": [1.0]}), "pandas.DataFrame"),
        (pl.DataFrame({"v": [1.0]}), "polars.DataFrame"),
        (pl.LazyFrame({"v": [1.0]}), "polars.LazyFrame"),
        (pa.table({"v": [1.0]}), "pyarrow.Table"),
        (duckdb.sql("SELECT 1.0 AS v"), "duckdb.DuckDBPyRelation"),
    ],
)
def test_names_of_frames(frame: object, name: str) -> None:
    source = open_source(frame)
    assert (source.name, source.count_rows(), source.histogram(VALUE).index.tolist()) == (name, 1, [1])


@pytest.mark.parametrize("thing", [None, 3, {"v": [1]}, [1, 2], np.ones(3), pd.Series([1.0]), pl.Series([1.0]), object])
def test_what_is_no_frame(thing: object) -> None:
    with pytest.raises(DataError, match="HG202"):
        open_source(thing)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["v", "v"]),
        pd.DataFrame([[1, 2]], columns=["v", ""]),
        pd.DataFrame([[1, 2]]),
        pa.table([[1], [2]], names=["v", "v"]),
        duckdb.sql("SELECT 1 AS v, 2 AS v"),
    ],
    ids=["repeated", "empty", "numbers", "arrow", "duckdb"],
)
def test_unusable_names(frame: object) -> None:
    with pytest.raises(DataError, match="HG205"):
        open_source(frame)


def test_a_frame_without_columns() -> None:
    with pytest.raises(DataError, match="HG206"):
        open_source(pd.DataFrame())


@pytest.mark.parametrize("name", ["^.*$", 'q"q', "a.b", "value", "group_0", "key", "SELECT", "ä", "`v`", "col'"])
def test_names_are_names_and_no_patterns(name: str) -> None:
    columns = {"other": [9.0, 9.0], name: [1.0, 2.0], "last": [9.0, 9.0]}
    table = pa.table(columns)
    query = Query(ValueOnGrid(name, TENS), (Category.declared(name, [1, 2]),))
    frames = (
        table,
        table.to_pandas(),
        pl.DataFrame(columns),
        pl.LazyFrame(columns),
        duckdb.from_arrow(table),
    )
    for frame in frames:
        h = open_source(frame).histogram(query)
        assert (h.cell.tolist(), h.index.tolist()) == ([0, 1], [1, 2])


def test_a_star_is_a_name_where_the_engine_can_say_so() -> None:
    table = pa.table({"other": [9.0], "*": [1.0]})
    for frame in (table, table.to_pandas(), pl.from_arrow(table), pl.from_arrow(table).lazy()):
        assert open_source(frame).histogram(Query(ValueOnGrid("*", TENS))).index.tolist() == [1]
    with pytest.raises(DataError, match="HG205"):
        open_source(duckdb.from_arrow(table))


def test_rows_are_rows_whatever_the_index() -> None:
    frame = pd.DataFrame({"v": [1.0, 2.0, np.nan], "g": ["a", "b", "a"]}, index=[7, 7, 7])
    h = open_source(frame).histogram(Query(VALUE.value, (Category.declared("g", ["a"], other=True),)))
    assert (h.cell.tolist(), h.index.tolist(), h.missing.tolist()) == ([0, 1], [1, 2], [1, 0])


@pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "Int16", "Float64", "int64[pyarrow]"])
def test_every_type_of_number(kind: str) -> None:
    h = open_source(pd.DataFrame({"v": pd.array([1, 2, 100], dtype=kind)})).histogram(VALUE)
    assert (h.index.tolist(), h.count.tolist()) == ([1, 2, 10], [1, 1, 1])


def test_categories_outside_the_range_of_a_narrow_type_match_nothing() -> None:
    query = Query(None, (Category.declared("v", [300, 0.5, -1, 1]),))
    table = pa.table({"v": pa.array([1, 44, 255, 0], pa.uint8())})
    for frame in (table, table.to_pandas(), pl.from_arrow(table), duckdb.from_arrow(table)):
        h = open_source(frame).histogram(query)
        assert (h.cell.tolist(), h.outside) == ([3], 3)


@pytest.mark.parametrize("dtype", ["object", "str", "category", "string[pyarrow]"])
def test_every_type_of_text(dtype: str) -> None:
    frame = pd.DataFrame({"g": pd.Series(["a", None, "nan", "b"], dtype=dtype)})
    source = open_source(frame)
    assert source.columns["g"] == "text"
    h = source.histogram(Query(Indicator("g", "nan")))
    assert (h.index.tolist(), h.count.tolist(), h.missing.tolist()) == ([0, 1], [2, 1], [1])


def test_an_object_column_is_text_whatever_it_holds() -> None:
    kinds = {
        open_source(pd.DataFrame({"g": pd.Series(v, dtype=object)})).columns["g"] for v in (["a"], [1, "a"], [None])
    }
    assert kinds == {"text"}


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([1, 2], [1, "1"]),
        ([1, 2], ["1", "1.0"]),
        ([1, 2], ["one"]),
        ([1, 2], [True]),
        ([1, 2], [2**53]),
        ([1, 2], [10**400]),
        (["a"], [True]),
        (["1"], [1, "1"]),
        ([True], [2]),
        ([True], [1, True + 0.0, "true"][1:]),
        ([b"a"], ["a"]),
    ],
)
def test_values_that_do_not_fit_their_column(cells: list[object], values: list[object]) -> None:
    with pytest.raises(ParameterError, match="HG111"):
        open_source(pa.table({"g": cells})).check(Query(None, (Category.declared("g", values),)))


def test_texts_are_taken_as_the_numbers_or_booleans_they_write() -> None:
    source = open_source(pa.table({"g": [1, 2], "b": [True, False]}))
    query = Query(None, (Category.declared("g", ["2", "1"]), Category.declared("b", ["true", 0])))
    assert source.histogram(query).cell.tolist() == [1, 2]


def test_a_failing_engine_quotes_nothing() -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS s")
    polars = pl.LazyFrame({"s": [CANARY]}).select(v=pl.col("s").cast(pl.Float64, strict=True))
    with pytest.raises(duckdb.ConversionException, match=CANARY):
        connection.sql("SELECT CAST(s AS DOUBLE) AS v FROM t").fetchall()
    for frame in (connection.sql("SELECT CAST(s AS DOUBLE) AS v FROM t"), polars):
        with pytest.raises(DataError, match="HG207") as caught:
            open_source(frame).histogram(VALUE)
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_an_engine_that_panics_quotes_nothing() -> None:
    def panic(frame: pl.DataFrame) -> pl.DataFrame:
        raise BaseException(CANARY)

    lazy = pl.LazyFrame({"v": [1.0]}).map_batches(panic, schema={"v": pl.Float64})
    with pytest.raises(DataError, match="HG207") as caught:
        open_source(lazy).histogram(VALUE)
    assert caught.value.__context__ is None


def test_a_source_prints_no_record() -> None:
    table = pa.table({"s": [CANARY]})
    for frame in (table, table.to_pandas(), pl.from_arrow(table), duckdb.from_arrow(table)):
        assert CANARY not in repr(open_source(frame))
        assert "'s': 'text'" in repr(open_source(frame))


def test_an_interruption_passes() -> None:
    from hedgerow.engines.reading import withheld

    def stopped() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        withheld(stopped)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_whole_numbers_beyond_a_double_are_clamped_and_never_an_error(kind: str) -> None:
    """Arrow refuses to round 2**53 + 1: one record must not decide whether a release fails."""
    far = 2**63 - 1 if kind == "int64" else 2**64 - 1
    values = pa.array([1, 5, far, 2**53 + 1, None], getattr(pa, kind)())
    query = Query(ValueOnGrid("x", Grid.from_bounds("x", (0, 10), 1)))
    found = open_source(pa.table({"x": values})).histogram(query)
    assert (found.index.tolist(), found.count.tolist(), found.missing.tolist()) == ([1, 5, 10], [1, 1, 2], [1])
