"""Noise for releases: exact discrete samplers and the operating system's entropy; it takes no seed.

The only door to OpenDP and to the generator behind released resampling. OpenDP's submodules are imported, not its
prelude, which drags in data-frame libraries where they are installed.

Up to `MANY` numbers are drawn by ``make_gaussian`` and ``make_laplace`` on 64-bit integers, both ``contrib``
constructors of OpenDP (not all of their proofs are vetted). They draw from OpenSSL's generator, which mixes in the
process id, so a forked child does not repeat its parent; a test holds that. More numbers, of the same law, are drawn by
`hedgerow.noise.inversion` from the operating system: OpenDP takes 5 to 9 µs for each, that .1 µs. Weights of a
bootstrap come from `hedgerow.noise.secure`.

Many Poisson numbers of one mean at once: inversion of a table of doubles, settled in exact arithmetic.

A number is j where T_{j−1} ≤ U < T_j, U uniform in [0, 1) and T_j = P(Z ≤ j). It has the law exactly as long as every
comparison of U with a threshold is decided as it is for infinitely many bits of U, as in `inversion`. Here U is drawn
in three parts. Of its first 16 bits a guide tells the number, unless a threshold lies among the numbers that begin with
them. Then 48 bits more are drawn, and the table of doubles decides. Where U is nearer to a threshold than 2^−34, which
happens at most once in 200,000 numbers of the widest law and far more rarely in others, all thresholds are enclosed in
decimal arithmetic, and bits are drawn until they decide.

How far a double is off: weights are products, outward from the mode M, of μ/j or j/μ, each off by 3·2^−53 of itself
with what rounds μ. No more than 22,000 are multiplied (μ ≤ 2^22), so a weight is off by 2^−36.9 of itself. Sums of at
most 44,000 of them add 2^−37.5, the weights left out, below e^−50 of the largest, 2^−50. The quotient of two such sums
is off by less than 2^−35. A test encloses the thresholds of tables of many means, and finds them off by 2^−44 at most.

Larger means are sums of smaller ones: `replicates` splits them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.noise.inversion import Integers, Inversion, Words, bits_between, context_of, entropy, settled, slack_of
from hedgerow.noise.lattice import require_drawable

LARGEST_MEAN = 2**22
_BATCH = 1 << 16
_LAST = 50.0  # weights below e^−50 of the largest are left out
_GUIDED = 16  # bits that the guide reads
_UNSURE = np.uint64(1 << 30)
_TOP = np.uint64(2**64 - 2048)  # the largest double below 2⁶⁴


@dataclass(frozen=True, slots=True)
class Poisson:
    """The Poisson law of one mean, a fraction that is taken as it is.

    >>> Poisson(Fraction(0)).draw(3).tolist()
    [0, 0, 0]
    """

    mean: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.mean <= LARGEST_MEAN:
            raise ParameterError(
                "HG406",
                rule=f"Poisson numbers are drawn with a mean from 0 to {LARGEST_MEAN:,}.",
                finding=f"Found {format_argument(float(self.mean))}.",
            )

    def draw(self, size: int, words: Words = entropy) -> Integers:
        """Return `size` independent integers of exactly this law."""
        counts = np.zeros(size, dtype=np.int64)
        if self.mean == 0:
            return counts
        # A guide pays where it is read more often than it has entries.
        bits = min(_GUIDED, max(8, size.bit_length()))
        guide, shift = _guide(self, bits), np.uint16(_GUIDED - bits)
        for start in range(0, size, _BATCH):
            count = min(_BATCH, size - start)
            first = words(-(-count // 4)).view(np.uint16)[:count]
            numbers = guide.take(first >> shift if shift else first, mode="clip")
            left = np.flatnonzero(numbers < 0)
            if len(left):
                numbers[left] = self._looked_up(first[left], words)
            counts[start : start + count] = numbers
        return counts

    def _looked_up(self, first: NDArray[np.uint16], words: Words) -> Integers:
        """Return the numbers of uniform ones that begin with these 16 bits."""
        low, ends = thresholds(self)
        u = (first.astype(np.uint64) << np.uint64(64 - _GUIDED)) | (words(len(first)) >> np.uint64(_GUIDED))
        place = np.searchsorted(ends, u, side="right")
        numbers = low + place.astype(np.int64)
        above = ends.take(place, mode="clip") - u  # past the last end this wraps, which the third condition says
        below = u - ends.take(place - 1, mode="clip")  # before the first it wraps, to a large number
        near = (above <= _UNSURE) | (below <= _UNSURE) | (place == len(ends)) | (u <= _UNSURE)
        for index in np.flatnonzero(near).tolist():
            numbers[index] = settled(int(u[index]), self._number, words)
        return numbers

    def _number(self, known: int, bits: int) -> int | None:
        """Return j with T_{j−1} ≤ U < T_j for all U that begin with these bits; None where they do not decide it."""
        context = context_of(bits)
        low, weights = self._weights(context)
        sums, slack = list(accumulate(weights, context.add)), slack_of(context)
        least, most = bits_between(known, bits, context)
        ends = (context.divide(left, sums[-1]) for left in sums)
        # The last end is 1, above every U: there is a first end that does not lie below all numbers.
        place, end = next((j, end) for j, end in enumerate(ends) if least < context.add(end, slack))
        # Below the first end lie numbers that were left out, unless it is that of 0.
        within = most <= context.subtract(end, slack) and (place > 0 or low == 0 or least > slack)
        return low + place if within else None

    def _weights(self, context: Context) -> tuple[int, list[Decimal]]:
        """Return the first number and all weights, over that of the mode, that count for as many digits."""
        mode, least = math.floor(self.mean), Decimal((0, (1,), -context.prec))
        top, bottom = self.mean.numerator, self.mean.denominator
        upward, downward, j = [Decimal(1)], [Decimal(1)], mode
        while upward[-1] > least:
            j += 1
            upward.append(context.multiply(upward[-1], context.divide(Decimal(top), Decimal(bottom * j))))
        j = mode
        while downward[-1] > least and j > 0:
            downward.append(context.multiply(downward[-1], context.divide(Decimal(bottom * j), Decimal(top))))
            j -= 1
        return j, downward[:0:-1] + upward


@lru_cache(maxsize=64)
def thresholds(law: Poisson) -> tuple[int, NDArray[np.uint64]]:
    """Return the first number of a table, and ⌊2⁶⁴ T_j⌋ from it on as doubles tell it.

    >>> low, ends = thresholds(Poisson(Fraction(1)))
    >>> low, [round(float(end) / 2**64, 3) for end in ends[:3]]
    (0, [0.368, 0.736, 0.92])
    """
    mean, mode = float(law.mean), math.floor(law.mean)
    # P(M ± d) < P(M)·e^−50: below by d²/2μ > 50, above by d²/2(μ + d/3) > 50, with room for d ± 1 about the mode.
    below = min(mode, math.ceil(math.sqrt(2.0 * _LAST * mean)) + 2)
    above = math.ceil(math.sqrt(2.0 * _LAST * mean + (_LAST / 3.0) ** 2) + _LAST / 3.0) + 3
    down = np.cumprod(np.arange(mode, mode - below, -1.0) / mean)
    up = np.cumprod(mean / np.arange(mode + 1.0, mode + above + 1.0))
    sums = np.cumsum(np.concatenate([down[::-1], [1.0], up]))
    ends: NDArray[np.uint64] = np.minimum(sums / sums[-1] * 2.0**64, float(_TOP)).astype(np.uint64)
    ends.flags.writeable = False
    return mode - below, ends


@lru_cache(maxsize=16)
def _guide(law: Poisson, bits: int) -> NDArray[np.int32]:
    """Return the number that all uniform ones with these first bits give; −1 where they do not give the same."""
    low, ends = thresholds(law)
    shift = np.uint64(64 - bits)
    # An end that is off by less than 2^−34 lies in the cell of one of its neighbours at that distance.
    nearby = np.maximum(ends, _UNSURE) - _UNSURE, np.minimum(ends, _TOP - _UNSURE) + _UNSURE
    number = np.cumsum(np.bincount((ends >> shift).astype(np.int64), minlength=2**bits)).astype(np.int32) + low
    number[np.concatenate([end >> shift for end in nearby]).astype(np.int64)] = -1
    number[[0, -1]] = -1
    number.flags.writeable = False
    return number


MANY = 1 << 9


class SecureNoise:
    """The noise source of every release. There is nothing to configure and nothing to seed.

    >>> SecureNoise().two_sided_geometric(1.0, 4).dtype
    dtype('int64')
    """

    secure: bool = True

    def discrete_gaussian(self, width: float, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, P(Z = z) ∝ exp(−z²/2 width²), exactly (HG107 beyond a width of 2⁵³)."""
        require_drawable(width)
        return Inversion(2, float(width)).draw(size) if size > MANY else _drawn(_gaussian(float(width)), size)

    def two_sided_geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        """Return `size` independent integers, P(Z = z) ∝ exp(−|z|/scale), exactly (HG107 beyond a scale of 2⁵³)."""
        # The sampler cuts noise off at ±2⁶³: wide enough noise, cut there and added outside, would show the sum.
        require_drawable(scale)
        return Inversion(1, float(scale)).draw(size) if size > MANY else _drawn(_geometric(float(scale)), size)

    def generator(self) -> np.random.Generator:
        """Return a generator keyed by the operating system's entropy (AES in counter mode), its Poisson law exact.

        Keyed afresh at each call, so no state outlives a release and a forked child cannot share one.
        """
        from randomgen import AESCounter

        key = int.from_bytes(os.urandom(16), "little")
        counter = int.from_bytes(os.urandom(16), "little")
        return SecureGenerator(AESCounter(key=key, counter=counter))


class SecureGenerator(np.random.Generator):
    """NumPy's generator, but for its Poisson numbers: those are sampled exactly, of one mean a call."""

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Return independent integers, P(Z = z) = e^−lam · lam^z / z!, exactly (HG406 beyond a mean of 2²²)."""
        shape = () if size is None else size
        drawn = Poisson(Fraction(lam)).draw(math.prod(np.atleast_1d(shape).tolist()), self.bit_generator.random_raw)
        return drawn.reshape(shape)


_Sampler = Callable[[NDArray[np.int64]], list[int]]


def _drawn(sampler: _Sampler, size: int) -> NDArray[np.int64]:
    # An array is handed over as it is; a list is checked number by number.
    return np.asarray(sampler(np.zeros(size, np.int64)), dtype=np.int64) if size else np.zeros(0, np.int64)


@cache
def _opendp() -> tuple[Any, Any, Any, Any]:
    """Return what makes a sampler, integers of 64 bits, and the distances of both laws: nothing of a request."""
    import opendp.domains as domains
    import opendp.measurements as measurements
    import opendp.metrics as metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    integers = domains.vector_domain(domains.atom_domain(T="i64"))
    return measurements, integers, metrics.l1_distance(T="f64"), metrics.l2_distance(T="f64")


def _gaussian(width: float) -> _Sampler:
    measurements, integers, _, distance = _opendp()
    sampler: _Sampler = measurements.make_gaussian(integers, distance, scale=width)
    return sampler


def _geometric(scale: float) -> _Sampler:
    measurements, integers, distance, _ = _opendp()
    sampler: _Sampler = measurements.make_laplace(integers, distance, scale=scale)
    return sampler
