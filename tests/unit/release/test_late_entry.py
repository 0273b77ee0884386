"""Late entry into a survival curve: asked, counted, priced, released, recorded, verified, read again, refused."""

from __future__ import annotations

import copy
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
from tests.unit.release.read_again import read_again
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.source import open_source
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.mechanisms.noisy_counts import GaussianCounts, GeometricCounts
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.survival_design import SurvivalRelease
from hedgerow.reports import report_html
from hedgerow.reports.verify.verification import verify_record

N, RATES, LEAVING = 6000, (0.03, 0.015), 0.02


def people() -> pa.Table:
    """Ages from 50 on: a third are observed from 50, the others enter until 60, if they have no event before."""
    rng = np.random.default_rng(8)
    drawn = 3 * N
    late = np.where(rng.random(drawn) < 1.0 / 3.0, 0.0, rng.uniform(0.0, 10.0, drawn))
    times = np.stack([*(rng.exponential(1.0 / rate, drawn) for rate in RATES), late + rng.exponential(50.0, drawn)])
    seen = times.min(axis=0) > late
    age, joined = 50.0 + times.min(axis=0), np.where(late > 0.0, 50.0 + late, 40.0)
    status = np.array([1, 2, 0])[times.argmin(axis=0)]
    columns = {"age": age, "joined": joined, "status": status, "died": (status > 0).astype(int)}
    kept = {name: values[seen][:N] for name, values in columns.items()}
    return pa.table({**kept, "arm": rng.integers(0, 2, N)})


def asked(**about: Any) -> list[Any]:
    return hg.survival("age", "died", entry="joined", start=50, at=[55, 60, 70], bins=range(50, 71, 2), **about)


@pytest.fixture(scope="module")
def release() -> hg.Release:
    return hg.open(people(), relation="replace-one").release(asked(), by={"arm": [0, 1]}, epsilon=1.0)


def truth(at: float) -> float:
    return math.exp(-sum(RATES) * (at - 50.0))


def test_the_shares_are_near_the_truth_with_errors(release: hg.Release) -> None:
    for estimate in release:
        at = float(estimate.statistic.removeprefix("survival_"))
        assert abs(estimate.estimate - truth(at)) < 5.0 * estimate.standard_error
        low, high = estimate.confidence_interval()
        assert low < estimate.estimate < high
        assert estimate.column == "age, died" and "of those without at 50" in estimate.covers
    curve = release.survival("age", arm=0)
    median = curve.median()
    assert abs(median.estimate - (50.0 + math.log(2.0) / sum(RATES))) < 5.0 * median.standard_error
    mean = curve.restricted_mean(70)
    assert abs(mean.estimate - -math.expm1(-20.0 * sum(RATES)) / sum(RATES)) < 5.0 * mean.standard_error
    log_rank = release.log_rank("age")
    assert log_rank.pvalue > 1e-4
    # Numbers at risk rise while records enter, and begin with those that are there from the start.
    first, later = curve.at_risk(50), curve.at_risk(60)
    assert abs(first.estimate - N / 6.0) < 0.3 * N / 6.0 and later.estimate > 1.5 * first.estimate
    assert str(curve.at_risk()) == str(first) and "joined before" in later.covers


def test_without_the_entries_survival_is_too_high() -> None:
    """The sabotage: who had the event before they could enter is not in the file."""
    wrong = hg.open(people(), relation="replace-one").release(
        hg.survival("age", "died", start=50, at=[60], bins=range(50, 71, 2)), epsilon=1.0
    )[0]
    assert wrong.estimate - truth(60) > 10.0 * wrong.standard_error


@pytest.mark.parametrize("competing", [[], ["b"]])
def test_a_record_changes_one_count_of_each_table(competing: list[str]) -> None:
    """All neighbours of a small file: as many counts change by 1 as the mechanism is priced for, and not more."""
    facts = PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, 3)
    curves = hg.survival("t", "e", value="a", competing=competing, entry="s", start=1, at=[2.0], bins=[1, 2, 4, 8])
    design = SurvivalRelease(curves[0], (0,), (), facts, Missing.DROP, "geometric")
    times = [0.5, 1.0, 2.0, 4.0, 9.0, None, math.nan]
    values = list(itertools.product(times, ["a", "b", "c", None], [-3.0, 1.0, 1.5, 2.0, 8.0, 9.0, None, math.nan]))

    def counts(*records: tuple[Any, ...]) -> Any:
        exits, events, entries = zip((2.5, "a", 1.0), (6.0, "c", 3.0), *records, strict=True)
        table = pa.table({"t": pa.array(exits, pa.float64()), "e": events, "s": pa.array(entries, pa.float64())})
        return design.classes(open_source(table).histogram(design.query))[0]

    every, without = [counts(value) for value in values], counts()
    assert all(each.min() >= 0 for each in every)
    mechanisms = [design.mechanism(1.0), replace(design, law="gaussian").mechanism(1.0)]
    for relation, pairs in (
        (Relation.REPLACE_ONE, itertools.combinations(every, 2)),
        (Relation.ADD_REMOVE, ((each, without) for each in every)),
    ):
        changes = [np.abs(one - other) for one, other in pairs]
        worst = max(int(change.sum()) for change in changes)
        assert all(change.max() <= 1 for change in changes)
        assert [mechanism.touched(relation) for mechanism in mechanisms] == [worst, worst]
    exits = len(design.features) - 4
    # As many enter as leave: a record is in both tables or in none.
    assert all(each[:exits].sum() == each[exits:].sum() in (2, 3) for each in every)
    of_both = dict(zip(design.features, without.tolist(), strict=True))
    listed = {name for name, count in of_both.items() if count}
    event = "event a" if competing else "event"
    assert listed == {f"{event} [2, 4)", "censored [4, 8)", "from the start", "entered [2, 4)"}
    # Who enters in a later interval than the exit is left out; in the same interval is counted.
    assert counts((1.5, "a", 3.0)).sum() == 4 and counts((2.0, "a", 3.0)).sum() == 6


def test_two_tables_cost_what_two_counts_of_a_record_cost() -> None:
    survey = hg.open(people(), relation="add-remove")
    one = survey.plan(hg.survival("age", "died", start=50, at=[60]), epsilon=1.0, delta=0.0).mechanism
    two = survey.plan(asked(), epsilon=1.0, delta=0.0)
    assert isinstance(two.mechanism, GeometricCounts) and isinstance(one, GeometricCounts)
    assert two.mechanism.scale == pytest.approx(2.0 * one.scale, rel=1e-6) and two.epsilon <= 1.0
    normal = [survey.plan(asked_of, rho=0.05).mechanism for asked_of in (hg.survival("age", "died", at=[60]), asked())]
    assert isinstance(normal[0], GaussianCounts) and isinstance(normal[1], GaussianCounts)
    assert normal[1].sd == pytest.approx(math.sqrt(2.0) * normal[0].sd, rel=1e-2)
    forecast = hg.open(people(), relation="replace-one").plan(asked(), epsilon=1.0).forecast()
    assert all(0.0 < each.standard_error < 1.0 for each in forecast)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("options", [{"epsilon": 1.0}, {"epsilon": 1.0, "noise": "gaussian"}, {"rho": 0.05}])
def test_a_record_is_verified_and_read_again(relation: str, options: dict[str, Any], tmp_path: Path) -> None:
    causes = hg.survival("age", "status", competing=[2], entry="joined", start=50, at=[60], bins=range(50, 71, 2))
    first = hg.open(people(), relation=relation).release(causes, by={"arm": [0, 1]}, **options)
    _, record = read_again(
        first,
        tmp_path,
        "incidence(age, status, 2, 60 | arm=0) - incidence(age, status, 1, 60 | arm=0)",
        "survival(age, status, 60 | arm=0) / survival(age, status, 60 | arm=1)",
        "restricted_mean(age, status, 66 | arm=0) - restricted_mean(age, status, 66 | arm=1)",
    )
    curve = first.survival("age", arm=0)
    shares = [curve.incidence(cause, 60) for cause in (1, 2)]
    for share, rate in zip(shares, RATES, strict=True):
        assert abs(share.estimate - rate / sum(RATES) * (1.0 - truth(60))) < 5.0 * share.standard_error
    for field in ("entry", "start"):
        forged = copy.deepcopy(record)
        del forged["request"]["statistics"][0][field]
        with pytest.raises(hg.HedgerowError):
            verify_record(forged).require()
    forged = copy.deepcopy(record)
    del forged["certificate"]["mechanism"]["tables"]
    with pytest.raises(hg.HedgerowError):
        verify_record(forged).require()


def test_the_curve_is_drawn_from_where_it_begins(release: hg.Release) -> None:
    axes = release.plot_survival("age")
    assert axes.get_xlim() == (50.0, 70.0) and float(np.asarray(axes.lines[0].get_xdata())[0]) == 50.0
    assert "Survival of age, died" in report_html(release)


def test_the_command_line_and_the_facts_ask_for_entries(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    source, out = str(tmp_path / "people.csv"), str(tmp_path / "out")
    start = ["release", source, "--relation", "replace-one", "--epsilon", "1", "--by", "arm=0,1"]
    done = CliRunner().invoke(app, [*start, "--survival", "joined..age/died:50..60,70", "--out", out])
    assert done.exit_code == 0, done.stderr
    answer = CliRunner().invoke(app, ["ask", f"{out}/release.json", "survival(age, died, 60 | arm=0)", "--json"])
    assert abs(json.loads(answer.stdout)["estimate"] - truth(60)) < 0.1
    assert CliRunner().invoke(app, ["verify", f"{out}/release.json"]).exit_code == 0
    lines = 'relation = "replace-one"\n[[release]]\nepsilon = 1.0\nstatistics = [\n'
    lines += '  { statistic = "survival", time = "age", event = "died", entry = "joined", start = 50, at = [60] },\n]\n'
    (tmp_path / "hedgerow.toml").write_text(lines)
    planned = CliRunner().invoke(app, ["plan", source, "--facts", str(tmp_path / "hedgerow.toml"), "--json"])
    assert planned.exit_code == 0, planned.stderr
    for wrong in ("..age/died:60", "joined..age/died:x..60", "joined..age/died:60..50"):
        refused = CliRunner().invoke(app, [*start, "--survival", wrong])
        assert refused.exit_code == 2 and ("HG116" in refused.stderr or "HG112" in refused.stderr)


@pytest.mark.parametrize(
    "wrong",
    [{"entry": "age"}, {"entry": "died"}, {"withdrawn": "middle"}, {"start": -1}, {"start": 60}, {"start": math.nan}],
)
def test_what_cannot_be_read_is_refused(wrong: dict[str, Any]) -> None:
    about: dict[str, Any] = {"entry": "joined", "start": 50, **wrong}
    with pytest.raises(hg.ParameterError, match="HG112"):
        hg.survival("age", "died", at=60, **about)
