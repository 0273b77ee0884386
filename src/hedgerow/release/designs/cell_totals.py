"""Totals of cells whose bounds were declared cell by cell: how they are planned, drawn and read.

The noise of a cell is either scaled to its own reach H_i = max(|L_i|, |U_i|) (*per cell*) or the same in all (*whole
table*); either way it is the least that makes the worst pair (`hedgerow.mechanisms.cell_totals`) cost what is asked
for.

Where the target is the population Σ y² goes out beside the total, at weight ω: widths are proportional to H_i and
H_i²/ω. The pair costs √(1 + ω²) times the Gaussian noise of the total alone, or 1 + ω times the Laplace noise, and a
small ω leaves more noise on the sampling variance v, of which intervals take ½ sd on top. With t the variance of the
total's noise at ω = 0 an interval is as wide as √(v + (1 + ω²)t + ½√((1 + ω²)t)/ω) for Gaussian noise, and with 1 + ω
in place of √(1 + ω²) for Laplace noise. At v = 0, where it matters most, ω = .3 for Laplace noise is at most 7 % and
ω = .4 for Gaussian noise (δ = 10⁻⁶) at most 3 % wider than the best ω, for ε from .25 to 2 under either relation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.facts.columns import Category, Missing
from hedgerow.inference.cells import Cells, Subject
from hedgerow.inference.moments import NoisyMoments, sum_skewness, sum_variance
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score import Quadratic, ScoreArrays
from hedgerow.mechanisms.cell_totals import CellTotals, cell_totals
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.cells.cells import TableCells
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.designs.design import NOT_RELIABLE, Design, PublicFacts, Recorded, apply_policy, covers
from hedgerow.resampling.histogram import Histogram
from hedgerow.statistics.statistic import Statistic

Scaled = Literal["per-cell", "whole-table"]
Floats = NDArray[np.float64]
_MOST_TOLD = 12
_OMEGA = {"gaussian": 0.4, "geometric": 0.3}


@dataclass(frozen=True, slots=True)
class CellTotalsDesign(Design[CellTotals, AdditiveTable]):
    """A sum of each cell, clamped to the cell's own bounds, with its second moment unless the file is the target.

    Attributes
    ----------
    statistic : Statistic
        A sum, whose grid holds the bounds of all cells.
    bounds : tuple of (int, int)
        Grid indices of each cell's bounds.
    scaled : "per-cell" or "whole-table"
        Noise by the cell's own reach, or one noise for all.
    """

    drawn_by = CellTotals
    not_forecast = "not forecast: bounds by cell"
    statistic: Statistic
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    law: Literal["gaussian", "geometric"]
    scaled: Scaled | None
    bounds: tuple[tuple[int, int], ...]
    method: str
    reason: str

    @classmethod
    def recorded(cls, about: Recorded, part: CellTotals) -> Sequence[Self]:
        """Return the design of the one sum whose bounds differ from cell to cell; the mechanism names the bounds."""
        (statistic,) = about.statistics
        start, stride, _ = statistic.grid.about_zero()
        kinds = [((kind.low - start) // stride, (kind.high - start) // stride) for kind in part.kinds]
        ends = [kinds[kind] for kind in part.kind_of]
        law: Literal["gaussian", "geometric"] = part.law
        method = "moments" if law == "gaussian" else "geometric"
        # All cells may have the same bounds; then both options are the same.
        reaches = {max(abs(kind.low), abs(kind.high)) for kind in part.kinds}
        widths = {kind.total.in_units for kind in part.kinds}
        scaled: Scaled | None = None if len(reaches) == 1 else "whole-table" if len(widths) == 1 else "per-cell"
        return (cls(statistic, about.by, about.facts, about.missing, law, scaled, tuple(ends), method, ""),)

    @property
    def query(self) -> Query:
        """Count records by cell and value on the common grid; clamping to a cell's bounds comes after."""
        return Query(self.statistic.counted, self.by)

    @property
    def unit_value(self) -> float:
        """What one of the integers is worth in the column's unit."""
        return float(self.statistic.grid.about_zero()[2])

    @property
    def limits(self) -> NDArray[np.int64]:
        """The bounds of each cell in the integers y, (cells, 2)."""
        start, stride, _ = self.statistic.grid.about_zero()
        return np.asarray(start + stride * np.array(self.bounds, dtype=np.int64))

    def mechanism(self, mu: float) -> CellTotals:
        """Return the mechanism whose worst pair costs μ (ε of geometric noise), widths rounded up to their lattices."""
        start, stride, _ = self.statistic.grid.about_zero()
        reach = np.abs(self.limits).max(axis=1).astype(np.float64)
        if self.scaled == "whole-table":
            reach = np.full_like(reach, reach.max())
        square = None if self.facts.census else reach * reach / _OMEGA[self.law]
        return cell_totals(self.law, (start, stride), self.limits, (reach, square), mu, self.facts.relation)

    def added_up(self, mechanism: CellTotals) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return ("total",) if self.facts.census else ("total", "square")

    def table(self, histogram: Histogram, mechanism: CellTotals, source: NoiseSource) -> AdditiveTable:
        """Add up integers, and add an integer to each sum on its own lattice."""
        kept = apply_policy(histogram, self.missing, self.statistic.grid.steps)
        return mechanism.noisy(kept, source, cells=self.query.labels)

    def moments(self, table: AdditiveTable) -> NoisyMoments:
        """Return the cells' moments in units of y, with errors of their own."""
        total, squared = table.column("total"), "square" in table.features
        return NoisyMoments(
            count=np.full_like(total, float(self.facts.n or 0)),
            total=total,
            square=table.column("square") if squared else None,
            count_sd=0.0,
            total_sd=table.sds("total"),
            square_sd=table.sds("square") if squared else 0.0,
            offset=0.0,
        )

    def table_cells(self, table: AdditiveTable) -> TableCells:
        """Return the numbers of a table, as they were drawn."""
        (cells, test), facts, shape = self._read(table), self.facts, TableShape.of(self.by)
        squares = self.moments(table).squares(self.unit_value)
        return TableCells.of_scores(shape, cells, test, n=facts.n, census=facts.census, squares=squares)

    def table_noise(self, mechanism: CellTotals) -> tuple[float, float]:
        """Return the noise on totals and on their second moments, as root mean squares over the cells."""
        total, square = [*np.sqrt(np.square(mechanism.spread).mean(axis=0)), 0.0][:2]
        return float(self.unit_value * total), float(self.unit_value**2 * square)

    @property
    def cell_bounds(self) -> tuple[tuple[int, int], ...]:
        """The bounds."""
        return self.bounds

    @property
    def sensitivity(self) -> str | None:
        """The option of a table; None on record where all cells have the same bounds."""
        return self.scaled

    @property
    def table_remark(self) -> str:
        """Which bounds the cells have, in a sentence: public, so it goes out with the table."""
        grid = self.statistic.grid
        kinds: dict[tuple[int, int], list[int]] = {}
        for place, one in enumerate(self.bounds):
            kinds.setdefault(one, []).append(place)
        if len(kinds) > _MOST_TOLD:
            return "Values are clamped to bounds declared cell by cell; the certificate holds them."
        shape = TableShape.of(self.by)
        listed = []
        for (low, high), places in kinds.items():
            ends = "[{:g}, {:g}]".format(*(float(grid.lower + end * grid.step) for end in (low, high)))
            cells = ", ".join("/".join(str(label) for label in shape.cell(place).values()) for place in places)
            listed.append(f"{ends} in {cells if len(places) <= _MOST_TOLD else f'{len(places):,} cells'}")
        return f"Values are clamped to bounds declared cell by cell: {'; '.join(listed)}."

    def estimates(self, table: AdditiveTable) -> Cells:
        """Return one estimate per cell, by the formulas of every sum (`hedgerow.inference.moments`)."""
        return self._read(table)[0]

    def _read(self, table: AdditiveTable) -> tuple[Cells, ScoreArrays]:
        moments, unit, n = self.moments(table), self.unit_value, self.facts.n
        variance, upper = sum_variance(moments, n)
        noise_sd = unit * np.asarray(moments.total_sd)
        low, high = unit * np.minimum(self.limits[:, 0], 0), unit * np.maximum(self.limits[:, 1], 0)
        skew, unsure = sum_skewness(moments, variance, n, *np.transpose(self.limits).astype(np.float64))
        test = ScoreArrays(
            unit * moments.total,
            sampling=Quadratic(upper * unit**2),
            noise=Quadratic(noise_sd**2),
            low=_possible(low, n),
            high=_possible(high, n),
            noise_law=table.noise_law,
            method=self.method,
            skew=unit * skew,
            skew_unsure=unit * unsure,
        )
        subject = Subject(
            self.statistic.name,
            self.statistic.column,
            self.method,
            covers(self.statistic, self.facts, by_cell=True),
            NOT_RELIABLE,
        )
        value = np.minimum(np.maximum(unit * moments.total, test.low), test.high)
        return Cells.plain(subject, table.cells, value, (unit * np.sqrt(variance), noise_sd), ScoreRegion(test)), test


def _possible(each: Floats, n: int | None) -> Floats:
    """Return what n records of one value each add up to; without n anything, where one is not 0."""
    return np.asarray(np.where(each == 0.0, 0.0, each * n if n is not None else np.copysign(math.inf, each)))
