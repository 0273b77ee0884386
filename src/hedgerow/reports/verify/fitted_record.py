"""The record of a score or of a calibrated model, held against the mechanism that it prices."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from hedgerow.errors import DataError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import (
    GeometricCounts,
    MomentsGaussian,
    MomentsGeometric,
    Resample,
    ResampledGaussian,
    Single,
    SmoothedResample,
    SparseVector,
    parts_of,
)
from hedgerow.multicalibration.mechanisms.mechanism import mechanism_class
from hedgerow.multicalibration.model.model_file import model_from_text

_LOOKS: dict[str, tuple[type, ...]] = {
    "gaussian": (MomentsGaussian,),
    "laplace": (GeometricCounts, MomentsGeometric),
    "smoothed_resample": (SmoothedResample,),
    "resample_gaussian": (ResampledGaussian,),
    "thresholdout": (SparseVector,),
    "resample": (Resample,),
}


def contradictions_of_a_score(score: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    """Yield where a score is not one that the mechanism of its certificate gives."""
    parts, name = parts_of(certificate.mechanism), score["mechanism"]
    if certificate.unit != "row":
        yield "A test set protects rows, and its certificate names another unit."
    if not certificate.assumptions:
        yield "A score rests on assumptions, and its certificate names none."
    # The first look of a thresholdout pays for all others.
    free = name == "thresholdout" and score["look"] > 1 and not parts
    if not free and (len(parts) != 1 or not isinstance(parts[0], _LOOKS[name])):
        yield "The mechanism of the score is not the one on its certificate."
    elif parts and not _is_noise_of(parts[0], score, certificate):
        yield "The error beside the score is not that of the mechanism on its certificate."


def _is_noise_of(part: Single, score: Mapping[str, Any], certificate: Certificate) -> bool:
    """Whether the noise is that of the mechanism, where losses are 0 or 1, so that the sampling error tells n."""
    value, sampling = score["value"], score["sampling_error"]
    if not sampling or not 0.0 < value < 1.0 or certificate.relation is not Relation.REPLACE_ONE:
        return True
    if isinstance(part, Resample):
        # (1 − ū²)/n beside (1 − ū²)/m.
        return math.isclose((score["resampling_error"] / sampling) ** 2 * part.draws, part.n, rel_tol=1e-6)
    n = value * (1.0 - value) / sampling**2
    if isinstance(part, GeometricCounts):
        return math.isclose(score["noise_error"] * n, part.noise_sd, rel_tol=1e-6)
    if isinstance(part, MomentsGaussian) and part.layout.steps == 1 and part.noise.square is None:
        return math.isclose(score["noise_error"] * n, part.noise.total.in_units / 2.0, rel_tol=1e-6)
    return True


def contradictions_of_a_model(record: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    """Yield where a model is not one that the mechanism of its certificate makes."""
    if certificate.unit != "row":
        yield "A calibration protects rows, and its certificate names another unit."
    if not certificate.assumptions:
        yield "A calibration says whether its base model is covered, and its certificate does not."
    try:
        model = model_from_text(json.dumps(record))
    except DataError:
        yield "It is no model as it was written."
        return
    parts, mechanism = parts_of(certificate.mechanism), mechanism_class(model.mechanism)
    expected = () if mechanism is None else mechanism.noise * len(model.calibrations)
    if mechanism is None or not expected or len(parts) != len(expected) or not all(map(isinstance, parts, expected)):
        yield "The mechanism of the model is not the one on its certificate, once for each of its calibrations."
        return
    for before, part in zip(model.before, parts[:: len(mechanism.noise)], strict=True):
        if not mechanism.agrees(model, before, part):
            yield "The noise, the groups or the cells of the model are not those of the mechanism on its certificate."
