"""What a refusal proposes works: a dozen are followed to the letter, in Python. The page of errors does the shell's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.testset import TestSet

TABLE = pa.table({"age": [30.0, 50.0] * 500, "pay": [2.0, 4.0] * 500, "sex": [0, 1] * 500})
KEYWORD = re.compile(r'(\w+)=("[^"]*"|\{[^{}]*\}|\([^()]*\)|[\d.]*\d)')


def survey() -> hg.Survey:
    return hg.open(TABLE, relation="replace-one")


def release(**options: Any) -> Any:
    return survey().release([hg.mean("age", bounds=(0, 100), step=1)], **{"epsilon": 1.0, **options})


# What is asked, with the arguments that the remedy is to change, and the first keyword of the remedy that is followed.
FOLLOWED: dict[str, tuple[str, Callable[..., Any], dict[str, Any]]] = {
    "no relation": ("HG103", lambda **options: hg.open(TABLE, **options).count(by={"sex": [0]}, epsilon=1.0), {}),
    "no epsilon": ("HG101", lambda **options: survey().mean("age", bounds=(0, 100), **options), {}),
    "epsilon": ("HG101", release, {"epsilon": 0.0}),
    "no bounds": ("HG104", lambda **options: survey().mean("age", epsilon=1.0, **options), {}),
    "bounds": ("HG105", lambda **options: survey().mean("age", epsilon=1.0, **options), {"bounds": (9, 0)}),
    "no bounds of a ratio": (
        "HG104",
        lambda **options: survey().release([hg.ratio("age", "pay", **options)], epsilon=1.0),
        {},
    ),
    "no bounds of a quantile": (
        "HG104",
        lambda **options: survey().release([hg.quantile("age", 0.5, **options)], epsilon=1.0),
        {},
    ),
    "no categories": ("HG111", lambda **options: survey().count(epsilon=1.0, **options), {"by": ["sex"]}),
    "a pure Gaussian": (
        "HG117",
        lambda **options: survey().count(by={"sex": [0, 1]}, epsilon=1.0, delta=0, **options),
        {"noise": "gaussian"},
    ),
    "midpoints of shares": (
        "HG114",
        lambda **options: survey().proportion("sex", value=1, by={"sex": [0, 1]}, epsilon=1.0, **options),
        {"missing": "midpoint"},
    ),
    "replicates of no bootstrap": (
        "HG108",
        lambda **options: survey().mean("age", bounds=(0, 100), epsilon=1.0, n_resamples=20, **options),
        {},
    ),
    "a table without groups": (
        "HG150",
        lambda **options: survey().contingency_table(epsilon=1.0, **options),
        {"by": {}},
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_a_refusal_proposes_works(name: str) -> None:
    code, ask, given = FOLLOWED[name]
    with pytest.raises(hg.HedgerowError) as refused:
        ask(**given)
    assert refused.value.code == code
    found = KEYWORD.search(refused.value.remedy)
    assert found is not None, refused.value.remedy
    ask(**{**given, found[1]: eval(found[2], {"LO": 0, "HI": 100})})


def test_the_steps_that_are_proposed_divide() -> None:
    with pytest.raises(hg.ParameterError, match="HG106") as refused:
        hg.mean("age", bounds=(18, 95), step=2)
    steps = re.findall(r"\d+(?:\.\d+)?", refused.value.remedy)
    assert steps == ["1", "7", "11", "2.2", "1.925"], "whole ones for whole numbers, then the nearest"
    for step in steps:
        survey().mean("age", bounds=(18, 95), step=float(step), epsilon=1.0)


def test_a_misspelt_column_spelt_as_in_the_header_works() -> None:
    for spelt in ("Age", "aeg"):
        with pytest.raises(hg.DataError, match=r"HG203.*Did you mean 'age'\?"):
            survey().mean(spelt, bounds=(0, 100), epsilon=1.0)
    survey().mean("age", bounds=(0, 100), epsilon=1.0)


@pytest.mark.parametrize("record", ["smith,41", "smith,two words", "smith,x-y"])
def test_a_record_in_place_of_a_header_is_no_near_name(record: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"{record}\njones,30\n")
    with pytest.raises(hg.DataError, match="HG203") as refused:
        hg.open(file, relation="replace-one").proportion("smit", value="a", epsilon=1.0)
    assert "smith" not in str(refused.value) and "Did you mean" not in str(refused.value)


def test_over_budget_says_how_much_is_left_and_that_much_is_granted(tmp_path: Path) -> None:
    ledger = tmp_path / "l"
    Ledger.create(ledger, dataset="d", budget=Budget(2.0, 1e-5), relation="replace-one", unit="row").close()
    opened = hg.open(TABLE, relation="replace-one", ledger=ledger)
    with pytest.raises(hg.BudgetExceeded, match="HG310") as refused:
        opened.mean("age", bounds=(0, 100), epsilon=3.0)
    assert "--" not in str(refused.value)
    opened.mean("age", bounds=(0, 100), epsilon=refused.value.remaining * 0.99)


def test_a_test_set_that_is_used_up_still_has_its_history() -> None:
    y = np.array([0, 1] * 500)
    tests = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=1)
    tests.score(y)
    with pytest.raises(hg.BudgetExceeded, match="HG430") as refused:
        tests.score(y)
    assert "`history`" in refused.value.remedy and len(tests.history) == 1


@pytest.mark.parametrize(
    "ask", [lambda: hg.quantile("age", 2.0), lambda: hg.quantile("age", 0.5, bounds=(0, 9), step=0.000001)]
)
def test_a_wrong_quantile_is_told_of_quantiles(ask: Callable[[], object]) -> None:
    with pytest.raises(hg.ParameterError, match="HG112") as refused:
        ask()
    (example,) = re.findall(r"(?:[Ff]or example|Write) (hg\..*)\.$", refused.value.remedy)
    assert eval(example).kind == "quantile"


@pytest.mark.parametrize(
    ("given", "found", "meant"),
    [(50, "50", "0.5"), (2.5, "2.5", "0.025"), (100, "100", "0.5"), (0, "0", "0.5"), ("half", "a str", "0.5")],
)
def test_a_wrong_probability_is_said_and_a_percentage_becomes_one(given: Any, found: str, meant: str) -> None:
    with pytest.raises(hg.ParameterError) as refused:
        hg.quantile("income", given)
    assert refused.value.finding == f"Found {found}."
    assert refused.value.remedy == f'Write hg.quantile("income", {meant}).'


@pytest.mark.parametrize(
    ("ask", "found"),
    [
        (lambda: hg.ratio("age", "age"), "Both are 'age'."),
        (lambda: hg.ratio("age", "pay", bounds={"age": (0, 9)}), "Found bounds of 'age'."),
        (lambda: hg.bootstrap(len, columns={}), "Found no columns."),
        (lambda: hg.bootstrap(len, columns={"age": (0, 9)}, features={"f": 3}), "Found an int."),
        (lambda: hg.bootstrap(len, columns={"age": (0, 9)}, limits=(1, 0)), "Found (1, 0)."),
        (lambda: survey().release(3, epsilon=1.0), "Found an int."),
        (lambda: survey().release([hg.count(), None], epsilon=1.0), "One of those given is a NoneType."),
    ],
)
def test_what_a_caller_gave_is_said(ask: Callable[[], object], found: str) -> None:
    with pytest.raises(hg.ParameterError, match="HG112") as refused:
        ask()
    assert refused.value.finding == found


def test_a_wrong_ratio_and_a_wrong_bootstrap_are_told_of_theirs() -> None:
    for ask, kind in ((lambda: hg.ratio("age", "age"), "ratio"), (lambda: hg.bootstrap(None, columns={}), "bootstrap")):
        with pytest.raises(hg.ParameterError, match="HG112") as refused:
            ask()
        (example,) = re.findall(r"[Ff]or example (hg\..*)\.$", refused.value.remedy)
        assert eval(example).kind == kind
