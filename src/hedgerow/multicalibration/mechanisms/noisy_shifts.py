"""From noisy residual sums to shifts: move what stands out of the noise, coarse groups first, by as much as is known.

Post-processing: it reads released numbers and public facts alone.

For each cell R is the residual sum, N the count, each with noise of known variance. Groups that join fewer classes come
first; a group then looks at what its wider groups have left of it, R − N·(sum of their shifts), which is known exactly
because all its records lie in them. A cell moves where that remainder L exceeds z standard deviations, by
(L/N)·(1 − sd²/L²), with the sd of privacy noise and of binomial labels together (private_multicalibration.md:
positive-part shrinkage). Groups that join the same number of classes of different attributes overlap: each moves by its
share, 1/(how many of them a record can be in).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.multicalibration.groups.family import Family, group_classes, spread_to_patterns
from hedgerow.multicalibration.model.model import Patch

Floats = NDArray[np.float64]
UNRELEASED = 1e30
_RATE = 0.005  # a bucket's label rate is taken to be at least this far from 0 and 1 when its binomial noise is judged


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Released sums by group and bucket: R in scores, N, and the variances of their noise, all (groups, buckets).

    A residual variance of `UNRELEASED` says that a cell was not released; it never moves.
    """

    residual: Floats
    count: Floats
    residual_variance: Floats
    count_variance: Floats


def shifts_of(family: Family, cells: NoisyCells, *, z: float) -> Floats:
    """Return the shift of each cell, (groups, buckets), in scores; 0 where nothing stands out."""
    k = cells.residual.shape[1]
    middle = (np.arange(k) + 0.5) / k
    own = group_classes(family)
    joined = np.array([len(group.pairs) for group in family.groups])
    shift = np.zeros_like(cells.residual)
    for level in range(int(joined.max()) + 1):
        at = joined == level
        wider = spread_to_patterns(family, own[at], shift)
        left = cells.residual[at] - cells.count[at] * wider
        noise = cells.residual_variance[at] + wider**2 * cells.count_variance[at]
        step = shrunk_step(left, cells.count[at], noise, cells.count_variance[at], middle + wider, z=z)
        shift[at] = step / math.comb(len(family.attributes), level)
    return shift


def shrunk_step(
    residual: Floats, count: Floats, residual_variance: Floats, count_variance: Floats, rate: Floats, *, z: float
) -> Floats:
    """Return how far cells of residual sum R and count N should move, from −1 to 1.

    >>> one = np.ones(1)
    >>> shrunk_step(100.0 * one, 1000.0 * one, 100.0 * one, 0.0 * one, 0.5 * one, z=2.0).round(4).tolist()
    [0.0965]
    """
    # Where N itself is lost in noise, R/N could be anything: |R| ≤ N, so such a cell holds little and stays.
    held = count > np.maximum(z * np.sqrt(count_variance), 1.0)
    known = np.maximum(count, 1.0)
    likely = np.clip(rate, _RATE, 1.0 - _RATE)
    variance = residual_variance + known * likely * (1.0 - likely)
    square = np.maximum(residual**2, 1e-100)
    strength = np.where(held & (square > z**2 * variance), 1.0 - variance / square, 0.0)
    return np.asarray(residual / np.maximum(known, np.abs(residual)) * np.clip(strength, 0.0, 1.0))


def patch_of(steps: Floats) -> Patch:
    """Return one round of the model from shifts in grid steps, whole numbers: the cells whose shift is not 0."""
    cells = np.argwhere(steps != 0).astype(np.int64)
    return Patch(cells, steps[tuple(cells.T)].astype(np.int64))
