"""Repeated releases and their averages, as priced here and as published: yardsticks for studies, of sensitivity 1.

Brawner & Honaker (2018), §3–4. What they quote without constants (eq. 12) is priced here by composing privacy-loss
distributions.
"""

from __future__ import annotations

import math

from hedgerow.accounting.calibrate import least_noise
from hedgerow.accounting.compose import profile_of
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import AveragedLaplaceNoise, Composition, LaplaceNoise
from hedgerow.mechanisms.number import gaussian_mu

_PAIR = Relation.REPLACE_ONE  # of one number, priced by its sensitivity alone: the relation has no part in it


def composed_epsilon(scale: float, releases: int, *, delta: float) -> float:
    """Return an upper bound on ε at δ of k Laplace releases of this scale, all of them seen.

    >>> round(composed_epsilon(10.0, 10, delta=0.0), 6)
    1.0
    """
    return profile_of(Composition((LaplaceNoise(scale, 1.0),) * releases), _PAIR).epsilon_upper(delta)


def composed_variance(releases: int, *, epsilon: float, delta: float) -> float:
    """Return the least variance of the average of k Laplace releases that together cost (ε, δ), all of them seen.

    >>> round(composed_variance(4, epsilon=1.0, delta=0.0), 1)  # eq. 11: 2k/ε²
    8.0
    """
    found = least_noise(
        lambda precision: Composition((LaplaceNoise(1.0 / precision, 1.0),) * releases), _PAIR, Budget(epsilon, delta)
    )
    return 2.0 / (found.precision**2 * releases)


def averaged_epsilon(scale: float, draws: int, *, delta: float) -> float:
    """Return an upper bound on ε at δ of noise that is a sum of k Laplace numbers of this scale.

    >>> averaged_epsilon(1.0, 10, delta=1e-6) < averaged_epsilon(1.0, 10, delta=0.0) < 1.001
    True
    """
    return profile_of(AveragedLaplaceNoise(scale, draws, 1.0), _PAIR).epsilon_upper(delta)


def averaged_variance(draws: int, *, epsilon: float, delta: float) -> float:
    """Return the least variance of the average of k Laplace releases that costs (ε, δ), only the average seen.

    >>> averaged_variance(10, epsilon=1.0, delta=1e-6) < 0.5 * averaged_variance(10, epsilon=1.0, delta=0.0)
    True
    """
    found = least_noise(
        lambda precision: AveragedLaplaceNoise(1.0 / precision, draws, 1.0), _PAIR, Budget(epsilon, delta)
    )
    return 2.0 * draws / found.precision**2


def analytic_variance(epsilon: float, delta: float) -> float:
    """Return the variance of the analytic Gaussian mechanism at (ε, δ): the least that any Gaussian needs.

    Source: Balle & Wang (2018), Theorem 8.

    >>> 17 < analytic_variance(1.0, 1e-6) < 18
    True
    """
    return 1.0 / gaussian_mu(Budget(epsilon, delta)) ** 2


def classical_variance(epsilon: float, delta: float) -> float:
    """Return the variance of the classical Gaussian mechanism, 2 ln(1.25/δ)/ε²: proven for ε < 1 only.

    >>> round(classical_variance(1.0, 1e-6), 2)
    28.08
    """
    return 2.0 * math.log(1.25 / delta) / epsilon**2
