"""Means and sums with their errors from noisy moments: a count, a total and a second moment (moments.md §2).

Moments are in units of the reach H: u = (x − centre)/H lies in [−1, 1]. Three numbers come in with the standard
deviations of their noise; the variance of one record, its own noise taken off, comes out with them, so that the
standard error needs no release of its own. All cells at once: what is a number of one cell is an array here.

Counts and proportions with their errors from noisy counts of disjoint cells, for all cells at once.

Sampling, for the target ``population``: under replace-one n records fall into a cell or not (binomial); under
add-remove the number of records is random itself (Poisson). For the target ``file`` it is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.score_test import POISSON, Quadratic, QuadraticTest, skewness_range

RELIABLE_SDS = 2.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMoments:
    """The released numbers of each cell, in units of u, and their noise.

    Attributes
    ----------
    count, total, square : float array, one entry per cell
        N, Σu and Σ(u² − offset); `square` is None where no second moment was released.
    count_sd, total_sd, square_sd : float; the last two also float array, one entry per cell
        Noise standard deviations; `count_sd` is 0 where N is public.
    offset : float
        What was taken off u² before it was added up.
    """

    count: Floats
    total: Floats
    square: Floats | None
    count_sd: float
    total_sd: Floats | float
    square_sd: Floats | float
    offset: float

    def squares(self, unit: float) -> tuple[Floats | None, Floats | float]:
        """Return the second moments and the variance of their noise, with u worth so much."""
        square = None if self.square is None else unit**2 * self.square
        return square, np.square(unit**2 * self.square_sd)

    @property
    def reliable(self) -> NDArray[np.bool_]:
        """Where the count stands clear of its noise, so that a ratio is defined."""
        return self.count >= max(RELIABLE_SDS * self.count_sd, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class MeanErrors:
    """Means and their errors, in units of u.

    ``variance`` estimates the variance of one record; ``variance_upper`` adds half a standard deviation of its noise,
    which keeps the interval's coverage where the noise swamps it. Where the count is not reliable the mean is the
    nearest possible one, and the errors say nothing.
    """

    mean: Floats
    variance: Floats
    variance_upper: Floats
    sampling_error: Floats
    privacy_error: Floats


def small_sample(count: Floats) -> Floats:
    """Return N/(N − 1), at most 2."""
    return np.asarray(count / np.maximum(count - 1.0, count / 2.0))


def mean_errors(moments: NoisyMoments) -> MeanErrors:
    """Return Σu/N with its errors.

    With a = Σu/N, b = Σu²/N: v = (b − a² + s_a²)·N/(N − 1), kept in [0, 1 − a²]; its noise by the delta method with the
    second-order term 2·s_a⁴ (moments.md §2). Without a second moment the sampling error is 0: a census.

    >>> errors = mean_errors(NoisyMoments(np.array([100.0]), np.array([0.0]), np.array([25.0]), 0.0, 2.0, 2.0, 0.0))
    >>> errors.variance.round(4).tolist(), errors.privacy_error.round(4).tolist()
    ([0.2529], [0.02])
    """
    positive = moments.count > 0.0
    n = np.where(positive, moments.count, 1.0)
    a = np.where(positive, np.minimum(np.maximum(moments.total / n, -1.0), 1.0), 0.0)
    mean_noise = (moments.total_sd**2 + a * a * moments.count_sd**2) / n**2
    none = np.zeros_like(a)
    if moments.square is None:
        return MeanErrors(a, none, none, none, np.sqrt(mean_noise))
    cap = 1.0 - a * a
    centred = moments.square / n
    raw = (centred + moments.offset - a * a + mean_noise) * small_sample(n)
    slope_count = 2.0 * a * a - centred
    noise = (
        (slope_count * moments.count_sd) ** 2 + (2.0 * a * moments.total_sd) ** 2 + moments.square_sd**2
    ) / n**2 + 2.0 * mean_noise**2
    variance = np.minimum(np.maximum(raw, 0.0), cap)
    upper = variance + 0.5 * np.sqrt(noise)
    return MeanErrors(a, variance, upper, np.sqrt(variance / n), np.sqrt(mean_noise))


def mean_score_test(
    moments: NoisyMoments,
    errors: MeanErrors,
    span: tuple[float, float],
    *,
    noise_law: str,
    method: str,
    margin: float = 0.0,
) -> QuadraticTest:
    """Return the intervals' numbers for centre + H·Σu/N; the span is (centre, H)."""
    centre, reach = span
    spread = np.where(moments.reliable, errors.variance_upper, 0.0)
    skew = mean_skewness(errors, spread > 0.0, reach)
    return QuadraticTest(
        a=reach * moments.total,
        b=moments.count,
        shift=centre,
        sampling=Quadratic(constant=np.maximum(moments.count, 0.0) * spread * reach**2),
        noise=Quadratic(constant=(reach * moments.total_sd) ** 2, square=moments.count_sd**2),
        low=centre - reach,
        high=centre + reach,
        freedom=np.where(spread > 0.0, moments.count - 1.0, math.inf),
        noise_law=noise_law,
        reliable=moments.reliable,
        method=method,
        margin=margin,
        skew=skew[0],
        skew_unsure=skew[1],
    )


def mean_skewness(errors: MeanErrors, sampled: NDArray[np.bool_], unit: float) -> tuple[Floats, Floats]:
    """Return μ₃/v of the records, and how far it may lie to either side; 0 where nothing is known or sampled."""
    skew, unsure = skewness_range(errors.mean, errors.variance, -1.0, 1.0)
    return np.where(sampled, unit * skew, 0.0), np.where(sampled, unit * unsure, 0.0)


def sum_variance(moments: NoisyMoments, n: float | None) -> tuple[Floats, Floats]:
    """Return the sampling variance of Σu over records about zero, and an upper version of it.

    Replace-one: records are drawn n times, each is in the cell or not, so Var = Σu² − (Σu)²/n. Add-remove: the size is
    random too (Poisson), so Var = Σu². The noise's own part is taken off the squared total.
    """
    if moments.square is None:
        none = np.zeros_like(moments.total)
        return none, none
    taken = 0.0 if n is None else (moments.total**2 - moments.total_sd**2) / max(n, 1.0)
    noise = np.full_like(moments.total, moments.square_sd**2)
    if n is not None:
        noise = noise + (2.0 * moments.total * moments.total_sd / max(n, 1.0)) ** 2
    variance = np.maximum(moments.square - taken, 0.0)
    return variance, variance + 0.5 * np.sqrt(noise)


def sum_skewness(
    moments: NoisyMoments, variance: Floats, n: float | None, low: Floats | float, high: Floats | float
) -> tuple[Floats, Floats]:
    """Return μ₃/μ₂ of what records add to a sum about zero, values in [low, high], and how far it may be off.

    A record outside the cell adds 0, so 0 is a value as well; under add-remove nearly all add 0.
    """
    if moments.square is None:
        none = np.zeros_like(moments.total)
        return none, none
    records = POISSON if n is None else max(n, 1.0)
    least, most = np.minimum(low, 0.0), np.maximum(high, 0.0)
    mean = np.minimum(np.maximum(moments.total / records, least), most)
    return skewness_range(mean, variance / records, least, most)


Numbers = Floats | float
# P(|Z| ≤ k) of integer noise is at least about that of its continuous law up to k + ½; scanned for sd .15 to 20.
WHOLE_NUMBERS = 0.5
SMALL_COUNT = "This count is under 2 sd of its noise."


@dataclass(frozen=True, slots=True, eq=False)
class NumbersWithErrors:
    """Estimates cell by cell: two of their errors, which stand clear of the noise, what intervals come from."""

    value: Floats
    sampling_error: Floats
    privacy_error: Floats
    reliable: NDArray[np.bool_]
    test: QuadraticTest


def exact_count(n: int) -> QuadraticTest:
    """Return the interval's numbers of a public n: an interval of one point."""
    none, count = Quadratic(), np.array([float(n)])
    return QuadraticTest(count, none, none, 0.0, math.inf, "gaussian", "public")


def counts_with_errors(
    noisy: Floats, *, noise_sd: Numbers, n: int | None, census: bool, noise_law: str, method: str
) -> NumbersWithErrors:
    """Return each cell's noisy count with its errors; one that does not stand clear of its noise is cut at 0.

    The interval solves (A − θ)² ≤ z²(θ − θ²/n + s²), half a count added at both ends: it is never negative and covers
    for small counts. The half makes up for noise in whole numbers, read by a continuous law: without it coverage falls
    to .80 where the noise is about half a count wide.

    >>> options = {"n": None, "census": False, "noise_law": "gaussian", "method": "gaussian"}
    >>> answer = counts_with_errors(np.array([100.0, -4.0]), noise_sd=3.0, **options)
    >>> answer.value.tolist(), answer.sampling_error.tolist(), answer.privacy_error.tolist()
    ([100.0, 0.0], [10.0, 0.0], [3.0, 3.0])
    """
    sampling = Quadratic() if census else Quadratic(linear=1.0, square=-1.0 / n if n else 0.0)
    most = math.inf if n is None else float(n)
    inside = np.minimum(np.maximum(noisy, 0.0), most)
    test = QuadraticTest(
        a=noisy,
        sampling=sampling,
        noise=Quadratic(constant=noise_sd**2),
        low=0.0,
        high=most,
        noise_law=noise_law,
        method=method,
        margin=WHOLE_NUMBERS,
    )
    sampling_error = np.sqrt(np.maximum(0.0, sampling.at(inside)))
    reliable = noisy >= RELIABLE_SDS * noise_sd
    value = np.where(reliable, noisy, inside)
    return NumbersWithErrors(value, sampling_error, np.full_like(value, noise_sd), reliable, test)


def proportions_with_errors(
    successes: Floats, total: Floats | float, *, noise_sd: float, census: bool, noise_law: str, method: str
) -> NumbersWithErrors:
    """Return successes/total with its errors, cell by cell; the total is an array of noisy counts, or a public number.

    Private denominator N, the successes n₁ and the others n₀ added up: A − θN = (1 − θ)·n₁ − θ·n₀ has noise variance
    s²((1 − θ)² + θ²), sampling variance Nθ(1 − θ). Half a record is added at both ends of an interval, as to that of a
    count.

    >>> options = {"census": False, "noise_law": "gaussian", "method": "gaussian"}
    >>> answer = proportions_with_errors(np.array([30.0]), np.array([100.0]), noise_sd=1.0, **options)
    >>> [column.round(4).tolist() for column in (answer.value, answer.sampling_error, answer.privacy_error)]
    [[0.3], [0.0458], [0.0076]]
    """
    public = np.ndim(total) == 0
    total = np.broadcast_to(np.asarray(total, dtype=np.float64), successes.shape)
    variance = noise_sd**2
    noise = Quadratic(variance) if public else Quadratic(variance, -2.0 * variance, 2.0 * variance)
    total_sd = 0.0 if public else math.sqrt(2.0) * noise_sd
    reliable = total >= max(RELIABLE_SDS * total_sd, 1.0)
    spread = np.zeros_like(total) if census else np.maximum(total, 0.0)
    # Where the ratio is not defined it is a number in [0, 1]; the interval beside it says that nothing is known.
    divisor = np.where(total > 0.0, total, 1.0)
    value = np.where(total > 0.0, np.minimum(np.maximum(successes / divisor, 0.0), 1.0), 0.5)
    test = QuadraticTest(
        a=successes,
        b=total,
        sampling=Quadratic(linear=spread, square=-spread),
        noise=noise,
        low=0.0,
        high=1.0,
        noise_law=noise_law,
        reliable=reliable,
        method=method,
        margin=WHOLE_NUMBERS / divisor,
    )
    sampling_error = np.sqrt(np.maximum(0.0, test.sampling.at(value))) / divisor
    privacy_error = np.sqrt(np.maximum(0.0, noise.at(value))) / divisor
    half = np.full_like(value, 0.5)
    return NumbersWithErrors(
        value, np.where(reliable, sampling_error, half), np.where(reliable, privacy_error, half), reliable, test
    )
