"""Expressions of `where` and of derived columns: what parses, what it means, and where a fault is."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Selection, column
from hedgerow.facts.expression import (
    Comparison,
    DerivedColumn,
    Junction,
    Operation,
    parse_arithmetic,
    parse_condition,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1", Comparison("a", "in", (1,))),
        ("1.5 <= `house size`", Comparison("house size", ">=", (1.5,))),
        ("a <> 'it''s'", Comparison("a", "not in", ("it's",))),
        ("a not in (\"x\", 'y')", Comparison("a", "not in", ("x", "y"))),
        ("a == true", Comparison("a", "in", (True,))),
        ("not a < -2", Comparison("a", ">=", (-2,))),
        (
            "a > 1 or b > 2 and c > 3",
            Junction(
                False,
                (
                    Comparison("a", ">", (1,)),
                    Junction(True, (Comparison("b", ">", (2,)), Comparison("c", ">", (3,)))),
                ),
            ),
        ),
        ("not (a > 1 or b in [2])", Junction(True, (Comparison("a", "<=", (1,)), Comparison("b", "not in", (2,))))),
    ],
)
def test_conditions(text: str, found: object) -> None:
    assert parse_condition(text) == found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("age lik 3", 5),
        ("age > 3 < 4", 9),
        ("age > b", 7),
        ("age in [1, 'x']", 12),
        ("age in []", 9),
        ("(age > 1", 9),
        ("age > 1) or b > 2", 8),
        ("age > 1; drop table people", 8),
        ("age == 'x", 8),
        ("age", 4),
        ("1 = 1", 5),
        ("age == 1e999", 8),
        ("age & 1", 5),
        ("age is null", 5),
        ("lower(name) = 'a'", 6),
        ("a = 1 and", 10),
        ("a = nan", 5),
        ("and = 1", 1),
        ("not " * 31 + "a = 1", 125),
    ],
)
def test_what_does_not_parse_is_refused_with_the_place_of_the_fault(text: str, place: int) -> None:
    with pytest.raises(ParameterError, match=rf"HG131.*character {place}[ ,]"):
        Selection.of(text)


@pytest.mark.parametrize("given", ["", "  ", 5, None, ["a = 1"], "a = 1 or " * 2000 + "b = 2", "a = '\udcff'"])
def test_what_is_no_usable_text_is_refused(given: object) -> None:
    with pytest.raises(ParameterError, match=r"HG131|HG211"):
        Selection.of(given)


def test_there_is_a_limit_of_comparisons() -> None:
    parse_condition(" or ".join(["a = 1"] * 200))
    with pytest.raises(ParameterError, match=r"HG131.*more than 200"):
        parse_condition(" or ".join(["a = 1"] * 201))


@given(st.text(max_size=30))
def test_any_text_parses_or_is_refused_by_its_code(text: str) -> None:
    for parse, code in [(parse_condition, "HG131"), (parse_arithmetic, "HG132")]:
        try:
            parse(text)
        except ParameterError as refused:
            assert refused.code in (code, "HG211")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a - b - c", Operation("-", Operation("-", "a", "b"), "c")),
        ("a + b * (2 + 3)", Operation("+", "a", Operation("*", "b", 5.0))),
        ("-a / `b c`", Operation("/", Operation("*", -1.0, "a"), "b c")),
        ("a", "a"),
    ],
)
def test_arithmetic(text: str, found: object) -> None:
    assert parse_arithmetic(text) == found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a / 0", 6),
        ("a / (2 - 2)", 12),
        ("1 / 3", 6),
        ("a ** 2", 4),
        ("tan(a)", 1),
        ("a b", 3),
        ("a +", 4),
        ("1e999 * a", 1),
    ],
)
def test_arithmetic_that_does_not_parse_is_refused_with_the_place(text: str, place: int) -> None:
    with pytest.raises(ParameterError, match=rf"HG132.*character {place}[ ,]"):
        column(text, bounds=(0, 1))


def test_a_derived_column_is_its_name_with_an_expression() -> None:
    made = column(" income / household ", bounds=(0, 100), step=1)
    assert (made, made.text, made.bounds) == ("income / household", "income / household", (0, 100))
    again = pickle.loads(pickle.dumps(made))
    assert isinstance(again, DerivedColumn) and again.expression == made.expression
    with pytest.raises(ParameterError, match="HG106"):
        column("income / household", bounds=(0, 100), step=7)
