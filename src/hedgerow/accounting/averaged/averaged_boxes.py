"""The movements of one record's moments, covered by boxes: coordinate by coordinate, nothing in a box moves farther.

With grid integers y the movements are those of `hedgerow.mechanisms.layout`: one record against another in one cell
moves the sum by d = |y − y'| and the sum of squares by at most d·max(|2·high − d|, |2·low + d|); one record against
none moves (count, sum, square) by (1, |y|, |y² − o|). Both are families of one parameter. It is cut into intervals, and
the far corner of a box takes the largest of each coordinate over one interval. Where a function of the parameter rises
and falls, the largest over an interval lies at an end or at its top, which the interval may hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.layout import MomentsLayout

Integers = NDArray[np.int64]
_FINE, _FROM = 14, 0.3


@dataclass(frozen=True, slots=True)
class Box:
    """The far corner: the most that anything in the box moves each coordinate, in units of the data's integers."""

    count: int
    total: int
    square: int


@dataclass(frozen=True, slots=True)
class Movements:
    """Boxes that hold every movement of one record against another in its cell, and of one record against none."""

    same: tuple[Box, ...]
    one_sided: tuple[Box, ...]


def boxes(layout: MomentsLayout, square: bool, count: bool) -> Movements:
    """Return the boxes; one suffices where the sum alone is released.

    Parameters
    ----------
    layout : MomentsLayout
    square, count : bool
        Whether the second moment and the count are released too.

    Examples
    --------
    >>> layout = MomentsLayout(start=-2, stride=2, steps=2, offset=0, presence="public", cells=1)
    >>> boxes(layout, square=False, count=False).same
    (Box(count=0, total=4, square=0),)
    >>> boxes(layout, square=True, count=False).same  # −2 | 0 and −2 | 2
    (Box(count=0, total=2, square=4), Box(count=0, total=4, square=0))
    """
    y = layout.start + layout.stride * np.arange(layout.steps + 1, dtype=np.int64)
    offset = layout.offset if count else 0
    d = layout.stride * np.arange(1, layout.steps + 1, dtype=np.int64)
    between = d * np.maximum(np.abs(2 * y[-1] - d), np.abs(2 * y[0] + d))
    reach = np.unique(np.abs(y))
    return Movements(
        _covered(d, between if square else None, 0),
        _covered(reach, np.abs(reach * reach - offset) if square else None, int(count)),
    )


def _covered(total: Integers, square: Integers | None, count: int) -> tuple[Box, ...]:
    """Return boxes over intervals of `total`, which rises; `square` is what goes with each."""
    if square is None:
        # Whatever the sum moves, the count moves by the same: the farthest is the worst.
        return (Box(count, int(total[-1]), 0),)
    largest = int(total[-1])
    ends = np.unique(np.concatenate([[_FROM * largest], np.linspace(_FROM, 1.0, _FINE + 1) * largest]))
    stops = np.unique(np.searchsorted(total, ends, side="right"))
    stops = stops[stops > 0]
    found, begin = [], 0
    for stop in stops:
        found.append(Box(count, int(total[stop - 1]), int(square[begin:stop].max())))
        begin = int(stop)
    return tuple(found)
