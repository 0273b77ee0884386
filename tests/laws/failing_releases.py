"""Releases on a disk that fails (a script that `test_failing_disk.py` starts with `failing_disk.c` preloaded).

Prints a line of JSON for each run: what the caller was told and what the disk then holds.
"""

from __future__ import annotations

import ctypes
import errno
import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.publication.folder import FILES, ReleaseFolder, prepared_folder
from hedgerow.reports.margins_pages import MARGINS_FILES, add_pages

DISK = ctypes.CDLL(None)
PEOPLE = pyarrow.table({"age": [1, 2, 3] * 50, "sex": [0, 1] * 75})
BUDGET = Budget(2.0, 0.0)
SHORT = -1  # of failing_disk.c
FAILURES = [(errno.ENOSPC, 1), (errno.EIO, 0), (errno.ENOSPC, 0), (errno.EIO, 1), (SHORT, 1)]


def released(ledger: Path) -> Any:
    """Release a count under one id; return the numbers, or the code of the refusal."""
    survey = hg.open(PEOPLE, relation="add-remove", ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return survey.release([hg.count()], epsilon=0.5, delta=0.0, request_id="one")


def told(ledger: Path) -> dict[str, Any]:
    """Return what a caller of one release knows."""
    try:
        release = released(ledger)
    except hg.HedgerowError as refused:
        return {"code": refused.code, "spent": isinstance(refused, hg.errors.SpentError)}
    return {"numbers": [estimate.estimate for estimate in release], "unrecorded": release.unrecorded}


def kept(ledger: Path) -> dict[str, Any]:
    """Return what the file says once the disk works again, and what a second request under the same id is told."""
    with Ledger.open(ledger) as opened:
        opened.verify()
        before = [entry.state for entry in opened.entries()]
    again = told(ledger)
    with Ledger.open(ledger) as opened:
        opened.verify()
        return {"before": before, "again": again, "after": len(opened.entries()), "budget": opened.spent()}


def blank(folder: Path) -> Path:
    """Return a fresh ledger in an empty folder, on a disk that works."""
    DISK.disk_fails(0, 0, 0)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    ledger = folder / "people.ledger"
    Ledger.create(ledger, dataset="people", budget=BUDGET, relation="add-remove", unit="row").close()
    return ledger


def releases(folder: Path) -> Iterator[dict[str, Any]]:
    """Let each operation of one release fail in turn, in as many ways as asked."""
    told(blank(folder))
    for at in range(1, DISK.disk_operations() + 1):
        for error, lasting in FAILURES[: int(sys.argv[4])]:
            ledger = blank(folder)
            DISK.disk_fails(at, error, lasting)
            caller = told(ledger)
            DISK.disk_fails(0, 0, 0)
            yield {"at": at, "error": error, "lasting": lasting, "told": caller, "kept": kept(ledger)}


def whole_files(folder: Path) -> dict[str, str]:
    """Return the bytes of each file that stands under a final name."""
    paths = folder.glob("*") if folder.exists() else ()
    return {path.name: path.read_bytes().hex() for path in paths if path.is_file()}


def publications(folder: Path) -> Iterator[dict[str, Any]]:
    """Let operations of writing a publication folder fail in turn."""
    result = released(blank(folder))
    yield from _each_write(folder, lambda out: out.write(result), FILES)


def margins(folder: Path) -> Iterator[dict[str, Any]]:
    """Let operations of writing a folder of margins fail in turn."""
    survey = hg.open(PEOPLE, relation="add-remove")
    result = survey.margins(by={"age": [1, 2, 3], "sex": [0, 1]}, order=1, epsilon=1.0)
    yield from _each_write(folder, lambda out: add_pages(result, out), MARGINS_FILES)


def _each_write(folder: Path, write: Callable[[ReleaseFolder], Any], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what each run left; the first one, without failure, is the rule. One in so many operations fails."""
    at, last = 0, 1
    while at <= last:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        DISK.disk_fails(at, errno.ENOSPC if at % 2 else errno.EIO, 0)
        code = None
        try:
            with prepared_folder(folder / "out", names=names) as out:
                write(out)
        except hg.HedgerowError as refused:
            code = refused.code
        except OSError:
            code = "OSError"
        if not at:
            last = DISK.disk_operations()
        DISK.disk_fails(0, 0, 0)
        left = [path.name for path in (folder / "out").glob(".*")] if (folder / "out").exists() else []
        files = {name: _undated(name, content) for name, content in whole_files(folder / "out").items()}
        yield {"at": at, "code": code, "files": files, "left": left}
        at += int(sys.argv[4])


def _undated(name: str, content: str) -> str:
    """Return the cells of a workbook, which holds the time at which it was made, and any other file as it is."""
    if not name.endswith(".xlsx"):
        return content
    with ZipFile(BytesIO(bytes.fromhex(content))) as book:
        return book.read("xl/worksheets/sheet1.xml").hex()


def creations(folder: Path) -> Iterator[dict[str, Any]]:
    """Let each operation of making a ledger fail in turn; the first run is without failure."""
    at, last = 0, 1
    while at <= last:
        DISK.disk_fails(0, 0, 0)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        DISK.disk_fails(at, errno.ENOSPC if at % 2 else errno.EIO, at % 3 == 0)
        code = made(folder)
        if not at:
            last = DISK.disk_operations()
        DISK.disk_fails(0, 0, 0)
        yield {"at": at, "code": code, "whole": is_whole(folder), "again": made(folder), "lasting": at % 3 == 0}
        at += 1


def made(folder: Path) -> str | None:
    """Make a ledger; return the code of a refusal."""
    try:
        Ledger.create(folder / "new.ledger", dataset="people", budget=BUDGET, relation="add-remove", unit="row").close()
    except hg.HedgerowError as refused:
        return refused.code
    return None


def is_whole(folder: Path) -> bool:
    try:
        with Ledger.open(folder / "new.ledger") as opened:
            opened.verify()
            return opened.spent() == 0.0
    except hg.HedgerowError:
        return False


def one_release(folder: Path) -> Iterator[Any]:
    """Release once and publish, while the disk works: return after how many operations each thing was known."""
    ledger = blank(folder)
    DISK.disk_fails(0, 0, 0)
    yield whole_files(folder)
    release = released(ledger)
    yield {"numbers": [estimate.estimate for estimate in release], "known": DISK.disk_operations()}
    with prepared_folder(folder / "out") as out:
        out.write(release)
    yield whole_files(folder / "out")


RUNS = {
    "releases": releases,
    "publications": publications,
    "margins": margins,
    "creations": creations,
    "one release": one_release,
}

if __name__ == "__main__":
    exec(sys.argv[3])  # what a sabotage changes
    for outcome in RUNS[sys.argv[1]](Path(sys.argv[2])):
        print(json.dumps(outcome), flush=True)
