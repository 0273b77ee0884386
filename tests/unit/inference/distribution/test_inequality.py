"""Gini coefficients, Lorenz curves and shares below a part of the median: steps, heaps and places that nobody knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hedgerow.facts.relation import Relation
from hedgerow.inference.distribution.inequality import gini, lorenz, share_below_of_median
from hedgerow.inference.distribution.noisy_distribution import Distribution, Read
from hedgerow.inference.distribution.noisy_tree import NoisyTree, plain_levels
from hedgerow.mechanisms.histograms import tree_counts
from hedgerow.testing.simulated import SimulatedNoise

READ: tuple[Callable[[Distribution], Read], ...] = (
    gini,
    lambda one: lorenz(one, 0.5),
    lambda one: lorenz(one, 0.9),
    lambda one: share_below_of_median(one, 0.6),
)


def exact(values: np.ndarray) -> list[float]:
    """Return what `READ` reads, of the values themselves."""
    ranked = np.sort(values)
    n, total = len(ranked), float(ranked.sum())
    held = [float(np.interp(p * n, np.arange(n + 1), np.append(0.0, np.cumsum(ranked)))) / total for p in (0.5, 0.9)]
    line = 0.6 * ranked[math.ceil(0.5 * n) - 1]
    return [
        float((2 * np.arange(1, n + 1) - n - 1) @ ranked) / (n * total),
        *held,
        float((ranked < line - 1e-9).mean()),
    ]


def known(counts: list[int] | np.ndarray, edges: list[float] | np.ndarray, step: float | None) -> Distribution:
    """Return the distribution of a file that is known but for the places of values inside their leaves."""
    m, left = len(counts), np.append(0.0, np.cumsum(counts))
    tree = NoisyTree(m, (m,), (np.full(m, 1e-18),), 0.0)
    return Distribution(np.asarray(edges, dtype=float), left, float(left[-1]), tree, 0.0, True, step)


def whole_numbers(counts: list[int] | np.ndarray) -> Distribution:
    """Return the distribution of so many values 0, 1, 2 … each."""
    return known(counts, [0.0, *(np.arange(1, len(counts)) - 0.5), len(counts) - 1.0], 1.0)


def test_whole_numbers_are_read_as_such():
    counts = [72, 17, 6, 3, 1, 0, 1]
    values = np.repeat(np.arange(7.0), counts)
    for read, truth in zip(READ, exact(values), strict=True):
        found = read(whole_numbers(counts))
        # Half a record is added to a share, as counts are whole.
        assert found.value == pytest.approx(truth, abs=1e-9)
        assert found.low == pytest.approx(truth, abs=0.006) and found.high == pytest.approx(truth, abs=0.006)
        assert found.standard_error < 1e-6
    spread = gini(replace(whole_numbers(counts), step=None))
    assert abs(spread.value - exact(values)[0]) > 0.1, "values that are spread over their leaf are found out"


def test_the_interval_holds_every_placement_and_no_more():
    # Three leaves of two to three whole numbers each: all ways in which six records may stand in them.
    edges, counts = [0.0, 2.5, 5.5, 8.0], (2, 3, 2)
    ways = [
        np.concatenate([np.sort(one) for one in each])
        for each in product(*(product(range(low, low + 3), repeat=k) for low, k in zip((0, 3, 6), counts, strict=True)))
    ]
    numbers = np.array([exact(np.asarray(one, dtype=float)) for one in ways if sum(one) > 0])
    declared, free = (known(list(counts), edges, step) for step in (1.0, None))
    for place, read in enumerate(READ):
        low, high = numbers[:, place].min(), numbers[:, place].max()
        found, wider = read(declared), read(free)
        assert found.low <= low + 1e-9 and high - 1e-9 <= found.high, place
        assert wider.low <= found.low + 1e-9 and found.high <= wider.high + 1e-9
        if place == 0:
            assert found.low == pytest.approx(low, abs=1e-6)  # all values of a leaf at one of its ends
            assert found.high == pytest.approx(high, abs=0.01)  # at both of them, in parts of a record


CASES = {
    # Name: the values, their grid, the number of grid values a leaf, whether the step is declared.
    "arrests": (lambda rng, n: np.minimum(rng.geometric(0.65, n) * (rng.random(n) < 0.28), 12), (0, 12, 1.0), 1, True),
    "answers": (lambda rng, n: rng.choice(5, n, p=[0.05, 0.1, 0.3, 0.35, 0.2]) + 1.0, (1, 5, 1.0), 1, True),
    "whole numbers, four a leaf": (lambda rng, n: np.minimum(rng.poisson(9.0, n), 39), (0, 39, 1.0), 4, True),
    "heaps without a step": (
        lambda rng, n: np.minimum(10.0 * rng.poisson(3.0, n) + 2.5 * (rng.random(n) < 0.2), 100.0),
        (0, 100, 0.25),
        8,
        False,
    ),
    "atoms at 0 and above, no step": (
        lambda rng, n: np.clip(np.where(rng.random(n) < 0.3, 0.0, 60.0 * rng.gamma(2.0, 0.6, n)), 0, 100),
        (0, 100, 0.25),
        4,
        False,
    ),
}


@pytest.mark.parametrize(
    ("name", "relation"),
    [("arrests", Relation.REPLACE_ONE), *((name, Relation.ADD_REMOVE) for name in CASES)],
)
def test_the_truth_is_covered_and_values_spread_over_their_leaf_are_not(name, relation):
    draw, (low, high, step), group, declared = CASES[name]
    rng, n, runs = np.random.default_rng(5), 2000, 40
    truth = np.array(exact(np.asarray(draw(rng, 300_000), dtype=float)))
    m, rooted = round((high - low) / step) // group + 1, relation is Relation.ADD_REMOVE
    edges = low + (np.arange(m + 1) * group - 0.5) * step
    edges[0], edges[-1] = low, high
    tree = tree_counts("laplace", m, (m,), (1.0,) * (1 + rooted), precision=2.0, cells=1, relation=relation)
    noisy = NoisyTree.of(tree, public=not rooted)
    covered, spread = np.zeros((runs, len(READ))), np.zeros(runs)
    for run in range(runs):
        values = draw(rng, int(rng.poisson(n)) if rooted else n)
        places = np.rint((values - low) / step).astype(int) // group
        levels, total = plain_levels(
            tree.noisy(np.bincount(places, minlength=m)[None, :], SimulatedNoise(rng)), rooted=rooted
        )
        leaves, root = noisy.fitted(levels, total if rooted else np.array([float(len(values))]))
        left, largest = np.append(0.0, np.cumsum(leaves[0])), float(max(tree.noise_sds()) ** 2)
        found = Distribution(edges, left, float(root[0]), noisy, largest, False, step if declared else None)
        each = [read(found) for read in READ]
        covered[run] = [one.low - 1e-9 <= value <= one.high + 1e-9 for one, value in zip(each, truth, strict=True)]
        as_lines = gini(replace(found, step=None)).value
        spread[run] = abs(as_lines - truth[0]) <= (each[0].high - each[0].low) / 2.0
        assert all(one.standard_error >= one.sampling_error >= 0.0 for one in each)
    assert np.all(stats.binom.cdf(covered.sum(axis=0), runs, 0.95) > 1e-6), covered.mean(axis=0)
    if name == "arrests":
        assert stats.binom.cdf(spread.sum(), runs, 0.95) < 1e-12


def test_errors_are_those_of_repeated_releases():
    rng, n = np.random.default_rng(7), 2000
    tree = tree_counts("gaussian", 13, (13,), (1.0,), precision=0.5, cells=1, relation=Relation.REPLACE_ONE)
    noisy, numbers, errors = NoisyTree.of(tree, public=True), [], []
    edges = np.array([0.0, *(np.arange(1, 13) - 0.5), 12.0])
    for _ in range(120):
        counts = np.bincount(np.minimum(rng.poisson(2.5, n), 12), minlength=13)
        levels, _total = plain_levels(tree.noisy(counts[None, :], SimulatedNoise(rng)), rooted=False)
        leaves, root = noisy.fitted(levels, np.array([float(n)]))
        found = Distribution(edges, np.append(0.0, np.cumsum(leaves[0])), float(root[0]), noisy, 0.0, False, 1.0)
        each = [read(found) for read in READ[:3]]
        numbers.append([one.value for one in each])
        errors.append([one.standard_error for one in each])
    ratio = np.mean(errors, axis=0) / np.std(numbers, axis=0)
    assert np.all((ratio > 0.85) & (ratio < 1.2)), ratio


def test_a_mean_that_is_all_noise_excludes_nothing():
    tree = NoisyTree(3, (3,), (np.full(3, 400.0),), 0.0)
    found = Distribution(np.array([0.0, 0.5, 1.5, 2.0]), np.array([0.0, 9.0, 3.0, 10.0]), 10.0, tree, 0.0, False, 1.0)
    for read in READ:
        one = read(found)
        assert 0.0 <= one.low <= one.value <= one.high <= 1.0 and one.high - one.low > 0.7


def test_noise_of_the_shares_is_taken_from_what_is_curved_alone():
    """A Lorenz share is linear in the counts: noise of a known size changes no value. A Gini coefficient is curved."""
    edges, left = np.array([0.0, 0.5, 1.5, 2.5, 3.0]), np.array([0.0, 10.0, 30.0, 60.0, 100.0])
    sharp, noisy = (
        [
            read(Distribution(edges, left, 100.0, NoisyTree(4, (4,), (np.full(4, v),), 0.0), 0.0, True, 1.0))
            for read in READ
        ]
        for v in (1e-18, 4.0)
    )
    assert [noisy[place].value for place in (1, 2)] == pytest.approx(
        [sharp[place].value for place in (1, 2)], abs=1e-12
    )
    assert noisy[0].value > sharp[0].value + 1e-4


@pytest.mark.parametrize(("part", "share"), [(0.3, 0.1), (0.5, 0.1), (0.8, 0.3)])
def test_the_interval_of_a_known_count_reaches_half_a_record(part: float, share: float):
    """Of 0, 1, 2 and 3 the median is 2: a part of it lies between two of the values."""
    read = share_below_of_median(whole_numbers([10, 20, 30, 40]), part)
    assert (read.value, read.low, read.high) == pytest.approx((share, share - 0.005, share + 0.005), abs=1e-9)
