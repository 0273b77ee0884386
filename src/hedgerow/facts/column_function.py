"""Functions of one column in an expression: log, exp and sqrt of a number, parts of a date, and the age at a date.

=====================  ==========================================================================================
function               value
=====================  ==========================================================================================
``log exp sqrt``       of a number, put on the grid of the result by comparisons alone, so that every engine has the
                       same integers; missing where the number has none
``year quarter month   of a date: 2026, 1 to 4, 1 to 12, 1 (Monday) to 7, 0 to 23
weekday hour``
``days``               from 1970-01-01 to the date, whole days
``age``                ``age(born, '2026-01-01')``: whole years, one more on each birthday
=====================  ==========================================================================================
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

CURVES = ("log", "exp", "sqrt")
PARTS = {
    "year": None,
    "quarter": (1, 4),
    "month": (1, 12),
    "weekday": (1, 7),
    "hour": (0, 23),
    "days": None,
    "age": None,
}
"""Functions of a date, with the bounds that each has by itself."""
FUNCTIONS = (*CURVES, *PARTS)
MOST_STEPS = 1_024
_LARGEST = 1.7976931348623157e308
_FIRST_DAY = date(1970, 1, 1).toordinal()
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")


@dataclass(frozen=True, slots=True)
class ColumnFunction:
    """A function of one column.

    Attributes
    ----------
    function, column : str
    at : (int, int, int) or None
        Year, month and day at which an age is asked.
    grid : Grid or None
        The grid on which log, exp or sqrt is put; None until the statistic that reads it is known.
    """

    function: str
    column: str
    at: tuple[int, int, int] | None = None
    grid: Any = None

    @property
    def is_curve(self) -> bool:
        """Whether it is a function of a number, which needs a grid; else it is of a date."""
        return self.function in CURVES

    def cuts(self) -> tuple[list[float], list[float]]:
        """Return the values of the function on its grid, of 1,024 steps at most, and from which number each is taken.

        The value t is that of numbers from the middle between the values t − 1 and t on; the first is of all below.

        >>> from hedgerow.facts.columns import Grid
        >>> values, cuts = ColumnFunction("sqrt", "x", grid=Grid.from_bounds("x", (0, 2), 1)).cuts()
        >>> values, cuts
        ([0.0, 1.0, 2.0], [0.25, 2.25])
        """
        grid = self.grid
        steps = min(grid.steps, MOST_STEPS)
        span = grid.upper - grid.lower
        values = [float(grid.lower + span * place / steps) for place in range(steps + 1)]
        middles = [float(grid.lower + span * Fraction(2 * place - 1, 2 * steps)) for place in range(1, steps + 1)]
        return values, [_inverse(self.function, middle) for middle in middles]

    def image(self, bounds: Any) -> tuple[float, float] | None:
        """Return the bounds of the result, by those of the column; None where they do not tell.

        >>> ColumnFunction("sqrt", "pay").image((4, 9)), ColumnFunction("log", "pay").image((0, 9))
        ((2.0, 3.0), None)
        >>> ColumnFunction("month", "day").image(None)
        (1, 12)
        >>> ColumnFunction("year", "day").image(("2020-01-01", "2026-12-31"))
        (2020.0, 2026.0)
        """
        if not self.is_curve:
            return PARTS[self.function] or self._of_dates(bounds)
        if bounds is None:
            return None
        try:
            low, high = (_curve(self.function)(float(end)) for end in bounds)
        except (ValueError, OverflowError, TypeError):
            return None
        return (low, high) if low < high else None

    def _of_dates(self, bounds: Any) -> tuple[float, float] | None:
        """Return the first and the last year, day or age of dates between two dates; None where they are none."""
        ends = dates_of(bounds)
        if ends is None:
            return None
        first, last = (datetime.fromisoformat(end) for end in ends)
        if self.function == "year":
            numbers = [first.year, last.year]
        elif self.function == "days":
            numbers = [moment.date().toordinal() - _FIRST_DAY for moment in (first, last)]
        elif self.function == "age" and self.at is not None:
            year, *day = self.at
            # Whoever was born last is youngest.
            numbers = [year - born.year - (tuple(day) < (born.month, born.day)) for born in (last, first)]
        else:
            return None
        low, high = map(float, numbers)
        return (low, max(high, low + 1.0))


def dates_of(bounds: object) -> tuple[str, str] | None:
    """Return two dates, or dates with times, as ISO 8601 writes them; None of what are no two dates.

    >>> dates_of((date(2020, 1, 1), "2026-12-31")), dates_of((0, 100))
    (('2020-01-01', '2026-12-31'), None)
    """
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        return None
    low, high = (end.isoformat(" ")[:19] if isinstance(end, datetime) else str(end).replace("T", " ") for end in bounds)
    texts = all(isinstance(end, (str, date)) for end in bounds) and as_date(low) and as_date(high)
    return (low, high) if texts else None


def as_date(text: object) -> tuple[int, int, int, int, int, int] | None:
    """Return the parts of a date, or of a date and a time, as ISO 8601 writes them; None of any other text.

    >>> as_date("2026-06-01"), as_date("2026-06-01 10:30"), as_date("2026-02-30"), as_date("June")
    ((2026, 6, 1, 0, 0, 0), (2026, 6, 1, 10, 30, 0), None, None)
    """
    if not isinstance(text, str) or not _ISO.fullmatch(text.strip()):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second


def stamp_of(text: object) -> float | None:
    """Return a date as the number by which engines compare dates, YYYYMMDDhhmmss; None of what is no date.

    >>> stamp_of("2026-06-01 10:30")
    20260601103000.0
    """
    parts = as_date(text)
    return None if parts is None else float("{:04d}{:02d}{:02d}{:02d}{:02d}{:02d}".format(*parts))


def _curve(function: str) -> Any:
    return {"log": math.log, "exp": math.exp, "sqrt": math.sqrt}[function]


def _inverse(function: str, value: float) -> float:
    """Return the least number whose function is at least a value."""
    if function == "log":
        return math.exp(value) if value < 709.0 else _LARGEST
    if function == "exp":
        return math.log(value) if value > 0.0 else -_LARGEST
    return value * value if value > 0.0 else 0.0
