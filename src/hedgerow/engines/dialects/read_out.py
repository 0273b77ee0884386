"""What an engine grouped and counted, read out of it in its own way, so that no second frame library is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.engines.cells import cells_of
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.query import ValueCounts
from hedgerow.engines.schema import TEXT, as_declared
from hedgerow.resampling.histogram import Integers

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def read_values(counted: nw.LazyFrame[Any], kind: str) -> ValueCounts:
    """Return the columns ``key`` and ``records`` of a counted frame, without the values that nobody can declare.

    Memory grows with the number of different values. No number of them is too many: a refusal would tell of the last
    record.
    """
    engine = counted.implementation
    if engine.is_duckdb() or engine.is_spark_like() or engine.is_ibis():
        native: Any = counted.select("key", "records").to_native()
        if engine.is_ibis():
            pairs = ibis_tables.texts_of(native) if kind == TEXT else ibis_tables.rows_of(native)
        else:
            pairs = native.fetchall() if engine.is_duckdb() else list(zip(*_by_arrow(native), strict=True))
        found, records = [pair[0] for pair in pairs], np.array([pair[1] for pair in pairs], dtype=np.int64)
    else:
        held = counted.collect()
        found, records = cells_of(held["key"].to_native()).tolist(), np.asarray(held["records"].to_numpy(), np.int64)
    declared = as_declared(found, kind)
    kept = [place for place, one in enumerate(declared) if one is not None]
    return ValueCounts([one for one in declared if one is not None], records[kept])


def read_counts(counted: nw.LazyFrame[Any]) -> tuple[Integers, Integers]:
    """Return the columns ``key`` and ``records`` of a counted frame, both whole numbers."""
    if counted.implementation.is_duckdb():
        arrays = counted.to_native().fetchnumpy()
        return np.asarray(arrays["key"], np.int64), np.asarray(arrays["records"], np.int64)
    if counted.implementation.is_spark_like():
        key, records = (np.asarray(column, np.int64) for column in _by_arrow(counted.to_native()))
        return key, records
    if counted.implementation.is_ibis():
        found = ibis_tables.rows_of(counted.select("key", "records").to_native())
        integers = np.array([[int(number) for number in row] for row in found], dtype=np.int64).reshape(len(found), 2)
        return integers[:, 0], integers[:, 1]
    collected = counted.collect()
    return np.asarray(collected["key"].to_numpy(), np.int64), np.asarray(collected["records"].to_numpy(), np.int64)


def _by_arrow(counted: Any) -> list[list[Any]]:
    """Return the columns ``key`` and ``records`` of a Spark frame, not row by row; Spark Connect has this call too."""
    found = counted.select("key", "records").toArrow()
    return [found["key"].to_pylist(), found["records"].to_pylist()]
