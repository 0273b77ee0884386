"""Composition: independent terms of a dominating pair added up into one privacy profile.

Gaussians compose in closed form (μ² add up); everything else as laws of the privacy loss on a grid, rounded against the
user (`terms`) and folded (`loss_fold`). Where every term has a pure bound, the curve ends at their sum. Equal terms are
merged first, so a thousand equal releases take as long as one.

**The least μ** whose Gaussian curve lies above a privacy profile everywhere: μ-GDP (Dong, Roth & Su, 2022).

A test with P(S) = a and Q(S) = b is one point of the trade-off function of a pair, and a Gaussian pair of
μ = Φ⁻¹(a) − Φ⁻¹(b) has a test with the same a and b. A curve δ(ε) whose chords in e^ε are known has the trade-off
function with corners (b, 1 − a), one a chord δ = a − b·e^ε; between corners it is straight, and Gaussian ones are
convex. So the least μ is the largest Φ⁻¹(a) − Φ⁻¹(b) over the chords. Curves are symmetric, so ε ≥ 0 suffices.

* **Pure ε₀**: the chord of randomised response, a = e^ε₀/(1 + e^ε₀) and b = 1/(1 + e^ε₀): μ = 2Φ⁻¹(e^ε₀/(1 + e^ε₀)).
* **Bounded loss**: the chords of the composed curve, the last of which ends at δ = 0.
* **Discrete Gaussian noise** of sd s, moved by 1: the largest Φ⁻¹(P(Z ≥ t − 1)) − Φ⁻¹(P(Z ≥ t)) over t.
  With x_t = −Φ⁻¹(P(Z ≥ t)) and the hazard of the normal law, x_t − x_{t−1} ≤ log(P(Z ≥ t − 1)/P(Z ≥ t))/x_{t−1},
  where the logarithm is at most log(1 + e^{(2t−1)/2s²}), and x_{t−1} ≥ (t − 1)(1 − 10⁻⁵)/s from t = 1,000·s on, Z being
  sub-Gaussian (Canonne, Kamath & Steinke, 2020). Below it the tails are added up. Where s > 100 this bound is
  too weak. There every difference is at most 1/√(s² − 2): a number from N(v, s² − 2) that is rounded at random to an
  integer, as in `dominating_pairs` but with r² = 2, has the law of v + Z up to a factor 1 ± 4e-17, and the rounding
  does not know v. Several compose to √Σμ².
* **Both**: with losses bounded by ε₀ beside a Gaussian of μ₀, P(S) ≤ e^ε₀ Φ(μ₀ + Φ⁻¹(Q(S))). Φ(μ + x)/Φ(μ₀ + x) falls
  with x for μ > μ₀, so a μ that exceeds this at one corner does so at all smaller b: the chords up to a corner and this
  bound at it are enough. The corner is the one that gives the least μ.

A resampled release has none: its Poisson tails beat every Gaussian. Nor has one that tells all with some chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Protocol

import numpy as np

from hedgerow.accounting.dominating_pairs import SUM_ROUND_UP, DominatingPair, GaussianPair
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Array, Curve, lower_hull
from hedgerow.accounting.profile import CappedProfile, GaussianProfile, Profile, PureProfile, RevealingProfile
from hedgerow.facts.relation import Relation

# No budget asks for a δ below twice this; a curve that does not reach it has no price.
_LEAST_DELTA = 1e-12
_MASS_ERROR = 1e-12  # relative error of one mass of a term's grid, with a margin
_UNIT = 1e-15  # rounding of one factor of a product of numbers near 1
_ROUND_UP = 1.0 + 1e-9
_POINTS = 1500
_LEAST_CHORD = 1e-11  # down to where composed curves are more than their round-off
_LARGEST = 300.0  # ε of which e^ε is computed
_EPS = float(np.finfo(np.float64).eps)


class Priced(Protocol):
    """Anything that has a price: it returns its dominating pair of neighbours as terms."""

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the independent terms of the dominating pair."""
        ...

    def nearly_mu(self, relation: Relation) -> float | None:
        """Return the μ of a Gaussian release that costs about as much, None where it is not known: no price."""
        ...


def profile_of(mechanism: Priced, relation: Relation) -> Profile:
    """Return an upper bound on the privacy profile of a mechanism under a relation.

    >>> from hedgerow.mechanisms.noisy_counts import GaussianNoise
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
    return _curve_of(mu, tuple(sorted(merged(terms), key=lambda term: term.order)))


@lru_cache(maxsize=64)
def _curve_of(mu: float, ordered: tuple[DominatingPair, ...]) -> Curve:
    """Return the curve of merged terms; the plan, the certificate and `verify` of a release ask for the same ones."""
    # What rounds the loss is a small part of it: the grid is cut a few thousand times finer than the total loss.
    spread = math.sqrt(sum((term.rough_square() for term in ordered), mu**2))
    step = max(1e-9, spread / 2000.0)
    gaussian: list[DominatingPair] = [GaussianPair(mu)] if mu > 0 else []
    counted = [(term.grid(step), often) for term, often in Counter([*gaussian, *ordered]).items()]
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


def why_no_mu(terms: Sequence[DominatingPair]) -> str | None:
    """Return why no Gaussian curve lies above that of these terms; None where one does.

    >>> from hedgerow.accounting.dominating_pairs import GaussianPair, FullDisclosurePair
    >>> why_no_mu([GaussianPair(1.0)]), why_no_mu([FullDisclosurePair(0.1)])
    (None, 'It may tell everything with some probability, and no Gaussian mechanism ever does.')
    """
    reasons = [term.why_no_mu() for term in sorted(terms, key=lambda term: term.revealed() is None)]
    return next((reason for reason in reasons if reason is not None), None)


def least_mu(terms: Sequence[DominatingPair], curve: Profile) -> float:
    """Return the least μ, up to rounding, whose Gaussian curve lies above that of the terms; infinite without any.

    Parameters
    ----------
    terms : sequence of DominatingPair
        Independent coordinates of a dominating pair.
    curve : Profile
        Their curve, as `hedgerow.accounting.compose.compose` returns it.

    Examples
    --------
    >>> from hedgerow.accounting.compose import compose
    >>> from hedgerow.accounting.dominating_pairs import GaussianPair, PureDPPair
    >>> pairs = [GaussianPair(3.0), GaussianPair(4.0)]
    >>> least_mu(pairs, compose(pairs))  # doctest: +ELLIPSIS
    5.00000...
    >>> round(least_mu([PureDPPair(1.0)], compose([PureDPPair(1.0)])), 3)
    1.232
    """
    if why_no_mu(terms) is not None:
        return math.inf
    squares = [term.mu_squared() for term in terms]
    mu = math.sqrt(sum(square for square in squares if square is not None))
    bounded = [term for term, square in zip(terms, squares, strict=True) if square is None]
    if not bounded:
        return mu * _ROUND_UP
    pure = pure_total(bounded)
    if mu == 0.0:
        return min(_pure_mu(pure), _largest(*_chords(curve, pure, ended=True))) * _ROUND_UP
    least = math.hypot(mu, least_mu(bounded, compose(bounded)))
    end = curve.epsilon_upper(_LEAST_CHORD)
    if not end < _LARGEST:
        return least * _ROUND_UP
    first, second = _chords(curve, end, ended=False)
    deltas = np.maximum(np.maximum.accumulate(first - second), _beyond(mu, pure, second))
    return min(least, float(deltas.min(initial=math.inf))) * _ROUND_UP


def _pure_mu(epsilon: float) -> float:
    """Return 2Φ⁻¹(e^ε/(1 + e^ε)), without the loss of digits of a number near 1."""
    if epsilon <= _LARGEST:
        return -2.0 * NormalDist().inv_cdf(1.0 / (1.0 + math.exp(epsilon)))
    from hedgerow.special import ndtri_exp

    return -2.0 * float(ndtri_exp(-np.logaddexp(0.0, epsilon)))


def _quantiles(chances: Array) -> Array:
    """Return Φ⁻¹ of numbers below 1; to import SciPy would take longer than any of the work here."""
    inverse = NormalDist().inv_cdf
    return np.array([inverse(chance) if chance > 0.0 else -math.inf for chance in chances.tolist()], dtype=np.float64)


def _chords(curve: Profile, end: float, *, ended: bool) -> tuple[Array, Array]:
    """Return (Φ⁻¹(a), Φ⁻¹(b)) of the chords of a curve up to `end`, at which δ is 0 where it is `ended`; b falls.

    The first is rounded up, infinite where a is 1 but for rounding; the second is rounded down.
    """
    if end > _LARGEST:
        return np.array([math.inf]), np.zeros(1)
    # Denser near 0, where curves bend.
    epsilon = end * (np.arange(_POINTS + 1) / _POINTS) ** 1.5
    delta = curve.deltas_upper(epsilon)
    delta[-1] = 0.0 if ended else curve.delta_upper(end)
    # All chords of symmetric curves at ε = 0 pass through e^ε = −1, δ = 1.
    x, y = np.array([-1.0, *np.exp(epsilon)]), np.array([1.0, *delta])
    hull, slopes = lower_hull(x.tolist(), y.tolist())
    corner, b = np.asarray(hull[:-1]), -np.asarray(slopes)
    error = 4.0 * _EPS * (y[corner] / np.diff(x[hull]) + b)
    # 1 − a at the left end of a chord: there the first one has 1 − a = b, to its last digit.
    rest = (1.0 - y[corner]) - b * x[corner]
    rest = rest - np.where(corner == 0, error, error * np.abs(x[corner]) + 4.0 * _EPS)
    a = (y[corner] + b * x[corner]) * (1.0 + 4.0 * _EPS) + error * np.abs(x[corner])
    rising = b > error
    near_one = np.where(rest > 0.0, -_quantiles(np.where(rest > 0.0, rest, 0.5)), math.inf)
    first = np.where(a < 0.5, _quantiles(np.clip(a, 0.0, 0.5)), near_one)
    return first[rising], _quantiles((b - error)[rising])


def _largest(first: Array, second: Array) -> float:
    return float((first - second).max(initial=0.0))


def _beyond(mu: float, pure: float, x: Array) -> Array:
    """Return the μ that e^pure·Φ(μ₀ + x) needs at x = Φ⁻¹(b), and less at every smaller b."""
    from hedgerow.special import log_ndtr, ndtri_exp

    log_a = pure + np.asarray(log_ndtr(mu + x))
    return np.where(log_a < 0.0, np.asarray(ndtri_exp(np.minimum(log_a, 0.0))) - x, math.inf)
