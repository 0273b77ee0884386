"""What would be scored as nothing is refused before a look is taken, from predictions and declared labels alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hedgerow.errors import ParameterError
from hedgerow.testset import TestSet, brier, from_function

N = 400
RNG = np.random.default_rng(20261120)
Y = RNG.integers(0, 2, N)
WORDS = np.where(Y == 1, "yes", "no")


def opened(y: object = Y, **options: object) -> TestSet:
    given = {"relation": "replace-one", "epsilon": 2.0, "n_looks": 3, "mechanism": "gaussian"}
    return TestSet(None, y, **{**given, **options})


@pytest.mark.parametrize(
    "chances",
    [np.array(["0.5"] * N), ["a"] * N, 100.0 * Y, 6.0 * Y - 3.0, Y + np.inf,
     np.array(["2020-01-01"] * N, dtype="M8[D]"), [0.5] * (N - 1) + ["x"]],
)  # fmt: skip
def test_chances_that_are_none_take_no_look(chances: object) -> None:
    ts = opened(metric="brier")
    with pytest.raises(ParameterError, match=r"HG170.*from 0 to 1.*No look was taken"):
        ts.score(chances)
    assert ts.remaining == 3


@pytest.mark.parametrize(
    "chances",
    [Y, Y.astype(bool), Y.astype(np.float32) * np.float32(1.0000001), [*[0.5] * (N - 1), None], np.full(N, np.nan)],
)
def test_chances_of_any_numeric_kind_are_scored(chances: object) -> None:
    assert 0.0 <= opened(metric="brier").score(chances).value <= 1.0


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [(Y, WORDS), (WORDS, Y), (Y, np.linspace(0.1, 0.9, N)), (Y.astype(bool), Y * 0.5), (Y.astype(float), Y * 0.5)],
)
@pytest.mark.parametrize("declared", [False, True])
def test_labels_of_another_kind_take_no_look(labels: np.ndarray, predicted: np.ndarray, declared: bool) -> None:
    """The kind of the labels tells of one of them, so text for numbers is refused where labels are declared."""
    ts = opened(labels, labels=np.unique(labels).tolist() if declared else None)
    if not declared and (labels.dtype.kind == "U") != (predicted.dtype.kind == "U"):
        assert ts.score(predicted).look == 1
        return
    with pytest.raises(ParameterError, match="HG170"):
        ts.score(predicted)
    assert ts.remaining == 3


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [(Y, Y.astype(float)), (Y.tolist(), WORDS), (Y, WORDS.astype(object)),
     (Y, np.where(Y == 1, 1.0, np.nan)), (pd.Series(Y, dtype="category"), Y)],
)  # fmt: skip
def test_what_may_be_equal_is_scored(labels: object, predicted: object) -> None:
    """One entry may decide the kind of an array: refusing by it would tell of that entry."""
    assert opened(labels).score(predicted).look == 1


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("odd", [2, -1, "1", "x", "", np.inf, 0.5])
def test_a_prediction_that_is_no_declared_label_takes_no_look(odd: object, relation: str) -> None:
    ts = opened(labels=[0, 1], relation=relation)
    wrong = [*Y[1:].tolist(), odd]
    with pytest.raises(ParameterError, match=r"HG170.*declared labels.*No look was taken"):
        ts.score(wrong)
    if relation == "replace-one":
        for ask in (lambda: ts.score(wrong, metric="recall"), lambda: ts.compare(Y, wrong)):
            with pytest.raises(ParameterError, match=r"HG170.*No look was taken"):
                ask()
    assert ts.remaining == 3
    assert ts.score([*Y[1:].tolist(), None]).look == 1, "a missing prediction counts as wrong"


def test_without_declared_labels_no_refusal_says_which_labels_occur() -> None:
    """Whether a label occurs may hang on one record, so any label is scored."""
    for labels in (Y, [*Y[1:].tolist(), 7]):
        ts = opened(labels)
        assert ts.score(np.full(N, 7)).look == 1


@pytest.mark.parametrize("kind", ["M8[s]", "c16", "id"])
def test_dates_and_tables_are_no_labels(kind: str) -> None:
    columns = np.zeros(N, dtype=[("id", "i8"), ("p", "i8")]) if kind == "id" else None
    dated = np.zeros(N, dtype="i8").astype(kind) if columns is None else columns
    ts = opened(labels=[0, 1])
    for given in (dated, pd.Series(dated) if columns is None else pd.DataFrame(columns)):
        with pytest.raises(ParameterError, match="HG170"):
            ts.score(given)
    assert ts.remaining == 3


def test_labels_that_are_fractions_are_declared() -> None:
    halves = Y * 0.5
    assert opened(halves, labels=[0, 0.5]).score(halves).value > 0.8


def test_a_function_of_labels_takes_fractions_for_whole_numbers() -> None:
    error = from_function("absolute error", lambda y, p: abs(y - p), bounds=(0, 1))
    assert opened(metric=error).score(np.full(N, 0.5)).look == 1


def test_a_positive_label_of_another_kind_is_refused_at_once() -> None:
    with pytest.raises(ParameterError, match="HG171"):
        opened(WORDS, metric="brier", labels=["yes", "no"])
    with pytest.raises(ParameterError, match="HG171"):
        opened(metric=brier(positive="yes"), labels=[0, 1])
    assert opened(WORDS, metric=brier(positive="yes")).score(Y).value < 0.2


def test_a_model_without_the_positive_label_says_so() -> None:
    class Model:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, x: object) -> np.ndarray:
            return np.column_stack([1.0 - Y, Y])

    ts = TestSet(np.zeros((N, 1)), WORDS.tolist(), metric="brier", relation="replace-one", epsilon=2.0, n_looks=3)
    with pytest.raises(ParameterError, match=r"HG174.*positive"):
        ts.score(Model())
    right = TestSet(None, WORDS, metric=brier(positive="yes"), relation="replace-one", epsilon=2.0, n_looks=3)
    assert right.score(Model()).value < 0.2


@pytest.mark.parametrize("x", [np.zeros((N - 1, 2)), pd.DataFrame({"a": np.zeros(N + 1)}), [[0.0]] * 3])
def test_features_of_another_length_are_refused_at_once(x: object) -> None:
    with pytest.raises(ParameterError, match="HG170"):
        TestSet(x, Y, relation="replace-one", epsilon=1.0, n_looks=3)


@pytest.mark.parametrize("labels", ["01", [0], [0, 0], [1, True], [0, None], [(1,), 2]])
def test_declared_labels_are_a_list_of_numbers_or_texts(labels: object) -> None:
    with pytest.raises(ParameterError, match="HG177"):
        opened(labels=labels)


@pytest.mark.parametrize("name", ["log_loss", "zero_one", "log-loss"])
def test_a_metric_may_be_written_either_way(name: str) -> None:
    assert opened(metric=name).settings.metric.name == name.replace("_", "-")
