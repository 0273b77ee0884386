"""Adjusted p-values are those of the definitions, and shrinkage is the algebra that its page states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize, stats

from hedgerow.inference.many_cells.empirical_bayes import shrunk
from hedgerow.inference.many_cells.multiple_tests import METHODS, adjusted


@pytest.mark.parametrize("method", METHODS)
def test_adjusted_pvalues_keep_their_order_and_are_at_least_the_pvalues(method: str) -> None:
    pvalues = np.random.default_rng(1).uniform(size=50) ** 3
    after = adjusted(pvalues, method)  # type: ignore[arg-type]  # one of the names
    assert (after >= pvalues).all() and (after <= 1.0).all()
    assert (np.diff(after[np.argsort(pvalues)]) >= 0.0).all()


def test_benjamini_and_yekutieli_are_those_of_scipy() -> None:
    pvalues = np.random.default_rng(2).uniform(size=40) ** 4
    assert adjusted(pvalues, "benjamini-yekutieli") == pytest.approx(
        stats.false_discovery_control(pvalues, method="by")
    )


def test_holm_is_bonferroni_step_by_step() -> None:
    pvalues = np.array([0.01, 0.04, 0.03, 0.005])
    for level in np.linspace(0.001, 0.2, 100):
        left, called = sorted(range(4), key=lambda place: pvalues[place]), set()
        while left and pvalues[left[0]] * len(left) <= level:
            called.add(left.pop(0))
        assert {place for place in range(4) if adjusted(pvalues, "holm")[place] <= level} == called


def test_shrinkage_is_between_the_number_and_the_line() -> None:
    rng = np.random.default_rng(3)
    values, variances = rng.normal(0.0, 2.0, 20), rng.uniform(0.5, 4.0, 20)
    drawn = shrunk(values, variances, np.ones((20, 1)))
    assert ((drawn.shrinkage > 0.0) & (drawn.shrinkage < 1.0)).all()
    assert drawn.value == pytest.approx((1.0 - drawn.shrinkage) * values + drawn.shrinkage * drawn.line)
    assert np.ptp(drawn.line) == pytest.approx(0.0, abs=1e-12)
    # More error, more shrinkage; a common scale and shift change nothing else.
    assert (np.diff(drawn.shrinkage[np.argsort(variances)]) > 0.0).all()
    moved = shrunk(10.0 * values + 7.0, 100.0 * variances, np.ones((20, 1)))
    assert moved.value == pytest.approx(10.0 * drawn.value + 7.0)
    assert moved.standard_error == pytest.approx(10.0 * drawn.standard_error)


def test_cells_far_apart_are_left_and_alike_cells_are_put_together() -> None:
    apart = shrunk(np.arange(10.0) * 100.0, np.ones(10), np.ones((10, 1)))
    assert apart.shrinkage.max() < 1e-3 and apart.standard_error == pytest.approx(1.0, abs=0.01)
    alike = shrunk(np.full(30, 5.0), np.ones(30), np.ones((30, 1)))
    assert alike.value == pytest.approx(5.0) and alike.standard_error.max() < 0.7


def test_a_line_in_groups_is_followed() -> None:
    rows = np.array(list(itertools.product([0.0, 1.0], range(10))))
    columns = np.stack([np.ones(20), rows[:, 0]], axis=1)
    drawn = shrunk(50.0 * rows[:, 0] + np.random.default_rng(4).normal(size=20), np.ones(20), columns)
    assert drawn.line[:10].mean() == pytest.approx(0.0, abs=1.0) and drawn.line[10:].mean() == pytest.approx(
        50.0, abs=1.0
    )


@pytest.mark.parametrize("seed", range(3))
def test_shrinkage_is_that_of_the_largest_point_of_its_density(seed: int) -> None:
    """l(log A) by determinants, its largest point by search and its curvature by differences."""
    rng = np.random.default_rng(seed)
    columns = np.column_stack([np.ones(12), rng.normal(size=12)])
    variances = rng.uniform(0.5, 3.0, 12)
    values = columns @ [2.0, -1.0] + rng.normal(0.0, 1.5, 12) + rng.normal(0.0, np.sqrt(variances))

    def fitted(a: float) -> tuple[np.ndarray, np.ndarray]:
        weights = np.diag(1.0 / (variances + a))
        hat = columns @ np.linalg.solve(columns.T @ weights @ columns, columns.T @ weights)
        return hat @ values, np.diag(hat)

    def density(log: float) -> float:
        total = variances + np.exp(log)
        lost = np.linalg.slogdet(columns.T / total @ columns)[1]
        rest = values - fitted(float(np.exp(log)))[0]
        return float(log - 0.5 * np.log(total).sum() - 0.5 * lost - 0.5 * (rest**2 / total).sum())

    best = optimize.minimize_scalar(lambda log: -density(log), bounds=(-6.0, 6.0), method="bounded")
    log, step = float(best.x), 1e-3
    tau = -1.0 / ((density(log + step) - 2.0 * density(log) + density(log - step)) / step**2)
    a = float(np.exp(log))
    line, leverage = fitted(a)
    share = variances / (variances + a)
    error = variances * (1.0 - (1.0 - leverage) * share) + (share * (1.0 - share)) ** 2 * tau * (values - line) ** 2
    found = shrunk(values, variances, columns)
    # The largest point is read from a parabola through three of 200 points.
    assert found.spread == pytest.approx(np.sqrt(a), rel=2e-3)
    assert found.line == pytest.approx(line, rel=1e-2, abs=1e-3)
    assert found.shrinkage == pytest.approx(share, rel=4e-3)
    assert found.value == pytest.approx((1.0 - share) * values + share * line, abs=2e-2)
    assert found.standard_error == pytest.approx(np.sqrt(error), rel=4e-3)
