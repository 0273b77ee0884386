"""Moments of disjoint cells: a count, a sum and a second moment of each, plus noise on a lattice a coordinate.

A record with grid integer y adds (1, y, y² − o) to its cell: a count, a sum and a second moment (moments.md §1). Which
coordinates are released, and which pairs of neighbours exist, is the *layout*; it is part of the mechanism, so the
sampler, the accountant and a certificate read the same one.

Notation: coordinate i is released with noise of width w_i, in units of its own integers. For a pair of neighbours that
moves the table by (d_0, d_1, d_2) the Gaussian cost is μ² = Σ d_i²/w_i² and the Laplace cost ε = Σ |d_i|/w_i.

=============  ============================================================================  =====================
pair           movement                                                                       exists under
=============  ============================================================================  =====================
same cell      (0, y − y', y² − y'²)                                                          replace-one
one-sided      (1, y, y² − o)                                                                 add-remove; replace-one
                                                                                              where presence is private
across cells   one-sided in each of two cells, independent coordinates                        replace-one, ≥ 2 cells,
                                                                                              where presence is private
=============  ============================================================================  =====================

These sensitivities hold after rounding, over all integer pairs.

Averaged Laplace noise (proven, two upper bounds: the lesser holds)
-------------------------------------------------------------------
A vector of integer sums moves by D_i lattice steps in coordinate i, in whatever combination its layout allows, with
noise of scale W_i a draw. Which combination is the worst is not known, so

* the combinations are covered by boxes (`boxes`): a record that moves no coordinate farther than the far corner of its
  box costs no more than that corner, whose coordinates are independent pairs, composed. The maximum over the boxes is a
  curve for all of them. They are 5 % of the range wide: finer ones saved at most 1.5 % of the noise in the releases
  that were tried. Of more than 64 draws it counts 64: further ones are post-processing;
* no combination costs more than one number that makes the whole movement ε₀ = max Σ_i |D_i|/W_i, the pure price
  (`hedgerow.accounting.averaged`). This one is better far out, near the pure price.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.averaged import SummedLaw, gathered_curve, moved_curve, twice
from hedgerow.accounting.dominating_pairs import ROUND_UP, SMOOTHED, DominatingPair, GaussianPair, KnownCurvePair
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import LOSS_CAP, Curve, highest
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import (
    AuditRecord,
    Floats,
    Neighbours,
    Quote,
    Specimen,
    across_or_one_sided,
    copies,
)
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Additive, AveragedLaplace, Law, require_draws
from hedgerow.noise.lattice import AdditiveTable, LatticeNoise, NoiseSource, lattice_noise, on_lattice
from hedgerow.resampling.counted_values import Histogram

Integers = NDArray[np.int64]
Presence = Literal["public", "private"]
_BRUTE = 1024  # grids up to here are searched over all pairs; finer ones over pairs that touch an end
_FINE, _FROM = 14, 0.3  # boxes of movements
_BOX_DOTS = 250  # beside boxes of this width, finer dots would gain nothing
_BOX_DRAWS = 64
_STEPS = 500


@dataclass(frozen=True, slots=True)
class Widths:
    """Noise width of each released coordinate in units of its own integers; None where it is not released."""

    count: float | None
    total: float
    square: float | None

    def smoothed(self) -> Widths:
        """Return the widths of the continuous pair that the discrete one is a rounding of (`accounting.terms`).

        A width in units is W/2^bits with W ≥ 1000, so √(W² − r²) ≥ W·√(1 − (r/1000)²) whatever the lattice.
        """
        count, square = (None if width is None else width * SMOOTHED for width in (self.count, self.square))
        return Widths(count, self.total * SMOOTHED, square)


@dataclass(frozen=True, slots=True)
class MomentsLayout:
    """The integer values y = start + stride·t, t = 0..steps, and what is released of them.

    Attributes
    ----------
    offset : int
        o, taken off y² where a count is released with it, so that the second moment costs least.
    presence : "public" or "private"
        Public: every record is known to be in its cell, of one or of several, or in none (replace-one, nothing
        dropped). The number of records of each cell is then the same for all neighbours, hence public.
    cells : int
        Disjoint cells released.

    Examples
    --------
    A mean on 100 steps, replace-one, n public: the second moment is free (cost 2 = that of u alone).

    >>> layout = MomentsLayout(start=-100, stride=2, steps=100, offset=0, presence="public", cells=1)
    >>> layout.mu(Relation.REPLACE_ONE, Widths(None, 100.0, 100.0**2 / 1.6))  # doctest: +ELLIPSIS
    2.00000...
    """

    start: int
    stride: int
    steps: int
    offset: int
    presence: Presence
    cells: int

    def __post_init__(self) -> None:
        if self.stride < 1 or self.steps < 1 or self.cells < 1 or self.presence not in ("public", "private"):
            raise ParameterError(
                "HG406",
                rule="A layout of moments needs a positive stride, positive steps and positive cells.",
                finding="Found another value.",
            )
        if self.steps > 2**24:
            raise ParameterError(
                "HG107",
                rule="A grid has at most 2²⁴ steps.",
                finding=f"Found {self.steps:,}.",
                remedy="Use a coarser grid.",
            )
        if self.reach >= 2**31:
            raise ParameterError(
                "HG107",
                rule="Grid values must be whole multiples of one unit and fit 31 bits.",
                finding="The bounds and the step of the column have no common unit that is coarse enough.",
                remedy="Choose a step such that the lower bound is a multiple of the step, or choose a coarser step.",
            )

    @property
    def reach(self) -> int:
        """H = max |y|."""
        return max(abs(self.start), abs(self.start + self.stride * self.steps))

    def mu(self, relation: Relation, widths: Widths) -> float:
        """Return an upper bound on √(Σ d_i²/w_i²) over all neighbours."""
        same, alone = self._worst(widths, power=2)
        return float(np.sqrt(self._largest(relation, same, alone)) * ROUND_UP)

    def pure(self, relation: Relation, widths: Widths) -> float:
        """Return an upper bound on Σ |d_i|/w_i over all neighbours."""
        same, alone = self._worst(widths, power=1)
        return float(self._largest(relation, same, alone) * ROUND_UP)

    def _largest(self, relation: Relation, same: float, alone: float) -> float:
        if relation is Relation.ADD_REMOVE:
            if self.presence == "public":
                raise ParameterError(
                    "HG406",
                    rule="Under add-remove the presence of a person in the data is private.",
                    finding="The layout says that presence is public.",
                )
            return alone
        if self.presence == "public":
            return same
        # Across cells the two movements touch different coordinates, so their costs add up in either norm.
        return max(same, 2 * alone if self.cells > 1 else alone)

    def _worst(self, widths: Widths, *, power: int) -> tuple[float, float]:
        """Return the largest Σ (|d_i|/w_i)^power of a same-cell and of a one-sided pair."""
        y = self.start + self.stride * np.arange(self.steps + 1, dtype=np.float64)
        alone = (np.abs(y) / widths.total) ** power
        if widths.count is not None:
            alone = alone + (1.0 / widths.count) ** power
        # For a difference d the sum y + y' is largest in size where the pair touches an end of the range.
        d = self.stride * np.arange(1, self.steps + 1, dtype=np.float64)
        same = (d / widths.total) ** power
        if widths.square is not None:
            alone = alone + (np.abs(y * y - self._subtracted(widths)) / widths.square) ** power
            high, low = float(y[-1]), float(y[0])
            both = np.maximum(np.abs(2 * high - d), np.abs(2 * low + d))
            same = same + (d * both / widths.square) ** power
        return float(same.max()), float(alone.max())

    def _subtracted(self, widths: Widths) -> int:
        return self.offset if widths.count is not None else 0

    def integers(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return y for grid indices t."""
        return self.start + self.stride * index


@dataclass(frozen=True, slots=True)
class MomentsNoise:
    """The lattice noise of each coordinate; None where it is not released."""

    count: LatticeNoise | None
    total: LatticeNoise
    square: LatticeNoise | None

    def widths(self) -> Widths:
        """Return the widths in units of the data's integers."""
        return Widths(
            self.count.in_units if self.count else None,
            self.total.in_units,
            self.square.in_units if self.square else None,
        )

    def coordinates(self) -> dict[str, LatticeNoise]:
        """Return what is released, by name, in order."""
        named = {"count": self.count, "total": self.total, "square": self.square}
        return {name: noise for name, noise in named.items() if noise is not None}


Weights = tuple[float | None, float | None]
"""(κ, ω) of the count and of the second moment beside the sum; None is not released."""
PUBLIC_PRESENCE: Weights = (None, 1.6)
ADD_REMOVE: Weights = (0.75, 0.7)
_SUM: Weights = (None, 0.4)


def _mean_layout(presence: Presence, *, cells: int = 1) -> MomentsLayout:
    """Return the layout of a mean on a hundred steps, as the audit attacks it."""
    return MomentsLayout(-100, 2, 100, 5000 if presence == "private" else 0, presence, cells)


def _sum_layout(cells: int) -> MomentsLayout:
    """Return the layout of sums of values from −100 to 300, as the audit attacks them."""
    return MomentsLayout(-100, 1, 400, 0, "private", cells)


def noise_at(mu: float, layout: MomentsLayout, weights: Weights, relation: Relation, law: Law) -> MomentsNoise:
    """Return noise of sd (sensitivity of the weighted vector)/μ, rounded up to the lattice.

    Under Laplace noise μ is √2 × ε; k draws make a sum whose sd is √k times that of one.
    """
    (kappa, omega), reach = weights, float(layout.reach)
    unit = Widths(None if kappa is None else 1.0 / kappa, reach, None if omega is None else reach * reach / omega)
    measure = layout.mu if law.power == 2 else layout.pure
    scale = measure(relation, unit) / (mu * math.sqrt(law.draws))
    return MomentsNoise(
        None if unit.count is None else lattice_noise(scale * unit.count),
        lattice_noise(scale * unit.total),
        None if unit.square is None else lattice_noise(scale * unit.square),
    )


class NoisyMomentVector(Additive):
    """(count, Σ y, Σ (y² − o)) of each cell plus noise of one law, each coordinate on its own lattice."""

    __slots__ = ()
    layout: MomentsLayout
    noise: MomentsNoise

    @property
    def spread(self) -> Floats:
        """The sd of the noise on each coordinate, in units of the data's integers."""
        return np.array([self.noise_law.sd(noise.in_units) for noise in self.noise.coordinates().values()])

    @property
    def finest_grid(self) -> int:
        """The steps of the layout."""
        return self.layout.steps

    @property
    def released_cells(self) -> int:
        """The cells of the layout."""
        return self.layout.cells

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return `spread`; where membership is public the number of records of each cell goes out as it is."""
        known = self.noise.count is None and tuple(features[:1]) == ("count",) and self.layout.presence == "public"
        return np.concatenate([[0.0], self.spread]) if known else self.spread

    def half_width(self, cells: int, gamma: float) -> float:
        """Return h with P(all sums within ± h) ≥ 1 − γ, in units of y."""
        total = self.noise.total
        return self.noise_law.half_width(float(total.width), cells=cells, gamma=gamma) / 2.0**total.bits

    def mu(self, relation: Relation) -> float:
        """Return √(Σ d²/w²) of the farthest neighbours: for Gaussian noise."""
        return self.layout.mu(relation, self.noise.widths())

    def pure(self, relation: Relation) -> float:
        """Return Σ |d|/w of the farthest neighbours: ε for Laplace noise."""
        return self.layout.pure(relation, self.noise.widths())

    def noisy(self, histogram: Histogram, source: NoiseSource, *, cells: Sequence[Mapping[str, Any]]) -> AdditiveTable:
        """Return the integer moments of each cell, each coordinate plus noise on its own lattice."""
        noises = self.noise.coordinates()
        y = self.layout.integers(histogram.index)
        offset = self.layout.offset if "count" in noises else 0
        sums: dict[str, Callable[[], Integers]] = {
            "count": histogram.cell_sums,
            "total": lambda: histogram.cell_sums(y),
            "square": lambda: histogram.cell_sums(y * y - offset),
        }
        columns = [
            on_lattice(sums[name](), self.noise_law.draw(source, float(noise.width), histogram.cells), noise.bits)
            for name, noise in noises.items()
        ]
        return AdditiveTable(cells, tuple(noises), np.stack(columns, axis=1), self.spread, self.noise_law.name)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the values of one cell that differ most, and where presence is private the one that adds most."""
        replace, layout, power = relation is Relation.REPLACE_ONE, self.layout, self.noise_law.power
        every = np.arange(layout.steps + 1)
        ends = every if layout.steps <= _BRUTE else np.array([0, layout.steps])
        moved = self._added(every) / self._widths()
        pairs: list[Neighbours] = []
        if replace:
            cost = np.stack([(np.abs(moved - moved[end]) ** power).sum(axis=1) for end in ends])
            end, other = np.unravel_index(int(cost.argmax()), cost.shape)
            pairs.append(
                Neighbours("same cell", AuditRecord(0, int(ends[end])), AuditRecord(0, int(every[other])), layout.cells)
            )
        if not replace or layout.presence == "private":
            farthest = int((np.abs(moved) ** power).sum(axis=1).argmax())
            pairs += across_or_one_sided(farthest, layout.cells, across=replace and layout.cells > 1)
        return tuple(pairs)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, coordinates)."""
        return self.noisy(copies(data, n), noise, cells=({},)).values.reshape(n, data.cells, -1)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds to its cell, and the widths of the noise there."""
        return self._added(np.array([record.index]))[0], self._widths()

    @property
    def bits(self) -> tuple[int, ...]:
        """The lattice of each coordinate."""
        return tuple(noise.bits for noise in self.noise.coordinates().values())

    def _added(self, index: Integers) -> Floats:
        """Return what records add, (records, coordinates): computed here, not by the layout that prices them."""
        y = (self.layout.start + self.layout.stride * index).astype(np.float64)
        offset = self.layout.offset if self.noise.count else 0
        columns = [np.ones_like(y)] if self.noise.count else []
        columns += [y] + ([y * y - offset] if self.noise.square else [])
        return np.stack(columns, axis=1)

    def _widths(self) -> Floats:
        return np.array([noise.in_units for noise in self.noise.coordinates().values()])


@dataclass(frozen=True, slots=True)
class MomentsGaussian(NoisyMomentVector):
    """(count, Σ y, Σ (y² − o)) of each cell plus discrete Gaussian noise, each coordinate on its own lattice."""

    layout: MomentsLayout
    noise: MomentsNoise
    type: Literal["moments-gaussian"] = "moments-gaussian"
    price_name: ClassVar[str | None] = "moments"
    sized_by_mu: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ("moments", "gaussian")

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return means and sums at μ = 1, with public and with private presence, of one cell and of several."""
        near, far = Relation.ADD_REMOVE, Relation.REPLACE_ONE
        known = MomentsLayout(-400, 2, 400, 0, "public", 3)
        chosen = (
            ("mean, n public", _mean_layout("public"), PUBLIC_PRESENCE, far),
            ("mean, missing dropped", _mean_layout("private"), (1.5, 1.6), far),
            ("mean by group", _mean_layout("private", cells=2), (0.8, 1.2), far),
            ("mean by group", _mean_layout("private", cells=2), ADD_REMOVE, near),
            ("sum", _sum_layout(1), _SUM, near),
            ("sums by group", _sum_layout(3), _SUM, far),
            ("sums by group, cells public", known, PUBLIC_PRESENCE, far),
        )
        return tuple(
            Specimen(name, cls(layout, noise_at(1.0, layout, weights, relation, GAUSSIAN)), relation, 1e-3)
            for name, layout, weights, relation in chosen
        )

    @classmethod
    def of_noise_sd(cls, noise_sd: float, quote: Quote) -> MomentsGaussian:
        """Return one mean on the default grid: public presence under replace-one, else a private count."""
        public, steps = quote.relation is Relation.REPLACE_ONE, 1024
        weights = PUBLIC_PRESENCE if public else ADD_REMOVE
        offset = 0 if public else steps * steps // 2
        layout = MomentsLayout(-steps, 2, steps, offset, "public" if public else "private", 1)
        # Widths are proportional to 1/μ, so the noise at μ = 1 tells which μ gives the noise wanted.
        mu = cls(layout, noise_at(1.0, layout, weights, quote.relation, GAUSSIAN)).priced_sd / noise_sd
        return cls(layout, noise_at(mu, layout, weights, quote.relation, GAUSSIAN))

    @property
    def priced_sd(self) -> float:
        """Noise on Σ(x − c): grid integers run over ±reach, which is half the range."""
        return self.noise.total.in_units / self.layout.reach / 2.0

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return a Gaussian pair."""
        return (GaussianPair(self.layout.mu(relation, self.noise.widths().smoothed()) * ROUND_UP),)


def mean_with_private_count(relation: Relation) -> MomentsGaussian:
    """Return a mean with its count and second moment at μ = 1, one cell, as the audit attacks it."""
    layout = _mean_layout("private")
    weights = (1.5, 1.6) if relation is Relation.REPLACE_ONE else ADD_REMOVE
    return MomentsGaussian(layout, noise_at(1.0, layout, weights, relation, GAUSSIAN))


@dataclass(frozen=True, slots=True)
class MomentsGeometric(NoisyMomentVector):
    """(count, Σ y, Σ (y² − o)) of each cell plus two-sided geometric noise, each coordinate on its own lattice."""

    layout: MomentsLayout
    noise: MomentsNoise
    type: Literal["moments-geometric"] = "moments-geometric"
    methods: ClassVar[tuple[str, ...]] = ("geometric",)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return a mean, and sums by group, at μ = 1: Laplace noise of the same spread."""
        chosen = ("mean, pure", _mean_layout("private"), (1.5, 1.6)), ("sums by group, pure", _sum_layout(3), _SUM)
        return tuple(
            Specimen(
                name,
                cls(layout, noise_at(1.0, layout, weights, Relation.REPLACE_ONE, LAPLACE)),
                Relation.REPLACE_ONE,
                1e-3,
            )
            for name, layout, weights in chosen
        )

    @property
    def noise_law(self) -> Law:
        """Discrete Laplace."""
        return LAPLACE


@dataclass(frozen=True, slots=True)
class AveragedLaplaceMoments(NoisyMomentVector):
    """(count, Σ y, Σ (y² − o)) of each cell, each coordinate plus the sum of `draws` integers on its own lattice.

    The width of a coordinate's lattice noise is the scale of ONE draw.
    """

    layout: MomentsLayout
    noise: MomentsNoise
    draws: int
    type: Literal["averaged-laplace-moments"] = "averaged-laplace-moments"
    methods: ClassVar[tuple[str, ...]] = ("averaged-laplace",)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return a mean with three draws."""
        layout, law = _mean_layout("public"), AveragedLaplace(3)
        averaged = cls(layout, noise_at(1.0, layout, PUBLIC_PRESENCE, Relation.REPLACE_ONE, law), 3)
        return (Specimen("mean, averaged Laplace, k = 3", averaged, Relation.REPLACE_ONE, 1e-3),)

    def __post_init__(self) -> None:
        require_draws(self.draws)

    @property
    def noise_law(self) -> Law:
        """A sum of `draws` discrete Laplace numbers."""
        return AveragedLaplace(self.draws)

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the whole curve, with the pure ε at its end: an upper bound by boxes, see the module."""
        return (_averaged(self, relation),)


@lru_cache(maxsize=256)
def _averaged(mechanism: AveragedLaplaceMoments, relation: Relation) -> KnownCurvePair:
    layout, noises = mechanism.layout, mechanism.noise.coordinates()
    pure = layout.pure(relation, mechanism.noise.widths()) * ROUND_UP
    replaced = relation is Relation.REPLACE_ONE
    across = replaced and layout.presence == "private" and layout.cells > 1
    if pure > LOSS_CAP:
        return KnownCurvePair(Curve(1.0, np.ones(2)), pure)
    movements = boxes(layout, "square" in noises, "count" in noises)
    curves = []
    if replaced:
        curves.append(highest([_composed(mechanism, box) for box in movements.same]))
    if not replaced or layout.presence == "private":
        alone = highest([_composed(mechanism, box) for box in movements.one_sided])
        curves.append(twice(alone) if across else alone)
    covered = highest(curves)
    steps = (2.0 if across else 1.0) * sum(1.0 / noise.width for noise in noises.values())
    gathered = gathered_curve(mechanism.draws, pure, steps)
    at = np.arange(covered.delta.size, dtype=np.float64) * covered.step
    return KnownCurvePair(Curve(covered.step, np.minimum(covered.delta, gathered.delta_upper(at))), pure)


def _composed(mechanism: AveragedLaplaceMoments, box: Box) -> Curve:
    """Return the curve of independent coordinates that each move as far as anything in the box does."""
    moved = [
        (float(getattr(box, name) << noise.bits), float(noise.width))
        for name, noise in mechanism.noise.coordinates().items()
        if getattr(box, name)
    ]
    # More draws cost no more than fewer do: the others are post-processing.
    draws, alone = min(mechanism.draws, _BOX_DRAWS), len(moved) == 1
    draws = mechanism.draws if alone else draws
    dots = 1000 if alone else _BOX_DOTS
    parts = [moved_curve(SummedLaw(draws, w), steps, steps / w, least_dots=dots).curve for steps, w in moved]
    if len(parts) == 1:
        return parts[0]
    step = sum(steps / width for steps, width in moved) / _STEPS
    return Curve(step, composed_curve([(part.loss_grid(step=step), 1) for part in parts]))


@dataclass(frozen=True, slots=True)
class Box:
    """The far corner: the most that anything in the box moves each coordinate, in units of the data's integers."""

    count: int
    total: int
    square: int


@dataclass(frozen=True, slots=True)
class Movements:
    """Boxes that hold every movement of one record against another in its cell, and of one record against none."""

    same: tuple[Box, ...]
    one_sided: tuple[Box, ...]


def boxes(layout: MomentsLayout, square: bool, count: bool) -> Movements:
    """Return the boxes; one suffices where the sum alone is released.

    Parameters
    ----------
    layout : MomentsLayout
    square, count : bool
        Whether the second moment and the count are released too.

    Examples
    --------
    >>> layout = MomentsLayout(start=-2, stride=2, steps=2, offset=0, presence="public", cells=1)
    >>> boxes(layout, square=False, count=False).same
    (Box(count=0, total=4, square=0),)
    >>> boxes(layout, square=True, count=False).same  # −2 | 0 and −2 | 2
    (Box(count=0, total=2, square=4), Box(count=0, total=4, square=0))
    """
    y = layout.start + layout.stride * np.arange(layout.steps + 1, dtype=np.int64)
    offset = layout.offset if count else 0
    d = layout.stride * np.arange(1, layout.steps + 1, dtype=np.int64)
    between = d * np.maximum(np.abs(2 * y[-1] - d), np.abs(2 * y[0] + d))
    reach = np.unique(np.abs(y))
    return Movements(
        _covered(d, between if square else None, 0),
        _covered(reach, np.abs(reach * reach - offset) if square else None, int(count)),
    )


def _covered(total: Integers, square: Integers | None, count: int) -> tuple[Box, ...]:
    """Return boxes over intervals of `total`, which rises; `square` is what goes with each."""
    if square is None:
        # Whatever the sum moves, the count moves by the same: the farthest is the worst.
        return (Box(count, int(total[-1]), 0),)
    largest = int(total[-1])
    ends = np.unique(np.concatenate([[_FROM * largest], np.linspace(_FROM, 1.0, _FINE + 1) * largest]))
    stops = np.unique(np.searchsorted(total, ends, side="right"))
    stops = stops[stops > 0]
    covering, begin = [], 0
    for stop in stops:
        covering.append(Box(count, int(total[stop - 1]), int(square[begin:stop].max())))
        begin = int(stop)
    return tuple(covering)
