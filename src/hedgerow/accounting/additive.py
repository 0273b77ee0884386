"""What each single additive release costs: the worst pair of neighbours, as terms that composition can add up.

A term is one independent coordinate of a worst pair. Counts move by 1, so their pair is exact: one shift under
add-remove, two (in two cells) under replace-one. A vector of moments is priced by the largest Σ d_i²/w_i² over all its
integer pairs.

From the lattice to the line
----------------------------
Moments carry DISCRETE Gaussian noise of integer width W ≥ 1000, yet are priced as continuous ones of width
W' = √(W² − r²), r = 2, and that is a proof, not an approximation. Let x ~ N(v, W'²) with v an integer, and round it at
random to an integer z with P(z | x) ∝ exp(−(z − x)²/2r²). By Poisson summation the normaliser Σ_z exp(−(z − x)²/2r²)
lies within √(2π)·r·(1 ± 2.1·e^(−2π²r²)) for every x, so z is distributed as a discrete Gaussian of centre v and width W
up to a factor 1 ± η, η ≤ 5·e^(−2π²r²) < 1e-33. Rounding is post-processing and does not know v, works coordinate by
coordinate, and holds for mixtures over integer v too. So the discrete release costs no more than the continuous one at
W', plus 2·ln(1 + η) a coordinate: below the last digit of a double, and covered by the upward rounding here.
(The proof is written out in ``docs/methods/lattice.md``.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hedgerow.accounting.averaged.averaged_laplace import averaged_curve
from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.resampled.resampled import resampled_curve
from hedgerow.accounting.resampled.resampled_units import units_curve
from hedgerow.accounting.resampled.smoothed_resample import smoothed_curve
from hedgerow.errors import UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.layout import Widths
from hedgerow.mechanisms.mechanism import (
    AveragedLaplaceCounts,
    AveragedLaplaceMoments,
    AveragedLaplaceNoise,
    CellTotals,
    Composition,
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
    ResampledUnits,
    Single,
    SmoothedResample,
    SparseVector,
)

SMOOTHING = 2.0
_ROUND_UP = 1.0 + 1e-12
# The width of the continuous noise over that of the discrete one, at the least width that a lattice has; see above.
_SMOOTHED = math.sqrt(1.0 - (SMOOTHING / 1000.0) ** 2)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A continuous Gaussian pair at distance μ standard deviations."""

    mu: float


@dataclass(frozen=True, slots=True)
class Discrete:
    """`times` discrete Gaussian pairs of width `sd`, each shifted by 1."""

    sd: float
    times: int


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """`times` two-sided geometric pairs of scale `scale`, each shifted by 1."""

    scale: float
    times: int


@dataclass(frozen=True, slots=True)
class Laplace:
    """A Laplace pair at distance `epsilon` scales."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class Pure:
    """Any pair whose loss never exceeds `epsilon`."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class Resampled:
    """A release known by its whole curve, as a resampled one: the maximum over its pairs, which is itself a curve.

    `pure` is an ε at which δ is 0, where there is one.
    """

    curve: Curve
    pure: float = math.inf


@dataclass(frozen=True, slots=True)
class Revealed:
    """With probability `chance` everything is told, else nothing: δ(ε) = chance for every ε."""

    chance: float


Term = Gaussian | Discrete | DiscreteLaplace | Laplace | Pure | Resampled | Revealed


def terms_of(mechanism: Mechanism, relation: Relation) -> tuple[Term, ...]:
    """Return the worst pair of a mechanism as independent terms.

    Raises
    ------
    UncertifiedError
        HG401: the mechanism has no certified pair here.
    """
    if isinstance(mechanism, Composition):
        return tuple(term for part in mechanism.parts for term in terms_of(part, relation))
    return (_term(mechanism, relation),)


def _term(mechanism: Single, relation: Relation) -> Term:
    match mechanism:
        case GeometricCounts(scale=scale, cells=cells):
            return DiscreteLaplace(scale, _cells_touched(cells, relation))
        case GaussianCounts(sd=sd, cells=cells):
            times = _cells_touched(cells, relation)
            # Wide noise is priced as continuous, at one part in 5,000 of the noise: its exact law would take seconds.
            wide = sd >= 50.0 * SMOOTHING
            return Gaussian(math.sqrt(times / (sd**2 - SMOOTHING**2)) * _ROUND_UP) if wide else Discrete(sd, times)
        case MomentsGaussian(layout=layout, noise=noise):
            return Gaussian(layout.mu(relation, _smoothed(noise.widths())) * _ROUND_UP)
        case MomentsGeometric(layout=layout, noise=noise):
            return Pure(layout.pure(relation, noise.widths()) * _ROUND_UP)
        case CellTotals(law="gaussian"):
            return Gaussian(mechanism.mu(relation) / _SMOOTHED * _ROUND_UP)
        case CellTotals():
            return Pure(mechanism.pure(relation) * _ROUND_UP)
        case ResampledGaussian():
            return Resampled(resampled_curve(mechanism, relation))
        case ResampledUnits():
            return Resampled(units_curve(mechanism, relation))
        case Resample() if relation is Relation.REPLACE_ONE:
            return Revealed(min(1.0, mechanism.chance * _ROUND_UP))
        case SmoothedResample():
            return Resampled(smoothed_curve(mechanism, relation), mechanism.pure * _ROUND_UP)
        case GaussianNoise(noise_sd=sd, sensitivity=sensitivity):
            return Gaussian(sensitivity / sd * _ROUND_UP)
        case LaplaceNoise(scale=scale, sensitivity=sensitivity):
            return Laplace(sensitivity / scale * _ROUND_UP)
        case AveragedLaplaceCounts() | AveragedLaplaceMoments() | AveragedLaplaceNoise():
            averaged = averaged_curve(mechanism, relation)
            return Resampled(averaged.curve, averaged.pure)
        case SparseVector(relation=stated) if stated is relation:
            return Pure(mechanism.pure() * _ROUND_UP)
        case HistogramRounds():
            return Gaussian(mechanism.mu(relation) / _SMOOTHED * _ROUND_UP)
        case RandomisedRecords() if relation is Relation.REPLACE_ONE:
            return Pure(mechanism.pure() * _ROUND_UP)
    raise UncertifiedError(
        "HG401", rule="Only mechanisms with a known worst pair are priced.", finding="Found another kind."
    )


def _cells_touched(cells: int, relation: Relation) -> int:
    """Return how many cells one record moves: replaced, it can leave one and enter another, which costs most."""
    return min(cells, 2) if relation is Relation.REPLACE_ONE else 1


def _smoothed(widths: Widths) -> Widths:
    """Return the widths of the continuous pair that the discrete one is a rounding of; see the module's notes.

    A width in units is W/2^bits with W ≥ 1000, so √(W² − r²) ≥ W·√(1 − (r/1000)²) whatever the lattice.
    """
    return Widths(
        None if widths.count is None else widths.count * _SMOOTHED,
        widths.total * _SMOOTHED,
        None if widths.square is None else widths.square * _SMOOTHED,
    )
