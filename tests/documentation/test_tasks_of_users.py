"""Twelve tasks of an agency, a social scientist and an engineer, from files as their programs write them.

The tasks were written before the documents were read. Each is done with what the documents say, in the shell or in
Python; a test says what the person holds in hand at the end.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app

N = 2_000


def write_files(folder: Path) -> None:
    """Write the files of all tasks: Stata, SPSS, Excel, CSV of R, folders of Parquet files, SQLite."""
    rng = np.random.default_rng(36)
    sex = rng.choice(["female", "male"], N)
    result = np.where(rng.random(N) < np.where(sex == "female", 0.75, 0.55), "passed", "failed")
    pd.DataFrame({"sex": sex, "result": result}).to_stata(folder / "exams.dta", write_index=False)

    admitted = np.datetime64("2024-01-01") + rng.integers(0, 731, N)
    stays = pl.DataFrame({"admitted": admitted, "days": rng.gamma(2, 3, N).round(1)})
    for year in (2024, 2025):
        part = folder / "stays" / f"year={year}"
        part.mkdir(parents=True)
        stays.filter(pl.col("admitted").dt.year() == year).write_parquet(part / "part-0.parquet")

    region = rng.choice(["North", "South", "East"], N)
    income = rng.lognormal(10.3, 0.6, N).round(0)
    pd.DataFrame({"region": region, "gross_income": income}).to_excel(folder / "incomes.xlsx", index=False)

    jobs = rng.choice(["Clerks, secretaries", "Managers", "Sales, service"], N, p=[0.4, 0.2, 0.4])
    lines = [f'"{row}","{a}","{b}"' for row, (a, b) in enumerate(zip(region, jobs, strict=True), start=1)]
    (folder / "employees.csv").write_text("\n".join(['"","region","occupation"', *lines]) + "\n")

    education, age = rng.integers(8, 19, N), rng.integers(18, 66, N)
    log_wage = 1.2 + 0.07 * education + 0.04 * age - 0.0004 * age**2 - 0.15 * (sex == "female")
    wage = np.exp(log_wage + rng.normal(0.0, 0.4, N)).round(2)
    panel = pd.DataFrame({"wage": wage, "education": education, "age": age, "sex": sex})
    panel.to_stata(folder / "panel.dta", write_index=False)
    panel[["sex", "wage"]].to_csv(folder / "wages.csv", index=False)

    voted = (rng.random(N) < 1.0 / (1.0 + np.exp(3.0 - 0.03 * age - 0.15 * education))).astype(int)
    pl.DataFrame({"voted": voted, "age": age, "education": education}).write_parquet(folder / "turnout.parquet")

    school = rng.integers(1, 4, N)
    party = np.where(rng.random(N) < 0.2 + 0.15 * school, 1, rng.choice([2, 3], N))
    write_spss(folder / "vote.sav", school.astype(float), party.astype(float))

    started = np.datetime64("2026-01-01T00:00:00") + rng.integers(0, 86_400 * 90, N).astype("timedelta64[s]")
    sessions = [
        (int(user), str(at).replace("T", " "), int(seconds))
        for user, at, seconds in zip(rng.integers(1, 800, N), started, rng.integers(5, 3_600, N), strict=True)
    ]
    with closing(sqlite3.connect(folder / "sessions.sqlite")) as database, database:
        database.execute("CREATE TABLE sessions (user_id INTEGER, started_at TIMESTAMP, seconds INTEGER)")
        database.executemany("INSERT INTO sessions VALUES (?, ?, ?)", sessions)

    latency = {"service": rng.choice(["api", "web", "batch"], N), "region": rng.choice(["eu", "us"], N)}
    latency |= {"latency_ms": rng.gamma(2, 60, N).round(0).astype(int)}
    pl.DataFrame(latency).write_parquet(folder / "latency.parquet")

    moment = np.datetime64("2026-02-01T00:00:00") + rng.integers(0, 86_400 * 60, N).astype("timedelta64[s]")
    log = {"time": pd.to_datetime(moment), "response_ms": rng.lognormal(4, 1, N).round(1)}
    pd.DataFrame(log).to_csv(folder / "log.csv", index=False)


def write_spss(path: Path, school: Any, party: Any) -> None:
    import pyreadstat

    labels = {
        "school": {1.0: "primary", 2.0: "secondary", 3.0: "tertiary"},
        "party": {1.0: "Green", 2.0: "Red", 3.0: "Blue"},
    }
    pyreadstat.write_sav(pd.DataFrame({"school": school, "party": party}), path, variable_value_labels=labels)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


@pytest.fixture(autouse=True)
def at_work(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one person's own, with the files in it."""
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(line: str, code: int = 0) -> str:
    """Run a line of the shell, and return what it prints."""
    program, *words = shlex.split(line)
    assert program == "hedgerow"
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == code, shown.output
    return shown.output


def test_agency_1_percentages_of_a_stata_file_for_print_and_whether_two_columns_depend() -> None:
    told = shell(
        "hedgerow table exams.dta --relation replace-one --count --by sex=female,male --by result=passed,failed "
        "--percent row --independence --epsilon 1 --out exams"
    )
    assert "p = 0.0002" in told and "Each category of sex has 100 %." in told
    latex = Path("exams/percentages.tex").read_text()
    assert r"\toprule" in latex and "female &" in latex and "$\\varepsilon$" in latex
    assert shell("hedgerow verify exams/percentages.html").startswith("HOLDS")


def test_agency_2_months_of_a_year_from_folders_within_one_budget() -> None:
    shell("hedgerow ledger create stays.ledger --dataset stays --epsilon 2 --relation add-remove")
    asked = (
        "hedgerow release stays --relation add-remove --mean days:0:60:0.1 --count --where \"year == '2025'\" "
        '--by "(month(admitted))=1,2,3,4,5,6,7,8,9,10,11,12" --ledger stays.ledger '
    )
    shell(asked + "--epsilon 1.5 --out stays25")
    released = pd.read_csv("stays25/estimates.csv")
    assert len(released) == 24 and abs(released[released.statistic == "count"].estimate.sum() - N / 2) < 150
    assert "HG310" in shell(asked + "--epsilon 1", code=3)


def test_agency_3_deciles_of_a_workbook_and_pictures_for_print_and_for_a_dark_page() -> None:
    survey = hg.open("incomes.xlsx", relation="replace-one")
    deciles = [place / 10 for place in range(1, 10)]
    income = {"bounds": (0, 200_000), "step": 100}
    release = survey.release(
        [hg.quantile("gross_income", deciles, **income), hg.gini("gross_income", **income)], epsilon=1.0
    )
    assert len(release) == 10
    release.write("incomes.pdf")
    release.write("incomes.png", dark=True)
    assert Path("incomes.pdf").read_bytes().startswith(b"%PDF") and Path("incomes.png").stat().st_size > 10_000


def test_agency_4_a_table_of_a_file_that_r_wrote_whose_labels_hold_commas() -> None:
    listed = '--by region=North,South,East --by \'occupation="Clerks, secretaries",Managers,"Sales, service"\''
    asked = f"hedgerow table employees.csv --relation replace-one --count {listed} --epsilon 1 "
    told = shell(asked + "--percent row --out employees")
    assert "Clerks, secretaries" in told and "left out. Name it to use it." in told
    assert {"table.html", "percentages.html", "percentages.xlsx"} <= {file.name for file in Path("employees").iterdir()}
    # The slip of a first try: it costs nothing.
    slip = "hedgerow table employees.csv --relation replace-one --count --epsilon 1 --by "
    assert "double quotes" in shell(slip + "\"occupation='Clerks, secretaries',Managers\"", code=2)


def test_scientist_1_log_wages_as_in_statsmodels_and_two_models_side_by_side() -> None:
    survey = hg.open("panel.dta", relation="replace-one")
    bounds = {"log(wage)": (1, 5), "education": (8, 18), "age": (18, 65)}
    fit = survey.ols(
        "np.log(wage) ~ education + age + I(age**2) + C(sex)",
        bounds=bounds,
        categories={"sex": ["female", "male"]},
        epsilon=4.0,
    )
    summary = fit.summary(p_values=True)
    assert "Dep. Variable:" in summary and "P>|t|" in summary and fit.pvalues["education"] < 0.001
    small = fit.submodel("log(wage) ~ education + age + C(sex)")
    hg.models(fit, small, names=["full", "small"], stars=True).to_latex("models.tex")
    assert "***" in Path("models.tex").read_text().replace("{*}", "*")


def test_scientist_2_shares_of_parties_by_school_in_a_quarto_paper() -> None:
    survey = hg.open("vote.sav", relation="replace-one")
    by = {
        "school": {1: "primary", 2: "secondary", 3: "tertiary"},
        "party": {1: "Green", 2: "Red", 3: "Blue"},
    }
    table = survey.contingency_table(by=by, epsilon=1.0)
    shares = table.percentages(of="school")
    shares.write("vote.qmd", title="Parties by school")
    assert "{#tbl-release}" in Path("vote.qmd").read_text()
    assert table.independence().pvalue < 0.001
    assert list(shares.to_frame("pandas", across="party").columns)[-3:] == ["Green", "Red", "Blue"]


def test_scientist_3_the_gap_of_wages_as_difference_ratio_and_of_logarithms() -> None:
    survey = hg.open("wages.csv", relation="replace-one")
    log_wage = hg.column("log(wage)", bounds=(0, 5))
    release = survey.release(
        [hg.mean("wage", bounds=(0, 100)), hg.mean(log_wage)], by={"sex": ["female", "male"]}, epsilon=4.0
    )
    female, male = (release.estimate("mean", "wage", sex=sex) for sex in ("female", "male"))
    low, high = (female / male).confidence_interval(0.95)
    assert low < (female / male).estimate < high and (female - male).test(0).pvalue < 0.05
    gap = release.ask('mean("log(wage)" | sex=female) - mean("log(wage)" | sex=male)')
    assert gap.confidence_interval(0.95).low < -0.05


def test_scientist_4_a_logit_with_a_predicted_chance_a_picture_and_a_frame() -> None:
    survey = hg.open("turnout.parquet", relation="replace-one")
    fit = survey.logit("voted ~ age + education", bounds={"age": (18, 65, 1), "education": (8, 18, 1)}, epsilon=4.0)
    (chance,) = fit.predict({"age": 40, "education": 12})
    assert 0.0 < chance.low < chance.high < 1.0
    fit.write("coefficients.png")
    frame = fit.to_frame("pandas", p_values=True)
    assert {"term", "estimate", "standard_error", "pvalue"} <= set(frame.columns)


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_engineer_1_a_nightly_job_on_sqlite_that_stops_with_its_budget() -> None:
    pytest.importorskip("ibis")
    shell("hedgerow ledger create sessions.ledger --unit user_id:10 --relation add-remove --epsilon 1")
    nightly = (
        "hedgerow release sessions.sqlite --unit user_id:10 --relation add-remove --mean seconds:0:3600 "
        '--by "(weekday(started_at))=1,2,3,4,5,6,7" --epsilon 0.5 --ledger sessions.ledger --quiet'
    )
    assert "weekday(started_at)=7" in shell(nightly)
    shell(nightly)
    assert "HG310" in shell(nightly, code=3)


def test_engineer_2_a_file_on_the_web_is_read_or_the_way_to_it_is_said() -> None:
    told = shell(
        "hedgerow table http://127.0.0.1:9/events.parquet --relation add-remove --count --by status=200 --epsilon 1",
        code=2,
    )
    assert told.startswith(("HG215", "HG207"))


def test_engineer_3_a_wide_frame_in_two_libraries_and_a_record_that_another_person_checks() -> None:
    by = {"service": ["api", "web", "batch"], "region": ["eu", "us"]}
    for frame in (pd.read_parquet("latency.parquet"), pl.read_parquet("latency.parquet")):
        survey = hg.open(frame, relation="add-remove")
        release = survey.mean("latency_ms", bounds=(0, 1_000), step=1, by=by, epsilon=1.0)
        wide = release.to_frame(across="region")
        assert isinstance(wide, type(frame)) and wide.shape == (3, 5) and list(wide.columns)[-2:] == ["eu", "us"]
    release.to_json("latency.json")
    assert shell("hedgerow verify latency.json").startswith("HOLDS")
    assert json.loads(Path("latency.json").read_text())["estimates"][0]["cell"] == {"service": "api", "region": "eu"}


def test_engineer_4_percentiles_before_and_since_a_moment() -> None:
    asked = "hedgerow release log.csv --relation add-remove --quantile response_ms:0.5,0.9:0:5000 --epsilon 1 --quiet "
    for condition in ("time < '2026-03-01 12:00'", "time >= '2026-03-01 12:00' and time < '2026-04-03'"):
        assert "quantile_0.9 response_ms" in shell(f'{asked} --where "{condition}"')
