"""What a test set answers at no price, a replay or a refusal, depends on no label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.testset import TestSet
from hedgerow.testset.entries import entries_of
from hedgerow.testset.records import as_predictions, labels_of


@pytest.mark.parametrize("kept", [False, True])
def test_exchanged_predictions_are_another_request_whoever_they_belong_to(kept: bool, tmp_path: Path) -> None:
    """Were the digest that of the multiset of (record, prediction), a replay would say that two labels are equal."""
    labels = np.array([0, 0, 1, 1, 0, 1])
    where = {"ledger": tmp_path / "ts.ledger"} if kept else {}
    test_set = TestSet(None, labels, relation="replace-one", epsilon=1.0, n_looks=2, **where)
    predicted = np.arange(6)
    test_set.score(predicted, request_id="mine")
    assert test_set.score(predicted.astype(float), request_id="mine").replayed
    told = []
    for other in range(1, 6):
        exchanged = predicted.copy()
        exchanged[[0, other]] = exchanged[[other, 0]]
        with pytest.raises(HedgerowError) as refused:
            test_set.score(exchanged, request_id="mine")
        told.append(refused.value.code)
    assert told == ["HG311"] * 5
    assert test_set.remaining == 1


@pytest.mark.parametrize("odd", ["x", None])
def test_an_odd_entry_leaves_the_others_as_they_are(odd: object) -> None:
    entries = [0, 1, 1, 0, odd]
    for read in (labels_of(entries), as_predictions(entries, 5, public=True)):
        assert read.equal(entries_of([0, 1, 1, 0, 0])).tolist() == [True, True, True, True, False]


def test_a_list_of_rows_of_one_is_a_column() -> None:
    assert labels_of([[0], [1]]).numbers.tolist() == [0, 1]


def test_a_replay_never_depends_on_what_a_model_predicts() -> None:
    """A model that differs on one record alone must not be told from another by a replay."""

    class Model:
        def __init__(self, watched: float) -> None:
            self.watched = watched

        def predict(self, x: np.ndarray) -> np.ndarray:
            return (x[:, 0] == self.watched).astype(int)

    test_set = TestSet(np.arange(8.0)[:, None], [0, 1] * 4, relation="replace-one", epsilon=1.0, n_looks=2)
    first = test_set.score(Model(-1.0), request_id="a")
    assert all(test_set.score(Model(watched), request_id="a") == first for watched in (3.0, -1.0, 99.0))
    assert test_set.remaining == 1


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_guess_opens_like_the_truth(relation: str, tmp_path: Path) -> None:
    """Whether the labels and features are those of before is not answered, at no price or at all."""
    labels, features = np.array([0, 1] * 20), np.arange(40.0)[:, None]
    options = {"relation": relation, "epsilon": 1.0, "n_looks": 3, "ledger": tmp_path / "ts.ledger", "name": "mine"}
    TestSet(features, labels, **options).close()
    guess, other = labels.copy(), features.copy()
    guess[3], other[3] = 1 - guess[3], -1.0
    for x, y in ((features, labels), (features, guess), (other, labels)):
        test_set = TestSet(x, y, **options)
        assert test_set.score(labels, request_id="a").look == 1 and test_set.remaining == 2
    with pytest.raises(LedgerError, match=r"HG433.*name"):
        TestSet(features, labels, **{**options, "name": "another"})


def test_under_add_remove_no_length_of_predictions_is_refused() -> None:
    """Otherwise the private number of records would be found by trying."""
    test_set = TestSet(None, [0, 1] * 20, relation="add-remove", epsilon=1.0, n_looks=4)
    assert [test_set.score([0] * n).look for n in (0, 39, 40, 41)] == [1, 2, 3, 4]
