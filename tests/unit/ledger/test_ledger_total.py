"""The composed total against the accountant's own composition of the whole list, and against what it must never be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.dominating_pairs import DiscreteGaussianPair
from hedgerow.accounting.loss_grid import LossGrid
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.ledger import total
from hedgerow.ledger.total import RunningTotal, least_micro
from hedgerow.mechanisms.interface import Mechanism
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GaussianNoise, GeometricCounts, LaplaceNoise
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian
from hedgerow.noise.lattice import LatticeNoise

REPLACE, ADD = Relation.REPLACE_ONE, Relation.ADD_REMOVE
BOOTSTRAP = ResampledGaussian(20, 1.0, "value", (ResampledCoordinate(100, LatticeNoise(2**22, 10)),), "public", 1)


def spent(mechanisms: Sequence[Mechanism], relation: Relation, epsilon: float, delta: float) -> int | None:
    running = RunningTotal(relation, epsilon, delta)
    for mechanism in mechanisms:
        running = running.plus(mechanism)
    return running.micro


LISTS = {
    "gaussians": ([GaussianNoise(10.0 + i, 1.0) for i in range(30)], 4.0, 1e-6, 1.00001),
    "one of each": ([GaussianNoise(10.0, 1.0), GeometricCounts(5.0, 3), GaussianCounts(12.0, 3)], 2.0, 1e-6, 1.00001),
    "many equal geometric": ([GeometricCounts(100.0, 3)] * 60, 2.0, 1e-6, 1.005),
    "many geometric": ([GeometricCounts(50.0 + i, 3) for i in range(30)], 4.0, 1e-6, 1.005),
    "wide discrete": ([GaussianCounts(32.0 + i, 3) for i in range(20)], 4.0, 1e-6, 1.005),
    "narrow discrete": ([GaussianCounts(10.0 + i, 3) for i in range(8)], 8.0, 1e-8, 1.005),
    "mixed": (
        [
            (
                GeometricCounts(20.0 + i % 7, 3),
                GaussianCounts(50.0 + i, 3),
                GaussianNoise(30.0, 1.0),
                LaplaceNoise(60.0, 1.0),
            )[i % 4]
            for i in range(40)
        ],
        4.0,
        1e-9,
        1.005,
    ),
    "bootstraps": ([BOOTSTRAP] * 5 + [GaussianNoise(10.0, 1.0)], 8.0, 1e-6, 1.005),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_total_is_that_of_the_accountant(name: str) -> None:
    mechanisms, epsilon, delta, slack = LISTS[name]
    whole = profile_of(Composition(tuple(mechanisms)), REPLACE).epsilon_upper(delta)
    found = spent(mechanisms, REPLACE, epsilon, delta)
    assert found is not None
    # Both are upper bounds on a grid, so the fold may be the lower of the two by a little.
    assert whole * (1 - 1e-3) <= found / 1e6 <= whole * slack + 1e-6


def test_a_short_list_costs_exactly_what_its_composition_does() -> None:
    """Up to three kinds of noise and twelve numbers are composed anew, and a longer list is folded."""
    kinds = [GeometricCounts(5.0 + i, 1) for i in range(4)]
    for mechanisms, short in ((kinds[:3], True), (kinds, False), ([GeometricCounts(20.0, 1)] * 13, False)):
        running = RunningTotal(ADD, 2.0, 1e-6)
        for count, mechanism in enumerate(mechanisms, start=1):
            running = running.plus(mechanism)
            whole = profile_of(Composition(tuple(mechanisms[:count])), ADD).epsilon_upper(1e-6)
            exact = short or count < len(mechanisms)
            assert (running._fold is None) == exact
            assert not exact or running.micro == total._micro(whole)


def fold_of(mechanisms: Sequence[Mechanism], epsilon: float, delta: float) -> RunningTotal:
    running = RunningTotal(ADD, epsilon, delta)
    for mechanism in mechanisms:
        running = running.plus(mechanism)
    return running


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_the_fold_is_above_a_curve_known_in_closed_form(delta: float) -> None:
    """n equal geometric pairs, exactly: each loses ε or −ε, so together it is a binomial."""
    scale, times = 4.0, 20
    alpha = math.exp(-1.0 / scale)
    # Under P = noise + 0, Q = noise + 1 the loss is 1/scale at z ≤ 0 and −1/scale at z ≥ 1.
    up = 1.0 - alpha / (1.0 + alpha)
    losses = np.array([(2 * wins - times) / scale for wins in range(times + 1)])
    masses = np.array([math.comb(times, wins) * up**wins * (1 - up) ** (times - wins) for wins in range(times + 1)])

    def exact(epsilon: float) -> float:
        return float(masses @ np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - losses))))

    truth = least_micro(exact, delta)
    running = fold_of([GeometricCounts(scale, 1)] * times, 8.0, delta)
    assert running._fold is not None and truth is not None and running.micro is not None
    assert truth <= running.micro <= truth * 1.005 + 2


def test_a_fold_without_its_infinity_or_rounded_down_would_be_below() -> None:
    """Sabotage: dropping what is trimmed, or moving mass to the lower grid point, understates the cost."""
    grid = LossGrid(-2, 0.1, np.array([0.05, 0.1, 0.3, 0.25, 0.2]), 0.1)
    trimmed = grid.trimmed(0.21)
    for epsilon in np.linspace(0.0, 0.5, 11):
        before = total._delta_upper(grid, 0.0, float(epsilon))
        assert total._delta_upper(trimmed, 0.0, float(epsilon)) >= before * (1 - 1e-12)
    dropped = LossGrid(trimmed.start, trimmed.step, trimmed.mass, grid.infinity)
    assert total._delta_upper(dropped, 0.0, 0.0) < total._delta_upper(grid, 0.0, 0.0)


def test_the_gaussian_is_joined_in_closed_form() -> None:
    nothing = LossGrid(0, 0.1, np.array([1.0]), 0.0)
    for mu in (0.05, 1.0, 3.0):
        for epsilon in (0.0, 0.5, 4.0):
            joined = total._delta_upper(nothing, mu, epsilon)
            assert joined == pytest.approx(GaussianProfile(mu).delta_upper(epsilon), rel=1e-9, abs=1e-14)


def _tail(at: Decimal) -> Decimal:
    """Return the normal probability above a number, by the continued fraction of Mills' ratio."""
    fraction = at
    for place in range(400, 0, -1):
        fraction = at + place / fraction
    return (-at * at / 2).exp() / fraction / Decimal("6.283185307179586476925286766559005768394338798750").sqrt()


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("deviations", [8.0, 17.0, 30.0])
def test_the_gaussian_part_is_never_below_its_curve_far_out(mu: float, deviations: float) -> None:
    nothing, epsilon = LossGrid(0, 2.0**-20, np.ones(1), 0.0), mu * (mu / 2 + deviations)
    with localcontext(prec=50):
        ratio = Decimal(epsilon) / Decimal(mu)
        exact = _tail(ratio - Decimal(mu) / 2) - Decimal(epsilon).exp() * _tail(ratio + Decimal(mu) / 2)
        stated = Decimal(total._delta_upper(nothing, mu, epsilon))
        assert exact <= stated <= exact * (1 + Decimal("1e-8"))


def test_a_single_entry_costs_what_it_costs_alone() -> None:
    for mechanism in (GaussianNoise(3.3, 1.0), GaussianCounts(5.0, 2), GeometricCounts(3.0, 2), BOOTSTRAP):
        alone = profile_of(mechanism, REPLACE).epsilon_upper(1e-6)
        found = spent([mechanism], REPLACE, 1.0, 1e-6)
        assert found is not None and alone <= found / 1e6 <= alone + 1.1e-6


def test_pure_prices_add_up_in_whole_millionths() -> None:
    tenth = GeometricCounts(10.0 * (1 + 1e-9), 1)
    assert spent([tenth] * 10, ADD, 1.0, 0.0) == 1_000_000
    assert spent([tenth] * 11, ADD, 1.0, 0.0) == 1_100_000
    assert spent([GaussianNoise(10.0, 1.0)], ADD, 1.0, 0.0) is None  # no ε holds at δ = 0


def test_the_total_never_falls() -> None:
    running, before = RunningTotal(REPLACE, 4.0, 1e-6), 0
    for number in range(40):
        running = running.plus(GeometricCounts(30.0 + number, 3) if number % 2 else GaussianCounts(9.0 + number, 1))
        assert running.micro is not None and running.micro >= before
        before = running.micro


def test_the_order_of_requests_hardly_matters() -> None:
    mechanisms = LISTS["mixed"][0]
    one, two = spent(mechanisms, REPLACE, 4.0, 1e-6), spent(mechanisms[::-1], REPLACE, 4.0, 1e-6)
    assert one is not None and two is not None and abs(one - two) <= 1e-3 * one


def test_the_gaussian_family_adds_up_squares_and_takes_nothing_else() -> None:
    running = RunningTotal(REPLACE, 4.0, 1e-6, gaussian_only=True)
    running = running.plus(GaussianNoise(2.0, 1.0)).plus(GaussianCounts(50.0, 3))
    mu = math.sqrt(0.25 + 2 / (50.0**2 - 4.0))
    assert running.micro == math.ceil(GaussianProfile(mu).epsilon_upper(1e-6) * 1e6)
    for refused in (GeometricCounts(5.0, 1), BOOTSTRAP, GaussianCounts(2.0, 1), LaplaceNoise(9.0, 1.0)):
        with pytest.raises(UncertifiedError, match="HG315"):
            running.plus(refused)


def _exact(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())


@pytest.mark.parametrize(("width", "times"), [(3.0, 1), (3.0, 2), (8.0, 1), (8.0, 2), (32.0, 1)])
def test_a_discrete_gaussian_is_dominated_by_the_continuous_one_it_counts_as(width: float, times: int) -> None:
    """Both directions of shift by 1, brute force; counted at its own width it would be below (width 3)."""
    reach = int(40 * width)
    z = np.arange(-reach, reach + 1)
    p = np.exp(-(z**2) / (2 * width**2))
    q = np.exp(-((z - 1) ** 2) / (2 * width**2))
    p, q = p / p.sum(), q / q.sum()
    square = DiscreteGaussianPair(width, times).dominating_square(2.1)
    assert square is not None
    bound = GaussianProfile(math.sqrt(square))
    if times == 2:
        p, q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    for epsilon in np.linspace(0.0, 4.0 / width, 9):
        assert _exact(p, q, float(epsilon)) <= bound.delta_upper(float(epsilon)) + 1e-14
    if width == 3.0:
        # Sabotage: at its own width the continuous one is no bound, far out in the tail.
        own = GaussianProfile(math.sqrt(times) / width)
        ratios = [_exact(p, q, e) / own.delta_upper(e) for e in np.linspace(0.0, 3.0, 13).tolist()]
        assert max(ratios) > 1.0 + 1e-3


def test_the_search_lands_on_the_side_that_holds() -> None:
    for rate in (0.1, 1.0, 30.0):
        for start in (0, 5, 1_000_000, 50_000_000):
            found = least_micro(lambda epsilon, rate=rate: math.exp(-rate * epsilon), 1e-6, start=start)
            truth = math.log(1e6) / rate
            assert found is not None and truth <= found / 1e6 <= truth + 2e-6
    assert least_micro(lambda _: 0.5, 1e-6) is None


@pytest.mark.parametrize("rate", [0.03, 0.5, 1.0, 7.0, 900.0])
@pytest.mark.parametrize("delta", [0.9, 1e-3, 1e-9])
def test_the_least_number_of_millionths_is_found_from_every_start_in_few_steps(rate: float, delta: float) -> None:
    """δ(ε) = e^−rate·ε and one with a kink: the answer does not depend on the start, and is the least."""
    for kinked in (False, True):
        asked: list[float] = []

        def curve(epsilon: float, kinked: bool = kinked, asked: list[float] = asked) -> float:
            asked.append(epsilon)
            return max(0.0, math.exp(-rate * epsilon) - (0.3 if kinked and epsilon > 0.2 else 0.0))

        root = next((m for m in [0] if curve(0.0) <= delta), None)
        if root is None:
            low, high = 0, 10**9
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if curve(middle / 1e6) <= delta else (middle, high)
            root = high
        for start in (0, max(0, root - 3), root, root + 3, 2 * root + 1_000):
            asked.clear()
            assert least_micro(curve, delta, start=start) == root
            assert len(asked) <= 150


@pytest.mark.parametrize("root", [0, 1, 2, 3])
def test_no_millionth_or_few_are_found_from_every_start(root: int) -> None:
    for start in (0, 1, 2, 3, 4, 2_000):
        assert least_micro(lambda epsilon: 0.9 if epsilon < (root - 0.5) / 1e6 else 0.1, 0.5, start=start) == root


def test_a_curve_that_falls_by_one_digit_alone_is_searched_by_halves() -> None:
    """The logarithms of its ends are equal, so no secant tells where it falls."""
    above = math.nextafter(1e-6, 1.0)
    assert math.log(above) == math.log(1e-6)
    for start in (0, 800, 5_000):
        assert least_micro(lambda epsilon: above if epsilon < 777.5e-6 else 1e-6, 1e-6, start=start) == 778


def test_no_number_of_millionths_serves_a_curve_that_stays_above() -> None:
    assert least_micro(lambda _: 1e-3, 1e-6) is None
    assert [least_micro(lambda e, end=end: float(e < end), 0.5) for end in (999.0, 1000.0, 1000.1)] == [
        999_000_000,
        10**9,
        None,
    ]
    assert least_micro(lambda _: 1e-6, 1e-6) == 0


@pytest.mark.parametrize("mu", [0.0, 0.05, 0.8])
@pytest.mark.parametrize("infinity", [0.0, 0.02])
def test_a_fold_and_a_gaussian_are_their_sum_term_by_term(mu: float, infinity: float) -> None:
    """δ(ε) = p_∞ + Σ p_l δ_μ(ε − l), where δ_0(x) = max(0, 1 − e^x): by the closed form, one loss at a time."""
    grid = LossGrid(-3, 0.4, np.array([0.1, 0.05, 0.2, 0.15, 0.25, 0.2, 0.05 - infinity]), infinity)

    def alone(x: float) -> float:
        if mu == 0.0:
            return max(0.0, -math.expm1(x))
        return float(norm.cdf(mu / 2 - x / mu) - math.exp(x) * norm.cdf(-mu / 2 - x / mu))

    for epsilon in np.linspace(0.0, 2.0, 9).tolist():
        exact = infinity + sum(
            mass * alone(epsilon - loss) for mass, loss in zip(grid.mass.tolist(), grid.losses().tolist(), strict=True)
        )
        found = total._delta_upper(grid, mu, epsilon)
        assert exact - 1e-25 <= found * (1.0 + 1e-13) and found <= exact * (1.0 + 1e-9) + 1e-13


def test_sums_are_rounded_up_and_zeros_change_nothing() -> None:
    assert total._added(0.1) == 0.1 and total._added(0.1, 0.0, 0.0) == 0.1
    exact = Fraction(0.1) * 11
    assert Fraction(total._added(0.1, *[0.1] * 10)) > exact
    assert total._added(0.1, *[0.1] * 10) == pytest.approx(1.1, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.1, 0.75, 1.0, 3.0, 8.0])
def test_the_grid_of_the_fold_has_some_four_thousand_steps_to_the_budget(epsilon: float) -> None:
    running = fold_of([GeometricCounts(40.0 / epsilon + i, 2) for i in range(4)], epsilon, 1e-6)
    assert running._fold is not None
    assert 4096 <= epsilon / running._fold.step < 8192 and math.log2(running._fold.step) % 1.0 == 0.0
