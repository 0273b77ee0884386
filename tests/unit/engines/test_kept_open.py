"""A connection to a Parquet file stays open for the next question about this file as it was, for one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hg
from hedgerow.engines import files
from hedgerow.engines.kept_open import KeptOpen
from hedgerow.engines.source import open_source


class Door:
    """What is opened, closed and counted."""

    def __init__(self) -> None:
        self.opened, self.closed = 0, 0

    @contextmanager
    def __call__(self) -> Iterator[int]:
        self.opened += 1
        place = self.opened
        try:
            yield place
        finally:
            self.closed += 1


def test_one_thing_is_kept_and_is_used_by_one_at_a_time() -> None:
    door, kept = Door(), KeptOpen[int]()
    with kept.taken("a", door) as first, kept.taken("a", door) as second:
        assert first != second  # the sabotage: one that is shared
    assert (door.opened, door.closed) == (2, 1)
    with kept.taken("a", door) as again:
        assert again in (first, second)
    with kept.taken("b", door) as other:
        assert other == 3 and door.closed == 2
    kept.close()
    assert (door.opened, door.closed) == (3, 3)


def test_what_an_error_has_passed_is_closed() -> None:
    door, kept = Door(), KeptOpen[int]()
    with pytest.raises(LookupError), kept.taken("a", door):
        raise LookupError
    assert door.closed == 1
    with kept.taken("a", door) as fresh:
        assert fresh == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_nothing_is_kept_in_a_forked_child() -> None:
    door, kept = Door(), KeptOpen[int]()
    with kept.taken("a", door):
        pass
    child = os.fork()
    if child == 0:
        os._exit(len(kept._idle))
    assert os.waitpid(child, 0)[1] == 0 and door.closed == 1


def connections(monkeypatch: pytest.MonkeyPatch) -> list[duckdb.DuckDBPyConnection]:
    """Return a list that grows with each connection that is opened."""
    made, connected = [], files._connected

    def counted(folder: str = "") -> duckdb.DuckDBPyConnection:
        made.append(connected(folder))
        return made[-1]

    files.KEPT.close()
    monkeypatch.setattr(files, "_connected", counted)
    return made


def test_a_parquet_file_is_asked_again_on_its_connection_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = connections(monkeypatch), tmp_path / "people.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    source = open_source(path)
    assert [source.count_rows() for _ in range(3)] == [2, 2, 2] and len(made) == 1
    (tmp_path / "other.parquet").write_bytes(path.read_bytes())
    with pytest.raises(duckdb.Error, match=r"Permission Error"):
        made[0].execute(f"SELECT * FROM '{tmp_path / 'other.parquet'}'")
    pq.write_table(pa.table({"y": [1.0, 2.0, 3.0]}), path)
    with pytest.raises(hg.DataError, match=r"HG207.*changed"):
        source.count_rows()
    assert open_source(path).count_rows() == 3 and len(made) == 2


def test_a_question_that_failed_does_not_fail_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path = connections(monkeypatch), tmp_path / "people.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    source = open_source(path)
    with source.reading([]) as opened, pytest.raises(duckdb.Error):
        opened.connection.execute("SELECT 1 / nothing")  # ends the transaction, and the error goes no further
    assert source.count_rows() == 2 and len(made) == 1
