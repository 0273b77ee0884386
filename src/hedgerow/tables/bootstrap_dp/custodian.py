"""What only the custodian of D may know of a bootstrap-dp table: sensitivities, noise and intervals, in memory alone.

The noise of such a table is as wide as D makes it, so its width is a fact about D. These figures are therefore no part
of the table. They are kept beside it for as long as the process that drew it keeps the table, under a token that holds
nothing: a copy that was pickled, sent, written or read back from a ledger has none. They refuse to be pickled and
offer no other form than arrays in memory.
"""

from __future__ import annotations

from typing import NoReturn
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.inference.estimate import parse_level
from hedgerow.tables.accuracy import geometric_half_width

Floats = NDArray[np.float64]


class Token:
    """Names what was drawn in this process, and holds nothing."""

    __slots__ = ("__weakref__",)

    def __repr__(self) -> str:
        return "Token()"


_KEPT: WeakKeyDictionary[Token, CustodianFigures] = WeakKeyDictionary()


class CustodianFigures:
    """Confidential: whoever has these learns about the extremes of D. Never written, printed or sent.

    Parameters
    ----------
    values : float array, one entry a cell
        The released numbers, in the column's unit.
    sensitivity : float array
        w_i: the noise of cell i is two-sided geometric of scale w_i/ε, or a little above.
    scale : float array
        That scale, in steps of the grid.
    step : float
        One step of the grid, in the column's unit.
    """

    __slots__ = ("_scale", "_sensitivity", "_step", "_values")

    def __init__(self, values: Floats, sensitivity: Floats, scale: Floats, step: float) -> None:
        self._values, self._sensitivity, self._scale, self._step = values, sensitivity, scale, step

    @property
    def sensitivity(self) -> Floats:
        """w_i of each cell, in the column's unit."""
        return self._sensitivity.copy()

    @property
    def noise_sd(self) -> Floats:
        """Standard deviation of the noise on each cell, in the column's unit: √(2α)/(1 − α), α = e^(−1/scale)."""
        return np.asarray(np.sqrt(2.0) * np.exp(-0.5 / self._scale) / -np.expm1(-1.0 / self._scale) * self._step)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell's own number in this file, clamped as declared; sampling error not counted.

        Exact for the integers that were drawn; each holds by itself with probability `level` or a little more.

        Raises
        ------
        ParameterError
            HG110: the level is not between 0 and 1.
        """
        gamma = 1.0 - parse_level(level)
        kinds, places = np.unique(self._scale, return_inverse=True)
        widths = np.array([geometric_half_width(scale, gamma=gamma) for scale in kinds])[places] * self._step
        return self._values - widths, self._values + widths

    def __repr__(self) -> str:
        return f"CustodianFigures({len(self._values)} cells; confidential, not part of the table)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "HG159",
            rule="What only the custodian may know of a bootstrap-dp table stays in the memory that drew it.",
            finding="It was to be pickled or copied.",
            remedy="Use the numbers where they are; publish nothing of them, nor anything computed from them.",
        )


def keep(figures: CustodianFigures) -> Token:
    """Keep figures for as long as the token that is returned lives."""
    token = Token()
    _KEPT[token] = figures
    return token


def figures_of(token: Token | None) -> CustodianFigures:
    """Return the figures kept under a token (HG159 where there are none)."""
    found = None if token is None else _KEPT.get(token)
    if found is None:
        raise ParameterError(
            "HG159",
            rule="What only the custodian may know of a bootstrap-dp table stays in the memory that drew it.",
            finding="This table was read back, sent or written, so it has none beside it.",
            remedy="Ask in the process that released the table, before it ends.",
        )
    return found
