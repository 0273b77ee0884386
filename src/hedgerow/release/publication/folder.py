"""The folder that a result is written into: proven writable before anything is spent, filled after.

A release is written as ``release.json``, as ``release.tex`` and as ``estimates`` in its other formats, a table as
``table`` in every format (see `hedgerow.release.publication.formats`). Beside them stand

====================  ==========================================================================
``certificate.json``  the price alone; under bootstrap-dp a statement, which cannot be re-priced
``report.html``       a release as one page, put there by `reports`
====================  ==========================================================================

A release of more than 100,000 cells is written as ``release.json``, ``estimates.parquet`` and ``certificate.json``.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from hedgerow.disk import move_into_place, move_synced
from hedgerow.errors import ParameterError
from hedgerow.inputs import note_input, why_kept
from hedgerow.interrupts import undone
from hedgerow.release.publication.formats import Kind, Published, formats, formats_of_folder, why_not
from hedgerow.release.publication.shared import Outputs, Result
from hedgerow.release.publication.write_file import refused_where_unwritable, write_lines

_CERTIFICATE = "certificate.json"


def file_name(kind: Kind, suffix: str) -> str:
    """Return the name of a result's file in one format.

    >>> file_name("release", ".json"), file_name("release", ".csv"), file_name("table", ".csv")
    ('release.json', 'estimates.csv', 'table.csv')
    """
    return ("estimates" if kind == "release" and suffix not in (".json", ".tex") else kind) + suffix


FILES = (*(file_name("release", suffix) for suffix in formats_of_folder("release")), _CERTIFICATE, "report.html")
_OF_LARGE = (file_name("release", suffix) for suffix in formats_of_folder("release", large=True))
FILES_OF_ANY_SIZE = tuple(dict.fromkeys((*FILES, *_OF_LARGE)))
PERCENTAGE_FILES = tuple(f"percentages{suffix}" for suffix in formats_of_folder("table") if suffix != ".json")
TABLE_FILES = (*(file_name("table", suffix) for suffix in formats_of_folder("table")), _CERTIFICATE)


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """A folder with an empty one inside, where files are made before they are moved to their names."""

    path: Path
    staging: Path

    def write(self, result: Result, *, level: float = 0.95, title: str | None = None) -> tuple[str, ...]:
        """Write a result in every format that can hold it, its numbers first, and return the names of the files.

        Each file is made apart and then moved: a name holds a whole file or the one before, also after a power cut. A
        symbolic link of that name is replaced, never followed.
        """
        publication = result._publication(title, level=level)
        written: list[str] = []
        for suffix in formats_of_folder(publication.kind, large=getattr(publication, "large", False)):
            written += self.write_as(file_name(publication.kind, suffix), publication, suffix)
            if suffix == ".json" and result.certificate is not None:
                written += self.put({_CERTIFICATE: result.certificate.to_json()})
        return tuple(written)

    def write_percentages(self, percentages: Outputs, *, level: float = 0.95) -> tuple[str, ...]:
        """Write percentages in every format but JSON, and return the names of the files: table.json holds them too."""
        publication = percentages._publication(level=level)
        names = ((name, Path(name).suffix) for name in PERCENTAGE_FILES)
        return tuple(written for name, suffix in names for written in self.write_as(name, publication, suffix))

    def write_as(self, name: str, publication: Published, suffix: str) -> tuple[str, ...]:
        """Write a publication in one format under a name, and return the name; nothing if the format cannot hold it."""
        if why_not(publication, suffix) is not None:
            return ()
        self._write(name, partial(formats(publication.kind)[suffix].write, publication))
        return (name,)

    def put(self, texts: Mapping[str, str]) -> tuple[str, ...]:
        """Write texts under these names, each made apart and then moved, and return the names."""
        for name, text in texts.items():
            self._write(name, partial(write_lines, lines=[text]))
        return tuple(texts)

    def _write(self, name: str, write: Callable[[Path], object]) -> None:
        """Let a function write a file and sync it, as all of `write_file` do, and move the file to its name."""
        made, place = self.staging / name, self.path / name
        refused_where_unwritable(place, lambda: write(made))
        refused_where_unwritable(place, lambda: move_synced(made, place))

    def move(self, names: Sequence[str]) -> None:
        """Sync finished files, and move them to their names."""
        for name in names:
            place = self.path / name
            refused_where_unwritable(place, partial(move_into_place, self.staging / name, place))


def left_out(result: Result) -> str | None:
    """Return which files a result is not written as and why, in a sentence; None where all of them are."""
    publication = result._publication()
    reasons = {suffix: why_not(publication, suffix) for suffix in formats_of_folder(publication.kind)}
    names = [file_name(publication.kind, suffix) for suffix, reason in reasons.items() if reason]
    listed = dict.fromkeys(reason for reason in reasons.values() if reason)
    return f"Left out: {', '.join(names)}: {'; '.join(listed)}." if names else None


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
        HG118 it cannot be written, or is called as a file is; HG119 it holds something already, or under one of the
        names what no output replaces.

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
    if target.suffix.lower() in {Path(name).suffix for name in names} and not target.exists():
        raise ParameterError(
            "HG118",
            rule="Results are written into a folder.",
            finding=f"{str(path)!r} has the name of a file.",
            remedy=f"Name a folder, such as {target.stem!r}: it will hold {_listed(names)}.",
        )
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
                rule="Before any data are read, it must be possible to make and write the folder for the results.",
                finding=f"{str(path)!r} is not.",
                remedy="Check the path of the folder, its owner and the space on the disk.",
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
        reason = why_kept(place)
        if reason is not None:
            raise ParameterError(
                "HG119",
                rule="An output file may not replace data, a facts file, a ledger or its secret.",
                finding=f"The folder {str(target)!r} holds {reason}, under the name {name}.",
                remedy="Name another folder. The option `force` does not allow an output to replace an input.",
            )


def _occupied(target: Path, finding: str, names: Sequence[str]) -> ParameterError:
    return ParameterError(
        "HG119",
        rule="A release does not replace existing files.",
        finding=f"The folder {str(target)!r} {finding}.",
        remedy="Name a new folder, or give `force` to replace its " + _listed(names) + ".",
    )


def _listed(names: Sequence[str]) -> str:
    """Return the names in a sentence: of more than 12 the first and the last ones."""
    return ", ".join(names if len(names) <= 12 else (*names[:4], f"… ({len(names)} files)", *names[-3:]))
