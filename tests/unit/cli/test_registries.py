"""What is registered is known to the command line: its helps list it, and its verbs take it by its name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.cli import shared_options
from hedgerow.cli.main import app
from hedgerow.cli.shared_options import filled
from hedgerow.mechanisms.laws import LAWS
from hedgerow.mechanisms.mechanism import priced
from hedgerow.multicalibration.calibration_mechanism import MECHANISMS as CALIBRATIONS
from hedgerow.release.publication.formats import Kind, formats_of_folder, suffixes
from hedgerow.statistics.registry import entries
from hedgerow.testset.mechanisms.choose import MECHANISMS as LOOKS

# The verbs whose help lists a registry, with the names in it.
LISTED: dict[str, Iterable[str]] = {
    "price": priced(),
    "audit": priced(),
    "release": [*LAWS, *(entry.option for entry in entries().values() if entry.in_files), *suffixes("release")],
    "plan": LAWS,
    "table": [*LAWS, *suffixes("table")],
    "ols": LAWS,
    "multicalibrate": CALIBRATIONS,
    "testset create": LOOKS,
    "testset attack": LOOKS,
}
RELEASE = ["rows.csv", "--relation", "replace-one", "--epsilon", "2", "--count", "--by", "sex=f,m"]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.csv").write_text("sex\n" + "f\nm\n" * 500, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("verb", LISTED)
def test_a_help_lists_what_is_registered(verb: str) -> None:
    # A name may be broken across two lines.
    shown = "".join(run(*verb.split(), "--help").stdout.split())
    assert [name for name in LISTED[verb] if name not in shown] == []
    assert [name for name in shared_options._REGISTRIES if f"<{name}" in shown] == []


def test_a_law_that_is_registered_later_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAWS, "another-law", next(iter(LAWS.values())))
    assert filled("Noise distribution: auto, <laws>.").endswith(" or another-law.")


@pytest.mark.parametrize("name", shared_options._REGISTRIES)
def test_every_registry_of_a_help_is_there(name: str) -> None:
    shown = filled(f"<{name}{' table' * (name == 'formats')}>")
    assert "<" not in shown and "," in shown


@pytest.mark.parametrize("name", priced())
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_mechanism_is_priced_by_its_name(name: str, relation: str) -> None:
    shown = run("price", "--mechanism", name, "--relation", relation, "--epsilon", "1", "--json")
    assert shown.exit_code == 0, shown.stderr
    record = json.loads(shown.stdout)
    assert record["mechanism"]["type"] == priced()[name].__dataclass_fields__["type"].default
    assert 0.99 <= record["epsilon_upper"] <= 1.0
    unit = run("price", "--mechanism", name, "--relation", relation, "--epsilon", "1").stdout
    assert f"in units of {priced()[name].price_unit}" in unit


@pytest.mark.parametrize("name", priced())
def test_a_mechanism_is_audited_by_its_name(name: str) -> None:
    shown = run("audit", "--mechanism", name, "--relation", "add-remove", "--epsilon", "1", "--runs", "2000", "--json")
    assert shown.exit_code == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["passes"] and found["epsilon_lower"] <= found["epsilon_upper"]


@pytest.mark.parametrize("name", ["auto", *LAWS])
@pytest.mark.parametrize("verb", ["release", "table"])
def test_a_law_of_noise_is_taken_by_its_name(name: str, verb: str) -> None:
    shown = run(verb, *RELEASE, "--noise", name, "--json")
    assert shown.exit_code == 0, shown.stderr
    if name != "auto":
        method = json.loads(shown.stdout)["estimates"][0]["method"]
        assert method.startswith({"laplace": "geometric"}.get(name, name))


@pytest.mark.parametrize("kind", ["release", "table"])
def test_a_folder_holds_a_file_of_every_format(kind: Kind, tmp_path: Path) -> None:
    made = run(kind, *RELEASE, "--out", "out")
    assert made.exit_code == 0, made.stderr
    assert {path.suffix for path in (tmp_path / "out").iterdir()} >= set(formats_of_folder(kind))


def test_a_name_that_is_not_registered_is_refused_with_those_that_are() -> None:
    for verb in (["price"], ["audit"]):
        refused = run(*verb, "--mechanism", "another", "--relation", "add-remove", "--epsilon", "1")
        assert refused.exit_code == 2 and all(name in refused.stderr for name in priced())
    refused = run("release", *RELEASE, "--noise", "another")
    assert refused.exit_code == 2 and all(name in refused.stderr for name in LAWS)
