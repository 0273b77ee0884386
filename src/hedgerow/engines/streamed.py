"""Records read one batch at a time, each as one integer, for what cannot be counted by value within bounded memory.

A file is streamed by DuckDB, a database through a cursor on the server, a frame in memory by slices, a lazy frame of
polars by its streaming engine. In Spark each partition is added up where it lies, and one row of sums leaves it.

A task of Spark may run twice: it failed, its executor died, or it was slow. Each run draws weights of its own, and of
one partition one run reaches the driver, the first that ends: Spark delivers each partition of the one job once, and
nothing behind the draw is a shuffle, whose parts could be computed again. A draw that is thrown away depends on no
output and no output depends on it, so what is released has the law of a single draw.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from hedgerow.engines.query import Query
from hedgerow.errors import DataError
from hedgerow.resampling.counted_values import Integers
from hedgerow.resampling.replicates import BATCH, StreamedReplicates, Tally
from hedgerow.version import __version__

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from hedgerow.engines.dialects.ibis_tables import Asked

READ = 4 * BATCH
"""Records that an engine hands over at once."""
Watch = Callable[[int], None]
A = TypeVar("A")
_SCHEMA = "high array<bigint>, low array<bigint>, others array<bigint>"


@runtime_checkable
class Streams(Protocol):
    """A source that can be read one batch at a time."""

    def stream(self, query: Query, asked: StreamedReplicates, watch: Watch) -> Tally:
        """Return the replicates of the records, each taken once; `watch` is told how many were read so far (HG207)."""
        ...


@dataclass(slots=True)
class Rows:
    """The records of a source, which each draw of replicates reads anew."""

    source: Streams = field(repr=False)
    query: Query
    _records: int = -1

    def replicates(self, asked: StreamedReplicates, watch: Watch) -> Tally:
        """Return the replicates of all records."""
        tally = self.source.stream(self.query, asked, watch)
        self._records = tally.total()
        return tally

    def total(self) -> int:
        """Return how many records the last draw found."""
        return self._records


def each(read: Callable[[Any], A]) -> Callable[[object, Query, dict[str, str], bytes | None], Asked[A]]:
    """Return what asks for each record's key, as `frames.count` asks how many there are of each."""
    # Not at the top: a release is planned without what reads frames.
    from hedgerow.engines import frames
    from hedgerow.engines.dialects.ibis_tables import Asked

    return lambda frame, query, columns, _: Asked(((frames.keys(frame, query, columns), read),), lambda answer: answer)


def reader(asked: StreamedReplicates, watch: Watch) -> Callable[[nw.LazyFrame[Any]], Tally]:
    """Return what adds the keys of a frame to one tally, each time it is called."""
    tally = asked.tally()

    def read(keyed: nw.LazyFrame[Any]) -> Tally:
        if keyed.implementation.is_spark_like():
            _take_in_spark(keyed.to_native(), asked, tally)
            return tally
        # An empty batch, too: which lines run does not depend on whether there is a record.
        for keys in chain(_batches(keyed), [np.zeros(0, np.int64)]):
            tally.take(keys)
            watch(tally.total())
        return tally

    return read


def _batches(keyed: nw.LazyFrame[Any]) -> Iterable[Integers]:
    """Return the column ``key`` piece by piece, each record in one piece."""
    from hedgerow.engines.dialects import ibis_tables

    engine, native = keyed.implementation, keyed.to_native()
    if engine.is_duckdb():
        return (np.asarray(batch.column(0), np.int64) for batch in native.to_arrow_reader(READ))
    if engine.is_ibis():
        pieces = ibis_tables.pieces_of(native, READ)
        return (np.array([int(row[0]) for row in rows], dtype=np.int64) for rows in pieces)
    if engine.is_polars() and hasattr(native, "collect_batches"):
        # In any order: which record is drawn with which weight is by chance anyway.
        return (batch["key"].to_numpy() for batch in native.collect_batches(chunk_size=READ, maintain_order=False))
    return (np.asarray(keyed.collect()["key"].to_numpy(), np.int64),)


def _take_in_spark(frame: Any, asked: StreamedReplicates, tally: Tally) -> None:
    """Add what each partition added up: one job, collected once, behind which nothing is computed again."""

    def added_up(batches: Iterator[Any]) -> Iterator[Any]:
        return partition_sums(asked, batches)

    numbered = frame.selectExpr("key", "spark_partition_id() AS part")
    table = _mapped(numbered, added_up, _SCHEMA)
    for row in table.to_pylist():
        tally.absorb(*(np.array(row[name], dtype=np.int64) for name in ("high", "low", "others")))


def check_executors(frame: Any) -> None:
    """Check, by a job that reads no record, that an executor has this version of hedgerow and Arrow (HG214)."""

    def versions(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch_of_version(batch)

    try:
        reported = _mapped(frame.sparkSession.range(1), versions, "version string")["version"].to_pylist()
    except Exception:  # Spark has errors of its own for each way in which a worker fails
        reported = []
    if reported != [__version__]:
        raise DataError(
            "HG214",
            rule="To resample records, Spark's executors need the same hedgerow as the driver.",
            finding="One of them has another version." if reported else "One of them could not import it.",
            remedy="Install hedgerow[spark] on the executors, or declare coarser steps.",
        )


def batch_of_version(batch: Any) -> Any:
    """Return the version of hedgerow as a batch; this runs on the executor."""
    return type(batch).from_pydict({"version": [__version__]})


def _mapped(frame: Any, made: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark warns of releases of pandas that it does not know, and uses none here
        return frame.mapInArrow(made, schema).toArrow()


def partition_sums(asked: StreamedReplicates, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the sums of one partition of a Spark frame, as one row; this runs on the executor."""
    import pyarrow

    tally: Tally | None = None
    for batch in batches:
        if batch.num_rows:
            tally = tally or asked.tally(batch["part"][0].as_py())
            tally.take(np.asarray(batch["key"], np.int64))
    if tally is None:
        return
    integers = pyarrow.list_(pyarrow.int64())
    packed = {name: pyarrow.array([numbers], integers) for name, numbers in tally.packed().items()}
    yield pyarrow.RecordBatch.from_pydict(packed)
