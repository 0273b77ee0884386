"""From the noisy mean or sums of a look to an estimate with its errors, in the metric's unit. Post-processing.

Write u ∈ [−1, 1] for a loss about the midpoint in units of half the range. A mean of u has variance at most
(1 − ū²)/n, and exactly that where the losses are 0 or 1, so the error of sampling needs no second release.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score import Quadratic, ScoreArrays
from hedgerow.testset.mechanisms.mechanism import LookMechanism

_COLUMN, _REASON = "loss", "the score of a test set"
_NO_RESAMPLING = Quadratic()
COVERS = "the expected score on records drawn as the test set was; sampling and privacy noise are counted"


def estimate_of_mean(
    look: LookMechanism,
    u: float,
    *,
    resampling: Quadratic = _NO_RESAMPLING,
    noise_variance: float = 0.0,
    noise_law: str = "gaussian",
) -> Estimate:
    """Return the estimate of a metric from a noisy mean of u, n public.

    Parameters
    ----------
    look : LookMechanism
        What answered.
    u : float
        The noisy mean, unbiased for ū; it may lie outside [−1, 1].
    resampling : Quadratic
        Variance of the resampling about the test set's own ū, as a function of ū.
    noise_variance, noise_law
        Variance of the added noise, and its law.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> from hedgerow.testset.mechanisms.gaussian import GaussianLook
    >>> from hedgerow.testset.mechanisms.mechanism import Conditions, Options
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 1, 2500, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> found = estimate_of_mean(GaussianLook.fitted(facts, Options()), 0.6, noise_variance=1e-4)
    >>> round(found.estimate, 6), round(found.sampling_error, 6), round(found.privacy_error, 6)
    (0.8, 0.008, 0.005)
    """
    conditions, mechanism = look.conditions, look.name
    n, half, centre = float(conditions.n or 0), conditions.half_range, conditions.grid.centre
    inside = min(max(u, -1.0), 1.0)
    sampling = Quadratic(constant=half**2 / n, square=-1.0 / n)
    other = Quadratic(
        constant=half**2 * (resampling.constant + noise_variance),
        linear=half * resampling.linear,
        square=resampling.square,
    )
    low, high = conditions.grid.as_bounds()
    test = ScoreArrays(
        np.array([half * u]),
        shift=centre,
        sampling=sampling,
        noise=other,
        low=low,
        high=high,
        noise_law=noise_law,
        method=mechanism,
        margin=conditions.grid.rounding,
    )
    resampled = resampling.constant + inside * (resampling.linear + inside * resampling.square)
    return Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=centre + half * inside,
        sampling_error=half * math.sqrt(max(0.0, 1.0 - inside**2) / n),
        bootstrap_error=half * math.sqrt(max(0.0, resampled)),
        privacy_error=half * math.sqrt(noise_variance),
        method=mechanism,
        n_resamples=None,
        reliable=True,
        note=None,
        covers=COVERS,
        region=ScoreRegion(test),
    )


def two_sided(beta: float) -> float:
    """Return z such that a standard normal lies beyond ±z with probability `beta`, however small.

    >>> round(two_sided(0.05), 2)
    1.96
    """
    return -NormalDist().inv_cdf(max(beta, 1e-300) / 2.0)
