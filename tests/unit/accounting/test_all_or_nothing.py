"""What tells everything, and what tells nothing: the ends of every way to price, held against their closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from hedgerow.accounting import calibrate
from hedgerow.accounting.calibrate import gaussian_mu_at, least_noise
from hedgerow.accounting.compose import compose
from hedgerow.accounting.dominating_pairs import (
    DiscreteGaussianPair,
    FullDisclosurePair,
    GaussianPair,
    KnownCurvePair,
)
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid, Outcomes
from hedgerow.accounting.lower_bounds import NormalPair, epsilon_lower
from hedgerow.accounting.profile import GaussianProfile, PureProfile, RevealingProfile
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_counts import GaussianNoise


def delta_of(grid: LossGrid, epsilon: float) -> float:
    losses = (grid.start + np.arange(grid.mass.size)) * grid.step
    return float(grid.infinity + (grid.mass * np.maximum(0.0, 1.0 - np.exp(epsilon - losses))).sum())


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_a_pair_that_may_tell_everything_has_one_delta(chance: float) -> None:
    pair = FullDisclosurePair(chance)
    grid, times = pair.grid(0.1)
    assert times == 1 and float(grid.mass.sum()) + grid.infinity == pytest.approx(1.0, abs=1e-15)
    assert [delta_of(grid, epsilon) for epsilon in (0.0, 1.0, 9.0)] == pytest.approx([chance] * 3)
    # What is not told does not vary, so nothing is added to the grid on which other pairs are folded with it.
    assert pair.rough_square() == 0.0


def test_outcomes_of_one_side_alone_tell_everything() -> None:
    """No outcome of P can come from Q: all mass is put at +∞, none on the grid."""
    one, none = np.array([0.5, 0.5]), np.zeros(2)
    for endless in (math.inf, math.nan):
        grid = Outcomes(one, none, np.full(2, endless), np.full(2, endless)).spread(0.1, infinity=0.0)
        assert (float(grid.mass.sum()), grid.infinity) == (0.0, 1.0)
        assert composed_curve([(grid, 3)]).min() == 1.0
    empty = Outcomes(none, one, np.zeros(2), np.zeros(2)).spread(0.1, infinity=0.25, negligible=-1.0)
    assert (float(empty.mass.sum()), empty.infinity) == (0.0, 0.25)


def test_folding_with_what_tells_everything_tells_everything() -> None:
    told, normal = LossGrid(0, 0.1, np.zeros(1), 1.0), LossGrid(-1, 0.1, np.array([0.4, 0.2, 0.4]), 0.0)
    assert composed_curve([(normal, 2), (told, 1)]).min() == 1.0
    assert composed_curve([(normal, 2)]).min() < 0.5


def test_a_term_whose_curve_never_comes_down_makes_the_whole_infinite() -> None:
    stays = KnownCurvePair(Curve(0.1, np.array([0.4, 0.3, 0.3])))
    assert not stays.meets(1e-6)
    together = compose([GaussianPair(0.1), stays])
    assert math.isinf(together.epsilon_upper(1e-6))
    assert math.isfinite(compose([GaussianPair(0.1), GaussianPair(0.2)]).epsilon_upper(1e-6))


@pytest.mark.parametrize("chances", [[1e-12], [1e-6, 0.3], [1e-3] * 40, [0.7, 0.9, 1e-9], [1.0, 0.2]], ids=str)
def test_one_of_several_tells_everything_with_at_least_the_exact_chance(chances: list[float]) -> None:
    exact = 1 - math.prod(1 - Fraction(chance) for chance in chances)
    whole = compose([FullDisclosurePair(chance) for chance in chances])
    assert isinstance(whole, RevealingProfile)
    assert exact <= Fraction(whole.chance) <= min(1, exact + Fraction(1, 10**13))


@pytest.mark.parametrize("rest", [PureProfile(0.5), GaussianProfile(1.0)])
def test_no_epsilon_is_below_the_chance_of_telling_everything(rest: PureProfile | GaussianProfile) -> None:
    curve = RevealingProfile(0.1, rest)
    assert math.isinf(curve.epsilon_upper(0.0999)) and curve.epsilon_upper(1.0) == 0.0
    for delta in (0.1001, 0.2, 0.9):
        assert curve.delta_upper(curve.epsilon_upper(delta)) <= delta * (1.0 + 1e-9)
    certain = RevealingProfile(1.0, rest)
    assert math.isinf(certain.epsilon_upper(0.999)) and certain.epsilon_upper(1.0) == 0.0


def test_a_normal_pair_that_does_not_move_proves_nothing() -> None:
    p, q = NormalPair(0.0).cells(0.1)
    assert (p.tolist(), q.tolist()) == ([1.0], [1.0])
    assert epsilon_lower([(NormalPair(0.0), 1)], 1e-6) == 0.0 < epsilon_lower([(NormalPair(0.5), 1)], 1e-6)


@pytest.mark.parametrize(("sd", "times"), [(6.0, 1), (9.0, 4)])
def test_the_gaussian_that_stands_for_a_pair_is_above_it(sd: float, times: int) -> None:
    """And is missing where the noise is narrower than was asked."""
    pair = DiscreteGaussianPair(sd, times)
    square = pair.dominating_square(5.0)
    assert square is not None and pair.dominating_square(sd * 1.01) is None
    above, curve = GaussianProfile(math.sqrt(square)), compose([pair])
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        assert curve.delta_upper(epsilon) <= above.delta_upper(epsilon) * (1.0 + 1e-6)
    assert 0.25 <= GaussianPair(0.5).dominating_square(9.0) < 0.25 * (1.0 + 1e-9)


def test_the_least_noise_of_a_mu_has_this_mu() -> None:
    found = least_noise(lambda m: GaussianNoise(1.0 / m, 1.0), Relation.REPLACE_ONE, Budget(9.0, 1e-6, mu=0.7))
    assert 0.7 * (1.0 - 1e-4) <= found.mechanism.noise_sd**-1 <= 0.7


def test_mu_of_a_price_is_that_of_the_closed_form() -> None:
    for mu in (0.1, 1.0, 4.0):
        epsilon, delta = 1.3, float(norm.cdf(mu / 2 - 1.3 / mu) - math.exp(1.3) * norm.cdf(-mu / 2 - 1.3 / mu))
        assert gaussian_mu_at(epsilon, delta) == pytest.approx(mu, rel=1e-8)


def test_secants_that_do_not_arrive_leave_the_search_to_halves() -> None:
    """Of a steep price: six secants are not enough, and the search in a bracket meets the limit."""
    asked: list[float] = []

    def steep(x: float) -> float:
        asked.append(x)
        return x**7

    assert calibrate._from(0.9, steep, 1e-6, 1.0, 1e-9) is None and len(asked) == 6
    assert 1.0 - 1e-9 <= steep(calibrate._largest_within(steep, 1.0, 1e-9)) <= 1.0


def test_of_a_price_that_jumps_what_is_found_is_certified_and_near_the_jump() -> None:
    found = calibrate._largest_within(lambda x: 1e-300 if x < 1.3 else 1.1, 1.0, 1e-9)
    assert 0.99 * 1.3 < found < 1.3
