import math

import pytest

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget, Mu, Rho
from hedgerow.facts.relation import parse_relation, parse_target, parse_unit


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "1,0", None, True, 1e-300, 1e300])
def test_a_bad_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="HG101"):
        Budget(epsilon)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2, math.nan, "0", None, True, 1e-30])
def test_a_bad_delta_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match="HG102"):
        Budget(1.0, delta)  # type: ignore[arg-type]  # the point of the test


def test_rho_and_mu() -> None:
    assert Rho(0.5).to_mu() == Mu(1.0)
    with pytest.raises(ParameterError):
        Rho(math.nan)


@pytest.mark.parametrize("relation", [None, "add", "swap", 1, "replace_one"])
def test_an_unknown_relation_is_refused(relation: object) -> None:
    with pytest.raises(ParameterError, match="HG103"):
        parse_relation(relation)


def test_unit_and_target() -> None:
    with pytest.raises(ParameterError, match="HG115"):
        parse_target("sample")
    with pytest.raises(ParameterError, match="HG115"):
        parse_unit("person")
    with pytest.raises(UncertifiedError, match="HG402"):
        parse_unit({"column": "person", "max_rows": 13})
    assert str(parse_unit(("person", 4))) == "person, at most 4 rows" and parse_unit("row") == "row"
