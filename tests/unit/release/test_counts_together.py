"""Counts and shares of several cells are computed with: by operators, by words, from a record, and what is refused."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.release.result import Release, release_from_record
from hedgerow.reports.verify.verification import consistency
from hedgerow.testing import simulated

RNG = np.random.default_rng(21)
TABLE = pa.table({"employed": RNG.integers(0, 2, 900), "sex": RNG.integers(0, 3, 900), "age": RNG.uniform(0, 99, 900)})
BY = {"sex": [0, 1]}
SHARE, COUNT = hg.proportion("employed", value=1), hg.count()
COMPLETE = "error-if-declared-complete"


def released(*asked: Any, relation: str = "replace-one", target: str = "population", **options: Any) -> Release:
    return hg.open(TABLE, relation=relation, target=target).release(asked, **({"epsilon": 2.0} | options))


def test_the_difference_of_two_shares_is_that_of_independent_samples() -> None:
    survey = hg.open(TABLE, relation="add-remove")
    women, men = simulated.release(survey, [SHARE], by=BY, epsilon=2.0, rng=1)
    made = women - men
    assert made._term() == "proportion(employed=1 | sex=0) - proportion(employed=1 | sex=1)"
    assert made.estimate == pytest.approx(women.estimate - men.estimate)
    assert made.privacy_error == pytest.approx(math.hypot(women.privacy_error or 0, men.privacy_error or 0), rel=0.02)
    assert made.sampling_error == pytest.approx(
        math.hypot(women.sampling_error or 0, men.sampling_error or 0), rel=0.02
    )
    assert (women - women).standard_error == 0.0 and np.log(women / men).reliable
    assert (2 * women - 1).confidence_interval().low == 2 * women.confidence_interval().low - 1


def test_the_counts_of_all_cells_of_a_public_file_add_up_but_for_the_noise() -> None:
    counts = released(COUNT, by={"sex": [0, 1, 2]})
    whole = counts[0] + counts[1] + counts[2]
    assert whole.privacy_error == pytest.approx(math.sqrt(3) * (counts[0].privacy_error or 0))
    assert (whole.sampling_error or 0) < 0.3 * (counts[0].sampling_error or 0)
    found = counts.covariance()
    assert found.known and (found.sampling[~np.eye(3, dtype=bool)] < 0).all()
    loose = released(COUNT, by={"sex": [0, 1, 2]}, relation="add-remove").covariance()
    assert (loose.total[~np.eye(3, dtype=bool)] == 0).all()


def test_what_was_drawn_apart_is_refused() -> None:
    count, _, age, _ = released(COUNT, hg.mean("age", bounds=(0, 100)), by=BY, missing="midpoint")
    with pytest.raises(hg.ParameterError, match=r"HG130.*not drawn together"):
        count * age
    share, again = released(SHARE, by=BY)[0], released(SHARE, by=BY)[0]
    with pytest.raises(hg.ParameterError, match="HG130"):
        share - again
    assert (share - again.of_others()).reliable


def _moved(joint: Any, entries: Any) -> None:
    joint["cells"][0]["sums"][0] += 1


def _hidden(joint: Any, entries: Any) -> None:
    joint["cells"][0]["second_moments"] = [[1.0]]


def _noise(joint: Any, entries: Any) -> None:
    joint["noise_covariance"][0][0] *= 0.9


def _feature(joint: Any, entries: Any) -> None:
    joint["features"] = ["(((employed = 0) - 0.5) / 0.5)"]


def _counted(joint: Any, entries: Any) -> None:
    joint["counted"] = ["equal"]


def _estimate(joint: Any, entries: Any) -> None:
    entries[0]["estimate"] *= 1.001


def _interval(joint: Any, entries: Any) -> None:
    entries[1]["confidence_interval"]["high"] *= 1.01


def _sampling(joint: Any, entries: Any) -> None:
    entries[1]["sampling_error"] *= 1.01


FORGED = [_moved, _hidden, _noise, _feature, _counted, _estimate, _interval, _sampling]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{}, {"by": BY}, {"missing": COMPLETE}, {"by": BY, "noise": "averaged-laplace"}])
@pytest.mark.parametrize("target", ["population", pytest.param("file", marks=pytest.mark.long)])
@pytest.mark.parametrize("asked", [[SHARE], [COUNT], [SHARE, COUNT]])
def test_a_record_of_counts_is_verified_and_computed_with(
    asked: list[Any], relation: str, options: dict[str, Any], target: str
) -> None:
    release = released(*asked, relation=relation, target=target, **options)
    record = json.loads(release.to_json())
    assert release.certificate is not None and consistency(record, release.certificate).contradictions == ()
    again = release_from_record(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.covariance().total == pytest.approx(release.covariance().total, rel=1e-9, nan_ok=True)
    for level in (0.5, 0.95) if release[0].method != "public" else ():
        one, other = again[0].confidence_interval(level), release[0].confidence_interval(level)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
    assert (1 / again[0]).to_dict() == (1 / release[0]).to_dict()


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_record_of_shares_is_found(forge: Callable[[Any, Any], None]) -> None:
    release = released(SHARE, by=BY)
    record = copy.deepcopy(json.loads(release.to_json()))
    forge(record["joint"][0], record["estimates"])
    assert release.certificate is not None and consistency(record, release.certificate).contradictions


def test_a_record_from_before_counts_were_kept_is_read_and_verified() -> None:
    release = released(COUNT, hg.mean("age", bounds=(0, 100)), by=BY, missing="midpoint")
    record = json.loads(release.to_json())
    record = {name: value for name, value in record.items() if name not in ("request", "noisy", "reading")}
    record["joint"] = [one for one in record["joint"] if "counted" not in one]
    assert release.certificate is not None and consistency(record, release.certificate).contradictions == ()
    again = release_from_record(json.dumps(record))
    assert (again[2] - again[3]).reliable
    with pytest.raises(hg.ParameterError, match="HG130"):
        again[0] - again[1]


def test_expressions_of_counts_and_shares_are_asked_with_a_release() -> None:
    asked = ["proportion(| sex=0) - proportion(| sex=1)", "count(| sex=0) / (count(| sex=0) + count(| sex=1))"]
    release = released(SHARE, COUNT, by=BY, ask=asked)
    assert [one.reliable for one in release.answers.values()] == [True, True]
    record = json.loads(release.to_json())
    assert release.certificate is not None and consistency(record, release.certificate).contradictions == ()
    made = pickle.loads(pickle.dumps(release[0] - release[1]))
    assert made.to_dict() == (release[0] - release[1]).to_dict()


MEAN, OTHER = hg.mean("age", bounds=(0, 100)), hg.proportion("sex", value=2)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("missing", ["drop", COMPLETE])
@pytest.mark.parametrize("by", [None, {"employed": [0, 1]}])
def test_counts_and_shares_beside_others_are_one_vector_and_noisier_by_no_part(
    relation: str, missing: str, by: Any
) -> None:
    survey = hg.open(TABLE, relation=relation)
    options = {"by": by, "missing": missing, "epsilon": 1.0}
    plan = survey.plan([OTHER, COUNT, MEAN], **options)
    release = simulated.release(survey, [OTHER, COUNT, MEAN], rng=2, **options)
    cells = 2 if by else 1
    share, count, mean = release[0], release[cells], release[-cells]
    assert share.method == mean.method == "moments" and release.covariance().known
    assert (share - mean / 100).reliable and (count * share).reliable
    # Each alone, at a part of the budget, has more noise.
    for one, statistic in ((share, OTHER), (mean, MEAN)):
        alone = simulated.release(survey, [statistic], rng=3, **(options | {"epsilon": 1.0 / len(plan.items)}))[0]
        assert (one.privacy_error or 0) < 1.1 * (alone.privacy_error or 0)
    expected = plan.forecast({"sex": {"share": 0.33}, "age": {"mean": 50, "sd": 29}}, n=900)
    for one, found in zip(expected, (share, count, mean), strict=True):
        assert one.standard_error == pytest.approx(found.standard_error, rel=0.25)


def test_a_count_or_share_alone_keeps_its_law_and_its_interval() -> None:
    for statistic, by in ((SHARE, None), (SHARE, BY), (COUNT, BY)):
        assert {one.method for one in released(statistic, by=by, missing=COMPLETE)} == {"geometric"}
    assert {one.method for one in released(SHARE, COUNT)} == {"geometric", "public"}
    assert {one.method for one in released(SHARE, by=BY, estimator="moments")} == {"moments"}
    with pytest.raises(hg.ParameterError, match="HG108"):
        released(COUNT, by=BY, estimator="moments")


def test_the_difference_of_two_shares_of_the_same_people_knows_their_covariance() -> None:
    first, second = RNG.integers(0, 2, (2, 900))
    second = np.where(RNG.uniform(size=900) < 0.8, first, second)
    survey = hg.open(pa.table({"first": first, "second": second}), relation="replace-one")
    asked = [hg.proportion(column, value=1) for column in ("first", "second")]
    made = simulated.release(survey, asked, epsilon=5.0, missing=COMPLETE, rng=4)
    gap, truth = made[0] - made[1], np.std(first - second, ddof=1) / 30
    assert gap.sampling_error == pytest.approx(truth, rel=0.1)
    assert math.hypot(made[0].sampling_error or 0, made[1].sampling_error or 0) > 1.5 * truth
    record = json.loads(
        hg.open(pa.table({"a": first}), relation="replace-one")
        .release([hg.proportion("a", value=1), hg.proportion("a", value=0)], epsilon=1.0)
        .to_json()
    )
    for one in record["joint"][0]["functions"]:
        one["function"]["x"]["place"] = record["joint"][0]["features"].index("(((a = 1) - 0.5) / 0.5)") + 1
    certificate = release_from_record(json.dumps(record)).certificate
    assert certificate is not None and consistency(record, certificate).contradictions
