"""`hedgerow audit`: fields, exit codes, the page, and quiet when nobody watches."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow.audit.verdict
import hedgerow.cli.verbs.pricing
from hedgerow.accounting.profile import PureProfile
from hedgerow.cli.main import app

FIELDS = ["mechanism", "relation", "delta", "epsilon_upper", "epsilon_lower", "confidence", "runs", "passes"]
GEOMETRIC = ["--mechanism", "geometric", "--relation", "add-remove", "--noise-sd", "1.5", "--runs", "5000"]
GAUSSIAN = ["--mechanism", "gaussian", "--relation", "replace-one", "--mu", "1", "--runs", "5000"]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["audit", *arguments])


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "geometric", "moments"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_json_has_the_fields_of_the_contract(mechanism: str, relation: str) -> None:
    result = run("--mechanism", mechanism, "--relation", relation, "--epsilon", "1", "--runs", "5000", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    assert list(record)[: len(FIELDS)] == FIELDS
    assert record["passes"] is True and record["runs"] == 5000 and record["confidence"] == 0.999
    assert 0.0 <= record["epsilon_lower"] <= record["epsilon_upper"] <= 1.0


def test_a_false_claim_exits_with_5_and_still_prints_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hedgerow.audit.verdict, "profile_of", lambda mechanism, relation: PureProfile(0.1))
    result = run(*GEOMETRIC, "--json")
    record = json.loads(result.stdout)
    assert result.exit_code == 5 and json.loads(result.stderr)["error"]["code"] == "HG522"
    assert record["passes"] is False and record["epsilon_lower"] > record["epsilon_upper"]
    assert "FAILS" in run(*GEOMETRIC).stdout


def test_the_text_names_both_bounds() -> None:
    text = run(*GAUSSIAN).stdout
    assert "ε ≤ 4.88" in text and "ε ≥ " in text and "passes" in text and "99.9 %" in text


def test_the_page_stands_alone(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    assert run(*GAUSSIAN, "--report", str(page)).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2 and "default-src 'none'" in text
    # The record for machines is data, as on the page of a release: nothing of the page is run.
    assert re.findall(r"<script[^>]*>", text) == ['<script type="application/json" id="record">']
    assert not re.search(r'(?:href|src)="(?!#)', text) and "@import" not in text and "url(http" not in text
    for words in ("half noise", "textbook NumPy Laplace", "ε at least", "Passed"):
        assert words in text
    again = run(*GAUSSIAN, "--report", str(page))
    assert (again.exit_code, again.stdout) == (2, "") and again.stderr.startswith("HG523: ")


BAD = {
    "too few runs": ([*GAUSSIAN[:-1], "5"], "HG521", 2),
    "too many runs": ([*GAUSSIAN[:-1], "1000000000000"], "HG521", 2),
    "no relation": (["--mechanism", "gaussian", "--mu", "1"], "HG103", 2),
    "an option without a mechanism": (["--mu", "1"], "HG124", 2),
    "unknown mechanism": (["--mechanism", "magic", "--relation", "replace-one", "--mu", "1"], "HG124", 2),
    "a page that is no page": ([*GAUSSIAN, "--report", "audit.txt"], "HG523", 2),
    "a page in no folder": ([*GAUSSIAN, "--report", "nowhere/at/all/audit.html"], "HG523", 2),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_drawn(name: str) -> None:
    arguments, code, exit_code = BAD[name]
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert result.stderr.startswith(f"{code}: ") and f"hedgerow explain {code}" in result.stderr
