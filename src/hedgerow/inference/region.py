"""The values that a release does not reject, at any level: what every confidence interval is read from.

A region is of one number, or of each of several side by side (a cell each). Four kinds differ in what they rest on: a
score test, replicates, a record, and nothing at all where the width of the noise is confidential. All
is post-processing of what was released: it costs no budget.

A test of one value, made of an estimate's own intervals: it rejects at α where the interval at 1 − α excludes it.

So the p-value is the least α at which the interval excludes the value. It counts what the interval counts, sampling and
noise alike, and its level is one minus the coverage of the intervals: no second approximation is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.bootstrap.replicate_intervals import ALPHA, INTERVALS, file_error_parts, file_interval
from hedgerow.inference.bootstrap.replicate_summary import Replicates, StandardErrorParts, standard_error_parts
from hedgerow.inference.joint.arithmetic import FunctionsOfCells, JointCells, JointStatisticOfCells, JointValue
from hedgerow.inference.joint.estimates import JointEstimates
from hedgerow.inference.score_test import SingleTest

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Limits = tuple[Floats | float, Floats | float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Region:
    """The values of one or several numbers that are not rejected, at any level.

    Attributes
    ----------
    joint : JointValue or None
        What knows the joint law of the number with others; None where nothing does, as of replicates.
    moves : tuple of (scale, shift)
        What was done to the number since: it was multiplied by the scale, and the shift was added.
    """

    joint: JointValue | None = field(default=None, repr=False)
    moves: tuple[tuple[float, float], ...] = ()

    withheld: ClassVar[bool] = False
    """Whether the width of the noise is confidential, so that there is no interval."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Interval methods on offer, the default first."""
        raise NotImplementedError

    @property
    def records(self) -> float | None:
        """Of how many records a mean is, public or noisy; None of anything else."""
        return None

    @property
    def possible(self) -> tuple[float, float]:
        """The least and the most that are possible."""
        low, high = self._moved(self._limits())
        return float(np.min(low)), float(np.max(high))

    def interval(self, level: float, method: str | None = None) -> Ends:
        """Return (low, high) of each number at a level, by a method: the first of `methods` unless named."""
        return self._moved(self._accepted(level, method or self.methods[0]))

    def ends(self, level: float, method: str | None = None) -> tuple[float, float]:
        """Return (low, high) of one number at a level."""
        low, high = self.interval(level, method)
        return float(low[0]), float(high[0])

    def row(self, index: int) -> Region:
        """Return the region of one of several numbers: of one number, itself."""
        return self

    def moved(self, scale: float, shift: float, joint: JointValue | None) -> Self:
        """Return the region of scale · number + shift."""
        return replace(self, moves=(*self.moves, (scale, shift)), joint=joint)

    def with_alpha(self, method: str, alpha: object) -> Region:
        """Return the region whose conservative intervals have this α′ (HG108 where there are none, HG139)."""
        raise _no_alpha(method)

    def by_replicates(self) -> ReplicateRegion | None:
        """Return the region of the same number by its replicates; None where there are none."""
        return None

    def _limits(self) -> Limits:
        raise NotImplementedError

    def _accepted(self, level: float, method: str) -> Limits:
        raise NotImplementedError

    def _moved(self, ends: Limits) -> Ends:
        low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in ends)
        for scale, shift in self.moves:
            with np.errstate(over="ignore"):
                # Nothing is left of an infinite end where the scale is 0.
                first, second = (scale * end + shift if scale else np.full_like(end, shift) for end in (low, high))
            low, high = np.minimum(first, second), np.maximum(first, second)
        return low, high


def _no_alpha(method: str) -> ParameterError:
    return ParameterError(
        "HG108",
        rule="α′ belongs to the conservative intervals of a bootstrap.",
        finding=f"Found it beside {format_argument(method)}.",
        remedy="Ask for the conservative interval of a bootstrap release, or leave α′ out.",
    )


class ScoreTest(Protocol):
    """A test of each value of one or several numbers, read from what was released."""

    @property
    def method(self) -> str:
        """The name of the release's method."""
        ...

    @property
    def low(self) -> Floats | float:
        """The least that is possible."""
        ...

    @property
    def high(self) -> Floats | float:
        """The most that is possible."""
        ...

    def accepted(self, level: float, /) -> Limits:
        """Return the least and the most value of each number that is not rejected at a level."""
        ...

    def row(self, index: int, /) -> ScoreTest:
        """Return the test of one of the numbers."""
        ...


@dataclass(frozen=True, slots=True)
class LevelTest(SingleTest):
    """A test of one number whose accepted values are a function of the level.

    >>> ScoreRegion(LevelTest(lambda level: (-level, level), "gaussian")).ends(0.9)
    (-0.9, 0.9)
    """

    accepted: Callable[[float], tuple[float, float]]
    method: str
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRegion(Region):
    """The values that a score test does not reject.

    Attributes
    ----------
    test : ScoreTest
    column : JointCells, JointStatisticOfCells or FunctionsOfCells, optional
        Of several cells, what knows their joint laws.
    """

    test: ScoreTest
    column: JointCells | JointStatisticOfCells | FunctionsOfCells | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # A function of the user's own is not sent along, only the usual interval that it has.
        if self.joint is not None and not self.joint.is_sent:
            return RecordedRegion, (*self.ends(0.95), 0.95, self.test.method)
        return partial(ScoreRegion, self.test, self.column, joint=self.joint, moves=self.moves), ()

    @classmethod
    def of(cls, value: JointValue) -> ScoreRegion:
        """Return the region of a value that is computed with."""
        return cls(value, joint=value)

    @classmethod
    def of_cells(cls, read: JointEstimates) -> ScoreRegion:
        """Return the region of a function in all cells of a release."""
        cells = JointCells(read)
        return cls(cells, cells)

    @property
    def methods(self) -> tuple[str, ...]:
        """One method: that of the release."""
        return (self.test.method,)

    @property
    def records(self) -> float | None:
        """Of how many records a mean is, as the test of it reads them."""
        return self.joint.records if self.joint is not None and self.joint is self.test else None

    def row(self, index: int) -> ScoreRegion:
        """Return the region of one of several numbers."""
        joint = None if self.column is None else self.column.row(index)
        if joint is not None and self.column is self.test:
            return ScoreRegion.of(joint)
        return ScoreRegion(self.test.row(index), joint=joint)

    def _limits(self) -> Limits:
        return self.test.low, self.test.high

    def _accepted(self, level: float, method: str) -> Limits:
        return self.test.accepted(level)


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateRegion(Region):
    """The interval of the replicates of one number, cut to what is possible.

    Attributes
    ----------
    replicates : Replicates
    low, high : float
        What is possible: intervals are cut there.
    reliable : bool
        False: the interval is [low, high].
    default : str
        The interval method asked for.
    census : bool
        The target is the file: Student's interval on the replicates is the only one.
    margin : float
        Added at both ends: the farthest that rounding to an undeclared grid can have moved the target.
    alpha : float
        α' of the conservative intervals.
    averaged : float or None
        How many records a mean is of: public, or noisy; None of what is no mean.
    drawn : object or None
        The same object in all cells of one statistic of one release: their replicates were drawn with the same weights.
    origin : ReplicateRegion or None
        What was moved: combinations of it cancel where it is in both of their sides.
    terms, shift
        Of a linear combination of such cells: (factor, cell) each, and what is added; none of a cell itself.
    """

    replicates: Replicates
    low: float
    high: float
    reliable: bool
    default: str
    census: bool
    margin: float = 0.0
    alpha: float = ALPHA
    averaged: float | None = None
    drawn: object | None = field(default=None, repr=False)
    origin: ReplicateRegion | None = field(default=None, repr=False)
    terms: tuple[tuple[float, ReplicateRegion], ...] = field(default=(), repr=False)
    shift: float = 0.0

    @property
    def methods(self) -> tuple[str, ...]:
        """The default first."""
        if self.census:
            return ("student",)
        return (self.default, *(name for name in INTERVALS if name != self.default))

    @property
    def records(self) -> float | None:
        """How many records a mean is of."""
        return None if self.moves else self.averaged

    def with_alpha(self, method: str, alpha: object) -> ReplicateRegion:
        """Return the region whose conservative intervals have another α′ (HG108 by another method, HG139)."""
        if method != "conservative":
            raise _no_alpha(method)
        number = as_float(alpha)
        if number is None or not 0.0 <= number < 1.0:
            raise ParameterError(
                "HG139",
                rule="α′ must be a number with 0 ≤ α′ < 1.",
                finding=f"Found {format_argument(alpha)}.",
                remedy="Leave α′ at 0.05.",
            )
        return replace(self, alpha=number)

    def moved(self, scale: float, shift: float, joint: JointValue | None) -> ReplicateRegion:
        """Return the region of scale · number + shift."""
        return replace(self, moves=(*self.moves, (scale, shift)), origin=self.origin or self)

    def by_replicates(self) -> ReplicateRegion:
        """Return the region of the same number by its replicates, each moved as the number was."""
        region = self.origin or self
        for scale, shift in self.moves:
            region = region.scaled(scale, shift)
        return region

    def scaled(self, scale: float, shift: float) -> ReplicateRegion:
        """Return the region of scale · number + shift, by its replicates."""
        terms = self.terms or ((1.0, self),)
        return _linear([(scale * factor, cell) for factor, cell in terms], scale * self.shift + shift)

    def plus(self, other: ReplicateRegion) -> ReplicateRegion | None:
        """Return the region of the sum; None unless the replicates of both were drawn together."""
        if self.drawn is None or self.drawn is not other.drawn:
            return None
        factors: dict[int, float] = {}
        cells: dict[int, ReplicateRegion] = {}
        for region in (self, other):
            for factor, cell in region.terms or ((1.0, region),):
                factors[id(cell)] = factors.get(id(cell), 0.0) + factor
                cells[id(cell)] = cell
        return _linear([(factors[place], cell) for place, cell in cells.items()], self.shift + other.shift)

    def parts(self) -> StandardErrorParts:
        """Return the three parts of the standard error: the same whatever the interval beside it."""
        return (file_error_parts if self.census else standard_error_parts)(self.replicates)

    def _limits(self) -> Limits:
        return self.low, self.high

    def _accepted(self, level: float, method: str) -> Limits:
        """Return the interval at a level by a method, cut to what is possible.

        One about an estimate that is not possible is first moved to the nearest possible one, as score intervals are:
        that is nearer to every possible truth, and no interval shrinks to a point at the end of what is possible.
        """
        if not self.reliable:
            return self.low, self.high
        compute = file_interval if self.census else INTERVALS[method]
        how = {"alpha": self.alpha} if method == "conservative" else {}
        low, high = compute(self.replicates, level=level, **how)
        centre = (low + high) / 2.0
        moved = min(max(centre, self.low), self.high) - centre if math.isfinite(centre) else 0.0
        low, high = low + moved - self.margin, high + moved + self.margin
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)


def _linear(terms: Sequence[tuple[float, ReplicateRegion]], shift: float) -> ReplicateRegion:
    """Return the region of Σ factor · cell + shift, whose replicates are those sums, replicate by replicate.

    The noise of different cells is independent. What cells have in common by their weights is in the spread of the
    sums, and so is the part of the centre c, which becomes Σ factor · c + shift.
    """
    (_, first), reliable = terms[0], all(cell.reliable for _, cell in terms)
    drawn = [(factor, cell.replicates) for factor, cell in terms]
    ends = [sorted((factor * cell.low, factor * cell.high)) for factor, cell in terms if factor]
    centres = [factor * each.centre for factor, each in drawn if each.centre is not None]
    centred = len(centres) == len(drawn)
    mean = shift + math.fsum(factor * each.mean for factor, each in drawn)
    replicates = Replicates(mean, 0.0, first.replicates.n_resamples, 0.0)
    if reliable:
        replicates = Replicates.of(
            shift + sum(factor * np.array(each.estimates) for factor, each in drawn),
            noise_variance=math.fsum(factor**2 * each.noise_variance for factor, each in drawn),
            weights=first.replicates.weights,
            rate=first.replicates.rate,
            centre=shift + math.fsum(centres) if centred else None,
            n=first.replicates.n if centred else None,
        )
    return replace(
        first,
        replicates=replicates,
        low=shift + math.fsum(low for low, _ in ends),
        high=shift + math.fsum(high for _, high in ends),
        reliable=reliable,
        margin=math.fsum(abs(factor) * cell.margin for factor, cell in terms),
        averaged=None,
        terms=tuple(terms),
        shift=shift,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRegion(Region):
    """The interval on record; those of other levels are computed from the sums on record, where there are any.

    >>> RecordedRegion(1.0, 2.0, 0.95, "moments").moved(-2.0, 5.0, None).ends(0.95)
    (1.0, 3.0)
    """

    low: float
    high: float
    level: float
    method: str
    computed: Region | None = None

    def __post_init__(self) -> None:
        if self.joint is None and self.computed is not None:
            object.__setattr__(self, "joint", self.computed.joint)

    @property
    def methods(self) -> tuple[str, ...]:
        """The recorded method."""
        return (self.method,)

    def _limits(self) -> Limits:
        return (self.low, self.high) if self.computed is None else self.computed.possible

    def _accepted(self, level: float, method: str) -> Limits:
        """Return the recorded interval, or one at another level.

        Raises
        ------
        ParameterError
            HG108: another level than the recorded one, and the record does not tell how the estimate was computed.
        """
        if level == self.level:
            return self.low, self.high
        if self.computed is not None and self.joint is not None and self.joint.is_exact:
            return self.computed.interval(level)
        raise ParameterError(
            "HG108",
            rule="A release that was read from a record offers only intervals that the record contains or determines.",
            finding=f"That of this estimate is at level {self.level} alone.",
            remedy=f"Ask for level={self.level}. A test reads intervals at other levels: take it of the release, "
            "release[0].test(0), or of one by estimator='moments', whose record holds what a test needs.",
            shell=f"Ask for --level {self.level}. A test reads intervals at other levels: take it in Python of the "
            "release, or of one by --estimator moments, whose record holds what a test needs.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class WithheldRegion(Region):
    """The region of a number whose noise may not be told: everything."""

    withheld: ClassVar[bool] = True

    @property
    def methods(self) -> tuple[str, ...]:
        """A word in place of a method."""
        return ("withheld",)

    def _limits(self) -> Limits:
        return -math.inf, math.inf

    def _accepted(self, level: float, method: str) -> Limits:
        return self._limits()


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRegions(Region):
    """Regions of single numbers, side by side."""

    parts: Sequence[Region]

    @property
    def methods(self) -> tuple[str, ...]:
        """Those of the first; the same of all."""
        return self.parts[0].methods

    def row(self, index: int) -> Region:
        """Return the region of one number."""
        return self.parts[index]

    def _limits(self) -> Limits:
        low, high = np.array([part.possible for part in self.parts]).T
        return low, high

    def _accepted(self, level: float, method: str) -> Limits:
        low, high = np.array([part.ends(level, method) for part in self.parts]).T
        return low, high


_LEAST = 1e-12
_CLOSE = 4e-6  # in z
_FAR = 1e300
# Each level of this method has a convex programme of its own, of about a second; three are shipped.
_SOLVED = "calibrated"
_SHIPPED, _PLACES = (0.05, 0.01, 0.1), 6


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    """A two-sided test that the target of an estimate is one value.

    Attributes
    ----------
    statistic : float or None
        (estimate − value) / standard error; None where the noise leaves no standard error.
    pvalue : float
        The least α at which the interval at 1 − α excludes the value, 1 where none does: rounded up by less than
        1e-4 of it, and never below 1e-12. By calibrated intervals of a bootstrap it is rounded up to one
        significant digit, and never below 1e-6.
    value : float
        What was tested.
    method : str
        The method of the intervals.
    covers : str
        What the value is about, in words.
    """

    statistic: float | None
    pvalue: float
    value: float
    method: str
    covers: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        numbers = {"statistic": self.statistic, "pvalue": self.pvalue, "value": self.value}
        return {**numbers, "method": self.method, "covers": self.covers}

    def __str__(self) -> str:
        by = "" if self.statistic is None else f"z = {self.statistic:.3g}, "
        return f"test of {self.value:.15g}: {by}p = {self.pvalue:.3g} (two-sided; sampling and privacy noise counted)"


def pvalue_of(region: Region, value: float, method: str | None = None) -> float:
    """Return the least α at which a region at 1 − α excludes a value, by its first method unless one is named."""

    def outside(alpha: float) -> float:
        """Return by how much the value lies outside the region at 1 − α; below 0 inside."""
        low, high = region.ends(1.0 - alpha, method)
        return max(low - value, value - high)

    return _of_one_digit(outside) if (method or region.methods[0]) == _SOLVED else least_alpha(outside)


def least_alpha(outside: Callable[[float], float]) -> float:
    """Return the least α whose interval excludes the value, a little above; the reach is nearly linear in z.

    >>> round(least_alpha(lambda alpha: alpha - 0.0314), 5), least_alpha(lambda alpha: -1.0)
    (0.0314, 1.0)
    """
    from scipy.optimize import brentq

    from hedgerow.special import ndtr, ndtri

    def at(z: float) -> float:
        return min(max(outside(2.0 * float(ndtr(-z))), -_FAR), _FAR)

    last = -float(ndtri(_LEAST / 2.0))
    if at(last) > 0.0:
        return _LEAST
    if at(_CLOSE) <= 0.0:
        return 1.0
    root = brentq(at, _CLOSE, last, xtol=_CLOSE / 4.0)
    return 2.0 * float(ndtr(_CLOSE / 2.0 - root))


def _of_one_digit(outside: Callable[[float], float]) -> float:
    """Return the least α of one significant digit whose interval excludes the value, with few levels tried.

    >>> _of_one_digit(lambda alpha: alpha - 0.0314), _of_one_digit(lambda alpha: -1.0)
    (0.04, 1.0)
    """
    ladder = [float(f"{digit}e-{place}") for place in range(_PLACES, 0, -1) for digit in range(1, 10)]
    low, high = -1, len(ladder)
    while high - low > 1:
        inside = [place for place in map(ladder.index, _SHIPPED) if low < place < high]
        place = inside[0] if inside else (low + high) // 2
        low, high = (low, place) if outside(ladder[place]) > 0.0 else (place, high)
    return ladder[high] if high < len(ladder) else 1.0
