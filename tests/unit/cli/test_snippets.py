"""What `plan` prints as Python and as a command makes the release that was planned, at its price."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.demo import draw_survey
from hedgerow.statistics.registry import entries

HEAD = ["people.csv", "--relation", "replace-one"]
ASKED = {
    "mean": ["age:18:95:1"],
    "sum": ["income:0:200000"],
    "proportion": ["employed=1"],
    "count": [],
    "variance": ["age:18:95:1"],
    "standard_deviation": ["age:18:95:1"],
    "quantile": ["income:0.1,0.5:0:200000:200"],
    "ratio": ["income:0:200000/household:1:8"],
    "covariance": ["age:18:95/income:0:200000"],
    "correlation": ["age:18:95/income:0:200000"],
    "share_below": ["income:12000:0:200000:200"],
    "cdf": ["income:12000,15000:0:200000:200"],
    "gini": ["income:0:200000:200"],
    "lorenz": ["income:0.5:0:200000:200"],
    "histogram": ["income:0,10000,200000:0:200000:200"],
    "survival": ["age/employed=1:40,60"],
}
FURTHER = {
    "groups, labels and a subset": [
        *("--mean", "age:18:95:1", "--count", "--by", "sex=0,1", "--labels", "sex=men,women"),
        *("--where", "age >= 20 and region in ['North', \"East\"]", "--epsilon", "1", "--noise", "gaussian"),
    ],
    "bands": ["--mean", "income:0:200000:200", "--by", "age=18..40..95", "--rho", "0.1", "--delta", "1e-7"],
    "a computed column": ["--mean", "(income / household):0:200000:100", "--epsilon", "1", "--missing", "midpoint"],
    "weights": ["--mean", "age:18:95:1", "--weights", "household:8", "--epsilon", "2"],
    "a target": ["--mean", "age:18:95:1", "--target-se", "age:2"],
    "shares": ["--mean", "age:18:95:1", "--mean", "income:0:200000:200", "--share", "1,3", "--epsilon", "1"],
    "the bootstrap": ["--mean", "age:18:95:1", "--estimator", "bootstrap", "--n-resamples", "8", "--epsilon", "3"],
}
CASES = {
    **{kind: [f"--{kind.replace('_', '-')}", *given, "--epsilon", "1"] for kind, given in ASKED.items()},
    **FURTHER,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = draw_survey().to_csv().splitlines()[:801]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def made_by(program: str) -> hg.Release:
    names: dict[str, Any] = {}
    exec(program, names)
    return names["release"]


def mechanism(release: Any) -> Any:
    return json.loads(json.dumps(release["certificate"]["mechanism"]))


def test_every_statistic_of_the_command_line_is_tried() -> None:
    assert set(ASKED) == {kind for kind, entry in entries().items() if entry.in_files}


QUICK = ("quantile", "covariance", "groups, labels and a subset", "bands", "a computed column", "a target")
TRIED = [case if case in QUICK else pytest.param(case, marks=pytest.mark.long) for case in CASES]


@pytest.mark.parametrize("case", TRIED)
def test_the_program_and_the_command_make_what_was_planned(case: str, folder: Path) -> None:
    words = [*HEAD, *CASES[case]]
    (planned,) = json.loads(run("plan", *words, "--json"))["plans"]
    release = made_by(run("plan", *words, "--as-python"))
    command = shlex.split(run("plan", *words, "--as-shell"))
    assert command[:2] == ["hedgerow", "release"]
    again = json.loads(run(*command[1:], "--json"))
    assert mechanism(release.to_dict()) == mechanism(again)
    assert release.certificate is not None and release.certificate.epsilon >= planned["epsilon_upper"]
    assert release.certificate.epsilon == pytest.approx(planned["epsilon_upper"], rel=1e-4)
    assert [(one.statistic, one.column, dict(one.cell), dict(one.labels)) for one in release] == [
        (one["statistic"], one["column"], one["cell"], one.get("labels", {})) for one in again["estimates"]
    ]


def test_a_request_of_the_facts(folder: Path) -> None:
    (folder / "hedgerow.toml").write_text(
        'relation = "replace-one"\n[data]\npath = "people.csv"\n[columns.age]\nbounds = [18, 95]\nstep = 1\n'
        "[columns.sex]\ncategories = [0, 1]\n"
        '[[release]]\nname = "a first look"\nstatistics = [{ statistic = "mean", column = "age" }]\n'
        'by = ["sex"]\nepsilon = 0.5\n'
        '[[release]]\nstatistics = [{ statistic = "count" }]\nepsilon = 0.25\n'
    )
    both = run("plan", "--facts", "hedgerow.toml", "--as-python").split("\n\nimport ")
    assert len(both) == 2 and [len(made_by(f"import {one.removeprefix('import ')}")) for one in both] == [2, 1]
    command = run("plan", "--facts", "hedgerow.toml", "--request", "a first look", "--as-shell")
    assert command == "hedgerow release --facts hedgerow.toml --request 'a first look'\n"
    again = json.loads(run(*shlex.split(command)[1:], "--json"))
    assert mechanism(made_by(both[0]).to_dict()) == mechanism(again)


def test_without_a_source_a_name_stands_for_it(folder: Path) -> None:
    told = run("plan", "--relation", "add-remove", *CASES["mean"], "--as-python")
    assert "hg.open('survey.csv', relation='add-remove')" in told


def test_another_option_is_another_program(folder: Path) -> None:
    one, two = (run("plan", *HEAD, "--mean", f"age:18:{high}:1", "--epsilon", "1", "--as-python") for high in (95, 94))
    assert mechanism(made_by(one).to_dict()) != mechanism(made_by(two).to_dict())
