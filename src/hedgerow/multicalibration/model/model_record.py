"""A model as plain JSON data, versioned: what a file holds and what a ledger keeps. No pickle, no code.

A record with a version, a field or a kind that is not known is refused whole: a model that is read halfway would score
people by rules that nobody wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.accounting.certificate import Certificate
from hedgerow.errors import DataError, HedgerowError, ParameterError
from hedgerow.multicalibration.groups.attribute import Attribute, Categories, Cuts, Disjoint, Predicate
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.model.calibration import Calibration, Patches, Shifts
from hedgerow.multicalibration.model.model import Model
from hedgerow.multicalibration.model.residuals import Loss, Residuals

VERSION = 1
_FIELDS = {
    "hedgerow_model",
    "mechanism",
    "groups",
    "classes",
    "n_buckets",
    "score",
    "release",
    "calibrations",
    "before",
    "after",
    "certificate",
}
_ARRAYS = ("residual", "count", "predicted", "residual_sd", "count_sd")
_KINDS: dict[str, Any] = {"shifts": Shifts, "patches": Patches}


def model_text(model: Model) -> str:
    """Return the JSON text of a model; exact residuals, which are data, stay out of it."""
    record = {
        "hedgerow_model": VERSION,
        "mechanism": model.mechanism,
        "groups": family_record(model.family),
        "classes": list(model.classes),
        "n_buckets": model.n_buckets,
        "score": model.score,
        "release": _release_record(model),
        "calibrations": [one.to_dict() for one in model.calibrations],
        "before": [_residuals_record(one) for one in model.before],
        "after": [_residuals_record(one) for one in model.after],
        "certificate": None if model.certificate is None else model.certificate.to_dict(),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _release_record(model: Model) -> dict[str, Any] | None:
    """Return who is protected, as a record of a release says it: so that `hedgerow verify` reads a model too."""
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
    try:
        record = json.loads(text)
        known = isinstance(record, dict) and set(record) == _FIELDS and record["hedgerow_model"] == VERSION
        model = _model(record) if known else None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, HedgerowError):
        model = None
    if model is None or json.loads(model_text(model)) != record:
        raise DataError(
            "HG168",
            rule=f"A model file is what hedgerow wrote, in version {VERSION}.",
            finding="This is not: a field is missing, unknown or altered, or the version is another.",
            remedy="Use the file that `hedgerow multicalibrate` or `write_model` wrote, with a version that knows it.",
        )
    return model


def _model(record: Mapping[str, Any]) -> Model:
    family = _family(record["groups"])
    calibrations = tuple(_calibration(one, family) for one in record["calibrations"])
    classes = tuple(record["classes"])
    if len(calibrations) != (1 if len(classes) == 2 else len(classes)):
        raise ValueError("calibrations and classes")
    if not (record["score"] is None or isinstance(record["score"], (str, int))):
        raise ValueError("score")
    found = record["certificate"]
    return Model(
        family,
        classes,
        calibrations,
        int(record["n_buckets"]),
        str(record["mechanism"]),
        tuple(_residuals(one) for one in record["before"]),
        tuple(_residuals(one) for one in record["after"]),
        None if found is None else Certificate.from_dict(found),
        record["score"],
        None if record["release"] is None else record["release"]["n"],
    )


def _calibration(record: Mapping[str, Any], family: Family) -> Calibration:
    made: Calibration = _KINDS[record["kind"]].from_dict(record)
    low, high = record["low"], record["high"]
    fits = 0.0 <= low < high <= 1.0
    if isinstance(made, Shifts):
        fits &= made.shift.shape == (family.atoms, len(made.edges) + 1) and bool((np.diff(made.edges) > 0).all())
    if isinstance(made, Patches):
        cells = np.concatenate([patch.cells for patch in made.rounds] or [np.zeros((0, 2), dtype=np.int64)])
        fits &= bool((cells >= 0).all() and (cells < [len(family.groups), made.n_buckets]).all())
    if not fits:
        raise ValueError("calibration")
    return made


def family_record(family: Family) -> dict[str, Any]:
    """Return a family as plain JSON data; of a predicate its name alone.

    >>> family_record(Family((Categories("sex", (0, 1)),), depth=1))
    {'depth': 1, 'attributes': [{'kind': 'categories', 'column': 'sex', 'values': [0, 1]}]}
    """
    return {"depth": family.depth, "attributes": [_attribute_record(one) for one in family.attributes]}


def _attribute_record(attribute: Attribute) -> dict[str, Any]:
    match attribute:
        case Categories(column=column, values=values):
            return {"kind": "categories", "column": column, "values": list(values)}
        case Cuts(column=column, points=points):
            return {"kind": "cuts", "column": column, "points": list(points)}
        case Disjoint(columns=columns):
            return {"kind": "disjoint", "columns": list(columns)}
        case Predicate(name=name):
            return {"kind": "predicate", "name": name}


def _family(record: Mapping[str, Any]) -> Family:
    return Family(tuple(_attribute(one) for one in record["attributes"]), record["depth"])


def _attribute(record: Mapping[str, Any]) -> Attribute:
    match record["kind"]:
        case "categories":
            return Categories(record["column"], tuple(record["values"]))
        case "cuts":
            return Cuts(record["column"], tuple(record["points"]))
        case "disjoint":
            return Disjoint(tuple(record["columns"]))
        case "predicate":
            return Predicate(record["name"], _lost)
    raise ValueError("attribute")


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
    return Residuals(
        tuple(record["groups"]),
        **arrays,
        n=record["n"],
        private=True,
        log_loss=log_loss,
        brier=brier,
    )
