r"""The law of a sum of k Laplace numbers, continuous or on the integers: densities and tails without cancellation.

Characteristic functions split into partial fractions, all with positive weights. For x ≥ 0 the law of the sum is a
mixture of gamma laws (or, on the integers, of negative binomial laws) of shapes a = 1..k:

=============  =================================================  ======================================================
law of a draw  P(sum ≥ x), x ≥ 0                                  weights
=============  =================================================  ======================================================
Laplace        Σ_a w_a Σ_{i<a} e^{−x} x^i/i!                      w_a = C(2k−1−a, k−a)/2^{2k−a}
geometric      Σ_a w_a Σ_{i<a} α^x q^i C(x+i−1, i), q = 1 − α     w_a = c_{k−a}/(1+α)^{2k−a}
=============  =================================================  ======================================================

with x in units of the scale, α = e^{−1/scale} and c_m = Σ_j C(k, j) C(m−1, j−1) α^{2j}: the coefficient of v^m in
(1 + α² v/(1 − v))^k, that is (1 − α/z)^{−k} expanded about the pole z = 1/α. The inner sums are the tails of a gamma
and a negative binomial law of whole shape. Every term is positive, so numbers are right to some 1e-13 of themselves.

Both laws are log-concave, being convolutions of log-concave ones (Ibragimov, 1956; Keilson and Gerber, 1971, on the
integers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SummedLaw:
    """The sum of `draws` independent integers, P(z) ∝ exp(−|z|/scale).

    Examples
    --------
    >>> one = SummedLaw(draws=1, scale=1.0)
    >>> round(float(one.log_ratio(np.array([3.0]), 1.0)[0]), 12), round(float(one.tail(np.array([0.0]))[0]), 6)
    (1.0, 0.731059)
    """

    draws: int
    scale: float

    def tail(self, x: Array) -> Array:
        """Return P(sum ≥ x) at whole numbers x."""
        upper = self._upper(np.where(x > 0.0, x, 1.0 - x))
        return np.asarray(np.where(x > 0.0, upper, 1.0 - upper))

    def log_ratio(self, x: Array, shift: float) -> Array:
        """Return log P(x − shift) − log P(x), which rises with x."""
        near, far = np.abs(x - shift), np.abs(x)
        return np.asarray((far - near) / self.scale + self._log_polynomial(near) - self._log_polynomial(far))

    def log_mass(self, x: Array) -> Array:
        """Return log P(x) at whole numbers x."""
        return np.asarray(-np.abs(x) / self.scale + self._log_polynomial(np.abs(x)))

    def places(self, points: Array) -> Array:
        """Return where the law can be cut: whole numbers."""
        return np.unique(np.ceil(points))

    def _upper(self, x: Array) -> Array:
        steps = np.arange(1.0, self.draws)
        ratio = -math.expm1(-1.0 / self.scale) * (x[:, None] + steps - 1.0) / steps
        return _mixed(np.log(ratio), -x / self.scale, self._weights())

    def _log_polynomial(self, x: Array) -> Array:
        q = -math.expm1(-1.0 / self.scale)
        steps = np.arange(1.0, self.draws)
        return _log_mixed(np.log1p(x[:, None] / steps) + math.log(q), self._weights()) + math.log(q)

    def _weights(self) -> Array:
        return _discrete_weights(self.draws, math.exp(-1.0 / self.scale))


@dataclass(frozen=True, slots=True)
class SummedLaplace:
    """The sum of `draws` independent Laplace numbers of scale 1.

    Examples
    --------
    >>> round(float(SummedLaplace(1).tail(np.array([1.0]))[0]), 6)  # e^−1/2
    0.18394
    """

    draws: int

    def tail(self, x: Array) -> Array:
        """Return P(sum ≥ x)."""
        upper = self._upper(np.abs(x))
        return np.asarray(np.where(x > 0.0, upper, 1.0 - upper))

    def log_ratio(self, x: Array, shift: float) -> Array:
        """Return log f(x − shift) − log f(x), f the density, which rises with x."""
        near, far = np.abs(x - shift), np.abs(x)
        return np.asarray(far - near + self._log_polynomial(near) - self._log_polynomial(far))

    def log_mass(self, x: Array) -> Array:
        """Return the log of the density at x."""
        return np.asarray(-np.abs(x) + self._log_polynomial(np.abs(x)))

    def places(self, points: Array) -> Array:
        """Return where the law can be cut: anywhere."""
        return np.unique(points)

    def _upper(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            ratio = np.log(x[:, None]) - np.log(np.arange(1.0, self.draws))
        return _mixed(ratio, -x, self._weights())

    def _log_polynomial(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            ratio = np.log(x[:, None]) - np.log(np.arange(1.0, self.draws))
        return _log_mixed(ratio, self._weights())

    def _weights(self) -> Array:
        return _continuous_weights(self.draws)


def _mixed(log_ratio: Array, log_first: Array, weights: Array) -> Array:
    """Return Σ_a w_a Σ_{i<a} e^{first} Π_{j≤i} ratio_j: each term counts for all shapes above its index."""
    above = np.cumsum(weights[::-1])[::-1]
    terms = np.concatenate([log_first[:, None], log_first[:, None] + np.cumsum(log_ratio, axis=1)], axis=1)
    return np.asarray(np.exp(terms) @ above)


def _log_mixed(log_ratio: Array, weights: Array) -> Array:
    """Return log Σ_a w_a Π_{j<a} ratio_j."""
    start = np.zeros((len(log_ratio), 1))
    with np.errstate(divide="ignore"):
        logs = np.concatenate([start, np.cumsum(log_ratio, axis=1)], axis=1) + np.log(weights)
    largest = logs.max(axis=1, keepdims=True)
    return np.asarray(largest[:, 0] + np.log(np.exp(logs - largest).sum(axis=1)))


@lru_cache(maxsize=64)
def _continuous_weights(k: int) -> Array:
    return np.array([math.comb(2 * k - 1 - a, k - a) / 2 ** (2 * k - a) for a in range(1, k + 1)])


@lru_cache(maxsize=64)
def _discrete_weights(k: int, alpha: float) -> Array:
    m, j = np.arange(1, k)[:, None], np.arange(1, k + 1)[None, :]
    ways = _binomials(2 * k)
    rest = (ways[k, j] * ways[m - 1, j - 1] * alpha ** (2.0 * j)).sum(axis=1)
    return np.asarray(np.concatenate([[1.0], rest])[::-1] / (1.0 + alpha) ** (2.0 * k - np.arange(1.0, k + 1)))


@lru_cache(maxsize=8)
def _binomials(size: int) -> Array:
    """Return C(n, j) for n, j < `size`/2 + 1, 0 where j > n."""
    last = size // 2 + 1
    table = np.zeros((last, last))
    table[:, 0] = 1.0
    for n in range(1, last):
        table[n, 1 : n + 1] = table[n - 1, 1 : n + 1] + table[n - 1, :n]
    return table
