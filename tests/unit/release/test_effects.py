"""Effects and reconciled totals of a release: the algebra, the errors, the record, the command, the refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.inference.effects import effect_of

N = 12_000
ARMS: dict[str, Any] = {"treated": {"arm": 1}, "control": {"arm": 0}}


def people() -> pa.Table:
    """Older people are treated more often and have larger outcomes: the raw difference misleads."""
    rng = np.random.default_rng(1)
    old = rng.integers(0, 3, N)
    arm = (rng.random(N) < 0.2 + 0.25 * old).astype(int)
    year = rng.integers(0, 2, N)
    score = np.clip(rng.normal(20.0 + 15.0 * old + 5.0 * arm * year, 8.0), 0.0, 100.0)
    well = (rng.random(N) < 1.0 / (1.0 + np.exp(1.0 - 0.5 * old - 0.7 * arm))).astype(int)
    return pa.table({"score": score, "arm": arm, "old": old, "year": year, "well": well})


@pytest.fixture(scope="module")
def release() -> hg.Release:
    asked = [hg.mean("score", bounds=(0, 100)), hg.proportion("well", value=1), hg.count()]
    survey = hg.open(people(), relation="replace-one")
    return survey.release(asked, by={"arm": [0, 1], "old": [0, 1, 2]}, epsilon=4.0, estimator="moments")


def test_weights_from_the_cells_are_the_standardised_difference() -> None:
    """Inverse-probability weights by cells and the g-formula over the same cells are one number."""
    rng = np.random.default_rng(2)
    values, counts = rng.uniform(0.0, 1.0, (2, 5)), rng.integers(5, 100, (2, 5)).astype(float)
    probability = counts[1] / counts.sum(axis=0)
    weighted = (counts[1] * values[1] / probability).sum() - (counts[0] * values[0] / (1.0 - probability)).sum()
    assert effect_of("difference", "all", values, counts) == pytest.approx(weighted / counts.sum())


def test_the_odds_ratio_is_that_of_the_counts() -> None:
    values, counts = np.array([[0.2, 0.4], [0.3, 0.6]]), np.array([[60.0, 40.0], [40.0, 60.0]])
    # Cells (a, b, c, d) of each stratum: treated yes, treated no, control yes, control no.
    tables = [
        (n1 * p1, n1 * (1 - p1), n0 * p0, n0 * (1 - p0)) for (n0, n1), (p0, p1) in zip(counts.T, values.T, strict=True)
    ]
    above = sum(a * d / (a + b + c + d) for a, b, c, d in tables)
    below = sum(b * c / (a + b + c + d) for a, b, c, d in tables)
    assert effect_of("odds-ratio", "all", values, counts) == pytest.approx(above / below)


def test_effects_are_near_the_truth(release: hg.Release) -> None:
    difference = release.effect("mean(score)", **ARMS, standardise=["old"])
    assert abs(difference.estimate - 2.5) < 5.0 * difference.standard_error < 3.0
    odds = release.effect("proportion(well=1)", **ARMS, standardise=["old"], measure="odds-ratio")
    assert abs(math.log(odds.estimate) - 0.7) < 5.0 * odds.standard_error / odds.estimate
    low, high = odds.confidence_interval()
    assert math.sqrt(low * high) == pytest.approx(odds.estimate)
    ratio = release.effect("mean(score)", **ARMS, standardise=["old"], measure="ratio", target="treated")
    assert 1.0 < ratio.estimate < 1.2 and "assumptions" in str(ratio.note)
    assert "standardised over old of treated" in ratio.statistic


def test_the_errors_are_those_of_the_expression(release: hg.Release) -> None:
    """What `ask` computes of the same numbers, written out, has the same errors."""
    total = " + ".join(f"count(| arm={arm}, old={old})" for arm in (0, 1) for old in range(3))
    terms = [
        f"(count(| arm=0, old={old}) + count(| arm=1, old={old}))"
        f" * (mean(score | arm=1, old={old}) - mean(score | arm=0, old={old}))"
        for old in range(3)
    ]
    asked = release.ask(f"({' + '.join(terms)}) / ({total})")
    read = release.effect("mean(score)", **ARMS, standardise=["old"])
    for name in ("estimate", "sampling_error", "privacy_error"):
        assert getattr(read, name) == pytest.approx(getattr(asked, name), rel=1e-3)


def test_a_difference_in_differences() -> None:
    survey = hg.open(people(), relation="add-remove")
    read = survey.mean("score", bounds=(0, 100), by={"arm": [0, 1], "year": [0, 1]}, epsilon=4.0)
    times: dict[str, Any] = {"before": {"year": 0}, "after": {"year": 1}}
    change = read.effect("mean(score)", **ARMS, **times)
    assert abs(change.estimate - 5.0) < 5.0 * change.standard_error
    cells = [read.estimate("mean", "score", arm=arm, year=year) for arm in (1, 0) for year in (1, 0)]
    by_hand = (cells[0] - cells[1]) - (cells[2] - cells[3])
    assert (change.estimate, change.standard_error) == pytest.approx(
        (by_hand.estimate, by_hand.standard_error), rel=1e-6
    )


def test_an_effect_is_read_from_a_record_and_by_the_command(release: hg.Release, tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    release.to_json(path)
    mine = release.effect("mean(score)", **ARMS, standardise=["old"])
    other = hg.Release.from_json(path).effect("mean(score)", **ARMS, standardise=["old"])
    assert (mine.estimate, mine.standard_error) == pytest.approx((other.estimate, other.standard_error))
    words = [
        "ask",
        str(path),
        "mean(score)",
        "--effect",
        "arm=1",
        "--control",
        "arm=0",
        "--standardise",
        "old",
        "--json",
    ]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["estimate"] == pytest.approx(mine.estimate)
    refused = CliRunner().invoke(app, words[:5])
    assert refused.exit_code == 2 and "HG146" in refused.stderr


def test_what_the_noise_hides_has_no_effect() -> None:
    few = pa.table({"x": [1.0, 2.0] * 8, "arm": [0, 1] * 8})
    read = hg.open(few, relation="add-remove").mean("x", bounds=(0, 10), by={"arm": [0, 1]}, epsilon=0.05)
    hidden = read.effect("mean(x)", **ARMS)
    assert not hidden.reliable and hidden.standard_error is None
    assert hidden.confidence_interval().low == -math.inf and json.dumps(hidden.to_dict())


def test_reconciled_counts_agree_and_have_less_noise() -> None:
    survey = hg.open(people(), relation="add-remove")
    counts = survey.count(by={"arm": [0, 1], "old": [0, 1, 2]}, epsilon=0.2)
    table = people().to_pandas()
    exact = {arm: int((table["arm"] == arm).sum()) for arm in (0, 1)}
    agreeing = counts.reconcile({"arm": exact})
    for arm in (0, 1):
        assert sum(number.estimate for number in agreeing if number.cell["arm"] == arm) == pytest.approx(exact[arm])
    for before, after in zip(counts, agreeing, strict=True):
        assert after.privacy_error == pytest.approx(before.privacy_error * math.sqrt(2.0 / 3.0))
        assert after.sampling_error == before.sampling_error and "declared" in str(after.note)
        low, high = after.confidence_interval()
        assert low < after.estimate < high
    # The whole and both margins: the noise of a cell is that of an interaction.
    olds = {old: int((table["old"] == old).sum()) for old in range(3)}
    both = counts.reconcile({(): N, "arm": exact, "old": olds})
    assert both[0].privacy_error == pytest.approx(counts[0].privacy_error * math.sqrt(1.0 / 3.0))
    every = counts.reconcile({("arm", "old"): {(arm, old): 100 for arm in (0, 1) for old in range(3)}})
    assert [number.privacy_error for number in every] == pytest.approx([0.0] * 6, abs=1e-5)


def test_what_does_not_fit_is_refused(release: hg.Release) -> None:
    means = hg.open(people(), relation="add-remove").mean(
        "score", bounds=(0, 100), by={"arm": [0, 1], "old": [0, 1, 2]}, epsilon=1.0
    )
    wrong = [
        lambda: release.effect("mean(pay)", **ARMS),
        lambda: release.effect("mean(score)", **ARMS),
        lambda: release.effect("mean(score)", **ARMS, standardise=["sex"]),
        lambda: release.effect("mean(score)", **ARMS, standardise=["old"], measure="risk"),  # type: ignore[arg-type]  # no such measure
        lambda: release.effect("mean(score)", **ARMS, standardise=["old"], before={"year": 0}),
        lambda: means.effect("mean(score)", **ARMS, standardise=["old"]),
        lambda: means.reconcile({"arm": {0: 1.0}}),
        lambda: release.reconcile({"sex": {0: 1}}, of="count()"),
        lambda: release.reconcile({"arm": {0: 10, 1: 20}, (): 40}, of="count()"),
        lambda: release.reconcile({}, of="count()"),
        lambda: release.reconcile({"arm": {0: math.nan}}, of="count()"),
    ]
    for call in wrong:
        with pytest.raises(hg.ParameterError, match="HG146"):
            call()
