"""What all sources share: the checks and the reading of the three kinds of question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self, TypeVar

from hedgerow.engines import frames, streamed
from hedgerow.engines.dialects import few_values
from hedgerow.engines.dialects.ibis_tables import Asked
from hedgerow.engines.dialects.units import fresh_key
from hedgerow.engines.query import ColumnQuery, Query, SumsQuery
from hedgerow.engines.reading import unreachable, withheld
from hedgerow.engines.schema import check_values
from hedgerow.resampling.counted_values import GridSums, Histogram, ValueCounts
from hedgerow.resampling.replicates import StreamedReplicates, Tally

S = TypeVar("S", GridSums, Histogram)
SECRET_KEY = "<a secret key, drawn for this question alone>"
"""What stands in a text that is shown where the key of `dialects.units` will stand in the one that is sent."""


class FrameAnswers(ABC):
    """What every source does alike: it checks a question, then answers it by the expressions of `engines.frames`."""

    __slots__ = ()
    columns: dict[str, str]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user is told of how the source was opened, from its schema alone."""
        return ()

    @property
    def rehearsed(self) -> dict[Query | SumsQuery | ColumnQuery, Asked[Any]]:
        """What was built of the questions that `reading` names, until each of them is asked."""
        return {}

    @abstractmethod
    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered."""

    @abstractmethod
    def _roles(
        self, query: Query | SumsQuery | ColumnQuery, *, reading: bool
    ) -> AbstractContextManager[Callable[[], Any]]:
        """Yield what makes the columns that `frames.count` takes, on a connection of their own.

        Where it is not `reading`, what is made of them is shown and not sent, so that no record need be there.
        """

    @abstractmethod
    def _opened(self) -> AbstractContextManager[Self]:
        """Yield this source with what it reads from open until the context ends; itself where it is open already."""

    @contextmanager
    def reading(self, queries: Iterable[Query | SumsQuery | ColumnQuery]) -> Iterator[Self]:
        """Yield this source, open, and ready to answer these questions; see `hedgerow.engines.source.SpentFrom`."""
        with ExitStack() as context:
            yield withheld(lambda: self._ready(context, queries), unreachable)

    def _ready(self, context: ExitStack, queries: Iterable[Query | SumsQuery | ColumnQuery]) -> Self:
        source = context.enter_context(self._opened())
        for query in queries:
            if isinstance(query, ColumnQuery):
                source.check_column(query)
            else:
                source.check(query)
            source._rehearse(query)
        return source

    def _rehearse(self, query: Query | SumsQuery | ColumnQuery) -> None:
        """Build what is sent for a question, and let the engine look up what it needs; no value is read."""
        with self._roles(query, reading=False) as made:
            asked = self._asked(roles := made(), query, fresh_key())
            # DuckDB looks names up where an expression is made.
            if not roles.implementation.is_duckdb():
                asked.explain()
        self.rehearsed[query] = asked

    def _asked(self, roles: Any, query: Query | SumsQuery | ColumnQuery, key: bytes | None) -> Asked[Any]:
        """Return what an engine is sent for a question, built and not sent."""
        if isinstance(query, SumsQuery):
            return self._way(frames.add_up, query)(roles, query, self.columns, key)
        if isinstance(query, ColumnQuery):
            return frames.count_values(roles, query, self.columns, key)
        return self._way(frames.count, query)(roles, query, self.columns, key)

    def _choice(self, query: Query | SumsQuery | ColumnQuery) -> Sequence[str]:
        """Return the statement that chooses between two ways to answer; none where a question is answered in one."""
        return ()

    def _way(self, build: Callable[..., Asked[S]], query: Query | SumsQuery) -> Callable[..., Asked[S]]:
        """Return how a question is asked here: by `build`, or in two ways to the same answer."""
        return few_values.either_way(build) if self._choice(query) else build

    def _loading(self, query: Query | SumsQuery) -> Sequence[str]:
        """Return what is sent before a question; refuse (HG213) where no text is sent."""
        return self._choice(query)

    def _answer(self, query: Query | SumsQuery | ColumnQuery, key: bytes | None = None) -> Any:
        """Return the answer to a question: to what was built of it before the price was reserved, if it was."""
        with self._roles(query, reading=True) as made:
            # Once: who asks again has another key for the rows of a unit.
            built = self.rehearsed.pop(query, None) if key is None else None
            return (built or self._asked(made(), query, key)).found()

    def statements(self, query: Query | SumsQuery, *, by_record: bool = False) -> tuple[str, ...]:
        """Return the SQL by which a question is answered, in order: what `histogram` or `sums` sends, word by word.

        `by_record`: what `stream` sends instead.
        A question about units of several rows is sent with a secret key: `SECRET_KEY` stands in its place.

        Raises
        ------
        DataError
            HG207: the source could not be opened.
        ParameterError
            HG213: the source is a frame whose library is called, not sent a text.
        """
        self.check(query)
        key = fresh_key()

        def texts() -> list[str]:
            loading = self._loading(query)
            with self._roles(query, reading=False) as made:
                if by_record and isinstance(query, Query):
                    return [*loading, *streamed.each(lambda _: None)(made(), query, self.columns, key).texts()]
                return [*loading, *self._asked(made(), query, key).texts()]

        return tuple(text.replace(key.hex(), SECRET_KEY) for text in withheld(texts))

    def histogram(self, query: Query, *, key: bytes | None = None) -> Histogram:
        """Return the counts by cell and grid index (after `check`; HG207 where reading fails).

        `key` decides which rows of a unit beyond its limit are kept; a fresh secret one is drawn where none is given.
        """
        self.check(query)
        counts: Histogram = withheld(lambda: self._answer(query, key))
        return counts

    def sums(self, query: SumsQuery, *, key: bytes | None = None) -> GridSums:
        """Return exact sums of monomials by cell (after `check`; HG207 where reading fails); see `histogram`."""
        self.check(query)
        sums: GridSums = withheld(lambda: self._answer(query, key))
        return sums

    def stream(self, query: Query, asked: StreamedReplicates, watch: streamed.Watch) -> Tally:
        """Return replicates of the records, read one batch at a time (after `check`; HG207 where reading fails)."""
        self.check(query)

        def read() -> Tally:
            with self._roles(query, reading=True) as made:
                return streamed.each(streamed.reader(asked, watch))(made(), query, self.columns, None).found()

        return withheld(read)

    def check_column(self, query: ColumnQuery) -> None:
        """Refuse, before any value is read, a question about a column that cannot be answered."""
        check_values(query, self.columns)

    def values(self, query: ColumnQuery) -> ValueCounts:
        """Return the values of a column that occur and their counts (after `check_column`; HG207)."""
        self.check_column(query)
        counted: ValueCounts = withheld(lambda: self._answer(query))
        return counted

    def count_rows(self) -> int:
        """Return the number of records."""
        return self.histogram(Query(None)).total()
