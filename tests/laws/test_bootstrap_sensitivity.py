"""Closed forms against brute force: all neighbours D1, D2 ∈ Dⁿ of small data; ties, negatives, single rows too."""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.release.bootstrap_dp.sensitivity import (
    count_sensitivity,
    maximum_sensitivity,
    mean_sensitivity,
    median_sensitivity,
    minimum_sensitivity,
    quantile_sensitivity,
    total_sensitivity,
    variance_sensitivity,
)
from hedgerow.resampling.counted_values import Histogram
from hedgerow.tables.bootstrap_table import (
    CellExtremes,
    cell_total_sensitivities,
    contingency_table_sensitivity,
    magnitude_table_sensitivity,
    public_membership_sensitivities,
    split_sensitivities,
)
from hedgerow.testing.published import (
    published_cell_sensitivities,
    published_contingency_sensitivity,
    published_magnitude_sensitivity,
    published_split_sensitivities,
)

CELLS = 3
Row = tuple[float, int]
Table = Callable[[list[Row]], np.ndarray]
values = st.integers(-6, 6).map(float)
columns = st.lists(values, min_size=1, max_size=5)
rows = st.lists(st.tuples(st.one_of(values, st.just(float("nan"))), st.integers(-1, CELLS - 1)), min_size=1, max_size=5)
small = settings(max_examples=60, deadline=None)


def neighbours(data: list, n: int) -> Iterator[tuple[list, list]]:
    """Yield every unordered pair of neighbours in Dⁿ, as multisets."""
    places = range(len(data))
    for shared in combinations_with_replacement(places, n - 1):
        rest = [data[place] for place in shared]
        for x in places:
            for y in range(x + 1, len(data)):
                yield [*rest, data[x]], [*rest, data[y]]


def brute(data: list, function: Callable[[list], np.ndarray | float], n: int | None = None) -> float:
    pairs = neighbours(data, len(data) if n is None else n)
    return max((float(np.abs(function(one) - function(two)).sum()) for one, two in pairs), default=0.0)


def magnitude(data: list[Row]) -> np.ndarray:
    table = np.zeros(CELLS)
    for value, cell in data:
        if cell >= 0 and value == value:
            table[cell] += value
    return table


def counts(data: list[Row]) -> np.ndarray:
    return magnitude([(1.0 if value == value else value, cell) for value, cell in data])


def extremes(data: list[Row]) -> CellExtremes:
    return CellExtremes.of([value for value, _ in data], [cell for _, cell in data], n_cells=CELLS)


def weighted(data: list[Row], weights: np.ndarray, *, same_cell: bool = False) -> float:
    """Return the largest Σ |change_i|/w_i over neighbours in Dⁿ; a cell of weight 0 may not change at all."""
    worst = 0.0
    for one, two in neighbours(data, len(data)):
        if same_cell and one[-1][1] != two[-1][1]:
            continue
        change = np.abs(magnitude(one) - magnitude(two))
        if (change[weights == 0] > 0).any():
            return float("inf")
        worst = max(worst, float((change[weights > 0] / weights[weights > 0]).sum()))
    return worst


@small
@given(columns, st.integers(1, 5), st.sampled_from([0.0, 0.1, 0.25, 0.5, 2 / 3, 1.0]))
def test_numbers_of_one_column(column: list[float], n: int, probability: float) -> None:
    def close(closed: float, function: Callable[[list], float]) -> None:
        assert closed == pytest.approx(brute(column, function, n), rel=1e-12, abs=1e-12)

    close(total_sensitivity(column), sum)
    close(mean_sensitivity(column, n=n), np.mean)
    close(minimum_sensitivity(column), min)
    close(maximum_sensitivity(column), max)
    close(median_sensitivity(column, n=n), np.median)
    close(quantile_sensitivity(column, probability, n=n), lambda data: np.quantile(data, probability))
    close(variance_sensitivity(column, n=n), np.var)
    if n > 1:
        close(variance_sensitivity(column, n=n, ddof=1), lambda data: np.var(data, ddof=1))
    assert count_sensitivity(np.array(column) > 0) == brute(column, lambda data: sum(v > 0 for v in data), n)


@small
@given(rows)
def test_tables(data: list[Row]) -> None:
    table = extremes(data)
    assert contingency_table_sensitivity(table) == brute(data, counts)
    assert magnitude_table_sensitivity(table) == brute(data, magnitude)
    singles = [brute(data, lambda d, cell=cell: magnitude(d)[cell]) for cell in range(CELLS)]
    assert cell_total_sensitivities(table).tolist() == singles
    assert weighted(data, split_sensitivities(table)) <= 1 + 1e-12
    assert weighted(data, np.maximum(2 * cell_total_sensitivities(table), 1e-9)) <= 1 + 1e-12
    assert (split_sensitivities(table) <= 2 * cell_total_sensitivities(table)).all()
    assert weighted(data, public_membership_sensitivities(table), same_cell=True) <= 1 + 1e-12


@small
@given(rows)
def test_a_histogram_has_the_extremes_of_its_rows(data: list[Row]) -> None:
    steps = [(-1 if value != value else int(value) + 6, cell) for value, cell in data]
    histogram = Histogram.from_triplets(
        np.array([cell for _, cell in steps]),
        np.array([index for index, _ in steps]),
        np.ones(len(steps), dtype=np.int64),
        cells=CELLS,
    )
    read, direct = CellExtremes.of_histogram(histogram, histogram.index - 6), extremes(data)
    for name in ("low", "high", "occupied", "void"):
        assert getattr(read, name).tolist() == getattr(direct, name).tolist()
    assert read.elsewhere == direct.elsewhere


@small
@given(rows)
def test_public_membership_is_no_larger_than_it_must_be(data: list[Row]) -> None:
    weights = public_membership_sensitivities(extremes(data))
    for cell in np.flatnonzero(weights):
        tighter = weights.copy()
        tighter[cell] *= 0.99
        assert weighted(data, tighter, same_cell=True) > 1


@small
@given(rows, st.integers(4, 12))
def test_per_cell_noise_never_exceeds_whole_table_noise_from_four_cells_on(data: list[Row], size: int) -> None:
    """Σ w_i² ≤ k·Δ² for k ≥ 4 cells: what `auto` rests on, whatever the data are."""
    table = CellExtremes.of([value for value, _ in data], [cell for _, cell in data], n_cells=size)
    assert (split_sensitivities(table) ** 2).sum() <= size * magnitude_table_sensitivity(table) ** 2 * (1 + 1e-12)


@small
@given(rows)
def test_whole_table_noise_never_exceeds_per_cell_noise_for_two_cells(data: list[Row]) -> None:
    """2·Δ² ≤ Σ w_i², unless one cell's spread exceeds the movement between two."""
    two = [(abs(value), min(cell, 1)) for value, cell in data]
    table = CellExtremes.of([value for value, _ in two], [cell for _, cell in two], n_cells=2)
    if table.occupied.all():
        assert 2 * magnitude_table_sensitivity(table) ** 2 <= (split_sensitivities(table) ** 2).sum() * (1 + 1e-12)


def test_the_published_sensitivities_fail_brute_force() -> None:
    data = [(100.0, 0), (101.0, 0), (90.0, 1), (92.0, 1)]
    table = extremes(data)
    assert published_contingency_sensitivity(table) == 1.0 < brute(data, counts) == 2.0
    assert published_magnitude_sensitivity(table) == 2.0 < brute(data, magnitude) == 193.0
    assert published_cell_sensitivities(table)[0] == 1.0 < brute(data, lambda d: magnitude(d)[0]) == 101.0
    assert weighted(data, published_split_sensitivities(table)) > 40


def test_a_wrong_closed_form_is_seen() -> None:
    column = [0.0, 1.0, 7.0, 7.0]
    assert brute(column, np.median) == 3.5 != total_sensitivity(column)  # an even n halves it
    assert brute(column, np.var) == variance_sensitivity(column) != variance_sensitivity(column, ddof=1)
    local = max(abs(min([*column[:i], *column[i + 1 :], y]) - min(column)) for i in range(4) for y in column)
    assert local == 1.0 < minimum_sensitivity(column) == 7.0  # D1 is not D
