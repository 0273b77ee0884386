"""Cells that are 0 or more, nearest to the noisy ones, with the same grand total. Post-processing, and biased.

Minimises Σ (x_i − y_i)²/v_i over x ≥ 0 with Σ x = max(0, Σ y): the solution is x_i = max(0, y_i − λ·v_i) for one λ ≥ 0,
found exactly by sorting (Held, Wolfe & Crowder 1974). v_i is the privacy variance of the cell; where all are equal, or
withheld, it falls out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.tables.totals.margins import ConsistentTable, add_up

Floats = NDArray[np.float64]
NON_NEGATIVE = (
    "Cells below zero are shown as zero, and what they lacked is taken off the others, so that the grand total is "
    "kept; numbers may be fractions by it. Small cells are too large on average after it. Standard errors and "
    "intervals are those of the numbers before, cut to what is possible."
)


def non_negative(table: ConsistentTable) -> ConsistentTable:
    """Return the table with no cell below zero and the grand total kept; totals are the sums of the cells shown.

    Errors and intervals stay those of the numbers before: `values` is unchanged, `shown` is new.

    Examples
    --------
    >>> from hedgerow.tables.cells.cells import TableCells
    >>> from hedgerow.tables.totals.margins import consistent_table
    >>> from hedgerow.tables.cells.shape import Axis, TableShape
    >>> cells = TableCells.counts(TableShape((Axis("age", (1, 2, 3)),)), [5.0, -2.0, 9.0], privacy_variance=2.0)
    >>> table = non_negative(consistent_table(cells))
    >>> table.interior.published.tolist(), table.margin().published.tolist()
    ([4.0, 0.0, 8.0], [12.0])
    """
    cells = table.interior
    variance = 1.0 if cells.privacy_variance is None else cells.privacy_variance
    shown = nearest_non_negative(cells.published, variance)
    changed = add_up(table, cells.with_shown(shown))
    return replace(changed, notes=(*table.notes, NON_NEGATIVE)) if (cells.published < 0.0).any() else changed


def nearest_non_negative(values: Floats, variance: Floats | float = 1.0) -> Floats:
    """Return the x ≥ 0 with Σ x = max(0, Σ y) that minimises Σ (x − y)²/v. A cell without noise moves only up to 0.

    Parameters
    ----------
    values : float array, (cells,)
    variance : float array, (cells,), or float
        Of each, 0 or more. Where cells without noise alone exceed the total, they keep their values.

    Examples
    --------
    >>> nearest_non_negative(np.array([1.0, -1.0, 4.0])).tolist()
    [0.5, 0.0, 3.5]
    """
    values = np.asarray(values, dtype=np.float64)
    shown = np.maximum(values, 0.0)
    variances = np.broadcast_to(np.asarray(variance, dtype=np.float64), values.shape)
    free = variances > 0.0
    if np.ndim(variance) == 0:
        free, variances = np.ones(values.shape, dtype=bool), np.ones(values.shape)
    left = max(float(values.sum()), 0.0) - float(shown[~free].sum())
    if not free.any() or not (values < 0.0).any():
        return shown
    shown[free] = _on_simplex(values[free], variances[free], max(left, 0.0))
    return shown


def _on_simplex(values: Floats, variances: Floats, total: float) -> Floats:
    """Return max(0, y − λv) with λ such that the sum is `total`."""
    order = np.argsort(-values / variances, kind="stable")
    tops, weights = np.cumsum(values[order]), np.cumsum(variances[order])
    levels = (tops - total) / weights
    # λ is right for the largest set whose least member is still above it.
    kept = np.flatnonzero(values[order] / variances[order] > levels)
    if kept.size == 0:
        return np.zeros(values.shape)
    return np.asarray(np.maximum(values - levels[kept[-1]] * variances, 0.0))
