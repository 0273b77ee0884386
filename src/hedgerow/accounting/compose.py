"""Composition: independent terms of a worst pair added up into one privacy curve.

Gaussians compose in closed form (μ² add up) and pure bounds by their sum; everything else as laws of the privacy loss
on a grid, rounded against the user (`terms`) and folded (`loss_fold`). Equal terms are merged first, so a thousand
equal releases take as long as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.profile import CappedProfile, GaussianProfile, Profile, PureProfile, RevealingProfile
from hedgerow.accounting.terms import (
    Discrete,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Pure,
    Resampled,
    Revealed,
    Term,
    term_grid,
)
from hedgerow.facts.relation import Relation

# No budget asks for a δ below twice this; a curve that does not reach it has no price.
_LEAST_DELTA = 1e-12
_MASS_ERROR = 1e-12  # relative error of one mass of a term's grid, with a margin
_UNIT = 1e-15  # rounding of one factor of a product of numbers near 1


class Priced(Protocol):
    """What has a price: its worst pair of neighbours as terms."""

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return the independent terms of the worst pair."""
        ...


def profile_of(mechanism: Priced, relation: Relation) -> Profile:
    """Return an upper bound on the privacy curve of a mechanism under a relation.

    >>> from hedgerow.mechanisms.mechanism import GaussianNoise
    >>> round(profile_of(GaussianNoise(noise_sd=1.0, sensitivity=1.0), Relation.REPLACE_ONE).epsilon_upper(1e-3), 3)
    3.139
    """
    return compose(mechanism.terms(relation))


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
    if any(math.isinf(term.curve.epsilon_upper(_LEAST_DELTA)) for term in beyond):
        return PureProfile(math.inf)
    if not others:
        return GaussianProfile(mu) if mu > 0 else PureProfile(0.0)
    pure = math.inf if mu > 0 else _pure_total(others)
    if mu == 0 and all(isinstance(term, Pure) for term in others):
        return PureProfile(pure)
    return CappedProfile(_folded(mu, others), pure)


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


def _folded(mu: float, terms: Iterable[Term]) -> Curve:
    """Return the curve of independent terms; equal ones are folded together, at the cost of one."""
    merged = _merged(terms)
    # What rounds the loss is a small part of it.
    step = max(1e-9, _spread(mu, merged) / 2000.0)
    gaussian: list[Term] = [Gaussian(mu)] if mu > 0 else []
    parts = [
        (grid, times * often)
        for term, often in Counter(gaussian + merged).items()
        for grid, times in [term_grid(term, step)]
    ]
    return Curve(step, composed_curve(parts, relative=_MASS_ERROR * sum(times for _, times in parts)))


def _merged(terms: Iterable[Term]) -> list[Term]:
    """Return the terms, counts with equal noise added up in one."""
    discrete: Counter[float] = Counter()
    laplace: Counter[float] = Counter()
    rest: list[Term] = []
    for term in terms:
        match term:
            case Discrete(sd=sd, times=times):
                discrete[sd] += times
            case DiscreteLaplace(scale=scale, times=times):
                laplace[scale] += times
            case _:
                rest.append(term)
    counts: list[Term] = [Discrete(sd, times) for sd, times in discrete.items()]
    return [*counts, *(DiscreteLaplace(scale, times) for scale, times in laplace.items()), *rest]
