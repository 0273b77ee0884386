"""What a fit shows: intervals that know their level, predictions for any records, frames in the caller's library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
BOUNDS: dict[str, Any] = {"x": (0, 3), "y": (0, 5)}


def columns(records: int = 2000) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    x, sex = rng.integers(0, 4, records), rng.integers(0, 2, records)
    y = np.clip(1.0 + x + 0.5 * sex + rng.normal(0.0, 0.3, records), 0, 5)
    # A sex missing somewhere makes it a float in no library.
    return {"x": x.astype(float).tolist(), "sex": sex.tolist(), "y": y.tolist(), "late": (y > 2.5).astype(int).tolist()}


def fitted(library: str = "pyarrow", **options: Any) -> Any:
    survey = hg.open(FRAMES[library](columns()), relation="replace-one")
    return survey.ols("y", ["x", "C(sex)"], bounds=BOUNDS, categories={"sex": [0, 1]}, epsilon=5.0, **options)


def test_intervals_know_their_level_and_what_they_cover() -> None:
    fit = fitted()
    intervals = fit.conf_int(0.8)
    assert list(intervals) == list(fit.params)
    assert all(isinstance(interval, hg.Interval) and interval.level == 0.8 for interval in intervals.values())
    low, high = intervals["x"]
    assert (low, high) == (intervals["x"].low, intervals["x"].high) and low < fit.params["x"] < high
    assert intervals["x"].covers == "the coefficient of x in the population"
    wide = fit.conf_int()["x"]
    assert wide.low < low < high < wide.high
    file = hg.open(pa.table(columns()), relation="replace-one", target="file")
    told = file.ols("y", ["x"], bounds=BOUNDS, epsilon=5.0).conf_int()["x"]
    assert told.covers == "the coefficient of x in this file"


def test_records_of_every_form_have_the_same_predictions() -> None:
    fit = fitted()
    rows = [{"x": 1.0, "sex": 0}, {"x": 2.0, "sex": 1}, {"x": 3.0, "sex": 1}]
    by_column: dict[str, list[Any]] = {"x": [1.0, 2.0, 3.0], "sex": [0, 1, 1]}
    expected = fit.predict(rows)
    assert len({one.estimate for one in expected}) == 3
    arrays = {name: np.array(values) for name, values in by_column.items()}
    for given in (by_column, arrays, *(make(by_column) for make in FRAMES.values()), pl.LazyFrame(by_column)):
        assert fit.predict(given) == expected
    for row in (rows[1], {"x": np.float32(2.0), "sex": np.int64(1)}, {"x": [2.0], "sex": [1]}):
        assert fit.predict(row) == expected[1:2]
    more = pd.DataFrame({**by_column, "unused": ["a", "b", "c"]}, index=[7, 8, 9])
    assert fit.predict(more, level=0.5)[0].low > expected[0].low


@pytest.mark.parametrize(
    "bad",
    [
        {"x": [1.0, 2.0], "sex": [1]},
        {"x": [1.0, 2.0], "sex": 1},
        {"x": 1.0},
        {"x": [1.0], "sex": [7]},
        pd.DataFrame({"x": [np.nan], "sex": [1]}),
        "x",
        [1.0],
        3,
        None,
    ],
)
def test_what_is_no_record_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="HG194"):
        fitted().predict(bad)


def test_chances_take_every_form_too() -> None:
    survey = hg.open(pa.table(columns()), relation="replace-one")
    fit = survey.logit("late", ["x"], bounds={"x": (0, 3)}, epsilon=5.0)
    assert fit.predict({"x": [1.0, 2.0]}) == fit.predict(pl.DataFrame({"x": [1.0, 2.0]}))
    assert 0.0 <= fit.predict({"x": 1.0})[0].estimate <= 1.0


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_is_one_of_the_callers_library(library: str, tmp_path: Path) -> None:
    fits = fitted(library, by={"late": [0, 1]})
    kind = type(FRAMES[library]({"a": [1]}))
    assert isinstance(fits.to_frame(), kind) and isinstance(fits[0].to_frame(), kind)
    survey = hg.open(FRAMES[library](columns()), relation="replace-one")
    fit = survey.logit("late", ["x"], bounds={"x": (0, 3)}, epsilon=5.0)
    assert isinstance(fit.to_frame(), kind) and isinstance(fit.to_frame("pandas"), pd.DataFrame)
    if library == "pandas":
        assert isinstance(fitted(library).submodel("y ~ x").to_frame(), pd.DataFrame)


@pytest.mark.parametrize(("verb", "formula"), [("ols", "y ~ x"), ("logit", "late ~ x")])
def test_formula_and_file_stand_in_either_order(
    verb: str, formula: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(columns()).write_csv("people.csv")
    # A name with a ~ that is a file is the file.
    pl.DataFrame(columns()).write_csv("people~old.csv")
    rest = ["--relation", "replace-one", "--bounds", "x:0:3", "--epsilon", "5", "--plan", "--json"]
    rest += ["--bounds", "y:0:5"] if verb == "ols" else []
    shown = []
    for file in ("people.csv", "people~old.csv"):
        for order in ([formula, file], [file, formula]):
            run = CliRunner().invoke(app, [verb, *order, *rest])
            assert run.exit_code == 0, run.stderr
            shown.append(json.loads(run.stdout))
    assert shown[0] == shown[1] and shown[2] == shown[3]
    assert CliRunner().invoke(app, [verb, "people.csv", "people.csv", *rest]).exit_code == 2
