"""Ten means in one call and in ten calls: statements, scans and time, for a Parquet, DuckDB and CSV file and a frame.

Run ``python -m benchmarks.ten_means [--rows 1000000]``: about a minute. Trust the ratios, which are of one run, not the
seconds.

Statements and scans are those of DuckDB's own query log (`tests/unit/engines/ten_columns.py`). The records are counted
before the timed calls.

``floor`` is DuckDB's own average and standard deviation of the ten columns, in one statement.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
from tests.unit.engines.ten_columns import COLUMNS, means, query_log, sources

import hedgerow as hg


def _calls(survey: hg.Survey) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return one call and ten calls of the same means at the same price; n is counted before."""
    survey.plan(means(), epsilon=1.0)
    return (
        lambda: survey.release(means(), epsilon=1.0),
        lambda: [survey.release(mean, epsilon=0.1) for mean in means()],
    )


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        made = sources(Path(name), asked.rows)
        floor = ", ".join(f"avg({column}), stddev({column})" for column in COLUMNS)
        with duckdb.connect(str(made["duckdb"]), read_only=True) as connection:
            least = _seconds(lambda: connection.sql(f"SELECT {floor} FROM people").fetchall())
        print(f"{asked.rows:,} rows; floor {least:.2f} s")
        print("source      statements   scans  of ten calls  one call  ten calls   ratio")
        for kind, source in made.items():
            survey = hg.open(source, relation="replace-one")
            one, ten = _calls(survey)
            with query_log() as log:
                one()
            with query_log() as logs:
                ten()
            seconds = _seconds(one), _seconds(ten)
            counted = ("–", "–", "–") if kind == "pyarrow" else (len(log.statements), sum(log.scans), sum(logs.scans))
            shown = f"{counted[0]:>12}{counted[1]:>8}{counted[2]:>14}"
            print(f"{kind:10}{shown}{seconds[0]:9.2f}s{seconds[1]:10.2f}s{seconds[1] / seconds[0]:8.1f}", flush=True)


if __name__ == "__main__":
    main()
