"""Means and sums with their errors from noisy moments: a count, a total and a second moment (theory §1.5).

Moments are in units of the reach H: u = (x − centre)/H lies in [−1, 1]. Three numbers come in with the standard
deviations of their noise; the variance of one record, its own noise taken off, comes out with them, so that the
standard error needs no release of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.inference.score import Quadratic, ScoreBasis

__all__ = ["MeanErrors", "NoisyMoments", "mean_errors", "mean_interval_basis", "sum_interval_basis", "sum_variance"]

RELIABLE_SDS = 2.0


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """What was released of one cell, in units of u, and the noise on it.

    Attributes
    ----------
    count, total, square : float
        N, Σu and Σ(u² − offset); `square` is None where no second moment was released.
    count_sd, total_sd, square_sd : float
        Noise standard deviations; `count_sd` is 0 where N is public.
    offset : float
        What was taken off u² before it was added up.
    """

    count: float
    total: float
    square: float | None
    count_sd: float
    total_sd: float
    square_sd: float
    offset: float

    @property
    def reliable(self) -> bool:
        """Whether the count stands clear of its noise, so that a ratio is defined."""
        return self.count >= max(RELIABLE_SDS * self.count_sd, 1.0)


@dataclass(frozen=True, slots=True)
class MeanErrors:
    """A mean and its errors, in units of u.

    ``variance`` estimates the variance of one record; ``variance_upper`` adds half a standard deviation of its noise,
    which keeps the interval's coverage where the noise swamps it.
    """

    mean: float
    variance: float
    variance_upper: float
    sampling_error: float
    privacy_error: float


def mean_errors(moments: NoisyMoments) -> MeanErrors:
    """Return Σu/N with its errors; `moments` must be reliable.

    With a = Σu/N, b = Σu²/N: v = (b − a² + s_a²)·N/(N − 1), kept in [0, 1 − a²]; its noise by the delta method with the
    second-order term 2·s_a⁴ (theory §1.5). Without a second moment the sampling error is 0: a census.

    >>> errors = mean_errors(NoisyMoments(100.0, 0.0, 25.0, 0.0, 2.0, 2.0, 0.0))
    >>> round(errors.variance, 4), round(errors.privacy_error, 4)
    (0.2529, 0.02)
    """
    n = moments.count
    a = min(max(moments.total / n, -1.0), 1.0)
    mean_noise = (moments.total_sd**2 + a * a * moments.count_sd**2) / n**2
    if moments.square is None:
        return MeanErrors(a, 0.0, 0.0, 0.0, math.sqrt(mean_noise))
    cap = 1.0 - a * a
    centred = moments.square / n
    small_sample = n / (n - 1.0) if n > 2.0 else 2.0
    raw = (centred + moments.offset - a * a + mean_noise) * small_sample
    slope_count = 2.0 * a * a - centred
    noise = (
        (slope_count * moments.count_sd) ** 2 + (2.0 * a * moments.total_sd) ** 2 + moments.square_sd**2
    ) / n**2 + 2.0 * mean_noise**2
    variance = min(max(raw, 0.0), cap)
    upper = variance + 0.5 * math.sqrt(noise)
    return MeanErrors(a, variance, upper, math.sqrt(variance / n), math.sqrt(mean_noise))


def mean_interval_basis(
    moments: NoisyMoments,
    errors: MeanErrors | None,
    *,
    centre: float,
    reach: float,
    noise_law: str,
    method: str,
    margin: float = 0.0,
) -> ScoreBasis:
    """Return the interval's numbers for centre + H·Σu/N; `errors` None where the count is not reliable."""
    spread = 0.0 if errors is None else errors.variance_upper
    return ScoreBasis(
        a=reach * moments.total,
        b=moments.count,
        shift=centre,
        sampling=Quadratic(constant=max(moments.count, 0.0) * spread * reach**2),
        noise=Quadratic(constant=(reach * moments.total_sd) ** 2, square=moments.count_sd**2),
        low=centre - reach,
        high=centre + reach,
        freedom=moments.count - 1.0 if spread > 0.0 else math.inf,
        noise_law=noise_law,
        reliable=errors is not None,
        method=method,
        margin=margin,
    )


def sum_variance(moments: NoisyMoments, n: float | None) -> tuple[float, float]:
    """Return the sampling variance of Σu over records about zero, and an upper version of it.

    Replace-one: records are drawn n times, each is in the cell or not, so Var = Σu² − (Σu)²/n. Add-remove: the size is
    random too (Poisson), so Var = Σu². The noise's own part is taken off the squared total.
    """
    if moments.square is None:
        return 0.0, 0.0
    taken = 0.0 if n is None else (moments.total**2 - moments.total_sd**2) / max(n, 1.0)
    noise = moments.square_sd**2
    if n is not None:
        noise += (2.0 * moments.total * moments.total_sd / max(n, 1.0)) ** 2
    variance = max(moments.square - taken, 0.0)
    return variance, variance + 0.5 * math.sqrt(noise)


def sum_interval_basis(
    total: float,
    *,
    sampling_variance: float,
    noise_sd: float,
    low: float,
    high: float,
    freedom: float,
    noise_law: str,
    method: str,
) -> ScoreBasis:
    """Return the interval's numbers for a noisy total with known variances, in the column's unit."""
    return ScoreBasis(
        a=total,
        b=1.0,
        shift=0.0,
        sampling=Quadratic(constant=sampling_variance),
        noise=Quadratic(constant=noise_sd**2),
        low=low,
        high=high,
        freedom=freedom,
        noise_law=noise_law,
        reliable=True,
        method=method,
    )
