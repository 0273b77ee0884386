"""Coverage and width of the bootstrap's intervals, by simulation: real histograms, real resampling weights.

Run ``python benchmarks/interval_coverage.py`` (about three minutes; ``--quick`` for a tenth of the runs). It prints,
for each setting, the coverage in per cent and the mean width over the oracle's, 2 z √(Var/n + τ²), which knows Var.

A setting is n records from a law on 256 points of [0, 1]; one release at μ has noise sd τ = 1/(nμ), so R = Var/(n τ²);
k replicates have noise variance kτ² each. "capped" tells the interval that Var ≤ 1/4. The last two columns
are what a careless reader of the replicates would do: take the spread about the centre for the spread about the mean,
or take the noise out of the spread and forget that the mean has noise as well.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.bootstrap.replicate_intervals import (
    calibrated_interval,
    conservative_interval,
    most_conservative_interval,
    unbiased_interval,
)
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.interval import normal_quantile
from hedgerow.resampling.replicates import choose_n_resamples

GRID = np.linspace(0.0, 1.0, 256)
CENTRE = 0.5

Floats = NDArray[np.float64]
Interval = Callable[[Replicates, float], tuple[float, float]]


def law(name: str) -> Floats:
    """Return the probabilities of the 256 points: `normal` is N(.5, 1) clamped, `skewed` Beta(.5, 5), a number 0/1."""
    from scipy import stats

    if name in ("normal", "skewed"):
        edges = np.concatenate([[-np.inf], (GRID[1:] + GRID[:-1]) / 2, [np.inf]])
        return np.diff((stats.norm(0.5, 1) if name == "normal" else stats.beta(0.5, 5)).cdf(edges))
    probabilities = np.zeros(len(GRID))
    probabilities[[0, -1]] = 1 - float(name), float(name)
    return probabilities


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table."""

    law: str
    n: int
    mu: float
    n_resamples: int
    weights: str = "poisson"
    rate: float = 1.0

    @property
    def privacy_variance(self) -> float:
        """τ², of one release at μ of a mean of n values in [0, 1]."""
        return 1 / (self.n * self.mu) ** 2

    def draw(self, rng: np.random.Generator) -> Replicates:
        """Draw a data set, its weights and its noise, and summarise the replicates."""
        noise_variance = self.n_resamples * self.privacy_variance
        counts = rng.multinomial(self.n, law(self.law))
        if self.weights == "poisson":
            weights = rng.poisson(self.rate * counts, size=(self.n_resamples, len(GRID)))
            means = CENTRE + weights @ (GRID - CENTRE) / (self.rate * self.n)
        else:
            weights = rng.multinomial(self.n, counts / self.n, size=self.n_resamples)
            means = weights @ GRID / self.n
        noisy = means + rng.normal(0, math.sqrt(noise_variance), self.n_resamples)
        summary = Replicates.of(noisy, noise_variance=noise_variance, variance_cap=0.25 / self.n, rate=self.rate)
        if self.weights == "poisson":
            return replace(summary, centre=CENTRE, n=self.n)
        return replace(summary, weights="multinomial")


def _uncapped(replicates: Replicates) -> Replicates:
    return replace(replicates, variance_cap=None)


def _without_privacy(replicates: Replicates, level: float) -> tuple[float, float]:
    """Return the naive bootstrap's interval: noise taken out of the spread, its own variance forgotten."""
    spread = replicates.rate * (replicates.spread - replicates.known_variance)
    half = normal_quantile(level) * math.sqrt(max(0.0, spread))
    return replicates.mean - half, replicates.mean + half


METHODS: dict[str, Interval] = {
    "calibrated": lambda r, level: calibrated_interval(_uncapped(r), level=level),
    "capped": lambda r, level: calibrated_interval(r, level=level),
    "BH unbiased": lambda r, level: unbiased_interval(_uncapped(r), level=level),
    "BH .05": lambda r, level: conservative_interval(_uncapped(r), level=level),
    "BH most": lambda r, level: most_conservative_interval(_uncapped(r), level=level),
    "no offset": lambda r, level: calibrated_interval(_uncapped(r).without_centre(), level=level),
    "no privacy": _without_privacy,
}


def simulate(setting: Setting, *, runs: int, level: float, seed: int) -> dict[str, tuple[float, float]]:
    """Return for each method its coverage and its mean width over the oracle's."""
    rng = np.random.default_rng(seed)
    probabilities = law(setting.law)
    truth = float(probabilities @ GRID)
    variance = float(probabilities @ (GRID - truth) ** 2) / setting.n
    oracle = 2 * normal_quantile(level) * math.sqrt(variance + setting.privacy_variance)
    drawn = [setting.draw(rng) for _ in range(runs)]
    result = {}
    for name, method in METHODS.items():
        ends = np.array([method(replicates, level) for replicates in drawn])
        covered = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
        result[name] = covered, float((ends[:, 1] - ends[:, 0]).mean() / oracle)
    return result


def settings() -> Iterator[Setting]:
    """Yield the 18 settings, at k = 50 and at the k that public facts suggest, then n = 500 and 5,000 on four laws."""
    for name in ("normal", "skewed"):
        for n in (100, 1000, 10_000):
            for mu in (0.1, 0.5, 1.0):
                yield Setting(name, n, mu, 50)
                chosen = choose_n_resamples(n=n, value_range=1.0, privacy_variance=1 / (n * mu) ** 2)
                yield Setting(name, n, mu, chosen)
    for name in ("normal", "skewed", "0.05", "0.5"):
        for n in (500, 5000):
            for mu in (0.1, 1.0):
                yield Setting(name, n, mu, 50)
    yield Setting("skewed", 5000, 1.0, 50, weights="multinomial")
    yield Setting("skewed", 5000, 1.0, 50, rate=0.5)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--runs", type=int, default=2000)
    chosen = parser.parse_args()
    runs = chosen.runs // 10 if chosen.quick else chosen.runs
    print(
        f"nominal {chosen.level:.0%}, {runs} runs; Monte Carlo s.e. of a coverage at the level "
        f"{100 * math.sqrt(chosen.level * (1 - chosen.level) / runs):.2f} points"
    )
    print(f"{'law, n, μ, k (R)':34}" + "".join(f"{name:>14}" for name in METHODS))
    for seed, setting in enumerate(settings()):
        probabilities = law(setting.law)
        variance = float(probabilities @ GRID**2 - (probabilities @ GRID) ** 2)
        ratio = variance * setting.n * setting.mu**2
        label = f"{setting.law}, {setting.n}, {setting.mu}, {setting.n_resamples} ({ratio:.3g})"
        label += "" if setting.weights == "poisson" else " multin."
        label += "" if setting.rate == 1 else f" λ={setting.rate}"
        cells = simulate(setting, runs=runs, level=chosen.level, seed=seed)
        print(f"{label:34}" + "".join(f"{100 * c:8.1f}/{w:5.2f}" for c, w in cells.values()), flush=True)


if __name__ == "__main__":
    main()
