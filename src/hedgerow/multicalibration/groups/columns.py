"""Records as attributes see them: an array, a frame of any library, or a mapping of columns.

Columns are taken by name where there are names and by position where there are none. No frame library is imported: what
is used is ``X[name]`` and slices of rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_entries, as_own, cells_of, places_of
from hedgerow.errors import DataError
from hedgerow.multicalibration.groups.predicates import by_columns, flags_of

Column = str | int
# The names that pandas, Polars and Arrow give to types of text, in lower case.
_TEXTS = re.compile(
    r"str|(large_)?string(_view|\[.*)?|categorical|enum.*|dictionary<values=(large_)?string,.*|[<>|=]u\d+"
)


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records, a column at a time.

    Attributes
    ----------
    records : array, frame or mapping
        As the caller gave them.
    """

    records: Any
    _values: dict[Column, list[Any]] = field(default_factory=dict, repr=False, compare=False)
    _types: dict[Column, np.dtype[Any]] = field(default_factory=dict, repr=False, compare=False)
    _ways: dict[int, tuple[Callable[[Any], Any], bool]] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        """Return the number of records."""
        if isinstance(self.records, Mapping):
            return max((len(column) for column in self.records.values()), default=0)
        shape = getattr(self.records, "shape", None)
        return int(shape[0]) if shape else len(self.records)

    def column(self, name: Column) -> NDArray[Any]:
        """Return one column: by name of a frame or mapping, by position in an array.

        Raises
        ------
        DataError
            HG166: there is no such column.
        """
        try:
            if hasattr(self.records, "tocsr"):
                cells = np.asarray(self.records[:, [int(name)]].todense()).ravel()
            elif isinstance(self.records, np.ndarray):
                cells = np.asarray(self.records[:, int(name)])
            else:
                cells = cells_of(self.records[name])
        except Exception:  # each frame library has its own error for a missing name
            cells = None
        if cells is None or cells.ndim != 1:
            raise DataError(
                "HG166",
                rule="A column of groups or of scores is in the records: by name in a frame, by position in an array.",
                finding=f"{name!r} is not.",
                remedy="Compare the spelling; the columns of an array have numbers 0, 1, … instead of names.",
            )
        return cells

    def values(self, name: Column) -> list[Any]:
        """Return the values of one column, Python's own (`as_own`); they are kept for the next predicate."""
        if name not in self._values:
            self._values[name] = as_own(self.column(name))
        return self._values[name]

    def type_of(self, name: Column) -> np.dtype[Any]:
        """Return NumPy's type of one column, by its declared type alone: ``"U"`` for texts of any library."""
        if name not in self._types:
            cells = self.empty().column(name)
            table = isinstance(self.records, np.ndarray) or hasattr(self.records, "tocsr")
            column = self.records if table else self.records[name]
            declared = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
            self._types[name] = np.dtype("U") if _TEXTS.fullmatch(declared) else cells.dtype
        return self._types[name]

    def empty(self) -> RecordColumns:
        """Return the same columns without records, on which a family is tried before anything is read."""
        return replace(self, records=self._rows(0, 0), _values={})

    def flags(self, name: str, predicate: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """Return the answer of a predicate for each record; which way it is evaluated is decided once (`predicates`).

        Raises
        ------
        UncertifiedError
            HG440: it cannot be evaluated for one record. Nothing was read.
        """
        # With the predicate itself: the id of one that is gone could be another's.
        if id(predicate) not in self._ways:
            self._ways[id(predicate)] = predicate, by_columns(name, predicate, self.type_of)
        _, whole = self._ways[id(predicate)]
        return flags_of(predicate, len(self), self.values, whole=whole)

    def slice(self, start: int, end: int) -> Any:
        """Return records `start` to `end` − 1, in the type in which they were given; lists become an array."""
        return self.records if (start, end) == (0, len(self)) else self._rows(start, end)

    def _rows(self, start: int, end: int) -> Any:
        if isinstance(self.records, Mapping):
            return {name: np.array(as_entries(column[start:end])) for name, column in self.records.items()}
        rows = getattr(self.records, "iloc", self.records)[start:end]
        # Without the row numbers, which depend on other records, and without the array that a slice is a view of.
        if hasattr(rows, "reset_index"):
            return rows.reset_index(drop=True)
        return rows.copy() if isinstance(rows, np.ndarray) else rows


def records_of(records: object) -> RecordColumns:
    """Return records as columns; a nested list becomes an array, entry by entry.

    >>> records_of([[1.0, 2.0], [3.0, 4.0]]).column(1).tolist()
    [2.0, 4.0]
    """
    if hasattr(records, "tocsc"):
        # A sparse matrix of any layout: only this layout has columns and slices.
        records = records.tocsr()  # type: ignore[attr-defined]  # whatever has the one has the other
    known = isinstance(records, (np.ndarray, Mapping)) or hasattr(records, "columns") or hasattr(records, "shape")
    return RecordColumns(records if known else as_entries(records))


def as_flags(values: object) -> NDArray[np.bool_]:
    """Return yes-or-no values as booleans; whatever is neither true nor 1 is no.

    >>> as_flags([1, 0, True]).tolist()
    [True, False, True]
    """
    flags = np.asanyarray(values)
    if flags.dtype.kind not in "biufO":
        raise DataError(
            "HG166",
            rule="A mask holds yes or no for each record.",
            finding="It holds something else.",
            remedy="Give booleans. In a metric, groups declared by the values of columns need the records too: X=….",
        )
    return np.asarray(places_of(flags.ravel(), (1,)).reshape(flags.shape) == 0)
