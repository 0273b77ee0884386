"""The price of units of several rows: against the single pair, against integration, against every small neighbour."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from hedgerow.accounting.poisson_mixtures import MixturePair, PairKind, release_curve
from hedgerow.accounting.rows_of_units import partitions
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation, UnitLimit
from hedgerow.mechanisms.mechanism import as_record
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledUnits, units_curve
from hedgerow.noise.lattice import LatticeNoise


def units(sd: float, *, rows: int, cells: int, k: int, reach: int = 1) -> ResampledUnits:
    """Counts of rows with noise of `sd` rows (reach 1), or totals and counts, both at `sd` times a row's reach."""
    bits = max(0, math.ceil(math.log2(2**20 / sd)))
    count = ResampledCoordinate(rows, LatticeNoise(round(sd * 2**bits), bits))
    if reach == 1:
        return ResampledUnits(k, 1.0, "count", (count,), rows, cells)
    total = ResampledCoordinate(rows * reach, LatticeNoise(round(sd * reach * 2**bits), bits))
    return ResampledUnits(k, 1.0, "value-and-count", (total, count), rows, cells)


def test_one_row_a_unit_costs_what_a_record_costs() -> None:
    curve = units_curve(units(4.0, rows=1, cells=5, k=20), Relation.ADD_REMOVE)
    plain = release_curve([MixturePair(PairKind.ONE_SIDED, 1.0, 0.25)], n_resamples=20)
    for delta in (1e-3, 1e-6):
        assert curve.epsilon_upper(delta) == pytest.approx(plain.epsilon_upper(delta), rel=1e-5)


def product_delta(mixtures: list[tuple[float, float, int]], epsilon: float) -> float:
    """δ(ε) of one replicate by summing over a grid of up to two coordinates: (norm, σ, +1 removed or −1 added)."""
    densities = []
    fine = 3000 if len(mixtures) == 1 else 30
    for norm, sd, direction in mixtures:
        x = np.arange(-8 * sd, 14 * norm + 8 * sd, sd / fine)
        mixed = sum(stats.poisson.pmf(r, 1.0) * stats.norm.pdf(x, r * norm, sd) for r in range(15)) * (sd / fine)
        without = stats.norm.pdf(x, 0.0, sd) * (sd / fine)
        densities.append((mixed, without) if direction > 0 else (without, mixed))
    p, q = densities[0] if len(densities) == 1 else [np.multiply.outer(a, b) for a, b in zip(*densities, strict=True)]
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("sd", [0.5, 1.5, 6.0])
def test_add_remove_agrees_with_integration(sd: float) -> None:
    """k = 1, two rows a unit, two cells: the worst of (2), (1, 1), in both orders, by summing over the plane."""
    curve = units_curve(units(sd, rows=2, cells=2, k=1), Relation.ADD_REMOVE)
    for epsilon in (0.05, 0.3, 1.0):
        truth = max(
            product_delta([(2.0, sd, 1)], epsilon),
            product_delta([(2.0, sd, -1)], epsilon),
            product_delta([(1.0, sd, 1)] * 2, epsilon),
            product_delta([(1.0, sd, -1)] * 2, epsilon),
        )
        assert truth * (1 - 1e-5) - 1e-9 <= curve.delta_upper(epsilon) <= truth * 1.004 + 1e-6


def test_neither_partition_is_worst_everywhere() -> None:
    """With little noise two cells say more often that the unit was drawn; a price of one cell alone would be false."""
    together, apart = (product_delta([(2.0, 0.1, 1)], 2.0), product_delta([(1.0, 0.1, 1)] * 2, 2.0))
    assert apart > 1.3 * together
    assert units_curve(units(0.1, rows=2, cells=2, k=1), Relation.ADD_REMOVE).delta_upper(2.0) >= apart * (1 - 1e-5)
    assert units_curve(units(0.1, rows=2, cells=1, k=1), Relation.ADD_REMOVE).delta_upper(2.0) < apart


@pytest.mark.parametrize("sd", [1.0, 4.0])
def test_replace_one_bounds_every_pair_of_places(sd: float) -> None:
    """k = 1, counts, two rows a unit, two cells: removed here, added there, or both in one cell; not far above."""
    curve = units_curve(units(sd, rows=2, cells=2, k=1), Relation.REPLACE_ONE)
    for epsilon in (0.1, 0.7):
        split = product_delta([(2.0, sd * math.sqrt(0.5), 1), (2.0, sd * math.sqrt(0.5), -1)], epsilon)
        across = product_delta([(2.0, sd, 1), (2.0, sd, -1)], epsilon)
        assert across < split * (1 + 1e-6) + 1e-9
        assert split * (1 - 1e-4) - 1e-9 <= curve.delta_upper(epsilon) <= split * 1.3 + 1e-4


def opposite(sd: float, epsilon: float) -> float:
    """δ(ε), k = 1, of a unit (S, N) = (2, 2) replaced by (−2, 2), one weight in both coordinates; reach 1 a row."""
    x = np.arange(-2 * 16 - 7 * sd, 2 * 16 + 7 * sd, sd / 10)
    y = np.arange(-7 * sd, 2 * 16 + 7 * sd, sd / 10)
    pmf = stats.poisson.pmf(np.arange(17), 1.0)
    count = [stats.norm.pdf(y, 2.0 * r, sd) for r in range(17)]
    p, q = (
        sum(pmf[r] * np.multiply.outer(stats.norm.pdf(x, sign * 2.0 * r, sd), count[r]) for r in range(17))
        for sign in (1, -1)
    )
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) * (sd / 10) ** 2


def test_values_that_turn_about_are_paid_and_at_a_single_removal_would_not_be() -> None:
    sd = 4.0
    curve = units_curve(units(sd, rows=2, cells=1, k=1, reach=7), Relation.REPLACE_ONE)
    one_sided = units_curve(units(sd, rows=2, cells=1, k=1, reach=7), Relation.ADD_REMOVE)
    for epsilon in (0.1, 0.5):
        assert opposite(sd, epsilon) <= curve.delta_upper(epsilon)
        assert opposite(sd, epsilon) > one_sided.delta_upper(epsilon)


def unit_tables(max_rows: int, cells: int, m: int) -> Iterator[np.ndarray]:
    """Yield (cells, 2) of every unit: up to `max_rows` rows, each with a cell and a value q of {−m, 0, m}."""
    rows = [(cell, q) for cell in range(cells) for q in (-m, 0, m)]
    for size in range(max_rows + 1):
        for held in itertools.combinations_with_replacement(rows, size):
            table = np.zeros((cells, 2))
            for cell, q in held:
                table[cell] += q, 1
            yield table


@pytest.mark.parametrize(("max_rows", "cells"), [(1, 1), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2), (3, 3)])
def test_no_unit_moves_the_table_more_than_a_partition_prices(max_rows: int, cells: int) -> None:
    """Every unit of up to 3 rows in up to 3 cells, in units of the noise (κ = 1): norms of its cells, sorted.

    The sabotage prices a unit as one row, or in one cell alone with one row.
    """
    priced = [np.array([*p, *[0] * (cells - len(p))]) * math.sqrt(2.0) for p in partitions(max_rows, cells)]
    moved = [np.sort(np.hypot(t[:, 0] / 5, t[:, 1]))[::-1] for t in unit_tables(max_rows, cells, 5)]
    assert all(any((norms <= parts + 1e-12).all() for parts in priced) for norms in moved)
    # Each partition is attained, so none is idle.
    assert all(any(np.allclose(norms, parts) for norms in moved) for parts in priced)
    if max_rows > 1:
        row = np.array([math.sqrt(2.0)] + [0.0] * (cells - 1))
        assert not all((norms <= row + 1e-12).all() for norms in moved)


def test_partitions_are_those_of_number_theory() -> None:
    assert [len(list(partitions(n, n))) for n in range(1, 13)] == [1, 2, 3, 5, 7, 11, 15, 22, 30, 42, 56, 77]
    assert list(partitions(5, 1)) == [(5,)]


def test_price_rises_with_rows_and_cells_and_under_replacement() -> None:
    curves = [units_curve(units(8.0, rows=r, cells=3, k=10), Relation.ADD_REMOVE) for r in (1, 2, 3)]
    prices = [curve.epsilon_upper(1e-6) for curve in curves]
    assert prices == sorted(prices)
    assert prices[2] > 2.5 * prices[0]
    replaced = units_curve(units(8.0, rows=2, cells=3, k=10), Relation.REPLACE_ONE)
    assert replaced.epsilon_upper(1e-6) > 1.9 * prices[1]


def test_too_little_noise_is_refused_and_shapes_must_fit() -> None:
    with pytest.raises(UncertifiedError, match="HG403"):
        units_curve(units(0.03, rows=2, cells=1, k=2), Relation.ADD_REMOVE)
    noise = LatticeNoise(2**20, 18)
    total, count = ResampledCoordinate(20, noise), ResampledCoordinate(2, noise)
    for shape, coordinates, rows in (
        ("count", (total, count), 2),
        ("value-and-count", (total, ResampledCoordinate(1, noise)), 2),
        ("value-and-count", (ResampledCoordinate(21, noise), count), 2),
        ("count", (ResampledCoordinate(13, noise),), 13),
    ):
        with pytest.raises(ParameterError, match="HG406"):
            ResampledUnits(5, 1.0, shape, coordinates, rows, 1)
    record = as_record(ResampledUnits(5, 1.0, "value-and-count", (total, count), 2, 3))
    assert (record["type"], record["max_rows"], len(record["coordinates"])) == ("resampled-units", 2, 2)


def test_limits_are_checked_where_they_are_declared() -> None:
    assert UnitLimit.parse({"column": "p", "max_rows": 3}) == UnitLimit("p", 3) == UnitLimit.parse(["p", 3])
    assert str(UnitLimit("p", 1)) == "p, at most 1 row"
    for wrong in ("person", {"column": "p"}, ("p", 0), ("p", True), ("p", 2.0), 4, None):
        with pytest.raises(ParameterError, match="HG115"):
            UnitLimit.parse(wrong)
    with pytest.raises(ParameterError, match="HG203"):
        UnitLimit("", 2)
    with pytest.raises(UncertifiedError, match="HG402"):
        UnitLimit("p", 13)
