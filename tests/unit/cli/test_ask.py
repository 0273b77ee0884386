"""`hedgerow ask` and `hedgerow release --ask`: what they print, what stays in the record, and what is refused first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.release.result import release_from_record
from hedgerow.reports.verify.verification import verify_record

RNG = np.random.default_rng(17)
AGE = np.clip(RNG.normal(45.0, 15.0, 3000), 0, 100)
TABLE = pa.table({"age": AGE, "pay": np.clip(AGE * RNG.uniform(0, 2, 3000), 0, 200), "sex": RNG.integers(0, 2, 3000)})
GROUPS = "ratio(pay, age | sex=0) - ratio(pay, age | sex=1)"
ASKED = ["--relation", "replace-one", "--ratio", "pay:0:200/age:0:100", "--count", "--by", "sex=0,1", "--epsilon", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ask")
    pq.write_table(TABLE, made / "people.parquet")
    for name, more in (("one", ["--ask", GROUPS, "--ask", "2 * ratio(| sex=0)"]), ("two", [])):
        done = run(["release", str(made / "people.parquet"), *ASKED, *more, "--out", str(made / name)])
        assert done.exit_code == 0, done.output
        (made / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
    return made


def run(arguments: list[str]) -> Any:
    return CliRunner().invoke(app, arguments)


def record(folder: Path, name: str = "one") -> Any:
    return json.loads((folder / name / "release.json").read_text(encoding="utf-8"))


def test_answers_stand_in_the_output_the_record_and_the_page(folder: Path) -> None:
    printed = (folder / "one.txt").read_text(encoding="utf-8")
    found = record(folder)
    first, second = found["asked"]
    assert (first["expression"], second["expression"]) == (GROUPS, "2 * ratio(| sex=0)")
    ratios = [one for one in found["estimates"] if one["statistic"] == "ratio"]
    assert first["estimate"] == pytest.approx(ratios[0]["estimate"] - ratios[1]["estimate"])
    assert first["standard_error"] == pytest.approx(
        np.hypot(ratios[0]["standard_error"], ratios[1]["standard_error"]), rel=0.02
    )
    assert GROUPS in printed and "2 * ratio(| sex=0)" in printed and printed.count("Price:") == 1
    page = (folder / "one" / "report.html").read_text(encoding="utf-8")
    assert "Computed from the estimates" in page and "<bdi>2 * ratio(| sex=0)</bdi>" in page
    assert "Computed from the estimates" not in (folder / "two" / "report.html").read_text(encoding="utf-8")
    again = release_from_record(json.dumps(found))
    assert again.to_dict() == found and list(again.answers) == [GROUPS, "2 * ratio(| sex=0)"]


def test_a_record_answers_what_its_release_answered(folder: Path) -> None:
    for name in ("release.json", "report.html"):
        done = run(["ask", str(folder / "one" / name), GROUPS, "--json"])
        assert done.exit_code == 0, done.output
        answer, asked = json.loads(done.stdout), record(folder)["asked"][0]
        for part in ("estimate", "sampling_error", "privacy_error"):
            assert answer[part] == pytest.approx(asked[part])
        assert answer["confidence_interval"]["low"] == pytest.approx(asked["confidence_interval"]["low"])
    narrow = json.loads(run(["ask", str(folder / "one" / "release.json"), GROUPS, "--level", ".5", "--json"]).stdout)
    assert narrow["confidence_interval"]["high"] < record(folder)["asked"][0]["confidence_interval"]["high"]
    text = run(["ask", str(folder / "one" / "release.json"), "log(ratio(| sex=0))"]).stdout
    assert text.startswith("asked") and "In 95 % of such releases" in text and "population ratio of" in text


def test_records_of_different_people_are_combined_on_request(folder: Path) -> None:
    records = [str(folder / name / "release.json") for name in ("one", "two")]
    text = "r1.ratio(| sex=0) - r2.ratio(| sex=0)"
    refused = run(["ask", *records, text])
    assert refused.exit_code == 2 and "HG130" in refused.stderr and "--independent" in refused.stderr
    done = run(["ask", *records, text, "--independent", "--json"])
    answer = json.loads(done.stdout)
    errors = [record(folder, name)["estimates"][-2]["standard_error"] for name in ("one", "two")]
    assert answer["standard_error"] == pytest.approx(np.hypot(*errors), rel=0.02)
    within = json.loads(run(["ask", *records, "r2.ratio(| sex=0) - r2.ratio(| sex=0)", "--json"]).stdout)
    assert within["standard_error"] == 0.0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mean(age)", "HG137"),
        ("ratio(| sex=2)", "HG137"),
        ("ratio(| sex=0", "HG136"),
        ("1 + 1", "HG136"),
    ],
)
def test_bad_expressions_are_refused_before_anything_is_read(folder: Path, text: str, code: str) -> None:
    for source in (folder / "people.parquet", folder / "no such file.parquet"):
        ledger = ["--ledger", str(folder / "no ledger")]  # not there: it would be refused when the price is reserved
        refused = run(["release", str(source), *ASKED, "--ask", "ratio(| sex=0)", "--ask", text, *ledger])
        assert refused.exit_code == 2 and not refused.stdout
        assert (code if source.exists() else "HG2") in refused.stderr
    refused = run(["ask", str(folder / "one" / "release.json"), text, "--json"])
    assert refused.exit_code == 2 and json.loads(refused.stderr)["error"]["code"] == code


@pytest.mark.parametrize("name", ["estimate", "privacy_error"])
def test_an_answer_that_does_not_follow_is_found(folder: Path, name: str) -> None:
    found = record(folder)
    assert verify_record(found).holds
    found["asked"][1][name] *= 1.01
    assert f"The field asked.1.{name} is not what the rest of the record gives." in verify_record(found).contradictions


def test_python_asks_with_the_release_and_after_a_replay(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.duckdb"
    assert run(["ledger", "create", str(ledger), "--relation", "replace-one", "--epsilon", "3", "--delta", "1e-6"])
    survey = hg.open(TABLE, relation="replace-one", ledger=ledger)
    ratio = hg.ratio("pay", "age", bounds={"pay": (0, 200), "age": (0, 100)})
    first, again = (
        survey.release(ratio, by={"sex": [0, 1]}, epsilon=1.0, request_id="a", ask=[GROUPS]) for _ in range(2)
    )
    assert again.replayed and again.answers[GROUPS].estimate == pytest.approx(first.answers[GROUPS].estimate)
    assert (2 * first.answers[GROUPS]).statistic == f"2 * ({GROUPS})"
    for wrong in (GROUPS, [1]):
        with pytest.raises(hg.ParameterError, match="HG136"):
            survey.release(ratio, by={"sex": [0, 1]}, epsilon=1.0, ask=wrong)


@pytest.fixture(scope="module")
def areas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release of ages and counts in six areas, of which the last one is older."""
    made = tmp_path_factory.mktemp("areas")
    area = RNG.integers(0, 6, 3000)
    pq.write_table(pa.table({"age": np.clip(AGE + 20.0 * (area == 5), 0, 100), "area": area}), made / "people.parquet")
    asked = [
        "--relation",
        "replace-one",
        "--mean",
        "age:0:100",
        "--count",
        "--by",
        "area=0,1,2,3,4,5",
        "--epsilon",
        "2",
    ]
    done = run(["release", str(made / "people.parquet"), *asked, "--out", str(made / "out")])
    assert done.exit_code == 0, done.output
    (made / "totals.csv").write_text("area,count\n0,500\n1,500\n", encoding="utf-8")
    return made


def ask_cells(folder: Path, *arguments: str) -> Any:
    return run(["ask", str(folder / "out" / "release.json"), *arguments])


def test_all_cells_are_read_from_a_record(areas: Path) -> None:
    release = hg.Release.from_json(areas / "out" / "release.json")
    screened = json.loads(ask_cells(areas, "mean(age)", "--screen", "45", "--method", "holm", "--json").stdout)
    assert screened == json.loads(json.dumps(release.screen(of="mean(age)", against=45, method="holm").to_dict()))
    assert screened["cells"][5]["differs"]
    common = ask_cells(areas, "mean(age)", "--screen", "common")
    assert common.stdout.strip() == str(release.screen(of="mean(age)")) and "(area=5)" in common.stdout
    itself = ask_cells(areas, "mean(age)", "--screen", str(areas / "out" / "release.json"), "--independent")
    assert itself.stdout.startswith("0 of 6 cells differ from the earlier release.")

    shrunk = json.loads(ask_cells(areas, "mean(age)", "--shrink", "--level", ".9", "--json").stdout)
    assert shrunk == json.loads(json.dumps(release.shrink(of="mean(age)").to_dict(0.9)))
    assert "on average" in shrunk["note"] or "single cell" in shrunk["note"]

    together = json.loads(ask_cells(areas, "mean(age)", "--simultaneous", "--json").stdout)["cells"]
    own = json.loads(ask_cells(areas, "mean(age | area=3)", "--json").stdout)["confidence_interval"]
    assert together[3]["low"] < own["low"] < own["high"] < together[3]["high"]
    assert "all these intervals hold together" in ask_cells(areas, "mean(age)", "--simultaneous").stdout

    agreeing = json.loads(ask_cells(areas, "count()", "--known", str(areas / "totals.csv"), "--json").stdout)["cells"]
    assert [cell["estimate"] for cell in agreeing[:2]] == pytest.approx([500.0, 500.0])
    assert agreeing[0]["privacy_error"] < 1e-6 < agreeing[2]["privacy_error"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--screen", "45"], "HG146"),  # two statistics, and none is named
        (["mean(age)", "--screen", "45", "--method", "hochberg"], "HG146"),
        (["mean(age)", "--screen", "no such record.json"], "HG503"),
        (["mean(age)", "--screen", "common", "--shrink"], "HG116"),
        (["mean(age)", "count()", "--shrink"], "HG116"),
        (["mean(age)", "--shrink", "--test", "0"], "HG116"),
        (["mean(age)", "--shrink", "--towards", "sex"], "HG146"),
        (["mean(age)", "--known", "totals.csv"], "HG146"),
        (["count()", "--known", "no such file.csv"], "HG241"),
        (["mean(age)", "--simultaneous", "--level", "95"], "HG110"),
        (["mean(age)", "--method", "holm"], "HG116"),
    ],
)
def test_readings_of_all_cells_that_cannot_be_made_are_refused(areas: Path, arguments: list[str], code: str) -> None:
    arguments = [str(areas / word) if word == "totals.csv" else word for word in arguments]
    refused = ask_cells(areas, *arguments, "--json")
    assert refused.exit_code != 0 and json.loads(refused.stderr)["error"]["code"] == code
