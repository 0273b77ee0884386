"""What a test set answers at no price, a replay or a refusal, depends on no label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import HedgerowError
from hedgerow.testset import TestSet
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
    for read in (labels_of(entries), as_predictions(entries, 5)):
        assert (read == np.array([0, 1, 1, 0, 0])).tolist() == [True, True, True, True, False]


def test_lists_of_one_kind_are_arrays_of_that_kind() -> None:
    assert labels_of([0, 1, True]).dtype.kind == "i"
    assert labels_of([0.5, 1]).dtype.kind == "f"
    assert labels_of(["a", "b"]).dtype.kind == "U"
    assert labels_of([[0], [1]]).tolist() == [0, 1]
