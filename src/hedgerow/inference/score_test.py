"""Intervals by inverting a score test: {θ : (A − Bθ)² ≤ z²·Var(A − Bθ)}. For counts, proportions, means and sums.

A and B are noisy totals and Var is a quadratic in θ, so the interval is the solution of one quadratic inequality
(moments.md §2; Fieller 1954 where B is noisy, Wilson 1927 for a proportion without noise). It needs no division by a
noisy count, covers where a plug-in interval does not, and grows to everything possible as the count drowns in noise.

=================  =======  =======  ==========================  =========================================
statistic          A        B        sampling variance           noise variance
=================  =======  =======  ==========================  =========================================
mean (θ − c)       Σ(x−c)   N        N·v                         s_A² + θ² s_B²
count              N        1        θ, or θ − θ²/n              s_A²
proportion         n_v      N        Nθ − Nθ²                    s²(1 − 2θ + 2θ²), or s² where N is public
sum                Σx       1        v                           s_A²
=================  =======  =======  ==========================  =========================================

The formulas are written once, for the arrays of a whole table (`QuadraticTest`); an estimate holds those of its own
cell.

Skewness. A third moment is never released, but the mean and the variance of values in [L, U] bound it. With mean m,
variance v, d = U − m and e = m − L, μ₃/v lies in [v/e − e, d − v/d]: for the upper end take the expectation of
(U − X)(X − m + v/d)² ≥ 0, for the lower one its mirror image. Both ends are attained, by two values of which one is a
bound. With r = v/(de) ≤ 1, the share of the largest variance (Bhatia & Davis 2000), their middle is (1 + r)(d − e)/2
and half their distance (1 − r)(d + e)/2: a rare 0/1 value has r = 1 and one possible skewness, a value in the middle of
its range many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import quantiles_of

Floats = NDArray[np.float64]
# A number of records that is itself random (Poisson) is the limit of n records nearly all of which add nothing.
POISSON = 1e12


def skewness_range(mean: Floats, variance: Floats, low: Floats | float, high: Floats | float) -> tuple[Floats, Floats]:
    """Return the middle of what μ₃/v can be for values in [low, high], and half the range.

    >>> rare, middling = skewness_range(np.array([0.01, 0.4]), np.array([0.0099, 0.04]), 0.0, 1.0)
    >>> rare.round(3).tolist(), middling.round(3).tolist()
    ([0.98, 0.117], [0.0, 0.417])
    """
    above, below = np.maximum(high - mean, 0.0), np.maximum(mean - low, 0.0)
    most = above * below
    share = np.where(most > 0.0, np.minimum(variance / np.where(most > 0.0, most, 1.0), 1.0), 1.0)
    return (1.0 + share) * (above - below) / 2.0, (1.0 - share) * (above + below) / 2.0


def correction(
    z: Floats, skew: Floats | float, unsure: Floats | float, sampling: Floats, total: Floats
) -> tuple[Floats, Floats]:
    """Return by how much the sampling variance grows with the total, and the factor by which it is widened.

    Johnson (1978) tests a mean of skewed values by t + γ(1 + 2t²)/(6√n), which holds its level to second order. The
    same shift of both ends is had from a sampling variance that grows by (2/3 + 1/(3z²))·μ₃/v for each unit of the
    total, as that of a binomial total does (Cai 2005), and it does not vanish with the estimated variance. A skewness
    that is unknown within ± `unsure` leaves a shift of at most Δ = (1 + 2z²)/6 · unsure·sampling/total^(3/2) standard
    errors; an interval wider by the factor 1 + Δ²/2 covers whichever it is, to the same order, and so does one that
    reaches Δ further at both ends, 1 + Δ/z, also where Δ is large. The smaller of the two factors is taken.

    Parameters
    ----------
    z : float array
        The critical value.
    skew, unsure : float array or float
        From `skewness_range`, in units of the total.
    sampling, total : float array
        The sampling variance of the total, and that with the noise.

    >>> one = np.array([1.0])
    >>> [part.round(3).tolist() for part in correction(1.96 * one, 1.0, 0.2, 4.0 * one, 4.0 * one)]
    [[0.753], [1.021]]
    """
    spread = np.where(total > 0.0, total, 1.0)
    shift = (1.0 + 2.0 * z**2) / 6.0 * unsure * sampling / spread**1.5
    return skew * (2.0 / 3.0 + 1.0 / (3.0 * z**2)), np.square(1.0 + np.minimum(shift**2 / 2.0, shift / z))


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """constant + linear·θ + square·θ² of each cell; a single number stands for the same in all."""

    constant: Floats | float = 0.0
    linear: Floats | float = 0.0
    square: Floats | float = 0.0

    def at(self, theta: Floats) -> Floats:
        """Return the values at θ, cell by cell."""
        return np.asarray(self.constant + theta * (self.linear + theta * self.square), dtype=np.float64)

    def rows(self, here: slice | NDArray[np.bool_]) -> Quadratic:
        """Return the quadratics of some of the cells."""
        return Quadratic(*(_rows(part, here) for part in (self.constant, self.linear, self.square)))


class SingleTest:
    """What tests of one number have in common: one of its cells is itself."""

    __slots__ = ()

    def row(self, index: int) -> Self:
        """Return the test itself."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticTest:
    """The numbers of many estimates θ̂ = shift + A/B, from which intervals at any level follow, cell by cell.

    A single number stands for the same in all cells. Only ``a`` is always an array: its length is the number of cells.

    Attributes
    ----------
    a, b, shift : float array or float
        A, B, and what is added to θ in the end (the public midpoint, for a mean).
    sampling, noise : Quadratic
        The two parts of Var(A − Bθ).
    low, high : float array or float
        What is possible: the interval is cut there.
    freedom : float array or float
        Degrees of freedom of an estimated sampling variance; infinite where it is a function of θ.
    noise_law : str
        ``"gaussian"``, ``"laplace"`` or ``"averaged-laplace-k"``: see `inference.noise_law`.
    reliable : bool array or bool
        False: the interval is [low, high].
    method : str
        The name of the release's method.
    margin : float array or float
        Added at both ends: the farthest that rounding to an undeclared grid can have moved the target, or half a step
        of noise in whole numbers.
    skew, skew_unsure : float array or float
        μ₃/v of what A adds up, and how far it may lie to either side (`skewness_range`). 0 where the sampling variance
        is a function of θ already.
    """

    a: Floats
    sampling: Quadratic
    noise: Quadratic
    low: Floats | float
    high: Floats | float
    noise_law: str
    method: str
    b: Floats | float = 1.0
    shift: float = 0.0
    freedom: Floats | float = math.inf
    reliable: NDArray[np.bool_] | bool = True
    margin: Floats | float = 0.0
    skew: Floats | float = 0.0
    skew_unsure: Floats | float = 0.0

    def rows(self, here: slice | NDArray[np.bool_]) -> QuadraticTest:
        """Return the numbers of some of the cells."""
        return QuadraticTest(**{part.name: _rows(getattr(self, part.name), here) for part in fields(self)})

    def row(self, index: int) -> QuadraticTest:
        """Return the numbers of one cell."""
        return self.rows(slice(index, index + 1))

    def accepted(self, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level, cut to what is possible.

        An estimate that is not possible is read as the possible one nearest to it. That is nearer to every possible θ,
        so an interval only grows by it, and does not shrink to a point at the end of what is possible, as if the number
        were known there. What is not reliable is not tested: its interval is [low, high].
        """
        low, high = (np.array(np.broadcast_to(end, self.a.shape), np.float64) for end in (self.low, self.high))
        tested = np.broadcast_to(self.reliable, self.a.shape)
        low[tested], high[tested] = self.rows(tested)._not_rejected(level)
        return low, high

    def _not_rejected(self, level: float) -> tuple[Floats, Floats]:
        share, z = self._critical_values(level)
        theta = self._theta()
        sampling = np.maximum(0.0, self.sampling.at(theta))
        noise = np.maximum(0.0, self.noise.at(theta))
        growth, wider = correction(z, self.skew, self.skew_unsure, sampling, sampling + noise)
        constant, linear, square = (
            share * wider * getattr(self.sampling, part) + getattr(self.noise, part)
            for part in ("constant", "linear", "square")
        )
        slope = growth * self.b
        constant, linear = constant - slope * theta, linear + slope
        leading = np.square(self.b) - z**2 * square
        a = self._nearest_possible()
        middle = a * self.b + 0.5 * z**2 * linear
        last = np.square(a) - z**2 * constant
        # Rounding can push the root of a nearly noiseless total below zero.
        root = np.sqrt(np.maximum(0.0, middle**2 - leading * last))
        solved = leading > 0.0
        divisor = np.where(solved, leading, 1.0)
        low = np.where(solved, self.shift + (middle - root) / divisor - self.margin, self.low)
        high = np.where(solved, self.shift + (middle + root) / divisor + self.margin, self.high)
        return np.minimum(np.maximum(low, self.low), self.high), np.maximum(np.minimum(high, self.high), self.low)

    def _theta(self) -> Floats:
        """Return A/B, moved to what is possible; where B is 0, which leaves all that is possible, any number serves."""
        b = np.asarray(self.b, dtype=np.float64)
        theta = self.a / np.where(b != 0.0, b, 1.0)
        return np.minimum(np.maximum(theta, self.low - self.shift), self.high - self.shift)

    def _nearest_possible(self) -> Floats:
        """Return A moved to the nearest B·θ with a possible θ, where B > 0."""
        b = np.asarray(self.b, dtype=np.float64)
        with np.errstate(invalid="ignore"):  # 0 · ∞, where B is 0 and nothing is moved
            low, high = b * (self.low - self.shift), b * (self.high - self.shift)
        return np.where(b > 0.0, np.minimum(np.maximum(self.a, low), high), self.a)

    def _critical_values(self, level: float) -> tuple[Floats, Floats]:
        """Return the factor on the sampling variance for its freedom, and the critical value z of the whole."""
        from hedgerow.special import ndtri, stdtrit

        z = np.full_like(self.a, ndtri(0.5 + level / 2))
        known = np.isfinite(self.freedom)
        student = stdtrit(np.where(known, np.maximum(self.freedom, 1.0), 1.0), 0.5 + level / 2)
        factor = np.where(known, np.square(student / z), 1.0)
        if self.noise_law != "gaussian":
            theta = self._theta()
            sampling = np.sqrt(np.maximum(0.0, self.sampling.at(theta)))
            noise = np.sqrt(np.maximum(0.0, self.noise.at(theta)))
            total = np.hypot(sampling, noise)
            quantile = quantiles_of(self.noise_law, level, sampling, noise) / np.where(total > 0.0, total, 1.0)
            z = np.maximum(z, quantile)
        return factor, z


def _rows(part: Any, here: slice | NDArray[np.bool_]) -> Any:
    if isinstance(part, Quadratic):
        return part.rows(here)
    return part[here] if np.ndim(part) else part
