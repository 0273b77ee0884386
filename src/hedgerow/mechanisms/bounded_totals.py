"""Totals whose bounds, and whose noise, differ from cell to cell: the mechanism and how far one record moves it.

A record of cell i has an integer y in [L_i, U_i], its own cell's bounds: it is clamped to them wherever it lies. It
adds y to the total of its cell and, where one is released, y² to the second moment. With H_i = max(|L_i|, |U_i|), noise
of width w_i on the total and v_i on the second moment, p = 1 for geometric (pure) and p = 2 for Gaussian noise, the
costs Σ (|d|/w)^p are

=============  =========================================================================  =============================
pair           cost                                                                       exists under
=============  =========================================================================  =============================
one-sided      a_i = (H_i/w_i)^p + (H_i²/v_i)^p                                           add-remove; replace-one, where
                                                                                          a record may lie in no cell
across cells   a_i + a_j, the two largest: independent coordinates                        replace-one, ≥ 2 cells
same cell      max over d of (d/w_i)^p + (d·s/v_i)^p, s = max(|2U_i − d|, |2L_i + d|)     replace-one
=============  =========================================================================  =============================

For totals alone and p = 1 a width of 2H_i/ε in every cell makes each of them at most ε: across cells ½ + ½, and within
one (U_i − L_i)/2H_i ≤ 1. For p = 2 it is not enough to look across cells: √2·H_i/μ makes that pair cost μ², but where
L_i < 0 < U_i a value can move by U_i − L_i > √2·H_i. So the largest of all pairs is what is priced, always.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import ROUND_UP
from hedgerow.accounting.profile import bisect
from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AuditRecord, Floats, Neighbours, Specimen, copies
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Additive, Law
from hedgerow.noise.lattice import AdditiveTable, LatticeNoise, NoiseSource, lattice_noise, on_lattice
from hedgerow.resampling.counted_values import Histogram

MOST_BOUNDED_CELLS = 10_000
Integers = NDArray[np.int64]
_BRUTE = 1024  # grids up to here are searched over all pairs; finer ones over pairs that touch an end


@dataclass(frozen=True, slots=True, eq=False)
class BoundedCells:
    """Cells with their bounds and widths as arrays, one entry per cell: what is priced, whatever lattice widths are on.

    Attributes
    ----------
    low, high : float array
        Bounds, in the integers y.
    stride : int
        The distance of two neighbouring values y.
    total, square : float array
        Widths of the noise in units of y and y²; `square` is None where no second moment is released.

    Examples
    --------
    Bounds of 0 to 10 and 0 to 1,000, widths of twice each: pure at 1.

    >>> top = np.array([10.0, 1000.0])
    >>> BoundedCells(0.0 * top, top, 1, 2.0 * top, None).farthest(Relation.REPLACE_ONE, power=1)
    1.0
    """

    low: Floats
    high: Floats
    stride: int
    total: Floats
    square: Floats | None

    def farthest(self, relation: Relation, *, power: Literal[1, 2]) -> float:
        """Return the largest Σ (|d|/w)^power over neighbours: d changes of the sums, w the widths of their noise."""
        reach = np.maximum(np.abs(self.low), np.abs(self.high))
        costs = (reach / self.total) ** power
        if self.square is not None:
            costs = costs + (reach * reach / self.square) ** power
        if relation is Relation.ADD_REMOVE:
            return float(costs.max())
        across = float(np.sort(costs)[-2:].sum())
        return max(across, float(self._within(power).max()))

    def _within(self, power: int) -> Floats:
        """Return the largest cost of two values of the same cell, cell by cell.

        For a difference d the sum y + y' is largest in size where the pair touches an end: |c − d| with c = 2U or −2L.
        As a function of a real d the cost is monotone between 0, its stationary points, the kink at c and the span; the
        largest over whole strides is therefore next to one of these.
        """
        span = self.high - self.low
        if self.square is None:
            return np.asarray((span / self.total) ** power)
        ratio, worst = self.square / self.total, np.zeros_like(span)
        for c in (2.0 * self.high, -2.0 * self.low):
            if power == 1:
                candidates = [span, c, (c + ratio) / 2.0]
            else:
                root = np.sqrt(np.maximum(c * c - 8.0 * ratio * ratio, 0.0))
                candidates = [span, (3.0 * c - root) / 4.0, (3.0 * c + root) / 4.0]
            for candidate in candidates:
                for steps in (np.floor(candidate / self.stride), np.ceil(candidate / self.stride)):
                    d = np.clip(steps * self.stride, self.stride, span)
                    cost = (d / self.total) ** power + (d * np.abs(c - d) / self.square) ** power
                    worst = np.maximum(worst, cost)
        return worst


@dataclass(frozen=True, slots=True)
class CellKind:
    """Bounds of cells, in the integers y, with the lattice noise on their total and, if released, second moment."""

    low: int
    high: int
    total: LatticeNoise
    square: LatticeNoise | None


@dataclass(frozen=True, slots=True)
class CellTotals(Additive):
    """(Σ y, Σ y²) of each cell, y clamped to the cell's own bounds, plus integer noise of the cell's own width.

    Attributes
    ----------
    law : "gaussian" or "geometric"
        Discrete Gaussian or two-sided geometric noise, each coordinate on its own lattice.
    start, stride : int
        Grid index t is the integer y = start + stride·t, before it is clamped.
    kinds : tuple of CellKind
        The different bounds and noises there are.
    kind_of : tuple of int
        The kind of each cell, by index in `kinds`: the length is the number of cells, 10,000 at most.

    Examples
    --------
    >>> narrow, wide = LatticeNoise(2000, 0), LatticeNoise(20_000, 0)
    >>> kinds = CellKind(0, 1000, narrow, None), CellKind(0, 10_000, wide, None)
    >>> totals = CellTotals("geometric", 0, 1, kinds, (0, 0, 1))
    >>> round(totals.pure(Relation.REPLACE_ONE), 9), round(totals.pure(Relation.ADD_REMOVE), 9)
    (1.0, 0.5)
    """

    law: Literal["gaussian", "geometric"]
    start: int
    stride: int
    kinds: tuple[CellKind, ...]
    kind_of: tuple[int, ...]
    type: Literal["cell-totals"] = "cell-totals"
    methods: ClassVar[tuple[str, ...]] = ("moments", "geometric")

    def __post_init__(self) -> None:
        known = self.law in ("gaussian", "geometric") and self.stride >= 1 and bool(self.kinds)
        cells = 0 < len(self.kind_of) <= MOST_BOUNDED_CELLS
        # Every kind is some cell's, and no cell is without: what is priced is then what is drawn, no more, no less.
        named = set(self.kind_of) == set(range(len(self.kinds)))
        squares = {kind.square is None for kind in self.kinds}
        if not (known and cells and named and len(squares) == 1 and all(self._fits(kind) for kind in self.kinds)):
            raise ParameterError(
                "HG406",
                rule="Totals of cells have bounds in order on one grid, within 31 bits, and 1 to "
                f"{MOST_BOUNDED_CELLS:,} cells, each of a kind that is described; all with a second moment, or none.",
                finding="The given numbers do not follow the rule.",
            )

    def _fits(self, kind: CellKind) -> bool:
        on_grid = kind.low < kind.high and not any((end - self.start) % self.stride for end in (kind.low, kind.high))
        return on_grid and max(abs(kind.low), abs(kind.high), abs(self.start)) < 2**31

    @property
    def squared(self) -> bool:
        """Whether second moments are released."""
        return self.kinds[0].square is not None

    def cells(self) -> BoundedCells:
        """Return bounds and widths of each cell as arrays."""
        kind = np.array(self.kind_of, dtype=np.int64)

        def each(numbers: list[float]) -> Floats:
            return np.array(numbers, dtype=np.float64)[kind]

        squares = [kind.square.in_units for kind in self.kinds if kind.square is not None]
        return BoundedCells(
            each([kind.low for kind in self.kinds]),
            each([kind.high for kind in self.kinds]),
            self.stride,
            each([kind.total.in_units for kind in self.kinds]),
            each(squares) if squares else None,
        )

    @property
    def noise_law(self) -> Law:
        """The law of the noise."""
        return GAUSSIAN if self.law == "gaussian" else LAPLACE

    @property
    def spread(self) -> Floats:
        """The sd of the noise on each number, (cells, features), in units of y and y²."""
        cells = self.cells()
        widths = [cells.total] if cells.square is None else [cells.total, cells.square]
        return np.asarray(np.stack(widths, axis=1) * self.noise_law.sd(1.0))

    @property
    def released_cells(self) -> int:
        """How many cells have a kind."""
        return len(self.kind_of)

    def table_spread(self, features: Sequence[str]) -> Floats:
        """Return `spread`."""
        return self.spread

    def half_width(self, cells: int, gamma: float) -> float:
        """Return the least h, to a millionth, with P(all totals within ± h) ≥ 1 − γ: one number for all cells.

        It is what the widest noise needs, of as many cells as have it; cells with narrower noise keep to far less.
        """
        law, noises = self.noise_law, Counter[LatticeNoise]()
        for kind, many in zip(self.kinds, np.bincount(self.kind_of).tolist(), strict=True):
            noises[kind.total] += many

        def alone(noise: LatticeNoise, many: int) -> float:
            return law.half_width(float(noise.width), cells=many, gamma=gamma) / 2.0**noise.bits

        def chance(reach: float) -> float:
            within = (law.within(reach * 2.0**noise.bits, noise.width, cells=many) for noise, many in noises.items())
            return math.prod(within)

        low, high = (max(alone(noise, many) for noise in noises) for many in (1, len(self.kind_of)))
        return bisect(lambda reach: chance(reach) >= 1.0 - gamma, held=high, failed=low, tolerance=1e-6, least=0.0)

    def mu(self, relation: Relation) -> float:
        """Return an upper bound on √(Σ d²/w²) over all neighbours: for Gaussian noise."""
        return float(np.sqrt(self.cells().farthest(relation, power=2)) * ROUND_UP)

    def pure(self, relation: Relation) -> float:
        """Return an upper bound on Σ |d|/w over all neighbours: ε for geometric noise."""
        return self.cells().farthest(relation, power=1) * ROUND_UP

    def clamped(self, index: Integers, cell: Integers) -> Integers:
        """Return y of grid indices, each clamped to the bounds of its cell: exact integers."""
        kind = np.array(self.kind_of, dtype=np.int64)[cell]
        low, high = (np.array([getattr(kind, end) for kind in self.kinds], dtype=np.int64) for end in ("low", "high"))
        return np.asarray(np.clip(self.start + self.stride * index, low[kind], high[kind]))

    def noisy(
        self, histogram: Histogram, source: NoiseSource, *, cells: Sequence[Mapping[str, Any]], copies: int = 1
    ) -> AdditiveTable:
        """Return (Σ y, Σ y²) of each cell, y clamped to its bounds, plus noise of its own width on its own lattice.

        With `copies` the histogram holds so many tables one behind the other, as an audit draws them.
        """
        y = self.clamped(histogram.index, histogram.cell % len(self.kind_of))
        kind_of = np.tile(np.array(self.kind_of, dtype=np.int64), copies)
        columns = [self._noisy(histogram.cell_sums(y), kind_of, [kind.total for kind in self.kinds], source)]
        if self.squared:
            squares = [kind.square for kind in self.kinds if kind.square is not None]
            columns.append(self._noisy(histogram.cell_sums(y * y), kind_of, squares, source))
        features = ("total", "square")[: len(columns)]
        spread = np.tile(self.spread, (copies, 1))
        return AdditiveTable(cells, features, np.stack(columns, axis=1), spread, self.noise_law.name)

    def _noisy(self, sums: Integers, kind: Integers, noises: Sequence[LatticeNoise], source: NoiseSource) -> Floats:
        noisy = np.zeros(len(kind), dtype=np.float64)
        order = np.argsort(kind, kind="stable")
        ends = np.searchsorted(kind[order], np.arange(len(noises) + 1))
        for index, noise in enumerate(noises):
            chosen = order[ends[index] : ends[index + 1]]
            drawn = self.noise_law.draw(source, float(noise.width), len(chosen))
            noisy[chosen] = on_lattice(sums[chosen], drawn, noise.bits)
        return noisy

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return three totals of bounds [−100, 300], [0, 30] and [−80, 100]; the pure ones without second moments."""
        limits = np.array([[-100, 300], [0, 30], [-80, 100]], dtype=np.int64)
        reach = np.abs(limits).max(axis=1).astype(np.float64)
        name, far, near = "sums by group, bounds by cell", Relation.REPLACE_ONE, Relation.ADD_REMOVE
        chosen: tuple[tuple[str, Literal["gaussian", "geometric"], Relation], ...]
        chosen = (name, "gaussian", far), (name, "gaussian", near), (f"{name}, pure", "geometric", far)
        widths = {"gaussian": (reach, reach**2 / 0.4), "geometric": (reach, None)}
        return tuple(
            Specimen(described, cell_totals(law, (-100, 1), limits, widths[law], 1.0, relation), relation, 1e-3)
            for described, law, relation in chosen
        )

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return the records that move most, by brute force over each cell's own grid."""
        pairs = farthest_records(self, replace=relation is Relation.REPLACE_ONE)
        return tuple(Neighbours(name, first, second, len(self.kind_of)) for name, first, second in pairs)

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, features)."""
        return self.noisy(copies(data, n), noise, cells=({},), copies=n).values.reshape(n, data.cells, -1)

    def contribution(self, record: AuditRecord) -> tuple[Floats, Floats]:
        """Return what one record adds to its cell, and the widths of the noise there; both (features,)."""
        kind = self.kinds[self.kind_of[record.cell]]
        y = float(min(max(self.start + self.stride * record.index, kind.low), kind.high))
        if kind.square is None:
            return np.array([y]), np.array([kind.total.in_units])
        return np.array([y, y * y]), np.array([kind.total.in_units, kind.square.in_units])

    @property
    def bits(self) -> Integers:
        """The lattice of each number, (cells, features)."""
        kinds = [[noise.bits for noise in (kind.total, kind.square) if noise is not None] for kind in self.kinds]
        return np.array([kinds[kind] for kind in self.kind_of], dtype=np.int64)


def cell_totals(
    law: Literal["gaussian", "geometric"],
    grid: tuple[int, int],
    limits: Integers,
    widths: tuple[Floats, Floats | None],
    precision: float,
    relation: Relation,
) -> CellTotals:
    """Return totals with noise in these proportions that cost `precision`, rounded up to the lattice.

    Parameters
    ----------
    law
        As in `CellTotals`.
    grid : (int, int)
        `start` and `stride`.
    limits : int array, (cells, 2)
        The bounds of each cell, in the integers y.
    widths : (float array, float array or None)
        The widths of the noise on totals and on second moments, relative to one another.
    precision : float
        μ for Gaussian noise, ε for geometric noise.
    relation : Relation
    """
    bounds = limits.astype(np.float64)
    unit = BoundedCells(bounds[:, 0], bounds[:, 1], grid[1], *widths)
    if law == "gaussian":
        scale = math.sqrt(unit.farthest(relation, power=2)) / precision
    else:
        scale = unit.farthest(relation, power=1) / precision
    kinds: dict[tuple[int, int], CellKind] = {}
    for place, (low, high) in enumerate(limits.tolist()):
        if (low, high) not in kinds:
            square = None if widths[1] is None else lattice_noise(scale * float(widths[1][place]))
            kinds[low, high] = CellKind(low, high, lattice_noise(scale * float(widths[0][place])), square)
    places = {limit: place for place, limit in enumerate(kinds)}
    return CellTotals(law, *grid, tuple(kinds.values()), tuple(places[low, high] for low, high in limits.tolist()))


def farthest_records(
    mechanism: CellTotals, *, replace: bool
) -> tuple[tuple[str, AuditRecord, AuditRecord | None], ...]:
    """Return (name, first record, second record or None) of each kind of pair, the farthest apart of its kind.

    The layout that priced them is not asked: bounds are applied, and movements compared, here anew.
    """
    power = mechanism.noise_law.power
    alone: dict[int, tuple[float, AuditRecord]] = {}
    within = (-1.0, AuditRecord(0, 0), AuditRecord(0, 0))
    for cell in _cells_that_count(mechanism):
        index, moved = _moved(mechanism, cell)
        cost = (np.abs(moved) ** power).sum(axis=1)
        alone[cell] = float(cost.max()), AuditRecord(cell, int(index[cost.argmax()]))
        ends = range(len(index)) if len(index) <= _BRUTE else (0, len(index) - 1)
        for end in ends:
            apart = (np.abs(moved - moved[end]) ** power).sum(axis=1)
            if float(apart.max()) > within[0]:
                within = (
                    float(apart.max()),
                    AuditRecord(cell, int(index[end])),
                    AuditRecord(cell, int(index[apart.argmax()])),
                )
    one_sided = max(alone.values(), key=lambda record: (record[0], record[1].cell, record[1].index))[1]
    if not replace:
        return (("one-sided", one_sided, None),)
    same = ("same cell", within[1], within[2])
    if len(alone) == 1:
        return same, ("one-sided", one_sided, None)
    first, second = max(combinations(alone, 2), key=lambda pair: alone[pair[0]][0] + alone[pair[1]][0])
    return same, ("across cells", alone[first][1], alone[second][1])


def _cells_that_count(mechanism: CellTotals) -> list[int]:
    """Return the first, second and last cell of each kind in order: of cells alike, no pair needs any other."""
    of_kind: dict[int, list[int]] = {}
    for cell, kind in enumerate(mechanism.kind_of):
        of_kind.setdefault(kind, []).append(cell)
    return sorted({cell for cells in of_kind.values() for cell in (*cells[:2], cells[-1])})


def _moved(mechanism: CellTotals, cell: int) -> tuple[Integers, Floats]:
    """Return the indices within a cell's bounds, and what a record there adds in units of the noise."""
    kind = mechanism.kinds[mechanism.kind_of[cell]]
    first, last = ((end - mechanism.start) // mechanism.stride for end in (kind.low, kind.high))
    index = np.arange(first, last + 1)
    added = [mechanism.contribution(AuditRecord(cell, int(place))) for place in index]
    return index, np.array([values / widths for values, widths in added])
