"""A source of which public facts alone are known: a request is planned for it, and nothing can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NoReturn

from hedgerow.engines.query import ColumnQuery, Query, SumsQuery
from hedgerow.errors import DataError


@dataclass(frozen=True, slots=True)
class UnopenedSource:
    """A source that nobody opened: its columns are those that facts declare, and every name is taken as it is given.

    Attributes
    ----------
    columns : mapping
        Name → ``"number"`` or ``"text"``, as far as the facts declare them.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    name: str = "unopened"
    remarks: Sequence[str] = ()

    def check(self, query: Query | SumsQuery) -> None:
        """Accept every question: the source is checked when the request runs."""

    def check_column(self, query: ColumnQuery) -> None:
        """Accept every column likewise."""

    def statements(self, query: Query | SumsQuery, *, by_record: bool = False) -> NoReturn:
        """Refuse to show a query (HG213)."""
        raise self._unread("HG213")

    def histogram(self, query: Query) -> NoReturn:
        """Refuse to count (HG207)."""
        raise self._unread("HG207")

    def sums(self, query: SumsQuery) -> NoReturn:
        """Refuse to add up (HG207)."""
        raise self._unread("HG207")

    def values(self, query: ColumnQuery) -> NoReturn:
        """Refuse to list values (HG207)."""
        raise self._unread("HG207")

    def count_rows(self) -> NoReturn:
        """Refuse to count records (HG207)."""
        raise self._unread("HG207")

    def reading(self, queries: Iterable[Query | SumsQuery | ColumnQuery]) -> AbstractContextManager[UnopenedSource]:
        """Refuse to be reached (HG207)."""
        raise self._unread("HG207")

    def _unread(self, code: str) -> DataError:
        return DataError(
            code,
            rule="A request is made from public facts alone, without data.",
            finding="No source was opened.",
            remedy="Let an approver sign the request, and then release the signed request with the data.",
        )
