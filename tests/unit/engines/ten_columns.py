"""Ten columns in every form, and the log of what DuckDB is asked about them.

A statement that reads records is explained, and the leaves of its plan that read a table or a file are counted. A CSV
file is scanned once as it is loaded, and its cells once more in memory; a frame has no log. Counting the records, which
are public under replace-one, is a statement of its own and reads no value of a Parquet or DuckDB file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    """Yield the log of what hedgerow asks DuckDB about files meanwhile, on connections that are opened meanwhile."""
    log, connected = QueryLog(), files._connected

    def logged(folder: str = "") -> _Logged:
        connection = connected(folder)
        connection.execute("CALL enable_logging('QueryLog')")
        return _Logged(connection, log)

    files.KEPT.close()
    with mock.patch.object(files, "_connected", logged):
        yield log
        files.KEPT.close()


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
