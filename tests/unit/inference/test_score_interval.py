"""Score intervals at the end of what is possible."""

from __future__ import annotations

import numpy as np
import pytest

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
