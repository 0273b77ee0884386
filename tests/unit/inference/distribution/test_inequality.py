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
from hedgerow.inference.distribution.inequality import _Placed, gini, lorenz, share_below_of_median
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


def mostly_noise(rng: np.random.Generator, leaves: int, sd: float) -> Distribution:
    """Return a distribution of a few records under much noise: the least Lorenz share is often clipped to 1."""
    tree = NoisyTree(leaves, (leaves,), (np.full(leaves, sd**2),), 0.0)
    counts = rng.integers(0, 40, leaves) + rng.normal(0.0, sd, leaves)
    left, records = np.append(0.0, np.cumsum(counts)), max(float(counts.sum()), 1.0)
    left[-1] = records
    return Distribution(np.append(0.0, np.cumsum(rng.integers(1, 4, leaves))), left, records, tree, 0.0, False, 1.0)


def test_no_placement_lowers_the_end_of_a_lorenz_share_where_placements_tie(monkeypatch: pytest.MonkeyPatch):
    """At a ratio of 1 all places below p tie. Sabotage: a choice by rounding among them excludes what others do not."""
    rng, placed, ties, excluded = np.random.default_rng(1), list[_Placed](), 0, 0
    score = _Placed.score
    monkeypatch.setattr(_Placed, "score", lambda self: placed.append(self) or score(self))
    for _ in range(800):
        found, p = mostly_noise(rng, 3, float(10.0 ** rng.uniform(0.8, 1.3))), float(rng.choice([0.5, 0.9]))
        placed.clear()
        read = lorenz(found, p)
        lowest = placed[0]
        if lowest.value < 1.0:
            continue
        first, last = found.curve[:-1], found.curve[1:]
        below = (last < p) & (last > first)
        lows = []
        for at in product((0.0, 0.5, 1.0), repeat=int(below.sum())):
            split = lowest.split.copy()
            split[below] = at
            lows.append(float(score(replace(lowest, split=split)).accepted(0.95)[0][0]))
        assert read.low <= min(lows) + 1e-9
        ties += 1
        excluded += max(lows) > min(lows) + 0.1
        # Rounding moves nothing.
        moved = replace(found, left=found.left * (1.0 + 1e-13 * rng.normal(size=4)))
        assert lorenz(moved, p).low == pytest.approx(read.low, abs=1e-6)
    assert ties > 12 and excluded > 2, (ties, excluded)


@pytest.mark.parametrize("values", [[0] * 13 + [1] * 4 + [3] * 3, [0] * 8 + [3] * 12, [2] * 20])
def test_lorenz_shares_of_heaps_under_much_noise_are_covered(values: list[int]):
    rng, runs = np.random.default_rng(3), 150
    tree, counts = NoisyTree(4, (4,), (np.full(4, 50.0),), 0.0), np.bincount(values, minlength=4)
    truth, covered = exact(np.array(values, dtype=float))[1:3], np.zeros(2)
    for _ in range(runs):
        leaves, _ = tree.fitted([counts + rng.laplace(0.0, 5.0, 4)], np.array(float(len(values))))
        left = np.append(0.0, np.cumsum(leaves))
        found = Distribution(np.array([0.0, 0.5, 1.5, 2.5, 3.0]), left, float(len(values)), tree, 50.0, True, 1.0)
        reads = [lorenz(found, p) for p in (0.5, 0.9)]
        covered += [one.low - 1e-9 <= share <= one.high + 1e-9 for one, share in zip(reads, truth, strict=True)]
    assert np.all(stats.binom.cdf(covered, runs, 0.95) > 1e-6), covered / runs
