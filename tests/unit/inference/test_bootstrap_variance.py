"""The parts of a standard error, against the identities of the bootstrap worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hedgerow.inference.bootstrap import replicate_summary as variance
from hedgerow.inference.bootstrap.replicate_summary import Replicates


def test_poisson_spread_less_its_offset_is_the_sampling_variance() -> None:
    """Enumerate E s² for Poisson weights (each has mean and variance λ) on a small file, in exact fractions."""
    values, centre, rate = [Fraction(v) for v in (0, 1, 1, 4)], Fraction(2), Fraction(1, 2)
    n, mean = len(values), Fraction(sum(values), len(values))
    expected_spread = sum(rate * (v - centre) ** 2 for v in values) / (rate * n) ** 2
    plain = sum((v - mean) ** 2 for v in values) / n**2
    summary = Replicates(float(mean), float(expected_spread) + 7.0, 50, 7.0, rate=0.5, centre=2.0, n=n)
    assert variance.sampling_variance(summary) == pytest.approx(float(plain), rel=1e-12)


def test_multinomial_spread_needs_no_offset() -> None:
    """Enumerate every multinomial resample of three records: the variance of its mean is Σ(x−x̄)²/n² exactly."""
    values = np.array([0.0, 1.0, 5.0])
    means = [np.mean(picked) for picked in product(values, repeat=3)]
    summary = Replicates(2.0, float(np.var(means)) + 3.0, 50, 3.0, weights="multinomial")
    assert variance.sampling_variance(summary) == pytest.approx(values.var() / 3, rel=1e-12)
    exact = variance.brawner_honaker_sampling_variance(summary.spread, noise_variance=3.0)
    assert exact == pytest.approx(values.var() / 3, rel=1e-12)


def test_parts_add_up_to_the_variance_of_the_mean() -> None:
    summary = Replicates(3.0, 1.0, 20, 0.5, rate=0.5, centre=1.0, n=50)
    parts = variance.standard_error_parts(summary)
    root = math.sqrt(2 / 19) * math.gamma(10) / math.gamma(9.5)  # E s/√(E s²) of 20 normal replicates
    sampling = (0.5 * (1.0 - 0.5) - 4 / 50) / root**2
    assert parts.sampling_error**2 == pytest.approx(sampling)
    assert parts.bootstrap_error**2 == pytest.approx((sampling + 4 / 50) / (0.5 * 20))
    assert parts.privacy_error**2 == pytest.approx(0.5 / 20)
    assert parts.standard_error**2 == pytest.approx(sampling + (sampling + 4 / 50) / 10 + 0.025)


@pytest.mark.parametrize("k", [2, 3, 20, 1000])
def test_the_mean_of_a_root_is_that_of_the_chi_law(k: int) -> None:
    assert variance.mean_of_root(k) == pytest.approx(stats.chi(k - 1).mean() / math.sqrt(k - 1), rel=1e-9)


def test_a_swamped_spread_gives_0_and_a_large_one_the_cap() -> None:
    assert variance.sampling_variance(Replicates(0.0, 0.5, 20, 1.0)) == 0.0
    assert variance.sampling_variance(Replicates(0.0, 9.0, 20, 1.0, variance_cap=2.0)) == 2.0
    parts = variance.standard_error_parts(Replicates(5.0, 0.5, 20, 1.0, centre=0.0, n=100))
    assert (parts.sampling_error, parts.bootstrap_error) == (0.0, math.sqrt(0.25 / 20))


def test_chi_square_share_is_scipys_quantile() -> None:
    for k in (2, 10, 50, 1000):
        assert variance.chi_square_share(k, alpha=0.05) == pytest.approx(stats.chi2(k - 1).ppf(0.05) / (k - 1))


def test_equation_35_is_30_plus_the_noise_of_one_release() -> None:
    printed = variance.brawner_honaker_total_variance(3.0, noise_variance=2.0, n_resamples=50)
    assert printed == pytest.approx(variance.brawner_honaker_sampling_variance(3.0, noise_variance=2.0) + 2.0 / 50)
    # as printed: s² − (Δ²/2ρ)(k c/(k−1) − 1), with Δ²/2ρ the noise of one release
    share, single = 0.7, 2.0 / 50
    assert variance.brawner_honaker_total_variance(
        3.0, noise_variance=2.0, n_resamples=50, noise_share=share
    ) == pytest.approx(3.0 - single * (50 * share - 1))
