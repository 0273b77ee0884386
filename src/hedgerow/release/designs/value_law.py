"""The law of a column's values as a guess has it: what a forecast of quantiles, shares and bins rests on.

A mean and a standard deviation leave the law open. About a quantile its density decides the error, and laws with the
same mean and sd differ there: so a forecast reads all of `LAWS`, takes the widest interval, and says how far their
errors are apart. A guess of several quantiles, or of the kind of law, settles it.

====================  ==================================================================================================
kind                  law of x between the bounds L and U
====================  ==================================================================================================
beta                  (x − L)/(U − L) is beta with the guessed mean and sd
gamma                 x − L is gamma with the guessed mean and sd (exponential where sd = mean − L), clamped at U
lognormal             log(x − L) is normal, so that x has the guessed mean and sd, clamped at U
====================  ==================================================================================================

Gamma and lognormal stand upside down, U − x in place of x − L, where only a mean above the middle is guessed.

With quantiles, Φ⁻¹(F) is a line of log(1 + (x − L)/s) between guessed ones and on beyond them, s a tenth of the way
from L to the first. Of a lognormal law it is a line throughout but for s. Several probabilities of one value: an atom.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.release.designs.guess import LAWS, Guess, law_on_grid

Floats = NDArray[np.float64]
_UNIFORM = 1.0 / math.sqrt(12.0)  # the sd of a uniform law, over its range
_FIRST = 0.1  # of the way from the lower bound to the first guessed quantile: where the scale turns logarithmic


@dataclass(frozen=True, slots=True)
class ValueLaw:
    """A law of the values of a column.

    Attributes
    ----------
    column : str
    kind : str
        Of `LAWS`, or "quantiles".
    moments : (mean, sd)
        Of no use for "quantiles".
    quantiles : tuple of (probability, value)
        In order of both.
    mirrored : bool
        Whether the law is of the distance from the upper bound.
    remark : str
        What is added to its words.
    """

    column: str
    kind: str
    moments: tuple[float, float]
    quantiles: tuple[tuple[float, float], ...] = ()
    mirrored: bool = False
    remark: str = ""

    @property
    def words(self) -> str:
        """The law as a forecast names it.

        >>> ValueLaw("x", "quantiles", (0.0, 0.0), ((0.5, 20.0), (0.9, 60.0))).words
        'x with quantiles .5: 20, .9: 60'
        """
        if self.quantiles:
            listed = ", ".join(f"{share:g}: {value:.4g}".removeprefix("0") for share, value in self.quantiles)
            return f"{self.column} with quantiles {listed}{self.remark}"
        return f"{self.column} {self.kind} with mean {self.moments[0]:.4g}, sd {self.moments[1]:.4g}{self.remark}"

    def chances(self, grid: Grid) -> Floats:
        """Return the probability of each value of a grid, 0..S.

        >>> exponential = ValueLaw("x", "gamma", (10.0, 10.0)).chances(Grid.from_bounds("x", (0, 100), 1))
        >>> round(float(exponential[:7].sum()), 4)  # up to 6.5: 1 − e^−.65
        0.478
        """
        if self.kind == "beta":
            index, chance = law_on_grid(grid, *self.moments, most=grid.steps + 1)
            return np.bincount(index, weights=chance, minlength=grid.steps + 1).astype(np.float64)
        below = np.concatenate([[0.0], self._below(grid), [1.0]])
        return np.diff(1.0 - below[::-1] if self.mirrored else below)

    def _below(self, grid: Grid) -> Floats:
        """Return P(distance from the bound < e) at every half step that lies between two values."""
        from hedgerow.special import gammainc, ndtr

        low, high = grid.as_bounds()
        away = (np.arange(grid.steps, dtype=np.float64) + 0.5) * float(grid.step)
        if self.kind == "quantiles":
            return np.asarray(ndtr(self._normal(away, low)))
        mean, sd = (high - self.moments[0] if self.mirrored else self.moments[0] - low), self.moments[1]
        if self.kind == "gamma":
            return np.asarray(gammainc((mean / sd) ** 2, away * mean / sd**2))
        square = math.log1p((sd / mean) ** 2)
        return np.asarray(ndtr((np.log(away / mean) + square / 2.0) / math.sqrt(square)))

    def _normal(self, away: Floats, low: float) -> Floats:
        """Return Φ⁻¹ of the share below L + `away`, from the guessed quantiles."""
        from hedgerow.special import ndtri

        shares, values = (np.array(side) for side in zip(*self.quantiles, strict=True))
        places, normal = values - low, ndtri(shares)
        first = _FIRST * float(places[places > 0.0].min(initial=math.inf))
        scale = first if math.isfinite(first) else 1.0
        x, known = np.log1p(away / scale), np.log1p(places / scale)
        between = np.interp(x, known, normal)
        ends = np.flatnonzero(np.diff(known) > 0.0)
        if not len(ends):
            return np.where(x < known[0], -np.inf, np.where(x > known[0], np.inf, normal[0]))
        slopes = (np.diff(normal)[ends] / np.diff(known)[ends])[[0, -1]]
        below = normal[0] + slopes[0] * (x - known[0])
        above = normal[-1] + slopes[1] * (x - known[-1])
        return np.asarray(np.where(x < known[0], below, np.where(x > known[-1], above, between)))

    def settles(self, shares: tuple[float, ...]) -> bool:
        """Whether quantiles of these probabilities lie between guessed ones; a law of a kind has all of them."""
        return not self.quantiles or all(self.quantiles[0][0] <= share <= self.quantiles[-1][0] for share in shares)


def value_laws(guess: Guess, column: str, grid: Grid) -> Iterator[ValueLaw]:
    """Yield the laws that a guess leaves open; the uniform one alone where nothing is guessed.

    Raises
    ------
    ParameterError
        HG707: no values between the bounds have this mean and this standard deviation.
    """
    low, high = grid.as_bounds()
    if guess.quantiles:
        if not low <= guess.quantiles[0][1] <= guess.quantiles[-1][1] <= high:
            raise ParameterError(
                "HG707",
                rule="A guess must be possible for values between the bounds of the column.",
                finding=f"Column {column!r} has no such quantiles between [{low:g}, {high:g}].",
                remedy="Guess the quantiles of the values after clamping to the bounds.",
            )
        yield ValueLaw(column, "quantiles", (0.0, 0.0), guess.quantiles)
        return
    # The worst law for a quantile is not known, so the uniform one stands in.
    full = guess if guess.of_values else Guess(grid.centre, 2 * grid.half_range * _UNIFORM)
    mean, sd = sorted(full.moments(column, grid), key=lambda pair: abs(pair[0] - grid.centre))[0]
    # A law of no spread, or at a bound, is an atom, of which the beta law is a limit.
    plain = not guess.settled_moments or sd <= 0.0 or not low < mean < high
    for kind in ("beta",) if plain else LAWS if guess.law is None else (guess.law,):
        mirrored = kind != "beta" and guess.law is None and mean > grid.centre
        remark = " (assumed)" * (not guess.of_values) + " below the upper bound" * mirrored
        yield ValueLaw(column, kind, (mean, sd), mirrored=mirrored, remark=remark)
