"""Curves at their ends: losses beyond what is computed, pairs that hardly move, equal terms on their own lattice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting import loss_fold
from hedgerow.accounting.averaged import SummedLaplace, moved_curve
from hedgerow.accounting.calibrate import most_precise
from hedgerow.accounting.compose import compose, least_mu, repeated
from hedgerow.accounting.dominating_pairs import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DominatingPair,
    GaussianPair,
    PureDPPair,
    whole_grid,
)
from hedgerow.accounting.loss_grid import LOSS_CAP, LossGrid
from hedgerow.accounting.lower_bounds import DiscreteNormalPair, NormalPair, OutcomePair, epsilon_lower
from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, ResampledPair
from hedgerow.accounting.profile import GaussianProfile, least_epsilon
from hedgerow.accounting.rows_of_units import _step
from hedgerow.errors import ParameterError, UncertifiedError


def response_delta(epsilon: float, thirds: int, times: int) -> float:
    """Return δ of `times` randomised responses of size ε at ε·thirds/3, from the binomial law alone."""
    won = np.arange(times + 1)
    p = stats.binom.pmf(won, times, 1.0 / (1.0 + math.exp(-epsilon)))
    losses = (2.0 * won - times) * epsilon
    return float((p * np.maximum(0.0, 1.0 - np.exp(thirds * epsilon / 3.0 - losses))).sum())


@pytest.mark.parametrize("times", [1, 5, 40])
@pytest.mark.parametrize(
    ("term", "epsilon", "copies"), [(PureDPPair(0.3), 0.3, 1), (DiscreteLaplacePair(5.0, 2), 0.2, 2)]
)
def test_equal_pairs_that_win_or_lose_cost_what_the_binomial_law_says(
    term: DominatingPair, epsilon: float, copies: int, times: int
) -> None:
    curve = repeated(term, times)
    for thirds in range(0, 3 * copies * times):
        exact = response_delta(epsilon, thirds, copies * times)
        bound = curve.delta_upper(thirds * epsilon / 3.0)
        # Between the whole losses the curve is a chord in e^ε, which is exact: δ is linear there.
        assert exact * (1.0 - 1e-9) - 1e-15 <= bound <= exact * (1.0 + 1e-6) + 1e-12
    assert curve.delta_upper(copies * times * epsilon * (1.0 + 1e-9)) == 0.0
    if times > 1:
        assert curve.delta_upper(epsilon) > 1.01 * response_delta(epsilon, 3, copies * times - 2), "fewer cost less"


def test_equal_gaussian_pairs_are_one_and_others_are_composed() -> None:
    assert repeated(GaussianPair(0.4), 9).epsilon_upper(1e-6) == pytest.approx(
        GaussianProfile(1.2).epsilon_upper(1e-6), rel=1e-8
    )
    pair = DiscreteGaussianPair(4.0, 1)
    assert repeated(pair, 3).epsilon_upper(1e-6) == compose([pair] * 3).epsilon_upper(1e-6)


def test_a_whole_grid_holds_every_copy() -> None:
    for term, square in ((DiscreteGaussianPair(4.0, 3), 3.0 / 16.0), (GaussianPair(0.5), 0.25)):
        grid = whole_grid(term, 1e-3)
        mean = float((grid.losses() * grid.mass).sum())
        # The loss of a Gaussian pair has variance μ² and mean μ²/2; that of the integers nearly.
        assert grid.variance() == pytest.approx(square, rel=1e-4)
        assert mean == pytest.approx(square / 2.0, rel=1e-3)


def test_a_loss_beyond_the_cap_is_taken_for_certain_and_keeps_its_pure_bound() -> None:
    far = LOSS_CAP + 100.0
    moved = moved_curve(SummedLaplace(1), far, far)
    assert moved.curve.delta_upper(1.0) == 1.0 >= 1.0 - math.exp((1.0 - far) / 2.0)
    assert moved.largest >= far
    within = moved_curve(SummedLaplace(1), LOSS_CAP - 100.0, LOSS_CAP - 100.0)
    assert within.curve.delta_upper(LOSS_CAP - 101.0) == pytest.approx(1.0 - math.exp(-0.5), rel=1e-2)
    for other in (PureDPPair(0.1), GaussianPair(0.1)):
        assert compose([PureDPPair(far), other]).delta_upper(1.0) == 1.0
    assert compose([PureDPPair(far), PureDPPair(0.1)]).epsilon_upper(1e-6) == pytest.approx(far + 0.1)


def test_a_curve_that_never_falls_has_no_epsilon() -> None:
    assert least_epsilon(lambda epsilon: 0.5, 0.1) == math.inf
    assert least_epsilon(lambda epsilon: 0.5, 0.5) == 0.0


def test_mu_of_a_release_whose_losses_are_beyond_the_exponential() -> None:
    pure, mu = 500.0, 3.0
    terms = [PureDPPair(pure), GaussianPair(mu)]
    both, alone = least_mu(terms, compose(terms)), least_mu(terms[:1], compose(terms[:1]))
    # Of randomised response μ is 2Φ⁻¹(e^ε/(1 + e^ε)); independent Gaussian curves add their squares.
    assert alone == pytest.approx(-2.0 * stats.norm.ppf(math.exp(-pure)), rel=1e-8)
    assert max(mu, alone) < both <= math.hypot(mu, alone) * (1.0 + 1e-8)


def test_a_pair_that_does_not_move_costs_nothing_and_adds_nothing() -> None:
    still, outcome = NormalPair(0.0), OutcomePair((0.5, 0.5), (0.25, 0.75))
    assert [epsilon_lower(((still, 1),), delta) for delta in (0.0, 1e-6)] == [0.0, 0.0]
    for delta in (0.0, 0.01):
        alone = epsilon_lower(((outcome, 2),), delta)
        assert epsilon_lower(((still, 1), (outcome, 2)), delta) == alone > 1.3
    # Two outcomes of .5 against .25: without δ the loss is 2 log 2.
    assert epsilon_lower(((outcome, 2),), 0.0) == pytest.approx(2.0 * math.log(2.0), rel=1e-9)
    assert epsilon_lower(((OutcomePair((0.5, 0.5), (0.0, 1.0)), 1),), 0.0) == math.inf
    resampled = ResampledPair(MixturePair(PairKind.ONE_SIDED, 1.0, 0.5))
    for law in (DiscreteNormalPair(3.0, 1), resampled):
        assert epsilon_lower(((law, 2),), 0.0) == math.inf, "a Gaussian or Poisson tail has no largest loss"


def test_a_bound_that_no_grid_holds_is_not_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = (NormalPair(3.0), 1), (OutcomePair((0.5, 0.5), (0.25, 0.75)), 2)
    assert epsilon_lower(pair, 0.01) > 5.0
    monkeypatch.setattr(loss_fold, "_MOST_BINS", 16)
    assert epsilon_lower(pair, 0.01) == 0.0, "no window of 16 steps reaches these losses, and 0 is always true"


def test_a_loss_without_any_variance_has_a_grid_of_some_width() -> None:
    single = LossGrid(3, 0.5, np.ones(1), 0.0)
    assert 0.0 < _step({1: (single, single)}, Counter([1]), 3, 1e-3) <= 0.25


def test_a_weight_of_counts_is_checked() -> None:
    for weight in (-1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="HG101"):
            MixturePair(PairKind.SAME_CELL, 1.0, 0.5, count_weight=weight)


def precise(
    mu_of: Callable[[float], float], *, most: float = math.inf, start: float | None = None
) -> tuple[float, float]:
    """Return the precision that is found for ε = 1 at δ = 1e-6 of a Gaussian release of μ(x), and its ε."""

    def build(precision: float) -> float:
        if precision > most:
            raise UncertifiedError("HG403", rule="A rule.", finding="A finding.", remedy="A remedy.")
        return mu_of(precision)

    best = most_precise(build, GaussianProfile, 1e-6, (1.0, 1e-3), start=start)
    assert best.mechanism == mu_of(best.precision)
    return best.precision, best.epsilon_upper


LAWS: list[Callable[[float], float]] = [lambda x: x, lambda x: x**2.5, lambda x: 0.2 * x**0.1, lambda x: x / (1.0 + x)]


@pytest.mark.parametrize("start", [None, 0.02, 0.2, 3.0, 100.0])
@pytest.mark.parametrize("law", range(len(LAWS)))
def test_the_search_meets_the_limit_from_any_start(law: int, start: float | None) -> None:
    _, epsilon = precise(LAWS[law], start=start)
    assert 1.0 - 1e-3 <= epsilon <= 1.0


def test_where_more_precision_is_refused_the_last_that_is_certified_is_found() -> None:
    precision, epsilon = precise(lambda x: x / 1000.0, most=2.0)
    assert 2.0 * (1.0 - 2e-5) <= precision <= 2.0
    assert epsilon < 0.1
    with pytest.raises(UncertifiedError, match="HG403"):
        precise(lambda x: 10.0 + x, most=0.2)


def test_a_price_that_does_not_rise_or_is_never_met_is_refused() -> None:
    with pytest.raises(UncertifiedError, match="does not rise"):
        precise(lambda x: 0.01)
    with pytest.raises(UncertifiedError, match="No amount of noise"):
        precise(lambda x: 10.0)
