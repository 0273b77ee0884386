"""Clopper–Pearson and the bound on ε: never too bold, by exact binomial sums and by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hedgerow.audit.attack import clopper_pearson, epsilon_at, epsilon_lower, greatest_epsilon
from hedgerow.errors import ParameterError


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (3, 10), (10, 10), (7, 100_000), (50_000, 100_000)])
def test_the_ends_are_those_of_scipy(hits: int, runs: int) -> None:
    expected = stats.binomtest(hits, runs).proportion_ci(confidence_level=1 - 2e-3, method="exact")
    assert clopper_pearson(hits, runs, 1e-3) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_the_ends_miss_no_more_often_than_stated_whatever_the_truth() -> None:
    runs, alpha = 30, 0.05
    ends = np.array([clopper_pearson(hits, runs, alpha) for hits in range(runs + 1)])
    for truth in np.linspace(0.001, 0.999, 500):
        chances = stats.binom.pmf(np.arange(runs + 1), runs, truth)
        assert chances[ends[:, 0] > truth].sum() <= alpha + 1e-12
        assert chances[ends[:, 1] < truth].sum() <= alpha + 1e-12


def test_an_end_without_the_correction_would_miss_more_often() -> None:
    runs, alpha, truth = 30, 0.05, 0.05
    hits = np.arange(runs + 1)
    normal = hits / runs + stats.norm.isf(alpha) * np.sqrt(hits / runs * (1 - hits / runs) / runs)
    assert stats.binom.pmf(hits, runs, truth)[normal < truth].sum() > alpha


def test_epsilon_follows_from_two_chances() -> None:
    assert epsilon_at(0.5, 0.1, 0.1) == pytest.approx(math.log(4.0))
    assert epsilon_at(0.1, 0.2, 0.1) == 0.0 and epsilon_at(0.1, 0.5, 0.0) == 0.0
    assert epsilon_at(0.5, 0.0, 0.1) == math.inf


def test_the_bound_on_epsilon_is_too_high_as_rarely_as_stated() -> None:
    """Randomised response at ε = 1: 20,000 audits at α = .05, fixed seed; p of more alarms than that is over 1e-6."""
    rng, runs, alpha = np.random.default_rng(7), 1000, 0.05
    likely = math.e / (1 + math.e)
    p_hits, q_hits = rng.binomial(runs, likely, 20_000), rng.binomial(runs, 1 - likely, 20_000)
    alarms = sum(epsilon_lower(p, q, runs, delta=0.0, alpha=alpha) > 1.0 for p, q in zip(p_hits, q_hits, strict=True))
    assert stats.binom.sf(alarms - 1, 20_000, alpha) > 1e-6
    naive = np.count_nonzero(np.log(p_hits / q_hits) > 1.0)
    assert stats.binom.sf(naive - 1, 20_000, alpha) < 1e-12, "the plain ratio must alarm too often"


def test_the_search_for_epsilon_stays_below() -> None:
    found = greatest_epsilon(lambda epsilon: math.exp(-epsilon), 1e-6)
    assert found <= -math.log(1e-6) <= found + 1e-6
    assert greatest_epsilon(lambda epsilon: 0.0, 0.5) <= 1e-8


IMPOSSIBLE = [(-1, 10, 0.1), (11, 10, 0.1), (0, 0, 0.1), (1, 10, 0.0), (1, 10, 1.0)]


@pytest.mark.parametrize(("hits", "runs", "alpha"), IMPOSSIBLE)
def test_impossible_counts_are_refused(hits: int, runs: int, alpha: float) -> None:
    with pytest.raises(ParameterError, match="HG521"):
        clopper_pearson(hits, runs, alpha)
