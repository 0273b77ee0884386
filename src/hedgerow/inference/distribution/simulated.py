r"""What has no closed form, by simulation from the release: bands, Gini coefficients, shares of a share of the median.

A curve is drawn as the released one plus a Brownian bridge of n records plus noise of the tree that was released, read
by the same least squares. Nothing but public numbers goes in, so it costs nothing; the seed is fixed, so that whoever
reads the record finds the same errors.

The Gini coefficient is ∫F(1 − F)dx / (L + ∫(1 − F)dx). Of noisy shares F̂ with variance V/n² about F_n,
E F̂(1 − F̂) = F(1 − F)(1 − 1/n) − V/n²: both terms are added back, so no count has to be clipped at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.distribution.distribution import Distribution, Read, first_reached, shares_below

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


def gini(distribution: Distribution, level: float = 0.95) -> Read:
    """Return the Gini coefficient of a column that is nowhere negative."""
    records = max(distribution.records, 1.0)
    raw = distribution.left / records
    noise = distribution.tree.prefix_variance(np.clip(raw, 0.0, 1.0)) / records**2
    once = 1.0 if distribution.census else records / max(records - 1.0, 1.0)
    value = float(_gini(raw[None, :], distribution.edges, noise, once)[0])
    drawn = simulated(distribution)
    edges, noise = distribution.edges[drawn.places], noise[drawn.places]
    curve = distribution.curve[drawn.places]

    def of(errors: Floats) -> Floats:
        return _gini(curve + errors, edges, noise, once)

    return _with_errors(value, of, drawn, level)


def _gini(curves: Floats, edges: Floats, noise: Floats, once: float) -> Floats:
    """Return (∫F(1 − F)·once + V dx) / (L + ∫(1 − F)dx) of curves that are lines between the edges."""
    width = np.diff(edges)
    a, b = curves[:, :-1], curves[:, 1:]
    spread = ((a + b) / 2.0 - (a * a + a * b + b * b) / 3.0) @ width
    # Squares of lines between noisy ends: E a² and E ab differ by the noise that two neighbouring edges do not share.
    added = float((noise[:-1] + noise[1:]) @ width / 2.0)
    # A mean that is all noise is not divided by: what follows is then as wide as it can be.
    mean = edges[0] + (1.0 - (a + b) / 2.0) @ width
    return np.asarray(np.clip((spread * once + added) / np.maximum(mean, 1e-6 * abs(edges[-1])), -1.0, 2.0))


def share_below_of_median(distribution: Distribution, part: float, level: float = 0.95) -> Read:
    """Return the share of values below `part` times the median, both read from the same curve."""

    def one(curve: Floats, edges: Floats) -> float:
        line = part * float(first_reached(curve, edges, np.asarray(0.5)))
        return float(shares_below(curve, edges, np.asarray(line)))

    return _of_curves(distribution, one, level)


def lorenz(distribution: Distribution, share: float, level: float = 0.95) -> Read:
    """Return the part of the total that the lowest `share` of the records hold.

    With the quantile Q of the share p it is (pL + ∫_L^Q (p − F)dx) / (L + ∫(1 − F)dx), linear in noisy shares above
    and below: no count has to be clipped at 0. An error of Q counts in the second order alone.
    """
    ends, raw = distribution.ends, distribution.left / max(distribution.records, 1.0)
    quantile = float(first_reached(distribution.curve, ends, np.asarray(share)))
    value = float(lorenz_of(raw[None, :], ends, share, quantile)[0])
    drawn = simulated(distribution)
    curve, ends = distribution.curve[drawn.places], ends[drawn.places]
    return _with_errors(value, lambda errors: lorenz_of(curve + errors, ends, share, quantile), drawn, level)


def lorenz_of(curves: Floats, edges: Floats, share: float, quantile: float) -> Floats:
    """Return the part of the total that the lowest `share` hold, of curves that are lines between the edges.

    >>> lorenz_of(np.array([[0.0, 1.0]]), np.array([0.0, 1.0]), share=0.5, quantile=0.5).tolist()
    [0.25]
    """
    width = np.diff(edges)
    a, b = curves[:, :-1], curves[:, 1:]
    within = np.clip(quantile - edges[:-1], 0.0, width)
    reached = a + (b - a) * within / np.where(width > 0.0, width, 1.0)
    held = share * edges[0] + (share - (a + reached) / 2.0) @ within
    mean = edges[0] + (1.0 - (a + b) / 2.0) @ width
    return np.asarray(np.clip(held / np.maximum(mean, 1e-6 * abs(edges[-1])), -1.0, 2.0))


def _of_curves(distribution: Distribution, function: Callable[[Floats, Floats], float], level: float) -> Read:
    value = function(distribution.curve, distribution.edges)
    drawn = simulated(distribution)
    edges, curve = distribution.edges[drawn.places], distribution.curve[drawn.places]

    def of(errors: Floats) -> Floats:
        curves = np.clip(np.maximum.accumulate(curve + errors, axis=1), 0.0, 1.0)
        curves[:, -1] = 1.0
        return np.array([function(each, edges) for each in curves])

    return _with_errors(value, of, drawn, level)


def _with_errors(value: float, of: Callable[[Floats], Floats], drawn: Curves, level: float) -> Read:
    """Return a number in [0, 1] ± z·sd, its errors the spread of what is read of drawn curves."""
    from hedgerow.special import ndtri

    total, alone = _sd(of(drawn.sampling + drawn.noise)), _sd(of(drawn.sampling))
    reach = float(ndtri(0.5 + level / 2)) * total
    value = min(max(value, 0.0), 1.0)
    return Read(value, max(0.0, value - reach), min(1.0, value + reach), total, min(total, alone))


def _sd(drawn: Floats) -> float:
    """Return half the distance of the quantiles at Φ(±1): a ratio of noisy numbers has no variance."""
    low, high = np.quantile(drawn, [0.158655, 0.841345])
    return float(high - low) / 2.0
