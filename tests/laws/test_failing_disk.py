"""Each operation on the files of a release fails in turn, or is the last before a power cut: nothing is lost or free.

A preloaded library (`failing_disk.c`) counts the creations, writes, syncs, moves and removals of a ledger, which SQLite
does, and of a publication folder, and lets one of them fail, or a write be short. It also logs them. From the log of
one release follows what the disk may hold after a power cut before each operation: what was synced, what was done, or
one without the other.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.laws.disk import NEEDED, Disk, Stored, built, operations

from hedgerow.errors import HedgerowError
from hedgerow.ledger.store import Ledger

pytestmark = NEEDED

SHORT = -1
UNPAID = """
import hedgerow.release.spend as s
booked = s.InLedger.reserve
def reserve(*given):
    try:
        return booked(*given)
    except hg.HedgerowError:
        return s.NoLedger()
s.InLedger.reserve = reserve
"""
WITHOUT_SYNC = (
    "import hedgerow.release.publication.write_file as w; w.move_into_place = lambda made, place: made.replace(place)"
)
IN_PLACE = """
import contextlib
import hedgerow.release.publication.folder as f
import hedgerow.release.publication.write_file as w
w._whole_or_before = contextlib.nullcontext
f.ReleaseFolder.staging = property(lambda self: self.path, lambda self, value: None)
f.move_into_place = f.move_synced = lambda made, place: None
"""
WITHOUT_BARRIER = "import hedgerow.ledger.file as f; f._PRAGMAS = ('PRAGMA synchronous = OFF', *f._PRAGMAS[1:])"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("library"))


def outcomes(library: Path, folder: Path, run: str, sabotage: str = "", ways: int = 1) -> Iterator[Any]:
    """Run a part of `failing_releases.py` in a process of its own, and yield what it prints; whoever stops ends it."""
    script, watched = Path(__file__).with_name("failing_releases.py"), folder.resolve() / "watched"
    log = {"FAILING_DISK_LOG": str(folder / "log")} if run == "one release" else {}
    variables = {**os.environ, "LD_PRELOAD": str(library), "FAILING_DISK": str(watched), **log}
    command = [sys.executable, script, run, watched, sabotage, str(ways)]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield from map(json.loads, running.stdout or ())
            assert running.wait() == 0
        finally:
            running.kill()


def check_release(outcome: dict[str, Any]) -> None:
    """Check one release on a failing disk: what was released is paid for once, and found again or known to be alone."""
    caller, before, again = outcome["told"], outcome["kept"]["before"], outcome["kept"]["again"]
    assert outcome["kept"]["after"] == 1 and outcome["kept"]["budget"] <= 0.5, outcome
    if "numbers" in caller:
        assert before in (["reserved"], ["recorded"]), outcome
        assert caller["unrecorded"] or before == ["recorded"], outcome
        assert again.get("numbers", caller["numbers"]) == caller["numbers"], outcome
    else:
        # Whoever is not told that the price is spent has not spent it.
        assert caller["spent"] or before == [], outcome
        assert before != ["recorded"], outcome
    assert again.get("code") == ("HG312" if before == ["reserved"] else None), outcome


def check_short_writes(runs: list[dict[str, Any]]) -> None:
    """Check that a write of half the bytes is written on: the caller is told the numbers, and they are kept."""
    short = [outcome for outcome in runs if outcome["error"] == SHORT]
    assert len(short) > 40
    for outcome in short:
        assert "numbers" in outcome["told"] and outcome["kept"]["before"] == ["recorded"], outcome


@pytest.mark.parametrize("ways", [2, pytest.param(5, marks=pytest.mark.long)])
def test_a_release_on_a_failing_disk_is_paid_for_and_kept_or_refused(library: Path, tmp_path: Path, ways: int) -> None:
    runs = list(outcomes(library, tmp_path, "releases", ways=ways))
    for outcome in runs:
        check_release(outcome)
    if ways > 4:
        check_short_writes(runs)
    codes = {outcome["told"].get("code") for outcome in runs}
    assert {"HG307", None} <= codes <= {"HG307", "HG607", None}
    assert any(outcome["told"].get("unrecorded") for outcome in runs) and len(runs) > 40 * ways


def test_a_release_before_its_price_is_booked_is_noticed(library: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"assert \[\] in"):
        for outcome in outcomes(library, tmp_path, "releases", UNPAID):
            check_release(outcome)


def check_publications(runs: Iterator[dict[str, Any]]) -> None:
    """Check each run: under a final name stands the whole file, and whoever is told of no failure has all files."""
    first, count = next(runs), 1
    whole = first["files"]
    assert first["code"] is None and len(whole) >= 5 and first["left"] == []
    for run in runs:
        count += 1
        assert run["files"].items() <= whole.items(), run["at"]
        assert run["left"] == [] and (run["code"] or run["files"] == whole), run["at"]
    assert count > 10


def test_a_file_of_a_publication_is_whole_or_absent(library: Path, tmp_path: Path) -> None:
    check_publications(outcomes(library, tmp_path, "publications"))


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.long)])
def test_a_file_of_a_folder_of_margins_is_whole_or_absent(library: Path, tmp_path: Path, every: int) -> None:
    check_publications(outcomes(library, tmp_path, "margins", ways=every))


def check_creations(runs: Iterator[dict[str, Any]]) -> None:
    """Check each run: there is a whole and empty ledger, or none, and then one can be made at once.

    On a disk that fails for good the name of a ledger that was not made cannot be removed.
    """
    codes = []
    for run in runs:
        codes.append(run["code"])
        assert run["code"] in (None, "HG302", "HG307"), run
        assert run["code"] or run["whole"], run
        assert run["whole"] or run["lasting"] or run["again"] is None, run
    assert codes[0] is None and len(codes) > 10


def test_a_ledger_is_made_whole_or_not_at_all(library: Path, tmp_path: Path) -> None:
    check_creations(outcomes(library, tmp_path, "creations"))


def test_a_file_that_is_left_of_a_ledger_is_noticed(library: Path, tmp_path: Path) -> None:
    kept = "import pathlib; pathlib.Path.unlink = lambda self, missing_ok=False: None"
    with pytest.raises(AssertionError, match="HG302"):
        check_creations(outcomes(library, tmp_path, "creations", kept))


def test_files_written_in_place_are_noticed(library: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="dict_items"):
        check_publications(outcomes(library, tmp_path, "publications", IN_PLACE))


def check_power_cuts(folder: Path, runs: Iterable[Any]) -> int:
    """Cut the power before each operation of one release; return how many disks were checked."""
    ledger_files, release, whole = runs
    place, checked = str(folder.resolve() / "watched"), set()
    start = {f"{place}/{name}": bytes.fromhex(content) for name, content in ledger_files.items()}
    names = {path: Stored(content, content) for path, content in start.items()}
    disk, steps = Disk(names, dict(names)), list(operations((folder / "log").read_bytes()))
    assert len(steps) > release["known"] > 20
    for at, step in enumerate([*steps, None]):
        for left in disk.after_a_power_cut():
            state = at >= release["known"], tuple(sorted(left.items()))
            if state not in checked:
                checked.add(state)
                check_disk(folder / "cut", place, left, release["numbers"] if state[0] else None, whole)
        if step is not None:
            disk.does(*step)
    return len(checked)


def check_disk(folder: Path, place: str, left: dict[str, bytes], numbers: Any, whole: dict[str, str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, content in left.items():
        if str(Path(path).parent) == place:
            (folder / Path(path).name).write_bytes(content)
        elif str(Path(path).parent) == f"{place}/out":
            assert content.hex() == whole[Path(path).name], path
    try:
        with Ledger.open(folder / "people.ledger") as ledger:
            ledger.verify()
            entries = ledger.entries()
    except HedgerowError as refused:
        raise AssertionError("the ledger is lost") from refused
    if numbers is not None:
        assert [entry.state for entry in entries] == ["recorded"]
        assert [found["estimate"] for found in json.loads(entries[0].result or "")["estimates"]] == numbers
    assert len(entries) <= 1


def test_a_power_cut_loses_no_answer_and_leaves_no_half_file(library: Path, tmp_path: Path) -> None:
    assert check_power_cuts(tmp_path, outcomes(library, tmp_path, "one release")) > 40


SYNCS = [(WITHOUT_SYNC, r"watched/out/\w+\.\w+"), (WITHOUT_BARRIER, "the ledger is lost|'recorded'")]


@pytest.mark.parametrize(("sabotage", "finding"), SYNCS, ids=["of a file", "of the ledger"])
def test_a_missing_sync_is_noticed(library: Path, tmp_path: Path, sabotage: str, finding: str) -> None:
    runs = list(outcomes(library, tmp_path, "one release", sabotage))
    with pytest.raises(AssertionError, match=finding):
        check_power_cuts(tmp_path, runs)
