"""Laws of every interval method: moving, stretching and reflecting the estimates does the same to the interval."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.inference.bootstrap.replicate_intervals import (
    calibrated_interval,
    conservative_interval,
    file_interval,
    most_conservative_interval,
    unbiased_interval,
)
from hedgerow.inference.bootstrap.replicate_summary import Replicates

METHODS = [unbiased_interval, conservative_interval, most_conservative_interval, calibrated_interval, file_interval]

rungs = st.sampled_from([5, 10, 50, 300])
levels = st.sampled_from([0.9, 0.95, 0.99])
sizes = st.floats(1e-6, 1e6)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(METHODS),
    rungs,
    levels,
    sizes,
    sizes,
    st.floats(-5, 5),
    st.floats(1e-3, 1e3),
    st.sampled_from([1, -1]),
)
def test_it_moves_with_the_units(
    method: Callable[..., tuple[float, float]],
    k: int,
    level: float,
    spread: float,
    noise: float,
    shift: float,
    scale: float,
    sign: int,
) -> None:
    before = Replicates(1.0, spread, k, noise, centre=0.5, n=30, variance_cap=2 * noise / k)
    after = Replicates(
        sign * scale + shift,
        spread * scale**2,
        k,
        noise * scale**2,
        centre=sign * scale * 0.5 + shift,
        n=30,
        variance_cap=2 * noise / k * scale**2,
    )
    expected = sorted(sign * scale * end + shift for end in method(before, level=level))
    width = expected[1] - expected[0]
    assert method(after, level=level) == pytest.approx(expected, abs=1e-6 * width + 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(METHODS), rungs, levels, sizes, sizes, st.floats(1.0, 100.0))
def test_a_larger_spread_never_narrows_it(
    method: Callable[..., tuple[float, float]], k: int, level: float, spread: float, noise: float, growth: float
) -> None:
    small = method(Replicates(0.0, spread, k, noise), level=level)[1]
    large = method(Replicates(0.0, spread * growth, k, noise), level=level)[1]
    assert large >= small * (1 - 1e-12)
