"""Simulated releases of means and sums: how often the released intervals cover, and how wide they are.

Each run draws a fresh sample from a known law, builds its histogram, draws noise and reads the interval. All runs of a
setting are read at once, as the cells of one table; those of a bootstrap one by one. Width is over
the oracle's, 2·z·√(Var/n + τ²): the interval of someone who knows the variance and the noise but not the mean. With a
private count the oracle knows the cell's true size too, and τ² is the variance of the noisy ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.engines.query import Query, SumsQuery
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.estimates_of_cells import Cells
from hedgerow.inference.region import ReplicateRegion
from hedgerow.inference.score_test import Quadratic
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.execute import draw_tables
from hedgerow.release.plan import Plan, make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.testing.simulated import SimulatedNoise, grid_sums

Z = 1.959963984540054


@dataclass(frozen=True)
class Law:
    """A law on [0, 1] in 101 steps, so that its clamped mean and variance are exact."""

    name: str
    probability: NDArray[np.float64]

    @property
    def mean(self) -> float:
        return float(self.probability @ np.linspace(0, 1, len(self.probability)))

    @property
    def variance(self) -> float:
        grid = np.linspace(0, 1, len(self.probability))
        return float(self.probability @ (grid - self.mean) ** 2)


def laws() -> list[Law]:
    """Return a normal, a skewed and a 0/1 law."""
    grid = np.linspace(0, 1, 101)
    edges = np.concatenate([[0.0], (grid[1:] + grid[:-1]) / 2, [1.0]])
    normal = np.exp(-0.5 * ((grid - 0.45) / 0.15) ** 2)
    skewed = np.diff(edges**0.3)
    binary = np.zeros(101)
    binary[0], binary[-1] = 0.8, 0.2
    return [Law(name, p / p.sum()) for name, p in (("normal", normal), ("skewed", skewed), ("0/1", binary))]


@dataclass(frozen=True)
class Setting:
    relation: str
    n: int
    law: Law
    groups: int
    missing: float

    def __str__(self) -> str:
        extra = (f", {self.groups} groups" if self.groups > 1 else "") + (", 20 % missing" if self.missing else "")
        return f"{self.relation}, n={self.n}, {self.law.name}{extra}"


def settings() -> Iterator[Setting]:
    for relation in ("replace-one", "add-remove"):
        for n in (500, 5000):
            for law in laws():
                yield Setting(relation, n, law, 1, 0.0)
                yield Setting(relation, n, law, 3, 0.0)
                yield Setting(relation, n, law, 1, 0.2)


GROUP_SHARES = np.array([0.5, 0.3, 0.2])


def draw_samples(setting: Setting, runs: int, rng: np.random.Generator) -> Histogram:
    """Return the histogram of fresh samples, one after another; under add-remove their sizes are random too."""
    sizes = np.full(runs, setting.n) if setting.relation == "replace-one" else rng.poisson(setting.n, runs)
    shares = GROUP_SHARES if setting.groups > 1 else np.array([1.0])
    cells = np.outer(shares, np.append(setting.law.probability * (1 - setting.missing), setting.missing)).ravel()
    drawn = rng.multinomial(sizes, cells).reshape(-1, 102)
    cell, index = np.nonzero(drawn)
    return Histogram.from_triplets(cell, np.where(index == 101, -1, index), drawn[cell, index], cells=len(drawn))


@dataclass(frozen=True)
class Result:
    covered: int
    total: int
    width: float

    @property
    def coverage(self) -> float:
        return self.covered / self.total


def plan_of(setting: Setting, statistic: str, **options: Any) -> Plan:
    """Return the plan for the statistic at ε = 1."""
    by = {"g": list(range(setting.groups))} if setting.groups > 1 else None
    asked = {
        "mean": hg.mean("x", bounds=(0, 1), step=0.01),
        "sum": hg.sum("x", bounds=(0, 1), step=0.01),
    }[statistic]
    missing = "drop" if setting.missing or by else "error-if-declared-complete"
    request = parse_request([asked], by=by, epsilon=1.0, delta=1e-6, missing=missing, **options)
    n = setting.n if setting.relation == "replace-one" else None
    return make_plan(request, PublicFacts(Relation(setting.relation), "row", Target.POPULATION, n))


def simulate(setting: Setting, statistic: str, runs: int, rng: np.random.Generator, **options: Any) -> Result:
    """Return how often the interval covers, and its mean width over the oracle's."""
    plan = plan_of(setting, statistic, **options)
    noise = SimulatedNoise(rng)
    # A cell is read by itself, so the cells of one table can be those of many runs; a bootstrap reads its own cells.
    at_once = 1 if options.get("estimator") == "bootstrap" else runs
    sizes = (GROUP_SHARES if setting.groups > 1 else np.array([1.0])) * (1 - setting.missing) * setting.n
    covered, widths = 0, []
    for _ in range(runs // at_once):
        (estimates,) = draw_cells(plan, answers(plan, draw_samples(setting, at_once, rng)), noise)
        low, high = ends(estimates)
        oracle = [oracle_width(estimates[place], setting, statistic, size) for place, size in enumerate(sizes)]
        truths = setting.law.mean * (np.ones(len(sizes)) if statistic == "mean" else sizes)
        covered += int(((low <= np.tile(truths, at_once)) & (np.tile(truths, at_once) <= high)).sum())
        widths.append((high - low) / np.tile(oracle, at_once))
    return Result(covered, runs * len(sizes), float(np.mean(widths)))


def draw_cells(
    plan: Plan, found: dict[Query | SumsQuery, Histogram | GridSums], noise: SimulatedNoise
) -> list[Sequence[hg.Estimate]]:
    """Return what each statistic of a plan says of every cell of the answers, with fresh noise in each."""
    tables = zip(plan.items, draw_tables(plan, found, noise), strict=True)
    return [item.design.estimates(table) for item, table in tables if item.design is not None and table is not None]


def ends(estimates: Sequence[hg.Estimate], level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of all intervals."""
    if isinstance(estimates, Cells):
        return estimates.interval(level)
    intervals = [one.confidence_interval(level) for one in estimates]
    return np.array([one.low for one in intervals]), np.array([one.high for one in intervals])


def answers(plan: Plan, histogram: Histogram) -> dict[Query | SumsQuery, Histogram | GridSums]:
    """Return what an engine answers the one question of a plan, on records of which the histogram is known."""
    (item,) = plan.items
    query = item.design.query
    return {query: grid_sums(query, histogram) if isinstance(query, SumsQuery) else histogram}


def oracle_width(estimate: hg.Estimate, setting: Setting, statistic: str, size: float) -> float:
    """Return 2·z·√(sampling variance + noise variance), both known exactly."""
    law, region = setting.law, estimate._region
    if isinstance(region, ReplicateRegion):
        noise = Quadratic(region.replicates.privacy_variance * (size**2 if statistic == "mean" else 1.0))
    else:
        noise = region.test.read.exact.noise
    if statistic == "mean":
        sampling = law.variance / size
        privacy = float(noise.at(np.array(law.mean - 0.5))) / size**2
    else:
        second = law.variance + law.mean**2
        sampling = size * second
        if setting.relation == "replace-one":
            sampling -= (size * law.mean) ** 2 / setting.n
        privacy = noise.constant
    return 2 * Z * math.sqrt(sampling + privacy)
