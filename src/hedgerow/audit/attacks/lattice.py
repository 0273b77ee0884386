"""The lattice check: every released number is a whole multiple of the public step of its coordinate, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.mechanism import Mechanism, Single


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
    bits = np.array(mechanism.bits if isinstance(mechanism, Single) else (0,), dtype=np.float64)
    shape = (1,) * (2 - bits.ndim) + bits.shape + (1,) * (outputs.ndim - 3)
    return _off(outputs * np.exp2(bits).reshape(1, *shape))


def _off(scaled: NDArray[np.float64]) -> int:
    return int(np.count_nonzero(~np.isfinite(scaled) | (scaled != np.rint(scaled))))
