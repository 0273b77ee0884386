"""Scores are the log-ratios of the densities; enumeration agrees with the accountants; learnt scores learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.attack import HistogramScore, likelihood_ratio, summed, threshold_attack
from hedgerow.audit.verdict import exact_delta_lower, exact_epsilon_lower
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import specimens
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GeometricCounts, LaplaceNoise
from hedgerow.mechanisms.noisy_moments import MomentsGaussian
from hedgerow.mechanisms.resampled_sums import bootstrap

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE


def test_the_score_of_a_bootstrap_is_the_ratio_of_its_mixtures() -> None:
    mechanism = bootstrap(3, "value-and-count", cells=2)
    pair = mechanism.worst_pairs(FAR)[0]
    sds = np.array([one.noise.in_units for one in mechanism.coordinates])
    reach = mechanism.coordinates[0].reach
    outputs = np.random.default_rng(1).normal(0.0, 1.5, (20, 2, 2, 3)) * sds[:, None]
    r = np.arange(40)

    def log_density(x: np.ndarray, value: float) -> np.ndarray:
        total = np.zeros(len(x))
        for replicate in range(3):
            first = stats.norm.logpdf(x[:, 0, replicate][:, None], r * value, sds[0])
            second = stats.norm.logpdf(x[:, 1, replicate][:, None], r, sds[1])
            total += np.log((stats.poisson.pmf(r, 1.0) * np.exp(first + second)).sum(axis=1))
        return total

    exact = log_density(outputs[:, 0], reach) - log_density(outputs[:, 0], -reach)
    assert likelihood_ratio(mechanism, pair)(outputs) == pytest.approx(exact, abs=1e-5)


def test_the_score_of_gaussian_moments_is_the_ratio_of_its_densities() -> None:
    mechanism = next(one.mechanism for one in specimens() if one.name == "mean by group")
    assert isinstance(mechanism, MomentsGaussian)
    pair = mechanism.worst_pairs(FAR)[1]
    assert pair.name == "across cells"
    widths = np.array([one.in_units for one in mechanism.noise.coordinates().values()])
    moved = mechanism.contribution(pair.first)[0] if pair.first else np.zeros(3)
    outputs = np.random.default_rng(2).normal(0.0, 2.0, (20, 2, 3)) * widths
    still = stats.norm.logpdf(outputs, 0.0, widths).sum(axis=2)
    there = stats.norm.logpdf(outputs, moved, widths).sum(axis=2)
    exact = (there[:, 0] - still[:, 0]) - (there[:, 1] - still[:, 1])
    assert likelihood_ratio(mechanism, pair)(outputs) == pytest.approx(exact, abs=1e-9)


def test_the_score_of_laplace_noise_is_the_ratio_of_its_densities() -> None:
    mechanism = LaplaceNoise(scale=3.0, sensitivity=2.0)
    outputs = np.linspace(-5, 5, 11).reshape(-1, 1, 1)
    exact = stats.laplace.logpdf(outputs, 1.0, 1.5) - stats.laplace.logpdf(outputs, 0.0, 1.5)
    assert likelihood_ratio(mechanism, mechanism.worst_pairs(FAR)[0])(outputs) == pytest.approx(exact.ravel())


@pytest.mark.parametrize("mechanism", [GeometricCounts(1.0, 1), GeometricCounts(2.0, 3), GaussianCounts(1.5, 3)])
@pytest.mark.parametrize("relation", [NEAR, FAR])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_enumeration_meets_the_certificate_from_below(
    mechanism: GeometricCounts | GaussianCounts, relation: Relation, delta: float
) -> None:
    upper = profile_of(mechanism, relation).epsilon_upper(delta)
    lower = exact_epsilon_lower(mechanism, relation, delta)
    assert lower <= upper + 1e-9 and upper - lower < 2e-3


def test_enumeration_of_one_geometric_count_is_its_closed_form() -> None:
    alpha = math.exp(-1.0 / 2.0)
    for epsilon in (0.0, 0.2, 0.4):
        # The best event is the upper tail, at or above the shifted centre.
        exact = (1.0 - alpha * math.exp(epsilon)) / (1.0 + alpha)
        assert exact_delta_lower(GeometricCounts(2.0, 1), NEAR, epsilon) == pytest.approx(exact, abs=1e-11)


def test_a_price_for_the_wrong_relation_is_below_enumeration() -> None:
    claimed = profile_of(GeometricCounts(1.0, 2), NEAR).epsilon_upper(1e-6)
    assert exact_epsilon_lower(GeometricCounts(1.0, 2), FAR, 1e-6) > 1.9 * claimed


def test_only_small_outputs_are_enumerated() -> None:
    assert exact_epsilon_lower(GeometricCounts(1.0, 1), NEAR, 0.0) is not None
    assert exact_epsilon_lower(GeometricCounts(1e6, 2), FAR, 0.0) is None
    assert exact_delta_lower(bootstrap(1, "value"), FAR, 1.0) is None


def test_a_learnt_score_finds_what_no_sum_shows() -> None:
    """Two coordinates that agree under one neighbour and not under the other: their sum has nearly one law."""
    rng = np.random.default_rng(4)

    def drawn(agree: bool, n: int) -> np.ndarray:
        x = rng.normal(size=n)
        return np.stack([x, (x if agree else -x) + 0.1 * rng.normal(size=n)], axis=1)

    learnt = HistogramScore.fit(drawn(True, 20_000), drawn(False, 20_000))
    found = {
        name: threshold_attack(
            lambda n: [drawn(True, n)], lambda n: [drawn(False, n)], score, delta=0.0, runs=20_000, alpha=1e-6
        ).epsilon_lower
        for name, score in {"learnt": learnt, "first alone": lambda x: x[:, 0]}.items()
    }
    assert found["learnt"] > 2.0 and found["first alone"] == 0.0
    assert summed(np.ones((3, 2, 2))).tolist() == [4.0, 4.0, 4.0]
