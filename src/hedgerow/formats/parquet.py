"""Parquet files."""

from __future__ import annotations

from typing import Any

from hedgerow.formats import quoted_text

SUFFIXES = (".parquet", ".pq")
SIGNATURE = (0, b"PAR1")
TABLES = False


def attach(connection: Any, path: str) -> None:
    """Let the connection see this one file."""
    connection.execute(f"SET allowed_paths = [{quoted_text(path)}]")


def relation(connection: Any, path: str, table: str | None) -> Any:
    """Return the records of the file as a DuckDB relation; `table` is not used."""
    # Folders called year=2020 would otherwise become columns.
    return connection.read_parquet(path, hive_partitioning=False)


def names(connection: Any, path: str) -> list[str]:
    """Return the names of the columns, without the fields inside nested columns.

    The schema of a Parquet file lists all fields of a tree in depth-first order, beginning with the root.
    """
    described = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [path]).fetchall()
    found, pending = [], 0
    for name, children in described[1:]:
        if not pending:
            found.append(name)
            pending = 1
        pending += (children or 0) - 1
    return found
