"""Survival from one table of counts: asked, planned, released, recorded, verified, read again, refused."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.reports import report_html
from hedgerow.reports.verify.verification import verify_record

N = 3000


def people() -> pa.Table:
    rng = np.random.default_rng(4)
    sex = rng.integers(0, 2, N)
    time, censored = rng.exponential(30.0 - 12.0 * sex), rng.uniform(0.0, 60.0, N)
    died = (time <= censored).astype(int)
    return pa.table({"months": np.minimum(time, censored), "died": died, "sex": sex, "age": rng.uniform(20, 80, N)})


def opened(relation: str = "replace-one", **about: Any) -> hg.Survey:
    return hg.open(people(), relation=relation, **about)


@pytest.fixture(scope="module")
def release() -> hg.Release:
    asked = [hg.survival("months", "died", at=[12, 24, 36]), hg.count()]
    return opened().release(asked, by={"sex": [0, 1]}, epsilon=1.0)


def test_the_shares_are_near_the_truth_with_errors(release: hg.Release) -> None:
    for estimate in release:
        if estimate.statistic == "count":
            continue
        months = float(estimate.statistic.removeprefix("survival_"))
        truth = math.exp(-months / (30.0 - 12.0 * float(estimate.cell["sex"])))
        assert abs(estimate.estimate - truth) < 5.0 * estimate.standard_error
        low, high = estimate.confidence_interval()
        assert low < estimate.estimate < high and high - low < 5.0 * estimate.standard_error
        assert estimate.column == "months, died" and estimate.method == "life-table"


def test_all_times_of_a_curve_cost_what_one_costs() -> None:
    survey, by = opened(), {"sex": [0, 1]}
    one, three = (survey.plan(hg.survival("months", "died", at=at), by=by, epsilon=1.0) for at in (36, [12, 24, 36]))
    assert one.mechanism == three.mechanism and one.epsilon == three.epsilon
    table = survey.plan(hg.count(), by={"sex": [0, 1], "months": hg.bands(*range(26))}, epsilon=1.0)
    # One record is in one class: a table of 2 × 25 counts costs the same.
    assert three.mechanism.noise_sd == table.mechanism.noise_sd


@pytest.mark.parametrize("withdrawn", ["evenly", "middle", "end"])
def test_a_record_changes_one_class_by_one(withdrawn: str) -> None:
    """All neighbours of a small table: replaced, at most two counts change by 1."""
    from hedgerow.engines.source import open_source
    from hedgerow.facts.relation import Relation, Target
    from hedgerow.release.designs.design import PublicFacts
    from hedgerow.release.designs.survival_design import SurvivalRelease

    asked = hg.survival("t", "e", at=[2.0, 4.0], bins=[1, 2, 4], withdrawn=withdrawn)
    facts = PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 3)
    design = SurvivalRelease(asked[0], (1, 2), (), facts, hg.facts.columns.Missing.DROP, "geometric")
    values = list(itertools.product([-1.0, 0.0, 1.0, 1.5, 4.0, 9.0, None, math.nan], [0, 1, None]))

    def counts(record: tuple[Any, Any]) -> np.ndarray[Any, Any]:
        table = pa.table(
            {"t": pa.array([0.5, 3.0, record[0]], pa.float64()), "e": pa.array([1, 0, record[1]], pa.int64())}
        )
        return design.classes(open_source(table).histogram(design.query))

    every = [counts(value) for value in values]
    assert all(np.abs(a - b).sum() <= 2 for a, b in itertools.combinations(every, 2))
    assert max(np.abs(a - b).sum() for a, b in itertools.combinations(every, 2)) == 2
    # Left out: a time below 0, a missing time, a missing event.
    assert {int(each.sum()) for each in every} == {2, 3}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{}, {"delta": 0.0}, {"noise": "gaussian"}, {"where": "age >= 40"}, {"rho": 0.05}])
def test_a_record_is_verified_and_read_again(relation: str, options: dict[str, Any], tmp_path: Path) -> None:
    budget = {} if "rho" in options else {"epsilon": 1.0}
    asked = [hg.survival("months", "died", at=[12, 36], bins=[6, 12, 24, 36]), hg.mean("age", bounds=(0, 100))]
    first = opened(relation).release(asked[:1] if options.get("delta") == 0.0 else asked, **budget, **options)
    record = json.loads(first.to_json())
    verified = verify_record(record)
    assert verified.holds and verified.contradictions == ()
    path = tmp_path / "release.json"
    first.to_json(path)
    again = hg.Release.from_json(path)
    assert again.to_json() == first.to_json()
    for own, other in zip(first, again, strict=True):
        assert (own.estimate, own.standard_error) == (other.estimate, other.standard_error)
    curve, same = first.survival("months"), again.survival("months")
    for reading in ("median", "at_risk"):
        assert str(getattr(curve, reading)()) == str(getattr(same, reading)())
    assert str(curve.restricted_mean(30.0)) == str(same.restricted_mean(30.0))
    assert again[0].confidence_interval(0.8).low == first[0].confidence_interval(0.8).low
    record["noisy"][0]["values"][0] += 50.0
    assert verify_record(record).contradictions


def test_an_earlier_record_is_read_with_constant_hazards() -> None:
    """Records that do not say that hazards are lines were computed with constant ones."""
    asked = [replace(one, hazards="constant") for one in hg.survival("months", "died", at=[12, 36], bins=[12, 24, 36])]
    release = opened().release(asked, epsilon=1.0)
    record = json.loads(release.to_json())
    assert all("hazards" not in statistic for statistic in record["request"]["statistics"])
    verified = verify_record(record)
    assert verified.holds and verified.contradictions == ()
    for statistic in record["request"]["statistics"]:
        statistic["hazards"] = "lines"
    assert verify_record(record).contradictions


def test_two_curves_and_two_policies_are_two_tables(tmp_path: Path) -> None:
    table = people().append_column("left", people()["died"])
    survey = hg.open(table, relation="add-remove")
    asked = [hg.survival("months", "died", at=[12, 24]), hg.survival("months", "left", at=12, bins=[6, 12])]
    both = survey.release(asked, epsilon=4.0)
    assert [estimate.column for estimate in both] == ["months, died", "months, died", "months, left"]
    verified = verify_record(json.loads(both.to_json()))
    assert verified.holds and verified.contradictions == ()
    assert both.estimate("survival", "months", "left", 12) is both[2]
    with pytest.raises(hg.ParameterError, match="HG137"):
        both.survival("months")
    with pytest.raises(hg.ParameterError, match="HG130"):
        both.ask("survival(months, died, 12) - survival(months, left, 12)")


def test_differences_between_cells_are_computed_from_the_record_too(release: hg.Release, tmp_path: Path) -> None:
    release.to_json(tmp_path / "release.json")
    again = hg.Release.from_json(tmp_path / "release.json")
    for text in (
        "survival(months, died, 24 | sex=0) - survival(months, died, 24 | sex=1)",
        "survival(months, died, 24 | sex=0) / survival(months, died, 12 | sex=0)",
        "restricted_mean(months, died, 36 | sex=0) - restricted_mean(months, died, 36 | sex=1)",
        "survival(months, died, 6 | sex=0) - survival(months, died, 6 | sex=1)",
    ):
        mine, other = release.ask(text), again.ask(text)
        assert (mine.estimate, mine.standard_error) == pytest.approx((other.estimate, other.standard_error))
        low, high = mine.confidence_interval()
        assert (high - low) / 3.92 == pytest.approx(mine.standard_error, rel=0.02)
    assert release.log_rank("months") == again.log_rank("months")
    assert release.log_rank("months").pvalue < 1e-6
    # Shares and means of one call were drawn apart.
    with pytest.raises(hg.ParameterError, match="HG130"):
        release.ask("survival(months, died, 24 | sex=0) - count(| sex=0)")


def test_an_expression_is_checked_before_anything_is_spent(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    start = ["release", str(tmp_path / "people.csv"), "--relation", "replace-one", "--epsilon", "1", "--by", "sex=0,1"]
    asked = [*start, "--survival", "months/died=1:12,36", "--out", str(tmp_path / "out")]
    text = "survival(months, died, 36 | sex=0) - survival(months, died, 36 | sex=1)"
    released = CliRunner().invoke(app, [*asked, "--ask", text])
    assert released.exit_code == 0, released.stderr
    assert text in released.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "survival_36" in page
    record = str(tmp_path / "out" / "release.json")
    answered = CliRunner().invoke(app, ["ask", record, "median_survival(months, died | sex=1)", "--json"])
    assert answered.exit_code == 0, answered.stderr
    assert 8.0 < json.loads(answered.stdout)["estimate"] < 18.0
    assert CliRunner().invoke(app, ["verify", record]).exit_code == 0
    refused = CliRunner().invoke(app, [*start, "--survival", "months/died=1:12", "--ask", "survival(months, died, 7)"])
    assert refused.exit_code == 2 and "HG137" in refused.stderr


def test_readings_of_a_curve(release: hg.Release) -> None:
    curve = release.survival("months", sex=0)
    median = curve.median()
    assert abs(median.estimate - 30.0 * math.log(2.0)) < 5.0 * median.standard_error
    mean = curve.restricted_mean(36.0)
    assert abs(mean.estimate - 30.0 * (1.0 - math.exp(-1.2))) < 5.0 * mean.standard_error
    at_risk = [curve.at_risk(months) for months in (0, 12, 36)]
    assert at_risk[0].estimate > at_risk[1].estimate > at_risk[2].estimate > 0.0
    columns = curve.to_columns()
    assert columns["time"][-1] == 36.0 and len(set(map(len, columns.values()))) == 1
    assert columns["survival"][3] == curve.survival(12).estimate
    assert "Survival of months, died (sex=0)" in curve._repr_html_()
    axes = release.plot_survival("months")
    assert axes.get_xlim() == (0.0, 36.0) and len(axes.lines) == 2
    for wrong in (lambda: curve.survival(13), lambda: curve.quantile(1.0), lambda: curve.restricted_mean(40)):
        with pytest.raises(hg.ParameterError, match="HG112"):
            wrong()
    with pytest.raises(hg.ParameterError, match="HG137"):
        release.survival("months", sex=2)
    # Survival falls to a quarter after the last cut: nothing is said of the end.
    late = curve.quantile(0.1)
    assert late.confidence_interval().high == math.inf and not late.reliable
    assert "null" in json.dumps(late.to_dict())


def test_numbers_at_risk_do_not_overlap_where_cuts_stand_close() -> None:
    bins = [1, 2, 3, 4, 5, 6, 7, 8, 20, 36]
    axes = opened().release(hg.survival("months", "died", at=[8], bins=bins), epsilon=1.0).plot_survival("months")
    places = [text.xy[0] for text in axes.texts if text.get_text().replace(",", "").isdigit()]
    assert places == [0.0, 6.0, 20.0]


def test_a_census_has_noise_alone() -> None:
    read = opened(target="file").release(hg.survival("months", "died", at=[12]), epsilon=1.0)
    assert read[0].sampling_error == 0.0 < read[0].privacy_error


def test_the_forecast_is_near_what_is_released() -> None:
    survey, asked = opened(), hg.survival("months", "died", at=[12, 24])
    expected = survey.plan(asked, epsilon=1.0).forecast({"died": {"share": 0.6}})
    for before, after in zip(expected, survey.release(asked, epsilon=1.0), strict=True):
        assert after.standard_error < 1.5 * before.standard_error
        assert before.standard_error < 2.0 * after.standard_error
    assert "nothing censored" in str(survey.plan(asked, epsilon=1.0).forecast())


def test_facts_ask_for_survival(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    lines = 'relation = "replace-one"\n[[release]]\nepsilon = 1.0\nstatistics = [\n'
    lines += '  { statistic = "survival", time = "months", event = "died", at = [12, 24], bins = [6, 12, 18, 24] },\n'
    lines += '  { statistic = "cdf", column = "age", at = 40, bounds = [0, 100], step = 1 },\n]\n'
    (tmp_path / "hedgerow.toml").write_text(lines)
    planned = CliRunner().invoke(
        app, ["plan", str(tmp_path / "people.csv"), "--facts", str(tmp_path / "hedgerow.toml"), "--json"]
    )
    assert planned.exit_code == 0, planned.stderr
    names = [each["statistic"] for each in json.loads(planned.stdout)["plans"][0]["expected"]]
    assert names == ["survival_12", "survival_24", "cdf_40"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"weights": ("age", 100.0)}, "HG135"),
        ({"estimator": "bootstrap"}, "HG108"),
        ({"estimator": "moments"}, "HG108"),
        ({"missing": "midpoint"}, "HG114"),
    ],
)
def test_what_survival_cannot_do_is_refused_before_anything_is_spent(options: dict[str, Any], code: str) -> None:
    with pytest.raises(hg.HedgerowError, match=code):
        opened().release(hg.survival("months", "died", at=12), epsilon=1.0, **options)


def test_units_of_several_rows_are_refused() -> None:
    with pytest.raises(hg.UncertifiedError, match="HG402"):
        opened(unit=("sex", 3)).plan(hg.survival("months", "died", at=12), epsilon=1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"at": []},
        {"at": 0},
        {"at": [12, 6]},
        {"at": math.nan},
        {"at": "twelve"},
        {"at": 12, "bins": range(1, 300)},
        {"at": 12, "withdrawn": "start"},
        {"at": 12, "event": "months"},
        {"bins": [0]},
        {"bins": 12},
    ],
)
def test_wrong_times_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(hg.ParameterError, match="HG112"):
        hg.survival("months", wrong.pop("event", "died"), **wrong)


def test_a_page_shows_the_shares(release: hg.Release) -> None:
    assert "survival_24" in report_html(release)
