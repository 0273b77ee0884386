"""What a mechanism is proven to cost at least: rows in as many cells are a composition, and no bound is above."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.accounting.lower_bounds import LaplacePair, NormalPair
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_moments import JointMoments, _Climb, _Ends
from hedgerow.mechanisms.joint.joint_numbers import JointCoordinate, JointFeature, JointLayout
from hedgerow.mechanisms.mechanism import kinds
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledUnits
from hedgerow.noise.lattice import LatticeNoise, lattice_noise


def units(n_resamples: int, max_rows: int, cells: int, width: float = 6.0) -> ResampledUnits:
    """Return replicates of counts; the noise on a row is the same whatever the limit of rows."""
    count = ResampledCoordinate(max_rows, lattice_noise(width))
    return ResampledUnits(n_resamples, 1.0, "count", (count,), max_rows, cells)


def lower(mechanism: ResampledUnits, delta: float = 1e-3) -> float:
    return mechanism.attained(Relation.ADD_REMOVE).epsilon_lower(delta)


@pytest.mark.parametrize("rows", [2, 3])
def test_rows_in_as_many_cells_cost_at_least_as_many_replicates_of_a_row(rows: int) -> None:
    spread, together = units(2, rows, rows), units(2, rows, 1)
    alone = units(2 * rows, 1, 1)
    assert lower(spread) == pytest.approx(max(lower(together), lower(alone)), rel=1e-9)
    assert min(lower(together), lower(alone)) > 0.1
    # Of fewer cells than rows a unit in one cell alone is known.
    assert lower(units(2, rows + 1, rows)) == lower(units(2, rows + 1, 1))
    curve = spread.terms(Relation.ADD_REMOVE)[0].alone()
    assert curve is not None and lower(spread) <= curve.epsilon_upper(1e-3)


def test_both_ways_are_held_against_the_price() -> None:
    pairs = [mechanism.attained(Relation.ADD_REMOVE).pairs for mechanism in (units(2, 3, 3), units(2, 3, 1))]
    alone = units(6, 1, 1).attained(Relation.ADD_REMOVE).pairs
    assert {*pairs[0]} == {*pairs[1], *alone} and len(pairs[0]) == len(pairs[1]) + len(alone)
    wide = 40.0
    assert lower(units(8, 2, 2, wide)) == lower(units(8, 2, 1, wide)) > lower(units(16, 1, 1, wide)) > 0.0


def test_sums_that_are_rounded_are_known_to_move_by_whole_steps_alone() -> None:
    """A record adds 3906.26 and 931.33 steps: the rounded sums of two neighbours may differ by 3906 and 931."""
    noise, layout = LatticeNoise(1500, 0), JointLayout((JointFeature(1_000_003),), "private", 1)
    sums = JointCoordinate("sum", (0,), noise, 8), JointCoordinate("sum", (0, 0), noise, 30)
    normal, laplace = (
        JointMoments(law, layout, sums, ()).attained(Relation.ADD_REMOVE).pairs for law in ("gaussian", "laplace")
    )
    assert laplace == (((LaplacePair(1, 1500.0, 3906.0), 1), (LaplacePair(1, 1500.0, 931.0), 1)),)
    assert normal == (tuple((NormalPair.on_lattice(steps, 1500.0), 1) for steps in (3906.0, 931.0)),)


def test_a_search_for_the_farthest_records_may_change_a_feature_of_both_at_once() -> None:
    """The last two places are farther apart than the first two, and no place is farther from one of those."""
    places = np.array([[0.0, -2.5], [0.0, 2.5], [-3.0, 0.0], [3.0, 0.0]])
    climb = _Climb(lambda records: places[[digits[0] for digits in records]], 2)
    assert climb.climbed(((0,), (1,)), [range(4)], both=False) == ((0,), (1,))
    assert climb.cost(climb.climbed(((0,), (1,)), [range(4)], both=True)) == 36.0


def test_the_places_between_the_ends_are_even_and_each_has_a_digit() -> None:
    for specimen in kinds()["joint-moments"].specimens():
        joint = specimen.mechanism
        assert isinstance(joint, JointMoments)
        ends = _Ends(joint)
        for i in range(len(joint.layout.features)):
            missing, first, last, *between = ends.places(i)
            assert missing is None and first == 0 and last is not None and last > 0
            inside = [place for place in between if place is not None]
            steps = [later - sooner for sooner, later in zip([0, *inside], [*inside, last], strict=True)]
            assert max(steps) - min(steps) <= (1 if joint.layout.ball is None else 2), steps
            if joint.layout.ball is None:
                assert len(between) == ends.base - 3
                continue
            # A vector of even places that lies in the ball stays there, on whichever grid.
            assert len(inside) % 2 == 1 and 2 * inside[len(inside) // 2] == last
            even = [2 * (place + 1) / (len(inside) + 1) - 1 for place in range(len(inside))]
            assert all(abs(2 * v - last) <= abs(x) * last for v, x in zip(inside, even, strict=True))
