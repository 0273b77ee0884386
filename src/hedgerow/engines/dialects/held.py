"""Exact sums over rows that are held in memory: by NumPy, one slice after another that the processor's cache holds.

What the engines compute by expressions of columns is computed here by the same operations in double precision, each
correctly rounded, so the integers are the same. Sums of products that stay below 2⁵³ in a slice are added up as
doubles, which hold all of them; others in halves of 31 bits. The slices' sums are Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import ValueOnGrid
from hedgerow.engines.schema import value_column
from hedgerow.facts.columns import Missing
from hedgerow.resampling.histogram import Integers

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.query import SumsQuery
    from hedgerow.facts.columns import Grid

Numbers = NDArray[Any]
Terms = Callable[[dict[str, Numbers]], dict[str, Numbers]]
_ROWS, _ROWS_BY = 2**15, 2**18  # in hand at once, in one cell or in many
_EXACT = 53 - 18  # bits of a product whose sum over a slice every double holds
_HALF = 31
_MASK = 2**_HALF - 1


def is_held(rows: nw.LazyFrame[Any]) -> bool:
    """Whether rows are in memory, or may be brought there."""
    engine = rows.implementation
    return bool(engine.is_pandas_like() or engine.is_polars() or engine.is_pyarrow())


def read_as_values(query: SumsQuery) -> bool:
    """Whether all that is read is numbers on grids: their indices are computed here."""
    return bool(query.values) and all(type(value) is ValueOnGrid for value in query.values)


def terms_of(query: SumsQuery, rows: dict[str, Numbers]) -> dict[str, Numbers]:
    """Return ``one``, ``t_0``, ``there_0``, … of a slice, from values as they are or from indices on their grids."""
    indices, raw = {}, read_as_values(query)
    for place, value in enumerate(query.values):
        if raw and isinstance(value, ValueOnGrid):
            absent = (value.size - 1) // 2 if query.missing is Missing.MIDPOINT else -1
            indices[place] = on_grid(rows[value_column(place)], value.grid, absent)
        else:
            indices[place] = rows[f"index_{place}"]
    present = {place: index >= 0 for place, index in indices.items()}
    counts = reduce(
        np.logical_and, [present[place] for place in query.needed], np.ones(len(next(iter(rows.values()))), bool)
    )
    found: dict[str, Numbers] = {"one": counts}
    for place, index in indices.items():
        there = counts if place in query.needed else counts & present[place]
        found[f"there_{place}"], found[f"t_{place}"] = there, index * there
    return found


def on_grid(values: Numbers, grid: Grid, absent: int) -> Numbers:
    """Return the grid index of each value as a whole double, `absent` where it is missing: null, NaN or ±∞."""
    with np.errstate(over="ignore", invalid="ignore"):
        position = (values - float(grid.lower)) / float(grid.step) + 0.5
        return np.where(np.isfinite(values), np.floor(np.clip(position, 0.0, float(grid.steps))), float(absent))


def summed(
    rows: nw.LazyFrame[Any], products: list[list[list[str]]], bits: Sequence[int], query: SumsQuery, terms: Terms
) -> list[tuple[Any, ...]]:
    """Return (level, records, the sum of each product) of each cell that occurs; `terms` makes what is multiplied."""
    held, many = rows.collect(), bool(query.by)
    columns = {name: held[name].to_numpy() for name in held.columns if many or name != "level"}
    # The level 0 is no declared cell.
    level = np.asarray(columns["level"], np.int64) + 1 if many else None
    needed = {name for product in products for part in product for name in part}
    kind = np.float64 if max(bits) <= _EXACT else np.int64
    totals = np.zeros((query.cells + 1, len(products)), dtype=object)
    step = _ROWS_BY if many else _ROWS
    # Once at least: which lines run must not depend on whether any record was selected.
    for start in range(0, max(len(held), 1), step):
        here = {name: column[start : start + step] for name, column in columns.items()}
        made = {name: term for name, term in terms(here).items() if name in needed}
        made = {name: term if term.dtype == bool else np.asarray(term, kind) for name, term in made.items()}
        for place, product in enumerate(products):
            parts = [reduce(np.multiply, [made[name] for name in part]) for part in product]
            if level is None:
                totals[1, place] += _total(parts)
            else:
                totals[:, place] += _by_level(parts, level[start : start + step], query.cells + 1)
    records = np.array([0, len(held)]) if level is None else np.bincount(level, minlength=query.cells + 1)
    return [(cell - 1, int(records[cell]), *totals[cell]) for cell in np.flatnonzero(records).tolist()]


def _halves(parts: list[Integers]) -> list[tuple[Integers, int]]:
    """Return what adds up to a product of one or two numbers below 2⁶², each below 2³¹, and its power of 2."""
    if len(parts) == 1:
        return [(parts[0] & _MASK, 0), (parts[0] >> _HALF, _HALF)]
    (first, second), found = (_halves([part]) for part in parts), []
    for one, low in first:
        for other, high in second:
            found += [(half, power + low + high) for half, power in _halves([one * other])]
    return found


def _total(parts: list[Numbers]) -> int:
    if parts[0].dtype == bool:
        return int(np.count_nonzero(parts[0]))
    if parts[0].dtype == np.float64:
        return int(parts[0].sum())
    return sum(int(half.sum()) << power for half, power in _halves(parts))


def _by_level(parts: list[Numbers], level: Integers, levels: int) -> NDArray[np.object_]:
    """Return the sums of a product by level, as Python's integers: each number added up as a double, exactly."""
    pieces = _halves(parts) if parts[0].dtype == np.int64 else [(parts[0], 0)]
    total = np.zeros(levels, dtype=object)
    for piece, power in pieces:
        total += np.bincount(level, piece, levels).astype(np.int64).astype(object) * 2**power
    return total
