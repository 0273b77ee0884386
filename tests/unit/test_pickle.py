"""What was released can be sent to another process: it keeps its numbers, its intervals and its certificate."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
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
    sent = again(one)._asked[0]
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


FACTS = hg.Facts.from_dict(
    {
        "relation": "replace-one",
        "unit": {"column": "who", "max_rows": 2},
        "columns": {
            "age": {"bounds": [0, 128], "step": 2, "source": "codebook"},
            "pay": {"bounds": [0, 8]},
            "sex": {"categories": [0, 1]},
        },
        "budget": {"epsilon": 100.0, "delta": 1e-6},
    }
)
ROWS = replace(FACTS, unit="row")


def people() -> pa.Table:
    return pa.table(
        {"age": [30.0, 50.0] * 500, "sex": [0, 1, 1, 1] * 250, "pay": [2.0, 4.0] * 500, "who": list(range(1000))}
    )


def spread(totals: Any) -> Any:
    return totals["age"] / totals["count"]


# One of each kind of result; a kind that is not here must be added when it is made.
RESULTS: dict[str, Callable[[hg.Survey], Any]] = {
    "shorthand": lambda opened: opened.mean("age", epsilon=1.0),
    "cells": lambda opened: opened.mean("age", by=["sex"], epsilon=1.0),
    "distribution": lambda opened: opened.quantile("age", 0.5, epsilon=1.0),
    "computed": lambda opened: opened.mean("age", epsilon=1.0) + 1.0,
    "plan": lambda opened: opened.plan([hg.mean("age"), hg.gini("pay")], epsilon=1.0),
    "own plan": lambda opened: opened.plan(hg.bootstrap(spread, columns={"age": (0, 128)}, name="spread"), epsilon=1.0),
    "counts": lambda opened: opened.contingency_table(by=["sex"], epsilon=1.0),
    "totals": lambda opened: opened.magnitude_table("pay", by=["sex"], epsilon=1.0),
    "margins": lambda opened: opened.margins(by=["sex"], epsilon=1.0).nonnegative(),
    "planned margins": lambda opened: opened.plan_margins(by=["sex"], epsilon=1.0),
    "ols": lambda opened: opened.ols("pay", ["age"], epsilon=1.0),
    "ols by cell": lambda opened: opened.ols("pay", ["age"], by=["sex"], epsilon=1.0),
    "logit": lambda opened: opened.logit("sex", ["age"], epsilon=1.0),
    "planned ols": lambda opened: opened.plan_ols("pay", ["age"], epsilon=1.0),
    "planned logit": lambda opened: opened.plan_logit("sex", ["age"], epsilon=1.0),
    "contrast": lambda opened: opened.ols("pay", ["age"], epsilon=1.0).contrast({"age": 1.0}),
    "tests": lambda opened: opened.ols("pay", ["age"], epsilon=1.0).t_test("age"),
    "bounds": lambda opened: opened.find_bounds("age", epsilon=1.0),
    "categories": lambda opened: opened.find_categories("sex", epsilon=1.0),
}


def told(result: Any) -> Any:
    """Return all that a result tells: its record where it has one."""
    return result.to_dict() if hasattr(result, "to_dict") else repr(result)


@pytest.mark.parametrize("kind", RESULTS)
def test_every_kind_of_result_pickles(kind: str) -> None:
    result = RESULTS[kind](hg.open(people(), ROWS))
    copy = again(result)
    assert told(copy) == told(result) and str(copy) == str(result)
    assert told(again(copy)) == told(result)


def test_facts_pickle() -> None:
    copy = again(FACTS)
    assert copy == FACTS and copy.column("age").source == "codebook" and copy.unit == FACTS.unit
    with pytest.raises(TypeError):
        copy.columns["age"] = hg.ColumnFacts()


def written(kind: str, folder: Path) -> Path:
    path = folder / f"people.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(people(), path)
    elif kind == "parquet":
        pyarrow.parquet.write_table(people(), path)
    else:
        with duckdb.connect(str(path)) as connection:
            connection.register("people", people())
            connection.execute("create table t as select * from people")
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_another_process_releases_from_a_survey_of_a_file_that_was_sent(kind: str, tmp_path: Path) -> None:
    unit = {"column": "who", "max_rows": 2}
    paid = tmp_path / "sent.ledger"
    Ledger.create(paid, dataset="people", budget=Budget(9.0, 1e-5), relation="replace-one", unit=unit).close()
    opened = hg.open(written(kind, tmp_path), FACTS, ledger=paid)
    (tmp_path / "asked.pickle").write_bytes(pickle.dumps((opened, hg.mean("age"))))
    code = (
        "import pickle, sys; survey, asked = pickle.load(open(sys.argv[1], 'rb')); "
        "print(len(survey.release(asked, epsilon=1.0)))"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "asked.pickle")], capture_output=True, text=True
    )
    assert run.returncode == 0 and run.stdout.strip() == "1", run.stderr
    assert opened.budget is not None and opened.budget.spent == pytest.approx(1.0, abs=1e-3)


def test_a_frame_that_was_sent_is_read_by_the_process_that_has_it(tmp_path: Path) -> None:
    opened = hg.open(pl.from_arrow(people()), ROWS)
    (tmp_path / "survey.pickle").write_bytes(pickle.dumps(opened))
    code = (
        "import pickle, sys; survey = pickle.load(open(sys.argv[1], 'rb')); "
        "print(len(survey.release(__import__('hedgerow').count(), epsilon=1.0, delta=0)))"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "survey.pickle")], capture_output=True, text=True
    )
    assert run.returncode == 0 and run.stdout.strip() == "1", run.stderr


def test_what_holds_a_connection_refuses() -> None:
    rows = people()
    with duckdb.connect() as connection:
        opened = hg.open(connection.from_arrow(rows), ROWS)
        for holder in (opened, opened.plan(hg.mean("age"), epsilon=1.0), opened.plan_ols("pay", ["age"], epsilon=1.0)):
            with pytest.raises(hg.ParameterError, match="HG210"):
                pickle.dumps(holder)
        release = opened.release(hg.mean("age"), epsilon=1.0)
    assert again(release).to_json() == release.to_json()
