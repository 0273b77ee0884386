"""A file that appears whole or not at all: written under a passing name beside its place, then moved there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["can_be_written", "written_whole"]


@contextmanager
def written_whole(place: str | Path) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `place` if all went well and is removed if not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder, "a.txt")) as passing:
    ...         _ = passing.write_text("whole")
    ...     [path.name for path in Path(folder).iterdir()], Path(folder, "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    wanted = Path(place)
    passing = _passing(wanted)
    passing.touch(exist_ok=False)
    try:
        yield passing
        passing.replace(wanted)
    finally:
        passing.unlink(missing_ok=True)


def can_be_written(place: str | Path) -> bool:
    """Return whether a passing file could be made there just now, and moved to its place; none is left."""
    wanted = Path(place)
    try:
        passing = _passing(wanted)
        passing.touch(exist_ok=False)
        passing.unlink()
        return True
    except (OSError, ValueError):
        return False


def _passing(wanted: Path) -> Path:
    if wanted.exists() and not wanted.is_file():
        # A device or a pipe would be moved out of the way for good.
        raise FileExistsError
    return wanted.with_name(f".hedgerow-{uuid4().hex}{wanted.suffix}")
