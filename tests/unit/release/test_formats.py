"""The formats of releases and tables: each is one module, found by the suffix of the file."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest

import hedgerow as hg
from hedgerow.errors import ParameterError
from hedgerow.release.publication import formats as package
from hedgerow.release.publication.folder import prepared_folder
from hedgerow.release.publication.formats import formats

PEOPLE = pa.table({"age": [30.0, 50.0] * 500, "sex": ["f", "m"] * 500})
ADDED = """
from pathlib import Path

SUFFIXES = (".lines",)
KINDS = ("release", "table")


def write(publication, path):
    Path(path).write_text("\\n".join(str(len(line)) for line in publication.lines()))
"""


@pytest.fixture
def survey() -> hg.Survey:
    return hg.open(PEOPLE, relation="replace-one")


def test_a_release_and_a_table_are_written_in_every_format(survey: hg.Survey, tmp_path: Path) -> None:
    results = {
        "release": survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0),
        "table": survey.contingency_table(by={"sex": ["f", "m"]}, epsilon=1.0),
    }
    for kind, result in results.items():
        for suffix in formats(kind):
            result.write(tmp_path / f"{kind}{suffix}")
            assert (tmp_path / f"{kind}{suffix}").stat().st_size > 20


def test_a_format_that_is_not_known_is_refused(survey: hg.Survey, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refused:
        survey.count(epsilon=1.0).write(tmp_path / "release.docx")
    assert refused.value.code == "HG118" and ".csv, .json" in str(refused.value) and not list(tmp_path.iterdir())


def test_one_module_adds_a_format_everywhere(
    survey: hg.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "added").mkdir()
    (tmp_path / "added" / "lines_format.py").write_text(ADDED)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / "added")])
    formats.cache_clear()
    try:
        release, table = survey.count(epsilon=1.0), survey.contingency_table(by={"sex": ["f", "m"]}, epsilon=1.0)
        release.write(tmp_path / "r.lines")
        assert (tmp_path / "r.lines").read_text().count("\n") == 1
        with prepared_folder(tmp_path / "out") as folder:
            assert {"table.lines", "table.csv", "certificate.json"} <= set(folder.write(table))
    finally:
        formats.cache_clear()
        sys.modules.pop(f"{package.__name__}.lines_format", None)


@pytest.mark.parametrize("ending", formats("release"))
def test_a_file_that_cannot_be_written_stays_as_it_was(survey: hg.Survey, tmp_path: Path, ending: str) -> None:
    release, path = survey.release([hg.count()], epsilon=1.0), tmp_path / f"a{ending}"
    release.write(path)
    before = path.read_bytes()

    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # as a disk that is full after ten bytes
    try:
        with pytest.raises(ParameterError, match="cannot be written"):
            release.write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.glob(".hedgerow-*")) == []


def test_a_link_is_written_where_it_leads_and_modes_are_kept(survey: hg.Survey, tmp_path: Path) -> None:
    release, path, link = survey.release([hg.count()], epsilon=1.0), tmp_path / "a.csv", tmp_path / "link.csv"
    path.touch(mode=0o640)
    link.symlink_to(path)
    release.write(link)
    assert link.is_symlink() and path.read_text().startswith("statistic")
    path.chmod(0o600)
    release.write(path)
    assert path.stat().st_mode & 0o777 == 0o600
