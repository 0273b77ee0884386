"""No writer replaces data, facts, a ledger or a secret, however the file is named."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hedgerow as hg
from hedgerow.cli.main import app
from hedgerow.engines.source import open_source
from hedgerow.facts.budget import Budget
from hedgerow.facts.declared import Facts
from hedgerow.ledger.store import Ledger
from hedgerow.multicalibration.calibration_fit import FitOptions, ScoredColumns, fit_from_source
from hedgerow.multicalibration.declared_groups import family_of
from hedgerow.multicalibration.model_file import apply_to_file, read_model, write_model
from hedgerow.release.publication.folder import FILES, TABLE_FILES, prepared_folder
from hedgerow.release.publication.write_file import write_lines
from hedgerow.reports import write_report
from hedgerow.testset.looks import Secret

ROWS = "age,y,p\n" + "41,1,.9\n42,0,.2\n" * 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind, all of which this process has read or made."""
    place = tmp_path_factory.mktemp("kept")
    (place / "data.csv").write_text(ROWS, encoding="utf-8")
    (place / "facts.toml").write_text('relation = "add-remove"\n', encoding="utf-8")
    Ledger.create(place / "ledger", dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    Secret.fresh().write(place / "ledger.secret")
    # What is no TOML by its name, and was read, is known too.
    (place / "facts.txt").write_text('relation = "add-remove"\n', encoding="utf-8")
    Facts.read(place / "facts.txt")
    hg.open(place / "data.csv", relation="add-remove")
    family = family_of({"y": [0, 1]}, depth=1)
    fitted = fit_from_source(
        open_source(place / "data.csv"), ScoredColumns("y", "p"), family, FitOptions("add-remove", 1.0)
    )
    write_model(fitted.model, place / "model.json")
    read_model(place / "model.json")
    return place


PROTECTED = ["data.csv", "facts.toml", "facts.txt", "ledger", "ledger.secret"]


@pytest.fixture(scope="module")
def results(made: Path) -> tuple[hg.Release, object]:
    survey = hg.open(made / "data.csv", relation="add-remove")
    release = survey.mean("age", bounds=(0, 100), step=1, by={"y": [0, 1]}, epsilon=1.0)
    return release, survey.contingency_table(by={"y": [0, 1]}, epsilon=1.0)


WRITERS: dict[str, Callable[[Path, tuple[hg.Release, object], Path], object]] = {
    "release.to_csv": lambda made, results, out: results[0].to_csv(out),
    "release.to_json": lambda made, results, out: results[0].to_json(out),
    "write_report": lambda made, results, out: write_report(results[0], out),
    "table.to_csv": lambda made, results, out: results[1].to_csv(out),
    "table.to_json": lambda made, results, out: results[1].to_json(out),
    "table.to_xlsx": lambda made, results, out: results[1].to_xlsx(out),
    "table.to_html": lambda made, results, out: results[1].to_html(out),
    "write_model": lambda made, results, out: write_model(read_model(made / "model.json"), out),
    "apply_to_file": lambda made, results, out: apply_to_file(
        read_model(made / "model.json"), made / "data.csv", out, score="p"
    ),
}
NAMED: dict[str, Callable[[Path, Path], Path]] = {
    "as it is": lambda kept, folder: kept,
    "relative": lambda kept, folder: Path(os.path.relpath(kept, Path.cwd())),
    "through another folder": lambda kept, folder: kept.parent / ".." / kept.parent.name / kept.name,
    "symbolic link": lambda kept, folder: linked(kept, folder, os.symlink),
    "hard link": lambda kept, folder: linked(kept, folder, os.link),
}


def linked(kept: Path, folder: Path, link: Callable[[Path, Path], None]) -> Path:
    other = folder / f"other{kept.suffix}"
    link(kept, other)
    return other


def pairs() -> Iterator[Any]:
    """Yield each writer with one file that is kept, and each such file with one writer; the other pairs are long."""
    for place, (writer, name) in enumerate(itertools.product(WRITERS, PROTECTED)):
        row, column = divmod(place, len(PROTECTED))
        yield pytest.param(writer, name, marks=() if row % len(PROTECTED) == column else pytest.mark.long)


@pytest.mark.parametrize(("writer", "name"), [*pairs()])
def test_no_writer_replaces_what_is_kept(
    writer: str, name: str, made: Path, results: tuple[hg.Release, object], tmp_path: Path
) -> None:
    kept = made / name
    before = kept.read_bytes()
    for named, found in NAMED.items():
        folder = tmp_path / named
        folder.mkdir()
        with pytest.raises(hg.HedgerowError) as refused:
            WRITERS[writer](made, results, found(kept, folder))
        assert refused.value.code in ("HG317", "HG168", "HG166"), named
        assert kept.read_bytes() == before
        for link in folder.iterdir():
            link.unlink()
        assert not [path for path in (*made.iterdir(), *folder.iterdir()) if path.name.startswith(".hedgerow-")]


@pytest.mark.parametrize("name", PROTECTED)
@pytest.mark.parametrize("names", [FILES, TABLE_FILES], ids=["release", "table"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_folder_is_refused_also_by_force(
    name: str, names: tuple[str, ...], link: Callable[[Path, Path], None], made: Path, tmp_path: Path
) -> None:
    for file in names:
        link(made / name, tmp_path / file)
        with pytest.raises(hg.ParameterError, match="HG119"), prepared_folder(tmp_path, force=True, names=names):
            raise AssertionError
        (tmp_path / file).unlink()


def test_a_ledger_under_the_name_of_an_output_is_spared(made: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "certificate.json"
    Ledger.create(ledger, dataset="d", budget=Budget(9.0, 1e-6), relation="add-remove", unit="row").close()
    asked = ["release", made / "data.csv", "--relation", "add-remove", "--count", "--epsilon", 1, "--ledger", ledger]
    done = CliRunner().invoke(app, [str(part) for part in (*asked, "--out", tmp_path, "--force")])
    assert (done.exit_code, done.stdout) == (2, "") and done.stderr.startswith("HG119: ")
    with Ledger.open(ledger) as kept:
        assert kept.entries() == ()


def test_a_verb_replaces_an_unrelated_file_by_force_only(made: Path, tmp_path: Path) -> None:
    out, rows = tmp_path / "notes.csv", tmp_path / "rows.csv"
    out.write_text("my notes\n", encoding="utf-8")
    rows.write_text(ROWS, encoding="utf-8")
    command = ["apply", str(made / "model.json"), str(rows), "--score", "p", "--out", str(out)]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2 and "HG168" in refused.stderr and out.read_text(encoding="utf-8") == "my notes\n"
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    # What the same command wrote is its own to replace.
    assert CliRunner().invoke(app, command).exit_code == 0
    fit = ["multicalibrate", str(rows), "--label", "y", "--score", "p", "--group", "y=0,1", "--epsilon", "1"]
    fit += ["--relation", "add-remove", "--out"]
    assert CliRunner().invoke(app, [*fit, str(out)]).exit_code == 2
    assert CliRunner().invoke(app, [*fit, str(tmp_path / "m.json")]).exit_code == 0
    assert CliRunner().invoke(app, [*fit, str(tmp_path / "m.json")]).exit_code == 0


def test_the_demo_replaces_nobodys_survey(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("mine\n1\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 2 and "HG119" in done.stderr
    assert (tmp_path / "survey.csv").read_text(encoding="utf-8") == "mine\n1\n"


def test_scored_rows_do_not_replace_a_model(made: Path) -> None:
    before = (made / "model.json").read_bytes()
    with pytest.raises(hg.DataError, match="HG168"):
        apply_to_file(read_model(made / "model.json"), made / "data.csv", made / "model.json", score="p")
    assert (made / "model.json").read_bytes() == before


def test_any_other_file_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "old.csv"
    out.write_text("old", encoding="utf-8")
    write_lines(out, ["new"])
    assert out.read_text(encoding="utf-8") == "new"
