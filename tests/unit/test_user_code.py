"""Code of the user's own says nothing but its result; a real interrupt still arrives."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import hedgerow as hg
from hedgerow.user_code import each_alone, quietly, silence


def _warns() -> int:
    warnings.simplefilter("always")
    warnings.warn("label 17 is 0", stacklevel=1)
    return 1


def _logs() -> int:
    logging.getLogger("anything").critical("label 17 is 0")
    return 1


def _prints() -> int:
    print("label 17 is 0 \udcff")
    print("label 17 is 0", file=sys.stderr)
    return 1


def _raises(kind: type[BaseException]) -> Callable[[], int]:
    def raising() -> int:
        raise kind("label 17 is 0")

    return raising


def _divides() -> int:
    np.seterr(all="warn")
    return int(np.float64(1.0) / np.float64(0.0) > 0)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("call", "result"),
    [(_warns, 1), (_logs, 1), (_prints, 1), (_divides, 1), (lambda: os._exit, os._exit)]
    + [(_raises(kind), None) for kind in (ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError)],
)
def test_nothing_is_said_and_everything_is_as_before(
    call: Callable[[], object], result: object, nested: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sys.stdout, sys.stderr, np.geterr(), logging.root.manager.disable, signal.getsignal(signal.SIGINT)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        if nested:
            with silence():
                found = [quietly(call), quietly(lambda: 5)]
        else:
            found = [quietly(call), quietly(lambda: 5)]
        assert warnings.filters == filters
    assert found == [result, 5] and heard == [] and capfd.readouterr() == ("", "")
    assert before == (
        sys.stdout, sys.stderr, np.geterr(), logging.root.manager.disable, signal.getsignal(signal.SIGINT)
    )  # fmt: skip


def test_a_real_interrupt_arrives() -> None:
    def waits() -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts `make test &` with it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            quietly(waits)
        with pytest.raises(KeyboardInterrupt):
            each_alone(waits, [()], None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert quietly(_raises(KeyboardInterrupt)) is None, "the next one is the code's own again"
    assert each_alone(_raises(KeyboardInterrupt), [(), ()], None) == [None, None]


def test_threads_wait_for_each_other_and_leave_the_streams_in_place() -> None:
    before, found = (sys.stdout, sys.stderr), []

    def run() -> None:
        for _ in range(200):
            found.append(quietly(_prints))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 1200 and (sys.stdout, sys.stderr) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_is_inside_does_not_wait_for_it() -> None:
    inside, leave = threading.Event(), threading.Event()

    def holds() -> None:
        quietly(lambda: (inside.set(), leave.wait(60)))

    thread = threading.Thread(target=holds)
    thread.start()
    inside.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
        child = os.fork()
    if child == 0:
        os._exit(0 if quietly(lambda: 3) == 3 else 1)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("how", [SystemExit, KeyboardInterrupt])
def test_a_feature_that_leaves_by_another_door_counts_as_its_midpoint(how: type[BaseException]) -> None:
    """One record for which the feature leaves must not be told from one for which it does not."""
    import pandas as pd

    def feature(columns: dict[str, np.ndarray]) -> np.ndarray:
        print(columns)
        if (columns["a"] == 1.0).any():
            raise how(7)
        return columns["a"] * columns["b"]

    statistic = hg.bootstrap(
        lambda total: total["ab"] / total["count"],
        columns={"a": (0, 1, 1), "b": (0, 1, 1)},
        features={"ab": (feature, (0, 1))},
        name="mean of products",
    )
    for last in (0.0, 1.0):
        frame = pd.DataFrame({"a": [0.0] * 199 + [last], "b": [1.0] * 200})
        survey = hg.open(frame, relation="replace-one")
        assert len(survey.release([statistic], epsilon=1.0)) == 1
