"""What was paid for is handed over also where the ledger cannot keep it, and says so."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration.calibration_fit import FitOptions, ScoredColumns, fit_from_source
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.multicalibration.model_file import model_from_text
from hedgerow.release.spend import Account
from hedgerow.testset import TestSet

TABLE = pa.table({"y": [0, 1] * 200, "p": [0.2, 0.9] * 200})


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "l"
    Ledger.create(place, dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    return place


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the reservation on, the ledger's disk is full."""

    def fails(*_: object) -> None:
        raise OSError("cell 8151")

    monkeypatch.setattr(Ledger, "record", fails)


def states(path: Path) -> list[str]:
    with Ledger.open(path) as kept:
        return [entry.state for entry in kept.entries()]


def release(ledger: Path) -> tuple[Any, str]:
    found = hg.open(TABLE, relation="add-remove", ledger=ledger).count(epsilon=1.0)
    return found, found.to_json()


def table(ledger: Path) -> tuple[Any, str]:
    survey = hg.open(TABLE, relation="add-remove", ledger=ledger)
    found = survey.contingency_table(by={"y": [0, 1]}, epsilon=1.0, margins=True)
    return found, str(found)


def model(ledger: Path) -> tuple[Any, str]:
    found = fit_from_source(
        open_source(TABLE),
        ScoredColumns("y", "p"),
        family_of({"y": [0, 1]}, depth=1),
        FitOptions("add-remove", 1.0),
        Account(None, ledger),
    )
    return found, "HG606"


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("spend", [release, table, model])
def test_the_result_is_returned_with_a_warning(spend: Any, ledger: Path) -> None:
    with pytest.warns(hg.HedgerowWarning, match=r"HG606.*could not be written"):
        found, said = spend(ledger)
    assert found.unrecorded and "HG606" in said and "8151" not in said
    assert states(ledger) == ["reserved"]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("spend", [release, table, model])
def test_a_filter_that_makes_warnings_errors_loses_nothing(spend: Any, ledger: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = spend(ledger)
    assert found.unrecorded


def test_a_score_is_returned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.arange(400) % 2
    ts = TestSet(None, y, relation="replace-one", epsilon=1.0, n_looks=2, ledger=tmp_path / "ts")
    monkeypatch.setattr(Ledger, "record", lambda *_: (_ for _ in ()).throw(OSError))
    with pytest.warns(hg.HedgerowWarning, match="HG606"):
        found = ts.score(y)
    assert found.unrecorded and abs(found.value - 1.0) < 0.3 and ts.remaining == 1


def test_what_is_recorded_says_nothing(ledger: Path) -> None:
    found, said = release(ledger)
    assert not found.unrecorded and "HG606" not in said and states(ledger) == ["recorded"]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    "verb",
    [
        ["release", "--count"],
        ["table", "--count", "--by", "y=0,1"],
        ["multicalibrate", "--label", "y", "--score", "p", "--group", "y=0,1"],
    ],
    ids=lambda verb: verb[0],
)
def test_a_command_prints_the_result_and_ends_with_6(verb: list[str], ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("y,p\n" + "0,.2\n1,.9\n" * 100, encoding="utf-8")
    usual = [str(tmp_path / "p.csv"), "--relation", "add-remove", "--epsilon", "1", "--ledger", str(ledger)]
    out = tmp_path / ("o" if verb[0] != "multicalibrate" else "m.json")
    done = CliRunner().invoke(app, [verb[0], *usual, *verb[1:], "--out", str(out), "--json"])
    assert done.exit_code == 6, done.stderr
    # Under --json a refusal is JSON, and it is said once.
    assert [json.loads(line)["error"]["code"] for line in done.stderr.splitlines()] == ["HG606"]
    assert json.loads(done.stdout) and out.exists() and states(ledger) == ["reserved"]


@pytest.mark.usefixtures("full")
def test_a_disk_that_takes_neither_files_nor_record_is_said_to(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("cell 8151")

    (tmp_path / "p.csv").write_text("y,p\n" + "0,.2\n1,.9\n" * 100, encoding="utf-8")
    monkeypatch.setattr("hedgerow.release.publication.folder.ReleaseFolder.write", fails)
    command = ["release", str(tmp_path / "p.csv"), "--count", "--relation", "add-remove", "--epsilon", "1"]
    done = CliRunner().invoke(app, [*command, "--ledger", str(ledger), "--out", str(tmp_path / "o")])
    assert done.exit_code == 6 and done.stderr.startswith("HG604: ") and "count" in done.stdout
    assert "nor could the ledger keep it" in done.stderr and states(ledger) == ["reserved"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_model_that_cannot_be_written_is_printed(
    as_json: bool, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise hg.DataError("HG168", rule="Full.")

    (tmp_path / "p.csv").write_text("y,p\n" + "0,.2\n1,.9\n" * 100, encoding="utf-8")
    monkeypatch.setattr("hedgerow.multicalibration.model_file.write_model", fails)
    command = ["multicalibrate", str(tmp_path / "p.csv"), "--label", "y", "--score", "p", "--group", "y=0,1"]
    command += ["--relation", "add-remove", "--epsilon", "1", "--ledger", str(ledger), "--out", str(tmp_path / "m")]
    done = CliRunner().invoke(app, [*command, *(["--json"] if as_json else [])])
    code = json.loads(done.stderr)["error"]["code"] if as_json else done.stderr[:5]
    assert (done.exit_code, code) == (6, "HG604")
    text = json.dumps(json.loads(done.stdout)["unwritten"]) if as_json else done.stdout
    assert model_from_text(text).certificate is not None
    assert states(ledger) == ["recorded"]


def test_a_reservation_that_reached_a_failing_disk_is_spent(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = Ledger.reserve

    def fails_at_its_end(self: Ledger, *given: Any, **named: Any) -> None:
        reserve(self, *given, **named)
        raise hg.LedgerError("HG307", rule="The disk.", remedy="No data were read.")

    monkeypatch.setattr(Ledger, "reserve", fails_at_its_end)
    with pytest.raises(hg.SpentError, match="HG607"):
        release(ledger)
    assert states(ledger) == ["reserved"]


def test_a_reservation_that_did_not_reach_the_disk_costs_nothing(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise hg.LedgerError("HG307", rule="The disk.", remedy="No data were read.")

    monkeypatch.setattr(Ledger, "reserve", fails)
    with pytest.raises(hg.LedgerError, match="HG307"):
        release(ledger)
    assert states(ledger) == []
