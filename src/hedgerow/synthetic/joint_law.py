"""The law of synthetic files: the law of maximum entropy near the agreeing tables of a release. Post-processing.

The released tables are noisy. First come the non-negative tables that agree and are nearest to them, in least squares
that hold small tables tightly (κ; `hedgerow.margins.agreeing_fit`). Let t_A be their cells. No joint law need have
exactly these tables. So of all weights p on the joint cells that one is taken which makes least

    Σ_x p(x)·log(p(x)/b(x)) + Σ_A |m_A − t_A|²/(2·s_A²),

with m_A the tables of p, b equal weights, and s_A a small tolerance: s_A² is .003 of the noise variance of a cell of
the largest tables, times .01 for each column less. The minimum has the form p = b·exp(Σ_A θ_A), θ_A = (t_A − m_A)/s_A²:
no interaction of more columns than the tables have. One table after the other is brought to its best θ_A, all others
held,

    m_A·e^δ + s_A²·(θ_A + δ) = t_A   in every cell,

by Newton steps from the right, which do not overshoot. With s_A = 0, for tables that are known, this is raking.

The distance of the law from the release, D(p) = Σ_B |r_B(p) − r̂_B|²/(2·σ_B²·κ^(k − |B|)) over the residuals r_B, cannot
be less than that of the agreeing tables, less its own duality gap: these need not come from any joint law. The steps
stop where D is within .1 of that bound, or falls by less than half a per cent in ten rounds, after 30 at the least. The
gap to the bound is reported.

The joint cells are all cells of a dense table, or a sample of them (`hedgerow.synthetic.sampled_cells`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.residual_margins import ColumnSet

if TYPE_CHECKING:
    from hedgerow.margins.agreeing_fit import AgreeingFit
    from hedgerow.margins.residuals import TableResiduals
    from hedgerow.margins.workload import Workload

Floats = NDArray[np.float64]
Agree = Callable[["TableResiduals"], "AgreeingFit"]
KAPPA = 0.1
"""How much tighter the tables of one column less are held, as in the fit of the agreeing tables."""
MOST_DENSE = 200_000
"""The largest number of joint cells that are all held."""
_TOLERANCE, _TIGHTER = 0.003, 0.01
_NEAR = 0.1  # of D, in which 1/2 is one standard deviation of the noise
_CHECKED, _FALLS, _LEAST_ROUNDS, _MOST_ROUNDS, _NEWTON_STEPS = 10, 0.005, 30, 100, 6


@dataclass(frozen=True, slots=True, eq=False)
class LawCells:
    """Joint cells on which a law lies, and where each lies in the tables.

    Attributes
    ----------
    levels : int array, (cells, columns)
        The category of each column.
    places : mapping
        {columns of a table: the place of each joint cell in it}.
    base : float array
        b, with sum 1.
    """

    levels: NDArray[np.int16]
    places: Mapping[ColumnSet, NDArray[np.int32]]
    base: Floats

    @classmethod
    def of(cls, workload: Workload, levels: NDArray[np.int16], base: Floats) -> LawCells:
        """Return these cells with their places in all tables of a workload."""
        places = {}
        for table in workload.tables:
            place = np.zeros(len(levels), dtype=np.int32)
            for column in table:
                place = place * workload.sizes[column] + levels[:, column]
            places[table] = place
        return cls(levels, places, base)

    @classmethod
    def dense(cls, workload: Workload) -> LawCells:
        """Return all joint cells with equal weights."""
        levels = np.indices(workload.sizes, dtype=np.int16).reshape(len(workload.sizes), -1).T
        return cls.of(workload, levels, np.full(len(levels), 1.0 / len(levels)))

    def table(self, workload: Workload, columns: ColumnSet, weights: Floats) -> Floats:
        """Return a table of weights on these cells, in its shape."""
        counted = np.bincount(self.places[columns], weights, workload.length(columns))
        return np.asarray(counted.reshape(workload.shape(columns)))


class FitDistance(NamedTuple):
    """How far a law is from the release.

    Attributes
    ----------
    distance : float
        D of the law.
    least : float
        A lower bound on D of any law.
    rounds : int
        How many rounds of steps were taken.
    """

    distance: float
    least: float
    rounds: int

    @property
    def gap(self) -> float:
        """By which part of the lower bound, or of 1 if that is more, the law is farther, at most."""
        return (self.distance - self.least) / max(self.least, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class JointLaw:
    """A law on joint cells.

    Attributes
    ----------
    cells : LawCells
    weights : float array
        How many records each cell is expected to hold.
    logs : mapping
        {columns: θ of each cell of this table}.
    fit : FitDistance
    """

    cells: LawCells
    weights: Floats
    logs: Mapping[ColumnSet, Floats]
    fit: FitDistance

    def table(self, workload: Workload, columns: ColumnSet) -> Floats:
        """Return the table of these columns, flat."""
        return self.cells.table(workload, columns, self.weights).reshape(-1)

    def drawn(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how many of so many independent rows lie in each joint cell."""
        return rng.multinomial(rows, self.weights / self.weights.sum())


def fitted_law(
    released: TableResiduals, agree: Agree, *, cells: LawCells | None = None, start: JointLaw | None = None
) -> JointLaw:
    """Return the law nearest to released tables, on all joint cells or on those that are given.

    Parameters
    ----------
    released : TableResiduals
    agree : callable
        From released tables to the nearest non-negative ones that agree.
    cells : LawCells, optional
    start : JointLaw, optional
        A law near it, whose cells are used, to begin from.
    """
    workload = released.workload
    agreed = agree(released)
    used = start.cells if start is not None else LawCells.dense(workload) if cells is None else cells
    tables = {table: np.maximum(agreed.residuals.table(table).reshape(-1), 0.0) for table in workload.tables}
    total = float(tables[()][0])
    weights = used.base * total if start is None else start.weights
    logs = {table: np.zeros(workload.length(table)) for table in workload.tables} if start is None else start.logs
    tolerances = tolerances_of(released)
    least = _distance(agreed.residuals, released) / (1.0 + max(agreed.gap, 0.0))
    before, rounds = math.inf, 0
    for rounds in range(1, _MOST_ROUNDS + 1):
        weights, logs = raked(used, workload, tables, tolerances, weights, logs)
        if rounds % _CHECKED == 0:
            weights = weights * (total / weights.sum())
            now = law_distance(used, weights, released)
            slow = rounds >= _LEAST_ROUNDS and now > before * (1.0 - _FALLS)
            if slow or now - least < _NEAR:
                break
            before = now
    fit = FitDistance(law_distance(used, weights, released), least, rounds)
    return JointLaw(used, weights, logs, fit)


def tolerances_of(
    released: TableResiduals, part: float = _TOLERANCE, tighter: float = _TIGHTER
) -> dict[ColumnSet, float]:
    """Return s² of each table; 0 where it is known.

    Parameters
    ----------
    released : TableResiduals
    part : float
        Which part of the noise variance of a cell of the largest tables.
    tighter : float
        By which factor it is less for each column less.
    """
    workload = released.workload
    noise = max(released.noise_variance(table) for table in workload.largest)
    return {
        table: 0.0 if table in workload.known else part * noise * tighter ** (workload.order - len(table))
        for table in workload.tables
    }


def raked(
    cells: LawCells,
    workload: Workload,
    tables: Mapping[ColumnSet, Floats],
    tolerances: Mapping[ColumnSet, float],
    weights: Floats,
    logs: Mapping[ColumnSet, Floats],
) -> tuple[Floats, dict[ColumnSet, Floats]]:
    """Return weights and θ after each table, the largest first, was brought to its best θ once."""
    moved, raised = dict(logs), weights.copy()
    factors = np.empty_like(raised)
    for table in reversed(workload.tables):
        if table:
            place = cells.places[table]
            now = np.asarray(np.bincount(place, raised, len(tables[table])), dtype=np.float64)
            step = _step(now, moved[table], tolerances[table], tables[table])
            # Without new arrays, and without a check of each place: four times as fast. All places are in the table.
            np.take(np.exp(step), place, out=factors, mode="clip")
            raised *= factors
            moved[table] = moved[table] + step
    return raised, moved


def _step(now: Floats, logs: Floats, tolerance: float, wanted: Floats) -> Floats:
    """Return δ with now·e^δ + tolerance·(logs + δ) = wanted; 0 where there is nothing to move."""
    held = np.where(now > 0.0, now, 1.0)
    if tolerance == 0.0:
        return np.where(now > 0.0, np.log(np.maximum(wanted, 1e-9) / held), 0.0)
    aim = wanted - tolerance * logs
    rises = np.minimum((aim - held) / (held + tolerance), np.log(np.maximum(aim, held) / held))
    step = np.where(aim > held, rises, 0.0)
    for _ in range(_NEWTON_STEPS):
        grown = held * np.exp(step)
        step = step - (grown + tolerance * (logs + step) - wanted) / (grown + tolerance)
    return np.where(now > 0.0, step, 0.0)


def expected_distance(released: TableResiduals) -> float:
    """Return the mean of D of the data themselves: half of each number that is free, over the weights."""
    workload = released.workload
    return 0.5 * math.fsum(
        math.prod(workload.sizes[column] - 1 for column in part) / KAPPA ** (workload.order - len(part))
        for part, variance in released.variances.items()
        if part and variance > 0.0
    )


def residuals_of(cells: LawCells, weights: Floats, like: TableResiduals) -> TableResiduals:
    """Return the exact residuals of weights on joint cells, of the tables of other residuals."""
    workload = like.workload
    return like.of_tables(workload, {table: cells.table(workload, table, weights) for table in workload.largest})


def law_distance(cells: LawCells, weights: Floats, released: TableResiduals) -> float:
    """Return D of weights on joint cells."""
    return _distance(residuals_of(cells, weights, released), released)


def _distance(fitted: TableResiduals, released: TableResiduals) -> float:
    order = released.workload.order
    return 0.5 * math.fsum(
        float(((fitted.values[part] - released.values[part]) ** 2).sum()) / (variance * KAPPA ** (order - len(part)))
        for part, variance in released.variances.items()
        if part and variance > 0.0
    )
