"""Votes of units: what one moves, against brute force over all pairs of neighbouring units; faulty prices are found.

A unit is any set of at most L rows, each in any cell and leaf. What it adds is counted out here anew.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import as_record, from_record
from hedgerow.mechanisms.vote_tree import SHARES, VotesOfUnit, VoteTree, vote_tree
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SHAPES = [(4, (2, 2), False), (3, (2, 2), True), (4, (4,), True), (3, (3,), False)]
LIMIT = 3
KINDS = {
    "rows": VotesOfUnit(1, LIMIT, LIMIT, varies=False),
    "unit": VotesOfUnit(6, 1, LIMIT, varies=False),
    "weights": VotesOfUnit(4, 1, None, varies=False),
}


@cache
def units(kind: str, leaves: int, cells: int) -> tuple[tuple[tuple[int, int, int], ...], ...]:
    """Return what every unit votes with: (cell, leaf, votes in parts) of each row."""
    places = list(product(range(cells), range(leaves)))
    if kind == "weights":
        return ((), *(((*place, weight),) for place in places for weight in range(1, KINDS[kind].parts + 1)))
    kept = [rows for size in range(LIMIT + 1) for rows in combinations_with_replacement(places, size)]
    parts = KINDS[kind].parts
    return tuple(tuple((*row, parts // len(rows) if kind == "unit" else 1) for row in rows) for rows in kept)


def added(tree: VoteTree, kind: str) -> np.ndarray:
    """Return what each unit adds to all nodes, in steps."""
    tables = []
    for rows in units(kind, tree.leaves, tree.cells):
        leaves = np.zeros((tree.cells, tree.leaves), dtype=np.int64)
        for cell, leaf, votes in rows:
            leaves[cell, leaf] += votes * (tree.one // tree.parts)
        tables.append(np.concatenate(tree.level_counts(leaves), axis=1).ravel())
    return np.array(tables)


def farthest(tree: VoteTree, kind: str, relation: Relation) -> float:
    """Return the largest Σ (|movement|/w)^p over all neighbours."""
    power = tree.noise_law.power
    scaled = added(tree, kind) / np.tile(np.repeat(np.array(tree.widths), tree.nodes), tree.cells)
    others = scaled if relation is FAR else np.zeros((1, scaled.shape[1]))
    return max(float((np.abs(scaled - other) ** power).sum(axis=1).max()) for other in others)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_cost_is_that_of_the_farthest_neighbours(kind: str, relation: Relation, law: str) -> None:
    """All pairs of units; 5 % less noise at any level, and the price of one row a unit, are found."""
    for (leaves, branching, rooted), cells in product(SHAPES, (1, 2)):
        weights = (1.0, 0.7, 1.3)[: len(branching) + rooted]
        about = {"precision": 0.5, "cells": cells, "relation": relation, "votes": KINDS[kind]}
        tree = vote_tree(law, leaves, branching, weights, **about)
        most = 0.5**tree.noise_law.power
        assert tree.cost(relation) == pytest.approx(most, rel=1e-5) and tree.cost(relation) <= most
        assert farthest(tree, kind, relation) == pytest.approx(tree.cost(relation), rel=1e-12)
        narrow = replace(tree, widths=tuple(float(int(0.95 * width)) for width in tree.widths))
        assert farthest(narrow, kind, relation) > 1.04 * tree.cost(relation)
        if kind == "rows":
            assert farthest(tree, kind, relation) > 2.0 * replace(tree, reach=1).cost(relation)


SPANS: list[tuple[list[tuple[int, int]], list[float]]] = [
    ([(0, 2)], [0.5]), ([(0, 1)], [0.1]), ([(1, 3)], [0.3]), ([(0, 1), (0, 2), (0, 3)], [0.2, 0.5, 0.6]),
    ([(0, 1), (1, 2), (2, 3)], [0.2, 0.4, 0.1]), ([(0, 3), (1, 2)], [0.7, 0.2]),
]  # fmt: skip


def squares(kind: str, leaves: int, cells: int, spans: list[tuple[int, int]], shares: list[int]) -> np.ndarray:
    """Return Σ (SHARES·k − share·r)² of each unit for each cell and place, votes in parts; exact."""
    every = []
    for rows in units(kind, leaves, cells):
        numbers = []
        for cell in range(cells):
            r = sum(votes for at, _, votes in rows if at == cell)
            for (first, last), share in zip(spans, shares, strict=True):
                k = sum(votes for at, leaf, votes in rows if at == cell and first <= leaf < last)
                numbers.append(int((SHARES * k - share * r) ** 2))
        every.append(numbers)
    return np.array(every, dtype=object)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_how_units_vary_moves_by_no_more_than_its_noise_is_wide(kind: str, relation: Relation, law: str) -> None:
    """All pairs of units, one place and three, one cell and two. The sabotage: noise for one row a unit."""
    for (spans, quantiles), cells in product(SPANS, (1, 2)):
        shares = [round(q * SHARES) for q in quantiles]
        about = {"precision": 1.0, "cells": cells, "relation": relation, "votes": KINDS[kind]._replace(varies=True)}
        tree = vote_tree(law, 4, (4,), (1.0,), **about)
        noise = tree.squares_noise(np.array([spans] * cells), np.array([shares] * cells), relation)
        power, scale = tree.noise_law.power, (tree.one // tree.parts) ** 2
        exact = squares(kind, 4, cells, spans, shares) * scale
        moved = np.array([[number >> noise.shift for number in row] for row in exact.tolist()], dtype=float)
        others = moved if relation is FAR else np.zeros((1, moved.shape[1]))
        most = max(float((np.abs(moved - other) ** power).sum(axis=1).max()) for other in others) ** (1.0 / power)
        assert most <= noise.width * tree.distance
        if len(spans) == 1:
            assert most > 0.999 * noise.width * tree.distance
        if kind == "rows":
            single = replace(tree, reach=1).squares_noise(
                np.array([spans] * cells), np.array([shares] * cells), relation
            )
            assert most > 2.0 * single.width * 2.0 ** (single.shift - noise.shift) * tree.distance


def test_both_parts_are_paid_for() -> None:
    for law in ("gaussian", "laplace"):
        votes = KINDS["rows"]._replace(varies=True)
        tree = vote_tree(law, 4, (2, 2), (1.0, 1.0), precision=0.5, cells=1, relation=FAR, votes=votes)
        power = tree.noise_law.power
        assert tree.cost(FAR) == pytest.approx(0.5**power, rel=1e-5)
        assert tree.cost(FAR) - replace(tree, distance=0.0).cost(FAR) == pytest.approx(tree.distance**power)
        assert tree.distance**power == pytest.approx(0.05 * 0.5**power)
        assert from_record(as_record(tree)) == tree


def test_released_numbers_of_spread_have_the_noise_that_is_priced() -> None:
    """n = 4,000 draws, variance and law; noise 5 % too narrow is rejected."""
    tree = vote_tree("laplace", 4, (4,), (1.0,), precision=1.0, cells=1, relation=FAR, votes=VotesOfUnit(1, 4, 4, True))
    noise, exact = (
        tree.squares_noise(np.array([[[0, 2]]]), np.array([[SHARES // 2]]), FAR),
        10**6 * tree.one**2 * SHARES**2,
    )
    drawn = tree.noisy_squares([exact] * 40_000, noise, SimulatedNoise(5)) - 1e6
    sd = tree.squares_sd(noise)
    assert stats.kstest(drawn, stats.laplace(scale=sd / math.sqrt(2.0)).cdf).pvalue > 1e-6
    assert spread_p(drawn, sd) > 1e-6 and spread_p(0.9 * drawn, sd) < 1e-12


def spread_p(drawn: np.ndarray, sd: float) -> float:
    """Return the p-value of the mean of z², two-sided; of Laplace noise z² has the variance 5."""
    z = (np.mean((drawn / sd) ** 2) - 1.0) / math.sqrt(5.0 / len(drawn))
    return float(2.0 * stats.norm.sf(abs(z)))


@pytest.mark.parametrize(
    "change",
    [
        *({name: 0} for name in ("one", "reach", "rows")),
        *({"parts": 3}, {"reach": 1.5}, {"one": 2**41}, {"distance": -0.1}, {"distance": math.inf}),
        *({"widths": widths} for widths in ((999.0, 2000.0), (2000.5, 2000.0))),
    ],
    ids=str,
)
def test_what_is_no_tree_of_votes_is_refused(change: dict[str, object]) -> None:
    tree = VoteTree("laplace", 4, (2, 2), (2000.0, 2000.0), 1, one=1000, parts=1, reach=4, distance=0.1, rows=4)
    with pytest.raises(ParameterError, match="HG406"):
        replace(tree, **change)


def test_ranks_tell_the_squares_of_units() -> None:
    """Σ (2·rank − 1) and Σ rows over rows up to a value are k² and k·r: written out for all units of three rows."""
    for rows in combinations_with_replacement(range(4), 3):
        for edge in range(5):
            ranks = [rank for rank, leaf in enumerate(sorted(rows), start=1) if leaf < edge]
            k = Counter(leaf < edge for leaf in rows)[True]
            assert sum(2 * rank - 1 for rank in ranks) == k**2 and 3 * len(ranks) == 3 * k
