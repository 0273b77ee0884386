"""The private bootstrap as Brawner and Honaker published it: multinomial weights. Seeded; never certified.

Each replicate draws n records with replacement, averages them and adds Gaussian noise of sd √(k/2ρ)·R/n. The claim that
k of them are ρ-zCDP is false (private_bootstrap.md §3): a record that is drawn r times moves the average r times as
far. `general_bound` has the price that can be proven. The released bootstrap has Poisson weights about a public
midpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import positive_number
from hedgerow.resampling.replicates import multinomial_weights
from hedgerow.testing.published import brawner_honaker_noise_sd


@dataclass(frozen=True, slots=True)
class MultinomialBootstrap:
    """k noisy means of multinomial resamples of n records with values in [low, high].

    A description like those of `mechanisms.mechanism`, but none of them: `certify` refuses it (HG401).

    Attributes
    ----------
    n, n_resamples : int
        n is public; k.
    low, high : float
        Bounds of a value; values are clamped.
    noise_sd : float
        Of ONE replicate's mean, in the value's unit.

    Raises
    ------
    ParameterError
        HG101: a size that is not positive, or bounds that are not in order.

    Examples
    --------
    Section 8 of the paper: 500 ages, k = 50, ρ = ½.

    >>> MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50).noise_sd ** 2
    2.0000000000000004
    """

    n: int
    low: float
    high: float
    n_resamples: int
    noise_sd: float
    type: Literal["multinomial-bootstrap"] = "multinomial-bootstrap"

    def __post_init__(self) -> None:
        positive_number("noise_sd", self.noise_sd)
        if not (self.n >= 1 and self.n_resamples >= 1 and self.low < self.high):
            raise ParameterError(
                "HG101",
                rule="`n` and `n_resamples` must be at least 1, and `low` below `high`.",
                finding=f"Found n={self.n!r}, n_resamples={self.n_resamples!r}, [{self.low!r}, {self.high!r}].",
                remedy="Section 8 of the paper has n=500, n_resamples=50 and [0, 100].",
            )

    @classmethod
    def as_published(cls, rho: float, *, n: int, bounds: tuple[float, float], n_resamples: int) -> MultinomialBootstrap:
        """Return the mechanism that the paper calls ρ-zCDP: noise variance Δ²k/2ρ a replicate, Δ = R/n (eq. 29)."""
        low, high = bounds
        noise_sd = brawner_honaker_noise_sd(rho, n_resamples=n_resamples, sensitivity=(high - low) / n)
        return cls(n, low, high, n_resamples, noise_sd)

    @property
    def sensitivity(self) -> float:
        """Δ = R/n: how far one replaced record moves the mean of the data itself."""
        return (self.high - self.low) / self.n

    @property
    def noise_variance(self) -> float:
        """σ₁², the noise variance of one replicate."""
        return self.noise_sd**2


def multinomial_replicates(
    mechanism: MultinomialBootstrap,
    values: ArrayLike,
    counts: ArrayLike,
    *,
    rng: np.random.Generator | int | None = None,
) -> NDArray[np.float64]:
    """Return the k noisy means of each of several data sets, simulated.

    Parameters
    ----------
    mechanism : MultinomialBootstrap
    values : array, (rows,)
        Distinct values; clamped.
    counts : integer array, (rows,) or (data sets, rows)
        How many records of each data set have each value; each data set has n records.
    rng : Generator or seed

    Returns
    -------
    float array, (data sets, n_resamples)

    Raises
    ------
    ParameterError
        HG101: a data set without exactly n records.

    Examples
    --------
    >>> published = MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50)
    >>> multinomial_replicates(published, [20.0, 60.0], [250, 250], rng=1).shape
    (1, 50)
    """
    generator = np.random.default_rng(rng)
    clamped = np.clip(np.asarray(values, dtype=np.float64), mechanism.low, mechanism.high)
    data = np.atleast_2d(np.asarray(counts, dtype=np.int64))
    if np.any(data.sum(axis=1) != mechanism.n):
        raise ParameterError(
            "HG101", rule="Each data set must have n records.", finding=f"Not all have {mechanism.n}.",
            remedy="Draw them with rng.multinomial(n, shares, size=…).",
        )  # fmt: skip
    means = np.empty((len(data), mechanism.n_resamples))
    for row, count in enumerate(data):
        present = np.flatnonzero(count)  # a sample holds few of the possible values; the rest need no draw
        weights = multinomial_weights(count[present], n_resamples=mechanism.n_resamples, generator=generator)
        means[row] = weights @ clamped[present]
    return means / mechanism.n + generator.normal(0.0, mechanism.noise_sd, means.shape)
