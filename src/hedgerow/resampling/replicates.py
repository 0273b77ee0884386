"""Histogram × weights → k integer tables: an exact bootstrap whose cost does not depend on the number of records.

Poisson weights are independent from record to record, and the price of a private bootstrap rests on that
(private_bootstrap.md §2). Multinomial weights, the textbook bootstrap, make records depend on each other and have no
such price: they are for studies and reproductions.

**The number of resamples**: many enough to estimate the spread, few enough that the noise of each does not hide it.

The noise of one replicate grows with k (σ₁² = kτ² at one privacy cost), so more resamples are not better. In units of
τ² the spread estimates R' = v'/τ² with standard error (R' + k)√(2/k), least at k = R'; the width of the calibrated
interval is least near 1.5 R', and within a few per cent of that from half to twice as many (private_bootstrap.md §4).

**Records that come in batches**: for columns whose combinations of values are nearly as many as records.

Records are independent given the data, so the replicates of all of them are the sums of those of each batch, whatever
the batches are. A record's Poisson(λ) weights are drawn for a batch of m at once: N ~ Poisson(λm), then N records, each
with chance 1/m, with replacement; how often each was hit is independent from record to record and Poisson(λ), exactly
(the splitting of a Poisson process). A record that may be drawn `most` times at most counts min(r, most) times.

Sums are whole numbers throughout. What is held in memory is one batch and the sums, however many records there are.
Records that do collapse are drawn by their values, at a cost without n in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.resampling.counted_values import Histogram, Integers

DrawWeights = Callable[[Integers, int], Integers]

# Weights in hand at once: 4 million of 8 bytes. A batch more costs one call; memory stays bounded whatever k is.
_BATCH = 1 << 22
_EXACT, _WIDE = 2**53, 2**62
_PART = 10**4  # records of which NumPy's multinomial numbers are exact to 3e-11
LARGEST_MEAN = 2**22  # of a Poisson number, as the secure source draws them
_TABLE_COSTS = 1 << 14  # weights that are drawn in the time in which the table of one mean is made
_DIGITS = 11, 8

BATCH = 1 << 16
"""Records that are resampled at once: their places are drawn from 16 bits each."""
_AT_ONCE = 8  # replicates whose weights a processor keeps in its cache
_ROOM = 2**62
_LIMB = 40
_MASK = 2**_LIMB - 1


def poisson_weights(count: Integers, *, rate: float, n_resamples: int, generator: np.random.Generator) -> Integers:
    """Return, for each of k replicates and each histogram row, how many times its records were drawn.

    A sum of c independent Poisson(λ) counts is Poisson(λc), so a row of c records needs one draw, whatever c is.

    Returns
    -------
    int64 array, (n_resamples, len(count))

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> poisson_weights(np.array([1000, 0]), rate=1.0, n_resamples=2, generator=rng).shape
    (2, 2)
    """
    weights = np.zeros((n_resamples, len(count)), dtype=np.int64)
    for rows, drawn in _drawn(count, rate, n_resamples, generator):
        weights[:, rows] += drawn
    return weights


def _drawn(
    count: Integers, rate: float, n_resamples: int, generator: np.random.Generator
) -> Iterator[tuple[Integers, Integers]]:
    """Yield rows with weights of them, (n_resamples, rows), that add up to those of all their records."""
    for units, rows in _means(count, rate, n_resamples):
        mean: Any = Fraction(rate) * units
        mean = float(mean) if float(mean) == mean else mean
        size = max(1, _BATCH // max(n_resamples, 1))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            yield some, generator.poisson(mean, (n_resamples, len(some)))


def _means(count: Integers, rate: float, n_resamples: int) -> Iterator[tuple[int, Integers]]:
    """Yield numbers of records and the rows that have so many more, so that those of a row add up to its count.

    Rows of one count have one mean, and one table serves them all; different counts of n records are √(2n) at most.
    Where they are many and weights few, c = a·2¹¹ + b, say, and Poisson(λc) = Poisson(λ·a·2¹¹) + Poisson(λb): then a
    few thousand tables serve all counts.
    """
    # What is above the largest mean that can be drawn is drawn in parts of that size.
    whole = min(62, math.floor(math.log2(LARGEST_MEAN / rate)))
    above = count >> whole
    for part in range(int(above.max(initial=0))):
        yield 1 << whole, np.flatnonzero(above > part)
    rest = count & ((1 << whole) - 1)

    def cost(digits: list[Integers]) -> int:
        tables = sum(len(np.unique(values)) for values in digits)
        draws = sum(np.count_nonzero(values) for values in digits)
        return tables * _TABLE_COSTS + int(draws) * n_resamples

    for digit in min((_digits(rest, bits) for bits in (whole, *_DIGITS)), key=cost):
        order = np.argsort(digit, kind="stable")
        units, starts = np.unique(digit[order], return_index=True)
        ends = [*starts.tolist(), len(order)]
        for unit, start, stop in zip(units.tolist(), ends[:-1], ends[1:], strict=True):
            if unit:
                yield unit, order[start:stop]


def _digits(numbers: Integers, bits: int) -> list[Integers]:
    """Return numbers that add up to these: what is below 2^bits, multiples of that below its square, and so on."""
    digits, left, shift = list[Integers](), numbers, 0
    while not digits or left.any():
        digits.append((left & ((1 << bits) - 1)) << shift)
        left, shift = left >> bits, shift + bits
    return digits


def capped_law(rate: float, most: int) -> NDArray[np.float64]:
    """Return the chances that min(r, most) is 0, …, most, for r ~ Poisson(rate).

    >>> capped_law(1.0, 1).round(3).tolist()
    [0.368, 0.632]
    """
    from hedgerow.special import gammaincc

    # P(r ≤ i) is the regularised upper incomplete gamma function.
    below = gammaincc(np.arange(1.0, most + 1.0), rate)
    return np.asarray(np.diff(below, prepend=0.0, append=1.0))


def capped_weights(
    count: NDArray[np.int64], *, chances: NDArray[np.float64], n_resamples: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many times the records of each histogram row were drawn, each of them i times with chance i.

    Returns
    -------
    int64 array, (n_resamples, len(count))

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> capped_weights(np.array([9, 0]), chances=np.array([0.0, 1.0]), n_resamples=2, generator=rng).tolist()
    [[9, 0], [9, 0]]
    """
    drawn, times = np.zeros((n_resamples, len(count)), dtype=np.int64), np.arange(len(chances))
    # The larger NumPy's numbers are, the less exact, so many records are drawn in parts.
    for part in range(int(count.max(initial=-1)) // _PART + 1):
        pieces = np.clip(count - part * _PART, 0, _PART)
        rows = np.flatnonzero(pieces)
        drawn[:, rows] += generator.multinomial(pieces[rows], chances, size=(n_resamples, len(rows))) @ times
    return drawn


def multinomial_weights(
    count: NDArray[np.int64], *, n_resamples: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return textbook bootstrap counts, each replicate a draw of n records with replacement; never certified.

    Returns
    -------
    int64 array, (n_resamples, len(count)), each row adding up to n
    """
    n = int(count.sum())
    if n == 0:
        return np.zeros((n_resamples, len(count)), dtype=np.int64)
    return generator.multinomial(n, count / n, size=n_resamples).astype(np.int64)


def poisson_replicates(
    histogram: Histogram,
    features: Integers,
    *,
    n_resamples: int,
    rate: float,
    generator: np.random.Generator,
) -> Integers:
    """Return Σ_j r_bj y_j for each cell, feature and replicate, with r_bj ~ Poisson(rate) of each record j.

    Records of one histogram row are exchangeable and a sum of c Poisson(λ) counts is Poisson(λc), so a replicate is
    Σ_v y_v · Poisson(λ c_v), exactly (private_bootstrap.md §1). All features of a record share its weight.

    Parameters
    ----------
    histogram : Histogram
    features : int64 array, (rows of the histogram, features)
    n_resamples, rate, generator
        k, λ, and the source of chance.

    Returns
    -------
    int64 array, (cells, features, n_resamples); Python integers where 64 bits could overflow

    Examples
    --------
    >>> h = Histogram.from_triplets(np.array([0, 0]), np.array([0, 1]), np.array([500, 500]), cells=1)
    >>> sums = poisson_replicates(
    ...     h, np.array([[-1], [1]]), n_resamples=3, rate=1.0, generator=np.random.default_rng(0))
    >>> sums.shape
    (1, 1, 3)
    """
    sums = _Sums(histogram, features, n_resamples)
    for rows, weights in _drawn(histogram.count, rate, n_resamples, generator):
        sums.add(rows, weights, slice(None))
    return sums.value


def replicate_sums(histogram: Histogram, features: Integers, *, n_resamples: int, draw: DrawWeights) -> Integers:
    """Return weighted sums of integer features in batches of replicates, given how weights of the rows are drawn."""
    rows, sums = np.arange(len(features)), _Sums(histogram, features, n_resamples)
    batch = max(1, _BATCH // max(len(rows), 1))
    for start in range(0, n_resamples, batch):
        size = min(batch, n_resamples - start)
        sums.add(rows, draw(histogram.count, size), slice(start, start + size))
    return sums.value


class _Sums:
    """Exact sums (cells, features, replicates), to which weighted rows are added."""

    def __init__(self, histogram: Histogram, features: Integers, n_resamples: int) -> None:
        self._cell, self._features = histogram.cell, features
        self.value: NDArray[Any] = np.zeros((histogram.cells, features.shape[1], n_resamples), dtype=np.int64)
        self._most = 0  # no sum is beyond it

    def add(self, rows: Integers, weights: Integers, replicates: slice) -> None:
        """Add some rows, in order, with their weights in some replicates."""
        features, cells = self._features[rows], self._cell[rows]
        most = int(np.abs(features).max(initial=0)) * int(weights.sum(axis=1).max(initial=0))
        self._most += most
        if self._most >= _WIDE and self.value.dtype != object:
            self.value = self.value.astype(object)
        # Where every partial sum is an integer below 2^53, products of doubles in any order are exact, and fast.
        exact = most < _EXACT
        features, weights = (part.astype(np.float64 if exact else object) for part in (features, weights))
        # Rows are sorted by cell, so each cell is one block of columns.
        ends = [*np.flatnonzero(np.diff(cells, prepend=-1)).tolist(), len(cells)]
        for start, stop in pairwise(ends):
            added = (weights[:, start:stop] @ features[start:stop]).T
            added = np.rint(added).astype(np.int64) if exact else added.astype(self.value.dtype)
            self.value[cells[start], :, replicates] += added


# The numbers of resamples whose critical curves are shipped; a choice is rounded to one of them.
LADDER = (5, 7, 10, 14, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000)
FEWEST, MOST = 10, 300
# With a private n the spread cannot be guessed from public facts; 50 loses least over R' from 1 to 300.
UNKNOWN_N = 50


def choose_n_resamples(
    *, n: float | None, value_range: float, privacy_variance: float, spread: float | None = None
) -> int:
    """Return the k of the ladder nearest 1.5 v'/τ², kept within [10, 300], from public facts only.

    Parameters
    ----------
    n : float or None
        The number of records where it is public; None where it is private, and then k is 50.
    value_range : float
        U − L, the declared range.
    privacy_variance : float
        τ², the noise variance of the estimate itself (of m*, not of one replicate), in squared units of the estimate.
    spread : float or None
        A guess, made without the data, of the root mean square distance of a value from the centre (L + U)/2; None
        takes the largest possible, (U − L)/2. v' = spread²/n.

    Raises
    ------
    ParameterError
        HG123: a number that is not positive, or a spread above (U − L)/2.

    Examples
    --------
    >>> choose_n_resamples(n=5000, value_range=1.0, privacy_variance=(1 / 500) ** 2)
    20
    >>> choose_n_resamples(n=10**6, value_range=100.0, privacy_variance=1e-8)
    300
    """
    given = [number for number in (n, value_range, privacy_variance, spread) if number is not None]
    if not all(0 < number < math.inf for number in given) or (spread is not None and spread > value_range / 2):
        raise ParameterError(
            "HG123",
            rule="`n`, `value_range`, `privacy_variance` and `spread` must be positive and finite, and `spread` "
            "at most half the range.",
            finding=f"Found n={format_argument(n)}, value_range={format_argument(value_range)}, "
            f"privacy_variance={format_argument(privacy_variance)}, spread={format_argument(spread)}.",
            remedy="Leave `spread` out to use the largest possible spread.",
        )
    if n is None:
        return UNKNOWN_N
    largest = (value_range / 2 if spread is None else spread) ** 2 / n
    wanted = min(max(1.5 * largest / privacy_variance, FEWEST), MOST)
    return min(LADDER, key=lambda rung: abs(math.log(rung / wanted)))


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
