"""One suite for every interval method: same signature, same manners."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scipy import stats

from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_intervals import (
    INTERVALS,
    calibrated_interval,
    conservative_interval,
    file_error_parts,
    file_interval,
    most_conservative_interval,
    unbiased_interval,
)
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.region import ReplicateRegion

METHODS = [unbiased_interval, conservative_interval, most_conservative_interval, calibrated_interval, file_interval]
POPULATION = METHODS[:-1]
SUMMARY = Replicates(10.0, 5.0, 50, 2.0, centre=9.0, n=4)


@pytest.mark.parametrize("method", METHODS)
def test_it_is_centred_and_grows_with_the_level(method: Callable[..., tuple[float, float]]) -> None:
    widths = []
    for level in (0.5, 0.9, 0.95, 0.99):
        low, high = method(SUMMARY, level=level)
        assert (low + high) / 2 == pytest.approx(10.0)
        widths.append(high - low)
    assert widths == sorted(widths) and widths[0] > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan"), "0.95", None, True])
def test_it_refuses_what_is_no_level(method: Callable[..., tuple[float, float]], level: object) -> None:
    with pytest.raises(ParameterError, match="HG110"):
        method(SUMMARY, level=level)


@pytest.mark.parametrize("method", POPULATION)
def test_it_is_never_narrower_than_the_noise_alone(method: Callable[..., tuple[float, float]]) -> None:
    for spread in (0.0, 0.5, 2.0):
        low, high = method(Replicates(0.0, spread, 50, 2.0), level=0.9)
        assert (high - low) / 2 >= stats.norm.ppf(0.95) * (2.0 / 50) ** 0.5 * (1 - 1e-9)


@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("name", INTERVALS)
def test_the_standard_error_is_the_same_beside_every_interval(name: str, census: bool) -> None:
    parts = ReplicateRegion(SUMMARY, 0.0, 100.0, True, name, census).parts()
    assert parts == ReplicateRegion(SUMMARY, 0.0, 100.0, True, "calibrated", census).parts()
    squares = parts.sampling_error**2 + parts.bootstrap_error**2 + parts.privacy_error**2
    assert parts.standard_error**2 == pytest.approx(squares)
    assert parts.privacy_error**2 == pytest.approx(2.0 / 50)


def test_what_is_subtracted_orders_brawner_and_honakers_three() -> None:
    widths = [
        method(SUMMARY, level=0.95)[1]
        for method in (unbiased_interval, conservative_interval, most_conservative_interval)
    ]
    assert widths == sorted(widths) and len(set(widths)) == 3


def test_the_offset_narrows_every_method_that_subtracts_the_known() -> None:
    for method in (unbiased_interval, conservative_interval, calibrated_interval):
        corrected = method(SUMMARY, level=0.95)[1]
        assert corrected < method(SUMMARY.without_centre(), level=0.95)[1]


def test_the_file_interval_is_students() -> None:
    low, high = file_interval(Replicates(10.0, 4.0, 8, 1.0), level=0.9)
    assert (low, high) == pytest.approx(stats.t(7, loc=10.0, scale=(4.0 / 8) ** 0.5).interval(0.9))
    assert file_error_parts(Replicates(0.0, 4.0, 8, 1.0)).sampling_error == 0.0


def test_replicates_that_vary_less_than_their_noise_have_no_bootstrap_error() -> None:
    parts = file_error_parts(Replicates(0.0, 4.0, 8, 9.0))
    assert parts.bootstrap_error == 0.0 and parts.privacy_error == pytest.approx((9.0 / 8.0) ** 0.5)
    # s² is an unbiased estimate of σ₁² + v; .2 is left of it, fewer than one.
    few = file_error_parts(Replicates(0.0, 2.2, 10_000, 2.0))
    assert few.bootstrap_error == pytest.approx((0.2 / 10_000) ** 0.5, rel=1e-3)
