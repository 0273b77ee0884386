"""The least noise that provably meets a budget: a search that ends on the side that holds.

Mechanisms are given as a function of one number, the precision M: all noise widths are proportional to 1/M, so the
price rises with M. The search keeps a precision whose price is at most the budget, and raises it until the price lies
within the tolerance of it. A mechanism that takes long to price says which Gaussian release costs about as much. Then
the search begins there, and reads each price as the μ of such a release, which is nearly proportional to M: one or two
prices do, in place of a dozen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from hedgerow.accounting.compose import Priced, least_mu, profile_of
from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.accounting.profile import Profile, bisect, gaussian_delta
from hedgerow.errors import HedgerowError, ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation

TOLERANCE = 1e-3
_ERROR = 1e-11  # rounding
_MU_TOLERANCE = 1e-5  # relative: the μ of Gaussian noise is a closed form, and lattice widths are finer
_TRIED = 6  # prices from a start on, before the search turns to a bracket
M = TypeVar("M", bound=Priced)
M_co = TypeVar("M_co", bound=Priced, covariant=True)


@dataclass(frozen=True, slots=True)
class Calibrated(Generic[M_co]):
    """A mechanism whose price is proven: ``epsilon_upper`` ≤ the budget's ε at its δ."""

    mechanism: M_co
    profile: Profile
    precision: float
    epsilon_upper: float


def least_noise(build: Callable[[float], M], relation: Relation, budget: Budget) -> Calibrated[M]:
    """Return the mechanism of least noise whose price at δ lies in [ε − tolerance, ε]; or whose μ is the budget's.

    Raises
    ------
    UncertifiedError
        HG401: no amount of noise meets the budget (for example a Gaussian at δ = 0).

    Examples
    --------
    >>> from hedgerow.mechanisms.noisy_counts import GaussianNoise
    >>> found = least_noise(lambda m: GaussianNoise(1.0 / m, 1.0), Relation.REPLACE_ONE, Budget(1.0, 1e-6))
    >>> 0.999 <= found.epsilon_upper <= 1.0
    True
    """
    # Noise widths are whole numbers of lattice steps, so the price is a staircase of relative height below 1e-6.
    tolerance = min(TOLERANCE, TOLERANCE * budget.epsilon)
    limit, cost = budget.epsilon, None if budget.mu is None else _mu_under(relation)
    if budget.mu is not None:
        limit, tolerance = budget.mu, _MU_TOLERANCE * budget.mu
    start = _start(build, relation, budget.delta, limit - 0.5 * tolerance) if budget.mu is None else None
    return most_precise(build, lambda built: profile_of(built, relation), budget.delta, (limit, tolerance), cost, start)


def surely_over(terms: Sequence[DominatingPair], budget: Budget) -> bool:
    """Whether independent terms certainly cost more than a budget of ε and δ; False where it is not known at once.

    Integers with discrete Gaussian noise of sd s cost at least what the line does with sd √(s² + 4): another normal
    number of sd 2, added to them, makes one such number up to a factor 1 ± 2e-17 (see `accounting.exact_laws`), s ≥ 2.
    Narrower noise costs more than noise of sd 2.

    >>> from hedgerow.accounting.dominating_pairs import DiscreteGaussianPair
    >>> surely_over([DiscreteGaussianPair(3.0, 2)], Budget(1.0, 1e-6)), surely_over([DiscreteGaussianPair(30.0, 2)],
    ... Budget(1.0, 1e-6))
    (True, False)
    """
    mu = math.sqrt(sum(term.least_square() for term in terms)) * (1.0 - _ERROR)
    if budget.mu is not None or mu == 0.0:
        return False
    first, second = gaussian_delta(mu, budget.epsilon)
    return first - second - _ERROR * first > budget.delta


def _mu_under(relation: Relation) -> Callable[[Priced, Profile], float]:
    return lambda mechanism, profile: least_mu(mechanism.terms(relation), profile)


def most_precise(
    build: Callable[[float], M],
    price: Callable[[M], Profile],
    delta: float,
    within: tuple[float, float],
    cost_of: Callable[[M, Profile], float] | None = None,
    start: float | None = None,
) -> Calibrated[M]:
    """Return build(x) for the largest x found whose cost is at most the limit, and at least limit − tolerance.

    `within` is (limit, tolerance); the cost is ε at δ, unless another is given. `start` is an x at which a mechanism
    that costs about what a Gaussian release does is thought to meet the limit.

    What is refused as uncertified, or as noise that cannot be drawn, costs more than every limit.

    Raises
    ------
    HedgerowError
        No x was found: the first refusal of a mechanism, such as HG403, and HG401 where none was refused.
    """
    refusals: list[HedgerowError] = []
    held: dict[float, Calibrated[M]] = {}

    @cache  # both ends of a bracket are asked for again
    def cost(precision: float) -> float:
        try:
            mechanism = build(precision)
            profile = price(mechanism)
        except (UncertifiedError, ParameterError) as refusal:
            refusals.append(refusal)
            return math.inf
        epsilon = profile.epsilon_upper(delta)
        held[precision] = Calibrated(mechanism, profile, precision, epsilon)
        return epsilon if cost_of is None else cost_of(mechanism, profile)

    try:
        near = None if start is None else _from(start, cost, delta, *within)
        return held[_largest_within(cost, *within) if near is None else near]
    except UncertifiedError:
        if refusals:
            raise refusals[0] from None
        raise


def _start(build: Callable[[float], M], relation: Relation, delta: float, epsilon: float) -> float | None:
    """Return the precision at which the mechanism is about as precise as the Gaussian release of this price."""
    if delta == 0.0:
        return None
    precision, wanted = epsilon / 4.0, gaussian_mu_at(epsilon, delta)
    try:
        for _ in range(3):
            mu = build(precision).nearly_mu(relation)
            if mu is None:
                return None
            precision *= wanted / mu
    except (UncertifiedError, ParameterError):
        return None
    return precision


def gaussian_mu_at(epsilon: float, delta: float) -> float:
    """Return the μ of the Gaussian release whose price at δ is ε, up to 1e-9 of it.

    >>> round(gaussian_mu_at(4.8873, 1e-6), 3)
    1.0
    """

    def within(mu: float) -> bool:
        first, second = gaussian_delta(mu, epsilon)
        return first - second <= delta

    high = 1.0
    while within(high):
        high *= 2.0
    while not within(high / 2.0):
        high /= 2.0
    return bisect(within, held=high / 2.0, failed=high, tolerance=1e-9, least=0.0)


def _from(start: float, cost: Callable[[float], float], delta: float, limit: float, tolerance: float) -> float | None:
    """Return an x with limit − tolerance ≤ cost(x) ≤ limit, by secants of log μ in log x; None where they find none."""
    tried, slope, aim = start, 1.0, gaussian_mu_at(limit - 0.3 * tolerance, delta)
    before: tuple[float, float] | None = None
    for _ in range(_TRIED):
        spent = cost(tried)
        if limit - tolerance <= spent <= limit:
            return tried
        if not 0.0 < spent < math.inf:
            return None
        mu = gaussian_mu_at(spent, delta)
        if before is not None:
            slope = math.log(mu / before[1]) / math.log(tried / before[0])
        if not 0.2 < slope < 20.0:
            return None
        before, tried = (tried, mu), tried * (aim / mu) ** (1.0 / slope)
    return None


def _largest_within(cost: Callable[[float], float], limit: float, tolerance: float) -> float:
    """Return nearly the largest x with cost(x) ≤ limit; cost must rise with x."""
    low, high = _bracket(cost, limit)
    below, above = cost(low), cost(high)
    for _ in range(200):
        if below >= limit - tolerance:
            return low
        # log cost is close to linear in log x: aim for the middle of the tolerance, but never leave the bracket.
        aim = limit - 0.3 * tolerance
        slope = math.log(above / below) / math.log(high / low) if math.isfinite(above) and below > 0 else 0.0
        guess = low * (aim / below) ** (1.0 / slope) if slope > 0 else math.sqrt(low * high)
        inside = low * (high / low) ** 0.02 < guess < low * (high / low) ** 0.98
        middle = guess if inside or (high / low < 1.01 and low < guess < high) else math.sqrt(low * high)
        tried = cost(middle)
        if tried <= limit:
            low, below = middle, tried
        else:
            high, above = middle, tried
        # Where only the next step is uncertified, the edge of what is certified is all there is to find.
        if high / low < 1.0 + (1e-13 if math.isfinite(above) else 1e-5):
            return low
    return low


def _bracket(cost: Callable[[float], float], limit: float) -> tuple[float, float]:
    low = high = max(limit, 1e-6) / 4.0
    for _ in range(80):
        if cost(low) <= limit:
            break
        low /= 2.0
    else:
        raise UncertifiedError(
            "HG401",
            rule="The budget must be met by some amount of noise.",
            finding="No amount of noise meets the budget: at this δ the price stays above ε.",
            remedy="Gaussian noise always needs δ > 0; for δ = 0 use geometric noise.",
        )
    high = max(high, low * 2.0)
    for _ in range(80):
        if cost(high) > limit:
            return low, high
        low, high = high, high * 2.0
    raise UncertifiedError(
        "HG401",
        rule="A larger precision of the noise must have a larger price.",
        finding="The computed privacy price does not rise with the precision of the noise.",
        remedy="Please report this error.",
    )
