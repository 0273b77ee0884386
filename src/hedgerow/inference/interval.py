"""A confidence interval that knows its level, its method and what it covers, and levels. Plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from statistics import NormalDist
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.facts.given import as_float, format_argument


def parse_level(level: object) -> float:
    """Return the level as a float strictly between 0 and 1.

    Raises
    ------
    ParameterError
        HG110: anything else, such as 95 for 95 %.

    Examples
    --------
    >>> parse_level(0.95)
    0.95
    """
    number = as_float(level)
    if number is not None and 0.0 < number < 1.0:
        return number
    raise ParameterError(
        "HG110",
        rule="`level` must be a number strictly between 0 and 1.",
        finding=f"Found {format_argument(level)}.",
        remedy="Did you mean 0.95?" if number == 95.0 else "Try level=0.95.",
    )


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal lies within ±z with probability `level`.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return NormalDist().inv_cdf((1 + parse_level(level)) / 2)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval that knows its level, its method and, in words, what it covers.

    ``low`` or ``high`` is infinite where no bound is possible; JSON has null there.
    """

    low: float
    high: float
    level: float
    method: str
    covers: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        ends = {"low": _finite(self.low), "high": _finite(self.high)}
        return {**ends, "level": self.level, "method": self.method, "covers": self.covers}

    def outward(self, places: int | None = None) -> Interval:
        """Return the interval for print: ends rounded outwards, so that it never covers less than it says.

        To so many decimals, else to six digits each.

        >>> Interval(1.26, 3.14159265, 0.95, "").outward(1), Interval(1.26, 3.14159265, 0.95, "").outward().high
        (Interval(low=1.2, high=3.2, level=0.95, method='', covers=''), 3.1416)
        """
        ends = _rounded(self.low, places, ROUND_FLOOR), _rounded(self.high, places, ROUND_CEILING)
        return replace(self, low=ends[0], high=ends[1])

    def __str__(self) -> str:
        what, shown = self.covers or "the target", self.outward()
        return f"[{shown.low:.6g}, {shown.high:.6g}]: in {self.level:.3g} of such releases it holds {what}"


def _rounded(number: float, places: int | None, way: str) -> float:
    if number == 0.0 or not math.isfinite(number):
        return number + 0.0  # never "-0"
    decimals = 5 - math.floor(math.log10(abs(number))) if places is None else places
    # The shortest decimal of a double, not its binary digits: .1 stays .1.
    return float(Decimal(repr(float(number))).quantize(Decimal(1).scaleb(-decimals), way, Context(prec=700)))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
