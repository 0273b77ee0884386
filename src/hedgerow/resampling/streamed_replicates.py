"""Replicates of records that come in batches: for columns whose combinations of values are nearly as many as records.

Records are independent given the data, so the replicates of all of them are the sums of those of each batch, whatever
the batches are. A record's Poisson(λ) weights are drawn for a batch of m at once: N ~ Poisson(λm), then N records, each
with chance 1/m, with replacement; how often each was hit is independent from record to record and Poisson(λ), exactly
(the splitting of a Poisson process). A record that may be drawn `most` times at most counts min(r, most) times.

Sums are whole numbers throughout. What is held in memory is one batch and the sums, however many records there are.
Records that do collapse are drawn by their values, in `hedgerow.resampling.replicates`, at a cost without n in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.resampling.counted_values import Histogram, Integers
from hedgerow.resampling.replicates import poisson_weights, replicate_sums

BATCH = 1 << 16
"""Records that are resampled at once: their places are drawn from 16 bits each."""
_AT_ONCE = 8  # replicates whose weights a processor keeps in its cache
_ROOM = 2**62
_LIMB = 40
_MASK = 2**_LIMB - 1


class Chance(Protocol):
    """Where weights come from: a `NoiseSource`."""

    @property
    def secure(self) -> bool:
        """Whether each generator is keyed by the operating system."""
        ...

    def generator(self) -> np.random.Generator:
        """Return a generator."""
        ...


def record_weights(
    records: int, *, rate: float, n_resamples: int, generator: np.random.Generator, most: int | None = None
) -> Integers:
    """Return how often each of at most 2¹⁶ records is drawn: independent Poisson(rate) numbers, cut at `most`.

    Returns
    -------
    int64 array, (n_resamples, records)

    Examples
    --------
    >>> drawn = record_weights(1000, rate=1.0, n_resamples=3, generator=np.random.default_rng(1), most=2)
    >>> drawn.shape, int(drawn.max())
    ((3, 1000), 2)
    """
    weights = np.zeros((n_resamples, records), dtype=np.int64)
    hits = poisson_weights(np.array([records]), rate=rate, n_resamples=n_resamples, generator=generator)[:, 0]
    for row, number in zip(weights, hits.tolist(), strict=True):
        places = generator.integers(0, max(records, 1), number, dtype=np.uint16)
        # Made wide first: `bincount` checks and casts shorter integers in three times the time.
        row[:] = np.bincount(places.astype(np.intp), minlength=records)
    return weights if most is None else np.minimum(weights, most)


class ExactTotal:
    """The sum of arrays of whole numbers of 64 bits, or of Python's; no sum wraps around.

    >>> total = ExactTotal((1,))
    >>> for _ in range(3):
    ...     total.add(np.array([2**62 - 1]))
    >>> total.value().tolist() == [3 * (2**62 - 1)]
    True
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._recent = np.zeros(shape, dtype=np.int64)
        self._largest = 0
        self._whole: NDArray[Any] | None = None

    def add(self, part: NDArray[Any]) -> None:
        """Add an array."""
        largest = max(int(part.max(initial=0)), -int(part.min(initial=0)))
        if self._largest + largest >= _ROOM:
            self._whole, self._recent = self.value().astype(object), np.zeros_like(self._recent)
            self._largest = 0
        if largest < _ROOM:
            self._recent += part.astype(np.int64)
            self._largest += largest
        else:
            self._whole = self.value().astype(object) + part.astype(object)
            self._recent, self._largest = np.zeros_like(self._recent), 0

    def value(self) -> NDArray[Any]:
        """Return the sum: of 64 bits, or of Python's integers where it may not fit."""
        return self._recent.copy() if self._whole is None else self._whole + self._recent


@dataclass(frozen=True, slots=True)
class StreamedReplicates:
    """What is added up of each record, how often, and where chance comes from; `tally` begins an empty sum.

    Attributes
    ----------
    cells, size : int
        The cells of a table, and how many indices a record's value may have: its key is cell·(size + 1) + index + 1,
        with cell −1 outside every cell and index −1 where the value is missing.
    features : callable
        Indices → integers, (records, features), each of its own record's index alone.
    reaches : tuple of int
        What the integers of each feature are clamped to, which is what was priced.
    n_resamples, rate, most
        k; λ; and how often a record is drawn at most.
    chance : NoiseSource
        Asked for a generator once a tally.
    filled : int or None
        The index of a missing value; None leaves its record out.
    """

    cells: int
    size: int
    features: Callable[[Integers], Integers] = field(repr=False)
    reaches: tuple[int, ...]
    n_resamples: int
    rate: float
    chance: Chance = field(repr=False)
    most: int | None = None
    filled: int | None = None

    def tally(self, part: int | None = None) -> Tally:
        """Return an empty sum, of all records or of a numbered part that another process reads.

        A secure source is asked there, for a generator keyed by that machine's operating system. A seeded one would
        give every part the same draws, so that of each part starts elsewhere in its sequence.
        """
        generator = self.chance.generator()
        if part is not None and not self.chance.secure:
            bits: Any = generator.bit_generator
            generator = np.random.Generator(bits.jumped(part + 1))
        return Tally(self, generator)


class Tally:
    """Exact sums by cell, feature and replicate of the records taken so far.

    Each record counts as often as it is taken, with weights of its own each time: so each must be taken once.

    >>> asked = StreamedReplicates(1, 2, lambda index: 2 * index[:, None] - 1, (1,), 4, 1.0, _Seeded(1))
    >>> tally = asked.tally()
    >>> tally.take(np.array([1, 2, 0, 2]))
    >>> tally.sums.value().shape, tally.total(), tally.missing.tolist()
    ((1, 1, 4), 4, [1])
    """

    def __init__(self, asked: StreamedReplicates, generator: np.random.Generator) -> None:
        self._asked, self._generator = asked, generator
        self.sums = ExactTotal((asked.cells, len(asked.reaches), asked.n_resamples))
        self.missing = np.zeros(asked.cells, dtype=np.int64)
        self.outside = self.records = 0

    def take(self, keys: Integers) -> None:
        """Draw the weights of these records and add them up, `BATCH` at a time."""
        # Once at least: which lines run does not depend on whether there is a record.
        for start in range(0, max(len(keys), 1), BATCH):
            self._take(keys[start : start + BATCH])

    def _take(self, keys: Integers) -> None:
        asked = self._asked
        cell, index = np.divmod(keys, asked.size + 1)
        index = index - 1
        if asked.filled is not None:
            index = np.where(index < 0, asked.filled, index)
        inside, there = cell >= 0, index >= 0
        self.records += len(keys)
        self.outside += int(np.count_nonzero(~inside))
        self.missing += np.bincount(cell[inside & ~there], minlength=asked.cells)
        cell, index = cell[inside & there], index[inside & there]
        order = np.argsort(cell, kind="stable") if asked.cells > 1 else slice(None)
        cell, index = cell[order], index[order]
        ones, reaches = np.ones_like(cell), np.array(asked.reaches)
        rows = Histogram(cell, index, ones, np.zeros(asked.cells, dtype=np.int64), 0)
        features = np.clip(asked.features(index), -reaches, reaches)
        k = asked.n_resamples
        parts = [
            replicate_sums(rows, features, n_resamples=min(_AT_ONCE, k - first), draw=self._draw)
            for first in range(0, k, _AT_ONCE)
        ]
        self.sums.add(np.concatenate(parts, axis=2))

    def _draw(self, count: Integers, size: int) -> Integers:
        asked = self._asked
        return record_weights(len(count), rate=asked.rate, n_resamples=size, generator=self._generator, most=asked.most)

    def total(self) -> int:
        """Return the number of records taken, whatever became of them."""
        return self.records

    def packed(self) -> dict[str, list[int]]:
        """Return all of it in integers of 64 bits, each sum in two: one above 2⁴⁰ and the rest."""
        sums = self.sums.value().ravel()
        high, low = sums >> _LIMB, sums & _MASK
        others = [*self.missing.tolist(), self.outside, self.records]
        return {"high": [int(number) for number in high], "low": [int(number) for number in low], "others": others}

    def absorb(self, high: Integers, low: Integers, others: Integers) -> None:
        """Add what another process took of other records, as it packed it."""
        shape = self._asked.cells, len(self._asked.reaches), self._asked.n_resamples
        self.sums.add((high.astype(object) * 2**_LIMB + low.astype(object)).reshape(shape))
        self.missing += others[: self._asked.cells]
        self.outside += int(others[-2])
        self.records += int(others[-1])


@dataclass(frozen=True)
class _Seeded:
    seed: int
    secure: bool = False

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)
