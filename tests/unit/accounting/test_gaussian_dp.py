"""The least μ: its Gaussian curve lies above the curve everywhere, and that of a slightly smaller μ does not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.accounting.averaged import SummedLaplace, moved_curve
from hedgerow.accounting.calibrate import gaussian_mu_at
from hedgerow.accounting.compose import compose, least_mu, why_no_mu
from hedgerow.accounting.dominating_pairs import (
    ContinuousLaplacePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DominatingPair,
    FullDisclosurePair,
    GaussianPair,
    PureDPPair,
)
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.cli.verbs.learning import load_registry

AVERAGED = moved_curve(SummedLaplace(10), 2.0, 2.0)


def mu_of(terms: list[DominatingPair]) -> float:
    return least_mu(terms, compose(terms))


def most_exceeded(terms: list[DominatingPair], mu: float) -> float:
    """The largest δ(ε) over that of a Gaussian of this μ."""
    curve, gaussian = compose(terms), GaussianProfile(mu)
    places = np.linspace(0.0, min(curve.epsilon_upper(1e-10), 60.0), 400)[:-1].tolist()
    return max(curve.delta_upper(one) / max(gaussian.delta_upper(one), 1e-300) for one in places)


def test_delta_is_what_may_be_added_and_the_loss_exceeds_epsilon_more_often() -> None:
    """δ = max over S of P(S) − e^ε·Q(S), at S = {loss > ε}; P(S) itself is 20 times larger, as the pages say."""
    epsilon, delta = 1.0, 1e-6
    mu = gaussian_mu_at(epsilon, delta)
    exceeds = stats.norm.sf(epsilon / mu - mu / 2)
    assert exceeds - math.exp(epsilon) * stats.norm.sf(epsilon / mu + mu / 2) == pytest.approx(delta, rel=1e-6)
    assert round(exceeds / delta) == 20
    glossary = (Path(__file__).parents[3] / "docs/reference/glossary.md").read_text(encoding="utf-8")
    for page in (load_registry()["HG102"]["why"], " ".join(glossary.split())):
        assert "P(S) ≤ e^ε·Q(S) + δ for every set S of outputs" in page
        assert "20 times δ for Gaussian noise at ε = 1 and δ = 1e-6" in page


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_a_pure_price_has_the_closed_form_of_randomised_response(epsilon: float) -> None:
    """G_μ passes through the kink (1/(1 + e^ε), 1/(1 + e^ε)) of the trade-off function of randomised response."""
    kink = 1.0 / (1.0 + math.exp(epsilon))
    truth = stats.norm.isf(kink) - stats.norm.ppf(kink)
    assert mu_of([PureDPPair(epsilon)]) == pytest.approx(truth, rel=1e-7)
    assert stats.norm.cdf(stats.norm.isf(kink) - mu_of([PureDPPair(epsilon)])) <= kink * (1 + 1e-9)


def test_a_price_beyond_every_float_has_a_mu() -> None:
    assert mu_of([PureDPPair(700.0)]) == pytest.approx(2.0 * math.sqrt(2.0 * 700.0), rel=0.01)


@pytest.mark.parametrize(
    "terms",
    [
        [PureDPPair(1.0)],
        [DiscreteLaplacePair(2.0, 1)],
        [DiscreteLaplacePair(2.0, 2)],
        [ContinuousLaplacePair(1.0)],
        [ContinuousLaplacePair(0.2)] * 20,
        [AVERAGED],
        [AVERAGED, PureDPPair(0.3), DiscreteLaplacePair(9.0, 2)],
        [GaussianPair(0.5), DiscreteLaplacePair(2.0, 2)],
        [GaussianPair(0.1), ContinuousLaplacePair(1.0)],
        [GaussianPair(2.0), ContinuousLaplacePair(0.1)],
        [DiscreteGaussianPair(4.3, 1)],
        [DiscreteGaussianPair(0.7, 1)],
        [DiscreteGaussianPair(4.3, 2), ContinuousLaplacePair(1.0)],
    ],
    ids=lambda terms: ", ".join(type(term).__name__ for term in terms[:3]),
)
def test_mu_is_the_least_that_holds(terms: list[DominatingPair]) -> None:
    mu = mu_of(terms)
    assert most_exceeded(terms, mu) <= 1.0 + 1e-9
    # Sabotage: half a per cent less is seen.
    assert most_exceeded(terms, 0.995 * mu) > 1.001


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(GaussianPair, st.floats(0.05, 2.0)),
            st.builds(DiscreteGaussianPair, st.floats(0.6, 30.0), st.integers(1, 2)),
            st.builds(DiscreteLaplacePair, st.floats(0.5, 30.0), st.integers(1, 3)),
            st.builds(ContinuousLaplacePair, st.floats(0.05, 1.5)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_composition_exceeds_its_mu(terms: list[DominatingPair]) -> None:
    mu = mu_of(terms)
    assert most_exceeded(terms, mu) <= 1.0 + 1e-6
    assert mu <= math.sqrt(sum(mu_of([term]) ** 2 for term in terms)) * (1.0 + 1e-3)


@pytest.mark.parametrize("sd", [0.3, 1.0, 4.3, 40.0])
def test_discrete_gaussian_noise_needs_no_less_by_enumeration(sd: float) -> None:
    z = np.arange(-math.ceil(30 * sd), math.ceil(30 * sd) + 1.0)
    mass = np.exp(-(z**2) / (2 * sd**2))
    tail = np.cumsum((mass / mass.sum())[::-1])[::-1]
    kept = (z <= 25 * sd) & (z >= 1)
    needed = stats.norm.isf(tail[kept]) - stats.norm.isf(np.roll(tail, 1)[kept])
    found = mu_of([DiscreteGaussianPair(sd, 1)])
    assert needed.max() <= found <= max(needed.max(), 1.0 / sd) * 1.002


@pytest.mark.parametrize("sd", [5.0, 60.0, 100.0, 1000.0])
def test_discrete_gaussian_noise_needs_no_less_than_is_proven_of_the_tails_that_are_not_added_up(sd: float) -> None:
    """`compose`: by the hazard of the normal law, or, of wide noise, by a normal number that is rounded to it."""
    last = math.ceil(1000.0 * max(sd, 1.0))
    hazard = float(np.logaddexp(0.0, (last + 0.5) / sd**2)) * sd / (last * (1.0 - 1e-5))
    proven = hazard if sd < 100.0 else 1.0 / math.sqrt(sd**2 - 2.0)
    assert proven <= math.sqrt(DiscreteGaussianPair(sd, 1).mu_squared()) <= 1.01 / sd


def test_what_has_no_mu_says_why() -> None:
    assert why_no_mu([PureDPPair(1.0)]) is None
    assert why_no_mu([GaussianPair(1.0), FullDisclosurePair(1e-3)]) is not None
    assert mu_of([FullDisclosurePair(1e-3)]) == math.inf
