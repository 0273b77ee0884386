"""DuckDB files, of which one table or view is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.errors import DataError
from hedgerow.formats import quoted_name, quoted_text

SUFFIXES = (".duckdb", ".db")
SIGNATURE = (8, b"DUCK")
TABLES = True


def attach(connection: Any, path: str) -> None:
    """Let the connection see this one file, read only."""
    # Under the name that DuckDB gives it by itself, which its views may use, unless that is one of DuckDB's own.
    stem = Path(path).name.partition(".")[0]
    database = quoted_name("source" if stem.lower() in ("", "memory", "system", "temp") else stem)
    connection.execute(f"ATTACH {quoted_text(path)} AS {database} (READ_ONLY, TYPE duckdb)")
    connection.execute(f"USE {database}")


def relation(connection: Any, path: str, table: str | None) -> Any:
    """Return the records of the table asked for, or of the only one (HG209)."""
    tables = connection.execute(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables "
        "WHERE table_catalog = current_database() ORDER BY ALL"
    ).fetchall()
    # A view may be asked for by name; only tables are candidates where none is.
    named = [
        (schema, name)
        for schema, name, kind in tables
        if (kind == "BASE TABLE" if table is None else table in (name, f"{schema}.{name}"))
    ]
    if len(named) == 1:
        ((database,),) = connection.execute("SELECT current_database()").fetchall()
        place = ".".join(map(quoted_name, (database, *named[0])))
        return connection.sql(f"SELECT * FROM {place}", alias="records")
    known = ", ".join(f"{schema}.{name}" for schema, name, _ in tables)
    raise DataError(
        "HG209",
        rule="hedgerow reads one table of a DuckDB file.",
        finding="There are several." if named else "There is none." if table is None else f"{table!r} is not there.",
        remedy=f"Name one by `table=`: {known}." if known else "Create one.",
    )


def names(connection: Any, path: str) -> None:
    """Return None: a database has the names that its relations have."""
