"""What a ledger's record answers says so, in Python and on the command line; the record itself stays as it is."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.result import REPLAYED
from hedgerow.testset import TestSet


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{20 + place % 60},{place % 2},{(place % 10) / 10}\n" for place in range(1000))
    (tmp_path / "s.csv").write_text("age,sex,p\n" + rows)
    Ledger.create(tmp_path / "l", dataset="d", budget=Budget(10.0, 1e-5), relation="replace-one", unit="row").close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened() -> hg.Survey:
    return hg.open("s.csv", relation="replace-one", ledger="l")


def test_a_release_says_that_it_is_replayed(folder: Path) -> None:
    one, two = (opened().mean("age", bounds=(0, 100), epsilon=1.0, request_id="a") for _ in range(2))
    assert (one.replayed, two.replayed) == (False, True)
    assert REPLAYED in str(two) and REPLAYED not in str(one) and REPLAYED in unescape(two._repr_html_())
    assert "replayed" in repr(two) and "replayed" not in repr(one)
    assert one.to_json() == two.to_json()


def test_a_table_says_that_it_is_replayed(folder: Path) -> None:
    one, two = (opened().contingency_table(by={"sex": [0, 1]}, epsilon=1.0, request_id="a") for _ in range(2))
    assert (one.replayed, two.replayed, two.with_margins().rounded().replayed) == (False, True, True)
    assert REPLAYED in str(two) and REPLAYED not in str(one)
    assert "replayed" in repr(two) and "replayed" not in repr(one)
    assert one.to_json() == two.to_json()


def test_a_score_says_that_it_is_replayed(folder: Path) -> None:
    y = [0, 1] * 500
    tests = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=2, ledger="t")
    one, two = (tests.score(y, request_id="a") for _ in range(2))
    tests.close()
    assert (one.replayed, two.replayed) == (False, True)
    assert "replayed" in repr(two) and "replayed" not in repr(one)


COMMANDS = {
    "release": "release s.csv --mean age:0:100:1 --request-id a --relation replace-one --ledger l --epsilon 1",
    "table": "table s.csv --count --by sex=0,1 --request-id a --relation replace-one --ledger l --epsilon 1",
    "multicalibrate": "multicalibrate s.csv --label sex --score p --epsilon 1 --relation replace-one --ledger l "
    "--request-id a --out m.json",
}


def run(command: str, *more: str) -> Any:
    result = CliRunner().invoke(app, [*command.split(), *more])
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_says_that_it_is_replayed(verb: str, folder: Path) -> None:
    first, second = run(COMMANDS[verb]), run(COMMANDS[verb])
    said, balance = second.stderr.splitlines()
    assert REPLAYED not in first.stderr and said == REPLAYED
    assert balance.startswith("Ledger l: nothing new was spent; ") and "nothing new was spent" not in first.stderr
    assert first.stdout == second.stdout
    third = run(COMMANDS[verb], "--json")
    assert json.loads(third.stdout)["replayed"] is True and REPLAYED not in third.stdout


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_first_answer_has_no_such_field(verb: str, folder: Path) -> None:
    assert "replayed" not in json.loads(run(COMMANDS[verb], "--json").stdout)


def test_a_large_table_says_it_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hedgerow.cli.verbs.releasing as module

    small = json.loads(run(COMMANDS["table"], "--json").stdout)
    monkeypatch.setattr(module, "_LARGE", 0)
    assert json.loads(run(COMMANDS["table"], "--json").stdout) == small | {"replayed": True}
