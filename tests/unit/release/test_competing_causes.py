"""Competing causes of an event: asked, counted, released, recorded, verified, read again, drawn and refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.unit.release.read_again import read_again
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.survival_design import SurvivalRelease
from hedgerow.reports import report_html
from hedgerow.reports.verify.verification import verify_record

N, RATES = 6000, (0.03, 0.015)


def people() -> pa.Table:
    """Times to the first of two causes, at constant rates, or to the end of the observation; two arms, equally many."""
    rng = np.random.default_rng(8)
    times = np.stack([*(rng.exponential(1.0 / rate, N) for rate in RATES), rng.uniform(0.0, 60.0, N)])
    status = np.array([1, 2, 0])[times.argmin(axis=0)]
    return pa.table({"months": times.min(axis=0), "status": status, "arm": rng.integers(0, 2, N)})


def asked(**about: Any) -> list[Any]:
    return hg.survival("months", "status", competing=[2], at=[12, 36], **about)


@pytest.fixture(scope="module")
def release() -> hg.Release:
    return hg.open(people(), relation="replace-one").release(asked(), by={"arm": [0, 1]}, epsilon=1.0)


def truth(cause: int, at: float) -> float:
    return RATES[cause - 1] / sum(RATES) * -math.expm1(-sum(RATES) * at)


def test_the_incidence_of_each_cause_is_near_the_truth_and_all_shares_add_up_to_one(release: hg.Release) -> None:
    for arm, at in itertools.product((0, 1), (12, 36)):
        curve = release.survival("months", arm=arm)
        shares = [curve.incidence(cause, at) for cause in (1, 2)]
        for cause, share in zip((1, 2), shares, strict=True):
            assert abs(share.estimate - truth(cause, at)) < 5.0 * share.standard_error
            low, high = share.confidence_interval()
            assert low < share.estimate < high and share.column == "months, status"
        assert sum(share.estimate for share in shares) + curve.survival(at).estimate == pytest.approx(1.0, abs=0.01)
    # Without any event, by either cause: not the share without the first one.
    alive = release.estimate("survival", "months", "status", 36, arm=0)
    assert abs(alive.estimate - math.exp(-sum(RATES) * 36.0)) < 5.0 * alive.standard_error
    assert "share without status = 1 or 2 before months = 36" in alive.covers


def test_without_noise_it_is_the_estimate_of_aalen_and_johansen() -> None:
    table = people().slice(0, 400)
    release = hg.open(table, relation="replace-one").release(
        hg.survival("months", "status", competing=[2], bins=list(range(1, 61)), withdrawn="end"), epsilon=100.0
    )
    months, status = np.floor(table["months"].to_numpy()), table["status"].to_numpy()
    alive, incidence = 1.0, 0.0
    for month in range(30):
        at_risk, now = (months >= month).sum(), months == month
        incidence += alive * (now & (status == 2)).sum() / at_risk
        alive *= 1.0 - (now & (status > 0)).sum() / at_risk
    assert release.survival("months").incidence(2, 30).estimate == pytest.approx(incidence, abs=3e-3)


@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_record_changes_one_class_by_one(kind: str) -> None:
    """All neighbours of a small table: replaced, at most two counts change by 1; the counts of no cause are lost."""
    facts = PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 3)
    causes: list[Any] = [1, 2] if kind == "number" else ["a", "b"]
    curves = hg.survival("t", "e", value=causes[0], competing=causes[1:], at=[2.0], bins=[1, 2, 4])
    design = SurvivalRelease(curves[0], (1,), (), facts, Missing.DROP, "geometric")
    others = [0, 3] if kind == "number" else ["", "c"]
    values = list(itertools.product([-1.0, 0.0, 1.0, 4.0, None, math.nan], [*causes, *others, None]))

    def counts(*records: tuple[Any, Any]) -> np.ndarray[Any, Any]:
        times, events = zip((0.5, causes[0]), (3.0, causes[1]), *records, strict=True)
        table = pa.table({"t": pa.array(times, pa.float64()), "e": pa.array(events)})
        return design.classes(open_source(table).histogram(design.query))[0]

    every = {value: counts(value) for value in values}
    distances = [np.abs(one - other).sum() for one, other in itertools.combinations(every.values(), 2)]
    assert max(distances) == 2
    assert all(np.abs(count - counts()).sum() <= 1 for count in every.values())
    of_both = dict(zip(design.features, counts().tolist(), strict=True))
    assert {name for name, count in of_both.items() if count} == {
        f"event {causes[0]} [0, 1)",
        f"event {causes[1]} [2, 4)",
    }
    # Left out: a time below 0, a missing time, a missing event. Another value is censored.
    assert {int(each.sum()) for each in every.values()} == {2, 3}
    assert counts((0.0, others[1]))[design.features.index("censored [0, 1)")] == 1


def test_all_causes_cost_what_one_costs() -> None:
    survey = hg.open(people(), relation="replace-one")
    one, two = (
        survey.plan(hg.survival("months", "status", at=36, competing=competing), epsilon=1.0) for competing in ([], [2])
    )
    assert one.mechanism.noise_sd == two.mechanism.noise_sd and one.epsilon == two.epsilon
    assert 0.0 < two.forecast()[0].standard_error < 1.0


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{"epsilon": 1.0}, {"epsilon": 1.0, "noise": "gaussian"}, {"rho": 0.05}])
def test_a_record_is_verified_and_read_again(relation: str, options: dict[str, Any], tmp_path: Path) -> None:
    first = hg.open(people(), relation=relation).release(asked(), by={"arm": [0, 1]}, **options)
    again, record = read_again(
        first,
        tmp_path,
        "incidence(months, status, 2, 36 | arm=0)",
        "incidence(months, status, 1, 36 | arm=1) - incidence(months, status, 1, 36 | arm=0)",
        "incidence(months, status, 1, 36 | arm=0) / incidence(months, status, 2, 36 | arm=0)",
    )
    assert again.survival("months", arm=0).incidence_columns(2) == first.survival("months", arm=0).incidence_columns(2)
    del record["request"]["statistics"][0]["competing"]
    with pytest.raises(hg.HedgerowError):
        verify_record(record).require()


def test_the_curve_is_drawn_and_told_as_columns(release: hg.Release) -> None:
    curve = release.survival("months", arm=1)
    axes = curve.plot_incidence()
    assert axes.get_ylabel() == "share with the event" and len(axes.lines) == 2
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["status = 1", "status = 2"]
    columns = curve.incidence_columns(2)
    assert columns["incidence"][-1] == curve.incidence(2, 36).estimate and columns["incidence"] == sorted(
        columns["incidence"]
    )
    events = np.array([curve.incidence_columns(cause)["events"] for cause in (1, 2)]).sum(axis=0)
    assert events == pytest.approx(curve.to_columns()["events"])


def test_the_page_shows_the_curves_of_all_cells_and_causes(release: hg.Release, tmp_path: Path) -> None:
    page = report_html(release)
    assert "Survival of months, status" in page and "Log-rank test up to 36" in page
    assert "median_survival of months, status (arm=0)" in page and "median_survival of months, status (arm=1)" in page
    assert all(f"Cumulative incidence of each cause (arm={arm})" in page for arm in (0, 1))
    assert "Share without status = 1 or 2, with 95" in page
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "report.html")]).exit_code == 0
    alone = hg.open(people(), relation="replace-one").release(hg.survival("months", "status", at=12), epsilon=1.0)
    page = report_html(alone)
    assert "Survival of months, status" in page and "Cumulative incidence" not in page and "Log-rank" not in page


def test_where_the_noise_hides_who_is_at_risk_the_interval_has_no_end() -> None:
    few = hg.open(people().slice(0, 40), relation="replace-one").release(asked(), epsilon=0.1)
    hidden = few.survival("months").incidence(1, 36)
    assert not hidden.reliable and hidden.standard_error is None and hidden.confidence_interval().high == 1.0


def test_the_command_line_and_the_facts_ask_for_causes(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    source, out = str(tmp_path / "people.csv"), str(tmp_path / "out")
    start = ["release", source, "--relation", "replace-one", "--epsilon", "1", "--by", "arm=0,1"]
    text = "incidence(months, status, 2, 36 | arm=0) - incidence(months, status, 2, 36 | arm=1)"
    done = CliRunner().invoke(app, [*start, "--survival", "months/status=1,2:12,36", "--out", out])
    assert done.exit_code == 0, done.stderr
    gap = CliRunner().invoke(app, ["ask", f"{out}/release.json", text, "--json"])
    assert abs(json.loads(gap.stdout)["estimate"]) < 0.1
    answered = CliRunner().invoke(
        app, ["ask", f"{out}/release.json", "incidence(months, status, 2, 12 | arm=0)", "--json"]
    )
    assert abs(json.loads(answered.stdout)["estimate"] - truth(2, 12)) < 0.1
    assert CliRunner().invoke(app, ["verify", f"{out}/release.json"]).exit_code == 0
    for wrong in ("incidence(months, status, 3, 36 | arm=0)", "incidence(months, status, 2, 7 | arm=0)"):
        refused = CliRunner().invoke(app, ["ask", f"{out}/release.json", wrong])
        assert refused.exit_code == 2 and "HG137" in refused.stderr
    lines = 'relation = "replace-one"\n[[release]]\nepsilon = 1.0\nstatistics = [\n'
    lines += '  { statistic = "survival", time = "months", event = "status", competing = [2, "x"], at = [12] },\n]\n'
    (tmp_path / "hedgerow.toml").write_text(lines)
    planned = CliRunner().invoke(app, ["plan", source, "--facts", str(tmp_path / "hedgerow.toml"), "--json"])
    assert planned.exit_code == 0, planned.stderr


@pytest.mark.parametrize("competing", [[1], [2, 2], [math.nan], [None], 2, "2"])
def test_wrong_causes_are_refused(competing: Any) -> None:
    with pytest.raises(hg.ParameterError, match="HG111"):
        hg.survival("months", "status", at=12, competing=competing)


def test_a_cause_that_was_not_requested_is_refused(release: hg.Release) -> None:
    curve = release.survival("months", arm=0)
    for wrong in (lambda: curve.incidence(3, 36), lambda: curve.incidence(2, 7), lambda: curve.incidence_columns(0)):
        with pytest.raises(hg.ParameterError, match="HG112"):
            wrong()
