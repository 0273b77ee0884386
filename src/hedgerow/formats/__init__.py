"""File formats, one file each: adding a format is adding ``formats/<name>.py``; facts, engines and help texts find it.

The name of the file is the name of the format and its usual file ending. This folder lies below `facts`, since a facts
file names formats, and holds no door to a vendor: a connection of DuckDB is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast


class Format(Protocol):
    """What ``formats/<name>.py`` holds.

    Attributes
    ----------
    SUFFIXES : tuple of str
        The endings of a path that mean this format.
    SIGNATURE : (int, bytes) or None
        The first bytes by which a file is of this format, and where they stand; None for a format without.
    TABLES : bool
        Whether a file may hold several tables.
    """

    SUFFIXES: tuple[str, ...]
    SIGNATURE: tuple[int, bytes] | None
    TABLES: bool

    def attach(self, connection: Any, path: str) -> None:
        """Let a DuckDB connection see this one file; it is locked afterwards."""

    def relation(self, connection: Any, path: str, table: str | None) -> Any:
        """Return the records as a DuckDB relation, from the locked connection (HG209 for the table)."""

    def names(self, connection: Any, path: str) -> list[str] | None:
        """Return the names of the columns as the file has them; None where the relation's are the same."""


@cache
def names() -> tuple[str, ...]:
    """Return the names of all formats.

    >>> names()
    ('csv', 'duckdb', 'parquet', 'sqlite')
    """
    return tuple(sorted(module.name for module in iter_modules(__path__)))


@cache
def formats() -> Mapping[str, Format]:
    """Return name → format."""
    return {name: cast(Format, import_module(f"{__name__}.{name}")) for name in names()}


@cache
def suffixes() -> Mapping[str, str]:
    """Return suffix → name, the first of two formats of which the signature tells.

    >>> suffixes()[".tsv"], suffixes()[".db"]
    ('csv', 'duckdb')
    """
    return {suffix: name for name, known in reversed(list(formats().items())) for suffix in known.SUFFIXES}


def listed() -> str:
    """Return the usual suffixes in words.

    >>> listed()
    '.csv, .duckdb, .parquet or .sqlite'
    """
    *first, last = (f".{name}" for name in names())
    return f"{', '.join(first)} or {last}"


def quoted_name(name: str) -> str:
    """Return a name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a text as SQL takes it."""
    return "'" + text.replace("'", "''") + "'"


_POSTGRES, _SQLITE = ("postgresql", "postgres"), ("sqlite3", "sqlite")


def is_url(source: object) -> bool:
    """Whether a source names a database by its scheme.

    >>> is_url("postgresql://ann:secret@db.example.org/shop"), is_url("people.csv")
    (True, False)
    """
    return isinstance(source, str) and "://" in source and scheme(source) in (*_POSTGRES, *_SQLITE)


def scheme(url: str) -> str:
    """Return the scheme of a URL in small letters, ``"sqlite"`` or ``"postgresql"`` for the two kinds of database."""
    name = url.partition("://")[0].lower()
    return "sqlite" if name in _SQLITE else "postgresql" if name in _POSTGRES else name


def public_name(url: str) -> str:
    """Return a URL without user, password and query string: what is recorded, logged and printed.

    >>> public_name("postgresql://ann:se@cret@db.example.org:5433/shop?password=secret")
    'postgresql://db.example.org:5433/shop'
    >>> public_name("postgresql:///shop")
    'postgresql:///shop'

    Of a URL that can be read in two ways the scheme alone is public:

    >>> public_name("postgresql://db/shop?password=se@cret")
    'postgresql://'
    """
    start, _, rest = url.partition("://")
    # What stands before the last @ may be a password, wherever in it a reserved character was left as it is.
    return f"{start}://" + ("" if is_ambiguous(url) else rest.rpartition("@")[2].partition("?")[0].partition("#")[0])


def is_ambiguous(url: str) -> bool:
    """Whether an @ after a ? or # may belong to a password on either side of it.

    >>> is_ambiguous("postgresql://ann:p?w@db/shop"), is_ambiguous("postgresql://ann:p%3Fw@db/shop")
    (True, False)
    """
    user = url.partition("://")[2].rpartition("@")[0]
    return "?" in user or "#" in user


def holds_password(url: str) -> bool:
    """Whether a URL of a database holds more than its public name and a user.

    >>> holds_password("postgresql://ann@db/shop"), holds_password("postgresql://ann:x@db/shop")
    (False, True)
    """
    user = url.partition("://")[2].rpartition("@")[0]
    return any(mark in user for mark in ":/?") or "?" in url
