"""Coverage and width of the intervals of functions of several totals, on laws that nothing was tuned on.

Run: python -m benchmarks.functions_coverage [--runs 300] [--part 1/4] [--law WORD] [--question WORD] [--all]

Each of 45 joint laws of two columns and a group (fifteen shapes, of real columns: heaps, ties, ages, incomes, counts
that are mostly 0; two columns independent, alike, or opposed) is asked for ratios, products, squares, differences and
the named statistics; sixteen laws whose means are 0 or near 0 for what has a pole, a saddle or an extremum there; equal
and nearly equal shares for their Herfindahl index; the fifteen shapes for their Gini coefficient, which is read from a
table of counts, and whose width is over that without privacy. Relation, n and ε go round: replace-one and add-remove,
n = 100, 1,000 and 10,000, ε = .3, 1, 3 and 10 (δ = 1e-6). All runs of a setting are read at once, as the cells of one
table, with samples drawn with replacement and the noise of the plan that the library makes.

A line is printed for each setting that covers less than .94 by more than two standard errors. Of so many settings a few
are low by chance, so each of them is run again, ten times as often and with another seed; it stays low if these runs
are too. Then comes a table: for each question the settings, the least and the mean coverage, how many were low and
stayed low, the share of intervals without an end, the largest share with an end at the estimate, and the median width
over that of the oracle, which knows the sampling variance and the linearised variance of the noise, where slopes
change by less than a tenth over one standard error at the truth and the linear interval of the oracle covers.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from benchmarks.aims import least_coverage
from benchmarks.quantiles import Population, readings
from benchmarks.quantiles import Setting as TableSetting
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.distribution.inequality import gini
from hedgerow.inference.interval import draws_of
from hedgerow.inference.joint.arithmetic import Applied, EstimateTerm, Expression, JointOperation, Node
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import FunctionOfTotals, Numbers, UserFunctionOfTotals, gradient, value_of
from hedgerow.inference.joint.region_of_function import Ball
from hedgerow.inference.joint.totals import JointTotals, SideBySide
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.joint.joint_release import JointRelease, joint_release

Floats = NDArray[np.float64]
SEED = 20261124
SIZE = 5000
UNIT = (0.0, 1.0)
RELATIONS = (Relation.REPLACE_ONE, Relation.ADD_REMOVE)
NUMBERS, EPSILONS = (100, 1000, 10_000), (0.3, 1.0, 3.0, 10.0)
GROUPS = (Category("g", (0, 1)),)
_FLAT = 0.1


def shapes(uniform: Floats) -> dict[str, Floats]:
    """Return columns between 0 and 1 as increasing functions of a uniform number."""
    from scipy.special import betaincinv, gammaincinv, ndtri

    u = np.clip(uniform, 1e-6, 1.0 - 1e-6)
    income = np.exp(10.2 + 0.7 * ndtri(u))
    heap = np.where((1e4 * u) % 1.0 < 0.5, 5000.0, 1000.0)
    return {
        "flat": u,
        "bell": 0.5 + 0.15 * ndtri(u),
        "near 0": betaincinv(1.0, 30.0, u),
        "near 1": 1.0 - betaincinv(0.7, 10.0, 1.0 - u),
        "lognormal": np.exp(ndtri(u)) / 30.0,
        "pareto": 0.005 * (1.0 - u) ** (-1.0 / 1.2),
        "two hills": np.where(
            u > 0.7, 0.9 + 0.02 * ndtri((u - 0.7) / 0.3), 0.1 + 0.02 * ndtri(np.minimum(u / 0.7, 0.999))
        ),
        "99 % zeros": np.where(u > 0.99, (u - 0.99) / 0.01, 0.0),
        "85 % zeros": np.where(u > 0.85, gammaincinv(2.0, (u - 0.85) / 0.15) / 8.0, 0.0),
        "heaped income": np.rint(income / heap) * heap / 150_000.0,
        "ages": np.rint(100.0 * betaincinv(2.0, 2.5, u)) / 100.0,
        "five answers": np.clip(np.rint(2.6 + 1.1 * ndtri(u)), 0.0, 4.0) / 4.0,
        "few arrests": np.floor(-np.log(1.0 - u) / 0.8) / 12.0,
        "yes or no": (u > 0.6).astype(float),
        "rare yes": (u > 0.98).astype(float),
    }


TOGETHER = {"apart": 0.0, "alike": 0.7, "opposed": -0.7}


@dataclass(frozen=True, eq=False)
class Law:
    """Records to draw from: columns scaled to [−1, 1], and a group of 0 or 1."""

    name: str
    scaled: Floats
    group: Floats


@cache
def laws() -> tuple[Law, ...]:
    """Return the joint laws: each shape beside the next but two."""
    from scipy.special import ndtr

    rng, made = np.random.default_rng(SEED), []
    for beside, (dependence, correlation) in enumerate(TOGETHER.items()):
        for place, name in enumerate(names := list(shapes(np.zeros(1)))):
            a, b, c = rng.standard_normal((3, SIZE))
            other = names[(place + 3 * beside + 1) % len(names)]
            y = ndtr(correlation * a + math.sqrt(1.0 - correlation**2) * b)
            columns = np.stack([shapes(ndtr(a))[name], shapes(y)[other]], axis=1)
            group = (c + 0.2 * a > 0.5 * beside).astype(float)
            made.append(Law(f"{name}, {other}, {dependence}", 2.0 * np.clip(columns, 0.0, 1.0) - 1.0, group))
    return tuple(made)


@cache
def centred_laws() -> tuple[Law, ...]:
    """Return laws between −1 and 1 whose means are 0, or near 0."""
    rng, made = np.random.default_rng([SEED, 1]), []
    for name in ("flat", "bell", "lognormal", "99 % zeros", "two hills", "five answers", "heaped income", "rare yes"):
        columns = np.stack([shapes(rng.random(SIZE))[name] for _ in range(2)], axis=1)
        columns = np.clip(columns, 0.0, 1.0) - np.clip(columns, 0.0, 1.0).mean(axis=0)
        made.append(Law(f"{name}, means 0", columns, (rng.random(SIZE) < 0.3).astype(float)))
        made.append(
            Law(f"{name}, means .01 and 0", columns + np.array([0.01, 0.0]), (rng.random(SIZE) < 0.3).astype(float))
        )
    return tuple(replace(law, scaled=np.clip(law.scaled, -1.0, 1.0)) for law in made)


@cache
def shares(k: int, tilt: float) -> Law:
    """Return k − 1 indicators of k classes, equally likely but for a tilt."""
    rng = np.random.default_rng([SEED, k])
    weights = 1.0 + tilt * np.linspace(-1.0, 1.0, k)
    # Exactly so many records of each: the truth is the extremum itself where there is no tilt.
    counts = np.rint(SIZE // k * weights).astype(int)
    classes = np.repeat(np.arange(k), counts)
    indicators = 2.0 * (classes[:, None] == np.arange(k - 1)) - 1.0
    return Law(f"{k} shares, tilt {tilt:g}", indicators, (rng.random(len(classes)) < 0.5).astype(float))


@dataclass(frozen=True)
class AllAtOnce(UserFunctionOfTotals):
    """A function of the user's own that takes arrays: the same numbers, without a call for each row."""

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        with np.errstate(all="ignore"):
            return np.asarray(self.function({name: axis.mean(totals) for name, axis in self.columns}), dtype=complex)


@dataclass(frozen=True)
class Question:
    """What is asked: statistics, and what is computed with them.

    ``compute`` makes an expression of terms, one for each statistic and cell, or a function of the user's own of means.
    """

    name: str
    statistics: Callable[[], Sequence[Any]]
    compute: Callable[[list[Node]], Node] | None = None
    own: Callable[[Mapping[str, Any]], Any] | None = None
    by_group: bool = False
    bounds: tuple[float, ...] = UNIT


BOTH = {"x": UNIT, "y": UNIT}
WIDE = (-1.0, 1.0)


def means(*columns: str, bounds: tuple[float, float] = UNIT) -> Callable[[], Sequence[Any]]:
    """Return the question for the means of columns."""
    return lambda: [hg.mean(column, bounds=bounds) for column in columns]


def two(symbol: str) -> Callable[[list[Node]], Node]:
    """Return the expression of two terms."""
    return lambda terms: JointOperation(symbol, terms[0], terms[1])


def own(
    name: str, function: Callable[[Mapping[str, Any]], Any], *columns: str, bounds: tuple[float, ...] = UNIT
) -> Question:
    """Return the question for a user's function of means."""
    given = dict.fromkeys(columns or ("x", "y"), bounds)
    return Question(name, lambda: [hg.function(function, columns=given, name="f")], own=function, bounds=bounds)


QUESTIONS = (
    Question("mean / mean of two groups", means("x"), two("/"), by_group=True),
    Question("mean − mean of two groups", means("x"), two("-"), by_group=True),
    Question("mean x · mean y", means("x", "y"), two("*")),
    Question("log of mean x / mean y", means("x", "y"), lambda t: Applied("log", JointOperation("/", *t))),
    own("function y/x", lambda t: t["y"] / t["x"]),
    own("function x(1 − x)", lambda t: t["x"] * (1.0 - t["x"]), "x"),
    Question("ratio", lambda: [hg.ratio("x", "y", bounds=BOTH)]),
    Question("variance", lambda: [hg.variance("x", bounds=UNIT)]),
    Question("correlation", lambda: [hg.correlation("x", "y", bounds=BOTH)]),
    Question(
        "sd / mean",
        lambda: [hg.standard_deviation("x", bounds=UNIT), hg.mean("x", bounds=UNIT)],
        two("/"),
    ),
    own("function (x − y)²", lambda t: (t["x"] - t["y"]) ** 2),
)
CENTRED = (
    own("square of a mean near 0", lambda t: t["x"] ** 2, "x", bounds=WIDE),
    Question("product of means near 0", means("x", "y", bounds=WIDE), two("*"), bounds=WIDE),
    own("sum of squares near 0", lambda t: t["x"] ** 2 + t["y"] ** 2, bounds=WIDE),
    Question("ratio of means near 0", means("x", "y", bounds=WIDE), two("/"), bounds=WIDE),
    own("(1 + xy)/(1 + x²) near 0", lambda t: (1.0 + t["x"] * t["y"]) / (1.0 + t["x"] ** 2), bounds=WIDE),
)


GINI = Question("Gini of x", lambda: [hg.gini("x", bounds=UNIT)])


def herfindahl(means_of: Mapping[str, Any]) -> Any:
    """Return Σp² of shares, the last of which is what the others leave."""
    listed = list(means_of.values())
    return sum(share**2 for share in listed) + (1.0 - sum(listed)) ** 2


def herfindahl_question(k: int) -> Question:
    """Return the question for the Herfindahl index of k shares."""
    return own(f"Herfindahl of {k}", herfindahl, *(f"s{i}" for i in range(k - 1)), bounds=(0.0, 1.0, 1.0))


@dataclass(frozen=True)
class Setting:
    """A question of a law."""

    question: Question
    law: Law
    relation: Relation
    n: int
    epsilon: float

    def __str__(self) -> str:
        return f"{self.question.name:36} {self.law.name:34} {self.relation!s:12} {self.n:6} {self.epsilon:4g}"


def settings() -> list[Setting]:
    """Return all settings."""
    asked = [(question, law) for law in laws() for question in QUESTIONS]
    asked += [(question, law) for law in centred_laws() for question in CENTRED]
    asked += [(herfindahl_question(k), shares(k, tilt)) for k in (3, 5, 10) for tilt in (0.0, 0.1, 0.5)]
    asked += [(GINI, law) for law in laws()[:15]]
    circumstances = [(r, n, e) for e in EPSILONS for n in NUMBERS for r in RELATIONS]
    made = []
    for place, (question, law) in enumerate(asked):
        some = 3 if law in laws() else 8
        for turn in range(some):
            made.append(Setting(question, law, *circumstances[(5 * place + turn * (24 // some) + place // 24) % 24]))
    return made


@cache
def plan(question: Question, relation: Relation, n: int, epsilon: float) -> tuple[JointRelease, FunctionOfTotals]:
    """Return the release that is planned for a question, and what is computed from its totals."""
    facts = PublicFacts(relation, "row", Target.POPULATION, n if relation is Relation.REPLACE_ONE else None)
    by = GROUPS if question.by_group else ()
    release = joint_release(question.statistics(), by, facts, Missing.DROP, budget=Budget(epsilon, 1e-6), laws=())
    functions = release.design.functions
    if question.own is not None:
        function = functions[0]
        return release, AllAtOnce(question.own, function.columns, (function.low, function.high))  # type: ignore[attr-defined]
    if question.compute is None:
        return release, functions[0]
    size = 1 + len(release.design.asked.features)
    cells = (1, 0) if question.by_group else (0,)
    terms: list[Node] = [EstimateTerm(function, (0, cell)) for function in functions for cell in cells]
    places = {(0, cell): slice(place * size, (place + 1) * size) for place, cell in enumerate(cells)}
    return release, Expression(question.compute(terms), places)


def drawn(law: Law, monomials: Floats, n: int, runs: int, relation: Relation, rng: np.random.Generator) -> Floats:
    """Return the totals of monomials (records, m) in samples: (runs, m)."""
    size, made = len(monomials), np.empty((runs, monomials.shape[1]))
    for run in range(runs):
        records = n if relation is Relation.REPLACE_ONE else rng.poisson(n)
        made[run] = np.bincount(rng.integers(0, size, records), minlength=size) @ monomials
    return made


def bent(ball: Ball) -> float:
    """Return by how much of themselves the slopes change over one standard error, at most: 0 of a linear function."""
    at = np.zeros((1, ball.size))
    slopes, bends = ball.slopes(at), ball.bends(at)
    if not (np.isfinite(bends).all() and slopes.any()):
        return math.inf
    return float(np.abs(np.linalg.eigvalsh(bends)).max() / np.linalg.norm(slopes))


@dataclass(frozen=True)
class Result:
    """What was found in a setting."""

    setting: Setting
    below: float
    above: float
    reliable: float
    endless: float
    width: float
    counts: bool
    collapsed: float
    runs: int
    was_low: bool = False

    @property
    def low(self) -> bool:
        """Whether it covers less than .94 by more than two standard errors."""
        return self.coverage < least_coverage(self.runs)

    @property
    def coverage(self) -> float:
        """The share of runs whose interval holds the truth."""
        return 1.0 - self.below - self.above

    def line(self) -> str:
        """Return the line of the table."""
        low = f"  LOW of {self.runs}" if self.low else ""
        return (
            f"{self.setting!s} {self.coverage:.3f} ({self.below:.3f} {self.above:.3f}) reliable {self.reliable:.2f} "
            f"endless {self.endless:.2f} at the estimate {self.collapsed:.3f} width {self.width:6.3f}"
            f"{'*' if self.counts else ' '}{low}"
        )


def measure(setting: Setting, runs: int, seed: int = SEED) -> Result:
    """Return coverage and width of a setting."""
    release, function = plan(setting.question, setting.relation, setting.n, setting.epsilon)
    asked, mechanism = release.design.asked, release.choice.mechanism
    n = setting.n if setting.relation is Relation.REPLACE_ONE else None
    pairs = list(asked.pairs())
    moments = [asked.moment(a, b) for a, b in pairs]
    known = float(setting.n) if n is not None and mechanism.layout.presence == "public" else None
    reading = mechanism.reading(moments, n=known)
    size = 1 + len(asked.features)
    rng = np.random.default_rng([seed, 2, setting.n, int(10 * setting.epsilon), len(setting.law.name)])
    powers = [dict(moment) for moment in moments]
    columns, ones = setting.law.scaled.T, np.ones(len(setting.law.scaled))
    products = [np.prod([ones, *(columns[c] ** p for c, p in power.items())], axis=0) for power in powers]
    values = np.stack(products, axis=1)
    cells = (1, 0) if setting.question.by_group else (0,)
    chosen = [values * (setting.law.group == cell)[:, None] if len(cells) > 1 else values for cell in cells]
    sampled = drawn(setting.law, np.concatenate(chosen, axis=1), setting.n, runs, setting.relation, rng)
    exact = np.split(sampled, len(cells), axis=1)
    law = mechanism.noise_law.name

    def noise() -> Floats:
        shape = (runs, reading.mixing.shape[1])
        if law == "gaussian":
            return rng.standard_normal(shape)
        k = draws_of(law) or 1
        return rng.laplace(0.0, math.sqrt(0.5 / k), (k, *shape)).sum(axis=0)

    upper = list(zip(*np.triu_indices(size), strict=True))

    def side(parts: Sequence[Floats], mixing: Floats) -> SideBySide:
        rows, columns = np.array(pairs).T
        blocks = []
        for part in parts:
            matrix = np.zeros((len(part), size, size))
            matrix[:, rows, columns] = matrix[:, columns, rows] = part
            whole = np.zeros((len(upper), mixing.shape[1]))
            whole[[upper.index(pair) for pair in pairs]] = mixing
            blocks.append(
                JointTotals(matrix[:, 0, 0], matrix[:, 0, 1:], matrix[:, 1:, 1:], whole, law, n, asked.powers or None)
            )
        return SideBySide(tuple(blocks))

    plain = side(exact, 0.0 * reading.mixing)
    noisy = side([part + noise() @ reading.mixing.T for part in exact], reading.mixing)
    truth = side([setting.n * part.mean(axis=0, keepdims=True) for part in chosen], reading.mixing)
    value = float(value_of(function, truth.totals)[0])
    made = estimate(function, noisy)
    low, high = made.accepted(0.95)
    tolerance = 1e-9 * (1.0 + abs(value))
    below, above = float((high < value - tolerance).mean()), float((low > value + tolerance).mean())
    slopes = np.nan_to_num(gradient(function, truth.totals))
    oracle = math.sqrt(
        max(0.0, float(truth.sampling_covariance(slopes, slopes, homogeneous=function.homogeneous)[0]))
        + float(truth.noise_covariance(slopes, slopes)[0])
    )
    values_plain = value_of(function, plain.totals)
    linear = np.abs(values_plain - value) <= 1.96 * np.nanstd(values_plain)
    counts = bool(bent(Ball.of(function, truth)) < _FLAT and linear.mean() > 0.93 and oracle > 0.0)
    counts &= 1.96 * oracle < 0.25 * min(function.high - function.low, 4.0 * abs(value) + 8.0 * oracle)
    width = np.where(np.isfinite(high - low), high - low, np.inf)
    scale = 1e-9 * np.maximum(np.abs(made.value), oracle)
    at = (np.abs(high - made.value) <= scale) | (np.abs(low - made.value) <= scale)
    at &= (
        (made.value > function.low + scale)
        & (made.value < function.high - scale)
        & (made.standard_error > 1e-9 * oracle)
    )
    endless = ~np.isfinite(high - low) | ((low <= function.low) & (high >= function.high))
    return Result(
        setting, below, above, float(made.reliable.mean()), float(endless.mean()),
        float(np.median(width)) / (3.92 * oracle) if oracle else math.inf, counts, float(at.mean()), runs,
    )  # fmt: skip


def measure_gini(setting: Setting, runs: int, seed: int = SEED) -> Result:
    """Return coverage of the Gini coefficient, and width over that without privacy; it is read from a table."""
    values = (1.0 + setting.law.scaled[:, 0]) / 2.0

    def coefficient(drawn: Floats) -> float:
        ranked = np.sort(drawn)
        weights = 2.0 * np.arange(1, len(ranked) + 1) - len(ranked) - 1.0
        return float(weights @ ranked / (len(ranked) * ranked.sum())) if ranked.any() else math.nan

    rng, truth = np.random.default_rng([seed, 3, setting.n, int(10 * setting.epsilon)]), coefficient(values)
    alone = np.nanstd([coefficient(rng.choice(values, setting.n)) for _ in range(100)])
    table = TableSetting(str(setting.relation), setting.n, setting.epsilon)
    cells = readings(Population(values, UNIT, None), list(setting.question.statistics()), table, runs, rng).cells
    found = [gini(cell) for cell in cells]
    value, low, high, error = np.array([(read.value, read.low, read.high, read.standard_error) for read in found]).T
    everything = (low <= 0.0) & (high >= 1.0)
    at = ((low == value) & (low > 0.0)) | ((high == value) & (high < 1.0))
    return Result(
        setting, float((high < truth - 1e-9).mean()), float((low > truth + 1e-9).mean()),
        float(np.isfinite(error).mean()), float(everything.mean()),
        float(np.median(high - low) / (3.92 * alone)), False, float(at.mean()), runs,
    )  # fmt: skip


def table(results: Sequence[Result]) -> str:
    """Return a line a question, and one of all."""
    lines = [
        f"{'question':36} settings  least cover  mean  low  stay  endless  at estimate  width: median  largest  of"
    ]
    names = list(dict.fromkeys(result.setting.question.name for result in results))
    for name in [*names, "all"]:
        some = [result for result in results if name in ("all", result.setting.question.name)]
        covers = [result.coverage for result in some]
        wide = [result.width for result in some if result.counts]
        lines.append(
            f"{name:36} {len(some):8} {min(covers):12.3f} {np.mean(covers):6.3f} {sum(r.was_low for r in some):4} "
            f"{sum(r.low for r in some):5} {np.mean([r.endless for r in some]):8.3f} "
            f"{max(r.collapsed for r in some):11.3f} {np.median(wide) if wide else math.nan:14.3f} "
            f"{max(wide, default=math.nan):8.3f} {len(wide):4}"
        )
    return "\n".join(lines)


def main(report: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--part", default="1/1", help="the first, second, … of so many parts, every k-th setting")
    parser.add_argument("--law", default="", help="laws whose name has this word")
    parser.add_argument("--question", default="", help="questions whose name has this word")
    parser.add_argument("--all", action="store_true", help="a line for every setting")
    given = parser.parse_args()
    first, of = map(int, given.part.split("/"))
    chosen = [s for s in settings()[first - 1 :: of] if given.law in s.law.name and given.question in s.question.name]
    began, results = time.process_time(), []
    with np.errstate(all="ignore"):
        for setting in chosen:
            measuring = measure_gini if setting.question is GINI else measure
            result = measuring(setting, given.runs)
            if given.all or result.low:
                report(result.line())
            if result.low:
                result = replace(measuring(setting, 10 * given.runs, SEED + 1), was_low=True)
                report(result.line())
            results.append(result)
    report(table(results))
    report(f"{len(results)} settings of {given.runs} runs, {(time.process_time() - began) / 60.0:.1f} CPU minutes")


if __name__ == "__main__":
    main()
