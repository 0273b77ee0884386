"""Totals of a table beside its cells: the weights of "cells", and the advice of a plan, are what both doors release."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.margins.beside_table import advice_on_totals, forecasts_of_totals
from hedgerow.reports.verify.verification import verify_record

SIZES = {"a": 12, "b": 9}
BY = {name: list(range(size)) for name, size in SIZES.items()}


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {name: rng.integers(0, size, 600) for name, size in SIZES.items()} | {"x": np.ones(600), "c": np.ones(600)}
    )


def noise(survey: hg.Survey, **options: Any) -> dict[tuple[str, ...], float]:
    return {table.columns: table.privacy_error for table in survey.plan_margins(by=BY, order=2, **options).expected()}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_cells_lose_five_per_cent_and_totals_gain(relation: Any) -> None:
    """Truth: independent Gaussian noise of the same μ, which is the least for the cells; sabotage: equal weights."""
    survey, mu = hg.open(people(), relation=relation), 0.4
    sensitivity = math.sqrt(2.0) if relation == "replace-one" else 1.0
    cells, plain = noise(survey, mu=mu, weights="cells"), noise(survey, mu=mu)
    own = sensitivity / mu
    assert 1.04 * own < cells["a", "b"] <= 1.05 * own
    assert cells["a",] < own * math.sqrt(SIZES["b"]) and cells["b",] < 0.9 * own * math.sqrt(SIZES["a"])
    assert plain["a", "b"] > 1.2 * own
    # A target of one's own holds as well.
    wanted = 0.97 * cells["a",]
    both = noise(survey, mu=mu, weights="cells", target_se={"a": wanted, ("a", "b"): 10 * own})
    assert both["a",] <= wanted and both["a", "b"] <= 1.05 * own


def test_a_release_with_these_weights_verifies() -> None:
    survey = hg.open(people(), relation="replace-one")
    margins = survey.margins(by=BY, order=2, mu=0.4, weights="cells")
    assert margins["a", "b"].cells.privacy_error == pytest.approx(noise(survey, mu=0.4, weights="cells")["a", "b"])
    assert verify_record(margins.to_dict()).holds


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_both_forecasts_are_what_is_released(relation: Any) -> None:
    survey = hg.open(people(), relation=relation)
    for price in ({"mu": 0.4}, {"epsilon": 1.0, "delta": 1e-6}):
        forecasts = forecasts_of_totals(survey.plan(hg.count(), by=BY, **price))
        table = survey.contingency_table(by=BY, **price).with_margins()
        for forecast in forecasts:
            assert forecast.of_table[0, 1] == pytest.approx(table[0].privacy_error)
            assert forecast.of_table[0,] == pytest.approx(table.margin("a")[0].privacy_error)
            planned = noise(survey, weights=forecast.weights, **price)
            for table_columns, columns in forecast.columns.items():
                assert forecast.of_margins[table_columns] == pytest.approx(planned[columns])


def test_advice_is_given_where_totals_gain_alone() -> None:
    survey = hg.open(people(), relation="replace-one")

    def advice(by: Any = BY, statistic: Any = None, **price: Any) -> tuple[str, ...]:
        return advice_on_totals(survey.plan(hg.count() if statistic is None else statistic, by=by, **price))

    (sentence,) = advice(mu=0.4)
    assert "--order 2 --weight cells" in sentence and "a total by b" in sentence
    # Laplace noise is half as wide: many cells are needed before totals gain enough.
    assert advice(epsilon=1.0, delta=1e-6) == ()
    (large,) = advice({"a": range(60), "b": range(60)}, epsilon=1.0, delta=1e-6)
    assert "--weight" not in large and "--order 2" in large
    assert advice({"a": range(60), "b": range(60)}, epsilon=1.0, delta=0.0) == ()
    assert advice({"a": BY["a"]}, mu=0.4) == ()
    assert advice({"a": BY["a"], "b": [1]}, mu=0.4) == ()
    assert advice(statistic=hg.sum("x", bounds=(0, 2), step=1), mu=0.4) == ()
    # Of four columns there are fourteen totals: those of single columns are named.
    (many,) = advice({"a": [0, 1, 2], "b": [0, 1, 2], "x": [0, 1, 2], "c": [0, 1, 2]}, mu=0.4)
    assert "by c" in many and " × " not in many


def test_the_commands_say_it_and_take_the_weights(tmp_path: Any) -> None:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    columns = " ".join(f"--by {name}={','.join(map(str, range(size)))}" for name, size in SIZES.items())
    source = f"{tmp_path / 'people.csv'} --relation replace-one --mu 0.4 {columns}"
    plan = CliRunner().invoke(app, f"plan {source} --count".split())
    assert "--order 2 --weight cells" in " ".join(plan.stdout.split()), plan.output
    margins = CliRunner().invoke(app, f"margins {source} --order 2 --weight cells --plan".split())
    survey = hg.open(people(), relation="replace-one")
    assert f"{noise(survey, mu=0.4, weights='cells')['a', 'b']:.4g}" in margins.stdout, margins.output
    assert CliRunner().invoke(app, f"margins {source} --weight cell --plan".split()).exit_code == 2
