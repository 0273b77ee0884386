"""Level and power of private tests of hypotheses, beside Student's and Welch's tests of the same records without noise.

Run: python benchmarks/tests_of_hypotheses.py [--runs 1000] [--epsilon 1] [--only NAME]

Each run draws a fresh sample of a known law, releases the means of two cells with seeded noise, and tests the mean of
the first cell (`value`) and the difference of the two (`cells`). The level is the share of runs in which the truth is
rejected at .05. The power is that of rejecting a value 2.8 standard errors of the sample away, which a normal test
without noise does in 80 % of runs; the last column is how many times as many records the private test needs to do so,
by the noise alone: 1 + τ²/v. Laws are on whole numbers from 0 to 100: heaped ages, incomes heaped at 0 with a long
tail, shares of ones, and what lies at both bounds. Under replace-one the number of records is public, under add-remove
it is itself drawn. A star marks a level above .05 by more than two of its standard errors, √(.05·.95/runs); with them
the level of the test without noise is to be read.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

import hedgerow as hg
from hedgerow.inference.estimate import Estimate
from hedgerow.release.execute import read_histograms
from hedgerow.testing.simulated import SimulatedNoise, Study

Floats = NDArray[np.float64]
SEED, LEVEL, AWAY = 20261122, 0.05, 2.8
GRID = np.arange(101.0)


def laws() -> dict[str, Floats]:
    """Return the chances of 0, …, 100 under each law."""
    normal = np.exp(-0.5 * ((GRID - 45.0) / 15.0) ** 2)
    heaped = normal * np.where(GRID % 10 == 0, 8.0, np.where(GRID % 5 == 0, 4.0, 1.0))
    income = np.exp(-GRID / 12.0)
    income[0], income[100] = 0.7 * income.sum(), 0.004 * income.sum()
    rare, ends = np.zeros(101), np.zeros(101)
    rare[[0, 100]], ends[[0, 100]] = (0.95, 0.05), (0.5, 0.5)
    named = {"normal": normal, "heaped": heaped, "income": income, "rare 0/1": rare, "both bounds": ends}
    return {name: chances / chances.sum() for name, chances in named.items()}


@dataclass(frozen=True)
class Setting:
    """One law at one size, under one relation, by one estimator."""

    law: str
    n: int
    relation: str
    estimator: str

    def __str__(self) -> str:
        return f"{self.law}, n={self.n}, {self.relation}, {self.estimator}"


def settings() -> Iterator[Setting]:
    """Yield what is simulated: 30 settings by moments, and six by replicates, which test a value alone."""
    for law in laws():
        for n in (100, 400, 4000):
            for relation in ("replace-one", "add-remove"):
                yield Setting(law, n, relation, "auto")
    for law in ("heaped", "income", "rare 0/1"):
        for n in (400, 4000):
            yield Setting(law, n, "replace-one", "bootstrap")


@dataclass
class Counted:
    """Rejections of one test in the runs so far."""

    level: int = 0
    power: int = 0
    plain_level: int = 0
    plain_power: int = 0
    noise: float = 0.0

    def add(self, estimate: Estimate, truth: float, away: float, plain: tuple[float, float]) -> None:
        """Count a run: by the interval, as `Estimate.test` does, and for every fiftieth by the p-value too."""
        interval = estimate.confidence_interval(1.0 - LEVEL)
        for name, value, pvalue in (("level", truth, plain[0]), ("power", away, plain[1])):
            setattr(self, name, getattr(self, name) + (not interval.low <= value <= interval.high))
            setattr(self, f"plain_{name}", getattr(self, f"plain_{name}") + (pvalue <= LEVEL))
        self.noise += (estimate.privacy_error or 0.0) ** 2


def simulate(setting: Setting, runs: int, epsilon: float, seed: int) -> tuple[dict[str, Counted], Floats, int]:
    """Return what was counted of each test, the sampling variances, and in how many runs p-value and interval agree."""
    rng = np.random.default_rng([SEED, seed])
    chances = laws()[setting.law]
    truth = float(chances @ GRID)
    variance = float(chances @ (GRID - truth) ** 2)
    away = AWAY * np.sqrt(variance * np.array([1.0, 2.0]) / (setting.n / 2.0))
    noise, found, agreed = SimulatedNoise(rng), {"value": Counted(), "cells": Counted()}, 0
    if setting.estimator == "bootstrap":
        del found["cells"]
    asked = hg.mean("x", bounds=(0, 100), step=1)
    plan = None
    for run in range(runs):
        size = setting.n if setting.relation == "replace-one" else int(rng.poisson(setting.n))
        x = rng.choice(GRID, size=size, p=chances)
        cell = np.arange(size) % 2
        survey = hg.open(pa.table({"x": x, "g": cell}), relation=setting.relation)
        if plan is None:
            plan = survey.plan(asked, by={"g": [0, 1]}, epsilon=epsilon, estimator=setting.estimator)
        release = Study(plan, read_histograms(plan, survey.source), "simulated").draw(noise)
        parts = x[cell == 0], x[cell == 1]
        estimates = {"value": release[0]}
        plain = {"value": [float(stats.ttest_1samp(parts[0], truth + move).pvalue) for move in (0.0, away[0])]}
        if "cells" in found:
            estimates["cells"] = release[0] - release[1]
            moved = (stats.ttest_ind(parts[0] - move, parts[1], equal_var=False) for move in (0.0, away[1]))
            plain["cells"] = [float(one.pvalue) for one in moved]
        targets = {"value": (truth, truth + away[0]), "cells": (0.0, away[1])}
        for name, counted in found.items():
            counted.add(estimates[name], *targets[name], (plain[name][0], plain[name][1]))
        if run % 50 == 0:
            interval = release[0].confidence_interval(1.0 - LEVEL)
            agreed += (release[0].test(truth).pvalue <= LEVEL) == (not interval.low <= truth <= interval.high)
    return found, variance * np.array([1.0, 2.0]) / (setting.n / 2.0), agreed


def main() -> None:
    """Print a line for each setting and test, and what falls short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--only", default="", help="settings whose line contains this")
    asked = parser.parse_args()
    most = LEVEL + 2.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / asked.runs)
    print(f"{'setting':44}{'test':>6}{'level':>8}{'plain':>8}{'power':>8}{'plain':>8}{'records':>9}")
    levels, above, disagreed = [], 0, 0
    for seed, setting in enumerate(settings()):
        if asked.only not in str(setting):
            continue
        found, variances, agreed = simulate(setting, asked.runs, asked.epsilon, seed)
        disagreed += -(-asked.runs // 50) - agreed
        for (name, counted), variance in zip(found.items(), variances, strict=False):
            shares = [getattr(counted, one) / asked.runs for one in ("level", "plain_level", "power", "plain_power")]
            records = 1.0 + counted.noise / asked.runs / variance
            star = "*" if shares[0] > most else ""
            numbers = "".join(f"{share:8.3f}" for share in shares)
            print(f"{setting!s:44}{name:>6}{numbers}{records:9.2f} {star}", flush=True)
            levels.append(shares[0])
            above += bool(star)
    print(f"{len(levels)} tests: largest level {max(levels):.4f}, {above} above {most:.4f}")
    print(f"p-values that do not agree with their intervals: {disagreed}")


if __name__ == "__main__":
    main()
