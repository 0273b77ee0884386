"""Score intervals at the end of what is possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest


@pytest.mark.parametrize(("a", "nearest"), [(-37.0, 0.0), (61.0, 20.0), (7.0, 7.0)])
def test_an_impossible_estimate_is_read_as_the_possible_one_nearest_to_it(a: float, nearest: float) -> None:
    def interval(value: float) -> tuple[float, float]:
        one = np.array([value])
        arrays = QuadraticTest(one, Quadratic(), Quadratic(4.0), 0.0, 20.0, "gaussian", "gaussian")
        return ScoreRegion(arrays).ends(0.95)

    low, high = interval(a)
    assert (low, high) == interval(nearest) and high - low > 3.9  # 1.96 · 2: no point where the truth is not known


@pytest.mark.parametrize("freedom", [0.5, 1.0, 2.0, 30.0])
def test_an_estimated_variance_has_the_critical_value_of_student(freedom: float) -> None:
    """One degree of freedom is the least: fewer are read as one. Noise of a known variance has the normal one."""
    zero, four = np.zeros(1), Quadratic(4.0)
    wide: dict[str, Any] = {
        "low": -math.inf,
        "high": math.inf,
        "noise_law": "gaussian",
        "method": "moments",
        "freedom": freedom,
    }
    low, high = QuadraticTest(zero, four, Quadratic(), **wide).accepted(0.95)
    half = 2.0 * float(stats.t.ppf(0.975, max(freedom, 1.0)))
    assert (float(low[0]), float(high[0])) == pytest.approx((-half, half), rel=1e-9)
    low, high = QuadraticTest(zero, Quadratic(), four, **wide).accepted(0.95)
    assert float(high[0]) == pytest.approx(2.0 * float(stats.norm.ppf(0.975)), rel=1e-9)
