"""Smooth functions of the totals of a release: the statistics by name, a user's own, and their gradients.

Features are scaled to [−1, 1]; the totals T = (N, S) of one cell stand in one row. A function takes complex totals too,
so that a complex step gives its gradient to the last digit: h(T + i·ε·e_j) = h(T) + i·ε·∂h/∂T_j.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.user_code import each_alone, silence

Floats = NDArray[np.float64]
Numbers = NDArray[Any]  # float or complex
_STEP = 1e-30
_DIFFERENCE = 1e-6
_UNDEFINED = complex(math.nan, math.nan)
_TRIALS = 8
_AGREEMENT = 1e-5
_KINDS: dict[str, type[FunctionOfTotals]] = {}


@dataclass(frozen=True, slots=True)
class ScaledMean:
    """The mean of one scaled feature in the column's unit: centre + half·S/N.

    ``place`` is that of S in the totals, ``base`` that of N: of all records, or, where the feature may be missing, of
    the feature that is 1 where it is present. Of units and of weighted records it is the place of the number of rows.

    With weights from 0 to ``most`` a record counts as w/most rows.
    """

    place: int
    centre: float = 0.0
    half: float = 1.0
    base: int = 0
    most: float = 1.0

    def number(self, totals: Numbers) -> Numbers:
        """Return the number of records, or the sum of their weights over the largest: what a mean divides by."""
        n: Numbers = totals[:, self.base]
        return n

    def mean(self, totals: Numbers) -> Numbers:
        """Return the mean in the column's unit."""
        return self.centre + self.half * totals[:, self.place] / self.number(totals)

    def total(self, totals: Numbers) -> Numbers:
        """Return the sum in the column's unit."""
        return self.most * (self.centre * self.number(totals) + self.half * totals[:, self.place])

    def along(self, size: int) -> Floats:
        """Return the slopes of the sum at totals of this size."""
        slopes = np.zeros(size)
        slopes[self.base] += self.centre
        slopes[self.place] += self.half
        return self.most * slopes

    def counting(self) -> ScaledMean:
        """Return the axis whose sum is the number of records, or the sum of their weights."""
        return replace(self, centre=1.0, half=0.0)


class FunctionOfTotals:
    """A smooth function of the totals of cells that stand side by side; by default one of means.

    A subclass with a `kind` goes on record under this name, which never changes, and is read again from there: it is a
    frozen dataclass whose fields are numbers, axes and other such functions. A statistic defines its function in its
    own file.

    Attributes
    ----------
    homogeneous : bool
        Whether doubling all totals leaves the value as it is, as for every function of means.
    is_sent : bool
        Whether it can be sent to another process, and stand on record: code of the user's own cannot.
    is_exact : bool
        Whether it is the function that was released, and not its tangent.
    has_poles : bool
        Whether it may have any value where the noise swamps what it divides by.
    moves_ends : bool
        Whether the ends of an interval are moved by the bias that is taken off the estimate.
    read_as : str
        ``"mean"``, ``"sum"`` or ``"count"`` where it is read by the formulas of these; else ``"function"``.
    mean_of : ScaledMean or None
        The axis of which it is the mean; None of another function.
    squared : CovarianceOfTotals or None
        The variance of which it is the root; None of another function.
    """

    __slots__ = ()
    homogeneous = is_sent = is_exact = has_poles = True
    moves_ends = False
    read_as = "function"
    mean_of: ScaledMean | None = None
    squared: CovarianceOfTotals | None = None

    kind: ClassVar[str]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "kind" in vars(cls):
            # A dataclass with slots is made twice.
            before = _KINDS.setdefault(cls.kind, cls)
            if (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"two functions of totals are called {cls.kind!r}")
            _KINDS[cls.kind] = cls

    @property
    def low(self) -> float:
        """The least that is possible."""
        return self._limits()[0]

    @property
    def high(self) -> float:
        """The most that is possible."""
        return self._limits()[1]

    def _limits(self) -> tuple[float, float]:
        raise NotImplementedError

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row: complex array (rows, 1 + d) → (rows,)."""
        raise NotImplementedError

    def estimate(self, totals: Floats, excess: Floats) -> Floats:
        """Return the value without the bias of products of means; ``excess`` is the covariance of the totals."""
        return np.asarray(self(totals.astype(complex)).real)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what must be at least two standard deviations of its noise: the value divides by it."""
        return [totals[:, 0]]

    def weighted(self, most: float) -> FunctionOfTotals:
        """Return it for records with weights from 0 to `most`: only a sum has their unit."""
        return self

    def quotient(self, size: int) -> tuple[Floats, Floats] | None:
        """Return, of a ratio of two sums, the slopes of both at totals of this size; None of another function."""
        return None

    def second_order(self, totals: Floats, noise: Floats) -> Floats | float:
        """Return the variance of noise with this covariance beyond that of its tangent."""
        return 0.0


@dataclass(frozen=True, slots=True)
class MeanOfTotals(FunctionOfTotals):
    """The mean of a column."""

    kind: ClassVar[str] = "mean"
    x: ScaledMean

    read_as = "mean"

    @property
    def mean_of(self) -> ScaledMean:  # type: ignore[override]  # None of other functions
        """The axis of which it is the mean."""
        return self.x

    def quotient(self, size: int) -> tuple[Floats, Floats]:
        """Return the slopes of the sum and of the number of records that have the feature."""
        return self.x.along(size), self.x.counting().along(size)

    def _limits(self) -> tuple[float, float]:
        return self.x.centre - self.x.half, self.x.centre + self.x.half

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.x.mean(totals)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return [self.x.number(totals)]


@dataclass(frozen=True, slots=True)
class SumOfTotals(FunctionOfTotals):
    """The sum of a column, or with half 0 and centre 1 the number of records."""

    kind: ClassVar[str] = "total"
    x: ScaledMean
    limits: tuple[float, float] = (-math.inf, math.inf)

    homogeneous = False

    @property
    def read_as(self) -> str:  # type: ignore[override]  # a constant in most functions
        """As a sum or a number of records."""
        return "sum" if self.x.place else "count"

    def of_records(self, least: float, most: float) -> SumOfTotals:
        """Return it with the limits that so many records, none more and none fewer, set to it."""
        ends = self.x.centre - self.x.half, self.x.centre + self.x.half
        sums = [end * self.x.most * records if end else 0.0 for end in ends for records in (least, most)]
        return replace(self, limits=(min(sums), max(sums)))

    def _limits(self) -> tuple[float, float]:
        return self.limits

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.x.total(totals)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return []

    def weighted(self, most: float) -> SumOfTotals:
        """Return it for records with weights from 0 to `most`."""
        return replace(self, x=replace(self.x, most=most))


@dataclass(frozen=True, slots=True)
class RatioOfTotals(FunctionOfTotals):
    """Σx / Σy."""

    kind: ClassVar[str] = "ratio"
    x: ScaledMean
    y: ScaledMean

    def quotient(self, size: int) -> tuple[Floats, Floats]:
        """Return the slopes of both sums."""
        return self.x.along(size), self.y.along(size)

    def _limits(self) -> tuple[float, float]:
        return -self._most(-1.0), self._most(1.0)

    def _most(self, sign: float) -> float:
        """Return the largest sign·Σx/Σy over the bounds."""
        least, most = self.y.centre - self.y.half, self.y.centre + self.y.half
        top = sign * self.x.centre + self.x.half
        if least < 0.0:
            return math.inf
        if top <= 0.0:
            return top / most
        return top / least if least > 0.0 else math.inf

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.x.total(totals) / self.y.total(totals)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return [self.y.total(totals)]


@dataclass(frozen=True, slots=True)
class CovarianceOfTotals(FunctionOfTotals):
    """E xy − E x · E y; the variance where x is y.

    ``product`` is the place of Σ of the scaled product. All three are over the records of ``x.base``.

    The estimate is unbiased: the sampling and the noise covariance of the two means are taken off their product.
    """

    kind: ClassVar[str] = "covariance"
    x: ScaledMean
    y: ScaledMean
    product: int

    moves_ends = True

    def second_order(self, totals: Floats, noise: Floats) -> Floats:
        """Return the noise variance of the product of two means beyond its tangent: V_xx V_yy + V_xy²."""
        x, y = self.x, self.y
        n = np.maximum(totals[:, x.base], 1.0)
        first, second, both = (noise[a.place, b.place] * a.half * b.half / n**2 for a, b in ((x, x), (y, y), (x, y)))
        return np.asarray(first * second + both**2)

    def _limits(self) -> tuple[float, float]:
        most = self.x.half * self.y.half
        return 0.0 if self.x == self.y else -most, most

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        n = totals[:, self.x.base]
        means = totals[:, self.x.place] / n * (totals[:, self.y.place] / n)
        return self.x.half * self.y.half * (totals[:, self.product] / n - means)

    def estimate(self, totals: Floats, excess: Floats) -> Floats:
        """Return the unbiased covariance."""
        base = self.x.base
        n = totals[:, base]
        bias = excess[:, self.x.place, self.y.place]
        bias = bias - totals[:, self.x.place] / n * excess[:, base, self.y.place]
        bias = bias - totals[:, self.y.place] / n * excess[:, base, self.x.place]
        bias = bias + totals[:, self.x.place] * totals[:, self.y.place] / n**2 * excess[:, base, base]
        return np.asarray(self(totals).real + self.x.half * self.y.half * bias / n**2)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return [totals[:, self.x.base]]


@dataclass(frozen=True, slots=True)
class DeviationOfTotals(FunctionOfTotals):
    """The standard deviation: the root of a variance; not defined where that is negative."""

    kind: ClassVar[str] = "deviation"
    variance: CovarianceOfTotals

    @property
    def squared(self) -> CovarianceOfTotals:  # type: ignore[override]  # None of other functions
        """The variance."""
        return self.variance

    def _limits(self) -> tuple[float, float]:
        return 0.0, self.variance.x.half

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return _root(self.variance(totals))

    def estimate(self, totals: Floats, excess: Floats) -> Floats:
        """Return the root of the unbiased variance."""
        return np.asarray(_root(self.variance.estimate(totals, excess).astype(complex)).real)

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return [totals[:, self.variance.x.base], self.variance(totals)]


@dataclass(frozen=True, slots=True)
class CorrelationOfTotals(FunctionOfTotals):
    """Cov(x, y) / √(Var x · Var y); not defined where a variance is negative."""

    kind: ClassVar[str] = "correlation"
    covariance: CovarianceOfTotals
    first: CovarianceOfTotals
    second: CovarianceOfTotals

    has_poles = False

    def _limits(self) -> tuple[float, float]:
        return -1.0, 1.0

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self._of(*(part(totals) for part in (self.covariance, self.first, self.second)))

    def estimate(self, totals: Floats, excess: Floats) -> Floats:
        """Return the correlation of the unbiased covariance and variances."""
        parts = (part.estimate(totals, excess).astype(complex) for part in (self.covariance, self.first, self.second))
        return np.asarray(self._of(*parts).real)

    def _of(self, covariance: Numbers, first: Numbers, second: Numbers) -> Numbers:
        return np.asarray(covariance / (_root(first) * _root(second)))

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return [totals[:, self.covariance.x.base], self.first(totals), self.second(totals)]


def _root(numbers: Numbers) -> Numbers:
    """Return the square root, NaN where the real part is not positive (a complex root would hide it)."""
    defined = numbers.real > 0.0
    return np.where(defined, np.sqrt(np.where(defined, numbers, 1.0)), np.nan)


@dataclass(frozen=True, slots=True)
class UserFunctionOfTotals(FunctionOfTotals):
    """A user's smooth function of the means of columns: {name: mean} → number. Made by `smooth_function`.

    ``by_differences``: the function does not take complex numbers, so that its slope is a central difference.
    """

    function: Callable[[Mapping[str, Any]], Any]
    columns: tuple[tuple[str, ScaledMean], ...]
    limits: tuple[float, float] = (-math.inf, math.inf)
    by_differences: bool = False

    is_sent = False

    def _limits(self) -> tuple[float, float]:
        return self.limits

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return self.of_means(np.stack([axis.mean(totals) for _, axis in self.columns], axis=1))

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        bases = {axis.base: axis for _, axis in self.columns}
        return [bases[base].number(totals) for base in sorted(bases)]

    @silence()
    def of_means(self, means: Numbers) -> Numbers:
        """Return the value at each row of means, NaN where the function is not defined, or has no real value."""
        moving, real = means.imag.any(axis=1), means.real
        if self.by_differences:
            size = np.abs(means.imag[moving]).max(axis=1)
            step, value = _DIFFERENCE * means.imag[moving] / size[:, None], self._called(real)
            rise = (self._called(real[moving] + step) - self._called(real[moving] - step)) / (2.0 * _DIFFERENCE)
            value[moving] += 1j * size * rise
        elif moving.all():
            value = self._called(means)
        else:
            value = self._called(real)
            value[moving] = self._called(means[moving])
        # Python's power of a negative number is complex.
        return np.where(moving | (value.imag == 0.0), value, math.nan)

    def _called(self, means: Numbers) -> Numbers:
        names = [name for name, _ in self.columns]
        rows = ((dict(zip(names, row, strict=True)),) for row in means.tolist())
        return np.array(each_alone(lambda row: complex(self.function(row)), rows, _UNDEFINED), dtype=complex)


def recorded_kinds() -> Mapping[str, type[FunctionOfTotals]]:
    """Return the functions that a record names, by their `kind`: of every file that was imported.

    >>> sorted(recorded_kinds())[:3]
    ['correlation', 'covariance', 'deviation']
    """
    return _KINDS


@silence()  # once, and not for each of the 14,000 trial calls
def smooth_function(
    function: Callable[[Mapping[str, Any]], Any],
    columns: Mapping[str, ScaledMean],
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> UserFunctionOfTotals:
    """Return a user's function of means after a trial on public points, before any data are read.

    Parameters
    ----------
    function : callable
        {name: mean} → number; smooth within the bounds.
    columns : {name: Axis}
        The columns whose means it takes.
    limits : (low, high)
        What is possible for the value.

    Raises
    ------
    ParameterError
        HG112: it fails at every public point. HG129: it has a corner or a jump, or its slope by a complex step is not
        that by differences, as of the absolute value of a complex number.

    Examples
    --------
    >>> axes = {"income": ScaledMean(1, 50.0, 50.0), "size": ScaledMean(2, 4.5, 3.5)}
    >>> head = smooth_function(lambda t: t["income"] / t["size"], axes)
    >>> head.by_differences, head.of_means(np.array([[60.0, 3.0]])).real.tolist()
    (False, [20.0])
    >>> smooth_function(lambda t: abs(t["x"]), {"x": ScaledMean(1)})
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: ...
    """
    plain = UserFunctionOfTotals(function, tuple(columns.items()), limits)
    points = _trial_points(plain)
    values = plain.of_means(points).real
    usable = points[np.isfinite(values)]
    if not len(usable):
        raise ParameterError(
            "HG112",
            rule="A function of means takes {name: mean} and returns a number.",
            finding="The function returned no number for means within the bounds.",
            remedy="Its means are: " + ", ".join(list(columns)[:20]) + ".",
        )
    tangents = [_slopes(plain, point) for point in usable]
    if all(np.isnan(exact).any() for exact, _ in tangents):
        plain = replace(plain, by_differences=True)
    elif not all(_agree(exact, measured) for exact, measured in tangents):
        raise _not_smooth("Its slope by a complex step differs from that by differences.")
    if any(_has_corner(plain, first, second) for first, second in pairwise(usable)):
        raise _not_smooth("It has a corner or a jump within the bounds.")
    return plain


def _not_smooth(finding: str) -> ParameterError:
    return ParameterError(
        "HG129",
        rule="A function of means must be smooth, because its error is computed from its slope.",
        finding=finding,
        remedy="Leave out abs, min, max, round and comparisons; or use hg.bootstrap.",
    )


def _trial_points(function: UserFunctionOfTotals) -> Floats:
    """Return fixed points in the inner four fifths of the bounds (a Kronecker sequence)."""
    centre = np.array([axis.centre for _, axis in function.columns])
    half = np.array([axis.half for _, axis in function.columns])
    steps = np.arange(1, _TRIALS + 1)[:, None] * np.modf(np.pi ** np.arange(1, len(centre) + 1))[0]
    return np.asarray(centre + 0.8 * half * (2.0 * (steps % 1.0) - 1.0))


def _slopes(function: UserFunctionOfTotals, point: Floats) -> tuple[Floats, Floats]:
    """Return the gradient at a point by a complex step and by central differences, in units of the half-ranges."""
    half = np.diag([axis.half for _, axis in function.columns])
    exact = function.of_means(point + 1j * _STEP * half).imag / _STEP
    measured = (function.of_means(point + 1e-5 * half) - function.of_means(point - 1e-5 * half)).real / 2e-5
    return exact, measured


def _agree(exact: Floats, measured: Floats) -> bool:
    scale = float(np.abs(measured).max()) + 1e-12
    return bool((np.abs(exact - measured) <= _AGREEMENT * scale + 1e-7).all()) or not np.isfinite(measured).all()


def _has_corner(function: UserFunctionOfTotals, start: Floats, end: Floats) -> bool:
    """Whether second differences along a line do not shrink with the square of the step.

    They shrink 16-fold with a quarter of the step where the function is smooth, 4-fold at a corner and not at a jump.
    A line that passes a pole tells nothing.
    """
    fine = function.of_means(start + np.linspace(0.0, 1.0, 257)[:, None] * (end - start)).real
    size = np.abs(fine)
    if not np.isfinite(fine).all() or size.max() > 1e3 * np.median(size) + 1e-300:
        return False
    bends = np.abs(np.diff(fine[::4], 2)).max(), np.abs(np.diff(fine, 2)).max()
    return bool(bends[1] > max(bends[0] / 7.0, 1e-9 * size.max()))


def gradient(function: FunctionOfTotals | Callable[[Numbers], Numbers], totals: Floats) -> Floats:
    """Return the gradient of a function of totals in each row, by a complex step: float array like ``totals``.

    >>> mean = MeanOfTotals(ScaledMean(1, 10.0, 2.0))
    >>> gradient(mean, np.array([[4.0, 2.0]])).tolist()
    [[-0.25, 0.5]]
    """
    slopes = np.empty_like(totals)
    with np.errstate(all="ignore"):
        for place in range(totals.shape[1]):
            moved = totals.astype(complex)
            moved[:, place] += 1j * _STEP
            slopes[:, place] = function(moved).imag / _STEP
    return slopes


def value_of(function: FunctionOfTotals | Callable[[Numbers], Numbers], totals: Floats) -> Floats:
    """Return the value in each row, NaN where it is not defined."""
    with np.errstate(all="ignore"):
        return np.asarray(function(totals.astype(complex)).real)
