"""`hedgerow table --guarantee bootstrap-dp`, its ledger and what `hedgerow verify` says of its record."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hedgerow.cli.main import app

ASKED = ("--relation", "replace-one", "--total", "output:0:20000:1", "--by", "kind=a,b", "--epsilon", "0.5")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def farms(tmp_path: Path) -> Path:
    path = tmp_path / "farms.csv"
    path.write_text("output,kind\n" + "7919,a\n104,b\n" * 200)
    return path


@pytest.fixture
def weak(tmp_path: Path) -> Path:
    path = tmp_path / "weak.ledger"
    made = run("ledger", "create", path, "--epsilon", 1, "--relation", "replace-one", "--guarantee", "bootstrap-dp")
    assert made.exit_code == 0 and "NOT differential privacy" in made.stdout
    return path


def test_a_table_is_released_recorded_and_not_verified(farms: Path, weak: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("table", farms, *ASKED, "--guarantee", "bootstrap-dp", "--margins", "--ledger", weak, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert "NOT differential privacy" in done.stdout and "7919" not in done.stdout
    shown = json.loads(run("ledger", "show", weak, "--json").stdout)
    assert (shown["guarantee"], shown["spent"], shown["delta"]) == ("bootstrap-dp", 0.5, 0.0)
    assert run("ledger", "verify", weak, "--head", shown["head"]).exit_code == 0
    for name in ("table.json", "certificate.json"):
        refused = run("verify", out / name)
        assert refused.exit_code == 4 and "HG415" in refused.stderr and "HOLDS" not in refused.stdout
    altered = json.loads((out / "certificate.json").read_text()) | {"differential_privacy": True}
    (out / "certificate.json").write_text(json.dumps(altered))
    assert run("verify", out / "certificate.json").exit_code == 5


def test_neither_guarantee_is_paid_from_the_other_ledger(farms: Path, weak: Path, tmp_path: Path) -> None:
    assert run("table", farms, *ASKED, "--ledger", weak).exit_code == 2
    assert "HG316" in run("table", farms, *ASKED, "--ledger", weak).stderr
    strong = tmp_path / "strong.ledger"
    assert run("ledger", "create", strong, "--epsilon", 1, "--relation", "replace-one").exit_code == 0
    refused = run("table", farms, *ASKED, "--guarantee", "bootstrap-dp", "--ledger", strong)
    assert refused.exit_code == 2 and "HG316" in refused.stderr
    for ledger in (weak, strong):
        assert json.loads(run("ledger", "show", ledger, "--json").stdout)["spent"] == 0.0


@pytest.mark.parametrize(
    ("more", "code", "exit_code"),
    [
        (["--delta", "1e-6"], "HG413", 4),
        (["--relation", "add-remove"], "HG413", 4),
        (["--noise", "gaussian"], "HG413", 4),
        (["--sensitivity", "third"], "HG151", 2),
    ],
)
def test_refusals(farms: Path, more: list[str], code: str, exit_code: int) -> None:
    refused = run("table", farms, *ASKED, "--guarantee", "bootstrap-dp", *more)
    assert refused.exit_code == exit_code and code in refused.stderr and not refused.stdout


def test_a_weak_ledger_takes_no_delta(tmp_path: Path) -> None:
    made = run(
        "ledger", "create", tmp_path / "l", "--epsilon", 1, "--relation", "replace-one",
        "--guarantee", "bootstrap-dp", "--delta", "1e-6",
    )  # fmt: skip
    assert made.exit_code == 2 and "HG314" in made.stderr
