"""Intervals of functions with extrema, saddles and poles cover; frozen slopes, flat level sets, unseen poles do not.

2,000 runs each, seeded. Noise alone moves the totals of a census, so that the covariance is known; the simulations with
records are in `benchmarks/functions_coverage.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.unit.inference.test_region_of_function import SD, N, OfMeans, census, product, quotient, square

from hedgerow.inference.joint import region_of_function
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import Numbers
from hedgerow.inference.joint.region_of_function import Ball

RUNS = 2000
Floats = np.ndarray[Any, Any]


def herfindahl(means: Numbers) -> Numbers:
    """Return Σp² of shares, the last of which is what the others leave."""
    return np.sum(means**2, axis=1) + (1.0 - means.sum(axis=1)) ** 2


def p_value(compute: Callable[[Numbers], Numbers], means: list[float]) -> float:
    """Return how likely so few intervals cover if 94 % did."""
    truth = np.array(means)
    rng = np.random.default_rng([len(means), int(1e4 * abs(truth[0]))])
    cells = census(truth + SD / N * rng.standard_normal((RUNS, len(means))))
    low, high = estimate(OfMeans(compute), cells).accepted(0.95)
    value = float(compute(truth[None].astype(complex)).real[0])
    covered = (low <= value + 1e-12) & (value - 1e-12 <= high)
    return float(stats.binom.cdf(int(covered.sum()), RUNS, 0.94))


def between_poles(means: Numbers) -> Numbers:
    """Return a function that is positive between two poles only: from beyond them no slope leads there."""
    return np.asarray(1.0 / (means[:, 0] + 0.004) - 1.0 / (means[:, 0] - 0.004))


SETTINGS: list[tuple[Callable[[Numbers], Numbers], list[float]]] = [
    (square, [0.0]),
    (square, [0.02]),
    (product, [0.0, 0.0]),
    (product, [0.01, 0.01]),
    (quotient, [0.05, 0.01]),
    (quotient, [0.02, 0.04]),
    (between_poles, [0.0]),
    (herfindahl, [1.0 / 3.0] * 2),
    (herfindahl, [0.2] * 4),
    (herfindahl, [0.125] * 7),
]


@pytest.mark.parametrize(("compute", "means"), SETTINGS)
def test_intervals_cover(compute: Callable[[Numbers], Numbers], means: list[float]) -> None:
    assert p_value(compute, means) > 1e-6


def test_slopes_frozen_at_the_estimate_do_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    def frozen(function: Any, cells: Any, slopes: Floats, radii: Any, level: float) -> tuple[Floats, Floats]:
        ball = Ball.of(function, cells)
        direction = ball.pulled(slopes)
        unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
        below, above, _ = radii(cells, slopes)
        ends = [function(ball.totals(radius[:, None] * unit).astype(complex)).real for radius in (-below, above)]
        return ends[0], ends[1]

    monkeypatch.setattr("hedgerow.inference.joint.estimates.ends", frozen)
    assert p_value(square, [0.0]) < 1e-12


def test_level_sets_taken_to_be_flat_do_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    def flat(curvature: Floats, size: Floats, freedom: Floats, level: float) -> tuple[Floats, Floats]:
        return np.full_like(curvature, stats.norm.ppf(0.5 + level / 2.0)), np.zeros_like(curvature)

    monkeypatch.setattr(region_of_function, "curved_critical_value", flat)
    assert p_value(herfindahl, [0.2] * 4) < 1e-12


def test_a_climb_that_stops_at_poles_does_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    def climbed(function: Any, cells: Any, slopes: Floats, radii: Any, level: float) -> tuple[Floats, Floats]:
        ball, (below, above, _) = Ball.of(function, cells), radii(cells, slopes)
        low, high = (region_of_function._climb(ball, cells, slopes, radius)[0] for radius in (-below, above))
        return low, high

    monkeypatch.setattr("hedgerow.inference.joint.estimates.ends", climbed)
    assert p_value(quotient, [0.05, 0.01]) < 1e-12


def test_a_search_that_does_not_look_for_poles_does_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    def unseen(search: region_of_function._Search, radius: Floats) -> Floats:
        return np.zeros(len(radius), dtype=bool)

    monkeypatch.setattr(region_of_function._Search, "has_pole", unseen)
    assert p_value(between_poles, [0.0]) < 1e-12
