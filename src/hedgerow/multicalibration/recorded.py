"""The record of a calibrated model, written again from what was asked and from the released numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import Composition, Single, parts_of
from hedgerow.multicalibration.fit import model_of
from hedgerow.multicalibration.mechanisms.mechanism import CalibrationMechanism, Setting, mechanism_class
from hedgerow.multicalibration.model.model import Model
from hedgerow.multicalibration.model.model_file import family_of_record, family_record, model_from_text, model_text
from hedgerow.release.record.kind import Record, RecordKind, Rewritten

_OTHER = "The mechanism of the model is not the one on its certificate, once for each of its calibrations."
_NOISE = "The noise, the groups or the cells of the model are not those of the mechanism on its certificate."
_BASE = "A calibration says whether its base model is covered, and its certificate does not."
_ASKED = ("groups", "classes", "score", "n", "n_buckets", "alpha", "parameters")


def rewrite(record: Record, certificate: Certificate) -> Rewritten:
    """Return the record of a model as it is made from its request, its released numbers and its mechanism."""
    model = model_from_text(json.dumps(record))
    kind, parts = mechanism_class(model.mechanism), parts_of(certificate.mechanism)
    expected = () if kind is None else kind.noise * len(model.calibrations)
    if kind is None or not expected or tuple(map(type, parts)) != expected:
        return Rewritten(_written(model), (), (_OTHER,))
    each = len(kind.noise)
    drawn = [parts[start : start + each] for start in range(0, len(parts), each)]
    agrees = all(kind.agrees(model, before, some[0]) for before, some in zip(model.before, drawn, strict=True))
    found = (() if agrees else (_NOISE,)) + (() if certificate.assumptions else (_BASE,))
    if "reading" not in record:
        return Rewritten(_written(model), _UNCHECKED_BEFORE, found, {"unit": "row"})
    again = _again(model, record["request"], kind, drawn, certificate)
    return Rewritten(_written(again), (*_UNSEEN, *_unread(again)), found, {"unit": "row"})


RECORD = RecordKind("a calibrated model", "hedgerow_model", rewrite)
_UNSEEN = ("request.alpha", "request.parameters.*")
"""What decides which cells are shifted: another value may decide the same."""
_UNCHECKED_BEFORE = (
    *("groups.**", "classes.*", "n_buckets", "score", "release.n", "calibrations.**", "before.**", "after.**"),
)


def _again(
    model: Model,
    asked: Any,
    kind: type[CalibrationMechanism[Any]],
    drawn: list[tuple[Single, ...]],
    certificate: Certificate,
) -> Model:
    """Return the model that the released numbers give."""
    mechanism, classes = kind(**asked["parameters"]), tuple(asked["classes"])
    family, n, models = family_of_record(asked["groups"]), asked["n"], len(model.calibrations)
    setting = Setting(family, certificate.relation, n, asked["n_buckets"], asked["alpha"], models)
    described = [some[0] if len(some) == 1 else Composition(some) for some in drawn]
    fitted = [mechanism.read(setting, one, numbers) for one, numbers in zip(described, model.released, strict=True)]
    made = model_of(fitted, model.mechanism, setting, classes, certificate, asked["score"])
    request = {name: asked[name] for name in _ASKED} | {"groups": family_record(family)}
    return replace(made, request=request, released=model.released)


def _unread(model: Model) -> tuple[str, ...]:
    """Return which released numbers leave no trace beside a cell that they shift, or do not."""
    if all(one is None for one in model.before):
        return ("released.**",)
    if model.mechanism == "table":
        return ("released.*.1.**",)  # the mean score of a bin that holds hardly any record is its middle
    # The last of several tables is told by the errors after, where they are known; the first by those before.
    rounds = max(map(len, model.released))
    told = 2 if rounds > 1 and all(one is not None for one in model.after) else 1
    return tuple(f"released.*.{place}.**" for place in range(1, rounds) if place < rounds - told + 1)


def _written(model: Model) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(model_text(model))
    del record["certificate"]
    return record
