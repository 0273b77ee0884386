"""`where`: the same release as of a declared cell, private in size, stated everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.audit import replay as replays
from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.result import release_from_record
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release

WHERE = "age >= 40 and not region in ['West']"
N = 3000


def people() -> pa.Table:
    rng = np.random.default_rng(5)
    age, region = rng.integers(18, 90, N).astype(float), rng.choice(["North", "East", "West"], N)
    selected = (age >= 40) & (region != "West")
    columns = {"age": age, "region": region, "sex": rng.integers(0, 2, N), "income": rng.uniform(0, 900, N)}
    columns |= {"household": rng.integers(1, 6, N), "person": np.arange(N) // 2}
    return pa.table(columns | {"selected": selected.astype(np.int64)})


PEOPLE = people()
CHOSEN = PEOPLE.filter(pa.compute.equal(PEOPLE["selected"], 1))
MEAN = hg.mean("age", bounds=(18, 95), step=1)
PAIR = {"income": (0, 1000, 1), "household": (1, 8, 1)}
ASKED: dict[str, list[Any]] = {
    "mean": [MEAN],
    "sum and count": [hg.sum("income", bounds=(0, 1000), step=1), hg.count()],
    "proportion": [hg.proportion("sex", value=1)],
    "joint": [hg.ratio("income", "household", bounds=PAIR), hg.variance("age", bounds=(18, 95), step=1)],
    "quantile": [hg.quantile("age", 0.5, bounds=(18, 95), step=1)],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "complete": {"missing": "error-if-declared-complete"},
    "pure": {"delta": 0.0},
    "file": {"target": "file"},
    "units": {"unit": {"column": "person", "max_rows": 2}},
}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("option", OPTIONS)
def test_a_selection_is_released_as_the_one_declared_cell_of_it(relation: str, asked: str, option: str) -> None:
    given = {"epsilon": 1.0, **OPTIONS[option]}
    opening = {name: given.pop(name) for name in ("target", "unit") if name in given}
    survey, found = hg.open(PEOPLE, relation=relation, **opening), []
    for chosen in ({"where": WHERE}, {"by": {"selected": [1]}}):
        try:
            found.append(release(survey, ASKED[asked], rng=3, **given, **chosen))
        except HedgerowError as refused:
            found.append(refused.code)
    ours, theirs = found
    if isinstance(ours, str):
        assert ours == theirs and ours in ("HG117", "HG402")
        return
    for one, other in zip(ours, theirs, strict=True):
        assert (one.cell, other.cell) == ({}, {"selected": 1})
        same = replace(other, cell={}, covers=one.covers, _region=one._region)
        ends = [(interval.low, interval.high) for interval in map(hg.Estimate.confidence_interval, (one, other))]
        assert one == same and ends[0] == ends[1]
        assert one.method != "public" and one.covers.startswith(f"(among records where {WHERE}) ")


def test_estimates_are_of_the_selected_records() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    found = release(survey, [MEAN, hg.count()], rng=1, epsilon=20.0, where=WHERE)
    assert abs(found[0].estimate - float(np.mean(CHOSEN["age"].to_numpy()))) < 0.1
    assert abs(found[1].estimate - len(CHOSEN)) < 5
    assert found.n == N and "how many they are is private" in str(found)


def test_a_record_states_the_condition_and_verifies(tmp_path: Path) -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    for asked in ASKED.values():
        made = survey.release(asked, epsilon=1.0, where=WHERE)
        record = json.loads(made.to_json())
        assert record["release"]["where"] == WHERE
        assert verify_record(record).holds
        assert release_from_record(made.to_json()).to_json() == made.to_json()
    table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0, where=WHERE, margins=True)
    assert table.to_dict()["release"]["where"] == WHERE and verify_record(table.to_dict()).holds


def test_a_record_that_calls_a_selection_public_is_refused() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    complete = {"epsilon": 1.0, "missing": "error-if-declared-complete"}
    for asked in (MEAN, hg.count(), ASKED["joint"][0]):
        made = survey.release(asked, **complete)
        record = json.loads(made.to_json())
        assert verify_record(record).holds
        record["release"]["where"] = WHERE
        assert not verify_record(record).holds


def test_the_condition_is_part_of_a_request(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="d", budget=Budget(10.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(PEOPLE, relation="replace-one", ledger=path)
    first = survey.release(MEAN, epsilon=1.0, where=WHERE, request_id="a")
    assert survey.release(MEAN, epsilon=1.0, where=f" {WHERE} ", request_id="a").to_json() == first.to_json()
    for other in ("age >= 41", None):
        with pytest.raises(LedgerError, match="HG311"):
            survey.release(MEAN, epsilon=1.0, where=other, request_id="a")
    table = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0, where=WHERE, request_id="b")
    again = survey.contingency_table(by={"sex": [0, 1]}, epsilon=1.0, where=WHERE, request_id="b")
    assert again.replayed and again.to_dict() == table.to_dict()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"where": "age >="}, r"HG131.*character 7"),
        ({"where": "sex in [0] and agee >= 3"}, "HG203.*character 16 of"),
        ({"where": "age > 1 or region > 3"}, "HG111.*character 12 of"),
        ({"where": 3}, "HG131"),
    ],
)
def test_bad_conditions_are_refused_before_anything_is_read(options: dict[str, Any], code: str) -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    with (
        mock.patch("hedgerow.engines.frames.count", side_effect=AssertionError),
        pytest.raises(HedgerowError, match=code),
    ):
        survey.release(MEAN, epsilon=1.0, **options)


def test_a_selection_beside_what_makes_it_public_is_refused() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    by, given = {"sex": [0, 1]}, {"epsilon": 1.0, "missing": "error-if-declared-complete", "where": WHERE}
    with pytest.raises(HedgerowError, match="HG410"):
        survey.magnitude_table("age", bounds=(0, 95), step=1, by=by, sensitivity="public-membership", **given)
    with pytest.raises(HedgerowError, match="HG413"):
        survey.contingency_table(by=by, guarantee="bootstrap-dp", epsilon=1.0, where=WHERE)


def test_a_forecast_needs_a_guess_of_the_share_that_is_selected() -> None:
    plan = hg.open(PEOPLE, relation="replace-one").plan(MEAN, epsilon=1.0, where=WHERE)
    (unknown,) = plan.forecast({"age": {"mean": 60, "sd": 15}})
    (guessed,) = plan.forecast({"age": {"mean": 60, "sd": 15}, "where": {"share": 0.5}})
    assert unknown.records is None and guessed.records == N / 2
    assert guessed.sampling_error == pytest.approx(15 / (N / 2) ** 0.5, rel=0.02)


def replayed(pairs: int, seed: int) -> replays.ReplayResult:
    chosen = tuple(one for one in replays.public_functions() if "where" in one.name)
    with mock.patch.object(replays, "public_functions", lambda: chosen):
        return replays.replay(pairs, seed=seed, csv_every=pairs)


def test_a_record_that_enters_or_leaves_the_selection_changes_nothing_but_priced_numbers() -> None:
    found = replayed(8, 7)
    assert found.functions == 9 and found.divergences == () and found.passes and found.largest_excess > 0.7


@pytest.mark.long
def test_five_hundred_pairs() -> None:
    found = replayed(500, 8)
    assert found.replays == 4500 and found.divergences == () and found.passes


def test_sabotage_a_frame_filtered_beforehand_shows_who_is_selected() -> None:
    """The same two people in or out: plans of a selection are equal, those of a frame filtered before are not."""
    leaving = PEOPLE.set_column(0, "age", pa.array([18.0, *PEOPLE["age"].to_pylist()[1:]]))
    assert PEOPLE["selected"][0].as_py() == 1
    plans = [hg.open(one, relation="replace-one").plan(MEAN, epsilon=1.0, where=WHERE) for one in (PEOPLE, leaving)]
    assert plans[0].public_record() == plans[1].public_record()
    filtered = [hg.open(one, relation="replace-one").plan(MEAN, epsilon=1.0) for one in (CHOSEN, CHOSEN.slice(1))]
    assert filtered[0].public_record() != filtered[1].public_record()
