"""The disk of `failing_disk.c`: builds the library, and works out from its logs what a power cut leaves."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

NEEDED = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs Linux and gcc"
)


def built(folder: Path) -> Path:
    """Return the library, built in a folder."""
    library = folder / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@dataclass
class Stored:
    """The content of a file: as it was written, and as it was last synced."""

    written: bytes = b""
    synced: bytes = b""


@dataclass
class Disk:
    """The files of a folder by their paths: as the names are, and as they were last synced."""

    names: dict[str, Stored]
    synced: dict[str, Stored] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Disk:
        """Return the disk of a folder whose files and names are all synced."""
        names = {str(path): Stored(path.read_bytes(), path.read_bytes()) for path in folder.iterdir()}
        return cls(names, dict(names))

    def replays(self, log: bytes) -> None:
        """Do what a log says."""
        for step in operations(log):
            self.does(*step)

    def does(self, what: str, path: str, other: str, place: int, data: bytes) -> None:
        if what == "make":
            self.names[path] = Stored()
        elif what == "remove":
            del self.names[path]
        elif what == "move":
            self.names[other] = self.names.pop(path)
        elif what == "sync" and path not in self.names:
            inside = {name for name in (*self.names, *self.synced) if str(Path(name).parent) == path}
            kept = {name: content for name, content in self.synced.items() if name not in inside}
            self.synced = kept | {name: self.names[name] for name in inside if name in self.names}
        else:
            content = self.names[path]
            if what == "sync":
                content.synced = content.written
            elif what == "cut":
                content.written = content.written[:place].ljust(place, b"\0")
            else:
                start = content.written[:place].ljust(place, b"\0")
                content.written = start + data + content.written[place + len(data) :]

    def after_a_power_cut(self) -> Iterator[dict[str, bytes]]:
        """Yield what may be there: names and contents, each as they were done or as they were synced."""
        for names in (self.names, self.synced):
            yield {name: content.written for name, content in names.items()}
            yield {name: content.synced for name, content in names.items()}


def operations(log: bytes) -> Iterator[tuple[str, str, str, int, bytes]]:
    while log:
        head, _, log = log.partition(b"\n")
        what, path, other, place, size = head.decode().split("\t")
        yield what, path, other, int(place), log[: int(size)]
        log = log[int(size) :]
