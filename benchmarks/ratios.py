"""How long hedgerow takes over what does the same without privacy, or without an error bar: ratios in one run.

Run ``make bench``, or ``python -m benchmarks.ratios [--rows 1000000] [--big FILE] [--only WORD]``: ten minutes or so
with 10⁸ rows, which take 2 GB of a temporary folder; a few minutes with 10⁶. Each line is the median of five or more
calls, theirs and ours in turn, in one process; what takes them over five seconds runs once. CPU seconds of all threads
are counted, since machines are shared; where another process does the work (Spark, PostgreSQL), seconds by the clock.
A release reads the data from the first byte on, prices itself and returns every estimate with its error and interval;
its ε differs from call to call, so that nothing of an earlier choice is used again.

The table and the picture of docs/project/benchmarks.md are written anew with ``--write``.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gc
import itertools
import os
import platform
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow

import hedgerow as hg

PAGE = Path(__file__).parent.parent / "docs" / "project" / "benchmarks.md"
MARKS = "<!-- the table begins -->\n", "<!-- the table ends -->\n"
MOST = 10**7  # rows of what is not asked of more
LONG = 5.0  # seconds of theirs that are not waited for again
COLUMNS = """(hash(i) % 100001)::DOUBLE AS x, (hash(i * 3) % 10)::BIGINT AS few, (hash(i * 7) % 256)::DOUBLE AS v256,
    (hash(i * 11) % 4096)::DOUBLE AS v4096, (hash(i * 13) % 65536)::DOUBLE AS v65536,
    CASE hash(i * 17) % 20 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE ELSE (hash(i * 7) % 256)::DOUBLE END AS gaps"""
FEW = """(hash(i) % 100001)::DOUBLE AS x, (hash(i * 5) % 4096)::BIGINT AS many, (hash(i * 7) % 100000)::BIGINT AS lots,
    'c' || (hash(i * 3) % 10) AS text"""
PERSONS = "i // 4 AS four, hash(i) % 250000 AS chance, (hash(i * 3) % 100001)::DOUBLE AS x"
FIVE = ("x", "few", "v256", "v4096", "v65536")
BOUNDS = {"x": (0, 100_000), "few": (0, 10), "v256": (0, 255), "v4096": (0, 4095), "v65536": (0, 65_535)}
BOUNDS |= {"gaps": (0, 255)}
EPSILONS = itertools.count()


@dataclass(frozen=True)
class Work:
    """What is compared: its name, what does the same, both calls, and the ratio that was asked for, None for none."""

    name: str
    over: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    asked: float | None
    clock: bool = False
    """Whether seconds by the clock are compared: another process does the work."""


@dataclass(frozen=True)
class Line:
    """What was found: both medians in seconds, or without theirs one number in its unit, and what was asked for."""

    name: str
    over: str
    theirs: float | None
    ours: float
    asked: float | None
    unit: str = "ratio"

    @property
    def found(self) -> float:
        """The ratio, or the number itself."""
        return self.ours if self.theirs is None else self.ours / self.theirs

    def told(self) -> tuple[str, str]:
        """Return what was found and what was asked for, in words."""
        if self.unit == "faster":
            return f"1/{1.0 / self.found:,.0f}", f"1/{1.0 / self.asked:,.0f}" if self.asked else "–"
        unit = "" if self.unit == "ratio" else f" {self.unit}"
        return f"{self.found:.2g}{unit}", "–" if self.asked is None else f"{self.asked:g}{unit}"


def price() -> dict[str, float]:
    """Return a budget that was not asked for before."""
    return {"epsilon": 1.0 + 1e-6 * next(EPSILONS), "delta": 1e-9}


def seconds(run: Callable[[], Any], *, clock: bool = False) -> float:
    """Return the CPU seconds of one call, or those of the clock."""
    gc.collect()
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    run()
    passed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    return passed if clock else after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compared(work: Work, turns: int) -> Line:
    """Return both medians, taken in turn after a call of each that is not counted; of very short calls the mean."""
    first, _ = seconds(work.theirs, clock=work.clock), seconds(work.ours, clock=work.clock)
    often = max(1, round(0.02 / max(first, 1e-6)))

    def repeated() -> None:
        for _ in range(often):
            work.theirs()

    theirs, ours = [], []
    for _ in range(turns):
        theirs.append(first if first > LONG else seconds(repeated, clock=work.clock) / often)
        ours.append(seconds(work.ours, clock=work.clock))
    unit = "faster" if work.asked is not None and work.asked < 1.0 else "ratio"
    return Line(work.name, work.over, statistics.median(theirs), statistics.median(ours), work.asked, unit)


def asked(query: str) -> Callable[[], Any]:
    """Return a question to DuckDB, whose rows are fetched."""
    return lambda: duckdb.sql(query).fetchall()


def complete(release: hg.Release) -> None:
    """Read every estimate, error and interval."""
    release.to_columns()


def power(rows: int) -> str:
    """Return a power of ten as it is printed."""
    raised = str(len(str(rows)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if set(str(rows)[1:]) <= {"0"} and str(rows)[0] == "1" else f"{rows:,}"


def mean(column: str, **step: float) -> Any:
    """Return the question for a mean of one of the columns."""
    return hg.mean(column, bounds=BOUNDS[column], **step)


def released(of: Any, *statistics: Any, **options: Any) -> Callable[[], None]:
    """Return a release of which everything is read."""
    return lambda: complete(of.release(list(statistics), **options, **price()))


ABOUT, SUMS = "avg({0}), stddev({0})", "count({0}), sum({0}), sum({0} * {0})"
OWN, OWN_SUMS = "DuckDB's avg and stddev", "DuckDB's count, sum and sum of squares"
PRESENT = "(SELECT CASE WHEN isnan(gaps) THEN NULL ELSE gaps END AS gaps FROM '{0}')"


def of_large_files(rows: Path, n: str) -> Iterator[Work]:
    """Yield the work on a large Parquet file over DuckDB's own aggregates."""
    survey, source = hg.open(rows, relation="replace-one"), f"FROM '{rows}'"
    means = [
        ("x", "100,001 values", 1.2, None),
        ("v256", "256 values", 1.0, 2.0),
        ("v65536", "65,536 values", 1.2, None),
    ]
    means += [("gaps", "256 values, 5 % NULL and 5 % NaN", 1.0, None)]
    for column, values, limit, of_sums in means:
        rows_of = f"FROM {PRESENT.format(rows)}" if column == "gaps" else source
        for other, asked_of, most in ((OWN, ABOUT, limit), (OWN_SUMS, SUMS, of_sums)):
            theirs = asked(f"SELECT {asked_of.format(column)} {rows_of}")
            yield Work(f"mean of {n} Parquet rows, {values}", other, theirs, released(survey, mean(column)), most)
    for shares in ((3,), (0, 1, 2, 3, 4)):
        theirs = asked(f"SELECT {', '.join(f'avg((few = {value})::INT)' for value in shares)} {source}")
        ours = released(survey, *(hg.proportion("few", value=value) for value in shares))
        name = "share" if len(shares) == 1 else f"{len(shares)} shares"
        yield Work(f"{name} of {n} Parquet rows", "DuckDB's avg", theirs, ours, 1.3)
    few = {"few": list(range(10))}
    for column, values in (("x", "100,001"), ("v256", "256")):
        grouped = asked(f"SELECT few, {ABOUT.format(column)}, count({column}) {source} GROUP BY few")
        ours = released(survey, mean(column), by=few)
        yield Work(f"mean by 10 groups of {n} rows, {values} values", "DuckDB's GROUP BY", grouped, ours, 2.0)
    theirs = asked(f"SELECT {ABOUT.format('x')} {source} WHERE v256 > 100")
    ours = released(survey, mean("x"), where="v256 > 100")
    yield Work(f"mean of a part of {n} rows", "DuckDB's WHERE", theirs, ours, 1.5)
    for column, limit in (("v256", 1.5), ("v4096", 1.5), ("v65536", 1.5)):
        theirs = asked(f"SELECT {ABOUT.format(column)} {source}")
        ours = released(survey, mean(column, step=1), estimator="bootstrap", n_resamples=1000)
        name = f"1,000 replicates of a mean, {n} rows, {int(BOUNDS[column][1]) + 1:,} values"
        yield Work(name, OWN, theirs, ours, limit)


def of_files(rows: Path, many: Path, text: Path, n: str) -> Iterator[Work]:
    """Yield the work on smaller files: many statistics, many groups, CSV."""
    survey, groups = hg.open(rows, relation="replace-one"), hg.open(many, relation="replace-one")
    every = ", ".join(ABOUT.format(column) for column in FIVE)
    ten = [one for column in FIVE for one in (mean(column), hg.sum(column, bounds=BOUNDS[column]))]
    own = asked(f"SELECT {every} FROM '{rows}'")
    yield Work(f"10 statistics of 5 columns, {n} rows", "DuckDB's one query", own, released(survey, *ten), 1.8)
    own = asked(f"SELECT covar_samp(x, v65536), avg(x), avg(v65536) FROM '{rows}'")
    pair = hg.covariance("x", "v65536", bounds={name: BOUNDS[name] for name in ("x", "v65536")})
    yield Work(f"covariance, {n} rows", "DuckDB's covar_samp and avg", own, released(survey, pair), 2.0)
    for column, levels, limit in (("many", 4096, 3.0), ("lots", 100_000, 6.0)):
        theirs = asked(f"SELECT {column}, {ABOUT.format('x')}, count(x) FROM '{many}' GROUP BY {column}")
        ours = released(groups, mean("x"), by={column: list(range(levels))})
        yield Work(f"mean by {levels:,} groups of 10⁶ rows", "DuckDB's GROUP BY", theirs, ours, limit)
    ours = released(hg.open(text, relation="replace-one"), mean("x"))
    yield Work(f"mean of {n} rows of CSV", "DuckDB's avg", asked(f"SELECT avg(x) FROM '{text}'"), ours, 1.5)


def of_persons(rows: Path) -> Iterator[Work]:
    """Yield a mean of 10⁶ rows of persons over DuckDB's totals by person: 4 rows each, or 4 on average, 3 of 8 more."""
    for name, column, limit in (("4 rows each", "four", 2.0), ("of whom three of eight have more", "chance", None)):
        totals = f"SELECT {column}, sum(x) AS t FROM '{rows}' GROUP BY {column}"
        survey = hg.open(rows, relation="add-remove", unit={"column": column, "max_rows": 4})
        ours = released(survey, mean("x"))
        theirs = asked(f"SELECT {ABOUT.format('t')} FROM ({totals})")
        yield Work(f"mean of persons, at most 4 rows, {name}", "DuckDB's GROUP BY person", theirs, ours, limit)


def in_memory() -> Iterator[Work]:
    """Yield a mean of an array over OpenDP's, which has no error bar: told its noise, and finding that itself."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    for n, name, limit in ((1000, "1,000", None), (10**6, "10⁶", 4.0)):
        values = np.random.default_rng(1).integers(0, 256, n).astype(np.float64)
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.symmetric_distance()

        def mean_of(scale: float, space: Any = space) -> Any:
            return space >> dp.t.then_clamp((0.0, 255.0)) >> dp.t.then_mean() >> dp.m.then_laplace(scale)

        def finding(values: Any = values, chain: Any = mean_of) -> Any:
            return dp.binary_search_chain(chain, d_in=2, d_out=1.0)(values)

        told = partial(mean_of(255.0 / n), values)
        survey = hg.open(pyarrow.table({"x": values}), relation="replace-one")
        ours = released(survey, hg.mean("x", bounds=(0, 255), step=1))
        work = f"mean of {name} numbers in memory"
        yield Work(work, "OpenDP's that finds its noise, no error bar", finding, ours, 0.7)
        yield Work(work, "OpenDP's that is told its noise, no error bar", told, ours, limit)


def circumstances() -> str:
    """Return when and on what the lines were measured."""
    today = datetime.datetime.now(datetime.UTC).date()
    load = os.getloadavg()[1]
    return (
        f"{today}, {os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}, DuckDB "
        f"{duckdb.__version__}; load {load:.1f} in the last five minutes"
    )


def write(lines: list[Line], said: list[str]) -> None:
    """Write the table into the page, and beside it the CSV and the picture."""
    rows = [(one.name, one.over, one.theirs, one.ours, one.found, one.asked, one.unit) for one in lines]
    with PAGE.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("work", "over", "theirs", "ours", "found", "asked", "unit"), *rows])
    table = "| work | over | theirs, s | ours, s | found | asked |\n|---|---|---|---|---|---|\n"
    for one in lines:
        times = (" – ", " – ") if one.theirs is None else (f"{one.theirs:.3g}", f"{one.ours:.3g}")
        found, asked = one.told()
        missed = one.asked is not None and one.found > one.asked
        table += (
            f"| {one.name} | {one.over} | {times[0]} | {times[1]} | {f'**{found}**' if missed else found} | {asked} |\n"
        )
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    notes = "".join(f"{one}\n\n" for one in said)
    PAGE.write_text(f"{before}{MARKS[0]}\n{notes}{table}\n{MARKS[1]}{rest.split(MARKS[1])[1]}", encoding="utf-8")
    draw([one for one in lines if one.unit == "ratio" and one.theirs is not None])


def draw(lines: list[Line]) -> None:
    """Draw every ratio and what was asked for, narrow enough for a telephone: each name stands above its line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    figure = Figure(figsize=(5.2, 1.1 + 0.42 * len(lines)), layout="constrained")
    axes, places = figure.add_subplot(), range(len(lines), 0, -1)
    found, asked = "#1f5f8b", "#c2571a"
    axes.hlines(places, 1.0, [one.found for one in lines], color="0.75", linewidth=2)
    axes.plot([one.found for one in lines], places, "o", color=found, label="measured")
    aimed = [(one.asked, place) for one, place in zip(lines, places, strict=True) if one.asked is not None]
    axes.plot(*zip(*aimed, strict=True), "|", color=asked, markersize=11, markeredgewidth=2.5, label="asked at most")
    least = min([0.7, *(0.85 * one.found for one in lines)])
    most = max(4.0, *(1.3 * one.found for one in lines))
    names = [one.name for one in lines]
    for one, place, above, below in zip(lines, places, [None, *names], [*names[1:], None], strict=False):
        over_line = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        name = one.name
        if name == above:
            name = f"the same, over {one.over}"
        elif name != below and names.count(name) > 1:
            # Where one work is compared with two others, their names: "OpenDP's, no error bar".
            name = f"{name}, over {one.over.split(',')[0]}"
        text = axes.text(least * 1.03, place + 0.22, name, fontsize=8.5, va="bottom", bbox=over_line)
        text.set_in_layout(False)  # a long name would make the axes narrow
    axes.set_xlim(least, most)
    axes.set_ylim(0.5, len(lines) + 0.9)
    axes.set_yticks([])
    axes.set_xscale("log")
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50) if least <= tick <= most]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.axvline(1.0, color="0.5", linewidth=0.8)
    axes.set_xlabel("time of hedgerow over the other's (log scale)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    # On white, also where the page is dark.
    figure.savefig(PAGE.with_suffix(".svg"), metadata={"Date": None}, facecolor="white")


def make_data(folder: Path, rows: int, big: Path | None) -> dict[str, Path]:
    """Write what is measured: the large file, one of at most ten million rows, one with many groups, one of CSV."""
    paths = {name: folder / f"{name}.parquet" for name in ("large", "rows", "many", "persons")}
    paths["text"] = folder / "t.csv"
    if shutil.disk_usage(folder).free < 60 * rows * (big is None) + 4 * 10**9:
        sys.exit(f"{folder} has too little room for {rows:,} rows: choose fewer with --rows, or another TMPDIR")
    for name, n in (("large", rows), ("rows", min(rows, MOST))):
        if name == "large" and big is not None:
            paths[name] = big
        else:
            duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({n}) r(i)) TO '{paths[name]}'")
    duckdb.sql(f"COPY (SELECT {FEW} FROM range(1000000) r(i)) TO '{paths['many']}'")
    duckdb.sql(f"COPY (SELECT {PERSONS} FROM range(1000000) r(i) ORDER BY hash(i * 7)) TO '{paths['persons']}'")
    duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({min(rows, MOST)}) r(i)) TO '{paths['text']}'")
    return paths


def works(chosen: argparse.Namespace, folder: Path, said: list[str]) -> Iterator[Work | Line]:
    """Yield all that is measured, one after the other; what cannot be is said."""
    from benchmarks import ratios_elsewhere as elsewhere

    n, fewer = power(chosen.rows), min(chosen.rows, MOST)
    paths = make_data(folder, chosen.rows, chosen.big)
    yield from of_large_files(paths["large"], n)
    yield from of_files(paths["rows"], paths["many"], paths["text"], power(fewer))
    yield from of_persons(paths["persons"])
    yield from in_memory()
    optional: dict[str, Callable[[], Iterator[Work | Line]]] = {
        "10⁶ cells with all margins": lambda: elsewhere.tables(chosen.turns),
        "record of 10⁶ counts as Parquet": lambda: elsewhere.records(folder),
        "hedgerow release of 1,000 rows": lambda: elsewhere.commands(paths["many"], folder, chosen.turns),
        "PostgreSQL": lambda: elsewhere.postgres(fewer, power(fewer)),
        "Spark": lambda: elsewhere.spark(paths["rows"], power(fewer), chosen.turns),
        "diffprivlib": lambda: elsewhere.diffprivlib(folder, chosen.turns),
    }
    for name, lines in optional.items():
        if chosen.only not in name:  # they take long before their first line
            continue
        try:
            yield from lines()
        except elsewhere.MissingError as missing:
            said.append(f"The measurements leave out {name}: {missing}.")
            print(said[-1], flush=True)
    yield from elsewhere.prices()


def show(line: Line) -> None:
    """Print one line."""
    theirs = "" if line.theirs is None else f"{line.theirs:.4f}"
    found, asked = line.told()
    print(f"{line.name:60} {line.over:28}{theirs:>10}{line.ours:10.4f}{found:>10}{asked:>10}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of releases over what does the same without privacy.")
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--big", type=Path, help="a Parquet file made before, of so many rows")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="work whose name or other side has this word")
    parser.add_argument("--write", action="store_true", help="renew the page, its table and its picture")
    chosen = parser.parse_args()
    lines: list[Line] = []
    said = [circumstances()]
    with tempfile.TemporaryDirectory() as folder:
        try:
            for work in works(chosen, Path(folder), said):
                if chosen.only in f"{work.name} {work.over}":
                    line = compared(work, chosen.turns) if isinstance(work, Work) else work
                    lines.append(line)
                    show(line)
        except KeyboardInterrupt:
            said.append("The run was interrupted: what is not in the table was not measured.")
    if chosen.write:
        said[0] = f"Measured on {said[0]} when it began; {os.getloadavg()[1]:.1f} when it ended."
        write(lines, said)


if __name__ == "__main__":
    # Not this module's own `main`: `ratios_elsewhere` imports the module by its name, and its lines are of that one.
    from benchmarks import ratios

    ratios.main()
