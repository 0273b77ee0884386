"""The public grid of scores: a score in [0, 1] is a whole number of millionths wherever it is counted or added up.

A residual y − p is then an integer too, so sums are exact and their sensitivity is a whole number. Rounding is a public
function of one record's score and costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEPS = 1_000_000


def to_grid(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return scores as indices 0..STEPS, clamped into [0, 1]; NaN counts as ½, a constant.

    >>> to_grid(np.array([0.25, 1.5, float("nan")])).tolist()
    [250000, 1000000, 500000]
    """
    known = np.where(np.isnan(scores), 0.5, np.clip(scores, 0.0, 1.0))
    return np.floor(known * STEPS + 0.5).astype(np.int64)


def from_grid(index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the scores of grid indices.

    >>> from_grid(np.array([250000])).tolist()
    [0.25]
    """
    return np.asarray(index / STEPS, dtype=np.float64)


def bucket_of(index: NDArray[np.int64], n_buckets: int) -> NDArray[np.int64]:
    """Return the bucket of each grid index: [b/k, (b + 1)/k), the last one closed, in exact integers.

    >>> bucket_of(np.array([0, 99_999, 100_000, 1_000_000]), 10).tolist()
    [0, 0, 1, 9]
    """
    return np.minimum(index * n_buckets // STEPS, n_buckets - 1)
