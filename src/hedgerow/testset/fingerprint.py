"""A fingerprint of a test set that survives restarts, another order of rows, and other names of file and columns.

Every cell becomes 64 bits: numbers by their value as a double, so that 1, 1.0 and True are one; texts by a hash; what
is missing by a bit pattern of its own. A row's cells are mixed in the order of columns, rows are added up modulo 2⁶⁴
in two independent lanes, and the sums are hashed. So the order of rows does not matter. Columns are put in the order of
their own order-free sums first, so that theirs does not either, except between columns that hold the same values
equally often.

**It is keyed.** A plain hash of data is an oracle: whoever knows all rows but one could try values of the last until
the hash fits. The key is random, as secret as the test set, and lies in a file beside the ledger
(``ts.ledger.secret``), not in it. Without the key the fingerprint is a random number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OrderedRows", "digest_of_predictions", "fingerprint", "row_marks"]

Words = NDArray[np.uint64]
_GOLDEN = 0x9E3779B97F4A7C15
_MISSING = np.uint64(0x7FF8DEADBEEF0001)
_LANES = (0x243F6A8885A308D3, 0x13198A2E03707344)  # digits of π


def fingerprint(columns: Sequence[NDArray[Any]], key: bytes) -> str:
    """Return 32 hexadecimal digits for the multiset of rows of `columns`; the last column is the label.

    Examples
    --------
    >>> x, y = np.array([1.5, 2.5, 2.5]), np.array(["a", "b", "b"])
    >>> one = fingerprint([x, y], b"key")
    >>> one == fingerprint([x[::-1], y[::-1]], b"key"), one == fingerprint([x[::-1], y], b"key")
    (True, False)
    >>> one == fingerprint([x, y], b"other key")
    False
    """
    n = len(columns[-1])
    sums = [int(lane.sum(dtype=np.uint64)) for lane in (row_marks(columns, key, lane) for lane in _LANES)]
    return hashlib.blake2b(f"{n}:{sums}:{len(columns)}".encode(), key=key, digest_size=16).hexdigest()


def row_marks(columns: Sequence[NDArray[Any]], key: bytes, lane: int = _LANES[0]) -> Words:
    """Return 64 keyed bits for each row.

    >>> row_marks([np.array([1, 2]), np.array([0, 0])], b"key").shape
    (2,)
    """
    start = int.from_bytes(hashlib.blake2b(lane.to_bytes(8, "little"), key=key, digest_size=8).digest(), "little")
    words = [_words(column) for column in columns]
    features = sorted(words[:-1], key=lambda column: int(_mixed(column ^ np.uint64(start)).sum(dtype=np.uint64)))
    marks = np.full(len(words[-1]), start, dtype=np.uint64)
    for place, column in enumerate([*features, words[-1]]):
        turn = np.uint64((start * (2 * place + 3) + _GOLDEN) % 2**64)
        marks = _mixed((marks ^ column) + turn)
    return marks


@dataclass(frozen=True, slots=True, eq=False)
class OrderedRows:
    """Rows in the order of their marks, equal ones as they were given, and a keyed digest of them: computed once."""

    order: NDArray[np.int64]
    digest: bytes

    @classmethod
    def of(cls, marks: Words, key: bytes) -> OrderedRows:
        """Sort the rows."""
        order = np.argsort(marks, kind="stable")
        return cls(order, hashlib.blake2b(marks[order].astype("<u8").tobytes(), key=key, digest_size=16).digest())


def digest_of_predictions(rows: OrderedRows, predictions: NDArray[Any], key: bytes) -> str:
    """Return 32 keyed hexadecimal digits for what each row is predicted to be, whatever the order of different rows.

    Among EQUAL rows the order counts. Were it left out, the digest would stay the same where two equal rows exchange
    their predictions, and whoever chooses predictions would learn, without taking a look, which records are equal:
    where labels alone are kept, every label but for its name.

    >>> marks, predicted = row_marks([np.array([1, 2, 2])], b"key"), np.array([0, 1, 0])
    >>> rows, turned = OrderedRows.of(marks, b"key"), OrderedRows.of(marks[[1, 2, 0]], b"key")
    >>> told = digest_of_predictions(rows, predicted, b"key")
    >>> told == digest_of_predictions(turned, predicted[[1, 2, 0]].astype(float), b"key")
    True
    >>> told == digest_of_predictions(rows, predicted[[0, 2, 1]], b"key")
    False
    """
    hashed = hashlib.blake2b(rows.digest, key=key, digest_size=16)
    hashed.update(_words(predictions)[rows.order].astype("<u8", copy=False).data)
    return hashed.hexdigest()


def _mixed(words: Words) -> Words:
    """Return the finaliser of SplitMix64, word by word: a bijection that spreads every bit."""
    z = words + np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


def _words(column: NDArray[Any]) -> Words:
    """Return 64 bits for each cell."""
    if column.dtype.kind in "biuf":
        return _of_numbers(column)
    values, inverse = np.unique(np.array([_told(cell) for cell in column.tolist()]), return_inverse=True)
    return np.asarray([_of_text(value) for value in values.tolist()], dtype=np.uint64)[inverse.ravel()]


def _of_numbers(column: NDArray[Any]) -> Words:
    numbers = column.astype(np.float64)
    if column.dtype.kind != "f":
        return numbers.view(np.uint64)
    numbers += 0.0  # −0 becomes 0
    return np.where(np.isnan(numbers), _MISSING, numbers.view(np.uint64))


def _told(cell: Any) -> str:
    """Return a cell as text that begins with its kind, so that "1" and 1 stay apart."""
    if cell is None or cell != cell:  # NaN is not itself
        return "missing"
    if isinstance(cell, (bool, int, float)):
        return f"number {float(cell)!r}"
    return f"text {cell}"


def _of_text(told: str) -> int:
    if told == "missing":
        return int(_MISSING)
    if told.startswith("number "):
        return int((np.array([float(told[7:])]) + 0.0).view(np.uint64)[0])
    return int.from_bytes(hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
