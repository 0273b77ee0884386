"""Equality in law: whether noise has the law that was priced, and simulated noise that of the released noise.

Wide noise is compared by its largest distance of distribution functions (KS) and by its spread, since KS alone sees a
scale 2 % low only at 10⁶ draws and the spread sees it at 10⁵. Σ z²/w² of n Gaussians is χ² with n degrees of freedom
and 2 Σ |z|/w of n Laplace variables is χ² with 2n, so all critical values are exact ones of SciPy. Narrow integer noise
is compared value by value (Pearson's χ² on values of at least 50 expected draws, the tails counted with the outermost).

Every released number must also be a whole multiple of the public step of its coordinate, exactly: `off_lattice` counts
those that are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.interface import Mechanism

Law = Literal["gaussian", "geometric"]
Numbers = NDArray[Any]
_WIDE = 1000.0
_EXPECTED = 50


@dataclass(frozen=True, slots=True)
class LawStatistic:
    """One statistic with the interval in which it must lie."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LawTest:
    """The verdict: it rejects a true law with probability at most ``alpha``."""

    name: str
    draws: int
    alpha: float
    statistics: tuple[LawStatistic, ...]

    @property
    def accepted(self) -> bool:
        """Whether every statistic lies in its interval."""
        return all(statistic.low <= statistic.value <= statistic.high for statistic in self.statistics)


def has_law(drawn: Numbers, law: Law, width: float, *, alpha: float, name: str = "") -> LawTest:
    """Test whether integers were drawn with P(Z = z) ∝ exp(−z²/2w²) (gaussian) or ∝ exp(−|z|/w) (geometric).

    Widths of 1000 and more are compared with the continuous law, from which the discrete one differs by less than 1/w
    in distribution function; the allowance is added to the critical value.

    Examples
    --------
    >>> drawn = np.rint(np.random.default_rng(1).normal(0.0, 1e6, 100_000))
    >>> has_law(drawn, "gaussian", 1e6, alpha=1e-6).accepted, has_law(drawn, "gaussian", 1.03e6, alpha=1e-6).accepted
    (True, False)
    """
    from scipy import stats

    n = len(drawn)
    if width < _WIDE:
        values, chances = _narrow_law(law, width)
        return LawTest(name, n, alpha, (_pearson(np.asarray(drawn), values, chances, alpha),))
    scaled = np.asarray(drawn, dtype=np.float64) / width
    continuous = stats.norm if law == "gaussian" else stats.laplace
    distance = float(stats.ks_1samp(scaled, continuous.cdf, method="asymp").statistic)
    ks = LawStatistic("KS distance", distance, 0.0, float(stats.kstwo.isf(alpha / 2.0, n)) + 1.0 / width)
    freedom, power = (n, 2) if law == "gaussian" else (2 * n, 1)
    spread = float((np.abs(scaled) ** power).sum()) * (1.0 if law == "gaussian" else 2.0)
    ends = stats.chi2.isf([1.0 - alpha / 4.0, alpha / 4.0], freedom) / freedom
    slack = 1.0 / width
    spread_test = LawStatistic("spread", spread / freedom, float(ends[0]) - slack, float(ends[1]) + slack)
    return LawTest(name, n, alpha, (ks, spread_test))


def equal_laws(first: Numbers, second: Numbers, law: Law, width: float, *, alpha: float, name: str = "") -> LawTest:
    """Test whether two sources, each asked for noise of this law and width, drew from one law: KS and ratio of spreads.

    >>> rng = np.random.default_rng(2)
    >>> a, b = rng.normal(0, 1e6, 50_000), rng.normal(0, 1e6, 50_000)
    >>> [equal_laws(a, scale * b, "gaussian", 1e6, alpha=1e-6).accepted for scale in (1.0, 0.9)]
    [True, False]
    """
    from scipy import stats

    n = min(len(first), len(second))
    first, second = np.asarray(first[:n]), np.asarray(second[:n])
    if width < _WIDE:
        return LawTest(name, n, alpha, (_homogeneity(first, second, law, width, alpha),))
    distance = float(stats.ks_2samp(first, second, method="asymp").statistic)
    ks = LawStatistic("KS distance", distance, 0.0, float(stats.kstwo.isf(alpha / 2.0, n // 2)))
    power, freedom = (2, n) if law == "gaussian" else (1, 2 * n)
    ratio = float((np.abs(first / width) ** power).sum() / (np.abs(second / width) ** power).sum())
    low, high = stats.f.isf([1.0 - alpha / 4.0, alpha / 4.0], freedom, freedom)
    return LawTest(name, n, alpha, (ks, LawStatistic("ratio of spreads", ratio, float(low), float(high))))


def has_poisson_law(drawn: Numbers, rate: float, *, alpha: float, name: str = "") -> LawTest:
    """Test whether bootstrap weights are Poisson(rate), value by value.

    >>> has_poisson_law(np.random.default_rng(3).poisson(1.0, 10_000), 1.0, alpha=1e-6).accepted
    True
    """
    from scipy import stats

    values = np.arange(int(rate + 20.0 * np.sqrt(rate) + 20.0))
    chances = stats.poisson.pmf(values, rate)
    return LawTest(name, len(drawn), alpha, (_pearson(np.asarray(drawn), values, chances, alpha),))


def _narrow_law(law: Law, width: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    z = np.arange(-int(40 * width) - 5, int(40 * width) + 6)
    chances = np.exp(-(z**2) / (2 * width**2)) if law == "gaussian" else np.exp(-np.abs(z) / width)
    return z, chances / chances.sum()


def _pearson(drawn: Numbers, values: NDArray[np.int64], chances: NDArray[np.float64], alpha: float) -> LawStatistic:
    from scipy import stats

    n = len(drawn)
    low, high = _usual(values, chances, n)
    inside = (values >= low) & (values <= high)
    wanted = n * np.array([chances[values <= low].sum(), *chances[inside][1:-1], chances[values >= high].sum()])
    value = float(((_tallied(drawn, low, high) - wanted) ** 2 / wanted).sum())
    return LawStatistic("Pearson χ²", value, 0.0, float(stats.chi2.isf(alpha, len(wanted) - 1)))


def _homogeneity(first: Numbers, second: Numbers, law: Law, width: float, alpha: float) -> LawStatistic:
    from scipy import stats

    values, chances = _narrow_law(law, width)
    low, high = _usual(values, chances, len(first))
    a, b = (_tallied(part, low, high) for part in (first, second))
    value = float(((a - b) ** 2 / np.maximum(a + b, 1)).sum())
    return LawStatistic("χ² of homogeneity", value, 0.0, float(stats.chi2.isf(alpha, len(a) - 1)))


def _usual(values: NDArray[np.int64], chances: NDArray[np.float64], n: int) -> tuple[int, int]:
    """Return the ends of the values of at least 50 expected draws; what lies beyond is counted with the ends."""
    often = values[chances * n >= _EXPECTED]
    return int(often.min()), int(often.max())


def _tallied(drawn: Numbers, low: int, high: int) -> NDArray[np.int64]:
    """Return hits of each value from `low` to `high`, those beyond counted with the ends."""
    clipped = np.clip(np.rint(drawn), low, high).astype(np.int64)
    return np.bincount(clipped - low, minlength=high - low + 1)


def off_lattice(outputs: NDArray[np.float64], mechanism: Mechanism) -> int:
    """Return how many numbers of outputs (n, cells, features[, k]) are not on the lattice; it must be 0.

    Counts lie on the integers, a coordinate with noise of b bits on multiples of 2^−b. Scaling by a power of two is
    exact in doubles, so there is no tolerance.

    Examples
    --------
    >>> from hedgerow.mechanisms.noisy_counts import GeometricCounts
    >>> off_lattice(np.array([[[3.0]], [[2.5]]]), GeometricCounts(1.0, cells=1))
    1
    """
    bits = np.array(mechanism.bits, dtype=np.float64)
    shape = (1,) * (2 - bits.ndim) + bits.shape + (1,) * (outputs.ndim - 3)
    return _off(outputs * np.exp2(bits).reshape(1, *shape))


def _off(scaled: NDArray[np.float64]) -> int:
    return int(np.count_nonzero(~np.isfinite(scaled) | (scaled != np.rint(scaled))))
