"""CSV files that are not UTF-8 throughout: bytes that are no text stand for themselves, and cost no memory to speak of.

DuckDB rejects a line for such a byte and keeps a record of some 2 kB of each rejected line. So a file is looked through
first, and one that is not UTF-8 is read from a copy in memory in which each stray byte is one character of a private
range: it makes its cell no number and no declared category, and two cells that differ still do.
"""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["as_utf8"]

_CHUNK = 1 << 20
_PRIVATE = 0xF700
_STRAY = "hedgerow.stray"


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_PRIVATE + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_STRAY, _stand_in)


@contextmanager
def as_utf8(path: str) -> Iterator[str]:
    r"""Yield a path that reads as UTF-8: the file itself where it is, else a copy in memory (or a private file).

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder, "a.csv")
    ...     _ = place.write_bytes(b"x\n1\n\xff2\n")
    ...     with as_utf8(str(place)) as readable:
    ...         readable != str(place), len(pathlib.Path(readable).read_text("utf-8").splitlines())
    (True, 3)
    """
    if _is_utf8(path):
        yield path
        return
    with _copy() as (descriptor, place):
        decoder = codecs.getincrementaldecoder("utf-8")(errors=_STRAY)
        with Path(path).open("rb") as file, os.fdopen(os.dup(descriptor), "wb") as copy:
            while chunk := file.read(_CHUNK):
                copy.write(decoder.decode(chunk).encode())
            copy.write(decoder.decode(b"", final=True).encode())
        yield place


def _is_utf8(path: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="strict")
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _copy() -> Iterator[tuple[int, str]]:
    """Yield an open descriptor and a path to it that vanish together."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("hedgerow", os.MFD_CLOEXEC)
        try:
            yield descriptor, f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile(prefix="hedgerow-", suffix=".csv") as private:
        yield private.fileno(), private.name
