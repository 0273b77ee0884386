"""Strata: means and totals over cells of declared sizes, answers of the release whose errors add up over the cells."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.errors import HedgerowError
from hedgerow.release.answers import stratified
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import report_html
from hedgerow.reports.verify.verification import verify_record

RNG = np.random.default_rng(2)
N = 3000
REGION, SEX = RNG.choice(["North", "South, West"], N, p=[0.8, 0.2]), RNG.integers(0, 2, N)
X = np.clip(RNG.normal(np.where(REGION == "North", 30.0, 70.0), 10.0), 0.0, 100.0)
W = RNG.uniform(1.0, 3.0, N)
PEOPLE = pa.table({"x": X, "region": REGION, "sex": SEX, "w": W})
MEAN = hg.mean("x", bounds=(0, 100))
BY = {"region": ["North", "South, West"]}
TOTALS = {("region",): {"North": 2000, "South, West": 8000.0}}


@pytest.mark.parametrize("weights", [None, ("w", 3.0)])
def test_stratified_estimates_weigh_the_cells_by_their_sizes(weights: Any) -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    made = survey.release(MEAN, by=BY, epsilon=3.0, weights=weights, totals=TOTALS)
    north, south = made[0], made[1]
    mean, total = made.answers.values()
    assert mean.estimate == pytest.approx(0.2 * north.estimate + 0.8 * south.estimate)
    assert total.estimate == pytest.approx(10_000.0 * mean.estimate)
    assert mean.standard_error == pytest.approx(
        np.hypot(0.2 * north.standard_error, 0.8 * south.standard_error), rel=0.01
    )
    # The sample has too few in the South: its own mean is far from the stratified one.
    assert abs(mean.estimate - 62.0) < 2.0 and abs(float(X.mean()) - 62.0) > 20.0
    record = json.loads(made.to_json())
    assert verify_record(record).holds and len(record["asked"]) == 2
    assert release_from_record(made.to_json()).to_json() == made.to_json()
    assert next(iter(made.answers)) in report_html(made).replace("&#34;", '"').replace("&quot;", '"')


def test_several_columns_and_several_means() -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    asked = [MEAN, hg.mean("w", bounds=(0, 3))]
    by = {**BY, "sex": [0, 1]}
    sizes = {(sex, region): 100 + sex for sex in (0, 1) for region in BY["region"]}
    plan = survey.plan(asked, by=by, epsilon=1.0)
    found = stratified({("sex", "region"): sizes}, plan)
    assert len(found) == 4
    assert found[0] == (
        "(100 * mean(x | region=North, sex=0) + 101 * mean(x | region=North, sex=1)"
        ' + 100 * mean(x | region="South, West", sex=0) + 101 * mean(x | region="South, West", sex=1)) / 402'
    )


@pytest.mark.parametrize(
    ("totals", "by"),
    [
        (5, BY),
        ({}, BY),
        ({"region": {"North": 1.0}}, BY),
        ({"region": {"North": 1.0, "South": 2.0}}, BY),
        ({"region": {"North": 1.0, "South, West": 0.0}}, BY),
        ({"region": {"North": 1.0, "South, West": float("inf")}}, BY),
        ({"region": {"North": 1.0, "South, West": "2"}}, BY),
        ({"sex": {0: 1.0, 1: 2.0}}, BY),
        ({("region", "sex"): {}}, BY),
        ({"region": {"North": 1.0, "South, West": 2.0}}, None),
        (TOTALS, {**BY, "sex": [0, 1]}),
    ],
)
def test_totals_that_do_not_fit_are_refused_before_anything_is_read(totals: Any, by: Any) -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    with (
        mock.patch("hedgerow.engines.frames.add_up", side_effect=AssertionError),
        pytest.raises(HedgerowError, match="HG138"),
    ):
        survey.release(MEAN, by=by, epsilon=1.0, totals=totals)


def test_totals_without_a_mean_are_refused() -> None:
    with pytest.raises(HedgerowError, match="HG138"):
        hg.open(PEOPLE, relation="add-remove").release(hg.sum("x", bounds=(0, 9)), by=BY, epsilon=1.0, totals=TOTALS)
