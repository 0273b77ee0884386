"""The how-tos of `docs/extending`: each adds its example to a copy of the package, and the example works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow

PACKAGE = Path(hedgerow.__file__).parent
PAGES = sorted(page for page in (Path(__file__).parents[2] / "docs" / "extending").glob("*.md") if page.stem != "index")
BLOCK = re.compile(r"^```python\n# (src/hedgerow/\S+\.py|tests/\S+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files(page: Path) -> dict[str, str]:
    """Return the files that a page tells its reader to write, by path."""
    return dict(BLOCK.findall(page.read_text(encoding="utf-8")))


def added(page: Path, folder: Path) -> list[str]:
    """Copy the package into ``folder``, write the page's files there, and return the paths of the tests among them."""
    # Compiled files are copied too: the times of the sources stay theirs.
    shutil.copytree(PACKAGE, folder / "src" / "hedgerow")
    for name, text in files(page).items():
        path = folder / name
        assert not path.exists(), f"{name} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [name for name in files(page) if name.startswith("tests/")]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    quick = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), **quick}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_one_file_and_its_test_add_a_thing(page: Path, tmp_path: Path) -> None:
    written = files(page)
    assert [name for name in written if name.startswith("src/")] and len(written) == 2, "one file and its test"
    tests = added(page, tmp_path)
    ran = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *tests)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_test_of_a_how_to_fails_without_its_file(page: Path, tmp_path: Path) -> None:
    tests = added(page, tmp_path)
    for name in files(page):
        if name.startswith("src/"):
            (tmp_path / name).unlink()
    ran = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *tests)
    assert ran.returncode != 0
