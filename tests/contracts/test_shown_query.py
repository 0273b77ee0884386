"""What `Plan.query` shows is what the engine is sent: its own log says so, for every kind of question."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from tests.contracts.database_tables import as_sqlite, into_postgres
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines import files
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.exact_answers import SECRET_KEY
from hedgerow.release import plan as plans
from hedgerow.release.execute import draw_tables, read_histograms
from hedgerow.testing.simulated import SimulatedNoise

LEVELS = [f"job {place}" for place in range(40)]
AGE = {"bounds": (0, 100), "step": 1}
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count by few groups": lambda survey: survey.plan(hg.count(), by={"sex": [0, 1]}, epsilon=1.0),
    "share where": lambda survey: survey.plan(hg.proportion("sex", value=1), where="age >= 25", epsilon=1.0),
    "mean": lambda survey: survey.plan(hg.mean("age", **AGE), epsilon=1.0),
    "mean by many groups, where": lambda survey: survey.plan(
        hg.mean("age", **AGE), by={"job": LEVELS}, where="sex in [0, 1]", epsilon=1.0
    ),
    "several statistics": lambda survey: survey.plan(
        [hg.mean("age", **AGE), hg.sum("pay", bounds=(0, 1000)), hg.ratio("age", "pay", bounds=PAIR), hg.count()],
        by={"sex": [0, 1]},
        epsilon=1.0,
    ),
    "quantiles beside means": lambda survey: survey.plan(
        [hg.quantile("age", 0.5, **AGE), hg.mean("age", **AGE)], by={"sex": [0, 1]}, epsilon=1.0
    ),
    "bands": lambda survey: survey.plan(hg.mean("pay", bounds=(0, 1000)), by={"age": hg.bands(0, 30, 60)}, epsilon=1.0),
    "vectors drawn apart": lambda survey: joined(
        survey.plan(hg.mean("age", **AGE), epsilon=1.0), survey.plan(hg.mean("pay", bounds=(0, 1000)), epsilon=1.0)
    ),
    "bootstrap": lambda survey: survey.plan(hg.mean("age", **AGE), estimator="bootstrap", epsilon=1.0),
}
QUESTION = "SET VARIABLE hedgerow_few_values"
PAIR = {"age": (0, 100), "pay": (0, 1000)}


def joined(first: Any, second: Any) -> Any:
    return replace(first, items=(*first.items, *second.items))


@cache
def planned(name: str) -> Any:
    return QUESTIONS[name](hg.open(people(300), relation="replace-one"))


def plans_for(survey: hg.Survey) -> dict[str, Any]:
    """Return the plan of each question, for the source of a survey."""
    return {name: replace(planned(name), source=survey.source) for name in QUESTIONS}


def people(rows: int) -> pa.Table:
    return pa.table(
        {
            "age": [float(place % 97) for place in range(rows)],
            "pay": pa.array([None if place % 7 == 0 else float(place % 1013) for place in range(rows)], pa.float64()),
            "sex": pa.array([place % 3 for place in range(rows)], pa.int64()),
            "job": [LEVELS[place % 40] for place in range(rows)],
            "person": pa.array([place // 2 for place in range(rows)], pa.int64()),
        }
    )


def file_of(kind: str, folder: Path, rows: int = 300) -> Path:
    import duckdb
    import pyarrow.csv
    import pyarrow.parquet

    path = folder / f"people.{kind}"
    if kind == "sqlite":
        return as_sqlite(people(rows), folder)
    if kind == "duckdb":
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as connection:
            connection.register("in_memory", people(rows))
            connection.execute("CREATE TABLE people AS SELECT * FROM in_memory")
    elif kind == "csv":
        pyarrow.csv.write_csv(people(rows), path)
    else:
        pyarrow.parquet.write_table(people(rows), path)
    return path


@contextmanager
def sent_to(kind: str) -> Iterator[list[str]]:
    """Yield what an engine says that it was sent, by its own log."""
    heard: list[str] = []
    if kind == "sqlite":
        connect = sqlite3.connect

        def traced(*given: Any, **more: Any) -> sqlite3.Connection:
            connection = connect(*given, **more)
            connection.set_trace_callback(heard.append)
            return connection

        with mock.patch.object(sqlite3, "connect", traced):
            yield heard
        heard[:] = [text for text in heard if not re.search("PRAGMA|pragma_|^BEGIN|sqlite_schema", text)]
    elif kind == "postgres":
        import psycopg

        execute_ = psycopg.Cursor.execute

        def noted(cursor: Any, query: Any, *given: Any, **more: Any) -> Any:
            heard.append(str(query))
            return execute_(cursor, query, *given, **more)

        with mock.patch.object(psycopg.Cursor, "execute", noted):
            yield heard
        heard[:] = [text for text in heard if "GROUP BY" in text or "COUNT(" in text]
    else:
        connected = files._connected

        def logged(folder: str = "") -> Any:
            connection = connected(folder)
            connection.execute("CALL enable_logging('QueryLog')")
            return _Logged(connection, heard)

        files.KEPT.close()
        with mock.patch.object(files, "_connected", logged):
            yield heard
            files.KEPT.close()


class _Logged:
    """A connection of DuckDB that hands its log over when it is closed, without what only sets it up."""

    def __init__(self, connection: Any, heard: list[str]) -> None:
        self._connection, self._heard = connection, heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def close(self) -> None:
        said = self._connection.execute("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'").fetchall()
        setting_up = ("SET", "CALL", "SELECT", "ATTACH", "USE", "PRAGMA", "BEGIN", "ROLLBACK")
        # DuckDB looks up the names of a query of a relation by a view, which is gone before anything is read.
        setting_up += ("CREATE TEMPORARY VIEW", "DROP VIEW")
        texts = [text for (text,) in said if "?" not in text]
        self._heard += [text for text in texts if text.startswith(QUESTION) or not text.startswith(setting_up)]
        # A table without rows, in which a query on a CSV file is built where it is only shown.
        self._heard[:] = [text for text in self._heard if not text.startswith("CREATE TEMP TABLE cells (")]
        self._connection.close()


KINDS = ["parquet", "csv", pytest.param("sqlite", marks=pytest.mark.databases)]


@pytest.mark.parametrize(
    "kind",
    [
        *KINDS,
        pytest.param("duckdb", marks=pytest.mark.databases),
        pytest.param("postgres", marks=pytest.mark.databases),
    ],
)
def test_what_is_shown_is_what_is_sent(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        into_postgres(people(300), server)
        survey = hg.open(server.url, table="people", relation="replace-one")
    else:
        survey = hg.open(file_of(kind, tmp_path), relation="replace-one")
    assert survey.n == 300
    for name, plan in plans_for(survey).items():
        with sent_to(kind) as heard:
            shown = [text.strip() for text in plan.query()]
        assert heard == [], "nothing is sent, and no record is read, to show it"
        with sent_to(kind) as heard:
            read_histograms(plan, survey.source)
        assert [text.strip() for text in heard] == shown != [], name
    # The sabotage: questions that are not asked together are others than those that are shown.
    plan = plans_for(survey)["vectors drawn apart"]
    monkeypatch.setattr(plans, "as_sent", list)
    with sent_to(kind) as heard:
        read_histograms(plan, survey.source)
    assert [text.strip() for text in heard] != [text.strip() for text in plan.query()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_of_records_is_shown_too(kind: str, tmp_path: Path) -> None:
    """A bootstrap of a fine grid reads record by record: its text counts nothing."""
    survey = hg.open(file_of(kind, tmp_path), relation="replace-one")
    assert survey.n == 300
    fine = hg.mean("pay", bounds=(0, 1000), step=1e-4)
    plan = survey.plan(fine, by={"sex": [0, 1]}, estimator="bootstrap", n_resamples=5, epsilon=1.0)
    shown = [text.strip() for text in plan.query()]
    with sent_to(kind) as heard:
        draw_tables(plan, read_histograms(plan, survey.source), SimulatedNoise(1))
    assert [text.strip() for text in heard] == shown != []
    assert "GROUP BY" not in shown[-1].upper()


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_depends_on_declared_things_alone(kind: str, tmp_path: Path) -> None:
    """Other records, and one alone: the same text; the path is the same."""
    texts = set()
    for rows in (300, 1):
        survey = hg.open(file_of(kind, tmp_path, rows), relation="add-remove")
        plans = plans_for(survey)
        shown = [text for name in ("mean by many groups, where", "several statistics") for text in plans[name].query()]
        texts.add(re.sub(r"\d+\.sqlite", "", "\n".join(shown)))
    assert len(texts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_key_is_never_shown(kind: str, tmp_path: Path) -> None:
    unit = {"column": "person", "max_rows": 2}
    survey = hg.open(file_of(kind, tmp_path), relation="replace-one", unit=unit)
    plan = survey.plan([hg.mean("age", **AGE), hg.count()], by={"sex": [0, 1]}, epsilon=1.0)
    shown = plan.query()
    assert shown == plan.query() and any(SECRET_KEY in text for text in shown)
    assert not re.search(r"[0-9a-f]{32}", "".join(shown))
    with sent_to(kind) as heard:
        read_histograms(plan, survey.source)
    keys = set(re.findall(r"[0-9a-f]{32}", "".join(heard)))
    assert len(keys) > 1, "a key of its own for each question"
    assert [re.sub(r"[0-9a-f]{32}", SECRET_KEY, text).strip() for text in heard] == [text.strip() for text in shown]


@pytest.mark.databases
def test_an_ibis_table_and_a_duckdb_relation_show_what_they_are_sent() -> None:
    import duckdb

    ibis = pytest.importorskip("ibis", reason="ibis is not installed: its tables are not tested here")
    table = ibis.memtable(people(300))
    connection, survey = table.get_backend(), hg.open(table, relation="replace-one")
    for plan in plans_for(survey).values():
        raw, heard = type(connection).raw_sql, list[str]()

        def noted(backend: Any, query: Any, raw: Any = raw, heard: list[str] = heard) -> Any:
            heard.append(query)
            return raw(backend, query)

        with mock.patch.object(type(connection), "raw_sql", noted):
            read_histograms(plan, survey.source)
        assert tuple(text for text in heard if "GROUP BY" in text or "COUNT(" in text) == plan.query() != ()
    with duckdb.connect() as other:
        relation = other.sql("SELECT 40.0 AS age FROM range(100)")
        plan = hg.open(relation, relation="replace-one").plan(hg.mean("age", **AGE), epsilon=1.0)
        (text,) = plan.query()
        other.execute("CALL enable_logging('QueryLog')")
        read_histograms(plan, plan.source)
        said = other.execute("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'").fetchall()
    assert text.strip() in [one.strip() for (one,) in said]


def test_a_frame_that_is_sent_no_text_is_refused_and_not_read() -> None:
    import pandas as pd
    import polars as pl

    for frame in (people(10), people(10).to_pandas(), pl.from_arrow(people(10)).lazy()):
        plan = hg.open(frame, relation="add-remove").plan(hg.mean("age", **AGE), epsilon=1.0)
        with pytest.raises(hg.ParameterError, match="HG213") as refused:
            plan.query()
        assert "text" in str(refused.value)
    assert pd.__name__ == "pandas"


def test_the_command_shows_it_and_says_that_nothing_was_sent(tmp_path: Path) -> None:
    path = file_of("parquet", tmp_path)
    asked = ["plan", str(path), "--relation", "replace-one", "--mean", "age:0:100:1", "--by", "sex=0,1"]
    asked += ["--epsilon", "1"]
    plan = hg.open(path, relation="replace-one").plan(hg.mean("age", **AGE), by={"sex": [0, 1]}, epsilon=1.0)
    ran = CliRunner().invoke(app, [*asked, "--show-query"])
    assert ran.exit_code == 0 and "nothing was sent now" in ran.output
    assert all(line in ran.output for text in plan.query() for line in text.strip().split("\n"))
    ran = CliRunner().invoke(app, [*asked, "--show-query", "--json"])
    assert json.loads(ran.output)["plans"][0]["query"] == list(plan.query())
    free = [*asked[:4], "--count", "--epsilon", "1", "--show-query"]
    assert "will send no query" in CliRunner().invoke(app, free).output
    assert "query" not in json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)["plans"][0]
    ran = CliRunner().invoke(app, ["plan", "--n", "300", *asked[2:], "--show-query"])
    assert ran.exit_code == 2 and "HG213" in ran.stderr
    assert ibis_tables.mark_apart(["a,b"]) == "|"
