"""The accountant against dp_accounting's own mechanisms and closed forms, always on the high side."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

from hedgerow.accounting.compose import compose, profile_of
from hedgerow.accounting.dominating_pairs import (
    ContinuousLaplacePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    GaussianPair,
    PureDPPair,
)
from hedgerow.accounting.lower_bounds import DiscreteNormalPair, ExactLaw, LaplacePair, NormalPair, epsilon_lower
from hedgerow.accounting.profile import GaussianProfile, PureProfile
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GeometricCounts
from hedgerow.mechanisms.noisy_moments import MomentsGaussian, MomentsLayout, MomentsNoise
from hedgerow.noise.lattice import LatticeNoise

RNG = np.random.default_rng(20261120)


@pytest.mark.parametrize(
    ("delta", "epsilon"), [(1e-2, 2.318), (1e-3, 3.139), (1e-5, 4.377), (1e-6, 4.887), (1e-9, 6.174)]
)
def test_the_gaussian_curve_has_its_known_figures(delta: float, epsilon: float) -> None:
    assert GaussianProfile(1.0).epsilon_upper(delta) == pytest.approx(epsilon, abs=1e-3)


@pytest.mark.parametrize("mu", RNG.uniform(0.02, 6, 12))
def test_gaussian_against_numerical_integration(mu: float) -> None:
    epsilon = float(RNG.uniform(0, mu * (2 + mu / 2)))
    # P(X ≥ t) − e^ε Q(X ≥ t) at the t where the log-ratio equals ε, from SciPy's own tails.
    t = epsilon / mu + mu / 2
    exact = stats.norm.sf(t - mu) - math.exp(epsilon) * stats.norm.sf(t)
    assert exact <= GaussianProfile(mu).delta_upper(epsilon) <= exact + 1e-12


def random_terms(rng: np.random.Generator) -> list[object]:
    makers = (
        lambda: GaussianPair(float(rng.uniform(0.05, 2))),
        lambda: DiscreteGaussianPair(float(rng.uniform(0.6, 30)), int(rng.integers(1, 3))),
        lambda: DiscreteLaplacePair(float(rng.uniform(0.5, 30)), int(rng.integers(1, 3))),
        lambda: ContinuousLaplacePair(float(rng.uniform(0.05, 1))),
    )
    return [makers[i]() for i in rng.integers(0, 4, rng.integers(2, 5))]


def exact(term: object) -> tuple[ExactLaw, int]:
    match term:
        case GaussianPair(mu=mu):
            return NormalPair(mu), 1
        case DiscreteGaussianPair(sd=sd, times=times):
            return DiscreteNormalPair(sd, 1), times
        case DiscreteLaplacePair(scale=scale, times=times):
            return LaplacePair(1, scale, 1.0), times
        case ContinuousLaplacePair(epsilon=epsilon):
            return LaplacePair(1, None, epsilon), 1
    raise TypeError(term)


def reference(
    terms: list[object], interval: float, pessimistic: bool, *, connect_dots: bool = False
) -> pld.PrivacyLossDistribution:
    total = pld.identity(value_discretization_interval=interval, pessimistic_estimate=pessimistic)
    options = {
        "value_discretization_interval": interval,
        "pessimistic_estimate": pessimistic,
        "use_connect_dots": connect_dots,
    }
    for term in terms:
        match term:
            case GaussianPair(mu=mu):
                one, times = pld.from_gaussian_mechanism(1 / mu, **options), 1
            case DiscreteGaussianPair(sd=sd, times=times):
                one = pld.from_discrete_gaussian_mechanism(sd, 1, **options)
            case DiscreteLaplacePair(scale=scale, times=times):
                one = pld.from_discrete_laplace_mechanism(1 / scale, 1, **options)
            case ContinuousLaplacePair(epsilon=epsilon):
                one, times = pld.from_laplace_mechanism(1.0, epsilon, **options), 1
        for _ in range(times):
            total = total.compose(one)
    return total


@pytest.mark.parametrize("case", [*range(6), *(pytest.param(case, marks=pytest.mark.long) for case in range(6, 24))])
def test_random_compositions_lie_above_the_optimistic_and_close_to_the_pessimistic_bracket(case: int) -> None:
    rng = np.random.default_rng([20261120, case])
    terms = random_terms(rng)
    interval = 2e-4
    mine = compose(terms)  # type: ignore[arg-type]  # a mixed list of terms
    low, high = reference(terms, interval, False), reference(terms, interval, True)
    pair = tuple(exact(term) for term in terms)
    for delta in (1e-3, 1e-6):
        epsilon = mine.epsilon_upper(delta)
        assert low.get_epsilon_for_delta(delta) <= epsilon + 1e-9
        lower = epsilon_lower(pair, delta)
        assert low.get_epsilon_for_delta(delta) - 2e-3 <= lower <= high.get_epsilon_for_delta(delta) + 1e-9
        assert epsilon <= high.get_epsilon_for_delta(delta) + 1e-3


def test_an_optimistic_accountant_would_be_caught() -> None:
    """The sabotage of the test above: a curve moved down by 1 % falls below the bracket."""
    terms: list[object] = [DiscreteGaussianPair(2.0, 2), DiscreteLaplacePair(3.0, 1)]
    optimistic = 0.99 * compose(terms).epsilon_upper(1e-6)  # type: ignore[arg-type]  # a mixed list of terms
    assert optimistic < reference(terms, 2e-4, False).get_epsilon_for_delta(1e-6)


def enumerate_delta(log_p: np.ndarray, log_q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0).sum())


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("kind", ["geometric", "gaussian"])
def test_counts_against_enumeration_of_every_output(relation: Relation, cells: int, kind: str) -> None:
    """Two counts with noise on {−60..60}²: δ(ε) summed over all outputs, for the pair that moves most."""
    z = np.arange(-60, 61)
    scale = 2.5
    log_law = -np.abs(z) / scale if kind == "geometric" else -(z**2) / (2 * scale**2)
    log_law = log_law - np.log(np.exp(log_law).sum())
    shifted = np.full_like(log_law, -np.inf)
    shifted[1:] = log_law[:-1]
    mechanism = GeometricCounts(scale, cells) if kind == "geometric" else GaussianCounts(scale, cells)
    if relation is Relation.REPLACE_ONE and cells == 2:
        log_p, log_q = np.add.outer(shifted, log_law), np.add.outer(log_law, shifted)
    else:
        log_p, log_q = shifted, log_law
    curve = profile_of(mechanism, relation)
    for epsilon in (0.05, 0.2, 0.5, 0.75):
        exact = enumerate_delta(log_p, log_q, epsilon)
        assert exact - 1e-9 <= curve.delta_upper(epsilon) <= exact + 2e-5


@pytest.mark.parametrize("width", [1000, 1003, 4096])
def test_lattice_noise_costs_no_more_than_its_continuous_stand_in(width: int) -> None:
    """The discrete Gaussian of the smallest width that is allowed, enumerated, against the price that is stated."""
    shift = width  # one standard deviation
    z = np.arange(-12 * width, 13 * width + 1)
    log_q = -(z.astype(float) ** 2) / (2 * width**2)
    log_p = -((z - shift).astype(float) ** 2) / (2 * width**2)
    log_q, log_p = log_q - np.log(np.exp(log_q).sum()), log_p - np.log(np.exp(log_p).sum())
    layout = MomentsLayout(0, shift, 1, 0, "private", 1)
    mechanism = MomentsGaussian(layout, MomentsNoise(None, LatticeNoise(width, 0), None))
    curve = profile_of(mechanism, Relation.ADD_REMOVE)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        exact = enumerate_delta(log_p, log_q, epsilon)
        assert exact <= curve.delta_upper(epsilon) <= exact * (1 + 1e-4) + 1e-12


def test_pure_bounds_add_up_and_randomised_response_is_their_curve() -> None:
    assert compose([PureDPPair(0.25), PureDPPair(0.75)]).epsilon_upper(0.0) == pytest.approx(1.0)
    assert compose([DiscreteLaplacePair(2.0, 2), ContinuousLaplacePair(0.5)]).epsilon_upper(0.0) == pytest.approx(1.5)
    assert compose([GaussianPair(1.0), PureDPPair(0.5)]).epsilon_upper(0.0) == math.inf
    curve = PureProfile(1.0)
    p = 1 / (1 + math.exp(-1.0))
    assert curve.delta_upper(0.0) == pytest.approx(2 * p - 1)
    assert compose([]).epsilon_upper(0.0) == 0.0


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 50), (0.3, 10), (1.0, 4)])
def test_many_pure_releases_cost_less_than_their_sum_at_a_delta(epsilon: float, times: int) -> None:
    """By the exact law of as many randomised responses: the least that holds for everything that is pure."""
    wins = np.arange(times + 1)
    chance, losses = stats.binom.pmf(wins, times, 1.0 / (1.0 + math.exp(-epsilon))), (2.0 * wins - times) * epsilon
    found = compose([PureDPPair(epsilon)] * times)
    for part in (0.2, 0.4, 0.6):
        exact = float((chance * np.maximum(0.0, -np.expm1(part * times * epsilon - losses))).sum())
        assert exact * (1 - 1e-9) <= found.delta_upper(part * times * epsilon) <= 1.02 * exact + 1e-12
    assert found.epsilon_upper(0.0) == pytest.approx(times * epsilon, rel=1e-9)
    assert found.epsilon_upper(1e-3) < times * epsilon


@pytest.mark.parametrize("case", range(12))
def test_random_compositions_agree_with_another_accountant_to_one_part_in_a_hundred_thousand(case: int) -> None:
    """Both connect the dots on one grid. Theirs is folded without a tilt, so a δ of 1e-9 is left to the bracket."""
    rng = np.random.default_rng([20261122, case])
    terms = random_terms(rng) * (1 if case % 3 else 15)
    mine = compose(terms)  # type: ignore[arg-type]  # a mixed list of terms
    squares = sum(
        t.mu**2
        if isinstance(t, GaussianPair)
        else t.epsilon**2
        if isinstance(t, ContinuousLaplacePair)
        else t.times / noise_sd(t) ** 2
        for t in terms
    )
    theirs = reference(terms, math.sqrt(squares) / 2000, True, connect_dots=True)
    for delta in (1e-3, 1e-6):
        assert mine.epsilon_upper(delta) == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-5)


def noise_sd(term: object) -> float:
    return float(getattr(term, "sd", 0.0) or getattr(term, "scale", 0.0))


def test_pure_terms_are_composed_as_randomised_responses_each_outcome_enumerated() -> None:
    """Whatever is ε-private costs no more than randomised response; dp_accounting's grid rounds each of them up."""
    losses = [0.3] * 4 + [0.5]  # four pure terms, and a count with discrete Laplace noise of scale 2
    mine = compose([*[PureDPPair(0.3)] * 4, DiscreteLaplacePair(2.0, 1)])
    outcomes = list(itertools.product([1, -1], repeat=len(losses)))
    log_p = [sum(-math.log1p(math.exp(-sign * loss)) for sign, loss in zip(o, losses, strict=True)) for o in outcomes]
    total = [sum(sign * loss for sign, loss in zip(o, losses, strict=True)) for o in outcomes]
    for epsilon in (0.0, 0.2, 0.9, 1.4):
        exact = sum(
            math.exp(p) * -math.expm1(epsilon - loss) for p, loss in zip(log_p, total, strict=True) if loss > epsilon
        )
        assert exact <= mine.delta_upper(epsilon) <= exact + 1e-5
    assert mine.epsilon_upper(0.0) == pytest.approx(1.7)
