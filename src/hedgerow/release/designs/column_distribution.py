"""The distribution of one column: all quantiles, shares and other readings of a call come from one tree of counts.

Which leaves, which tree and which law of noise is chosen from public facts, before the data are read: the choice is
that with the narrowest expected intervals, for values that lie three times as close together as spread over the bounds,
and of those that are as good the one with the fewest leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, CellLabels, Grid, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.distribution.noisy_distribution import Distribution, Read
from hedgerow.inference.distribution.noisy_tree import NoisyTree, plain_levels, typical_prefix_variance
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.region import JoinedRegions, ScoreRegion
from hedgerow.inference.score_test import SingleTest
from hedgerow.mechanisms.histograms import MOST_LEAVES as TREE_LEAVES
from hedgerow.mechanisms.histograms import TreeCounts, tree_counts
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.designs.design import (
    NOT_RELIABLE,
    Design,
    PartOfRecord,
    PublicFacts,
    Recorded,
    apply_policy,
    covers,
)
from hedgerow.release.designs.guess import ExpectedReading, GuessedReading, SupposedCell
from hedgerow.release.designs.value_law import ValueLaw, value_laws
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
FINE_STEPS, FINER_STEPS = 2**12, 2**16  # of a column whose step is not declared; of more than a million records
_LEAST_LEAVES, _FLAT, _MANY = 32, 2**12, 2**16
_BRANCHINGS, _TOPS = (2, 4, 8, 16, 32), (16, 64)
_REFINED = 5  # so many of the best shapes have their levels weighted for what is asked
_FACTORS = (2.0**0.5, 2.0**0.25)  # by which the weight of a level is moved, and by less and less
_GAIN = 1e-3  # of the logarithm of a width: a search of weights that gains less stops
_UNLIKE = 8.0  # at most so many times as precise as another level: what needs less is another tree
_ENOUGH = 1.002  # coarser leaves whose intervals are no wider than so many times the narrowest are enough
_CLOSER = 3.0  # how many times as dense values are about what is asked as if they were spread over the bounds
_NEAR = 0.7 + 0.6 * (np.arange(1, 34) * 0.618034 % 1.0)  # times a place: about it, and rarely at ends of large nodes
_RECORDS = 10_000  # of all cells, where their number is private
_USUAL = (0.25, 0.5, 0.75)
SETTLED = 1.25  # a guess settles an error if the laws that it leaves open agree on it up to this factor
_SIMULATED, _SIMULATED_COUNTS, _SEED = 48, 2**18, 20_261_124  # tables of a forecast, and counts in all of them


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves of a column: `group` neighbouring values of its grid each, the last one what is left of them."""

    column: str
    grid: Grid
    group: int

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return self.grid.steps // self.group + 1

    @property
    def edges(self) -> Floats:
        """Where leaves begin and end: half a step below their first values, but for the bounds."""
        low, high = self.grid.as_bounds()
        step = float(self.grid.step)
        starts = low + (np.arange(self.count) * self.group - 0.5) * step
        starts[0] = low
        return np.append(starts, high)


@dataclass(frozen=True, slots=True)
class Shape:
    """What is released of a cell: the law of noise, the tree and the relative precision of its levels.

    Attributes
    ----------
    law : "gaussian" or "laplace"
    branching : tuple of int
    rooted : bool
        Whether the count of the cell is released too.
    weights : tuple of float
        The relative precision of each released level from the top, the root included; empty where all are alike.
    """

    law: Literal["gaussian", "laplace"]
    branching: tuple[int, ...]
    rooted: bool
    weights: tuple[float, ...] = ()

    @property
    def level_weights(self) -> tuple[float, ...]:
        """The relative precision of each released level, from the top."""
        return self.weights or (1.0,) * (len(self.branching) + self.rooted)

    def mechanism(self, leaves: int, cells: int, precision: float, relation: Relation) -> TreeCounts:
        """Return the mechanism at μ, or ε, of `precision`."""
        return tree_counts(
            self.law, leaves, self.branching, self.level_weights, precision=precision, cells=cells, relation=relation
        )

    def in_words(self, leaves: int) -> str:
        """Return the shape as a plan says it."""
        noise = "Gaussian" if self.law == "gaussian" else "Laplace"
        if len(self.branching) == 1:
            return f"a histogram of {leaves:,} leaves with {noise} noise"
        below = self.level_weights[self.rooted :]
        most = max(below) / min(below)
        unlike = f", some {most:.2g} times as precise as others," if most > 1.0 else ""
        return f"a tree of {len(self.branching)} levels{unlike} over {leaves:,} leaves with {noise} noise"


class DistributionTable(AdditiveTable):
    """The released counts of all cells; `reading` holds them with the distributions that they tell."""

    __slots__ = ("reading",)

    def __init__(self, cells: Sequence[Mapping[str, Any]], mechanism: TreeCounts, reading: TableReading) -> None:
        super().__init__(cells, (), np.zeros((len(cells), 0)), np.zeros(0), mechanism.noise_law.name)
        object.__setattr__(self, "reading", reading)

    reading: TableReading


@dataclass(frozen=True, eq=False)
class TableReading:
    """The released counts of a column in all cells, and the distributions that they tell.

    Attributes
    ----------
    leaves : Leaves
    mechanism : TreeCounts
    levels : list of int64 array, (cells, nodes)
        As released, level by level from the top.
    n : int or None
        The number of records of the one cell, where it is public and all of them are in it.
    census : bool
        Whether these records are all there is to know.
    averaged : bool
        Whether the point of a quantile is the mean over the noise of its count; not so in records from before.
    """

    leaves: Leaves
    mechanism: TreeCounts
    levels: list[Integers]
    n: int | None
    census: bool
    averaged: bool = True

    @cached_property
    def cells(self) -> tuple[Distribution, ...]:
        """The distribution of each cell."""
        tree, edges = NoisyTree.of(self.mechanism, public=self.n is not None), self.leaves.edges
        below, root = plain_levels(self.levels, rooted=self.mechanism.rooted)
        total = root if self.n is None else np.full(len(self.levels[0]), float(self.n))
        leaves, records = tree.fitted(below, total)
        left = np.concatenate([np.zeros((len(leaves), 1)), np.cumsum(leaves, axis=1)], axis=1)
        largest = float(self.mechanism.noise_sds().max() ** 2) if self.mechanism.law == "laplace" else 0.0
        step = float(self.leaves.grid.step) if self.leaves.grid.declared else None
        return tuple(
            Distribution(edges, each, float(count), tree, largest, self.census, step, self.averaged)
            for each, count in zip(left, records, strict=True)
        )


@dataclass(frozen=True, slots=True)
class DistributionRelease:
    """The one table of a column, for all that a call reads from its distribution."""

    leaves: Leaves
    shape: Shape
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing

    @property
    def query(self) -> Query:
        """Count records by cell and value."""
        return Query(ValueOnGrid(self.leaves.column, self.leaves.grid), self.by)

    @property
    def public(self) -> bool:
        """Whether every record is known to be in the one cell, so that n is its number of records."""
        return self.facts.in_one_cell(self.by, self.missing)

    def mechanism(self, mu: float) -> TreeCounts:
        """Return the tree at μ; with Laplace noise at ε = √2·μ, whose sd is that of Gaussian noise."""
        precision = mu * math.sqrt(2.0) if self.shape.law == "laplace" else mu
        return self.shape.mechanism(self.leaves.count, self.query.cells, precision, self.facts.relation)

    def table(self, histogram: Histogram, mechanism: TreeCounts, source: NoiseSource) -> DistributionTable:
        """Count, and add an integer to each count."""
        histogram = apply_policy(histogram, self.missing, self.leaves.grid.steps)
        counts = np.zeros((histogram.cells, mechanism.leaves), dtype=np.int64)
        np.add.at(counts, (histogram.cell, histogram.index // self.leaves.group), histogram.count)
        levels = mechanism.noisy(counts, source)
        reading = TableReading(self.leaves, mechanism, levels, self._known, self.facts.census)
        return DistributionTable(self.query.labels, mechanism, reading)

    @property
    def _known(self) -> int | None:
        return self.facts.n if self.public else None


@dataclass(frozen=True, slots=True)
class DistributionStatistic(Design[TreeCounts, DistributionTable]):
    """One reading of the distribution of a column; all readings of a column share one question, price and draw."""

    drawn_by = TreeCounts
    kept_in = "distributions"
    statistic: Statistic
    release: DistributionRelease
    reason: str

    @classmethod
    def recorded(cls, about: Recorded, part: TreeCounts) -> Sequence[Self]:
        """Return the designs of the statistics that the counts of one column tell."""
        if about.leaves is None:
            return ()
        leaves = leaves_of(about.leaves)
        grids = [statistic.grid for statistic in about.statistics]
        grid = next((grid for grid in grids if grid.declared), grids[0])
        same = (grid.lower, grid.upper, grid.declared) == (leaves.grid.lower, leaves.grid.upper, leaves.grid.declared)
        if not same or (grid.declared and grid != leaves.grid) or leaves.column != about.statistics[0].grids[0][0]:
            return ()
        # The shape decides the mechanism, which is on record.
        shape = Shape("laplace" if part.law == "laplace" else "gaussian", (leaves.count,), part.rooted)
        release = DistributionRelease(leaves, shape, about.by, about.facts, about.missing)
        return (
            tuple(cls(statistic, release, "") for statistic in about.statistics) if leaves.count == part.leaves else ()
        )

    @property
    def drawn(self) -> DistributionRelease:
        """The one table of the column."""
        return self.release

    @property
    def query(self) -> Query:
        """The question of the whole table."""
        return self.release.query

    @property
    def method(self) -> str:
        """Name of the method, as in the contract."""
        return "distribution"

    @property
    def missing(self) -> Missing:
        """What becomes of a record in which a value is missing."""
        return self.release.missing

    def mechanism(self, mu: float) -> TreeCounts:
        """Return the mechanism of the whole table."""
        return self.release.mechanism(mu)

    def expected(self, mechanism: TreeCounts, supposed: SupposedCell) -> Sequence[GuessedReading]:
        """Return the errors for each law of the values that the guess leaves open.

        Those of a quantile are means over simulated tables: noise moves it to where the density is another. Those of
        shares and of what sums over all values are read from expected counts.
        """
        column, grid = self.release.leaves.column, self.release.leaves.grid
        guess, release = supposed.of(column), self.release
        laws = list(value_laws(guess, column, grid))
        readings = []
        for law in laws:
            facts = (round(supposed.records), release.public, release.facts.census)
            tables = _supposed_tables(release.leaves, mechanism, law, facts, self.statistic.family == "function")
            readings.append(self._mean_reading(tables, supposed.level))
        errors = [math.hypot(read.sampling_error or 0.0, read.privacy_error or 0.0) for read in readings]
        settled = laws[0].settles(_shares_of(self.statistic)) and (bool(guess.quantiles) or guess.settled_moments)
        settled = settled and max(errors) <= SETTLED * min(errors)
        return [
            GuessedReading(reading, law.words, settled=settled) for law, reading in zip(laws, readings, strict=True)
        ]

    def _mean_reading(self, tables: TableReading, level: float) -> ExpectedReading:
        """Return what is read of tables on average."""
        reads = [(self.statistic.read(cell, level), is_clear(cell)) for cell in tables.cells]
        width = float(np.mean([read.high - read.low for read, _ in reads]))
        clear = np.array([(read.standard_error, read.sampling_error) for read, clear in reads if clear])
        if 2 * len(clear) < len(reads):
            return ExpectedReading.hidden(width)
        total, sampling = clear.mean(axis=0).tolist()
        return ExpectedReading(sampling, 0.0, math.sqrt(max(total**2 - sampling**2, 0.0)), width, True)

    def added_up(self, mechanism: TreeCounts) -> tuple[str, ...]:
        """Return what is added up in each cell."""
        return ()  # the counts of all leaves have no names

    def part_of_record(self, first: Estimate) -> PartOfRecord:
        """Return the leaves of the table and its noisy counts by cell.

        ``public`` says that the release's n is the number of its records; ``averaged`` that points of quantiles are
        means over the noise; ``counts`` are those of each level, from the top.
        """
        reading = reading_behind(first)
        assert reading is not None  # as `estimates` makes it
        return PartOfRecord(self.kept_in, lambda: self._whole_table(reading))

    def _whole_table(self, reading: TableReading) -> dict[str, Any]:
        grid = self.release.leaves.grid
        return {
            "estimates": [],
            "column": self.release.leaves.column,
            "grid": [str(grid.lower), str(grid.upper), grid.steps],
            "declared": grid.declared,
            "group": self.release.leaves.group,
            "public": reading.n is not None,
            **({"averaged": True} if reading.averaged else {}),
            "cells": [
                {"cell": dict(cell), "counts": [level[place].tolist() for level in reading.levels]}
                for place, cell in enumerate(self.query.labels)
            ],
        }

    def table_on_record(self, record: Mapping[str, Any], mechanism: TreeCounts, cells: CellLabels) -> DistributionTable:
        """Return the counts that a record keeps."""
        facts = self.release.facts
        return DistributionTable(cells, mechanism, reading_of(record, mechanism, n=facts.n, census=facts.census))

    def table(self, data: Histogram, mechanism: TreeCounts, source: NoiseSource) -> DistributionTable:
        """Return the noisy counts of the whole table."""
        return self.release.table(data, mechanism, source)

    def estimates(self, table: DistributionTable) -> Cells:
        """Return one estimate per cell."""
        asked, reading = self.statistic, table.reading
        region = JoinedRegions([ScoreRegion(DistributionTest(asked, reading, at)) for at in range(len(reading.cells))])
        read = [asked.read(cell, 0.95) for cell in reading.cells]
        value, sampling, privacy = (
            np.array([getattr(number, name) for number in read])
            for name in ("value", "sampling_error", "privacy_error")
        )
        clear = np.array([is_clear(cell) for cell in reading.cells])
        errors = np.where(clear, sampling, math.nan), np.where(clear, privacy, math.nan)
        words = covered(asked, self.release.facts)
        subject = Subject(asked.name, asked.column, self.method, words, NOT_RELIABLE, self._remark())
        return Cells.plain(subject, table.cells, value, errors, region, reliable=clear)

    def _remark(self) -> str | None:
        leaves = self.release.leaves
        if leaves.group == 1 or not leaves.grid.declared:
            return None
        return f"Values are counted in leaves of {leaves.group:,} steps."


def reading_of(record: Mapping[str, Any], mechanism: TreeCounts, *, n: int | None, census: bool) -> TableReading:
    """Return the released table of a record, with its mechanism.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError
        It is no such record, or one of another mechanism.
    """
    leaves = leaves_of(record)
    levels = [
        np.array([cell["counts"][level] for cell in record["cells"]], dtype=np.int64)
        for level in range(len(mechanism.widths))
    ]
    shapes = [(mechanism.cells, nodes) for nodes in mechanism.nodes]
    if leaves.count != mechanism.leaves or [level.shape for level in levels] != shapes:
        raise ValueError("the table has another shape than its mechanism")
    if record["public"] and n is None:
        raise ValueError("its number of records is not public")
    averaged = bool(record.get("averaged", False))
    return TableReading(leaves, mechanism, levels, n if record["public"] else None, census, averaged)


def leaves_of(record: Mapping[str, Any]) -> Leaves:
    """Return the leaves of a table on record."""
    lower, upper, steps = record["grid"]
    grid = Grid(Fraction(lower), Fraction(upper), int(steps), bool(record["declared"]))
    return Leaves(str(record["column"]), grid, int(record["group"]))


def covered(statistic: Statistic, facts: PublicFacts) -> str:
    """Return what an interval is about: the values themselves, since it reaches over all of a leaf."""
    return covers(statistic, facts).replace(" and rounded to its grid", "")


def is_clear(distribution: Distribution) -> bool:
    """Whether the number of records is not under 2 sd of its noise."""
    return distribution.records >= max(1.0, 2.0 * math.sqrt(distribution.tree.root_variance))


@dataclass(frozen=True, slots=True)
class DistributionTest(SingleTest):
    """A reading of the distribution in one cell, as a test that is inverted: a `ScoreTest` of one number."""

    statistic: Statistic
    reading: TableReading
    cell: int

    method: ClassVar[str] = "inversion"

    @property
    def low(self) -> float:
        """The least that is possible."""
        return float(self.reading.leaves.edges[0]) if self.statistic.family == "function" else 0.0

    @property
    def high(self) -> float:
        """The most that is possible."""
        return float(self.reading.leaves.edges[-1]) if self.statistic.family == "function" else 1.0

    def accepted(self, level: float) -> tuple[float, float]:
        """Return the values that are not rejected at a level."""
        read: Read = self.statistic.read(self.reading.cells[self.cell], level)
        return read.low, read.high


def reading_behind(estimate: Estimate) -> TableReading | None:
    """Return the released table that an estimate was read from; None of what was read from none."""
    test = getattr(estimate._region, "test", None)
    return test.reading if isinstance(test, DistributionTest) else None


def distribution_release(
    statistics: Sequence[Statistic],
    by: tuple[Category, ...],
    facts: PublicFacts,
    missing: Missing,
    *,
    budget: Budget,
    laws: Sequence[Literal["gaussian", "laplace"]],
) -> tuple[DistributionRelease, str]:
    """Return the table with the narrowest expected intervals for what is asked of one column, and why it was chosen."""
    column, grid = statistics[0].grids[0]
    grid = next((statistic.grid for statistic in statistics if statistic.grid.declared), grid)
    steps = FINER_STEPS if facts.n is not None and facts.n > 1_000_000 else FINE_STEPS
    grid = grid if grid.declared else replace(grid, steps=steps)
    cells = math.prod(category.levels for category in by)
    known = facts.in_one_cell(by, missing)
    records = (facts.n if facts.n is not None else _RECORDS) / cells
    shares = tuple(sorted({share for statistic in statistics for share in _shares_of(statistic)}))
    asked = _AskedOfColumn(cells, facts.relation, known, records, shares)
    precisions = [(law, budget.epsilon if law == "laplace" else gaussian_mu(budget)) for law in laws]
    best: list[tuple[float, Leaves, Shape, float]] = []
    for group in _groups(grid, [line for statistic in statistics for line in statistic.lines], TREE_LEAVES // cells):
        leaves, part = Leaves(column, grid, group), group / grid.steps
        for law, precision in precisions:
            for branching in _trees(leaves.count):
                for rooted in (False,) if known else (False, True):
                    shape = Shape(law, branching, rooted)
                    best.append((asked.width(shape, leaves.count, precision, part), leaves, shape, precision))
    best.sort(key=lambda choice: choice[0])
    for width, leaves, shape, precision in best[:_REFINED]:
        if len(shape.level_weights) > 1:
            part = leaves.group / grid.steps
            width, shape = asked.weighted(shape, leaves.count, precision, part, width)
            best.append((width, leaves, shape, precision))
    best.sort(key=lambda choice: choice[0])
    enough = best[0][0] + math.log(_ENOUGH)
    leaves, shape = min(
        (choice for choice in best if choice[0] <= enough), key=lambda choice: (choice[1].count, choice[0])
    )[1:3]
    other = next(
        (choice for choice in best if choice[2].law != shape.law or choice[2].branching != shape.branching), None
    )
    beside = "" if other is None else f" (next best: {other[2].in_words(other[1].count)})"
    reason = f"one table of counts tells the whole distribution: {shape.in_words(leaves.count)}{beside}"
    return DistributionRelease(leaves, shape, by, facts, missing), reason


@lru_cache(maxsize=16)
def _supposed_tables(
    leaves: Leaves, mechanism: TreeCounts, law: ValueLaw, facts: tuple[int, bool, bool], drawn: bool
) -> TableReading:
    """Return tables of a law as the cells of one table, for (records, whether public, census).

    `drawn`: samples of the law, each released anew, with a fixed seed. Else one table, of the expected counts.
    """
    records, public, census = facts
    chances = np.add.reduceat(law.chances(leaves.grid), np.arange(0, leaves.grid.steps + 1, leaves.group))
    # Rounded so that all counts left of an edge are as expected to half a record.
    counts = np.diff(np.rint(np.cumsum(chances) * records), prepend=0.0).astype(np.int64)[None, :]
    rng, law_of_noise, sds = np.random.default_rng(_SEED), mechanism.law, mechanism.noise_sds()
    if drawn:
        runs = max(4, min(_SIMULATED, _SIMULATED_COUNTS // leaves.count))
        counts = np.tile(counts, (runs, 1)) if census else rng.multinomial(records, chances / chances.sum(), size=runs)
    levels = mechanism.level_counts(counts)
    if drawn:
        draw, scales = (rng.laplace, sds / math.sqrt(2.0)) if law_of_noise == "laplace" else (rng.normal, sds)
        levels = [
            level + np.rint(draw(0.0, scale, level.shape)).astype(np.int64)
            for level, scale in zip(levels, scales, strict=True)
        ]
    return TableReading(leaves, mechanism, levels, records if public else None, census)


def _shares_of(statistic: Statistic) -> tuple[float, ...]:
    share = getattr(statistic, "probability", None)
    return _USUAL if share is None else (float(share),)


def _groups(grid: Grid, lines: Sequence[float], most_leaves: int) -> Iterator[int]:
    """Yield how many values a leaf may hold: leaves begin at every line that is asked for, where its grid has it."""
    low, step = float(grid.lower), float(grid.step)
    within = [line for line in lines if grid.declared and low < line <= float(grid.upper)]
    common = math.gcd(*(round((line - low) / step) for line in within)) if within else 0
    most = max(1, grid.steps // _LEAST_LEAVES)
    tried = [group for group in range(1, most + 1) if common % group == 0] if common else [2**k for k in range(21)]
    fitting = [group for group in tried if group <= most and grid.steps // group < most_leaves]
    yield from fitting or [max(1, -(-grid.steps // (most_leaves - 1)))]


def _trees(leaves: int) -> Iterator[tuple[int, ...]]:
    """Yield the branchings that are tried: a histogram, and trees of equal branching but for the top."""
    trees = {(leaves,)} if leaves <= _FLAT else set()
    # Many leaves have as many nodes again above them where branchings are small: too many to keep.
    for b in (least for least in _BRANCHINGS if leaves <= _MANY or least >= 8):
        for top in (b, *(wide for wide in _TOPS if wide > b)):
            levels = max(1, math.ceil(math.log(leaves / top) / math.log(b) - 1e-9))
            if leaves > b**levels:
                trees.add((-(-leaves // b**levels), *((b,) * levels)))
    yield from sorted(trees)


@dataclass(frozen=True, slots=True)
class _AskedOfColumn:
    """What is asked of the distribution of a column, and of how many records."""

    cells: int
    relation: Relation
    known: bool
    records: float
    shares: tuple[float, ...]

    def width(self, shape: Shape, leaves: int, precision: float, part: float) -> float:
        """Return the mean log of the expected widths of what is asked, in units of the bounds' distance."""
        return _width(self, shape, leaves, precision, part)

    def weighted(self, shape: Shape, leaves: int, precision: float, part: float, width: float) -> tuple[float, Shape]:
        """Return the expected width, and the shape with the level weights that make it least: a search by coordinates.

        The price of all weights is the same: widths of noise are scaled to `precision` after they were weighted.
        """
        for factor in _FACTORS:
            before = math.inf
            while width < before - _GAIN:
                before = width
                for level, times in product(range(len(shape.level_weights)), (factor, 1.0 / factor)):
                    weights = list(shape.level_weights)
                    weights[level] *= times
                    if max(weights) <= _UNLIKE * min(weights):
                        moved = replace(shape, weights=tuple(weights))
                        width, shape = min(
                            (width, shape),
                            (self.width(moved, leaves, precision, part), moved),
                            key=lambda choice: choice[0],
                        )
        return width, shape


@lru_cache(maxsize=8192)
def _width(asked: _AskedOfColumn, shape: Shape, leaves: int, precision: float, part: float) -> float:
    mechanism = shape.mechanism(leaves, asked.cells, precision, asked.relation)
    shares, records = np.array(asked.shares), asked.records
    # Where the values lie is not known: about the same share of the bounds, or all in their lowest part. The noise of a
    # place depends on which nodes end there, so that of several is averaged.
    near = np.outer(shares * leaves, np.concatenate([_NEAR, _NEAR / _CLOSER]))
    places = np.clip(np.rint(near), 1, leaves - 1).astype(np.int64)
    noise = typical_prefix_variance(mechanism, places, shares[:, None], public=asked.known).mean(axis=1)
    sd = np.sqrt(records * shares * (1.0 - shares) + noise) / max(records, 1.0)
    return float(np.log(3.92 * np.minimum(sd, 1.0) / _CLOSER + part).mean())
