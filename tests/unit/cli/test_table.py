"""`hedgerow table`: grammar, JSON and exit codes of the contract, the guarantee by name, files that hold the same."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.publication.folder import PERCENTAGE_FILES, TABLE_FILES

CANARY = "424242.125"
ONE = ["--relation", "replace-one", "--epsilon", "1"]
COUNTED = ["--count", "--by", "region=North,Île", "--by", "sex=0,1"]
TOTAL = ["--total", "pay:0:100:1", "--by", "sex=0,1", "--by", "region=North,Île"]
runner = CliRunner()


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 400 records, one of which holds a value that must be seen nowhere."""
    rng = np.random.default_rng(20)
    columns = rng.integers(0, 101, 399), rng.integers(0, 2, 399), rng.choice(["North", "Île"], 399)
    rows = [f"{pay},{sex},{region}" for pay, sex, region in zip(*columns, strict=True)]
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    path.write_text("pay,sex,region\n" + "\n".join([*rows, f"{CANARY},{CANARY},{CANARY}"]) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> Any:
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_json_is_the_contract_with_the_table_beside_it(survey: Path) -> None:
    result = run("table", survey, *ONE, *TOTAL, "--margins", "--level", ".9", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    determining = ["request", "noisy", "steps", "reading"]
    assert list(record) == ["release", "table", "estimates", *determining, "certificate"]
    assert record["release"]["n"] == 400 and record["table"]["guarantee"] == "dp"
    assert [entry["cell"] for entry in record["estimates"]][1] == {"sex": 0, "region": "Île"}
    assert {entry["confidence_interval"]["level"] for entry in record["estimates"]} == {0.9}
    assert [margin["by"] for margin in record["table"]["margins"]] == [["sex"], ["region"], []]
    Certificate.from_dict(record["certificate"]).verify()


def test_the_page_names_the_guarantee_and_the_price(survey: Path) -> None:
    result = run("table", survey, *ONE, "--count", "--by", "sex=0,1", "--other", "--title", "People", "--margins")
    assert result.exit_code == 0
    assert result.stdout.startswith("People\n") and "±" in result.stdout and "Total" in result.stdout
    assert "Guarantee: differential privacy, ε ≤ " in result.stdout and CANARY not in result.stdout


def test_the_other_guarantee_is_had_by_name_only_and_says_what_it_is_not(survey: Path) -> None:
    result = run("table", survey, *ONE, *TOTAL, "--guarantee", "bootstrap-dp")
    assert result.exit_code == 0 and "NOT differential privacy" in result.stdout
    assert "±" not in result.stdout
    assert "NOT differential privacy" not in run("table", survey, *ONE, *TOTAL).stdout


def test_files_hold_what_is_printed(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("table", survey, *ONE, *TOTAL, "--margins", "--out", out, "--json")
    record = json.loads(result.stdout)
    assert sorted(path.name for path in out.iterdir()) == sorted(TABLE_FILES)
    assert json.loads((out / "table.json").read_text()) == record
    assert json.loads((out / "certificate.json").read_text()) == record["certificate"]
    with (out / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 + 2 + 2 + 1
    estimates = [float(row["estimate"]) for row in rows[:4]]
    assert estimates == [entry["estimate"] for entry in record["estimates"]]
    lows = [float(row["low"]) for row in rows[:4]]
    assert lows == pytest.approx([entry["confidence_interval"]["low"] for entry in record["estimates"]])
    assert "<caption" in (out / "table.html").read_text(encoding="utf-8")
    assert run("verify", out / "table.json").exit_code == run("verify", out / "certificate.json").exit_code == 0
    again = run("table", survey, *ONE, *TOTAL, "--out", out)
    assert again.exit_code == 2 and "HG119" in again.stderr


def test_whole_and_non_negative_numbers_when_asked(survey: Path) -> None:
    result = run(
        "table", survey, *ONE, "--total", "pay:0:100:1", "--by", "sex=7,8,9", "--non-negative", "--integer", "--json"
    )
    estimates = [entry["estimate"] for entry in json.loads(result.stdout)["estimates"]]
    assert all(value >= 0 and value == int(value) for value in estimates)


@pytest.mark.parametrize(
    ("exit_code", "code", "arguments"),
    [
        (2, "HG116", [*ONE, "--by", "sex=0,1"]),
        (2, "HG116", [*ONE, *TOTAL, "--count"]),
        (2, "HG150", [*ONE, "--count"]),
        (2, "HG151", [*ONE, *TOTAL, "--sensitivity", "best"]),
        (2, "HG154", [*ONE, *TOTAL, "--guarantee", "none"]),
        (2, "HG103", ["--epsilon", "1", *TOTAL]),
        (2, "HG104", [*ONE, "--total", "pay", "--by", "sex=0,1"]),
        (2, "HG110", [*ONE, *TOTAL, "--level", "95"]),
        (2, "HG116", [*ONE, "--count", "--by", "sex=0,1", "--percent", "sex"]),
        (2, "HG116", [*ONE, "--count", "--by", "sex='a, b',c"]),
        (2, "HG116", [*ONE, "--count", "--by", "sex=0,1", "--percent", "row", "--guarantee", "bootstrap-dp"]),
        (2, "HG130", [*ONE, *TOTAL, "--percent", "row"]),
        (2, "HG130", [*ONE, "--count", "--by", "sex=0,1", "--percent", "all", "--unit", "pay:3"]),
        (2, "HG130", [*ONE, *COUNTED, "--independence", "--target", "census"]),
        (2, "HG160", [*ONE, "--count", "--by", "sex=0,1", "--independence"]),
        (4, "HG410", [*ONE, *TOTAL, "--sensitivity", "public-membership"]),
        (4, "HG411", [*ONE, *TOTAL, "--sensitivity", "per-cell"]),
    ],
)
def test_refusals_cost_and_show_nothing(survey: Path, exit_code: int, code: str, arguments: list[str]) -> None:
    result = run("table", survey, *arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert result.stderr.startswith(code) and CANARY not in result.stderr


def test_percentages_and_a_test_are_printed_kept_and_computed_again_from_the_record(
    survey: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    asked = ["--percent", "row", "--independence"]
    result = run("table", survey, *ONE, *COUNTED, *asked, "--out", out)
    assert result.exit_code == 0 and "Percentages by region and sex (%)" in result.stdout
    assert set(PERCENTAGE_FILES) < {file.name for file in out.iterdir()}
    record = json.loads((out / "table.json").read_text())
    shares, test = record["percentages"], record["independence"]
    assert shares["of"] == ["region"]
    assert sum(entry["estimate"] for entry in shares["estimates"][:2]) == pytest.approx(100.0)
    for file in ("table.json", "table.html", "percentages.html"):
        assert run("verify", out / file).exit_code == 0
        again = run("ask", out / file, *asked, "--json")
        assert json.loads(again.stdout) == {"percentages": shares, "independence": test}
    told = run("ask", out / "table.json", "--percent", "column", "--out", tmp_path / "columns.tex")
    assert "Each category of sex has 100 %." in told.stdout
    assert "booktabs" in (tmp_path / "columns.tex").read_text()
    quiet = run("table", survey, *ONE, *COUNTED, *asked, "--quiet")
    assert "(%)" in quiet.stdout and "Independence of region and sex" in quiet.stdout


def test_false_percentages_do_not_hold(survey: Path, tmp_path: Path) -> None:
    asked = ["--percent", "row", "--independence", "--out", tmp_path / "out"]
    assert run("table", survey, *ONE, *COUNTED, *asked).exit_code == 0
    record = json.loads((tmp_path / "out" / "table.json").read_text())
    for place, value in (("percentages.estimates.0.standard_error", 0.1), ("independence.statistic", 0.5)):
        altered = json.loads(json.dumps(record))
        *above, last = place.split(".")
        holder: Any = altered
        for part in above:
            holder = holder[int(part) if part.isdecimal() else part]
        holder[last] = value
        (tmp_path / "altered.json").write_text(json.dumps(altered))
        refused = run("verify", tmp_path / "altered.json")
        assert refused.exit_code == 5 and place in refused.stdout
    page = (tmp_path / "out" / "percentages.html").read_text()
    field = 'data-field="percentages.estimates.0.estimate">'
    at = page.index(field) + len(field)
    (tmp_path / "altered.html").write_text(f"{page[:at]}1{page[at:]}")
    assert run("verify", tmp_path / "altered.html").exit_code == 5


@pytest.mark.parametrize("given", [["--percent", "row"], ["table.json", "count()", "--independence"]])
def test_percentages_are_asked_of_one_record(tmp_path: Path, given: list[str]) -> None:
    (tmp_path / "no.json").write_text("{}")
    refused = run("ask", *given, *(["--out", "x.tex"] if "--independence" in given else []))
    assert refused.exit_code == 2 and refused.stderr.startswith(("HG116", "HG503"))
    assert run("ask", tmp_path / "no.json", "--percent", "row").stderr.startswith("HG502")


def test_a_ledger_is_kept_to(survey: Path, tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="people", budget=Budget(1.0, 1e-6), relation="replace-one", unit="row").close()
    kept = ["--ledger", str(path), "--request-id", "q", "--json"]
    first, again = (run("table", survey, *ONE, *TOTAL, *kept) for _ in range(2))
    assert first.exit_code == again.exit_code == 0
    # A replay says that it is one; all else is printed as before.
    assert json.loads(again.stdout) == {**json.loads(first.stdout), "replayed": True}
    over = run("table", survey, *ONE, "--count", "--by", "sex=0,1", "--ledger", path)
    assert over.exit_code == 3 and "HG310" in over.stderr


def test_help_is_there() -> None:
    result = run("table", "--help")
    assert result.exit_code == 0 and "--guarantee" in result.stdout


def test_the_caption_is_that_of_the_files_too(survey: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert (
        run("table", survey, *ONE, "--count", "--by", "sex=0,1", "--title", "People & co", "--out", folder).exit_code
        == 0
    )
    assert "People &amp; co" in (folder / "table.html").read_text(encoding="utf-8")


def test_what_was_left_out_of_the_folder_is_said(survey: Path, tmp_path: Path) -> None:
    many = ["--by", "pay=" + ",".join(map(str, range(400))), "--by", "sex=" + ",".join(map(str, range(300)))]
    shown = run("table", survey, *ONE, "--count", *many, "--out", tmp_path / "large")
    assert shown.exit_code == 0
    assert (
        "Left out: table.html, table.tex, table.xlsx: a page or a workbook shows at most 100,000 numbers"
        in shown.stdout
    )
    whole = run("table", survey, *ONE, "--count", "--by", "sex=0,1", "--out", tmp_path / "small")
    assert whole.exit_code == 0 and "Left out" not in whole.stdout + whole.stderr
