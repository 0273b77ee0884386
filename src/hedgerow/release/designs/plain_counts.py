"""Counts and proportions: disjoint cells counted once, with geometric, discrete Gaussian or averaged noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.engines.query import Indicator, Query
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation, max_rows_of
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.joint.arithmetic import COUNT, DIFFERENT, EQUAL, counted_cells, function_of
from hedgerow.inference.joint.functions import MeanOfTotals, SumOfTotals
from hedgerow.inference.means_and_counts import SMALL_COUNT, NumbersWithErrors
from hedgerow.inference.region import ScoreRegion
from hedgerow.mechanisms.noisy_counts import AveragedLaplaceCounts, Counts, GaussianCounts, GeometricCounts
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.cells.table_cells import TableCells
from hedgerow.release.designs.design import (
    NOT_RELIABLE,
    Design,
    NoiseLaw,
    PublicFacts,
    Recorded,
    complete,
    covers,
    indicator_name,
    rows_kept,
)
from hedgerow.release.designs.guess import (
    EQUAL_CELLS,
    GuessedReading,
    SupposedCell,
    average_reading,
    dropped_in_words,
)
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic


@dataclass(frozen=True, slots=True)
class CountsDesign(Design[Counts, AdditiveTable]):
    """A count or a proportion of each cell by plain noise on integer counts.

    A proportion whose denominator is private counts two disjoint classes a cell, those equal to the value and those
    that are not; one record lies in one of them, so the denominator costs nothing extra.
    """

    drawn_by = Counts
    many_cells = True
    statistic: Statistic
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    law: NoiseLaw
    reason: str
    draws: int = 1

    def __post_init__(self) -> None:
        if self.missing is Missing.MIDPOINT and not self.statistic.takes_midpoint:
            raise ParameterError(
                "HG114",
                rule='The policy missing="midpoint" needs numbers between bounds. A category has no midpoint between '
                "two bounds.",
                finding=f"It was given with a proportion of {self.statistic.column!r}.",
                remedy='Release proportions with missing="drop".',
            )

    @classmethod
    def recorded(cls, about: Recorded, part: Counts) -> Sequence[Self]:
        """Return the design of the one statistic that plain noise on counts tells."""
        (statistic,), (law,) = about.statistics, part.methods
        made = cls(statistic, about.by, about.facts, about.missing, law, "")  # type: ignore[arg-type]  # laws are named as methods
        fits = part.cells == made.query.cells * len(made.features) and (part.rows, part.tables) == (
            made.row_limit,
            None,
        )
        return (made,) if fits else ()

    @property
    def method(self) -> str:
        """``"geometric"``, ``"gaussian"`` or ``"averaged-laplace"``."""
        return self.law

    @property
    def query(self) -> Query:
        """Count records, or records that equal the value and those that do not; of units, the units with a row."""
        return Query(self.statistic.counted, self.by, self.facts.limit)

    @property
    def row_limit(self) -> int | None:
        """The limit of rows where units are counted."""
        return max_rows_of(self.facts.limit)

    @property
    def knows_cells(self) -> bool:
        """A unit of several rows may be counted in several cells."""
        return self.facts.limit is None

    @property
    def denominator_is_public(self) -> bool:
        """Whether every record is known to be present in the one cell, so that n divides."""
        return self.facts.relation is Relation.REPLACE_ONE and not self.by and self.missing is Missing.DECLARED_COMPLETE

    @property
    def features(self) -> tuple[str, ...]:
        """What is counted in each cell."""
        if self.statistic.is_count:
            return (COUNT,)
        return (EQUAL,) if self.denominator_is_public else (EQUAL, DIFFERENT)

    @property
    def function(self) -> MeanOfTotals | SumOfTotals:
        """What is read from the totals of the counts (`hedgerow.inference.joint.arithmetic`)."""
        return function_of(self.features, self.facts.n)

    @property
    def joint_features(self) -> dict[str, Any]:
        """The features of these totals, as plain JSON data, and what is counted."""
        value = self.query.value
        names = [indicator_name(value)] if isinstance(value, Indicator) else []
        return {"features": names, "powers": [[1] for _ in names], "counted": list(self.features)}

    def mechanism(self, mu: float) -> Counts:
        """Return the mechanism with noise of sd (L2 sensitivity)/μ."""
        cells = self.query.cells * len(self.features)
        return counts_mechanism(self.law, self.draws, cells, self.row_limit, self.facts.relation, mu)

    def noise_sd(self, mechanism: Counts) -> float:
        """Return the noise on each count."""
        return mechanism.noise_sd

    def expected(self, mechanism: Counts, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return the expected errors of a count, or of a proportion for each share that may be the worst."""
        records, readings = supposed.records, list[GuessedReading]()
        counted, guess = self.statistic.is_count, supposed.of(next(iter(self.statistic.columns), None))
        limit = self.facts.limit
        dropped = "" if limit is None else dropped_in_words(supposed.of(limit.column), limit)
        spread, law = np.full(len(self.features), mechanism.noise_sd), mechanism.noise_law.name
        for share in [1.0] if counted else guess.shares():
            every = {COUNT: records, EQUAL: records * share, DIFFERENT: records * (1.0 - share)}
            totals = {name: every[name] for name in self.features}
            # Shares of several values are alike until they are guessed.
            facts = self.facts.n, self.facts.census, self.facts.limit is not None
            same = self.method, counted, facts, tuple(totals.items()), mechanism.noise_sd, law, supposed.level
            if same not in supposed.tables:
                read = average_reading(self.estimates, totals, spread, law, level=supposed.level)
                supposed.tables[same] = read
            reading = supposed.tables[same]
            said = EQUAL_CELLS + dropped if counted else guess.share_in_words(share)
            readings.append(GuessedReading(reading, said, records if counted else share))
        return readings

    def added_up(self, mechanism: Counts) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return self.features

    def table(self, histogram: Histogram, mechanism: Counts, source: NoiseSource) -> AdditiveTable:
        """Count, and add an integer to each count."""
        if self.statistic.is_count:
            sums = (histogram.cell_sums() + histogram.missing)[:, None]
        else:
            complete(histogram, self.missing)
            equal = histogram.cell_sums(histogram.index)
            sums = np.stack([equal, histogram.cell_sums() - equal], axis=1)[:, : len(self.features)]
        return mechanism.noisy(sums, source, cells=self.query.labels, features=self.features)

    def _counted(self, table: AdditiveTable) -> tuple[NumbersWithErrors, ScoreRegion]:
        facts, several = self.facts, self.facts.limit is not None
        read, column = counted_cells(table, n=facts.n, census=facts.census, method=self.method, several=several)
        return read, ScoreRegion(read.test, column)

    def table_cells(self, table: AdditiveTable) -> TableCells:
        """Return the numbers of a table of counts, as they were drawn."""
        cells, facts = self.estimates(table), self.facts
        test = self._counted(table)[0].test
        return TableCells.of_scores(TableShape.of(self.by), cells, test, n=facts.n, census=facts.census, counted=True)

    def table_noise(self, mechanism: Counts) -> tuple[float, float]:
        """Return the noise on a count of a table; no second moment is drawn."""
        return float(np.max(np.asarray(mechanism.table_spread(self.features), dtype=np.float64))), 0.0

    def estimates(self, table: AdditiveTable) -> Cells:
        """Return one estimate per cell."""
        counted, (read, region) = self.statistic.is_count, self._counted(table)
        subject = Subject(
            self.statistic.name,
            self.statistic.column,
            self.method,
            covers(self.statistic, self.facts),
            SMALL_COUNT if counted else NOT_RELIABLE,
            None if self.facts.limit is None else rows_kept(self.facts.limit),
        )
        known = counted | read.reliable
        sampling, privacy = (np.where(known, part, math.nan) for part in (read.sampling_error, read.privacy_error))
        about, possible = (read.value, (sampling, privacy), region), math.inf if counted else 1.0
        return Cells.plain(subject, table.cells, *about, reliable=read.reliable, possible=possible)


def counts_mechanism(
    law: NoiseLaw, draws: int, cells: int, rows: int | None, relation: Relation, mu: float, *, tables: int | None = None
) -> Counts:
    """Return the mechanism of so many disjoint counts whose noise has the sd (L2 sensitivity)/μ.

    >>> counts_mechanism("gaussian", 1, 12, None, Relation.ADD_REMOVE, 0.5).noise_sd
    2.0
    """
    sd = math.sqrt(GaussianCounts(1.0, cells, rows=rows, tables=tables).touched(relation)) / mu
    if law == "averaged-laplace":
        return AveragedLaplaceCounts(sd / math.sqrt(2.0 * draws), draws, cells, rows=rows, tables=tables)
    if law == "gaussian":
        return GaussianCounts(sd, cells, rows=rows, tables=tables)
    return GeometricCounts(sd / math.sqrt(2.0), cells, rows=rows, tables=tables)
