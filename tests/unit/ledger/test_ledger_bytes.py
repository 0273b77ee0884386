"""A ledger of 50 entries with any one byte changed: detected, refused, or every answer is as before."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hedgerow.errors import HedgerowError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.noisy_counts import GaussianNoise

ENTRIES = 50


@pytest.fixture
def folder() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


def filled(path: Path) -> None:
    ledger = Ledger.create(path, dataset="people", budget=Budget(5.0), relation="replace-one", unit="row")
    for number in range(ENTRIES):
        price = Certificate(GaussianNoise(20.0, 1.0), Relation.REPLACE_ONE, "row", 0.2, 1e-6, (), "upper", (), {})
        reserved = ledger.reserve(price, request_id=f"request {number}", fingerprint='{"mean":"age"}')
        if number % 3:
            reserved.record(f"result {number}")
    ledger.close()


def answers(path: Path) -> object:
    """Everything that a ledger says: its facts, entries, results, what is left, and its head."""
    ledger = Ledger.open(path, timeout=0.0)
    try:
        return (
            (ledger.dataset, ledger.budget, ledger.relation, ledger.unit, ledger.family),
            (ledger.entries(), ledger.remaining(), ledger.head),
        )
    finally:
        ledger.close()


def outcomes(folder: Path, places: list[int] | None, masks: tuple[int, ...]) -> dict[str, int]:
    """Change one byte at a time and count what became of it."""
    path = folder / "ledger"
    filled(path)
    whole, truth = path.read_bytes(), answers(path)
    counted = {"refused": 0, "unchanged": 0}
    for place in places if places is not None else range(len(whole)):
        place %= len(whole)
        for mask in masks:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
            try:
                said = answers(path)
            except HedgerowError:
                counted["refused"] += 1
            else:
                assert said == truth, f"byte {place} ^ {mask} changed an answer"
                counted["unchanged"] += 1
    return counted


def test_a_changed_byte_changes_no_answer_unnoticed(folder: Path) -> None:
    chance = random.Random(11)
    places = [*range(110), *(chance.randrange(10**9) for _ in range(500))]
    counted = outcomes(folder, places, (chance.randrange(1, 256),))
    assert counted["refused"] > 300 and counted["unchanged"] > 10


@pytest.mark.long
def test_every_byte_changed(folder: Path) -> None:
    counted = outcomes(folder, None, (0x01,))
    print(counted)
    assert counted["refused"] > 10_000


def test_a_reader_that_trusts_the_rows_would_be_fooled(folder: Path) -> None:
    """The sabotage: without the chain, a flipped digit of a cached total is a cheaper past."""
    path = folder / "ledger"
    filled(path)
    whole = path.read_bytes()
    place = whole.rindex(b'"total":') + len(b'"total":')
    path.write_bytes(whole[:place] + b"0" + whole[place + 1 :])
    with sqlite3.connect(path) as rows:
        assert rows.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        bodies = [body for (body,) in rows.execute("SELECT body FROM links WHERE kind = 'reserve'")]
    rows.close()
    read = 0
    for body in bodies:
        with contextlib.suppress(ValueError):
            read += json.loads(body)["total"] > 0
    assert read >= ENTRIES - 1  # SQLite and JSON notice next to nothing
    with pytest.raises(HedgerowError, match="HG305"):
        answers(path)
