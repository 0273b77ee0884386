"""Metrics: bounded integers whatever the arrays hold, and the same score as scikit-learn's up to the grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, zero_one_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from hedgerow.errors import ParameterError
from hedgerow.testset import Metric, accuracy, brier, from_function, log_loss, zero_one
from hedgerow.testset.metric import parse_metric

RNG = np.random.default_rng(20261120)
LABELS = RNG.integers(0, 2, 500)
PREDICTED = np.where(RNG.random(500) < 0.8, LABELS, 1 - LABELS)
CHANCES = np.clip(np.where(LABELS == 1, 0.7, 0.3) + RNG.normal(0, 0.3, 500), 0, 1)


def score(metric: Metric, predictions: np.ndarray) -> float:
    places = metric.places(LABELS, predictions)
    return float(metric.grid.lower + metric.grid.step * int(places.sum()) / len(places))


def test_scores_are_those_of_scikit_learn() -> None:
    assert score(accuracy(), PREDICTED) == pytest.approx(accuracy_score(LABELS, PREDICTED), abs=1e-12)
    assert score(zero_one(), PREDICTED) == pytest.approx(zero_one_loss(LABELS, PREDICTED), abs=1e-12)
    half = 0.5 / 1024
    assert score(brier(), CHANCES) == pytest.approx(brier_score_loss(LABELS, CHANCES), abs=half)
    clipped = np.clip(CHANCES, 0.01, 0.99)
    assert score(log_loss(), CHANCES) == pytest.approx(sklearn_log_loss(LABELS, clipped), abs=half * -math.log(0.01))


def test_labels_may_be_texts_and_the_positive_one_is_declared() -> None:
    texts = np.where(LABELS == 1, "yes", "no")
    assert accuracy().places(texts, texts).all()
    chances = brier(positive="yes").places(texts, CHANCES)
    assert chances.tolist() == brier().places(LABELS, CHANCES).tolist()


@pytest.mark.parametrize("metric", [accuracy(), zero_one(), brier(), log_loss()], ids=lambda m: m.name)
@given(chance=st.floats(allow_nan=True, allow_infinity=True), label=st.sampled_from([0, 1, None, "x", float("nan")]))
@settings(max_examples=60, deadline=None)
def test_whatever_is_predicted_a_record_adds_at_most_the_range(metric: Metric, chance: float, label: object) -> None:
    labels = np.empty(1, dtype=object)
    labels[0] = label
    (place,) = metric.places(labels, np.array([chance]))
    assert 0 <= place <= metric.grid.steps
    if metric.needs == "chances" and not math.isfinite(chance) and math.isnan(chance):
        assert place == metric.worst


def test_a_function_that_is_no_number_counts_as_the_worst() -> None:
    own = from_function("ratio", lambda y, p: np.where(p == 0, np.nan, y / np.maximum(p, 1)), bounds=(0, 2), step=0.5)
    assert own.places(np.array([1, 1, 5]), np.array([1, 0, 1])).tolist() == [2, 4, 4]
    better = from_function("gain", lambda y, p: p * np.inf, bounds=(0, 2), greater_is_better=True)
    assert better.places(np.array([1]), np.array([1])).tolist() == [better.worst] == [0]


def test_a_record_for_which_a_function_fails_counts_as_the_worst_and_no_other_does() -> None:
    """Failing for all records alike, or refusing, would tell that one of them is odd."""

    def picky(y: np.ndarray, p: np.ndarray) -> np.ndarray:
        if (y == 3).any():
            raise SystemExit(f"label 3 among {y}")
        return abs(y - p)

    own = from_function("own", picky, bounds=(0, 10), step=1)
    assert own.places(np.array([1, 3, 5]), np.array([2, 3, 5])).tolist() == [1, 10, 0]
    assert own.places([1, "x", None, 5], [2, 3, 3, 5]).tolist() == [1, 10, 10, 0]
    assert from_function("mean", lambda y, p: np.array([0.5]), bounds=(0, 1), step=1).places(LABELS, PREDICTED).all()


def test_a_function_gets_whole_numbers_where_it_takes_no_others_and_texts_as_texts() -> None:
    cost = np.array([[0.0, 1.0], [3.0, 0.0]])
    table = from_function("cost", lambda y, p: cost[y, p], bounds=(0, 3), step=1)
    assert table.places([0, 1, 1.0, None, 0.5], [1, 0, True, 1, 1]).tolist() == [1, 3, 0, 3, 3]
    words = from_function("length", lambda y, p: [len(a) - len(b) for a, b in zip(y, p, strict=True)], bounds=(0, 9))
    assert words.places(["abc", "abc"], ["a", 1]).tolist() == [228, 1024]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: parse_metric("f1"),
        lambda: parse_metric(3),
        lambda: log_loss(clip=0.5),
        lambda: from_function("", max, bounds=(0, 1)),
        lambda: from_function("x", "no function", bounds=(0, 1)),
    ],
)
def test_what_is_no_metric_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="HG171"):
        wrong()


def test_a_function_needs_declared_bounds() -> None:
    with pytest.raises(ParameterError, match="HG104"):
        from_function("x", max, bounds=None)
