"""`hedgerow multicalibrate` and `apply`: scores in, model out, rows scored; nothing spent on what cannot be."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hedgerow.cli.main import app
from hedgerow.engines.source import open_source
from hedgerow.errors import DataError
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.multicalibration import family_of, multicalibration_error, read_model
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_fit import ScoredColumns, records_from
from hedgerow.multicalibration.family import records_of

GROUPS = {"race": ["A", "B"], "sex": [0, 1]}
DECLARED = ("--group", "race=A,B", "--group", "sex=0,1", "--label", "y", "--score", "p")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def people(n: int = 5000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    p, race, sex = rng.random(n).round(6), rng.choice(["A", "B", "C"], n), rng.integers(0, 2, n)
    truth = np.clip(p + 0.3 * (race == "B") - 0.2 * sex, 0, 1)
    return {"p": p, "race": race, "sex": sex, "y": (rng.random(n) < truth).astype(int)}


@pytest.fixture(params=["csv", "parquet"])
def scores(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    table = pa.table(people())
    place = tmp_path / f"scores.{request.param}"
    if request.param == "csv":
        rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
        place.write_text(",".join(table.column_names) + "\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
    else:
        pq.write_table(table, place)
    return place


def test_an_engine_folds_a_file_as_python_folds_its_columns(scores: Path) -> None:
    family, data = family_of(GROUPS), people()
    found = records_from(open_source(scores), family, ScoredColumns("y", "p"))
    wanted = Records.of(family, family.classes(records_of(data)), data["p"], data["y"])

    def listed(records: Records) -> list[list[int]]:
        classes = records.patterns[records.pattern].T
        return sorted(np.stack([*classes, records.score, records.label, records.count], axis=1).tolist())

    assert listed(found) == listed(wanted)


def test_scores_go_in_and_a_model_comes_out(scores: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    result = run(
        "multicalibrate", scores, *DECLARED, "--epsilon", 4, "--relation", "add-remove", "--out", model, "--json"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    certificate = Certificate.from_dict(told["certificate"])
    certificate.verify()
    assert (
        3.996 < certificate.epsilon <= 4
        and told["report"]["after"]["max_error"] < told["report"]["before"]["max_error"]
    )
    assert CliRunner().invoke(app, ["verify", str(model)]).exit_code == 0
    data = people()
    made = read_model(model).calibrated(records_of(data), data["p"])[:, 1]
    assert multicalibration_error(data["y"], made, GROUPS, X=data) < 0.0085
    out = tmp_path / f"scored{scores.suffix}"
    result = run("apply", model, scores, "--out", out, "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["rows"] == 5000
    if scores.suffix == ".csv":
        found = [float(line.split(",")[-1]) for line in out.read_text().splitlines()[1:]]
    else:
        found = pq.read_table(out)["calibrated"].to_pylist()
    np.testing.assert_allclose(found, made, atol=1e-8)


def test_values_of_groups_come_from_the_facts(scores: Path, tmp_path: Path) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text(
        'relation = "replace-one"\n[columns.race]\ncategories = ["A", "B"]\n[columns.sex]\ncategories = [0, 1]\n'
    )
    result = run(
        "multicalibrate", scores, "--label", "y", "--score", "p", "--groups", "race,sex", "--facts", facts,
        "--epsilon", 1, "--out", tmp_path / "m.json",
    )  # fmt: skip
    assert result.exit_code == 0 and "replace-one" in result.stdout and "9 groups" in result.stdout


@pytest.mark.parametrize(
    ("changed", "code", "exit_code"),
    [
        (("--groups", "region"), "HG420", 4),
        (("--mechanism", "nothing"), "HG167", 2),
        (("--group", "gender=0,1"), "HG203", 2),
        (("--n-buckets", "0"), "HG165", 2),
        (("--classes", "0"), "HG116", 2),
        (("--epsilon", "9"), "HG310", 3),
        (("--out", "nowhere/model.json"), "HG168", 2),
    ],
)
def test_what_cannot_be_is_refused_and_costs_nothing(
    changed: tuple[str, str], code: str, exit_code: int, scores: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "people.ledger"
    Ledger.create(ledger, dataset="people", budget=Budget(1.5, 1e-6), relation="add-remove", unit="row").close()
    usual = ("--epsilon", 1, "--relation", "add-remove", "--ledger", ledger, "--out", tmp_path / "m.json")
    result = run("multicalibrate", scores, *DECLARED, *usual, *changed)
    assert result.exit_code == exit_code and result.stderr.startswith(code), result.stderr
    with Ledger.open(ledger) as kept:
        assert kept.entries() == ()


def test_a_calibration_without_privacy_is_refused_with_where_it_is(scores: Path, tmp_path: Path) -> None:
    usual = ("--epsilon", 1, "--relation", "add-remove", "--mechanism", "none", "--out", tmp_path / "m.json")
    result = run("multicalibrate", scores, *DECLARED, *usual, "--json")
    assert (
        result.exit_code == 2
        and json.loads(result.stderr)["error"]["code"] == "HG167"
        and "hedgerow.testing" in result.stderr
    )
    assert not (tmp_path / "m.json").exists()


FACTS = """
relation = "add-remove"
{rules}
[columns.race]
categories = ["A", "B"]
source = "census form"
[columns.sex]
categories = [0, 1]
"""
ASKED = ("--label", "y", "--score", "p", "--groups", "race,sex", "--epsilon", 1)


def facts_of(tmp_path: Path, rules: str) -> Path:
    facts = tmp_path / "hedgerow.toml"
    facts.write_text(FACTS.format(rules=rules))
    return facts


def test_values_that_are_declared_nowhere_are_asked_for_by_options_that_can_be_pasted(
    scores: Path, tmp_path: Path
) -> None:
    result = run("multicalibrate", scores, *ASKED, "--relation", "add-remove", "--out", tmp_path / "m.json")
    assert result.exit_code == 4 and result.stderr.startswith("HG420")
    for told in ("--group race=VALUE,VALUE --group sex=VALUE,VALUE", "--facts hedgerow.toml", "[columns.race]"):
        assert told in result.stderr


def test_the_ledger_and_the_source_of_the_facts_are_in_force(scores: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "people.ledger"
    Ledger.create(ledger, dataset="people", budget=Budget(3, 1e-6), relation="add-remove", unit="row").close()
    facts = facts_of(tmp_path, f'ledger = "people.ledger"\n[data]\npath = "{scores.name}"')
    asked = ("multicalibrate", *ASKED, "--facts", facts, "--out", tmp_path / "m.json")
    assert run(*asked).exit_code == 0
    with Ledger.open(ledger) as kept:
        assert len(kept.entries()) == 1
    told = read_model(tmp_path / "m.json").certificate
    assert told is not None and "categories of column sex: no source given" in told.assumptions
    assert not any("race" in said for said in told.assumptions)
    again = run(*asked)
    assert again.exit_code == 4 and again.stderr.startswith("HG423")


@pytest.mark.parametrize(
    ("rules", "options", "code", "exit_code"),
    [
        ('unit = {column = "id", max_rows = 3}', (), "HG402", 4),
        ('statistics = ["mean"]', (), "HG704", 4),
        ('statistics = ["count"]', ("--mechanism", "rounds"), "HG704", 4),
        ("[budget]\nepsilon = 0.5\ndelta = 1e-6", (), "HG706", 3),
        ("[budget]\nepsilon = 5\ndelta = 1e-6", ("--mechanism", "none"), "HG167", 2),
    ],
)
def test_what_the_facts_forbid_is_refused(
    rules: str, options: tuple[str, ...], code: str, exit_code: int, scores: Path, tmp_path: Path
) -> None:
    asked = ("multicalibrate", scores, *ASKED, "--facts", facts_of(tmp_path, rules), "--out", tmp_path / "m.json")
    result = run(*asked, *options)
    assert result.exit_code == exit_code and result.stderr.startswith(code), result.stderr
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize("mechanism", ["rounds", "numeric_sparse", "input_perturbation"])
def test_what_a_mechanism_does_not_tell_is_said_with_its_reason(mechanism: str, scores: Path, tmp_path: Path) -> None:
    usual = (*DECLARED, "--epsilon", 1, "--relation", "replace-one", "--mechanism", mechanism)
    result = run("multicalibrate", scores, *usual, "--out", tmp_path / "m.json")
    assert result.exit_code == 0 and "known" in result.stdout and "multicalibration_error" in result.stdout
    told = json.loads(run("multicalibrate", scores, *usual, "--out", tmp_path / "m.json", "--json").stdout)
    assert told["report"]["after"] is None and "known" in told["report"]["note"]


def test_a_model_that_cannot_be_written_stays_spent(
    scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: object, path: object) -> None:
        raise DataError("HG168", rule="full")

    monkeypatch.setattr("hedgerow.multicalibration.model_file.write_model", full)
    usual = ("--epsilon", 1, "--relation", "add-remove", "--out", tmp_path / "m.json")
    result = run("multicalibrate", scores, *DECLARED, *usual)
    assert result.exit_code == 6 and result.stderr.startswith("HG604")


def test_rows_are_scored_into_a_file_of_their_own_kind(scores: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    usual = ("--epsilon", 1, "--relation", "add-remove", "--out", model)
    assert run("multicalibrate", scores, *DECLARED, *usual).exit_code == 0
    other = tmp_path / ("out.parquet" if scores.suffix == ".csv" else "out.csv")
    result = run("apply", model, scores, "--out", other)
    assert result.exit_code == 2 and f"out{scores.suffix}" in result.stderr and not other.exists()
    missing = run("apply", model, scores, "--out", tmp_path / "nowhere" / f"out{scores.suffix}")
    assert missing.exit_code == 2 and "Create the folder" in missing.stderr


def test_neither_data_nor_a_ledger_is_ever_written_over(tmp_path: Path) -> None:
    """The data are lost, or a budget comes back: refused by name, before anything is read or spent."""
    rows, facts = tmp_path / "rows.csv", tmp_path / "facts.toml"
    rows.write_text("p,race,sex,y\n" + ".4,A,0,1\n" * 40)
    facts.write_text('relation = "replace-one"\n')
    budget = Budget(5.0, 1e-6)
    for name in ("its.ledger", "other.ledger"):
        Ledger.create(tmp_path / name, dataset="d", budget=budget, relation="replace-one", unit="row").close()
    model = tmp_path / "model.json"
    fit = ("multicalibrate", rows, *DECLARED, "--epsilon", "1", "--facts", facts, "--ledger", tmp_path / "its.ledger")
    made = run(*fit, "--n-fits", "2", "--out", model)
    assert made.exit_code == 0, made.output
    kept = {place: place.read_bytes() for place in tmp_path.iterdir()}
    link = tmp_path / "link.json"
    link.symlink_to(rows)
    for out in (rows, facts, tmp_path / "its.ledger", tmp_path / "other.ledger", link):
        refused = run(*fit, "--n-fits", "2", "--out", out)
        assert refused.exit_code == 2 and "HG168" in refused.output, (out.name, refused.output)
    for out in (model, tmp_path / "other.ledger", rows):
        refused = run("apply", model, rows, "--out", out)
        assert refused.exit_code == 2 and refused.output.startswith("HG16"), (out.name, refused.output)
    assert {place: place.read_bytes() for place in kept} == kept
