"""What a predicate may see: one record by its columns, or columns that allow nothing but operations record by record.

A predicate's answer for one record must not depend on another. So it never gets the records themselves. ``x["age"]`` is
one value of Python's own, or an `ElementwiseColumn`: all values at once, of which comparisons, arithmetic, ``&``,
``|``, ``~``, NumPy's functions of numbers, ``isin``, ``between`` and ``isna`` give columns again, and of which nothing
else can be asked (no mean, no length, no truth value, no entry). An operation on a column is Python's own on each of
its values, so both ways mean the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import repeat, starmap
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from hedgerow.errors import DataError
from hedgerow.user_code import each_alone

Column = str | int
FAILED = object()
"""Stands where an operation on a value failed; each operation on it fails."""


def _not(value: Any) -> Any:
    return not value if isinstance(value, (bool, np.bool_)) else ~value


_OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.invert: _not,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: operator.abs,
}


class AcrossRecordsError(TypeError):
    """Something was asked that could look across records."""


class ElementwiseColumn(NDArrayOperatorsMixin):
    """The values of one column, on which only operations record by record are possible.

    Parameters
    ----------
    values : list
        Python's own.
    strict : bool
        Whether what an operation on a value raises is raised. Else `FAILED` stands for its result.

    Examples
    --------
    >>> ages = ElementwiseColumn([20.0, 40.0, None])
    >>> *found, of_none = values_in((ages > 30) & ~(ages > 50))
    >>> found, of_none is FAILED
    ([False, True], True)
    >>> ages.mean()
    Traceback (most recent call last):
    ...
    AttributeError: 'ElementwiseColumn' object has no attribute 'mean'
    """

    __slots__ = ("_strict", "_values")
    # NumPy asks the column first, also where it stands on the right.
    __array_priority__ = 1000
    __iter__ = None
    __contains__ = None

    def __init__(self, values: list[Any], strict: bool = False) -> None:
        self._values, self._strict = values, strict

    def __array__(self, *_: object, **__: object) -> Any:
        raise AcrossRecordsError("an array of a column")

    def __bool__(self) -> bool:
        raise TypeError("one record has a truth value, and a column has none")

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> ElementwiseColumn:
        apart = all(isinstance(one, ElementwiseColumn) or np.ndim(one) == 0 for one in inputs)
        if method != "__call__" or options or not apart or function.signature is not None or function.nout != 1:
            raise AcrossRecordsError("an operation that is not done record by record")
        return self._each(_OPERATORS.get(function, function), *inputs)

    def __array_function__(self, *_: object) -> Any:
        raise AcrossRecordsError("a function of arrays")

    def isin(self, values: Iterable[Any]) -> ElementwiseColumn:
        """Return for each record whether its value is one of some values."""
        return self._each(frozenset(values).__contains__, self)

    def between(self, low: Any, high: Any) -> ElementwiseColumn:
        """Return for each record whether low ≤ value ≤ high."""
        return self._each(lambda value: low <= value <= high, self)

    def isna(self) -> ElementwiseColumn:
        """Return for each record whether its value is missing."""
        return self._each(lambda value: value is None or value != value, self)  # NaN is unequal to itself

    def _each(self, function: Callable[..., Any], *inputs: Any) -> ElementwiseColumn:
        def of_one_record(*values: Any) -> Any:
            if FAILED in values:
                raise ValueError("what a value was computed from failed")
            return function(*values)

        columns = [one._values if isinstance(one, ElementwiseColumn) else repeat(one) for one in inputs]
        given = zip(*columns, strict=False)  # a single value is repeated without end
        made = starmap(of_one_record, given) if self._strict else each_alone(of_one_record, given, FAILED)
        return ElementwiseColumn(list(made), self._strict)


def values_in(answer: object) -> list[Any] | None:
    """Return the values of a column that a predicate made, None where it made something else."""
    return answer._values if isinstance(answer, ElementwiseColumn) else None


class Record:
    """One record, or all of them, by columns: ``x["age"]``, ``x.age``, ``x.get("age")``, ``x[0]``, ``x[:, 0]``.

    >>> person = Record({"age": 41, 0: "first"}.__getitem__)
    >>> person["age"], person.age, person[:, 0]
    (41, 41, 'first')
    """

    __slots__ = ("_value",)

    def __init__(self, value: Callable[[Column], Any]) -> None:
        self._value = value

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None):
            key = key[1]
        if not isinstance(key, (str, int)):
            raise AcrossRecordsError("something other than a column")
        return self._value(key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._value(name)

    def __len__(self) -> int:
        raise AcrossRecordsError("the number of records")

    def __iter__(self) -> Any:
        raise AcrossRecordsError("each record or column in turn")

    def get(self, name: Column, default: Any = None) -> Any:
        """Return the value in a column, `default` where there is no such column."""
        with suppress(DataError):
            return self[name]
        return default
