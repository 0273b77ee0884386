"""Composition: independent terms of a worst pair added up into one privacy curve.

Gaussians compose in closed form (μ² add up); everything else as laws of the privacy loss on a grid, rounded against the
user (`terms`) and folded (`loss_fold`). Where every term has a pure bound, the curve ends at their sum. Equal terms are
merged first, so a thousand equal releases take as long as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from hedgerow.accounting.dominating_pairs import SUM_ROUND_UP, DominatingPair, GaussianPair
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.profile import CappedProfile, GaussianProfile, Profile, PureProfile, RevealingProfile
from hedgerow.facts.relation import Relation

# No budget asks for a δ below twice this; a curve that does not reach it has no price.
_LEAST_DELTA = 1e-12
_MASS_ERROR = 1e-12  # relative error of one mass of a term's grid, with a margin
_UNIT = 1e-15  # rounding of one factor of a product of numbers near 1


class Priced(Protocol):
    """Anything that has a price: it returns its worst pair of neighbours as terms."""

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
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


def compose(terms: Sequence[DominatingPair]) -> Profile:
    """Return an upper bound on the curve of independent terms run together."""
    revealed = [chance for chance in (term.revealed() for term in terms) if chance is not None]
    if revealed:
        rest = compose([term for term in terms if term.revealed() is None])
        return RevealingProfile(
            min(1.0, 1.0 - math.prod(1.0 - chance for chance in revealed) + _UNIT * len(terms)), rest
        )
    mu = math.sqrt(sum(gaussian**2 for gaussian in (term.exact_mu() for term in terms) if gaussian is not None))
    others = [term for term in terms if term.exact_mu() is None]
    if not others:
        return GaussianProfile(mu) if mu > 0 else PureProfile(0.0)
    alone = others[0].alone() if mu == 0.0 and len(others) == 1 else None
    if alone is not None:
        return alone
    if not all(term.meets(_LEAST_DELTA) for term in others):
        return PureProfile(math.inf)
    return CappedProfile(_folded(mu, others), math.inf if mu > 0 else pure_total(others))


def pure_total(terms: Iterable[DominatingPair]) -> float:
    """Return an ε at which δ of all terms together is 0; infinite where one has none.

    >>> from hedgerow.accounting.dominating_pairs import ContinuousLaplacePair, PureDPPair
    >>> round(pure_total([PureDPPair(0.5), ContinuousLaplacePair(0.25)]), 9)
    0.75
    """
    return sum(term.pure() for term in terms) * SUM_ROUND_UP


def _folded(mu: float, terms: Iterable[DominatingPair]) -> Curve:
    """Return the curve of independent terms; equal ones are folded together, at the cost of one."""
    ordered = sorted(merged(terms), key=lambda term: term.order)
    # What rounds the loss is a small part of it: the grid is cut a few thousand times finer than the total loss.
    spread = math.sqrt(sum((term.rough_square() for term in ordered), mu**2))
    step = max(1e-9, spread / 2000.0)
    gaussian: list[DominatingPair] = [GaussianPair(mu)] if mu > 0 else []
    counted = [(term.grid(step), often) for term, often in Counter(gaussian + ordered).items()]
    parts = [(grid, times * often) for (grid, times), often in counted]
    return Curve(step, composed_curve(parts, relative=_MASS_ERROR * sum(times for _, times in parts)))


def merged(terms: Iterable[DominatingPair]) -> list[DominatingPair]:
    """Return the terms in order, counts with equal noise added up in the first of them.

    >>> from hedgerow.accounting.dominating_pairs import DiscreteGaussianPair, PureDPPair
    >>> merged([DiscreteGaussianPair(2.0, 1), PureDPPair(0.1), DiscreteGaussianPair(2.0, 3)])
    [DiscreteGaussianPair(sd=2.0, times=4), PureDPPair(epsilon=0.1)]
    """
    pairs: dict[object, DominatingPair] = {}
    for index, term in enumerate(terms):
        key = term.merge_key() or index
        pairs[key] = pairs[key].merged(term) if key in pairs else term
    return list(pairs.values())


def repeated(term: DominatingPair, times: int) -> Profile:
    """Return an upper bound on the curve of `times` equal terms; losses on a lattice of their own stay on it."""
    return term.repeated(times) or compose([term] * times)
