"""The number of resamples: near the best of the ladder by the calibrated interval's own width, from public facts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_intervals import critical_curve
from hedgerow.resampling.replicates import FEWEST, LADDER, MOST, UNKNOWN_N, choose_n_resamples


def mean_width(k: int, ratio: float, offset: float) -> float:
    """Mean width of the 95 % interval for v = ratio·τ² and a centre offset of offset·τ², in units of τ."""
    known = k + offset
    draws = np.random.default_rng(k).chisquare(k - 1, 4000) / (k - 1)
    return math.sqrt(known) * float(critical_curve(k, level=0.95).half_width((1 + ratio / known) * draws).mean())


@pytest.mark.parametrize("ratio", [1.0, 5.0, 20.0, 60.0, 150.0])
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_it_is_within_a_tenth_of_the_best_when_the_guess_is_right(ratio: float, offset: float) -> None:
    rungs = [k for k in LADDER if FEWEST <= k <= MOST]
    widths = {k: mean_width(k, ratio, offset * ratio) for k in rungs}
    spread = math.sqrt(ratio * (1 + offset))  # with n = 1 and τ = 1
    chosen = choose_n_resamples(n=1, value_range=100.0, privacy_variance=1.0, spread=spread)
    assert widths[chosen] <= 1.1 * min(widths.values())


def test_the_largest_spread_is_taken_where_none_is_guessed() -> None:
    facts = {"n": 5000, "value_range": 1.0, "privacy_variance": 1 / 500**2}
    assert choose_n_resamples(**facts) == choose_n_resamples(**facts, spread=0.5) == 20


def test_it_stays_on_the_ladder_and_within_its_ends() -> None:
    for noise in np.geomspace(1e-12, 1e6, 60):
        chosen = choose_n_resamples(n=1000, value_range=1.0, privacy_variance=float(noise))
        assert chosen in LADDER and FEWEST <= chosen <= MOST
    assert choose_n_resamples(n=None, value_range=1.0, privacy_variance=1e-4) == UNKNOWN_N


@pytest.mark.parametrize(
    "wrong",
    [{"n": 0}, {"value_range": -1.0}, {"privacy_variance": 0.0}, {"spread": 0.6}, {"privacy_variance": math.nan}],
)
def test_it_refuses_numbers_that_cannot_be(wrong: dict[str, float]) -> None:
    facts: dict[str, float | None] = {"n": 100, "value_range": 1.0, "privacy_variance": 1.0, "spread": None}
    with pytest.raises(ParameterError, match="HG123"):
        choose_n_resamples(**(facts | wrong))
