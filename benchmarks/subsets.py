"""What `where` and bands cost: hedgerow's own scan against DuckDB's query with the same filter, on 10⁷ rows.

    python benchmarks/subsets.py [ROWS] [REPEATS]

Median CPU seconds of one run, in which the questions take turns, so that other programs do not decide. "DuckDB" is a
query written by hand, which filters, or groups, and adds up the same integers of the same clamped values. "ratio" is
hedgerow's question over it; "added" is what the filter or the bands add to hedgerow's question without them, over it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb

import hedgerow as hg
from hedgerow.engines.query import SumsQuery, ValueOnGrid
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Category, Grid, Selection

WHERE = "age >= 25 and region in ['North', 'East']"
AGE = Grid.from_bounds("age", (0, 100), 1)
INCOME = Grid.from_bounds("income", (0, 200_000), 100)
VALUES = (ValueOnGrid("age", AGE), ValueOnGrid("income", INCOME))
MONOMIALS = (((0, 1),), ((1, 1),), ((0, 2),), ((1, 2),), ((0, 1), (1, 1)))
# The same integers, of the same clamped values, as one would write them by hand.
SUMS = """WITH placed AS (
    SELECT *, floor((least(greatest(age, 0), 100) - 0) / 1 + 0.5)::BIGINT AS a,
        floor((least(greatest(income, 0), 200000) - 0) / 100 + 0.5)::BIGINT AS b
    FROM '{path}' {filter})
SELECT {group} count(*), sum(a), sum(b), sum(a * a), sum(b * b), sum(a * b) FROM placed {grouped}"""
BAND = "CASE WHEN age < 25 THEN 0 WHEN age < 45 THEN 1 WHEN age < 65 THEN 2 ELSE 3 END"


def written(rows: int, folder: Path) -> Path:
    path = folder / "people.parquet"
    duckdb.sql(f"""COPY (SELECT floor(random() * 100)::DOUBLE AS age, random() * 250000 AS income,
        ['North', 'East', 'South', 'West'][1 + (random() * 4)::INT % 4] AS region FROM range({rows}))
        TO '{path}' (FORMAT parquet)""")
    return path


def cpu_seconds(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.process_time()
            run()
            taken[name].append(time.process_time() - start)
    return {name: median(each) for name, each in taken.items()}


def main(rows: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(rows, Path(folder))
        source = open_source(path)
        bands = Category.declared("age", hg.bands(0, 25, 45, 65, 100))
        needed = frozenset({0, 1})

        def ours(*by: Category) -> Callable[[], object]:
            return lambda: source.sums(SumsQuery(VALUES, MONOMIALS, by, needed))

        def theirs(condition: str, group: str) -> Callable[[], object]:
            filtered = f"WHERE {condition}" if condition else ""
            grouped = "GROUP BY 1" if group else ""
            query = SUMS.format(path=path, filter=filtered, group=f"{group}," if group else "", grouped=grouped)
            return lambda: duckdb.sql(query).fetchall()

        filtered = "age >= 25 AND region IN ('North', 'East')"
        asked = {
            "all records": (ours(), theirs("", "")),
            "where": (ours(Selection.of(WHERE)), theirs(filtered, "")),
            "bands": (ours(bands), theirs("age BETWEEN 0 AND 100", BAND)),
            "bands and where": (ours(bands, Selection.of(WHERE)), theirs(filtered, BAND)),
        }
        runs = {f"{name}, {who}": run for name, pair in asked.items() for who, run in zip("ht", pair, strict=True)}
        found = cpu_seconds(runs, repeats)
    print(f"{rows:,} rows, count, sums and products of two columns; CPU seconds")
    print("question          hedgerow   DuckDB    ratio   added")
    for name in asked:
        mine, duck = found[f"{name}, h"], found[f"{name}, t"]
        added = (mine - found["all records, h"]) / duck
        print(f"{name:16} {mine:9.2f} {duck:8.2f} {mine / duck:8.2f} {added:7.2f}")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
