"""Gini coefficients and Lorenz curves, from noisy counts of leaves: ratios ∫f(F)dx / mean, wherever values may stand.

With L the least value, both are a ratio N/μ with μ = L + ∫(1 − F)dx. For the Gini coefficient N = ∫F(1 − F)dx. For the
part of the total that the lowest p of the records hold, N = pL + ∫(p − F)₊dx: the largest pt − ∫_L^t F dx over t.

The counts tell F at the edges of leaves only. Inside a leaf, between its least and its greatest value, F may rise from
F_i to F_{i+1} in any way. N − λμ = ∫(f(F) − λ(1 − F))dx is largest, and least, where the integrand is so at each x by
itself: F stays at one share s_i ∈ [F_i, F_{i+1}] from end to end. So all values of the leaf stand at its two ends, and
s_i is F_i, F_{i+1} or the turn of f(s) − λ(1 − s), which is (1 + λ)/2 or p. The point estimate uses the midpoint of the
two extremes. A leaf of one value has no inside: values on a declared grid are then read as the steps that they are.

A ratio g is excluded from above if N − gμ at its largest is below 0 by more than its error explains, and from below
alike: Fieller's interval (1954) of a ratio between two bounds. It needs no division by a noisy mean. The error of
N − gμ is linear in the counts to first order, so its variance is exact: Σ p_i w_i² − (Σ p_i w_i)² over n for sampling
and a form of the tree for noise. F̂(1 − F̂) is less than F(1 − F) by V/n² on average, V the variance of the noise of a
count, and by 1/n of it for sampling; both are added back, so no count is clipped at 0. The square of the noise itself
varies by at most 2(∫V dx)²/n⁴.

The share of values below a part of their own median, from noisy counts of leaves.

With the median t in leaf k, the share is F at an edge j near part·t: Â_j and counts beside leaf k decide. The median is
in leaf k if F_k ≤ ½ ≤ F_{k+1}. So the errors (C, u) of Â_j and of Â_k, in standard deviations, with the
correlation ρ of sampling and noise, are restricted to u ≥ (Â_k − N/2)/sd, and alike for the edge above. The share is
accepted if an error with that restriction has C² − 2ρCu + u² ≤ c²(1 − ρ²): the extremes of C are ±c, at u = ±ρc, or
where that is not allowed ρu ± √((1 − ρ²)(c² − u²)) at the end of the restriction. The share then solves
(Â_j − NF)² = C²·(NF(1 − F) + V), as a proportion's score interval does (Wilson 1927). The interval holds every accepted
share of every leaf that may hold the median.

c² is the quantile of ½χ²₁ + ½χ²₂: at a median between two atoms one restriction binds, with the chance one half; away
from it none does; where values are continuous the leaves beside the right one are accepted, too. Where values are known
to a leaf only, j is taken at both sides of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.distribution.noisy_distribution import Distribution, Read, simulated
from hedgerow.inference.interval import noise_quantiles
from hedgerow.inference.score_test import Quadratic, QuadraticTest

Floats = NDArray[np.float64]
_WITHIN = 1e-6  # how far from 0 and 1 a ratio is kept for which a placement is chosen
_ROUNDS = 6  # of finding a ratio and the placement that makes it extreme in turns: they settle after two or three
_ONE_SD = 0.6826894921370859  # the level of ± one standard deviation of a normal number


@dataclass(frozen=True, slots=True)
class _Integrand:
    """F ↦ f(F) of N = start·L + ∫f(F)dx.

    Attributes
    ----------
    start : float
        What N has of the least value itself.
    at : function
        f of noisy shares; which side of a kink they lie on is told by the second argument, the monotone shares.
    slope : function
        f′ at monotone shares.
    turn : function
        λ ↦ the share at which f(s) − λ(1 − s) turns.
    curved : float
        −f″/2: what the variance of a noisy share takes from f on average.
    """

    start: float
    at: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats], Floats]
    turn: Callable[[float], float]
    curved: float


def gini(distribution: Distribution, level: float = 0.95) -> Read:
    """Return the Gini coefficient of a column that is nowhere negative."""
    records = max(distribution.records, 1.0)
    once = 1.0 if distribution.census else records / max(records - float(distribution.effect(0.5)), 1.0)
    return _ratio(
        distribution,
        _Integrand(
            start=0.0,
            at=lambda noisy, _: once * noisy * (1.0 - noisy),
            slope=lambda share: once * (1.0 - 2.0 * share),
            turn=lambda ratio: (1.0 + ratio) / 2.0,
            curved=once,
        ),
        level,
    )


def lorenz(distribution: Distribution, share: float, level: float = 0.95) -> Read:
    """Return the part of the total that the lowest `share` of the records hold, of a column nowhere negative."""
    kink = share - 1e-12  # where a leaf is divided at the share itself, it lies beyond the kink, however it is rounded
    return _ratio(
        distribution,
        _Integrand(
            start=share,
            at=lambda noisy, shares: np.where(shares < kink, share - noisy, 0.0),
            slope=lambda shares: np.where(shares < kink, -1.0, 0.0),
            turn=lambda _: share,
            curved=0.0,
        ),
        level,
    )


@dataclass(frozen=True, eq=False)
class _Placed:
    """A distribution in which the part `split` of each leaf stands at its least value, the rest at its greatest.

    Attributes
    ----------
    distribution : Distribution
    integrand : _Integrand
    split : float array, (leaves,)
    """

    distribution: Distribution
    integrand: _Integrand
    split: Floats

    def _along(self, at_edges: Floats) -> Floats:
        """Return numbers of the edges along the axis: within the first leaf, beyond it, within the next, and on."""
        numbers = np.empty(2 * len(self.split) - 1)
        numbers[0::2] = at_edges[:-1] + self.split * np.diff(at_edges)
        numbers[1::2] = at_edges[1:-1]
        return numbers

    @property
    def _lengths(self) -> Floats:
        least, greatest = self.distribution.ends_of_leaves
        lengths = np.empty(2 * len(least) - 1)
        lengths[0::2], lengths[1::2] = greatest - least, least[1:] - greatest[:-1]
        return lengths

    @cached_property
    def parts(self) -> tuple[float, float, float]:
        """N and μ without bias, and the noise that was added back to N."""
        shown, lengths, least = self.distribution, self._lengths, float(self.distribution.edges[0])
        noisy, shares = self._along(shown.left / max(shown.records, 1.0)), self._along(shown.curve)
        added = self.integrand.curved * float(lengths @ self._along(shown.noise_of_shares))
        top = self.integrand.start * least + float(lengths @ self.integrand.at(noisy, shares)) + added
        return top, least + float(lengths @ (1.0 - noisy)), added

    @property
    def value(self) -> float:
        """N/μ, moved to what is possible."""
        top, mean, _ = self.parts
        # A mean that is all noise is not divided by.
        return min(max(top / max(mean, 1e-6 * float(self.distribution.edges[-1])), 0.0), 1.0)

    @cached_property
    def weights(self) -> Floats:
        """What one more share of all records in each leaf adds to N and to μ: (2, leaves)."""
        shares, lengths = self._along(self.distribution.curve), self._lengths
        gained = np.zeros((2, len(self.split)))
        for row, slope in zip(gained, (self.integrand.slope(shares), np.full(len(shares), -1.0)), strict=True):
            each = lengths * slope
            # Of each inner edge: what lies beyond it, and its part of the two leaves that meet there.
            edge = each[1::2] + each[0:-1:2] * self.split[:-1] + each[2::2] * (1.0 - self.split[1:])
            row[:-1] = np.cumsum(edge[::-1])[::-1]
        return gained

    @cached_property
    def errors(self) -> tuple[Floats, Floats]:
        """The covariances of N and μ times the number of records, by sampling and by noise: two (2, 2) arrays."""
        shown, share, weights = self.distribution, np.diff(self.distribution.curve), self.weights
        centred = weights - (weights @ share)[:, None]
        sampling = (centred * share) @ centred.T * (0.0 if shown.census else max(shown.records, 1.0)) * self.effect
        noise = _noise_covariance(shown, weights, weights @ share)
        noise[0, 0] += 2.0 * (self.parts[2] * max(shown.records, 1.0)) ** 2
        return sampling, noise

    @cached_property
    def effect(self) -> float:
        """How many times as much N − λμ varies as with records drawn one by one, at most.

        It is −∫(k(x) − F(x)r)dw(x) of each unit, k(x) its votes left of x, w the weights of N − λμ. Rows of a unit
        that are drawn independently by a law of its own vary as rows drawn one by one, times `apart`, and their law
        varies beside: by the triangle inequality the root mean square of that part is at most ∫√(its variance)|dw|.
        """
        shown, each = self.distribution, np.array([1.0, -self.value]) @ self.weights
        if shown.spread is None:
            return 1.0
        share, left = np.diff(shown.curve), shown.curve[1:-1]
        alone = float(share @ (each - share @ each) ** 2)
        beside = np.maximum(shown.effect(left) - shown.spread.apart, 0.0) * left * (1.0 - left)
        most = shown.spread.apart * alone + float(np.abs(np.diff(each)) @ np.sqrt(beside)) ** 2
        return min(shown.largest_effect, most / alone) if alone > 0.0 else shown.largest_effect

    def score(self) -> QuadraticTest:
        """Return N/μ as a ratio of totals, with the variance of N − λμ, from which intervals follow."""
        shown, (top, mean, _), (sampling, noise) = self.distribution, self.parts, self.errors
        records, share, at = max(shown.records, 1.0), np.diff(shown.curve), np.array([1.0, -self.value])
        each, drawn, added = at @ self.weights, float(at @ sampling @ at), float(at @ noise @ at)
        # One Laplace number has at most the largest weight: see `errors` for the part of the noise that is read as one.
        tail = float(np.abs(each).max()) * np.sqrt(shown.largest)
        laplace = min(1.0, tail / np.sqrt(added)) if added > 0.0 else 0.0
        each -= share @ each
        skew = records * self.effect**2 * float(share @ each**3) / (drawn + added) if drawn > 0.0 else 0.0
        return QuadraticTest(
            a=np.array([records * top]),
            b=records * mean,
            sampling=_quadratic(sampling + (1.0 - laplace) * noise),
            noise=_quadratic(laplace * noise),
            low=0.0,
            high=1.0,
            noise_law="laplace",
            method="distribution",
            skew=skew,
        )


def _quadratic(covariance: Floats) -> Quadratic:
    """Return the variance of N − λμ."""
    return Quadratic(covariance[0, 0], -2.0 * covariance[0, 1], covariance[1, 1])


def _noise_covariance(distribution: Distribution, weights: Floats, shared: Floats) -> Floats:
    """Return the covariance of the noise of Σ w_i·(count_i − p_i·count of all), p_i the share of a leaf."""
    tree = distribution.tree

    def variance(weight: Floats, mean: float) -> float:
        alpha, rest = tree.form(weight)
        return rest + (alpha - mean) ** 2 * tree.root_variance

    first, second = (variance(weight, float(mean)) for weight, mean in zip(weights, shared, strict=True))
    both = (variance(weights.sum(axis=0), float(shared.sum())) - first - second) / 2.0
    return np.array([[first, both], [both, second]])


def _ratio(distribution: Distribution, integrand: _Integrand, level: float) -> Read:
    """Return N/μ with its interval over all placements."""
    middle = _Placed(distribution, integrand, np.full(distribution.tree.leaves, 0.5))
    value = middle.value
    lowest, highest = (_extreme(middle, side) for side in (-1.0, 1.0))
    low = min(value, float(lowest.score().accepted(level)[0][0]))
    high = max(value, float(highest.score().accepted(level)[1][0]))
    at, mean = np.array([1.0, -value]), max(middle.parts[1], 1e-6 * float(distribution.edges[-1]))
    sampling = float(np.sqrt(max(at @ middle.errors[0] @ at, 0.0))) / (mean * max(distribution.records, 1.0))
    # A ratio of noisy numbers has no variance: its error is half the interval that a normal error would leave in 68 %.
    ends = [float(end[0]) for end in middle.score().accepted(_ONE_SD)]
    # Where values stand is not known: anywhere between the two placements.
    error = float(np.hypot((ends[1] - ends[0]) / 2.0, (highest.value - lowest.value) / np.sqrt(12.0)))
    return Read(value, low, high, error, min(sampling, error))


def _extreme(middle: _Placed, side: float) -> _Placed:
    """Return the placement that makes N/μ least (side −1) or greatest (1).

    Of a Lorenz share all s ≤ p gain the same at λ = 1, and all s ≥ p at λ = 0: rounding would choose one. An interval
    asks about the λ inside (0, 1), where the same s ≤ p is extreme: the largest one for the least ratio,
    the smallest one for the greatest. So λ is kept inside.
    """
    curve, integrand = middle.distribution.curve, middle.integrand
    first, last = curve[:-1], curve[1:]
    placed = middle
    for _ in range(_ROUNDS):
        ratio = min(max(placed.value, _WITHIN), 1.0 - _WITHIN)
        tried = np.stack([first, last, np.clip(integrand.turn(ratio), first, last)])
        gained = side * (integrand.at(tried, tried) - ratio * (1.0 - tried))
        best = np.take_along_axis(tried, gained.argmax(axis=0)[None, :], axis=0)[0]
        rise = last - first
        split = np.where(rise > 0.0, (best - first) / np.where(rise > 0.0, rise, 1.0), 0.5)
        placed = _Placed(middle.distribution, integrand, split)
    return placed


Places = NDArray[np.intp]
_HALVINGS = 60


def share_below_of_median(distribution: Distribution, part: float, level: float = 0.95) -> Read:
    """Return P(X < part·median)."""
    shown = distribution
    line = shown.cut(part * float(shown.quantile_point(0.5)))
    low, high = _ends(shown, part, _critical(level), half=0.5)
    # What one standard deviation does not exclude, and the unknown places of the median and of values in their leaves.
    least, most = _ends(shown, part, 1.0, half=0.0)
    leaf = int(np.clip(np.searchsorted(shown.curve, 0.5) - 1, 0, shown.tree.leaves - 1))
    ends = [part * end[leaf : leaf + 1] for end in shown.ends_of_leaves]
    unknown = float(shown.curve[shown.edges_about(ends[1])[1]][0] - shown.curve[shown.edges_about(ends[0])[0]][0])
    known = max(most - least - unknown, 0.0) / 2.0
    # Sampling has the same part of its variance as of that of the count below the line.
    law, noise = shown.law(line.share), shown.tree.prefix_variance(line.share)[[line.below]]
    sampling = known * math.sqrt(law.sampling) / max(float(law.spread(noise)[0]), 1e-12)
    return Read(
        line.share,
        min(low, line.share),
        max(high, line.share),
        math.hypot(known, unknown / math.sqrt(12.0)),
        sampling,
    )


@lru_cache(maxsize=16)
def _critical(level: float) -> float:
    """Return c with ½P(χ²₁ > c²) + ½P(χ²₂ > c²) = 1 − level."""
    from hedgerow.special import ndtr

    low, high = 0.0, 40.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        beyond = float(ndtr(-middle)) + 0.5 * math.exp(-(middle**2) / 2.0)
        low, high = (middle, high) if beyond > 1.0 - level else (low, middle)
    return high


def _ends(shown: Distribution, part: float, critical: float, *, half: float) -> tuple[float, float]:
    """Return the least and the greatest share that no error of `critical` standard deviations excludes."""
    median = _Counts.of(shown, np.arange(len(shown.edges)), np.full(len(shown.edges), 0.5), critical)
    beyond = (shown.left - shown.records / 2.0) / median.sd
    beyond[0], beyond[-1] = -np.inf, np.inf
    leaves = np.flatnonzero((beyond[:-1] <= median.reach[:-1]) & (beyond[1:] >= -median.reach[1:]))
    least, greatest = (part * end[leaves] for end in shown.ends_of_leaves)
    ends = []
    for places, side in ((shown.edges_about(least)[0], 1.0), (shown.edges_about(greatest)[1], -1.0)):
        line = _Counts.of(shown, places, np.clip(shown.curve[places], 0.0, 1.0), critical)
        reach = np.maximum(line.reach, np.maximum(median.reach[leaves], median.reach[leaves + 1]))
        # The error of the count below the line, in the direction that moves its end outwards: as far as it may be.
        outer = np.minimum(
            _farthest(beyond[leaves], side * _correlation(shown, line, places, median, leaves), reach),
            _farthest(-beyond[leaves + 1], -side * _correlation(shown, line, places, median, leaves + 1), reach),
        )
        ends.append(_solved(shown, places, line, side * outer, side * half))
    return float(ends[0].min(initial=1.0)), float(ends[1].max(initial=0.0))


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts left of some edges: the share that is tested, the variance of noise, sd, and how many sd are excluded."""

    share: Floats
    noise: Floats
    sd: Floats
    reach: Floats

    @classmethod
    def of(cls, shown: Distribution, places: Places, share: Floats, critical: float) -> _Counts:
        """Return those left of `places`; the tail of Laplace noise is as heavy as in `errors`."""
        from hedgerow.special import ndtr

        alpha, rest = (form[places] for form in shown.tree.prefixes)
        noise = rest + (alpha - share) ** 2 * shown.tree.root_variance
        sampling = (
            np.zeros(len(places)) if shown.census else shown.records * share * (1.0 - share) * shown.effect(share)
        )
        normal, laplace = shown.law(0.5).parts(noise)
        sd = np.maximum(np.sqrt(sampling + noise), 1e-12)
        level = 1.0 - 2.0 * float(ndtr(-critical))
        reach = np.maximum(critical, noise_quantiles(level, np.sqrt(sampling + normal), np.sqrt(laplace)) / sd)
        return cls(share, noise, sd, reach)


def _farthest(least: Floats, correlation: Floats, reach: Floats) -> Floats:
    """Return the greatest C with C² − 2ρCu + u² ≤ c²(1 − ρ²) for a u ≥ `least`, where `least` is at most c."""
    bound = np.clip(least, -reach, reach)
    at_bound = correlation * bound + np.sqrt((1.0 - correlation**2) * (reach**2 - bound**2))
    return np.where(correlation * reach >= least, reach, at_bound)


def _correlation(shown: Distribution, line: _Counts, places: Places, median: _Counts, edges: Places) -> Floats:
    """Return the correlation of the error of counts left of `places` with that of counts at the median's `edges`."""
    drawn = simulated(shown)
    span = max(1, round(shown.tree.leaves / (len(drawn.places) - 1)))
    pairs = np.minimum(np.rint(np.stack([places, edges]) / span).astype(np.int64), len(drawn.places) - 1)
    each, back = np.unique(pairs, axis=1, return_inverse=True)
    first, second = (drawn.noise[:, edge] for edge in each)
    size = np.maximum((first**2).mean(axis=0) * (second**2).mean(axis=0), 1e-300)
    alike = ((first * second).mean(axis=0) / np.sqrt(size))[back.reshape(-1)]
    both = np.sqrt(shown.effect(line.share) * shown.effect(0.5))
    sampling = 0.0 if shown.census else shown.records * (np.minimum(line.share, 0.5) - line.share / 2.0) * both
    shared = sampling + alike * np.sqrt(line.noise * median.noise[edges])
    return np.asarray(np.clip(shared / (line.sd * median.sd[edges]), -0.999, 0.999))


def _solved(shown: Distribution, places: Places, line: _Counts, error: Floats, half: float) -> Floats:
    """Return F with Â − half − NF = error·√(NF(1 − F) + V); at the bounds F is known."""
    records, count = max(shown.records, 1.0), shown.left[places] - half
    drawn = np.zeros(len(places)) if shown.census else shown.effect(shown.curve[places])
    square = np.where(np.isfinite(error), error, 0.0) ** 2
    leading = records**2 + drawn * square * records
    middle = count * records + drawn * square * records / 2.0
    root = np.sqrt(np.maximum(0.0, middle**2 - leading * (count**2 - square * line.noise)))
    share = np.clip((middle - np.sign(error) * root) / leading, 0.0, 1.0)
    share = np.where(np.isfinite(error), share, np.where(error < 0.0, 1.0, 0.0))
    return np.asarray(np.where(places == 0, 0.0, np.where(places == len(shown.edges) - 1, 1.0, share)))
