"""Means and sums with their errors from noisy moments: a count, a total and a second moment (moments.md §2).

Moments are in units of the reach H: u = (x − centre)/H lies in [−1, 1]. Three numbers come in with the standard
deviations of their noise; the variance of one record, its own noise taken off, comes out with them, so that the
standard error needs no release of its own. All cells at once: what is a number of one cell is an array here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.score import POISSON, Quadratic, ScoreArrays, skewness_range

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
    small_sample = np.where(n > 2.0, n / np.where(n > 2.0, n - 1.0, 1.0), 2.0)
    raw = (centred + moments.offset - a * a + mean_noise) * small_sample
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
) -> ScoreArrays:
    """Return the intervals' numbers for centre + H·Σu/N; the span is (centre, H)."""
    centre, reach = span
    spread = np.where(moments.reliable, errors.variance_upper, 0.0)
    skew = mean_skewness(errors, spread > 0.0, reach)
    return ScoreArrays(
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
