"""Functions of totals are read from plain JSON data as they were written, those of the user as their tangents."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.unit.inference.test_estimate import made
from tests.unit.inference.test_joint_arithmetic import AGE, RELEASE, X, Y

from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.function_record import RecordedTangent, function_of, function_record
from hedgerow.inference.joint.functions import (
    CorrelationOfTotals,
    CovarianceOfTotals,
    DeviationOfTotals,
    FunctionOfTotals,
    MeanOfTotals,
    RatioOfTotals,
    ScaledMean,
    SumOfTotals,
    smooth_function,
    value_of,
)

TOTALS = RELEASE.totals
VARIANCES = CovarianceOfTotals(X, X, 2), CovarianceOfTotals(Y, Y, 2)
HEAD = smooth_function(lambda row: row["x"] ** 2 / row["y"], {"x": X, "y": Y}, (0.0, math.inf))


@pytest.mark.parametrize(
    "function",
    [
        MeanOfTotals(X),
        MeanOfTotals(ScaledMean(1, 40.0, 40.0, base=2, most=3.0)),
        RatioOfTotals(X, Y),
        SumOfTotals(X, (-math.inf, 100.0)),
        SumOfTotals(X, (0.0, math.inf)),
        DeviationOfTotals(VARIANCES[0]),
        CorrelationOfTotals(CovarianceOfTotals(X, Y, 2), *VARIANCES),
    ],
)
def test_a_named_function_is_read_as_it_was_written(function: FunctionOfTotals) -> None:
    record = json.loads(json.dumps(function_record(function, TOTALS), allow_nan=False))
    assert function_of(record, TOTALS[0], 0) == function
    assert record["type"] == function.kind


def test_an_axis_without_weights_is_written_as_before_there_were_any() -> None:
    written = function_record(RatioOfTotals(X, ScaledMean(2, 1.0, 2.0, most=5.0)), TOTALS)
    assert "most" not in written["x"] and written["y"]["most"] == 5.0


def test_a_function_of_the_user_is_read_as_its_tangent_in_each_cell() -> None:
    record = json.loads(json.dumps(function_record(HEAD, TOTALS), allow_nan=False))
    assert record["type"] == "tangent" and record["limits"] == [0.0, None] and len(record["cells"]) == 2
    for cell, totals in enumerate(TOTALS):
        read = function_of(record, totals, cell)
        assert isinstance(read, RecordedTangent) and not read.is_exact and read.is_sent
        assert (read.low, read.high) == (0.0, math.inf) and read.divisors(totals[None]) == []
        assert value_of(read, totals[None]) == pytest.approx(value_of(HEAD, totals[None]), rel=1e-12)
        # Near the totals it is the function, up to the square of the distance.
        for unit in np.eye(3):
            moved = totals + 0.1 * unit
            exact, line = (float(value_of(function, moved[None])[0]) for function in (HEAD, read))
            assert line == pytest.approx(exact, rel=1e-6) and line != read.value


def test_a_cell_without_a_slope_has_no_tangent() -> None:
    def root(row: Mapping[str, Any]) -> Any:
        return (row["x"] - 40.0) ** 0.5

    edge = smooth_function(root, {"x": ScaledMean(1, 80.0, 40.0)}, (0.0, 9.0))
    totals = np.array([[100.0, 20.0], [100.0, -110.0], [0.0, 0.0]])  # below 40 a root is complex
    record = function_record(edge, totals)
    assert record["limits"] == [0.0, 9.0]
    assert [cell is None for cell in record["cells"]] == [False, True, True]
    assert function_of(record, totals[1], 1) is None and function_of(record, totals[0], 0) is not None
    assert function_record(HEAD, np.full((1, 3), math.nan))["cells"] == [None]


def test_a_record_that_does_not_fit_is_refused() -> None:
    record: dict[str, Any] = function_record(HEAD, TOTALS)
    with pytest.raises(ValueError, match="a slope for each total"):
        function_of(record, TOTALS[0, :2], 0)
    with pytest.raises(KeyError):
        function_of({"type": "no such function"}, TOTALS[0], 0)


def test_code_that_was_left_behind_is_written_as_an_empty_tangent() -> None:
    class Left(MeanOfTotals):
        is_sent = False

    assert function_record(Left(X), TOTALS) == {"type": "tangent"}


def test_what_is_computed_with_a_tangent_says_so() -> None:
    read = function_of(function_record(HEAD, TOTALS), TOTALS[0], 0)
    assert read is not None
    value, exact = JointValue.of(RELEASE, 0, read), JointValue.of(RELEASE, 0, HEAD)
    assert not value.is_exact and exact.is_exact and value.is_sent and not exact.is_sent
    assert value.estimate == pytest.approx(exact.estimate, rel=1e-3)
    assert value.standard_error == pytest.approx(exact.standard_error, rel=0.02)
    computed = made("head", value) - made("age", AGE)
    assert computed.note == "A function that the record does not hold is computed with by its tangent."
    assert (made("head", exact) - made("age", AGE)).note is None
    assert computed.standard_error == pytest.approx((exact - AGE).standard_error, rel=0.02)


def test_the_mean_of_a_feature_that_may_be_missing_counts_the_records_that_have_it() -> None:
    axis = ScaledMean(1, 5.0, 2.0, base=2, most=3.0)
    totals = np.array([[100.0, 10.0, 40.0]])
    assert axis.counting().total(totals) == pytest.approx(3.0 * totals[:, 2])
    assert axis.counting().along(3).tolist() == [0.0, 0.0, 3.0]
    assert axis.along(3).tolist() == [0.0, 6.0, 15.0]
    assert float(axis.mean(totals)[0]) == pytest.approx(5.5) and axis.total(totals) == pytest.approx([660.0])
    first, second = MeanOfTotals(axis).quotient(3)
    assert float(totals[0] @ first) / float(totals[0] @ second) == pytest.approx(5.5)
