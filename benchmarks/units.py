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

With ``--persons --n 500 5000 --epsilon 1 3 --runs 500``: means, sums, ratios, counts, variances, standard deviations,
covariances, correlations, a function of means, and differences of two cells, of units of 1 to 8 rows whose values have
the correlation 0, .3 or .9 within a unit. A unit has rows in both cells. With ``--weights`` the same of single rows
with weights from 1 to 5, of at most 5.

With ``--distributions --n 500 5000 --epsilon 1 3 --runs 200``: quantiles, a share up to a value, a bin and a Gini
coefficient of the same units, each row counting alike (rows) or each unit (unit), and of rows with weights. The oracle
reads the same noisy counts and knows how units vary.

``--quick`` takes n = 500 and 5,000, ε = 1 and 3, and 100 runs, 30 of distributions; ``--part 2/3`` every third line.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.aims import COVERAGE, least_coverage
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.engines.query import Indicator, ValueOnGrid
from hedgerow.inference.distribution.noisy_distribution import Read
from hedgerow.inference.distribution.vote_spread import VoteSpread
from hedgerow.inference.joint.arithmetic import EstimateTerm, Expression, JointOperation
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import gradient
from hedgerow.inference.joint.totals import AcrossCells, SideBySide
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.vote_tree import VoteTree
from hedgerow.noise.lattice import AdditiveTable
from hedgerow.release.designs.column_distribution import DistributionStatistic
from hedgerow.release.designs.joint.joint_release import JointDesign
from hedgerow.release.designs.joint.joint_statistic import JointStatistic
from hedgerow.release.designs.joint.unit_products import across_cells, read_as
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign
from hedgerow.release.designs.voting import CastVotes
from hedgerow.release.plan import Plan
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
SEED, SIZE, LIMIT, DELTA = 20261122, 50_000, 4, 1e-6
BOUNDS = (0.0, 100.0)
STATISTICS = ("mean", "sum", "ratio", "count", "mean by cell", "sum by cell", "count by cell")
MOST, HEAVIEST, ALIKE, RELATIONS = 8, 5.0, (0.0, 0.3, 0.9), ("replace-one", "add-remove")
OF_PERSONS = ("mean", "sum", "ratio", "count", "variance", "deviation", "covariance", "correlation", "function")
OF_PERSONS = (*OF_PERSONS, "mean difference", "sum difference", "variance difference")
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
    yield from product(POPULATIONS, STATISTICS, RELATIONS, sizes, epsilons)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of units: two values, a cell of 0 or 1 and the unit of each."""

    unit: NDArray[np.int64]
    x: Floats
    y: Floats
    cell: NDArray[np.int64]
    weight: Floats

    def indices(self, value: ValueOnGrid | Indicator) -> NDArray[np.int64]:
        """Return the grid indices of a column."""
        share = {"x": self.x / 100.0, "y": self.y / 100.0, "w": self.weight / HEAVIEST}[value.column]
        return np.floor(share * (value.size - 1) + 0.5).astype(np.int64)

    def single(self) -> Rows:
        """Return `SIZE` of the rows, each a unit of its own."""
        parts = (part[:SIZE] for part in (self.x, self.y, self.cell, self.weight))
        return Rows(np.arange(SIZE), *parts)


@dataclass(frozen=True)
class Persons:
    """Units with their rows: the total of each feature of the release by unit and cell, (units, cells, features)."""

    totals: Floats

    @classmethod
    def of(cls, rows: Rows, design: JointDesign, *, by_cell: bool) -> Persons:
        """Return what each unit has, from f ∈ [−1, 1] of each row; behind the features the number of rows."""
        read = [rows.indices(value) for value in design.read] or [np.zeros(len(rows.unit), np.int64)]
        features = design.scaled(np.stack(read, axis=1)) if design.read else np.ones((len(rows.unit), 1))
        cells = 2 if by_cell else 1
        totals = np.zeros((SIZE, cells, features.shape[1]))
        np.add.at(totals, (rows.unit, rows.cell * by_cell), features)
        return cls(totals)

    def numbers(self, mechanism: JointMoments) -> Floats:
        """Return what each unit adds to every number of every cell, (units, cells, numbers)."""
        steps = [float(feature.steps * (mechanism.layout.parts or 1)) for feature in mechanism.layout.features]
        every = []
        for number in mechanism.coordinates:
            first, *second = number.of
            added = self.totals[:, :, first] * steps[first]
            for i in second:
                added = added * np.roll(self.totals, -number.lag, axis=1)[:, :, i] * steps[i]
            every.append(added)
        return np.stack(every, axis=2)


def rows_of_persons(alike: float) -> Rows:
    """Return `SIZE` units of 1 to `MOST` rows, whose values have this correlation within a unit; x and y have .5."""
    rng = np.random.default_rng([SEED, int(100 * alike)])
    unit = np.repeat(np.arange(SIZE), rng.integers(1, MOST + 1, SIZE))
    level, own = rng.normal(size=(2, SIZE))[:, unit], rng.normal(size=(2, len(unit)))
    first, other = math.sqrt(alike) * level + math.sqrt(1.0 - alike) * own
    second = 0.5 * first + math.sqrt(0.75) * other
    x, y = (np.clip(np.rint(45.0 + 18.0 * part), *BOUNDS) for part in (first, second))
    cell, weight = rng.integers(0, 2, len(unit)), rng.integers(1, 6, len(unit)).astype(float)
    return Rows(unit, x, y, cell, weight)


@dataclass(frozen=True, eq=False)
class _EachRun(AcrossCells):
    """Second moments between two cells, of many runs side by side: one entry a run."""

    def rows(self, index: slice | NDArray[np.intp]) -> AcrossCells:
        return replace(self, moments=self.moments[index])

    def between(self, other: AcrossCells) -> Floats:
        return np.asarray(self.matrix @ self.moments @ self.matrix.T)

    def noise(self, other: AcrossCells, slopes: Floats, others: Floats) -> Floats:
        first, second = np.square(slopes @ self.matrix), np.square(others @ self.matrix)
        return np.asarray(np.einsum("ri,ij,rj->r", first, np.square(self.sds[0, 1]), second))


def planned_of_persons(name: str, relation: str, n: int, epsilon: float, *, weighted: bool) -> Plan:
    """Return the plan of a statistic alone, for n units of 1 to `MOST` rows, or for n rows with weights."""
    empty = pa.table({"x": [50.0] * n, "y": [50.0] * n, "w": [1.0] * n, "cell": [0] * n, "unit": list(range(n))})
    survey = hg.open(empty, relation=relation, unit="row" if weighted else {"column": "unit", "max_rows": MOST})
    both = {"x": BOUNDS, "y": BOUNDS}
    asked = {
        "mean": hg.mean("x", bounds=BOUNDS),
        "sum": hg.sum("x", bounds=BOUNDS),
        "ratio": hg.ratio("x", "y", bounds=both),
        "count": hg.count(),
        "variance": hg.variance("x", bounds=BOUNDS),
        "deviation": hg.standard_deviation("x", bounds=BOUNDS),
        "covariance": hg.covariance("x", "y", bounds=both),
        "correlation": hg.correlation("x", "y", bounds=both),
        "function": hg.function(lambda t: t["x"] * t["y"] / 100.0, columns=both, name="product"),
    }
    by = {"cell": [0, 1]} if name.endswith("difference") else None
    weights = ("w", HEAVIEST) if weighted else None
    return survey.plan([asked[name.split()[0]]], by=by, epsilon=epsilon, delta=DELTA, weights=weights)


def beside(design: JointDesign, mechanism: JointMoments, values: Floats) -> SideBySide:
    """Return the totals of every run, (runs, cells, numbers), cell beside cell."""
    sds, law, runs = mechanism.noise_sds(), mechanism.noise_law.name, len(values)
    blocks = [
        design.totals(AdditiveTable(({},) * runs, mechanism.names, values[:, cell], sds, law), mechanism)
        for cell in range(values.shape[1])
    ]
    if len(blocks) > 1 and any(one.kind == "across" for one in mechanism.coordinates):
        scale = np.array(
            [math.prod(float(mechanism.layout.features[i].steps) for i in one.of) for one in mechanism.coordinates]
        )
        places = [place for place, one in enumerate(mechanism.coordinates) if one.kind == "across"]
        every = [across_cells(run[:, places] / scale[places], mechanism, sds) for run in values]
        first = next(one for one in every if one is not None)
        moments = np.stack([one.moments[0, 1] for one in every if one is not None])
        matrix = read_as(design.of_rows)
        features = first.matrix if matrix is None else matrix[:, 1:]
        shared = _EachRun(first.released, moments, first.sds, features, np.zeros(runs, np.intp))
        blocks = [replace(block, across=shared) for block in blocks]
    return SideBySide(tuple(blocks))


def of_persons(rows: Rows, name: str, setting: tuple[str, int, float], runs: int, *, weighted: bool) -> Line:
    """Simulate one setting of persons: a statistic, or the difference of its values in two cells."""
    relation, n, epsilon = setting
    (item,) = planned_of_persons(name, relation, n, epsilon, weighted=weighted).items
    design, mechanism = item.design, item.mechanism
    assert isinstance(design, JointStatistic) and isinstance(mechanism, JointMoments)
    joint, function = design.release.design, design.function
    people = Persons.of(rows, joint, by_cell=name.endswith("difference"))
    each, random = people.numbers(mechanism), relation == "add-remove"
    rng = np.random.default_rng([SEED, n, runs])
    sizes = rng.poisson(n, runs) if random else np.full(runs, n)
    exact = np.stack([each[rng.integers(SIZE, size=size)].sum(axis=0) for size in sizes])
    sds, law = mechanism.noise_sds(), mechanism.noise_law.name
    drawn = rng.standard_normal(exact.shape) if law == "gaussian" else rng.laplace(0.0, math.sqrt(0.5), exact.shape)
    noisy, plain, whole = (
        beside(joint, mechanism, values) for values in (exact + sds * drawn, exact, n * each.mean(axis=0)[None])
    )
    if len(noisy.blocks) > 1:
        node = JointOperation("-", EstimateTerm(function, (0, 0)), EstimateTerm(function, (0, 1)))
        function = Expression(node, {(0, cell): place for cell, place in enumerate(noisy.places)})
    read = estimate(function, noisy)
    # The oracle knows the law of clusters: slopes at the truth, and what each unit of the population adds.
    slopes = gradient(function, whole.totals)[0]
    truth = float(function(whole.totals.astype(complex)).real[0])
    matrix = read_as(joint.of_rows)
    features = people.totals if matrix is None else people.totals @ matrix[:, 1:].T
    added = sum(features[:, cell] @ slopes[place][1:] for cell, place in enumerate(noisy.places))
    sampling = n * float(np.mean(added**2) if random else np.var(added))
    oracle = 2.0 * 1.96 * math.sqrt(sampling + float(slopes @ whole.noise @ slopes))
    low, high = read.accepted(0.95)
    near = function(plain.totals.astype(complex)).real
    clear = read.reliable & np.isfinite(read.standard_error)
    spread = np.std(read.value[clear]) if clear.mean() > 0.9 else math.nan
    return Line(
        float(np.mean((low <= truth) & (truth <= high))),
        float(np.mean(np.abs(near - truth) <= 1.96 * math.sqrt(sampling))),
        float(np.mean(high - low)) / oracle,
        float(np.mean(read.standard_error[clear]) / spread),
        math.nan,
    )


def persons(chosen: argparse.Namespace) -> None:
    """Print coverage and width of what is asked of persons, for rows that are unlike, and more and more alike."""
    lines: dict[str, list[Line]] = {}
    print(f"{'alike':>6} {'statistic':22}{'relation':12}{'n':>6}{'ε':>5}  cover  plain  width   s.e.")
    for alike in (0.0,) if chosen.weights else ALIKE:
        rows = rows_of_persons(alike).single() if chosen.weights else rows_of_persons(alike)
        for name, relation, n, epsilon in chosen.part(product(OF_PERSONS, RELATIONS, chosen.n, chosen.epsilon)):
            line = of_persons(rows, name, (relation, n, epsilon), chosen.runs, weighted=chosen.weights)
            lines.setdefault(name, []).append(line)
            figures = f"{line.cover:7.3f}{line.plain:7.3f}{line.width:7.2f}{line.error:7.2f}"
            print(f"{alike:6} {name:22}{relation:12}{n:6}{epsilon:5}{figures}", flush=True)
    summarised(lines, chosen.runs, bootstrap=False)


LEAVES = 101
OF_COLUMN = {
    "median": hg.quantile("x", 0.5, bounds=BOUNDS, step=1),
    "quantile .9": hg.quantile("x", 0.9, bounds=BOUNDS, step=1),
    "share up to 30": hg.cdf("x", at=30, bounds=BOUNDS, step=1),
    "bin": hg.histogram("x", bins=[40, 60], bounds=BOUNDS, step=1)[0],
    "gini": hg.gini("x", bounds=BOUNDS, step=1),
}
COUNTED = ("rows", "unit", "weights")


@dataclass(frozen=True)
class Voters:
    """Units with votes: of each its votes by value, and what tells how units vary; (units, values) arrays."""

    votes: NDArray[np.int64]
    squares: NDArray[np.int64]
    products: NDArray[np.int64]
    within: NDArray[np.int64]

    @classmethod
    @lru_cache(maxsize=3)
    def of(cls, rows: Rows, counted: str, parts: int) -> Voters:
        """Return those of a population; with weights each row is a unit, and weighs 1 to 5 of 5."""
        value = rows.x.astype(np.int64)
        if counted == "weights":
            rng, here = np.random.default_rng(SEED), slice(None, None, max(1, len(value) // SIZE))
            value = value[here][:SIZE]
            table = np.zeros((len(value), LEAVES), dtype=np.int64)
            table[np.arange(len(value)), value] = rng.integers(1, 6, len(value)) * parts // 5
            return cls(table, table**2, table**2, table**2)
        table = np.zeros((SIZE, LEAVES), dtype=np.int64)
        np.add.at(table, (rows.unit, value), 1)
        size = table.sum(axis=1, keepdims=True)
        table *= parts // size if counted == "unit" else 1
        up_to = np.cumsum(table, axis=1)
        # Of the bin from 40 to 60 alone: what is left of it, and beyond it, is not read.
        from_40 = np.cumsum(np.where(np.arange(LEAVES) < 40, 0, table), axis=1)
        squares, within = (np.diff(total**2, axis=1, prepend=0) for total in (up_to, from_40))
        return cls(table, squares, table * up_to[:, -1:], within)

    def effect(self, weights: Floats) -> float:
        """Return the variance of Σ weights over the votes of units, over that of votes that are drawn one by one."""
        share = self.votes.mean(axis=0)
        centred = weights - weights @ share / share.sum()
        return float(np.mean((self.votes @ centred) ** 2) / (share @ centred**2))

    def effects(self) -> Floats:
        """Return the effect of the share up to each value but the last."""
        votes, squares, products = (part.mean(axis=0) for part in (self.votes, self.squares, self.products))
        share = self.curve()
        varies = np.cumsum(squares) - 2.0 * share * np.cumsum(products) + share**2 * products.sum()
        return np.asarray((varies / votes.sum())[:-1] / (share * (1.0 - share))[:-1])

    def curve(self) -> Floats:
        """Return the share of the votes up to each value."""
        return np.asarray(np.cumsum(self.votes.mean(axis=0)) / self.votes.mean(axis=0).sum())


def influence(name: str, curve: Floats) -> Floats:
    """Return what one more vote at each value adds to a statistic, up to a factor."""
    values = np.arange(LEAVES)
    if name == "gini":
        gini = float((curve * (1.0 - curve)).sum() / (1.0 - curve).sum())
        return np.asarray(np.cumsum((1.0 - 2.0 * curve + gini)[::-1])[::-1])
    if name == "bin":
        return np.asarray((values >= 40) & (values <= 60), dtype=float)
    at = 30 if name.startswith("share") else int(np.searchsorted(curve, OF_COLUMN[name].probability))
    return np.asarray(values <= at, dtype=float)


def truth_of(name: str, curve: Floats) -> float:
    """Return the statistic of the population."""
    if name == "gini":
        return float((curve * (1.0 - curve)).sum() / (1.0 - curve).sum())
    if name == "bin":
        return float(curve[60] - curve[39])
    return float(curve[30]) if name.startswith("share") else float(np.searchsorted(curve, OF_COLUMN[name].probability))


def planned_of_column(name: str, counted: str, relation: str, n: int, epsilon: float) -> Plan:
    """Return the plan of a statistic of a column alone."""
    empty = pa.table({"x": [50.0] * n, "w": [1.0] * n, "unit": list(range(n))})
    if counted == "weights":
        survey = hg.open(empty, relation=relation)
        return survey.plan(OF_COLUMN[name], epsilon=epsilon, delta=DELTA, weights=("w", 5.0))
    survey = hg.open(empty, relation=relation, unit={"column": "unit", "max_rows": MOST})
    return survey.plan(OF_COLUMN[name], epsilon=epsilon, delta=DELTA, unit_weight=counted)


def of_column(rows: Rows, name: str, counted: str, setting: tuple[str, int, float], runs: int) -> Line:
    """Simulate one setting of a distribution."""
    relation, n, epsilon = setting
    (item,) = planned_of_column(name, counted, relation, n, epsilon).items
    design, mechanism = item.design, item.mechanism
    assert isinstance(design, DistributionStatistic) and isinstance(mechanism, VoteTree)
    release, voters = design.release, Voters.of(rows, counted, mechanism.parts)
    every = np.stack([voters.votes, voters.squares, voters.products, voters.within], axis=1)
    starts = np.arange(0, LEAVES, release.leaves.group)
    curve, sizes = voters.curve(), np.array([n] * runs)
    known = voters.effects() / mechanism.parts
    oracle = VoteSpread(curve[:-1], known, known, voters.effect(influence(name, curve)) / mechanism.parts)
    truth, rng = truth_of(name, curve), np.random.default_rng([SEED, n, runs])
    sizes = rng.poisson(n, runs) if relation == "add-remove" else sizes
    reads: list[tuple[Read, Read]] = []
    for run, size in enumerate(sizes):
        drawn = every[rng.integers(len(every), size=size)].sum(axis=0)[:, None, :]
        votes = CastVotes(*np.add.reduceat(drawn, starts, axis=2))
        (cell,) = release.noisy_votes(votes, mechanism, SimulatedNoise(SEED + run)).cells
        reads.append((item.statistic.read(cell, 0.95), item.statistic.read(replace(cell, spread=oracle), 0.95)))
    low, high, value, error = np.array([(own.low, own.high, own.value, own.standard_error) for own, _ in reads]).T
    ends = np.array([(best.low, best.high) for _, best in reads])
    return Line(
        float(np.mean((low <= truth) & (truth <= high))),
        float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))),
        float(np.mean(high - low) / np.mean(ends[:, 1] - ends[:, 0])),
        float(np.mean(error) / np.std(value)),
        math.nan,
    )


def distributions(chosen: argparse.Namespace) -> None:
    """Print coverage and width of distributions; ``plain`` is the oracle's coverage."""
    lines: dict[str, list[Line]] = {}
    print(f"{'alike':>6} {'counted':9}{'statistic':16}{'relation':12}{'n':>6}{'ε':>5}  cover  plain  width   s.e.")
    for alike, counted in product(ALIKE, COUNTED):
        if counted == "weights" and alike:
            continue
        rows = rows_of_persons(alike)
        named = [name for name in OF_COLUMN if name in chosen.statistics] or OF_COLUMN
        for name, *about in chosen.part(product(named, RELATIONS, chosen.n, chosen.epsilon)):
            line = of_column(rows, name, counted, (about[0], about[1], about[2]), chosen.runs)
            lines.setdefault(f"{counted}, {name}", []).append(line)
            figures = f"{line.cover:7.3f}{line.plain:7.3f}{line.width:7.2f}{line.error:7.2f}"
            print(f"{alike:6} {counted:9}{name:16}{about[0]:12}{about[1]:6}{about[2]:5}{figures}", flush=True)
    summarised(lines, chosen.runs, bootstrap=False)


def summarised(lines: dict[str, list[Line]], runs: int, *, bootstrap: bool) -> None:
    """Print for each statistic the least coverage, how many lines cover too little, and the width."""
    least = least_coverage(runs)
    for statistic, own in lines.items():
        below = sum(line.cover < least for line in own)
        fair = [line.width for line in own if line.plain >= COVERAGE] or [math.nan]
        wider = f"; bootstrap {float(np.median([line.boot for line in own])):.2f}" if bootstrap else ""
        print(
            f"{statistic}: {len(own)} settings, coverage {np.mean([line.cover for line in own]):.3f}, least "
            f"{min(line.cover for line in own):.3f}, {below} below {least:.3f}; width over the oracle's "
            f"{np.median(fair):.2f}, most {max(fair):.2f}{wider}"
        )


def part_of(text: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what takes every N-th of some settings from the K-th on, of ``K/N``."""
    first, every = map(int, text.split("/"))
    return lambda settings: islice(settings, first - 1, None, every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--n", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--bootstrap", type=int, default=60, help="runs of the bootstrap in each setting; 0: none")
    parser.add_argument("--statistics", nargs="+", default=list(STATISTICS))
    parser.add_argument("--populations", nargs="+", default=list(POPULATIONS))
    parser.add_argument("--persons", action="store_true", help="second moments, and differences of cells")
    parser.add_argument("--distributions", action="store_true", help="quantiles, shares and Gini coefficients")
    parser.add_argument("--weights", action="store_true", help="with --persons: single rows with weights")
    parser.add_argument("--quick", action="store_true", help="few runs at n = 500 and 5,000, ε = 1 and 3")
    parser.add_argument("--part", type=part_of, default=part_of("1/1"), metavar="K/N", help="every N-th line from K on")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.n, chosen.epsilon, chosen.runs = [500, 5000], [1.0, 3.0], 30 if chosen.distributions else 100
    if chosen.distributions:
        distributions(chosen)
        return
    if chosen.persons:
        persons(chosen)
        return
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
    summarised(found, chosen.runs, bootstrap=True)


if __name__ == "__main__":
    main()
