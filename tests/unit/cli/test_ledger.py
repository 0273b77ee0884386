"""`hedgerow ledger` and `release --ledger`."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hedgerow.cli.main import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n" + "30,0\n50,1\n" * 300)
    return path


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "people.ledger"
    made = run("ledger", "create", path, "--dataset", "people", "--epsilon", "1", "--relation", "replace-one")
    assert made.exit_code == 0 and "left 1" in made.stdout
    return path


def release(survey: Path, kept: Path, *more: str, epsilon: str = "0.4") -> Result:
    asked = ["--relation", "replace-one", "--mean", "age:0:100:1", "--epsilon", epsilon, "--ledger", kept]
    return run("release", survey, *asked, *more)


def test_a_release_is_entered_shown_and_verified(survey: Path, kept: Path) -> None:
    assert release(survey, kept, "--request-id", "q1").exit_code == 0
    shown = json.loads(run("ledger", "show", kept, "--json").stdout)
    assert shown["entries"][0]["request_id"] == "q1" and 0.39 < shown["spent"] <= 0.4
    head = shown["head"]
    assert release(survey, kept).exit_code == 0
    assert run("ledger", "verify", kept, "--head", head).exit_code == 0
    assert json.loads(run("ledger", "verify", kept, "--json").stdout)["holds"] is True
    assert "q1" in run("ledger", "show", kept).stdout


def test_the_same_request_is_printed_again_byte_for_byte(survey: Path, kept: Path) -> None:
    first = release(survey, kept, "--request-id", "q1", "--json")
    again = release(survey, kept, "--request-id", "q1", "--json")
    # A replay says that it is one, after everything that was printed before.
    assert again.stdout == first.stdout.removesuffix("\n}\n") + ',\n  "replayed": true\n}\n'
    assert len(json.loads(run("ledger", "show", kept, "--json").stdout)["entries"]) == 1


def test_a_command_that_spends_says_what_is_left(survey: Path, kept: Path) -> None:
    said = release(survey, kept, "--request-id", "q1").stderr
    assert re.search(r"^Ledger people\.ledger: ε ≤ 0\.39\d* of 1 is spent in all, and 0\.60\d* is left\.$", said, re.M)
    assert release(survey, kept, "--request-id", "q2", "--quiet").stderr == ""
    told = [json.loads(line) for line in release(survey, kept, "--json", epsilon="0.1").stderr.splitlines()]
    assert sum("is spent in all" in line.get("note", "") for line in told) == 1


def test_a_replay_and_a_refusal_do_not_say_that_they_spent(survey: Path, kept: Path) -> None:
    assert "nothing new" not in release(survey, kept, "--request-id", "q1").stderr
    again = release(survey, kept, "--request-id", "q1").stderr
    assert "nothing new was spent; ε ≤ 0.39" in again and "and 0.60" in again
    assert "in all" not in release(survey, kept, epsilon="0.9").stderr
    without = run("release", survey, "--relation", "replace-one", "--count", "--by", "sex=0,1", "--epsilon", "1")
    assert without.exit_code == 0 and "Ledger" not in without.stderr


def test_over_budget_is_exit_3_and_prints_nothing(survey: Path, kept: Path) -> None:
    assert release(survey, kept, epsilon="0.9").exit_code == 0
    refused = release(survey, kept, epsilon="0.9")
    assert (refused.exit_code, refused.stdout) == (3, "") and refused.stderr.startswith("HG310")


def test_an_old_copy_put_back_is_noticed_with_a_head(survey: Path, kept: Path) -> None:
    old = kept.read_bytes()
    release(survey, kept)
    head = json.loads(run("ledger", "show", kept, "--json").stdout)["head"]
    kept.write_bytes(old)
    assert run("ledger", "verify", kept).exit_code == 0
    noticed = run("ledger", "verify", kept, "--head", head)
    assert noticed.exit_code == 5 and noticed.stderr.startswith("HG306")


def test_the_head_is_on_the_report_and_prices_from_elsewhere_can_be_entered(
    survey: Path, kept: Path, tmp_path: Path
) -> None:
    assert release(survey, kept, "--out", str(tmp_path / "out")).exit_code == 0
    head = json.loads(run("ledger", "show", kept, "--json").stdout)["head"]
    assert head in (tmp_path / "out" / "report.html").read_text()
    entered = run("ledger", "reserve", kept, tmp_path / "out" / "certificate.json", "--id", "elsewhere", "--json")
    assert entered.exit_code == 0 and json.loads(entered.stdout)["entries"][1]["state"] == "reserved"


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["show", "nosuch.ledger"], "HG301", 2),
        (["create", "new.ledger", "--relation", "replace-one"], "HG101", 2),
        (["create", "new.ledger", "--epsilon", "1"], "HG103", 2),
        (["create", "nosuch/new.ledger", "--epsilon", "1", "--relation", "replace-one"], "HG302", 2),
    ],
)
def test_bad_input(
    arguments: list[str], code: str, exit_code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("ledger", *arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "") and result.stderr.startswith(code)
    assert not list(tmp_path.iterdir())


def test_a_ledger_is_not_made_over_anything(kept: Path) -> None:
    before = kept.read_bytes()
    again = run("ledger", "create", kept, "--epsilon", "1", "--relation", "replace-one")
    assert again.exit_code == 2 and again.stderr.startswith("HG302") and kept.read_bytes() == before


def test_a_plan_says_what_would_be_left_of_the_ledger(survey: Path, kept: Path) -> None:
    asked = ["--relation", "replace-one", "--mean", "age:0:100:1", "--epsilon", "0.4", "--ledger", kept]
    before = json.loads(run("plan", survey, *asked, "--json").stdout)["budget"]
    assert before["spent"] == 0.0 and before["enough"] and 0.59 < before["left"] <= 0.601
    assert release(survey, kept, epsilon="0.9").exit_code == 0
    after = json.loads(run("plan", survey, *asked, "--json").stdout)["budget"]
    assert after["spent"] > 0.89 and after["left"] < before["left"] - 0.3
    assert "spent before" in run("plan", survey, *asked).stdout
    assert len(json.loads(run("ledger", "show", kept, "--json").stdout)["entries"]) == 1, "a plan enters nothing"


PERSONS = ("--dataset", "people", "--epsilon", "1", "--relation", "replace-one")


def test_a_ledger_for_persons_takes_the_unit_as_a_release_does(tmp_path: Path) -> None:
    people, path = tmp_path / "people.csv", tmp_path / "persons.ledger"
    people.write_text("id,age\n" + "".join(f"{place // 2},{30 + place % 2}\n" for place in range(600)))
    assert "unit id, at most 2 rows" in run("ledger", "create", path, *PERSONS, "--unit", "id:2").stdout
    assert release(people, path, "--unit", "id:2").exit_code == 0
    # A mismatch prints both sides.
    refused = release(people, path, "--unit", "id:3")
    assert refused.exit_code == 2 and "HG309" in refused.output
    assert "'id, at most 2 rows'" in refused.output and "'id, at most 3 rows'" in refused.output
    assert "'id, at most 2 rows'" in release(people, path).output


def test_a_ledger_refuses_units_that_a_release_refuses(survey: Path, tmp_path: Path) -> None:
    for place, unit in enumerate(["banana:nonsense", "banana", "id, at most 5 rows", "id:0", "id:13", ":4"]):
        created = run("ledger", "create", tmp_path / f"{place}.ledger", *PERSONS, "--unit", unit)
        asked = run("release", survey, "--relation", "replace-one", "--count", "--epsilon", "1", "--unit", unit)
        assert created.exit_code == asked.exit_code != 0 and not (tmp_path / f"{place}.ledger").exists()
        assert created.output.split("\n")[0] == asked.output.split("\n")[0], unit
