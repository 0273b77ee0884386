"""Units of several rows from the shell: every verb takes `--unit COL:MAX`, says whom it protects, and refuses alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app

runner = CliRunner()
UNIT = ("--relation", "replace-one", "--unit", "person:3")
BY = ("--by", "wave=1,2,3")


@pytest.fixture(autouse=True)
def panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel of 400 persons in three waves, in the working folder."""
    rows = [f"{person},{wave},{900 + person + 50 * wave}" for person in range(400) for wave in (1, 2, 3)]
    (tmp_path / "panel.csv").write_text("\n".join(["person,wave,pay", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Any:
    return runner.invoke(app, words)


def test_persons_and_rows_are_counted_side_by_side() -> None:
    result = run("release", "panel.csv", *UNIT, *BY, "--count", "--count-units", "--epsilon", "9", "--json")
    record = json.loads(result.stdout)
    assert [one["statistic"] for one in record["estimates"]] == ["count"] * 3 + ["units"] * 3
    assert all(abs(one["estimate"] - 400) < 60 for one in record["estimates"])
    assert record["release"]["unit"] == "person, at most 3 rows"


@pytest.mark.parametrize("verb", ["release", "table"])
def test_a_note_appears_once(verb: str) -> None:
    said = " ".join(run(verb, "panel.csv", *UNIT, *BY, "--count", "--epsilon", "1").stdout.split())
    assert said.count("drawn at random where there are more") == said.count("rows without person are left out") == 1


def test_a_plan_names_the_unit_and_what_a_guess_drops() -> None:
    asked = (*UNIT, "--n", "400", *BY, "--count-units", "--mean", "pay:0:2000", "--epsilon", "1")
    result = run("plan", *asked, "--guess", "person:mean=4,sd=2")
    assert result.exit_code == 0 and "unit person, at most 3 rows" in result.stdout
    said = " ".join(result.stdout.split())
    assert said.count("of the rows guessed 33 % are dropped") == 2 and "133.333 units (person)" in said
    made = run("plan", *asked, "--as-shell", "--as-python").stdout
    assert "--unit person:3" in made and "unit=('person', 3)" in made and "hg.count(of='units')" in made
    looked = run("plan", "panel.csv", *UNIT, "--find-bounds", "pay:0.5")
    assert looked.exit_code == 0 and "find the bounds of pay" in looked.stdout


def test_searches_for_bounds_and_for_a_limit_of_rows() -> None:
    found = json.loads(run("find", "bounds", "panel.csv", "pay", *UNIT, "--epsilon", "5", "--json").stdout)
    low, high = found["found"]["bounds"]
    assert low <= 1000 and 1400 <= high <= 3000 and found["release"]["unit"] == "person, at most 3 rows"
    unit = ("--relation", "replace-one", "--unit", "person:1")
    rows = run("find", "bounds", "panel.csv", "person", "--of", "rows", *unit, "--epsilon", "5")
    assert rows.exit_code == 0
    assert 'unit = { column = "person", max_rows = 3 }  # hedgerow find bounds --of rows, ε' in rows.stdout
    (file := Path("facts.toml")).write_text('relation = "replace-one"\n')
    words = ("person", "--of", "rows", *unit, "--epsilon", "5", "--write", "facts.toml")
    refused = run("find", "bounds", "panel.csv", *words)
    assert refused.exit_code == 2 and refused.stderr.startswith("HG116: ")
    assert file.read_text() == 'relation = "replace-one"\n'
    refused = run("find", "categories", "panel.csv", "wave", *UNIT, "--epsilon", "5")
    assert (
        refused.exit_code == 4
        and refused.stderr.startswith("HG402: ")
        and "No price of a search for categories is proven" in refused.stderr
    )


@pytest.mark.parametrize(("unit", "code"), [("person", "HG116"), ("person:0", "HG115"), ("person:13", "HG402")])
def test_a_ledger_refuses_a_unit_as_a_release_does(unit: str, code: str) -> None:
    words = ("--relation", "replace-one", "--unit", unit, "--epsilon", "1")
    made = run("ledger", "create", "new.ledger", *words)
    released = run("release", "panel.csv", *words, "--count", *BY)
    assert made.exit_code == released.exit_code != 0 and made.stderr == released.stderr
    assert made.stderr.startswith(code) and not Path("new.ledger").exists()


def test_a_ledger_for_another_unit_names_both() -> None:
    assert run("ledger", "create", "panel.ledger", *UNIT, "--epsilon", "3").exit_code == 0
    words = ("release", "panel.csv", "--relation", "replace-one", "--count", *BY, "--epsilon", "1")
    refused = run(*words, "--unit", "person:2", "--ledger", "panel.ledger")
    assert refused.exit_code != 0 and refused.stderr.startswith("HG309: ")
    assert all(f"person, at most {rows} rows" in refused.stderr for rows in (2, 3))
    assert run(*words, "--unit", "person:3", "--ledger", "panel.ledger").exit_code == 0
