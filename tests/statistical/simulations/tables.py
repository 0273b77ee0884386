"""Simulated tables: how often the intervals of counts and totals cover, of large cells and of small ones.

Twelve cells that hold from 30 % down to .2 % of 2,000 records; values are skewed, and larger in smaller cells. Each
setting is planned by the code that releases; a seeded stand-in draws the noise, of all runs at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tests.statistical.simulations.small_cells import answered

import hedgerow as hg
from hedgerow.facts.declared import Protection
from hedgerow.facts.relation import Relation, Target
from hedgerow.release.execute import draw_tables
from hedgerow.resampling.counted_values import Histogram
from hedgerow.tables.table_options import choose
from hedgerow.testing.simulated import SimulatedNoise

N = 2000
SHARES = np.array([0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.006, 0.002])
SHARES = np.append(SHARES, 1 - SHARES.sum())[:12] / SHARES.sum()
BY = {"size": ["a", "b", "c"], "kind": ["p", "q", "r", "s"]}
TOP = 100
SMALL = slice(9, 12)


def value_laws() -> np.ndarray:
    """Return P(value | cell), cells × 101: geometric-like with a mean that rises from 8 to 41, clamped at 100."""
    value = np.arange(TOP + 1)
    laws = np.stack([np.exp(-value / (8.0 + 3.0 * cell)) for cell in range(len(SHARES))])
    return laws / laws.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Setting:
    statistic: str
    relation: str
    target: str
    noise: str
    epsilon: float

    def __str__(self) -> str:
        return f"{self.statistic:<6} {self.relation:<12} {self.target:<11} {self.noise:<10} ε={self.epsilon:g}"


@dataclass(frozen=True)
class Coverage:
    covered: np.ndarray
    runs: int
    width: float

    @property
    def least(self) -> float:
        return float(self.covered.min() / self.runs)

    @property
    def small(self) -> float:
        return float(self.covered[SMALL].mean() / self.runs)

    @property
    def overall(self) -> float:
        return float(self.covered.mean() / self.runs)


def settings() -> Iterator[Setting]:
    for statistic in ("count", "sum"):
        for relation in ("replace-one", "add-remove"):
            for target in ("population", "file"):
                for noise in ("geometric", "gaussian"):
                    for epsilon in (0.5, 4.0):
                        yield Setting(statistic, relation, target, noise, epsilon)


def histogram_of(drawn: np.ndarray, *, valued: bool) -> Histogram:
    """Return counts (cells × values) as a histogram; records alone are counted at index 0."""
    if not valued:
        drawn = drawn.sum(axis=1, keepdims=True)
    cell, index = np.nonzero(drawn)
    return Histogram.from_triplets(cell, index, drawn[cell, index], cells=len(drawn))


def simulate(setting: Setting, runs: int, rng: np.random.Generator, *, sampling_only: bool = False) -> Coverage:
    """Return how often each cell's interval covers; sabotaged, it is computed from the sampling error alone."""
    summed = setting.statistic == "sum"
    asked = hg.sum("value", bounds=(0, TOP), step=1) if summed else hg.count()
    told = Protection(Relation(setting.relation), "row", Target(setting.target), ())
    fixed = setting.relation == "replace-one"
    delta = 0.0 if setting.noise == "geometric" else 1e-6
    options = {"by": BY, "epsilon": setting.epsilon, "delta": delta, "noise": setting.noise}
    choice = choose(asked, told, None, n=N if fixed else None, **options)
    query = choice.plan.items[0].design.query
    law, value = SHARES[:, None] * value_laws(), np.arange(TOP + 1)
    expected = N * (law @ value if summed else SHARES)
    drawn = rng.multinomial(np.full(runs, N) if fixed else rng.poisson(N, runs), law.ravel()).reshape(-1, len(value))
    truth = np.tile(expected, runs) if setting.target == "population" else drawn @ (value if summed else value**0)
    # A cell is read by itself: the cells of one table are those of all runs, one run after another.
    (table,) = draw_tables(
        choice.plan, {query: answered(query, histogram_of(drawn, valued=summed))}, SimulatedNoise(rng)
    )
    found = choice.plan.items[0].design.estimates(table).columns(0.95)
    low, high = found.low, found.high
    if sampling_only:
        low, high = found.estimate - 1.96 * found.sampling_error, found.estimate + 1.96 * found.sampling_error
    covered = ((low <= truth) & (truth <= high)).reshape(runs, -1).sum(axis=0)
    return Coverage(covered, runs, float(np.median(np.median((high - low).reshape(runs, -1), axis=1))))
