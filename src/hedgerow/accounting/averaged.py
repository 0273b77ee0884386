r"""Sums of k Laplace numbers: their law without cancellation, and what it costs when the sum is moved.

The law
-------
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

The price of one number (proven, exact up to rounding)
------------------------------------------------------
Noise Z with a log-concave law, on the line or on a lattice, against Z moved by r > 0: the ratio f(x − r)/f(x) rises
with x, so the best event is an upper tail and δ(ε) = P(Z ≥ t − r) − e^ε P(Z ≥ t) at the least t where the log of the
ratio exceeds ε. For fixed t the first term rises with r, so δ does: the farthest movement is the worst. The law is
symmetric, so t → r − t exchanges the two neighbours, and one direction serves both. No loss exceeds r/scale: the curve
ends there, at δ = 0. Two numbers with independent noise are two such pairs, composed.

The price of a vector (proven; an upper bound, exact where one number alone moves)
----------------------------------------------------------------------------------
Numbers with independent noise move by s_1, s_2, … scales. Let G be the tail of the law on the line at scale 1. The best
test that has a false alarm with probability α sees a movement of one number by s with probability
β_s(α) = G(G⁻¹(α) − s), so β_t(β_s(α)) = β_{s+t}(α). Take any event of probability α before the movement and move the
numbers one after the other, with all others as they are: each step raises the probability from whatever it is, α', to
at most β_s(α'). After the last it is at most β_S(α), S = Σ s_i: the vector costs no more than one number moved by S.

On a lattice of W steps a scale, moved by D steps, a number counts with s = (D + 2k)/W. A draw is ⌊W E⌋ − ⌊W E'⌋, E and
E' exponential, so the sum X of k of them is less than k away from W Z, Z the sum on the line. Hence P(X ≥ t) ≥
G((t + k)/W) and P(X ≥ t − D) ≤ G((t − D − k)/W): no upper tail, and so no event, is seen better than with β_s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import ROUND_UP, KnownCurvePair
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve

Array = NDArray[np.float64]
_FAR = 1e-18
_ROUNDOFF = 1e-12  # of a tail, relative: the sums of positive terms below lose far less


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

    @property
    def unit(self) -> float:
        """The scale."""
        return self.scale

    def beyond(self, far: float) -> float:
        """Return the next place where the law can be cut."""
        return float(math.ceil(far))

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

    @property
    def unit(self) -> float:
        """The scale, 1."""
        return 1.0

    def beyond(self, far: float) -> float:
        """Return the place itself, where the law can be cut."""
        return far

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


def moved_curve(law: SummedLaw | SummedLaplace, shift: float, pure: float, *, least_dots: int = 1000) -> KnownCurvePair:
    """Return the curve of the law against itself moved by `shift`; no loss exceeds `pure`.

    It is exact at about `least_dots` values of ε, more for many draws, and a chord, hence an upper bound, between.

    >>> one = moved_curve(SummedLaplace(1), 2.0, 2.0)  # plain Laplace: δ(ε) = 1 − e^((ε − 2)/2)
    >>> bool(abs(one.curve.delta_upper(1.0) / (1 - np.exp(-0.5)) - 1) < 1e-3)
    True
    """
    pure *= ROUND_UP
    if pure > LOSS_CAP:
        return KnownCurvePair(Curve(1.0, np.ones(2)), pure)
    count = math.ceil(least_dots * max(1.0, math.sqrt(law.draws / 50.0)))
    # The ratio rises fastest where one of the two laws has its middle; out to there dots lie densest.
    far = 50.0 * law.unit
    while float(law.tail(np.array([float(math.floor(far))]))[0]) > _FAR:
        far *= 1.25
    ends = (2.0 * shift, law.beyond(far) + shift)
    at = law.places(np.concatenate([np.linspace(0.5 * shift, end, count) for end in ends]))
    losses = np.clip(np.maximum.accumulate(law.log_ratio(at, shift)), 0.0, pure)
    first, second = law.tail(at - shift), law.tail(at)
    delta = first - np.exp(losses) * second + _ROUNDOFF * first
    # Up to the first loss the best event is the first tail, and δ is linear in e^ε there.
    losses = np.concatenate([[0.0], losses])
    delta = np.concatenate([[float(first[0] - second[0]) + _ROUNDOFF], np.maximum(delta, 0.0)])
    step = pure / count
    grid = np.arange(count + 1) * step
    # Chords in e^ε lie above a convex curve; e^(ε − ε₀) keeps the numbers in range.
    chords = np.interp(np.exp(grid - pure), np.exp(losses - pure), delta)
    chords[-1] = 0.0
    return KnownCurvePair(Curve(step, np.minimum(1.0, chords * ROUND_UP)), pure)


def gathered_curve(draws: int, moved: float, steps: float) -> Curve:
    """Return the curve of any vector of numbers on lattices, of which the movements add up to `moved` scales.

    `steps` is the sum of the lattice steps of all numbers that move, each in units of its scale.

    >>> alone = moved_curve(SummedLaplace(3), 1.0, 1.0).curve
    >>> bool(abs(gathered_curve(3, 1.0, 1e-6).delta_upper(0.5) / alone.delta_upper(0.5) - 1.0) < 1e-3)
    True
    """
    farthest = moved + 2.0 * draws * steps
    return moved_curve(SummedLaplace(draws), farthest, farthest).curve


def twice(curve: Curve, times: int = 2) -> Curve:
    """Return the curve of two independent pairs of this one, or of so many."""
    return Curve(curve.step, composed_curve([(curve.loss_grid(), times)]))


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
