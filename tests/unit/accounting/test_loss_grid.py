"""Loss grids, curves and their composition against arithmetic that can be done by hand or exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve, LossGrid, Outcomes, highest, joined
from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, release_curve

Array = NDArray[np.float64]


def gaussian_delta(mu: float, epsilon: Array) -> Array:
    return norm.sf(epsilon / mu - mu / 2) - np.exp(epsilon) * norm.sf(epsilon / mu + mu / 2)


def gaussian_grid(mu: float, step: float) -> LossGrid:
    """N(mu, 1) against N(0, 1), spread between exact losses."""
    x = np.arange(-10.5, 10.5 + mu, step / mu)
    p, q = np.diff(norm.cdf(x - mu)), np.diff(norm.cdf(x))
    right = x[:-1] > mu
    p[right], q[right] = -np.diff(norm.sf(x - mu))[right], -np.diff(norm.sf(x))[right]
    loss = mu * x - mu**2 / 2
    return Outcomes(p, q, loss[:-1], loss[1:]).spread(step, infinity=float(2 * norm.sf(10.0)))


def naive(grid: LossGrid, epsilon: float) -> float:
    return float(grid.mass @ np.maximum(-np.expm1(epsilon - grid.losses()), 0.0)) + grid.infinity


def test_spreading_keeps_both_masses() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(50))
    low = np.sort(rng.normal(size=50))
    high = low + rng.uniform(0.0, 0.3, 50)
    q = p * np.exp(-rng.uniform(low, high))
    grid = Outcomes(p, q, low, high).spread(0.13, infinity=0.0)
    assert grid.mass.sum() == pytest.approx(1.0, abs=1e-14)
    assert grid.mass @ np.exp(-grid.losses()) == pytest.approx(q.sum(), rel=1e-13)


def test_spreading_counts_what_it_cannot_place_as_distinguished() -> None:
    p = np.array([0.2, 0.3, 0.1, 0.4])
    high = np.array([1.0, math.inf, math.nan, LOSS_CAP + 1])
    grid = Outcomes(p, np.array([0.2, 0.0, 0.0, 0.0]), np.zeros(4), high).spread(0.5, infinity=0.0)
    assert grid.infinity == pytest.approx(0.8)
    assert joined([grid, LossGrid(-3, 0.5, np.array([0.1]), 0.0)]).mass.sum() == pytest.approx(0.3)


def test_the_variance_is_that_of_the_losses_that_are_finite() -> None:
    grid = LossGrid(-1, 0.5, np.array([0.1, 0.2, 0.2]), 0.5)
    assert grid.variance() == pytest.approx(0.25 * (0.2 + 0.4) - 0.1**2, rel=1e-12)  # masses of .2, .4 and .4


@pytest.mark.parametrize("k", [1, 2, 7, 100, 3000])
def test_k_gaussians_are_one_gaussian(k: int) -> None:
    mu = 1.5
    step = 0.02 / math.sqrt(k)
    grid = gaussian_grid(mu / math.sqrt(k), step)
    delta = composed_curve([(grid, k)])
    epsilon = np.arange(delta.size) * step
    exact = gaussian_delta(mu, epsilon)
    assert np.all(delta >= exact * (1 - 1e-10))
    seen = (exact > 1e-14) & (epsilon > 0.0)
    assert np.all(delta[seen] < exact[seen] * 1.01 + 1e-17)


def test_folding_agrees_with_plain_convolution() -> None:
    rng = np.random.default_rng(1)
    one = LossGrid(-4, 0.1, rng.dirichlet(np.ones(15)) * (1 - 1e-6), 1e-6)
    two = LossGrid(-9, 0.1, rng.dirichlet(np.ones(12)), 0.0)
    plain = np.convolve(np.convolve(one.mass, one.mass), two.mass)
    whole = LossGrid(-17, 0.1, plain, 2e-6 - 1e-12)
    delta = composed_curve([(one, 2), (two, 1)])
    for index in range(0, min(delta.size, 25)):
        assert delta[index] == pytest.approx(naive(whole, 0.1 * index), rel=1e-9)
        assert delta[index] >= naive(whole, 0.1 * index) * (1 - 1e-12)


def test_relative_errors_of_masses_raise_the_curve() -> None:
    grid = gaussian_grid(1.0, 0.01)
    plain, careful = composed_curve([(grid, 1)]), composed_curve([(grid, 1)], relative=1e-3)
    assert np.all(careful[:500] > plain[:500])
    assert careful[300] > Curve(0.01, plain).delta_upper(300 * 0.01 - 0.0039)


def test_a_curve_answers_both_ways_and_on_the_negative_side() -> None:
    step = 0.05
    curve = Curve(step, gaussian_delta(1.0, np.arange(200) * step))
    epsilon = np.linspace(-3.0, 9.0, 301)
    assert np.all(curve.delta_upper(epsilon) >= gaussian_delta(1.0, epsilon) - 1e-15)
    assert curve.delta_upper(epsilon) == pytest.approx(gaussian_delta(1.0, epsilon), abs=1e-3)
    deltas = np.array([0.9, 0.3, 1e-2, 1e-5, 1e-9])
    found = curve.epsilon_upper(deltas)
    assert np.all(curve.delta_upper(found) <= deltas)
    assert found[0] == 0.0
    assert curve.epsilon_upper(0.0) == math.inf
    assert isinstance(curve.epsilon_upper(1e-3), float)
    assert curve.epsilon_upper(1e-2) == found[2]


def test_the_highest_of_curves_is_above_each() -> None:
    one = Curve(0.05, gaussian_delta(1.0, np.arange(200) * 0.05))
    two = Curve(0.03, 0.01 + 0.3 * np.exp(-np.arange(300) * 0.03))
    top = highest([one, two])
    epsilon = np.linspace(0.0, 12.0, 400)
    assert np.all(top.delta_upper(epsilon) >= np.maximum(one.delta_upper(epsilon), two.delta_upper(epsilon)) - 1e-15)


def test_an_exported_curve_is_a_law_above_it_and_hardly_more() -> None:
    pairs = [MixturePair(PairKind.SAME_CELL, 4.0, 0.5), MixturePair(PairKind.ONE_SIDED, 3.0, 0.5)]
    curve = release_curve(pairs, n_resamples=10)
    grid = curve.loss_grid(step=0.01)
    assert grid.mass.min() >= 0.0
    assert grid.mass.sum() + grid.infinity == pytest.approx(1.0, abs=1e-12)
    assert grid.mass @ np.exp(-grid.losses()) + grid.infinity == pytest.approx(1.0, abs=1e-9)
    for epsilon in (-2.0, -0.5, 0.0, 0.3, 1.0, 3.0, 5.0):
        assert naive(grid, epsilon) >= curve.delta_upper(epsilon) * (1 - 1e-9)
        assert naive(grid, epsilon) <= curve.delta_upper(epsilon) * 1.002 + 1e-15


def test_composing_exports_costs_at_least_composing_replicates() -> None:
    pair = MixturePair(PairKind.SAME_CELL, 6.0, 0.5)
    grid = release_curve([pair], n_resamples=5).loss_grid(step=0.002)
    twice = Curve(grid.step, composed_curve([(grid, 2)]))
    direct = release_curve([pair], n_resamples=10)
    for delta in (1e-3, 1e-6, 1e-9):
        assert direct.epsilon_upper(delta) - 2e-4 <= twice.epsilon_upper(delta) <= direct.epsilon_upper(delta) + 2e-3
