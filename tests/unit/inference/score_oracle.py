"""Score intervals by roots of the inequality itself and by integrals, one number at a time: what tests compare with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import integrate, optimize, stats


def quantile(law: str, level: float, sampling: float, noise: float) -> float:
    """Return h with P(|G + N| ≤ h) = level, G normal of sd `sampling` and N noise of sd `noise`, by quadrature."""
    normal = float(stats.norm.ppf(0.5 + level / 2.0))
    # Noise that is none but for rounding: on some processors the square root of a difference of equal numbers is not 0.
    if law == "gaussian" or noise <= 1e-7 * sampling:
        return normal * math.hypot(sampling, noise)
    draws = 1 if law == "laplace" else int(law.rsplit("-", 1)[1])

    def beyond(h: float) -> float:
        # A sum of k Laplace numbers is a normal number whose variance is a gamma number of shape k.
        def at(log: float) -> float:
            gamma = math.exp(log)
            spread = math.sqrt(sampling**2 + noise**2 * gamma / draws)
            return math.exp(draws * log - gamma - math.lgamma(draws)) * 0.5 * math.erfc(h / spread / math.sqrt(2.0))

        return float(integrate.quad(at, -40.0, 8.0, epsabs=0.0, epsrel=1e-12, limit=500, points=[math.log(draws)])[0])

    most = 40.0 * math.hypot(sampling, noise)
    return float(optimize.brentq(lambda h: math.log(2.0 * beyond(h) / (1.0 - level)), 1e-6 * most, most, xtol=1e-13))


@dataclass(frozen=True, kw_only=True)
class Score:
    """One score test: (A − Bθ)² ≤ z²·(S(θ) + V(θ)), S and V given by their three coefficients."""

    a: float
    b: float = 1.0
    sampling: tuple[float, float, float] = (0.0, 0.0, 0.0)
    noise: tuple[float, float, float] = (0.0, 0.0, 0.0)
    low: float = -math.inf
    high: float = math.inf
    law: str = "gaussian"
    shift: float = 0.0
    freedom: float = math.inf
    margin: float = 0.0
    skew: float = 0.0
    unsure: float = 0.0

    def ends(self, level: float) -> tuple[float, float]:
        """Return the two ends."""
        at = np.polynomial.polynomial.polyval
        least, most = self.low - self.shift, self.high - self.shift
        theta = min(max(self.a / self.b if self.b else 0.0, least), most)
        drawn, added = max(float(at(theta, self.sampling)), 0.0), max(float(at(theta, self.noise)), 0.0)
        normal = float(stats.norm.ppf(0.5 + level / 2.0))
        share = (float(stats.t.ppf(0.5 + level / 2.0, max(self.freedom, 1.0))) / normal) ** 2
        z = normal
        if self.law != "gaussian" and drawn + added > 0.0:
            z = max(z, quantile(self.law, level, math.sqrt(drawn), math.sqrt(added)) / math.sqrt(drawn + added))
        # Johnson's shift, and what an unknown skewness adds to the width.
        growth = self.skew * (2.0 / 3.0 + 1.0 / (3.0 * z * z))
        total = drawn + added
        moved = (1.0 + 2.0 * z * z) / 6.0 * self.unsure * drawn / total**1.5 if total > 0.0 else 0.0
        wider = (1.0 + min(moved * moved / 2.0, moved / z)) ** 2
        a = min(max(self.a, self.b * least), self.b * most) if self.b > 0.0 else self.a
        variance = np.array(self.sampling) * share * wider + np.array(self.noise)
        variance = variance + growth * self.b * np.array([-theta, 1.0, 0.0])
        # (A − Bθ)² − z²·variance(θ), a polynomial in θ.
        curve = np.array([a * a, -2.0 * a * self.b, self.b * self.b]) - z * z * variance
        if curve[2] <= 0.0:
            return self.low, self.high
        roots = np.polynomial.polynomial.polyroots(curve)
        roots = np.sort(roots.real)
        low, high = self.shift + roots[0] - self.margin, self.shift + roots[1] + self.margin
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)
