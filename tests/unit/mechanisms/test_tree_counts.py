"""Counts of a tree: what one record moves, by brute force; a level that is not priced and narrow noise are found."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.accounting.dominating_pairs import DominatingPair
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.histograms import TreeCounts, tree_counts
from hedgerow.mechanisms.laws import Additive
from hedgerow.mechanisms.mechanism import as_record, from_record
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GeometricCounts
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SHAPES = [(4, (2, 2), False), (3, (2, 2), True), (5, (3, 2), False), (6, (6,), True), (7, (2, 2, 2), True)]


def table(tree: TreeCounts, records: tuple[tuple[int, int], ...]) -> np.ndarray:
    leaves = np.zeros((tree.cells, tree.leaves), dtype=np.int64)
    for cell, leaf in records:
        leaves[cell, leaf] += 1
    return np.concatenate(tree.level_counts(leaves), axis=1)


def farthest(tree: TreeCounts, relation: Relation, *, may_miss: bool) -> float:
    """Return the largest Σ (|d|/w)^p over all neighbours of data sets of one or two records, all tables counted out."""
    places: list[tuple[int, int]] = list(product(range(tree.cells), range(tree.leaves)))
    widths, power = np.repeat(np.array(tree.widths), tree.nodes), tree.noise_law.power
    worst = 0.0
    for shared in [(), (places[-1],)]:
        present = [table(tree, (*shared, place)) for place in places]
        absent = table(tree, shared)
        pairs = [(one, absent) for one in present] if relation is NEAR or may_miss else []
        pairs += list(combinations_with_replacement(present, 2)) if relation is FAR else []
        worst = max(worst, *(float(((np.abs(a - b) / widths) ** power).sum()) for a, b in pairs))
    return worst


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_cost_is_that_of_the_farthest_neighbours(shape, cells, law):
    leaves, branching, rooted = shape
    widths = tuple(1.0 + 0.5 * level for level in range(len(branching) + rooted))
    tree = TreeCounts(law, leaves, branching, widths, cells)
    assert tree.cost(NEAR) == pytest.approx(farthest(tree, NEAR, may_miss=True), rel=1e-12)
    reached = farthest(tree, FAR, may_miss=True)
    if rooted and cells == 1:
        assert reached <= tree.cost(FAR)
    else:
        assert tree.cost(FAR) == pytest.approx(reached, rel=1e-12)


@pytest.mark.parametrize("relation", [NEAR, FAR])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_an_audit_attacks_the_farthest_neighbours(relation, law):
    for leaves, branching, rooted in SHAPES:
        tree = TreeCounts(law, leaves, branching, (2.0,) * (len(branching) + rooted), 2)
        found = []
        for pair in tree.worst_pairs(relation):
            one, other = (
                table(tree, tuple(zip(data.cell.tolist(), data.index.tolist(), strict=True)))
                for data in pair.histograms()
            )
            found.append(float(((np.abs(one - other) / 2.0) ** tree.noise_law.power).sum()))
        assert max(found) == pytest.approx(tree.cost(relation), rel=1e-12)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_of_many_leaves_an_audit_compares_the_first_and_the_last(law):
    """More leaves than are compared pair by pair: no two of the tree differ more."""
    tree = TreeCounts(law, 70, (9, 8), (2.0, 3.0), 1)
    (pair,) = tree.worst_pairs(FAR)
    assert pair.second is not None and pair.first.index < tree.leaves and pair.second.index < tree.leaves
    one, other = (table(tree, ((0, record.index),)) for record in (pair.first, pair.second))
    moved = float(((np.abs(one - other) / np.repeat([2.0, 3.0], tree.nodes)) ** tree.noise_law.power).sum())
    assert moved == pytest.approx(farthest(tree, FAR, may_miss=False), rel=1e-12)
    assert moved == pytest.approx(tree.cost(FAR), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("relation", [NEAR, FAR])
def test_the_laws_of_the_nodes_that_move_are_those_of_all_nodes(shape, cells, relation):
    """Additive mechanisms read them from all of what two records add, which a large tree need not write out."""
    leaves, branching, rooted = shape
    tree = TreeCounts("laplace", leaves, branching, tuple(2.0 + i for i in range(len(branching) + rooted)), cells)
    for pair in tree.worst_pairs(relation):
        few, all_nodes = tree._exact(pair), Additive._exact(tree, pair)
        assert Counter(repr(one) for one in few) == Counter(repr(one) for one in all_nodes)
        assert Counter(repr(one) for one in few[1:]) != Counter(repr(one) for one in all_nodes)


def test_one_level_is_the_histogram_of_disjoint_counts():
    for relation in (NEAR, FAR):
        for tree, counts in (
            (TreeCounts("laplace", 5, (5,), (2.0,), 2), GeometricCounts(2.0, cells=10)),
            (TreeCounts("gaussian", 5, (5,), (3.0,), 2), GaussianCounts(3.0, cells=10)),
        ):
            for delta in (1e-3, 1e-6):
                mine, known = (profile_of(one, relation).epsilon_upper(delta) for one in (tree, counts))
                assert mine == known


@given(
    st.integers(2, 40), st.lists(st.integers(2, 4), min_size=0, max_size=3), st.booleans(), st.integers(1, 3), st.data()
)
@settings(max_examples=40, deadline=None)
def test_levels_add_up_and_a_record_is_read_back(leaves, below, rooted, cells, data):
    span = math.prod(below)
    if span >= leaves:
        return
    branching = (max(2, -(-leaves // span)), *below)
    tree = TreeCounts("laplace", leaves, branching, (1.0,) * (len(branching) + rooted), cells)
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=cells * leaves, max_size=cells * leaves)))
    levels = tree.level_counts(counts.reshape(cells, leaves))
    assert tuple(level.shape[1] for level in levels) == tree.nodes
    assert all((level.sum(axis=1) == counts.reshape(cells, leaves).sum(axis=1)).all() for level in levels)
    assert from_record(as_record(tree)) == tree


def test_a_certificate_prices_it_again():
    tree = tree_counts("gaussian", 64, (4, 4, 4), (1.0, 1.2, 1.5), precision=0.2, cells=3, relation=FAR)
    written = certify(tree, FAR, unit="row", delta=1e-6)
    again = profile_of(from_record(as_record(tree)), FAR).epsilon_upper(1e-6)
    assert again <= written.epsilon <= again * (1 + 1e-6)
    assert written.epsilon_lower > 0.99 * written.epsilon
    assert written.mu == pytest.approx(0.2, rel=1e-3)  # widths under 100 are priced exactly


@pytest.mark.parametrize(
    "branching, widths, leaves",
    [
        ((2, 2), (1.0, 1.0), 5),  # five leaves do not fit
        ((2, 2), (1.0, 1.0), 2),  # the first level would have one node
        ((4,), (1.0, 1.0, 1.0), 4),  # a width too many
        ((4,), (), 4),
        ((4,), (0.0,), 4),
        ((1, 4), (1.0, 1.0), 4),
        ((2,), (1.0,), 1),
    ],
)
def test_what_is_no_tree_is_refused(branching, widths, leaves):
    with pytest.raises(ParameterError, match="HG406"):
        TreeCounts("gaussian", leaves, branching, widths, 1)


@pytest.mark.parametrize(("leaves", "branching", "cells"), [(4.0, (2, 2), 1), (4, (2.0, 2), 1), (4, (2, 2), True)])
def test_a_tree_of_what_is_no_integer_is_refused(leaves, branching, cells):
    with pytest.raises(ParameterError, match="HG406"):
        TreeCounts("gaussian", leaves, branching, (1.0, 1.0), cells)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", [NEAR, FAR])
def test_weighted_levels_cost_what_alike_ones_do_and_a_level_priced_too_low_is_found(relation, law):
    for leaves, branching, rooted in SHAPES:
        for weights in ((1.0, 1.0, 1.0, 1.0), (1.0, 0.5, 0.7, 0.5), (1.0, 2.0, 2.8, 2.0)):
            given = weights[: len(branching) + rooted]
            tree = tree_counts(law, leaves, branching, given, precision=0.5, cells=2, relation=relation)
            reached = farthest(tree, relation, may_miss=True)
            assert reached == pytest.approx(0.5**tree.noise_law.power, rel=1e-12)
            for level in range(len(given)):
                narrow = replace(
                    tree, widths=(*tree.widths[:level], 0.95 * tree.widths[level], *tree.widths[level + 1 :])
                )
                assert farthest(narrow, relation, may_miss=True) > 1.001 * 0.5**tree.noise_law.power


@dataclass(frozen=True, slots=True)
class _OneLevelUnpriced(TreeCounts):
    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        return tuple(
            self.noise_law.count_term(width, times)
            for width, times in list(zip(self.widths, self.touched(relation), strict=True))[1:]
        )


@pytest.mark.parametrize("relation", [NEAR, FAR])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_level_that_is_not_priced_is_found(relation, law):
    sound = TreeCounts(law, 8, (2, 2, 2), (3.0, 3.0, 3.0), 1)
    broken = _OneLevelUnpriced(law, 8, (2, 2, 2), (3.0, 3.0, 3.0), 1)
    for tree, crosses in ((sound, False), (broken, True)):
        proven = tree.attained(relation).epsilon_lower(1e-6)
        assert (proven > profile_of(tree, relation).epsilon_upper(1e-6) + 1e-9) is crosses


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_released_noise_has_the_width_that_is_priced(law):
    tree = TreeCounts(law, 300, (10, 30), (6.0, 9.0), 320)
    drawn = tree.noisy(np.zeros((320, 300), dtype=np.int64), SimulatedNoise(11))
    narrow = replace(tree, widths=tuple(0.95 * width for width in tree.widths))
    for level, noise in enumerate(drawn):
        assert _spread_p(noise, float(tree.noise_sds()[level]), law) > 1e-6
    thin = narrow.noisy(np.zeros((320, 300), dtype=np.int64), SimulatedNoise(12))
    assert _spread_p(thin[1], float(tree.noise_sds()[1]), law) < 1e-12


def _spread_p(noise: np.ndarray, sd: float, law: str) -> float:
    """Return the p-value of the mean of z², two-sided, from the fourth moment of the law."""
    kurtosis = 3.0 if law == "gaussian" else 6.0
    z = (np.mean((noise / sd) ** 2) - 1.0) / math.sqrt((kurtosis - 1.0) / noise.size)
    return float(2.0 * stats.norm.sf(abs(z)))
