"""Shapes stand in the engine's order; cells know their errors, and withhold them where they must."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow.engines.query import Query
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category
from hedgerow.inference.means_and_counts import NoisyMoments, counts_with_errors, sum_variance
from hedgerow.release.cells.shape import TableDimension, TableShape
from hedgerow.release.cells.table_cells import TableCells

BY = (
    Category.declared("sex", [0, 1]),
    Category.declared("region", ["n", "s", "w"], other=True),
    Category.declared("age", ["young", "old"]),
)
SHAPE = TableShape.of(BY)


def code(failed: pytest.ExceptionInfo[ParameterError]) -> str:
    return failed.value.code


def test_cells_stand_in_the_order_of_the_engines_answer() -> None:
    listed = list(Query(None, BY).labels)
    assert list(SHAPE.cells()) == listed
    assert [SHAPE.cell(place) for place in range(SHAPE.size)] == listed
    assert [SHAPE.place(cell) for cell in listed] == list(range(SHAPE.size))


def test_a_shape_is_that_of_an_array_of_its_cells() -> None:
    grid = np.arange(SHAPE.size).reshape(SHAPE.shape)
    assert SHAPE.cell(int(grid[1, 3, 0])) == {"sex": 1, "region": "other", "age": "young"}
    assert SHAPE.over(["age", 0]).columns == ("sex", "age")
    assert SHAPE.labels("region") == SHAPE.labels(1) == ("n", "s", "w", "other")
    assert TableShape(()).size == 1
    assert TableShape(()).cell(0) == {}


@pytest.mark.parametrize(
    "asked",
    [
        lambda: TableShape((TableDimension("a", (1,)), TableDimension("a", (2,)))),
        lambda: TableShape((TableDimension("a", ()),)),
        lambda: SHAPE.labels("nothing"),
        lambda: SHAPE.labels(3),
        lambda: SHAPE.labels(True),
        lambda: SHAPE.place({"sex": 0}),
        lambda: SHAPE.place({"sex": 0, "region": "n", "age": "middle"}),
    ],
)
def test_what_is_no_part_of_a_table_is_refused(asked: object) -> None:
    with pytest.raises(ParameterError) as failed:
        asked()
    assert code(failed) == "HG160"


def test_a_place_outside_the_table_is_no_cell() -> None:
    with pytest.raises(IndexError):
        SHAPE.cell(-1)
    with pytest.raises(IndexError):
        SHAPE.cell(SHAPE.size)


@pytest.mark.parametrize("n", [None, 500])
@pytest.mark.parametrize("census", [True, False])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_counts_have_the_errors_and_intervals_of_single_counts(n: int | None, census: bool, law: str) -> None:
    values = np.array([-12.0, 0.0, 1.5, 40.0, 499.0, 620.0])
    cells = TableCells.counts(
        TableShape((TableDimension("a", tuple(range(6))),)),
        values,
        privacy_variance=6.25,
        noise_law=law,
        n=n,
        census=census,
    )
    low, high = cells.interval(0.9)
    one_by_one = counts_with_errors(values, noise_sd=2.5, n=n, census=census, noise_law=law, method="gaussian")
    assert np.sqrt(np.broadcast_to(cells.sampling_variance, 6)) == pytest.approx(one_by_one.sampling_error)
    for end, expected in zip((low, high), one_by_one.test.accepted(0.9), strict=True):
        assert end == pytest.approx(expected)


@pytest.mark.parametrize("n", [None, 500])
def test_totals_have_the_sampling_variance_of_single_totals(n: int | None) -> None:
    values, square = np.array([-30.0, 0.0, 55.0]), np.array([400.0, -3.0, 900.0])
    cells = TableCells.totals(
        TableShape((TableDimension("a", (1, 2, 3)),)),
        values,
        privacy_variance=9.0,
        second_moment=square,
        second_moment_variance=16.0,
        n=n,
    )
    low, high = cells.interval(0.95)
    variance, upper = sum_variance(NoisyMoments(np.zeros(3), values, square, 0.0, 3.0, 4.0, 0.0), n)
    assert cells.sampling_variance == pytest.approx(variance)
    half = 1.959964 * np.sqrt(upper + 9.0)
    assert low == pytest.approx(values - half)
    assert high == pytest.approx(values + half)


@pytest.mark.parametrize(
    "given",
    [
        {"values": [1.0, 2.0]},
        {"values": [1.0, 2.0, math.nan]},
        {"privacy_variance": -1.0},
        {"privacy_variance": [1.0, 2.0]},
        {"privacy_variance": math.inf},
    ],
)
def test_arrays_that_do_not_fit_are_refused(given: dict[str, object]) -> None:
    usual = {"values": [1.0, 2.0, 3.0], "privacy_variance": 1.0}
    with pytest.raises(ParameterError) as failed:
        TableCells.counts(TableShape((TableDimension("a", (1, 2, 3)),)), **{**usual, **given})
    assert code(failed) == "HG161"


@pytest.mark.parametrize("read", [lambda cells: cells.standard_error, lambda cells: cells.interval(0.95)])
def test_errors_that_may_not_be_told_are_not_told(read: object) -> None:
    cells = TableCells.without_errors(TableShape((TableDimension("a", (1, 2)),)), [3.0, 4.0], counted=True)
    with pytest.raises(ParameterError) as failed:
        read(cells)
    assert code(failed) == "HG161"
    assert cells.published.tolist() == [3.0, 4.0]
