"""Distributions of units of several rows and of weighted records: through releases, records, plans and the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.vote_tree import VoteTree
from hedgerow.release.result import release_from_record
from hedgerow.reports.release_page import report_html
from hedgerow.reports.verify.verification import verify_record
from hedgerow.testing.simulated import release

N, LIMIT, GRID = 1500, 4, {"bounds": (0, 100), "step": 1}
RNG = np.random.default_rng(3)
ROWS = RNG.integers(1, LIMIT + 1, N)
UNIT = np.repeat(np.arange(N), ROWS)
# Whoever has more rows has larger values, so that the median over rows is not that over persons.
X = np.clip(np.rint(15.0 * ROWS[UNIT] + RNG.normal(0.0, 6.0, len(UNIT))), 0.0, 100.0)
G, W = RNG.integers(0, 2, len(UNIT)), RNG.uniform(-1.0, 5.0, len(UNIT))
TABLE = pa.table({"x": X, "id": UNIT, "g": G, "w": W})
ASKED = [
    hg.quantile("x", [0.25, 0.5], **GRID), hg.cdf("x", at=40, **GRID), hg.share_below("x", line=20, **GRID),
    hg.histogram("x", bins=[0, 30, 60, 100], **GRID), hg.gini("x", **GRID), hg.lorenz("x", at=0.5, **GRID),
    hg.share_below("x", of_median=0.6, **GRID),
]  # fmt: skip
RELATIONS = list(Relation)
UNITS = {"unit": ("id", LIMIT)}
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rows": (UNITS, {}),
    "unit": (UNITS, {"unit_weight": "unit"}),
    "unit by group": (UNITS, {"unit_weight": "unit", "by": {"g": [0, 1]}}),
    "rows, pure": (UNITS, {"delta": 0.0}),
    "rows, complete": (UNITS, {"missing": "error-if-declared-complete", "where": "g == 1"}),
    "unit, complete": (UNITS, {"missing": "error-if-declared-complete", "unit_weight": "unit", "noise": "gaussian"}),
    "rows of a census": ({**UNITS, "target": "file"}, {}),
    "weights": ({}, {"weights": ("w", 4.0)}),
    "weights by group": ({}, {"weights": ("w", 4.0), "by": {"g": [0, 1]}}),
}


def votes_of(way: str) -> np.ndarray:
    """What each row counts as."""
    if way.startswith("weights"):
        return np.clip(W, 0.0, 4.0)
    return 1.0 / ROWS[UNIT] if way.startswith("unit") else np.ones(len(UNIT))


def truths(way: str, here: np.ndarray) -> list[float]:
    """Every statistic asked for, of the votes of some rows, by their definitions."""
    x, votes = X[here], votes_of(way)[here]
    mass = np.bincount(x.astype(int), votes, 101) / votes.sum()
    curve = np.cumsum(mass)
    quantiles = [float(np.searchsorted(curve, q)) for q in (0.25, 0.5)]
    gini = float((curve * (1.0 - curve)).sum() / (1.0 - curve).sum())
    lorenz = float(np.maximum(0.5 - curve, 0.0).sum() / (1.0 - curve).sum())
    below = float(mass[np.arange(101) < 0.6 * quantiles[1]].sum())
    bins = [float(mass[:30].sum()), float(mass[30:60].sum()), float(mass[60:].sum())]
    return [*quantiles, float(curve[40]), float(mass[:20].sum()), *bins, gini, lorenz, below]


def under_either() -> list[Any]:
    """Return each way under one relation in turn, and under the other one in the long run."""
    usual = [(way, RELATIONS[at % 2]) for at, way in enumerate(WAYS)]
    others = [(way, RELATIONS[1 - at % 2]) for at, way in enumerate(WAYS)]
    return [*usual, *(pytest.param(*one, marks=pytest.mark.long) for one in others)]


@pytest.mark.parametrize(("way", "relation"), under_either())
def test_what_is_read_is_that_of_the_votes(way: str, relation: Relation) -> None:
    """At ε = 60 intervals without sampling hold the value of the file itself, up to the places within a leaf."""
    opened, options = WAYS[way]
    survey = hg.open(TABLE, relation=str(relation), **{"target": "file", **opened})
    found = release(survey, ASKED, rng=2, **{"epsilon": 60.0, **options})
    cells = [G == 0, G == 1] if "by" in options else [G == 1] if "where" in options else [G >= 0]
    if way.startswith("unit") and "by" not in options:
        cells = [G >= 0]
    expected = np.array([truths(way, here) for here in cells]).T.ravel()
    for one, value in zip(found, expected, strict=True):
        interval = one.confidence_interval(0.9999)
        assert interval.low - 1e-9 <= value <= interval.high + 1e-9, (one.statistic, value, interval)
    # The sabotage: rows in place of units' votes, or votes without weights, are other numbers.
    if "by" not in options and not way.startswith("rows"):
        assert abs(expected[2] - truths("rows", cells[0])[2]) > 0.02 or way.startswith("weights")


@pytest.mark.parametrize(("way", "relation"), under_either())
def test_a_record_holds_and_reads_more_at_no_price(way: str, relation: Relation) -> None:
    opened, options = WAYS[way]
    survey = hg.open(TABLE, relation=str(relation), **opened)
    found = survey.release(ASKED, **{"epsilon": 2.0, **options})
    record = json.loads(found.to_json())
    verified = verify_record(record)
    assert verified.holds, verified.contradictions
    again = release_from_record(found.to_json())
    assert again.to_json() == found.to_json()
    cell = {"g": 1} if "by" in options else {}
    for one in (found, again):
        column = one.distribution("x", **cell)
        assert column.quantile(0.5).to_dict() == found.estimate("quantile", "x", 0.5, **cell).to_dict()
        assert column.quantile(0.6).covers == found[0].covers.replace("0.25", "0.6")
        band = column.band(0.9)
        assert np.all(band.low <= band.high)
    (mechanism,) = found.certificate.mechanism.singles()
    assert isinstance(mechanism, VoteTree) and mechanism.reach == (LIMIT if way.startswith("rows") else 1)
    assert mechanism.tells_spread is (way != "rows of a census") is ("spread" in record["distributions"][0]["cells"][0])
    words = {"rows": "over rows, at most 4 of each id", "unit": "one vote for each id", "weights": "weighted by w"}
    assert words[way.split()[0].strip(",")] in found[0].covers
    assert words[way.split()[0].strip(",")] in report_html(found)


def test_an_altered_number_of_how_units_vary_is_found() -> None:
    found = hg.open(TABLE, relation="add-remove", **UNITS).release(ASKED, epsilon=2.0)
    record = json.loads(found.to_json())
    spread = record["distributions"][0]["cells"][0]["spread"]
    spread["squares"] = [4.0 * number for number in spread["squares"]]
    assert not verify_record(record).holds


def test_rows_of_a_person_are_not_taken_for_persons() -> None:
    """40 samples of 300 persons whose rows are alike vary as the persons of the file do: twice as much as rows."""
    truth, hits, effects = float(np.mean(X <= 40)), 0, []
    asked, rng = hg.cdf("x", at=40, **GRID), np.random.default_rng(7)
    of_units = np.bincount(UNIT, (X <= 40) - truth)
    for run in range(40):
        chosen = rng.integers(0, N, 300)
        here = np.concatenate([np.flatnonzero(unit == UNIT) for unit in chosen])
        table = pa.table({"x": X[here], "id": np.repeat(np.arange(300), ROWS[chosen])})
        found = release(hg.open(table, relation="add-remove", **UNITS), asked, rng=run, epsilon=20.0)
        (one,), (cell,) = found, found._all_distributions()
        effects.append(float(cell.counts.effect(0.5)))
        low, high = one.confidence_interval()
        hits += low <= truth <= high
    effect = float((of_units**2).sum() / (len(X) * truth * (1.0 - truth)))
    spread = np.std(effects) / np.sqrt(len(effects))
    # The sabotage: rows that are taken for persons have the effect 1. By chance 33 hits or fewer of 40 at .94: .005.
    assert hits > 33 and abs(np.mean(effects) - effect) < 5.0 * spread + 0.05 * effect
    assert effect > 2.0 and abs(np.mean(effects) - 1.0) > 20.0 * spread


def test_the_words_are_checked_and_nothing_is_ignored_silently() -> None:
    survey, persons = (hg.open(TABLE, relation="add-remove", **opened) for opened in ({}, UNITS))
    median, mean = hg.quantile("x", 0.5, **GRID), hg.mean("x", bounds=(0, 100))
    for opened, asked, word in (
        (survey, median, "unit"), (survey, median, "rows"), (persons, median, "person"),
        (persons, [median, mean], "unit"),
    ):  # fmt: skip
        with pytest.raises(hg.ParameterError, match="HG140"):
            opened.plan(asked, epsilon=1.0, unit_weight=word)
    together = persons.plan([median, mean], epsilon=1.0, unit_weight="rows")
    assert together.request.unit_weight == "rows"
    usual = persons.plan(median, epsilon=1.0).public_record()
    assert usual == persons.plan(median, epsilon=1.0, unit_weight="rows").public_record()
    different = persons.plan(median, epsilon=1.0, unit_weight="unit").public_record()
    assert different["unit_weight"] == "unit"


def test_a_plan_says_what_it_takes_units_to_be() -> None:
    survey = hg.open(TABLE, relation="replace-one", **UNITS)
    guess = {"x": {"mean": 40, "sd": 15}}
    rows, votes = (
        survey.plan(hg.quantile("x", 0.5, **GRID), epsilon=1.0, unit_weight=word).forecast(guess)[0]
        for word in ("rows", "unit")
    )
    assert 0.1 < votes.standard_error < rows.standard_error < 5.0
    assert rows.sampling_error > votes.sampling_error > 0.0


def test_the_shell_and_a_facts_file_say_it_too(tmp_path: Path) -> None:
    path, facts, out = tmp_path / "visits.csv", tmp_path / "hedgerow.toml", tmp_path / "out"
    pa.csv.write_csv(TABLE, path)
    text = f'relation = "replace-one"\nunit = {{ column = "id", max_rows = {LIMIT} }}\n[columns.x]\nbounds = [0, 100]\n'
    text += 'step = 1\n[[release]]\nstatistics = [{ statistic = "quantile", column = "x", probability = 0.5 }]\n'
    facts.write_text(text + 'unit_weight = "unit"\nepsilon = 1.0\n', encoding="utf-8")
    runner = CliRunner()
    given = ["--relation", "replace-one", "--unit", f"id:{LIMIT}", "--quantile", "x:0.5:0:100:1", "--epsilon", "1"]
    for call in (["--facts", str(facts), "--request", "release 1"], [*given, "--unit-weight", "unit"]):
        done = runner.invoke(app, ["release", str(path), *call, "--out", str(out), "--force"])
        assert done.exit_code == 0, done.output
        assert json.loads((out / "release.json").read_text(encoding="utf-8"))["request"]["unit_weight"] == "unit"
    refused = runner.invoke(app, ["release", str(path), *given, "--unit-weight", "people"])
    assert refused.exit_code != 0 and "HG140" in refused.output
