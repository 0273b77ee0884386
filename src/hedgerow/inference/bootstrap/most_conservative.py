"""Brawner and Honaker's *most conservative* interval, c_α' = 0: no noise is subtracted at all.

It reads the whole spread of the noisy replicates, and with Poisson weights the centre offset, as sampling error:
several times too wide wherever privacy noise matters or data lie far from the centre (private_bootstrap.md §4).
"""

from __future__ import annotations

import math

from hedgerow.inference.bootstrap import bootstrap_variance
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.level import normal_quantile


def interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± z √(λ s² + σ₁²/k); wide, and still a little short for small k.

    Source: Brawner & Honaker (2018), eq. 34–36 with c_α' = 0.

    Raises
    ------
    ParameterError
        HG110: a level outside (0, 1).

    Examples
    --------
    >>> low, high = interval(Replicates(10.0, 5.0, 50, 2.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (5.6, 14.4)
    """
    variance = bootstrap_variance.sampling_variance(replicates, noise_share=0.0) + replicates.privacy_variance
    half = normal_quantile(level) * math.sqrt(variance)
    return replicates.mean - half, replicates.mean + half
