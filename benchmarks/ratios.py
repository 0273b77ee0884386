"""How long hedgerow takes over what does the same without privacy, or without an error bar: ratios of CPU time.

Run ``make bench``, or ``python benchmarks/ratios.py [--rows 10000000] [--big FILE] [--only WORD]``: ten minutes or so,
with ``--rows 100000000`` an hour. Each line is the median of five or more calls, theirs and ours in turn, in one
process. CPU seconds of all threads are counted, since machines are shared. A release reads the data from the first byte
on, prices itself and returns every estimate with its error and interval; its ε differs from call to call, so that
nothing of an earlier choice is used again.

The table and the picture of docs/project/benchmarks.md are written anew with ``--write``.
"""

from __future__ import annotations

import argparse
import csv
import gc
import itertools
import resource
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow

import hedgerow as hg

PAGE = Path(__file__).parent.parent / "docs" / "project" / "benchmarks.md"
MARKS = "<!-- the table begins -->\n", "<!-- the table ends -->\n"
COLUMNS = """(hash(i) % 100001)::DOUBLE AS x, (hash(i * 3) % 10)::BIGINT AS few, (hash(i * 7) % 256)::DOUBLE AS v256,
    (hash(i * 11) % 4096)::DOUBLE AS v4096, (hash(i * 13) % 65536)::DOUBLE AS v65536"""
FEW = """(hash(i) % 100001)::DOUBLE AS x, (hash(i * 5) % 4096)::BIGINT AS many, (hash(i * 7) % 100000)::BIGINT AS lots,
    'c' || (hash(i * 3) % 10) AS text"""
FIVE = ("x", "few", "v256", "v4096", "v65536")
BOUNDS = {"x": (0, 100_000), "few": (0, 10), "v256": (0, 255), "v4096": (0, 4095), "v65536": (0, 65_535)}
Work = tuple[str, str, Callable[[], Any], Callable[[], Any], float]
EPSILONS = itertools.count()
_LONG = 5.0  # seconds of theirs that are measured once


def price() -> dict[str, float]:
    """Return a budget that was not asked for before."""
    return {"epsilon": 1.0 + 1e-6 * next(EPSILONS), "delta": 1e-9}


def seconds(run: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call."""
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compared(theirs: Callable[[], Any], ours: Callable[[], Any], turns: int) -> tuple[float, float]:
    """Return both medians, taken in turn after a call of each that is not counted; of very short calls the mean."""
    floor, _ = seconds(theirs), seconds(ours)
    if floor > _LONG:
        return floor, statistics.median(seconds(ours) for _ in range(turns))
    often = max(1, round(0.02 / max(floor, 1e-6)))

    def repeated() -> None:
        for _ in range(often):
            theirs()

    found = [(seconds(repeated) / often, seconds(ours)) for _ in range(turns)]
    first, second = (statistics.median(part) for part in zip(*found, strict=True))
    return first, second


def asked(query: str) -> Callable[[], Any]:
    """Return a question to DuckDB, whose rows are fetched."""
    return lambda: duckdb.sql(query).fetchall()


def complete(release: hg.Release) -> None:
    """Read every estimate, error and interval."""
    release.to_columns()


def of_files(rows: Path, many: Path, text: Path, n: str) -> Iterator[Work]:
    """Yield the work on Parquet and CSV files over DuckDB's own aggregates."""
    survey, groups = hg.open(rows, relation="replace-one"), hg.open(many, relation="replace-one")

    def released(of: Any, *statistics: Any, **options: Any) -> Callable[[], None]:
        return lambda: complete(of.release(list(statistics), **options, **price()))

    def mean(column: str, **step: float) -> Any:
        return hg.mean(column, bounds=BOUNDS[column], **step)

    source, about = f"FROM '{rows}'", "avg({0}), stddev({0})"
    for column in ("x", "v256", "v65536"):
        values = {"x": "100,001 values", "v256": "256 values", "v65536": "65,536 values"}[column]
        yield (
            f"mean of {n} Parquet rows, {values}",
            "DuckDB's avg and stddev",
            asked(f"SELECT {about.format(column)} {source}"),
            released(survey, mean(column)),
            1.5,
        )
    few = {"few": list(range(10))}
    grouped = f"SELECT few, {about.format('x')}, count(x) {source} GROUP BY few"
    yield (
        f"mean by 10 groups of {n} rows",
        "DuckDB's GROUP BY",
        asked(grouped),
        released(survey, mean("x"), by=few),
        2.2,
    )
    every = ", ".join(about.format(column) for column in FIVE)
    ten = [one for column in FIVE for one in (mean(column), hg.sum(column, bounds=BOUNDS[column]))]
    yield (
        f"10 statistics of 5 columns, {n} rows",
        "DuckDB's one query",
        asked(f"SELECT {every} {source}"),
        released(survey, *ten),
        2.2,
    )
    for column, limit in (("v256", 1.5), ("v4096", 2.0), ("v65536", 4.0)):
        yield (
            f"1,000 replicates of a mean, {n} rows, {int(BOUNDS[column][1]) + 1:,} values",
            "DuckDB's avg and stddev",
            asked(f"SELECT {about.format(column)} {source}"),
            released(survey, mean(column, step=1), estimator="bootstrap", n_resamples=1000),
            limit,
        )
    for column, levels, limit in (("many", 4096, 3.0), ("lots", 100_000, 3.0)):
        yield (
            f"mean by {levels:,} groups of 10⁶ rows",
            "DuckDB's GROUP BY",
            asked(f"SELECT {column}, {about.format('x')}, count(x) FROM '{many}' GROUP BY {column}"),
            released(groups, mean("x"), by={column: list(range(levels))}),
            limit,
        )
    yield (
        "mean of 10⁷ rows of CSV",
        "DuckDB's avg",
        asked(f"SELECT avg(x) FROM '{text}'"),
        released(hg.open(text, relation="replace-one"), mean("x")),
        2.0,
    )


def in_memory() -> Iterator[Work]:
    """Yield a mean of an array over OpenDP's, which has no error bar."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    values = np.random.default_rng(1).integers(0, 256, 10**6).astype(np.float64)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(values)), dp.symmetric_distance()
    theirs = space >> dp.t.then_clamp((0.0, 255.0)) >> dp.t.then_mean() >> dp.m.then_laplace(255.0 / len(values))
    survey = hg.open(pyarrow.table({"x": values}), relation="replace-one")

    def ours() -> None:
        complete(survey.release(hg.mean("x", bounds=(0, 255), step=1), **price()))

    yield "mean of 10⁶ numbers in memory", "OpenDP's, no error bar", lambda: theirs(values), ours, 1.5


def prices() -> Iterator[Work]:
    """Yield the price of k resamples under add-remove over dp_accounting's builder of the same pair."""
    from dp_accounting.pld import privacy_loss_distribution
    from scipy.stats import poisson

    from hedgerow.accounting.resampled import Pair, PairKind, release_curve

    draws, chances = list(range(21)), poisson.pmf(range(21), 1.0)

    def theirs(k: int) -> float:
        one = privacy_loss_distribution.from_mixture_gaussian_mechanism(
            k**0.5, draws, (chances / chances.sum()).tolist(), value_discretization_interval=1e-4, use_connect_dots=True
        )
        return float(one.self_compose(k).get_epsilon_for_delta(1e-6))

    def ours(k: int) -> float:
        # No two are equal, so that nothing of an earlier price is used again.
        noise = (k * (1.0 + 1e-9 * next(EPSILONS))) ** 0.5
        return release_curve([Pair(PairKind.ONE_SIDED, noise, 1.0)], n_resamples=k).epsilon_upper(1e-6)

    for k in (10, 50, 1000):
        yield f"price of {k:,} resamples", "dp_accounting's", partial(theirs, k), partial(ours, k), 0.01


def write(lines: list[tuple[str, str, float, float, float]]) -> None:
    """Write the table into the page, and beside it the CSV and the picture."""
    with PAGE.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("work", "over", "theirs_s", "ours_s", "asked"), *lines])
    table = "| work | over | theirs, s | ours, s | ratio | aim |\n|---|---|---|---|---|---|\n" + "".join(
        f"| {work} | {over} | {floor:.3g} | {spent:.3g} | {spent / floor:.2g} | {limit:g} |\n"
        for work, over, floor, spent, limit in lines
    )
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    PAGE.write_text(f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")
    draw(lines)


def draw(lines: list[tuple[str, str, float, float, float]]) -> None:
    """Draw every ratio, and what was aimed at."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 0.6 + 0.32 * len(lines)), layout="constrained")
    axes, places = figure.add_subplot(), range(len(lines), 0, -1)
    axes.hlines(places, 1.0, [spent / floor for _, _, floor, spent, _ in lines], color="0.75")
    axes.plot([spent / floor for _, _, floor, spent, _ in lines], places, "o", color="#1f5f8b", label="measured")
    axes.plot([limit for *_, limit in lines], places, "|", color="#c2571a", markersize=12, label="aim")
    axes.set_yticks(places, [work for work, *_ in lines])
    axes.set_xscale("log")
    axes.axvline(1.0, color="0.5", linewidth=0.8)
    axes.set_xlabel("CPU time, hedgerow over the other (log scale)")
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(PAGE.with_suffix(".svg"), metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of releases over what does the same without privacy.")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--big", type=Path, help="a Parquet file made before, of so many rows")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="work whose name has this word")
    parser.add_argument("--write", action="store_true", help="renew the page, its table and its picture")
    chosen = parser.parse_args()
    n = f"10{str(len(str(chosen.rows)) - 1).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        rows, many, text = (
            chosen.big or Path(folder, "rows.parquet"),
            Path(folder, "few.parquet"),
            Path(folder, "t.csv"),
        )
        if chosen.big is None:
            duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({chosen.rows}) r(i)) TO '{rows}'")
        duckdb.sql(f"COPY (SELECT {FEW} FROM range(1000000) r(i)) TO '{many}'")
        if chosen.only in "mean of 10⁷ rows of CSV":
            duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({min(chosen.rows, 10**7)}) r(i)) TO '{text}'")
        else:
            text.write_text("x\n1\n")
        for work, over, theirs, ours, limit in (*of_files(rows, many, text, n), *in_memory(), *prices()):
            if chosen.only in work:
                floor, spent = compared(theirs, ours, chosen.turns)
                lines.append((work, over, floor, spent, limit))
                print(f"{work:58} {over:26}{floor:10.4f}{spent:10.4f}{spent / floor:9.3g}{limit:8g}", flush=True)
    if chosen.write:
        write(lines)


if __name__ == "__main__":
    main()
