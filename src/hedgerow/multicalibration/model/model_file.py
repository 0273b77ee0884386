"""A model as plain JSON data with a version: what a file holds and what a ledger keeps. No pickle, no code.

A record with an unknown version, field or kind is refused as a whole: a model of which only a part was read would score
people by rules that nobody wrote. A file is written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.errors import DataError, HedgerowError, ParameterError
from hedgerow.inputs import note_input, why_kept
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.multicalibration.groups.family import Attribute, Family
from hedgerow.multicalibration.groups.groups import Categories, Cuts, Disjoint, Predicate
from hedgerow.multicalibration.model.model import Calibration, Loss, Model, Patches, Residuals, Shifts
from hedgerow.release.publication.write_file import can_be_written, written_whole
from hedgerow.release.record.kind import READING

VERSION = 1
_LARGEST = 64 * 2**20
_ARRAYS = ("residual", "count", "predicted", "residual_sd", "count_sd")
_CALIBRATIONS: dict[str, Any] = {"shifts": Shifts, "patches": Patches}
_ATTRIBUTES: dict[str, Any] = {"categories": Categories, "cuts": Cuts, "disjoint": Disjoint, "predicate": Predicate}


def model_text(model: Model) -> str:
    """Return the JSON text of a model; exact residuals, which are data, stay out of it."""
    read = (
        {}
        if model.request is None
        else {
            "reading": READING,
            "request": dict(model.request),
            "released": [[one.tolist() for one in each] for each in model.released],
        }
    )
    record = {
        "hedgerow_model": VERSION,
        **read,
        "mechanism": model.mechanism,
        "groups": family_record(model.family),
        "classes": list(model.classes),
        "n_buckets": model.n_buckets,
        "score": model.score,
        "release": _release_record(model),
        "calibrations": [calibration.to_dict() for calibration in model.calibrations],
        "before": [_residuals_record(residuals) for residuals in model.before],
        "after": [_residuals_record(residuals) for residuals in model.after],
        "certificate": None if model.certificate is None else model.certificate.to_dict(),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _release_record(model: Model) -> dict[str, Any] | None:
    """Return who is protected, in the form of the record of a release, so that `hedgerow verify` reads a model too."""
    certificate = model.certificate
    if certificate is None:
        return None
    return {"relation": str(certificate.relation), "unit": certificate.unit, "n": model.n}


def model_from_text(text: str) -> Model:
    """Read a model back.

    Raises
    ------
    DataError
        HG168: it is no model of a version that this program knows.
    """
    model = None
    try:
        record = json.loads(text)
        # What is written again differs where a field is missing, unknown or altered, or the version is another.
        model = _model(record)
        known = json.loads(model_text(model)) == record
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, HedgerowError):
        known = False
    if model is None or not known:
        raise DataError(
            "HG168",
            rule=f"A model file is what hedgerow wrote, in version {VERSION}.",
            finding="This is not: a field is missing, unknown or altered, or the version is another.",
            remedy="Use the file that `hedgerow multicalibrate` or `write_model` wrote, with a version that knows it.",
        )
    return model


def _model(record: Mapping[str, Any]) -> Model:
    family = family_of_record(record["groups"])
    calibrations = tuple(_calibration(entry, family) for entry in record["calibrations"])
    classes = tuple(record["classes"])
    models = 1 if len(classes) == 2 else len(classes)
    if not len(calibrations) == len(record["before"]) == len(record["after"]) == models:
        raise ValueError("calibrations and classes")
    if not (record["score"] is None or isinstance(record["score"], (str, int))):
        raise ValueError("score")
    certificate = record["certificate"]
    return Model(
        family,
        classes,
        calibrations,
        int(record["n_buckets"]),
        str(record["mechanism"]),
        tuple(map(_residuals, record["before"])),
        tuple(map(_residuals, record["after"])),
        None if certificate is None else Certificate.from_dict(certificate),
        record["score"],
        None if record["release"] is None else record["release"]["n"],
        record.get("request"),
        tuple(tuple(np.array(one, dtype=np.float64) for one in each) for each in record.get("released", ())),
    )


def _calibration(record: Mapping[str, Any], family: Family) -> Calibration:
    made: Calibration = _CALIBRATIONS[record["kind"]].from_dict(record)
    low, high = record["low"], record["high"]
    fits = 0.0 <= low < high <= 1.0
    if not (fits and made.fits(family)):
        raise ValueError("calibration")
    return made


def family_record(family: Family) -> dict[str, Any]:
    """Return a family as plain JSON data; of a predicate only its name.

    >>> family_record(Family((Categories("sex", (0, 1)),), depth=1))
    {'depth': 1, 'attributes': [{'kind': 'categories', 'column': 'sex', 'values': [0, 1]}]}
    """
    return {"depth": family.depth, "attributes": [_attribute_record(attribute) for attribute in family.attributes]}


def _attribute_record(attribute: Attribute) -> dict[str, Any]:
    kind = next(name for name, cls in _ATTRIBUTES.items() if type(attribute) is cls)
    said = {field.name: getattr(attribute, field.name) for field in fields(_ATTRIBUTES[kind])}
    said.pop("function", None)
    return {"kind": kind, **{name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}}


def family_of_record(record: Mapping[str, Any]) -> Family:
    """Return a family from its record; a predicate has lost its function (HG169 where it is called)."""
    return Family(tuple(_attribute(attribute) for attribute in record["attributes"]), record["depth"])


def _attribute(record: Mapping[str, Any]) -> Attribute:
    said = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items() if name != "kind"}
    if record["kind"] == "predicate":
        said["function"] = _lost
    attribute: Attribute = _ATTRIBUTES[record["kind"]](**said)
    return attribute


def _lost(_: object) -> None:
    raise ParameterError(
        "HG169",
        rule="A model file holds no code, so a group that is a function is in it by name alone.",
        finding="A model read from a file or a ledger was asked to score by one.",
        remedy='Make the group a column, for example masks("young"), and fit by that.',
    )


def _residuals_record(residuals: Residuals | None) -> dict[str, Any] | None:
    if residuals is None or not residuals.private:
        return None
    losses = {"log_loss": residuals.log_loss, "brier": residuals.brier}
    return {
        **{name: np.round(getattr(residuals, name), 6).tolist() for name in _ARRAYS},
        "groups": list(residuals.groups),
        "n": residuals.n,
        **{name: None if loss is None else [loss.value, loss.noise_sd] for name, loss in losses.items()},
    }


def _residuals(record: Mapping[str, Any] | None) -> Residuals | None:
    if record is None:
        return None
    log_loss, brier = (None if record[name] is None else Loss(*record[name]) for name in ("log_loss", "brier"))
    arrays = {name: np.asarray(record[name], dtype=np.float64) for name in _ARRAYS}
    return Residuals(tuple(record["groups"]), **arrays, n=record["n"], private=True, log_loss=log_loss, brier=brier)


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
    target, failed = Path(path), False
    try:
        with written_whole(target) as passing:
            passing.write_text(model_text(model), encoding="utf-8")
    except OSError:
        failed = True
    if failed:
        raise DataError("HG168", rule="A model is written to a file.", finding=f"{target.name!r} cannot be written.")


def check_destination(
    path: str | Path, *apart: str | Path | None, force: bool = True, earlier: Callable[[Path], bool] | None = None
) -> None:
    """Refuse, before anything is spent, a file that cannot be written or must not be replaced (HG168).

    Parameters
    ----------
    path : path
        Where to write. A ledger is never replaced: its budget would be available again.
    apart : path or None
        What else is read or kept: data, facts, a ledger, a model.
    force : bool
        Whether an existing file is replaced whatever it holds, if it is none of those.
    earlier : callable, optional
        Recognises a file that the same command wrote before, which is replaced without `force`.
    """
    target = Path(path)
    if not can_be_written(target):
        raise DataError(
            "HG168",
            rule="A file is written to a folder that is there.",
            finding=f"{target.name!r} cannot be written.",
            remedy="Create the folder first.",
        )
    note_input(*apart)
    if why_kept(target) is not None:
        raise DataError(
            "HG168",
            rule="Neither data nor facts, nor a ledger or a model that is read, is written over.",
            finding=f"{target.name!r} is one of them.",
            remedy="Name another file. Nothing was read or spent.",
        )
    if not force and target.exists() and not (earlier is not None and earlier(target)):
        raise DataError(
            "HG168",
            rule="A file that this command did not write is replaced only by `force`.",
            finding=f"{target.name!r} is there already.",
            remedy="Name another file, or give `force`.",
        )


def is_model(path: Path) -> bool:
    """Return whether a file holds a model, which another fit may replace."""
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
        HG168: there is no such file, or it is not a model of a known version.
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
