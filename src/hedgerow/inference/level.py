"""The level of an interval, checked once, and the normal quantile that belongs to it."""

from __future__ import annotations

from statistics import NormalDist

from hedgerow.errors import ParameterError
from hedgerow.facts.given import real


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
    number = real(level)
    if number is not None and 0.0 < number < 1.0:
        return number
    raise ParameterError(
        "HG110",
        rule="`level` must be a number strictly between 0 and 1.",
        finding=f"Found {level!r}.",
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
