"""What a bootstrap releases for each statistic, and how its replicates are read.

=============  ===================================  ================================================================
statistic      released a replicate                 read as
=============  ===================================  ================================================================
mean, public   Σ r y                                c + h·T/(λn), spread about the centre taken off
mean           Σ r y, Σ r                           c + h·T/N, by its tangent
sum            the same                             (c·N + h·T)/λ
count          Σ r                                  N/λ
smooth         Σ r f for each feature, Σ r          g(totals), by its tangent
=============  ===================================  ================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Indicator, JointGrid, ValueOnGrid
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Grid
from hedgerow.facts.relation import Relation
from hedgerow.inference.bootstrap.replicate_summary import Replicates, linearise
from hedgerow.mechanisms.noisy_moments import Presence
from hedgerow.mechanisms.resampled_sums import Shape
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.guess import EQUAL_CELLS, SupposedCell, law_on_grid
from hedgerow.statistics.covariance import of_each_alone
from hedgerow.statistics.statistic import COUNT, Feature, SmoothStatistic, Statistic
from hedgerow.user_code import quietly, silence

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RELIABLE_SDS = 2.0
_MOST_REPLICATED = 1024  # steps of a histogram
_LAWS = 40_000  # records of a guessed law


@dataclass(frozen=True, slots=True)
class ReadCell:
    """One cell's number: its value, the replicates behind it, what is possible, and whether it can be relied on.

    ``records`` is of how many records a mean is.
    """

    value: float
    replicates: Replicates
    low: float
    high: float
    defined: bool
    reliable: bool
    margin: float = 0.0
    records: float | None = None


@dataclass(frozen=True, slots=True)
class GuessedLaw:
    """E f and E ff' of one record's features by a guess, the guess in words, and the value of the statistic by it."""

    first: Floats
    second: Floats
    guess: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class ResampledStatistic:
    """A statistic as a bootstrap sees it: what a replicate adds up, and how replicates are read.

    ``presence`` is public where every record is known to be in the one cell.
    """

    statistic: Statistic
    presence: Presence = "private"

    @property
    def value(self) -> ValueOnGrid | Indicator | JointGrid | None:
        """What the engine counts of each record."""
        return self.statistic.counted

    @property
    def shape(self) -> Shape:
        """What is known of one record's vector."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """What is added up."""
        raise NotImplementedError

    @property
    def reaches(self) -> tuple[int, ...]:
        """Largest integer of each coordinate; noise is in proportion."""
        raise NotImplementedError

    @property
    def norm(self) -> float:
        """The largest norm of one record's vector, each coordinate divided by its maximum (private_bootstrap.md §2)."""
        return math.sqrt(len(self.names))

    @property
    def midpoint(self) -> int:
        """Grid index of the midpoint."""
        return 0

    @property
    def unit(self) -> float:
        """What one of the integers is worth in the column's unit; 1 where there are several columns."""
        return 1.0

    def rehearse(self) -> None:
        """Refuse what could not be read, before anything is spent."""

    def laws(self, supposed: SupposedCell) -> list[GuessedLaw]:
        """Return the law of one record's features, for each guess that may give the worst errors."""
        raise NotImplementedError

    def replaced_norm(self, cells: int) -> float:
        """Farthest that replacing a record moves the table, each coordinate over its reach."""
        raise NotImplementedError

    def features(self, index: Integers) -> Integers:
        """Return the integers that each histogram row adds up: (rows, coordinates)."""
        raise NotImplementedError

    def read(self, values: Floats, noise_sd: Floats, facts: PublicFacts) -> ReadCell:
        """Read one cell's replicates (coordinates × k)."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ResampledMean(ResampledStatistic):
    """A mean, a sum or a proportion: a centred value on a grid, with a count beside it where presence is private."""

    @property
    def grid(self) -> Grid:
        """The value's grid; a proportion is the mean of 0 and 1."""
        return self.statistic.grid

    @property
    def shape(self) -> Shape:
        """What each replicate is: a value alone, or a value and a count."""
        return "value" if self.presence == "public" else "value-and-count"

    @property
    def names(self) -> tuple[str, ...]:
        """The total, and the count."""
        return ("total",) if self.presence == "public" else ("total", "count")

    @property
    def reaches(self) -> tuple[int, ...]:
        """M and 1."""
        return (self.grid.steps,) if self.presence == "public" else (self.grid.steps, 1)

    @property
    def midpoint(self) -> int:
        """Grid index of the midpoint."""
        return self.grid.steps // 2

    @property
    def unit(self) -> float:
        """Half a step."""
        return self.grid.half_step

    def laws(self, supposed: SupposedCell) -> list[GuessedLaw]:
        """Return those of a value with each (mean, sd), or of each share of 0 and 1."""
        statistic, grid, laws = self.statistic, self.grid, list[GuessedLaw]()
        guess = supposed.of(statistic.columns[0])
        if statistic.family == "counts":
            moments = [(share, math.sqrt(share * (1 - share))) for share in guess.shares()]
        else:
            moments = guess.moments(str(statistic.column), grid)
        for mean, sd in moments:
            first = (mean - grid.centre) / grid.half_step
            square = (sd / grid.half_step) ** 2 + first**2
            law = np.array([first, 1.0]), np.array([[square, first], [first, 1.0]])
            if self.presence == "public":
                law = law[0][:1], law[1][:1, :1]
            value = mean * supposed.records if statistic.is_total else mean
            laws.append(GuessedLaw(*law, guess.in_words(mean, sd), value))
        return laws

    def replaced_norm(self, cells: int) -> float:
        """From one end to the other in a cell, or across cells: 2 either way at κ = 1."""
        return 2.0

    def features(self, index: Integers) -> Integers:
        """Y = 2t − m, and 1."""
        y = (2 * index - self.grid.steps)[:, None]
        return y if self.presence == "public" else np.hstack([y, np.ones_like(y)])

    def read(self, values: Floats, noise_sd: Floats, facts: PublicFacts) -> ReadCell:
        """Return the mean, or the sum, of one cell."""
        if self.presence == "public":
            return self._read_public(values[0], float(noise_sd[0]), facts)
        return self._read_private(values, noise_sd, facts)

    def _read_public(self, totals: Floats, noise_sd: float, facts: PublicFacts) -> ReadCell:
        n, grid = facts.n or 0, self.grid
        times = n if self.statistic.is_total else 1
        low, high = (times * end for end in grid.as_bounds())
        scale = times * grid.half_step / max(n, 1)
        replicates = Replicates.of(
            times * grid.centre + scale * totals,
            noise_variance=(scale * noise_sd) ** 2,
            centre=times * grid.centre,
            n=max(n, 1),
            variance_cap=(times * grid.half_range) ** 2 / max(n, 1),
        )
        value = min(max(replicates.mean, low), high)
        if self.statistic.is_total:
            return ReadCell(value, replicates, low, high, n > 0, n > 0)
        return ReadCell(value, replicates, low, high, n > 0, n > 0, grid.rounding, n)

    def _read_private(self, values: Floats, noise_sd: Floats, facts: PublicFacts) -> ReadCell:
        grid = self.grid
        h, c = grid.half_step, grid.centre
        if self.statistic.is_total:
            tangent = linearise(lambda t: c * t[1] + h * t[0], values, noise_sd)
            low, high = grid.as_bounds()
            ends = _possible(min(low, 0.0), facts.n), _possible(max(high, 0.0), facts.n)
            replicates = _about_zero(tangent.replicates, tangent.noise_variance, facts)
            return ReadCell(min(max(tangent.value, ends[0]), ends[1]), replicates, *ends, True, True)
        low, high = grid.as_bounds()
        count, spread = float(values[1].mean()), float(noise_sd[1]) / math.sqrt(values.shape[1])
        good = count >= max(RELIABLE_SDS * spread, 1.0)
        tangent = linearise(lambda t: c + h * t[0] / t[1] if t[1] > 0 else math.nan, values, noise_sd)
        if not (good and tangent.defined):
            return undefined(values.shape[1], low, high)
        replicates = Replicates.of(tangent.replicates, noise_variance=tangent.noise_variance)
        value = min(max(tangent.value, low), high)
        return ReadCell(value, replicates, low, high, True, True, grid.rounding, count)


@dataclass(frozen=True, slots=True)
class ResampledCount(ResampledStatistic):
    """A count of each cell."""

    @property
    def shape(self) -> Shape:
        """Each replicate is one count."""
        return "count"

    @property
    def names(self) -> tuple[str, ...]:
        """The count."""
        return ("count",)

    @property
    def reaches(self) -> tuple[int, ...]:
        """A record counts 1."""
        return (1,)

    def laws(self, supposed: SupposedCell) -> list[GuessedLaw]:
        """Return the one law: every record counts 1."""
        return [GuessedLaw(np.ones(1), np.ones((1, 1)), EQUAL_CELLS, supposed.records)]

    def replaced_norm(self, cells: int) -> float:
        """One cell loses a record and another gains it."""
        return math.sqrt(2.0) if cells > 1 else 1.0

    def features(self, index: Integers) -> Integers:
        """Every record counts 1."""
        return np.ones((len(index), 1), dtype=np.int64)

    def read(self, values: Floats, noise_sd: Floats, facts: PublicFacts) -> ReadCell:
        """Return the mean count over the replicates."""
        replicates = _about_zero(values[0], float(noise_sd[0]) ** 2, facts)
        high = math.inf if facts.n is None else float(facts.n)
        clear = replicates.mean >= RELIABLE_SDS * math.sqrt(replicates.privacy_variance)
        value = replicates.mean if clear else min(max(replicates.mean, 0.0), high)
        return ReadCell(value, replicates, 0.0, high, True, clear)


def undefined(k: int, low: float, high: float) -> ReadCell:
    """Return a cell without an answer: the middle of the possible values, with all of them as the interval."""
    middle = (low + high) / 2 if math.isfinite(low) and math.isfinite(high) else min(max(0.0, low), high)
    return ReadCell(middle, Replicates(middle, 0.0, k, 0.0), low, high, False, False)


def _about_zero(totals: Floats, noise_variance: float, facts: PublicFacts) -> Replicates:
    """Return replicates of a total; under replace-one a record is in the cell or not, so (Σx)²/n is subtracted."""
    if facts.relation is Relation.REPLACE_ONE and facts.n:
        return Replicates.of(totals, noise_variance=noise_variance, centre=0.0, n=facts.n)
    return Replicates.of(totals, noise_variance=noise_variance)


def _possible(each: float, n: int | None) -> float:
    if each == 0.0:
        return 0.0
    return each * n if n is not None else math.copysign(math.inf, each)


# A feature that is a function of columns is rounded to this many steps either side of its midpoint.
FEATURE_STEPS = 1 << 14


@dataclass(frozen=True, slots=True)
class ResampledSmooth(ResampledStatistic):
    """A user's statistic: features and a count with one set of weights, or the histogram of one column."""

    statistic: SmoothStatistic

    @property
    def shape(self) -> Shape:
        """At most one grid value, or a vector in a box."""
        if self.statistic.is_histogram:
            return "one-of"
        return "value-and-count" if len(self.statistic.features) == 1 else "vector"

    @property
    def names(self) -> tuple[str, ...]:
        """Features and the count; grid indices for a histogram."""
        if self.statistic.is_histogram:
            return tuple(str(place) for place in range(self.statistic.grids[0][1].steps + 1))
        return (*(feature.name for feature in self.statistic.features), COUNT)

    @property
    def reaches(self) -> tuple[int, ...]:
        """Largest integer of each coordinate."""
        if self.statistic.is_histogram:
            return (1,) * len(self.names)
        return (*(self._reach(feature) for feature in self.statistic.features), 1)

    @property
    def norm(self) -> float:
        """1 for a histogram, √(features + 1) for a vector in a box."""
        return 1.0 if self.statistic.is_histogram else math.sqrt(len(self.names))

    def replaced_norm(self, cells: int) -> float:
        """Two grid values change in a histogram; a vector may turn about."""
        return math.sqrt(2.0) if self.statistic.is_histogram else 2.0 * self.norm

    def rehearse(self) -> None:
        """Call the statistic on public totals, so that a slip in it costs nothing.

        Raises
        ------
        ParameterError
            HG112: it asks for a total that is not there, or is no function of totals; or its grid has too many steps.
        """
        if self.statistic.is_histogram and self.statistic.grid.steps > _MOST_REPLICATED:
            raise ParameterError(
                "HG112",
                rule=f"Replicates of a histogram have at most {_MOST_REPLICATED:,} steps.",
                finding=f"The step makes {self.statistic.grid.steps:,}.",
                remedy='Use a coarser step, or leave estimator="bootstrap" out.',
            )
        totals = np.full(len(self.names), 10.0)
        totals[-1] = 1000.0
        try:
            with silence():
                self._function(totals)
        except (KeyError, NameError, AttributeError, TypeError) as slip:
            raise ParameterError(
                "HG112",
                rule='A statistic is a function of {feature: total, "count": number} that returns a number.',
                finding=f"Called on made-up totals, this one raised {type(slip).__name__}.",
                remedy="Its totals are: " + ", ".join(self.names[:20]) + ".",
            ) from None
        except (Exception, SystemExit):
            # A logarithm of zero, say, at totals that are only made up: the real ones may well have an answer.
            return

    def laws(self, supposed: SupposedCell) -> list[GuessedLaw]:
        """Return that of independent columns, each beta with its (mean, sd)."""
        grids = [grid for _, grid in self.statistic.grids]
        pairs, said = supposed.laws(self.statistic.grids)
        most = max(5, int(_LAWS ** (1.0 / len(grids))))
        laws = [law_on_grid(grid, *pairs[column], most=most) for column, grid in self.statistic.grids]
        index, probability = laws[0]
        for grid, (more, factor) in zip(grids[1:], laws[1:], strict=True):
            index = (index[:, None] * (grid.steps + 1) + more[None, :]).reshape(-1)
            probability = (probability[:, None] * factor[None, :]).reshape(-1)
        features = self.features(index).astype(np.float64)
        return [GuessedLaw(probability @ features, features.T @ (probability[:, None] * features), said)]

    def features(self, index: Integers) -> Integers:
        """Return the integer features of each histogram row."""
        if self.statistic.is_histogram:
            return np.asarray(index[:, None] == np.arange(len(self.names)), dtype=np.int64)
        value = self.value
        indices = value.indices(index) if isinstance(value, JointGrid) else [index]
        columns = {
            column: np.asarray(float(grid.lower) + float(grid.step) * place, dtype=np.float64)
            for (column, grid), place in zip(self.statistic.grids, indices, strict=True)
        }
        exact = {c: 2 * place - grid.steps for (c, grid), place in zip(self.statistic.grids, indices, strict=True)}
        made = [self._rounded(feature, columns, exact, index) for feature in self.statistic.features]
        return np.stack([*made, np.ones(len(index), dtype=np.int64)], axis=1)

    def read(self, values: Floats, noise_sd: Floats, facts: PublicFacts) -> ReadCell:
        """Return g of the totals by its tangent; undefined where g is not finite or the count drowns in noise."""
        statistic, k = self.statistic, values.shape[1]
        count = values.sum(axis=0) if statistic.is_histogram else values[-1]
        entries = len(values) if statistic.is_histogram else 1
        spread = float(noise_sd[-1]) * math.sqrt(entries / k)
        tangent = linearise(self._function, values, noise_sd)
        if float(count.mean()) < max(RELIABLE_SDS * spread, 1.0) or not tangent.defined:
            return undefined(k, statistic.low, statistic.high)
        replicates = Replicates.of(tangent.replicates, noise_variance=tangent.noise_variance)
        value = min(max(tangent.value, statistic.low), statistic.high)
        return ReadCell(value, replicates, statistic.low, statistic.high, True, True)

    def _function(self, totals: Floats) -> float:
        """G in the columns' own units: c·N + (H/reach)·T for each feature."""
        named: dict[str, float] = dict(zip(self.names, totals.tolist(), strict=True))
        if not self.statistic.is_histogram:
            for feature in self.statistic.features:
                unit = feature.half_range / self._reach(feature)
                named[feature.name] = feature.centre * named[COUNT] + unit * named[feature.name]
        return float(self.statistic.function(named))

    def _reach(self, feature: Feature) -> int:
        return FEATURE_STEPS if feature.function is not None else dict(self.statistic.grids)[feature.name].steps

    def _rounded(
        self, feature: Feature, columns: Mapping[str, Floats], exact: Mapping[str, Integers], index: Integers
    ) -> Integers:
        """Return a feature of each histogram row in whole steps, each from its own record's values alone.

        A function that looked across records (a centred column, a rank) would let one record move all others, beyond
        what was priced. So a function of one column is evaluated on the public grid, and one of several columns on one
        record's values at a time; what fails or is no number counts as the midpoint of the declared bounds.
        """
        if feature.function is None:
            return exact[feature.name]
        if len(self.statistic.grids) == 1:
            return self._on_public_grid(feature)[index]
        if of_each_alone(feature.function):
            return _in_steps(feature, np.asarray(_quietly(feature, dict(columns)), dtype=np.float64))
        names = list(columns)
        rows = np.stack([columns[name] for name in names], axis=1) if len(index) else np.empty((0, len(names)))
        with silence():
            values = [_alone(feature, {n: row[i : i + 1].copy() for i, n in enumerate(names)}) for row in rows]
        return _in_steps(feature, np.array(values, dtype=np.float64))

    def _on_public_grid(self, feature: Feature) -> Integers:
        ((column, grid),) = self.statistic.grids
        places = np.arange(grid.steps + 1)
        values = np.asarray(float(grid.lower) + float(grid.step) * places, dtype=np.float64)
        made = _quietly(feature, {column: values.copy()})
        if made is None or made.shape != values.shape:
            with silence():
                made = np.array([_alone(feature, {column: values[i : i + 1].copy()}) for i in places])
        return _in_steps(feature, made)


def _in_steps(feature: Feature, made: Floats) -> Integers:
    with np.errstate(all="ignore"):
        centred = (np.nan_to_num(made, nan=feature.centre) - feature.centre) / feature.half_range
    return np.rint(np.clip(centred, -1.0, 1.0) * FEATURE_STEPS).astype(np.int64)


def _alone(feature: Feature, values: dict[str, Floats]) -> float:
    """Return the feature of one record; the midpoint of its bounds where it fails."""
    made = _quietly(feature, values)
    return float(made.ravel()[0]) if made is not None and made.size == 1 else feature.centre


def _quietly(feature: Feature, values: dict[str, Floats]) -> Floats | None:
    """Call a user's function on values it may not share, silently: a warning or an error would tell of the data."""
    function = feature.function
    return None if function is None else quietly(lambda: np.asarray(function(values), dtype=np.float64))


def resampled_of(statistic: Statistic, *, public: bool) -> ResampledStatistic:
    """Return a statistic as a bootstrap sees it; `public`: every record is known to be in the one cell."""
    if isinstance(statistic, SmoothStatistic):
        return ResampledSmooth(statistic)
    return (
        ResampledCount(statistic) if statistic.is_count else ResampledMean(statistic, "public" if public else "private")
    )
