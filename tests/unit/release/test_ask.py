"""Expressions as text: what they compute, and what is refused at which character."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hg
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.operators import quoted
from hedgerow.release.ask import ask
from hedgerow.release.result import Release
from hedgerow.testing import simulated

RNG = np.random.default_rng(16)
SIZE = 1500
AGE = np.clip(RNG.normal(45.0, 15.0, SIZE), 0, 100)
TABLE = pa.table(
    {
        "age": AGE,
        "pay": np.clip(AGE * RNG.uniform(0, 2, SIZE), 0, 200),
        "sex": RNG.integers(0, 2, SIZE),
        "region": RNG.choice(["North", "East (old)"], SIZE),
        "employed": RNG.integers(0, 2, SIZE),
    }
)
BOUNDS = {"age": (0, 100), "pay": (0, 200)}
RATIO, VARIANCE = hg.ratio("pay", "age", bounds=BOUNDS), hg.variance("age", bounds=BOUNDS["age"])
OWN = hg.function(lambda t: t["pay"] - t["age"], columns=BOUNDS, name="pay less age")


def released(*asked: Any, **options: Any) -> Release:
    survey = hg.open(TABLE, relation="replace-one")
    return simulated.release(survey, [*asked], **({"epsilon": 3.0, "rng": 1} | options))


SHARES = [hg.proportion("employed", value=value) for value in (1, 0)]
MEDIAN = hg.quantile("pay", 0.5, bounds=BOUNDS["pay"])
WHOLE = released(RATIO, OWN, hg.count(), *SHARES, MEDIAN)
CELLS = released(RATIO, hg.count(), by={"sex": [0, 1], "region": ["North", "East (old)"]})
R, W = WHOLE[0], WHOLE[1]


def test_an_expression_makes_the_estimates_of_its_own_cells_alone() -> None:
    release = released(RATIO, hg.count(), by={"sex": [0, 1], "age": [*range(100)]})
    answer = release.ask("ratio(pay, age | sex=1, age=40) - count(| sex=0, age=3)")
    made = dict(release.estimates._made)  # type: ignore[attr-defined]  # those that were made when they were read
    # The first of each statistic tells what it is called.
    assert {(one.statistic, *one.cell.values()) for one in made.values()} == {
        *((name, 0, 0) for name in ("ratio", "count")),
        ("ratio", 1, 40),
        ("count", 0, 3),
    }
    assert answer.estimate == release[140].estimate - release[203].estimate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ratio(pay, age)", lambda: R),
        ("ratio", lambda: R),
        (' "pay less age" ', lambda: W),
        ("'pay less age'(age, pay)", lambda: W),
        ("count()", lambda: WHOLE[2]),
        ("proportion(employed=1)", lambda: WHOLE[3]),
        ("quantile(pay, 0.5)", lambda: WHOLE[5]),
        ("proportion( employed = 0 )", lambda: WHOLE[4]),
        ("2 * ratio + 1", lambda: 2 * R + 1),
        ("1 + 2 * ratio", lambda: 1 + 2 * R),
        ("2 − 3×ratio", lambda: 2 - 3 * R),
        ("1 - ratio - 1", lambda: 1 - R - 1),
        ("8 / 4 / 2 * ratio", lambda: 1 * R),
        ("-(ratio - .5e0)", lambda: -(R - 0.5)),
        ("- -ratio", lambda: 1 * R),
        ("log(2) * ratio", lambda: math.log(2) * R),
        ('ratio / "pay less age"', lambda: R / W),
        ("exp(log(ratio)) * count", lambda: WHOLE[2] * R.log().exp()),
        ("sqrt(ratio*ratio)", lambda: (R * R).sqrt()),
    ],
)
def test_an_expression_is_what_python_computes(text: str, expected: Any) -> None:
    made, other = WHOLE.ask(text), expected()
    assert made.estimate == other.estimate
    assert made.to_dict(0.9)["standard_error"] == other.to_dict(0.9)["standard_error"]
    assert made.to_dict(0.9)["confidence_interval"]["low"] == other.to_dict(0.9)["confidence_interval"]["low"]
    assert made is other or made.statistic == " ".join(text.split())


def test_cells_are_named_whole_and_in_any_order() -> None:
    text = 'ratio(pay, age | region="East (old)", sex=1) - ratio(pay, age | sex=0, region=North)'
    east, north = (CELLS.estimate("ratio", sex=sex, region=name) for sex, name in ((1, "East (old)"), (0, "North")))
    assert CELLS.ask(text).estimate == (east - north).estimate
    assert CELLS.ask("count(| sex=0, region=North)") is CELLS.estimate("count", sex="0", region="North")
    # The name that an estimate gives itself finds it.
    assert all(release.ask(one._term()) is one for release in (WHOLE, CELLS) for one in release)
    assert all(release.estimate(one._term()) is one for release in (WHOLE, CELLS) for one in release)


@pytest.mark.parametrize("wrong", ["mean(x | g=1)", "mean", "ratio(| sex=0)", "count(| sex=7)", "ratio"])
@pytest.mark.parametrize("call", ["estimate", "ask", "__getitem__"])
def test_what_a_refusal_lists_works_as_it_stands(wrong: str, call: str) -> None:
    with pytest.raises(hg.ParameterError, match="HG137") as refused:
        getattr(CELLS, call)(wrong)
    listed, _, calls = refused.value.remedy.partition(". Write ")
    first, *others = listed.removeprefix("There are ").split("; ")
    assert all(CELLS.estimate(name) is CELLS.ask(name) for name in (first, *others))
    examples = re.findall(r"release\.\w+\('.*?'\)", calls)
    assert [eval(example, {"release": CELLS}) for example in examples] == [CELLS.estimate(first)] * 2
    assert refused.value.shell is not None and "release." not in refused.value.shell


def test_an_estimate_is_never_one_of_several_of_its_printed_name() -> None:
    twice = released([hg.count(), hg.count()])
    with pytest.raises(hg.ParameterError, match=r"HG137.*Several are count\(\)\."):
        twice.estimate("count()")


def test_categories_are_named_by_their_labels_too() -> None:
    release = released(RATIO, by={"sex": {0: "men", 1: "1 or more"}, "age": hg.bands(0, 40, 100)})
    older = "[40, 100]"
    made = release.ask(f'ratio(| sex=men, age="{older}") / 2')
    assert made.estimate == release.estimate("ratio", sex=0, age=older).estimate / 2
    assert "labels" not in made.to_dict() and release.ask(f'ratio(| sex="1 or more", age="{older}")') == release[3]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "HG136", "found the end"),
        ("1 + 1", "HG136", "it names no estimate"),
        ("ratio(pay, age", "HG136", "At character 15 .*expected ',', found the end"),
        ("ratio(pay age)", "HG137", "There is no ratio"),
        ("ratio ratio", "HG136", "At character 7 .*found 'ratio'"),
        ("ratio + * 2", "HG136", "At character 9 .*found '\\* 2'"),
        ("ratio ** 2", "HG136", "At character 8 "),
        ("ratio(pay, age) - (2", "HG136", "At character 21 .*expected '\\)'"),
        ("ratio(| sex)", "HG136", "At character 12 .*expected '='"),
        ("ratio(| sex=0, sex=1)", "HG136", "At character 16 .*named twice"),
        ("__import__('os')", "HG137", "At character 1 .*There is no __import__"),
        ("ratio.__class__", "HG136", "At character 6 "),
        ("ratio if 1 else 2", "HG136", "At character 7 "),
        ("ratio / (1 - 1)", "HG136", "At character 7 .*not defined"),
        ("log(0 - 1) * ratio", "HG136", "At character 1 .*not defined"),
        ("1e300 * 1e300 * ratio", "HG136", "At character 7 .*not defined"),
        ("1e300 * ratio * 1e300", "HG136", "At character 15 .*not defined"),
        ("9e999 * ratio", "HG136", "At character 1 .*too large"),
        ("(" * 500 + "ratio" + ")" * 500, "HG136", "within one another"),
        ("ratio + " * 300 + "ratio", "HG136", "more than 2,000"),
        ("1 - men(age)", "HG137", "At character 5 .*There is no men.age"),
        ("ratio(pay, age | sex=0)", "HG137", "There is ratio.pay, age"),
        ("proportion(employed)", "HG137", "Several are proportion.employed.*There are .*=1.*=0"),
        ("r2.ratio", "HG136", "there is no r2"),
        ("ratio - quantile(pay, 0.5)", "HG130", "At character 7 "),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(text: str, code: str, said: str) -> None:
    with pytest.raises(hg.ParameterError, match=f"^{code}: .*{said}"):
        WHOLE.ask(text)


@pytest.mark.parametrize(
    "text", ["log(ratio - 1000000)", "sqrt(0 - 1 - ratio)", "exp(1000 * exp(700 + ratio))", "1 / (ratio - ratio)"]
)
def test_what_is_defined_nowhere_is_not_reliable_and_can_be_written(text: str) -> None:
    made = WHOLE.ask(text)
    assert not made.reliable and math.isfinite(made.estimate) and made.standard_error is None
    interval = made.confidence_interval()
    assert interval.low <= made.estimate <= interval.high
    json.dumps(made.to_dict(), allow_nan=False)


def test_terms_of_several_releases_say_which() -> None:
    again = released(RATIO, rng=2)
    made = ask("r1.ratio(pay, age) - r2.ratio(pay, age)", [WHOLE, again], independent=True)
    assert made.estimate == pytest.approx(R.estimate - again[0].estimate)
    assert made.statistic == "r1.ratio(pay, age) - r2.ratio(pay, age)"
    with pytest.raises(hg.ParameterError, match="HG130"):
        ask("r1.ratio - r2.ratio", [WHOLE, again])
    with pytest.raises(hg.ParameterError, match="a term says which"):
        ask("ratio - r2.ratio", [WHOLE, again], independent=True)


def test_numbers_of_one_release_are_of_the_same_people_whatever_is_said() -> None:
    """Otherwise the covariance of two numbers that were drawn apart would be taken for 0."""
    apart, other = released(VARIANCE, rng=3), released(RATIO, rng=4)
    both = [R, W, apart[0]]
    for independent in (False, True):
        with pytest.raises(hg.ParameterError, match="HG130"):
            ask("ratio - variance", [both], independent=independent)
    with pytest.raises(hg.ParameterError, match="holds two of these apart"):
        ask("r1.ratio - r2.ratio + r1.variance", [both, other], independent=True)
    made = ask("(r1.ratio + r1.ratio) / 2 - r2.ratio", [both, other], independent=True)
    assert made.standard_error == pytest.approx(
        math.hypot(R.standard_error or 0, other[0].standard_error or 0), rel=0.05
    )
    assert ask("ratio - ratio", [both], independent=True).standard_error == 0.0


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=40))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    try:
        assert isinstance(WHOLE.ask(text), Estimate)
    except hg.ParameterError as refused:
        assert refused.code in ("HG130", "HG136", "HG137")


def _either(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.tuples(st.sampled_from("+-*/"), parts, parts)
    return pair | st.tuples(st.sampled_from(["log", "exp", "sqrt", "neg"]), parts)


@settings(deadline=None, max_examples=50)
@given(st.recursive(st.sampled_from(["ratio", "own", "n", 2.0, 0.25, 3]), _either, max_leaves=6))
def test_what_was_computed_names_the_expression_that_computes_it(tree: Any) -> None:
    def computed(node: Any) -> Any:
        if not isinstance(node, tuple):
            return {"ratio": R, "own": W, "n": WHOLE[2]}.get(node, node)
        name, *parts = node[0], *map(computed, node[1:])
        if name in "+-*/":
            left, right = parts
            return {"+": left + right, "-": left - right, "*": left * right}[name] if name != "/" else left / right
        if name == "neg":
            return -parts[0]
        return parts[0]._applied(name) if isinstance(parts[0], Estimate) else getattr(math, name)(parts[0])

    try:
        made = computed(tree)
    except (ArithmeticError, ValueError):
        return
    if isinstance(made, Estimate):
        again = WHOLE.ask(made._term())
        assert again.estimate == pytest.approx(made.estimate, rel=1e-9, abs=1e-12)
        assert again.privacy_error == pytest.approx(made.privacy_error or 0.0, rel=1e-9) or not made.reliable
        assert again.reliable == made.reliable and made.confidence_interval().low <= made.confidence_interval().high


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_any_name_and_any_category_can_be_quoted(column: str, value: str) -> None:
    cell = {column: value.strip() or "x"}
    one = Estimate("mean", "a, b", cell, 1.0, 0.0, 0.0, 0.0, "public", None, True, None, "", R._region)
    assert ask(one._term(), [[one]]) is one
    assert ask(f"2 * mean(| {quoted(column)}={quoted(cell[column])})", [[one]]).estimate == 2.0


def test_the_covariance_of_a_release_is_labelled_and_says_what_is_not_known() -> None:
    found = WHOLE.covariance()
    assert found.labels[:3] == ("ratio(pay, age)", '"pay less age"(age, pay)', "count()")
    assert not found.known and "pairs not known" in repr(found)
    assert np.isfinite(found.total[:3, :3]).all() and np.isnan(found.total[0, 5])
    assert (found.total[2] == 0.0).all()
    together = R + W
    assert found.sampling[:2, :2].sum() == pytest.approx(together.sampling_error**2, rel=0.01)
    assert found.noise[:2, :2].sum() == pytest.approx(together.privacy_error**2, rel=0.01)
    assert np.diag(found.total)[[0, 3]] == pytest.approx([R.standard_error**2, WHOLE[3].standard_error ** 2])
    record = found.to_dict()
    assert record["total"][0][5] is None and record["total"][0][1] == found.total[0, 1] and record["known"] is False
    drowned = released(RATIO, OWN, epsilon=1e-3).covariance()
    assert np.isnan(drowned.total).all()


def test_numbers_of_the_uncertainties_package_have_the_correlations() -> None:
    pytest.importorskip("uncertainties")
    ratio, own, n = WHOLE.to_uncertainties(*WHOLE[:3])
    assert (ratio / 2 - own / n).std_dev == pytest.approx((R / 2 - W / WHOLE[2]).standard_error, rel=0.02)
    assert ratio.nominal_value == R.estimate
    with pytest.raises(hg.ParameterError, match=r"HG130.*is not known"):
        WHOLE.to_uncertainties()
