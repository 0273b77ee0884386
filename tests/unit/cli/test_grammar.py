"""How statistics are written: columns keep their colons, values that compare as text keep their spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.cli.grammar import parse_by, parse_unit
from hedgerow.errors import ParameterError
from hedgerow.statistics.entry import parse_on_grid, parse_value
from hedgerow.statistics.proportion import split_proportion

NUMBERS = st.integers(-1000, 1000) | st.floats(-1e6, 1e6, allow_nan=False)
# A column that ends in :number needs its step to be told from a bound, as the module says.
COLUMNS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: name.strip())


@given(COLUMNS, NUMBERS, NUMBERS, NUMBERS)
def test_four_parts_are_read_from_the_right(column: str, low: float, high: float, step: float) -> None:
    assert parse_on_grid("--mean", f"{column}:{low}:{high}:{step}") == (column, (low, high), step)


def test_three_parts_may_hold_colons() -> None:
    assert parse_on_grid("--mean", "time: of day:0:24") == ("time: of day", (0, 24), None)
    assert parse_on_grid("--mean", "age:-40:1e2") == ("age", (-40, 100.0), None)


@pytest.mark.parametrize("text", ["person", ":4", "person:", "person:-4", "person:٤", "person:" + "9" * 5000])
def test_what_is_no_unit_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="HG116"):
        parse_unit(text)


@pytest.mark.parametrize("text", ["", ":", ":0:1", "0:1", "age:", "age::", "age:0:", "age:0", "age:1_0:2_0", "age:٣:٤"])
def test_what_is_no_grid_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="HG116"):
        parse_on_grid("--mean", text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_is_compared_as_it_was_written(text: str) -> None:
    assert str(parse_value(text)) == text.strip()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1", -1),
        ("2.5", 2.5),
        ("01", "01"),
        ("1.0", 1.0),
        ("1e3", "1e3"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("true", "true"),
    ],
)
def test_only_numbers_that_print_as_written_are_numbers(text: str, value: object) -> None:
    found = parse_value(text)
    assert found == value and type(found) is type(value)


def test_groups_and_proportions() -> None:
    assert parse_by(["a=1, 2,x", 'b="x, y",z']) == {"a": [1, 2, "x"], "b": ["x, y", "z"]}
    assert parse_by([]) is None
    assert split_proportion("formula==1") == ("formula", "=1")
