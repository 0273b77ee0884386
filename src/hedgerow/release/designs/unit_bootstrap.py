"""The private bootstrap of units that have several rows: weights, errors and the guarantee are per unit.

A unit enters a cell with its number of rows N and its total S = Σ q, q = 2t − m. A replicate adds up r·(S, N) over the
units, r ~ Poisson(1) per unit and cell, so the spread of the replicates is that of clustered data: rows of one person
move together. Read as in `resampled`:

=================  ===========================================
mean, proportion   c + h·S/N over all rows, by its tangent
sum                c·N + h·S
count              N, the number of rows
=================  ===========================================

The count's noise is 1/κ times the total's, each in proportion to its reach. With u = (x̄ − c)/(R/2) the noise variance
of a mean is proportional to (1 + κ²)(1 + u²/κ²), least at κ² = |u|; with κ = 0.7 it is at most 14 % above that with
κ = 1 and up to a quarter below. For a sum the share of the count is public, |c|/(R/2) = κ²: then the noise is that of
values added up about zero, max(|L|, |U|).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation, UnitLimit
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Subject
from hedgerow.inference.region import JoinedRegions
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledUnits
from hedgerow.noise.lattice import AdditiveTable, NoiseSource, lattice_noise
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.cells.table_cells import Adding, TableCells
from hedgerow.release.designs.design import PublicFacts, Recorded, check_midpoint, complete, rows_kept
from hedgerow.release.designs.replicates_read import ReadCell, ResampledCount, ResampledMean
from hedgerow.release.designs.row_bootstrap import ReplicatedDesign, replicates_for
from hedgerow.release.request import Request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic

RATE = 1.0
_MEAN_WEIGHT = 0.7
_SUM_WEIGHTS = (0.3, 3.0)
# A guess, not read: the root mean square of a unit's total about the midpoint, over L·(U − L). A fifth for a row, as
# everywhere, and three fifths of the limit for the rows of a unit.
_SPREAD = 0.12


@dataclass(frozen=True, slots=True)
class UnitBootstrapDesign(ReplicatedDesign[ResampledUnits]):
    """One statistic by k noisy Poisson bootstrap replicates of its cells' unit totals.

    Attributes
    ----------
    statistic : Statistic
        A mean, a sum, a proportion or a count.
    by : tuple of Category
    facts : PublicFacts
        Under replace-one ``n`` is the number of UNITS.
    missing : Missing
    unit : UnitLimit
    n_resamples : int
    interval : str
        As in `hedgerow.inference.bootstrap.replicate_intervals.INTERVALS`.
    reason : str
    """

    drawn_by = ResampledUnits
    not_forecast = "not forecast: units of several rows"
    statistic: Statistic
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    unit: UnitLimit
    n_resamples: int = field()
    interval: str
    reason: str
    method: str = "bootstrap"

    @classmethod
    def recorded(cls, about: Recorded, part: ResampledUnits) -> Sequence[Self]:
        """Return the design of the one statistic that replicates of units tell."""
        unit = about.facts.limit
        if unit is None or about.n_resamples not in (None, part.n_resamples):
            return ()
        (statistic,), interval = about.statistics, about.interval or "calibrated"
        about_it = statistic, about.by, about.facts, about.missing, unit, part.n_resamples, interval, ""
        made = cls(*about_it)
        return (made,) if part.differs_in_noise_alone(made.mechanism(1.0)) else ()

    @property
    def query(self) -> Query:
        """Count units by cell, rows and total."""
        return Query(self._row.value, self.by, unit=self.unit, missing=self._missing)

    @property
    def count_weight(self) -> float:
        """κ, by which the count's noise is narrower, in proportion to its reach."""
        if not self.statistic.is_total:
            return _MEAN_WEIGHT
        grid = self.statistic.grid
        return min(max(math.sqrt(abs(grid.centre) / grid.half_range), _SUM_WEIGHTS[0]), _SUM_WEIGHTS[1])

    def mechanism(self, mu: float) -> ResampledUnits:
        """Return the mechanism whose k replicates together have the noise of one Gaussian release at μ."""
        counted = self.statistic.is_count
        kappa = 1.0 if counted else self.count_weight
        # Replaced, a unit's rows may turn about: twice its norm (`hedgerow.accounting.rows_of_units`).
        turned = 1.0 if self.facts.relation is Relation.ADD_REMOVE else 2.0
        width = math.sqrt(self.n_resamples) * turned * (1.0 if counted else math.hypot(1.0, kappa)) / mu
        rows = self.unit.max_rows
        count = ResampledCoordinate(rows, lattice_noise(width * rows / kappa))
        query = self.query
        if counted:
            return ResampledUnits(self.n_resamples, RATE, "count", (count,), rows, query.cells)
        reach = rows * (query.row_size - 1)
        total = ResampledCoordinate(reach, lattice_noise(width * reach))
        return ResampledUnits(self.n_resamples, RATE, "value-and-count", (total, count), rows, query.cells)

    def added_up(self, mechanism: ResampledUnits) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return self.names

    def table(self, histogram: Histogram, mechanism: ResampledUnits, source: NoiseSource) -> AdditiveTable:
        """Resample units, add up integers, and add an integer to each sum of each replicate."""
        complete(histogram, self._missing)
        cells = tuple(self.query.labels)
        return mechanism.noisy(histogram, self.features(histogram), source, cells=cells, names=self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """What is added up."""
        return ("count",) if self.statistic.is_count else ("total", "count")

    def features(self, histogram: Histogram) -> NDArray[np.int64]:
        """Return (S, N), or N alone, of each histogram row; 1 ≤ N ≤ L and |S| ≤ N·m whatever the histogram holds."""
        rows, total = self.query.unit_totals(histogram.index)
        if self.statistic.is_count:
            return rows[:, None]
        return np.stack([2 * total - rows * (self.query.row_size - 1), rows], axis=1)

    def estimates(self, table: AdditiveTable, added: NDArray[np.float64] | None = None) -> Sequence[Estimate]:
        """Return one estimate per cell; of totals, `added` says how many cells each adds up.

        A unit's rows lie in as many as m = min(L, added) cells, and its weights there are drawn apart. The square of
        its total is at most m times the sum of the squares that the replicates show, so their spread is read as if the
        rate were m: the sampling variance is not underestimated, whatever cells a unit's rows share.
        """
        cells = np.ones(len(table.cells)) if added is None else added
        rates = np.minimum(cells, self.unit.max_rows) * RATE
        return [self._estimate(table, row, float(rate)) for row, rate in enumerate(rates)]

    def table_cells(self, table: AdditiveTable) -> ReplicatedCells:
        """Return the numbers of a table with their replicates."""
        return ReplicatedCells.of(TableShape.of(self.by), self, table, np.ones(len(table.values)))

    def table_noise(self, mechanism: ResampledUnits) -> tuple[float, float]:
        """Return that replicates compete with nothing: they are taken where they are asked for."""
        return 0.0, 0.0

    @property
    def _row(self) -> ResampledMean | ResampledCount:
        """The statistic of single rows, with the same coordinates."""
        statistic = self.statistic
        return ResampledCount(statistic) if statistic.is_count else ResampledMean(statistic, "private")

    @property
    def _missing(self) -> Missing:
        return Missing.DROP if self.statistic.is_count else self.missing

    def _read(self, values: NDArray[np.float64], noise_sd: NDArray[np.float64]) -> ReadCell:
        statistic, n = self.statistic, self.facts.n
        if n is None or not statistic.is_total:
            return self._row.read(values, noise_sd, self.facts)
        # n counts units, and each may have L rows; a unit adds its total, or nothing, so (Σ x)²/n is off the spread.
        read = self._row.read(values, noise_sd, replace(self.facts, n=None))
        ends = (0.0, 1.0) if statistic.is_count else statistic.grid.as_bounds()
        low, high = (n * self.unit.max_rows * end for end in (min(ends[0], 0.0), max(ends[1], 0.0)))
        replicates = replace(read.replicates, centre=0.0, n=n) if n else read.replicates
        return replace(read, value=min(max(read.value, low), high), replicates=replicates, low=low, high=high)

    def _estimate(self, table: AdditiveTable, row: int, rate: float) -> Estimate:
        noise_sd = np.broadcast_to(table.noise_sd, table.values.shape[:2])[row]
        read = self._read(np.asarray(table.values[row]), noise_sd)
        counted_apart = replace(read, replicates=replace(read.replicates, rate=rate))
        return self.estimate_of(counted_apart, table.cells[row], notes=[rows_kept(self.unit)])


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedCells(TableCells):
    """Cells of a table with replicates of each, as the release reads them.

    Replicates of a total are the sums of its cells', read by the same formulas: nothing is assumed of the cells but
    that a unit has rows in several of them (`UnitBootstrapDesign.estimates`).

    Attributes
    ----------
    design : UnitBootstrapDesign
    drawn : AdditiveTable
        The replicates.
    added : float array, (cells,)
        How many cells of the released table each adds up.
    estimates : sequence of Estimate
    """

    design: UnitBootstrapDesign = field(kw_only=True)
    drawn: AdditiveTable = field(kw_only=True)
    added: NDArray[np.float64] = field(kw_only=True)
    estimates: Sequence[Estimate] = field(kw_only=True)

    @classmethod
    def of(
        cls, shape: TableShape, design: UnitBootstrapDesign, drawn: AdditiveTable, added: NDArray[np.float64]
    ) -> ReplicatedCells:
        """Read replicates of cells, or of totals that add up so many cells."""
        estimates = design.estimates(drawn, added)
        numbers = [
            (estimate.estimate, estimate.sampling_error, estimate.privacy_error, *estimate._region.possible)
            for estimate in estimates
        ]
        values, sampling, privacy, low, high = np.array(numbers, dtype=np.float64).T
        first = estimates[0]
        return cls(
            shape,
            values,
            sampling**2,
            privacy**2,
            counted=design.statistic.is_count,
            census=design.facts.census,
            low=low,
            high=high,
            subject=Subject(first.statistic, first.column, first.method, first.covers),
            region=JoinedRegions([estimate._region for estimate in estimates]),
            design=design,
            drawn=drawn,
            added=added,
            estimates=estimates,
        )

    def over(self, add: Adding, shape: TableShape) -> ReplicatedCells:
        """Return totals, with the sums of the cells' replicates."""
        values = np.apply_along_axis(add, 0, self.drawn.values)
        variances = np.broadcast_to(self.drawn.noise_sd**2, self.drawn.values.shape[:2])
        noise_sd = np.sqrt(np.apply_along_axis(add, 0, variances))
        drawn = AdditiveTable(({},) * len(values), self.drawn.features, values, noise_sd, self.drawn.noise_law)
        # Numbers were cut cell by cell, and totals are to add up.
        return replace(ReplicatedCells.of(shape, self.design, drawn, add(self.added)), values=add(self.values))

    @property
    def n_resamples(self) -> int | None:
        """Return how many replicates there are."""
        return self.design.n_resamples

    def replicates(self, index: int) -> tuple[float, ...] | None:
        """Return the noisy replicates behind one number."""
        return self.estimates[index].replicates

    def _kinds_of_notes(self) -> NDArray[np.int64]:
        return np.arange(len(self))

    def note(self, index: int) -> str | None:
        """Return what a reader must know about one number."""
        return self.estimates[index].note

    def _put_errors(self) -> None:
        TableCells._put_errors(self)
        for name in ("bootstrap_error", "reliable"):
            object.__setattr__(self, name, np.array([getattr(estimate, name) for estimate in self.estimates]))


def unit_design(
    statistic: Statistic, request: Request, facts: PublicFacts, *, share: float, missing: Missing
) -> UnitBootstrapDesign:
    """Return how a statistic of units is released by replicates, or refuse it.

    Raises
    ------
    ParameterError
        HG108 another method; HG115 the file as target; HG114 a proportion at the midpoint; HG117 δ = 0.
    UncertifiedError
        HG402 a statistic of one's own, of products of values, or of the distribution of a column.

    Examples
    --------
    >>> from hedgerow.facts.relation import Target
    >>> from hedgerow.release.request import parse_request
    >>> from hedgerow.statistics.mean import mean
    >>> age = mean("age", bounds=(0, 100), step=1)
    >>> facts = PublicFacts(Relation.ADD_REMOVE, UnitLimit("person_id", 4), Target.POPULATION, None)
    >>> design = unit_design(age, parse_request(age, epsilon=1.0), facts, share=1.0, missing=Missing.DROP)
    >>> design.n_resamples, design.mechanism(0.2).coordinates[0].reach
    (50, 400)
    """
    if statistic.family == "distribution":
        raise UncertifiedError(
            "HG402",
            rule="Quantiles, shares and other numbers of a distribution need units of one row.",
            finding=f"A {statistic.name} was asked for.",
            remedy='Use unit="row", or prepare the data with one row for each unit.',
            shell="Leave out --unit, or bring the data to one row per unit.",
        )
    if statistic.family == "function":
        raise UncertifiedError(
            "HG402",
            rule="For units of several rows, only replicates of means, sums, proportions and counts have a certified "
            "price.",
            finding=f"A {statistic.name} was asked for.",
            remedy='Leave the options of the bootstrap out, use unit="row", or prepare the data with one row for each '
            "unit.",
        )
    if facts.census:
        raise ParameterError(
            "HG115",
            rule="If rows of a unit beyond the limit are dropped, the remaining file is not a complete census.",
            finding='target="file" was given with units of several rows.',
            remedy='Use target="population", whose intervals include the random choice of rows as sampling error.',
        )
    asked = request.estimator == "bootstrap"
    if not (asked or request.estimator == "auto") or request.noise == "laplace":
        option = f'noise="{request.noise}"' if request.noise == "laplace" else f'estimator="{request.estimator}"'
        raise ParameterError(
            "HG108",
            rule="The estimator and the noise must serve every statistic of the release.",
            finding=f"{option} does not serve replicates of units of several rows.",
            remedy='For units of several rows, use estimator="moments", or leave the options of the bootstrap out.',
        )
    if request.budget.delta == 0.0:
        raise ParameterError(
            "HG117",
            rule="The bootstrap needs `delta` above 0.",
            finding="delta=0 was given.",
            remedy='Give delta=1e-6, or estimator="moments".',
        )
    check_midpoint(statistic, missing)
    if facts.limit is None:
        raise TypeError("a unit of one row has a design of rows")
    k = request.n_resamples or replicates_for(facts, request.by, request.budget, share, spread=_SPREAD)
    reason = "asked for" if asked else "units of several rows: resampling units makes the errors clustered"
    interval = request.interval or "calibrated"
    return UnitBootstrapDesign(statistic, request.by, facts, missing, facts.limit, k, interval, reason)
