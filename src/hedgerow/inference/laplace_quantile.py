"""Quantiles of a normal number plus a Laplace one: what an interval needs where the noise has Laplace's tails.

The tail of the normal-Laplace law in closed form (Reed & Jorgensen 2004). With g = h/s, w = s/b, b the Laplace scale:

    P(G + L > h) = Φ̄(g) + ½·e^(w²/2 − wg)·Φ(g − w) − ½·e^(w²/2 + wg)·Φ(−g − w).

Both laws are log-concave, so the logarithm of the tail is a concave function of h: a Newton step on it from anywhere
lands at or beyond the quantile, and all further ones come down to it from there. What is returned covers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# From z·(sd of the sum) three steps reach the last digit for every ratio of the two and every level tried (1e-6 to
# 1 − 1e-13, 4,001 ratios); two more are to spare, and their number is fixed, so that cells do not depend on others.
_NEWTON_STEPS = 5
_NEGLIGIBLE = 1e-9
_OUTWARD = 1.0 + 1e-12


def noise_quantile(level: float, sampling_sd: float, noise_sd: float) -> float:
    """Return h with P(|G + L| ≤ h) ≥ level, G normal with sd `sampling_sd`, L Laplace with sd `noise_sd`.

    >>> round(noise_quantile(0.95, 0.0, 2**0.5), 3)
    2.996
    >>> round(noise_quantile(0.95, 1.0, 1e-6), 3)
    1.96
    """
    return float(noise_quantiles(level, np.array([sampling_sd]), np.array([noise_sd]))[0])


def noise_quantiles(level: float, sampling_sd: Floats, noise_sd: Floats) -> Floats:
    """Return `noise_quantile` of each pair of standard deviations; the two arrays broadcast.

    >>> noise_quantiles(0.95, np.array([0.0, 1.0]), np.array([2**0.5, 0.0])).round(3).tolist()
    [2.996, 1.96]
    """
    from scipy.special import ndtri

    tail = (1.0 - level) / 2
    normal = -float(ndtri(tail))
    sampling, noise = np.broadcast_arrays(sampling_sd, noise_sd)
    both = (sampling > _NEGLIGIBLE * noise) & (noise > _NEGLIGIBLE * sampling)
    quantile = np.where(sampling > noise, sampling * normal, noise * (-np.log(2.0 * tail) / np.sqrt(2.0)))
    if both.any():
        quantile[both] = _newton(tail, normal, sampling[both], noise[both] / np.sqrt(2.0))
    return np.asarray(quantile * _OUTWARD)


def _newton(tail: float, normal: float, sampling: Floats, scale: Floats) -> Floats:
    h = normal * np.sqrt(sampling**2 + 2.0 * scale**2)
    for _ in range(_NEWTON_STEPS):
        beyond, density = _tail(h, sampling, scale)
        h = h + np.log(beyond / tail) * beyond / density
    return h


def _tail(h: Floats, sampling: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return P(G + L > h) and the density at h ≥ 0. The scaled functions keep the digits where w is large."""
    from scipy.special import erfcx, ndtr

    g, w = h / sampling, sampling / scale
    bell = 0.25 * np.exp(-0.5 * g**2)
    root = np.sqrt(2.0)
    near = g < w
    gap = np.where(near, w - g, 0.0)
    right = np.where(near, bell * erfcx(gap / root), 0.5 * np.exp(np.where(near, 0.0, w * (0.5 * w - g))) * ndtr(g - w))
    left = bell * erfcx((w + g) / root)
    return ndtr(-g) + right - left, (right + left) / scale
