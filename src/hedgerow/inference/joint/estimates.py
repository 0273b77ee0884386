"""Estimates of a smooth function of noisy totals, with their errors and intervals, for all cells at once.

Errors: with g the slopes at the released totals T̂, the sampling variance is g'Sg and that of the noise g'Vg.

Intervals: all values of the function over the totals that the release does not reject. With T̂ ≈ N(T, W), W = S + V,
the set {h(T): (T̂ − T)'W⁻¹(T̂ − T) ≤ z²} covers as an interval of one normal number does, since {T: h(T) = θ} has one
dimension less than T (a profile likelihood). For a ratio it is Fieller's set, whose quadratic inequality
`QuadraticTest` solves; `region_of_function` finds the ends of other functions. Nothing is divided by a noisy
number, and where the value could be anything the interval ends at what is possible.

How many standard errors an interval reaches is more than the normal quantile: `critical_values` says why, and
`region_of_function` what a level set that is curved adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import normal_quantile, parse_level
from hedgerow.inference.joint.critical_values import Tangent, radii
from hedgerow.inference.joint.functions import (
    FunctionOfTotals,
    MeanOfTotals,
    Numbers,
    ScaledMean,
    SumOfTotals,
    gradient,
    value_of,
)
from hedgerow.inference.joint.region_of_function import ends
from hedgerow.inference.joint.totals import JointTotals, SideBySide, influence_range
from hedgerow.inference.means_and_counts import (
    RELIABLE_SDS,
    MeanErrors,
    NoisyMoments,
    counts_with_errors,
    mean_errors,
    mean_score_test,
    mean_skewness,
    sum_skewness,
    sum_variance,
)
from hedgerow.inference.score_test import Quadratic, QuadraticTest

Floats = NDArray[np.float64]
_STEP = 0.5


class _Intervals(Protocol):
    """Intervals of many rows by another way than `reach`."""

    def accepted(self, level: float, /) -> tuple[Floats, Floats]:
        """Return (low, high) of each row."""
        ...

    def rows(self, here: slice, /) -> _Intervals:
        """Return those of some of the rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class JointEstimates:
    """A smooth function of the totals of cells, with the parts of its error, row by row.

    Attributes
    ----------
    value : float array
        The estimates, moved to what is possible.
    sampling_error, privacy_error : float array
        The two parts of the standard error; where an estimate is not reliable, at most half of what is possible.
    reliable : bool array
        False where the noise swamps a count or what the function divides by.
    known : bool array
        False where the interval is everything that is possible.
    tangent : Tangent
        The slopes and the parts of the variance.
    """

    function: FunctionOfTotals
    cells: SideBySide
    value: Floats
    sampling_error: Floats
    privacy_error: Floats
    reliable: NDArray[np.bool_]
    known: NDArray[np.bool_]
    tangent: Tangent
    exact: _Intervals | None = None

    @property
    def standard_error(self) -> Floats:
        """The root of the sum of the two squares."""
        return np.asarray(np.hypot(self.sampling_error, self.privacy_error))

    def rows(self, here: slice) -> JointEstimates:
        """Return the estimates of some of the rows."""
        return JointEstimates(
            self.function,
            self.cells.rows(here),
            self.value[here],
            self.sampling_error[here],
            self.privacy_error[here],
            self.reliable[here],
            self.known[here],
            self.tangent.rows(here),
            None if self.exact is None else self.exact.rows(here),
        )

    @np.errstate(all="ignore")
    def accepted(self, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of each row at a level, cut to what is possible."""
        if self.exact is not None:
            return self.exact.accepted(level)
        quotient = self.function.quotient(self.cells.totals.shape[1])
        if quotient is not None:
            low, high = _fieller(self, quotient, radii(self.tangent, parse_level(level)), level)
        else:
            shift = self._bias()
            low, high = (end - shift for end in self._of_region(level))
            # Noise in whole numbers is read by a continuous law (`inference.counts`).
            half = self.cells.half_step(self.tangent.slopes)
            low, high = (np.clip(end, self.function.low, self.function.high) for end in (low - half, high + half))
        return np.where(self.known, low, self.function.low), np.where(self.known, high, self.function.high)

    def _of_region(self, level: float) -> tuple[Floats, Floats]:
        """Return the least and the largest value over the totals that are not rejected."""

        def radii_of(cells: SideBySide, slopes: Floats) -> tuple[Floats, Floats, Floats]:
            same = slopes is self.tangent.slopes
            tangent = self.tangent if same else _tangent_of(self.function, cells, slopes)
            return *radii(tangent, parse_level(level)), tangent.freedom_of_variance

        return ends(self.function, self.cells, self.tangent.slopes, radii_of, parse_level(level))

    def _bias(self) -> Floats | float:
        """Return by how much products of means are too large on average: an end of an interval is moved by it too."""
        if not self.function.moves_ends:
            return 0.0
        unbiased = self.function.estimate(self.cells.totals, self.cells.sampling + self.cells.noise)
        return np.nan_to_num(value_of(self.function, self.cells.totals) - unbiased)


@np.errstate(all="ignore")  # what is not defined in a row is not known there
def estimate(function: FunctionOfTotals, cells: SideBySide) -> JointEstimates:
    """Return the estimates of a smooth function of the totals in each row.

    The sampling variance is kept between 0 and what bounded records allow. Means and sums are read as everywhere else,
    by `inference.moments`.

    >>> from hedgerow.inference.joint.functions import ScaledMean
    >>> from hedgerow.inference.joint.totals import JointTotals
    >>> sums, products = np.array([[20.0]]), np.array([[[25.0]]])
    >>> moments = JointTotals(np.array([100.0]), sums, products, np.diag([0.0, 2.0, 2.0]), "gaussian", 100)
    >>> age = estimate(MeanOfTotals(ScaledMean(1, 50.0, 50.0)), SideBySide((moments,)))
    >>> age.value.round(3).tolist(), age.standard_error.round(3).tolist()
    ([60.0], [2.513])
    """
    if function.squared is not None:
        return _root_of(function, estimate(function.squared, cells))
    tangent, defined = _tangent(function, cells)
    known = defined & _counted(cells)
    of_rows = len(cells.blocks) == 1 and cells.blocks[0].limit is None
    if of_rows and function.read_as in _READ_AS:
        return _READ_AS[function.read_as](function, cells, tangent)
    plain = value_of(function, cells.totals)
    value = function.estimate(cells.totals, cells.sampling + cells.noise)
    value = np.where(np.isfinite(value), value, plain)
    known &= np.isfinite(value)
    possible = function.high - function.low
    # An interval as wide as everything possible says nothing, and its tangent is far from the function.
    known &= 2.0 * normal_quantile(0.95) * np.sqrt(tangent.variance) < possible
    middle = function.low + possible / 2.0 if np.isfinite(possible) else np.clip(0.0, function.low, function.high)
    value = np.clip(np.where(np.isfinite(value), value, middle), function.low, function.high)
    reliable = known & _clear(function, cells)
    if function.has_poles:
        known = reliable  # near a pole the function may have any value
    most = np.where(reliable, np.inf, possible / 2.0)
    factor = _curvature_factor(function, cells, tangent)
    sampling, noise = (
        np.minimum(np.where(defined, factor * np.sqrt(part), most), most) for part in (_seen(tangent), tangent.noise)
    )
    return JointEstimates(function, cells, value, sampling, noise, reliable, known, tangent)


def joint_covariance(estimates: Sequence[JointEstimates]) -> tuple[Floats, Floats]:
    """Return the sampling and the noise covariance of K functions of the same rows: float arrays (rows, K, K).

    Their diagonals are the squares of the errors that `estimate` gives.
    """
    cells = estimates[0].cells
    slopes = np.stack([column.tangent.slopes for column in estimates], axis=1)
    homogeneous = all(column.function.homogeneous for column in estimates)
    counted = cells.sampling if homogeneous else cells.sampling + cells.counting
    sampling, noise = (slopes @ covariance @ slopes.transpose(0, 2, 1) for covariance in (counted, cells.noise))
    for place, column in enumerate(estimates):
        sampling[:, place, place], noise[:, place, place] = column.sampling_error**2, column.privacy_error**2
    return sampling, noise


def _as_mean(function: MeanOfTotals, cells: SideBySide, tangent: Tangent) -> JointEstimates:
    """Return means as they are read everywhere else."""
    block, half = cells.blocks[0], function.x.half
    moments, errors, covariance = _moments_of(function.x, block, tangent)
    test = mean_score_test(moments, errors, (function.x.centre, half), noise_law=block.law, method="moments")
    test = replace(test, noise=replace(test.noise, linear=-2.0 * half * covariance))
    value, known = function.x.centre + half * errors.mean, moments.reliable
    parts = half * errors.sampling_error, half * errors.privacy_error
    return JointEstimates(function, cells, value, *parts, known, known, tangent, test)


def _moments_of(axis: ScaledMean, block: JointTotals, tangent: Tangent) -> tuple[NoisyMoments, MeanErrors, float]:
    """Return a column's moments with the errors of its mean, and the covariance of the noises of total and count."""
    place, half = axis.place, axis.half
    mixing = block.mixing[[axis.base, place, block.place_of_product(place, place)]]
    covariance = mixing @ mixing.T
    count_sd, total_sd, square_sd = sds = np.sqrt(np.diag(covariance)).tolist()
    count, total = block.totals[:, axis.base], block.totals[:, place]
    square = None if block.census else block.products[:, place - 1, place - 1]
    moments = NoisyMoments(count, total, square, count_sd, total_sd, square_sd, 0.0)
    errors = mean_errors(moments)
    if np.abs(covariance - np.diag(np.square(sds))).max() > 1e-9 * covariance.max():
        n = np.maximum(count, 1.0)
        variance = np.clip(tangent.raw * n / half**2, 0.0, 1.0 - errors.mean**2)
        upper = variance + 0.5 * tangent.spread_noise * n / half**2
        errors = MeanErrors(errors.mean, variance, upper, np.sqrt(variance / n), np.sqrt(tangent.noise) / half)
    return moments, errors, float(covariance[0, 1])


def _as_sum(function: SumOfTotals, cells: SideBySide, tangent: Tangent) -> JointEstimates:
    """Return sums as they are read everywhere else: n means where n is public, else sums about zero."""
    block, axis = cells.blocks[0], function.x
    ends = axis.centre - axis.half, axis.centre + axis.half
    value, records = axis.total(block.totals), block.totals[:, axis.base]
    freedom: Floats | float = np.inf
    if block.mixing[axis.base].any():
        unit = max(map(abs, ends))
        # Σx and Σx² in units of it, from (N, Σf, Σf²).
        rows = np.array([[axis.centre, axis.half, 0.0], np.square([axis.centre, 0.0, axis.half])])
        rows[1, 1] = 2.0 * axis.centre * axis.half
        rows = rows / np.array([[unit], [unit**2]])
        square_place = block.place_of_product(axis.place, axis.place)
        sds = np.linalg.norm(rows @ block.mixing[[axis.base, axis.place, square_place]], axis=1).tolist()
        product = block.products[:, axis.place - 1, axis.place - 1]
        total, square = rows @ np.stack([records, block.totals[:, axis.place], product])
        moments = NoisyMoments(records, total, None if block.census else square, 0.0, sds[0], sds[1], 0.0)
        variance, upper = sum_variance(moments, block.n)
        skew = sum_skewness(moments, variance, block.n, *(end / unit for end in ends))
        noise = sds[0]
    else:
        moments, errors, _ = _moments_of(axis, block, _tangent(MeanOfTotals(axis), cells)[0])
        unit, variance, upper = axis.half, records * errors.variance, records * errors.variance_upper
        skew, noise = mean_skewness(errors, upper > 0.0, 1.0), float(moments.total_sd)
        freedom = freedom if block.census else records - 1.0
    test = QuadraticTest(
        value,
        sampling=Quadratic(upper * unit**2),
        noise=Quadratic((unit * noise) ** 2),
        low=function.low,
        high=function.high,
        freedom=freedom,
        noise_law=block.law,
        method="moments",
        skew=unit * skew[0],
        skew_unsure=unit * skew[1],
    )
    errors_of = unit * np.sqrt(variance), np.full_like(value, unit * noise)
    tangent = replace(tangent, blocks=tangent.blocks.with_skewness(unit * skew[0], unit * skew[1]))
    known = np.ones(len(value), dtype=bool)
    return JointEstimates(
        function, cells, np.clip(value, function.low, function.high), *errors_of, known, known, tangent, test
    )


def _as_count(function: SumOfTotals, cells: SideBySide, tangent: Tangent) -> JointEstimates:
    """Return numbers of records as they are read everywhere else."""
    block = cells.blocks[0]
    read = counts_with_errors(
        block.count, noise_sd=block.count_sd, n=block.n, census=block.census, noise_law=block.law, method="moments"
    )
    known = np.ones(len(read.value), dtype=bool)
    parts = read.sampling_error, read.privacy_error
    return JointEstimates(function, cells, read.value, *parts, read.reliable, known, tangent, read.test)


# How functions of one cell of rows are read that every release reads alike.
_READ_AS: dict[str, Callable[[Any, SideBySide, Tangent], JointEstimates]] = {
    "mean": _as_mean,
    "sum": _as_sum,
    "count": _as_count,
}


def _curvature_factor(function: FunctionOfTotals, cells: SideBySide, tangent: Tangent) -> Floats:
    """Return the factor that takes off a standard error what the noise adds to it on average through the slopes.

    The slope of a ratio grows by more where the noise lowers the divisor than it falls where it raises it. To second
    order the bias of s(T̂) is the mean of s(T̂ ± √λ_k v_k) − s(T̂) over the axes of the noise, each weighted by 1.
    """
    spread, axes = np.linalg.eigh(cells.noise)
    centre = np.sqrt(tangent.noise)
    bias = np.zeros_like(centre)
    for size, axis in zip(spread, axes.T, strict=True):
        if size <= 1e-12 * spread[-1]:
            continue
        for sign in (-1.0, 1.0):
            slopes = gradient(function, cells.totals + _STEP * sign * np.sqrt(size) * axis)
            moved = np.sqrt(cells.noise_covariance(slopes, slopes))
            bias += 0.5 * np.where(np.isfinite(moved), moved - centre, 0.0) / _STEP**2
    relative = bias / np.where(centre > 0.0, centre, 1.0)
    return 1.0 / (1.0 + np.clip(relative, 0.0, 1.0))


def _seen(tangent: Tangent) -> Floats:
    """Return the sampling variance for the standard error: less of it where it does not stand clear of its noise.

    What is kept above 0 is too large on average where the truth is about 0. Less by exp(−(2v/s)²), s the standard
    deviation of its noise, the mean standard error of the sum with the noise is nearer to the truth everywhere.
    """
    spread = np.where(tangent.spread_noise > 0.0, tangent.spread_noise, np.finfo(float).tiny)
    return tangent.sampling * -np.expm1(-np.square(np.maximum(tangent.raw, 0.0) / (0.5 * spread)))


def _root_of(function: FunctionOfTotals, squared: JointEstimates) -> JointEstimates:
    """Return the roots of estimated variances v. The error of √v is s/(2·(v² + s²)^¼), where s is that of v.

    That is s/(2√v) where v is well above 0. Over the positive estimates of a normal or Laplace v its mean is within 3 %
    of the true one for every s up to v.
    """
    value = np.sqrt(squared.value)
    spread = squared.standard_error
    factor = 0.5 / np.maximum(np.sqrt(np.hypot(squared.value, spread)), np.finfo(float).tiny)
    return JointEstimates(
        function,
        squared.cells,
        value,
        squared.sampling_error * factor,
        squared.privacy_error * factor,
        squared.reliable & (squared.value > 0.0),
        squared.known,
        replace(squared.tangent, slopes=squared.tangent.slopes * factor[:, None]),
        _Roots(squared),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Roots:
    """The intervals of standard deviations: the roots of those of variances."""

    squared: JointEstimates

    def accepted(self, level: float) -> tuple[Floats, Floats]:
        low, high = self.squared.accepted(level)
        return np.sqrt(low), np.sqrt(high)

    def rows(self, here: slice) -> _Roots:
        return _Roots(self.squared.rows(here))


def _tangent(function: FunctionOfTotals, cells: SideBySide) -> tuple[Tangent, NDArray[np.bool_]]:
    slopes = gradient(function, cells.totals)
    defined = np.asarray(np.isfinite(slopes).all(axis=1))
    return _tangent_of(function, cells, np.where(defined[:, None], slopes, 0.0)), defined


def _tangent_of(function: FunctionOfTotals, cells: SideBySide, slopes: Floats) -> Tangent:
    """Return the tangent of these slopes, with the parts of its variance at the released totals."""
    raw = cells.sampling_covariance(slopes, slopes, homogeneous=function.homogeneous)
    most = np.zeros(len(raw))
    for block, place in zip(cells.blocks, cells.places, strict=True):
        low, high = influence_range(slopes[:, place.start + 1 : place.stop], block)
        # A unit has a row at least, so their number is at most that of all rows.
        records = block.positive_count if block.limit is None else np.maximum(block.sums[:, -1], 1.0)
        most += records * -low * high
    if not function.homogeneous:
        most = np.full(len(raw), np.inf)
    sampling = np.minimum(np.maximum(raw, 0.0), most)
    blocks = cells.by_block(slopes, sampling, skewed=function.homogeneous)
    return Tangent(
        slopes,
        raw,
        sampling,
        cells.noise_covariance(slopes, slopes) + function.second_order(cells.totals, cells.noise),
        cells.spread_noise(slopes, blocks),
        blocks.shared.sum(axis=1),
        cells.freedom(blocks),
        cells.noise_draws(slopes),
        blocks,
    )


def _counted(cells: SideBySide) -> NDArray[np.bool_]:
    """Where the counts of records whose features are averaged stand clear of their noise."""
    counted = np.ones(len(cells.totals), dtype=bool)
    for block in (block for block in cells.blocks if block.features):
        counted &= block.count >= max(RELIABLE_SDS * block.count_sd, 1.0)
    return counted


def _clear(function: FunctionOfTotals, cells: SideBySide) -> NDArray[np.bool_]:
    """Where what the function divides by stands clear of its noise."""
    clear = np.ones(len(cells.totals), dtype=bool)
    for place in range(len(function.divisors(cells.totals[:1]))):

        def divisor(totals: Numbers, place: int = place) -> Numbers:
            return function.divisors(totals)[place]

        slopes = gradient(divisor, cells.totals)
        noise = np.sqrt(cells.noise_covariance(slopes, slopes))
        clear &= np.abs(value_of(divisor, cells.totals)) >= RELIABLE_SDS * noise
    return clear


def _fieller(
    estimates: JointEstimates, quotient: tuple[Floats, Floats], radius: tuple[Floats, Floats], level: float
) -> tuple[Floats, Floats]:
    """Return Fieller's interval of Σx/Σy: {θ : (X − θY)² ≤ z² Var(X − θY)}, each end at its own critical value.

    The mean of a feature that may be missing is the ratio of its sum to the noisy number of records that have it.
    """
    cells, function, tangent, (first, second) = estimates.cells, estimates.function, estimates.tangent, quotient
    # The same sampling variance at the estimate as everywhere: clipped where its noise made it impossible.
    share = np.where(tangent.raw > 0.0, tangent.sampling / np.where(tangent.raw > 0.0, tangent.raw, 1.0), 0.0)
    ends = []
    for critical in radius:
        factor = np.square(critical / normal_quantile(level))
        sampling, noise = (
            Quadratic(
                scale * np.einsum("i,...ij,j->...", first, covariance, first),
                -2.0 * scale * np.einsum("i,...ij,j->...", first, covariance, second),
                scale * np.einsum("i,...ij,j->...", second, covariance, second),
            )
            for covariance, scale in ((cells.sampling, factor * share), (cells.noise, factor))
        )
        test = QuadraticTest(
            a=np.einsum("ri,i->r", cells.totals, first),
            b=np.einsum("ri,i->r", cells.totals, second),
            shift=0.0,
            sampling=sampling,
            noise=noise,
            low=function.low,
            high=function.high,
            freedom=np.inf,
            noise_law="gaussian",
            reliable=estimates.known,
            method="moments",
        )
        ends.append(test.accepted(level))
    return ends[0][0], ends[1][1]
