"""The computed part of replace-one: a coarse rerun of the scan, and the refusal outside it."""

from __future__ import annotations

import pytest

from hedgerow.accounting.resampled.equal_sign import (
    SCANNED_COUNT_WEIGHT,
    SCANNED_NOISE,
    SCANNED_RATE,
    equal_sign_ratio,
    require_scanned,
)
from hedgerow.errors import UncertifiedError


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
