"""The search for weights takes the same steps as SciPy's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from hedgerow.release.designs.joint.chooser import lowest

Floats = NDArray[np.float64]


def bent(x: Floats) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def cornered(x: Floats) -> float:
    return math.inf if x[0] > 0.2 else float(np.abs(x).sum() + math.sin(5.0 * x[-1]))


@pytest.mark.parametrize("function", [bent, cornered, lambda x: 1.0])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("most", [2, 17, 60, 400])
def test_the_simplex_takes_the_steps_of_scipy(function, size: int, most: int) -> None:  # type: ignore[no-untyped-def]  # any function
    start = np.linspace(-0.9, 0.4, size)
    simplex = np.vstack([start, start + 0.5 * np.eye(size)])
    theirs, ours = list[list[float]](), list[list[float]]()

    def noted(steps: list[list[float]]) -> Callable[[Floats], float]:
        def value(x: Floats) -> float:
            steps.append(x.tolist())
            return float(function(x))

        return value

    options = {"maxfev": most, "xatol": 1e-4, "fatol": 1e-6, "initial_simplex": simplex}
    with np.errstate(invalid="ignore"):
        best = minimize(noted(theirs), start, method="Nelder-Mead", options=options)
    point, value = lowest(noted(ours), simplex, most=most, near=1e-4, alike=1e-6)
    assert ours == theirs
    assert (point.tolist(), value) == (best.x.tolist(), best.fun)
