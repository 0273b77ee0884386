"""Frames that a caller holds, counted where they are; what cannot be counted is refused before anything is spent."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hedgerow.engines import frames
from hedgerow.engines.dialects.ibis_tables import Asked, check_listed, engine_of
from hedgerow.engines.exact_answers import FrameAnswers
from hedgerow.engines.query import ColumnQuery, Query, SumsQuery
from hedgerow.engines.reading import withheld
from hedgerow.engines.schema import ROW_NAMES_LEFT_OUT, check_names, check_query, listed_names, without_row_names
from hedgerow.engines.streamed import READ, Watch, check_executors, each, reader
from hedgerow.errors import DataError, ParameterError
from hedgerow.resampling.replicates import StreamedReplicates, Tally

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


# A relation uses its connection, which serves one thread at a time, and does not tell which one that is.
_RELATIONS = threading.Lock()
_LISTED = 5
# As polars and DuckDB call the steps of a plan that read texts, or objects of pandas, whose types they guess.
_POLARS = ("csv scan", "ndjson scan")
_DUCKDB = ("read_csv", "read_json", "sniff_csv", "pandas_scan")


@dataclass(frozen=True, slots=True)
class FrameSource(FrameAnswers):
    """A frame of any library that narwhals reads; only counts leave it.

    Attributes
    ----------
    name : str
        What reports call it, e.g. ``"pandas.DataFrame"``.
    columns : dict
        Name → kind: ``"number"``, ``"boolean"``, ``"text"`` or ``"other"``.
    frame : narwhals.LazyFrame
        The frame itself; an eager one is made lazy, which copies nothing.
    remarks : tuple of str
        What of its types another library read off the values, in public words, and whether a column was left out.
    process : int
        The process that opened it: threads of engines do not survive a fork.
    rehearsed : dict
        What was built of the questions of a release; see `FrameAnswers.rehearsed`.

    Examples
    --------
    >>> import pyarrow
    >>> from hedgerow.engines.query import Query, ValueOnGrid
    >>> from hedgerow.facts.columns import Category, Grid
    >>> people = recognised(pyarrow.table({"age": [18, 93, None], "sex": [0, 1, 1]}))
    >>> age = ValueOnGrid("age", Grid.from_bounds("age", (0, 100), 1))
    >>> h = people.histogram(Query(age, by=(Category.declared("sex", [0, 1]),)))
    >>> h.cell.tolist(), h.index.tolist(), h.missing.tolist()
    ([0, 1], [18, 93], [0, 1])
    """

    name: str
    columns: dict[str, str]
    # Out of the repr: a DuckDB relation prints its rows.
    frame: nw.LazyFrame[Any] = field(repr=False, compare=False)
    remarks: tuple[str, ...] = field(default=(), repr=False, compare=False)
    process: int = field(default_factory=os.getpid, repr=False, compare=False)
    rehearsed: dict[Any, Asked[Any]] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._takes_sql() or self.frame.implementation.is_spark_like():
            raise ParameterError(
                "HG210",
                rule="A source with an open connection cannot be pickled.",
                finding=f"Found a {self.name}.",
                remedy="Open the data in each process. A file that is given by its path can be pickled.",
            )
        # The process that reads a copy has threads of its own.
        return type(self), (self.name, self.columns, self.frame, self.remarks)

    def check(self, query: Query | SumsQuery) -> None:
        """Refuse, before any value is read, a question that cannot be answered (HG111, HG203, HG204, HG210, HG211)."""
        self._check_process()
        check_query(query, self.columns)
        if self.frame.implementation.is_ibis():
            check_listed(self.frame.to_native(), max((category.levels for category in query.by), default=0))

    @contextmanager
    def _roles(self, query: Query | SumsQuery | ColumnQuery, *, reading: bool) -> Iterator[Callable[[], Any]]:
        with _RELATIONS if self._takes_sql() else nullcontext():
            yield lambda: frames.roles_of(self.frame, query, self.columns)

    @contextmanager
    def _opened(self) -> Iterator[FrameSource]:
        self._check_process()
        yield replace(self, rehearsed={})

    def _rehearse(self, query: Query | SumsQuery | ColumnQuery) -> None:
        """Let DuckDB, a database or Spark look it up; frames in memory are there, and have the columns checked."""
        if self._takes_sql() or self.frame.implementation.is_spark_like():
            super(FrameSource, self)._rehearse(query)

    def _loading(self, query: Query | SumsQuery) -> Sequence[str]:
        if self._takes_sql():
            return ()
        raise ParameterError(
            "HG213",
            rule="hedgerow can show a query only for sources that are queried with SQL: files, databases, DuckDB "
            "relations and Ibis tables.",
            finding=f"Found a {self.name}, whose library is called step by step: no text is sent.",
            remedy="To see the SQL, write the frame to a file and open that file: hedgerow counts the same records in "
            "the same way.",
        )

    def _takes_sql(self) -> bool:
        engine = self.frame.implementation
        return bool(engine.is_duckdb() or engine.is_ibis())

    def check_stream(self) -> None:
        """Refuse a Spark frame whose executors could not resample their records (HG214)."""
        if self.frame.implementation.is_spark_like():
            check_executors(self.frame.to_native())

    def stream(self, query: Query, asked: StreamedReplicates, watch: Watch) -> Tally:
        """Return replicates of the records; a frame that is held in memory is read by slices."""
        if not (self.frame.implementation.is_pandas_like() or self.frame.implementation.is_pyarrow()):
            return super(FrameSource, self).stream(query, asked, watch)
        self.check(query)
        held, build = self.frame.collect(), each(reader(asked, watch))

        def all_read() -> Tally:
            # Once at least: which lines run does not depend on whether there is a record.
            for start in range(0, max(len(held), 1), READ):
                roles = frames.roles_of(held[start : start + READ].lazy(), query, self.columns)
                tally = build(roles, query, self.columns, None).found()
            return tally

        return withheld(all_read)

    def _check_process(self) -> None:
        engine = self.frame.implementation
        # pandas has no threads of its own, and Arrow starts new ones after a fork; others would wait for ever.
        if os.getpid() == self.process or engine.is_pandas() or engine.is_pyarrow():
            return
        raise DataError(
            "HG210",
            rule="A frame of polars, DuckDB or Spark is read by the process that opened it.",
            finding=f"This process was forked after the {self.name} was opened.",
            remedy="Open the data in each process. A file that is given by its path may also be opened before a fork "
            "of the process.",
        )


def recognised(source: object) -> FrameSource | None:
    """Return a source over a frame that narwhals reads, None where it reads none of it."""
    # Vendors refuse repeated names in words of their own, or rename them, so they are looked for first.
    if (names := withheld(lambda: listed_names(source))) is not None:
        check_names(without_row_names(names))
    frame = withheld(lambda: frames.lazy_frame(source))
    if frame is None:
        return None
    if frame.implementation.is_ibis():
        withheld(lambda: engine_of(frame.to_native()))
    columns = withheld(lambda: frames.columns_of(frame))
    kind = type(source)
    return FrameSource(
        f"{kind.__module__.partition('.')[0].lstrip('_')}.{kind.__name__}",
        columns,
        frame,
        withheld(lambda: _remarks(frame, columns)),
    )


def _remarks(frame: nw.LazyFrame[Any], columns: Mapping[str, str]) -> tuple[str, ...]:
    names = list(frame.collect_schema())
    inferred = inferred_types(frame.to_native(), names)
    warned = (
        f"The types of this source may depend on single records: {inferred}. A refusal then reveals "
        "information about them that the budget does not count. "
        "Open the file by its path, or give the columns types of their own."
    )
    return (*([warned] if inferred else []), *([ROW_NAMES_LEFT_OUT] if len(names) > len(columns) else []))


def inferred_types(native: Any, columns: Sequence[str]) -> str:
    """Return what of a frame's types was inferred from its values, in public words; empty where nothing is known to be.

    A plan, a dtype and a name are all that is looked at, never a value: what is said depends on how the source was
    made.

    >>> import pyarrow
    >>> inferred_types(pyarrow.table({"age": [18, 93]}), ["age"])
    ''
    """
    library = type(native).__module__.partition(".")[0].lstrip("_")
    if library == "pandas":
        loose = [name for name, dtype in zip(columns, native.dtypes, strict=True) if name and str(dtype) == "object"]
        named = ", ".join(repr(name) for name in loose[:_LISTED]) + (", …" if len(loose) > _LISTED else "")
        return f"pandas columns of dtype object hold anything and are taken for text: {named}" if loose else ""
    if library == "polars" and hasattr(native, "explain"):
        plan = native.explain(optimized=False).lower()
        return "polars infers the types of a scanned text file from some of its rows" if _among(_POLARS, plan) else ""
    if library == "duckdb" and hasattr(native, "explain"):
        plan = (native.sql_query() + _duckdb_plan(native)).lower()
        return "DuckDB infers the types of texts and of pandas objects from some rows" if _among(_DUCKDB, plan) else ""
    return ""


def _duckdb_plan(relation: Any) -> str:
    """Return the plan of a relation. Its format is named, since by default a notebook would show it to the reader."""
    try:
        return str(relation.explain(format="text"))
    except TypeError:  # a release of DuckDB that has no other format
        return str(relation.explain())
    except Exception:  # a smallest or largest value of a column that no question may name: nothing is told of the value
        return ""


def _among(steps: tuple[str, ...], plan: str) -> bool:
    return any(step in plan for step in steps)


def rows_of(frame: object) -> list[dict[str, Any]] | None:
    """Return the rows of a caller's small frame of any library by column, as plain values; None of what is no frame."""
    held = frames.lazy_frame(frame)
    return None if held is None else held.collect().rows(named=True)
