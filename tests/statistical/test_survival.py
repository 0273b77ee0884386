"""Intervals of survival cover, and the log-rank test keeps its level; what forgets the noise does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.inference.survival import life_table
from hedgerow.inference.survival.cumulative_incidence import CumulativeIncidence
from hedgerow.inference.survival.even_withdrawal import ConstantHazards, EvenLifeTables
from hedgerow.inference.survival.life_table import LifeTables
from hedgerow.inference.survival.log_rank import log_rank
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
RUNS, INTERVALS, LAST = 4000, 12, 24.0
CUTS = tuple(LAST * k / INTERVALS for k in range(1, INTERVALS + 1))
ACCEPTED, REJECTED = 1e-6, 1e-12


def chances(rate: float, censored: float) -> Floats:
    """The classes of one record: events at a constant rate, censoring at another one."""
    total = rate + censored
    left = np.exp(-total * np.array([0.0, *CUTS]))
    within = -np.diff(left)
    return np.concatenate([within * rate / total, within * censored / total, left[-1:]])


def drawn(n: int, epsilon: float, rates: tuple[float, float], *, runs: int = RUNS, seed: int = 5) -> LifeTables:
    """One life table a run, of records that are drawn and counted with noise under replace-one."""
    rng = np.random.default_rng([seed, n, int(10 * epsilon)])
    counts = rng.multinomial(n, chances(*rates), size=runs)
    mechanism = GeometricCounts(2.0 / epsilon, counts.shape[1])
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(2.0 / epsilon, counts.size).reshape(counts.shape)
    return LifeTables(noisy.astype(np.float64), CUTS, mechanism.noise_sd, "laplace", False, 0.5)


def covered(life: LifeTables, place: int, truth: float) -> int:
    low, high = life.ends(place, 0.95)
    return int(((low <= truth) & (truth <= high)).sum())


SETTINGS = [(500, 0.3, (0.05, 0.02)), (500, 1.0, (0.05, 0.005)), (5000, 0.3, (0.05, 0.03)), (5000, 3.0, (0.01, 0.03))]


@pytest.mark.parametrize(("n", "epsilon", "rates"), SETTINGS)
@pytest.mark.parametrize("place", [0, 5, 11])
def test_intervals_of_survival_cover(n: int, epsilon: float, rates: tuple[float, float], place: int) -> None:
    hits = covered(drawn(n, epsilon, rates), place, math.exp(-rates[0] * CUTS[place]))
    # The house's standard: not below .94. Where noise is large the interval is a normal one of a sum of many numbers.
    assert stats.binomtest(hits, RUNS, 0.94, alternative="less").pvalue > ACCEPTED


@pytest.mark.parametrize("place", [5, 11])
def test_the_formula_of_greenwood_without_the_noise_does_not_cover(place: int) -> None:
    n, epsilon, rates = SETTINGS[0]
    wrong = replace(drawn(n, epsilon, rates), noise_sd=0.0)
    hits = covered(wrong, place, math.exp(-rates[0] * CUTS[place]))
    assert stats.binomtest(hits, RUNS, 0.94, alternative="less").pvalue < REJECTED


@pytest.mark.parametrize(("certain", "covers"), [(5.0, True), (0.0, False)])
def test_intervals_cover_where_few_are_at_risk(certain: float, covers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors that divide by the noisy numbers at risk as they are do not: only those that the noise raised are read."""
    monkeypatch.setattr(life_table, "_CERTAIN_SDS", certain)
    rate, place = 0.06, 7
    life = drawn(30, 1.0, (rate, 0.08), runs=20_000)
    read = life.reliable[:, place]
    low, high = (end[read] for end in life.ends(place, 0.95))
    truth = math.exp(-rate * CUTS[place])
    hits = int(((low <= truth) & (truth <= high)).sum())
    pvalue = stats.binomtest(hits, int(read.sum()), 0.94, alternative="less").pvalue
    assert (pvalue > ACCEPTED) if covers else (pvalue < REJECTED)


def test_standard_errors_are_those_of_the_estimates() -> None:
    life = drawn(2000, 1.0, (0.05, 0.02))
    for place in (2, 11):
        read = life.read(place)
        told = np.hypot(read.sampling_error, read.privacy_error).mean()
        assert told == pytest.approx(life.survival[:, place].std(), rel=0.04)


RATES, LEAVING = (0.04, 0.02), 0.02


def of_causes(n: int, epsilon: float, relation: str = "replace-one", *, runs: int = RUNS) -> CumulativeIncidence:
    """One life table a run, with events of two causes at constant rates, and the noise of a relation."""
    rng = np.random.default_rng([11, n, int(10 * epsilon)])
    left = np.exp(-(sum(RATES) + LEAVING) * np.array([0.0, *CUTS]))
    within = -np.diff(left) / (sum(RATES) + LEAVING)
    records = n if relation == "replace-one" else rng.poisson(n, runs)
    counts = rng.multinomial(
        records, np.concatenate([*(rate * within for rate in (*RATES, LEAVING)), left[-1:]]), size=runs
    )
    scale = (2.0 if relation == "replace-one" else 1.0) / epsilon
    sd = GeometricCounts(scale, counts.shape[1]).noise_sd
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(scale, counts.size).reshape(counts.shape)
    return CumulativeIncidence(LifeTables(noisy.astype(np.float64), CUTS, sd, "laplace", False, 0.5, causes=2))


def true_incidence(cause: int, place: int) -> float:
    return RATES[cause] / sum(RATES) * -math.expm1(-sum(RATES) * CUTS[place])


@pytest.mark.parametrize(("n", "epsilon", "relation"), [(500, 0.3, "replace-one"), (5000, 1.0, "add-remove")])
@pytest.mark.parametrize("cause", [0, 1])
@pytest.mark.parametrize("place", [0, 5, 11])
def test_intervals_of_cumulative_incidence_cover(n: int, epsilon: float, relation: str, cause: int, place: int) -> None:
    low, high = of_causes(n, epsilon, relation).ends(cause, place, 0.95)
    truth = true_incidence(cause, place)
    hits = int(((low <= truth) & (truth <= high)).sum())
    assert stats.binomtest(hits, RUNS, 0.94, alternative="less").pvalue > ACCEPTED


@pytest.mark.parametrize("place", [5, 11])
def test_the_incidence_of_a_sampling_error_alone_does_not_cover(place: int) -> None:
    wrong = CumulativeIncidence(replace(of_causes(500, 0.3).life, noise_sd=0.0))
    low, high = wrong.ends(0, place, 0.95)
    truth = true_incidence(0, place)
    hits = int(((low <= truth) & (truth <= high)).sum())
    assert stats.binomtest(hits, RUNS, 0.94, alternative="less").pvalue < REJECTED


def test_the_covariance_between_causes_is_counted() -> None:
    """The shares of two causes are negatively correlated: without this, the error of their difference is too small."""
    place, runs = 11, 1500
    both = of_causes(1000, 1.0, runs=runs)
    truth = true_incidence(0, place) - true_incidence(1, place)
    first, second = both.joint(place)
    misses = {"joint": 0, "covariance forgotten": 0}
    parts = [both.read(cause, place) for cause in (0, 1)]
    apart = np.sqrt(sum(part.sampling_error**2 + part.privacy_error**2 for part in parts))
    for run in range(runs):
        gap = first.row(run) - second.row(run)
        misses["joint"] += abs(gap.estimate - truth) > 1.96 * math.hypot(gap.sampling_error, gap.privacy_error)
        misses["covariance forgotten"] += abs(gap.estimate - truth) > 1.96 * apart[run]
    pvalues = {name: stats.binomtest(count, runs, 0.06, alternative="greater").pvalue for name, count in misses.items()}
    assert pvalues["joint"] > ACCEPTED and pvalues["covariance forgotten"] < REJECTED


def test_the_log_rank_test_keeps_its_level_and_has_power() -> None:
    cells, runs = 3, 700
    values = []
    for wrong in (False, True):
        life = drawn(400, 0.5, (0.05, 0.02), runs=runs * cells, seed=9)
        life = replace(life, noise_sd=1e-3) if wrong else life
        tests = [log_rank(replace(life, counts=life.counts[cells * run : cells * (run + 1)])) for run in range(runs)]
        values.append(np.array([test.pvalue for test in tests if test is not None]))
    right, forgotten = values
    assert len(right) > 0.98 * runs
    assert stats.binomtest(int((right < 0.05).sum()), len(right), 0.06, alternative="greater").pvalue > ACCEPTED
    assert stats.binomtest(int((forgotten < 0.05).sum()), len(forgotten), 0.06, alternative="greater").pvalue < REJECTED
    apart = [drawn(2000, 1.0, (rate, 0.02), runs=1).counts for rate in (0.04, 0.06)]
    found = log_rank(replace(drawn(2000, 1.0, (0.05, 0.02), runs=1), counts=np.concatenate(apart)))
    assert found is not None and found.pvalue < 1e-6


@pytest.mark.parametrize(("tables", "keeps"), [(EvenLifeTables, True), (LifeTables, False)])
def test_the_log_rank_test_keeps_its_level_where_cells_are_censored_differently(
    tables: type[LifeTables], keeps: bool
) -> None:
    """In wide intervals the time at risk is compared; the rule of half an interval calls equal rates different."""
    rng, runs, n = np.random.default_rng(23), 600, 20_000
    cuts = tuple(LAST * k / 6 for k in range(1, 7))
    noisy = []
    for rate, censored in ((0.05, 0.01), (0.05, 0.08)):
        left = np.exp(-(rate + censored) * np.array([0.0, *cuts]))
        within = -np.diff(left) / (rate + censored)
        counts = rng.multinomial(n, np.concatenate([rate * within, censored * within, left[-1:]]), size=runs)
        noisy.append(counts + SimulatedNoise(rng).two_sided_geometric(2.0 / 3.0, counts.size).reshape(counts.shape))
    about = cuts, GeometricCounts(2.0 / 3.0, noisy[0].shape[1]).noise_sd, "laplace", False, 0.5
    every = [log_rank(tables(both, *about)) for both in np.stack(noisy, axis=1).astype(np.float64)]
    calls = sum(test is not None and test.pvalue < 0.05 for test in every)
    pvalue = stats.binomtest(calls, runs, 0.06, alternative="greater").pvalue
    assert (pvalue > ACCEPTED) if keeps else (pvalue < REJECTED)


@pytest.mark.parametrize(("tables", "covers"), [(EvenLifeTables, True), (LifeTables, False)])
def test_wide_intervals_with_heavy_censoring_cover(tables: type[LifeTables], covers: bool) -> None:
    """At constant rates, records that leave evenly cover; the rule of half an interval does not."""
    rng, runs, n, epsilon, rates = np.random.default_rng(17), 2000, 20_000, 3.0, (0.05, 0.05)
    cuts = tuple(LAST * k / 6 for k in range(1, 7))
    left = np.exp(-sum(rates) * np.array([0.0, *cuts]))
    within = -np.diff(left) / sum(rates)
    counts = rng.multinomial(n, np.concatenate([rates[0] * within, rates[1] * within, left[-1:]]), size=runs)
    mechanism = GeometricCounts(1.0 / epsilon, counts.shape[1])
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(1.0 / epsilon, counts.size).reshape(counts.shape)
    life = tables(noisy.astype(np.float64), cuts, mechanism.noise_sd, "laplace", False, 0.5)
    for place in (2, 5):
        pvalue = stats.binomtest(
            covered(life, place, math.exp(-rates[0] * cuts[place])), runs, 0.94, alternative="less"
        ).pvalue
        assert (pvalue > ACCEPTED) if covers else (pvalue < REJECTED)
    weights, start = life.weights_of_mean(LAST)
    mean = life.combined(weights, start=start)
    truth = -math.expm1(-rates[0] * LAST) / rates[0]
    hits = int((np.abs(mean.value - truth) <= 1.96 * np.hypot(mean.sampling_error, mean.privacy_error)).sum())
    pvalue = stats.binomtest(hits, runs, 0.94, alternative="less").pvalue
    assert (pvalue > ACCEPTED) if covers else (pvalue < REJECTED)
    if covers:
        medians = [life.quantile(0.5, run, 0.95) for run in range(300)]
        true_median = math.log(2.0) / rates[0]
        hits = sum(each.low <= true_median <= each.high for each in medians)
        assert stats.binomtest(hits, len(medians), 0.94, alternative="less").pvalue > ACCEPTED


@pytest.mark.parametrize(("tables", "covers"), [(EvenLifeTables, True), (ConstantHazards, False)])
def test_shares_cover_where_the_hazard_changes_within_wide_intervals(
    tables: type[EvenLifeTables], covers: bool
) -> None:
    """Weibull times of which many are censored: at constant hazards the first share is too large."""
    rng, runs, n, rate = np.random.default_rng(29), 3000, 20_000, 0.045
    cuts = tuple(LAST * k / 6 for k in range(1, 7))
    fine = np.linspace(0.0, LAST, 6001)
    left, uncensored = np.exp(-((fine / 17.0) ** 1.3)), np.exp(-rate * fine)
    events = -np.diff(left) * (uncensored[1:] + uncensored[:-1]) / 2.0
    censored = -np.diff(uncensored) * (left[1:] + left[:-1]) / 2.0
    within = [part.reshape(6, -1).sum(axis=1) for part in (events, censored)]
    counts = rng.multinomial(n, np.concatenate([*within, [1.0 - events.sum() - censored.sum()]]), size=runs)
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(1.0 / 3.0, counts.size).reshape(counts.shape)
    sd = GeometricCounts(1.0 / 3.0, counts.shape[1]).noise_sd
    life = tables(noisy.astype(np.float64), cuts, sd, "laplace", False, 0.5)
    hits = covered(life, 0, math.exp(-((cuts[0] / 17.0) ** 1.3)))
    pvalue = stats.binomtest(hits, runs, 0.94, alternative="less").pvalue
    assert (pvalue > ACCEPTED) if covers else (pvalue < REJECTED)
