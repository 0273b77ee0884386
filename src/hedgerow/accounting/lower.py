r"""A lower bound on ε at δ from one pair of neighbours whose laws are known exactly: the release costs no less.

For every event S, δ(ε) ≥ P(S) − e^ε Q(S). So a mass p that is too small and a mass q that is too large keep δ(ε) a
lower bound, and so does telling only in which of some cells an outcome lies. Three cases:

* Gaussian coordinates alone: closed form;
* one coordinate: the cells in the order of their loss; ε ≥ log((P(S) − δ)/Q(S)) for the best S of the largest ones;
* several: cells are merged by a grid of losses. The cells of one grid interval make one outcome of loss log(Σp/Σq),
  which is taken as start + offset + j·step, the largest such loss that is not above it; q is thereby raised to
  p·e^{−loss}. The grids are folded (`loss_fold.folded_lower`), whose round-off is subtracted.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from hedgerow.accounting.exact_laws import Array, ExactLaw, NormalPair
from hedgerow.accounting.loss_fold import folded_lower
from hedgerow.accounting.loss_grid import LOSS_CAP, LossGrid
from hedgerow.accounting.profile import bisect, gaussian_delta

GAP: Final = 0.005
"""A lower bound that is farther than this below the price is not stated."""
ExactPair = tuple[tuple[ExactLaw, int], ...]
"""Independent coordinates, each with the number of its copies."""
_FINE = 4000  # cells of one coordinate
_MOST_TERMS = 48  # different coordinates that are folded: leaving out the others is post-processing
_BINS = 2**19
_SHIFT = 1e-3  # of ε, that rounding losses down costs at most where the grid has enough bins
_LEAST = 1e-300
_UNIT = 1e-11  # relative error of a sum of masses, with a margin


@dataclass(frozen=True, slots=True)
class Attained:
    """Pairs of neighbours whose laws are known exactly.

    Attributes
    ----------
    pairs : tuple of pairs
        Each shows what the mechanism costs at least, in one order of the neighbours.
    why : str
        Why another pair may cost more; empty where one of these is the worst.
    """

    pairs: tuple[ExactPair, ...]
    why: str = ""

    def epsilon_lower(self, delta: float) -> float:
        """Return the largest bound of all pairs; 0 without any."""
        return max((epsilon_lower(pair, delta) for pair in self.pairs), default=0.0)


def epsilon_lower(pair: ExactPair, delta: float) -> float:
    """Return an ε ≥ 0 that the true ε(δ) of a pair is not below; infinite where no ε holds at this δ.

    >>> round(epsilon_lower(((NormalPair(1.0), 1),), 1e-6), 3), epsilon_lower(((NormalPair(1.0), 1),), 0.0)
    (4.887, inf)
    """
    counted = Counter[ExactLaw]()
    for law, times in pair:
        counted[law] += times
    if delta <= 0.0:
        return sum(times * law.largest for law, times in counted.items()) * (1.0 - _UNIT)
    mu = math.sqrt(sum(times * law.normal**2 for law, times in counted.items() if law.normal is not None))
    others = {law: times for law, times in counted.items() if law.normal is None}
    if not others:
        return _gaussian(mu * (1.0 - _UNIT), delta)
    laws = others if mu == 0.0 else {NormalPair(mu * (1.0 - _UNIT)): 1, **others}
    if list(laws.values()) == [1]:
        (law,) = laws
        return _best_event(*_fine(law), delta)
    return _folded(laws, delta)


def _gaussian(mu: float, delta: float) -> float:
    def enough(epsilon: float) -> bool:
        first, second = gaussian_delta(mu, epsilon)
        return first - second - 1e-13 * first >= delta

    if mu <= 0.0 or not enough(0.0):
        return 0.0
    high = 1.0
    while enough(high):
        high *= 2.0
    return bisect(enough, held=0.0, failed=high)


def _fine(law: ExactLaw) -> tuple[Array, Array]:
    """Return so many cells that to merge them costs nothing that counts."""
    p, q = _cells(law, 0.05)
    losses = np.clip(_losses(p, q), -LOSS_CAP, LOSS_CAP)
    return _cells(law, max(float(losses.max() - losses.min()) / _FINE, 1e-9))


def _cells(law: ExactLaw, step: float) -> tuple[Array, Array]:
    """Return the cells of a law; a mass q that underflows is not taken for 0."""
    p, q = law.cells(step)
    return p, np.maximum(q, _LEAST)


def _losses(p: Array, q: Array) -> Array:
    """Return log p/q of the cells that P reaches."""
    kept = p > 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p[kept]) - np.log(q[kept]))


def _best_event(p: Array, q: Array, delta: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(p > 0.0, p / q, 0.0), kind="stable")
        first, second = np.cumsum(p[order]) * (1.0 - _UNIT), np.cumsum(q[order]) * (1.0 + _UNIT)
        found = np.log(np.maximum(first - delta, 0.0)) - np.log(second)
    return max(0.0, float(np.max(found)))


def _folded(laws: dict[ExactLaw, int], delta: float) -> float:
    looks = {law: _Look.at(law, delta / times) for law, times in laws.items()}
    kept = sorted(laws, key=lambda law: -laws[law] * looks[law].variance)[:_MOST_TERMS]
    sd, times = math.sqrt(sum(laws[law] * looks[law].variance for law in kept)), sum(laws[law] for law in kept)
    highest = [max(40.0 * sd, looks[law].highest) for law in kept]
    width = min(sum(2.0 * laws[law] * high for law, high in zip(kept, highest, strict=True)), 40.0 * sd)
    # Atoms lose up to a step each; a smooth law loses the square of it.
    finest = sd / 2000.0 if all(law.smooth for law in kept) else min(sd / 2000.0, _SHIFT / times)
    step = max(finest, width / _BINS, 1e-9)
    parts, offset = [], 0.0
    for law, high in zip(kept, highest, strict=True):
        grid, start = _on_grid(*_cells(law, step), step, high)
        parts.append((grid, laws[law]))
        offset += laws[law] * start
    # Whole steps of the offset move the index; what is left moves ε.
    moved = math.floor(offset / step)
    found = folded_lower(parts, delta, shift=moved)
    return 0.0 if found <= 0.0 else max(0.0, found + offset - moved * step - 1e-9)


@dataclass(frozen=True, slots=True)
class _Look:
    """The variance of a loss, and a loss that is exceeded with a small part of δ only: rough, to choose a grid."""

    variance: float
    highest: float

    @classmethod
    def at(cls, law: ExactLaw, delta: float) -> _Look:
        p, q = _cells(law, 0.05)
        losses, mass = _losses(p, q), p[p > 0.0]
        finite = np.isfinite(losses)
        mean = float((losses[finite] * mass[finite]).sum() / mass[finite].sum())
        variance = float(((losses[finite] - mean) ** 2 * mass[finite]).sum() / mass[finite].sum())
        order = np.argsort(-losses)
        place = int(np.searchsorted(np.cumsum(mass[order]), 1e-3 * delta))
        return cls(variance, float(np.abs(losses[order][min(place, order.size - 1)])))


def _on_grid(p: Array, q: Array, step: float, highest: float) -> tuple[LossGrid, float]:
    """Return a pair that costs no more than (p, q), on a grid whose losses all lie `offset` above whole steps.

    Losses above `highest` are lowered to it, and outcomes below its negative are left out.
    """
    kept = (p > 0.0) & (q <= p * math.exp(highest))
    p, q = p[kept], np.maximum(q[kept], p[kept] * math.exp(-highest))
    index = np.floor(np.log(p / q) / step + 1e-9).astype(np.int64)
    first = int(index.min())
    mass, other = np.bincount(index - first, p), np.bincount(index - first, q)
    used = np.flatnonzero(mass)
    # Of a smooth law each merged outcome lies in the middle of its interval: all but a thousandth keep that.
    inside = np.log(mass[used] / other[used]) / step - (used + first) - _UNIT / step
    order = np.argsort(inside)
    below = np.cumsum(mass[used][order]) / mass.sum()
    offset = float(np.clip(inside[order][np.searchsorted(below, 1e-3)], -1.0, 1.0))
    label = used - np.ceil(np.maximum(offset - inside, 0.0)).astype(np.int64)
    low = int(label.min())
    total = np.asarray(np.bincount(label - low, mass[used] * (1.0 - _UNIT)), dtype=np.float64)
    return LossGrid(first + low, step, total, 0.0), offset * step
