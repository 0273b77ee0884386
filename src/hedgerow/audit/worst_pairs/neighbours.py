"""Worst-case neighbours: for each mechanism and relation, the two smallest data sets that its price must tell apart.

A pair is one record on each side, or one on one side only: other records add their own noise or nothing, so they can
only hide the one that differs. Where one record's movement depends on its values, the values that move most are found
here by brute force over the grid, on their own, not by asking the layout that priced them.

===============  ====================================  =========================================
pair             add-remove                            replace-one
===============  ====================================  =========================================
one-sided        a record | none                       where presence is private
same cell        –                                     the values that differ most
across cells     –                                     a record in one cell | in another
===============  ====================================  =========================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.worst_pairs.cell_totals import cell_contribution, farthest_records
from hedgerow.audit.worst_pairs.histogram_rounds import rounds_contribution
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    AveragedLaplaceNoise,
    CellTotals,
    GaussianCounts,
    GaussianNoise,
    GeometricCounts,
    HistogramRounds,
    LaplaceNoise,
    Mechanism,
    MomentsGaussian,
    MomentsGeometric,
    RandomisedRecords,
    Resample,
    ResampledGaussian,
    SmoothedResample,
    SparseVector,
)
from hedgerow.resampling.histogram import Histogram

Floats = NDArray[np.float64]
Moments = MomentsGaussian | MomentsGeometric | AveragedLaplaceMoments
_BRUTE = 1024  # grids up to here are searched over all pairs; finer ones over pairs that touch an end


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its cell and the grid index of its value."""

    cell: int
    index: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two data sets of one record or none, that differ in one unit."""

    name: str
    first: Record | None
    second: Record | None
    cells: int

    def histograms(self) -> tuple[Histogram, Histogram]:
        """Return both data sets as histograms."""
        return _histogram(self.first, self.cells), _histogram(self.second, self.cells)


def worst_pairs(mechanism: Mechanism, relation: Relation) -> tuple[Neighbours, ...]:
    """Return the pairs that an audit of `mechanism` must attack: each is a candidate for the worst.

    Raises
    ------
    UncertifiedError
        HG520: no pair is known for this kind of mechanism.

    Examples
    --------
    >>> [pair.name for pair in worst_pairs(GeometricCounts(1.0, cells=3), Relation.REPLACE_ONE)]
    ['across cells']
    """
    replace = relation is Relation.REPLACE_ONE
    match mechanism:
        case GaussianNoise() | LaplaceNoise() | AveragedLaplaceNoise():
            return (Neighbours("end values", Record(0, 1), Record(0, 0), 1),)
        case GeometricCounts(cells=cells) | GaussianCounts(cells=cells) | AveragedLaplaceCounts(cells=cells):
            return _across_or_one_sided(0, cells, across=replace and cells > 1)
        case MomentsGaussian() | MomentsGeometric() | AveragedLaplaceMoments():
            return _moments_pairs(mechanism, replace=replace)
        case CellTotals(kind_of=kind_of):
            return tuple(
                Neighbours(name, Record(*first), None if second is None else Record(*second), len(kind_of))
                for name, first, second in farthest_records(mechanism, replace=replace)
            )
        case ResampledGaussian() if mechanism.shape in ("value", "value-and-count", "count"):
            return _resampled_pairs(mechanism, replace=replace)
        case Resample() | SmoothedResample() if replace:
            return (Neighbours("one success among failures", Record(0, 1), Record(0, 0), 1),)
        case SparseVector():
            return (Neighbours("rising against falling", Record(0, 1), Record(0, 0), 1),)
        case HistogramRounds() if replace:
            other = Neighbours("other buckets", Record(0, 1), Record(1, 1), 2)
            return other, Neighbours("same bucket", Record(0, 1), Record(0, 0), 2)
        case HistogramRounds():
            return (Neighbours("one-sided", Record(0, 1), None, 2),)
        case RandomisedRecords() if replace:
            return (Neighbours("another cell", Record(0, 0), Record(0, 1), 1),)
    raise UncertifiedError(
        "HG520",
        rule="An audit attacks single mechanisms whose worst neighbours are known as records.",
        finding=f"Found {mechanism.type!r} of another shape.",
        remedy="Audit the parts of a composition one by one.",
    )


def contribution(mechanism: Mechanism, record: Record) -> tuple[Floats, Floats]:
    """Return what one record, drawn once, adds to its cell, and the widths of the noise there; both (features,)."""
    match mechanism:
        case GaussianNoise(noise_sd=width, sensitivity=distance) | LaplaceNoise(scale=width, sensitivity=distance):
            return np.array([float(record.index)]), np.array([width / distance])
        case AveragedLaplaceNoise(scale=width, sensitivity=distance):
            return np.array([float(record.index)]), np.array([width / distance])
        case GeometricCounts(scale=width) | GaussianCounts(sd=width) | AveragedLaplaceCounts(scale=width):
            return np.ones(1), np.array([width])
        case MomentsGaussian() | MomentsGeometric() | AveragedLaplaceMoments():
            return _moments_of(mechanism, np.array([record.index]))[0], _moments_widths(mechanism)
        case CellTotals():
            return cell_contribution(mechanism, record.cell, record.index)
        case ResampledGaussian():
            value = 2.0 * record.index - mechanism.coordinates[0].reach
            vector = {"value": [value], "count": [1.0], "value-and-count": [value, 1.0]}[mechanism.shape]
            return np.array(vector), np.array([one.noise.in_units for one in mechanism.coordinates])
        case HistogramRounds():
            return rounds_contribution(mechanism, record.index)
    raise TypeError(mechanism.type)


def _moments_pairs(mechanism: Moments, *, replace: bool) -> tuple[Neighbours, ...]:
    layout = mechanism.layout
    power = 2 if isinstance(mechanism, MomentsGaussian) else 1
    every = np.arange(layout.steps + 1)
    ends = every if layout.steps <= _BRUTE else np.array([0, layout.steps])
    moved = _moments_of(mechanism, every) / _moments_widths(mechanism)
    pairs: list[Neighbours] = []
    if replace:
        cost = np.stack([(np.abs(moved - moved[end]) ** power).sum(axis=1) for end in ends])
        end, other = np.unravel_index(int(cost.argmax()), cost.shape)
        pairs.append(Neighbours("same cell", Record(0, int(ends[end])), Record(0, int(every[other])), layout.cells))
    if not replace or layout.presence == "private":
        farthest = int((np.abs(moved) ** power).sum(axis=1).argmax())
        pairs += _across_or_one_sided(farthest, layout.cells, across=replace and layout.cells > 1)
    return tuple(pairs)


def _resampled_pairs(mechanism: ResampledGaussian, *, replace: bool) -> tuple[Neighbours, ...]:
    top, cells = mechanism.coordinates[0].reach, mechanism.cells
    pairs: list[Neighbours] = []
    if replace and mechanism.shape != "count":
        pairs.append(Neighbours("same cell", Record(0, top), Record(0, 0), cells))
    if not replace or mechanism.presence == "private":
        pairs += _across_or_one_sided(top, cells, across=replace and cells > 1)
    return tuple(pairs)


def _across_or_one_sided(index: int, cells: int, *, across: bool) -> tuple[Neighbours, ...]:
    if across:
        return (Neighbours("across cells", Record(0, index), Record(1, index), cells),)
    return (Neighbours("one-sided", Record(0, index), None, cells),)


def _moments_of(mechanism: Moments, index: NDArray[np.int64]) -> Floats:
    layout, noise = mechanism.layout, mechanism.noise
    y = (layout.start + layout.stride * index).astype(np.float64)
    offset = layout.offset if noise.count else 0
    columns = [np.ones_like(y)] if noise.count else []
    columns += [y] + ([y * y - offset] if noise.square else [])
    return np.stack(columns, axis=1)


def _moments_widths(mechanism: Moments) -> Floats:
    return np.array([noise.in_units for noise in mechanism.noise.coordinates().values()])


def _histogram(record: Record | None, cells: int) -> Histogram:
    place = [] if record is None else [record]
    cell, index = np.array([r.cell for r in place]), np.array([r.index for r in place])
    return Histogram.from_triplets(cell, index, np.ones(len(place), dtype=np.int64), cells=cells)
