r"""The share of values below a part of their own median, from noisy counts of leaves.

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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.distribution.distribution import Distribution, Read
from hedgerow.inference.distribution.simulated import simulated
from hedgerow.inference.noise_law import noise_quantiles

Floats = NDArray[np.float64]
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
    ends = [part * one[leaf : leaf + 1] for one in shown.ends_of_leaves]
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
    least, greatest = (part * one[leaves] for one in shown.ends_of_leaves)
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

        alpha, rest = (one[places] for one in shown.tree.prefixes)
        noise = rest + (alpha - share) ** 2 * shown.tree.root_variance
        sampling = np.zeros(len(places)) if shown.census else shown.records * share * (1.0 - share)
        normal, laplace = shown.law(0.5).parts(noise)
        sd = np.maximum(np.sqrt(sampling + noise), 1e-12)
        level = 1.0 - 2.0 * float(ndtr(-critical))
        reach = np.maximum(critical, noise_quantiles(level, np.sqrt(sampling + normal), np.sqrt(laplace)) / sd)
        return cls(share, noise, sd, reach)


def _farthest(least: Floats, correlation: Floats, reach: Floats) -> Floats:
    """Return the greatest C with C² − 2ρCu + u² ≤ c²(1 − ρ²) for a u ≥ `least`; −∞ where there is none."""
    bound = np.clip(least, -reach, reach)
    at_bound = correlation * bound + np.sqrt((1.0 - correlation**2) * (reach**2 - bound**2))
    found = np.where(correlation * reach >= least, reach, at_bound)
    return np.asarray(np.where(least > reach, -np.inf, found))


def _correlation(shown: Distribution, line: _Counts, places: Places, median: _Counts, edges: Places) -> Floats:
    """Return the correlation of the error of counts left of `places` with that of counts at the median's `edges`."""
    drawn = simulated(shown)
    span = max(1, round(shown.tree.leaves / (len(drawn.places) - 1)))
    pairs = np.minimum(np.rint(np.stack([places, edges]) / span).astype(np.int64), len(drawn.places) - 1)
    each, back = np.unique(pairs, axis=1, return_inverse=True)
    first, second = (drawn.noise[:, one] for one in each)
    size = np.maximum((first**2).mean(axis=0) * (second**2).mean(axis=0), 1e-300)
    alike = ((first * second).mean(axis=0) / np.sqrt(size))[back.reshape(-1)]
    sampling = 0.0 if shown.census else shown.records * (np.minimum(line.share, 0.5) - line.share / 2.0)
    shared = sampling + alike * np.sqrt(line.noise * median.noise[edges])
    return np.asarray(np.clip(shared / (line.sd * median.sd[edges]), -0.999, 0.999))


def _solved(shown: Distribution, places: Places, line: _Counts, error: Floats, half: float) -> Floats:
    """Return F with Â − half − NF = error·√(NF(1 − F) + V); at the bounds F is known."""
    records, count = max(shown.records, 1.0), shown.left[places] - half
    drawn = 0.0 if shown.census else 1.0
    square = np.where(np.isfinite(error), error, 0.0) ** 2
    leading = records**2 + drawn * square * records
    middle = count * records + drawn * square * records / 2.0
    root = np.sqrt(np.maximum(0.0, middle**2 - leading * (count**2 - square * line.noise)))
    found = np.clip((middle - np.sign(error) * root) / leading, 0.0, 1.0)
    found = np.where(np.isfinite(error), found, np.where(error < 0.0, 1.0, 0.0))
    return np.asarray(np.where(places == 0, 0.0, np.where(places == len(shown.edges) - 1, 1.0, found)))
