"""How far a score of n records may lie from the expected score, for a model fitted to earlier answers.

All bounds are for losses in [0, 1]. They are proven in ``docs/methods/testset.md``; information is in nats.
Two are used, each time the one with the smaller exponent ln(1/p), where what has probability p if the model is
independent of the records has probability β at most with the fitted model:

``information_exponent``: with I the mutual information of the records and all earlier answers,
β·ln(β/p) + (1 − β)·ln((1 − β)/(1 − p)) = I (the data-processing inequality). At I = 0 this is p = β: the bound of a
model that was fixed before.

``likelihood_exponent``, for Gaussian noise: Hölder's inequality compares the likelihood of the answers with that of
answers which a Gaussian process gives in place of the records. It pays for a small β once, not with a factor 1/β.

The interval of a score whose model may be fitted to the earlier answers: proven, from public facts. Post-processing.

Sampling has a share of the probability to err, with what the earlier answers tell of the records (`bounds`); the noise
of this look, which nothing earlier tells of, has the rest. The share that gives the least half-width at a score in the
middle is taken, so it does not depend on the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from hedgerow.inference.estimate import Estimate
from hedgerow.inference.region import ScoreRegion
from hedgerow.inference.score_test import SingleTest
from hedgerow.testset.mechanisms.look_mechanism import LookAnswer, LookMechanism

_HALVINGS = 60
NUMBERS = "numbers_before"
"""The name on a look's record of how many numbers were answered before."""
SHARES: tuple[float, ...] = tuple(step / 50.0 for step in range(1, 50))
Spread = Callable[[float], float]
"""From a probability to the distance that an answer keeps from the score of the records, but for that probability."""


@lru_cache(maxsize=4096)
def information_exponent(information: float, beta: float) -> float:
    """Return ln(1/p): what has probability p for a fixed model has at most `beta` for a fitted one.

    >>> round(math.exp(-information_exponent(0.0, 0.05)), 6), round(information_exponent(1.0, 0.05), 2)
    (0.05, 23.97)
    """
    entropy = -beta * math.log(beta) - (1.0 - beta) * math.log1p(-beta)
    low, high = -math.log(beta), (information + entropy) / beta
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        # β·ln(β/p) + (1 − β)·ln((1 − β)/(1 − p)) rises as p falls below β.
        if beta * middle - entropy - (1.0 - beta) * math.log1p(-math.exp(-middle)) < information:
            low = middle
        else:
            high = middle
    return high


_ORDERS = np.array([[1.25], [1.5], [1.75], [2.0], [2.5], [3.0], [4.0]])  # of Hölder's inequality
_EXPONENTS = np.geomspace(1.0, 2000.0, 760)  # one per cent apart
_OF_NOISE = 0.02  # of β: the noises of the earlier answers are larger than assumed


@lru_cache(maxsize=65536)
def likelihood_exponent(n: float, looks: int, numbers: int, of_one_record: float, beta: float) -> float:
    """Return ln(1/p): what has probability p for fixed models has `beta` at most for this look and those before.

    The least of some values e for which, with r = √(2·of_one_record), γ = 1 − 1/α and any α > 1,

        e^(−γ·e)·Σ_(m=0..looks) G^m + β_u ≤ β,    G = √(1 + 2α·g(B)·n·r²),    g(B) = (e^B − 1 − B)/B²,
        B = α·r·√(looks·ρ²),    ρ² = N + S + 2√((N + 2S)·x) + 2x,    x = ln(1/β_u),    S = looks·(2·r·n·t)²,

    t = √((e + ln 2)/(2n)). If answers are vectors, N numbers in all, G = e^(α·g(B)·n·r²) and t is larger by 1/(2√n).

    Parameters
    ----------
    n : float
        How many records there are.
    looks, numbers : int
        How many looks came before, and how many numbers with Gaussian noise they answered.
    of_one_record : float
        What one answer tells of one record at most, in nats: what a record adds lies within r sds of the noise of one
        point.
    beta : float
        The probability that this look, or one of the earlier ones, errs by more.

    Returns
    -------
    float
        Infinite where no such e is found.

    Examples
    --------
    >>> mu = 1.0 / (10_000 * 0.025)
    >>> round(likelihood_exponent(10_000, 199, 199, mu**2 / 8, 0.01), 1)
    46.3
    """
    apart = numbers > looks
    radius, mean = math.sqrt(2.0 * of_one_record), 0.5 / math.sqrt(n) if apart else 0.0
    far = mean + np.sqrt((_EXPONENTS + math.log(2.0)) / (2.0 * n))
    shift, x = looks * np.square(2.0 * radius * n * far), -math.log(_OF_NOISE * beta)
    square = numbers + shift + 2.0 * np.sqrt((numbers + 2.0 * shift) * x) + 2.0 * x
    bound = np.minimum(_ORDERS * radius * np.sqrt(looks * square), 30.0)
    growth = 2.0 * _ORDERS * (np.expm1(bound) - bound) / bound**2 * n * radius**2
    each = growth / 2.0 if apart else np.log1p(growth) / 2.0
    summed = looks * each + np.log(-np.expm1(-(looks + 1) * each) / -np.expm1(-each))
    enough = (summed - (1.0 - 1.0 / _ORDERS) * _EXPONENTS <= math.log((1.0 - _OF_NOISE) * beta)) & (bound < 30.0)
    return float(np.min(_EXPONENTS[enough.any(axis=0)], initial=math.inf))


@dataclass(frozen=True, slots=True)
class Earlier:
    """The answers before a look, as far as they are public.

    Attributes
    ----------
    information : float
        What they tell of all records at most, in nats.
    looks : int
    numbers : int or None
        How many numbers they are, all with Gaussian noise; None for other noise, or where that is not known.
    of_one_record : float
        What one of them tells of one record at most, in nats.
    """

    information: float
    looks: int = 0
    numbers: int | None = None
    of_one_record: float = math.inf

    def record(self) -> dict[str, int]:
        """Return what a look's record tells of them beside its own number; nothing where the information decides."""
        return {NUMBERS: self.numbers} if self.numbers else {}

    def exponent(self, n: float, beta: float) -> float:
        """Return the smaller exponent of both bounds, for n records.

        >>> Earlier(6.25, 199, 199, (1 / 250) ** 2 / 8).exponent(10_000, 0.01) < information_exponent(6.25, 0.01)
        True
        """
        by_information = information_exponent(self.information, beta)
        if not self.numbers:
            return by_information
        return min(by_information, likelihood_exponent(n, self.looks, self.numbers, self.of_one_record, beta))


def chernoff(mean: float, n: float, exponent: float) -> tuple[float, float]:
    """Return the expected scores that do not contradict a mean of n records by a factor e^exponent (Hoeffding 1963).

    These are all p with n·kl(mean, p) ≤ exponent + ln 2, two-sided.

    >>> [round(end, 4) for end in chernoff(0.5, 10_000, math.log(20))]
    [0.4864, 0.5136]
    """
    allowed = (exponent + math.log(2.0)) / n
    ends = []
    for far in (0.0, 1.0):
        near = mean
        for _ in range(_HALVINGS):
            middle = (near + far) / 2.0
            near, far = (near, middle) if _divergence(mean, middle) > allowed else (middle, far)
        ends.append(far)
    return ends[0], ends[1]


def share_of_sampling(earlier: Earlier, n: float, spread: Spread, beta: float, *, all_records: float = 0.0) -> float:
    """Return the share of `beta` that sampling should have for the least half-width; the noise has the rest.

    `all_records` is the number of records of the test set, where a look is about n of them.
    """
    return min(SHARES, key=lambda share: _half_width(earlier, (n, all_records or n), spread, share, beta))


def half_width(earlier: Earlier, n: float, spread: Spread, beta: float = 0.05) -> float:
    """Return the half-width for a score in the middle of its range, where it is largest.

    >>> round(half_width(Earlier(0.0), 10_000, lambda beta: 0.0), 4)
    0.0136
    """
    return _half_width(earlier, (n, n), spread, share_of_sampling(earlier, n, spread, beta), beta)


def split_half_width(n: int, looks: int, beta: float = 0.05) -> float:
    """Return z/(2·√⌊n/looks⌋): every look has records of its own, which no earlier answer told of.

    >>> round(split_half_width(10_000, 1000), 3)
    0.31
    """
    from hedgerow.inference.interval import normal_quantile

    return min(1.0, normal_quantile(1.0 - beta) / (2.0 * math.sqrt(max(1, n // looks))))


def _half_width(earlier: Earlier, n: tuple[float, float], spread: Spread, share: float, beta: float) -> float:
    exponent = earlier.exponent(n[1], share * beta)
    return math.sqrt((exponent + math.log(2.0)) / (2.0 * n[0])) + spread((1.0 - share) * beta)


def _divergence(mean: float, p: float) -> float:
    of_mean = mean * math.log(mean / p) if mean > 0.0 and p > 0.0 else (math.inf if mean > 0.0 else 0.0)
    rest, q = 1.0 - mean, 1.0 - p
    other = rest * math.log(rest / q) if rest > 0.0 and q > 0.0 else (math.inf if rest > 0.0 else 0.0)
    return of_mean + other


COVERS_FITTED = "the expected score on new records, also of a model fitted to the earlier answers (proven)"
_NONE = "all scores that there can be: no narrower interval is proven for a model fitted to answers"
_SAMPLING = 0.8  # of the probability to err, where n is private: what is best would depend on n
METHOD = "mutual-information"


@dataclass(frozen=True, slots=True)
class FittedModel(SingleTest):
    """What the interval of a fitted model is computed from.

    Attributes
    ----------
    value : float
        The answer.
    mechanism : LookMechanism
    earlier : Earlier
        The answers that were given before.
    paid : bool
        True if the test set was used for the answer, which costs a part of the price.
    sums : (float, float) or None
        As of an `LookAnswer`.
    """

    value: float
    mechanism: LookMechanism
    earlier: Earlier
    paid: bool = True
    sums: tuple[float, float] | None = None

    method: ClassVar[str] = METHOD

    @property
    def low(self) -> float:
        """The least possible score."""
        return self.mechanism.conditions.grid.as_bounds()[0]

    @property
    def high(self) -> float:
        """The largest possible score."""
        return self.mechanism.conditions.grid.as_bounds()[1]

    @property
    def proven(self) -> bool:
        """Whether a bound narrower than the range is known."""
        known = self.mechanism.conditions.n is not None or self.sums is not None
        return known and math.isfinite(self.earlier.of_one_record if self.sums else self.earlier.information)

    def accepted(self, level: float) -> tuple[float, float]:
        """Return the scores that are not excluded at a level, cut to what is possible."""
        n, wide, margin = self.mechanism.records_a_look, self.high - self.low, self.mechanism.conditions.grid.rounding
        if not self.proven:
            return self.low, self.high
        if n is None:
            low, high = self._of_private_n(1.0 - level)
            return max(self.low, self.low + low * wide - margin), min(self.high, self.low + high * wide + margin)
        beta = 1.0 - level
        spread = partial(self.mechanism.spread, paid=self.paid)
        share = share_of_sampling(self.earlier, n, spread, beta)
        exponent, noise = self.earlier.exponent(n, share * beta), spread((1.0 - share) * beta)
        place = (self.value - self.low) / wide
        low, _ = chernoff(min(1.0, max(0.0, place - noise)), n, exponent)
        _, high = chernoff(max(0.0, min(1.0, place + noise)), n, exponent)
        return max(self.low, self.low + low * wide - margin), min(self.high, self.low + high * wide + margin)

    def _of_private_n(self, beta: float) -> tuple[float, float]:
        """Return the ends, in [0, 1], for the least and the most records that the noise leaves possible."""
        count, total = self.sums or (0.0, 0.0)
        around, along = self.mechanism.spread_of_sums((1.0 - _SAMPLING) * beta)
        least, most = count - around, count + around
        if not least >= 1.0:
            return 0.0, 1.0
        # Both exponents rise with the number of records.
        earlier = replace(self.earlier, information=self.earlier.looks * most * self.earlier.of_one_record)
        exponent = earlier.exponent(most, _SAMPLING * beta)
        ends = [(1.0 + (total + way * along) / n) / 2.0 for way in (-1.0, 1.0) for n in (least, most)]
        low, high = (min(1.0, max(0.0, end)) for end in (min(ends), max(ends)))
        return chernoff(low, least, exponent)[0], chernoff(high, least, exponent)[1]


def earlier_answers(mechanism: LookMechanism, looks: int, numbers: int | None = None) -> Earlier:
    """Return so many earlier answers of a mechanism; without `numbers` by their information alone."""
    return Earlier(mechanism.information(looks), looks, numbers, mechanism.of_one_record())


def for_fitted_model(answer: LookAnswer, mechanism: LookMechanism, earlier: Earlier) -> Estimate:
    """Return the estimate of a look with the interval that holds for a model fitted to the earlier answers."""
    estimate = answer.estimate
    fitted = FittedModel(estimate.estimate, mechanism, earlier, answer.paid, answer.sums)
    return replace(estimate, _region=ScoreRegion(fitted), covers=COVERS_FITTED if fitted.proven else _NONE)
