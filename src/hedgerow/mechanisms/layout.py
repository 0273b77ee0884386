"""How far one record can move a vector of integer moments: sensitivities, after rounding, over all integer pairs.

A record with grid integer y adds (1, y, y² − o) to its cell: a count, a sum and a second moment (moments.md §1). Which
coordinates are released, and which pairs of neighbours exist, is the *layout*; it is part of the mechanism, so the
sampler, the accountant and a certificate read the same one.

Notation: coordinate i is released with noise of width w_i, in units of its own integers. For a pair of neighbours that
moves the table by (d_0, d_1, d_2) the Gaussian cost is μ² = Σ d_i²/w_i² and the Laplace cost ε = Σ |d_i|/w_i.

=============  ============================================================================  =====================
pair           movement                                                                       exists under
=============  ============================================================================  =====================
same cell      (0, y − y', y² − y'²)                                                          replace-one
one-sided      (1, y, y² − o)                                                                 add-remove; replace-one
                                                                                              where presence is private
across cells   one-sided in each of two cells, independent coordinates                        replace-one, ≥ 2 cells,
                                                                                              where presence is private
=============  ============================================================================  =====================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation

Presence = Literal["public", "private"]
# Sums of squares and square roots of a few terms in doubles: relative error below this, rounded against the user.
_ROUND_UP = 1.0 + 1e-12


@dataclass(frozen=True, slots=True)
class Widths:
    """Noise width of each released coordinate in units of its own integers; None where it is not released."""

    count: float | None
    total: float
    square: float | None


@dataclass(frozen=True, slots=True)
class MomentsLayout:
    """The integer values y = start + stride·t, t = 0..steps, and what is released of them.

    Attributes
    ----------
    offset : int
        o, taken off y² where a count is released with it, so that the second moment costs least.
    presence : "public" or "private"
        Public: every record is known to be in its cell, of one or of several, or in none (replace-one, nothing
        dropped). The number of records of each cell is then the same for all neighbours, hence public.
    cells : int
        Disjoint cells released.

    Examples
    --------
    A mean on 100 steps, replace-one, n public: the second moment is free (cost 2 = that of u alone).

    >>> layout = MomentsLayout(start=-100, stride=2, steps=100, offset=0, presence="public", cells=1)
    >>> layout.mu(Relation.REPLACE_ONE, Widths(None, 100.0, 100.0**2 / 1.6))  # doctest: +ELLIPSIS
    2.00000...
    """

    start: int
    stride: int
    steps: int
    offset: int
    presence: Presence
    cells: int

    def __post_init__(self) -> None:
        if self.stride < 1 or self.steps < 1 or self.cells < 1 or self.presence not in ("public", "private"):
            raise ParameterError(
                "HG406", rule="A moments layout has a positive stride, steps and cells.", finding="Found another."
            )
        if self.steps > 2**24:
            raise ParameterError(
                "HG107", rule="A grid has at most 2²⁴ steps.", finding=f"Found {self.steps:,}.", remedy="Coarsen it."
            )
        if self.reach >= 2**31:
            raise ParameterError(
                "HG107",
                rule="Grid values must fit 31 bits as whole multiples of one unit.",
                finding="These bounds and this step share none that is coarse enough.",
                remedy="Choose a step of which the lower bound is a multiple, or a coarser one.",
            )

    @property
    def reach(self) -> int:
        """H = max |y|."""
        return max(abs(self.start), abs(self.start + self.stride * self.steps))

    def mu(self, relation: Relation, widths: Widths) -> float:
        """Return an upper bound on √(Σ d_i²/w_i²) over all neighbours."""
        same, one = self._worst(widths, power=2)
        return float(np.sqrt(self._largest(relation, same, one)) * _ROUND_UP)

    def pure(self, relation: Relation, widths: Widths) -> float:
        """Return an upper bound on Σ |d_i|/w_i over all neighbours."""
        same, one = self._worst(widths, power=1)
        return float(self._largest(relation, same, one) * _ROUND_UP)

    def _largest(self, relation: Relation, same: float, one: float) -> float:
        if relation is Relation.ADD_REMOVE:
            if self.presence == "public":
                raise ParameterError(
                    "HG406",
                    rule="Under add-remove nobody's presence is public.",
                    finding="The layout says it is.",
                )
            return one
        if self.presence == "public":
            return same
        # Across cells the two movements touch different coordinates, so their costs add up in either norm.
        return max(same, 2 * one if self.cells > 1 else one)

    def _worst(self, widths: Widths, *, power: int) -> tuple[float, float]:
        """Return the largest Σ (|d_i|/w_i)^power of a same-cell and of a one-sided pair."""
        y = self.start + self.stride * np.arange(self.steps + 1, dtype=np.float64)
        one = (np.abs(y) / widths.total) ** power
        if widths.count is not None:
            one = one + (1.0 / widths.count) ** power
        # For a difference d the sum y + y' is largest in size where the pair touches an end of the range.
        d = self.stride * np.arange(1, self.steps + 1, dtype=np.float64)
        same = (d / widths.total) ** power
        if widths.square is not None:
            one = one + (np.abs(y * y - self._subtracted(widths)) / widths.square) ** power
            high, low = float(y[-1]), float(y[0])
            both = np.maximum(np.abs(2 * high - d), np.abs(2 * low + d))
            same = same + (d * both / widths.square) ** power
        return float(same.max()), float(one.max())

    def _subtracted(self, widths: Widths) -> int:
        return self.offset if widths.count is not None else 0

    def integers(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return y for grid indices t."""
        return self.start + self.stride * index
