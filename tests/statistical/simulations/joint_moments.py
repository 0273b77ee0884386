"""Simulated smooth functions of noisy joint moments: coverage, width and standard errors.

All runs of a setting are read at once, as the cells of one table: exact moments of samples drawn with replacement, with
the noise of the release that the library plans for the statistic alone (`plan`), or of its best one with a named law.
Two populations are those of the PUMS extract (``income/educ``, ``age/educ``); the others are generated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from reproduction.pums import pums

import hedgerow as hg
from hedgerow.engines.query import ValueOnGrid
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.joint.arithmetic import EstimateTerm, Expression, JointOperation
from hedgerow.inference.joint.estimates import JointEstimates, estimate
from hedgerow.inference.joint.functions import (
    DeviationOfTotals,
    FunctionOfTotals,
    MeanOfTotals,
    ScaledMean,
    gradient,
    value_of,
)
from hedgerow.inference.joint.totals import BlockVariances, JointTotals, SideBySide
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.joint.joint_release import JointDesign, joint_release

Floats = NDArray[np.float64]
Power = tuple[int, int]
SEED = 20261122
SIZE = 10_000
DELTA = 1e-6
POPULATIONS = (
    "income/educ",
    "age/educ",
    "lognormal",
    "normal",
    "binary",
    "rare",
    "heap",
    "skew",
    "ties",
    "bounds",
    "spike",
)
PUMS_BOUNDS = {"age": (0.0, 100.0), "educ": (1.0, 16.0), "income": (0.0, 200_000.0)}
# Products of two features, each a column, its square, or the product of two columns.
MONOMIALS = [(i, j) for i in range(5) for j in range(5 - i)]
CHUNK = 100


@dataclass(frozen=True, eq=False)
class Population:
    """Two columns scaled to [−1, 1], with the midpoint and the half-range of each, and a group of 0 or 1."""

    scaled: Floats
    axes: tuple[ScaledMean, ScaledMean]
    group: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats, group: Floats, *bounds: tuple[float, float]) -> Population:
        axes = [ScaledMean(i, (low + high) / 2, (high - low) / 2) for i, (low, high) in enumerate(bounds, 1)]
        scaled = [
            (np.clip(np.asarray(x, float), *limits) - axis.centre) / axis.half
            for x, limits, axis in zip((first, second), bounds, axes, strict=True)
        ]
        return cls(np.stack(scaled, axis=1), (axes[0], axes[1]), np.asarray(group, float))

    def monomials(self, powers: list[Power]) -> Floats:
        first, second = self.scaled.T
        return np.stack([first**i * second**j for i, j in powers], axis=1)


@lru_cache
def population(name: str) -> Population:
    """Return 10,000 records; samples are drawn from them with replacement."""
    if "/" in name:
        first, second = name.split("/")
        table = pums()
        return Population.of(table[first], table[second], table["sex"], PUMS_BOUNDS[first], PUMS_BOUNDS[second])
    rng = np.random.default_rng([SEED, len(name)])
    a, b, c = rng.standard_normal((3, SIZE))
    unit = ((0.0, 1.0), (0.0, 1.0))
    if name == "lognormal":
        return Population.of(np.exp(a), np.exp(0.6 * a + 0.8 * b), c + 0.3 * a > 0, (0.0, 20.0), (0.0, 20.0))
    if name == "normal":
        return Population.of(0.5 + 0.15 * a, 0.45 + 0.15 * (0.7 * a + 0.714 * b), c > 0, *unit)
    if name == "binary":
        return Population.of(a > 0.3, 0.5 * a + 0.87 * b > -0.5, c > -0.5, *unit)
    if name == "rare":
        return Population.of(a > 2.05, 0.5 * a + 0.87 * b > 1.3, c > 0.6, *unit)
    if name == "heap":
        return Population.of(
            np.where(a > 0.5, rng.exponential(0.15, SIZE), 0), 0.3 + 0.2 * (a > 0) + 0.1 * b, c > 0, *unit
        )
    if name == "skew":
        x = rng.beta(0.5, 5, SIZE)
        return Population.of(x, x + rng.beta(1, 3, SIZE), c > 1, *unit)
    if name == "ties":
        return Population.of(np.rint(a), np.rint(0.8 * a + 0.6 * b), c > 0, (-2.0, 2.0), (-2.0, 2.0))
    if name == "spike":  # nearly the largest skewness that its mean and variance allow
        first = np.where(rng.random(SIZE) < 0.01, 1.0, 0.2 + 0.05 * a)
        return Population.of(first, 0.3 + 0.05 * (0.7 * a + 0.714 * b), c > 0, *unit)
    return Population.of(np.sign(a), a + 0.8 * b, c > 0, (-1.0, 1.0), (-1.0, 1.0))


@dataclass(frozen=True, eq=False)
class Plan:
    """What the library releases of each cell: moments of the scaled columns, and the noise on them.

    ``mixing`` maps independent numbers of variance 1 to the noise on the moments of the features, a power of each
    column: (N, S, upper triangle of Q by rows).
    """

    design: JointDesign
    name: str
    law: str
    mixing: Floats

    @property
    def label(self) -> str:
        """The law and the basis in short."""
        return f"{self.name.split()[0]}, {'blocks' if 'block' in self.name else 'sums'}"

    @property
    def function(self) -> FunctionOfTotals:
        """The first function that was asked for, or the difference of the first and the second, or of two cells."""
        first, *others = self.design.functions
        if not others and not self.design.by:
            return first
        size, other = 1 + len(self.design.asked.features), (0, 1) if self.design.by else (0, 0)
        node = JointOperation("-", EstimateTerm(first, (0, 0)), EstimateTerm(others[0] if others else first, other))
        return Expression(node, {(0, cell): slice(cell * size, (cell + 1) * size) for cell in range(1 + other[1])})

    @property
    def powers(self) -> list[Power]:
        """The moments of the features, in order, as powers of the columns."""
        size = 1 + len(self.design.asked.features)
        found = (dict(self.design.asked.moment(a, b)) for a, b in combinations_with_replacement(range(size), 2))
        return [(moment.get(0, 0), moment.get(1, 0)) for moment in found]

    def cells(self, moments: Floats, *, noisy: bool) -> SideBySide:
        """Return moments (cells, runs, moments) as `SideBySide`."""
        asked, n = self.design.asked, self.design.facts.n
        mixing = self.mixing * float(noisy)
        return SideBySide(
            tuple(JointTotals.of_moments(cell, mixing, self.law, n=n, powers=asked.features) for cell in moments)
        )


@lru_cache
def make_plan(statistic: str, name: str, n: int, epsilon: float, noise: str = "plan") -> Plan:
    """Return what `survey.plan` takes for a statistic of these columns, with a law of noise or the best one."""
    x, y = ((axis.centre - axis.half, axis.centre + axis.half) for axis in population(name).axes)
    facts = PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, n)
    budget, laws = Budget(epsilon, DELTA), {"plan": (), "gaussian": (GAUSSIAN,), "laplace": (LAPLACE,)}[noise]
    if statistic in ("groups", "paired"):
        columns = [("x", x)] if statistic == "groups" else [("x", x), ("y", y)]
        values = tuple(ValueOnGrid(column, Grid.from_bounds(column, bounds)) for column, bounds in columns)
        by = (Category("group", (0, 1)),) if statistic == "groups" else ()
        means = tuple(MeanOfTotals(axis) for axis, _ in zip(population(name).axes, columns, strict=False))
        design = JointDesign(values, means, by, facts, Missing.DECLARED_COMPLETE)
        choice = design.choice(budget, laws=laws)
    else:
        both = {"x": x, "y": y}
        asked = {
            "ratio": lambda: hg.ratio("x", "y", bounds=both),
            "variance": lambda: hg.variance("x", bounds=x),
            "sd": lambda: hg.standard_deviation("x", bounds=x),
            "covariance": lambda: hg.covariance("x", "y", bounds=both),
            "correlation": lambda: hg.correlation("x", "y", bounds=both),
        }[statistic]()
        release = joint_release([asked], (), facts, Missing.DECLARED_COMPLETE, budget=budget, laws=laws)
        design, choice = release.design, release.choice
    size = 1 + len(design.asked.features)
    moments = [design.asked.moment(a, b) for a, b in combinations_with_replacement(range(size), 2)]
    known = float(n) if choice.mechanism.layout.presence == "public" else None
    reading = choice.mechanism.reading(moments, n=known)
    return Plan(design, choice.name, choice.mechanism.noise_law.name, reading.mixing)


def grouped(name: str, statistic: str, powers: list[Power]) -> Floats:
    """Return the monomials of each record of each cell: (cells, records, monomials)."""
    people = population(name)
    monomials = people.monomials(powers)
    if statistic != "groups":
        return monomials[None]
    return np.stack([monomials * (people.group == value)[:, None] for value in (0, 1)])


@lru_cache(maxsize=2)
def sampled(name: str, n: int, runs: int) -> Floats:
    """Return the exact totals of the monomials in samples of n, in each group: (2, runs, monomials)."""
    flat = np.concatenate(list(grouped(name, "groups", MONOMIALS)), axis=1)
    rng = np.random.default_rng([SEED, n, runs, POPULATIONS.index(name)])
    made = np.empty((runs, flat.shape[1]))
    for start in range(0, runs, CHUNK):
        some = min(CHUNK, runs - start)
        drawn = rng.integers(0, SIZE, size=(some, n), dtype=np.int32) + SIZE * np.arange(some)[:, None]
        times = np.bincount(drawn.ravel(), minlength=SIZE * some).reshape(some, SIZE)
        made[start : start + some] = times.astype(float) @ flat
    return made.reshape(runs, 2, -1).transpose(1, 0, 2)


@dataclass(frozen=True)
class Setting:
    statistic: str
    population: str
    n: int
    epsilon: float
    noise: str = "plan"

    def plan(self) -> Plan:
        return make_plan(self.statistic, self.population, self.n, self.epsilon, self.noise)


@dataclass(frozen=True, eq=False)
class Simulation:
    """The runs of a setting: cells without and with noise, and the truth with its totals."""

    setting: Setting
    function: FunctionOfTotals
    plan: Plan
    exact: SideBySide
    noisy: SideBySide
    truth: float
    slopes: Floats

    @property
    def noise_variance(self) -> float:
        """The linearised variance of the noise at the truth."""
        return float(self.slopes @ self.noisy.noise @ self.slopes)

    def estimates(self) -> JointEstimates:
        return estimate(self.function, self.noisy)


def simulate(setting: Setting, runs: int, narrower: float = 1.0) -> Simulation:
    """Draw the runs; `narrower` multiplies the noise that is drawn and not the one that is told: a sabotage."""
    plan = setting.plan()
    groups = sampled(setting.population, setting.n, runs)[:, :, [MONOMIALS.index(power) for power in plan.powers]]
    exact = groups if setting.statistic == "groups" else groups.sum(axis=0, keepdims=True)
    rng = np.random.default_rng(
        [SEED + 1, setting.n, int(100 * setting.epsilon), POPULATIONS.index(setting.population)]
    )
    shape = (*exact.shape[:2], plan.mixing.shape[1])
    noise = rng.standard_normal(shape) if plan.law == "gaussian" else rng.laplace(0.0, math.sqrt(0.5), shape)
    whole = grouped(setting.population, setting.statistic, plan.powers).mean(axis=1, keepdims=True)
    truth = plan.cells(setting.n * whole, noisy=False)
    return Simulation(
        setting,
        plan.function,
        plan,
        plan.cells(exact, noisy=False),
        plan.cells(exact + narrower * noise @ plan.mixing.T, noisy=True),
        float(value_of(plan.function, truth.totals)[0]),
        gradient(plan.function, truth.totals)[0],
    )


def robust_sd(numbers: Floats) -> float:
    return float(np.quantile(numbers, 0.8413) - np.quantile(numbers, 0.1587)) / 2.0


@dataclass(frozen=True)
class Result:
    setting: Setting
    law: str
    error: float
    plain: float
    reliable: float
    below: float
    above: float
    width: float
    known: float
    bias: float
    width_counts: bool
    bias_counts: bool
    runs: int

    @property
    def coverage(self) -> float:
        return 1.0 - self.below - self.above


def measure(setting: Setting, runs: int) -> Result:
    from scipy.special import stdtrit

    made = simulate(setting, runs)
    function, truth = made.function, made.truth
    plain_values = value_of(function, made.exact.totals)
    slopes = np.nan_to_num(gradient(function, made.exact.totals))
    variance = np.maximum(made.exact.sampling_covariance(slopes, slopes, homogeneous=True), 0.0)
    plain = np.mean(np.abs(plain_values - truth) <= stdtrit(setting.n - 1.0, 0.975) * np.sqrt(variance))
    oracle = math.sqrt(np.nanvar(plain_values) + made.noise_variance)
    estimates = made.estimates()
    low, high = estimates.accepted(0.95)
    reliable = estimates.reliable
    linear = plain_values - truth + (made.noisy.totals - made.exact.totals) @ made.slopes
    linear = linear[np.isfinite(linear)]
    bias = math.nan
    if reliable.sum() >= 100:
        sd = robust_sd(estimates.value[reliable]) * linear.std() / robust_sd(linear)
        bias = float(estimates.standard_error[reliable].mean() / sd)
    possible = function.high - function.low
    possible = possible if math.isfinite(possible) else 2.0 * abs(truth)
    inside = min(truth - function.low, function.high - truth) > 2.0 * oracle
    return Result(
        setting,
        made.plan.label,
        oracle / abs(truth) if truth else math.inf,
        float(plain),
        float(reliable.mean()),
        float((high < truth).mean()),
        float((low > truth).mean()),
        float((high - low).mean()) / (3.92 * oracle),
        known_width(made) / (3.92 * oracle),
        bias,
        bool(plain >= 0.94 and 1.96 * oracle < possible / 4.0),
        inside and oracle < abs(truth) / 2.0,
        runs,
    )


def known_width(made: Simulation) -> float:
    """Return the mean width of the interval that is told the sampling covariance, and nothing of skewness."""
    told = SideBySide(made.noisy.blocks)
    average = made.exact.sampling.mean(axis=0)
    told.__dict__["sampling"] = np.broadcast_to(average, made.noisy.sampling.shape)
    read = estimate(made.function, told)
    none, blocks = np.zeros(len(read.value)), read.tangent.blocks
    exactly = BlockVariances(blocks.sampling, *(np.zeros_like(blocks.sampling),) * 4, blocks.products)
    tangent = replace(read.tangent, blocks=exactly, spread_noise=none, spread_shared=none, freedom=none + np.inf)
    exact = read.exact
    if isinstance(made.function, DeviationOfTotals):
        squared = exact.squared  # type: ignore[union-attr]  # a deviation has the exact form of a root
        exact = replace(exact, squared=replace(squared, tangent=replace(tangent, slopes=squared.tangent.slopes)))
    low, high = replace(read, tangent=tangent, exact=exact).accepted(0.95)
    return float((high - low).mean())
