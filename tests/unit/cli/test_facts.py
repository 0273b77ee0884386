"""`hedgerow init`, `schema`, `plan` and `release --facts`: from names to a release, and every refusal by its code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import UnitLimit

CANARY = "424242.125"
FACTS = """
relation = "replace-one"
statistics = ["mean", "count", "proportion"]
[data]
path = "survey.csv"
[budget]
epsilon = 2.0
[columns.age]
bounds = [0, 100]
step = 1
source = "codebook p. 12"
[columns.sex]
categories = [0, 1]
[[release]]
name = "ages"
statistics = [{ statistic = "mean", column = "age" }, { statistic = "count" }]
by = ["sex"]
epsilon = 0.5
[[release]]
statistics = [{ statistic = "proportion", column = "sex", value = 1 }]
epsilon = 0.25
"""
runner = CliRunner()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(20)
    rows = [f"{age},{sex}" for age, sex in zip(rng.integers(18, 95, 399), rng.integers(0, 2, 399), strict=True)]
    (tmp_path / "survey.csv").write_text("age,sex\n" + "\n".join([*rows, f"{CANARY},{CANARY}"]) + "\n")
    (tmp_path / "hedgerow.toml").write_text(FACTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> Any:
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_init_writes_names_and_questions_and_no_value(folder: Path) -> None:
    result = run("init", "survey.csv", "--out", "new.toml")
    assert (result.exit_code, result.stderr) == (0, "") and "2 columns" in result.stdout
    text = (folder / "new.toml").read_text()
    assert tomllib.loads(text) == {"data": {"path": "survey.csv"}, "columns": {"age": {}, "sex": {}}}
    assert text.startswith("#:schema ") and "?" in text and CANARY not in text + result.stdout
    refused = run("plan", "--facts", "new.toml", "--count", "--epsilon", "1")
    assert refused.exit_code == 2 and refused.stderr.startswith("HG103: ")


def test_init_points_from_where_the_facts_lie(folder: Path) -> None:
    (folder / "rules").mkdir()
    assert run("init", "survey.csv", "--out", "rules/hedgerow.toml").exit_code == 0
    assert tomllib.loads((folder / "rules/hedgerow.toml").read_text())["data"]["path"] == "../survey.csv"


def test_init_overwrites_nothing(folder: Path) -> None:
    before = (folder / "hedgerow.toml").read_text()
    (folder / "link.toml").symlink_to("nowhere.toml")
    for out in ("hedgerow.toml", "link.toml", "survey.csv", "absent/new.toml", "."):
        result = run("init", "survey.csv", "--out", out)
        assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith("HG119: ")
    assert (folder / "hedgerow.toml").read_text() == before and not (folder / "nowhere.toml").exists()
    assert run("init", "absent.csv", "--out", "x.toml").stderr.startswith("HG201: ")


def test_init_with_answers_plans_at_once(folder: Path) -> None:
    given = ["--relation", "replace-one", "--budget", "2", "--bounds", "age:18:95:1", "--categories", "sex=0,1"]
    assert run("init", "survey.csv", "--out", "new.toml", *given, "--unit", "row", "--target", "file").exit_code == 0
    facts = hg.Facts.read(folder / "new.toml")
    assert (str(facts.relation), str(facts.target), facts.budget) == ("replace-one", "file", Budget(2.0, 1e-6))
    assert facts.column("age").bounds == (18, 95) and facts.column("sex").categories == (0, 1)
    planned = json.loads(run("plan", "--facts", "new.toml", "--json").stdout)
    assert [len(one["expected"]) for one in planned["plans"]] == [2] and planned["plans"][0]["epsilon_upper"] <= 1.0
    age, sex = re.findall(
        r"^\[columns\.\w+\]\n((?:[^\[\n].*\n)*)", text := (folder / "new.toml").read_text(), re.MULTILINE
    )
    for asked in ("bounds", "step"):
        assert f"# {asked} =" not in age and f"\n# {asked} =" in sex, "what was not answered is still a question"
    assert (
        "# categories =" in age and "# categories =" not in sex and "# source =" in age and "# [[release]]" not in text
    )


def test_init_writes_the_unit_that_is_protected(folder: Path) -> None:
    (folder / "panel.csv").write_text("person,wave,income\n1,1,7\n1,2,8\n")
    result = run("init", "panel.csv", "--out", "new.toml", "--unit", "person:3", "--relation", "replace-one")
    assert result.exit_code == 0, result.stderr
    assert hg.Facts.read(folder / "new.toml").unit == UnitLimit("person", 3)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--bounds", "aeg:0:1"], "HG203"),
        (["--unit", "aeg:3"], "HG203"),
        (["--unit", "age:0"], "HG115"),
        (["--unit", "age:13"], "HG402"),
        (["--bounds", "age:1:0"], "HG105"),
        (["--relation", "replace"], "HG103"),
        (["--unit", "id"], "HG116"),
    ],
)
def test_init_refuses_an_answer_that_cannot_be(folder: Path, given: list[str], code: str) -> None:
    result = run("init", "survey.csv", "--out", "new.toml", *given)
    # What no price is certified for ends with 4.
    assert result.exit_code == (4 if code == "HG402" else 2) and result.stderr.startswith(code), result.stderr
    assert ("Did you mean 'age'?" in result.stderr) == (code == "HG203")
    assert not (folder / "new.toml").exists()


def in_a_terminal(folder: Path, answers: str, *words: str) -> str:
    """Run `hedgerow init` where it may ask, and return what it said."""
    terminal, inside = os.openpty()
    command = [sys.executable, "-m", "hedgerow", "init", "survey.csv", "--out", "asked.toml", *words]
    with subprocess.Popen(command, cwd=folder, stdin=inside, stdout=inside, stderr=inside) as process:
        os.close(inside)
        os.write(terminal, answers.encode())
        said = b""
        # Once the other end is closed, reading it fails.
        with contextlib.suppress(OSError):
            while chunk := os.read(terminal, 65536):
                said += chunk
        assert process.wait(60) == 0, said
    os.close(terminal)
    return said.decode()


def test_init_asks_in_a_terminal(folder: Path) -> None:
    names = (folder / "survey.csv").read_text().split("\n")[0].split(",")
    known = {"age": "95:18\n18:95:1\n", "sex": "0,1\n"}
    said = in_a_terminal(folder, "3\n1\nage:13\nrow\n2\n0\n2\n" + "".join(known.get(name, "\n") for name in names))
    assert all(code in said for code in ("HG103", "HG105", "HG402")), "an answer that cannot be is asked for again"
    facts = hg.Facts.read(folder / "asked.toml")
    assert (str(facts.relation), str(facts.target), facts.budget) == ("replace-one", "file", Budget(2.0, 1e-6))
    assert facts.unit == "row"
    assert run("plan", "--facts", "asked.toml").exit_code == 0


def test_init_asks_nothing_where_it_is_told_not_to(folder: Path) -> None:
    assert "blanks for" in in_a_terminal(folder, "", "--blanks")


def test_init_survives_names_that_mean_to_break_out(folder: Path) -> None:
    header = 'x"]; DROP TABLE l; --,=cmd|calc,[data],a.b,# no,über'
    (folder / "odd.csv").write_text(header.replace('"', "") + "\n1,2,3,4,5,6\n", encoding="utf-8")
    assert run("init", "odd.csv", "--out", "odd.toml").exit_code == 0
    read = tomllib.loads((folder / "odd.toml").read_text(encoding="utf-8"))
    assert list(read["columns"]) == header.replace('"', "").split(",")


def test_schema_prints_json_with_an_id() -> None:
    schema = json.loads(run("schema").stdout)
    assert schema["$id"].startswith("urn:hedgerow:") and schema["additionalProperties"] is False


def test_plan_tells_price_and_errors_of_every_request(folder: Path) -> None:
    result = run("plan", "--facts", "hedgerow.toml", "--guess", "age:mean=50,sd=20")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "ages:" in result.stdout and "release 2:" in result.stdout
    assert "mean of age: mean 50, sd 20." in result.stdout and "share 0.5 (the worst)" in result.stdout
    assert "categories of column sex: no source given" in result.stdout
    assert "Budget: together ε ≤ 0.7" in result.stdout and "would be left" in result.stdout
    assert CANARY not in result.stdout


def test_plan_in_json_holds_what_the_text_says(folder: Path) -> None:
    record = json.loads(run("plan", "--facts", "hedgerow.toml", "--json").stdout)
    first, second = record["plans"]
    assert (first["name"], second["name"], first["n"], first["cells"]) == ("ages", "release 2", 400, 2)
    assert first["epsilon_upper"] <= 0.5 and record["budget"]["price_together"] <= 2
    assert record["budget"]["enough"] is True and record["budget"]["spent"] is None
    mean = first["expected"][0]
    assert mean["method"] == "moments" and mean["reason"] and mean["records"] == 200
    assert mean["half_width"] > mean["standard_error"] > mean["privacy_error"] > 0


def test_plan_needs_no_file_where_n_is_given(folder: Path) -> None:
    (folder / "survey.csv").unlink()
    with_n = run("plan", "--facts", "hedgerow.toml", "--n", "400", "--request", "ages", "--json")
    assert with_n.exit_code == 0 and json.loads(with_n.stdout)["plans"][0]["n"] == 400
    bare = run("plan", "--relation", "add-remove", "--mean", "age:0:100:1", "--epsilon", "1", "--json")
    assert json.loads(bare.stdout)["plans"][0]["expected"][0]["half_width"] is None
    guessed = run("plan", "--relation", "add-remove", "--mean", "age:0:100:1", "--epsilon", "1", "--n", "400", "--json")
    assert json.loads(guessed.stdout)["plans"][0]["expected"][0]["half_width"] > 0
    assert run("plan", "--facts", "hedgerow.toml").stderr.startswith("HG201: ")


def test_plan_is_what_release_then_does(folder: Path) -> None:
    plan = json.loads(run("plan", "--facts", "hedgerow.toml", "--request", "ages", "--json").stdout)["plans"][0]
    release = json.loads(run("release", "--facts", "hedgerow.toml", "--request", "ages", "--json").stdout)
    certificate = release["certificate"]
    assert certificate["mechanism"] == plan["mechanism"] and certificate["epsilon"] == plan["epsilon_upper"]
    assert certificate["assumptions"] == plan["assumptions"] == ["categories of column sex: no source given"]
    assert [one["method"] for one in release["estimates"]] == ["moments"] * 2 + [plan["expected"][1]["method"]] * 2


def test_the_way_back_finds_the_price_of_a_target(folder: Path) -> None:
    options = ["--facts", "hedgerow.toml", "--mean", "age", "--guess", "age:mean=50,sd=20"]
    told = run("plan", *options, "--target-se", "age:1.5")
    assert told.exit_code == 0 and told.stdout.startswith("The target needs ε = ")
    aimed = json.loads(run("plan", *options, "--target-rse", "age:0.03", "--json").stdout)["plans"][0]
    assert aimed["from_target"] is True and 1.4 < aimed["expected"][0]["standard_error"] <= 1.5


def test_a_plan_that_would_waste_budget_says_so(folder: Path) -> None:
    options = ["--relation", "replace-one", "--n", "100", "--mean", "age:0:100:1", "--epsilon", "0.05"]
    assert "WASTE: mean of age" in run("plan", *options).stdout
    assert "WASTE" not in run("plan", *options[:-1], "5", "--guess", "age:mean=50,sd=20").stdout


def test_a_plan_over_the_budget_says_so_and_a_release_is_refused(folder: Path) -> None:
    plan = run("plan", "--facts", "hedgerow.toml", "--mean", "age", "--epsilon", "3")
    assert plan.exit_code == 0 and "this costs more than there is" in plan.stdout
    release = run("release", "--facts", "hedgerow.toml", "--mean", "age", "--epsilon", "3")
    assert (release.exit_code, release.stdout) == (3, "") and release.stderr.startswith("HG706: ")


def test_release_takes_source_bounds_and_categories_from_the_facts(folder: Path) -> None:
    options = ["--facts", "hedgerow.toml", "--mean", "age", "--by", "sex", "--epsilon", "1", "--json"]
    record = json.loads(run("release", *options).stdout)
    assert record["release"]["source"] == os.fspath(folder / "survey.csv") and len(record["estimates"]) == 2
    overridden = json.loads(run("release", *options, "--relation", "add-remove", "--target", "file").stdout)
    assert overridden["release"]["relation"] == "add-remove" and overridden["release"]["target"] == "file"
    assert len(overridden["certificate"]["assumptions"]) == 3


BAD: dict[str, tuple[list[str], str, int]] = {
    "no such facts": (["--facts", "absent.toml", "--count"], "HG701", 2),
    "facts that are a folder": (["--facts", ".", "--count"], "HG701", 2),
    "facts that are data": (["--facts", "survey.csv", "--count"], "HG701", 2),
    "a forbidden statistic": (["--facts", "hedgerow.toml", "--sum", "age"], "HG704", 4),
    "no such request": (["--facts", "hedgerow.toml", "--request", "wages"], "HG703", 2),
    "a request without facts": (["survey.csv", "--relation", "replace-one", "--request", "ages"], "HG703", 2),
    "a request and a statistic": (["--facts", "hedgerow.toml", "--request", "ages", "--count"], "HG116", 2),
    "bounds from nowhere": (["--facts", "hedgerow.toml", "--mean", "sex"], "HG104", 2),
    "categories from nowhere": (["--facts", "hedgerow.toml", "--count", "--by", "age"], "HG111", 2),
    "a group with an empty list": (["--facts", "hedgerow.toml", "--count", "--by", "sex="], "HG111", 2),
}
PLAN_ONLY: dict[str, tuple[list[str], str]] = {
    "no n": (["--relation", "replace-one", "--mean", "age:0:100"], "HG703"),
    "n of 0": (["--relation", "replace-one", "--n", "0", "--mean", "age:0:100"], "HG707"),
    "nothing asked": (["--relation", "replace-one", "--n", "9"], "HG112"),
    "no relation": (["--n", "9", "--mean", "age:0:100"], "HG103"),
    "a guess in words": (["--facts", "hedgerow.toml", "--guess", "age:sd=wide"], "HG116"),
    "a guess of nothing": (["--facts", "hedgerow.toml", "--guess", "sd=3"], "HG116"),
    "an unknown guess": (["--facts", "hedgerow.toml", "--guess", "age:spread=3"], "HG707"),
    "an impossible guess": (["--facts", "hedgerow.toml", "--guess", "age:sd=60"], "HG707"),
    "a target in words": (["--facts", "hedgerow.toml", "--target-se", "age:low"], "HG116"),
    "a target of 0": (["--facts", "hedgerow.toml", "--target-se", "age:0"], "HG116"),
    "a target of many": (["--facts", "hedgerow.toml", "--target-se", "age:1"], "HG116"),
    "a target of another": (["--facts", "hedgerow.toml", "--mean", "age", "--target-se", "wage:1"], "HG707"),
    "a target without n": (["--relation", "add-remove", "--mean", "age:0:100", "--target-se", "age:1"], "HG707"),
    "a target beyond reach": (["--facts", "hedgerow.toml", "--mean", "age", "--target-se", "age:0.01"], "HG708"),
    "level in percent": (["--facts", "hedgerow.toml", "--level", "95"], "HG110"),
}


@pytest.mark.parametrize("verb", ["plan", "release"])
@pytest.mark.parametrize("name", BAD)
def test_bad_facts_are_refused_before_anything_is_read(verb: str, name: str, folder: Path) -> None:
    arguments, code, exit_code = BAD[name]
    result = run(verb, *arguments, "--epsilon", "1")
    assert (result.exit_code, result.stdout) == (exit_code, ""), result.stderr
    assert result.stderr.startswith(f"{code}: ") and CANARY not in result.stderr


@pytest.mark.parametrize("name", PLAN_ONLY)
def test_bad_plans_are_refused(name: str, folder: Path) -> None:
    arguments, code = PLAN_ONLY[name]
    target = any(argument.startswith("--target-") for argument in arguments)
    result = run("plan", *arguments, *([] if target else ["--epsilon", "1"]))
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    assert result.stderr.startswith(f"{code}: "), result.stderr


def test_a_facts_file_that_does_not_fit_is_refused_by_field(folder: Path) -> None:
    (folder / "wrong.toml").write_text(FACTS.replace("step = 1", "stepp = 1"))
    result = run("release", "--facts", "wrong.toml", "--mean", "age", "--epsilon", "1")
    assert result.exit_code == 2 and result.stderr.startswith("HG702: ") and "columns.age.stepp" in result.stderr
