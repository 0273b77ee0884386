"""Randomised records under attack: one record in one cell against the same record in another, bit by bit.

The guarantee is local, so the attacker sees the bits themselves, not their sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.randomised_records import RandomisedRecords
from hedgerow.noise.source import NoiseSource
from hedgerow.release.draw.randomised_records import as_bits

Floats = NDArray[np.float64]


def record_outputs(mechanism: RandomisedRecords, own: int, n: int, noise: NoiseSource) -> Floats:
    """Return the bits of the first view of `n` records that all lie in cell `own`, (n, 1, cells)."""
    bits = as_bits(mechanism, 0, np.full(n, own, dtype=np.int64), noise.generator())
    return bits.astype(np.float64)[:, None, :]


def record_change(mechanism: RandomisedRecords, own: int) -> Callable[[Floats], Floats]:
    """Return the log-chance of bits with a record in cell `own`, less that without one, as a score."""
    q = mechanism.chance
    one, zero = np.log(0.5 / q), np.log(0.5 / (1.0 - q))
    return lambda bits: np.asarray(np.where(bits[:, own] == 1.0, one, zero))
