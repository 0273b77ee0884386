r"""How far one record moves a Newton step of a logistic regression, given the public coefficients where it is taken.

A record has features x, x_k in [l_k, u_k] within [−1, 1] (a constant is a feature with l = u), and an outcome y in
{0, 1}. At coefficients β let η = x'β, μ = 1/(1 + e^−η), e = y − μ and h = μ(1 − μ). It adds e·x to the gradient and
h·x_i x_j, i ≤ j, to the curvature. The cost is the largest squared movement, gradient + ω²·curvature.

Add-remove
----------
|e| ≤ r̄, the larger of μ and 1 − μ over the box, reached at a corner. With A = Σ X_k², X_k = max(|l_k|, |u_k|), and
W = ω² Σ_{i≤j} X_i² X_j², and since h = |e|(1 − |e|), a record adds at most A r² + W r²(1 − r)² at |e| = r. Its
derivative is 2r[A + W(1 − r)(1 − 2r)], and (1 − r)(1 − 2r) ≥ −1/8, so for **W ≤ 8A** it grows with r and the cost is
**A r̄² + W r̄²(1 − r̄)²**. For symmetric boxes a corner attains it. Else the two largest values are added.

Replace-one
-----------
For e and e' fixed, Σ (e x_k − e' x'_k)² would be largest where all signs differ; but large residuals of two records
need opposite ends of η, and that fixes the signs. So the range of η is cut into pieces. Let (η, η') lie in two of
them. An outcome of 1 has a large residual only at a small η, so that η ≤ b is what binds; for an outcome of 0 it is
η ≥ a. By weak duality, **for every ν ≥ 0**

    Σ (e x_k − e' x'_k)² ≤ ν(b − η) + ν(b' − η') + Σ (e x_k − e' x'_k)²
                         ≤ ν(b + b') + Σ_k max over x_k, x'_k of [(e x_k − e' x'_k)² − ν β_k (x_k + x'_k)],

each maximum at one of four corners, as what is in brackets is convex; signs of an outcome of 0 are reversed. For x, x'
fixed the sum is convex in (e, e'), so their four ends suffice. Several ν are tried and the least bound is taken. What
the curvature moves is bounded entry by entry. The largest sum over all pairs of pieces bounds the cost; no search over
records is needed, whatever their number of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.adaptive.logistic import logistic

Floats = NDArray[np.float64]
Range = tuple[float, float]
_PIECES = 32
_SATURATED = 8.0  # beyond it the logistic function is 0 or 1 up to 3e-4: one piece each side
_MULTIPLIERS = np.concatenate([[0.0], np.geomspace(0.02, 40.0, 24)])
_MARGIN = 1.0 + 1e-9  # of computing with doubles


@lru_cache(maxsize=256)
def step_cost(beta: tuple[float, ...], ranges: tuple[Range, ...], curvature: float, relation: Relation) -> float:
    """Return an upper bound on |gradient moved|² + ω²·|curvature moved|² over all pairs of neighbours.

    Parameters
    ----------
    beta : tuple of float
        The public coefficients of the step.
    ranges : tuple of (float, float)
        l_k and u_k of each feature.
    curvature : float
        ω².
    relation : Relation

    Examples
    --------
    At β = 0 a constant and one feature: ½·√2, and the curvature's ¼ three times.

    >>> step_cost((0.0, 0.0), ((1.0, 1.0), (-1.0, 1.0)), 1.0, Relation.ADD_REMOVE) / (2 / 4 + 3 / 16)
    1.000000001
    """
    at, low, high = np.array(beta), *np.array(ranges, dtype=np.float64).reshape(-1, 2).T
    if relation is Relation.ADD_REMOVE:
        return float(_entered(at, low, high, curvature) * _MARGIN)
    return float(_replaced(at, low, high, curvature) * _MARGIN)


def _reach(beta: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """Return the least and the largest η over the box."""
    return float(np.minimum(beta * low, beta * high).sum()), float(np.maximum(beta * low, beta * high).sum())


def _entered(beta: Floats, low: Floats, high: Floats, curvature: float) -> float:
    least, most = _reach(beta, low, high)
    r = float(max(logistic(np.array([most]))[0][0], logistic(np.array([least]))[1][0]))
    squares = np.maximum(np.abs(low), np.abs(high)) ** 2
    first, second = squares.sum(), curvature * np.outer(squares, squares)[np.triu_indices(len(squares))].sum()
    slope = r * (1.0 - r) if second <= 8.0 * first else 0.25
    return float(first * r**2 + second * slope**2)


def _replaced(beta: Floats, low: Floats, high: Floats, curvature: float) -> float:
    states = _States.over(*_reach(beta, low, high))
    first, second = np.triu_indices(len(states.below))
    moved = np.zeros(len(first))
    for one in states.residuals:
        for other in states.residuals:
            # A pair of states is taken in one order only, so that all four combinations of ends are tried.
            bound = _dual(beta, low, high, (one[first], other[second]), _Binding.of(states, first, second))
            moved = np.maximum(moved, bound)
    return float((moved + curvature * _curvature_moved(states, first, second, low, high)).max())


class _Binding:
    """The side of each record's η that binds, as sign·η ≤ limit."""

    def __init__(self, sign: tuple[Floats, Floats], limit: Floats) -> None:
        self.sign, self.limit = sign, limit

    @classmethod
    def of(cls, states: _States, first: NDArray[np.int64], second: NDArray[np.int64]) -> _Binding:
        limit = np.where(states.outcome > 0.0, states.above, -states.below)
        return cls((states.outcome[first], states.outcome[second]), limit[first] + limit[second])


def _dual(beta: Floats, low: Floats, high: Floats, ends: tuple[Floats, Floats], binding: _Binding) -> Floats:
    """Return for each pair of states the least bound on |gradient moved|² over the multipliers that are tried."""
    (e, f), (sign, other) = ends, binding.sign
    best = np.full(len(e), np.inf)
    for nu in _MULTIPLIERS:
        total = nu * binding.limit
        for b, *corners in zip(beta, low, high, strict=True):
            pairs = [(x, z) for x in corners for z in corners]
            total = total + np.max([(e * x - f * z) ** 2 - nu * b * (sign * x + other * z) for x, z in pairs], axis=0)
        best = np.minimum(best, total)
    return best


class _States:
    """An outcome and a piece of the range of η each: what residual and slope a record there can have."""

    def __init__(self, outcome: Floats, below: Floats, above: Floats) -> None:
        self.outcome, self.below, self.above = outcome, below, above
        (mu, less), (mu_above, less_above) = logistic(below), logistic(above)
        positive = outcome > 0.0
        self.residuals = (np.where(positive, less, -mu), np.where(positive, less_above, -mu_above))
        ends = mu * less, mu_above * less_above
        self.least = np.minimum(*ends)
        self.most = np.where((below <= 0.0) & (above >= 0.0), 0.25, np.maximum(*ends))

    @classmethod
    def over(cls, least: float, most: float) -> _States:
        inner = np.linspace(max(least, -_SATURATED), min(most, _SATURATED), _PIECES + 1)
        edges = np.unique(np.concatenate([[least], inner[(inner > least) & (inner < most)], [most]]))
        below, above = (edges[:-1], edges[1:]) if len(edges) > 1 else (edges, edges)
        outcome = np.repeat([-1.0, 1.0], len(below))
        return cls(outcome, np.tile(below, 2), np.tile(above, 2))


def _curvature_moved(
    states: _States, first: NDArray[np.int64], second: NDArray[np.int64], low: Floats, high: Floats
) -> Floats:
    """Return Σ_{i≤j} of the largest (h x_i x_j − h' x'_i x'_j)², each entry by itself."""
    moved = np.zeros(len(first))
    for least, most in _products(low, high):
        smallest = np.minimum(states.least * least, states.most * least)
        largest = np.maximum(states.least * most, states.most * most)
        apart = np.maximum(largest[first] - smallest[second], largest[second] - smallest[first])
        moved += apart**2
    return moved


def _products(low: Floats, high: Floats) -> Sequence[Range]:
    """Return the ranges of x_i x_j, i ≤ j."""
    found: list[Range] = []
    for i, j in zip(*np.triu_indices(len(low)), strict=True):
        ends = [x * z for x in (low[i], high[i]) for z in (low[j], high[j])]
        if i == j:
            ends = [low[i] ** 2, high[i] ** 2, *([0.0] if low[i] < 0.0 < high[i] else [])]
        found.append((float(min(ends)), float(max(ends))))
    return found
