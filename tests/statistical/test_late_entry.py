"""Intervals of survival with late entry cover; what ignores entries, noise or covariances does not."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hedgerow.inference.survival.even_withdrawal import EvenLifeTables
from hedgerow.inference.survival.late_entry import LateLifeTables
from hedgerow.inference.survival.life_table import LifeTables
from hedgerow.inference.survival.log_rank import log_rank
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.testing.simulated import SimulatedNoise

RUNS, INTERVALS, LAST = 2000, 12, 24.0
CUTS = tuple(LAST * k / INTERVALS for k in range(1, INTERVALS + 1))
ACCEPTED, REJECTED = 1e-6, 1e-12
EVENTS, LEAVING = 0.05, 0.03


def chances() -> NDArray[np.float64]:
    """Chances of (interval of entry, class of exit): a third from the start, the others until half of the time."""
    edges, total = np.array([0.0, *CUTS]), EVENTS + LEAVING
    every = np.zeros((INTERVALS + 1, 2 * INTERVALS + 1))
    entries = (np.arange(600) + 0.5) / 600.0 * LAST / 2.0
    for at, share, row in [(0.0, 1 / 3, 0), *((at, 2 / 1800, int(at / LAST * INTERVALS) + 1) for at in entries)]:
        left = np.exp(-total * (np.maximum(edges, at) - at))
        fall = -np.diff(left) / total
        every[row] += share * np.concatenate([fall * EVENTS, fall * LEAVING, left[-1:]])
    return every


@cache
def drawn(n: int, epsilon: float, *, runs: int = RUNS, seed: int = 5) -> LateLifeTables:
    """One life table a run, of records that are drawn and counted twice with noise under replace-one."""
    rng, of_both = np.random.default_rng([seed, n, int(10 * epsilon)]), chances()
    both = rng.multinomial(n, of_both.ravel() / of_both.sum(), size=runs).reshape(runs, *of_both.shape)
    counts = np.concatenate([both.sum(axis=1), both.sum(axis=2)], axis=1)
    mechanism = GeometricCounts(4.0 / epsilon, counts.shape[1], tables=2)
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(4.0 / epsilon, counts.size).reshape(counts.shape)
    return LateLifeTables(noisy.astype(np.float64), CUTS, mechanism.noise_sd, "laplace", False, 0.5)


def pvalue_of_cover(life: LifeTables, place: int) -> float:
    low, high = life.ends(place, 0.95)
    truth = math.exp(-EVENTS * CUTS[place])
    hits = int(((low <= truth) & (truth <= high)).sum())
    return float(stats.binomtest(hits, len(low), 0.94, alternative="less").pvalue)


@pytest.mark.parametrize(("n", "epsilon"), [(500, 1.0), (5000, 0.3), (5000, 3.0)])
def test_intervals_of_survival_cover(n: int, epsilon: float) -> None:
    life = drawn(n, epsilon)
    assert all(pvalue_of_cover(life, place) > ACCEPTED for place in (2, 5, 11))
    read = life.read(5)
    told = np.hypot(read.sampling_error, read.privacy_error)[read.reliable].mean()
    assert told == pytest.approx(life.survival[read.reliable, 5].std(), rel=0.06)


def test_who_enters_late_is_not_at_risk_before() -> None:
    """The sabotage: entries are ignored, so all are at risk from the start, and survival is too high."""
    life = drawn(5000, 3.0)
    about = CUTS, life.noise_sd, "laplace", False, 0.5
    ignored = EvenLifeTables(life.counts[:, : 2 * INTERVALS + 1], *about)
    assert all(pvalue_of_cover(ignored, place) < REJECTED for place in (2, 5, 11))


@pytest.mark.parametrize("place", [5, 11])
def test_the_formula_of_greenwood_without_the_noise_does_not_cover(place: int) -> None:
    assert pvalue_of_cover(replace(drawn(5000, 0.3), noise_sd=0.0), place) < REJECTED


def test_the_covariance_of_shares_is_counted_in_restricted_means() -> None:
    life = drawn(5000, 0.3)
    weights, start = life.weights_of_mean(LAST)
    mean, truth = life.combined(weights, start=start), -math.expm1(-EVENTS * LAST) / EVENTS
    parts = [life.read(place) for place in range(INTERVALS)]
    apart = np.sqrt(
        sum((weights[:, k] * np.hypot(part.sampling_error, part.privacy_error)) ** 2 for k, part in enumerate(parts))
    )
    pvalues = []
    for error in (np.hypot(mean.sampling_error, mean.privacy_error), apart):
        hits = int((np.abs(mean.value - truth) <= 1.96 * error).sum())
        pvalues.append(stats.binomtest(hits, RUNS, 0.94, alternative="less").pvalue)
    assert pvalues[0] > ACCEPTED and pvalues[1] < REJECTED
    row = life.joint_of(weights, start, LAST).row(0)
    assert row.sampling_error == pytest.approx(mean.sampling_error[0], rel=0.05)
    assert row.privacy_error == pytest.approx(mean.privacy_error[0], rel=0.05)


def test_the_log_rank_test_keeps_its_level() -> None:
    runs = 400
    life = drawn(1000, 1.0, runs=2 * runs)
    tests = [log_rank(replace(life, counts=life.counts[2 * run : 2 * run + 2])) for run in range(runs)]
    calls = [test.pvalue < 0.05 for test in tests if test is not None]
    assert len(calls) > 0.98 * runs
    assert stats.binomtest(sum(calls), len(calls), 0.06, alternative="greater").pvalue > ACCEPTED
