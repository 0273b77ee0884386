"""Records as attributes see them: an array, a frame of any library, or a mapping of columns.

Columns are taken by name where there are names and by position where there are none. No frame library is imported: what
is used is ``X[name]`` and, for predicates, a slice of rows.

The cells of one column become an array whose type follows from the declared type of the column, never from a value.
Libraries choose another type where a value is missing: whole numbers become doubles, booleans become objects, so one
record would change how every other one is compared. Here numbers and booleans keep their type and have a mask of what
is missing; everything else is kept as objects, each cell by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError
from hedgerow.user_code import quietly, silence

Column = str | int
_NUMERIC = "biuf"
_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records, a column at a time.

    Attributes
    ----------
    records : array, frame or mapping
        As the caller gave them.
    one_at_a_time : bool
        Whether a predicate is called with one record at a time, as in every private fit: its answer for one record then
        cannot depend on another (a centred column, a rank). Where it fails on a record, its answer is no.
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
                found = np.asarray(self.records[:, [int(name)]].todense()).ravel()
            elif isinstance(self.records, np.ndarray):
                found = np.asarray(self.records[:, int(name)])
            else:
                found = cells_of(self.records[name])
        except (KeyError, IndexError, TypeError, ValueError):
            found = None
        except Exception:  # a frame library's own error for a missing name
            found = None
        if found is None or found.ndim != 1:
            raise DataError(
                "HG166",
                rule="A column of groups or of scores is in the records: by name in a frame, by place in an array.",
                finding=f"{name!r} is not.",
                remedy="Compare the spelling; an array has places 0, 1, … instead of names.",
            )
        return found

    def empty(self) -> RecordColumns:
        """Return the same columns without records, on which a family is tried before anything is read."""
        return RecordColumns(self._rows(0, 0), one_at_a_time=True)

    def flags(self, predicate: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """Return what a predicate says of each record."""
        if not self.one_at_a_time:
            said = as_flags(predicate(self._shown(self.records))).ravel()
            if len(said) != len(self):
                raise DataError(
                    "HG166",
                    rule="A predicate says yes or no of each record that it is given.",
                    finding="It returned another number of answers.",
                )
            return said
        with silence():
            said_alone = (quietly(partial(self._says, predicate, place)) for place in range(len(self)))
            return np.fromiter((bool(yes) for yes in said_alone), dtype=bool, count=len(self))

    def slice(self, start: int, end: int) -> Any:
        """Return the records from `start` to before `end` as they were given, a list as an array."""
        return self.records if (start, end) == (0, len(self)) else self._rows(start, end)

    def _says(self, predicate: Callable[[Any], Any], place: int) -> bool:
        said = np.asarray(predicate(self._shown(self._rows(place, place + 1)))).ravel()
        return bool(said.size == 1 and said[0] == 1)

    def _shown(self, rows: Any) -> Any:
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
        # A sparse matrix of any layout: this one gives columns and slices.
        records = records.tocsr()  # type: ignore[attr-defined]  # whatever has the one has the other
    known = isinstance(records, (np.ndarray, Mapping)) or hasattr(records, "columns") or hasattr(records, "shape")
    return RecordColumns(records if known else as_entries(records), one_at_a_time, not known)


def as_flags(values: object) -> NDArray[np.bool_]:
    """Return yes-or-no values as booleans; whatever is neither true nor 1 is no.

    >>> as_flags([1, 0, True]).tolist()
    [True, False, True]
    """
    found = np.asanyarray(values)
    if found.dtype.kind not in "biufO":
        raise DataError(
            "HG166",
            rule="A mask holds yes or no for each record.",
            finding="It holds something else.",
            remedy="Give booleans. In a metric, groups declared by the values of columns need the records too: X=….",
        )
    return np.asarray(places_of(found.ravel(), (1,)).reshape(found.shape) == 0)


def cells_of(column: Any) -> NDArray[Any]:
    """Return a column of any library as an array, masked where its type can hold missing values beside numbers.

    >>> import pandas as pd
    >>> cells_of(pd.Series([1, None], dtype="Int64"))
    masked_array(data=[1, --],
                 mask=[False,  True],
           fill_value=999999)
    """
    if isinstance(column, np.ndarray):
        return column
    made = quietly(lambda: _cells(column))
    if made is None and hasattr(column, "__len__"):
        # A cell without a Python equivalent, such as a date beyond the year 9999, is missing; the others are kept.
        return as_entries([quietly(partial(_first_cell, column, place)) for place in range(len(column))])
    return _cells(column) if made is None else made


def _first_cell(column: Any, place: int) -> Any:
    one = column.iloc[place : place + 1] if hasattr(column, "iloc") else column[place : place + 1]
    return _cells(one)[0]


def _cells(column: Any) -> NDArray[Any]:
    dtype = getattr(column, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(column, "isna"):
        codes = np.asarray(getattr(column, "cat", column).codes)
        kinds = cells_of(dtype.categories)  # type: ignore[union-attr]  # looked for in the line before the last
        return _masked(kinds[codes] if len(kinds) else np.zeros(len(codes)), codes < 0)
    if hasattr(column, "isna") and getattr(getattr(dtype, "numpy_dtype", None), "kind", "O") in _NUMERIC:
        kind = dtype.numpy_dtype  # type: ignore[union-attr]  # likewise
        return _masked(column.to_numpy(dtype=kind, na_value=kind.type(0)), np.asarray(column.isna(), dtype=bool))
    if hasattr(column, "is_null") and hasattr(column, "slice"):
        kind = np.asarray(column.slice(0, 0)).dtype
        if kind.kind in "biu":
            filled = column.fill_null(False if kind.kind == "b" else 0)  # the value to fill in
            return _masked(np.asarray(filled).astype(kind), np.asarray(column.is_null(), dtype=bool))
        return np.asarray(column) if kind.kind in "fMm" else _objects(column)
    if hasattr(column, "__array__"):
        kept = isinstance(dtype, np.dtype) and dtype.kind != "O"
        return np.asarray(column) if kept else np.asarray(column, dtype=object)
    return as_entries(column)


def as_entries(values: Any) -> NDArray[Any]:
    """Return values as an array in which no entry depends on another; an array stays what it is.

    NumPy makes texts of all numbers of a list as soon as one of its entries is a text: one record would then move every
    other one out of its group.

    >>> as_entries([1, "x"]).tolist(), np.asarray([1, "x"]).tolist()
    ([1, 'x'], ['1', 'x'])
    """
    return np.asarray(values) if hasattr(values, "__array__") else np.array(values, dtype=object)


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is not a number: no value of a cell makes a fit fail.

    >>> as_numbers(np.array(["1.5", "x", None], dtype=object)).tolist()
    [1.5, nan, nan]
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if values.dtype.kind not in _NUMERIC:
            return np.array([_number(cell) for cell in values.tolist()], dtype=np.float64)
        numbers = np.asarray(np.ma.getdata(values), dtype=np.float64)
        missing = np.ma.getmaskarray(values)
        return np.where(missing, np.nan, numbers) if missing.any() else numbers


def places_of(cells: NDArray[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    """Return the index of the declared value that each cell equals, ``len(values)`` where it equals none.

    Text is compared as text and numbers as numbers: 1 is not "1".

    >>> places_of(np.array([1, "1", None, [1]], dtype=object), [0, 1]).tolist()
    [1, 2, 2, 2]
    """
    if cells.dtype.kind not in _NUMERIC:
        return _looked_up(cells.tolist(), values)
    found = np.full(len(cells), len(values), dtype=np.int64)
    for place, value in enumerate(values):
        if not isinstance(value, str):
            found[np.asarray(np.ma.getdata(cells) == value, dtype=bool)] = place
    found[np.ma.getmaskarray(cells)] = len(values)
    return found


def _looked_up(cells: list[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    places: dict[Any, int] = {value: place for place, value in enumerate(values)}
    place_of, other = places.get, len(values)

    def place(cell: Any) -> int:
        if type(cell) in _PLAIN:
            return place_of(cell, other)
        # A cell that cannot be looked up, such as a list, is no declared value; it prints nothing and ends nothing.
        found = quietly(lambda: place_of(cell, other))
        return other if found is None else found

    return np.fromiter((place(cell) for cell in cells), dtype=np.int64, count=len(cells))


def _number(cell: Any) -> float:
    # NumPy takes the real part of a complex number.
    try:
        return float("nan") if isinstance(cell, (complex, np.complexfloating)) else float(cell)
    except Exception:
        return float("nan")


def _masked(values: Any, missing: NDArray[np.bool_]) -> NDArray[Any]:
    if np.asarray(values).dtype.kind in _NUMERIC:
        return np.ma.MaskedArray(values, mask=np.ma.getmaskarray(values) | missing)
    objects = np.asarray(values).astype(object)
    objects[missing] = None
    return objects


def _objects(column: Any) -> NDArray[Any]:
    arrow = hasattr(column, "to_pylist")
    if str(column.type if arrow else column.dtype).lower() in ("string", "large_string"):
        # As bytes: neither library looks whether a text is UTF-8, and one that is not would stop them here.
        column = column.cast("large_binary" if arrow else bytes)
        listed = [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in _listed(column)]
    else:
        listed = _listed(column)
    made = np.empty(len(listed), dtype=object)
    for place, cell in enumerate(listed):
        made[place] = cell
    return made


def _listed(column: Any) -> list[Any]:
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())
