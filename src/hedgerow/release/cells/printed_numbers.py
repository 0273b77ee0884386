"""Cells made non-negative, or whole numbers, that still add up. Post-processing; errors stay those of the cells before.

Non-negative. Minimises Σ (x_i − y_i)²/v_i over x ≥ 0 with Σ x = max(0, Σ y): the solution is x_i = max(0, y_i − λ·v_i)
for one λ ≥ 0, found exactly by sorting (Held, Wolfe & Crowder 1974). v_i is the privacy variance of the cell; where all
are equal, or withheld, it falls out. The result is biased.

Whole numbers, or multiples of a base. Cumulative rounding in the order of the cells: with S_i the sum of the first i
cells, cell i becomes ⌊S_i + ½⌋ − ⌊S_(i−1) + ½⌋. The rounding of each S is ½ off at most, so each cell and each run of
neighbouring cells is 1 off at most: so is every total over the last axes (a row of the table, with everything below
it); the grand total is its own rounded value. A total over the first axes adds cells here and there, and is off by at
most as many as the runs that it adds. Cells that were 0 or more stay so; a table of whole numbers stays as it is.

Reliability letters, as statistical agencies print them beside a number: bands of the coefficient of variation.

A letter says how large the 95 % interval is beside the estimate: its half over 1.96, which is the standard error where
that is known. So no good letter stands beside a wide interval. The estimate is noisy, and so is a letter: where the
noise happened to be positive a cell looks better than it is, and intervals, not letters, cover at a stated level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import percent
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.interval import normal_quantile
from hedgerow.release.cells.margins import ConsistentTable, add_up
from hedgerow.release.cells.table_cells import TableCells

Floats = NDArray[np.float64]
_LEVEL = 0.95
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
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> cells = TableCells.counts(TableShape((TableDimension("age", (1, 2, 3)),)), [5.0, -2.0, 9.0],
    ...     privacy_variance=2.0)
    >>> table = non_negative(consistent_table(cells))
    >>> table.interior.published.tolist(), table.margin().published.tolist()
    ([4.0, 0.0, 8.0], [12.0])
    """
    cells = table.interior
    variance = 1.0 if cells.privacy_variance is None else cells.privacy_variance
    changed = add_up(table, cells.with_shown(nearest_non_negative(cells.published, variance)))
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
    positive = np.maximum(values, 0.0)
    variances = np.broadcast_to(np.asarray(variance, dtype=np.float64), values.shape)
    free = variances > 0.0
    if np.ndim(variance) == 0:
        free, variances = np.ones(values.shape, dtype=bool), np.ones(values.shape)
    left = max(float(values.sum()), 0.0) - float(positive[~free].sum())
    if not free.any() or not (values < 0.0).any():
        return positive
    positive[free] = _on_simplex(values[free], variances[free], max(left, 0.0))
    return positive


def _on_simplex(values: Floats, variances: Floats, total: float) -> Floats:
    """Return max(0, y − λv) with λ such that the sum is `total`."""
    order = np.argsort(-values / variances, kind="stable")
    tops, weights = np.cumsum(values[order]), np.cumsum(variances[order])
    levels = (tops - total) / weights
    # λ is right for the largest set whose least member is still above it.
    positive = np.flatnonzero(values[order] / variances[order] > levels)
    if positive.size == 0:
        return np.zeros(values.shape)
    return np.asarray(np.maximum(values - levels[positive[-1]] * variances, 0.0))


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
    >>> from hedgerow.release.cells.table_cells import TableCells
    >>> from hedgerow.release.cells.margins import consistent_table
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> cells = TableCells.counts(TableShape((TableDimension("age", (1, 2, 3)),)), [0.4, 2.4, 7.4],
    ...     privacy_variance=2.0)
    >>> table = whole_numbers(consistent_table(cells))
    >>> table.interior.published.tolist(), table.margin().published.tolist()
    ([0.0, 3.0, 7.0], [10.0])
    """
    unit = as_float(base)
    if unit is None or unit <= 0.0:
        raise ParameterError(
            "HG164",
            rule="Cells are rounded to multiples of a positive number.",
            finding=f"Found {format_argument(base)}.",
            remedy="To round cells to whole numbers, use base=1.",
        )
    before = table.interior.published
    rounded = rounded_in_turn(before / unit) * unit
    changed = add_up(table, table.interior.with_shown(rounded))
    if np.array_equal(rounded, before):
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


@dataclass(frozen=True, slots=True)
class ReliabilityBands:
    """Letters in falling order of reliability: each with the coefficient of variation it stays below, and its meaning.

    Raises
    ------
    ParameterError
        HG164 where the limits do not rise, a letter is used twice, or none is given.

    Examples
    --------
    >>> bands = ReliabilityBands((("A", 0.10, "good"), ("B", 0.30, "use with caution")), ("X", "too unreliable"))
    >>> bands.legend()
    'A good (CV below 10 %), B use with caution (10 % to below 30 %), X too unreliable (30 % or more)'
    """

    bands: tuple[tuple[str, float, str], ...]
    last: tuple[str, str]

    def __post_init__(self) -> None:
        limits = [0.0, *(limit for _, limit, _ in self.bands)]
        letters = {letter for letter, _, _ in self.bands} | {self.last[0]}
        rising = all(a < b and math.isfinite(b) for a, b in pairwise(limits))
        if not self.bands or not rising or len(letters) <= len(self.bands):
            raise ParameterError(
                "HG164",
                rule="Each quality flag needs one letter, and the limits of the flags must rise, starting above 0.",
                finding="The given values do not follow the rule.",
                remedy="Give (letter, limit, meaning) in rising order of the limit, and a last letter for all larger "
                "values.",
            )

    def legend(self) -> str:
        """Return the letters with their bands and meanings in a line."""
        limits = ["", *(percent(limit, space=" ") for _, limit, _ in self.bands)]
        parts = [
            f"{letter} {meaning} ({f'{low} to' if low else 'CV'} below {high})"
            for (letter, _, meaning), low, high in zip(self.bands, limits[:-1], limits[1:], strict=True)
        ]
        return ", ".join([*parts, f"{self.last[0]} {self.last[1]} ({limits[-1]} or more)"])


STATISTICS_CANADA = ReliabilityBands(
    (
        ("A", 0.05, "excellent"),
        ("B", 0.10, "very good"),
        ("C", 0.15, "good"),
        ("D", 0.25, "acceptable"),
        ("E", 0.35, "use with caution"),
    ),
    ("F", "too unreliable to be published"),
)


def coefficient_of_variation(cells: TableCells) -> Floats:
    """Return half of the 95 % interval over 1.96 · |estimate| of each cell; infinite where no estimate is possible.

    Of a normal estimate whose error is known it is the standard error over the estimate. It is larger where the noise
    hides the sampling error, or few records tell it: a standard error does not allow for that, and an interval does.
    An estimate of 0, or below what is possible, has an infinite one. HG161 where the errors are withheld.
    """
    cells.check_given()
    low, high = cells.region.interval(_LEVEL)
    error, size = (high - low) / (2.0 * normal_quantile(_LEVEL)), np.abs(cells.values)
    impossible = np.where(np.asarray(cells.low) >= 0.0, cells.values <= 0.0, size == 0.0)
    ratio = np.divide(error, size, out=np.full(error.shape, np.inf), where=~impossible)
    # A number that is known to be 0 has no error to be large beside it.
    return np.asarray(np.where((cells.standard_error == 0.0) & (cells.values == 0.0), 0.0, ratio))


def sampling_is_hidden(cells: TableCells) -> NDArray[np.bool_]:
    """Return where the noise hides the sampling error, so that a standard error holds privacy noise alone."""
    return np.asarray((cells.sampling_error == 0.0) & (cells.privacy_error > 0.0) & cells.subject.sampled)


def reliability_letters(cells: TableCells, bands: ReliabilityBands = STATISTICS_CANADA) -> NDArray[np.str_]:
    """Return one letter a cell, by its coefficient of variation. Post-processing.

    The default bands are Statistics Canada's: A below 5 %, B 10, C 15, D 25, E 35, F from there on. An estimate of 0 or
    less of what cannot be negative has the last letter; an exact number the first.

    Parameters
    ----------
    cells : TableCells
    bands : ReliabilityBands

    Raises
    ------
    ParameterError
        HG161 where the errors are withheld.

    Examples
    --------
    >>> from hedgerow.release.cells.shape import TableDimension, TableShape
    >>> shape = TableShape((TableDimension("age", (1, 2, 3)),))
    >>> cells = TableCells.counts(shape, [2500.0, 40.0, -1.0], privacy_variance=2.0)
    >>> reliability_letters(cells).tolist()
    ['A', 'D', 'F']
    """
    letters = np.array([*(letter for letter, _, _ in bands.bands), bands.last[0]])
    limits = np.array([limit for _, limit, _ in bands.bands])
    return np.asarray(letters[np.searchsorted(limits, coefficient_of_variation(cells), side="right")])
