"""One table of a workload, with its totals; totals of groups of categories, with the errors of the whole workload.

A sum of cells of the table by A takes, along each column, all categories, one of them, or a group of m of n. With h its
indicator let f = |P·h|² and g = (mean of h)²: 0 and 1 for all categories, 1 − 1/n and 1/n² for one, m − m²/n and m²/n²
for a group. The noise variance of the sum is Σ_{B ⊆ A} σ_B² Π_{i∈B} f_i Π_{j∈A∖B} g_j.

About a population, cells of counts are parts of n draws. Other cells have a bound: a unit adds an x between 0 and R to
a cell, R the upper bound of a total's column times the largest number of rows of a unit. Then x² ≤ R·x, so the sampling
variance Σx² − θ²/n of a total θ of n units is at most R·θ − θ²/n. A weighted sum of cells has the same bound: by the
inequality of Cauchy and Schwarz (Σ w·x over the rows of a unit)² ≤ R·Σ w²·x.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Self

import numpy as np

from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.margins.residuals import Floats, TableResiduals
from hedgerow.margins.workload import subsets
from hedgerow.mechanisms.residual_margins import ColumnSet
from hedgerow.release.cells.margins import ConsistentTable, check_hierarchies
from hedgerow.release.cells.shape import DimensionLevels, Hierarchy, TableShape
from hedgerow.release.cells.table_cells import FOLLOWS, TableCells
from hedgerow.tables.chi_squared import CellNoise
from hedgerow.tables.protected import ProtectedTable


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class MarginTable(ProtectedTable):
    """One table of a workload: it has its totals already, with the errors that the whole workload gives them.

    Attributes
    ----------
    residuals : TableResiduals
        Of the whole workload.
    places : tuple of int
        The columns of the table, by their places.
    largest : float
        R, the most that a unit adds to a cell.
    units : int or None
        The number of units where it is public.
    workload : mapping
        What the record of the table says of the workload, where the table is all of it; else empty.
    """

    residuals: TableResiduals = field(repr=False)
    places: ColumnSet = ()
    largest: float = 1.0
    units: int | None = None
    workload: Mapping[str, Any] = field(default_factory=dict)

    def determining(self, level: float = 0.95) -> dict[str, Any]:
        """Return the end of the record, as of any table, and which workload the table is all of."""
        named = {"workload": dict(self.workload)} if self.workload else {}
        return {**named, **super(MarginTable, self).determining(level)}

    def with_margins(self, hierarchies: Sequence[Hierarchy] = ()) -> Self:
        """Return the table with the totals of groups of categories too, which are sums of its cells.

        Parameters
        ----------
        hierarchies : sequence of Hierarchy
            Each puts every category of a column into one group: regions into countries.

        Raises
        ------
        ParameterError
            HG160 a column that the table does not have, or a name used twice; HG162: a category is in no group, or in
            two.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> people = pyarrow.table({"sex": [0, 1] * 500, "region": ["N", "S", "W", "S"] * 250})
        >>> survey = hg.open(people, relation="replace-one")
        >>> margins = survey.margins(by={"sex": [0, 1], "region": ["N", "S", "W"]}, order=2, epsilon=1.0)
        >>> coast = Hierarchy.of("region", "coast", {"inland": ["S"], "sea": ["N", "W"]})
        >>> table = margins["sex", "region"].with_margins([coast])
        >>> [dict(estimate.cell) for estimate in table.margin("coast")]
        [{'coast': 'inland'}, {'coast': 'sea'}]
        """
        if not hierarchies:
            return self
        check_hierarchies(self.shape, hierarchies)
        axes = [DimensionLevels.of(axis, hierarchies) for axis in self.shape.axes]
        margins = dict(self.margins)
        for levels in product(*([axis.axis.column, *axis.sums] for axis in axes)):
            if any(level not in (None, axis.axis.column) for level, axis in zip(levels, axes, strict=True)):
                margins[tuple(level for level in levels if level is not None)] = self._summed(axes, levels)
        step = {"step": "margins", "hierarchies": [level.record() for level in hierarchies]}
        table = ConsistentTable(self.cells, margins, tuple(hierarchies), self.table.notes)
        return replace(self, table=table, steps=(*self.steps, step))

    def _summed(self, axes: Sequence[DimensionLevels], levels: Sequence[str | None]) -> TableCells:
        """Return the totals of one level of each axis."""
        cells = self.cells

        def added(numbers: Floats) -> Floats:
            whole = numbers.reshape(self.shape.shape)
            for place, (axis, level) in enumerate(zip(axes, levels, strict=True)):
                whole = axis.added(whole, place, level)
            return whole.reshape(-1)

        kept = [axis.levels[level] for axis, level in zip(axes, levels, strict=True)]
        summed = replace(
            cells,
            shape=TableShape(tuple(axis for axis in kept if axis is not None)),
            values=added(cells.values),
            sampling_variance=None,
            privacy_variance=self._variance(axes, levels),
            shown=None if cells.shown is None else added(cells.shown),
            region=FOLLOWS,
        )
        return with_bounded_sampling(summed, self.largest, self.units)

    def _noise_of_totals(self, kept: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the noise covariance of a cell and its total over the other columns, and the total's variance."""
        part = tuple(place for place, column in zip(self.places, self.shape.columns, strict=True) if column in kept)
        cell = (self.places, (0,) * len(self.places))
        total = (part, (0,) * len(part))
        covariance = self.residuals.noise_covariance(cell, total)
        return np.asarray(covariance), np.asarray(self.residuals.noise_variance(part))

    def _cell_noise(self, named: Sequence[str]) -> ResidualNoise:
        """Return the noise of the table by two columns, whose cells vary together."""
        by_name = dict(zip(self.shape.columns, self.places, strict=True))
        places = tuple(by_name[column] for column in named)
        variance = self.residuals.noise_variance(tuple(sorted(places)))
        return ResidualNoise("gaussian", variance, residuals=self.residuals, places=places)

    def _variance(self, axes: Sequence[DimensionLevels], levels: Sequence[str | None]) -> Floats:
        """Return the noise variance of each total."""
        contrasts, means = [], []
        for axis, level in zip(axes, levels, strict=True):
            size = float(axis.axis.levels)
            held = np.ones(axis.axis.levels) if axis.is_leaf(level) else axis.sums[level].sum(axis=1)
            contrasts.append(held - held**2 / size)
            means.append((held / size) ** 2)
        total = np.zeros([len(part) for part in means])
        for part in subsets(self.places):
            term = np.asarray(self.residuals.variances[part])
            for place, contrast, mean in zip(self.places, contrasts, means, strict=True):
                term = np.multiply.outer(term, contrast if place in part else mean)
            total += term
        return total.reshape(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualNoise(CellNoise):
    """The noise of one table of a workload: that of all its residuals, which its cells share."""

    residuals: TableResiduals
    places: ColumnSet

    def draw(self, size: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Return draws of the noise of all cells, (draws, cells of the first column, of the second, …)."""
        noise = np.zeros(size)
        for part in subsets(tuple(range(len(self.places)))):
            variance = self.residuals.variances[tuple(sorted(self.places[at] for at in part))]
            shape = [length if at in part else 1 for at, length in enumerate(size[1:])]
            drawn = rng.normal(0.0, math.sqrt(variance), (size[0], *shape))
            for at in part:
                drawn = drawn - drawn.mean(axis=1 + at, keepdims=True)
            noise += drawn * (math.prod(shape) / math.prod(size[1:]))
        return noise


def with_bounded_sampling(cells: TableCells, largest: float, units: int | None) -> TableCells:
    """Return cells about a population to which a unit adds between 0 and `largest`: sampling variance R·θ − θ²/n.

    Cells of counts of rows, and those of a census, are as they were.
    """
    if cells.census or largest == 1.0:
        return cells
    test = QuadraticTest(
        cells.values,
        sampling=Quadratic(0.0, largest, 0.0 if units is None else -1.0 / max(units, 1)),
        noise=Quadratic(cells.noise_variance),
        low=cells.low,
        high=cells.high,
        noise_law=cells.noise_law,
        method=cells.subject.method,
    )
    inside = np.clip(cells.values, cells.low, cells.high)
    return replace(cells, sampling_variance=np.maximum(test.sampling.at(inside), 0.0), region=ScoreRegion(test))
