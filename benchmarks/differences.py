"""Coverage and width of differences of released means or shares: of two groups, and of two columns of the same people.

Run: python -m benchmarks.differences [--runs 400] [--n 500 5000] [--epsilon 0.3 1 3] [--relation replace-one]
                                     [--shares]

With --shares they are shares of ones, of the populations of 0 and 1 alone; of one column by group a share is counted.

Each run draws a sample from a population of 10,000 records, releases both means in one call with seeded noise, and
subtracts one estimate from the other. The oracle knows the true sampling variance and the linearised variance of the
noise of the plan; its interval is 1.96 of its standard errors on either side. A line shows the oracle's standard error,
the coverage of the 95 % t interval without noise (plain), the coverage and the mean width over the oracle's of the
released interval, and the mean standard error over the standard deviation of the estimates. A star marks a setting in
which the width is to be at most 1.10: plain ≥ .94, and the oracle's half-width below a quarter of what is possible. The
last lines count the settings that fall short: of a coverage of .94 less 2 standard errors, or of that width.

PUMS is read from the folder in HEDGEROW_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pyarrow as pa
from benchmarks.aims import COVERAGE, WIDTH, least_coverage
from numpy.typing import NDArray
from reproduction.pums import pums
from scipy import stats

import hedgerow as hg
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.release.execute import read_histograms
from hedgerow.testing.simulated import SimulatedNoise, Study

Floats = NDArray[np.float64]
SEED, SIZE, Z = 20261122, 10_000, 1.959963984540054


@dataclass(frozen=True, eq=False)
class Population:
    """Two columns between the same bounds, and a group of 0 or 1."""

    name: str
    columns: Floats
    group: NDArray[np.int64]
    bounds: tuple[float, float]

    @classmethod
    def of(cls, name: str, x: Floats, y: Floats, group: Floats, bounds: tuple[float, float]) -> Population:
        return cls(name, np.clip(np.stack([x, y], axis=1), *bounds), group.astype(np.int64), bounds)

    def table(self, rows: NDArray[np.int64]) -> pa.Table:
        x, y = self.columns[rows].T
        return pa.table({"x": x, "y": y, "g": self.group[rows]})


def populations() -> list[Population]:
    age, educ, income, sex = (pums()[name] for name in ("age", "educ", "income", "sex"))
    a, b, c = np.random.default_rng(SEED).standard_normal((3, SIZE))
    return [
        Population.of("PUMS income", income, 3000.0 * educ, sex, (0.0, 200_000.0)),
        Population.of("PUMS age", age, 6.0 * educ, sex, (0.0, 100.0)),
        Population.of("lognormal", np.exp(a), np.exp(0.6 * a + 0.8 * b), c + 0.3 * a > 0.0, (0.0, 20.0)),
        Population.of("rare 0/1", (a > 2.3) * 1.0, (0.5 * a + 0.87 * b > 1.7) * 1.0, c > -0.5, (0.0, 1.0)),
        Population.of("0/1", (a > 0.3) * 1.0, (0.5 * a + 0.87 * b > -0.5) * 1.0, c > -0.5, (0.0, 1.0)),
    ]


@dataclass(frozen=True)
class Setting:
    """One kind of difference, of one population, at one size and one price."""

    kind: str
    population: Population
    n: int
    epsilon: float
    relation: str
    shares: bool = False

    def asked(self) -> list[object]:
        columns = ("x",) if self.kind == "groups" else ("x", "y")
        if self.shares:
            return [hg.proportion(column, value=1.0) for column in columns]
        return [hg.mean(column, bounds=self.population.bounds) for column in columns]

    def truth(self) -> float:
        means = self._parts()
        return float(means[0].mean() - means[1].mean())

    def sampling_variance(self) -> float:
        x, y = self._parts()
        if self.kind == "paired":
            return float(np.var(x - y)) / self.n
        shares = len(x) / SIZE, len(y) / SIZE
        # E[1/n_g] to second order.
        sizes = [self.n * p / (1.0 + (1.0 - p) / (self.n * p)) for p in shares]
        return sum(float(np.var(part)) / size for part, size in zip((x, y), sizes, strict=True))

    def _parts(self) -> tuple[Floats, Floats]:
        x, y = self.population.columns.T
        one = self.population.group == 1
        return (x, y) if self.kind == "paired" else (x[~one], x[one])

    def plain(self, rows: NDArray[np.int64]) -> bool:
        x, y = self.population.columns[rows].T
        one = self.population.group[rows] == 1
        if self.kind == "paired":
            low, high = stats.ttest_1samp(x - y, 0.0).confidence_interval()
        else:
            low, high = stats.ttest_ind(x[~one], x[one], equal_var=False).confidence_interval()
        return bool(low <= self.truth() <= high)

    def differences(self, runs: int) -> Iterator[tuple[Estimate, bool]]:
        rng = np.random.default_rng([SEED, self.n, int(10 * self.epsilon)])
        by = {"g": [0, 1]} if self.kind == "groups" else None
        plan = None
        for _ in range(runs):
            rows = rng.integers(0, SIZE, self.n)
            survey = hg.open(self.population.table(rows), relation=self.relation)
            if plan is None:
                plan = survey.plan(self.asked(), by=by, epsilon=self.epsilon, missing="error-if-declared-complete")
            first, second = Study(plan, read_histograms(plan, survey.source), "").draw(SimulatedNoise(rng))
            yield first - second, self.plain(rows)

    def noise_variance(self, made: Estimate) -> float:
        """Return the variance of the noise by the tangent at the true totals."""
        joint = made._joint
        assert isinstance(joint, JointValue)
        (whole,) = joint.releases
        x, y = self.population.columns.T
        low, high = self.population.bounds
        scaled = (np.stack([x, y], axis=1) - (low + high) / 2.0) / ((high - low) / 2.0)
        one = self.population.group == 1
        parts = [scaled] if self.kind == "paired" else [scaled[~one][:, :1], scaled[one][:, :1]]
        share = self.n / SIZE
        exact = replace(
            whole,
            count=np.array([share * len(part) for part in parts]),
            sums=np.array([share * part.sum(axis=0) for part in parts]),
            products=np.array([share * part.T @ part for part in parts]),
        )
        return float(JointValue((exact,), joint.node).read.tangent.noise[0])


def line(setting: Setting, runs: int) -> tuple[str, bool, bool]:
    """Return the line of a setting, and whether it falls short in coverage and in width."""
    made, plain = zip(*setting.differences(runs), strict=True)
    oracle = float(np.sqrt(setting.sampling_variance() + setting.noise_variance(made[0])))
    ends = np.array([one._region.ends(0.95) for one in made])
    truth = setting.truth()
    covered = float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    width = float(np.mean(ends[:, 1] - ends[:, 0])) / (2.0 * Z * oracle)
    errors = [one.standard_error for one in made if one.standard_error is not None]
    ratio = float(np.mean(errors)) / float(np.std([one.estimate for one in made]))
    low, high = setting.population.bounds
    wanted = float(np.mean(plain)) >= COVERAGE and Z * oracle < (high - low) / 2.0
    text = (
        f"{setting.kind:<8}{setting.population.name:<13}{setting.n:>6}{setting.epsilon:>5g}{oracle:>11.4g}"
        f"{np.mean(plain):>8.3f}{covered:>8.3f}{width:>8.3f}{'*' if wanted else ' '}{ratio:>7.3f}"
    )
    return text, covered < least_coverage(runs), wanted and width > WIDTH


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--n", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--relation", default="replace-one")
    parser.add_argument("--shares", action="store_true")
    given = parser.parse_args()
    print("kind    population        n  eps     oracle   plain   cover   width    s.e.")
    short = [0, 0, 0]
    every = [one for one in populations() if not given.shares or "0/1" in one.name]
    for kind, population, n, epsilon in product(("groups", "paired"), every, given.n, given.epsilon):
        setting = Setting(kind, population, n, epsilon, given.relation, given.shares)
        text, uncovered, wide = line(setting, given.runs)
        print(text, flush=True)
        short = [short[0] + 1, short[1] + uncovered, short[2] + wide]
    print(f"{short[0]} settings; coverage falls short in {short[1]}, width in {short[2]}")


if __name__ == "__main__":
    main()
