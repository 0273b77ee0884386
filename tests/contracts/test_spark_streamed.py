"""Replicates of records that Spark's executors draw: each record once, weights of its own, one job, whatever fails."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.contracts.continuous_people import RATE, continuous_people
from tests.contracts.test_spark import classic, clustered

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise
from hedgerow.engines import streamed
from hedgerow.noise.secure import SecureNoise
from hedgerow.release.execute import draw_tables, read_histograms

pytestmark = pytest.mark.spark

ROWS = 3000
OPTIONS: dict[str, Any] = {"epsilon": 1.0, "n_resamples": 40, "missing": "drop", "by": {"group": [0, 1, 2]}}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return continuous_people(ROWS, seed=8)


@pytest.fixture(scope="module")
def in_spark(spark: Any, rows: pd.DataFrame) -> Any:
    return spark.createDataFrame(pa.Table.from_pandas(rows)).repartition(5)


def once() -> Any:
    """Return noise that is none, with every record drawn once; it counts as secure, so every executor asks it."""

    class Once(SilentNoise):
        secure = True

    return Once()


def exact(frame: Any) -> Any:
    survey = hg.open(frame, relation="replace-one")
    plan = survey.plan(RATE, where="x > 20", **OPTIONS)
    design: Any = plan.items[0].design
    assert design.streams
    (drawn,) = draw_tables(plan, read_histograms(plan, survey.source), once())
    assert drawn is not None
    return drawn.values.tolist()


def test_each_record_is_taken_once(in_spark: Any, rows: pd.DataFrame) -> None:
    assert exact(in_spark) == exact(rows)
    assert exact(in_spark.filter("z > 0.1")) != exact(rows)  # a sabotage: some records are left out
    some = in_spark.filter("x > 50 AND y > 0 AND z > 0 AND `group` = 1").limit(1)
    assert exact(in_spark.union(some)) != exact(rows)  # another one: one is taken twice


def counts(frame: Any, k: int, chance: Any) -> Any:
    """Return the number of records of k resamples."""
    survey = hg.open(frame, relation="replace-one")
    plan = survey.plan(RATE, **(OPTIONS | {"by": None, "n_resamples": k}))
    item: Any = plan.items[0]
    asked = item.mechanism.streamed(item.design.query.size, item.design.resampled.features, chance)
    tally = survey.source.stream(item.design.query, asked, lambda _: None)  # type: ignore[attr-defined]  # a frame, which streams
    assert tally.total() == ROWS
    return tally.sums.value()[0, -1].astype(float)


def test_weights_of_partitions_are_their_own(in_spark: Any, rows: pd.DataFrame) -> None:
    """The size of 1,500 resamples is Poisson(n): its variance is n. Weights that five partitions share make it 5 n."""
    n, k = ROWS - ROWS // 50, 1500
    sizes = counts(in_spark, k, SecureNoise())

    def p_value(drawn: Any) -> float:
        dispersion = float(((drawn - n) ** 2).sum() / n)
        return 2 * min(stats.chi2.sf(dispersion, k), stats.chi2.cdf(dispersion, k))

    assert p_value(sizes) > 1e-6
    few = counts(in_spark.filter("x > -1e9").coalesce(1), k, SecureNoise())
    assert p_value(few) > 1e-6 and few.tolist() != sizes.tolist()
    assert p_value(n + (sizes - n) * np.sqrt(5)) < 1e-12


def test_a_release_runs_with_its_price(in_spark: Any, rows: pd.DataFrame) -> None:
    (found, expected) = (hg.open(one, relation="replace-one").release(RATE, **OPTIONS) for one in (in_spark, rows))
    assert found.certificate is not None and expected.certificate is not None
    assert found.certificate.to_json() == expected.certificate.to_json()
    assert len(found) == 3 and found[0].n_resamples == 40


def test_executors_without_this_hedgerow_are_refused_before_anything_is_spent(
    in_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = hg.open(in_spark, relation="add-remove")
    monkeypatch.setattr(streamed, "__version__", "0.0.0")
    with pytest.raises(hg.DataError, match=r"HG214: .*another version"):
        survey.release(RATE, **OPTIONS)
    monkeypatch.setattr(streamed, "batch_of_version", lambda batch: __import__("hedgerow.nowhere"))
    with pytest.raises(hg.DataError, match=r"HG214: .*could not import"):
        survey.release(RATE, **OPTIONS)
    coarse = hg.mean("x", bounds=(0, 100), step=1)
    assert len(survey.release(coarse, epsilon=1.0, estimator="bootstrap", n_resamples=5)) == 1


@classic
def test_one_draw_is_one_job(spark: Any, in_spark: Any) -> None:
    survey = hg.open(in_spark, relation="replace-one")
    plan = survey.plan(RATE, **OPTIONS)
    context = spark.sparkContext
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # it starts a job for each shuffle, of any query
    try:
        context.setJobGroup("streamed", "streamed")
        assert draw_tables(plan, read_histograms(plan, survey.source), SecureNoise())[0] is not None
        assert len(context.statusTracker().getJobIdsForGroup("streamed")) == 1
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


@clustered
def test_a_task_that_fails_and_runs_again_counts_once(in_spark: Any, rows: pd.DataFrame) -> None:
    """Each task fails the first time, after it read its records: the draw of the second run alone counts."""

    def failing(batches: Any) -> Any:
        from pyspark import TaskContext

        task = TaskContext.get()
        yield from batches
        if task is not None and task.attemptNumber() == 0:
            raise ValueError("the first run")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark does not know pandas 3 yet
        again = in_spark.mapInArrow(failing, "x double, y double, z double, `group` bigint")
    assert exact(again) == exact(rows)
