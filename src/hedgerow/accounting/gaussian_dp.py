r"""The least μ whose Gaussian curve lies above a privacy curve everywhere: μ-GDP (Dong, Roth & Su, 2022).

A test with P(S) = a and Q(S) = b is one point of the trade-off function of a pair, and a Gaussian pair of
μ = Φ⁻¹(a) − Φ⁻¹(b) has a test with the same a and b. A curve δ(ε) whose chords in e^ε are known has the trade-off
function with corners (b, 1 − a), one a chord δ = a − b·e^ε; between corners it is straight, and Gaussian ones are
convex. So the least μ is the largest Φ⁻¹(a) − Φ⁻¹(b) over the chords. Curves are symmetric, so ε ≥ 0 suffices.

* **Pure ε₀**: the chord of randomised response, a = e^ε₀/(1 + e^ε₀) and b = 1/(1 + e^ε₀): μ = 2Φ⁻¹(e^ε₀/(1 + e^ε₀)).
* **Bounded loss**: the chords of the composed curve, the last of which ends at δ = 0.
* **Discrete Gaussian noise** of sd s, moved by 1: the largest Φ⁻¹(P(Z ≥ t − 1)) − Φ⁻¹(P(Z ≥ t)) over t.
  With x_t = −Φ⁻¹(P(Z ≥ t)) and the hazard of the normal law, x_t − x_{t−1} ≤ log(P(Z ≥ t − 1)/P(Z ≥ t))/x_{t−1},
  where the logarithm is at most log(1 + e^{(2t−1)/2s²}), and x_{t−1} ≥ (t − 1)(1 − 10⁻⁵)/s from t = 1,000·s on, Z being
  sub-Gaussian (Canonne, Kamath & Steinke, 2020). Below it the tails are added up. Several compose to √Σμ².
* **Both**: with losses bounded by ε₀ beside a Gaussian of μ₀, P(S) ≤ e^ε₀ Φ(μ₀ + Φ⁻¹(Q(S))). Φ(μ + x)/Φ(μ₀ + x) falls
  with x for μ > μ₀, so a μ that exceeds this at one corner does so at all smaller b: the chords up to a corner and this
  bound at it are enough. The corner is the one that gives the least μ.

A resampled release has none: its Poisson tails beat every Gaussian. Nor has one that tells all with some chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from hedgerow.accounting.compose import compose, pure_total
from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.accounting.loss_grid import Array, lower_hull
from hedgerow.accounting.profile import Profile

_ROUND_UP = 1.0 + 1e-9
_POINTS = 1500
_LEAST_DELTA = 1e-11  # down to where composed curves are more than their round-off
_LARGEST = 300.0  # ε of which e^ε is computed
_UNIT = float(np.finfo(np.float64).eps)


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
        Independent coordinates of a worst pair.
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
    end = curve.epsilon_upper(_LEAST_DELTA)
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
    error = 4.0 * _UNIT * (y[corner] / np.diff(x[hull]) + b)
    # 1 − a at the left end of a chord: there the first one has 1 − a = b, to its last digit.
    rest = (1.0 - y[corner]) - b * x[corner]
    rest = rest - np.where(corner == 0, error, error * np.abs(x[corner]) + 4.0 * _UNIT)
    a = (y[corner] + b * x[corner]) * (1.0 + 4.0 * _UNIT) + error * np.abs(x[corner])
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
