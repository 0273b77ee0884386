"""Writing to a file that the caller named: what is read or kept is never written over, and a result is not lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from gzip import GzipFile
from io import TextIOWrapper
from pathlib import Path
from uuid import uuid4

from hedgerow.disk import move_into_place
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.inputs import why_kept
from hedgerow.interrupts import undone

_PACKING = 6  # of 9 levels: level 9 takes three times as long and saves 3 %


def kept_apart(path: str | Path) -> None:
    """Refuse to write over what is read or kept; any other file of that name is replaced.

    Raises
    ------
    ParameterError
        HG317: it is data that were opened, facts, a ledger or its secret.
    """
    reason = why_kept(path)
    if reason is not None:
        raise ParameterError(
            "HG317",
            rule="An output file may not replace data that were opened, a facts file, a ledger or its secret.",
            finding=f"{str(path)!r} is {reason}.",
            remedy="Name another output file. The command wrote nothing, and nothing is lost.",
        )


def write_lines(path: str | Path, lines: Iterable[str], *, code: str = "HG118") -> None:
    """Write texts one after the other, as UTF-8; if this fails, a file of this name stays as it was.

    A file whose name ends with ``.gz`` is packed with gzip; equal texts give equal bytes.

    Raises
    ------
    ParameterError
        HG317: the file is read or kept; `code`: it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_lines(place, ["a,", "b"])
    >>> place.read_text()
    'a,b'
    """

    def write() -> None:
        with _whole_or_before(Path(path)) as place, place.open("wb") as file:
            packed = Path(path).suffix.lower() == ".gz"
            content = GzipFile("", "wb", _PACKING, file, mtime=0) if packed else file
            with TextIOWrapper(content, encoding="utf-8", newline="") as text:
                text.writelines(lines)

    refused_where_unwritable(path, write, code=code)


def optionally_written(text: str, path: str | Path | None) -> str:
    """Return a text, and write it to a path where one is given (as `write_lines`)."""
    if path is not None:
        write_lines(path, [text])
    return text


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write bytes as `write_lines` writes texts (HG118, HG317)."""

    def write() -> None:
        with _whole_or_before(Path(path)) as place:
            place.write_bytes(content)

    refused_where_unwritable(path, write)


def refused_where_unwritable(path: str | Path, write: Callable[[], object], *, code: str = "HG118") -> None:
    """Write, and turn a failure of the disk into the error that names what could not be written."""
    try:
        write()
        return
    except HedgerowError:
        raise
    except (OSError, ValueError):
        refused = _unwritable(path, code)
    raise refused


@contextmanager
def _whole_or_before(wanted: Path) -> Iterator[Path]:
    """Yield where to write what shall stand under a path: a passing file, which then takes the place of that path.

    A device, a pipe and a link, such as /dev/stdout, are written where they are, and so is a file whose folder takes no
    new names.
    """
    in_place = wanted.is_symlink() or (wanted.exists() and not wanted.is_file())
    if in_place or not os.access(wanted.parent, os.W_OK):
        kept_apart(wanted)
        yield wanted
        return
    with written_whole(wanted) as passing:
        if wanted.exists():
            shutil.copymode(wanted, passing)
        yield passing


@contextmanager
def written_whole(place: str | Path) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `place` if all went well and is removed if not.

    Raises
    ------
    ParameterError
        HG317: the file is read or kept.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder, "a.txt")) as passing:
    ...         _ = passing.write_text("whole")
    ...     [path.name for path in Path(folder).iterdir()], Path(folder, "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    wanted = Path(place)
    kept_apart(wanted)
    passing = _passing(wanted)
    with undone(partial(passing.unlink, missing_ok=True)):
        passing.touch(exist_ok=False)
        yield passing
        move_into_place(passing, wanted)


def can_be_written(place: str | Path) -> bool:
    """Return whether a passing file could be made there just now, and moved to its place; none is left."""
    wanted = Path(place)
    try:
        passing = _passing(wanted)
        with undone(partial(passing.unlink, missing_ok=True)):
            passing.touch(exist_ok=False)
        return True
    except (OSError, ValueError):
        return False


def _passing(wanted: Path) -> Path:
    if wanted.exists() and not wanted.is_file():
        # A device or a pipe would be moved out of the way for good.
        raise FileExistsError
    return wanted.with_name(f".hedgerow-{uuid4().hex}{wanted.suffix}")


def _unwritable(path: str | Path, code: str) -> ParameterError:
    return ParameterError(
        code,
        rule="A result can be written only into an existing folder that can be written.",
        finding=f"{str(path)!r} cannot be written.",
        remedy="The result itself is not lost: write the result to another path.",
    )
