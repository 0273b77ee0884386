r"""How far one unit of several rows moves joint moments, in units of the noise: exact, or an upper bound.

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
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.weights import JointWeights


def unit_cost(weights: JointWeights, relation: Relation, power: Literal[1, 2], *, cells: int) -> float:
    """Return an upper bound on Σ |movement|^power over neighbours that differ in one unit.

    The last of the features is the number of rows, and every feature is divided by the limit of rows. The bound does
    not depend on that limit: a unit whose rows are spread over cells moves no more than one with all rows in one cell.

    >>> weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.6, (0, 1): 0.6, (1, 1): 0.4})
    >>> [round(unit_cost(weights, relation, 2, cells=1), 2) for relation in Relation]
    [5.44, 2.88]
    """
    one = sum(weight**power for weight in weights.sums.values())
    if relation is Relation.ADD_REMOVE:
        return one
    if power == 1:
        return 2.0 * one if cells > 1 else _pure(weights, one)
    alone = one + max(0.0, _needed(weights) - _weight(weights, weights.d - 1) ** 2)
    return max(same_cell(weights, power), (2.0 if cells > 1 else 1.0) * alone)


def same_cell(weights: JointWeights, power: Literal[1, 2]) -> float:
    """Return an upper bound for two units with as many rows as may be, all in one cell."""
    last = weights.d - 1
    sums = {of: weight for of, weight in weights.sums.items() if last not in of}
    both = {
        (i,): (_weight(weights, i) ** power + _weight(weights, i, last) ** power) ** (1.0 / power) for i in range(last)
    }
    return JointWeights(last, {}, sums | both).same(power)


def _pure(weights: JointWeights, one: float) -> float:
    """Return the largest of ‖φ‖ + c₁s + c₂s² on [0, 1]."""
    products = sum(weight for of, weight in weights.sums.items() if len(of) == 2)
    sums = sum(_weight(weights, i) for i in range(weights.d - 1))
    rising, bend = sums - _weight(weights, weights.d - 1), same_cell(weights, 1) - 2.0 * sums - products
    return one + _largest(rising, bend)


def _needed(weights: JointWeights) -> float:
    """Return the κ² with which the movement of p = 2 is convex."""
    last = weights.d - 1
    found = 2.0 * _weight(weights, last, last) ** 2
    for i in range(last):
        own = _weight(weights, i, i) ** 2 + 0.5 * sum(_weight(weights, *sorted((i, j))) ** 2 for j in _others(i, last))
        found += _largest(2.0 * _weight(weights, i, last) ** 2, 2.0 * own - _weight(weights, i) ** 2)
    return found


def _largest(rising: float, bend: float) -> float:
    """Return the largest of rising·t + bend·t² on [0, 1]."""
    inside = -rising / (2.0 * bend) if bend < 0.0 else 0.0
    return max(0.0, rising + bend, inside * rising / 2.0 if 0.0 < inside < 1.0 else 0.0)


def _others(i: int, last: int) -> Iterable[int]:
    return (j for j in range(last) if j != i)


def _weight(weights: JointWeights, *of: int) -> float:
    return float(weights.sums.get(of, 0.0))
