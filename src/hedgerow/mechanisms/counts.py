"""Counts of disjoint cells, each plus one integer of noise.

One record touches one cell by 1 under add-remove; under replace-one two cells where there are two: it leaves one and
enters another. So the pair is exact: one shift by 1, or two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.terms import Term
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import (
    Floats,
    Neighbours,
    Outcomes,
    Quote,
    Record,
    Specimen,
    across_or_one_sided,
)
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, AveragedLaplace, Law, OneWidth, require_draws
from hedgerow.noise.lattice import require_drawable, require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram

_ENUMERATED = 2000  # outputs of one count, where two are enumerated together


class Counts(OneWidth):
    """Counts of `cells` disjoint cells plus integers of noise of one law and width."""

    __slots__ = ()
    cells: int
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

    def touched(self, relation: Relation) -> int:
        """Return how many cells one record can change by 1."""
        return min(self.cells, 2) if relation is Relation.REPLACE_ONE else 1

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return the worst pair: one shift by 1, or two."""
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
        return across_or_one_sided(0, self.cells, across=self.touched(relation) > 1)

    def exact_law(self, relation: Relation) -> Outcomes | None:
        """Return P(z₁ − 1)P(z₂) and P(z₁)P(z₂ − 1) where two counts move by 1, else P(z − 1) and P(z)."""
        reach, both = self.noise_law.reach(self.width), self.touched(relation) > 1
        if 2 * reach + 2 > (_ENUMERATED if both else _ENUMERATED**2):
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

    def contribution(self, record: Record) -> tuple[Floats, Floats]:
        """Return what one record adds to its cell, and the width of the noise there."""
        return np.ones(1), np.array([self.width])


@dataclass(frozen=True, slots=True)
class GeometricCounts(Counts):
    """Counts of `cells` disjoint cells plus two-sided geometric noise, P(Z = z) ∝ exp(−|z|/scale)."""

    scale: float
    cells: int
    type: Literal["geometric"] = "geometric"
    price_name: ClassVar[str | None] = "geometric"
    price_unit: ClassVar[str] = "counts"
    methods: ClassVar[tuple[str, ...]] = ("geometric",)

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, cells=self.cells)

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
    methods: ClassVar[tuple[str, ...]] = ("gaussian",)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one count, and counts by group."""
        return (
            Specimen("count, Gaussian", cls(1.0, cells=1), Relation.ADD_REMOVE, 1e-3),
            Specimen("counts by group, Gaussian", cls(1.5, cells=3), Relation.REPLACE_ONE, 1e-3),
        )

    def __post_init__(self) -> None:
        require_positive(sd=self.sd, cells=self.cells)

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
    methods: ClassVar[tuple[str, ...]] = ("averaged-laplace",)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one count of five draws, and counts by group of three."""
        return (
            Specimen("count, averaged Laplace, k = 5", cls(0.5, 5, cells=1), Relation.ADD_REMOVE, 1e-3),
            Specimen("counts by group, averaged Laplace, k = 3", cls(1.0, 3, cells=3), Relation.REPLACE_ONE, 1e-3),
        )

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, cells=self.cells)
        require_drawable(self.scale)
        require_draws(self.draws)

    def drawn(self) -> tuple[Law, float]:
        """Return the law of the noise, and the width of one draw."""
        return AveragedLaplace(self.draws), self.scale
