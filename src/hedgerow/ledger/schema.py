"""The tables of a ledger, as numbered migrations; a file whose schema is not exactly this one is refused.

Rows are only ever appended. Triggers refuse anything else, which stops accidents; what stops deceit is the hash chain.
"""

from __future__ import annotations

import sqlite3
from functools import cache

from hedgerow.errors import LedgerError

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


def build(connection: sqlite3.Connection, *, body: str, digest: str) -> None:
    """Make the tables and write the header, inside the caller's transaction."""
    for statement in (statement for migration in MIGRATIONS for statement in migration):
        connection.execute(statement)
    connection.execute("INSERT INTO header VALUES (1, ?, ?)", (body, digest))
    connection.execute("INSERT INTO head VALUES (1, 0, ?)", (digest,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check(connection: sqlite3.Connection) -> None:
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
            remedy="Use the version of hedgerow that wrote it, or a later one. Nothing was changed.",
        )
    if application != APPLICATION_ID or version != VERSION or _tables(connection) != _expected():
        raise LedgerError(
            "HG303",
            rule="A ledger has exactly the tables and triggers that hedgerow made.",
            finding="This file has others.",
            remedy="Give the path that `hedgerow ledger create` was given, or restore the file from a backup.",
        )


def _tables(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    found = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name")
    return [(str(kind), str(name), str(sql)) for kind, name, sql in found]


@cache
def _expected() -> list[tuple[str, str, str]]:
    with sqlite3.connect(":memory:", isolation_level=None) as blank:
        build(blank, body="{}", digest=64 * "0")
        tables = _tables(blank)
    blank.close()
    return tables
