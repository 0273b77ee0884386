"""`hedgerow verify`: exit 0 where a record holds, 5 where it does not, and both said in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import certify
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.multicalibration.calibrated_model import BaseOrigin

CERTIFICATE = certify(
    GeometricCounts(2.0, 3), Relation.ADD_REMOVE, unit="row", delta=1e-6, assumptions=["sex: no source given"]
)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "certificate.json"
    path.write_text(CERTIFICATE.to_json(), encoding="utf-8")
    return path


def test_a_record_that_holds(record: Path) -> None:
    shown = run(record)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"HOLDS: ε ≤ {CERTIFICATE.epsilon:.6g} at δ = 1e-06, add-remove, unit row\n")
    for said in ("5 of 5 stated prices hold", "Who is protected", "Against whom", "What this rests on"):
        assert said in shown.stdout
    assert (
        "  sex: no source given\n" in shown.stdout
        and "guesses right at most" in shown.stdout
        and "?" not in shown.stdout
    )
    told = json.loads(run(record, "--json").stdout)
    assert "What a record cannot show about itself" in shown.stdout and told["not_checked"]
    assert told["holds"] is True and told["mechanism"] == {"type": "geometric", "scale": 2.0, "cells": 3}


def test_a_record_that_does_not_hold(record: Path) -> None:
    record.write_text(json.dumps({**CERTIFICATE.to_dict(), "epsilon": 0.1}), encoding="utf-8")
    shown, told = run(record), run(record, "--json")
    assert (shown.exit_code, told.exit_code) == (5, 5)
    assert shown.stdout.startswith("DOES NOT HOLD") and "4 of 5 stated prices hold" in shown.stdout
    assert json.loads(told.stdout)["stated"]["holds"] is False
    assert shown.stderr.startswith("HG501: ") and "1 of 5 do not." in shown.stderr


def test_what_a_record_takes_back_stands_beside_its_verdict(tmp_path: Path) -> None:
    """A base model that was fitted by consent on the same records is in no price, however well that price holds."""
    folder = {origin: tmp_path / f"{origin.name}.json" for origin in BaseOrigin}
    for origin, path in folder.items():
        made = certify(
            GeometricCounts(2.0, 8), Relation.ADD_REMOVE, unit="row", delta=0.0, assumptions=[origin.value, "other"]
        )
        path.write_text(made.to_json(), encoding="utf-8")
        shown, told = run(path), json.loads(run(path, "--json").stdout)
        taken_back = origin is BaseOrigin.UNPROTECTED
        assert shown.exit_code == 0 and told["holds"] is True
        assert told["not_protected"] == ([origin.value] if taken_back else [])
        first = shown.stdout.splitlines()[0]
        assert ("THE BASE MODEL IS NOT PROTECTED" in first) == taken_back == ("no ε holds" in shown.stdout)
        assert first.startswith("HOLDS FOR THE CALIBRATION ALONE" if taken_back else "HOLDS: ε ≤")
        path.write_text(json.dumps({**made.to_dict(), "epsilon": 0.001}), encoding="utf-8")
        assert run(path).stdout.startswith("DOES NOT HOLD: ")


@pytest.mark.parametrize(("text", "code", "exit_code"), [("{}", "HG502", 5), (None, "HG503", 2)])
def test_what_is_no_record(tmp_path: Path, text: str | None, code: str, exit_code: int) -> None:
    if text is not None:
        (tmp_path / "file").write_text(text)
    shown = run(tmp_path / "file")
    assert (shown.exit_code, shown.stdout) == (exit_code, "") and shown.stderr.startswith(f"{code}: ")


def test_control_codes_in_a_record_steer_no_terminal(record: Path) -> None:
    altered = {
        **CERTIFICATE.to_dict(),
        "unit": "row\x1b[31m",
        "assumptions": ["a\x1b[2Jb\u202ec"],
        "versions": {"\x1bv": "1"},
    }
    record.write_text(json.dumps(altered), encoding="utf-8")
    shown = run(record)
    assert shown.exit_code == 0 and not any(sign in shown.stdout for sign in ("\x1b", "\u202e"))
