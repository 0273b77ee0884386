"""What commands print fits a terminal of any width: lines break between words, numbers and what is copied never do."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.cli.terminal import width_of
from hedgerow.facts.lines import command, fitted, fitting, paragraph
from hedgerow.release.publication.text import aligned

WIDTHS = (60, 80, 100, 140)
COMMON = "survey.csv --relation replace-one --epsilon 1"
COMMANDS = {
    "release": f"release {COMMON} --mean income:0:200000:100 --mean age:0:100:1 --by region=North,South --ask "
    "'mean(income | region=North) - mean(income | region=South)'",
    "plan": f"plan {COMMON} --mean income:0:200000:100 --by region=North,South --guess income:mean=20000,sd=9000",
    "table": f"table {COMMON} --count --by region=North,South --by sex=0,1 --margins",
    "ols": f"ols 'income ~ age' {COMMON} --bounds income:0:200000:100 --bounds age:0:100:1",
    "plan of ols": f"ols 'income ~ age' {COMMON} --bounds income:0:200000:100 --bounds age:0:100:1 --plan",
    "verify": "verify out/release.json",
    "ask": "ask out/release.json 'mean(age | region=North) - mean(age | region=South)' --test 0",
    "plan of looks": "testset plan --n 10000 --looks 100",
    "missing budget": "release survey.csv --relation replace-one --mean age",
    "unknown option": f"release {COMMON} --cuont",
    "explain": "explain HG104",
    "epsilon": "explain epsilon",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a survey, and a release of it."""
    made = tmp_path_factory.mktemp("width")
    rows = [f"{20 + i % 60},{1000 * (i % 90)},{('North', 'South')[i % 2]},{i % 3 % 2}" for i in range(2000)]
    (made / "survey.csv").write_text("\n".join(["age,income,region,sex", *rows]), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert run(f"release {COMMON} --mean age:0:100:1 --by region=North,South --out out").exit_code == 0
    return made


def run(text: str, columns: int | None = None) -> Any:
    """Run a command on a terminal of this width; None: in a pipe."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("main", "terminal"):
            patch.setattr(f"hedgerow.cli.{module}.width_of", lambda stream: columns)
        return CliRunner().invoke(app, shlex.split(text))


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d.,e-]*\d|\d", text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_line_fits(folder: Path, name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = run(COMMANDS[name], width)
    lines = result.output.splitlines()
    assert len(lines) > 2
    # A single word, such as a path, may be longer than a line.
    assert [line for line in lines if len(line) > width and len(line.split()) > 1] == []


@pytest.mark.parametrize("verb", [("release",), ("testset", "score")])
def test_help_fits(verb: tuple[str, ...]) -> None:
    # A process of its own: within one, typer's runner holds the width of a help at 80.
    asked = [sys.executable, "-m", "hedgerow", *verb, "--help"]
    env = {**os.environ, "COLUMNS": "60", "PYTHONIOENCODING": "utf-8"}
    lines = subprocess.run(asked, env=env, capture_output=True, check=True).stdout.decode().splitlines()
    assert len(lines) > 20 and [line for line in lines if len(line) > 60 and len(line.split()) > 1] == []


@pytest.mark.parametrize("name", ["verify", "ask", "explain", "epsilon", "plan", "plan of looks", "missing budget"])
def test_narrow_lines_hold_the_words_of_wide_ones(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    wide, narrow = run(COMMANDS[name]).output, run(COMMANDS[name], 60).output
    # What heads a table stands above each of its parts again; nothing is cut off or broken.
    assert set(wide.split()) == set(narrow.split())
    assert set(numbers(wide)) == set(numbers(narrow))


def test_a_table_is_cut_into_parts_that_repeat_what_its_rows_are() -> None:
    rows = [["who", "estimate", "interval"], ["women", "1,234", "1,000 to 1,500"]]
    whole = ["who    estimate        interval", "women     1,234  1,000 to 1,500"]
    parts = ["who    estimate", "women     1,234", "", "who          interval", "women  1,000 to 1,500"]
    assert aligned(rows, 1) == whole
    with fitting(24):
        assert aligned(rows, 1) == parts
    with fitting(31):
        assert aligned(rows, 1) == whole


@pytest.mark.parametrize("held", ["ε ≤ 0.5", "δ = 1e-06", "± 0.25", "[18, 95]", "50 %", "1,234.5"])
def test_a_number_is_not_parted_from_what_it_says(held: str) -> None:
    for width in range(10, 40):
        with fitting(width):
            assert held in paragraph(f"some words of prose then {held} and more words")


def test_what_fits_stays_as_it_is() -> None:
    text = "a  table   of\n  three    columns\n"
    assert fitted(text, 18) == text and fitted(text, 12) != text


def test_a_command_that_is_too_long_stays_a_command() -> None:
    text = "hedgerow release survey.csv --relation replace-one --count --epsilon 1"
    with fitting(40):
        lines = command(text)
    assert max(map(len, lines.splitlines())) <= 40 and len(lines.splitlines()) > 1
    assert shlex.split(lines.replace("\\\n", "")) == shlex.split(text)
    assert command(text) == f"  {text}"


def test_json_and_files_have_no_width(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    outputs = [run("verify out/release.json --json", width).output for width in (None, 40, 140)]
    assert len(set(outputs)) == 1 and json.loads(outputs[0])
    for width in (None, 40):
        assert run(f"plan {COMMON} --count --as-python", width).output.count("\n") == 5
    errors = {run("release survey.csv --json --mean age", width).stderr for width in (None, 40)}
    assert len(errors) == 1 and json.loads(errors.pop())["error"]["code"]


class Terminal(io.StringIO):
    """A terminal of 90 columns."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 7


@pytest.mark.parametrize(("given", "width"), [("72", 72), ("5", 40), ("", 90), ("wide", 90), ("0", None)])
def test_the_width_is_that_of_columns_or_of_the_terminal(
    given: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", given)
    monkeypatch.setattr(os, "get_terminal_size", lambda descriptor: os.terminal_size((90, 24)))
    assert width_of(Terminal()) == width
    # Programs read pipes and files: their lines have no width.
    assert width_of(io.StringIO()) is None and width_of(None) is None
