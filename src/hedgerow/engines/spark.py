"""The only door to Spark: what leaves a cluster is the grouped counts, collected by the driver.

Plain DataFrame calls alone, which Spark Connect has too; no RDD, no pandas, no Arrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def collected(counted: Any, names: tuple[str, str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two integer columns of an aggregated Spark frame as arrays, one entry a group."""
    rows = counted.select(*names).collect()
    found = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(len(rows), 2)
    return found[:, 0], found[:, 1]


def placed(rows: Any, key: bytes) -> Any:
    """Return a Spark frame with ``place``, the rank of each row among those of its ``unit``, by a keyed hash."""
    # A window must not hold what differs from run to run, so the number is a column of its own first.
    numbered = rows.selectExpr("*", "monotonically_increasing_id() AS row_number")
    hashed = numbered.selectExpr("*", f"sha2(concat('{key.hex()}', cast(row_number AS string)), 256) AS priority")
    return hashed.selectExpr("*", "row_number() OVER (PARTITION BY unit ORDER BY priority) AS place")
