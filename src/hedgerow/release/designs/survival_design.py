"""Survival: the events and the censored records of each interval of time, counted once for a whole curve.

A record lies in one class of one cell, so the counts have the price of a table of counts. With late entry a record also
lies in one class of a second table, that of entries. All times of a curve are read
from them, and so are its median, restricted means and numbers at risk (`hedgerow.release.readings.survival_curve`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.engines.query import Query
from hedgerow.errors import UncertifiedError
from hedgerow.facts.columns import Category, CellLabels, Missing
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.joint.arithmetic import FunctionsOfCells
from hedgerow.inference.joint.functions import FunctionOfTotals
from hedgerow.inference.region import Region, ScoreRegion
from hedgerow.inference.score_test import SingleTest
from hedgerow.inference.survival.cumulative_incidence import CumulativeIncidence
from hedgerow.inference.survival.even_withdrawal import ConstantHazards, EvenLifeTables
from hedgerow.inference.survival.late_entry import LateLifeTables
from hedgerow.inference.survival.life_table import ErrorsOfTotals, LifeTables
from hedgerow.mechanisms.noisy_counts import Counts
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.designs.design import Design, NoiseLaw, PartOfRecord, PublicFacts, Recorded, complete, covers
from hedgerow.release.designs.design import table_of as recorded_table
from hedgerow.release.designs.guess import ExpectedReading, GuessedReading, SupposedCell
from hedgerow.release.designs.plain_counts import counts_mechanism
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.survival import Survival

BEYOND, FROM_THE_START = "beyond", "from the start"
HIDDEN_CURVE = (
    "The noise hides how many records are at risk: the interval ends at that of the last time for which it does not."
)


class SurvivalTable(AdditiveTable):
    """The noisy counts of all cells, with the life tables that they tell, and what one computes with.

    `incidence` has the shares of competing causes. The shares that are asked for have one joint law, and so have the
    shares of all causes at one time; each other number that is read has its own, for all cells.
    """

    __slots__ = ("functions", "incidence", "life")

    def __init__(self, table: AdditiveTable, life: LifeTables, places: Sequence[int]) -> None:
        super().__init__(table.cells, table.features, table.values, table.noise_sd, table.noise_law)
        object.__setattr__(self, "life", life)
        object.__setattr__(self, "incidence", CumulativeIncidence(life))
        shares = zip(places, life.joint(places), strict=True)
        object.__setattr__(self, "functions", {("share", place): function for place, function in shares})

    life: LifeTables
    incidence: CumulativeIncidence
    functions: dict[tuple[str, float], FunctionsOfCells]

    def at(self, place: int) -> FunctionsOfCells:
        """Return what one computes with of the share at a cut."""
        if ("share", place) not in self.functions:
            (self.functions["share", place],) = self.life.joint([place])
        return self.functions["share", place]

    def of_causes_at(self, place: int) -> tuple[FunctionsOfCells, ...]:
        """Return what one computes with of the shares of all causes at a cut."""
        names = [(f"incidence {cause}", place) for cause in range(self.life.causes)]
        if names[0] not in self.functions:
            self.functions.update(zip(names, self.incidence.joint(place), strict=True))
        return tuple(self.functions[name] for name in names)

    def mean_until(self, until: float) -> FunctionsOfCells:
        """Return what one computes with of the restricted mean up to a time."""
        if ("mean", until) not in self.functions:
            self.functions["mean", until] = self.life.joint_of(
                *self.life.weights_of_mean(until), until - self.life.start
            )
        return self.functions["mean", until]


@dataclass(frozen=True, slots=True)
class SurvivalRelease:
    """The one table of a survival curve, for all times that a call asks for.

    Attributes
    ----------
    curve : Survival
        A statistic of the curve: its columns and cuts.
    places : tuple of int
        Which of the cuts are asked for.
    by : tuple of Category
    facts : PublicFacts
    missing : Missing
    law : str
        Of the noise.
    draws : int
        How many Laplace draws are averaged.
    """

    curve: Survival
    places: tuple[int, ...]
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    law: NoiseLaw
    draws: int = 1

    def __post_init__(self) -> None:
        if self.facts.limit is not None:
            raise UncertifiedError(
                "HG402",
                rule="Survival has a certified price only for units of one row.",
                finding="In this request, a privacy unit has several rows.",
                remedy='Use unit="row", or prepare the data with one row for each unit first.',
            )

    @property
    def query(self) -> Query:
        """Count events, by cause where causes compete, and other records by cell and interval, of entry too."""
        return Query(self.curve.counted, (*self.by, *self.curve.groups))

    @property
    def features(self) -> tuple[str, ...]:
        """What is counted in each cell: events and censored records by interval, and records beyond the last cut."""
        *within, _ = (str(interval) for interval in self.curve.intervals.values)
        events = [f"event {cause}" for cause in self.curve.causes] if self.curve.competing else ["event"]
        entered = () if self.curve.entry is None else (FROM_THE_START, *(f"entered {name}" for name in within))
        return *(f"{title} {name}" for title in (*events, "censored") for name in within), BEYOND, *entered

    def mechanism(self, mu: float) -> Counts:
        """Return the mechanism with noise of sd (L2 sensitivity)/μ."""
        cells = len(CellLabels(self.by)) * len(self.features)
        return counts_mechanism(self.law, self.draws, cells, None, self.facts.relation, mu, tables=self.tables)

    @property
    def tables(self) -> int | None:
        """In how many tables side by side a record counts: with late entry in that of exits and that of entries."""
        return None if self.curve.entry is None else 2

    def classes(self, histogram: Histogram) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the exact counts: int64 array (cells, features)."""
        complete(histogram, self.missing)
        intervals, causes = self.curve.intervals.levels, len(self.curve.causes)
        # By cell, interval of entry, kind of exit, and interval of exit.
        entries = 1 if self.curve.entry is None else intervals
        if self.curve.competing:
            classes = histogram.cell_sums().reshape(-1, entries, causes + 1, intervals)
        else:
            events = histogram.cell_sums(histogram.index).reshape(-1, entries, intervals)
            others = histogram.cell_sums().reshape(-1, entries, intervals) - events
            classes = np.stack([events, others], axis=2)
        # The records of entry interval i (0: from the start) leave in interval i or later; others are left out.
        classes = classes * np.tri(intervals, entries, 1, dtype=np.int64).T[:, None] if entries > 1 else classes
        exits = classes.sum(axis=1)
        within, beyond = exits[:, :, :-1], exits[:, :, -1].sum(axis=1)
        entered = [classes.sum(axis=(2, 3))] if entries > 1 else []
        return np.concatenate([within.reshape(len(classes), -1), beyond[:, None], *entered], axis=1)

    def read(self, table: AdditiveTable) -> SurvivalTable:
        """Return the life tables of noisy counts."""
        withdrawn = 0.0 if self.curve.withdrawn == "end" else 0.5
        changing = EvenLifeTables if self.curve.hazards == "lines" else ConstantHazards
        changing = changing if self.curve.entry is None else LateLifeTables
        tables = changing if self.curve.withdrawn == "evenly" else LifeTables
        about = float(table.noise_sd.max()), table.noise_law, self.facts.census
        life = tables(table.values, self.curve.cuts, *about, withdrawn, len(self.curve.causes), self.curve.start)
        return SurvivalTable(table, life, self.places)


@dataclass(frozen=True, slots=True)
class SurvivalTest(SingleTest):
    """The survival share at one cut in every cell, or in one, as a test that is inverted."""

    table: SurvivalTable
    curve: Survival
    facts: PublicFacts
    cell: int | None = None

    method: ClassVar[str] = "life-table"
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0

    def row(self, index: int) -> SurvivalTest:
        """Return the test of one cell."""
        return SurvivalTest(self.table, self.curve, self.facts, index)

    def accepted(self, level: float) -> tuple[Any, Any]:
        """Return the shares that are not rejected at a level."""
        low, high = self.table.life.ends(self.curve.place, level)
        return (low, high) if self.cell is None else (low[self.cell], high[self.cell])


@dataclass(frozen=True, slots=True)
class SurvivalDesign(Design[Counts, SurvivalTable]):
    """The survival share at one time; all times of a curve share one question, price and draw."""

    drawn_by = Counts
    statistic: Survival
    release: SurvivalRelease
    reason: str

    @classmethod
    def recorded(cls, about: Recorded, part: Counts) -> Sequence[Self]:
        """Return the designs of the times of one curve that a table of counts tells."""
        curves = [statistic for statistic in about.statistics if isinstance(statistic, Survival)]
        if not curves or len(curves) < len(about.statistics):
            return ()
        (law,) = part.methods
        places = tuple(sorted({curve.place for curve in curves}))
        release = SurvivalRelease(curves[0], places, about.by, about.facts, about.missing, law)  # type: ignore[arg-type]  # laws are named as methods
        cells = len(CellLabels(about.by)) * len(release.features)
        fits = (part.cells, part.rows, part.tables) == (cells, None, release.tables)
        return tuple(cls(curve, release, "") for curve in curves) if fits else ()

    @property
    def drawn(self) -> SurvivalRelease:
        """The one table of the curve."""
        return self.release

    @property
    def query(self) -> Query:
        """The question of the whole table."""
        return self.release.query

    @property
    def missing(self) -> Missing:
        """What becomes of a record in which a value is missing."""
        return self.release.missing

    @property
    def method(self) -> str:
        """The name of the method."""
        return "life-table"

    @property
    def function(self) -> FunctionOfTotals:
        """What one computes with, once it is released: see `LifeTables.joint`."""
        at = self.release.places.index(self.statistic.place)
        slopes = tuple(float(place == at) for place in range(len(self.release.places)))
        return ErrorsOfTotals(math.log(0.5), slopes)

    @property
    def joint_features(self) -> dict[str, Any]:
        """The features of these totals: the errors of log survival at the times that are asked for."""
        return {"features": [f"log survival {self.release.curve.cuts[place]:.15g}" for place in self.release.places]}

    def part_of_record(self, first: object) -> PartOfRecord | None:
        """Return None: the noisy counts tell everything."""
        return None

    def mechanism(self, mu: float) -> Counts:
        """Return the mechanism of the whole table."""
        return self.release.mechanism(mu)

    def added_up(self, mechanism: Counts) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return self.release.features

    def table(self, data: Histogram, mechanism: Counts, source: NoiseSource) -> SurvivalTable:
        """Count, and add an integer to each count."""
        sums, cells = self.release.classes(data), CellLabels(self.release.by)
        return self.release.read(mechanism.noisy(sums, source, cells=cells, features=self.release.features))

    def table_on_record(self, part: Mapping[str, Any], mechanism: Counts, cells: CellLabels) -> SurvivalTable:
        """Return the table on record, read once for all times."""
        return self.release.read(recorded_table(part, mechanism, cells, self.added_up(mechanism)))

    def estimates(self, table: SurvivalTable) -> Cells:
        """Return one estimate per cell."""
        asked, facts = self.statistic, self.release.facts
        read = table.life.read(asked.place)
        errors = [np.where(read.reliable, part, math.nan) for part in (read.sampling_error, read.privacy_error)]
        subject = Subject(asked.name, asked.column, self.method, covers(asked, facts), HIDDEN_CURVE)
        region = ScoreRegion(SurvivalTest(table, asked, facts), table.at(asked.place))
        return Cells.plain(subject, table.cells, read.value, (errors[0], errors[1]), region, reliable=read.reliable)

    def expected(self, mechanism: Counts, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return the expected errors, if events come at a constant rate and so does censoring.

        The guessed share of the event's column is the share of records whose event came, with censoring as the rest;
        without a guess nothing is censored. The rate is the worst: half of the records have no event before the time.
        """
        asked = self.statistic
        guess = supposed.of(asked.event)
        share = 1.0 if guess.share is None else min(max(guess.share, 0.01), 1.0)
        total = math.log(2.0) / (asked.at - asked.start) / share
        edges = np.array([asked.start, *asked.cuts]) - asked.start
        within = -np.diff(np.exp(-total * edges))
        of_causes = [within * share / len(asked.causes)] * len(asked.causes)
        exits = [*of_causes, within * (1.0 - share), [math.exp(-total * edges[-1])]]
        from_start = [] if asked.entry is None else [[1.0], np.zeros(len(within))]
        counts = supposed.records * np.concatenate([*exits, *from_start])
        life = self.release.read(
            AdditiveTable(
                ({},), self.release.features, counts[None, :], mechanism.table_spread(self.release.features),
                mechanism.noise_law.name,
            )
        ).life  # fmt: skip
        read, (low, high) = life.read(asked.place), life.ends(asked.place, supposed.level)
        said = f"half without {asked.event_in_words} before {asked.at:.15g} (the worst)" + (
            f"; share {share:g}" if guess.share is not None else "; nothing censored"
        )
        width = float(high[0] - low[0])
        reading = (
            ExpectedReading(float(read.sampling_error[0]), 0.0, float(read.privacy_error[0]), width, True)
            if read.reliable[0]
            else ExpectedReading.hidden(width)
        )
        return [GuessedReading(reading, said, 0.5)]


def test_behind(region: Region | None) -> SurvivalTest | None:
    """Return the test of a survival share that a region inverts, on record or not; None of any other region."""
    test = getattr(getattr(region, "computed", region), "test", None)
    return test if isinstance(test, SurvivalTest) else None
