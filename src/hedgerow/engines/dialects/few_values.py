"""Columns of few values: raw values are grouped first, and only the groups are put on grids.

A Parquet file that keeps its columns in dictionaries is grouped in less time than one value after another is put on its
grid, and so is a table of PostgreSQL, which several workers group. With many different values the grouping is slower,
and takes memory. So two statements are sent, which differ in the grouping alone: the footers of the file, or what
PostgreSQL knows of the columns, say which of the two reads records, the other reads none. Both statements stand in the
text that is shown, so this text does not depend on the data; and the integers are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.dialects.ibis_tables import Asked
from hedgerow.engines.query import ColumnQuery, Indicator, Query, SumsQuery
from hedgerow.engines.schema import group_column, value_column
from hedgerow.facts.columns import Selection
from hedgerow.facts.expression import sources_of
from hedgerow.formats import quoted_text
from hedgerow.resampling.counted_values import GridSums, Histogram

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


RECORDS = "records"
"""The column that says how many records a row stands for."""
MOST_VALUES = 2**14
"""So many combinations of values are few: to group them takes less time than to compute with every record."""
_VARIABLE = "hedgerow_few_values"
_SETTING = "hedgerow.few_values"  # in PostgreSQL, whose own variables have names with a point
_VALUES_IN_CELL = 8  # or more has a number that is read: fewer are grouped in hardly less time
_COLUMNS = 3  # so many columns together may have few combinations of values
A = TypeVar("A", Histogram, GridSums)


def columns_to_group(query: Query | SumsQuery | ColumnQuery) -> list[str]:
    """Return the columns whose values would be grouped, each once; none where a question is answered in one way only.

    The condition of a selection is not among them: the records that are selected are alike in it. A share alone is
    three counts, which take less time than any grouping (`held.counted_truths`). Many declared cells have many
    combinations of values, so that there is nothing to choose.
    """
    if isinstance(query, ColumnQuery) or query.unit is not None or (isinstance(query, Query) and query.is_condition):
        return []
    if query.cells * (_VALUES_IN_CELL if query.read else 1) > MOST_VALUES:
        return []
    named = [column for value in query.read for column in value.columns]
    named += [column for group in query.by if not isinstance(group, Selection) for column in group.columns]
    columns = list(dict.fromkeys(source for column in named for source in sources_of(column)))
    return columns if len(columns) <= _COLUMNS else []


def statement_of(condition: str) -> str:
    """Return the statement that asks DuckDB, before records are read, whether there are few values."""
    return f"SET VARIABLE {_VARIABLE} = ({condition})"


def statement_for_postgres(schema: str, table: str, columns: Sequence[str]) -> str:
    """Return the statement that asks PostgreSQL the same, of a table that was analysed; of others there are many."""
    names = ", ".join(map(quoted_text, columns))
    return f"""SELECT set_config('{_SETTING}', (
  SELECT COUNT(*) = {len(columns)} AND bool_and(n_distinct >= 1)
    AND sum(ln(greatest(n_distinct, 1)::double precision)) <= ln({MOST_VALUES}::double precision)
  FROM pg_stats WHERE schemaname = {quoted_text(schema)} AND tablename = {quoted_text(table)} AND NOT inherited
    AND attname IN ({names}))::text, true)"""


def either_way(build: Callable[..., Asked[A]]) -> Callable[..., Asked[A]]:
    """Return what asks a question in both ways, of which one reads no record, and adds up both answers."""

    def asked(frame: Any, *given: Any) -> Asked[A]:
        if frame.implementation.is_ibis():
            few, many = (_gated(build(frame, *given, few=chosen), few=chosen) for chosen in (True, False))
        else:
            few, many = (build(_where(frame, few=chosen), *given, few=chosen) for chosen in (True, False))
        return few.beside(many, lambda first, second: first + second)

    return asked


def _where(frame: Any, *, few: bool) -> nw.LazyFrame[Any]:
    import narwhals.stable.v2 as nw

    # A constant when the statement is planned: where it is false, the plan has no scan.
    chosen = frame.to_native().filter(f"getvariable('{_VARIABLE}') IS {'' if few else 'NOT '}TRUE")
    filtered: nw.LazyFrame[Any] = nw.from_native(chosen)
    return filtered


def _gated(asked: Asked[A], *, few: bool) -> Asked[A]:
    """Return a question to PostgreSQL that is answered in one of the ways alone, without a row in the other.

    The setting is read above the sums: below them each record would pass through a step of its own, and workers would
    be started to read none.
    """
    import narwhals.stable.v2 as nw

    setting = ibis_tables.setting(_SETTING)
    chosen = setting == "true" if few else setting != "true"

    def gated(frame: Any) -> Any:
        if hasattr(frame, "to_native"):
            return nw.from_native(gated(frame.to_native()))
        return ibis_tables.fenced(frame).filter(chosen)

    return replace(asked, sent=tuple((gated(frame), read) for frame, read in asked.sent))


def by_raw_values(rows: nw.LazyFrame[Any], query: Query | SumsQuery) -> nw.LazyFrame[Any]:
    """Return each combination of values once, and in `RECORDS` in how many rows it stands.

    A column of which several values are asked, as of the shares of its categories, is grouped once.
    """
    import narwhals.stable.v2 as nw

    read: dict[str, object] = {}
    for place, value in enumerate(query.read):
        grid = None if isinstance(value, Indicator) else value.grid
        read[value_column(place)] = value.column, grid is None, grid
    for place, category in enumerate(query.by):
        read[group_column(place)] = category.column, not category.edges, None
    first = {same: name for name, same in reversed(read.items())}
    grouped = rows.group_by(*first.values()).agg(nw.len().cast(nw.Int64).alias(RECORDS))
    if len(first) == len(read):
        return grouped
    return grouped.select(*(nw.col(first[same]).alias(name) for name, same in read.items()), RECORDS)
