"""What a private release costs over Spark's own aggregate of the same frame: ratios of wall time, in one run.

Run ``python benchmarks/spark.py [--rows 10000000] [--master local-cluster[2,1,1024]] [--repetitions 5]``. Spark
computes average, standard deviation and count by group; hedgerow releases a mean by group with its error, from the
question to the estimates. The two take turns. Jobs are counted by Spark, without adaptive execution, which starts one
for each shuffle of any query.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

import hedgerow as hg

CLUSTER = "local-cluster[2,1,1024]"


def seconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def session(master: str) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"ui.enabled": "false", "ui.showConsoleProgress": "false", "sql.shuffle.partitions": "2"}
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def jobs_of(spark: Any, name: str, run: Callable[[], Any]) -> int:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.sparkContext.setJobGroup(name, name)
    run()
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(name))


def measured(
    path: Path, first: str, second: str, group: str, master: str, turns: int
) -> Iterator[tuple[str, float, float, int]]:
    """Yield each work with the medians of Spark's seconds and of ours, and how many jobs ours are."""
    spark = session(master)
    try:
        frame = spark.read.parquet(str(path))
        survey = hg.open(frame, relation="replace-one")
        by = {group: list(range(10))}
        paid = {"epsilon": 1.0, "delta": 1e-9}
        a, b = {"bounds": (0, 255), "step": 1}, {"bounds": (0, 4095), "step": 1}
        five = [hg.mean(first, **a), hg.mean(second, **b), hg.sum(first, **a), hg.variance(first, **a)]
        five.append(hg.sum(second, **b))
        works: dict[str, tuple[str, Callable[[], Any]]] = {
            "mean by 10 groups": (
                f"SELECT {group}, avg({first}), stddev({first}), count({first}) FROM people GROUP BY {group}",
                lambda: survey.release([hg.mean(first, **a)], by=by, **paid),
            ),
            "five statistics": (
                f"SELECT avg({first}), stddev({first}), avg({second}), stddev({second}), count({first}) FROM people",
                lambda: survey.release(five, **paid),
            ),
        }
        frame.createOrReplaceTempView("people")
        for name, (query, ours) in works.items():
            ours()
            spark.sql(query).collect()
            pairs = [(seconds(lambda q=query: spark.sql(q).collect()), seconds(ours)) for _ in range(turns)]
            theirs, spent = (statistics.median(side) for side in zip(*pairs, strict=True))
            yield name, theirs, spent, jobs_of(spark, name, ours)
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--master", default=CLUSTER)
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        columns = "(hash(i) % 256)::DOUBLE AS a, (hash(i * 3) % 4096)::DOUBLE AS b, (hash(i * 5) % 10)::BIGINT AS g"
        duckdb.execute(f"COPY (SELECT {columns} FROM range({given.rows}) t(i)) TO '{path}' (FORMAT parquet)")
        print(f"{given.rows:,} rows, {given.master}")
        for name, floor, spent, jobs in measured(path, "a", "b", "g", given.master, given.repetitions):
            ratio = spent / floor
            print(f"{name:20} Spark {floor:6.2f} s   hedgerow {spent:6.2f} s   ratio {ratio:5.2f}   jobs {jobs}")


if __name__ == "__main__":
    main()
