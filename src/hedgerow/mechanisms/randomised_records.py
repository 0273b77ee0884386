"""Randomised records: each record is replaced by a random one before anything is computed; the rest is post-processing.

The local randomiser is optimised unary encoding (Wang, Blocki, Li & Jha 2017): a record that lies in cell v of D cells
(or in none) becomes D bits, independent of one another. Bit v is 1 with chance ½; every other bit with chance q. Two
records differ in at most two bits, so the ratio of their chances of giving any D bits is at most

    (½/q) · ((1 − q)/½) = (1 − q)/q,      e^ε of it: ε = ln((1 − q)/q),

and at most max(½/q, (1 − q)/½) where one of them lies in no cell. Each record shows ONE of several views (ways to cut
records into cells), chosen by a public coin that does not depend on it; the bits of the others are not drawn. q is
`flip`/2³², and a bit is set by comparing 32 random bits with a whole number, so that the law is the stated one exactly.

The guarantee is LOCAL: it holds even against whoever adds up the bits. n randomised records show that there are n, so
it is a guarantee under replace-one only. Under add-remove there is no price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.exact_laws import OutcomePair
from hedgerow.accounting.lower import Attained
from hedgerow.accounting.terms import ROUND_UP, Pure, Term
from hedgerow.errors import ParameterError
from hedgerow.facts.budget import positive_number
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats, Neighbours, Record, Score, Single, Specimen
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

FINE = 2**32
NOWHERE = -1  # stands for a record that lies in no cell of the view
_NUMBERS = 8_000_000  # numbers in hand at once: 32 MB
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RandomisedRecords(Single):
    """Each record as random bits over the cells of one view: pure ε = ln((1 − q)/q), q = flip/2³², under replace-one.

    Attributes
    ----------
    flip : int
        q·2³², between 1 and 2³¹.
    views : tuple of int
        How many cells each view has. A record shows one view.
    shares : tuple of int
        The chance of each view in 2³²nds; they sum to 2³². They do not enter the price.
    """

    flip: int
    views: tuple[int, ...]
    shares: tuple[int, ...]
    type: Literal["randomised-records"] = "randomised-records"

    def __post_init__(self) -> None:
        whole = all(isinstance(number, int) and number > 0 for number in (self.flip, *self.views, *self.shares))
        fits = len(self.views) == len(self.shares) > 0 and sum(self.shares) == FINE and self.flip <= FINE // 2
        if not whole or not fits:
            raise ParameterError(
                "HG406",
                rule="Randomised records flip with a chance up to ½, and the shares of their views add up to one.",
                finding=f"Found {len(self.views)} views and {len(self.shares)} shares.",
            )

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return one view of four cells at ε = 1."""
        shown = randomised_records(1.0, (4,), (1.0,))
        return (Specimen("randomised records", shown, Relation.REPLACE_ONE, 0.0),)

    @property
    def chance(self) -> float:
        """q, the chance of a bit that the record does not set."""
        return self.flip / FINE

    def pure(self) -> float:
        """Return ε, up to rounding in the last digits."""
        return math.log((FINE - self.flip) / self.flip)

    def noise_sd(self, n: int, view: int) -> float:
        """Return the sd of a cell's debiased count, scaled to all n records, of a cell that few of them lie in.

        √(n q(1 − q)/s)/(½ − q), s the view's share; at ε = 1 and s = 1 that is 1.92·√n.

        >>> round(randomised_records(1.0, (10,), (1.0,)).noise_sd(10_000, 0))
        192
        """
        share = self.shares[view] / FINE
        return math.sqrt(n * self.chance * (1.0 - self.chance) / share) / (0.5 - self.chance)

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return a pair of bounded loss; replace-one only."""
        if relation is not Relation.REPLACE_ONE:
            return super(RandomisedRecords, self).terms(relation)
        return (Pure(self.pure() * ROUND_UP),)

    def choose_views(self, records: int, noise: NoiseSource) -> Integers:
        """Return which view each record shows, by a coin that does not depend on it.

        >>> from hedgerow.testing.simulated import SimulatedNoise
        >>> randomised_records(1.0, (2, 2), (0.5, 0.5)).choose_views(4, SimulatedNoise(1)).shape
        (4,)
        """
        drawn = noise.generator().integers(0, FINE, records, dtype=np.int64)
        return np.searchsorted(np.cumsum(self.shares)[:-1], drawn, side="right").astype(np.int64)

    def as_bits(self, view: int, cells: Integers, generator: np.random.Generator) -> NDArray[np.bool_]:
        """Return each record as random bits, (records, cells of the view); `cells` says where each record lies.

        Every bit compares 32 random bits with a whole number: chance exactly ½ in the record's own cell, `flip`/2³²
        elsewhere. A record's bits depend on that record alone, never on another one or on what was seen before.
        """
        bits = generator.integers(0, FINE, (len(cells), self.views[view]), dtype=np.uint32) < self.flip
        inside = np.flatnonzero(cells != NOWHERE)
        bits[inside, cells[inside]] = generator.integers(0, FINE, len(inside), dtype=np.uint32) < FINE // 2
        return np.asarray(bits, dtype=bool)

    def count_ones(self, view: int, cells: Integers, noise: NoiseSource) -> Integers:
        """Return how many randomised records have a one in each cell of a view; all else is post-processing.

        >>> from hedgerow.testing.simulated import SimulatedNoise
        >>> rare = randomised_records(20.0, (3,), (1.0,))
        >>> ones = rare.count_ones(0, np.array([1] * 100 + [NOWHERE] * 100), SimulatedNoise(1))
        >>> int(ones[0] + ones[2]), bool(20 < ones[1] < 80)
        (0, True)
        """
        size, generator = self.views[view], noise.generator()
        ones = np.zeros(size, dtype=np.int64)
        most = max(1, _NUMBERS // size)
        for start in range(0, len(cells), most):
            ones += self.as_bits(view, cells[start : start + most], generator).sum(axis=0)
        return ones

    def debiased(self, ones: Integers, shown: int) -> Floats:
        """Return estimates of how many of the `shown` records lie in each cell, without bias: (ones − m·q)/(½ − q)."""
        q = self.chance
        return np.asarray((ones - shown * q) / (0.5 - q), dtype=np.float64)

    @property
    def size(self) -> int:
        """Cells of the first view."""
        return self.views[0]

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return a record in one cell against the same record in another."""
        if relation is not Relation.REPLACE_ONE:
            return super(RandomisedRecords, self).worst_pairs(relation)
        return (Neighbours("another cell", Record(0, 0), Record(0, 1), 1),)

    def attained(self, relation: Relation) -> Attained:
        """Return the bits of the two cells between which the record moves, in all views that have two."""
        shown = sum(share for share, size in zip(self.shares, self.views, strict=True) if size > 1) / FINE
        q = self.chance
        # The bit of the first cell, then of the second, each 1 or 0: the record's own bit is fair.
        first = [0.5 * other for _ in range(2) for other in (q, 1.0 - q)]
        second = [one * 0.5 for one in (q, 1.0 - q) for _ in range(2)]
        p, q_masses = ((*(shown * mass for mass in side), 1.0 - shown) for side in (first, second))
        return Attained(
            (((OutcomePair(p, q_masses), 1),),), "For δ > 0 its price is that of any mechanism of its pure ε."
        )

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return the bits of the first view of `n` records, all in the cell of the one record, (n, 1, cells).

        The guarantee is local, so the attacker sees the bits themselves, not their sums.
        """
        bits = self.as_bits(0, np.full(n, int(data.index[0]), dtype=np.int64), noise.generator())
        return bits.astype(np.float64)[:, None, :]

    def change(self, record: Record) -> Score:
        """Return the log-chance of bits with a record in its cell, less that without one."""
        own, q = record.index, self.chance
        one, zero = np.log(0.5 / q), np.log(0.5 / (1.0 - q))
        return lambda bits: np.asarray(np.where(bits[:, own] == 1.0, one, zero))


def randomised_records(epsilon: float, views: tuple[int, ...], shares: tuple[float, ...]) -> RandomisedRecords:
    """Return the description that spends at most ε, with views shown in these proportions.

    Raises
    ------
    ParameterError
        HG101: ε is not positive. HG182: a share is not positive.

    Examples
    --------
    >>> found = randomised_records(1.0, (10, 30), (1.0, 1.0))
    >>> 0.999999 < found.pure() <= 1.0, found.shares[0] / 2**32
    (True, 0.5)
    """
    epsilon = positive_number("epsilon", epsilon)
    if not shares or not all(math.isfinite(share) and share > 0.0 for share in shares):
        raise ParameterError(
            "HG182",
            rule="Every view of randomised records is shown by a positive share of them.",
            finding=f"Found {shares!r}.",
            remedy="Leave a view out rather than give it nothing.",
        )
    # Rounded up, and one more for the rounding of the exponential: a larger q costs less.
    flip = min(FINE // 2, math.ceil(FINE / (1.0 + math.exp(epsilon))) + 1)
    parts = [max(1, math.floor(FINE * share / math.fsum(shares))) for share in shares]
    parts[0] += FINE - sum(parts)
    return RandomisedRecords(flip, views, tuple(parts))
