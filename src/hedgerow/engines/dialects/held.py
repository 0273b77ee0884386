"""Exact sums over rows that are held in memory: by NumPy, one slice after another that the processor's cache holds.

What the engines compute by expressions of columns is computed here by the same operations in double precision, each
correctly rounded, so the integers are the same. Sums of products that stay below 2⁵³ in a slice are added up as
doubles, which hold all of them; others in halves of 31 bits. The slices' sums are Python's integers.

Exact sums of products of integers, by cell, each engine in its own way: no total wraps around, and none is rounded.

DuckDB adds up in integers of 128 bits; Spark in pieces of 21 bits, whose sums in 64 bits hold 2⁴² records; databases
as `ibis_tables` says, rows in memory as `held` does. A product of 2⁶² or more is made of two that are smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.dialects.few_values import RECORDS
from hedgerow.engines.dialects.ibis_tables import Asked
from hedgerow.engines.query import ValueOnGrid
from hedgerow.engines.schema import value_column
from hedgerow.facts.columns import Missing
from hedgerow.resampling.counted_values import Exact, GridSums, Integers, Monomial, combined

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.query import Query, SumsQuery
    from hedgerow.facts.columns import Grid


Numbers = NDArray[Any]
Columns = Sequence[Exact | Sequence[int]]
"""Levels, the records of each, and the sums of each product."""
Terms = Callable[[dict[str, Numbers]], dict[str, Numbers]]
_ROWS, _ROWS_BY = 2**15, 2**18  # in hand at once, in one cell or in many
_EXACT = 53 - 18  # bits of a product whose sum over a slice every double holds
_HALF = 31
_MASK = 2**_HALF - 1


def is_held(rows: nw.LazyFrame[Any]) -> bool:
    """Whether rows are in memory, or may be brought there."""
    engine = rows.implementation
    return bool(engine.is_pandas_like() or engine.is_polars() or engine.is_pyarrow())


def adds_up_nulls(rows: nw.LazyFrame[Any], query: Query | SumsQuery | None = None) -> bool:
    """Whether what is missing may be null among what is added up: SQL leaves nulls out of its sums.

    Of a `query`: whether the indices of its numbers may be. With nulls among several, DuckDB takes a fifth longer.
    """
    few = query is None or len(query.read) == 1
    return bool(rows.implementation.is_ibis() or (rows.implementation.is_duckdb() and few))


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
    terms: dict[str, Numbers] = {"one": counts}
    for place, index in indices.items():
        there = counts if place in query.needed else counts & present[place]
        terms[f"there_{place}"], terms[f"t_{place}"] = there, index * there
    return terms


def on_grid(values: Numbers, grid: Grid, absent: int) -> Numbers:
    """Return the grid index of each value as a whole double, `absent` where it is missing: null, NaN or ±∞."""
    with np.errstate(over="ignore", invalid="ignore"):
        position = (values - float(grid.lower)) / float(grid.step) + 0.5
        return np.where(np.isfinite(values), np.floor(np.clip(position, 0.0, float(grid.steps))), float(absent))


def summed(
    rows: nw.LazyFrame[Any], products: list[list[list[str]]], bits: Sequence[int], query: SumsQuery, terms: Terms
) -> Columns:
    """Return level, records, and the sum of each product, of cells that occur; `terms` makes what is multiplied."""
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
    cells = np.flatnonzero(records)
    return [cells - 1, records[cells], *totals[cells].T]


def _halves(parts: list[Integers]) -> list[tuple[Integers, int]]:
    """Return what adds up to a product of one or two numbers below 2⁶², each below 2³¹, and its power of 2."""
    if len(parts) == 1:
        return [(parts[0] & _MASK, 0), (parts[0] >> _HALF, _HALF)]
    (first, second), halves = (_halves([part]) for part in parts), []
    for factor, low in first:
        for other, high in second:
            halves += [(half, power + low + high) for half, power in _halves([factor * other])]
    return halves


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


_LIMIT = 2**62
_NARROW = 21  # bits of a number of which 2⁴² have a sum in 64 bits
_THERE = "there_"  # 1 where a value is present, else 0
_PATTERNS = 2**14  # so many sets of present values, in all cells, are a small table
_PIECE = 21  # bits: what Spark adds up in integers of 64 bits needs no decimals


def added_up(rows: nw.LazyFrame[Any], query: SumsQuery, terms: Terms = dict, *, few: bool = False) -> Asked[GridSums]:
    """Return the question for the sums by ``level`` of products of ``one``, ``t_0``, …, all integers from 0 on.

    Where rows are held in memory, `terms` makes these of the rows' columns. `few`: each row stands for as many records
    as its column ``records`` says, so that every product is multiplied by this number.
    """
    monomials = list(dict.fromkeys([(), *query.monomials]))
    products = [_products(monomial, query) for monomial in monomials]
    bits = [query.largest(monomial).bit_length() if monomial else 1 for monomial in monomials]
    engine = rows.implementation
    asked: Asked[Columns]
    if engine.is_duckdb():
        asked = _summed_in_duckdb(rows.to_native(), products, bits, query, few=few)
    elif engine.is_ibis():
        terms_sql = list(map(ibis_tables.ProductSQL, products, bits))
        table, totals = ibis_tables.summed(rows.to_native(), terms_sql, RECORDS if few else None, by=bool(query.by))
        asked = Asked(((table, ibis_tables.rows_of),), totals)
    elif engine.is_spark_like():
        asked = _summed_in_spark(rows.to_native(), products, bits, RECORDS if few else "1L", by=bool(query.by))
    else:
        asked = Asked(((rows, lambda here: summed(here, products, bits, query, terms)),), lambda columns: columns)
    return asked.then(lambda columns: GridSums.from_columns(columns, monomials, cells=query.cells))


def _summed_in_duckdb(
    rows: Any, products: list[list[list[str]]], bits: list[int], query: SumsQuery, *, few: bool
) -> Asked[Columns]:
    by, every = bool(query.by), f"sum({RECORDS})" if few else "count(*)"
    products = [[*product, [RECORDS]] for product in products] if few else products
    needed = [{name for part in product for name in part if name.startswith(_THERE)} for product in products]
    numbers = [
        [factors for part in product if (factors := [n for n in part if not n.startswith(_THERE)])]
        for product in products
    ]
    patterns = query.cells << len(set().union(*needed))
    if patterns <= _PATTERNS and 2 * len(set(map(str, numbers))) <= len(products):
        return _summed_by_presence(rows, numbers, needed, every, by=by)
    sums = [_added(product) for product in products]
    if by:
        return _by_level_in_duckdb(rows, [every, *sums], [1, *bits])
    # The sums of no row are null.
    return Asked(
        ((rows.aggregate(f"{every}, {', '.join(sums)}"), _fetched),),
        lambda rows: [[0], *([total or 0] for total in rows[0])],
    )


def _by_level_in_duckdb(rows: Any, sums: list[str], bits: list[int]) -> Asked[Columns]:
    """Return the question for the level and these sums of numbers of so many bits, in integers of 64 bits.

    Python reads an array of these in a tenth of the time of rows with integers of 128 bits. The sum of 2⁴² numbers
    below 2²¹ is such an integer; every other sum is read in two. The sum of no number is null.
    """
    parts = [
        [each] if size <= _NARROW else [f"{each} & {_LIMIT - 1}", f"{each} >> {_LIMIT.bit_length() - 1}"]
        for each, size in zip((f"coalesce({each}, 0)" for each in sums), bits, strict=True)
    ]
    narrow = [f"CAST({part} AS BIGINT) AS part_{place}" for place, part in enumerate(chain.from_iterable(parts))]
    asked = rows.aggregate(", ".join(["level", *narrow]), "level")

    def totals(arrays: dict[str, Integers]) -> Columns:
        read = iter(arrays.values())
        return [next(read), *(combined(zip((1, _LIMIT), [next(read) for _ in part], strict=False)) for part in parts)]

    return Asked(((asked, lambda here: here.fetchnumpy()),), totals)


def counted_truths(rows: Any) -> Asked[tuple[Integers, Integers]]:
    """Ask DuckDB in how many records a condition has no value, is false, and is true: 0, 1 and 2, those that occur.

    Where it is true a value is present. Three counts take a third of the time of a GROUP BY of three keys.
    """

    def counts(answer: list[tuple[Any, ...]]) -> tuple[Integers, Integers]:
        # Where no record has a value, the count of the true ones is null.
        every, there, true = (count or 0 for count in answer[0])
        counted = np.array([every - there, there - true, true], dtype=np.int64)
        keys = np.flatnonzero(counted).astype(np.int64)
        return keys, counted[keys]

    return Asked(((rows.aggregate('count(*), count_if("there_0"), count_if("position_0")'), _fetched),), counts)


def _summed_by_presence(
    rows: Any, numbers: list[list[list[str]]], needed: list[set[str]], every: str, *, by: bool
) -> Asked[Columns]:
    """Return the question for products of `numbers` where all `needed` are present, asked by which values are.

    Products that differ in what they need alone are then one: for means of five columns 21 are left, and not 57.
    """
    present = sorted(set().union(*needed))
    masks = [sum(1 << present.index(name) for name in names) for names in needed]
    texts = [every if not rest else _added(rest) for rest in numbers]
    asked = list(dict.fromkeys([every, *texts]))
    places = [asked.index(text) for text in texts]
    pattern = " + ".join(f"{name} * {1 << place}" for place, name in enumerate(present))

    def totals(rows: list[tuple[Any, ...]]) -> Columns:
        summed = {} if by else {0: [0] * (1 + len(numbers))}
        for level, mask, *sums in rows:
            total = summed.setdefault(level, [0] * (1 + len(numbers)))
            there = [sums[at] or 0 if mask & needs == needs else 0 for needs, at in zip(masks, places, strict=True)]
            summed[level] = [term + other for term, other in zip(total, [sums[0], *there], strict=True)]
        return [list(summed), *([total[place] for total in summed.values()] for place in range(1 + len(numbers)))]

    level, keys = ("level", f"level, {pattern}") if by else ("0", pattern)
    return Asked(((rows.aggregate(f"{level}, {pattern}, {', '.join(asked)}", keys), _fetched),), totals)


def _added(product: list[list[str]]) -> str:
    """Return the sum of a product in DuckDB; ``one`` is null where a record does not count."""
    return "count(one)" if product == [["one"]] else f"sum({_wide(product, 'HUGEINT')})"


def _fetched(relation: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = relation.fetchall()
    return rows


def _products(monomial: Monomial, query: SumsQuery) -> list[list[str]]:
    """Return the columns whose product is a monomial, in one or two lists whose products lie below 2⁶².

    The largest come first: then the first list is at least 2³¹ where a second one begins, and two take all of 2⁸⁴.
    """
    factors = [(1, "one")] if not monomial else []
    for i, power in monomial:
        most = max(1, query.largest(((i, 1),)))
        factors += [(most, f"t_{i}")] * power if power else [(1, f"there_{i}")]
    lists: list[list[str]] = [[]]
    size = 1
    for most, name in sorted(factors, key=lambda factor: -factor[0]):
        size *= most
        if size >= _LIMIT:
            lists.append([])
            size = most
        lists[-1].append(name)
    return lists


def _wide(product: list[list[str]], kind: str) -> str:
    """Return a product in SQL, of integers of 64 bits or, where it takes several lists, of this wider kind."""
    first, *rest = ["*".join(names) for names in product]
    return first if not rest else " * ".join([f"CAST({first} AS {kind})", *(f"({other})" for other in rest)])


def _summed_in_spark(
    rows: Any, products: list[list[list[str]]], bits: list[int], records: str, *, by: bool
) -> Asked[Columns]:
    """Return the question for (level, records, sums of products), exact: one job, its answer by Arrow.

    Without groups there is no key: to find the one cell of each row in a table of cells takes half as long again.

    A product below 2⁶² is added up in pieces of 21 bits, the last of which holds whatever lies above; a larger one in
    decimals of 38 digits. `records` is how many records a row stands for: the sums hold 2⁴² records in either way.
    """
    terms: list[str] = []
    pieces: list[list[int]] = []  # of each product, where its pieces stand among the terms
    for product, size in zip(products, bits, strict=True):
        whole = _wide(product, "decimal(38, 0)")
        count = 1 if len(product) > 1 else max(1, -(-size // _PIECE))
        pieces.append(list(range(len(terms), len(terms) + count)))
        if len(product) > 1:
            terms.append(f"CAST({whole} AS decimal(38, 0))")
            continue
        shifted = [whole, *(f"shiftright({whole}, {_PIECE * place})" for place in range(1, count))]
        terms += [f"({piece}) & {2**_PIECE - 1}L" for piece in shifted[:-1]] + shifted[-1:]
    terms = [records, *(f"({term}) * {records}" if records == RECORDS else term for term in terms)]
    if by:
        named = [f"piece_{place}" for place in range(len(terms))]
        made = [f"{term} AS {name}" for term, name in zip(terms, named, strict=True)]
        grouped = rows.selectExpr("level", *made).groupBy("level").sum(*named)
    else:
        grouped = rows.selectExpr(*(f"sum({term}) AS piece_{place}" for place, term in enumerate(terms)))

    def totals(columns: list[list[Any]]) -> Columns:
        # The sums of no row are null.
        level, records, *sums = columns if by else [[0], *([total or 0] for (total,) in columns)]
        each = [zip(*(sums[i] for i in places), strict=True) for places in pieces]
        added = ([sum(int(part) << _PIECE * j for j, part in enumerate(row)) for row in of] for of in each)
        return [level, records, *added]

    return Asked(((grouped, lambda frame: [column.to_pylist() for column in frame.toArrow().columns]),), totals)
