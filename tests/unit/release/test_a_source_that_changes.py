"""A source whose number of records changes between planning and reading: noticed, and the price is said to be spent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

Changing = tuple[Any, Callable[[], None]]


def pandas(_: Path) -> Changing:
    frame = pd.DataFrame({"v": [1.0, 2.0, 3.0]})

    def change() -> None:
        frame.loc[len(frame)] = [4.0]

    return frame, change


def relation(_: Path) -> Changing:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1.0 AS v")
    return connection.table("t"), lambda: connection.execute("INSERT INTO t VALUES (2.0)") and None


def rewritten(place: Path, write: Callable[[], object]) -> Callable[[], None]:
    """Return what writes a file anew in such a way that its size and time of change stay as they are."""

    def change() -> None:
        before = place.stat()
        write()
        with place.open("ab") as file:
            file.truncate(before.st_size)
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


def csv(folder: Path) -> Changing:
    place = folder / "people.csv"
    place.write_text("v\n10\n20\n")
    return place, rewritten(place, lambda: place.write_text("v\n1\n2\n3\n"))


MAKERS = {"pandas": pandas, "duckdb relation": relation, "csv": csv}


@pytest.mark.parametrize("kind", MAKERS)
def test_another_number_of_records_is_noticed(kind: str, tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    Ledger.create(ledger, dataset="d", budget=Budget(2.0, 1e-6), relation="replace-one", unit="row").close()
    source, change = MAKERS[kind](tmp_path)
    survey = hg.open(source, relation="replace-one", ledger=ledger)
    before = survey.n
    asked = {"bounds": (0, 10), "step": 1, "epsilon": 0.5, "delta": 0}
    assert len(survey.mean("v", **asked)) == 1
    change()
    with pytest.raises(hg.SpentError) as caught:
        survey.mean("v", **asked)
    assert caught.value.code == "HG603" and survey.n == before
    with Ledger.open(ledger) as opened:
        assert [entry.state for entry in opened.entries()] == ["recorded", "reserved"]


def test_a_file_that_keeps_its_size_and_time_and_has_another_header_costs_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    Ledger.create(ledger, dataset="d", budget=Budget(2.0, 1e-6), relation="add-remove", unit="row").close()
    place, _ = csv(tmp_path)
    survey = hg.open(place, relation="add-remove", ledger=ledger)
    rewritten(place, lambda: place.write_text("w\n10\n20\n"))()
    for ask in (lambda: survey.count(epsilon=0.5), lambda: survey.find_categories("v", epsilon=0.5)):
        with pytest.raises(hg.DataError, match="HG207"):
            ask()
    with Ledger.open(ledger) as opened:
        assert opened.entries() == ()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_is_seen_to_change_is_refused_before_anything_is_spent(kind: str, tmp_path: Path) -> None:
    place = tmp_path / f"people.{kind}"
    write = {"csv": pl.DataFrame.write_csv, "parquet": pl.DataFrame.write_parquet}[kind]
    write(pl.DataFrame({"v": [1.0, 2.0]}), place)
    survey = hg.open(place, relation="replace-one")
    assert survey.n == 2
    write(pl.DataFrame({"v": [1.0, 2.0, 3.0]}), place)
    with pytest.raises(hg.DataError, match="HG207"):
        survey.mean("v", bounds=(0, 10), step=1, epsilon=0.5, delta=0)
