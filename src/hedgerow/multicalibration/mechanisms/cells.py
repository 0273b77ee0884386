"""Residual sums by group and bucket: counted exactly, and turned into shifts after they were released with noise.

For each cell R = Σ (y − p) is the residual sum and N the count. `exact_cells` is private; all else here reads released
numbers and public facts, so it is post-processing.

A cell is shifted where its residual sum exceeds its noise by enough. Groups that join fewer classes come first. A group
of more classes then looks at what its wider groups have left of it, R − N·(sum of their shifts), which is known exactly
because all its records lie in them. A cell is shifted where this remainder L exceeds z standard deviations, by
(L/N)·(1 − sd²/L²), where sd counts privacy noise and the binomial noise of labels (private_multicalibration.md:
positive-part shrinkage), but not beyond what the count supports (`doubtful`). Groups that join the same number of
classes of different attributes overlap: each is shifted by its share, 1/(the number of them that a record can be in).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.family import Family, group_classes, spread_to_patterns, sum_by_group
from hedgerow.multicalibration.model.model import Patch
from hedgerow.multicalibration.model.records import STEPS, Records, bucket_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
FEATURES = ("residual", "count")
UNRELEASED = 1e30
_RATE = 0.005  # the label rate of a bucket is taken to be at least this far from 0 and 1 when its noise is judged


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Released sums by group and bucket: R in scores, N, and the variances of their noise, all (groups, buckets).

    A residual variance of `UNRELEASED` says that a cell was not released; it is never shifted.
    """

    residual: Floats
    count: Floats
    residual_variance: Floats
    count_variance: Floats


def exact_cells(records: Records, score: Integers, n_buckets: int) -> Integers:
    """Return R in grid steps and N of every group and bucket at these scores: (groups, 2·buckets). PRIVATE."""
    key = records.pattern * n_buckets + bucket_of(score, n_buckets)
    gap = records.label * STEPS - score
    cells = len(records.patterns) * n_buckets
    # Sums in doubles are exact here: whole numbers below 2^53.
    sums = [np.bincount(key, weights=part, minlength=cells) for part in (records.count * gap, records.count)]
    table = np.concatenate([part.astype(np.int64).reshape(-1, n_buckets) for part in sums], axis=1)
    return sum_by_group(records.family, records.patterns, table)


def shifts_of(family: Family, cells: NoisyCells, *, z: float, least: float = 0.0) -> Floats:
    """Return the shift of each cell, (groups, buckets), in scores; 0 where its residual is within its noise.

    `least` is the least mean residual of a cell that is shifted.
    """
    k = cells.residual.shape[1]
    middle = (np.arange(k) + 0.5) / k
    own = group_classes(family)
    joined = np.array([len(group) for group in family.groups])
    shift = np.zeros_like(cells.residual)
    for level in range(int(joined.max()) + 1):
        at = joined == level
        wider = spread_to_patterns(family, own[at], shift)
        left = cells.residual[at] - cells.count[at] * wider
        noise = cells.residual_variance[at] + wider**2 * cells.count_variance[at]
        step = shrunk_step(left, cells.count[at], noise, cells.count_variance[at], middle + wider, z=z)
        step = np.where(np.abs(left) >= least * cells.count[at], step, 0.0)
        shift[at] = step / math.comb(len(family.attributes), level)
    return shift


def shrunk_step(
    residual: Floats, count: Floats, residual_variance: Floats, count_variance: Floats, rate: Floats, *, z: float
) -> Floats:
    """Return by how much cells of residual sum R and count N are shifted, from −1 to 1.

    No mean score is moved beyond what N supports: it stays at `doubtful` records or more from 0 and from N.

    >>> one = np.ones(1)
    >>> shrunk_step(100.0 * one, 1000.0 * one, 100.0 * one, 0.0 * one, 0.5 * one, z=2.0).round(4).tolist()
    [0.0965]
    """
    # Where N itself is within its noise, R/N could be anything: |R| ≤ N, so such a cell holds little and stays.
    held = count > np.maximum(z * np.sqrt(count_variance), 1.0)
    known = np.maximum(count, 1.0)
    likely = np.clip(rate, _RATE, 1.0 - _RATE)
    variance = residual_variance + known * likely * (1.0 - likely)
    square = np.maximum(residual**2, 1e-100)
    strength = np.where(held & (square > z**2 * variance), 1.0 - variance / square, 0.0)
    aim = rate + residual / known * np.clip(strength, 0.0, 1.0)
    doubt = np.minimum(doubtful(np.sqrt(residual_variance)) / known, 0.5)
    return np.asarray(np.clip(aim, np.minimum(rate, doubt), np.maximum(rate, 1.0 - doubt)) - rate)


def doubtful(noise_sd: Floats) -> Floats:
    """Return how many records of one label a cell may hold where its noisy count shows none: ½ + √(2/π) sd.

    With a flat prior on [0, ∞) and normal noise that shows 0, the posterior mean of a number is √(2/π) sd. Krichevsky
    and Trofimov's ½ is for the next record: k ones of N records predict a rate of (k + ½)/(N + 1).

    >>> doubtful(np.array([0.0, 10.0])).round(2).tolist()
    [0.5, 8.48]
    """
    return np.asarray(0.5 + math.sqrt(2.0 / math.pi) * noise_sd, dtype=np.float64)


def patch_of(shift: Floats) -> Patch:
    """Return one round of the model from shifts in scores: the cells whose shift is at least half a grid step."""
    steps = np.rint(shift * STEPS)
    cells = np.argwhere(steps != 0).astype(np.int64)
    return Patch(cells, steps[tuple(cells.T)].astype(np.int64))
