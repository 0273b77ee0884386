"""Labels, predictions and keys as entries: each is a number, a text or missing, by itself alone, whatever holds it.

Arrays of NumPy, pandas, polars and Arrow differ in what they make of a missing value, a whole number beyond 2⁶⁴ or an
object among numbers: one such entry changes the type of all. Here no entry changes another, and none can fail. An entry
that is neither a number nor a text (a date, a tuple, an array, NaT) is missing, as None and NaN are. A missing entry
equals nothing.

A request is compared with an earlier one under the same id by a keyed digest of the predictions that were sent, in
their order, with their keys if there are any. A replay takes no look, so labels and features are never part of the
digest. It is keyed, so that the ledger alone does not confirm a guess at somebody's predictions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import cells_of
from hedgerow.user_code import quietly

Floats = NDArray[np.float64]
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating, Decimal, Fraction)
_PLAIN = frozenset((bool, int, float, np.bool_, np.float64, np.int64, Decimal, Fraction))


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """One column: numbers (NaN if an entry is not a number), texts ("" if not a text), and which entries are texts."""

    numbers: Floats
    texts: NDArray[np.object_]
    is_text: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which entries are neither number nor text."""
        return ~self.is_text & np.isnan(self.numbers)

    def equal(self, other: Entries) -> NDArray[np.bool_]:
        """Return which entries equal those of another sequence, place by place; a missing one equals nothing.

        >>> entries_of([1, "x", None, True]).equal(entries_of([1.0, "x", None, "True"])).tolist()
        [True, True, False, False]
        """
        alike = self.numbers == other.numbers
        both = self.is_text & other.is_text
        alike[both] = np.asarray(self.texts[both] == other.texts[both], dtype=bool)
        return np.asarray(alike)

    def among(self, values: Sequence[Any]) -> NDArray[np.bool_]:
        """Return which entries equal one of some declared values."""
        declared = entries_of(list(values))
        declared_here = np.isin(self.numbers, declared.numbers[~np.isnan(declared.numbers)])
        texts = set(declared.texts[declared.is_text].tolist())
        declared_here[self.is_text] = [text in texts for text in self.texts[self.is_text].tolist()]
        return np.asarray(declared_here)

    def only(self, valid: NDArray[np.bool_]) -> Entries:
        """Return the same entries; those that are not kept become missing."""
        return Entries(np.where(valid, self.numbers, np.nan), np.where(valid, self.texts, ""), self.is_text & valid)

    def taken(self, places: NDArray[np.int64]) -> Entries:
        """Return the entries at some positions; a position below 0 gives a missing entry.

        >>> entries_of([5, "x"]).taken(np.array([1, -1, 0])).missing.tolist()
        [False, True, False]
        """
        if not len(self):
            return _nothing(len(places))
        entries = Entries(self.numbers[places], self.texts[places], self.is_text[places])
        return entries.only(places >= 0)

    def read_as_numbers(self) -> Entries:
        """Return the same entries; a text that reads as a number becomes that number, as in a CSV file."""
        numbers = self.numbers.copy()
        numbers[self.is_text] = [number_in(text) for text in self.texts[self.is_text].tolist()]
        return Entries(numbers, self.texts, self.is_text & np.isnan(numbers))

    def kinds_and_values(self) -> list[str]:
        """Return each entry as text that begins with its kind, for a digest: 1, 1.0 and True are one, "1" another.

        >>> entries_of([True, "1", None]).kinds_and_values()
        ['n1.0', 't1', '']
        """
        numbers = [f"n{value + 0.0!r}" for value in self.numbers.tolist()]
        return [
            f"t{text}" if is_text else "" if empty else number
            for number, text, is_text, empty in zip(
                numbers, self.texts.tolist(), self.is_text.tolist(), self.missing.tolist(), strict=True
            )
        ]


def entries_of(values: Any) -> Entries:
    """Return one column of any library as entries.

    Raises
    ------
    TypeError
        It is not one column, by its type or shape.

    Examples
    --------
    >>> entries_of([1, "x", (1, 2), 2**5000, Decimal("sNaN"), [0]]).missing.tolist()
    [False, False, True, True, True, False]
    """
    if isinstance(values, Entries):
        return values
    if isinstance(values, (list, tuple)):
        return _of_cells([_unwrapped(value) for value in values])
    if hasattr(values, "get_column") and getattr(values, "width", 0) == 1:  # a polars frame of one column
        values = values.to_series()
    if getattr(values, "num_columns", 0) == 1 and hasattr(values, "column"):  # an Arrow table of one column
        values = values.column(0)
    dtype = getattr(values, "dtype", None)
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow":  # pandas on Arrow
        values = values.array.__arrow_array__()
    return _of_array(cells_of(values))


def number_in(text: str) -> float:
    """Return the number that a text reads as; NaN if it is not a number.

    >>> number_in("1e3"), number_in("1_000"), number_in("x")
    (1000.0, nan, nan)
    """
    try:
        return float("nan" if "_" in text else text)
    except ValueError:
        return float("nan")


def _of_array(array: NDArray[Any]) -> Entries:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise TypeError("a column has one dimension")
    hidden, array = np.ma.getmaskarray(array), np.ma.getdata(array)
    if array.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return Entries(np.where(hidden, np.nan, array.astype(np.float64)), *_no_texts(len(array)))
    if hidden.any():
        array = array.astype(object)
        array[hidden] = None
    if array.dtype.kind in "OUST":
        try:
            return _of_cells(array.tolist())
        except Exception:  # a text holds a code that no letter has
            return _of_cells([_cell_or_none(array[place : place + 1].tolist) for place in range(len(array))])
    return _nothing(len(array))


def _of_cells(cells: list[Any]) -> Entries:
    numbers = np.array([_number(cell) for cell in cells], dtype=np.float64)
    texts, is_text = _no_texts(len(cells))
    for place, cell in enumerate(cells):
        # A subclass could say something else of itself, so its type is asked, and the text of its base.
        if issubclass(type(cell), str):
            texts[place], is_text[place] = str.__str__(cell), True
        elif issubclass(type(cell), bytes):
            texts[place], is_text[place] = bytes.decode(cell, "utf-8", "surrogateescape"), True
    return Entries(numbers, texts, is_text)


def _number(cell: Any) -> float:
    kind = type(cell)
    if kind in _PLAIN:
        try:
            return float(cell)
        except (OverflowError, ValueError):  # beyond every double; a signalling NaN
            return float("nan")
    # The code of a foreign type runs silently: it may print, or end the process.
    number = quietly(lambda: float(cell)) if issubclass(kind, _NUMBERS) else None
    return float("nan") if number is None else number


def _unwrapped(value: Any) -> Any:
    """Return the only item of a row of one, as of a column that is given as a list of rows."""
    return value[0] if type(value) in (list, tuple) and len(value) == 1 else value


def _cell_or_none(listed: Callable[[], list[Any]]) -> Any:
    try:
        return listed()[0]
    except Exception:
        return None


def _nothing(n: int) -> Entries:
    return Entries(np.full(n, np.nan), *_no_texts(n))


def _no_texts(n: int) -> tuple[NDArray[np.object_], NDArray[np.bool_]]:
    return np.full(n, "", dtype=object), np.zeros(n, dtype=bool)


def digest_of(key: bytes, *columns: Entries) -> str:
    """Return 32 hexadecimal digits for columns, entry by entry in their order.

    >>> from hedgerow.testset.entries import entries_of
    >>> one = digest_of(b"key", entries_of([1, 0]))
    >>> one == digest_of(b"key", entries_of([1.0, False])), one == digest_of(b"key", entries_of([0, 1]))
    (True, False)
    """
    hashed = hashlib.blake2b(key=key, digest_size=16)
    for column in columns:
        for value in column.kinds_and_values():
            text = value.encode("utf-8", "surrogatepass")
            hashed.update(len(text).to_bytes(8, "little") + text)
        hashed.update(b"\xff" * 8)
    return hashed.hexdigest()


def digest_of_file(key: bytes, path: str | Path) -> str:
    """Return 32 hexadecimal digits for the bytes of the custodian's own file; no predictions have the same ones."""
    hashed = hashlib.blake2b(key=key, digest_size=16, person=b"labels")
    with Path(path).open("rb") as file:
        while part := file.read(1 << 20):
            hashed.update(part)
    return hashed.hexdigest()
