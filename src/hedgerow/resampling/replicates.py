"""Histogram × weights → k integer tables: an exact bootstrap whose cost does not depend on the number of records.

Poisson weights are independent from record to record, and the price of a private bootstrap rests on that
(private_bootstrap.md §2). Multinomial weights, the textbook bootstrap, make records depend on each other and have no
such price: they are for studies and reproductions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.resampling.histogram import Histogram

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


def capped_law(rate: float, most: int) -> NDArray[np.float64]:
    """Return the chances that min(r, most) is 0, …, most, for r ~ Poisson(rate).

    >>> capped_law(1.0, 1).round(3).tolist()
    [0.368, 0.632]
    """
    from scipy.special import gammaincc

    # P(r ≤ i) is the regularised upper incomplete gamma function.
    below = gammaincc(np.arange(1.0, most + 1.0), rate)
    return np.asarray(np.diff(below, prepend=0.0, append=1.0))


def capped_weights(
    count: NDArray[np.int64], *, chances: NDArray[np.float64], n_resamples: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many times the records of each histogram row were drawn, each of them i times with chance i.

    Returns
    -------
    int64 array, (n_resamples, len(count))

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> capped_weights(np.array([9, 0]), chances=np.array([0.0, 1.0]), n_resamples=2, generator=rng).tolist()
    [[9, 0], [9, 0]]
    """
    # As many at once as `poisson_weights` draws, and for the same reason.
    parts = count // int(LARGEST_MEAN) + 1
    pieces = np.full(int(parts.sum()), int(LARGEST_MEAN))
    ends = np.cumsum(parts)
    pieces[ends - 1] = count % int(LARGEST_MEAN)
    drawn = generator.multinomial(pieces, chances, size=(n_resamples, len(pieces))) @ np.arange(len(chances))
    return np.add.reduceat(drawn, ends - parts, axis=1) if len(count) else drawn


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


Integers = NDArray[np.int64]
DrawWeights = Callable[[Integers, int], Integers]

# Weights in hand at once: 4 million of 8 bytes. A batch more costs one call; memory stays bounded whatever k is.
_BATCH = 1 << 22
_EXACT = 2**53


def poisson_replicates(
    histogram: Histogram,
    features: Integers,
    *,
    n_resamples: int,
    rate: float,
    generator: np.random.Generator,
) -> Integers:
    """Return Σ_j r_bj y_j for each cell, feature and replicate, with r_bj ~ Poisson(rate) of each record j.

    Records of one histogram row are exchangeable and a sum of c Poisson(λ) counts is Poisson(λc), so a replicate is
    Σ_v y_v · Poisson(λ c_v), exactly (private_bootstrap.md §1). All features of a record share its weight.

    Parameters
    ----------
    histogram : Histogram
    features : int64 array, (rows of the histogram, features)
    n_resamples, rate, generator
        k, λ, and the source of chance.

    Returns
    -------
    int64 array, (cells, features, n_resamples); Python integers where 64 bits could overflow

    Examples
    --------
    >>> h = Histogram.from_triplets(np.array([0, 0]), np.array([0, 1]), np.array([500, 500]), cells=1)
    >>> sums = poisson_replicates(
    ...     h, np.array([[-1], [1]]), n_resamples=3, rate=1.0, generator=np.random.default_rng(0))
    >>> sums.shape
    (1, 1, 3)
    """

    def draw(count: Integers, size: int) -> Integers:
        return poisson_weights(count, rate=rate, n_resamples=size, generator=generator)

    return replicate_sums(histogram, features, n_resamples=n_resamples, draw=draw)


def replicate_sums(histogram: Histogram, features: Integers, *, n_resamples: int, draw: DrawWeights) -> Integers:
    """Return weighted sums of integer features in batches of replicates, given how weights of the rows are drawn."""
    rows, width = features.shape
    batch = max(1, _BATCH // max(rows, 1))
    parts = []
    for start in range(0, n_resamples, batch):
        weights = draw(histogram.count, min(batch, n_resamples - start))
        parts.append(_weighted(weights, histogram, features))
    if not parts or rows == 0:
        return np.zeros((histogram.cells, width, n_resamples), dtype=np.int64)
    return np.concatenate(parts, axis=2)


def _weighted(weights: Integers, histogram: Histogram, features: Integers) -> Integers:
    """Return (cells, features, replicates) sums of one batch, exact."""
    largest = int(np.abs(features).max(initial=0)) * int(weights.sum(axis=1).max(initial=0))
    cells, width = histogram.cells, features.shape[1]
    if largest < _EXACT:
        # Every partial sum is an integer below 2^53, so floating-point products in any order are exact, and fast.
        return _exact_products(weights.astype(np.float64), histogram, features.astype(np.float64))
    wide = np.zeros((cells, width, len(weights)), dtype=object)
    for column in range(width):
        products = weights.astype(object) * features[:, column].astype(object)
        for row, cell in enumerate(histogram.cell):
            wide[cell, column] += products[:, row]
    return wide


def _exact_products(weights: NDArray[np.float64], histogram: Histogram, features: NDArray[np.float64]) -> Integers:
    sums = np.zeros((histogram.cells, features.shape[1], len(weights)))
    # Rows are sorted by cell, so each cell is one block of columns.
    bounds = np.searchsorted(histogram.cell, np.arange(histogram.cells + 1))
    for cell in np.flatnonzero(np.diff(bounds)):
        block = slice(bounds[cell], bounds[cell + 1])
        sums[cell] = (weights[:, block] @ features[block]).T
    return np.rint(sums).astype(np.int64)
