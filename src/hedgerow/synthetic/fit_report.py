"""How well files fit the release: each released table, and cells by the release, the files pooled, and one file alone.

How often the intervals of one file miss is seen without the data: each file comes from a re-release of the fitted law
P̂, so a share in P̂ is to a file as a share in the population is to the release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.interval import normal_quantile
from hedgerow.synthetic.pooling import pool

if TYPE_CHECKING:
    from hedgerow.facts.columns import Category
    from hedgerow.margins.residuals import TableResiduals
    from hedgerow.mechanisms.residual_margins import ColumnSet
    from hedgerow.release.cells.table_cells import TableCells
    from hedgerow.synthetic.synthesis import SyntheticRows

_LEAST = 20.0  # records that a cell holds in the fitted law
_SMALL, _MOST_IN_SMALL = 2.0, 0.01  # a cell is small below two sds of the noise; a table weak above a share of records
_SEED = 20261125  # which cells are drawn is not private, and the same when the files are read again


class ReleasedMargins(Protocol):
    """What synthetic files need to know of the margins that they are drawn from."""

    @property
    def axes(self) -> tuple[Category, ...]:
        """The group columns, with their categories."""
        ...

    @property
    def residuals(self) -> TableResiduals:
        """The released numbers."""
        ...

    @property
    def certificate(self) -> Any:
        """The price; None of simulated margins."""
        ...

    @property
    def backend(self) -> str | None:
        """The library of the caller's data frames."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers."""
        ...

    def price(self) -> str:
        """Return the price in words."""
        ...

    def columns(self, table: ColumnSet, /) -> tuple[str, ...]:
        """Return the names of the columns of a table."""
        ...

    def cells(self, table: ColumnSet, /) -> TableCells:
        """Return the cells of a table with their errors."""
        ...

    def to_json(self) -> str:
        """Return the record."""
        ...


@dataclass(frozen=True, slots=True)
class FittedTable:
    """The distance between the distribution of the files and one released table.

    Attributes
    ----------
    columns : tuple of str
    cells : int
    gap : float
        The root mean square of the differences between the fitted table and the released table.
    noise : float
        The standard deviation of the noise of a released cell.
    flagged : int
        The number of biased cells: cells in which the mean of the refits (fits to simulated repetitions of the release)
        differs from the fitted distribution by more than a quarter of the refits' standard deviation, and by more than
        chance.
    small : float
        The share of the records that lie in small cells: cells with fewer records in the fitted distribution than two
        standard deviations of the noise of a released cell.
    """

    columns: tuple[str, ...]
    cells: int
    gap: float
    noise: float
    flagged: int
    small: float

    @property
    def weak(self) -> bool:
        """Whether small cells hold more than 1 % of the records, so that slopes and shares from the table can be wrong.

        Fitted counts cannot be negative, so noise makes small cells too large on average, and most differences between
        categories too small. Where most of a difference is lost, a refit loses hardly more, and the bias that the files
        show is far smaller than the bias of the fit.
        """
        return self.small > _MOST_IN_SMALL


def fit_tables(margins: ReleasedMargins, rows: SyntheticRows) -> tuple[FittedTable, ...]:
    """Return how near the law of the files is to each released table; see `SyntheticFiles.fitted_tables`."""
    residuals, law = margins.residuals, rows.law
    made = []
    for table in residuals.workload.tables:
        if not table:
            continue
        own, noise = law.table(residuals.workload, table), _noise(margins, table)
        refits = np.stack([refit.table(residuals.workload, table) for refit in rows.refits])
        spread = refits.std(axis=0, ddof=1)
        least = spread * (0.25 + 1.645 / math.sqrt(len(refits)))
        made.append(
            FittedTable(
                margins.columns(table),
                len(own),
                float(np.sqrt(((own - residuals.table(table).reshape(-1)) ** 2).mean())),
                noise,
                int((np.abs(refits.mean(axis=0) - own) > np.maximum(least, 1e-9)).sum()),
                _in_small_cells(own, noise),
            )
        )
    return tuple(made)


def weak_tables(margins: ReleasedMargins, rows: SyntheticRows, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the columns of the weak tables on which a question rests: the table of its columns, or else their pairs.

    No refit is looked at, so that each analysis may ask.
    """
    workload, asked = margins.residuals.workload, {*columns}
    names = {table: margins.columns(table) for table in workload.tables if table}
    rests = [table for table, named in names.items() if {*named} == asked]
    rests = rests or [table for table, named in names.items() if len(named) == 2 and {*named} <= asked]
    return tuple(
        names[table]
        for table in rests
        if _in_small_cells(rows.law.table(workload, table), _noise(margins, table)) > _MOST_IN_SMALL
    )


def _noise(margins: ReleasedMargins, table: ColumnSet) -> float:
    return math.sqrt(margins.residuals.noise_variance(table))


def _in_small_cells(own: NDArray[np.float64], noise: float) -> float:
    return float(own[own < _SMALL * noise].sum() / own.sum())


class NumberWithEnds(NamedTuple):
    """A number of records with the ends of its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """One cell of a released table, estimated in three ways.

    Attributes
    ----------
    name : str
        The name of the cell: ``"sex=f, old=1"``.
    released : NumberWithEnds
        Of the release.
    pooled : NumberWithEnds
        The number of records in the cell, pooled over the files by `hedgerow.pool`.
    one_file : NumberWithEnds
        The number of records in the cell in the first file, with the standard error of that file alone.
    naive_held : float
        The share of files whose own interval contains the number of the fitted distribution.
    """

    name: str
    released: NumberWithEnds
    pooled: NumberWithEnds
    one_file: NumberWithEnds
    naive_held: float


def check_cells(margins: ReleasedMargins, rows: SyntheticRows, count: int, level: float) -> tuple[CheckedCell, ...]:
    """Return random cells of the largest tables that hold 20 records or more in the fitted law; see the module."""
    workload, law = margins.residuals.workload, rows.law
    places = [
        (table, int(cell))
        for table in workload.largest
        for cell in np.flatnonzero(law.table(workload, table) >= _LEAST)
    ]
    rng = np.random.default_rng(_SEED)
    chosen = sorted(map(int, rng.permutation(len(places))[:count]))
    return tuple(_checked(margins, rows, table, cell, level) for table, cell in (places[place] for place in chosen))


def _checked(margins: ReleasedMargins, rows: SyntheticRows, table: ColumnSet, cell: int, level: float) -> CheckedCell:
    workload, law = margins.residuals.workload, rows.law
    levels = tuple(int(level) for level in np.unravel_index(cell, workload.shape(table)))
    total, z = float(law.weights.sum()), normal_quantile(level)
    shares, centre = ([_share(file, table, levels) for file in listed] for listed in (rows.files, rows.centre_files))
    spreads = [share * (1.0 - share) / len(rows.files[0]) for share in shares]
    (pooled,) = pool(shares, spreads, centre=centre)
    low, high = pooled.confidence_interval(level)
    released = margins.cells(table)
    read = released.columns(level)
    true = float(law.table(workload, table)[cell]) / total
    held = [abs(share - true) <= z * math.sqrt(spread) for share, spread in zip(shares, spreads, strict=True)]
    half = z * math.sqrt(spreads[0])
    name = ", ".join(
        f"{axis.column}={axis.names[at] if at < len(axis.names) else axis.label(at)}"
        for axis, at in zip((margins.axes[place] for place in table), levels, strict=True)
    )
    return CheckedCell(
        name,
        NumberWithEnds(float(released.values[cell]), float(read.low[cell]), float(read.high[cell])),
        NumberWithEnds(*(total * number for number in (pooled.estimate, max(low, 0.0), high))),
        NumberWithEnds(*(total * number for number in (shares[0], max(shares[0] - half, 0.0), shares[0] + half))),
        float(np.mean(held)),
    )


def _share(file: NDArray[np.int16], table: ColumnSet, levels: tuple[int, ...]) -> float:
    return float(np.all(file[:, list(table)] == np.array(levels), axis=1).mean())
