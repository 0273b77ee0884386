"""Counts and proportions: disjoint cells counted once, with two-sided geometric or discrete Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.engines.query import Indicator, Query
from hedgerow.errors import ParameterError
from hedgerow.inference.counts import NumberWithErrors, count_with_errors, proportion_with_errors
from hedgerow.inference.estimate import Estimate
from hedgerow.noise.source import NoiseSource
from hedgerow.privacy.facts import Category, Missing
from hedgerow.privacy.mechanism import GaussianCounts, GeometricCounts, Single
from hedgerow.privacy.relation import Relation
from hedgerow.release.design import PublicFacts
from hedgerow.release.draw import noisy_counts
from hedgerow.release.missing import complete
from hedgerow.release.table import AdditiveTable
from hedgerow.release.wording import NOT_RELIABLE, SMALL_COUNT, covers
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.statistic import Count, Proportion

__all__ = ["CountsDesign", "Family"]

Family = Literal["geometric", "gaussian"]


@dataclass(frozen=True, slots=True)
class CountsDesign:
    """A count or a proportion of each cell by plain noise on integer counts.

    A proportion whose denominator is private counts two disjoint classes a cell, those equal to the value and those
    that are not; one record lies in one of them, so the denominator costs nothing extra.
    """

    statistic: Count | Proportion
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    family: Family
    reason: str

    def __post_init__(self) -> None:
        if isinstance(self.statistic, Proportion) and self.missing is Missing.MIDPOINT:
            raise ParameterError(
                "HG114",
                rule='`missing="midpoint"` is for numbers between bounds; a category has no midpoint.',
                finding=f"It was given with a proportion of {self.statistic.column!r}.",
                remedy='Release proportions with missing="drop".',
            )

    @property
    def method(self) -> str:
        """``"geometric"`` or ``"gaussian"``."""
        return self.family

    @property
    def query(self) -> Query:
        """Count records, or records that equal the value and those that do not."""
        if isinstance(self.statistic, Count):
            return Query(None, self.by)
        return Query(Indicator(self.statistic.column, self.statistic.value), self.by)

    @property
    def denominator_is_public(self) -> bool:
        """Whether every record is known to be present in the one cell, so that n divides."""
        return self.facts.relation is Relation.REPLACE_ONE and not self.by and self.missing is Missing.DECLARED_COMPLETE

    @property
    def features(self) -> tuple[str, ...]:
        """What is counted in each cell."""
        if isinstance(self.statistic, Count):
            return ("count",)
        return ("equal",) if self.denominator_is_public else ("equal", "different")

    def mechanism(self, mu: float) -> Single:
        """Return the mechanism with noise of sd (L2 sensitivity)/μ."""
        cells = self.query.cells * len(self.features)
        touched = min(cells, 2) if self.facts.relation is Relation.REPLACE_ONE else 1
        sd = math.sqrt(touched) / mu
        return GaussianCounts(sd, cells) if self.family == "gaussian" else GeometricCounts(sd / math.sqrt(2.0), cells)

    def table(self, histogram: Histogram, mechanism: Single, source: NoiseSource) -> AdditiveTable:
        """Count, and add an integer to each count."""
        if isinstance(self.statistic, Count):
            sums = (histogram.cell_sums() + histogram.missing)[:, None]
        else:
            complete(histogram, self.missing)
            equal = histogram.cell_sums(histogram.index)
            sums = np.stack([equal, histogram.cell_sums() - equal], axis=1)[:, : len(self.features)]
        cells = tuple(self.query.cell_labels())
        return noisy_counts(sums, mechanism, source, cells=cells, features=self.features)

    def estimates(self, table: AdditiveTable) -> Sequence[Estimate]:
        """Return one estimate a cell."""
        return [self._estimate(table, row) for row in range(len(table.cells))]

    def _estimate(self, table: AdditiveTable, row: int) -> Estimate:
        read = self._count(table, row) if isinstance(self.statistic, Count) else self._proportion(table, row)
        known = read.reliable or isinstance(self.statistic, Count)
        unsure = SMALL_COUNT if isinstance(self.statistic, Count) else NOT_RELIABLE
        return Estimate(
            statistic=self.statistic.name,
            column=self.statistic.column,
            cell=table.cells[row],
            estimate=read.value,
            sampling_error=read.sampling_error if known else None,
            bootstrap_error=0.0 if known else None,
            privacy_error=read.privacy_error if known else None,
            method=self.method,
            n_resamples=None,
            reliable=read.reliable,
            note=None if read.reliable else unsure,
            covers=covers(self.statistic, self.facts),
            basis=read.basis,
        )

    def _count(self, table: AdditiveTable, row: int) -> NumberWithErrors:
        return count_with_errors(
            float(table.column("count")[row]),
            noise_sd=table.sd("count"),
            n=self.facts.n,
            census=self.facts.census,
            noise_law=table.noise_law,
            method=self.method,
        )

    def _proportion(self, table: AdditiveTable, row: int) -> NumberWithErrors:
        return proportion_with_errors(
            float(table.column("equal")[row]),
            None if self.denominator_is_public else float(table.column("different")[row]),
            noise_sd=table.sd("equal"),
            n=self.facts.n,
            census=self.facts.census,
            noise_law=table.noise_law,
            method=self.method,
        )
