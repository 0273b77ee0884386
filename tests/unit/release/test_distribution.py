"""Quantiles of a release: one table for all of a column, its record, its plan, and coverage through the whole path."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hg
from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import parts_of
from hedgerow.mechanisms.tree_counts import TreeCounts
from hedgerow.release.designs.distribution import DistributionStatistic
from hedgerow.release.result import release_from_record
from hedgerow.reports.verify.consistency import contradictions
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


def test_verify_reads_the_numbers_anew() -> None:
    release = opened().release([hg.quantile("income", [0.25, 0.5], **GRID), hg.count()], epsilon=2.0)
    assert release.certificate is not None
    record = json.loads(release.to_json())
    assert contradictions(record, release.certificate) == ()

    def broken(change: Any) -> tuple[str, ...]:
        again = copy.deepcopy(record)
        change(again)
        return contradictions(again, release.certificate)

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


def test_a_plan_forecasts_the_error_and_says_what_it_chose() -> None:
    asked = hg.quantile("income", DECILES[1:], **GRID)  # the first lies in a heap, which no beta law has
    plan = opened().plan(asked, epsilon=1.0)
    assert "one table of counts" in plan.reasons()["distribution"] and "leaves" in plan.reasons()["distribution"]
    expected = list(plan.forecast({"income": {"mean": 25_000, "sd": 20_000}}))
    released = [opened().release(asked, epsilon=1.0) for _ in range(3)]
    for place, one in enumerate(expected):
        found = np.mean([each[place].standard_error for each in released])
        assert one.standard_error is not None and 0.2 < one.standard_error / found < 5.0


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
