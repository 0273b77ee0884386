"""A Parquet file of few values is grouped by its raw values first: the same integers, and the footers choose."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pyarrow.parquet as pq
import pytest
from tests.contracts.database_tables import into_postgres

from hedgerow.engines import frames
from hedgerow.engines.dialects import few_values
from hedgerow.engines.query import Indicator, Query, SumsQuery, ValueOnGrid
from hedgerow.engines.source import ColumnSource, open_source
from hedgerow.facts.columns import Category, Grid, Selection
from hedgerow.facts.relation import UnitLimit
from hedgerow.formats import parquet

ROWS = 40_000
COLUMNS = {
    "few": "(i * 7919 % 50)::DOUBLE",
    "gaps": "CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN '-inf'::DOUBLE ELSE i % 9 END",
    "zeros": "CASE WHEN i % 3 = 0 THEN -0.0::DOUBLE ELSE 0.0::DOUBLE END",
    "many": "(i * 7919 % 30011)::DOUBLE",
    "ordered": "(i // 20)::DOUBLE",
    "part": "'part ' || i % 12",
    "code": "CASE WHEN i % 13 = 0 THEN NULL ELSE (i * 7919 % 9)::SMALLINT END",
    "truth": "CASE WHEN i % 17 > 0 THEN i % 3 = 0 END",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("few") / "people.parquet"
    chosen = ", ".join(f"{made} AS {name}" for name, made in COLUMNS.items())
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {chosen} FROM range({ROWS}) r(i)) TO '{written}' (ROW_GROUP_SIZE 4096)")
    return written


def on_grid(column: str) -> ValueOnGrid:
    return ValueOnGrid(column, Grid.from_bounds(column, (-1, 40), 0.5))


PARTS = Category.declared("part", [f"part {place}" for place in range(10)])
QUESTIONS: dict[str, Query | SumsQuery] = {
    "histogram": Query(on_grid("few")),
    "missing values": Query(on_grid("gaps"), (PARTS,)),
    "share": Query(Indicator("few", 3.0)),
    "share of a column with gaps": Query(Indicator("gaps", 3.0)),
    "several shares of one column": SumsQuery(
        (Indicator("code", 3), Indicator("code", 5), Indicator("code", 2.5), on_grid("code")),
        (((0, 1),), ((1, 1),), ((2, 1),), ((0, 1), (3, 1)), ((0, 1), (1, 1))),
        (Category.declared("code", [*range(2, 7)]),),
        frozenset([0]),
    ),
    "truths": Query(Indicator("truth", 1), (Category.declared("code", [1, 3, 2.5, 7, 9, 20, 21, 22, 23]),)),
    "counts of texts": Query(None, (PARTS,)),
    "selected": Query(on_grid("few"), (PARTS, Selection.of("many > 100"))),
    "sums": SumsQuery((on_grid("gaps"),), (((0, 1),), ((0, 2),)), (PARTS,), frozenset([0])),
    "products": SumsQuery((on_grid("few"), on_grid("gaps")), (((0, 1),), ((0, 1), (1, 1)), ((1, 2),)), (), frozenset()),
    "sums of the selected": SumsQuery(
        (on_grid("few"),), (((0, 1),),), (PARTS, Selection.of("many > 100")), frozenset([0])
    ),
    "negative zeros": SumsQuery((on_grid("zeros"),), (((0, 1),), ((0, 2),)), (), frozenset([0])),
}


def answer(path: Path, query: Query | SumsQuery) -> Any:
    return answer_of(open_source(path), query)


def answer_of(source: ColumnSource, query: Query | SumsQuery) -> Any:
    if isinstance(query, Query):
        counts = source.histogram(query)
        return [part.tolist() for part in (counts.cell, counts.index, counts.count, counts.missing)], counts.outside
    sums = source.sums(query)
    return {name: totals.tolist() for name, totals in sums.sums.items()}, sums.missing.tolist(), sums.outside


def both_ways(path: Path, query: Query | SumsQuery, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    answers = []
    for few in ("true", "false"):
        monkeypatch.setattr(parquet, "few_values", lambda *_, few=few: few)
        answers.append(answer(path, query))
    return answers


@pytest.mark.parametrize("name", QUESTIONS)
def test_both_ways_give_the_same_integers(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grouped, one_by_one = both_ways(path, QUESTIONS[name], monkeypatch)
    assert grouped == one_by_one


@pytest.mark.parametrize("name", ["histogram", "sums"])
def test_sabotage_each_combination_counted_once(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def once(rows: nw.LazyFrame[Any], query: Query | SumsQuery) -> nw.LazyFrame[Any]:
        return few_values.by_raw_values(rows, query).with_columns(nw.lit(1, nw.Int64).alias(few_values.RECORDS))

    monkeypatch.setattr(frames, "by_raw_values", once)
    grouped, one_by_one = both_ways(path, QUESTIONS[name], monkeypatch)
    assert grouped != one_by_one


@pytest.mark.parametrize(
    ("columns", "few"),
    [
        (["few"], True),
        (["gaps"], True),
        (["few", "gaps"], True),
        (["part"], True),
        (["many"], False),
        (["few", "many"], False),
        (["ordered"], True),
        (["not there"], False),
    ],
)
def test_the_footers_say_whether_there_are_few(path: Path, columns: list[str], few: bool) -> None:
    asked = parquet.few_values(str(path), columns, 2**14)
    assert duckdb.sql(f"SELECT ({asked})").fetchall() == [(few,)]
    # Ordered values are others in each part of the file: fewer than 2,000 in all here, too many for a smaller limit.
    if columns == ["ordered"]:
        assert duckdb.sql(f"SELECT ({parquet.few_values(str(path), columns, 2**4)})").fetchall() == [(False,)]


def test_only_questions_of_few_columns_and_rows_alone_are_asked_both_ways() -> None:
    three = [on_grid(column) for column in ("few", "gaps", "zeros")]
    assert few_values.columns_to_group(SumsQuery(tuple(three), ())) == ["few", "gaps", "zeros"]
    assert few_values.columns_to_group(SumsQuery((*three, on_grid("many")), ())) == []
    assert few_values.columns_to_group(Query(three[0], unit=UnitLimit("person", 2))) == []
    assert few_values.columns_to_group(Query(three[0], (Selection.of("many > 100"),))) == ["few"]
    of_groups = {levels: (Category("many", tuple(range(levels))),) for levels in (2**11, 2**11 + 1, 2**14 + 1)}
    asked = [Query(three[0], of_groups[2**11]), Query(None, of_groups[2**11 + 1])]
    assert [few_values.columns_to_group(query) for query in asked] == [["few", "many"], ["many"]]
    asked = [Query(three[0], of_groups[2**11 + 1]), Query(None, of_groups[2**14 + 1])]
    assert [few_values.columns_to_group(query) for query in asked] == [[], []]


def test_a_statement_that_is_not_chosen_reads_no_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the other statement has no scan of the file."""
    monkeypatch.setattr(parquet, "few_values", lambda *_: "true")
    _, few, many = open_source(path).statements(QUESTIONS["sums"])
    for chosen in (True, False):
        with duckdb.connect() as connection:
            connection.execute(few_values.statement_of(str(chosen)))
            scans = ["PARQUET" in str(connection.execute(f"EXPLAIN {text}").fetchall()).upper() for text in (few, many)]
        assert scans == [chosen, not chosen]


@pytest.mark.parametrize("condition", ["gaps > 3", "gaps != 3", "gaps > 3 or code in [1, 2]", "code < 4 and few > 7"])
def test_a_missing_value_selects_no_record(path: Path, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB holds NaN to be the largest number, and may look for selected records by what it knows of each part."""
    query = SumsQuery((on_grid("few"),), (((0, 1),),), (Selection.of(condition),), frozenset([0]))
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT few, code, gaps FROM '{path}'").fetchall()
    finite = [(few, code, math.nan if gaps is None or math.isinf(gaps) else gaps) for few, code, gaps in rows]
    selected = {
        "gaps > 3": lambda few, code, gaps: gaps > 3,
        "gaps != 3": lambda few, code, gaps: gaps == gaps and gaps != 3,
        "gaps > 3 or code in [1, 2]": lambda few, code, gaps: gaps > 3 or code in (1, 2),
        "code < 4 and few > 7": lambda few, code, gaps: code is not None and code < 4 and few > 7,
    }[condition]
    chosen = [few for few, code, gaps in finite if selected(few, code, gaps)]
    total = sum(math.floor((min(few, 40.0) + 1.0) / 0.5 + 0.5) for few in chosen)
    expected = ({(): [len(chosen)], ((0, 1),): [total]}, [0], ROWS - len(chosen))
    assert both_ways(path, query, monkeypatch) == [expected, expected]


def chosen_in_postgres(few: str) -> str:
    """Return the statement that chooses a way, or one that fails."""
    return f"SELECT set_config('hedgerow.few_values', {few}, true) AS chosen, COUNT(*)"


@pytest.mark.databases
def test_postgres_gives_the_same_integers_both_ways(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = request.getfixturevalue("postgres")
    into_postgres(pq.read_table(path), server)
    source = open_source(server.url, table="people")
    for name, query in QUESTIONS.items():
        answers = []
        for few in ("'true'", "'false'", "(1 / 0)::text"):
            monkeypatch.setattr(few_values, "statement_for_postgres", lambda *_, few=few: chosen_in_postgres(few))
            answers.append(answer_of(source, query))
        assert answers == [answer(path, query)] * 3, name
    # The sabotage: a row of each group counts as one record.
    query = QUESTIONS["sums"]
    monkeypatch.setattr(few_values, "statement_for_postgres", lambda *_: chosen_in_postgres("'true'"))
    by_raw_values = few_values.by_raw_values
    monkeypatch.setattr(
        frames,
        "by_raw_values",
        lambda rows, query: by_raw_values(rows, query).with_columns(nw.lit(1, nw.Int64).alias(few_values.RECORDS)),
    )
    assert answer_of(source, query) != answers[-1]


@pytest.mark.databases
def test_postgres_says_whether_there_are_few(path: Path, request: pytest.FixtureRequest) -> None:
    import psycopg

    server = request.getfixturevalue("postgres")
    into_postgres(pq.read_table(path), server)
    with psycopg.connect(server.url) as connection:

        def few(*columns: str) -> str:
            asked = few_values.statement_for_postgres("public", "people", columns)
            ((chosen,),) = connection.execute(asked).fetchall()
            return str(chosen)

        assert few("few") == "false", "nothing is known of a table that was not analysed"
        connection.execute("ANALYZE people")
        assert [few("few"), few("part"), few("few", "gaps"), few("few", "not there")] == ["true"] * 3 + ["false"]
        assert few("many") == few("few", "many") == "false"
        _, grouped, one_by_one = open_source(server.url, table="people").statements(QUESTIONS["sums"])
        for setting in ("true", "false"):
            connection.execute(chosen_in_postgres(f"'{setting}'"))
            plans = [connection.execute(f"EXPLAIN ANALYZE {text}").fetchall() for text in (grouped, one_by_one)]
            read = ["(never executed)" not in str(plan) for plan in plans]
            assert read == [setting == "true", setting == "false"]


@pytest.mark.databases
def test_several_workers_of_postgres_add_up(path: Path, request: pytest.FixtureRequest) -> None:
    import psycopg

    server = request.getfixturevalue("postgres")
    into_postgres(pq.read_table(path), server)
    *_, many = open_source(server.url, table="people").statements(QUESTIONS["sums"])
    with psycopg.connect(server.url) as connection:
        for cost in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
            connection.execute(f"SET {cost} = 0")
        # The sabotage: behind a limit one process adds up.
        texts = many, many.replace("OFFSET '0'", f"LIMIT {2**62}")
        plans = [str(connection.execute(f"EXPLAIN {text}").fetchall()) for text in texts]
        assert [("Workers Planned" in plan, "Partial" in plan) for plan in plans] == [(True, True), (True, False)]
        # The place of a value on its grid is computed below the sums, once; the sabotage computes it in each of them.
        below = []
        for text in (many, many.replace("OFFSET '0'", "")):
            lines = [str(line) for (line,) in connection.execute(f"EXPLAIN (VERBOSE) {text}").fetchall()]
            below.append(any("floor(" in line and "sum(" not in line for line in lines if "Output:" in line))
        assert below == [True, False]
