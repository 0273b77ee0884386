"""Non-negative numbers that agree in all tables: weighted least squares on the residuals. Post-processing.

With d_B = N_B·(residual of B) the cells of a table by A, times N_A, are ψ_A = Σ_{B ⊆ A} d_B. Wanted are the residuals
nearest to the released ones, Σ_B |d_B − d̂_B|²/(2·q_B) the least, such that no cell of the largest tables is below 0:
all other cells are sums of these. q_B = N_B²·σ_B²·κ^e for the k columns of the largest tables; the total and what is
known are kept. With κ = 1 this is plain least squares, and ruins small tables: tens of thousands of empty cells are
pushed up, and the large ones pay. With κ = .1 the smaller tables are held in place, and all tables come nearer to the
truth than the numbers that were released. e = (k − |B|)/|B| is the exponent of the numbers that are shown: of tables
by up to three columns, those by two move more and those by one no more than with e = k − |B|, which joint laws and
records of an earlier version have.

The problem is split into the residuals and the cells (alternating directions, Boyd, Parikh, Chu, Peleato & Eckstein
2011). The parts of a table are orthogonal, so the step of the residuals is in closed form: with weights w_A,

    d_B = (d̂_B/q_B + ρ·P_B Σ_{A ⊇ B} w_A·(z_A − u_A added up over A∖B)) / (1/q_B + ρ·Σ_{A ⊇ B} w_A·N_A/N_B),

then z = max(ψ + u, 0) and u = u + ψ − z. λ = −ρ·w·u ≥ 0 is a multiplier of each cell, whose dual value bounds the least
distance from below. A mixture with a table that is positive everywhere takes off what is left below 0; its distance
bounds the least one from above. The difference of the two is the duality gap, on which the steps stop. Nearly all of it
is the mixture's: the step before is within 1e-4 of the least distance. The positive table has the known totals too.
Known totals that are 0 leave cells empty: these are set to 0 before the mixture, by the least change of the residuals
that are not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsqr

from hedgerow.margins.residuals import TableResiduals
from hedgerow.margins.workload import Workload, subsets, summed
from hedgerow.mechanisms.residual_margins import ColumnSet, contrasts

Floats = NDArray[np.float64]
KAPPA = 0.1
"""How much tighter the tables of one column less are held, to the exponent e."""
_GAP, _MOST_STEPS, _CHECKED = 2e-3, 1000, 25
_RELAXED, _COUPLING = 1.6, 100.0
# Of cells that known tables join, rounds in which these are fitted, and how far off they may be as shares.
_MOST_JOINED, _MOST_ROUNDS, _FITTED = 1_000_000, 500, 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class AgreeingFit:
    """Non-negative tables that agree.

    Attributes
    ----------
    residuals : TableResiduals
        Of the fitted tables; the variances are those of what was released.
    gap : float
        The duality gap over the least distance: by how much the fit is farther than it could be, at most.
    lowest : float
        The lowest cell of the fit: 0 or more, up to the last digits of the machine. It is lower where known tables join
        columns with more than a million cells, or contradict one another: then no positive table is found.
    steps : int
        How many steps were taken.
    """

    residuals: TableResiduals
    gap: float
    lowest: float
    steps: int


def agreeing_fit(released: TableResiduals, *, kappa: float = KAPPA, by_order: bool = False) -> AgreeingFit:
    """Return the non-negative tables that agree and are nearest to the released ones, the total kept.

    Parameters
    ----------
    released : TableResiduals
    kappa : float
        κ; 1 weighs all residuals by their noise alone.
    by_order : bool
        Whether e is (k − |B|)/|B|, else k − |B|.

    Examples
    --------
    >>> tables = {(0, 1): np.array([[9.0, -1.0], [4.0, 8.0]])}
    >>> exact = TableResiduals.of_tables(Workload.up_to((2, 2), 2), tables)
    >>> fit = agreeing_fit(replace(exact, variances=dict.fromkeys(exact.values, 1.0)))
    >>> bool(fit.residuals.table((0, 1)).min() >= 0.0), round(float(fit.residuals.table(())), 9)
    (True, 20.0)
    """
    return _Problem.of(released, kappa, by_order).solved()


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The problem in flat arrays: residuals d one set after the other, cells ψ of the largest tables after one another.

    Attributes
    ----------
    places : tuple
        Of each set: where its numbers begin, and the shape of its table.
    start : float array
        d̂.
    stiffness : float array
        q of each number; 0 where it is kept.
    adding, added : sparse matrix
        ψ = adding · d, and its transpose.
    weight : float array
        w of each cell.
    coupling : float array
        Σ w_A·N_A/N_B of each number.
    rho : float
    """

    released: TableResiduals
    parts: tuple[ColumnSet, ...]
    places: tuple[tuple[int, tuple[int, ...]], ...]
    start: Floats
    stiffness: Floats
    adding: sparse.csr_array
    added: sparse.csr_array
    weight: Floats
    coupling: Floats
    rho: float

    @classmethod
    def of(cls, released: TableResiduals, kappa: float, by_order: bool) -> _Problem:
        workload, parts = released.workload, released.workload.tables
        lengths = np.array([workload.length(part) for part in parts])
        start = np.concatenate([released.values[part].reshape(-1) * workload.length(part) for part in parts])
        start[0] = max(start[0], 0.0)
        fewer = [(workload.order - len(part)) / (max(len(part), 1) if by_order else 1) for part in parts]
        held = np.array([kappa**e * released.variances[part] for e, part in zip(fewer, parts, strict=True)])
        held[0] = 0.0  # the total is kept
        largest = workload.largest
        precision = {part: _inverse(stiff) for part, stiff in zip(parts, held * lengths**2, strict=True)}
        # Tables whose cells may move little are coupled tightly.
        own = [1.0 / max(_variance(workload, table, precision), 1e-300) for table in largest]
        weights = np.array(own) / np.mean(own)
        coupled = dict.fromkeys(parts, 0.0)
        for table, weight in zip(largest, weights, strict=True):
            for part in subsets(table):
                coupled[part] += weight * workload.length(table) / workload.length(part)
        free = [part for part in largest if precision[part] < math.inf]
        rho = _COUPLING * float(np.median([precision[part] / coupled[part] for part in free])) if free else 1.0
        adding = _adding(workload, parts)
        return cls(
            released,
            parts,
            tuple(zip(np.cumsum([0, *lengths]).tolist(), map(workload.shape, parts), strict=False)),
            start,
            np.repeat(held * lengths**2, lengths),
            adding,
            adding.T.tocsr(),
            np.repeat(weights, [workload.length(table) for table in largest]),
            np.repeat([coupled[part] for part in parts], lengths),
            rho,
        )

    def projected(self, numbers: Floats) -> Floats:
        """Return P of the numbers of each set: in one new array, without others."""
        made = numbers.copy()
        for start, shape in self.places:
            table = made[start : start + math.prod(shape)].reshape(shape)
            for axis, size in enumerate(shape):
                table -= np.add.reduce(table, axis, keepdims=True) / size
        return made

    def distance(self, residuals: Floats) -> float:
        """Return Σ (d − d̂)²/2q."""
        free = self.stiffness > 0.0
        return 0.5 * float(((residuals - self.start)[free] ** 2 / self.stiffness[free]).sum())

    def least(self, multipliers: Floats) -> float:
        """Return the value of the dual: no feasible residuals are nearer."""
        pulled = self.stiffness * self.projected(self.added @ multipliers) ** 2
        return -0.5 * float(pulled.sum()) - float(multipliers @ (self.adding @ self.start))

    def solved(self) -> AgreeingFit:
        """Take steps until the gap is small; return the fit."""
        free = self.stiffness > 0.0
        precision = np.divide(1.0, self.stiffness, out=np.zeros_like(self.stiffness), where=free)
        divisor = precision + self.rho * self.coupling
        cells = np.maximum(self.adding @ self.start, 0.0)
        pull = np.zeros_like(cells)
        residuals, gap, step = self.start, math.inf, 0
        if self.start[0] == 0.0:  # nothing is left but empty cells
            return self._fit(np.zeros_like(self.start), 0.0, 0)
        if (self.adding @ self.start).min(initial=0.0) >= 0.0 or not free.any():
            return self._fit(self.start, 0.0, 0)
        positive = self._positive()
        for step in range(1, _MOST_STEPS + 1):
            moved = self.rho * self.projected(self.added @ (self.weight * (cells - pull)))
            residuals = np.where(free, (precision * self.start + moved) / divisor, self.start)
            sums = self.adding @ residuals
            relaxed = _RELAXED * sums + (1.0 - _RELAXED) * cells
            cells = np.maximum(relaxed + pull, 0.0)
            pull = pull + relaxed - cells
            if step % _CHECKED == 0:
                least = self.least(np.maximum(-self.rho * self.weight * pull, 0.0))
                mixed = self._mixed(residuals, positive)
                gap = (self.distance(mixed) - least) / max(least, 1e-300)
                if gap <= _GAP:
                    break
        return self._fit(mixed, gap, step)

    def _mixed(self, residuals: Floats, positive: Floats | None) -> Floats:
        """Return the residuals mixed with so much of a positive table that no cell is below 0."""
        if positive is None:
            return residuals
        residuals = self._emptied(residuals, positive)
        below, above = self.adding @ residuals, self.adding @ positive
        short = (below < 0.0) & (above > _FITTED * self.start[0])
        part = float((below[short] / (below[short] - above[short])).max(initial=0.0))
        # A little more, so that rounding leaves nothing below 0.
        part = min(1.0, part * (1.0 + 1e-9) + 1e-12) if part else 0.0
        return residuals + part * (positive - residuals)

    def _positive(self) -> Floats | None:
        """Return tables with the known totals and as few interactions as these allow; None where they are not found.

        Columns that no known table joins are independent in it. A cell is 0 only where a known total is 0.
        """
        joints = self._joints()
        if joints is None:
            return None
        made = []
        for part in self.parts:
            table, order = np.full((), self.start[0]), list[int]()
            for columns, shares in joints:
                inside = tuple(column for column in columns if column in part)
                table = np.multiply.outer(table, summed(shares, columns, inside)) if inside else table
                order.extend(inside)
            made.append(contrasts(table.transpose([order.index(column) for column in part])).reshape(-1))
        return np.where(self.stiffness == 0.0, self.start, np.concatenate(made))

    def _joints(self) -> list[tuple[ColumnSet, Floats]] | None:
        """Return shares by all columns that known tables join, fitted to these in turn (Deming & Stephan 1940)."""
        workload, groups = self.released.workload, [{column} for column in range(len(self.released.workload.sizes))]
        known = sorted(table for table in workload.known if table)
        for table in known:
            together = set[int]().union(*(group for group in groups if group & set(table)))
            groups = [*(group for group in groups if not group & together), together]
        joints = []
        for columns in (tuple(sorted(group)) for group in groups):
            if workload.length(columns) > _MOST_JOINED:
                return None
            shares = np.full(workload.shape(columns), 1.0 / workload.length(columns))
            wanted = {
                table: np.maximum(self.released.table(table), 0.0) / self.start[0]
                for table in known
                if set(table) <= set(columns)
            }
            far, rounds = math.inf if wanted else 0.0, 0
            while far > _FITTED and rounds < _MOST_ROUNDS:
                far, rounds = 0.0, rounds + 1
                for table, numbers in wanted.items():
                    now = summed(shares, columns, table)
                    far = max(far, float(np.abs(now - numbers).max()))
                    ratio = np.divide(numbers, now, out=np.zeros_like(now), where=now > 0.0)
                    shares = shares * ratio.reshape([workload.sizes[c] if c in table else 1 for c in columns])
            if far > _FITTED:
                return None
            joints.append((columns, shares))
        return joints

    def _emptied(self, residuals: Floats, positive: Floats | None) -> Floats:
        """Return the nearest residuals whose cells are 0 where known totals leave nothing."""
        if positive is None or not (empty := self.adding @ positive <= _FITTED * self.start[0]).any():
            return residuals
        rows, free = self.adding[empty], self.stiffness > 0.0
        added = rows.T.tocsr()

        def moved(multipliers: Floats) -> Floats:
            return np.where(free, self.projected(added @ multipliers), 0.0)

        operator = LinearOperator(
            rows.shape,
            matvec=lambda numbers: rows @ np.where(free, self.projected(numbers), 0.0),
            rmatvec=moved,
            dtype=np.float64,
        )
        # The least change: from 0, every step stays among the numbers that `moved` returns.
        change = lsqr(operator, -(rows @ residuals), atol=1e-15, btol=1e-15, iter_lim=_MOST_STEPS)[0]
        return residuals + np.where(free, self.projected(change), 0.0)

    def _fit(self, residuals: Floats, gap: float, steps: int) -> AgreeingFit:
        workload = self.released.workload
        lengths = [workload.length(part) for part in self.parts]
        split = np.split(residuals, np.cumsum(lengths)[:-1])
        values = {
            part: numbers.reshape(workload.shape(part)) / length
            for part, numbers, length in zip(self.parts, split, lengths, strict=True)
        }
        fitted = replace(self.released, values=values)
        lowest = min(float(fitted.table(table).min()) for table in workload.largest)
        return AgreeingFit(fitted, gap, lowest, steps)


def _inverse(variance: float) -> float:
    return 1.0 / variance if variance > 0.0 else math.inf


def _variance(workload: Workload, table: ColumnSet, precision: dict[ColumnSet, float]) -> float:
    """Return the variance of ψ of a table, the residuals having these precisions."""
    return math.fsum(workload.share(part) / precision[part] for part in subsets(table))


def _adding(workload: Workload, parts: tuple[ColumnSet, ...]) -> sparse.csr_array:
    """Return the matrix that adds up the residuals of all parts of each of the largest tables."""
    lengths = [workload.length(part) for part in parts]
    starts = dict(zip(parts, np.cumsum([0, *lengths]).tolist(), strict=False))
    columns = []
    for table in workload.largest:
        shape, of_table = workload.shape(table), []
        for part in subsets(table):
            own = starts[part] + np.arange(workload.length(part))
            along = [workload.sizes[place] if place in part else 1 for place in table]
            of_table.append(np.broadcast_to(own.reshape(along), shape).reshape(-1))
        columns.append(np.stack(of_table, axis=1))
    ends = np.cumsum([0, *(part.shape[1] for part in columns for _ in range(len(part)))])
    flat = np.concatenate([part.reshape(-1) for part in columns])
    return sparse.csr_array((np.ones(len(flat)), flat, ends), shape=(len(ends) - 1, sum(lengths)))
