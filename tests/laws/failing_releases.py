"""Releases on a disk that fails (a script that `test_failing_disk.py` starts with `failing_disk.c` preloaded).

Prints one JSON list: of each run, what the caller was told and what the disk then holds.
"""

from __future__ import annotations

import ctypes
import errno
import json
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow

import hedgerow as hg
from hedgerow.facts.budget import Budget
from hedgerow.ledger.store import Ledger
from hedgerow.release.publication.folder import prepared_folder

DISK = ctypes.CDLL(None)
PEOPLE = pyarrow.table({"age": [1, 2, 3] * 50})
FAILURES = [(errno.ENOSPC, 1), (errno.EIO, 0), (errno.ENOSPC, 0), (errno.EIO, 1)]


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
    Ledger.create(ledger, dataset="people", budget=Budget(2.0, 0.0), relation="add-remove", unit="row").close()
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
    """Let each operation of writing a publication folder fail in turn; the first run, without failure, is the rule."""
    result = released(blank(folder))
    at, last = 0, 1
    while at <= last:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        DISK.disk_fails(at, errno.ENOSPC if at % 2 else errno.EIO, 0)
        code = None
        try:
            with prepared_folder(folder / "out") as out:
                out.write(result)
        except hg.HedgerowError as refused:
            code = refused.code
        except OSError:
            code = "OSError"
        if not at:
            last = DISK.disk_operations()
        DISK.disk_fails(0, 0, 0)
        left = [path.name for path in (folder / "out").glob(".*")] if (folder / "out").exists() else []
        yield {"at": at, "code": code, "files": whole_files(folder / "out"), "left": left}
        at += 1


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


RUNS = {"releases": releases, "publications": publications, "one release": one_release}

if __name__ == "__main__":
    exec(sys.argv[3])  # what a sabotage changes
    print(json.dumps(list(RUNS[sys.argv[1]](Path(sys.argv[2])))))
