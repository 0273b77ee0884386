"""Arrow tables as a database holds them: in a SQLite file, a table of PostgreSQL, an Ibis table or one of Parquet."""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.contracts.postgres_server import Postgres

from hedgerow.engines.source import Source, open_source

IN_DATABASES = [
    pytest.param(name, marks=pytest.mark.databases) for name in ("sqlite file", "ibis", "ibis parquet", "postgres")
]
"""As parameters of a fixture: they leave `make test` to `make test-databases`."""

# A column that compares texts without regard to case must not do so here.
_SQLITE = {pa.float64(): "REAL", pa.string(): "TEXT COLLATE NOCASE", pa.bool_(): "BOOLEAN", pa.date32(): "DATE"}
_SQLITE[pa.timestamp("us")] = "TIMESTAMP"
_POSTGRES = {pa.float64(): "double precision", pa.string(): "text", pa.bool_(): "boolean", pa.int32(): "integer"}
_POSTGRES |= {pa.date32(): "date", pa.timestamp("us"): "timestamp"}


def opened_in(name: str, table: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Source:
    """Return the source of a table that one of the databases holds."""
    if name == "ibis":
        import ibis

        return open_source(ibis.memtable(table))
    if name == "ibis parquet":  # its footer holds the smallest and the largest value, but for NaN
        import ibis

        path = folder / f"{len(list(folder.iterdir()))}.parquet"
        pq.write_table(table, path)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of an older function of DuckDB
            return open_source(ibis.duckdb.connect().read_parquet(path))
    if name == "postgres":
        server = request.getfixturevalue("postgres")
        into_postgres(table, server)
        return open_source(server.url, table="people")
    return open_source(as_sqlite(table, folder))


def as_sqlite(table: pa.Table, folder: Path) -> Path:
    """Write a SQLite file with the table people."""
    path = folder / f"{len(list(folder.iterdir()))}.sqlite"
    declared = ", ".join(f'"{field.name}" {_SQLITE.get(field.type, "INTEGER")}' for field in table.schema)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE people ({declared})")
        marks = ", ".join("?" for _ in table.schema)
        connection.executemany(f"INSERT INTO people VALUES ({marks})", _rows(table))
    return path


def into_postgres(table: pa.Table, server: Postgres) -> None:
    """Make the table people anew."""
    import psycopg

    declared = ", ".join(f'"{field.name}" {_POSTGRES.get(field.type, "bigint")}' for field in table.schema)
    with psycopg.connect(server.url) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS people CASCADE")
        cursor.execute(f"CREATE TABLE people ({declared})")
        with cursor.copy("COPY people FROM STDIN") as copy:
            for row in _rows(table):
                copy.write_row(row)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
