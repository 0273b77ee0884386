"""Composition: independent terms of a worst pair added up into one privacy curve. The only door to dp_accounting.

Gaussians compose in closed form (μ² add up) and pure bounds by their sum; everything else as privacy-loss
distributions, rounded pessimistically on a grid and convolved. Gaussian terms are merged first, so a release of many
means costs one distribution, not many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.accounting.additive import (
    Discrete,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Pure,
    Resampled,
    Revealed,
    Term,
    terms_of,
)
from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.profile import CappedProfile, GaussianProfile, Profile, PureProfile, RevealingProfile
from hedgerow.privacy.mechanism import Mechanism
from hedgerow.privacy.relation import Relation

__all__ = ["ComposedProfile", "compose", "profile_of"]

# Convolution by FFT leaves about 1e-17 of δ a grid point; a curve has fewer than 1e5 of them. (The least δ of a budget
# is twice this.)
_ROUNDOFF = 1e-12
_ROUND_UP = 1.0 + 1e-9
_UNIT = 1e-15  # rounding of one factor of a product of numbers near 1


def profile_of(mechanism: Mechanism, relation: Relation) -> Profile:
    """Return an upper bound on the privacy curve of a mechanism under a relation.

    >>> from hedgerow.privacy.mechanism import GaussianNoise
    >>> round(profile_of(GaussianNoise(noise_sd=1.0, sensitivity=1.0), Relation.REPLACE_ONE).epsilon_upper(1e-3), 3)
    3.139
    """
    return compose(terms_of(mechanism, relation))


def compose(terms: Sequence[Term]) -> Profile:
    """Return an upper bound on the curve of independent terms run together."""
    hidden = math.prod(1.0 - term.chance for term in terms if isinstance(term, Revealed))
    if any(isinstance(term, Revealed) for term in terms):
        rest = compose([term for term in terms if not isinstance(term, Revealed)])
        return RevealingProfile(min(1.0, 1.0 - hidden + _UNIT * len(terms)), rest)
    mu = math.sqrt(sum(term.mu**2 for term in terms if isinstance(term, Gaussian)))
    others = [term for term in terms if not isinstance(term, Gaussian)]
    if len(terms) == 1 and isinstance(terms[0], Resampled):
        return terms[0].curve if math.isinf(terms[0].pure) else CappedProfile(terms[0].curve, terms[0].pure)
    beyond = (term for term in others if isinstance(term, Resampled) and math.isinf(term.pure))
    if any(math.isinf(term.curve.epsilon_upper(_ROUNDOFF)) for term in beyond):
        return PureProfile(math.inf)
    if not others:
        return GaussianProfile(mu) if mu > 0 else PureProfile(0.0)
    pure = math.inf if mu > 0 else _pure_total(others)
    if mu == 0 and all(isinstance(term, Pure) for term in others):
        return PureProfile(pure)
    distribution = _distribution(mu, others)
    return ComposedProfile(distribution, pure)


@dataclass(frozen=True, slots=True)
class ComposedProfile:
    """The curve of a composed privacy-loss distribution, δ raised by the round-off of its convolutions."""

    distribution: Any
    pure: float

    def delta_upper(self, epsilon: float) -> float:
        """Return a δ for which (ε, δ) holds."""
        if epsilon >= self.pure:
            return 0.0
        return min(1.0, float(self.distribution.get_delta_for_epsilon(epsilon)) + _ROUNDOFF)

    def epsilon_upper(self, delta: float) -> float:
        """Return an ε for which (ε, δ) holds."""
        if delta <= _ROUNDOFF:
            return self.pure
        epsilon = float(self.distribution.get_epsilon_for_delta(delta - _ROUNDOFF)) * _ROUND_UP
        return min(self.pure, epsilon)


def _pure_total(terms: Iterable[Term]) -> float:
    total = 0.0
    for term in terms:
        match term:
            case DiscreteLaplace(scale=scale, times=times):
                total += times / scale
            case Laplace(epsilon=epsilon) | Pure(epsilon=epsilon) | Resampled(pure=epsilon):
                total += epsilon
            case _:
                return math.inf
    return total * (1.0 + 1e-14)


def _spread(mu: float, terms: Iterable[Term]) -> float:
    """Return the rough size of the total loss; the grid is cut a few thousand times finer."""
    squares = mu**2
    for term in terms:
        match term:
            case Discrete(sd=sd, times=times):
                squares += times / sd**2
            case DiscreteLaplace(scale=scale, times=times):
                squares += times / scale**2
            case Laplace(epsilon=epsilon) | Pure(epsilon=epsilon):
                squares += epsilon**2
            case Resampled(curve=curve):
                # The μ of the Gaussian that starts at the same δ(0): 2Φ(μ/2) − 1 ≈ 0.4 μ.
                squares += (curve.delta_upper(0.0) / 0.4) ** 2
    return math.sqrt(squares)


def _distribution(mu: float, terms: Iterable[Term]) -> Any:
    import dp_accounting.pld.privacy_loss_distribution as pld
    from dp_accounting.pld import common

    terms = list(terms)
    grid = max(1e-9, _spread(mu, terms) / 2000.0)
    total = pld.identity(value_discretization_interval=grid)
    if mu > 0:
        total = total.compose(
            pld.from_gaussian_mechanism(1.0 / mu, value_discretization_interval=grid, use_connect_dots=True)
        )
    for term in terms:
        match term:
            case Discrete(sd=sd, times=times):
                one = pld.from_discrete_gaussian_mechanism(
                    sd, 1, value_discretization_interval=grid, use_connect_dots=True
                )
            case DiscreteLaplace(scale=scale, times=times):
                one = pld.from_discrete_laplace_mechanism(
                    1.0 / scale, 1, value_discretization_interval=grid, use_connect_dots=True
                )
            case Laplace(epsilon=epsilon):
                times = 1
                one = pld.from_laplace_mechanism(
                    1.0, epsilon, value_discretization_interval=grid, use_connect_dots=True
                )
            case Pure(epsilon=epsilon):
                times = 1
                one = pld.from_privacy_parameters(
                    common.DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=grid
                )
            case Resampled(curve=curve):
                times = 1
                one = _from_curve(curve, grid, pld)
        total = total.compose(one if times == 1 else one.self_compose(times))
    return total


def _from_curve(curve: Curve, grid: float, pld: Any) -> Any:
    """Return the distribution of a symmetric pair whose curve is nowhere below this one."""
    losses = curve.loss_grid(step=grid)
    masses = {losses.start + place: float(mass) for place, mass in enumerate(losses.mass) if mass > 0.0}
    return pld.PrivacyLossDistribution.create_from_rounded_probability(masses, losses.infinity, grid)
