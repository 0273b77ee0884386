"""Prices of resampled test sets against enumeration over all data sets and outputs, and against dp_accounting."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import binom

from hedgerow.accounting.compose import profile_of
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.ledger.total import RunningTotal
from hedgerow.mechanisms.certificate import Certificate, certify
from hedgerow.mechanisms.mechanism import Composition
from hedgerow.mechanisms.noisy_counts import GaussianNoise
from hedgerow.mechanisms.randomised_records import Resample, SmoothedResample, smoothed_curve

FAR = Relation.REPLACE_ONE
EPSILONS = (0.0, 0.1, 0.3, 0.7, 1.5, 3.0)


def stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def law_of_draws(records: tuple[int, ...], draws: int) -> np.ndarray:
    """The law of the sum of `draws` records with replacement, by going through every way of drawing."""
    law = np.zeros(draws * max(1, *records) + 1)
    for drawn in product(records, repeat=draws):
        law[sum(drawn)] += len(records) ** -draws
    return law


@pytest.mark.parametrize(("n", "draws"), [(2, 1), (2, 3), (3, 2), (4, 3)])
def test_a_resample_costs_its_chance_at_every_epsilon(n: int, draws: int) -> None:
    """Over all neighbours of n records of 0 and 1 the worst δ(ε) is 1 − (1 − 1/n)^m, whatever ε."""
    described = Resample(n, draws)
    assert described.chance == pytest.approx(1.0 - (1.0 - 1.0 / n) ** draws, rel=1e-14)
    profile = profile_of(described, FAR)
    for epsilon in EPSILONS:
        worst = 0.0
        for rest in product((0, 1), repeat=n - 1):
            one, other = (law_of_draws((value, *rest), draws) for value in (1, 0))
            size = max(len(one), len(other))
            one, other = (np.pad(law, (0, size - len(law))) for law in (one, other))
            worst = max(worst, stick(one, other, epsilon), stick(other, one, epsilon))
        assert worst == pytest.approx(described.chance, abs=1e-12), epsilon
        assert worst <= profile.delta_upper(epsilon) <= worst * (1 + 1e-9)


@pytest.mark.parametrize(
    ("n", "thinning", "delta"), [(100, 10, 0.0956), (1000, 10, 0.0952), (1000, 2, 0.3936), (1000, 1, 0.6323)]
)
def test_the_printed_figures_of_the_resample(n: int, thinning: int, delta: float) -> None:
    described = Resample(n, math.ceil(n / thinning))
    assert round(profile_of(described, FAR).delta_upper(5.0), 4) == delta
    assert math.isinf(profile_of(described, FAR).epsilon_upper(0.99 * described.chance))


def test_twenty_looks_at_a_tenth_cost_865() -> None:
    described = Resample(1000, 100)
    composed = profile_of(Composition((described,) * 20), FAR)
    assert round(composed.delta_upper(0.0), 3) == 0.865
    assert composed.delta_upper(0.0) == pytest.approx(Resample(1000, 2000).chance, rel=1e-9)
    assert composed.epsilon_upper(0.8649) == 0.0 and math.isinf(composed.epsilon_upper(0.8647))


def test_a_ledger_adds_resamples_up_as_they_compose() -> None:
    """20 looks fit a δ of .8649 and the 21st does not; beside a Gaussian δ = 1 − (1 − δ₁)(1 − δ₂)."""
    total = RunningTotal(FAR, 1.0, 0.8649)
    for _ in range(20):
        total = total.plus(Resample(1000, 100))
    assert total.micro == 0
    assert total.plus(Resample(1000, 100)).micro is None
    both = profile_of(Composition((Resample(100, 10), GaussianNoise(1.0, 1.0))), FAR)
    alone, chance = profile_of(GaussianNoise(1.0, 1.0), FAR), Resample(100, 10).chance
    for epsilon in EPSILONS:
        exact = chance + (1.0 - chance) * alone.delta_upper(epsilon)
        assert exact <= both.delta_upper(epsilon) <= exact * (1 + 1e-9)


@pytest.mark.parametrize(("n", "fake", "draws"), [(2, 1, 1), (5, 1, 4), (6, 2, 9), (30, 3, 12)])
def test_a_smoothed_resample_is_pure_exactly_and_below_its_curve(n: int, fake: int, draws: int) -> None:
    """Over all neighbours: the largest loss is m·ln((a + 1)/a), attained; δ(ε) lies below the curve everywhere."""
    described = SmoothedResample(n, fake, draws)
    profile = profile_of(described, FAR)
    outputs = np.arange(draws + 1)
    largest, worst = 0.0, dict.fromkeys(EPSILONS, 0.0)
    for successes in range(n):
        p, q = (binom.pmf(outputs, draws, (s + fake) / (n + 2 * fake)) for s in (successes + 1, successes))
        largest = max(largest, float(np.abs(np.log(p / q)).max()))
        for epsilon in EPSILONS:
            worst[epsilon] = max(worst[epsilon], stick(p, q, epsilon), stick(q, p, epsilon))
    assert largest == pytest.approx(described.pure, rel=1e-9)
    assert profile.epsilon_upper(0.0) == pytest.approx(described.pure, rel=1e-9)
    for epsilon, delta in worst.items():
        assert delta <= profile.delta_upper(epsilon) + 1e-13
    # A curve with one made-up outcome more would be a false claim, and this comparison sees it.
    kinder = profile_of(SmoothedResample(n, fake + 2, draws), FAR)
    assert any(delta > kinder.delta_upper(epsilon) + 1e-6 for epsilon, delta in worst.items())


@pytest.mark.parametrize(("n", "fake", "draws", "looks"), [(50, 20, 30, 1), (1000, 500, 100, 20), (200, 300, 900, 5)])
def test_the_curve_of_many_draws_is_that_of_dp_accounting(n: int, fake: int, draws: int, looks: int) -> None:
    """The three-outcome pair, composed by an independent library, which rounds a draw's loss up by one bin at most."""
    below = n + 2 * fake
    log_p = {"won": math.log((fake + 1) / below), "lost": math.log(fake / below), "same": math.log((n - 1) / below)}
    log_q = {"won": log_p["lost"], "lost": log_p["won"], "same": log_p["same"]}
    interval = math.log1p(1 / fake) / 300
    one = pld.from_two_probability_mass_functions(log_p, log_q, value_discretization_interval=interval, symmetric=True)
    many = one.self_compose(draws * looks)
    curve = smoothed_curve(SmoothedResample(n, fake, draws), FAR, looks=looks)
    for delta in (1e-2, 1e-4, 1e-6):
        theirs, ours = many.get_epsilon_for_delta(delta), curve.epsilon_upper(delta)
        assert theirs - 1.01 * draws * looks * interval <= ours <= theirs * (1 + 1e-6), delta
        assert ours == pytest.approx(theirs, rel=0.1), delta


def test_the_curve_of_draws_is_the_exact_convolution() -> None:
    n, fake, draws = 50, 20, 30
    mass = np.array([fake, n - 1, fake + 1]) / (n + 2 * fake)
    law = np.array([1.0])
    for _ in range(draws):
        law = np.convolve(law, mass)
    step = math.log1p(1 / fake)
    losses = np.arange(-draws, draws + 1) * step
    curve = smoothed_curve(SmoothedResample(n, fake, draws), FAR)
    for epsilon in step * np.arange(12):
        exact = float(law @ np.maximum(0.0, -np.expm1(epsilon - losses)))
        assert exact <= curve.delta_upper(epsilon) <= exact * (1 + 1e-6) + 1e-12


def test_certificates_of_resamples_are_priced_again_from_their_json() -> None:
    for described, delta in ((Resample(100, 10), 0.1), (SmoothedResample(100, 50, 20), 0.0)):
        found = Certificate.from_json(certify(described, FAR, unit="row", delta=delta).to_json())
        found.verify()
        assert found.mechanism == described


@pytest.mark.parametrize("described", [Resample(10, 2), SmoothedResample(10, 2, 2)])
def test_neither_is_priced_where_n_is_private(described: Resample | SmoothedResample) -> None:
    with pytest.raises(UncertifiedError, match="HG401"):
        profile_of(described, Relation.ADD_REMOVE)
