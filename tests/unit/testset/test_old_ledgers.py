"""Ledgers of an earlier version, which hold a fingerprint of labels and not where these lie, go on counting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import DataError, LedgerError, ParameterError
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.testset import TestSet
from hedgerow.testset.looks import LedgerLooks, Secret

# As version 0.1.0 wrote them, before labels stayed with the custodian.
ARRAYS = json.loads(
    '{"delta":1e-06,"described":{"cells":1,"scale":3.001183894667401,"type":"geometric"},"epsilon":1.0,'
    '"fingerprint":"8a5a175fbfe6f39d7fcda021220be81f","mechanism":"laplace","metric":{"clip":0.0,"function":false,'
    '"greater_is_better":true,"lower":"0","name":"accuracy","needs":"labels","positive":1,"steps":1,"upper":"1"},'
    '"n":20,"n_looks":3,"options":{"n_answers":20,"thinning":10.0,"threshold":0.02},"relation":"replace-one"}'
)
FILES = {**ARRAYS, "file": {"label": "y", "labels": [0, 1], "prediction": "prediction"}}
UNKNOWN_SIZE = {**FILES, "n": None, "relation": "add-remove", "described": {**ARRAYS["described"], "cells": 2}}
LOOK = {"a look": "accuracy", "predictions": "ac08bf3385ced93109a93f00bb7f0a39", "training": None}
SCORE = (
    '{"score":{"metric":"accuracy","greater_is_better":true,"value":0.7,"standard_error":0.23477895991639086,'
    '"sampling_error":0.10246950765959598,"privacy_error":0.2112372126767021,"resampling_error":0.0,'
    '"noise_error":0.2112372126767021,"half_width":0.4997777652070915,"confidence_interval":{"low":0.2002222347929085,'
    '"high":1.0,"level":0.95,"method":"geometric","covers":"the expected score on records drawn as the test set was; '
    'sampling and privacy noise are counted"},"mechanism":"laplace","reliable":true,"note":null,"look":1,"n_looks":3,'
    '"remaining":2,"best":null,"best_look":null,"distinguishable":null,"paid":true,"request_id":"a","simulated":false},'
    '"certificate":{"mechanism":{"type":"geometric","scale":3.001183894667401,"cells":1},"relation":"replace-one",'
    '"unit":"row","epsilon":0.333201,"delta":1e-06,"profile":[],"bound":"upper","assumptions":["a record\'s prediction '
    'and loss depend on no other record of the test set"],"versions":{"hedgerow":"0.1.0"}}}'
)


def made(folder: Path, settings: Mapping[str, Any], *, looked: bool = False) -> Path:
    """Return an old ledger with its secret; beside it lie files of labels and predictions."""
    looks = LedgerLooks.create(folder / "old.ledger", settings, Secret.fresh())
    if looked:
        price = Certificate.from_dict(json.loads(SCORE)["certificate"])
        looks.reserve(price, LOOK, "a").record(SCORE)
    looks.close()
    (folder / "y.csv").write_text("y\n" + "0\n1\n" * 10)
    (folder / "p.csv").write_text("prediction\n" + "0\n1\n" * 10)
    return folder / "old.ledger"


def test_an_old_ledger_of_files_goes_on_where_the_labels_are_named(tmp_path: Path) -> None:
    opened = TestSet.open(made(tmp_path, FILES, looked=True))
    assert opened.remaining == 2 and opened.history[0].value == 0.7 and opened.to_dict()["labels_file"] is None
    with pytest.raises(DataError, match=r"HG435.*earlier version.*labels=.*No look was taken"):
        opened.score(tmp_path / "p.csv")
    (tmp_path / "short.csv").write_text("y\n0\n")
    with pytest.raises(ParameterError, match="HG170"):
        opened.score(tmp_path / "p.csv", labels=tmp_path / "short.csv")
    assert opened.remaining == 2
    named = {"request_id": "b", "labels": tmp_path / "y.csv"}
    first = opened.score(tmp_path / "p.csv", **named)
    assert first.look == 2 and first.best == 0.7 and opened.remaining == 1
    again = opened.score(tmp_path / "p.csv", **named)
    assert again.replayed and again.value == first.value and opened.remaining == 1
    # What it compared under an id then was made from labels too: nothing is equal to it now.
    with pytest.raises(LedgerError, match="HG311"):
        opened.score(tmp_path / "p.csv", request_id="a", labels=tmp_path / "y.csv")
    opened.close()


def test_an_old_ledger_that_joins_by_position_tells_no_size(tmp_path: Path) -> None:
    """Under add-remove the number of records is private, and a file of another length would find it."""
    opened = TestSet.open(made(tmp_path, UNKNOWN_SIZE))
    (tmp_path / "short.csv").write_text("prediction\n0\n")
    told = set()
    for sent in ("p.csv", "short.csv"):
        with pytest.raises(ParameterError, match="HG436") as refused:
            opened.score(tmp_path / sent, labels=tmp_path / "y.csv")
        told.add(str(refused.value))
    assert len(told) == 1 and opened.remaining == 3
    opened.close()


def test_an_old_ledger_of_arrays_goes_on(tmp_path: Path) -> None:
    path = made(tmp_path, ARRAYS, looked=True)
    terms = {"relation": "replace-one", "epsilon": 1.0, "n_looks": 3, "ledger": path}
    test_set = TestSet(None, [0, 1] * 10, **terms)
    assert test_set.remaining == 2 and test_set.score([0, 1] * 10).look == 2
    test_set.close()
    for changed in ({"epsilon": 2.0}, {"metric": "zero-one"}):
        with pytest.raises(LedgerError, match="HG433"):
            TestSet(None, [0, 1] * 10, **{**terms, **changed})
    with pytest.raises(LedgerError, match=r"HG433.*a test set of arrays"):
        TestSet.open(path)


@pytest.mark.parametrize(
    "change",
    [{"file": {"label": "y"}}, {"file": None}, {"metric": {"name": "another"}}, {"metric": None}, {"n": "many"},
     {"mechanism": "another"}, {"described": {"type": "another"}}, {"options": {"new": 1}}, {"described": None},
     {"relation": "add-remove", "n": 20}],
)  # fmt: skip
def test_settings_of_another_version_are_said_to_be_unknown(change: dict[str, Any], tmp_path: Path) -> None:
    path = made(tmp_path, {**FILES, **change})
    with pytest.raises(LedgerError, match=r"HG438.*Nothing was spent"):
        TestSet.open(path)
    with Ledger.open(path) as ledger:
        assert ledger.spent() == 0.0
