"""Estimates of a release are computed with: the parts of their errors, their intervals, their names and refusals."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.inference.estimate import Estimate
from hedgerow.release.result import Release
from hedgerow.testing import simulated

RNG = np.random.default_rng(15)
SIZE = 2000
AGE = np.clip(RNG.normal(45.0, 15.0, SIZE), 0, 100)
TABLE = pa.table({"age": AGE, "pay": np.clip(AGE * RNG.uniform(0, 2, SIZE), 0, 200), "sex": RNG.integers(0, 2, SIZE)})
BOUNDS = {"age": (0, 100), "pay": (0, 200)}


def mean_of(column: str) -> Any:
    return hg.function(lambda t: 1.0 * t[column], columns={column: BOUNDS[column]}, name=f"mean of {column}")


VARIANCE_OF_AGE = hg.variance("age", bounds=BOUNDS["age"])
ASKED = [hg.ratio("pay", "age", bounds=BOUNDS), VARIANCE_OF_AGE, mean_of("age"), mean_of("pay")]
USUAL = {"epsilon": 2.0, "missing": "error-if-declared-complete"}


def released(seed: int = 1, target: str = "population", **options: Any) -> Release:
    survey = hg.open(TABLE, relation="replace-one", target=target)
    return simulated.release(survey, [*ASKED, hg.count()], rng=seed, **(USUAL | options))


RATIO, VARIANCE, YEARS, PAY, N = released()


def test_the_difference_and_the_quotient_of_two_means_of_the_same_people_are_estimates() -> None:
    difference, quotient = PAY - YEARS, PAY / YEARS
    assert difference.estimate == pytest.approx(PAY.estimate - YEARS.estimate)
    assert difference.sampling_error == pytest.approx(
        np.std(np.asarray(TABLE["pay"]) - AGE, ddof=1) / math.sqrt(SIZE), rel=0.1
    )
    assert quotient.estimate == pytest.approx(RATIO.estimate)
    assert quotient.standard_error == pytest.approx(RATIO.standard_error, rel=0.01)
    interval = quotient.confidence_interval(0.8)
    assert (interval.low, interval.high) == pytest.approx(RATIO._region.ends(0.8), rel=2e-3)
    assert quotient.method == "moments" and quotient.reliable and quotient.bootstrap_error == 0.0
    assert quotient.to_dict().keys() == RATIO.to_dict().keys()
    assert {quotient.column, *quotient.cell} == {None}


def test_numbers_move_an_interval_as_it_is() -> None:
    for made, scale, shift in (
        (2 * RATIO, 2, 0),
        (1 - RATIO, -1, 1),
        (RATIO / 4 + 1, 0.25, 1),
        (-RATIO, -1, 0),
        (RATIO * N, SIZE, 0),
        (N * RATIO, SIZE, 0),
        (N - RATIO, -1, SIZE),
    ):
        low, high = sorted(scale * end + shift for end in RATIO._region.ends(0.9))
        interval = made.confidence_interval(0.9)
        assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-12)
        assert made.estimate == pytest.approx(scale * RATIO.estimate + shift)
        assert made.privacy_error == pytest.approx(abs(scale) * (RATIO.privacy_error or 0.0))
    assert (0 * RATIO).standard_error == 0.0
    assert (RATIO - RATIO).standard_error == 0.0
    assert (2 * RATIO - RATIO - RATIO).confidence_interval().high == pytest.approx(0.0, abs=1e-9)
    assert (1 / N).estimate == 1 / SIZE and (N / 2).method == "public" and np.log(N).estimate == math.log(SIZE)
    with pytest.raises(ZeroDivisionError):
        RATIO / 0
    with pytest.raises(TypeError):
        RATIO + "1"


def test_functions_by_method_and_by_numpy() -> None:
    for made in (RATIO.log(), np.log(RATIO)):
        assert isinstance(made, Estimate)
        assert made.standard_error == pytest.approx((RATIO.standard_error or 0.0) / RATIO.estimate, rel=0.01)
    assert np.exp(np.log(RATIO)).estimate == pytest.approx(RATIO.estimate)
    assert np.sqrt(VARIANCE).estimate == VARIANCE.sqrt().estimate == pytest.approx(np.std(AGE), rel=0.1)
    assert (np.float64(2.0) * RATIO).estimate == 2 * RATIO.estimate


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: PAY - YEARS, '"mean of pay"(pay) - "mean of age"(age)'),
        (lambda: 2 * (RATIO - 1) / N, "(2 * (ratio(pay, age) - 1)) / count()"),
        (lambda: RATIO - (1 - RATIO), "ratio(pay, age) - (1 - ratio(pay, age))"),
        (lambda: RATIO + VARIANCE - YEARS, 'ratio(pay, age) + variance(age) - "mean of age"(age)'),
        (lambda: (RATIO.log() * VARIANCE).exp(), "exp(log(ratio(pay, age)) * variance(age))"),
    ],
)
def test_what_was_computed_is_named_by_its_expression(made: Callable[[], Estimate], text: str) -> None:
    assert made().statistic == made().label() == made()._term() == text


def test_what_an_interval_of_an_expression_covers() -> None:
    made = PAY - YEARS + RATIO - PAY
    assert made.covers == (
        "this combination of the population mean of pay of pay, clamped to bounds and rounded to its grid, and of the "
        "population mean of age of age, clamped to bounds and rounded to its grid, and of the population ratio of pay, "
        "age, clamped to bounds and rounded to its grid; sampling and privacy noise are counted"
    )


def test_the_difference_of_the_means_of_two_groups_of_a_public_file() -> None:
    survey = hg.open(TABLE, relation="replace-one")
    means = simulated.release(survey, hg.mean("age", bounds=BOUNDS["age"]), by={"sex": [0, 1]}, epsilon=2.0, rng=3)
    made, groups = means[0] - means[1], [AGE[np.asarray(TABLE["sex"]) == sex] for sex in (0, 1)]
    assert made._term() == "mean(age | sex=0) - mean(age | sex=1)"
    assert (2 + means[0])._term() == "2 + mean(age | sex=0)" and (means[0] + 2)._term() == "mean(age | sex=0) + 2"
    assert made.estimate == pytest.approx(groups[0].mean() - groups[1].mean(), abs=5 * (made.privacy_error or 0.0))
    assert made.sampling_error == pytest.approx(
        math.hypot(*(group.std(ddof=1) / math.sqrt(len(group)) for group in groups)), rel=0.1
    )


def test_cells_are_independent_and_a_census_has_no_sampling_error() -> None:
    women, men = released(by={"sex": [0, 1]})[:2]
    assert (women - men)._term() == "ratio(pay, age | sex=0) - ratio(pay, age | sex=1)"
    assert (women - men).standard_error == pytest.approx(
        math.hypot(women.standard_error or 0.0, men.standard_error or 0.0), rel=0.02
    )
    whole = released(target="file")
    assert (whole[3] - whole[2]).sampling_error == 0.0
    assert (whole[3] / whole[2]).standard_error == pytest.approx(whole[0].privacy_error, rel=0.01)


def test_two_releases_are_combined_on_the_readers_word_alone() -> None:
    again = released(2)[0]
    for made in (lambda: RATIO - again, lambda: (RATIO - 1) / again, lambda: again + RATIO.log()):
        with pytest.raises(hg.ParameterError, match="HG130"):
            made()
    independent = RATIO - again.of_others()
    assert independent.standard_error == pytest.approx(
        math.hypot(RATIO.standard_error or 0.0, again.standard_error or 0.0), rel=0.01
    )
    third = released(3)[0]
    with pytest.raises(hg.ParameterError, match="HG130"):
        independent - third
    assert (independent - third.of_others()).reliable


def test_replicates_move_with_numbers_and_are_refused_with_others() -> None:
    (drawn,) = released(estimator="bootstrap", n_resamples=40)[:1]
    made = 100 - 2 * drawn
    assert made.bootstrap_error == 2 * (drawn.bootstrap_error or 0.0)
    assert made.replicates is not None and drawn.replicates is not None
    assert np.median(made.replicates) == pytest.approx(100 - 2 * np.median(drawn.replicates))
    interval, old = made.confidence_interval(0.9, "conservative"), drawn.confidence_interval(0.9, "conservative")
    assert (interval.low, interval.high) == pytest.approx((100 - 2 * old.high, 100 - 2 * old.low))
    for refused in (lambda: drawn - RATIO, lambda: RATIO - drawn, lambda: 1 / drawn, lambda: np.log(drawn)):
        with pytest.raises(hg.ParameterError, match=r"HG130.*ratio\(pay, age\), by 'bootstrap'"):
            refused()


def test_what_noise_drowns_says_so() -> None:
    tiny = released(epsilon=0.02)
    made = RATIO.of_others() / (tiny[2] - tiny[2] - tiny[3] + tiny[3] + 0 * tiny[0])
    assert not made.reliable and made.standard_error is None and made.note and "The noise hides" in made.note
    assert made.to_dict()["standard_error"] is None


def test_computed_estimates_are_sent_to_other_processes() -> None:
    made = RATIO - VARIANCE / 100
    again = pickle.loads(pickle.dumps(made))
    assert again.to_dict(0.8) == made.to_dict(0.8) and (again - again).standard_error == 0.0
