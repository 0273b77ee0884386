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
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
