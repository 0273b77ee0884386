"""`laplace`: the sum of the losses plus two-sided geometric noise on the integers; pure ε, best for very few looks.

One record moves the mean of the losses by at most (U − L)/n under replace-one, so a scale of (U − L)/(n·ε₁) makes a
look ε₁-private. At δ = 0 the looks' ε₁ add up; at δ > 0 their privacy losses are composed, which costs less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.mechanism import GeometricCounts, MomentsGeometric, Single
from hedgerow.noise.source import NoiseSource
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.moments import MomentsDesign
from hedgerow.testset.mechanisms.fit import fit
from hedgerow.testset.mechanisms.mechanism import Answer, Conditions, Drawn, LookMechanism, Options, Question
from hedgerow.testset.mechanisms.reading import counts_design, moments_design, noisy_sums, read_sums, restated_sums


@dataclass(frozen=True, slots=True)
class LaplaceLook(LookMechanism):
    """Two-sided geometric noise on the sum of the losses.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0, 0.0), 1, 1000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(LaplaceLook.fitted(facts, Options()).expected_error(), 5)
    0.00136
    """

    described: GeometricCounts | MomentsGeometric
    name: ClassVar[str] = "laplace"
    describes: ClassVar[tuple[type, ...]] = (GeometricCounts, MomentsGeometric)

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise."""
        return cls.of(conditions, fit(_design(conditions).mechanism, conditions, checked=checked), options)

    def expected_error(self) -> float | None:
        """Return the sd of the noise on the score."""
        n, described = self.conditions.n, self.described
        if n is None:
            return None
        if isinstance(described, GeometricCounts):
            return described.noise_sd / n
        scale = described.noise.total.in_units / described.layout.reach
        return math.sqrt(2.0) * self.conditions.half_range * scale / n

    def of_one_record(self) -> float:
        """Return ε₁²/8, ε₁ the pure ε of one look for another value of a record: twice that of a record that comes."""
        relation = self.conditions.relation
        both = 2.0 if relation is Relation.ADD_REMOVE else 1.0
        return (both * self.described.repeated(1, relation).epsilon_upper(0.0)) ** 2 / 8.0

    def spread_of_sums(self, beta: float) -> tuple[float, float]:
        """Return the quantile of each noise at half of `beta`; a number of 1s and one of 0s are added up."""
        described, log = self.described, math.log(2.0 / beta)
        if isinstance(described, GeometricCounts):
            both = 2.0 * (described.scale * log + 1.0)
            return both, both
        noise, reach = described.noise, described.layout.reach
        count = math.inf if noise.count is None else noise.count.in_units * log + 1.0
        return count, (noise.total.in_units * log + 1.0) / reach

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return the sum of the quantiles of its two-sided geometric variables."""
        n, described = self.conditions.n, self.described
        if n is None:
            return math.inf
        if isinstance(described, GeometricCounts):
            return (described.scale * math.log(1.0 / beta) + 1.0) / n
        noise = described.noise.total
        return (noise.in_units * math.log(1.0 / beta) + 1.0) / (2.0 * described.layout.reach * n)

    def error_in_records(self) -> float | None:
        """Return the noise on the sum of the losses, in ranges of one record."""
        described = self.described
        if isinstance(described, GeometricCounts):
            # Two counts, each with noise of its own, of which the middle takes half of each.
            return float(described.noise_sd / math.sqrt(2.0))
        return float(math.sqrt(2.0) * described.noise.total.in_units / (2.0 * self.conditions.grid.steps))

    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Add noise."""
        return noisy_sums(_design(self.conditions), self.described, question.histogram, noise)

    def read(self, drawn: Drawn) -> Answer:
        """Read noisy counts, or noisy moments."""
        return read_sums(_design(self.conditions), self.described, drawn, name=self.name)

    def restated(self) -> Single:
        """Return the description with the cells, or the layout, of the losses."""
        return restated_sums(_design(self.conditions), self.described)


def _design(conditions: Conditions) -> CountsDesign | MomentsDesign:
    return counts_design(conditions, "geometric") if conditions.binary else moments_design(conditions, "geometric")
