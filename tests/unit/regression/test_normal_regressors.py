"""Normal regressors: their sums are those of normal records, and a fit starts near where it ends."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.regression.normal_regressors import NormalRegressors

MEAN = np.array([0.2, -0.3, 0.1])
COVARIANCE = np.array([[0.25, 0.12, 0.0], [0.12, 0.2, -0.05], [0.0, -0.05, 0.1]])
BETAS = ((0.3, 1.5, -1.0, 0.5), (-2.0, 0.0, 0.0, 0.0), (1.0, 2.5, 2.0, -1.5))
NORMAL = NormalRegressors(1.0, MEAN, COVARIANCE, 0.01)


def sums(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ E[μ x] and Σ E[μ' x x'] of a product rule of 60 points in each of three directions."""
    places, weights = np.polynomial.hermite_e.hermegauss(60)
    z = np.stack([axis.ravel() for axis in np.meshgrid(places, places, places)], axis=1)
    weight = np.prod([axis.ravel() for axis in np.meshgrid(weights, weights, weights)], axis=0)
    weight = weight / weight.sum()
    x = np.column_stack([np.ones(len(z)), MEAN + z @ np.linalg.cholesky(COVARIANCE).T])
    chance = 1.0 / (1.0 + np.exp(-x @ beta))
    return (weight * chance) @ x, (x * (weight * chance * (1.0 - chance))[:, None]).T @ x


@pytest.mark.parametrize("beta", BETAS)
def test_sums_are_those_of_normal_records(beta: tuple[float, ...]) -> None:
    response, curvature = sums(np.array(beta))
    found = NORMAL.response(np.array(beta)), NORMAL.curvature(np.array(beta))
    assert found[0] == pytest.approx(response, abs=2e-4)
    assert found[1] == pytest.approx(curvature, abs=2e-4)
    moved = beta[0], *beta[2:], beta[1]
    if beta != moved:
        assert np.abs(NORMAL.curvature(np.array(moved)) - curvature).max() > 2e-3, "slopes in another order would show"


@pytest.mark.parametrize("beta", BETAS)
def test_the_slope_of_the_response_is_the_curvature(beta: tuple[float, ...]) -> None:
    at, step = np.array(beta), 1e-5
    for k, unit in enumerate(np.eye(4)):
        slope = (NORMAL.response(at + step * unit) - NORMAL.response(at - step * unit)) / (2.0 * step)
        assert slope == pytest.approx(NORMAL.curvature(at)[k], abs=2e-4)


@pytest.mark.parametrize("beta", BETAS)
def test_the_start_of_normal_records_is_their_beta(beta: tuple[float, ...]) -> None:
    """At β = 0 the curvature is ¼ Σ xx', and the gradient Σ (μ − ½)x at the true β."""
    second = np.zeros((4, 4))
    second[0, 0], second[0, 1:], second[1:, 0] = 1.0, MEAN, MEAN
    second[1:, 1:] = COVARIANCE + np.outer(MEAN, MEAN)
    n = 1e6
    normal = NormalRegressors.of_curvature(0.25 * n * second, 1e-6)
    response, _ = sums(np.array(beta))
    gradient = n * (response - 0.5 * second[0])
    assert normal.start(gradient) == pytest.approx(beta, abs=0.03)
    if any(beta[1:]):
        line = 4.0 * np.linalg.solve(second, gradient / n)  # one Newton step
        assert np.abs(line - beta).max() > 0.1


def test_what_noise_tells_can_be_computed_with() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        noise = rng.normal(size=(4, 4))
        normal = NormalRegressors.of_curvature(noise + noise.T, 1.0)
        start = np.array(normal.start(rng.normal(scale=50.0, size=4)))
        assert np.isfinite(start).all() and np.linalg.eigvalsh(normal.curvature(start))[0] > 0.0
