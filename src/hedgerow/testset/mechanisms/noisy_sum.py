"""`gaussian` and `laplace`: the sum of the losses plus noise of either law.

Under replace-one, one record changes the mean of the losses by at most (U − L)/n. With Gaussian noise of sd
(U − L)/(n·μ) a look costs μ, and the costs of several looks add up as Σ μ², exactly: the default for many looks. With
two-sided geometric noise of scale (U − L)/(n·ε₁) a look is ε₁-private: best for very few looks. At δ = 0 the ε₁ add up;
at δ > 0 the privacy losses are composed, which costs less.

Write u ∈ [−1, 1] for a loss about the midpoint. Losses other than 0 and 1 are released with their squares, with weight
ω beside u, from which the error of sampling follows. Under replace-one two records differ by d·(1 + ω·s), s = |u + u'|
and d = |u − u'| ≤ 2 − s, so that ω ≤ ½ costs nothing under geometric noise (under Gaussian noise ω ≤ 1.66,
`hedgerow.release.designs.sums`). Under add-remove n is private: the number of records is released too, with weight
κ, and the score is the ratio of two noisy sums.

`split`: every look has ⌊n/looks⌋ records of its own, and the whole ε; pure, and best for few looks that adapt.

No answer tells of the records of a later look, so the interval of each holds whatever the model was fitted to. One
record is read by one look alone: all looks together cost what one costs (parallel composition, also where the looks
adapt), and the first look pays. Which records belong to which look is drawn by the test set's secret, so that labels
that lie in some order do no harm.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.noisy_counts import GeometricCounts
from hedgerow.mechanisms.noisy_moments import (
    ADD_REMOVE,
    PUBLIC_PRESENCE,
    MomentsGaussian,
    MomentsGeometric,
    Weights,
    noise_at,
)
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.designs.design import NoiseLaw, PublicFacts
from hedgerow.release.designs.plain_counts import CountsDesign
from hedgerow.release.designs.sums import MomentsDesign
from hedgerow.statistics.mean import Mean
from hedgerow.statistics.proportion import Proportion
from hedgerow.testset.mechanisms.look_mechanism import (
    COVERS,
    Conditions,
    DrawnLook,
    LookAnswer,
    LookMechanism,
    Options,
    Question,
    estimate_of_mean,
    fit,
    replace_one_only,
    two_sided,
)

_COLUMN, _REASON, _MISSING = "loss", "the score of a test set", Missing.DECLARED_COMPLETE
# (κ, ω) where n is public, and where it is private; None is not released.
_GAUSSIAN: tuple[Weights, Weights] = (PUBLIC_PRESENCE, ADD_REMOVE)
_GEOMETRIC: tuple[Weights, Weights] = ((None, 0.5), (0.65, 0.2))
_SIGNS: tuple[Weights, Weights] = ((None, None), (1.0, None))
Widths = tuple[tuple[float, float], tuple[float, float]]
"""The width of the noise and its lattice: on Σ u, and on the number of records."""


@dataclass(frozen=True, slots=True)
class CountedLosses:
    """Losses of 0 and 1 as the number of 1s and, where n is private, of 0s; with geometric noise."""

    conditions: Conditions

    @property
    def design(self) -> CountsDesign:
        """The design of a release that counts them."""
        return CountsDesign(Proportion(_COLUMN, 1), (), _facts(self.conditions), _MISSING, "geometric", _REASON)

    def mechanism(self, mu: float) -> AtomicMechanism:
        """Return what is drawn, with noise proportional to 1/μ."""
        return self.design.mechanism(mu)

    def widths(self, described: Any) -> Widths:
        """Return the widths of the sum and of the difference of two counts."""
        each = 2.0 * described.scale, 2.0
        return each, each

    def sd(self, described: Any) -> float:
        """Return the sd of the noise on Σ u, u = 2·loss − 1; about a noisy number of records, 1/√2 of it is left."""
        return 2.0 * float(described.noise_sd) / (math.sqrt(2.0) if self.conditions.n is None else 1.0)

    def units(self, described: Any) -> dict[str, float]:
        """Return the names of the numbers that are drawn, and what a record is in each."""
        return dict.fromkeys(self.design.features, 1.0)

    def sums(self, numbers: tuple[float, ...]) -> tuple[float, float]:
        """Return (N, Σ u)."""
        return numbers[0] + numbers[1], numbers[0] - numbers[1]

    def restated(self, described: Any) -> AtomicMechanism:
        """Return the description with the cells of the losses."""
        restated: AtomicMechanism = replace(described, cells=len(self.design.features))
        return restated


@dataclass(frozen=True, slots=True)
class SummedLosses:
    """Losses as Σ u and, unless they are 0 and 1 (u² = 1), Σ u²; with noise of either law."""

    conditions: Conditions
    law: Law

    @property
    def design(self) -> MomentsDesign:
        """The design of a release that adds them up."""
        law: NoiseLaw = "gaussian" if self.law.power == 2 else "geometric"
        losses = Mean(_COLUMN, self.conditions.grid)
        return MomentsDesign(losses, (), _facts(self.conditions), _MISSING, law, law, _REASON)

    def mechanism(self, mu: float) -> AtomicMechanism:
        """Return what is drawn, with noise proportional to 1/μ."""
        layout = self.design.layout
        noise = noise_at(mu, layout, self._weights, self.conditions.relation, self.law)
        return MomentsGaussian(layout, noise) if self.law.power == 2 else MomentsGeometric(layout, noise)

    @property
    def _weights(self) -> Weights:
        weights = _SIGNS if self.conditions.binary else _GAUSSIAN if self.law.power == 2 else _GEOMETRIC
        return weights[self.conditions.n is None]

    def widths(self, described: Any) -> Widths:
        """Return the widths of both sums."""
        noise, reach = described.noise, described.layout.reach
        count = math.inf if noise.count is None else noise.count.in_units
        return (noise.total.in_units / reach, 1.0 / reach), (count, 1.0)

    def sd(self, described: Any) -> float:
        """Return the sd of the noise on Σ u."""
        return self.law.sd(described.noise.total.in_units) / float(described.layout.reach)

    def units(self, described: Any) -> dict[str, float]:
        """Return the names of the numbers that are drawn, and what a record is in each."""
        reach = float(described.layout.reach)
        return {name: {"total": reach, "square": reach**2}.get(name, 1.0) for name in described.noise.coordinates()}

    def sums(self, numbers: tuple[float, ...]) -> tuple[float, float]:
        """Return (N, Σ u)."""
        return numbers[0], numbers[1]

    def restated(self, described: Any) -> AtomicMechanism:
        """Return the description with the layout of the losses, and noise on the numbers that are drawn alone."""
        count, square = self._weights
        changed = {name: None for name, weight in (("count", count), ("square", square)) if weight is None}
        if square is None and count is not None:
            # Losses of 0 and 1 are read with noise of one width on N and Σ u.
            changed["count"] = described.noise.total
        restated: AtomicMechanism = replace(
            described, layout=self.design.layout, noise=replace(described.noise, **changed)
        )
        return restated


def _facts(conditions: Conditions) -> PublicFacts:
    return PublicFacts(conditions.relation, "row", Target.POPULATION, conditions.n)


@dataclass(frozen=True, slots=True)
class NoisySumLook(LookMechanism):
    """Noise of one law on the sum of the losses."""

    described: Any  # one of the library's descriptions; `losses` knows which
    law: ClassVar[Law]

    @classmethod
    def losses_of(cls, conditions: Conditions) -> CountedLosses | SummedLosses:
        """Return how losses are added up."""
        counted = conditions.binary and cls.law.power == 1
        return CountedLosses(conditions) if counted else SummedLosses(conditions, cls.law)

    @property
    def losses(self) -> CountedLosses | SummedLosses:
        """How losses are added up."""
        return self.losses_of(self.conditions)

    @abstractmethod
    def quantile(self, width: float, lattice: float, beta: float) -> float:
        """Return what noise of a width on a lattice stays within, but for a probability `beta`."""

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise (HG401 for Gaussian noise at δ = 0)."""
        described = fit(cls.losses_of(conditions).mechanism, conditions, checked=checked)
        return cls.of(conditions, described, options)

    def expected_error(self) -> float | None:
        """Return the sd of the noise on the score."""
        n = self.conditions.n
        return None if n is None else self.conditions.half_range * self.losses.sd(self.described) / n

    def error_in_records(self) -> float | None:
        """Return the sd of the noise on the sum of the losses, in ranges of one record."""
        return self.losses.sd(self.described) / 2.0

    def spread_of_sums(self, beta: float) -> tuple[float, float]:
        """Return the quantile of each, at half of `beta`."""
        total, count = self.losses.widths(self.described)
        return self.quantile(*count, beta / 2.0), self.quantile(*total, beta / 2.0)

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return the quantile of the noise."""
        total, _ = self.losses.widths(self.described)
        n = self.conditions.n
        return math.inf if n is None else self.quantile(*total, beta) / (2.0 * n)

    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Add noise, and return the sums in records."""
        values = self.losses.design.table(question.histogram, self.described, noise).values[0]
        return DrawnLook(tuple((values / list(self.losses.units(self.described).values())).tolist()))

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Read noisy counts, or noisy moments, as a release reads them."""
        units = self.losses.units(self.described)
        names, values = tuple(units), np.array([drawn.numbers]) * list(units.values())
        law = self.described.noise_law.name
        table = AdditiveTable(({},), names, values, self.described.table_spread(names), law)
        sums = self.losses.sums(drawn.numbers) if self.conditions.n is None else None
        return LookAnswer(self._read(self.losses.design, table), sums=sums)

    def _read(self, design: CountsDesign | MomentsDesign, table: AdditiveTable) -> Estimate:
        (estimate,) = design.estimates(table)
        return replace(estimate, statistic="score", column=None, method=self.name, covers=COVERS)

    def restated(self) -> AtomicMechanism:
        """Return the description with the cells, or the layout, of the losses."""
        return self.losses.restated(self.described)


@dataclass(frozen=True, slots=True)
class GaussianLook(NoisySumLook):
    """Discrete Gaussian noise on the sum of the losses.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(GaussianLook.fitted(facts, Options()).expected_error(), 4)
    0.006
    """

    name: ClassVar[str] = "gaussian"
    describes: ClassVar[tuple[str, ...]] = ("moments-gaussian",)
    law: ClassVar[Law] = GAUSSIAN

    @property
    def mu(self) -> float:
        """The price of a look."""
        (term,) = self.described.terms(self.conditions.relation)
        return float(term.mu)

    @property
    def numbers(self) -> int:
        """The sum of the losses and, unless they are 0 and 1, of their squares."""
        return 1 if self.conditions.binary else 2

    def quantile(self, width: float, lattice: float, beta: float) -> float:
        """Return the normal quantile; noise on a lattice of 1,000 steps to an sd exceeds it by .1 % at most."""
        return 1.001 * two_sided(beta) * width

    def spread_of_moments(self, beta: float) -> tuple[float, float, float]:
        """Return what N, Σ u and Σ u² err by, each but for a probability `beta`, where all three are released."""
        (total, _), (count, _) = self.losses.widths(self.described)
        square = self.described.noise.square.in_units / float(self.described.layout.reach) ** 2
        around, along, over = (self.quantile(width, 1.0, beta) for width in (count, total, square))
        return around, along, over

    @property
    def taken_off(self) -> float:
        """What is taken off each u² before these are added up."""
        return float(self.described.layout.offset) / float(self.described.layout.reach) ** 2

    def of_one_record(self) -> float:
        """Return D²/8 for one sum, D²/6 for a sum and its squares; D, in sds, from one value of a record to another.

        Under replace-one D is the price μ. Under add-remove the number of records is released too: given n, no value of
        a record moves it.
        """
        layout = replace(self.described.layout, presence="public")
        farthest = float(layout.mu(Relation.REPLACE_ONE, self.described.noise.widths().smoothed()))
        return farthest**2 / (8.0 if self.conditions.binary else 6.0)

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Read noisy moments; of losses of 0 and 1 a noisy sum of u = ±1, whose square is known."""
        if not self.conditions.binary:
            return NoisySumLook.read(self, drawn)
        n, sd = self.conditions.n, self.losses.sd(self.described)
        if n is None:
            count, total = drawn.numbers
            # The numbers of 1s and 0s, whose noises are independent: those of (N, Σ u) have one width.
            halves, spread = np.array([[(count + total) / 2.0, (count - total) / 2.0]]), np.full(2, sd / math.sqrt(2.0))
            table = AdditiveTable(({},), ("equal", "different"), halves, spread, "gaussian")
            design = replace(CountedLosses(self.conditions).design, law="gaussian")
            return LookAnswer(self._read(design, table), sums=(count, total))
        (total,) = drawn.numbers
        return LookAnswer(estimate_of_mean(self, total / n, noise_variance=(sd / n) ** 2))


@dataclass(frozen=True, slots=True)
class LaplaceLook(NoisySumLook):
    """Two-sided geometric noise on the sum of the losses.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0, 0.0), 1, 1000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> round(LaplaceLook.fitted(facts, Options()).expected_error(), 5)
    0.00136
    """

    name: ClassVar[str] = "laplace"
    describes: ClassVar[tuple[str, ...]] = ("geometric", "moments-geometric")
    law: ClassVar[Law] = LAPLACE

    def quantile(self, width: float, lattice: float, beta: float) -> float:
        """Return the quantile of two-sided geometric noise, and one step of its lattice."""
        return width * math.log(1.0 / beta) + lattice

    def of_one_record(self) -> float:
        """Return ε₁²/8, ε₁ the pure ε of one look for another value of a record: twice that of a record that comes."""
        relation = self.conditions.relation
        both = 2.0 if relation is Relation.ADD_REMOVE else 1.0
        epsilon = float(self.described.repeated(1, relation).epsilon_upper(0.0))
        return (both * epsilon) ** 2 / 8.0


@dataclass(frozen=True, slots=True)
class SplitLook(LookMechanism):
    """The mechanism `laplace` for one look at a part.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 10, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> look = SplitLook.fitted(facts, Options())
    >>> look.records_a_look, look.information(9), round(look.described.noise_sd, 2)
    (1000, 0.0, 1.36)
    """

    described: GeometricCounts | MomentsGeometric
    name: ClassVar[str] = "split"
    describes: ClassVar[tuple[str, ...]] = LaplaceLook.describes
    once: ClassVar[bool] = True
    by_name_only: ClassVar[str] = "by name only: best for few looks that adapt, see `hedgerow testset plan`"

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise (HG431 under add-remove, or where a look has less than two records)."""
        n = replace_one_only("split", conditions)
        if n // conditions.n_looks < 2:
            raise UncertifiedError(
                "HG431",
                rule="`split` needs at least two records for each look.",
                finding=f"{conditions.n_looks:,} looks at {n:,} records leave fewer.",
                remedy="Use mechanism='gaussian', or fewer looks.",
            )
        look = LaplaceLook.fitted(_of_one_look(conditions), options, checked=checked)
        return cls(conditions, look.described)

    @property
    def records_a_look(self) -> int | None:
        """⌊n/looks⌋."""
        return _of_one_look(self.conditions).n

    @property
    def _look(self) -> LaplaceLook:
        return LaplaceLook(_of_one_look(self.conditions), self.described)

    def expected_error(self) -> float | None:
        """Return the noise on a look and what its records differ by from all, R/2·√(1/part − 1/n), as one sd."""
        n, part = float(self.conditions.n or 1), float(self.records_a_look or 1)
        chosen = self.conditions.half_range * math.sqrt(1.0 / part - 1.0 / n)
        return math.hypot(self._look.expected_error() or 0.0, chosen)

    def information(self, looks: int) -> float:
        """Return 0: what other looks answered tells nothing of the records of this one."""
        return 0.0

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return the quantile of the noise."""
        return self._look.spread(beta)

    def rows(self, key: bytes, look: int) -> NDArray[np.int64] | None:
        """Return the rows of a look; the order is one of all orders, by a stream of the key."""
        n, part = self.conditions.n or 0, self.records_a_look or 0
        stream = hashlib.shake_256(b"hedgerow split" + key).digest(8 * n)
        order = np.argsort(np.frombuffer(stream, dtype="<u8"), kind="stable")
        return np.sort(order[look * part : (look + 1) * part])

    def draw(self, question: Question, noise: NoiseSource) -> DrawnLook:
        """Add noise to the sum of the part."""
        return self._look.draw(question, noise)

    def restated(self) -> AtomicMechanism:
        """Return the description of one look at the part."""
        return self._look.restated()

    def read(self, drawn: DrawnLook) -> LookAnswer:
        """Read it as one look at the part."""
        answer = self._look.read(drawn)
        return replace(answer, estimate=replace(answer.estimate, method=self.name))


def _of_one_look(conditions: Conditions) -> Conditions:
    return replace(conditions, n=(conditions.n or 0) // conditions.n_looks, n_looks=1)
