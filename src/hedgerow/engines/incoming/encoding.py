r"""CSV files in the one form in which they are read: UTF-8 throughout, each line ended by LF or CR LF.

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
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from hedgerow.engines.incoming.arrivals import unpacked

_CHUNK = 1 << 20
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
    with ExitStack() as kept:
        read_end, write_end = os.pipe()
        place = f"/dev/fd/{read_end}"
        if Path(place).exists():
            kept.callback(os.close, read_end)
            yield place, lambda: write_end, lambda: read_end
            return
        os.close(read_end)
        os.close(write_end)
        # A system without /dev/fd, or without the /proc behind it: a pipe with a name that nobody else may open.
        place = str(Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="hedgerow-")), "cells.csv"))
        os.mkfifo(place, 0o600)

        def reader() -> int:
            end = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
            kept.callback(os.close, end)
            return end

        # To open an end waits for the other one. A writer that came and went before the reader would leave it waiting.
        yield place, lambda: os.open(place, os.O_WRONLY), reader
