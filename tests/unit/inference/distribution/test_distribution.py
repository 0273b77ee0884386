"""Quantiles, shares and bins of simulated tables: the truth is covered at atoms, bounds and gaps, sabotage is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.facts.relation import Relation
from hedgerow.inference.distribution.inequality import gini, lorenz, share_below_of_median
from hedgerow.inference.distribution.noisy_distribution import Distribution, band, first_reached
from hedgerow.inference.distribution.noisy_tree import ErrorLaw, NoisyTree, plain_levels
from hedgerow.mechanisms.histograms import TreeCounts, tree_counts
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
RUNS = 60


def edges(low: float, high: float, step: float) -> np.ndarray:
    return np.append(np.arange(round((high - low) / step) + 1) * step + low, high)


@dataclass(frozen=True)
class Population:
    draw: Callable[[np.random.Generator, int], np.ndarray]
    edges: np.ndarray
    truth: dict[float, float]

    def share(self, x: float) -> float:
        values = self.draw(np.random.default_rng(1), 400_000)
        return float((values < x).mean())


def lognormal(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.clip(np.exp(rng.normal(10.0, 0.8, n)), 0, 100_000)


def schooling(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([8.0, 12.0, 12.0, 12.0, 14.0, 16.0, 16.0, 20.0], n)


def heaped(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.13, 0.0, lognormal(rng, n))


SMOOTH = {q: math.exp(10.0 + 0.8 * stats.norm.ppf(q)) for q in (0.1, 0.5, 0.9)}
POPULATIONS = {
    "skewed": Population(lognormal, edges(0, 100_000, 1000), SMOOTH),
    "ties": Population(schooling, edges(0, 20, 1), {0.1: 8.0, 0.125: 8.0, 0.3: 12.0, 0.5: 12.0, 0.95: 20.0}),
    "heap at a bound": Population(heaped, edges(0, 100_000, 1000), {0.05: 0.0, 0.12: 0.0}),
}
NOISE = {
    "flat, Laplace": lambda m, relation: tree_counts(
        "laplace", m, (m,), (1.0,) * (1 + (relation is NEAR)), precision=1.0, cells=1, relation=relation
    ),
    "tree, Gaussian": lambda m, relation: tree_counts(
        "gaussian", m, (-(-m // 5), 5), (1.0,) * (2 + (relation is NEAR)), precision=0.237, cells=1, relation=relation
    ),
}


def read(tree: TreeCounts, values: np.ndarray, ends: np.ndarray, noise: SimulatedNoise) -> Distribution:
    counts = np.bincount(
        np.clip(np.searchsorted(ends, values, side="right") - 1, 0, tree.leaves - 1), minlength=tree.leaves
    )
    levels, total = plain_levels(tree.noisy(counts[None, :], noise), rooted=tree.rooted)
    noisy = NoisyTree.of(tree, public=not tree.rooted)
    leaves, root = noisy.fitted(levels, total if tree.rooted else np.array([float(len(values))]))
    largest = float(max(tree.noise_sds()) ** 2) if tree.law == "laplace" else 0.0
    return Distribution(ends, np.append(0.0, np.cumsum(leaves[0])), float(root[0]), noisy, largest, census=False)


@pytest.mark.parametrize("n", [50, 1000])
@pytest.mark.parametrize("relation", [FAR, NEAR])
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("name", POPULATIONS)
def test_quantiles_are_covered(name, noise, relation, n):
    population, rng = POPULATIONS[name], np.random.default_rng(n)
    tree = NOISE[noise](len(population.edges) - 1, relation)
    covered = np.zeros((RUNS // 2 if n == 50 else RUNS, len(population.truth)))
    for run in range(len(covered)):
        drawn = population.draw(rng, n if relation is FAR else int(rng.poisson(n)))
        found = read(tree, drawn, population.edges, SimulatedNoise(rng))
        for place, (q, truth) in enumerate(population.truth.items()):
            interval = found.quantile(q)
            covered[run, place] = interval.low <= truth <= interval.high
            assert population.edges[0] <= interval.low <= interval.value <= interval.high <= population.edges[-1]
    share = covered.mean(axis=0)
    assert np.all(stats.binom.cdf(covered.sum(axis=0), len(covered), 0.95) > 1e-6), share


def test_an_interval_that_looks_at_the_wrong_side_of_an_atom_is_found_out():
    # {x: |F(x) - q| within reach}: at an atom no x may be left, or only those beside it.
    population, rng = POPULATIONS["ties"], np.random.default_rng(3)
    tree = NOISE["flat, Laplace"](len(population.edges) - 1, FAR)
    right = wrong = 0
    for _ in range(RUNS):
        found = read(tree, population.draw(rng, 5000), population.edges, SimulatedNoise(rng))
        reach = found.law(0.3).reach(found.tree.prefix_variance(0.3), 0.95)[0]
        near = np.flatnonzero(np.abs(found.left - 0.3 * found.records) <= reach)
        wrong += bool(len(near)) and found.edges[near[0]] <= 12.0 <= found.edges[near[-1]]
        interval = found.quantile(0.3)
        right += interval.low <= 12.0 <= interval.high
    assert stats.binom.cdf(right, RUNS, 0.95) > 1e-6 and stats.binom.cdf(wrong, RUNS, 0.95) < 1e-12


def test_errors_are_those_of_repeated_releases():
    population, rng = POPULATIONS["skewed"], np.random.default_rng(8)
    tree = NOISE["tree, Gaussian"](len(population.edges) - 1, FAR)
    ends = np.array([0.0, 10_000.0, 30_000.0, 100_000.0])
    numbers, errors, inside = [], [], []
    truth = [*SMOOTH.values(), population.share(12_000.0), *np.diff([population.share(x) for x in ends[:-1]]).tolist()]
    truth.append(1.0 - population.share(30_000.0))
    for _ in range(3 * RUNS):
        found = read(tree, population.draw(rng, 3000), population.edges, SimulatedNoise(rng))
        each = [
            *(found.quantile(q) for q in SMOOTH),
            found.share_below(12_000.0),
            *(found.bin(a, b, closed=b == 1e5) for a, b in pairwise(ends)),
        ]
        numbers.append([one.value for one in each])
        errors.append([one.standard_error for one in each])
        inside.append([one.low <= value <= one.high for one, value in zip(each, truth, strict=True)])
    ratio = np.mean(errors, axis=0) / np.std(numbers, axis=0)
    assert np.all((ratio > 0.85) & (ratio < 1.2)), ratio
    assert np.all(np.mean(inside, axis=0) > 0.95 - 4.0 * math.sqrt(0.05 * 0.95 / len(inside)))
    assert np.all(np.mean([[one > 0 for one in row] for row in errors]) == 1.0)


def test_bands_gini_and_lorenz_are_covered():
    population, rng = POPULATIONS["skewed"], np.random.default_rng(4)
    tree = NOISE["flat, Laplace"](len(population.edges) - 1, FAR)
    big = np.sort(population.draw(np.random.default_rng(1), 400_000))
    n = len(big)
    coefficient = float((2 * np.arange(1, n + 1) - n - 1) @ big / (n * big.sum()))
    truth = [coefficient, population.share(0.6 * big[n // 2]), big[: int(0.4 * n)].sum() / big.sum()]
    curve = np.array([population.share(x) for x in population.edges[:-1]] + [1.0])
    inside = []
    for _ in range(40):
        found = read(tree, population.draw(rng, 4000), population.edges, SimulatedNoise(rng))
        each = [gini(found), share_below_of_median(found, 0.6), lorenz(found, 0.4)]
        around = band(found)
        inside.append(
            [one.low <= value <= one.high for one, value in zip(each, truth, strict=True)]
            + [bool(np.all((around.low <= curve + 1e-9)[:-1] & (curve <= around.high + 1e-9)[:-1]))]
        )
    assert np.all(stats.binom.cdf(np.sum(inside, axis=0), 40, 0.95) > 1e-4), np.mean(inside, axis=0)


@given(st.integers(30, 300), st.floats(0.01, 0.99), st.sampled_from([0.0, 4.0, 400.0]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_reach_holds_its_level_by_simulation(n, q, variance, pure):
    rng = np.random.default_rng(n)
    law = ErrorLaw(float(n), q, False, variance if pure else 0.0)
    below, above = (one[0] for one in law.reach(np.array([variance]), 0.9))
    error = rng.binomial(n, q, 200_000) - n * q
    noise = (
        rng.laplace(0.0, math.sqrt(variance / 2.0), 200_000) if pure else rng.normal(0.0, math.sqrt(variance), 200_000)
    )
    # 0.05 a side, five standard deviations of the simulation, and where the binomial law is normal its skewness.
    assert max(np.mean(error + noise < -below), np.mean(error + noise > above)) < 0.0545


def test_points_agree_with_one_another():
    rng = np.random.default_rng(9)
    for n in (20, 400, 20_000):
        population = POPULATIONS["heap at a bound"]
        tree = NOISE["flat, Laplace"](len(population.edges) - 1, FAR)
        found = read(tree, population.draw(rng, n), population.edges, SimulatedNoise(rng))
        q = np.linspace(0.01, 0.99, 99)
        values = found.quantile_point(q)
        assert np.all(np.diff(values) >= 0.0)
        rising = (values > found.edges[0]) & (values < found.edges[-1])
        assert all(
            found.cut(value).share <= share + 1e-9 for value, share in zip(values[rising], q[rising], strict=True)
        )
        bins = [found.bin(0.0, 5000.0), found.bin(5000.0, 40_000.0), found.bin(40_000.0, 100_000.0, closed=True)]
        assert sum(one.value for one in bins) == pytest.approx(1.0)
        assert bins[0].value == pytest.approx(found.share_below(5000.0).value)


def test_a_point_is_averaged_over_the_noise_and_so_nearer_where_values_are_few():
    """In the tail of a skewed column noise moves the place where the curve reaches q far: .95 of 300 records."""
    population, rng = POPULATIONS["skewed"], np.random.default_rng(12)
    tree, truth = NOISE["flat, Laplace"](len(population.edges) - 1, FAR), math.exp(10.0 + 0.8 * stats.norm.ppf(0.95))
    squares = []
    for _ in range(200):
        found = read(tree, population.draw(rng, 300), population.edges, SimulatedNoise(rng))
        interval = found.quantile(0.95)
        assert interval.low <= interval.value <= interval.high
        squares.append([(place - truth) ** 2 for place in (interval.value, float(found.quantile_point(0.95)))])
        values = [found.quantile(q).value for q in np.linspace(0.05, 0.95, 19)]
        assert np.all(np.diff(values) >= 0.0)
    averaged, reached = np.sqrt(np.mean(squares, axis=0))
    assert averaged < 0.9 * reached, (averaged, reached)
    # Without noise there is nothing to average over.
    tree = NoisyTree(3, (3,), (np.full(3, 1e-12),), 0.0)
    still = Distribution(np.arange(4.0), np.array([0.0, 10.0, 90.0, 100.0]), 100.0, tree, 0.0, True)
    for q in (0.05, 0.5, 0.95):
        assert still.quantile(q).value == pytest.approx(float(still.quantile_point(q)), abs=1e-6)


def test_a_narrower_interval_is_found_out():
    """The interval of level .6 passes for one of .95 in no population: at an atom both cover nearly always."""
    population, rng = POPULATIONS["skewed"], np.random.default_rng(15)
    tree = tree_counts("gaussian", 101, (11, 10), (1.0, 1.4), precision=0.237, cells=1, relation=FAR)
    hits = np.zeros(2, dtype=int)
    for _ in range(2 * RUNS):
        found = read(tree, population.draw(rng, 20_000), population.edges, SimulatedNoise(rng))
        for q, truth in SMOOTH.items():
            reads = [found.quantile(q, level) for level in (0.95, 0.3)]
            hits += [interval.low <= truth <= interval.high for interval in reads]
    assert stats.binom.cdf(hits[0], 6 * RUNS, 0.95) > 1e-6 and stats.binom.cdf(hits[1], 6 * RUNS, 0.95) < 1e-12


def test_values_on_a_declared_grid_are_read_as_such():
    # Leaves of 0 … 4 and 5 … 9, and of 10 alone: their edges lie half a step beside the values.
    ends = np.array([0.0, 4.5, 9.5, 10.0])
    tree = NoisyTree(3, (3,), (np.full(3, 1e-9),), 0.0)
    found = Distribution(ends, np.array([0.0, 40.0, 80.0, 100.0]), 100.0, tree, 0.0, True, 1.0)
    assert found.quantile_point([0.05, 0.08, 0.081, 0.4, 0.41, 0.8, 0.81]).tolist() == [0, 0, 1, 4, 5, 9, 10]
    assert [found.share_below(x).value for x in (0, 5, 10, 11)] == [0.0, 0.4, 0.8, 1.0]
    assert [found.share_below(x, closed=True).value for x in (4, 9, 10)] == [0.4, 0.8, 1.0]
    assert found.bin(5, 10).value == pytest.approx(0.4) and found.bin(5, 10, closed=True).value == pytest.approx(0.6)
    inside = found.share_below(2)
    assert inside.low == 0.0 and inside.high == pytest.approx(0.405, abs=1e-3) and 0.1 < inside.value < 0.3


@pytest.mark.parametrize("step", [0.25, 1.0, 4.0])
def test_a_point_on_a_grid_is_the_value_nearest_to_the_mean_over_the_noise(step: float) -> None:
    """The values 10, 10 + step, …, ten records each, one leaf a value: the mean of the places by SciPy's normal law."""
    tree = NoisyTree(20, (20,), (np.full(20, 9.0),), 0.0)
    ends = np.concatenate([[10.0], 10.0 + step * (np.arange(1, 20) - 0.5), [10.0 + step * 19.0]])
    found = Distribution(ends, 10.0 * np.arange(21.0), 200.0, tree, 0.0, True, step)
    sd = math.sqrt(tree.prefix_variance(0.5).mean()) / 200.0
    for q in (0.06, 0.31, 0.5, 0.77):
        shares = np.clip(q + sd * stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000), 1e-9, 1.0)
        mean = float((10.0 + step * np.floor(20.0 * shares * (1.0 - 1e-12))).mean())
        value = found.quantile(q).value
        assert (value - 10.0) / step == pytest.approx(round((value - 10.0) / step), abs=1e-9)
        assert abs(value - mean) <= 0.6 * step


def test_the_first_edge_that_a_curve_reaches_may_be_a_jump():
    assert first_reached(np.array([0.0, 1.0]), np.array([3.0, 3.0]), np.array([0.5])).tolist() == [3.0]


@pytest.mark.parametrize(("q", "error"), [(0.5, 0.05), (0.3, 0.1), (0.5, 0.2)])
def test_an_error_of_a_share_moves_a_quantile_of_even_values_in_proportion(q: float, error: float):
    tree = NoisyTree(10, (10,), (np.full(10, 1e-9),), 0.0)
    even = Distribution(np.arange(11.0), 10.0 * np.arange(11.0), 100.0, tree, 0.0, census=True)
    assert even._slope(q, error) == pytest.approx(10.0 * error, rel=1e-9)
