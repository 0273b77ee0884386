"""Which rows of a unit are kept, and what they add up to, on every engine: the same rows of the same data and key.

A unit with more than L rows keeps a random choice of L. Each of its rows gets a number: SHA-256 of a secret key, the
cell and the grid indices of the row, its number among the rows of the unit that have the same, and the unit. The unit
keeps its rows of the smallest numbers. Given the key, what a unit keeps is a function of its own rows alone: that, and
the limit itself, is all that the price of units rests on. Neither other units nor the order of rows enter.

Only units with more than L rows are ranked. Every row is computed once, so that it cannot be counted with the rows of a
small unit and ranked with those of a large one, even if a caller's frame gives other rows each time it is read.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.dialects.few_values import RECORDS
from hedgerow.engines.dialects.held import added_up
from hedgerow.engines.dialects.ibis_tables import Asked, asked_counts
from hedgerow.engines.dialects.ranked_rows import RankedRows
from hedgerow.engines.query import SCORES
from hedgerow.facts.columns import Missing
from hedgerow.resampling.counted_values import GridSums, Histogram, Integers

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from numpy.typing import NDArray

    from hedgerow.engines.query import Query, SumsQuery
    from hedgerow.facts.relation import UnitLimit


UNIT = "unit"
"""The column of units."""

_RANKS = ("within", "rank", "rows", "total")
_DIGITS = 15  # hexadecimal ones of a number, 60 bits: two rows of a unit share theirs with a chance of 2⁻⁶⁰
_WHOLE = 2.0**53  # units that are doubles lie below this
_PARTS = 2.0**52  # of a unit that is no whole number


def fresh_key() -> bytes:
    """Return a secret key of 128 bits from the operating system; one is drawn for each question and kept nowhere."""
    return os.urandom(16)  # so short that SHA-256 takes a usual row in one block


def units_of(
    rows: nw.LazyFrame[Any], names: Sequence[str], unit: UnitLimit | None, key: bytes | None, *, many: bool
) -> nw.LazyFrame[Any]:
    """Return a row for each unit and cell: ``unit``, ``level``, ``rows`` and ``sum_0``, …, of at most L rows of a unit.

    Parameters
    ----------
    rows : LazyFrame
        Rows that count: ``unit``, ``level`` and whole numbers.
    names : sequence of str
        The whole numbers, which are added up.
    unit : UnitLimit or None
    key : bytes or None
        A fresh one is drawn where none is given.
    many : bool
        Whether there are several cells.
    """
    import narwhals.stable.v2 as nw

    limit, key, engine = 1 if unit is None else unit.max_rows, key or fresh_key(), rows.implementation
    if not (names or many):
        # All rows of a unit are alike, so there is nothing to choose.
        whole = rows.group_by(UNIT, "level").agg(nw.len().alias("rows"))
        size = nw.col("rows").cast(nw.Int64)
        return whole.with_columns(nw.when(size < limit).then(size).otherwise(nw.lit(limit, nw.Int64)).alias("rows"))
    if engine.is_duckdb() and _duckdb_leaves_no_view():
        return _in_duckdb(rows, names, limit, key, many=many)
    kept = rows_of_units(rows, names, unit, key)
    sums = [nw.col(name).sum().alias(f"sum_{place}") for place, name in enumerate(names)]
    units = kept.group_by(UNIT, "level").agg(*sums, nw.len().alias("rows"))
    return units.with_columns(nw.col("rows", *(f"sum_{place}" for place in range(len(names)))).cast(nw.Int64))


def rows_of_units(
    rows: nw.LazyFrame[Any], names: Sequence[str], unit: UnitLimit | None, key: bytes | None
) -> nw.LazyFrame[Any]:
    """Return the rows that count, at most L of each unit: ``level`` and the whole numbers (see `units_of`)."""
    limit = 1 if unit is None else unit.max_rows
    return (_in_sql if _is_sent(rows) else _in_memory)(rows, names, limit, key or fresh_key())


def _is_sent(rows: nw.LazyFrame[Any]) -> bool:
    """Whether an engine is sent the question, rather than arrays."""
    engine = rows.implementation
    return bool(engine.is_duckdb() or engine.is_ibis() or engine.is_spark_like())


def _ranked(rows: nw.LazyFrame[Any], query: RankedRows, key: bytes | None) -> nw.LazyFrame[Any]:
    """Return ``level``, ``index`` and `_RANKS` of each row that is kept, of rows as `counts_of_units` makes them."""
    kept = rows_of_units(rows, ("index",), query.unit, key)
    return (_ranked_in_sql if _is_sent(rows) else _ranked_in_memory)(kept, query)


def _ranked_in_sql(kept: nw.LazyFrame[Any], query: RankedRows) -> nw.LazyFrame[Any]:
    """Return what `_ranked` does, by windows over the rows that are kept."""
    import narwhals.stable.v2 as nw

    here, part = [UNIT, *["level"] * bool(query.by)], nw.lit(0, nw.Int64)
    for cut in query.cuts:
        part = part + nw.when(nw.col("index") >= cut).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
    parted = kept.select(UNIT, "level", "index", part.alias("part"))
    rank = nw.col("index").rank("ordinal")
    each = [rank.over(*here, *["part"] * bool(query.cuts)), rank.over(*here), nw.len().over(*here), nw.len().over(UNIT)]
    named = zip(each, _RANKS, strict=True)
    return parted.select("level", "index", *(number.cast(nw.Int64).alias(name) for number, name in named))


def _ranked_in_memory(kept: nw.LazyFrame[Any], query: RankedRows) -> nw.LazyFrame[Any]:
    """Return the same of rows in memory: pyarrow ranks no rows within groups."""
    import narwhals.stable.v2 as nw

    held = kept.select(UNIT, "level", "index").collect().sort(UNIT, "level", "index")
    unit = np.asarray(held[UNIT].to_list(), dtype=object)
    level, index = (np.asarray(held[name].to_numpy(), np.int64) for name in ("level", "index"))
    starts, new = [], np.zeros(len(unit), dtype=bool)
    # The rows of a unit, of a cell of theirs, and of a part of the axis there, lie beside each other.
    for apart in (unit, level, np.searchsorted(query.cuts, index, side="right")):
        new = new | np.append(True, apart[1:] != apart[:-1])[: len(unit)]
        starts.append(np.append(np.flatnonzero(new), len(unit)))
    place = np.arange(1, len(unit) + 1)
    total, rows, _ = (np.repeat(np.diff(start), np.diff(start)) for start in starts)
    _, rank, within = (place - np.repeat(start[:-1], np.diff(start)) for start in starts)
    columns = {"level": level, "index": index, "within": within, "rank": rank, "rows": rows, "total": total}
    return nw.from_dict(columns, backend=held.implementation).lazy()


@cache
def _duckdb_leaves_no_view() -> bool:
    """Whether DuckDB asks a query of a relation without a view on the caller's connection, as it does from 2.0 on."""
    from importlib.metadata import version

    return int(version("duckdb").partition(".")[0]) >= 2


def _in_duckdb(
    rows: nw.LazyFrame[Any], names: Sequence[str], limit: int, key: bytes, *, many: bool
) -> nw.LazyFrame[Any]:
    """Return the units by one statement: it groups all rows, and ranks those of the units that have too many."""
    import narwhals.stable.v2 as nw

    codes, keys = ", ".join(["level"] * many + [*names]), "unit, level" if many else "unit"
    # The total of a unit that has too many rows may be wider, and is not used.
    sums = [f"TRY_CAST(sum({name}) AS BIGINT) AS sum_{place}" for place, name in enumerate(names)]
    totals = ", ".join(['count(*) AS "rows"', *sums])
    mark = "unit"
    if rows.collect_schema()[UNIT].is_float():
        fraction = f"floor((unit - floor(unit)) * {_PARTS:.0f})::BIGINT"
        mark = f"concat_ws('.', floor(unit)::BIGINT, nullif({fraction}, 0))"
    digest = f"sha256(concat_ws('|', '{key.hex()}', {'' if many else '0, '}{codes}, number, {mark}))"
    # In one cell a part is a unit, so that none is grouped or joined anew.
    sizes = f'GROUP BY unit HAVING sum("rows") > {limit}' if many else f'WHERE "rows" > {limit}'
    small = "ANTI JOIN large USING (unit)" if many else f'WHERE "rows" <= {limit}'
    query = f"""WITH
counted AS MATERIALIZED (SELECT unit, {codes} FROM hedgerow_rows_of_units),
parts AS MATERIALIZED (SELECT {keys}, {totals} FROM counted GROUP BY {keys}),
large AS MATERIALIZED (SELECT unit FROM parts {sizes}),
numbered AS (
  SELECT *, row_number() OVER (PARTITION BY unit, {codes}) AS number FROM counted SEMI JOIN large USING (unit)),
hashed AS (SELECT *, CAST('0x' || left({digest}, {_DIGITS}) AS BIGINT) AS priority FROM numbered),
ranked AS (SELECT *, row_number() OVER (PARTITION BY unit ORDER BY priority) AS place FROM hashed),
units AS (
  SELECT * FROM parts {small}
  UNION ALL
  SELECT {keys}, {totals} FROM ranked WHERE place <= {limit} GROUP BY {keys})
SELECT *{"" if many else ", 0::BIGINT AS level"} FROM units"""
    native: Any = rows.to_native()
    units: nw.LazyFrame[Any] = nw.from_native(native.query("hedgerow_rows_of_units", query))
    return units


def _in_sql(rows: nw.LazyFrame[Any], names: Sequence[str], limit: int, key: bytes) -> nw.LazyFrame[Any]:
    """Return the rows that are kept, in a warehouse, a database or Spark: each worker ranks the units that it holds."""
    import narwhals.stable.v2 as nw

    codes = ["level", *names]
    counted = rows.select(UNIT, *codes).with_columns(
        nw.len().over(UNIT).alias("size"), nw.col("level").rank("ordinal").over(UNIT, *codes).alias("number")
    )
    unit = nw.col(UNIT)
    mark = unit.cast(nw.String)
    if rows.collect_schema()[UNIT].is_float():
        inside = nw.when((unit < _WHOLE) & (unit > -_WHOLE)).then(unit).otherwise(nw.lit(0.0))
        parts = ((inside - inside.floor()) * _PARTS).floor().cast(nw.Int64)
        whole = inside.floor().cast(nw.Int64).cast(nw.String)
        fraction = nw.concat_str([whole, parts.cast(nw.String)], separator=".")
        mark = nw.when(parts > 0).then(fraction).otherwise(whole)
    texts = [nw.lit(key.hex()), *(nw.col(name).cast(nw.String) for name in [*codes, "number"]), mark]
    named = nw.when(nw.col("size") > limit).then(nw.concat_str(texts, separator="|"))
    hashed: Any = counted.with_columns(named.alias("named")).to_native()
    if rows.implementation.is_ibis():
        hashed = ibis_tables.with_digest(hashed, "named", "priority")
    elif rows.implementation.is_duckdb():
        hashed = hashed.project("*, sha256(named) AS priority")
    else:
        hashed = hashed.selectExpr("*", "sha2(named, 256) AS priority")
    frame: nw.LazyFrame[Any] = nw.from_native(hashed)
    ranked = frame.with_columns(nw.col("priority").rank("ordinal").over(UNIT).alias("place"))
    return ranked.filter((nw.col("size") <= limit) | (nw.col("place") <= limit))


def _in_memory(rows: nw.LazyFrame[Any], names: Sequence[str], limit: int, key: bytes) -> nw.LazyFrame[Any]:
    """Return the rows that are kept of those in memory."""
    import narwhals.stable.v2 as nw

    # A join keeps each row whole. A window would give rows of Arrow the sizes of others: its join loses their order.
    held = rows.collect()
    held = held.join(held.group_by(UNIT).agg(nw.len().alias("size")), on=UNIT, how="left")
    large = held.filter(nw.col("size") > limit)
    if not len(large):
        return held.lazy()
    codes = np.column_stack([large[name].to_numpy() for name in ["level", *names]])
    chosen = nw.new_series("chosen", _chosen(large[UNIT].to_list(), codes, limit, key), backend=held.implementation)
    small = held.filter(nw.col("size") <= limit)
    return nw.concat([small, large.filter(chosen)]).lazy()


def _chosen(units: Sequence[Any], codes: NDArray[np.int64], limit: int, key: bytes) -> NDArray[np.bool_]:
    """Return which rows are kept, of units that all have too many.

    >>> _chosen(["a"] * 3 + ["b"] * 3, np.array([[0], [1], [2]] * 2), 2, b"key").tolist()
    [True, True, False, True, True, False]
    """
    numbers: Counter[tuple[Any, ...]] = Counter()
    ranked: defaultdict[Any, list[tuple[str, int]]] = defaultdict(list)
    for place, (unit, row) in enumerate(zip(units, codes.tolist(), strict=True)):
        numbers[unit, *row] += 1
        named = "|".join(map(str, (key.hex(), *row, numbers[unit, *row], _mark_of(unit))))
        ranked[unit].append((hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest(), place))
    chosen = np.zeros(len(codes), dtype=bool)
    for rows in ranked.values():
        chosen[[place for _, place in heapq.nsmallest(limit, rows)]] = True
    return chosen


def _mark_of(unit: Any) -> str:
    """Return a unit as the text that is hashed: a number is the same text, whether a column holds it as a double.

    >>> _mark_of(7), _mark_of(7.0), _mark_of("007"), _mark_of(-1.5)
    ('7', '7', '007', '-2.2251799813685248')
    """
    if not isinstance(unit, float):
        return str(unit)
    parts = math.floor((unit - math.floor(unit)) * _PARTS)
    return f"{math.floor(unit)}.{parts}" if parts else str(math.floor(unit))


def scores_of(units: nw.LazyFrame[Any], query: SumsQuery, totals: list[str]) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Return ``score_0``, … of each unit beside its totals, as `SumsQuery` says, and their names; else those of totals.

    Each step is one of its own: written out at once, an engine would be sent each sum several times. Doubles are
    divided by a power of 2, which rounds nothing.
    """
    import narwhals.stable.v2 as nw

    most, names = 2**query.score_bits, [f"score_{place}" for place in range(len(query.scores))]
    low, high = nw.lit(-most, nw.Int64), nw.lit(most, nw.Int64)

    def combined(factors: tuple[int, ...]) -> nw.Expr:
        terms: list[nw.Expr] = [nw.col(total) * factor for factor, total in zip(factors, totals, strict=True)]
        return reduce(add, terms)

    def below(name: str) -> nw.Expr:
        return nw.when(nw.col(name) > most).then(high).otherwise(nw.col(name))

    def above(name: str) -> nw.Expr:
        return nw.when(nw.col(name) < -most).then(low).otherwise(nw.col(name))

    def rounded(name: str) -> nw.Expr:
        shifted: nw.Expr = (nw.col(name) + most).cast(nw.Float64) / (2.0 * most / SCORES)
        return shifted.floor().cast(nw.Int64)

    if not query.scores:
        return units, totals
    units = units.with_columns(*(combined(own).alias(name) for own, name in zip(query.scores, names, strict=True)))
    for step in (below, above, rounded):
        units = units.with_columns(*(step(name).alias(name) for name in names))
    return units, names


def added_up_side_by_side(units: nw.LazyFrame[Any], query: SumsQuery, totals: Sequence[str]) -> Asked[GridSums]:
    """Ask for sums over units whose totals in all cells stand in one row, so that those of two cells are multiplied.

    A join of units with themselves might choose rows anew, and keep other rows of a unit. The last of the totals is the
    number of rows.
    """
    import narwhals.stable.v2 as nw

    ones, zeros = nw.lit(1, nw.Int64), nw.lit(0, nw.Int64)
    cells, names = range(query.cells), [f"total_{place}" for place in range(query.cells * len(totals))]
    here = [nw.when(nw.col("level") == cell).then(nw.col(total)).otherwise(zeros) for cell in cells for total in totals]
    spread = units.select(UNIT, *(total.cast(nw.Int64).alias(name) for total, name in zip(here, names, strict=True)))
    beside = spread.group_by(UNIT).agg(*(nw.col(name).sum() for name in names))
    counted = [nw.col(name).cast(nw.Int64).alias(f"t_{place}") for place, name in enumerate(names)]
    places = [(cell + 1) * len(totals) - 1 for cell in cells]
    there = [nw.when(nw.col(names[place]) > 0).then(ones).otherwise(zeros).alias(f"there_{place}") for place in places]
    asked = {(): [((place, 0),) for place in places]} | {
        monomial: [query.in_cell(cell, monomial) for cell in cells] for monomial in query.monomials
    }
    every = tuple(dict.fromkeys(own for each in asked.values() for own in each))
    one_row = beside.select(zeros.alias("level"), ones.alias("one"), *counted, *there)
    whole = added_up(one_row, replace(query, monomials=every, by=()))

    def by_cell(added: GridSums) -> GridSums:
        sums = {
            monomial: np.array([int(added.sums[own][0]) for own in each], dtype=object)
            for monomial, each in asked.items()
        }
        return GridSums(sums, np.zeros(query.cells, dtype=np.int64), 0)

    return whole.then(by_cell)


def counts_of_units(rows: nw.LazyFrame[Any], query: Query, key: bytes | None) -> Asked[Histogram]:
    """Ask for counts of units by cell and code of (rows, total): of columns ``unit``, ``known``, ``level``, ``index``.

    What becomes of a row depends on the row; what becomes of a unit on its own rows and the key: nothing that a unit
    adds or leaves out changes what another one counts as.
    """
    import narwhals.stable.v2 as nw

    level, index = nw.col("level"), nw.col("index")
    inside = rows.filter(nw.col("known"), level >= 0)
    if query.missing is Missing.MIDPOINT:
        filled = nw.when(index >= 0).then(index).otherwise(nw.lit((query.row_size - 1) // 2, nw.Int64))
        inside = inside.select(UNIT, "level", filled.alias("index"))
    # Before the limit: a row that counts nowhere must not displace one that does.
    counting = inside.filter(index >= 0).select(UNIT, "level", "index")
    names, zero = () if query.value is None else ("index",), nw.lit(0, nw.Int64)
    if isinstance(query, RankedRows):
        counted_once, code = _ranked(counting, query, key), query.code(index, *map(nw.col, _RANKS))
    elif query.each_row:
        counted_once, code = rows_of_units(counting, names, query.unit, key), index if names else zero
    else:
        counted_once = units_of(counting, names, query.unit, key, many=bool(query.by))
        code = (nw.col("rows") - 1) * query.totals + (nw.col("sum_0") if names else zero)
    asked = occurrences(counted_once.select((level * query.size + code).alias("key")))
    none = np.zeros(0, np.int64)

    def histogram(counted: tuple[Integers, Integers], missing: tuple[Integers, Integers] = (none, none)) -> Histogram:
        cells = np.concatenate([counted[0] // query.size, missing[0]])
        codes = np.concatenate([counted[0] % query.size, np.full_like(missing[0], -1)])
        return query.answer(cells, codes, np.concatenate([counted[1], missing[1]]))

    if query.missing is not Missing.DECLARED_COMPLETE:
        return asked.then(histogram)
    return asked.beside(occurrences(inside.filter(index < 0).select(level.alias("key"))), histogram)


def occurrences(keys: nw.LazyFrame[Any], *, few: bool = False) -> Asked[tuple[Integers, Integers]]:
    """Ask for each key and how often it occurs; `few`: in so many records as the column ``records`` says."""
    import narwhals.stable.v2 as nw

    counted = nw.col(RECORDS).sum().cast(nw.Int64) if few else nw.len().alias(RECORDS)
    return asked_counts(keys.group_by("key").agg(counted))
