"""Simulated means and sums of rare and skewed values: coverage and width of the released 95 % intervals.

All runs of a setting are read at once, as the cells of one table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.score_test import QuadraticTest
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise, grid_sums

Floats = NDArray[np.float64]
STEPS = 100
SEED = 20261122


def laws() -> dict[str, Floats]:
    """Return probabilities of 0, 1/100, …, 1."""
    from scipy.stats import beta, expon, lognorm, norm

    edges = np.concatenate([[-np.inf], (np.arange(STEPS) + 0.5) / STEPS, [np.inf]])

    def two(share: float, high: int = STEPS) -> Floats:
        made = np.zeros(STEPS + 1)
        made[0], made[high] = 1 - share, share
        return made

    zeros = 0.05 * np.diff(expon(scale=0.2).cdf(edges))
    zeros[0] += 0.95
    return {
        "1 % ones": two(0.01),
        "5 % ones": two(0.05),
        "1 % halves": two(0.01, 50),
        "99 % ones": two(0.99),
        "95 % zeros, exponential": zeros,
        "lognormal, s = 2, clipped": np.diff(lognorm(2.0, scale=1 / STEPS).cdf(edges)),
        "lognormal, s = 1.5, clipped": np.diff(lognorm(1.5, scale=1 / 50).cdf(edges)),
        "beta(.1, 2)": np.diff(beta(0.1, 2).cdf(edges)),
        "beta(.5, 5)": np.diff(beta(0.5, 5).cdf(edges)),
        "normal(.45, .15)": np.diff(norm(0.45, 0.15).cdf(edges)),
        "half ones": two(0.5),
    }


@dataclass(frozen=True)
class Setting:
    """What is released of a sample of n from a law, again and again."""

    law: str
    relation: str
    n: int
    epsilon: float
    delta: float
    statistic: str = "mean"

    def design(self) -> tuple[JointStatistic, object]:
        """Return the plan's own design and mechanism."""
        made = {"mean": hg.mean, "sum": hg.sum}[self.statistic]
        adding = self.relation == "add-remove"
        missing = "drop" if adding else "error-if-declared-complete"
        asked = [made("x", bounds=(0, 1), step=0.01)]
        request = parse_request(asked, epsilon=self.epsilon, delta=self.delta, missing=missing)
        facts = PublicFacts(Relation(self.relation), "row", Target.POPULATION, None if adding else self.n)
        item = make_plan(request, facts).items[0]
        if not isinstance(item.design, JointStatistic):
            raise TypeError(f"{item.design} reads no moments")
        return item.design, item.mechanism


@dataclass(frozen=True)
class Result:
    covered: int
    runs: int
    width: float

    @property
    def coverage(self) -> float:
        return self.covered / self.runs


def plain(basis: QuadraticTest) -> QuadraticTest:
    """Return the same numbers, read as if the values were not skewed."""
    return replace(basis, skew=0.0, skew_unsure=0.0)


def simulate(
    setting: Setting, runs: int, read: Callable[[QuadraticTest], QuadraticTest] = lambda basis: basis
) -> Result:
    """Return how many of the intervals cover, and their mean width."""
    rng = np.random.default_rng([SEED, setting.n, int(setting.epsilon)])
    probability = laws()[setting.law]
    probability = probability / probability.sum()
    if setting.relation == "replace-one":
        drawn = rng.multinomial(setting.n, probability, size=runs)
    else:
        drawn = rng.poisson(setting.n * probability, size=(runs, len(probability)))
    cell, index = np.nonzero(drawn)
    histogram = Histogram.from_triplets(cell, index, drawn[cell, index], cells=runs)
    design, mechanism = setting.design()
    sums = grid_sums(design.query, histogram)
    basis = read(design.estimates(design.table(sums, mechanism, SimulatedNoise(rng))).region.test.read.exact)
    low, high = basis.accepted(0.95)
    mean = float(probability @ np.arange(STEPS + 1)) / STEPS
    truth = mean if setting.statistic == "mean" else setting.n * mean
    return Result(int(((low <= truth) & (truth <= high)).sum()), runs, float((high - low).mean()))
