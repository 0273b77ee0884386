"""Bootstrap sensitivities of tables: what the rows of D can do to the cells when one becomes another.

A table is additive: f(D1) = Σ φ(row) with φ = x·e_i for a row of value x in cell i (x = 1 for counts, φ = 0 for a row
in no cell or without a value). Neighbours share all rows but one, so

    Δ_D f = max ‖φ(r) − φ(r')‖₁ over r, r' ∈ D,

whatever n ≥ 1 is. Two rows of one cell are |x − x'| apart, two rows of different cells |x| + |x'|: a replaced row
LEAVES one cell and ENTERS another. O'Keefe & Charest (section 5) overlook the second case; their figures are kept,
marked, in `hedgerow.testing.published`. With V_i the spread of the values in cell i and M_i the largest |x| there:

===================  ==============================================  ===============
quantity             correct                                         as published
===================  ==============================================  ===============
contingency table    2                                               1
magnitude table (i)  max(max_i V_i, M₍₁₎ + M₍₂₎)                     max_i V_i
one cell's total     max(V_i, M_i); V_i where no row lies elsewhere  V_i
per cell (ii)        scale 2·M_i/ε                                   scale k·V_i/ε
public membership    scale V_i/ε                                     scale V_i/ε
===================  ==============================================  ===============
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class CellExtremes:
    """The extremes of a variable in each cell of a table over D. As confidential as D itself.

    Attributes
    ----------
    low, high : float arrays, one entry per cell
        The least and the greatest value in the cell; 0 in a cell without rows.
    occupied : bool array, one entry per cell
        Whether a row of D with a value lies there.
    void : bool array, one entry per cell
        Whether a row of D lies there without a value.
    elsewhere : bool
        Whether a row of D lies in no cell.

    Examples
    --------
    >>> table = CellExtremes.of([5.0, 7.0, -2.0], [0, 0, 1], n_cells=3)
    >>> table.spread.tolist(), table.reach.tolist(), table.occupied.tolist()
    ([2.0, 0.0, 0.0], [7.0, 2.0, 0.0], [True, True, False])
    """

    low: Floats
    high: Floats
    occupied: NDArray[np.bool_]
    void: NDArray[np.bool_]
    elsewhere: bool

    @classmethod
    def of(cls, values: ArrayLike, cells: ArrayLike, *, n_cells: int | None = None) -> CellExtremes:
        """Read the extremes of each cell off the rows of D.

        Parameters
        ----------
        values : float array, one entry per row
            NaN is no value: the row adds nothing to its cell.
        cells : int array, one entry per row
            The cell of each row, −1 for none.
        n_cells : int, optional
            Cells of the table, empty ones included; up to the last occupied one, where it is None.

        Raises
        ------
        ParameterError
            HG156: D has no rows, an infinite value, or a cell beyond the table.
        """
        values, cells = np.asarray(values, dtype=np.float64), np.asarray(cells, dtype=np.int64)
        size = int(cells.max(initial=-1)) + 1 if n_cells is None else n_cells
        fits = values.ndim == 1 and values.shape == cells.shape and values.size > 0 and not np.isinf(values).any()
        if not fits or size < 1 or cells.min() < -1 or cells.max() >= size:
            raise ParameterError(
                "HG156",
                rule="A table over D has, a row, one finite value or NaN and one cell: −1 or below their number.",
                finding="This one has not, or D has no rows.",
                remedy="Give arrays of one length. Nothing was read, spent or written.",
            )
        void = np.zeros(size, dtype=bool)
        void[cells[(cells >= 0) & np.isnan(values)]] = True
        kept = (cells >= 0) & ~np.isnan(values)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, cells[kept], values[kept])
        np.maximum.at(high, cells[kept], values[kept])
        occupied = low <= high
        return cls(np.where(occupied, low, 0.0), np.where(occupied, high, 0.0), occupied, void, bool((cells < 0).any()))

    @property
    def spread(self) -> Floats:
        """V_i: the greatest minus the least value in each cell, 0 in a cell without rows."""
        return self.high - self.low

    @property
    def reach(self) -> Floats:
        """M_i: the largest absolute value in each cell, 0 in a cell without rows."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def nowhere(self) -> bool:
        """Whether some row of D adds to no cell, so that it may become one that does, and the other way round."""
        return self.elsewhere or bool(self.void.any())

    def __repr__(self) -> str:
        return f"CellExtremes({len(self.low)} cells; confidential)"


def contingency_table_sensitivity(table: CellExtremes) -> float:
    """Return Δ_D of a table of counts: 2 where two cells have rows, 1 where one cell has and a row is in none, else 0.

    Proof: φ = e_i, and ‖e_i − e_j‖₁ = 2 for i ≠ j, ‖e_i‖₁ = 1. O'Keefe & Charest say 1: "can only change the count in
    exactly one cell"; but each count counts the rows that HAVE a value there, whatever it is.

    Parameters
    ----------
    table : CellExtremes
        Every row of D that counts has a value (any will do).

    Examples
    --------
    >>> contingency_table_sensitivity(CellExtremes.of([1, 1, 1], [0, 1, 1]))
    2.0
    """
    occupied = int(table.occupied.sum())
    return 2.0 if occupied >= 2 else float(occupied == 1 and table.nowhere)


def magnitude_table_sensitivity(table: CellExtremes) -> float:
    """Return Δ_D of a table of totals, all cells released together: max(max_i V_i, M₍₁₎ + M₍₂₎).

    M₍₁₎ ≥ M₍₂₎ are the two largest of the M_i over cells that have rows; rows that add to no cell are one more cell
    with M = 0; where all rows lie in one cell there is no second, and Δ_D is V.

    Proof: rows of one cell are at most V_i apart, rows of cells i ≠ j at most M_i + M_j, and rows of D reach both.

    Examples
    --------
    >>> magnitude_table_sensitivity(CellExtremes.of([100.0, 101.0, 90.0], [0, 0, 1]))
    191.0
    """
    reaches = np.sort(table.reach[table.occupied])[::-1]
    places = int(table.occupied.sum()) + table.nowhere
    moved = float(reaches[:2].sum()) if places >= 2 else 0.0
    return max(float(table.spread.max()), moved)


def cell_total_sensitivities(table: CellExtremes) -> Floats:
    """Return Δ_D of each cell's total alone: max(V_i, M_i), V_i where every row of D lies in cell i with a value.

    Proof: the total of cell i is that of φ_i, which is x for the rows in i and 0 for all others. It is the spread of
    these numbers, and where some row has 0 the spread of the values and 0 is max(V_i, M_i).

    Returns
    -------
    float array, one entry per cell
        For releasing ONE of them; two cells together cost twice.

    Examples
    --------
    >>> cell_total_sensitivities(CellExtremes.of([5.0, 7.0, -2.0, 4.0], [0, 0, 1, 1])).tolist()
    [7.0, 6.0]
    """
    if _in_one_cell(table):
        return table.spread
    return np.maximum(table.spread, table.reach)


def split_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i such that noise of scale w_i/ε in cell i, for all cells together, costs ε: w_i = 2·M_i.

    Proof: with Laplace noise of scales w_i/ε neighbours' densities differ by at most exp(ε·Σ_i |φ_i(r) − φ_i(r')|/w_i).
    Rows of cells i ≠ j: |x|/2M_i + |x'|/2M_j ≤ ½ + ½. Rows of one cell: |x − x'| ≤ V_i ≤ 2·M_i. Where no second place
    is, w_i = V_i; where the second place is 'no cell', w_i = max(V_i, M_i).

    That is O'Keefe & Charest's option (ii) made correct, and less: two cells change, not k, so each gets ε/2 and not
    ε/k; and a row may enter or leave, so M_i counts and not V_i. (ε/2 for each with max(V_i, M_i) is also valid, and
    larger where a cell has values of both signs.)

    Examples
    --------
    >>> split_sensitivities(CellExtremes.of([5.0, 7.0, -2.0, 4.0], [0, 0, 1, 1])).tolist()
    [14.0, 8.0]
    """
    if _in_one_cell(table):
        return table.spread
    if int(table.occupied.sum()) == 1:
        return np.maximum(table.spread, table.reach)
    return 2.0 * table.reach


def public_membership_sensitivities(table: CellExtremes) -> Floats:
    """Return w_i = V_i for the third option: each row's cell is public, so a row becomes another row of its own cell.

    Proof: neighbours then differ in one cell only, by |x − x'| ≤ V_i; noise of scale V_i/ε in every cell costs ε. Where
    a row of the cell has no value, it may become one that has: max(V_i, M_i). This is Result 8 of O'Keefe & Charest
    under the assumption that it needs; without it a row may change its cell, and nothing is promised.

    Examples
    --------
    >>> public_membership_sensitivities(CellExtremes.of([5.0, 7.0, -2.0, 4.0], [0, 0, 1, 1])).tolist()
    [2.0, 6.0]
    """
    return np.where(table.void, np.maximum(table.spread, table.reach), table.spread)


def _in_one_cell(table: CellExtremes) -> bool:
    return int(table.occupied.sum()) == 1 and not table.nowhere
