"""Two approvers, a stranger, data, ledgers and a request: made once, copied for each test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hedgerow.cli.main import app
from hedgerow.ledger.store import Ledger

PASSPHRASE = "correct horse"
ASKED = ["--asked-by", "bob", "--purpose", "monthly report", "--until", "2999-12-31"]
COUNT = ["--count", "--by", "sex=0,1", "--relation", "add-remove", "--epsilon", "0.4"]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def done(*words: object) -> str:
    shown = run(*words)
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def request(*words: object, out: str = "request.json", asked: list[str] | None = None) -> dict[str, Any]:
    number = () if "--n" in words else ("--n", "600")
    done("request", *words, *number, *(ASKED if asked is None else asked), "--out", out, "--force")
    made: dict[str, Any] = json.loads(Path(out).read_text())
    return made


def decided(
    verb: str, path: str, out: str, *, by: str = "ada", ledger: str = "L", more: tuple[str, ...] = ()
) -> Result:
    key = ["--key", f"{by}.key", "--passphrase-file", "passphrase"]
    return run(verb, path, "--by", by, *key, "--ledger", ledger, "--out", out, "--force", *more)


def edited(path: str, change: Callable[[dict[str, Any]], Any]) -> str:
    """Write a file again after a change of its JSON data, and return its path."""
    record = json.loads(Path(path).read_text())
    change(record)
    Path(path).write_text(json.dumps(record))
    return path


def release(path: str = "approved.json", *more: str, ledger: str = "L") -> Result:
    return run("release", "people.csv", "--request", path, "--ledger", ledger, *more)


def spent(ledger: str = "L") -> tuple[float, int]:
    with Ledger.open(ledger) as opened:
        return opened.spent(), len(opened.entries())


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two_people")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("people.csv").write_text("age,sex\n" + "30,0\n50,1\n" * 300)
        Path("passphrase").write_text(PASSPHRASE)
        for name in ("ada", "bea", "eve"):
            done("keys", "create", name, "--passphrase-file", "passphrase")
        Path("approvers").write_text(Path("ada.pub").read_text() + Path("bea.pub").read_text())
        new = ["--epsilon", "1", "--relation", "add-remove"]
        done("ledger", "create", "L", *new, "--approvers", "approvers")
        done("ledger", "create", "two", *new, "--approvers", "approvers", "--signatures", "2")
        done("ledger", "create", "open", *new)
        request("release", *COUNT)
        assert decided("approve", "request.json", "approved.json").exit_code == 0
    return folder


@pytest.fixture
def desk(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all of it, which the test may change."""
    place = tmp_path / "desk"
    shutil.copytree(made, place)
    monkeypatch.chdir(place)
    return place
