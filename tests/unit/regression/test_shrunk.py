"""Estimates that are drawn towards 0 where noise is large: they are less wrong, on record, and intervals stay."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hedgerow as hg
from hedgerow.regression.least_squares import SHRUNK
from hedgerow.regression.regression import Regression, regressions_from_record
from hedgerow.regression.release_regression import (
    PlannedRegression,
    drawn_regression,
    read_regression,
    with_robust_errors,
)
from hedgerow.release.execute import read_histograms
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise

BOUNDS = {"a": (0, 8), "b": (0, 8), "c": (0, 8), "y": (-20, 20)}
FORMULA = "y ~ a + b + c - 1"


def people(n: int) -> pd.DataFrame:
    chance = np.random.default_rng(3)
    columns = dict(zip("abc", chance.exponential(size=(3, n)).clip(0, 8), strict=True))
    response = 1.5 * columns["a"] - 2.0 * columns["b"] + 0.5 * columns["c"] + chance.normal(size=n)
    return pd.DataFrame(columns | {"y": response})


def fits(n: int, runs: int, **options: object) -> tuple[PlannedRegression, list[Regression], np.ndarray]:
    """Return a plan, releases of one file with seeded noise, and the coefficients of the file."""
    file = people(n)
    survey = hg.open(file, relation="add-remove")
    plan = survey.plan_ols(FORMULA, bounds=BOUNDS, mu=1.0, **options)
    answers, noise = read_histograms(plan.plan, survey.source), SimulatedNoise(5)
    made = []
    for _ in range(runs):
        read = read_regression(plan, drawn_regression(plan, answers, noise), None, "t", None)
        made.append(with_robust_errors(plan, read, survey.source, noise)[0])
    return plan, made, np.linalg.lstsq(file[["a", "b", "c"]].to_numpy(), file.y.to_numpy(), rcond=None)[0]


@pytest.fixture(scope="module")
def few() -> tuple[list[Regression], np.ndarray]:
    _, made, truth = fits(500, 150)
    return made, truth


def values(made: list[Regression], *, shrinks: bool) -> np.ndarray:
    return np.array([replace(fit.fit, shrinks=shrinks).params for fit in made])


def test_estimates_are_less_wrong(few: tuple[list[Regression], np.ndarray]) -> None:
    """150 releases of 500 records with skewed regressors, of which most are shrunk; the error is a mean square."""
    made, truth = few
    shrunk, plain = (values(made, shrinks=shrinks) for shrinks in (True, False))
    assert np.mean([fit.fit.shrunk for fit in made]) > 0.6
    error, before = (np.sqrt(np.mean((each - truth) ** 2, axis=0)) for each in (shrunk, plain))
    assert (error < 0.75 * before).all() and (error < 0.62).all()
    # The sabotage: 0 for every coefficient is drawn towards 0 as well, and more wrong.
    assert np.sqrt(np.mean(truth**2)) > 1.8 * np.sqrt(np.mean(error**2))
    # Errors that are stated are not too small.
    stated = np.array([list(fit.bse.values()) for fit in made])
    assert (np.median(stated, axis=0) > 0.8 * error).all()


def test_intervals_are_as_before_and_hold_the_estimate(few: tuple[list[Regression], np.ndarray]) -> None:
    made, truth = few
    for fit in made:
        plain = replace(fit.fit, shrinks=False)
        for place, (name, interval) in enumerate(fit.conf_int().items()):
            assert tuple(interval) == plain.accepted(np.eye(3)[place], 0.95)
            assert interval.low <= fit.params[name] <= interval.high
    ends = np.array([[tuple(interval) for interval in fit.conf_int().values()] for fit in made])
    assert ((ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])).mean() > 0.93


def test_a_fit_with_less_noise_is_not_shrunk(few: tuple[list[Regression], np.ndarray]) -> None:
    _, made, _ = fits(20_000, 3)
    for fit in made:
        plain = replace(fit.fit, shrinks=False)
        assert fit.fit.noise_ratio < SHRUNK and not fit.fit.shrunk
        assert (fit.fit.params == plain.params).all() and fit.bse == dict(
            zip(fit.names, np.sqrt(np.diag(plain.sampling_covariance + plain.noise_covariance)).tolist(), strict=True)
        )
    for fit in few[0]:
        assert fit.fit.shrunk == (fit.fit.noise_ratio >= SHRUNK)


@pytest.mark.parametrize("options", [{}, {"robust": True}])
def test_it_is_on_record_and_in_the_notes(options: dict[str, object]) -> None:
    survey = hg.open(people(500), relation="add-remove")
    fit = next(
        fit
        for fit in (survey.ols(FORMULA, bounds=BOUNDS, mu=0.8, **options) for _ in range(20))
        if fit.fit.shrunk and fit.fit.positive
    )
    record = json.loads(fit.to_json())
    assert record["regression"]["shrinks"] is True and verify_record(record).holds
    assert any("drawn towards 0" in note for note in fit.notes)
    assert regressions_from_record(record)[0].params == fit.params
    # A record of before is read as it was then: with the flag taken out, the estimates that are stated do not follow.
    before = json.loads(fit.to_json())
    del before["regression"]["shrinks"]
    assert not verify_record(before).holds
    assert regressions_from_record(before)[0].params != fit.params
    before["regression"]["shrinks"] = "yes"
    assert not verify_record(before).holds
