"""Counts of disjoint cells, each plus one integer of noise.

One record touches one cell by 1 under add-remove; under replace-one two cells where there are two: it leaves one and
enters another. So the pair is exact: one shift by 1, or two. Of several tables of the same records, such as entries and
exits, it touches so many cells of each.

One number of a stated sensitivity plus continuous noise: for prices; a release draws integers instead.

Categories that nobody declared: noisy counts of the values that occur, shown where they reach a threshold.

Every value v that occurs in c_v ≥ 1 records has a noisy count c_v + Z, P(Z = z) ∝ α^|z|, α = e^(−1/scale). The pairs
(v, c_v + Z) with c_v + Z ≥ threshold are released, and nothing else. A value without records has no noise and is never
shown.

The price
---------
Let p = P(1 + Z ≥ threshold) = α^(threshold − 1)/(1 + α), the chance that the value of a single record is shown, and
let G(ε) be the curve of one noisy count that moves by 1. One record touches

* a value that others have too. What is shown follows from the noisy count, which moves by 1: at most G(ε).
* a value that no other record has. It is shown with chance p where the record is there, and never where it is not:
  δ(ε) = p for every ε ≥ 0, in both orders at most p.

Under add-remove a record touches one value, under replace-one two, each with noise of its own. Write G₂ for the curve
of two noisy counts that move by 1. With two values of others' the curve is at most G₂(ε). With one value of its own it
is at most p + (1 − p) G(ε): without the value the rest has likelihoods P and (1 − p)Q, or (1 − p)P and Q, and

    sup_S P(S) − e^ε (1 − p) Q(S) ≤ p + (1 − p) sup_S (P(S) − e^ε Q(S)).

With two values of its own nothing is shared: δ(ε) = p. So the release costs no more than a pair that tells everything
with chance p and else moves one count by 1, or two: δ(ε) = p + (1 − p) G₂(ε). At the ε at which G, or G₂, is 0 this is
p, and it is attained: the price at that ε is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.calibrate import least_noise
from hedgerow.accounting.dominating_pairs import ROUND_UP, DiscreteLaplacePair, DominatingPair, FullDisclosurePair
from hedgerow.accounting.lower_bounds import LaplacePair, LowerBoundPairs, OutcomePair
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.interface import (
    LATER,
    AtomicMechanism,
    AuditRecord,
    Floats,
    Neighbours,
    Outcomes,
    Quote,
    Score,
    Specimen,
    across_or_one_sided,
)
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, AveragedLaplace, Law, OneWidth, require_draws
from hedgerow.noise.lattice import AdditiveTable, NoiseSource, require_drawable, require_positive
from hedgerow.resampling.counted_values import Histogram

_ENUMERATED = 2000  # outputs of one count, where two are enumerated together


class Counts(OneWidth):
    """Counts of `cells` disjoint cells plus integers of noise of one law and width."""

    __slots__ = ()
    cells: int
    rows: int | None
    tables: int | None
    whole: ClassVar[bool] = True

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of one count; of discrete Gaussian noise an upper bound."""
        return self.noise_law.count_sd(self.width)

    @property
    def priced_sd(self) -> float:
        """Standard deviation of the noise of one count."""
        return self.noise_sd

    @property
    def released_cells(self) -> int:
        """`cells`."""
        return self.cells

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return the sd of one count for each feature."""
        return np.full(len(features), self.noise_sd)

    def half_width(self, cells: int, gamma: float) -> float:
        """Return h with P(all counts within ± h) ≥ 1 − γ."""
        reach = self.noise_law.half_width(self.width, cells=cells, gamma=gamma)
        # An integer within ± h of the normal law rounded: half a step more covers both.
        return reach + 0.5 if self.noise_law.power == 2 else reach

    @property
    def row_limit(self) -> int | None:
        """The limit of rows where units are counted, each once in every cell in which it has a row."""
        return self.rows

    def touched(self, relation: Relation) -> int:
        """Return how many cells one record can change by 1, or one unit: as many as it has rows at most.

        Of several tables side by side it changes as many cells of each.
        """
        each = (self.rows or 1) * (2 if relation is Relation.REPLACE_ONE else 1)
        return min(self.cells, each * (self.tables or 1))

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the dominating pair: a shift by 1 in each cell that may change."""
        return (self.noise_law.count_term(self.width, self.touched(relation)),)

    def noisy(
        self,
        counts: NDArray[np.int64],
        source: NoiseSource,
        *,
        cells: Sequence[Mapping[str, Any]],
        features: Sequence[str],
    ) -> AdditiveTable:
        """Return exact counts (cells × features) of disjoint classes, each plus one integer of noise."""
        noise = self.noise_law.draw(source, self.width, counts.size)
        values = (counts + noise.reshape(counts.shape)).astype(np.float64)
        return AdditiveTable(cells, tuple(features), values, self.table_spread(features), self.noise_law.name)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return a record in one cell against one in another, or against none."""
        across = relation is Relation.REPLACE_ONE and self.cells > 1
        return across_or_one_sided(0, self.cells, across=across)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the laws of the cells that change: of units in several cells all of them at once, and of tables."""
        if self.rows is None and self.tables is None:
            return super().attained(relation)
        moved = self.noise_law.exact(1.0, self.width), self.touched(relation)
        return LowerBoundPairs(((moved,),), "All cells in which a unit has a row, or had none, change by 1.")

    def exact_law(self, relation: Relation) -> Outcomes | None:
        """Return P(z₁ − 1)P(z₂) and P(z₁)P(z₂ − 1) where two counts move by 1, else P(z − 1) and P(z)."""
        reach, touched = self.noise_law.reach(self.width), self.touched(relation)
        both = touched > 1
        if touched > 2 or 2 * reach + 2 > (_ENUMERATED if both else _ENUMERATED**2):
            return None
        integers = np.arange(-reach, reach + 2.0)
        moved, still = (self.noise_law.chances(at, self.width) for at in (integers - 1.0, integers))
        return (np.outer(moved, still), np.outer(still, moved)) if both else (moved, still)

    def excess(self, relation: Relation, difference: Floats) -> float:
        """Return Σ |d| over the counts that a record may move, or the largest |d|."""
        moved = np.abs(difference)
        return max(float(moved.sum()) / self.touched(relation), float(moved.max(initial=0.0)))

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, 1)."""
        counts = np.tile((data.cell_sums() + data.missing)[:, None], (n, 1))
        return self.noisy(counts, noise, cells=({},), features=("count",)).values.reshape(n, data.cells, 1)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds to its cell, and the width of the noise there."""
        return np.ones(1), np.array([self.width])


def _limits(counts: Counts) -> dict[str, int]:
    given = {"rows": counts.rows, "tables": counts.tables}
    return {name: number for name, number in given.items() if number is not None}


@dataclass(frozen=True, slots=True)
class GeometricCounts(Counts):
    """Counts of `cells` disjoint cells plus two-sided geometric noise, P(Z = z) ∝ exp(−|z|/scale)."""

    scale: float
    cells: int
    type: Literal["geometric"] = "geometric"
    rows: int | None = field(default=None, metadata=LATER)
    tables: int | None = field(default=None, metadata=LATER)
    price_name: ClassVar[str | None] = "geometric"
    price_unit: ClassVar[str] = "counts"
    methods: ClassVar[tuple[str, ...]] = ("geometric",)

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, cells=self.cells, **_limits(self))

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> GeometricCounts:
        """Return one count with noise of this standard deviation."""
        # noise_sd² = 2α/(1 − α)² solved for 1 − α in the form that loses no digits for large noise.
        square = noise_sd**2
        root = math.sqrt(2.0 * square + 1.0)
        return cls(-1.0 / math.log1p(-(1.0 + root) / (square + 1.0 + root)), 1)

    @classmethod
    def of_precision(cls, precision: float, quote: Quote) -> GeometricCounts:
        """Return one count with noise of scale 1/precision: its sd vanishes far faster, the price follows the scale."""
        return cls(1.0 / precision, 1)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one count, and counts by group."""
        return (
            Specimen("count, geometric", cls(1.0, cells=1), Relation.ADD_REMOVE, 0.0),
            Specimen("counts by group, geometric", cls(2.0, cells=3), Relation.REPLACE_ONE, 1e-3),
            Specimen("units by group, geometric", cls(2.0, cells=3, rows=2), Relation.ADD_REMOVE, 1e-3),
            Specimen("two tables of counts, geometric", cls(2.0, cells=5, tables=2), Relation.REPLACE_ONE, 1e-3),
        )

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return LAPLACE, self.scale


@dataclass(frozen=True, slots=True)
class GaussianCounts(Counts):
    """Counts of `cells` disjoint cells plus discrete Gaussian noise, P(Z = z) ∝ exp(−z²/2 sd²), z an integer."""

    sd: float
    cells: int
    type: Literal["discrete-gaussian"] = "discrete-gaussian"
    rows: int | None = field(default=None, metadata=LATER)
    tables: int | None = field(default=None, metadata=LATER)
    methods: ClassVar[tuple[str, ...]] = ("gaussian",)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one count, and counts by group."""
        return (
            Specimen("count, Gaussian", cls(1.0, cells=1), Relation.ADD_REMOVE, 1e-3),
            Specimen("counts by group, Gaussian", cls(1.5, cells=3), Relation.REPLACE_ONE, 1e-3),
            Specimen("units by group, Gaussian", cls(2.0, cells=2, rows=4), Relation.REPLACE_ONE, 1e-3),
        )

    def __post_init__(self) -> None:
        require_positive(sd=self.sd, cells=self.cells, **_limits(self))

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return GAUSSIAN, self.sd


@dataclass(frozen=True, slots=True)
class AveragedLaplaceCounts(Counts):
    """Counts of `cells` disjoint cells, each plus the sum of `draws` integers, P(z) ∝ exp(−|z|/scale)."""

    scale: float
    draws: int
    cells: int
    type: Literal["averaged-laplace-counts"] = "averaged-laplace-counts"
    rows: int | None = field(default=None, metadata=LATER)
    tables: int | None = field(default=None, metadata=LATER)
    methods: ClassVar[tuple[str, ...]] = ("averaged-laplace",)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one count of five draws, and counts by group of three."""
        return (
            Specimen("count, averaged Laplace, k = 5", cls(0.5, 5, cells=1), Relation.ADD_REMOVE, 1e-3),
            Specimen("counts by group, averaged Laplace, k = 3", cls(1.0, 3, cells=3), Relation.REPLACE_ONE, 1e-3),
        )

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, cells=self.cells, **_limits(self))
        require_drawable(self.scale)
        require_draws(self.draws)

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return AveragedLaplace(self.draws), self.scale


class NoisyNumber(OneWidth):
    """One number that a record moves by at most `sensitivity`, under either relation."""

    __slots__ = ()
    sensitivity: float

    @property
    def priced_sd(self) -> float:
        """Standard deviation of the noise."""
        return self.noise_law.sd(self.width)

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return one pair at distance sensitivity/width."""
        return (self.noise_law.number_term(self.sensitivity / self.width),)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the two end values."""
        return (Neighbours("end values", AuditRecord(0, 1), AuditRecord(0, 0), 1),)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the two end values."""
        return LowerBoundPairs((((self.noise_law.exact_number(self.sensitivity / self.width), 1),),))

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

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds, and the width of the noise, in units of the sensitivity."""
        return np.array([float(record.index)]), np.array([self.width / self.sensitivity])


@dataclass(frozen=True, slots=True)
class GaussianNoise(NoisyNumber):
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
class LaplaceNoise(NoisyNumber):
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
class AveragedLaplaceNoise(NoisyNumber):
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


HIDDEN = 0
"""What an output holds in the place of a value that is not shown."""
_CERTAIN = 40.0  # stands for an infinite change of the log-density
_MOST = 2**53
_DOWN = 1.0 - 1e-11


@dataclass(frozen=True, slots=True)
class StableCategories(AtomicMechanism):
    """The values that occur whose counts plus two-sided geometric noise of `scale` reach `threshold`, and those counts.

    >>> StableCategories(scale=4.0, threshold=54).alone
    9.896253301161638e-07
    """

    scale: float
    threshold: int
    type: Literal["stable-categories"] = "stable-categories"

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)
        require_drawable(self.scale)
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or not 2 <= self.threshold <= _MOST:
            raise ParameterError(
                "HG406",
                rule="The threshold of a search for categories is a whole number of records, at least 2.",
                finding=f"Found {format_argument(self.threshold)}.",
            )

    @classmethod
    def of_scale(cls, scale: float, delta: float) -> StableCategories:
        """Return the least threshold at which the value of a single record is shown with chance δ at most.

        >>> StableCategories.of_scale(4.0, 1e-6)
        StableCategories(scale=4.0, threshold=54, type='stable-categories')
        """
        guess = 1 + math.ceil(-scale * (math.log(delta) + math.log1p(math.exp(-1.0 / scale))))
        threshold = max(2, guess - 2)
        while cls(scale, threshold).alone > delta:
            threshold += 1
        return cls(scale, threshold)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return low thresholds, at which a value that one record has is often shown."""
        return (
            Specimen("categories that occur", cls(1.0, 6), Relation.ADD_REMOVE, 1e-2),
            Specimen("categories that occur", cls(1.5, 8), Relation.REPLACE_ONE, 1e-2),
        )

    @property
    def alone(self) -> float:
        """The chance p that the value of a single record is shown, rounded up."""
        return math.exp((1 - self.threshold) / self.scale) / (1.0 + math.exp(-1.0 / self.scale)) * ROUND_UP

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of one count: √(2α)/(1 − α)."""
        return math.sqrt(2.0 * math.exp(-1.0 / self.scale)) / -math.expm1(-1.0 / self.scale)

    def touched(self, relation: Relation) -> int:
        """Return how many counts one record can change by 1."""
        return 2 if relation is Relation.REPLACE_ONE else 1

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return all that is told with chance p, and counts that move by 1."""
        return FullDisclosurePair(self.alone), DiscreteLaplacePair(self.scale, self.touched(relation))

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return values that many others share, whose counts move by 1, and a value that the record alone has.

        The more records share a value, the nearer the law of what is shown is to that of its noisy count: the former
        pair is the limit, which data sets come as near as one likes.
        """
        shared = LaplacePair(1, self.scale, 1.0), self.touched(relation)
        own = OutcomePair((self.alone * _DOWN, 1.0 - self.alone), (0.0, 1.0)), 1
        return LowerBoundPairs(
            ((shared,), (own,)), "The price lets a record move shared counts and show a value of its own."
        )

    def select(self, counts: NDArray[np.int64], source: NoiseSource) -> NDArray[np.int64]:
        """Return the noisy counts of values that occur, `HIDDEN` for those below the threshold.

        >>> from hedgerow.testing.simulated import SimulatedNoise
        >>> StableCategories(1.0, 20).select(np.array([1, 500]), SimulatedNoise(1)).tolist()
        [0, 501]
        """
        noisy = counts + source.two_sided_geometric(self.scale, counts.size)
        return np.where(noisy >= self.threshold, noisy, HIDDEN)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return a record with a value of its own or a shared one, against none or one with another value."""
        far = self.threshold + math.ceil(30.0 * self.scale)
        own, shared = AuditRecord(0, 0), AuditRecord(0, far)
        if relation is not Relation.REPLACE_ONE:
            return (
                Neighbours("a value of its own", own, None, 1),
                Neighbours("a shared value", shared, None, 1, (far,)),
            )
        return (
            Neighbours("two values of its own", own, AuditRecord(1, 0), 2),
            Neighbours("a value of its own, a shared one", own, AuditRecord(1, far), 2, (0, far)),
            Neighbours("two shared values", shared, AuditRecord(1, far), 2, (far, far)),
        )

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, 1): noisy counts, `HIDDEN` where a value is not shown or does not occur."""
        counts = np.tile(data.cell_sums() + data.missing, (n, 1))
        seen = np.full(counts.shape, HIDDEN, dtype=np.int64)
        seen[counts > 0] = self.select(counts[counts > 0], noise)
        return seen.astype(np.float64)[:, :, None]

    def change(self, record: AuditRecord) -> Score:
        """Return the change of the log-density; the index of a record says how many others have its value."""
        others, noise = record.index, 1.0 / self.scale
        if others == 0:
            absent, present = math.log1p(-self.alone), None
        else:
            absent = self._log_hidden(others + 1) - self._log_hidden(others)
            present = others

        def score(outputs: Floats) -> Floats:
            seen = outputs[:, 0]
            if present is None:
                moved = np.full(len(seen), _CERTAIN)
            else:
                moved = (np.abs(seen - present) - np.abs(seen - present - 1.0)) * noise
            return np.asarray(np.where(seen == HIDDEN, absent, moved))

        return score

    def _log_hidden(self, count: int) -> float:
        """Return log P(count + Z < threshold)."""
        need, alpha = self.threshold - count, math.exp(-1.0 / self.scale)
        if need > 0:
            return math.log1p(-math.exp(-need / self.scale) / (1.0 + alpha))
        return (need - 1) / self.scale - math.log1p(alpha)
