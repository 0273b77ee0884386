"""From replicates to an estimate with intervals: one basis, four interval methods, and Student's for a census."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hedgerow.inference.bootstrap import calibrated, conservative, file_target, most_conservative, unbiased
from hedgerow.inference.bootstrap.bootstrap_variance import StandardErrorParts, standard_error_parts
from hedgerow.inference.bootstrap.replicate_summary import Replicates

INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "calibrated": calibrated.interval,
    "conservative": conservative.interval,
    "unbiased": unbiased.interval,
    "most-conservative": most_conservative.interval,
}
_CENSUS = "student"


@dataclass(frozen=True, slots=True)
class BootstrapBasis:
    """The replicates of one number, what is possible for it, and which interval comes first.

    Attributes
    ----------
    replicates : Replicates
    low, high : float
        What is possible: intervals are cut there.
    reliable : bool
        False: the interval is [low, high].
    default : str
        The interval method asked for.
    census : bool
        The target is the file: Student's interval on the replicates is the only one.
    margin : float
        Added at both ends: the farthest that rounding to an undeclared grid can have moved the target.
    """

    replicates: Replicates
    low: float
    high: float
    reliable: bool
    default: str
    census: bool
    margin: float = 0.0

    @property
    def methods(self) -> tuple[str, ...]:
        """The default first."""
        if self.census:
            return (_CENSUS,)
        return (self.default, *(name for name in INTERVALS if name != self.default))

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return the interval at a level by a method, cut to what is possible.

        One about an estimate that is not possible is first moved to the nearest possible one, as score intervals are:
        that is nearer to every possible truth, and no interval shrinks to a point at the end of what is possible.
        """
        if not self.reliable:
            return self.low, self.high
        compute = file_target.interval if self.census else INTERVALS[method]
        low, high = compute(self.replicates, level=level)
        centre = (low + high) / 2.0
        moved = min(max(centre, self.low), self.high) - centre if math.isfinite(centre) else 0.0
        low, high = low + moved - self.margin, high + moved + self.margin
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)

    def parts(self) -> StandardErrorParts:
        """Return the three parts of the standard error: the same whatever the interval beside it."""
        if self.census:
            return file_target.standard_error_parts(self.replicates)
        return standard_error_parts(self.replicates)
