"""What a test set answers at no price, a replay or a refusal, depends on no label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.testset import TestSet
from hedgerow.testset.entries import entries_of
from hedgerow.testset.predictions import as_predictions, labels_of


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


class Without:
    """A model that needs no features, and predicts for a number of records that it chooses."""

    def __init__(self, n: int) -> None:
        self.n = n

    def predict(self, _: object) -> np.ndarray:
        return np.zeros(self.n)


def test_under_add_remove_nothing_free_tells_the_number_of_records() -> None:
    """Lengths, values beyond the last record, replays and models: each would otherwise find the number by trying."""
    endings = set()
    for n in (39, 40, 41):
        told = []
        for metric in ("accuracy", "brier"):
            test_set = TestSet(None, [0, 1] * 18 + [1] * (n - 36), metric=metric, relation="add-remove", epsilon=1.0,
                               n_looks=20)  # fmt: skip
            sent = [([0] * length, None) for length in (0, 39, 40, 41)]
            sent += [([0] * 40 + [7.5], None), ([0] * 41, "a"), ([0] * 40, "a"), ([0] * 41 + [1], "a")]
            sent += [] if metric == "brier" else [(Without(length), None) for length in (39, 40, 41)]
            for predictions, name in sent:
                try:
                    told.append(str(test_set.score(predictions, request_id=name).look))
                except HedgerowError as refused:
                    told.append(f"{refused} {test_set.remaining}")
        endings.add(tuple(told))
    assert len(endings) == 1
    assert "HG170" in " ".join(told) and "HG311" in " ".join(told)
