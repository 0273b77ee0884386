"""Newton steps: how far one record moves them, by brute force over the integers that are added up."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from hedgerow.accounting.profile import GaussianProfile
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify, mechanism_from_record
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.mechanisms.newton_steps import UNIT, Bound, NewtonSteps, logistic, step_cost
from hedgerow.noise.lattice import require_drawable
from hedgerow.testing.simulated import SimulatedNoise

Range = tuple[float, float]
NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
CONSTANT = (1.0, 1.0)
BOXES = [
    (CONSTANT, (-1.0, 1.0)),
    (CONSTANT, (-1.0, 1.0), (0.0, 1.0)),
    (CONSTANT, (-1.0, 1.0), (-1.0, 1.0), (-0.3, 0.8)),
    ((-1.0, 1.0), (0.0, 1.0)),
]
SIZES = [0.0, 0.5, 2.0, 8.0]
BOUNDS: tuple[Bound, ...] = ("entries", "joint")


def every_record(steps: NewtonSteps, beta: tuple[float, ...]) -> np.ndarray:
    """Return what each record of a grid over the box adds, with either outcome, in units of the noise of step 0."""
    places = 9 if len(steps.ranges) < 4 else 5
    grid = list(product(*(np.unique(np.linspace(low, high, places)) for low, high in steps.ranges)))
    features = np.repeat(np.array(grid), 2, axis=0)
    moved = steps.added(features, np.tile([0, 1], len(grid)), beta).astype(float)
    noise, split = steps.noise(0, beta), len(steps.ranges)
    widths = [noise.gradient.in_units] * split + [noise.curvature.in_units] * (moved.shape[1] - split)
    return moved / np.array(widths)


def farthest(moved: np.ndarray, relation: Relation) -> float:
    if relation is NEAR:
        return float(np.sqrt((moved**2).sum(axis=1).max()))
    return math.sqrt(max(float(((moved - one) ** 2).sum(axis=1).max()) for one in moved))


def cases(box: tuple[tuple[float, float], ...], size: float) -> list[tuple[float, ...]]:
    rng = np.random.default_rng(7)
    return [tuple(size * rng.normal(size=len(box))) for _ in range(3 if size else 1)]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("size", SIZES)
def test_no_record_moves_a_step_farther_than_its_price(
    box: tuple[tuple[float, float], ...], size: float, relation: Relation, bound: Bound
) -> None:
    for curvature in (0.1, 1.0, 8.0, 30.0):
        steps = NewtonSteps(box, (0.3,), curvature, str(relation), bound)
        for beta in cases(box, size):
            assert farthest(every_record(steps, beta), relation) <= 0.3


@pytest.mark.parametrize("relation", Relation)
def test_bounded_together_the_price_is_close_and_a_tenth_less_would_be_false(relation: Relation) -> None:
    for box, beta in (
        (BOXES[2], (0.0,) * 4),
        (BOXES[2], (-0.3, -1.4, 1.0, 0.8)),
        ((CONSTANT, *[(-1.0, 1.0)] * 3), (0.0,) * 4),
    ):
        for curvature in (1.0, 8.0):
            steps = NewtonSteps(box, (0.3,), curvature, str(relation), "joint")
            reached = farthest(every_record(steps, beta), relation)
            assert 0.3 / 1.1 < reached <= 0.3
            assert reached / 0.9 > 0.3, "noise a tenth narrower has a false price"


def test_together_both_movements_cost_less_than_entry_by_entry() -> None:
    box = (CONSTANT, *[(-1.0, 1.0)] * 4)
    for beta, gain in (((0.0,) * 5, 1.6), ((-0.3, -1.4, -0.4, 1.0, -0.5), 1.3)):
        entries, joint = (step_cost(beta, box, 4.0, FAR, bound) for bound in BOUNDS)
        assert entries > gain * joint
    # The largest of a sum of squares at one end alone is too little where the curvature weighs more than the gradient.
    ends = 5.0 * 0.9**2 + 240.0 * 0.09**2
    beta = (math.log(9.0), 0.0, 0.0, 0.0, 0.0)
    assert step_cost(beta, box, 16.0, NEAR, "joint") > 1.5 * ends


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("relation", Relation)
def test_a_feature_that_is_read_with_the_other_sign_has_the_same_price(relation: Relation, bound: Bound) -> None:
    """Both ends of a range count alike, also where 0 lies outside of it or nearer to one end."""
    box, beta = (CONSTANT, (-0.5, 0.2), (0.4, 0.9), (-0.3, 0.8)), (0.4, -1.5, 1.0, 0.7)
    for curvature in (1.0, 30.0):
        price = step_cost(beta, box, curvature, relation, bound)
        for k in range(1, len(box)):
            turned = tuple((-high, -low) if i == k else (low, high) for i, (low, high) in enumerate(box))
            other = tuple(-b if i == k else b for i, b in enumerate(beta))
            assert step_cost(other, turned, curvature, relation, bound) == pytest.approx(price, rel=1e-9)


def test_a_record_of_an_earlier_version_has_its_noise() -> None:
    earlier = {"type": "newton-steps", "ranges": [[1.0, 1.0], [-1.0, 1.0]], "precisions": [0.3], "curvature": 1.0}
    earlier["relation"] = "replace-one"
    steps = mechanism_from_record(earlier)
    assert isinstance(steps, NewtonSteps) and steps.bound == "entries" and "bound" not in as_record(steps)
    later = mechanism_from_record({**earlier, "bound": "joint"})
    assert isinstance(later, NewtonSteps) and later.piloted is False
    beta = (0.4, 2.0)
    assert steps.noise(0, beta) != later.noise(0, beta)


@pytest.mark.parametrize("size", SIZES)
def test_under_add_remove_the_price_is_reached(size: float) -> None:
    for beta in cases(BOXES[0], size):
        steps = NewtonSteps(BOXES[0], (0.3,), 1.0, "add-remove")
        assert farthest(every_record(steps, beta), NEAR) == pytest.approx(0.3, rel=1e-5)


def test_the_price_under_replace_one_is_close() -> None:
    box = (CONSTANT, *[(-1.0, 1.0)] * 3)
    for beta in ((-1.3, 1.7, 1.7, 2.7), (0.5, -1.0, 0.2, 3.0)):
        steps = NewtonSteps(box, (0.3,), 1.0, "replace-one")
        assert farthest(every_record(steps, beta), FAR) > 0.3 / 1.1
    # A short range of η is cut into pieces as many, and as much shorter.
    for bound in BOUNDS:
        steps = NewtonSteps(((-1.0, 1.0),), (0.3,), 0.3, "replace-one", bound)
        assert farthest(every_record(steps, (0.5,)), FAR) > 0.3 / 1.04


@pytest.mark.parametrize("relation", Relation)
def test_an_unpriced_curvature_and_the_noise_of_another_step_would_be_false_prices(relation: Relation) -> None:
    box, beta = BOXES[1], (0.5, 3.0, -2.0)
    steps = NewtonSteps(box, (0.3,), 30.0, str(relation))
    moved = every_record(steps, beta)
    unpriced = step_cost(beta, box, 1e-12, relation) / step_cost(beta, box, 30.0, relation)
    assert farthest(moved, relation) / math.sqrt(unpriced) > 0.3
    plain = NewtonSteps(box, (0.3,), 0.1, str(relation))
    at_start = plain.noise(0, (0.0, 0.0, 0.0)).gradient.in_units / plain.noise(0, beta).gradient.in_units
    assert farthest(every_record(plain, beta), relation) / at_start > 0.3


def test_what_a_record_adds_depends_on_it_alone() -> None:
    rng = np.random.default_rng(3)
    box = (CONSTANT, *[(-1.0, 1.0)] * 4)
    steps = NewtonSteps(box, (0.3,), 1.0, "add-remove")
    features, outcome = rng.uniform(-1.2, 1.2, (1003, 5)), rng.integers(0, 2, 1003)
    beta = tuple(rng.normal(size=5))
    together = steps.added(features, outcome, beta)
    alone = [steps.added(features[i : i + 1], outcome[i : i + 1], beta)[0] for i in range(0, 1003, 7)]
    assert (together[::7] == np.array(alone)).all()
    order, count = rng.permutation(1003), rng.integers(1, 5, 1003)
    total = steps.sums(features, outcome, count, beta)
    assert (total == steps.sums(features[order], outcome[order], count[order], beta)).all()
    assert (total == (count[:, None] * together).sum(axis=0)).all()
    mu = 1.0 / (1.0 + np.exp(-np.clip(features, *np.array(box).T) @ np.array(beta)))
    exact = (count * (outcome - mu)) @ np.clip(features, *np.array(box).T)
    assert total[:5] * UNIT == pytest.approx(exact, abs=count.sum() * UNIT)


def test_the_logistic_function_to_the_last_digits() -> None:
    eta = np.concatenate([np.linspace(-40.0, 40.0, 10_001), [-900.0, 900.0, 0.0]])
    more, less = logistic(eta)
    inner = np.abs(eta) < 50.0
    assert np.abs(more[inner] * (1.0 + np.exp(-eta[inner])) - 1.0).max() < 2e-15
    assert np.array_equal(more, logistic(-eta)[1]) and np.array_equal(less, logistic(-eta)[0])
    assert (np.diff(more[:10_001]) >= 0.0).all() and more[-1] == 0.5 and less[-2] < 1e-300


def test_steps_compose_and_read_back() -> None:
    steps = NewtonSteps(BOXES[1], (0.05, 0.07, 0.2), 1.0, "replace-one")
    certificate = certify(steps, FAR, unit="row", delta=1e-6)
    certificate.verify()
    exact = GaussianProfile(math.sqrt(0.05**2 + 0.07**2 + 0.2**2)).epsilon_upper(1e-6)
    assert exact <= certificate.epsilon <= exact * (1.0 + 1e-4) + 1e-6
    unpriced = GaussianProfile(math.sqrt(0.05**2 + 0.07**2)).epsilon_upper(1e-6)
    assert unpriced < 0.5 * certificate.epsilon, "a step that is not priced would show"
    assert mechanism_from_record(as_record(steps)) == steps
    for beta in ((0.0, 0.0, 0.0), (3.0, -40.0, 9.0)):
        noise = steps.noise(0, beta)
        assert 2.0 * max(noise.gradient.in_units, noise.curvature.in_units) < steps.widest
    with pytest.raises(UncertifiedError, match="HG401"):
        steps.terms(NEAR)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("curvature", [0.1, 8.0, 1000.0])
def test_noise_of_every_step_can_be_drawn_where_the_widest_can(
    curvature: float, rows: int | None, bound: Bound, relation: Relation
) -> None:
    """Whether noise can be drawn is asked before the price is spent, when the β of later steps are not yet known."""
    for box in (((-1.0, 1.0),), BOXES[1]):
        widest = NewtonSteps(box, (1.0,), curvature, str(relation), bound, rows).widest
        steps = NewtonSteps(box, (widest / 2.0**53 * (1.0 + 1e-9),), curvature, str(relation), bound, rows)
        require_drawable(steps.widest)
        for beta in ((0.0,) * len(box), (9.0,) * len(box), *cases(box, 2.0)):
            noise = steps.noise(0, beta)
            assert 2.0 * max(noise.gradient.in_units, noise.curvature.in_units) < steps.widest


def test_the_noise_is_that_of_the_price() -> None:
    steps, beta = NewtonSteps(BOXES[1], (0.1, 0.3), 4.0, "add-remove"), (0.5, 1.0, -2.0)
    drawn = steps.noisy(np.zeros((20_000, 9), dtype=np.int64), 1, beta, SimulatedNoise(5))
    noise = steps.noise(1, beta)
    assert noise.gradient.in_units == pytest.approx(2.0 * noise.curvature.in_units, rel=1e-6)
    for part, width in ((drawn[:, :3], noise.gradient.in_units), (drawn[:, 3:], noise.curvature.in_units)):
        assert part.std() / width == pytest.approx(1.0, abs=4.0 / math.sqrt(2 * part.size))
        assert abs(0.95 * part.std() / width - 1.0) > 4.0 / math.sqrt(2 * part.size), "noise 5 % off would show"


@pytest.mark.parametrize("box", BOXES)
def test_noise_is_wide_enough_for_two_roundings_of_each_number_and_not_wider(box: tuple[Range, ...]) -> None:
    """At a precision of a thousandth, a tenth more than these roundings is a hundred steps of the lattice."""
    steps, precision, beta = NewtonSteps(box, (1e-3,), 2.0, "add-remove"), 1e-3, (0.5,) * len(box)
    numbers = len(box) + 2.0 * len(box) * (len(box) + 1) / 2.0
    least = (math.sqrt(step_cost(beta, box, 2.0, NEAR, "entries")) / UNIT + math.sqrt(numbers)) / precision
    width = steps.noise(0, beta).gradient.in_units
    assert least <= width <= least * (1.0 + 3e-12) + 1e-5 * math.sqrt(numbers) / precision + 1.0


def test_records_are_added_up_some_million_numbers_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held at once does not grow with the records, and no record is added up by itself."""
    records, batches = 1_000_000, list[int]()

    def ones(self: NewtonSteps, features: np.ndarray, outcome: np.ndarray, beta: tuple[float, ...]) -> np.ndarray:
        batches.append(9 * len(features))
        assert batches[-1] <= 2**23 and all(before >= 2**19 for before in batches[:-1])
        return np.ones((len(features), 9), dtype=np.int64)

    monkeypatch.setattr(NewtonSteps, "added", ones)
    features, every = np.broadcast_to(np.zeros(3), (records, 3)), np.ones(records, dtype=np.int64)
    steps = NewtonSteps(BOXES[1], (0.1,), 1.0, "add-remove")
    assert steps.sums(features, every, 2 * every, (0.0, 0.0, 0.0)).tolist() == [2 * records] * 9
    assert sum(batches) == 9 * records


def test_impossible_descriptions_are_refused() -> None:
    for ranges, precisions in ((((0.0, 1.5),), (0.1,)), ((CONSTANT,), ()), ((), (0.1,)), ((CONSTANT,), (-0.1,))):
        with pytest.raises(ParameterError, match="HG406"):
            NewtonSteps(ranges, precisions, 1.0, "add-remove")


@pytest.mark.parametrize("weight", [0.5, 8.0, 50.0])
@pytest.mark.parametrize("box", [*BOXES, (CONSTANT, (-2.0, -0.5)), ((-0.4, 1.0), (0.2, 3.0), (-1.0, 0.0))])
def test_without_coefficients_the_price_is_the_sum_of_the_largest_movements(
    box: tuple[tuple[float, float], ...], weight: float
) -> None:
    """At β = 0 all residuals are ±½ and all slopes ¼, so each entry's largest movement is known."""
    ends = [np.linspace(low, high, 201) for low, high in box]  # 201 points meet 0 in every range that has it
    ends = [np.append(x, 0.0) if x[0] < 0.0 < x[-1] else x for x in ends]
    same = sum((x.max() - x.min()) ** 2 for x in ends) / 4.0
    opposite = sum(np.abs(x).max() ** 2 for x in ends)
    products = [ends[i] ** 2 if i == j else np.outer(ends[i], ends[j]) for i in range(len(box)) for j in range(i + 1)]
    movable = sum((entry.max() - entry.min()) ** 2 for entry in products) / 16.0
    largest = sum(np.abs(entry).max() ** 2 for entry in products) / 16.0
    beta = (0.0,) * len(box)
    assert step_cost(beta, box, weight, FAR) == pytest.approx(max(same, opposite) + weight * movable, rel=1e-8)
    assert step_cost(beta, box, weight, NEAR) == pytest.approx(opposite / 4.0 + weight * largest, rel=1e-8)
