"""Bootstrap weights of a histogram's rows, given a generator; `release` hands in the secure one.

Poisson weights are independent from record to record, which is what the price of a private bootstrap rests on
(private_bootstrap.md §2). Multinomial weights, the textbook bootstrap, tie records together and have no such price:
they are here for studies and reproductions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST_MEAN = 1e4


def poisson_weights(
    count: NDArray[np.int64], *, rate: float, n_resamples: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return, for each of k replicates and each histogram row, how many times its records were drawn.

    A sum of c independent Poisson(λ) counts is Poisson(λc), so a row of c records needs one draw. NumPy's sampler
    rejects by a log-probability in doubles, whose relative error grows with the mean: 3e-11 at 10⁴, 4e-7 at 10⁸. So a
    row of many records is drawn in parts of at most `LARGEST_MEAN` each and added up, which keeps the law exact to
    about 3e-11 a draw whatever n is.

    Returns
    -------
    int64 array, (n_resamples, len(count))

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> poisson_weights(np.array([1000, 0]), rate=1.0, n_resamples=2, generator=rng).shape
    (2, 2)
    """
    means = rate * count
    if means.max(initial=0.0) <= LARGEST_MEAN:
        return generator.poisson(means, size=(n_resamples, len(count)))
    parts = np.maximum(np.ceil(means / LARGEST_MEAN).astype(np.int64), 1)
    pieces = np.repeat(means / parts, parts)
    starts = np.concatenate([[0], np.cumsum(parts)[:-1]])
    # One replicate at a time: the pieces of a row are as many as its records over 10⁴, never as many as its records.
    return np.stack([np.add.reduceat(generator.poisson(pieces), starts) for _ in range(n_resamples)])


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
