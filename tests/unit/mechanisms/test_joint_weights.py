"""The sensitivity of joint moments against brute force: every pair of records on a grid of values, present or missing.

The released vector is written out here anew, coordinate by coordinate. Each sabotage is one that a plausible mistake
would make: a weight above what is free, a product left out, a presence that tells of another feature.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint import joint_sensitivity
from hedgerow.mechanisms.joint.joint_moments import cost_of
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.mechanism import specimens

FAR, NEAR = Relation.REPLACE_ONE, Relation.ADD_REMOVE
INTERIOR = (-1.0, -0.6, 0.0, 0.4, 1.0)
CORNERS = (-1.0, 0.0, 1.0)


def vector(weights: JointWeights, record: tuple[float | None, ...]) -> list[float]:
    """What one record adds, in units of the noise; the square is released less 1 − centre."""
    found = []
    for of, k in weights.counts.items():
        found.append(k if all(record[i] is not None for i in of) else 0.0)
    for (of, present), w in ({(of, ()): w for of, w in weights.sums.items()} | dict(weights.restricted)).items():
        values = [record[i] for i in of]
        if None in values or any(record[i] is None for i in present):
            found.append(0.0)
        elif len(of) == 2 and of[0] == of[1]:
            found.append(w * (values[0] ** 2 - (1.0 - weights.centres.get((of[0], present), 1.0))))
        else:
            found.append(w * math.prod(values))
    return found


def records(weights: JointWeights, values: tuple[float, ...]) -> np.ndarray:
    choices = [(*values, None) if i in weights.missing else values for i in range(weights.d)]
    return np.array([vector(weights, record) for record in product(*choices)])


def brute(weights: JointWeights, power: int, values: tuple[float, ...] = INTERIOR) -> float:
    """The largest cost of two records of one cell."""
    table = records(weights, values)
    return max(float((np.abs(table - one) ** power).sum(axis=1).max()) for one in table)


def brute_one(weights: JointWeights, power: int, values: tuple[float, ...] = INTERIOR) -> float:
    return float((np.abs(records(weights, values)) ** power).sum(axis=1).max())


def free_weights(rng: np.random.Generator, d: int, power: int) -> JointWeights:
    """Random weights on the edge of what is free: Σ_j ω_ij^p (+ 2ω_ii for p = 1) = a_i^p for every i that allows it."""
    a = rng.uniform(0.3, 2.0, d)
    sums = {(i,): float(a[i]) for i in range(d)}
    squares = a * rng.uniform(0.0, 1.0 if power == 2 else 0.5, d)
    room = a**power - (2.0 * squares if power == 1 else 0.0)
    for i, j in combinations(range(d), 2):
        share = min(room[i], room[j]) * rng.choice([0.0, 0.5, 1.0])
        sums[i, j] = float(share ** (1.0 / power))
        room[i] -= share
        room[j] -= share
    return JointWeights(d, {}, sums | {(i, i): float(squares[i]) for i in range(d)})


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_second_moments_within_the_limits_are_free(d: int, power: int) -> None:
    rng = np.random.default_rng(d)
    values = INTERIOR if d < 4 else CORNERS
    for _ in range(6):
        weights = free_weights(rng, d, power)
        alone = 2.0**power * sum(weights.sums[i,] ** power for i in range(d))
        assert weights.same(power) == pytest.approx(alone, rel=1e-12)
        assert brute(weights, power, values) == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("power", [1, 2])
def test_a_weight_a_fifth_above_the_free_limit_costs_more(power: int) -> None:
    sums = {(0,): 1.0, (1,): 1.0, (2,): 1.0, (0, 1): 0.5 ** (1 / power), (0, 2): 0.5 ** (1 / power)}
    free = JointWeights(3, {}, sums)
    heavy = replace(free, sums=sums | {(0, 1): 1.2 * sums[0, 1]})
    assert free.same(power) == pytest.approx(3.0 * 2.0**power)
    assert heavy.same(power) > 1.02 * free.same(power)
    assert heavy.same(power) == pytest.approx(brute(heavy, power), rel=1e-12)


def test_a_square_above_the_free_limit_costs_more_where_products_use_it_up() -> None:
    """ω_ii = a is free beside products; without any, ω_ii = 1.66 a is, and 1.2 times that is not."""
    limit = math.sqrt((11.0 + 5.0 * math.sqrt(5.0)) / 8.0)
    beside = {(0,): 1.0, (1,): 1.0, (0, 1): 1.0}
    assert JointWeights(2, {}, beside | {(0, 0): 1.0}).same(2) == pytest.approx(8.0)
    assert JointWeights(2, {}, beside | {(0, 0): 1.2}).same(2) > 8.05
    assert JointWeights(1, {}, {(0,): 1.0, (0, 0): 0.999 * limit}).same(2) == pytest.approx(4.0)
    assert JointWeights(1, {}, {(0,): 1.0, (0, 0): 1.2 * limit}).same(2) > 4.2


@st.composite
def any_weights(draw: st.DrawFn) -> JointWeights:
    """Any weights of up to three features: counts of any of them, sums and products where others are present too."""
    d = draw(st.integers(1, 3))
    weight = st.sampled_from([0.0, 0.2, 0.7, 1.0, 1.9])
    missing = draw(st.frozensets(st.integers(0, d - 1)))
    named = [(i,) for i in range(d)] + [(i, i) for i in range(d)] + list(combinations(range(d), 2))
    sums = {of: draw(weight) for of in named}
    counts = {of: draw(weight) for of in subsets(missing)}
    parts = [(of, present) for of in named for present in subsets(missing.difference(of)) if present]
    restricted = {part: draw(weight) for part in parts}
    squares = [(of[0], present) for of, present in [*((of, ()) for of in named), *parts] if of == 2 * of[:1]]
    centres = {square: draw(st.sampled_from([0.5, 0.55, 1.0])) for square in squares}
    return JointWeights(d, counts, sums, {}, missing, centres, restricted)


def subsets(features: frozenset[int]) -> list[tuple[int, ...]]:
    return [of for size in range(len(features) + 1) for of in combinations(sorted(features), size)]


@given(any_weights(), st.sampled_from([1, 2]))
@settings(max_examples=150, deadline=None)
def test_no_pair_of_records_moves_farther_than_is_priced(weights: JointWeights, power: int) -> None:
    """Nor than each of the three bounds says: by states, by sets of lost features, by features."""
    same = brute(weights, power)
    for bound in (weights.same(power), weights.state_costs(power).max(), weights._by_lost(power)[0].max()):
        assert same <= bound * (1 + 1e-12)
    assert same <= weights._separate(power) * (1 + 1e-12)
    assert brute_one(weights, power) <= weights.alone(power) * (1 + 1e-12)


@given(any_weights(), st.sampled_from([1, 2]), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_no_search_over_the_interior_finds_records_that_move_farther(
    weights: JointWeights, power: int, seed: int
) -> None:
    """From random records, each feature in turn is set to the best of many values, or missing."""
    rng = np.random.default_rng(seed)
    values = [*np.linspace(-1.0, 1.0, 41), None]
    each = [values if i in weights.missing else values[:-1] for i in range(weights.d)]
    pair = [[of[rng.integers(len(of))] for of in each] for _ in range(2)]
    best = 0.0
    for _ in range(2):
        for side, i in product(range(2), range(weights.d)):
            others = [[*pair[side][:i], value, *pair[side][i + 1 :]] for value in each[i]]
            table = np.array([vector(weights, tuple(one)) for one in others])
            costs = (np.abs(table - vector(weights, tuple(pair[1 - side]))) ** power).sum(axis=1)
            pair[side], best = others[int(costs.argmax())], max(best, float(costs.max()))
    assert best <= weights.same(power) * (1 + 1e-12)


@given(any_weights(), st.sampled_from([1, 2]))
@settings(max_examples=150, deadline=None)
def test_the_price_is_exact_where_squares_are_within_their_limit(weights: JointWeights, power: int) -> None:
    """Attained at corners of the data; for Laplace noise without squares. A square restricted as its sum is."""
    most = 1.0 if power == 2 else 0.0

    def limited(of: tuple[int, ...], w: float, sum_of: float) -> float:
        return min(w, most * sum_of) if of == 2 * of[:1] else w

    sums = {of: limited(of, w, weights.sums[of[0],]) for of, w in weights.sums.items()}
    parts = weights.restricted
    restricted = {(of, p): limited(of, w, parts[of[:1], p] if len(of) == 2 else 0.0) for (of, p), w in parts.items()}
    found = replace(weights, sums=sums, restricted=restricted)
    assert found.same(power) == pytest.approx(brute(found, power, (-1.0, 1.0)), rel=1e-12, abs=1e-15)
    assert found.alone(power) == pytest.approx(brute_one(found, power, (-1.0, 1.0)), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("power", [1, 2])
def test_sums_over_fewer_records_are_priced_with_the_presence_of_the_others(power: int) -> None:
    """Two means of columns with missing values and their covariance: Σf, Σf·1, Σff', counts of one and of both."""
    sums = {(0,): 1.0, (1,): 1.0, (0, 1): 0.5}
    restricted = {((0,), (1,)): 0.6, ((1,), (0,)): 0.6}
    counts = {(0,): 1.3, (1,): 1.3, (0, 1): 0.4}
    weights = JointWeights(2, counts, sums, {}, frozenset({0, 1}), {}, restricted)
    assert weights.same(power) == pytest.approx(brute(weights, power, CORNERS), rel=1e-12)
    # A product restricted by a third feature leaves when that does: to price it as if it stayed is too cheap.
    third = JointWeights(3, {(2,): 1.0}, {(0,): 1.0, (1,): 1.0}, {}, frozenset({2}), {}, {((0, 1), (2,)): 0.9})
    assert third.same(power) == pytest.approx(brute(third, power, CORNERS), rel=1e-12)
    leaking = replace(third, sums=third.sums | {(0, 1): 0.9}, restricted={})
    assert leaking.same(power) < 0.97 * brute(third, power, CORNERS)
    # Many sums restricted by one feature, which alone moves them all.
    names = [((i,), (0,)) for i in range(1, 4)]
    star = JointWeights(4, {(0,): 3.0}, {}, {}, frozenset({0}), {}, dict.fromkeys(names, 1.0))
    assert star.same(power) == pytest.approx(brute(star, power, CORNERS), rel=1e-12)
    assert star.same(power) == pytest.approx(3.0**power + 3.0)


@pytest.mark.parametrize("power", [1, 2])
def test_presence_is_free_within_its_limit_and_not_above(power: int) -> None:
    """κ_i^p + (ω_ii/2)^p + Σ_j ν_ij^p ≤ (2^p − 1) a_i^p, beside the rule of the products."""
    square, pair = (1.0, 0.5) if power == 2 else (0.2, 0.2)
    sums = {(0,): 1.0, (1,): 1.0, (0, 0): square, (1, 1): square, (0, 1): pair}
    room = (2.0**power - 1.0) - (square / 2.0) ** power - pair**power - 0.3**power
    kappa = room ** (1.0 / power)
    free = JointWeights(
        2, {(0,): kappa, (1,): kappa, (0, 1): 0.3}, sums, {}, frozenset({0, 1}), {(0, ()): 0.5, (1, ()): 0.5}
    )
    assert free.same(power) == pytest.approx(2.0 * 2.0**power, rel=1e-12)
    leaking = replace(free, counts=free.counts | {(0,): 1.2 * kappa})
    assert leaking.same(power) > 1.01 * free.same(power)
    assert leaking.same(power) == pytest.approx(brute(leaking, power), rel=1e-12)
    # The presence of one feature shows in the counts of the other: to price it as if both were present is too cheap.
    assert brute(leaking, power) > replace(leaking, missing=frozenset()).same(power) * 1.01


def test_one_product_forgotten_is_found_by_brute_force() -> None:
    sums = {(0,): 1.0, (1,): 1.0, (2,): 1.0, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 0.4}
    whole = JointWeights(3, {}, sums)
    for power in (1, 2):
        for forgotten in ((0, 1), (0, 2)):
            fewer = replace(whole, sums={of: w for of, w in sums.items() if of != forgotten})
            assert brute(whole, power) > 1.02 * fewer.same(power)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_tables_of_neighbours_move_no_farther_than_is_priced(cells: int, power: int) -> None:
    """Every record in some cell or in none, against every other: both relations."""
    sums = {(0,): 1.0, (1,): 0.8, (0, 0): 0.2, (0, 1): 0.4}
    weights = JointWeights(2, {(): 0.7}, sums, {}, frozenset({1}), {(0, ()): 0.5})
    alone = records(weights, CORNERS)
    tables = [np.zeros((cells, alone.shape[1]))]
    for cell, one in product(range(cells), alone):
        tables.append(np.zeros((cells, alone.shape[1])))
        tables[-1][cell] = one
    flat = np.array(tables).reshape(len(tables), -1)
    far = max(float((np.abs(flat - one) ** power).sum(axis=1).max()) for one in flat)
    assert weights.cost(FAR, power, presence="private", cells=cells) == pytest.approx(far, rel=1e-12)
    near = float((np.abs(flat) ** power).sum(axis=1).max())
    assert weights.cost(NEAR, power, presence="private", cells=cells) == pytest.approx(near, rel=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_relations_and_cells_follow_from_one_record_and_from_two(missing: bool) -> None:
    absent = frozenset({0, 1}) if missing else frozenset()
    weights = JointWeights(2, {(): 0.6}, {(0,): 1.0, (1,): 0.5, (0, 1): 0.3}, {((0,), (1,)): 0.25}, absent)
    for power in (1, 2):
        one, same = weights.alone(power), weights.same(power)
        assert one == pytest.approx(0.6**power + 1.0 + 0.5**power + 0.3**power + 0.25**power)
        assert weights.cost(NEAR, power, presence="private", cells=5) == one
        assert weights.cost(FAR, power, presence="public", cells=5) == same
        assert weights.cost(FAR, power, presence="private", cells=1) == max(same, one)
        assert weights.cost(FAR, power, presence="private", cells=5) == max(same, 2.0 * one)


def means_of(d: int, rng: np.random.Generator, missing: frozenset[int]) -> JointWeights:
    """Means of d columns, each with its own missing values, and all their covariances."""

    def near(weight: float) -> float:
        return weight * float(rng.uniform(0.7, 1.4))

    pairs = list(combinations(range(d), 2))
    sums = {(i,): near(1.0) for i in range(d)} | {(i, i): near(0.9) for i in range(d)}
    counts = {(i,): near(1.0) for i in missing} | {of: near(0.4) for of in pairs if missing.issuperset(of)}
    restricted = {((i,), (j,)): near(0.5) for i in range(d) for j in missing if i != j}
    return JointWeights(d, counts, sums | {of: near(0.3) for of in pairs}, {}, missing, {}, restricted)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", [6, 7])
def test_the_bounds_for_many_features_are_near_the_one_by_states(d: int, power: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(5):
        weights = means_of(d, rng, frozenset(range(d)))
        exact = weights.same(power) ** (1 / power)
        assert 1.0 - 1e-12 <= weights._by_lost(power)[0].max() ** (1 / power) / exact < 1.02
        assert 1.0 - 1e-12 <= weights._separate(power) ** (1 / power) / exact < (1.1 if power == 2 else 1.3)


@pytest.mark.parametrize("power", [1, 2])
def test_of_few_states_the_lesser_bound_is_taken(power: int) -> None:
    """Products are about as heavy as is free: the bound by features is above the cost if all of them flip, or it."""
    rng, d = np.random.default_rng(0), 3
    for _ in range(60):
        sums = {(i,): float(rng.uniform(0.5, 1.5)) for i in range(d)}
        sums |= {of: float(rng.uniform(0.2, 1.1)) for of in combinations_with_replacement(range(d), 2)}
        weights = JointWeights(d, {}, sums)
        lesser = min(weights._by_lost(power)[0].max(), weights.state_costs(power).max())
        assert weights.same(power) == pytest.approx(lesser, rel=1e-11)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", [10, 14])
def test_beyond_the_states_that_can_be_listed_the_bound_is_an_upper_one(d: int, power: int) -> None:
    """Of ten features every set that is lost is looked at, of fourteen each feature alone."""
    rng = np.random.default_rng(3)
    weights = means_of(d, rng, frozenset(range(d)))
    assert not weights.states_known()
    price = weights.same(power)
    for _ in range(100):
        absent = [rng.random(d) < share for share in rng.choice([0.0, 0.3, 1.0], 2)]
        values = rng.choice([-1.0, 1.0, 0.5], (2, d), p=[0.4, 0.5, 0.1])
        pair = [
            tuple(None if gone[i] else float(value[i]) for i in range(d))
            for gone, value in zip(absent, values, strict=True)
        ]
        moved = np.abs(np.array(vector(weights, pair[0])) - np.array(vector(weights, pair[1]))) ** power
        assert moved.sum() <= price
    # Where nothing is missing or restricted both are one maximum per feature.
    complete = replace(weights, counts={}, missing=frozenset(), restricted={})
    assert complete._separate(power) == pytest.approx(complete._by_lost(power)[0].item(), rel=1e-12)
    # Within the free limits the bound does not depend on how many features there are.
    free = free_weights(rng, 20, power)
    assert free.same(power) == pytest.approx(2.0**power * sum(free.sums[i,] ** power for i in range(20)), rel=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_a_guess_of_the_worst_states_is_right_where_only_sums_and_presence_weigh(
    power: Literal[1, 2], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a feature that may be missing, coming and going costs more than flipping where its count weighs more."""
    sums = {(i,): weight for i, weight in enumerate((1.0, 0.4, 0.3, 2.0))}
    for heavy in (0.1, 3.0):
        weights = JointWeights(4, {(1,): heavy, (3,): 0.1}, sums, missing=frozenset({1, 3}))
        searched, costs = weights.worst(power), weights.state_costs(power)
        monkeypatch.setattr(joint_sensitivity, "MOST_STATES", 1)
        guessed = weights.worst(power)
        monkeypatch.undo()
        place = np.ravel_multi_index(guessed, weights._radices())
        assert float(costs[place]) == pytest.approx(float(costs.max()), rel=1e-12)
        assert searched[1] == guessed[1] == (2 if heavy == 3.0 else 0)
        assert guessed[0] == guessed[2] == 0


@pytest.mark.parametrize("a", [0.0, 0.3, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("omega", [0.0, 0.2, 0.35, 0.5, 1.0, 1.9])
def test_two_vectors_of_a_ball_differ_most_at_the_stated_angle(a: float, omega: float) -> None:
    """a²|x − z|² + ω²‖xxᵀ − zzᵀ‖² = 2a²(1 − c) + 2ω²(1 − c²) of unit vectors with cosine c: by a fine grid of c."""
    if a == omega == 0.0:
        return

    def apart(c: np.ndarray) -> np.ndarray:
        return 2.0 * a**2 * (1.0 - c) + 2.0 * omega**2 * (1.0 - c**2)

    largest = float(apart(np.linspace(-1.0, 1.0, 20_001)).max())
    assert joint_sensitivity._same_cell(a, omega) == pytest.approx(largest, rel=1e-7)
    cosine = joint_sensitivity.worst_cosine(a, omega)
    assert -1.0 <= cosine <= 0.0 and float(apart(np.array([cosine]))[0]) == pytest.approx(largest, rel=1e-7)


def test_in_a_ball_noise_is_gaussian_and_on_sums_alone() -> None:
    (specimen,) = (one for one in specimens() if one.name == "regression in a ball")
    joint, relation = specimen.mechanism, specimen.relation
    assert cost_of(joint.layout, joint.weights(), relation, 2) > 0.0
    with pytest.raises(ParameterError, match="HG406"):
        cost_of(joint.layout, joint.weights(), relation, 1)
    with pytest.raises(ParameterError, match="HG406"):
        cost_of(joint.layout, replace(joint.weights(), blocks={(0,): 0.5}), relation, 2)
