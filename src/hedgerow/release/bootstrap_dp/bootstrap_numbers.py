"""One number under bootstrap-dp: what is drawn, exactly, in integers of a public unit, and how wide its noise is.

Values become integers y of one public unit, and a release draws q + Z, Z two-sided geometric of scale w/ε, where q is a
whole number computed from the y and w bounds |q(D1) − q(D2)| over neighbours in Dⁿ. With V = max y − min y over D:

==================  ===================================  =======================================  ==================
number              q                                    w                                        one step of q
==================  ===================================  =======================================  ==================
total               Σ y                                  V (of the y and 0, where rows have none)  unit
mean                Σ y                                  V                                        unit/n
share               how many                             1, whatever D is                         1/n
minimum, maximum    y₍₁₎, y₍ₙ₎                           V                                        unit
quantile, g = 0     y₍k₎                                 V                                        unit
quantile, g = ½     y₍k₎ + y₍k+1₎                        V                                        unit/2
quantile, other g   (1 − g)·y₍k₎ + g·y₍k+1₎, rounded     ⌈max(g, 1 − g)·V⌉ + 1                    unit
variance            Σ(y − ȳ)²/(n − 1), rounded           ⌈V²/n⌉ + 1                               unit²
own function        the answer, rounded                  by search, or as declared                its answers' step
==================  ===================================  =======================================  ==================

Rounding two numbers to integers changes their difference by less than 1, hence the + 1. w is never below 1: a number
that no D' in Dⁿ changes would otherwise go out exactly, and tell that it cannot be changed.

Where no bounds are declared y is x/step, rounded and moved to ± `reach` steps: a public limit on what is added up (2⁴⁴;
2²⁰·√n for a variance), that bounds no noise.

What bootstrap-dp releases beside the statistics of differential privacy: extremes, and functions of one's own.

They are asked of rows as they are. Under differential privacy the least and the greatest value have no useful release,
and the sensitivity of a function of one's own is not known; `Survey.release` refuses them there (HG112).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid, Missing, checked_column
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.keywords import takes
from hedgerow.noise.lattice import NoiseSource
from hedgerow.release.bootstrap_dp.sensitivity import (
    bootstrap_sensitivity,
    maximum_sensitivity,
    minimum_sensitivity,
    quantile_sensitivity,
    total_sensitivity,
    variance_sensitivity,
)
from hedgerow.statistics.statistic import Statistic, code_of

Function = Callable[[NDArray[np.float64]], Any]
_MOST = 2.0**40


@dataclass(frozen=True, slots=True)
class OfRows:
    """An extreme of a column, or a function of one's own of its sorted values.

    Attributes
    ----------
    kind : "minimum", "maximum", or the name of the function
    column : str
    step : float or None
        The distance of neighbouring values, public; the facts' where it is None.
    own : OwnFunction or None
    """

    kind: str
    column: str
    step: float | None = None
    own: OwnFunction | None = None


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function of one's own, in whole steps of its answers: what it returns on any rows is a whole number.

    Attributes
    ----------
    function : callable
    low, high, step : float
        Answers outside are moved to the nearest end, no number to the lower one.
    sensitivity : callable or None
        Takes all values of D and returns Δ_D f as declared; None: found by trying all pairs of neighbours.
    """

    function: Function = field(compare=False)
    low: float
    high: float
    step: float
    sensitivity: Function | None = field(default=None, compare=False)

    @property
    def most(self) -> int:
        """The largest difference of two answers, in steps."""
        return round((self.high - self.low) / self.step)

    def steps(self, rows: ArrayLike) -> int:
        """Return the answer on some rows, in steps above the least one; whatever the function does, it is a number."""
        answer = _number(self.function, np.sort(np.asarray(rows, dtype=np.float64)), otherwise=self.low)
        return round(min(max(answer - self.low, 0.0), self.high - self.low) / self.step)

    def declared(self, rows: ArrayLike) -> int:
        """Return the declared sensitivity in steps, with what rounding of two answers adds."""
        assert self.sensitivity is not None  # the caller asks first
        width = _number(self.sensitivity, np.asarray(rows, dtype=np.float64), otherwise=self.high - self.low)
        return min(self.most, int(np.ceil(min(abs(width), self.high - self.low) / self.step)) + 2)

    def public_record(self) -> list[Any]:
        """Return what tells it from another, as plain JSON data."""
        return [self.low, self.high, self.step, code_of(self.function), code_of(self.sensitivity)]


def _number(function: Function, rows: NDArray[np.float64], *, otherwise: float) -> float:
    """Return what a function of the user returns; a failure would tell of the data, so it counts as `otherwise`."""
    try:
        with np.errstate(all="ignore"):
            answer = float(function(rows))
    except Exception:
        return otherwise
    return otherwise if np.isnan(answer) else answer


@takes()
def minimum(column: str, *, step: float | None = None) -> OfRows:
    """Request the smallest value of a column; only the guarantee bootstrap-dp allows this request.

    Parameters
    ----------
    column : str
        The name of a numeric column.
    step : float, optional
        The distance between neighbouring possible values of the column.

    Returns
    -------
    OfRows
        The request. Pass the request to `Survey.release` with ``guarantee="bootstrap-dp"``.

    Raises
    ------
    ParameterError
        HG105 to HG107: the step is not a positive number.

    Examples
    --------
    >>> minimum("income", step=1).kind
    'minimum'
    """
    return _extreme("minimum", column, step)


@takes()
def maximum(column: str, *, step: float | None = None) -> OfRows:
    """Request the largest value of a column; only the guarantee bootstrap-dp allows this request; see `minimum`.

    Parameters
    ----------
    column : str
        The name of a numeric column.
    step : float, optional
        The distance between neighbouring possible values of the column.

    Returns
    -------
    OfRows
        The request. Pass the request to `Survey.release` with ``guarantee="bootstrap-dp"``.

    Raises
    ------
    ParameterError
        HG105 to HG107: the step is not a positive number.

    Examples
    --------
    >>> maximum("income", step=1).column
    'income'
    """
    return _extreme("maximum", column, step)


def _extreme(kind: Literal["minimum", "maximum"], column: str, step: float | None) -> OfRows:
    return OfRows(kind, checked_column(column), step)


@takes()
def own_function(
    column: str,
    function: Function,
    *,
    answers: tuple[float, float],
    answer_step: float,
    step: float | None = None,
    sensitivity: Function | None = None,
    name: str = "function",
) -> OfRows:
    """Request a user-defined function of the values of a column; only the guarantee bootstrap-dp allows this request.

    The size of the noise is proportional to the bootstrap sensitivity of the function (O'Keefe & Charest, Definitions 9
    and 10). hedgerow finds the sensitivity by trying all pairs of neighbouring data sets, which is possible for a file
    of few rows; for larger files declare the sensitivity.

    Parameters
    ----------
    column : str
    function : callable
        A function that takes a sorted array of n values and returns a number. If the function fails or returns no
        number, its result counts as the lower end of `answers`.
    answers : (low, high)
        The lowest and the highest result that the function can return, chosen without a look at the data. A result
        outside this range is replaced by the nearest end of the range.
    answer_step : float
        The step of the grid of possible results: each result is rounded to `low` plus a whole multiple of the step. The
        range may contain at most 2⁴⁰ multiples of the step.
    step : float, optional
        The distance between neighbouring possible values of the column.
    sensitivity : callable, optional
        A function that takes all n values and returns the sensitivity of `function` over all data sets of n values. The
        privacy guarantee holds only if the declared sensitivity is right.
    name : str
        The name under which the statistic is printed.

    Returns
    -------
    OfRows
        The request. Pass the request to `Survey.release` with ``guarantee="bootstrap-dp"``.

    Raises
    ------
    ParameterError
        HG112: the argument `answers` is not a range, or the step does not divide the range.

    Examples
    --------
    >>> import numpy as np
    >>> asked = own_function("income", np.ptp, answers=(0, 1_000), answer_step=1, sensitivity=np.ptp, name="range")
    >>> asked.own.steps([3.0, 10.0])
    7
    """
    ends = [as_float(end) for end in answers] if isinstance(answers, (tuple, list)) else []
    stride = as_float(answer_step)
    if len(ends) == 2 and None not in ends and stride is not None and stride > 0.0:
        low, high = (float(end) for end in ends if end is not None)
        if low < high and (high - low) / stride <= _MOST:
            own = OwnFunction(function, low, high, stride, sensitivity)
            return OfRows(name, checked_column(column), step, own)
    raise ParameterError(
        "HG112",
        rule="The results of your function need a declared range with at most 2⁴⁰ grid steps.",
        finding=f"Found answers={format_argument(answers)}, answer_step={format_argument(answer_step)}.",
        remedy="Declare the range and the grid step of the results, for example answers=(0, 100_000), answer_step=10.",
    )


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_REACH, _REACH_OF_SQUARES = 2**44, 2**20
SEARCHED = 200_000
_MANY = 4096
_RUNGS = 128  # to a doubling


@dataclass(frozen=True, slots=True)
class BootstrapNumber:
    """One number, as planned from public facts.

    Attributes
    ----------
    kind, column : str
    n : int
        Rows of D, public.
    step : Fraction
        Of values, where no bounds are declared.
    grid : Grid or None
        Declared bounds and step.
    missing : Missing
    epsilon : float
        Its part of the price.
    probability : float or None
        Of a quantile.
    own : OwnFunction or None
    indicator : Statistic or None
        The share that is counted.
    """

    kind: str
    column: str
    n: int
    step: Fraction
    grid: Grid | None
    missing: Missing
    epsilon: float
    probability: float | None = None
    own: OwnFunction | None = None
    indicator: Statistic | None = None

    @property
    def name(self) -> str:
        """The name of the estimate."""
        return f"quantile_{self.probability:g}" if self.kind == "quantile" else self.kind

    @property
    def reach(self) -> int:
        """How many steps from 0 a value may lie without declared bounds."""
        return _REACH_OF_SQUARES * max(1, math.isqrt(self.n)) if self.kind == "variance" else _REACH

    @property
    def unit(self) -> Fraction:
        """One integer y, in the column's unit."""
        return self.step if self.grid is None else self.grid.about_zero()[2]

    @property
    def pitch(self) -> Fraction:
        """One step of what is drawn, in the unit of the number."""
        if self.own is not None:
            return Fraction(self.own.step)
        match self.kind:
            case "mean":
                return self.unit / self.n
            case "proportion":
                return Fraction(1, self.n)
            case "variance":
                return self.unit**2
            case "quantile":
                return self.unit / 2 if self._weight[1] == Fraction(1, 2) else self.unit
        return self.unit

    @property
    def offset(self) -> Fraction:
        """What 0 of what is drawn is, in the unit of the number."""
        return Fraction(0) if self.own is None else Fraction(self.own.low)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest y that can be: public."""
        if self.grid is None:
            return -self.reach, self.reach
        start, stride, _ = self.grid.about_zero()
        return start, start + stride * self.grid.steps

    def widest(self) -> int:
        """Return the greatest w of any D: from public facts."""
        return self.width(np.array(self.ends), some_missing=self.missing is Missing.DROP)

    def everywhere(self) -> float:
        """Return the greatest w of any D within the declared bounds, in the unit of the number; NaN without bounds."""
        known = self.grid is not None or self.kind == "proportion"
        return float(self.widest() * self.pitch) if known and self.own is None else math.nan

    def placed(self, x: Floats) -> Integers:
        """Return values as integers y."""
        if self.grid is None:
            return np.clip(np.rint(x / float(self.step)), -self.reach, self.reach).astype(np.int64)
        start, stride, _ = self.grid.about_zero()
        index = np.floor((x - float(self.grid.lower)) / float(self.grid.step) + 0.5)
        return start + stride * np.clip(index, 0, self.grid.steps).astype(np.int64)

    @property
    def fill(self) -> int:
        """What a missing value counts as, where it counts as the midpoint of the bounds."""
        low, high = self.ends
        return (low + high) // 2

    @property
    def _weight(self) -> tuple[int, Fraction]:
        """The place of the lower of two order statistics, from 0, and the weight of the upper one."""
        place = (self.n - 1) * Fraction(self.probability or 0.0)
        return math.floor(place), place - math.floor(place)

    def exact(self, y: Integers, counts: Integers) -> int:
        """Return q, of different y with how many rows have each."""
        order = np.argsort(y)
        y, counts = y[order], counts[order]
        match self.kind:
            case "minimum" if self.own is None:
                return int(y[0])
            case "maximum" if self.own is None:
                return int(y[-1])
            case "variance" if self.own is None:
                total, squares = _sum(y, counts), _sum(y.astype(object) ** 2, counts)
                return round(Fraction(self.n * squares - total**2, self.n * (self.n - 1)))
            case "quantile" if self.own is None:
                return self._quantile(y, counts)
        return _sum(y, counts) if self.own is None else self.own.steps(np.repeat(y, counts) * float(self.unit))

    def _quantile(self, y: Integers, counts: Integers) -> int:
        place, weight = self._weight
        below = np.cumsum(counts)
        lower, upper = (int(y[np.searchsorted(below, min(row, self.n - 1), "right")]) for row in (place, place + 1))
        if weight == Fraction(1, 2):
            return lower + upper
        return round((1 - weight) * lower + weight * upper)

    def width(self, y: Integers, *, some_missing: bool = False, counts: Integers | None = None) -> int:
        """Return w, of the different y of D; at least 1."""
        if self.own is not None:
            return max(1, self._own_width(y, counts))
        ends = np.array([y.min(), y.max()], dtype=np.float64) if len(y) else np.zeros(1)
        match self.kind:
            case "sum" | "mean":
                width = total_sensitivity(np.append(ends, 0.0) if some_missing else ends)
            case "proportion":
                width = 1.0
            case "minimum":
                width = minimum_sensitivity(ends)
            case "maximum":
                width = maximum_sensitivity(ends)
            case "variance":
                width = math.ceil(variance_sensitivity(ends, n=self.n, ddof=1) * (1 + 1e-12)) + 1
            case _:
                width = self._quantile_width(ends)
        return max(1, int(width))

    def _quantile_width(self, ends: Floats) -> float:
        assert self.probability is not None  # of a quantile
        weight = self._weight[1]
        width = quantile_sensitivity(ends, self.probability, n=self.n)
        if weight == 0:
            return width
        return 2.0 * width if weight == Fraction(1, 2) else math.ceil(width * (1 + 1e-12)) + 1

    def _own_width(self, y: Integers, counts: Integers | None) -> int:
        assert self.own is not None
        if counts is None:
            return self.own.most
        rows = np.repeat(y, counts) * float(self.unit)
        if self.own.sensitivity is not None:
            return self.own.declared(rows)
        steps = self.own.steps
        width = bootstrap_sensitivity(lambda of: float(steps(of)), rows, symmetric=True, limit=searching(self.n))
        return int(width.certified())

    def record(self) -> list[Any]:
        """Return what tells it from another, as plain JSON data."""
        bounds = None if self.grid is None else [str(self.grid.lower), str(self.grid.upper), self.grid.steps]
        known: list[Any] = [self.name, str(self.column), str(self.step), bounds, str(self.missing), self.epsilon]
        known += [] if self.own is None else [self.own.public_record()]
        return known if self.indicator is None else [*known, self.indicator.public_record()]


def searching(n: int) -> int:
    """Return how many pairs of neighbours n rows have at most, if all differ: public, whatever D is.

    >>> searching(4)
    120
    """
    return math.comb(2 * n - 2, n - 1) * n * (n - 1) // 2


def _sum(y: NDArray[Any], counts: Integers) -> int:
    return int(np.dot(y.astype(object), counts.astype(object))) if len(y) else 0


def least_scale(width: float, epsilon: float) -> float:
    """Return the least float b with b·ε ≥ w, exactly: rounding never narrows the noise.

    >>> least_scale(1.0, 0.1) * 0.1 >= 1.0
    True
    """
    scale = width / epsilon
    while Fraction(scale) * Fraction(epsilon) < Fraction(width):
        scale = math.nextafter(scale, math.inf)
    return scale


def _on_ladder(widths: Floats) -> Floats:
    """Return widths rounded up by 0.6 % at most, so that a large table needs thousands of samplers, not one per cell.

    >>> wider = _on_ladder(np.array([1.0, 1000.0, 1001.0])) / np.array([1.0, 1000.0, 1001.0])
    >>> bool((wider >= 1.0).all() and (wider < 1.006).all())
    True
    """
    rungs = np.ceil(_RUNGS * np.log2(widths))
    return np.asarray(np.exp2(rungs / _RUNGS) * (1.0 + 1e-12))


def draw(sums: NDArray[Any], widths: Floats, epsilon: float, noise: NoiseSource) -> tuple[NDArray[np.object_], Floats]:
    """Return each cell's integer plus its noise, exactly, and the scales b_i it was drawn from: w_i/ε or above."""
    kinds, places = np.unique(widths, return_inverse=True)
    if len(kinds) > _MANY:
        kinds, places = np.unique(_on_ladder(widths), return_inverse=True)
    scales = np.array([least_scale(float(width), epsilon) for width in kinds])
    drawn = np.zeros(len(widths), dtype=np.int64)
    for kind, scale in enumerate(scales):
        chosen = places == kind
        drawn[chosen] = noise.two_sided_geometric(float(scale), int(chosen.sum()))
    return sums.astype(object) + drawn.astype(object), scales[places]
