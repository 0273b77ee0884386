"""A refusal for want of a public fact names the facts file that lies near; a facts file is never used silently."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app

FACTS = """
relation = "replace-one"
[data]
path = "s.csv"
[columns.age]
bounds = [0, 100]
step = 1
[columns.sex]
categories = [0, 1]
"""
HERE, BESIDE = "hedgerow.toml in this folder", "hedgerow.toml beside the data"
# Each lacks a fact that the file has.
COMMANDS = {
    "relation": "release s.csv --mean age:0:100:1 --epsilon 1",
    "bounds": "release s.csv --relation replace-one --mean age --epsilon 1",
    "categories": "release s.csv --relation replace-one --count --by sex --epsilon 1",
    "categories of a table": "table s.csv --relation replace-one --count --by sex --epsilon 1",
    "source": "release --mean age:0:100:1 --epsilon 1",
    "plan": "plan s.csv --relation replace-one --mean age --epsilon 1",
    "plan without a file": "plan --n 1000 --mean age:0:100:1 --epsilon 1",
    "groups": "multicalibrate s.csv --label sex --score age --groups sex --epsilon 1 --out m --relation replace-one",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.csv").write_text("age,sex\n" + "41,0\n42,1\n" * 200)
    (tmp_path / "hedgerow.toml").write_text(FACTS)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(text: str) -> Any:
    return CliRunner().invoke(app, shlex.split(text))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_lacks_a_fact_names_the_file_and_does_not_use_it(name: str, folder: Path) -> None:
    refused = run(COMMANDS[name])
    assert refused.exit_code in (2, 4) and refused.stdout == ""
    assert HERE in refused.stderr and "--facts hedgerow.toml" in refused.stderr, refused.stderr


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "groups"])
def test_what_the_refusal_says_helps(name: str, folder: Path) -> None:
    helped = run(f"{COMMANDS[name]} --facts hedgerow.toml")
    assert helped.exit_code == 0, helped.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_named_where_nothing_lies(name: str, folder: Path) -> None:
    (folder / "hedgerow.toml").unlink()
    assert "There is a" not in run(COMMANDS[name]).stderr


def test_a_file_beside_the_data_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "elsewhere")
    for name in ("relation", "bounds", "categories", "plan"):
        refused = run(COMMANDS[name].replace("s.csv", "../s.csv"))
        assert BESIDE in refused.stderr and "hedgerow.toml" in refused.stderr, refused.stderr
    with pytest.raises(hg.ParameterError, match=BESIDE) as told:
        hg.open("../s.csv").count(epsilon=1.0)
    assert f'facts="{folder}/hedgerow.toml"' in str(told.value) and told.value.remedy in str(told.value)


def test_python_is_told_in_python(folder: Path) -> None:
    survey = hg.open(pa.table({"age": [41.0] * 100, "sex": [0, 1] * 50}), relation="replace-one")
    for ask in (
        lambda: hg.open("s.csv").count(epsilon=1.0),
        lambda: hg.open("s.csv").find_bounds("age"),
        lambda: hg.open(),
        lambda: survey.mean("age", epsilon=1.0),
        lambda: survey.plan([hg.quantile("age", 0.5)], epsilon=1.0),
        lambda: survey.count(by=["sex"], epsilon=1.0),
        lambda: survey.magnitude_table("age", by={"sex": [0, 1]}, epsilon=1.0),
    ):
        with pytest.raises(hg.HedgerowError, match=HERE) as told:
            ask()
        assert 'facts="hedgerow.toml"' in told.value.remedy and "--" not in str(told.value)


def test_who_gave_facts_is_not_sent_to_others(folder: Path) -> None:
    with pytest.raises(hg.ParameterError, match="HG103") as told:
        hg.open("s.csv", facts=hg.Facts()).count(epsilon=1.0)
    assert "There is a" not in str(told.value)
    with pytest.raises(hg.ParameterError, match="HG105") as told:
        hg.open("s.csv", relation="replace-one").mean("age", bounds=(9, 0), epsilon=1.0)
    assert "There is a" not in str(told.value), "a wrong argument is no missing fact"
