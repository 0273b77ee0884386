"""Budgets in ρ and μ: of the whole call, met by Gaussian noise, reserved at their ε, refused where no μ exists."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.accounting.profile import GaussianProfile
from hedgerow.cli.main import app
from hedgerow.errors import BudgetExceeded, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts
from hedgerow.ledger.store import Ledger
from hedgerow.release.request import requested
from hedgerow.testing import simulated

RNG = np.random.default_rng(1)
PEOPLE = pa.table(
    {
        "age": RNG.integers(0, 100, 2000).astype(float),
        "sex": RNG.integers(0, 2, 2000),
        "income": RNG.random(2000) * 1000.0,
    }
)
AGE = hg.mean("age", bounds=(0, 100), step=1)
INCOME = hg.mean("income", bounds=(0, 1000), step=1)
ASKED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "mean": ([AGE], {}),
    "several": ([AGE, hg.proportion("sex", value=1), INCOME], {}),
    "unequal": ([AGE, INCOME], {"share": [3, 1]}),
    "by": ([AGE], {"by": {"sex": [0, 1]}}),
    "counts": ([hg.count()], {"by": {"sex": [0, 1]}}),
    "variance": ([hg.variance("age", bounds=(0, 100), step=1)], {}),
}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("asked", ASKED)
def test_the_whole_call_costs_the_budget(asked: str, relation: str) -> None:
    statistics, options = ASKED[asked]
    survey = hg.open(PEOPLE, relation=relation)
    plans = [survey.plan(statistics, **options, **one) for one in ({"mu": 0.25}, {"rho": 0.03125})]
    certificate = survey.release(statistics, mu=0.25, **options).certificate
    assert certificate is not None and certificate.mu is not None
    assert 0.25 * (1 - 2e-5) <= certificate.mu <= 0.25
    # The ε of a Gaussian mechanism of this μ; discrete noise of few steps, across cells, costs a little less.
    stated = GaussianProfile(0.25).epsilon_upper(1e-6)
    assert 0.995 * stated <= certificate.epsilon <= stated + 1e-6
    assert [plan.mu for plan in plans] == [0.25, 0.25] and plans[0].mechanism == plans[1].mechanism


@settings(max_examples=15, deadline=None)
@given(st.floats(0.01, 4.0))
def test_every_budget_is_met_and_not_undercut(mu: float) -> None:
    plan = hg.open(PEOPLE, relation="replace-one").plan([AGE], mu=mu)
    found = GaussianProfile(mu).epsilon_upper(1e-6)
    assert found * 0.9998 <= plan.epsilon <= found + 1e-9


def test_the_noise_that_is_drawn_has_this_width() -> None:
    """Range over n times 1/μ, at 2,000 draws; a budget 10 % larger would be seen."""
    study = simulated.Study.of(hg.open(PEOPLE, relation="replace-one"), [AGE], mu=0.25)
    noise = simulated.SimulatedNoise(7)
    drawn = [study.draw(noise)[0].estimate for _ in range(2000)]
    sd = float(np.std(drawn)) * 2000.0 / 100.0
    assert sd == pytest.approx(1.0 / 0.25, rel=0.06) and abs(sd - 1.1 / 0.25) > 0.2


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"mu": 0.2, "epsilon": 1.0}, "HG141"),
        ({"mu": 0.2, "rho": 0.1}, "HG141"),
        ({"rho": 0.1, "epsilon": 1.0}, "HG141"),
        ({"mu": 0.2, "delta": 0}, "HG141"),
        ({"mu": 0.2, "noise": "laplace"}, "HG141"),
        ({"rho": 0.2, "noise": "averaged-laplace"}, "HG141"),
        ({"rho": 0.1, "estimator": "bootstrap"}, "HG141"),
        ({"mu": 0.2, "delta": 2.0}, "HG102"),
        ({"mu": -1.0}, "HG101"),
        ({"mu": "much"}, "HG101"),
        ({"mu": math.nan}, "HG101"),
        ({"rho": 1e9}, "HG101"),
        ({}, "HG101"),
    ],
)
def test_what_cannot_be_met_so_is_refused(given: dict[str, Any], code: str) -> None:
    with pytest.raises(ParameterError, match=code):
        hg.open(PEOPLE, relation="replace-one").release([AGE], **given)


def test_tables_take_them_too_and_bootstrap_dp_does_not() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    tables = [
        survey.contingency_table(by={"sex": [0, 1]}, mu=0.25),
        survey.magnitude_table("income", bounds=(0, 1000), step=1, by={"sex": [0, 1]}, rho=0.03125),
    ]
    assert [table.certificate.mu for table in tables] == pytest.approx([0.25, 0.25], rel=2e-5)
    with pytest.raises(ParameterError, match="HG141"):
        survey.contingency_table(by={"sex": [0, 1]}, mu=0.25, guarantee="bootstrap-dp")


def test_a_ledger_reserves_the_epsilon_and_composes_the_mechanisms(tmp_path: Path) -> None:
    path = tmp_path / "l"
    Ledger.create(path, dataset="d", budget=Budget(2.0, 1e-6), relation="replace-one", unit="row").close()
    survey = hg.open(PEOPLE, relation="replace-one", ledger=path)
    first = survey.release([AGE], mu=0.25, request_id="a")
    again = survey.release([AGE], mu=0.25, request_id="a")
    assert again.replayed and again.to_json() == first.to_json()
    survey.release([AGE], mu=0.25)
    with Ledger.open(path) as ledger:
        assert ledger.spent() == pytest.approx(GaussianProfile(0.25 * math.sqrt(2)).epsilon_upper(1e-6), rel=1e-4)
    with pytest.raises(BudgetExceeded):
        survey.release([AGE], mu=0.5)


def test_facts_and_the_command_line_know_them(tmp_path: Path) -> None:
    facts = Facts.from_dict({"release": [{"statistics": [{"statistic": "count"}], "mu": 0.5}]})
    assert requested(facts)[0].options == {"mu": 0.5}
    path = tmp_path / "s.csv"
    path.write_text("age\n" + "".join(f"{age}\n" for age in range(100)))
    command = ["plan", str(path), "--relation", "replace-one", "--mean", "age:0:100:1"]
    shown = CliRunner().invoke(app, [*command, "--mu", "0.25"])
    assert shown.exit_code == 0 and "μ ≤ 0.25, that is ε ≤ 1.06" in shown.stdout
    record = json.loads(CliRunner().invoke(app, [*command, "--rho", "0.03125", "--json"]).stdout)
    assert record["plans"][0]["mu"] == 0.25
    two = CliRunner().invoke(app, [*command, "--mu", "0.25", "--epsilon", "1"])
    assert two.exit_code == 2 and "HG141" in two.stderr
