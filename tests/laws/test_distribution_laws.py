"""What is read from one table of counts agrees: shares, bins, quantiles and the Lorenz curve of a distribution."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.inference.distribution.inequality import gini, lorenz
from hedgerow.inference.distribution.noisy_distribution import Distribution
from hedgerow.inference.distribution.noisy_tree import NoisyTree

STEP = 2.0
# Noisy counts of 3 to 12 leaves, some below 0 and some 0, of one to three values each, and what is read of them.
COUNTS = st.lists(st.integers(-8, 60), min_size=3, max_size=12).filter(lambda counts: sum(counts) > 20)
GROUPS = st.integers(1, 3)
SHARES = st.lists(st.integers(1, 99), min_size=1, max_size=8, unique=True)


def read(counts: list[int], group: int, *, declared: bool = True, census: bool = False) -> Distribution:
    """Return the distribution of leaves of `group` values 0, 2, 4 … each, the last leaf of one value alone."""
    starts = (np.arange(len(counts)) * group - 0.5) * STEP
    starts[0] = 0.0
    edges = np.append(starts, (len(counts) - 1) * group * STEP)
    tree = NoisyTree(len(counts), (len(counts),), (np.full(len(counts), 1e-12 if census else 4.0),), None)
    left = np.append(0.0, np.cumsum(counts)).astype(float)
    return Distribution(edges, left, float(left[-1]), tree, 0.0, census, STEP if declared else None)


def values(found: Distribution) -> np.ndarray:
    return np.arange(0.0, found.edges[-1] + 1.0, STEP)


@settings(max_examples=8, deadline=None)
@given(COUNTS, GROUPS, st.booleans(), st.data())
def test_bins_are_differences_of_the_distribution_function(counts, group, declared, data) -> None:
    found = read(counts, group, declared=declared)
    ends = sorted(data.draw(st.lists(st.sampled_from(values(found).tolist()), min_size=2, max_size=3, unique=True)))
    bins = [found.bin(low, high) for low, high in pairwise(ends)]
    below = [found.share_below(x).value for x in ends]
    np.testing.assert_allclose([one.value for one in bins], np.diff(below), atol=1e-12)
    last = found.bin(ends[-1], np.inf, closed=True)
    assert below[0] + sum(one.value for one in bins) + last.value == pytest.approx(1.0)
    for one in (bins[0], last):
        assert 0.0 <= one.low <= one.value <= one.high <= 1.0
    upto = [found.share_below(x, closed=True).value for x in ends]
    assert np.all(np.diff(upto) >= -1e-12) and np.all(np.array(upto) >= np.array(below) - 1e-12)
    if declared:  # F(x) is the share below the next value
        np.testing.assert_allclose(upto, [found.share_below(x + STEP).value for x in ends], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(COUNTS, GROUPS, SHARES)
def test_a_quantile_is_the_inverse_of_the_distribution_function(counts, group, shares) -> None:
    """Q(q) ≤ x exactly where q ≤ F(x), at every value x; F(x−) in place of F(x) is another inverse."""
    found = read(counts, group)
    for q in (one / 100 for one in shares):
        quantile = float(found.quantile_point(q))
        for x in values(found):
            upto = found.cut(x + STEP).share if x < found.edges[-1] else 1.0
            if abs(upto - q) > 1e-9:
                assert (quantile <= x) == (q <= upto), (q, x, quantile, upto)
        assert found.cut(quantile).share <= q + 1e-9  # F(x−) ≤ q


def test_another_inverse_is_found_out() -> None:
    found = read([30, 40, 30], 1)
    quantile = float(found.quantile_point(0.5))
    assert quantile == 2.0 and found.share_below(quantile, closed=True).value >= 0.5
    assert not found.share_below(quantile).value >= 0.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=3, max_size=6).filter(lambda counts: sum(counts[1:]) > 5), GROUPS, SHARES)
def test_without_noise_the_lorenz_curve_is_that_of_the_values(counts, group, shares) -> None:
    found = read(counts, group, census=True)
    # Every value of a leaf has the same part of its records: 6 of each, so that they can be counted out.
    each = np.concatenate([np.repeat(counts[:-1], group) * 6 // group, [counts[-1] * 6 // group]])
    within = np.concatenate([np.full((len(counts) - 1) * group, 1.0), [1.0]])
    if group > 1:  # the last leaf holds one value, but as much of the axis as one step: its records are all there
        each[-1] = counts[-1] * 6
    ranked = np.repeat(values(found), (each * within).astype(int))
    for p in (one / 100 for one in shares):
        whole = p * len(ranked)
        held = ranked[: int(whole)].sum() + (whole - int(whole)) * ranked[min(int(whole), len(ranked) - 1)]
        assert lorenz(found, p).value == pytest.approx(held / ranked.sum(), abs=STEP / 4.0 / ranked.mean())
    area = np.mean([lorenz(found, p).value for p in np.linspace(0.025, 0.975, 20)])
    assert gini(found).value == pytest.approx(1.0 - 2.0 * area, abs=STEP / 2.0 / ranked.mean() + 0.01)


@settings(max_examples=20, deadline=None)
@given(COUNTS, GROUPS)
def test_the_lorenz_curve_lies_between_0_and_1_with_errors(counts, group) -> None:
    found = read(counts, group)
    for p in (0.1, 0.5, 0.9):
        one = lorenz(found, p)
        assert 0.0 <= one.low <= one.value <= one.high <= 1.0
        assert one.sampling_error <= one.standard_error
