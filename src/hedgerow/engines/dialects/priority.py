"""Which rows of a unit are kept: a uniformly random choice under a fresh secret key, unit by unit.

Every row gets a number that only the holder of the key could foretell, and a unit keeps its L rows of the smallest
numbers. Whatever other units hold, and in whatever order rows stand, the law of what a unit keeps depends on that
unit's rows alone: that, and the limit itself, is all that the price of units rests on. The numbers are SHA-256 of key
and row number in SQL engines and a SHAKE-256 stream where rows are in memory: drawn by another function, they are not
the same on every engine, but their law is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.dialects import ibis_tables

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.facts.relation import UnitLimit

UNIT = "unit"
"""The column of units."""

_BITS = 60
"""Of a number: two rows of one unit agree in it with a chance of 2⁻⁶⁰, and then the engine breaks the tie."""


def fresh_key() -> bytes:
    """Return a secret key from the operating system; one is drawn for each question and kept nowhere."""
    return os.urandom(32)


def priorities(key: bytes, size: int) -> NDArray[np.int64]:
    """Return a pseudo-random number of 60 bits for each row in memory.

    >>> priorities(b"k", 3).shape, bool((priorities(b"k", 100) >= 0).all())
    ((3,), True)
    """
    stream = np.frombuffer(hashlib.shake_256(key).digest(8 * size), dtype="<u8")
    return (stream >> np.uint64(64 - _BITS)).astype(np.int64)


def places_in_sql(relation: Any, key: bytes) -> Any:
    """Return a DuckDB relation with ``place``, the rank of each row among those of its ``unit``, from 1 on."""
    # No order is asked of the row numbers: they need to differ, and nothing else.
    number = f"CAST('0x' || left(sha256('{key.hex()}' || row_number() OVER ()), {_BITS // 4}) AS BIGINT)"
    ranked = "row_number() OVER (PARTITION BY unit ORDER BY priority) AS place"
    return relation.project(f"*, {number} AS priority").project(f"*, {ranked}")


def places_in_spark(rows: Any, key: bytes) -> Any:
    """Return a Spark frame with ``place``, the rank of each row among those of its ``unit``, by a keyed hash."""
    # A window must not hold what differs from run to run, so the number is a column of its own first.
    numbered = rows.selectExpr("*", "monotonically_increasing_id() AS row_number")
    hashed = numbered.selectExpr("*", f"sha2(concat('{key.hex()}', cast(row_number AS string)), 256) AS priority")
    return hashed.selectExpr("*", "row_number() OVER (PARTITION BY unit ORDER BY priority) AS place")


def within_limit(
    rows: nw.LazyFrame[Any], unit: UnitLimit | None, key: bytes | None, *, alike: bool
) -> nw.LazyFrame[Any]:
    """Return at most L rows of each unit, chosen at random by the key: a fresh one where none is given."""
    import narwhals.stable.v2 as nw

    key = key or fresh_key()
    place, most = nw.col("place"), unit.max_rows if unit is not None else 1
    if alike and most == 1:
        # All rows of a unit are alike, so there is nothing to choose; `unique` would name a column at random.
        columns = rows.collect_schema().names()
        return rows.group_by(*columns).agg(nw.len().alias("rows")).select(*columns)
    ranks: list[tuple[bool, Callable[[Any, bytes], Any]]] = [
        (rows.implementation.is_duckdb(), places_in_sql),
        (rows.implementation.is_spark_like(), places_in_spark),
        (rows.implementation.is_ibis(), ibis_tables.placed),
    ]
    if rank := next((rank for here, rank in ranks if here), None):
        frame: nw.LazyFrame[Any] = nw.from_native(rank(rows.to_native(), key))
        return frame.filter(place <= most)
    held = rows.collect()
    numbers = nw.new_series("priority", priorities(key, len(held)), nw.Int64, backend=held.implementation)
    ordered = held.with_columns(numbers).sort(UNIT, "priority").with_row_index("row")
    # The first row of each unit, carried on by a running maximum: a window joined back would lose the order in Arrow,
    # and a shifted column would be one of doubles in pandas.
    row = nw.col("row").cast(nw.Int64)
    began = nw.when(nw.col(UNIT).is_first_distinct()).then(row).otherwise(nw.lit(0, nw.Int64))
    ranked = ordered.with_columns(began.alias("began")).with_columns(
        (row - nw.col("began").cum_max() + 1).alias("place")
    )
    return ranked.filter(place <= most).lazy()
