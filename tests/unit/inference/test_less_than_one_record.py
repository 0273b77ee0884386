"""Noise leaves numbers of records near 0 and below: less than one record is read as one, and a little more as it is."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.inference.distribution.noisy_tree import ErrorLaw
from hedgerow.inference.joint.functions import CovarianceOfTotals, ScaledMean
from hedgerow.inference.joint.totals import JointTotals, units_behind
from hedgerow.inference.means_and_counts import NoisyMoments, sum_skewness, sum_variance
from hedgerow.inference.score_test import skewness_range
from hedgerow.inference.survival.life_table import LifeTables

COUNTS, READ = np.array([-3.0, 0.4, 1.05, 7.0]), np.array([1.0, 1.0, 1.05, 7.0])


def test_numbers_of_records_that_are_divided_by() -> None:
    totals = JointTotals(COUNTS, np.ones((4, 1)), np.ones((4, 1, 1)), np.eye(3), "gaussian")
    assert totals.positive_count.tolist() == READ.tolist()
    assert totals.means[:, 0] == pytest.approx(1.0 / READ)
    rows = np.array([0.2, 1.04, 3.0])
    assert units_behind(rows, rows, 2, None).tolist() == [1.0, 1.04, 3.0]
    assert units_behind(np.array([2.0]), np.array([0.3]), 2, None).tolist() == [2.0]  # Σr² is at least 1
    assert ErrorLaw(0.3, 0.25, False, 0.0).sampling == 0.1875
    assert ErrorLaw(1.05, 0.25, False, 0.0).sampling == pytest.approx(1.05 * 0.1875)
    assert ErrorLaw(1.05, 0.25, True, 0.0).sampling == 0.0


def test_the_second_order_of_the_noise_of_a_covariance() -> None:
    """V_xx V_yy + V_xy² of the noise of two means."""
    x, y = ScaledMean(1, 0.0, 2.0), ScaledMean(2, 0.0, 3.0)
    noise = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.2, 0.0], [0.0, 0.2, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]])
    totals = np.zeros((4, 4))
    totals[:, 0] = COUNTS
    of_means = (0.5 * 4.0 * 0.7 * 9.0 + (0.2 * 6.0) ** 2) / READ**4
    assert CovarianceOfTotals(x, y, 3).second_order(totals, noise) == pytest.approx(of_means)


def test_a_life_table_of_hardly_any_records() -> None:
    """One interval: events, censored records, and those beyond; r is at least 1, and so is r less the events."""
    counts = np.array([[0.1, 0.0, 0.5], [0.02, 0.0, 1.03], [1.0, 0.5, 1.3]])
    life = LifeTables(counts, (1.0,), 0.0, "gaussian", False, 0.5)
    assert life.divisors[0][:, 0] == pytest.approx([1.0, 1.05, 2.55])
    assert life.divisors[1][:, 0] == pytest.approx([1.0, 1.03, 1.55])
    assert life.exposed[:, 0] == pytest.approx([1.0, 1.05, 2.55])
    assert life.reliable[:, 0].tolist() == [False, True, True]
    exposed, events = np.array([1.5, 2.05, 5.0, 2.0]), np.array([0.5, 0.5, 2.0, 3.0])
    spread = events * np.array([1.0, 1.55, 3.0, 0.0]) / np.array([1.0, 1.05, 4.0, 1.0])
    assert life.spread_of_events(exposed, events) == pytest.approx(spread)


def test_a_sum_over_one_record() -> None:
    moments = NoisyMoments(np.ones(1), np.array([0.5]), np.array([0.6]), 0.0, 0.1, 0.2, 0.0)
    for n in (0.0, 1.0):
        variance, upper = sum_variance(moments, n)
        assert variance == pytest.approx([0.6 - (0.25 - 0.01)])
        assert upper - variance == pytest.approx([0.5 * np.hypot(0.2, 2.0 * 0.5 * 0.1)])
        expected = skewness_range(np.array([0.5]), variance, -1.0, 1.0)
        for got, wanted in zip(sum_skewness(moments, variance, n, -1.0, 1.0), expected, strict=True):
            assert got == pytest.approx(wanted)
    free, _ = sum_variance(moments, None)
    assert free.tolist() == [0.6]
