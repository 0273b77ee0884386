"""What all sources share: the checks and the reading of the three kinds of question."""

from __future__ import annotations

from abc import ABC, abstractmethod

from hedgerow.engines import frames
from hedgerow.engines.frames import A, Q, Read
from hedgerow.engines.query import ColumnQuery, Query, SumsQuery, ValueCounts
from hedgerow.engines.reading import withheld
from hedgerow.engines.schema import check_values
from hedgerow.resampling.grid_sums import GridSums
from hedgerow.resampling.histogram import Histogram


class FrameAnswers(ABC):
    """What every source does alike: it checks a question, then answers it by the expressions of `engines.frames`."""

    __slots__ = ()
    columns: dict[str, str]

    @abstractmethod
    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered."""

    @abstractmethod
    def _answer(self, read: Read[Q, A], query: Q, key: bytes | None) -> A:
        """Return what `read`, which is `count`, `add_up` or `count_values`, finds in the records."""

    def histogram(self, query: Query, *, key: bytes | None = None) -> Histogram:
        """Return the counts by cell and grid index (after `check`; HG207 where reading fails).

        `key` decides which rows of a unit beyond its limit are kept; a fresh secret one is drawn where none is given.
        """
        self.check(query)
        return withheld(lambda: self._answer(frames.count, query, key))

    def sums(self, query: SumsQuery, *, key: bytes | None = None) -> GridSums:
        """Return exact sums of monomials by cell (after `check`; HG207 where reading fails); see `histogram`."""
        self.check(query)
        return withheld(lambda: self._answer(frames.add_up, query, key))

    def check_column(self, query: ColumnQuery) -> None:
        """Refuse, before any value is read, a question about a column that cannot be answered."""
        check_values(query, self.columns)

    def values(self, query: ColumnQuery) -> ValueCounts:
        """Return the values of a column that occur and their counts (after `check_column`; HG207)."""
        self.check_column(query)
        return withheld(lambda: self._answer(frames.count_values, query, None))

    def count_rows(self) -> int:
        """Return the number of records."""
        return self.histogram(Query(None)).total()
