"""Noisy Newton steps of a logistic regression: each releases gradient and curvature at coefficients that are public.

At public coefficients β a record with features x and outcome y adds (y − μ(x'β))·x to the gradient and
μ(1 − μ)·x_i x_j, i ≤ j, to the curvature, each product rounded to a whole multiple of 2⁻³⁰ BEFORE anything is added up:
sums are exact integers, whatever the order of records. One vector of both plus discrete Gaussian noise is released, and
β' for the next step is computed from it. Releases are public, so steps compose as adaptive Gaussians and their μ² add
up (Avella-Medina, Bradshaw & Loh 2023).

How wide the noise is depends on β: `newton_bound.step_cost` bounds how far one record moves a step, K = sup of
|gradient moved|² + ω²·|curvature moved|². Rounding moves each of the P + P(P + 1)/2 numbers by at most one unit more.
With noise of width w on the gradient and w/ω on the curvature a step costs at most (√K + 2⁻³⁰ √(P + ω² P(P + 1)/2))/w,
and w is chosen for this to be the step's μ. So the price is known before anything is read, whatever β turn out to be.

The logistic function by additions and multiplications alone: the same last digit wherever a number stands.

A record's contribution is rounded to integers, and a vector library may round exp differently at the end of an array
than inside it. Then one record that is left out could change what others add. Here every operation is one that IEEE
754 rounds correctly, element by element, so that a contribution is a function of its record and of nothing else.

How far one record moves a Newton step of a logistic regression, given the public coefficients where it is taken.

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

Gradient and curvature together
-------------------------------
Records whose gradients are farthest apart, x' = −x, have equal products x_i x_j. With t = Σ x_k x'_k the sum over i ≤ j
of (h x_i x_j − h'x'_i x'_j)² is ½[h²|x|⁴ + h'²|x'|⁴ − 2hh't² + Σ_k (h x_k² − h'x'_k²)²]. With S = Σ X_k², |x|⁴ ≤ S|x|²,
and −t² ≤ τ² − 2τt **for every τ**. So for every ν ≥ 0 and τ both movements together are at most

    ν(b + b') + ω²hh'τ² + ½ω² Σ_k max (h x_k² − h'x'_k²)² + Σ_k max over x_k, x'_k of
    [(e² + ½ω²h²S) x_k² + (e'² + ½ω²h'²S) x'_k² − 2(ee' + ω²hh'τ) x_k x'_k − ν β_k (x_k + x'_k)],

again at corners. For x, x' fixed the movement is convex in (e, e', h, h'): the sixteen corners of their ranges suffice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import ROUND_UP
from hedgerow.accounting.lower_bounds import LowerBoundPairs
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import LATER, AuditRecord, Neighbours, Specimen
from hedgerow.mechanisms.laws import GAUSSIAN, Additive
from hedgerow.noise.lattice import LatticeNoise, NoiseSource, lattice_noise, on_lattice, require_positive
from hedgerow.resampling.counted_values import Histogram

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


Range = tuple[float, float]
_PIECES, _PIECES_TOGETHER = 32, 24
_SATURATED = 8.0  # beyond it the logistic function is 0 or 1 up to 3e-4: one piece each side
_MULTIPLIERS = np.concatenate([[0.0], np.geomspace(0.02, 40.0, 24)])
_PARTS = (1.0, 0.6, 0.3, 0.0)
_MARGIN = 1.0 + 1e-9  # of computing with doubles


Bound = Literal["entries", "joint"]


@lru_cache(maxsize=256)
def step_cost(
    beta: tuple[float, ...], ranges: tuple[Range, ...], curvature: float, relation: Relation, bound: Bound = "entries"
) -> float:
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
    bound : "entries" or "joint"
        Whether each entry of the curvature is bounded by itself, or both movements together.

    Examples
    --------
    At β = 0 a constant and one feature: ½·√2, and the curvature's ¼ three times.

    >>> step_cost((0.0, 0.0), ((1.0, 1.0), (-1.0, 1.0)), 1.0, Relation.ADD_REMOVE) / (2 / 4 + 3 / 16)
    1.000000001

    Of a constant and four features, the price of a curvature of half the noise is 9 for a pair of records:

    >>> features = ((1.0, 1.0), *[(-1.0, 1.0)] * 4)
    >>> [round(step_cost((0.0,) * 5, features, 4.0, Relation.REPLACE_ONE, way), 2) for way in ("entries", "joint")]
    [16.0, 9.5]
    """
    at, low, high = np.array(beta), *np.array(ranges, dtype=np.float64).reshape(-1, 2).T
    entered, replaced = (_entered, _replaced) if bound == "entries" else (_entered_together, _replaced_together)
    return float((entered if relation is Relation.ADD_REMOVE else replaced)(at, low, high, curvature) * _MARGIN)


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


def _entered_together(beta: Floats, low: Floats, high: Floats, curvature: float) -> float:
    """Return the largest A r² + W r²(1 − r)² over r in [0, r̄]: at r̄, or where the derivative is 0."""
    least, most = _reach(beta, low, high)
    largest = float(max(logistic(np.array([most]))[0][0], logistic(np.array([least]))[1][0]))
    squares = np.maximum(np.abs(low), np.abs(high)) ** 2
    first, second = squares.sum(), curvature * np.outer(squares, squares)[np.triu_indices(len(squares))].sum()
    turn = (3.0 - math.sqrt(1.0 - 8.0 * first / second)) / 4.0 if second > 8.0 * first else largest
    return float(max(r**2 * (first + second * (1.0 - r) ** 2) for r in (largest, min(turn, largest))))


def _replaced(beta: Floats, low: Floats, high: Floats, curvature: float) -> float:
    states = _States.over(*_reach(beta, low, high), _PIECES)
    first, second = np.triu_indices(len(states.below))
    moved = np.zeros(len(first))
    for former in states.residuals:
        for other in states.residuals:
            # A pair of states is taken in one order only, so that all four combinations of ends are tried.
            bound = _dual(beta, low, high, (former[first], other[second]), _Binding.of(states, first, second))
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


def _replaced_together(beta: Floats, low: Floats, high: Floats, curvature: float) -> float:
    pairs = _Pairs.over(beta, low, high, curvature)
    bounds = pairs.bound(0.0, 1.0)
    attained = _attained(beta, low, high, curvature)
    # A pair of states below what two records reach cannot be the worst one: its first bound is good enough.
    left = np.flatnonzero(bounds > attained)
    some = pairs.chosen(left)
    for nu, part in product(_MULTIPLIERS, _PARTS):
        bounds[left] = np.minimum(bounds[left], some.bound(nu, part))
    return max(attained, float(bounds.max()))


def _attained(beta: Floats, low: Floats, high: Floats, curvature: float) -> float:
    """Return how far two of some records are apart: those at the ends of η, and with one end after another changed."""
    up, order = beta >= 0.0, np.argsort(-np.abs(beta))
    changed = np.arange(len(beta)) < np.arange(len(beta) + 1)[:, None]
    swapped = np.empty_like(changed)
    swapped[:, order] = changed
    ends = np.unique(np.where(np.concatenate([swapped, ~swapped]) == up, low, high), axis=0)
    (mu, less), (i, j) = logistic(ends @ beta), np.triu_indices(len(beta))
    products = math.sqrt(curvature) * ends[:, i] * ends[:, j] * (mu * less)[:, None]
    moved = np.concatenate([np.hstack([e[:, None] * ends, products]) for e in (less, -mu)])
    squares = (moved**2).sum(axis=1)
    return float((squares[:, None] + squares - 2.0 * moved @ moved.T).max())


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Two states and a corner of what residuals and slopes they can have: e, e', h, h', and which sides of η bind."""

    box: tuple[Floats, Floats, Floats]
    ends: Floats
    sign: Floats
    limit: Floats
    curvature: float

    @classmethod
    def over(cls, beta: Floats, low: Floats, high: Floats, curvature: float) -> _Pairs:
        """Return every pair of states, in one order, with each of its sixteen corners."""
        states = _States.over(*_reach(beta, low, high), _PIECES_TOGETHER)
        first, second = np.triu_indices(len(states.below))
        binding = _Binding.of(states, first, second)
        corners = list(product(states.residuals, (states.least, states.most)))
        ends = [np.stack([e[first], f[second], h[first], g[second]]) for (e, h), (f, g) in product(corners, corners)]
        sign, limit = np.tile(np.stack(binding.sign), len(ends)), np.tile(binding.limit, len(ends))
        return cls((beta, low, high), np.concatenate(ends, axis=1), sign, limit, curvature)

    def chosen(self, some: NDArray[np.intp]) -> _Pairs:
        """Return some of them."""
        return replace(self, ends=self.ends[:, some], sign=self.sign[:, some], limit=self.limit[some])

    def bound(self, nu: float, part: float) -> Floats:
        """Return the bound for a multiplier ν, and for τ this part of the t that would be worst without limits."""
        (beta, low, high), (e, f, h, g) = self.box, self.ends
        weight = self.curvature
        largest, smallest = np.maximum(low**2, high**2), np.clip(0.0, low, high) ** 2
        size, least = largest.sum(), np.minimum(low * high, smallest).sum()
        both = weight * h * g
        worst = np.clip(-e * f / np.maximum(both, 1e-300), least, size)
        tau = part * worst
        total = nu * self.limit + both * tau**2
        own, other, cross = (
            e**2 + 0.5 * weight * h**2 * size,
            f**2 + 0.5 * weight * g**2 * size,
            2.0 * (e * f + both * tau),
        )
        for b, *corners, lower, upper in zip(beta, low, high, smallest, largest, strict=True):
            total = total + 0.5 * weight * np.maximum(h * upper - g * lower, g * upper - h * lower) ** 2
            pairs = product(sorted(set(corners)), repeat=2)
            moved = [
                own * x**2 + other * z**2 - cross * x * z - nu * b * (self.sign[0] * x + self.sign[1] * z)
                for x, z in pairs
            ]
            total = total + np.max(moved, axis=0)
        return np.asarray(total)


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
    def over(cls, least: float, most: float, pieces: int) -> _States:
        inner = np.linspace(max(least, -_SATURATED), min(most, _SATURATED), pieces + 1)
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
    ranges: list[Range] = []
    for i, j in zip(*np.triu_indices(len(low)), strict=True):
        ends = [x * z for x in (low[i], high[i]) for z in (low[j], high[j])]
        if i == j:
            ends = [low[i] ** 2, high[i] ** 2, *([0.0] if low[i] < 0.0 < high[i] else [])]
        ranges.append((float(min(ends)), float(max(ends))))
    return ranges


Integers = NDArray[np.int64]
UNIT = 2.0**-30
"""What a record adds is a whole multiple of it."""
MOST_FEATURES = 50
_ROUNDED = 1.0 + 1e-6  # two roundings by half a unit, and the last digits of what is rounded
_AT_ONCE = 2**21


@dataclass(frozen=True, slots=True)
class StepNoise:
    """The noise of one step, in units of 2⁻³⁰: on each number of the gradient and of the curvature."""

    gradient: LatticeNoise
    curvature: LatticeNoise


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedStep:
    """What a step made public: the noisy gradient and curvature (upper triangle, by rows), and their noise.

    Numbers and standard deviations are in the units of the features, counts of records times products of them.
    """

    gradient: Floats
    curvature: Floats
    gradient_sd: float
    curvature_sd: float


@dataclass(frozen=True, slots=True)
class NewtonSteps(Additive):
    """T steps of (gradient, curvature) of a logistic regression, discrete Gaussian noise: μ² = Σ μ_t².

    Attributes
    ----------
    ranges : tuple of (float, float)
        The least and the largest value of each feature, within [−1, 1]; that of a constant is one number twice.
    precisions : tuple of float
        μ_t of each step; fewer steps may be run, the price is that of all.
    curvature : float
        ω²: how much more precise than the gradient the curvature is, as a ratio of variances.
    relation : "replace-one" or "add-remove"
        For which the noise is chosen; no other is certified.
    bound : "entries" or "joint"
        How the cost of a step is bounded; what was released by earlier versions has "entries".
    most_rows : int or None
        The most rows of a unit that count, where units of several rows are protected. Sums are over rows, so a unit
        adds that number times a mean of what rows add and of zeros: its cost is that of as many equal rows, or of none.

    Examples
    --------
    >>> steps = NewtonSteps(((1.0, 1.0), (-1.0, 1.0)), (0.3, 0.4), 1.0, "add-remove")
    >>> steps.mu(Relation.ADD_REMOVE)
    0.5
    >>> round(steps.noise(0, (0.0, 0.0)).gradient.in_units * UNIT, 4)
    2.7639
    """

    ranges: tuple[tuple[float, float], ...]
    precisions: tuple[float, ...]
    curvature: float
    relation: Literal["replace-one", "add-remove"]
    bound: Bound = field(default="entries", metadata=LATER)
    most_rows: int | None = field(default=None, metadata=LATER)
    type: Literal["newton-steps"] = "newton-steps"

    def __post_init__(self) -> None:
        require_positive(curvature=self.curvature, **{f"precision {t}": mu for t, mu in enumerate(self.precisions)})
        inside = all(-1.0 <= low <= high <= 1.0 for low, high in self.ranges) and (self.most_rows or 1) > 0
        if not (inside and 1 <= len(self.ranges) <= MOST_FEATURES and self.precisions):
            raise ParameterError(
                "HG406",
                rule=f"Newton steps have 1 to {MOST_FEATURES} features within [−1, 1], and at least one step.",
                finding=f"Found {len(self.ranges)} features and {len(self.precisions)} steps.",
            )

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one step of a constant and two features, at μ = 1; and one whose movements are bounded together."""
        box = ((1.0, 1.0), (-1.0, 1.0), (0.0, 1.0))
        return (
            Specimen("Newton step", cls(box, (1.0,), 1.0, "add-remove"), Relation.ADD_REMOVE, 1e-3, released=False),
            Specimen(
                "Newton step, bounded together",
                cls(box, (1.0,), 8.0, "replace-one", "joint"),
                Relation.REPLACE_ONE,
                1e-3,
                released=False,
            ),
            Specimen(
                "Newton step of units of four rows",
                cls(box, (1.0,), 4.0, "add-remove", "joint", 4),
                Relation.ADD_REMOVE,
                1e-3,
                released=False,
            ),
        )

    @property
    def widest(self) -> float:
        """More than twice the widest noise that a step can need, whatever β turn out to be, in units of 2⁻³⁰."""
        # Two records differ by 2 at most in a number of the gradient, by ½ in one of the curvature.
        size = len(self.ranges)
        most = 4.0 * size + 0.25 * self.curvature * size * (size + 1) / 2.0
        least = UNIT * min(self.precisions) * min(1.0, math.sqrt(self.curvature))
        return 2.1 * (self.most_rows or 1) * math.sqrt(most) / least

    @property
    def row_limit(self) -> int | None:
        """The most rows of a unit."""
        return self.most_rows

    @property
    def piloted(self) -> bool:
        """Whether the first step is a pilot that tells the moments of the features beside a constant."""
        constant = self.ranges[0] == (1.0, 1.0) and len(self.ranges) > 1
        return self.bound == "joint" and constant and len(self.precisions) > 1

    def mu(self, relation: Relation) -> float:
        """Return √(Σ μ_t²).

        Raises
        ------
        UncertifiedError
            HG401: the noise was chosen for the other relation.
        """
        if str(relation) != self.relation:
            raise UncertifiedError(
                "HG401",
                rule="The noise of Newton steps has a price only for the relation for which the noise was chosen.",
                finding=f"It was chosen for {self.relation}.",
            )
        return math.sqrt(sum(mu**2 for mu in self.precisions))

    def noise(self, step: int, beta: Sequence[float]) -> StepNoise:
        """Return the noise of a step that is taken at these coefficients.

        Raises
        ------
        ParameterError
            HG107: 64-bit integers could not carry it.
        """
        at = tuple(float(b) for b in beta)
        numbers = len(self.ranges) + self.curvature * len(self.ranges) * (len(self.ranges) + 1) / 2.0
        # A unit may have no row, also where another takes its place.
        relations = {Relation(self.relation), *((Relation.ADD_REMOVE,) if self.most_rows else ())}
        cost = max(step_cost(at, self.ranges, self.curvature, relation, self.bound) for relation in relations)
        row = math.sqrt(cost) / UNIT + math.sqrt(numbers) * _ROUNDED
        width = (self.most_rows or 1) * row / self.precisions[step] * ROUND_UP
        return StepNoise(lattice_noise(width), lattice_noise(width / math.sqrt(self.curvature) * ROUND_UP))

    def added(self, features: Floats, outcome: Integers, beta: Sequence[float]) -> Integers:
        """Return what each record adds to gradient and curvature, in units of 2⁻³⁰: (records, P + P(P + 1)/2).

        Features are clipped to their ranges. Only operations that are rounded element by element are used, so that a
        row depends on its record alone.
        """
        low, high = np.array(self.ranges, dtype=np.float64).T
        x = np.clip(features, low, high)
        eta = np.zeros(len(x))
        for k, b in enumerate(beta):
            eta = eta + x[:, k] * float(b)
        mu, less = logistic(eta)
        residual, slope = np.where(outcome > 0, less, -mu), mu * less
        i, j = np.triu_indices(x.shape[1])
        moved = np.concatenate([x * residual[:, None], x[:, i] * x[:, j] * slope[:, None]], axis=1)
        return np.rint(moved / UNIT).astype(np.int64)

    def sums(self, features: Floats, outcome: Integers, count: Integers, beta: Sequence[float]) -> Integers:
        """Return the exact sums over records, each of which stands for `count` alike, in units of 2⁻³⁰."""
        width = len(self.ranges)
        total = np.zeros(width + width * (width + 1) // 2, dtype=np.int64)
        for some in _batches(len(count), max(1, _AT_ONCE // len(total))):
            total += count[some] @ self.added(features[some], outcome[some], beta)
        return total

    def noisy(self, sums: Integers, step: int, beta: Sequence[float], source: NoiseSource) -> Floats:
        """Return exact sums, (…, numbers), plus noise, in units of 2⁻³⁰: from here on public."""
        own, split = self.noise(step, beta), len(self.ranges)
        parts = []
        for exact, noise in ((sums[..., :split], own.gradient), (sums[..., split:], own.curvature)):
            drawn = GAUSSIAN.draw(source, float(noise.width), exact.size).reshape(exact.shape)
            parts.append(on_lattice(np.ascontiguousarray(exact), drawn, noise.bits))
        return np.concatenate(parts, axis=-1)

    def released(self, noisy: Floats, step: int, beta: Sequence[float]) -> ReleasedStep:
        """Return the noisy numbers of a step in the units of the features, with the noise that they hold."""
        own, split = self.noise(step, beta), len(self.ranges)
        sds = own.gradient.in_units * UNIT, own.curvature.in_units * UNIT
        return ReleasedStep(noisy[:split] * UNIT, noisy[split:] * UNIT, *sds)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the dominating pair of the first step, at β = 0: at the others β follows from noise."""
        first = Additive.attained(replace(self, precisions=self.precisions[:1]), relation)
        return LowerBoundPairs(
            first.pairs, "Only the first Newton step is taken at coefficients that are known before it."
        )

    # What an audit attacks: steps that are all taken at β = 0, where every coefficient starts.

    @property
    def _start(self) -> tuple[float, ...]:
        return (0.0,) * len(self.ranges)

    def _corner(self, index: int) -> tuple[Floats, Integers]:
        """Return the features and the outcome of a code: its last bit is y, the others tell which ends."""
        ends = [pair[index >> (1 + k) & 1] for k, pair in enumerate(self.ranges)]
        return np.array([ends]), np.array([index & 1])

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the records at corners of the box that differ most; under add-remove the one that adds most.

        Of many features, only corners with the same end in all but one are compared.
        """
        self.mu(relation)
        size = len(self.ranges)
        ends = range(2**size) if size <= 6 else sorted({0, 2**size - 1, *(1 << k for k in range(size))})
        codes = [2 * end + y for end in ends for y in (0, 1)]
        moved = np.array([self.contribution(AuditRecord(0, code))[0] for code in codes])
        scaled = moved / self.contribution(AuditRecord(0, 0))[1]
        if relation is Relation.ADD_REMOVE:
            largest = codes[int((scaled**2).sum(axis=1).argmax())]
            return (Neighbours("one-sided", AuditRecord(0, largest), None, 1),)
        apart = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
        first, second = np.unravel_index(int(apart.argmax()), apart.shape)
        return (Neighbours("two corners", AuditRecord(0, codes[int(first)]), AuditRecord(0, codes[int(second)]), 1),)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs of all steps, (n, 1, numbers), drawn by the function that a fit calls."""
        size = len(self.ranges)
        exact = np.zeros(size + size * (size + 1) // 2, dtype=np.int64)
        for index, count in zip(data.index, data.count, strict=True):
            exact += (self.most_rows or 1) * self.sums(*self._corner(int(index)), np.array([count]), self._start)
        alike = np.broadcast_to(exact, (n, len(exact)))
        drawn = [self.noisy(alike, step, self._start, noise) for step in range(len(self.precisions))]
        return np.concatenate(drawn, axis=1)[:, None, :]

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what a record adds to the numbers of all steps, and the widths of the noise there."""
        moved = (self.most_rows or 1) * self.added(*self._corner(record.index), self._start)[0].astype(np.float64)
        widths = []
        for step in range(len(self.precisions)):
            own, split = self.noise(step, self._start), len(self.ranges)
            widths += [own.gradient.in_units] * split + [own.curvature.in_units] * (len(moved) - split)
        return np.tile(moved, len(self.precisions)), np.array(widths)

    @property
    def size(self) -> int:
        """Roughly how many times three numbers there are."""
        return 1 + len(self.bits) // 3

    @property
    def bits(self) -> tuple[int, ...]:
        """The lattice of each number, of steps that are all taken at β = 0."""
        size, bits = len(self.ranges), []
        for step in range(len(self.precisions)):
            own = self.noise(step, self._start)
            bits += [own.gradient.bits] * size + [own.curvature.bits] * (size * (size + 1) // 2)
        return tuple(bits)


def _batches(total: int, size: int) -> Iterator[slice]:
    for start in range(0, total, size):
        yield slice(start, start + size)
