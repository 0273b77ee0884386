"""What a private release costs over DuckDB's own aggregate of the same file: ratios of CPU time, medians of one run.

Run ``python benchmarks/over_duckdb.py [--rows 10000000] [--grouped 1000000] [--repetitions 5]``: some minutes. DuckDB
computes average, standard deviation and count; hedgerow releases a mean with its error and interval, from the first
read of the file to the record. Seconds are CPU of all threads, since machines are shared.

On 2 cores, 10⁷ rows, 10⁶ where there are many groups:

    work                                       DuckDB   hedgerow    ratio    asked
    mean, Parquet                                .149       .271      1.8      1.5
    mean by 10 numbers                           .137       .389      2.8      2.2
    mean by 10 texts                             .143       .457      3.2      2.2
    mean by 4,096 numbers                        .024      2.99     126        3
    mean, CSV                                    .819      1.39       1.7      2

About .1 s of each is the choice of weights and the record, whatever the number of rows. With 4,096 groups the engine
takes .1 s; the rest are their 4,096 estimates, each an object with its interval.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import hedgerow as hg

COLUMNS = """(hash(i) % 100001)::DOUBLE AS x, (hash(i * 3) % 10)::BIGINT AS few, (hash(i * 5) % 4096)::BIGINT AS many,
    'c' || (hash(i * 3) % 10) AS text"""


def cpu(run: Callable[[], Any], repetitions: int) -> float:
    """Return the median CPU time of a function, after one call that is not counted."""
    run()
    found = []
    for _ in range(repetitions):
        before = resource.getrusage(resource.RUSAGE_SELF)
        run()
        after = resource.getrusage(resource.RUSAGE_SELF)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(found)


def compare(name: str, path: Path, by: dict[str, list[Any]] | None, asked: float, repetitions: int) -> None:
    """Print what a mean costs, by groups or of all."""
    group = next(iter(by), None) if by else None
    aggregates = f"avg(x), stddev(x), count(x) FROM '{path}'"
    plain = f"SELECT {aggregates}" if group is None else f"SELECT {group}, {aggregates} GROUP BY {group}"
    survey = hg.open(path, relation="replace-one")

    def ours() -> None:
        survey.release([hg.mean("x", bounds=(0, 100_000))], epsilon=1.0, delta=1e-9, **({"by": by} if by else {}))

    floor, spent = cpu(lambda: duckdb.sql(plain).fetchall(), repetitions), cpu(ours, repetitions)
    print(f"{name:40}{floor:9.3f}{spent:11.3f}{spent / floor:9.1f}{asked:9g}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of a mean over DuckDB's own.")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--grouped", type=int, default=10**6, help="rows where there are many groups")
    parser.add_argument("--repetitions", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, rows in (("rows.parquet", chosen.rows), ("rows.csv", chosen.rows), ("few.parquet", chosen.grouped)):
            files[name] = Path(folder) / name
            duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({rows}) r(i)) TO '{files[name]}'")
        print(f"{'work':40}{'DuckDB':>9}{'hedgerow':>11}{'ratio':>9}{'asked':>9}")
        rows, few, turns = files["rows.parquet"], files["few.parquet"], chosen.repetitions
        compare("mean, Parquet", rows, None, 1.5, turns)
        compare("mean by 10 numbers", rows, {"few": list(range(10))}, 2.2, turns)
        compare("mean by 10 texts", rows, {"text": [f"c{i}" for i in range(10)]}, 2.2, turns)
        compare("mean by 4,096 numbers", few, {"many": list(range(4096))}, 3.0, turns)
        compare("mean, CSV", files["rows.csv"], None, 2.0, turns)


if __name__ == "__main__":
    main()
