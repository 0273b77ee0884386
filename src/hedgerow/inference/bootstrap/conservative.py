"""Brawner and Honaker's *conservative* interval, α' = .05: only what the noise nearly always shows is subtracted.

Wider than `unbiased`; near its level from about k = 50 on, below it for fewer (private_bootstrap.md §4). `calibrated`
holds its level for every k and is narrower on average.
"""

from __future__ import annotations

import math

from hedgerow.inference.bootstrap import bootstrap_variance
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.level import normal_quantile

ALPHA = 0.05  # α' of the paper: how often the spread of the noise alone is smaller than what is subtracted


def interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± z √(v̂ + σ₁²/k), v̂ = max(0, λ(s² − f a)), f the 5 % point of χ²_{k−1}/(k−1); near `level` for k ≥ 50.

    a = σ₁² + (m* − c)²/(λn) is the known part of the spread. Source: Brawner & Honaker (2018), eq. 34–36 with α' = .05;
    v̂ is cut at 0 before the privacy variance is added. For fewer replicates coverage is not held.

    Raises
    ------
    ParameterError
        HG110: a level outside (0, 1).

    Examples
    --------
    >>> low, high = interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.253, 13.747)
    """
    share = bootstrap_variance.chi_square_share(replicates.n_resamples, alpha=ALPHA)
    variance = bootstrap_variance.sampling_variance(replicates, noise_share=share) + replicates.privacy_variance
    half = normal_quantile(level) * math.sqrt(variance)
    return replicates.mean - half, replicates.mean + half
