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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.columns import Grid, Missing
from hedgerow.noise.source import NoiseSource
from hedgerow.release.bootstrap_dp.asked import OwnFunction
from hedgerow.release.bootstrap_dp.sensitivity import (
    bootstrap_sensitivity,
    maximum_sensitivity,
    minimum_sensitivity,
    quantile_sensitivity,
    total_sensitivity,
    variance_sensitivity,
)
from hedgerow.statistics.statistic import Statistic

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_REACH, _REACH_OF_SQUARES = 2**44, 2**20
SEARCHED = 200_000
_MANY = 4096
_RUNGS = 128  # to a doubling


@dataclass(frozen=True, slots=True)
class Number:
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
        lower, upper = (int(y[np.searchsorted(below, min(one, self.n - 1), "right")]) for one in (place, place + 1))
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
                found = total_sensitivity(np.append(ends, 0.0) if some_missing else ends)
            case "proportion":
                found = 1.0
            case "minimum":
                found = minimum_sensitivity(ends)
            case "maximum":
                found = maximum_sensitivity(ends)
            case "variance":
                found = math.ceil(variance_sensitivity(ends, n=self.n, ddof=1) * (1 + 1e-12)) + 1
            case _:
                found = self._quantile_width(ends)
        return max(1, int(found))

    def _quantile_width(self, ends: Floats) -> float:
        assert self.probability is not None  # of a quantile
        weight = self._weight[1]
        found = quantile_sensitivity(ends, self.probability, n=self.n)
        if weight == 0:
            return found
        return 2.0 * found if weight == Fraction(1, 2) else math.ceil(found * (1 + 1e-12)) + 1

    def _own_width(self, y: Integers, counts: Integers | None) -> int:
        assert self.own is not None
        if counts is None:
            return self.own.most
        rows = np.repeat(y, counts) * float(self.unit)
        if self.own.sensitivity is not None:
            return self.own.declared(rows)
        steps = self.own.steps
        found = bootstrap_sensitivity(lambda of: float(steps(of)), rows, symmetric=True, limit=searching(self.n))
        return int(found.certified())

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
