"""Exact sums plus noise, as the mechanism describes: the step in which data become public."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.noise_law import averaged_law
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    GaussianCounts,
    GeometricCounts,
    MomentsGaussian,
    MomentsGeometric,
    Single,
)
from hedgerow.noise.lattice import on_lattice
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram

Cells = Sequence[Mapping[str, Any]]
MomentsMechanism = MomentsGaussian | MomentsGeometric | AveragedLaplaceMoments
_AT_ONCE = 2**22


def noisy_counts(
    counts: NDArray[np.int64], mechanism: Single, source: NoiseSource, *, cells: Cells, features: Sequence[str]
) -> AdditiveTable:
    """Return exact counts (cells × features) of disjoint classes, each plus one integer of the mechanism's noise."""
    match mechanism:
        case GaussianCounts(sd=sd):
            noise = source.discrete_gaussian(sd, counts.size)
        case GeometricCounts(scale=scale):
            noise = source.two_sided_geometric(scale, counts.size)
        case AveragedLaplaceCounts(scale=scale, draws=draws):
            noise = _summed(source, scale, draws, counts.size)
        case _:
            raise TypeError(f"{mechanism.type} does not count")
    noisy = (counts + noise.reshape(counts.shape)).astype(np.float64)
    return AdditiveTable(
        cells, tuple(features), noisy, np.full(len(features), mechanism.noise_sd), counts_law(mechanism)
    )


def counts_law(mechanism: GaussianCounts | GeometricCounts | AveragedLaplaceCounts) -> str:
    """Return the name of the law that intervals assume of the noise on a count."""
    if isinstance(mechanism, AveragedLaplaceCounts):
        return averaged_law(mechanism.draws)
    return "gaussian" if isinstance(mechanism, GaussianCounts) else "laplace"


def noisy_moments(histogram: Histogram, mechanism: Single, source: NoiseSource, *, cells: Cells) -> AdditiveTable:
    """Return the integer moments of each cell, each coordinate plus noise on its own lattice."""
    if not isinstance(mechanism, MomentsMechanism):
        raise TypeError(f"{mechanism.type} releases no moments")
    layout, noises = mechanism.layout, mechanism.noise.coordinates()
    y = layout.integers(histogram.index)
    offset = layout.offset if "count" in noises else 0
    sums: dict[str, Callable[[], NDArray[np.int64]]] = {
        "count": histogram.cell_sums,
        "total": lambda: histogram.cell_sums(y),
        "square": lambda: histogram.cell_sums(y * y - offset),
    }
    columns = [
        on_lattice(sums[name](), _drawn(mechanism, source, float(noise.width), histogram.cells), noise.bits)
        for name, noise in noises.items()
    ]
    spread, law = moments_spread(mechanism)
    return AdditiveTable(cells, tuple(noises), np.stack(columns, axis=1), spread, law)


def moments_spread(mechanism: MomentsMechanism) -> tuple[NDArray[np.float64], str]:
    """Return the sd of the noise on each coordinate, in units of the data's integers, and the name of its law.

    The width of two-sided geometric noise is its scale; on a fine lattice its sd is √2 times that, and a sum of k such
    numbers has √k times as much.
    """
    widths = np.array([noise.in_units for noise in mechanism.noise.coordinates().values()])
    match mechanism:
        case MomentsGaussian():
            return widths, "gaussian"
        case MomentsGeometric():
            return widths * math.sqrt(2.0), "laplace"
        case AveragedLaplaceMoments(draws=draws):
            return widths * math.sqrt(2.0 * draws), averaged_law(draws)


def _drawn(mechanism: MomentsMechanism, source: NoiseSource, width: float, size: int) -> NDArray[np.int64]:
    match mechanism:
        case MomentsGaussian():
            return source.discrete_gaussian(width, size)
        case MomentsGeometric():
            return source.two_sided_geometric(width, size)
        case AveragedLaplaceMoments(draws=draws):
            return _summed(source, width, draws, size)


def _summed(source: NoiseSource, scale: float, draws: int, size: int) -> NDArray[np.int64]:
    """Return `size` sums of `draws` independent integers each, drawn together where they fit."""
    if draws * size <= _AT_ONCE:
        return np.asarray(source.two_sided_geometric(scale, draws * size).reshape(draws, size).sum(axis=0))
    total = np.zeros(size, dtype=np.int64)
    for _ in range(draws):
        total += source.two_sided_geometric(scale, size)
    return total
