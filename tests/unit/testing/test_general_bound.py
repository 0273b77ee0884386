"""The general bound of a multinomial bootstrap: above brute force on tiny data, near its limit, and refused unasked."""

import itertools
import math

import numpy as np
import pytest
from reproduction.brawner_honaker.general_bound import certify_published, draw_shares, multinomial_curve
from reproduction.brawner_honaker.theory import attained_epsilon
from scipy import stats

from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.testing.published import MultinomialBootstrap

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])


def density(x: np.ndarray, target: float, others: tuple[float, ...], noise_sd: float) -> np.ndarray:
    """Return the density of one replicate's noisy sum: every multinomial draw of the n records, enumerated."""
    records = (target, *others)
    n, total = len(records), np.zeros_like(x)
    for draw in itertools.product(records, repeat=n):
        total += stats.norm.pdf(x, sum(draw), noise_sd) / n**n
    return total


def true_delta(others: tuple[float, ...], noise_sd: float, epsilons: np.ndarray, k: int) -> np.ndarray:
    """Return δ(ε) of k ∈ {1, 2} replicates for a target of 0 or 1, the larger of both orders, by quadrature."""
    reach = 8 * noise_sd
    x = np.linspace(-reach, len(others) + 1 + reach, 1601 if k == 1 else 801)
    p, q = (density(x, target, others, noise_sd) * (x[1] - x[0]) for target in (1.0, 0.0))
    if k == 2:
        p, q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    both = ((p, q), (q, p))
    return np.array([max(np.maximum(a - math.exp(e) * b, 0).sum() for a, b in both) for e in epsilons])


@pytest.mark.parametrize("noise_sd", [0.7, 2.0])
@pytest.mark.parametrize("others", [(0.0,), (1.0,), (0.5,), (0.0, 0.0), (1.0, 0.0), (0.3, 0.9)])
def test_the_bound_lies_above_every_enumerated_data_set(others: tuple[float, ...], noise_sd: float) -> None:
    for k in (1, 2):
        bound = multinomial_curve(distance=1 / noise_sd, n=len(others) + 1, n_resamples=k).delta_upper(EPSILONS)
        assert np.all(bound >= true_delta(others, noise_sd, EPSILONS, k) - 1e-9)


def test_the_published_claim_lies_below_an_enumerated_data_set() -> None:
    """Sabotage: the price of one plain Gaussian, which the paper states, is exceeded, so enumeration has power."""
    found = true_delta((0.0,), 0.7, EPSILONS, 1)
    claimed = np.array([GaussianProfile(1 / 0.7).delta_upper(epsilon) for epsilon in EPSILONS])
    assert np.any(found > claimed + 1e-3)


def test_without_amplification_it_would_be_the_square_root_of_two() -> None:
    """k → ∞: √(2 − 2/e), not √2, which is what revealing every r costs."""
    limit = GaussianProfile(math.sqrt(2 - 2 / math.e))
    revealed = GaussianProfile(math.sqrt(2))
    for delta in (1e-3, 1e-6):
        found = multinomial_curve(distance=0.01, n=10**6, n_resamples=10_000).epsilon_upper(delta)
        assert limit.epsilon_upper(delta) - 1e-3 < found < 1.01 * limit.epsilon_upper(delta)
        assert found < 0.85 * revealed.epsilon_upper(delta)


@pytest.mark.parametrize("k", [1, 5, 50])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_it_is_no_less_than_what_one_pair_attains(k: int, delta: float) -> None:
    bound = multinomial_curve(distance=1 / math.sqrt(k), n=10**6, n_resamples=k).epsilon_upper(delta)
    assert bound >= attained_epsilon(0.5, n_resamples=k, delta=delta) - 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 10**9])
def test_draw_shares_are_binomial(n: int) -> None:
    shares = draw_shares(n)
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares == pytest.approx(stats.binom.pmf(np.arange(len(shares)), n, 1 / n), rel=1e-6, abs=1e-20)


def test_one_record_is_always_drawn_once() -> None:
    plain = GaussianProfile(1.0)
    curve = multinomial_curve(distance=1.0, n=1, n_resamples=1)
    assert curve.epsilon_upper(1e-6) == pytest.approx(plain.epsilon_upper(1e-6), abs=2e-3)
    assert curve.epsilon_upper(1e-6) >= plain.epsilon_upper(1e-6)


def published() -> MultinomialBootstrap:
    return MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50)


@pytest.mark.parametrize(
    ("relation", "bound"),
    [("replace-one", None), ("replace-one", "zcdp"), ("add-remove", "wang-cheng-awan"), ("add-remove", None)],
)
def test_it_is_refused_unless_the_bound_is_named(relation: str, bound: str | None) -> None:
    with pytest.raises(UncertifiedError, match="HG405") as refused:
        certify_published(published(), relation=relation, bound=bound)
    assert refused.value.exit_code == 4


def test_the_ordinary_certificate_refuses_it() -> None:
    with pytest.raises(UncertifiedError):
        certify(published(), Relation.REPLACE_ONE, unit="row", delta=1e-6)


def test_a_named_bound_is_recorded() -> None:
    record = certify_published(published(), bound="wang-cheng-awan").to_dict()
    assert record["bound"] == "wang-cheng-awan"
    assert record["epsilon_upper"] > 5.17  # what the pair (0, R) attains (private_bootstrap.md §3)
    assert record["mechanism"]["type"] == "multinomial-bootstrap"


@pytest.mark.parametrize("distance", [0.0, -1.0, math.nan, 1e9])
def test_what_cannot_be_priced_is_refused(distance: float) -> None:
    with pytest.raises(UncertifiedError, match="HG405"):
        multinomial_curve(distance=distance, n=10, n_resamples=5)


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ParameterError, match="HG101"):
        MultinomialBootstrap(500, 1.0, 1.0, 50, 1.0)
    with pytest.raises(ParameterError, match="HG101"):
        MultinomialBootstrap(500, 0.0, 1.0, 50, 0.0)
