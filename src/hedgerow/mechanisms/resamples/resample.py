r"""Resampling as the only noise: a test set scored on records drawn from it with replacement (docs/methods/testset.md).

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

from hedgerow.accounting.exact_laws import BinomialPair, OutcomePair
from hedgerow.accounting.loss_fold import composed_curve
from hedgerow.accounting.loss_grid import Curve, LossGrid
from hedgerow.accounting.lower import Attained
from hedgerow.accounting.profile import CappedProfile, Profile
from hedgerow.accounting.terms import ROUND_UP, Resampled, Revealed, Term
from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats, Neighbours, Record, Score, Single, Specimen
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

MOST_DRAWS = 2**24
_ROUNDING, _DOWN = 1e-15, 1.0 - 1e-12


class _Drawn(Single):
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
        return (Neighbours("one success among failures", Record(0, 1), Record(0, 0), 1),)

    def successes(self, successes: int, generator: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` numbers of successes among the draws, where `successes` of the n records succeed."""
        raise NotImplementedError

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` numbers of successes, (n, 1, 1); the index of the one record says whether it succeeds."""
        drawn = self.successes(int(data.index[0]), noise.generator(), n)
        return drawn.astype(np.float64).reshape(n, 1, 1)

    def change(self, record: Record) -> Score:
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

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return the price of revealing all data with probability `chance`: δ(ε) = `chance` for every ε."""
        if relation is not Relation.REPLACE_ONE:
            return super(Resample, self).terms(relation)
        return (Revealed(min(1.0, self.chance * ROUND_UP)),)

    def attained(self, relation: Relation) -> Attained:
        """Return whether the one record that may say 1 was drawn."""
        return Attained((((OutcomePair((self.chance * _DOWN, 1.0 - self.chance), (0.0, 1.0)), 1),),))

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

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return the whole curve (HG401 under add-remove)."""
        return (Resampled(smoothed_curve(self, relation), self.pure * ROUND_UP),)

    def attained(self, relation: Relation) -> Attained:
        """Return the number of successes where all records fail, against one success among them."""
        n = self.n + 2 * self.fake
        one, none = (self.fake + 1) / n, self.fake / n
        pairs = (BinomialPair(self.draws, one, none), 1), (BinomialPair(self.draws, none, one), 1)
        return Attained(tuple((pair,) for pair in pairs), "For δ > 0 its price is that of an attacker who sees more.")

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
    """Return an upper bound on the privacy curve of `looks` independent smoothed resamples.

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
            finding="Found add-remove.",
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
