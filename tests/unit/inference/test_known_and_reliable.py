"""Where a function of totals is known and where it is reliable: at a count, a divisor, an error as wide as all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.unit.inference.test_joint_arithmetic import AGE, OTHER, RELEASE, X, Y
from tests.unit.inference.test_joint_totals_by_hand import block
from tests.unit.inference.test_region_of_function import SD, N, OfMeans, census, read

from hedgerow.inference.joint.arithmetic import EstimateTerm, JointValue
from hedgerow.inference.joint.estimates import estimate, joint_covariance
from hedgerow.inference.joint.functions import MeanOfTotals, Numbers, RatioOfTotals, ScaledMean, SumOfTotals
from hedgerow.inference.joint.totals import JointTotals, SideBySide


@pytest.mark.parametrize(
    ("limits", "middle"),
    [
        ((2.0, 8.0), 5.0),
        ((-math.inf, math.inf), 0.0),
        ((3.0, math.inf), 3.0),
        ((-math.inf, -4.0), -4.0),
        ((-1.0, math.inf), 0.0),
    ],
)
def test_what_is_not_defined_is_a_possible_number_with_everything_as_its_interval(
    limits: tuple[float, float], middle: float
) -> None:
    got = read(lambda m: m[:, 0] * np.nan, [[0.1], [0.2]], limits=limits)
    assert got.value.tolist() == [middle] * 2
    assert not got.known.any() and not got.reliable.any()
    half = (limits[1] - limits[0]) / 2.0
    assert got.privacy_error.tolist() == got.sampling_error.tolist() == [half] * 2
    low, high = got.accepted(0.9)
    assert (low.tolist(), high.tolist()) == ([limits[0]] * 2, [limits[1]] * 2)


def test_errors_of_what_is_not_reliable_are_at_most_half_of_what_is_possible() -> None:
    """A product with an error of .06 between −.1 and .1 is clear; between −.05 and .05 it is nothing but possible."""
    for room, known in ((0.1, False), (1.0, True)):
        got = read(lambda m: 6.0 * m[:, 0] + 0.0, [[0.01]], limits=(-room, room))
        assert got.known.tolist() == [known]
        assert got.privacy_error == pytest.approx([6.0 * SD / N])
    narrow = read(lambda m: 6.0 * m[:, 0] + 0.0, [[0.01]], limits=(-0.05, 0.05))
    assert narrow.privacy_error.tolist() == [0.05] and narrow.sampling_error.tolist() == [0.0]


@dataclass(frozen=True)
class Divided(OfMeans):
    """A function that divides by its first mean."""

    poles: bool = True

    @property
    def has_poles(self) -> bool:  # type: ignore[override]  # a constant in most functions
        """As it was made."""
        return self.poles

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return the first mean and the number of records."""
        return [totals[:, 0], totals[:, 1] / totals[:, 0]]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("poles", [True, False])
def test_what_is_divided_by_stands_two_deviations_clear_of_its_noise(poles: bool, sign: float) -> None:
    means = sign * 2.0 * SD / N * np.array([[1.001], [0.999]])
    got = estimate(Divided(lambda m: 1.0 / m[:, 0], (-1e9, 1e9), poles), census(means))
    assert got.reliable.tolist() == [True, False]
    assert got.known.tolist() == [True, not poles]
    tangent = SD / N / means[0, 0] ** 2  # of which at most half is taken off, for what noise adds through the slopes
    assert 0.5 * tangent <= got.privacy_error[0] <= tangent and np.isfinite(got.privacy_error).all()


def counted(count: float, sd: float) -> SideBySide:
    """Return one cell with a mean of .5, and noise on its number of records alone."""
    mixing = np.diag([sd, 1e-9, 1e-9])
    products = np.array([[[0.3 * max(count, 1.0)]]])
    return SideBySide((JointTotals(np.array([count]), np.array([[0.5 * count]]), products, mixing, "gaussian"),))


@pytest.mark.parametrize(
    ("count", "sd", "known"),
    [(1.0, 0.0, True), (0.99, 0.0, False), (10.1, 5.0, True), (9.9, 5.0, False), (10.0, 5.0, True)],
)
def test_a_count_of_records_stands_two_deviations_clear_and_is_at_least_one(
    count: float, sd: float, known: bool
) -> None:
    axis = ScaledMean(1, 0.0, 1.0)
    for function in (OfMeans(lambda m: m[:, 0] + 0.0), MeanOfTotals(axis), RatioOfTotals(axis, axis.counting())):
        got = estimate(function, counted(count, sd))
        assert got.reliable.tolist() == [known], function
        assert known or got.accepted(0.9)[0].tolist() == [function.low]


def test_few_records_vary_by_no_more_than_their_bounds_allow() -> None:
    """1.02 noisy records at a mean of .5 have a variance of at most 1 − .5² each; count and sum share their noise."""
    mixing = np.array([[0.1, 0.0, 0.0], [0.05, 0.1, 0.0], [0.0, 0.0, 0.1]])
    one = JointTotals(np.array([1.02]), np.array([[0.51]]), np.array([[[40.0]]]), mixing, "gaussian")
    got = estimate(MeanOfTotals(ScaledMean(1, 10.0, 4.0)), SideBySide((one,)))
    assert got.reliable.all() and got.value == pytest.approx([12.0])
    assert got.sampling_error == pytest.approx([4.0 * math.sqrt(0.75 / 1.02)], rel=1e-12)
    noise = np.array([-0.5, 1.0]) @ mixing[:2] / 1.02
    assert got.privacy_error == pytest.approx([4.0 * math.sqrt(noise @ noise)], rel=1e-12)


def test_functions_of_counts_alone_need_no_records() -> None:
    blank = JointTotals(np.array([0.4]), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.array([[3.0]]), "gaussian")
    got = estimate(SumOfTotals(ScaledMean(0, 2.0, 0.0), (0.0, math.inf)), SideBySide((blank, blank), (0, 1)))
    assert got.known.all()


@pytest.mark.parametrize("others", [(False, False), (True, False), (False, True), (True, True)])
def test_a_value_is_of_others_where_all_that_it_is_made_of_is(others: tuple[bool, bool]) -> None:
    first, second = (one.of_others() if other else one for one, other in zip((AGE, OTHER), others, strict=True))
    assert (first - second).others == all(others) and (first * 2.0).others == others[0] == (-first).others
    assert first.log().others == others[0]


def test_the_records_of_a_mean_are_those_that_have_its_feature() -> None:
    assert (AGE.records, OTHER.records, (AGE - OTHER).records) == (300.0, 500.0, None)
    below = replace(RELEASE, count=np.array([-3.0, 5.0]))
    assert JointValue.of(below, 0, MeanOfTotals(X)).records == 0.0
    based = JointValue.of(RELEASE, 1, MeanOfTotals(ScaledMean(1, 0.0, 1.0, base=2)))
    assert based.records == pytest.approx(float(RELEASE.sums[1, 1]))
    for release in (replace(RELEASE, census=True), replace(RELEASE, limit=3)):
        assert JointValue.of(release, 0, MeanOfTotals(X)).records is None
    assert JointValue.of(RELEASE, 0, RatioOfTotals(X, Y)).records is None


def test_a_value_is_reliable_where_its_error_is_a_number() -> None:
    assert AGE.reliable
    swamped = replace(RELEASE, mixing=1e4 * np.eye(6))
    assert not JointValue.of(swamped, 0, MeanOfTotals(X)).reliable
    node = EstimateTerm(MeanOfTotals(X), (0, 1))
    assert JointValue((RELEASE,), node).standard_error == OTHER.standard_error


def test_a_mean_of_no_records_has_no_sampling_error_and_no_covariance() -> None:
    """It has no slope, and none stands in for it; the noise on the count and the totals is mixed."""
    mixing = block(1, public=False).mixing
    products = np.array([[[2.0, 1.0], [1.0, 4.0]]])
    none = SideBySide((JointTotals(np.zeros(1), np.array([[3.0, 1.0]]), products, mixing, "gaussian"),))
    made = [estimate(MeanOfTotals(ScaledMean(place)), none) for place in (1, 2)]
    assert not made[0].reliable[0]
    assert made[0].sampling_error[0] == 0.0
    for covariance in joint_covariance(made):
        assert covariance[0, 0, 1] == 0.0
