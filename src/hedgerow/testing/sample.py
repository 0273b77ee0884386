"""A referee's door: many outputs of one mechanism on one data set, to be tested from outside. Seeded; not private."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    AveragedLaplaceNoise,
    GaussianCounts,
    GaussianNoise,
    GeometricCounts,
    LaplaceNoise,
    Mechanism,
    MomentsGaussian,
    MomentsGeometric,
    ResampledGaussian,
)
from hedgerow.release.draw.draw import noisy_counts, noisy_moments
from hedgerow.release.draw.resample import noisy_replicates
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
    >>> one = Histogram.from_triplets(np.array([0]), np.array([0]), np.array([5]), cells=1)
    >>> sample(GeometricCounts(1.0, 1), one, 3, rng=1).shape
    (3, 1, 1)
    """
    noise = SimulatedNoise(rng)
    match mechanism:
        case GeometricCounts() | GaussianCounts() | AveragedLaplaceCounts():
            counts = np.tile((data.cell_sums() + data.missing)[:, None], (n, 1))
            table = noisy_counts(counts, mechanism, noise, cells=({},), features=("count",))
            return table.values.reshape(n, data.cells, 1)
        case MomentsGaussian() | MomentsGeometric() | AveragedLaplaceMoments():
            stacked = _repeated(data, n)
            values = noisy_moments(stacked, mechanism, noise, cells=({},)).values
            return values.reshape(n, data.cells, -1)
        case ResampledGaussian():
            return _replicates(mechanism, data, n, noise)
        case GaussianNoise() | LaplaceNoise():
            total = float(data.cell_sums(data.index)[0])
            rng = noise.generator()
            drawn = (
                rng.normal(0.0, mechanism.noise_sd, n)
                if isinstance(mechanism, GaussianNoise)
                else rng.laplace(0.0, mechanism.scale, n)
            )
            return (total + drawn).reshape(n, 1, 1)
        case AveragedLaplaceNoise(scale=scale, draws=draws):
            rng, outputs = noise.generator(), np.full(n, float(data.cell_sums(data.index)[0]))
            for _ in range(draws):
                outputs += rng.laplace(0.0, scale, n)
            return outputs.reshape(n, 1, 1)
    raise TypeError(f"{mechanism.type} is sampled part by part")


def _replicates(mechanism: ResampledGaussian, data: Histogram, n: int, noise: SimulatedNoise) -> NDArray[np.float64]:
    """Return (n, cells, features, k): a grid index is read about the midpoint, y = 2t − reach, beside the count 1."""
    stacked = _repeated(data, n)
    value = (2 * stacked.index - mechanism.coordinates[0].reach)[:, None]
    ones = np.ones_like(value)
    features = {"value": value, "count": ones, "value-and-count": np.hstack([value, ones])}.get(mechanism.shape)
    if features is None:
        raise TypeError(f"a referee's data have no features of shape {mechanism.shape!r}")
    names = [str(place) for place in range(features.shape[1])]
    values = noisy_replicates(stacked, features, mechanism, noise, cells=({},), names=names).values
    return values.reshape(n, data.cells, features.shape[1], mechanism.n_resamples)


def _repeated(data: Histogram, n: int) -> Histogram:
    """Return `n` copies of the data as cells of one histogram, so that one call draws every output."""
    copy = np.repeat(np.arange(n, dtype=np.int64), len(data.cell))
    return Histogram(
        np.tile(data.cell, n) + copy * data.cells,
        np.tile(data.index, n),
        np.tile(data.count, n),
        np.tile(data.missing, n),
        data.outside * n,
    )
