"""The simulations that exhibits share: the published mechanism on samples of the PUMS extract's ages (section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.testing.published import MultinomialBootstrap, multinomial_replicates
from reproduction.brawner_honaker.theory import PublishedIntervals, published_intervals

from ..pums import pums

__all__ = ["BOUNDS", "N", "RHO", "K", "Population", "Releases", "population", "releases"]

N, K, RHO, BOUNDS = 500, 50, 0.5, (0.0, 100.0)


@dataclass(frozen=True, eq=False)
class Population:
    """The ages of the extract, taken as a whole population."""

    values: NDArray[np.float64]
    shares: NDArray[np.float64]

    @cached_property
    def mean(self) -> float:
        """What the intervals are about."""
        return float(self.shares @ self.values)

    @cached_property
    def variance(self) -> float:
        """Of one age."""
        return float(self.shares @ (self.values - self.mean) ** 2)

    def samples(self, runs: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return `runs` samples of 500 with replacement, as counts of each age."""
        return rng.multinomial(N, self.shares, size=runs)


@lru_cache(maxsize=1)
def population() -> Population:
    """Read the extract; ages clamped to 0..100 as in the paper."""
    values, counts = np.unique(np.clip(pums()["age"], *BOUNDS), return_counts=True)
    return Population(values, counts / counts.sum())


@dataclass(frozen=True, eq=False)
class Releases:
    """Simulated releases of the mean age, each of a sample of its own."""

    mechanism: MultinomialBootstrap
    sample_means: NDArray[np.float64]
    replicates: NDArray[np.float64]

    @cached_property
    def intervals(self) -> dict[str, PublishedIntervals]:
        """Their three estimators."""
        return published_intervals(self.replicates, noise_variance=self.mechanism.noise_variance)

    @property
    def true_standard_error(self) -> float:
        """√(Var(x)/n + Δ²/2ρ): footnote 6 of the paper, sampling and privacy but not the k replicates."""
        return float(np.sqrt(population().variance / N + self.mechanism.noise_variance / self.mechanism.n_resamples))


@lru_cache(maxsize=16)
def releases(runs: int, *, n_resamples: int = K, seed: int = 8) -> Releases:
    """Return `runs` releases at ρ = ½ in total, seeded."""
    rng = np.random.default_rng([seed, n_resamples])
    mechanism = MultinomialBootstrap.as_published(RHO, n=N, bounds=BOUNDS, n_resamples=n_resamples)
    people = population()
    samples = people.samples(runs, rng)
    drawn = multinomial_replicates(mechanism, people.values, samples, rng=rng)
    return Releases(mechanism, samples @ people.values / N, drawn)
