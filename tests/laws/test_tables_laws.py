"""Laws of tables: least squares equals dense algebra, totals add up, mended cells keep what they promise to keep."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize

from hedgerow.release.cells.margins import ConsistentTable, LevelRelease, ReleasedMargin, consistent_table, project
from hedgerow.release.cells.printed_numbers import nearest_non_negative, non_negative, rounded_in_turn, whole_numbers
from hedgerow.release.cells.shape import DimensionLevels, Hierarchy, TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells

Floats = NDArray[np.float64]
NUMBER = st.floats(-50.0, 50.0).map(lambda x: round(x, 3))


@st.composite
def axis_maps(draw: st.DrawFn) -> list[DimensionLevels]:
    """Up to three axes of up to four categories, each with up to two hierarchies, nested or not, even or not."""
    axes = []
    for place in range(draw(st.integers(0, 3))):
        levels = draw(st.integers(1, 4))
        hierarchies = []
        for number in range(draw(st.integers(0, 2))):
            codes = draw(st.lists(st.integers(0, 2), min_size=levels, max_size=levels))
            groups = {group: [at for at, code in enumerate(codes) if code == group] for group in sorted(set(codes))}
            hierarchies.append(Hierarchy.of(f"c{place}", f"h{place}{number}", groups))
        axes.append(DimensionLevels.of(TableDimension(f"c{place}", tuple(range(levels))), hierarchies))
    return axes


def dense(axes: list[DimensionLevels], levels: tuple[str | None, ...]) -> Floats:
    """Return the matrix that adds the cells up to a margin, written out."""
    whole: Floats = np.ones((1, 1))
    for axis, level in zip(axes, levels, strict=True):
        if level is None:
            part = np.ones((1, axis.axis.levels))
        elif axis.is_leaf(level):
            part = np.eye(axis.axis.levels)
        else:
            part = (axis.sums[level] > 0.0).astype(np.float64)[:, axis.atoms]
        whole = np.kron(whole, part)
    return whole


def all_levels(axes: list[DimensionLevels]) -> list[tuple[str | None, ...]]:
    return list(product(*(list(axis.levels) for axis in axes)))


@settings(max_examples=150, deadline=None)
@given(axes=axis_maps(), data=st.data())
def test_least_squares_equals_dense_algebra(axes: list[DimensionLevels], data: st.DataObject) -> None:
    """Estimate and every variance, with noisy and with known totals, against lstsq on the null space of the known."""
    cells = int(np.prod([axis.axis.levels for axis in axes]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    truth = rng.normal(size=cells)
    leaf = tuple(axis.axis.column for axis in axes)
    chosen = [(leaf, data.draw(st.sampled_from([0.1, 1.0, 3.0])))]
    for levels in all_levels(axes):
        if data.draw(st.booleans()):
            chosen.append((levels, data.draw(st.sampled_from([0.0, 0.01, 1.0, 50.0]))))
    matrices = [dense(axes, levels) for levels, _ in chosen]
    numbers = [m @ truth + rng.normal(size=len(m)) * np.sqrt(v) for m, (_, v) in zip(matrices, chosen, strict=True)]
    found = project(axes, [LevelRelease(levels, y, v) for (levels, v), y in zip(chosen, numbers, strict=True)])
    normal, right = np.zeros((cells, cells)), np.zeros(cells)
    known, exact = [np.zeros((1, cells))], [np.zeros(1)]
    for matrix, y, (_, variance) in zip(matrices, numbers, chosen, strict=True):
        if variance:
            normal += matrix.T @ matrix / variance
            right += matrix.T @ y / variance
        else:
            known.append(matrix)
            exact.append(y)
    start = np.linalg.lstsq(np.vstack(known), np.concatenate(exact), rcond=None)[0]
    _, singular, vectors = np.linalg.svd(np.vstack(known))
    free = vectors[int((singular > 1e-9).sum()) :].T
    covariance = free @ np.linalg.solve(free.T @ normal @ free, free.T) if free.size else np.zeros((cells, cells))
    expected = start + covariance @ (right - normal @ start)
    assert found.values.ravel() == pytest.approx(expected, abs=1e-6)
    for levels in all_levels(axes):
        matrix = dense(axes, levels)
        spread = np.diag(matrix @ covariance @ matrix.T)
        lengths = [len(axis.labels) for a, level in zip(axes, levels, strict=True) if (axis := a.levels[level])]
        assert np.broadcast_to(found.variance(levels), lengths).ravel() == pytest.approx(spread, abs=1e-6, rel=1e-6)


@st.composite
def tables(draw: st.DrawFn) -> ConsistentTable:
    """A table of up to three axes, counts or totals, with a hierarchy and released totals or without."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    shape = TableShape(tuple(TableDimension(f"c{place}", tuple(range(levels))) for place, levels in enumerate(lengths)))
    values = draw(st.lists(NUMBER, min_size=shape.size, max_size=shape.size))
    build = TableCells.counts if draw(st.booleans()) else TableCells.totals
    cells = build(shape, np.array(values), privacy_variance=2.0)
    groups = {"low": range(lengths[0] - lengths[0] // 2), "high": range(lengths[0] - lengths[0] // 2, lengths[0])}
    hierarchies = [Hierarchy.of("c0", "half", groups)] if lengths[0] > 1 and draw(st.booleans()) else []
    released = [ReleasedMargin((), np.array([draw(NUMBER)]), draw(st.sampled_from([0.0, 1.0])))]
    if draw(st.booleans()):
        numbers = draw(st.lists(NUMBER, min_size=lengths[0], max_size=lengths[0]))
        released.append(ReleasedMargin(("c0",), np.array(numbers), 0.5))
    return consistent_table(cells, released=released if draw(st.booleans()) else [], hierarchies=hierarchies)


def add_up_everywhere(table: ConsistentTable, read: str, slack: float) -> None:
    interior = getattr(table.interior, read).reshape(table.interior.shape.shape)
    for kept, margin in table.margins.items():
        if "half" in kept:
            continue
        summed = tuple(at for at, column in enumerate(table.interior.shape.columns) if column not in kept)
        expected = interior.sum(axis=summed).ravel()
        assert np.abs(getattr(margin, read) - expected).max() <= slack
    if "half" in {hierarchy.name for hierarchy in table.hierarchies}:
        halves = getattr(table.margin(["half"]), read)
        first = len(table.hierarchies[0].groups[0][1])
        flat = interior.reshape(len(interior), -1).sum(axis=1)
        assert np.abs(halves - [flat[:first].sum(), flat[first:].sum()]).max() <= slack


@settings(max_examples=150, deadline=None)
@given(tables())
def test_totals_add_up(table: ConsistentTable) -> None:
    add_up_everywhere(table, "values", 1e-9)


@settings(max_examples=150, deadline=None)
@given(tables())
def test_mended_totals_add_up_exactly_and_keep_the_grand_total(table: ConsistentTable) -> None:
    raised = non_negative(table)
    mended = whole_numbers(raised)
    add_up_everywhere(raised, "published", 1e-9)
    # Whole numbers add up to the last digit.
    add_up_everywhere(mended, "published", 0.0)
    assert mended.interior.published.min() >= 0.0
    total = max(float(table.interior.values.sum()), 0.0)
    assert raised.interior.published.sum() == pytest.approx(total, abs=1e-9)
    # A sum of halves is rounded either way by the last digit of its summing.
    assert abs(mended.interior.published.sum() - total) <= 0.5 + 1e-9
    assert np.array_equal(mended.interior.values, table.interior.values)


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBER, min_size=1, max_size=40))
def test_rounding_in_turn_moves_each_cell_and_each_run_by_one_at_most(values: list[float]) -> None:
    numbers = np.array(values)
    shown = rounded_in_turn(numbers)
    assert np.array_equal(shown, np.rint(shown))
    slack = 1.0 + 1e-9
    leading = np.concatenate([[0.0], np.cumsum(shown - numbers)])
    # Every run of neighbours: a difference of two leading sums.
    assert np.abs(leading[:, None] - leading[None, :]).max() <= slack
    assert np.abs(leading).max() <= 0.5 + 1e-9
    assert np.array_equal(rounded_in_turn(shown), shown)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NUMBER, st.sampled_from([0.5, 1.0, 4.0])), min_size=1, max_size=12))
def test_the_projection_meets_the_conditions_of_its_minimum(pairs: list[tuple[float, float]]) -> None:
    """Karush–Kuhn–Tucker: one λ with x = y − λv where x > 0, and y ≤ λv where x = 0; and SciPy finds nothing better."""
    values, variances = np.array(pairs).T
    shown = nearest_non_negative(values, variances)
    total = max(float(values.sum()), 0.0)
    assert shown.min() >= 0.0
    assert shown.sum() == pytest.approx(total, abs=1e-9)
    pulled = (values - shown) / variances
    positive = shown > 1e-12
    if positive.any():
        level = float(pulled[positive].mean())
        assert pulled[positive] == pytest.approx(np.full(positive.sum(), level), abs=1e-9)
        assert (values[~positive] / variances[~positive] <= level + 1e-9).all()
    if total > 0.0:
        found = optimize.minimize(
            lambda x: float(((x - values) ** 2 / variances).sum()),
            np.full(len(values), total / len(values)),
            jac=lambda x: 2 * (x - values) / variances,
            bounds=[(0.0, None)] * len(values),
            constraints={"type": "eq", "fun": lambda x: x.sum() - total},
            method="SLSQP",
        )
        ours = float(((shown - values) ** 2 / variances).sum())
        assert ours <= found.fun + 1e-6 * (1.0 + found.fun)
