"""What Brawner and Honaker (2018) state in formulas, and what is proven of it: estimates, variances and prices.

Estimates from noisy replicates are eq. 6–13 and 30–37 as printed, with two repairs that are named where they stand; the
intervals of a release also count the error that k replicates leave. Repeated releases and their averages (§3–4) have
sensitivity 1; what the paper quotes without constants (eq. 12) is priced by composing privacy-loss distributions.
Prices of standard errors are in units where the range R of a value is 1, with σ² = k/(2ρ) of noise on each of k
replicate sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.accounting.calibrate import least_noise
from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, release_curve
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.inference.bootstrap.replicate_summary import brawner_honaker_total_variance, chi_square_share
from hedgerow.inference.interval import normal_quantile
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import AveragedLaplaceNoise, LaplaceNoise, gaussian_mu

Array = NDArray[np.float64]

ESTIMATORS = ("unbiased", "conservative", "most conservative")
_ALPHA = 0.05


def pooling_weights(epsilons: Sequence[float]) -> Array:
    """Return w_i = ε_i²/Σ ε_j², the inverse-variance weights of k Laplace releases of one number (eq. 6, put right).

    Printed is ε_i^{−2}/Σ ε_j^{−2}; a Laplace release of ε has variance 2Δ²/ε², so the weights that are "inversely
    proportional to the variances" are these.

    >>> pooling_weights([1.0, 3.0]).tolist()
    [0.1, 0.9]
    """
    squares = np.square(np.asarray(epsilons, dtype=np.float64))
    return np.asarray(squares / squares.sum(), dtype=np.float64)


def partition_variance(n_parts: int, *, composition: str, delta: float = 1e-6) -> float:
    """Return the variance of the mean of k releases over that of one release with the whole budget (eq. 11–13).

    Parameters
    ----------
    n_parts : int
        k.
    composition : {"basic", "advanced", "zcdp"}
        k; ln(1/δ); 1.

    Examples
    --------
    >>> [partition_variance(10, composition=name) for name in ("basic", "zcdp")]
    [10.0, 1.0]
    """
    return {"basic": float(n_parts), "advanced": math.log(1.0 / delta), "zcdp": 1.0}[composition]


@dataclass(frozen=True, slots=True)
class PublishedIntervals:
    """One of their three estimators on many releases: arrays with one entry a release.

    Attributes
    ----------
    estimate : array
        m*, the mean of the replicates.
    total_variance : array
        Eq. 35, negative at times.
    """

    estimate: Array
    total_variance: Array

    @property
    def standard_error(self) -> Array:
        """√max(0, eq. 35): the paper is silent on negative values; cut at 0 its section 8 is reproduced."""
        return np.asarray(np.sqrt(np.maximum(self.total_variance, 0.0)), dtype=np.float64)

    def z_score(self, truth: float) -> Array:
        """Return (m* − truth)/s.e. (eq. 37), infinite where the standard error is 0."""
        error = self.estimate - truth
        return np.divide(error, self.standard_error, out=np.copysign(np.inf, error), where=self.standard_error > 0.0)

    def covers(self, truth: float, *, level: float = 0.95) -> NDArray[np.bool_]:
        """Return whether m* ± z·s.e. holds the truth (eq. 36)."""
        return np.asarray(np.abs(self.estimate - truth) <= normal_quantile(level) * self.standard_error)


def published_intervals(
    replicates: ArrayLike, *, noise_variance: float, alpha: float = _ALPHA
) -> dict[str, PublishedIntervals]:
    """Return their three estimators of each release, eq. 35 with c = k − 1, c = χ²-quantile at α′, and c = 0.

    Parameters
    ----------
    replicates : array, (releases, k)
        Noisy replicate means.
    noise_variance : float
        σ₁² = Δ²k/2ρ, of one replicate.
    alpha : float
        α′, .05 in the paper.

    Examples
    --------
    >>> of = published_intervals([[1.0, 3.0]], noise_variance=1.0)
    >>> of["unbiased"].total_variance.tolist(), of["most conservative"].total_variance.tolist()
    ([1.5], [2.5])
    """
    values = np.atleast_2d(np.asarray(replicates, dtype=np.float64))
    k = values.shape[1]
    means, spreads = values.mean(axis=1), values.var(axis=1, ddof=1)
    found = {}
    for name, share in zip(ESTIMATORS, (1.0, chi_square_share(k, alpha=alpha), 0.0), strict=True):
        # One call a spread would be slow, and the printed formula is linear in it.
        constant = brawner_honaker_total_variance(0.0, noise_variance=noise_variance, n_resamples=k, noise_share=share)
        found[name] = PublishedIntervals(means, spreads + constant)
    return found


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
    pair = MixturePair(kind, math.sqrt(n_resamples / (2.0 * rho)), 0.5)
    return release_curve((pair,), n_resamples=n_resamples).epsilon_upper(delta)


def attained_epsilon(rho: float, *, n_resamples: int, delta: float) -> float:
    """Return ε of the pair (0, R), all other records at 0, which multinomial weights attain as n grows.

    See private_bootstrap.md §2.

    That no other pair is worse is unproven, so this says that the mechanism as published costs at least as much.

    >>> round(attained_epsilon(0.5, n_resamples=50, delta=1e-6), 2)
    5.17
    """
    pair = MixturePair(PairKind.ONE_SIDED, math.sqrt(n_resamples / (2.0 * rho)), 1.0)
    return release_curve((pair,), n_resamples=n_resamples).epsilon_upper(delta)


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
