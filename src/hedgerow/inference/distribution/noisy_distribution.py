"""The distribution function of one column in one cell: shares, quantiles and bins with intervals, from noisy counts.

Left of edge i lie G_i = P(X < e_i) of all values; Â_i is the least-squares count of the records there, N̂ of all. For a
share q the error of D_i = Â_i − q·N̂ is known (`errors`) where G_i = q. The interval of a quantile Q = inf{x: F(x) ≥ q}
is found by inversion (Woodruff 1952): with a, b the reaches of D at the level,

    low  = left end of the first leaf t with D_{t+1} + a_{t+1} ≥ 0   (that q is reached within it cannot be excluded),
    high = right end of the last leaf t with D_t − b_t ≤ 0           (that q is not reached before it cannot be).

The leaf that holds Q passes both tests with the chance wanted, wherever Q lies in it, at an atom, beside a gap or at a
bound. The first leaf passes the second test and the last leaf the first one, so the interval is never empty. Leaves and
not points are kept: what is covered is the quantile of the clamped variable itself.

Points come from the least-squares counts made monotone, so they agree with one another: shares add up. Noise moves the
place where the curve reaches a probability far where values are few, so the point of a quantile is the mean of the
places where it reaches q + Z, Z normal with the mean variance of the noise of all edges. It rises with q. Where noise
is small the point is the place where the curve reaches q.

Curves as they might have been released, and the bands that hold all of a distribution function at once.

A curve is drawn as the released one plus a Brownian bridge of n records plus noise of the tree that was released, read
by the same least squares. Nothing but public numbers goes in, so it costs nothing; the seed is fixed, so that whoever
reads the record finds the same errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.distribution.noisy_tree import ErrorLaw, NoisyTree
from hedgerow.inference.distribution.vote_spread import VoteSpread

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
_SAME, _SMALL = 1e-15, 1e-3  # of a share; of a small one 1e-18
_MOST_TRIED = 200
_ROUNDING = 1e-9
_PLACES = 15  # of the noise, over which a point is averaged


@dataclass(frozen=True, slots=True)
class Read:
    """A number read from a distribution, with its interval and the standard deviations of its parts."""

    value: float
    low: float
    high: float
    standard_error: float
    sampling_error: float

    @property
    def privacy_error(self) -> float:
        """What is left of the standard error without sampling."""
        return float(np.sqrt(max(self.standard_error**2 - self.sampling_error**2, 0.0)))


@dataclass(frozen=True, slots=True)
class Cut:
    """A place on the axis: the last edge at or below it, the first at or above it, and the share of values below."""

    below: int
    above: int
    share: float


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of one column in one cell.

    Attributes
    ----------
    edges : float array, (m + 1,)
        e_0 = L to e_m = U: leaf i holds the values in [e_i, e_{i+1}); the last one may be the value U alone.
    left : float array, (m + 1,)
        Â: the least-squares count of the records left of each edge, as it is, monotone or not.
    records : float
        N̂, public or noisy.
    tree : NoisyTree
        What was measured, and how exactly.
    largest : float
        The largest variance of one number with Laplace noise; 0 for Gaussian noise.
    census : bool
        Whether these records are all there is to know, so that sampling error is 0.
    step : float or None
        The distance of the values from L on, if it was declared: points are then such values. None: they need not be.
    averaged : bool
        Whether the point of a quantile is a mean over the noise; else it is where the curve reaches the probability.
    spread : VoteSpread or None
        How shares of votes vary, where units give them; None where each record is one of its own.
    """

    edges: Floats
    left: Floats
    records: float
    tree: NoisyTree
    largest: float
    census: bool
    step: float | None = None
    averaged: bool = True
    spread: VoteSpread | None = None

    @cached_property
    def curve(self) -> Floats:
        """The share left of each edge: monotone, from 0 to 1, nearest to the least-squares shares."""
        from scipy.optimize import isotonic_regression

        raw = np.clip(self.left / max(self.records, 1.0), 0.0, 1.0)
        raw[0], raw[-1] = 0.0, 1.0
        return np.asarray(isotonic_regression(raw).x)

    @cached_property
    def noise_of_shares(self) -> Floats:
        """The variance of the noise of the share left of each edge."""
        records = max(self.records, 1.0)
        return self.tree.prefix_variance(np.clip(self.left / records, 0.0, 1.0)) / records**2

    def effect(self, share: float | Floats, *, careful: bool = True) -> Floats:
        """Return how many times as much a share left of an edge varies as that of records drawn one by one."""
        return np.ones(np.shape(share)) if self.spread is None else self.spread.at(share, careful=careful)

    @property
    def largest_effect(self) -> float:
        """What no effect exceeds: for shares between edges, whose own effect is not known."""
        return 1.0 if self.spread is None else self.spread.most

    def law(self, share: float, effect: float | None = None) -> ErrorLaw:
        """Return the law of the error of counts where the share q lies left; or of another effect."""
        times = float(self.effect(share)) if effect is None else effect
        return ErrorLaw(self.records, share, self.census, self.largest, times)

    @cached_property
    def ends(self) -> Floats:
        """The edges, between which each value of a declared grid takes as much of its leaf as any other one."""
        if self.step is None:
            return self.edges
        half = self.step / 2.0
        return np.concatenate([[self.edges[0] - half], self.edges[1:-1], [self.edges[-1] + half]])

    @cached_property
    def ends_of_leaves(self) -> tuple[Floats, Floats]:
        """The least and the greatest value that each leaf may hold: on a declared grid, values of the grid."""
        least, greatest = self.edges[:-1].copy(), self.edges[1:].copy()
        if self.step is not None:
            least[1:] += self.step / 2.0
            greatest[:-1] -= self.step / 2.0
        return least, np.maximum(least, greatest)

    # Points
    def quantile_point(self, q: float | Floats) -> Floats:
        """Return where the curve first reaches each share: between edges by lines, or at a value of a declared grid."""
        shares = np.asarray(q, dtype=np.float64)
        if self.step is None:
            return first_reached(self.curve, self.edges, shares)
        ends = self.ends
        steps = np.floor((first_reached(self.curve, ends, shares) - ends[0]) / self.step * (1.0 - _ROUNDING))
        return np.asarray(self.edges[0] + self.step * np.maximum(steps, 0.0))

    def _edge_at(self, x: Floats, *, closed: bool) -> Floats:
        """Return the edge between the values below x, or up to x, and the others; x itself where there is none."""
        if self.step is not None:
            steps = (x - self.edges[0]) / self.step
            whole = np.floor(steps + _ROUNDING) + 1.0 if closed else np.ceil(steps - _ROUNDING)
            x = self.edges[0] + (whole - 0.5) * self.step
        near = np.clip(np.searchsorted(self.edges, x), 1, len(self.edges) - 1)
        near = np.where(np.abs(self.edges[near - 1] - x) < np.abs(self.edges[near] - x), near - 1, near)
        close = np.abs(self.edges[near] - x) <= _ROUNDING * (self.edges[-1] - self.edges[0])
        return np.where(close, self.edges[near], x)

    # Numbers with errors
    def quantile(self, q: float, level: float = 0.95) -> Read:
        """Return the quantile Q = inf{x: F(x) ≥ q} with its interval."""
        law, variance = self.law(q), self.tree.prefix_variance(q)
        below, above = law.reach(variance[1:-1], level)
        moved = (self.left - q * self.records)[1:-1]
        first = np.flatnonzero(moved + below >= 0.0)
        last = np.flatnonzero(moved - above <= 0.0)
        low = self.edges[first[0]] if len(first) else self.edges[len(moved)]
        high = self.edges[last[-1] + 2] if len(last) else self.edges[1]
        point = self._averaged_point(q) if self.averaged else float(self.quantile_point(q))
        value = min(max(point, float(low)), float(high))
        near = int(np.clip(np.searchsorted(self.curve, q), 1, len(self.edges) - 2))
        likely = self.law(q, float(self.effect(q, careful=False)))
        total = float(likely.spread(variance[near])) / max(self.records, 1.0)
        alone = np.sqrt(likely.sampling) / max(self.records, 1.0)
        # Values on a declared grid are told apart no further than by its step.
        error = max(self._slope(q, total), (self.step or 0.0) / np.sqrt(12.0))
        return Read(value, float(low), float(high), float(error), min(self._slope(q, alone), float(error)))

    def _averaged_point(self, q: float) -> float:
        """Return the mean of the places where the curve reaches q + Z; on a declared grid the value nearest to it."""
        sd = float(np.sqrt(self.tree.prefix_variance(0.5).mean())) / max(self.records, 1.0)
        mean = float(self.quantile_point(np.clip(q + sd * _normal_places(), 0.0, 1.0)).mean())
        if self.step is None:
            return mean
        return float(self.edges[0] + self.step * np.rint((mean - self.edges[0]) / self.step))

    def _slope(self, q: float, error: float) -> float:
        """Return half the distance of the quantiles at q ± error: what an error of the share moves the quantile by."""
        ends = first_reached(self.curve, self.edges, np.clip([q - error, q + error], 0.0, 1.0))
        return float(ends[1] - ends[0]) / 2.0

    def share_below(self, x: float, level: float = 0.95, *, closed: bool = False) -> Read:
        """Return P(X < x), `closed` P(X ≤ x); inside a leaf the interval reaches over all of the leaf."""
        return self.bin(-np.inf, x, level, closed=closed)

    def bin(self, low: float, high: float, level: float = 0.95, *, closed: bool = False) -> Read:
        """Return P(low ≤ X < high), `closed` P(low ≤ X ≤ high); inside a leaf the interval reaches over all of it."""
        first, last = self.cut(low, closed=False), self.cut(high, closed=closed)
        value = max(last.share - first.share, 0.0)
        least = self._end_between(first.above, last.below, level, end=0.0)
        most = self._end_between(first.below, last.above, level, end=1.0)
        noise = self._noise(*self._form(first.below, last.above), value)
        effect = self._effect_between(first.below, last.above, value, careful=False)
        return self._share(value, (least, most), noise, effect)

    def _effect_between(self, first: int, last: int, share: float, *, careful: bool) -> float:
        """Return the effect of a share between two edges."""
        if first == 0 or last == len(self.edges) - 1:
            return float(self.effect(share if first == 0 else 1.0 - share, careful=careful))
        return 1.0 if self.spread is None else self.spread.of_bin(first, last, careful=careful)

    def cut(self, x: float, *, closed: bool = False) -> Cut:
        """Return where x, or `closed` what lies just above it, cuts the edges."""
        below, above = self.edges_about(np.array([x]), closed=closed)
        if below[0] == above[0] and above[0] in (0, len(self.edges) - 1):
            return Cut(int(above[0]), int(above[0]), float(above[0] > 0))
        at = self._edge_at(np.asarray(x, dtype=np.float64), closed=closed)
        return Cut(int(below[0]), int(above[0]), float(shares_below(self.curve, self.ends, at)))

    def edges_about(self, x: Floats, *, closed: bool = False) -> tuple[Places, Places]:
        """Return the last edge at or below each cut of the axis, and the first one at or above."""
        last = len(self.edges) - 1
        at = self._edge_at(x, closed=closed)
        above = np.minimum(np.searchsorted(self.edges, at, side="left"), last)
        # Of two edges at one place, as at a leaf of one value, the first is meant: the value itself lies above.
        below = np.where(self.edges[above] == at, above, above - 1)
        none = x < self.edges[0] if closed else x <= self.edges[0]
        every = x >= self.edges[-1] if closed else x > self.edges[-1]
        below, above = (np.where(none, 0, np.where(every, last, edge)) for edge in (below, above))
        return below, above

    def _form(self, first: int, last: int) -> tuple[float, float]:
        weights = np.zeros(len(self.edges) - 1)
        weights[first:last] = 1.0
        return self.tree.form(weights)

    def _end_between(self, first: int, last: int, level: float, *, end: float) -> float:
        """Return the end of the interval of the share between two edges that is towards `end`, 0 or 1.

        The interval holds all shares p for which their count is no surprise: |count − p·N̂| within its reach.
        """
        if first >= last:
            return 0.0
        if first == 0 and last == len(self.edges) - 1:
            return 1.0
        count = float(self.left[last] - self.left[first])
        alpha, rest = self._form(first, last)

        def excess(p: float) -> float:
            error, noise = count - p * self.records, self._noise(alpha, rest, p)
            law = self.law(p, self._effect_between(first, last, p, careful=True))
            return law.excess(error, noise, level, above=end == 0.0)

        return _edge(excess, end, float(np.clip(count / max(self.records, 1.0), 0.0, 1.0)))

    def _share(self, value: float, ends: tuple[float, float], noise: float, effect: float) -> Read:
        law = self.law(float(np.clip(value, 0.0, 1.0)), effect)
        records = max(self.records, 1.0)
        total = float(law.spread(np.array(noise))) / records
        low, high = max(0.0, min(ends[0], value)), min(1.0, max(ends[1], value))
        return Read(value, low, high, total, float(np.sqrt(law.sampling)) / records)

    def _noise(self, alpha: float, rest: float, share: float) -> float:
        return float(rest + (alpha - share) ** 2 * self.tree.root_variance)


def _edge(excess: Callable[[float], float], end: float, start: float) -> float:
    """Return the last share from `end` to `start` that is excluded, which is where `excess` is positive.

    `end` where no share is excluded. Chandrupatla's method (1997, Advances in Engineering Software 28) takes about
    seven evaluations where halving takes fifty: it interpolates where that surely helps, and halves elsewhere.

    >>> round(_edge(lambda p: 0.3 - p, 0.0, 0.5), 12), _edge(lambda p: -1.0, 0.0, 0.5)
    (0.3, 0.0)
    """
    other, newest = (end, excess(end)), (start, excess(start))
    if other[1] <= 0.0 or newest[1] > 0.0:
        return end if other[1] <= 0.0 else start
    part = 0.5
    for _ in range(_MOST_TRIED):
        share = newest[0] + part * (other[0] - newest[0])
        tried = share, excess(share)
        # The edge lies between the newest and the other share; the third one was left out last.
        other, third = (other, newest) if (tried[1] > 0.0) == (newest[1] > 0.0) else (newest, other)
        newest = tried
        width, tolerance = abs(other[0] - newest[0]), _SAME * max(other[0], newest[0], _SMALL)
        if width <= 2.0 * tolerance:
            break
        part = min(max(_part(newest, other, third), tolerance / width), 1.0 - tolerance / width)
    return newest[0] if newest[1] > 0.0 else other[0]


Point = tuple[float, float]


def _part(newest: Point, other: Point, third: Point) -> float:
    """Return how far from the newest point towards the other one the parabola through three points is 0; else ½."""
    (a, f_a), (b, f_b), (c, f_c) = newest, other, third
    place, height = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
    if not (abs(height) < math.sqrt(place) and abs(1.0 - height) < math.sqrt(1.0 - place)):
        return 0.5
    return f_a / (f_b - f_a) * f_c / (f_b - f_c) + (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)


@lru_cache(maxsize=1)
def _normal_places() -> Floats:
    """Return equally likely places of a normal number, scaled to variance 1."""
    from hedgerow.special import ndtri

    places = ndtri((np.arange(_PLACES) + 0.5) / _PLACES)
    return np.asarray(places / np.sqrt(np.mean(places**2)))


def first_reached(curve: Floats, edges: Floats, q: Floats) -> Floats:
    """Return inf{x: F(x) ≥ q} of a monotone piecewise linear F.

    >>> first_reached(np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.75])).tolist()
    [1.0, 2.5]
    """
    right = np.clip(np.searchsorted(curve, q, side="left"), 1, len(curve) - 1)
    rise = curve[right] - curve[right - 1]
    part = np.where(rise > 0.0, (q - curve[right - 1]) / np.where(rise > 0.0, rise, 1.0), 0.0)
    return np.asarray(edges[right - 1] + np.clip(part, 0.0, 1.0) * (edges[right] - edges[right - 1]))


def shares_below(curve: Floats, edges: Floats, x: Floats) -> Floats:
    """Return P(X < x) of a piecewise linear F; a jump at an edge, as at a leaf of one value, counts above it.

    >>> shares_below(np.array([0.0, 0.5, 1.0]), np.array([0.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [0.25, 0.5, 1.0]
    """
    right = np.searchsorted(edges, x, side="left")
    at = np.clip(right, 1, len(edges) - 1)
    width = edges[at] - edges[at - 1]
    part = np.where(width > 0.0, (x - edges[at - 1]) / np.where(width > 0.0, width, 1.0), 0.0)
    inside = curve[at - 1] + part * (curve[at] - curve[at - 1])
    return np.asarray(np.where(right == 0, 0.0, np.where(right >= len(edges), 1.0, inside)))


_DRAWS = 600
_NODES = 512
_SEED = 20_261_122
_TAIL_RECORDS = 5.0  # a band is as wide beyond as where so many records are expected


@dataclass(frozen=True, slots=True)
class Band:
    """P(low_i ≤ F(x) ≤ high_j for all x) ≥ level: e_i the last of `edges` at or below x, e_j the first at or above."""

    edges: Floats
    low: Floats
    high: Floats
    level: float


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves as they might have been released, at some edges: shares minus the true ones.

    Attributes
    ----------
    places : int array
        Which edges of the distribution.
    sampling, noise : float array, (draws, edges)
        The two parts of the error.
    """

    places: NDArray[np.int64]
    sampling: Floats
    noise: Floats


@lru_cache(maxsize=4)
def simulated(distribution: Distribution) -> Curves:
    """Return `_DRAWS` errors of the curve of a distribution."""
    rng = np.random.default_rng(_SEED)
    tree = distribution.tree.coarser(_NODES)
    span = math.prod(distribution.tree.branching[len(tree.branching) :])
    places = np.append(np.arange(tree.leaves) * span, distribution.tree.leaves)
    curve, records = distribution.curve[places], max(distribution.records, 1.0)
    levels = [rng.normal(0.0, np.sqrt(level), (_DRAWS, len(level))) for level in tree.variances]
    top = None if tree.root is None else rng.normal(0.0, np.sqrt(tree.root), _DRAWS)
    leaves, root = tree.fitted(levels, top)
    left = np.concatenate([np.zeros((_DRAWS, 1)), np.cumsum(leaves, axis=1)], axis=1)
    noise = (left - curve * root[:, None]) / records
    if distribution.census:
        return Curves(places, np.zeros_like(noise), noise)
    steps = rng.normal(0.0, 1.0, leaves.shape) * np.sqrt(np.diff(curve))
    walk = np.concatenate([np.zeros((_DRAWS, 1)), np.cumsum(steps, axis=1)], axis=1)
    bridge = (walk - curve * walk[:, -1:]) / np.sqrt(records)
    return Curves(places, bridge * np.sqrt(distribution.effect(curve)), noise)


def band(distribution: Distribution, level: float = 0.95) -> Band:
    """Return a band that holds the whole distribution function with this chance: of every edge ± c·(its own sd)."""
    drawn = simulated(distribution)
    curve, records = distribution.curve[drawn.places], max(distribution.records, 1.0)
    edge = min(0.5, _TAIL_RECORDS / records)
    inner_share = np.clip(curve, edge, 1.0 - edge)
    sampling = 0.0 if distribution.census else distribution.effect(curve) * inner_share * (1.0 - inner_share) / records
    alpha, rest = (part[drawn.places] for part in distribution.tree.prefixes)
    noise = rest + (alpha - curve) ** 2 * distribution.tree.root_variance
    sd = np.sqrt(sampling + noise / records**2)
    inner = slice(1, -1)
    largest = (np.abs(drawn.sampling + drawn.noise)[:, inner] / np.maximum(sd[inner], 1e-300)).max(axis=1)
    reach = float(np.quantile(largest, level, method="higher")) * sd + 0.5 / records
    raw = distribution.left[drawn.places] / records
    low = np.clip(np.maximum.accumulate(raw - reach), 0.0, 1.0)
    high = np.clip(np.minimum.accumulate((raw + reach)[::-1])[::-1], 0.0, 1.0)
    low[0], high[0], low[-1], high[-1] = 0.0, 0.0, 1.0, 1.0
    return Band(distribution.edges[drawn.places], low, high, level)
