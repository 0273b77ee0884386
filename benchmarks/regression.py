"""Regression: errors beside those of dp-statsmodels and of no privacy, coverage, and the time of ten million rows.

    python -m benchmarks.regression [anchors] [pums] [coverage] [rows] [few] [--runs R]

Every figure is of simulated releases of the shipped path: the plan, the engine's sums, seeded noise, the intervals.
"coverage" is how often an interval held the truth, "finite" how many had two ends, "coverage_finite" counts those
without as misses; "unreliable" is the share of fits that are marked so, whose standard errors are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from reproduction.pums import pums

import hedgerow as hg
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.regression.regression import Regression
from hedgerow.regression.release_regression import (
    PlannedRegression,
    drawn_regression,
    read_regression,
    with_robust_errors,
)
from hedgerow.release.execute import read_histograms
from hedgerow.testing.simulated import SimulatedNoise

Data = dict[str, np.ndarray]
LEVEL = 0.95
# As published tables of a census would tell.
PUMS_GUESS = {
    "educ": {"mean": 10, "sd": 3.3},
    "age": {"mean": 45, "sd": 18},
    "sex": {"mean": 0.5, "sd": 0.5},
    "income": {"mean": 30_000, "sd": 35_000, "correlation": {"educ": 0.35, "sex": -0.2}},
}
# Standard errors of dp-statsmodels at (1, 1e-5), add-remove, of the first coefficient: by number of records.
DP_STATSMODELS = {10_000: 0.323, 100_000: 0.031}


def simulated(plan: PlannedRegression, data: Data, noise: SimulatedNoise) -> Regression:
    """Return one simulated release of a plan that was made for data of this size."""
    survey = hg.open(pa.table(data), relation=str(plan.facts.relation))
    drawn = drawn_regression(plan, read_histograms(plan.plan, survey.source), noise)
    made = read_regression(plan, drawn, None, "simulated", None)
    return with_robust_errors(plan, made, survey.source, noise)[0]


def planned(data: Data, formula: str, relation: str, **options: Any) -> PlannedRegression:
    """Return the plan of a regression on data like these."""
    return hg.open(pa.table(data), relation=relation).plan_ols(formula, **options)


def study(
    draw: Callable[[np.random.Generator], Data],
    truth: np.ndarray,
    plan: PlannedRegression,
    *,
    runs: int,
    seed: int = 1,
) -> dict[str, Any]:
    """Return coverage, mean standard error over the robust sd, and that over the non-private one, by coefficient."""
    chance, noise = np.random.default_rng(seed), SimulatedNoise(seed)
    finite, held, estimates, errors, plain, reliable = [], [], [], [], [], []
    for _ in range(runs):
        data = draw(chance)
        fit = simulated(plan, data, noise)
        ends = np.array([tuple(interval) for interval in fit.conf_int(LEVEL).values()])
        finite.append(np.isfinite(ends).all(axis=1))
        held.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        estimates.append(list(fit.params.values()))
        errors.append(list(fit.bse.values()))
        plain.append(ordinary(plan, data))
        reliable.append(fit.reliable)
    kept = np.array(reliable)
    found, stated, alone = (np.array(one)[kept] for one in (estimates, errors, plain))
    spread = found.std(axis=0) if kept.sum() > 2 else np.nan
    return {
        "unreliable": round(float(1.0 - kept.mean()), 3),
        "coverage": np.mean(held, axis=0).round(3).tolist(),
        "finite": np.mean(finite, axis=0).round(3).tolist(),
        "coverage_finite": (np.array(held) & np.array(finite)).mean(axis=0).round(3).tolist(),
        "se": np.median(stated, axis=0).tolist() if kept.any() else None,
        "se_over_sd": np.round(stated.mean(axis=0) / spread, 3).tolist() if kept.any() else None,
        "se_over_plain": np.round(np.median(stated, axis=0) / np.median(alone, axis=0), 3).tolist()
        if kept.any()
        else None,
    }


def ordinary(plan: PlannedRegression, data: Data) -> np.ndarray:
    """Return the standard errors of least squares without privacy."""
    model = plan.design.model
    columns = {column: (data[column] - c) / h for column, (c, h) in model.axes.items()}
    levels = {column: np.searchsorted(values, data[column]) for column, values in model.categories.items()}
    records = model.records(columns, levels)
    x, y = records @ model.rows(model.regressors).T, records @ model.target
    inverse = np.linalg.inv(x.T @ x)
    rest = y - x @ (inverse @ (x.T @ y))
    return np.sqrt(np.diag(inverse) * (rest @ rest) / (len(y) - x.shape[1]))


def anchor_data(n: int, chance: np.random.Generator) -> Data:
    """Return y = a + 2b + e of standard normal columns."""
    a, b = chance.normal(size=(2, n))
    return {"a": a, "b": b, "y": a + 2.0 * b + chance.normal(size=n)}


def anchors(runs: int) -> Iterator[dict[str, Any]]:
    """Yield the setting of dp-statsmodels: its own bounds, add-remove, (1, 1e-5), with a ball and with the box."""
    bounds = {"a": (-5, 5), "b": (-5, 5), "y": (-20, 20)}
    # A guess that is as far off as a factor 1.5: what an analyst of standardised columns would say.
    guess = {"a": {"mean": 0, "sd": 1.5}, "b": {"mean": 0, "sd": 1.5}, "y": {"mean": 0, "sd": 3}}
    cases: dict[str, dict[str, Any]] = {
        "ball": {"clip_norm": 1.0},
        "ball, guess": {"clip_norm": 1.0, "guess": guess},
        "box, guess": {"guess": guess},
    }
    for n in (1_000, 10_000, 100_000):
        for case, given in cases.items():
            data = anchor_data(n, np.random.default_rng(0))
            plan = planned(data, "y ~ a + b", "add-remove", bounds=bounds, epsilon=1.0, delta=1e-5, **given)
            found = study(partial(anchor_data, n), np.array([0.0, 1.0, 2.0]), plan, runs=runs)
            se = found["se"][1] if found["se"] else None
            rival = DP_STATSMODELS.get(n)
            gain = None if se is None or rival is None else round(rival / se, 2)
            yield {"part": "anchor", "n": n, "case": case, "gain": gain, **found}


def pums_fits(runs: int) -> Iterator[dict[str, Any]]:
    """Yield income on schooling, age and sex, drawn from the PUMS extract: the file is the population."""
    people = pums()
    columns = {name: np.asarray(people[name], dtype=np.float64) for name in ("educ", "age", "sex", "income")}
    columns["income"] = np.clip(columns["income"], 0.0, 200_000.0)
    x = np.column_stack([np.ones(len(columns["age"])), *(columns[name] for name in ("educ", "age", "sex"))])
    truth = np.linalg.lstsq(x, columns["income"], rcond=None)[0]
    bounds = {"educ": (1, 16), "age": (0, 100), "sex": (0, 1), "income": (0, 200_000)}

    def draw(n: int, chance: np.random.Generator) -> Data:
        chosen = chance.integers(0, len(x), n)
        return {name: values[chosen] for name, values in columns.items()}

    for n in (10_000, 50_000):
        for missing in ("error-if-declared-complete",):
            plan = planned(
                draw(n, np.random.default_rng(0)),
                "income ~ educ + age + sex",
                "replace-one",
                bounds=bounds,
                epsilon=1.0,
                delta=1e-6,
                missing=missing,
                guess=PUMS_GUESS,
            )
            told = {"n": n, "missing": missing, "alone": alone(x, columns["income"], bounds, plan)}
            yield {"part": "pums", **told, **study(partial(draw, n), truth, plan, runs=runs)}


def alone(x: np.ndarray, y: np.ndarray, bounds: dict[str, tuple[int, int]], plan: PlannedRegression) -> list[float]:
    """Return at least what error over non-private one Gaussian number costs that is a coefficient and nothing else.

    The number is the mean influence e'A⁻¹x(y − x'β), all else known; its range is at least that over the box's corners.
    """
    inverse = np.linalg.inv(x.T @ x / len(x))
    beta = inverse @ (x.T @ y) / len(x)
    corners = np.array(list(product(*bounds.values())), dtype=np.float64)
    ends = np.column_stack([np.ones(len(corners)), corners[:, :-1]])
    influence = (ends @ inverse) * (corners[:, -1] - ends @ beta)[:, None]
    n, mu = plan.facts.n or 0, gaussian_mu(plan.plan.request.budget)
    noise = (influence.max(axis=0) - influence.min(axis=0)) / (n * mu)
    sampling = np.sqrt(np.mean((y - x @ beta) ** 2) * np.diag(inverse) / n)
    return np.sqrt(1.0 + (noise / sampling) ** 2).round(3).tolist()


def grid_data(n: int, kind: str, p: int, chance: np.random.Generator) -> Data:
    """Return p regressors of one kind, between −1 and 1, and a response with normal errors."""
    if kind == "skewed":
        x = np.minimum(chance.exponential(0.25, (p, n)), 2.0) - 1.0
    else:
        rest = chance.normal(size=(p, n))
        r = 0.9 if kind == "collinear" else 0.0
        x = np.clip(0.3 * (np.sqrt(r) * chance.normal(size=n) + np.sqrt(1.0 - r) * rest), -1.0, 1.0)
    data = {f"x{place}": column for place, column in enumerate(x)}
    if kind == "categorical":
        data["x0"] = chance.integers(0, 3, n).astype(np.float64)
        level = 0.3 * (data["x0"] == 1) + 0.6 * (data["x0"] == 2) - 0.3
    else:
        level = 0.5 * x[0]
    data["y"] = level + 0.3 * x[1:].sum(axis=0) / max(1.0, np.sqrt(p - 1.0)) + chance.normal(0.0, 0.3, n)
    return data


def coverage(runs: int) -> Iterator[dict[str, Any]]:
    """Yield the coverage of every kind of data, size and number of regressors."""
    for kind in ("normal", "skewed", "collinear", "categorical"):
        for p in (1, 3, 10):
            slopes = [0.3 / max(1.0, np.sqrt(p - 1.0))] * (p - 1)
            first = [0.3, 0.6] if kind == "categorical" else [0.5]
            constant = -0.3 if kind == "categorical" else 0.0
            truth = np.array([constant, *first, *slopes])
            terms = ["C(x0)" if kind == "categorical" else "x0", *(f"x{place}" for place in range(1, p))]
            bounds = {f"x{place}": (-1, 1) for place in range(p)} | {"y": (-3, 3)}
            categories = {"x0": [0, 1, 2]} if kind == "categorical" else {}
            if categories:
                del bounds["x0"]
            for n in (1_000, 10_000, 100_000):
                data = grid_data(n, kind, p, np.random.default_rng(0))
                plan = planned(
                    data,
                    "y ~ " + " + ".join(terms),
                    "replace-one",
                    bounds=bounds,
                    categories=categories,
                    epsilon=1.0,
                    delta=1e-6,
                )
                fewer = max(20, runs // 4) if n == 100_000 else runs
                found = study(partial(grid_data, n, kind, p), truth, plan, runs=fewer)
                yield {"part": "coverage", "kind": kind, "p": p, "n": n, **found}


def few_data(law: str, n: int, chance: np.random.Generator) -> Data:
    """Return three regressors of one law and a response without a constant."""
    laws = {
        "uniform": lambda: chance.uniform(0.0, 10.0, (3, n)),
        "normal": lambda: chance.normal(1.0, 1.0, (3, n)),
        "exponential": lambda: np.minimum(chance.exponential(1.0, (3, n)), 8.0),
    }
    x = laws[law]()
    return {f"x{place}": column for place, column in enumerate(x)} | {"y": FEW_TRUTH @ x + chance.normal(size=n)}


def few(runs: int) -> Iterator[dict[str, Any]]:
    """Yield errors of estimates at μ = 1, add-remove, no intercept: the settings of BinAgg (arXiv 2510.16974).

    The root of the mean square, that of the median over 0.6745², and both without shrinkage.
    """
    for law, low, high, most in (("uniform", 0, 10, 30), ("normal", -3, 5, 10), ("exponential", 0, 8, 20)):
        bounds = {f"x{place}": (low, high) for place in range(3)} | {"y": (-most, most)}
        for n in (500, 2_000, 10_000):
            chance, noise = np.random.default_rng(n), SimulatedNoise(n)
            plan = planned(few_data(law, n, chance), "y ~ x0 + x1 + x2 - 1", "add-remove", bounds=bounds, mu=1.0)
            made = [simulated(plan, few_data(law, n, chance), noise) for _ in range(runs)]
            ends_of = np.array([[tuple(interval) for interval in fit.conf_int(LEVEL).values()] for fit in made])
            line: dict[str, Any] = {"part": "few", "law": law, "n": n, "runs": runs}
            for name, shrinks in (("", True), ("_plain", False)):
                off = np.array([replace(fit.fit, shrinks=shrinks).params for fit in made]) - FEW_TRUTH
                line[f"rmse{name}"] = np.sqrt(np.mean(off**2, axis=0)).round(3).tolist()
                line[f"robust{name}"] = (np.median(np.abs(off), axis=0) / 0.6745).round(3).tolist()
            held = (ends_of[:, :, 0] <= FEW_TRUTH) & (ends_of[:, :, 1] >= FEW_TRUTH)
            yield line | {
                "shrunk": float(np.mean([fit.fit.shrunk for fit in made])),
                "held": held.mean(axis=0).tolist(),
            }


def rows(_: int) -> Iterator[dict[str, Any]]:
    """Yield the time and the memory of ten regressors in a Parquet file, over DuckDB's own time of the same sums.

    Each is measured in a process of its own: the least of four runs, and the most memory that it ever had.
    """
    chance = np.random.default_rng(1)
    names = [f"x{place}" for place in range(10)] + ["y"]
    for count in (ROWS // 10, ROWS):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            schema = pa.schema([(name, pa.float64()) for name in names])
            with pyarrow.parquet.ParquetWriter(path, schema) as file:
                # Groups of about as many rows as DuckDB and Spark write.
                for _ in range(0, count, 100_000):
                    columns = chance.uniform(-1.0, 1.0, (len(names), 100_000))
                    file.write_table(pa.table(dict(zip(names, columns, strict=True))))
            found = {}
            for who in ("ours", "duckdb"):
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                    found[who] = alone.submit(sums_of, str(path), names, who).result()
        yield {
            "part": "rows",
            "rows": count,
            **{f"{what}_{who}": value for who, told in found.items() for what, value in told.items()},
            "ratio": round(found["ours"]["seconds"] / found["duckdb"]["seconds"], 2),
            "ratio_of_cpu": round(found["ours"]["cpu"] / found["duckdb"]["cpu"], 2),
        }


def sums_of(path: str, names: list[str], who: str) -> dict[str, float]:
    """Return the seconds of the sums behind a regression, and the most memory of this process, in megabytes."""
    bounds = dict.fromkeys(names, (-1, 1))
    survey = hg.open(path, relation="replace-one")
    plan = survey.plan_ols("y", names[:-1], bounds=bounds, epsilon=1.0)
    products = [f"sum({a} * {b})" for place, a in enumerate(names) for b in names[place:]]
    asked = ", ".join([f"sum({name})" for name in names] + products)
    duckdb.execute("SET enable_progress_bar = false")
    seconds, cpu = [], []
    for _ in range(4):
        start, used = time.perf_counter(), time.process_time()
        if who == "ours":
            survey.source.sums(plan.design.query)
        else:
            duckdb.sql(f"SELECT count(*), {asked} FROM '{path}'").fetchall()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    # Not ru_maxrss, which a new process inherits from the one that started it.
    (peak,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return {"seconds": round(min(seconds), 2), "cpu": round(min(cpu), 2), "peak_mb": int(peak.split()[1]) // 1024}


ROWS = 10_000_000
FEW_TRUTH = np.array([1.5, -2.0, 0.5])
PARTS = {"rows": rows, "anchors": anchors, "pums": pums_fits, "coverage": coverage, "few": few}


def main() -> int:
    """Print a line of JSON a setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--runs", type=int, default=400)
    asked = parser.parse_args()
    for name in asked.parts or PARTS:
        for line in PARTS[name](asked.runs):
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
