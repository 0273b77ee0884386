"""The share of the records present whose column equals a declared value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, Scalar, checked_column
from hedgerow.facts.validation import format_argument, plain
from hedgerow.keywords import takes
from hedgerow.statistics.entry import COLUMN, Field, StatisticEntry, parse_value, unwritten
from hedgerow.statistics.statistic import Family, Places, Powers, Statistic, StatisticRequest

if TYPE_CHECKING:
    from hedgerow.engines.query import Indicator
    from hedgerow.inference.joint.functions import FunctionOfTotals


@dataclass(frozen=True, slots=True)
class Proportion(Statistic):
    """The share of the records present whose column equals a declared value."""

    column: str = field()
    value: Scalar = field()
    kind: ClassVar[str] = "proportion"
    family: ClassVar[Family] = "counts"

    @property
    def grid(self) -> Grid:
        """The grid of 0 and 1: a proportion is the mean of a 0/1 value."""
        return Grid.from_bounds("", (0, 1), 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def counted(self) -> Indicator:
        """Whether a record has the value."""
        from hedgerow.engines.query import Indicator

        return Indicator(self.column, self.value)

    @property
    def powers(self) -> Powers:
        """Whether a record has the value."""
        return ((1,),)

    def of_moments(self, places: Places) -> FunctionOfTotals:
        """Return the mean of 1 where a record has the value, else 0, as a function of totals."""
        from hedgerow.inference.joint.functions import MeanOfTotals, ScaledMean

        return MeanOfTotals(ScaledMean(places[(1,)], 0.5, 0.5, places.get((), 0)))

    def possible(self, records: float) -> float | None:
        """Return 1: a share lies between 0 and 1."""
        return 1.0

    def in_words(self, *, by_cell: bool = False) -> str:
        """Return the column and the value."""
        return f"share of {self.column} = {self.value}"

    def renamed(self, name: Callable[[str], str]) -> Statistic:
        """Return the statistic of the column by another name."""
        return replace(self, column=name(self.column))

    def public_record(self) -> list[Any]:
        """Return name, column and value."""
        return [self.name, self.column, self.value]


@takes()
def proportion(column: str, *, value: Scalar) -> Proportion:
    """Request the share of records whose `column` equals `value`.

    The value is compared in the declared type of the column.

    Parameters
    ----------
    column : str
        The name of a column of any type.
    value : str, int, float or bool
        The declared value whose share is estimated.

    Returns
    -------
    Proportion
        The request, to be passed to `Survey.release` or `Survey.plan`.

    Raises
    ------
    ParameterError
        HG111: the value is not a text, a finite number or a boolean.

    Examples
    --------
    >>> proportion("employed", value=1)
    Proportion(column='employed', value=1)
    """
    value = plain(value)
    if not isinstance(value, (str, int, float, bool)) or (isinstance(value, float) and not math.isfinite(value)):
        raise ParameterError(
            "HG111",
            rule="The value of a proportion is declared: a text, a finite number or a boolean.",
            finding=f"Found {format_argument(value)} for column {format_argument(column)}.",
            remedy=f'For example hg.proportion("{column}", value=1).',
            shell=f"For example {ENTRY.option} {column}=1.",
        )
    return Proportion(checked_column(column), value)


def split_proportion(text: str) -> tuple[str, Scalar]:
    """Return (column, value) of ``COL=VALUE``.

    >>> split_proportion("employed=1"), split_proportion("zip=01"), split_proportion("note=a=b")
    (('employed', 1), ('zip', '01'), ('note', 'a=b'))
    """
    column, equals, value = text.partition("=")
    if not (column and equals and value.strip()):
        raise unwritten(ENTRY.option, "COL=VALUE", text, f"{ENTRY.option} employed=1")
    return column, parse_value(value)


def _parse(text: str) -> list[StatisticRequest]:
    column, value = split_proportion(text)
    return [proportion(column, value=value)]


ENTRY = StatisticEntry(
    proportion,
    3,
    {"column": COLUMN, "value": Field("value", "The value of a proportion.")},
    by_name=("value",),
    metavar="COL=VALUE",
    about="A proportion: the share of records with a given value.",
    parse=_parse,
)
