"""From replicates to an estimate with intervals: four interval methods about a population, and Student's for a census.

Brawner and Honaker (2018) read m* ± z √(v̂ + σ₁²/k) with v̂ = max(0, λ(s² − f a)), where a = σ₁² + (m* − c)²/(λn) is
the known part of the replicates' spread and f the share of it that is subtracted. Their three intervals differ in f:

=====================  ======================  ====================================================================
method                 f                       coverage (private_bootstrap.md §4)
=====================  ======================  ====================================================================
``unbiased``           1                       NOT held: 71–80 % at a nominal 90 % where noise hides the spread, and
                                               about 60 % with Poisson weights on data far from the centre
``conservative``       5 % point of            near the level from about k = 50, below it for fewer replicates
                       χ²_{k−1}/(k−1)
``most-conservative``  0                       held or nearly held, at several times the width: the whole spread,
                                               noise and centre offset included, is read as sampling error
``calibrated``         –                       held for every k and every sampling variance; see `calibrated`
=====================  ======================  ====================================================================

Like theirs, the first three have no term for the k replicates themselves. v̂ is cut at 0 before the privacy variance is
added, so no interval is narrower than the noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hedgerow.inference.bootstrap.calibrated import calibrated_interval
from hedgerow.inference.bootstrap.replicates import (
    Replicates,
    StandardErrorParts,
    chi_square_share,
    mean_of_root,
    sampling_variance,
)
from hedgerow.inference.interval import normal_quantile, parse_level

ALPHA = 0.05  # α' of the paper: how often the spread of the noise alone is smaller than what is subtracted


def unbiased_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return the interval with f = 1, the noise subtracted in full; coverage NOT held at `level` (HG110).

    Source: Brawner & Honaker (2018), eq. 30, 35 with c_α' = k − 1, and 36. For comparison with the paper; use
    `calibrated`.

    >>> low, high = unbiased_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.583, 13.417)
    """
    return _normal_interval(replicates, level, noise_share=1.0)


def conservative_interval(replicates: Replicates, *, level: float, alpha: float = ALPHA) -> tuple[float, float]:
    """Return the interval with f the α' point of χ²_{k−1}/(k−1), 5 % by default; near `level` for k ≥ 50 (HG110).

    Source: Brawner & Honaker (2018), eq. 34–36.

    >>> low, high = conservative_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.253, 13.747)
    """
    return _normal_interval(replicates, level, noise_share=chi_square_share(replicates.n_resamples, alpha=alpha))


def most_conservative_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return the interval with f = 0, no noise subtracted; wide, and still a little short for small k (HG110).

    Source: Brawner & Honaker (2018), eq. 34–36 with c_α' = 0.

    >>> low, high = most_conservative_interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (5.6, 14.4)
    """
    return _normal_interval(replicates, level, noise_share=0.0)


def _normal_interval(replicates: Replicates, level: float, *, noise_share: float) -> tuple[float, float]:
    variance = sampling_variance(replicates, noise_share=noise_share) + replicates.privacy_variance
    half = normal_quantile(level) * math.sqrt(variance)
    return replicates.mean - half, replicates.mean + half


def file_interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± t_{k−1} s/√k, which covers the statistic of the file's own records at `level` (HG110).

    The records are all there are, so there is no sampling error. Given the data, m* ~ N(x̄, (v'/λ + σ₁²)/k) independent
    of s² ~ (v'/λ + σ₁²) χ²_{k−1}/(k−1) (private_bootstrap.md §4): normal by the noise, and nearly so by the weights. So
    Student's interval is exact for normal replicates. It says nothing about a population behind the file. A single
    plain release at the same price is narrower, since it has no bootstrap error: prefer it where a choice is left.

    >>> low, high = file_interval(Replicates(10.0, 4.0, 4, 1.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.818, 13.182)
    """
    from hedgerow.special import stdtrit

    student = float(stdtrit(replicates.n_resamples - 1, (1 + parse_level(level)) / 2))
    half = student * math.sqrt(replicates.spread / replicates.n_resamples)
    return replicates.mean - half, replicates.mean + half


def file_error_parts(replicates: Replicates) -> StandardErrorParts:
    """Return the bootstrap and privacy parts of the standard error; the sampling part is 0 by the choice of target.

    >>> round(file_error_parts(Replicates(0.0, 6.0, 50, 2.0)).bootstrap_error, 3)
    0.285
    """
    spread = replicates.spread / mean_of_root(replicates.n_resamples) ** 2
    resampling = max(0.0, spread - replicates.noise_variance) / replicates.n_resamples
    return StandardErrorParts(0.0, math.sqrt(resampling), math.sqrt(replicates.privacy_variance))


INTERVALS: dict[str, Callable[..., tuple[float, float]]] = {
    "calibrated": calibrated_interval,
    "conservative": conservative_interval,
    "unbiased": unbiased_interval,
    "most-conservative": most_conservative_interval,
}
