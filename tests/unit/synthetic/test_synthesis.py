"""Synthetic files: pooled intervals hold the truth, those of files from one fit do not; files keep types and labels."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.stats import binom
from scipy.stats import t as student
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.errors import ParameterError
from hedgerow.margins.agreeing_fit import agreeing_fit
from hedgerow.margins.residuals import TableResiduals, projected
from hedgerow.margins.workload import Workload
from hedgerow.reports.verify.verification import verify_file
from hedgerow.synthetic import sampled_cells, synthesis
from hedgerow.synthetic.joint_law import FitDistance, LawCells, expected_distance, fitted_law, law_distance
from hedgerow.synthetic.sampled_cells import sampled_law
from hedgerow.synthetic.synthesis import SyntheticRows, drawn_rows, re_released, synthetic_rows
from hedgerow.synthetic.written_files import readme

SIZES, N, FILES, RUNS = (2, 3, 4), 1500, 8, 24
WORKLOAD = Workload.up_to(SIZES, 2)
NOISE = 20.0**2 * 12  # of a residual, so that the noise of a cell is larger than its sampling error


def truth() -> np.ndarray:
    """A law with interactions of two columns alone, which the tables carry."""
    rng = np.random.default_rng(1)
    logs = sum(
        rng.normal(0.0, 0.4, [size if place in pair else 1 for place, size in enumerate(SIZES)])
        for pair in ((0, 1), (0, 2), (1, 2))
    )
    whole = np.exp(logs)
    return whole / whole.sum()


def released(counts: np.ndarray, rng: np.random.Generator) -> TableResiduals:
    tables = {table: counts.sum(axis=tuple({0, 1, 2} - set(table))) for table in WORKLOAD.largest}
    exact = TableResiduals.of_tables(WORKLOAD, tables)
    variances = {part: NOISE if part else 0.0 for part in WORKLOAD.tables}
    noisy = {
        part: value + projected(rng.normal(0.0, math.sqrt(variances[part]), value.shape))
        for part, value in exact.values.items()
    }
    return replace(exact, values=noisy, variances=variances)


def questions(levels: np.ndarray) -> tuple[list[float], list[float]]:
    """A share of two columns, and a mean score that uses all three columns additively."""
    inside = (levels[:, 0] == 1) & (levels[:, 1] == 2)
    score = levels[:, 1] - 0.5 * levels[:, 2] + levels[:, 0]
    answers = [inside.mean(), score.mean()]
    return answers, [inside.var() / len(levels), score.var() / len(levels)]


def held(rows: SyntheticRows, files: tuple[np.ndarray, ...], true: list[float]) -> int:
    answers = [questions(levels) for levels in files]
    centre = [questions(levels)[0] for levels in rows.centre_files]
    pooled = hg.pool([answer[0] for answer in answers], [answer[1] for answer in answers], centre=centre)
    return sum(low <= value <= high for (low, high), value in zip(pooled.confidence_interval(), true, strict=True))


def test_pooled_intervals_hold_the_truth_and_those_of_one_fit_do_not() -> None:
    law = truth()
    cells = np.indices(SIZES).reshape(3, -1).T
    share = law[1, 2, :].sum()
    score = float((law.reshape(-1) * (cells[:, 1] - 0.5 * cells[:, 2] + cells[:, 0])).sum())
    rng, good, sabotaged = np.random.default_rng(20261125), 0, 0
    for _ in range(RUNS):
        counts = rng.multinomial(N, law.reshape(-1)).reshape(SIZES).astype(float)
        rows = synthetic_rows(released(counts, rng), agreeing_fit, census=False, n_files=FILES, rng=rng)
        good += held(rows, rows.files, [share, score])
        # The sabotage: every file from the one fit, without a re-release.
        alike = tuple(drawn_rows(rows.law, N, rng) for _ in range(FILES))
        sabotaged += held(rows, alike, [share, score])
    assert binom.cdf(good, 2 * RUNS, 0.95) > 1e-6
    assert binom.cdf(sabotaged, 2 * RUNS, 0.95) < 1e-12


def test_the_fit_is_near_the_best_and_improves_on_the_noise() -> None:
    rng = np.random.default_rng(3)
    counts = rng.multinomial(N, truth().reshape(-1)).reshape(SIZES).astype(float)
    noisy = released(counts, rng)
    law = fitted_law(noisy, agreeing_fit)
    assert law.fit.gap < 0.11 and law.weights.min() >= 0.0 and law.weights.sum() == pytest.approx(N)
    errors = [
        np.square(table - counts.sum(axis=0)).mean()
        for table in (law.cells.table(WORKLOAD, (1, 2), law.weights), noisy.table((1, 2)))
    ]
    assert errors[0] < errors[1]
    # The law has no interaction of three columns: the log odds ratios of two columns are alike in the third.
    whole = np.log(law.weights.reshape(SIZES))
    contrast = whole - whole.mean(0) - whole.mean(1)[:, None] - whole.mean(2)[:, :, None]
    contrast = contrast + whole.mean((0, 1)) + whole.mean((0, 2))[:, None] + whole.mean((1, 2))[:, None, None]
    assert np.abs(contrast - whole.mean()).max() < 1e-6
    assert FitDistance(0.0, 0.0, 0).gap == 0.0


def test_exact_tables_are_fitted_exactly_and_known_ones_kept() -> None:
    counts = np.round(truth() * 1e5)
    exact = TableResiduals.of_tables(
        replace(WORKLOAD, known=frozenset([(), (0,)])),
        {table: counts.sum(axis=tuple({0, 1, 2} - set(table))) for table in WORKLOAD.largest},
    )
    noisy = replace(exact, variances={part: 1.0 if len(part) > 1 else 0.0 for part in WORKLOAD.tables})
    law = fitted_law(noisy, agreeing_fit)
    for table in WORKLOAD.tables:
        fitted = law.cells.table(WORKLOAD, table, law.weights)
        assert fitted == pytest.approx(exact.table(table), abs=0.1)
    again = re_released(law, noisy, census=False, rng=np.random.default_rng(1))
    assert again.table((0,)) == pytest.approx(exact.table((0,)))
    assert np.abs(again.table((1, 2)) - exact.table((1, 2))).max() > 10
    census = re_released(law, noisy, census=True, rng=np.random.default_rng(1))
    assert np.abs(census.table((1, 2)) - exact.table((1, 2))).max() < 10


def test_sampled_cells_fit_as_well_as_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    counts = rng.multinomial(N, truth().reshape(-1)).reshape(SIZES).astype(float)
    noisy = released(counts, rng)
    dense, sampled = fitted_law(noisy, agreeing_fit), sampled_law(noisy, agreeing_fit, rng)
    assert sampled.fit.distance < 1.05 * dense.fit.distance + 1.0
    whole = np.zeros(SIZES)
    np.add.at(whole, tuple(sampled.cells.levels.T), sampled.weights)
    assert np.abs(whole.reshape(-1) - dense.weights).max() < 0.02 * N
    monkeypatch.setattr(synthesis, "MOST_DENSE", 10)
    rows = synthetic_rows(noisy, agreeing_fit, census=False, n_files=2, rng=1)
    assert len(rows.law.weights) > math.prod(SIZES) and all(len(levels) == N for levels in rows.files)
    assert LawCells.dense(WORKLOAD).levels.shape == (24, 3)


def test_rows_that_cannot_hold_the_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand sampled rows for 120 tables collapse: their law is farther than the data, and no file is drawn."""
    monkeypatch.setattr(sampled_cells, "_LEAST_ROWS", 1000)
    monkeypatch.setattr(synthesis, "MOST_DENSE", 10)
    workload, rng = Workload.up_to((3,) * 10, 3), np.random.default_rng(3)
    people = (rng.random((400, 10, 1)) > [[0.5, 0.8]]).sum(axis=2)
    tables = {table: np.zeros(workload.shape(table)) for table in workload.largest}
    for table, counts in tables.items():
        np.add.at(counts, tuple(people[:, table].T), 1.0)
    exact = TableResiduals.of_tables(workload, tables)
    variances = {part: 100.0 if part else 0.0 for part in workload.tables}
    values = {
        part: value + projected(rng.normal(0.0, math.sqrt(variances[part]), value.shape))
        for part, value in exact.values.items()
    }
    noisy = replace(exact, values=values, variances=variances)
    far = law_distance(LawCells.of(workload, people.astype(np.int16), np.full(400, 1 / 400)), np.ones(400), noisy)
    assert 0.8 * expected_distance(noisy) < far < 1.2 * expected_distance(noisy)
    with pytest.raises(ParameterError, match=r"HG251.*No law near the released tables"):
        synthetic_rows(noisy, agreeing_fit, census=False, n_files=2, rng=1)


BY: dict[str, Any] = {
    "sex": {"f": "women", "m": "men"},
    "age": hg.bands(18, 40, 65, 91),
    "income": hg.bands(0, 0.5, 2),
    "region": ["N, coast", "S"],
    "day": ["2026-01-01", "2026-01-02"],
    "rich": [0, 1],
}


def margins(**options: Any) -> Any:
    rng = np.random.default_rng(7)
    n = 3000
    people = pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 92, n),
            "income": rng.uniform(0, 2, n),
            "region": rng.choice(["N, coast", "S", "W"], n),
            "day": rng.choice(["2026-01-01", "2026-01-02"], n),
            "rich": rng.choice([0, 1, 1], n),
        }
    )
    survey = hg.open(people, relation="replace-one", **options)
    return survey.margins(by=BY, order=2, epsilon=3.0, other=True)


def test_files_keep_types_labels_and_all_other_values(tmp_path: Path) -> None:
    made = margins().synthesize(3, rng=1)
    columns = made.columns(0)
    assert list(columns) == ["sex", "sex_label", "age", "income", "region", "day", "rich"]
    assert {type(value) for value in columns["age"] if value is not None} == {int}
    assert {type(value) for value in columns["rich"] if value is not None} == {int}
    assert all(18 <= value <= 91 for value in columns["age"] if value is not None)
    assert {type(value) for value in columns["income"] if value is not None} == {float}
    assert "other" in columns["region"] and date(2026, 1, 1) in columns["day"]
    assert {pair for pair in zip(columns["sex"], columns["sex_label"], strict=True)} >= {("f", "women"), ("m", "men")}
    assert made.columns(0) == columns and made.columns(1) != columns
    again = margins().synthesize(3, rng=1)
    assert again.n_rows == 3000 and again.order == 2 and "3 files of 3,000 rows" in repr(again)
    names = made.write(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(names)
    schema = pyarrow.parquet.read_schema(tmp_path / "out" / "file_01.parquet")
    kinds = ["string", "string", "int64", "double", "string", "date32[day]", "int64"]
    assert [str(kind) for kind in schema.types] == kinds
    parquet = pyarrow.parquet.read_table(tmp_path / "out" / "file_01.parquet").to_pydict()
    assert parquet == columns
    csv = pyarrow.csv.read_csv(tmp_path / "out" / "file_01.csv")
    assert csv.column_names == list(columns) and csv.num_rows == 3000
    assert set(csv["region"].to_pylist()) == set(columns["region"])
    with pytest.raises(ParameterError) as refusal:
        made.write(tmp_path / "out")
    assert refusal.value.code == "HG119"
    made.write(tmp_path / "out", force=True)
    # Files of a call with more files would stay, and would be pooled with the new ones.
    with pytest.raises(ParameterError, match=r"centre_03\.csv"):
        margins().synthesize(2, n_rows=50, rng=1).write(tmp_path / "out", force=True)


def test_the_readme_says_what_the_files_carry_and_the_certificate_verifies(tmp_path: Path) -> None:
    made = margins().synthesize(2, n_rows=50, rng=1)
    made.write(tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Interactions of up to 2 columns" in text and "$" not in text.replace("$", "", 0).split("```r")[0]
    assert "drawn uniformly within their band" in text and "| sex × age |" in text and made.margins.price() in text
    _, verification = verify_file(str(tmp_path / "out" / "certificate.json"))
    assert verification.holds
    _, record = verify_file(str(tmp_path / "out" / "margins.json"))
    assert record.holds and not record.contradictions


def snippet(folder: Path, language: str) -> str:
    """Return the code of a language in the README of written files."""
    margins().synthesize(2, n_rows=50, rng=1).write(folder)
    text = (folder / "README.md").read_text(encoding="utf-8")
    code = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert code is not None
    return code[1]


VARIANCES = [0.5, 1.0, 1.5, 1.0]
# A bias that may be chance; a bias to either side; T of 0 or less.
POOLED = [
    ([1.0, 4.0, 3.0, 7.0], [2.0, 3.0]),
    ([1.0, 4.0, 3.0, 7.0], [0.0, -2.0]),
    ([-1.0, -4.0, -3.0, -7.0], [0.0, 2.0, 1.0]),
    ([1.0, 1.1, 0.9, 1.0], [1.0, 1.1]),
]


def test_the_r_snippet_gives_the_numbers_of_pool(tmp_path: Path) -> None:
    code = snippet(tmp_path / "out", "r")
    assert "pool <- function(q, u, centre = NULL)" in code
    if shutil.which("Rscript") is None:
        pytest.skip("needs R")

    def in_r(*rows: list[float]) -> str:
        return "rbind(" + ", ".join(f"c({', '.join(map(str, row))})" for row in rows) + ")"

    first, second = POOLED[0][0], POOLED[2][0]
    calls = [f"pool({in_r(first, second)}, {in_r(VARIANCES, VARIANCES)})"]
    calls += [f"pool({in_r(estimates)}, {in_r(VARIANCES)}, {in_r(centre)})" for estimates, centre in POOLED]
    expected = [hg.pool(estimates, VARIANCES)[0] for estimates in (first, second)]
    expected += [hg.pool(estimates, VARIANCES, centre=centre)[0] for estimates, centre in POOLED]
    printed = "\n".join([code, *(f"print({call}, digits = 12)" for call in calls)])
    done = subprocess.run(["Rscript", "-e", printed], capture_output=True, text=True, check=True)
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line[:1].isdigit()]
    for line, one in zip(lines, expected, strict=True):
        numbers = [one.estimate, one.standard_error, one.df, *one.confidence_interval(0.95)]
        assert [*map(float, line)] == pytest.approx(numbers)


def run_stata(code: str, columns: dict[str, np.ndarray]) -> list[float]:
    """Return the numbers that a snippet of Stata displays, by the few commands that the snippet uses.

    As in Stata, the text of a macro replaces its name before an expression is computed. So a negative number needs
    brackets before a power and after a minus.
    """
    macros, results, running = dict[str, str](), dict[str, float](), True

    def computed(expression: str) -> Any:
        for name, value in macros.items():
            expression = expression.replace(f"`{name}'", value)
        names = {"max": max, "abs": abs, "sqrt": math.sqrt, "r": results.get}
        names["invttail"] = lambda df, tail: student.isf(tail, df)
        return eval(re.sub(r"r\((\w+)\)", r"r('\1')", expression).replace("^", "**"), {"__builtins__": {}}, names)

    for line in map(str.strip, code.strip().split("\n")):
        if line.startswith("*") or not (running or line == "}"):
            continue
        if part := re.fullmatch(r"quietly summarize (\w+) if centre == ([01])", line):
            chosen = columns[part[1]][columns["centre"] == int(part[2])]
            results |= {"N": len(chosen), "mean": chosen.mean(), "Var": chosen.var(ddof=1)}
        elif part := re.fullmatch(r"local (\w+) = (.+)", line):
            macros[part[1]] = repr(float(computed(part[2])))
        elif part := re.fullmatch(r"if (.+) \{", line):
            running = bool(computed(part[1]))
        elif line == "}":
            running = True
        else:
            shown = re.fullmatch(r'display (.+) "  se " (.+) "  df " (.+) "  " (.+) " to " (.+)', line)
            assert shown is not None, line
            return [float(computed(expression)) for expression in shown.groups()]
    raise AssertionError("The snippet displays nothing.")


@pytest.mark.parametrize(("estimates", "centre"), POOLED)
def test_the_stata_snippet_gives_the_numbers_of_pool(
    tmp_path: Path, estimates: list[float], centre: list[float]
) -> None:
    columns = {
        "q": np.array([*estimates, *centre]),
        "u": np.array([*VARIANCES, *(9.0 for _ in centre)]),
        "centre": np.array([0] * len(estimates) + [1] * len(centre)),
    }
    code = snippet(tmp_path / "out", "stata")
    (one,) = hg.pool(estimates, VARIANCES, centre=centre)
    expected = [one.estimate, one.standard_error, one.df, *one.confidence_interval(0.95)]
    assert run_stata(code, columns) == pytest.approx(expected)
    # The sabotage: without brackets the minus of a negative number is applied after the power.
    if estimates[0] < 0.0:
        assert run_stata(code.replace("(`bias')^2", "`bias'^2"), columns) != pytest.approx(expected)


def test_an_analysis_of_few_columns_is_said_to_be_a_margin() -> None:
    made = margins().synthesize(4, n_rows=400, rng=1)

    def share(frame: Any) -> tuple[float, float]:
        rich = np.array(frame["rich"].to_pylist(), dtype=float)
        value = float(np.nanmean(rich))
        return value, value * (1 - value) / len(rich)

    def of_three(frame: Any) -> tuple[float, float]:
        inside = [row["rich"] == 1 and row["sex"] == "f" and row["region"] == "S" for row in frame.to_pylist()]
        value = float(np.mean(inside))
        return value, value * (1 - value) / len(inside)

    assert "uses the columns rich alone" in made.pool(share).notes[0]
    assert made.pool(of_three).notes == ()
    tables = made.fitted_tables()
    assert len(tables) == 21 and all(table.gap < 10 * table.noise for table in tables)


def test_tables_that_are_mostly_noise_are_named_and_others_are_not() -> None:
    rng = np.random.default_rng(3)
    school, rich = np.minimum(rng.geometric(0.25, 4000) - 1, 11), rng.integers(0, 2, 4000)
    survey = hg.open(pa.table({"school": school, "rich": rich}), relation="replace-one")
    by = {"school": range(12), "rich": [0, 1]}

    def slope(frame: Any) -> tuple[float, float]:
        x, y = (np.array(frame[name].to_pylist(), dtype=float) for name in by)
        return float(np.cov(x, y)[0, 1] / x.var()), float(y.var() / x.var() / len(x))

    for epsilon, weak in ((0.1, True), (20.0, False)):
        files = survey.margins(by=by, order=2, epsilon=epsilon).synthesize(3, rng=1)
        (table,) = (table for table in files.fitted_tables() if table.columns == ("school", "rich"))
        law = files.rows.law.table(files.margins.residuals.workload, (0, 1))
        assert table.small == pytest.approx(sum(cell for cell in law if cell < 2.0 * table.noise) / sum(law))
        assert table.weak == weak == (table.small > 0.01)
        assert any("Weak tables: school × rich." in note for note in files.pool(slope).notes) == weak
        text = readme(files.margins, files.rows)
        assert ("Weak pairs of this release: school × rich." in text) == weak
        assert ("Weak pairs of this release: none." in text) != weak


def test_checked_cells_show_that_intervals_of_one_file_fail() -> None:
    rng = np.random.default_rng(11)
    people = pa.table({name: rng.integers(0, size, 3000) for name, size in (("a", 3), ("b", 4), ("c", 5))})
    survey = hg.open(people, relation="replace-one")
    made = survey.margins(by={"a": [0, 1, 2], "b": range(4), "c": range(5)}, order=2, epsilon=0.3)
    files = made.synthesize(10, rng=1)
    cells = files.checked_cells()
    assert len(cells) == 20 and len({cell.name for cell in cells}) == 20
    held = np.mean([cell.naive_held for cell in cells])
    assert held < 0.8
    for cell in cells:
        estimate = made.table(*(part.split("=")[0] for part in cell.name.split(", ")))
        assert cell.released.estimate in [one.estimate for one in estimate]
        assert cell.one_file.high - cell.one_file.low < cell.pooled.high - cell.pooled.low
    assert files.plot(count=3).get_xlabel() == "records"
    assert [files.checked_cells(3)[0].name] == [files.checked_cells(3)[0].name]


@pytest.mark.parametrize("options", [{"n_files": 1}, {"n_files": 2.5}, {"n_rows": 0}, {"n_rows": 10**8}])
def test_invalid_numbers_of_files_and_rows_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refusal:
        margins().synthesize(**options)
    assert refusal.value.code == "HG251"


def test_totals_of_a_column_and_empty_releases_are_refused() -> None:
    people = pa.table({"a": [0, 1] * 50, "b": [0, 1, 1, 0] * 25, "x": [1.0] * 100})
    survey = hg.open(people, relation="add-remove", target="file")
    by = {"a": [0, 1], "b": [0, 1]}
    with pytest.raises(ParameterError) as refusal:
        survey.margins(by=by, order=2, total="x", bounds=(0, 2), step=1, epsilon=1.0).synthesize()
    assert refusal.value.code == "HG251"
    empty = released(np.zeros(SIZES), np.random.default_rng(1))
    with pytest.raises(ParameterError) as refusal:
        synthetic_rows(empty, agreeing_fit, census=False)
    assert refusal.value.code == "HG251"


def test_the_command_writes_the_folder_from_a_record_alone(tmp_path: Path) -> None:
    record = tmp_path / "margins.json"
    record.write_text(margins().to_json(), encoding="utf-8")
    options = ["--files", "2", "--rows", "60", "--out", str(tmp_path / "o")]
    done = CliRunner().invoke(app, ["synthesize", str(record), *options])
    assert done.exit_code == 0, done.stderr
    assert len(list((tmp_path / "o").glob("*.csv"))) == 4
    assert json.loads((tmp_path / "o" / "margins.json").read_text(encoding="utf-8"))["margins"]["order"] == 2
    refused = CliRunner().invoke(app, ["synthesize", str(record), "--files", "1", "--out", str(tmp_path / "p")])
    assert refused.exit_code == 2 and not (tmp_path / "p").exists()
    missing = CliRunner().invoke(app, ["synthesize", str(tmp_path / "none.json"), "--out", str(tmp_path / "p")])
    assert missing.exit_code == 2 and missing.stderr.startswith("HG503")
    assert "margins.json" in missing.stderr and "verify" not in missing.stderr
