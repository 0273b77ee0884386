"""Frozen descriptions of what ran. Sampler and accountant read the same one: what is priced is what was drawn.

A description holds every parameter that pricing needs, and nothing about the data. Its meaning never changes: new
behaviour is a new class. ``type`` is its name in JSON.

========================  =======================================================================================
`GeometricCounts`         counts of disjoint cells, two-sided geometric noise
`GaussianCounts`          counts of disjoint cells, discrete Gaussian noise on the integers
`MomentsGaussian`         (count, sum, second moment) of cells, discrete Gaussian noise on a fine lattice
`MomentsGeometric`        the same with two-sided geometric noise on the lattice: pure ε
`CellTotals`              (sum, second moment) of cells, clamped to each cell's own bounds, noise of its own width
`ResampledGaussian`       k Poisson-resampled tables of sums, each plus discrete Gaussian noise on a fine lattice
`ResampledUnits`          the same where a unit has several rows, in several cells
`Resample`                draws with replacement, released as they are: (0, δ), and nothing better
`SmoothedResample`        draws from binary outcomes and as many made-up ones: pure ε
`GaussianNoise`           one number with Gaussian noise (priced, never drawn)
`LaplaceNoise`            one number with Laplace noise (priced, never drawn)
`AveragedLaplaceCounts`   counts of disjoint cells, the noise a sum of k two-sided geometric numbers
`AveragedLaplaceMoments`  moments of cells, the noise on each coordinate such a sum on a fine lattice: pure ε
`AveragedLaplaceNoise`    one number with the average of k Laplace releases (priced, never drawn)
`SparseVector`            questions against a noisy threshold until a number of them is answered yes: pure ε
`HistogramRounds`         rounds of (residual sum, count) over groups × buckets, discrete Gaussian noise
`RandomisedRecords`       every record replaced by random bits before it is used: pure ε, replace-one only
`Composition`             several of these on the same records
========================  =======================================================================================
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import MOST_ROWS
from hedgerow.mechanisms.averaged_laplace import AveragedLaplaceCounts, AveragedLaplaceMoments, AveragedLaplaceNoise
from hedgerow.mechanisms.cell_totals import CellTotals
from hedgerow.mechanisms.histogram_rounds import HistogramRounds
from hedgerow.mechanisms.layout import MomentsLayout, Presence
from hedgerow.mechanisms.moments_noise import MomentsNoise
from hedgerow.mechanisms.randomised_records import RandomisedRecords
from hedgerow.mechanisms.resample import Resample, SmoothedResample
from hedgerow.mechanisms.sparse_vector import SparseVector
from hedgerow.noise.lattice import LatticeNoise
from hedgerow.noise.lattice import require_positive as _positive

__all__ = [
    "AveragedLaplaceCounts",
    "AveragedLaplaceMoments",
    "AveragedLaplaceNoise",
    "CellTotals",
    "Composition",
    "GaussianCounts",
    "GaussianNoise",
    "GeometricCounts",
    "HistogramRounds",
    "LaplaceNoise",
    "LatticeNoise",
    "Mechanism",
    "MomentsGaussian",
    "MomentsGeometric",
    "MomentsNoise",
    "Presence",
    "RandomisedRecords",
    "Resample",
    "ResampledCoordinate",
    "ResampledGaussian",
    "ResampledUnits",
    "Shape",
    "SmoothedResample",
    "SparseVector",
    "UnitShape",
    "as_record",
    "parts_of",
]


@dataclass(frozen=True, slots=True)
class GeometricCounts:
    """Counts of `cells` disjoint cells plus two-sided geometric noise, P(Z = z) ∝ exp(−|z|/scale).

    One record touches one cell by 1 under add-remove; under replace-one two cells where there are two.
    """

    scale: float
    cells: int
    type: Literal["geometric"] = "geometric"

    def __post_init__(self) -> None:
        _positive(scale=self.scale, cells=self.cells)

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of one count: √(2α)/(1 − α), α = e^(−1/scale)."""
        alpha = math.exp(-1.0 / self.scale)
        return math.sqrt(2.0 * alpha) / -math.expm1(-1.0 / self.scale)


@dataclass(frozen=True, slots=True)
class GaussianCounts:
    """Counts of `cells` disjoint cells plus discrete Gaussian noise, P(Z = z) ∝ exp(−z²/2 sd²), z an integer."""

    sd: float
    cells: int
    type: Literal["discrete-gaussian"] = "discrete-gaussian"

    def __post_init__(self) -> None:
        _positive(sd=self.sd, cells=self.cells)

    @property
    def noise_sd(self) -> float:
        """Upper bound on the standard deviation of the noise: that of a discrete Gaussian is at most `sd`."""
        return self.sd


@dataclass(frozen=True, slots=True)
class MomentsGaussian:
    """(count, Σ y, Σ (y² − o)) of each cell plus discrete Gaussian noise, each coordinate on its own lattice."""

    layout: MomentsLayout
    noise: MomentsNoise
    type: Literal["moments-gaussian"] = "moments-gaussian"


@dataclass(frozen=True, slots=True)
class MomentsGeometric:
    """(count, Σ y, Σ (y² − o)) of each cell plus two-sided geometric noise, each coordinate on its own lattice."""

    layout: MomentsLayout
    noise: MomentsNoise
    type: Literal["moments-geometric"] = "moments-geometric"


Shape = Literal["value", "value-and-count", "count", "vector", "one-of"]


@dataclass(frozen=True, slots=True)
class ResampledCoordinate:
    """One released sum of integers y, |y| ≤ reach, with the lattice noise of ONE replicate."""

    reach: int
    noise: LatticeNoise

    def __post_init__(self) -> None:
        _positive(reach=self.reach)

    @property
    def distance(self) -> float:
        """The farthest that one record, drawn once, moves this sum: in sd of its noise."""
        return self.reach / self.noise.in_units


@dataclass(frozen=True, slots=True)
class ResampledGaussian:
    """k replicates: each record drawn r ~ Poisson(rate) times, its sums added up, noise of its own on each sum.

    The draws of a record are the same in all coordinates of a replicate and independent otherwise. What is known of a
    record's vector y is its shape:

    ===================  =====================================================================================
    ``value``            one centred value, |y| ≤ reach
    ``value-and-count``  a centred value, and 1
    ``count``            1
    ``vector``           any vector with |y_i| ≤ reach_i for every i
    ``one-of``           at most one coordinate is not 0 (a histogram)
    ===================  =====================================================================================

    A record lies in one of `cells` disjoint cells, or, where its presence is private, in none.
    """

    n_resamples: int
    rate: float
    shape: Shape
    coordinates: tuple[ResampledCoordinate, ...]
    presence: Presence
    cells: int
    type: Literal["resampled-gaussian"] = "resampled-gaussian"

    def __post_init__(self) -> None:
        _positive(n_resamples=self.n_resamples, rate=self.rate, cells=self.cells)
        needed = {"value": 1, "value-and-count": 2, "count": 1}.get(self.shape, len(self.coordinates))
        ones = [self.coordinates[-1].reach] if self.shape in ("count", "value-and-count") and self.coordinates else []
        if not self.coordinates or len(self.coordinates) != needed or any(reach != 1 for reach in ones):
            raise ParameterError(
                "HG406",
                rule="The coordinates of a resampled release must fit its shape.",
                finding=f"Found {len(self.coordinates)} for {self.shape!r}.",
            )
        if self.presence == "public" and (self.cells != 1 or self.shape in ("count", "value-and-count", "one-of")):
            raise ParameterError(
                "HG406", rule="Presence is public in a single cell only.", finding=f"Found {self.shape!r}."
            )


UnitShape = Literal["value-and-count", "count"]


@dataclass(frozen=True, slots=True)
class ResampledUnits:
    """k replicates of a table of unit totals: a unit of several rows is drawn r ~ Poisson(rate) times in each cell.

    A unit has at most `max_rows` rows in all, spread over the `cells` disjoint cells in any way. With N rows in a cell
    it adds there, each time it is drawn, N to the count and, for ``value-and-count``, a total of |S| ≤ N·m to the sum,
    where m = reach/max_rows bounds one row. Its draws are the same in both coordinates of a cell and replicate, and
    independent otherwise: between cells too. Reaches are those of a whole unit: max_rows·m, and max_rows.
    """

    n_resamples: int
    rate: float
    shape: UnitShape
    coordinates: tuple[ResampledCoordinate, ...]
    max_rows: int
    cells: int
    type: Literal["resampled-units"] = "resampled-units"

    def __post_init__(self) -> None:
        _positive(n_resamples=self.n_resamples, rate=self.rate, max_rows=self.max_rows, cells=self.cells)
        reaches = [coordinate.reach for coordinate in self.coordinates]
        needed = {"value-and-count": 2, "count": 1}[self.shape]
        fits = len(reaches) == needed and reaches[-1] == self.max_rows and reaches[0] % self.max_rows == 0
        if not fits or self.max_rows > MOST_ROWS:
            raise ParameterError(
                "HG406",
                rule="The coordinates of a release of unit totals must fit its shape and its limit of rows.",
                finding=f"Found {len(reaches)} for {self.shape!r} with {self.max_rows} rows a unit.",
            )


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """One number of the stated sensitivity plus Gaussian noise. For prices; a release draws integers instead."""

    noise_sd: float
    sensitivity: float
    type: Literal["gaussian"] = "gaussian"

    def __post_init__(self) -> None:
        _positive(noise_sd=self.noise_sd, sensitivity=self.sensitivity)


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """One number of the stated sensitivity plus Laplace noise of the stated scale. For prices."""

    scale: float
    sensitivity: float
    type: Literal["laplace"] = "laplace"

    def __post_init__(self) -> None:
        _positive(scale=self.scale, sensitivity=self.sensitivity)

    @property
    def noise_sd(self) -> float:
        """√2 × scale."""
        return math.sqrt(2.0) * self.scale


Single = (
    GeometricCounts
    | GaussianCounts
    | MomentsGaussian
    | MomentsGeometric
    | ResampledGaussian
    | ResampledUnits
    | Resample
    | SmoothedResample
    | GaussianNoise
    | LaplaceNoise
    | SparseVector
    | HistogramRounds
    | RandomisedRecords
    | AveragedLaplaceCounts
    | AveragedLaplaceMoments
    | AveragedLaplaceNoise
    | CellTotals
)


@dataclass(frozen=True, slots=True)
class Composition:
    """Several mechanisms run on the same records, each with noise of its own."""

    parts: tuple[Single, ...]
    type: Literal["composition"] = "composition"


Mechanism = Single | Composition


def parts_of(mechanism: Mechanism) -> tuple[Single, ...]:
    """Return the single mechanisms that a mechanism is made of: itself, or the parts of a composition.

    >>> parts_of(Composition((GeometricCounts(scale=1.0, cells=2),)))
    (GeometricCounts(scale=1.0, cells=2, type='geometric'),)
    """
    return mechanism.parts if isinstance(mechanism, Composition) else (mechanism,)


def as_record(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as plain JSON data, its type first.

    >>> as_record(GeometricCounts(scale=1.0, cells=2))
    {'type': 'geometric', 'scale': 1.0, 'cells': 2}
    """
    if isinstance(mechanism, Composition):
        return {"type": mechanism.type, "parts": [as_record(part) for part in mechanism.parts]}
    fields = _as_lists(dataclasses.asdict(mechanism))
    return {"type": fields.pop("type"), **fields}


def _as_lists(value: Any) -> Any:
    """Return tuples as lists, at any depth: JSON knows no others, and a record is compared with what was read."""
    if isinstance(value, dict):
        return {name: _as_lists(one) for name, one in value.items()}
    return [_as_lists(one) for one in value] if isinstance(value, (list, tuple)) else value
