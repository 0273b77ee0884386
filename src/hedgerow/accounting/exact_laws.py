r"""Exact laws of pairs of neighbours, from which lower bounds on ε follow (`lower`): one class a kind of coordinate.

Each cuts its outcomes into cells and returns their masses p and q under the two neighbours. To tell only which cell an
outcome lies in is post-processing, so whatever the cells prove, the release proves too. Outcomes may be left out, p is
rounded down and q up: then Σ(p − e^ε q)₊ is a lower bound of δ(ε), for every choice of cells.

From the lattice to the line, the other way: discrete Gaussian noise of width W on the integers plus a normal number of
sd r = 2 is, by Poisson summation, a normal number of variance W² + r² up to a factor 1 ± 1e-33. Adding it is
post-processing, so lattice noise costs at least what continuous noise of width √(W² + r²) does. (``terms`` bounds it
from above by √(W² − r²).)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.averaged import SummedLaplace, SummedLaw
from hedgerow.accounting.loss_grid import LOSS_CAP
from hedgerow.accounting.terms import SMOOTHING

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
        p, q = max((self.first, self.second), (1.0 - self.first, 1.0 - self.second), key=lambda one: one[0] / one[1])
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
