"""δ(ε) by enumeration, where the output space is small: integer counts. No sampling, no confidence level.

The sum of (p − e^ε q)₊ over any part of the outputs is a lower bound on δ(ε), so the far tails may be left out. 1e-12
is subtracted for the rounding of the sum.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.attack import greatest_epsilon
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import AveragedLaplaceCounts, Counts, GeometricCounts, Mechanism

_MOST = 2000
_ROUNDOFF = 1e-12


def is_small(mechanism: Mechanism, relation: Relation) -> bool:
    """Whether the outputs that matter can be enumerated."""
    if not isinstance(mechanism, Counts):
        return False
    return 2 * _reach(mechanism) + 2 <= (_MOST if _touched(mechanism, relation) > 1 else _MOST**2)


def exact_delta_lower(mechanism: Counts, relation: Relation, epsilon: float) -> float:
    """Return a lower bound on δ(ε) of noisy counts, exact but for far tails: Σ max(0, p − e^ε q) over outputs.

    Under replace-one with two cells or more a record leaves one cell and enters another: P(z₁ − 1)P(z₂) against
    P(z₁)P(z₂ − 1). Otherwise one count moves by 1.

    Examples
    --------
    A count with two-sided geometric noise of scale 1 is pure at ε = 1; two counts are not.

    >>> exact_delta_lower(GeometricCounts(1.0, cells=1), Relation.ADD_REMOVE, 1.0)
    0.0
    >>> round(exact_delta_lower(GeometricCounts(1.0, cells=2), Relation.REPLACE_ONE, 1.0), 3)
    0.338
    """
    first, second = _laws(mechanism, _touched(mechanism, relation))
    return max(0.0, float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()) - _ROUNDOFF)


def exact_epsilon_lower(mechanism: Counts, relation: Relation, delta: float) -> float:
    """Return a lower bound on ε at δ by enumeration, within 1e-9 of the exact value where δ > 1e-11.

    >>> round(exact_epsilon_lower(GeometricCounts(2.0, cells=1), Relation.ADD_REMOVE, 1e-6), 4)
    0.5
    """
    return greatest_epsilon(lambda epsilon: exact_delta_lower(mechanism, relation, epsilon), delta)


def _touched(mechanism: Counts, relation: Relation) -> int:
    return mechanism.touched(relation)


def _reach(mechanism: Counts) -> int:
    if isinstance(mechanism, GeometricCounts):
        return math.ceil(40.0 * mechanism.scale) + 2
    if isinstance(mechanism, AveragedLaplaceCounts):
        return math.ceil((40.0 + 10.0 * math.sqrt(mechanism.draws)) * mechanism.scale) + 2
    return math.ceil(9.0 * mechanism.width) + 2


@lru_cache(maxsize=8)
def _laws(mechanism: Counts, touched: int) -> tuple[NDArray[np.float64], ...]:
    z = np.arange(-_reach(mechanism), _reach(mechanism) + 2, dtype=np.float64)
    moved, still = _law(mechanism, z - 1.0), _law(mechanism, z)
    if touched == 1:
        return moved, still
    return np.outer(moved, still), np.outer(still, moved)


def _law(mechanism: Counts, z: NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(mechanism, GeometricCounts):
        alpha = math.exp(-1.0 / mechanism.scale)
        return np.asarray((1.0 - alpha) / (1.0 + alpha) * np.exp(-np.abs(z) / mechanism.scale))
    if isinstance(mechanism, AveragedLaplaceCounts):
        return _convolved_law(mechanism, z)
    span = np.arange(-math.ceil(40.0 * mechanism.width) - 2, math.ceil(40.0 * mechanism.width) + 3, dtype=np.float64)
    total = np.exp(-(span**2) / (2.0 * mechanism.width**2)).sum()
    return np.asarray(np.exp(-(z**2) / (2.0 * mechanism.width**2)) / total)


def _convolved_law(mechanism: AveragedLaplaceCounts, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of whole numbers z, by convolving one draw's: no formula of the sum is used."""
    reach = 2 * _reach(mechanism) + 2
    one = _law(GeometricCounts(mechanism.scale, 1), np.arange(-reach, reach + 1.0))
    total = one
    for _ in range(mechanism.draws - 1):
        total = np.convolve(total, one, mode="same")
    return np.asarray(total[z.astype(np.int64) + reach])
