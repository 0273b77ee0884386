"""Composition: independent terms of a worst pair added up into one privacy curve.

Gaussians compose in closed form (μ² add up); everything else as laws of the privacy loss on a grid, rounded against the
user (`terms`) and folded (`loss_fold`). Where every term has a pure bound, the curve ends at their sum. Equal terms are
merged first, so a thousand equal releases take as long as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid
from hedgerow.accounting.profile import CappedProfile, GaussianProfile, Profile, PureProfile, RevealingProfile
from hedgerow.accounting.terms import (
    ROUND_UP,
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
    """Anything that has a price: it returns its worst pair of neighbours as terms."""

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return the independent terms of the worst pair."""
        ...

    def nearly_mu(self, relation: Relation) -> float | None:
        """Return the μ of a Gaussian release that costs about as much, None where it is not known: no price."""
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
    pure = math.inf if mu > 0 else pure_total(others)
    if mu == 0 and len(others) == 1 and isinstance(others[0], Pure):
        return PureProfile(pure)
    return CappedProfile(_folded(mu, others), pure)


def pure_total(terms: Iterable[Term]) -> float:
    """Return an ε at which δ of all terms together is 0; infinite where one has none.

    >>> round(pure_total([Pure(0.5), Laplace(0.25)]), 9)
    0.75
    """
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
    ordered = sorted(merged(terms), key=_kind)
    # What rounds the loss is a small part of it.
    step = max(1e-9, _spread(mu, ordered) / 2000.0)
    gaussian: list[Term] = [Gaussian(mu)] if mu > 0 else []
    parts = [
        (grid, times * often)
        for term, often in Counter(gaussian + ordered).items()
        for grid, times in [term_grid(term, step)]
    ]
    return Curve(step, composed_curve(parts, relative=_MASS_ERROR * sum(times for _, times in parts)))


def merged(terms: Iterable[Term]) -> list[Term]:
    """Return the terms in order, counts with equal noise added up in the first of them.

    >>> merged([Discrete(2.0, 1), Pure(0.1), Discrete(2.0, 3)])
    [Discrete(sd=2.0, times=4), Pure(epsilon=0.1)]
    """
    found: dict[object, Term] = {}
    for index, term in enumerate(terms):
        if isinstance(term, (Discrete, DiscreteLaplace)):
            same = replace(term, times=0)
            before = found.get(same)
            found[same] = replace(term, times=term.times + (before.times if isinstance(before, type(term)) else 0))
        else:
            found[index] = term
    return list(found.values())


def _kind(term: Term) -> int:
    return 0 if isinstance(term, Discrete) else 1 if isinstance(term, DiscreteLaplace) else 2


def repeated(term: Term, times: int) -> Profile:
    """Return an upper bound on the curve of `times` equal terms; losses on a lattice of their own stay on it."""
    match term:
        case Gaussian(mu=mu):
            return GaussianProfile(mu * times**0.5 * ROUND_UP)
        case DiscreteLaplace(scale=scale, times=often):
            return _two_losses(ROUND_UP / scale, often * times)
        case Pure(epsilon=epsilon):
            return _two_losses(epsilon, times)
    return compose([term] * times)


def _two_losses(epsilon: float, times: int) -> Profile:
    """Return the curve of `times` pairs that lose ε or −ε: exact for geometric counts, a bound for whatever is pure."""
    lose = float(1.0 / (1.0 + np.exp(epsilon)))
    grid = LossGrid(-1, epsilon, np.array([lose, 0.0, 1.0 - lose]), 0.0)
    folded = composed_curve([(grid, times)], relative=_UNIT * max(times, 3))
    return CappedProfile(Curve(epsilon, folded), times * epsilon * ROUND_UP)
