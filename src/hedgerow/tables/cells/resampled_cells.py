"""The cells of a table that was released as replicates: their errors and intervals, and those of totals over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.estimate import Estimate, IntervalBasis
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.unit_bootstrap import UnitBootstrapDesign

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ResampledCells:
    """Replicates of every cell, as the release reads them.

    Replicates of a total are the sums of its cells', read by the same formulas: nothing is assumed of the cells but
    that a unit has rows in several of them (`UnitBootstrapDesign.estimates`).

    Attributes
    ----------
    design : UnitBootstrapDesign
    table : AdditiveTable
    added : float array, (cells,)
        How many cells of the released table each adds up.
    estimates : sequence of Estimate
    """

    design: UnitBootstrapDesign
    table: AdditiveTable
    added: Floats
    estimates: Sequence[Estimate]

    @classmethod
    def of(cls, design: UnitBootstrapDesign, table: AdditiveTable) -> ResampledCells:
        """Read what was drawn."""
        return cls(design, table, np.ones(len(table.values)), design.estimates(table))

    def over(self, add: Callable[[Floats], Floats]) -> ResampledCells:
        """Return totals; `add` adds up one number a cell to one a total."""
        values = np.apply_along_axis(add, 0, self.table.values)
        variances = np.broadcast_to(self.table.noise_sd**2, self.table.values.shape[:2])
        noise_sd, added = np.sqrt(np.apply_along_axis(add, 0, variances)), add(self.added)
        summed = AdditiveTable(({},) * len(values), self.table.features, values, noise_sd, self.table.noise_law)
        return ResampledCells(self.design, summed, added, self.design.estimates(summed, added))

    @property
    def errors(self) -> tuple[Floats, Floats, Floats]:
        """The sampling, bootstrap and privacy error of each cell."""
        parts = [(one.sampling_error, one.bootstrap_error, one.privacy_error) for one in self.estimates]
        sampling, bootstrap, privacy = np.array(parts, dtype=np.float64).T
        return sampling, bootstrap, privacy

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the most that each number can be."""
        low, high = np.array([(one.basis.low, one.basis.high) for one in self.estimates], dtype=np.float64).T
        return low, high

    def row(self, place: int) -> IntervalBasis:
        """Return what the interval of one cell comes from."""
        return self.estimates[place].basis

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Return (low, high) of each cell at a level."""
        found = [one.confidence_interval(level) for one in self.estimates]
        return np.array([one.low for one in found]), np.array([one.high for one in found])
