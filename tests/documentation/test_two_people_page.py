"""docs/how_to/two_people.md: its commands, six at most, lead from keys to a release, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "how_to" / "two_people.md").read_text(encoding="utf-8")
LOCKED = ("keys", "approve")


def test_the_commands_lead_to_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.demo import draw_survey

    (tmp_path / "hedgerow-demo").mkdir()
    (tmp_path / "hedgerow-demo" / "survey.csv").write_text(draw_survey().to_csv())
    (tmp_path / "passphrase").write_text("correct horse")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    commands = "".join(blocks).replace("\\\n", " ").splitlines()
    assert len(commands) == 6
    for command in commands:
        _, *words = shlex.split(command)
        # A reader types the passphrase.
        locked = ["--passphrase-file", "passphrase"] if words[0] in LOCKED else []
        result = CliRunner().invoke(app, [*words, *locked])
        assert result.exit_code == 0, (command, result.output)
    assert (tmp_path / "march" / "report.html").exists()
    shown = CliRunner().invoke(app, ["ledger", "show", "survey.ledger"]).stdout
    assert "asked by bob for: monthly report; approved by ada" in shown


def test_every_code_of_the_page_is_tried() -> None:
    tried = (Path(__file__).parents[1] / "unit" / "approval" / "test_hostile.py").read_text(encoding="utf-8")
    codes = set(re.findall(r"HG\d{3}", PAGE))
    assert len(codes) >= 8 and all(code in tried for code in codes)
