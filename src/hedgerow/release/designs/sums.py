"""Sums and means: a vector of moments per cell, released once, from which the standard error comes with the estimate.

Weights (moments.md §1). A mean releases (κ, u, ω(u² − ½)) with u = (x − c)/(R/2). Under replace-one the L2 sensitivity
is 2, that of u alone, as long as κ² + ω²/4 ≤ 1 (cells) or ≤ 3 (one cell); where every record is known to be present,
(u, ωu²) with ω ≤ 1.66. Under add-remove it is √(κ² + 1 + ω²/4). Within these limits the split between count and second
moment is ours; a larger κ pays off where the mean is far from the midpoint, since the count's noise enters times |u|.
A sum releases (v, ωv²), v = x/max(|L|, |U|): about zero no count is needed to undo a shift. Where n is public a sum is
n times the mean's numerator. The file itself as target needs no second moment.

Totals of cells whose bounds were declared cell by cell: how they are planned, drawn and read.

The noise of a cell is either scaled to its own reach H_i = max(|L_i|, |U_i|) (*per cell*) or the same in all (*whole
table*); either way it is the least noise at which the dominating pair
(`hedgerow.mechanisms.bounded_totals`) costs what is asked for.

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
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.errors import UncertifiedError
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.means_and_counts import (
    NoisyMoments,
    mean_errors,
    mean_score_test,
    mean_skewness,
    sum_skewness,
    sum_variance,
)
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import Quadratic, QuadraticTest
from hedgerow.mechanisms.bounded_totals import CellTotals, cell_totals
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, AveragedLaplace
from hedgerow.mechanisms.noisy_moments import (
    ADD_REMOVE,
    PUBLIC_PRESENCE,
    AveragedLaplaceMoments,
    MomentsGaussian,
    MomentsGeometric,
    MomentsLayout,
    NoisyMomentVector,
    Weights,
    noise_at,
)
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.designs.design import (
    MIDPOINT,
    NOT_RELIABLE,
    Design,
    NoiseLaw,
    PublicFacts,
    Recorded,
    apply_policy,
    covers,
)
from hedgerow.release.designs.guess import GuessedReading, SupposedCell, average_reading
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic

Floats = NDArray[np.float64]


def read_means(design: MomentsDesign, table: AdditiveTable) -> tuple[Cells, QuadraticTest]:
    """Return the mean of each cell."""
    grid = design.statistic.grid
    moments = noisy_moments_of(design, table)
    errors = mean_errors(moments)
    span, law = (grid.centre, grid.half_range), table.noise_law
    test = mean_score_test(moments, errors, span, noise_law=law, method=design.method, margin=grid.rounding)
    value = grid.centre + grid.half_range * errors.mean
    parts = (errors.sampling_error, errors.privacy_error)
    sampling, privacy = (np.where(moments.reliable, grid.half_range * part, math.nan) for part in parts)
    possible = 2.0 * grid.half_range
    return _cells(design, table, value, (sampling, privacy), test, moments.reliable, possible), test


def read_sums(design: MomentsDesign, table: AdditiveTable) -> tuple[Cells, QuadraticTest]:
    """Return the sum of each cell."""
    grid, n = design.statistic.grid, design.facts.n
    moments = noisy_moments_of(design, table)
    records: Floats | float | None = n
    freedom: Floats | float = math.inf
    if design.about_zero:
        unit = design.unit_value * design.layout.reach
        value = unit * moments.total
        variance, upper = sum_variance(moments, n)
        skew = sum_skewness(moments, variance, n, *(end / unit for end in grid.as_bounds()))
        skew = (unit * skew[0], unit * skew[1])
    else:
        # The number of records of each cell is public: it divides, and multiplies the result again.
        unit, records = grid.half_range, moments.count
        value = grid.centre * records + unit * moments.total
        errors = mean_errors(moments)
        variance = np.where(moments.reliable, records * errors.variance, 0.0)
        upper = np.where(moments.reliable, records * errors.variance_upper, 0.0)
        skew = mean_skewness(errors, upper > 0.0, unit)
        if moments.square is not None:
            freedom = np.where(moments.reliable, records - 1.0, math.inf)
    noise_sd = unit * moments.total_sd
    low, high = grid.as_bounds()
    test = QuadraticTest(
        value,
        sampling=Quadratic(upper * unit**2),
        noise=Quadratic(noise_sd**2),
        low=_possible_sum(min(low, 0.0 if design.about_zero else low), records),
        high=_possible_sum(max(high, 0.0 if design.about_zero else high), records),
        freedom=freedom,
        noise_law=table.noise_law,
        method=design.method,
        skew=skew[0],
        skew_unsure=skew[1],
    )
    inside = np.minimum(np.maximum(value, test.low), test.high)
    spread = (unit * np.sqrt(variance), np.full_like(value, noise_sd))
    return _cells(design, table, inside, spread, test), test


def _possible_sum(each: float, records: Floats | float | None) -> Floats | float:
    if each == 0.0:
        return 0.0
    return each * records if records is not None else math.copysign(math.inf, each)


def noisy_moments_of(design: MomentsDesign, table: AdditiveTable) -> NoisyMoments:
    """Return the cells' moments in units of the reach; a public n stands in for a count that was not released."""
    reach = float(design.layout.reach)
    counted, squared = "count" in table.features, "square" in table.features
    total = table.column("total") / reach
    return NoisyMoments(
        count=table.column("count") if counted else np.full_like(total, float(design.facts.n or 0)),
        total=total,
        square=table.column("square") / reach**2 if squared else None,
        count_sd=table.sd("count") if counted else 0.0,
        total_sd=table.sd("total") / reach,
        square_sd=table.sd("square") / reach**2 if squared else 0.0,
        offset=design.layout.offset / reach**2 if counted else 0.0,
    )


def _cells(
    design: MomentsDesign,
    table: AdditiveTable,
    value: Floats,
    errors: tuple[Floats, Floats],
    test: QuadraticTest,
    reliable: NDArray[np.bool_] | None = None,
    possible: float = math.inf,
) -> Cells:
    subject = Subject(
        design.statistic.name,
        design.statistic.column,
        design.method,
        covers(design.statistic, design.facts),
        NOT_RELIABLE,
        MIDPOINT if design.missing is Missing.MIDPOINT else None,
    )
    region = ScoreRegion(test)
    return Cells.plain(subject, table.cells, value, errors, region, reliable=reliable, possible=possible)


# (κ, ω) by situation; None is not released.
_ONE_CELL = (1.5, 1.6)
_CELLS = (0.8, 1.2)
_SUM = (None, 0.4)
_CENSUS: dict[Weights, Weights] = {
    PUBLIC_PRESENCE: (None, None),
    _ONE_CELL: (1.7, None),
    _CELLS: (1.0, None),
    ADD_REMOVE: (0.75, None),
    _SUM: (None, None),
}


@dataclass(frozen=True, slots=True)
class MomentsDesign(Design[NoisyMomentVector, AdditiveTable]):
    """A mean or a sum of each cell with its second moment, in one vector release.

    With `membership` the cell of every record is public, as the caller declared: a record can then change its value
    within its cell and nothing else, and the number of records of each cell goes out as it is.
    """

    drawn_by = NoisyMomentVector
    many_cells = True
    statistic: Statistic
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    law: NoiseLaw
    method: str
    reason: str
    membership: bool = False
    draws: int = 1

    def __post_init__(self) -> None:
        if self.membership:
            check_membership(self.statistic, self.facts, self.missing)

    @classmethod
    def recorded(cls, about: Recorded, part: NoisyMomentVector) -> Sequence[Self]:
        """Return the design of the one sum or mean that a vector of moments by cell tells."""
        if about.method not in part.methods:
            return ()
        (statistic,) = about.statistics
        if about.missing is Missing.MIDPOINT:
            statistic = statistic.with_midpoint()
        law: NoiseLaw = {GAUSSIAN.name: "gaussian", LAPLACE.name: "geometric"}.get(part.table_law, "averaged-laplace")  # type: ignore[assignment]  # these are the three
        about_it = statistic, about.by, about.facts, about.missing, law, about.method, "", about.membership
        made = cls(*about_it)
        return (made,) if made.layout == part.layout else ()

    @property
    def query(self) -> Query:
        """Count records by cell and grid value."""
        return Query(self.statistic.counted, self.by)

    @property
    def presence_is_public(self) -> bool:
        """Whether it is public which records count in which cell.

        So it is under replace-one if there is one cell, or cells were declared public, and missing values are not
        dropped.
        """
        known = not self.by or self.membership
        return self.facts.relation is Relation.REPLACE_ONE and known and self.missing is not Missing.DROP

    @property
    def about_zero(self) -> bool:
        """Whether values are added up about zero (a sum with private presence) or about the midpoint."""
        return self.statistic.is_total and not self.presence_is_public

    @property
    def weights(self) -> Weights:
        """(κ, ω)."""
        chosen: Weights
        if self.about_zero:
            chosen = _SUM
        elif self.presence_is_public:
            chosen = PUBLIC_PRESENCE
        elif self.facts.relation is Relation.ADD_REMOVE:
            chosen = ADD_REMOVE
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

    def mechanism(self, mu: float) -> NoisyMomentVector:
        """Return the mechanism with noise of sd (sensitivity of the weighted vector)/μ, rounded up to the lattice."""
        relation, layout = self.facts.relation, self.layout
        if self.law == "averaged-laplace":
            averaged = noise_at(mu, layout, self.weights, relation, AveragedLaplace(self.draws))
            return AveragedLaplaceMoments(layout, averaged, self.draws)
        if self.law == "gaussian":
            return MomentsGaussian(layout, noise_at(mu, layout, self.weights, relation, GAUSSIAN))
        return MomentsGeometric(layout, noise_at(mu, layout, self.weights, relation, LAPLACE))

    def noise_sd(self, mechanism: NoisyMomentVector) -> float:
        """Return the noise on the total, in the column's unit."""
        low, high = self.statistic.grid.as_bounds()
        unit = (high - low) / (self.layout.stride * self.layout.steps)
        return float(mechanism.spread[list(mechanism.noise.coordinates()).index("total")]) * unit

    def expected(self, mechanism: NoisyMomentVector, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return the expected errors of a mean or a sum, for each (mean, sd) of the values that may be the worst."""
        layout, records, grid = self.layout, supposed.records, self.statistic.grid
        low, high = grid.as_bounds()
        # The integers y that are added up run from `start` to `start + stride·steps` as a value runs from L to U.
        slope = layout.stride * layout.steps / (high - low)
        guess, law, readings = supposed.of(self.statistic.column), mechanism.noise_law.name, list[GuessedReading]()
        for mean, sd in guess.moments(str(self.statistic.column), grid):
            first = layout.start + slope * (mean - low)
            square = (slope * sd) ** 2 + first**2 - layout.offset
            every = {"count": records, "total": records * first, "square": records * square}
            totals = {name: every[name] for name in mechanism.noise.coordinates()}
            reading = average_reading(self.estimates, totals, mechanism.spread, law, level=supposed.level)
            value = mean * records if self.statistic.is_total else mean
            readings.append(GuessedReading(reading, guess.in_words(mean, sd), value))
        return readings

    def added_up(self, mechanism: NoisyMomentVector) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        noises = tuple(mechanism.noise.coordinates())
        return ("count", *noises) if self.membership else noises

    def table(self, histogram: Histogram, mechanism: NoisyMomentVector, source: NoiseSource) -> AdditiveTable:
        """Add up integers, and add an integer to each sum on its own lattice."""
        counted = apply_policy(histogram, self.missing, self.statistic.grid.steps)
        noisy = mechanism.noisy(counted, source, cells=self.query.labels)
        return _with_public_counts(noisy, counted) if self.membership else noisy

    def estimates(self, table: AdditiveTable) -> Cells:
        """Return one estimate per cell."""
        return (read_sums if self.statistic.is_total else read_means)(self, table)[0]

    def table_cells(self, table: AdditiveTable) -> TableCells:
        """Return the numbers of a table of sums, as they were drawn."""
        (cells, test), facts, shape = read_sums(self, table), self.facts, TableShape.of(self.by)
        if not self.about_zero:
            # What is added to a sampling variance that intervals take is half a standard deviation of its noise.
            noise = np.square(2.0 * (test.sampling.constant - cells.sampling_error**2))
            return TableCells.of_scores(shape, cells, test, n=None, census=facts.census, squares=(None, noise))
        moments, unit = noisy_moments_of(self, table), self.unit_value * self.layout.reach
        squares = moments.squares(unit)
        return TableCells.of_scores(shape, cells, test, n=facts.n, census=facts.census, squares=squares)

    @property
    def unit_value(self) -> float:
        """What one of the integers of a sum is worth in the column's unit."""
        grid = self.statistic.grid
        return float(grid.about_zero()[2]) if self.about_zero else grid.half_step

    @property
    def sensitivity(self) -> str:
        """The option of a table."""
        return "public-membership" if self.membership else "whole-table"

    def table_noise(self, mechanism: NoisyMomentVector) -> tuple[float, float]:
        """Return the noise on a sum and on its second moment in each cell of a table; standard deviations."""
        spread = np.asarray(mechanism.table_spread(self.added_up(mechanism)), dtype=np.float64)
        unit = self.unit_value
        total, square = [*spread[self.membership :], 0.0][:2]
        return float(unit * total), float(unit**2 * square)


def check_membership(statistic: Statistic, facts: PublicFacts, missing: Missing) -> None:
    """Refuse public membership where it would protect nothing, or where a record could still come or go.

    Raises
    ------
    UncertifiedError
        HG410: add-remove, units of several rows, missing values dropped, or nothing but records is counted.
    """
    finding = ""
    if statistic.family != "moments":
        finding, mend = f"A {statistic.name} by cells would then be public itself.", "Publish the counts as they are."
    elif facts.relation is not Relation.REPLACE_ONE:
        finding, mend = "Under add-remove not even a record's presence is public.", 'Take relation="replace-one".'
    elif facts.limit is not None:
        finding, mend = (
            "It is not certified for units of several rows.",
            'Take unit="row", or sensitivity="whole-table".',
        )
    elif missing is Missing.DROP:
        finding = "Missing values are dropped, so whether a record has a value would stay private."
        mend = 'Take missing="error-if-declared-complete", or "midpoint".'
    if finding:
        raise UncertifiedError(
            "HG410",
            rule="With public membership, only the value of a record within its cell is private.",
            finding=finding,
            remedy=mend,
        )


def _with_public_counts(table: AdditiveTable, histogram: Histogram) -> AdditiveTable:
    """Put the exact number of records of each cell in front: it is the same for all neighbours."""
    counts = histogram.cell_sums().astype(np.float64)[:, None]
    return replace(
        table,
        features=("count", *table.features),
        values=np.hstack([counts, table.values]),
        noise_sd=np.concatenate([[0.0], table.noise_sd]),
    )


Scaled = Literal["per-cell", "whole-table"]
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
        if (part.start, part.stride) != (start, stride):
            return ()  # the totals are of another grid than that of the request
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
        """Return the mechanism whose dominating pair costs μ (geometric noise: ε), widths rounded up to lattices."""
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
        counted = apply_policy(histogram, self.missing, self.statistic.grid.steps)
        return mechanism.noisy(counted, source, cells=self.query.labels)

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
        for place, bounds in enumerate(self.bounds):
            kinds.setdefault(bounds, []).append(place)
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
        """Return one estimate per cell, by the formulas of every sum (`hedgerow.inference.means_and_counts`)."""
        return self._read(table)[0]

    def _read(self, table: AdditiveTable) -> tuple[Cells, QuadraticTest]:
        moments, unit, n = self.moments(table), self.unit_value, self.facts.n
        variance, upper = sum_variance(moments, n)
        noise_sd = unit * np.asarray(moments.total_sd)
        low, high = unit * np.minimum(self.limits[:, 0], 0), unit * np.maximum(self.limits[:, 1], 0)
        skew, unsure = sum_skewness(moments, variance, n, *np.transpose(self.limits).astype(np.float64))
        test = QuadraticTest(
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
