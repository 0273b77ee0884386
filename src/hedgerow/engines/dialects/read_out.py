"""A question as an engine is sent it, and its rows, read out in each engine's way: no second frame library is needed.

Building and sending are two steps, so that what is sent can be shown, word by word, before it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from hedgerow.engines.cells import cells_of
from hedgerow.engines.dialects import ibis_tables
from hedgerow.engines.query import ValueCounts
from hedgerow.engines.schema import TEXT, as_declared
from hedgerow.resampling.histogram import Integers

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Asked(Generic[A]):
    """A question that was built and not sent.

    Attributes
    ----------
    sent : tuple of (frame, callable)
        What the engine computes, in this order, and how the rows of each are read.
    answer : callable
        Makes the answer of all that was read.
    """

    sent: tuple[tuple[Any, Callable[[Any], Any]], ...]
    answer: Callable[..., A]

    def found(self) -> A:
        """Send it, and return the answer."""
        return self.answer(*(read(frame) for frame, read in self.sent))

    def explain(self) -> None:
        """Let a database or Spark plan it: tables, columns and rights are looked up, and no value is read."""
        for frame, _ in self.sent:
            native = _native(frame)
            if hasattr(native, "selectExpr"):
                _ = native.schema  # Spark Connect looks nothing up before
            else:
                ibis_tables.explain(native)

    def texts(self) -> list[str]:
        """Return the SQL that is sent: by DuckDB, or for an Ibis table."""
        return [_text(frame) for frame, _ in self.sent]

    def then(self, made: Callable[[A], B]) -> Asked[B]:
        """Return the question whose answer is made of this one's."""
        return Asked(self.sent, lambda *read: made(self.answer(*read)))

    def beside(self, other: Asked[B], made: Callable[[A, B], C]) -> Asked[C]:
        """Return this question and, after it, another one, with one answer made of both."""
        first = len(self.sent)
        return Asked(
            (*self.sent, *other.sent),
            lambda *read: made(self.answer(*read[:first]), other.answer(*read[first:])),
        )


def _native(frame: Any) -> Any:
    # Asked of its class: a frame of Spark Connect takes any name for a column.
    return frame.to_native() if hasattr(type(frame), "to_native") else frame


def _text(frame: Any) -> str:
    native = _native(frame)
    # DuckDB sends exactly this text since 2.0; before, it runs the tree that prints as this text.
    return str(native.sql_query()) if hasattr(native, "sql_query") else ibis_tables.statement(native)


def asked_values(counted: nw.LazyFrame[Any], kind: str) -> Asked[ValueCounts]:
    """Return the question for the columns ``key`` and ``records``, without the values that nobody can declare.

    Memory grows with the number of different values. No number of them is too many: a refusal would tell of the last
    record.
    """
    return Asked(((counted, lambda frame: _read_values(frame, kind)),), lambda found: found)


def asked_counts(counted: nw.LazyFrame[Any]) -> Asked[tuple[Integers, Integers]]:
    """Return the question for the columns ``key`` and ``records`` of a counted frame, both whole numbers."""
    named = counted.select("key", "records") if counted.implementation.is_ibis() else counted
    return Asked(((named, _read_counts),), lambda found: found)


def _read_values(counted: nw.LazyFrame[Any], kind: str) -> ValueCounts:
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


def _read_counts(counted: nw.LazyFrame[Any]) -> tuple[Integers, Integers]:
    if counted.implementation.is_duckdb():
        arrays = counted.to_native().fetchnumpy()
        return np.asarray(arrays["key"], np.int64), np.asarray(arrays["records"], np.int64)
    if counted.implementation.is_spark_like():
        key, records = (np.asarray(column, np.int64) for column in _by_arrow(counted.to_native()))
        return key, records
    if counted.implementation.is_ibis():
        found = ibis_tables.rows_of(counted.to_native())
        integers = np.array([[int(number) for number in row] for row in found], dtype=np.int64).reshape(len(found), 2)
        return integers[:, 0], integers[:, 1]
    collected = counted.collect()
    return np.asarray(collected["key"].to_numpy(), np.int64), np.asarray(collected["records"].to_numpy(), np.int64)


def _by_arrow(counted: Any) -> list[list[Any]]:
    """Return the columns ``key`` and ``records`` of a Spark frame, not row by row; Spark Connect has this call too."""
    found = counted.select("key", "records").toArrow()
    return [found["key"].to_pylist(), found["records"].to_pylist()]
