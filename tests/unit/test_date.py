"""The date of a release: that of the first answer, in UTC, in releases and tables; none in a simulated result."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import declared_facts
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing import simulated

PEOPLE = pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1, 1, 0] * 250})
CALLS: dict[str, Any] = {
    "release": lambda survey, **id: survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0, **id),
    "table": lambda survey, **id: survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0, **id),
    "bootstrap-dp": lambda survey, **id: survey.contingency_table(
        by={"sex": [0, 1]}, epsilon=1.0, guarantee="bootstrap-dp", **id
    ),
}


def at(day: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.clock.now", lambda: datetime(2026, 11, day, 23, 59, tzinfo=UTC))


def opened(kind: str, folder: Path) -> hg.Survey:
    guarantee = "bootstrap-dp" if kind == "bootstrap-dp" else "dp"
    path = folder / f"{guarantee}.ledger"
    if not path.exists():
        about: dict[str, Any] = {"relation": "replace-one", "unit": "row", "guarantee": guarantee}
        Ledger.create(path, dataset="d", budget=Budget(9.0, 0.0 if guarantee != "dp" else 1e-5), **about).close()
    return hg.open(PEOPLE, relation="replace-one", ledger=path)


@pytest.mark.parametrize("kind", CALLS)
def test_a_replay_has_the_date_of_the_first_answer(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(21, monkeypatch)
    first = CALLS[kind](opened(kind, tmp_path), request_id="a")
    at(23, monkeypatch)
    again = CALLS[kind](opened(kind, tmp_path), request_id="a")
    other = CALLS[kind](opened(kind, tmp_path), request_id="b")
    assert [json.loads(one.to_json())["release"]["date"] for one in (first, again, other)] == [
        "2026-11-21", "2026-11-21", "2026-11-23",
    ]  # fmt: skip
    assert first.to_json() == again.to_json()


def test_a_record_without_a_date_is_read_verified_and_written_as_it_was() -> None:
    record = json.loads(CALLS["release"](hg.open(PEOPLE, relation="replace-one")).to_json())
    del record["release"]["date"]
    text = json.dumps(record)
    assert release_from_record(text).to_dict() == record
    assert verify_record(json.loads(text)).holds


def test_a_date_that_is_none_is_a_contradiction() -> None:
    record = json.loads(CALLS["release"](hg.open(PEOPLE, relation="replace-one")).to_json())
    for wrong in ("2026-02-30", "22.11.2026", "20261122", 5):
        record["release"]["date"] = wrong
        assert not verify_record(record).holds


def test_a_simulated_release_has_none() -> None:
    study = simulated.release(hg.open(PEOPLE, relation="replace-one"), [hg.count()], epsilon=1.0, rng=1)
    assert "date" not in study.to_dict()["release"]


def test_a_report_states_it(monkeypatch: pytest.MonkeyPatch) -> None:
    at(21, monkeypatch)
    facts = declared_facts(CALLS["release"](hg.open(PEOPLE, relation="replace-one")), None)
    assert "2026-11-21" in str(facts)
