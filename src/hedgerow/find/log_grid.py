"""The public grid on which bounds are looked for: friendly numbers on both sides of a centre, ten a decade.

The distances from the centre are 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 and 8 times 10^k, from 1e-9 to 1e15. A cell holds its
far end and not its near one, so that values that pile up at a friendly number, as at the top code of an income, do not
push the bounds beyond it. What lies farther out than the last ends is in the first or the last cell.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from hedgerow.engines.query import Query
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import LARGEST, Category, Selection
from hedgerow.facts.given import as_fraction, format_argument

_STEPS = ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")
_DECADES = range(-9, 15)


@dataclass(frozen=True)
class LogGrid:
    """Cells around a public centre.

    >>> grid = LogGrid.of(0)
    >>> grid.cells, grid.ends[-3:], grid.bounds(0, grid.cells - 1)
    (483, (600000000000000, 800000000000000, 1000000000000000), (-1000000000000000, 1000000000000000))
    """

    around: Fraction

    @classmethod
    def of(cls, around: object) -> LogGrid:
        """Return the grid around a number of at most 1e14 in size (HG145)."""
        centre = as_fraction(around)
        if centre is None or abs(centre) > LARGEST / 10:
            raise ParameterError(
                "HG145",
                rule="`around` is a number of at most 1e14 in size, near which values may lie.",
                finding=f"Found {format_argument(around)}.",
                remedy="0 is the default; for years of birth, 1900 finds narrower bounds.",
            )
        return cls(centre)

    @cached_property
    def ends(self) -> tuple[int | float, ...]:
        """The ends of cells, in order: numbers between −1e15 and 1e15."""
        sizes = [Fraction(Decimal(f"{step}e{decade}")) for decade in _DECADES for step in _STEPS]
        every = {self.around + sign * size for size in sizes for sign in (-1, 1)}
        inside = {float(end) for end in every if abs(end) < LARGEST} | {float(-LARGEST), float(LARGEST)}
        return tuple(int(end) if end.is_integer() else end for end in sorted(inside))

    @property
    def cells(self) -> int:
        """How many cells there are: one more than ends."""
        return len(self.ends) + 1

    def query(self, column: str, chosen: tuple[Selection, ...] = ()) -> Query:
        """Return the question for the number of records that count in each cell; missing values are in none."""
        cuts = [math.nextafter(end, math.inf) if end > self.around else float(end) for end in self.ends]
        largest = sys.float_info.max
        return Query(None, by=(Category(column, tuple(range(self.cells)), edges=(-largest, *cuts, largest)), *chosen))

    def bounds(self, first: int, last: int) -> tuple[int | float, int | float]:
        """Return the ends of a range of cells; an end that is near the centre, seen from the other, is the centre.

        Near is a tenth of the other's distance where both are on one side, which widens the range a little, and a
        millionth where it cuts off a little.
        """
        at = min(max(first - 1, 0), len(self.ends) - 2)
        low, high, centre = self.ends[at], self.ends[max(min(last, len(self.ends) - 1), at + 1)], self.around
        about = int(centre) if centre.denominator == 1 else float(centre)
        below, above = Fraction(low) - centre, Fraction(high) - centre
        if _is_near(below, above):
            return about, high
        return (low, about) if _is_near(-above, -below) else (low, high)


def _is_near(near: Fraction, far: Fraction) -> bool:
    """Return whether a distance is near 0 seen from a positive one: a tenth of it, or a millionth on the other side."""
    return far > 0 and (0 <= 10 * near <= far or 0 < -1_000_000 * near <= far)
