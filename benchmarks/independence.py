"""Level and power of the test of independence on noisy tables: ``python -m benchmarks.independence``.

Tables of independent columns say how often the test rejects at 5 %: the level. Tables with a dependence of Cramér's
V = 0.2 say how often it finds one: the power, beside that of the χ² test of the same tables without noise.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hedgerow.tables.chi_squared import CellNoise, independence

Floats = NDArray[np.float64]
SHAPES, SIZES, EPSILONS, EFFECT = ((2, 2), (3, 4), (6, 5)), (200, 1_000, 10_000), (0.3, 1.0), 0.2


def cells_of(shape: tuple[int, int], effect: float, *, skewed: bool) -> Floats:
    """Return the probabilities of a table with this Cramér's V; margins are equal, or fall by half each."""
    rows, columns = (0.5 ** np.arange(k) if skewed else np.ones(k) for k in shape)
    rows, columns = rows / rows.sum(), columns / columns.sum()
    product = np.outer(rows, columns)
    moved = np.zeros(shape)
    # One number goes up and one down in two rows: row and column totals stay.
    moved[:2, :2] = [[1.0, -1.0], [-1.0, 1.0]]
    unit = float((moved**2 / product).sum())
    step = effect * math.sqrt((min(shape) - 1) / unit)
    return product + min(step, 0.99 * float(product[:2, :2].min())) * moved


def rejected(cells: Floats, n: int, epsilon: float, runs: int, seed: int, resamples: int) -> tuple[float, float]:
    """Return how often the test rejects at 5 %, and how often the χ² test does without noise."""
    from scipy.stats import chi2_contingency

    rng = np.random.default_rng(seed)
    # Replace-one: a record moves from one cell to another.
    noise = CellNoise("laplace", 2.0 * (2.0 / epsilon) ** 2)
    private = plain = 0
    for _ in range(runs):
        counts = rng.multinomial(n, cells.reshape(-1)).reshape(cells.shape).astype(np.float64)
        noisy = counts + noise.draw(cells.shape, rng)
        private += independence(noisy, noise, n=float(n), n_resamples=resamples, rng=rng).pvalue <= 0.05
        if counts.sum(axis=0).all() and counts.sum(axis=1).all():
            plain += bool(chi2_contingency(counts, correction=False).pvalue <= 0.05)
    return private / runs, plain / runs


def lines(runs: int, resamples: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield of each setting: its name, the level, the power, and the power without noise."""
    seed = 0
    for shape in SHAPES:
        for skewed in (False, True):
            for n in SIZES:
                for epsilon in EPSILONS:
                    seed += 1
                    null, other = (cells_of(shape, effect, skewed=skewed) for effect in (0.0, EFFECT))
                    level, _ = rejected(null, n, epsilon, runs, seed, resamples)
                    power, plain = rejected(other, n, epsilon, runs, seed, resamples)
                    margins = "skewed" if skewed else "equal"
                    yield f"{shape[0]}x{shape[1]} {margins} n={n} eps={epsilon}", level, power, plain


def main() -> None:
    """Print a line for each setting, and the largest level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--resamples", type=int, default=499)
    options = parser.parse_args()
    levels = []
    print("setting                             level  power  without noise")
    for name, level, power, plain in lines(options.runs, options.resamples):
        levels.append(level)
        print(f"{name:<36}{level:.3f}  {power:.3f}  {plain:.3f}", flush=True)
    chance = 3.0 * math.sqrt(0.05 * 0.95 / options.runs)
    print(f"largest level {max(levels):.3f}, mean {np.mean(levels):.3f}; chance alone reaches {0.05 + chance:.3f}")


if __name__ == "__main__":
    main()
