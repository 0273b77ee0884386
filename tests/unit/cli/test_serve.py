"""`hedgerow testset serve`, and `score --server`: usage, gate, summary, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.testset.served import PREDICTED, made, serving
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.ledger.store import Ledger


def run(*words: object) -> Any:
    return CliRunner().invoke(app, ["testset", *map(str, words)])


def test_a_score_is_asked_of_a_server_with_gate_and_summary(tmp_path: Path) -> None:
    ledger, page = made(tmp_path), tmp_path / "summary.md"
    (tmp_path / "p.csv").write_text("p\n" + "".join(f"{one}\n" for one in PREDICTED))
    with serving(ledger) as server:
        asked = ["score", tmp_path / "p.csv", "--server", server.address, "--id", "a"]
        missed = run(*asked, "--min", 1, "--summary", page, "--name", "model 1", "--json")
        again = run(*asked, "--summary", page)
        wrong = run(*asked, "--max", 0.5), run(*asked, "--min", 80)
        # No summary is ever added to a ledger; the score arrives all the same.
        kept = run(*asked, "--summary", ledger)
    assert missed.exit_code == 5 and json.loads(missed.stdout)["verdict"] == "missed"
    assert again.exit_code == 0 and "answered from its record" in again.stdout
    assert [one.exit_code for one in wrong] == [2, 2] and all("HG175" in one.stderr for one in wrong)
    assert kept.exit_code == 6 and "HG604" in kept.stderr and "look 1 of 9" in kept.stdout
    text = page.read_text(encoding="utf-8")
    assert text.index("failure") < text.index("neutral") and "`model 1`" in text and "at least 1" in text
    with Ledger.open(ledger) as opened:
        opened.verify()
        assert len(opened.entries()) == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["score", "p.csv"], "HG116"),
        (["score", "p.csv", "--ledger", "ts.ledger", "--server", "unix:///s"], "HG116"),
        (["score", "p.csv", "--server", "unix:///s", "--labels", "y.csv"], "HG116"),
        (["score", "p.csv", "--server", "http://example.org:80"], "HG450"),
        (["serve", "ts.ledger", "--labels", "test.csv", "--socket", "s", "--port", "80"], "HG450"),
        (["serve", "ts.ledger", "--labels", "test.csv", "--access", "everybody"], "HG450"),
        (["serve", "ts.ledger", "--labels", "test.csv", "--rate", "0"], "HG450"),
        (["serve", "ts.ledger", "--labels", "test.csv", "--most-bytes", "0"], "HG450"),
        (["serve", "ts.ledger", "--labels", "test.csv", "--port", "99999"], "HG450"),
        (["serve", "ts.ledger", "--labels", "none.csv"], "HG435"),
        (["serve", "none.ledger", "--labels", "test.csv"], "HG301"),
        (["serve", "ts.ledger", "--labels", "open.csv"], "HG451"),
        (["serve", "ts.ledger", "--labels", "other.csv"], "HG434"),
    ],
)
def test_what_cannot_be_served_or_asked_is_refused(
    words: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = Path("test.csv").read_text()
    for name, mode, held in (("open.csv", 0o644, text), ("other.csv", 0o600, text.replace("1", "0"))):
        Path(name).write_text(held)
        Path(name).chmod(mode)
    result = run(*words)
    assert result.exit_code == 2 and result.stderr.startswith(f"{code}:"), result.stderr
    assert str(tmp_path) not in result.stderr and result.stdout == ""
    assert not Path("ts.ledger.socket").exists()
