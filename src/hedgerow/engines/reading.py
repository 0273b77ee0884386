"""Which paths are opened, and how reading fails.

A source is one ordinary file of a known kind; everything else is refused before it is touched. Once data are touched,
whatever goes wrong is one fixed sentence that quotes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from hedgerow.engines.incoming.arrivals import (
    STANDARD_INPUT,
    Copy,
    converted,
    declared_by,
    is_several,
    keys_of_folders,
    others,
    packing_of,
    parts_of_folder,
    standard_input,
)
from hedgerow.engines.incoming.statistical import DeclaredColumn
from hedgerow.errors import DataError, HedgerowError
from hedgerow.formats import formats, holds_password, listed

T = TypeVar("T")
# SQL's own names of what is wrong, as PostgreSQL tells them.
_STATES = {
    "42501": "Its user may not read the table, or a column that is needed.",
    "55P03": "Another session has locked the table.",
}


def unreadable() -> DataError:
    """Return the one error of a reader that failed (HG207): fixed text, never the reader's own words."""
    return DataError(
        "HG207",
        rule="The content of a file must have the format that the ending of its name states.",
        finding="The file could not be read. The reader's own message is not shown, since it may contain data.",
        remedy="Open the file with the program that wrote the file, and check that the file is complete and not in "
        "use.",
    )


def unreachable(failure: BaseException) -> DataError:
    """Return the error of a source that is refused before a value is read (HG207): of the cause, its class alone."""
    state = str(getattr(failure, "sqlstate", None))
    return DataError(
        "HG207",
        rule="Before a price is reserved, the source must exist, must not be locked, and must be readable by its user.",
        finding=_STATES.get(state, "It could not be opened as it was, or another program has locked it.")
        + " Nothing was read or spent; the reader's own message is withheld.",
        remedy="Try to read the table with the program that wrote the table, as the same user of the machine.",
    )


def withheld(read: Callable[[], T], refusal: Callable[[BaseException], DataError] = lambda _: unreadable()) -> T:
    """Return what `read` returns; should it fail, raise HG207 without a trace of the cause.

    Hedgerow's own refusals pass. Panics of compiled readers derive from BaseException and are withheld too.
    """
    try:
        return read()
    except (HedgerowError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as cause:  # whatever a reader raises may quote a cell, so none of it is kept
        failure = refusal(cause)
    # Raised outside the handler: inside it, __context__ would still carry the reader's message.
    raise failure from None


# What DuckDB needs to read a file that another machine keeps, by the scheme of its URL.
_EXTENSIONS = dict.fromkeys(("s3", "gs", "gcs", "r2", "http", "https"), "httpfs")
_EXTENSIONS |= dict.fromkeys(("az", "azure", "abfss"), "azure")
# Where a path holds one of these, DuckDB may read other files than the one of that name.
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was found and looked at: its name as given, where it is, its format, and which file it was.

    `identity` is device, inode, size and time of change: a file that was replaced between two readings is refused.
    `packing` is the suffix of a packed CSV file, `parts` the files of a folder and `keys` the columns whose
    values are names of folders in it, `held` a copy that lives as long. A file on the web or in an object store is read
    by the `extension` of DuckDB and has no identity: a change between two questions is not seen. `declared` are the
    types and value labels in the head of a file of Stata or SPSS.
    """

    name: str
    path: str
    format: str
    identity: tuple[int, int, int, int] | None
    packing: str = ""
    parts: tuple[SourceFile, ...] = ()
    keys: tuple[str, ...] = ()
    held: Copy | None = field(default=None, repr=False, compare=False)
    extension: str = ""
    declared: Mapping[str, DeclaredColumn] = field(default_factory=dict, compare=False)

    def still_there(self) -> None:
        """Check that the file is the one that was opened (HG207)."""
        for part in self.parts:
            part.still_there()
        if self.extension:
            return
        try:
            now = _identity(Path(self.path).stat())
        except OSError:
            now = None
        if now != self.identity:
            raise DataError(
                "HG207",
                rule="A source must not change while it is used.",
                finding=f"{self.name!r} was changed, replaced or removed after it was opened.",
                remedy="Open the source again when no other process writes to it.",
            )


def arrived(source: str | os.PathLike[Any], table: str | None) -> SourceFile:
    """Return the file behind a source: one file, standard input, packed CSV, a folder, or another program's file.

    Raises
    ------
    DataError
        As `source_file`; HG209 which sheet of a workbook.
    """
    name: Any = os.fspath(source)
    if not isinstance(name, str):
        return source_file(source)
    if name == STANDARD_INPUT:
        copy, kind, packing = standard_input()
        return _copied("standard input", copy, kind, packing)
    if extension := _EXTENSIONS.get(name.partition("://")[0].lower() if "://" in name else ""):
        return _remote(name, extension)
    suffix = Path(name).suffix.lower() if "://" not in name else ""
    if suffix in others():
        path, _ = _ordinary(name)
        copy = withheld(lambda: converted(path, name, table))
        return replace(_copied(name, copy, "csv"), declared=withheld(lambda: declared_by(path, name)))
    if packing := packing_of(name):
        path, status = _ordinary(name)
        return SourceFile(name, path, "csv", _identity(status), packing)
    if "\0" not in name and is_several(name):
        listed = parts_of_folder(name)
        parts = tuple(map(source_file, listed))
        folder = os.path.realpath(name if Path(name).is_dir() else Path(name).parent)
        return SourceFile(
            name, folder, "parquet", _identity(Path(folder).stat()), parts=parts, keys=keys_of_folders(name, listed)
        )
    return source_file(source)


def _remote(url: str, extension: str) -> SourceFile:
    """Return a Parquet file on the web or in an object store; nothing is asked of its server (HG202)."""
    if holds_password(url) or set("?#") & set(url):
        raise _unsupported(
            "The URL of a file holds a user, a password or a query string, which would be printed and recorded.",
            "Give the keys to DuckDB as a secret (CREATE PERSISTENT SECRET), or download the file.",
        )
    if Path(url).suffix.lower() not in formats()["parquet"].SUFFIXES or _PATTERN & set(url):
        raise _unsupported(
            "Found the URL of a file that is not one Parquet file.", "Write one Parquet file there, or download it."
        )
    return SourceFile(url, url, "parquet", None, extension=extension)


def not_installed(extension: str) -> DataError:
    """Return the refusal of a URL that needs an extension of DuckDB (HG215)."""
    return DataError(
        "HG215",
        rule="A file on the web or in an object store is read by an extension of DuckDB.",
        finding=f"The extension {extension} is not installed for this version of DuckDB.",
        remedy=f"Run once: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\". Or download the file.",
    )


def _copied(name: str, copy: Copy, kind: str, packing: str = "") -> SourceFile:
    return SourceFile(name, copy.path, kind, _identity(Path(copy.path).stat()), packing, held=copy)


def source_file(source: str | os.PathLike[str]) -> SourceFile:
    """Check a path and return the file behind it; of the contents only the first bytes are looked at.

    Raises
    ------
    DataError
        HG201 there is no such file; HG202 a glob, a URL, a directory, a FIFO or device, an unknown extension, or
        contents that are not what the extension says; HG206 zero bytes; HG207 it may not be read.
    """
    name = os.fspath(source)
    path, status = _ordinary(name)
    suffix = Path(name).suffix.lower()
    candidates = [name for name, known in formats().items() if suffix in known.SUFFIXES]
    if not candidates:
        raise _unsupported(f"{name!r} has another extension.", "Convert it, or load it into a frame first.")
    return SourceFile(name, path, _signed(name, path, candidates), _identity(status))


def _ordinary(name: object) -> tuple[str, os.stat_result]:
    """Return where an ordinary file of this name is, and its status (HG201, HG202, HG206)."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise _unsupported("Found a path that is no text.", "Give the path of one file.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise _unsupported("Found a path that is no Unicode text.", "Rename the file, or its folder.") from None
    if re.search(r"\bpassword\s*=", name) and not os.path.lexists(name):
        raise _unsupported(
            "This looks like a connection string, not a URL.", "Give a URL: postgresql://ann@host/database."
        )
    if "://" in name:
        raise _unsupported(
            "Found a URL of another kind.",
            "Connections are opened to PostgreSQL, postgresql://USER@HOST/NAME, and SQLite, sqlite:///PATH, alone. "
            "Download a file first; export the table of another database to a .parquet or .csv file.",
        )
    if _PATTERN & set(name):
        raise _unsupported("Found a pattern of names: * ? or [.", "Give one path; rename a file that is called so.")
    try:
        path = os.path.realpath(name, strict=True)
        status = Path(path).stat()
    except (OSError, ValueError):
        raise DataError(
            "HG201", rule="A source must exist.", finding=f"There is no file {name!r}.", remedy="Check the path."
        ) from None
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe, socket or device"
        raise _unsupported(f"{name!r} is {what}.", "Give an ordinary file, or `-` and send the records there.")
    if _PATTERN & set(path):
        raise _unsupported("A folder of the path holds * ? or [, which make a pattern.", "Move the file.")
    if status.st_size == 0:
        raise DataError(
            "HG206",
            rule="A data file has a header with the names of its columns.",
            finding=f"{name!r} is empty.",
            remedy="Check whether the file was written completely.",
        )
    return path, status


def _signed(name: str, path: str, candidates: Sequence[str]) -> str:
    """Return which format a file is of, before a reader meets it (or an extension is fetched for another)."""
    expected = {
        candidate: signature for candidate in candidates if (signature := formats()[candidate].SIGNATURE) is not None
    }
    if not expected:
        return candidates[0]
    try:
        with Path(path).open("rb") as file:
            start = file.read(max(place + len(signature) for place, signature in expected.values()))
    except OSError:
        start = None
    if start is None:
        raise DataError(
            "HG207",
            rule="The source could not be read.",
            finding=f"{name!r} may not be read.",
            remedy="Ask the owner of the file for permission.",
        )
    for candidate, (place, sign) in expected.items():
        if start[place : place + len(sign)] == sign:
            return candidate
    raise _unsupported(f"{name!r} is no {' or '.join(candidates)} file, whatever its name.", "Name it as what it is.")


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def kinds_of_source() -> str:
    """Return what a source may be, as the rule of a refusal."""
    return f"A source is one file, {listed()}, the URL of a database, or a frame."


def _unsupported(finding: str, remedy: str, shell: str | None = None) -> DataError:
    return DataError("HG202", rule=kinds_of_source(), finding=finding, remedy=remedy, shell=shell)
