"""One number of a stated sensitivity plus continuous noise: for prices; a release draws integers instead."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from hedgerow.accounting.calibrate import least_noise
from hedgerow.accounting.lower import Attained
from hedgerow.accounting.terms import Term
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats, Neighbours, Quote, Record, Specimen
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, AveragedLaplace, Law, OneWidth, require_draws
from hedgerow.noise.lattice import require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram


class Number(OneWidth):
    """One number that a record moves by at most `sensitivity`, under either relation."""

    __slots__ = ()
    sensitivity: float

    @property
    def priced_sd(self) -> float:
        """Standard deviation of the noise."""
        return self.noise_law.sd(self.width)

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return one pair at distance sensitivity/width."""
        return (self.noise_law.number_term(self.sensitivity / self.width),)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the two end values."""
        return (Neighbours("end values", Record(0, 1), Record(0, 0), 1),)

    def attained(self, relation: Relation) -> Attained:
        """Return the two end values."""
        return Attained((((self.noise_law.exact_number(self.sensitivity / self.width), 1),),))

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs in units of the sensitivity, (n, 1, 1), rounded to one public lattice."""
        width = self.width / self.sensitivity
        drawn = self.noise_law.draw_numbers(noise, width, n)
        # Doubles near 0 lie denser than elsewhere, which alone tells neighbours apart (see the mutant "textbook NumPy
        # Laplace"). What is priced is the real line.
        lattice = 2.0 ** (math.floor(math.log2(width)) - 30)
        return (np.rint((float(data.cell_sums(data.index)[0]) + drawn) / lattice) * lattice).reshape(n, 1, 1)

    def studied(self) -> Self:
        """Return the number with a sensitivity of 1: outputs are in units of it."""
        return replace(self, sensitivity=1.0)

    def contribution(self, record: Record) -> tuple[Floats, Floats]:
        """Return what one record adds, and the width of the noise, in units of the sensitivity."""
        return np.array([float(record.index)]), np.array([self.width / self.sensitivity])


@dataclass(frozen=True, slots=True)
class GaussianNoise(Number):
    """One number of the stated sensitivity plus Gaussian noise. For prices; a release draws integers instead."""

    noise_sd: float
    sensitivity: float
    type: Literal["gaussian"] = "gaussian"
    price_name: ClassVar[str | None] = "gaussian"
    sized_by_mu: ClassVar[bool] = True

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> GaussianNoise:
        """Return one number with noise of this standard deviation."""
        return cls(noise_sd, quote.sensitivity)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one number at μ = 1."""
        return (Specimen("one number, Gaussian", cls(1.0, 1.0), Relation.REPLACE_ONE, 1e-3, released=False),)

    def __post_init__(self) -> None:
        require_positive(noise_sd=self.noise_sd, sensitivity=self.sensitivity)

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return GAUSSIAN, self.noise_sd


@dataclass(frozen=True, slots=True)
class LaplaceNoise(Number):
    """One number of the stated sensitivity plus Laplace noise of the stated scale. For prices."""

    scale: float
    sensitivity: float
    type: Literal["laplace"] = "laplace"
    price_name: ClassVar[str | None] = "laplace"

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> LaplaceNoise:
        """Return one number with noise of this standard deviation."""
        return cls(noise_sd / math.sqrt(2.0), quote.sensitivity)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one number at ε = 1."""
        return (Specimen("one number, Laplace", cls(1.0, 1.0), Relation.REPLACE_ONE, 1e-3, released=False),)

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, sensitivity=self.sensitivity)

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return LAPLACE, self.scale

    @property
    def noise_sd(self) -> float:
        """√(2k) × scale, k the number of draws."""
        return self.priced_sd


@dataclass(frozen=True, slots=True)
class AveragedLaplaceNoise(Number):
    """One number of the stated sensitivity plus the sum of `draws` Laplace numbers of the stated scale. For prices."""

    scale: float
    draws: int
    sensitivity: float
    type: Literal["averaged-laplace"] = "averaged-laplace"
    price_name: ClassVar[str | None] = "averaged-laplace"

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> AveragedLaplaceNoise:
        """Return one number with noise of this standard deviation."""
        return cls(noise_sd / math.sqrt(2.0 * quote.n_draws), quote.n_draws, quote.sensitivity)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one number of ten draws."""
        averaged = cls(0.5, 10, 1.0)
        return (Specimen("one number, averaged Laplace", averaged, Relation.REPLACE_ONE, 1e-3, released=False),)

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, sensitivity=self.sensitivity)
        require_draws(self.draws)

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return AveragedLaplace(self.draws), self.scale

    @property
    def noise_sd(self) -> float:
        """√(2k) × scale, k the number of draws."""
        return self.priced_sd


def gaussian_mu(budget: Budget) -> float:
    """Return the μ of the plain Gaussian release that this budget buys: a yardstick, from public facts.

    >>> round(gaussian_mu(Budget(1.0, 1e-6)), 3)
    0.237
    """
    if budget.mu is not None:
        return budget.mu
    return least_noise(lambda mu: GaussianNoise(1.0, mu), Relation.REPLACE_ONE, budget).precision
