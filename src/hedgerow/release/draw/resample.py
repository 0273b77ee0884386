"""k noisy bootstrap replicates of a cell's sums, as the mechanism describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.mechanism import ResampledGaussian, ResampledUnits, Single
from hedgerow.noise.lattice import on_lattice
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.replicates import poisson_replicates


def noisy_replicates(
    histogram: Histogram,
    features: NDArray[np.int64],
    mechanism: Single,
    source: NoiseSource,
    *,
    cells: Sequence[Mapping[str, Any]],
    names: Sequence[str],
) -> AdditiveTable:
    """Return the table (cells × features × replicates): resampled integer sums, each plus a noise of its own.

    `features` has a row for each histogram row and a column for each coordinate of the mechanism; whatever they are,
    they are clamped to the declared reach, which is what was priced.
    """
    if not isinstance(mechanism, (ResampledGaussian, ResampledUnits)):
        raise TypeError(f"{mechanism.type} does not resample")
    reach = np.array([coordinate.reach for coordinate in mechanism.coordinates])
    bounded = np.clip(features, -reach, reach)
    k = mechanism.n_resamples
    sums = poisson_replicates(histogram, bounded, n_resamples=k, rate=mechanism.rate, generator=source.generator())
    values = np.empty(sums.shape, dtype=np.float64)
    for place, coordinate in enumerate(mechanism.coordinates):
        noise = source.discrete_gaussian(float(coordinate.noise.width), histogram.cells * k)
        values[:, place] = on_lattice(sums[:, place], noise.reshape(histogram.cells, k), coordinate.noise.bits)
    spread = np.array([coordinate.noise.in_units for coordinate in mechanism.coordinates])
    return AdditiveTable(tuple(cells), tuple(names), values, spread, "gaussian")
