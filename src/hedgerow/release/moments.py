"""Sums and means: a vector of moments per cell, released once, from which the standard error comes with the estimate.

Weights (theory §1.5). A mean releases (κ, u, ω(u² − ½)) with u = (x − c)/(R/2). Under replace-one the L2 sensitivity
is 2, that of u alone, as long as κ² + ω²/4 ≤ 1 (cells) or ≤ 3 (one cell); where every record is known to be present,
(u, ωu²) with ω ≤ 1.66. Under add-remove it is √(κ² + 1 + ω²/4). Within these limits the split between count and second
moment is ours; a larger κ pays off where the mean is far from the midpoint, since the count's noise enters times |u|.
A sum releases (v, ωv²), v = x/max(|L|, |U|): about zero no count is needed to undo a shift. Where n is public a sum is
n times the mean's numerator. The file itself as target needs no second moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.inference.estimate import Estimate
from hedgerow.noise.lattice import lattice_noise
from hedgerow.noise.source import NoiseSource
from hedgerow.privacy.facts import Category, Missing
from hedgerow.privacy.layout import MomentsLayout, Widths
from hedgerow.privacy.mechanism import MomentsGaussian, MomentsGeometric, MomentsNoise, Single
from hedgerow.privacy.relation import Relation
from hedgerow.release.design import PublicFacts
from hedgerow.release.draw import noisy_moments
from hedgerow.release.missing import apply_policy
from hedgerow.release.read_moments import mean_estimate, sum_estimate
from hedgerow.release.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.statistic import Mean, Sum

__all__ = ["MomentsDesign"]

Family = Literal["gaussian", "geometric"]
# (κ, ω) by situation; None is not released.
_PUBLIC = (None, 1.6)
_ONE_CELL = (1.5, 1.6)
_CELLS = (0.8, 1.2)
_ADD_REMOVE = (0.75, 0.7)
_SUM = (None, 0.4)
_CENSUS: dict[tuple[float | None, float | None], tuple[float | None, float | None]] = {
    _PUBLIC: (None, None),
    _ONE_CELL: (1.7, None),
    _CELLS: (1.0, None),
    _ADD_REMOVE: (0.75, None),
    _SUM: (None, None),
}


@dataclass(frozen=True, slots=True)
class MomentsDesign:
    """A mean or a sum of each cell with its second moment, in one vector release."""

    statistic: Mean | Sum
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    family: Family
    method: str
    reason: str

    @property
    def query(self) -> Query:
        """Count records by cell and grid value."""
        return Query(ValueOnGrid(self.statistic.column, self.statistic.grid), self.by)

    @property
    def presence_is_public(self) -> bool:
        """Whether every record is known to count in the one cell: replace-one, no groups, nothing dropped."""
        return self.facts.relation is Relation.REPLACE_ONE and not self.by and self.missing is not Missing.DROP

    @property
    def about_zero(self) -> bool:
        """Whether values are added up about zero (a sum with private presence) or about the midpoint."""
        return isinstance(self.statistic, Sum) and not self.presence_is_public

    @property
    def weights(self) -> tuple[float | None, float | None]:
        """(κ, ω)."""
        chosen: tuple[float | None, float | None]
        if self.about_zero:
            chosen = _SUM
        elif self.presence_is_public:
            chosen = _PUBLIC
        elif self.facts.relation is Relation.ADD_REMOVE:
            chosen = _ADD_REMOVE
        else:
            chosen = _CELLS if self.query.cells > 1 else _ONE_CELL
        return _CENSUS[chosen] if self.facts.census else chosen

    @property
    def layout(self) -> MomentsLayout:
        """The integers y that are added up."""
        grid = self.statistic.grid
        start, stride = grid.about_zero()[:2] if self.about_zero else (-grid.steps, 2)
        reach = max(abs(start), abs(start + stride * grid.steps))
        offset = reach * reach // 2 if self.weights[0] is not None else 0
        presence: Literal["public", "private"] = "public" if self.presence_is_public else "private"
        return MomentsLayout(start, stride, grid.steps, offset, presence, self.query.cells)

    def mechanism(self, mu: float) -> Single:
        """Return the mechanism with noise of sd (sensitivity of the weighted vector)/μ, rounded up to the lattice."""
        layout, (kappa, omega) = self.layout, self.weights
        reach = float(layout.reach)
        unit = Widths(None if kappa is None else 1.0 / kappa, reach, None if omega is None else reach * reach / omega)
        measure = layout.mu if self.family == "gaussian" else layout.pure
        scale = measure(self.facts.relation, unit) / mu
        noise = MomentsNoise(
            None if unit.count is None else lattice_noise(scale * unit.count),
            lattice_noise(scale * unit.total),
            None if unit.square is None else lattice_noise(scale * unit.square),
        )
        return MomentsGaussian(layout, noise) if self.family == "gaussian" else MomentsGeometric(layout, noise)

    def table(self, histogram: Histogram, mechanism: Single, source: NoiseSource) -> AdditiveTable:
        """Add up integers, and add an integer to each sum on its own lattice."""
        kept = apply_policy(histogram, self.missing, self.statistic.grid.steps)
        return noisy_moments(kept, mechanism, source, cells=tuple(self.query.cell_labels()))

    def estimates(self, table: AdditiveTable) -> Sequence[Estimate]:
        """Return one estimate a cell."""
        read = mean_estimate if isinstance(self.statistic, Mean) else sum_estimate
        return [read(self, table, row) for row in range(len(table.cells))]
