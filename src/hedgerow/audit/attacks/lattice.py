"""The lattice check: every released number is a whole multiple of the public step of its coordinate, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.worst_pairs.cell_totals import bits_of_cells
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceMoments,
    CellTotals,
    HistogramRounds,
    Mechanism,
    MomentsGaussian,
    MomentsGeometric,
    ResampledGaussian,
)


def off_lattice(outputs: NDArray[np.float64], mechanism: Mechanism) -> int:
    """Return how many numbers of outputs (n, cells, features[, k]) lie off the lattice; 0 is what is promised.

    Counts lie on the integers, a coordinate with noise of b bits on multiples of 2^−b. Scaling by a power of two is
    exact in doubles, so there is no tolerance.

    Examples
    --------
    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> off_lattice(np.array([[[3.0]], [[2.5]]]), GeometricCounts(1.0, cells=1))
    1
    """
    bits = [0]
    if isinstance(mechanism, (MomentsGaussian, MomentsGeometric, AveragedLaplaceMoments)):
        bits = [noise.bits for noise in mechanism.noise.coordinates().values()]
    elif isinstance(mechanism, ResampledGaussian):
        bits = [coordinate.noise.bits for coordinate in mechanism.coordinates]
    elif isinstance(mechanism, HistogramRounds):
        bits = [side.bits for side in (mechanism.residual, mechanism.count) for _ in range(outputs.shape[2] // 2)]
    elif isinstance(mechanism, CellTotals):
        return _off(outputs * np.exp2(bits_of_cells(mechanism).astype(np.float64)))
    shape = (1, 1, len(bits)) + (1,) * (outputs.ndim - 3)
    return _off(outputs * np.exp2(np.array(bits, dtype=np.float64)).reshape(shape))


def _off(scaled: NDArray[np.float64]) -> int:
    return int(np.count_nonzero(~np.isfinite(scaled) | (scaled != np.rint(scaled))))
