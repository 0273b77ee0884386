"""O'Keefe and Charest's sensitivities as published (2018, section 5). For reproduction only: two of them are false.

Nothing here is used by a release, and no statement or certificate rests on it.
`hedgerow.tables.bootstrap_dp.table_sensitivity` has the correct ones and their proofs; an attack that tells neighbours
apart at these scales is among the audits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.tables.bootstrap_dp.table_sensitivity import CellExtremes

Floats = NDArray[np.float64]


def published_contingency_sensitivity(table: CellExtremes) -> float:
    """Return what section 5.1 claims for a table of counts: 1. FALSE: it is 2 where two cells have rows.

    >>> published_contingency_sensitivity(CellExtremes.of([1, 1], [0, 1]))
    1.0
    """
    return 1.0


def published_cell_sensitivities(table: CellExtremes) -> Floats:
    """Return what section 5.2 claims for each cell's total, V_i (Table 2). FALSE unless no row is in another cell.

    >>> published_cell_sensitivities(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1])).tolist()
    [2.0, 0.0]
    """
    return table.spread


def published_magnitude_sensitivity(table: CellExtremes) -> float:
    """Return what option (i) of section 5.2 claims for a table of totals: max_i V_i. FALSE, see above.

    >>> published_magnitude_sensitivity(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1]))
    2.0
    """
    return float(table.spread.max())


def published_split_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i of option (ii) of section 5.2, noise of scale w_i/ε in cell i: k·V_i over k cells. FALSE in principle.

    Where V_i is small beside the values of the cell, k times it is still too small; elsewhere it pays too much.

    >>> published_split_sensitivities(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1])).tolist()
    [4.0, 0.0]
    """
    return len(table.low) * table.spread


def published_membership_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i of the third option of section 5.2: V_i. True where each row's cell is public.

    >>> published_membership_sensitivities(CellExtremes.of([5.0, 7.0, 9.0], [0, 0, 1])).tolist()
    [2.0, 0.0]
    """
    return table.spread


def published_accuracy_probability(gamma: float) -> float:
    """Return what Theorem 4 prints as the least probability of its error bound: γ. It is 1 − γ (Dwork & Roth, 3.8).

    >>> published_accuracy_probability(0.05)
    0.05
    """
    return gamma
