"""The number of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hedgerow.keywords import takes
from hedgerow.statistics.entry import Entry
from hedgerow.statistics.statistic import Family, Places, Statistic

if TYPE_CHECKING:
    from hedgerow.inference.joint.functions import SmoothFunction


@dataclass(frozen=True, slots=True)
class Count(Statistic):
    """The number of records."""

    kind: ClassVar[str] = "count"
    family: ClassVar[Family] = "counts"
    is_total: ClassVar[bool] = True
    is_count: ClassVar[bool] = True
    takes_midpoint: ClassVar[bool] = True

    @property
    def weighable(self) -> bool:
        """It is: the sum of the weights."""
        return True

    def of_moments(self, places: Places) -> SmoothFunction:
        """Return N as a function of totals; of weighted records the sum of their weights."""
        from hedgerow.inference.joint.functions import Axis, Total

        return Total(Axis(0, 1.0, 0.0, places.get((), 0)))

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


ENTRY_OF_COUNT = Entry(count, 4, about="The number of records.")
