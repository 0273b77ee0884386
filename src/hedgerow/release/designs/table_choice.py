"""Which leaves, which tree and which law of noise tell a column's distribution: chosen from public facts alone.

The choice is that with the narrowest expected intervals, for values that lie three times as close together as spread
over the bounds, and of those that are as good the one with the fewest leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np

from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Grid, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.distribution.noisy_tree import typical_prefix_variance
from hedgerow.mechanisms.histograms import MOST_LEAVES as TREE_LEAVES
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.release.designs.column_distribution import DistributionRelease, Leaves, Shape, shares_of, votes_known
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.voting import Voting, voting_of
from hedgerow.statistics.statistic import Statistic

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
    known, voting = votes_known(facts, by, missing), voting_of(facts)
    votes, effect = (1.0, 1.0) if voting is None else voting.typical
    records = (facts.n if facts.n is not None else _RECORDS) / cells * votes
    shares = tuple(sorted({share for statistic in statistics for share in shares_of(statistic)}))
    asked = _AskedOfColumn(cells, facts.relation, known, records, shares, voting, effect)
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
    every = {line for statistic in statistics for line in statistic.lines}
    lines = tuple(sorted(line for line in every if line > float(grid.lower)))
    own = {share for statistic in statistics if not (lines and statistic.lines) for share in shares_of(statistic)}
    bins = _inner_bins(statistics, leaves)
    return DistributionRelease(leaves, shape, by, facts, missing, tuple(sorted(own)), lines, bins), reason


def _inner_bins(statistics: Sequence[Statistic], leaves: Leaves) -> tuple[tuple[int, int], ...]:
    """Return the edges of the bins that are asked for, of those with two lines that no other line lies between."""
    if not leaves.grid.declared:
        return ()
    low, width = float(leaves.grid.lower), float(leaves.grid.step) * leaves.group
    spans = {tuple((line - low) / width for line in statistic.lines) for statistic in statistics}
    whole = {tuple(map(round, span)) for span in spans if all(edge.is_integer() for edge in span)}
    edges = {edge for span in whole for edge in span}
    inner = {(span[0], span[1]) for span in whole if len(span) == 2 and 0 < span[0] < span[1] < leaves.count}
    return tuple(sorted(span for span in inner if not any(span[0] < edge < span[1] for edge in edges)))


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
    voting: Voting | None = None
    effect: float = 1.0

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
    mechanism = shape.mechanism(leaves, asked.cells, precision, asked.relation, asked.voting)
    shares, records = np.array(asked.shares), asked.records
    # Where the values lie is not known: about the same share of the bounds, or all in their lowest part. The noise of a
    # place depends on which nodes end there, so that of several is averaged.
    near = np.outer(shares * leaves, np.concatenate([_NEAR, _NEAR / _CLOSER]))
    places = np.clip(np.rint(near), 1, leaves - 1).astype(np.int64)
    noise = typical_prefix_variance(mechanism, places, shares[:, None], public=asked.known).mean(axis=1)
    sd = np.sqrt(records * shares * (1.0 - shares) * asked.effect + noise) / max(records, 1.0)
    return float(np.log(3.92 * np.minimum(sd, 1.0) / _CLOSER + part).mean())
