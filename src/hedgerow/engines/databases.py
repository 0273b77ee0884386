"""Databases: PostgreSQL by URL and SQLite files, a release in one transaction. The only door to psycopg.

A connection may read and nothing else, sees one state of the database, and dies with the release. A password stays in
the source that was opened: no message, name, record or pickle holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hedgerow.engines import frames
from hedgerow.engines.dialects import few_values, ibis_tables
from hedgerow.engines.dialects.ibis_tables import Asked
from hedgerow.engines.exact_answers import FrameAnswers
from hedgerow.engines.query import ColumnQuery, Query, SumsQuery
from hedgerow.engines.reading import SourceFile, kinds_of_source, source_file, withheld
from hedgerow.engines.schema import check_names, check_query
from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.columns import Selection
from hedgerow.formats import is_ambiguous, public_name, scheme

# SQLite's own rules of affinity, in their order; DATE and BOOLEAN come first, as they would be numbers.
_KINDS = (
    ("TIME", "timestamp"),
    ("DATE", "date"),
    ("BOOL", "boolean"),
    ("INT", "int64"),
    ("CHAR|CLOB|TEXT", "string"),
    ("BLOB|^$", "binary"),
)
_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', '5s', false) WHERE current_setting('lock_timeout') = '0'"
# Compiling takes longer than it gives: each release opens a connection of its own, which would load the compiler again.
_NOT_COMPILED = "SELECT set_config('jit', 'off', false) WHERE current_setting('jit', true) IS NOT NULL"
# What a server says when it lets nobody in, what is told of it, and what to do.
_REFUSALS = (
    ("does not exist", "The database, or the user, does not exist.", "List the databases with `psql -l`."),
    (
        "no password supplied",
        "The server asks for a password, and none was given.",
        "Give it in PGPASSWORD or ~/.pgpass.",
    ),
    (
        "authentication|password|no pg_hba",
        "The server refused the user or the password.",
        "Check both with `psql`; %-escape signs such as @ in a URL, or give the password in PGPASSWORD or ~/.pgpass.",
    ),
    (
        "refused|No such file|timeout|timed out|resolve|Name or service",
        "No server answers there.",
        "Check the host and the port, 5432 unless the URL names another, and that the server runs.",
    ),
    ("", "No connection was made.", "Check the URL with `psql`."),
)


def open_database(url: str, *, table: str | None = None) -> DatabaseSource:
    """Open a table of a database by its URL; names and types are read, no value.

    Raises
    ------
    DataError
        HG202 a URL that cannot be read; HG207 no connection; HG209 which table. HG201 to HG207 for a SQLite file.
    ParameterError
        HG212: the extra ``hedgerow[databases]`` is not installed.
    """
    if scheme(url) == "sqlite":
        path = url.partition("://")[2]
        if not path.startswith("/"):
            raise DataError(
                "HG202",
                rule="The URL of a SQLite file has three slashes, then a path.",
                finding="The URL has fewer than three slashes.",
                remedy="Write sqlite3:///people.sqlite, or sqlite3:////home/ann/people.sqlite, or only the path.",
            )
        return open_sqlite(source_file(path[1:]), table)
    if is_ambiguous(url):
        raise DataError(
            "HG202",
            rule="In the URL of a database each of the signs ?, # and @ has one fixed meaning.",
            finding="The URL contains an @ after a ? or #.",
            remedy="In a name or password, write %40 for @, %3F for ? and %23 for #; or give the password in "
            "PGPASSWORD.",
        )
    return DatabaseSource.opened(public_name(url), _Postgres(url), table)


def open_sqlite(file: SourceFile, table: str | None) -> DatabaseSource:
    """Open a table of a SQLite file (HG207, HG212, HG209)."""
    if file.format != "sqlite":
        raise DataError(
            "HG202",
            rule=kinds_of_source(),
            finding=f"{file.name!r} is no SQLite file.",
            remedy="If the database is a file, give only the path of the file.",
        )
    return DatabaseSource.opened(file.name, _Sqlite(file), table)


@dataclass(frozen=True, slots=True)
class DatabaseSource(FrameAnswers):
    """A table of a database; `table` is that of a connection, from when a release begins until it has read."""

    name: str
    columns: dict[str, str]
    database: _Postgres | _Sqlite = field(repr=False)
    place: tuple[str | None, str]
    table: Any = field(default=None, repr=False, compare=False)
    rehearsed: dict[Any, Asked[Any]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def opened(cls, name: str, database: _Postgres | _Sqlite, table: str | None) -> DatabaseSource:
        """Return the source, the names and types of its columns read."""

        def found() -> DatabaseSource:
            with database.connected() as connection:
                place = _chosen(database.tables(connection), table)
                return cls(name, _columns(database.table(connection, place)), database, place)

        _check_installed(database.NEEDS)
        return withheld(found)

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered (HG111, HG203, HG204, HG207, HG211)."""
        if self.table is None:
            self.database.still_there()
        check_query(query, self.columns)

    @contextmanager
    def _opened(self) -> Iterator[DatabaseSource]:
        if self.table is not None:
            yield self
            return
        with self.database.connected() as connection:
            self.database.still_there()
            table = self.database.table(connection, self.place)
            # A column may have gone, or have another type, since the source was opened.
            yield replace(self, columns=_columns(table), table=table, rehearsed={})

    @contextmanager
    def _roles(self, query: Query | SumsQuery | ColumnQuery, *, reading: bool) -> Iterator[Callable[[], Any]]:
        with self._opened() as here:
            for statement in self._choice(query) if reading else ():
                self.database.choose(here.table.get_backend().con, statement)
            yield lambda: frames.roles_of(here.table, query, self.columns)

    def _choice(self, query: Query | SumsQuery | ColumnQuery) -> Sequence[str]:
        # A lone number is added up as fast as its values are grouped, whatever they are, and by one statement.
        by_selection = all(isinstance(group, Selection) for group in query.by)
        lone = isinstance(query, SumsQuery) and len(query.read) == 1 and by_selection
        columns = [] if lone else few_values.columns_to_group(query)
        return self.database.choice(self.place, columns) if columns else ()


def _chosen(tables: list[tuple[str | None, str, bool]], table: str | None) -> tuple[str | None, str]:
    """Return (schema, name) of the table asked for, or of the only one (HG209); a view may be asked for by name."""

    def called(schema: str | None, name: str) -> str:
        return name if schema is None else f"{schema}.{name}"

    named = [
        (schema, name)
        for schema, name, view in tables
        if (not view if table is None else table in (name, called(schema, name)))
    ]
    if len(named) == 1:
        return named[0]
    known = ", ".join(called(schema, name) for schema, name, _ in tables)
    raise DataError(
        "HG209",
        rule="hedgerow reads one table of a database.",
        finding="There are several." if named else "There is none." if table is None else f"{table!r} is not there.",
        remedy=f"Name one by `table=`: {known}." if known else "Create one.",
    )


def _columns(table: Any) -> dict[str, str]:
    frame = frames.lazy_frame(table)
    if frame is None:
        raise AssertionError("narwhals reads Ibis tables")
    return frames.columns_of(frame)


def _check_installed(needed: str) -> None:
    try:
        __import__(needed)
        __import__("ibis")
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise ParameterError(
            "HG212",
            rule="Databases are read with Ibis, and PostgreSQL with psycopg.",
            finding="Ibis or psycopg is not installed.",
            remedy='Run: pip install "hedgerow[databases]"',
        )


class _Postgres:
    """A PostgreSQL database. The URL may hold a password, so it is printed nowhere, and not pickled."""

    NEEDS = "psycopg"
    __slots__ = ("_url",)

    def __init__(self, url: str) -> None:
        self._url = url

    def __reduce__(self) -> Any:
        raise ParameterError(
            "HG210",
            rule="A source in a database is not pickled: its URL may hold a password.",
            finding="A source in a database was pickled.",
            remedy="Open the database in each process.",
        )

    def still_there(self) -> None:
        """Do nothing: a table is looked for when it is read."""

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Yield a connection that reads one state of the database and cannot write (HG207)."""
        import psycopg

        refused = remedy = ""
        connection: Any = None
        try:
            connection = psycopg.connect(self._url)
        except Exception as failure:  # its message quotes the URL's parts, so that none of it is kept
            words = str(failure)
            refused, remedy = next((finding, mend) for sign, finding, mend in _REFUSALS if re.search(sign, words))
        if connection is None:
            raise DataError(
                "HG207",
                rule="The database must accept the connection.",
                finding=f"{refused} The driver's own message is withheld, as it may quote the URL.",
                remedy=remedy,
            ) from None
        with closing(connection):
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            # The transaction begins here, for all that follows. A server waits for a lock without end by default.
            connection.execute(_LOCK_TIMEOUT)
            connection.execute(_NOT_COMPILED)
            yield connection

    def tables(self, connection: Any) -> list[tuple[str | None, str, bool]]:
        """Return (schema, name, whether it is a view) of each table that may be seen."""
        return connection.execute(  # type: ignore[no-any-return]  # as the statement says
            "SELECT table_schema, table_name, table_type = 'VIEW' FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        ).fetchall()

    def table(self, connection: Any, place: tuple[str | None, str]) -> Any:
        """Return a table as Ibis has it."""
        return ibis_tables.table_of(connection, "postgres", place[1], place[0], {})

    def choice(self, place: tuple[str | None, str], columns: Sequence[str]) -> Sequence[str]:
        """Return the statement that chooses between the two ways of `few_values`."""
        return (few_values.statement_for_postgres(str(place[0]), place[1], columns),)

    def choose(self, connection: Any, statement: str) -> None:
        """Send it; where it fails, as a user may not look there, the way of many values is chosen."""
        import psycopg

        with suppress(psycopg.Error), connection.transaction():
            connection.execute(statement)


@dataclass(frozen=True, slots=True)
class _Sqlite:
    """A SQLite file."""

    file: SourceFile
    NEEDS = "sqlite3"

    def still_there(self) -> None:
        """Check that the file is the one that was opened (HG207)."""
        self.file.still_there()

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Yield a connection that reads this file and cannot write."""
        import sqlite3

        with closing(sqlite3.connect(f"{Path(self.file.path).as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            # The first read takes the shared lock, and the state that all others see.
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            yield connection

    def tables(self, connection: Any) -> list[tuple[str | None, str, bool]]:
        """Return (None, name, whether it is a view) of each table."""
        rows = connection.execute(
            "SELECT name, type = 'view' FROM sqlite_schema WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
        )
        return [(None, name, bool(view)) for name, view in rows]

    def choice(self, place: tuple[str | None, str], columns: Sequence[str]) -> Sequence[str]:
        """Return nothing: one worker groups raw values no faster than it puts them on a grid."""
        return ()

    def choose(self, connection: Any, statement: str) -> None:
        """Send nothing."""

    def table(self, connection: Any, place: tuple[str | None, str]) -> Any:
        """Return a table as Ibis has it, with the types that its columns are declared with, and no others."""
        fields = connection.execute("SELECT name, type FROM pragma_table_info(?)", (place[1],)).fetchall()
        check_names([name for name, _ in fields])
        columns = {name: _declared(kind) for name, kind in fields}
        return ibis_tables.table_of(connection, "sqlite", place[1], None, columns)


def _declared(kind: str) -> str:
    """Return Ibis' name of a type that a column of SQLite is declared with.

    >>> [_declared(kind) for kind in ("VARCHAR(20)", "bigint", "DECIMAL(8, 2)", "", "BOOLEAN", "TIMESTAMP")]
    ['string', 'int64', 'float64', 'binary', 'boolean', 'timestamp']
    """
    return next((name for sign, name in _KINDS if re.search(sign, kind.upper())), "float64")
