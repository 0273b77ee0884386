"""A user's function: exact while small, a lower bound that refuses beyond; local and global ones beside it."""

import numpy as np
import pytest

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.release.bootstrap_dp.sensitivity import (
    bootstrap_sensitivity,
    global_sensitivity,
    local_sensitivity,
    median_sensitivity,
    variance_sensitivity,
)

D = [1.0, 2.0, 4.0, 9.0]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("symmetric", [True, False])
def test_exhaustive_search_is_the_closed_form(n: int, symmetric: bool) -> None:
    found = bootstrap_sensitivity(np.var, D, n=n, symmetric=symmetric)
    assert found.bound == "exact" and found.certified() == pytest.approx(variance_sensitivity(D, n=n))
    assert bootstrap_sensitivity(np.median, D, n=n, symmetric=symmetric).value == median_sensitivity(D, n=n)


def test_order_matters_where_it_is_said_to() -> None:
    def first(rows: np.ndarray) -> float:
        return float(rows[0])

    assert bootstrap_sensitivity(first, D, symmetric=False).value == 8.0
    assert bootstrap_sensitivity(lambda rows: rows[1] * 3, D, symmetric=False).value == 24.0
    with pytest.raises(ParameterError) as refused:
        bootstrap_sensitivity(first, D, symmetric=True)
    assert refused.value.code == "HG158"


def test_work_is_counted_before_it_begins() -> None:
    calls = 0

    def total(rows: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return float(rows.sum())

    found = bootstrap_sensitivity(total, D, symmetric=True)
    # C(6, 3) multisets of 3, 6 pairs of ends; C(7, 4) = 35 data sets, the first 32 of them in reverse as well.
    assert found.pairs == 20 * 6 and calls == 35 + 32


def test_beyond_the_limit_a_lower_bound_that_refuses() -> None:
    data = np.random.default_rng(1).normal(size=60)
    found = bootstrap_sensitivity(np.var, data, limit=3000)
    assert found.bound == "lower"
    assert 0.5 * variance_sensitivity(data) < found.value <= variance_sensitivity(data) * (1 + 1e-12)
    with pytest.raises(UncertifiedError) as refused:
        found.certified()
    assert refused.value.code == "HG412" and not any(sign.isdigit() for sign in refused.value.finding)
    again = bootstrap_sensitivity(np.var, data, limit=3000)
    assert again == found
    with pytest.raises(UncertifiedError):
        bootstrap_sensitivity(lambda rows: rows[-1], data, symmetric=False, limit=500).certified()


def test_rows_of_several_columns_and_outputs_of_several_numbers() -> None:
    table = [[0, 3.0], [0, 4.0], [1, 5.0]]

    def totals(rows: np.ndarray) -> np.ndarray:
        return np.array([rows[rows[:, 0] == cell, 1].sum() for cell in (0, 1)])

    assert bootstrap_sensitivity(totals, table).certified() == 9.0


def test_the_three_sensitivities_of_a_median() -> None:
    column, possible = [1.0, 2.0, 2.0, 3.0, 3.0], [0.0, 100.0]
    assert local_sensitivity(np.median, column, possible=possible).value == 1.0
    assert bootstrap_sensitivity(np.median, column).value == 2.0
    assert global_sensitivity(np.median, n=5, possible=possible).value == 100.0


def test_refusals_hold_no_value() -> None:
    with pytest.raises(ParameterError) as refused:
        bootstrap_sensitivity(lambda rows: np.nan if rows.min() == 9.0 else 1.0, D)
    assert refused.value.code == "HG158" and "9" not in refused.value.finding
    for wrong in ({"n": 0}, {"limit": 0}):
        with pytest.raises(ParameterError):
            bootstrap_sensitivity(np.mean, D, **wrong)
    with pytest.raises(ParameterError):
        bootstrap_sensitivity(np.mean, [])
