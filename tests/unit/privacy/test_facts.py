import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Grid, parse_missing


@pytest.mark.parametrize(
    ("bounds", "step", "code"),
    [
        (None, None, "HG104"),
        ((1, 0), None, "HG105"),
        ((1, 1), None, "HG105"),
        ((math.nan, 1), None, "HG105"),
        ((0, math.inf), None, "HG105"),
        ((0, 1, 2), None, "HG105"),
        ("01", None, "HG105"),
        (("0", "1"), None, "HG105"),
        ((True, 2), None, "HG105"),
        ((0, 10), 3, "HG106"),
        ((0, 10), 0, "HG106"),
        ((0, 10), -1, "HG106"),
        ((0, 10), math.nan, "HG106"),
        ((0, 1e9), 1, "HG107"),
    ],
)
def test_bad_bounds_and_steps_are_refused_by_code(bounds: object, step: object, code: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Grid.from_bounds("age", bounds, step)
    assert caught.value.code == code
    assert caught.value.rule and caught.value.remedy


def test_a_step_that_does_not_divide_names_the_nearest_that_do() -> None:
    with pytest.raises(ParameterError, match=r"0\.3125 and 0\.25"):
        Grid.from_bounds("x", (0, 10), 0.3)


def test_decimal_arithmetic_not_binary() -> None:
    # 0.3/0.1 is 2.9999999999999996 in doubles.
    assert Grid.from_bounds("x", (0, 0.3), 0.1).steps == 3
    assert Grid.from_bounds("x", (Decimal("0.1"), Decimal("0.7")), Decimal("0.2")).steps == 3
    assert Grid.from_bounds("x", (np.float64(0.0), np.int64(3)), np.float64(0.1)).steps == 30


def test_without_a_step_the_range_is_cut_into_1024() -> None:
    grid = Grid.from_bounds("x", (0, 100))
    assert grid.steps == 1024 and grid.step == Fraction(100, 1024)


def test_centre_and_half_step_where_the_midpoint_is_no_data_value() -> None:
    grid = Grid.from_bounds("x", (0, 1), 1)
    assert (grid.centre, grid.half_step, grid.half_range) == (0.5, 0.5, 0.5)


@given(
    low=st.integers(-1000, 1000),
    steps=st.integers(1, 500),
    step=st.sampled_from(["0.1", "0.25", "1", "3", "0.007"]),
)
def test_about_zero_gives_every_grid_value_as_a_whole_multiple(low: int, steps: int, step: str) -> None:
    exact = Fraction(step)
    grid = Grid.from_bounds("x", (Fraction(low), Fraction(low) + steps * exact), exact)
    start, stride, unit = grid.about_zero()
    for t in (0, 1, steps):
        assert (start + stride * t) * unit == grid.lower + t * grid.step


def test_categories_are_declared_once_and_are_plain() -> None:
    assert Category.declared("sex", [0, 1], other=True).levels == 3
    for values in (None, [], "ab", [None], [math.nan], [0, 0.0], [[1]]):
        with pytest.raises(ParameterError) as caught:
            Category.declared("sex", values)
        assert caught.value.code == "HG111"


def test_a_set_of_categories_is_taken_in_one_order_whatever_the_hash_seed() -> None:
    # Of strings a set's own order changes from one process to the next, and with it what an id stands for.
    letters = "zyxwvutsrqponmlkjihgfedcba"
    assert Category.declared("g", set(letters)).values == tuple(sorted(letters))
    assert Category.declared("g", frozenset([10, 9, -1])).values == (-1, 9, 10)
    assert Category.declared("g", {"b": 0, "a": 1}.keys()).values == ("a", "b")
    assert Category.declared("g", ["b", "a"]).values == ("b", "a")
    assert Category.declared("g", {2, "a"}).values == (2, "a")
    with pytest.raises(ParameterError, match="HG111"):
        Category.declared("g", {(1, "a"), (1, 2)})


def test_an_unknown_missing_policy_is_refused() -> None:
    with pytest.raises(ParameterError, match="HG114"):
        parse_missing("impute")
