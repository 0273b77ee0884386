"""Exact sums plus noise, as the mechanism describes: the step in which data become public."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.noise.lattice import on_lattice
from hedgerow.noise.source import NoiseSource
from hedgerow.privacy.mechanism import GaussianCounts, GeometricCounts, MomentsGaussian, MomentsGeometric, Single
from hedgerow.release.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram

__all__ = ["noisy_counts", "noisy_moments"]

Cells = Sequence[Mapping[str, Any]]


def noisy_counts(
    counts: NDArray[np.int64], mechanism: Single, source: NoiseSource, *, cells: Cells, features: Sequence[str]
) -> AdditiveTable:
    """Return exact counts (cells × features) of disjoint classes, each plus one integer of the mechanism's noise."""
    match mechanism:
        case GaussianCounts(sd=sd):
            noise, law = source.discrete_gaussian(sd, counts.size), "gaussian"
        case GeometricCounts(scale=scale):
            noise, law = source.two_sided_geometric(scale, counts.size), "laplace"
        case _:
            raise TypeError(f"{mechanism.type} does not count")
    noisy = (counts + noise.reshape(counts.shape)).astype(np.float64)
    return AdditiveTable(tuple(cells), tuple(features), noisy, np.full(len(features), mechanism.noise_sd), law)


def noisy_moments(histogram: Histogram, mechanism: Single, source: NoiseSource, *, cells: Cells) -> AdditiveTable:
    """Return the integer moments of each cell, each coordinate plus noise on its own lattice."""
    if not isinstance(mechanism, (MomentsGaussian, MomentsGeometric)):
        raise TypeError(f"{mechanism.type} releases no moments")
    layout, noises = mechanism.layout, mechanism.noise.coordinates()
    y = layout.integers(histogram.index)
    offset = layout.offset if "count" in noises else 0
    sums: dict[str, Callable[[], NDArray[np.int64]]] = {
        "count": histogram.cell_sums,
        "total": lambda: histogram.cell_sums(y),
        "square": lambda: histogram.cell_sums(y * y - offset),
    }
    gaussian = isinstance(mechanism, MomentsGaussian)
    draw = source.discrete_gaussian if gaussian else source.two_sided_geometric
    columns = [
        on_lattice(sums[name](), draw(float(noise.width), histogram.cells), noise.bits)
        for name, noise in noises.items()
    ]
    # The width of two-sided geometric noise is its scale; on a fine lattice its sd is √2 times that.
    spread = [noise.in_units * (1.0 if gaussian else math.sqrt(2.0)) for noise in noises.values()]
    law = "gaussian" if gaussian else "laplace"
    return AdditiveTable(tuple(cells), tuple(noises), np.stack(columns, axis=1), np.array(spread), law)
