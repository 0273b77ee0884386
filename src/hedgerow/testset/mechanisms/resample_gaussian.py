"""`resample_gaussian`: a Poisson resample of size n/Z about the public midpoint, plus discrete Gaussian noise.

What makes the resample of Mount & Zumel sound (docs/methods/testset.md): every record is drawn r ~ Poisson(1/Z) times
on its own, losses are centred at the midpoint of their bounds, noise is added, and the PUBLIC n/Z divides. It is priced
as one replicate of the private bootstrap at rate 1/Z. The resample adds almost no privacy to that of the noise, and has
an error of its own, at most R/2·√(Z/n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hedgerow.errors import UncertifiedError
from hedgerow.inference.score import Quadratic
from hedgerow.mechanisms.mechanism import ResampledCoordinate, ResampledGaussian, Single
from hedgerow.noise.lattice import lattice_noise
from hedgerow.noise.source import NoiseSource
from hedgerow.release.designs.design import END_PAIR
from hedgerow.testset.mechanisms.fit import fit
from hedgerow.testset.mechanisms.mechanism import (
    Answer,
    Conditions,
    Drawn,
    LookMechanism,
    Options,
    Question,
    replace_one_only,
)
from hedgerow.testset.mechanisms.reading import estimate_of_mean, two_sided


@dataclass(frozen=True, slots=True)
class ResampleGaussianLook(LookMechanism):
    """Poisson(1/Z) weights, the sum about the midpoint, discrete Gaussian noise."""

    described: ResampledGaussian
    name: ClassVar[str] = "resample_gaussian"
    describes: ClassVar[tuple[str, ...]] = ("resampled-gaussian",)
    assumes: ClassVar[tuple[str, ...]] = (END_PAIR,)

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise at rate 1/Z.

        Raises
        ------
        UncertifiedError
            HG431 under add-remove or at δ = 0; HG403 where Z lies outside [0.2, 10].
        """
        replace_one_only("resample_gaussian", conditions)
        if conditions.budget.delta == 0.0:
            raise UncertifiedError(
                "HG431",
                rule="A resample with Gaussian noise has no pure ε.",
                finding="Found delta=0.",
                remedy="Use mechanism='laplace', or declare a delta.",
            )
        reach, rate = conditions.grid.steps, 1.0 / options.thinning

        def build(mu: float) -> ResampledGaussian:
            coordinate = ResampledCoordinate(reach, lattice_noise(2.0 * reach * rate / mu))
            return ResampledGaussian(1, rate, "value", (coordinate,), "public", 1)

        return cls.of(conditions, fit(build, conditions, checked=checked), options)

    def expected_error(self) -> float | None:
        """Return R/2·√(Z/n + (Z·sd/n)²) at its largest: resampling and noise."""
        n = self.conditions.n or 1
        return self.conditions.half_range * math.sqrt(1.0 / (self.described.rate * n) + self._noise_variance(n))

    def information(self, looks: int) -> float:
        """Return n·looks·(λ + λ²)·reach²/(2σ²): how often a record is drawn does not depend on it."""
        (coordinate,) = self.described.coordinates
        rate, signal = self.described.rate, (coordinate.reach / coordinate.noise.in_units) ** 2
        return (self.conditions.n or 1) * looks * (rate + rate**2) * signal / 2.0

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return Bernstein's bound for the resample and the normal quantile for the noise, `beta` in halves."""
        drawn = self.described.rate * (self.conditions.n or 1)
        log = math.log(4.0 / beta)
        noise = 1.001 * two_sided(beta / 2.0) * math.sqrt(self._noise_variance(self.conditions.n or 1))
        return ((math.sqrt(2.0 * drawn * log) + log / 3.0) / drawn + noise) / 2.0

    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Resample, and add noise."""
        reach = self.conditions.grid.steps
        about = (2 * question.histogram.index - reach)[:, None]
        table = self.described.noisy(question.histogram, about, noise, cells=({},), names=("total",))
        return Drawn((float(np.ravel(table.values)[0]) / reach,))

    def restated(self) -> Single:
        """Return the description of one sum of the losses."""
        (coordinate,) = self.described.coordinates
        coordinate = replace(coordinate, reach=self.conditions.grid.steps)
        return ResampledGaussian(1, self.described.rate, "value", (coordinate,), "public", 1)

    def read(self, drawn: Drawn) -> Answer:
        """Divide by n/Z."""
        n, rate, (total,) = float(self.conditions.n or 1), self.described.rate, drawn.numbers
        u = total / (rate * n)
        # Var Σ r u = λ Σ u² ≤ λ n, and exactly that where every u is ±1.
        resampling = Quadratic(constant=1.0 / (rate * n))
        variance = self._noise_variance(n)
        return Answer(estimate_of_mean(self, u, resampling=resampling, noise_variance=variance))

    def _noise_variance(self, n: float) -> float:
        (coordinate,) = self.described.coordinates
        return (coordinate.noise.in_units / (self.described.rate * n * coordinate.reach)) ** 2
