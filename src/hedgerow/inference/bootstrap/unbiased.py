"""Brawner and Honaker's *unbiased* interval: the noise subtracted in full. Below its level at worst.

The variance is unbiased but its square root is not, and it varies: with k replicates and a spread hidden in the noise
the coverage of nominal 90 % intervals falls to 71–80 % (private_bootstrap.md §4), and with Poisson weights on data far
from the centre to about 60 %. It is offered for comparison with the paper; use `calibrated`.
"""

from __future__ import annotations

import math

from hedgerow.inference.bootstrap import bootstrap_variance
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.level import normal_quantile


def interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± z √(v̂ + σ₁²/k), v̂ = max(0, λ(s² − a)), a = σ₁² + (m* − c)²/(λn); coverage NOT held at `level`.

    Source: Brawner & Honaker (2018), eq. 30, 35 with c_α' = k − 1, and 36. v̂ is cut at 0 before the known privacy
    variance is added, so the interval is never narrower than the noise alone. Like theirs it has no term for the
    k replicates themselves.

    Raises
    ------
    ParameterError
        HG110: a level outside (0, 1).

    Examples
    --------
    >>> low, high = interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.583, 13.417)
    """
    variance = bootstrap_variance.sampling_variance(replicates) + replicates.privacy_variance
    half = normal_quantile(level) * math.sqrt(variance)
    return replicates.mean - half, replicates.mean + half
