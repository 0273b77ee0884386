"""Quantiles of a normal plus a Laplace number, against SciPy's integration; arrays against one at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from hedgerow.inference.interval import noise_quantile, noise_quantiles


def outside(h: float, sampling: float, noise: float) -> float:
    """P(|G + L| > h), by integrating over the Laplace number."""
    scale = noise / np.sqrt(2.0)

    def beyond(x: float) -> float:
        return float(stats.laplace.pdf(x, scale=scale) * 2 * stats.norm.sf(h - x, scale=sampling))

    ends = (-60 * scale - h, 0.0, h, h + 60 * scale)
    return sum(integrate.quad(beyond, low, high, epsabs=1e-13, limit=200)[0] for low, high in pairwise(ends))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("sampling", "noise"), [(1.0, 1.0), (3.0, 0.2), (0.05, 2.0), (40.0, 55.0)])
def test_what_lies_outside_has_the_stated_probability(level: float, sampling: float, noise: float) -> None:
    h = noise_quantile(level, sampling, noise)
    assert outside(h, sampling, noise) == pytest.approx(1 - level, rel=1e-6)
    assert outside(0.9 * h, sampling, noise) > 1.03 * (1 - level)


def test_the_limits_are_those_of_one_law_alone() -> None:
    """Also where one is a hundred millionth of the other, where the closed form would lose its digits."""
    for tiny in (0.0, 1e-12, 3e-9, 1e-7):
        assert noise_quantile(0.95, 1.0, tiny) == pytest.approx(stats.norm.isf(0.025), rel=1e-9)
        assert noise_quantile(0.95, tiny, np.sqrt(2.0)) == pytest.approx(np.log(20.0), rel=1e-9)
    assert noise_quantile(0.95, 0.0, 0.0) == 0.0


def test_arrays_and_single_numbers_agree_to_the_last_digit() -> None:
    rng = np.random.default_rng(8)
    sampling, noise = 10.0 ** rng.uniform(-6, 6, (2, 500))
    for level in (0.5, 0.95, 0.999999):
        many = noise_quantiles(level, sampling, noise)
        assert many.tolist() == [noise_quantile(level, s, n) for s, n in zip(sampling, noise, strict=True)]
