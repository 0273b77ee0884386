"""Records as attributes see them: an array, a frame of any library, or a mapping of columns.

Columns are taken by name where there are names and by position where there are none. No frame library is imported: what
is used is ``X[name]`` and, for predicates, a slice of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_entries, cells_of, places_of
from hedgerow.errors import DataError
from hedgerow.multicalibration.groups.elementwise import ElementwiseRecords, NotElementwiseError, cells_in
from hedgerow.user_code import one_by_one, quietly, silence

Column = str | int


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records, a column at a time.

    Attributes
    ----------
    records : array, frame or mapping
        As the caller gave them.
    one_at_a_time : bool
        Whether a predicate's answer for one record cannot depend on another (a centred column, a rank), as in every
        private fit. It is called once with columns that allow nothing but operations record by record (`elementwise`);
        one that asks for more is called with one record at a time. Where it fails on a record, its answer is no.
    listed : bool
        Whether records came as lists. They are held entry by entry; a predicate gets them as NumPy reads them.
    """

    records: Any
    one_at_a_time: bool = False
    listed: bool = False

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

    def empty(self) -> RecordColumns:
        """Return the same columns without records, on which a family is tried before anything is read."""
        return RecordColumns(self._rows(0, 0), one_at_a_time=True)

    def flags(self, predicate: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """Return the answer of a predicate for each record."""
        if self.one_at_a_time:
            with silence():
                if quietly(partial(self._answers, predicate, 0, 0)) is not None:
                    found = one_by_one(partial(self._answers, predicate), len(self), False)
                    return np.asarray(found, dtype=bool)
                alone = (quietly(partial(self._answer, predicate, row)) for row in range(len(self)))
                return np.fromiter(map(bool, alone), dtype=bool, count=len(self))
        answers = as_flags(predicate(self._argument(self.records))).ravel()
        if len(answers) != len(self):
            raise DataError(
                "HG166",
                rule="A predicate answers yes or no for each record that it gets.",
                finding="It returned another number of answers.",
            )
        return answers

    def _answers(self, predicate: Callable[[Any], Any], start: int, end: int) -> NDArray[np.bool_]:
        if self.listed or hasattr(self.records, "tocsr"):
            raise NotElementwiseError("these records are shown one at a time")
        made = cells_in(predicate(ElementwiseRecords(self.records, self.column, start, end)))
        return np.asarray(made == 1, dtype=bool)

    def slice(self, start: int, end: int) -> Any:
        """Return records `start` to `end` − 1, in the type in which they were given; lists become an array."""
        return self.records if (start, end) == (0, len(self)) else self._rows(start, end)

    def _answer(self, predicate: Callable[[Any], Any], row: int) -> bool:
        answer = np.asarray(predicate(self._argument(self._rows(row, row + 1)))).ravel()
        return bool(answer.size == 1 and answer[0] == 1)

    def _argument(self, rows: Any) -> Any:
        return np.asarray(rows.tolist()) if self.listed else rows

    def _rows(self, start: int, end: int) -> Any:
        if isinstance(self.records, Mapping):
            return {name: np.array(column[start:end]) for name, column in self.records.items()}
        rows = getattr(self.records, "iloc", self.records)[start:end]
        # Without the row numbers, which depend on other records, and without the array that a slice is a view of.
        if hasattr(rows, "reset_index"):
            return rows.reset_index(drop=True)
        return rows.copy() if isinstance(rows, np.ndarray) else rows


def records_of(records: object, *, one_at_a_time: bool = False) -> RecordColumns:
    """Return records as columns; a nested list becomes an array.

    >>> records_of([[1.0, 2.0], [3.0, 4.0]]).column(1).tolist()
    [2.0, 4.0]
    """
    if hasattr(records, "tocsc"):
        # A sparse matrix of any layout: only this layout has columns and slices.
        records = records.tocsr()  # type: ignore[attr-defined]  # whatever has the one has the other
    known = isinstance(records, (np.ndarray, Mapping)) or hasattr(records, "columns") or hasattr(records, "shape")
    return RecordColumns(records if known else as_entries(records), one_at_a_time, not known)


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
