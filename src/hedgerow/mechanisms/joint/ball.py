r"""How far one record whose features lie in a ball moves joint moments, under Gaussian noise: exact for even weights.

The first d features of a record are a vector z, ‖z‖ ≤ 1; any others stand for themselves, each in [−1, 1], and are
added up alone. Let a be the largest weight of a sum of z_i, ω the largest of a square and of a product over √2: with
these in place of the others nothing moves less, and Σ ω_ij² z_i² z_j² is at most ω²‖z‖⁴.

**One record.** κ² + a²‖z‖² + ω²‖z‖⁴ ≤ κ² + a² + ω².

**A record for another of its cell.** With s = ‖z‖, s' = ‖z'‖ and c the cosine between them, the movement is

    D = a²(s² + s'² − 2ss'c) + ω²(s⁴ + s'⁴ − 2s²s'²c²).

As a function of c it is largest at c = −a²/(2ω²ss') where that is above −1, and is there a²(s² + s'²) + ω²(s⁴ + s'⁴) +
a⁴/2ω², which rises with s and s'; else at c = −1, where D = a²(s + s')² + ω²(s² − s'²)² has for s ≤ s' the derivative
2(s + s')[a² − 2ω²s(s' − s)] ≥ 0 in s, since a² ≥ 2ω²ss', and a positive one in s'. So it is largest at s = s' = 1:

    D = 4a²  where 2ω² ≤ a²,  else  2ω²(1 + a²/2ω²)².

Second moments cost nothing up to ω² = a²/2. Each other feature of weight b adds 4b², or b² for one record.
"""

from __future__ import annotations

import math

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.weights import JointWeights, Of, Presence


def ball_cost(weights: JointWeights, relation: Relation, ball: int, *, presence: Presence, cells: int) -> float:
    """Return an upper bound on Σ movement² over neighbours whose first `ball` features lie in the unit ball.

    >>> even = {(0,): 1.0, (1,): 1.0, (0, 0): 0.5, (0, 1): 0.5**0.5, (1, 1): 0.5}
    >>> [ball_cost(JointWeights(2, {}, even), one, 2, presence="public", cells=1) for one in Relation]
    [4.0, 1.25]
    """
    a, omega, others = largest_weights(weights, ball)
    one = sum(weight**2 for weight in weights.counts.values()) + a**2 + omega**2 + others
    if relation is Relation.ADD_REMOVE:
        return one
    same = _same_cell(a, omega) + 4.0 * others
    return same if presence == "public" else max(same, (2.0 if cells > 1 else 1.0) * one)


def largest_weights(weights: JointWeights, ball: int) -> tuple[float, float, float]:
    """Return a, ω, and the squared weights of the other features."""
    within = {of: weight for of, weight in weights.sums.items() if max(of) < ball}
    others = sum(weight**2 for of, weight in weights.sums.items() if max(of) >= ball)
    a = max((weight for of, weight in within.items() if len(of) == 1), default=0.0)
    omega = max((_even(of, weight) for of, weight in within.items() if len(of) == 2), default=0.0)
    return a, omega, others


def worst_cosine(a: float, omega: float) -> float:
    """Return the cosine between the two vectors that differ most."""
    return -1.0 if 2.0 * omega**2 <= a**2 else -(a**2) / (2.0 * omega**2)


def _even(of: Of, weight: float) -> float:
    return weight if of[0] == of[1] else weight / math.sqrt(2.0)


def _same_cell(a: float, omega: float) -> float:
    if 2.0 * omega**2 <= a**2:
        return 4.0 * a**2
    return 2.0 * omega**2 * (1.0 + a**2 / (2.0 * omega**2)) ** 2
