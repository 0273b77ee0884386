"""One histogram round as it is drawn: exact residual sums and counts, each plus an integer on its own lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.histogram_rounds import HistogramRounds
from hedgerow.noise.lattice import on_lattice
from hedgerow.noise.source import NoiseSource

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def noisy_round(
    residual: Integers, count: Integers, described: HistogramRounds, noise: NoiseSource
) -> tuple[Floats, Floats]:
    """Return residual sums (in grid steps) and counts, of any shape, plus the described noise: from here on public.

    >>> from hedgerow.noise.lattice import LatticeNoise
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> fine = LatticeNoise(1000, 0)
    >>> once = HistogramRounds(1, 2, 1, most_groups=1, steps=100, residual=fine, count=fine)
    >>> noisy_round(np.array([[50], [0]]), np.array([[1], [0]]), once, SimulatedNoise(1))[0].shape
    (2, 1)
    """
    noisy = []
    for sums, one in ((residual, described.residual), (count, described.count)):
        drawn = noise.discrete_gaussian(float(one.width), sums.size).reshape(sums.shape)
        noisy.append(on_lattice(np.asarray(sums, dtype=np.int64), drawn, one.bits))
    return noisy[0], noisy[1]
