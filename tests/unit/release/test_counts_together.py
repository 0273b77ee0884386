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
from hedgerow.reports.verify.consistency import contradictions
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
    assert made.term() == "proportion(employed=1 | sex=0) - proportion(employed=1 | sex=1)"
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
    share, other, count, other_count = released(SHARE, COUNT, by=BY, estimator="auto", noise="gaussian")
    for made in (lambda: share - count, lambda: other_count / other):
        with pytest.raises(hg.ParameterError, match=r"HG130.*not drawn together"):
            made()
    again = released(SHARE, by=BY)[0]
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
    joint["features"] = ["(2 * (employed = 0) - 1)"]


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
@pytest.mark.parametrize("target", ["population", "file"])
def test_a_record_of_counts_is_verified_and_computed_with(relation: str, options: dict[str, Any], target: str) -> None:
    release = released(SHARE, COUNT, relation=relation, target=target, **options)
    record = json.loads(release.to_json())
    assert release.certificate is not None and contradictions(record, release.certificate) == ()
    again = release_from_record(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.covariance().total == pytest.approx(release.covariance().total, rel=1e-9, nan_ok=True)
    for level in (0.5, 0.95):
        one, other = again[0].confidence_interval(level), release[0].confidence_interval(level)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
    assert (1 / again[0]).to_dict() == (1 / release[0]).to_dict()


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_record_of_shares_is_found(forge: Callable[[Any, Any], None]) -> None:
    release = released(SHARE, by=BY)
    record = copy.deepcopy(json.loads(release.to_json()))
    forge(record["joint"][0], record["estimates"])
    assert release.certificate is not None and contradictions(record, release.certificate)


def test_a_record_from_before_counts_were_kept_is_read_and_verified() -> None:
    release = released(SHARE, hg.variance("age", bounds=(0, 100)), by=BY)
    record = json.loads(release.to_json())
    record["joint"] = [one for one in record["joint"] if "counted" not in one]
    assert release.certificate is not None and contradictions(record, release.certificate) == ()
    again = release_from_record(json.dumps(record))
    assert (again[2] - again[3]).reliable
    with pytest.raises(hg.ParameterError, match="HG130"):
        again[0] - again[1]


def test_expressions_of_counts_and_shares_are_asked_with_a_release() -> None:
    asked = ["proportion(| sex=0) - proportion(| sex=1)", "count(| sex=0) / (count(| sex=0) + count(| sex=1))"]
    release = released(SHARE, COUNT, by=BY, ask=asked)
    assert [one.reliable for one in release.answers.values()] == [True, True]
    record = json.loads(release.to_json())
    assert release.certificate is not None and contradictions(record, release.certificate) == ()
    made = pickle.loads(pickle.dumps(release[0] - release[1]))
    assert made.to_dict() == (release[0] - release[1]).to_dict()
