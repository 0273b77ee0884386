"""The least noise of one look with which all looks together stay within the budget, as a ledger will add them up.

The accountant's own composition of all looks guides the search; the ledger's running total, which folds entry by entry
and is larger in its last digits, decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hedgerow.accounting.calibrate import most_precise
from hedgerow.accounting.profile import Profile
from hedgerow.errors import UncertifiedError
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms.mechanism import Single
from hedgerow.testset.mechanisms.mechanism import Conditions

_ROUND_UP = 1.0 + 1e-12
_SHAVINGS = 12


def all_looks(mechanism: Single, conditions: Conditions) -> Profile:
    """Return an upper bound on the privacy curve of `n_looks` looks by one mechanism.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.mechanisms.mechanism import GeometricCounts
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 4, 1000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(all_looks(GeometricCounts(8.0, 1), facts).epsilon_upper(0.0), 6)
    0.5
    """
    return mechanism.repeated(conditions.n_looks, conditions.relation)


def fits(mechanism: Single, conditions: Conditions) -> bool:
    """Return whether a ledger of the conditions' budget takes `n_looks` entries of this mechanism."""
    return excess(mechanism, conditions) <= 0.0


def excess(mechanism: Single, conditions: Conditions) -> float:
    """Return the ε of all looks as a ledger adds them up, minus the ε of the budget; they fit if it is at most 0."""
    budget, looks = conditions.budget, conditions.n_looks
    allowed = int(Fraction(str(budget.epsilon)) * 10**6)
    if all(term.exact_mu() is not None for term in mechanism.terms(conditions.relation)):
        # μ² add up, there as here.
        return all_looks(mechanism, conditions).epsilon_upper(budget.delta) - (allowed - 2) / 1e6
    total = RunningTotal(conditions.relation, budget.epsilon, budget.delta)
    for _ in range(looks):
        total = total.plus(mechanism)
        if total.micro is None:
            break
    return math.inf if total.micro is None else (total.micro - allowed) / 1e6


def fit(build: Callable[[float], Single], conditions: Conditions, *, checked: bool = True) -> Single:
    """Return build(M) for nearly the largest M whose looks together meet the budget; the price must rise with M.

    Parameters
    ----------
    build : callable
        From precision to a mechanism.
    conditions : Conditions
        The budget and the number of looks.
    checked : bool
        Whether a ledger's total is asked too. Without it the mechanism is good for a comparison, not for a release.

    Raises
    ------
    UncertifiedError
        HG401, HG431: no amount of noise meets the budget.
    """
    budget = conditions.budget
    # Less is left over than one more look would cost.
    tolerance = min(1e-3, 0.2 / conditions.n_looks) * budget.epsilon
    # Looks cost about their root (without δ, their number) times what one costs: the search begins where it may end.
    fewer = conditions.n_looks ** (0.5 if budget.delta > 0.0 else 1.0)

    def looks(mechanism: Single) -> Profile:
        return all_looks(mechanism, conditions)

    limit = budget.epsilon - max(3e-6, 0.1 * tolerance)
    for _ in range(_SHAVINGS):
        found = most_precise(lambda precision: build(precision / fewer), looks, budget.delta, (limit, tolerance))
        over = excess(found.mechanism, conditions) if checked else 0.0
        if over <= 0.0:
            return found.mechanism
        # The ledger's bound lies above the search's by about as much at the next try.
        limit = min(limit, found.epsilon_upper) - (
            over + 0.1 * tolerance if math.isfinite(over) else max(tolerance, 1e-4 * budget.epsilon)
        )
    raise UncertifiedError(
        "HG431",
        rule="All looks together must fit the ledger's budget.",
        finding=f"No amount of noise was found with which {conditions.n_looks:,} looks do.",
        remedy="Take the Gaussian mechanism, fewer looks or a larger epsilon.",
    )
