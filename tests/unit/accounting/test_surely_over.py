"""A law of noise is passed over without its price only where its price could not win."""

from __future__ import annotations

import math

import pyarrow
import pytest

import hedgerow as hg
from hedgerow.accounting.calibrate import least_noise, surely_over
from hedgerow.accounting.compose import compose
from hedgerow.accounting.dominating_pairs import DiscreteGaussianPair, DiscreteLaplacePair
from hedgerow.accounting.profile import gaussian_delta
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_counts import GaussianCounts
from hedgerow.release import plan

BUDGETS = [Budget(epsilon, delta) for epsilon in (0.1, 1.0, 3.0) for delta in (1e-9, 1e-3)]
NUMBERS = pyarrow.table({"x": [float(place % 30) for place in range(3000)]})


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_nothing_within_the_budget_is_called_over_it(budget: Budget) -> None:
    found = least_noise(lambda x: GaussianCounts(math.sqrt(2.0) / x, 2), Relation.REPLACE_ONE, budget)
    terms = found.mechanism.terms(Relation.REPLACE_ONE)
    assert compose(terms).epsilon_upper(budget.delta) <= budget.epsilon
    assert not surely_over(terms, budget)
    # A tenth less noise is over the budget, which is seen unless the noise is about as narrow as what is added to it.
    sd = found.mechanism.sd
    assert sd < 8.0 or surely_over([DiscreteGaussianPair(0.9 * sd, 2)], budget)
    assert not surely_over([DiscreteLaplacePair(1e-3, 2)], budget)  # nothing is known of another law


def test_what_costs_just_the_budget_is_not_called_over_it() -> None:
    """Of wide noise hardly anything is lost by adding more, so that the rounding alone decides."""
    mu_squared = 1.0 / (1.0 - 4e-14)  # at least what 10¹⁴ numbers of sd 10⁷ cost
    first, second = gaussian_delta(math.sqrt(mu_squared), 5.0)
    terms = [DiscreteGaussianPair(1e7, 10**14)]
    assert not surely_over(terms, Budget(5.0, first - second))
    assert surely_over(terms, Budget(5.0, (first - second) * (1.0 - 1e-9)))


def _chosen(epsilon: float, relation: str) -> tuple[str, float]:
    made = hg.open(NUMBERS, relation=relation).plan([hg.proportion("x", value=1.0)], epsilon=epsilon, delta=1e-3)
    assert made.calibrated is not None and made.items[0].mechanism is not None
    return made.items[0].mechanism.type, made.calibrated.precision


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_plan_is_that_of_pricing_both_laws(monkeypatch: pytest.MonkeyPatch, relation: str) -> None:
    found = [_chosen(epsilon, relation) for epsilon in (0.03, 5.0)]
    assert [law for law, _ in found] == ["discrete-gaussian", "geometric"]
    monkeypatch.setattr(plan, "surely_over", lambda *_: False)
    assert found == [_chosen(epsilon, relation) for epsilon in (0.03, 5.0)]
    # Sabotage: to pass over the second law unseen keeps the first, which loses where ε is small.
    monkeypatch.setattr(plan, "surely_over", lambda *_: True)
    assert found[0] != _chosen(0.03, relation)
