"""The facts file: what it may hold, what is refused by field, and the template that `hedgerow init` writes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hg
from hedgerow.cli.verbs.init import facts_template
from hedgerow.errors import FactsError, ForbiddenError, HedgerowError
from hedgerow.facts.columns import Missing
from hedgerow.facts.declared import ColumnFacts, Facts
from hedgerow.facts.facts_file import json_schema
from hedgerow.facts.relation import Relation, Target, UnitLimit

WHOLE = """
relation = "add-remove"
target = "file"
unit = { column = "person_id", max_rows = 4 }
ledger = "survey.ledger"
statistics = ["mean", "count"]
[data]
path = "data/people.duckdb"
kind = "duckdb"
table = "people"
[budget]
epsilon = 2
delta = 1e-7
[columns.age]
bounds = [18, 95.5]
step = 0.5
missing = "midpoint"
source = "codebook p. 12"
[columns."sex, as asked"]
categories = [0, "x", true, 2.5]
other = true
[[release]]
name = "first"
statistics = [{ statistic = "mean", column = "age" }]
by = ["sex, as asked"]
epsilon = 0.5
"""


def test_every_field_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "hedgerow.toml"
    path.write_text(WHOLE)
    facts = Facts.read(path)
    assert (facts.relation, facts.target) == (Relation.ADD_REMOVE, Target.FILE)
    assert facts.unit == UnitLimit("person_id", 4) and facts.statistics == ("mean", "count")
    assert facts.data_path == str(tmp_path / "data/people.duckdb") and facts.data is not None
    assert (facts.data.kind, facts.data.table) == ("duckdb", "people")
    assert facts.ledger_path == str(tmp_path / "survey.ledger")
    assert facts.budget is not None and (facts.budget.epsilon, facts.budget.delta) == (2.0, 1e-7)
    age, sex = facts.column("age"), facts.column("sex, as asked")
    assert (age.bounds, age.step, age.missing, age.source) == ((18, 95.5), 0.5, Missing.MIDPOINT, "codebook p. 12")
    assert (sex.categories, sex.other, sex.source) == ((0, "x", True, 2.5), True, None)
    assert facts.releases[0]["epsilon"] == 0.5
    assert facts.column("height") == ColumnFacts()


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "a misspelt field": ({"relatoin": "add-remove"}, "HG702", "relatoin"),
    "a misspelt fact": ({"columns": {"age": {"bound": [0, 1]}}}, "HG702", "columns.age.bound"),
    "an unknown relation": ({"relation": "swap"}, "HG702", "relation"),
    "a text for a number": ({"columns": {"age": {"bounds": [0, "9"]}}}, "HG702", "columns.age.bounds[2]"),
    "true for a number": ({"columns": {"age": {"bounds": [True, 9]}}}, "HG702", "columns.age.bounds[1]"),
    "one bound": ({"columns": {"age": {"bounds": [0]}}}, "HG702", "columns.age.bounds"),
    "NaN": ({"columns": {"age": {"bounds": [0, float("nan")]}}}, "HG702", "columns.age.bounds[2]"),
    "reversed bounds": ({"columns": {"age": {"bounds": [9, 0]}}}, "HG105", "age"),
    "a step that does not divide": ({"columns": {"age": {"bounds": [0, 9], "step": 2}}}, "HG106", "age"),
    "a step without bounds": ({"columns": {"age": {"step": 2}}}, "HG104", "age"),
    "one category twice": ({"columns": {"sex": {"categories": [1, 1.0]}}}, "HG111", "sex"),
    "other of nothing": ({"columns": {"sex": {"other": True}}}, "HG111", "sex"),
    "a midpoint of nothing": ({"columns": {"sex": {"missing": "midpoint"}}}, "HG114", "sex"),
    "an unknown policy": ({"columns": {"age": {"missing": "impute"}}}, "HG702", "columns.age.missing"),
    "a nameless column": ({"columns": {"": {}}}, "HG203", ""),
    "a unit in words": ({"unit": "person"}, "HG702", "unit"),
    "a unit without rows": ({"unit": {"column": "id", "max_rows": 0}}, "HG702", "unit.max_rows"),
    "no ε": ({"budget": {"epsilon": 0}}, "HG702", "budget.epsilon"),
    "an ε beyond all": ({"budget": {"epsilon": 1e9}}, "HG101", "1000000000"),
    "δ of 1": ({"budget": {"epsilon": 1, "delta": 1}}, "HG702", "budget.delta"),
    "an unknown statistic": ({"statistics": ["mode"]}, "HG702", "statistics[1]"),
    "a kind that is not": ({"data": {"path": "x.csv", "kind": "parquet"}}, "HG702", "data.kind"),
    "a table of a CSV file": ({"data": {"path": "x.csv", "table": "t"}}, "HG702", "data.table"),
    "a release of nothing": ({"release": [{"statistics": [], "epsilon": 1}]}, "HG702", "release[1].statistics"),
    "a release for nothing": ({"release": [{"statistics": [{"statistic": "count"}]}]}, "HG702", "release[1]"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_by_field(name: str) -> None:
    record, code, where = BAD[name]
    with pytest.raises(HedgerowError) as caught:
        Facts.from_dict(record)
    assert caught.value.code == code and where in caught.value.finding


@pytest.mark.parametrize(
    "text",
    [
        *(b"relation = ", b"\xff\xfe", b"a = 1\na = 2", b"x = " + b"[" * 100_000, b"\0", b"#" * (8 * 2**20 + 1)),
        *(b"x = " + b"9" * 5000, b"x = 1" + b"_1" * 5000, b"x = " + b"9" * 5000 + b"-01-01"),
    ],
    ids=range(9),
)
def test_what_is_no_toml_is_refused_without_quoting_it(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hedgerow.toml"
    path.write_bytes(text)
    with pytest.raises(FactsError, match="HG701"):
        Facts.read(path)


@pytest.mark.parametrize("path", ["absent.toml", ".", "", "a\0b", "http://example.org/hedgerow.toml", None, 3])
def test_a_path_that_leads_nowhere_is_refused(path: object) -> None:
    with pytest.raises(FactsError, match="HG701"):
        Facts.read(path)


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "hedgerow.toml")
    with pytest.raises(FactsError, match="HG701"):
        Facts.read(tmp_path / "hedgerow.toml")


def test_empty_facts_are_facts() -> None:
    facts = Facts.from_dict({})
    assert facts == Facts() and facts.relation is None and facts.data_path is None


def test_only_allowed_statistics_pass() -> None:
    Facts().allow(["bootstrap"])
    with pytest.raises(ForbiddenError, match="HG704") as caught:
        Facts(statistics=("mean",)).allow(["mean", "sum"])
    assert caught.value.exit_code == 4
    with pytest.raises(ForbiddenError):
        Facts(statistics=()).allow(["mean"])


def test_the_schema_agrees_with_the_reader() -> None:
    """The schema names every field of a whole file, and forbids others, at every level."""
    schema = json_schema()
    assert schema["$id"].startswith("urn:") and json.loads(json.dumps(schema)) == schema
    assert set(tomllib.loads(WHOLE)) <= set(schema["properties"])
    parts = [schema, *schema["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in parts if part["type"] == "object")
    assert all("description" in field or "const" in field or "enum" in field for field in schema["properties"].values())


@given(
    path=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    names=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True, max_size=5),
)
def test_the_template_is_toml_whatever_the_columns_are_called(path: str, names: list[str]) -> None:
    record = tomllib.loads(facts_template(path, names))
    assert record == {"data": {"path": path}, **({"columns": {name: {} for name in names}} if names else {})}


def test_a_template_that_does_not_escape_would_be_seen() -> None:
    broken = facts_template("a.csv", ["age"]).replace("[columns.age]", '[columns.x"]')
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(broken)


def test_facts_in_python_need_no_pydantic() -> None:
    code = (
        "import sys, hedgerow as hg;"
        "hg.Facts(relation='replace-one', columns={'age': hg.ColumnFacts(bounds=(0, 9))});"
        "print('pydantic' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_dates_are_bounds_of_what_is_computed_from_them(tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text(
        'relation = "replace-one"\n[columns.born]\nbounds = [1930-01-01, 2005-12-31]\n'
        "[columns.age]\nexpression = \"age(born, '2026-01-01')\"\n"
        "[columns.seen]\nbounds = [2020-01-01, 2026-12-31]\n"
    )
    born = [f"{1940 + place % 60}-06-15" for place in range(600)]
    rows = [f"{day},202{place % 6}-03-01 10:00" for place, day in enumerate(born)]
    (tmp_path / "people.csv").write_text("born,seen\n" + "\n".join(rows) + "\n")
    survey = hg.open(tmp_path / "people.csv", facts=tmp_path / "facts.toml")
    age = survey.mean("age", epsilon=20.0)
    assert age.estimate == pytest.approx(2025 - 1969.5, abs=1.0) and "[20, 96]" in age.covers
    year = survey.mean(hg.column("year(seen)"), epsilon=20.0)
    assert year.estimate == pytest.approx(2022.5, abs=0.2)
    with pytest.raises(hg.HedgerowError, match="HG105"):
        hg.Facts(columns={"born": hg.ColumnFacts(bounds=("2005-01-01", "1930-01-01"))})
