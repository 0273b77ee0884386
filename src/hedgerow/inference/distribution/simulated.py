r"""Curves as they might have been released, and the bands that hold all of a distribution function at once.

A curve is drawn as the released one plus a Brownian bridge of n records plus noise of the tree that was released, read
by the same least squares. Nothing but public numbers goes in, so it costs nothing; the seed is fixed, so that whoever
reads the record finds the same errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.distribution.distribution import Distribution

Floats = NDArray[np.float64]
_DRAWS = 600
_NODES = 512
_SEED = 20_261_122
_TAIL_RECORDS = 5.0  # a band is as wide beyond as where so many records are expected


@dataclass(frozen=True, slots=True)
class Band:
    """P(low_i ≤ F(x) ≤ high_j for all x) ≥ level: e_i the last of `edges` at or below x, e_j the first at or above."""

    edges: Floats
    low: Floats
    high: Floats
    level: float


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves as they might have been released, at some edges: shares minus the true ones.

    Attributes
    ----------
    places : int array
        Which edges of the distribution.
    sampling, noise : float array, (draws, edges)
        The two parts of the error.
    """

    places: NDArray[np.int64]
    sampling: Floats
    noise: Floats


@lru_cache(maxsize=4)
def simulated(distribution: Distribution) -> Curves:
    """Return `_DRAWS` errors of the curve of a distribution."""
    rng = np.random.default_rng(_SEED)
    tree = distribution.tree.coarser(_NODES)
    span = math.prod(distribution.tree.branching[len(tree.branching) :])
    places = np.append(np.arange(tree.leaves) * span, distribution.tree.leaves)
    curve, records = distribution.curve[places], max(distribution.records, 1.0)
    levels = [rng.normal(0.0, np.sqrt(one), (_DRAWS, len(one))) for one in tree.variances]
    top = None if tree.root is None else rng.normal(0.0, np.sqrt(tree.root), _DRAWS)
    leaves, root = tree.fitted(levels, top)
    left = np.concatenate([np.zeros((_DRAWS, 1)), np.cumsum(leaves, axis=1)], axis=1)
    noise = (left - curve * root[:, None]) / records
    if distribution.census:
        return Curves(places, np.zeros_like(noise), noise)
    steps = rng.normal(0.0, 1.0, leaves.shape) * np.sqrt(np.diff(curve))
    walk = np.concatenate([np.zeros((_DRAWS, 1)), np.cumsum(steps, axis=1)], axis=1)
    return Curves(places, (walk - curve * walk[:, -1:]) / np.sqrt(records), noise)


def band(distribution: Distribution, level: float = 0.95) -> Band:
    """Return a band that holds the whole distribution function with this chance: of every edge ± c·(its own sd)."""
    drawn = simulated(distribution)
    curve, records = distribution.curve[drawn.places], max(distribution.records, 1.0)
    edge = min(0.5, _TAIL_RECORDS / records)
    kept = np.clip(curve, edge, 1.0 - edge)
    sampling = 0.0 if distribution.census else kept * (1.0 - kept) / records
    alpha, rest = (one[drawn.places] for one in distribution.tree.prefixes)
    noise = rest + (alpha - curve) ** 2 * distribution.tree.root_variance
    sd = np.sqrt(sampling + noise / records**2)
    inner = slice(1, -1)
    largest = (np.abs(drawn.sampling + drawn.noise)[:, inner] / np.maximum(sd[inner], 1e-300)).max(axis=1)
    reach = float(np.quantile(largest, level, method="higher")) * sd + 0.5 / records
    raw = distribution.left[drawn.places] / records
    low = np.clip(np.maximum.accumulate(raw - reach), 0.0, 1.0)
    high = np.clip(np.minimum.accumulate((raw + reach)[::-1])[::-1], 0.0, 1.0)
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return Band(distribution.edges[drawn.places], low, high, level)
