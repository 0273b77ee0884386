"""Tables of weighted records: cells and totals by hand, their errors, their record, and what they refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.reports.verify.verification import verify_record

WEIGHTS, BY = ("w", 10.0), {"region": ["n", "s"], "sex": [0, 1]}
N = 4000


def people() -> pa.Table:
    rng = np.random.default_rng(4)
    w = rng.uniform(-1.0, 12.0, N)
    names = np.array(["n", "s"])[rng.integers(0, 2, N)]
    return pa.table({"x": rng.gamma(2.0, 15.0, N), "w": w, "region": names, "sex": rng.integers(0, 2, N)})


PEOPLE = people()
X, W, REGION, SEX = (PEOPLE[name].to_numpy() for name in ("x", "w", "region", "sex"))
CLAMPED, OWN = np.clip(W, 0.0, 10.0), np.clip(X, 0.0, 100.0)


def cells(values: Any) -> np.ndarray[Any, Any]:
    """Return the sums of values by region and sex."""
    return np.array([[float(values[(region == REGION) & (sex == SEX)].sum()) for sex in (0, 1)] for region in "ns"])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("counted", [True, False])
def test_cells_and_totals_are_weighted(relation: str, counted: bool) -> None:
    survey = hg.open(PEOPLE, relation=relation)
    given: dict[str, Any] = {"by": BY, "epsilon": 5.0, "weights": WEIGHTS, "margins": True}
    table = survey.contingency_table(**given) if counted else survey.magnitude_table("x", bounds=(0, 100), **given)
    values = CLAMPED if counted else CLAMPED * OWN
    for released, exact in ((table, cells(values)), (table.margin("region"), cells(values).sum(axis=1))):
        for one, value in zip(released, exact.ravel(), strict=True):
            assert abs(one.estimate - value) < 6.0 * one.privacy_error
            assert "weighted by w clamped to [0, 10]" in one.covers
    # Records are independent: Σ v² under add-remove; where n is public, less what the sum tells.
    (own, *_), total = table, table.margin("region")[0]
    for one, here in ((own, (REGION == "n") & (SEX == 0)), (total, REGION == "n")):
        square = float((values[here] ** 2).sum())
        square -= float(values[here].sum()) ** 2 / N if relation == "replace-one" else 0.0
        assert one.sampling_error == pytest.approx(square**0.5, rel=0.05)
    assert verify_record(json.loads(table.to_json())).holds


def test_rows_of_persons_are_weighted_in_tables() -> None:
    table = PEOPLE.append_column("person", pa.array(np.arange(N) // 2))
    survey = hg.open(table, relation="add-remove", unit=("person", 2))
    released = survey.contingency_table(by=BY, epsilon=20.0, weights=WEIGHTS, margins=True)
    for one, value in zip(released, cells(CLAMPED).ravel(), strict=True):
        assert abs(one.estimate - value) < 6.0 * one.privacy_error
    assert verify_record(json.loads(released.to_json())).holds


def test_a_ledger_replays_a_weighted_table(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="d", budget=Budget(10.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(PEOPLE, relation="replace-one", ledger=path)
    given: dict[str, Any] = {"by": BY, "epsilon": 1.0, "weights": WEIGHTS, "request_id": "a"}
    first = survey.contingency_table(**given)
    assert survey.contingency_table(**given).to_json() == first.to_json()
    assert json.loads(first.to_json())["release"]["weights"] == {"column": "w", "most": 10.0}
    with pytest.raises(LedgerError, match="HG311"):
        survey.contingency_table(**{**given, "weights": ("w", 9.0)})


def test_totals_of_weights_are_no_counts() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    table = survey.contingency_table(by=BY, epsilon=5.0, weights=WEIGHTS)
    with pytest.raises(HedgerowError, match="HG130"):
        table.independence()
    with pytest.raises(HedgerowError, match="HG130"):
        table.percentages()
    assert abs(math.fsum(one.estimate for one in table) - N) > 100.0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"guarantee": "bootstrap-dp"}, "HG413"),
        ({"sensitivity": "public-membership", "missing": "error-if-declared-complete"}, "HG108"),
        ({"cell_bounds": {("n", 0): (0, 50)}, "step": 1}, "HG155"),
        ({"weights": ("sex", 1.0)}, "HG134"),
    ],
)
def test_weights_that_no_table_has_are_refused(options: dict[str, Any], code: str) -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    with pytest.raises(HedgerowError, match=code):
        survey.magnitude_table("x", bounds=(0, 100), by=BY, epsilon=1.0, **{"weights": WEIGHTS, **options})


def test_weighted_tables_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pa.csv.write_csv(PEOPLE, path)
    given = ["table", str(path), "--relation", "add-remove", "--count", "--by", "region=n,s", "--weights", "w:10"]
    done = CliRunner().invoke(app, [*given, "--epsilon", "5", "--json"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    for one, value in zip(record["estimates"], cells(CLAMPED).sum(axis=1), strict=True):
        assert abs(one["estimate"] - value) < 6.0 * one["privacy_error"]
    refused = CliRunner().invoke(app, [*given, "--epsilon", "5", "--percent", "all"])
    assert refused.exit_code == 2 and "HG130" in refused.output
