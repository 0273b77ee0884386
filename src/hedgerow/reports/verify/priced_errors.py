"""How large the privacy error of a printed number can be, if the mechanism on record drew its noise.

Each formula is the one by which a release reads that number. What it needs and a record does not hold (a noisy count
that divides, for one) is bounded by what the record does hold, with room, so that no genuine record falls outside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.mechanisms.mechanism import (
    CellTotals,
    Counts,
    Moments,
    ResampledSums,
    ResampledUnits,
    Single,
)

_BOUNDS = re.compile(r"clamped to \[(\S+), (\S+)\]")
# What is read off printed numbers is uncertain: a factor for what is estimated, and sds within which all noise lies.
_ROOM, _FAR = 4.0, 25.0
_EXACT, _TANGENT = 1e-9, 1e-5
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a record says of its release beside the numbers.

    Attributes
    ----------
    n : int or None
        The number of units, under replace-one.
    complete : frozenset of str
        Columns that were declared to hold no missing value.
    """

    n: int | None
    complete: frozenset[str]
    selected: bool = False

    def divides(self, entry: Mapping[str, Any]) -> bool:
        """Whether the public n divides: one cell, and every record is known to be in it."""
        return self.n is not None and not self.selected and not entry["cell"] and entry["column"] in self.complete


def possible_error(part: Single, entry: Mapping[str, Any], facts: Facts) -> Range | None:
    """Return the least and the largest privacy error of one number; None where the record does not tell.

    >>> from hedgerow.mechanisms.mechanism import GaussianCounts
    >>> count = {"statistic": "count", "column": None, "cell": {"a": 1}, "estimate": 7.0, "sampling_error": 2.0}
    >>> low, high = possible_error(GaussianCounts(3.0, 2), count, Facts(100, frozenset()))
    >>> low < 3.0 < high < 3.0001
    True
    """
    statistic = entry["statistic"]
    match part:
        case Counts():
            if statistic == "count":
                return _about(part.noise_sd)
            return _proportion(part, entry, facts)
        case Moments():
            return _moments(part, entry, facts)
        case ResampledSums():
            return _replicated(part, entry, facts)
    return None


def _about(error: float, tolerance: float = _EXACT) -> Range:
    return error * (1.0 - tolerance), error * (1.0 + tolerance)


def _bounds(entry: Mapping[str, Any]) -> tuple[float, float, float] | None:
    """Return centre, half the range, and how far their digits can be trusted; None where none are printed."""
    if entry["statistic"] == "proportion":
        return 0.5, 0.5, _EXACT
    found = _BOUNDS.findall(entry["confidence_interval"]["covers"])
    if not found:
        return None
    low, high = (float(end) for end in found[-1])
    if not low < high:
        return None
    # Bounds are printed with 15 digits.
    return (low + high) / 2.0, (high - low) / 2.0, _EXACT + 4e-15 * max(abs(low), abs(high)) / (high - low)


def _over(numerator: float, records: Range, tolerance: float = _EXACT) -> Range:
    """Return numerator/N for N within a range."""
    return numerator / records[1] * (1.0 - tolerance), numerator / records[0] * (1.0 + tolerance)


def _proportion(part: Counts, entry: Mapping[str, Any], facts: Facts) -> Range:
    share, error = entry["estimate"], entry["sampling_error"]
    if facts.divides(entry):
        return _over(part.noise_sd, (facts.n or 1, facts.n or 1))
    noise = part.noise_sd * math.hypot(1.0 - share, share)
    total_sd = math.sqrt(2.0) * part.noise_sd
    fewest, most = max(2.0 * total_sd, 1.0), math.inf if facts.n is None else facts.n + _FAR * total_sd
    if error:
        # The sampling variance of a share is p(1 − p)/N.
        told = share * (1.0 - share) / error**2
        fewest, most = max(fewest, told / _ROOM), min(most, told * _ROOM)
    return _over(noise, (fewest, max(fewest, most)))


def _moments(part: Moments, entry: Mapping[str, Any], facts: Facts) -> Range | None:
    found, layout = _bounds(entry), part.layout
    if found is None:
        return None
    centre, half, tolerance = found
    spread = dict(zip(part.noise.coordinates(), part.spread.tolist(), strict=True))
    if entry["statistic"] == "sum":
        return _about(2.0 * half / (layout.stride * layout.steps) * spread["total"], tolerance)
    total_sd, count_sd = spread["total"] / layout.reach, spread.get("count", 0.0)
    mean = min(max((entry["estimate"] - centre) / half, -1.0), 1.0)
    noise, n = half * math.hypot(total_sd, mean * count_sd), facts.n
    if layout.presence == "public":
        return None if n is None else _over(noise, (n if layout.cells == 1 else 1, n), tolerance)
    fewest, most = max(2.0 * count_sd, 1.0), math.inf if n is None else n + _FAR * count_sd
    if entry["sampling_error"]:
        # No variance is larger than that of values at both ends.
        most = min(most, _ROOM * max(1.0 - mean**2, 1e-12) * (half / entry["sampling_error"]) ** 2)
    return _over(noise, (fewest, max(fewest, most)), tolerance)


def _replicated(part: ResampledSums, entry: Mapping[str, Any], facts: Facts) -> Range | None:
    once, found = math.sqrt(part.n_resamples) * part.weight_moments()[0], _bounds(entry)
    widths = [one.noise.in_units / once for one in part.coordinates]
    rows = part.max_rows if isinstance(part, ResampledUnits) else 1
    if entry["statistic"] == "count":
        return _about(widths[-1]) if part.shape == "count" else None
    if found is None or part.shape not in ("value", "value-and-count"):
        return None
    centre, half, tolerance = found
    step = half * rows / part.coordinates[0].reach
    if part.shape == "value":
        divisor = 1 if entry["statistic"] == "sum" else facts.n
        return None if not divisor else _about(step * widths[0] / divisor, tolerance)
    if entry["statistic"] == "sum":
        return _about(math.hypot(step * widths[0], centre * widths[1]), tolerance + _TANGENT)
    value = entry["estimate"]
    if abs(value - centre) >= half * (1.0 - _TANGENT):
        return None  # cut to what is possible: how far beyond it lay is not printed
    n = math.inf if facts.n is None else facts.n
    most = _ROOM * (rows * (n + _FAR * math.sqrt(n)) + _FAR * widths[1])
    noise = math.hypot(step * widths[0], (value - centre) * widths[1])
    return _over(noise, (max(2.0 * widths[1], 1.0) / _ROOM, most), tolerance)


def same_worth(part: CellTotals, errors: Sequence[float]) -> bool:
    """Whether the errors of all cells are the noise on record at one worth of its integers.

    >>> from hedgerow.mechanisms.cell_totals import CellKind
    >>> from hedgerow.noise.lattice import LatticeNoise
    >>> kinds = CellKind(0, 10, LatticeNoise(2000, 0), None), CellKind(0, 20, LatticeNoise(4000, 0), None)
    >>> part = CellTotals("gaussian", 0, 1, kinds, (0, 1))
    >>> same_worth(part, [1.0, 2.0]), same_worth(part, [1.0, 1.0])
    (True, False)
    """
    worth = [error / width for error, width in zip(errors, part.cells().total.tolist(), strict=True)]
    return bool(max(worth) <= min(worth) * (1.0 + _EXACT))
