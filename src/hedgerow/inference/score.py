"""Intervals by inverting a score test: {θ : (A − Bθ)² ≤ z²·Var(A − Bθ)}. For counts, proportions, means and sums.

A and B are noisy totals and Var is a quadratic in θ, so the interval is the solution of one quadratic inequality
(theory §1.5; Fieller 1954 where B is noisy, Wilson 1927 for a proportion without noise). It needs no division by a
noisy count, covers where a plug-in interval does not, and grows to everything possible as the count drowns in noise.

=================  =======  =======  ==========================  =========================================
statistic          A        B        sampling variance           noise variance
=================  =======  =======  ==========================  =========================================
mean (θ − c)       Σ(x−c)   N        N·v                         s_A² + θ² s_B²
count              N        1        θ, or θ − θ²/n              s_A²
proportion         n_v      N        Nθ − Nθ²                    s²(1 − 2θ + 2θ²), or s² where N is public
sum                Σx       1        v                           s_A²
=================  =======  =======  ==========================  =========================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Quadratic", "ScoreBasis", "noise_quantile"]


@dataclass(frozen=True, slots=True)
class Quadratic:
    """constant + linear·θ + square·θ²."""

    constant: float = 0.0
    linear: float = 0.0
    square: float = 0.0

    def at(self, theta: float) -> float:
        """Return the value at θ."""
        return self.constant + theta * (self.linear + theta * self.square)


@dataclass(frozen=True, slots=True)
class ScoreBasis:
    """The numbers of one estimate θ̂ = shift + A/B, from which an interval at any level follows.

    Attributes
    ----------
    a, b, shift : float
        A, B, and what is added to θ in the end (the public midpoint, for a mean).
    sampling, noise : Quadratic
        The two parts of Var(A − Bθ).
    low, high : float
        What is possible: the interval is cut there.
    freedom : float
        Degrees of freedom of an estimated sampling variance; infinite where it is a function of θ.
    noise_law : str
        ``"gaussian"`` or ``"laplace"``.
    reliable : bool
        False: the interval is [low, high].
    method : str
        The name of the release's method.
    margin : float
        Added at both ends: the farthest that rounding to an undeclared grid can have moved the target.
    """

    a: float
    b: float
    shift: float
    sampling: Quadratic
    noise: Quadratic
    low: float
    high: float
    freedom: float
    noise_law: str
    reliable: bool
    method: str
    margin: float = 0.0

    @property
    def methods(self) -> tuple[str, ...]:
        """One method: that of the release."""
        return (self.method,)

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return the interval at a level, cut to what is possible."""
        if not self.reliable:
            return self.low, self.high
        sampling_share, z = self._critical_values(level)
        constant, linear, square = (
            sampling_share * getattr(self.sampling, part) + getattr(self.noise, part)
            for part in ("constant", "linear", "square")
        )
        leading = self.b**2 - z**2 * square
        middle = self.a * self.b + 0.5 * z**2 * linear
        last = self.a**2 - z**2 * constant
        if leading <= 0.0:
            return self.low, self.high
        # Rounding can push the root of a nearly noiseless total below zero, and an impossible total (a count far below
        # zero) has no solution at all: the nearest possible value is then the whole interval's end.
        root = math.sqrt(max(0.0, middle**2 - leading * last))
        low = self.shift + (middle - root) / leading - self.margin
        high = self.shift + (middle + root) / leading + self.margin
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)

    def _critical_values(self, level: float) -> tuple[float, float]:
        """Return the factor on the sampling variance for its freedom, and the critical value z of the whole."""
        from scipy.special import ndtri, stdtrit

        z = float(ndtri(0.5 + level / 2))
        factor = 1.0
        if math.isfinite(self.freedom):
            factor = (float(stdtrit(max(self.freedom, 1.0), 0.5 + level / 2)) / z) ** 2
        if self.noise_law == "laplace":
            theta = self.a / self.b if self.b else 0.0
            theta = min(max(theta, self.low - self.shift), self.high - self.shift)
            sampling, noise = max(0.0, self.sampling.at(theta)), max(0.0, self.noise.at(theta))
            total = math.sqrt(sampling + noise)
            if total > 0.0:
                z = max(z, noise_quantile(level, math.sqrt(sampling), math.sqrt(noise)) / total)
        return factor, z


def noise_quantile(level: float, sampling_sd: float, noise_sd: float) -> float:
    """Return h with P(|G + L| ≤ h) ≥ level, G normal with sd `sampling_sd`, L Laplace with sd `noise_sd`.

    The tail of the normal-Laplace law in closed form (Reed & Jorgensen 2004), inverted by bisection; the end that
    covers is returned.

    >>> round(noise_quantile(0.95, 0.0, 2**0.5), 3)
    2.996
    >>> round(noise_quantile(0.95, 1.0, 1e-6), 3)
    1.96
    """
    from scipy.special import log_ndtr

    scale = noise_sd / math.sqrt(2.0)

    def beyond(h: float) -> float:
        """P(G + L > h) for h ≥ 0."""
        if sampling_sd <= 1e-9 * noise_sd:
            return 0.5 * math.exp(-h / scale)
        g = h / sampling_sd
        if scale <= 1e-9 * sampling_sd:
            return math.exp(float(log_ndtr(-g)))
        w = sampling_sd / scale
        # E over L of Φ̄((h − L)/s): the normal tail, plus the right exponential's surplus, less the left one's.
        right = 0.5 * math.exp(0.5 * w * w - w * g + float(log_ndtr(g - w)))
        left = 0.5 * math.exp(0.5 * w * w + w * g + float(log_ndtr(-g - w)))
        return math.exp(float(log_ndtr(-g))) + right - left

    tail = (1.0 - level) / 2
    low, high = 0.0, sampling_sd + noise_sd
    while beyond(high) > tail:
        high *= 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if beyond(middle) <= tail else (middle, high)
    return high
