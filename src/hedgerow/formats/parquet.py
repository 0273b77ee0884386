"""Parquet files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hedgerow.errors import DataError
from hedgerow.formats import quoted_text

SUFFIXES = (".parquet", ".pq")
SIGNATURE = (0, b"PAR1")
TABLES = False
_STOPPING = re.compile(r"TimeType\(|TimestampType\(.*MILLIS=(?!<null>)")
_STOPPING_CONVERTED = ("TIMESTAMP_MILLIS", "TIME_MILLIS", "TIME_MICROS")  # as files of earlier versions name them


def attach(connection: Any, path: str | list[str]) -> None:
    """Let the connection see this one file, or all files of a folder."""
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, _listed(path)))}]")


def relation(connection: Any, path: str | list[str], table: str | None) -> Any:
    """Return the records of the file, or of all files, as a DuckDB relation; `table` is not used."""
    # Folders called year=2020 would otherwise become columns.
    return connection.read_parquet(path, hive_partitioning=False)


def partitioned(connection: Any, path: list[str], chosen: Sequence[str]) -> Any:
    """Return chosen columns, as SQL, of all files; the names of their folders are columns of texts.

    A text it stays, whatever stands in it: which folders there are may depend on one record.
    """
    listed = ", ".join(map(quoted_text, path))
    read = f"read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false)"
    return connection.sql(f"SELECT {', '.join(chosen)} FROM {read}", alias="records")


def names(connection: Any, path: str | list[str]) -> list[str]:
    """Return the names of the columns, without the fields inside nested columns (HG205 where files differ)."""
    return [name for name, _ in _columns(connection, path)]


def unread(connection: Any, path: str | list[str]) -> list[str]:
    """Return the columns with timestamps in milliseconds, or times of a day, by the schema: one value may stop DuckDB.

    DuckDB makes microseconds of timestamps while it reads, which 64 bits do not hold beyond the year 294,247, and takes
    no time beyond a day. So one record would decide whether a release fails after its price was spent.
    """
    return [name for name, stops in _columns(connection, path) if stops]


def _columns(connection: Any, path: str | list[str]) -> list[tuple[str, bool]]:
    """Return the name of each column, and whether one value of it may stop DuckDB (HG205 where files differ).

    The schema of a Parquet file lists all fields of a tree in depth-first order, beginning with the root.
    """
    asked = "SELECT name, num_children, type, logical_type, converted_type FROM parquet_schema(?)"
    first, *others = (connection.execute(asked, [part]).fetchall()[1:] for part in _listed(path))
    if any(fields != first for fields in others):
        raise DataError(
            "HG205",
            rule="All Parquet files of a folder must have the same columns, of the same types, in the same order.",
            finding="The schemas of the Parquet files in the folder differ.",
            remedy="Write all files again with one program.",
        )
    roots: list[tuple[str, bool]] = []
    pending = 0
    for name, children, _, logical, converted in first:
        if not pending:
            roots.append((name, False))
            pending = 1
        if converted in _STOPPING_CONVERTED or _STOPPING.match(logical or ""):
            roots[-1] = roots[-1][0], True
        pending += (children or 0) - 1
    return roots


def few_values(path: str | list[str], columns: Sequence[str], most: int) -> str:
    """Return the condition in SQL that a few columns have few combinations of values, by the footers of the files.

    The condition holds where each column is kept in dictionaries, and the largest dictionaries of the columns allow at
    most so many combinations. Parts of a file whose smallest and largest values are equal are taken to have the same
    values: sorted values are others in each part, and so are many. DuckDB writes how many values a part has; for other
    writers, an entry of a packed dictionary is taken for four bytes. A wrong guess costs time, and changes no count.
    """
    named, listed = (", ".join(map(quoted_text, texts)) for texts in (columns, _listed(path)))
    return f"""
WITH parts AS (
  SELECT path_in_schema AS name, stats_min_value AS low, stats_max_value AS high, num_values AS records,
    CASE WHEN dictionary_page_offset IS NULL THEN num_values
      ELSE coalesce(stats_distinct_count, (data_page_offset - dictionary_page_offset) // 4) END AS entries
  FROM parquet_metadata([{listed}]) WHERE path_in_schema IN ({named})),
alike AS (SELECT name, max(entries) AS entries, sum(records) AS records FROM parts GROUP BY name, low, high),
whole AS (SELECT name, max(entries) AS most, sum(entries) AS every, sum(records) AS records FROM alike GROUP BY name)
SELECT count(*) = {len(columns)} AND product(greatest(most, 1)) <= {most}
  AND bool_and(every <= {64 * most} AND every * 8 <= records) FROM whole"""


def _listed(path: str | list[str]) -> list[str]:
    return [path] if isinstance(path, str) else path
