"""A smooth function of noisy totals by its tangent at their mean: the delta method, replicate by replicate.

With T̄ the mean of the k noisy tables, g(T_b) is read as m_b = g(T̄) + ∇g(T̄)·(T_b − T̄). One replicate's noise is √k
times that of the mean, so g itself would be bent by it; the tangent is not. The noise variance of m_b is
∇g' diag(s²) ∇g, exactly for a linear g and to first order otherwise (moments.md §2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.user_code import quietly

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Linearised:
    """The value of g at the mean table, the tangent replicates, and the noise variance of one of them."""

    value: float
    replicates: Floats
    noise_variance: float

    @property
    def defined(self) -> bool:
        """Whether g and its slope are finite there."""
        return math.isfinite(self.value) and bool(np.isfinite(self.replicates).all())


def linearise(function: Callable[[Floats], float], totals: Floats, noise_sd: Floats) -> Linearised:
    """Return the tangent replicates of `function` over noisy totals.

    Parameters
    ----------
    function : callable
        g: a vector of totals → a number, smooth near the mean; NaN or an error where it is not defined.
    totals : float array, (features, k)
        The noisy replicates.
    noise_sd : float array, (features,)
        Noise standard deviation of one replicate in each feature.

    Examples
    --------
    >>> totals = np.array([[10.0, 12.0, 14.0], [20.0, 20.0, 20.0]])
    >>> ratio = linearise(lambda t: t[0] / t[1], totals, np.array([2.0, 0.0]))
    >>> ratio.value, ratio.replicates.round(6).tolist(), round(ratio.noise_variance, 6)
    (0.6, [0.5, 0.6, 0.7], 0.01)
    """
    mean = totals.mean(axis=1)
    value = _evaluated(function, mean)
    # A step of the size of the mean's own noise: the slope over the range in which the truth may lie, so that a
    # statistic with corners gets its average slope there.
    steps = np.maximum(noise_sd / math.sqrt(totals.shape[1]), 1e-6 * np.maximum(np.abs(mean), 1.0))
    slope = np.array([_slope(function, mean, place, steps[place]) for place in range(len(mean))])
    replicates = value + slope @ (totals - mean[:, None])
    return Linearised(value, replicates, float(slope**2 @ noise_sd**2))


def _slope(function: Callable[[Floats], float], mean: Floats, place: int, step: float) -> float:
    up, down = mean.copy(), mean.copy()
    up[place] += step
    down[place] -= step
    return (_evaluated(function, up) - _evaluated(function, down)) / (2.0 * step)


def _evaluated(function: Callable[[Floats], float], totals: Floats) -> float:
    # A user's function on noisy totals: whatever stops it, the answer is that there is none.
    value = quietly(lambda: float(function(totals)))
    return math.nan if value is None else value
