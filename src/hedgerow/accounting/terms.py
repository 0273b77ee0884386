"""Terms: the independent coordinates of a worst pair of neighbours, and each one's privacy loss on a grid.

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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.loss_grid import Curve, LossGrid, Outcomes

SMOOTHING = 2.0
ROUND_UP = 1.0 + 1e-12
"""A few operations in doubles: closed forms are rounded against the user by it."""
SMOOTHED = math.sqrt(1.0 - (SMOOTHING / 1000.0) ** 2)
"""The width of the continuous noise over that of the discrete one, at the least width that a lattice has; see above."""
# A normal law leaves less than 1e-39 beyond 13 standard deviations; as much is put at +∞.
_REACH, _OUTSIDE = 13.0, 1e-35
_MOST_WAYS = 500  # the number of ways to win half of these is a float


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A continuous Gaussian pair at distance μ standard deviations."""

    mu: float


@dataclass(frozen=True, slots=True)
class Discrete:
    """`times` discrete Gaussian pairs of width `sd`, each shifted by 1."""

    sd: float
    times: int


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """`times` two-sided geometric pairs of scale `scale`, each shifted by 1."""

    scale: float
    times: int


@dataclass(frozen=True, slots=True)
class Laplace:
    """A Laplace pair at distance `epsilon` scales."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class Pure:
    """Any pair whose loss never exceeds `epsilon`."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class Resampled:
    """A release known by its whole curve, as a resampled one: the maximum over its pairs, which is itself a curve.

    `pure` is an ε at which δ is 0, where there is one.
    """

    curve: Curve
    pure: float = math.inf


@dataclass(frozen=True, slots=True)
class Revealed:
    """With probability `chance` everything is told, else nothing: δ(ε) = chance for every ε."""

    chance: float


Term = Gaussian | Discrete | DiscreteLaplace | Laplace | Pure | Resampled | Revealed


def term_grid(term: Term, step: float) -> tuple[LossGrid, int]:
    """Return a pair whose curve is nowhere below the term's, and how many such pairs the term is.

    Examples
    --------
    >>> grid, times = term_grid(DiscreteLaplace(2.0, 2), 0.5)
    >>> grid.losses().tolist(), times
    ([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5], 1)
    """
    return (term.curve.loss_grid(step=step), 1) if isinstance(term, Resampled) else _grid_of(term, step)


def whole_grid(term: Term, step: float) -> LossGrid:
    """Return one pair whose curve is nowhere below that of the whole term."""
    one, times = term_grid(term, step)
    grid = one
    for _ in range(times - 1):
        grid = grid.convolved(one)
    return grid


@lru_cache(maxsize=4096)
def _grid_of(term: Term, step: float) -> tuple[LossGrid, int]:
    match term:
        case Gaussian(mu=mu):
            return _gaussian(mu, step), 1
        case Discrete(sd=sd, times=times):
            # P at z over Q at z, which is shifted by 1; z to 1 − z exchanges the two, so one order serves both.
            z = np.arange(-math.ceil(_REACH * sd), math.ceil(_REACH * sd) + 2, dtype=np.float64)
            p, q = np.exp(-(z**2) / (2 * sd**2)), np.exp(-((z - 1) ** 2) / (2 * sd**2))
            losses = (1 - 2 * z) / (2 * sd**2)
            return Outcomes(p / p.sum(), q / p.sum(), losses, losses).spread(step, infinity=_OUTSIDE), times
        case DiscreteLaplace(scale=scale, times=times):
            one = 1.0 / scale * ROUND_UP
            return (two_losses(one, times, step), 1) if times <= _MOST_WAYS else (two_losses(one, 1, step), times)
        case Laplace(epsilon=epsilon):
            return _laplace(epsilon, step), 1
        case Pure(epsilon=epsilon):
            # Randomised response dominates whatever is ε-private.
            return two_losses(epsilon, 1, step), 1
        case Revealed(chance=chance):
            return LossGrid(0, step, np.array([1.0 - chance]), chance), 1
    raise TypeError(f"There is no grid of a {type(term).__name__}.")


def two_losses(epsilon: float, times: int, step: float) -> LossGrid:
    """Return the pair that loses ε or −ε, a number of times: geometric counts shifted by 1, or randomised response."""
    wins = np.arange(times + 1, dtype=np.float64)
    losses = (2.0 * wins - times) * epsilon
    log_ways = np.log([float(math.comb(times, won)) for won in range(times + 1)]) - times * math.log1p(
        math.exp(-epsilon)
    )
    p, q = np.exp(log_ways - (times - wins) * epsilon), np.exp(log_ways - wins * epsilon)
    return Outcomes(p, q, losses, losses).spread(step, infinity=0.0)


def _edges(low: float, high: float, step: float) -> NDArray[np.float64]:
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64) * step


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
