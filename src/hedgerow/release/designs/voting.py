"""Votes: what each record, or unit of several rows, counts as in the distribution of a column.

Rows of units count alike, at most L of each unit; or a unit has one vote, which is divided over its rows; or a record
counts as its weight. All three are histograms of votes, whose sampling error is not that of a binomial number: exact
sums of squares of units, at every leaf, come from the same question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.dialects.ranked_rows import RankedRows
from hedgerow.engines.query import JointGrid, Query, ValueOnGrid, WeightOnGrid
from hedgerow.errors import UncertifiedError
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import UnitLimit, max_rows_of
from hedgerow.mechanisms.vote_tree import SHARES, VotesOfUnit
from hedgerow.release.designs.design import PublicFacts
from hedgerow.resampling.counted_values import Histogram

Integers = NDArray[np.int64]
_COARSER = 8  # bits: each pair of a value and a weight that occurs is counted, which finer weights would make too many
_ALIKE = 0.5  # the correlation of rows of a unit that a plan takes


class CastVotes(NamedTuple):
    """The votes of a histogram in parts, and what tells how units vary, by cell and leaf: four (cells, leaves) arrays.

    Attributes
    ----------
    votes : int64 array
        Their sums.
    squares : int64 array
        Up to any edge, they add up to the sum of k² over units, k the unit's votes left of the edge.
    products : int64 array
        Likewise to the sum of k·r, r all votes of the unit in the cell.
    within : int64 array
        Between two neighbouring lines of bins, they add up to the sum of k², k the votes between them.
    """

    votes: Integers
    squares: Integers
    products: Integers
    within: Integers

    def spread(self, cell: int, span: tuple[int, int], share: int) -> int:
        """Return Σ (SHARES·k − share·r)² over the units of a cell, k their votes in a span of leaves; exact."""
        here = slice(*span)
        of_k, of_both = (
            int(part[cell, here].sum()) for part in (self.within if span[0] else self.squares, self.products)
        )
        return SHARES**2 * of_k - 2 * SHARES * share * of_both + share**2 * int(self.products[cell].sum())


@dataclass(frozen=True, slots=True)
class Voting:
    """What a row or a unit counts as.

    Attributes
    ----------
    limit : UnitLimit or None
        Of units of several rows.
    shared : bool
        Whether a unit has one vote in all, which its rows divide.
    weight : WeightOnGrid or None
        What a record counts as, where units are rows.
    census : bool
        Whether the records are all there is to know, so that it is not told how units vary.
    """

    limit: UnitLimit | None
    shared: bool
    weight: WeightOnGrid | None
    census: bool

    @property
    def of_unit(self) -> VotesOfUnit:
        """What one unit votes with."""
        rows = max_rows_of(self.limit)
        if self.weight is not None:
            parts, reach = self.weight.grid.steps, 1
        else:
            most = rows or 1
            parts, reach = (math.lcm(*range(1, most + 1)), 1) if self.shared else (1, most)
        return VotesOfUnit(parts, reach, rows, not self.census)

    def query(self, value: ValueOnGrid, by: tuple[Category, ...], missing: Missing, cuts: tuple[int, ...]) -> Query:
        """Return the question by which votes are counted; `cuts` are the least indices between lines of bins."""
        if self.weight is not None:
            return Query(JointGrid((value, self.weight)), by)
        return RankedRows(value, by, self.limit, missing, cuts=cuts)

    def cast(self, histogram: Histogram, query: Query, group: int, leaves: int) -> CastVotes:
        """Return the votes of leaves of `group` values each."""
        if self.weight is not None:
            assert isinstance(query.value, JointGrid)  # as `query` builds it
            index, vote = query.value.indices(histogram.index)
            squares = products = within = vote * vote
        else:
            assert isinstance(query, RankedRows)  # as `query` builds it
            rows = query.decoded(histogram.index)
            vote = self.of_unit.parts // rows.total if self.shared else np.ones_like(rows.total)
            index, squares, within = rows.value, vote**2 * (2 * rows.rank - 1), vote**2 * (2 * rows.within - 1)
            products = vote**2 * rows.rows
        made = []
        for number in (vote, squares, products, within):
            total = np.zeros((histogram.cells, leaves), dtype=np.int64)
            np.add.at(total, (histogram.cell, index // group), number * histogram.count)
            made.append(total)
        return CastVotes(*made)

    @property
    def typical(self) -> tuple[float, float]:
        """The votes of a unit, and the effect on sampling errors, as a plan takes them to be.

        Units have 1 to L rows with even chances, all in one cell, and rows of a unit have the correlation ½. Weights
        lie evenly between 0 and the largest.

        >>> Voting(UnitLimit("person", 3), False, None, False).typical
        (2.0, 1.6666666666666667)
        """
        if self.weight is not None:
            return 0.5, 2.0 / 3.0
        rows = np.arange(1.0, 2.0 if self.limit is None else self.limit.max_rows + 1.0)
        votes = np.ones_like(rows) if self.shared else rows
        # Of r rows with the votes v in all: v²(1/r + ½(1 − 1/r)).
        squares = votes**2 * (1.0 / rows + _ALIKE * (1.0 - 1.0 / rows))
        return float(votes.mean()), float(squares.mean() / votes.mean())


def voting_of(facts: PublicFacts) -> Voting | None:
    """Return what records count as; None where each counts alike, and is a unit.

    Raises
    ------
    UncertifiedError
        HG402: weights of units of several rows.
    """
    if not facts.totalled:
        return None
    if facts.limit is not None and facts.weights is not None:
        raise UncertifiedError(
            "HG402",
            rule="Weights have a certified price in quantiles, shares and distributions only for units of one row.",
            finding="In this request, a privacy unit has several rows.",
            remedy="Release the distribution without weights; or release a mean, a share or a variance with weights.",
        )
    weight = None if facts.weights is None else WeightOnGrid(facts.weights.column, facts.weights.grid(coarser=_COARSER))
    return Voting(facts.limit, facts.unit_weight == "unit", weight, facts.census)


def votes_in_words(facts: PublicFacts) -> str:
    """Return over what shares and quantiles are, of units of several rows; empty where each row is one.

    >>> from hedgerow.facts.relation import Relation, Target
    >>> votes_in_words(PublicFacts(Relation.ADD_REMOVE, UnitLimit("person", 4), Target.POPULATION, None))
    ' over rows, at most 4 of each person, which count alike'
    """
    if facts.limit is None:
        return ""
    if facts.unit_weight == "unit":
        return f" with one vote for each {facts.limit.column}, which its rows divide"
    return f" over rows, at most {facts.limit.max_rows} of each {facts.limit.column}, which count alike"
