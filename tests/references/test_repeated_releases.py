"""Brawner & Honaker §3–4: what their equations and remarks say, against composition and the exact curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reproduction.brawner_honaker import figure_2, figure_3
from reproduction.brawner_honaker.theory import (
    analytic_variance,
    averaged_epsilon,
    averaged_variance,
    classical_variance,
    composed_epsilon,
    composed_variance,
)
from scipy import stats

from hedgerow.accounting.profile import GaussianProfile


@pytest.mark.parametrize("k", [1, 4, 10])
def test_pure_composition_costs_a_factor_k(k: int) -> None:
    assert composed_variance(k, epsilon=0.7, delta=0.0) == pytest.approx(2 * k / 0.7**2, rel=3e-3)
    assert averaged_variance(k, epsilon=0.7, delta=0.0) == pytest.approx(2 * k / 0.7**2, rel=3e-3)


def test_equation_12_is_not_enough_noise_for_many_releases() -> None:
    """ε of k releases at its noise, δ = 1e-6; the sabotage is the claim itself."""
    costs = {k: composed_epsilon(math.sqrt(k * math.log(1e6)), k, delta=1e-6) for k in (10, 40)}
    assert costs[10] < 1.0 < costs[40]


def test_a_gaussian_split_and_averaged_is_as_it_was() -> None:
    one, each = GaussianProfile(0.3), GaussianProfile(0.3 / math.sqrt(20))
    assert GaussianProfile(math.sqrt(20 * each.mu**2)).epsilon_upper(1e-6) == pytest.approx(one.epsilon_upper(1e-6))


def test_remark_2_holds_against_the_classical_mechanism_alone() -> None:
    k = 13  # the last below ln(1/δ) at δ = 1e-6
    assert analytic_variance(1.0, 1e-6) < 2 * k < classical_variance(1.0, 1e-6)
    assert averaged_epsilon(1.0, k, delta=0.0) == pytest.approx(1.0, rel=1e-9)
    # At the same (ε, δ) the average needs less than any Gaussian.
    for draws in (1, 10, k, 100):
        assert averaged_variance(draws, epsilon=1.0, delta=1e-6) < analytic_variance(1.0, 1e-6)


def test_figure_2_is_as_expected() -> None:
    lines = figure_2.exhibit().lines
    assert {line.verdict for line in lines} == {"reproduced", "as expected"}
    beyond = [line for line in lines if "which the paper does not name" in line.what]
    assert [line.ours for line in beyond] == ["26"] and "17.9" in beyond[0].paper


def test_the_statistic_of_figure_3_is_anderson_and_darlings() -> None:
    rng = np.random.default_rng(1)
    samples = rng.laplace(size=(5, 100))
    found = figure_3.anderson_darling(samples)
    for sample, value in zip(samples, found, strict=True):
        ordered = stats.norm.cdf((np.sort(sample) - sample.mean()) / sample.std(ddof=1))
        i = np.arange(1, 101)
        plain = -100 - np.mean((2 * i - 1) * (np.log(ordered) + np.log(1 - ordered[::-1])))
        assert value == pytest.approx(plain * (1 + 0.75 / 100 + 2.25 / 100**2), rel=1e-9)
    # n = 4,000 normal samples: rejected at 5 % (p > 1e-6); Laplace samples are not normal (p < 1e-12).
    kept = int((figure_3.anderson_darling(rng.normal(size=(4000, 100))) <= 0.752).sum())
    assert stats.binomtest(kept, 4000, 0.95).pvalue > 1e-6
    kept = int((figure_3.anderson_darling(rng.laplace(size=(4000, 100))) <= 0.752).sum())
    assert stats.binomtest(kept, 4000, 0.95).pvalue < 1e-12


def test_an_average_of_ten_is_within_the_stated_distance_of_the_normal_law() -> None:
    assert figure_3.distance(10) == pytest.approx(figure_3.DISTANCES[10], abs=1e-4)
    assert figure_3.distance(1) == pytest.approx(figure_3.DISTANCES[1], abs=1e-4)
