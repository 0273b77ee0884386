"""What `hedgerow publish` writes fits the schemas of those who ask for it, and says what the record says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.facts.declared import Facts
from hedgerow.reports import report_html
from hedgerow.reports.publishing import PublishedRecord, bibtex, cff, sentence
from hedgerow.reports.publishing import yaml as as_yaml

TEXT = {"type": "string", "minLength": 1}
# The fields that the registry of deployments requires, and the values that it knows, as of July 2026.
REGISTRY: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url_slug", "status", "tier", "deployment"],
    "properties": {
        "url_slug": {"type": "string", "pattern": "^[a-z0-9_]+$"},
        "status": {"enum": ["Converted", "Draft", "Pending", "Changes Required", "Approved"]},
        "tier": {"enum": [1, 2, 3]},
        "deployment": {
            "type": "object",
            "required": ["basic"],
            "additionalProperties": False,
            "properties": {
                "basic": {
                    "required": [
                        *("name", "data_curators", "description", "intended_use"),
                        *("data_product_type", "data_product_region", "publication_date"),
                    ],
                    "additionalProperties": False,
                    "properties": {
                        **dict.fromkeys(("name", "description", "intended_use", "data_product_region"), TEXT),
                        "data_curators": {"type": "array", "items": TEXT, "minItems": 1},
                        "data_product_type": {"enum": ["Summary statistics"]},
                        "publication_date": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
                        "data_product_sector": {"enum": ["Technology", "Healthcare", "Education", "Government"]},
                    },
                },
                "dp_variant": {
                    "additionalProperties": False,
                    "properties": {
                        "variant_name": {"enum": ["Pure DP", "Approximate DP", "Zero-concentrated DP", "Custom"]},
                        "data_domain": TEXT,
                        "unprotected_quantities": TEXT,
                    },
                },
                "privacy_loss": {
                    "additionalProperties": False,
                    "properties": {
                        **dict.fromkeys(("privacy_unit", "privacy_unit_details", "privacy_parameters_details"), TEXT),
                        "privacy_parameters": {
                            "additionalProperties": False,
                            "properties": {name: {"type": "number"} for name in ("epsilon", "delta", "rho")},
                        },
                    },
                },
                "deployment_model": {
                    "additionalProperties": False,
                    "properties": {
                        "model_name": {"enum": ["Local", "Central", "Shuffle", "Federated"]},
                        "release_type": {"enum": ["One release", "Many releases"]},
                        "data_source_type": {"enum": ["Static", "Dynamic"]},
                        "access_type": {"enum": ["Interactive", "Non-interactive"]},
                        **dict.fromkeys(("actors", "release_type_details", "data_source_type_details"), TEXT),
                    },
                },
                "accounting": {
                    "additionalProperties": False,
                    "properties": dict.fromkeys(("post_processing", "composition"), TEXT),
                },
                "implementation": {
                    "additionalProperties": False,
                    "properties": dict.fromkeys(
                        ("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"), TEXT
                    ),
                },
                "administrative": {
                    "required": ["registry_authors"],
                    "additionalProperties": False,
                    "properties": {"sources": TEXT, "registry_authors": {"type": "array", "minItems": 1}},
                },
            },
        },
    },
}
CFF = {
    "required": ["cff-version", "message", "title", "authors"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "type": {"enum": ["dataset", "software"]},
        "authors": {"type": "array", "minItems": 1, "items": {"required": ["name"]}},
        "date-released": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
    },
}
ABOUT = {
    "title": 'Incomes & "ages": a test',
    "curators": ["Office of Tests", "Ünïcode & Co"],
    "intended_use": "To test.\nNothing else.",
    "region": "Nowhere",
    "sector": "Government",
    "period": "2025",
    "licence": "CC-BY-4.0",
}
ALL = {
    **ABOUT, "description": "Means.", "deployment_model": "Central", "actors": "The office.", "access": "Interactive",
    "releases": "Many releases", "refreshed": "Every year.", "source_type": "Dynamic", "why_epsilon": "A decision.",
    "why_bounds": "A codebook.", "tuning": "Nothing.", "url": "https://example.org/x", "doi": "10.1/x",
    "authors": ["A"], "published": "2026-01-02",
}  # fmt: skip
LINES = "age,sex\n" + "30,=1+1\n50,b\n" * 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(LINES)
    return tmp_path


def facts(about: Any, **more: Any) -> Facts:
    return Facts.from_dict({"relation": "replace-one", "about": about, **more})


def released(folder: Path, about: Any = ABOUT, **options: Any) -> hg.Release:
    survey = hg.open(folder / "people.csv", facts(about))
    return survey.release(
        [hg.mean("age", bounds=(0, 100)), hg.count()], by={"sex": ["=1+1", "b"]}, epsilon=1.0, **options
    )


def published(folder: Path, made: Any) -> PublishedRecord:
    made.to_json(folder / "release.json")
    return PublishedRecord.read(folder)


def entry(folder: Path, *given: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["publish", str(folder), *given])
    assert (result.exit_code, result.stderr) == (0, "")
    return yaml.safe_load((folder / "registry.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("about", "tier"), [(ABOUT, 1), ({**ABOUT, "releases": "One release", "source_type": "Static"}, 2), (ALL, 3)]
)
def test_the_entry_fits_the_registry_and_says_the_price(folder: Path, about: Any, tier: int) -> None:
    made = released(folder, about)
    made.to_json(folder / "release.json")
    found = entry(folder)
    jsonschema.validate(found, REGISTRY)
    parts = found["deployment"]
    assert found["tier"] == tier and made.certificate is not None
    assert parts["privacy_loss"]["privacy_parameters"] == {
        "epsilon": made.certificate.epsilon, "delta": made.certificate.delta,
    }  # fmt: skip
    assert parts["basic"]["name"] == ABOUT["title"] and parts["basic"]["intended_use"] == "To test. Nothing else."
    assert (
        parts["dp_variant"]["variant_name"] == "Approximate DP"
        and "600" in parts["dp_variant"]["unprotected_quantities"]
    )
    assert parts["basic"]["publication_date"] == about.get("published", made.date)


def test_a_changed_field_is_seen_by_the_schema(folder: Path) -> None:
    released(folder).to_json(folder / "release.json")
    found = entry(folder)
    for path, value in ((("tier",), 4), (("deployment", "basic", "publication_date"), "1/1/2026")):
        spoilt = json.loads(json.dumps(found))
        place = spoilt
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(spoilt, REGISTRY)
    del found["deployment"]["basic"]["data_curators"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, REGISTRY)


def test_pure_privacy_and_a_private_number_of_records_are_said(folder: Path) -> None:
    survey = hg.open(folder / "people.csv", facts(ABOUT), relation="add-remove")
    survey.count(epsilon=1.0, delta=0.0).to_json(folder / "release.json")
    found = entry(folder)["deployment"]
    assert found["dp_variant"]["variant_name"] == "Pure DP" and "unprotected_quantities" not in found["dp_variant"]


def test_every_number_is_in_the_table_with_its_errors(folder: Path) -> None:
    made = released(folder)
    made.to_json(folder / "release.json")
    entry(folder)
    text = (folder / "sdmx.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0])[:8] == [
        *("STRUCTURE", "STRUCTURE_ID", "ACTION", "STATISTIC", "VARIABLE", "SEX", "TIME_PERIOD", "OBS_VALUE")
    ]
    assert len(rows) == len(made) and {row["TIME_PERIOD"] for row in rows} == {"2025"}
    for row, one in zip(rows, made, strict=True):
        assert float(row["OBS_VALUE"]) == one.estimate and float(row["STD_ERR"]) == one.standard_error
        assert row["OBS_STATUS"] == "A" and row["CONF_STATUS"] == "F" and row["VARIABLE"] == (one.column or "_Z")
    assert rows[0]["SEX"] == "'=1+1", "no spreadsheet runs it"


def test_a_table_has_its_totals(folder: Path) -> None:
    survey = hg.open(folder / "people.csv", facts(ABOUT))
    table = survey.contingency_table(by={"sex": ["=1+1", "b"]}, margins=True, epsilon=1.0)
    (folder / "table.json").write_text("".join(table.json_parts()))
    entry(folder)
    rows = list(csv.DictReader(io.StringIO((folder / "sdmx.csv").read_text(encoding="utf-8"))))
    assert [row["SEX"] for row in rows] == ["'=1+1", "b", "_T"] and {row["STATISTIC"] for row in rows} == {"count"}


def test_citations(folder: Path) -> None:
    found = published(folder, released(folder, ALL))
    record = yaml.safe_load(cff(found))
    jsonschema.validate(record, CFF)
    assert record["title"] == ABOUT["title"] and [one["name"] for one in record["authors"]] == ABOUT["curators"]
    assert r"Ünïcode \& Co" in bibtex(found) and "year = {2026}" in bibtex(found)
    assert sentence(found).startswith("Office of Tests, Ünïcode & Co (2026-01-02): Incomes")
    assert "https://doi.org/10.1/x" in sentence(found) and "sampling and privacy noise" in sentence(found)


def test_what_nobody_declared_is_asked_for_and_nothing_is_written(folder: Path) -> None:
    released(folder, {"title": "x"}).to_json(folder / "release.json")
    result = CliRunner().invoke(app, ["publish", str(folder)])
    assert result.exit_code == 2 and "HG709" in result.stderr and "curators, intended_use, region" in result.stderr
    assert {path.name for path in folder.iterdir()} == {"people.csv", "release.json"}
    (folder / "later.toml").write_text(
        "[about]\n" + "".join(f"{key} = {json.dumps(one)}\n" for key, one in ABOUT.items())
    )
    assert (
        entry(folder, "--facts", str(folder / "later.toml"))["deployment"]["basic"]["data_product_region"] == "Nowhere"
    )


def test_only_what_is_named_is_written(folder: Path) -> None:
    released(folder).to_json(folder / "release.json")
    result = CliRunner().invoke(app, ["publish", str(folder), "--citation", str(folder / "cite.bib")])
    assert result.exit_code == 0 and not (folder / "registry.yaml").exists()
    assert (folder / "cite.bib").read_text(encoding="utf-8").startswith("@misc{incomes_ages_a_test")
    assert CliRunner().invoke(app, ["publish", str(folder), "--citation", "cite.doc"]).exit_code == 2


def test_a_record_without_a_certificate_is_not_published(folder: Path) -> None:
    (folder / "release.json").write_text('{"release": {}, "certificate": null, "estimates": []}')
    assert CliRunner().invoke(app, ["publish", str(folder)]).exit_code == 5


def test_a_price_that_does_not_hold_is_not_published(folder: Path) -> None:
    """A fifth of the price, in the certificate alone: a citation would make it look checked."""
    place = Path(_written(released(folder, ALL), folder))
    record = json.loads(place.read_text())
    record["certificate"]["epsilon"] /= 5.0
    (folder / "release.json").write_text(json.dumps(record))
    before = {path.name for path in folder.iterdir()}
    result = CliRunner().invoke(app, ["publish", str(folder)])
    assert result.exit_code == 5 and result.stderr.startswith("HG501")
    assert {path.name for path in folder.iterdir()} == before


def test_an_address_does_not_end_its_field(folder: Path) -> None:
    found = published(folder, released(folder, ALL | {"url": "http://x/}, evil={1"}))
    assert "url = {http://x/%7D,%20evil=%7B1}" in bibtex(found)


def test_the_record_and_the_report_carry_it_and_it_changes_no_number(folder: Path) -> None:
    made = released(folder, ALL)
    again = hg.Release.from_json(_written(made, folder))
    assert again.about == ALL and again.to_json() == made.to_json()
    page = report_html(made)
    assert "Who publishes this" in page and "Office of Tests and Ünïcode &amp; Co" in page and "A decision." in page
    assert "whole numbers from the operating system" in page
    assert "Who publishes this" not in report_html(released(folder, {}))


def _written(made: hg.Release, folder: Path) -> Path:
    made.to_json(folder / "release.json")
    return folder / "release.json"


@pytest.mark.parametrize("about", [{"titel": "x"}, {"published": "1/1/2026"}, {"curators": []}, {"sector": "Mining"}])
def test_a_field_that_does_not_fit_is_refused(about: Any) -> None:
    with pytest.raises(hg.FactsError, match=r"HG702.*about\."):
        facts(about)


def test_yaml_is_read_back() -> None:
    data = {"a": {"b": ["x: y", "- z", "#"]}, "c": 1e-06, "d": [{"n": 'q"\\'}, {"n": "true"}], "e": "ü\u2028"}
    assert yaml.safe_load(as_yaml(data)) == {**data, "e": "ü"}
