"""A composed curve is kept for the terms of which it was made, and for no others."""

from __future__ import annotations

import pytest

from hedgerow.accounting import compose
from hedgerow.accounting.dominating_pairs import DiscreteGaussianPair, DiscreteLaplacePair, DominatingPair, GaussianPair

NOISE = DiscreteLaplacePair(2.0, 1)
RELEASES: list[list[DominatingPair]] = [
    [NOISE, GaussianPair(0.5)],
    [NOISE, GaussianPair(0.6)],
    [NOISE, NOISE],
    [NOISE, NOISE, NOISE],
    [NOISE, DiscreteGaussianPair(2.0, 1)],
    [NOISE, DiscreteGaussianPair(2.1, 1)],
    [DiscreteLaplacePair(2.1, 1), DiscreteGaussianPair(2.1, 1)],
]


def prices() -> list[float]:
    return [compose.compose(terms).epsilon_upper(1e-6) for terms in RELEASES]


def fresh_prices() -> list[float]:
    found = []
    for terms in RELEASES:
        compose._curve_of.cache_clear()
        found.append(compose.compose(terms).epsilon_upper(1e-6))
    return found


def test_prices_from_kept_curves_are_those_of_new_ones() -> None:
    fresh = fresh_prices()
    assert len(set(fresh)) == len(RELEASES)
    assert prices() == fresh and prices() == fresh
    assert [compose.compose(terms[::-1]).epsilon_upper(1e-6) for terms in RELEASES] == pytest.approx(fresh, rel=1e-9)


def test_sabotage_a_curve_that_is_kept_whatever_the_gaussian_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, make, kept = fresh_prices(), compose._curve_of.__wrapped__, {}
    monkeypatch.setattr(compose, "_curve_of", lambda mu, ordered: kept.setdefault(ordered, make(mu, ordered)))
    assert prices() != fresh
