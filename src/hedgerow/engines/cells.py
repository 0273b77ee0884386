r"""The cells of a column of any library, each read by itself: no cell changes what another becomes, and none can fail.

Libraries choose another array where a value is missing: whole numbers become doubles, booleans become objects. One
record would then change how every other one is compared. In `cells_of`, the type of the array follows from the declared
type of the column: numbers and booleans keep their type and have a mask of what is missing; everything else is an
object, each cell by itself.

Cells of type object, as pandas keeps them, may hold anything; `as_texts` makes texts of them. A text stays as it is. A
text that is not Unicode (with a lone surrogate, which no engine stores) is written in hexadecimal, so that two
different texts stay different and none becomes a value that somebody may declare. Any other object becomes the text
that it prints as, and is missing if it does not print.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.user_code import quietly, silence

_NUMERIC = "biuf"
_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
ESCAPE = "\uffff"
"""A code point that is no character: no text begins with it, and one that does is escaped too."""
_MISSING = frozenset({"NoneType", "NAType", "NaTType"})
"""Types of None, of pandas.NA and of pandas.NaT, by name: pandas need not be installed."""


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
        # A cell that cannot become Python's own, as a date beyond the year 9999, is missing, and stops no other.
        return as_entries([quietly(partial(_first_cell, column, place)) for place in range(len(column))])
    return _cells(column) if made is None else made


def _first_cell(column: Any, place: int) -> Any:
    cell = column.iloc[place : place + 1] if hasattr(column, "iloc") else column[place : place + 1]
    return _cells(cell)[0]


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
        kind = _numpy_type(column.slice(0, 0))
        if kind.kind in "biu":
            filled = column.fill_null(False if kind.kind == "b" else 0)  # the value to fill in
            return _masked(np.asarray(filled).astype(kind), np.asarray(column.is_null(), dtype=bool))
        return np.asarray(column) if kind.kind in "fMm" else _objects(column)
    if hasattr(column, "__array__"):
        typed = isinstance(dtype, np.dtype) and dtype.kind != "O"
        return np.asarray(column) if typed else np.asarray(column, dtype=object)
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
    """Return cells as numbers, NaN where one is none: what a cell holds never decides whether a fit fails.

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


def as_own(cells: NDArray[Any]) -> list[Any]:
    """Return each cell as a value of Python's own, as code that sees one record expects.

    A missing number is NaN in a column of numbers; what is missing in another column is None. Times finer than
    Python's are cut to microseconds.

    >>> as_own(np.ma.MaskedArray([1, 2], mask=[False, True])), as_own(np.array(["a", np.float64("nan")], dtype=object))
    ([1, nan], ['a', None])
    """
    if cells.dtype.kind == "f":
        return list(as_numbers(cells).tolist())
    if cells.dtype.kind in "mM" and np.datetime_data(cells.dtype)[0] in ("ns", "ps", "fs", "as"):
        cells = cells.astype(f"{cells.dtype.kind}8[us]")
    listed: list[Any] = cells.tolist()
    if cells.dtype.kind in "iu":
        return [float("nan") if cell is None else cell for cell in listed] if np.ma.is_masked(cells) else listed
    return [cell if type(cell) is str else _own(cell) for cell in listed] if cells.dtype.kind == "O" else listed


def _own(cell: object) -> object:
    if _missing(cell):
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def places_of(cells: NDArray[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    """Return which of the declared values each cell is, ``len(values)`` where it is none of them.

    Text is compared as text and numbers as numbers: 1 is not "1".

    >>> places_of(np.array([1, "1", None, [1]], dtype=object), [0, 1]).tolist()
    [1, 2, 2, 2]
    """
    if cells.dtype.kind not in _NUMERIC:
        return _looked_up(cells.tolist(), values)
    places = np.full(len(cells), len(values), dtype=np.int64)
    for place, value in enumerate(values):
        if not isinstance(value, str):
            places[np.asarray(np.ma.getdata(cells) == value, dtype=bool)] = place
    places[np.ma.getmaskarray(cells)] = len(values)
    return places


def bands_of(cells: NDArray[Any], edges: Sequence[float], rest: int) -> NDArray[np.int64]:
    """Return in which of the bands [e_0, e_1), …, [e_k−1, e_k] each cell lies, `rest` where it is in none, or missing.

    >>> bands_of(np.array([0.0, 25.0, 45.0, 46.0, np.nan]), (0.0, 25.0, 45.0), -1).tolist()
    [0, 1, 1, -1, -1]
    """
    numbers = as_numbers(cells)
    inside = (numbers >= edges[0]) & (numbers <= edges[-1])
    return np.where(inside, np.searchsorted(np.asarray(edges[1:-1]), numbers, side="right"), rest)


def levels_of(cells: NDArray[Any], values: Sequence[float | str], rest: int) -> NDArray[np.int64]:
    """Return which of many declared values, all numbers or all texts, each cell is, `rest` where it is none of them.

    >>> levels_of(np.array([7.0, -0.0, np.nan, 7.5]), (0.0, 9.0, 7.0), -1).tolist()
    [2, 0, -1, -1]
    """
    if isinstance(values[0], str):
        places = _looked_up(cells.tolist(), values)
        return np.where(places == len(values), rest, places)
    numbers, wanted = as_numbers(cells), np.asarray(values, np.float64)
    order = np.argsort(wanted)
    nearest = order[np.minimum(np.searchsorted(wanted[order], numbers), len(order) - 1)]
    return np.where(wanted[nearest] == numbers, nearest, rest)


def _looked_up(cells: list[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    places: dict[Any, int] = {value: place for place, value in enumerate(values)}
    place_of, other = places.get, len(values)

    def place(cell: Any) -> int:
        if type(cell) in _PLAIN:
            return place_of(cell, other)
        # A cell that cannot be looked up, such as a list, is no declared value; nor does it say or end anything.
        place = quietly(lambda: place_of(cell, other))
        return other if place is None else place

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
    entries = np.array(values)
    entries = entries if entries.dtype.kind in "mM" else entries.astype(object)
    entries[missing] = None  # NaT among dates
    return entries


def _numpy_type(empty: Any) -> np.dtype[Any]:
    try:
        return np.asarray(empty).dtype
    except Exception:  # a type that NumPy does not have, as whole numbers of 128 bits
        return np.dtype(object)


def _objects(column: Any) -> NDArray[Any]:
    arrow = hasattr(column, "to_pylist")
    if arrow and str(column.type).startswith("dictionary"):
        column = column.cast(column.type.value_type)
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


def as_texts(cells: Iterable[object]) -> list[str | None]:
    r"""Return each cell as a text, None where it is missing.

    >>> as_texts(["a", 5, True, None, float("nan"), "x\udcff", (1, 2), Decimal("sNaN")])
    ['a', '5', 'True', None, None, '\uffff78edb3bf', '(1, 2)', None]
    """
    with silence():
        return [cell if type(cell) is str and cell.isascii() else _text(cell) for cell in cells]


def _text(cell: object) -> str | None:
    # An object's own code, a whole number of too many digits, a list that holds itself: what fails is missing.
    # Joined, a text of somebody else's type becomes a plain one.
    text = quietly(lambda: None if _missing(cell) else "".join((str(cell),)))
    if text is None:
        return None
    if not text.startswith(ESCAPE):
        with suppress(UnicodeEncodeError):
            text.encode()
            return text
    return ESCAPE + text.encode("utf-8", "surrogatepass").hex()


def _missing(cell: object) -> bool:
    if isinstance(cell, Decimal):
        return cell.is_nan()  # to compare a signalling one is an error
    if isinstance(cell, (float, np.floating)):
        return bool(cell != cell)
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(cell))
    return type(cell).__name__ in _MISSING
