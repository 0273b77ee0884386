"""Outputs of resamples on their worst neighbours: n records that fail, or n − 1 that fail and one that succeeds.

Every output is drawn by the functions that a test set calls. Under either, more successes speak for the neighbour that
has one: the likelihood ratio rises with the output, so the output itself is the strongest score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.mechanism import Resample, SmoothedResample
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram
from hedgerow.testset.mechanisms.resample import drawn_losses
from hedgerow.testset.mechanisms.smoothed_resample import smoothed_successes


def resample_outputs(
    mechanism: Resample | SmoothedResample, successes: int, size: int, noise: NoiseSource
) -> NDArray[np.float64]:
    """Return `size` numbers of drawn successes, (size, 1, 1), where `successes` of the records succeed.

    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> resample_outputs(Resample(10, 3), 0, 4, SimulatedNoise(1)).ravel().tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    generator = noise.generator()
    if isinstance(mechanism, SmoothedResample):
        drawn = smoothed_successes(mechanism, successes, generator, size)
    else:
        index, count = np.array([0, 1]), np.array([mechanism.n - successes, successes])
        data = Histogram.from_triplets(np.zeros_like(index), index, count, cells=1)
        drawn = drawn_losses(data, mechanism.draws, generator, size)
    return drawn.astype(np.float64).reshape(size, 1, 1)
