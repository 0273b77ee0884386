"""The calibrated interval covers on real histograms with real Poisson weights; what a careless reader does, does not.

Each setting draws `RUNS` data sets, weights and noises with a fixed seed. Truth accepted: the count of intervals that
cover is not below Binomial(RUNS, level − .01) at p > 1e-6, the point being what a plug-in variance may cost at
n = 500. A sabotage is rejected against the same bound at p < 1e-12. The laws live on 256 points of [0, 1], c = 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hedgerow.inference.bootstrap.replicate_intervals import (
    calibrated_interval,
    conservative_interval,
    file_interval,
    most_conservative_interval,
    unbiased_interval,
)
from hedgerow.inference.bootstrap.replicate_summary import (
    Replicates,
    brawner_honaker_total_variance,
    standard_error_parts,
)
from hedgerow.inference.interval import normal_quantile

GRID = np.linspace(0.0, 1.0, 256)
RUNS = 1000

Method = Callable[[Replicates], tuple[float, float]]


def law(name: str) -> np.ndarray:
    if name in ("normal", "skewed"):
        edges = np.concatenate([[-np.inf], (GRID[1:] + GRID[:-1]) / 2, [np.inf]])
        return np.diff((stats.norm(0.5, 1) if name == "normal" else stats.beta(0.5, 5)).cdf(edges))
    probabilities = np.zeros(256)
    probabilities[[0, -1]] = 1 - float(name), float(name)
    return probabilities


def draw(
    name: str, *, n: int, mu: float, k: int, runs: int = RUNS, seed: int = 1, rate: float = 1.0
) -> tuple[list[Replicates], float, float]:
    """Return the summaries, the truth, and the variance of the best possible estimate, Var/n + τ²."""
    rng = np.random.default_rng(seed)
    probabilities = law(name)
    support = np.flatnonzero(probabilities > 1e-15)
    values, probabilities = GRID[support], probabilities[support] / probabilities[support].sum()
    truth = float(probabilities @ values)
    noise_variance = k / (n * mu) ** 2
    summaries = []
    for counts in rng.multinomial(n, probabilities, size=runs):
        weights = rng.poisson(rate * counts, size=(k, len(values)))
        noisy = 0.5 + weights @ (values - 0.5) / (rate * n) + rng.normal(0, math.sqrt(noise_variance), k)
        summaries.append(Replicates.of(noisy, noise_variance=noise_variance, rate=rate, centre=0.5, n=n))
    variance = float(probabilities @ (values - truth) ** 2) / n + 1 / (n * mu) ** 2
    return summaries, truth, variance


def not_below(summaries: list[Replicates], truth: float, method: Method, level: float) -> float:
    """Return the p-value of coverage ≥ `level`."""
    covered = sum(low <= truth <= high for low, high in map(method, summaries))
    return float(stats.binomtest(covered, len(summaries), level, alternative="less").pvalue)


def relative_width(summaries: list[Replicates], variance: float, method: Method, level: float) -> tuple[float, float]:
    """Return the mean width over the oracle's, and its standard error."""
    widths = np.array([high - low for low, high in map(method, summaries)])
    widths /= 2 * normal_quantile(level) * math.sqrt(variance)
    return float(widths.mean()), float(widths.std() / math.sqrt(len(widths)))


def calibrated_at(level: float) -> Method:
    return lambda replicates: calibrated_interval(replicates, level=level)


@pytest.mark.parametrize("name", ["normal", "skewed", "0.05", "0.5"])
@pytest.mark.parametrize(("n", "mu"), [(500, 0.1), (500, 1.0), (5000, 0.1), (5000, 1.0)])
def test_calibrated_covers_with_and_without_a_cap(name: str, n: int, mu: float) -> None:
    """n = 500 and 5,000, k = 50, 1,000 runs, seed 1, levels 90 and 95 %."""
    summaries, truth, _ = draw(name, n=n, mu=mu, k=50)
    capped = [replace(summary, variance_cap=0.25 / n) for summary in summaries]
    for level in (0.9, 0.95):
        assert not_below(summaries, truth, calibrated_at(level), level - 0.01) > 1e-6
        assert not_below(capped, truth, calibrated_at(level), level - 0.01) > 1e-6


def test_forgetting_the_noise_of_the_mean_is_found_out() -> None:
    """Sabotage: the naive bootstrap takes the noise out of the spread and forgets that m* is noisy as well."""

    def naive(replicates: Replicates) -> tuple[float, float]:
        half = normal_quantile(0.95) * math.sqrt(max(0.0, replicates.spread - replicates.known_variance))
        return replicates.mean - half, replicates.mean + half

    summaries, truth, _ = draw("normal", n=500, mu=0.3, k=20)
    assert not_below(summaries, truth, calibrated_at(0.95), 0.94) > 1e-6
    assert not_below(summaries, truth, naive, 0.94) < 1e-12


def test_taking_the_noisy_spread_for_sampling_error_is_far_too_wide() -> None:
    """Sabotage: no noise subtracted (most conservative, c = 0); at R = 1 it is over twice as wide as the calibrated."""
    summaries, _, variance = draw("normal", n=500, mu=0.1, k=50)
    width, error = relative_width(summaries, variance, calibrated_at(0.95), 0.95)
    naive, naive_error = relative_width(summaries, variance, lambda r: most_conservative_interval(r, level=0.95), 0.95)
    assert stats.norm.sf((2.5 - width) / error) < 1e-6
    assert stats.norm.sf((naive - 2.5) / naive_error) < 1e-12


def test_dropping_the_term_of_the_replicates_themselves_is_found_out() -> None:
    """Sabotage: Var(m*) without v/k, as eq. 35; at k = 5 the standard error is √(6/5) too small. 20,000 runs."""
    summaries, truth, _ = draw("0.5", n=5000, mu=10.0, k=5, runs=20_000)

    def without(replicates: Replicates) -> tuple[float, float]:
        low, high = calibrated_interval(replicates, level=0.9)
        half = (high - low) / 2 * math.sqrt(5 / 6)
        return replicates.mean - half, replicates.mean + half

    assert not_below(summaries, truth, calibrated_at(0.9), 0.9) > 1e-6
    assert not_below(summaries, truth, without, 0.9) < 1e-12


def test_reading_the_poisson_spread_without_its_offset_is_over_twice_too_wide() -> None:
    """Sabotage: V_P taken for V on Beta(.5, 5) with c = 1/2; n = 5,000, k = 300, 200 runs."""
    summaries, truth, variance = draw("skewed", n=5000, mu=1.0, k=300, runs=200)
    width, error = relative_width(summaries, variance, calibrated_at(0.95), 0.95)
    plain, plain_error = relative_width([r.without_centre() for r in summaries], variance, calibrated_at(0.95), 0.95)
    assert stats.norm.sf((1.6 - width) / error) < 1e-6
    assert stats.norm.sf((plain - 1.6) / plain_error) < 1e-12
    assert not_below(summaries, truth, calibrated_at(0.95), 0.94) > 1e-6


def test_subtracting_the_offset_twice_is_found_out() -> None:
    """Sabotage: the spread's offset counted twice loses the sampling error of skewed data."""
    summaries, truth, _ = draw("skewed", n=5000, mu=1.0, k=50)

    def twice(replicates: Replicates) -> tuple[float, float]:
        less = max(0.0, replicates.spread - replicates.centre_offset)
        return calibrated_interval(replace(replicates, spread=less), level=0.95)

    assert not_below(summaries, truth, calibrated_at(0.95), 0.94) > 1e-6
    assert not_below(summaries, truth, twice, 0.94) < 1e-12


def test_equation_35_cut_at_0_is_found_out() -> None:
    """Sabotage: eq. 35 whole, cut at 0, gives intervals of width 0; ours is never narrower than the noise alone."""

    def printed(replicates: Replicates) -> tuple[float, float]:
        total = brawner_honaker_total_variance(
            replicates.spread, noise_variance=replicates.noise_variance, n_resamples=replicates.n_resamples
        )
        half = normal_quantile(0.95) * math.sqrt(max(0.0, total))
        return replicates.mean - half, replicates.mean + half

    summaries, truth, _ = draw("normal", n=500, mu=0.2, k=50)
    assert not_below(summaries, truth, calibrated_at(0.95), 0.94) > 1e-6
    assert not_below(summaries, truth, printed, 0.94) < 1e-12
    assert min(high - low for low, high in map(printed, summaries)) == 0.0
    noise_alone = 2 * normal_quantile(0.95) * math.sqrt(summaries[0].privacy_variance)
    for method in (unbiased_interval, conservative_interval, calibrated_interval):
        assert min(high - low for low, high in (method(r, level=0.95) for r in summaries)) >= noise_alone * 0.999


def test_rates_other_than_1_cover_too() -> None:
    """λ = .5: half of each record on average; sabotage: the rate forgotten, so a spread counts for twice its worth."""
    summaries, truth, variance = draw("normal", n=2000, mu=1.0, k=50, rate=0.5)
    assert not_below(summaries, truth, calibrated_at(0.95), 0.94) > 1e-6
    width, error = relative_width(summaries, variance, calibrated_at(0.95), 0.95)
    forgotten, forgotten_error = relative_width(
        [replace(r, rate=1.0) for r in summaries], variance, calibrated_at(0.95), 0.95
    )
    assert stats.norm.sf((1.2 - width) / error) < 1e-6
    assert stats.norm.sf((forgotten - 1.2) / forgotten_error) < 1e-12


def test_brawner_and_honakers_intervals_as_they_are() -> None:
    """Reported, not hidden: at R = 4 and k = 50 unbiased is rejected, conservative and most conservative are not."""
    summaries, truth, _ = draw("normal", n=500, mu=0.2, k=50)
    assert not_below(summaries, truth, lambda r: unbiased_interval(r, level=0.95), 0.94) < 1e-12
    assert not_below(summaries, truth, lambda r: conservative_interval(r, level=0.95), 0.94) > 1e-6
    assert not_below(summaries, truth, lambda r: most_conservative_interval(r, level=0.95), 0.94) > 1e-6


def test_the_file_interval_covers_the_file_itself() -> None:
    """One fixed file of 4,000 records, k = 5, 20,000 releases; sabotage: z in place of Student's t."""
    rng = np.random.default_rng(4)
    ones, n, k, noise_variance = 600, 4000, 5, 5 / 4000**2
    totals = rng.poisson(ones, (20_000, k)) - rng.poisson(n - ones, (20_000, k))
    noisy = 0.5 + totals / (2 * n) + rng.normal(0, math.sqrt(noise_variance), totals.shape)
    summaries = [Replicates.of(row, noise_variance=noise_variance, centre=0.5, n=n) for row in noisy]

    def with_z(replicates: Replicates) -> tuple[float, float]:
        half = normal_quantile(0.95) * math.sqrt(replicates.spread / replicates.n_resamples)
        return replicates.mean - half, replicates.mean + half

    assert not_below(summaries, ones / n, lambda r: file_interval(r, level=0.95), 0.95) > 1e-6
    assert not_below(summaries, ones / n, with_z, 0.95) < 1e-12


def mean_error_over_sd(
    summaries: list[Replicates], sd: float, error: Callable[[Replicates], float]
) -> tuple[float, float]:
    """Return the mean standard error over the true sd of m*, and its own standard error."""
    errors = np.array([error(replicates) for replicates in summaries]) / sd
    return float(errors.mean()), float(errors.std() / math.sqrt(len(errors)))


@pytest.mark.parametrize(
    ("name", "n", "mu", "k"), [("normal", 5000, 0.1, 50), ("0.5", 5000, 0.1, 20), ("0.05", 5000, 1.0, 100)]
)
def test_the_standard_error_is_the_sd_of_the_estimate(name: str, n: int, mu: float, k: int) -> None:
    """Mean s.e. within 10 % of the true sd where τ² ≤ .2 v; sabotage: the conservative variance beside it, as before.

    The true variance is v + (v + (x̄ − c)²/n)/k + τ². The conservative one is read off its own 95 % interval.
    """
    summaries, truth, variance = draw(name, n=n, mu=mu, k=k)
    noise = 1 / (n * mu) ** 2
    sampling = variance - noise
    assert noise <= 0.2 * sampling
    sd = math.sqrt(variance + (sampling + (truth - 0.5) ** 2 / n) / k)
    ratio, error = mean_error_over_sd(summaries, sd, lambda r: standard_error_parts(r).standard_error)
    assert stats.norm.cdf((ratio - 0.9) / error) > 1e-6 and stats.norm.sf((ratio - 1.1) / error) > 1e-6

    def conservative_error(replicates: Replicates) -> float:
        low, high = conservative_interval(replicates, level=0.95)
        return (high - low) / (2 * normal_quantile(0.95))

    before, before_error = mean_error_over_sd(summaries, sd, conservative_error)
    assert stats.norm.sf((before - 1.1) / before_error) < 1e-12
