r"""Privacy-loss distributions on a uniform grid, and the curves read off them; every number is an upper bound.

A pair (P, Q) has the curve δ(ε) = sup_S P(S) − e^ε Q(S) = E_Q[(L − e^ε)₊] with L = dP/dQ, a convex function of e^ε.
Three facts carry this file:

* **spreading** an outcome of likelihood ratio L = e^l over two outcomes a ≤ l ≤ b so that its P-mass and its Q-mass
  are kept is a mean-preserving spread of L under Q, so no δ(ε) goes down ("connect the dots"); moving P-mass up or
  dropping Q-mass does not lower δ(ε) either;
* outcomes left out are counted as certain distinctions: their P-mass is the mass at +∞;
* δ is convex in e^ε, so the chord between two upper bounds is an upper bound.

`mixture` builds such grids for resampled releases, `loss_fold` composes them, `compose` prices other mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LOSS_CAP = 600.0
"""Losses above this count as +∞: e^ε must stay a float, and a price above 600 protects nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class LossGrid:
    """A dominating pair as the law under P of its privacy loss log dP/dQ.

    Attributes
    ----------
    start : int
        The first loss is ``start * step``.
    step : float
        Width of the grid.
    mass : float array
        ``mass[j]`` is the P-probability of the loss ``(start + j) * step``.
    infinity : float
        P-probability of an outcome that Q cannot produce (or that was left out).

    Examples
    --------
    >>> grid = LossGrid(-1, 0.5, np.array([0.3, 0.2, 0.5]), 0.0)
    >>> grid.losses().tolist()
    [-0.5, 0.0, 0.5]
    """

    start: int
    step: float
    mass: Array
    infinity: float

    def losses(self) -> Array:
        """Return the losses in order, one for each entry of `mass`."""
        return np.arange(self.start, self.start + self.mass.size, dtype=np.float64) * self.step

    def variance(self) -> float:
        """Return the variance of the finite part of the loss."""
        losses, total = self.losses(), max(float(self.mass.sum()), 1e-300)
        mean = float((losses * self.mass).sum()) / total  # no @: its threads cost more than they give
        return float(((losses - mean) ** 2 * self.mass).sum()) / total

    def convolved(self, other: LossGrid) -> LossGrid:
        """Return the loss of both pairs together; no mass is lower than the true one."""
        # Direct, not by FFT: all terms are positive, so every mass is right to its last digits, and small ones count.
        mass = np.convolve(self.mass, other.mass) * (1.0 + 1e-12)
        infinity = self.infinity + other.infinity * (1.0 - self.infinity)
        return LossGrid(self.start + other.start, self.step, mass, infinity)

    def trimmed(self, negligible: float) -> LossGrid:
        """Move what is negligible at the upper end to +∞ and at the lower end up: neither lowers any δ."""
        mass = self.mass
        above = np.cumsum(mass[::-1])[::-1]
        stop = max(1, int(np.searchsorted(-above, -negligible, side="right")))
        lost = float(above[stop]) if stop < mass.size else 0.0
        below = np.cumsum(mass[:stop])
        first = min(int(np.searchsorted(below, negligible, side="right")), stop - 1)
        trimmed = mass[first:stop].copy()
        trimmed[0] = below[first]
        return LossGrid(self.start + first, self.step, trimmed, self.infinity + lost)


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes of a pair: their P-masses, Q-masses, and bounds of the loss on each; arrays of one shape.

    A `q` that is too small, or underflows to 0, moves mass to `high`.
    """

    p: Array
    q: Array
    low: Array
    high: Array

    @classmethod
    def of_losses(cls, p: Array, losses: Array) -> Self:
        """Return outcomes whose losses are known exactly; any `q` serves, since nothing lies between the bounds."""
        return cls(p, p, losses, losses)

    def spread(self, step: float, *, infinity: float, negligible: float = 0.0) -> LossGrid:
        r"""Put the outcomes on a grid without lowering any δ(ε).

        An outcome of P-mass p and Q-mass q on which the loss lies in [low, high] is first spread over its two ends (the
        share w at `high` solves p[(1 − w)e^{−low} + w e^{−high}] = q), then each end over the two grid losses around
        it.

        Parameters
        ----------
        step : float
            Width of the grid.
        infinity : float
            P-mass that the outcomes leave out.
        negligible : float
            Outcomes of at most this P-mass are left out, too, and their mass put at +∞.

        Examples
        --------
        >>> one = np.array([0.5])
        >>> grid = Outcomes(one, one, -one, one).spread(1.0, infinity=0.5)
        >>> bool(abs(grid.mass.sum() - 0.5) < 1e-15)
        True
        """
        lost = ~(self.high <= LOSS_CAP) | (self.p <= negligible)  # the first also where a loss is not a number
        infinity = infinity + float(self.p[lost].sum())
        p, q, low, high = (numbers[~lost] for numbers in (self.p, self.q, self.low, self.high))
        low = np.maximum(low, -LOSS_CAP)  # raising a loss never lowers δ
        high = np.maximum(high, low)
        gap = high - low
        with np.errstate(divide="ignore", over="ignore"):
            short = -np.expm1(np.log(q) - np.log(p) + low)
        upper = np.clip(np.divide(short, -np.expm1(-gap), out=np.ones_like(gap), where=gap > 0.0), 0.0, 1.0)
        losses = np.concatenate([low, high])
        masses = np.concatenate([p * (1.0 - upper), p * upper])
        return _on_grid(losses, masses, step=step, infinity=infinity)


def _on_grid(losses: Array, masses: Array, *, step: float, infinity: float) -> LossGrid:
    if losses.size == 0:
        return LossGrid(0, step, np.zeros(1), infinity)
    below = np.floor(losses / step)
    share = np.clip(np.expm1(below * step - losses) / math.expm1(-step), 0.0, 1.0)
    start = int(below.min())
    index = (below - start).astype(np.int64)
    size = int(index.max()) + 2
    mass = np.zeros(size)
    mass += np.bincount(index, masses * (1.0 - share), size)
    mass += np.bincount(index + 1, masses * share, size)
    used = np.flatnonzero(mass)
    if used.size == 0:
        return LossGrid(0, step, np.zeros(1), infinity)
    return LossGrid(start + int(used[0]), step, mass[used[0] : used[-1] + 1], infinity)


def joined(grids: Sequence[LossGrid]) -> LossGrid:
    """Return the sum of grids of one step that hold disjoint sets of outcomes."""
    start = min(grid.start for grid in grids)
    mass = np.zeros(max(grid.start + grid.mass.size for grid in grids) - start)
    for grid in grids:
        mass[grid.start - start : grid.start - start + grid.mass.size] += grid.mass
    return LossGrid(start, grids[0].step, mass, sum(grid.infinity for grid in grids))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    r"""Upper bound of δ(ε) of a release whose pairs come in both orders, and of ε(δ).

    Stored for ε ≥ 0; neighbours are unordered, so δ(−ε) = 1 − e^{−ε} + e^{−ε} δ(ε) gives the rest.

    Attributes
    ----------
    step : float
        Width of the grid of ε.
    delta : float array, not increasing
        ``delta[j]`` is an upper bound of δ(``j * step``); between grid points the chord in e^ε is one.

    Examples
    --------
    >>> curve = Curve(0.5, np.array([0.2, 0.1, 0.0]))
    >>> float(curve.delta_upper(0.5)), curve.epsilon_upper(0.05) < 1.0, curve.epsilon_upper(0.3)
    (0.1, True, 0.0)
    """

    step: float
    delta: Array
    _largest: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        delta = np.minimum(np.minimum.accumulate(np.asarray(self.delta, dtype=np.float64)), 1.0)
        delta.setflags(write=False)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "_largest", self.step * (delta.size - 1))

    @overload
    def delta_upper(self, epsilon: float) -> float: ...
    @overload
    def delta_upper(self, epsilon: Array) -> Array: ...
    def delta_upper(self, epsilon: float | Array) -> float | Array:
        """Return an upper bound of δ(ε), for any real ε (scalar or array)."""
        given = np.asarray(epsilon, dtype=np.float64)
        size = np.abs(given)
        below = np.minimum(np.floor(size / self.step), self.delta.size - 1).astype(np.int64)
        above = np.minimum(below + 1, self.delta.size - 1)
        share = np.clip(np.expm1(np.minimum(size - below * self.step, self.step)) / math.expm1(self.step), 0.0, 1.0)
        delta = self.delta[below] + share * (self.delta[above] - self.delta[below])
        delta = np.where(given < 0.0, -np.expm1(-size) + np.exp(-size) * delta, delta)
        return float(delta) if delta.ndim == 0 else delta

    def deltas_upper(self, epsilon: Array) -> Array:
        """Return δ of many ε, all at once."""
        return self.delta_upper(epsilon)

    @overload
    def epsilon_upper(self, delta: float) -> float: ...
    @overload
    def epsilon_upper(self, delta: Array) -> Array: ...
    def epsilon_upper(self, delta: float | Array) -> float | Array:
        """Return an upper bound of the least ε ≥ 0 with δ(ε) ≤ `delta`; +∞ where the grid reaches no such ε."""
        target = np.asarray(delta, dtype=np.float64)
        first = np.searchsorted(-self.delta, -target, side="left")  # the first grid point at or under the target
        reached = first < self.delta.size
        here = np.minimum(first, self.delta.size - 1)
        before = np.maximum(here - 1, 0)
        drop = self.delta[before] - self.delta[here]
        share = np.divide(self.delta[before] - target, drop, out=np.ones_like(target), where=drop > 0.0)
        # The last nudge pays for the rounding of this inversion.
        inside = before * self.step + np.log1p(np.clip(share, 0.0, 1.0) * math.expm1(self.step)) + 1e-12
        epsilon = np.where(first == 0, 0.0, np.where(reached, inside, np.inf))
        return float(epsilon) if epsilon.ndim == 0 else epsilon

    def loss_grid(self, *, step: float | None = None) -> LossGrid:
        r"""Return a symmetric pair whose curve is at least this one at every real ε, to compose with other releases.

        The dots (e^{ε_j}, δ_j) and the mirror point (−1, 1) are joined by their lower convex hull: the greatest convex
        function under the dots, hence still above the true curve. A kink of size q at e^{ε_j} is a Q-mass q and a
        P-mass e^{ε_j}·q at loss ε_j, and by symmetry a P-mass q at −ε_j; δ at the last dot is the mass at +∞.

        Parameters
        ----------
        step : float, optional
            Width of the grid; the curve's own when not given.
        """
        step = self.step if step is None else step
        count = max(1, math.ceil(self._largest / step - 1e-9))
        losses = np.arange(count + 1, dtype=np.float64) * step
        return _connect_the_dots(losses, self.delta_upper(losses), step=step)


def _connect_the_dots(losses: Array, delta: Array, *, step: float) -> LossGrid:
    abscissa = np.concatenate([[-1.0], np.exp(losses)]).tolist()
    ordinate = np.concatenate([[1.0], delta]).tolist()
    hull, slopes = lower_hull(abscissa, ordinate)
    kinks = np.diff(np.append(np.asarray(slopes), 0.0))
    q = np.zeros(losses.size)
    q[np.asarray(hull[1:]) - 1] = np.maximum(kinks, 0.0)
    q[0] = 0.0  # what remains at loss 0 is found below, so that the total is 1
    p = q * np.exp(losses)
    infinity = float(delta[-1])
    mass = np.concatenate([q[:0:-1], [max(0.0, 1.0 - infinity - float(p.sum()) - float(q.sum()))], p[1:]])
    return LossGrid(-(losses.size - 1), step, mass, infinity)


def lower_hull(x: Sequence[float], y: Sequence[float]) -> tuple[list[int], list[float]]:
    """Return the corners of the lower convex hull from left to right, and the slopes between them."""
    hull, slopes = [0], [-math.inf]
    for here in range(1, len(x)):
        while (slope := (y[here] - y[hull[-1]]) / (x[here] - x[hull[-1]])) <= slopes[-1]:
            hull.pop()
            slopes.pop()
        hull.append(here)
        slopes.append(slope)
    return hull, slopes[1:]


def highest(curves: Sequence[Curve]) -> Curve:
    """Return the pointwise maximum, itself a curve: what any one of several releases or pairs may cost."""
    if len(curves) == 1:
        return curves[0]
    step = min(curve.step for curve in curves)
    largest = max(curve.step * (curve.delta.size - 1) for curve in curves)
    at = np.arange(math.ceil(largest / step - 1e-9) + 1, dtype=np.float64) * step
    return Curve(step, np.max([curve.delta_upper(at) for curve in curves], axis=0))
