"""Every product tells that no ledger counts its price against the budget of the facts, in Python and as a command."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.testset import TestSet

SAID = "No ledger counts this price against the budget of the facts"
SOURCE = Path(hg.__file__).parent
BY = {"sex": [0, 1]}


class Product(NamedTuple):
    """Where a product calls `spend`, and how Python and the command line ask for it."""

    spends: str
    asked: Callable[[hg.Survey], Any] | None
    command: str


PRODUCTS = {
    "release": Product("survey.py", lambda s: s.release([hg.mean("age")], epsilon=1.0), "release DATA --mean age"),
    "table": Product(
        "tables/release_table.py",
        lambda s: s.contingency_table(by=BY, epsilon=1.0),
        "table DATA --count --by sex=0,1",
    ),
    "margins": Product(
        "margins/survey_margins.py", lambda s: s.margins(by=BY, order=1, epsilon=1.0), "margins DATA --by sex=0,1"
    ),
    "ols": Product("regression/survey_regressions.py", lambda s: s.ols("age ~ p", epsilon=1.0), "ols age~p DATA"),
    "ols by group": Product(
        "regression/survey_regressions.py",
        lambda s: s.ols("age ~ p", by=BY, epsilon=1.0),
        "ols age~p DATA --by sex=0,1",
    ),
    "logit": Product("regression/survey_regressions.py", lambda s: s.logit("y ~ p", epsilon=1.0), "logit y~p DATA"),
    "bounds": Product("find/search.py", lambda s: s.find_bounds("age", epsilon=1.0), "find bounds DATA age"),
    "categories": Product(
        "find/search.py", lambda s: s.find_categories("sex", epsilon=1.0), "find categories DATA sex"
    ),
    # A `Multicalibrator` takes no facts: the command alone knows of their budget.
    "calibration": Product(
        "multicalibration/calibration_fit.py",
        None,
        "multicalibrate DATA --label y --score p --group sex=0,1 --out model.json --force",
    ),
}
# A test set counts its looks in any case; bootstrap-dp is refused where the facts set a budget and no ledger counts it.
ALWAYS_COUNTED = {"testset/testset.py", "release/bootstrap_dp/bootstrap_product.py"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, rng = tmp_path_factory.mktemp("people"), np.random.default_rng(3)
    rows = zip(rng.integers(18, 90, 400), rng.integers(0, 2, (400, 2)), rng.random(400).round(2), strict=True)
    lines = [f"{age},{sex},{label},{score}" for age, (sex, label), score in rows]
    (made / "people.csv").write_text("\n".join(["age,sex,y,p", *lines, ""]))
    columns = "[columns.age]\nbounds = [18, 90]\nstep = 1\n[columns.p]\nbounds = [0, 1]\nstep = 0.01\n"
    head = 'relation = "replace-one"\nunit = "row"\n'
    (made / "free.toml").write_text(head + columns)
    (made / "facts.toml").write_text(f"{head}[budget]\nepsilon = 3.0\ndelta = 1e-6\n{columns}")
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    made = tmp_path / "people.ledger"
    Ledger.create(made, dataset="d", budget=Budget(3.0, 1e-6), relation="replace-one", unit="row").close()
    return made


def shown(result: Any) -> dict[str, str]:
    """Return what a reader may look at, in each of its forms."""
    forms = {"print": str(result), "record": json.dumps(result.to_dict(), ensure_ascii=False)}
    if hasattr(result, "to_json"):
        forms["file"] = result.to_json()
    return forms


@pytest.mark.parametrize("name", [name for name, product in PRODUCTS.items() if product.asked is not None])
def test_a_result_says_that_no_ledger_counts_it(name: str, folder: Path, ledger: Path) -> None:
    product, data = PRODUCTS[name], str(folder / "people.csv")
    assert product.asked is not None
    for form, text in shown(product.asked(hg.open(data, folder / "facts.toml"))).items():
        assert SAID in text, form
    for facts, kept in (("free.toml", None), ("facts.toml", ledger)):
        result = product.asked(hg.open(data, folder / facts, ledger=kept))
        assert not any(SAID in text for text in shown(result).values())


# What --json prints is the record, which is looked at above; a calibration has another.
@pytest.mark.parametrize(("name", "form"), [*((name, ()) for name in PRODUCTS), ("calibration", ("--json",))])
def test_a_command_says_that_no_ledger_counts_it(
    name: str, form: tuple[str, ...], folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ledger.parent)

    def said(facts: str, *more: str) -> bool:
        words = PRODUCTS[name].command.replace("DATA", str(folder / "people.csv")).split()
        run = CliRunner().invoke(app, [*words, "--epsilon", "1", "--facts", str(folder / facts), *more, *form])
        assert run.exit_code == 0, run.stderr
        return SAID in run.stdout

    assert said("facts.toml")
    assert not said("facts.toml", "--ledger", str(ledger))


def test_a_look_at_a_test_set_is_always_counted(tmp_path: Path) -> None:
    labels = np.tile([0, 1], 100)
    for kept in (None, tmp_path / "t.ledger"):
        looked = TestSet(None, labels, relation="replace-one", epsilon=1.0, n_looks=2, ledger=kept).score(labels)
        assert SAID not in str(looked) and looked.notes == ()


def test_bootstrap_dp_is_refused_where_a_budget_is_not_counted(folder: Path) -> None:
    survey = hg.open(str(folder / "people.csv"), folder / "facts.toml")
    with pytest.raises(hg.UncertifiedError, match="HG413"):
        survey.release([hg.mean("age")], epsilon=1.0, delta=0.0, guarantee="bootstrap-dp")
    with pytest.raises(hg.UncertifiedError, match="HG413"):
        survey.contingency_table(by=BY, epsilon=1.0, guarantee="bootstrap-dp")


def calls(path: Path, name: str) -> bool:
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text)) if f"{name}(" in text else ()
    return any(isinstance(node, ast.Call) and ast.unparse(node.func) == name for node in nodes)


def test_every_product_that_spends_is_listed_here_and_spend_alone_makes_the_receipt() -> None:
    spending = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if calls(path, "spend")}
    spending = {path for path in spending if not path.startswith("cli/")}  # a local function of each command
    assert spending == {product.spends for product in PRODUCTS.values()} | ALWAYS_COUNTED
    made = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if calls(path, "Receipt")}
    assert made == {"release/spend.py"}
