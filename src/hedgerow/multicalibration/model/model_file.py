"""Models on disk: a small JSON file, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hedgerow.errors import DataError, ParameterError
from hedgerow.inputs import note_input, why_kept
from hedgerow.multicalibration.groups.attribute import Predicate
from hedgerow.multicalibration.model.model import Model
from hedgerow.multicalibration.model.model_record import model_from_text, model_text
from hedgerow.release.result.write_file import can_be_written, written_whole

_LARGEST = 64 * 2**20


def write_model(model: Model, path: str | Path) -> None:
    """Write a model as JSON; a file of that name is replaced.

    Raises
    ------
    ParameterError
        HG169: a group is a function, which a file cannot hold.
    DataError
        HG168: it cannot be written there.
    """
    if any(isinstance(attribute, Predicate) for attribute in model.family.attributes):
        raise ParameterError(
            "HG169",
            rule="A model file holds no code, so a group that is a function cannot be written.",
            finding="One of the groups is.",
            remedy='Make the group a column, for example masks("young"), and fit by that.',
        )
    place, failed = Path(path), False
    try:
        with written_whole(place) as passing:
            passing.write_text(model_text(model), encoding="utf-8")
    except OSError:
        failed = True
    if failed:
        raise DataError("HG168", rule="A model is written to a file.", finding=f"{place.name!r} cannot be written.")


def check_destination(
    path: str | Path, *apart: str | Path | None, force: bool = True, earlier: Callable[[Path], bool] | None = None
) -> None:
    """Refuse, before anything is spent, a file that could not be written, or is not to be written over (HG168).

    Parameters
    ----------
    path : path
        Where to write. A ledger is never written over: its budget would come back.
    apart : path or None
        What is read or kept besides: data, facts, a ledger, a model.
    force : bool
        Whether a file that is there is replaced whatever it holds, if it is none of those.
    earlier : callable, optional
        Tells a file that the same command wrote before, which needs no force.
    """
    place = Path(path)
    if not can_be_written(place):
        raise DataError(
            "HG168",
            rule="A file is written to a folder that is there.",
            finding=f"{place.name!r} cannot be written.",
            remedy="Create the folder first.",
        )
    note_input(*apart)
    if why_kept(place) is not None:
        raise DataError(
            "HG168",
            rule="Neither data nor facts, nor a ledger or a model that is read, is written over.",
            finding=f"{place.name!r} is one of them.",
            remedy="Name another file. Nothing was read or spent.",
        )
    if not force and place.exists() and not (earlier is not None and earlier(place)):
        raise DataError(
            "HG168",
            rule="A file that this command did not write is replaced only where that is said.",
            finding=f"{place.name!r} is there already.",
            remedy="Name another file, or give `force`.",
        )


def is_model(path: Path) -> bool:
    """Return whether a file holds a model: it may be replaced by another fit."""
    try:
        read_model(path)
        return True
    except DataError:
        return False


def read_model(path: str | Path) -> Model:
    """Read a model file.

    Raises
    ------
    DataError
        HG168: there is no such file, or it is no model of a known version.
    """
    text: str | None = None
    try:
        # Regular files only: a device may have no end.
        if Path(path).is_file() and Path(path).stat().st_size <= _LARGEST:
            text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = None
    if text is None:
        raise DataError(
            "HG168",
            rule="A model is read from a JSON file.",
            finding=f"{Path(path).name!r} cannot be read as one.",
            remedy="Give the file that `hedgerow multicalibrate` wrote.",
        )
    return model_from_text(text)
