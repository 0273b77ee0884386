"""Lines of `benchmarks.ratios` that need another library, server or process: left out by name where it lacks."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.import_time import cpu_seconds
from benchmarks.mean_against_others import environment
from benchmarks.ratios import Line, Work, compared, complete, in_memory, price

import hedgerow as hg
from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, release_curve

WIDTHS = itertools.count()
MEANS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, diffprivlib
values, spent = np.random.default_rng(1).integers(0, 256, 10**6).astype(float), []
for _ in range(int(sys.argv[1]) + 1):
    began = time.process_time()
    diffprivlib.tools.mean(values, epsilon=1.0, bounds=(0, 255))
    spent.append(time.process_time() - began)
print(json.dumps(spent[1:]))
"""


class MissingError(Exception):
    """What a line needs is not on this machine."""


def prices() -> Iterator[Work]:
    """Yield the price of k replicates over that by dp_accounting's builder of mixtures."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from scipy.stats import poisson

    counts = list(range(21))
    chances = poisson.pmf(counts, 1.0)
    chances = list(chances / chances.sum())
    for k in (1000, 50, 10):

        def theirs(k: int = k) -> None:
            one = pld.from_mixture_gaussian_mechanism(
                math.sqrt(k), counts, chances, value_discretization_interval=1e-4, use_connect_dots=True
            )
            one.self_compose(k).get_epsilon_for_delta(1e-6)

        def ours(k: int = k) -> None:
            pair = MixturePair(PairKind.ONE_SIDED, math.sqrt(k) * (1.0 + 1e-6 * next(WIDTHS)), 1.0)
            release_curve([pair], n_resamples=k).epsilon_upper(1e-6)

        yield Work(f"price of {k:,} resamples, add-remove", "dp_accounting's builder", theirs, ours, 0.01)


def diffprivlib(folder: Path, turns: int) -> Iterator[Line]:
    """Yield the mean in memory over diffprivlib's, which runs in an environment of its own."""
    try:
        python = environment(folder / "diffprivlib")
    except (OSError, subprocess.CalledProcessError):
        raise MissingError("pip cannot install it") from None
    done = subprocess.run([python, "-c", MEANS, str(turns)], stdout=subprocess.PIPE, text=True, check=True)
    theirs = statistics.median(json.loads(done.stdout))
    of_a_million = list(in_memory())[-1]
    ours = compared(of_a_million, turns).ours
    yield Line(of_a_million.name, "diffprivlib's, no error bar", theirs, ours, 1.5)


def spark(rows: Path, n: str, turns: int) -> Iterator[Line]:
    """Yield a mean by group, and five statistics, over Spark's own aggregates; then how many jobs these are."""
    if not (shutil.which("java") or Path(os.environ.get("JAVA_HOME", "/nowhere"), "bin/java").is_file()):
        raise MissingError("Java is not installed")
    try:
        from benchmarks import spark as of_spark
    except ImportError:
        raise MissingError("pyspark is not installed") from None
    for name, theirs, ours, jobs in of_spark.measured(rows, "v256", "v4096", "few", of_spark.CLUSTER, turns):
        limit = 1.3 if "group" in name else 2.0
        yield Line(f"Spark, {name} of {n} rows, by the clock", "Spark's own aggregate", theirs, ours, limit)
        yield Line(f"Spark, {name} of {n} rows", "jobs", None, jobs, 1, "job" if jobs == 1 else "jobs")


def postgres(rows: int, n: str) -> Iterator[Work]:
    """Yield means in a server that is started here, over its own average and deviation: few values, and many."""
    try:
        import psycopg
        from tests.contracts.postgres_server import running
        from tests.engines import postgresql
    except ImportError:
        raise MissingError("psycopg is not installed") from None
    if (folder := postgresql()) is None:
        raise MissingError("it is not installed")
    columns = {"v256": "hashint4(i::int) & 255", "v65536": "hashint4(i::int * 7) & 65535"}
    listed = ", ".join(f"({made})::double precision AS {name}" for name, made in columns.items())
    made = f"SELECT {listed} FROM generate_series(1, {rows}) AS r(i)"
    with running(folder) as server, psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE UNLOGGED TABLE people AS {made}")
        connection.execute("VACUUM ANALYZE people")
        survey = hg.open(server.url, table="people", relation="replace-one")

        for column, most in (("v256", 255), ("v65536", 65_535)):

            def theirs(column: str = column) -> None:
                connection.execute(f"SELECT avg({column}), stddev({column}), count({column}) FROM people").fetchall()

            def ours(column: str = column, most: int = most) -> None:
                complete(survey.release([hg.mean(column, bounds=(0, most), step=1)], **price()))

            name = f"PostgreSQL, mean of {n} rows, {most + 1:,} values, by the clock"
            yield Work(name, "its own avg and stddev", theirs, ours, 2.0, clock=True)


def tables(turns: int) -> Iterator[Line]:
    """Yield seconds of CPU and peak memory of a million cells with every margin, each time in a new process."""
    found = []
    for _ in range(turns):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.large_table"], stdout=subprocess.PIPE, text=True, check=True
        )
        told = re.search(r"\(([\d.]+) s of CPU\), peak ([\d.]+) GB", done.stdout.splitlines()[-1])
        if "1,000,000 cells" not in done.stdout or told is None:
            raise RuntimeError(f"benchmarks.large_table printed something else:\n{done.stdout}")
        found.append([float(one) for one in told.groups()])
    for place, (unit, limit) in enumerate((("s", 4.0), ("GB", 0.6))):
        what = ("CPU", "peak memory")[place]
        yield Line(
            "10⁶ cells with all margins", what, None, statistics.median(one[place] for one in found), limit, unit
        )


_RECORDS = """
import json, sys, resource, itertools, numpy as np, pyarrow, hedgerow as hg
rng, kind = np.random.default_rng(1), sys.argv[1]
data = {f"x{i}": rng.integers(0, 101, 20_000).astype(float) for i in range(10)}
data |= {"a": rng.integers(0, 1000, 20_000), "b": rng.integers(0, 1000, 20_000)}
survey = hg.open(pyarrow.table(data), relation="replace-one" if kind in ("variances", "correlations") else "add-remove")
pairs = itertools.combinations(list(data)[:4], 2)
asked = {
    "variances": [hg.variance(name, bounds=(0, 100), step=1) for name in list(data)[:10]],
    "correlations": [hg.correlation(*pair, bounds=dict.fromkeys(pair, (0, 100))) for pair in pairs],
    "means": [hg.count(), hg.mean("x0", bounds=(0, 100), step=1)],
}.get(kind, [hg.count()])
cells = int(sys.argv[2])
by = {"by": {"a": [*range(1000)], "b": [*range(cells // 1000)]}} if cells > 1 else {}
survey.release(asked, epsilon=1.0, **by).write(sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def records(folder: Path) -> Iterator[Line]:
    """Yield the sizes of records, and the CPU and memory of a million cells, written as Parquet, in new processes."""
    sizes = (("variances", "ten variances", 1, 0.3), ("correlations", "six correlations", 1, 0.5))
    sizes += (("counts", "10⁵ counts", 100_000, 25.0), ("means", "10⁵ counts and means", 100_000, 25.0))
    for kind, name, cells, limit in sizes:
        for suffix in (".json", ".json.gz"):
            place = folder / f"record{suffix}"
            cpu_seconds(["-c", _RECORDS, kind, str(cells), str(place)], str(folder))
            size = place.stat().st_size / 1e6
            yield Line(f"record of {name}", f"{suffix.removeprefix('.')}", None, size, limit, "MB")
    for kind, name in (("counts", "10⁶ counts"), ("means", "10⁶ counts and means")):
        asked = [sys.executable, "-c", _RECORDS, kind, "1000000", "cells.parquet"]
        before = os.times()
        done = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True, cwd=folder)
        after = os.times()
        yield Line(f"{name} as Parquet", "CPU", None, sum(after[2:4]) - sum(before[2:4]), 60.0, "s")
        yield Line(f"{name} as Parquet", "peak memory", None, float(done.stdout), 3.0, "GB")


def commands(rows: Path, folder: Path, turns: int) -> Iterator[Line]:
    """Yield the CPU seconds of `hedgerow release` of a small file, in a new process."""
    import duckdb

    small = folder / "small.csv"
    duckdb.sql(f"COPY (SELECT * FROM '{rows}' LIMIT 1000) TO '{small}'")
    asked = ["--relation", "replace-one", "--mean", "x:0:100000:1", "--epsilon", "1"]
    spent = [cpu_seconds(["-m", "hedgerow", "release", small.name, *asked], str(folder)) for _ in range(turns + 1)]
    yield Line("hedgerow release of 1,000 rows, from the shell", "CPU", None, statistics.median(spent[1:]), 0.45, "s")
    asked += ["--out", "results", "--force"]
    spent = [cpu_seconds(["-m", "hedgerow", "release", small.name, *asked], str(folder)) for _ in range(turns + 1)]
    name = "hedgerow release of 1,000 rows, from the shell, with --out"
    yield Line(name, "CPU", None, statistics.median(spent[1:]), 0.8, "s")
