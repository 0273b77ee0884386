"""Quantiles of normal numbers plus noise, against the exact law of the noise and against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.averaged import SummedLaplace
from hedgerow.inference.interval import _curve, draws_of, noise_quantiles, quantiles_of
from hedgerow.mechanisms.laws import averaged_law

LEVELS = (0.5, 0.9, 0.95, 0.99, 0.9999)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("draws", [2, 10, 50, 500])
def test_noise_alone_has_the_quantile_of_its_exact_law(level: float, draws: int) -> None:
    half = quantiles_of(averaged_law(draws), level, np.zeros(1), np.ones(1))
    beyond = 2 * SummedLaplace(draws).tail(half * np.sqrt(2 * draws))[0]
    assert (1 - level) * (1 - 2e-4) < beyond < (1 - level) * (1 + 1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_many_draws_are_between_laplace_and_normal(level: float) -> None:
    sampling, noise = np.cos(np.linspace(0, np.pi / 2, 9)), np.sin(np.linspace(0, np.pi / 2, 9))
    normal = quantiles_of("gaussian", level, sampling, noise)
    laplace = quantiles_of("laplace", level, sampling, noise)
    assert np.array_equal(laplace, noise_quantiles(level, sampling, noise))
    assert normal == pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-12)
    some = quantiles_of("averaged-laplace-10", level, sampling, noise)
    most = quantiles_of("averaged-laplace-500", level, sampling, noise)
    assert most == pytest.approx(normal, rel=5e-3)
    assert np.all((some - normal) * (laplace - normal) >= -1e-4)


def test_a_normal_number_beside_the_noise_is_covered() -> None:
    """n = 400,000: the share inside is the level (p > 1e-6); the normal quantile at .9999 is rejected (p < 1e-12)."""
    rng, n, draws = np.random.default_rng(5), 400_000, 3
    noise = rng.laplace(size=(n, draws)).sum(axis=1) / np.sqrt(2 * draws)
    drawn = np.abs(0.6 * rng.normal(size=n) + 0.8 * noise)
    for level in (0.9, 0.9999):
        half = quantiles_of(averaged_law(draws), level, np.array([0.6]), np.array([0.8]))[0]
        inside = int((drawn <= half).sum())
        assert stats.binomtest(inside, n, level).pvalue > 1e-6
    beyond = int((drawn > stats.norm.ppf(0.99995)).sum())
    assert stats.binom.sf(beyond - 1, n, 1e-4) < 1e-12


def test_a_cell_has_the_same_quantile_alone_and_in_a_table() -> None:
    sampling, noise = np.random.default_rng(1).random((2, 50))
    table = quantiles_of("averaged-laplace-7", 0.95, sampling, noise)
    alone = []
    for i in range(50):
        _curve.cache_clear()  # the points of the curve that the table needed are solved anew
        alone.append(quantiles_of("averaged-laplace-7", 0.95, sampling[i : i + 1], noise[i : i + 1])[0])
    assert table.tolist() == alone


def test_names_of_laws_are_read_back() -> None:
    assert [draws_of(averaged_law(k)) for k in (1, 2, 500)] == [1, 2, 500] and draws_of("gaussian") is None
