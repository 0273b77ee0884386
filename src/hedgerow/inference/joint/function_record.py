"""Functions of totals as plain JSON data, by which a reader of a record computes what its release computed.

A function of the user's own is kept as its tangent in each cell: its value, its slopes and what is possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.joint.functions import (
    FunctionOfTotals,
    Numbers,
    ScaledMean,
    gradient,
    recorded_kinds,
    value_of,
)

Floats = NDArray[np.float64]
_AXIS = "axis"


@dataclass(frozen=True, slots=True)
class RecordedTangent(FunctionOfTotals):
    """The tangent at the released totals of a function that is not on record: value + slopes · (T − at)."""

    value: float
    slopes: tuple[float, ...]
    at: tuple[float, ...]
    limits: tuple[float, float]

    is_exact = False

    def _limits(self) -> tuple[float, float]:
        return self.limits

    def __call__(self, totals: Numbers) -> Numbers:
        """Return the value of each row."""
        return np.asarray(self.value + (totals - np.array(self.at)) @ np.array(self.slopes))

    def divisors(self, totals: Numbers) -> list[Numbers]:
        """Return what the value divides by."""
        return []


def function_record(function: FunctionOfTotals, totals: Floats) -> dict[str, Any]:
    """Return a function of totals (cells, 1 + d) as plain JSON data.

    >>> from hedgerow.inference.joint.functions import MeanOfTotals
    >>> function_record(MeanOfTotals(ScaledMean(1, 50.0, 50.0)), np.empty((1, 2)))
    {'type': 'mean', 'x': {'type': 'axis', 'place': 1, 'centre': 50.0, 'half': 50.0, 'base': 0}}
    """
    if function.is_sent:
        named: dict[str, Any] = _plain(function)
        return named
    if not getattr(function, "columns", ()):
        return {"type": "tangent"}  # its code was left behind, with all that it says
    slopes, values = gradient(function, totals), value_of(function, totals)
    return {
        "type": "tangent",
        "limits": _plain((function.low, function.high)),
        "cells": [
            {"value": value, "slopes": row} if math.isfinite(value) and np.isfinite(row).all() else None
            for value, row in zip(values.tolist(), slopes.tolist(), strict=True)
        ],
    }


def function_of(record: Mapping[str, Any], totals: Floats, cell: int) -> FunctionOfTotals | None:
    """Return the function of `function_record`, for the totals of one cell; None where it has no tangent there.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError
        It is no such record.
    """
    if record["type"] != "tangent":
        return _made(record)  # type: ignore[no-any-return]  # of the kind that the record names
    low, high = _ends(record["limits"])
    tangent = record["cells"][cell]
    if tangent is None:
        return None
    slopes = tuple(float(slope) for slope in tangent["slopes"])
    if len(slopes) != len(totals):
        raise ValueError("a tangent has a slope for each total")
    return RecordedTangent(float(tangent["value"]), slopes, tuple(totals.tolist()), (low, high))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [number if math.isfinite(number) else None for number in value]
    name = _AXIS if isinstance(value, ScaledMean) else getattr(value, "kind", None)
    if name is None:
        return value
    # An axis without weights is written as before there were any.
    left_out = ("most",) if name == _AXIS and value.most == 1.0 else ()
    names = [part.name for part in fields(value) if part.name not in left_out]
    return {"type": name, **{name: _plain(getattr(value, name)) for name in names}}


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return _ends(value)
    if not isinstance(value, Mapping):
        return value
    kind: type[Any] = ScaledMean if value["type"] == _AXIS else recorded_kinds()[value["type"]]
    return kind(**{name: _made(part) for name, part in value.items() if name != "type"})


def _ends(value: list[Any]) -> tuple[float, float]:
    low, high = value
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)
