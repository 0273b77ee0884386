"""Quantiles from one table of counts: coverage, width, error and forecast, beside JointExp and exponential mechanisms.

Run ``python -m benchmarks.quantiles [--only five] [--runs 200] [--rows 10000000]``: all of it takes some minutes;
each of ``five``, ``weights`` and ``forecast`` a minute or two. ``HEDGEROW_DATA`` names the folder that holds
``PUMS5extract10000.csv``; without it its income and age are left out.

* ``five``: the error of five quantiles about the population's, over that of five exponential mechanisms that share the
  total, and over that of five each of which spends all of it. They share it by the exact composition of k of them at
  the δ of the release (Dong, Durfee & Rogers 2020), which gives each a little more than ε/5.
* ``weights``: the mean width of intervals with the levels weighted for the places asked, over that with alike levels.
* ``forecast``: the standard error forecast over the mean of those released, on skewed columns, for three guesses.
* ``coverage``: how often the 95 % interval of a release holds the population's quantile, over populations with heaps,
  ties, skew, rare values and atoms at a bound; both relations, n = 50 to 5,000, ε = 1 and 3; each line with its width.
* ``deciles``: nine deciles of demo incomes at n = 20,000, ε = 1, δ = 1e-6 in one call: the standard error over that of
  sampling, and the root mean square error about the file's own deciles, ours beside those of two pure mechanisms.
* ``one``: the error of one median about the population's at the same pure ε.
* ``widths``: the mean width of a median of PUMS incomes and of the .9-quantile of PUMS ages, each alone, n = 1,000.
* ``leaves``: CPU and memory of a release of three quantiles on 2²⁰ leaves, in a process of its own.
* ``time``: nine deciles of a Parquet file, over DuckDB's own ``quantile_disc`` of them in the same run.

The exponential mechanism (Smith 2011) draws a value with density ∝ exp(−ε|rank − qn|/2): one record replaced moves a
rank by 1 at most. JointExp (Gillenwater, Joseph & Kulesza 2021) draws m values with density ∝ exp(−ε/4 Σ_j |number of
values between two neighbours − its target|): one record replaced moves the sum by 2. It is drawn exactly but for
numbers that are more than 200/ε from their targets, which e^−50 of the draws have. Neither comes with an interval.
Hedgerow's noise is the seeded stand-in of ``hedgerow.testing``, of the same law as a release's.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray
from reproduction.pums import pums

import hedgerow as hg
from hedgerow.demo import draw_survey
from hedgerow.mechanisms.histograms import TreeCounts
from hedgerow.release.designs.column_distribution import DistributionStatistic, TableReading
from hedgerow.release.plan import Plan
from hedgerow.testing.simulated import SimulatedNoise, Study

Floats = NDArray[np.float64]
SEED = 20261122
DECILES = [round(0.1 * k, 1) for k in range(1, 10)]
FIVE = [0.1, 0.25, 0.5, 0.9, 0.99]
_HIT = 5e-3  # of a leaf: an error under it is none


@dataclass(frozen=True)
class Setting:
    """A relation, a number of records and a budget."""

    relation: str
    n: int
    epsilon: float
    delta: float = 1e-6


@dataclass(frozen=True)
class Population:
    """Values that samples are drawn from with replacement, their bounds and step (None: not declared)."""

    values: Floats
    bounds: tuple[float, float]
    step: float | None

    def truth(self, q: float) -> float:
        """Return inf{x: F(x) ≥ q} of the clamped values."""
        return float(np.quantile(np.clip(self.values, *self.bounds), q, method="inverted_cdf"))

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Return a sample of `n`."""
        return rng.choice(self.values, n)


def demo_income(rng: np.random.Generator, n: int) -> Floats:
    """Return incomes of the demonstration, missing ones left out."""
    survey = draw_survey(int(n * 1.2) + 50, seed=int(rng.integers(2**31)))
    present = survey.income[~np.isnan(survey.income)]
    return present[:n]


def populations() -> dict[str, Population]:
    """Return the populations of the table of coverage."""
    rng, many = np.random.default_rng(1), 1_000_000
    lognormal = np.exp(rng.normal(10.0, 0.8, many))
    schooling = rng.choice([8.0, 12.0, 12.0, 12.0, 14.0, 16.0, 16.0, 20.0], many)
    found = {
        "lognormal": Population(lognormal, (0, 200_000), None),
        "generous bounds": Population(lognormal, (0, 2_000_000), None),
        "a heap at the lower bound": Population(np.where(rng.random(many) < 0.13, 0.0, lognormal), (0, 100_000), 100),
        "ties": Population(schooling, (0, 20), 1),
        "half at the upper bound": Population(lognormal, (0, 22_000), 100),
        "demo incomes": Population(demo_income(rng, many), (0, 200_000), 100),
        "rare values": Population(np.where(rng.random(many) < 0.01, rng.uniform(0, 1000, many), 0.0), (0, 1000), None),
    }
    folder = os.environ.get("HEDGEROW_DATA")
    if folder is not None:
        file = np.genfromtxt(Path(folder) / "PUMS5extract10000.csv", delimiter=",", names=True)
        found["PUMS incomes"] = Population(file["income"], (0, 100_000), None)
        found["PUMS ages"] = Population(file["age"], (18, 95), 1)
    return found


def more_populations() -> dict[str, Population]:
    """Return the populations of `populations` and others that the errors are compared on."""
    rng, many = np.random.default_rng(2), 400_000
    low = rng.random(many) < 0.7
    income = np.exp(rng.normal(10.2, 0.7, many))
    half, tenth = rng.random(many) < 0.5, rng.random(many) < 0.5
    heap = np.where(half, 5000.0, np.where(tenth, 1000.0, 100.0))
    visits = np.minimum(rng.negative_binomial(0.45, 0.45 / 3.31, many), 80).astype(float)
    scores = np.rint(rng.normal(1030.0, 139.0, many) / 10.0) * 10.0
    return populations() | {
        "exponential": Population(rng.exponential(8.0, many), (0, 100), None),
        "two humps": Population(np.where(low, rng.normal(10, 2, many), rng.normal(90, 2, many)), (0, 100), None),
        "heaped incomes": Population(np.rint(income / heap) * heap, (0, 150_000), 100),
        "visits": Population(visits, (0, 80), 1),
        "scores": Population(np.clip(scores, 470.0, 1540.0), (400, 1600), 10),
    }


def planned(population: Population, asked: list[hg.Statistic], setting: Setting, **options: str) -> Plan:
    """Return the plan of a release of a sample."""
    sample = pa.table({"x": population.draw(np.random.default_rng(SEED), setting.n)})
    missing = "error-if-declared-complete" if setting.relation == "replace-one" else "drop"
    survey = hg.open(sample, relation=setting.relation)
    return survey.plan(asked, epsilon=setting.epsilon, delta=setting.delta, missing=missing, **options)


def readings(
    population: Population, asked: list[hg.Statistic], setting: Setting, runs: int, rng: np.random.Generator
) -> TableReading:
    """Return as many releases of one plan as runs, each of a sample of its own, as the cells of one table."""
    return readings_of(planned(population, asked, setting), population, setting, runs, rng)


def readings_of(
    plan: Plan,
    population: Population,
    setting: Setting,
    runs: int,
    rng: np.random.Generator,
    *,
    alike: bool = False,
    samples: Floats | None = None,
) -> TableReading:
    """Return releases of a plan, of samples of their own or of these; `alike` with the same noise at all levels.

    The plan, the counts, the noise and what is read from them are those of a release; its scan of the data is not.
    """
    design, mechanism = plan.items[0].design, plan.items[0].mechanism
    assert isinstance(design, DistributionStatistic) and isinstance(mechanism, TreeCounts)
    if alike:
        relation, cost = design.release.facts.relation, mechanism.cost(design.release.facts.relation)
        precision = cost ** (1.0 / mechanism.noise_law.power)
        shape = replace(design.release.shape, weights=())
        mechanism = shape.mechanism(mechanism.leaves, mechanism.cells, precision, relation)
    leaves, n = design.release.leaves, setting.n
    low, high = population.bounds
    counts = np.zeros((runs, leaves.count), dtype=np.int64)
    for run in range(runs):
        # Under add-remove the size of a sample is random, too.
        size = n if setting.relation == "replace-one" else int(rng.poisson(n))
        sample = population.draw(rng, size) if samples is None else samples[run]
        steps = np.rint((np.clip(sample, low, high) - low) / float(leaves.grid.step))
        np.add.at(counts[run], steps.astype(np.int64) // leaves.group, 1)
    levels = mechanism.noisy(counts, SimulatedNoise(rng))
    return TableReading(leaves, mechanism, levels, n if design.release.public else None, census=False)


def coverage(runs: int, only: Sequence[str] = ()) -> None:
    """Print coverage and width of each population, or only of these, at each n, ε, relation and probability."""
    print(f"{'population':26} {'relation':11} {'n':>6} {'ε':>3} {'q':>5}  covered     width  s.e./sd")
    rng, found, shares = np.random.default_rng(SEED), [], [0.1, 0.5, 0.9, 0.99]
    least = 0.94 - 2.0 * math.sqrt(0.94 * 0.06 / runs)
    chosen = {name: each for name, each in populations().items() if not only or name in only}
    for name, population in chosen.items():
        truths = np.array([population.truth(q) for q in shares])
        asked = hg.quantile("x", shares, bounds=population.bounds, step=population.step)
        for setting in (
            Setting(relation, n, epsilon)
            for relation in ("replace-one", "add-remove")
            for n in (50, 200, 1000, 5000)
            for epsilon in (1.0, 3.0)
        ):
            cells = readings(population, asked, setting, runs, rng).cells
            for q, truth in zip(shares, truths, strict=True):
                drawn = [one.quantile(q) for one in cells]
                hit = float(np.mean([one.low <= truth <= one.high for one in drawn]))
                sd = float(np.std([one.value for one in drawn]))
                ratio = float(np.mean([one.standard_error for one in drawn])) / sd if sd > 0 else math.nan
                width = float(np.mean([one.high - one.low for one in drawn]))
                where = f"{name:26} {setting.relation:11} {setting.n:6,} {setting.epsilon:3g} {q:5}"
                found.append((hit, where))
                print(f"{where}  {hit:7.3f} {width:9,.4g}  {ratio:7.2f}", flush=True)
    hits = np.array([hit for hit, _ in found])
    print(
        f"{len(hits)} settings of {runs} runs: coverage {hits.min():.3f} to {hits.max():.3f}, median {np.median(hits)}"
    )
    print(f"below .94 − 2 s.e. = {least:.3f}: {[where for hit, where in found if hit < least] or 'none'}")


def shared_epsilon(total: float, delta: float, k: int) -> float:
    """Return the ε of each of k exponential mechanisms that together cost `total` at δ.

    One of them has losses t and t − ε for some t between 0 and ε, and the worst t is the same for all k.
    """

    def composed(epsilon: float) -> float:
        t = np.linspace(0.0, epsilon, 2001)[1:-1, None]
        first = np.exp(t) * np.expm1(t - epsilon) / (np.exp(t - epsilon) - np.exp(t))
        j = np.arange(k + 1)
        chance = np.array([math.comb(k, i) for i in j]) * first**j * (1.0 - first) ** (k - j)
        return float((chance * np.maximum(0.0, -np.expm1(total - (k * t - (k - j) * epsilon)))).sum(axis=1).max())

    low, high = total / k, total
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if composed(middle) <= delta else (low, middle)
    return low


def exponentials(samples: Floats, population: Population, q: float, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return a draw of Smith's exponential mechanism of each sample: on the values of a declared grid, or anywhere."""
    (low, high), step, (runs, n) = population.bounds, population.step, samples.shape
    if step is not None:
        values = round((high - low) / step) + 1
        counts = np.zeros((runs, values))
        np.add.at(counts, (np.repeat(np.arange(runs), n), np.rint((samples - low) / step).astype(int).ravel()), 1.0)
        upto = np.cumsum(counts, axis=1)
        away = np.maximum(np.maximum(upto - counts - q * n, q * n - upto), 0.0)
        return low + step * np.argmax(rng.gumbel(size=away.shape) - epsilon / 2.0 * away, axis=1)
    sides = (np.full((runs, 1), float(end)) for end in (low, high))
    ends = np.concatenate([next(sides), np.sort(samples, axis=1), next(sides)], axis=1)
    with np.errstate(divide="ignore"):
        score = np.log(np.diff(ends, axis=1)) - epsilon / 2.0 * np.abs(np.arange(n + 1) - q * n)
    place = np.argmax(score + rng.gumbel(size=score.shape), axis=1)[:, None]
    return rng.uniform(*(np.take_along_axis(ends, place + side, axis=1)[:, 0] for side in (0, 1)))


def five(runs: int) -> None:
    """Print the errors of five quantiles over those of five exponential mechanisms of the same samples."""
    shares = {"ε/5": 0.2, "at δ": shared_epsilon(1.0, 1e-6, len(FIVE)), "whole": 1.0}
    print("\nfive quantiles, ε = 1, δ = 1e-6: rms error over that of exponential mechanisms of ε/5 each (pure), of")
    print(f"{shares['at δ']:.3f} each (the same total at δ), and of ε each; and the geometric mean of the five")
    ratios: dict[str, list[float]] = {said: [] for said in shares}
    means: dict[str, list[float]] = {said: [] for said in shares}
    for n in (200, 1000, 5000):
        for name, population in more_populations().items():
            rng, truth = np.random.default_rng(SEED + n), np.array([population.truth(q) for q in FIVE])
            asked = hg.quantile("x", FIVE, bounds=population.bounds, step=population.step)
            setting, samples = Setting("replace-one", n, 1.0), population.draw(rng, runs * n).reshape(runs, n)
            samples = np.clip(samples, *population.bounds)
            plan = planned(population, asked, setting)
            read = readings_of(plan, population, setting, runs, rng, samples=samples).cells
            ours = np.sqrt(((np.array([[cell.quantile(q).value for q in FIVE] for cell in read]) - truth) ** 2).mean(0))
            shown = f"{name:26} {n:6,}"
            for said, epsilon in shares.items():
                drawn = np.stack([exponentials(samples, population, q, epsilon, rng) for q in FIVE], axis=1)
                rival = np.sqrt(((drawn - truth) ** 2).mean(axis=0))
                # Where both hit an atom there is nothing to compare.
                counted = np.maximum(ours, rival) > _HIT * np.diff(read[0].edges).max()
                row = ours / np.maximum(rival, _HIT * np.diff(read[0].edges).max())
                mean = float(np.exp(np.log(np.clip(row[counted], 0.01, 100.0)).mean())) if counted.any() else math.nan
                ratios[said] += row[counted].tolist()
                means[said].append(mean)
                each = " ".join(f"{x:5.2f}" if use else "    ·" for x, use in zip(row, counted, strict=True))
                shown += f" | {said} {each} mean {mean:4.2f}"
            print(shown, flush=True)
    sure = 1.0 + 2.0 / math.sqrt(2.0 * runs)  # about two standard errors of a ratio, the samples being the same
    for said in shares:
        rows, many = np.array(means[said]), np.array(ratios[said])
        over = f"{(many > 1.0).sum()} over 1, {(many > sure).sum()} over {sure:.2f}, largest {many.max():.2f}"
        print(f"{said}: means {rows.min():.2f} to {rows.max():.2f}, {(rows > 1.0).sum()} of {len(rows)} over 1;")
        print(f"      {len(many)} quantiles: {over}")


def weights(runs: int) -> None:
    """Print the mean width of intervals with weighted levels over that with alike levels, at one price."""
    print("\nweighted levels over alike ones: mean width of the interval of each of five quantiles, ε = 1, δ = 1e-6")
    for law in ("gaussian", "laplace"):
        for name in ("lognormal", "generous bounds", "exponential"):
            population = more_populations()[name]
            asked = hg.quantile("x", FIVE, bounds=population.bounds, step=population.step)
            for n in (1000, 5000):
                setting = Setting("replace-one", n, 1.0)
                plan, read = planned(population, asked, setting, noise=law), []
                for alike in (False, True):
                    rng = np.random.default_rng(SEED)
                    cells = readings_of(plan, population, setting, runs, rng, alike=alike).cells
                    ends = [[(number.low, number.high) for number in map(cell.quantile, FIVE)] for cell in cells]
                    read.append(np.diff(np.array(ends), axis=2)[:, :, 0].mean(axis=0))
                print(f"{name:26} {n:6,} {law:9}" + "".join(f"{ratio:6.2f}" for ratio in read[0] / read[1]), flush=True)


def forecasts(runs: int) -> None:
    """Print forecast standard errors of quantiles over the mean of those released, on skewed columns."""
    print("\nforecast over released: the standard error of five quantiles, and half the width, ε = 1, δ = 1e-6")
    shares = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.997)
    skewed = {"lognormal": "lognormal", "generous bounds": "lognormal", "exponential": "gamma", "demo incomes": None}
    off: list[float] = []
    for name, law in {**skewed, "PUMS incomes": None}.items():
        population = more_populations().get(name)
        if population is None:
            continue
        values = np.clip(population.values, *population.bounds)
        moments = {"mean": values.mean(), "sd": values.std()}
        # Atoms at the bounds are part of the guess: where the one at L ends, and where the one at U begins.
        atoms = [np.mean(values <= population.bounds[0]), 1e-4 + np.mean(values < population.bounds[1])]
        known = sorted({*shares, *(float(share) for share in atoms if 0.01 < share < 0.999)})
        guesses = {
            "quantiles": {"quantiles": {share: population.truth(share) for share in known}},
            **({"law": {**moments, "law": law}} if law else {}),
            "mean, sd": moments,
        }
        asked = hg.quantile("x", FIVE, bounds=population.bounds, step=population.step)
        for n in (1000, 5000):
            setting, rng = Setting("replace-one", n, 1.0), np.random.default_rng(SEED)
            plan = planned(population, asked, setting)
            cells = readings_of(plan, population, setting, runs, rng).cells
            each = [[(x.standard_error, (x.high - x.low) / 2.0) for x in map(cell.quantile, FIVE)] for cell in cells]
            error, half = np.mean(each, axis=0).T
            for said, guess in guesses.items():
                expected = plan.forecast({"x": guess})
                least = _HIT * np.diff(cells[0].edges).max()
                rows = [
                    (np.array([x.standard_error for x in expected]) + least) / (error + least),
                    (np.array([x.half_width for x in expected]) + least) / (half + least),
                ]
                off += rows[0].tolist() if said != "mean, sd" else []
                settled = "".join("+" if x.settled else "-" for x in expected)
                shown = ("".join(f"{ratio:6.2f}" for ratio in row) for row in rows)
                print(f"{name:16} {n:6,} {said:10}{next(shown)}   {next(shown)}   settled {settled}", flush=True)
    wrong = sum(not 0.8 <= ratio <= 1.25 for ratio in off)
    print(f"a law or quantiles guessed: {len(off)} errors, {min(off):.2f} to {max(off):.2f}; {wrong} off by over 25 %")


def joint_exponential(
    values: Floats, bounds: tuple[float, float], shares: list[float], epsilon: float, rng: np.random.Generator
) -> list[float]:
    """Return one draw of JointExp for probabilities whose targets are far more than 200/ε records apart."""
    ends = np.concatenate([[bounds[0]], np.sort(np.clip(values, *bounds)), [bounds[1]]])
    lengths, n = np.diff(ends), len(values)
    targets = np.diff([0.0, *(q * n for q in shares), float(n)])
    reach = round(200.0 / epsilon)
    assert targets.min() > 2 * reach
    alpha = [lengths * np.exp(-epsilon / 4.0 * np.abs(np.arange(n + 1) - targets[0]))]
    for target in targets[1:-1]:
        moves = np.arange(math.floor(target) - reach, math.ceil(target) + reach + 1)
        step = np.zeros(n + 1)
        for move in moves:
            step[move:] += alpha[-1][: n + 1 - move] * math.exp(-epsilon / 4.0 * abs(move - target))
        alpha.append(lengths * step / max(step.max(), 1e-300))
    chance = alpha[-1] * np.exp(-epsilon / 4.0 * np.abs(n - np.arange(n + 1) - targets[-1]))
    places = [int(rng.choice(n + 1, p=chance / chance.sum()))]
    for before, target in zip(alpha[-2::-1], targets[-2:0:-1], strict=True):
        chance = before * np.exp(-epsilon / 4.0 * np.abs(places[0] - np.arange(n + 1) - target))
        chance[places[0] :] = 0.0
        places.insert(0, int(rng.choice(n + 1, p=chance / chance.sum())))
    return sorted(float(rng.uniform(ends[place], ends[place + 1])) for place in places)


def deciles(runs: int) -> None:
    """Print the errors of nine deciles of demo incomes."""
    rng, n, bounds = np.random.default_rng(SEED + 1), 20_000, (0.0, 200_000.0)
    values = demo_income(rng, n)
    own = np.quantile(np.clip(values, *bounds), DECILES, method="inverted_cdf")
    population = populations()["demo incomes"]
    drawn = np.array([np.quantile(population.draw(rng, n), DECILES) for _ in range(200)])
    sampling = drawn.std(axis=0)
    survey = hg.open(pa.table({"income": values}), relation="replace-one")
    lines: dict[str, Floats] = {"sampling s.e.": sampling}
    for name, options in {"δ = 1e-6": {}, "pure": {"delta": 0.0}}.items():
        asked = hg.quantile("income", DECILES, bounds=bounds, step=100)
        study = Study.of(survey, asked, epsilon=1.0, missing="error-if-declared-complete", **options)
        found = [study.draw(SimulatedNoise(rng)) for _ in range(runs)]
        errors = np.array([[one.standard_error for one in each] for each in found], dtype=np.float64)
        numbers = np.array([[one.estimate for one in each] for each in found])
        lines[f"{name}: rms about file"] = np.sqrt(((numbers - own) ** 2).mean(axis=0))
        total = np.hypot(sampling, lines[f"{name}: rms about file"])
        lines[f"{name}: total/sampling"] = total / sampling
        lines[f"{name}: said/sampling"] = errors.mean(axis=0) / sampling
    copies, drawn_from = np.tile(np.clip(values, *bounds), (10, 1)), Population(values, bounds, None)
    each = np.concatenate(
        [
            np.stack([exponentials(copies, drawn_from, q, 1.0 / 9.0, rng) for q in DECILES], axis=1)
            for _ in range(-(-runs // 10))
        ]
    )
    lines["nine exponential: rms"] = np.sqrt(((each - own) ** 2).mean(axis=0))
    joint = np.array([joint_exponential(values, bounds, DECILES, 1.0, rng) for _ in range(min(runs, 40))])
    lines["JointExp: rms"] = np.sqrt(((joint - own) ** 2).mean(axis=0))
    print("\nnine deciles of demo incomes, n = 20,000, ε = 1")
    for name, row in lines.items():
        print(f"{name:26}" + "".join(f"{one:8.3g}" for one in row))


def one_median(runs: int) -> None:
    """Print the error of one median about the population's, pure ε = 1."""
    print("\none median, pure ε = 1: rms error about the population's, ours over the exponential mechanism's")
    for name, population in populations().items():
        for n in (50, 200, 1000, 5000):
            rng, truth = np.random.default_rng(SEED + n), population.truth(0.5)
            asked = [hg.quantile("x", 0.5, bounds=population.bounds, step=population.step)]
            drawn = readings(population, asked, Setting("replace-one", n, 1.0, delta=0.0), runs, rng).cells
            ours = [one.quantile(0.5).value - truth for one in drawn]
            samples = np.clip(population.draw(rng, runs * n).reshape(runs, n), *population.bounds)
            other = exponentials(samples, population, 0.5, 1.0, rng) - truth
            rms = [math.sqrt(np.mean(np.square(one))) for one in (ours, other)]
            print(f"{name:26} {n:6,} {rms[0]:10.4g} {rms[1]:10.4g} {rms[0] / max(rms[1], 1e-12):6.2f}", flush=True)


def widths(runs: int) -> None:
    """Print the mean width of two quantiles, each released alone at ε = 1, δ = 1e-6."""
    if "HEDGEROW_DATA" not in os.environ:
        return
    print("\none quantile, n = 1,000, ε = 1, δ = 1e-6: mean width of the interval")
    for column, q, bounds, step in (("income", 0.5, (0, 100_000), None), ("age", 0.9, (18, 95), 1)):
        rng, asked = np.random.default_rng(SEED), hg.quantile("x", q, bounds=bounds, step=step)
        found = []
        for _ in range(runs):
            sample = pa.table({"x": rng.choice(pums()[column], 1000)})
            study = Study.of(hg.open(sample, relation="replace-one"), [asked], epsilon=1.0)
            interval = study.draw(SimulatedNoise(rng))[0].confidence_interval()
            found.append(interval.high - interval.low)
        error = np.std(found) / math.sqrt(runs)
        print(f"{column:8} q = {q}: {np.mean(found):,.2f} (s.e. of the mean {error:,.2f})", flush=True)


_FINE = """
import resource
import numpy as np, pyarrow as pa
import hedgerow as hg

def used():
    one = resource.getrusage(resource.RUSAGE_SELF)
    return one.ru_utime + one.ru_stime, one.ru_maxrss / 1024

x = np.round(np.exp(np.random.default_rng(1).normal(13.0, 0.5, 100_000)))
survey = hg.open(pa.table({"x": x}), relation="replace-one")
for high, line in ((1023, 997), (2**20 - 1, 99_991)):
    before = used()
    grid = {"bounds": (0, high), "step": 1}
    # The line is a prime, so no leaf of several places begins there.
    asked = [hg.share_below("x", line=line, **grid), *hg.quantile("x", [0.1, 0.5, 0.9], **grid)]
    release = survey.release(asked, epsilon=1.0)
    after = used()
print(release.certificate.mechanism.leaves, after[0] - before[0], after[1] - before[1])
"""


def leaves() -> None:
    """Print what a release of 2²⁰ leaves takes, after one of 2¹⁰ that loads the libraries."""
    told = subprocess.run([sys.executable, "-c", _FINE], capture_output=True, text=True, check=True).stdout.split()
    count, seconds, megabytes = int(told[0]), float(told[1]), float(told[2])
    print(f"\n{count:,} leaves, a share, three quantiles: {seconds:.2f} s of CPU, {megabytes:.0f} MB more at the peak")


def timed(rows: int) -> None:
    """Print the time of nine deciles of a Parquet file over DuckDB's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "incomes.parquet"
        income = np.rint(np.exp(np.random.default_rng(3).normal(10.0, 0.8, rows)))
        pyarrow.parquet.write_table(pa.table({"income": income}), path)
        survey = hg.open(str(path), relation="replace-one")
        asked = hg.quantile("income", DECILES, bounds=(0, 200_000), step=100)
        listed = ", ".join(str(q) for q in DECILES)
        query = f"SELECT quantile_disc(income, [{listed}]) FROM read_parquet('{path}')"
        best = {}
        for _ in range(3):
            for name, call in (
                ("hedgerow", lambda: survey.release(asked, epsilon=1.0)),
                ("duckdb", lambda: duckdb.sql(query).fetchall()),
            ):
                start = time.perf_counter()
                call()
                best[name] = min(best.get(name, math.inf), time.perf_counter() - start)
        said = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
        print(f"\nnine deciles of {rows:,} rows: {said}; ratio {best['hedgerow'] / best['duckdb']:.2f}")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=10_000_000)
    tables = {
        "five": lambda: five(given.runs),
        "weights": lambda: weights(given.runs),
        "forecast": lambda: forecasts(given.runs),
        "deciles": lambda: deciles(given.runs),
        "one": lambda: one_median(given.runs),
        "widths": lambda: widths(given.runs),
        "leaves": leaves,
        "time": lambda: timed(given.rows),
        "coverage": lambda: coverage(given.runs, given.population),
    }
    parser.add_argument("--only", choices=tables)
    parser.add_argument("--population", nargs="*", default=[], help="of coverage; all by default")
    given = parser.parse_args()
    for name, table in tables.items():
        if given.only in (None, name):
            table()


if __name__ == "__main__":
    main()
