"""Error bars of a printed table: where each interval, its privacy part and the number lie on a scale from 0 to 100."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.tables.cells.cells import TableCells
from hedgerow.tables.cells.letters import reliability_letters
from hedgerow.tables.publication.layout import Layout
from hedgerow.tables.publication.publication import Publication

_LENGTH = 100.0
# What is thinner cannot be seen.
_THINNEST = 1.5


@dataclass(frozen=True, slots=True)
class Bar:
    """One error bar: starts and lengths along the scale, and the interval in words, rounded outwards.

    `inner` is None where the privacy part is as small as the number is exact; `number` is None where it lies outside.
    """

    start: float
    length: float
    inner: tuple[float, float] | None
    number: float | None
    reliable: bool
    words: str


@dataclass(frozen=True, slots=True)
class Bars:
    """The error bars of a layout. Cells share one scale, which holds 0; totals over the same columns share another.

    A scale reaches as far as the intervals of its reliable numbers do; an unreliable one is cut at its ends, since
    it would squeeze the others to nothing.
    """

    number: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    noise: NDArray[Any]
    reliable: NDArray[Any]
    bottom: NDArray[Any]
    top: NDArray[Any]
    level: float
    decimals: int
    printed: Callable[[float], str]

    @classmethod
    def of(cls, publication: Publication, layout: Layout) -> Bars | None:
        """Return the bars of a publication; None where its errors are withheld."""
        if publication.table.interior.withheld:
            return None

        def reliable(cells: TableCells) -> NDArray[np.bool_]:
            return np.asarray(reliability_letters(cells, publication.bands) != publication.bands.last[0])

        def end(place: int) -> Callable[[TableCells], NDArray[Any]]:
            def reach(cells: TableCells) -> NDArray[Any]:
                ends, known = cells.interval(publication.level)[place], reliable(cells)
                known = known if known.any() else ~known
                # A number that was rounded may lie outside its interval.
                reached = np.concatenate([ends[known], cells.published[known]])
                reached = reached[np.isfinite(reached)]
                return np.full(cells.shape.size, reached.max(initial=0.0) if place else reached.min(initial=0.0))

            return reach

        return cls(
            layout.spread(lambda cells: cells.published),
            layout.spread(lambda cells: cells.interval(publication.level)[0]),
            layout.spread(lambda cells: cells.interval(publication.level)[1]),
            layout.spread(lambda cells: np.sqrt(np.broadcast_to(cells.noise_variance, cells.shape.size))),
            layout.spread(reliable),
            layout.spread(end(0)),
            layout.spread(end(1)),
            publication.level,
            publication.decimals,
            publication.formatter(),
        )

    def at(self, row: int, column: int) -> Bar:
        """Return the bar of one printed number."""
        low, high, number = (float(part[row, column]) for part in (self.low, self.high, self.number))
        reach = NormalDist().inv_cdf(0.5 + self.level / 2.0) * float(self.noise[row, column])
        inner = self._along(row, column, max(low, number - reach), min(high, number + reach)) if reach else None
        start, length = self._along(row, column, low, high)
        place = self._place(row, column, number)
        return Bar(
            start,
            length,
            inner,
            None if not 0.0 <= place <= _LENGTH else round(place, 1),
            bool(self.reliable[row, column]),
            f"{100.0 * self.level:.6g} % interval: {self._outwards(low, -1)} to {self._outwards(high, 1)}",
        )

    def _place(self, row: int, column: int, value: float) -> float:
        bottom, top = float(self.bottom[row, column]), float(self.top[row, column])
        return _LENGTH * (value - bottom) / (top - bottom) if top > bottom else 0.0

    def _along(self, row: int, column: int, low: float, high: float) -> tuple[float, float]:
        start, stop = (min(max(self._place(row, column, end), 0.0), _LENGTH) for end in (low, max(low, high)))
        missing = max(_THINNEST - (stop - start), 0.0) / 2.0
        start = min(max(start - missing, 0.0), _LENGTH - _THINNEST)
        return round(start, 1), round(max(stop + missing - start, _THINNEST), 1)

    def _outwards(self, value: float, side: int) -> str:
        """Return an end of the interval as it is printed: never inside the true one."""
        if not math.isfinite(value):
            return "∞" if value > 0 else "−∞"
        unit = 10.0**self.decimals
        # A last digit that only the multiplication made moves nothing.
        moved = value * unit - side * 1e-9 * max(1.0, abs(value * unit))
        return self.printed((math.ceil(moved) if side > 0 else math.floor(moved)) / unit)
