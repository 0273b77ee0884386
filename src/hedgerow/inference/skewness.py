"""How skewed a total can be, from its mean and variance alone: a third moment is never released.

Values lie in [L, U] with mean m and variance v; d = U − m, e = m − L. Then μ₃/v lies in [v/e − e, d − v/d]: for the
upper end take the expectation of (U − X)(X − m + v/d)² ≥ 0, for the lower one its mirror image. Both ends are attained,
by two values of which one is a bound. With r = v/(de) ≤ 1, the share of the largest variance (Bhatia & Davis 2000),
their middle is (1 + r)(d − e)/2 and half their distance (1 − r)(d + e)/2: a rare 0/1 value has r = 1 and one possible
skewness, a value in the middle of its range many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# A number of records that is itself random (Poisson) is the limit of n records nearly all of which add nothing.
POISSON = 1e12


def skewness_range(mean: Floats, variance: Floats, low: Floats | float, high: Floats | float) -> tuple[Floats, Floats]:
    """Return the middle of what μ₃/v can be for values in [low, high], and half the range.

    >>> rare, middling = skewness_range(np.array([0.01, 0.4]), np.array([0.0099, 0.04]), 0.0, 1.0)
    >>> rare.round(3).tolist(), middling.round(3).tolist()
    ([0.98, 0.117], [0.0, 0.417])
    """
    above, below = np.maximum(high - mean, 0.0), np.maximum(mean - low, 0.0)
    most = above * below
    share = np.where(most > 0.0, np.minimum(variance / np.where(most > 0.0, most, 1.0), 1.0), 1.0)
    return (1.0 + share) * (above - below) / 2.0, (1.0 - share) * (above + below) / 2.0


def correction(
    z: Floats, skew: Floats | float, unsure: Floats | float, sampling: Floats, total: Floats
) -> tuple[Floats, Floats]:
    """Return by how much the sampling variance grows with the total, and the factor by which it is widened.

    Johnson (1978) tests a mean of skewed values by t + γ(1 + 2t²)/(6√n), which holds its level to second order. The
    same shift of both ends is had from a sampling variance that grows by (2/3 + 1/(3z²))·μ₃/v for each unit of the
    total, as that of a binomial total does (Cai 2005), and it does not vanish with the estimated variance. A skewness
    that is unknown within ± `unsure` leaves a shift of at most Δ = (1 + 2z²)/6 · unsure·sampling/total^(3/2) standard
    errors; an interval wider by the factor 1 + Δ²/2 covers whichever it is, to the same order.

    Parameters
    ----------
    z : float array
        The critical value.
    skew, unsure : float array or float
        From `skewness_range`, in units of the total.
    sampling, total : float array
        The sampling variance of the total, and that with the noise.

    >>> one = np.array([1.0])
    >>> [part.round(3).tolist() for part in correction(1.96 * one, 1.0, 0.2, 4.0 * one, 4.0 * one)]
    [[0.753], [1.021]]
    """
    spread = np.where(total > 0.0, total, 1.0)
    shift = (1.0 + 2.0 * z**2) / 6.0 * unsure * sampling / spread**1.5
    return skew * (2.0 / 3.0 + 1.0 / (3.0 * z**2)), np.square(1.0 + shift**2 / 2.0)
