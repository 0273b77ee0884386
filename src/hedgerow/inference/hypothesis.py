"""A test of one value, made of an estimate's own intervals: it rejects at α where the interval at 1 − α excludes it.

So the p-value is the least α at which the interval excludes the value. It counts what the interval counts, sampling and
noise alike, and its level is one minus the coverage of the intervals: no second approximation is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hedgerow.inference.region import Region

_LEAST = 1e-12
_CLOSE = 4e-6  # in z
_FAR = 1e300
# Each level of this method has a convex programme of its own, of about a second; three are shipped.
_SOLVED = "calibrated"
_SHIPPED, _PLACES = (0.05, 0.01, 0.1), 6


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    """A two-sided test that the target of an estimate is one value.

    Attributes
    ----------
    statistic : float or None
        (estimate − value) / standard error; None where the noise leaves no standard error.
    pvalue : float
        The least α at which the interval at 1 − α excludes the value, 1 where none does: rounded up by less than
        1e-4 of it, and never below 1e-12. By calibrated intervals of a bootstrap it is rounded up to one
        significant digit, and never below 1e-6.
    value : float
        What was tested.
    method : str
        The method of the intervals.
    covers : str
        What the value is about, in words.
    """

    statistic: float | None
    pvalue: float
    value: float
    method: str
    covers: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        numbers = {"statistic": self.statistic, "pvalue": self.pvalue, "value": self.value}
        return {**numbers, "method": self.method, "covers": self.covers}

    def __str__(self) -> str:
        by = "" if self.statistic is None else f"z = {self.statistic:.3g}, "
        return f"test of {self.value:.15g}: {by}p = {self.pvalue:.3g} (two-sided; sampling and privacy noise counted)"


def pvalue_of(region: Region, value: float, method: str | None = None) -> float:
    """Return the least α at which a region at 1 − α excludes a value, by its first method unless one is named."""

    def outside(alpha: float) -> float:
        """Return by how much the value lies outside the region at 1 − α; below 0 inside."""
        low, high = region.ends(1.0 - alpha, method)
        return max(low - value, value - high)

    return _of_one_digit(outside) if method == _SOLVED else least_alpha(outside)


def least_alpha(outside: Callable[[float], float]) -> float:
    """Return the least α whose interval excludes the value, a little above; the reach is nearly linear in z.

    >>> round(least_alpha(lambda alpha: alpha - 0.0314), 5), least_alpha(lambda alpha: -1.0)
    (0.0314, 1.0)
    """
    from scipy.optimize import brentq

    from hedgerow.special import ndtr, ndtri

    def at(z: float) -> float:
        return min(max(outside(2.0 * float(ndtr(-z))), -_FAR), _FAR)

    last = -float(ndtri(_LEAST / 2.0))
    if at(last) > 0.0:
        return _LEAST
    if at(_CLOSE) <= 0.0:
        return 1.0
    found = brentq(at, _CLOSE, last, xtol=_CLOSE / 4.0)
    return 2.0 * float(ndtr(_CLOSE / 2.0 - found))


def _of_one_digit(outside: Callable[[float], float]) -> float:
    """Return the least α of one significant digit whose interval excludes the value, with few levels tried.

    >>> _of_one_digit(lambda alpha: alpha - 0.0314), _of_one_digit(lambda alpha: -1.0)
    (0.04, 1.0)
    """
    ladder = [float(f"{digit}e-{place}") for place in range(_PLACES, 0, -1) for digit in range(1, 10)]
    low, high = -1, len(ladder)
    while high - low > 1:
        inside = [place for place in map(ladder.index, _SHIPPED) if low < place < high]
        place = inside[0] if inside else (low + high) // 2
        low, high = (low, place) if outside(ladder[place]) > 0.0 else (place, high)
    return ladder[high] if high < len(ladder) else 1.0
