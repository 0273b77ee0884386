"""Words of random bits that are written in advance, and those beside a threshold of a law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

WORD = 2**64


def scripted(*words: int) -> Callable[[int], NDArray[np.uint64]]:
    """Return a source of these words, in order."""
    left = list(words)

    def next_words(count: int) -> NDArray[np.uint64]:
        return np.array([left.pop(0) for _ in range(count)], dtype=np.uint64)

    return next_words


def beside(end: Fraction, place: int) -> list[tuple[int, list[int], int]]:
    """Return (a word, the words that are asked for after it, the place they tell) around the end of a place."""
    cell, rest = divmod(end * WORD, 1)
    following = int(rest * WORD)
    return [
        (int(cell), [following - 1], place),
        (int(cell), [following + 1], place + 1),
        (int(cell) - 1, [], place),
        (int(cell) + 1, [], place + 1),
    ]
