"""Files, read through DuckDB: a connection is locked before the first value is read. The only door to DuckDB.

A connection sees one file, or one URL, and nothing else, and cannot be reconfigured. It keeps everything in memory;
what takes more than four fifths of it goes to a folder that only we may read. Names of columns and tables are looked
up, then quoted; no text of a request becomes SQL.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hedgerow.engines import frames
from hedgerow.engines.csv_header import CsvHeader, read_header
from hedgerow.engines.databases import DatabaseSource, open_sqlite
from hedgerow.engines.dialects import few_values
from hedgerow.engines.dialects.computed import columns_of_dates
from hedgerow.engines.dialects.ibis_tables import Asked
from hedgerow.engines.exact_answers import FrameAnswers
from hedgerow.engines.incoming.arrivals import plain_csv
from hedgerow.engines.kept_open import KeptOpen
from hedgerow.engines.query import ColumnQuery, Query, SumsQuery
from hedgerow.engines.reading import SourceFile, arrived, not_installed, unreadable, withheld
from hedgerow.engines.schema import (
    ROW_NAMES_LEFT_OUT,
    check_names,
    check_present,
    check_query,
    check_read,
    check_types_of_facts,
    check_types_of_file,
    without_row_names,
)
from hedgerow.errors import DataError
from hedgerow.formats import formats, parquet, quoted_name, quoted_text
from hedgerow.resampling.counted_values import ValueCounts

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from hedgerow.engines.dialects.computed import Read


_MOMENT = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.]\d+)?)?Z?)?"
# A line of more bytes than this counts as a record in which everything is missing.
MAX_LINE = 32 * 2**20
# No network; no parts of a file are kept in memory between two questions; DuckDB's own limit of memory stands.
_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_file_cache": False,
}
_LOCKED: dict[str, Any] = {"enable_external_access": False, "lock_configuration": True}

# The parallel reader cannot fill up short lines where a cell may hold a line break: there one thread reads.
_DIALECT = (
    "auto_detect = false, header = false, skip = 1, quote = '\"', escape = '\"', nullstr = '', comment = '', "
    "compression = 'none', hive_partitioning = false, parallel = getvariable('in_parallel'), null_padding = true, "
    "strict_mode = false, "
    "store_rejects = true, rejects_limit = 0"
)


def open_file(
    source: str | os.PathLike[str], *, table: str | None = None, types: Mapping[str, str] | None = None
) -> CsvSource | TableSource | DatabaseSource:
    """Open a file of one of `hedgerow.formats` by its path; `types` are those that count where the file has none.

    Raises
    ------
    DataError
        HG201, HG202, HG206 the path (see `source_file`); HG205 names; HG207 the file is damaged or in use; HG209 the
        table of a database.
    """
    file = arrived(source, table)
    if file.format == "sqlite":
        return open_sqlite(file, table)
    if table is not None and not formats()[file.format].TABLES and not file.name.lower().endswith(".xlsx"):
        raise DataError(
            "HG209",
            rule="`table` names a table of a database or a sheet of a workbook.",
            finding=f"{file.name!r} has none.",
            remedy="Omit `table`.",
        )
    if file.format == "csv":
        header = read_header(file)
        columns = dict.fromkeys(without_row_names(header.names), "text-cell")
        return CsvSource(file.name, columns, file, header, types or {})
    return TableSource.opened(file, table)


@dataclass(frozen=True, slots=True)
class TableSource(FrameAnswers):
    """A file that DuckDB reads as a table, such as Parquet: each release opens it anew, and closes it.

    So no lock is kept on a file that another program writes. A connection to a Parquet file, which holds neither the
    file nor values, stays open for the next release (`kept_open`). A source may be asked in several threads, and after
    a fork.
    `relation` is that of the `connection`, from when a release begins until it has read.
    """

    name: str
    columns: dict[str, str]
    file: SourceFile
    table: str | None = None
    relation: Any = field(default=None, repr=False, compare=False)
    connection: Any = field(default=None, repr=False, compare=False)
    unread: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    remarks: tuple[str, ...] = field(default=(), repr=False, compare=False)
    rehearsed: dict[Any, Asked[Any]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def opened(cls, file: SourceFile, table: str | None) -> TableSource:
        """Return the source, its names and types read (HG205, HG207, HG209)."""

        def read() -> tuple[dict[str, str], bool]:
            with _relation(file, table) as opened:
                frame = frames.lazy_frame(opened.relation)
                columns = {} if frame is None else frames.columns_of(frame)
                return columns, len(columns) < len(opened.names)

        columns, left_out = withheld(read)
        return cls(file.name, columns, file, table, remarks=(ROW_NAMES_LEFT_OUT,) if left_out else ())

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that it cannot answer (HG111, HG203, HG204, HG207, HG211)."""
        self.file.still_there()
        check_query(query, self.columns)

    @contextmanager
    def _roles(self, query: Query | SumsQuery | ColumnQuery, *, reading: bool) -> Iterator[Callable[[], Any]]:
        with self._opened() as here:
            for statement in self._choice(query) if reading else ():
                _choose(here.connection, statement)
            yield lambda: frames.roles_of(here.relation, query, self.columns)

    def _choice(self, query: Query | SumsQuery | ColumnQuery) -> Sequence[str]:
        columns, known = few_values.columns_to_group(query), formats()[self.file.format]
        # Only a format whose files tell, beside the records, how many values a column has, has this function.
        condition = getattr(known, "few_values", None)
        if condition is None or not columns:
            return []
        return [few_values.statement_of(condition(_paths(self.file), columns, few_values.MOST_VALUES))]

    @contextmanager
    def _opened(self) -> Iterator[TableSource]:
        if self.relation is not None:
            yield self
            return
        with _relation(self.file, self.table) as opened:
            self.file.still_there()
            here = replace(self, relation=opened.relation, connection=opened.connection, unread=opened.unread)
            yield replace(here, rehearsed={})

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns as Python's values; see `hedgerow.engines.source.OrderedSource`."""
        self.file.still_there()
        check_present(columns, self.columns)

        def cells() -> list[Any]:
            with self._opened() as here:
                check_read(columns, here.unread)
                types = dict(zip(here.relation.columns, map(str, here.relation.types), strict=True))
                named = ", ".join(_of_python(column, types[column]) for column in columns)
                return _columns(here.relation.project(named), len(columns))

        return withheld(cells)


def _choose(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Send what chooses between the two ways of `few_values`; a footer that DuckDB cannot read chooses the way of many.

    A footer has the smallest and the largest value of every column, so one of a column that nobody asks about, too.
    """
    import duckdb

    try:
        connection.execute(statement)
    except duckdb.Error:
        # A statement that fails ends the transaction. Files of a format that has footers are in none.
        connection.rollback()
        connection.begin()
        connection.execute(few_values.statement_of("false"))


def _of_python(column: str, kind: str) -> str:
    """Return a column as SQL, missing where Python has no such moment or time of a day, which DuckDB may hold."""
    name = quoted_name(column)
    if kind in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return f"TRY_CAST({name} AS TIMESTAMP)"
    if kind in ("TIME", "TIME_NS"):
        return f"CASE WHEN {name} BETWEEN '00:00:00'::{kind} AND '23:59:59.999999'::{kind} THEN {name} END"
    return name


def _columns(relation: duckdb.DuckDBPyRelation, count: int) -> list[Any]:
    rows = relation.fetchall()
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]


class _Opened(NamedTuple):
    """A connection that sees one file alone, the records of the file, the names in it, and which columns are not read.

    A column that is not read is missing in all records, and has a type that no question takes.
    """

    connection: duckdb.DuckDBPyConnection
    relation: duckdb.DuckDBPyRelation
    names: Sequence[str]
    unread: frozenset[str]


KEPT: KeptOpen[_Opened] = KeptOpen()


@contextmanager
def _relation(file: SourceFile, table: str | None) -> Iterator[_Opened]:
    """Yield a file with its connection, which then dies, or is kept open where the file itself is not.

    DuckDB keeps a database open and locked, and the keys of an object store may be others by the next question. A file
    that was changed is another key, so its names are looked up anew.
    """
    if file.extension or formats()[file.format].TABLES:
        with _newly_opened(file, table) as opened:
            yield opened
        return
    with KEPT.taken((file, table), lambda: _newly_opened(file, table)) as opened:
        yield opened
        # A failed statement, whose error went no further, ends a transaction.
        opened.connection.rollback()
        opened.connection.begin()


@contextmanager
def _newly_opened(file: SourceFile, table: str | None) -> Iterator[_Opened]:
    """Yield a file with a connection of its own."""
    with _spilling() as folder, closing(_connected(folder)) as connection:
        known = formats()[file.format]
        where: Any = _paths(file)
        if file.extension:
            _load(connection, file.extension)
        known.attach(connection, where)
        _lock(connection)
        if (names := known.names(connection, where)) is not None:
            check_names(without_row_names(names))
            _check_case(names)
        # Only a format of which DuckDB may fail to read a column has this function.
        unread = frozenset[str](getattr(known, "unread", lambda *_: ())(connection, where))
        connection.begin()
        if file.keys and names is not None:
            names = [*(name for name in names if name not in file.keys), *file.keys]
            chosen = [_read(name, unread) for name in without_row_names(names)]
            yield _Opened(connection, parquet.partitioned(connection, where, chosen), names, unread)
            return
        relation = known.relation(connection, where, table)
        names = relation.columns if names is None else names
        if len(without_row_names(names)) < len(names) or unread:
            # DuckDB gives the column without a name one of its own.
            own = dict(zip(names, relation.columns, strict=True))
            relation = relation.project(", ".join(_read(own[name], unread) for name in without_row_names(names)))
        yield _Opened(connection, relation, names, unread)


def _read(name: str, unread: frozenset[str]) -> str:
    return f"NULL::BLOB AS {quoted_name(name)}" if name in unread else quoted_name(name)


def _paths(file: SourceFile) -> str | list[str]:
    """Return the path of a file, or those of a folder of Parquet files."""
    return [part.path for part in file.parts] or file.path


def _load(connection: duckdb.DuckDBPyConnection, extension: str) -> None:
    """Let a connection read URLs (HG215 where the extension is not installed); nothing is fetched to install it."""
    import duckdb

    try:
        connection.execute(f"LOAD {extension}")
    except duckdb.Error:
        raise not_installed(extension) from None
    # Keys of object stores are files, which a locked connection could not read any more.
    connection.execute("SELECT count(*) FROM duckdb_secrets()")


@contextmanager
def _spilling() -> Iterator[str]:
    """Yield a folder that only we may read, gone afterwards; an empty text, for none, where no folder can be made."""
    try:
        folder = tempfile.mkdtemp(prefix="hedgerow-")
    except OSError:
        yield ""
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _connected(folder: str = "") -> duckdb.DuckDBPyConnection:
    """Return a connection that shows no progress: how far it is depends on the data, and it goes to standard output.

    What does not fit in memory goes to `folder`; without one, such a question fails (HG207).

    In a notebook without ipywidgets DuckDB can draw no bar, and refuses to be told so.
    """
    import duckdb

    connection = duckdb.connect(":memory:", config=_SETTINGS | {"temp_directory": folder})
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    return connection


def write_parquet(files: Iterable[Path], types: Mapping[str, str]) -> None:
    """Write CSV files of ours as Parquet beside them. Bare empty cells are missing, quoted ones are empty texts.

    Parameters
    ----------
    files : iterable of path
        With a header, in UTF-8.
    types : mapping
        {column: SQL type}, in the order of the header.
    """
    declared = ", ".join(f"{quoted_text(name)}: {quoted_text(kind)}" for name, kind in types.items())
    with closing(_connected()) as connection:
        for path in files:
            connection.execute(
                f"COPY (SELECT * FROM read_csv({quoted_text(str(path))}, columns = {{{declared}}}, header = true, "
                "delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
                "auto_detect = false)) "
                f"TO {quoted_text(str(path.with_suffix('.parquet')))} (FORMAT parquet)"
            )


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns of ours as a Parquet file: NaN is missing, objects are texts.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    import duckdb

    # By place: names that differ in case alone are one name in DuckDB.
    shown = ", ".join(f"c{place} AS {quoted_name(name)}" for place, name in enumerate(columns))
    with closing(_connected()) as connection:
        connection.execute("SET pandas_analyze_sample = 0")  # no type is guessed from some of the rows
        connection.register("columns_of_ours", {f"c{place}": column for place, column in enumerate(columns.values())})
        try:
            rows = f"SELECT {shown} FROM columns_of_ours"
            connection.execute(f"COPY ({rows}) TO {quoted_text(str(path))} (FORMAT parquet)")
        except duckdb.Error:
            raise OSError from None


def _check_case(names: Sequence[str]) -> None:
    """Refuse names that differ in case alone: DuckDB takes them for one, and a request could mean either (HG205)."""
    folded = Counter(name.lower() for name in names)
    if twins := [name for name in names if folded[name.lower()] > 1]:
        raise DataError(
            "HG205",
            rule="The columns of a source have different names.",
            finding=f"{twins[0]!r} and {twins[1]!r} differ in case alone.",
            remedy="Rename one of the two columns that have the same name.",
        )


@dataclass(frozen=True, slots=True)
class CsvSource(FrameAnswers):
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
    header: CsvHeader
    types: Mapping[str, str] = field(default_factory=dict)
    _rows: list[int] = field(default_factory=list, repr=False, compare=False)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user is told of how the source was opened, from its header alone."""
        return (ROW_NAMES_LEFT_OUT,) if len(self.columns) < len(self.header.names) else ()

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, from header and facts alone, a question that cannot be answered (HG111, HG203, HG204; HG207)."""
        # A release checks before it reserves: a file that was changed by then costs nothing.
        self.file.still_there()
        check_query(query, self.columns)
        check_types_of_file(query, self.columns, self.file.declared)
        check_types_of_facts(query, self.columns, self.types)

    def count_rows(self) -> int:
        """Return the number of records, known already where a histogram was asked for."""
        return self._rows[0] if self._rows else self.histogram(Query(None)).total()

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns as trimmed texts, None where empty; see `engines.source.OrderedSource`."""
        self.file.still_there()
        check_present(columns, self.columns)
        return withheld(lambda: self._cells(list(columns)))

    def _cells(self, columns: list[str]) -> list[Any]:
        with _loaded(self.file, self.header, list(dict.fromkeys(columns))) as connection:
            texts = ", ".join(_trimmed(self.header, name) for name in columns)
            return _columns(connection.sql(f"SELECT {texts} FROM cells ORDER BY rowid"), len(columns))

    def _answer(self, query: Query | SumsQuery | ColumnQuery, key: bytes | None = None) -> Any:
        answer = FrameAnswers._answer(self, query, key)
        if query.unit is None and not isinstance(answer, ValueCounts):
            self._rows[:] = [answer.total()]
        return answer

    def _loading(self, query: Query | SumsQuery) -> Sequence[str]:
        return _loading(self.header, query.columns(), self.file.path)

    @contextmanager
    def _opened(self) -> Iterator[CsvSource]:
        self.file.still_there()
        if read_header(self.file) != self.header:
            raise unreadable()
        yield self

    def _rehearse(self, query: Query | SumsQuery | ColumnQuery) -> None:
        """Do nothing: what can be asked depends on the header alone."""

    @contextmanager
    def _roles(self, query: Query | SumsQuery | ColumnQuery, *, reading: bool) -> Iterator[Callable[[], Any]]:
        if reading:
            with _loaded(self.file, self.header, query.columns()) as connection:
                yield lambda: self._of_cells(connection, query)
        else:
            with closing(_connected()) as connection:
                declared = ", ".join(f"{cell} VARCHAR" for cell in _cells(self.header, query.columns()))
                connection.execute(f"CREATE TEMP TABLE cells ({declared})")
                yield lambda: self._of_cells(connection, query)

    def _with_point(self, cell: str) -> str:
        """Return a cell with a decimal point: where semicolons part the cells, a comma is one, as in R's write.csv2."""
        return f"replace({cell}, ',', '.')" if self.header.delimiter == ";" else cell

    def _of_cells(self, connection: duckdb.DuckDBPyConnection, query: Query | SumsQuery | ColumnQuery) -> object:
        """Return the columns that `frames.count` takes, of the needed cells as texts and as numbers."""
        cells, names, dates = [], self.header.names, columns_of_dates(query, self.columns)
        for column in query.columns():
            place, text = names.index(column), _trimmed(self.header, column)
            # The cast passes over the same blanks, far faster than they are trimmed.
            number = f"TRY_CAST({self._with_point(_cell(self.header, column))} AS DOUBLE)"
            cells += [f"{text} AS text_{place}", f"{number} AS number_{place}"]
            # As ISO 8601 writes a date and a time; what else DuckDB would take for one depends on the rest of a file.
            if column in dates:
                cut = f"left(replace({text}, 'T', ' '), 19)"
                matches = f"regexp_full_match({text}, '{_MOMENT}')"
                cells.append(f"CASE WHEN {matches} THEN TRY_CAST({cut} AS TIMESTAMP) END AS date_{place}")
        relation = connection.sql(f"SELECT {', '.join(cells or ['c0'])} FROM cells", alias="records")

        def named(column: str, read: Read) -> str:
            return f"{'date' if read == 'date' else 'number' if read else 'text'}_{names.index(column)}"

        return frames.roles_of_texts(relation, query, self.columns, named)


@contextmanager
def _loaded(file: SourceFile, header: CsvHeader, columns: list[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a locked connection whose table ``cells`` holds the needed columns as text.

    The cast to numbers is made over this table, not over the file: there DuckDB 2.0's TRY_CAST may raise an error that
    quotes the cell (duckdb issue 23818).
    """
    with _spilling() as folder, closing(_connected(folder)) as connection:
        with plain_csv(file.path, file.packing) as (path, in_parallel):
            connection.execute(f"SET VARIABLE in_parallel = {str(in_parallel).lower()}")
            first, *others = _loading(header, columns, path)
            connection.execute(first)
        for statement in others:
            connection.execute(statement)
        _lock(connection)
        yield connection


def _loading(header: CsvHeader, columns: list[str], path: str) -> list[str]:
    """Return the statements that load the needed columns from a path: the file's own, or that of a pipe.

    The variable ``in_parallel`` says whether several threads may read; it is set once the file has been looked through.
    """
    needed = _cells(header, columns)
    declared = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header.names)))
    return [
        f"CREATE TEMP TABLE cells AS SELECT {', '.join(needed)} FROM read_csv({quoted_text(path)}, "
        f"columns = {{{declared}}}, delim = {quoted_text(header.delimiter)}, {_DIALECT}, "
        f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})",
        f"INSERT INTO cells ({needed[0]}) SELECT NULL FROM range((SELECT count(DISTINCT line) FROM reject_errors))",
        # The rejected lines themselves are kept there.
        "DROP TABLE reject_errors",
        "DROP TABLE reject_scans",
    ]


def _cells(header: CsvHeader, columns: list[str]) -> list[str]:
    """Return the columns of the table that are needed; a question about none still counts its rows."""
    return [_cell(header, column) for column in columns] or ["c0"]


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    for setting, value in _LOCKED.items():
        connection.execute(f"SET {setting} = {str(value).lower()}")


def _cell(header: CsvHeader, column: str) -> str:
    return f"c{header.names.index(column)}"


def _trimmed(header: CsvHeader, column: str) -> str:
    # The characters of `schema.BLANKS`, written so that a query that is shown can be read.
    return f"NULLIF(trim({_cell(header, column)}, E' \\t\\r\\n\\x0B\\f'), '')"
