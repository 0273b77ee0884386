"""Readings of a release: how often intervals cover, and how wide they are beside one that knows the truth.

Run ``python -m benchmarks.readings [PART …] [--runs 1000] [--all]``: by default a part of the grid, up to a minute
each; ``--all`` runs all of it. Each line of survival has the smallest coverage and the largest mean
width of its numbers, over the width of the oracle: the normal interval with the true variance of sampling and of the
same noise, cut to what is possible. Lines that begin with SABOTAGE leave out a part of the errors on purpose, and
should fall below .94, or above the level.

* ``survival``: n = 500, 2,000 and 20,000 records of a cell, ε = .3, 1, 3, both relations, 5, 20 and 40 % censored, and
  6, 12 or 24 intervals; shares at each quarter of the time, the median and the restricted mean. Times are Weibull.
* ``few``: n = 30 to 500 records, so that the noise often hides who is at risk: the coverage of the shares that are
  called reliable, beside errors that divide by the noisy numbers at risk as they are; and n = 30 with hardly an event.
* ``causes``: events of two causes, n = 500 to 20,000: the cumulative incidence of both at each half of the time, and
  the difference of both, with the sabotages: the noise forgotten, and the covariance between the causes forgotten.
* ``late``: n = 500 to 20,000 records, of which two thirds enter late, until half of the time: shares at each quarter
  and the restricted mean, with the sabotages: the noise forgotten, the entries ignored, and the covariance forgotten.
* ``screening``: tables of 2 to 50 counts with noise at ε = .3, 1, 3, of which no cell, or a third, differs from the
  value tested: the false discovery rate (the share of false calls, 0 without a call), which should be at most .05.
* ``shrinkage``: tables of 5 to 50 noisy shares of n/cells records, whose truths spread by 0 to .2: the mean squared
  error over that of the released shares, and the coverage over all cells.
* ``effects``: the standardised difference of a mean and the odds ratio of a share between two groups in three strata,
  of whole releases; the oracle has the standard deviation of the estimates of all runs (100 at most).
* ``totals``: counts of six cells with the totals of one column known: coverage, and width over that of the release.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.inference.interval import normal_quantile
from hedgerow.inference.many_cells.empirical_bayes import shrunk
from hedgerow.inference.many_cells.multiple_tests import METHODS, adjusted
from hedgerow.inference.means_and_counts import counts_with_errors, proportions_with_errors
from hedgerow.inference.region import ScoreRegion, pvalue_of
from hedgerow.inference.survival.cumulative_incidence import CumulativeIncidence
from hedgerow.inference.survival.even_withdrawal import ConstantHazards, EvenLifeTables
from hedgerow.inference.survival.late_entry import LateLifeTables
from hedgerow.inference.survival.life_table import LifeTables
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.testing.simulated import SimulatedNoise, Study

Floats = NDArray[np.float64]
SEED, LEVEL, LAST, SHAPE = 20261125, 0.95, 24.0, 1.3


@dataclass(frozen=True)
class Line:
    """What one setting shows: coverage and width over that of the oracle, each number by itself.

    Attributes
    ----------
    setting : str
    coverage, width : float array
    reliable : float
        The share of the numbers that are called reliable.
    """

    setting: str
    coverage: Floats
    width: Floats
    reliable: float

    def __str__(self) -> str:
        least, widest = float(self.coverage.min()), float(self.width.max())
        return f"{self.setting:<62} coverage ≥ {least:.3f}   width ≤ {widest:.3f}   reliable {self.reliable:.3f}"


@dataclass(frozen=True)
class TimesOfPeople:
    """A population of Weibull times, of which a constant rate of censoring hides a share; time is cut in intervals."""

    n: int
    epsilon: float
    relation: str
    censored: float
    intervals: int

    @property
    def cuts(self) -> tuple[float, ...]:
        return tuple(LAST * k / self.intervals for k in range(1, self.intervals + 1))

    def survival(self, times: Floats | float) -> Floats:
        return np.asarray(np.exp(-np.power(np.asarray(times) / (0.7 * LAST), SHAPE)))

    @property
    def rate(self) -> float:
        """The rate of censoring at which so large a share of the records is censored before the last cut."""
        low, high = 0.0, 1.0
        for _ in range(60):
            rate = (low + high) / 2.0
            low, high = (rate, high) if self._censored_by(rate) < self.censored else (low, rate)
        return low

    def _censored_by(self, rate: float) -> float:
        times = np.linspace(0.0, LAST, 4001)
        inside = self.survival(times) * rate * np.exp(-rate * times)
        return float(((inside[1:] + inside[:-1]) / 2.0 * np.diff(times)).sum())

    def chances(self) -> Floats:
        """Return the chances of the classes of a record: events by interval, censored by interval, and beyond."""
        fine = np.linspace(0.0, LAST, 240 * self.intervals + 1)
        left, uncensored = self.survival(fine), np.exp(-self.rate * fine)
        events = -np.diff(left) * (uncensored[1:] + uncensored[:-1]) / 2.0
        censored = -np.diff(uncensored) * (left[1:] + left[:-1]) / 2.0
        both = [part.reshape(self.intervals, -1).sum(axis=1) for part in (events, censored)]
        return np.concatenate([*both, [1.0 - events.sum() - censored.sum()]])

    def drawn(self, runs: int) -> tuple[LifeTables, LifeTables]:
        """Return the noisy life table of each run, and that of the expected counts."""
        rng = np.random.default_rng([SEED, self.n, int(10 * self.epsilon), int(100 * self.censored), self.intervals])
        chances = self.chances()
        records = self.n if self.relation == "replace-one" else rng.poisson(self.n, runs)
        counts = rng.multinomial(records, chances, size=runs)
        scale = (2.0 if self.relation == "replace-one" else 1.0) / self.epsilon
        noise = SimulatedNoise(rng).two_sided_geometric(scale, counts.size).reshape(counts.shape)
        sd = GeometricCounts(scale, len(chances)).noise_sd
        about = self.cuts, sd, "laplace", False, 0.5
        noisy = (counts + noise).astype(np.float64)
        return EvenLifeTables(noisy, *about), EvenLifeTables(self.n * chances[None], *about)

    def __str__(self) -> str:
        return (
            f"n={self.n:<6} ε={self.epsilon:<4} {self.relation:<12} {100 * self.censored:.0f} % censored, "
            f"{self.intervals} intervals"
        )


def grid(*, everything: bool) -> Iterator[TimesOfPeople]:
    """Yield the settings: all of them, or those in which little is censored or much, and n and ε go together."""
    every = itertools.product(
        (500, 2000, 20_000), (0.3, 1.0, 3.0), ("replace-one", "add-remove"), (0.05, 0.2, 0.4), (6, 12, 24)
    )
    for n, epsilon, relation, censored, intervals in every:
        if everything or (intervals == 12 and censored != 0.2):
            yield TimesOfPeople(n, epsilon, relation, censored, intervals)


def survival_of(people: TimesOfPeople, runs: int, *, spoil: Callable[[LifeTables], LifeTables] | None = None) -> Line:
    """Return coverage and width of the shares at each quarter, the restricted mean and the median."""
    noisy, expected = people.drawn(runs)
    read = noisy if spoil is None else spoil(noisy)
    rows = [share_of(people, read, expected, people.intervals * quarter // 4 - 1) for quarter in range(1, 5)]
    rows.append(mean_of(people, read, expected))
    rows.append(median_of(people, read, expected, min(runs, 300)))
    coverage, width, reliable = np.array(rows).T
    return Line(str(people), coverage, width, float(reliable.mean()))


def share_of(people: TimesOfPeople, read: LifeTables, expected: LifeTables, place: int) -> tuple[float, float, float]:
    """Return coverage, width and reliability of the share at a cut."""
    truth, exact = float(people.survival(people.cuts[place])), expected.read(place)
    reach = normal_quantile(LEVEL) * math.hypot(float(exact.sampling_error[0]), float(exact.privacy_error[0]))
    oracle = min(1.0, truth + reach) - max(0.0, truth - reach)
    low, high = read.ends(place, LEVEL)
    covered, width = ((low <= truth) & (truth <= high)).mean(), (high - low).mean()
    return float(covered), float(width) / oracle, float(read.reliable[:, place].mean())


def mean_of(
    people: TimesOfPeople, read: LifeTables, expected: LifeTables, *, apart: bool = False
) -> tuple[float, float, float]:
    """Return coverage, width and reliability of the restricted mean; `apart`: as if shares were independent."""
    z, fine = normal_quantile(LEVEL), people.survival(np.linspace(0.0, LAST, 4001))
    truth = float((fine[1:] + fine[:-1]).mean()) / 2.0 * LAST
    weights, start = read.weights_of_mean(LAST)
    mean, exact = read.combined(weights, start=start), expected.combined(expected.weights_of_mean(LAST)[0])
    spread = np.hypot(mean.sampling_error, mean.privacy_error)
    if apart:
        parts = [read.read(place) for place in range(people.intervals)]
        errors = np.array([np.hypot(part.sampling_error, part.privacy_error) for part in parts])
        spread = np.sqrt((np.square(weights.T * errors)).sum(axis=0))
    hit = np.abs(mean.value - truth) <= z * spread
    oracle = z * math.hypot(float(exact.sampling_error[0]), float(exact.privacy_error[0]))
    # Where a number cannot be read its interval is everything possible.
    hit, reach = np.where(mean.reliable, hit, True), np.where(mean.reliable, z * spread, LAST / 2.0)
    return float(hit.mean()), float(reach.mean()) / oracle, float(mean.reliable.mean())


def median_of(people: TimesOfPeople, read: LifeTables, expected: LifeTables, runs: int) -> tuple[float, float, float]:
    """Return coverage, width and reliability of the median time."""
    truth = 0.7 * LAST * math.log(2.0) ** (1.0 / SHAPE)
    oracle = 2.0 * normal_quantile(LEVEL) * expected.quantile(0.5, 0, LEVEL).standard_error
    some = replace(read, counts=read.counts[:runs])
    every = [some.quantile(0.5, run, LEVEL) for run in range(runs)]
    hits = [each.low <= truth <= each.high for each in every]
    widths = [min(each.high, LAST) - each.low for each in every]
    return float(np.mean(hits)), float(np.mean(widths)) / oracle, float(np.mean([each.reliable for each in every]))


def survival(runs: int, *, everything: bool) -> Iterator[Line]:
    """Yield a line for each setting, and the sabotages."""
    for people in grid(everything=everything):
        yield survival_of(people, runs)
    hard = TimesOfPeople(500, 0.3, "replace-one", 0.2, 12)
    without = survival_of(hard, runs, spoil=lambda life: replace(life, noise_sd=0.0))
    yield replace(without, setting=f"SABOTAGE, Greenwood without noise: {hard}"[:62])
    wide = TimesOfPeople(20_000, 3.0, "add-remove", 0.4, 6)
    yield replace(survival_of(wide, runs), setting=f"wide intervals: {wide}"[:62])
    for title, spoil in (("half at risk", LifeTables), ("constant hazards", ConstantHazards)):
        yield replace(survival_of(wide, runs, spoil=read_by(spoil)), setting=f"SABOTAGE, {title}: {wide}"[:62])


def read_by(tables: type[LifeTables]) -> Callable[[LifeTables], LifeTables]:
    """Return how the same counts are read by another rule; by `LifeTables` half of an interval is at risk."""
    return lambda life: tables(life.counts, life.cuts, life.noise_sd, life.noise_law, life.census, 0.5)


class ErrorsAtNoisyNumbers(EvenLifeTables):
    """Life tables whose errors divide by the noisy numbers at risk as they are."""

    @cached_property
    def cautious_divisors(self) -> tuple[Floats, Floats]:
        return self.divisors


def few(runs: int, *, everything: bool) -> Iterator[str]:
    """Yield the coverage of reliable shares of few records, with the sabotage, and of shares near 1."""
    relations = ("replace-one", "add-remove") if everything else ("replace-one",)
    settings = itertools.product((30, 100, 250, 500), (0.3, 1.0), relations, (0.05, 0.4), (6, 12, 24))
    every = [TimesOfPeople(*setting) for setting in settings]
    for title, of in (
        ("few at risk", EvenLifeTables),
        ("SABOTAGE, noisy numbers at risk as they are", ErrorsAtNoisyNumbers),
    ):
        rows = []
        for people in every:
            life = people.drawn(runs)[0]
            life = of(life.counts, life.cuts, life.noise_sd, life.noise_law, life.census, life.withdrawn)
            for place in (people.intervals * quarter // 4 - 1 for quarter in range(1, 5)):
                truth, (low, high) = people.survival(people.cuts[place]), life.ends(place, LEVEL)
                hits = ((low <= truth) & (truth <= high))[life.reliable[:, place]]
                rows += [(hits.mean(), len(hits))] if len(hits) >= runs / 8 else []
        coverage, reliable = np.array(rows).T
        below = int((coverage < 0.94 - 2.0 * np.sqrt(0.94 * 0.06 / reliable)).sum())
        pooled = float(coverage @ reliable / reliable.sum())
        least = f"coverage ≥ {coverage.min():.3f} (mean {pooled:.3f})"
        yield f"{title}: {len(rows)} shares, {least}, {below} below .94 − 2 s.e."
    for epsilon, expected in itertools.product((1.0, 10.0), (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)):
        covered = [rare_events_of(expected, epsilon, intervals, 20 * runs) for intervals in (1, 6, 12)]
        yield f"n=30, ε={epsilon}, {expected} events expected, 1, 6 and 12 intervals: coverage {', '.join(covered)}"


def rare_events_of(expected: float, epsilon: float, intervals: int, runs: int) -> str:
    """Return the coverage of the last share where so many events are expected of 30 records."""
    n, rng = 30, np.random.default_rng([SEED, int(epsilon), intervals, int(100 * expected)])
    left = np.power(1.0 - expected / n, np.arange(intervals + 1) / intervals)
    chances = np.concatenate([-np.diff(left), np.zeros(intervals), left[-1:]])
    counts = rng.multinomial(n, chances, size=runs)
    noise = SimulatedNoise(rng).two_sided_geometric(2.0 / epsilon, counts.size).reshape(counts.shape)
    sd = GeometricCounts(2.0 / epsilon, len(chances)).noise_sd
    cuts = tuple(float(cut) for cut in range(1, intervals + 1))
    low, high = EvenLifeTables((counts + noise).astype(np.float64), cuts, sd, "laplace", False, 0.5).ends(
        intervals - 1, LEVEL
    )
    return f"{((low <= left[-1]) & (left[-1] <= high)).mean():.3f}"


CAUSES, LEAVING = (0.04, 0.015), 0.02


def causes_of(n: int, epsilon: float, relation: str, intervals: int, runs: int) -> tuple[LifeTables, LifeTables]:
    """Return noisy life tables of two causes at constant rates, one a run, and that of the expected counts."""
    rng = np.random.default_rng([SEED, n, int(10 * epsilon), intervals])
    cuts = tuple(LAST * k / intervals for k in range(1, intervals + 1))
    rates = (*CAUSES, LEAVING)
    left = np.exp(-sum(rates) * np.array([0.0, *cuts]))
    chances = np.concatenate([*(-np.diff(left) * rate / sum(rates) for rate in rates), left[-1:]])
    counts = rng.multinomial(n if relation == "replace-one" else rng.poisson(n, runs), chances, size=runs)
    scale = (2.0 if relation == "replace-one" else 1.0) / epsilon
    sd = GeometricCounts(scale, len(chances)).noise_sd
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(scale, counts.size).reshape(counts.shape)
    about = cuts, sd, "laplace", False, 0.5, len(CAUSES)
    return EvenLifeTables(noisy.astype(np.float64), *about), EvenLifeTables(n * chances[None], *about)


def incidence_of(n: int, epsilon: float, relation: str, intervals: int, runs: int, *, spoil: str | None = None) -> Line:
    """Return coverage and width of both causes at each half of the time, and of their difference at the end."""
    noisy, expected = causes_of(n, epsilon, relation, intervals, runs)
    read = CumulativeIncidence(replace(noisy, noise_sd=0.0) if spoil == "noise" else noisy)
    oracle, rows = CumulativeIncidence(expected), []
    z, share = normal_quantile(LEVEL), np.array(CAUSES) / sum(CAUSES)
    for place, cause in itertools.product((intervals // 2 - 1, intervals - 1), range(len(CAUSES))):
        truth = share[cause] * -math.expm1(-sum(CAUSES) * noisy.cuts[place])
        exact = oracle.read(cause, place)
        reach = z * math.hypot(float(exact.sampling_error[0]), float(exact.privacy_error[0]))
        low, high = read.ends(cause, place, LEVEL)
        narrowest = min(1.0, truth + reach) - max(0.0, truth - reach)
        rows.append((((low <= truth) & (truth <= high)).mean(), (high - low).mean() / narrowest, read.reliable.mean()))
    place = intervals - 1
    truth = (share[0] - share[1]) * -math.expm1(-sum(CAUSES) * LAST)
    gaps = [slopes[0, :, place] - slopes[1, :, place] for slopes in (read.slopes, oracle.slopes)]
    errors = [
        np.sqrt(np.maximum(np.einsum("cm,cm->c", gap**2, life.counts), 0.0) + life.noise(gap))
        for gap, life in zip(gaps, (read.life, expected), strict=True)
    ]
    if spoil == "covariance":
        parts = [read.read(cause, place) for cause in range(len(CAUSES))]
        errors[0] = np.sqrt(sum(part.sampling_error**2 + part.privacy_error**2 for part in parts))
    hit = np.abs(read.shares[0, :, place] - read.shares[1, :, place] - truth) <= z * errors[0]
    clear = read.reliable[:, place]
    rows.append((np.where(clear, hit, True).mean(), errors[0][clear].mean() / errors[1][0], clear.mean()))
    coverage, width, reliable = np.array(rows).T
    setting = f"n={n:<6} ε={epsilon:<4} {relation:<12} two causes, {intervals} intervals"
    return Line(f"SABOTAGE, {spoil} forgotten: {setting}"[:62] if spoil else setting, coverage, width, reliable.mean())


def causes(runs: int, *, everything: bool) -> Iterator[Line]:
    """Yield a line for each setting, and the sabotages."""
    settings = itertools.product((500, 2000, 20_000), (0.3, 1.0, 3.0), ("replace-one", "add-remove"), (6, 12, 24))
    for setting in settings:
        if everything or setting[-1] == 12:
            yield incidence_of(*setting, runs)
    yield incidence_of(500, 0.3, "replace-one", 12, runs, spoil="noise")
    yield incidence_of(2000, 1.0, "replace-one", 12, runs, spoil="covariance")


def late_entries_of(n: int, epsilon: float, relation: str, intervals: int, runs: int) -> tuple[LifeTables, LifeTables]:
    """Return noisy life tables with late entry, one a run, and that of the expected counts; times are Weibull."""
    people = TimesOfPeople(n, epsilon, relation, 0.2, intervals)
    fine = np.linspace(0.0, LAST, 120 * intervals + 1)
    left, uncensored = people.survival(fine), np.exp(-people.rate * fine)
    events = -np.diff(left) * (uncensored[1:] + uncensored[:-1]) / 2.0
    censored = -np.diff(uncensored) * (left[1:] + left[:-1]) / 2.0
    chances = np.zeros((intervals + 1, 2 * intervals + 1))
    late = range(10, len(fine) // 2, 20)
    for place, share in [(0, 1.0 / 3.0), *((place, 2.0 / 3.0 / len(late)) for place in late)]:
        at_risk = np.arange(len(events)) >= place
        exits = [np.where(at_risk, part, 0.0).reshape(intervals, -1).sum(axis=1) for part in (events, censored)]
        given = share / (left[place] * uncensored[place])
        entered = place // 120 + 1 if place else 0
        chances[entered] += given * np.concatenate([*exits, left[-1:] * uncensored[-1:]])
    rng = np.random.default_rng([SEED, n, int(10 * epsilon), intervals])
    records = n if relation == "replace-one" else rng.poisson(n, runs)
    drawn = rng.multinomial(records, chances.ravel() / chances.sum(), size=runs).reshape(runs, *chances.shape)
    counts = np.concatenate([drawn.sum(axis=1), drawn.sum(axis=2)], axis=1)
    scale = (4.0 if relation == "replace-one" else 2.0) / epsilon
    sd = GeometricCounts(scale, counts.shape[1], tables=2).noise_sd
    noisy = counts + SimulatedNoise(rng).two_sided_geometric(scale, counts.size).reshape(counts.shape)
    expected = n * np.concatenate([chances.sum(axis=0), chances.sum(axis=1)])[None]
    about = people.cuts, sd, "laplace", False, 0.5
    return LateLifeTables(noisy.astype(np.float64), *about), LateLifeTables(expected, *about)


def late_entry_of(
    n: int, epsilon: float, relation: str, intervals: int, runs: int, *, spoil: str | None = None
) -> Line:
    """Return coverage and width of the shares at each quarter, and of the restricted mean."""
    noisy, expected = late_entries_of(n, epsilon, relation, intervals, runs)
    read: LifeTables = replace(noisy, noise_sd=0.0) if spoil == "noise" else noisy
    if spoil == "entries":
        read = EvenLifeTables(noisy.counts[:, : 2 * intervals + 1], noisy.cuts, noisy.noise_sd, "laplace", False, 0.5)
    people = TimesOfPeople(n, epsilon, relation, 0.2, intervals)
    rows = [share_of(people, read, expected, intervals * quarter // 4 - 1) for quarter in range(1, 5)]
    rows.append(mean_of(people, read, expected, apart=spoil == "covariance"))
    coverage, width, reliable = np.array(rows).T
    setting = f"n={n:<6} ε={epsilon:<4} {relation:<12} late entry, {intervals} intervals"
    return Line(f"SABOTAGE, {spoil} forgotten: {setting}"[:62] if spoil else setting, coverage, width, reliable.mean())


def late(runs: int, *, everything: bool) -> Iterator[Line]:
    """Yield a line for each setting, and the sabotages."""
    settings = itertools.product((500, 2000, 20_000), (0.3, 1.0, 3.0), ("replace-one", "add-remove"), (6, 12, 24))
    for setting in settings:
        if everything or setting[-1] == 12:
            yield late_entry_of(*setting, runs)
    yield late_entry_of(2000, 0.3, "replace-one", 12, runs, spoil="noise")
    for spoil in ("entries", "covariance"):
        yield late_entry_of(2000, 1.0, "replace-one", 12, runs, spoil=spoil)


def noisy_counts(rng: np.random.Generator, expected: Floats, epsilon: float, relation: str, runs: int) -> AdditiveTable:
    """Return noisy counts of many tables in one, row by row: Poisson counts of these means, with geometric noise."""
    scale = (2.0 if relation == "replace-one" else 1.0) / epsilon
    counts = rng.poisson(np.tile(expected, (runs, 1))).reshape(-1)
    noisy = (counts + SimulatedNoise(rng).two_sided_geometric(scale, counts.size)).astype(np.float64)
    sd = GeometricCounts(scale, len(expected)).noise_sd
    return AdditiveTable(({},) * len(noisy), ("count",), noisy[:, None], np.array([sd]), "laplace")


def screening(runs: int, *, everything: bool) -> Iterator[str]:
    """Yield the false discovery rate of each setting, and the sabotage: intervals that forget the noise."""
    settings = itertools.product((2, 10, 50), (0.3, 1.0, 3.0), ("replace-one", "add-remove"), (0.0, 0.3))
    for cells, epsilon, relation, share in settings:
        hard = epsilon == 0.3 and relation == "replace-one"
        if not everything and not hard:
            continue
        for spoilt in (False, True) if hard else (False,):
            rng = np.random.default_rng([SEED, cells, int(10 * epsilon)])
            differs = np.arange(cells) < share * cells
            table = noisy_counts(rng, np.where(differs, 150.0, 100.0), epsilon, relation, runs)
            sd = 0.0 if spoilt else float(table.noise_sd[0])
            law = {"noise_law": "laplace", "method": "geometric"}
            read = counts_with_errors(table.column("count"), noise_sd=sd, n=None, census=False, **law)
            pvalues = np.array([pvalue_of(ScoreRegion(read.test.row(at)), 100.0) for at in range(cells * runs)])
            rates = []
            for method in METHODS:
                called = np.array([adjusted(row, method) <= 0.05 for row in pvalues.reshape(runs, cells)])  # type: ignore[arg-type]  # one of the names
                false = (called & ~differs).sum(axis=1) / np.maximum(called.sum(axis=1), 1)
                rates.append(f"{method} {false.mean():.4f} (found {called[:, differs].mean() if share else 0.0:.2f})")
            said = "SABOTAGE, noise forgotten: " if spoilt else ""
            yield f"{said}{cells} cells, ε={epsilon}, {relation}, {share:.0%} differ: false {'; '.join(rates)}"


def shrinkage(runs: int, *, everything: bool) -> Iterator[str]:
    """Yield the mean squared error over that of the raw shares, and the coverage of each setting."""
    settings = itertools.product((5, 12, 50), (500, 20_000), (0.3, 1.0, 3.0), (0.0, 0.02, 0.2))
    for cells, n, epsilon, spread in settings:
        if not everything and epsilon != 1.0:
            continue
        rng = np.random.default_rng([SEED, cells, n, int(10 * epsilon)])
        raw, drawn, hits = [], [], []
        for _ in range(min(runs, 200)):
            truth = np.clip(0.4 + spread * rng.normal(size=cells), 0.02, 0.98)
            each = n / cells
            sd = GeometricCounts(2.0 / epsilon, 2 * cells).noise_sd
            yes, no = (
                rng.poisson(each * part) + rng.laplace(0.0, sd / math.sqrt(2.0), cells) for part in (truth, 1.0 - truth)
            )
            read = proportions_with_errors(
                yes, yes + no, noise_sd=sd, census=False, noise_law="laplace", method="geometric"
            )
            if not read.reliable.all():
                continue
            numbers = shrunk(read.value, read.sampling_error**2 + read.privacy_error**2, np.ones((cells, 1)))
            raw.append(np.square(read.value - truth).mean())
            drawn.append(np.square(numbers.value - truth).mean())
            hits.append((np.abs(numbers.value - truth) <= normal_quantile(LEVEL) * numbers.standard_error).mean())
        if raw:
            yield (
                f"{cells} cells, n={n}, ε={epsilon}, truths spread by {spread}: squared error "
                f"{np.mean(drawn) / np.mean(raw):.3f} × raw, coverage {np.mean(hits):.3f} ({len(raw)} tables)"
            )


def patient_data(rng: np.random.Generator, n: int) -> pa.Table:
    """Return people of three ages, of whom older ones are treated more often and have larger outcomes."""
    age = rng.integers(0, 3, n)
    arm = (rng.random(n) < 0.2 + 0.25 * age).astype(int)
    score = np.clip(rng.normal(20.0 + 15.0 * age + 5.0 * arm, 8.0), 0.0, 100.0)
    well = (rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - 0.5 * age - 0.7 * arm))).astype(int)
    return pa.table({"score": score, "arm": arm, "age": age, "well": well})


def effects(runs: int, *, everything: bool) -> Iterator[str]:
    """Yield coverage and width of effects; the oracle has the standard deviation of the estimates of all runs."""
    arms: dict[str, Any] = {"treated": {"arm": 1}, "control": {"arm": 0}, "standardise": ["age"]}
    asked = [hg.mean("score", bounds=(0, 100)), hg.proportion("well", value=1), hg.count()]
    for n, epsilon, relation in itertools.product((500, 5000, 20_000), (0.3, 1.0, 3.0), ("replace-one", "add-remove")):
        if not everything and (epsilon != 1.0 or relation != "replace-one"):
            continue
        found: dict[str, list[tuple[float, float, float, float]]] = {"difference": [], "odds-ratio": []}
        for run in range(min(runs, 100)):
            rng = np.random.default_rng([SEED, n, run])
            survey = hg.open(patient_data(rng, n), relation=relation)
            options: dict[str, Any] = {
                "by": {"arm": [0, 1], "age": [0, 1, 2]},
                "epsilon": epsilon,
                "estimator": "moments",
            }
            release = Study.of(survey, asked, **options).draw(SimulatedNoise(rng))
            for measure, of in (("difference", "mean(score)"), ("odds-ratio", "proportion(well=1)")):
                read = release.effect(of, **arms, measure=measure)
                if read.reliable:
                    low, high = read.confidence_interval()
                    log = math.log if measure == "odds-ratio" else float
                    found[measure].append((log(read.estimate), log(low), log(high), float(read.standard_error or 0.0)))
        for measure, truth in (("difference", 5.0), ("odds-ratio", 0.7)):
            if len(found[measure]) < 2:
                yield f"n={n}, ε={epsilon}, {relation}, {measure}: the noise hides a cell"
                continue
            values, low, high, _ = np.array(found[measure]).T
            covered = ((low <= truth) & (truth <= high)).mean()
            width = (high - low).mean() / (2.0 * normal_quantile(LEVEL) * values.std())
            said = f"coverage {covered:.3f}, width {width:.3f} × oracle ({len(values)} runs)"
            yield f"n={n}, ε={epsilon}, {relation}, {measure}: {said}"


def totals(runs: int, *, everything: bool) -> Iterator[str]:
    """Yield coverage and width of counts that agree with the public totals of one of two columns."""
    for epsilon in (0.3, 1.0, 3.0) if everything else (0.3,):
        hits, ratio = [], []
        for run in range(min(runs, 200)):
            rng = np.random.default_rng([SEED, run])
            table = patient_data(rng, 3000)
            survey = hg.open(table, relation="add-remove", target="file")
            release = Study.of(survey, hg.count(), by={"arm": [0, 1], "age": [0, 1, 2]}, epsilon=epsilon).draw(
                SimulatedNoise(rng)
            )
            arm, age = (table[name].to_numpy() for name in ("arm", "age"))
            agreeing = release.reconcile({"arm": {one: int((arm == one).sum()) for one in (0, 1)}})
            for before, after in zip(release, agreeing, strict=True):
                truth = ((arm == after.cell["arm"]) & (age == after.cell["age"])).sum()
                low, high = after.confidence_interval()
                first, last = before.confidence_interval()
                hits.append(low <= truth <= high)
                ratio.append((high - low) / (last - first))
        said = f"coverage {np.mean(hits):.3f}, width {np.mean(ratio):.3f} × released"
        yield f"counts, ε={epsilon}, totals of one of two columns: {said}"


PARTS: dict[str, Callable[..., Iterator[Any]]] = {
    "survival": survival,
    "few": few,
    "causes": causes,
    "late": late,
    "screening": screening,
    "shrinkage": shrinkage,
    "effects": effects,
    "totals": totals,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines of the parts that are named, and of each part the smallest coverage and the largest width."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args(arguments)
    for name in given.parts or PARTS:
        lines = []
        for line in PARTS[name](given.runs, everything=given.all):
            print(line, flush=True)
            lines += [line] if isinstance(line, Line) and not line.setting.startswith("SABOTAGE") else []
        if not lines:
            continue
        coverage, width = (np.concatenate([getattr(line, part) for line in lines]) for part in ("coverage", "width"))
        low = int((coverage < 0.94 - 2.0 * math.sqrt(0.94 * 0.06 / given.runs)).sum())
        wide = int((width > 1.1).sum())
        print(
            f"{name}: {len(coverage)} numbers, coverage ≥ {coverage.min():.3f} (mean {coverage.mean():.3f}), "
            f"{low} below .94 − 2 s.e.; width ≤ {width.max():.3f} (median {np.median(width):.3f}), {wide} above 1.10"
        )


if __name__ == "__main__":
    main()
