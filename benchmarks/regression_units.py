"""Regressions of units of several rows: coverage and width of their intervals by simulation, beside an oracle.

Run: python -m benchmarks.regression_units [--runs 200] [--n 500 5000] [--epsilon 1 3] [--alike 0 .3 .9] [--logit]

Units are drawn with replacement from a population of 50,000, each with 1 to 8 rows; δ = 1e-6. Of y = 1 + x + z + e,
x and e have the same correlation within a unit, 0, .3 or .9, and z is alike in all rows of a unit. Under replace-one
the number of units is n, under add-remove it is Poisson. A release is the one that the library plans; its exact sums
are computed here. Seeds are fixed. For each setting and coefficient a line shows:

* ``cover``: the coverage of the 95 % interval; a star where it is below .94 by more than two standard errors.
* ``rows``: that of an interval without noise that takes rows for units, which is the fault that clusters mend.
* ``width``: the median width over the oracle's, 2 · 1.96 · √(true sampling variance of clusters + variance of the noise
  at the truth, of a first step that has the whole price).
* ``ends``: how many intervals have two ends.

With ``--logit`` the response is whether y > 2, and what is printed is of a logistic regression: coverage of the
coefficients of the population, and the median width over that of cluster-robust intervals without noise.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from benchmarks.aims import COVERAGE, least_coverage
from numpy.typing import NDArray

import hedgerow as hg
from hedgerow.engines.query import SCORES, Query, SumsQuery
from hedgerow.mechanisms.newton_steps import logistic
from hedgerow.regression.clustered import TotalsOfUnits
from hedgerow.regression.least_squares import LeastSquaresFit, RegressionMoments, noise_parts
from hedgerow.regression.logit.release_logit import drawn_logit, read_logit
from hedgerow.regression.regression import Regression
from hedgerow.regression.release_regression import (
    PlannedRegression,
    drawn_regression,
    read_regression,
    with_errors_of_clusters,
)
from hedgerow.resampling.counted_values import GridSums, Histogram
from hedgerow.testing.simulated import SimulatedNoise

Floats = NDArray[np.float64]
SEED, SIZE, MOST, DELTA = 20261124, 50_000, 8, 1e-6
BOUNDS = {"x": (-3.0, 3.0), "z": (0.0, 1.0), "y": (-8.0, 10.0)}
RELATIONS = ("replace-one", "add-remove")


@dataclass(frozen=True)
class Units:
    """Rows of units: the unit of each, and its columns within their bounds."""

    unit: NDArray[np.int64]
    columns: dict[str, Floats]

    @classmethod
    def population(cls, alike: float) -> Units:
        """Return the population with this correlation within a unit."""
        rng = np.random.default_rng([SEED, round(100 * alike)])
        unit = np.repeat(np.arange(SIZE), rng.integers(1, MOST + 1, SIZE))

        def law() -> Floats:
            own = rng.normal(size=len(unit))
            return np.asarray(math.sqrt(alike) * rng.normal(size=SIZE)[unit] + math.sqrt(1.0 - alike) * own)

        x, z, error = law(), rng.uniform(size=SIZE)[unit], 1.5 * law()
        columns = {"x": x, "z": z, "y": 1.0 + x + z + error}
        return cls(unit, {name: np.clip(values, *BOUNDS[name]) for name, values in columns.items()})

    def least_squares(self) -> tuple[Floats, Floats, Floats]:
        """Return the coefficients, and their variances by clusters and by rows."""
        design = np.stack([np.ones(len(self.unit)), self.columns["x"], self.columns["z"]], axis=1)
        inverse = np.linalg.inv(design.T @ design)
        beta = inverse @ design.T @ self.columns["y"]
        rest = self.columns["y"] - design @ beta
        scores = np.stack([np.bincount(self.unit, column * rest) for column in design.T], axis=1)
        by_row = np.diag(inverse) * (rest @ rest) / (len(rest) - 3)
        return beta, np.diag(inverse @ scores.T @ scores @ inverse), by_row


class Sampler:
    """The totals of the units of a population, scaled: of each the number of rows and of each product its total."""

    def __init__(self, units: Units, plan: PlannedRegression) -> None:
        totals = plan.design.totals
        if totals is None:
            raise TypeError("the plan is of rows")
        used = totals.model.used
        scaled = {
            name: np.floor((values - float(used[name].lower)) / float(used[name].step) + 0.5) * 2.0 - used[name].steps
            for name, values in units.columns.items()
        }
        each = [np.ones(len(units.unit))]
        for product, (_, _, size) in zip(totals.products, totals.lines[1:], strict=True):
            powers = [scaled[name] ** power for name, power in product.powers]
            each.append(np.prod(powers, axis=0) / size)
        self.totals = np.stack([np.bincount(units.unit, column) for column in each], axis=1)


def answered(query: SumsQuery, totals: TotalsOfUnits, scaled: Floats) -> GridSums:
    """Return what a source answers of units with these totals, scaled: doubles stand for whole numbers of 53 bits."""
    a, b, size = np.array(totals.lines, dtype=np.float64).T
    rows = scaled[:, :1]
    engine = (scaled * size - b * rows) / a
    numbers = np.concatenate([engine[:, 1:], rows], axis=1)
    if query.scores:
        # Number by number: factors are larger than what doubles hold exactly, and differ by powers of 2.
        most = 2.0**query.score_bits
        numbers = numbers @ np.array(query.scores, dtype=np.float64).T
        numbers = np.floor((np.clip(numbers, -most, most) + most) / (2.0 * most / SCORES))
    sums = {
        moment: np.prod([numbers[:, place] ** power for place, power in moment], axis=0).sum()
        for moment in query.monomials
        if moment
    }
    sums[()] = float(np.sum(rows > 0.0))
    exact = {moment: np.array([int(total)], dtype=object) for moment, total in sums.items()}
    return GridSums(exact, np.zeros(1, dtype=np.int64), 0)


@dataclass(frozen=True)
class Answers:
    """A source that answers questions of some units from their totals, scaled."""

    plan: PlannedRegression
    scaled: Floats

    def sums(self, query: SumsQuery) -> GridSums:
        """Return the answer."""
        step = self.plan.design.cluster_step
        totals = self.plan.design.totals if step is None or not query.scores else step.scores.totals
        if totals is None:
            raise TypeError("the plan is of rows")
        return answered(query, totals, self.scaled)

    def histogram(self, query: Query) -> Histogram:
        """Return n units: what is asked whether their number is what it was."""
        n = self.plan.facts.n or 0
        return Histogram.from_triplets(np.zeros(1, int), np.zeros(1, int), np.array([n]), cells=1)


def simulated(plan: PlannedRegression, answers: Answers, noise: SimulatedNoise) -> Regression:
    """Return the fit that a plan would release of such answers."""
    first = {plan.design.query: answers.sums(plan.design.query)}
    made = read_regression(plan, drawn_regression(plan, first, noise), None, "simulated", None)
    (fit,) = with_errors_of_clusters(plan, made, answers, noise)
    return fit


def noise_at_truth(plan: PlannedRegression, units: Units, rows: float) -> Floats:
    """Return the variance that the noise of a first step with the whole price gives each coefficient, at the truth."""
    model = plan.design.model
    mechanism = plan.design.mechanism(plan.plan.calibrated.precision if plan.plan.calibrated else 1.0)
    scaled = {
        name: 2.0 * (values - BOUNDS[name][0]) / (BOUNDS[name][1] - BOUNDS[name][0]) - 1.0
        for name, values in units.columns.items()
    }
    records = model.records(scaled, {})
    parts = noise_parts(model, mechanism.reading(model.moments()).mixing, rows)
    moments = RegressionMoments(rows, records.T @ records / len(records), parts, "gaussian")
    return np.diag(LeastSquaresFit(moments, model.rows(model.regressors), model.target).noise_covariance)


def settings(args: argparse.Namespace) -> Iterator[tuple[float, str, int, float]]:
    """Yield every setting."""
    for alike in args.alike:
        for relation in RELATIONS:
            for n in args.n:
                for epsilon in args.epsilon:
                    yield alike, relation, n, epsilon


def logits(args: argparse.Namespace) -> None:
    """Print a line for each setting: coverage of the coefficients of a logit, and the median width of an interval."""
    print("alike, relation, n, ε: coverage; width over the oracle's without noise; fits with ends")
    for alike, relation, n, epsilon in settings(args):
        units, rng, noise = Units.population(alike), np.random.default_rng([SEED, n]), SimulatedNoise(SEED)
        starts = np.searchsorted(units.unit, np.arange(SIZE + 1))
        high = (units.columns["y"] > 2.0).astype(float)
        design = np.stack([np.ones(len(high)), units.columns["x"], units.columns["z"]], axis=1)
        beta = np.zeros(3)
        for _ in range(20):
            chance, less = logistic(design @ beta)
            inverse = np.linalg.inv((design * (chance * less)[:, None]).T @ design)
            beta = beta + inverse @ design.T @ (high - chance)
        scores = np.stack([np.bincount(units.unit, column * (high - chance)) for column in design.T], axis=1)
        oracle = 3.92 * np.sqrt(np.diag(inverse @ scores.T @ scores @ inverse) * SIZE / n)
        plan, ends = None, []
        for _ in range(args.runs):
            chosen = rng.integers(0, SIZE, n if relation == "replace-one" else int(rng.poisson(n)))
            sizes = starts[chosen + 1] - starts[chosen]
            rows = np.repeat(starts[chosen] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
            columns = {"u": np.repeat(np.arange(len(chosen)), sizes), "x": units.columns["x"][rows]}
            table = pa.table(columns | {"z": units.columns["z"][rows], "y": high[rows]})
            survey = hg.open(table, relation=relation, unit={"column": "u", "max_rows": MOST})
            plan = plan or survey.plan_logit("y", ["x", "z"], bounds=BOUNDS, epsilon=epsilon, delta=DELTA)
            path = drawn_logit(plan, survey.source.histogram(plan.query), noise)
            fit = read_logit(plan, path, None, "simulated", None)
            ends.append([tuple(interval) for interval in fit.conf_int().values()])
        own = np.array(ends)
        cover = ((own[:, :, 0] <= beta) & (beta <= own[:, :, 1])).mean(axis=0)
        width = np.median(own[:, :, 1] - own[:, :, 0], axis=0) / oracle
        finite = np.isfinite(own).all(axis=(1, 2)).mean()
        print(f"{alike} {relation} {n} {epsilon:g}: {cover.round(3)} {width.round(2)} {finite:.2f}", flush=True)


def main() -> None:
    """Print a line for each setting and coefficient."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--n", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--alike", type=float, nargs="+", default=[0.0, 0.3, 0.9])
    parser.add_argument("--logit", action="store_true")
    args = parser.parse_args()
    if args.logit:
        logits(args)
        return
    low, lines = least_coverage(args.runs), 0
    print(f"{'alike':>5s} {'relation':12s} {'n':>6s} {'ε':>3s} share  coefficient  cover   rows  width   ends")
    populations = {alike: Units.population(alike) for alike in args.alike}
    for alike, relation, n, epsilon in settings(args):
        units = populations[alike]
        beta, clusters, by_row = units.least_squares()
        rows = len(units.unit) * n / SIZE
        table = pa.table({"u": np.arange(n), **{name: values[:n] for name, values in units.columns.items()}})
        survey = hg.open(table, relation=relation, unit={"column": "u", "max_rows": MOST})
        plan = survey.plan_ols("y", ["x", "z"], bounds=BOUNDS, epsilon=epsilon, delta=DELTA)
        sampler, noise = Sampler(units, plan), SimulatedNoise(SEED)
        rng = np.random.default_rng([SEED, n, round(10 * epsilon), round(100 * alike)])
        ends, plain = [], []
        for _ in range(args.runs):
            size = n if relation == "replace-one" else int(rng.poisson(n))
            chosen = rng.integers(0, SIZE, size)
            fit = simulated(plan, Answers(plan, sampler.totals[chosen]), noise)
            ends.append([tuple(interval) for interval in fit.conf_int().values()])
            plain.append(_plain(sampler.totals[chosen], plan))
        intervals, without = np.array(ends), np.array(plain)
        sampling = clusters * SIZE / n
        oracle = 2.0 * 1.96 * np.sqrt(sampling + noise_at_truth(plan, units, rows))
        reach = 1.96 * np.sqrt(by_row * SIZE / n)
        for place, name in enumerate(plan.design.model.regressors):
            own = intervals[:, place]
            cover = float(np.mean((own[:, 0] <= beta[place]) & (beta[place] <= own[:, 1])))
            naive = float(np.mean(np.abs(without[:, place] - beta[place]) <= reach[place]))
            width = float(np.median(own[:, 1] - own[:, 0]) / oracle[place])
            finite = float(np.mean(np.isfinite(own).all(axis=1)))
            star, lines = "*" if cover < low else " ", lines + (cover < low)
            share = 0.0 if plan.design.second is None else plan.design.second.share
            print(
                f"{alike:5.1f} {relation:12s} {n:6d} {epsilon:3.0f} {share:5.2f}  {name.name:11s}  {cover:5.3f}{star} "
                f"{naive:5.3f}  {width:5.2f}  {finite:5.3f}",
                flush=True,
            )
    print(f"below {COVERAGE} by more than two standard errors: {lines}")


def _plain(totals: Floats, plan: PlannedRegression) -> Floats:
    """Return the coefficients of drawn units without noise."""
    model = plan.design.model
    second = np.append(totals.sum(axis=0), 0.0)[model.table] / totals[:, 0].sum()
    rows = model.rows(model.regressors)
    return np.asarray(np.linalg.solve(rows @ second @ rows.T, rows @ second @ model.target))


if __name__ == "__main__":
    main()
