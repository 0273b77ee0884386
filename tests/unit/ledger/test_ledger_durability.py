"""A ledger's commits reach the disk, and what it keeps is its owner's alone, whatever the process asks for."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from hedgerow.disk import move_into_place
from hedgerow.errors import LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger, Reserved
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.testset import TestSet
from hedgerow.testset.looks import secret_path

EXTRA = 3
"""SQLite syncs the folder, too, after the journal of a commit is removed."""


def spend(path: Path) -> None:
    """Make a ledger, reserve, record a result, and read it back."""
    facts = {"budget": Budget(1.0, 0.0), "dataset": "people", "relation": "add-remove", "unit": "row"}
    price = certify(GeometricCounts(4.1, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)
    with Ledger.create(path, **facts) as ledger:
        reserved = ledger.reserve(price, request_id="a", fingerprint="count")
        assert isinstance(reserved, Reserved)
        reserved.record("result")
    with Ledger.open(path) as ledger:
        assert ledger.entries()[0].result == "result"


class Watched(sqlite3.Connection):
    """Notes, at every commit, how far SQLite waits for the disk."""

    found: ClassVar[list[int]] = []

    def execute(self, statement: str, *rest: object) -> sqlite3.Cursor:
        if statement == "COMMIT":
            Watched.found.append(super().execute("PRAGMA synchronous").fetchone()[0])
        return super().execute(statement, *rest)


def commits(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    Watched.found, connect = [], sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", lambda *given, **options: connect(*given, factory=Watched, **options))
        spend(path)
    return Watched.found


def test_every_commit_of_a_ledger_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Creating, reserving, recording and reading; that SQLite waits for the file alone (2) would be seen in each."""
    found = commits(tmp_path / "people.ledger", monkeypatch)
    assert len(found) >= 4 and set(found) == {EXTRA}
    monkeypatch.setattr("hedgerow.ledger.file._PRAGMAS", ("PRAGMA synchronous = FULL",))
    assert set(commits(tmp_path / "other.ledger", monkeypatch)) == {2}


def test_nothing_is_reserved_in_a_folder_that_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(path := tmp_path / "people.ledger")

    def fails(folder: Path) -> None:
        raise OSError(f"{folder} may not be read")

    monkeypatch.setattr("hedgerow.ledger.file.sync_folder", fails)
    price = certify(GeometricCounts(4.1, 1), Relation.ADD_REMOVE, unit="row", delta=0.0)
    with Ledger.open(path) as ledger:
        for asked in ("a", "b"):  # an answer from the record, and a new price
            with pytest.raises(LedgerError, match="HG307"):
                ledger.reserve(price, request_id=asked, fingerprint="count")
        assert [entry.request_id for entry in ledger.entries()] == ["a"]


def test_a_moved_file_reaches_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is synced, in order: the bytes of the new file while they have their first name, then the folder."""
    made, place, synced, sync = tmp_path / "made", tmp_path / "place", list[tuple[int, str]](), os.fsync
    made.write_text("new")
    place.write_text("old")

    def noted(file: int) -> None:
        synced.append((os.fstat(file).st_ino, place.read_text()))
        sync(file)

    monkeypatch.setattr(os, "fsync", noted)
    inode = made.stat().st_ino
    move_into_place(made, place)
    assert synced == [(inode, "old"), (tmp_path.stat().st_ino, "new")] and not made.exists()


@pytest.fixture
def nothing_masked() -> Iterator[None]:
    """A process that masks no permission: files get the mode that is asked for."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="this system has other permissions")
@pytest.mark.usefixtures("nothing_masked")
def test_ledger_and_secret_are_their_owners_alone(tmp_path: Path) -> None:
    spend(tmp_path / "people.ledger")
    labels, path = np.repeat([0, 1], 50), tmp_path / "test.ledger"
    TestSet(None, labels, relation="replace-one", epsilon=1.0, n_looks=2, mechanism="gaussian", ledger=path).score(
        labels
    )
    kept = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    assert {"people.ledger", "test.ledger", secret_path(path).name} <= set(kept)
    assert set(kept.values()) == {0o600}, kept
