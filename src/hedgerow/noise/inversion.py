r"""Many exact integers at once: inversion of a table of doubles, settled in exact arithmetic where doubles cannot tell.

P(Z = z) ∝ e^−E(|z|), E(m) = m/w for two-sided geometric noise and m²/2w² for discrete Gaussian noise. With K the least
power of two that is no less than w/64, one number is drawn as follows.

1. h ≥ 0 with weight e^−E(Kh), by inversion: h = j where T_{j−1} ≤ U < T_j, U uniform in [0, 1) and T the cumulated
   weights over their sum.
2. l uniform in 0 … K − 1; m = Kh + l is kept where V < e^−(E(m) − E(Kh)), V uniform in [0, 1).
3. A sign: −0 is thrown away. What is thrown away begins again at 1.

So m has weight e^−E(Kh)·(1/K)·e^−(E(m) − E(Kh)) ∝ e^−E(m), and Z has its law: nothing is approximate as long as every
comparison of U or V with a real number is decided as it is for infinitely many bits. Of each the first 64 bits, u, are
drawn. A threshold is known as a double t that is off by less than 2^−40 (below). Where |u − 2^64·t| > 2^25 all numbers
that begin with u lie on one side of it. Otherwise the threshold is enclosed in decimal arithmetic, whose exponential is
correctly rounded, with more digits, and more bits of U are drawn, until all numbers that begin with them lie on one
side. The bits drawn already are kept, so U stays uniform. That happens once in some 10⁸ numbers.

How far a double is off: E ≤ 50 in a table, to 4 roundings of 2^−53, and the exponential of a double is off by less than
2^−50 of itself, so a weight is by 2^−45; sums of n ≤ 3,300 weights add 2n·2^−53 < 2^−40.2 at the worst, the weights
left out 2^−62. A test encloses every threshold of tables of many widths, and finds them off by 2^−46 at most.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Words = Callable[[int], NDArray[np.uint64]]
Integers = NDArray[np.int64]
Found = TypeVar("Found", int, bool)
_BATCH = 1 << 16
_BITS = 64
_UNSURE = np.uint64(1 << 25)
_TOP = np.uint64(2**64 - 2048)  # the largest double below 2⁶⁴
_FINEST = 64  # widths in steps of K
_LAST = 50.0  # the largest E of a table: weights beyond add up to less than 2^−62 of all


def entropy(count: int) -> NDArray[np.uint64]:
    """Return so many words of 64 bits of the operating system's entropy."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Inversion:
    """One law of noise: P(Z = z) ∝ exp(−(|z|/width)^power/power).

    >>> Inversion(1, 3.0).draw(4).dtype
    dtype('int64')
    """

    power: Literal[1, 2]
    width: float

    def draw(self, size: int, words: Words = entropy) -> Integers:
        """Return `size` independent integers of exactly this law."""
        batches, missing = [np.zeros(0, np.int64)], size
        while missing:
            # Nearly all are kept, but for a −0 of narrow noise.
            batches.append(self._batch(min(_BATCH, missing + missing // 16 + 16), words)[:missing])
            missing -= len(batches[-1])
        return np.concatenate(batches)

    @property
    def step(self) -> int:
        """K."""
        return 1 << max(0, math.ceil(math.log2(self.width / _FINEST)))

    def exponent(self, magnitude: int) -> Fraction:
        """Return E(m)."""
        return (magnitude / Fraction(self.width)) ** self.power / self.power

    def _batch(self, size: int, words: Words) -> Integers:
        first, second = words(size), words(size)
        step, magnitude = self.step, self._coarse(first, words)
        keep = np.ones(size, dtype=bool)
        if step > 1:
            part = (second & np.uint64(step - 1)).astype(np.int64)
            keep = self._stays(magnitude, part, words)
            magnitude = magnitude * step + part
        negative = second >> np.uint64(_BITS - 1) == 1
        keep &= ~(negative & (magnitude == 0))
        return np.where(negative, -magnitude, magnitude)[keep]

    def _coarse(self, u: NDArray[np.uint64], words: Words) -> Integers:
        ends = thresholds(self)
        place = np.searchsorted(ends, u, side="right")
        above = ends.take(place, mode="clip") - u  # past the last end this wraps, but `beyond` says so
        below = u - ends.take(place - 1, mode="clip")  # before the first end it wraps, to a large number
        beyond = place == len(ends)
        unsure = np.flatnonzero((above <= _UNSURE) | (below <= _UNSURE) | beyond)
        numbers = place.astype(np.int64)
        for index in unsure.tolist():
            numbers[index] = settled(int(u[index]), self._place, words)
        return numbers

    def _stays(self, coarse: Integers, part: Integers, words: Words) -> NDArray[np.bool_]:
        v, step = words(len(coarse)), self.step
        moved, scaled = part / self.width, coarse * (step / self.width)
        added = moved if self.power == 1 else moved * (scaled + moved / 2.0)
        chance = np.minimum(np.exp(-added) * 2.0**_BITS, float(_TOP)).astype(np.uint64)
        stays = v < chance
        distance = np.where(stays, chance - v, v - chance)
        for index in np.flatnonzero(distance <= _UNSURE).tolist():
            start = step * int(coarse[index])
            exponent = self.exponent(start + int(part[index])) - self.exponent(start)
            stays[index] = settled(int(v[index]), partial(below_exp, exponent), words)
        return stays

    def _place(self, known: int, bits: int) -> int | None:
        """Return j with T_{j−1} ≤ U < T_j for all U that begin with these bits; None where they do not decide it."""
        context = context_of(bits)
        weights, least = list[Decimal](), Decimal((0, (1,), -context.prec))
        while not weights or weights[-1] > least:
            weights.append(_exp(self.exponent(self.step * len(weights)), context))
        sums, slack = list(accumulate(weights, context.add)), slack_of(context)
        low, high = bits_between(known, bits, context)
        ends = (context.divide(left, sums[-1]) for left in sums)
        # The last end is 1, above every U: there is a first end that does not lie below all numbers.
        place, end = next((j, end) for j, end in enumerate(ends) if low < context.add(end, slack))
        return place if high <= context.subtract(end, slack) else None


@lru_cache(maxsize=256)
def thresholds(law: Inversion) -> NDArray[np.uint64]:
    """Return ⌊2⁶⁴ T_j⌋ as doubles tell it, j = 0, 1, … up to weights that do not matter."""
    most = _LAST * law.width if law.power == 1 else math.sqrt(2.0 * _LAST) * law.width
    scaled = np.arange(int(most / law.step) + 1) * (law.step / law.width)
    sums = np.cumsum(np.exp(-(scaled**law.power) / law.power))
    ends: NDArray[np.uint64] = np.minimum(sums / sums[-1] * 2.0**_BITS, float(_TOP)).astype(np.uint64)
    ends.flags.writeable = False
    return ends


def settled(first: int, decided: Callable[[int, int], Found | None], words: Words) -> Found:
    """Return what is decided of a uniform number by its first 64 bits, and as many more as that takes."""
    known, bits = first, _BITS
    while True:
        answer = decided(known, bits)
        if answer is not None:
            return answer
        known, bits = (known << _BITS) | int(words(1)[0]), bits + _BITS


def below_exp(exponent: Fraction, known: int, bits: int) -> bool | None:
    """Return whether U < e^−x for all U that begin with these bits; None where they do not decide it."""
    if exponent == 0:
        return True
    context = context_of(bits)
    chance, slack = _exp(exponent, context), slack_of(context)
    low, high = bits_between(known, bits, context)
    if high <= context.subtract(chance, slack):
        return True
    return False if low >= context.add(chance, slack) else None


def context_of(bits: int) -> Context:
    """Return decimal arithmetic in which numbers known to so many bits are compared."""
    return Context(prec=math.ceil(bits * 0.302) + 24, Emin=-(10**9), Emax=10**9)


def slack_of(context: Context) -> Decimal:
    """Return more than what roundings of a few thousand numbers in this context may add up to."""
    return Decimal((0, (1,), 14 - context.prec))


def _exp(exponent: Fraction, context: Context) -> Decimal:
    return context.exp(context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))


def bits_between(known: int, bits: int, context: Context) -> tuple[Decimal, Decimal]:
    """Return between which numbers all those lie that begin with these bits."""
    whole = Decimal(1 << bits)
    return context.divide(Decimal(known), whole), context.divide(Decimal(known + 1), whole)
