"""Sources that are not one plain file: standard input, packed CSV, folders of Parquet, and other programs' files.

Packed CSV is unpacked while it is read. What can be read only once, or by another library, is copied as CSV into memory
that has no name on a disk: every cell is text from then on, and no cell decides how another is read.

CSV files in the one form in which they are read: UTF-8 throughout, each line ended by LF or CR LF.

DuckDB rejects a line for a byte that is no text and keeps a record of some 2 kB of each rejected line. It takes a CR
that stands alone for the end of a line too, but where other lines end in CR LF it then swallows the first letter of
the next record. So a file is looked through first. One that has such bytes is read through a pipe that turns each
stray byte into one character of a private range, which makes its cell no number and no declared category, and each
lone CR into LF. What becomes of a byte depends on that byte and the one after it: no record changes another's value.

Several threads may read a file in which a line end always ends a record: it has no quotation mark below its header, and
no very long line. The values found are the same; only the time differs.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime
import gzip
import io
import math
import os
import re
import sys
import tempfile
import threading
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from hedgerow.engines.incoming import statistical
from hedgerow.errors import DataError
from hedgerow.formats import suffixes

STANDARD_INPUT = "-"
PACKED = (".gz", ".zst")
_CHUNK = 1 << 20
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
UNPACKING_FAILED = (OSError, EOFError, zlib.error)


class Copy:
    """A copy in memory without a name on a disk; where a system has no such thing, a file that only we may read."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("hedgerow")
            self.path = f"/proc/self/fd/{self.descriptor}"
        else:
            self.descriptor, self.path = tempfile.mkstemp(prefix="hedgerow-", suffix=".csv")
            # At the end of the process too, if nothing lets go of the copy before.
            weakref.finalize(self, Path(self.path).unlink, missing_ok=True)

    def writer(self) -> BinaryIO:
        """Return a file to write to, whose end leaves the copy open."""
        return os.fdopen(os.dup(self.descriptor), "wb")

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self.descriptor)


def packing_of(name: str) -> str:
    """Return the last suffix of a packed CSV file; an empty text for any other.

    >>> packing_of("people.CSV.gz"), packing_of("people.csv"), packing_of("people.parquet.gz")
    ('.gz', '', '')
    """
    path = Path(name.lower())
    return path.suffix if path.suffix in PACKED and suffixes().get(Path(path.stem).suffix) == "csv" else ""


def unpacked(path: str, packing: str) -> Any:
    """Return the bytes of a file, unpacked, as a binary file to be read once from its start (HG202 without a library).

    Reading raises one of `UNPACKING_FAILED` where the packing is damaged.
    """
    if packing == ".gz":
        return gzip.open(path, "rb")
    if packing == ".zst":
        if sys.version_info >= (3, 14):
            return import_module("compression.zstd").open(path, "rb")
        if find_spec("zstandard") is None:
            raise _needs("zstandard", path, "zstd -dc FILE | hedgerow release - …")
        return import_module("zstandard").open(path, "rb")
    return Path(path).open("rb")


def standard_input() -> tuple[Copy, str, str]:
    """Return a copy of standard input, the format by its first bytes, and its packing (HG206 where it is empty)."""
    stream: Any = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.isatty():
        raise DataError(
            "HG202",
            rule="`-` reads records from standard input.",
            finding="No records were sent to standard input.",
            remedy="Send records there, for example: zcat people.csv.gz | hedgerow release - …",
        )
    copy, start = Copy(), b""
    with copy.writer() as file:
        while chunk := stream.read(_CHUNK):
            start = start or chunk[:8]
            file.write(chunk)
    if not start:
        raise DataError(
            "HG206",
            rule="The records on standard input must begin with a header.",
            finding="Standard input is empty.",
            remedy="Did the command fail?",
        )
    format_name = "parquet" if start[:4] == b"PAR1" else "csv"
    return copy, format_name, next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "")


def parts_of_folder(name: str) -> list[str]:
    """Return the Parquet files of a folder, or those that a pattern of names means, in the order of their names.

    Raises
    ------
    DataError
        HG201, HG202: there is none.
    """
    folder = Path(name)
    is_folder = folder.is_dir()
    paths = sorted(folder.rglob("*") if is_folder else folder.parent.glob(folder.name))
    parts = [path for path in paths if suffixes().get(path.suffix.lower()) == "parquet" and path.is_file()]
    if not parts:
        raise DataError(
            "HG202" if is_folder else "HG201",
            rule="A folder, or a pattern of names, must contain Parquet files only.",
            finding=f"There is none in {name!r}.",
            remedy="Check the path.",
        )
    return [str(path) for path in parts]


def keys_of_folders(name: str, parts: Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose values are names of folders, as in ``year=2020/part.parquet``; none of a pattern.

    Raises
    ------
    DataError
        HG205: the files do not lie in folders of the same columns.

    Examples
    --------
    >>> keys_of_folders("none", [])
    ()
    """
    folder = Path(name)
    if not folder.is_dir():
        return ()
    steps = [Path(part).relative_to(folder).parent.parts for part in parts]
    keys = {tuple(step.partition("=")[0] for step in below if "=" in step) for below in steps}
    if len(keys) > 1:
        raise DataError(
            "HG205",
            rule="The inner folders of a folder all name the same columns, such as `year=2020`.",
            finding="Some inner folders name other columns than the first folder.",
            remedy="Move the files of other columns elsewhere, or open one of the inner folders alone.",
        )
    return keys.pop() if keys else ()


def is_several(name: str) -> bool:
    """Return whether a name means a folder, or a pattern of the names of Parquet files."""
    if not name:  # to pathlib it is the folder one is in
        return False
    with contextlib.suppress(OSError, ValueError):
        return Path(name).is_dir() or ("*" in Path(name).name and suffixes().get(Path(name).suffix) == "parquet")
    return False


def others() -> tuple[str, ...]:
    """Return the suffixes of other programs' files that are read.

    >>> others()
    ('.dta', '.sav', '.zsav', '.por', '.xlsx')
    """
    return (*statistical.READERS, ".xlsx")


def converted(path: str, name: str, table: str | None) -> Copy:
    """Return another program's file as CSV in memory: Stata, SPSS, or one sheet of an Excel workbook.

    Codes stay codes: labels of values are not applied. A cell is written by itself, a whole number without a point.

    Raises
    ------
    DataError
        HG202 the library that reads it is not installed; HG209 which sheet of a workbook.
    """
    suffix = Path(name).suffix.lower()
    library = "openpyxl" if suffix == ".xlsx" else "pyreadstat"
    if find_spec(library) is None:
        raise _needs(library, name, f"python -c 'import pandas; pandas.{_PANDAS[suffix]}(…).to_csv(…, index=False)'")
    with warnings.catch_warnings():
        # What a library says of a file may quote it.
        warnings.simplefilter("ignore")
        rows = _sheet(path, name, table) if suffix == ".xlsx" else statistical.rows(path, suffix)
        return _written(rows)


def declared_by(path: str, name: str) -> dict[str, statistical.DeclaredColumn]:
    """Return the types and value labels that another program's file declares by column; a workbook declares none."""
    suffix = Path(name).suffix.lower()
    if suffix not in statistical.READERS:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return statistical.declared_columns(path, suffix)


_PANDAS = {suffix: "read_stata" if suffix == ".dta" else "read_spss" for suffix in statistical.READERS} | {
    ".xlsx": "read_excel"
}


def _written(rows: Iterable[Sequence[Any]]) -> Copy:
    copy = Copy()
    with copy.writer() as file, io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="") as text:
        writer = csv.writer(text)
        for row in rows:
            writer.writerow([_cell(value) for value in row])
    return copy


def _cell(value: Any) -> str:
    r"""Return the text of a cell, by itself.

    >>> [_cell(value) for value in (1.0, 0.5, None, float("nan"), True, "a\nb")]
    ['1', '0.5', '', '', '1', 'a b']
    """
    if value is None:
        return ""
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return " ".join(str(value).splitlines())


def _sheet(path: str, name: str, table: str | None) -> Iterator[Sequence[Any]]:
    with Path(path).open("rb") as file:
        book = import_module("openpyxl").load_workbook(file, read_only=True, data_only=True)
        try:
            if table not in book.sheetnames if table is not None else len(book.sheetnames) != 1:
                raise DataError(
                    "HG209",
                    rule="hedgerow reads one sheet of a workbook.",
                    finding=f"{name!r} has {len(book.sheetnames)}." if table is None else f"{table!r} is not there.",
                    remedy=f"Name one by `table=`: {', '.join(book.sheetnames)}.",
                )
            sheet = book[table if table is not None else book.sheetnames[0]]
            # The size that the file states may be wrong; the rows themselves are counted.
            sheet.reset_dimensions()
            yield from _records(sheet.iter_rows(values_only=True))
        finally:
            book.close()


def _records(rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Yield the header, which ends with its last cell, then each row below it, cut or filled up to the header's length.

    An empty row is a record in which everything is missing: whether a record is empty must not change their number. A
    cell beside the header belongs to no column.

    >>> list(_records([(None,), ("x", "g", None), (1, "a", "note"), (), (2,)]))
    [('x', 'g'), (1, 'a'), (None, None), (2, None)]
    """
    width = 0
    for row in rows:
        if not width:
            width = max((place for place, cell in enumerate(row, 1) if cell is not None), default=0)
        if width:
            yield (*row[:width], *[None] * (width - len(row)))


def _needs(library: str, name: str, instead: str) -> DataError:
    return DataError(
        "HG202",
        rule=f"{Path(name).suffix} files are read by {library}.",
        finding="The package is not installed.",
        remedy=f'pip install "hedgerow[files]"; or write CSV first: {instead}',
    )


_PRIVATE = 0xF700
_STRAY = "hedgerow.stray"
_LONE_CR = re.compile(rb"\r(?!\n)")


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_PRIVATE + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_STRAY, _stand_in)


class PlainCsv(NamedTuple):
    """A path from which a CSV file can be read, and whether several threads may read it."""

    path: str
    in_parallel: bool


@contextmanager
def plain_csv(path: str, packing: str = "") -> Iterator[PlainCsv]:
    r"""Yield a path from which the file can be read once, as UTF-8 with lines that end in LF or CR LF.

    It is the path of the file itself if the file has this form already, else that of a pipe, as for a packed file. In
    the pipe, a byte b that is not UTF-8 becomes the character U+F700 + b. No copy is written to disk; memory use is a
    few megabytes.

    Raises
    ------
    OSError
        The file could not be read to its end (raised when the block ends).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.csv")
    ...     _ = file.write_bytes(b"x\r\n1\r\xff2\r\n")
    ...     with plain_csv(str(file)) as (path, in_parallel):
    ...         path != str(file), in_parallel, pathlib.Path(path).read_bytes().decode().splitlines()
    (True, False, ['x', '1', '\uf7ff2'])
    """
    if not packing and (plain := _looked_through(path)):
        yield plain
        return
    with _pipe() as (place, write_end, read_end):
        stopped, failures = threading.Event(), list[Exception]()
        writer = threading.Thread(target=_pour, args=(path, packing, write_end, stopped, failures), daemon=True)
        writer.start()
        try:
            yield PlainCsv(place, in_parallel=False)
        finally:
            # The writer would wait for ever for a reader that failed before the end.
            stopped.set()
            drain = read_end()
            os.set_blocking(drain, False)
            while writer.is_alive():
                with suppress(BlockingIOError):
                    os.read(drain, _CHUNK)
                writer.join(0.001)
    if failures:
        raise failures[0]


def _looked_through(path: str) -> PlainCsv | None:
    """Return the file as it can be read, None if not all of it is UTF-8 with lines that end in LF or CR LF."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="strict")
    in_parallel, header = True, True
    try:
        for chunk in _chunks(path):
            if b"\r" in chunk and _LONE_CR.search(chunk):
                return None
            decoder.decode(chunk)
            # A whole chunk without a line end is part of a long line. Marks in the header hold no line end.
            long = len(chunk) >= _CHUNK - 1 and b"\n" not in chunk
            in_parallel &= not long and b'"' not in (chunk.partition(b"\n")[2] if header else chunk)
            header = False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return None
    return PlainCsv(path, in_parallel)


def _chunks(path: str, packing: str = "") -> Iterator[bytes]:
    """Yield the file in pieces; a CR and the LF after it stand in one piece."""
    held = b""
    with unpacked(path, packing) as file:
        while chunk := file.read(_CHUNK):
            chunk = held + chunk
            held = b"\r" if chunk.endswith(b"\r") else b""
            yield chunk.removesuffix(held) if held else chunk
    yield held


def _pour(
    path: str, packing: str, write_end: Callable[[], int], stopped: threading.Event, failures: list[Exception]
) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors=_STRAY)
    try:
        with os.fdopen(write_end(), "wb") as pipe:
            for chunk in _chunks(path, packing):
                if stopped.is_set():
                    return
                pipe.write(decoder.decode(_LONE_CR.sub(b"\n", chunk)).encode())
            pipe.write(decoder.decode(b"", final=True).encode())
    except Exception as failure:  # each library of packed files has errors of its own
        failures.append(failure)


@contextmanager
def _pipe() -> Iterator[tuple[str, Callable[[], int], Callable[[], int]]]:
    """Yield a path to a pipe, and what opens its ends; the end that is written to is closed by whoever writes."""
    with ExitStack() as stack:
        read_end, write_end = os.pipe()
        place = f"/dev/fd/{read_end}"
        if Path(place).exists():
            stack.callback(os.close, read_end)
            yield place, lambda: write_end, lambda: read_end
            return
        os.close(read_end)
        os.close(write_end)
        # A system without /dev/fd, or without the /proc behind it: a pipe with a name that nobody else may open.
        place = str(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hedgerow-")), "cells.csv"))
        os.mkfifo(place, 0o600)

        def reader() -> int:
            end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
            stack.callback(os.close, end)
            return end

        # To open an end waits for the other one. A writer that came and went before the reader would leave it waiting.
        yield place, lambda: os.open(place, os.O_WRONLY), reader
