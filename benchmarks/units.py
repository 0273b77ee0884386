"""Coverage and width of numbers of units of several rows, by simulation, beside an oracle and the bootstrap.

Run: python -m benchmarks.units [--runs 2000] [--n 200 1000 5000] [--epsilon .3 1 3] [--bootstrap 60]

Units are drawn with replacement from a population of 50,000, each with 1 to 4 rows; δ = 1e-6. Under replace-one their
number is n, under add-remove it is Poisson. All runs of a setting are read at once, as the cells of one table: exact
sums over the units drawn, with the noise of the release that the library plans (`plan`). Seeds are fixed. For each
population, statistic, relation, n and ε a line shows:

* ``cover``: the coverage of the 95 % interval, and ``plain`` that of the same without noise, by 1.96 standard errors.
* ``width``: its mean width over the oracle's, 2 · 1.96 · √(true sampling variance + linearised variance of its noise).
* ``s.e.``: the mean standard error over the standard deviation of the estimates that are reliable.
* ``boot``: the mean width of the bootstrap's intervals at the same budget, over that of these.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
from benchmarks.aims import COVERAGE, least_coverage
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.inference.joint.functions import gradient
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.joint_statistic import JointStatistic
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.release.plan import Plan
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
SEED, SIZE, LIMIT, DELTA = 20261122, 50_000, 4, 1e-6
BOUNDS = (0.0, 100.0)
STATISTICS = ("mean", "sum", "ratio", "count", "mean by cell", "sum by cell", "count by cell")
POPULATIONS = ("levels", "rows", "sizes", "skew", "heap", "binary", "rare")


@dataclass(frozen=True)
class Population:
    """Units with their rows: two values, a cell of 0 or 1 and the unit of each row."""

    unit: NDArray[np.int64]
    x: Floats
    y: Floats
    cell: NDArray[np.int64]


def population(name: str) -> Population:
    """Return a population of `SIZE` units of 1 to `LIMIT` rows.

    The values of one unit are alike (levels), have nothing in common (rows), or grow with the number of its rows
    (sizes); the others are alike and lognormal, mostly 0, 0 or 100 with even chances, or 100 for one unit in 50.
    """
    rng = np.random.default_rng([SEED, POPULATIONS.index(name)])
    rows = rng.integers(1, LIMIT + 1, SIZE)
    unit = np.repeat(np.arange(SIZE), rows)
    level, own = rng.normal(40.0, 15.0, SIZE), rng.normal(0.0, 15.0, len(unit))
    x = {
        "levels": level[unit] + 0.2 * own,
        "rows": 40.0 + own,
        "sizes": 10.0 + 15.0 * rows[unit] + 0.5 * own,
        "skew": np.exp(0.08 * (level[unit] - 40.0) + 0.02 * own + 1.5),
        "heap": np.where(rng.random(SIZE) < 0.7, 0.0, level)[unit] + np.where(rng.random(len(unit)) < 0.1, own, 0.0),
        "binary": 100.0 * (level[unit] > 40.0),
        "rare": 100.0 * (rng.random(SIZE) < 0.02)[unit],
    }[name]
    y = np.clip(60.0 + 0.3 * level[unit] + 0.3 * own, *BOUNDS)
    return Population(unit, np.clip(np.rint(x), *BOUNDS), y, rng.integers(0, 2, len(unit)))


def planned(name: str, relation: str, n: int, epsilon: float, estimator: str) -> Plan:
    """Return the plan of a statistic alone, for n units."""
    empty = {"x": [50.0] * n, "y": [50.0] * n, "cell": [0] * n, "unit": list(range(n))}
    survey = hg.open(pa.table(empty), relation=relation, unit={"column": "unit", "max_rows": LIMIT})
    both = {"x": BOUNDS, "y": BOUNDS}
    asked = {"mean": hg.mean("x", bounds=BOUNDS), "sum": hg.sum("x", bounds=BOUNDS), "count": hg.count()}
    asked["ratio"] = hg.ratio("x", "y", bounds=both)
    by = {"cell": [0, 1]} if name.endswith("cell") else None
    return survey.plan([asked[name.split()[0]]], by=by, epsilon=epsilon, delta=DELTA, estimator=estimator)


def totals(people: Population, name: str, columns: int) -> Floats:
    """Return what each unit has in the first cell: totals of its grid integers, and the number of its rows."""
    kept = people.cell == 0 if name.endswith("cell") else np.ones(len(people.unit), bool)
    steps = 2.0**20
    values = [np.floor(one / 100.0 * steps + 0.5) for one in (people.x, people.y)][:columns]
    return np.stack(
        [np.bincount(people.unit[kept], one[kept], SIZE) for one in values]
        + [np.bincount(people.unit[kept], minlength=SIZE).astype(float)],
        axis=1,
    )


@dataclass(frozen=True)
class Line:
    """What one setting shows."""

    cover: float
    plain: float
    width: float
    error: float
    boot: float


def setting(people: Population, name: str, relation: str, n: int, epsilon: float, runs: int, boot: int) -> Line:
    """Simulate one setting."""
    plan = planned(name, relation, n, epsilon, "auto")
    (item,) = plan.items
    design, mechanism = item.design, item.mechanism
    assert isinstance(design, JointStatistic) and isinstance(mechanism, JointMoments)
    joint = design.release.design
    units = totals(people, name, len(joint.values))
    rng = np.random.default_rng([SEED, n, runs])
    monomials = mechanism.monomials()
    each = np.stack([np.prod([units[:, i] ** power for i, power in one], axis=0) for one in monomials], axis=1)
    factors = np.array([[float(number.polynomial.get(m, 0)) for number in mechanism._listed()] for m in monomials])
    each = each @ factors
    random = relation == "add-remove"
    sizes = rng.poisson(n, runs) if random else np.full(runs, n)
    exact = np.stack([each[rng.integers(SIZE, size=size)].sum(axis=0) for size in sizes])
    sds, law = mechanism.noise_sds(), mechanism.noise_law.name
    drawn = rng.standard_normal(exact.shape) if law == "gaussian" else rng.laplace(0.0, math.sqrt(0.5), exact.shape)
    shown = [AdditiveTable(({},) * runs, mechanism.names, values, sds, law) for values in (exact + sds * drawn, exact)]
    read = design.estimates(shown[0])
    # The oracle: slopes at the truth.
    function = joint.functions[design.place]
    whole = joint.totals(AdditiveTable(({},), mechanism.names, n * each.mean(axis=0)[None, :], sds, law), mechanism)
    slopes = gradient(function, whole.totals)[0]
    truth = float(function(whole.totals.astype(complex)).real[0])
    steps = np.array([2.0**20] * len(joint.values))
    features = np.concatenate([2.0 * units[:, :-1] / steps - units[:, -1:], units[:, -1:]], axis=1) @ slopes[1:]
    sampling = n * float(np.mean(features**2) if random else features.var())
    noise = float(slopes @ whole.noise_covariance() @ slopes)
    oracle = 2.0 * 1.96 * math.sqrt(sampling + noise)
    low, high = read.interval(0.95)
    plain = function(joint.totals(shown[1], mechanism).totals.astype(complex)).real
    width, clear = float(np.mean(high - low)), read.reliable & np.isfinite(read.standard_error)
    spread = np.std(read.estimate[clear]) if clear.mean() > 0.9 else math.nan
    error = float(np.mean(read.standard_error[clear]) / spread)
    covered = float(np.mean((low <= truth) & (truth <= high)))
    near = float(np.mean(np.abs(plain - truth) <= 1.96 * math.sqrt(sampling)))
    wider = bootstrapped(people, name, relation, n, epsilon, boot) / width if boot else math.nan
    return Line(covered, near, width / oracle, error, wider)


def bootstrapped(people: Population, name: str, relation: str, n: int, epsilon: float, runs: int) -> float:
    """Return the mean width of the bootstrap's intervals at the same budget; NaN where it does not serve."""
    if name == "ratio":
        return math.nan
    (item,) = planned(name, relation, n, epsilon, "bootstrap").items
    design, mechanism = item.design, item.mechanism
    assert isinstance(design, UnitBootstrapDesign) and mechanism is not None
    query, rng, noise = design.query, np.random.default_rng(SEED), SimulatedNoise(SEED)
    kept = people.cell == 0 if query.by else np.ones(len(people.unit), bool)
    t = np.zeros(len(people.unit)) if query.value is None else np.rint(people.x / 100.0 * (query.row_size - 1))
    sums = np.bincount(people.unit[kept], t[kept], SIZE).astype(np.int64)
    rows = np.bincount(people.unit[kept], minlength=SIZE)
    widths = []
    for _ in range(runs):
        chosen = rng.integers(SIZE, size=n)
        chosen = chosen[rows[chosen] > 0]
        code = (rows[chosen] - 1) * query.totals + sums[chosen]
        none = np.zeros(query.cells, np.int64)
        cells = np.zeros_like(code)
        histogram = Histogram.merged(cells, code, np.ones_like(code), missing=none, outside=0)
        interval = design.estimates(design.table(histogram, mechanism, noise))[0].confidence_interval()
        widths.append(interval.high - interval.low)
    return float(np.mean(widths))


def settings(sizes: list[int], epsilons: list[float]) -> Iterator[tuple[str, str, str, int, float]]:
    yield from product(POPULATIONS, STATISTICS, ("replace-one", "add-remove"), sizes, epsilons)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--n", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--bootstrap", type=int, default=60, help="runs of the bootstrap in each setting; 0: none")
    parser.add_argument("--statistics", nargs="+", default=list(STATISTICS))
    parser.add_argument("--populations", nargs="+", default=list(POPULATIONS))
    chosen = parser.parse_args()
    people = {name: population(name) for name in chosen.populations}
    found: dict[str, list[Line]] = {}
    print(f"{'population':11}{'statistic':15}{'relation':12}{'n':>6}{'ε':>5}  cover  plain  width   s.e.   boot")
    for name, statistic, relation, n, epsilon in settings(chosen.n, chosen.epsilon):
        if name not in people or statistic not in chosen.statistics:
            continue
        if statistic.startswith("count") and name != "levels":
            continue
        line = setting(people[name], statistic, relation, n, epsilon, chosen.runs, chosen.bootstrap)
        found.setdefault(statistic, []).append(line)
        figures = f"{line.cover:7.3f}{line.plain:7.3f}{line.width:7.2f}{line.error:7.2f}{line.boot:7.2f}"
        print(f"{name:11}{statistic:15}{relation:12}{n:6}{epsilon:5}{figures}", flush=True)
    least = least_coverage(chosen.runs)
    for statistic, lines in found.items():
        below = sum(line.cover < least for line in lines)
        fair = [line.width for line in lines if line.plain >= COVERAGE]
        boot = float(np.median([line.boot for line in lines]))
        print(
            f"{statistic}: {len(lines)} settings, least coverage {min(line.cover for line in lines):.3f}, {below} "
            f"below {least:.3f}; width over the oracle's {np.median(fair):.2f}; bootstrap {boot:.2f}"
        )


if __name__ == "__main__":
    main()
