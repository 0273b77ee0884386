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

Resampling as the only noise: a test set scored on records drawn from it with replacement (docs/methods/testset.md).

==================  =====================================================================================
`Resample`          m draws from n records, as Mount & Zumel proposed: (0, δ), and no ε for a smaller δ
`SmoothedResample`  m draws from n binary outcomes and 2a made-up ones: pure ε = m·ln((a + 1)/a)
==================  =====================================================================================

Both are for replace-one alone: the number of draws shows how many records there are.

The price of a smoothed resample
--------------------------------
Tell the attacker more than is released: whether a draw hit one of the n − 1 records that neighbours share (and which),
or one of the rest, the 2a made-up outcomes and the record that differs. Then neighbours differ in this alone:

==========================  ====================  ==================
outcome of one draw         record succeeds (P)   record fails (Q)
==========================  ====================  ==================
a success among the rest    (a + 1)/(n + 2a)      a/(n + 2a)
a failure among the rest    a/(n + 2a)            (a + 1)/(n + 2a)
a shared record             (n − 1)/(n + 2a)      (n − 1)/(n + 2a)
==========================  ====================  ==================

What is released is had from this by forgetting, so it costs no more, whatever the shared records say and however many
draws and looks follow one another. The loss takes three values on a grid of step ln((a + 1)/a) and is folded on that
grid, without rounding. At δ = 0 it is draws·ln((a + 1)/a), which is attained; for δ > 0 the bound is that of an
attacker who sees a little more than is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.dominating_pairs import (
    ROUND_UP,
    DominatingPair,
    FullDisclosurePair,
    KnownCurvePair,
    PureDPPair,
)
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid
from hedgerow.accounting.lower_bounds import BinomialPair, LowerBoundPairs, OutcomePair
from hedgerow.accounting.profile import CappedProfile, Profile
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import positive_number
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.interface import AtomicMechanism, AuditRecord, Floats, Neighbours, Score, Specimen
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import Histogram

FINE = 2**32
NOWHERE = -1  # stands for a record that lies in no cell of the view
_NUMBERS = 8_000_000  # numbers in hand at once: 32 MB
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RandomisedRecords(AtomicMechanism):
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
                rule="Randomised records flip with a probability of at most ½, and the shares of their views add up to "
                "one.",
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

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return a pair of bounded loss; replace-one only."""
        if relation is not Relation.REPLACE_ONE:
            return super(RandomisedRecords, self).terms(relation)
        return (PureDPPair(self.pure() * ROUND_UP),)

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
        return (Neighbours("another cell", AuditRecord(0, 0), AuditRecord(0, 1), 1),)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the bits of the two cells between which the record moves, in all views that have two."""
        shown = sum(share for share, size in zip(self.shares, self.views, strict=True) if size > 1) / FINE
        q = self.chance
        # The bit of the first cell, then of the second, each 1 or 0: the record's own bit is fair.
        first = [0.5 * other for _ in range(2) for other in (q, 1.0 - q)]
        second = [chance * 0.5 for chance in (q, 1.0 - q) for _ in range(2)]
        p, q_masses = ((*(shown * mass for mass in side), 1.0 - shown) for side in (first, second))
        return LowerBoundPairs(
            (((OutcomePair(p, q_masses), 1),),), "For δ > 0 its price is that of any mechanism of its pure ε."
        )

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return the bits of the first view of `n` records, all in the cell of the one record, (n, 1, cells).

        The guarantee is local, so the attacker sees the bits themselves, not their sums.
        """
        bits = self.as_bits(0, np.full(n, int(data.index[0]), dtype=np.int64), noise.generator())
        return bits.astype(np.float64)[:, None, :]

    def change(self, record: AuditRecord) -> Score:
        """Return the log-chance of bits with a record in its cell, less that without one."""
        own, q = record.index, self.chance
        loss_of_1, loss_of_0 = np.log(0.5 / q), np.log(0.5 / (1.0 - q))
        return lambda bits: np.asarray(np.where(bits[:, own] == 1.0, loss_of_1, loss_of_0))


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
            rule="Every view of randomised records needs a positive share of the records.",
            finding=f"Found {shares!r}.",
            remedy="Leave out a part (view) of the record to which no share of the records is assigned.",
        )
    # Rounded up, and one more for the rounding of the exponential: a larger q costs less.
    flip = min(FINE // 2, math.ceil(FINE / (1.0 + math.exp(epsilon))) + 1)
    parts = [max(1, math.floor(FINE * share / math.fsum(shares))) for share in shares]
    parts[0] += FINE - sum(parts)
    return RandomisedRecords(flip, views, tuple(parts))


MOST_DRAWS = 2**24
_ROUNDING, _DOWN = 1e-15, 1.0 - 1e-12


class _Drawn(AtomicMechanism):
    """Draws with replacement: more successes speak for the neighbour that has one more."""

    __slots__ = ()
    n: int
    draws: int

    @property
    def size(self) -> int:
        """Draws."""
        return self.draws

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return n records that fail, against n − 1 that fail and one that succeeds."""
        if relation is not Relation.REPLACE_ONE:
            return super().worst_pairs(relation)
        return (Neighbours("one success among failures", AuditRecord(0, 1), AuditRecord(0, 0), 1),)

    def successes(self, successes: int, generator: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` numbers of successes among the draws, where `successes` of the n records succeed."""
        raise NotImplementedError

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` numbers of successes, (n, 1, 1); the index of the one record says whether it succeeds."""
        drawn = self.successes(int(data.index[0]), noise.generator(), n)
        return drawn.astype(np.float64).reshape(n, 1, 1)

    def change(self, record: AuditRecord) -> Score:
        """Return the number of successes: the likelihood ratio rises with it, so no score is stronger."""
        return lambda x: record.index * np.asarray(x.reshape(len(x), -1).sum(axis=1))


@dataclass(frozen=True, slots=True)
class Resample(_Drawn):
    """`draws` of `n` records with replacement; what they say is released as it is.

    Whoever's record is not drawn leaves no trace, and whoever's is drawn may be seen: δ(ε) = 1 − (1 − 1/n)^draws for
    every ε ≥ 0, attained by n − 1 records that say 0 and one that may say 1.

    Raises
    ------
    ParameterError
        HG406: `n` or `draws` is no whole number, below 1 or above 2²⁴ draws.

    Examples
    --------
    >>> round(Resample(n=1000, draws=100).chance, 4)
    0.0952
    """

    n: int
    draws: int
    type: Literal["resample"] = "resample"

    def __post_init__(self) -> None:
        _require_whole(n=self.n, draws=self.draws)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return two draws of six records, at a δ below the chance that one record is drawn: no ε holds there."""
        return (Specimen("test set, resample", cls(n=6, draws=2), Relation.REPLACE_ONE, 0.2),)

    @property
    def chance(self) -> float:
        """The probability that a given record is drawn at all: δ."""
        return 1.0 if self.n == 1 else -math.expm1(self.draws * math.log1p(-1.0 / self.n))

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the price of revealing all data with probability `chance`: δ(ε) = `chance` for every ε."""
        if relation is not Relation.REPLACE_ONE:
            return super(Resample, self).terms(relation)
        return (FullDisclosurePair(min(1.0, self.chance * ROUND_UP)),)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return whether the one record that may say 1 was drawn."""
        return LowerBoundPairs((((OutcomePair((self.chance * _DOWN, 1.0 - self.chance), (0.0, 1.0)), 1),),))

    def successes(self, successes: int, generator: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` numbers of successes among the draws, where `successes` of the n records succeed."""
        index, count = np.array([0, 1]), np.array([self.n - successes, successes])
        data = Histogram.from_triplets(np.zeros_like(index), index, count, cells=1)
        return drawn_losses(data, self.draws, generator, size)


@dataclass(frozen=True, slots=True)
class SmoothedResample(_Drawn):
    """The number of successes in `draws` draws with replacement from n outcomes, `fake` successes, `fake` failures.

    One record moves a draw's chance of success between (s + a)/(n + 2a) and (s + 1 + a)/(n + 2a), a = `fake`.

    Raises
    ------
    ParameterError
        HG406: one of them is no whole number, below 1, or there are more than 2²⁴ draws.

    Examples
    --------
    >>> round(SmoothedResample(n=1000, fake=500, draws=100).pure, 3)
    0.2
    """

    n: int
    fake: int
    draws: int
    type: Literal["smoothed-resample"] = "smoothed-resample"

    def __post_init__(self) -> None:
        _require_whole(n=self.n, fake=self.fake, draws=self.draws)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return two draws of six records and four made-up ones."""
        smoothed = cls(n=6, fake=2, draws=2)
        return (Specimen("test set, smoothed resample", smoothed, Relation.REPLACE_ONE, 0.0),)

    @property
    def loss(self) -> float:
        """The largest privacy loss of one draw: ln((a + 1)/a)."""
        return math.log1p(1.0 / self.fake)

    @property
    def pure(self) -> float:
        """ε at δ = 0: attained where no record succeeds and every draw does."""
        return self.draws * self.loss

    def terms(self, relation: Relation) -> tuple[DominatingPair, ...]:
        """Return the whole curve (HG401 under add-remove)."""
        return (KnownCurvePair(smoothed_curve(self, relation), self.pure * ROUND_UP),)

    def attained(self, relation: Relation) -> LowerBoundPairs:
        """Return the number of successes where all records fail, against one success among them."""
        n = self.n + 2 * self.fake
        with_record, without = (self.fake + 1) / n, self.fake / n
        pairs = (BinomialPair(self.draws, with_record, without), 1), (BinomialPair(self.draws, without, with_record), 1)
        return LowerBoundPairs(
            tuple((pair,) for pair in pairs), "For δ > 0 its price is that of an attacker who sees more."
        )

    def repeated(self, times: int, relation: Relation) -> Profile:
        """Return the curve of `times` as many draws, folded on the lattice of one draw's loss."""
        return CappedProfile(smoothed_curve(self, relation, looks=times), times * self.pure * ROUND_UP)

    def successes(self, successes: int, generator: np.random.Generator, size: int = 1) -> NDArray[np.int64]:
        """Return `size` numbers of successes among the draws, where `successes` of the n records succeed.

        Whole numbers below n + 2a are compared with s + a, so each draw succeeds with exactly the stated chance.

        >>> SmoothedResample(10, 1000, 50).successes(0, np.random.default_rng(1)).shape
        (1,)
        """
        drawn = generator.integers(0, self.n + 2 * self.fake, (size, self.draws)) < successes + self.fake
        return np.asarray(np.count_nonzero(drawn, axis=1), dtype=np.int64)


def drawn_losses(histogram: Histogram, draws: int, generator: np.random.Generator, size: int = 1) -> NDArray[np.int64]:
    """Return `size` sums of the grid indices of `draws` records with replacement: whole numbers throughout.

    >>> one = Histogram.from_triplets(np.array([0, 0]), np.array([0, 1]), np.array([5, 0]), cells=1)
    >>> drawn_losses(one, 7, np.random.default_rng(1)).tolist()
    [0]
    """
    ends = np.cumsum(histogram.count)
    places = np.searchsorted(ends, generator.integers(0, int(ends[-1]), (size, draws)), side="right")
    return np.asarray(histogram.index[places].sum(axis=1), dtype=np.int64)


@lru_cache(maxsize=64)
def smoothed_curve(mechanism: SmoothedResample, relation: Relation, *, looks: int = 1) -> Curve:
    """Return an upper bound on the privacy profile of `looks` independent smoothed resamples.

    Parameters
    ----------
    mechanism, relation
        One look, and who is protected.
    looks : int
        How many looks of the same size follow one another.

    Raises
    ------
    UncertifiedError
        HG401: under add-remove, where the number of draws would show the number of records.

    Examples
    --------
    >>> curve = smoothed_curve(SmoothedResample(n=1000, fake=500, draws=100), Relation.REPLACE_ONE)
    >>> round(curve.epsilon_upper(1e-6), 3)
    0.049
    """
    if relation is not Relation.REPLACE_ONE:
        raise UncertifiedError(
            "HG401",
            rule="A resample is priced under replace-one, where the number of records is public.",
            finding="The relation is add-remove.",
            remedy="Use the Gaussian or the Laplace mechanism.",
        )
    n, fake, draws = mechanism.n, mechanism.fake, mechanism.draws * looks
    mass = np.array([fake, n - 1, fake + 1]) / (n + 2 * fake)
    grid = LossGrid(-1, mechanism.loss, mass, 0.0)
    return Curve(mechanism.loss, composed_curve([(grid, draws)], relative=_ROUNDING * max(draws, math.e)))


def _require_whole(**numbers: object) -> None:
    for name, number in numbers.items():
        whole = isinstance(number, int) and not isinstance(number, bool)
        most = MOST_DRAWS if name == "draws" else 2**53
        if not whole or not 1 <= number <= most:  # type: ignore[operator]  # whole says that it is an int
            raise ParameterError(
                "HG406",
                rule=f"`{name}` of a resample is a whole number from 1 to {most:,}.",
                finding=f"Found {number!r}.",
            )
