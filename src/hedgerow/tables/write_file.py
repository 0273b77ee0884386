"""Writing what was released to a file that the caller named: it is there still where that fails."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hedgerow.errors import ParameterError

__all__ = ["write_bytes", "write_lines"]


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write texts one after the other, as UTF-8 (HG118 where it cannot be written).

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_lines(place, ["a,", "b"])
    >>> place.read_text()
    'a,b'
    """
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
        return
    except (OSError, UnicodeError):
        refused = _unwritable(path)
    raise refused


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write bytes (HG118 where it cannot be written)."""
    try:
        Path(path).write_bytes(content)
        return
    except OSError:
        refused = _unwritable(path)
    raise refused


def _unwritable(path: str | Path) -> ParameterError:
    return ParameterError(
        "HG118",
        rule="A table is written into a folder that exists and can be written.",
        finding=f"{str(path)!r} cannot be written.",
        remedy="The table itself is still there: write it to another path.",
    )
