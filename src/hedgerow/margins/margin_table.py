"""One table of a workload, with its totals; totals of groups of categories, with the errors of the whole workload.

A sum of cells of the table by A takes, along each column, all categories, one of them, or a group of m of n. With h its
indicator let f = |P·h|² and g = (mean of h)²: 0 and 1 for all categories, 1 − 1/n and 1/n² for one, m − m²/n and m²/n²
for a group. The noise variance of the sum is Σ_{B ⊆ A} σ_B² Π_{i∈B} f_i Π_{j∈A∖B} g_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Self

import numpy as np

from hedgerow.margins.residuals import Floats, TableResiduals
from hedgerow.margins.workload import subsets
from hedgerow.mechanisms.residual_margins import ColumnSet
from hedgerow.release.cells.margins import ConsistentTable, check_hierarchies
from hedgerow.release.cells.shape import DimensionLevels, Hierarchy, TableShape
from hedgerow.release.cells.table_cells import FOLLOWS, TableCells
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
    """

    residuals: TableResiduals = field(repr=False)
    places: ColumnSet = ()

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
        return replace(self, table=ConsistentTable(self.cells, margins, tuple(hierarchies), self.table.notes))

    def _summed(self, axes: Sequence[DimensionLevels], levels: Sequence[str | None]) -> TableCells:
        """Return the totals of one level of each axis."""
        cells = self.cells

        def added(numbers: Floats) -> Floats:
            whole = numbers.reshape(self.shape.shape)
            for place, (axis, level) in enumerate(zip(axes, levels, strict=True)):
                whole = axis.added(whole, place, level)
            return whole.reshape(-1)

        kept = [axis.levels[level] for axis, level in zip(axes, levels, strict=True)]
        return replace(
            cells,
            shape=TableShape(tuple(axis for axis in kept if axis is not None)),
            values=added(cells.values),
            sampling_variance=None,
            privacy_variance=self._variance(axes, levels),
            shown=None if cells.shown is None else added(cells.shown),
            region=FOLLOWS,
        )

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
