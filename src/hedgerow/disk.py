"""Names of files that survive a power cut: the system keeps a new name, or the end of one, in memory for a while."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Return once every name that was made or removed in a folder is on the disk (OSError where that fails).

    Windows has no such call, and nothing is done there.

    >>> import tempfile
    >>> sync_folder(Path(tempfile.mkdtemp()))
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def move_into_place(made: Path, place: Path) -> None:
    """Move a finished file to its name: after a power cut that name holds the whole file, or what it held before.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "new").write_text("whole")
    >>> move_into_place(folder / "new", folder / "a.txt")
    >>> [path.name for path in folder.iterdir()], (folder / "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    with made.open("rb+") as file:
        os.fsync(file.fileno())
    move_synced(made, place)


def move_synced(made: Path, place: Path) -> None:
    """Move a file whose content is on the disk already, as `move_into_place` does."""
    made.replace(place)
    # The file is in place. A folder that may be written and not read cannot be synced.
    with suppress(OSError):
        sync_folder(place.parent)
