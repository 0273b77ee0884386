"""Records that count by a share of themselves: by their survey weight, or by a squared residual; how they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import ClippedSquare, SumsQuery, Value, WeightOnGrid
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import STEPS, Weights
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.resampling.counted_values import GridSums, Monomial

BITS_IN_ALL = 31
"""Of a product of columns: the square of two such, times a share of 18 bits, fits 84."""
_COARSER = 8
WEIGHTS: int = STEPS >> _COARSER
"""How many steps the grid of weights has."""


def weight_on_grid(weights: Weights) -> WeightOnGrid:
    """Return the column of weights as an engine reads it."""
    return WeightOnGrid(weights.column, weights.grid(coarser=_COARSER))


def shares_query(
    mechanism: JointMoments,
    values: Sequence[Value],
    share: ClippedSquare | WeightOnGrid,
    by: tuple[Category, ...],
    missing: Missing,
) -> SumsQuery:
    """Return the question for the sums of a mechanism over records that count by a share."""
    asked = tuple(_shared(one, len(values)) for one in mechanism.monomials())
    return SumsQuery((*values, share), asked, by, frozenset(range(len(values) + 1)), None, missing)


def shares_exact(mechanism: JointMoments, answer: GridSums, values: int) -> NDArray[np.object_]:
    """Return the exact integers to be released from the answer to such a question: (cells, numbers)."""
    sums = {one: answer.sums[_shared(one, values)] for one in mechanism.monomials()}
    return mechanism.exact(replace(answer, sums=sums))


def _shared(one: Monomial, place: int) -> Monomial:
    return (*one, (place, 1))
