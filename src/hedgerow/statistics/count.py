"""The number of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hedgerow.keywords import takes
from hedgerow.statistics.entry import Entry
from hedgerow.statistics.statistic import Family, Statistic


@dataclass(frozen=True, slots=True)
class Count(Statistic):
    """The number of records."""

    kind: ClassVar[str] = "count"
    family: ClassVar[Family] = "counts"
    is_total: ClassVar[bool] = True
    is_count: ClassVar[bool] = True
    takes_midpoint: ClassVar[bool] = True

    def possible(self, records: float) -> float | None:
        """Return None: a count has no end that is known."""
        return None

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return what is counted."""
        return "number of records"


@takes()
def count() -> Count:
    """Ask for the number of records (of each cell). Without groups, under replace-one, it is n: exact and public.

    >>> count()
    Count()
    """
    return Count()


ENTRY = Entry(count, 4, about="The number of records.")
