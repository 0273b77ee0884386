"""A new ledger file: made where nothing was, or not at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from hedgerow.errors import LedgerError
from hedgerow.interrupts import held_back
from hedgerow.ledger import schema
from hedgerow.ledger.chain import Header
from hedgerow.ledger.connection import journal_of, taking_turns
from hedgerow.ledger.entry import digest


def new_file(path: Path, header: Header) -> None:
    """Write an empty ledger; refuse a path that exists, a link included (HG302)."""
    with held_back():
        _made(path, header)


def _made(path: Path, header: Header) -> None:
    try:
        # Left by a ledger that was removed, it would be rolled back into the new one.
        if journal_of(path).exists():
            raise _refused("A journal of an earlier ledger lies beside it.")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        raise _refused("Something is at this path already.") from None
    except (OSError, ValueError):
        raise _refused("The folder is missing or cannot be written.") from None
    try:
        _fill(path, header)
    except sqlite3.Error:
        with suppress(OSError):
            path.unlink()
        raise _refused("The disk is full, or the file cannot be written.") from None


def _fill(path: Path, header: Header) -> None:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with taking_turns(), closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        schema.build(connection, body=header.body(), digest=digest(header.body()))
        connection.execute("COMMIT")


def _refused(finding: str) -> LedgerError:
    return LedgerError(
        "HG302",
        rule="A new ledger is made where nothing is, in a folder that can be written.",
        finding=finding,
        remedy="Choose another path. A ledger is never overwritten: its budget would come back.",
    )
