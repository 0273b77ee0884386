"""Randomised records as they are drawn: every record becomes random bits, and only sums of bits go on from here.

A record's bits depend on that record alone, never on another one and never on what was seen before. What comes out is
the number of ones in each cell, a function of the randomised records; whatever is made of it is post-processing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.randomised_records import FINE, RandomisedRecords
from hedgerow.noise.source import NoiseSource

Integers = NDArray[np.int64]
NOWHERE = -1  # the cell of a record that lies in none of a view's
_BITS = 8_000_000  # numbers in hand at once: 32 MB


def choose_views(described: RandomisedRecords, records: int, noise: NoiseSource) -> Integers:
    """Return which view each record shows, by a coin that does not depend on it.

    >>> from hedgerow.mechanisms.randomised_records import randomised_records
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> choose_views(randomised_records(1.0, (2, 2), (0.5, 0.5)), 4, SimulatedNoise(1)).shape
    (4,)
    """
    drawn = noise.generator().integers(0, FINE, records, dtype=np.int64)
    return np.searchsorted(np.cumsum(described.shares)[:-1], drawn, side="right").astype(np.int64)


def as_bits(
    described: RandomisedRecords, view: int, cells: Integers, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return each record as random bits, (records, cells of the view); `cells` says where each record lies.

    Every bit compares 32 random bits with a whole number: chance exactly ½ in the record's own cell, `flip`/2³²
    elsewhere.
    """
    bits = generator.integers(0, FINE, (len(cells), described.views[view]), dtype=np.uint32) < described.flip
    inside = np.flatnonzero(cells != NOWHERE)
    bits[inside, cells[inside]] = generator.integers(0, FINE, len(inside), dtype=np.uint32) < FINE // 2
    return np.asarray(bits, dtype=bool)


def count_ones(described: RandomisedRecords, view: int, cells: Integers, noise: NoiseSource) -> Integers:
    """Return how many randomised records have a one in each cell of a view.

    >>> from hedgerow.mechanisms.randomised_records import randomised_records
    >>> from hedgerow.testing.simulated import SimulatedNoise
    >>> rare = randomised_records(20.0, (3,), (1.0,))
    >>> ones = count_ones(rare, 0, np.array([1] * 100 + [NOWHERE] * 100), SimulatedNoise(1))
    >>> int(ones[0] + ones[2]), bool(20 < ones[1] < 80)
    (0, True)
    """
    size = described.views[view]
    generator = noise.generator()
    ones = np.zeros(size, dtype=np.int64)
    most = max(1, _BITS // size)
    for start in range(0, len(cells), most):
        ones += as_bits(described, view, cells[start : start + most], generator).sum(axis=0)
    return ones


def debiased(described: RandomisedRecords, ones: Integers, shown: int) -> NDArray[np.float64]:
    """Return estimates of how many of the `shown` records lie in each cell, without bias: (ones − m·q)/(½ − q)."""
    q = described.chance
    return np.asarray((ones - shown * q) / (0.5 - q), dtype=np.float64)
