"""The folder that a release is written into: proven writable before anything is spent, filled after.

=====================  ===============================================================
``estimates.csv``      one row an estimate
``release.json``       what was asked, the estimates, the certificate
``certificate.json``   the certificate alone
``estimates.png``      error bars
``estimates.svg``      the same, to be scaled
``report.html``        all of it as one page, put there by `reports`
=====================  ===============================================================
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hedgerow.errors import ParameterError
from hedgerow.release.result import Release

__all__ = ["FILES", "ReleaseFolder", "prepared_folder"]

_PICTURES = ("estimates.png", "estimates.svg")
FILES = ("estimates.csv", "release.json", "certificate.json", *_PICTURES, "report.html")


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """A folder with an empty one inside, where files are made before they are moved to their names."""

    path: Path
    staging: Path

    def write(self, release: Release, *, level: float = 0.95) -> tuple[str, ...]:
        """Write a release, its numbers before its pictures, and return the names of the files.

        Each file is made apart and then moved, so a name holds a whole file or the one before; a symbolic link of that
        name is replaced, never followed.
        """
        from hedgerow.plots.error_bars import save_pictures

        release.to_csv(self.staging / "estimates.csv", level=level)
        release.to_json(self.staging / "release.json", level=level)
        written = ["estimates.csv", "release.json"]
        if release.certificate is not None:
            (self.staging / "certificate.json").write_text(release.certificate.to_json(), encoding="utf-8")
            written.append("certificate.json")
        self.move(written)
        save_pictures(release.error_bars(level), [self.staging / name for name in _PICTURES], level=level)
        self.move(_PICTURES)
        return (*written, *_PICTURES)

    def move(self, names: Sequence[str]) -> None:
        """Move finished files to their names."""
        for name in names:
            (self.staging / name).replace(self.path / name)


@contextmanager
def prepared_folder(
    path: str | Path,
    *,
    force: bool = False,
    source: str | Path | None = None,
    names: Sequence[str] = FILES,
) -> Iterator[ReleaseFolder]:
    """Make a folder, or take an empty one, and prove that it can be written; unused, it is removed again.

    Parameters
    ----------
    path : path
        Made with its parents where it is not there.
    force : bool
        Take a folder that holds something, and replace files of the names above.
    names : sequence of str
        The names in question; those of a release by default.
    source : path, optional
        A file that must not be replaced: the data.

    Raises
    ------
    ParameterError
        HG118 it cannot be written; HG119 it holds something already.

    Examples
    --------
    >>> import tempfile
    >>> with prepared_folder(Path(tempfile.mkdtemp()) / "new") as folder:
    ...     folder.path.name, folder.staging.is_dir()
    ('new', True)
    >>> folder.path.exists()
    False
    """
    target = Path(path)
    made: list[Path] = []
    try:
        try:
            made = [folder for folder in (target, *target.parents) if not folder.exists()]
            target.mkdir(parents=True, exist_ok=True)
            if not force and any(target.iterdir()):
                raise _occupied(target, "holds something already", names)
            _check_names(target, source, names)
            staging = Path(tempfile.mkdtemp(prefix=".hedgerow-", dir=target))
        except (OSError, ValueError) as failure:
            if isinstance(failure, ParameterError):
                raise
            raise ParameterError(
                "HG118",
                rule="The folder for the results must be one that can be made and written, before anything is read.",
                finding=f"{str(path)!r} is not.",
                remedy="Check its path, its owner and the space on the disk.",
            ) from None
        try:
            yield ReleaseFolder(target, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    finally:
        for folder in made:
            # Fails, as it should, where something was written; a path that none can have fails too.
            with contextlib.suppress(OSError, ValueError):
                folder.rmdir()


def _check_names(target: Path, source: str | Path | None, names: Sequence[str]) -> None:
    for name in names:
        place = target / name
        if place.is_dir() and not place.is_symlink():
            raise _occupied(target, f"holds a folder called {name}", names)
        if source is not None and place.exists() and Path(source).exists() and place.samefile(source):
            raise _occupied(target, f"holds the data, under the name {name}", names)


def _occupied(target: Path, finding: str, names: Sequence[str]) -> ParameterError:
    return ParameterError(
        "HG119",
        rule="A release does not write over what is there.",
        finding=f"The folder {str(target)!r} {finding}.",
        remedy="Name a new folder, or say --force to replace its " + ", ".join(names) + ".",
    )
