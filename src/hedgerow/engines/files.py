"""The only door to DuckDB: files become relations, shut in before the first value is read.

A connection sees one file and no network, keeps everything in memory and cannot be reconfigured. Names of columns and
tables are looked up, then quoted; no text of a request becomes SQL.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.engines import frames
from hedgerow.engines.encoding import plain_csv
from hedgerow.engines.header import Header, read_header
from hedgerow.engines.paths import SourceFile, source_file
from hedgerow.engines.query import Query
from hedgerow.engines.reading import withheld
from hedgerow.engines.schema import BLANKS, check_names, check_present, check_query
from hedgerow.errors import DataError
from hedgerow.resampling.histogram import Histogram

if TYPE_CHECKING:
    import duckdb

# A line of more bytes than this counts as a record in which everything is missing.
MAX_LINE = 32 * 2**20
# No copy of the data on a disk, and no network.
_IN_MEMORY: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
}
_LOCKED: dict[str, Any] = {"enable_external_access": False, "lock_configuration": True}

# One thread reads: the parallel reader cannot fill up short lines where a cell holds a line break.
_DIALECT = (
    "auto_detect = false, header = false, skip = 1, quote = '\"', escape = '\"', nullstr = '', comment = '', "
    "compression = 'none', hive_partitioning = false, parallel = false, null_padding = true, strict_mode = false, "
    "store_rejects = true, rejects_limit = 0"
)


def open_file(source: str | os.PathLike[str], *, table: str | None = None) -> CsvSource | TableSource:
    """Open a CSV, Parquet or DuckDB file by its path.

    Raises
    ------
    DataError
        HG201, HG202, HG206 the path (see `source_file`); HG205 names; HG207 the file is damaged or in use; HG209 the
        table of a DuckDB file.
    """
    file = source_file(source)
    if table is not None and file.format != "duckdb":
        raise DataError(
            "HG209", rule="Only a DuckDB file has tables.", finding=f"{file.name!r} is none.", remedy="Omit `table`."
        )
    if file.format == "csv":
        header = read_header(file)
        return CsvSource(file.name, dict.fromkeys(header.names, "text-cell"), file, header)
    return TableSource.opened(file, table)


@dataclass(frozen=True, slots=True)
class TableSource:
    """A Parquet file, or a table of a DuckDB file: each question opens it anew, and closes it.

    So it may be asked in several threads, and after a fork; and no lock is kept on a file that another program writes.
    """

    name: str
    columns: dict[str, str]
    file: SourceFile
    table: str | None = None

    @classmethod
    def opened(cls, file: SourceFile, table: str | None) -> TableSource:
        """Return the source, its names and types read (HG205, HG207, HG209)."""

        def columns() -> dict[str, str]:
            with _relation(file, table) as relation:
                frame = frames.lazy_frame(relation)
                return {} if frame is None else frames.columns_of(frame)

        return cls(file.name, withheld(columns), file, table)

    def check(self, query: Query) -> None:
        """Refuse, before any value is read, a question that it cannot answer (HG111, HG203, HG204, HG207, HG211)."""
        self.file.still_there()
        check_query(query, self.columns)

    def histogram(self, query: Query, *, key: bytes | None = None) -> Histogram:
        """Return the counts by cell and grid index (after `check`; HG207 where reading fails); see `FrameSource`."""
        self.check(query)

        def counted() -> Histogram:
            with _relation(self.file, self.table) as relation:
                return frames.histogram(relation, query, self.columns, key=key)

        return withheld(counted)

    def count_rows(self) -> int:
        """Return the number of records."""
        return self.histogram(Query(None)).total()

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns as Python's values; see `hedgerow.engines.source.OrderedSource`."""
        self.file.still_there()
        check_present(columns, self.columns)

        def cells() -> list[Any]:
            with _relation(self.file, self.table) as relation:
                return _columns(relation.project(", ".join(_name(column) for column in columns)), len(columns))

        return withheld(cells)


def _columns(relation: duckdb.DuckDBPyRelation, count: int) -> list[Any]:
    rows = relation.fetchall()
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]


@contextmanager
def _relation(file: SourceFile, table: str | None) -> Iterator[duckdb.DuckDBPyRelation]:
    """Yield the records of a Parquet or DuckDB file; in DuckDB 1.4 a relation dies with its connection."""
    with closing(_connected()) as connection:
        yield _parquet(connection, file) if file.format == "parquet" else _table(connection, file, table)


def _connected() -> duckdb.DuckDBPyConnection:
    """Return a connection that shows no progress: how far it is depends on the data, and it goes to standard output."""
    import duckdb

    connection = duckdb.connect(":memory:", config=_IN_MEMORY)
    connection.execute("SET enable_progress_bar = false")
    return connection


def _parquet(connection: duckdb.DuckDBPyConnection, file: SourceFile) -> duckdb.DuckDBPyRelation:
    connection.execute(f"SET allowed_paths = [{_text(file.path)}]")
    _lock(connection)
    described = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [file.path]).fetchall()
    check_names(names := _top_level(described))
    # DuckDB tells names apart without regard to case, and would rename the second: a request could mean either.
    folded = Counter(name.lower() for name in names)
    if twins := [name for name in names if folded[name.lower()] > 1]:
        raise DataError(
            "HG205",
            rule="Each column of a source has a name of its own.",
            finding=f"{twins[0]!r} and {twins[1]!r} differ in case alone.",
            remedy="Rename one of the two.",
        )
    # Folders called year=2020 would otherwise become columns.
    return connection.read_parquet(file.path, hive_partitioning=False)


def _top_level(described: list[tuple[str, int | None]]) -> list[str]:
    """Return the names of the columns from a schema that lists a tree depth first, its root first."""
    names, pending = [], 0
    for name, children in described[1:]:
        if not pending:
            names.append(name)
            pending = 1
        pending += (children or 0) - 1
    return names


def _table(connection: duckdb.DuckDBPyConnection, file: SourceFile, table: str | None) -> duckdb.DuckDBPyRelation:
    # Under the name that DuckDB gives it by itself, which its views may use, unless that is one of DuckDB's own.
    stem = Path(file.path).name.partition(".")[0]
    database = _name("source" if stem.lower() in ("", "memory", "system", "temp") else stem)
    connection.execute(f"ATTACH {_text(file.path)} AS {database} (READ_ONLY, TYPE duckdb)")
    connection.execute(f"USE {database}")
    _lock(connection)
    schema, name = _the_table(connection, table)
    return connection.sql(f"SELECT * FROM {database}.{_name(schema)}.{_name(name)}")


def _the_table(connection: duckdb.DuckDBPyConnection, table: str | None) -> tuple[str, str]:
    """Return (schema, name) of the table asked for, or of the only one (HG209)."""
    found = connection.execute(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables "
        "WHERE table_catalog = current_database() ORDER BY ALL"
    ).fetchall()
    # A view may be asked for by name; only tables are candidates where none is.
    named = [
        (schema, name)
        for schema, name, kind in found
        if (kind == "BASE TABLE" if table is None else table in (name, f"{schema}.{name}"))
    ]
    if len(named) == 1:
        return named[0]
    known = ", ".join(f"{schema}.{name}" for schema, name, _ in found)
    raise DataError(
        "HG209",
        rule="One table of a DuckDB file is read.",
        finding="There are several." if named else "There is none." if table is None else f"{table!r} is not there.",
        remedy=f"Name one by `table=`: {known}." if known else "Create one.",
    )


@dataclass(frozen=True, slots=True)
class CsvSource:
    """A CSV file: every cell is text, read as a number where one is asked for, missing where it is none.

    The dialect is fixed: header always, quotation mark ``"``, doubled inside; the delimiter is that of the header.
    Empty text is missing, a short line is filled up with missing cells, the surplus of a long one is ignored. A cell
    that is no UTF-8 is no number and no declared category; a line longer than 32 MiB is a record without values. So the
    records are the same whichever columns a question needs: the lines, but for line ends inside quotation marks (and a
    mark that never closes takes in all that follows: a known hole). Only needed columns are kept, for one question.
    """

    name: str
    columns: dict[str, str]
    file: SourceFile
    header: Header
    _rows: list[int] = field(default_factory=list, repr=False, compare=False)

    def check(self, query: Query) -> None:
        """Refuse, from the header alone, a question that the file cannot answer (HG111, HG203; HG207 if it changed)."""
        # A release checks before it reserves: a file that was changed by then costs nothing.
        self.file.still_there()
        check_query(query, self.columns)

    def histogram(self, query: Query, *, key: bytes | None = None) -> Histogram:
        """Return the counts by cell and grid index (after `check`; HG207 where reading fails); see `FrameSource`."""
        self.check(query)
        return withheld(lambda: self._counted(query, key))

    def count_rows(self) -> int:
        """Return the number of records, known already where a histogram was asked for."""
        return self._rows[0] if self._rows else self.histogram(Query(None)).total()

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns as trimmed texts, None where empty; see `engines.source.OrderedSource`."""
        self.file.still_there()
        check_present(columns, self.columns)
        return withheld(lambda: self._cells(list(columns)))

    def _cells(self, columns: list[str]) -> list[Any]:
        connection = _loaded(self.file, self.header, list(dict.fromkeys(columns)))
        try:
            texts = ", ".join(f"NULLIF(trim({_cell(self.header, name)}, {_text(BLANKS)}), '')" for name in columns)
            return _columns(connection.sql(f"SELECT {texts} FROM cells ORDER BY rowid"), len(columns))
        finally:
            connection.close()

    def _counted(self, query: Query, key: bytes | None) -> Histogram:
        connection = _loaded(self.file, self.header, query.columns())
        try:
            relation = connection.sql(f"SELECT {', '.join(self._roles(query))} FROM cells")
            found = frames.count_relation(relation, query, self.columns, key=key)
        finally:
            connection.close()
        if query.unit is None:
            self._rows[:] = [found.total()]
        return found

    def _roles(self, query: Query) -> list[str]:
        """Return the columns that `frames.count` takes, in SQL: values as numbers, or texts that may be null."""
        text = {
            column: f"NULLIF(trim({_cell(self.header, column)}, {_text(BLANKS)}), '')" for column in query.columns()
        }
        roles = []
        for place, column in enumerate(query.value.columns if query.value is not None else ()):
            value = f"TRY_CAST({text[column]} AS DOUBLE)" if query.parts else text[column]
            roles.append(f"{value} AS {_name(frames.value_column(place))}")
        for place, category in enumerate(query.by):
            roles.append(f"{text[category.column]} AS {_name(frames.group_column(place))}")
        # Of a question about no column but the unit's, that column alone was kept.
        only = _cell(self.header, query.columns()[0]) if query.columns() else "c0"
        roles = roles or [f"{only} AS {_name(frames.value_column(0))}"]
        if query.unit is not None:
            # Text as it stands, but for blanks around it: "007" and "7" are two units.
            name = text[query.unit.column]
            roles += [f"{name} AS {_name(frames.UNIT)}", f"({name}) IS NOT NULL AS known"]
        return roles


def _loaded(file: SourceFile, header: Header, columns: list[str]) -> duckdb.DuckDBPyConnection:
    """Return a locked connection whose table ``cells`` holds the needed columns as text.

    The cast to numbers is made over this table, not over the file: there DuckDB 2.0's TRY_CAST may raise an error that
    quotes the cell (duckdb issue 23818).
    """
    needed = [_cell(header, column) for column in columns] or ["c0"]
    declared = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header.names)))
    connection = _connected()
    with plain_csv(file.path) as path:
        connection.execute(
            f"CREATE TEMP TABLE cells AS SELECT {', '.join(needed)} FROM read_csv({_text(path)}, "
            f"columns = {{{declared}}}, delim = {_text(header.delimiter)}, {_DIALECT}, "
            f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})"
        )
    connection.execute(
        f"INSERT INTO cells ({needed[0]}) SELECT NULL FROM range((SELECT count(DISTINCT line) FROM reject_errors))"
    )
    # The rejected lines themselves are kept there.
    connection.execute("DROP TABLE reject_errors")
    connection.execute("DROP TABLE reject_scans")
    _lock(connection)
    return connection


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    for setting, value in _LOCKED.items():
        connection.execute(f"SET {setting} = {str(value).lower()}")


def _cell(header: Header, column: str) -> str:
    return f"c{header.names.index(column)}"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
