"""The numbers of many estimates as columns: taken from arrays where a table has them, else from each estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.estimate import Estimate
from hedgerow.release.readings import Readings
from hedgerow.tables.cell_estimates import CellEstimates

__all__ = ["Columns", "columns_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Numbers of all cells, in order: NaN where an error is not given, infinite where an interval has no end."""

    estimate: Floats
    sampling_error: Floats
    bootstrap_error: Floats
    privacy_error: Floats
    low: Floats
    high: Floats
    reliable: NDArray[np.bool_]

    @property
    def standard_error(self) -> Floats:
        """The root of the sum of the three squares."""
        # Number by number as in `Estimate`: NumPy's own roots differ from it in the last digit.
        hypot = np.frompyfunc(math.hypot, 3, 1)
        with np.errstate(invalid="ignore"):  # errors that are withheld are not numbers
            return np.asarray(hypot(self.sampling_error, self.bootstrap_error, self.privacy_error), dtype=np.float64)


def columns_of(estimates: Sequence[Estimate], level: float) -> Columns:
    """Return the columns, with intervals at a level that was checked."""
    if isinstance(estimates, Readings):
        known, none = estimates.known, np.nan
        zero = np.where(known, 0.0, none)
        sampling = np.where(known, estimates.sampling_error, none)
        privacy = np.where(known, estimates.privacy_error, none)
        return Columns(
            estimates.value, sampling, zero, privacy, *estimates.basis.interval(level), reliable=estimates.reliable
        )
    if isinstance(estimates, CellEstimates):
        sampling, noise = estimates.errors()
        shown = noise is not None
        given = np.full(len(estimates), 0.0 if shown else np.nan)
        return Columns(
            estimates.cells.published,
            sampling + given,
            given,
            given if noise is None else noise,
            *estimates.interval(level),
            reliable=np.full(len(estimates), shown),
        )
    return _listed(estimates, level)


def _listed(estimates: Sequence[Estimate], level: float) -> Columns:
    def column(name: str) -> Floats:
        return np.array([getattr(one, name) for one in estimates], dtype=np.float64)

    intervals = [one.confidence_interval(level) for one in estimates]
    return Columns(
        column("estimate"),
        column("sampling_error"),
        column("bootstrap_error"),
        column("privacy_error"),
        np.array([interval.low for interval in intervals]),
        np.array([interval.high for interval in intervals]),
        np.array([one.reliable for one in estimates], dtype=bool),
    )
