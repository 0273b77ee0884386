"""What a server asks of the files that it keeps: nobody else can read the labels, and no other server counts here."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hedgerow.errors import DataError, LedgerError


def check_private(path: Path, what: str) -> Path:
    """Return the file that a path leads to, once its user alone may read and replace it (HG451).

    Links are followed first. The folder must not be writable by others, who could put another file in its place; a
    folder with the sticky bit, such as ``/tmp``, protects the files of each user.
    """
    try:
        found = path.resolve(strict=True)
        mode, folder = found.stat(), found.parent.stat()
    except (OSError, RuntimeError, ValueError):
        raise DataError(
            "HG435",
            rule="Labels stay with the custodian, in the file from which the test set was made.",
            finding=f"The file of {what} is not there, or not for this user.",
            remedy='Say where they are now: labels="FILE".',
        ) from None
    if not stat.S_ISREG(mode.st_mode) or mode.st_uid != os.geteuid() or mode.st_mode & 0o077:
        raise _open_to_others(f"The file of {what} belongs to somebody else, or others may use it.", "chmod 600", found)
    if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX:
        raise _open_to_others(f"Others may replace the file of {what}.", "chmod go-w", found.parent)
    return found


def lock(secret: Path) -> int:
    """Return a descriptor that holds the test set for one server; the system frees it when the process ends (HG452).

    The secret is locked and not the ledger: SQLite's own locks go when any descriptor of that file is closed.
    """
    try:
        import fcntl

        held = os.open(secret, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        raise _held("Its secret cannot be locked.", "Serve it on Linux or macOS, from its own disk.") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise _held("Another one serves it now.", "Stop that one first, or send predictions there.") from None
    return held


def _open_to_others(finding: str, remedy: str, path: Path) -> DataError:
    return DataError(
        "HG451",
        rule="What a server keeps is readable by its user alone, and lies in a folder in which only that user writes.",
        finding=finding,
        remedy=f"As its owner: {remedy} {path.name}. Nothing was read.",
    )


def _held(finding: str, remedy: str) -> LedgerError:
    rule = "A test set is served by one server at a time, which limits its requests."
    return LedgerError("HG452", rule=rule, finding=finding, remedy=remedy)
