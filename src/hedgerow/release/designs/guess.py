"""What is guessed about a column without its data, for a forecast; what is not guessed is taken at its worst.

A mean and a standard deviation determine a forecast of means and sums. Other statistics need a whole law: a beta
distribution between the bounds with that mean and standard deviation. Columns are independent of each other, or have
the guessed correlations by a Gaussian copula: each is a monotone function of one of several normal numbers.

Expected errors of a design, by the inference itself: it reads expected totals instead of released ones.

No error formula is repeated here. A design reads tables of expected totals plus noise at equally likely quantiles, and
its results are averaged over the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import UnitLimit
from hedgerow.facts.validation import as_float
from hedgerow.inference.estimates_of_cells import Cells
from hedgerow.inference.interval import quantiles_of
from hedgerow.noise.lattice import AdditiveTable

_EXAMPLE = 'For example {"age": {"mean": 45, "sd": 18, "correlation": {"income": 0.3}}, "employed": {"share": 0.6}}.'
LAWS = ("beta", "gamma", "lognormal")
_LEAST = 1e-6  # probability of a guessed quantile
_RECORDS = 4096
_MOST = 0.99999
_UNIFORM = 1.0 / math.sqrt(12.0)  # the sd of a uniform law, over its range
Correlations = Mapping[tuple[str, str], float]


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
    correlation : {column: number}
        With other columns; 0 with those that are not named.
    law : "beta", "gamma", "lognormal" or None
        Of values with this mean and sd, for quantiles and shares; None where it is not guessed.
    quantiles : tuple of (probability, value)
        Of the values, in order; they take the place of mean, sd and law in forecasts of quantiles and shares.
    """

    mean: float | None = None
    sd: float | None = None
    share: float | None = None
    missing: float = 0.0
    correlation: Mapping[str, float] = field(default_factory=dict)
    law: str | None = None
    quantiles: tuple[tuple[float, float], ...] = ()

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
                rule="A guess must be possible for values between the bounds of the column.",
                finding=f"Between [{centre - half:g}, {centre + half:g}], column {column!r} has no such mean and sd.",
                remedy="The mean must lie between the bounds, and sd² ≤ (high − mean)(mean − low) must hold.",
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

    def in_words(self, mean: float, sd: float) -> str:
        """Return what a forecast of a mean rests on.

        >>> Guess(mean=2.0).in_words(2.0, 1.0)
        'mean 2, sd 1 (sd the worst)'
        """
        if self.share is not None:
            return f"share {self.share:g}"
        worst = [] if self.mean is not None else ["mean"]
        worst += [] if self.sd is not None else ["sd"]
        said = f"mean {_four_digits(mean)}, sd {_four_digits(sd)}"
        return said + (f" ({' and '.join(worst)} the worst)" if worst else "")

    def share_in_words(self, share: float) -> str:
        """Return what a forecast of a share rests on."""
        return f"share {share:g}" + (" (the worst)" if self.share is None else "")

    @property
    def of_values(self) -> bool:
        """Whether a mean or a standard deviation of the values is guessed."""
        return self.mean is not None or self.sd is not None

    @property
    def settled_moments(self) -> bool:
        """Whether both are."""
        return self.mean is not None and self.sd is not None


def _four_digits(value: float) -> str:
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e15 else f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class SupposedCell:
    """A cell as a forecast supposes it.

    Attributes
    ----------
    guesses : mapping of str to Guess
    records : float
        Of the cell, without those that a missing value leaves out.
    level : float
        The confidence level of the interval.
    tables : dict
        The tables that were supposed before in this forecast, and what was read of them: statistics of one release
        share them.
    """

    guesses: Mapping[str, Guess]
    records: float
    level: float
    tables: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def of(self, column: str | None) -> Guess:
        """Return the guess about a column."""
        return self.guesses.get(str(column), Guess())

    def laws(
        self, grids: Sequence[tuple[str, Grid]], stated: Correlations | None = None
    ) -> tuple[dict[str, tuple[float, float]], str]:
        """Return the (mean, sd) of columns, and the same in words."""
        pairs, words = {}, []
        for column, grid in grids:
            guess = self.of(column)
            # The worst law for a function of several means is not known, so the uniform one stands in.
            full = guess if guess.of_values else Guess(grid.centre, 2 * grid.half_range * _UNIFORM)
            mean, sd = sorted(full.moments(column, grid), key=lambda pair: abs(pair[0] - grid.centre))[0]
            pairs[column] = (mean, sd)
            words.append(f"{column} beta with mean {mean:.4g}, sd {sd:.4g}" + " (assumed)" * (not guess.of_values))
        related = [
            f"correlation of {first} and {second} {number:.3g}"
            for (first, second), number in (stated or {}).items()
            if first in pairs and second in pairs
        ]
        return pairs, "; ".join(words) + (", " + (", ".join(related) or "independent")) * (len(words) > 1)


def share_beyond(guess: Guess, limit: UnitLimit) -> float | None:
    """Return the share of rows beyond a limit, by a guess of rows per unit under its column; None without a guess.

    The rows beyond the first of a unit are negative binomial with the guessed mean and sd, Poisson where the sd is too
    small for that; by default geometric. Rows beyond the limit are dropped.

    Raises
    ------
    ParameterError
        HG707: a mean below 1.

    Examples
    --------
    >>> round(share_beyond(Guess(mean=3.0, sd=2.0), UnitLimit("person", 4)), 3)
    0.146
    >>> share_beyond(Guess(), UnitLimit("person", 4)) is None
    True
    """
    if guess.mean is None:
        return None
    if guess.mean < 1.0:
        raise _impossible("A unit that counts has a row at least, so rows per unit have a mean of 1 or more.")
    further = guess.mean - 1.0
    variance = further * (1.0 + further) if guess.sd is None else guess.sd**2
    shape = further**2 / (variance - further) if variance > further else math.inf
    # P(k) of k further rows, from k = 0 on.
    chance = math.exp(-further) if math.isinf(shape) else (shape / (shape + further)) ** shape
    kept = float(limit.max_rows)
    for k in range(limit.max_rows - 1):
        kept -= (limit.max_rows - 1 - k) * chance
        rise = further if math.isinf(shape) else (shape + k) * further / (shape + further)
        chance *= rise / (k + 1)
    return max(0.0, 1.0 - kept / guess.mean)


def dropped_in_words(guess: Guess, limit: UnitLimit) -> str:
    """Return what share of the guessed rows per unit a limit leaves out, behind a semicolon; nothing without a guess.

    >>> four = UnitLimit("person", 4)
    >>> dropped_in_words(Guess(mean=3.0, sd=2.0), four), dropped_in_words(Guess(), four)
    ('; of the rows guessed 14.6 % are dropped', '')
    """
    beyond = share_beyond(guess, limit)
    return "" if beyond is None else f"; of the rows guessed {100.0 * beyond:.3g} % are dropped"


def parse_guesses(guess: object) -> dict[str, Guess]:
    """Check a guess as a call gives it.

    Raises
    ------
    ParameterError
        HG707: an unknown key, or a number out of its range.

    Examples
    --------
    >>> parse_guesses({"age": {"mean": 45, "sd": 18}})
    {'age': Guess(mean=45.0, sd=18.0, share=None, missing=0.0, correlation={}, law=None, quantiles=())}
    """
    if guess is None:
        return {}
    if not isinstance(guess, Mapping):
        raise _impossible("A guess names columns.")
    parsed = {str(column): _parsed(str(column), given) for column, given in guess.items()}
    correlations(parsed)
    return parsed


def _parsed(column: str, given: object) -> Guess:
    if isinstance(given, Guess):
        return given
    known = [parameter.name for parameter in fields(Guess)]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise _impossible(f"That of column {column!r} has something else than {', '.join(known)}.")
    numbers: dict[str, float] = {}
    for name, value in given.items():
        if name not in ("correlation", "law", "quantiles"):
            low, high = -math.inf if name == "mean" else 0.0, 1.0 if name in ("share", "missing") else math.inf
            numbers[name] = _number(column, name, value, (low, high))
    listed = given.get("correlation", {})
    if not isinstance(listed, Mapping):
        raise _impossible(f"That of column {column!r} names no columns for its correlation.")
    stated = {str(other): _number(column, "correlation", value, (-1.0, 1.0)) for other, value in listed.items()}
    law = given.get("law")
    if law is not None and (law not in LAWS or not {"mean", "sd"} <= set(numbers)):
        raise _impossible(f"The law of column {column!r} is one of {', '.join(LAWS)}, beside its mean and sd.")
    return Guess(**numbers, correlation=stated, law=law, quantiles=_quantiles(column, given.get("quantiles", {})))


def _quantiles(column: str, given: object) -> tuple[tuple[float, float], ...]:
    """Return the guessed quantiles in order of their probabilities."""
    listed = given.items() if isinstance(given, Mapping) else [(None, None)]
    pairs = [
        (
            _number(column, "quantiles", share, (_LEAST, 1.0 - _LEAST)),
            _number(column, "quantiles", value, (-math.inf, math.inf)),
        )
        for share, value in listed
    ]
    pairs.sort(key=lambda pair: pair[0])
    values = [value for _, value in pairs]
    if len(values) == 1 or values != sorted(values):
        raise _impossible(f"Those of column {column!r} are two or more quantiles, which rise with their probabilities.")
    return tuple(pairs)


def _number(column: str, name: str, value: object, limits: tuple[float, float]) -> float:
    number = as_float(value)
    if number is None or not limits[0] <= number <= limits[1]:
        raise _impossible(f"{name!r} of column {column!r} is out of its range.")
    return number


def correlations(guesses: Mapping[str, Guess]) -> dict[tuple[str, str], float]:
    """Return the guessed correlation of each pair of columns, names in order.

    Raises
    ------
    ParameterError
        HG707: a pair has two of them, or a column one with itself.

    >>> correlations({"x": Guess(correlation={"a": 0.5})})
    {('a', 'x'): 0.5}
    """
    stated: dict[tuple[str, str], float] = {}
    for column, guess in guesses.items():
        for other, number in guess.correlation.items():
            first, second = sorted((column, other))
            if first == second or stated.setdefault((first, second), number) != number:
                raise _impossible(f"Columns {first!r} and {second!r} have no such correlation, or two of them.")
    return stated


def laws_of(
    grids: Mapping[str, Grid], guesses: Mapping[str, Guess], middling: Mapping[str, tuple[float, float]]
) -> list[tuple[str, Grid, tuple[float, float]]]:
    """Return the (mean, sd) of each column: as guessed, else middling, in half-ranges about the centre.

    Raises
    ------
    ParameterError
        HG707: no values between the bounds have this mean and this standard deviation.
    """
    laws = []
    for column, grid in grids.items():
        guess, (mean, sd) = guesses.get(column, Guess()), middling[column]
        known = Guess(
            grid.centre + grid.half_range * mean if guess.mean is None else guess.mean,
            grid.half_range * sd if guess.sd is None else guess.sd,
        )
        laws.append((column, grid, known.moments(column, grid)[0]))
    return laws


def typical_records(laws: Sequence[tuple[str, Grid, tuple[float, float]]], stated: Correlations) -> NDArray[np.int64]:
    """Return 4,096 records of grid indices, each column with the beta law of its (mean, sd): (records, columns).

    A Kronecker sequence runs through the laws evenly. The correlation of two normal numbers that gives their columns
    the guessed one is found by bisection.

    Raises
    ------
    ParameterError
        HG707: columns of these laws cannot have these correlations.
    """
    from hedgerow.special import ndtr, ndtri

    names = [column for column, *_ in laws]
    even = np.modf(np.arange(1, _RECORDS + 1)[:, None] * np.modf(np.sqrt(_primes(len(names))))[0])[0]
    indices = [law_on_grid(grid, *moments, most=1025) for _, grid, moments in laws]

    def column(place: int, level: NDArray[np.float64]) -> NDArray[np.int64]:
        index, probability = indices[place]
        at = np.searchsorted(np.cumsum(probability), level)
        return np.asarray(index[np.minimum(at, len(index) - 1)])

    normal = ndtri(even)
    matrix = np.eye(len(names))
    for (first, second), wanted in stated.items():
        if first in names and second in names:
            i, j = names.index(first), names.index(second)

            def reached(mixed: float, i: int = i, j: int = j) -> float:
                other = mixed * normal[:, i] + math.sqrt(1.0 - mixed**2) * normal[:, j]
                return _correlation(column(i, even[:, i]), column(j, ndtr(other)))

            matrix[i, j] = matrix[j, i] = _solved(reached, wanted)
    if math.isnan(matrix.sum()) or np.linalg.eigvalsh(matrix)[0] < 1e-6:
        raise _impossible(f"Columns {', '.join(names)} of these means and spreads cannot be so correlated.")
    if (matrix != np.eye(len(names))).any():
        even = ndtr(normal @ np.linalg.cholesky(matrix).T)
    return np.stack([column(place, even[:, place]) for place in range(len(names))], axis=1)


def _primes(count: int) -> NDArray[np.float64]:
    """Return the first primes; the n-th is below 2n·log₂(n + 2)."""
    most = int(2.0 * count * math.log2(count + 2.0)) + 2
    primes = (
        candidate
        for candidate in range(2, most)
        if all(candidate % smaller for smaller in range(2, math.isqrt(candidate) + 1))
    )
    return np.array(list(islice(primes, count)), dtype=np.float64)


def _correlation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    spreads = float(first.std() * second.std())
    return float(np.mean((first - first.mean()) * (second - second.mean()))) / spreads if spreads else 0.0


def _solved(reached: Callable[[float], float], wanted: float) -> float:
    """Return where a rising function is as wanted between ±1; NaN where it is nowhere."""
    if wanted == 0.0:
        return 0.0
    low, high = -_MOST, _MOST
    if not reached(low) - 0.005 <= wanted <= reached(high) + 0.005:
        return math.nan
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) > wanted else (middle, high)
    return 0.5 * (low + high)


def law_on_grid(grid: Grid, mean: float, sd: float, *, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return grid indices, at most about `most` of them, and their probabilities: a beta law of this mean and sd.

    >>> index, probability = law_on_grid(Grid.from_bounds("x", (0, 1)), 0.5, 0.1, most=33)
    >>> len(index), round(float(probability @ index) / 1024, 6)
    (33, 0.5)
    """
    from hedgerow.special import betainc

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
        rule="A guess may give these values for each column: mean, sd, law, quantiles, share, missing, correlations.",
        finding=finding,
        remedy=_EXAMPLE,
        shell="For example --guess age:mean=45,sd=18, --guess income:quantile.0.5=22000,quantile.0.9=60000, or --guess "
        "employed:share=0.6.",
    )


Floats = NDArray[np.float64]
_NODES = {"count": 3}
EQUAL_CELLS = "cells of equal size"
"""What a forecast of a count rests on, in words."""


@dataclass(frozen=True, slots=True)
class ExpectedReading:
    """Errors and interval of one cell, averaged over the noise; the errors are None where the noise hides the cell."""

    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    width: float
    reliable: bool

    @classmethod
    def hidden(cls, width: float) -> ExpectedReading:
        """Return what is read of a cell that noise hides."""
        return cls(None, None, None, width, False)


@dataclass(frozen=True, slots=True)
class GuessedReading:
    """What would be read if a guess were true.

    Attributes
    ----------
    reading : ExpectedReading
    guess : str
        The guess in words.
    value : float or None
        The value of the statistic by the guess; None for a function of one's own.
    settled : bool
        Whether the guess settles the law of the values, where the standard error depends on all of it.
    """

    reading: ExpectedReading
    guess: str
    value: float | None = None
    settled: bool = True


def average_reading(
    read: Callable[[AdditiveTable], Cells],
    totals: Mapping[str, float],
    spread: Floats,
    law: str,
    *,
    level: float,
) -> ExpectedReading:
    """Return what is read of one cell of these expected totals, averaged over the noise on them."""
    # As many cells as there are noises: cells are read apart from one another, all in one step.
    cells = read(_noisy_table(totals, spread, law))
    low, high = cells.region.interval(level)
    width = _mean(high - low)
    clear = ~np.isnan(cells.standard_error)
    if 2 * int(clear.sum()) < len(clear):
        return ExpectedReading.hidden(width)
    parts = cells.sampling_error, cells.bootstrap_error, cells.privacy_error
    sampling, bootstrap, privacy = (_mean(part[clear]) for part in parts)
    reliable = 2 * int(np.asarray(cells.reliable).sum()) > len(clear)
    return ExpectedReading(sampling, bootstrap, privacy, width, reliable)


def _noisy_table(totals: Mapping[str, float], spread: Floats, law: str) -> AdditiveTable:
    """Return a table whose cells have the same expected totals, and noise at equally likely places."""
    usual = 7 if law == "gaussian" else 5
    noise = np.array(list(itertools.product(*(_places(law, _NODES.get(name, usual)) for name in totals))))
    values = np.array(list(totals.values())) + noise * spread
    return AdditiveTable(({},) * len(values), tuple(totals), values, spread, law)


@cache
def _places(law: str, count: int) -> tuple[float, ...]:
    """Return equally likely values of a law of mean 0, scaled to variance 1."""
    from hedgerow.special import ndtri

    levels = (np.arange(count) + 0.5) / count
    if law == "gaussian":
        nodes = ndtri(levels)
    else:
        nodes = np.array([math.copysign(_quantile(law, abs(2.0 * level - 1.0)), level - 0.5) for level in levels])
    return tuple((nodes / math.sqrt(float(np.mean(nodes**2)))).tolist())


def _quantile(law: str, level: float) -> float:
    """Return the half-width that holds a noise of sd 1 with this probability."""
    return float(quantiles_of(law, level, np.zeros(1), np.ones(1))[0]) if level > 0.0 else 0.0


def _mean(column: Floats) -> float:
    return math.fsum(column.tolist()) / len(column)
