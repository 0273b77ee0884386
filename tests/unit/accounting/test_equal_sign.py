"""The computed part of replace-one: a coarse rerun of the scan, and the refusal outside it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.accounting.poisson_mixtures import (
    SCANNED_COUNT_WEIGHT,
    SCANNED_NOISE,
    SCANNED_RATE,
    ResampledLaw,
    require_scanned,
)
from hedgerow.errors import UncertifiedError

Array = NDArray[np.float64]
_LEAST_DELTA = 1e-14  # below it δ is rounding of the scan's own sums


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


@pytest.mark.parametrize("noise", [SCANNED_NOISE[0], 0.3, 0.7, 3.0, 50.0, SCANNED_NOISE[1]])
@pytest.mark.parametrize("rate", [SCANNED_RATE[0], 1.0, SCANNED_RATE[1]])
def test_no_equal_sign_pair_costs_more_than_the_end_pair(noise: float, rate: float) -> None:
    assert equal_sign_ratio(noise_sd=noise, bound=0.5, rate=rate, values=6, points=20) < 1.0


@pytest.mark.parametrize(("noise", "weight"), [(0.7, 0.5), (5.0, 2.0), (2.0, SCANNED_COUNT_WEIGHT[1])])
def test_nor_with_a_count_beside_the_value(noise: float, weight: float) -> None:
    assert equal_sign_ratio(noise_sd=noise, bound=0.5, rate=1.0, count_weight=0.5 * weight, values=4, points=8) < 1.0


@pytest.mark.parametrize(("noise", "ratio"), [(0.1, 0.99), (0.3, 0.736), (0.5, 0.634), (0.7, 0.586)])
def test_the_published_ratios(noise: float, ratio: float) -> None:
    assert equal_sign_ratio(noise_sd=noise, bound=0.5, rate=1.0, values=6) == pytest.approx(ratio, abs=2e-3)


@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_sabotage_a_value_that_was_not_clamped_is_seen(noise: float) -> None:
    assert equal_sign_ratio(noise_sd=noise, bound=0.5, rate=1.0, values=6, points=20, reach=2.5) > 1.05


@pytest.mark.parametrize(
    ("noise", "rate", "weight"),
    [
        (0.09, 1.0, 0.0), (2001.0, 1.0, 0.0), (1.0, 0.09, 0.0), (1.0, 5.1, 0.0), (1.0, 1.0, 2.1),
        (float("nan"), 1.0, 0.0),
    ],
)  # fmt: skip
def test_outside_the_scan_is_refused(noise: float, rate: float, weight: float) -> None:
    with pytest.raises(UncertifiedError) as caught:
        require_scanned(noise_sd=noise, bound=0.5, rate=rate, count_weight=weight)
    assert caught.value.code == "HG403"
    require_scanned(noise_sd=0.1, bound=0.5, rate=5.0, count_weight=2.0)
