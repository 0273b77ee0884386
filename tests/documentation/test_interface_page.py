"""The page of the interface lists what `dir(hedgerow)` shows, and names that moved still work."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import hedgerow as hg

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
MOVED = ("maximum", "minimum", "own_function")


def listed() -> list[str]:
    text = (REFERENCE / "interface.md").read_text(encoding="utf-8")
    return re.findall(r"^- `hg\.([\w.]+)`: \S", text, re.MULTILINE)


def test_the_page_lists_the_interface_once_and_nothing_else() -> None:
    within = [f"bootstrap_dp.{name}" for name in hg.bootstrap_dp.__all__]
    assert sorted(listed()) == sorted([*hg.__all__, *within])


def test_dir_shows_the_interface_only() -> None:
    # In a process of its own, as a user has it, and after everything was asked for.
    code = "import hedgerow as hg; [getattr(hg, name) for name in hg.__all__]; print(*dir(hg))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == sorted(hg.__all__)
    assert not {"import_module", "TYPE_CHECKING", "Any", "warnings", *MOVED} & set(dir(hg))


@pytest.mark.parametrize("shown", [hg.Release, hg.Estimate, hg.Interval])
def test_a_result_shows_its_interface_only(shown: type) -> None:
    """What other modules read of a result (its request, its noisy numbers, how it is drawn) begins with `_`."""
    described = "".join(base.__doc__ or "" for base in shown.__mro__ if base.__module__.startswith("hedgerow"))
    members = [name for name in dir(shown) if not name.startswith("_") and name not in dir(Sequence)]
    data = [name for name in members if not callable(getattr(shown, name)) and not getattr(shown, name).__doc__]
    assert [name for name in data if name not in re.findall(r"\w+", described)] == []
    internal = {"asked", "identity", "joint", "distributions", "request", "noisy", "pooled", "joined", "region", "term"}
    assert not internal & set(members)


def test_every_name_has_a_page_of_the_reference() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    shown = set(re.findall(r"auto\w+:: hedgerow\.(\S+)", pages))
    assert set(listed()) - {"__version__", "bootstrap_dp"} <= shown


@pytest.mark.parametrize("name", MOVED)
def test_a_name_that_moved_works_with_a_warning(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"hedgerow\.bootstrap_dp\.{name}") as warned:
        moved = getattr(hg, name)
    assert moved is getattr(hg.bootstrap_dp, name)
    assert warned[0].filename == __file__
    assert name not in hg.__all__ and name in hg.bootstrap_dp.__all__
    assert name in (REFERENCE.parent / "versions.md").read_text(encoding="utf-8")
