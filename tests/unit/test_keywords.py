"""Unknown keywords: every public call refuses them with a code and the nearest name, and shows the ones that it has."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.keywords import takes
from hedgerow.multicalibration import Multicalibrator
from hedgerow.release.options import PlanOptions, ReleaseOptions, TableOptions
from hedgerow.release.request import parse_request
from hedgerow.testset import TestSet

METHODS = ("plan", "release", "mean", "sum", "proportion", "count", "magnitude_table", "contingency_table")
STATISTICS = ("mean", "sum", "proportion", "count", "ratio", "quantile", "variance", "standard_deviation", "bootstrap")


def survey() -> hg.Survey:
    return hg.open(pa.table({"age": [30.0, 50.0] * 50, "sex": [0, 1] * 50}), relation="replace-one")


def calls() -> dict[str, Callable[..., Any]]:
    opened = survey()
    found: dict[str, Callable[..., Any]] = {f"survey.{name}": getattr(opened, name) for name in METHODS}
    found |= {f"hg.{name}": getattr(hg, name) for name in (*STATISTICS, "open", "combine")}
    test_set = TestSet(None, np.array([0, 1] * 500), relation="replace-one", epsilon=1.0, n_looks=1)
    return found | {"TestSet": TestSet, "score": test_set.score, "Multicalibrator": Multicalibrator}


CALLS = calls()


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_keyword_has_a_code_and_names_the_public_call(name: str) -> None:
    with pytest.raises(TypeError) as refused:
        CALLS[name](qqqq=1)
    assert isinstance(refused.value, hg.UnknownKeywordError) and isinstance(refused.value, hg.ParameterError)
    assert refused.value.code == "HG126"
    assert refused.value.rule.startswith(f"`{name.rpartition('.')[2]}` ")
    assert "`qqqq`" in refused.value.rule


@pytest.mark.parametrize("name", CALLS)
def test_a_misspelt_keyword_is_told_the_nearest_name(name: str) -> None:
    shown = [one.name for one in inspect.signature(CALLS[name]).parameters.values() if one.kind is one.KEYWORD_ONLY]
    for word in shown:
        if len(word) > 4:
            with pytest.raises(hg.UnknownKeywordError, match=f"Did you mean `{word}`"):
                CALLS[name](**{word[:-1] + "q": 1})


def test_no_public_method_of_a_survey_hides_its_keywords() -> None:
    for name in METHODS:
        parameters = inspect.signature(getattr(hg.Survey, name)).parameters.values()
        assert all(one.kind is not one.VAR_KEYWORD for one in parameters), name
        assert {"epsilon", "delta", "missing"} <= {one.name for one in parameters}, name
    assert {"by", "request_id"} <= set(inspect.signature(hg.Survey.mean).parameters)
    assert "request_id" not in inspect.signature(hg.Survey.plan).parameters


def test_the_options_that_are_declared_are_those_that_a_request_takes() -> None:
    inner = {"statistics", "context"}
    taken = set(inspect.signature(parse_request).parameters) - inner
    assert set(PlanOptions.__annotations__) == taken
    assert set(ReleaseOptions.__annotations__) == taken | {"request_id"}
    assert taken - {"by", "estimator", "weights", "unit_weight"} <= set(TableOptions.__annotations__)


def test_every_option_of_a_release_reaches_it() -> None:
    """Each declared option is taken by the call itself: none ends as a bare TypeError further in."""
    for name in ReleaseOptions.__annotations__:
        try:
            survey().mean("age", bounds=(0, 100), **{"epsilon": 1.0, name: object()})
        except hg.HedgerowError as refused:
            assert not isinstance(refused, hg.UnknownKeywordError), name
    for name in TableOptions.__annotations__:
        try:
            survey().contingency_table(by={"sex": [0, 1]}, **{"epsilon": 1.0, name: object()})
        except hg.HedgerowError as refused:
            assert not isinstance(refused, hg.UnknownKeywordError), name


def test_a_part_belongs_to_bootstrap_dp() -> None:
    with pytest.raises(hg.ParameterError, match="HG127"):
        survey().contingency_table(by={"sex": [0, 1]}, epsilon=1.0, part=("region", "north"))


def test_what_a_call_raises_itself_is_left_as_it_is() -> None:
    @takes()
    def inner(*, epsilon: float) -> None:
        raise TypeError("its own")

    with pytest.raises(TypeError, match="its own"):
        inner(epsilon=1.0)
    with pytest.raises(TypeError, match="missing 1 required"):
        inner()


def test_the_refusal_pickles() -> None:
    with pytest.raises(hg.UnknownKeywordError) as refused:
        survey().mean("age", epsilom=1.0)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.code, str(again)) == (refused.value.code, str(refused.value))
