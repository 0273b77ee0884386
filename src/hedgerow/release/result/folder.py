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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from hedgerow.errors import ParameterError
from hedgerow.inputs import note_input, why_kept
from hedgerow.interrupts import undone
from hedgerow.release.result.result import Release

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
        A file that is read and must not be replaced, besides those that `hedgerow.inputs` knows.

    Raises
    ------
    ParameterError
        HG118 it cannot be written; HG119 it holds something already, or under one of the names what no output
        replaces.

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
    staging = target / f".hedgerow-{uuid4().hex}"
    made: list[Path] = []
    with undone(lambda: _removed(staging, made)):
        try:
            made += [folder for folder in (target, *target.parents) if not folder.exists()]
            target.mkdir(parents=True, exist_ok=True)
            if not force and any(target.iterdir()):
                raise _occupied(target, "holds something already", names)
            note_input(source)
            _check_names(target, names)
            staging.mkdir(mode=0o700)
        except (OSError, ValueError) as failure:
            if isinstance(failure, ParameterError):
                raise
            raise ParameterError(
                "HG118",
                rule="The folder for the results must be one that can be made and written, before anything is read.",
                finding=f"{str(path)!r} is not.",
                remedy="Check its path, its owner and the space on the disk.",
            ) from None
        yield ReleaseFolder(target, staging)


def _removed(staging: Path, made: Sequence[Path]) -> None:
    # A path that none can have has nothing under it.
    with contextlib.suppress(OSError, ValueError):
        shutil.rmtree(staging, ignore_errors=True)
    for folder in made:
        # Fails, as it should, where something was written.
        with contextlib.suppress(OSError, ValueError):
            folder.rmdir()


def _check_names(target: Path, names: Sequence[str]) -> None:
    for name in names:
        place = target / name
        if place.is_dir() and not place.is_symlink():
            raise _occupied(target, f"holds a folder called {name}", names)
        kept = why_kept(place)
        if kept is not None:
            raise ParameterError(
                "HG119",
                rule="No output replaces data, facts, a ledger or its secret.",
                finding=f"The folder {str(target)!r} holds {kept}, under the name {name}.",
                remedy="Name another folder; `force` does not help here.",
            )


def _occupied(target: Path, finding: str, names: Sequence[str]) -> ParameterError:
    return ParameterError(
        "HG119",
        rule="A release does not write over what is there.",
        finding=f"The folder {str(target)!r} {finding}.",
        remedy="Name a new folder, or give `force` to replace its " + ", ".join(names) + ".",
    )
