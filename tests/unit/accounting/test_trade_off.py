"""The trade-off curve against its closed forms: never below the truth, hardly above it."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from hedgerow.accounting.profile import GaussianProfile, PureProfile, attack_hits_upper

ALARMS = [0.0, 1e-4, 0.01, 0.05, 0.3, 0.5, 0.9, 1.0]


def gaussian(mu: float, alarms: float) -> float:
    """Φ(Φ⁻¹(α) + μ), Neyman–Pearson's best test between N(0, 1) and N(μ, 1)."""
    if alarms in (0.0, 1.0):
        return alarms
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(alarms) + mu)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("alarms", ALARMS)
def test_a_gaussian_lies_on_its_closed_form(mu: float, alarms: float) -> None:
    upper, truth = attack_hits_upper(GaussianProfile(mu), alarms), gaussian(mu, alarms)
    assert truth <= upper * (1 + 1e-9) and upper <= truth + 0.004


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("alarms", ALARMS)
def test_a_pure_price_is_that_of_randomised_response(epsilon: float, alarms: float) -> None:
    truth = min(math.exp(epsilon) * alarms, 1.0 - math.exp(-epsilon) * (1.0 - alarms))
    upper = attack_hits_upper(PureProfile(epsilon), alarms)
    assert truth <= upper * (1 + 1e-9) and upper <= truth + 0.02


def test_a_price_of_half_the_noise_is_not_taken_for_the_whole() -> None:
    """Sabotage: the curve of a mechanism with twice the noise lies under the truth; the tests above see it."""
    assert attack_hits_upper(GaussianProfile(0.5), 0.05) < gaussian(1.0, 0.05) - 0.05


def test_without_protection_everything_can_be_hit() -> None:
    assert attack_hits_upper(PureProfile(math.inf), 0.0) == 1.0
    assert attack_hits_upper(PureProfile(0.0), 0.05) == pytest.approx(0.05)


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.9, 2.5, 10.0])
def test_at_prices_of_the_grid_a_pure_mechanism_has_its_exact_curve(epsilon: float) -> None:
    """The grid 40·(i/400)² holds these prices: there min(e^ε α, 1 − e^−ε (1 − α)) is returned, and no bound above."""
    for alarms in (1e-6, 0.01, 0.3, 0.9):
        truth = min(math.exp(epsilon) * alarms, 1.0 - math.exp(-epsilon) * (1.0 - alarms))
        assert truth <= attack_hits_upper(PureProfile(epsilon), alarms) <= truth * (1.0 + 1e-9)
