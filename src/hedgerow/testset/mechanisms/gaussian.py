"""`gaussian`: the sum of the losses plus discrete Gaussian noise on a fine lattice; the default for many looks.

Under replace-one, one record changes the mean of the losses by at most (U − L)/n, so with noise of sd (U − L)/(n·μ) one
look costs μ. The costs of several looks are added up as Σ μ², exactly. Under add-remove n is private: the number of
records is released too, each record adds (1, u) with |u| ≤ 1 to the two sums, and the score is their ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from hedgerow.facts.relation import Relation
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.score import Quadratic
from hedgerow.mechanisms.mechanism import MomentsGaussian, MomentsNoise, Single
from hedgerow.mechanisms.moments import MomentsLayout
from hedgerow.noise.lattice import lattice_noise
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.testset.mechanisms.fit import fit
from hedgerow.testset.mechanisms.mechanism import Answer, Conditions, Drawn, LookMechanism, Options, Question
from hedgerow.testset.mechanisms.reading import (
    counts_design,
    estimate_of_mean,
    moments_design,
    noisy_sums,
    read_sums,
    read_table,
    restated_sums,
    two_sided,
)


@dataclass(frozen=True, slots=True)
class GaussianLook(LookMechanism):
    """Discrete Gaussian noise on the sum of the losses.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(GaussianLook.fitted(facts, Options()).expected_error(), 4)
    0.006
    """

    described: MomentsGaussian
    name: ClassVar[str] = "gaussian"
    describes: ClassVar[type] = MomentsGaussian

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise (HG401 at δ = 0)."""
        build = _Binary(conditions.relation) if conditions.binary else moments_design(conditions, "gaussian").mechanism
        return cls.of(conditions, fit(build, conditions, checked=checked), options)

    def expected_error(self) -> float | None:
        """Return (U − L)·sd/(2·reach·n), the noise on the score."""
        n, layout = self.conditions.n, self.described.layout
        return None if n is None else self.conditions.half_range * self._width / (layout.reach * n)

    def of_one_record(self) -> float:
        """Return D²/8 for one sum, D²/6 for a sum and its squares; D, in sds, from one value of a record to another.

        Under replace-one D is the price μ. Under add-remove the number of records is released too: given n, no value of
        a record moves it.
        """
        layout = replace(self.described.layout, presence="public")
        farthest = layout.mu(Relation.REPLACE_ONE, self.described.noise.widths().smoothed())
        return farthest**2 / (8.0 if self.conditions.binary else 6.0)

    def spread_of_sums(self, beta: float) -> tuple[float, float]:
        """Return the normal quantile of each, at half of `beta`."""
        noise, z = self.described.noise, 1.001 * two_sided(beta / 2.0)
        count = math.inf if noise.count is None else noise.count.in_units
        return z * count, z * noise.total.in_units / self.described.layout.reach

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return the normal quantile; noise on a lattice of 1,000 steps to an sd exceeds it by .1 % at most."""
        return 1.001 * two_sided(beta) * (self.expected_error() or math.inf) / (2.0 * self.conditions.half_range)

    def error_in_records(self) -> float | None:
        """Return sd/(2·reach): the noise on the sum of the losses, in ranges of one record."""
        return self._width / (2.0 * self.conditions.grid.steps)

    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Add noise."""
        design = moments_design(self.conditions, "gaussian")
        return noisy_sums(design, self.described, question.histogram, noise)

    def restated(self) -> Single:
        """Return the description with the layout of the losses."""
        if self.conditions.binary:
            return replace(self.described, layout=_Binary(self.conditions.relation).layout)
        return restated_sums(moments_design(self.conditions, "gaussian"), self.described)

    def read(self, drawn: Drawn) -> Answer:
        """Read noisy moments; of losses of 0 and 1 a noisy sum, whose square is known."""
        if not self.conditions.binary:
            design = moments_design(self.conditions, "gaussian")
            return read_sums(design, self.described, drawn, name=self.name)
        if self.conditions.n is None:
            count, total = drawn.numbers
            return Answer(self._ratio(count, total), sums=(count, total))
        (total,) = drawn.numbers
        variance = (self._width / self.conditions.n) ** 2
        return Answer(
            estimate_of_mean(
                total / self.conditions.n,
                self.conditions,
                mechanism=self.name,
                resampling=Quadratic(),
                noise_variance=variance,
            )
        )

    @property
    def _width(self) -> float:
        return self.described.noise.total.in_units

    def _ratio(self, count: float, total: float) -> Estimate:
        """Read (N, Σ u), with noise of one width, as the numbers of 1s and 0s, whose noises are independent."""
        halves = np.array([[(count + total) / 2.0, (count - total) / 2.0]])
        spread = np.full(2, self._width / math.sqrt(2.0))
        table = AdditiveTable(({},), ("equal", "different"), halves, spread, "gaussian")
        return read_table(counts_design(self.conditions, "gaussian"), table, name=self.name)


@dataclass(frozen=True, slots=True)
class _Binary:
    """Losses of 0 and 1 as u = ±1: no second moment, since u² = 1."""

    relation: Relation

    @property
    def layout(self) -> MomentsLayout:
        """U = ±1; its square is 1."""
        return MomentsLayout(-1, 2, 1, 0, "public" if self.relation is Relation.REPLACE_ONE else "private", 1)

    def __call__(self, mu: float) -> MomentsGaussian:
        if self.relation is Relation.REPLACE_ONE:
            return MomentsGaussian(self.layout, MomentsNoise(None, lattice_noise(2.0 / mu), None))
        both = lattice_noise(math.sqrt(2.0) / mu)
        return MomentsGaussian(self.layout, MomentsNoise(both, both, None))
