"""What skewness does to an interval: its range by linear programming, and the shift and the width that it asks for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from hedgerow.inference.score_test import correction, skewness_range


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0)])
@pytest.mark.parametrize(("mean", "spread"), [(0.1, 0.2), (0.5, 0.9), (0.5, 0.3), (0.8, 0.6)])
def test_no_law_within_the_bounds_is_more_skewed(low: float, high: float, mean: float, spread: float) -> None:
    """Over all laws on a fine grid with this mean and variance; `mean` and `spread` are shares of what is possible."""
    grid = np.linspace(low, high, 801)
    mean = low + mean * (high - low)
    mean = float(grid[np.argmin(np.abs(grid - mean))])
    variance = spread * (high - mean) * (mean - low)
    moved = grid - mean
    equal = np.stack([np.ones_like(grid), moved, moved**2]), np.array([1.0, 0.0, variance])
    ends = [sign * linprog(sign * moved**3, A_eq=equal[0], b_eq=equal[1]).fun / variance for sign in (1.0, -1.0)]
    middle, half = (float(part) for part in skewness_range(np.array(mean), np.array(variance), low, high))
    # Laws on the grid only: the true ends lie beyond those of the grid, by less than a step.
    assert (middle - half, middle + half) == pytest.approx(tuple(ends), abs=2.0 * (high - low) / 800)


def test_without_room_for_any_spread_no_skewness_is_open() -> None:
    middle, half = skewness_range(np.array([0.0, 1.0]), np.zeros(2), 0.0, 1.0)
    assert middle.tolist() == [1.0, -1.0] and half.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("z", [0.7, 1.0, 1.96, 3.3])
def test_both_ends_are_shifted_as_johnson_shifts_them(z: float) -> None:
    """|x − θ| = z·√(v + g(θ − x)) has two solutions about z²g/2: Johnson's γ(1 + 2z²)/(6√n), in units of the sum."""
    skew, sampling = 0.8, 50.0
    growth, factor = correction(np.array(z), skew, 0.0, np.array(sampling), np.array(sampling))
    ends = np.roots([1.0, -(z**2) * float(growth), -(z**2) * sampling])
    assert ends.mean() == pytest.approx(skew * (1.0 + 2.0 * z**2) / 6.0, rel=1e-12)
    assert factor == 1.0, "a skewness that is known widens nothing"


@pytest.mark.parametrize("z", [1.0, 1.645, 1.96, 2.576])
def test_an_interval_is_widened_until_it_covers_whichever_skewness_it_is(z: float) -> None:
    sampling, total = 30.0, 50.0
    nominal = stats.norm.cdf(z) - stats.norm.cdf(-z)
    for shift in (0.05, 0.1, 0.2):
        # The unknown skewness that shifts both ends by so many standard errors.
        unsure = shift * 6.0 / (1.0 + 2.0 * z**2) * total**1.5 / sampling
        _, factor = correction(np.array(z), 0.0, unsure, np.array(sampling), np.array(total))

        def covered(wider: float, moved: float = shift) -> float:
            return float(stats.norm.cdf(z * wider + moved) - stats.norm.cdf(-z * wider + moved))

        # To second order in the shift; the error is of its fourth power.
        assert abs(covered(float(np.sqrt(factor))) - nominal) < shift**4
        if shift < 0.1:
            assert covered(1.0 + 0.8 * (float(np.sqrt(factor)) - 1.0)) < nominal - shift**4, (
                "a fifth less is too little"
            )
    _, factor = correction(np.array(z), 0.0, 1e4, np.array(sampling), np.array(total))
    far = (1.0 + 2.0 * z**2) / 6.0 * 1e4 * sampling / total**1.5
    assert float(np.sqrt(factor)) == pytest.approx(1.0 + far / z), "far out both ends reach farther by the shift"


def test_units_change_nothing() -> None:
    z, scale = np.array(1.96), 1000.0
    plain = correction(z, 0.4, 0.7, np.array(20.0), np.array(25.0))
    scaled = correction(z, scale * 0.4, scale * 0.7, np.array(scale**2 * 20.0), np.array(scale**2 * 25.0))
    assert float(scaled[0]) == pytest.approx(scale * float(plain[0]), rel=1e-12)
    assert float(scaled[1]) == pytest.approx(float(plain[1]), rel=1e-12)
    assert float(plain[1]) > 1.0
    nothing = correction(z, 0.4, 0.7, np.array(0.0), np.array(0.0))
    assert float(nothing[1]) == 1.0, "where nothing varies, nothing is widened"
