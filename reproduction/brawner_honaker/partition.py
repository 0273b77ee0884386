"""The construction of §6.3 as an algorithm: records parted by how often they are drawn, noise on each part (eq. 19–26).

For a replicate, r is a multinomial draw of N from N records (eq. 19); X_i holds the records with r_j = i (eq. 20),
each with chance p_i (eq. 21). M_i = i·f(X_i) + N(0, i·p_i·Δ²/2ρ) (eq. 23–24), and the replicate is M = Σ M_i (eq. 25).
Σ i·p_i is 1, so M has noise of variance Δ²/2ρ (eq. 26): the law of a resampled mean with that noise, drawn in
another order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["chances", "partition", "partitioned_replicate"]

Floats = NDArray[np.float64]
PARTS = 40
"""Of a record that is drawn as often as this the chance is below 1e-48."""


def chances(n: int) -> Floats:
    """Return p_i, the chance that a record is drawn i times, i = 0, …, of n (eq. 21)."""
    from scipy import stats

    return np.asarray(stats.binom.pmf(np.arange(min(n, PARTS) + 1), n, 1.0 / n))


def partition(n: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return the records of X_0, X_1, … (eq. 19–20): every record is in one of them."""
    drawn = rng.multinomial(n, np.full(n, 1.0 / n))
    return [np.flatnonzero(drawn == times) for times in range(int(drawn.max()) + 1)]


def partitioned_replicate(
    values: ArrayLike, *, rho: float, sensitivity: float, rng: np.random.Generator
) -> tuple[float, Floats]:
    """Return M and its parts M_0, M_1, …: f is each part's share of the mean of `values` (footnote 4).

    Every part up to the last with a chance has its noise, whether or not a record is in it: else the number of parts
    would tell how often some record was drawn.
    """
    records = np.asarray(values, dtype=np.float64)
    n = len(records)
    shares = chances(n)
    times = np.arange(len(shares))
    parts = rng.normal(0.0, np.sqrt(times * shares * sensitivity**2 / (2.0 * rho)))
    for drawn, members in enumerate(partition(n, rng)):
        parts[drawn] += drawn * records[members].sum() / n
    return float(parts.sum()), parts
