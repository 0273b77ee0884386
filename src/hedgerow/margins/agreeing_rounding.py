"""Whole numbers that agree in all tables: each near its number, none below 0 where that is wanted. Post-processing.

Smaller tables are rounded first. A table with k columns then has fixed totals: its tables of k − 1 columns, which are
whole. Its numbers are moved to these totals, which spreads the differences evenly. Let S be the running sums of the
table along all of its axes. At the end of an axis S is a running sum of a fixed total, so S is whole there. So the
differences of round(S) along all axes are whole numbers that keep every fixed total exactly, and each cell is less than
2^(k−1) off. This is a lattice point, and no search is needed for it; but some cells are below 0.

A move adds 1 to some cells and takes 1 from others, and keeps the fixed totals. A move of a table B from its cell b to
its cell b' changes the 2^|B| cells that take each category from b or from b', by (−1)^(number of categories from b').
Each other column has one category, in which all larger tables make the same move. So a move of B changes B and larger
tables only, and all tables still agree. A cell below 0 gets the move that adds least to

    Σ (number − wanted number)² + Σ weight · (how far a cell is below 0).

Where the least is no gain, the weight of the cell is raised and the move is made all the same, so that no place is
visited for ever (Morris, *The Breakout Method for Escaping from Local Minima*, AAAI 1993). Moves of the cell's own
table come first; where they are no gain, those of tables with fewer columns are compared too.

In tables of one or two columns there is always a move that removes one unit below 0 and makes none: the totals are 0
or more, so the row and the column of a cell below 0 both have a cell of 1 or more to take from. For more columns
nobody knows beforehand whether such whole numbers exist: `python -m benchmarks.margins` counts where they were found.
The search is the same on every machine, as `verify` needs: its limit is a number of moves, not a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from hedgerow.margins.residuals import TableResiduals, projected
from hedgerow.margins.workload import Workload, subsets
from hedgerow.mechanisms.residual_margins import ColumnSet

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_MOST_MOVES, _MOST_COMPARED = 200_000, 4096
_BELOW, _DIGITS = 4.0, 6  # the least weight of a cell below 0; digits beyond these are those of the machine
_FAR = 1.0  # a cell that is farther off than this is moved nearer, where that is a gain
_NEVER, _LITTLE = 1e9, 1e-6


def agreeing_rounding(
    workload: Workload, wanted: Mapping[ColumnSet, Floats], *, negative: bool
) -> dict[ColumnSet, Floats] | None:
    """Return whole numbers near the wanted ones that agree in all tables; None where the search found none.

    Parameters
    ----------
    workload : Workload
        Its known tables keep their numbers, rounded.
    wanted : mapping
        {columns: numbers, flat}, which agree up to small differences.
    negative : bool
        Whether numbers may be below 0.

    Examples
    --------
    >>> workload = Workload.up_to((2, 2), 2)
    >>> table = np.array([[0.5, 1.5], [1.5, 2.5]])
    >>> wanted = {A: table.sum(axis=tuple({0, 1} - set(A))).reshape(-1) for A in workload.tables}
    >>> {A: numbers.tolist() for A, numbers in agreeing_rounding(workload, wanted, negative=False).items()}
    {(): [6.0], (0,): [2.0, 4.0], (1,): [2.0, 4.0], (0, 1): [1.0, 1.0, 1.0, 3.0]}
    """
    search = _RoundingSearch(workload, negative)
    for table in workload.tables:
        numbers = np.round(np.asarray(wanted[table], dtype=np.float64).reshape(workload.shape(table)), _DIGITS)
        if not search.add(table, numbers):
            return None
    if not search.mended():
        return None
    search.bring_nearer()
    return {table: numbers.reshape(-1) for table, numbers in search.whole.items()}


@dataclass(frozen=True, slots=True)
class _Move:
    """A move of one table and of all larger ones: what it adds to the objective.

    Attributes
    ----------
    added : float
        Below 0 it is a gain.
    start, end : dict
        {column: category} of the cells b and b'.
    sign : int
        What b gets: 1 or −1.
    beside : dict
        {column: category} of the other columns.
    """

    added: float
    start: Mapping[int, int]
    end: Mapping[int, int]
    sign: int
    beside: Mapping[int, int]


@dataclass(slots=True)
class _RoundingSearch:
    """Whole numbers of the tables so far, how far they are from those wanted, and the weight of each cell below 0."""

    workload: Workload
    negative: bool
    whole: dict[ColumnSet, Floats] = field(default_factory=dict)
    off: dict[ColumnSet, Floats] = field(default_factory=dict)
    weight: dict[ColumnSet, Floats] = field(default_factory=dict)
    moves: int = 0

    def add(self, table: ColumnSet, wanted: Floats) -> bool:
        """Round one more table, with the totals that the smaller ones have; False where the moves are used up."""
        residuals = dict(TableResiduals.of_tables(self.workload, {table: wanted}).values)
        residuals |= {part: projected(self.whole[part]) for part in subsets(table) if part != table}
        sums = np.round(TableResiduals(self.workload, residuals, {}).table(table), _DIGITS)
        for axis in range(sums.ndim):
            sums = np.cumsum(sums, axis=axis)
        whole = np.floor(sums + 0.5)
        for axis in range(whole.ndim):
            whole = np.diff(whole, axis=axis, prepend=0.0)
        self.whole[table], self.off[table] = whole, whole - wanted
        self.weight[table] = np.full(whole.shape, 0.0 if self.negative else _BELOW)
        if len(table) < 2 or table in self.workload.known:
            return True
        # Cells that are easy to mend, before those of larger tables: nothing else moves.
        for place in self._below(table):
            if self.moves >= _MOST_MOVES:
                return False
            while whole[place] < 0.0 and (move := self._best(_named(table, place), 1)).added < 0.0:
                self._make(move)
        return self.moves < _MOST_MOVES

    def mended(self) -> bool:
        """Move on until no cell is below 0; return whether that is so."""
        while self.moves < _MOST_MOVES:
            places = [(table, place) for table in self.workload.tables for place in self._below(table)]
            if not places:
                return True
            for table, place in places:
                while self.whole[table][place] < 0.0 and self.moves < _MOST_MOVES:
                    move = self._way_out(_named(table, place))
                    if move is None:
                        return False
                    if move.added >= 0.0:
                        self.weight[table][place] += move.added + _BELOW
                    self._make(move)
        return False

    def bring_nearer(self) -> None:
        """Move cells that are far off nearer, while that is a gain and leaves no cell below 0."""
        for table in self.weight:
            self.weight[table][...] = 0.0 if self.negative else _NEVER
        moved = True
        while moved and self.moves < _MOST_MOVES:
            moved = False
            for table in self.workload.released:
                for at in np.flatnonzero(np.abs(self.off[table]).reshape(-1) > _FAR):
                    place = _cell(at, self.whole[table].shape)
                    while table and abs(off := float(self.off[table][place])) > _FAR and self.moves < _MOST_MOVES:
                        move = self._best(_named(table, place), -1 if off > 0.0 else 1)
                        if move.added >= -_LITTLE:
                            break
                        self._make(move)
                        moved = True

    def _below(self, table: ColumnSet) -> list[tuple[int, ...]]:
        """Return the cells below 0 that may not be."""
        if self.negative:
            return []
        return [_cell(at, self.whole[table].shape) for at in np.flatnonzero(self.whole[table].reshape(-1) < 0.0)]

    def _way_out(self, cell: Mapping[int, int]) -> _Move | None:
        """Return the move that adds 1 to a cell and adds least, of its own table first; None where all is known."""
        least = None
        for size in range(len(cell), 0, -1):
            parts = [part for part in combinations(cell, size) if part not in self.workload.known]
            moves = [self._best({column: cell[column] for column in part}, 1, cell) for part in parts]
            least = min([*moves, *([] if least is None else [least])], key=lambda move: move.added, default=None)
            if least is not None and least.added < 0.0:
                break
        return least

    def _larger(self, table: Iterable[int], columns: Iterable[int]) -> Iterator[ColumnSet]:
        """Yield the tables that have the columns of a table, and some of others."""
        for more in subsets(tuple(columns)):
            larger = tuple(sorted((*table, *more)))
            if larger in self.whole:
                yield larger

    def _best(self, start: Mapping[int, int], sign: int, cell: Mapping[int, int] | None = None) -> _Move:
        """Return the move from a cell of a table that adds least, of those that promise most.

        With a larger `cell` the move goes through its categories of the other columns.
        """
        self.moves += 1
        table, given = tuple(start), {} if cell is None else cell
        others = [column for column in range(len(self.workload.sizes)) if column not in start]
        levels = {
            column: np.arange(self.workload.sizes[column]) if column not in given else np.array([given[column]])
            for column in others
        }
        ends = self._ends(start, sign)
        total = self._added(table, start, ends, sign)
        for column in others:
            for larger in self._larger((*table, column), ()):
                each = self._added(larger, start, ends | {column: levels[column]}, sign)
                total = total + each.min(axis=larger.index(column))
        at = _cell(int(total.argmin()), total.shape)
        end = {column: int(ends[column][place]) for column, place in zip(table, at, strict=True)}
        beside: dict[int, int] = {}
        added = float(total[at]) if not others else self._added(table, start, _lists(end), sign).item()
        # Through the given cell first; each further column suits the ones before it.
        for column in sorted(others, key=lambda other: other not in given):
            each = np.zeros(len(levels[column]))
            for larger in self._larger((*table, column), beside):
                each += self._added(larger, start, _lists(end | beside) | {column: levels[column]}, sign).reshape(-1)
            beside[column] = int(levels[column][each.argmin()])
            added += float(each.min())
        return _Move(added, start, end, sign, beside)

    def _ends(self, start: Mapping[int, int], sign: int) -> dict[int, Integers]:
        """Return the categories of b' for each column: the most promising ones of many."""
        most, ends = max(2, int(_MOST_COMPARED ** (1.0 / len(start)))), {}
        for column, level in start.items():
            line = tuple(slice(None) if other == column else at for other, at in start.items())
            cost = self._one(tuple(start), line, -sign)
            cost[level] = np.inf
            ends[column] = np.sort(np.argsort(cost, kind="stable")[: len(cost) - 1][:most])
        return ends

    def _one(self, table: ColumnSet, cells: Any, sign: int) -> Floats:
        """Return what it adds to the objective to add 1 to each of some cells, or to take 1 away."""
        whole, off, weight = self.whole[table][cells], self.off[table][cells], self.weight[table][cells]
        below = -weight * (whole < 0.0) if sign > 0 else weight * (whole <= 0.0)
        return np.asarray(2.0 * sign * off + 1.0 + below)

    def _added(self, table: ColumnSet, start: Mapping[int, int], ends: Mapping[int, Integers], sign: int) -> Floats:
        """Return what moves from `start` add in one table: by the ends in its columns, and categories of others."""
        total = np.zeros(())
        for moved in subsets(tuple(start)):
            axes = [ends[c] if c in moved or c not in start else np.array([start[c]]) for c in table]
            total = total + self._one(table, np.ix_(*axes), sign * (-1) ** len(moved))
        return np.asarray(total)

    def _make(self, move: _Move) -> None:
        """Make a move in its table and in all larger ones."""
        for table in self._larger(move.start, move.beside):
            for moved in subsets(tuple(move.start)):
                cell = {**move.beside, **move.start, **{column: move.end[column] for column in moved}}
                place = tuple(cell[column] for column in table)
                added = move.sign * (-1) ** len(moved)
                self.whole[table][place] += added
                self.off[table][place] += added


def _cell(at: SupportsIndex, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(place) for place in np.unravel_index(int(at), shape))


def _named(table: ColumnSet, place: Sequence[int]) -> dict[int, int]:
    return dict(zip(table, place, strict=True))


def _lists(cell: Mapping[int, int]) -> dict[int, Integers]:
    return {column: np.array([level]) for column, level in cell.items()}
