"""Calibrates scores by a released count table without harm to scores that were right: all of it is post-processing.

What is corrected must be in the table beyond chance, and what was corrected must pay. The noise of the table is known,
so no part of the records has to be held back for this, and it costs nothing.

**Cells.** Groups that join the same attributes are disjoint: a block. Its scores are divided into 1, 2, 4, 8 ranges of
score bins, into the k buckets of the current score, and into score bins. With noisy counts n₁, n₀ of noise sd s,
N = n₀ + n₁, current score c and R = Σ (n₁ − N c), over the pairs (atom, bin) of a cell,

    var R = s² Σ ((1 − c)² + c²) + N⁺ mean of c (1 − c)               privacy noise, and binomial noise of labels

**Who is seen.** A bin whose total over m counts is at most 3 s√m + 1.5 s/√2 holds nobody as far as can be seen: noise
alone fills one of 40 empty bins in 5 % of fits. So does a class by its total over the bins that are left. Such pairs
are left out of all sums, which would only collect their noise, and they keep their scores: a cell's counts say nothing
of people who are not in them.

**What is shifted.** z = (|R| − 1.5 s/√2)/√var R, because discrete Laplace noise has longer tails than a normal law.
Benjamini and Hochberg's rule at level .003, for the cells of each block and division, keeps false shifts rare: one
significant cell alone needs much evidence, many together need less, so poor scores are corrected thoroughly and right
ones stay. A cell is shifted on the logit scale until its residual sum has fallen by R (1 − var R / R²), but not
beyond what its counts support: with m = ½ + √(2/π) s √pairs (`cells.doubtful`), the number of ones that a noisy count
of 0 stands for, the mean score of a cell is moved to no value outside [m/N, 1 − m/N].

**What is kept.** In the end every group of at most one attribute must gain: with d₁ = log(c/c₀) and d₀ = log((1 − c) /
(1 − c₀)) the gain in log likelihood is G = Σ (n₁ d₁ + n₀ d₀), linear in the counts, so its noise is known. Where G is
below 2 sd, the group gets its original scores c₀ back: the base model is always a candidate, for each group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.mechanisms.cells import doubtful
from hedgerow.multicalibration.model.records import HIGH, LOW, score_bucket

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SWEEPS = 4
RANGES = (1, 2, 4, 8)
HELD = 3.0  # sd of its noise that a count exceeds where somebody is there
TAIL = 1.5 / np.sqrt(2.0)  # in sd: what the tails of discrete Laplace noise add to those of a normal law
_LOGIT = (float(np.log(LOW / HIGH)), float(np.log(HIGH / LOW)))
_STEPS = 12


@dataclass(frozen=True, slots=True)
class NoisyCounts:
    """Released counts of labels 1 and 0, (atoms, bins), and the sd of their noise."""

    ones: Floats
    zeros: Floats
    sd: float

    @property
    def all(self) -> Floats:
        """Records of either label."""
        return self.ones + self.zeros


@dataclass(frozen=True, slots=True)
class Rule:
    """How much evidence a shift needs.

    Attributes
    ----------
    z : float
        The least number of sd that a residual sum exceeds.
    level : float
        Benjamini and Hochberg's level in each block and division.
    gain : float
        The least gain of a group, in sd of its noise.
    least : float
        The least mean residual of a cell that is shifted: half the target α, 0 without one.
    """

    z: float
    level: float
    gain: float
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class _Block:
    """The rows of atoms that are in a group of one block, and which group: disjoint groups."""

    atoms: Integers
    group: Integers
    groups: int
    attributes: int


def calibrated(
    counts: NoisyCounts, original: Floats, family: Family, n_buckets: int, rule: Rule, enough: Callable[[Floats], bool]
) -> Floats:
    """Return the calibrated score of each (atom, bin); `enough` says from scores whether a target is reached."""
    blocks = list(_blocks(family))
    seen = inhabited(counts, family)
    logit = np.log(original / (1.0 - original))
    score = original.copy()
    for _ in range(SWEEPS):
        if enough(score):
            break
        moved = False
        for block in blocks:
            rows = block.atoms
            for cell, cells in _divisions(score[rows], n_buckets):
                flat = (block.group[:, None] * cells + cell).ravel()
                step = _steps(_rows(counts, rows), seen[rows], logit[rows], flat, block.groups * cells, rule)
                if np.abs(step).max(initial=0.0) > 1e-3:
                    moved = True
                    logit[rows] = np.clip(logit[rows] + step[flat].reshape(cell.shape) * seen[rows], *_LOGIT)
                    score[rows] = 1.0 / (1.0 + np.exp(-logit[rows]))
        if not moved:
            break
    return _without_losers(counts, original, score, blocks, rule.gain)


def inhabited(counts: NoisyCounts, family: Family) -> NDArray[np.bool_]:
    """Return which (atom, bin) may hold somebody: its bin and each of its classes have totals beyond their noise.

    Totals over many cells decide, to which the noise of one cell adds little, so this selects hardly any noise.
    """
    n = counts.all
    bins = n.sum(axis=0) > _most_noise(counts, n.shape[0])
    by_atom, classes = n[:, bins].sum(axis=1), family.atom_classes()
    atoms = np.ones(len(n), dtype=bool)
    for attribute, levels in enumerate(family.levels):
        total = np.bincount(classes[:, attribute], by_atom, minlength=levels)
        pairs = np.bincount(classes[:, attribute], minlength=levels) * bins.sum()
        atoms &= (total > _most_noise(counts, pairs))[classes[:, attribute]]
    return np.asarray(atoms[:, None] & bins)


def _most_noise(counts: NoisyCounts, pairs: Floats | Integers | int) -> Floats:
    """Return what the total of so many pairs, of two counts each, exceeds where somebody is there."""
    return np.asarray(counts.sd * (HELD * np.sqrt(2.0 * pairs) + TAIL))


def _blocks(family: Family) -> Iterator[_Block]:
    classes = family.atom_classes()
    for block in family.blocks:
        group = block.group_of(classes) - block.start
        atoms = np.flatnonzero(group >= 0)
        yield _Block(atoms, group[atoms], block.size, len(block.attributes))


def _divisions(score: Floats, n_buckets: int) -> Iterator[tuple[Integers, int]]:
    """Yield the cell of each (atom, bin) within its group, and their number: ranges of bins, buckets, bins."""
    bins = score.shape[1]
    each = np.broadcast_to(np.arange(bins), score.shape)
    for ranges in RANGES:
        if ranges < bins:
            yield each * ranges // bins, ranges
    yield score_bucket(score, n_buckets), n_buckets
    yield each, bins


def _rows(counts: NoisyCounts, rows: Integers) -> NoisyCounts:
    return NoisyCounts(counts.ones[rows], counts.zeros[rows], counts.sd)


def _steps(
    counts: NoisyCounts, seen: NDArray[np.bool_], logit: Floats, cell: Integers, cells: int, rule: Rule
) -> Floats:
    """Return by how much the logit of each cell is shifted; 0 where its residual is within its noise."""

    def summed(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, (values * seen).ravel(), minlength=cells), dtype=np.float64)

    c = 1.0 / (1.0 + np.exp(-logit))
    n, held = counts.all, np.maximum(counts.all, 0.0)
    size, weight = summed(n), summed(held)
    residual = summed(counts.ones - n * c)
    binomial = np.maximum(size, 0.0) * summed(held * c * (1.0 - c)) / np.maximum(weight, 1e-9)
    variance = counts.sd**2 * summed((1.0 - c) ** 2 + c**2) + binomial
    # Where N itself is within its noise, R/N could be anything: such a cell holds few records, and stays.
    pairs = summed(np.ones_like(c))
    there = size > np.maximum(_most_noise(counts, pairs), 1.0)
    z = np.maximum(np.abs(residual) - TAIL * counts.sd, 0.0) / np.sqrt(np.maximum(variance, 1e-9))
    moves = there & (z > rule.z) & (np.abs(residual) >= rule.least * size) & _discoveries(z, there, rule.level)
    if not moves.any():
        return np.zeros(cells)
    share = (np.maximum(size, 1e-9) / np.maximum(weight, 1e-9))[cell].reshape(c.shape)
    wanted = np.where(moves, residual * np.maximum(0.0, 1.0 - variance / np.maximum(residual**2, 1e-9)), 0.0)
    people, doubt = (held * share * seen).ravel(), doubtful(counts.sd * np.sqrt(pairs))
    return np.where(moves, _solved(logit.ravel(), people, cell, wanted, doubt), 0.0)


def _discoveries(z: Floats, there: NDArray[np.bool_], level: float) -> NDArray[np.bool_]:
    """Return which cells pass Benjamini and Hochberg's rule; cells that hold too few count as tests too."""
    from hedgerow.special import ndtr

    p = np.where(there, 2.0 * ndtr(-z), 1.0)
    rising = np.sort(p)
    below = np.flatnonzero(rising <= level * np.arange(1, len(p) + 1) / len(p))
    return np.asarray(p <= rising[below[-1]] if len(below) else np.zeros(len(p), dtype=bool))


def _solved(logit: Floats, weight: Floats, cell: Integers, wanted: Floats, doubt: Floats) -> Floats:
    """Return t of each cell such that Σ weight · (σ(logit + t) − σ(logit)) is as wanted, by safeguarded Newton.

    Σ weight · σ(logit + t) is moved to no value nearer than `doubt` to 0 or to Σ weight.
    """
    cells = len(wanted)
    start = np.bincount(cell, weight / (1.0 + np.exp(-logit)), minlength=cells)
    room = np.bincount(cell, weight, minlength=cells)
    least = np.minimum(doubt, room / 2.0)
    aim = np.clip(start + wanted, np.minimum(start, least), np.maximum(start, room - least))
    t, low, high = np.zeros(cells), np.full(cells, 2.0 * _LOGIT[0]), np.full(cells, 2.0 * _LOGIT[1])
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-(logit + t[cell])))
        over = np.bincount(cell, weight * p, minlength=cells) - aim
        slope = np.bincount(cell, weight * p * (1.0 - p), minlength=cells)
        low, high = np.where(over < 0.0, t, low), np.where(over > 0.0, t, high)
        newton = t - over / np.maximum(slope, 1e-12)
        # The ends are allowed: where t has converged, it is one of them, and is not to be left for the middle.
        t = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2.0)
    return t


def _without_losers(
    counts: NoisyCounts,
    original: Floats,
    score: Floats,
    blocks: list[_Block],
    gain: float,
) -> Floats:
    """Return the scores, and the original ones in groups of at most one attribute that the table shows no gain for.

    Twice, because a group that got its scores back takes its part of the gain from the groups that it overlaps.
    """
    kept = score.copy()
    for block in [block for block in blocks if block.attributes <= 1] * 2:
        one, zero = np.log(kept / original), np.log((1.0 - kept) / (1.0 - original))
        gained = counts.ones * one + counts.zeros * zero
        spread = counts.sd**2 * (one**2 + zero**2)
        spread += np.maximum(counts.all, 0.0) * kept * (1.0 - kept) * (one - zero) ** 2
        by_group = [
            np.bincount(block.group, v.sum(axis=1)[block.atoms], minlength=block.groups) for v in (gained, spread)
        ]
        loses = by_group[0] < gain * np.sqrt(by_group[1])
        back = block.atoms[loses[block.group]]
        kept[back] = original[back]
    return kept
