"""Half-widths against their definition, and Theorem 4's probability against simulation: 1 − γ, not γ."""

import numpy as np
import pytest
from reproduction.okeefe_charest.accuracy import (
    accuracy_gain_difference,
    accuracy_gain_ratio,
    laplace_accuracy,
    laplace_half_width,
    laplace_probability,
)
from scipy import stats

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.laws import gaussian_half_width, geometric_half_width, geometric_probability
from hedgerow.testing.published import published_accuracy_probability


def test_theorem_4_by_simulation() -> None:
    """20,000 tables of 9 cells, γ = .05: the share within h is (1 − γ/k)^k; the printed γ is rejected."""
    runs, cells, gamma = 20_000, 9, 0.05
    errors = np.abs(np.random.default_rng(4).laplace(0.0, 2.0, (runs, cells))).max(axis=1)
    inside = int((errors <= laplace_half_width(2.0, 1.0, cells=cells, gamma=gamma)).sum())
    assert stats.binomtest(inside, runs, laplace_probability(cells=cells, gamma=gamma)).pvalue > 1e-6
    assert stats.binomtest(inside, runs, published_accuracy_probability(gamma)).pvalue < 1e-12
    # At γ near 1 the printed bound even promises more than is true.
    assert laplace_probability(cells=9, gamma=0.9) < published_accuracy_probability(0.9)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 40.0])
@pytest.mark.parametrize("cells", [1, 9, 1000])
@pytest.mark.parametrize("gamma", [0.001, 0.05, 0.5])
def test_geometric_half_width_is_the_least(scale: float, cells: int, gamma: float) -> None:
    m = geometric_half_width(scale, cells=cells, gamma=gamma)
    z = np.arange(-4000, 4001)
    mass = np.exp(-np.abs(z) / scale)
    mass /= mass.sum()
    direct = lambda width: mass[np.abs(z) <= width].sum() ** cells  # noqa: E731 - a formula, beside its use
    assert direct(m) == pytest.approx(geometric_probability(m, scale, cells=cells), rel=1e-9)
    assert direct(m) >= 1 - gamma - 1e-12
    assert m == 0 or direct(m - 1) < 1 - gamma


def test_the_continuous_half_width_can_fall_short_on_a_grid() -> None:
    h = laplace_half_width(1.0, 1.0, cells=1, gamma=np.exp(-2.999))
    assert geometric_probability(int(h), 1.0) < 1 - np.exp(-2.999)


def test_gaussian_half_width() -> None:
    h = gaussian_half_width(2.0, cells=7, gamma=0.1)
    assert (1 - 2 * stats.norm.sf(h / 2.0)) ** 7 == pytest.approx(0.9, rel=1e-12)


def test_result_12() -> None:
    both = [laplace_accuracy(delta, 0.5, cells=4, gamma=0.1) for delta in (6.0, 2.0)]
    assert both[1] / both[0] == pytest.approx(accuracy_gain_ratio(6.0, 2.0))
    assert both[1] - both[0] == pytest.approx(accuracy_gain_difference(6.0, 2.0, 0.5, cells=4, gamma=0.1))
    assert accuracy_gain_ratio(1.0, 0.0) == np.inf


@pytest.mark.parametrize("wrong", [{"gamma": 1.0}, {"gamma": 0.0}, {"cells": 0}, {"cells": 1.5}])
def test_refusals(wrong: dict) -> None:
    with pytest.raises(ParameterError) as refused:
        laplace_half_width(1.0, 1.0, **wrong)
    assert refused.value.code == "HG157"
    with pytest.raises(ParameterError):
        laplace_half_width(0.0, 1.0)
