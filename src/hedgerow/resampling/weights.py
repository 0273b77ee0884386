"""Bootstrap weights of a histogram's rows, given a generator; `release` hands in the secure one.

Poisson weights are independent from record to record, which is what the price of a private bootstrap rests on (theory
§1.2). Multinomial weights, the textbook bootstrap, tie records together and have no such price: they are here for
studies and reproductions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["multinomial_weights", "poisson_weights"]


def poisson_weights(
    count: NDArray[np.int64], *, rate: float, n_resamples: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return, for each of k replicates and each histogram row, how many times its records were drawn.

    A sum of c independent Poisson(λ) counts is Poisson(λc), so a row of c records needs one draw, exactly.

    Returns
    -------
    int64 array, (n_resamples, len(count))

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> poisson_weights(np.array([1000, 0]), rate=1.0, n_resamples=2, generator=rng).shape
    (2, 2)
    """
    return generator.poisson(rate * count, size=(n_resamples, len(count)))


def multinomial_weights(
    count: NDArray[np.int64], *, n_resamples: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return textbook bootstrap counts, each replicate a draw of n records with replacement; never certified.

    Returns
    -------
    int64 array, (n_resamples, len(count)), each row adding up to n
    """
    n = int(count.sum())
    if n == 0:
        return np.zeros((n_resamples, len(count)), dtype=np.int64)
    return generator.multinomial(n, count / n, size=n_resamples).astype(np.int64)
