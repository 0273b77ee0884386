"""A referee's door: many outputs of one mechanism on one data set, to be tested from outside. Seeded; not private."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.mechanism import AveragedLaplaceNoise, GaussianNoise, LaplaceNoise, Mechanism
from hedgerow.resampling.histogram import Histogram
from hedgerow.testing.simulated import SimulatedNoise


def sample(
    mechanism: Mechanism, data: Histogram, n: int, *, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """Return `n` independent outputs of `mechanism` on `data`.

    Parameters
    ----------
    mechanism : Mechanism
        Counts take the records of each cell; moments take each record's grid index.
    data : Histogram
        The records, with as many cells as the mechanism.
    n : int
        How many outputs.

    Returns
    -------
    float array, (n, cells, features), for a resampled release (n, cells, features, replicates)

    Examples
    --------
    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> one = Histogram.from_triplets(np.array([0]), np.array([0]), np.array([5]), cells=1)
    >>> sample(GeometricCounts(1.0, 1), one, 3, rng=1).shape
    (3, 1, 1)
    """
    if isinstance(mechanism, (GaussianNoise, LaplaceNoise, AveragedLaplaceNoise)):
        mechanism = replace(mechanism, sensitivity=1.0)  # outputs are in units of it
    return mechanism.outputs(data, n, SimulatedNoise(rng))
