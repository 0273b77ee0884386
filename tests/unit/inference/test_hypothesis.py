"""Tests of values agree with the intervals that they are made of."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_summary import chi_square_share
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import HypothesisTest, RecordedRegion
from hedgerow.release.result import Release
from hedgerow.testing.simulated import release as simulated

AGE = hg.mean("age", bounds=(0, 100), step=1)


@cache
def survey() -> hg.Survey:
    rng = np.random.default_rng(5)
    age = np.clip(np.rint(rng.normal(40.0, 15.0, 1000)), 0, 100)
    return hg.open(pa.table({"age": age, "sex": np.arange(1000) % 2}), relation="replace-one")


@cache
def by_sex() -> Release:
    return simulated(survey(), AGE, by={"sex": [0, 1]}, epsilon=1.0, noise="gaussian", rng=3)


@cache
def replicated() -> Estimate:
    return simulated(survey(), AGE, estimator="bootstrap", n_resamples=50, epsilon=8.0, rng=4)[0]


def several() -> Sequence[Estimate]:
    men, women = by_sex()
    counts = simulated(survey(), hg.count(), by={"sex": [0, 1]}, epsilon=0.5, rng=5)
    return [men, men - women, (men / women).log(), counts[0], counts[0] - counts[1]]


def agrees(found: HypothesisTest, estimate: Estimate) -> bool:
    """Whether intervals a little below and above 1 − p contain and exclude the value."""
    wider, narrower = (estimate.confidence_interval(1.0 - found.pvalue * by) for by in (0.999, 1.001))
    inside = wider.low <= found.value <= wider.high
    return inside and not narrower.low <= found.value <= narrower.high


@settings(max_examples=12)
@given(place=st.integers(0, 4), away=st.floats(-4.0, 4.0))
def test_the_p_value_is_the_alpha_at_which_the_interval_ends_at_the_value(place: int, away: float) -> None:
    estimate = several()[place]
    assert estimate.standard_error is not None
    found = estimate.test(estimate.estimate + away * estimate.standard_error)
    assert math.isclose(found.statistic or 0.0, -away, abs_tol=1e-6)
    if found.pvalue < 0.9:
        assert agrees(found, estimate)
        assert not agrees(replace(found, pvalue=found.pvalue / 2.0), estimate)
        assert not agrees(replace(found, pvalue=1.1 * found.pvalue), estimate)


def test_a_calibrated_p_value_has_one_digit_and_is_never_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = replicated()
    # Student's interval in place of the programme's, so that any level is quick.
    monkeypatch.setattr("hedgerow.inference.region._SOLVED", "student")
    estimate = replace(estimate, _region=replace(estimate._region, census=True))
    half = estimate.confidence_interval().high - estimate.estimate
    exact = [estimate.test(estimate.estimate + share * half) for share in (-1.7, 0.3, 0.9)]
    assert [one.method for one in exact] == ["student"] * 3
    for one in exact:
        assert float(f"{one.pvalue:.0e}") == one.pvalue
    monkeypatch.setattr("hedgerow.inference.region._SOLVED", "")
    finer = [estimate.test(one.value) for one in exact]
    for one, other in zip(exact, finer, strict=True):
        assert 0.49 * one.pvalue < other.pvalue < one.pvalue


def test_values_far_off_and_values_that_nothing_excludes() -> None:
    men, women = by_sex()
    assert (men - women).test(1e4).pvalue == 1e-12
    assert men.test(men.estimate).pvalue > 0.9
    swamped = simulated(survey(), AGE, by={"sex": [0, 1, 7]}, epsilon=0.02, rng=1)[2]
    found = swamped.test(40.0)
    assert not swamped.reliable and found.pvalue == 1.0
    public = simulated(survey(), hg.count(), epsilon=1.0, rng=1)[0]
    assert public.test(1000).pvalue == 1.0 and public.test(999).pvalue == 1e-12
    assert public.test(1000).statistic == 0.0 and public.test(999).statistic is None


@pytest.mark.parametrize("value", ["0", None, math.nan, math.inf, True])
def test_only_numbers_are_tested(value: object) -> None:
    with pytest.raises(ParameterError, match="HG139"):
        by_sex()[0].test(value)  # type: ignore[arg-type]  # what a user may give


def test_a_record_with_one_interval_says_that_it_has_no_other() -> None:
    men = by_sex()[0]
    recorded = replace(men, _region=RecordedRegion(39.0, 41.0, 0.95, "moments"))
    with pytest.raises(ParameterError, match="HG108"):
        recorded.test(40.0)


def test_alpha_prime_lies_between_the_most_conservative_and_the_unbiased_interval() -> None:
    estimate = replicated()

    def width(alpha: float) -> float:
        interval = estimate.confidence_interval(method="conservative", alpha_prime=alpha)
        return interval.high - interval.low

    usual, most = (estimate.confidence_interval(method=name) for name in ("conservative", "most-conservative"))
    assert math.isclose(width(0.05), usual.high - usual.low)
    assert math.isclose(width(0.0), most.high - most.low)
    assert width(0.0) > width(0.01) > width(0.05) > width(0.3) > width(0.9)
    # Eq. 34: the share that is subtracted is the α' point of χ²/(k − 1).
    assert chi_square_share(50, alpha=0.01) < chi_square_share(50, alpha=0.05)
    moved = (2.0 * estimate + 1.0).confidence_interval(method="conservative", alpha_prime=0.3)
    assert math.isclose(moved.high - moved.low, 2.0 * width(0.3))


@pytest.mark.parametrize(("method", "alpha", "code"), [
    ("conservative", 1.0, "HG139"), ("conservative", -0.1, "HG139"), ("calibrated", 0.05, "HG108"),
    (None, 0.05, "HG108"),
])  # fmt: skip
def test_alpha_prime_is_of_conservative_intervals(method: str | None, alpha: float, code: str) -> None:
    with pytest.raises(ParameterError, match=code):
        replicated().confidence_interval(method=method, alpha_prime=alpha)
    with pytest.raises(ParameterError, match="HG108"):
        by_sex()[0].confidence_interval(alpha_prime=0.05)


def test_the_sd_of_single_records_comes_with_a_mean() -> None:
    truth = 15.0
    for estimate in (by_sex()[0], replicated()):
        assert estimate.individual_sd == pytest.approx(truth, rel=0.4)
    men, women = by_sex()
    assert (men - women).individual_sd is None and several()[3].individual_sd is None
    census = hg.open(pa.table({"age": [1.0, 2.0] * 50}), relation="replace-one", target="file")
    for estimator in ("moments", "bootstrap"):
        assert simulated(census, AGE, estimator=estimator, epsilon=1.0, rng=1)[0].individual_sd is None


def test_ask_tests_on_the_command_line(tmp_path: Path) -> None:
    path = str(tmp_path / "release.json")
    survey().release(AGE, by={"sex": [0, 1]}, epsilon=1.0).to_json(path)
    asked = ["ask", path, "mean(age | sex=0) - mean(age | sex=1)", "--test", "0"]
    printed = CliRunner().invoke(app, asked)
    assert printed.exit_code == 0 and "Test of 0: z = " in printed.output and "p = " in printed.output
    told = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    again = hg.Release.from_json(path)
    assert told["test"] == (again[0] - again[1]).test().to_dict()
    assert "test" not in json.loads(CliRunner().invoke(app, [*asked[:3], "--json"]).output)
