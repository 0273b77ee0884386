"""Totals over rows, columns, every set of axes and declared hierarchies that add up, with the errors they then have.

Where nothing but the cells was released, a total is the plain sum of its cells and the cells stay as they are. Where
totals were released too, or are known exactly, cells and totals disagree by the noise on them; weighted least squares
(`projection`) finds the table that fits all of them best. It is linear and unbiased, no other such estimate has a
smaller variance (Gauss and Markov), and being post-processing it costs no budget. It moves noise only: the sampling
error is that of the true totals, which add up already. A total's error is not that of independent cells added up; both
are exact here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.mechanisms.laws import averaged_law
from hedgerow.release.cells.cells import FOLLOWS, TableCells
from hedgerow.release.cells.projection import LevelRelease, project
from hedgerow.release.cells.shape import AxisMap, Hierarchy, TableShape

Floats = NDArray[np.float64]
Levels = tuple[str | None, ...]
_MOST_MARGINS = 5000
# Sums of more Laplace numbers are read as sums of this many: a little wider than they are.
_MOST_DRAWS = 100
ADJUSTED = (
    "Cells and totals were made to add up by weighted least squares; standard errors and intervals are those of the "
    "adjusted numbers."
)


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedMargin:
    """Totals that were released beside the cells, or that are known exactly.

    Attributes
    ----------
    columns : tuple of str
        Which columns, or groups of a hierarchy, are kept, in any order of the table's axes; ``()`` is the grand total.
    values : float array
        One number per cell of the margin, row-major in the order of the TABLE's axes.
    privacy_variance : float
        Of the noise on each; 0 for numbers that are public, such as n under replace-one where every record is in a
        cell.
    noise_law : str
    """

    columns: tuple[str, ...]
    values: Floats
    privacy_variance: float
    noise_law: str = "gaussian"


@dataclass(frozen=True, slots=True, eq=False)
class ConsistentTable:
    """A table and all its totals, which add up.

    Attributes
    ----------
    interior : TableCells
        The cells.
    margins : dict
        {columns kept: TableCells}, in the table's order of axes; ``()`` is the grand total. A hierarchy's name stands
        in the place of its column.
    hierarchies : tuple of Hierarchy
    notes : tuple of str
        What a reader must know about how the numbers were made.
    """

    interior: TableCells
    margins: Mapping[tuple[str, ...], TableCells] = field(default_factory=dict)
    hierarchies: tuple[Hierarchy, ...] = ()
    notes: tuple[str, ...] = ()

    def margin(self, columns: Iterable[str] = ()) -> TableCells:
        """Return the totals that keep these columns, given in any order; all columns: the cells (HG160 where none)."""
        wanted = frozenset(columns)
        tables = {frozenset(self.interior.shape.columns): self.interior}
        tables |= {frozenset(kept): cells for kept, cells in self.margins.items()}
        if wanted not in tables:
            raise ParameterError(
                "HG160",
                rule="A total is named by the columns or groups that it keeps, at most one of each axis.",
                finding=f"There is none by {', '.join(sorted(wanted)) or 'nothing: the grand total'}.",
                remedy="The columns are: " + ", ".join(self.interior.shape.columns) + "."
                if self.margins
                else "This table has no totals yet: ask for it with margins=True, or add them by with_margins().",
            )
        return tables[wanted]


def consistent_table(
    cells: TableCells, *, released: Sequence[ReleasedMargin] = (), hierarchies: Sequence[Hierarchy] = ()
) -> ConsistentTable:
    """Return the table with totals over every set of axes and every hierarchy, all adding up.

    Post-processing: the guarantee is that of what was released. Cost O(cells) for each released margin; see
    `projection` for the estimate and the proof that its variances are exact.

    Parameters
    ----------
    cells : TableCells
        The noisy cells, uncut.
    released : sequence of ReleasedMargin
        Totals with noise of their own, and totals that are known.
    hierarchies : sequence of Hierarchy

    Returns
    -------
    ConsistentTable
        With nothing but cells and hierarchies given the cells are unchanged and totals are their plain sums.

    Raises
    ------
    ParameterError
        HG160 a column that the table does not have, or a name used twice; HG161 an array of the wrong length; HG162 a
        hierarchy that is no partition, known totals that contradict each other, cells of unequal noise beside released
        totals, or more than 5,000 totals.

    Examples
    --------
    >>> from hedgerow.release.cells.shape import Axis
    >>> shape = TableShape((Axis("sex", (0, 1)), Axis("region", ("north", "south"))))
    >>> cells = TableCells.counts(shape, [10.0, 20.0, 30.0, 44.0], privacy_variance=2.0, n=100)
    >>> consistent_table(cells).margin(["sex"]).values.tolist()
    [30.0, 74.0]
    >>> known = ReleasedMargin((), np.array([100.0]), 0.0)
    >>> table = consistent_table(cells, released=[known])
    >>> table.interior.values.tolist(), table.interior.privacy_variance
    ([9.0, 19.0, 29.0, 43.0], 1.5)
    >>> table.margin(["sex"]).privacy_variance, table.margin().standard_error.tolist()
    (2.0, [0.0])
    """
    _check_names(cells.shape, hierarchies)
    axes = [AxisMap.of(axis, hierarchies) for axis in cells.shape.axes]
    wanted = _margins(axes)
    if not released:
        return ConsistentTable(
            cells, {_named(levels): _summed(cells, axes, levels) for levels in wanted}, tuple(hierarchies)
        )
    variance = cells.noise_variance
    if not isinstance(variance, float):
        raise _refused(
            "Totals released beside the cells are made to add up where all cells have noise of one size.",
            "These cells differ in theirs.",
            "Take plain sums: leave the released totals out.",
        )
    leaf = tuple(cells.shape.columns)
    given = [_placed(axes, margin) for margin in released]
    found = project(axes, [LevelRelease(leaf, cells.grid, variance), *given])
    laws = {cells.noise_law, *(margin.noise_law for margin in released if margin.privacy_variance)}
    # A mixture of laws is read by the widest: Laplace's critical values are never below the others'.
    law = "gaussian" if laws == {"gaussian"} else "laplace"
    interior = cells.with_values(found.values.reshape(-1), _spread(found.variance(leaf), cells.shape), noise_law=law)
    known = {margin.levels: margin.values for margin in given if margin.variance == 0.0}
    margins = {}
    for levels in wanted:
        shape = _shape(axes, levels)
        summed = _summed(interior, axes, levels, _spread(found.variance(levels), shape))
        # What is known is printed as it is known, not as the last digits of a sum.
        margins[_named(levels)] = summed.with_values(known[levels], 0.0) if levels in known else summed
    return ConsistentTable(interior, margins, tuple(hierarchies), (ADJUSTED,))


def _summed(
    cells: TableCells, axes: Sequence[AxisMap], levels: Levels, privacy_variance: Floats | float | None = None
) -> TableCells:
    """Return the totals of one margin, by the rule of its cells; without a variance, that of independent cells."""

    def added(numbers: Floats | float) -> Floats:
        return _added(axes, levels, np.broadcast_to(np.asarray(numbers, dtype=np.float64), cells.shape.size))

    shape, values, law = _shape(axes, levels), added(cells.values), cells.noise_law
    if cells.withheld:
        totals = TableCells.without_errors(shape, values, counted=cells.counted, subject=cells.subject)
    elif (read := cells.over(added, shape)) is not None:
        totals = read
    else:
        if privacy_variance is None:
            privacy_variance = _added_variance(axes, levels, cells.noise_variance)
            law = _law_of_sums(cells, shape)
        totals = replace(
            cells,
            shape=shape,
            values=values,
            sampling_variance=None if cells.follows else added(cells.sampling_error**2),
            privacy_variance=privacy_variance,
            noise_law=law,
            second_moment=None if cells.second_moment is None else added(cells.second_moment),
            second_moment_variance=_added_variance(axes, levels, cells.second_moment_variance),
            low=_end(cells, cells.low, added),
            high=_end(cells, cells.high, added),
            shown=None,
            freedom=_freedom(cells, added),
            skew=(_skewness(cells, cells.skew[0], added), _skewness(cells, cells.skew[1], added)),
            region=FOLLOWS,
        )
    return totals.with_shown(None if cells.shown is None else added(cells.shown))


def _end(cells: TableCells, end: Floats | float, added: Callable[[Floats | float], Floats]) -> Floats | float:
    """Return an end of what sums can be: of n records, wherever they are; of known records, the sum of their ends."""
    if cells.n is None and np.isfinite(end).all():
        return added(end)
    return float(np.max(end) if end is cells.high else np.min(end))


def _freedom(cells: TableCells, added: Callable[[Floats | float], Floats]) -> Floats | float:
    """Return the degrees of freedom of a sum of estimated variances (Satterthwaite 1946; Welch 1947)."""
    if not np.isfinite(cells.freedom).any():
        return math.inf
    variance = cells.upper_variance
    whole, parts = added(variance) ** 2, added(variance**2 / np.maximum(cells.freedom, 1.0))
    return np.where(parts > 0.0, whole / np.where(parts > 0.0, parts, 1.0), math.inf)


def _skewness(cells: TableCells, skew: Floats | float, added: Callable[[Floats | float], Floats]) -> Floats | float:
    """Return μ₃/v of sums: third moments add up as variances do."""
    if not np.any(skew):
        return 0.0
    whole = added(cells.upper_variance)
    return np.where(whole > 0.0, added(skew * cells.upper_variance) / np.where(whole > 0.0, whole, 1.0), 0.0)


def _law_of_sums(cells: TableCells, shape: TableShape) -> str:
    """Return the law of plain sums: of as many Laplace numbers as each adds up, where that is one number for all."""
    draws, rest = divmod(cells.shape.size, shape.size)
    even = rest == 0 and isinstance(cells.noise_variance, float)
    # Groups of a hierarchy are uneven: their sums stay with Laplace's own law, which is wider.
    even = even and set(shape.columns) <= set(cells.shape.columns)
    return averaged_law(min(draws, _MOST_DRAWS)) if even and cells.noise_law == "laplace" else cells.noise_law


def add_up(table: ConsistentTable, interior: TableCells) -> ConsistentTable:
    """Return the table with other numbers shown in its cells; those shown in its totals are their sums."""
    axes = [AxisMap.of(axis, table.hierarchies) for axis in interior.shape.axes]
    levels = {_named(kept): kept for kept in _margins(axes)}
    shown = interior.published
    margins = {name: cells.with_shown(_added(axes, levels[name], shown)) for name, cells in table.margins.items()}
    return ConsistentTable(interior, margins, table.hierarchies, table.notes)


def _added(axes: Sequence[AxisMap], levels: Levels, values: Floats) -> Floats:
    sums = values.reshape([axis.axis.levels for axis in axes])
    for place, (axis, level) in enumerate(zip(axes, levels, strict=True)):
        sums = axis.added(sums, place, level)
    return sums.reshape(-1)


def _added_variance(axes: Sequence[AxisMap], levels: Levels, variance: Floats | float) -> Floats | float:
    cells = np.prod([axis.axis.levels for axis in axes], dtype=np.int64)
    each = np.broadcast_to(np.asarray(variance, dtype=np.float64), int(cells))
    sums = _added(axes, levels, each)
    return float(sums[0]) if np.ndim(variance) == 0 and sums.min() == sums.max() else sums


def _spread(variance: Floats, shape: TableShape) -> Floats | float:
    return float(variance.reshape(())) if variance.size == 1 else np.broadcast_to(variance, shape.shape).reshape(-1)


def _margins(axes: Sequence[AxisMap]) -> list[Levels]:
    """Return the levels of every margin: all choices of one level an axis, but for the table itself."""
    choices = [[axis.axis.column, *(name for name in axis.sums if name is not None), None] for axis in axes]
    if np.prod([len(levels) for levels in choices], dtype=np.float64) > _MOST_MARGINS:
        raise _refused(
            f"A table has at most {_MOST_MARGINS:,} kinds of totals.",
            f"{len(axes)} axes make more.",
            "Take fewer columns or hierarchies.",
        )
    return list(product(*choices))[1:]


def _placed(axes: Sequence[AxisMap], margin: ReleasedMargin) -> LevelRelease:
    """Return a released margin with the level of every axis."""
    levels: list[str | None] = []
    for axis in axes:
        held = [column for column in margin.columns if column in axis.levels]
        levels.append(held[0] if len(held) == 1 else None)
    if sorted(margin.columns) != sorted(level for level in levels if level is not None):
        raise ParameterError(
            "HG160",
            rule="A released total keeps columns of the table or groups of its hierarchies, at most one of each axis.",
            finding=f"Found {', '.join(margin.columns)}.",
            remedy="The columns are: " + ", ".join(axis.axis.column for axis in axes) + ".",
        )
    # Checked as the cells of a table are: their number, finite, a variance of 0 or more.
    shape = _shape(axes, tuple(levels))
    cells = TableCells(shape, np.asarray(margin.values, dtype=np.float64).reshape(-1), 0.0, margin.privacy_variance)
    return LevelRelease(tuple(levels), cells.values, float(np.max(cells.noise_variance)))


def _shape(axes: Sequence[AxisMap], levels: Levels) -> TableShape:
    kept = (axis.levels[level] for axis, level in zip(axes, levels, strict=True))
    return TableShape(tuple(axis for axis in kept if axis is not None))


def _named(levels: Levels) -> tuple[str, ...]:
    return tuple(level for level in levels if level is not None)


def _check_names(shape: TableShape, hierarchies: Sequence[Hierarchy]) -> None:
    shape.axis_places(hierarchy.column for hierarchy in hierarchies)
    names = [*shape.columns, *(hierarchy.name for hierarchy in hierarchies)]
    if len(set(names)) < len(names):
        raise ParameterError(
            "HG160",
            rule="The columns and hierarchies of a table have different names.",
            finding="One name is used twice.",
            remedy="Give the hierarchy another name.",
        )


def _refused(rule: str, finding: str, remedy: str) -> ParameterError:
    return ParameterError("HG162", rule=rule, finding=finding, remedy=remedy)
