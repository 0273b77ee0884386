"""Weights: every number is the weighted one, on every way into a release and out of it; bad ones are refused unread."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.audit import replay as replays
from hedgerow.cli.main import app
from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import report_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release

N = 4000
WEIGHTS = ("w", 10.0)
BOUNDS = {"x": (0, 100), "y": (0, 50)}


def people() -> pa.Table:
    """Weights below 0, above the bound and missing among them; x rises with the weight."""
    rng = np.random.default_rng(5)
    w = rng.uniform(0.0, 9.0, N)
    w[::50], w[1::50], w[2::50] = -3.0, 40.0, np.nan
    x = np.clip(20.0 + 4.0 * np.nan_to_num(w) + rng.normal(0.0, 15.0, N), 0.0, 100.0)
    y = rng.uniform(0.0, 50.0, N)
    y[3::40] = np.nan
    name = pa.array(rng.choice(["a", "b", None], N, p=[0.3, 0.6, 0.1]), pa.string())
    return pa.table({"x": x, "y": y, "w": w, "g": rng.integers(0, 2, N), "name": name})


PEOPLE = people()
X, Y, W, G = (PEOPLE[name].to_numpy() for name in "xywg")
NAME = np.array([one or "" for one in PEOPLE["name"].to_pylist()])
CLAMPED = np.clip(np.nan_to_num(W), 0.0, 10.0)
ASKED = [
    hg.mean("x", bounds=(0, 100)),
    hg.sum("x", bounds=(0, 100)),
    hg.ratio("x", "y", bounds=BOUNDS),
    hg.proportion("name", value="a"),
    hg.count(),
    hg.function(lambda t: t["x"] / t["y"], columns=BOUNDS, name="quotient"),
]


def expected(here: Any) -> list[float]:
    w, both = CLAMPED * here, CLAMPED * here * ~np.isnan(Y)
    ratio = float((both * X).sum() / np.nansum(both * Y))
    share = float((w * (NAME == "a")).sum() / (w * (NAME != "")).sum())
    return [float((w * X).sum() / w.sum()), float((w * X).sum()), ratio, share, float(w.sum()), ratio]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "option", [{}, {"by": {"g": [0, 1]}}, {"delta": 0.0}, {"where": "g == 1"}, {"noise": "gaussian"}], ids=str
)
def test_estimates_are_weighted(relation: str, option: dict[str, Any]) -> None:
    survey = hg.open(PEOPLE, relation=relation)
    found = release(survey, ASKED, rng=1, **{"epsilon": 80.0, "weights": WEIGHTS, **option})
    cells = [G == 0, G == 1] if "by" in option else [G == 1] if "where" in option else [G >= 0]
    truth = np.array([expected(here) for here in cells]).T.ravel()
    for one, value in zip(found, truth, strict=True):
        assert one.standard_error > 0.0
        assert abs(one.estimate - value) < 6.0 * one.privacy_error + 1e-6 * abs(value)
        assert "weighted by w clamped to [0, 10]" in one.covers
    # Weights matter: the plain mean of x lies far away.
    assert abs(float(X.mean()) - truth[0]) > 2.0 or "where" in option


OF_PRODUCTS = [
    hg.variance("x", bounds=(0, 100)),
    hg.standard_deviation("x", bounds=(0, 100)),
    hg.covariance("x", "y", bounds=BOUNDS),
    hg.correlation("x", "y", bounds=BOUNDS),
]


def spreads(here: Any) -> list[float]:
    """Return the weighted variance and standard deviation of x, its covariance and its correlation with y."""
    w, both = CLAMPED * here, here & ~np.isnan(Y)
    variance = float(np.cov(X, aweights=w, ddof=0))
    matrix = np.cov(X[both], Y[both], aweights=w[both], ddof=0)
    return [variance, variance**0.5, matrix[0, 1], matrix[0, 1] / (matrix[0, 0] * matrix[1, 1]) ** 0.5]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("option", [{}, {"by": {"g": [0, 1]}}, {"delta": 0.0}], ids=str)
def test_variances_and_covariances_are_weighted(relation: str, option: dict[str, Any]) -> None:
    survey = hg.open(PEOPLE, relation=relation)
    found = release(survey, OF_PRODUCTS, rng=1, epsilon=90.0, weights=WEIGHTS, **option)
    cells = [G == 0, G == 1] if "by" in option else [G >= 0]
    truth = np.array([spreads(here) for here in cells]).T.ravel()
    for one, value in zip(found, truth, strict=True):
        assert one.standard_error > 0.0
        assert abs(one.estimate - value) < 6.0 * one.privacy_error + 1e-3 * abs(value)
    # Weights matter: with the largest ones x varies less than without weights.
    assert abs(float(X.var()) - truth[0]) > 10.0


def persons() -> tuple[hg.Survey, np.ndarray[Any, Any]]:
    """Return people of whom each has three rows at most, which are alike, and their numbers."""
    person = np.argsort(np.argsort(X)) // 3
    table = PEOPLE.append_column("person", pa.array(person))
    return hg.open(table, relation="add-remove", unit=("person", 3)), person


def test_rows_of_persons_are_weighted() -> None:
    survey, _ = persons()
    asked = [*ASKED[:2], ASKED[4], *OF_PRODUCTS]
    found = release(survey, asked, rng=1, epsilon=90.0, weights=WEIGHTS, by={"g": [0, 1]})
    cells = [G == 0, G == 1]
    truth = [[*np.array(expected(here))[[0, 1, 4]], *spreads(here)] for here in cells]
    for one, value in zip(found, np.array(truth).T.ravel(), strict=True):
        assert abs(one.estimate - value) < 6.0 * one.privacy_error + 2e-3 * abs(value)
        assert "weighted by w clamped to [0, 10]" in one.covers


def test_the_error_of_a_weighted_change_knows_that_persons_are_in_both_cells() -> None:
    """Errors of both cells and of their difference are those of clusters, by hand."""
    survey, person = persons()
    given = {"epsilon": 90.0, "weights": WEIGHTS, "by": {"g": [0, 1]}, "ask": ["mean(x | g=1) - mean(x | g=0)"]}
    made = survey.release(ASKED[:1], **given)
    influence = np.zeros((2, person.max() + 1))
    for cell in (0, 1):
        w = CLAMPED * (cell == G)
        np.add.at(influence[cell], person, w * (X - (w * X).sum() / w.sum()) / w.sum())
    for one, own in zip(made, influence, strict=True):
        assert one.sampling_error == pytest.approx(float(np.sqrt((own**2).sum())), rel=0.06)
    (change,) = made.answers.values()
    right, apart = float(np.sqrt(((influence[1] - influence[0]) ** 2).sum())), float(np.sqrt((influence**2).sum()))
    assert change.sampling_error == pytest.approx(right, rel=0.06)
    # The sabotage: cells as of different people.
    assert right < 0.85 * apart
    record = json.loads(made.to_json())
    assert verify_record(record).holds and release_from_record(made.to_json()).to_json() == made.to_json()


def test_midpoints_and_complete_columns_are_weighted_too() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    filled = np.where(np.isnan(Y), 25.0, Y)
    mean = hg.mean("y", bounds=(0, 50))
    given = {"epsilon": 80.0, "weights": WEIGHTS, "rng": 1}
    middle = release(survey, [mean], missing="midpoint", **given)[0]
    assert abs(middle.estimate - float((CLAMPED * filled).sum() / CLAMPED.sum())) < 6.0 * middle.privacy_error
    # Only a weight is missing in these columns, and that is no missing value.
    complete = release(survey, ASKED[:1], missing="error-if-declared-complete", **given)[0]
    assert abs(complete.estimate - expected(G >= 0)[0]) < 6.0 * complete.privacy_error


def test_weights_all_alike_give_the_plain_mean_with_its_error() -> None:
    table = PEOPLE.append_column("one", pa.array(np.full(N, 2.0)))
    survey = hg.open(table, relation="replace-one")
    weighted = release(survey, ASKED[:1], rng=1, epsilon=80.0, weights=("one", 2.0))[0]
    assert abs(weighted.estimate - float(X.mean())) < 6.0 * weighted.privacy_error
    assert weighted.sampling_error == pytest.approx(float(X.std(ddof=1)) / N**0.5, rel=0.02)


def test_shares_go_with_weights() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    given = {"epsilon": 1.0, "weights": WEIGHTS, "rng": 1}
    even, more = (release(survey, ASKED[1:3], share=share, **given)[0].privacy_error for share in ([1, 1], [9, 1]))
    assert 0.5 * even < more < even


def test_two_weighted_shares_of_a_column_have_names_of_their_own() -> None:
    survey = hg.open(PEOPLE, relation="replace-one")
    made = survey.release([hg.proportion("g", value=0), hg.proportion("g", value=1)], epsilon=1.0, weights=WEIGHTS)
    assert [estimate.label() for estimate in made] == ["proportion of g = 0", "proportion of g = 1"]
    assert made.ask("2 * proportion(g=1)").estimate == 2.0 * made[1].estimate
    assert "proportion of g = 0: " in str(made) and "proportion of g = 1" in report_html(made)


def test_a_record_states_the_weights_and_verifies() -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    made = survey.release(ASKED, epsilon=1.0, weights=WEIGHTS, by={"g": [0, 1]}, ask=["mean(x | g=1) - mean(x | g=0)"])
    record = json.loads(made.to_json())
    assert record["release"]["weights"] == {"column": "w", "most": 10.0}
    assert verify_record(record).holds
    spread = survey.release(OF_PRODUCTS, epsilon=1.0, weights=WEIGHTS, by={"g": [0, 1]})
    assert verify_record(json.loads(spread.to_json())).holds
    assert release_from_record(made.to_json()).to_json() == made.to_json()
    assert "column w, clamped to [0, 10]; none counts as 0" in report_html(made)


@pytest.mark.parametrize("weights", [None, {"column": "w", "most": 20.0}, {"column": "x", "most": 10.0}])
def test_a_record_that_states_other_weights_contradicts_itself(weights: dict[str, Any] | None) -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    record = json.loads(survey.release(ASKED[:3], epsilon=1.0, weights=WEIGHTS).to_json())
    other = copy.deepcopy(record)
    other["release"]["weights"] = weights
    assert verify_record(record).holds and not verify_record(other).holds


def test_weights_are_part_of_a_request(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    Ledger.create(path, dataset="d", budget=Budget(10.0, 1e-5), relation="replace-one", unit="row").close()
    survey = hg.open(PEOPLE, relation="replace-one", ledger=path)
    first = survey.release(ASKED[0], epsilon=1.0, weights=WEIGHTS, request_id="a")
    assert survey.release(ASKED[0], epsilon=1.0, weights=["w", 10], request_id="a").to_json() == first.to_json()
    for other in (("w", 9.0), None):
        with pytest.raises(LedgerError, match="HG311"):
            survey.release(ASKED[0], epsilon=1.0, weights=other, request_id="a")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        *(({"weights": given}, "HG134") for given in ("w", ("w",), ("", 1.0), (3, 1.0), ("w", 0), ("w", -1.0), 5)),
        *(({"weights": ("w", most)}, "HG134") for most in (float("nan"), float("inf"), "10", 1e300, True)),
        ({"weights": ("x", 10.0)}, "HG134"),
        ({"weights": ("g", 10.0), "by": {"g": [0, 1]}}, "HG134"),
        ({"weights": ("absent", 10.0)}, "HG203"),
        ({"weights": ("name", 10.0)}, "HG204"),
        ({"weights": WEIGHTS, "estimator": "bootstrap"}, "HG135"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_read(options: dict[str, Any], code: str) -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    with (
        mock.patch("hedgerow.engines.frames.add_up", side_effect=AssertionError),
        mock.patch("hedgerow.engines.frames.count", side_effect=AssertionError),
        pytest.raises(HedgerowError, match=code),
    ):
        survey.release(ASKED[0], epsilon=1.0, **options)


@pytest.mark.parametrize(
    "asked",
    [
        hg.bootstrap(lambda t: t["x"] / t["count"], columns={"x": (0, 100)}, name="own"),
    ],
)
def test_what_cannot_be_weighted_is_refused(asked: Any) -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    with pytest.raises(HedgerowError, match="HG135"):
        survey.plan([ASKED[0], asked], epsilon=1.0, weights=WEIGHTS)


def test_weighted_distributions_of_units_of_several_rows_are_refused() -> None:
    survey = hg.open(PEOPLE, relation="add-remove", unit={"column": "g", "max_rows": 3})
    with pytest.raises(HedgerowError, match="HG402"):
        survey.plan(hg.quantile("x", 0.5, bounds=(0, 100)), epsilon=1.0, weights=WEIGHTS)


def test_no_warning_or_note_depends_on_a_weight() -> None:
    """Weights below 0, above the bound, infinite and missing are clamped or dropped without a word."""
    said = []
    for last in (1.0, -1.0, 1e9, float("inf"), float("nan")):
        w = W.copy()
        w[-1] = last
        table = PEOPLE.set_column(PEOPLE.schema.get_field_index("w"), "w", pa.array(w))
        made = hg.open(table, relation="replace-one").release(ASKED[0], epsilon=1.0, weights=WEIGHTS)
        said.append((made.notes, made[0].note, made[0].covers, made.certificate.to_dict()))
    assert all(one == said[0] for one in said)


def test_a_computed_column_may_be_the_weight() -> None:
    survey = hg.open(PEOPLE, relation="add-remove")
    weights = (hg.column("w * 2"), 20.0)
    found = release(survey, ASKED[:1], rng=1, epsilon=80.0, weights=weights)
    assert abs(found[0].estimate - expected(G >= 0)[0]) < 6.0 * found[0].privacy_error
    assert found.derived == {"w * 2": "w * 2"}


def test_a_forecast_knows_the_weights() -> None:
    """Its errors are those of a release, whose weights are independent of the values here."""
    rng = np.random.default_rng(7)
    x, y, w = (rng.beta(a, b, N) for a, b in ((2.0, 3.0), (4.0, 2.0), (1.0, 2.0)))
    name = rng.choice(["a", "b"], N, p=[0.3, 0.7])
    table = pa.table({"x": x * 100.0, "y": y * 50.0, "w": w, "name": name})
    guess = {"x": {"mean": 40.0, "sd": 20.0}, "y": {"mean": 33.3, "sd": 8.9}, "w": {"mean": 1 / 3, "sd": 0.2357}}
    guess["name"] = {"share": 0.3}
    survey = hg.open(table, relation="replace-one")
    for asked in ASKED[:5]:
        plan = survey.plan(asked, epsilon=1.0, weights=("w", 1.0))
        expected = plan.forecast(guess)[0]
        found = [release(survey, asked, rng=i, epsilon=1.0, weights=("w", 1.0))[0].standard_error for i in range(8)]
        assert float(np.mean(found)) == pytest.approx(expected.standard_error, rel=0.08)
        assert "w beta with mean 0.3333" in expected.guess


def test_records_that_differ_in_a_weight_change_nothing_but_priced_numbers() -> None:
    """Weights below 0, above the bound, infinite, NaN and missing; the rest of the records the same."""
    chosen = tuple(one for one in replays.public_functions() if "weighted" in one.name)
    with mock.patch.object(replays, "public_functions", lambda: chosen):
        found = replays.replay(10, seed=3, csv_every=5)
    assert found.functions == 4 and found.divergences == () and found.passes and found.largest_excess > 0.3


def test_weights_and_totals_on_the_command_line_and_in_a_facts_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pa.csv.write_csv(PEOPLE, path)
    facts = tmp_path / "facts.toml"
    facts.write_text(
        'relation = "add-remove"\n[data]\npath = "people.csv"\n[columns.x]\nbounds = [0, 100]\n[[release]]\n'
        'name = "a"\nstatistics = [{ statistic = "mean", column = "x" }]\nweights = ["w", 10]\nepsilon = 50.0\n'
    )
    given = [
        str(path),
        "--relation",
        "add-remove",
        "--mean",
        "x:0:100",
        "--weights",
        "w:10",
        "--epsilon",
        "50",
        "--json",
    ]
    for arguments in (given, ["--facts", str(facts), "--request", "a", "--json"]):
        done = CliRunner().invoke(app, ["release", *arguments])
        assert done.exit_code == 0, done.output
        record = json.loads(done.stdout)
        assert record["release"]["weights"] == {"column": "w", "most": 10.0}
        (found,) = record["estimates"]
        assert abs(found["estimate"] - expected(G >= 0)[0]) < 6.0 * found["privacy_error"] + 1e-3
        planned = CliRunner().invoke(app, ["plan", *arguments])
        assert json.loads(planned.stdout)["plans"][0]["weights"] == {"column": "w", "most": 10.0}
    totals = CliRunner().invoke(app, ["release", *given, "--by", "g=0,1", "--totals", "g=0:300,1:700"])
    assert len(json.loads(totals.stdout)["asked"]) == 2
    sized = '[columns.g]\ncategories = [0, 1]\n[[release]]\nname = "b"\nby = ["g"]\nepsilon = 50.0\n'
    sized += 'statistics = [{ statistic = "mean", column = "x" }]\n[release.totals.g]\n0 = 300\n1 = 700\n'
    facts.write_text(facts.read_text() + sized)
    stratified = CliRunner().invoke(app, ["release", "--facts", str(facts), "--request", "b", "--json"])
    assert stratified.exit_code == 0, stratified.output
    asked = [answer["expression"] for answer in json.loads(stratified.stdout)["asked"]]
    assert asked[0] == "(300 * mean(x | g=0) + 700 * mean(x | g=1)) / 1000"
    shown = CliRunner().invoke(app, ["plan", "--facts", str(facts), "--request", "b", "--as-python"])
    assert "totals={('g',): {(0,): 300, (1,): 700}}" in shown.output
    for verb in ("plan", "release"):
        facts.write_text(facts.read_text().replace("1 = 700", "2 = 700"))
        refused = CliRunner().invoke(app, [verb, "--facts", str(facts), "--request", "b"])
        assert refused.exit_code == 2 and "HG138" in refused.output
    for wrong, code in ((["--weights", "w"], "HG134"), (["--weights", "w:0"], "HG134"), (["--totals", "g=0"], "HG138")):
        refused = CliRunner().invoke(app, ["release", *given[:-1], *wrong])
        assert refused.exit_code == 2 and code in refused.output
