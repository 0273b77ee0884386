"""How much shares of votes vary from sample to sample, beside shares of as many records that are drawn one by one.

With k the votes of a unit left of an edge and r all of its votes, the error of Â − q·N̂ varies by Σ (k − q·r)² over
units, where Nq(1 − q) is what independent records have. The ratio of the two is the **effect** at q; for rows of one
unit that are alike it is near the number of rows, for a vote that is divided over unlike rows far below 1. It is
released with noise at a few edges, and read between their shares by lines, beyond them as at the last one. Of the share
of a bin k are the votes in it.

As Σ (k − q·r)² ≤ Σ r·(k(1 − q)² + (r − k)q²) and r ≤ V, the effect is at most V where the share q lies left of the
edge: V is the limit of rows, or 1 where a unit has one vote. Intervals add half a standard deviation of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
P = TypeVar("P")
_MOST_SHARES = 5  # at which the effect is released: more would have more noise each
_MOST_BINS = 12
_LEAST = 1e-6  # an effect that is all noise


@dataclass(frozen=True, slots=True)
class SpreadNumbers:
    """What is released of how units vary, for each cell.

    Attributes
    ----------
    spans : int array, (cells, places, 2)
        Between which edges votes are counted; for shares up to a line the first one is 0.
    shares : float array, (cells, places)
        q.
    squares : float array, (cells, places)
        Σ (k − q·r)² in squares of votes, with noise.
    sds : float array, (cells,)
        The standard deviation of that noise.
    most : float
        V.
    apart : float
        What the effect is at least if the rows of a unit have nothing in common but their law; 0: unknown.
    """

    spans: NDArray[np.int64]
    shares: Floats
    squares: Floats
    sds: Floats
    most: float
    apart: float = 0.0

    def of(self, cell: int, votes: float) -> VoteSpread:
        """Return the effect in a cell of so many votes."""
        order = np.argsort(self.shares[cell], kind="stable")
        spans, shares, squares = (part[cell][order] for part in (self.spans, self.shares, self.squares))
        alone = max(votes, 1.0) * shares * (1.0 - shares)
        effects, noise = squares / alone, self.sds[cell] / alone
        careful = np.maximum(np.minimum(np.maximum(effects, 0.0) + noise / 2.0, self.most), _LEAST)
        likely, left = np.clip(effects, _LEAST, self.most), spans[:, 0] == 0
        inner = zip(spans[~left].tolist(), likely[~left].tolist(), careful[~left].tolist(), strict=True)
        between = {(first, last): pair for (first, last), *pair in inner}
        if not left.any():
            # Of bins alone nothing is known of shares up to a line.
            every = np.array([self.most])
            return VoteSpread(np.array([0.5]), every, every, self.most, between, self.apart)
        return VoteSpread(shares[left], likely[left], careful[left], self.most, between, self.apart)


@dataclass(frozen=True, eq=False)
class VoteSpread:
    """The effect in one cell, by the share left of an edge.

    Attributes
    ----------
    shares : float array
        Where it is known, rising.
    effects, careful : float array
        As estimated, and with half a standard deviation of its noise added, for intervals.
    most : float
        What no effect exceeds.
    between : mapping
        Both effects of the share between two edges, where they are known.
    apart : float
        As in `SpreadNumbers`.
    """

    shares: Floats
    effects: Floats
    careful: Floats
    most: float
    between: Mapping[tuple[int, int], Sequence[float]] = field(default_factory=dict)
    apart: float = 0.0

    def at(self, share: float | Floats, *, careful: bool) -> Floats:
        """Return the effect where a share lies left of an edge.

        >>> spread = VoteSpread(np.array([0.25, 0.75]), np.array([1.0, 3.0]), np.array([2.0, 4.0]), 8.0)
        >>> spread.at(np.array([0.1, 0.5]), careful=True).tolist()
        [2.0, 3.0]
        """
        return np.asarray(np.interp(share, self.shares, self.careful if careful else self.effects))

    def of_bin(self, first: int, last: int, *, careful: bool) -> float:
        """Return the effect of the share between two inner edges; the largest possible where it is not known."""
        known = self.between.get((first, last))
        return self.most if known is None else known[careful]


def spans_of(
    curve: Floats, shares: Sequence[float], lines: Sequence[int], bins: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the spans of leaves whose effect is released, and the share that the noisy curve has in each.

    Parameters
    ----------
    curve : float array
        The released curve, monotone.
    shares : sequence of numbers
        Of the quantiles that are asked for.
    lines : sequence of int
        Edges of shares that are asked for.
    bins : sequence of (int, int)
        The edges of bins that are asked for, both of them inner ones.

    Examples
    --------
    >>> spans_of(np.array([0.0, 0.2, 0.6, 1.0]), (0.5,), (1,), ((1, 2),))
    ([(0, 1), (0, 2), (1, 2)], [0.2, 0.6, 0.4])
    """
    inner = max(len(curve) - 2, 1)
    wanted = _spread_out(sorted(set(shares)))
    edges = [int(np.abs(curve - share).argmin()) for share in wanted] + _spread_out(lines)
    spans = [(0, edge) for edge in sorted(min(max(edge, 1), inner) for edge in edges)]
    spans += bins if len(bins) <= _MOST_BINS else []
    return spans, [round(float(curve[last] - curve[first]), 12) for first, last in spans]


def _spread_out(places: Sequence[P]) -> list[P]:
    """Return some of the places, the first and the last among them, where they are too many."""
    if len(places) <= _MOST_SHARES:
        return list(places)
    return [places[at] for at in np.linspace(0, len(places) - 1, _MOST_SHARES).round().astype(int).tolist()]


def record_of(numbers: SpreadNumbers, cell: int) -> dict[str, Any]:
    """Return what a record keeps of one cell."""
    return {
        "spans": numbers.spans[cell].tolist(),
        "shares": numbers.shares[cell].tolist(),
        "squares": numbers.squares[cell].tolist(),
    }
