r"""How far one record moves the joint moments of several features, in units of the noise: exact, or an upper bound.

A record has features f_1..f_d in [−1, 1]. In units of its noise a release weighs its sum Σ f_i with a_i, a product
Σ f_i f_j (i ≤ j) with ω_ij, and counts with κ: of all records of the cell, of those where feature i is present (κ_i),
of those where i and j are (κ_ij). A coordinate with a missing feature is 0. The price follows from
Σ |movement of a coordinate|^p over the worst neighbours, p = 1 for Laplace and p = 2 for Gaussian noise.

Same cell (theory: joint moments)
---------------------------------
Let a feature be present in both records with values f, g, and x = 1 − |f − g|/2 ∈ [0, 1], so |f + g|/2 ≤ x. Then

* its sum and square move by at most 2^p·h(x), h(x) = a^p (1 − x)^p + ω_ii^p (2x(1 − x))^p, since f² − g² = (f−g)(f+g);
* its product with another such feature moves by at most 2^p ω_ij^p s^p, s = x_i + x_j − 2 x_i x_j ∈ [0, 1], s^p ≤ s.

With the largest λ for which h(x) ≤ a^p − λx on [0, 1] the bound is linear in each x_i, so it is largest at corners
x ∈ {0, 1}^d: each feature flipped (F, x = 0) or equal (E, x = 1). A feature missing in one of the records is present in
the old one only (O) or in the new one only (N), and its coordinates move by at most their size. So the cost is at most
the maximum over states {F, E, O, N}^d of

=====================  ===========================================================================================
one feature            F: 2^p a^p      E: 2^p (a^p − λ)      O, N: κ_i^p + a^p + (ω_ii·c)^p, c the largest |f² − o|
pair F, E              2^p ω_ij^p
pair (O or N), (F, E)  κ_ij^p + ω_ij^p
pair O, O and N, N     κ_ij^p + ω_ij^p
other pairs            0
=====================  ===========================================================================================

λ = a^p exactly when ω_ii ≤ a (p = 2) or ω_ii = 0 (p = 1); then corners of the data attain the maximum, and it is exact.
In general λ = a − 2ω_ii for p = 1 and the least value of a²(2 − x) − 4ω_ii² x(1 − x)² for p = 2. With λ_i ≥ Σ_j ω_ij^p
for every i the maximum is 2^p Σ a^p: all second moments are free. Where there are too many states, s ≤ x_i + x_j splits
the bound into one maximum per feature; the lesser of the two bounds is taken where both are known.

Partition blocks
----------------
A block's coordinates are products of the Bernstein polynomials of its features (and of "missing"): non-negative, of sum
1 for every record. With weight w one record adds at most w^p, and two records differ by at most 2w^p, attained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.relation import Relation

Floats = NDArray[np.float64]
Of = tuple[int, ...]
Presence = Literal["public", "private"]
MOST_STATES = 2**14
_FLIPPED, _EQUAL, _OLD, _NEW = range(4)
# How a pair of states weighs ω_ij^p in units of 2^p, and as a presence of both features: (F, E, O, N) by (F, E, O, N).
_TURNED = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float64)
_PRESENT = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1]], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class JointWeights:
    """What is released of d features, each coordinate in units of its noise.

    Attributes
    ----------
    d : int
        How many features there are.
    counts : mapping
        κ by features: ``()`` all records of the cell, ``(i,)`` those where i is present, ``(i, j)`` where both are.
    sums : mapping
        ``(i,)`` a_i, ``(i, i)`` ω_ii, ``(i, j)`` ω_ij with i < j.
    blocks : mapping
        The weight of each partition block, by its features and their degrees.
    missing : frozenset of int
        The features that may be missing for some records only.
    centres : mapping
        The largest |f² − o_i| of features whose square is released less a constant o_i; 1 where none is subtracted.

    Examples
    --------
    Two features: their sums cost 2√2 under Gaussian noise, with all second moments or without.

    >>> sums = {(0,): 1.0, (1,): 1.0}
    >>> squares = {(0, 0): 1.0, (1, 1): 1.0, (0, 1): 1.0}
    >>> JointWeights(2, {}, sums).same(2), JointWeights(2, {}, sums | squares).same(2)
    (8.0, 8.0)
    """

    d: int
    counts: Mapping[Of, float]
    sums: Mapping[Of, float]
    blocks: Mapping[tuple[Of, Of], float] = field(default_factory=dict)
    missing: frozenset[int] = frozenset()
    centres: Mapping[int, float] = field(default_factory=dict)

    def cost(self, relation: Relation, power: Literal[1, 2], *, presence: Presence, cells: int) -> float:
        """Return an upper bound on Σ |movement|^power over all neighbours.

        Where presence is public every record is known to lie in its cell. Otherwise a record may also leave one cell
        for another, or for none: what it adds to either is independent, so the costs add up.
        """
        if relation is Relation.ADD_REMOVE:
            return self.one(power)
        if presence == "public":
            return self.same(power)
        return max(self.same(power), (2.0 if cells > 1 else 1.0) * self.one(power))

    def one(self, power: Literal[1, 2]) -> float:
        """Return the largest Σ |coordinate|^power that one record adds to its cell: exact at a corner of the box."""
        total = sum(k**power for k in self.counts.values()) + sum(w**power for w in self.blocks.values())
        for of, weight in self.sums.items():
            largest = self.centres.get(of[0], 1.0) if len(of) == 2 and of[0] == of[1] else 1.0
            total += (weight * largest) ** power
        return float(total)

    def same(self, power: Literal[1, 2]) -> float:
        """Return an upper bound on Σ |change of a coordinate|^power if a record is replaced by another of its cell.

        It is exact in the cases that the text at the top of this file names.
        """
        bound = self._separate(power)
        # No less is possible: all features flipped.
        flipped = 2.0**power * sum(self._sum_and_square(i, power)[0] for i in range(self.d))
        if bound > flipped * (1.0 + 1e-12) and self.states().size <= MOST_STATES:
            bound = min(bound, float(self.state_costs(power).max()))
        return bound + 2.0 * sum(weight**power for weight in self.blocks.values())

    def states(self) -> _States:
        """Return which states the features can be in."""
        return _States(tuple(4 if i in self.missing else 2 for i in range(self.d)))

    def state_costs(self, power: Literal[1, 2]) -> Floats:
        """Return the bound of each combination of states, blocks left out."""
        alone = np.zeros((self.d, 4))
        for i in range(self.d):
            alone[i] = self._alone(i, power)
        states = self.states().listed()
        total = alone[np.arange(self.d), states].sum(axis=1)
        for (i, j), (product, present) in self._pairs(power).items():
            at = states[:, i], states[:, j]
            total += 2.0**power * product * _TURNED[at] + (product + present) * _PRESENT[at]
        return np.asarray(total)

    def _alone(self, i: int, power: Literal[1, 2]) -> tuple[float, float, float, float]:
        total, square = self._sum_and_square(i, power)
        slope = total - 2.0 * square if power == 1 else _slope(total, square)
        gone = self._gone(i, power)
        return 2.0**power * total, 2.0**power * (total - slope), gone, gone

    def _sum_and_square(self, i: int, power: Literal[1, 2]) -> tuple[float, float]:
        return self.sums.get((i,), 0.0) ** power, self.sums.get((i, i), 0.0) ** power

    def _gone(self, i: int, power: Literal[1, 2]) -> float:
        """Return what feature i alone adds where it is present in one of the records only."""
        total, square = self._sum_and_square(i, power)
        return self.counts.get((i,), 0.0) ** power + total + square * self.centres.get(i, 1.0) ** power

    def _pairs(self, power: Literal[1, 2]) -> dict[Of, tuple[float, float]]:
        """Return (ω_ij^p, κ_ij^p) of the pairs that are released."""
        pairs = {of for of in (*self.sums, *self.counts) if len(of) == 2 and of[0] != of[1]}
        return {of: (self.sums.get(of, 0.0) ** power, self.counts.get(of, 0.0) ** power) for of in sorted(pairs)}

    def _separate(self, power: Literal[1, 2]) -> float:
        """Return the sum of one maximum per feature: s ≤ x_i + x_j; a pair with a missing feature counts with it."""
        turned, present = np.zeros(self.d), np.zeros(self.d)
        for of, (product, both) in self._pairs(power).items():
            turned[list(of)] += product
            present[list(of)] += product + both
        total = 0.0
        for i in range(self.d):
            largest = 2.0**power * _largest(*self._sum_and_square(i, power), float(turned[i]), power)
            total += max(largest, self._gone(i, power) + float(present[i])) if i in self.missing else largest
        return total


@dataclass(frozen=True, slots=True)
class _States:
    """Combinations of states, 2 or 4 of each feature."""

    radices: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        size = 1
        for radix in self.radices:
            size *= radix
        return size

    def listed(self) -> NDArray[np.int64]:
        """Return the states of each combination, (combinations, features)."""
        if not self.radices:
            return np.zeros((1, 0), dtype=np.int64)
        return np.stack([axis.ravel() for axis in np.indices(self.radices)], axis=1).astype(np.int64)


def _slope(total: float, square: float) -> float:
    """Return the least value of a²(2 − x) − 4ω² x(1 − x)² over [0, 1]: h(x) ≤ a² − λx holds for this λ."""
    return _least([-4.0 * square, 8.0 * square, -4.0 * square - total, 2.0 * total])


def _largest(total: float, square: float, turned: float, power: Literal[1, 2]) -> float:
    """Return the largest h(x) + Bx over [0, 1]."""
    if power == 1:
        return -_least([2.0 * square, total - 2.0 * square - turned, -total])
    # (1 − x)²(a² + 4ω²x²) + Bx
    return -_least([-4.0 * square, 8.0 * square, -total - 4.0 * square, 2.0 * total - turned, -total])


def _least(coefficients: list[float]) -> float:
    """Return the least value over [0, 1] of a polynomial, highest power first."""
    roots = np.roots(np.polyder(coefficients))
    at = np.concatenate([[0.0, 1.0], np.clip(roots.real, 0.0, 1.0)])
    return float(np.polyval(coefficients, at).min())
