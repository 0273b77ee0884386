r"""The one neighbour pair of replace-one whose domination is computed, not proven: where it was scanned.

For values v, w in [−a, a] the pair (a, −a) dominates (v, w): proven for opposite signs, and for equal signs
0 ≤ w < v in the order P_v‖P_w (private_bootstrap.md §2). The order P_w‖P_v at ε > 0 was scanned over the ranges below,
and parameters outside them are refused. Add/remove needs no scan.

Scanned (largest ratio δ(P_w‖P_v)/δ_end over 11 values and 40 ε, wherever δ_end > 1e-14): σ/R in {.1, .15, .2, .3, .5,
.7, 1, 2, 3, 7, 20, 70, 200, 700, 2000} × λ in {.1, .2, .5, 1, 2, 3.5, 5}. It is .998 at σ/R = .1, λ = 5, falls with σ
and rises with λ: at λ = 1 .990 (.1), .736 (.3), .586 (.7), .515 (2), .500 from 20 on. With a count beside the value
(κ/a in {.25, .5, 1, 2, 4}, σ/R in {.1, .3, 1, 5, 50, 2000}, λ in {.1, 1, 5}, 5 values, 12 ε) at most .9996. The
largest ratio always lies at w = 0 and ε → 0, which is proven.

What is proven of P_w‖P_v: wherever the best event is a lower tail, P_w(x ≤ t) ≤ P_0(x ≤ t) and P_v(x ≤ t) ≥
P_a(x ≤ t) give δ(P_w‖P_v) ≤ δ(P_0‖P_a) ≤ δ_end. The scan covers the events that are not tails.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.resampled.resampled_law import ResampledLaw
from hedgerow.errors import UncertifiedError

Array = NDArray[np.float64]

SCANNED_NOISE = (0.1, 2000.0)
"""σ/R, R = 2a: less noise protects nobody, more was not looked at."""
SCANNED_RATE = (0.1, 5.0)
"""λ: the Poisson rate of the weights."""
SCANNED_COUNT_WEIGHT = (0.0, 4.0)
"""κ/a: the weight of a count beside the value; the average over the count is scanned as a whole."""

_LEAST_DELTA = 1e-14  # below it δ is rounding of the scan's own sums


def require_scanned(*, noise_sd: float, bound: float, rate: float, count_weight: float = 0.0) -> None:
    """Refuse a replace-one release outside the scanned ranges.

    Raises
    ------
    UncertifiedError
        HG403, with the quantity that is outside and its range.

    Examples
    --------
    >>> require_scanned(noise_sd=7.0, bound=0.5, rate=1.0)
    """
    found = (
        ("noise_sd / range", noise_sd / (2.0 * bound), SCANNED_NOISE),
        ("rate", rate, SCANNED_RATE),
        ("count_weight / bound", count_weight / bound, SCANNED_COUNT_WEIGHT),
    )
    for name, value, (low, high) in found:
        if not low * (1.0 - 1e-9) <= value <= high * (1.0 + 1e-9):
            raise UncertifiedError(
                "HG403",
                rule=f"A resampled release under replace-one is certified for {name} from {low:g} to {high:g}.",
                finding=f"Found {value:.6g}.",
                remedy='Stay inside, use the plain Gaussian mechanism, or "add-remove", whose range is far wider.',
            )


def equal_sign_ratio(
    *,
    noise_sd: float,
    bound: float,
    rate: float,
    count_weight: float = 0.0,
    values: int = 11,
    points: int = 40,
    reach: float = 1.0,
) -> float:
    """Return the largest δ(P_w‖P_v)(ε) / δ_end(ε) found over 0 ≤ w < v ≤ bound and ε > 0: an estimate.

    A ratio above 1 would be a pair that the end pair does not dominate.

    Parameters
    ----------
    noise_sd, bound, rate, count_weight : float
        σ, a, λ and κ of one replicate.
    values : int
        Number of equally spaced v and w.
    points : int
        Number of ε, up to where δ_end falls under 1e-14.
    reach : float
        Largest v in units of `bound`; above 2 the ratio must exceed 1, which shows that the scan can.

    Examples
    --------
    >>> equal_sign_ratio(noise_sd=2.0, bound=0.5, rate=1.0) < 0.6
    True
    """
    law = _law(noise_sd, bound, rate, count_weight)
    x = np.linspace(law.low, law.high, 6001)
    width = x[1] - x[0]
    end_p = law.p(x) * width
    end_q = end_p[::-1]
    epsilons = _epsilons(end_p, end_q, points)
    end = np.array([np.maximum(end_p - math.exp(e) * end_q, 0.0).sum() for e in epsilons])
    epsilons, end = epsilons[end > _LEAST_DELTA], end[end > _LEAST_DELTA]
    laws = [_at(law, x, share) * width for share in np.linspace(0.0, reach, values)]
    worst = 0.0
    for low in range(values):
        for high in range(low + 1, values):
            for epsilon, most in zip(epsilons, end, strict=True):
                delta = np.maximum(laws[low] - math.exp(epsilon) * laws[high], 0.0).sum()
                worst = max(worst, float(delta / most))
    return worst


def _law(noise_sd: float, bound: float, rate: float, count_weight: float) -> ResampledLaw:
    law = ResampledLaw.of(
        sd=noise_sd, bound=bound, rate=rate, count_weight=count_weight, symmetric=True, left_out=1e-17
    )
    every = 6 if count_weight else 1  # .42 σ: a trapezoid sum of Gaussians is exact to 1e-13 up to half a σ
    weights = law.weights[:, ::every] * every
    return ResampledLaw(law.sd, law.bound, weights, True, law.low, law.high, law.left_out)


def _at(law: ResampledLaw, x: Array, share: float) -> Array:
    return ResampledLaw(law.sd, share * law.bound, law.weights, True, law.low, law.high, law.left_out).p(x)


def _epsilons(p: Array, q: Array, points: int) -> Array:
    """ε from near 0 to where δ_end is about 1e-14, denser near 0."""
    low, high = 0.0, 600.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = np.maximum(p - math.exp(middle) * q, 0.0).sum() > _LEAST_DELTA
        low, high = (middle, high) if above else (low, middle)
    return np.asarray(high * np.linspace(1e-3, 1.0, points) ** 2, dtype=np.float64)
