"""Robust regression: coverage where variances differ, beside the intervals of equal variances from the same numbers.

    python -m benchmarks.regression_robust [--runs R] [--n N…]

Every figure is of simulated releases of the shipped path, as in `benchmarks.regression`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from benchmarks.regression import LEVEL, PUMS_GUESS, Data, planned, simulated
from reproduction.pums import pums

from hedgerow.testing.simulated import SimulatedNoise

BOUNDS = {"x": (-1, 1), "z": (-2, 2), "y": (-12, 12)}


def spread(n: int, chance: np.random.Generator) -> Data:
    """Return normal errors whose standard deviation grows with |x|."""
    return _data(n, chance, lambda size: chance.normal(size=size))


def skewed(n: int, chance: np.random.Generator) -> Data:
    """Return exponential errors, of mean 0, whose standard deviation grows with |x|."""
    return _data(n, chance, lambda size: chance.exponential(size=size) - 1.0)


def _data(n: int, chance: np.random.Generator, draw: Callable[[int], np.ndarray]) -> Data:
    x, z = chance.uniform(-1, 1, n), np.clip(chance.normal(0.0, 0.6, n), -2, 2)
    return {"x": x, "z": z, "y": np.clip(0.5 + x - z + draw(n) * (0.1 + 1.5 * x**2), -12, 12)}


KINDS = {"normal": spread, "skewed": skewed}
TRUTH = np.array([0.5, 1.0, -1.0])


def lines(sizes: list[int], runs: int) -> Iterator[dict[str, Any]]:
    """Yield coverage and errors of each setting."""
    for relation in ("replace-one", "add-remove"):
        for n in sizes:
            for epsilon in (1.0, 3.0):
                for kind, draw in KINDS.items():
                    data = draw(n, np.random.default_rng(0))
                    plan = planned(data, "y ~ x + z", relation, bounds=BOUNDS, epsilon=epsilon, robust=True)
                    setting = {"relation": relation, "n": n, "epsilon": epsilon, "kind": kind}
                    share = plan.design.second.share if plan.design.second else None
                    yield setting | {"share": share} | study(plan, partial(draw, n), TRUTH, runs)


def incomes(sizes: list[int], runs: int) -> Iterator[dict[str, Any]]:
    """Yield income on schooling, age and sex, drawn from the PUMS extract: the file is the population."""
    people = pums()
    names = ("educ", "age", "sex", "income")
    columns = {name: np.asarray(people[name], dtype=np.float64) for name in names}
    columns["income"] = np.clip(columns["income"], 0.0, 200_000.0)
    x = np.column_stack([np.ones(len(columns["age"])), *(columns[name] for name in names[:3])])
    truth = np.linalg.lstsq(x, columns["income"], rcond=None)[0]
    rest = columns["income"] - x @ truth
    inverse = np.linalg.inv(x.T @ x)
    oracle = np.sqrt(np.diag(inverse @ (x.T * rest**2 @ x) @ inverse) * len(x))
    bounds = {"educ": (1, 16), "age": (0, 100), "sex": (0, 1), "income": (0, 200_000)}

    def draw(n: int, chance: np.random.Generator) -> Data:
        chosen = chance.integers(0, len(x), n)
        return {name: values[chosen] for name, values in columns.items()}

    for n in sizes:
        given: dict[str, Any] = {"bounds": bounds, "epsilon": 1.0, "guess": PUMS_GUESS, "robust": True}
        data = draw(n, np.random.default_rng(0))
        plan = planned(data, "income ~ educ + age + sex", "replace-one", missing="error-if-declared-complete", **given)
        share = plan.design.second.share if plan.design.second else None
        found = study(plan, partial(draw, n), truth, runs)
        classical = np.sqrt(np.diag(inverse) * len(x) * np.mean(rest**2))
        yield {
            "part": "pums",
            "n": n,
            "share": share,
            "hc_over_classical": (oracle / classical).round(3).tolist(),
        } | found


def study(plan: Any, draw: Callable[[np.random.Generator], Data], truth: np.ndarray, runs: int) -> dict[str, Any]:
    """Return coverage of both kinds of interval, and the robust error over the sd of estimates, by coefficient."""
    chance, noise = np.random.default_rng(1), SimulatedNoise(1)
    covered: dict[str, list[np.ndarray]] = {"robust": [], "classical": []}
    found, errors, lengths, refused, cut = [], [], [], 0, []
    for _ in range(runs):
        fit = simulated(plan, draw(chance), noise)
        for name, one in (("robust", fit), ("classical", replace(fit, second=None))):
            ends = np.array([tuple(interval) for interval in one.conf_int(LEVEL).values()])
            covered[name].append((ends[:, 0] <= truth) & (ends[:, 1] >= truth))
            if name == "robust":
                lengths.append(ends[:, 1] - ends[:, 0])
        refused += not fit.reliable
        if fit.reliable:
            found.append(list(fit.params.values()))
            errors.append(list(fit.bse.values()))
            cut.append(fit.fit.cut)
    rounded = {name: np.mean(one, axis=0).round(3).tolist() for name, one in covered.items()}
    if len(found) < 3:
        return rounded | {"refused": refused / runs}
    spreads = np.std(found, axis=0)
    return rounded | {
        "se_over_sd": (np.mean(errors, axis=0) / spreads).round(3).tolist(),
        "length_over_sd": (np.median(lengths, axis=0) / spreads / 3.92).round(3).tolist(),
        "cut": round(float(np.mean(cut)), 3),
        "refused": refused / runs,
    }


def main() -> int:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--n", type=int, nargs="*", default=[2_000, 10_000, 50_000])
    asked = parser.parse_args()
    for line in chain(incomes(asked.n, asked.runs), lines(asked.n, asked.runs)):
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
