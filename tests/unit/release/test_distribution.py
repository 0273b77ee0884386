"""Quantiles of a release: one table for all of a column, its record, its plan, and coverage through the whole path."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.histograms import TreeCounts
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.release.designs.column_distribution import DistributionStatistic
from hedgerow.release.designs.table_choice import _AskedOfColumn
from hedgerow.release.forecast import ErrorTarget, epsilon_needed
from hedgerow.release.publication.text import text_table
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import release_document
from hedgerow.reports.verify.verification import consistency
from hedgerow.testing import simulated

RNG = np.random.default_rng(5)
N = 4000
INCOME = np.where(RNG.random(N) < 0.15, 0.0, np.round(np.clip(np.exp(RNG.normal(10.0, 0.8, N)), 0, 100_000), -2))
TABLE = pa.table({"income": INCOME, "age": RNG.integers(18, 96, N).astype(float), "sex": RNG.integers(0, 2, N)})
GRID: dict[str, Any] = {"bounds": (0, 100_000), "step": 100}
DECILES = [0.1, 0.25, 0.5, 0.9]


def opened(relation: str = "replace-one", table: pa.Table = TABLE) -> hg.Survey:
    return hg.open(table, relation=relation)


CALLS: list[dict[str, Any]] = [
    {},
    {"missing": "error-if-declared-complete"},
    {"by": {"sex": [0, 1]}},
    {"where": "age >= 40"},
    {"delta": 0.0},
    {"noise": "gaussian"},
]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", CALLS, ids=str)
def test_all_quantiles_of_a_column_come_from_one_table(relation: str, options: dict[str, Any]) -> None:
    release = opened(relation).release(hg.quantile("income", DECILES, **GRID), epsilon=4.0, **options)
    assert release.certificate is not None
    (part,) = parts_of(release.certificate.mechanism)
    assert isinstance(part, TreeCounts) and part.cells == (2 if "by" in options else 1)
    Certificate.from_json(release.to_json()).verify()
    for cell in ({"sex": 0}, {"sex": 1}) if "by" in options else ({},):
        found = [release.estimate("quantile", "income", q, **cell) for q in DECILES]
        chosen = INCOME[np.asarray(TABLE["sex"]) == cell["sex"]] if cell else INCOME
        chosen = INCOME[np.asarray(TABLE["age"]) >= 40] if "where" in options else chosen
        assert all(one.method == "distribution" and one.reliable for one in found)
        assert np.all(np.diff([one.estimate for one in found]) >= 0)
        for q, one in zip(DECILES, found, strict=True):
            interval = one.confidence_interval(0.9999)
            assert interval.low <= np.quantile(chosen, q, method="inverted_cdf") <= interval.high
            assert one.estimate % 100 == 0 and one.standard_error is not None and one.standard_error > 0


def test_they_share_the_budget_with_other_statistics_as_one() -> None:
    asked = [hg.mean("age", bounds=(18, 95), step=1), hg.quantile("income", DECILES, **GRID)]
    plan = opened().plan(asked, epsilon=1.0)
    assert plan.request.shares == (0.5, *(0.125,) * 4)
    assert len({id(item.design.release) for item in plan.items if isinstance(item.design, DistributionStatistic)}) == 1
    release = opened().release(asked, epsilon=1.0)
    assert release.certificate is not None and len(parts_of(release.certificate.mechanism)) == 2
    assert [one.method for one in release] == ["moments", *("distribution",) * 4]
    with pytest.raises(hg.ParameterError, match="HG130"):
        release[0] - release[1]


def test_a_release_reads_other_quantiles_at_no_price_and_its_record_does_too() -> None:
    release = opened().release(hg.quantile("income", 0.5, **GRID), by={"sex": [0, 1]}, epsilon=2.0)
    again = release_from_record(release.to_json())
    assert again.to_json() == release.to_json()
    for one in (release, again):
        found = one.distribution("income", sex=1)
        median = found.quantile(0.5)
        assert median.to_dict() == release.estimate("quantile", "income", 0.5, sex=1).to_dict()
        assert found.quantile(0.3).estimate <= median.estimate
        band = found.band(0.9)
        assert np.all(band.low <= band.high) and band.low[0] == 0.0 and band.high[-1] == 1.0
        with pytest.raises(hg.ParameterError, match="HG137"):
            one.distribution("age", sex=1)
        with pytest.raises(hg.ParameterError, match="HG112"):
            found.quantile(1.5)


def test_it_is_drawn_with_a_band_that_holds_the_curve() -> None:
    release = opened().release(hg.quantile("income", 0.5, **GRID), by={"sex": [0, 1]}, epsilon=2.0)
    whole = release.distribution("income", sex=1)
    axes = whole.plot(level=0.9)
    (line,), (area,) = axes.lines, axes.collections
    assert axes.get_xlabel() == "income (sex=1)" and "90 % band" in axes.get_legend().get_texts()[0].get_text()
    np.testing.assert_array_equal(line.get_ydata(), whole.counts.curve)
    band, corners = whole.band(0.9), area.get_paths()[0].vertices
    assert corners[:, 1].min() == band.low.min() and corners[:, 1].max() == band.high.max()


def test_its_histogram_and_its_lorenz_curve_are_drawn_with_intervals() -> None:
    release = opened().release(hg.quantile("age", 0.5, bounds=(18, 95), step=1), epsilon=2.0)
    whole = release.distribution("age")
    drawn = whole.plot(kind="histogram")
    ends = [bar.get_x() for bar in drawn.patches] + [95.0]
    read = whole.histogram(ends)
    np.testing.assert_allclose([bar.get_height() for bar in drawn.patches], [one.estimate for one in read])
    assert ends[0] == 18.0 and 8 <= len(read) <= 30 and sum(one.estimate for one in read) == pytest.approx(1.0)
    for one, (low, high) in zip(read, [line[:, 1] for line in drawn.collections[0].get_segments()], strict=True):
        interval = one.confidence_interval()
        assert (low, high) == pytest.approx((min(interval.low, one.estimate), max(interval.high, one.estimate)))
    # Bins of two widths: their areas are their shares.
    first, second = whole.plot(kind="histogram", bins=[18, 28, 95]).patches
    assert first.get_height() * 10 == pytest.approx(whole.histogram([18, 28, 95])[0].estimate)
    assert second.get_width() == 67
    axes = whole.plot(kind="lorenz", level=0.9)
    equality, _, _, curve, *_ = axes.lines  # a thin band is marked where it is enlarged
    for place in (1, 10, 21):
        assert curve.get_ydata()[place] == whole.lorenz(float(curve.get_xdata()[place])).estimate
    assert np.all(curve.get_ydata() <= np.interp(curve.get_xdata(), *equality.get_data()) + 0.01)
    for wrong in ({"kind": "pie"}, {"kind": "histogram", "bins": [3, 2]}):
        with pytest.raises(hg.ParameterError, match="HG112"):
            whole.plot(**wrong)


ASKED: list[Any] = [
    hg.quantile("income", 0.5, **GRID), hg.share_below("income", line=5, **GRID), hg.cdf("income", at=5, **GRID),
    hg.histogram("income", bins=[0, 5, 9], **GRID), hg.gini("income", **GRID), hg.lorenz("income", at=0.5, **GRID),
]  # fmt: skip


@pytest.mark.parametrize("asked", ASKED, ids=range(len(ASKED)))
def test_weights_of_units_of_several_rows_are_refused_and_no_replicates_leave_weights_out(asked: Any) -> None:
    units = hg.open(TABLE, relation="replace-one", unit={"column": "age", "max_rows": 3})
    with pytest.raises(hg.UncertifiedError, match="HG402"):
        units.plan(asked, weights=("sex", 1), epsilon=1.0)
    for option in ({"n_resamples": 50}, {"estimator": "bootstrap"}, {"noise": "averaged-laplace"}):
        with pytest.raises(hg.ParameterError, match=r"HG108|HG135|HG188"):
            opened().plan(asked, weights=("sex", 1), epsilon=1.0, **option)


def test_bands_and_a_condition_select_the_records() -> None:
    bands = {"age": hg.bands(18, 45, 96)}
    asked = [hg.quantile("income", 0.5, **GRID), hg.share_below("income", line=12_000, **GRID)]
    release = opened().release(asked, by=bands, where="sex == 1", epsilon=8.0)
    age, sex = np.asarray(TABLE["age"]), np.asarray(TABLE["sex"])
    for place, chosen in enumerate([(age < 45) & (sex == 1), (age >= 45) & (sex == 1)]):
        median, share = release[place], release[2 + place]
        truth = np.quantile(INCOME[chosen], 0.5, method="inverted_cdf"), np.mean(INCOME[chosen] < 12_000)
        for one, value in zip((median, share), truth, strict=True):
            interval = one.confidence_interval(0.9999)
            assert interval.low <= value <= interval.high, one
        assert share.estimate != release[2 + 1 - place].estimate


def test_a_report_lists_and_draws_each_distribution() -> None:
    asked = [hg.histogram("income", bins=[0, 20_000, 100_000], **GRID), hg.gini("income", **GRID), hg.count()]
    release = opened("add-remove").release(asked, epsilon=2.0)
    for one in (release, release_from_record(release.to_json())):
        sections = {section.name: section for section in release_document(one).sections}
        table, *figures = sections["distributions"].blocks
        rows = {row[0]: row for row in table.groups[0].rows}
        median = one.distribution("income").quantile(0.5)
        assert table.groups[0].title == "income" and float(rows["0.5"][1].replace(",", "")) == median.estimate
        assert [figure.caption.split(".")[1] for figure in figures] == [
            " The distribution function", " The histogram", " The Lorenz curve",
        ]  # fmt: skip
        # What is read from the one distribution is not drawn number by number beside it.
        drawn = [block for block in sections["estimates"].blocks if block.kind == "figure"]
        assert [figure.caption.split(".")[0] for figure in drawn] == ["Count"]
    plain = opened("add-remove").release(hg.count(), epsilon=2.0)
    assert "distributions" not in {section.name for section in release_document(plain).sections}


def test_an_expression_reads_what_was_not_asked() -> None:
    release = opened().release(hg.quantile("income", 0.5, **GRID), by={"sex": [0, 1]}, epsilon=2.0)
    for one in (release, release_from_record(release.to_json())):
        read = one.ask("quantile(income, 0.3 | sex=1)")
        assert read.estimate == release.distribution("income", sex=1).quantile(0.3).estimate
        assert one.ask("share_below(income, 12000 | sex=0)").statistic == "share_below_12000"
        assert one.ask("gini(income | sex=0)").method == "distribution"
        assert one._answering("quantile(income, 0.3 | sex=1)").answers
        for wrong in (
            "quantile(income, 1.5 | sex=1)",
            "quantile(income, half | sex=1)",
            "quantile(age, 0.3 | sex=1)",
            "mean(income | sex=1)",
            "quantile(income, 0.3)",
            "quantile(income, 0.3 | sex=2)",
        ):
            with pytest.raises(hg.ParameterError, match="HG137"):
                one.ask(wrong)


def test_whole_numbers_have_their_gini_coefficient_and_lorenz_curve() -> None:
    values = np.repeat(np.arange(5.0), [2880, 680, 260, 120, 60])
    grid = {"bounds": (0, 12), "step": 1}
    asked = [hg.gini("arrests", **grid), hg.lorenz("arrests", at=0.9, **grid)]
    release = hg.open(pa.table({"arrests": values}), relation="replace-one").release(asked, epsilon=5.0)
    coefficient = float((2 * np.arange(1, 4001) - 4001) @ values / (4000 * values.sum()))
    for one, truth in zip(release, (coefficient, values[:3600].sum() / values.sum()), strict=True):
        interval = one.confidence_interval(0.9999)
        assert interval.low <= truth <= interval.high and interval.high - interval.low < 0.2
    whole = release.distribution("arrests")
    assert whole.gini().to_dict() == release[0].to_dict() == release.ask("gini(arrests)").to_dict()
    assert release.certificate is not None
    assert consistency(json.loads(release.to_json()), release.certificate).contradictions == ()


def test_verify_reads_the_numbers_anew() -> None:
    release = opened().release([hg.quantile("income", [0.25, 0.5], **GRID), hg.count()], epsilon=2.0)
    assert release.certificate is not None
    record = json.loads(release.to_json())
    assert consistency(record, release.certificate).contradictions == ()

    def broken(change: Any) -> tuple[str, ...]:
        again = copy.deepcopy(record)
        change(again)
        return consistency(again, release.certificate).contradictions

    def a_count(one: dict[str, Any]) -> None:
        counts = one["distributions"][0]["cells"][0]["counts"]
        counts[0][0] += 500

    def an_estimate(one: dict[str, Any]) -> None:
        one["estimates"][1]["estimate"] += 100.0

    def an_interval(one: dict[str, Any]) -> None:
        one["estimates"][0]["confidence_interval"]["low"] += 100.0

    def an_error(one: dict[str, Any]) -> None:
        one["estimates"][0]["privacy_error"] *= 0.5

    def another_column(one: dict[str, Any]) -> None:
        one["distributions"][0]["column"] = "age"

    def no_table(one: dict[str, Any]) -> None:
        del one["distributions"]

    def more_numbers(one: dict[str, Any]) -> None:
        one["distributions"][0]["cells"][0]["exact"] = [1, 2]

    for change in (a_count, an_estimate, an_interval, an_error, another_column, no_table, more_numbers):
        assert broken(change), change.__name__


READ = [
    hg.share_below("income", line=12_000, **GRID),
    hg.share_below("income", of_median=0.6, **GRID),
    hg.cdf("income", at=0, **GRID),
    hg.histogram("income", bins=[0, 100, 20_000, 100_000], **GRID),
    hg.gini("income", **GRID),
    hg.lorenz("income", at=[0.4, 0.9], **GRID),
    hg.quantile("income", 0.5, bounds=(0, 100_000)),
]


def true_numbers(income: np.ndarray) -> list[float]:
    ranked, n = np.sort(income), len(income)
    line = 0.6 * np.quantile(income, 0.5, method="inverted_cdf")
    bins = [np.mean(income < 100), np.mean((income >= 100) & (income < 20_000)), np.mean(income >= 20_000)]
    gini = float((2 * np.arange(1, n + 1) - n - 1) @ ranked / (n * ranked.sum()))
    held = [ranked[: round(p * n)].sum() / ranked.sum() for p in (0.4, 0.9)]
    return [np.mean(income < 12_000), np.mean(income < line), np.mean(income <= 0), *bins, gini, *held]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("by", [None, {"sex": [0, 1]}])
def test_shares_bins_and_gini_are_read_from_the_same_table(relation: str, by: dict[str, Any] | None) -> None:
    release = opened(relation).release(READ, by=by, epsilon=4.0)
    assert release.certificate is not None and len(parts_of(release.certificate.mechanism)) == 1
    again = release_from_record(release.to_json())
    assert consistency(json.loads(release.to_json()), release.certificate).contradictions == ()
    for cell in ({"sex": 0}, {"sex": 1}) if by else ({},):
        chosen = INCOME[np.asarray(TABLE["sex"]) == cell["sex"]] if cell else INCOME
        found = [one for one in release if one.cell == cell]
        for one, truth in zip(found, true_numbers(chosen), strict=False):
            interval = one.confidence_interval(0.9999)
            assert interval.low - 1e-9 <= truth <= interval.high + 1e-9, one
            assert one.sampling_error is not None and one.privacy_error is not None
        assert sum(one.estimate for one in found[3:6]) == pytest.approx(1.0)
        # No value lies between 0 and 100: one bin and one point of the distribution function say the same.
        assert found[2].estimate == pytest.approx(found[3].estimate)
        whole = again.distribution("income", **cell)
        assert whole.cdf(0).to_dict() == found[2].to_dict()
        assert whole.share_below(12_000).estimate == found[0].estimate == release.ask(found[0]._term()).estimate
        assert whole.gini().estimate == pytest.approx(found[6].estimate)
        assert whole.lorenz(0.4).to_dict() == found[7].to_dict() == release.ask(found[7]._term()).to_dict()
        bins = whole.histogram([0, 100, 20_000, 100_000])
        assert [one.to_dict() for one in bins] == [one.to_dict() for one in found[3:6]]
        assert release.ask(found[4]._term()).estimate == found[4].estimate
        assert release.ask(found[4]._term().replace("_100_20000(income", "(income, 100, 20000")).reliable


@pytest.mark.parametrize(
    "make",
    [
        lambda: hg.share_below("x", bounds=(0, 1)),
        lambda: hg.share_below("x", line=1, of_median=0.5),
        lambda: hg.share_below("x", of_median=-1),
        lambda: hg.cdf("x", at="half"),
        lambda: hg.cdf("x", at=[]),
        lambda: hg.gini("x", bounds=(-1, 1)),
        lambda: hg.lorenz("x", at=1.0),
        lambda: hg.lorenz("x", at=0.5, bounds=(-1, 1)),
        lambda: hg.histogram("x", bins=[3, 2]),
        lambda: hg.histogram("x", bins=[3]),
        lambda: hg.histogram("x", bins="123"),
        lambda: hg.quantile("x", [0.5, 2.0]),
    ],
)
def test_what_is_no_reading_is_refused_when_it_is_made(make: Any) -> None:
    with pytest.raises(hg.ParameterError, match="HG112"):
        make()


def test_what_no_table_serves_is_refused() -> None:
    for options in ({"estimator": "bootstrap"}, {"noise": "averaged-laplace"}):
        with pytest.raises(hg.ParameterError, match="HG108"):
            opened().plan(hg.gini("income", **GRID), epsilon=1.0, **options)
    with pytest.raises(hg.ParameterError, match="HG104") as refused:
        opened().plan(hg.share_below("income", of_median=0.6), epsilon=1.0)
    assert 'hg.share_below("income", of_median=0.6, bounds=(LO, HI))' in refused.value.remedy
    assert "income:60%:LO:HI" in str(refused.value.shell)


def test_a_plan_forecasts_the_error_and_says_what_it_chose() -> None:
    (gini,) = opened().plan(hg.gini("income", **GRID), epsilon=1.0).forecast()
    assert gini.standard_error is not None and 0.0 < gini.standard_error < 0.1
    asked = hg.quantile("income", DECILES[1:], **GRID)  # the first lies in a heap, which no beta law has
    plan = opened().plan(asked, epsilon=1.0)
    assert "one table of counts" in plan.reasons()["distribution"] and "leaves" in plan.reasons()["distribution"]
    rng = np.random.default_rng(3)
    study = simulated.Study.of(opened(), asked, epsilon=1.0)
    drawn = [study.draw(simulated.SimulatedNoise(rng)) for _ in range(30)]
    errors = np.mean([[one.standard_error for one in each] for each in drawn], axis=0)
    shares = [0.1, float(np.mean(INCOME == 0.0)), 0.2, 0.3, 0.5, 0.7, 0.9, 0.97]  # the heap is an atom of the guess
    quantiles = dict(zip(shares, np.quantile(INCOME, shares, method="inverted_cdf").tolist(), strict=True))
    for one, error in zip(plan.forecast({"income": {"quantiles": quantiles}}), errors, strict=True):
        assert one.settled and one.standard_error is not None and 0.75 < one.standard_error / error < 1.25


LAWS = {
    "lognormal": (lambda q: np.exp(10.0 + 0.7 * stats.norm.ppf(q)), ("lognormal", "beta"), (0, 200_000)),
    "exponential": (lambda q: -8.0 * np.log1p(-np.asarray(q)), ("gamma", "lognormal"), (0, 100)),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_guess_of_a_skewed_column_is_within_a_quarter_and_another_law_is_not(name: str) -> None:
    """Mean and sd alone leave quantiles open, and no ε is named for a wanted error then."""
    inverse, (law, wrong), bounds = LAWS[name]
    values = np.clip(inverse((np.arange(3000) + 0.5) / 3000), *bounds)
    survey = hg.open(pa.table({"x": values}), relation="replace-one")
    asked, shares = hg.quantile("x", [0.1, 0.25, 0.5, 0.9], bounds=bounds), [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]
    study, rng = simulated.Study.of(survey, asked, epsilon=1.0), np.random.default_rng(9)
    drawn = [study.draw(simulated.SimulatedNoise(rng)) for _ in range(40)]
    errors = np.mean([[one.standard_error for one in each] for each in drawn], axis=0)
    moments = {"mean": values.mean(), "sd": values.std()}

    def off(guess: dict[str, Any]) -> float:
        forecast = study.plan.forecast({"x": guess})
        return float(np.abs(np.log([one.standard_error / e for one, e in zip(forecast, errors, strict=True)])).max())

    good = [{**moments, "law": law}, {"quantiles": dict(zip(shares, inverse(shares).tolist(), strict=True))}]
    assert max(map(off, good)) < np.log(1.25)
    assert off({**moments, "law": wrong}) > np.log(1.25)
    wanted = [ErrorTarget("x", 2.0 * errors[2])]
    for guess in ({}, {"x": moments}, {"x": {"quantiles": {0.3: inverse(0.3), 0.6: inverse(0.6)}}}):
        with pytest.raises(hg.ParameterError, match=r"HG707.*law of the values open.*quantiles"):
            epsilon_needed(lambda e, guess=guess: survey.plan(asked[:3], epsilon=e).forecast(guess), wanted)
    needed = epsilon_needed(lambda e: survey.plan(asked[2], epsilon=e).forecast({"x": good[0]}), wanted)
    assert 0.05 < needed < 1.0


@pytest.mark.parametrize(
    "guess",
    [
        {"law": "cauchy", "mean": 1.0, "sd": 1.0},
        {"law": "gamma", "mean": 1.0},
        {"quantiles": {0.5: 3.0}},
        {"quantiles": {0.5: 3.0, 0.9: 2.0}},
        {"quantiles": {0.5: 3.0, 1.5: 4.0}},
        {"quantiles": {0.5: 3.0, 0.9: 900.0}},
        {"quantiles": [0.5]},
    ],
)
def test_a_guess_that_is_no_law_is_refused(guess: dict[str, Any]) -> None:
    plan = opened().plan(hg.quantile("age", 0.5, bounds=(0, 100), step=1), epsilon=1.0)
    with pytest.raises(hg.ParameterError, match="HG707"):
        plan.forecast({"age": guess})


def test_replicates_are_asked_for_by_name() -> None:
    asked = hg.quantile("income", 0.5, bounds=(0, 100_000))
    assert opened().release(asked, epsilon=4.0, estimator="bootstrap")[0].method == "bootstrap"
    assert opened().release(asked, epsilon=4.0, n_resamples=20)[0].method == "bootstrap"
    fine = hg.quantile("income", 0.5, bounds=(0, 100_000), step=10)
    assert opened().plan(fine, epsilon=1.0).items[0].design is not None
    with pytest.raises(hg.ParameterError, match="HG112"):
        opened().plan(fine, epsilon=1.0, estimator="bootstrap")
    with pytest.raises(hg.ParameterError, match="HG114"):
        opened().plan(asked, epsilon=1.0, missing="midpoint")


def test_one_scan_asks_for_the_counts_of_each_value() -> None:
    plan = opened().plan(
        [hg.quantile("income", 0.5, **GRID), hg.quantile("income", 0.9, bounds=(0, 100_000))], epsilon=1.0
    )
    queries = {item.design.query for item in plan.items if item.design is not None}
    (query,) = queries
    assert isinstance(query, Query) and isinstance(query.value, ValueOnGrid) and query.value.grid.declared


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_quantiles_of_heaped_incomes_and_of_ages_cover(relation: str) -> None:
    """q = .1 lies in the heap at 0, a bound, where replicates covered 0 of 400; 40 data sets of 1,000 at ε = 1."""
    rng, runs = np.random.default_rng(17), 40
    asked = [hg.quantile("income", [0.1, 0.5], **GRID), hg.quantile("age", 0.9, bounds=(18, 95), step=1)]
    hits, widths = np.zeros(3), np.zeros(3)
    for _ in range(runs):
        income = np.where(rng.random(1000) < 0.15, 0.0, np.clip(np.exp(rng.normal(10.0, 0.8, 1000)), 0, 100_000))
        age = rng.integers(18, 96, 1000).astype(float)
        survey = hg.open(pa.table({"income": income, "age": age}), relation=relation)
        found = simulated.release(survey, asked, epsilon=1.0, rng=rng)
        middle = np.exp(10.0 + 0.8 * stats.norm.ppf(0.35 / 0.85))
        for place, truth in enumerate([0.0, middle, 88.0]):
            interval = found[place].confidence_interval()
            hits[place] += interval.low <= truth <= interval.high
            widths[place] += (interval.high - interval.low) / runs
    assert np.all(stats.binom.cdf(hits, runs, 0.95) > 1e-4), hits
    assert widths[1] < 20_000 and widths[2] < 40


def test_the_plan_chooses_among_branchings_and_unlike_levels_what_is_narrower() -> None:
    survey = opened(table=pa.table({"income": np.zeros(1000)}))
    asked = hg.quantile("income", 0.5, bounds=(0, 100_000))
    chosen = survey.plan(asked, epsilon=1.0).items[0].design
    assert isinstance(chosen, DistributionStatistic)
    tree = chosen.mechanism(1.0)
    assert tree.branching[0] > tree.branching[-1] or len(set(tree.widths)) > 1
    assert tree.leaves < 4097, "coarser leaves than there are values are enough"


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_levels_are_weighted_for_what_is_asked_and_the_record_holds_their_noise(relation: str) -> None:
    """Weights turned upside down, or alike, are expected to be wider at the same price; the record keeps the widths."""
    asked = hg.quantile("income", [0.1, 0.5, 0.9], bounds=(0, 100_000))
    design = opened(relation).plan(asked, epsilon=1.0, noise="gaussian").items[0].design
    assert isinstance(design, DistributionStatistic)
    release, shape = design.release, design.release.shape
    assert len(shape.branching) > 3 and max(shape.weights) > 1.3 * min(shape.weights)
    about = _AskedOfColumn(1, release.facts.relation, release.public, float(N), (0.1, 0.5, 0.9))
    turned = replace(shape, weights=shape.weights[: shape.rooted] + shape.weights[shape.rooted :][::-1])
    alike = replace(shape, weights=())
    part = release.leaves.group / release.leaves.grid.steps
    chosen, *others = (about.width(each, release.leaves.count, 0.2, part) for each in (shape, turned, alike))
    assert chosen < min(others) - 1e-3
    drawn = opened(relation).release(asked, epsilon=1.0, noise="gaussian")
    record = json.loads(drawn.to_json())
    widths = record["certificate"]["mechanism"]["widths"]
    assert len(set(widths)) > 1 and Certificate.from_json(drawn.to_json()).verify() is None
    record["certificate"]["mechanism"]["widths"][1] *= 0.9  # a level less noisy than priced
    with pytest.raises(hg.HedgerowError, match="HG"):
        Certificate.from_json(json.dumps(record)).verify()


def test_points_of_records_from_before_are_read_as_they_were() -> None:
    release = opened().release(hg.quantile("income", [0.5, 0.99], **GRID), epsilon=0.5)
    record = json.loads(release.to_json())
    assert release.certificate is not None and record["distributions"][0].pop("averaged") is True
    before = release_from_record(json.dumps(record)).distribution("income")
    assert before.quantile(0.99).estimate == float(before.counts.quantile_point(0.99))
    again = release_from_record(release.to_json()).distribution("income")
    assert again.quantile(0.99).estimate == release[1].estimate
    # Averaged numbers do not pass for those of a record from before.
    record["estimates"][1]["estimate"] = before.quantile(0.99).estimate + 100.0
    assert consistency(record, release.certificate).contradictions


def test_fewer_leaves_are_taken_where_they_are_enough() -> None:
    fine = opened(table=pa.table({"income": np.zeros(1000)})).plan(
        hg.quantile("income", 0.5, bounds=(0, 2**20), step=1), epsilon=1.0
    )
    design = fine.items[0].design
    assert isinstance(design, DistributionStatistic) and 32 <= design.release.leaves.count < 2**12
    many = hg.open(pa.table({"income": np.zeros(10), "sex": np.zeros(10, int)}), relation="add-remove").plan(
        hg.quantile("income", 0.5, bounds=(0, 2**20), step=1), epsilon=50.0, by={"sex": [0, 1, 2]}
    )
    design = many.items[0].design
    assert isinstance(design, DistributionStatistic) and design.release.leaves.count * 3 <= 2**20


@pytest.mark.parametrize(("n", "relation", "steps"), [(1000, "replace-one", 2**12), (1_000_001, "replace-one", 2**16),
                                                      (1_000_001, "add-remove", 2**12)])  # fmt: skip
def test_many_records_are_counted_on_a_finer_grid_where_their_number_is_public(n, relation, steps) -> None:
    """Else a leaf would be wider than the sampling error. A private number of records must not show in the plan."""
    plan = opened(relation, pa.table({"income": np.zeros(n)})).plan(
        hg.quantile("income", 0.5, bounds=(0, 1)), epsilon=1.0
    )
    design = plan.items[0].design
    assert isinstance(design, DistributionStatistic) and design.release.leaves.grid.steps == steps


@pytest.mark.parametrize("count", [4, 5])
def test_a_text_words_the_targets_of_four_numbers_or_of_the_first_three(count: int) -> None:
    release = opened().release(hg.quantile("income", [0.1, 0.3, 0.5, 0.7, 0.9][:count], **GRID), epsilon=4.0)
    said = " ".join(text_table(release).split())
    assert said.count("the population quantile_") == (4 if count == 4 else 3)
    assert ("and likewise of the other 2 (sampling" in said) == (count == 5)


def test_bins_without_bounds_are_written_for_the_shell_as_they_were_given() -> None:
    (asked, *_) = hg.histogram("income", bins=[0.0, 20_000.0, 50_000.0])
    assert asked.in_shell("income") == "income:0,20000,50000:LO:HI in place of income:0,20000,50000"
