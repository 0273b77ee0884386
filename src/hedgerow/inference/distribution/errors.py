r"""How far a noisy count left of x may lie from q times the number of records, if the share q lies left of x.

The error is B + Z. B is the sampling error of a binomial number: normal of variance nq(1 − q), or the binomial law
itself where that is below 10. Z is the noise of a least-squares count: a sum of many integers with known variance V. It
is normal for Gaussian noise. For Laplace noise every number has a coefficient of at most 1 in size, so the fourth
cumulant of Z is at most 3·V·v, v the largest variance of one number; Z is read as a normal plus a Laplace number with
variance V and that fourth cumulant, which has the heavier tail. Half a record is added, as all counts are integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.noise_law import laplace_tail, noise_quantiles

Floats = NDArray[np.float64]
_FEW = 10.0  # nq(1 − q) below which the binomial law is not taken as normal
_NODES = 24
_STEPS = 44
_LEAST_NORMAL = 1e-3  # the normal part of pure Laplace noise, of its sd: it has a density everywhere


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """The law of (count left of x) − q·(number of records) where exactly the share q lies left of x.

    Attributes
    ----------
    records : float
        n, public or noisy; of a census the sampling error is left out.
    share : float
        q.
    census : bool
        Whether sampling error is 0.
    largest : float
        The largest variance of one Laplace number; 0 for Gaussian noise.
    """

    records: float
    share: float
    census: bool
    largest: float

    @property
    def sampling(self) -> float:
        """The variance of B."""
        return 0.0 if self.census else max(self.records, 1.0) * self.share * (1.0 - self.share)

    def spread(self, variance: Floats) -> Floats:
        """Return the standard deviation of B + Z for each variance of the noise."""
        return np.sqrt(self.sampling + variance)

    def parts(self, variance: Floats) -> tuple[Floats, Floats]:
        """Return the variances of the normal and of the Laplace part of the noise."""
        laplace = np.minimum(variance, np.sqrt(variance * self.largest))
        return variance - laplace, laplace

    @property
    def _few(self) -> bool:
        """Whether the binomial law is taken itself and not as normal."""
        return not self.census and self.sampling < _FEW and 0.0 < self.share < 1.0

    def excludes(self, error: float, variance: float, level: float, *, above: bool) -> bool:
        """Whether an error lies beyond its reach on one side: for one number, faster than `reach` where n is small."""
        side = 1.0 if above else -1.0
        if self._few:
            # Half a record as in `reach`, and the chance of this error in place of the error of this chance.
            chances, found = self._won(side)
            tails = _tails(side * error - 0.5 - found[:, None], *self.parts(np.array([variance])))
            return float((chances @ tails)[0]) < (1.0 - level) / 2
        return side * error > float(self.reach(np.array([variance]), level)[above][0])

    def reach(self, variance: Floats, level: float) -> tuple[Floats, Floats]:
        """Return (a, b) ≥ 0 with P(B + Z < −a) and P(B + Z > b) at most (1 − level)/2 each, for each variance."""
        if not self._few:
            normal, laplace = self.parts(variance)
            both = noise_quantiles(level, np.sqrt(self.sampling + normal), np.sqrt(laplace)) + 0.5
            return both, both
        at, below, above = _solved(self, float(variance.min()), float(variance.max()), level)
        root = np.sqrt(variance)
        return np.interp(root, at, below) + 0.5, np.interp(root, at, above) + 0.5

    def binomial(self, variance: Floats, tail: float, side: float) -> Floats:
        """Return c with P(side·(B + Z) > c) = tail for each variance, by bisection."""
        chances, error = self._won(side)
        parts = self.parts(variance)
        low = np.zeros_like(variance)
        high = np.full_like(variance, 60.0) + 40.0 * np.sqrt(variance)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            beyond = chances @ _tails(middle - error[:, None], *parts) > tail
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return high

    def _won(self, side: float) -> tuple[Floats, Floats]:
        """Return the chances of each B, and side·B."""
        from scipy.stats import binom

        n = max(1, round(self.records))
        won = np.arange(n + 1) if n < 400 else np.arange(min(n, 200) + 1)
        share = self.share if self.share <= 0.5 else 1.0 - self.share
        error = np.asarray((won - n * share) * (1.0 if share == self.share else -1.0) * side, dtype=np.float64)
        return np.asarray(binom.pmf(won, n, share)), error


@lru_cache(maxsize=64)
def _solved(law: ErrorLaw, least: float, most: float, level: float) -> tuple[Floats, Floats, Floats]:
    """Return some sds of the noise and the reaches at them: they are smooth, and read between them by lines."""
    sd = np.linspace(math.sqrt(least), math.sqrt(most), _NODES)
    sd = sd if sd[-1] > sd[0] * (1.0 + 1e-9) else sd[:1]
    tail = (1.0 - level) / 2
    return sd, law.binomial(sd**2, tail, -1.0), law.binomial(sd**2, tail, 1.0)


def _tails(h: Floats, normal: Floats, laplace: Floats) -> Floats:
    """Return P(Z > h), Z normal plus Laplace of these variances; both arrays broadcast."""
    from hedgerow.special import ndtr

    total = normal + laplace
    if not total.max() > 0.0:
        return np.asarray(h < 0.0, dtype=np.float64)
    sd = np.sqrt(np.maximum(normal, _LEAST_NORMAL**2 * total))
    if not laplace.max() > 0.0:
        return np.asarray(ndtr(-h / sd))
    size, scale = np.abs(h), np.sqrt(laplace / 2.0)
    tail = laplace_tail(size, np.broadcast_to(sd, h.shape), np.broadcast_to(scale, h.shape))[0]
    return np.where(h >= 0.0, tail, 1.0 - tail)
