"""`--quiet` prints the numbers alone, or nothing where they are written to files; errors are printed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app

COMMON = "survey.csv --relation replace-one --epsilon 20"
OLS = f"ols 'income ~ age' {COMMON} --bounds income:0:90000:100 --bounds age:0:100:1"
COMMANDS = {
    "release": f"release {COMMON} --mean age:0:100:1 --by sex=0",
    "table": f"table {COMMON} --count --by sex=0",
    "margins": f"margins {COMMON} --by sex=0,1",
    "ols": OLS,
    "ols in cells": f"{OLS} --by sex=0,1",
    "logit": f"logit 'sex ~ age' {COMMON} --bounds age:0:100:1",
    "find": "find bounds survey.csv age --relation replace-one --epsilon 20",
}
SAID = ("Price", "Guarantee", "ε", "left out", "Warning", "For the facts file", "HG")


@pytest.fixture(autouse=True)
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i % 60},{900 * (i % 90)},{i % 3 % 2}" for i in range(2000)]
    Path("survey.csv").write_text("\n".join(["age,income,sex", *rows]), encoding="utf-8")


def run(text: str) -> Any:
    return CliRunner().invoke(app, shlex.split(text))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_numbers_are_all_that_is_printed(name: str) -> None:
    loud, quiet = run(COMMANDS[name]), run(f"{COMMANDS[name]} --quiet")
    assert quiet.exit_code == loud.exit_code == 0
    assert "ε" in loud.stdout and "Warning" in loud.stderr
    assert quiet.stderr == "" and not [said for said in SAID if said in quiet.stdout]
    assert any(character.isdigit() for character in quiet.stdout)
    assert len(quiet.stdout.splitlines()) < len(loud.stdout.splitlines())


@pytest.mark.parametrize("name", COMMANDS)
def test_with_files_nothing_is_printed(name: str) -> None:
    result = run(f"{COMMANDS[name]} --out out -q")
    assert (result.exit_code, result.output) == (0, "")
    assert any(path.suffix == ".json" for path in Path("out").iterdir())


def test_errors_are_printed_and_json_stays_whole() -> None:
    refused = run("release survey.csv --relation replace-one --count -q")
    assert refused.exit_code == 2 and refused.stderr.startswith("HG101")
    record = json.loads(run(f"{COMMANDS['release']} --json --quiet").stdout)
    assert record["estimates"] and record["certificate"]
    # What was kept quiet is told again by the next command of the same process.
    assert "Warning" in run(COMMANDS["release"]).stderr


def test_numbers_that_no_file_could_take_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("hedgerow.release.publication.folder.ReleaseFolder.write", full)
    result = run(f"{COMMANDS['release']} --out out --quiet")
    assert result.exit_code == 6 and "mean age" in result.stdout and "HG604" in result.stderr
