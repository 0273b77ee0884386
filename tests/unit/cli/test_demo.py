"""`hedgerow demo`: the main job from end to end, beside the truth."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.demo import CALLS, RECORDS, draw_survey
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.publication.folder import FILES


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    out = tmp_path_factory.mktemp("demo") / "out"
    return run("demo", "--out", out), out


def test_it_prints_estimates_errors_intervals_and_the_truth(demo: tuple[Any, Path]) -> None:
    result, out = demo
    assert (result.exit_code, result.stderr) == (0, "")
    header = next(line for line in result.stdout.splitlines() if line.startswith("statistic"))
    for heading in ("cell", "estimate", "s.e.", "sampling", "privacy", "95 % interval", "true value"):
        assert heading in header
    assert f"Written to {out}" in result.stdout and "intervals cover the true value" in result.stdout
    assert f"hedgerow release {out}/survey.csv" in result.stdout and "noise is fresh" in result.stdout


def test_its_folder_holds_the_survey_and_a_release_with_one_certificate(demo: tuple[Any, Path]) -> None:
    _, out = demo
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "survey.csv"])
    certificate = Certificate.from_json((out / "certificate.json").read_text(encoding="utf-8"))
    certificate.verify()
    # Composed exactly, the calls cost less than the sum of their prices, and no less than the dearest of them.
    assert max(epsilon for _, _, epsilon in CALLS) <= certificate.epsilon < sum(epsilon for _, _, epsilon in CALLS)
    record = json.loads((out / "release.json").read_text(encoding="utf-8"))
    with (out / "estimates.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(record["estimates"])
    assert (out / "survey.csv").read_text(encoding="utf-8") == draw_survey().to_csv()


def test_the_next_command_that_it_names_runs(demo: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = demo
    commands = [line.split() for line in result.stdout.splitlines() if line.startswith("  hedgerow ")]
    assert len(commands) >= 3
    for command in commands:
        answered = run(*command[1:])
        assert (answered.exit_code, answered.stderr) == (0, ""), command


def test_it_runs_again_in_its_own_folder_and_takes_no_other(demo: tuple[Any, Path], tmp_path: Path) -> None:
    first, out = demo
    again = run("demo", "--out", out)
    assert again.exit_code == 0 and again.stdout != first.stdout
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    refused = run("demo", "--out", tmp_path)
    assert (refused.exit_code, refused.stdout) == (2, "") and "HG119" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_survey_has_its_size() -> None:
    assert draw_survey().to_csv().count("\n") == RECORDS + 1
