"""All tables of several columns: exact without noise, agreeing, with errors that cover; refusals spend nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.margins.drawn_margins import BY, COMPLETE, crossed, drawn, many, people, planned, summed

import hedgerow as hg
from hedgerow.audit.replay import SilentNoise
from hedgerow.errors import HedgerowError, ParameterError, SpentError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import SimulatedNoise


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{}, COMPLETE, {"order": 4}, {"order": 1}, {"other": True}])
def test_without_noise_every_table_is_that_of_the_file(relation: Any, options: dict[str, Any]) -> None:
    table = people(500)
    margins, whole = drawn(hg.open(table, relation=relation), SilentNoise(), **options), crossed(table)
    order = options.get("order", 3)
    assert len(margins.tables()) == sum(math.comb(4, most) for most in range(order + 1))
    for columns in margins.tables():
        cells = margins.table(*columns).values
        if options.get("other"):
            assert all(np.abs(np.take(cells, -1, axis=axis)).max() < 1e-9 for axis in range(cells.ndim))
            cells = cells[(slice(None, -1),) * cells.ndim]
        assert np.allclose(cells, summed(whole, columns), atol=1e-9)


def test_conditions_bands_labels_the_rest_and_missing_values() -> None:
    ages = [5.0, 17.0, 30.0, 64.0, 65.0, None, 120.0] * 40
    sexes = [0, 1, 0, 1, 2, 0, None] * 40
    survey = hg.open(pa.table({"age": ages, "sex": sexes, "x": [1, 2, 3, 4, 5, 6, 7] * 40}), relation="add-remove")
    by = {"age": hg.bands(0, 18, 65, labels=["young", "grown"]), "sex": {0: "men", 1: "women"}}
    margins = drawn(survey, SilentNoise(), by=by, order=2)
    # A record outside the categories of one column is in no table: all tables count the same records.
    assert margins.table().values.tolist() == pytest.approx(160.0)
    assert margins["sex"].values.tolist() == pytest.approx([80.0, 80.0])
    assert margins["age", "sex"].values.tolist() == pytest.approx(np.full((2, 2), 40.0))
    assert "women" in margins["sex"].to_csv()
    rest = drawn(survey, SilentNoise(), by=by, order=2, other=True)
    assert rest["sex"].values.tolist() == pytest.approx([120.0, 80.0, 80.0])
    assert float(rest.table().values) == pytest.approx(280.0)
    some = drawn(survey, SilentNoise(), by=by, order=2, where="x <= 3")
    assert some["age", "sex"].values == pytest.approx(np.array([[40.0, 40.0], [40.0, 0.0]]))
    assert any("x <= 3" in note for note in some.notes)


def test_tables_agree_and_the_noise_is_what_the_plan_says() -> None:
    """Truth: the variance in 40 draws is that of the plan (χ²); sabotage: 10 % less of it is seen."""
    table = people(1000)
    survey, whole = hg.open(table, relation="replace-one"), crossed(table)
    plan = planned(survey, **COMPLETE, weights={("sex", "job"): 20, 1: 5})
    squares: dict[tuple[str, ...], list[float]] = {}
    for margins in many(survey, map(SimulatedNoise, range(40)), **COMPLETE, weights={("sex", "job"): 20, 1: 5}):
        for columns in margins.tables():
            cells = margins.table(*columns).values
            squares.setdefault(columns, []).append(float(((cells - summed(whole, columns)) ** 2).mean()))
            for axis in range(cells.ndim):
                fewer = columns[:axis] + columns[axis + 1 :]
                assert np.allclose(cells.sum(axis=axis), margins.table(*fewer).values, atol=1e-8)
    expected = {table.columns: table.privacy_error**2 for table in plan.expected()}
    assert expected[()] == 0.0 and max(squares[()]) < 1e-12  # n is public
    ratios = np.array([np.mean(squares[columns]) / expected[columns] for columns in expected if columns])
    # A table of k categories has at least k − 1 free numbers in each draw.
    assert ratios.min() > 0.75 and ratios.max() < 1.3 and abs(ratios.mean() - 1.0) < 0.05
    assert not abs(ratios.mean() / 0.9**2 - 1.0) < 0.15
    assert expected["sex", "job"] < expected["sex", "region"]


def test_weights_and_targets_move_noise_between_tables() -> None:
    survey = hg.open(people(500), relation="replace-one")

    def noise(**options: Any) -> dict[tuple[str, ...], float]:
        return {one.columns: one.privacy_error for one in planned(survey, **COMPLETE, **options).expected()}

    plain, equal = noise(), noise(weights="equal")
    heavy = noise(weights={("region", "sex"): 50})
    assert heavy["sex", "region"] < 0.8 * plain["sex", "region"] and heavy["old", "job"] > plain["old", "job"]
    assert noise(weights={1: 20})["sex",] < plain["sex",] < equal["sex",]
    wanted = 0.8 * plain["sex", "region"]
    met = noise(target_se={("sex", "region"): wanted, "old": 10 * plain["old",]})
    assert wanted * 0.97 < met["sex", "region"] <= wanted
    assert planned(survey, **COMPLETE, target_se={"sex": 100}).expected() == planned(survey, **COMPLETE).expected()


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("HG240", {"by": {}}),
    ("HG240", {"order": 0}),
    ("HG240", {"order": "two"}),
    ("HG240", {"by": {"sex": ["f"], "old": [0, 1]}}),
    ("HG240", {"by": {f"c{place}": list(range(300)) for place in range(3)}}),
    ("HG240", {"weights": {("sex", "wage"): 2}}),
    ("HG240", {"weights": {7: 2}}),
    ("HG240", {"weights": {"sex": -1}}),
    ("HG240", {"weights": "large"}),
    ("HG240", {"order": 1, "weights": {("sex", "old"): 2}}),
    ("HG241", {"known": {"wage": [1, 2]}}),
    ("HG241", {"known": {"sex": [1, 2, 3]}}),
    ("HG241", {"known": {"sex": {"f": 1}}}),
    ("HG241", {"known": {"sex": [1.5, 2.0]}}),
    ("HG241", {"known": {"sex": [-1, 2]}}),
    ("HG241", {"known": {"sex": [100, 200], "old": [100, 201]}}),
    ("HG241", {"known": {"sex": [100, 200]}, **COMPLETE}),
    ("HG241", {"known": [1, 2]}),
    ("HG241", {"order": 1, "known": {column: [500] + [0] * (len(BY[column]) - 1) for column in BY}, **COMPLETE}),
    ("HG160", {"hierarchies": {"wage": {"band": {"all": [1, 2]}}}}),
    ("HG160", {"hierarchies": {"region": {"sex": {"all": ["N", "S", "W"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": ["S"], "sea": ["N"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": ["S", "N"], "sea": ["N", "W"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": ["S"], "sea": ["N", "W", "X"]}}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"inland": [], "sea": ["N", "S", "W"]}}}}),
    ("HG162", {"hierarchies": {"region": {"inland": ["S"], "sea": ["N", "W"]}}}),
    ("HG162", {"hierarchies": {"region": {"coast": {"sea": "NSW"}}}}),
    ("HG162", {"hierarchies": {"region": ["N"]}}),
    ("HG162", {"hierarchies": [["N"]]}),
    ("HG242", {"target_se": {"sex": 1e-3}}),
    ("HG242", {"target_se": {"wage": 1}}),
    ("HG242", {"target_se": {"sex": 0}}),
    ("HG242", {"target_se": 3}),
    ("HG117", {"delta": 0}),
    ("HG114", {"missing": "midpoint"}),
    ("HG101", {"epsilon": None}),
    ("HG111", {"by": ["sex", "old"]}),
    ("HG203", {"by": {"sex": ["f", "m"], "wage": [0, 1]}}),
    ("HG131", {"where": "age >"}),
]


@pytest.mark.parametrize(("code", "options"), REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_spent(code: str, options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger.create(path, dataset="people", budget=Budget(2.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(people(500), relation="replace-one", ledger=path)
    with pytest.raises(HedgerowError, match=code):
        survey.margins(**({"by": BY, "epsilon": 1.0} | options))
    with Ledger.open(path) as ledger:
        assert not list(ledger.entries())


def test_an_unknown_keyword_and_an_unknown_table_are_refused() -> None:
    survey = hg.open(people(500), relation="replace-one")
    with pytest.raises(TypeError, match="Did you mean `order`"):
        survey.margins(by=BY, ordr=2, epsilon=1.0)  # type: ignore[call-arg]  # misspelt on purpose
    margins = drawn(survey, SilentNoise(), order=2)
    for columns in (("wage",), ("sex", "sex"), ("sex", "old", "job")):
        with pytest.raises(ParameterError, match="HG160"):
            margins.table(*columns)
    table = margins["sex"]
    assert table.with_margins() is table


def test_a_false_declaration_of_completeness_is_told_after_the_price() -> None:
    survey = hg.open(pa.table({"a": [0, 1, 2], "b": [0, 1, 0]}), relation="replace-one")
    with pytest.raises(SpentError, match="HG602"):
        survey.margins(by={"a": [0, 1], "b": [0, 1]}, order=2, epsilon=1.0, **COMPLETE)


def test_a_record_is_read_again_and_an_altered_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger.create(path, dataset="people", budget=Budget(5.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(people(500), relation="replace-one", ledger=path)
    options: dict[str, Any] = {"by": {"sex": {"f": "women", "m": "men"}, "old": [0, 1]}, "order": 2, "epsilon": 1.0}
    margins = survey.margins(**options, request_id="office")
    again = survey.margins(**options, request_id="office")
    assert again.replayed and [one.estimate for one in again] == [one.estimate for one in margins]
    with Ledger.open(path) as ledger:
        assert len(list(ledger.entries())) == 1
    for made in (margins, margins.nonnegative(), margins.nonnegative().rounded()):
        record = json.loads(made.to_json())
        assert verify_record(record).holds and verify_record(json.loads(json.dumps(made.kept_record()))).holds
        for change in ("estimate", "low", "standard_error", *(["shown"] if made.shown else [])):
            wrong = json.loads(made.to_json())
            wrong["margins"]["tables"][1][change][0] = 1.0
            assert not verify_record(wrong).holds
    wrong = json.loads(margins.to_json())
    wrong["noisy"][0]["values"][0] = 0.0
    assert not verify_record(wrong).holds
    wider = json.loads(margins.to_json())
    wider["certificate"]["mechanism"]["noise"][0]["width"] //= 2
    assert not verify_record(wider).holds


def test_a_table_is_a_protected_table_with_its_totals(tmp_path: Path) -> None:
    survey = hg.open(people(500), relation="replace-one")
    margins = survey.margins(by=BY, order=2, epsilon=1.0, **COMPLETE).nonnegative().rounded()
    table = margins["region", "sex"]
    assert table.shape.columns == ("sex", "region") and set(table.margins) == {("sex",), ("region",), ()}
    assert float(table.margin()[0].estimate) == 500.0 and table.letters().shape == (6,)
    for suffix in (".csv", ".html", ".xlsx"):
        table.write(tmp_path / f"table{suffix}")
    assert "± " in str(table._publication(errors=True)) or table.to_html().count("<table") == 1
    margins.write(tmp_path / "margins.csv")
    margins.write(tmp_path / "margins.json")
    lines = (tmp_path / "margins.csv").read_text().splitlines()
    assert len(lines) == 1 + len(margins) and lines[0].startswith("sex,region,old,job,columns,estimate,")
    assert verify_record(json.loads((tmp_path / "margins.json").read_text())).holds
    frame = margins.to_frame("pyarrow")
    assert frame.num_rows == len(margins) and set(frame["columns"].to_pylist()) >= {"sex × old", "job", ""}
    assert margins[0].estimate == 500.0 and len(margins[1:3]) == 2 and margins[-1].cell.keys() == {"old", "job"}
    assert "sex × old" in margins.to_markdown() and "tabular" in margins.to_latex()
    assert "noise ±" in str(margins) and "Margins of up to 2 columns" in margins._repr_html_()


def test_the_plan_shows_every_table_before_anything_is_spent() -> None:
    survey = hg.open(people(500), relation="replace-one")
    plan = survey.plan_margins(by=BY, order=2, epsilon=1.0)
    assert plan.epsilon <= 1.0 and plan.price.epsilon == pytest.approx(plan.epsilon, abs=2e-6)
    assert len(plan.expected()) == 11 and str(plan).count("noise ±") == 11
    assert repr(plan).startswith("<Margins planned: 11 tables")
    # Without a category for the rest, and undeclared, a record may be in no table: the total is released too.
    assert plan.expected()[0].privacy_error > 0.0
    assert survey.plan_margins(by=BY, order=2, epsilon=1.0, other=True).expected()[0].privacy_error == 0.0
