"""What is guessed about a column without its data, for a forecast; what is not guessed is taken at its worst.

A mean and a standard deviation determine a forecast of means and sums. A user's own statistic needs a whole law: a beta
distribution between the bounds with that mean and standard deviation, columns independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.facts.given import real

_EXAMPLE = 'For example {"age": {"mean": 45, "sd": 18}, "employed": {"share": 0.6}}.'


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess about one column.

    Attributes
    ----------
    mean, sd : float or None
        Of its values.
    share : float or None
        Of the records whose value is that of a proportion.
    missing : float
        The share of its values that are missing.
    """

    mean: float | None = None
    sd: float | None = None
    share: float | None = None
    missing: float = 0.0

    def moments(self, column: str, grid: Grid) -> list[tuple[float, float]]:
        """Return [(mean, sd)]; if one is not guessed, several pairs, one of which gives the worst forecast.

        Between bounds with centre c and half-range H, sd² ≤ H² − (mean − c)².

        Raises
        ------
        ParameterError
            HG707: no values between the bounds have this mean and this standard deviation.

        Examples
        --------
        >>> Guess(sd=30.0).moments("age", Grid.from_bounds("age", (0, 100)))
        [(10.0, 30.0), (50.0, 30.0), (90.0, 30.0)]
        """
        centre, half = grid.centre, grid.half_range
        off = 0.0 if self.mean is None else abs(self.mean - centre)
        most = math.sqrt(max(0.0, half**2 - off**2))
        if off > half * (1 + 1e-9) or (self.sd is not None and self.sd > most * (1 + 1e-9)):
            raise ParameterError(
                "HG707",
                rule="A guess must be possible between the bounds of its column.",
                finding=f"Between [{centre - half:g}, {centre + half:g}], column {column!r} has no such mean and sd.",
                remedy="The mean lies between the bounds, and sd² ≤ (high − mean)(mean − low).",
            )
        if self.mean is not None:
            return [(self.mean, most if self.sd is None else self.sd)]
        if self.sd is not None:
            away = math.sqrt(max(0.0, half**2 - self.sd**2))
            return [(centre - away, self.sd), (centre, self.sd), (centre + away, self.sd)]
        return [(centre - half, 0.0), (centre, half), (centre + half, 0.0)]

    def shares(self) -> list[float]:
        """Return the share, or the candidates among which the worst is."""
        return [0.5, 0.0, 1.0] if self.share is None else [self.share]

    @property
    def of_values(self) -> bool:
        """Whether anything is guessed about the values."""
        return self.mean is not None or self.sd is not None


def parse_guesses(guess: object) -> dict[str, Guess]:
    """Check a guess as a call gives it.

    Raises
    ------
    ParameterError
        HG707: an unknown key, or a number out of its range.

    Examples
    --------
    >>> parse_guesses({"age": {"mean": 45, "sd": 18}})
    {'age': Guess(mean=45.0, sd=18.0, share=None, missing=0.0)}
    """
    if guess is None:
        return {}
    if not isinstance(guess, Mapping):
        raise _impossible("A guess names columns.")
    return {str(column): _parsed(str(column), given) for column, given in guess.items()}


def _parsed(column: str, given: object) -> Guess:
    if isinstance(given, Guess):
        return given
    known = [one.name for one in fields(Guess)]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise _impossible(f"That of column {column!r} has something else than {', '.join(known)}.")
    numbers: dict[str, float] = {}
    for name, value in given.items():
        number = real(value)
        low = -math.inf if name == "mean" else 0.0
        high = 1.0 if name in ("share", "missing") else math.inf
        if number is None or not low <= number <= high:
            raise _impossible(f"{name!r} of column {column!r} is out of its range.")
        numbers[name] = number
    return Guess(**numbers)


def law_on_grid(grid: Grid, mean: float, sd: float, *, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return grid indices, at most about `most` of them, and their probabilities: a beta law of this mean and sd.

    >>> index, probability = law_on_grid(Grid.from_bounds("x", (0, 1)), 0.5, 0.1, most=33)
    >>> len(index), round(float(probability @ index) / 1024, 6)
    (33, 0.5)
    """
    from scipy.special import betainc

    index = np.unique(np.rint(np.linspace(0, grid.steps, min(most, grid.steps + 1))).astype(np.int64))
    low, high = grid.as_bounds()
    place = min(max((mean - low) / (high - low), 0.0), 1.0)
    variance = (sd / (high - low)) ** 2
    concentration = place * (1.0 - place) / variance - 1.0 if variance > 0 else math.inf
    if not 1e-3 < concentration < 1e8 or not 0.0 < place < 1.0:
        # No spread, or all of it at the two ends: what the beta laws tend to.
        ends = index[[0, -1]] if concentration <= 1e-3 else np.repeat(np.rint(place * grid.steps).astype(np.int64), 2)
        return np.asarray(ends, dtype=np.int64), np.array([1.0 - place, place])
    edges = np.concatenate([[0.0], (index[1:] + index[:-1]) / (2.0 * grid.steps), [1.0]])
    cumulative = betainc(place * concentration, (1.0 - place) * concentration, edges)
    return index, np.diff(cumulative)


def _impossible(finding: str) -> ParameterError:
    return ParameterError(
        "HG707",
        rule="A guess gives each column numbers that are possible: mean, sd, share, missing.",
        finding=finding,
        remedy=_EXAMPLE,
        shell="For example --guess age:mean=45,sd=18, or --guess employed:share=0.6.",
    )
