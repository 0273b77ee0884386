"""What an estimate says of itself: its name, its errors, its record, and where nothing may be said of its accuracy."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.inference.test_estimate import MEAN as AGE
from tests.unit.inference.test_estimate import N, made
from tests.unit.inference.test_joint_arithmetic import AGE as OF_AGE
from tests.unit.inference.test_joint_arithmetic import OTHER, release

from hedgerow.errors import ParameterError
from hedgerow.inference.bootstrap.replicate_summary import Replicates
from hedgerow.inference.estimate import Estimate, said_once, share_value
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.functions import MeanOfTotals, ScaledMean
from hedgerow.inference.region import LevelTest, ReplicateRegion, ScoreRegion, WithheldRegion

NORMAL = 1.959963984540054
BY_SEX = {"sex": 0, "region": "North East"}
WITHHELD = replace(AGE, _region=WithheldRegion(), sampling_error=None, privacy_error=None, note="Not told.")


def number(value: float = 41.8731, error: float = 0.186, **changed: Any) -> Estimate:
    """Return an estimate whose interval is that of a normal number."""
    from hedgerow.inference.interval import normal_quantile

    def ends(level: float) -> tuple[float, float]:
        return value - error * normal_quantile(level), value + error * normal_quantile(level)

    covers = "the population mean of age; noise is counted"
    errors = 0.6 * error, 0.0, 0.8 * error
    region = ScoreRegion(LevelTest(ends, "gaussian"))
    plain = Estimate("mean", "age", {}, value, *errors, "gaussian", None, True, None, covers, region)
    return replace(plain, **changed)


def without(estimate: Estimate, part: str) -> Estimate:
    """Return an estimate without one of its errors."""
    changed: dict[str, Any] = {part: None}
    return replace(estimate, **changed)


def replicated(seed: int, drawn: object, **changed: Any) -> Estimate:
    """Return a mean by a bootstrap of 30 replicates, whose weights other means may share."""
    rng = np.random.default_rng(seed)
    replicates = Replicates.of(rng.normal(50.0, 2.0, 30), noise_variance=0.5, weights="multinomial")
    region = ReplicateRegion(replicates, 0.0, 100.0, True, "unbiased", False, drawn=drawn, averaged=80.0)
    parts = region.parts()
    errors = parts.sampling_error, parts.bootstrap_error, parts.privacy_error
    values = replicates.estimates
    plain = Estimate(
        "mean", "age", {"sex": seed}, replicates.mean, *errors, "bootstrap", 30, True, f"Note {seed}.", "a mean; all",
        region, values,
    )  # fmt: skip
    return replace(plain, **changed)


def test_where_the_noise_is_confidential_there_is_no_interval_and_no_test() -> None:
    for ask in (WITHHELD.confidence_interval, WITHHELD.test):
        with pytest.raises(ParameterError) as refused:
            ask()
        assert refused.value.code == "HG159" and "mean(age)" in str(refused.value)
    record = WITHHELD.to_dict(0.9)
    assert record["confidence_interval"] == {
        "low": None, "high": None, "level": 0.9, "method": "withheld", "covers": AGE.covers
    }  # fmt: skip
    assert record["standard_error"] is None
    assert str(WITHHELD) == f"mean of age: {AGE.estimate:.6g} (Not told.)"
    bar = WITHHELD._error_bar()
    assert (bar.low, bar.high, bar.privacy_error) == (-math.inf, math.inf, None)
    assert WITHHELD._card_line(with_cell=False).interval == (-math.inf, math.inf)
    with pytest.raises(ParameterError, match="HG110"):
        WITHHELD.to_dict(95)


def test_an_interval_method_that_is_not_offered_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"HG108.*calibrated"):
        AGE.confidence_interval(0.95, "calibrated")
    with pytest.raises(ParameterError, match="HG110"):
        AGE.confidence_interval(1.5)
    assert replicated(1, None).confidence_interval().method == replicated(1, None).test(50.0).method == "unbiased"
    assert AGE.confidence_interval(0.95, "moments") == AGE.confidence_interval()
    assert AGE.confidence_interval().level == 0.95 and AGE.confidence_interval().covers == AGE.covers


def test_a_statistic_counts_standard_errors() -> None:
    found = number(2.0, 0.5).test(1.0)
    assert found.statistic == pytest.approx(2.0) and (found.value, found.method) == (1.0, "gaussian")
    assert found.pvalue == pytest.approx(0.0455003, rel=1e-3) and found.pvalue >= 0.0455003
    assert number(2.0, 0.5).test().value == 0.0
    exact = number(2.0, 0.0)
    assert exact.test(2.0).statistic == 0.0 and exact.test(1.0).statistic is None
    assert replace(exact, privacy_error=None).test(2.0).statistic is None
    assert str(found) == "test of 1: z = 2, p = 0.0455 (two-sided; sampling and privacy noise counted)"
    assert "z =" not in str(exact.test(1.0))
    assert found.to_dict() == {
        "statistic": found.statistic, "pvalue": found.pvalue, "value": 1.0, "method": "gaussian", "covers": found.covers
    }  # fmt: skip


def test_a_standard_error_is_the_root_of_three_squares_or_not_known() -> None:
    one = number(sampling_error=2.0, bootstrap_error=3.0, privacy_error=6.0)
    assert one.standard_error == 7.0
    for part in ("sampling_error", "bootstrap_error", "privacy_error"):
        assert without(one, part).standard_error is None


def test_an_estimate_is_equal_to_its_copies_and_not_to_another_number() -> None:
    one = number(labels={"sex": "women"})
    again = pickle.loads(pickle.dumps(replace(AGE, cell=BY_SEX)))
    assert again == replace(AGE, cell=BY_SEX) and again._region is not AGE._region
    assert dict(again.cell) == BY_SEX and again.confidence_interval() == AGE.confidence_interval()
    assert copy.copy(one) == one and replace(one, estimate=1.0) != one
    with pytest.raises(TypeError):
        one.cell["sex"] = 1  # type: ignore[index]  # nobody may


def test_of_others_marks_what_has_a_joint_law_and_leaves_the_rest() -> None:
    elsewhere = made("age", JointValue.of(release(seed=8), 0, MeanOfTotals(ScaledMean(1, 40.0, 40.0))))
    with pytest.raises(ParameterError, match="HG130"):
        AGE - elsewhere
    difference = AGE - elsewhere.of_others()
    assert difference.sampling_error == pytest.approx(
        math.hypot(AGE.sampling_error or 0.0, elsewhere.sampling_error or 0.0), rel=2e-3
    )
    alone = number()
    assert alone.of_others() is alone
    with pytest.raises(ParameterError, match="HG130"):
        alone - AGE


def test_a_record_has_labels_and_replicates_only_where_there_are_any() -> None:
    plain = number()
    assert not {"labels", "replicates"} & plain.to_dict().keys()
    assert number(labels={"sex": "women"}, cell={"sex": 0}).to_dict()["labels"] == {"sex": "women"}
    assert replicated(1, None).to_dict()["replicates"] == list(replicated(1, None).replicates or ())
    assert plain.to_dict()["confidence_interval"]["level"] == 0.95
    assert plain.to_dict(0.5)["confidence_interval"] == plain.confidence_interval(0.5).to_dict()


def test_the_sd_of_records_is_the_sampling_error_times_the_root_of_their_number() -> None:
    one = replicated(1, None)
    assert one.individual_sd == pytest.approx(math.sqrt(80.0) * (one.sampling_error or 0.0))
    assert (2.0 * one).individual_sd is None  # of what was moved no record is known
    assert replace(one, sampling_error=None).individual_sd is None
    assert replace(one, sampling_error=0.0).individual_sd is None
    assert number().individual_sd is None
    assert made("age", OF_AGE).individual_sd == pytest.approx(math.sqrt(300.0) * OF_AGE.sampling_error)


@pytest.mark.parametrize(
    ("statistic", "column", "cell", "covers", "term", "label"),
    [
        ("mean", "age", {}, "the mean; all", "mean(age)", "mean of age"),
        ("mean", "age", BY_SEX, "the mean; all", 'mean(age | sex=0, region="North East")',
         "mean of age (sex=0, region=North East)"),
        ("count", None, {}, "records; all", "count()", "count"),
        ("count", None, {"sex": 0}, "records; all", "count(| sex=0)", "count (sex=0)"),
        ("ratio", "tax, income", {}, "the ratio; all", "ratio(tax, income)", "ratio of tax, income"),
        ("proportion", "sex", {}, "the population share of sex = 1; all", "proportion(sex=1)",
         "proportion of sex = 1"),
        ("proportion", "sex", {}, "the share of sex = 1, weighted by w; all", "proportion(sex=1)",
         "proportion of sex = 1"),
        ("quantile_0.5", "age", {}, "the median; all", "quantile(age, 0.5)", "quantile_0.5 of age"),
        ("cdf_10", "age", {}, "a share; all", "cdf(age, 10)", "cdf_10 of age"),
        ("lorenz_0.2", "age", {}, "a share; all", "lorenz(age, 0.2)", "lorenz_0.2 of age"),
        ("share_below_3", "age", {}, "a share; all", "share_below(age, 3)", "share_below_3 of age"),
        ("share_below_median_0.6", "age", {}, "a share; all", "share_below_median(age, 0.6)",
         "share_below_median_0.6 of age"),
        ("survival_5", "time", {}, "a share; all", "survival(time, 5)", "survival_5 of time"),
        ("my_rate", "age", {}, "a rate; all", "my_rate(age)", "my_rate of age"),
    ],
)  # fmt: skip
def test_names_in_expressions_and_in_words(
    statistic: str, column: str | None, cell: dict[str, Any], covers: str, term: str, label: str
) -> None:
    one = number(statistic=statistic, column=column, cell=cell, covers=covers)
    assert (one._term(), one.label()) == (term, label)
    assert (one * 2.0).statistic == f"{term} * 2"
    assert (one * 2.0)._term() == (one * 2.0).label() == f"{term} * 2"


def test_labels_of_the_categories_of_a_cell_are_taken_by_value() -> None:
    one = number(cell={"sex": 0, "age": 7})
    named = one._labelled({"sex": {0: "women", 1: "men"}, "region": {0: "north"}, "age": {8: "eight"}})
    assert named.labels == {"sex": "women"} and named.label() == "mean of age (sex=women, age=7)"
    assert one.labels == {} and (2.0 * named).labels == {}


def test_the_value_of_a_share_is_read_from_its_words_alone() -> None:
    covers = "the population share of sex = a; b; sampling is counted"
    assert share_value("proportion", "sex", covers) == "a; b"
    assert share_value("mean", "sex", covers) is None
    assert share_value("proportion", "sex", "the share of sex = 1, weighted by w; all") == "1"


def test_notes_are_said_once_sentence_by_sentence() -> None:
    assert said_once(["A b. C d.", "", None, "C d. E f. A b.", "A b."]) == ["A b. C d.", "E f."]


def test_an_estimate_prints_its_number_its_error_and_an_interval_rounded_outwards() -> None:
    one = number(41.8731, 0.186)
    assert str(one) == "mean of age: 41.8731 (s.e. 0.186, of which privacy 0.149; 95 % interval 41.5085 to 42.2377)"
    assert repr(one) == f"<Estimate {one}>" and f"{one}" == str(one)
    assert str(replace(one, reliable=False)).endswith("to 42.2377, not reliable)")
    for part in ("sampling_error", "privacy_error"):
        unsure = str(without(one, part))
        assert unsure == "mean of age: not reliable, 95 % interval 41.5085 to 42.2377"
    assert (float(one), round(one, 1), round(one), f"{one:.2f}") == (41.8731, 41.9, 42, "41.87")


def test_a_bar_and_a_line_of_a_card_have_the_interval_and_the_name_of_the_cell() -> None:
    one = number(cell={"sex": 0}, labels={"sex": "women"})
    bar = one._error_bar(0.5)
    ends = tuple(one.confidence_interval(0.5))
    assert (bar.label, bar.panel, bar.estimate, bar.low, bar.high) == ("sex=women", "mean of age", 41.8731, *ends)
    assert bar.privacy_error == pytest.approx(0.8 * 0.186) and bar.reliable
    assert number()._error_bar().label == "all" and number()._error_bar().low == number().confidence_interval().low
    decile = replace(one, statistic="quantile_0.1")
    assert (decile._error_bar().panel, decile._error_bar().label) == ("quantile of age", "0.1, sex=women")
    assert replace(decile, cell={})._error_bar().label == "0.1"
    twice = number() * 2.0
    assert (twice._error_bar().panel, twice._error_bar().label) == ("mean(age) * 2", "all")

    line = one._card_line(with_cell=True)
    assert line.names == ("mean of age", "sex=women") and line.estimate == 41.8731
    assert line.errors == (one.standard_error, one.sampling_error, one.privacy_error)
    low, high = one.confidence_interval()
    assert 0.0 <= low - (line.interval[0] or 0.0) <= 0.1 and 0.0 <= (line.interval[1] or 0.0) - high <= 0.1
    vague = replace(one, reliable=False)
    assert vague._card_line(with_cell=True).names == ("mean of age", "sex=women (not reliable)")
    assert vague._card_line(with_cell=False).names == ("mean of age (not reliable)",)


def test_a_notebook_shows_the_cell_where_there_is_one() -> None:
    with_cell, without = number(cell={"sex": 0})._repr_html_(), number(note="Rows are dropped.")._repr_html_()
    assert ">cell<" in with_cell and "sex=0" in with_cell
    assert ">cell<" not in without and "Rows are dropped." in without and "Rows are dropped." not in with_cell


@pytest.mark.parametrize("name", ["log", "exp", "sqrt"])
def test_a_function_of_a_public_number_is_a_public_number(name: str) -> None:
    few = replace(N, estimate=4.0)
    got = getattr(few, name)()
    assert got.estimate == pytest.approx(getattr(math, name)(4.0)) and got.method == "public"
    assert (got.standard_error, got.statistic) == (0.0, f"{name}(count())")


def test_a_number_divided_by_a_public_one_is_exact() -> None:
    assert (10.0 / replace(N, estimate=4.0)).estimate == 2.5
    assert (10.0 / N).standard_error == 0.0
    with pytest.raises(OverflowError):
        N * 1e308 * 1e308


@pytest.mark.parametrize("other", ["1", None, [1.0]])
def test_only_numbers_and_estimates_are_computed_with(other: Any) -> None:
    with pytest.raises(TypeError):
        AGE + other
    with pytest.raises(TypeError):
        other / AGE  # refused


def test_a_moved_number_has_moved_replicates_errors_and_interval() -> None:
    one = replicated(1, None)
    twice = 1.0 - 2.0 * one
    assert twice.replicates == pytest.approx([1.0 - 2.0 * value for value in one.replicates or ()])
    assert twice.sampling_error == pytest.approx(2.0 * (one.sampling_error or 0.0))
    assert twice.bootstrap_error == pytest.approx(2.0 * (one.bootstrap_error or 0.0))
    assert (twice.column, dict(twice.cell), twice.n_resamples) == (None, {}, 30)
    low, high = one.confidence_interval()
    assert tuple(twice.confidence_interval()) == pytest.approx((1.0 - 2.0 * high, 1.0 - 2.0 * low))
    assert (replace(one, sampling_error=None) * 2.0).sampling_error is None


@pytest.mark.parametrize(("symbol", "combine"), [("+", lambda a, b: a + b), ("-", lambda a, b: a - b)])
def test_means_by_replicates_drawn_together_are_added_replicate_by_replicate(
    symbol: str, combine: Callable[[Any, Any], Any]
) -> None:
    weights = object()
    first, second = replicated(1, weights), replicated(2, weights)
    both = combine(first, second)
    values = combine(np.array(first.replicates), np.array(second.replicates))
    assert both.replicates == pytest.approx(values.tolist())
    assert both.estimate == pytest.approx(combine(first.estimate, second.estimate))
    assert (both.statistic, both.method, both.n_resamples) == (
        f"mean(age | sex=1) {symbol} mean(age | sex=2)",
        "bootstrap",
        30,
    )
    assert both.note == "Note 1. Note 2." and both.reliable and both.covers == "this combination of a mean; all"
    region = both._region
    assert isinstance(region, ReplicateRegion)
    parts = region.parts()
    assert (both.sampling_error, both.bootstrap_error, both.privacy_error) == (
        parts.sampling_error, parts.bootstrap_error, parts.privacy_error
    )  # fmt: skip
    assert parts.privacy_error == pytest.approx(math.sqrt(2.0 * 0.5 / 30.0))
    assert not combine(first, replace(second, reliable=False)).reliable
    with pytest.raises(ParameterError, match="HG130"):
        first * second
    with pytest.raises(ParameterError, match="HG130"):
        combine(first, replicated(2, object()))


def test_a_sum_with_what_the_noise_hides_has_no_errors_and_no_replicates() -> None:
    weights = object()
    first, second = replicated(1, weights), replicated(2, weights)
    hidden = replace(
        second,
        reliable=False,
        note=None,
        _region=replace(second._region, reliable=False),  # type: ignore[call-arg]  # its region here has the field
    )
    both = first + hidden
    assert (both.sampling_error, both.bootstrap_error, both.privacy_error) == (None, None, None)
    assert both.replicates is None and not both.reliable and both.note == "Note 1."
    assert tuple(both.confidence_interval()) == (0.0, 200.0)


def test_an_expression_says_what_the_noise_hides_and_what_rests_on_a_tangent() -> None:
    joint = OF_AGE - OTHER
    noted = replace(AGE, note="Rows are dropped.")
    plain = noted - made("age", OTHER)
    assert (plain.note, plain.reliable, plain.bootstrap_error) == ("Rows are dropped.", True, 0.0)
    assert plain.standard_error == pytest.approx(joint.standard_error) and plain.method == "moments"
    swamped = release(noise_sd=400.0)
    hidden = noted / made("age", JointValue.of(swamped, 0, MeanOfTotals(ScaledMean(1, 0.0, 40.0)))).of_others()
    assert not hidden.reliable and hidden.standard_error is None and hidden.bootstrap_error is None
    assert (hidden.note or "").startswith("Rows are dropped. The noise hides what the expression divides by")
