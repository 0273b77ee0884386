"""One statistic of a joint release: how it is forecast, read, and read again from a record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Indicator, SumsQuery, WeightOnGrid
from hedgerow.facts.columns import CellLabels, Grid, Missing
from hedgerow.facts.relation import UnitLimit
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.joint.estimates import estimate
from hedgerow.inference.joint.functions import FunctionOfTotals, SumOfTotals
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.inference.region import ScoreRegion
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.cells.shape import TableShape
from hedgerow.release.cells.table_cells import TableCells, joint_cells, noise_about_zero
from hedgerow.release.designs.design import MIDPOINT, Design, Recorded, covers, rows_kept, table_of
from hedgerow.release.designs.guess import (
    EQUAL_CELLS,
    Correlations,
    ExpectedReading,
    Guess,
    GuessedReading,
    SupposedCell,
    correlations,
    dropped_in_words,
    typical_records,
)
from hedgerow.release.designs.joint.chooser import JointChoice
from hedgerow.release.designs.joint.joint_release import COARSER, JointRelease, JointTable, grid_of, joint_design
from hedgerow.resampling.counted_values import GridSums
from hedgerow.statistics.statistic import OnGrid, Statistic

Floats = NDArray[np.float64]
Moments = Mapping[str, tuple[float, float]]
_NOISES = 256
UNSURE = "The noise hides the number of records, or what is divided by: nothing is said beyond what is possible."


@dataclass(frozen=True, slots=True)
class JointStatistic(Design[JointMoments, JointTable]):
    """One statistic of a joint release; all statistics of that release share one question, one price and one draw.

    Attributes
    ----------
    statistic : Statistic
    release : JointRelease
    place : int
        Which of the release's functions it is.
    reason : str
        Why this method, in a sentence.
    """

    drawn_by = JointMoments
    many_cells = True
    statistic: Statistic
    release: JointRelease
    place: int
    reason: str

    @classmethod
    def recorded(cls, about: Recorded, part: JointMoments) -> Sequence[Self]:
        """Return the designs of the statistics that one vector of joint moments tells."""
        # Before a missing value of a sum counted as 0 its presence was private.
        for zeros, coarser in product((True, False), COARSER):
            of_asked = about.statistics, about.by, about.facts, about.missing
            design = joint_design(*of_asked, coarser=coarser, zeros=zeros)
            if design.layout == part.layout:
                release = JointRelease(design, JointChoice(part))
                return tuple(cls(statistic, release, place, "") for place, statistic in enumerate(about.statistics))
        return ()

    @property
    def drawn(self) -> JointRelease:
        """The one vector of all statistics of the release."""
        return self.release

    @property
    def query(self) -> SumsQuery:
        """The question of the whole release."""
        return self.release.query

    @property
    def method(self) -> str:
        """Name of the method, as in the contract."""
        return "moments"

    @property
    def missing(self) -> Missing:
        """What becomes of a record in which a value is missing."""
        return self.release.design.missing

    @property
    def function(self) -> FunctionOfTotals:
        """What is read from the totals of the release."""
        return self.release.design.functions[self.place]

    @property
    def joint_features(self) -> dict[str, Any]:
        """The features of these totals, as plain JSON data."""
        powers = [list(power) for power in self.release.design.of_rows or self.release.design.asked.features]
        return {"features": self.release.names(), "powers": powers}

    @property
    def runs_code(self) -> bool:
        """It does not: a function of the user's own is called on totals."""
        return False

    @property
    def narrowed(self) -> str:
        """Whether a column has two forms, as itself and as whether it has a value."""
        values = self.release.design.values
        alike = len({value.column for value in values}) < len(values) or self.release.design.of_rows
        return "A column is released in two forms, which do not vary freely." if alike else ""

    @property
    def rows(self) -> int:
        """How many rows of a unit count."""
        return self.release.design.rows

    @property
    def knows_cells(self) -> bool:
        """Units of several rows may be in several cells: then products between cells tell how they vary together."""
        numbers = self.release.choice.mechanism.coordinates
        limit = self.release.design.facts.limit
        return limit is None or limit.max_rows == 1 or any(one.kind == "across" for one in numbers)

    def mechanism(self, mu: float) -> JointMoments:
        """Return the mechanism of the whole release."""
        return self.release.mechanism(mu)

    def expected(self, mechanism: JointMoments, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return the expected errors, for each law of its column that may be the worst.

        Each column is beta with its (mean, sd); columns have the guessed correlations, or are independent. Units of
        several rows have 1 to L of them with even chances, all in one cell, any two of them with the correlation ½.
        """
        stated = correlations(supposed.guesses)
        return [
            GuessedReading(self._expected(mechanism, moments, supposed, stated), words, value)
            for moments, words, value in self._guessed(supposed, stated)
        ]

    def _guessed(self, supposed: SupposedCell, stated: Correlations) -> Iterator[tuple[Moments, str, float | None]]:
        """Yield the (mean, sd) of each column by a guess, the guess in words, and the value of the statistic by it."""
        joint, statistic, records = self.release.design, self.statistic, supposed.records
        pairs, _ = supposed.laws([(value.column, grid_of(value)) for value in joint.read])
        indicators = [value.column for value in joint.read if isinstance(value, Indicator)]
        shares = {column: supposed.of(column).shares()[0] for column in indicators}
        pairs |= {column: _of_share(share) for column, share in shares.items()}
        limit = joint.facts.limit
        rows = 1.0 if limit is None else (1.0 + limit.max_rows) / 2.0
        units = "" if limit is None else _units_in_words(limit, supposed.of(limit.column))
        weighing = [(value.column, value.grid) for value in joint.read if isinstance(value, WeightOnGrid)]
        weighed = "".join(f"weights {supposed.laws([column])[1]}" for column in weighing)
        weight = rows * (pairs[weighing[0][0]][0] if weighing else 1.0)
        if isinstance(statistic.counted, Indicator) and not weighing:
            (name,) = statistic.columns
            for share in supposed.of(name).shares():
                yield pairs | {name: _of_share(share)}, supposed.of(name).share_in_words(share) + units, share
        elif statistic.is_count and not weighing and limit is None:
            yield pairs, EQUAL_CELLS, records
        elif statistic.family == "counts":
            said = "; ".join([*(f"share {shares[column]:g}" for column in statistic.columns), *filter(None, [weighed])])
            value = shares[statistic.columns[0]] if statistic.columns else records * weight
            yield pairs, (said + units).removeprefix("; "), value
        elif statistic.family != "moments":
            yield pairs, supposed.laws([*statistic.grids, *weighing], stated)[1] + units, None
        else:
            column, grid = statistic.grids[0]
            guess = supposed.of(column)
            for mean, sd in guess.moments(column, grid):
                said = guess.in_words(mean, sd) + units + (f"; {weighed}" if weighed else "")
                yield pairs | {column: (mean, sd)}, said, mean * records * weight if statistic.is_total else mean

    def _expected(
        self, mechanism: JointMoments, moments: Moments, supposed: SupposedCell, stated: Correlations
    ) -> ExpectedReading:
        """Return what is read of a cell whose columns have these (mean, sd)."""
        laws = [(value.column, grid_of(value), moments[value.column]) for value in self.release.design.read]
        same = id(self.release), tuple(laws), supposed.records
        if same not in supposed.tables:
            supposed.tables[same] = self._supposed(mechanism, laws, supposed.records, stated)
        read = self.estimates(supposed.tables[same])
        low, high = read.interval(supposed.level)
        width = float(np.mean(high - low))
        clear = ~np.isnan(read.sampling_error)
        if clear.mean() < 0.5:
            return ExpectedReading.hidden(width)
        sampling, privacy = read.sampling_error[clear], read.privacy_error[clear]
        # The mean standard error is forecast, divided in proportion to the mean squares of its parts.
        rate = float(np.hypot(sampling, privacy).mean()) / math.sqrt(float((sampling**2 + privacy**2).mean()))
        parts = (rate * math.sqrt(float(np.mean(part**2))) for part in (sampling, privacy))
        return ExpectedReading(next(parts), 0.0, next(parts), width, bool(read.reliable.mean() > 0.5))

    def _supposed(
        self,
        mechanism: JointMoments,
        laws: Sequence[tuple[str, Grid, tuple[float, float]]],
        records: float,
        stated: Correlations,
    ) -> JointTable:
        """Return as many noisy tables as there are noises, of a cell whose columns have these laws."""
        joint, rng = self.release.design, np.random.default_rng(20)
        scaled = joint.scaled(typical_records(laws, stated)) if laws else np.ones((1, 1))
        if joint.facts.limit is not None:
            scaled = _typical_units(scaled, joint.facts.limit.max_rows, rng)
        each = mechanism.numbers.record_means(scaled)
        spread, law = mechanism.noise_sds(), mechanism.noise_law.name
        shape = _NOISES, len(spread)
        drawn = rng.standard_normal(shape) if law == "gaussian" else rng.laplace(0.0, math.sqrt(0.5), shape)
        values = records * each + spread * drawn
        return self.release.read(AdditiveTable(({},) * _NOISES, mechanism.names, values, spread, law))

    def added_up(self, mechanism: JointMoments) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return mechanism.names

    def table(self, data: GridSums, mechanism: JointMoments, source: NoiseSource) -> JointTable:
        """Return the noisy numbers of the whole release."""
        return self.release.read(self.release.design.table(data, mechanism, source))

    def table_on_record(self, part: Mapping[str, Any], mechanism: JointMoments, cells: CellLabels) -> JointTable:
        """Return the table on record, read once for all statistics: so it is known how they vary together."""
        return self.release.read(table_of(part, mechanism, cells, self.added_up(mechanism)))

    def estimates(self, table: JointTable) -> Cells:
        """Return one estimate per cell."""
        read = estimate(self.function, table.side)
        clear = read.reliable & np.isfinite(read.standard_error)
        errors = np.where(clear, read.sampling_error, math.nan), np.where(clear, read.privacy_error, math.nan)
        region = ScoreRegion.of_cells(read)
        # Totals have a range for each number of records, which is not known; tables say the same of theirs.
        possible = math.inf if self.statistic.is_total else self.function.high - self.function.low
        about = read.value, errors, region
        return Cells.plain(self._subject, table.cells, *about, reliable=read.reliable, possible=possible)

    def table_cells(self, table: JointTable) -> TableCells:
        """Return the numbers of a table of sums or counts, as they were drawn."""
        shape, facts = TableShape.of(self.release.design.by), self.release.design.facts
        # Counts of weights vary as totals do.
        counted = self.statistic.is_count and facts.weights is None
        (moments,) = table.side.blocks
        return joint_cells(shape, self.function, moments, counted=counted, subject=self._subject)

    def table_noise(self, mechanism: JointMoments) -> tuple[float, float]:
        """Return the noise on a sum and on its second moment in each cell of a table; standard deviations."""
        return noise_about_zero(self.function, self._totals_of_noise(mechanism))

    def unread(self, mechanism: JointMoments) -> tuple[int, ...]:
        """Return the places of the numbers that are on no total, such as a noisy number of records that is public.

        Products across cells are on the totals of several cells.
        """
        used = np.any(self._totals_of_noise(mechanism).mixing, axis=0).tolist()
        alone = [number.kind != "across" for number in mechanism.coordinates]
        return tuple(place for place, own in enumerate(alone) if own and not used[place])

    def _totals_of_noise(self, mechanism: JointMoments) -> JointTotals:
        names, sds = mechanism.names, mechanism.noise_sds()
        none = AdditiveTable(({},), names, np.zeros((1, len(names))), sds, mechanism.noise_law.name)
        return self.release.design.totals(none, mechanism)

    @property
    def _subject(self) -> Subject:
        asked, facts = self.statistic, self.release.design.facts
        if isinstance(asked, OnGrid):
            # Steps far below the noise are not worth a word; where they are coarser a remark says so.
            asked = replace(asked, grid=replace(asked.grid, declared=True))
        about = asked.name, asked.column, self.method, covers(asked, facts), UNSURE, self._remark()
        return Subject(*about, sampled=not facts.census)

    def noise_sd(self, mechanism: JointMoments) -> float | None:
        """Return the noise on the sum of the column about its midpoint, of a sum on what is released; an sd."""
        design, function = self.release.design, self.function
        if self.statistic.family != "moments":
            return None
        at, grid = design.read_by[self.place][0], self.statistic.grids[0][1]
        about = np.array([0.0, grid.half_range])
        if isinstance(function, SumOfTotals):
            about = function.x.most * np.array([function.x.centre, function.x.half])
        known = design.facts.n if mechanism.layout.presence == "public" else None
        base = ((mechanism.layout.last, 1),) if design.facts.totalled else ((at, 0),) if design.apart else ()
        noise = mechanism.reading([base, ((at, 1),)], n=known).covariance
        return math.sqrt(float(about @ noise @ about))

    def _remark(self) -> str | None:
        """Return a remark where a missing value counts as the midpoint, or a declared grid was too fine."""
        design = self.release.design
        grids = design.grids_of(self.place)
        coarse = [column for column, grid in self.statistic.grids if grid.declared and not grids[column].declared]
        steps = ", ".join(f"{column} to {grids[column].steps:,}" for column in coarse)
        rounded = f"Values are rounded to steps between the bounds: {steps}." if coarse else ""
        unit = self.release.design.facts.limit
        remark = "" if unit is None else rows_kept(unit)
        return " ".join(filter(None, [MIDPOINT * (self.missing is Missing.MIDPOINT), remark, rounded])) or None


def _units_in_words(limit: UnitLimit, rows: Guess) -> str:
    """Return what a forecast takes units to be, and what share of the guessed rows the limit leaves out.

    >>> _units_in_words(UnitLimit("person", 4), Guess(mean=3.0, sd=2.0))
    '; units of 1 to 4 rows in one cell, half of the variance between units; of the rows guessed 14.6 % are dropped'
    """
    said = f"; units of 1 to {limit.max_rows} rows in one cell, half of the variance between units"
    return said + dropped_in_words(rows, limit)


def _of_share(share: float) -> tuple[float, float]:
    """Return the mean and sd of an indicator."""
    return share, math.sqrt(share * (1.0 - share))


def _typical_units(rows: Floats, most: int, rng: np.random.Generator) -> Floats:
    """Return the totals over the rows of units of what typical rows have, the number of rows or their weight last."""
    units = []
    for size in range(1, most + 1):
        total = np.zeros_like(rows)
        for _ in range(size):
            # A row is the one that stands for its unit, or any other: two are the same one with a chance of ½.
            own = rng.random(len(rows)) < math.sqrt(0.5)
            total += np.where(own[:, None], rows, rows[rng.permutation(len(rows))])
        units.append(total)
    return np.vstack(units)
