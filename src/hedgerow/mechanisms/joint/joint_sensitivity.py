"""How far one record moves the joint moments of several features, in units of the noise: exact, or an upper bound.

A record has features f_1..f_d in [−1, 1]. In units of its noise a release weighs its sum Σ f_i with a_i, a product
Σ f_i f_j (i ≤ j) with ω_ij, and a count of the records of the cell where all of some features are present with κ. A sum
or product may be restricted to the records where further features are present too. A coordinate's columns are all these
features; it is 0 for a record that misses one of them. The price follows from Σ |movement of a coordinate|^p over the
worst neighbours, p = 1 for Laplace and p = 2 for Gaussian noise.

Same cell (theory: joint moments)
---------------------------------
Let O be the features that one of two records has and the other has not. A coordinate with a column in O is 0 for one
record or for both, so it moves by at most its largest size: κ, a, ω_ij, or ω_ii·c with c the largest |f² − o|. A count
without such a column does not move. Let A_i, Ω_i and W_ij be the sums of a^p, ω_ii^p and ω_ij^p over the other
coordinates. If neither record has a feature, none of its coordinates moves. If both have it, with values f, g, let
x = 1 − |f − g|/2 ∈ [0, 1], so |f + g|/2 ≤ x. Then

* sums and squares of feature i move by at most 2^p·h(x), h(x) = A (1 − x)^p + Ω (2x(1 − x))^p, as f² − g² = (f−g)(f+g);
* products of two such features move by at most 2^p W_ij s^p, s = x_i + x_j − 2 x_i x_j ∈ [0, 1], s^p ≤ s.

With the largest λ for which h(x) ≤ A − λx on [0, 1] the bound is linear in each x_i, so it is largest at corners
x ∈ {0, 1}^d: each feature flipped (F, x = 0) or equal (E, x = 1). So the cost is at most the maximum over states
{F, E, O}^d of

    Σ_{columns meet O} size^p + 2^p [Σ_F A_i + Σ_E (A_i − λ_i) + Σ_{F×E} W_ij].

λ = A exactly when Ω ≤ A (p = 2) or Ω = 0 (p = 1); then corners of the data attain the maximum, with O all missing from
the same record, and it is exact. In general λ = A − 2Ω for p = 1; for p = 2 it is the least value of
A(2 − x) − 4Ω x(1 − x)². With λ_i ≥ Σ_j W_ij for every i the maximum over F and E is 2^p Σ A_i: all second moments are
free. Where there are too many states, s ≤ x_i + x_j splits the bound, for each O, into one maximum per feature,

    Σ_{columns meet O} size^p + 2^p Σ_i max_x [h_i(x) + x Σ_j W_ij];

the lesser of the two bounds is taken where both are known. Where there are too many sets O as well, every feature pays
for all coordinates of which it is a column when it is in O. Only a restricted sum of another feature i it need not pay:
where that sum is restricted, i pays 2^p − (2^p − 1)x_i times its a^p, which is at least 2^p(1 − x_i)^p and at least 1.

Partition blocks
----------------
A block's coordinates are products of the Bernstein polynomials of its features (and of "missing"): non-negative, of sum
1 for every record. With weight w one record adds at most w^p, and two records differ by at most 2w^p, attained.

How far one unit of several rows moves joint moments, in units of the noise: exact, or an upper bound.

A unit has at most L rows, in as many cells as it likes. What it adds to a cell are its totals there divided by L: the
number of its rows r = f_0 ∈ [0, 1] and totals |f_i| ≤ f_0 of columns, with the f_0 of all cells at most 1 together.
Released are sums over units of f_0 (weight κ), f_i (a_i), f_0² (ω_00), f_0 f_i (ω_0i) and f_i f_j (ω_ij). With f = s·y,
|y_i| ≤ 1, a cell moves by (s·u, s²·v): u = (κ, a_i y_i) and v = (ω_00, ω_0i y_i, ω_ij y_i y_j).

**One unit.** s^p and s^2p are convex, so Σ_c over cells is largest where all rows lie in one: ‖φ‖^p, the sum of all
weights^p.

**A unit for another, p = 2.** In one cell, as a function of s, with the other unit as it is,

    ‖s u − s' u'‖² + ‖s² v − s'² v'‖²  has the second derivative  2‖u‖² + 12 s²‖v‖² − 4 s'² v·v' ≥ 2‖u‖² − 4 v·v'.

Where ‖u‖² ≥ 2 v·v' for all y, y' the sum over cells is convex in the s of one unit, so largest where all its rows lie
in one cell, or none does; then likewise for the other unit. What is left are two units of L rows in one cell, which
move as two records with the weights √(a_i² + ω_0i²) and ω_ij do (`weights`), two units in different cells, 2‖φ‖², and
one unit alone, ‖φ‖². Now v·v' ≤ ω_00² + Σ ω_0i²|y_i| + Σ b_i² y_i² with b_i² = ω_ii² + ½Σ_j ω_ij², so

    κ² ≥ 2ω_00² + Σ_i max_{0 ≤ t ≤ 1} [2ω_0i² t + (2b_i² − a_i²)t²]

is enough. Where κ is less, one more number is imagined beside the others that makes up for it: what is released moves
no more than with it.

**p = 1.** In different cells two units move 2‖φ‖, and none can move more. In one cell only, dividing both units by the
larger s makes no movement less, so s' = 1. With |s²b − c| ≤ (1 − s²)|c| + s²|b − c|, Q the sum of all ω and S the bound
for two units of L rows,

    movement ≤ ‖φ‖ + s(Σ a_i − κ) + s²(S − 2Σ a_i − Q),

since what products move there is at most S less what sums do. The largest of it on [0, 1] is the price.

**Products between cells.** A unit may have rows in several cells. Released are then, for two cells c ≠ c', sums over
units of f_i in c times f_j in c' too: a pair of cells moves by s_c s_c' w with w = (χ_ij y_i y'_j), and X = Σ |χ_ij|^p.
They cost nothing as long as X is small, since of a unit with all rows in one cell they are 0:

* One unit, X ≤ 2V with V the sum of all |ω|^p: with t_c = s_c^p the cost is at most UΣt + VΣt² + XΣ_{c<c'} t_c t_c' ≤
  UΣt + V(Σt)² ≤ U + V, U the sum of all |κ|^p and |a_i|^p. For p = 1 a unit for another costs no more than both.
* p = 2, X ≤ (3/2)κ² with κ² as large as is needed above. Along e_c − e_c' half of the second derivative of the cost is
  ‖u_c‖² + ‖u_c'‖² + 6s_c²‖v_c‖² + 6s_c'²‖v_c'‖² + (s_c² − 4s_c s_c' + s_c'²)‖w‖² and what the products that do not
  cross add, less twice the product of P(s'), all products of the other unit, and P(e_c − e_c') = (v_c, v_c', −w). With
  α, β the other unit's s in both cells that is at least 2κ² − (α² + β²)κ² − (2αβ + ½)X ≥ (1 + 2αβ)κ² − (½ + 2αβ)X,
  which is not negative as αβ ≤ ¼. Along e_c it is as above. So the cost is largest where each unit has all rows in one
  cell, or none.

Otherwise what they move is added: Σ_{c<c'} s_c s_c' ≤ ½ and Σ_{c<c'} (s_c s_c')² ≤ ⅛ for one unit, for two units twice
and four times as much.

How far one record whose features lie in a ball moves joint moments, under Gaussian noise: exact for even weights.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.relation import Relation

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Of = tuple[int, ...]
ByTwo = Mapping[tuple[Of, Of], float]
Presence = Literal["public", "private"]
MOST_STATES = 2**14
_MOST_LOST = 12  # features that may be missing, of which every set is then looked at


@dataclass(frozen=True, slots=True, eq=False)
class JointWeights:
    """What is released of d features, each coordinate in units of its noise.

    Attributes
    ----------
    d : int
        How many features there are.
    counts : mapping
        κ by features: ``()`` all records of the cell, ``(i,)`` those where i is present, ``(i, j)`` where both are …
    sums : mapping
        ``(i,)`` a_i, ``(i, i)`` ω_ii, ``(i, j)`` ω_ij with i < j.
    blocks : mapping
        The weight of each partition block, by its features and their degrees.
    missing : frozenset of int
        The features that may be missing for some records only.
    centres : mapping
        By feature i and the further features of a restricted square, (i, present): the largest |f² − o| where a
        constant o is subtracted from the square; 1 where none is.
    restricted : mapping
        The weights of sums over the records where further features are present too, by (of, present), ``of`` as in
        `sums`.
    across : mapping
        χ_ij, by ((i, j), lag), of products of a unit's total of feature i in a cell and of j in the cell `lag` further.

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
    blocks: ByTwo = field(default_factory=dict)
    missing: frozenset[int] = frozenset()
    centres: Mapping[tuple[int, Of], float] = field(default_factory=dict)
    restricted: ByTwo = field(default_factory=dict)
    across: Mapping[tuple[Of, int], float] = field(default_factory=dict)

    def cost(self, relation: Relation, power: Literal[1, 2], *, presence: Presence, cells: int) -> float:
        """Return an upper bound on Σ |movement|^power over all neighbours.

        Where presence is public every record is known to lie in its cell. Otherwise a record may also leave one cell
        for another, or for none: what it adds to either is independent, so the costs add up.
        """
        if relation is Relation.ADD_REMOVE:
            return self.alone(power)
        if presence == "public":
            return self.same(power)
        return max(self.same(power), (2.0 if cells > 1 else 1.0) * self.alone(power))

    def alone(self, power: Literal[1, 2]) -> float:
        """Return the largest Σ |coordinate|^power that one record adds to its cell: exact at a corner of the box."""
        return float(sum(self._sizes(power)[1].tolist()) + sum(w**power for w in self.blocks.values()))

    def same(self, power: Literal[1, 2]) -> float:
        """Return an upper bound on Σ |change of a coordinate|^power if a record is replaced by another of its cell.

        It is exact in the cases that the text at the top of this file names.
        """
        if len(self.missing) > _MOST_LOST:
            bound = self._separate(power)
        else:
            bound, least = (float(of.max()) for of in self._by_lost(power))
            # No less than `least` is possible: where that is reached, no state needs to be looked at.
            if bound > least * (1.0 + 1e-12) and self.states_known():
                bound = min(bound, float(self.state_costs(power).max()))
        return bound + 2.0 * sum(weight**power for weight in self.blocks.values())

    def states_known(self) -> bool:
        """Return whether the states of all features are few enough to be looked at one by one."""
        return math.prod(self._radices()) <= MOST_STATES

    def state_costs(self, power: Literal[1, 2]) -> Floats:
        """Return the bound of each combination of states, blocks left out."""
        states = np.stack([axis.ravel() for axis in np.indices(self._radices())])
        have = sum(bit * (states[i] < 2) for i, bit in self._bits().items()) + np.zeros(states.shape[1], dtype=np.int64)
        movable = self._movable(power)
        total, equal = movable.lost[have], states == 1
        for i in range(self.d):
            sums, squares = movable.total[i][have], movable.square[i][have]
            total += 2.0**power * np.where(equal[i], sums - _slope(sums, squares, power), sums)
        for (i, j), product in movable.turned.items():
            total += 2.0**power * product[have] * (equal[i] != equal[j])
        return np.asarray(total)

    def worst(self, power: Literal[1, 2]) -> tuple[int, ...]:
        """Return a state of each feature at which the bound is largest: 0 flipped, 1 equal, 2 in one record only.

        Where the states are too many it is a guess, with all features flipped that both records have.
        """
        if self.states_known():
            place = np.unravel_index(int(self.state_costs(power).argmax()), self._radices())
            return tuple(int(state) for state in place)
        have = -1 if len(self.missing) > _MOST_LOST else int(self._by_lost(power)[0].argmax())
        bits = self._bits()
        return tuple(2 if i in bits and not have & bits[i] else 0 for i in range(self.d))

    def _by_lost(self, power: Literal[1, 2]) -> tuple[Floats, Floats]:
        """Return for each set of features that both records have the bound, and the cost if all of them flip."""
        movable = self._movable(power)
        turned = np.zeros_like(movable.total)
        for (i, j), product in movable.turned.items():
            turned[i] += product
            turned[j] += product
        each = _largest(movable.total, movable.square, turned, power)
        return movable.lost + 2.0**power * each.sum(axis=0), movable.lost + 2.0**power * movable.total.sum(axis=0)

    def _separate(self, power: Literal[1, 2]) -> float:
        """Return the sum of one maximum per feature."""
        listed, (weight, size) = self._listed(), self._sizes(power)
        lost = np.bincount(listed.column, size[listed.of_column], self.d)
        every: Floats = np.bincount(listed.apart, weight[listed.of_apart], 4 * self.d).astype(np.float64)
        total, square, turned, floor = every.reshape(4, self.d)
        both = 2.0**power * (floor + _largest(total, square, turned - (1.0 - 0.5**power) * floor, power))
        absent = np.array([i in self.missing for i in range(self.d)])
        return float(np.where(absent, np.maximum(both, lost), both).sum())

    def _movable(self, power: Literal[1, 2]) -> _Movable:
        """Return what can move by the features that both records have, for every set of them."""
        listed, (weight, size) = self._listed(), self._sizes(power)
        bits, rows = len(self.missing), 1 + 2 * self.d + len(listed.pairs)
        tables: Floats = np.bincount(listed.needed, size, rows << bits).astype(np.float64)
        tables += np.bincount(listed.at, weight[listed.of_at], rows << bits)
        for place in range(bits):
            halves = tables.reshape(-1, 2, 1 << place)
            halves[:, 1] += halves[:, 0]  # a coordinate that needs no more features than these
        tables = tables.reshape(rows, -1)
        lost, total, square, turned = np.split(tables, [1, 1 + self.d, 1 + 2 * self.d])
        return _Movable(lost[0, -1] - lost[0], total, square, dict(zip(listed.pairs, turned, strict=True)))

    def _sizes(self, power: Literal[1, 2]) -> tuple[Floats, Floats]:
        """Return the weight of each coordinate to the power p, and the largest it can be: counts, sums, restricted."""
        weights = np.array([*self.counts.values(), *self.sums.values(), *self.restricted.values()])
        size = weights.copy()
        for place, square in self._listed().squares:
            size[place] *= self.centres.get(square, 1.0)
        return weights**power, size**power

    def _listed(self) -> _Listed:
        return _listed(self.d, tuple(self.counts), tuple(self.sums), tuple(self.restricted), self.missing)

    def _bits(self) -> dict[int, int]:
        return {i: 1 << place for place, i in enumerate(sorted(self.missing))}

    def _radices(self) -> list[int]:
        return [3 if i in self.missing else 2 for i in range(self.d)]


class _Listed(NamedTuple):
    """Where coordinates are added up, whatever they weigh: counts, sums, restricted sums.

    `squares` are the places of squares, by the names of their `centres`. In flat tables by sets of features, as bits:
    each coordinate stands at `needed` of the first table, and `of_at` at `at` of the tables A, Ω and W by `pairs`.
    In tables by feature, each coordinate `of_column` in each of its columns, and `of_apart` at `apart` of A, Ω, W, and
    A of restricted sums.
    """

    squares: list[tuple[int, tuple[int, Of]]]
    pairs: list[Of]
    needed: Places
    at: Places
    of_at: Places
    column: Places
    of_column: Places
    apart: Places
    of_apart: Places


@lru_cache(maxsize=64)
def _listed(
    d: int, counts: tuple[Of, ...], sums: tuple[Of, ...], restricted: tuple[tuple[Of, Of], ...], missing: frozenset[int]
) -> _Listed:
    named: list[tuple[Of, Of]] = [*(((), of) for of in counts), *((of, ()) for of in sums), *restricted]
    columns = [tuple(sorted({*of, *present})) for of, present in named]
    few = len(missing) <= _MOST_LOST
    bits = {i: 1 << place if few else 0 for place, i in enumerate(sorted(missing))}
    needed = [sum(bits.get(i, 0) for i in each) for each in columns]
    sets = 1 << len(missing) if few else 1
    pairs: list[Of] = list(dict.fromkeys(of for of, _ in named if len(of) == 2 and of[0] != of[1]))
    row: dict[Of, int] = {of: 1 + 2 * d + place for place, of in enumerate(pairs)}
    row |= {(i,): 1 + i for i in range(d)} | {(i, i): 1 + d + i for i in range(d)}
    own = [(place, of) for place, (of, _) in enumerate(named) if of]
    apart = []
    for place, of in own:
        if len(of) == 1:
            apart.append((place, of[0] + (3 * d if len(columns[place]) > 1 else 0)))
        else:
            apart += [(place, i + (1 + (of[0] != of[1])) * d) for i in dict.fromkeys(of)]
    owners = [(i, place) for place, (of, _) in enumerate(named) for i in (of if len(of) == 1 else columns[place])]
    return _Listed(
        [(place, (of[0], present)) for place, (of, present) in enumerate(named) if len(of) == 2 and of[0] == of[1]],
        pairs,
        np.array(needed, np.intp),
        np.array([row[of] * sets + needed[place] for place, of in own], np.intp),
        np.array([place for place, _ in own], np.intp),
        np.array([i for i, _ in owners], np.intp),
        np.array([place for _, place in owners], np.intp),
        np.array([at for _, at in apart], np.intp),
        np.array([place for place, _ in apart], np.intp),
    )


@dataclass(frozen=True, slots=True)
class _Movable:
    """For every set of features that may be missing and that both records have, as bits of an index.

    `lost` is the size of the coordinates that need others; of those that do not, (features, sets): A, Ω, and W by pair.
    """

    lost: Floats
    total: Floats
    square: Floats
    turned: Mapping[Of, Floats]


def _slope(total: Floats, square: Floats, power: Literal[1, 2]) -> Floats:
    """Return the largest λ with h(x) ≤ A − λx over [0, 1]."""
    if power == 1:
        return np.asarray(total - 2.0 * square)
    # The least value of A(2 − x) − 4Ω x(1 − x)²: at 1, or where its derivative −A − 4Ω(1 − x)(1 − 3x) rises through 0.
    ratio = np.divide(total, square, out=np.full_like(total, 2.0), where=square > 0.0)
    x = (4.0 - np.sqrt(np.maximum(0.0, 4.0 - 3.0 * ratio))) / 6.0
    return np.minimum(total, total * (2.0 - x) - 4.0 * square * x * (1.0 - x) ** 2)


def _largest(total: Floats, square: Floats, turned: Floats, power: Literal[1, 2]) -> Floats:
    """Return the largest h(x) + Bx over [0, 1]: at an end, or where the derivative falls through 0."""
    some = np.where(square > 0.0, square, 1.0)
    if power == 1:
        x = 0.5 + (turned - total) / (4.0 * some)
    else:
        # With x = ½ + u the derivative is 16Ω u³ − (4Ω − 2A) u + B − A. Its middle root is u = r sin φ, where
        # r² = (2Ω − A)/6Ω and r³ sin 3φ = (B − A)/4Ω.
        r = np.sqrt(np.maximum(1e-60, (2.0 * some - total) / (6.0 * some)))
        x = 0.5 + r * np.sin(np.arcsin(np.clip((turned - total) / (4.0 * some) / r**3, -1.0, 1.0)) / 3.0)
    x = np.clip(x, 0.0, 1.0)
    inside = total * (1.0 - x) ** power + square * (2.0 * x * (1.0 - x)) ** power + turned * x
    return np.asarray(np.maximum(np.maximum(total, turned), inside))


def unit_cost(weights: JointWeights, relation: Relation, power: Literal[1, 2], *, cells: int) -> float:
    """Return an upper bound on Σ |movement|^power over neighbours that differ in one unit.

    The last of the features is the number of rows, and every feature is divided by the limit of rows. The bound does
    not depend on that limit: a unit whose rows are spread over cells moves no more than one with all rows in one cell.

    >>> weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.6, (0, 1): 0.6, (1, 1): 0.4})
    >>> [round(unit_cost(weights, relation, 2, cells=1), 2) for relation in Relation]
    [5.44, 2.88]
    """
    alone, beside = sum(weight**power for weight in weights.sums.values()), _beside(weights, relation, power, cells)
    if relation is Relation.ADD_REMOVE:
        return alone + beside
    if power == 1:
        return 2.0 * alone + beside if cells > 1 else _pure(weights, alone)
    convex = alone + max(0.0, _needed(weights) - _weight(weights, weights.d - 1) ** 2)
    return max(same_cell(weights, power), (2.0 if cells > 1 else 1.0) * convex) + beside


def _beside(weights: JointWeights, relation: Relation, power: Literal[1, 2], cells: int) -> float:
    """Return what products between cells cost beside all others: nothing where they are light."""
    by_pair: dict[int, float] = {}
    for (_, lag), weight in weights.across.items():
        # Two cells half of all cells apart have these products twice.
        apart, size = min(lag, cells - lag), weight**power * (1 + (2 * lag == cells))
        by_pair[apart] = by_pair.get(apart, 0.0) + size
    heaviest = max(by_pair.values(), default=0.0)
    if heaviest <= most_across(weights, relation, power) * (1.0 + 1e-12):
        return 0.0
    once = heaviest / (2.0 if power == 1 else 8.0)
    return once if relation is Relation.ADD_REMOVE else 2.0**power * once


def most_across(weights: JointWeights, relation: Relation, power: Literal[1, 2]) -> float:
    """Return the X up to which products between two cells cost nothing.

    >>> weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.5, (0, 1): 0.5, (1, 1): 0.5})
    >>> [most_across(weights, Relation.ADD_REMOVE, power) for power in (1, 2)]
    [3.0, 1.5]
    >>> most_across(weights, Relation.REPLACE_ONE, 2)
    1.5
    """
    if power == 2 and relation is Relation.REPLACE_ONE:
        return 1.5 * max(_weight(weights, weights.d - 1) ** 2, _needed(weights))
    return 2.0 * sum(weight**power for of, weight in weights.sums.items() if len(of) == 2)


def same_cell(weights: JointWeights, power: Literal[1, 2]) -> float:
    """Return an upper bound for two units with as many rows as may be, all in one cell."""
    last = weights.d - 1
    sums = {of: weight for of, weight in weights.sums.items() if last not in of}
    both = {
        (i,): (_weight(weights, i) ** power + _weight(weights, i, last) ** power) ** (1.0 / power) for i in range(last)
    }
    return JointWeights(last, {}, sums | both).same(power)


def _pure(weights: JointWeights, alone: float) -> float:
    """Return the largest of ‖φ‖ + c₁s + c₂s² on [0, 1]."""
    products = sum(weight for of, weight in weights.sums.items() if len(of) == 2)
    sums = sum(_weight(weights, i) for i in range(weights.d - 1))
    rising, bend = sums - _weight(weights, weights.d - 1), same_cell(weights, 1) - 2.0 * sums - products
    return alone + _largest_units(rising, bend)


def _needed(weights: JointWeights) -> float:
    """Return the κ² with which the movement of p = 2 is convex."""
    last = weights.d - 1
    needed = 2.0 * _weight(weights, last, last) ** 2
    for i in range(last):
        own = _weight(weights, i, i) ** 2 + 0.5 * sum(_weight(weights, *sorted((i, j))) ** 2 for j in _others(i, last))
        needed += _largest_units(2.0 * _weight(weights, i, last) ** 2, 2.0 * own - _weight(weights, i) ** 2)
    return needed


def _largest_units(rising: float, bend: float) -> float:
    """Return the largest of rising·t + bend·t² on [0, 1]."""
    inside = -rising / (2.0 * bend) if bend < 0.0 else 0.0
    return max(0.0, rising + bend, inside * rising / 2.0 if 0.0 < inside < 1.0 else 0.0)


def _others(i: int, last: int) -> Iterable[int]:
    return (j for j in range(last) if j != i)


def _weight(weights: JointWeights, *of: int) -> float:
    return float(weights.sums.get(of, 0.0))


def ball_cost(weights: JointWeights, relation: Relation, ball: int, *, presence: Presence, cells: int) -> float:
    """Return an upper bound on Σ movement² over neighbours whose first `ball` features lie in the unit ball.

    >>> even = {(0,): 1.0, (1,): 1.0, (0, 0): 0.5, (0, 1): 0.5**0.5, (1, 1): 0.5}
    >>> [ball_cost(JointWeights(2, {}, even), one, 2, presence="public", cells=1) for one in Relation]
    [4.0, 1.25]
    """
    a, omega, others = largest_weights(weights, ball)
    alone = sum(weight**2 for weight in weights.counts.values()) + a**2 + omega**2 + others
    if relation is Relation.ADD_REMOVE:
        return alone
    same = _same_cell(a, omega) + 4.0 * others
    return same if presence == "public" else max(same, (2.0 if cells > 1 else 1.0) * alone)


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
