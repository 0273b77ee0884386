"""Effects and reconciled counts have the errors that repeated noise shows; errors without covariances do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.inference import effects, means_and_counts
from hedgerow.inference.known_totals import reconciled
from hedgerow.release.readings import reconciliation, standardised_effect
from hedgerow.testing.simulated import SimulatedNoise, Study

ACCEPTED, REJECTED = 1e-6, 1e-12
RUNS = 500


def pvalue_of_variance(values: Any, variance: float) -> float:
    """Return the two-sided p-value that normal values have a variance."""
    law, freedom = stats.chi2(len(values) - 1), len(values) - 1
    statistic = freedom * np.var(values, ddof=1) / variance
    return float(2.0 * min(law.cdf(statistic), law.sf(statistic)))


def crossed() -> pa.Table:
    """People of two strata, in which the treatment has opposite effects; a fifth of each stratum is treated."""
    place = np.arange(2000)
    old, arm = place // 1000, (place % 5 == 0).astype(int)
    return pa.table({"score": np.where(old == arm, 10.0, 90.0), "arm": arm, "old": old})


@pytest.fixture(scope="module")
def releases() -> list[hg.Release]:
    survey = hg.open(crossed(), relation="add-remove", target="file")
    asked = [hg.mean("score", bounds=(0, 100)), hg.count()]
    study = Study.of(survey, asked, by={"arm": [0, 1], "old": [0, 1]}, epsilon=1.0, estimator="moments")
    source = SimulatedNoise(np.random.default_rng(3))
    return [study.draw(source) for _ in range(RUNS)]


@pytest.mark.parametrize(("forgotten", "holds"), [(False, True), (True, False)])
def test_the_error_of_an_effect_needs_the_covariance_of_means_and_counts(
    releases: list[hg.Release], forgotten: bool, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise on a count moves a mean and the weight of its stratum together."""
    if forgotten:

        def without(function: Any, numbers: Any, sampling: Any, noise: Any, *, in_logs: bool) -> Any:
            parts = [np.diag(np.diag(part)) for part in (sampling, noise)]
            return effects.with_errors(function, numbers, *parts, in_logs=in_logs)

        monkeypatch.setattr(standardised_effect, "with_errors", without)
    about: dict[str, Any] = {"treated": {"arm": 1}, "control": {"arm": 0}, "standardise": ["old"], "target": "treated"}
    read = [release.effect("mean(score)", **about) for release in releases]
    errors = [number.privacy_error for number in read if number.privacy_error is not None]
    assert len(errors) == RUNS
    pvalue = pvalue_of_variance([number.estimate for number in read], float(np.square(errors).mean()))
    assert (pvalue > ACCEPTED) if holds else (pvalue < REJECTED)


@pytest.mark.parametrize(("forgotten", "holds"), [(None, True), ("before", False), ("after", False)])
def test_the_errors_of_reconciled_counts_need_their_covariances(forgotten: str | None, holds: bool) -> None:
    """Counts of three cells of which two have noise in common; their total is public. Their difference is read."""
    noise = SimulatedNoise(np.random.default_rng(6))
    own, common = (noise.two_sided_geometric(4.0, size).astype(float) for size in (3 * 3000, 3000))
    shared = np.array([2.0, 2.0, 0.0])
    values = 100.0 + own.reshape(-1, 3) + common[:, None] * shared
    # q = exp(−1/4), and the variance of the two-sided geometric law is 2q/(1 − q)².
    single = 2.0 * np.exp(-0.25) / (1.0 - np.exp(-0.25)) ** 2
    covariance = single * (np.eye(3) + np.outer(shared, shared))
    told = np.diag(np.diag(covariance)) if forgotten == "before" else covariance
    agreeing = [reconciled(row, told, np.ones((1, 3)), np.array([300.0])) for row in values]
    numbers, left = np.array([numbers for numbers, _ in agreeing]), agreeing[0][1]
    assert numbers.sum(axis=1) == pytest.approx(300.0)
    left = np.diag(np.diag(left)) if forgotten == "after" else left
    slopes = np.array([1.0, 0.0, -1.0])
    pvalue = pvalue_of_variance(numbers @ slopes, float(slopes @ left @ slopes))
    assert (pvalue > ACCEPTED) if holds else (pvalue < REJECTED)


@pytest.mark.parametrize(("steps", "holds"), [(means_and_counts.WHOLE_NUMBERS, True), (0.0, False)])
def test_intervals_of_reconciled_counts_cover_where_the_noise_is_a_step(
    steps: float, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise in whole numbers is 0 or a step where its scale is small: an interval without half a step misses steps."""
    monkeypatch.setattr(reconciliation, "WHOLE_NUMBERS", steps)
    survey = hg.open(crossed(), relation="add-remove", target="file")
    study = Study.of(survey, hg.count(), by={"arm": [0, 1], "old": [0, 1]}, epsilon=3.0)
    source, truth = SimulatedNoise(np.random.default_rng(5)), {0: 800, 1: 200}
    hits = 0
    for _ in range(RUNS):
        agreeing = study.draw(source).reconcile({"old": {0: 1000, 1: 1000}})
        for number in (agreeing[0], agreeing[1]):  # one of each total
            low, high = number.confidence_interval()
            hits += low - 1e-9 <= truth[number.cell["arm"]] <= high + 1e-9
    pvalue = stats.binomtest(hits, 2 * RUNS, 0.94, alternative="less").pvalue
    assert (pvalue > ACCEPTED) if holds else (pvalue < REJECTED)
