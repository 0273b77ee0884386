"""A law on a sample of joint cells, where all of them are too many to hold.

The law has the form p(x) ∝ exp(Σ_A θ_A(x_A)), so one column given all others has a law that is read from the tables
with this column: no table of all columns is built. A sample of rows is moved by Gibbs steps, column after column, and
raked to the agreeing tables; what the raking adds to θ moves the rows of the next round. After a few rounds the rows
are nearly a sample of the law of maximum entropy, and `hedgerow.synthetic.joint_law` fits weights of them to the
release.

A cell of a table that no sampled row is in stays empty. The sample has at least twice as many rows as the data, so that
such cells hold less than a record or so. The fit gap of each table shows what is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.mechanisms.residual_margins import ColumnSet
from hedgerow.synthetic.joint_law import Agree, Floats, JointLaw, LawCells, fitted_law, raked, tolerances_of

if TYPE_CHECKING:
    from hedgerow.margins.residuals import TableResiduals
    from hedgerow.margins.workload import Workload

Levels = NDArray[np.int16]
_LEAST_ROWS, _MOST_ROWS, _ROUNDS, _RAKINGS, _CHUNK = 100_000, 400_000, 8, 4, 20_000
# The tolerances while rows are moved: with tighter ones θ grows without end where no row is. Each row adds up the θ of
# one cell of every table, so more tables need wider ones.
_WIDE, _TIGHTER, _TABLES = 0.1, 0.1, 84
_LARGEST_LOG = 30.0  # e^−30 of a record: what is smaller is empty


def sampled_law(released: TableResiduals, agree: Agree, rng: np.random.Generator) -> JointLaw:
    """Return the law nearest to released tables, on a sample of joint cells."""
    workload, agreed = released.workload, agree(released)
    tables = {table: np.maximum(agreed.residuals.table(table).reshape(-1), 0.0) for table in workload.tables}
    wide = _WIDE * max(1.0, len(workload.largest) / _TABLES)
    total, tolerances = float(tables[()][0]), tolerances_of(released, wide, _TIGHTER)
    size = int(np.clip(2.0 * total, _LEAST_ROWS, _MOST_ROWS))
    shares = [tables[(place,)] / tables[(place,)].sum() for place in range(len(workload.sizes))]
    levels = np.stack([rng.choice(len(share), size, p=share) for share in shares], axis=1).astype(np.int16)
    logs = {table: np.zeros(workload.length(table)) for table in workload.tables}
    for place, share in enumerate(shares):
        logs[(place,)] = np.log(np.maximum(share, np.exp(-_LARGEST_LOG)))
    for _ in range(_ROUNDS):
        cells = LawCells.of(workload, levels, np.full(size, 1.0 / size))
        weights = cells.base * total
        for _ in range(_RAKINGS):
            weights, logs = raked(cells, workload, tables, tolerances, weights, logs)
        chosen = rng.choice(size, size, p=weights / weights.sum())
        levels = moved_rows(levels[chosen], logs, workload, rng)
    cells = LawCells.of(workload, levels, np.full(size, 1.0 / size))
    return fitted_law(released, lambda _: agreed, cells=cells)


def moved_rows(
    levels: Levels, logs: Mapping[ColumnSet, Floats], workload: Workload, rng: np.random.Generator
) -> Levels:
    """Return rows after one Gibbs step of every column under θ."""
    whole = _added_up(logs, workload)
    moved = levels.copy()
    for column in rng.permutation(len(workload.sizes)).tolist():
        size = workload.sizes[column]
        lines = []
        for table, log in whole.items():
            if column in table:
                rest = tuple(place for place in table if place != column)
                lines.append((rest, np.moveaxis(log, table.index(column), -1).reshape(-1, size)))
        for start in range(0, len(moved), _CHUNK):
            part = moved[start : start + _CHUNK]
            scores = np.zeros((len(part), size))
            for rest, by_rest in lines:
                place = np.zeros(len(part), dtype=np.int64)
                for other in rest:
                    place = place * workload.sizes[other] + part[:, other]
                scores += by_rest[place]
            chances = np.cumsum(np.exp(scores - scores.max(axis=1, keepdims=True)), axis=1)
            drawn = rng.random(len(part)) * chances[:, -1]
            part[:, column] = (chances <= drawn[:, None]).sum(axis=1)
    return moved


def _added_up(logs: Mapping[ColumnSet, Floats], workload: Workload) -> dict[ColumnSet, Floats]:
    """Return θ of the largest tables, with those of each smaller table added to one that holds its columns."""
    whole = {table: logs[table].reshape(workload.shape(table)).copy() for table in workload.largest}
    for table, log in logs.items():
        if table and table not in whole:
            larger = next(other for other in whole if set(table) < set(other))
            along = [workload.sizes[place] if place in table else 1 for place in larger]
            whole[larger] = whole[larger] + log.reshape(along)
    return whole
