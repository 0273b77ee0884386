"""Coverage, width and standard errors of smooth functions of noisy joint moments, by simulation.

Run: python benchmarks/joint_moments.py [--runs 4000] [--noise plan|gaussian|laplace] [--n 500 5000] [--misses]

Noise is drawn directly on exact moments, and all runs of a setting are read at once, as the cells of one table. For
each statistic, population, n and ε (δ = 1e-6, replace-one) a line shows:

* ``error``: the oracle's standard error over the truth. The oracle knows the true sampling variance and the linearised
  variance of the noise; its interval is 1.96 of its standard errors on either side.
* ``plain``: the coverage of the 95 % t interval without noise.
* ``cover (below above)``: the coverage of the released interval, and how often it lies below or above the truth.
* ``width``: its mean width over the oracle's. A star marks where that is to be at most 1.10: plain ≥ .94, and the
  oracle's half-width below a quarter of what is possible (of twice the truth, where anything is).
* ``known``: the same for the interval that is told the true sampling covariance. It shows what the form of the interval
  costs, above all with a noisy divisor and with the tails of Laplace noise; the rest is the cost of estimating it.
* ``s.e.``: the mean standard error over the robust standard deviation (q.84 − q.16)/2 of the reliable estimates, times
  that ratio for the linearised error, since Laplace noise has narrower quartiles than its standard deviation says. A
  dash marks where the truth is too near 0 (error ≥ ½) or to the end of what is possible for the figure to mean much.

The noise ``plan`` is the law with the weights of the products, once to three times what is free, that has the least
forecast width of those whose estimated variance has a relative noise of at most .35.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.joint.arithmetic import Expression, Operation, Term
from hedgerow.inference.joint.estimates import JointEstimates, estimate
from hedgerow.inference.joint.functions import (
    Axis,
    Correlation,
    Covariance,
    Deviation,
    Mean,
    Ratio,
    SmoothFunction,
    gradient,
    value_of,
)
from hedgerow.inference.joint.totals import JointTotals, SideBySide

Floats = NDArray[np.float64]
Power = tuple[int, int]
Polynomial = dict[Power, float]
SEED = 20261122
SIZE = 10_000
DELTA = 1e-6
STATISTICS = ("ratio", "variance", "sd", "covariance", "correlation", "groups", "paired")
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
)
PUMS_BOUNDS = {"age": (0.0, 100.0), "educ": (1.0, 16.0), "income": (0.0, 200_000.0)}
WIDTH, COVERAGE, BIAS = 1.10, 0.94, 0.05
CANDIDATES = [("gaussian", 1.0), ("gaussian", 1.5), *(("laplace", heavier) for heavier in (1.0, 1.5, 2.0, 3.0))]


@dataclass(frozen=True, eq=False)
class Population:
    """Two columns scaled to [−1, 1], with the midpoint and the half-range of each, and a group of 0 or 1."""

    scaled: Floats
    axes: tuple[Axis, Axis]
    group: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats, group: Floats, *bounds: tuple[float, float]) -> Population:
        axes = [Axis(i, (low + high) / 2, (high - low) / 2) for i, (low, high) in enumerate(bounds, 1)]
        scaled = [
            (np.clip(np.asarray(x, float), *limits) - axis.centre) / axis.half
            for x, limits, axis in zip((first, second), bounds, axes, strict=True)
        ]
        return cls(np.stack(scaled, axis=1), (axes[0], axes[1]), np.asarray(group, float))

    def monomials(self, powers: list[Power]) -> Floats:
        first, second = self.scaled.T
        return np.stack([first**i * second**j for i, j in powers], axis=1)


@lru_cache
def pums() -> dict[str, Floats]:
    with (Path(os.environ["HEDGEROW_DATA"]) / "PUMS5extract10000.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("age", "educ", "income", "sex")}


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
    return Population.of(np.sign(a), a + 0.8 * b, c > 0, (-1.0, 1.0), (-1.0, 1.0))


# The features of each statistic: u, v are the scaled columns, w = 2u² − 1, z = 2v² − 1, p = uv. Then the products
# that are released beside them with their largest free weights, Gaussian and Laplace; what is a feature is not
# released twice.
FEATURES: dict[str, Polynomial] = {
    "u": {(1, 0): 1.0},
    "v": {(0, 1): 1.0},
    "w": {(2, 0): 2.0, (0, 0): -1.0},
    "z": {(0, 2): 2.0, (0, 0): -1.0},
    "p": {(1, 1): 1.0},
}
LEADING: dict[str, Power] = {"u": (1, 0), "v": (0, 1), "w": (2, 0), "z": (0, 2), "p": (1, 1)}
_MOST = math.sqrt(0.75)
PRODUCTS: dict[str, dict[str, tuple[float, float]]] = {
    "u": {"uu": (1.0, 0.25)},
    "uv": {"uu": (1.0, 0.25), "vv": (1.0, 0.25), "uv": (1.0, 0.5)},
    "uw": {"uw": (1.0, 0.5), "ww": (1.0, 0.25)},
    "uvp": {"uu": (1.0, 0.35), "vv": (1.0, 0.35), "pp": (1.0, 0.2), "up": (0.7, 0.3), "vp": (0.7, 0.3)},
    "uvwzp": {
        **{"uw": (_MOST, 0.45), "vz": (_MOST, 0.45), "ww": (1.0, 0.2), "zz": (1.0, 0.2), "pp": (1.0, 0.2)},
        **dict.fromkeys(("up", "vp", "wp", "zp"), (0.5, 0.15)),
    },
}
RELEASED = dict(ratio="uv", variance="uw", sd="uw", covariance="uvp", correlation="uvwzp", groups="u", paired="uv")


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for ((i, j), a), ((k, m), b) in product(one.items(), other.items()):
        made[i + k, j + m] = made.get((i + k, j + m), 0.0) + a * b
    return made


@dataclass(frozen=True, eq=False)
class Plan:
    """What is released of each cell, and how it is read.

    ``released`` maps the totals of monomials to what is released, ``noise_sd`` is the noise on that, ``read`` maps what
    is released to (N, S, Q) of the features by least squares: u·u² and w·u say the same.
    """

    law: str
    heavier: float
    powers: list[Power]
    released: Floats
    noise_sd: Floats
    read: Floats
    features: tuple[Power, ...]

    def blocks(self, table: Floats, n: int, *, noisy: bool) -> SideBySide:
        """Return releases (cells, runs, numbers) as `SideBySide`."""
        size = 1 + len(self.features)
        upper = np.triu_indices(size)
        mixing = self.read * self.noise_sd * (1.0 if noisy else 0.0)
        made = []
        for cell in table:
            moments = np.zeros((len(cell), size, size))
            moments[:, upper[0], upper[1]] = moments[:, upper[1], upper[0]] = cell @ self.read.T
            made.append(
                JointTotals(moments[:, 0, 0], moments[:, 0, 1:], moments[:, 1:, 1:], mixing, self.law, n, self.features)
            )
        return SideBySide(tuple(made))


def gaussian_mu(epsilon: float) -> float:
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def excess(mu: float) -> float:
        low = ndtr(-epsilon / mu - mu / 2)
        return float(ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * low - DELTA)

    return float(brentq(excess, 1e-4, 20.0))


def sensitivity(names: str, law: str, weights: dict[str, float], count: float, *, cells: bool) -> float:
    """Return the L2 (Gaussian) or L1 sensitivity under replace-one, all features at weight 1.

    Same cell, L2²: 4·max over sets A of features of |A| + Σ_{i∈A, j∉A} ω_ij². L1: 2·max of |A| + Σ_{i∉A} 2ω_ii + the
    same with ω_ij. Two cells: twice the norm of one record.
    """
    power = 2 if law == "gaussian" else 1
    most = 0.0
    for size in range(1, len(names) + 1):
        for inside in combinations(names, size):
            cross = sum(weight**power for (i, j), weight in weights.items() if (i in inside) != (j in inside))
            alone = sum(2.0 * weight for (i, j), weight in weights.items() if i == j and i not in inside)
            most = max(most, size + cross + (alone if power == 1 else 0.0))
    total = 2.0**power * most
    if cells:
        norm = count**power + len(names)
        norm += sum((weight / (2.0 if i == j else 1.0)) ** power for (i, j), weight in weights.items())
        total = max(total, 2.0 * norm)
    return float(total ** (1.0 / power))


@lru_cache
def make_plan(statistic: str, epsilon: float, law: str, heavier: float = 1.0) -> Plan:
    names, cells = RELEASED[statistic], statistic == "groups"
    given = {pair: both[0 if law == "gaussian" else 1] for pair, both in PRODUCTS[names].items()}
    weights = {pair: min(1.0, heavier * weight) for pair, weight in given.items()}
    count = 0.8 if law == "gaussian" else 0.5
    largest = sensitivity(names, law, weights, count, cells=cells)
    scale = largest / gaussian_mu(epsilon) if law == "gaussian" else math.sqrt(2.0) * largest / epsilon
    polynomials = [{(0, 0): 1.0}, *(FEATURES[i] for i in names), *(times(FEATURES[i], FEATURES[j]) for i, j in weights)]
    powers = [(0, 0), *(LEADING[i] for i in names)]
    wanted = [
        (powers[i][0] + powers[j][0], powers[i][1] + powers[j][1])
        for i, j in zip(*np.triu_indices(len(powers)), strict=True)
    ]
    every = sorted(set(wanted) | {power for polynomial in polynomials for power in polynomial})
    released = np.array([[polynomial.get(power, 0.0) for power in every] for polynomial in polynomials])
    picked = np.array([[float(power == one) for power in every] for one in wanted])
    noise_sd = scale / np.array([count if cells else 1e6, *(1.0 for _ in names), *weights.values()])
    inverse = released.T / noise_sd**2
    read = picked @ np.linalg.solve(inverse @ released, inverse)
    if not cells:
        noise_sd[0] = 0.0  # n is public
    return Plan(law, heavier, every, released, noise_sd, read, tuple(powers[1:]))


@lru_cache
def chosen_plan(statistic: str, name: str, n: int, epsilon: float) -> Plan:
    """Return the plan with the least forecast width among those whose variance is not swamped by its own noise."""
    ranked = []
    for place, (law, heavier) in enumerate(CANDIDATES):
        plan = make_plan(statistic, epsilon, law, heavier)
        function = function_of(statistic, name)
        function = function.variance if isinstance(function, Deviation) else function
        expected = n * grouped(statistic, name, plan.powers).mean(axis=1, keepdims=True) @ plan.released.T
        forecast = estimate(function, plan.blocks(expected, n, noisy=True))
        tangent = forecast.tangent
        low, high = replace(forecast, tangent=replace(tangent, skew_unsure=0.0 * tangent.skew)).interval(0.95)
        swamped = float(tangent.spread_noise[0] / tangent.variance[0]) > 0.35
        ranked.append((swamped, float(high[0] - low[0]), place, plan))
    return min(ranked)[3]


@lru_cache
def function_of(statistic: str, name: str) -> SmoothFunction:
    x, y = population(name).axes
    if statistic == "ratio":
        return Ratio(x, y)
    if statistic in ("variance", "sd"):
        spread = Covariance(x, x, 2)
        return spread if statistic == "variance" else Deviation(spread)
    if statistic == "covariance":
        return Covariance(x, y, 3)
    if statistic == "correlation":
        return Correlation(Covariance(x, y, 5), Covariance(x, x, 3), Covariance(y, y, 4))
    if statistic == "paired":
        node = Operation("-", Term(Mean(x), (0, 0)), Term(Mean(y), (0, 0)))
        return Expression(node, {(0, 0): slice(0, 3)})
    node = Operation("-", Term(Mean(x), (0, 0)), Term(Mean(x), (0, 1)))
    return Expression(node, {(0, 0): slice(0, 2), (0, 1): slice(2, 4)})


def grouped(statistic: str, name: str, powers: list[Power]) -> Floats:
    """Return the monomials of each record of each cell: (cells, records, monomials)."""
    people = population(name)
    monomials = people.monomials(powers)
    if statistic != "groups":
        return monomials[None]
    return np.stack([monomials * (people.group == value)[:, None] for value in (0, 1)])


@lru_cache(maxsize=4)
def sampled(statistic: str, name: str, n: int, runs: int) -> Floats:
    """Return the exact totals of the monomials in samples of n: (cells, runs, monomials)."""
    table = grouped(statistic, name, make_plan(statistic, 1.0, "gaussian").powers)
    flat = np.concatenate(list(table), axis=1)
    rng = np.random.default_rng([SEED, n, runs, len(name), len(statistic)])
    made = np.empty((runs, flat.shape[1]))
    many = n > 1000
    step = max(1, 4_000_000 // max(n, SIZE if many else 1))
    for start in range(0, runs, step):
        drawn = rng.integers(0, SIZE, size=(min(step, runs - start), n))
        if many:
            drawn += SIZE * np.arange(len(drawn))[:, None]
            counts = np.bincount(drawn.ravel(), minlength=SIZE * len(drawn)).reshape(len(drawn), SIZE)
            made[start : start + step] = counts.astype(float) @ flat
        else:
            made[start : start + step] = flat[drawn.ravel()].reshape(*drawn.shape, -1).sum(axis=1)
    return made.reshape(runs, len(table), -1).transpose(1, 0, 2)


@dataclass(frozen=True)
class Setting:
    statistic: str
    population: str
    n: int
    epsilon: float
    noise: str = "plan"

    def plan(self) -> Plan:
        if self.noise == "plan":
            return chosen_plan(self.statistic, self.population, self.n, self.epsilon)
        return make_plan(self.statistic, self.epsilon, self.noise)

    def function(self) -> SmoothFunction:
        return function_of(self.statistic, self.population)


@dataclass(frozen=True, eq=False)
class Simulation:
    """The runs of a setting: cells without and with noise, and the truth with its totals."""

    setting: Setting
    function: SmoothFunction
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
    plan, function = setting.plan(), setting.function()
    exact = sampled(setting.statistic, setting.population, setting.n, runs) @ plan.released.T
    rng = np.random.default_rng([SEED + 1, setting.n, int(100 * setting.epsilon), len(setting.population)])
    if plan.law == "gaussian":
        noise = rng.standard_normal(exact.shape)
    else:
        noise = rng.laplace(0.0, math.sqrt(0.5), exact.shape)
    whole = grouped(setting.statistic, setting.population, plan.powers).mean(axis=1, keepdims=True)
    truth = plan.blocks(setting.n * whole @ plan.released.T, setting.n, noisy=False)
    return Simulation(
        setting,
        function,
        plan,
        plan.blocks(exact, setting.n, noisy=False),
        plan.blocks(exact + narrower * plan.noise_sd * noise, setting.n, noisy=True),
        float(value_of(function, truth.totals)[0]),
        gradient(function, truth.totals)[0],
    )


def robust_sd(numbers: Floats) -> float:
    return float(np.quantile(numbers, 0.8413) - np.quantile(numbers, 0.1587)) / 2.0


@dataclass(frozen=True)
class Result:
    setting: Setting
    law: str
    heavier: float
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

    def misses(self) -> list[str]:
        least = COVERAGE - 2.0 * math.sqrt(COVERAGE * (1.0 - COVERAGE) / self.runs)
        found = ["coverage"] if self.coverage < least else []
        found += ["width"] if self.width_counts and self.width > WIDTH else []
        return found + (["s.e."] if self.bias_counts and abs(self.bias - 1.0) > BIAS else [])

    def line(self) -> str:
        setting, star, dash = self.setting, " *"[self.width_counts], "- "[self.bias_counts]
        parts = [
            f"{setting.statistic:11} {setting.population:11} {setting.n:6} {setting.epsilon:4} {self.law:8}",
            f"{self.heavier:3} {self.error:8.3f}  {self.plain:.3f}   {self.reliable:.2f}   {self.coverage:.3f}",
            f"({self.below:.3f} {self.above:.3f})  {self.width:6.3f}{star} {self.known:6.3f}  {self.bias:6.3f}{dash}",
        ]
        return " ".join([*parts, *self.misses()])


HEADER = (
    "statistic   population       n    ε law      weight   error  plain  reliable cover (below above)"
    "    width   known    s.e."
)


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
    low, high = estimates.interval(0.95)
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
        made.plan.law,
        made.plan.heavier,
        oracle / abs(truth) if truth else math.inf,
        float(plain),
        float(reliable.mean()),
        float((high < truth).mean()),
        float((low > truth).mean()),
        float((high - low).mean()) / (3.92 * oracle),
        known_width(made) / (3.92 * oracle),
        bias,
        bool(plain >= COVERAGE and 1.96 * oracle < possible / 4.0),
        inside and oracle < abs(truth) / 2.0,
        runs,
    )


def known_width(made: Simulation) -> float:
    """Return the mean width of the interval that is told the sampling covariance, and nothing of skewness."""
    told = SideBySide(made.noisy.blocks)
    average = made.exact.sampling.mean(axis=0)
    told.__dict__["sampling"] = np.broadcast_to(average, made.noisy.sampling.shape)
    read = estimate(made.function, told)
    none = np.zeros_like(read.tangent.skew)
    tangent = replace(read.tangent, skew=none, skew_unsure=none, spread_noise=none, freedom=none + np.inf)
    exact = read.exact
    if isinstance(made.function, Deviation):
        squared = exact.squared  # type: ignore[union-attr]
        exact = replace(exact, squared=replace(squared, tangent=replace(tangent, slopes=squared.tangent.slopes)))
    low, high = replace(read, tangent=tangent, exact=exact).interval(0.95)
    return float((high - low).mean())


def settings(arguments: argparse.Namespace) -> Iterator[Setting]:
    """Yield the settings asked for."""
    for statistic, name, n in product(arguments.statistic, arguments.population, arguments.n):
        for epsilon in arguments.epsilon:
            yield Setting(statistic, name, n, epsilon, arguments.noise)


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--statistic", nargs="+", choices=STATISTICS, default=STATISTICS)
    parser.add_argument("--population", nargs="+", choices=POPULATIONS, default=POPULATIONS)
    parser.add_argument("--n", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--noise", choices=("plan", "gaussian", "laplace"), default="plan")
    parser.add_argument("--misses", action="store_true", help="only lines that miss a figure")
    arguments = parser.parse_args()
    report(HEADER)
    results = []
    with np.errstate(all="ignore"):
        for setting in settings(arguments):
            results.append(measure(setting, arguments.runs))
            if results[-1].misses() or not arguments.misses:
                report(results[-1].line())
    report(summary(results))


def summary(results: list[Result]) -> str:
    found = Counter(miss for result in results for miss in result.misses())
    starred = [result.width for result in results if result.width_counts]
    unbiased = [result.bias for result in results if result.bias_counts]
    return (
        f"{len(results)} settings; least coverage {min(result.coverage for result in results):.3f}, "
        f"{found['coverage']} below .94 less 2 s.e.\n"
        f"width over oracle, {len(starred)} settings: median {np.median(starred):.3f}, {found['width']} above {WIDTH}\n"
        f"s.e. over robust sd, {len(unbiased)} settings: median {np.median(unbiased):.3f}, "
        f"{found['s.e.']} off by more than {BIAS:.0%}"
    )


if __name__ == "__main__":
    main()
