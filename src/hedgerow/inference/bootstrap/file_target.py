"""The interval about the file itself: the records are all there are, so there is no sampling error.

The k replicates then scatter about the file's own value by resampling and noise alone, both seen in full in their
spread, so Student's interval is exact for normal replicates. A single plain release at the same price is narrower,
since it has no bootstrap error: prefer it where a choice is left.
"""

from __future__ import annotations

import math

from hedgerow.inference.bootstrap.bootstrap_variance import StandardErrorParts, mean_of_root
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.level import parse_level


def interval(replicates: Replicates, *, level: float) -> tuple[float, float]:
    """Return m* ± t_{k−1} s/√k, which covers the statistic of the file's own records at `level`.

    Given the data, m* ~ N(x̄, (v'/λ + σ₁²)/k) independent of s² ~ (v'/λ + σ₁²) χ²_{k−1}/(k−1) (private_bootstrap.md
    §4): normal by the noise, and nearly so by the weights. It says nothing about a population behind the file.

    Raises
    ------
    ParameterError
        HG110: a level outside (0, 1).

    Examples
    --------
    >>> low, high = interval(Replicates(10.0, 4.0, 4, 1.0), level=0.95)
    >>> round(low, 3), round(high, 3)
    (6.818, 13.182)
    """
    from scipy.special import stdtrit

    student = float(stdtrit(replicates.n_resamples - 1, (1 + parse_level(level)) / 2))
    half = student * math.sqrt(replicates.spread / replicates.n_resamples)
    return replicates.mean - half, replicates.mean + half


def standard_error_parts(replicates: Replicates) -> StandardErrorParts:
    """Return the bootstrap and privacy parts; the sampling part is 0 by the choice of target.

    Examples
    --------
    >>> round(standard_error_parts(Replicates(0.0, 6.0, 50, 2.0)).bootstrap_error, 3)
    0.285
    """
    spread = replicates.spread / mean_of_root(replicates.n_resamples) ** 2
    resampling = max(0.0, spread - replicates.noise_variance) / replicates.n_resamples
    return StandardErrorParts(0.0, math.sqrt(resampling), math.sqrt(replicates.privacy_variance))
