"""Coverage, width and standard errors of weighted means, shares and ratios, by simulation.

Run: python -m benchmarks.weights [--runs 2000] [--epsilon 1.0] [--relation replace-one]

The population are the 10,000 people of the PUMS extract. A sample of n is drawn with replacement and with probability
in proportion to a size: years of schooling, age, or the root of income. The weight of a record is inverse to its size,
so that weighted means of the sample are about the means of the population. The release is the one that the library
plans for the statistic alone, δ = 1e-6; 24 settings: a mean of income, of age, a share, a ratio; three sizes; two n.
For each a line shows

* ``plain``: the coverage of 1.96 of its standard errors without noise;
* ``cover (below above)``: the coverage of the released interval, and how often it lies below or above the truth;
* ``width``: its mean width over the oracle's, which knows the true sampling variance and the linearised variance of the
  noise; a star marks where it is to be at most 1.10: plain ≥ .94, the oracle's half-width below a quarter of what is
  possible;
* ``noise``: the oracle's standard error over its sampling part;
* ``s.e.``: the mean standard error over the robust standard deviation of the estimates;
* ``unweighted``: how far the plain mean would lie off, in standard errors.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
from benchmarks.aims import COVERAGE, WIDTH, least_coverage
from numpy.typing import NDArray
from reproduction.pums import pums

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target, Weights
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import gradient, value_of
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.joint.joint_release import joint_release
from hedgerow.statistics.statistic import Statistic

Floats = NDArray[np.float64]
SEED, DELTA = 20261122, 1e-6
BOUNDS = {"age": (0.0, 100.0), "educ": (1.0, 16.0), "income": (0.0, 200_000.0), "married": (0.0, 1.0)}
SIZES = ("educ", "age", "root income")
STATISTICS = ("mean income", "mean age", "share married", "ratio income/educ")
CHUNK = 250


@lru_cache
def people() -> dict[str, Floats]:
    return {name: np.clip(pums()[name], *ends) for name, ends in BOUNDS.items()}


def size_of(name: str) -> Floats:
    """Return the size of each person: the probability to be drawn is in proportion to it."""
    table = people()
    return np.sqrt(1000.0 + table["income"]) if name == "root income" else table[name] + 1.0


def asked(name: str) -> tuple[Statistic, tuple[str, ...]]:
    if name.startswith("ratio"):
        both = ("income", "educ")
        return hg.ratio(*both, bounds={column: BOUNDS[column] for column in both}), both
    column = name.split()[1]
    step = 1 if column == "married" else None
    return hg.mean(column, bounds=BOUNDS[column], step=step), (column,)


@dataclass(frozen=True)
class Line:
    name: str
    plain: float
    below: float
    above: float
    width: float
    counts: bool
    noise: float
    bias: float
    off: float
    runs: int

    @property
    def coverage(self) -> float:
        return 1.0 - self.below - self.above

    def misses(self) -> list[str]:
        found = ["coverage"] if self.coverage < least_coverage(self.runs) else []
        return found + (["width"] if self.counts and self.width > WIDTH else [])

    def __str__(self) -> str:
        cover = f"{self.plain:.3f}  {self.coverage:.3f} ({self.below:.3f} {self.above:.3f})"
        figures = f"{self.width:6.3f}{' *'[self.counts]} {self.noise:6.2f} {self.bias:6.3f} {self.off:8.1f}"
        return " ".join([f"{self.name:44}", cover, figures, *self.misses()])


HEADER = f"{'statistic, size, n':44} plain  cover (below above)    width   noise   s.e. unweighted"  # of one line


def measure(statistic: str, size: str, n: int, runs: int, *, epsilon: float, relation: Relation) -> Line:
    one, columns = asked(statistic)
    sizes, table = size_of(size), people()
    weight = sizes.mean() / sizes
    most = float(weight.max())
    weights = Weights.declared(("w", most))
    known = n if relation is Relation.REPLACE_ONE else None
    facts = PublicFacts(relation, "row", Target.POPULATION, known, None, weights)
    release = joint_release(
        [one], (), facts, Missing.DECLARED_COMPLETE, budget=Budget(epsilon, DELTA), laws=(LAPLACE, GAUSSIAN)
    )
    design, mechanism = release.design, release.choice.mechanism
    asked_of, (function,) = design.asked, design.functions
    pairs = list(combinations_with_replacement(range(1 + len(asked_of.features)), 2))
    moments = [asked_of.moment(a, b) for a, b in pairs]
    public = float(n) if mechanism.layout.presence == "public" else None
    mixing = mechanism.reading(moments, n=public).mixing
    law = mechanism.noise_law.name
    # w/w_max · u for each column, and behind them 2w/w_max − 1.
    t = weight / most
    scaled = [t * (2.0 * (table[c] - BOUNDS[c][0]) / (BOUNDS[c][1] - BOUNDS[c][0]) - 1.0) for c in columns]
    features = [np.ones_like(t), *scaled, 2.0 * t - 1.0]
    each = np.stack([features[a] * features[b] for a, b in pairs], axis=1)
    rng = np.random.default_rng([SEED, STATISTICS.index(statistic), SIZES.index(size), n])
    chance = sizes / sizes.sum()
    drawn = [rng.multinomial(n, chance, size=min(CHUNK, runs - start)) @ each for start in range(0, runs, CHUNK)]
    exact = np.concatenate(drawn)
    shape = runs, mixing.shape[1]
    noise = rng.standard_normal(shape) if law == "gaussian" else rng.laplace(0.0, math.sqrt(0.5), shape)

    def cells(values: Floats, *, noisy: bool) -> SideBySide:
        own = mixing * float(noisy)
        return SideBySide((JointTotals.of_moments(values, own, law, n=known, powers=asked_of.features),))

    at = cells(n * (chance @ each)[None], noisy=False)
    truth, slopes = float(value_of(function, at.totals)[0]), gradient(function, at.totals)[0]
    without = cells(exact, noisy=False)
    values = value_of(function, without.totals)
    own = gradient(function, without.totals)
    spread = np.sqrt(np.maximum(without.sampling_covariance(own, own, homogeneous=True), 0.0))
    found = cells(exact + noise @ mixing.T, noisy=True)
    oracle = math.sqrt(float(values.var()) + float(slopes @ found.noise @ slopes))
    read = estimate(function, found)
    low, high = read.accepted(0.95)
    possible = function.high - function.low if math.isfinite(function.high - function.low) else 2.0 * abs(truth)
    plain = float((np.abs(values - truth) <= 1.96 * spread).mean())
    robust = float(np.quantile(read.value, 0.8413) - np.quantile(read.value, 0.1587)) / 2.0
    first = table[columns[0]]
    biased = float(chance @ first) / (float(chance @ table[columns[1]]) if len(columns) > 1 else 1.0)
    return Line(
        f"{statistic}, {size}, {n:,}: {release.choice.name.split()[0]}",
        plain,
        float((high < truth).mean()),
        float((low > truth).mean()),
        float((high - low).mean()) / (3.92 * oracle),
        plain >= COVERAGE and 1.96 * oracle < possible / 4.0,
        oracle / float(values.std()),
        float(read.standard_error.mean()) / robust,
        abs(biased - truth) / oracle,
        runs,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--relation", choices=[str(one) for one in Relation], default="replace-one")
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 5000])
    arguments = parser.parse_args()
    print(HEADER)
    lines = []
    for statistic, size, n in product(STATISTICS, SIZES, arguments.n):
        given = {"epsilon": arguments.epsilon, "relation": Relation(arguments.relation)}
        lines.append(measure(statistic, size, n, arguments.runs, **given))
        print(lines[-1], flush=True)
    print(f"{sum(not one.misses() for one in lines)} of {len(lines)} meet coverage and width")


if __name__ == "__main__":
    main()
