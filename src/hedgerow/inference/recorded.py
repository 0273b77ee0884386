"""An interval read back from a record: the one that was written, at its own level, and no other."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.errors import ParameterError


@dataclass(frozen=True, slots=True)
class RecordedBasis:
    """What a record keeps of an interval. Another level would need numbers that were not written down.

    >>> RecordedBasis(1.0, 2.0, 0.95, "moments").interval(0.95, "moments")
    (1.0, 2.0)
    """

    low: float
    high: float
    level: float
    method: str

    @property
    def methods(self) -> tuple[str, ...]:
        """The recorded method."""
        return (self.method,)

    def interval(self, level: float, method: str) -> tuple[float, float]:
        """Return the recorded interval.

        Raises
        ------
        ParameterError
            HG108: another level than the recorded one.
        """
        if level != self.level:
            raise ParameterError(
                "HG108",
                rule="A release read back from a record has the intervals that were recorded.",
                finding=f"They are at level {self.level:g}, not {level:g}.",
                remedy=f"Ask for level={self.level:g}.",
            )
        return self.low, self.high
