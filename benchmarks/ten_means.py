"""Ten means in one call and in ten calls: statements, scans and time, for a Parquet, DuckDB and CSV file and a frame.

Run ``python benchmarks/ten_means.py [--rows 1000000]``: about a minute. Trust the ratios, which are of one run, not the
seconds.

Statements and scans are those of DuckDB's own query log: a statement that reads records is explained, and the leaves of
its plan that read a table or a file are counted. A CSV file is scanned once as it is loaded, and its cells once more in
memory; a frame has no log. Counting the records, which are public under replace-one, is a statement of its own and
reads no value of a Parquet or DuckDB file; it is asked before the timed calls.

``floor`` is DuckDB's own average and standard deviation of the ten columns, in one statement.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

import hedgerow as hg
from hedgerow.engines import files

COLUMNS = tuple(f"x{place}" for place in range(10))
BOUNDS = (0.0, 100.0)


@dataclass
class QueryLog:
    """The statements of DuckDB that read records, in order, each with how often it scans a file or a table."""

    statements: list[str] = field(default_factory=list)
    scans: list[int] = field(default_factory=list)


class _Logged:
    """A connection that hands its log over when it is closed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, log: QueryLog) -> None:
        self._connection, self._log = connection, log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def close(self) -> None:
        said = self._connection.execute("SELECT message FROM duckdb_logs WHERE type = 'QueryLog'").fetchall()
        for (statement,) in said:
            scans = self._scans(statement)
            if scans:
                self._log.statements.append(statement)
                self._log.scans.append(scans)
        self._connection.close()

    def _scans(self, statement: str) -> int:
        """Return how many leaves of a statement's plan read records; 0 of what is no question to them."""
        if not statement.startswith(("SELECT", "WITH", "CREATE")) or "?" in statement:
            return 0
        try:
            ((_, plan),) = self._connection.execute(f"EXPLAIN (FORMAT json) {statement}").fetchall()
        except duckdb.PermissionException:
            # A CSV file is read before the connection is locked, and cannot be asked about afterwards.
            return statement.count("read_csv(")
        return sum(map(_leaves, json.loads(plan)))


def _leaves(node: dict[str, Any]) -> int:
    """Return how many leaves below a node of a plan scan a file or a stored table."""
    children = node.get("children", [])
    scan = node["name"].strip() in ("SEQ_SCAN", "TABLE_SCAN", "PARQUET_SCAN", "READ_PARQUET", "READ_CSV")
    return sum(map(_leaves, children)) if children else int(scan)


@contextmanager
def query_log() -> Iterator[QueryLog]:
    """Yield the log of what hedgerow asks DuckDB about files meanwhile."""
    log, connected = QueryLog(), files._connected

    def logged(folder: str = "") -> _Logged:
        connection = connected(folder)
        connection.execute("CALL enable_logging('QueryLog')")
        return _Logged(connection, log)

    with mock.patch.object(files, "_connected", logged):
        yield log


def sources(folder: Path, rows: int) -> dict[str, Any]:
    """Return ten columns in every form."""
    rng = np.random.default_rng(20261122)
    table = pyarrow.table({name: rng.uniform(*BOUNDS, rows) for name in COLUMNS})
    pyarrow.parquet.write_table(table, folder / "people.parquet")
    pyarrow.csv.write_csv(table, folder / "people.csv")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("table_in_memory", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM table_in_memory")
    return {name: folder / f"people.{name}" for name in ("parquet", "duckdb", "csv")} | {"pyarrow": table}


def means() -> list[Any]:
    """Return the statistics asked for."""
    return [hg.mean(name, bounds=BOUNDS) for name in COLUMNS]


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
