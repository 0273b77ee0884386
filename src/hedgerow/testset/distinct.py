r"""Whether two scores of one test set differ by more than their errors explain, over all pairs of all looks at once.

The difference of two noisy scores has noise of variance p₁² + p₂² (drawn independently) and a sampling error of sd at
most s₁ + s₂, whatever the two models have in common. The errors of a model on single records are not released, so no
better bound on their correlation is known. Two scores are distinguishable if they differ by more than

    z·√((s₁ + s₂)² + p₁² + p₂²),   z = Φ⁻¹(1 − α/(n_looks·(n_looks − 1))),   α = 0.05.

Laplace noise has heavier tails. There the bound is the same quantile of the sum of a normal variable of sd s₁ + s₂ and
the difference of two Laplace variables.

With this bound, all statements about any two of the n_looks scores hold together with probability 1 − α (Bonferroni),
also when the best score is selected. It does not account for a model that was fitted to the answers: its expected score
on new records may be lower than on this test set. Privacy keeps that gap small.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from hedgerow.inference.noise_law import quantiles_of
from hedgerow.mechanisms.laws import averaged_law
from hedgerow.testset.mechanisms.mechanism import Conditions
from hedgerow.testset.score import LEVEL, Best, Score, drawn_of

_POWER = 0.8
_LAPLACE = ("laplace", "split", "thresholdout")  # mechanisms with Laplace noise


def critical_value(n_looks: int, level: float = LEVEL) -> float:
    """Return z: normal, two-sided, over all pairs of `n_looks` scores.

    >>> round(critical_value(2), 2), round(critical_value(200), 2)
    (1.96, 4.71)
    """
    pairs = max(1, n_looks * (n_looks - 1) // 2)
    return -NormalDist().inv_cdf((1.0 - level) / (2.0 * pairs))


def critical_difference(
    n_looks: int, mechanism: str, sampling: float, noise: tuple[float, float], level: float = LEVEL
) -> float:
    """Return the difference that two equal scores exceed with probability (1 − level)/pairs at most.

    Parameters
    ----------
    n_looks : int
        How many scores there may be; all pairs of them are compared.
    mechanism : str
        Which mechanism draws the noise.
    sampling : float
        The sd of the sampling error of the difference.
    noise : (float, float)
        The sd of each score's noise.

    Examples
    --------
    >>> round(critical_difference(200, "gaussian", 0.0, (1.0, 1.0)) / 2**0.5, 2)
    4.71
    >>> round(critical_difference(200, "laplace", 0.0, (1.0, 1.0)) / 2**0.5, 2)
    7.52
    """
    if mechanism not in _LAPLACE:
        return critical_value(n_looks, level) * math.hypot(sampling, *noise)
    # The larger of two scales is taken for both: more noise never makes a tail lighter.
    spread = np.array([math.sqrt(2.0) * max(noise)])
    each = 1.0 - (1.0 - level) / max(1, n_looks * (n_looks - 1) // 2)
    return float(quantiles_of(averaged_law(2), each, np.array([sampling]), spread)[0])


def distinguishable(one: Score, other: Best | Score) -> bool | None:
    """Return whether two scores differ by more than both errors explain; None if an error is not known."""
    errors = [one.sampling_error, other.sampling_error, one.privacy_error, other.privacy_error]
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    explained = critical_difference(one.n_looks, one.estimate.method, known[0] + known[1], (known[2], known[3]))
    return abs(one.value - other.value) > explained


def best_of(scores: tuple[Score, ...]) -> Best | None:
    """Return the score with the best noisy value; None if there are no scores."""
    found = max(scores, key=lambda score: score.value if score.greater_is_better else -score.value, default=None)
    if found is None:
        return None
    drawn = None if found.determined_by is None else drawn_of(found.determined_by["released"])
    return Best(found.value, found.sampling_error, found.privacy_error, found.look, drawn)


def minimum_detectable_difference(
    conditions: Conditions, privacy_error: float, mechanism: str = "gaussian"
) -> float | None:
    """Return the difference of two expected scores that is found distinguishable with probability .8 or more.

    Both scores are taken in the middle of their range, where sampling errs most. None under add-remove, where n is
    private.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(minimum_detectable_difference(facts, 0.006), 3)
    0.073
    """
    if conditions.n is None:
        return None
    sampling = 2.0 * conditions.half_range / math.sqrt(conditions.n)
    explained = critical_difference(conditions.n_looks, mechanism, sampling, (privacy_error, privacy_error))
    # A Laplace variable stays within .84 of its sd more often than a normal one, so the power is at least the same.
    return explained + NormalDist().inv_cdf(_POWER) * math.hypot(sampling, math.sqrt(2.0) * privacy_error)


def describe_difference(least: float, conditions: Conditions) -> str:
    """Return the sentence about the minimum detectable difference that is shown before the first look.

    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 100, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> describe_difference(0.07, facts), describe_difference(1.4, facts)
    ('differences from 0.07 on are detected', 'NO difference is detected: take fewer looks, more records or a larger ε')
    """
    if least >= 2.0 * conditions.half_range:
        return "NO difference is detected: take fewer looks, more records or a larger ε"
    return f"differences from {least:.3g} on are detected"
