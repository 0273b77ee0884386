"""Spark with executors of their own, and Spark Connect: the same integers, one job a call, whatever dies meanwhile."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.engines.dialects import held
from hedgerow.engines.query import Indicator, Query, SumsQuery, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.errors import DataError, SpentError
from hedgerow.facts.columns import Category, Grid
from hedgerow.testing import simulated

pytestmark = pytest.mark.spark

KIND = os.environ.get("HEDGEROW_SPARK", "local")
classic = pytest.mark.skipif(KIND == "connect", reason="Spark Connect shows its client no jobs and no executors")
clustered = pytest.mark.skipif(KIND != "cluster", reason="only a cluster has executors that can be killed")
ROWS = 3000


def people() -> pd.DataFrame:
    """Return skewed, tied, missing and extreme values, with every type that people keep in tables."""
    rng = np.random.default_rng(7)
    income = np.round(rng.lognormal(10, 1, ROWS))
    income[::17], income[5], income[6] = np.nan, np.inf, -1e300
    age = rng.integers(0, 100, ROWS).astype(float)
    age[::23] = np.nan
    region = np.array(["north", "south", "é", 'q"q', None], dtype=object)[rng.integers(0, 5, ROWS)]
    paid = [None if i % 29 == 0 else Decimal(int(v)) / 100 for i, v in enumerate(rng.integers(0, 5000, ROWS))]
    owner, code = rng.random(ROWS) < 0.3, np.arange(ROWS)
    return pd.DataFrame({"age": age, "income": income, "region": region, "paid": paid, "owner": owner, "code": code})


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="module")
def in_spark(spark: Any, rows: pd.DataFrame) -> Any:
    paid = pa.array(rows["paid"].tolist(), pa.decimal128(12, 2))
    region = pa.array(rows["region"], pa.string(), from_pandas=True)
    numbers = {name: pa.array(rows[name].to_numpy(), pa.float64()) for name in ("age", "income")}
    others = {name: pa.array(rows[name].to_numpy()) for name in ("owner", "code")}
    table = pa.table(numbers | {"region": region, "paid": paid} | others)
    return spark.createDataFrame(table).repartition(5)


AGE = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
INCOME = ValueOnGrid("income", Grid.from_bounds("income", (0, 200_000)))
PAID = ValueOnGrid("paid", Grid.from_bounds("paid", (0, 50), 0.01))
REGION = Category.declared("region", ["north", "é", 'q"q'], other=True)
CODES = Category.declared("code", [3 * i for i in range(900)])
SUMS = ((), ((0, 1),), ((0, 2),), ((1, 1),), ((1, 2),), ((0, 1), (1, 1)), ((2, 1),))


@pytest.mark.parametrize("by", [(), (REGION, CODES)], ids=["all", "grouped"])
def test_the_integers_are_those_of_memory(in_spark: Any, rows: pd.DataFrame, by: tuple[Category, ...]) -> None:
    ours, theirs = open_source(in_spark), open_source(rows.astype({"paid": float}))
    for query in (SumsQuery((AGE, INCOME, PAID), SUMS, by), SumsQuery((AGE, Indicator("owner", True)), SUMS[:4], by)):
        a, b = ours.sums(query), theirs.sums(query)
        assert {m: s.tolist() for m, s in a.sums.items()} == {m: s.tolist() for m, s in b.sums.items()}
        assert (a.missing.tolist(), a.outside) == (b.missing.tolist(), b.outside)
    h, g = ours.histogram(Query(AGE, by)), theirs.histogram(Query(AGE, by))
    for name in ("cell", "index", "count", "missing"):
        assert getattr(h, name).tolist() == getattr(g, name).tolist()
    assert h.outside == g.outside


def test_sabotage_a_piece_dropped(in_spark: Any, rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of incomes take several pieces: without the highest the sum is another."""
    query = SumsQuery((INCOME,), (((0, 2),),))
    expected = open_source(rows.drop(columns="paid")).sums(query).sums[((0, 2),)].tolist()
    assert open_source(in_spark).sums(query).sums[((0, 2),)].tolist() == expected
    summed, lost = held._summed_in_spark, ("level", "one", "t_0 & 1023L AS t_0")
    monkeypatch.setattr(held, "_summed_in_spark", lambda frame, *a, **by: summed(frame.selectExpr(*lost), *a, **by))
    assert open_source(in_spark).sums(query).sums[((0, 2),)].tolist() != expected


def test_no_record_has_sums_of_zero(in_spark: Any, rows: pd.DataFrame) -> None:
    """Spark's sums of no row are null; the refusal of a source must not depend on whether there is a row."""
    query = SumsQuery((INCOME,), (((0, 2),),))
    found = open_source(in_spark.filter("code IS NULL AND code IS NOT NULL")).sums(query)
    expected = open_source(rows.drop(columns="paid").iloc[:0]).sums(query)
    assert found.sums[((0, 2),)].tolist() == expected.sums[((0, 2),)].tolist() == [0]
    assert found.total() == expected.total() == 0


def released(source: Any) -> list[tuple[Any, ...]]:
    """Release with seeded noise: what two engines count alike comes out alike, draw for draw."""
    survey = hg.open(source, relation="replace-one")
    bounds = {"age": (0, 100), "income": (0, 200_000)}
    asked = [statistic(name, bounds=bounds[name]) for statistic in (hg.mean, hg.sum) for name in bounds]
    asked.append(hg.variance("age", bounds=(0, 100)))
    by = {"region": ["north", "é"]}
    found = simulated.release(survey, asked, epsilon=2.0, delta=1e-9, rng=11, where="age >= 18", missing="drop", by=by)
    return [(one.statistic, one.column, one.estimate, one.standard_error) for one in found]


def test_a_release_is_that_of_a_frame_in_memory(in_spark: Any, rows: pd.DataFrame) -> None:
    whole = rows[["age", "income"]].assign(region=rows["region"].astype("string"))
    assert released(in_spark) == released(whole)
    assert released(in_spark.filter("code > 0")) != released(whole)  # a sabotage: one record is left out


@classic
def test_one_call_is_one_job(spark: Any, in_spark: Any) -> None:
    """Five statistics of three columns, by groups, of some of the records; the number of records is asked for once."""
    survey = hg.open(in_spark, relation="replace-one")
    assert survey.n == ROWS
    context = spark.sparkContext
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # it starts a job for each shuffle, of any query
    asked = [hg.mean(name, bounds=(0, 100)) for name in ("age", "income", "paid")]
    asked += [hg.variance("age", bounds=(0, 100)), hg.sum("income", bounds=(0, 100))]
    try:
        for group, options in (("all", {}), ("some", {"where": "age >= 18", "by": {"region": ["north", "é"]}})):
            context.setJobGroup(group, group)
            simulated.release(survey, asked, epsilon=2.0, delta=1e-9, rng=1, missing="drop", **options)
            assert len(context.statusTracker().getJobIdsForGroup(group)) == 1
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def executors() -> list[int]:
    """Return the processes of executors that descend from this one."""
    parents, commands = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            commands[int(folder.name)] = (folder / "cmdline").read_bytes()
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue

    def ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and ours(parents[process]))

    return [one for one, command in commands.items() if b"CoarseGrainedExecutorBackend" in command and ours(one)]


@clustered
def test_an_executor_that_is_killed_changes_nothing(in_spark: Any, rows: pd.DataFrame) -> None:
    def slowly(batches: Any) -> Any:
        import time

        for batch in batches:
            time.sleep(2.0)
            yield batch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark does not know pandas 3 yet
        slow = in_spark.select("age", "income", "region").mapInArrow(slowly, "age double, income double, region string")
    expected = released(rows[["age", "income"]].assign(region=rows["region"].astype("string")))
    survey_began, killed = threading.Event(), []

    def kill() -> None:
        survey_began.wait()
        time.sleep(3.0)
        killed.append(executors()[0])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    survey_began.set()
    found = released(slow)
    thread.join()
    assert killed and killed[0] not in executors()
    assert found == expected


def test_errors_are_ours_and_quote_nothing(in_spark: Any) -> None:
    with pytest.raises(DataError, match="HG203"):
        open_source(in_spark).check(SumsQuery((ValueOnGrid("no", AGE.grid),), ()))
    with pytest.raises((DataError, SpentError)) as caught:
        failing = in_spark.selectExpr("CAST(concat('canary', code) AS double) AS age")
        open_source(failing).sums(SumsQuery((AGE,), (((0, 1),),)))
    assert "canary" not in str(caught.value) and caught.value.__context__ is None


def test_progress_is_not_shown(in_spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    released(in_spark)
    assert capfd.readouterr().out == ""


def test_the_snippet_of_the_page_runs(in_spark: Any) -> None:
    page = Path(__file__).parents[2] / "docs" / "how_to" / "spark.md"
    (snippet,) = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = {"people": in_spark}
    exec(compile(snippet, str(page), "exec"), found)
    assert [one.cell["region"] for one in found["release"]] == ["north", "south"] * 2
