"""Refusals of the closed forms, and what is kept from being printed; their values are held by tests/laws."""

import pytest

from hedgerow.errors import ParameterError
from hedgerow.release.bootstrap_dp.sensitivity import (
    count_sensitivity,
    mean_sensitivity,
    median_sensitivity,
    quantile_sensitivity,
    total_sensitivity,
    variance_sensitivity,
)
from hedgerow.tables.bootstrap_table import CellExtremes


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: total_sensitivity([]),
        lambda: total_sensitivity([1.0, float("inf")]),
        lambda: total_sensitivity([[1.0], [2.0]]),
        lambda: count_sensitivity([]),
        lambda: mean_sensitivity([1.0], n=0),
        lambda: mean_sensitivity([1.0], n=2.5),
        lambda: median_sensitivity([1.0], n=True),
        lambda: variance_sensitivity([1.0], ddof=1),
        lambda: variance_sensitivity([1.0, 2.0], ddof=2),
        lambda: quantile_sensitivity([1.0, 2.0], 1.1),
        lambda: CellExtremes.of([], []),
        lambda: CellExtremes.of([1.0], [0, 1]),
        lambda: CellExtremes.of([1.0], [3], n_cells=3),
        lambda: CellExtremes.of([1.0], [-2]),
        lambda: CellExtremes.of([float("inf")], [0]),
    ],
)
def test_what_is_no_d_is_refused(attempt) -> None:
    with pytest.raises(ParameterError) as refused:
        attempt()
    assert refused.value.code == "HG156"


def test_single_rows_have_no_neighbours_but_themselves() -> None:
    assert total_sensitivity([7.0]) == mean_sensitivity([7.0]) == variance_sensitivity([7.0]) == 0.0


def test_extremes_are_not_printed() -> None:
    assert "7919" not in repr(CellExtremes.of([7919.0, 104.0], [0, 1]))
