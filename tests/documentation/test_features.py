"""The page of features, as a test: what it answers with "yes" runs here, by the call or the command that it names."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.demo import draw_survey
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger

PAGE = Path(__file__).parents[2] / "docs" / "features.md"
AGE = {"bounds": (18, 95), "step": 1}
MEAN = ["--relation", "replace-one", "--mean", "age:18:95:1", "--epsilon", "1"]


def rows() -> dict[str, str]:
    """Return the answer to each feature of the table."""
    lines = re.findall(r"^\| ([^|]+) \| (yes|partly|no) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {feature.strip(): answer for feature, answer in lines}


def ran(*words: object) -> str:
    shown = CliRunner().invoke(app, [str(word) for word in words])
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> hg.Survey:
    monkeypatch.chdir(tmp_path)
    Path("survey.csv").write_text(draw_survey(2_000).to_csv(), encoding="utf-8")
    return hg.open("survey.csv", relation="replace-one")


CHECKS: dict[str, Callable[[hg.Survey], Any]] = {}


def shows(feature: str) -> Callable[[Callable[[hg.Survey], Any]], Callable[[hg.Survey], Any]]:
    """Name the feature that a function shows; it returns what must be true."""

    def named(check: Callable[[hg.Survey], Any]) -> Callable[[hg.Survey], Any]:
        CHECKS[feature] = check
        return check

    return named


@shows("A guarantee of differential privacy")
def _(s: hg.Survey) -> Any:
    s.mean("age", **AGE, epsilon=1.0).to_json("release.json")
    return "holds" in ran("verify", "release.json").lower()


@shows("The size of the noise beside each number")
def _(s: hg.Survey) -> Any:
    return s.mean("age", **AGE, epsilon=1.0).privacy_error


@shows("Standard errors and intervals that cover sampling and noise")
def _(s: hg.Survey) -> Any:
    estimate = s.mean("age", **AGE, epsilon=1.0)
    return estimate.standard_error and estimate.confidence_interval().low < estimate.estimate


@shows("Statistics of your own")
def _(s: hg.Survey) -> Any:
    columns = {"income": (0, 200_000, 200), "household": (1, 8, 1)}
    asked = hg.function(lambda t: t["income"] / t["household"], columns=columns, name="per head")
    bootstrapped = hg.bootstrap(lambda t: t["income"] / t["count"], columns={"income": (0, 200_000, 200)})
    return [s.release(statistic, epsilon=1.0)[0].standard_error for statistic in (asked, bootstrapped)]


@shows("Tables by group with declared categories")
def _(s: hg.Survey) -> Any:
    shown = ran("table", "survey.csv", "--relation", "replace-one", "--count", "--by", "sex=0,1", "--epsilon", 1)
    return "sex" in shown and len(s.release(hg.count(), by={"sex": [0, 1]}, epsilon=1.0)) == 2


@shows("Categories selected privately")
def _(s: hg.Survey) -> Any:
    return s.find_categories("region", epsilon=0.5, delta=1e-6).values


@shows("Margins that add up")
def _(s: hg.Survey) -> Any:
    table = s.contingency_table(by={"sex": [0, 1], "employed": [0, 1]}, margins=True, epsilon=1.0)
    return table.margin()[0].estimate == pytest.approx(sum(cell.estimate for cell in table))


@shows("All tables of several columns, agreeing with one another")
def _(s: hg.Survey) -> Any:
    margins = s.margins(by={"sex": [0, 1], "employed": [0, 1]}, order=2, epsilon=1.0)
    return margins.table("sex", "employed")[0].standard_error


@shows("Survival curves with censored records, and a log-rank test")
def _(s: hg.Survey) -> Any:
    release = s.survival("age", "employed", at=[40, 60], by={"sex": [0, 1]}, epsilon=1.0)
    return release.survival("age", sex=0).median() and 0.0 <= release.log_rank("age").pvalue <= 1.0


@shows("Late entry (left truncation) into a survival curve")
def _(s: hg.Survey) -> Any:
    curve = hg.survival("age", "employed", entry="income", start=30, at=[40, 60])
    return s.plan(curve, epsilon=1.0).mechanism.tables == 2


@shows("Competing causes: cumulative incidence")
def _(s: hg.Survey) -> Any:
    release = s.survival("age", "employed", value=1, competing=[0], at=[40, 60], epsilon=1.0)
    return 0.0 < release.survival("age").incidence(0, 60).estimate < 1.0


@shows("Tests of many cells with one promise, and cells that learn from one another")
def _(s: hg.Survey) -> Any:
    regions = {"region": ["North", "East", "South", "West"]}
    release = s.mean("income", bounds=(0, 200_000), by=regions, epsilon=1.0)
    return len(release.screen(against=30_000).cells) == len(release.shrink()) == 4


@shows("Standardised effects, differences in differences, odds ratios")
def _(s: hg.Survey) -> Any:
    release = s.mean("income", bounds=(0, 200_000), by={"sex": [0, 1]}, epsilon=1.0)
    return release.effect("mean(income)", treated={"sex": 1}, control={"sex": 0}).reliable


@shows("Counts that agree with public totals")
def _(s: hg.Survey) -> Any:
    agreeing = s.count(by={"sex": [0, 1]}, epsilon=1.0).reconcile({(): 2_000})
    return round(agreeing[0].estimate + agreeing[1].estimate) == 2_000


@shows("Synthetic files on which pooled standard errors hold")
def _(s: hg.Survey) -> Any:
    margins = s.margins(by={"sex": [0, 1], "employed": [0, 1]}, order=2, epsilon=1.0)

    def share(file: Any) -> tuple[float, float]:
        mean = float(file["employed"].to_numpy().mean())
        return mean, mean * (1.0 - mean) / len(file)

    return margins.synthesize(n_files=5, n_rows=500).pool(share)[0].standard_error


@shows("Regression")
def _(s: hg.Survey) -> Any:
    bounds = {"income": (0, 200_000), "age": (18, 95)}
    fit = s.ols("income ~ age + C(sex)", bounds=bounds, categories={"sex": [0, 1]}, epsilon=4.0)
    chance = s.logit("employed", ["age"], bounds={"age": (18, 95)}, epsilon=4.0)
    return len(fit) == 3 and len(chance) == 2


@shows("Bounds found privately")
def _(s: hg.Survey) -> Any:
    return s.find_bounds("income", epsilon=0.2).bounds


@shows("Accounting beyond adding up ε")
def _(s: hg.Survey) -> Any:
    return s.mean("age", **AGE, rho=0.1).certificate.mu


@shows("A budget that outlives the process")
def _(s: hg.Survey) -> Any:
    ran("ledger", "create", "b.ledger", "--dataset", "x", "--epsilon", 1.5, "--relation", "replace-one")
    ran("release", "survey.csv", *MEAN, "--ledger", "b.ledger")
    beyond = CliRunner().invoke(app, ["release", "survey.csv", *MEAN, "--ledger", "b.ledger"])
    return beyond.exit_code == 3 and "mean of age" in ran("ledger", "show", "b.ledger")


@shows("Approval, and a reviewer's view")
def _(s: hg.Survey) -> Any:
    Path("passphrase").write_text("correct horse")
    locked = ["--passphrase-file", "passphrase"]
    ran("keys", "create", "ada", *locked)
    ran("ledger", "create", "a.ledger", "--epsilon", "2", "--relation", "replace-one", "--approvers", "ada.pub")
    why = ["--n", "2000", "--asked-by", "bob", "--purpose", "a report", "--until", "2999-12-31"]
    ran("request", "release", *MEAN, *why)
    ran("approve", "request.json", "--by", "ada", "--key", "ada.key", "--ledger", "a.ledger", *locked)
    ran("release", "survey.csv", "--request", "approved.json", "--ledger", "a.ledger")
    alone = CliRunner().invoke(app, ["release", "survey.csv", *MEAN, "--ledger", "a.ledger"])
    return "approved by ada" in ran("ledger", "show", "a.ledger") and "HG324" in alone.stderr


@shows("The cost before the run")
def _(s: hg.Survey) -> Any:
    return "ε" in ran("plan", "survey.csv", *MEAN) and s.plan(hg.mean("age", **AGE), epsilon=1.0).forecast()


@shows("A record for machines")
def _(s: hg.Survey) -> Any:
    release = s.mean("age", **AGE, epsilon=1.0)
    release.to_json("release.json")
    return hg.Release.from_json("release.json")[0].estimate == release[0].estimate


@shows("A certificate, and an audit of what runs")
def _(s: hg.Survey) -> Any:
    return "pass" in ran(
        "audit", "--mechanism", "geometric", "--epsilon", 1, "--relation", "replace-one", "--runs", 20_000
    )


@shows("pandas, polars and Arrow")
def _(s: hg.Survey) -> Any:
    frame = pd.read_csv("survey.csv", dtype={"region": "str"})
    kinds = []
    for given in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        shown = hg.open(given, relation="replace-one").mean("age", **AGE, epsilon=1.0).to_frame()
        kinds.append(type(shown).__module__.partition(".")[0] == type(given).__module__.partition(".")[0])
    return all(kinds)


@shows("SQL databases")
def _(s: hg.Survey) -> Any:
    duckdb = importlib.import_module("duckdb")
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM 'survey.csv'")
    return hg.open("people.duckdb", table="people", relation="replace-one").mean("age", **AGE, epsilon=1.0).estimate


@shows("Spark")
def _(s: hg.Survey) -> Any:
    # `make test-spark` opens Spark frames; what guards them is there.
    return (PAGE.parents[1] / "tests" / "contracts" / "test_spark.py").exists()


@shows("A command line that does the work")
def _(s: hg.Survey) -> Any:
    return "mean age" in ran("release", "survey.csv", *MEAN)


@shows("A report for readers")
def _(s: hg.Survey) -> Any:
    ran("release", "survey.csv", *MEAN, "--out", "out")
    return "<h1>" in Path("out/report.html").read_text(encoding="utf-8")


@shows("LaTeX, Markdown and Quarto, several models side by side")
def _(s: hg.Survey) -> Any:
    release = s.mean("age", **AGE, epsilon=1.0)
    release.write("ages.qmd")
    fit = s.ols("income", ["age"], bounds={"income": (0, 200_000), "age": (18, 95)}, epsilon=4.0)
    return [r"\toprule" in text for text in (release.to_latex(), hg.models(fit).to_latex())] == [True, True]


@shows("Percentages, and a χ² test of independence")
def _(s: hg.Survey) -> Any:
    table = s.contingency_table(by={"sex": [0, 1], "employed": [0, 1]}, epsilon=1.0)
    return table.percentages(of="sex")[0].standard_error and 0.0 < table.independence().pvalue <= 1.0


@shows("Dates, and logarithms of a column")
def _(s: hg.Survey) -> Any:
    days = pd.date_range("2026-01-01", periods=1_000, freq="h")
    visits = hg.open(pd.DataFrame({"day": days, "cost": 20.0}), relation="replace-one")
    late = visits.count(where="day >= '2026-02-01'", by={hg.column("month(day)"): [1, 2]}, epsilon=1.0)
    return len(late) == 2 and visits.mean(hg.column("log(cost)", bounds=(0, 5)), epsilon=1.0).standard_error


@shows("scikit-learn's conventions")
def _(s: hg.Survey) -> Any:
    # tests/unit/multicalibration/test_estimator_checks.py runs all checks; the page names those that are left out.
    checks = importlib.import_module("tests.unit.multicalibration.test_estimator_checks")
    text = PAGE.read_text(encoding="utf-8")
    return all(f"`{name}`" in text for name in checks.WITH_WEIGHTS)


@shows("Multicalibration, and a test set that survives its users")
def _(s: hg.Survey) -> Any:
    names = {"hedgerow.multicalibration": "Multicalibrator", "hedgerow.testset": "TestSet"}
    return all(hasattr(importlib.import_module(module), name) for module, name in names.items())


@shows("Installs on today's Python with today's pandas and scikit-learn")
def _(s: hg.Survey) -> Any:
    return "versions" in (PAGE.parents[1] / "Makefile").read_text(encoding="utf-8")


def test_every_yes_is_shown_and_nothing_else_is() -> None:
    assert {feature for feature, answer in rows().items() if answer == "yes"} == set(CHECKS)


@pytest.mark.parametrize("feature", CHECKS)
def test_what_the_page_says_runs(feature: str, s: hg.Survey) -> None:
    assert CHECKS[feature](s)


def test_a_release_beyond_the_budget_would_be_seen(s: hg.Survey) -> None:
    # The sabotage: a command that does not run fails the check of its feature.
    with pytest.raises(AssertionError):
        ran("release", "nosuch.csv", *MEAN)
    Ledger.create("c.ledger", dataset="x", budget=Budget(1.0, 1e-6), relation="replace-one", unit="row").close()
    assert json.loads(ran("ledger", "show", "c.ledger", "--json"))["entries"] == []
