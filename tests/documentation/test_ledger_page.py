"""docs/how_to/ledgers.md: its commands run in order, and the ledger then holds what the page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "how_to" / "ledgers.md").read_text(encoding="utf-8")


def test_the_commands_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.demo import draw_survey

    (tmp_path / "hedgerow-demo").mkdir()
    (tmp_path / "hedgerow-demo" / "survey.csv").write_text(draw_survey().to_csv())
    monkeypatch.chdir(tmp_path)
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    done, head = [], ""
    for command in commands.splitlines():
        result = CliRunner().invoke(app, shlex.split(command.replace("HEAD", head))[1:])
        done.append((result.exit_code, result.stdout + result.stderr))
        if result.exit_code == 0:
            head = json.loads(CliRunner().invoke(app, ["ledger", "show", "survey.ledger", "--json"]).stdout)["head"]
    assert [code for code, _ in done] == [0, 0, 0, 3, 0, 0]
    assert re.search(r"spent ε ≤ (0\.\d+|1) of 1\.5; left 0\.5", done[2][1]) and "HG310" in done[3][1]
    assert all("The chain and its totals hold." in said for _, said in done[4:])
