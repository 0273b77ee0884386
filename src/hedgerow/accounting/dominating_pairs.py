"""Terms: the independent coordinates of a dominating pair of neighbours, and each one's privacy loss on a grid.

Counts move by 1, so their pair is exact: one shift under add-remove, two (in two cells) under replace-one. A vector of
moments is priced by the largest Σ d_i²/w_i² over all its integer pairs. On a grid every term becomes a pair whose curve
is nowhere below the term's ("connect the dots", see `loss_grid`).

From the lattice to the line
----------------------------
Moments carry DISCRETE Gaussian noise of integer width W ≥ 1000, yet are priced as continuous ones of width
W' = √(W² − r²), r = 2, and that is a proof, not an approximation. Let x ~ N(v, W'²) with v an integer, and round it at
random to an integer z with P(z | x) ∝ exp(−(z − x)²/2r²). By Poisson summation the normaliser Σ_z exp(−(z − x)²/2r²)
lies within √(2π)·r·(1 ± 2.1·e^(−2π²r²)) for every x, so z is distributed as a discrete Gaussian of centre v and width W
up to a factor 1 ± η, η ≤ 5·e^(−2π²r²) < 1e-33. Rounding is post-processing and does not know v, works coordinate by
coordinate, and holds for mixtures over integer v too. So the discrete release costs no more than the continuous one at
W', plus 2·ln(1 + η) a coordinate: below the last digit of a double, and covered by the upward rounding here.
(The proof is written out in ``docs/methods/lattice.md``.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid, Outcomes
from hedgerow.accounting.profile import CappedProfile, GaussianProfile, Profile, PureProfile

SMOOTHING = 2.0
ROUND_UP = 1.0 + 1e-12
"""A few operations in doubles: closed forms are rounded against the user by it."""
SMOOTHED = math.sqrt(1.0 - (SMOOTHING / 1000.0) ** 2)
"""The width of the continuous noise over that of the discrete one, at the least width that a lattice has; see above."""
# A normal law leaves less than 1e-39 beyond 13 standard deviations; as much is put at +∞.
_REACH, _OUTSIDE = 13.0, 1e-35
_FAR = 1000  # sd of discrete Gaussian noise whose tails are added up
_UNIT = 1e-15  # rounding of one factor of a product of numbers near 1
SUM_ROUND_UP = 1.0 + 1e-14
_MOST_WAYS = 500  # the number of ways to win half of these is a float


class DominatingPair(ABC):
    """One coordinate of a dominating pair of neighbours, independent of the others: what composition asks of it."""

    __slots__ = ()
    times: int
    """How many copies a term of counts has."""
    order: ClassVar[int] = 2
    """The place among the terms that are folded: from the smoothest law on."""

    @abstractmethod
    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return a pair whose curve is nowhere below the term's, and how many such pairs the term is."""

    def exact_mu(self) -> float | None:
        """Return μ of a Gaussian pair, which composes in closed form; None for any other."""
        return None

    def mu_squared(self) -> float | None:
        """Return μ² of the least Gaussian pair whose curve is nowhere below; None where losses have an end, or none."""
        return None

    def dominating_square(self, least_width: float) -> float | None:
        """Return μ² of a Gaussian pair that dominates at once, where noise is at least so wide; None without any."""
        return None

    def least_square(self) -> float:
        """Return μ² of a Gaussian pair that certainly costs less; 0 where none is known at once."""
        return 0.0

    def why_no_mu(self) -> str | None:
        """Return why no Gaussian curve lies above the term's; None where one does."""
        return None

    def pure(self) -> float:
        """Return an ε at which δ is 0; infinite without any."""
        return math.inf

    def rough_square(self) -> float:
        """Return roughly the square of the size of the loss."""
        return 0.0

    def revealed(self) -> float | None:
        """Return the chance that everything is told, of a term that does nothing else."""
        return None

    def meets(self, delta: float) -> bool:
        """Whether the term has an ε at this δ."""
        return True

    def alone(self) -> Profile | None:
        """Return the curve of the term alone, where it needs no grid."""
        return None

    def repeated(self, times: int) -> Profile | None:
        """Return the curve of so many equal terms, where losses stay on a lattice of their own; None for a grid."""
        return None

    def merge_key(self) -> object:
        """Return what terms share that are one with more copies; None where equal terms stay apart."""
        return None

    def merged(self, other: DominatingPair) -> DominatingPair:
        """Return this term and one of the same key as one, with the copies of both."""
        return replace(self, times=self.times + other.times)  # type: ignore[type-var]  # what has a key is a dataclass


@dataclass(frozen=True, slots=True)
class GaussianPair(DominatingPair):
    """A continuous Gaussian pair at distance μ standard deviations."""

    mu: float

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return N(μ, 1) against N(0, 1): the loss is μx − μ²/2, cut into the cells of the grid."""
        return _gaussian(self.mu, step), 1

    def exact_mu(self) -> float:
        """Return `mu`."""
        return self.mu

    def mu_squared(self) -> float:
        """Return μ²."""
        return self.mu**2

    def dominating_square(self, least_width: float) -> float:
        """Return μ², rounded up."""
        return self.mu**2 * ROUND_UP

    def repeated(self, times: int) -> Profile:
        """Return a Gaussian curve."""
        return GaussianProfile(self.mu * times**0.5 * ROUND_UP)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(DominatingPair):
    """`times` discrete Gaussian pairs of width `sd`, each shifted by 1."""

    sd: float
    times: int
    order: ClassVar[int] = 0

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return one integer, of which P at z stands against Q at z, which is shifted by 1."""
        return _discrete(self.sd, step), self.times

    def mu_squared(self) -> float:
        """Return times μ² of one integer."""
        return self.times * _discrete_mu(self.sd) ** 2

    def dominating_square(self, least_width: float) -> float | None:
        """Return times/(sd² − r²): see the module."""
        return self.times / (self.sd**2 - SMOOTHING**2) * ROUND_UP if self.sd >= least_width else None

    def least_square(self) -> float:
        """Return times/(s² + 4), s = sd or 2: another normal number of sd 2 makes one of the integer."""
        return self.times / (max(self.sd, SMOOTHING) ** 2 + SMOOTHING**2)

    def rough_square(self) -> float:
        """Return times/sd²."""
        return self.times / self.sd**2

    def merge_key(self) -> object:
        """Return the law and its width."""
        return DiscreteGaussianPair, self.sd


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(DominatingPair):
    """`times` two-sided geometric pairs of scale `scale`, each shifted by 1."""

    scale: float
    times: int
    order: ClassVar[int] = 1

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return all integers at once where they are not too many.

        >>> grid, times = DiscreteLaplacePair(2.0, 2).grid(0.5)
        >>> grid.losses().tolist(), times
        ([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5], 1)
        """
        together = self.times if self.times <= _MOST_WAYS else 1
        return two_losses(1.0 / self.scale * ROUND_UP, together, step), self.times // together

    def pure(self) -> float:
        """Return times/scale."""
        return self.times / self.scale

    def rough_square(self) -> float:
        """Return times/scale²."""
        return self.times / self.scale**2

    def repeated(self, times: int) -> Profile:
        """Return the exact curve: every loss is 1/scale or its negative."""
        return _win_or_lose(ROUND_UP / self.scale, self.times * times)

    def merge_key(self) -> object:
        """Return the law and its scale."""
        return DiscreteLaplacePair, self.scale


class _Bounded(DominatingPair):
    """A pair whose loss is at most `epsilon`."""

    __slots__ = ()
    epsilon: float

    def pure(self) -> float:
        """Return `epsilon`."""
        return self.epsilon

    def rough_square(self) -> float:
        """Return ε²."""
        return self.epsilon**2


@dataclass(frozen=True, slots=True)
class ContinuousLaplacePair(_Bounded):
    """A Laplace pair at distance `epsilon` scales."""

    epsilon: float

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return the pair, cut into the cells of the grid."""
        return _laplace(self.epsilon, step), 1


@dataclass(frozen=True, slots=True)
class PureDPPair(_Bounded):
    """Any pair whose loss never exceeds `epsilon`."""

    epsilon: float

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return randomised response, which dominates whatever is ε-private."""
        return two_losses(self.epsilon, 1, step), 1

    def alone(self) -> Profile:
        """Return the curve of randomised response."""
        return PureProfile(self.epsilon * SUM_ROUND_UP)

    def repeated(self, times: int) -> Profile:
        """Return the curve of so many randomised responses."""
        return _win_or_lose(self.epsilon, times)


@dataclass(frozen=True, slots=True)
class KnownCurvePair(DominatingPair):
    """A release known by its whole curve, as a resampled one: the maximum over its pairs, which is itself a curve.

    `largest` is an ε at which δ is 0, where there is one.
    """

    curve: Curve
    largest: float = math.inf

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return the curve on the grid."""
        return self.curve.loss_grid(step=step), 1

    def why_no_mu(self) -> str | None:
        """Return a reason where losses have no end."""
        endless = "A record may be drawn many times: its loss has a heavier tail than that of any Gaussian mechanism."
        return endless if math.isinf(self.largest) else None

    def pure(self) -> float:
        """Return `largest`."""
        return self.largest

    def rough_square(self) -> float:
        """Return μ² of the Gaussian that starts at the same δ(0): 2Φ(μ/2) − 1 ≈ 0.4 μ."""
        return (self.curve.delta_upper(0.0) / 0.4) ** 2

    def meets(self, delta: float) -> bool:
        """Whether the curve comes down to this δ."""
        return math.isfinite(self.largest) or math.isfinite(self.curve.epsilon_upper(delta))

    def alone(self) -> Profile:
        """Return the curve."""
        return self.curve if math.isinf(self.largest) else CappedProfile(self.curve, self.largest)


@dataclass(frozen=True, slots=True)
class FullDisclosurePair(DominatingPair):
    """With probability `chance` everything is told, else nothing: δ(ε) = chance for every ε."""

    chance: float

    def grid(self, step: float) -> tuple[LossGrid, int]:
        """Return a loss of 0, or an infinite one."""
        return LossGrid(0, step, np.array([1.0 - self.chance]), self.chance), 1

    def why_no_mu(self) -> str:
        """Return that no Gaussian mechanism tells everything."""
        return "It may tell everything with some probability, and no Gaussian mechanism ever does."

    def revealed(self) -> float:
        """Return `chance`."""
        return self.chance


def whole_grid(term: DominatingPair, step: float) -> LossGrid:
    """Return one pair whose curve is nowhere below that of the whole term."""
    part, times = term.grid(step)
    grid = part
    for _ in range(times - 1):
        grid = grid.convolved(part)
    return grid


def _win_or_lose(epsilon: float, times: int) -> Profile:
    """Return the curve of `times` pairs that lose ε or −ε: exact for geometric counts, a bound for whatever is pure."""
    lose = float(1.0 / (1.0 + np.exp(epsilon)))
    grid = LossGrid(-1, epsilon, np.array([lose, 0.0, 1.0 - lose]), 0.0)
    folded = composed_curve([(grid, times)], relative=_UNIT * max(times, 3))
    return CappedProfile(Curve(epsilon, folded), times * epsilon * ROUND_UP)


@lru_cache(maxsize=4096)
def two_losses(epsilon: float, times: int, step: float) -> LossGrid:
    """Return the pair that loses ε or −ε, a number of times: geometric counts shifted by 1, or randomised response."""
    wins = np.arange(times + 1, dtype=np.float64)
    losses = (2.0 * wins - times) * epsilon
    log_ways = np.log([float(math.comb(times, won)) for won in range(times + 1)]) - times * math.log1p(
        math.exp(-epsilon)
    )
    return Outcomes.of_losses(np.exp(log_ways - (times - wins) * epsilon), losses).spread(step, infinity=0.0)


def _edges(low: float, high: float, step: float) -> NDArray[np.float64]:
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64) * step


@lru_cache(maxsize=4096)
def _discrete(sd: float, step: float) -> LossGrid:
    # z to 1 − z exchanges P and Q, so one order serves both.
    z = np.arange(-math.ceil(_REACH * sd), math.ceil(_REACH * sd) + 2, dtype=np.float64)
    p = np.exp(-(z**2) / (2 * sd**2))
    return Outcomes.of_losses(p / p.sum(), (1 - 2 * z) / (2 * sd**2)).spread(step, infinity=_OUTSIDE)


@lru_cache(maxsize=256)
def _discrete_mu(sd: float) -> float:
    """Return the least μ of a discrete Gaussian number of this sd that is moved by 1 (`compose`)."""
    from hedgerow.special import ndtri_exp

    last = max(_FAR, math.ceil(_FAR * sd))
    z = np.arange(-min(last, math.ceil(60.0 * sd) + 2), last + 41.0)
    log_mass = -(z**2) / (2.0 * sd**2)
    tails = np.logaddexp.accumulate(log_mass[::-1])[::-1]
    log_tail = np.asarray(tails - tails[0])[z >= 1.0][:last]
    x = -np.asarray(ndtri_exp(log_tail))
    # P(Z ≥ 0) = 1 − P(Z ≥ 1): the first difference is 2x₁.
    largest = float(np.diff(x, prepend=-x[0]).max())
    return max(largest * (1.0 + 1e-9), (1.0 + 0.51 / (last - 1.0) + 1e-4) / sd)


@lru_cache(maxsize=4096)
def _gaussian(mu: float, step: float) -> LossGrid:
    """N(μ, 1) against N(0, 1): the loss is μx − μ²/2, cut into the cells of the grid."""
    from hedgerow.special import ndtr

    edges = _edges(mu * mu / 2 - _REACH * mu, mu * mu / 2 + _REACH * mu, step)
    x = edges / mu + mu / 2

    def between(ends: NDArray[np.float64]) -> NDArray[np.float64]:
        # From the nearer tail, so that a small mass keeps its digits.
        side = np.where(ends[1:] > 0.0, -1.0, 1.0)
        return np.abs(np.asarray(ndtr(side * ends[1:]) - ndtr(side * ends[:-1]), dtype=np.float64))

    return Outcomes(between(x - mu), between(x), edges[:-1], edges[1:]).spread(step, infinity=_OUTSIDE)


@lru_cache(maxsize=4096)
def _laplace(epsilon: float, step: float) -> LossGrid:
    """Laplace noise of scale 1/ε, shifted by 1: half of P loses ε, e^{−ε}/2 loses −ε, the rest lies between."""
    ends = np.clip(_edges(-epsilon, epsilon, step), -epsilon, epsilon)
    low, high = ends[:-1], ends[1:]
    shares = -np.expm1((low - high) / 2) / 2
    p = np.concatenate([[np.exp(-epsilon) / 2], np.exp((high - epsilon) / 2) * shares, [0.5]])
    q = np.concatenate([[0.5], np.exp((-epsilon - low) / 2) * shares, [np.exp(-epsilon) / 2]])
    below, above = np.array([-epsilon]), np.array([epsilon])
    return Outcomes(p, q, np.concatenate([below, low, above]), np.concatenate([below, high, above])).spread(
        step, infinity=0.0
    )
