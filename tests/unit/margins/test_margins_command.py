"""`hedgerow margins`: the plan spends nothing, the folder holds every table, known totals are read from files."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.unit.conftest import Browser
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.reports.publishing import PublishedRecord, sdmx_csv
from hedgerow.reports.verify.verification import verify_file

BY = "--by sex=f,m --by old=0,1 --by 'job <b>=a,b,c'"
COMMON = f"people.csv --relation replace-one {BY} --epsilon 1"


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{'fm'[i % 2]},{i % 3 % 2},{'abc'[i % 5 % 3]}" for i in range(900)]
    Path("people.csv").write_text("\n".join(["sex,old,job <b>", *rows, ""]), encoding="utf-8")


def run(text: str) -> Any:
    return CliRunner().invoke(app, shlex.split(text))


def test_a_plan_prints_the_noise_of_each_table_and_spends_nothing() -> None:
    budget = Budget(1.5, 1e-5)
    Ledger.create("l.ledger", dataset="people", budget=budget, relation="replace-one", unit="row").close()
    planned = run(f"margins {COMMON} --order 2 --ledger l.ledger --plan")
    assert planned.exit_code == 0 and planned.stdout.count("noise ±") == 7 and "Nothing was read" in planned.stdout
    listed = json.loads(run(f"margins {COMMON} --order 2 --plan --json --weight sex,old=9 --weight 1=2").stdout)
    assert [table["by"] for table in listed["tables"]][:3] == [[], ["sex"], ["old"]]
    heavy = {tuple(table["by"]): table["noise_sd"] for table in listed["tables"]}
    assert heavy["sex", "old"] < heavy["sex", "job <b>"] and listed["plan"]["epsilon_upper"] <= 1.0
    with Ledger.open("l.ledger") as ledger:
        assert not list(ledger.entries())
    aimed = json.loads(run(f"margins {COMMON} --order 2 --plan --json --target-se sex,old:7").stdout)
    assert {tuple(table["by"]): table["noise_sd"] for table in aimed["tables"]}["sex", "old"] <= 7.0


def test_the_folder_holds_an_index_every_table_and_a_record_that_verifies() -> None:
    done = run(f"margins {COMMON} --order 2 --out tables")
    assert done.exit_code == 0, done.stderr
    names = {path.name for path in Path("tables").iterdir()}
    assert names >= {"index.html", "margins.csv", "margins.json", "certificate.json"}
    assert len([name for name in names if re.fullmatch(r"\d{3}_\w+\.html", name)]) == 7
    assert len([name for name in names if name.endswith(".xlsx")]) == 7
    index = (Path("tables") / "index.html").read_text(encoding="utf-8")
    assert index.count('type="checkbox"') == 3 and "<script" not in index
    assert "job &lt;b&gt;" in index and "job <b>" not in index
    linked = re.findall(r'href="([^"]+)"', index)
    assert set(linked) <= names and len(set(linked)) == len(linked) >= 17
    # Each row names its columns, by which the style sheet hides it.
    assert index.count("tbody tr:not(.of") == 3 and len(re.findall(r'<tr class="of0 of1 ">', index)) == 1
    _, verified = verify_file(Path("tables") / "margins.json")
    assert verified.holds
    record = json.loads((Path("tables") / "margins.json").read_text(encoding="utf-8"))
    assert all(number == int(number) >= 0 for table in record["margins"]["tables"] for number in table["shown"])
    written = sdmx_csv(PublishedRecord.read("tables")).splitlines()
    assert len(written) == 1 + sum(len(table["estimate"]) for table in record["margins"]["tables"])
    told = run("ask tables/margins.json 'count(| sex=f, old=1) / count(| sex=f)' --json")
    assert 0.0 < json.loads(told.stdout)["estimate"] < 1.0 and json.loads(told.stdout)["standard_error"] > 0.0
    assert run("ask tables/margins.json 'count(| wage=1)'").exit_code == 2
    assert run("ask tables/certificate.json 'count'").exit_code != 0
    page = (Path("tables") / "004_sex_old.html").read_text(encoding="utf-8")
    assert "differential privacy" in page and "<table" in page
    assert run(f"margins {COMMON} --order 2 --out tables").exit_code == 2  # it holds something already


def test_the_index_is_searched_by_columns_and_lists_their_categories(browser: Browser) -> None:
    """In Chromium: a ticked column hides the tables without it, and the search of the page finds a category."""
    Path("jobs.csv").write_text("job <b>,branch\na,trade\nb,trade\nc,offices\n", encoding="utf-8")
    assert run(f"margins {COMMON} --order 2 --hierarchy jobs.csv --out tables").exit_code == 0
    index = (Path("tables") / "index.html").read_text(encoding="utf-8")
    script = """
    const shown = () => [...root.querySelectorAll("tbody tr")].filter(row => row.getClientRects().length).length;
    const all = shown();
    root.querySelector("#column0").click();
    const one = shown();
    root.querySelector("#column2").click();
    const words = [...root.querySelectorAll("details li")].map(item => item.textContent);
    root.querySelectorAll("details").forEach(list => list.open = true);
    return {all, one, two: shown(), words, groups: view.find("offices"), nothing: view.find("hospitals")};
    """
    searched = browser.measure(index, script, width=800)["found"]
    assert (searched["all"], searched["one"], searched["two"]) == (7, 3, 1)
    assert searched["words"] == ["f", "m", "0", "1", "a", "b", "c", "trade", "offices"]
    assert searched["groups"] and not searched["nothing"]
    wide = index.replace("td { min-width: 0; }", "td { }")  # sabotage: the cells as wide as those of other pages
    for page, fits in ((index, True), (wide, False)):
        measured = browser.measure(page, width=360)
        assert (measured["page"] <= measured["window"]) is fits


def test_raw_numbers_and_known_totals() -> None:
    Path("sex.csv").write_text("sex,count\nf,450\nm,450\n", encoding="utf-8")
    record = json.loads(run(f"margins {COMMON} --order 2 --raw --known sex.csv --json").stdout)
    assert record["steps"] == [] and record["margins"]["tables"][1]["estimate"] == [450.0, 450.0]
    assert record["margins"]["tables"][1]["noise_sd"] == 0.0


def test_groups_of_categories_from_a_file() -> None:
    Path("jobs.csv").write_text("job <b>,kind,level\na,plain,low\nb,plain,high\nc,rare,high\n", encoding="utf-8")
    record = json.loads(run(f"margins {COMMON} --order 2 --hierarchy jobs.csv --json").stdout)
    listed = {tuple(table["by"]): table["shown"] for table in record["margins"]["tables"]}
    a, b, c = listed["job <b>",]
    assert listed["kind",] == [a + b, c] and listed["level",] == [a, b + c] and len(listed["sex", "kind"]) == 4
    Path("jobs.csv").write_text("job <b>,kind\na,plain\nb,plain\n", encoding="utf-8")
    assert "HG162" in run(f"margins {COMMON} --order 2 --hierarchy jobs.csv --json").stderr


def test_totals_of_a_column() -> None:
    record = json.loads(
        run(
            "margins people.csv --relation add-remove --by sex=f,m --total old:0:1:1 --target file --epsilon 1 --json"
        ).stdout
    )
    assert record["request"]["statistics"][0]["statistic"] == "sum" and record["steps"] == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("--weight sex", "HG116"),
        ("--weight wage=2", "HG240"),
        ("--known nothing.csv", "HG241"),
        ("--known bad.csv", "HG241"),
        ("--known twice.csv", "HG241"),
        ("--hierarchy nothing.csv", "HG162"),
        ("--hierarchy bad.csv", "HG162"),
        ("--hierarchy alone.csv", "HG162"),
        ("--target-se sex", "HG116"),
        ("--target-se sex:0.001", "HG242"),
        ("--order 0", "HG240"),
        ("--delta 0", "HG117"),
    ],
)
def test_what_cannot_be_is_refused(more: str, code: str) -> None:
    Path("bad.csv").write_text("sex,count\nf,450\nm\n", encoding="utf-8")
    Path("twice.csv").write_text("sex,count\nf,450\nf,450\n", encoding="utf-8")
    Path("alone.csv").write_text("sex\nf\nm\n", encoding="utf-8")
    refused = run(f"margins {COMMON} {more} --out tables")
    assert refused.exit_code in (2, 4) and code in refused.stderr, refused.stderr
    assert not Path("tables").exists()
