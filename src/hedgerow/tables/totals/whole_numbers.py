"""Cells rounded to whole numbers, or to multiples of a base, that still add up. Post-processing.

Cumulative rounding in the order of the cells: with S_i the sum of the first i cells, cell i becomes
⌊S_i + ½⌋ − ⌊S_(i−1) + ½⌋. The rounding of each S is ½ off at most, so each cell and each run of neighbouring cells is 1
off at most: so is every total over the last axes (a row of the table, with everything below it); the grand total is its
own rounded value. A total over the first axes adds cells here and there, and is off by at most as many as the runs
that it adds. Cells that were 0 or more stay so; a table of whole numbers stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.given import real
from hedgerow.tables.totals.margins import ConsistentTable, add_up

Floats = NDArray[np.float64]


def whole_numbers(table: ConsistentTable, *, base: float = 1.0) -> ConsistentTable:
    """Return the table with every cell shown as a multiple of `base`, and totals that are the sums of those shown.

    Errors and intervals stay those of the numbers before: `values` is unchanged, `shown` is new.

    Parameters
    ----------
    table : ConsistentTable
    base : float
        1 for whole numbers, 5 or 1000 as agencies round.

    Raises
    ------
    ParameterError
        HG164 where the base is not positive and finite.

    Examples
    --------
    >>> from hedgerow.tables.cells.cells import TableCells
    >>> from hedgerow.tables.totals.margins import consistent_table
    >>> from hedgerow.tables.cells.shape import Axis, TableShape
    >>> cells = TableCells.counts(TableShape((Axis("age", (1, 2, 3)),)), [0.4, 2.4, 7.4], privacy_variance=2.0)
    >>> table = whole_numbers(consistent_table(cells))
    >>> table.interior.published.tolist(), table.margin().published.tolist()
    ([0.0, 3.0, 7.0], [10.0])
    """
    unit = real(base)
    if unit is None or unit <= 0.0:
        raise ParameterError(
            "HG164",
            rule="Cells are rounded to multiples of a positive number.",
            finding=f"Found {base!r}.",
            remedy="Take base=1 for whole numbers.",
        )
    before = table.interior.published
    shown = rounded_in_turn(before / unit) * unit
    changed = add_up(table, table.interior.with_shown(shown))
    if np.array_equal(shown, before):
        return changed
    note = (
        f"Cells are rounded to {'whole numbers' if base == 1 else f'multiples of {base:g}'} in turn, so that they "
        "add up; standard errors and intervals are those of the numbers before."
    )
    return replace(changed, notes=(*table.notes, note))


def rounded_in_turn(values: Floats) -> Floats:
    """Return whole numbers with ⌊Σ + ½⌋ for every leading sum Σ of the values.

    >>> rounded_in_turn(np.array([0.5, 0.5, -0.25, 3.0])).tolist()
    [1.0, 0.0, 0.0, 3.0]
    """
    values = np.asarray(values, dtype=np.float64)
    whole = np.floor(values)
    # Only fractions are added up, so that large cells cost no digits.
    sums = np.floor(np.cumsum(values - whole) + 0.5)
    return np.asarray(whole + np.diff(sums, prepend=0.0))
