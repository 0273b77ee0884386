"""The logger `hedgerow` tells how far a release is, from public facts, and a handler that fails loses no result."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

DATA = pyarrow.table({"age": [31.0, 77.0] * 500})


def steps(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(":")[0] for record in caplog.records if record.name == "hedgerow"]


def test_planned_reserved_and_recorded_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ledger.db"
    Ledger.create(path, dataset="survey", budget=Budget(2.0, 1e-6), relation="replace-one", unit="row").close()
    survey = hg.open(DATA, relation="replace-one", ledger=path)
    with caplog.at_level(logging.INFO, logger="hedgerow"):
        survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0, request_id="secret-name")
        assert steps(caplog) == ["planned", "reserved", "recorded"]
        survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0, request_id="secret-name")
        assert steps(caplog)[3:] == ["planned", "answered from the record"]
        caplog.clear()
        with pytest.raises(hg.BudgetExceeded):
            survey.mean("age", bounds=(0, 100), step=1, epsilon=1.9)
        assert steps(caplog) == ["planned"]


def test_nothing_of_the_data_is_told(caplog: pytest.LogCaptureFixture) -> None:
    texts = []
    for value in (31.0, 99.0):
        survey = hg.open(pyarrow.table({"age": [*[50.0] * 999, value]}), relation="replace-one")
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="hedgerow"):
            survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)
        texts.append(caplog.text)
    assert texts[0] == texts[1] != ""
    assert "epsilon=0.99" in texts[0] and steps(caplog) == ["planned", "spent without a ledger"]


def test_nothing_is_printed_without_a_handler() -> None:
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("hedgerow").handlers)


def test_a_handler_that_fails_loses_no_result() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("the log is full")

    logger, broken = logging.getLogger("hedgerow"), Broken(logging.INFO)
    level = logger.level
    logger.addHandler(broken)
    logger.setLevel(logging.INFO)
    try:
        survey = hg.open(DATA, relation="replace-one")
        assert survey.count(epsilon=1.0)[0].estimate > 0
    finally:
        logger.removeHandler(broken)
        logger.setLevel(level)
