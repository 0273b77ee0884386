"""The price of standard errors, for reproductions: what was claimed, what is proven, what an attack attains.

All in units where the range R of a value is 1, with σ² = k/(2ρ) of noise on each of k replicate sums.
"""

from __future__ import annotations

import math

from hedgerow.accounting.profile import GaussianProfile
from hedgerow.accounting.resampled import Pair, PairKind, release_curve
from hedgerow.facts.relation import Relation, parse_relation


def claimed_epsilon(rho: float, *, delta: float, relation: str = Relation.REPLACE_ONE) -> float:
    """Return ε of ONE Gaussian release with the noise of all k together: what the paper says k replicates cost.

    Under add-remove a record about the midpoint moves the sum half as far, so its distance is halved.

    >>> [round(claimed_epsilon(0.5, delta=delta), 3) for delta in (1e-2, 1e-3, 1e-6)]
    [2.318, 3.139, 4.887]
    """
    bound = 1.0 if parse_relation(relation) is Relation.REPLACE_ONE else 0.5
    return GaussianProfile(bound * math.sqrt(2.0 * rho)).epsilon_upper(delta)


def bootstrap_epsilon(rho: float, *, n_resamples: int, delta: float, relation: str = Relation.REPLACE_ONE) -> float:
    """Return a proven upper bound on ε of k Poisson replicates of a value about the public midpoint.

    See private_bootstrap.md §2.

    >>> round(bootstrap_epsilon(0.5, n_resamples=20, delta=1e-6), 2)
    4.87
    """
    kind = PairKind.SAME_CELL if parse_relation(relation) is Relation.REPLACE_ONE else PairKind.ONE_SIDED
    pair = Pair(kind, math.sqrt(n_resamples / (2.0 * rho)), 0.5)
    return release_curve((pair,), n_resamples=n_resamples).epsilon_upper(delta)


def attained_epsilon(rho: float, *, n_resamples: int, delta: float) -> float:
    """Return ε of the pair (0, R), all other records at 0, which multinomial weights attain as n grows.

    See private_bootstrap.md §2.

    That no other pair is worse is unproven, so this says that the mechanism as published costs at least as much.

    >>> round(attained_epsilon(0.5, n_resamples=50, delta=1e-6), 2)
    5.17
    """
    pair = Pair(PairKind.ONE_SIDED, math.sqrt(n_resamples / (2.0 * rho)), 1.0)
    return release_curve((pair,), n_resamples=n_resamples).epsilon_upper(delta)
