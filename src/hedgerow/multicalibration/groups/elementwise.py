"""Records as a predicate may see all of them at once: columns that allow nothing but operations record by record.

In a private fit a predicate's answer for one record must not depend on another. One way is to show it one record at a
time, which takes .3 ms a record on a frame. Here it gets all records, and cannot look across them: ``X["age"] < 30``,
arithmetic, ``&``, ``|``, ``~``, NumPy's functions of numbers, ``isin``, ``between`` and ``isna`` give columns again.
Whatever else is asked (a mean, a length, a truth value, an entry) is refused. Which way is taken depends on the
predicate and on the types of the columns, never on a value: it is tried on columns without records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from hedgerow.engines.cells import places_of

Column = str | int


class NotElementwiseError(TypeError):
    """Something was asked of a column that could look across records."""


class ElementwiseColumn(NDArrayOperatorsMixin):
    """One column, on which only operations record by record are possible.

    >>> ages = ElementwiseColumn(np.array([20.0, 40.0]))
    >>> cells_in((ages > 30) & (ages < 50)).tolist()
    [False, True]
    >>> ages.mean()
    Traceback (most recent call last):
    ...
    AttributeError: 'ElementwiseColumn' object has no attribute 'mean'
    """

    __slots__ = ("_cells",)
    # NumPy asks the column first, also where it stands on the right.
    __array_priority__ = 1000
    __iter__ = None
    __contains__ = None

    def __init__(self, cells: NDArray[Any]) -> None:
        self._cells = cells

    def __array__(self, *_: object, **__: object) -> NDArray[Any]:
        raise NotElementwiseError("no array of all records")

    def __bool__(self) -> bool:
        raise NotElementwiseError("no truth value of all records")

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> ElementwiseColumn:
        apart = all(isinstance(one, ElementwiseColumn) or np.ndim(one) == 0 for one in inputs)
        if method != "__call__" or options or not apart or function.signature is not None or function.nout != 1:
            raise NotElementwiseError("no operation that is done record by record")
        plain = (one._cells if isinstance(one, ElementwiseColumn) else one for one in inputs)
        return ElementwiseColumn(np.asarray(function(*plain)))

    def isin(self, values: Sequence[Any]) -> ElementwiseColumn:
        """Return for each record whether its cell is one of some values."""
        listed = list(values)
        return ElementwiseColumn(places_of(self._cells, listed) < len(listed))

    def between(self, low: Any, high: Any) -> ElementwiseColumn:
        """Return for each record whether low ≤ cell ≤ high."""
        found: ElementwiseColumn = (self >= low) & (self <= high)
        return found

    def isna(self) -> ElementwiseColumn:
        """Return for each record whether its cell is missing."""
        missing = [cell is None or cell != cell for cell in self._cells.tolist()]  # NaN is unequal to itself
        return ElementwiseColumn(np.array(missing, dtype=bool))


class ElementwiseRecords:
    """Records by their columns: ``X["age"]`` of a frame or mapping, ``X.age`` of a frame, ``X[:, 0]`` of an array."""

    __slots__ = ("_columns", "_end", "_records", "_start")
    __iter__ = None
    __contains__ = None

    def __init__(self, records: Any, columns: Callable[[Column], NDArray[Any]], start: int, end: int) -> None:
        self._records, self._columns, self._start, self._end = records, columns, start, end

    def __getitem__(self, key: Any) -> ElementwiseColumn:
        if isinstance(self._records, np.ndarray):
            fits = isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None) and isinstance(key[1], int)
            return self._column(key[1], self._records.dtype) if fits else _refused()
        if not isinstance(key, (str, int)):
            return _refused()
        return self._column(key, getattr(self._records[key], "dtype", None))

    def __getattr__(self, name: str) -> ElementwiseColumn:
        if name.startswith("_") or isinstance(self._records, (np.ndarray, Mapping)):
            raise AttributeError(name)
        return self[name]

    def _column(self, name: Column, dtype: Any) -> ElementwiseColumn:
        # Other types compare by rules of their own, which the cells alone do not have: categories, dates, missing ones.
        plain = isinstance(dtype, np.dtype) and dtype.kind in "biufOU"
        return (
            ElementwiseColumn(self._columns(name)[self._start : self._end])
            if plain or str(dtype) == "str"
            else _refused()
        )


def _refused() -> ElementwiseColumn:
    raise NotElementwiseError("no column that is read record by record")


def cells_in(answer: object) -> NDArray[Any]:
    """Return the cells of a column that a predicate made.

    Raises
    ------
    NotElementwiseError
        The predicate made no column, so its answer for a record need not come from that record.
    """
    if not isinstance(answer, ElementwiseColumn):
        raise NotElementwiseError("the answer is no column")
    return answer._cells
