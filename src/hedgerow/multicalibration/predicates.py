"""Predicates of groups: which way each is evaluated, what is refused before a record is read, and its answers.

A predicate is a function of ONE record. It is evaluated in one of two ways, which mean the same (`elementwise`):

* **by columns**, where it uses nothing but operations record by record: ``lambda x: (x["age"] < 30) & (x["sex"] == 1)``
  is called once with whole columns;
* **by record** otherwise: ``lambda x: x["sex"] == 1 and x["race"] in ("A", "B")`` is called once a record.

`by_columns` decides, on the predicate and on the types of the columns alone. It calls the predicate with
columns that have no values, then with made-up records of these types. The texts and numbers that the code of the
predicate names are among their values, so that what follows an ``and`` is tried too. A fit decides before its price is
reserved; prediction and metrics decide likewise. On the records nothing is raised: where the predicate fails, or
answers with something else than yes or no, its answer is no.

What a predicate may see: one record by its columns, or columns that allow nothing but operations record by record.

A predicate's answer for one record must not depend on another. So it never gets the records themselves. ``x["age"]`` is
one value of Python's own, or an `ElementwiseColumn`: all values at once, of which comparisons, arithmetic, ``&``,
``|``, ``~``, NumPy's functions of numbers, ``isin``, ``between`` and ``isna`` give columns again, and of which nothing
else can be asked (no mean, no length, no truth value, no entry). An operation on a column is Python's own on each of
its values, so both ways mean the same.
"""

from __future__ import annotations

import dis
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import repeat, starmap
from types import CodeType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from hedgerow.engines.cells import as_own
from hedgerow.errors import DataError, HedgerowError, UncertifiedError
from hedgerow.user_code import each_alone, quietly, silence

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
        apart = all(isinstance(value, ElementwiseColumn) or np.ndim(value) == 0 for value in inputs)
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

        columns = [value._values if isinstance(value, ElementwiseColumn) else repeat(value) for value in inputs]
        given = zip(*columns, strict=False)  # a single value is repeated without end
        made = starmap(of_one_record, given) if self._strict else each_alone(of_one_record, given, FAILED)
        return ElementwiseColumn(list(made), self._strict)


def values_in(answer: object) -> list[Any] | None:
    """Return the values of a column that a predicate made, None where it made something else."""
    return answer._values if isinstance(answer, ElementwiseColumn) else None


class ElementwiseRecord:
    """One record, or all of them, by columns: ``x["age"]``, ``x.age``, ``x.get("age")``, ``x[0]``, ``x[:, 0]``.

    >>> person = ElementwiseRecord({"age": 41, 0: "first"}.__getitem__)
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


Function = Callable[[Any], Any]
TypeOf = Callable[[Column], np.dtype[Any]]
MOST_TRIALS = 199
"""A prime number, so that trials that are spread over all combinations do not keep to a few values of a column."""
_TIMES = (date(2000, 2, 29), datetime(2000, 2, 29), datetime(2000, 2, 29, tzinfo=UTC), timedelta(1))


class _Single:
    """A value that no function of arrays takes for an array of one record: ``np.mean(x["age"])`` is refused."""

    own: type

    def __array_function__(self, *_: object) -> NoReturn:
        raise AcrossRecordsError("a function of arrays")

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            raise AcrossRecordsError("an operation across records")
        return function(*(value.own(value) if isinstance(value, _Single) else value for value in inputs), **options)


class _Text(_Single, str):
    own = str


class _Whole(_Single, int):
    own = int


class _Real(_Single, float):
    own = float


class MadeUp:
    """Values of each type of column: None, usual values, and those that the code of a predicate names.

    >>> MadeUp(lambda x: x["sex"] == "F" and x["age"] > 40).of(np.dtype("int64"))
    [0, 1, 2, -7, 39, 40, 41, None]
    """

    def __init__(self, predicate: Function) -> None:
        named = [
            constant for code in _codes(predicate) for constant in _flat((*code.co_consts, *_small_integers(code)))
        ]
        texts = [constant for constant in named if isinstance(constant, str)]
        numbers = [constant for constant in named if type(constant) in (int, float) and abs(constant) < 1e15]
        near = [number + step for number in numbers for step in (-1, 0, 1)]
        whole = [_Whole(number) for number in dict.fromkeys((0, 1, 2, -7, *map(int, near)))]
        self._kinds: dict[str, list[Any]] = {
            "U": [_Text(text) for text in dict.fromkeys(("a", "B c", "1", *texts))],
            "f": [_Real(number) for number in dict.fromkeys((0.5, 1.0, 0.0, -7.25, *near))],
            "i": whole,
            "u": whole,
            "b": [True, False],
        }
        self.any = [*(value for values in self._kinds.values() for value in values), *_TIMES, None]

    def of(self, dtype: np.dtype[Any]) -> list[Any]:
        """Return values for a column of this type, `any` where the type tells nothing."""
        if dtype.kind in "mM":
            return [*as_own(np.arange(2).astype(dtype)), None]
        return [*self._kinds[dtype.kind], None] if dtype.kind in self._kinds else self.any


def _codes(predicate: Function) -> Iterator[CodeType]:
    """Return the code of a predicate and of the functions in it; none of a callable that has no code of its own."""
    waiting = [getattr(predicate, "__code__", None)]
    while waiting:
        code = waiting.pop()
        if isinstance(code, CodeType):
            yield code
            waiting += code.co_consts


def _small_integers(code: CodeType) -> Iterator[int]:
    """Return the whole numbers below 256 in a code, which Python 3.14 keeps in instructions and not as constants."""
    return (step.argval for step in dis.Bytecode(code) if step.opname == "LOAD_SMALL_INT")


def _flat(constants: Iterable[Any]) -> Iterator[Any]:
    for constant in constants:
        yield from _flat(constant) if isinstance(constant, (tuple, frozenset)) else [constant]


class _Trial:
    """A predicate on one made-up record.

    Each column that is read takes one of the values of its type: those that are read first the values at `places`, the
    others their first. `finding` is what refuses the predicate, whatever other values do; `doubt` refuses it only if no
    trial is answered with yes or no.
    """

    def __init__(self, made_up: MadeUp, type_of: TypeOf, places: Sequence[int] = ()) -> None:
        self._made_up, self._type_of, self._given = made_up, type_of, places
        self._chosen: dict[Column, Any] = {}
        self._sizes: list[int] = []
        self._typed = True
        self.places: list[int] = []
        self.answer: bool | None = None
        self.finding: str | HedgerowError | None = None
        self.doubt: str | None = None

    def value(self, name: Column) -> Any:
        """Return the value of a column."""
        if name not in self._chosen:
            values = self._made_up.of(self._type_of(name))
            self.places.append(self._given[len(self.places)] if len(self.places) < len(self._given) else 0)
            self._sizes.append(len(values))
            self._chosen[name] = values[self.places[-1]]
            self._typed &= values is not self._made_up.any
        return self._chosen[name]

    def _missing(self) -> bool:
        return any(value is None for value in self._chosen.values())

    def next_places(self) -> list[int]:
        """Return the places of the next trial by record; none after the last.

        The column that was read last takes its next value, so that no two trials read the same values.
        """
        places = self.places
        while places and places[-1] + 1 == self._sizes[len(places) - 1]:
            places = places[:-1]
        return [*places[:-1], places[-1] + 1] if places else []

    def spread_places(self, trial: int) -> list[int]:
        """Return the places of a trial by columns, which reads all columns each time; none after the last.

        Where there are more combinations than trials, the trials are spread over them.
        """
        total = math.prod(self._sizes)
        number, places = trial * max(total, MOST_TRIALS) // MOST_TRIALS, []
        for size in reversed(self._sizes):
            number, place = divmod(number, size)
            places.append(place)
        return [] if number else places[::-1]

    def ask(self, predicate: Function, *, whole: bool) -> None:
        """Call a predicate, by columns or by record, and keep what follows for other values."""
        single = ElementwiseRecord(self.value)
        columns = ElementwiseRecord(lambda name: ElementwiseColumn([self.value(name)], strict=True))
        try:
            said = predicate(columns if whole else single)
            said = (values_in(said) or [said])[0]
        except HedgerowError as refusal:
            self.finding = refusal
        except AcrossRecordsError as asked:
            self.finding = f"It asks for {asked}."
        except NameError as missing:
            self.finding = f"It uses the name {missing.name!r}, which is not there."
        except AttributeError as missing:
            anywhere = not missing.name or any(hasattr(value, missing.name) for value in self._made_up.any)
            if missing.obj is not None:
                self.doubt = f"It asks {_type_name(missing.obj)} for {missing.name!r}, which that does not have."
                self.finding = self.doubt if self._typed or not anywhere else None
        except TypeError as wrong:
            # Nothing can be asked of None, which a search or a look-up gives for one value and not for another.
            if self._typed and not self._missing() and "NoneType" not in str(wrong):
                self.finding = f"It cannot take values of the types of {', '.join(map(repr, self._chosen))}."
        else:
            self.answer = _truth(said)
            if self.answer is None and not (said is None and self._missing()):
                self.doubt = f"It answers with {_type_name(said)}, other than yes, no, 1 and 0."
                self.finding = self.doubt if self._typed or isinstance(said, np.ndarray) else None


def _type_name(value: object) -> str:
    own = value.own if isinstance(value, _Single) else type(value)
    return f"a value of type {own.__name__}"


def _truth(said: Any) -> bool | None:
    """Return an answer as yes or no; None if it is neither, nor 1 or 0."""
    if isinstance(said, (bool, np.bool_)):
        return bool(said)
    number = isinstance(said, (int, float, np.integer, np.floating))
    return bool(said) if number and said in (0, 1) else None


def by_columns(name: str, predicate: Function, type_of: TypeOf) -> bool:
    """Return whether a predicate is evaluated by columns, or else by record; no record is read.

    Parameters
    ----------
    name : str
        What the group is called.
    predicate : callable
    type_of : callable
        Returns the type of a column; type object says nothing about its values.

    Raises
    ------
    UncertifiedError
        HG440: it cannot be evaluated for one record of these types, or depends on other records.
    DataError, ParameterError
        HG166: it reads a column that is not there. HG169: a model file has the predicate's name alone.

    Examples
    --------
    >>> ways = [lambda x: (x["age"] > 1) & (x["age"] < 9), lambda x: 1 < x["age"] < 9]
    >>> [by_columns("young", way, lambda column: np.dtype("int64")) for way in ways]
    [True, False]
    """
    with silence():
        made = quietly(partial(_made_of_columns, predicate))
        finding: str | HedgerowError | None = made if isinstance(made, str) else None
        made_up = MadeUp(predicate)
        trials = _trials(predicate, made_up, type_of, whole=True) if made else []
        # What no column can refuse may be answered otherwise for a value: ``x["age"] is None``, `isinstance`.
        whole = bool(made) and not any(_differs(trial, predicate, made_up, type_of) for trial in trials)
        trials = trials if whole else _trials(predicate, made_up, type_of, whole=False)
        finding = finding or next((trial.finding for trial in trials if trial.finding), None)
        if not any(trial.answer is not None for trial in trials):
            finding = finding or next((trial.doubt for trial in trials if trial.doubt), None)
        steps = {step.opname for code in _codes(predicate) for step in dis.Bytecode(code)}
        if not whole and "UNARY_INVERT" in steps:
            finding = finding or "It negates with ~, which makes −2 of True where it is no column: write `not`."
    if isinstance(finding, HedgerowError):
        raise finding
    if finding:
        raise UncertifiedError(
            "HG440",
            rule="A predicate of a group must return yes or no for one record, from the values of that record alone.",
            finding=f"{name!r} does not. {finding} Nothing was read or spent.",
            remedy='Write the predicate for ONE record with plain Python values: x["race"].startswith("B"), not '
            ".str.startswith. If the predicate needs a number from all records, such as a mean, declare this "
            'number: x["age"] > 40.',
            shell="A command takes no predicate: it declares groups by columns and their categories.",
        )
    return whole


def flags_of(predicate: Function, n: int, values: Callable[[Column], list[Any]], *, whole: bool) -> NDArray[np.bool_]:
    """Return the answer of a predicate for each of n records; no where it fails. Nothing is printed or raised.

    Parameters
    ----------
    predicate : callable
    n : int
    values : callable
        Returns the values of a column, Python's own.
    whole : bool
        What `by_columns` returned.

    Examples
    --------
    >>> flags_of(lambda x: 1 < x["age"] < 9, 3, {"age": [5, None, 12]}.__getitem__, whole=False).tolist()
    [True, False, False]
    """
    if whole:
        shown = ElementwiseRecord(lambda name: ElementwiseColumn(values(name)))
        said = quietly(lambda: values_in(predicate(shown))) or ()
        answers = each_alone(_truth, ((answer,) for answer in said), None)
    else:
        answers = each_alone(
            lambda row: _truth(predicate(ElementwiseRecord(lambda name: values(name)[row]))),
            ((row,) for row in range(n)),
            None,
        )
    # A column of another length is none that this call made.
    return np.array([answer is True for answer in answers] if len(answers) == n else [False] * n, dtype=bool)


def _made_of_columns(predicate: Function) -> bool | str:
    try:
        return values_in(predicate(ElementwiseRecord(lambda _: ElementwiseColumn([])))) is not None
    except AcrossRecordsError as asked:
        return f"It asks for {asked}."


def _differs(by_columns: _Trial, predicate: Function, made_up: MadeUp, type_of: TypeOf) -> bool:
    by_record = _Trial(made_up, type_of, by_columns.places)
    quietly(partial(by_record.ask, predicate, whole=False))
    return None not in (by_columns.answer, by_record.answer) and by_columns.answer != by_record.answer


def _trials(predicate: Function, made_up: MadeUp, type_of: TypeOf, *, whole: bool) -> list[_Trial]:
    trials: list[_Trial] = []
    places: Sequence[int] = ()
    while len(trials) < MOST_TRIALS:
        trials.append(_Trial(made_up, type_of, places))
        quietly(partial(trials[-1].ask, predicate, whole=whole))
        places = trials[0].spread_places(len(trials)) if whole else trials[-1].next_places()
        if not places or trials[-1].finding:
            break
    return trials
