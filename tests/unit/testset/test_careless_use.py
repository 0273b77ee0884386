"""Ids, numbers and moments that a first user hits upon: nothing is used up by them, and what is said is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import LedgerError, ParameterError, UncertifiedError
from hedgerow.testset import TestSet
from hedgerow.testset.mechanisms.look_mechanism import excess

N = 1500
Y = np.random.default_rng(20261120).integers(0, 2, N)


def opened(ledger: Path | None = None, **options: object) -> TestSet:
    given = {"relation": "replace-one", "epsilon": 2.0, "n_looks": 4, "mechanism": "gaussian"}
    return TestSet(None, Y, ledger=ledger, **{**given, **options})


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("name", [7, "", "x" * 201, "a\nb", b"a"])
def test_an_id_that_is_no_name_takes_no_look(name: object, kept: bool, tmp_path: Path) -> None:
    ts = opened(tmp_path / "ts.ledger" if kept else None)
    with pytest.raises(ParameterError, match="HG314"):
        ts.score(Y, request_id=name)
    assert ts.remaining == 4


def test_value_and_half_width_cover_the_interval_where_it_is_cut() -> None:
    ts = opened(epsilon=0.1, n_looks=20)
    for _ in range(20):
        score = ts.score(Y)
        interval = score.confidence_interval()
        assert score.value - score.half_width <= interval.low + 1e-12
        assert interval.high <= score.value + score.half_width + 1e-12


def test_whole_and_real_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    assert opened(tmp_path / "ts.ledger", n_looks=np.int64(4)).remaining == 4
    assert opened(tmp_path / "ts.ledger").remaining == 4
    ts = TestSet(None, Y, relation="replace-one", epsilon=2.0, n_looks=np.int32(4), mechanism="thresholdout")
    assert ts.score(Y, training_score=np.float32(1.0)).look == 1


def test_what_cannot_be_detected_at_all_is_said() -> None:
    assert "NO difference is detected" in repr(opened(n_looks=4000, epsilon=0.5))


def test_two_processes_may_begin_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from hedgerow.testset import TestSet; y = np.arange(300) % 2; "
        "options = dict(relation='replace-one', epsilon=1.0, n_looks=9, mechanism='gaussian'); "
        "TestSet(None, y, **options); "
        "ts = TestSet(None, y, ledger=sys.argv[1], **options); "
        "print([ts.score(y).look for _ in range(3)])"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "ts.ledger")], stdout=subprocess.PIPE)
               for _ in range(2)]  # fmt: skip
    looks = [look for one in running for look in json.loads(one.communicate()[0])]
    assert sorted(looks) == [1, 2, 3, 4, 5, 6]


def test_a_secret_without_its_ledger_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "ts.ledger.secret").write_text("{}")
    os.utime(tmp_path / "ts.ledger.secret", (0, 0))
    with pytest.raises(LedgerError, match="HG433"):
        opened(tmp_path / "ts.ledger")


@pytest.mark.parametrize("name", ["laplace", "smoothed_resample", "resample_gaussian"])
def test_fitted_noise_leaves_less_than_a_look_in_the_ledger(name: str) -> None:
    ts = opened(mechanism=name, n_looks=60)
    assert -2.0 / 60 < excess(ts.settings.mechanism.described, ts.settings.conditions) <= 0.0


@pytest.mark.parametrize("thinning", [11, 100, 0.1])
def test_a_rate_that_is_not_priced_is_called_that(thinning: float) -> None:
    with pytest.raises(UncertifiedError, match=r"HG403.*rate"):
        opened(mechanism="resample_gaussian", thinning=thinning)
