"""The narrowest range of cells that holds a share of the records, judged from noisy counts of cells: post-processing.

Hundreds of empty cells with noise must not stretch the range, and the thin end of a distribution must not be cut off
with them. So each end is looked for in two steps, from the outside inwards, with counts in units of the noise's scale.

1. **Where records begin.** A walk goes up by `_DRIFT` at every cell and down by its noisy count. Noise alone makes it
   fall by `_ALARM` below its highest point with probability under 1 % on the whole grid; 340 records in one cell do
   at a scale of 20. Where it has, the cells as far as it goes on falling, to `_DEEP` at most, are the beginning.
2. **What lies farther out.** From that beginning outwards the counts are taken to fall as A·exp(−s·j − c·j²), j the
   number of cells: a power law where c = 0, a lighter tail where c > 0. Every (A, s, c) of a list is weighted by the
   likelihood of the noisy counts, and the weighted mean is the number of records that are expected beyond each cell.

Of all ranges outside which `_CAUTION` × (1 − share) of the records are expected at most, the narrowest is taken. The
expectation has errors of its own, so a part of the allowance is kept back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.find.log_grid import LogGrid

Floats = NDArray[np.float64]
_DRIFT, _ALARM, _DEEP = 1.0, 16.0, 46.0
_CAUTION = 0.4
_SLOPES = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 5.0])
_BENDS = np.array([0.0, 0.003, 0.007, 0.015, 0.03, 0.07, 0.15, 0.4])
_HEIGHTS = 16


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """How many records are expected in the first cells: `before[k]` in cells 0 to k − 1; `begin`: a cell with some."""

    before: Floats
    begin: int


def narrowest_bounds(
    noisy: NDArray[np.int64], scale: float, grid: LogGrid, share: float
) -> tuple[int | float, int | float] | None:
    """Return bounds that are expected to hold a share of the records; None where noise hides where they lie.

    Parameters
    ----------
    noisy : int array
        The count of each cell of `grid` plus two-sided geometric noise.
    scale : float
        That of the noise.
    share : float
        Between 0 and 1.

    Examples
    --------
    >>> grid = LogGrid.of(0)
    >>> noisy = np.zeros(grid.cells, dtype=np.int64)
    >>> noisy[400:420] = 500
    >>> narrowest_bounds(noisy, 20.0, grid, 0.99), narrowest_bounds(0 * noisy, 20.0, grid, 0.99)
    ((0, 800000000), None)
    """
    counts = noisy.astype(np.float64)
    left, right = _end(counts, scale), _end(counts[::-1], scale)
    if left is None or right is None:
        return None
    cells = len(counts)
    after = right.before[::-1]  # after[k]: in cells k to the last
    # Cells between the two beginnings alone: noise far out must not count as records.
    total = left.before[cells - 1 - right.begin] + after[cells - 1 - right.begin]
    allowed = _CAUTION * (1.0 - share) * total
    if not allowed > 0.0:
        return None
    found: list[tuple[float, tuple[int | float, int | float]]] = []
    for first in range(cells):
        if left.before[first] > allowed:
            break
        last = first + int(np.argmax(after[first + 1 :] <= allowed - left.before[first]))
        low, high = grid.bounds(first, last)
        found.append((high - low, (low, high)))
    return min(found)[1]


def _end(counts: Floats, scale: float) -> _End | None:
    """Return what is expected from the first cell on; None where no records are seen."""
    walk = np.concatenate([[0.0], np.cumsum(_DRIFT - counts / scale)])
    fallen = np.maximum.accumulate(walk) - walk
    alarms = np.flatnonzero(fallen > _ALARM)
    if not len(alarms):
        return None
    goes_on = (np.diff(walk, append=np.inf) < 0.0) & (fallen <= _DEEP)
    begin = int(alarms[0]) + int(np.argmin(goes_on[alarms[0] :])) - 1
    beyond = _expected_beyond(counts[begin::-1], scale)
    before = np.concatenate([[0.0], beyond[::-1], beyond[0] + np.cumsum(counts[begin + 1 :])])
    return _End(np.maximum.accumulate(before), begin)


def _expected_beyond(counts: Floats, scale: float) -> Floats:
    """Return how many records are expected in the cells from j on, given noisy counts from a beginning outwards."""
    j = np.arange(len(counts), dtype=np.float64)
    shapes = np.exp(-(_SLOPES[:, None, None] * j + _BENDS[:, None] * j**2)).reshape(-1, len(j))
    heights = np.geomspace(scale / 4.0, max(6.0 * scale, 3.0 * counts[0]), _HEIGHTS)
    means = (heights[:, None, None] * shapes).reshape(-1, len(j))
    likelihood = -np.abs(counts - means).sum(axis=1) / scale
    weights = np.exp(likelihood - likelihood.max())
    mean = (weights[:, None] * means).sum(axis=0) / weights.sum()
    return np.asarray(np.cumsum(mean[::-1])[::-1])
