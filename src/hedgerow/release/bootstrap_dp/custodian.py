"""What only the custodian of D may know of a bootstrap-dp release: sensitivities, noise, intervals, accuracy, gains.

They are no part of the release, since the width of the noise is a fact about D. They are kept beside it for as long as
the process that drew it keeps it, under a token that holds nothing: a copy that was pickled, sent, written or read back
from a ledger has none. They refuse to be pickled and offer no other form than arrays in memory, and lines for the
custodian's own terminal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.inference.interval import parse_level
from hedgerow.mechanisms.laws import geometric_half_width

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
    values : float array, one entry a number
        The released numbers, in the column's unit.
    sensitivity : float array
        w_i: the noise of number i is two-sided geometric of scale w_i/ε, or a little above.
    scale : float array
        That scale, in steps of the grid.
    step : float or float array
        One step of each number's grid, in its unit.
    everywhere : float array, optional
        The sensitivity within the declared bounds, which ordinary differential privacy pays for; NaN without bounds.
    """

    __slots__ = ("_everywhere", "_scale", "_sensitivity", "_step", "_values")

    def __init__(
        self,
        values: Floats,
        sensitivity: Floats,
        scale: Floats,
        step: float | Floats,
        everywhere: float | Floats = math.nan,
    ) -> None:
        self._values, self._sensitivity, self._scale, self._step = values, sensitivity, scale, step
        self._everywhere = everywhere

    @property
    def sensitivity(self) -> Floats:
        """w_i of each number, in the column's unit."""
        return self._sensitivity.copy()

    @property
    def noise_sd(self) -> Floats:
        """Standard deviation of the noise on each number, in the column's unit: √(2α)/(1 − α), α = e^(−1/scale)."""
        return np.asarray(np.sqrt(2.0) * np.exp(-0.5 / self._scale) / -np.expm1(-1.0 / self._scale) * self._step)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high) of each number of this file, clamped as declared; sampling error not counted.

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

    def accuracy(self, gamma: float = 0.05) -> Floats:
        """Return h_i such that, with probability at least 1 − γ, the noise of EVERY number i stays within ± h_i.

        O'Keefe & Charest's γ-accuracy is 1/h_i (their Theorem 4, with its probability put right). Exact for the
        integers that were drawn: each of the k numbers stays within with probability (1 − γ)^(1/k).

        Raises
        ------
        ParameterError
            HG157: γ is no probability below 1.
        """
        kinds, places = np.unique(self._scale, return_inverse=True)
        k = len(self._scale)
        return np.array([geometric_half_width(one, cells=k, gamma=gamma) for one in kinds])[places] * self._step

    def gain(self, sensitivity: float | Floats | None = None) -> Floats:
        """Return Δf/Δ_D f of each number: by how much noise for `sensitivity` would be wider (their Result 12).

        Without one, Δf is that of the declared bounds; NaN where there are none, since the noise has no bound then.
        """
        everywhere = self._everywhere if sensitivity is None else sensitivity
        return np.asarray(np.broadcast_to(everywhere, self._sensitivity.shape) / self._sensitivity)

    def in_words(self, names: Sequence[str], *, level: float = 0.95) -> str:
        """Return the figures as lines for the custodian's terminal: no file and no report holds them."""
        gamma = 1.0 - parse_level(level)
        lines = ["CONFIDENTIAL, for the custodian of the data alone: who learns these learns about the extremes."]
        rows = zip(names, self._sensitivity, self.noise_sd, self.accuracy(gamma), self.gain(), strict=True)
        for name, width, sd, reach, gain in rows:
            gained = "" if math.isnan(gain) else f", gain {gain:.4g} over the declared bounds"
            lines.append(f"{name}: sensitivity {width:.6g}, noise sd {sd:.6g}, all within ± {reach:.6g}{gained}")
        return "\n".join([*lines, f"All numbers are within with probability {level:g} or a little more."])

    def __repr__(self) -> str:
        return f"CustodianFigures({len(self._values)} numbers; confidential, not part of the result)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "HG159",
            rule="What only the custodian may know of a bootstrap-dp release stays in the memory that drew it.",
            finding="It was to be pickled or copied.",
            remedy="Use the numbers where they are; publish nothing of them, nor anything computed from them.",
        )


def keep(figures: CustodianFigures) -> Token:
    """Store figures in memory and return a token for `figures_of`; they are dropped with the token."""
    token = Token()
    _KEPT[token] = figures
    return token


def figures_of(token: Token | None) -> CustodianFigures:
    """Return the figures kept under a token (HG159 where there are none)."""
    found = None if token is None else _KEPT.get(token)
    if found is None:
        raise ParameterError(
            "HG159",
            rule="What only the custodian may know of a bootstrap-dp release stays in the memory that drew it.",
            finding="This one was read back, sent or written, so it has none beside it.",
            remedy="Ask in the process that released it, before it ends.",
        )
    return found


class OfTheCustodian:
    """A result whose figures stay in the memory that drew it."""

    __slots__ = ()
    token: Token | None

    def for_the_custodian(self) -> CustodianFigures:
        """Return sensitivities, noise, intervals, accuracy and gains, for D's custodian: confidential, in memory alone.

        Raises
        ------
        ParameterError
            HG159: the release was read back, sent or written.
        """
        return figures_of(self.token)
