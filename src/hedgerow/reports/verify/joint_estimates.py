"""Estimates that a record says were read from its joint moments, computed anew from these moments."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.joint.counted import CountedValue
from hedgerow.release.result import release_from_record

_CLOSE, _OF_ERROR = 1e-6, 1e-4
_FUNCTIONS = {
    "mean": "mean",
    "proportion": "mean",
    "sum": "total",
    "count": "total",
    "ratio": "ratio",
    "variance": "covariance",
    "covariance": "covariance",
    "standard_deviation": "deviation",
    "correlation": "correlation",
}
Entry = Mapping[str, Any]


def contradictions_of_estimates(
    joint: Sequence[Entry],
    entries: Sequence[Entry],
    values: Mapping[int, JointValue | CountedValue],
    weights: Entry | None = None,
) -> Iterator[str]:
    """Yield where an estimate, an error or an interval does not follow from the joint moments on record.

    Of a function of one's own the record holds a tangent, which tells the estimate alone. Records without functions, as
    written before they were kept, cannot be checked.
    """
    for one in joint:
        if "functions" not in one:
            continue
        if sorted(place for read in one["functions"] for place in read["estimates"]) != sorted(one["estimates"]):
            yield "Its joint moments do not say how each of their numbers was read."
        for read in one["functions"]:
            kind = read["function"]["type"]
            for entry in (entries[place] for place in read["estimates"]):
                if kind != "tangent" and _FUNCTIONS.get(entry["statistic"]) != kind:
                    yield "A number was read from joint moments as another statistic than it is called."
            if kind != "tangent" and not _of_its_columns(read["function"], one["features"], entries, read["estimates"]):
                yield "A number was read from other columns, or other bounds, than it is said to be of."
            if kind != "tangent" and not _weighted_so(read["function"], one["features"], weights):
                yield "A number was weighted otherwise than the release says."
    for place, value in values.items():
        if not _follows(entries[place], value):
            yield "A number, its errors or its interval do not follow from the joint moments on record."


def contradictions_of_answers(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield where an expression on record does not have the answer that its estimates give."""
    if "asked" not in record:
        return
    release = release_from_record(json.dumps({**record, "asked": []}))
    for entry in record["asked"]:
        try:
            answer = release.ask(entry["expression"])
        except ParameterError:
            yield "An expression on record cannot be computed from its estimates."
            continue
        if not _is_answer(entry, answer):
            yield "The answer to an expression on record does not follow from its estimates."


def _is_answer(entry: Entry, answer: Estimate) -> bool:
    """Whether an answer is that of its expression; with the tangent of a function of one's own, its estimate."""
    if answer.standard_error is None or entry["standard_error"] is None:
        return entry["standard_error"] is answer.standard_error is None
    exact = answer.joint is None or answer.joint.is_exact
    found = answer.to_dict(float(entry["confidence_interval"]["level"]))
    names = ("estimate", "sampling_error", "bootstrap_error", "privacy_error") if exact else ("estimate",)
    pairs = [(entry[name], found[name]) for name in names]
    if exact:
        pairs += zip(_ends(entry["confidence_interval"]), _ends(found["confidence_interval"]), strict=True)
    room = _OF_ERROR * answer.standard_error
    return all(math.isclose(stated, one, rel_tol=_CLOSE, abs_tol=room) for stated, one in pairs)


def _of_its_columns(function: Entry, features: Sequence[str], entries: Sequence[Entry], places: Sequence[int]) -> bool:
    """Whether each axis of a function is a feature of one of the columns of its estimates, in the column's units."""
    columns = str(entries[places[0]]["column"]).split(", ")
    covers = str(entries[places[0]]["confidence_interval"]["covers"])
    for axis in _axes(function):
        if axis["place"] < 1:
            continue
        feature = features[axis["place"] - 1]
        if axis.get("weight"):
            feature = f"(({feature.partition(' * ((')[2]}"
        scaled = [f"(({column} - {axis['centre']:.15g}) / {axis['half']:.15g})" for column in columns]
        if feature.startswith("((("):
            share = feature.removeprefix("(((").removesuffix(") - 0.5) / 0.5)")
            if f"share of {share}" not in covers:
                return False
        elif feature.startswith("((") and feature not in scaled:
            return False
    return True


def _weighted_so(function: Entry, features: Sequence[str], weights: Entry | None) -> bool:
    """Whether each axis of a function is weighted by the column and up to the bound that a release says, or by none."""
    for axis in _axes(function):
        if weights is None or not axis.get("weight"):
            if weights is not None or axis.get("weight"):
                return False
            continue
        column, most = weights["column"], float(weights["most"])
        own, times = features[axis["weight"] - 1], features[axis["place"] - 1]
        if float(axis["most"]) != most or not own.endswith(f"(({column} - {most / 2:.15g}) / {most / 2:.15g})"):
            return False
        if axis["place"] > 0 and f"({column} / {most:.15g}) * " not in times:
            return False
    return True


def _axes(function: Any) -> Iterator[Entry]:
    if isinstance(function, Mapping):
        if function.get("type") == "axis":
            yield function
        for part in function.values():
            yield from _axes(part)


def _follows(entry: Entry, value: JointValue | CountedValue) -> bool:
    if not entry["reliable"] or entry["privacy_error"] is None:
        return not (value.is_exact and value.reliable)
    interval = entry["confidence_interval"]
    if not value.is_exact:
        return math.isclose(min(max(value.estimate, value.low), value.high), entry["estimate"], rel_tol=_CLOSE)
    low, high = value.interval(float(interval["level"]), interval["method"])
    room = _OF_ERROR * value.standard_error
    stated = [entry["estimate"], entry["sampling_error"], entry["privacy_error"], *_ends(interval)]
    found = [value.estimate, value.sampling_error, value.privacy_error, low, high]
    return all(math.isclose(a, b, rel_tol=_CLOSE, abs_tol=room) for a, b in zip(stated, found, strict=True))


def _ends(interval: Entry) -> tuple[float, float]:
    low, high = interval["low"], interval["high"]
    return -math.inf if low is None else low, math.inf if high is None else high
