"""Joint moments: what is released, what it costs by closed forms, what can be read from it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.compose import compose
from hedgerow.accounting.profile import Profile
from hedgerow.audit.verdict import audit_mechanism
from hedgerow.errors import ParameterError, VerificationError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify, mechanism_from_record
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointCoordinate, JointFeature, JointLayout, PartitionBlock
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, AveragedLaplace, Law
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.noise.lattice import LatticeNoise, lattice_noise
from hedgerow.noise.secure import SecureNoise
from hedgerow.resampling.counted_values import GridSums
from hedgerow.testing.simulated import SimulatedNoise

FAR, NEAR = Relation.REPLACE_ONE, Relation.ADD_REMOVE
TWO = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.5, (1, 1): 0.5, (0, 1): 0.5})
BLOCKS = {((0,), (2,)): 1.0, ((1,), (1,)): 0.5, ((0, 1), (1, 2)): 0.25}
LAWS = [GAUSSIAN, LAPLACE]


def layout(*steps: int, missing: bool = False, presence: str = "public", cells: int = 1) -> JointLayout:
    return JointLayout(tuple(JointFeature(m, missing) for m in steps), presence, cells)


def with_blocks(law: Law, *, missing: bool = False, cells: int = 1) -> JointMoments:
    features = (JointFeature(5), JointFeature(4, missing))
    weights = JointWeights(2, {(): 0.2}, {}, BLOCKS)
    return joint_moments(law, JointLayout(features, "private", cells), weights, 1.0, FAR)


def with_missing(*steps: int) -> JointMoments:
    weights = JointWeights(2, {(0,): 0.5, (1,): 0.5, (0, 1): 0.3}, TWO.sums)
    return joint_moments(GAUSSIAN, layout(*steps, missing=True), weights, 1.0, FAR)


def two_means(law: Law, *steps: int, presence: str = "public") -> JointMoments:
    """Two means over their own records, with squares, and what their covariance needs; a product restricted by both."""
    counts = {(0,): 1.0, (1,): 0.8, (0, 1): 0.3}
    restricted = {((0,), (1,)): 0.4, ((1,), (0,)): 0.5, ((0, 0), (1,)): 0.3, ((1, 1), (0,)): 0.2}
    weights = JointWeights(len(steps), counts, TWO.sums | {(0, 0): 0.4, (1, 1): 0.3}, restricted=restricted)
    if len(steps) == 3:
        third = {((0, 1), (2,)): 0.7, ((2, 2), (0, 1)): 0.6, ((2,), (0, 1)): 0.6}
        weights = replace(weights, counts=counts | {(0, 1, 2): 0.5}, restricted=restricted | third)
    return joint_moments(law, layout(*steps, missing=True, presence=presence), weights, 1.0, FAR)


def profile_of(joint: JointMoments, relation: Relation) -> Profile:
    return compose(joint.terms(relation))


def price(joint: JointMoments, relation: Relation) -> float:
    return joint.mu(relation) if joint.law == "gaussian" else joint.pure(relation)


def records(joint: JointMoments) -> list[tuple[int | None, ...]]:
    """Every record of the grids, present or missing."""
    each = [[*range(f.steps + 1), *([None] if f.missing else [])] for f in joint.layout.features]
    return list(product(*each))


def brute(joint: JointMoments, power: int, *, replace: bool) -> float:
    """The largest cost over all integer records of the grids: two of one cell, or one alone."""
    widths = np.array([number.noise.in_units for number in joint.numbers.listed()])
    table = np.array([joint.record(one).astype(float) for one in records(joint)]) / widths
    others = table if replace else np.zeros((1, table.shape[1]))
    return max(float((np.abs(table - one) ** power).sum(axis=1).max()) for one in others)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("steps", [(5, 4), (1, 8), (7, 7)])
def test_the_price_of_integers_is_the_brute_force_maximum(law: Law, steps: tuple[int, int]) -> None:
    """Odd m, whose m²/2 is no integer, too: with counts, the second moment is centred by a whole number."""
    power = law.power
    # Squares within half of what is free: for Laplace noise the bound is then attained.
    weights = JointWeights(2, {(): 1.3}, {(0,): 1.0, (1,): 1.0, (0, 0): 0.2, (1, 1): 0.2, (0, 1): 0.5})
    joint = joint_moments(law, layout(*steps, presence="private"), weights, 1.0, FAR)
    exact = max(brute(joint, power, replace=True), brute(joint, power, replace=False))
    assert price(joint, FAR) == pytest.approx(exact ** (1 / power), rel=1e-9)
    assert price(joint, NEAR) == pytest.approx(brute(joint, power, replace=False) ** (1 / power), rel=1e-9)
    assert price(joint, FAR) == pytest.approx(1.0, rel=1e-5)
    assert price(joint, FAR) <= 1.0 + 1e-9


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("missing", [False, True])
def test_partition_blocks_cost_one_alone_and_two_replaced(law: Law, missing: bool) -> None:
    power = law.power
    joint = with_blocks(law, missing=missing)
    assert price(joint, NEAR) ** power == pytest.approx(brute(joint, power, replace=False), rel=1e-9)
    assert price(joint, FAR) ** power == pytest.approx(brute(joint, power, replace=True), rel=1e-9)
    blocks = [[place for place, name in enumerate(joint.names) if name.startswith(f"block {k}:")] for k in range(3)]
    for one in records(joint):
        added = joint.record(one)
        assert [sum(added[places]) for places in blocks] == [5**2, 4, 5 * 4**2]
        assert min(added) >= 0


def test_missing_features_are_priced_by_brute_force() -> None:
    joint = with_missing(5, 4)
    assert joint.mu(FAR) ** 2 == pytest.approx(brute(joint, 2, replace=True), rel=1e-9)


@pytest.mark.parametrize("presence", ["public", "private"])
def test_sums_restricted_to_other_columns_are_priced_by_brute_force(presence: str) -> None:
    """What a record adds is written out anew: 0 where any of its columns is missing, a square less half the range²."""
    for joint in (two_means(GAUSSIAN, 5, 4, presence=presence), two_means(GAUSSIAN, 2, 3, 1, presence=presence)):
        counts = {one.of for one in joint.coordinates if one.kind == "count"}
        for record in records(joint):
            centred = [
                None if t is None else 2 * t - f.steps for t, f in zip(record, joint.layout.features, strict=True)
            ]
            for one, added in zip(joint.coordinates, joint.record(record), strict=True):
                columns = tuple(sorted({*one.of, *one.present}))
                offset = joint.layout.features[one.of[0]].steps ** 2 // 2 if one.squared and columns in counts else 0
                values = [centred[i] for i in one.of] if one.kind == "sum" else []
                absent = any(record[i] is None for i in columns)
                assert added == (0 if absent else math.prod(values) - offset), joint.names
        assert joint.mu(FAR) ** 2 == pytest.approx(brute(joint, 2, replace=True), rel=1e-9)
        if presence == "private":
            assert joint.mu(NEAR) ** 2 == pytest.approx(brute(joint, 2, replace=False), rel=1e-9)
    pure = two_means(LAPLACE, 3, 4, presence=presence)
    assert brute(pure, 1, replace=True) <= pure.pure(FAR) <= 1.2 * brute(pure, 1, replace=True)


def test_a_record_names_further_columns_only_where_there_are_any() -> None:
    """So records of releases without them stay as they are."""
    plain, restricted = as_record(with_missing(5, 4)), as_record(two_means(GAUSSIAN, 5, 4))
    assert all(set(one) == {"kind", "of", "noise", "coarse"} for one in plain["coordinates"])
    assert [one.get("present") for one in restricted["coordinates"]][-4:] == [[1], [0], [1], [0]]
    assert mechanism_from_record(restricted) == two_means(GAUSSIAN, 5, 4)
    with pytest.raises(VerificationError):
        mechanism_from_record(plain | {"coordinates": [one | {"present": []} for one in plain["coordinates"]]})


def test_sums_of_monomials_make_exactly_what_the_records_add() -> None:
    """By cells, with grids of 2²⁰ steps: integers far beyond 2⁵³ stay exact."""
    rng = np.random.default_rng(2)
    large = 2**20, 2**20 - 1
    for joint in (with_blocks(LAPLACE, missing=True, cells=3), with_missing(*large), two_means(LAPLACE, *large, 2**20)):
        each = [[int(t) if rng.random() < 0.7 or not f.missing else None for t in rng.integers(0, f.steps + 1, 40)]
                for f in joint.layout.features]  # fmt: skip
        cell = rng.integers(0, joint.layout.cells, 40)
        sums = {m: np.zeros(joint.layout.cells, dtype=object) for m in joint.monomials()}
        for row, monomial in product(range(40), sums):
            values = [each[i][row] for i, _ in monomial]
            if None not in values:
                sums[monomial][cell[row]] += math.prod(v**e for v, (_, e) in zip(values, monomial, strict=True))
        found = joint.exact(GridSums(sums, np.zeros(joint.layout.cells, dtype=np.int64), 0))
        for one in range(joint.layout.cells):
            rows = [joint.record([values[r] for values in each]) for r in range(40) if cell[r] == one]
            assert found[one].tolist() == np.sum(rows, axis=0).tolist()


def test_prices_are_the_closed_forms() -> None:
    grids = layout(100, 100)
    cross = JointWeights(2, {}, {(0,): 1.0, (1,): 1.0, (0, 1): 1.0})
    pure = joint_moments(LAPLACE, grids, cross, 0.7, FAR)
    assert profile_of(pure, FAR).epsilon_upper(0.0) == pytest.approx(0.7, rel=1e-5)
    gaussian = joint_moments(GAUSSIAN, grids, TWO, 1.0, FAR)
    assert profile_of(gaussian, FAR).epsilon_upper(1e-6) == pytest.approx(4.887, abs=1e-3)
    # Two means, in units of R/n: each as noisy as a plain release at its share of μ², and every second moment on top.
    assert gaussian.noise_sds()[:2] / 100 / 2 == pytest.approx([math.sqrt(2.0)] * 2, rel=1e-5)


@pytest.mark.parametrize("law", LAWS)
def test_dp_accounting_agrees_on_the_worst_pair(law: Law) -> None:
    """The worst pair is one of independent shifts; pure noise is priced as its worst event, so never below."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    joint = with_blocks(law)
    first, second = joint.record((0, 0)), joint.record((5, 4))
    widths = np.array([number.noise.in_units for number in joint.numbers.listed()])
    shifts = np.abs(first - second).astype(float) / widths
    parts = [
        pld.from_gaussian_mechanism(1.0, sensitivity=s)
        if law == GAUSSIAN
        else pld.from_laplace_mechanism(1.0, sensitivity=s)
        for s in shifts
        if s > 0
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    curve = profile_of(joint, FAR)
    if law == GAUSSIAN:
        assert curve.epsilon_upper(1e-5) == pytest.approx(total.get_epsilon_for_delta(1e-5), rel=1e-3)
    else:
        assert curve.epsilon_upper(0.0) == pytest.approx(float(shifts.sum()), rel=1e-9)
        assert curve.epsilon_upper(1e-9) >= total.get_epsilon_for_delta(1e-9) - 1e-3


def test_a_record_is_read_back_and_priced_again() -> None:
    for joint in (with_blocks(LAPLACE, missing=True), with_missing(5, 4), two_means(GAUSSIAN, 3, 4, 2)):
        assert mechanism_from_record(as_record(joint)) == joint
        certificate = certify(joint, FAR, unit="row", delta=1e-6)
        certificate.verify()
        assert type(certificate).from_json(certificate.to_json()) == certificate
    with pytest.raises(VerificationError):
        mechanism_from_record(as_record(joint) | {"law": "cauchy"})


def test_averaged_laplace_noise_has_its_pure_price_and_a_lower_one_at_delta() -> None:
    averaged = joint_moments(AveragedLaplace(40), layout(100, 100), TWO, 1.0 / math.sqrt(40), FAR)
    curve = profile_of(averaged, FAR)
    assert averaged.pure(FAR) == pytest.approx(1.0, rel=1e-5)
    assert curve.epsilon_upper(0.0) == pytest.approx(1.0, rel=1e-5)
    assert curve.epsilon_upper(1e-3) < 0.8


@pytest.mark.parametrize("law", LAWS)
def test_a_reading_is_unbiased_and_its_covariance_that_of_the_noise(law: Law) -> None:
    joint = with_blocks(law, missing=True)
    data = [(5, 4), (0, None), (2, 1), (3, 3), (1, None)]
    exact = np.sum([joint.record(one) for one in data], axis=0)
    f = [[2 * a / 5 - 1 for a, _ in data], [None if b is None else 2 * b / 4 - 1 for _, b in data]]
    wanted = [(), ((0, 1),), ((0, 2),), ((1, 0),), ((1, 1),), ((0, 1), (1, 1))]
    reading = joint.reading(wanted)
    truth = [
        5.0,
        sum(f[0]),
        sum(x * x for x in f[0]),
        3.0,
        sum(y for y in f[1] if y is not None),
        sum(x * y for x, y in zip(*f, strict=True) if y is not None),
    ]
    assert reading.values(exact.astype(float)) == pytest.approx(truth, abs=1e-9)
    drawn = joint.noisy(np.tile(exact, (4_000, 1)), SimulatedNoise(5), cells=({},)).values
    read = reading.values(drawn)
    scale = np.sqrt(np.diag(reading.covariance))
    assert np.abs(read.mean(axis=0) - truth).max() < (6.0 * scale / math.sqrt(4_000)).max()
    assert np.abs(np.cov(read.T) - reading.covariance).max() < 0.12 * scale.max() ** 2


@pytest.mark.parametrize("law", LAWS)
def test_means_over_their_own_records_are_read_with_their_covariance(law: Law) -> None:
    """Moments of the records where both are present, the squares of which are released less half the range²."""
    joint = two_means(law, 5, 4, presence="private")
    data = [(5, 4), (0, None), (2, 1), (None, 3), (1, None), (4, 0), (None, None)]
    exact = np.sum([joint.record(one) for one in data], axis=0)
    both = [(2 * a / 5 - 1, 2 * b / 4 - 1) for a, b in data if a is not None and b is not None]
    first = [2 * a / 5 - 1 for a, _ in data if a is not None]
    truth = {
        ((0, 0),): len(first),
        ((0, 1),): sum(first),
        ((0, 2),): sum(f * f for f in first),
        ((0, 0), (1, 0)): len(both),
        ((0, 1), (1, 0)): sum(f for f, _ in both),
        ((0, 0), (1, 1)): sum(g for _, g in both),
        ((0, 1), (1, 1)): sum(f * g for f, g in both),
        ((0, 2), (1, 0)): sum(f * f for f, _ in both),
    }
    reading = joint.reading(truth)
    assert reading.values(exact.astype(float)) == pytest.approx(list(truth.values()), abs=1e-9)
    drawn = reading.values(joint.noisy(np.tile(exact, (4_000, 1)), SimulatedNoise(5), cells=({},)).values)
    scale = np.sqrt(np.diag(reading.covariance))
    assert np.abs((drawn.mean(axis=0) - list(truth.values())) / scale).max() < 6.0 / math.sqrt(4_000)
    assert np.abs((np.cov(drawn.T) - reading.covariance) / np.outer(scale, scale)).max() < 0.12


def test_more_numbers_are_read_together_than_the_best_of_them_alone() -> None:
    """The count is in every block: reading it from all of them is the least noisy way."""
    joint = with_blocks(GAUSSIAN)
    alone = JointMoments("gaussian", joint.layout, joint.coordinates, joint.blocks[:1])
    assert joint.reading([()]).covariance[0, 0] < 0.9 * alone.reading([()]).covariance[0, 0]


@pytest.mark.parametrize("law", LAWS)
def test_sums_of_80_bits_are_rounded_to_what_noise_hides_and_priced_with_the_rounding(law: Law) -> None:
    grids = layout(2**20, 2**20, presence="private")
    joint = joint_moments(law, grids, JointWeights(2, {}, {}, {((0, 1), (2, 2)): 1.0}), 1.0, NEAR)
    assert joint.blocks[0].coarse > 30
    assert 1.0 < price(joint, NEAR) <= 1.0 + 1e-9
    widths = np.array([number.width for number in joint.numbers.listed()])
    unrounded = replace(joint.weights(), blocks={})
    assert unrounded.cost(NEAR, law.power, presence="private", cells=1) == 0.0
    # Neighbours whose sums are rounded apart by a step more than they differ, in every number.
    step = 2.0 ** joint.blocks[0].coarse
    first, second = joint.record((0, 0)), joint.record((2**20, 2**20))
    moved = np.abs(first - second).astype(float) + np.where(first == second, 0.0, step)
    assert float(((moved / widths) ** law.power).sum()) ** (1 / law.power) <= price(joint, FAR)
    people = np.sum([joint.record((3 * 2**17, 2**19)) for _ in range(50)], axis=0)
    source = SimulatedNoise(4)
    drawn = joint.noisy(np.tile(people, (4_000, 1)), source, cells=({},)).values
    assert (np.mod(drawn, step) == 0.0).all()
    reading = joint.reading([(), ((0, 1),), ((0, 2),), ((0, 1), (1, 1))])
    read = reading.values(drawn)
    scale = np.sqrt(np.diag(reading.covariance))
    assert (np.abs(read.mean(axis=0) - [50.0, -12.5, 50 / 16, 0.0]) < 6.0 * scale / math.sqrt(4_000)).all()
    assert read.std(axis=0) == pytest.approx(scale, rel=0.06)


def test_a_public_number_of_records_is_used_and_an_unreleased_moment_refused() -> None:
    noise = lattice_noise(100.0)
    joint = JointMoments("laplace", layout(10), (JointCoordinate("sum", (0,), noise),), ())
    reading = joint.reading([(), ((0, 1),)], n=50.0)
    assert reading.constant.tolist() == [50.0, 0.0]
    assert reading.covariance[0, 0] == 0.0
    assert reading.covariance[1, 1] == pytest.approx(2.0 * 10.0**2)
    with pytest.raises(ParameterError):
        joint.reading([((0, 2),)], n=50.0)
    with pytest.raises(ParameterError):
        joint.reading([()])


@pytest.mark.parametrize("law", LAWS)
def test_the_worst_pairs_cost_what_is_priced(law: Law) -> None:
    """Found by comparing all pairs; where six features make them too many, by changing one feature after the other."""
    weights = {(i,): 1.0 for i in range(5)} | {(0, 1): 1.3, (2, 3): 0.4}
    joints = [with_blocks(law, missing=True, cells=2), with_blocks(law), with_missing(5, 4)]
    joints += [two_means(law, 5, 4)] if law == GAUSSIAN else []  # the price of pure noise with squares is a bound
    joints.append(joint_moments(law, layout(9, 9, 9, 9, 9), JointWeights(5, {}, weights), 1.0, FAR))
    # Products and restricted sums heavier than is free: some features stay equal, some are in one record only.
    heavy = {of: 0.3 + 0.2 * (of[0] % 3) for of in combinations(range(6), 2)}
    both = {((i,), (5 - i,)): 0.8 for i in range(6)}
    weights = JointWeights(
        6, {(0,): 2.5, (1, 2): 0.6}, {(i,): 0.7 + 0.1 * i for i in range(6)} | heavy, restricted=both
    )
    joints.append(joint_moments(law, layout(*range(3, 9), missing=True), weights, 1.0, FAR))
    assert set(joints[-1].weights().worst(law.power)) == {0, 1, 2}
    for joint in joints:
        assert worst_cost(joint) == pytest.approx(price(joint, FAR), rel=1e-9)


def test_a_climb_starts_from_the_states_of_the_bound() -> None:
    """Without some features, and where others stay equal, records differ most: no single change leads there."""
    sums = {(0,): 1.4, (1,): 0.6, (2,): 1.3, (3,): 0.8, (4,): 0.4, (5,): 1.0}
    products = {(0, 2): 1.2, (0, 3): 2.5, (0, 4): 1.7, (1, 4): 0.7, (1, 5): 1.5, (2, 5): 1.3, (3, 4): 1.5}
    counts = {(0,): 1.0, (1,): 1.5, (2,): 1.1, (3,): 0.8, (4,): 1.1, (5,): 1.1}
    weights = JointWeights(6, counts, sums | products, restricted={((3,), (0,)): 0.9})
    joint = joint_moments(LAPLACE, layout(*[9] * 6, missing=True), weights, 1.0, FAR)
    assert set(joint.weights().worst(1)) == {0, 1, 2}
    assert worst_cost(joint) == pytest.approx(price(joint, FAR), rel=1e-9)


def worst_cost(joint: JointMoments) -> float:
    """The largest cost of the pairs that an audit attacks, in units of the price."""
    found = 0.0
    for pair in joint.worst_pairs(FAR):
        moved = np.zeros((pair.cells, len(joint.names)))
        for sign, record in ((1.0, pair.first), (-1.0, pair.second)):
            if record is not None:
                added, widths = joint.contribution(record)
                moved[record.cell] += sign * added / widths
        found = max(found, float((np.abs(moved) ** joint.noise_law.power).sum()))
    return found ** (1 / joint.noise_law.power)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("missing", [False, True])
def test_where_squares_are_heavy_a_worst_pair_lies_between_the_ends(law: Law, missing: bool) -> None:
    """The price of one feature is exact for any weight of its square: corners alone fall short of it."""
    weights = JointWeights(1, {(0,): 0.1} if missing else {}, {(0,): 1.0, (0, 0): 0.75 if law == LAPLACE else 2.5})
    joint = joint_moments(law, layout(2**20, missing=missing), weights, 1.0, FAR)
    ends, within = joint.worst_pairs(FAR)
    assert (ends.name, within.name) == ("same cell", "same cell, between the ends")
    assert 1.0 - 1e-4 < worst_cost(joint) <= price(joint, FAR) * (1 + 1e-12)
    added = [joint.contribution(one)[0] for one in (ends.first, ends.second) if one is not None]
    assert (np.abs((added[0] - added[1]) / joint._widths()) ** law.power).sum() ** (1 / law.power) < 0.97


@pytest.mark.parametrize("law", LAWS)
def test_an_attack_on_the_worst_pair_comes_near_the_price_and_finds_one_that_is_too_low(law: Law) -> None:
    joint = joint_moments(law, layout(100, 100), TWO, 1.0, FAR)
    verdict = audit_mechanism(joint, FAR, delta=1e-3, runs=60_000, noise=SimulatedNoise(3))
    assert verdict.passes
    assert verdict.epsilon_lower > 0.65 * verdict.epsilon_upper
    # As if the sums of the second feature were not there: half of the cost.
    first = JointMoments(joint.law, joint.layout, joint.coordinates[:1], ())
    assert profile_of(first, FAR).epsilon_upper(1e-3) < verdict.epsilon_lower


# One release of 10⁵ cells, of a sum and of one restricted to another column, against the law that is priced; noise
# 5 % too narrow is rejected.
@pytest.mark.entropy
@pytest.mark.parametrize("source", [SecureNoise(), SimulatedNoise(11)], ids=["released", "stand-in"])
@pytest.mark.parametrize("law", [*LAWS, AveragedLaplace(2)], ids=["gaussian", "laplace", "averaged"])
def test_released_noise_has_the_law_that_is_priced(law: Law, source: object) -> None:
    n = 100_000
    grids, weights = layout(2**20, 2**20, missing=True, cells=n), JointWeights(2, {}, {(0,): 1.0})
    joint = joint_moments(law, grids, replace(weights, restricted={((0,), (1,)): 0.5}), 0.3, FAR)
    assert joint.mu(FAR) == pytest.approx(0.3, rel=1e-5) or law != GAUSSIAN
    released = joint.noisy(np.full((n, 2), 7 * 2**20), source, cells=({},)).values - 7 * 2**20
    for drawn, sd in zip(released.T, joint.noise_sds(), strict=True):
        for factor, accepted in ((1.0, True), (1.05, False)):
            law_of = _law(law, sd * factor)
            p_value = stats.kstest(drawn, law_of).pvalue
            spread = abs(float(np.mean(drawn**2)) / (sd * factor) ** 2 - 1.0) / math.sqrt(5.0 / n)
            assert (spread < 6.5 and p_value > 1e-9) if accepted else (spread > 6.5 or p_value < 1e-12)


def _law(law: Law, sd: float) -> object:
    if law == GAUSSIAN:
        return stats.norm(scale=sd).cdf
    if law == LAPLACE:
        return stats.laplace(scale=sd / math.sqrt(2.0)).cdf
    # The sum of two Laplace numbers of scale b: P(|S| > s) = e^(−s/b)(1 + s/2b).
    b = sd / 2.0
    return lambda x: np.where(x < 0, 0.0, 1.0) - np.sign(x) * 0.5 * np.exp(-np.abs(x) / b) * (1 + np.abs(x) / (2 * b))


def test_descriptions_that_fit_nothing_are_refused() -> None:
    noise = LatticeNoise(2000, 0)
    one, absent = JointFeature(10), JointFeature(10, missing=True)
    total = JointCoordinate("sum", (0,), noise)
    broken = [
        ("laplace", (), (total,), ()),
        ("gaussian", (one,), (), ()),
        ("gaussian", (one,), (total, total), ()),
        ("gaussian", (one,), (JointCoordinate("sum", (1,), noise),), ()),
        ("gaussian", (one, one), (JointCoordinate("sum", (1, 0), noise),), ()),
        ("gaussian", (one,), (JointCoordinate("count", (0,), noise),), ()),
        ("gaussian", (absent,), (JointCoordinate("sum", (), noise),), ()),
        ("gaussian", (absent, one), (JointCoordinate("sum", (0,), noise, present=(1,)),), ()),
        ("gaussian", (absent, one), (JointCoordinate("sum", (0,), noise, present=(0,)),), ()),
        ("gaussian", (absent,) * 3, (JointCoordinate("sum", (0,), noise, present=(2, 1)),), ()),
        ("gaussian", (absent,) * 2, (JointCoordinate("count", (0,), noise, present=(1,)),), ()),
        ("gaussian", (absent,) * 2, (JointCoordinate("sum", (0,), noise, present=(1,)),) * 2, ()),
        ("gaussian", (one,), (), (PartitionBlock((0,), (5,), noise),)),
        ("gaussian", (one,), (), (PartitionBlock((0, 0), (1, 1), noise),)),
        ("gaussian", (one,), (), (PartitionBlock((-1,), (1,), noise),)),
        ("uniform", (one,), (total,), ()),
    ]
    for law, features, coordinates, blocks in broken:
        with pytest.raises(ParameterError):
            JointMoments(law, JointLayout(features, "private", 1), coordinates, blocks)
    with pytest.raises(ParameterError):
        JointMoments("gaussian", layout(10), (total,), (), draws=3)
    for draws in (0, 501, True):
        with pytest.raises(ParameterError, match="1 to 500 Laplace releases"):
            JointMoments("laplace", layout(10), (total,), (), draws=draws)
    with pytest.raises(ParameterError):
        JointMoments("gaussian", layout(10), (total,), ()).mu(NEAR)


@pytest.mark.parametrize("law", LAWS)
def test_the_sums_of_64_features_are_released_and_of_65_refused(law: Law) -> None:
    """Each of 64 sums moves by a whole range, so that the price is that of 64 alike: √64 times one, or 64 times."""
    one, most = (
        joint_moments(law, layout(*(4,) * d), JointWeights(d, {}, {(i,): 1.0 for i in range(d)}), 1.0, FAR)
        for d in (1, 64)
    )
    certify(most, FAR, unit="row", delta=1e-6).verify()
    assert most.coordinates[0].noise.in_units == pytest.approx(
        one.coordinates[0].noise.in_units * (8.0 if law == GAUSSIAN else 64.0), rel=1e-5
    )
    assert most.noisy(np.zeros((3, 64), np.int64), SimulatedNoise(1), cells=({},) * 3).values.shape == (3, 64)
    with pytest.raises(ParameterError, match="1 to 64 features"):
        layout(*(4,) * 65)


@pytest.mark.parametrize("law", LAWS)
def test_a_record_that_names_a_block_twice_is_no_record(law: Law) -> None:
    """Weights are kept by features and degrees: the second block, of wide noise, would hide the price of the first."""
    narrow, wide = LatticeNoise(2000, 0), LatticeNoise(2_000_000, 0)
    blocks = [PartitionBlock((0,), (2,), noise) for noise in (narrow, wide)]
    alone = JointMoments(law.name, layout(10, presence="private"), (), (blocks[0],))
    record = as_record(alone)
    twice = record | {"blocks": [*record["blocks"], record["blocks"][0] | {"noise": {"width": 2_000_000, "bits": 0}}]}
    for pair in (blocks, blocks[::-1], blocks[:1] * 2):
        with pytest.raises(ParameterError):
            JointMoments(law.name, alone.layout, (), tuple(pair))
    with pytest.raises(VerificationError):
        mechanism_from_record(twice)
    # Other degrees of the same feature make another block, and its price is added.
    other = JointMoments(law.name, alone.layout, (), (blocks[0], PartitionBlock((0,), (1,), narrow)))
    assert price(other, FAR) > price(alone, FAR)


@pytest.mark.parametrize("law", LAWS)
def test_noise_that_64_bits_do_not_carry_is_refused(law: Law) -> None:
    """Squares of weights below 1e-154 would be 0, and so would the price."""
    for width in (2**54, 10**160):
        with pytest.raises(ParameterError):
            JointMoments(law.name, layout(10), (JointCoordinate("sum", (0,), LatticeNoise(width, 0)),), ())
