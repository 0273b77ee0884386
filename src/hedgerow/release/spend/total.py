"""The price of several planned releases together, and whether one can be paid from the facts' total at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hedgerow.accounting.certificate import round_up
from hedgerow.accounting.compose import profile_of
from hedgerow.errors import BudgetExceeded
from hedgerow.facts.budget import Budget
from hedgerow.mechanisms.mechanism import Composition, parts_of
from hedgerow.release.plan import Plan


def price_together(plans: Sequence[Plan], delta: float) -> float:
    """Return an upper bound on ε at δ of all the releases together: their privacy-loss distributions are composed.

    Infinite where no ε holds at this δ, as for Gaussian noise at δ = 0.
    """
    parts = [part for plan in plans for part in parts_of(plan.mechanism)]
    if not parts:
        return 0.0
    together = parts[0] if len(parts) == 1 else Composition(tuple(parts))
    return round_up(profile_of(together, plans[0].facts.relation).epsilon_upper(delta))


def within_total(plan: Plan, total: Budget | None) -> None:
    """Refuse a release that alone costs more than all that may ever be spent.

    Raises
    ------
    BudgetExceeded
        HG706: its ε at the total's δ exceeds the total's ε. Nothing was read or spent.
    """
    if total is not None and plan.calibrated is not None:
        price_within(plan.calibrated.profile.epsilon_upper(total.delta), total)


def price_within(epsilon: float, total: Budget) -> None:
    """Refuse an ε, at the total's δ, above the total's (HG706); infinite where no price holds at that δ."""
    price = round_up(epsilon) if math.isfinite(epsilon) else epsilon
    if price > total.epsilon:
        said = f"ε = {price:.6g}" if math.isfinite(price) else "more than every ε"
        raise BudgetExceeded(
            "HG706",
            requested=price,
            remaining=total.epsilon,
            rule="A release costs no more than the whole budget of the facts.",
            finding=f"It would cost {said} at δ = {total.delta:.3g}, of ε = {total.epsilon:.6g} in all.",
            remedy="Ask for less: a smaller epsilon, or a δ no larger than that of the budget.",
        )
