"""Reliability letters, as statistical agencies print them beside a number: bands of the coefficient of variation.

A letter says how large the standard error, sampling and privacy together, is beside the estimate. It is computed from
the noisy estimate, so it is an estimate itself: where the noise happened to be positive a cell looks better than it is,
and intervals, not letters, are what covers at a stated level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import percent
from hedgerow.release.cells.cells import TableCells

Floats = NDArray[np.float64]


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
                rule="Reliability bands have one letter each and limits that rise from above 0.",
                finding="These do not.",
                remedy="Give (letter, limit, meaning) in rising order of the limit, and a last letter for the rest.",
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
    """Return standard error / |estimate| of each cell; infinite where the estimate is 0, or below what is possible.

    HG161 where the errors are withheld.
    """
    size = np.abs(cells.values)
    impossible = np.where(np.asarray(cells.low) >= 0.0, cells.values <= 0.0, size == 0.0)
    error = cells.standard_error
    ratio = np.divide(error, size, out=np.full(error.shape, np.inf), where=~impossible)
    # A number that is known to be 0 has no error to be large beside it.
    return np.asarray(np.where((error == 0.0) & (cells.values == 0.0), 0.0, ratio))


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
    >>> from hedgerow.release.cells.shape import Axis, TableShape
    >>> shape = TableShape((Axis("age", (1, 2, 3)),))
    >>> cells = TableCells.counts(shape, [2500.0, 40.0, -1.0], privacy_variance=2.0)
    >>> reliability_letters(cells).tolist()
    ['A', 'D', 'F']
    """
    letters = np.array([*(letter for letter, _, _ in bands.bands), bands.last[0]])
    limits = np.array([limit for _, limit, _ in bands.bands])
    return np.asarray(letters[np.searchsorted(limits, coefficient_of_variation(cells), side="right")])
