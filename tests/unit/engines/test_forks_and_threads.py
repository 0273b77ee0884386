"""One survey in several threads, and after a fork: it answers, or refuses before anything is reserved."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hg
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Grid
from hedgerow.ledger.store import Ledger

PEOPLE = pa.table({f"c{place}": [float((place * row) % 10) for row in range(200)] for place in range(4)})


def parquet(folder: Path) -> Any:
    pq.write_table(PEOPLE, folder / "people.parquet")
    return folder / "people.parquet"


def database(folder: Path) -> Any:
    with duckdb.connect(folder / "people.duckdb") as connection:
        connection.register("given", PEOPLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return folder / "people.duckdb"


def csv(folder: Path) -> Any:
    PEOPLE.to_pandas().to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


FILES: dict[str, Callable[[Path], Any]] = {"parquet": parquet, "duckdb file": database, "csv": csv}
AFTER_A_FORK = FILES | {"pandas": lambda _: PEOPLE.to_pandas(), "pyarrow": lambda _: PEOPLE}
NEVER: dict[str, Callable[[Path], Any]] = {
    "polars": lambda _: pl.from_arrow(PEOPLE),
    "polars lazy": lambda _: pl.from_arrow(PEOPLE).lazy(),
    "duckdb relation": lambda _: duckdb.from_arrow(PEOPLE),
}
IN_THREADS = AFTER_A_FORK | NEVER


def in_a_child(ask: Callable[[], str]) -> str:
    """Return what a forked child answers; a child that waits for ever is ended."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write_end, ask().encode())
        except hg.HedgerowError as refused:
            os.write(write_end, refused.code.encode())
        finally:
            os._exit(0)
    os.close(write_end)
    told, _, _ = select.select([read_end], [], [], 60)
    answer = os.read(read_end, 1000).decode() if told else "it hangs"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read_end)
    return answer


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    Ledger.create(
        tmp_path / "a.ledger", dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row"
    ).close()
    return tmp_path / "a.ledger"


def entries(ledger: Path) -> int:
    with Ledger.open(ledger) as opened:
        return len(opened.entries())


@pytest.mark.parametrize("kind", AFTER_A_FORK)
def test_a_survey_works_after_a_fork(kind: str, tmp_path: Path, ledger: Path) -> None:
    survey = hg.open(AFTER_A_FORK[kind](tmp_path), relation="add-remove", ledger=ledger)
    survey.count(epsilon=0.5, delta=0)
    assert in_a_child(lambda: str(len(survey.count(epsilon=0.5, delta=0)))) == "1"
    assert entries(ledger) == 2


@pytest.mark.parametrize("kind", NEVER)
def test_what_would_hang_is_refused_before_anything_is_reserved(kind: str, tmp_path: Path, ledger: Path) -> None:
    survey = hg.open(NEVER[kind](tmp_path), relation="add-remove", ledger=ledger)
    survey.count(epsilon=0.5, delta=0)
    assert in_a_child(lambda: str(len(survey.count(epsilon=0.5, delta=0)))) == "HG210"
    assert entries(ledger) == 1


@pytest.mark.parametrize("kind", IN_THREADS)
def test_threads_that_ask_one_source_get_each_their_own_answer(kind: str, tmp_path: Path) -> None:
    source = open_source(IN_THREADS[kind](tmp_path))
    grids = [Grid.from_bounds(name, (0, 10 + place), 1) for place, name in enumerate(PEOPLE.column_names)]
    asked = [Query(ValueOnGrid(name, grid)) for name, grid in zip(PEOPLE.column_names, grids, strict=True)]

    def answer(query: Query) -> object:
        h = source.histogram(query)
        return h.index.tolist(), h.count.tolist(), h.missing.tolist()

    expected = [answer(query) for query in asked]
    found: list[object] = []

    def ask(place: int) -> None:
        for _ in range(5):
            try:
                found.append((place, answer(asked[place])))
            except hg.HedgerowError as refused:
                found.append(refused.code)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5 * len(asked)
    assert all(one == (one[0], expected[one[0]]) for one in found if isinstance(one, tuple))
    assert all(isinstance(one, tuple) for one in found), found


@pytest.mark.parametrize("kind", FILES)
def test_no_connection_is_left_open(kind: str, tmp_path: Path) -> None:
    """Another program may write the database between two questions; and no progress is printed on standard output."""
    path = FILES[kind](tmp_path)
    source = open_source(path)
    assert source.count_rows() == 200
    if kind == "duckdb file":
        with duckdb.connect(path) as connection:
            connection.execute("CREATE TABLE another AS SELECT 1 AS x")
        with pytest.raises(hg.DataError, match=r"HG207.*changed"):
            source.count_rows()


def test_our_own_connections_show_no_progress(tmp_path: Path) -> None:
    from hedgerow.engines import files

    connection = files._connected()
    assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
    connection.close()
