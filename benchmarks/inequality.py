"""Gini coefficients, Lorenz curves and shares below a part of the median: coverage and width of their intervals.

Run ``python benchmarks/inequality.py [--runs 200] [--only NAME] [--spread]``: about ten minutes without options.

Samples are drawn with replacement from populations of whole numbers with a declared step, of continuous values, of
heaps at round numbers, and of mixtures with atoms at 0 and at both bounds; both relations, n = 300 to 20,000, ε = .3 to
3, δ = 1e-6. Each line says how often the 95 % interval holds the population's number, its median width over that of the
same number without privacy (3.92 times its standard deviation over samples), and the median standard error over the
standard deviation of the releases. ``--spread`` puts each interval about the number that is read as if values were
spread over their leaves, which is wrong for whole numbers: its coverage shows that the benchmark can fail.

The plan, the counts, the noise and what is read from them are those of a release; the noise is the seeded stand-in of
``hedgerow.testing``, of the same law. A line below .94 − 2 standard errors is repeated once with 3,000 fresh runs,
which decide.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from quantiles import Population, Setting, readings

import hedgerow as hg
from hedgerow.inference.distribution.inequality import gini, lorenz, share_below_of_median
from hedgerow.inference.distribution.noisy_distribution import Distribution, Read

Floats = NDArray[np.float64]
SEED = 20261123
REPEATED = 3000
PART = 0.6
SHARES = (0.3, 0.5, 0.9)
READ: dict[str, Callable[[Distribution], Read]] = {
    "gini": gini,
    **{f"lorenz {share}": lambda one, share=share: lorenz(one, share) for share in SHARES},
    f"below {PART} median": lambda one: share_below_of_median(one, PART),
}


def populations() -> dict[str, Population]:
    """Return the populations by name."""
    rng, many = np.random.default_rng(2), 400_000
    normal, uniform = rng.normal(size=many), rng.random(many)
    lognormal = np.exp(10.2 + 0.7 * normal)
    rounded = np.where(uniform < 0.5, 5000.0, np.where(uniform < 0.75, 1000.0, 100.0))
    heaped = np.rint(lognormal / rounded) * rounded
    visits = rng.poisson(rng.gamma(0.6, 5.0, many)).astype(float)
    mixed = np.where(uniform < 0.3, 0.0, np.where(uniform < 0.5, 100.0, 100.0 * rng.beta(2.0, 5.0, many)))
    people = np.minimum(1.0 + rng.poisson(1.9, many), 13.0)
    return {
        "arrests 0-12": Population(rng.choice(13, many, p=_arrests()).astype(float), (0, 12), 1),
        "answers 1-5": Population(np.clip(np.rint(3.6 + 1.1 * normal), 1, 5), (1, 5), 1),
        "persons 1-13": Population(people, (1, 13), 1),
        "visits 0-80": Population(visits, (0, 80), 1),
        "heaped, step 100": Population(heaped, (0, 150_000), 100),
        "heaped, no step": Population(heaped, (0, 150_000), None),
        "visits, no step": Population(visits, (0, 80), None),
        "persons, no step": Population(people, (1, 13), None),
        "lognormal": Population(lognormal, (0, 150_000), None),
        "generous bounds": Population(lognormal, (0, 1_500_000), None),
        "two humps": Population(np.where(uniform < 0.3, 90.0, 10.0) + 2.0 * normal, (0, 100), None),
        "half zeros": Population(np.where(uniform < 0.5, 0.0, lognormal), (0, 150_000), None),
        "half zeros, step 100": Population(np.where(uniform < 0.5, 0.0, np.rint(lognormal)), (0, 150_000), 100),
        "both bounds": Population(mixed, (0, 100), None),
        "clamped above": Population(lognormal, (0, 30_000), None),
    }


def _arrests() -> Floats:
    chances = 0.33 ** np.arange(13.0)
    chances[0] = chances[1:].sum() * 0.72 / 0.28
    return chances / chances.sum()


def exact(values: Floats) -> Floats:
    """Return every number of `READ` of these values themselves."""
    ranked = np.sort(values)
    n, total = len(ranked), ranked.sum()
    coefficient = float((2.0 * np.arange(1, n + 1) - n - 1.0) @ ranked / (n * total))
    summed = np.append(0.0, np.cumsum(ranked))
    held = [np.interp(share * n, np.arange(n + 1), summed) / total for share in SHARES]
    line = PART * ranked[math.ceil(0.5 * n) - 1]
    return np.array([coefficient, *held, np.searchsorted(ranked, line * (1.0 - 1e-12)) / n])


def measured(
    population: Population,
    setting: Setting,
    runs: int,
    rng: np.random.Generator,
    numbers: list[Callable[[Distribution], Read]],
    *,
    spread: bool = False,
) -> Floats:
    """Return (runs, numbers, 4): value, low, high and standard error of each reading."""
    grid = {"bounds": population.bounds, "step": population.step}
    asked = [hg.gini("x", **grid), hg.lorenz("x", at=0.5, **grid), hg.share_below("x", of_median=PART, **grid)]
    cells = readings(population, asked, setting, runs, rng).cells
    read = [[one(cell) for one in numbers] for cell in cells]
    found = np.array([[(one.value, one.low, one.high, one.standard_error) for one in each] for each in read])
    if spread:
        half = (found[..., 2] - found[..., 1]) / 2.0
        found[..., 0] = [[one(replace(cell, step=None)).value for one in numbers] for cell in cells]
        found[..., 1], found[..., 2] = found[..., 0] - half, found[..., 0] + half
    return found


def main() -> None:
    """Print all lines, and those that fall short."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--spread", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 2000, 20_000])
    parser.add_argument("--epsilons", type=float, nargs="*", default=[0.3, 1.0, 3.0])
    given = parser.parse_args()
    rng, hits, short, ratios = np.random.default_rng(SEED), list[float](), list[str](), list[float]()
    print(f"{'population':22} {'relation':11} {'n':>6} {'ε':>4} {'number':>16}  covered  width  s.e./sd   truth")
    for name, population in populations().items():
        if given.only not in name:
            continue
        clamped = np.clip(population.values, *population.bounds)
        truth = exact(clamped)
        for n in given.sizes:
            alone = np.array([exact(rng.choice(clamped, n)) for _ in range(300)]).std(axis=0)
            for relation in ("replace-one", "add-remove"):
                for epsilon in given.epsilons:
                    setting = Setting(relation, n, epsilon)
                    found = measured(population, setting, given.runs, rng, list(READ.values()), spread=given.spread)
                    covered = _covered(found, truth)
                    low = covered < _least(given.runs)
                    if low.any() and not given.spread:
                        numbers = [one for one, wrong in zip(READ.values(), low, strict=True) if wrong]
                        covered[low] = _covered(measured(population, setting, REPEATED, rng, numbers), truth[low])
                    width = np.median(found[..., 2] - found[..., 1], axis=0) / np.maximum(3.92 * alone, 1e-9)
                    error = np.median(found[..., 3], axis=0) / np.maximum(found[..., 0].std(axis=0), 1e-9)
                    for place, number in enumerate(READ):
                        where = f"{name:22} {relation:11} {n:6,} {epsilon:4g} {number:>16}"
                        said = f"{covered[place]:7.3f} {width[place]:6.2f} {error[place]:8.2f} {truth[place]:8.4f}"
                        print(f"{where}  {said}", flush=True)
                        hits.append(float(covered[place]))
                        ratios.append(float(width[place]))
                        if covered[place] < _least(REPEATED if low[place] else given.runs):
                            short.append(where)
    print(f"{len(hits)} lines: coverage {min(hits):.3f} to {max(hits):.3f}, median {np.median(hits):.3f}")
    print(f"median width over that without privacy: {np.median(ratios):.2f}; below .94 − 2 s.e.: {short or 'none'}")


def _covered(found: Floats, truth: Floats) -> Floats:
    close = 1e-9
    return ((found[..., 1] <= truth + close) & (truth - close <= found[..., 2])).mean(axis=0)


def _least(runs: int) -> float:
    return 0.94 - 2.0 * math.sqrt(0.94 * 0.06 / runs)


if __name__ == "__main__":
    main()
