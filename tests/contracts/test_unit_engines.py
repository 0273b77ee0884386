"""One suite for every engine where units have several rows: the same limit, and the same rows kept under one key."""

from __future__ import annotations

import datetime
import hashlib
import math
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.contracts.database_tables import IN_DATABASES, as_sqlite, opened_in

import hedgerow
from hedgerow.engines.dialects.ranked_rows import RankedRows
from hedgerow.engines.query import (
    SCORES,
    ColumnProduct,
    Indicator,
    JointGrid,
    Query,
    SumsQuery,
    Value,
    ValueOnGrid,
    Weighted,
    WeightOnGrid,
)
from hedgerow.engines.source import Source, count_units, open_source
from hedgerow.errors import DataError, ParameterError, UncertifiedError
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.relation import UnitLimit

Opener = Callable[[pa.Table], Source]
MAKERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "csv": lambda table, folder: written(pa.csv.write_csv, table, folder / "rows.csv"),
    "parquet": lambda table, folder: written(pq.write_table, table, folder / "rows.parquet"),
    "duckdb relation": lambda table, _: duckdb.from_arrow(table),
    "pyarrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(),
    "pandas nullable": lambda table, _: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
}
WHOLE = Grid.from_bounds("x", (0, 10), 1)
X = ValueOnGrid("x", WHOLE)
BY = (Category.declared("cell", ["a", "b", "c"]),)


def written(write: Callable[[pa.Table, Path], None], table: pa.Table, path: Path) -> Path:
    write(table, path)
    return path


@pytest.fixture(params=[*MAKERS, *IN_DATABASES, pytest.param("pyspark", marks=pytest.mark.spark)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param in MAKERS:
        return lambda table: open_source(MAKERS[request.param](table, tmp_path))
    if request.param != "pyspark":
        return lambda table: opened_in(request.param, table, tmp_path, request)
    session = request.getfixturevalue("spark")
    types = {pa.int64(): "long", pa.float64(): "double", pa.string(): "string"}

    def open_in_spark(table: pa.Table) -> Source:
        schema = ", ".join(f"{field.name} {types[field.type]}" for field in table.schema)
        return open_source(session.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema))

    return open_in_spark


def counted(source: Source, query: Query) -> Counter[tuple[int, int, int]]:
    """Return how many units there are by (cell, rows, total)."""
    h = source.histogram(query)
    rows, total = query.unit_totals(h.index)
    places = zip(h.cell.tolist(), rows.tolist(), total.tolist(), strict=True)
    return Counter(dict(zip(places, h.count.tolist(), strict=True)))


def brute_force(table: pa.Table, query: Query) -> Counter[tuple[int, int, int]]:
    """The same by a loop in Python; valid where no unit has more rows than the limit."""
    units: dict[tuple[Any, int], list[int]] = {}
    for row in table.to_pylist():
        x = row["x"]
        t = 0 if query.value is None else min(max(math.floor(x + 0.5), 0), 10) if x is not None else None
        if isinstance(query.value, Indicator) and x is not None:
            t = int(x == query.value.value)
        if t is None and query.missing is Missing.MIDPOINT:
            t = 5
        cell = "abc".find(row["cell"] or "?") if query.by else 0
        if row["person"] is not None and t is not None and cell >= 0:
            units.setdefault((row["person"], cell), []).append(t)
    return Counter((cell, len(ts), sum(ts)) for (_, cell), ts in units.items())


def rows_of(people: list[int | None], seed: int = 1) -> pa.Table:
    """Rows in random order with values, cells and gaps."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(people))
    x = [None if rng.random() < 0.15 else float(rng.integers(-2, 13)) for _ in people]
    cell = [[*"abcd", None][rng.integers(5)] for _ in people]
    columns = {"person": (people, pa.int64()), "x": (x, pa.float64()), "cell": (cell, pa.string())}
    return pa.table({name: pa.array([v[i] for i in order], kind) for name, (v, kind) in columns.items()})


MANY = rows_of([i for i in range(100) for _ in range(1 + i % 4)] + [None] * 30 + [777])
LIMIT = UnitLimit("person", 4)
QUERIES = {
    "rows": Query(None, unit=LIMIT),
    "rows by cell": Query(None, BY, unit=LIMIT),
    "value": Query(X, unit=LIMIT),
    "value by cell": Query(X, BY, unit=LIMIT),
    "midpoint by cell": Query(X, BY, unit=LIMIT, missing=Missing.MIDPOINT),
    "share by cell": Query(Indicator("x", 3.0), BY, unit=LIMIT),
}


@pytest.mark.parametrize("asked", QUERIES)
def test_within_the_limit_every_engine_counts_as_a_loop_in_python_does(opened: Opener, asked: str) -> None:
    """Units span cells, ids are missing, values are missing, and a row counts nowhere: 281 rows of 101 people."""
    if asked.startswith("share") and "text-cell" in opened(MANY).columns.values():
        pytest.skip("a share of a CSV column compares texts")
    found = counted(opened(MANY), QUERIES[asked])
    assert found == brute_force(MANY, QUERIES[asked])
    assert len({rows for _, rows, _ in found}) > 2


@pytest.mark.parametrize("by", [(), BY], ids=["all", "by cell"])
@pytest.mark.parametrize("missing", [Missing.DROP, Missing.MIDPOINT, Missing.DECLARED_COMPLETE])
def test_units_add_up_by_their_totals(opened: Opener, by: tuple[Category, ...], missing: Missing) -> None:
    """Behind the values stands the number of a unit's rows: their squares and product are those of whole units."""
    monomials = ((), ((0, 1),), ((1, 1),), ((0, 2),), ((0, 1), (1, 1)), ((1, 2),))
    found = opened(MANY).sums(SumsQuery((X,), monomials, by, frozenset({0}), LIMIT, missing))
    units = brute_force(MANY, Query(X, by, LIMIT, missing))
    expected = {
        monomial: [
            sum(times * math.prod((total, rows)[i] ** power for i, power in monomial)
                for (cell, rows, total), times in units.items() if cell == one)
            for one in range(3 if by else 1)
        ]
        for monomial in monomials
    }  # fmt: skip
    assert {monomial: found.sums[monomial].tolist() for monomial in monomials} == expected
    assert bool(found.missing.sum()) is (missing is Missing.DECLARED_COMPLETE)


@pytest.mark.parametrize("by", [(), BY], ids=["all", "by cell"])
def test_rows_of_units_are_counted_one_by_one(opened: Opener, by: tuple[Category, ...]) -> None:
    """Within the limit all rows that count; beyond it as many as the limit, the same ones under one key."""
    value = JointGrid((X, ValueOnGrid("person", Grid.from_bounds("person", (0, 100), 1))))
    found = opened(MANY).histogram(Query(value, by, LIMIT, each_row=True))
    t, person = value.indices(found.index)
    places = zip(found.cell.tolist(), t.tolist(), person.tolist(), strict=True)
    rows = Counter(dict(zip(places, found.count.tolist(), strict=True)))
    expected: Counter[tuple[int, int, int]] = Counter()
    for row in MANY.to_pylist():
        cell = "abc".find(row["cell"] or "?") if by else 0
        if row["person"] is not None and row["x"] is not None and cell >= 0:
            expected[cell, min(max(math.floor(row["x"] + 0.5), 0), 10), min(row["person"], 100)] += 1
    assert rows == expected and max(rows.values()) > 1
    few = Query(value, by, UnitLimit("person", 2), each_row=True)
    again = opened(MANY).histogram(few)
    _, person = value.indices(again.index)
    kept = Counter({one: int(again.count[person == one].sum()) for one in set(person.tolist())})
    most = Counter({one: sum(times for (_, _, p), times in expected.items() if p == one) for one in range(101)})
    assert kept == Counter({one: min(times, 2) for one, times in most.items() if times})


@pytest.mark.parametrize("by", [(), BY], ids=["all", "by cell"])
def test_scores_of_units_are_clipped_and_rounded_alike(opened: Opener, by: tuple[Category, ...]) -> None:
    """Scores of both signs, some beyond the clip: their sums, squares and products, to the last integer."""
    bits, factors = 40, ((2**37 + 1, -(2**39)), (-(2**34) - 5, 2**36 + 3))
    monomials = ((), ((0, 1),), ((1, 1),), ((0, 2),), ((0, 1), (1, 1)))
    query = SumsQuery((X,), monomials, by, frozenset({0}), LIMIT, Missing.DROP, factors, bits)
    found = opened(MANY).sums(query)

    def score(rows: int, total: int, own: tuple[int, int]) -> int:
        combined = min(max(own[0] * total + own[1] * rows, -(2**bits)), 2**bits)
        return (combined + 2**bits) * SCORES // 2 ** (bits + 1)

    units = brute_force(MANY, Query(X, by, LIMIT))
    each = [[score(rows, total, own) for own in factors] for _, rows, total in units]
    assert SCORES in {first for first, _ in each} and len({second for _, second in each}) > 10
    for monomial in monomials:
        for one in range(3 if by else 1):
            own = zip(units.items(), each, strict=True)
            added = (times * math.prod(t[i] ** p for i, p in monomial) for ((cell, *_), times), t in own if cell == one)
            assert int(found.sums[monomial][one]) == sum(added)
    with pytest.raises(ParameterError, match="HG107"):
        replace(query, scores=((2**58, 0),))


def test_units_whose_values_may_be_missing_alone_are_refused() -> None:
    with pytest.raises(UncertifiedError, match="HG402"):
        SumsQuery((X, Indicator("x", 1)), ((),), (), frozenset({0}), LIMIT)


def test_the_number_of_units_is_that_of_distinct_names(opened: Opener) -> None:
    assert count_units(opened(MANY), "person") == 101
    assert opened(MANY).count_rows() == MANY.num_rows


def test_texts_name_units_too(opened: Opener) -> None:
    table = pa.table({"person": pa.array(["p", "q", None, "p", "p", "q"]), "x": [1.0, 2.0, 9.0, 3.0, 4.0, 5.0]})
    assert counted(opened(table), Query(X, unit=LIMIT)) == Counter({(0, 3, 8): 1, (0, 2, 7): 1})
    assert count_units(opened(table), "person") == 2


def test_large_numbers_stay_apart(opened: Opener) -> None:
    """As doubles these would be half as many people, and one person a part of another."""
    table = pa.table({"person": [2**53 + i // 3 for i in range(60)], "x": [1.0] * 60})
    assert counted(opened(table), Query(X, unit=LIMIT)) == Counter({(0, 3, 3): 20})


def test_doubles_that_may_be_several_numbers_name_no_unit() -> None:
    """What pandas makes of large whole numbers with a gap among them: nobody could say who is who."""
    person = pa.table({"person": [2**53 + 1, 2**53, None, 5]}).to_pandas()
    assert str(person["person"].dtype) == "float64"
    assert count_units(open_source(person), "person") == 1


def test_numbers_that_are_none_name_no_unit() -> None:
    person = [1.5, math.nan, None, math.inf, 1.5]
    for source in (pl.DataFrame({"person": person}), pa.table({"person": person}), pd.DataFrame({"person": person})):
        assert counted(open_source(source), Query(None, unit=LIMIT)) == Counter({(0, 2, 0): 1})


def test_no_unit_exceeds_its_limit_and_all_below_it_are_kept_whole(opened: Opener) -> None:
    """A limit of 3 over 40 units of 1 to 8 rows, 3 cells: each unit has min(rows that count, 3) in all."""
    people = [person for person in range(40) for _ in range(1 + person % 8)]
    table = rows_of(people, seed=2)
    query = Query(X, BY, unit=UnitLimit("person", 3))
    expected = Counter(r["person"] for r in table.to_pylist() if r["x"] is not None and r["cell"] in tuple("abc"))
    found = counted(opened(table), query)
    assert sum(rows * n for (_, rows, _), n in found.items()) == sum(min(n, 3) for n in expected.values())
    alone = Query(X, unit=UnitLimit("person", 3))
    assert max(rows for _, rows, _ in counted(opened(table), alone)) == 3


@pytest.mark.parametrize("engine", MAKERS)
def test_no_unit_of_a_large_table_in_several_parts_exceeds_its_limit(engine: str, tmp_path: Path) -> None:
    """Arrow joins tables in several parts by several threads, in any order: each row must keep the size of its unit."""
    rng = np.random.default_rng(4)
    parts = [{"person": rng.integers(0, 24_000, 40_000), "x": rng.integers(0, 9, 40_000) + 0.0} for _ in range(6)]
    table = pa.concat_tables([pa.table(part) for part in parts])
    sizes = np.unique(np.concatenate([part["person"] for part in parts]), return_counts=True)[1]
    found = counted(open_source(MAKERS[engine](table, tmp_path)), Query(X, unit=UnitLimit("person", 10)))
    rows: Counter[int] = Counter()
    for (_, kept, _), units in found.items():
        rows[kept] += units
    assert rows == Counter(np.minimum(sizes, 10).tolist())


def test_a_row_that_counts_nowhere_displaces_none(opened: Opener) -> None:
    """Of a person's 60 rows two count: both are kept under a limit of two, whatever the draw."""
    columns = {"person": [5] * 60, "x": [3.0, 4.0] + [None] * 29 + [8.0] * 29, "cell": ["a"] * 31 + ["z"] * 29}
    source = opened(pa.table(columns))
    query = Query(X, BY, unit=UnitLimit("person", 2))
    assert [counted(source, query) for _ in range(2)] == [Counter({(0, 2, 7): 1})] * 2


def test_one_unit_of_a_hundred_thousand_rows(opened: Opener) -> None:
    if "spark" in type(getattr(opened(MANY), "frame", None)).__module__ or opened(MANY).name.startswith("pyspark"):
        pytest.skip("10^5 Python tuples take Spark's driver most of a minute")
    crowd = 10**5
    table = pa.table({"person": [1] * crowd + [2], "x": [10.0] * crowd + [0.0]})
    assert counted(opened(table), Query(X, unit=LIMIT)) == Counter({(0, 4, 40): 1, (0, 1, 0): 1})


def chosen(source: Source, units: int, rows: int, draws: int = 1) -> np.ndarray:
    """Return how often each of `rows` rows of a unit was kept under a limit of one, over units and draws."""
    found = np.zeros(rows)
    for _ in range(draws):
        h = source.histogram(
            Query(ValueOnGrid("x", Grid.from_bounds("x", (0, rows - 1), 1)), unit=UnitLimit("person", 1))
        )
        found[h.index] += h.count
    assert found.sum() == units * draws
    return found


def uniform(found: np.ndarray) -> float:
    return float(stats.chisquare(found).pvalue)


def test_what_is_kept_is_a_uniform_choice(opened: Opener) -> None:
    """n = 3,000 units of 5 rows, fresh keys; the sabotage keeps the first row of each unit."""
    x = [float(row) for row in range(5)] * 3000
    table = pa.table({"person": [row // 5 for row in range(15000)], "x": x})
    source = opened(table)
    if source.name.startswith("pyspark"):
        table = table.slice(0, 5000)
        source = opened(table)
    units = table.num_rows // 5
    assert uniform(chosen(source, units, 5)) > 1e-6
    assert uniform(np.array([units, 0, 0, 0, 0])) < 1e-12


def test_a_set_of_rows_is_chosen_evenly_too() -> None:
    """Pairs of four rows, limit 2, n = 6,000 units: six pairs of one chance. A cyclic choice has but four."""
    powers = ValueOnGrid("x", Grid.from_bounds("x", (0, 8), 1))
    table = pa.table({"person": [row // 4 for row in range(24000)], "x": [1.0, 2.0, 4.0, 8.0] * 6000})
    for source in (open_source(table), open_source(duckdb.from_arrow(table))):
        found = {total: n for (_, _, total), n in counted(source, Query(powers, unit=UnitLimit("person", 2))).items()}
        assert set(found) == {3, 5, 6, 9, 10, 12}
        assert uniform(np.array(list(found.values()))) > 1e-6
    assert uniform(np.array([1500, 0, 1500, 1500, 0, 1500])) < 1e-12


KEY = b"a key of thirty-two octets, known"
NAMED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole numbers": (pa.int64(), [7, -7, 2**53 + 1, 2**53 + 2, 0, 3]),
    "numbers and gaps": (pa.int64(), [7, None, -7, 0, 3]),
    "doubles": (pa.float64(), [7.0, None, -7.0, 1.5, -1.25, 0.1]),
    "texts": (pa.string(), ["ann", "Ann", None, "7", "007", "é|a", "o'\"n", "a,b", "ann "]),
}
THREE = UnitLimit("person", 3)
PAIR = (X, ValueOnGrid("y", WHOLE))
WEIGHT = WeightOnGrid("y", WHOLE)
ASKED: dict[str, SumsQuery | Query] = {
    "sums": SumsQuery(PAIR, (((0, 1),), ((1, 2),), ((0, 1), (2, 1))), (), frozenset({0, 1}), THREE),
    "sums by cell": SumsQuery((X,), (((0, 1),), ((0, 2),), ((1, 2),)), BY, frozenset({0}), THREE),
    "weighted sums": SumsQuery(
        (Weighted(X, WEIGHT), WEIGHT), (((0, 1),), ((0, 1), (1, 1))), BY, frozenset({0, 1}), THREE
    ),
    "units by cell": Query(X, BY, THREE, Missing.MIDPOINT),
    "rows by cell": Query(None, BY, THREE),
    "ranked rows": RankedRows(X, (), THREE),
    "ranked rows by cell": RankedRows(X, BY, THREE, cuts=(1, 3)),
}


def crowded(names: str, seed: int = 3) -> pa.Table:
    """Rows of people who have up to 40 each, many of them alike, with gaps; the rows stand in random order."""
    kind, people = NAMED[names]
    rng = np.random.default_rng(seed)
    listed = [person for place, person in enumerate(people) for _ in range(1 + 13 * place % 40)]
    listed = [listed[place] for place in rng.permutation(len(listed))]
    numbers = {name: [None if rng.random() < 0.1 else float(rng.integers(0, 4)) for _ in listed] for name in "xy"}
    columns = {name: pa.array(column, pa.float64()) for name, column in numbers.items()}
    cells = pa.array([[*"abcd", None][rng.integers(5)] for _ in listed], pa.string())
    return pa.table({"person": pa.array(listed, kind), **columns, "cell": cells})


def kept_of(table: pa.Table, query: SumsQuery | Query, key: bytes) -> Counter[tuple[Any, int, tuple[int, ...]]]:
    """Return how often each (person, cell, indices) is kept: the rule of docs/methods/units.md, by a loop in Python."""
    rows: list[tuple[Any, int, tuple[int, ...]]] = []
    for row in table.to_pylist():
        cell = "abc".find(row["cell"] or "?") if query.by else 0
        whole = [index_of(row, value, query.missing) for value in query.values]
        if row["person"] is not None and cell >= 0 and None not in whole:
            rows.append((row["person"], cell, tuple(map(int, whole))))
    numbers: Counter[tuple[Any, int, tuple[int, ...]]] = Counter()
    ranked: dict[Any, list[tuple[str, Any]]] = {}
    for person, cell, indices in rows:
        numbers[person, cell, indices] += 1
        parts = [key.hex(), cell, *indices, numbers[person, cell, indices], mark(person)]
        digest = hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()
        ranked.setdefault(person, []).append((digest, (person, cell, indices)))
    return Counter(row for listed in ranked.values() for _, row in sorted(listed)[: THREE.max_rows])


def index_of(row: dict[str, Any], value: Value, missing: Missing) -> float | None:
    """Return the index of a value of a row, None where there is none: a weight is then 0."""
    if isinstance(value, Weighted):
        own = index_of(row, value.value, missing)
        return None if own is None else own * (row[value.weight.column] or 0.0)
    absent = 0.0 if isinstance(value, WeightOnGrid) else None if missing is Missing.DROP else 5.0
    return row[value.column] if row[value.column] is not None else absent


def mark(person: Any) -> str:
    """A double names the unit of the same whole number; the first 52 bits behind the point stand behind one."""
    if not isinstance(person, float):
        return str(person)
    whole = math.floor(person)
    return str(whole) if person == whole else f"{whole}.{math.floor((person - whole) * 2**52)}"


def answer_of(kept: Counter[tuple[Any, int, tuple[int, ...]]], query: SumsQuery | Query) -> Any:
    """Return what a question has for an answer, of the rows that are kept."""
    if isinstance(query, RankedRows):
        return ranked_of(kept, query.cuts)
    units: dict[tuple[Any, int], list[int]] = {}
    for (person, cell, indices), times in kept.items():
        totals = units.setdefault((person, cell), [0] * (len(indices) + 1))
        for place, index in enumerate([*indices, 1]):
            totals[place] += times * index
    if isinstance(query, Query):
        return Counter((cell, total[-1], sum(total[:-1])) for (_, cell), total in units.items())
    return {
        monomial: [
            sum(math.prod(total[i] ** power for i, power in monomial) for (_, at), total in units.items() if at == cell)
            for cell in range(query.cells)
        ]
        for monomial in query.monomials
    }


def ranked_of(kept: Counter[tuple[Any, int, tuple[int, ...]]], cuts: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """How many rows there are by (cell, index, rank in its part, rank, rows of the unit in the cell, and in all)."""
    part = [sum(cut <= index for cut in cuts) for index in range(11)]
    rows: dict[Any, dict[int, list[int]]] = {}
    for (person, cell, (index,)), times in kept.items():
        rows.setdefault(person, {}).setdefault(cell, []).extend([index] * times)
    return Counter(
        (cell, index, rank - sum(part[i] < part[index] for i in own), rank, len(own), sum(map(len, cells.values())))
        for cells in rows.values()
        for cell, own in cells.items()
        for rank, index in enumerate(sorted(own), start=1)
    )


def answered(source: Any, query: SumsQuery | Query, key: bytes) -> Any:
    if isinstance(query, RankedRows):
        h = source.histogram(query, key=key)
        places = zip(h.cell.tolist(), *(column.tolist() for column in query.decoded(h.index)), strict=True)
        return Counter(dict(zip(places, h.count.tolist(), strict=True)))
    if isinstance(query, Query):
        h = source.histogram(query, key=key)
        rows, total = query.unit_totals(h.index)
        places = zip(h.cell.tolist(), rows.tolist(), total.tolist(), strict=True)
        return Counter(dict(zip(places, h.count.tolist(), strict=True)))
    sums = source.sums(query, key=key).sums
    return {monomial: sums[monomial].tolist() for monomial in query.monomials}


@pytest.mark.parametrize("names", NAMED)
@pytest.mark.parametrize("asked", ASKED)
def test_every_engine_keeps_the_same_rows(opened: Opener, asked: str, names: str) -> None:
    """Equal to the last integer: units named by numbers or texts, rows alike, values missing; another key, others."""
    table, query = crowded(names), ASKED[asked]
    source = opened(table)
    expected = answer_of(kept_of(named_as(table, source), query, KEY), query)
    assert answered(source, query, KEY) == expected
    assert answer_of(kept_of(table, query, KEY[::-1]), query) != expected


def named_as(table: pa.Table, source: Source) -> pa.Table:
    """Return the rows with the names of people as the source has them: in a CSV file they are trimmed texts."""
    if source.columns["person"] != "text-cell":
        return table
    texts = [None if name is None else str(name).removesuffix(".0").strip() for name in table["person"].to_pylist()]
    return table.set_column(0, "person", pa.array(texts, pa.string()))


def test_what_a_unit_keeps_depends_on_its_own_rows_and_the_key_alone(opened: Opener) -> None:
    """One key: without all other people, beside more of them, and in another order a person keeps the same rows."""
    table, query = crowded("whole numbers"), ASKED["sums by cell"]
    mine = pa.compute.equal(table["person"], 3)
    others = table.filter(pa.compute.invert(mine))
    again = others.set_column(0, "person", pa.compute.subtract(others["person"], 100))
    alone, without, whole, backwards, renamed, larger = (
        answered(opened(rows), query, KEY)
        for rows in (table.filter(mine), others, table, table[::-1], again, pa.concat_tables([again, table]))
    )
    assert whole == backwards == added(without, alone)
    assert larger == added(whole, renamed)
    # People of another name keep others of the same rows.
    assert renamed != without


def test_the_rows_beyond_the_limit_make_no_sum_too_large(opened: Opener) -> None:
    """Forty rows of 2⁵⁸ exceed 64 bits; the four that are kept do not, and no more are added up."""
    value = ColumnProduct(((ValueOnGrid("x", Grid(Fraction(0), Fraction(1), 2**29)), 2),))
    table = pa.table({"person": [1] * 40 + [2], "x": [1.0] * 40 + [0.5]})
    query = SumsQuery((value,), (((0, 1),), ((1, 1),)), (), frozenset({0}), LIMIT)
    assert answered(opened(table), query, KEY) == {((0, 1),): [4 * 2**58], ((1, 1),): [5]}


def test_totals_that_no_engine_has_room_for_are_refused() -> None:
    value = ColumnProduct(((ValueOnGrid("x", Grid(Fraction(0), Fraction(1), 2**30)), 2),))
    with pytest.raises(ParameterError, match="HG107"):
        SumsQuery((value,), (((0, 1),),), (), frozenset({0}), LIMIT)


@pytest.mark.databases
def test_a_unit_whose_name_is_no_unicode_in_sqlite_is_one_like_others(tmp_path: Path) -> None:
    """SQLite keeps any octets as a text, and gives none that is not UTF-8 to Python's functions."""
    path = as_sqlite(pa.table({"person": ["ann"] * 9, "x": [3.0] * 9}), tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        for cell in ("CAST(x'ff41' AS TEXT)", "CAST(x'410042' AS TEXT)"):
            connection.executemany(f"INSERT INTO people VALUES ({cell}, ?)", [(float(x),) for x in range(9)])
    assert sum(counted(open_source(path), Query(X, unit=THREE)).values()) == 3


@pytest.mark.databases
def test_persons_by_weekday_are_read_from_sqlite_whose_parser_has_a_small_stack(tmp_path: Path) -> None:
    """Its question is nested deeper than the parser of SQLite before 3.46 allows."""
    days = [datetime.datetime(2026, 1, 1 + place % 28, 10, 30) for place in range(400)]
    table = pa.table({"person": [place % 90 for place in range(400)], "t": days, "x": [5.0] * 400})
    by = {hedgerow.column("weekday(t)"): list(range(1, 8))}
    unit = {"column": "person", "max_rows": 5}
    for made in (table, as_sqlite(table, tmp_path)):
        survey = hedgerow.open(made, unit=unit, relation="add-remove")
        release = survey.mean("x", bounds=(0, 10), by=by, epsilon=20.0)
        assert all(abs(estimate.estimate - 5.0) < 2.0 for estimate in release)


def added(one: Any, other: Any) -> Any:
    return {name: [a + b for a, b in zip(total, other[name], strict=True)] for name, total in one.items()}


def kept_by(engine: str, key: bytes, rows: list[tuple[int, int]]) -> list[int]:
    """Return the values that are kept, one a unit, under a given key; each value belongs to one unit."""
    table = pa.table({"person": [p for p, _ in rows], "x": [float(x) for _, x in rows]})
    source: Any = open_source(table if engine == "pyarrow" else duckdb.from_arrow(table))
    grid = Grid.from_bounds("x", (0, 1200), 1)
    kept: list[int] = source.histogram(
        Query(ValueOnGrid("x", grid), unit=UnitLimit("person", 1)), key=key
    ).index.tolist()
    return kept


@pytest.mark.parametrize("engine", ["pyarrow", "duckdb"])
def test_one_unit_s_choice_tells_nothing_of_another_s(engine: str) -> None:
    """n = 600 units of two rows: each keeps the second half of the time, and neighbours choose independently."""
    # A unit's two values are 2p and 2p + 1.
    second = np.array([x % 2 == 1 for x in kept_by(engine, b"1" * 32, [(x // 2, x) for x in range(1200)])])
    assert stats.binomtest(int(second.sum()), 600).pvalue > 1e-6
    assert stats.binomtest(600, 600).pvalue < 1e-12
    assert together(second) > 1e-6
    # One choice for all units alike: what one keeps tells what the others keep.
    assert together(np.repeat([True, False], 300)) < 1e-12


def together(second: np.ndarray) -> float:
    """Return the p-value of neighbours choosing independently, over 300 pairs."""
    left, right = second[::2], second[1::2]
    return float(stats.fisher_exact([[np.sum((left == a) & (right == b)) for b in (0, 1)] for a in (0, 1)]).pvalue)


def test_one_key_is_one_choice_and_each_question_draws_its_own() -> None:
    rows = [(x // 10, x) for x in range(400)]
    assert kept_by("pyarrow", b"k" * 32, rows) == kept_by("pyarrow", b"k" * 32, rows)
    assert kept_by("pyarrow", b"k" * 32, rows) != kept_by("pyarrow", b"l" * 32, rows)
    assert kept_by("pyarrow", b"", rows) != kept_by("pyarrow", b"", rows)


def test_missing_values_of_a_complete_column_are_reported_by_cell() -> None:
    for source in (open_source(MANY), open_source(duckdb.from_arrow(MANY))):
        h = source.histogram(Query(X, BY, unit=LIMIT, missing=Missing.DECLARED_COMPLETE))
        known = [row for row in MANY.to_pylist() if row["x"] is None and row["person"] is not None]
        assert h.missing.tolist() == [sum(row["cell"] == cell for row in known) for cell in "abc"]


def test_what_cannot_name_units_is_refused_by_the_schema() -> None:
    table = pa.table({"x": [1.0], "truth": [True], "day": pa.array([0], pa.date32())})
    for column in ("truth", "day"):
        with pytest.raises(ParameterError, match="HG115"):
            open_source(table).check(Query(X, unit=UnitLimit(column, 2)))
    with pytest.raises(DataError, match="HG203"):
        open_source(table).check(Query(X, unit=UnitLimit("nobody", 2)))


def test_several_columns_together_have_no_unit_totals() -> None:
    from hedgerow.engines.query import JointGrid

    with pytest.raises(UncertifiedError, match="HG402"):
        Query(JointGrid((X,)), unit=LIMIT)
