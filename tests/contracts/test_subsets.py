"""One suite for every engine: `where`, bands and derived columns select and compute as three-valued Python does."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.contracts.database_tables import IN_DATABASES, opened_in

from hedgerow.engines import frames
from hedgerow.engines.query import ColumnQuery, Query, SumsQuery, ValueOnGrid
from hedgerow.engines.source import Source, open_source
from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.columns import Category, Grid, Missing, Selection, bands
from hedgerow.facts.expression import (
    Arithmetic,
    Comparison,
    Condition,
    DerivedColumn,
    Operation,
    parse_arithmetic,
    parse_condition,
)
from hedgerow.facts.relation import UnitLimit
from hedgerow.find.found import LogGrid

Records = list[dict[str, Any]]
Opener = Callable[[Records], Source]
SCHEMA = pa.schema({"x": pa.float64(), "y": pa.float64(), "k": pa.int32(), "text": pa.string()})
NULLABLE = {pa.int32(): pd.Int32Dtype(), pa.float64(): pd.Float64Dtype()}
GRID = Grid.from_bounds("z", (-50, 50), 0.1)


def arrow(records: Records) -> pa.Table:
    return pa.Table.from_pylist(records, SCHEMA)


def written(write: Callable[[pa.Table, Path], None], records: Records, path: Path) -> Path:
    write(arrow(records), path)
    return path


MAKERS: dict[str, Callable[[Records, Path], Any]] = {
    "csv": lambda records, folder: written(pa.csv.write_csv, records, folder / "rows.csv"),
    "parquet": lambda records, folder: written(pq.write_table, records, folder / "rows.parquet"),
    "duckdb relation": lambda records, _: duckdb.from_arrow(arrow(records)),
    "pyarrow": lambda records, _: arrow(records),
    "pandas": lambda records, _: arrow(records).to_pandas(),
    "pandas nullable": lambda records, _: arrow(records).to_pandas(types_mapper=NULLABLE.get),
    "pandas arrow": lambda records, _: arrow(records).to_pandas(types_mapper=pd.ArrowDtype),
    "polars lazy": lambda records, _: pl.from_arrow(arrow(records)).lazy(),
}


@pytest.fixture(params=[*MAKERS, *IN_DATABASES, pytest.param("pyspark", marks=pytest.mark.spark)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param in MAKERS:
        return lambda records: open_source(MAKERS[request.param](records, tmp_path))
    if request.param != "pyspark":
        return lambda records: opened_in(request.param, arrow(records), tmp_path, request)
    session = request.getfixturevalue("spark")
    rows = "x double, y double, k int, text string"
    return lambda records: open_source(session.createDataFrame([tuple(one.values()) for one in records], rows))


NUMBERS = [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, 2.5, 3.0, -7.0, 0.1, 24.999999999999996, 25.0, 1e308]
TEXTS = [None, "a", "B", "b", "é", "x y", "it's", 'q"q', "10", "9"]
RECORDS: Records = [
    {"x": NUMBERS[i % 14], "y": NUMBERS[i // 3 % 14], "k": [None, 0, 1, 2, -7, 30][i % 6], "text": TEXTS[i % 10]}
    for i in range(420)
]
CONDITIONS = [
    "x >= 2.5",
    "not x >= 2.5",
    "25 > x",
    "k = 2 or k == 30",
    "k != 2",
    "not (k != 2)",
    "k in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
    "k not in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    "text == 'it''s' or text = \"q\"\"q\"",
    "text != 'a'",
    "text < 'b'",
    "text >= '9' and not text in ['é', \"x y\"]",
    "not (text in ['a', 'b'] or (x > 0.1 and not k <= 1))",
    "NOT x < 0 AND (y >= 0 OR text <> 'a')",
    "`text` = '10'",
]


def present(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def truth(condition: Condition, record: dict[str, Any]) -> bool | None:
    """SQL's three values, with None for unknown."""
    if isinstance(condition, Comparison):
        value = record[condition.column]
        if not present(value):
            return None
        if condition.operator in ("in", "not in"):
            return (value in condition.constants) is (condition.operator == "in")
        compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[condition.operator]
        return bool(compare(value, condition.constants[0]))
    parts = [truth(part, record) for part in condition.parts]
    decisive = not condition.every
    return decisive if decisive in parts else None if None in parts else condition.every


def computed(expression: Arithmetic, record: dict[str, Any]) -> float:
    """IEEE double arithmetic; NaN for what is missing."""
    if isinstance(expression, str):
        return float(record[expression]) if present(record[expression]) else math.nan
    if not isinstance(expression, Operation):
        return expression
    left, right = computed(expression.left, record), computed(expression.right, record)
    if expression.operator == "/":
        return left / right if math.isfinite(right) and right != 0.0 else math.nan
    return {"+": operator.add, "-": operator.sub, "*": operator.mul}[expression.operator](left, right)


def place(value: float, grid: Grid) -> int:
    if not math.isfinite(value):
        return -1
    low, high = grid.as_bounds()
    return math.floor((min(max(value, low), high) - low) / float(grid.step) + 0.5)


def selected(source: Source, where: str) -> tuple[int, int]:
    found = source.histogram(Query(None, (Selection.of(where),)))
    return int(found.cell_sums()[0]), found.total()


@pytest.mark.parametrize("where", CONDITIONS)
def test_every_engine_selects_what_three_valued_logic_selects(opened: Opener, where: str) -> None:
    expected = sum(truth(parse_condition(where), record) is True for record in RECORDS)
    assert 0 < expected < len(RECORDS)
    assert selected(opened(RECORDS), where) == (expected, len(RECORDS))


def test_sabotage_a_missing_value_that_is_not_equal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the test for presence, pandas and polars select records whose value is missing."""
    monkeypatch.setattr(frames, "present", lambda value: value == value)
    expected = sum(truth(parse_condition("x != 1"), record) is True for record in RECORDS)
    assert selected(open_source(MAKERS["pandas"](RECORDS, tmp_path)), "x != 1")[0] > expected


comparison = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from("xyk"), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
              st.sampled_from(["0", "-7", "2.5", "25", "0.1", "1e15"])),
    st.builds("{} {} {}".format, st.just("text"), st.sampled_from(["<", ">=", "=", "<>"]),
              st.sampled_from(["'a'", "'B'", '"é"', "'10'"])),
    st.sampled_from(["k in [1, 2]", "text not in ['a', 'é']", "not k in (0)"]),
)  # fmt: skip
conditions = st.recursive(
    comparison,
    lambda one: st.one_of(
        st.builds("({} and {})".format, one, one),
        st.builds("({} or {})".format, one, one),
        st.builds("not {}".format, one),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("engine", ["csv", "pandas", "pyarrow", "polars lazy"])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=conditions, rows=st.lists(st.sampled_from(RECORDS), max_size=12))
@example(where="not (x < 0 and not k in (0))", rows=[RECORDS[0]])
def test_random_conditions_select_alike(engine: str, tmp_path: Path, where: str, rows: Records) -> None:
    expected = sum(truth(parse_condition(where), record) is True for record in rows)
    assert selected(open_source(MAKERS[engine](rows, tmp_path)), where) == (expected, len(rows))


EXPRESSIONS = [
    "x / y",
    "1 / (x * 10) - y / 3 * 2 + -k",
    "(x + y) * (x - y)",
    "x * y / (x * y)",
    "x / 3",
    "1e300 * x * x / y",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_engine_computes_the_same_doubles(opened: Opener, text: str) -> None:
    """By cell and grid index, in a selection, as a value and in sums: zero divisors, overflow and gaps are missing."""
    column, expression = DerivedColumn.named("z", text), parse_arithmetic(text)
    by, chosen = Category.declared("k", [0, 1], other=True), Selection.of("text != 'a'")
    expected: Counter[tuple[int, int]] = Counter()
    for record in RECORDS:
        level = {0: 0, 1: 1}.get(record["k"], 2) if record["text"] not in (None, "a") else -1
        expected[level, place(computed(expression, record), GRID) if level >= 0 else 0] += 1
    source, value = opened(RECORDS), ValueOnGrid(column, GRID)
    found = source.histogram(Query(value, (by, chosen)))
    counts = dict(zip(zip(found.cell.tolist(), found.index.tolist(), strict=True), found.count.tolist(), strict=True))
    counts |= {(cell, -1): count for cell, count in enumerate(found.missing.tolist()) if count}
    assert counts | {(-1, 0): found.outside} == dict(expected)
    sums = source.sums(SumsQuery((value,), (((0, 2),),), (by, chosen), frozenset({0})))
    squares = [
        sum(t * t * count for (cell, t), count in expected.items() if cell == one and t >= 0) for one in range(3)
    ]
    assert sums.sums[((0, 2),)].tolist() == squares
    assert (sums.missing.tolist(), sums.outside) == (found.missing.tolist(), found.outside)


@pytest.mark.parametrize("other", [False, True])
def test_many_bands_hold_what_comparisons_say(opened: Opener, other: bool) -> None:
    cuts = [-7.0, 0.0, 0.1, *(float(cut) for cut in range(1, 25)), math.nextafter(25.0, 0.0), 25.0]
    by, chosen = Category.declared("x", bands(*cuts), other=other), Selection.of("text != 'a'")
    expected = [0] * by.levels
    for record in RECORDS:
        if record["text"] not in (None, "a"):
            held = [i for i in range(len(cuts) - 1) if present(record["x"]) and cuts[i] <= record["x"] < cuts[i + 1]]
            held = [len(cuts) - 2] if record["x"] == cuts[-1] else held
            if held or other:
                expected[held[0] if held else -1] += 1
    found = opened(RECORDS).histogram(Query(None, (by, chosen)))
    assert found.cell_sums().tolist() == expected and found.total() == len(RECORDS)


@pytest.mark.parametrize("asked", ["text", "k", "x / k"])
def test_searches_count_the_records_that_are_selected(opened: Opener, asked: str) -> None:
    """By value and by cell of the public grid: records outside have no value that comes near a noisy count."""
    where, column = "not text in ['a', 'B'] and x >= 0", DerivedColumn.named("z", asked) if "/" in asked else asked
    chosen = [one for one in RECORDS if truth(parse_condition(where), one) is True]
    values = [computed(parse_arithmetic(asked), one) if "/" in asked else one[asked] for one in chosen]
    expected = Counter(value for value in values if present(value))
    source = opened(RECORDS)
    found = source.values(ColumnQuery(column, (Selection.of(where),)))
    csv_texts = source.columns["k"] == "text-cell" and asked == "k"
    known = [int(value) if csv_texts else value for value in found.values]
    kept = {value: count for value, count in expected.items() if isinstance(value, str) or abs(value) < 2**53}
    assert dict(zip(known, found.counts.tolist(), strict=True)) == kept
    if asked == "text":
        return
    grid = LogGrid.of(0)
    cells = source.histogram(grid.query(column, (Selection.of(where),))).cell_sums()
    assert cells.sum() == sum(expected.values())
    assert cells[: len(cells) // 2].sum() == sum(count for value, count in expected.items() if value < -1e-9)


def test_a_row_that_is_not_selected_displaces_none_of_its_unit(opened: Opener) -> None:
    rows: Records = [{"x": float(i), "y": 0.0, "k": i % 2, "text": "p"} for i in range(40)]
    query = Query(None, (Selection.of("x >= 39"),), unit=UnitLimit("text", 1), missing=Missing.DROP)
    assert opened(rows).histogram(query).total() == 1


@pytest.mark.parametrize(
    ("where", "code"),
    [("age > 1", "HG203"), ("x > 'old'", "HG111"), ("text > 5", "HG111"), ("x == true", "HG111")],
)
def test_a_condition_is_checked_against_the_schema(where: str, code: str) -> None:
    with pytest.raises((ParameterError, DataError), match=code):
        open_source(arrow(RECORDS)).check(Query(None, (Selection.of(where),)))


def test_a_derived_column_is_checked_against_the_schema() -> None:
    source = open_source(arrow(RECORDS))
    for column, code in [("x", "HG205"), ("z", "HG204")]:
        with pytest.raises(DataError, match=code):
            source.check(Query(ValueOnGrid(DerivedColumn.named(column, "text / x"), GRID)))
    with pytest.raises(DataError, match="HG203"):
        source.check(Query(ValueOnGrid(DerivedColumn.named("z", "x / age"), GRID)))


def test_cells_of_a_csv_file_are_texts_or_numbers_as_the_constant_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("code\n 1 \n01\n1.0\none\n\n1e0\n10\n9\n")
    source = open_source(path)
    asked = {"code == 1": 4, "code == '1'": 1, "code != 1": 2, "code != '1'": 6, "code > 5": 2, "code > '5'": 2}
    assert {where: selected(source, where)[0] for where in asked} == asked
