"""The page of errors: each refusal is what the command says, and what it proposes works when it is typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.demo import draw_survey

PAGE = (Path(__file__).parents[2] / "docs" / "how_to" / "read_an_error.md").read_text(encoding="utf-8")
REFUSED = re.findall(r"^```refused\n\$ hedgerow (.*)\n((?:.*\n)*?)```", PAGE, re.MULTILINE)
MENDED = re.findall(r"^```mended\n\$ hedgerow (.*)\n```", PAGE, re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hedgerow-demo").mkdir()
    (tmp_path / "hedgerow-demo" / "survey.csv").write_text(draw_survey().to_csv())
    monkeypatch.chdir(tmp_path)


def test_the_page_has_eleven_refusals_and_their_remedies() -> None:
    assert len(REFUSED) == 9 and len(MENDED) == 8 and PAGE.count("except hg.") == 3


@pytest.mark.parametrize(("command", "shown"), REFUSED)
def test_a_refusal_is_what_the_command_says(command: str, shown: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr == shown


@pytest.mark.parametrize("command", MENDED)
def test_what_it_proposes_works(command: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.stderr
