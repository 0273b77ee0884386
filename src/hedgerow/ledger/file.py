"""The file of a ledger: how it is made, opened, locked and written through SQLite, and the codes of its failures.

* The tables are numbered migrations; a file whose schema is not exactly this one is refused. Rows are only ever
  appended: triggers refuse anything else, which stops accidents; what stops deceit is the hash chain.
* Opened by URI with ``mode=rw``, so that a mistyped path cannot make a fresh, empty budget.
* ``journal_mode=DELETE, synchronous=EXTRA``: SQLite from 3.7.0 to 3.51.2 can corrupt files in WAL mode, and a ledger is
  small. A commit ends when its journal is removed. EXTRA syncs the folder after that; otherwise a power cut can bring
  the journal back, which undoes the commit. So what was reserved or recorded survives crashes and power cuts, unless
  the disk reports that it wrote what it did not write.
* Writers take the lock before they read (``BEGIN IMMEDIATE``), so the budget that was checked is the one that is spent.
* Locks are the file system's. On network file systems that do not keep them, use one machine.
* Bytes that a checkpoint knows (`hedgerow.ledger.chain`) were checked before, and are not checked again.
* A connection belongs to one process. A fork waits until no transaction is open, and the child opens its own.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from hedgerow.canonical import digest
from hedgerow.disk import sync_folder
from hedgerow.errors import LedgerError
from hedgerow.inputs import note_input
from hedgerow.interrupts import held_back
from hedgerow.ledger.chain import Checkpoint, load
from hedgerow.ledger.ledger_entry import Head

APPLICATION_ID = 0x48474C44
"""``HGLD``: SQLite keeps it in bytes 68 to 71 of the file."""

_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables

_HASH = "length({0}) = 64 AND {0} NOT GLOB '*[^0-9a-f]*'"
_FROZEN = "CREATE TRIGGER {0}_no_{1} BEFORE {1} ON {0} BEGIN SELECT RAISE(ABORT, 'append only'); END"

_FIRST = (
    f"""CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    body TEXT NOT NULL,
    hash TEXT NOT NULL CHECK ({_HASH.format("hash")})
) STRICT""",
    f"""CREATE TABLE links (
    counter INTEGER PRIMARY KEY CHECK (counter >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('reserve', 'record')),
    request TEXT NOT NULL CHECK (length(request) BETWEEN 1 AND 200),
    body TEXT NOT NULL,
    hash TEXT NOT NULL CHECK ({_HASH.format("hash")}),
    result BLOB CHECK ((kind = 'record') = (result IS NOT NULL)),
    UNIQUE (request, kind)
) STRICT""",
    f"""CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    counter INTEGER NOT NULL CHECK (counter >= 0),
    hash TEXT NOT NULL CHECK ({_HASH.format("hash")})
) STRICT""",
    """CREATE TRIGGER links_in_order BEFORE INSERT ON links
    WHEN NEW.counter <> (SELECT counter + 1 FROM head)
    BEGIN SELECT RAISE(ABORT, 'out of order'); END""",
    """CREATE TRIGGER links_move_the_head AFTER INSERT ON links
    BEGIN UPDATE head SET counter = NEW.counter, hash = NEW.hash; END""",
    """CREATE TRIGGER head_moves_by_one BEFORE UPDATE ON head
    WHEN NEW.counter <> OLD.counter + 1
        OR NOT EXISTS (SELECT 1 FROM links WHERE counter = NEW.counter AND hash = NEW.hash)
    BEGIN SELECT RAISE(ABORT, 'append only'); END""",
    *(_FROZEN.format(table, verb) for table in ("header", "links") for verb in ("UPDATE", "DELETE")),
    _FROZEN.format("head", "DELETE"),
)

MIGRATIONS = (_FIRST,)
VERSION = len(MIGRATIONS)


def build_schema(connection: sqlite3.Connection, *, body: str, digest: str) -> None:
    """Make the tables and write the header, inside the caller's transaction."""
    for statement in (statement for migration in MIGRATIONS for statement in migration):
        connection.execute(statement)
    connection.execute("INSERT INTO header VALUES (1, ?, ?)", (body, digest))
    connection.execute("INSERT INTO head VALUES (1, 0, ?)", (digest,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check_schema(connection: sqlite3.Connection) -> None:
    """Refuse a file that is no ledger (HG303) or one of a newer hedgerow (HG304); earlier versions do not exist yet."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LedgerError(
            "HG304",
            rule="A ledger needs SQLite 3.37 or later.",
            finding=f"This Python carries {sqlite3.sqlite_version}.",
            remedy="Use a newer Python.",
        )
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION_ID and version > VERSION:
        raise LedgerError(
            "HG304",
            rule=f"This version of hedgerow reads ledgers of format {VERSION}.",
            finding=f"The file has format {version}.",
            remedy="Use the version of hedgerow that wrote the ledger, or a later version. Nothing was changed.",
        )
    if application != APPLICATION_ID or version != VERSION or _tables(connection) != _expected():
        raise LedgerError(
            "HG303",
            rule="A ledger must have exactly the tables and triggers that hedgerow made.",
            finding="The file at this path has other tables or triggers.",
            remedy="Give the path of a ledger that `hedgerow ledger create` made, or restore the ledger from a backup.",
        )


def _tables(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name")
    return [(str(kind), str(name), str(sql)) for kind, name, sql in rows]


@cache
def _expected() -> list[tuple[str, str, str]]:
    with sqlite3.connect(":memory:", isolation_level=None) as blank:
        build_schema(blank, body="{}", digest=64 * "0")
        tables = _tables(blank)
    blank.close()
    return tables


_HEAD = "SELECT counter, hash FROM head"
_PIECE = 2**20
_MAGIC = b"SQLite format 3\x00"
_PRAGMAS = (
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",  # macOS: fsync alone leaves data in the cache of the disk
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
)

# POSIX locks belong to a process and go when ANY descriptor of the file is closed, so threads take turns here.
_TURN = threading.Lock()
_INHERITED: list[sqlite3.Connection] = []  # a forked child must not use its parent's connections, nor close them

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release)


def journal_of(path: Path) -> Path:
    """Return where SQLite keeps what it needs to undo an unfinished transaction."""
    return path.with_name(path.name + "-journal")


@contextmanager
def taking_turns() -> Iterator[None]:
    """Hold a lock in a `with` block: no other thread of this process, nor a fork, uses a ledger meanwhile."""
    with _TURN:
        yield


class LedgerFile:
    """One ledger file, opened once a process.

    Parameters
    ----------
    path : Path
        An existing file.
    timeout : float
        How many seconds to wait for another process that writes to the ledger.
    """

    def __init__(self, path: Path, *, timeout: float) -> None:
        self.path, self._timeout = _resolved(path), timeout
        note_input(self.path)
        self._connection: sqlite3.Connection | None = None
        self._owner, self._file = 0, (0, 0)
        self._raw = -1
        self._checked, self._distrusted, self._synced = False, False, False
        self.opened = 0  # a reader that cached something looks whether the connection is still the same
        self.known: Checkpoint | None = None
        """What was known of the file when it was opened; of use in the transaction that opened it only."""

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """Run the body in one transaction: all of it is durable afterwards, or nothing.

        Raises
        ------
        LedgerError
            HG303 damaged, HG307 not writable, HG308 locked.
        """
        with _TURN:
            try:
                connection = self._here()
                # To close a descriptor of the file gives up SQLite's locks: this one is there before and after them.
                with _readable(self.path) as self._raw:
                    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                    try:
                        self._check(connection)
                        if write:
                            self._sync_earlier()
                        yield connection
                        connection.execute("COMMIT")
                    except BaseException:
                        with suppress(sqlite3.Error):
                            connection.execute("ROLLBACK")
                        raise
            except sqlite3.Error as cause:
                raise _refusal(cause) from None

    def bytes_hash(self) -> str:
        """Return SHA-256 of the whole file, inside a transaction: its lock keeps the bytes as they are."""
        hashed, place, status = hashlib.sha256(), 0, os.fstat(self._raw)
        if (status.st_dev, status.st_ino) != self._file:
            return ""  # another file was put at the path just now
        while piece := os.pread(self._raw, _PIECE, place):
            hashed.update(piece)
            place += len(piece)
        return hashed.hexdigest()

    def close(self, *, distrust: bool = False) -> None:
        """Close this process's connection; the next transaction opens another.

        With `distrust` the file is then checked whatever a checkpoint says.
        """
        with _TURN:
            self._drop()
            self._distrusted = distrust

    def __del__(self) -> None:
        with suppress(Exception):  # also where the file was refused before there was anything to close
            self._drop()

    def _here(self) -> sqlite3.Connection:
        # A file moved away or replaced under its path must not be written to unseen.
        identity = _inspected(self.path)
        if self._connection is not None and (self._owner, self._file) == (os.getpid(), identity):
            return self._connection
        self._drop()
        _check_magic(self.path)
        self._connection = _connected(self.path, self._timeout)
        self._owner, self._file = os.getpid(), identity
        self.opened += 1
        return self._connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Check pages and tables of a file that was just opened, unless a checkpoint knows its bytes."""
        if self._checked:
            return
        # Takes the lock, and undoes what a crash left unfinished.
        connection.execute("PRAGMA schema_version").fetchone()
        believed = hasattr(os, "pread") and not self._distrusted
        self.known = load(self.path, self.bytes_hash) if believed else None
        if self.known is None or [self.known.head] != [Head(*row) for row in connection.execute(_HEAD)]:
            self.known = None
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise _damaged("Its pages contradict each other.")
            check_schema(connection)
        self._checked, self._distrusted = True, False

    def _sync_earlier(self) -> None:
        """Sync the folder once after the file was opened, before an answer rests on an earlier commit (HG307).

        Another process may have been killed between the removal of a journal and the sync that follows.
        """
        if self._synced:
            return
        try:
            sync_folder(self.path.parent)
        except OSError:
            raise LedgerError(
                "HG307",
                rule="A reservation must be on disk before data are read.",
                finding="The folder of the ledger cannot be synced to the disk.",
                remedy="Get permission to read and write the file of the ledger and its folder. No data were read.",
            ) from None
        self._synced = True

    def _drop(self) -> None:
        self._checked, self._synced, self.known = False, False, None
        if self._connection is not None:
            if self._owner == os.getpid():
                self._connection.close()
            else:
                _INHERITED.append(self._connection)
        self._connection = None


def _connected(path: Path, timeout: float) -> sqlite3.Connection:
    """Connect to a file that is there, in the one way in which a ledger is read and written."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=timeout, check_same_thread=False
    )
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
            raise _damaged("It is in another journal mode and will not leave it.")
    except UnicodeDecodeError:  # a message of SQLite's that quotes the file
        connection.close()
        raise _damaged("SQLite cannot make sense of it.") from None
    except BaseException:
        connection.close()
        raise
    return connection


def _resolved(path: Path) -> Path:
    try:
        return Path(path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise _missing() from None


def _inspected(path: Path) -> tuple[int, int]:
    """Return which file this is; refuse what is none, or has a second name."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        raise _missing() from None
    if not stat.S_ISREG(status.st_mode):
        raise _damaged("The path is no regular file.")
    if status.st_nlink != 1:
        # SQLite finds the journal of an unfinished transaction by the file's name; another name would miss it.
        raise _damaged("The file has a second name (a hard link).")
    return status.st_dev, status.st_ino


@contextmanager
def _readable(path: Path) -> Iterator[int]:
    """Yield a descriptor of the file, to read its bytes past SQLite (HG307)."""
    try:
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        raise LedgerError(
            "HG307",
            rule="A ledger must be readable and writable.",
            finding="The ledger file may not be read by this user.",
            remedy="Ask for permission to read and write the file of the ledger and its folder. Nothing was spent.",
        ) from None
    try:
        yield opened
    finally:
        os.close(opened)


def _check_magic(path: Path) -> None:
    with _readable(path) as opened:
        start = os.read(opened, 100)
    if len(start) < 100 or not start.startswith(_MAGIC):
        raise _damaged("It is empty, cut short, or another kind of file.")


def _missing() -> LedgerError:
    return LedgerError(
        "HG301",
        rule="A ledger must exist before it is used, because a mistyped path must not start a new budget.",
        finding="There is no file at this path.",
        remedy="Check the path, or make a ledger with `hedgerow ledger create`.",
    )


def _damaged(finding: str) -> LedgerError:
    return LedgerError(
        "HG303",
        rule="A ledger must be a complete, undamaged file that hedgerow made.",
        finding=finding,
        remedy="Check the path, or restore the ledger from a backup and verify the ledger against the last printed "
        "head.",
    )


def _refusal(cause: sqlite3.Error) -> LedgerError:
    """Give a failure of SQLite its own words; the database's are dropped, since they may quote what it holds."""
    name = str(getattr(cause, "sqlite_errorname", "") or "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerError(
            "HG308",
            rule="Only one process at a time may write to a ledger.",
            finding="Another process used the ledger for longer than the waiting time.",
            remedy="Run the command again, or raise the waiting time `timeout`. Nothing was spent.",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        full = name.startswith("SQLITE_FULL")
        return LedgerError(
            "HG307",
            rule="A reservation must be on disk before data are read.",
            finding="The disk is full." if full else "The file or its folder cannot be written.",
            remedy="Make room on the disk, or get permission to write the file of the ledger and its folder. No data "
            "were read.",
        )
    return _damaged("SQLite cannot make sense of it.")


def new_file(path: Path, header: str, *, timeout: float) -> None:
    """Write an empty ledger with this header; refuse a path that exists, a link included (HG302)."""
    with held_back():
        _make(path, header, timeout)


def _make(path: Path, header: str, timeout: float) -> None:
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
        with taking_turns(), closing(_connected(path.absolute(), timeout)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            build_schema(connection, body=header, digest=digest(header))
            connection.execute("COMMIT")
    except sqlite3.Error:
        with suppress(OSError):
            path.unlink()
            # SQLite keeps the journal of a commit that failed: beside no file it would refuse every later ledger.
            journal_of(path).unlink(missing_ok=True)
        raise _refused("The disk is full, or the file cannot be written.") from None


def _refused(finding: str) -> LedgerError:
    return LedgerError(
        "HG302",
        rule="A new ledger needs a path without a file, in a folder that can be written.",
        finding=finding,
        remedy="Choose another path. hedgerow never overwrites a ledger, because its spent budget would become "
        "available again.",
    )
