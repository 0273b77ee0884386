"""A test set without a ledger is one counter of one process; one with a ledger may go anywhere."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from time import sleep

import numpy as np
import pytest

from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.testset import TestSet
from hedgerow.testset.file_columns import FileColumns
from hedgerow.testset.looks import EarlierLooks, LooksInMemory

Y = np.random.default_rng(20261122).integers(0, 2, 1000)
COPIES: list[Callable[[object], object]] = [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]


def opened(ledger: Path | None = None, mechanism: str = "laplace") -> TestSet:
    return TestSet(None, Y, relation="replace-one", epsilon=1.0, n_looks=5, mechanism=mechanism, n_answers=2,
                   ledger=ledger)  # fmt: skip


@pytest.mark.parametrize(("mechanism", "granted"), [("laplace", 5), ("smoothed_resample", 5), ("thresholdout", 2)])
def test_threads_take_no_look_too_many(mechanism: str, granted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting is made slow, so that threads that took no turns would all count before one of them takes a look."""
    counted = LooksInMemory.past

    def slowly(looks: LooksInMemory) -> EarlierLooks:
        found = counted(looks)
        sleep(0.01)
        return found

    test_set, done, refused, together = opened(mechanism=mechanism), [], [], Barrier(8)
    monkeypatch.setattr(LooksInMemory, "past", slowly)

    def ask() -> None:
        together.wait()
        try:
            done.append(test_set.score(Y, training_score=0.1).look)
        except HedgerowError as error:
            refused.append(error.code)

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(1, granted + 1)) and refused == ["HG430"] * (8 - granted)


@pytest.mark.parametrize("copied", COPIES)
def test_without_a_ledger_no_copy_is_made(copied: Callable[[object], object]) -> None:
    test_set = opened(mechanism="thresholdout")
    with pytest.raises(ParameterError, match=r"HG179.*No look was taken"):
        copied(test_set)
    assert test_set.remaining == 5


@pytest.mark.parametrize("copied", COPIES)
def test_with_a_ledger_a_copy_counts_there(
    copied: Callable[[TestSet], TestSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test_set = opened(Path("ts.ledger"))
    monkeypatch.chdir("/")
    again = copied(test_set)
    again.score(Y), test_set.score(Y)
    assert again.remaining == test_set.remaining == 3 and again.settings == test_set.settings


@pytest.mark.parametrize("copied", COPIES)
def test_a_test_set_of_files_may_be_copied(copied: Callable[[TestSet], TestSet], tmp_path: Path) -> None:
    (tmp_path / "y.csv").write_text("y\n" + "0\n1\n" * 50)
    (tmp_path / "p.csv").write_text("prediction\n" + "0\n1\n" * 50)
    columns = FileColumns.declared("accuracy", label="y", prediction="prediction", labels=(0, 1), positive=None)
    made = TestSet.create(tmp_path / "y.csv", columns, ledger=tmp_path / "l", relation="replace-one", epsilon=1.0,
                              n_looks=5)  # fmt: skip
    again = copied(made)
    again.score(tmp_path / "p.csv"), made.score(tmp_path / "p.csv")
    assert again.remaining == made.remaining == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_child_of_a_fork_has_no_looks_and_no_threshold() -> None:
    test_set = opened(mechanism="thresholdout")
    for used in (lambda: test_set.score(Y, training_score=1.0), lambda: test_set.remaining,
                 lambda: test_set._looks.secret):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            try:
                used()
            except ParameterError as error:
                os._exit(17 if error.code == "HG179" else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    assert test_set.remaining == 5
