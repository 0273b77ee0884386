"""δ(ε) by enumeration, where the output space is small: integer counts. No sampling, no confidence level.

The sum of (p − e^ε q)₊ over any part of the outputs is a lower bound on δ(ε), so the far tails may be left out. 1e-12
is subtracted for the rounding of the sum. Each mechanism enumerates its own outputs (`exact_law`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hedgerow.audit.attack import greatest_epsilon
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Mechanism, Outcomes

_ROUNDOFF = 1e-12


def exact_delta_lower(mechanism: Mechanism, relation: Relation, epsilon: float) -> float | None:
    """Return a lower bound on δ(ε), exact but for far tails: Σ max(0, p − e^ε q) over outputs; None for too many.

    Examples
    --------
    A count with two-sided geometric noise of scale 1 is pure at ε = 1; two counts are not.

    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> exact_delta_lower(GeometricCounts(1.0, cells=1), Relation.ADD_REMOVE, 1.0)
    0.0
    >>> round(exact_delta_lower(GeometricCounts(1.0, cells=2), Relation.REPLACE_ONE, 1.0), 3)
    0.338
    """
    law = _law(mechanism, relation)
    return None if law is None else _delta_lower(law, epsilon)


def exact_epsilon_lower(mechanism: Mechanism, relation: Relation, delta: float) -> float | None:
    """Return a lower bound on ε at δ by enumeration, within 1e-9 of the exact value where δ > 1e-11; None as above.

    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> round(exact_epsilon_lower(GeometricCounts(2.0, cells=1), Relation.ADD_REMOVE, 1e-6), 4)
    0.5
    """
    law = _law(mechanism, relation)
    return None if law is None else greatest_epsilon(lambda epsilon: _delta_lower(law, epsilon), delta)


def _delta_lower(law: Outcomes, epsilon: float) -> float:
    first, second = law
    return max(0.0, float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum()) - _ROUNDOFF)


@lru_cache(maxsize=8)
def _law(mechanism: Mechanism, relation: Relation) -> Outcomes | None:
    return mechanism.exact_law(relation)
