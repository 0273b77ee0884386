"""Effects stratum by stratum, their errors by differences, and reconciled totals by the normal equations."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from scipy import optimize, stats

from hedgerow.inference.effects import Measure, Target, effect_of, with_errors
from hedgerow.inference.known_totals import reconciled
from hedgerow.inference.operators import operation_text, quoted, term_text, unquoted

VALUES = np.array([[0.2, 0.4, 0.35], [0.3, 0.6, 0.5]])
COUNTS = np.array([[60.0, 40.0, 10.0], [40.0, 65.0, 30.0]])


def by_hand(measure: Measure, target: Target) -> float:
    """The effect by loops over strata and single records."""
    if measure == "odds-ratio":  # Mantel and Haenszel: Σ ad/n over Σ bc/n of the tables of each stratum
        above, below = 0.0, 0.0
        for stratum in range(3):
            (no, yes), n = COUNTS[:, stratum], COUNTS[:, stratum].sum()
            a, b = yes * VALUES[1, stratum], yes * (1.0 - VALUES[1, stratum])
            c, d = no * VALUES[0, stratum], no * (1.0 - VALUES[0, stratum])
            above, below = above + a * d / n, below + b * c / n
        return float(above / below)
    records = {"all": COUNTS.sum(axis=0), "treated": COUNTS[1], "control": COUNTS[0]}[target]
    means = [float(np.average(VALUES[group], weights=records)) for group in (0, 1)]
    return means[1] / means[0] if measure == "ratio" else means[1] - means[0]


@pytest.mark.parametrize("measure", get_args(Measure))
@pytest.mark.parametrize("target", get_args(Target))
def test_an_effect_is_that_of_its_target_population(measure: Measure, target: Target) -> None:
    assert float(effect_of(measure, target, VALUES, COUNTS)) == pytest.approx(by_hand(measure, target), rel=1e-12)


@pytest.mark.parametrize("in_logs", [False, True])
def test_errors_of_a_function_are_its_slopes_through_both_covariances(in_logs: bool) -> None:
    numbers = np.array([2.0, 3.0, 0.5])
    root = np.array([[0.3, 0.0, 0.0], [0.1, 0.2, 0.0], [0.05, -0.1, 0.4]])
    sampling, noise = root @ root.T, np.diag([0.01, 0.04, 0.09])

    def function(x: np.ndarray) -> object:
        return x[0] * np.exp(x[1]) / (1.0 + x[2] ** 2)

    def shown(x: np.ndarray) -> float:
        return math.log(function(x)) if in_logs else float(function(x))  # type: ignore[arg-type]  # of real numbers

    slopes = optimize.approx_fprime(numbers, shown, 1e-7)
    read = with_errors(function, numbers, sampling, noise, in_logs=in_logs)
    assert read.value == pytest.approx(function(numbers)) and read.in_logs is in_logs
    assert read.sampling_error == pytest.approx(math.sqrt(slopes @ sampling @ slopes), rel=1e-5)
    assert read.privacy_error == pytest.approx(math.sqrt(slopes @ noise @ slopes), rel=1e-5)
    negative = with_errors(function, numbers, -sampling, noise, in_logs=in_logs)  # an estimate need not be possible
    assert negative.sampling_error == 0.0


@pytest.mark.parametrize("known", [1, 2])
def test_reconciled_numbers_are_the_nearest_that_agree(known: int) -> None:
    """By the conditions of Lagrange, in the metric of the noise; the noise that is left is that of a projection."""
    rng = np.random.default_rng(known)
    root = rng.normal(size=(4, 4))
    values, noise = rng.normal(size=4) * 10.0, root @ root.T
    forms, totals = rng.normal(size=(2, 4))[:known], np.array([3.0, -1.0])[:known]
    precision = np.linalg.inv(noise)
    conditions = np.block([[precision, forms.T], [forms, np.zeros((known, known))]])
    solution = np.linalg.solve(conditions, np.concatenate([precision @ values, totals]))
    found, left = reconciled(values, noise, forms, totals)
    assert found == pytest.approx(solution[:4]) and forms @ found == pytest.approx(totals)
    way = np.linalg.inv(conditions)[:4, :4] @ precision
    assert left == pytest.approx(way @ noise @ way.T) and np.array_equal(left, left.T)
    assert np.linalg.eigvalsh(noise - left).min() > -1e-9
    twice, same = reconciled(values, noise, np.vstack([forms, forms]), np.concatenate([totals, totals]))
    assert twice == pytest.approx(found) and same == pytest.approx(left)


def test_reconciled_counts_have_the_errors_that_repeated_noise_shows() -> None:
    rng, noise = np.random.default_rng(3), np.diag([4.0, 9.0, 1.0])
    drawn = rng.multivariate_normal([10.0, 20.0, 30.0], noise, 4000)
    agreeing = np.array([reconciled(row, noise, np.ones((1, 3)), np.array([60.0]))[0] for row in drawn])
    left = reconciled(drawn[0], noise, np.ones((1, 3)), np.array([60.0]))[1]
    assert np.cov(agreeing.T) == pytest.approx(left, abs=0.35) and agreeing.mean(axis=0) == pytest.approx(
        [10.0, 20.0, 30.0], abs=4.0 * 3.0 / math.sqrt(4000)
    )
    spread = stats.chi2.ppf([1e-4, 1.0 - 1e-4], 3999) / 3999
    assert ((np.var(agreeing, axis=0, ddof=1) / np.diag(left)) > spread[0]).all()


@pytest.mark.parametrize(
    ("symbol", "left", "right", "expected"),
    [
        ("+", "a(x) - b(x)", "c(x)", "a(x) - b(x) + c(x)"),
        ("-", "a(x)", "-2", "a(x) - (-2)"),
        ("*", "a(x) + b(x)", "c(x) / d(x)", "(a(x) + b(x)) * (c(x) / d(x))"),
        ("/", "-1", "mean(x | g='a b')", "(-1) / mean(x | g='a b')"),
        ("*", "log(mean(x) - 1)", "2", "log(mean(x) - 1) * 2"),
        ("-", "(a(x) - (b(x) - c(x)))", "3", "(a(x) - (b(x) - c(x))) - 3"),
    ],
)
def test_operands_stand_in_brackets_where_they_are_operations(
    symbol: str, left: str, right: str, expected: str
) -> None:
    assert operation_text(symbol, left, right) == expected


@pytest.mark.parametrize("text", ["age", "a.b-c_1", "-1", "a b", 'the "old" one', "", "a-", "größe", "'x'", "a=b"])
def test_what_is_quoted_is_read_back(text: str) -> None:
    assert unquoted(quoted(text)) == text
    assert quoted(text).startswith('"') == (text not in ("age", "a.b-c_1", "größe"))


def test_a_term_has_a_bar_where_it_has_a_cell() -> None:
    assert term_text("ratio", [("tax",), ("my income",)], {}) == 'ratio(tax, "my income")'
    assert term_text("count", [], {}) == "count()" and term_text("count", [], {"a": 1}) == "count(| a=1)"
    assert term_text("mean", [("x",)], {"a": -1, "b": "c"}) == 'mean(x | a="-1", b=c)'
