"""The price of units of several rows against brute force: all pairs of neighbouring units on small grids.

A unit is any set of at most L rows, each in any cell, with any grid values. What it adds to each cell is written out
here anew. The sabotages are prices that a plausible mistake would make.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointCoordinate, JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, most_across, unit_cost
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.noise.lattice import lattice_noise
from hedgerow.resampling.counted_values import GridSums

FAR, NEAR = Relation.REPLACE_ONE, Relation.ADD_REMOVE
# columns, steps of their grids, cells, limit of rows
SHAPES = [(1, 4, 1, 3), (1, 2, 2, 3), (1, 1, 3, 3), (2, 2, 1, 3), (2, 1, 2, 3), (2, 2, 2, 2), (3, 1, 1, 3)]


@cache
def units(columns: int, steps: int, cells: int, limit: int) -> np.ndarray:
    """The totals (f_1, …, f_d, f_0) of every unit by cell, divided by the limit: (units, cells, d + 1)."""
    rows = list(product(range(cells), *[range(steps + 1)] * columns))
    found = set()
    for size in range(limit + 1):
        for kept in combinations_with_replacement(rows, size):
            totals = np.zeros((cells, columns + 1))
            for cell, *values in kept:
                totals[cell] += [*(2.0 * value / steps - 1.0 for value in values), 1.0]
            found.add(tuple((totals / limit).ravel().round(12)))
    return np.array(sorted(found)).reshape(len(found), cells, columns + 1)


def added(weights: JointWeights, totals: np.ndarray) -> np.ndarray:
    """What each unit adds to every number of every cell, in units of the noise."""
    each = [weight * np.prod(totals[:, :, list(of)], axis=2) for of, weight in weights.sums.items()]
    for ((i, j), lag), weight in weights.across.items():
        each.append(weight * totals[:, :, i] * np.roll(totals, -lag, axis=1)[:, :, j])
    return np.stack(each, axis=2).reshape(len(totals), -1)


def brute(weights: JointWeights, power: int, relation: Relation, shape: tuple[int, int, int, int]) -> float:
    table = added(weights, units(*shape))
    if relation is NEAR:
        return float((np.abs(table) ** power).sum(axis=1).max())
    return max(float((np.abs(table - one) ** power).sum(axis=1).max()) for one in table)


def random_weights(rng: np.random.Generator, columns: int, heavy: float) -> JointWeights:
    last = columns
    of = [(i,) for i in range(columns + 1)] + list(combinations_with_replacement(range(columns + 1), 2))
    sizes = np.exp(rng.normal(0.0, 0.5, len(of)))
    scaled = {one: float(size * (heavy if len(one) == 2 else 1.0)) for one, size in zip(of, sizes, strict=True)}
    assert (last, last) in scaled
    return JointWeights(columns + 1, {}, scaled)


def cases() -> Iterator[tuple[tuple[int, int, int, int], float, int]]:
    for place, shape in enumerate(SHAPES):
        for heavy in (0.3, 0.8, 2.0):
            yield shape, heavy, 10 * place


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("relation", list(Relation))
def test_no_pair_of_units_moves_more_than_the_price(relation: Relation, power: int) -> None:
    """Four random weights for each shape and size of products, light and heavy products; seed by shape."""
    for shape, heavy, seed in cases():
        rng = np.random.default_rng(seed)
        for _ in range(4):
            weights = random_weights(rng, shape[0], heavy)
            bound = unit_cost(weights, relation, power, cells=shape[2])
            found = brute(weights, power, relation, shape)
            assert found <= bound * (1.0 + 1e-12), (shape, heavy)
            assert found > 0.5 * bound or heavy > 0.5, (shape, heavy)


@pytest.mark.parametrize("shape", SHAPES)
def test_light_products_are_priced_exactly(shape: tuple[int, int, int, int]) -> None:
    """Where κ² makes the movement convex, or one unit alone counts, a pair attains the price."""
    columns, _, cells, _ = shape
    sums = {(i,): 1.0 for i in range(columns)} | {(columns,): 1.2}
    products = dict.fromkeys(combinations_with_replacement(range(columns + 1), 2), 0.25)
    weights = JointWeights(columns + 1, {}, sums | products)
    for relation, power in ((FAR, 2), (NEAR, 1), (NEAR, 2), *(((FAR, 1),) if cells > 1 else ())):
        assert brute(weights, power, relation, shape) == pytest.approx(
            unit_cost(weights, relation, power, cells=cells), rel=1e-9
        )


def test_units_in_two_cells_are_not_priced_as_units_in_one() -> None:
    """The sabotage: the price of one cell where a unit's rows may lie in another one than those it replaces."""
    weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.9, (0, 1): 0.3, (1, 1): 0.9})
    for power in (1, 2):
        assert brute(weights, power, FAR, (1, 2, 2, 3)) > 1.2 * unit_cost(weights, FAR, power, cells=1)


def test_a_limit_for_each_cell_is_not_a_limit_for_the_unit() -> None:
    """The sabotage: as many rows as may be in each of two cells add twice what is priced."""
    weights = JointWeights(2, {}, {(0,): 1.0, (1,): 1.2, (1, 1): 0.4})
    spread = added(weights, np.ones((1, 2, 2)))
    assert float((spread**2).sum()) == pytest.approx(2.0 * unit_cost(weights, NEAR, 2, cells=2))


def with_across(weights: JointWeights, cells: int, heavy: float, rng: np.random.Generator) -> JointWeights:
    """All products between cells, each pair of cells once, or twice where they are half of all cells apart."""
    every = [((i, j), lag) for i in range(weights.d) for j in range(weights.d) for lag in range(1, cells // 2 + 1)]
    return replace(weights, across={key: float(heavy * np.exp(rng.normal(0.0, 0.5))) for key in every})


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("relation", list(Relation))
def test_products_between_cells_are_priced(relation: Relation, power: int) -> None:
    """No pair of units moves more than the price; light products cost nothing, heavy ones more than nothing.

    The sabotage: the price without them, where they are heavy.
    """
    shapes = [shape for shape in [*SHAPES, (1, 1, 4, 2)] if shape[2] > 1]
    for place, shape in enumerate(shapes):
        rng = np.random.default_rng(100 + place)
        for products, heavy in product((0.3, 1.0), (0.1, 0.5, 1.5, 6.0)):
            own = random_weights(rng, shape[0], products)
            weights = with_across(own, shape[2], heavy, rng)
            bound = unit_cost(weights, relation, power, cells=shape[2])
            assert brute(weights, power, relation, shape) <= bound * (1.0 + 1e-12), (shape, products, heavy)
            if heavy == 0.1 and products == 1.0:
                assert bound == unit_cost(own, relation, power, cells=shape[2])
            if heavy == 6.0:
                assert bound > unit_cost(own, relation, power, cells=shape[2])
    own = JointWeights(2, {}, {(0,): 1.0, (1,): 1.2, (0, 0): 0.4, (0, 1): 0.4, (1, 1): 0.4})
    free = most_across(own, relation, power)
    for size in (1.0, 40.0):
        # Two cells have each product twice.
        weights = replace(
            own, across={((i, j), 1): (size * free / 8.0) ** (1.0 / power) for i, j in product((0, 1), (0, 1))}
        )
        most = brute(weights, power, relation, (1, 2, 2, 3)), unit_cost(own, relation, power, cells=2)
        assert most[0] <= most[1] * (1.0 + 1e-12) if size == 1.0 else most[0] > 1.1 * most[1]


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("relation", list(Relation))
def test_cells_that_lie_apart_either_way_round_are_the_same_cells(relation: Relation, power: int) -> None:
    """Of four cells, the first and the second are one apart, and three apart the other way round."""
    own = JointWeights(2, {}, {(0,): 1.0, (1,): 1.2, (0, 0): 0.4, (0, 1): 0.4, (1, 1): 0.4})
    first = {((0, 1), 1): 9.0}
    alone, near, far = (
        unit_cost(replace(own, across=first | other), relation, power, cells=4)
        for other in ({}, {((1, 0), 1): 9.0}, {((1, 0), 3): 9.0})
    )
    assert alone < near == far


LAYOUT = JointLayout((JointFeature(4), JointFeature(1)), "private", 2, 3)
WEIGHTS = JointWeights(2, {}, {(0,): 1.0, (1,): 1.2, (0, 0): 0.4, (0, 1): 0.4, (1, 1): 0.4})


@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("relation", list(Relation))
def test_what_is_released_moves_by_no_more_than_its_price(law: Law, relation: Relation) -> None:
    """The integers of the mechanism itself over its widths, for all pairs of units of three rows in two cells."""
    joint = joint_moments(law, LAYOUT, WEIGHTS, 1.0, relation)
    rows = list(product(range(2), range(5)))
    table = []
    for size in range(4):
        for kept in combinations_with_replacement(rows, size):
            cells = []
            for cell in range(2):
                here = [t for c, t in kept if c == cell]
                cells.append(joint.record([sum(here), len(here)]).astype(float) / joint._widths())
            table.append(np.concatenate(cells))
    power, whole = joint.noise_law.power, np.array(table)
    price = joint.mu(relation) ** 2 if law == GAUSSIAN else joint.pure(relation)
    others = whole if relation is FAR else np.zeros((1, whole.shape[1]))
    most = max(float((np.abs(whole - one) ** power).sum(axis=1).max()) for one in others)
    assert 0.98 * price < most <= price


def test_moments_of_units_are_read_back() -> None:
    """Σ f, Σ f r, Σ f² and Σ r² of five units from the exact integers; f in rows: the total of 2t/m − 1."""
    rng = np.random.default_rng(4)
    sizes = np.array([1, 3, 2, 3, 1])
    rows = [rng.integers(0, 5, size) for size in sizes]
    joint = joint_moments(GAUSSIAN, LAYOUT, WEIGHTS, 1.0, NEAR)
    totals = np.array([[one.sum(), len(one)] for one in rows])
    found = {
        m: np.array([np.prod([totals[:, i] ** p for i, p in m], axis=0).sum(), 0], object) for m in joint.monomials()
    }
    exact = joint.exact(GridSums(found, np.zeros(2, np.int64), 0)).astype(float)
    f, r = np.array([(one / 2.0 - 1.0).sum() for one in rows]), sizes.astype(float)
    wanted = {((0, 1),): f, ((1, 1),): r, ((0, 2),): f**2, ((0, 1), (1, 1)): f * r, ((1, 2),): r**2}
    read = joint.reading(wanted, n=1.0).values(exact)[0]
    assert read == pytest.approx([one.sum() for one in wanted.values()])
    means = joint.numbers.record_means(np.stack([f, r], axis=1))
    assert means * len(r) == pytest.approx(exact[0])


def test_what_no_unit_has_is_refused() -> None:
    noise = lattice_noise(100.0)
    for layout in (
        lambda: JointLayout((JointFeature(4), JointFeature(2)), "private", 1, 3),
        lambda: JointLayout((JointFeature(4), JointFeature(1)), "public", 1, 3),
        lambda: JointLayout((JointFeature(4, True), JointFeature(1)), "private", 1, 3),
        lambda: JointMoments("gaussian", LAYOUT, (JointCoordinate("count", (), noise),), ()),
    ):
        with pytest.raises(ParameterError, match="HG406"):
            layout()


def test_units_have_at_most_a_million_rows_and_records_a_million_shares() -> None:
    """2²⁰ is taken as it is, and one more is refused, as is none."""
    value, rows = JointFeature(4), JointFeature(1)
    for name in ("rows", "parts", "shares", "most_rows"):
        features = (value,) if name in ("shares", "most_rows") else (value, rows)
        # Shares of rows are counted in parts; without a limit of rows, a unit is a record of one row at most.
        for most in (1, 2**20):
            assert getattr(JointLayout(features, "private", 1, **{name: most}), name) == most
        for most in (0, 2**20 + 1):
            with pytest.raises(ParameterError, match="HG406"):
                JointLayout(features, "private", 1, **{name: most})


def test_the_audit_compares_units_as_large_as_may_be() -> None:
    """Two units of L rows at opposite ends in one cell, two in different cells, or one alone."""
    joint = joint_moments(GAUSSIAN, LAYOUT, WEIGHTS, 1.0, FAR)
    costs = Counter()
    for pair in joint.worst_pairs(FAR):
        moved = Counter()
        for sign, record in ((1, pair.first), (-1, pair.second)):
            if record is not None:
                numbers, widths = joint.contribution(record)
                for place, one in enumerate(numbers / widths):
                    moved[record.cell, place] += sign * one
        costs[pair.name] = sum(one**2 for one in moved.values())
    assert max(costs.values()) == pytest.approx(joint.mu(FAR) ** 2, rel=0.02)
