"""The tests that a change of folders needs: ``python -m tests.mirror release`` prints their paths.

These are the folder's mirror in tests/unit, its doctests, and the files outside tests/unit that import from the folder,
also by way of a module of tests/. A folder that has neither is tested by the files of tests/unit that import from it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "hedgerow", ROOT / "tests"
IMPORT = re.compile(r"^ *(?:from|import) ((?:hedgerow|tests)\.[\w.]+)", re.MULTILINE)
FOLDERS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@cache
def folders_of(path: Path) -> frozenset[str]:
    """Return the folders of the library that a file of tests imports from."""
    found = IMPORT.findall(path.read_text(encoding="utf-8"))
    own = frozenset(name.split(".")[1] for name in found if name.startswith("hedgerow."))
    shared = [ROOT / f"{name.replace('.', '/')}.py" for name in found if name.startswith("tests.")]
    return own.union(*(folders_of(one) for one in shared if one.is_file()))


def concerned(folder: str) -> list[Path]:
    """Return the paths of the tests that a change of a folder needs."""
    mirror = TESTS / "unit" / folder
    found = [path for path in sorted(TESTS.rglob("test_*.py")) if folder in folders_of(path)]
    outside = [path for path in found if TESTS / "unit" not in path.parents]
    if mirror.is_dir():
        return [mirror, SOURCE / folder, *outside]
    return [SOURCE / folder, *(outside or found)]


def concerned_by_all(folders: Iterable[str]) -> list[Path]:
    """Return the paths of the tests that changes of several folders need; none lies in another."""
    paths = dict.fromkeys(path for folder in folders for path in concerned(folder))
    return [path for path in paths if not any(other in path.parents for other in paths)]


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        if asked not in FOLDERS:
            sys.exit(f"src/hedgerow has no folder {asked}. Its folders: {', '.join(FOLDERS)}.")
    print(*(path.relative_to(ROOT) for path in concerned_by_all(sys.argv[1:])))
