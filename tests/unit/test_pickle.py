"""What was released can be sent to another process: it keeps its numbers, its intervals and its certificate."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.statistics.statistic import SmoothStatistic
from hedgerow.testset import TestSet

BOUNDS: Any = {"bounds": (0, 128), "step": 2}
ASKED: dict[str, Callable[[], Any]] = {
    "mean": lambda: hg.mean("age", **BOUNDS),
    "sum": lambda: hg.sum("age", **BOUNDS),
    "proportion": lambda: hg.proportion("sex", value=1),
    "count": hg.count,
    "ratio": lambda: hg.ratio("age", "pay", bounds={"age": (0, 128), "pay": (1, 9)}),
    "variance": lambda: hg.variance("age", **BOUNDS),
    "standard deviation": lambda: hg.standard_deviation("age", **BOUNDS),
    "quantile": lambda: hg.quantile("age", 0.5, bounds=(0, 128)),
    "own function": lambda: hg.bootstrap(
        lambda t: t["square"] / t["count"],
        columns={"age": (0, 128)},
        features={"square": (lambda v: v["age"] ** 2, (0, 16384))},
        name="mean square",
    ),
}


def survey() -> hg.Survey:
    table = pa.table({"age": [30.0, 50.0] * 500, "sex": [0, 1, 1, 1] * 250, "pay": [2.0, 4.0] * 500})
    return hg.open(table, relation="replace-one")


def again(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))


@pytest.mark.parametrize("name", ASKED)
def test_a_release_and_its_plan_pickle(name: str) -> None:
    release = survey().release([ASKED[name]()], by={"sex": [0, 1]}, epsilon=4.0)
    copy = again(release)
    assert copy.to_json() == release.to_json() and repr(copy) == repr(release)
    assert copy.to_dict(0.8) == release.to_dict(0.8)
    assert [one.confidence_interval(0.5) for one in copy] == [one.confidence_interval(0.5) for one in release]
    copy.certificate.verify()
    assert again(copy).to_json() == release.to_json()


@pytest.mark.parametrize("name", [name for name in ASKED if name != "own function"])
def test_a_plan_pickles_and_what_was_asked_stays_the_same(name: str) -> None:
    plan = survey().plan([ASKED[name]()], epsilon=4.0)
    assert again(plan).public_record() == plan.public_record()
    assert again(plan).epsilon == plan.epsilon
    assert ASKED[name]() == ASKED[name]() == again(ASKED[name]())


def test_releases_that_were_sent_are_pooled_like_others() -> None:
    opened = survey()
    one, two = (opened.release([hg.variance("age", **BOUNDS)], epsilon=4.0) for _ in range(2))
    assert hg.combine([again(one), two])[0].estimate == hg.combine([one, two])[0].estimate
    with pytest.raises(hg.ParameterError, match="HG122"):
        hg.combine([again(one), survey().release([hg.variance("pay", bounds=(0, 128))], epsilon=4.0)])


def test_a_function_of_the_users_own_is_not_sent_and_equals_no_other() -> None:
    opened = survey()
    one, two = (opened.release([ASKED["own function"]()], epsilon=4.0) for _ in range(2))
    sent = again(one).asked[0]
    assert isinstance(sent, SmoothStatistic)
    with pytest.raises(hg.ParameterError, match="HG112"):
        sent.function({"count": 1.0})
    with pytest.raises(hg.ParameterError, match="HG122"):
        hg.combine([again(one), two])


def test_another_process_reads_it(tmp_path: Path) -> None:
    release = survey().release([ASKED["own function"](), ASKED["quantile"]()], epsilon=4.0)
    (tmp_path / "release.pickle").write_bytes(pickle.dumps(release))
    code = (
        "import pickle, sys; release = pickle.load(open(sys.argv[1], 'rb')); release.certificate.verify(); "
        "sys.stdout.write(release.to_json())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "release.pickle")], capture_output=True, text=True, check=True
    )
    assert run.stdout == release.to_json()


@pytest.mark.parametrize("guarantee", ["dp", "bootstrap-dp"])
def test_a_table_pickles(guarantee: str) -> None:
    table = survey().contingency_table(by={"sex": [0, 1]}, epsilon=1.0, margins=True, guarantee=guarantee)
    for shown in (table, table.nonnegative().rounded()):
        copy = again(shown)
        assert copy.to_dict() == shown.to_dict() and str(copy) == str(shown)
        assert [one.estimate for one in copy.margin()] == [one.estimate for one in shown.margin()]
    if guarantee == "dp":
        again(table).certificate.verify()


def test_a_score_pickles() -> None:
    y = np.array([0, 1] * 500)
    score = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=2).score(y)
    copy = again(score)
    assert copy == score and copy.to_json() == score.to_json()
    assert copy.confidence_interval(0.8) == score.confidence_interval(0.8)
    copy.certificate.verify()
