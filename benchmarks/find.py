"""How good found bounds and categories are: the figures of docs/how_to/find_bounds_and_categories.md.

Run ``HEDGEROW_DATA=… python -m benchmarks.find [RUNS]`` (200 by default, some minutes). For the income of PUMS and laws
of 10,000 records: in how many runs the bounds hold at least 98 % of the records, in how many they are at most 4 times
as wide as needed besides, and the widths. Needed is the width of the narrowest interval that holds 98 % of the records.
Then how often a category of so many records is found. Noise is seeded and drawn by the mechanisms of a release.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from reproduction.pums import pums

from hedgerow.facts.relation import Relation
from hedgerow.find.found import narrowest_bounds
from hedgerow.find.search import BoundsSearch, CategoriesSearch, Place
from hedgerow.testing.simulated import SimulatedNoise

__all__ = ["LAWS", "main", "needed"]

N = 10_000
Floats = NDArray[np.float64]
Law = Callable[[np.random.Generator], Floats]


def _income(_: np.random.Generator) -> Floats:
    return pums()["income"]


def _two_groups(rng: np.random.Generator) -> Floats:
    return np.where(rng.random(N) < 0.1, -rng.lognormal(5.0, 0.5, N), rng.lognormal(8.0, 0.5, N))


LAWS: dict[str, Law] = {
    "PUMS income": _income,
    "normal, mean 1e6, sd 1e5": lambda rng: rng.normal(1e6, 1e5, N),
    "lognormal(10, 1)": lambda rng: rng.lognormal(10.0, 1.0, N),
    "10 % negative, 90 % positive": _two_groups,
    "Student, 3 degrees of freedom": lambda rng: rng.standard_t(3, N),
    "Pareto, exponent 2": lambda rng: 1.0 + rng.pareto(2.0, N),
    "hard: lognormal(0, 2)": lambda rng: rng.lognormal(0.0, 2.0, N),
    "hard: Pareto, exponent 1": lambda rng: 1.0 + rng.pareto(1.0, N),
    "hard: 90 % zeros": lambda rng: np.where(rng.random(N) < 0.9, 0.0, rng.lognormal(3.0, 1.0, N)),
    "hard: normal, mean 1e6, sd 1e4": lambda rng: rng.normal(1e6, 1e4, N),
}


def needed(values: Floats) -> float:
    """Return the width of the narrowest interval that holds 98 % of the values."""
    ordered, most = np.sort(values), int(np.ceil(0.98 * len(values)))
    return float((ordered[most - 1 :] - ordered[: len(ordered) - most + 1]).min())


def _bounds(runs: int) -> None:
    search = BoundsSearch.of(Place("x"), Relation.REPLACE_ONE, epsilon=0.1)
    query = search.grid.query("x")
    cuts = np.array(query.by[0].edges[1:-1])
    print(f"bounds: n = {N:,}, ε = 0.1, replace-one, share 0.99, {runs} runs")
    print(f"{'law':<32}{'≥ 98 %':>8}{'and ≤ 4×':>10}{'held, median':>14}{'width, median':>15}{'95 %':>8}")
    for name, law in LAWS.items():
        held, width = [], []
        for run in range(runs):
            values = law(np.random.default_rng(run))
            counts = np.bincount(np.searchsorted(cuts, values, side="right"), minlength=search.grid.cells)
            drawn = search.mechanism.noisy(
                counts[:, None], SimulatedNoise(run + 1), cells=query.labels, features=("count",)
            )
            noisy = drawn.values[:, 0].astype(np.int64)
            found = narrowest_bounds(noisy, search.mechanism.scale, search.grid, search.share)
            low, high = (0.0, 0.0) if found is None else found
            held.append(float(np.mean((values >= low) & (values <= high))))
            width.append((high - low) / needed(values) if high > low else np.inf)
        enough, narrow = np.array(held) >= 0.98, np.array(width) <= 4.0
        print(
            f"{name:<32}{enough.mean():>8.1%}{(enough & narrow).mean():>10.1%}{np.median(held):>14.2%}"
            f"{np.median(width):>15.2f}{np.quantile(width, 0.95):>8.2f}"
        )


def _categories() -> None:
    search = CategoriesSearch.of(Place("x"), Relation.REPLACE_ONE, epsilon=0.5, delta=1e-6)
    mechanism, draws = search.mechanism, 100_000
    print(f"\ncategories: ε = 0.5, δ = 1e-6, replace-one: scale {mechanism.scale:.4g}, threshold {mechanism.threshold}")
    for records in (1, 20, 40, 54, 70, 80, 100):
        seen = mechanism.select(np.full(draws, records), SimulatedNoise(records))
        print(f"a category of {records:>3} records is found in {np.count_nonzero(seen) / draws:.3%} of {draws:,} draws")


def main(runs: int) -> None:
    """Print both tables."""
    _bounds(runs)
    _categories()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
