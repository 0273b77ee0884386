"""Brawner and Honaker (2018), section 8, against the figures they print; needs the PUMS extract in $HEDGEROW_DATA.

One run of 2,000: s.e. .9 points on the unbiased interval.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from reproduction.pums import EXTRACT, pums
from scipy import stats

from hedgerow.inference.bootstrap.replicate_summary import brawner_honaker_total_variance, chi_square_share

N, K, RHO, RUNS = 500, 50, 0.5, 2000


@pytest.mark.data(EXTRACT)
def test_the_three_printed_coverages() -> None:
    ages = np.clip(pums()["age"], 0, 100)
    rng = np.random.default_rng(8)
    noise_variance = (100 / N) ** 2 * K / (2 * RHO)
    values, shares = np.unique(ages, return_counts=True)
    samples = rng.multinomial(N, shares / shares.sum(), size=RUNS)
    weights = rng.multinomial(N, np.repeat(samples / N, K, axis=0)).reshape(RUNS, K, -1)
    noisy = weights @ values / N + rng.normal(0, math.sqrt(noise_variance), (RUNS, K))
    errors, spreads = np.abs(noisy.mean(axis=1) - ages.mean()), noisy.var(axis=1, ddof=1)

    def covered(share: float, noise: float = noise_variance) -> int:
        total = [
            brawner_honaker_total_variance(float(s), noise_variance=noise, n_resamples=K, noise_share=share)
            for s in spreads
        ]
        return int((errors <= stats.norm.ppf(0.975) * np.sqrt(np.maximum(total, 0.0))).sum())

    unbiased, conservative, most = (covered(s) for s in (1.0, chi_square_share(K, alpha=0.05), 0.0))
    assert stats.binomtest(unbiased, RUNS, 0.801).pvalue > 1e-6
    assert stats.binomtest(conservative, RUNS, 0.971).pvalue > 1e-6
    assert most >= 0.998 * RUNS
    # sabotages: no χ² share where the paper has one; the noise of one replicate taken for that of the whole release
    assert stats.binomtest(covered(1.0), RUNS, 0.971).pvalue < 1e-12
    assert stats.binomtest(covered(1.0, noise_variance / K), RUNS, 0.801).pvalue < 1e-12
