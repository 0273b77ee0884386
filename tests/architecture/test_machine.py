"""A test that lacks a public file or an engine is skipped by name, and a CI run that lacks an engine fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engines import ENGINES, judged

ROOT = Path(__file__).parents[2]
TREE = """
import pytest
from tests.engines import need

def test_a_page(): need("chromium")
def test_another_page(): need("chromium")
@pytest.mark.data("RiceFarms.csv")
def test_farms(): pass
"""


def session(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run three tests where there is no browser, and no data but those of HEDGEROW_DATA."""
    (folder / "test_tree.py").write_text(TREE, encoding="utf-8")
    of_the_run = ("CI", "HEDGEROW_ALLOW_MISSING", "HEDGEROW_LACKED")
    kept = {name: value for name, value in os.environ.items() if name not in of_the_run}
    hidden = {"PATH": str(folder), "PYTHONPATH": str(ROOT), "HEDGEROW_DATA": str(folder)}
    hidden["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "-rs", f"-c{os.devnull}", f"--rootdir={folder}", "-pno:cacheprovider", "-ptests.conftest"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder / "test_tree.py")],
        cwd=folder, env=kept | hidden | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_newcomer_s_run_passes_and_names_what_it_skipped(tmp_path: Path) -> None:
    run = session(tmp_path)
    assert run.returncode == 0, run.stdout
    assert "needs RiceFarms.csv: set HEDGEROW_DATA" in run.stdout
    assert run.stdout.splitlines()[-1] == (
        "Engines are missing, and their tests were skipped: chromium (a headless browser), 2 skipped."
    )


def test_a_ci_run_without_an_engine_fails_and_its_last_line_says_why(tmp_path: Path) -> None:
    (tmp_path / "RiceFarms.csv").touch()
    run = session(tmp_path, CI="true")
    assert run.returncode == 1 and "1 passed, 2 skipped" in run.stdout, run.stdout
    assert run.stdout.splitlines()[-1].endswith(
        "2 skipped. This run fails: install chromium, or set HEDGEROW_ALLOW_MISSING=chromium."
    )
    # A session that is part of a run hands the names over, and the run is judged at its end.
    part = session(tmp_path, CI="true", HEDGEROW_LACKED=str(tmp_path / "lacked"))
    assert part.returncode == 0 and "Engines" not in part.stdout
    assert (tmp_path / "lacked").read_text(encoding="utf-8") == "chromium\n" * 2


@pytest.mark.parametrize(
    ("lacked", "environment", "fails"),
    [
        ([], {"CI": "true"}, False),
        (["java"], {}, False),
        (["java"], {"CI": "true"}, True),
        (["java"], {"CI": "true", "HEDGEROW_ALLOW_MISSING": "java"}, False),
        (["java", "pyspark"], {"CI": "true", "HEDGEROW_ALLOW_MISSING": "java, chromium"}, True),
        (["java", "pyspark"], {"CI": "true", "HEDGEROW_ALLOW_MISSING": "pyspark,java"}, False),
    ],
)
def test_a_run_fails_for_the_engines_that_are_not_allowed_to_be_missing(
    lacked: list[str], environment: dict[str, str], fails: bool
) -> None:
    line, found = judged(lacked, environment)
    assert found is fails and all(name in line for name in lacked) and "\n" not in line


def test_every_engine_is_asked_for_by_its_name() -> None:
    """No other skip hides an engine: each is found by `need`, which a fixture calls."""
    fixtures = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("*/conftest.py"))
    assert all(f'need("{name}")' in fixtures for name in ENGINES)
