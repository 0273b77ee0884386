"""docs/how_to/facts.md: the facts that it shows are facts, and the commands beside them run on them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "how_to" / "facts.md").read_text(encoding="utf-8")


def test_the_facts_shown_are_planned_and_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.demo import draw_survey

    (tmp_path / "hedgerow-demo").mkdir()
    (tmp_path / "hedgerow-demo" / "survey.csv").write_text(draw_survey().to_csv())
    (facts,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "hedgerow.toml").write_text(facts, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    commands = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(commands) == 3
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert (result.exit_code, result.stderr) == (0, ""), command
        assert "bounds of column income: no source given" in result.stdout or command.startswith("hedgerow release")
