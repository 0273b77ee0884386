"""Averages of k Laplace releases: noise that is a sum of k Laplace numbers, pure ε and close to normal.

k releases of one quantity at ε/k each have Laplace noise of scale kΔ/ε; their average has noise Σ_j L_j, each L_j of
scale Δ/ε (Brawner & Honaker, §4). Only the average is released. What is drawn is its form on the integers: the sum of
k independent two-sided geometric numbers. One of them alone makes the release (Δ/scale)-private, and adding the others
is post-processing, so the whole is; it is not more private than that, since the ratio of neighbouring probabilities
tends to e^(Δ/scale) far out. How rarely it comes near is what `hedgerow.accounting.averaged.averaged_laplace` computes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.layout import MomentsLayout
from hedgerow.mechanisms.moments_noise import MomentsNoise
from hedgerow.noise.lattice import require_drawable, require_positive

MOST_DRAWS = 500
"""More would be as normal and no more private; binomial coefficients of up to twice this many still fit a double."""


@dataclass(frozen=True, slots=True)
class AveragedLaplaceCounts:
    """Counts of `cells` disjoint cells, each plus the sum of `draws` integers, P(z) ∝ exp(−|z|/scale).

    One record touches one cell by 1 under add-remove; under replace-one two cells where there are two.
    """

    scale: float
    draws: int
    cells: int
    type: Literal["averaged-laplace-counts"] = "averaged-laplace-counts"

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, cells=self.cells)
        require_drawable(self.scale)
        _require_draws(self.draws)

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of one count: √k times that of one draw, √(2α)/(1 − α), α = e^(−1/scale)."""
        alpha = math.exp(-1.0 / self.scale)
        return math.sqrt(2.0 * alpha * self.draws) / -math.expm1(-1.0 / self.scale)


@dataclass(frozen=True, slots=True)
class AveragedLaplaceMoments:
    """(count, Σ y, Σ (y² − o)) of each cell, each coordinate plus the sum of `draws` integers on its own lattice.

    The width of a coordinate's lattice noise is the scale of ONE draw.
    """

    layout: MomentsLayout
    noise: MomentsNoise
    draws: int
    type: Literal["averaged-laplace-moments"] = "averaged-laplace-moments"

    def __post_init__(self) -> None:
        _require_draws(self.draws)


@dataclass(frozen=True, slots=True)
class AveragedLaplaceNoise:
    """One number of the stated sensitivity plus the sum of `draws` Laplace numbers of the stated scale. For prices."""

    scale: float
    draws: int
    sensitivity: float
    type: Literal["averaged-laplace"] = "averaged-laplace"

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, sensitivity=self.sensitivity)
        _require_draws(self.draws)

    @property
    def noise_sd(self) -> float:
        """√(2k) × scale."""
        return math.sqrt(2.0 * self.draws) * self.scale


def _require_draws(draws: int) -> None:
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= MOST_DRAWS:
        raise ParameterError(
            "HG406",
            rule=f"An average is of 1 to {MOST_DRAWS} Laplace releases.",
            finding=f"Found {draws!r}.",
        )
