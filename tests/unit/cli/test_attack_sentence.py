"""How often an attacker guesses right: a plan, a release and its report say it in the same sentence."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app

ASKED = ["--mean", "age:0:100:1", "--epsilon", "1"]


def sentence(text: str) -> str:
    """Return the sentence in a text, its words one space apart."""
    plain = " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())
    return re.findall(r"Someone who knows every other record.*?release\.", plain)[0]


@pytest.mark.parametrize(("relation", "asked"), [("replace-one", "one row says"), ("add-remove", "is in the data")])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_plan_a_release_and_its_report_say_the_same(tmp_path: Path, relation: str, asked: str, noise: str) -> None:
    data = tmp_path / "people.csv"
    data.write_text("age\n" + "40\n60\n" * 500)
    words = [str(data), "--relation", relation, "--noise", noise, *ASKED]
    planned = CliRunner().invoke(app, ["plan", *words])
    released = CliRunner().invoke(app, ["release", *words, "--out", str(tmp_path / "out")])
    assert (planned.exit_code, released.exit_code) == (0, 0)
    said = sentence(planned.stdout)
    assert asked in said and re.search(r"right at most (\d+) %", said)
    assert sentence(released.stdout) == said
    assert sentence((tmp_path / "out" / "report.html").read_text(encoding="utf-8")) == said
    # The sentence follows the noise, not ε alone: Gaussian noise at this ε and δ leaves less.
    assert ("at most 74 %" in said) == (noise == "laplace")
