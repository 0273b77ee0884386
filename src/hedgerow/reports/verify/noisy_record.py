"""A table as a ledger keeps it, noisy numbers and the width of their noise, held against the mechanism on record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import CellTotals, Counts, Moments, ResampledSums, parts_of
from hedgerow.reports.verify.priced_errors import cells_of


def contradictions_of_noisy_numbers(record: Mapping[str, Any], certificate: Certificate) -> Iterator[str]:
    """Yield where the number of cells, or the noise, is not that of the one mechanism of a table."""
    noisy, features = record["noisy"], record["table"]["features"]
    parts = parts_of(certificate.mechanism)
    shape = noisy["shape"]
    if len(parts) != 1 or cells_of(parts[0]) != shape[0] or math.prod(shape) != len(noisy["values"]):
        yield "It has another number of cells than its mechanism."
        return
    spread = _spread(parts[0], features)
    found = np.array(noisy["noise_sd"], dtype=np.float64)
    if spread is None or found.shape != spread.shape or not np.allclose(found, spread, rtol=1e-9, atol=0.0):
        yield "The noise beside the numbers is not that of its mechanism."


def _spread(part: Any, features: list[str]) -> NDArray[np.float64] | None:
    """Return the sd of the noise on each feature, as a release draws it; None where no table draws it."""
    if isinstance(part, Counts):
        return np.full(len(features), part.noise_sd)
    if isinstance(part, Moments):
        # Where membership is public the number of records of each cell goes out as it is.
        known = part.noise.count is None and features[:1] == ["count"] and part.layout.presence == "public"
        return np.concatenate([[0.0], part.spread]) if known else part.spread
    return part.spread if isinstance(part, (CellTotals, ResampledSums)) else None
