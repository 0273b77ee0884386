"""Exact laws of pairs of neighbours, from which lower bounds on ε follow (`lower`): one class a kind of coordinate.

Each cuts its outcomes into cells and returns their masses p and q under the two neighbours. To tell only which cell an
outcome lies in is post-processing, so whatever the cells prove, the release proves too. Outcomes may be left out, p is
rounded down and q up: then Σ(p − e^ε q)₊ is a lower bound of δ(ε), for every choice of cells.

From the lattice to the line, the other way: discrete Gaussian noise of width W on the integers plus a normal number of
sd r = 2 is, by Poisson summation, a normal number of variance W² + r² up to a factor 1 ± 1e-33. Adding it is
post-processing, so lattice noise costs at least what continuous noise of width √(W² + r²) does. (``terms`` bounds it
from above by √(W² − r²).)

A lower bound on ε at δ from one pair of neighbours whose laws are known exactly: the release costs no less.

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
from typing import ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.averaged import SummedLaplace, SummedLaw
from hedgerow.accounting.dominating_pairs import SMOOTHING
from hedgerow.accounting.loss_fold import folded_lower
from hedgerow.accounting.loss_grid import LOSS_CAP, LossGrid
from hedgerow.accounting.profile import bisect, gaussian_delta

Array = NDArray[np.float64]
_REACH = 13.0  # sd of a normal law that are looked at
_MOST_CELLS, _PLACES = 2**18, 4001
_ROUNDING = 1e-12  # relative error of a mass, or of the tail it is a difference of


class ExactLaw(Protocol):
    """One coordinate of an output, independent of the others, under both neighbours."""

    @property
    def largest(self) -> float:
        """The largest privacy loss, rounded down; infinite where no loss is the largest."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether the loss has a smooth density."""
        ...

    @property
    def normal(self) -> float | None:
        """μ where the pair is of normal laws, which compose in closed form; None for any other."""
        return None

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return the masses (p, q) of cells in the order of their loss, which varies by about `step` within one."""
        ...


@dataclass(frozen=True, slots=True)
class NormalPair(ExactLaw):
    """N(μ, 1) against N(0, 1).

    >>> p, q = NormalPair(1.0).cells(0.1)
    >>> bool(0.999999 < p.sum() <= 1.0)
    True
    """

    mu: float
    smooth: ClassVar[bool] = True

    @classmethod
    def on_lattice(cls, moved: float, width: float) -> NormalPair:
        """Return what discrete Gaussian noise of `width` steps costs at least, moved by a whole number of steps."""
        return cls(moved / math.sqrt(width**2 + SMOOTHING**2) * (1.0 - _ROUNDING))

    @property
    def largest(self) -> float:
        """Infinite."""
        return math.inf if self.mu > 0.0 else 0.0

    @property
    def normal(self) -> float:
        """`mu`."""
        return self.mu

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return cells whose ends are whole multiples of `step`."""
        if self.mu <= 0.0:
            return np.ones(1), np.ones(1)
        ends = np.array([-_REACH, _REACH]) * self.mu + np.array([-0.5, 0.5]) * self.mu**2
        losses = np.arange(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1.0) * step
        x = losses / self.mu + self.mu / 2.0
        return _down(_normal(x - self.mu)), _up(_normal(x))


@dataclass(frozen=True, slots=True)
class DiscreteNormalPair(ExactLaw):
    """Integers P(z) ∝ exp(−(z − moved)²/2 sd²) against those with moved = 0."""

    sd: float
    moved: int
    smooth: ClassVar[bool] = False

    @property
    def largest(self) -> float:
        """Infinite."""
        return math.inf

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return one cell an integer."""
        far = math.ceil(_REACH * self.sd)
        z = np.arange(-far, far + self.moved + 1.0)
        total = np.exp(-(np.arange(-3.0 * far - 3.0, 3.0 * far + 4.0) ** 2) / (2.0 * self.sd**2)).sum()
        p, q = (np.exp(-((z - at) ** 2) / (2.0 * self.sd**2)) / total for at in (self.moved, 0))
        return _down(p), _up(q)


@dataclass(frozen=True, slots=True)
class LaplacePair(ExactLaw):
    """A sum of `draws` Laplace numbers moved by `moved`, against the sum: on the integers where there is a `scale`.

    Without a scale the numbers are continuous and `moved` is in units of their scale.

    >>> p, q = LaplacePair(1, 2.0, 1.0).cells(0.1)  # a count: the loss of z < 0, of 0 and of z > 0 is ±½
    >>> [round(float(loss), 9) for loss in np.log(p / q)]
    [-0.5, -0.5, 0.5]
    """

    draws: int
    scale: float | None
    moved: float
    smooth: ClassVar[bool] = False

    @property
    def law(self) -> SummedLaw | SummedLaplace:
        """The law of the sum."""
        return SummedLaplace(self.draws) if self.scale is None else SummedLaw(self.draws, self.scale)

    @property
    def largest(self) -> float:
        """The movement in scales: the limit of the loss far out; for one draw every outcome out there has it."""
        return self.moved / (1.0 if self.scale is None else self.scale) * (1.0 - _ROUNDING)

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return cells between whose ends the loss rises by about `step`, the rest in one on either side."""
        unit = 1.0 if self.scale is None else self.scale
        beyond = 0.0 if self.draws == 1 else (40.0 + 8.0 * math.sqrt(self.draws)) * unit
        # Of one draw every loss below the first place is the least one, and from the last on the largest.
        at = self.law.places(np.linspace(-beyond, self.moved + beyond, _PLACES))
        losses = np.maximum.accumulate(np.clip(self.law.log_ratio(at, self.moved), -LOSS_CAP, LOSS_CAP))
        ends = np.floor(losses[0] / step), np.ceil(losses[-1] / step)
        count = min(_MOST_CELLS, int(ends[1] - ends[0]) + 1)
        edges = self.law.places(np.interp(np.linspace(*ends, count) * step, losses, at))
        return self._between(edges - self.moved, down=True), self._between(edges, down=False)

    def _between(self, edges: Array, *, down: bool) -> Array:
        """Return the masses below, between and above the edges (P(x ≥ edge) is above), from the nearer tail."""
        whole = self.scale is not None
        above = self.law.tail(edges)
        below = self.law.tail((1.0 if whole else 0.0) - edges)  # P(x < edge) by symmetry
        left = edges[:-1] < 0.0
        inner = np.where(left, below[1:] - below[:-1], above[:-1] - above[1:])
        mass = np.concatenate([below[:1], inner, above[-1:]])
        error = _ROUNDING * np.concatenate([below[:1], np.where(left, below[1:], above[:-1]), above[-1:]])
        return np.maximum(mass - error, 0.0) if down else mass + error


@dataclass(frozen=True, slots=True)
class OutcomePair(ExactLaw):
    """Finitely many outcomes with their masses under both neighbours."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    smooth: ClassVar[bool] = False

    @property
    def largest(self) -> float:
        """The largest log p/q."""
        losses = [math.log(p / q) if q > 0.0 else math.inf for p, q in zip(self.p, self.q, strict=True) if p > 0.0]
        return max(losses) * (1.0 - _ROUNDING)

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return one cell an outcome."""
        return _down(np.array(self.p)), _up(np.array(self.q))


@dataclass(frozen=True, slots=True)
class BinomialPair(ExactLaw):
    """The number of successes among `draws`, each with the first chance or with the second."""

    draws: int
    first: float
    second: float
    smooth: ClassVar[bool] = False

    @property
    def largest(self) -> float:
        """The loss where all draws succeed, or all fail."""
        p, q = max((self.first, self.second), (1.0 - self.first, 1.0 - self.second), key=lambda pair: pair[0] / pair[1])
        return self.draws * math.log(p / q) * (1.0 - _ROUNDING)

    def cells(self, step: float) -> tuple[Array, Array]:
        """Return one cell a number, but for those that are too far out."""
        from hedgerow.special import gammaln, xlogy

        ends = [(side, chance) for side in (-1.0, 1.0) for chance in (self.first, self.second)]
        far = [self.draws * c + side * (_REACH * math.sqrt(self.draws * c) + 40.0) for side, c in ends]
        won = np.arange(max(0, math.floor(min(far))), min(self.draws, math.ceil(max(far))) + 1.0)
        ways = gammaln(self.draws + 1.0) - gammaln(won + 1.0) - gammaln(self.draws - won + 1.0)
        chances = self.first, self.second
        p, q = (np.exp(ways + xlogy(won, c) + xlogy(self.draws - won, 1.0 - c)) for c in chances)
        # Logarithms of factorials lose digits as they grow; p and q share the same error.
        scale = 1.0 - _ROUNDING * self.draws
        return _down(np.asarray(p * scale)), _up(np.asarray(q * scale))


def _normal(edges: Array) -> Array:
    """Return the normal masses between edges, each from the nearer tail."""
    from hedgerow.special import ndtr

    side = np.where(edges[1:] > 0.0, -1.0, 1.0)
    return np.abs(np.asarray(ndtr(side * edges[1:]) - ndtr(side * edges[:-1]), dtype=np.float64))


def _down(mass: Array) -> Array:
    return np.asarray(mass * (1.0 - _ROUNDING))


def _up(mass: Array) -> Array:
    return np.asarray(mass * (1.0 + _ROUNDING))


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
class LowerBoundPairs:
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
    possible = p > 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p[possible]) - np.log(q[possible]))


def _best_event(p: Array, q: Array, delta: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(p > 0.0, p / q, 0.0), kind="stable")
        first, second = np.cumsum(p[order]) * (1.0 - _UNIT), np.cumsum(q[order]) * (1.0 + _UNIT)
        losses = np.log(np.maximum(first - delta, 0.0)) - np.log(second)
    return max(0.0, float(np.max(losses)))


def _folded(laws: dict[ExactLaw, int], delta: float) -> float:
    looks = {law: _Look.at(law, delta / times) for law, times in laws.items()}
    largest = sorted(laws, key=lambda law: -laws[law] * looks[law].variance)[:_MOST_TERMS]
    sd, times = math.sqrt(sum(laws[law] * looks[law].variance for law in largest)), sum(laws[law] for law in largest)
    highest = [min(max(40.0 * sd, looks[law].highest), LOSS_CAP) for law in largest]
    width = min(sum(2.0 * laws[law] * high for law, high in zip(largest, highest, strict=True)), 40.0 * sd)
    # Atoms lose up to a step each; a smooth law loses the square of it.
    finest = sd / 2000.0 if all(law.smooth for law in largest) else min(sd / 2000.0, _SHIFT / times)
    # Almost all mass may have one huge loss, of which the variance says nothing.
    step = max(finest, width / _BINS, max(highest) / _BINS, 1e-9)
    parts, offset = [], 0.0
    for law, high in zip(largest, highest, strict=True):
        grid, start = _on_grid(*_cells(law, step), step, high)
        parts.append((grid, laws[law]))
        offset += laws[law] * start
    # Whole steps of the offset move the index; what is left moves ε.
    moved = math.floor(offset / step)
    bound = folded_lower(parts, delta, shift=moved)
    return 0.0 if bound <= 0.0 else max(0.0, bound + offset - moved * step - 1e-9)


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
    inside = (p > 0.0) & (q <= p * math.exp(highest))
    p, q = p[inside], np.maximum(q[inside], p[inside] * math.exp(-highest))
    index = np.floor(np.log(p / q) / step + 1e-9).astype(np.int64)
    first = int(index.min())
    mass, other = np.bincount(index - first, p), np.bincount(index - first, q)
    used = np.flatnonzero(mass)
    # Of a smooth law each merged outcome lies in the middle of its interval: all but a thousandth keep that.
    fraction = np.log(mass[used] / other[used]) / step - (used + first) - _UNIT / step
    order = np.argsort(fraction)
    below = np.cumsum(mass[used][order]) / mass.sum()
    offset = float(np.clip(fraction[order][np.searchsorted(below, 1e-3)], -1.0, 1.0))
    label = used - np.ceil(np.maximum(offset - fraction, 0.0)).astype(np.int64)
    low = int(label.min())
    total = np.asarray(np.bincount(label - low, mass[used] * (1.0 - _UNIT)), dtype=np.float64)
    return LossGrid(first + low, step, total, 0.0), offset * step
