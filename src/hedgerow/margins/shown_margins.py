"""The numbers of a workload that are shown in place of those that were drawn: non-negative, whole. Post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.margins.agreeing_fit import agreeing_fit
from hedgerow.margins.agreeing_rounding import agreeing_rounding
from hedgerow.margins.residuals import Floats, TableResiduals
from hedgerow.margins.workload import Workload, summed
from hedgerow.mechanisms.residual_margins import ColumnSet
from hedgerow.release.cells.printed_numbers import rounded_in_turn

_FITTED = (
    "Numbers are the non-negative ones that agree in all tables and are nearest to those that were drawn; small cells "
    "are too large on average. Standard errors and intervals are those of the numbers that were drawn, cut at 0."
)
_WHOLE = "Numbers are rounded to whole ones; standard errors and intervals are those of the numbers that were drawn."
AGREE = "All tables agree: a total has the same number in every table that shows it."
_DIFFER = (
    "Each table is rounded by itself and keeps its grand total; a total of its cells differs from that number in a "
    "smaller table by {:,.0f} at most."
)
_LOW = "Where totals are known, cells of less than {:.1g} below zero are shown as zero, and tables agree up to these."
_LAST_DIGITS = 1e-11  # of the total
_DIGITS = 6  # to which numbers are taken before they are rounded: their last digits are those of the machine


@dataclass(frozen=True, slots=True, eq=False)
class ShownTables:
    """Numbers to be shown.

    Attributes
    ----------
    tables : dict
        {places of columns: numbers, flat}.
    gap : float or None
        The duality gap of the fit, over the least distance; None where there was no fit.
    largest_difference : float
        The most by which a total in one table differs from the sum of the cells of another.
    notes : tuple of str
        What a reader must know of them.
    """

    tables: Mapping[ColumnSet, Floats]
    gap: float | None
    largest_difference: float
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return what a record says of them beside the numbers."""
        gap = {} if self.gap is None else {"duality_gap": self.gap}
        return {**gap, "largest_difference": self.largest_difference}


def agreeing(released: TableResiduals, *, most: float = math.inf, by_order: bool = True) -> ShownTables:
    """Return the non-negative numbers that agree and are nearest to the released ones.

    Parameters
    ----------
    released : TableResiduals
    most : float
        The most that the grand total can be, such as a public n. A noisy total above that is shown as this number.
    by_order : bool
        As of `agreeing_fit`; False reads what an earlier version showed.
    """
    total = np.minimum(released.values[()], most)
    fit = agreeing_fit(replace(released, values={**released.values, (): total}), by_order=by_order)
    drawn = {table: fit.residuals.table(table).reshape(-1) for table in released.workload.tables}
    tables = {table: np.maximum(numbers, 0.0) for table, numbers in drawn.items()}
    # What is left of a cell that known totals leave empty is the last digits of the machine.
    low = min(fit.lowest, 0.0) if fit.lowest < -_LAST_DIGITS * max(1.0, float(tables[()][0])) else 0.0
    notes = (_FITTED, AGREE) if low == 0.0 else (_FITTED, _LOW.format(-low))
    return ShownTables(tables, fit.gap, 0.0 if low == 0.0 else largest_difference(released.workload, tables), notes)


def in_whole_numbers(released: TableResiduals, before: ShownTables | None) -> ShownTables:
    """Return whole numbers near those that are shown, or that were drawn, which agree in all tables.

    Where the search finds none, all tables are totals of the only largest one, if there is one; else each table is
    rounded by itself.
    """
    workload = released.workload
    now = {table: released.table(table).reshape(-1) for table in workload.tables} if before is None else before.tables
    tables: Mapping[ColumnSet, Floats] | None = agreeing_rounding(workload, now, negative=before is None)
    if tables is None and len(workload.largest) == 1:
        (whole,) = workload.largest
        rounded = rounded_in_turn(np.round(now[whole], _DIGITS)).reshape(workload.shape(whole))
        tables = {table: summed(rounded, whole, table).reshape(-1) for table in workload.tables}
    elif tables is None:
        tables = {table: rounded_in_turn(np.round(now[table], _DIGITS)) for table in workload.tables}
    difference = largest_difference(workload, tables)
    fitted = () if before is None else before.notes[:1]
    notes = (*fitted, _WHOLE, AGREE if difference == 0.0 else _DIFFER.format(difference))
    return ShownTables(tables, None if before is None else before.gap, difference, notes)


def largest_difference(workload: Workload, tables: Mapping[ColumnSet, Floats]) -> float:
    """Return the most by which a total of one table differs from its number in a table of one column less."""
    differences = [
        float(
            np.abs(summed(tables[table].reshape(workload.shape(table)), table, below).reshape(-1) - tables[below]).max()
        )
        for table in workload.tables
        for place in table
        if (below := tuple(other for other in table if other != place)) in tables
    ]
    return max(differences, default=0.0)
