"""The private bootstrap: k replicate tables with noise, from which any smooth statistic gets its error.

See private_bootstrap.md §1.

A mean whose denominator is public releases its centred value alone; everything else releases a count beside it, with
the same weights, so that a ratio does not move with the size of a resample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query
from hedgerow.engines.streamed import READ, Rows
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import HIDDEN
from hedgerow.inference.means_and_counts import SMALL_COUNT
from hedgerow.inference.region import ReplicateRegion
from hedgerow.mechanisms.bounded_resamples import COPIES, BoundedResampled, bounded_moments
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.mechanisms.resampled_sums import ResampledCoordinate, ResampledGaussian, ResampledRows, ResampledSums
from hedgerow.noise.lattice import AdditiveTable, NoiseSource, lattice_noise
from hedgerow.progress import working
from hedgerow.release.designs.design import (
    MIDPOINT,
    NOT_RELIABLE,
    Design,
    PublicFacts,
    Recorded,
    apply_policy,
    complete,
    covers,
)
from hedgerow.release.designs.guess import ExpectedReading, GuessedReading, SupposedCell
from hedgerow.release.designs.replicates_read import ReadCell, ResampledStatistic, resampled_of
from hedgerow.release.options import REPLICATED
from hedgerow.resampling.counted_values import Histogram
from hedgerow.resampling.replicates import choose_n_resamples
from hedgerow.statistics.statistic import Statistic

R = TypeVar("R", bound=ResampledSums)


class ReplicatedDesign(Design[R, AdditiveTable]):
    """What a bootstrap of rows and one of units have in common."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of both

        @property
        def facts(self) -> PublicFacts:
            """What is public."""
            ...

        @property
        def interval(self) -> str:
            """The kind of interval, as in `hedgerow.inference.bootstrap.replicate_intervals.INTERVALS`."""
            ...

    def estimate_of(
        self, read: ReadCell, cell: Mapping[str, Any], *, drawn: object = None, notes: Sequence[str] = ()
    ) -> Estimate:
        """Return the estimate of one cell; `notes` follow the notes of every bootstrap.

        `drawn` is the same object for all cells whose replicates were drawn together; None where they do not add up.
        """
        statistic, census = self.statistic, self.facts.census
        possible = read.replicates, read.low, read.high, read.defined
        records = None if census else read.records
        region = ReplicateRegion(*possible, self.interval, census, read.margin, averaged=records, drawn=drawn)
        parts = region.parts() if read.defined else None
        counted = statistic.is_count
        said = [] if read.reliable else [SMALL_COUNT if counted else NOT_RELIABLE]
        said += [HIDDEN] if parts and parts.sampling_error == 0.0 and not census else []
        said += [MIDPOINT] if self.missing is Missing.MIDPOINT and not counted else []
        return Estimate(
            statistic=statistic.name,
            column=statistic.column,
            cell=cell,
            estimate=read.value,
            sampling_error=parts.sampling_error if parts else None,
            bootstrap_error=parts.bootstrap_error if parts else None,
            privacy_error=parts.privacy_error if parts else None,
            method=self.method,
            n_resamples=self.n_resamples,
            reliable=read.reliable,
            note=" ".join([*said, *notes]) or None,
            covers=covers(statistic, self.facts),
            _region=region,
            replicates=read.replicates.estimates or None,
        )


def replicates_for(
    facts: PublicFacts, by: Sequence[Category], budget: Budget, share: float, *, spread: float = 0.2
) -> int:
    """Return k for a value of range 1 in an average cell, at the share's part of a Gaussian budget.

    See private_bootstrap.md §4. The spread is guessed, not read: of a row a fifth of the range about the midpoint,
    between the uniform law's .29 and that of a variable with generous bounds. The width is flat in k, but too many
    replicates cost more than too few.
    """
    cells = math.prod(category.levels for category in by)
    n = max(facts.n / cells, 1.0) if facts.n else None
    mu = gaussian_mu(budget) * math.sqrt(share)
    return choose_n_resamples(n=n, value_range=1.0, privacy_variance=(1.0 / (mu * (n or 1.0))) ** 2, spread=spread)


RATE = 1.0
MOST_COUNTED = 1 << 22
"""Combinations of grid values and groups that are counted; where more are declared, records are read one by one."""
Floats = NDArray[np.float64]
_CHI_SQUARE_NODES = 5


@dataclass(frozen=True, slots=True)
class BootstrapDesign(ReplicatedDesign[ResampledRows]):
    """One statistic by k noisy bootstrap replicates of its cells' sums; weights Poisson, or bounded where asked for."""

    drawn_by = ResampledRows
    resampled: ResampledStatistic
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    n_resamples: int = field()
    interval: str
    reason: str
    method: str = "bootstrap"

    @classmethod
    def recorded(cls, about: Recorded, part: ResampledRows) -> Sequence[Self]:
        """Return the design of the one statistic that replicates tell."""
        if about.facts.limit is not None or about.n_resamples not in (None, part.n_resamples):
            return ()
        (statistic,) = about.statistics
        resampled = resampled_of(statistic, public=about.facts.in_one_cell(about.by, about.missing))
        method = about.estimator if about.estimator in REPLICATED else "bootstrap"
        interval = about.interval or "calibrated"
        made = cls(resampled, about.by, about.facts, about.missing, part.n_resamples, interval, "", method)
        return (made,) if part.differs_in_noise_alone(made.mechanism(1.0)) else ()

    @property
    def statistic(self) -> Statistic:
        """What was asked for."""
        return self.resampled.statistic

    @property
    def query(self) -> Query:
        """Count records by cell and grid value, jointly where there are several columns."""
        return Query(self.resampled.value, self.by)

    def mechanism(self, mu: float) -> ResampledRows:
        """Return the mechanism whose k replicates together have the noise of one Gaussian release at μ.

        Bounded ones have j times that noise, as a record may be drawn j times in each.
        """
        resampled, cells = self.resampled, self.query.cells
        adding = self.facts.relation is Relation.ADD_REMOVE
        farthest = resampled.norm if adding else resampled.replaced_norm(cells)
        width = math.sqrt(self.n_resamples) * farthest / mu * (COPIES if self.bounded else 1)
        coordinates = tuple(ResampledCoordinate(reach, lattice_noise(width * reach)) for reach in resampled.reaches)
        if self.bounded:
            about = resampled.shape, coordinates, resampled.presence, cells
            return BoundedResampled(self.n_resamples, RATE, COPIES, *about)
        return ResampledGaussian(self.n_resamples, RATE, resampled.shape, coordinates, resampled.presence, cells)

    @property
    def bounded(self) -> bool:
        """Whether no record is drawn more than j times."""
        return self.method == "bounded-bootstrap"

    @property
    def streams(self) -> bool:
        """Whether records are read one by one: their declared grids have too many combinations to count each."""
        sums = self.resampled.shape not in ("one-of", "count")
        return sums and self.query.cells * (self.query.size + 1) > MOST_COUNTED

    def noise_sd(self, mechanism: ResampledRows) -> float:
        """Return the noise on the first total of one replicate."""
        return mechanism.coordinates[0].noise.in_units * self.resampled.unit

    def expected(self, mechanism: ResampledRows, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return the expected errors of k replicates, for each law of one record's features that may be the worst.

        With weights of mean m and variance s² the total of a replicate has mean mN E f and covariance s²N E ff', and
        noise.
        """
        noise_sd, records, readings = mechanism.spread, supposed.records, list[GuessedReading]()
        weight, variance = mechanism.weight_moments()
        for law in self.resampled.laws(supposed):
            covariance = variance * records * law.second + np.diag(noise_sd**2)
            read = self._read_expected(weight * records * law.first, covariance, noise_sd)
            readings.append(GuessedReading(self._over_spread(read, supposed.level), law.guess, law.value))
        return readings

    def added_up(self, mechanism: ResampledRows) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return self.resampled.names

    def table(self, histogram: Histogram | Rows, mechanism: ResampledRows, source: NoiseSource) -> AdditiveTable:
        """Resample, add up integers, and add an integer to each sum of each replicate."""
        if isinstance(histogram, Rows):
            return self._streamed(histogram, mechanism, source)
        if self.statistic.is_count:
            counted = histogram
        elif self.missing is Missing.MIDPOINT:
            counted = apply_policy(histogram, self.missing, self.resampled.midpoint * 2)
        else:
            complete(histogram, self.missing)
            counted = histogram
        features = self.resampled.features(counted.index)
        cells = tuple(self.query.labels)
        return mechanism.noisy(counted, features, source, cells=cells, names=self.resampled.names)

    def _streamed(self, rows: Rows, mechanism: ResampledRows, source: NoiseSource) -> AdditiveTable:
        asked = mechanism.streamed(self.query.size, self.resampled.features, source)
        if self.missing is Missing.MIDPOINT:
            asked = replace(asked, filled=self.resampled.midpoint)
        n = self.facts.n
        with working("Resampling the records") as work:

            def watch(records: int) -> None:
                # How many there are may be shown where it is public: under replace-one.
                if n:
                    work.show(f"Resampling batch {-(-records // READ):,} of {-(-n // READ):,}", records / n)

            tally = rows.replicates(asked, watch)
        complete(tally, self.missing)
        sums = tally.sums.value()
        return mechanism.with_noise(sums, source, cells=tuple(self.query.labels), names=self.resampled.names)

    def estimates(self, table: AdditiveTable) -> Sequence[Estimate]:
        """Return one estimate per cell."""
        drawn, values = object(), np.asarray(table.values)
        read = [self.read(values[row], table.noise_sd) for row in range(len(table.cells))]
        return [self.estimate_of(numbers, cell, drawn=drawn) for numbers, cell in zip(read, table.cells, strict=True)]

    def read(self, values: Floats, noise_sd: Floats) -> ReadCell:
        """Read one cell's replicates (coordinates × k).

        Weights of mean m and variance s² make sums m times those of the records, and over m their spread is s²/m² times
        that of weights with mean and variance 1: as that of Poisson weights of rate m²/s².
        """
        if not self.bounded:
            return self.resampled.read(values, noise_sd, self.facts)
        mean, variance = bounded_moments(RATE, COPIES)
        read = self.resampled.read(values / mean, noise_sd / mean, self.facts)
        return replace(read, replicates=replace(read.replicates, rate=mean**2 / variance))

    def _read_expected(self, mean: Floats, covariance: Floats, noise_sd: Floats) -> ReadCell:
        """Read replicates of exactly this mean and covariance, in as many sheets of k as the covariance needs."""
        k = self.n_resamples
        values, vectors = np.linalg.eigh(covariance)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        wide = min(len(mean), k - 1)
        contrasts = _contrasts(wide, k) * math.sqrt(k - 1)
        spread, first = 0.0, None
        for start in range(0, len(mean), wide):
            block = factor[:, start : start + wide]
            read = self.read(mean[:, None] + block @ contrasts[: block.shape[1]], noise_sd)
            first = first or read
            spread += read.replicates.spread
        assert first is not None  # a mechanism has at least one coordinate
        return replace(first, replicates=replace(first.replicates, spread=spread))

    def _over_spread(self, read: ReadCell, level: float) -> ExpectedReading:
        """Average over the law of the spread of k replicates, χ²_{k−1}/(k−1) times its mean."""
        from hedgerow.special import gammaincinv

        if not read.defined:
            return ExpectedReading.hidden(read.high - read.low)
        half_freedom = (self.n_resamples - 1) / 2.0
        levels = (np.arange(_CHI_SQUARE_NODES) + 0.5) / _CHI_SQUARE_NODES
        parts, widths = [], []
        for ratio in gammaincinv(half_freedom, levels) / half_freedom:
            replicates = replace(read.replicates, spread=read.replicates.spread * float(ratio))
            region = ReplicateRegion(replicates, read.low, read.high, True, self.interval, self.facts.census)
            low, high = region.ends(level)
            widths.append(high - low)
            parts.append(region.parts())
        # The root of the squares is to be the mean standard error, which the means of the parts are not: where the
        # noise hides the sampling error it is 0 in some releases and large in others.
        error = math.fsum(part.standard_error for part in parts) / len(parts)
        privacy = parts[0].privacy_error
        sampling, bootstrap = (
            math.fsum(getattr(part, name) ** 2 for part in parts) for name in ("sampling_error", "bootstrap_error")
        )
        rest = math.sqrt(max(0.0, error**2 - privacy**2) / ((sampling + bootstrap) or 1.0))
        return ExpectedReading(
            rest * math.sqrt(sampling),
            rest * math.sqrt(bootstrap),
            privacy,
            math.fsum(widths) / len(widths),
            read.reliable,
        )


def _contrasts(rows: int, k: int) -> Floats:
    """Return orthonormal rows of k numbers that each add up to 0 (Helmert's)."""
    made = np.zeros((rows, k))
    for row in range(rows):
        made[row, : row + 1] = 1.0
        made[row, row + 1] = -(row + 1.0)
        made[row] /= math.sqrt((row + 1.0) * (row + 2.0))
    return made
