"""How far the noise of a whole table reaches: the half-width that all its cells keep to with a stated probability."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    CellTotals,
    GaussianCounts,
    GeometricCounts,
    MomentsGaussian,
    MomentsGeometric,
)
from hedgerow.noise.lattice import LatticeNoise
from hedgerow.tables.accuracy import (
    gaussian_half_width,
    geometric_half_width,
    geometric_probability,
    summed_half_width,
)

if TYPE_CHECKING:
    from hedgerow.tables.protected import ProtectedTable


def half_width(table: ProtectedTable, gamma: float) -> float:
    """Return h with P(all cells within ± h of the file's own clamped numbers) ≥ 1 − γ, in the column's unit.

    Raises
    ------
    ParameterError
        HG153: the noise of this table is not one plain number a cell, or may not be told; HG157 for γ.
    """
    mechanism = table.certificate.mechanism if isinstance(table.certificate, Certificate) else None
    cells, unit = len(table), table.unit_value
    if table.drawn is not None and table.known_total is not None:
        # |Z_i − mean(Z)| ≤ (1 − 1/k)·h + (1 − 1/k)·h where every |Z| ≤ h.
        unit *= 2.0 * (1.0 - 1.0 / cells)
    match mechanism:
        case GeometricCounts(scale=scale):
            return unit * geometric_half_width(scale, cells=cells, gamma=gamma)
        case GaussianCounts(sd=sd):
            # An integer within ± h of the normal law rounded: half a step more covers both.
            return unit * (gaussian_half_width(sd, cells=cells, gamma=gamma) + 0.5)
        case MomentsGeometric(noise=noise):
            steps = geometric_half_width(float(noise.total.width), cells=cells, gamma=gamma)
            return unit * steps / 2.0**noise.total.bits
        case MomentsGaussian(noise=noise):
            return unit * gaussian_half_width(noise.total.in_units, cells=cells, gamma=gamma)
        case AveragedLaplaceCounts(scale=scale, draws=draws):
            return unit * summed_half_width(draws, scale, cells=cells, gamma=gamma)
        case AveragedLaplaceMoments(noise=noise, draws=draws):
            steps = summed_half_width(draws, float(noise.total.width), cells=cells, gamma=gamma)
            return unit * steps / 2.0**noise.total.bits
        case CellTotals():
            return unit * _unequal(mechanism, gamma)
    raise ParameterError(
        "HG153",
        rule="The accuracy of a table follows from its certificate, where each cell has one number of plain noise.",
        finding="This table has none, or its noise may not be told.",
        remedy='Ask for the intervals of its cells, or release it with guarantee="dp" and unit "row".',
    )


def _unequal(mechanism: CellTotals, gamma: float) -> float:
    """Return the least h, to a millionth, with P(all |Z_i| ≤ h) ≥ 1 − γ, in units of y: one number for all cells.

    It is what the widest noise needs, of as many cells as have it; cells with narrower noise keep to far less.
    """
    many = np.bincount(mechanism.kind_of).tolist()
    noises = Counter[LatticeNoise]()
    for kind, cells in zip(mechanism.kinds, many, strict=True):
        noises[kind.total] += cells
    low, high = (
        max(_of_one_width(mechanism.law, noise, gamma, cells) for noise in noises)
        for cells in (1, len(mechanism.kind_of))
    )
    while high > low * (1.0 + 1e-6):
        middle = (low + high) / 2.0
        kept = math.prod(_chance(mechanism.law, noise, middle, cells) for noise, cells in noises.items())
        low, high = (low, middle) if kept >= 1.0 - gamma else (middle, high)
    return high


def _of_one_width(law: str, noise: LatticeNoise, gamma: float, cells: int) -> float:
    if law == "gaussian":
        return gaussian_half_width(noise.in_units, cells=cells, gamma=gamma)
    return geometric_half_width(float(noise.width), cells=cells, gamma=gamma) / 2.0**noise.bits


def _chance(law: str, noise: LatticeNoise, half_width: float, cells: int) -> float:
    """Return P(all |Z| ≤ h) of cells with the same noise; of discrete Gaussian noise by the normal law."""
    if law == "gaussian":
        return math.erf(half_width / noise.in_units / math.sqrt(2.0)) ** cells
    return geometric_probability(math.floor(half_width * 2.0**noise.bits), float(noise.width), cells=cells)
