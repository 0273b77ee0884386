"""Joint moments on record: read back, held against their mechanism, sent to another process, and who takes them."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.inference.joint.arithmetic import EstimateTerm
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.release.result import Release, release_from_record
from hedgerow.reports.verify.verification import consistency
from hedgerow.testing import simulated

RNG = np.random.default_rng(3)
AGE = np.clip(RNG.normal(45.0, 15.0, 3000), 0, 100)
TABLE = pa.table({"age": AGE, "pay": np.clip(AGE * RNG.uniform(0, 2, 3000), 0, 200), "sex": RNG.integers(0, 2, 3000)})
BOUNDS = {"age": (0, 100), "pay": (0, 200)}
ASKED = [
    hg.correlation("age", "pay", bounds=BOUNDS),
    hg.function(lambda t: t["pay"] / (1.0 + t["age"]), columns=BOUNDS, name="own"),
    hg.ratio("pay", "age", bounds=BOUNDS),
]


def released(relation: str = "replace-one", target: str = "population", **options: Any) -> Release:
    return hg.open(TABLE, relation=relation, target=target).release(ASKED, **({"epsilon": 2.0} | options))


def _number(name: str, factor: float) -> Callable[[list[Any], Any], None]:
    def change(estimates: list[Any], joint: Any) -> None:
        estimates[0][name] *= factor

    return change


def _interval(estimates: list[Any], joint: Any) -> None:
    estimates[-1]["confidence_interval"]["high"] *= 1.001


def _moments(estimates: list[Any], joint: Any) -> None:
    joint["cells"][0]["sums"][1] *= 1.01


def _column(estimates: list[Any], joint: Any) -> None:
    places = [joint["functions"][-1]["function"][axis]["place"] for axis in "xy"]
    for axis, place in zip("xy", reversed(places), strict=True):
        joint["functions"][-1]["function"][axis]["place"] = place


def _statistic(estimates: list[Any], joint: Any) -> None:
    joint["functions"][-1]["function"]["type"] = "covariance"


def _own(estimates: list[Any], joint: Any) -> None:
    place = joint["functions"][1]["estimates"][0]
    estimates[place]["estimate"] *= 1.001


# What is checked by computing it anew from the joint moments.
READ: dict[str, Callable[[list[Any], Any], None]] = {
    "estimate": _number("estimate", 1.001),
    "error": _number("privacy_error", 1.01),
    "interval": _interval,
    "moments": _moments,
    "column": _column,
    "statistic": _statistic,
    "own": _own,
}


def earlier(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as it was written before what was asked and drawn was on it."""
    return {name: value for name, value in record.items() if name not in ("request", "noisy", "reading")}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("target", ["population", "file"])
@pytest.mark.parametrize("by", [None, {"sex": [0, 1]}])
def test_a_record_fits_its_mechanism_and_is_read_back(relation: str, target: str, by: Any) -> None:
    release = released(relation, target, by=by)
    assert release.certificate is not None and isinstance(release.certificate.mechanism, JointMoments)
    record = json.loads(release.to_json())
    assert consistency(record, release.certificate).contradictions == ()
    assert release_from_record(release.to_json()).to_json() == release.to_json()
    (joint,) = record["joint"]
    assert joint["features"][0] == "((age - 50) / 50)" and len(joint["cells"]) == (2 if by else 1)
    assert joint["estimates"] == list(range(6 if by else 3))
    if target == "file":
        assert all(one.sampling_error == 0.0 for one in release if one.reliable)
    for change in ("noise", "cell", "fewer", "without", *READ):
        faulty = copy.deepcopy(record)
        if change == "noise":
            faulty["joint"][0]["noise_covariance"][1][1] *= 0.9
        elif change == "cell":
            faulty["joint"][0]["cells"].append(faulty["joint"][0]["cells"][0])
        elif change == "fewer":
            faulty["joint"][0]["estimates"].pop()
        elif change in READ:
            READ[change](faulty["estimates"], faulty["joint"][0])
        else:
            del faulty["joint"]
        assert consistency(faulty, release.certificate).contradictions, change


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("target", ["population", "file"])
def test_one_computes_with_a_record_as_with_its_release(relation: str, target: str) -> None:
    release = released(relation, target, by={"sex": [0, 1]})
    again = release_from_record(release.to_json())
    ratio, correlation = again.estimate("ratio", sex=0), again.estimate("correlation", sex=1)
    for level in (0.5, 0.95, 0.99):
        for one, other in zip(again, release, strict=True):
            if one.statistic != "own" or level == 0.95:
                assert one.confidence_interval(level).low == pytest.approx(other.confidence_interval(level).low)
    for text in (
        "ratio(pay, age | sex=0) - ratio(pay, age | sex=1)",
        "log(ratio(| sex=0)) * correlation(| sex=0)",
        "2 * ratio(| sex=0) + 1",
    ):
        one, other = again.ask(text), release.ask(text)
        assert one.estimate == pytest.approx(other.estimate)
        assert one.standard_error == pytest.approx(other.standard_error)
        assert one.confidence_interval(0.8).high == pytest.approx(other.confidence_interval(0.8).high)
    assert (ratio - correlation).privacy_error == pytest.approx((release[4] - release[1]).privacy_error)
    assert again.covariance().total == pytest.approx(release.covariance().total, rel=1e-6)
    assert (ratio - ratio).standard_error == 0.0
    with pytest.raises(hg.ParameterError, match="HG130"):
        release[4] - again[4]


def test_a_record_is_read_from_its_file(tmp_path: Path) -> None:
    release = released()
    release.to_json(tmp_path / "release.json")
    release.write(tmp_path / "release.json.gz")
    for name in ("release.json", "release.json.gz"):
        assert hg.Release.from_json(tmp_path / name).to_dict() == release.to_dict()
    text, packed = (tmp_path / "release.json").read_text(), (tmp_path / "release.json.gz").read_bytes()
    assert gzip.decompress(packed).decode() == text == release.to_json()
    assert json.loads(text) == release.to_dict()
    release.to_json(tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == packed, "neither the name nor the time is in the file"
    (tmp_path / "wrong.json").write_bytes(b"\xff")
    for path, code in (("none.json", "HG503"), ("wrong.json", "HG503")):
        with pytest.raises(hg.ParameterError, match=code):
            hg.Release.from_json(tmp_path / path)


def test_a_function_of_ones_own_is_computed_with_by_its_tangent() -> None:
    release = released()
    again = release_from_record(release.to_json())
    made, other = again[1] - again[0], release[1] - release[0]
    assert made.estimate == pytest.approx(other.estimate)
    assert made.standard_error == pytest.approx(other.standard_error, rel=0.05)
    assert made.note == "A function that the record does not hold is computed with by its tangent."
    assert (2 * again[1]).confidence_interval().low == 2 * release[1].confidence_interval().low
    with pytest.raises(hg.ParameterError, match="HG108"):
        again[1].confidence_interval(0.8)
    undefined = copy.deepcopy(json.loads(release.to_json()))
    undefined["joint"][0]["functions"][1]["function"]["cells"] = [None]
    with pytest.raises(hg.ParameterError, match="HG130"):
        release_from_record(json.dumps(undefined))[1] / again[2]


def test_a_record_from_before_functions_were_kept_is_read_and_verified() -> None:
    release = released()
    old = earlier(json.loads(release.to_json()))
    del old["joint"][0]["functions"]
    assert release.certificate is not None and consistency(old, release.certificate).contradictions == ()
    again = release_from_record(json.dumps(old))
    assert again[0].confidence_interval() == release[0].confidence_interval()
    with pytest.raises(hg.ParameterError, match="HG130"):
        again[0] - again[2]


def test_statistics_of_one_draw_are_read_from_one_object() -> None:
    values = [one._joint for one in released(by={"sex": [0, 1]}) if one._joint is not None]
    assert len(values) == 6 and len({id(value.releases[0]) for value in values}) == 1
    assert [value.node.place for value in values if isinstance(value.node, EstimateTerm)] == [(0, 0), (0, 1)] * 3
    other = released(by={"sex": [0, 1]})[0]._joint
    assert other is not None and other.releases[0] is not values[0].releases[0]


def test_another_process_has_the_usual_interval_of_a_function_of_ones_own() -> None:
    release = released()
    again = pickle.loads(pickle.dumps(release))
    assert again.to_json() == release.to_json()
    assert again[0].confidence_interval(0.8) == release[0].confidence_interval(0.8)
    with pytest.raises(hg.ParameterError, match="HG108"):
        again[1].confidence_interval(0.8)


def test_replicates_are_taken_by_name_and_beside_other_statistics_noise_composes() -> None:
    for options in ({"estimator": "bootstrap"}, {"n_resamples": 20}, {"interval": "conservative"}):
        assert {one.method for one in released(**options)} == {"bootstrap"}
    mixed = hg.open(TABLE, relation="replace-one").release([*ASKED, hg.count()], by={"sex": [0, 1]}, epsilon=1.0)
    assert [one.method for one in mixed] == ["moments"] * 6 + [mixed[6].method] * 2
    assert (
        mixed.certificate is not None
        and consistency(json.loads(mixed.to_json()), mixed.certificate).contradictions == ()
    )
    pure = released(delta=0)
    assert pure.certificate is not None and pure.certificate.delta == 0.0


def test_statistics_of_other_columns_lose_no_records_to_missing_values() -> None:
    holes = TABLE.append_column("bonus", pa.array([None, 1.0] * 1500))
    asked = [hg.variance("age", bounds=(0, 100)), hg.variance("bonus", bounds=(0, 2))]
    release = hg.open(holes, relation="add-remove").release(asked, epsilon=50.0)
    assert release[0].estimate == pytest.approx(AGE.var(), rel=0.02)
    # One vector for both: the number of people who have a value is a feature of it.
    (joint,) = release._joint
    sums = dict(zip(joint["features"], joint["cells"][0]["sums"][1:], strict=True))
    assert [sums["present(age)"], sums["present(bonus)"]] == pytest.approx([3000, 1500], abs=5)


HOLES = pa.table({name: np.where(RNG.random(3000) < 0.3, np.nan, values) for name, values in TABLE.to_pydict().items()})
MEANS = [hg.mean("age", bounds=(0, 100)), hg.mean("pay", bounds=(0, 200)), hg.ratio("pay", "age", bounds=BOUNDS)]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("missing", ["drop", "error-if-declared-complete"])
def test_a_mean_a_variance_and_a_correlation_share_one_release(relation: str, missing: str) -> None:
    survey = hg.open(HOLES if missing == "drop" else TABLE, relation=relation)
    asked = [MEANS[0], hg.variance("pay", bounds=(0, 200)), hg.correlation("age", "pay", bounds=BOUNDS)]
    release = simulated.release(survey, asked, epsilon=60.0, missing=missing, rng=5)
    assert len(release._joint) == 1
    columns = survey_columns(missing)
    age, pay = columns["age"], columns["pay"]
    both = ~np.isnan(age) & ~np.isnan(pay)
    truth = [np.nanmean(age), np.nanvar(pay), np.corrcoef(age[both], pay[both])[0, 1]]
    for one, value in zip(release, truth, strict=True):
        assert one.estimate == pytest.approx(value, abs=5.0 * (one.privacy_error or 0.0))
    # What the same people's two numbers share is known: it would be lost between two releases.
    resampled = RNG.integers(0, 3000, (400, 3000))
    drawn = np.array([[np.nanmean(age[rows]), np.nanvar(pay[rows])] for rows in resampled])
    together = release.covariance()
    assert together.known
    sampling = np.array(together.sampling)
    found = sampling[0, 1] / np.sqrt(sampling[0, 0] * sampling[1, 1])
    assert found == pytest.approx(np.corrcoef(drawn.T)[0, 1], abs=0.15)
    mean, variance, _ = release
    assert (variance / mean).standard_error == pytest.approx(np.std(drawn[:, 1] / drawn[:, 0]), rel=0.15)


def test_statistics_of_too_many_columns_at_a_time_are_released_apart() -> None:
    four = pa.table({name: RNG.uniform(0, 1, 500) for name in "abcd"})
    pairs = [hg.correlation(*pair, bounds=dict.fromkeys(pair, (0, 1))) for pair in ("ab", "bc", "cd")]
    survey = hg.open(four, relation="replace-one")
    assert len(survey.release(pairs[:2], epsilon=1.0)._joint) == 1
    release = survey.release(pairs, epsilon=1.0)
    assert len(release._joint) == 2
    with pytest.raises(hg.ParameterError, match="HG130"):
        release[0] - release[2]


def survey_columns(missing: str) -> dict[str, np.ndarray[Any, Any]]:
    table = HOLES if missing == "drop" else TABLE
    return {name: np.array(values, dtype=np.float64) for name, values in table.to_pydict().items()}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", [None, {"sex": [0.0, 1.0]}])
@pytest.mark.parametrize("noise", ["auto", "gaussian"])
def test_statistics_of_columns_with_holes_share_one_release(relation: str, by: Any, noise: str) -> None:
    survey = hg.open(HOLES, relation=relation)
    release = simulated.release(survey, MEANS, epsilon=60.0, by=by, noise=noise, rng=5)
    columns = {name: np.array(values) for name, values in HOLES.to_pydict().items()}
    here = np.ones(3000, dtype=bool) if by is None else columns["sex"] == 0.0
    age, pay = columns["age"][here], columns["pay"][here]
    both = ~np.isnan(age) & ~np.isnan(pay)
    truth = [np.nanmean(age), np.nanmean(pay), pay[both].sum() / age[both].sum()]
    step = 1 if by is None else 2
    for place, value in enumerate(truth):
        one = release[place * step]
        assert abs(one.estimate - value) < 6.0 * (one.privacy_error or 0.0)
        assert abs(one.estimate - value) < 0.2 * (one.sampling_error or 0.0), "nobody else's records count"
    difference = release[0] - release[step]
    shared = 2.0 * np.cov(age[both], pay[both])[0, 1] * both.sum() / np.sum(~np.isnan(age)) / np.sum(~np.isnan(pay))
    expected = np.nanvar(age) / np.sum(~np.isnan(age)) + np.nanvar(pay) / np.sum(~np.isnan(pay)) - shared
    assert difference.sampling_error == pytest.approx(np.sqrt(expected), rel=0.1)
    assert difference.sampling_error != pytest.approx(np.sqrt(expected + shared), rel=0.1), "covariances count"


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_record_of_columns_with_holes_holds(relation: str) -> None:
    release = hg.open(HOLES, relation=relation).release(MEANS, epsilon=2.0)
    assert release.certificate is not None and isinstance(release.certificate.mechanism, JointMoments)
    record = json.loads(release.to_json())
    assert consistency(record, release.certificate).contradictions == ()
    assert "present(age)" in record["joint"][0]["features"]
    record["joint"][0]["powers"][0] = [0, 0]
    assert consistency(record, release.certificate).contradictions


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_one_release_is_no_noisier_than_one_each(relation: str, epsilon: float) -> None:
    """Covariances between two means cost at most a twentieth of the noise; heavier ones would be seen."""
    survey = hg.open(HOLES, relation=relation)

    def noise(asked: list[Any], epsilon: float) -> float:
        (item, *_) = survey.plan(asked, epsilon=epsilon, delta=0.0).items
        return float(item.design.noise_sd(item.mechanism))

    assert noise(MEANS[:2], epsilon) <= 1.05 * noise(MEANS[:1], epsilon / 2.0)
    assert noise(MEANS[:2], epsilon * 0.9) > 1.05 * noise(MEANS[:1], epsilon / 2.0)


def test_unequal_shares_are_unequal_weights_of_one_release() -> None:
    survey = hg.open(TABLE, relation="replace-one")
    for noise, ratio in (("gaussian", 3.0), ("laplace", 9.0)):
        plan = survey.plan(MEANS[:2], epsilon=1.0, share=[9, 1], noise=noise, missing="error-if-declared-complete")
        scaled = [one.design.noise_sd(one.mechanism) / one.statistic.grid.half_range for one in plan.items]
        assert isinstance(plan.mechanism, JointMoments) and scaled[1] / scaled[0] == pytest.approx(ratio, rel=0.02)


def test_a_grid_too_fine_for_products_is_said() -> None:
    fine = hg.correlation("age", "pay", bounds={"age": (0, 100, 0.01), "pay": (0, 200, 1)})
    release = hg.open(TABLE, relation="replace-one").release(fine, epsilon=1.0)
    assert (release[0].note or "").endswith("Values are rounded to steps between the bounds: age to 1,024.")


def test_a_sampling_error_that_the_noise_hides_is_said_to_be_hidden() -> None:
    constant = pa.table({"x": [5.0] * 1000})
    for target, said in (("population", True), ("file", False)):
        survey = hg.open(constant, relation="replace-one", target=target)
        drawn = [simulated.release(survey, [RATE], epsilon=1.0, rng=seed)[0] for seed in range(10)]
        assert any(one.note and "hides" in one.note for one in drawn) is said


RATE = hg.function(lambda t: 2.0 * t["x"], columns={"x": (0, 10)}, name="twice")


def test_of_many_moments_the_record_leaves_out_the_covariances_of_the_noise() -> None:
    """They follow from the mechanism. A record of a version that wrote them is held against them."""
    columns = [f"v{i}" for i in range(5)]
    table = pa.table({name: RNG.integers(0, 101, 500).astype(float) for name in columns})
    asked = [hg.variance(name, bounds=(0, 100), step=1) for name in columns]
    release = hg.open(table, relation="replace-one").release(asked, epsilon=2.0)
    text = release.to_json()
    record = json.loads(text)
    assert release.certificate is not None and "noise_covariance" not in record["joint"][0] and len(text) < 10**5
    assert consistency(record, release.certificate).contradictions == ()
    again = release_from_record(text)
    assert (again[0] - again[1]).standard_error == pytest.approx((release[0] - release[1]).standard_error)
    joint = release[0]._joint
    assert joint is not None
    (totals,) = joint.releases
    record["joint"][0]["noise_covariance"] = (totals.mixing @ totals.mixing.T).tolist()
    assert consistency(record, release.certificate).contradictions == ()
    record["joint"][0]["noise_covariance"][3][3] *= 0.9
    assert consistency(record, release.certificate).contradictions
