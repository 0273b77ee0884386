"""Opening anything that holds records: a path, or a frame of any library.

Several questions about exact sums, asked as one: a source is scanned once for a whole call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from hedgerow.engines.query import ColumnQuery, Query, SumsQuery, Value
from hedgerow.engines.reading import kinds_of_source
from hedgerow.errors import DataError
from hedgerow.facts.relation import UnitLimit
from hedgerow.formats import is_url
from hedgerow.inputs import note_input
from hedgerow.resampling.counted_values import GridSums, Histogram, Monomial, ValueCounts


class Source(Protocol):
    """The interface of every engine: public names and kinds of columns, and exact counts, which are private.

    `columns` maps names to ``"number"``, ``"boolean"``, ``"text"``, ``"date"``, ``"other"`` or (CSV) ``"text-cell"``.
    """

    @property
    def name(self) -> str:
        """The name in reports: the path as given, or the type of the frame."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Name → kind, from the schema alone."""

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered (HG111, HG203, HG204, HG210, HG211)."""

    def histogram(self, query: Query) -> Histogram:
        """Return the counts by cell and grid index (HG207).

        The same integers whichever engine counts, except where units have more rows than their limit: then which rows
        are kept is drawn anew at each question, by a secret key, with the same law on every engine.
        """

    def sums(self, query: SumsQuery) -> GridSums:
        """Return exact sums of monomials by cell, in one scan (HG207); the same integers whichever engine adds up."""

    def count_rows(self) -> int:
        """Return the number of records."""


class SpentFrom(Source, Protocol):
    """A source from which a release may be paid: it is tried before the price is reserved."""

    def reading(self, queries: Iterable[Query | SumsQuery | ColumnQuery]) -> AbstractContextManager[Self]:
        """Return a context that yields the source, ready to answer these questions; no value is read to enter it.

        Files and databases are opened once, and stay open until the context ends: every question sees the same
        records. Of a table in a database, the engine plans the statement of each question, by which it looks up
        columns and rights and takes its locks. Refusals depend on the schema, the rights and who holds a lock.

        Raises
        ------
        DataError
            HG203, HG204 a column is not there, or no longer of its kind; HG207 the source is away, locked, without
            rights, or was changed; HG209 its table is gone.
        """
        ...


class ColumnSource(SpentFrom, Protocol):
    """A source whose columns are counted by the values that occur in them, which are private; it shows its queries."""

    def statements(self, query: Query | SumsQuery, *, by_record: bool = False) -> tuple[str, ...]:
        """Return the SQL that `histogram` or `sums` sends, or a stream of records (HG213 where no text is sent)."""

    @property
    def remarks(self) -> Sequence[str]:
        """What a user is told of how the source was opened, from its schema alone."""

    def check_column(self, query: ColumnQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered (HG111, HG203, HG204, HG210)."""

    def values(self, query: ColumnQuery) -> ValueCounts:
        """Return what occurs in a column, and in how many records (HG207); the same on every engine."""


class InOrder(Protocol):
    """Records in an order, each of which is read by itself: a file, or what was sent."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Name → kind, as of a `Source`."""

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered; as a `Source` does."""

    def in_order(self, columns: Sequence[str]) -> list[Any]:
        """Return the cells of some columns, records in the order of the source (HG203, HG207).

        For files that are joined record by record. Cells are data: nothing of them may be told without being paid for.
        """


class OrderedSource(SpentFrom, InOrder, Protocol):
    """A file, whose records have an order."""


def units_query(column: str) -> Query:
    """Return the question how many units a column names."""
    return Query(None, unit=UnitLimit(column, 1))


def count_units(source: Source, column: str) -> int:
    """Return how many units a column names: n under replace-one. Rows that name none count nowhere.

    >>> import pyarrow
    >>> count_units(open_source(pyarrow.table({"person": [7, 7, None, 9]})), "person")
    2
    """
    return source.histogram(units_query(column)).total()


def open_in_order(path: str | os.PathLike[str]) -> OrderedSource:
    """Return a file whose records are read in order, as `open_source` opens it (HG201 to HG209)."""
    from hedgerow.engines.databases import DatabaseSource
    from hedgerow.engines.files import open_file

    opened = open_file(path)
    if isinstance(opened, DatabaseSource):
        raise DataError(
            "HG202",
            rule="To join records one by one, the source must be a file with a fixed order of rows.",
            finding="A table of SQLite has no fixed order of rows.",
            remedy="Export the table to a CSV or Parquet file.",
        )
    return opened


def open_source(source: object, *, table: str | None = None, types: Mapping[str, str] | None = None) -> ColumnSource:
    """Return a source from which only counts can be read; opening it reads names and types, no value.

    Parameters
    ----------
    source : path, URL or frame
        Path of a file of one of `hedgerow.formats` (CSV, Parquet, DuckDB, SQLite); the URL of a database
        (``postgresql://user@host/name``, ``sqlite3:///path``); a pandas, polars (eager or lazy) or pyarrow frame, a
        DuckDB relation, a PySpark frame, an Ibis table, or any other frame that narwhals reads.
    table : str, optional
        The name of the table, if the source is a database.
    types : mapping of str to str, optional
        ``"number"`` or ``"text"`` by column, as the facts declare them: they count where a file has no types.

    Raises
    ------
    DataError
        HG201 no such file; HG202 neither a file nor a frame that can be read; HG205 a column without a name of its own;
        HG206 nothing in it; HG207 it cannot be read; HG209 which table of a database; HG211 text that is no Unicode.
    ParameterError
        HG212: what reads databases is not installed.

    Examples
    --------
    >>> import pyarrow
    >>> people = open_source(pyarrow.table({"age": [18, 93], "sex": ["f", "m"]}))
    >>> people.name, people.columns, people.count_rows()
    ('pyarrow.Table', {'age': 'number', 'sex': 'text'}, 2)
    """
    if is_url(source):
        from hedgerow.engines.databases import open_database

        return open_database(str(source), table=table)
    if isinstance(source, (str, os.PathLike)):
        from hedgerow.engines.files import open_file

        opened = open_file(source, table=table, types=types)
        note_input(source)
        return opened
    from hedgerow.engines.frame_source import recognised

    if table is not None:
        raise DataError(
            "HG209",
            rule="The option `table` names a table of a database.",
            finding="Found a frame.",
            remedy="Omit `table`.",
        )
    recognised_source = recognised(source)
    if recognised_source is None:
        raise DataError(
            "HG202",
            rule=kinds_of_source(),
            finding=f"Found an object of type {type(source).__name__!r}.",
            remedy="The supported frames are pandas, polars, pyarrow, DuckDB relations, PySpark, Ibis, and all others "
            "that narwhals reads.",
        )
    return recognised_source


def sums_together(source: Source, queries: Iterable[SumsQuery]) -> dict[SumsQuery, GridSums]:
    """Return the answer to each question, the same integers as if it were asked alone (HG207).

    Questions that differ only in what they add up, and over which records, are asked as one. Questions about units of
    several rows are asked alone, since which rows of a unit are kept depends on the values that are needed.

    >>> import pyarrow
    >>> from hedgerow.engines.query import ValueOnGrid
    >>> from hedgerow.engines.source import open_source
    >>> from hedgerow.facts.columns import Grid
    >>> people = open_source(pyarrow.table({"age": [18, 93, None], "size": [None, 2, 4]}))
    >>> values = [ValueOnGrid(name, Grid.from_bounds(name, (0, 100), 1)) for name in ("age", "size")]
    >>> alone = [SumsQuery((value,), (((0, 1),),), needed=frozenset([0])) for value in values]
    >>> [(int(answer.sums[((0, 1),)][0]), answer.missing.tolist()) for answer in sums_together(people, alone).values()]
    [(111, [1]), (6, [1])]
    """
    answers: dict[SumsQuery, GridSums] = {}
    for sent, asked in as_sent(queries).items():
        whole = source.sums(sent)
        answers |= (
            {asked[0]: whole} if len(asked) == 1 else {query: _part(query, whole, sent.values) for query in asked}
        )
    return answers


def as_sent(queries: Iterable[SumsQuery]) -> dict[SumsQuery, list[SumsQuery]]:
    """Return the questions that are sent, in order, each with those that its answer answers."""
    groups: dict[SumsQuery, list[SumsQuery]] = {}
    for query in dict.fromkeys(queries):
        rest = replace(query, values=(), monomials=(), needed=frozenset()) if query.unit is None else query
        groups.setdefault(rest, []).append(query)
    return {asked[0] if len(asked) == 1 else _whole(rest, asked): asked for rest, asked in groups.items()}


def _whole(rest: SumsQuery, asked: list[SumsQuery]) -> SumsQuery:
    """Return one question for several."""
    values = tuple(dict.fromkeys(value for query in asked for value in query.values))
    named = [_among(query, monomial, values) for query in asked for monomial in ((), *query.monomials)]
    return replace(rest, values=values, monomials=tuple(dict.fromkeys(named)))


def _among(query: SumsQuery, monomial: Monomial, values: Sequence[Value]) -> Monomial:
    """Return a monomial over more values: it counts only where the values that its question needs are present."""
    powers = dict.fromkeys(query.needed, 0) | dict(monomial)
    return tuple(sorted((values.index(query.values[i]), power) for i, power in powers.items()))


def _part(query: SumsQuery, whole: GridSums, values: Sequence[Value]) -> GridSums:
    """Return the answer to one of the questions."""
    sums = {monomial: whole.sums[_among(query, monomial, values)] for monomial in ((), *query.monomials)}
    return GridSums(sums, np.asarray(whole.sums[()] - sums[()], np.int64), whole.outside)
