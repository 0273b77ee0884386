"""The least noise that provably meets a budget: a search that ends on the side that holds.

Mechanisms are given as a function of one number, the precision M: all noise widths are proportional to 1/M, so the
price rises with M. The search keeps a precision whose price is at most the budget, and raises it until the price lies
within `TOLERANCE` of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.profile import Profile, PureProfile
from hedgerow.errors import HedgerowError, ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import Composition, GaussianNoise, Mechanism

TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A mechanism whose price is proven: ``epsilon_upper`` ≤ the budget's ε at its δ."""

    mechanism: Mechanism
    profile: Profile
    precision: float
    epsilon_upper: float


def least_noise(build: Callable[[float], Mechanism], relation: Relation, budget: Budget) -> Calibrated:
    """Return the mechanism of least noise whose price at δ lies in [ε − tolerance, ε].

    Raises
    ------
    UncertifiedError
        HG401: no amount of noise meets the budget (for example a Gaussian at δ = 0).

    Examples
    --------
    >>> from hedgerow.mechanisms.mechanism import GaussianNoise
    >>> found = least_noise(lambda m: GaussianNoise(1.0 / m, 1.0), Relation.REPLACE_ONE, Budget(1.0, 1e-6))
    >>> 0.999 <= found.epsilon_upper <= 1.0
    True
    """
    refusals: list[HedgerowError] = []

    def price(precision: float) -> Calibrated:
        try:
            mechanism = build(precision)
            profile = profile_of(mechanism, relation)
        except (UncertifiedError, ParameterError) as refusal:
            # Beyond what is certified or can be drawn: no budget is enough. Said only if nothing else is found.
            refusals.append(refusal)
            return Calibrated(Composition(()), PureProfile(math.inf), precision, math.inf)
        return Calibrated(mechanism, profile, precision, profile.epsilon_upper(budget.delta))

    # Noise widths are whole numbers of lattice steps, so the price is a staircase of relative height below 1e-6.
    tolerance = min(TOLERANCE, TOLERANCE * budget.epsilon)
    try:
        return most_precise(price, lambda found: found.epsilon_upper, budget.epsilon, tolerance)
    except UncertifiedError:
        if refusals:
            raise refusals[0] from None
        raise


def gaussian_mu(budget: Budget) -> float:
    """Return the μ of the plain Gaussian release that this budget buys: a yardstick, from public facts.

    >>> round(gaussian_mu(Budget(1.0, 1e-6)), 3)
    0.237
    """
    return least_noise(lambda mu: GaussianNoise(1.0, mu), Relation.REPLACE_ONE, budget).precision


def most_precise(
    price: Callable[[float], Calibrated],
    cost: Callable[[Calibrated], float],
    limit: float,
    tolerance: float,
) -> Calibrated:
    """Return price(M) for the largest M found with cost ≤ limit, at least limit − tolerance; cost must rise with M."""
    low, high = _bracket(price, cost, limit)
    below, above = price(low), cost(price(high))
    for _ in range(200):
        if cost(below) >= limit - tolerance:
            return below
        # log cost is close to linear in log M: aim for the middle of the tolerance, but never leave the bracket.
        aim = limit - 0.3 * tolerance
        slope = (
            math.log(above / cost(below)) / math.log(high / low) if math.isfinite(above) and cost(below) > 0 else 0.0
        )
        guess = low * (aim / cost(below)) ** (1.0 / slope) if slope > 0 else math.sqrt(low * high)
        inside = low * (high / low) ** 0.02 < guess < low * (high / low) ** 0.98
        middle = guess if inside or (high / low < 1.01 and low < guess < high) else math.sqrt(low * high)
        tried = price(middle)
        if cost(tried) <= limit:
            low, below = middle, tried
        else:
            high, above = middle, cost(tried)
        # Where only the next step is uncertified, the edge of what is certified is all there is to find.
        if high / low < 1.0 + (1e-13 if math.isfinite(above) else 1e-5):
            return below
    return below


def _bracket(
    price: Callable[[float], Calibrated], cost: Callable[[Calibrated], float], limit: float
) -> tuple[float, float]:
    low = high = max(limit, 1e-6) / 4.0
    for _ in range(80):
        if cost(price(low)) <= limit:
            break
        low /= 2.0
    else:
        raise UncertifiedError(
            "HG401",
            rule="Some amount of noise must meet the budget.",
            finding="None does: at this δ the price stays above ε however much noise is added.",
            remedy="Gaussian noise always needs δ > 0; for δ = 0 use geometric noise.",
        )
    high = max(high, low * 2.0)
    for _ in range(80):
        if cost(price(high)) > limit:
            return low, high
        low, high = high, high * 2.0
    raise UncertifiedError(
        "HG401", rule="More precision must cost more.", finding="The price does not rise.", remedy="Report this."
    )
