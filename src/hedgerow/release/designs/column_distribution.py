"""The distribution of one column: all quantiles, shares and other readings of a call come from one tree of counts.

`table_choice` chooses the leaves, the tree and the law of noise; `voting` says what records count as where each is not
one of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import Query, ValueOnGrid
from hedgerow.facts.columns import Category, CellLabels, Grid, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.distribution.noisy_distribution import Distribution, Read
from hedgerow.inference.distribution.noisy_tree import NoisyTree, plain_levels
from hedgerow.inference.distribution.vote_spread import SpreadNumbers, record_of, spans_of
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.estimates_of_cells import Cells, Subject
from hedgerow.inference.region import JoinedRegions, ScoreRegion
from hedgerow.inference.score_test import SingleTest
from hedgerow.mechanisms.histograms import TreeCounts, tree_counts
from hedgerow.mechanisms.vote_tree import SHARES, VoteTree, vote_tree
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.designs.design import (
    NOT_RELIABLE,
    Design,
    PartOfRecord,
    PublicFacts,
    Recorded,
    apply_policy,
    covers,
    rows_kept,
)
from hedgerow.release.designs.guess import ExpectedReading, GuessedReading, SupposedCell
from hedgerow.release.designs.value_law import ValueLaw, value_laws
from hedgerow.release.designs.voting import CastVotes, Voting, votes_in_words, voting_of
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.statistic import Statistic

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
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

    def mechanism(
        self, leaves: int, cells: int, precision: float, relation: Relation, voting: Voting | None = None
    ) -> TreeCounts:
        """Return the mechanism at μ, or ε, of `precision`: of records, or of votes."""
        if voting is not None:
            about: dict[str, Any] = {"precision": precision, "cells": cells, "relation": relation}
            return vote_tree(self.law, leaves, self.branching, self.level_weights, votes=voting.of_unit, **about)
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
        As released, level by level from the top; votes in steps.
    n : int or None
        The number of records of the one cell, where it is public and all of them are in it.
    census : bool
        Whether these records are all there is to know.
    averaged : bool
        Whether the point of a quantile is the mean over the noise of its count; not so in records from before.
    spread : SpreadNumbers or None
        How units vary, where they have votes.
    """

    leaves: Leaves
    mechanism: TreeCounts
    levels: list[Integers]
    n: int | None
    census: bool
    averaged: bool = True
    spread: SpreadNumbers | None = None

    @cached_property
    def cells(self) -> tuple[Distribution, ...]:
        """The distribution of each cell."""
        tree, edges = NoisyTree.of(self.mechanism, public=self.n is not None), self.leaves.edges
        one = self.mechanism.steps_of_one
        below, root = plain_levels(self.levels, rooted=self.mechanism.rooted, steps=one)
        total = root if self.n is None else np.full(len(self.levels[0]), float(self.n))
        leaves, records = tree.fitted(below, total)
        left = np.concatenate([np.zeros((len(leaves), 1)), np.cumsum(leaves, axis=1)], axis=1)
        largest = float((self.mechanism.noise_sds().max() / one) ** 2) if self.mechanism.law == "laplace" else 0.0
        step = float(self.leaves.grid.step) if self.leaves.grid.declared else None
        spreads = [None if self.spread is None else self.spread.of(*about) for about in enumerate(records.tolist())]
        return tuple(
            Distribution(edges, each, float(count), tree, largest, self.census, step, self.averaged, spread)
            for each, count, spread in zip(left, records, spreads, strict=True)
        )


@dataclass(frozen=True, slots=True)
class DistributionRelease:
    """The one table of a column, for all that a call reads from its distribution.

    Attributes
    ----------
    leaves : Leaves
    shape : Shape
    by : tuple of Category
    facts : PublicFacts
    missing : Missing
    shares, lines : tuple of float
        What is asked for: about these shares, and left of these lines, it is told how units vary.
    bins : tuple of (int, int)
        The edges of the bins that are asked for, of those between two lines.
    """

    leaves: Leaves
    shape: Shape
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    shares: tuple[float, ...] = _USUAL
    lines: tuple[float, ...] = ()
    bins: tuple[tuple[int, int], ...] = ()

    @property
    def voting(self) -> Voting | None:
        """What records count as, where each is not one of its own."""
        return voting_of(self.facts)

    @property
    def query(self) -> Query:
        """Count records by cell and value."""
        value, voting = ValueOnGrid(self.leaves.column, self.leaves.grid), self.voting
        if voting is None:
            return Query(value, self.by)
        cuts = sorted({edge * self.leaves.group for span in self.bins for edge in span})
        return voting.query(value, self.by, self.missing, tuple(cuts))

    @property
    def public(self) -> bool:
        """Whether every record is known to be in the one cell, so that n is its number of records, or of votes."""
        return votes_known(self.facts, self.by, self.missing)

    def mechanism(self, mu: float) -> TreeCounts:
        """Return the tree at μ; with Laplace noise at ε = √2·μ, whose sd is that of Gaussian noise."""
        precision = mu * math.sqrt(2.0) if self.shape.law == "laplace" else mu
        cells = math.prod(category.levels for category in self.by)
        return self.shape.mechanism(self.leaves.count, cells, precision, self.facts.relation, self.voting)

    def table(self, histogram: Histogram, mechanism: TreeCounts, source: NoiseSource) -> DistributionTable:
        """Count, and add an integer to each count."""
        histogram, query, voting = (
            apply_policy(histogram, self.missing, self.leaves.grid.steps),
            self.query,
            self.voting,
        )
        if voting is not None:
            votes = voting.cast(histogram, query, self.leaves.group, mechanism.leaves)
            # `mechanism` makes it of votes where there is voting.
            reading = self.noisy_votes(votes, cast(VoteTree, mechanism), source)
            return DistributionTable(query.labels, mechanism, reading)
        counts = np.zeros((histogram.cells, mechanism.leaves), dtype=np.int64)
        np.add.at(counts, (histogram.cell, histogram.index // self.leaves.group), histogram.count)
        levels = mechanism.noisy(counts, source)
        reading = TableReading(self.leaves, mechanism, levels, self._known, self.facts.census)
        return DistributionTable(query.labels, mechanism, reading)

    def noisy_votes(self, votes: CastVotes, mechanism: VoteTree, source: NoiseSource) -> TableReading:
        """Return the noisy votes, and where they point to how units vary, with noise."""
        parts = mechanism.one // mechanism.parts
        levels = mechanism.noisy(votes.votes * parts, source)
        reading = TableReading(self.leaves, mechanism, levels, self._known, self.facts.census)
        if not mechanism.tells_spread:
            return reading
        spans, shares = list[list[tuple[int, int]]](), list[list[int]]()
        for cell in reading.cells:
            lines = [cell.cut(line).below for line in self.lines]
            listed, held = spans_of(cell.curve, self.shares, lines, self.bins)
            spans.append(listed)
            shares.append([min(max(round(share * SHARES), 1), SHARES - 1) for share in held])
        noise = mechanism.squares_noise(np.array(spans), np.array(shares), self.facts.relation)
        squares = [
            mechanism.noisy_squares(
                [votes.spread(cell, *place) * parts**2 for place in zip(spans[cell], shares[cell], strict=True)],
                noise,
                source,
            )
            for cell in range(len(spans))
        ]
        return replace(reading, spread=spread_numbers(mechanism, spans, shares, squares, self.facts.relation))

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
            typical = (1.0, 1.0) if release.voting is None else release.voting.typical
            drawn = self.statistic.family == "function"
            tables = _supposed_tables(release.leaves, mechanism, law, facts, typical, drawn)
            readings.append(self._mean_reading(tables, supposed.level))
        errors = [math.hypot(read.sampling_error or 0.0, read.privacy_error or 0.0) for read in readings]
        settled = laws[0].settles(shares_of(self.statistic)) and (bool(guess.quantiles) or guess.settled_moments)
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
        means over the noise; ``counts`` are those of each level, from the top, in steps of a vote where units have
        votes; ``spread`` then tells how units vary: between which edges, beside which share, and the squares.
        """
        reading = reading_behind(first)
        assert reading is not None  # as `estimates` makes it
        return PartOfRecord(self.kept_in, lambda: self._whole_table(reading))

    def _whole_table(self, reading: TableReading) -> dict[str, Any]:
        grid = self.release.leaves.grid
        return {
            "column": self.release.leaves.column,
            "grid": [str(grid.lower), str(grid.upper), grid.steps],
            "declared": grid.declared,
            "group": self.release.leaves.group,
            "public": reading.n is not None,
            **({"averaged": True} if reading.averaged else {}),
            "cells": [
                {"cell": dict(cell), "counts": [level[place].tolist() for level in reading.levels]}
                | ({} if reading.spread is None else {"spread": record_of(reading.spread, place)})
                for place, cell in enumerate(self.query.labels)
            ],
        }

    def table_on_record(self, record: Mapping[str, Any], mechanism: TreeCounts, cells: CellLabels) -> DistributionTable:
        """Return the counts that a record keeps."""
        facts = self.release.facts
        about: dict[str, Any] = {"n": facts.n, "census": facts.census, "relation": facts.relation}
        reading = reading_of(record, mechanism, **about)
        if len(reading.cells) != len(cells):
            raise ValueError("the record holds the counts of another number of cells")
        return DistributionTable(cells, mechanism, reading)

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
        remark = remark_of(self.release.leaves, self.release.facts)
        subject = Subject(asked.name, asked.column, self.method, words, NOT_RELIABLE, remark)
        return Cells.plain(subject, table.cells, value, errors, region, reliable=clear)


def remark_of(leaves: Leaves, facts: PublicFacts) -> str | None:
    """Return which rows of units were kept, and how many values a leaf of a declared grid has; None for neither."""
    rows = [] if facts.limit is None else [rows_kept(facts.limit)]
    coarse = leaves.group > 1 and leaves.grid.declared
    return " ".join([*rows, *[f"Values are counted in leaves of {leaves.group:,} steps."] * coarse]) or None


def votes_known(facts: PublicFacts, by: tuple[Category, ...], missing: Missing) -> bool:
    """Whether the number of votes in the one cell that there is is public."""
    voting = voting_of(facts)
    return facts.in_one_cell(by, missing) and (voting is None or voting.shared)


def spread_numbers(
    mechanism: VoteTree,
    spans: Sequence[Sequence[tuple[int, int]]],
    shares: Sequence[Sequence[int]],
    squares: Sequence[Sequence[float] | Floats],
    relation: Relation,
) -> SpreadNumbers:
    """Return what is released of how units vary; `shares` in parts of `SHARES`."""
    here, at = np.array(spans, dtype=np.int64), np.array(shares, dtype=np.int64)
    sds = np.full(len(at), mechanism.squares_sd(mechanism.squares_noise(here, at, relation)))
    exact = np.array(squares, dtype=np.float64)
    return SpreadNumbers(here, at / SHARES, exact, sds, float(mechanism.reach), mechanism.apart)


def reading_of(
    record: Mapping[str, Any], mechanism: TreeCounts, *, n: int | None, census: bool, relation: Relation
) -> TableReading:
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
    reading = TableReading(leaves, mechanism, levels, n if record["public"] else None, census, averaged)
    if not mechanism.tells_spread:
        return reading
    told = [cell["spread"] for cell in record["cells"]]
    shares = [[round(share * SHARES) for share in cell["shares"]] for cell in told]
    spans, squares = ([cell[name] for cell in told] for name in ("spans", "squares"))
    return replace(reading, spread=spread_numbers(cast(VoteTree, mechanism), spans, shares, squares, relation))


def leaves_of(record: Mapping[str, Any]) -> Leaves:
    """Return the leaves of a table on record."""
    lower, upper, steps = record["grid"]
    grid = Grid(Fraction(lower), Fraction(upper), int(steps), bool(record["declared"]))
    return Leaves(str(record["column"]), grid, int(record["group"]))


def covered(statistic: Statistic, facts: PublicFacts) -> str:
    """Return what an interval is about: the values themselves, since it reaches over all of a leaf."""
    about, semicolon, counted = covers(statistic, facts).replace(" and rounded to its grid", "").rpartition(";")
    return f"{about}{votes_in_words(facts)}{semicolon}{counted}"


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


@lru_cache(maxsize=16)
def _supposed_tables(
    leaves: Leaves,
    mechanism: TreeCounts,
    law: ValueLaw,
    facts: tuple[int, bool, bool],
    typical: tuple[float, float],
    drawn: bool,
) -> TableReading:
    """Return tables of a law as the cells of one table, for (units, whether public, census) and (votes, effect).

    `drawn`: samples of the law, each released anew, with a fixed seed. Else one table, of the expected counts.
    """
    (units, public, census), (votes, effect) = facts, typical
    chances = np.add.reduceat(law.chances(leaves.grid), np.arange(0, leaves.grid.steps + 1, leaves.group))
    # So many records drawn one by one, each of which counts `effect` votes, vary as the votes do.
    records = max(1, round(units * votes / effect))
    # Rounded so that all counts left of an edge are as expected to half a record.
    counts = np.diff(np.rint(np.cumsum(chances) * records), prepend=0.0).astype(np.int64)[None, :]
    rng, law_of_noise, sds = np.random.default_rng(_SEED), mechanism.law, mechanism.noise_sds()
    if drawn:
        runs = max(4, min(_SIMULATED, _SIMULATED_COUNTS // leaves.count))
        counts = np.tile(counts, (runs, 1)) if census else rng.multinomial(records, chances / chances.sum(), size=runs)
    levels = mechanism.level_counts(np.rint(counts * (effect * mechanism.steps_of_one)).astype(np.int64))
    if drawn:
        draw, scales = (rng.laplace, sds / math.sqrt(2.0)) if law_of_noise == "laplace" else (rng.normal, sds)
        levels = [
            level + np.rint(draw(0.0, scale, level.shape)).astype(np.int64)
            for level, scale in zip(levels, scales, strict=True)
        ]
    known = round(units * votes) if public else None
    return TableReading(
        leaves, mechanism, levels, known, census, spread=_supposed_spread(len(levels[0]), typical, units)
    )


def _supposed_spread(cells: int, typical: tuple[float, float], units: int) -> SpreadNumbers | None:
    """Return one effect at all shares, in each cell; None where records are drawn one by one."""
    votes, effect = typical
    if typical == (1.0, 1.0):
        return None
    middle, spans = np.full((cells, 1), 0.5), np.tile([[[0, 1]]], (cells, 1, 1))
    return SpreadNumbers(spans, middle, middle**2 * effect * votes * units, np.zeros(cells), effect)


def shares_of(statistic: Statistic) -> tuple[float, ...]:
    """Return the share that a quantile is of; usual ones for other statistics."""
    share = getattr(statistic, "probability", None)
    return _USUAL if share is None else (float(share),)
