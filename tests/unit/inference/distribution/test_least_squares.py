"""Least squares on a tree against the normal equations, written out; variances against the same covariance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.facts.relation import Relation
from hedgerow.inference.distribution.noisy_tree import NoisyTree, plain_levels, typical_prefix_variance
from hedgerow.mechanisms.histograms import TreeCounts, tree_counts
from hedgerow.testing.simulated import SimulatedNoise

SHAPES = [(5, (5,)), (4, (2, 2)), (7, (2, 2, 2)), (11, (3, 4)), (9, (2, 5)), (13, (2, 2, 2, 2))]


def dense(tree: NoisyTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the matrix that makes all measured nodes of leaves, their variances, and the covariance of the leaves."""
    rows, variances = [], []
    spans = [math.prod(tree.branching[level + 1 :]) for level in range(len(tree.branching))]
    for span, each in zip(spans, tree.variances, strict=True):
        rows += [np.arange(tree.leaves) // span == node for node in range(len(each))]
        variances += list(each)
    if tree.root is not None:
        rows.append(np.ones(tree.leaves))
        variances.append(tree.root or 1e-9)
    design, spread = np.array(rows, dtype=float), np.array(variances)
    return design, spread, np.linalg.inv(design.T / spread @ design)


def trees() -> list[NoisyTree]:
    rng = np.random.default_rng(5)
    found = []
    for leaves, branching in SHAPES:
        spans = [math.prod(branching[level + 1 :]) for level in range(len(branching))]
        each = tuple(rng.uniform(0.5, 4.0, -(-leaves // span)) for span in spans)
        found += [NoisyTree(leaves, branching, each, root) for root in (0.0, None, 1.7)]
    return found


@pytest.mark.parametrize("tree", trees(), ids=lambda tree: f"{tree.branching} root {tree.root}")
def test_it_is_generalised_least_squares(tree):
    design, spread, covariance = dense(tree)
    rng = np.random.default_rng(8)
    noisy = rng.normal(10.0, 3.0, (2, len(design)))
    wanted = noisy / spread @ design @ covariance
    ends = np.cumsum([len(one) for one in tree.variances])
    levels = np.split(noisy[:, : ends[-1]], ends[:-1], axis=1)
    leaves, root = tree.fitted(levels, None if tree.root is None else noisy[:, -1])
    np.testing.assert_allclose(leaves, wanted, atol=1e-4)
    np.testing.assert_allclose(root, leaves.sum(axis=1), rtol=1e-12)
    assert tree.root_variance == pytest.approx(covariance.sum(), abs=1e-7)


@pytest.mark.parametrize("tree", trees(), ids=lambda tree: f"{tree.branching} root {tree.root}")
def test_variances_are_those_of_the_normal_equations(tree):
    covariance = dense(tree)[2]
    prefixes = np.tril(np.ones((tree.leaves + 1, tree.leaves)), -1)
    for share in (0.0, 0.3):
        wanted = [(row - share) @ covariance @ (row - share) for row in prefixes]
        np.testing.assert_allclose(tree.prefix_variance(share), wanted, rtol=1e-5, atol=1e-7)
    weights = np.random.default_rng(2).normal(size=tree.leaves)
    for share in (0.0, 0.4):
        wanted = (weights - share) @ covariance @ (weights - share)
        alpha, rest = tree.form(weights)
        assert rest + (alpha - share) ** 2 * tree.root_variance == pytest.approx(wanted, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("root", [0.0, None, 2.0])
def test_totals_of_a_level_have_the_same_law_in_the_tree_above_it(root):
    tree = NoisyTree(12, (2, 2, 3), (np.full(2, 2.0), np.full(4, 1.5), np.full(12, 1.0)), root)
    above = tree.coarser(5)
    assert above.branching == (2, 2)
    np.testing.assert_allclose(above.prefix_variance(0.3), tree.prefix_variance(0.3)[::3], rtol=1e-12, atol=1e-12)
    assert tree.coarser(12) is tree


def test_noise_that_is_drawn_has_the_variance_that_is_said():
    tree = tree_counts("laplace", 30, (5, 6), (1.0, 1.0), precision=0.5, cells=4000, relation=Relation.REPLACE_ONE)
    read = NoisyTree.of(tree, public=True)
    levels, _ = plain_levels(tree.noisy(np.zeros((4000, 30), dtype=np.int64), SimulatedNoise(3)), rooted=False)
    leaves, _ = read.fitted(levels, np.zeros(4000))
    drawn = np.cumsum(leaves, axis=1)[:, :-1].var(axis=0) / read.prefix_variance(0.0)[1:-1]
    assert np.all(np.abs(drawn - 1.0) < 6.0 * math.sqrt(4.0 / 4000))
    # Sabotage: without the upper level the leaves alone say far less.
    flat = NoisyTree(30, (30,), (read.variances[1],), 0.0)
    assert np.median(flat.prefix_variance(0.0)[1:-1] / read.prefix_variance(0.0)[1:-1]) > 1.5


@given(st.integers(2, 60), st.integers(2, 5), st.sampled_from(["gaussian", "laplace"]))
@settings(max_examples=30, deadline=None)
def test_exact_counts_stay_as_they_are(leaves, b, law):
    branching: tuple[int, ...] = (b,)
    while math.prod(branching) < leaves:
        branching = (*branching, b)
    if math.prod(branching[1:]) >= leaves:
        return
    tree = TreeCounts(law, leaves, branching, (2.0,) * (len(branching) + 1), 2)
    counts = np.random.default_rng(leaves).integers(0, 50, (2, leaves))
    levels, total = plain_levels(tree.level_counts(counts), rooted=True)
    read = NoisyTree.of(tree, public=False)
    fitted, root = read.fitted(levels, total)
    np.testing.assert_allclose(fitted, counts, atol=1e-9)
    np.testing.assert_allclose(root, counts.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize("branching", [(24,), (2, 3, 4), (6, 4)])
def test_the_fast_variances_are_those_of_the_tree_where_every_node_is_full(branching, rooted):
    """What a plan reads: unequal widths too. Sabotage: the tree of equal widths says something else."""
    widths = tuple(3.0 * 1.4**level for level in range(len(branching) + rooted))
    tree = TreeCounts("laplace", 24, branching, widths, 1)
    places = np.arange(24)
    for public in (False, True):
        fast = typical_prefix_variance(tree, places, 0.3, public=public)
        slow = NoisyTree.of(tree, public=public).prefix_variance(0.3)[:-1]
        np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-12)
        alike = TreeCounts("laplace", 24, branching, (3.0,) * len(widths), 1)
        if len(widths) > 1:
            assert (
                np.abs(typical_prefix_variance(alike, places, 0.3, public=public) / np.maximum(slow, 1e-9) - 1).max()
                > 0.05
            )


def test_a_column_of_a_million_leaves_is_read():
    """By brute force at one place: what lies left of it, from the levels themselves."""
    tree = tree_counts("gaussian", 2**20, (16,) * 5, (1.0,) * 5, precision=0.5, cells=1, relation=Relation.REPLACE_ONE)
    read = NoisyTree.of(tree, public=True)
    variance = read.prefix_variance(0.5)
    assert variance[0] == pytest.approx(0.25 * read.root_variance) and len(variance) == 2**20 + 1
    place = 5 * 16**4 + 3 * 16**3 + 7
    weights = np.zeros(2**20)
    weights[:place] = 1.0
    alpha, rest = read.form(weights)
    assert variance[place] == pytest.approx(rest + (alpha - 0.5) ** 2 * read.root_variance, rel=1e-9)


def test_fast_variances_are_in_records_where_a_record_is_several_steps(monkeypatch):
    tree = TreeCounts("laplace", 24, (6, 4), (3.0, 5.0), 1)
    whole = typical_prefix_variance(tree, np.arange(24), 0.3, public=True)
    monkeypatch.setattr(TreeCounts, "steps_of_one", property(lambda tree: 4))
    fast = typical_prefix_variance(tree, np.arange(24), 0.3, public=True)
    np.testing.assert_allclose(fast, whole / 16.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast, NoisyTree.of(tree, public=True).prefix_variance(0.3)[:-1], rtol=1e-12, atol=1e-12)
