"""Expected errors of a design, by the inference itself: it reads expected totals instead of released ones.

No error formula is repeated here. A design reads tables of expected totals plus noise at equally likely quantiles, and
its results are averaged over the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.noise_law import quantiles_of
from hedgerow.noise.table import AdditiveTable

Floats = NDArray[np.float64]
_NODES = {"count": 3}
EQUAL_CELLS = "cells of equal size"
"""What a forecast of a count rests on, in words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Errors and interval of one cell, averaged over the noise; the errors are None where the noise hides the cell."""

    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    width: float
    reliable: bool

    @classmethod
    def hidden(cls, width: float) -> Reading:
        """Return what is read of a cell that noise hides."""
        return cls(None, None, None, width, False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What would be read if a guess were true.

    Attributes
    ----------
    reading : Reading
    guess : str
        The guess in words.
    value : float or None
        The value of the statistic by the guess; None for a function of one's own.
    """

    reading: Reading
    guess: str
    value: float | None = None


def average_reading(
    read: Callable[[AdditiveTable], Sequence[Estimate]],
    totals: Mapping[str, float],
    spread: Floats,
    law: str,
    *,
    level: float,
) -> Reading:
    """Return what is read of one cell of these expected totals, averaged over the noise on them."""
    tables = _noisy_tables(totals, spread, law)
    return _averaged([(weight, read(table)[0]) for weight, table in tables], level)


def _noisy_tables(totals: Mapping[str, float], spread: Floats, law: str) -> Iterator[tuple[float, AdditiveTable]]:
    """Yield tables of one cell with their probabilities: expected totals, and noise at equally likely places."""
    usual = 7 if law == "gaussian" else 5
    places = [_places(law, _NODES.get(name, usual)) for name in totals]
    weight = 1.0 / math.prod(len(nodes) for nodes in places)
    expected = np.array(list(totals.values()))
    for noise in itertools.product(*places):
        values = (expected + np.array(noise) * spread)[None, :]
        yield weight, AdditiveTable(({},), tuple(totals), values, spread, law)


def _places(law: str, count: int) -> list[float]:
    """Return equally likely values of a law of mean 0, scaled to variance 1."""
    from hedgerow.special import ndtri

    levels = (np.arange(count) + 0.5) / count
    if law == "gaussian":
        nodes = ndtri(levels)
    else:
        nodes = np.array([math.copysign(_quantile(law, abs(2.0 * level - 1.0)), level - 0.5) for level in levels])
    return [float(node) for node in nodes / math.sqrt(float(np.mean(nodes**2)))]


def _quantile(law: str, level: float) -> float:
    """Return the half-width that holds a noise of sd 1 with this probability."""
    return float(quantiles_of(law, level, np.zeros(1), np.ones(1))[0]) if level > 0.0 else 0.0


def _averaged(readings: Sequence[tuple[float, Estimate]], level: float) -> Reading:
    width = math.fsum(weight * _width(estimate, level) for weight, estimate in readings)
    clear = [(weight, one) for weight, one in readings if one.standard_error is not None]
    share = math.fsum(weight for weight, _ in clear)
    if share < 0.5:
        return Reading.hidden(width)

    def part(name: str) -> float:
        return math.fsum(weight * float(getattr(one, name)) for weight, one in clear) / share

    reliable = math.fsum(weight for weight, one in readings if one.reliable) > 0.5
    return Reading(part("sampling_error"), part("bootstrap_error"), part("privacy_error"), width, reliable)


def _width(estimate: Estimate, level: float) -> float:
    low, high = estimate.region.ends(level)
    return high - low
