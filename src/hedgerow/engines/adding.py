"""Exact sums of products of integers, by cell, each engine in its own way: no total wraps around, and none is rounded.

DuckDB adds up integers of 64 bits in 128, Spark in decimals of 38 digits. Rows in memory are added up in chunks, the
products, which lie below 2⁶², by halves, and the chunks' sums as Python's integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.resampling.grid_sums import GridSums, Monomial

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.query import SumsQuery

_ROWS = 2**18  # in hand at once
_HALF = 31  # 2³² such halves add up within 63 bits


def added_up(rows: nw.LazyFrame[Any], query: SumsQuery) -> GridSums:
    """Return the sums by ``level`` of products of ``one``, ``t_0``, ``there_0``, …, all integers from 0 on."""
    monomials = list(dict.fromkeys([(), *query.monomials]))
    factors = [_factors(monomial) for monomial in monomials]
    engine = rows.implementation
    if engine.is_duckdb():
        sums = ", ".join(f"sum({'*'.join(names)})" for names in factors)
        found = rows.to_native().aggregate(f"level, count(*), {sums}", "level").fetchall()
    elif engine.is_spark_like():
        found = _summed_in_spark(rows.to_native(), factors)
    else:
        found = _summed_in_memory(rows, factors, query.cells)
    return GridSums.from_rows(found, monomials, cells=query.cells)


def _factors(monomial: Monomial) -> list[str]:
    """Return the columns whose product is a monomial: 0 for a record without one of its values."""
    names = [name for i, power in monomial for name in ([f"t_{i}"] * power if power else [f"there_{i}"])]
    return names or ["one"]


def _summed_in_memory(rows: nw.LazyFrame[Any], factors: list[list[str]], cells: int) -> list[tuple[Any, ...]]:
    held = rows.collect()
    level = np.asarray(held["level"].to_numpy(), np.int64) + 1  # 0 is no declared cell
    columns = {name: np.asarray(held[name].to_numpy(), np.int64) for name in {n for names in factors for n in names}}
    totals = np.zeros((cells + 1, len(factors)), dtype=object)
    for start in range(0, len(level), _ROWS):
        part = slice(start, start + _ROWS)
        for place, names in enumerate(factors):
            product = columns[names[0]][part]
            for name in names[1:]:
                product = product * columns[name][part]
            high, low = np.zeros(cells + 1, np.int64), np.zeros(cells + 1, np.int64)
            np.add.at(high, level[part], product >> _HALF)
            np.add.at(low, level[part], product & (2**_HALF - 1))
            totals[:, place] += high.astype(object) * 2**_HALF + low
    records = np.bincount(level, minlength=cells + 1)
    return [(cell - 1, int(records[cell]), *totals[cell]) for cell in np.flatnonzero(records).tolist()]


def _summed_in_spark(rows: Any, factors: list[list[str]]) -> list[tuple[Any, ...]]:
    """Return (level, records, sums of products of columns) of a Spark frame: exact, in decimals of 38 digits."""
    products = [f"cast({' * '.join(names)} AS decimal(38, 0)) AS product_{i}" for i, names in enumerate(factors)]
    named = [f"product_{i}" for i in range(len(factors))]
    grouped = rows.selectExpr("level", "1L AS records", *products).groupBy("level").sum("records", *named)
    return [tuple(int(number) for number in row) for row in grouped.collect()]
