"""Columns of few values: DuckDB groups the raw values of a Parquet file first, and only the groups are put on grids.

A file that keeps its columns in dictionaries is grouped in less time than one value after another is put on its grid.
With many different values the grouping is slower, and takes memory. So two statements are sent, which differ in the
grouping alone: the footers of the file say which of the two reads records, the other reads none. Both statements stand
in the text that is shown, so this text does not depend on the data; and the integers are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.engines.dialects.ibis_tables import Asked
from hedgerow.engines.query import ColumnQuery, Indicator, Query, SumsQuery
from hedgerow.engines.schema import group_column, value_column
from hedgerow.facts.columns import Selection
from hedgerow.facts.expression import sources_of
from hedgerow.resampling.counted_values import GridSums, Histogram

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


RECORDS = "records"
"""The column that says how many records a row stands for."""
MOST_VALUES = 2**14
"""So many combinations of values are few: to group them takes less time than to compute with every record."""
_VARIABLE = "hedgerow_few_values"
_COLUMNS = 3  # so many columns together may have few combinations of values
A = TypeVar("A", Histogram, GridSums)


def columns_to_group(query: Query | SumsQuery | ColumnQuery) -> list[str]:
    """Return the columns whose values would be grouped, each once; none where a question is answered in one way only.

    The condition of a selection is not among them: the records that are selected are alike in it. A share alone is
    three counts, which take less time than any grouping (`held.counted_truths`).
    """
    if query.unit is not None or isinstance(query, ColumnQuery) or (isinstance(query, Query) and query.is_condition):
        return []
    named = [column for value in query.read for column in value.columns]
    named += [column for group in query.by if not isinstance(group, Selection) for column in group.columns]
    columns = list(dict.fromkeys(source for column in named for source in sources_of(column)))
    return columns if len(columns) <= _COLUMNS else []


def statement_of(condition: str) -> str:
    """Return the statement that asks the file, before its records are read, whether there are few values."""
    return f"SET VARIABLE {_VARIABLE} = ({condition})"


def either_way(build: Callable[..., Asked[A]]) -> Callable[..., Asked[A]]:
    """Return what asks a question in both ways, of which one reads no record, and adds up both answers."""

    def asked(frame: Any, *given: Any) -> Asked[A]:
        few = build(_where(frame, f"getvariable('{_VARIABLE}') IS TRUE"), *given, few=True)
        many = build(_where(frame, f"getvariable('{_VARIABLE}') IS NOT TRUE"), *given)
        return few.beside(many, lambda first, second: first + second)

    return asked


def _where(frame: Any, condition: str) -> nw.LazyFrame[Any]:
    import narwhals.stable.v2 as nw

    # A constant when the statement is planned: where it is false, the plan has no scan.
    filtered: nw.LazyFrame[Any] = nw.from_native(frame.to_native().filter(condition))
    return filtered


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
    return grouped.select(*(nw.col(first[same]).alias(name) for name, same in read.items()), RECORDS)
