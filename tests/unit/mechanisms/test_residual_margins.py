"""Residuals of many tables: the price is that of the farthest records, by brute force; one pattern alone is too low."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.mechanism import as_record, from_record
from hedgerow.mechanisms.residual_margins import ResidualMargins, farthest, over_sets, residual_margins
from hedgerow.noise.lattice import lattice_noise
from hedgerow.testing.simulated import SimulatedNoise

NEAR, FAR = Relation.ADD_REMOVE, Relation.REPLACE_ONE


def layout(seed: int, **options: object) -> ResidualMargins:
    """Return a random layout of two to four columns, of all tables up to a random order, with unequal noise."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in rng.integers(2, 5, rng.integers(2, 5)))
    while math.prod(sizes) > 60:
        sizes = sizes[1:]
    order = int(rng.integers(1, len(sizes) + 1))
    margins = tuple(A for most in range(order + 1) for A in combinations(range(len(sizes)), most))
    noise = tuple(
        lattice_noise(float(rng.lognormal(0.0, 0.7)) * math.prod(sizes[i] for i in margin)) for margin in margins
    )
    return ResidualMargins(sizes, margins, noise, **{"exhaustive": True, **options})


def residuals(tables: ResidualMargins, cell: tuple[int, ...], added: int) -> np.ndarray:
    """Return what a record adds, in widths of the noise, by matrices, and by no function of the library."""
    parts = []
    for margin, noise in zip(tables.margins, tables.noise, strict=True):
        vector = np.ones(1)
        for place in margin:
            size = tables.sizes[place]
            vector = np.kron(vector, (size * np.eye(size) - np.ones((size, size)))[:, cell[place]])
        parts.append(added * vector / noise.in_units)
    return np.concatenate(parts)


def brute_force(tables: ResidualMargins, relation: Relation) -> float:
    """Return the largest squared distance over all pairs of neighbours of one record, counted out."""
    records = [
        residuals(tables, cell, added)
        for cell in product(*map(range, tables.sizes))
        for added in range(tables.low, tables.high + 1)
    ]
    alone = max(float(record @ record) for record in records)
    if relation is NEAR:
        return alone
    replaced = max(float(((a - b) ** 2).sum()) for a, b in combinations(records, 2))
    return replaced if tables.exhaustive else max(replaced, alone)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("relation", [NEAR, FAR])
def test_the_price_is_that_of_the_farthest_records(seed: int, relation: Relation) -> None:
    for options in ({}, {"exhaustive": False}):
        tables = layout(seed, **options)
        assert tables.mu(relation) ** 2 == pytest.approx(brute_force(tables, relation), rel=1e-9)


@pytest.mark.parametrize("ends", [(-1, 2), (0, 3), (1, 3), (-2, -1)])
def test_the_price_of_totals_is_that_of_the_farthest_records(ends: tuple[int, int]) -> None:
    for seed in range(4):
        tables = layout(seed, low=ends[0], high=ends[1], exhaustive=seed % 2 == 0)
        for relation in (NEAR, FAR):
            assert tables.mu(relation) ** 2 == pytest.approx(brute_force(tables, relation), rel=1e-9)


def test_a_unit_of_several_rows_costs_as_many_times() -> None:
    tables = layout(3, exhaustive=False)
    units = ResidualMargins(tables.sizes, tables.margins, tables.noise, exhaustive=False, rows=3)
    for relation in (NEAR, FAR):
        assert units.mu(relation) == pytest.approx(3 * tables.mu(relation), rel=1e-9)
        # Attained: three equal rows against three others, or against none.
        assert max(_squares(units, relation)) == pytest.approx(units.mu(relation) ** 2, rel=1e-9)


def _squares(tables: ResidualMargins, relation: Relation) -> list[float]:
    squares = []
    for pair in tables.worst_pairs(relation):
        sides = [np.zeros(1) if one is None else tables.contribution(one)[0] for one in (pair.first, pair.second)]
        assert pair.first is not None
        squares.append(float((((sides[0] - sides[1]) / tables.contribution(pair.first)[1]) ** 2).sum()))
    return squares


def test_all_columns_changed_is_not_always_the_dearest() -> None:
    """Sabotage: to price the one set of columns that is dearest most often states too little for many layouts."""
    too_low = 0
    for seed in range(40):
        tables = layout(seed)
        precisions = [1.0 / variance for variance in tables.variances]
        over = over_sets(tables.margins, precisions, [(1 - 1 / size, -1 / size) for size in tables.sizes])
        every = 2.0 * float(over.flat[0] - over.flat[-1])
        assert every <= brute_force(tables, FAR) * (1 + 1e-9)
        too_low += every < 0.99 * brute_force(tables, FAR)
    assert too_low >= 5


@pytest.mark.parametrize("relation", [NEAR, FAR])
def test_an_audit_attacks_the_farthest_records(relation: Relation) -> None:
    for seed in range(8):
        tables = layout(seed, exhaustive=seed % 2 == 0)
        assert max(_squares(tables, relation)) == pytest.approx(tables.mu(relation) ** 2, rel=1e-9)
    # Of more than 64 joint cells a set of columns is searched. Of the last ends either both values of the same cell are
    # farthest, or one value of two cells: hardly less than the other.
    sizes, margins = (5, 4, 3, 2), tuple(A for most in range(4) for A in combinations(range(4), most))
    for seed, ends in product(range(4), [(1, 1), (-4, 7), (-3, 5)]):
        variances = np.random.default_rng(seed).lognormal(0.0, 1.0, len(margins))
        large = residual_margins(sizes, margins, variances, mu=1.0, relation=relation, exhaustive=True, ends=ends)
        assert max(_squares(large, relation)) == pytest.approx(large.mu(relation) ** 2, rel=1e-9)
        assert large.mu(relation) == pytest.approx(1.0, rel=2e-6) and large.mu(relation) <= 1.0


def test_more_columns_are_priced_by_a_bound_that_is_above() -> None:
    sizes = (2, 3, 2, 4)
    margins = tuple(A for most in range(1, 4) for A in combinations(range(4), most))
    precisions = tuple(np.random.default_rng(0).lognormal(0.0, 1.0, len(margins)))
    exact = farthest(sizes, margins, precisions, FAR, True)
    many = sizes + (2,) * 13  # columns in no table change nothing but the number of sets
    bound = farthest(many, margins, precisions, FAR, True)
    assert exact <= bound <= 4.0 * exact
    # Of one table the column of fewest categories decides.
    for margin in margins:
        alone = [farthest(some, (margin,), (1.0,), FAR, True) for some in (sizes, many)]
        assert alone[0] <= alone[1] * (1.0 + 1e-12) <= 4.0 * alone[0]
    tables = residual_margins(many, margins, [1.0 / p for p in precisions], mu=0.3, relation=FAR, exhaustive=True)
    assert max(_squares(tables, FAR)) <= tables.mu(FAR) ** 2
    certificate = certify(tables, FAR, unit="row", delta=1e-6)
    assert certificate.epsilon_lower is None and certificate.epsilon_lower_why


def test_the_certificate_states_a_price_that_is_attained() -> None:
    tables = layout(5)
    for relation in (NEAR, FAR):
        certificate = certify(tables, relation, unit="row", delta=1e-6)
        certificate.verify()
        assert certificate.epsilon_lower is not None and certificate.epsilon - certificate.epsilon_lower < 0.005
    assert from_record(as_record(tables)) == tables


def test_residuals_are_those_of_the_tables_and_the_noise_is_what_was_priced() -> None:
    tables = layout(7)
    rng = np.random.default_rng(1)
    levels = [rng.integers(0, size, 200) for size in tables.sizes]
    added = rng.integers(1, 50, 200)
    exact = list(tables.exact(levels, added))
    by_hand = sum(
        many * residuals(tables, tuple(int(level[at]) for level in levels), 1) for at, many in enumerate(added)
    )
    assert np.allclose(np.concatenate(exact) / tables.table_spread(())[:, 0], by_hand)
    noise = SimulatedNoise(3)
    drawn = np.concatenate([tables.noisy(exact, noise).values - np.concatenate(exact)[:, None] for _ in range(300)])
    spread = np.tile(tables.table_spread(()), (300, 1))
    scaled = float(np.mean((drawn / spread) ** 2))
    sd = math.sqrt(2.0 / drawn.size)
    assert abs(scaled - 1.0) < 5.0 * sd
    assert abs(scaled / 0.95**2 - 1.0) > 7.0 * sd  # noise 5 % too narrow is seen


def test_exact_sums_do_not_wrap() -> None:
    tables = ResidualMargins((2, 2), ((0, 1),), (lattice_noise(2.0**40),), exhaustive=True)
    (table,) = tables.exact([np.array([0]), np.array([1])], np.array([2**61], dtype=np.int64))
    assert [int(number) for number in table] == [-(2**61), 2**61, 2**61, -(2**61)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": (2, 1)},
        {"margins": ((1, 0),)},
        {"margins": ((0,), (0,)), "noise": (lattice_noise(1.0),) * 2},
        {"margins": ((2,),)},
        {"noise": ()},
        {"low": 2, "high": 1},
        {"low": 0, "high": 0},
        {"high": 2**31},
        {"low": -(2**31)},
        {"rows": 2},
        {"sizes": (4000, 4000), "margins": ((0, 1),)},
    ],
)
def test_a_layout_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    sound = {"sizes": (2, 3), "margins": ((0, 1),), "noise": (lattice_noise(1.0),), "exhaustive": True}
    with pytest.raises(ParameterError, match="HG406"):
        ResidualMargins(**(sound | wrong))
