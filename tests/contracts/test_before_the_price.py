"""A source that is away, locked, without rights or changed costs nothing; a release asks all questions in one state."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa
import pytest
from tests.contracts.database_tables import as_sqlite, into_postgres
from tests.contracts.postgres_server import Postgres, running
from tests.engines import need
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.exact_answers import FrameAnswers
from hedgerow.engines.query import ColumnQuery, Query, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration.calibration_fit import FitOptions, ScoredColumns, fit_from_source
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.release import spend
from hedgerow.release.spend import Account

IN_DUCKDB_OR_DATABASES = ["duckdb", *(pytest.param(one, marks=pytest.mark.databases) for one in ("sqlite", "postgres"))]
ROWS = 400
X = {"bounds": (0, 100), "step": 1}


def people(last: float = 7.0) -> pa.Table:
    return pa.table(
        {
            "x": [*(float(place % 90) for place in range(ROWS - 1)), last],
            "y": pa.array([place % 2 for place in range(ROWS)], pa.int64()),
            "p": [place % 10 / 10 for place in range(ROWS)],
        }
    )


def as_duckdb(table: pa.Table, path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("in_memory", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM in_memory")
    return path


class People:
    """The table people in a database, and another program that has it open too."""

    def __init__(self, kind: str, folder: Path, request: pytest.FixtureRequest, last: float = 7.0) -> None:
        self.kind = kind
        if kind == "postgres":
            self.server: Postgres = request.getfixturevalue("postgres")
            into_postgres(people(last), self.server)
            self.where: Any = self.server.url + "?options=-c%20lock_timeout%3D100ms"
        elif kind == "sqlite":
            self.where = as_sqlite(people(last), folder)
            self.other("PRAGMA journal_mode = WAL")  # others may write while one reads, and the file stays as it is
        else:
            self.where = as_duckdb(people(last), folder / f"{len(list(folder.iterdir()))}.duckdb")

    def survey(self, **more: Any) -> hg.Survey:
        return hg.open(self.where, table="people", relation="add-remove", **more)

    def other(self, *statements: str) -> bool:
        """Let another program run statements; return whether it could."""
        if self.kind == "postgres":
            import psycopg

            with psycopg.connect(self.server.url) as connection:
                for statement in statements:
                    connection.execute(statement)
            return True
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.where)) as connection, connection:
                for statement in statements:
                    connection.execute(statement)
            return True
        run = "import sys, duckdb\nwith duckdb.connect(sys.argv[1]) as c:\n    [c.execute(one) for one in sys.argv[2:]]"
        return not subprocess.run([sys.executable, "-c", run, self.where, *statements], capture_output=True).returncode

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let another program lock the table meanwhile."""
        with ExitStack() as stack:
            if self.kind == "postgres":
                import psycopg

                other = stack.enter_context(closing(psycopg.connect(self.server.url)))
                other.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
            elif self.kind == "sqlite":
                connect = sqlite3.connect
                other = stack.enter_context(closing(connect(self.where)))
                other.execute("PRAGMA locking_mode = EXCLUSIVE")  # in WAL mode nothing else keeps a reader out
                other.execute("BEGIN EXCLUSIVE")
                other.execute("INSERT INTO people VALUES (1, 1, 1)")
                at_once = stack.enter_context(mock.patch.object(sqlite3, "connect"))
                at_once.side_effect = lambda *given, **more: connect(*given, **more | {"timeout": 0.01})
            else:
                run = "import sys, duckdb\nc = duckdb.connect(sys.argv[1])\nprint('open', flush=True)\nsys.stdin.read()"
                pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
                program = stack.enter_context(subprocess.Popen([sys.executable, "-c", run, self.where], **pipes))
                assert program.stdout is not None and program.stdout.readline() == b"open\n"
            yield


@pytest.fixture(params=IN_DUCKDB_OR_DATABASES)
def held(request: pytest.FixtureRequest, tmp_path: Path) -> People:
    if request.param != "duckdb":
        pytest.importorskip("ibis", reason="ibis is not installed: databases are not tested here")
    return People(request.param, tmp_path, request)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "a.ledger"
    Ledger.create(place, dataset="d", budget=Budget(100.0, 1e-4), relation="add-remove", unit="row").close()
    return place


def states(path: Path) -> list[str]:
    with Ledger.open(path) as kept:
        return [entry.state for entry in kept.entries()]


def refused(ask: Callable[[], object], ledger: Path) -> str:
    """Return the refusal of what must cost nothing."""
    before = states(ledger)
    with pytest.raises(hg.DataError) as caught:
        ask()
    assert states(ledger) == before, "nothing is spent"
    assert caught.value.__context__ is None
    return str(caught.value)


PRODUCTS: dict[str, Callable[[hg.Survey], object]] = {
    "release": lambda one: one.mean("x", **X, epsilon=1.0),
    "table": lambda one: one.magnitude_table("x", **X, by={"y": [0, 1]}, epsilon=1.0),
    "margins": lambda one: one.margins(by={"y": [0, 1]}, epsilon=1.0),
    "ols": lambda one: one.ols("x ~ y", bounds={"x": (0, 100), "y": (0, 1)}, epsilon=1.0),
    "logit": lambda one: one.logit("y ~ x", bounds={"x": (0, 100)}, epsilon=1.0),
    "bounds": lambda one: one.find_bounds("x", epsilon=1.0),
    "categories": lambda one: one.find_categories("y", epsilon=1.0),
    "model": lambda one: fit_from_source(
        one.source,
        ScoredColumns("y", "p"),
        family_of({"y": [0, 1]}, depth=1),
        FitOptions("add-remove", 1.0),
        Account(None, one.ledger),
    ),
}
BOOTSTRAP: dict[str, Callable[[hg.Survey], object]] = {
    "numbers": lambda one: one.release(hg.sum("x", step=1), missing="drop", epsilon=1.0, guarantee="bootstrap-dp"),
    "bootstrap table": lambda one: one.contingency_table(by={"y": [0, 1]}, epsilon=1.0, guarantee="bootstrap-dp"),
}


def test_whatever_is_released_from_a_locked_table_costs_nothing(held: People, ledger: Path, tmp_path: Path) -> None:
    survey, other = held.survey(ledger=ledger), tmp_path / "b.ledger"
    total = Budget(9.0, 0.0)
    named = {"dataset": "d", "relation": "replace-one", "unit": "row", "guarantee": "bootstrap-dp"}
    Ledger.create(other, budget=total, **named).close()  # type: ignore[arg-type]  # one dict for all
    fixed = hg.open(held.where, table="people", relation="replace-one", ledger=other)
    assert fixed.n == ROWS
    with held.locked():
        told = {name: refused(lambda ask=ask: ask(survey), ledger) for name, ask in PRODUCTS.items()}
        told |= {name: refused(lambda ask=ask: ask(fixed), other) for name, ask in BOOTSTRAP.items()}
    assert {one.split(":")[0] for one in told.values()} == {"HG207"}, told
    assert len(set(told.values())) == 1 and "othing was read or spent" in told["release"]
    for name, ask in PRODUCTS.items():
        assert ask(survey), name
    assert states(ledger) == ["recorded"] * len(PRODUCTS)


def test_a_refusal_before_the_price_does_not_tell_of_the_last_record(
    tmp_path: Path, request: pytest.FixtureRequest, ledger: Path, held: People
) -> None:
    """Two neighbours: the last record alone is one at which a view of PostgreSQL raises."""
    told = []
    for last in (7.0, 99.0):
        place = People(held.kind, tmp_path, request, last)
        if held.kind == "postgres":
            place.other("CREATE VIEW fragile AS SELECT x, 10 / (x::int - 99) AS z FROM people")
        survey = place.survey(ledger=ledger)
        with place.locked():
            told.append(refused(lambda survey=survey: PRODUCTS["release"](survey), ledger))
        if held.kind == "postgres":
            source = open_source(place.where, table="fragile")
            asked = Query(ValueOnGrid("z", Grid.from_bounds("z", (0, 10), 1)))
            with source.reading([asked, ColumnQuery("z")]):
                pass  # nothing is computed to enter it
            with source.reading([asked]) as ready:
                if last == 99.0:
                    with pytest.raises(hg.DataError):
                        ready.histogram(asked)
                else:
                    assert ready.histogram(asked).total() == ROWS
    assert told[0] == told[1]


@pytest.mark.parametrize("gone", ["column", "table"])
def test_a_column_or_table_that_has_gone_is_refused(held: People, ledger: Path, gone: str) -> None:
    survey = held.survey(ledger=ledger)
    assert held.other("ALTER TABLE people DROP COLUMN x" if gone == "column" else "DROP TABLE people")
    told = refused(lambda: PRODUCTS["release"](survey), ledger)
    # A file that was changed is refused before its columns are looked at.
    assert told.startswith("HG203" if gone == "column" and held.kind == "postgres" else "HG207"), told


def asked_of(held: People, between: Callable[[], None], monkeypatch: pytest.MonkeyPatch, ledger: Path) -> list[int]:
    """Return how many records each question of one release found; `between` runs after the first."""
    answer, found = FrameAnswers._answer, []

    def counted(self: Any, query: Any, key: bytes | None = None) -> Any:
        here = answer(self, query, key)
        if not found:
            between()
        found.append(here.total())
        return here

    survey = held.survey(ledger=ledger)
    monkeypatch.setattr(FrameAnswers, "_answer", counted)
    quantile = hg.quantile("x", 0.5, **X)
    release = survey.release([hg.count(), hg.mean("x", **X), quantile], epsilon=60.0, delta=1e-6)
    assert len(found) > 1, "several questions"
    assert abs(release[0].estimate - ROWS) < 20 and abs(release[1].estimate - 43) < 3
    return found


def test_every_question_of_a_release_sees_the_same_records(
    held: People, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def insert() -> None:
        written.append(held.other("INSERT INTO people SELECT 90, y, p FROM people"))

    assert set(asked_of(held, insert, monkeypatch, ledger)) == {ROWS}
    # DuckDB lets nobody write to a file that is read; the others write, and the reader does not see it.
    assert written == [held.kind != "duckdb"]
    assert states(ledger) == ["recorded"]
    monkeypatch.undo()
    count = Query(None)
    assert open_source(held.where, table="people").histogram(count).total() == ROWS * (1 + written[0])


@pytest.mark.databases
def test_columns_without_rights_are_refused_and_others_are_not(
    tmp_path: Path, ledger: Path, request: pytest.FixtureRequest
) -> None:
    held = People("postgres", tmp_path, request)
    held.other(
        "DROP ROLE IF EXISTS ann_9f",
        "CREATE ROLE ann_9f LOGIN PASSWORD 'pw_31c'",
        "GRANT SELECT (x) ON people TO ann_9f",
    )
    url = re.sub("//.*@", "//ann_9f:pw_31c@", held.where)
    survey = hg.open(url, table="people", relation="add-remove", ledger=ledger)
    for ask in (lambda: survey.proportion("y", value=1, epsilon=1.0), lambda: survey.find_categories("y", epsilon=1.0)):
        told = refused(ask, ledger)
        assert told.startswith("HG207") and "may not read the table, or a column" in told
        assert "pw_31c" not in told and "ann_9f" not in told
    assert survey.mean("x", **X, epsilon=1.0)
    held.other("REVOKE ALL ON people FROM ann_9f", "REVOKE SELECT (x) ON people FROM ann_9f")
    assert "may not read" in refused(lambda: survey.mean("x", **X, epsilon=1.0), ledger)
    held.other("ALTER ROLE ann_9f NOLOGIN")
    assert refused(lambda: survey.mean("x", **X, epsilon=1.0), ledger).startswith("HG207")
    held.other("DROP ROLE ann_9f")


@pytest.mark.databases
def test_a_column_of_another_type_is_refused(tmp_path: Path, ledger: Path, request: pytest.FixtureRequest) -> None:
    held = People("postgres", tmp_path, request)
    survey = held.survey(ledger=ledger)
    held.other("ALTER TABLE people ALTER COLUMN x TYPE text")
    assert refused(lambda: survey.mean("x", **X, epsilon=1.0), ledger).startswith("HG204")


@pytest.mark.databases
def test_a_lock_is_waited_for_five_seconds_unless_the_user_says_otherwise(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    held = People("postgres", tmp_path, request)
    for url, waits in ((held.where, "100ms"), (held.server.url, "5s")):
        with open_source(url, table="people").database.connected() as connection:  # type: ignore[attr-defined]  # as PostgreSQL's is
            assert connection.execute("SHOW lock_timeout").fetchone() == (waits,)
            assert connection.execute("SHOW transaction_isolation").fetchone() == ("repeatable read",)
            assert connection.execute("SHOW transaction_read_only").fetchone() == ("on",)


@pytest.mark.databases
def test_a_server_that_dies_costs_the_price_after_the_reservation_and_nothing_before(
    tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tested here")
    with running(need("postgresql")) as server:
        into_postgres(people(), server)
        survey = hg.open(server.url, table="people", relation="add-remove", ledger=ledger)
        assert survey.mean("x", **X, epsilon=1.0)

        def die() -> None:
            running_as = server.log.parent / "data" / "postmaster.pid"
            os.kill(int(running_as.read_text().splitlines()[0]), signal.SIGQUIT)
            # It is gone when all that it started is: one of these could still answer.
            until = time.monotonic() + 20
            while running_as.exists() and time.monotonic() < until:
                time.sleep(0.01)

        with monkeypatch.context() as patch:
            # Called once the price is in the ledger, before the first question.
            patch.setattr(spend, "price_is_spent", die)
            with pytest.raises(hg.SpentError) as caught:
                survey.mean("x", **X, epsilon=1.0)
        assert caught.value.code == "HG601" and "stays spent" in str(caught.value)
        assert states(ledger) == ["recorded", "reserved"]
        told = refused(lambda: survey.mean("x", **X, epsilon=1.0), ledger)
        assert told.startswith("HG207") and server.password not in told


@pytest.mark.databases
def test_the_command_line_tells_the_two_failures_apart(
    tmp_path: Path, ledger: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = People("postgres", tmp_path, request)
    asked = ["release", held.where, "--table", "people", "--relation", "add-remove", "--mean", "x:0:100:1"]
    asked += ["--epsilon", "1", "--delta", "1e-6", "--ledger", str(ledger)]
    with held.locked():
        ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 2 and "HG207" in ran.stderr and states(ledger) == []
    ends = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
    )
    monkeypatch.setattr(spend, "price_is_spent", lambda: held.other(ends, "SELECT pg_sleep(0.2)"))
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 6 and "HG601" in ran.stderr and states(ledger) == ["reserved"]


@pytest.mark.parametrize("kind", ["duckdb", pytest.param("ibis", marks=pytest.mark.databases)])
def test_a_table_that_has_gone_from_the_callers_own_connection_is_refused(
    kind: str, ledger: Path, tmp_path: Path
) -> None:
    if kind == "ibis":
        ibis = pytest.importorskip("ibis", reason="ibis is not installed: databases are not tested here")
        connection = sqlite3.connect(as_sqlite(people(), tmp_path))
        table = ibis.sqlite.from_connection(connection).table("people")
    else:
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE people AS SELECT (range % 90)::DOUBLE AS x FROM range({ROWS})")
        table = connection.table("people")
    with closing(connection):
        survey = hg.open(table, relation="add-remove", ledger=ledger)
        assert PRODUCTS["release"](survey)
        connection.execute("DROP TABLE people")
        assert refused(lambda: PRODUCTS["release"](survey), ledger).startswith("HG207")
