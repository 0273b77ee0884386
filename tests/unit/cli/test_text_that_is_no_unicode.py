"""Text that is no Unicode, in an argument, a declared value or a name, is refused before a price is reserved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

STRAY = "\udcff"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "a.ledger"
    Ledger.create(place, dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    (tmp_path / "people.csv").write_text("age,sex\n41,f\n")
    return place


def entries(ledger: Path) -> int:
    with Ledger.open(ledger) as opened:
        return len(opened.entries())


@pytest.mark.parametrize(
    "asked",
    [
        ["--count", "--by", f"sex=f,{STRAY}"],
        ["--count", "--by", f"se{STRAY}x=f"],
        ["--proportion", f"sex={STRAY}"],
        ["--mean", f"{STRAY}:0:100:1"],
        ["--count", "--request-id", STRAY],
        ["--count", "--out", f"out{STRAY}"],
    ],
)
def test_an_argument_is_refused_as_usage(asked: list[str], ledger: Path, tmp_path: Path) -> None:
    given = [str(tmp_path / "people.csv"), "--relation", "add-remove", "--epsilon", "1", "--ledger", str(ledger)]
    result = CliRunner().invoke(app, ["release", *given, *asked])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("HG211")
    assert entries(ledger) == 0


def test_a_stray_byte_of_a_shell_is_one(ledger: Path, tmp_path: Path) -> None:
    given = [str(tmp_path / "people.csv"), "--relation", "add-remove", "--epsilon", "1", "--ledger", str(ledger)]
    command = [os.fsencode(one) for one in [sys.executable, "-m", "hedgerow", "release", *given, "--count", "--by"]]
    ran = subprocess.run([*command, b"sex=\xff"], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr[:5]) == (2, b"", b"HG211")
    assert entries(ledger) == 0


@pytest.mark.parametrize("kind", ["csv", "pandas", "pyarrow"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.count(by={"sex": ["f", STRAY]}, epsilon=1, delta=0),
        lambda s: s.proportion("sex", value=STRAY, epsilon=1, delta=0),
        lambda s: s.contingency_table(by={"sex": [STRAY]}, epsilon=1, delta=0),
    ],
    ids=["by", "value", "table"],
)
def test_a_declared_value_is_refused_by_every_engine(ask: Any, kind: str, ledger: Path, tmp_path: Path) -> None:
    source = {
        "csv": lambda: tmp_path / "people.csv",
        "pandas": lambda: pd.DataFrame({"sex": ["f"]}),
        "pyarrow": lambda: pa.table({"sex": ["f"]}),
    }[kind]()
    with pytest.raises(hg.ParameterError, match="HG211"):
        ask(hg.open(source, relation="add-remove", ledger=ledger))
    assert entries(ledger) == 0


def test_names_of_columns_and_files(tmp_path: Path) -> None:
    with pytest.raises(hg.ParameterError, match="HG211"):
        hg.open(pd.DataFrame([[1.0]], columns=pd.Index([f"a{STRAY}"], dtype=object)), relation="add-remove")
    with pytest.raises(hg.DataError, match="HG202"):
        hg.open(f"{tmp_path}/{STRAY}.csv", relation="add-remove")
