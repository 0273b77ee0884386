"""What `make test-FOLDER` runs: every folder has tests, and a file of tests is run for the folders it imports from."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.mirror import FOLDERS, ROOT, SOURCE, TESTS, concerned, folders_of


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_tests(folder: str) -> None:
    found = concerned(folder)
    assert any(TESTS in path.parents for path in found) and all(path.exists() for path in found)


def test_the_tests_of_a_folder_are_its_mirror_its_doctests_and_what_imports_from_it() -> None:
    found = concerned("release")
    assert {TESTS / "unit" / "release", SOURCE / "release"} <= set(found)
    # By way of simulations/tables.py alone.
    assert TESTS / "statistical" / "test_tables.py" in found
    assert TESTS / "unit" / "tables" / "test_protected_table.py" not in found
    # What imports nothing of the library but its front door is nobody's, and is run by `make test`.
    assert folders_of(TESTS / "architecture" / "test_house.py") == frozenset()


def test_another_name_is_refused_with_the_names_that_there_are() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.mirror", "relese"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1 and "release" in run.stderr and run.stdout == ""
