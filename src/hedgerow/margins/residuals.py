"""Tables from their residuals, and how two cells of any two tables vary together. Post-processing: arrays alone.

The residual of B lies in the image of P_B; a table by A is Σ_{B ⊆ A} (residual of B)/Π_{j∈A∖B} n_j, so all tables have
the same totals. Noise of variance σ_B² before the projection gives the cells a of A and a' of A' the covariance

    Σ_{B ⊆ A∩A'} σ_B² · Π_{i∈B} (1[a_i = a'_i] − 1/n_i) / (Π_{j∈A∖B} n_j · Π_{j∈A'∖B} n_j).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.margins.workload import Workload, subsets, summed
from hedgerow.mechanisms.residual_margins import ColumnSet, ResidualMargins, contrasts

Floats = NDArray[np.float64]
Place = tuple[ColumnSet, tuple[int, ...]]
"""A cell: the columns of a table, and the category of each."""


@dataclass(frozen=True, slots=True, eq=False)
class TableResiduals:
    """The residual of every table of a workload, and the variance of its noise before it was projected.

    Attributes
    ----------
    workload : Workload
    values : dict
        {columns: array of the table's shape}: P_B of the table with its noise.
    variances : dict
        {columns: σ_B²}; 0 where the table is known.

    Examples
    --------
    >>> tables = TableResiduals.of_tables(Workload.up_to((2, 2), 2), {(0, 1): np.array([[5.0, 1.0], [0.0, 2.0]])})
    >>> tables.table((0,)).tolist(), tables.table(()).tolist(), tables.table((0, 1)).tolist()
    ([6.0, 2.0], 8.0, [[5.0, 1.0], [0.0, 2.0]])
    """

    workload: Workload
    values: Mapping[ColumnSet, Floats]
    variances: Mapping[ColumnSet, float]

    @classmethod
    def read(
        cls, workload: Workload, mechanism: ResidualMargins, noisy: Floats, known: Mapping[ColumnSet, Floats]
    ) -> TableResiduals:
        """Return the residuals that noisy integers tell, those of known tables exact.

        Parameters
        ----------
        workload, mechanism
        noisy : float array, (numbers,)
            As the mechanism drew them: N_A·P_A of each table, with noise.
        known : mapping
            {columns: numbers} of known tables.
        """
        values: dict[ColumnSet, Floats] = dict(cls.of_tables(workload, known).values) if known else {}
        variances = dict.fromkeys(values, 0.0)
        starts = np.cumsum([0, *mechanism.lengths])
        pairs = zip(mechanism.margins, mechanism.variances, strict=True)
        for (margin, variance), start, length in zip(pairs, starts, mechanism.lengths, strict=False):
            part = noisy[start : start + length].reshape(workload.shape(margin)) / length
            values[margin], variances[margin] = projected(part), variance
        return cls(workload, values, variances)

    @classmethod
    def of_tables(cls, workload: Workload, tables: Mapping[ColumnSet, Floats]) -> TableResiduals:
        """Return the residuals of exact tables and of all tables that are sums of these."""
        values: dict[ColumnSet, Floats] = {}
        for columns, table in tables.items():
            for part in subsets(columns):
                if part not in values:
                    values[part] = projected(summed(np.asarray(table, dtype=np.float64), columns, part))
        return cls(workload, values, dict.fromkeys(values, 0.0))

    def scaled(self, unit: float) -> TableResiduals:
        """Return the residuals of the same tables in another unit, one of which is so many of the new."""
        return TableResiduals(
            self.workload,
            {columns: value * unit for columns, value in self.values.items()},
            {columns: variance * unit**2 for columns, variance in self.variances.items()},
        )

    def table(self, columns: ColumnSet) -> Floats:
        """Return the table by these columns: all tables add up."""
        whole = np.zeros(self.workload.shape(columns))
        for part in subsets(columns):
            rest = math.prod(self.workload.sizes[place] for place in columns if place not in part)
            shape = [self.workload.sizes[place] if place in part else 1 for place in columns]
            whole = whole + self.values[part].reshape(shape) / rest
        return np.asarray(whole)

    def noise_variance(self, columns: ColumnSet) -> float:
        """Return the noise variance of each cell of a table."""
        return math.fsum(self.variances[part] * self.workload.part(columns, part) for part in subsets(columns))

    def noise_covariance(self, first: Place, second: Place) -> float:
        """Return the noise covariance of two cells."""
        here, there = (dict(zip(*place, strict=True)) for place in (first, second))
        sizes, total = self.workload.sizes, 0.0
        for part in subsets(tuple(place for place in first[0] if place in there)):
            product = math.prod(float(here[place] == there[place]) - 1.0 / sizes[place] for place in part)
            rest = math.prod(sizes[place] for cell in (here, there) for place in cell if place not in part)
            total += self.variances[part] * product / rest
        return total


def projected(table: Floats) -> Floats:
    """Return P of a table: the mean along every axis taken off.

    >>> projected(np.array([[5.0, 1.0], [0.0, 2.0]])).tolist()
    [[1.5, -1.5], [-1.5, 1.5]]
    """
    return np.asarray(contrasts(table) / table.size)
