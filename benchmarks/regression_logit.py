"""Logistic regression on UCI Adult, income > 50K on age, hours, years of education, sex: errors, coverage, time.

    HEDGEROW_DATA=folder python -m benchmarks.regression_logit [adult] [fair] [guess] --runs 200

30,162 records without a missing value, ε = 1, δ = 1e-6. Refits are simulated from the fit that is not private: records
are drawn with replacement, outcomes from the model, noise from a seeded source. Ratios are of median standard errors to
those without privacy, in the order of the coefficients; a fit that is marked unreliable counts as not covered.

"fair": the survey of affairs that statsmodels has, where that is installed: any affair on the rating of the marriage,
age, years married and religion, with their natural bounds. Age and years have the correlation 0.89. Records are drawn
from the file, which is the population. Printed are how many fits have ends in all intervals, by `logit` and by `ols` of
the same outcome, coverage, and median widths over those without privacy. "guess": what a guess of these regressors'
moments, their correlations among them, gains of the errors of `ols`, as its plan says.

24 November 2026, two cores shared with other work. adult, 100 runs:

    add-remove
        s.e. over non-private 1.19 1.15 1.28 1.19 1.03
        coverage 0.97 0.96 0.93 0.97 0.93
        mean s.e. over sd 1.05 1.02 1 1.1 0.933
        reliable 1.000
    replace-one
        s.e. over non-private 1.5 1.41 1.73 1.5 1.11
        coverage 0.99 0.96 0.94 0.97 0.93
        mean s.e. over sd 1.11 1.05 1 1.13 0.905
        reliable 1.000

fair, 150 runs, the share of fits with ends:

    relation     n     ε  logit  ols    coverage, least
    replace-one  6000  1  1.000  1.000  0.953
    replace-one  4000  1  0.933  0.967  0.957  (300 runs)
    replace-one  2000  1  0.467  0.460  0.980
    replace-one  6000  3  1.000  1.000  0.953
    replace-one  4000  3  1.000  1.000  0.900
    replace-one  2000  3  0.993  1.000  0.933
    add-remove   6000  1  1.000  1.000  0.920
    add-remove   4000  1  0.987  0.947  0.947
    add-remove   2000  3  1.000  1.000  0.947

guess: without it errors are 1.06 (replace-one) and 1.08 times as large (add-remove), with correlations 1.06 and 1.07.
Weights of a kind each divide the noise; the box of two collinear regressors stays as wide as without a guess.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.regression import simulated

import hedgerow as hg
from hedgerow.mechanisms.newton_steps import logistic
from hedgerow.regression.logit.logit_model import LogitRecords
from hedgerow.regression.logit.logit_regression import LogitRegression
from hedgerow.regression.logit.release_logit import PlannedLogit, drawn_logit, precisions, read_logit
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise

RELATIONS = ("add-remove", "replace-one")
FAIR = "affair ~ rate + age + years + religious"
FAIR_BOUNDS = {"rate": (1, 5), "age": (17, 43), "years": (0, 24), "religious": (1, 4)}
FAIR_SETTINGS = (
    *(
        ("replace-one", n, epsilon)
        for n, epsilon in ((6000, 1.0), (4000, 1.0), (2000, 1.0), (6000, 3.0), (4000, 3.0), (2000, 3.0))
    ),
    *(("add-remove", n, epsilon) for n, epsilon in ((6000, 1.0), (4000, 1.0), (2000, 3.0))),
)
FORMULA = "income ~ age + hours + educ + C(sex)"
ASKED: dict[str, Any] = {
    "value": ">50K",
    "bounds": {"age": (17, 90, 1), "hours": (1, 99, 1), "educ": (1, 16, 1)},
    "categories": {"sex": ["Female", "Male"]},
    "epsilon": 1.0,
    "delta": 1e-6,
}


class NoNoise(SimulatedNoise):
    """Adds 0."""

    def discrete_gaussian(self, width: float, size: int) -> np.ndarray:
        """Return zeros."""
        return np.zeros(size, dtype=np.int64)


def adult() -> pa.Table:
    """Return the complete records."""
    with (Path(os.environ["HEDGEROW_DATA"]) / "adult.data").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15 and "?" not in row]
    numbers = {"age": 0, "hours": 12, "educ": 4}
    columns: dict[str, list[Any]] = {name: [float(row[place]) for row in rows] for name, place in numbers.items()}
    return pa.table(columns | {"sex": [row[9] for row in rows], "income": [row[14] for row in rows]})


def without_noise(plan: PlannedLogit, data: Histogram) -> LogitRegression:
    """Return the fit that is not private."""
    exact = replace(plan, mechanism=replace(plan.mechanism, precisions=precisions(1e5, 12)))
    return read_logit(exact, drawn_logit(exact, data, NoNoise()), None, "Adult", None)


def study(plan: PlannedLogit, data: Histogram, runs: int) -> str:
    """Return coverage and errors of simulated refits, in a line."""
    plain = without_noise(plan, data)
    truth, alone = (np.array(list(one.values())) for one in (plain.params, plain.bse))
    # Outcomes are the last digit of a cell: 0 where the response has the value.
    groups = np.unique(np.stack([data.cell - data.cell % 2, data.index], axis=1), axis=0, return_inverse=True)
    (cell, index), count = groups[0].T, np.bincount(groups[1].ravel(), weights=data.count).astype(np.int64)
    features, _ = LogitRecords(plan.model, data).features_of(cell, index)
    chance, _ = logistic(features @ plain.fit.path.beta)
    rng, found, errors, covered, reliable = np.random.default_rng(1), [], [], [], []
    for run in range(runs):
        here = rng.multinomial(count.sum(), count / count.sum())
        yes = rng.binomial(here, chance)
        counts = np.concatenate([yes, here - yes])
        kept = counts > 0
        drawn = Histogram.from_triplets(
            np.concatenate([cell, cell + 1])[kept], np.tile(index, 2)[kept], counts[kept], cells=data.cells
        )
        fit = read_logit(plan, drawn_logit(plan, drawn, SimulatedNoise(run)), None, "Adult", None)
        ends = np.array([tuple(interval) for interval in fit.conf_int().values()])
        reliable.append(fit.reliable)
        covered.append(fit.reliable & (ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        found.append(list(fit.params.values()))
        errors.append(list(fit.bse.values()))
    kept_fits = np.array(reliable)
    spread, stated = np.array(found)[kept_fits].std(axis=0), np.array(errors)[kept_fits]
    parts = {
        "s.e. over non-private": np.median(stated, axis=0) / alone,
        "coverage": np.mean(covered, axis=0),
        "mean s.e. over sd": stated.mean(axis=0) / spread,
    }
    said = "; ".join(f"{name} {' '.join(f'{one:.3g}' for one in values)}" for name, values in parts.items())
    return f"{said}; reliable {kept_fits.mean():.3f}"


def fair_people() -> dict[str, np.ndarray] | None:
    """Return the columns of statsmodels' survey of affairs; None where it is not installed."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        return None
    data = fair.load_pandas().data
    columns = {"rate": "rate_marriage", "age": "age", "years": "yrs_married", "religious": "religious"}
    whole = {name: data[column].to_numpy(float) for name, column in columns.items()}
    return whole | {"affair": (data["affairs"] > 0).to_numpy(float)}


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logistic coefficients of a file without privacy, and their standard errors."""
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        chance, less = logistic(x @ beta)
        information = (x * (chance * less)[:, None]).T @ x
        beta = beta + np.linalg.solve(information, x.T @ (y - chance))
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def fair_fits(runs: int) -> None:
    """Print how often intervals have ends and hold, a line for each setting."""
    people = fair_people()
    if people is None:
        print("fair: left out, as statsmodels is not installed")
        return
    x = np.column_stack([np.ones(len(people["age"])), *(people[name] for name in FAIR_BOUNDS)])
    truth, errors = fitted(x, people["affair"])
    for relation, n, epsilon in FAIR_SETTINGS:
        chance, noise, plans = np.random.default_rng(n), SimulatedNoise(7), None
        ends, lines = [], []
        for _ in range(runs):
            rows = chance.integers(0, len(x), n)
            drawn = {name: values[rows] for name, values in people.items()}
            opened = hg.open(pa.table(drawn), relation=relation)
            if plans is None:
                given = {"epsilon": epsilon, "delta": 1e-6}
                line = opened.plan_ols(FAIR, bounds={**FAIR_BOUNDS, "affair": (0, 1)}, **given)
                plans = opened.plan_logit(FAIR, bounds=FAIR_BOUNDS, **given), line
            steps = drawn_logit(plans[0], opened.source.histogram(plans[0].query), noise)
            fit = read_logit(plans[0], steps, None, "fair", None)
            ends.append([tuple(interval) for interval in fit.conf_int().values()])
            lines.append([tuple(interval) for interval in simulated(plans[1], drawn, noise).conf_int().values()])
        low, high = np.moveaxis(np.array(ends), 2, 0)
        wide = np.median(high - low, axis=0) / (3.92 * errors * np.sqrt(len(x) / n))
        share, other = (np.isfinite(np.array(each)).all(axis=(1, 2)).mean() for each in (ends, lines))
        held = ((low <= truth) & (truth <= high)).mean(axis=0)
        said = f"logit {share:.3f}, ols {other:.3f}; coverage {' '.join(f'{one:.3f}' for one in held)}"
        print(
            f"fair, {relation}, n {n}, ε {epsilon:g}: ends {said}; widths {' '.join(f'{one:.2f}' for one in wide)}",
            flush=True,
        )


def fair_guesses(_: int) -> None:
    """Print by how much a guess of means, spreads and correlations makes the errors of `ols` smaller."""
    people = fair_people()
    if people is None:
        print("guess: left out, as statsmodels is not installed")
        return
    names = list(FAIR_BOUNDS)
    alike = np.corrcoef([people[name] for name in names])
    alone = {name: {"mean": float(people[name].mean()), "sd": float(people[name].std())} for name in names}
    together: dict[str, Any] = {
        name: alone[name]
        | {"correlation": {other: round(float(alike[i, j]), 2) for j, other in enumerate(names) if j > i}}
        for i, name in enumerate(names)
    }
    for relation in RELATIONS:
        survey, gains = hg.open(pa.table(people), relation=relation), []
        for guess in (alone, together):
            plan = survey.plan_ols(FAIR, bounds={**FAIR_BOUNDS, "affair": (0, 1)}, epsilon=1.0, delta=1e-6, guess=guess)
            gains.append(plan.design.gain)
        print(
            f"guess, {relation}: without it errors are {gains[0]:.3f}, with correlations {gains[1]:.3f} times as large"
        )


def adult_fits(runs: int) -> None:
    """Print a line for each relation."""
    table = adult()
    for relation in RELATIONS:
        survey = hg.open(table, relation=relation)
        plan = survey.plan_logit(FORMULA, **ASKED)
        start = time.process_time()
        survey.logit(FORMULA, **ASKED)
        took = time.process_time() - start
        data = survey.source.histogram(plan.query)
        print(f"adult, {relation}: {study(plan, data, runs)}; one release {took:.2f} s of CPU", flush=True)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["adult", "fair"])
    parser.add_argument("--runs", type=int, default=200)
    asked = parser.parse_args()
    for part in asked.parts:
        {"adult": adult_fits, "fair": fair_fits, "guess": fair_guesses}[part](asked.runs)


if __name__ == "__main__":
    main()
