"""Releases of many cells: arrays say what single estimates say, and estimates are made when they are asked for."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hg
from hedgerow.inference import estimates_of_cells
from hedgerow.inference.estimates_of_cells import Cells, Estimates
from hedgerow.inference.joint import arithmetic
from hedgerow.release.publication.folder import prepared_folder
from hedgerow.release.publication.text import text_table
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import add_report
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release

GROUPS = 40


def survey(relation: str = "add-remove") -> hg.Survey:
    rng = np.random.default_rng(3)
    group = np.minimum(rng.geometric(0.15, 3000), GROUPS) - 1  # some groups have hardly a record
    return hg.open(
        pa.table({"x": rng.uniform(0, 10, 3000), "y": rng.uniform(1, 5, 3000), "g": group}), relation=relation
    )


ASKED: dict[str, list[Any]] = {
    "joint": [
        hg.mean("x", bounds=(0, 10)),
        hg.ratio("x", "y", bounds={"x": (0, 10), "y": (1, 5)}),
        hg.standard_deviation("x", bounds=(0, 10)),
        hg.sum("y", bounds=(1, 5)),
    ],
    "counts": [hg.count()],
    "apart": [hg.count(), hg.quantile("x", 0.5, bounds=(0, 10), step=1)],
    "bootstrap": [hg.bootstrap(lambda t: t["x"] / t["y"], columns={"x": (0, 10, 1), "y": (1, 5, 1)}, name="rate")],
}


@pytest.mark.parametrize("kind", ASKED)
def test_a_record_from_arrays_is_that_of_single_estimates(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "_TOGETHER", 7)
    monkeypatch.setattr(arithmetic, "_MOST_KEPT", 2)
    monkeypatch.setattr(estimates_of_cells, "_PART", 9)
    made = release(survey(), ASKED[kind], by={"g": list(range(GROUPS))}, epsilon=3.0, rng=5)
    entries = made.to_dict(0.5)["estimates"]
    assert entries == [one.to_dict(0.5) for one in made]
    assert len({one["reliable"] for one in entries}) == 2 or kind == "apart"
    again = [column for row in entries for column in (row["estimate"], row["confidence_interval"]["high"])]
    told = made.to_columns(0.5)
    assert [one for pair in zip(told["estimate"], told["high"], strict=True) for one in pair] == again
    assert told == replace(made, estimates=tuple(made)).to_columns(0.5)  # made of single estimates


def test_columns_of_arrays_have_labels_and_values() -> None:
    by = {"g": {0: "first", 1: "second"}, "h": [0, 1]}
    data = pa.table({"g": [0, 1] * 500, "h": [0, 0, 1, 1] * 250})
    shares = [hg.proportion("h", value=value) for value in (0, 1)]
    made = hg.open(data, relation="add-remove").release([*shares, hg.count()], by=by, epsilon=3.0)
    columns = made.to_columns()
    assert columns["g"] == [0, 0, 1, 1] * 3 and columns["h"] == [0, 1] * 6
    assert columns["g_label"] == ["first", "first", "second", "second"] * 3 and "h_label" not in columns
    assert columns["value"] == [*["0"] * 4, *["1"] * 4, *[None] * 4]
    assert columns["note"] == [one.note for one in made]
    assert columns == replace(made, estimates=tuple(made)).to_columns()


def test_estimates_are_made_once_and_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    whole = Cells.__getitem__

    def counted(self: Cells, index: int) -> Any:
        made.append(index)
        return whole(self, index)

    monkeypatch.setattr(Cells, "__getitem__", counted)
    found = survey().release(hg.mean("x", bounds=(0, 10)), by={"g": list(range(GROUPS))}, epsilon=1.0)
    assert len(found) == GROUPS
    assert len(made) == 1  # it tells where the moments of the record are
    json.loads(found.to_json())
    assert len(made) == 1
    assert found[3] is found[3] is found.estimate("mean", g=3)


def test_arithmetic_pickles_and_records_know_estimates_of_arrays() -> None:
    found = survey().release(ASKED["joint"], by={"g": [0, 1, 2]}, epsilon=3.0)
    first, second = found.estimate("mean", g=0), found.estimate("mean", g=1)
    difference = first - second
    assert difference.estimate == first.estimate - second.estimate
    assert difference.sampling_error == pytest.approx(np.hypot(first.sampling_error, second.sampling_error), 0.05)
    copied = pickle.loads(pickle.dumps(found))
    assert isinstance(copied.estimates, tuple)
    assert copied.to_json() == found.to_json()
    assert (copied[0] - copied[1]).estimate == difference.estimate
    back = release_from_record(found.to_json())
    assert back.to_json() == found.to_json()
    assert back[0].confidence_interval(0.5) == found[0].confidence_interval(0.5)


def squares() -> tuple[hg.Survey, dict[str, list[int]]]:
    """Return a survey with more cells than a record lists."""
    rng = np.random.default_rng(5)
    data = {"a": rng.integers(0, 317, 20_000), "b": rng.integers(0, 317, 20_000), "x": rng.integers(0, 11, 20_000)}
    return hg.open(pa.table(data), relation="add-remove"), {"a": [*range(317)], "b": [*range(317)]}


def test_a_record_of_very_many_cells_lists_none_and_tells_all(tmp_path: Path) -> None:
    opened, by = squares()
    made = opened.release([hg.count(), hg.mean("x", bounds=(0, 10))], by=by, epsilon=5.0)
    with prepared_folder(tmp_path / "out") as folder:
        files = folder.write(made)
        assert (*files, *add_report(made, folder)) == ("release.json", "certificate.json", "estimates.parquet")
    record = json.loads((tmp_path / "out" / "release.json").read_text())
    assert record == made.to_dict() and record["estimates"] == [] and "cells" not in record["joint"][0]
    assert record["not_listed"]["cells"] == 317**2 and record["not_listed"]["methods"] == ["moments", "moments"]
    told = made.to_columns()
    frame = pq.read_table(tmp_path / "out" / "estimates.parquet").to_pydict()
    assert frame == told and len(told["b"]) == 2 * 317**2 and told["b"][316:319] == [316, 0, 1]
    again = hg.Release.from_json(tmp_path / "out" / "release.json")
    assert again.to_columns() == told and again.to_json() == made.to_json()
    assert (again[3] - again[5]).privacy_error == (made[3] - made[5]).privacy_error
    printed = text_table(made).splitlines()
    assert printed[201] == f"{2 * 317**2 - 200:,} more rows."
    found = verify_record(record)
    assert found.holds and not [name for name in found.unchecked if name.startswith(("noisy", "joint", "not_listed"))]
    methods, (joint,) = {**record["not_listed"], "methods": ["moments", "geometric"]}, record["joint"]
    for field, altered in (("not_listed", methods), ("joint", [{**joint, "noise_law": "gaussian"}])):
        assert not verify_record({**record, field: altered}).holds, f"{field} was altered"


def test_very_many_cells_of_what_is_not_held_as_arrays_are_refused_by_the_plan() -> None:
    opened, by = squares()
    asked: list[tuple[Any, dict[str, Any]]] = [
        (hg.quantile("x", 0.5, bounds=(0, 10), step=1), {}),
        (hg.mean("x", bounds=(0, 10)), {"estimator": "bootstrap"}),
        ([hg.variance(name, bounds=(0, 316)) for name in ("a", "b", "x")], {}),
    ]
    for statistics, options in asked:
        with pytest.raises(hg.ParameterError, match=r"HG107.*100,489 cells"):
            opened.plan(statistics, by=by, epsilon=1.0, **options)
    with pytest.raises(hg.ParameterError, match=r"HG107.*at most 1,000,000 cells"):
        opened.plan(hg.count(), by={"a": [*range(1001)], "b": [*range(1000)]}, epsilon=1.0)


def test_estimates_side_by_side_are_a_sequence() -> None:
    numbers: Any = [[1.0, 2.0], [], (3.0,)]
    both = Estimates(numbers)
    assert list(both) == [1.0, 2.0, 3.0] == [*reversed(both)][::-1]
    assert (both == (1.0, 2.0, 3.0), both != (1.0, 2.0), both == [1.0, 2.0, 3.0]) == (True, True, False)
    with pytest.raises(IndexError):
        both[3]
    assert len(Estimates([])) == 0
