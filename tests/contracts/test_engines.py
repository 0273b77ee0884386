"""One suite for every engine: the same records give the same integers, those of a loop in Python."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.contracts.database_tables import IN_DATABASES, opened_in

from hedgerow.engines import frames
from hedgerow.engines.dialects import held
from hedgerow.engines.query import (
    SHARES,
    ClippedSquare,
    ColumnProduct,
    ColumnQuery,
    InBall,
    Indicator,
    JointGrid,
    Query,
    SumsQuery,
    Value,
    ValueOnGrid,
    Weighted,
    WeightOnGrid,
)
from hedgerow.engines.source import Source, open_source
from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.formats import parquet

Columns = dict[str, list[Any]]
TYPES = {"x": pa.float64(), "y": pa.float64(), "text": pa.string(), "code": pa.int32()}
NULLABLE = {pa.int32(): pd.Int32Dtype(), pa.float64(): pd.Float64Dtype(), pa.bool_(): pd.BooleanDtype()}


def arrow(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(cells, TYPES.get(name, pa.bool_())) for name, cells in columns.items()})


def as_csv(columns: Columns, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*columns.values(), strict=True))
    return path


def as_parquet(columns: Columns, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(arrow(columns), path)
    return path


def as_database(columns: Columns, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("given", arrow(columns))
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return path


def as_spark(columns: Columns, session: Any) -> Any:
    types = {"x": "double", "y": "double", "text": "string", "code": "int"}
    schema = ", ".join(f"{name} {types.get(name, 'boolean')}" for name in columns)
    return session.createDataFrame(list(zip(*columns.values(), strict=True)), schema)


MAKERS: dict[str, Callable[[Columns, Path], Any]] = {
    "csv": as_csv,
    "parquet": as_parquet,
    "duckdb file": as_database,
    "duckdb relation": lambda columns, _: duckdb.from_arrow(arrow(columns)),
    "pyarrow": lambda columns, _: arrow(columns),
    "pandas": lambda columns, _: arrow(columns).to_pandas(),
    "pandas nullable": lambda columns, _: arrow(columns).to_pandas(types_mapper=NULLABLE.get),
    "pandas arrow": lambda columns, _: arrow(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns, _: pl.from_arrow(arrow(columns)),
    "polars lazy": lambda columns, _: pl.from_arrow(arrow(columns)).lazy(),
}


GROUPED = "parquet, raw values grouped first"


@pytest.fixture(params=[*MAKERS, GROUPED, *IN_DATABASES, pytest.param("pyspark", marks=pytest.mark.spark)])
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Columns], Source]:
    if request.param == GROUPED:
        monkeypatch.setattr(parquet, "few_values", lambda *_: "true")
        return lambda columns: open_source(as_parquet(columns, tmp_path_factory.mktemp("source")))
    if request.param == "pyspark":
        session = request.getfixturevalue("spark")
        return lambda columns: open_source(as_spark(columns, session))
    folder = tmp_path_factory.mktemp("source")
    if request.param not in MAKERS:
        return lambda columns: opened_in(request.param, arrow(columns), folder, request)
    return lambda columns: open_source(MAKERS[request.param](columns, folder))


def place(x: float | None, grid: Grid) -> int:
    """The grid index of one value as private_bootstrap.md §1 writes it, clamp first, in Python's own doubles."""
    if x is None or not math.isfinite(x):
        return -1
    lower, upper = grid.as_bounds()
    t = math.floor((min(max(x, lower), upper) - lower) / float(grid.step) + 0.5)
    return min(max(t, 0), grid.steps)


def level(cell: Any, category: Category) -> int:
    rest = len(category.values) if category.other else -1
    return category.values.index(cell) if cell in category.values and cell is not None else rest


def brute_force(columns: Columns, query: Query) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for row in range(len(next(iter(columns.values())))):
        cell = 0
        for category in query.by:
            at = level(columns[category.column][row], category)
            cell = -1 if cell < 0 or at < 0 else cell * category.levels + at
        index = 0
        if isinstance(query.value, ValueOnGrid):
            index = place(columns[query.value.column][row], query.value.grid)
        elif isinstance(query.value, JointGrid):
            placed = [place(columns[part.column][row], part.grid) for part in query.value.parts]
            shape = [part.grid.steps + 1 for part in query.value.parts]
            index = -1 if min(placed) < 0 else int(np.ravel_multi_index(placed, shape))
        elif isinstance(query.value, Indicator):
            held = columns[query.value.column][row]
            gone = held is None or (isinstance(held, float) and not math.isfinite(held))
            index = -1 if gone else int(held == query.value.value)
        found[(-1, 0) if cell < 0 else (cell, index)] += 1
    return found


_SAID: dict[Any, Any] = {}


def once(loop: Callable[[Columns, Any], Any], columns: Columns, query: Query | SumsQuery) -> Any:
    """Return what a loop says of records: of those that every engine is asked about, the loop runs once."""
    if not any(columns is one for one in (AWKWARD, SOME)):
        return loop(columns, query)
    key = loop.__name__, id(columns), query
    if key not in _SAID:
        _SAID[key] = loop(columns, query)
    return _SAID[key]


def counted(source: Source, query: Query) -> Counter[tuple[int, int]]:
    h = source.histogram(query)
    assert h.cells == query.cells
    found = Counter(dict(zip(zip(h.cell.tolist(), h.index.tolist(), strict=True), h.count.tolist(), strict=True)))
    found.update({(cell, -1): count for cell, count in enumerate(h.missing.tolist()) if count})
    if h.outside:
        found[(-1, 0)] = h.outside
    return found


TENTHS = Grid.from_bounds("x", (0, 100), 0.1)
# Every second value lies half way between two grid values, where the rounding of one operation decides.
TIES = [i / 20 for i in range(-10, 2020)]
EDGES = [None, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 100.0, 100.00000000000001, 99.95]
TEXTS = ["a", "b", "c", None, "é", "a,b", 'q"q', "A"]
BY_TEXT = Category.declared("text", ["a", "é", "a,b", 'q"q'])
BY_CODE = Category.declared("code", [2, 0, -7], other=True)
AWKWARD: Columns = {
    "x": TIES + EDGES,
    "text": [TEXTS[i % 8] for i in range(len(TIES + EDGES))],
    "code": [[0, 1, 2, None, -7][i % 5] for i in range(len(TIES + EDGES))],
    # Turned by 7, so that each kind of missing value meets values that are there.
    "y": (EDGES + TIES)[7:] + EDGES[:7],
}
CODES = ValueOnGrid("code", Grid.from_bounds("code", (-3, 1), 1))
# With x on 2²⁴ steps, five codes and four cells, one step more would make 2⁶² places.
VAST = ValueOnGrid("y", Grid(Fraction(-1), Fraction(99), 13_743_894_527))
Y = ValueOnGrid("y", Grid.from_bounds("y", (-1, 99.5), 0.3))
X_Y = JointGrid((ValueOnGrid("x", TENTHS), Y))
QUERIES = {
    "records": Query(None),
    "records by two": Query(None, (BY_TEXT, BY_CODE)),
    "records by two, turned": Query(None, (BY_CODE, BY_TEXT)),
    "value": Query(ValueOnGrid("x", TENTHS)),
    "value by two": Query(ValueOnGrid("x", TENTHS), (BY_TEXT, BY_CODE)),
    "value by itself": Query(ValueOnGrid("code", Grid.from_bounds("code", (-7, 2), 1)), (BY_CODE,)),
    "midpoint is no value": Query(ValueOnGrid("x", Grid.from_bounds("x", (0, 1), 1)), (BY_CODE,)),
    "below zero": Query(ValueOnGrid("x", Grid.from_bounds("x", (-33.3, -0.3), 0.3))),
    "default step": Query(ValueOnGrid("x", Grid.from_bounds("x", (0.1, 97.3)))),
    "is a text": Query(Indicator("text", "a"), (BY_CODE,)),
    "is a number": Query(Indicator("code", 2)),
    "two together": Query(X_Y),
    "three together by two": Query(JointGrid((Y, CODES, ValueOnGrid("x", TENTHS))), (BY_TEXT, BY_CODE)),
    "one together": Query(JointGrid((Y,)), (BY_CODE,)),
    "as many places as fit": Query(
        JointGrid((ValueOnGrid("x", Grid.from_bounds("x", (0, 100), 100 / 2**24)), CODES, VAST)), (BY_CODE,)
    ),
}


@pytest.mark.parametrize("asked", QUERIES)
def test_every_engine_counts_as_a_loop_in_python_does(opened: Callable[[Columns], Source], asked: str) -> None:
    source = opened(AWKWARD)
    assert counted(source, QUERIES[asked]) == once(brute_force, AWKWARD, QUERIES[asked])
    assert source.count_rows() == len(AWKWARD["x"])


def test_zero_and_one_stay_zero_and_one(opened: Callable[[Columns], Source]) -> None:
    source = opened({"x": [0.0, 1.0, 1.0, None]})
    h = source.histogram(Query(ValueOnGrid("x", Grid.from_bounds("x", (0, 1), 1))))
    assert (h.index.tolist(), h.count.tolist(), h.missing.tolist()) == ([0, 1], [1, 2], [1])


def test_together_as_one_by_one(opened: Callable[[Columns], Source]) -> None:
    source = opened(AWKWARD)
    for by in ((), (BY_TEXT,)):
        a, b = source.histogram(Query(JointGrid((Y,)), by)), source.histogram(Query(Y, by))
        assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("cell", "index", "count", "missing"))
        assert a.outside == b.outside


def test_a_record_keeps_its_values_together(opened: Callable[[Columns], Source]) -> None:
    columns: Columns = {"x": [0.0, 0.0, 100.0, 250.0, None, 7.0], "y": [99.5, -1.0, -1.0, -9.0, 5.0, math.nan]}
    h = opened(columns).histogram(Query(X_Y))
    x, y = X_Y.indices(h.index)
    found = list(zip(x.tolist(), y.tolist(), h.count.tolist(), strict=True))
    assert (found, h.missing.tolist()) == ([(0, 0, 1), (0, 335, 1), (1000, 0, 2)], [2])


@pytest.mark.parametrize("engine", ["csv", "parquet", "duckdb relation", "pandas", "polars"])
def test_sabotage_a_missing_part_ignored(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = frames.code_of

    def first_part_decides(role: str, radices: list[int]) -> Any:
        import narwhals.stable.v2 as nw

        if role != "index" or len(radices) == 1:
            return code(role, radices)
        there, last = nw.col("index_0") >= 0, nw.col("index_1").clip(0, None)
        return nw.when(there).then(nw.col("index_0") * radices[1] + last).otherwise(nw.lit(-1, nw.Int64))

    source, expected = open_source(MAKERS[engine](AWKWARD, tmp_path)), brute_force(AWKWARD, Query(X_Y))
    assert counted(source, Query(X_Y)) == expected
    monkeypatch.setattr(frames, "code_of", first_part_decides)
    found = counted(source, Query(X_Y))
    assert found != expected and found[0, -1] < expected[0, -1]


@pytest.mark.parametrize("rest", [[], [None], [2.0]])
def test_nan_is_missing_whatever_the_other_values_are(opened: Callable[[Columns], Source], rest: list[Any]) -> None:
    # A Parquet file's smallest and largest value leave NaN out, and DuckDB reads present or not from them if it can.
    columns: Columns = {"x": [2.0, math.nan, *rest], "y": [math.nan, 2.0, *rest]}
    source, absent = opened(columns), rest.count(None)
    assert source.histogram(Query(ValueOnGrid("x", TENTHS))).missing.tolist() == [1 + absent]
    assert source.histogram(Query(X_Y)).missing.tolist() == [2 + absent]
    wide = ValueOnGrid("x", Grid.from_bounds("x", (-8, 8), 1))  # all other values are within its bounds
    check_sums(source, columns, SumsQuery((wide,), (((0, 1),), ((0, 2),)), (), frozenset({0})))
    if source.columns["x"] == "number":
        assert source.histogram(Query(Indicator("x", 2))).missing.tolist() == [1 + absent]
        h = source.histogram(Query(None, (Category.declared("x", [2], other=True),)))
        assert h.count.tolist() == [1 + rest.count(2.0), 1 + absent]


@pytest.mark.parametrize("rows", [0, 1])
def test_no_record_and_one_are_no_errors(opened: Callable[[Columns], Source], rows: int) -> None:
    source = opened({"x": [math.nan] * rows, "text": [None] * rows, "code": [None] * rows})
    h = source.histogram(QUERIES["value by two"])
    assert (h.total(), h.outside, len(h.count), h.cells) == (rows, rows, 0, 16)
    assert source.histogram(Query(ValueOnGrid("x", TENTHS))).missing.tolist() == [rows]
    assert source.count_rows() == rows


def test_a_long_list_of_categories(opened: Callable[[Columns], Source]) -> None:
    declared = Category.declared("code", [3 * i for i in range(300)])
    columns = {"code": [i % 1000 for i in range(1500)] + [None], "x": [1.0] * 1501}
    query = Query(None, (declared,))
    assert counted(opened(columns), query) == brute_force(columns, query)


def test_booleans_are_compared_as_booleans(opened: Callable[[Columns], Source]) -> None:
    columns: Columns = {"x": [1.0, 2.0, 3.0, 4.0], "owner": [True, False, True, True]}
    source = opened(columns)
    query = Query(Indicator("owner", True), (Category.declared("owner", [False, True]),))
    if source.columns["owner"] == "text-cell":
        with pytest.raises(ParameterError, match=r"HG111.*text of the cell"):
            source.check(query)
        return
    assert counted(source, query) == {(0, 0): 1, (1, 1): 3}
    with pytest.raises(DataError, match=r"HG204.*hg\.proportion\('owner', value=True\)"):
        source.histogram(Query(ValueOnGrid("owner", TENTHS)))


def test_schema_errors_name_the_request_alone(opened: Callable[[Columns], Source]) -> None:
    source = opened({"x": [1.0], "text": ["canary"]})
    for asked in (ValueOnGrid("X", TENTHS), JointGrid((ValueOnGrid("x", TENTHS), ValueOnGrid("X", TENTHS)))):
        with pytest.raises(DataError, match=r"HG203.*'X' is not; the source has 2 columns") as caught:
            source.histogram(Query(asked))
        assert "text" not in str(caught.value)
    if source.columns["text"] == "text":
        for asked in (ValueOnGrid("text", TENTHS), JointGrid((ValueOnGrid("x", TENTHS), ValueOnGrid("text", TENTHS)))):
            with pytest.raises(DataError, match=r"HG204: .*'text' is no number") as caught:
                source.check(Query(asked))
            assert "canary" not in str(caught.value)


numbers = st.one_of(
    st.none(),
    st.floats(),
    st.floats(-1, 101),
    st.integers(-50, 2050).map(lambda i: i / 20),
    st.sampled_from(EDGES),
)
records = st.lists(st.tuples(numbers, st.sampled_from(TEXTS), st.sampled_from([None, -7, 0, 1, 2])), max_size=30)


@pytest.mark.parametrize("engine", MAKERS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=records, grid=st.sampled_from([(0, 100, 0.1), (-1, 1, 1), (0, 1, None), (-0.3, 99.9, 0.3)]))
@example(rows=[(99.95, "a", 0)], grid=(0, 100, 0.1))
def test_random_records_count_alike(engine: str, tmp_path: Path, rows: list[Any], grid: Any) -> None:
    columns: Columns = {name: [row[i] for row in rows] for i, name in enumerate(("x", "text", "code"))}
    query = Query(ValueOnGrid("x", Grid.from_bounds("x", grid[:2], grid[2])), (BY_CODE, BY_TEXT))
    assert counted(open_source(MAKERS[engine](columns, tmp_path)), query) == brute_force(columns, query)


triples = st.lists(
    st.tuples(numbers, numbers, st.sampled_from([None, -7, 0, 1, 2]), st.sampled_from(TEXTS)), max_size=20
)
GRIDS = [(0, 100, 0.1), (-1, 1, 1), (0, 1, None), (-0.3, 99.9, 0.3)]


@pytest.mark.parametrize("grid", [Grid.from_bounds("y", (0, 10), 0.25), Grid(Fraction(0), Fraction(7), 2**20)])
def test_weighted_values_add_up_as_a_loop_in_python_does(opened: Callable[[Columns], Source], grid: Grid) -> None:
    """Weights below 0, above the bound, infinite, NaN and missing among them."""
    weight = WeightOnGrid("y", grid)
    coarse = ValueOnGrid("x", Grid(Fraction(-1), Fraction(101), 2**9))
    product = ColumnProduct(((coarse, 2), (IS_TWO, 1)))
    values = (Weighted(FINE[0], weight), Weighted(IS_TWO, weight), weight, FINE[1], Weighted(product, weight))
    monomials = (
        (),
        ((0, 1),),
        ((0, 2),),
        ((0, 1), (1, 1)),
        ((0, 1), (2, 1)),
        ((2, 2),),
        ((1, 0), (2, 1)),
        ((3, 1),),
        ((4, 2),),
    )
    source = opened(AWKWARD)
    for missing, needed in ((Missing.DROP, ()), (Missing.DROP, (0, 1)), (Missing.MIDPOINT, (0, 2))):
        for by in ((), (BY_TEXT,)):
            check_sums(source, AWKWARD, SumsQuery(values, monomials, by, frozenset(needed), None, missing))


@settings(max_examples=200, deadline=None)
@given(
    weight=st.integers(0, 2**20),
    value=st.integers(0, 2**20),
    sizes=st.tuples(st.integers(1, 2**20), st.integers(1, 2**20)),
)
def test_the_index_of_a_weighted_value_is_exact(weight: int, value: int, sizes: tuple[int, int]) -> None:
    """Less half of the weight the index, in units of half its largest, is w/w_max times the value scaled to [−1, 1]."""
    weight, value = min(weight, sizes[0]), min(value, sizes[1])
    grids = [Grid(Fraction(0), Fraction(1), size) for size in sizes]
    both = Weighted(ValueOnGrid("x", grids[1]), WeightOnGrid("w", grids[0]))
    index, steps = both.index(weight, value), both.size - 1
    assert 0 <= index <= steps
    scaled = Fraction(2 * value, sizes[1]) - 1
    share = Fraction(weight, sizes[0])
    assert Fraction(2 * index, steps) - share == share * scaled


@pytest.mark.parametrize("engine", MAKERS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=triples, grids=st.tuples(st.sampled_from(GRIDS), st.sampled_from(GRIDS)), order=st.permutations(range(3)))
@example(
    rows=[(0.0, math.nan, 0, "a"), (math.nan, 0.0, 0, "a"), (0.0, 0.0, None, "a")],
    grids=(GRIDS[0],) * 2,
    order=[2, 0, 1],
)
def test_random_records_are_joined_alike(engine: str, tmp_path: Path, rows: Any, grids: Any, order: list[int]) -> None:
    columns: Columns = {name: [row[i] for row in rows] for i, name in enumerate(("x", "y", "code", "text"))}
    x, y = (ValueOnGrid(n, Grid.from_bounds(n, g[:2], g[2])) for n, g in zip("xy", grids, strict=True))
    parts = (x, y, CODES)
    query = Query(JointGrid(tuple(parts[i] for i in order)), (BY_TEXT,))
    assert counted(open_source(MAKERS[engine](columns, tmp_path)), query) == brute_force(columns, query)


def test_the_order_of_records_does_not_matter(opened: Callable[[Columns], Source]) -> None:
    turned = {name: cells[::-1] for name, cells in AWKWARD.items()}
    query = QUERIES["value by two"]
    a, b = opened(AWKWARD).histogram(query), opened(turned).histogram(query)
    assert all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("cell", "index", "count", "missing"))


# Exact sums: monomials of grid integers, by cell, whatever is missing, clamped or grouped.
MONOMIALS = ((), ((0, 0),), ((0, 1),), ((0, 2),), ((1, 1),), ((0, 1), (1, 1)), ((0, 2), (1, 1)), ((0, 1), (2, 1)))
# All of up to the second degree, each with what must be present for it.
PAIRS = (
    (),
    *(((i, power),) for i in range(3) for power in (0, 1, 2)),
    *(((i, p), (j, q)) for i, j in ((0, 1), (0, 2), (1, 2)) for p in (0, 1) for q in (0, 1)),
)
FINE = tuple(ValueOnGrid(name, Grid(Fraction(-1), Fraction(101), 2**20)) for name in "xy")
IS_TWO = Indicator("code", 2)


def index_of(value: Value, columns: Columns, row: int, missing: Missing) -> int:
    if isinstance(value, Weighted):
        weight, own = (index_of(part, columns, row, missing) for part in (value.weight, value.value))
        return -1 if own < 0 else weight * own
    if isinstance(value, (ClippedSquare, InBall, ColumnProduct)):
        own_parts = value.values if isinstance(value, ClippedSquare) else value.parts
        found_parts = [index_of(part, columns, row, missing) for part in own_parts]
        if min(found_parts) < 0:
            return -1
        if isinstance(value, ClippedSquare):
            return squared(value, found_parts, value.weight and index_of(value.weight, columns, row, missing))
        return value.index(found_parts) if isinstance(value, ColumnProduct) else value.shrunk_index(found_parts)
    held = columns[value.column][row]
    if isinstance(value, Indicator):
        found = -1 if held is None else int(held == value.value)
    else:
        found = place(held, value.grid)
    if isinstance(value, WeightOnGrid):
        return max(found, 0)
    return (value.size - 1) // 2 if found < 0 and missing is Missing.MIDPOINT else found


def squared(value: ClippedSquare, indices: list[int], weight: int | None) -> int:
    """The rounded square of a clipped combination, in fractions: 512 parts of the clip, a half is rounded up."""
    terms = zip(value.factors, indices, value.values, strict=True)
    combined = value.constant + sum(factor * (2 * index - one.size + 1) for factor, index, one in terms)
    part = min(Fraction(abs(combined), 2**value.bits), Fraction(1))
    if value.weight is not None and weight is not None:
        part *= Fraction(weight, value.weight.grid.steps)
    return math.floor(512 * part + Fraction(1, 2)) ** 2


def brute_sums(columns: Columns, query: SumsQuery) -> tuple[dict[Any, list[int]], list[int], int]:
    sums = {monomial: [0] * query.cells for monomial in query.monomials}
    missing, outside = [0] * query.cells, 0
    for row in range(len(next(iter(columns.values())))):
        cell = 0
        for category in query.by:
            at = level(columns[category.column][row], category)
            cell = -1 if cell < 0 or at < 0 else cell * category.levels + at
        values = [index_of(value, columns, row, query.missing) for value in query.values]
        if cell < 0:
            outside += 1
        elif any(values[i] < 0 for i in query.needed):
            missing[cell] += 1
        else:
            for monomial, totals in sums.items():
                if all(values[i] >= 0 for i, _ in monomial):
                    totals[cell] += math.prod(values[i] ** power for i, power in monomial)
    return sums, missing, outside


def check_sums(source: Source, columns: Columns, query: SumsQuery) -> None:
    found = source.sums(query)
    sums, missing, outside = once(brute_sums, columns, query)
    assert {monomial: found.sums[monomial].tolist() for monomial in query.monomials} == sums
    # Whole numbers of 64 bits, or Python's own.
    assert all(type(total) is int for totals in found.sums.values() for total in totals.tolist())
    assert {totals.dtype for totals in found.sums.values()} <= {np.dtype(np.int64), np.dtype(object)}
    assert (found.missing.tolist(), found.outside) == (missing, outside)
    assert found.total() == len(next(iter(columns.values())))


@pytest.mark.parametrize("needed", [(), (0,), (0, 1, 2)])
@pytest.mark.parametrize("by", [(), (BY_TEXT,), (BY_TEXT, BY_CODE)], ids=len)
def test_every_engine_adds_up_as_a_loop_in_python_does(
    opened: Callable[[Columns], Source], by: tuple[Category, ...], needed: tuple[int, ...]
) -> None:
    source = opened(AWKWARD)
    for missing in (Missing.DROP, Missing.MIDPOINT):
        check_sums(source, AWKWARD, SumsQuery((*FINE, IS_TWO), MONOMIALS, by, frozenset(needed), None, missing))
    assert source.count_rows() == len(AWKWARD["x"])


@pytest.mark.parametrize("by", [(), (BY_TEXT,)], ids=len)
@pytest.mark.parametrize("needed", [(), (1,)], ids=len)
def test_all_moments_of_three_values_add_up_whichever_are_missing(
    opened: Callable[[Columns], Source], by: tuple[Category, ...], needed: tuple[int, ...]
) -> None:
    """With so many pairs DuckDB is asked for few sums, apart for each set of values that are present."""
    check_sums(opened(AWKWARD), AWKWARD, SumsQuery((*FINE, IS_TWO), PAIRS, by, frozenset(needed)))


def test_sums_are_asked_apart_for_what_is_present_only_where_this_saves_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_source(MAKERS["parquet"](AWKWARD, tmp_path))
    whole = SumsQuery((*FINE, IS_TWO), PAIRS, (BY_TEXT,))

    def sums(query: SumsQuery) -> int:
        # A sum that is read in two halves stands there twice.
        return len(set(re.findall(r"sum\((?:[^()]|\([^()]*\))*\)", source.statements(query)[-1])))

    assert (sums(whole), sums(SumsQuery((*FINE, IS_TWO), MONOMIALS))) == (9, 7)
    monkeypatch.setattr(held, "_PATTERNS", 8)
    assert sums(whole) == 21


@pytest.mark.parametrize("engine", MAKERS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=triples, grids=st.tuples(st.sampled_from(GRIDS), st.sampled_from(GRIDS)), needed=st.booleans())
def test_random_records_add_up_alike(engine: str, tmp_path: Path, rows: Any, grids: Any, needed: bool) -> None:
    columns: Columns = {name: [row[i] for row in rows] for i, name in enumerate(("x", "y", "code", "text"))}
    x, y = (ValueOnGrid(n, Grid.from_bounds(n, g[:2], g[2])) for n, g in zip("xy", grids, strict=True))
    query = SumsQuery((x, y, IS_TWO), MONOMIALS, (BY_TEXT,), frozenset({1} if needed else ()))
    check_sums(open_source(MAKERS[engine](columns, tmp_path)), columns, query)


# Grid values of whole numbers: many combinations lie half way between two of the 512 parts of the clip.
WHOLE = tuple(ValueOnGrid(name, Grid.from_bounds(name, (0, 64), 1)) for name in "xy")
CLIPPED = (
    ClippedSquare(WHOLE, (20, -60), 2, 11),
    ClippedSquare((*FINE, IS_TWO), (2**28, -(2**27), 2**46), 2**45 + 1, 47),
    ClippedSquare((ColumnProduct(((WHOLE[0], 2),)), WHOLE[1]), (3, -40), -777, 13),
    ClippedSquare(WHOLE, (20, -50), 3, 10, WeightOnGrid("y", Grid.from_bounds("y", (0, 10), 0.25))),
    ClippedSquare(tuple(InBall(FINE, place, 2**19) for place in (0, 1)), (2**26, -(2**25)), 2**44, 44),
)
SOME: Columns = {name: cells[:40:2] + cells[40:-40:23] + cells[-40:] for name, cells in AWKWARD.items()}


def test_clipped_squares_add_up_as_fractions_do(opened: Callable[[Columns], Source]) -> None:
    source, sums = opened(SOME), (((0, 1),), ((0, 2),), ((0, 1), (1, 1)))
    for value in CLIPPED:
        check_sums(source, SOME, SumsQuery((value, WHOLE[0]), sums, (BY_TEXT,), frozenset({0})))
        found = {index_of(value, SOME, row, Missing.DROP) for row in range(len(SOME["x"]))}
        assert min(found) == -1 and max(found) == SHARES and len(found) > 20
    check_sums(source, SOME, SumsQuery((*CLIPPED[:2], WHOLE[0]), sums, (), frozenset(), None, Missing.MIDPOINT))


@pytest.mark.parametrize("engine", ["parquet", "pandas"])
def test_sabotage_a_clip_of_another_size(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the 512 parts of the clip is a little smaller: the sum is another."""
    query = SumsQuery(CLIPPED[:1], (((0, 1),),))
    check_sums(open_source(MAKERS[engine](SOME, tmp_path)), SOME, query)
    monkeypatch.setattr(ClippedSquare, "step", property(lambda value: 2 ** (value.bits - 9) - 1))
    with pytest.raises(AssertionError):
        check_sums(open_source(MAKERS[engine](SOME, tmp_path)), SOME, query)


def test_totals_beyond_64_bits_are_exact(opened: Callable[[Columns], Source]) -> None:
    """Products near 2⁶⁰ and 2⁸⁰: added up in doubles or in 64 bits, they would be other numbers."""
    value = ValueOnGrid("x", Grid(Fraction(0), Fraction(1), 2**20))
    columns: Columns = {"x": [1.0, 1.0 - 2.0**-20] * 20, "code": [0, 1] * 20}
    monomials = [((0, 3),), ((0, 4),), ((0, 3), (1, 1)), ((0, 4), (1, 1)), ((0, 4), (1, 0))]
    found = opened(columns).sums(SumsQuery((value, Indicator("code", 1)), tuple(monomials)))
    most, less = 2**20, 2**20 - 1
    expected = [most**3 + less**3, most**4 + less**4, less**3, less**4, most**4 + less**4]
    assert [found.sums[monomial].tolist() for monomial in monomials] == [[20 * one] for one in expected]
    with pytest.raises(ParameterError, match="HG107"):
        SumsQuery((value, Indicator("code", 1)), (((0, 5),),))


def far_apart(rows: int) -> tuple[Columns, SumsQuery, list[list[int]]]:
    """Return groups whose sums exceed 64 bits, or no double holds them, the question, and the sums by group."""
    value = ValueOnGrid("x", Grid(Fraction(0), Fraction(1), 2**20))
    columns: Columns = {"x": [1.0, 1.0 - 2.0**-20] * rows, "code": [0, 1] * rows}
    by = Category.declared("code", [1, 0, 7])
    query = SumsQuery((value,), (((0, 1),), ((0, 3),), ((0, 4),)), (by,))
    return columns, query, [[rows * (2**20 - 1) ** power, rows * 2 ** (20 * power), 0] for power in (1, 3, 4)]


def test_totals_beyond_64_bits_are_exact_in_each_group(opened: Callable[[Columns], Source]) -> None:
    columns, query, expected = far_apart(20)
    found = opened(columns).sums(query)
    assert [found.sums[monomial].tolist() for monomial in query.monomials] == expected


def test_sabotage_wide_totals_read_as_narrow_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, query, expected = far_apart(20)
    source = open_source(MAKERS["parquet"](columns, tmp_path))
    assert source.sums(query).sums[query.monomials[1]].tolist() == expected[1]
    monkeypatch.setattr(held, "_NARROW", 61)
    with pytest.raises(DataError, match="HG207"):
        source.sums(query)


def test_a_product_of_three_values_of_any_sizes_is_exact(opened: Callable[[Columns], Source]) -> None:
    """In this order two lists of factors below 2⁶² would not hold 2⁸³; the third was left out without a word."""
    sizes = (2**20, 2**50, 2**13)
    values = tuple(ValueOnGrid("x", Grid(Fraction(0), Fraction(1), size)) for size in sizes)
    query = SumsQuery(values, (((0, 1), (1, 1), (2, 1)),))
    found = opened({"x": [1.0, 0.75, 0.0]}).sums(query)
    assert found.sums[query.monomials[0]].tolist() == [math.prod(sizes) * (64 + 27) // 64]


def test_no_record_adds_up_to_nothing(opened: Callable[[Columns], Source]) -> None:
    columns: Columns = {"x": [], "text": [], "y": [], "code": []}
    for by in ((), (BY_TEXT,)):
        check_sums(opened(columns), columns, SumsQuery((*FINE, IS_TWO), MONOMIALS, by))


@pytest.mark.parametrize("engine", ["csv", "pandas", "duckdb relation"])
def test_sabotage_a_presence_forgotten(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of pairs that forgets the presence of one of them is another number."""
    query = SumsQuery(FINE, (((0, 0), (1, 0)),))
    source = open_source(MAKERS[engine](AWKWARD, tmp_path))
    check_sums(source, AWKWARD, query)
    products = held._products
    monkeypatch.setattr(held, "_products", lambda monomial, query: [products(monomial, query)[0][:1]])
    assert source.sums(query).sums[query.monomials[0]].tolist() != brute_sums(AWKWARD, query)[0][query.monomials[0]]


def values_of(source: Source, query: ColumnQuery) -> dict[Any, int]:
    found = source.values(query)
    assert len(set(map(repr, found.values))) == len(found.values) == len(found.counts) and min(found.counts) > 0
    return dict(zip(map(repr, found.values), found.counts.tolist(), strict=True))


def test_values_that_occur_are_counted_alike(opened: Callable[[Columns], Source]) -> None:
    x = [0.0, -0.0, 1.0, 1.0, 0.5, None, math.nan, math.inf, 2.0**53, -1e300]
    columns: Columns = {
        "x": x,
        "text": ["a", "a", " é", "b", None, None, "a", "b", "b", "00"],
        "code": [3, 3, None, -2, 0, 0, 0, 3, 3, 3],
        "flag": [True, None, False, True, True, None, None, None, None, None],
    }
    source = opened(columns)
    csv_file = source.columns["text"] == "text-cell"
    assert values_of(source, ColumnQuery("text")) == {
        "'a'": 3,
        "'é'" if csv_file else "' é'": 1,
        "'b'": 3,
        "'00'": 1,
    }
    texts = source.columns["flag"] != "boolean"  # in CSV, and in pandas, where a missing one makes objects of them
    assert values_of(source, ColumnQuery("flag")) == ({"'True'": 3, "'False'": 1} if texts else {"True": 3, "False": 1})
    if not csv_file:
        assert values_of(source, ColumnQuery("x")) == {"0": 2, "1": 2, "0.5": 1}
        assert values_of(source, ColumnQuery("code")) == {"3": 5, "-2": 1, "0": 3}


def test_a_column_that_cannot_be_counted_by_its_values_is_refused() -> None:
    dates = open_source(pa.table({"day": pa.array([1, 2], pa.date32()), "name": ["a", "b"]}))
    for column, code in (("day", "HG111"), ("none", "HG203")):
        with pytest.raises((DataError, ParameterError), match=code):
            dates.check_column(ColumnQuery(column))


def test_a_text_that_nobody_can_declare_is_left_out() -> None:
    frame = pd.DataFrame({"name": ["a", "x\udcff", b"\xff", "a", ["list"]]})
    found = open_source(frame).values(ColumnQuery("name"))
    assert dict(zip(found.values, found.counts.tolist(), strict=True)) == {"a": 2, "b'\\xff'": 1, "['list']": 1}
