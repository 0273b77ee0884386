"""Bands, labels and derived columns: as if columns had been made beforehand, in every output."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.grammar import parse_by, with_labels
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.facts.columns import Bands, Category
from hedgerow.release.request import parse_request
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import report_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release

N = 2000
CUTS = (18, 25, 45.5, 65)
NAMES = ("[18, 25)", "[25, 45.5)", "[45.5, 65]")
LABELS = {0: "men", 1: "women"}


def people() -> pa.Table:
    rng = np.random.default_rng(9)
    age = np.where(
        rng.random(N) < 0.2, rng.choice([18.0, 25.0, 45.5, 65.0, 17.999, 65.001, np.nan]), rng.uniform(10, 80, N)
    )
    income, household = rng.uniform(0, 900, N), rng.integers(0, 5, N)
    each = np.where(household == 0, np.nan, income / np.maximum(household, 1))
    names = np.array(["", *NAMES])[[0 if not 18 <= one <= 65 else 1 + (one >= 25) + (one >= 45.5) for one in age]]
    columns = {"age": age, "income": income, "household": household, "sex": rng.integers(0, 2, N)}
    return pa.table(columns | {"each": each, "band": names})


PEOPLE = people()
SURVEY = hg.open(PEOPLE, relation="add-remove")
EACH = hg.column("income / household", bounds=(0, 1000), step=1)


def numbers(found: hg.Release) -> list[Any]:
    return [(one.statistic, one.estimate, one.standard_error, one.confidence_interval().low) for one in found]


@pytest.mark.parametrize("other", [False, True])
def test_bands_are_the_categories_that_one_would_make_beforehand(other: bool) -> None:
    asked = [hg.count(), hg.mean("income", bounds=(0, 1000), step=1)]
    ours, theirs = (
        release(SURVEY, asked, by=by, other=other, epsilon=2.0, rng=1)
        for by in ({"age": hg.bands(*CUTS)}, {"band": list(NAMES)})
    )
    assert numbers(ours) == numbers(theirs)
    assert [one.cell["age"] for one in ours] == [one.cell["band"] for one in theirs]


@pytest.mark.parametrize("make", [hg.mean, hg.sum, hg.variance, lambda *a, **b: hg.quantile(a[0], 0.5, **b)])
@pytest.mark.parametrize("missing", ["drop", "midpoint"])
def test_a_derived_column_is_the_column_that_one_would_make_beforehand(make: Any, missing: str) -> None:
    if missing == "midpoint" and make not in (hg.mean, hg.sum):
        pytest.skip("has no midpoint")
    bounds = {"bounds": (0, 1000), "step": 1}
    asked = [make(EACH), make(EACH, **bounds), make("each", **bounds)]
    first, second, third = (release(SURVEY, one, epsilon=3.0, rng=2, missing=missing) for one in asked)
    assert numbers(first) == numbers(second) == numbers(third)
    assert first[0].column == "income / household"


def test_a_derived_column_may_be_grouped_and_counted() -> None:
    by = {EACH: hg.bands(0, 100, 300, 1000)}
    found = release(SURVEY, hg.count(), by=by, epsilon=50.0, rng=1)
    each = PEOPLE["each"].to_numpy()
    expected = [np.sum((each >= low) & (each < high)) for low, high in [(0, 100), (100, 300), (300, 1001)]]
    assert [round(one.estimate) for one in found] == pytest.approx(expected, abs=2)
    both = hg.ratio("income", "household", bounds={"income": (0, 1000, 1), "household": (1, 8, 1)})
    assert len(release(SURVEY, [both, hg.mean(EACH)], epsilon=5.0, rng=1)) == 2


def test_labels_stand_beside_the_values_in_every_output(tmp_path: Path) -> None:
    by = {"age": hg.bands(*CUTS, labels=["young", "middle", "old"]), "sex": LABELS}
    made = SURVEY.release([hg.count(), hg.mean(EACH)], by=by, epsilon=5.0)
    record = json.loads(made.to_json())
    assert record["estimates"][3]["cell"] == {"age": "[25, 45.5)", "sex": 1}
    assert record["estimates"][3]["labels"] == {"age": "middle", "sex": "women"}
    assert record["release"]["derived"] == {"income / household": "income / household"}
    assert verify_record(record).holds and release_from_record(made.to_json()).to_json() == made.to_json()
    made.to_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (rows[3]["sex"], rows[3]["sex_label"], rows[3]["age_label"]) == ("1", "women", "middle")
    page = report_html(made)
    shown = [str(made), page, *(text.get_text() for text in made.plot().get_yticklabels())]
    assert all("sex=women" in text for text in shown[:2]) and "1 (women)" in page
    assert any("sex=women" in text for text in shown[2:])
    plain = SURVEY.release(hg.count(), by={"sex": [0, 1]}, epsilon=1.0)
    assert "labels" not in plain.to_dict()["estimates"][0] and "sex_label" not in plain.to_columns()


def test_labels_in_every_output_of_a_table(tmp_path: Path) -> None:
    table = SURVEY.contingency_table(by={"sex": LABELS, "age": hg.bands(*CUTS)}, other=True, epsilon=5.0, margins=True)
    record = table.to_dict()
    assert record["table"]["by"][0]["labels"] == ["men", "women"] and verify_record(record).holds
    assert [one.get("labels") for one in record["estimates"]][4::4] == [{"sex": "women"}, None]
    table.to_html(tmp_path / "a.html"), table.to_xlsx(tmp_path / "a.xlsx"), table.to_csv(tmp_path / "a.csv")
    assert "women" in str(table) and "women" in (tmp_path / "a.html").read_text()
    with (tmp_path / "a.csv").open() as file:
        lines = list(csv.DictReader(file))
    found = {(line["sex"], line["sex_label"]) for line in lines}
    assert found == {("0", "men"), ("1", "women"), ("other", "other"), ("", "")}
    assert "women" in {text.get_text() for text in table.plot().get_yticklabels()}


def test_an_estimate_is_named_by_values_or_labels() -> None:
    made = SURVEY.release(
        hg.mean("income", bounds=(0, 1000)),
        by={"age": hg.bands(*CUTS, labels=["young", "middle", "old"]), "sex": LABELS},
        epsilon=5.0,
    )
    assert made.estimate("mean", age="young", sex=1) == made.estimate("mean", age=NAMES[0], sex="women") == made[1]
    assert made.ask("mean(income | sex=1, age=old) - mean(income | sex=women, age=old)").estimate == 0.0
    swapped = SURVEY.release(hg.count(), by={"sex": {0: "1", 1: "0"}}, epsilon=5.0)
    assert swapped.estimate("count", sex=1) == swapped[1]  # a value comes before a label


COMMANDS = {
    "release": ("release", "--mean", "income:0:1000"),
    "plan": ("plan", "--mean", "income:0:1000"),
    "table": ("table", "--total", "income:0:1000", "--margins"),
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_command_line_labels_categories_and_bands(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pa.csv.write_csv(PEOPLE, path)
    by = ["--by", "sex=0,1", "--by", "(income / household)=0..300..1000"]
    labels = ["--labels", 'sex=men,"women, all"', "--labels", "(income / household)=poor,rich"]
    told = [*by, *labels, "--relation", "add-remove", "--epsilon", "5"]
    name, *asked = COMMANDS[verb]
    found = CliRunner().invoke(app, [name, str(path), *asked, *told])
    assert found.exit_code == 0, found.output
    assert verb == "plan" or ("women, all" in found.stdout and "rich" in found.stdout)
    if verb != "plan":
        record = json.loads(CliRunner().invoke(app, [name, str(path), *asked, *told, "--json"]).stdout)
        assert {"sex": "women, all", "income / household": "rich"} in [one.get("labels") for one in record["estimates"]]


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (["sex"], "HG116"),
        (["=men,women"], "HG116"),
        (["sex="], "HG116"),
        (["sex=men"], "HG111"),
        (["sex=men,men"], "HG111"),
        (["sex=men,"], "HG111"),
        (["sex=men,women,all"], "HG111"),
        (["age=young,old"], "HG111"),
        (["region=n,s"], "HG111"),
        (["sex=men,women", "sex=m,w"], "HG111"),
        (["twice=a,b"], "HG111"),
    ],
)
def test_labels_that_fit_no_group_of_the_call_are_refused(labels: list[str], code: str) -> None:
    with pytest.raises(ParameterError, match=code):
        with_labels(parse_by(["sex=0,1", "region", "twice=0,0"], banded=True), labels)
    with pytest.raises(ParameterError, match=code):
        with_labels(None, labels)


def test_labels_do_not_change_a_request_and_bands_do() -> None:
    def record(by: Any) -> Any:
        return parse_request(hg.count(), by=by, epsilon=1.0).public_record()

    assert record({"sex": LABELS}) == record({"sex": [0, 1]})
    assert record({"age": hg.bands(0, 1)}) != record({"age": ["[0, 1]"]})


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: hg.bands(1), "HG133"),
        (lambda: hg.bands(0, 25, 25), "HG133.*cut point 3 is not above"),
        (lambda: hg.bands(0, "x", 25), "HG133.*cut point 2 is no such number"),
        (lambda: SURVEY.count(by={"sex": [0, 1, 2, 1]}, epsilon=1.0), "HG111.*categories 2 and 4"),
        (lambda: hg.Facts(columns={"sex": hg.ColumnFacts(categories=(0, 1), bands=(0, 1))}), "HG111.*both"),
        (lambda: hg.Facts(releases=({"statistics": [], "where": "age >"},)), "HG131.*character 6"),
        (lambda: hg.Facts(columns={"a": hg.ColumnFacts(expression="a / 2")}), "HG132.*computed itself"),
        (lambda: hg.bands(25, 0), "HG133"),
        (lambda: hg.bands(0, "x"), "HG133"),
        (lambda: hg.bands(0, float("nan")), "HG133"),
        (lambda: hg.bands(0, float("inf")), "HG133"),
        (lambda: hg.bands(0, 1, 2, labels=["a"]), "HG111.*1 label for 2 bands"),
        (lambda: hg.bands(0, 1, 2, labels=["a", "a"]), "HG111"),
        (lambda: SURVEY.count(by={"sex": {0: "men", 1: ""}}, epsilon=1.0), "HG111"),
        (lambda: SURVEY.count(by={"sex": {0: "men", 1: 2}}, epsilon=1.0), "HG111"),
        (lambda: SURVEY.count(by={"band": hg.bands(0, 1)}, epsilon=1.0), "HG204"),
        (lambda: SURVEY.count(by={"wage": hg.bands(0, 1)}, epsilon=1.0), "HG203"),
        (lambda: SURVEY.mean(hg.column("income / wage", bounds=(0, 1)), epsilon=1.0), "HG203.*character 10 of"),
        (lambda: SURVEY.mean(hg.column("income / band", bounds=(0, 1)), epsilon=1.0), "HG204"),
        (lambda: SURVEY.mean(hg.column("income / household"), epsilon=1.0), "HG104"),
        (lambda: hg.Facts(columns={"age": hg.ColumnFacts(bands=(1, 0))}), "HG133"),
        (lambda: hg.Facts(columns={"sex": hg.ColumnFacts(categories=(0, 1), labels=("men",))}), "HG111"),
        (lambda: hg.Facts(columns={"each": hg.ColumnFacts(expression="income /")}), "HG132"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, code: str) -> None:
    with pytest.raises(HedgerowError, match=code):
        make()


def test_cut_points_on_the_command_line() -> None:
    assert parse_by(["age=0..25..45", "sex=0,1"], banded=True) == {"age": Bands((0.0, 25.0, 45.0)), "sex": [0, 1]}
    for text in ("age=0..x", "age=25..0"):
        with pytest.raises(ParameterError, match="HG133"):
            parse_by([text], banded=True)
    assert parse_by(["age=a..b"], banded=True) == {"age": ["a..b"]}
    assert Category.declared("age", hg.bands(0, 1)).edges == (0.0, 1.0)


FACTS = """
relation = "replace-one"
[data]
path = "people.csv"
[columns.each]
expression = "income / household"
bounds = [0, 1000]
step = 1
[columns.age]
bands = [18, 25, 45.5, 65]
labels = ["young", "middle", "old"]
[columns.sex]
categories = [0, 1]
labels = ["men", "women"]
[[release]]
name = "by age"
statistics = [{ statistic = "mean", column = "each" }, { statistic = "count" }]
by = ["age", "sex"]
where = "each < 500 and age >= 25"
epsilon = 4.0
"""


def test_facts_and_the_command_line(tmp_path: Path) -> None:
    pa.csv.write_csv(PEOPLE.drop_columns(["each"]), tmp_path / "people.csv")
    facts = tmp_path / "hedgerow.toml"
    facts.write_text(FACTS)
    run = CliRunner().invoke(app, ["release", "--facts", str(facts), "--request", "by age", "--json"])
    assert run.exit_code == 0, run.output
    record = json.loads(run.stdout)
    assert record["release"]["where"] == "each < 500 and age >= 25"
    assert record["release"]["derived"] == {"each": "income / household"}
    assert record["estimates"][2]["labels"] == {"age": "middle", "sex": "men"} and verify_record(record).holds
    each, age, sex = (PEOPLE[name].to_numpy() for name in ("each", "age", "sex"))
    chosen = (each < 500) & (age >= 25) & (age < 45.5) & (sex == 0)
    assert abs(record["estimates"][2]["estimate"] - each[chosen].mean()) < 12 * record["estimates"][2]["privacy_error"]
    by = ["--by", "age=18..25..45.5..65", "--where", "age >= 25", "--epsilon", "4", "--relation", "add-remove"]
    for verb, what in (
        ("release", ["--mean", "(income / household):0:1000:1"]),
        ("table", ["--total", "income:0:1000:1"]),
    ):
        found = CliRunner().invoke(app, [verb, str(tmp_path / "people.csv"), *what, *by])
        assert found.exit_code == 0 and "[25, 45.5)" in found.stdout, found.output
    bad = CliRunner().invoke(app, ["release", str(tmp_path / "people.csv"), "--count", *by, "--where", "age >="])
    assert bad.exit_code == 2 and "character 7" in bad.stderr
