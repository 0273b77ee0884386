"""Rows that are added up in a joint release: products of a row's columns as features, weights, products between cells.

A product of powers of a row's columns is a feature of the row, of which a unit's rows are added up. Products of the
totals of a unit in two cells tell how numbers of these cells vary together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.engines.query import ColumnProduct, Indicator, ValueOnGrid, WeightOnGrid
from hedgerow.inference.joint.totals import AcrossCells
from hedgerow.mechanisms.interface import Floats
from hedgerow.mechanisms.joint.joint_moments import JointMoments
from hedgerow.release.designs.design import PublicFacts
from hedgerow.resampling.counted_values import Monomial
from hedgerow.statistics.statistic import Powers

OfRow = ValueOnGrid | Indicator | ColumnProduct
_COARSER_WEIGHTS = 6  # bits


def products_of_rows(values: Sequence[ValueOnGrid | Indicator], powers: Powers) -> tuple[OfRow, ...]:
    """Return each feature of a row as a value, of which a unit's rows are added up."""
    features = list[OfRow]()
    for power in powers:
        factors = [(value, part) for value, part in zip(values, power, strict=True) if part]
        features.append(factors[0][0] if sum(power) == 1 else ColumnProduct(tuple(factors)))
    return tuple(features)


def read_as(powers: Powers) -> Floats | None:
    """Return how features of units, each a product of powers of a row's columns, are made of (1, what is released).

    A product u that is never negative is released as 2u − 1, which moves no farther than from −1 to 1: of a unit of r
    rows as 2u − r. The last feature is r. None where no feature is such a product.

    >>> read_as(((1,), (2,), (0,))).tolist()
    [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 1.0]]
    """
    even = [place for place, power in enumerate(powers) if any(power) and not any(part % 2 for part in power)]
    if not even:
        return None
    matrix = np.eye(len(powers), 1 + len(powers), 1)
    matrix[even, [1 + place for place in even]] = matrix[even, len(powers)] = 0.5
    return matrix


def across_cells(released: Floats, mechanism: JointMoments, noise_sds: Floats) -> AcrossCells | None:
    """Return second moments between cells from those released of each cell, Σ ff'; None where there are none.

    The noise is what all numbers were drawn with, which a mechanism that was chosen before the budget of a call was
    divided need not know.
    """
    places, numbers, steps = across_numbers(mechanism)
    if not places or len(released) != mechanism.layout.cells:
        return None
    return AcrossCells.of(released, numbers, noise_sds[places] / steps, len(mechanism.layout.features))


def across_numbers(mechanism: JointMoments) -> tuple[list[int], list[tuple[int, int, int]], Floats]:
    """Return the places of the products between cells among all numbers, their features with the lag, their scale."""
    layout = mechanism.layout
    named = [(place, one.of, one.lag) for place, one in enumerate(mechanism.coordinates) if one.kind == "across"]
    parts = layout.parts or 1
    steps = [float(layout.features[i].steps * layout.features[j].steps * parts**2) for _, (i, j), _ in named]
    return [place for place, _, _ in named], [(i, j, lag) for _, (i, j), lag in named], np.array(steps)


def behind_rows(monomial: Monomial, own: int, facts: PublicFacts) -> Monomial:
    """Return a monomial of `own` features a cell, those of further cells behind, as one of an engine's values.

    Behind the values of a unit's rows in a cell an engine has the number of these rows. Where rows are weighted no
    feature is made of it.
    """
    if facts.weights is None or facts.limit is None:
        return monomial
    return tuple((place // own * (own + 1) + place % own, power) for place, power in monomial)


def weight_on_grid(facts: PublicFacts, coarser: int, *, plain: bool) -> WeightOnGrid | None:
    """Return the weights of a release: on a coarser grid where products of columns, or rows of units, need the bits."""
    if facts.weights is None:
        return None
    fewer = 0 if plain and facts.limit is None else _COARSER_WEIGHTS
    return WeightOnGrid(facts.weights.column, facts.weights.grid(coarser=coarser + fewer))
