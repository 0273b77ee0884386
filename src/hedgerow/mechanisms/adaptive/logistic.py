"""The logistic function by additions and multiplications alone: the same last digit wherever a number stands.

A record's contribution is rounded to integers, and a vector library may round exp differently at the end of an array
than inside it. Then one record that is left out could change what others add. Here every operation is one that IEEE
754 rounds correctly, element by element, so that a contribution is a function of its record and of nothing else.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_LARGEST = 700.0
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 32 bits of ln 2, so that k times it is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_TAYLOR = [1.0 / math.factorial(k) for k in range(14)]


def logistic(eta: Floats) -> tuple[Floats, Floats]:
    """Return 1/(1 + e^−η) and 1/(1 + e^η), each within a few units of its last digit.

    >>> [part.round(6).tolist() for part in logistic(np.array([0.0, 2.0, -800.0]))]
    [[0.5, 0.880797, 0.0], [0.5, 0.119203, 1.0]]
    """
    x = -np.minimum(np.abs(np.asarray(eta, dtype=np.float64)), _LARGEST)
    whole = np.rint(x * (1.0 / math.log(2.0)))
    rest = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    power = np.full_like(rest, _TAYLOR[-1])
    for coefficient in reversed(_TAYLOR[:-1]):
        power = power * rest + coefficient
    small = np.ldexp(power, whole.astype(np.int64))
    less, more = small / (1.0 + small), 1.0 / (1.0 + small)
    positive = np.asarray(eta) >= 0.0
    return np.where(positive, more, less), np.where(positive, less, more)
