"""Means and sums from noisy moments: values by exact fractions, errors by differences of the estimates themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.inference.means_and_counts import (
    NoisyMoments,
    counts_with_errors,
    exact_count,
    mean_errors,
    mean_score_test,
    mean_skewness,
    proportions_with_errors,
    sum_skewness,
    sum_variance,
)

COUNTS, TOTALS, SQUARES = (400.0, 50.0, 3.0, 1000.0), (100.0, -20.0, 1.0, 0.0), (110.0, 5.0, 0.5, 300.0)
NOISY = NoisyMoments(*(np.array(side) for side in (COUNTS, TOTALS, SQUARES)), 1.5, 2.0, 2.5, 0.1)


def moved(name: str, step: float) -> NoisyMoments:
    return replace(NOISY, **{name: getattr(NOISY, name) + step})


def slope(function: Callable[[NoisyMoments], np.ndarray], name: str, step: float = 1e-4) -> np.ndarray:
    """The derivative of an estimate with respect to one released number, cell by cell."""
    return (function(moved(name, step)) - function(moved(name, -step))) / (2.0 * step)


def test_means_and_variances_are_those_of_the_formula() -> None:
    """a = Σu/N; v = (Σu²/N − a² + s_a²)·N/(N − 1) with s_a² = (s_t² + a² s_n²)/N², kept in [0, 1 − a²]."""
    errors = mean_errors(NOISY)
    for cell, (n, t, s) in enumerate(zip(COUNTS, TOTALS, SQUARES, strict=True)):
        count, total, square = Fraction(n), Fraction(t), Fraction(s)
        a = total / count
        noise = (Fraction(2) ** 2 + a**2 * Fraction(3, 2) ** 2) / count**2
        raw = (square / count + Fraction(1, 10) - a**2 + noise) * count / (count - 1)
        variance = min(max(raw, Fraction(0)), 1 - a**2)
        assert errors.mean[cell] == pytest.approx(float(a), rel=1e-14)
        assert errors.privacy_error[cell] == pytest.approx(math.sqrt(noise), rel=1e-12)
        assert errors.variance[cell] == pytest.approx(float(variance), rel=1e-12)
        assert errors.sampling_error[cell] == pytest.approx(math.sqrt(variance / count), rel=1e-12)


def test_the_error_of_a_mean_is_the_noise_of_its_numbers_times_their_slopes() -> None:
    def mean(moments: NoisyMoments) -> np.ndarray:
        return mean_errors(moments).mean

    exact = np.hypot(slope(mean, "count") * NOISY.count_sd, slope(mean, "total") * NOISY.total_sd)
    assert mean_errors(NOISY).privacy_error == pytest.approx(exact, rel=1e-6)


def test_the_upper_variance_adds_half_a_standard_deviation_of_its_noise() -> None:
    """Of 400 and 1,000 records, of which N/(N − 1) moves little: slopes times noise, and 2·s_a⁴ of the square of a."""
    errors, cells = mean_errors(NOISY), [0, 3]

    def variance(moments: NoisyMoments) -> np.ndarray:
        return mean_errors(moments).variance

    parts = [slope(variance, name) * getattr(NOISY, f"{name}_sd") for name in ("count", "total", "square")]
    noise = np.sqrt(sum(part**2 for part in parts) + 2.0 * errors.privacy_error**4)
    assert (errors.variance_upper - errors.variance)[cells] == pytest.approx(0.5 * noise[cells], rel=1e-2)


def test_a_census_and_a_cell_without_records_have_no_sampling_error() -> None:
    census = mean_errors(replace(NOISY, square=None))
    assert census.mean.tolist() == mean_errors(NOISY).mean.tolist() and not census.sampling_error.any()
    assert census.privacy_error.tolist() == mean_errors(NOISY).privacy_error.tolist()
    few = NoisyMoments(
        np.array([0.0, -2.0, 2.0, 1.0]), np.array([5.0, 5.0, 9.0, -9.0]), np.zeros(4), 1.0, 1.0, 1.0, 0.0
    )
    assert mean_errors(few).mean.tolist() == [0.0, 0.0, 1.0, -1.0], "a mean lies in the range"
    assert not mean_errors(few).variance[2:].any(), "at the end of the range nothing is left to vary"
    assert few.reliable.tolist() == [False, False, True, False]
    assert replace(few, count_sd=0.2).reliable.tolist() == [False, False, True, True]


@pytest.mark.parametrize("n", [None, 2000.0])
def test_the_variance_of_a_sum_and_its_noise(n: float | None) -> None:
    """Σu² where the size is random; Σu² − ((Σu)² − s_t²)/n where n records are drawn; never below 0."""
    variance, upper = sum_variance(NOISY, n)
    for cell, (t, s) in enumerate(zip(TOTALS, SQUARES, strict=True)):
        exact = s if n is None else max(s - (t**2 - 4.0) / n, 0.0)
        assert variance[cell] == pytest.approx(exact, rel=1e-12)
    parts = [
        slope(lambda m: sum_variance(m, n)[0], name) * getattr(NOISY, f"{name}_sd") for name in ("total", "square")
    ]
    assert upper - variance == pytest.approx(0.5 * np.hypot(*parts), rel=1e-6)
    assert [side.tolist() for side in sum_variance(replace(NOISY, square=None), n)] == [[0.0] * 4] * 2


def test_the_numbers_of_an_interval_are_in_the_units_of_the_column() -> None:
    """centre + H·a with H = 20: sums and their noise are multiplied by H, variances by H²; counts stay."""
    errors = mean_errors(NOISY)
    test = mean_score_test(NOISY, errors, (5.0, 20.0), noise_law="gaussian", method="score")
    assert (test.shift, test.low, test.high) == (5.0, -15.0, 25.0)
    assert test.a.tolist() == [20.0 * total for total in TOTALS] and test.b.tolist() == list(COUNTS)
    sure = NOISY.reliable
    assert test.sampling.constant[sure] == pytest.approx((NOISY.count * errors.variance_upper * 400.0)[sure], rel=1e-12)
    assert float(test.noise.constant) == 1600.0 and float(test.noise.square) == 2.25
    assert np.asarray(test.freedom)[sure].tolist() == (NOISY.count - 1.0)[sure].tolist()


def test_the_skewness_of_records_in_a_range_holds_that_of_two_values() -> None:
    """μ₃/v in units of the column: of records that are −1 or 1 it is known, −2a; others lie within what is unsure."""
    a = np.array([0.5, -0.8, 0.0])
    two = replace(mean_errors(NOISY), mean=a, variance=1.0 - a**2, privacy_error=np.zeros(3))
    skew, unsure = mean_skewness(two, np.array([True, True, True]), 20.0)
    assert skew == pytest.approx(-2.0 * a * 20.0, abs=1e-9) and unsure == pytest.approx(np.zeros(3), abs=1e-9)
    # Records at −1, 0 and 1 with chances p: μ₃ by hand.
    p, u = np.array([0.1, 0.7, 0.2]), np.array([-1.0, 0.0, 1.0])
    mean = float(p @ u)
    variance, third = (float(p @ (u - mean) ** k) for k in (2, 3))
    three = replace(two, mean=np.array([mean]), variance=np.array([variance]))
    skew, unsure = mean_skewness(three, np.array([True]), 20.0)
    assert abs(20.0 * third / variance - skew[0]) <= unsure[0] + 1e-9
    nothing = mean_skewness(three, np.array([False]), 20.0)
    assert [side.tolist() for side in nothing] == [[0.0], [0.0]]


def test_the_skewness_of_a_sum_counts_the_records_that_add_nothing() -> None:
    """1,000 draws of which each adds 2 with chance .05: μ₃/μ₂ by hand lies in the range, exactly at its one value."""
    n, chance = 1000.0, 0.05
    mean = 2.0 * chance
    variance = n * (4.0 * chance - mean**2)
    third = n * (chance * (2.0 - mean) ** 3 + (1.0 - chance) * (-mean) ** 3)
    moments = replace(NOISY, count=np.array([n]), total=np.array([n * mean]), square=np.array([200.0]))
    skew, unsure = sum_skewness(moments, np.array([variance]), n, 1.0, 2.0)
    assert skew[0] == pytest.approx(third / variance, rel=1e-9) and unsure[0] == pytest.approx(0.0, abs=1e-9)
    # Where the number of records is random, a sum of twos has variance 2·sum and third moment 4·sum.
    skew, unsure = sum_skewness(moments, np.array([2.0 * n * mean]), None, 1.0, 2.0)
    assert skew[0] == pytest.approx(2.0, abs=1e-6) and unsure[0] == pytest.approx(0.0, abs=1e-6)
    none = sum_skewness(replace(moments, square=None), np.zeros(1), n, 1.0, 2.0)
    assert [side.tolist() for side in none] == [[0.0], [0.0]]


@pytest.mark.parametrize("n", [None, 1000.0])
def test_the_skewness_of_a_sum_below_zero_is_that_of_the_sum_above_turned_round(n: float | None) -> None:
    variance = np.array([150.0, 180.0])
    above = replace(NOISY, count=np.array([90.0, 40.0]), total=np.array([80.0, 60.0]), square=variance)
    skew, unsure = sum_skewness(above, variance, n, 0.5, 2.0)
    turned, same = sum_skewness(replace(above, total=-above.total), variance, n, -2.0, -0.5)
    assert turned.tolist() == (-skew).tolist() and same.tolist() == unsure.tolist() and (skew > 0.0).all()


OPTIONS = {"noise_law": "gaussian", "method": "gaussian"}


@pytest.mark.parametrize("n", [None, 400])
@pytest.mark.parametrize("census", [True, False])
def test_counts_have_a_poisson_or_binomial_variance_and_that_of_the_noise(n: int | None, census: bool) -> None:
    noisy = np.array([100.0, 5.9, 6.0, -4.0, 500.0])
    counts = counts_with_errors(noisy, noise_sd=3.0, n=n, census=census, **OPTIONS)
    inside = np.clip(noisy, 0.0, math.inf if n is None else n)
    assert counts.reliable.tolist() == [True, False, True, False, True], "2 standard deviations are enough"
    assert counts.value.tolist() == [100.0, 5.9, 6.0, 0.0, 500.0] and set(counts.privacy_error.tolist()) == {3.0}
    variance = np.zeros(5) if census else inside - (0.0 if n is None else inside**2 / n)
    assert counts.sampling_error == pytest.approx(np.sqrt(variance), rel=1e-12)
    test = counts.test
    assert (test.low, test.high, test.margin) == (0.0, math.inf if n is None else 400.0, 0.5)
    theta = np.array([7.0])
    assert test.noise.at(theta).tolist() == [9.0]
    assert test.sampling.at(theta)[0] == pytest.approx(0.0 if census else 7.0 - (0.0 if n is None else 49.0 / n))


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("census", [True, False])
def test_proportions_have_the_variance_of_successes_less_theta_times_all(public: bool, census: bool) -> None:
    """Var((1 − θ)n₁ − θn₀) = s²((1 − θ)² + θ²) where both counts are noisy; s² where the total is public."""
    successes, sd = np.array([30.0, -2.0, 130.0, 1.0]), 4.0
    total = 100.0 if public else np.array([100.0, 50.0, 100.0, -3.0])
    shares = proportions_with_errors(successes, total, noise_sd=sd, census=census, **OPTIONS)
    sizes = np.full(4, 100.0) if public else np.asarray(total)
    value = np.where(sizes > 0.0, np.clip(successes / np.where(sizes > 0.0, sizes, 1.0), 0.0, 1.0), 0.5)
    assert shares.value == pytest.approx(value, rel=1e-12)
    # The noise of a total of two counts is √2 times as wide, and 2 standard deviations of it are enough.
    reliable = np.full(4, True) if public else sizes >= 2.0 * math.sqrt(2.0) * sd
    assert shares.reliable.tolist() == reliable.tolist()
    noise = np.full(4, sd**2) if public else sd**2 * ((1.0 - value) ** 2 + value**2)
    divisor = np.where(sizes > 0.0, sizes, 1.0)
    assert shares.privacy_error == pytest.approx(np.where(reliable, np.sqrt(noise) / divisor, 0.5), rel=1e-12)
    variance = np.zeros(4) if census else np.maximum(sizes, 0.0) * value * (1.0 - value)
    assert shares.sampling_error == pytest.approx(np.where(reliable, np.sqrt(variance) / divisor, 0.5), rel=1e-12)
    assert np.asarray(shares.test.margin) == pytest.approx(0.5 / divisor)
    assert shares.test.b.tolist() == sizes.tolist() and (shares.test.low, shares.test.high) == (0.0, 1.0)


def test_a_total_is_reliable_from_one_record_and_from_two_standard_deviations_on() -> None:
    def reliable(total: float, sd: float) -> bool:
        shares = proportions_with_errors(np.zeros(1), np.array([total]), noise_sd=sd, census=False, **OPTIONS)
        return bool(shares.reliable[0])

    assert [reliable(1.0, 0.1), reliable(0.99, 0.1)] == [True, False]
    edge = 2.0 * math.sqrt(2.0) * 5.0
    assert [reliable(edge * 1.001, 5.0), reliable(edge * 0.999, 5.0)] == [True, False]


def test_a_public_count_is_an_interval_of_one_point() -> None:
    exact = exact_count(70)
    assert exact.a.tolist() == [70.0] and (exact.b, exact.shift) == (1.0, 0.0)
    for quadratic in (exact.noise, exact.sampling):
        assert quadratic.at(np.array([3.0])).tolist() == [0.0]
    assert (exact.low, exact.high) == (0.0, math.inf)


def test_second_moments_are_in_squares_of_the_unit() -> None:
    moments = NoisyMoments(np.array([100.0]), np.array([20.0]), np.array([25.0]), 0.0, 2.0, 3.0, 0.0)
    square, variance = moments.squares(10.0)
    assert square is not None and square.tolist() == [2500.0] and float(variance) == 300.0**2
    none, variance = replace(moments, square=None).squares(10.0)
    assert none is None and float(variance) == 300.0**2
