"""Estimates computed with: values, errors and what an interval covers, of a public number too."""

from __future__ import annotations

import math

import pytest
from tests.unit.inference.test_joint_arithmetic import AGE, YEARS

from hedgerow.inference.estimate import PUBLIC, Estimate
from hedgerow.inference.interval import Interval
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.means_and_counts import exact_count
from hedgerow.inference.region import ScoreRegion


def made(column: str, joint: JointValue) -> Estimate:
    """Return a mean with its joint law."""
    errors = joint.sampling_error, 0.0, joint.privacy_error
    covers = f"the population mean of {column}; sampling and privacy noise are counted"
    region = ScoreRegion.of(joint)
    return Estimate("mean", column, {}, joint.estimate, *errors, "moments", None, True, None, covers, region)


def public(number: int) -> Estimate:
    """Return a public number of records."""
    region = ScoreRegion(exact_count(number))
    return Estimate("count", None, {}, float(number), 0.0, 0.0, 0.0, PUBLIC, None, True, None, "all; public", region)


MEAN, OTHER, N = made("age", AGE), made("years", YEARS), public(800)


@pytest.mark.parametrize("number", [800, N])
def test_a_public_number_counts_as_a_number(number: int | Estimate) -> None:
    mean, error = MEAN.estimate, MEAN.standard_error or 0.0
    for result, value, scale in (
        (MEAN + number, mean + 800.0, 1.0),
        (number + MEAN, mean + 800.0, 1.0),
        (MEAN - number, mean - 800.0, 1.0),
        (number - MEAN, 800.0 - mean, 1.0),
        (MEAN * number, 800.0 * mean, 800.0),
        (number * MEAN, 800.0 * mean, 800.0),
        (MEAN / number, mean / 800.0, 1.0 / 800.0),
    ):
        assert result.estimate == pytest.approx(value, rel=1e-12)
        assert result.standard_error == pytest.approx(scale * error, rel=1e-12)
    inverse = number / MEAN
    assert inverse.estimate == pytest.approx(800.0 / mean)
    assert inverse.standard_error == pytest.approx(800.0 * error / mean**2, rel=0.01)


def test_public_numbers_stay_public() -> None:
    for result, value in ((N + N, 1600.0), (N - public(300), 500.0), (N / public(300), 8.0 / 3.0), (1 / N, 1 / 800.0)):
        assert result.estimate == pytest.approx(value) and result.method == PUBLIC and result.standard_error == 0.0


def test_what_the_interval_of_an_expression_covers_names_each_term_once() -> None:
    combined = (MEAN - OTHER) + MEAN
    assert combined.covers == (
        "this combination of the population mean of age, and of the population mean of years; "
        "sampling and privacy noise are counted"
    )
    assert (MEAN * 2).covers == f"this combination of {MEAN.covers}"


def test_a_rounded_end_is_never_minus_zero() -> None:
    ends = tuple(Interval(-0.0, -0.0, 0.95, "moments").outward())
    assert [math.copysign(1.0, end) for end in ends] == [1.0, 1.0]
    assert str(Interval(-0.0, 1.0, 0.95, "moments")).startswith("[0, 1]")
