"""Many outputs of one mechanism on one data set, through the very functions that a release calls.

The source of chance is the caller's: the seeded stand-in for large runs, the released one for smaller runs. The
replicates of a resampled release are independent given the data, so n outputs of k replicates are drawn as one of n·k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.worst_pairs.histogram_rounds import rounds_outputs
from hedgerow.audit.worst_pairs.randomised_records import record_outputs
from hedgerow.audit.worst_pairs.resample import resample_outputs
from hedgerow.audit.worst_pairs.sparse_vector import sparse_vector_outputs
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    AveragedLaplaceNoise,
    CellTotals,
    GaussianCounts,
    GaussianNoise,
    GeometricCounts,
    HistogramRounds,
    LaplaceNoise,
    Mechanism,
    MomentsGaussian,
    MomentsGeometric,
    RandomisedRecords,
    Resample,
    ResampledGaussian,
    SmoothedResample,
    SparseVector,
)
from hedgerow.noise.source import NoiseSource
from hedgerow.release.draw.draw import noisy_counts, noisy_moments
from hedgerow.release.draw.draw_cells import noisy_cell_totals
from hedgerow.release.draw.resample import noisy_replicates
from hedgerow.resampling.histogram import Histogram

_CHUNK = 1_000_000
_NUMBERS = 8_000_000  # numbers in hand at once: 64 MB of doubles


def chunks(mechanism: Mechanism, data: Histogram, runs: int) -> Iterator[int]:
    """Yield how many outputs to draw at a time, so that memory stays bounded whatever `runs` is."""
    width = data.cells * _width(mechanism)
    most = min(_CHUNK, max(1, _NUMBERS // (3 * width)))
    for start in range(0, runs, most):
        yield min(most, runs - start)


def _width(mechanism: Mechanism) -> int:
    """Return roughly how many times three numbers there are to a cell of one output."""
    match mechanism:
        case ResampledGaussian(n_resamples=k):
            return k
        case HistogramRounds(rounds=rounds, most_groups=groups):
            return rounds * groups
        case SparseVector(positives=positives):
            return 4 + positives
        case RandomisedRecords(views=views):
            return views[0]
        case Resample(draws=draws) | SmoothedResample(draws=draws):
            return draws
    return 1


def draw_outputs(mechanism: Mechanism, data: Histogram, n: int, noise: NoiseSource) -> NDArray[np.float64]:
    """Return `n` independent outputs, (n, cells, features) or, resampled, (n, cells, features, replicates).

    Scalar noise is drawn in units of its sensitivity.

    Examples
    --------
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> from hedgerow.audit.worst_pairs.neighbours import worst_pairs
    >>> from hedgerow.facts.relation import Relation
    >>> mechanism = GeometricCounts(1.0, cells=2)
    >>> first, second = worst_pairs(mechanism, Relation.REPLACE_ONE)[0].histograms()
    >>> draw_outputs(mechanism, first, 5, SimulatedNoise(1)).shape
    (5, 2, 1)
    """
    match mechanism:
        case GeometricCounts() | GaussianCounts() | AveragedLaplaceCounts():
            counts = np.tile((data.cell_sums() + data.missing)[:, None], (n, 1))
            table = noisy_counts(counts, mechanism, noise, cells=({},), features=("count",))
            return table.values.reshape(n, data.cells, 1)
        case MomentsGaussian() | MomentsGeometric() | AveragedLaplaceMoments():
            return noisy_moments(_copies(data, n), mechanism, noise, cells=({},)).values.reshape(n, data.cells, -1)
        case CellTotals():
            return noisy_cell_totals(_copies(data, n), mechanism, noise, cells=({},), copies=n).values.reshape(
                n, data.cells, -1
            )
        case ResampledGaussian():
            return _replicates(mechanism, data, n, noise)
        case Resample() | SmoothedResample():
            return resample_outputs(mechanism, int(data.index[0]), n, noise)
        case SparseVector():
            return sparse_vector_outputs(mechanism, int(data.index[0]), n, noise)
        case HistogramRounds():
            return rounds_outputs(mechanism, data, n, noise)
        case RandomisedRecords():
            return record_outputs(mechanism, int(data.index[0]), n, noise)
        case GaussianNoise(noise_sd=width, sensitivity=distance):
            drawn = noise.generator().normal(0.0, width / distance, n)
        case LaplaceNoise(scale=width, sensitivity=distance):
            drawn = noise.generator().laplace(0.0, width / distance, n)
        case AveragedLaplaceNoise(scale=width, sensitivity=distance, draws=draws):
            drawn = np.zeros(n)
            for _ in range(draws):
                drawn += noise.generator().laplace(0.0, width / distance, n)
        case _:
            raise TypeError(f"{mechanism.type} is drawn part by part")
    # Doubles near 0 lie denser than elsewhere, which alone tells neighbours apart (see the mutant "textbook NumPy
    # Laplace"). What is priced is the real line, so outputs are rounded to one public lattice.
    lattice = 2.0 ** (math.floor(math.log2(width / distance)) - 30)
    return (np.rint((float(data.cell_sums(data.index)[0]) + drawn) / lattice) * lattice).reshape(n, 1, 1)


def _replicates(mechanism: ResampledGaussian, data: Histogram, n: int, noise: NoiseSource) -> NDArray[np.float64]:
    k = mechanism.n_resamples
    many = replace(mechanism, n_resamples=n * k)
    value = (2 * data.index - mechanism.coordinates[0].reach)[:, None]
    ones = np.ones_like(value)
    features = {"value": value, "count": ones}.get(mechanism.shape, np.hstack([value, ones]))
    names = [str(place) for place in range(features.shape[1])]
    table = noisy_replicates(data, features, many, noise, cells=({},), names=names)
    return np.moveaxis(table.values.reshape(data.cells, features.shape[1], n, k), 2, 0)


def _copies(data: Histogram, n: int) -> Histogram:
    copy = np.repeat(np.arange(n, dtype=np.int64), len(data.cell))
    return Histogram(
        np.tile(data.cell, n) + copy * data.cells,
        np.tile(data.index, n),
        np.tile(data.count, n),
        np.tile(data.missing, n),
        data.outside * n,
    )
