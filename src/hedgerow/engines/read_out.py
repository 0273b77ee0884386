"""Reading counts out of an engine as arrays: each in its own way, so that no second frame library is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.engines import spark
from hedgerow.resampling.histogram import Integers

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def read_out(counted: nw.LazyFrame[Any]) -> tuple[Integers, Integers]:
    """Return the columns ``key`` and ``records`` of a counted frame."""
    if counted.implementation.is_duckdb():
        arrays = counted.to_native().fetchnumpy()
        return np.asarray(arrays["key"], np.int64), np.asarray(arrays["records"], np.int64)
    if counted.implementation.is_spark_like():
        return spark.collected(counted.to_native(), ("key", "records"))
    collected = counted.collect()
    return np.asarray(collected["key"].to_numpy(), np.int64), np.asarray(collected["records"].to_numpy(), np.int64)
