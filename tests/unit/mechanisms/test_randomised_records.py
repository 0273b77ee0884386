"""Randomised records: the local price by enumeration of all bits, the law of the bits, and estimates without bias."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify, mechanism_from_record
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.mechanisms.randomised_records import (
    FINE,
    NOWHERE,
    RandomisedRecords,
    randomised_records,
)
from hedgerow.noise.secure import SecureNoise
from hedgerow.testing.simulated import SimulatedNoise


def chance(described: RandomisedRecords, own: int, bits: tuple[int, ...]) -> float:
    """Return the chance of these bits for a record in cell `own`."""
    ones = [0.5 if cell == own else described.chance for cell in range(len(bits))]
    return math.prod(p if bit else 1.0 - p for p, bit in zip(ones, bits, strict=True))


def test_an_audit_attacks_the_bits_of_the_first_view() -> None:
    described = randomised_records(1.0, (3, 5), (1.0, 1.0))
    (pair,) = described.worst_pairs(Relation.REPLACE_ONE)
    bits = described.outputs(pair.histograms()[0], 4, SimulatedNoise(1))
    assert bits.shape == (4, 1, 3) == (4, 1, described.size)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("cells", [1, 2, 4])
def test_the_worst_pair_of_records_costs_what_is_stated(epsilon: float, cells: int) -> None:
    described = randomised_records(epsilon, (cells,), (1.0,))
    places = [NOWHERE, *range(cells)]
    every = list(product((0, 1), repeat=cells))
    losses = [
        math.log(chance(described, one, bits) / chance(described, other, bits))
        for one in places
        for other in places
        for bits in every
    ]
    assert max(losses) <= described.pure() + 1e-12 <= epsilon + 1e-12
    if cells > 1:
        assert max(losses) == pytest.approx(epsilon, rel=1e-6)
        # A sabotage: own bits set with certainty, as if what is true need not be hidden, have no finite price.
        assert math.log(0.75 * (1 - described.chance) / (described.chance * 0.25)) > epsilon


def test_bits_follow_their_law() -> None:
    """200,000 records, seed 8: each cell's ones are binomial; those of a record in another cell are rejected."""
    described = randomised_records(1.0, (5,), (1.0,))
    bits = described.as_bits(0, np.full(200_000, 2), SimulatedNoise(8).generator())
    ones = bits.sum(axis=0)
    for cell, found in enumerate(ones):
        p = 0.5 if cell == 2 else described.chance
        assert stats.binomtest(int(found), 200_000, p).pvalue > 1e-6
    assert stats.binomtest(int(ones[2]), 200_000, described.chance).pvalue < 1e-12
    correlation = np.corrcoef(bits[:, 0], bits[:, 2])[0, 1]
    assert abs(correlation) < 5 / math.sqrt(200_000)


def test_estimates_have_no_bias_and_the_stated_spread() -> None:
    """400 rounds of 20,000 records, seed 3, mean within 5 s.e.; leaving the bias in is rejected."""
    described = randomised_records(1.0, (4,), (1.0,))
    cells = np.repeat([0, 1, 2, NOWHERE], [200, 300, 400, 19_100])
    noise = SimulatedNoise(3)
    found = np.array([described.debiased(described.count_ones(0, cells, noise), 20_000) for _ in range(400)])
    sd = described.noise_sd(20_000, 0)
    assert np.all(np.abs(found.mean(axis=0) - [200, 300, 400, 0]) < 5 * sd / math.sqrt(400))
    assert found[:, 3].std() == pytest.approx(sd, rel=0.15)
    raw = described.count_ones(0, cells, noise) / 0.5
    assert abs(raw[3]) > 20 * sd


def test_views_are_shown_in_their_shares_whatever_the_records() -> None:
    described = randomised_records(1.0, (2, 3, 4), (0.5, 0.3, 0.2))
    assert sum(described.shares) == FINE
    shown = np.bincount(described.choose_views(100_000, SimulatedNoise(2)), minlength=3)
    assert stats.chisquare(shown, [50_000, 30_000, 20_000]).pvalue > 1e-6
    assert stats.chisquare(shown, [49_000, 30_000, 21_000]).pvalue < 1e-12


def test_the_released_noise_draws_them_too() -> None:
    described = randomised_records(1.0, (3,), (1.0,))
    ones = described.count_ones(0, np.zeros(50_000, dtype=np.int64), SecureNoise())
    assert stats.binomtest(int(ones[0]), 50_000, 0.5).pvalue > 1e-9
    assert stats.binomtest(int(ones[1]), 50_000, described.chance).pvalue > 1e-9


def test_there_is_a_price_under_replace_one_only() -> None:
    described = randomised_records(1.0, (3,), (1.0,))
    certificate = certify(described, Relation.REPLACE_ONE, unit="row", delta=0.0)
    certificate.verify()
    assert certificate.epsilon <= 1.0 and mechanism_from_record(as_record(described)) == described
    with pytest.raises(UncertifiedError, match="HG401"):
        profile_of(described, Relation.ADD_REMOVE)


def test_impossible_descriptions_are_refused() -> None:
    for flip, views, shares in (
        (0, (2,), (FINE,)),
        (FINE, (2,), (FINE,)),
        (5, (2,), (FINE - 1,)),
        (5, (2, 2), (FINE,)),
    ):
        with pytest.raises(ParameterError, match="HG406"):
            RandomisedRecords(flip, views, shares)
    with pytest.raises(ParameterError, match="HG182"):
        randomised_records(1.0, (2, 2), (1.0, 0.0))
