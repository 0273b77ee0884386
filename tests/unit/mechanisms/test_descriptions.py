"""What a mechanism tells of its noise, against the law of the noise; what it cannot be is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.histograms import HistogramRounds, TreeCounts
from hedgerow.mechanisms.interface import AuditRecord, Quote
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.mechanisms.joint.joint_numbers import JointCoordinate, JointFeature, JointLayout
from hedgerow.mechanisms.laws import Additive
from hedgerow.mechanisms.noisy_counts import (
    AveragedLaplaceNoise,
    GaussianCounts,
    GaussianNoise,
    GeometricCounts,
    LaplaceNoise,
    StableCategories,
)
from hedgerow.mechanisms.noisy_moments import AveragedLaplaceMoments, MomentsGaussian, MomentsLayout, MomentsNoise
from hedgerow.mechanisms.randomised_records import Resample, SmoothedResample, randomised_records
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian, ResampledUnits
from hedgerow.mechanisms.residual_margins import ResidualMargins
from hedgerow.mechanisms.vote_tree import VoteTree
from hedgerow.noise.lattice import LatticeNoise, lattice_noise
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE
TREES = {law: TreeCounts(law, 3, (2, 2), (4.0, 6.0, 5.0), cells=2) for law in ("gaussian", "laplace")}


def geometric_sd(scale: float) -> float:
    """√Σ z² P(z) of two-sided geometric integers, added up."""
    z = np.arange(-400, 401)
    mass = np.exp(-np.abs(z) / scale)
    return math.sqrt(float((z**2 * mass).sum() / mass.sum()))


@pytest.mark.parametrize("law", TREES)
def test_the_counts_of_a_tree_have_the_spread_of_their_level(law: str) -> None:
    """A root, two nodes and three leaves in each cell; the first level has the widest noise."""
    tree = TREES[law]
    sds = [geometric_sd(width) if law == "laplace" else width for width in tree.widths]
    assert tree.noise_sds() == pytest.approx(sds, rel=1e-9)
    assert tree.table_spread(()) == pytest.approx([sds[0], *sds[1:2] * 2, *sds[2:] * 3], rel=1e-9)
    assert tree.priced_sd == pytest.approx(sds[2], rel=1e-9)
    assert tree.released_cells == 2


@pytest.mark.parametrize("gamma", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("law", TREES)
def test_the_half_width_of_a_tree_holds_all_counts_of_the_widest_level(law: str, gamma: float) -> None:
    """Two cells of two nodes: four counts, whose exact chances are added up."""
    tree = TREES[law]
    width, power = 6.0, 2 if law == "gaussian" else 1
    z = np.arange(-400, 401)
    mass = np.exp(-((np.abs(z) / width) ** power) / power)

    def chance(half: float) -> float:
        return float(mass[np.abs(z) <= half].sum() / mass.sum()) ** 4

    half = tree.half_width(2, gamma)
    assert chance(half) >= 1.0 - gamma
    assert chance(half - 2.0) < 1.0 - gamma, "two counts less would not hold all"
    votes = VoteTree(law, 3, (2, 2), (4000.0, 6000.0, 5000.0), 2, one=1000, parts=1, reach=1, distance=0.0, rows=None)
    assert votes.half_width(2, gamma) == pytest.approx(half, abs=1.0), "in votes, not in steps"


def test_one_count_of_wide_noise_is_enumerated_and_two_are_too_many() -> None:
    law = GaussianCounts(300.0, 2).exact_law(NEAR)
    assert law is not None and GaussianCounts(115.0, 2).exact_law(FAR) is None
    claimed = profile_of(GaussianCounts(300.0, 2), NEAR)
    for epsilon in (0.0, 0.005, 0.01):
        exact = float(np.maximum(law[0] - math.exp(epsilon) * law[1], 0.0).sum())
        assert exact <= claimed.delta_upper(epsilon) <= 1.001 * exact


@pytest.mark.parametrize("relation", Relation)
def test_a_tree_is_built_for_a_spread_with_the_root_where_presence_is_private(relation: Relation) -> None:
    tree = TreeCounts.of_noise_sd(7.0, Quote(relation))
    assert tree.priced_sd == pytest.approx(7.0) and tree.rooted == (relation is NEAR)
    assert tree.nodes[-1] == 1024 and tree.nodes[0] == (1 if relation is NEAR else 2)


@pytest.mark.parametrize("relation", Relation)
def test_joint_moments_are_built_for_a_spread(relation: Relation) -> None:
    wide, narrow = (JointMoments.of_noise_sd(sd, Quote(relation)) for sd in (20.0, 10.0))
    assert [made.priced_sd for made in (wide, narrow)] == pytest.approx([20.0, 10.0], rel=1e-4)
    assert narrow.mu(relation) == pytest.approx(2.0 * wide.mu(relation), rel=1e-4)
    # A sum of S steps and 2S half steps to a range: what is drawn, in units of the range.
    place = next(place for place, one in enumerate(wide.coordinates) if one.kind == "sum")
    drawn = wide.noisy(np.zeros((4000, len(wide.names)), dtype=np.int64), SimulatedNoise(3), cells=({},)).values
    steps = wide.layout.features[0].steps
    assert drawn[:, place].std() / (2.0 * steps) == pytest.approx(20.0, rel=0.05)
    assert wide.layout.presence == ("public" if relation is FAR else "private")


def test_sums_of_joint_moments_beyond_64_bits_are_added_exactly() -> None:
    number = JointCoordinate("sum", (0,), LatticeNoise(2000, 0))
    mechanism = JointMoments("gaussian", JointLayout((JointFeature(10),), "public", 1), (number,), ())
    many = 2**60
    data = Histogram.from_triplets(np.array([0]), np.array([1]), np.array([many]), cells=1)
    (one,) = mechanism.contribution(AuditRecord(0, 1))[0]
    assert abs(int(one)) == 10, "ten times 2^60 would wrap around"
    assert mechanism.outputs(data, 3, SimulatedNoise(1))[:, 0, 0] == pytest.approx([float(one) * many] * 3, rel=1e-12)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("law", TREES)
def test_the_worst_neighbours_differ_by_one_sensitivity_and_twice_as_many_by_more(law: str, relation: Relation) -> None:
    tree = TREES[law]
    differences = [moved(tree, first, second) for first, second in ends(tree, relation)]
    difference = max(differences, key=lambda one: size(tree, one))
    assert tree.excess(relation, difference) == pytest.approx(1.0, abs=1e-9)
    assert tree.excess(relation, 2.0 * difference) == pytest.approx(2.0, abs=1e-9)
    assert max(tree.excess(relation, one) for one in differences) <= 1.0


def ends(tree: TreeCounts, relation: Relation) -> list[tuple[tuple[int, int], tuple[int, int] | None]]:
    places = [(cell, leaf) for cell in range(tree.cells) for leaf in range(tree.leaves)]
    others: list[tuple[int, int] | None] = [None] if relation is NEAR else [*places]
    return [(one, other) for one in places for other in others]


def moved(tree: TreeCounts, first: tuple[int, int], second: tuple[int, int] | None) -> np.ndarray:
    leaves = np.zeros((2, tree.cells, tree.leaves), dtype=np.int64)
    leaves[0][first] += 1
    if second is not None:
        leaves[1][second] += 1
    one, other = (np.concatenate(tree.level_counts(side), axis=1) for side in leaves)
    return np.asarray(one - other, dtype=np.float64)


def size(tree: TreeCounts, difference: np.ndarray) -> float:
    widths = np.repeat(np.array(tree.widths), tree.nodes)
    return float(((np.abs(difference) / widths) ** tree.noise_law.power).sum())


def test_moments_that_move_farthest_differ_by_one_sensitivity() -> None:
    layout = MomentsLayout(-10, 2, 10, 0, "public", 1)
    mechanism = MomentsGaussian(layout, MomentsNoise(None, LatticeNoise(4000, 8), LatticeNoise(50_000, 8)))
    y = np.array([-10.0, 10.0])
    far = np.array([[y[1] - y[0], 0.0]])
    assert mechanism.excess(FAR, far) == pytest.approx(20.0 / (4000 / 256) / mechanism.mu(FAR), rel=1e-9)
    assert mechanism.mu(FAR) == pytest.approx(layout.mu(FAR, mechanism.noise.widths()), rel=1e-12)
    assert mechanism.finest_grid == 10 and mechanism.released_cells == 1
    assert replace(mechanism, layout=replace(layout, cells=4)).released_cells == 4


def test_a_mechanism_without_a_table_measures_no_difference() -> None:
    steps = HistogramRounds(2, 2, 2, 1, 4, LatticeNoise(2000, 0), LatticeNoise(2000, 0))
    assert Additive.table_spread(steps, ()) is None
    with pytest.raises(TypeError, match="histogram-rounds"):
        steps.excess(FAR, np.zeros((1, 2)))


class Unstudied(Additive):
    """Noise on sums whose worst neighbours nobody has looked for."""

    type = "unstudied"


def test_where_no_neighbours_are_known_nothing_is_proven() -> None:
    found = Unstudied().attained(FAR)
    assert found.pairs == () and found.epsilon_lower(0.1) == 0.0 and found.why.startswith("No pair of neighbours")
    for relation in (NEAR, FAR):
        assert TREES["gaussian"].attained(relation).pairs


def test_single_numbers_have_the_spread_of_their_law() -> None:
    laplace, averaged = LaplaceNoise(3.0, 2.0), AveragedLaplaceNoise(3.0, 5, 2.0)
    assert laplace.noise_sd == pytest.approx(float(stats.laplace(scale=3.0).std()))
    assert averaged.noise_sd == pytest.approx(math.sqrt(5) * float(stats.laplace(scale=3.0).std()))
    assert StableCategories(1.5, 8).noise_sd == pytest.approx(geometric_sd(1.5), rel=1e-9)
    for number in (laplace, averaged, GaussianNoise(3.0, 2.0)):
        studied = number.studied()
        assert studied.sensitivity == 1.0 and replace(studied, sensitivity=2.0) == number
        assert number.released_cells is None
    for counts in (GaussianCounts(3.0, 4), GeometricCounts(3.0, 4)):
        assert counts.released_cells == 4 and counts.studied() is counts


def test_limits_of_rows_are_those_that_were_priced() -> None:
    tables = ResidualMargins((2, 2), ((0,), (1,)), (lattice_noise(4.0),) * 2, exhaustive=False, rows=3)
    assert tables.row_limit == 3 and replace(tables, rows=None).row_limit is None


@pytest.mark.parametrize(
    ("steps", "start", "stride", "rule"),
    [(2**24 + 1, 0, 1, "2²⁴ steps"), (1, 2**31, 1, "31 bits"), (2**20, 0, 2**11, "31 bits")],
)
def test_a_grid_that_is_too_fine_or_too_wide_is_refused(steps: int, start: int, stride: int, rule: str) -> None:
    with pytest.raises(ParameterError, match=rule) as refused:
        MomentsLayout(start, stride, steps, 0, "private", 1)
    assert refused.value.code == "HG107"
    MomentsLayout(min(start, 2**31 - 2), 1, min(steps, 2**24 if start == 0 else 1), 0, "private", 1)


def test_narrow_averaged_noise_of_a_huge_loss_is_priced_by_its_largest_loss() -> None:
    """The largest loss is above 600, up to which curves are computed: below it nothing is claimed."""
    layout = MomentsLayout(-2000, 2, 2000, 0, "public", 1)
    mechanism = AveragedLaplaceMoments(layout, MomentsNoise(None, LatticeNoise(1000, 8), None), 3)
    curve, pure = profile_of(mechanism, FAR), 4000.0 * 256 / 1000
    assert pure > 600.0
    assert curve.delta_upper(0.99 * pure) == 1.0 and curve.delta_upper(1.01 * pure) == 0.0
    assert curve.epsilon_upper(1e-6) == pytest.approx(pure, rel=1e-6) and curve.epsilon_upper(1e-6) >= pure


def test_what_is_priced_under_replace_one_has_no_worst_pair_under_add_remove() -> None:
    for made in (randomised_records(1.0, (3,), (1.0,)), Resample(6, 2), SmoothedResample(6, 2, 2)):
        with pytest.raises(UncertifiedError, match="HG520"):
            made.worst_pairs(NEAR)
        (pair,) = made.worst_pairs(FAR)
        assert pair.first != pair.second


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "2", 2**24 + 1])
def test_numbers_of_draws_are_whole_and_within_limits(wrong: object) -> None:
    with pytest.raises(ParameterError, match="HG406"):
        Resample(6, wrong)  # type: ignore[arg-type]  # what must be refused
    if wrong != 2**24 + 1:
        for at in range(3):
            numbers: list[object] = [6, 2, 2]
            numbers[at] = wrong
            with pytest.raises(ParameterError, match="HG406"):
                SmoothedResample(*numbers)  # type: ignore[arg-type]  # what must be refused
    assert Resample(2**53, 2**24).draws == 2**24


def resampled(shape: str, *reaches: int, presence: str = "private", cells: int = 1) -> ResampledGaussian:
    parts = tuple(ResampledCoordinate(reach, lattice_noise(4.0 * reach)) for reach in reaches)
    return ResampledGaussian(3, 1.0, shape, parts, presence, cells)  # type: ignore[arg-type]  # also what is refused


@pytest.mark.parametrize(
    ("shape", "reaches", "options"),
    [
        ("value", (), {}),
        ("value", (4, 1), {}),
        ("value-and-count", (4,), {}),
        ("value-and-count", (4, 2), {}),
        ("count", (2,), {}),
        ("count", (1, 1), {}),
        ("vector", (), {}),
        ("value", (4,), {"presence": "public", "cells": 2}),
        ("count", (1,), {"presence": "public"}),
        ("value-and-count", (4, 1), {"presence": "public"}),
        ("one-of", (1, 1), {"presence": "public"}),
    ],
)
def test_coordinates_that_do_not_fit_a_shape_are_refused(shape: str, reaches: tuple[int, ...], options: dict) -> None:
    with pytest.raises(ParameterError, match="HG406"):
        resampled(shape, *reaches, **options)


def test_shapes_that_fit_are_taken_and_say_who_is_hidden() -> None:
    value = resampled("value", 4, presence="public")
    assert not value.hidden and replace(value, presence="private").hidden
    count = ResampledCoordinate(2, lattice_noise(6.0))
    assert ResampledUnits(3, 1.0, "count", (count,), 2, 2).hidden
    assert resampled("value-and-count", 4, 1, cells=3).released_cells == 3
    with pytest.raises(UncertifiedError, match="HG401"):
        profile_of(value, NEAR)
    assert profile_of(replace(value, presence="private"), NEAR).epsilon_upper(1e-6) > 0.0


def test_vectors_have_neither_a_worst_pair_nor_features_of_one_record() -> None:
    vector = resampled("vector", 4, 4)
    with pytest.raises(UncertifiedError, match="HG520"):
        vector.worst_pairs(FAR)
    with pytest.raises(TypeError, match="'vector'"):
        vector.contribution(AuditRecord(0, 1))


def test_replicates_are_alike_where_their_noise_alone_differs() -> None:
    one = resampled("value", 4)
    wider = replace(one, coordinates=(ResampledCoordinate(4, lattice_noise(99.0)),))
    assert one.differs_in_noise_alone(wider) and one.differs_in_noise_alone(one)
    for other in (
        replace(one, n_resamples=4),
        replace(one, coordinates=(ResampledCoordinate(5, lattice_noise(99.0)),)),
        replace(one, cells=2),
        ResampledUnits(3, 1.0, "count", (ResampledCoordinate(4, lattice_noise(16.0)),), 4, 1),
        GeometricCounts(2.0, 1),
    ):
        assert not one.differs_in_noise_alone(other)


def test_a_bucket_holds_a_grid_step_and_a_record_is_in_groups_that_there_are() -> None:
    noise = LatticeNoise(2000, 0)
    for groups, buckets, most_groups, steps in ((2, 2, 3, 4), (2, 5, 1, 4)):
        with pytest.raises(ParameterError, match="HG406"):
            HistogramRounds(1, groups, buckets, most_groups, steps, noise, noise)
    assert HistogramRounds(1, 2, 4, 2, 4, noise, noise).most_groups == 2
