"""All public facts that a call lacks are named at once, with lines for a facts file that are right once filled in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app

TABLE = pa.table({"age": [18.0, 93.0], "net pay": [7.5, 8.5], "sex": ["f", "secret"], "town": ["x", "y"], "y": [0, 1]})
FILLED_IN = {"LO, HI": "0, 100", "VALUE, VALUE": '"f", "m"'}

LACKING: dict[str, tuple[str, Callable[[hg.Survey], Any], set[str]]] = {
    "two means": (
        "HG104",
        lambda s: s.plan([hg.mean("age"), hg.quantile("net pay", 0.5)], epsilon=1.0),
        {"age", "net pay"},
    ),
    "a mean by two groups": (
        "HG104",
        lambda s: s.release(hg.mean("age"), by=["sex", "town"], epsilon=1.0),
        {"age", "sex", "town"},
    ),
    "a count by two groups": (
        "HG111",
        lambda s: s.count(by={"sex": None, "town": None, "y": [0, 1]}, epsilon=1.0),
        {"sex", "town"},
    ),
    "a table": ("HG104", lambda s: s.magnitude_table("net pay", by=["sex"], epsilon=1.0), {"net pay", "sex"}),
    "a ratio": ("HG104", lambda s: s.ratio("age", "net pay", epsilon=1.0), {"age", "net pay"}),
    "a regression": ("HG111", lambda s: s.ols("age", ["net pay", "C(sex)"], epsilon=1.0), {"age", "net pay", "sex"}),
    "a logit": ("HG111", lambda s: s.logit("y", ["net pay", "C(town)"], epsilon=1.0), {"net pay", "town"}),
}


def lines(remedy: str) -> str:
    return remedy.partition("\n")[2]


@pytest.mark.parametrize("case", LACKING)
def test_all_are_named_and_the_lines_work_once_filled_in(case: str, tmp_path: Path) -> None:
    code, ask, columns = LACKING[case]
    messages = []
    # Two neighbours: the lines never hold a value.
    for table in (TABLE, TABLE.slice(0, 1)):
        with pytest.raises(hg.ParameterError) as refused:
            ask(hg.open(table, relation="add-remove"))
        messages.append(str(refused.value))
    assert refused.value.code == code
    assert len(set(messages)) == 1 and "secret" not in messages[0]
    assert all(repr(column) in refused.value.finding for column in columns)
    text = lines(refused.value.remedy)
    assert messages[0].endswith(text)
    facts = tmp_path / "hedgerow.toml"
    facts.write_text(text)
    with pytest.raises(hg.FactsError, match="HG701"):
        hg.Facts.read(facts)
    for words, values in FILLED_IN.items():
        text = text.replace(words, values)
    facts.write_text(text)
    declared = hg.Facts.read(facts)
    assert set(declared.columns) == columns
    ask(hg.open(TABLE, declared, relation="add-remove"))


def test_what_the_facts_have_is_not_asked_for() -> None:
    known = hg.Facts(relation="add-remove", columns={"age": hg.ColumnFacts(bounds=(0, 100))})
    with pytest.raises(hg.ParameterError, match="HG111") as refused:
        hg.open(TABLE, known).release([hg.mean("age")], by=["sex", "town"], epsilon=1.0)
    assert "'age'" not in str(refused.value) and "bounds" not in lines(refused.value.remedy)


def test_one_column_may_lack_both() -> None:
    with pytest.raises(hg.ParameterError, match="HG104") as refused:
        hg.open(TABLE, relation="add-remove").mean("age", by=["age"], epsilon=1.0)
    assert lines(refused.value.remedy) == "\n[columns.age]\nbounds = [LO, HI]\ncategories = [VALUE, VALUE]"


def test_a_single_one_has_its_own_remedy() -> None:
    with pytest.raises(hg.ParameterError, match="HG104") as refused:
        hg.open(TABLE, relation="add-remove").mean("age", epsilon=1.0)
    assert "\n" not in str(refused.value)


def test_a_statistic_that_the_facts_forbid_is_refused_first() -> None:
    facts = hg.Facts(relation="add-remove", statistics=("count",))
    with pytest.raises(hg.ForbiddenError, match="HG704"):
        hg.open(TABLE, facts).release([hg.count(), hg.mean("age")], by=["sex"], epsilon=1.0)


def test_a_facts_file_nearby_is_named_before_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hedgerow.toml").write_text("")
    with pytest.raises(hg.ParameterError) as refused:
        hg.open(TABLE, relation="add-remove").release([hg.mean("age"), hg.mean("net pay")], epsilon=1.0)
    text, _, rest = refused.value.remedy.partition("\n")
    assert "There is a hedgerow.toml" in text
    assert rest == '\n[columns.age]\nbounds = [LO, HI]\n\n[columns."net pay"]\nbounds = [LO, HI]'


def test_the_command_line_prints_the_lines_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a.b,sex\n18,f\n93,m\n")
    asked = ["--relation=add-remove", "--mean=a.b", "--by=sex", "--epsilon=1"]
    told = CliRunner().invoke(app, ["release", str(tmp_path / "people.csv"), *asked])
    assert told.exit_code == 2
    assert '[columns."a.b"]\nbounds = [LO, HI]\n\n[columns.sex]\ncategories = [VALUE, VALUE]\nMore:' in told.stderr
