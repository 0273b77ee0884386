"""The mechanism that the exhibits share: totals plus continuous Laplace noise, as the paper writes it (Definition 10).

For simulation only: seeded, and continuous noise in floating point is no release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .farms import farms

__all__ = ["EPSILON", "REPLICATES", "noisy_totals"]

EPSILON, REPLICATES = 1.0, 1000


def noisy_totals(
    sensitivity: ArrayLike, replicates: int, *, seed: int, epsilon: float = EPSILON
) -> NDArray[np.float64]:
    """Return `replicates` × 9 totals with Laplace noise of scale sensitivity/ε at ε = 1, one sensitivity or nine."""
    totals = farms().totals
    scale = np.broadcast_to(np.asarray(sensitivity, dtype=float) / EPSILON, totals.shape)
    return np.asarray(totals + np.random.default_rng(seed).laplace(0.0, scale, (replicates, len(totals))))
