"""The price of totals with bounds by cell, against brute force over all integer pairs; the published scale rejected."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.accounting.compose import profile_of
from hedgerow.audit.attack import likelihood_ratio, threshold_attack
from hedgerow.audit.verdict import sampler_of
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.bounded_totals import MOST_BOUNDED_CELLS, BoundedCells, CellKind, CellTotals, cell_totals
from hedgerow.mechanisms.certificate import certify, mechanism_from_record
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.noise.lattice import LatticeNoise, lattice_noise
from hedgerow.testing.simulated import SimulatedNoise

FAR, NEAR = Relation.REPLACE_ONE, Relation.ADD_REMOVE


@st.composite
def cases(draw: st.DrawFn) -> BoundedCells:
    cells, stride, start = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(-15, 12))
    pairs = st.tuples(st.integers(0, 9), st.integers(1, 7))
    ends = [(start + stride * first, start + stride * (first + steps)) for first, steps in draw_all(draw, pairs, cells)]
    low, high = (np.array([pair[side] for pair in ends], dtype=float) for side in (0, 1))
    widths = st.floats(0.3, 300)
    square = np.array(draw_all(draw, widths, cells)) if draw(st.booleans()) else None
    return BoundedCells(low, high, stride, np.array(draw_all(draw, widths, cells)), square)


def draw_all(draw: st.DrawFn, strategy: st.SearchStrategy, size: int) -> list:
    return [draw(strategy) for _ in range(size)]


def brute(cells: BoundedCells, relation: Relation, power: int) -> float:
    """The largest cost over every pair of records, each in some cell with some value of its grid, or in none."""
    size = len(cells.low)
    tables = [np.zeros((size, 2))]
    for cell in range(size):
        for y in range(int(cells.low[cell]), int(cells.high[cell]) + 1, cells.stride):
            one = np.zeros((size, 2))
            one[cell] = y / cells.total[cell], 0.0 if cells.square is None else y * y / cells.square[cell]
            tables.append(one)
    others = tables[:1] if relation is NEAR else tables
    return max(float((np.abs(one - other) ** power).sum()) for one in tables for other in others)


@given(cases(), st.sampled_from([FAR, NEAR]), st.sampled_from([1, 2]))
@settings(max_examples=300, deadline=None)
def test_declared_cost_is_the_brute_force_maximum(cells: BoundedCells, relation: Relation, power: int) -> None:
    """Of this very formula, within rounding: neither too cheap nor dearer than a pair that exists."""
    assert cells.farthest(relation, power=power) == pytest.approx(brute(cells, relation, power), rel=1e-12)


def scaled(bounds: list[tuple[int, int]], law: str, factor: float, relation: Relation, *, reach: bool = True) -> float:
    """Totals alone, noise of `factor` times the reach (or the spread) of each cell: what they cost."""
    low, high = np.array(bounds, dtype=float).T
    size = np.maximum(np.abs(low), np.abs(high)) if reach else high - low
    power = 2 if law == "gaussian" else 1
    return BoundedCells(low, high, 1, factor * size, None).farthest(relation, power=power) ** (1 / power)


def test_twice_the_reach_is_enough_for_laplace_and_root_two_is_not_for_gaussian_noise_where_signs_differ() -> None:
    bounds = [(0, 10), (5, 400), (-30, 20), (-9, 9)]
    assert scaled(bounds, "geometric", 2.0, FAR) == pytest.approx(1.0)
    assert scaled(bounds, "geometric", 1.0, NEAR) == pytest.approx(1.0)
    assert scaled(bounds[:2], "gaussian", math.sqrt(2), FAR) == pytest.approx(1.0)
    # A value moves from -9 to 9 within its cell: 18/(9·√2) = √2, which a look across cells alone would miss.
    assert scaled(bounds, "gaussian", math.sqrt(2), FAR) == pytest.approx(math.sqrt(2))
    assert scaled(bounds, "gaussian", 1.0, NEAR) == pytest.approx(1.0)


def totals(bounds: list[tuple[int, int]], widths: list[float], law: str = "geometric") -> CellTotals:
    kinds = tuple(CellKind(*pair, lattice_noise(width), None) for pair, width in zip(bounds, widths, strict=True))
    return CellTotals(law, 0, 1, kinds, tuple(range(len(bounds))))


def attacked(mechanism: CellTotals, *, runs: int = 200_000, seed: int = 5) -> float:
    """A certified lower bound on ε at δ = 0, wrong with probability 1e-12, on the worst of the pairs."""
    noise, found = SimulatedNoise(seed), []
    for pair in mechanism.worst_pairs(FAR):
        first, second = (sampler_of(mechanism, data, noise) for data in pair.histograms())
        score = likelihood_ratio(mechanism, pair)
        found.append(threshold_attack(first, second, score, delta=0.0, runs=runs, alpha=1e-12).epsilon_lower)
    return max(found)


BOUNDS = [(100, 130), (1000, 1200), (0, 40)]


def test_the_published_scale_is_rejected_by_an_attack_and_the_correct_one_is_not() -> None:
    """Sabotage: "max V_i": one noise for all cells, scaled to the largest U_i − L_i, as published, claimed at ε = 1.

    A record of 1,200 that leaves its cell moves the table by 1,330, not by 200.
    """
    published, correct = [200.0] * 3, [2.0 * high for _, high in BOUNDS]
    assert profile_of(totals(BOUNDS, correct), FAR).epsilon_upper(0.0) <= 1.0 + 1e-6
    assert attacked(totals(BOUNDS, correct)) <= 1.0
    sabotaged = totals(BOUNDS, published)
    assert attacked(sabotaged) > 3.0
    assert profile_of(sabotaged, FAR).epsilon_upper(0.0) == pytest.approx(1330 / 200, rel=1e-5), "and its price says so"


def test_the_per_cell_spread_of_each_is_rejected_too() -> None:
    """Sabotage: "V_i each": noise of the cell's own U_i − L_i over ε, which holds only where cells are public."""
    assert attacked(totals(BOUNDS, [float(high - low) for low, high in BOUNDS])) > 3.0


@pytest.mark.parametrize("law", ["gaussian", "geometric"])
@pytest.mark.parametrize("relation", [FAR, NEAR])
def test_the_audit_finds_a_pair_as_far_apart_as_was_priced(law: str, relation: Relation) -> None:
    kinds = tuple(
        CellKind(low, high, lattice_noise(3.0 * high), lattice_noise(7.0 * high**2))
        for low, high in ((-40, 30), (0, 12), (-21, 21))
    )
    mechanism = CellTotals(law, -42, 1, kinds, (0, 1, 2, 2))
    power = 2 if law == "gaussian" else 1
    costs = []
    for pair in mechanism.worst_pairs(relation):
        moved = np.zeros((4, 2))
        for sign, record in ((1.0, pair.first), (-1.0, pair.second)):
            if record is not None:
                added, widths = mechanism.contribution(record)
                moved[record.cell] += sign * added / widths
        costs.append(float((np.abs(moved) ** power).sum()))
    declared = mechanism.mu(relation) ** 2 if law == "gaussian" else mechanism.pure(relation)
    assert max(costs) == pytest.approx(declared, rel=1e-9)


def test_a_certificate_reads_back_and_prices_anew() -> None:
    mechanism = totals(BOUNDS, [2.0 * high for _, high in BOUNDS])
    made = certify(mechanism, FAR, unit="row", delta=0.0)
    assert 0.999 < made.epsilon <= 1.0 + 1e-6
    assert mechanism_from_record(as_record(mechanism)) == mechanism
    made.verify()
    kinds = (mechanism.kinds[0], replace(mechanism.kinds[1], high=2400), mechanism.kinds[2])
    with pytest.raises(HedgerowError, match="HG501"):
        replace(made, mechanism=replace(mechanism, kinds=kinds)).verify()


KIND = CellKind(0, 10, LatticeNoise(2000, 0), None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"law": "uniform"},
        {"stride": 0},
        {"kinds": ()},
        {"kind_of": ()},
        {"kind_of": (0, 1)},
        {"kind_of": (-1,)},
        {"kinds": (KIND, KIND), "kind_of": (0, 0)},
        {"kind_of": (0,) * (MOST_BOUNDED_CELLS + 1)},
        {"kinds": (replace(KIND, low=10),)},
        {"kinds": (replace(KIND, high=2**31),)},
        {"stride": 3},
        {"kinds": (KIND, replace(KIND, square=LatticeNoise(2000, 0))), "kind_of": (0, 1)},
    ],
)
def test_a_description_that_says_nothing_is_refused(wrong: dict) -> None:
    with pytest.raises(ParameterError, match="HG406"):
        CellTotals(**({"law": "geometric", "start": 0, "stride": 1, "kinds": (KIND,), "kind_of": (0,)} | wrong))


@pytest.mark.parametrize("law", ["geometric", "gaussian"])
@pytest.mark.parametrize("seed", range(12))
def test_the_farthest_records_are_those_of_a_search_over_all_pairs(seed: int, law: str) -> None:
    """Every kind of pair by itself: one that the search of all cells and indices finds farther apart would show."""
    rng = np.random.default_rng(seed)
    count, square = int(rng.integers(1, 6)), bool(rng.integers(2))
    described = min(3, count)
    lows, steps = rng.integers(-8, 3, described), rng.integers(1, 12, described)
    kind_of = [*range(described), *rng.integers(0, described, count - described).tolist()]
    kinds = tuple(
        CellKind(
            int(2 * low),
            int(2 * (low + more)),
            lattice_noise(float(rng.uniform(2.0, 40.0))),
            lattice_noise(float(rng.uniform(50.0, 2000.0))) if square else None,
        )
        for low, more in zip(lows, steps, strict=True)
    )
    mechanism = CellTotals(law, -20, 2, kinds, tuple(rng.permutation(kind_of).tolist()))
    power, added = mechanism.noise_law.power, {}
    for cell, kind in enumerate(mechanism.kind_of):
        for value in range(kinds[kind].low, kinds[kind].high + 1, 2):
            numbers = [value, value**2] if square else [value]
            noises = [kinds[kind].total, *([kinds[kind].square] if square else [])]
            row = np.zeros((count, len(numbers)))
            row[cell] = [number / noise.in_units for number, noise in zip(numbers, noises, strict=True)]
            added[cell, (value + 20) // 2] = row
    nothing = np.zeros_like(row)

    def apart(first: np.ndarray, second: np.ndarray) -> float:
        return float((np.abs(first - second) ** power).sum())

    pairs = [(one, other) for one in added for other in added]
    farthest = {
        "one-sided": max(apart(row, nothing) for row in added.values()),
        "same cell": max(apart(added[one], added[other]) for one, other in pairs if one[0] == other[0]),
        "across cells": max(
            (apart(added[one], added[other]) for one, other in pairs if one[0] != other[0]), default=0.0
        ),
    }
    for relation, names in ((NEAR, ["one-sided"]), (FAR, ["same cell", "across cells" if count > 1 else "one-sided"])):
        assert [pair.name for pair in mechanism.worst_pairs(relation)] == names
        for pair in mechanism.worst_pairs(relation):
            ends = [nothing if end is None else added[end.cell, end.index] for end in (pair.first, pair.second)]
            assert apart(*ends) == pytest.approx(farthest[pair.name], rel=1e-12)


@pytest.mark.parametrize("law", ["geometric", "gaussian"])
def test_the_half_width_of_all_cells_is_the_least_that_holds_them(law: str) -> None:
    widths, gamma = [30.0, 8.0, 8.0, 2.0], 0.05
    mechanism = totals([(0, 9)] * 4, widths, law)
    law_of = stats.laplace if law == "geometric" else stats.norm

    def chance(half: float) -> float:
        return math.prod(1.0 - 2.0 * float(law_of.sf(half / width)) for width in widths)

    half = mechanism.half_width(4, gamma)
    assert chance(half) >= 1.0 - gamma - 1e-6
    assert chance(0.99 * half) < 1.0 - gamma - 1e-4, "a hundredth less would not hold all"
    assert mechanism.spread[:, 0] == pytest.approx([width * law_of(0, 1).std() for width in widths], rel=1e-6)
    assert np.array_equal(mechanism.table_spread(("total",)), mechanism.spread) and mechanism.released_cells == 4


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("relation", [FAR, NEAR])
@pytest.mark.parametrize("law", ["geometric", "gaussian"])
def test_noise_in_given_proportions_costs_the_precision_that_was_asked(
    law: str, relation: Relation, squares: bool
) -> None:
    limits = np.array([[-9, 6], [0, 12], [-9, 6], [3, 6]])
    widths = np.array([1.0, 2.0, 1.0, 0.5]), np.array([20.0, 30.0, 20.0, 10.0]) if squares else None
    mechanism = cell_totals(law, (-9, 3), limits, widths, 0.25, relation)
    declared = mechanism.mu(relation) if law == "gaussian" else mechanism.pure(relation)
    assert 0.25 * (1.0 - 1e-5) < declared <= 0.25 * (1.0 + 1e-9)
    # The same by brute force over the records of every cell, at the stride of the grid.
    cells = BoundedCells(*limits.astype(float).T, 3, *widths)
    power = 2 if law == "gaussian" else 1
    scale = brute(cells, relation, power) ** (1.0 / power) / 0.25
    assert [mechanism.kinds[kind].total.in_units for kind in mechanism.kind_of] == pytest.approx(
        (scale * widths[0]).tolist(), rel=2e-6
    )
    assert [(kind.low, kind.high) for kind in mechanism.kinds] == [(-9, 6), (0, 12), (3, 6)], "cells alike share a kind"
    assert {kind.square is None for kind in mechanism.kinds} == {not squares}
