"""Which metrics are read from sums of labels over parts, and what of predictions their parts are made.

==========  ===============================  ===============================  ==========================================
kind        predictions                      parts of a group                 metrics
==========  ===============================  ===============================  ==========================================
right       labels                           one                              accuracy, zero_one_loss
classes     labels                           predicted positive, or not       precision, recall, specificity, f1,
                                                                              balanced_accuracy
ranks       numbers, larger where positive   one, weighted by ranks           roc_auc
            is likelier
chances     chances of the positive label    ten bins of equal width          calibration_error
squares     numbers                          one, of squared errors           r2, mean_squared_error
==========  ===============================  ===============================  ==========================================

Metrics of one kind are read from the same look.

From noisy sums of labels to metrics with their errors and intervals. Post-processing.

Sums of labels carry Gaussian noise of a known sd each. What does not depend on labels, such as how many records a part
has, is known. Each reading has two intervals:

* ``fixed``, for a model that was made before any answer was known: all x with (a − b·x)² ≤ z²·Var(a − b·x), where
  a − b·x has mean 0 at the truth and its variance, sampling and noise, is a polynomial of degree 2 in x (Fieller);
* ``fitted``, for a model fitted to earlier answers: a tail bound for fixed models, at the smaller probability that
  `hedgerow.testset.adaptive_bounds` gives, with the noise within ± h for all sums at once.

=============  =======================================================  ===============================================
reading        what it is                                               tail bound
=============  =======================================================  ===============================================
`Share`        a/(a + b) of records that are of one of two kinds        Chernoff–Hoeffding, given their number
`MeanOfTwo`    the mean of two shares                                   the same for both at once
`RankedPairs`  how often a positive record is ranked above a negative   Hoeffding (1963, § 5) for means of pairs
`Gaps`         Σ |a part's share of positives − its mean chance|        Hoeffding for each of 2^parts signs at once
=============  =======================================================  ===============================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.inference.interval import normal_quantile
from hedgerow.testset.adaptive_bounds import chernoff
from hedgerow.testset.mechanisms.look_mechanism import two_sided
from hedgerow.testset.parts.squares import Determination, MeanSquare

Floats = NDArray[np.float64]
WHOLE = (0.0, 1.0)
_SURE = 4.0  # sds of noise that what is divided by must exceed
_HALVINGS = 80


class PartReading(Protocol):
    """One metric, read from a release."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that is possible."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def sampling(self) -> float:
        """The sampling error."""

    @property
    def noise(self) -> float:
        """The error of the noise."""

    @property
    def reliable(self) -> bool:
        """False where the noise swamps what is divided by."""

    def fixed(self, level: float) -> tuple[float, float]:
        """Return the interval for a model that was made before any answer was known."""

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return the interval for a fitted model: tails of e^−exponent for sampling, `beta` for the noise."""


@dataclass(frozen=True)
class Share:
    """right/(right + wrong), each a known number plus noise; as 2J/(1 + J) of that share J where `doubled`.

    Attributes
    ----------
    right, wrong : float
        Noisy numbers of records.
    plus, minus : tuple of float
        How far each noise moves `right` and `wrong`: in opposite directions, or one of them not at all.
    sd : float
        Of each noise.
    """

    right: float
    wrong: float
    plus: tuple[float, ...]
    minus: tuple[float, ...]
    sd: float
    doubled: bool = False
    ends = WHOLE

    @property
    def total(self) -> float:
        """How many records are of either kind."""
        return self.right + self.wrong

    @property
    def plain(self) -> float:
        """The share."""
        return 0.5 if self.total <= 0.0 else min(1.0, max(0.0, self.right / self.total))

    @property
    def value(self) -> float:
        """The metric."""
        return self._shown(self.plain)

    @property
    def sampling(self) -> float:
        """√(J(1 − J)/records), times the slope of what is shown."""
        return self._slope * math.sqrt(self.plain * (1.0 - self.plain) / max(self.total, 1.0))

    @property
    def noise(self) -> float:
        """The noise of right − J·(right + wrong), divided by the records."""
        return self._slope * float(np.linalg.norm(self.moved)) / max(self.total, 1.0)

    @property
    def moved(self) -> Floats:
        """By how much each noise moves right − J·(right + wrong)."""
        plus, minus = np.array(self.plus), np.array(self.minus)
        return np.asarray(self.sd * (plus - self.plain * (plus + minus)))

    @property
    def reliable(self) -> bool:
        """Whether the number of records exceeds 4 sds of its noise."""
        around = self.sd * float(np.linalg.norm(np.array(self.plus) + np.array(self.minus)))
        return self.total >= 1.0 and self.total > _SURE * around

    def fixed(self, level: float) -> tuple[float, float]:
        """Return Wilson's interval with the noise in its variance."""
        if not self.reliable:
            return WHOLE
        plus, both = np.array(self.plus), np.array(self.plus) + np.array(self.minus)
        variance = self.sd**2 * np.array([plus @ plus, -2.0 * plus @ both, both @ both])
        variance += np.array([0.0, self.total, -self.total])
        low, high = within(max(0.0, self.right), self.total, normal_quantile(level) ** 2 * variance)
        return self._shown(low), self._shown(high)

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return the Chernoff–Hoeffding bound at the ends of what the noise leaves possible."""
        noises = sum(1 for moves in zip(self.plus, self.minus, strict=True) if any(moves))
        return self.bounded(exponent, two_sided(beta / max(1, noises)) * self.sd)

    def bounded(self, exponent: float, h: float) -> tuple[float, float]:
        """Return the bound where every noise lies within ± h."""
        up, down = h * sum(map(abs, self.plus)), h * sum(map(abs, self.minus))
        least, most = max(0.0, self.right - up), max(0.0, self.right + up)
        low = _chernoff(least, max(0.0, self.wrong + down), exponent)[0]
        high = _chernoff(most, max(0.0, self.wrong - down), exponent)[1]
        return self._shown(low), self._shown(high)

    def _shown(self, share: float) -> float:
        return 2.0 * share / (1.0 + share) if self.doubled else share

    @property
    def _slope(self) -> float:
        return 2.0 / (1.0 + self.plain) ** 2 if self.doubled else 1.0


@dataclass(frozen=True)
class MeanOfTwo:
    """The mean of two shares of different records, whose noises may be the same."""

    first: Share
    second: Share
    ends = WHOLE

    @property
    def value(self) -> float:
        """The mean of both."""
        return (self.first.value + self.second.value) / 2.0

    @property
    def sampling(self) -> float:
        """They are of different records."""
        return math.hypot(self.first.sampling, self.second.sampling) / 2.0

    @property
    def noise(self) -> float:
        """Noise by noise, as one may move both."""
        moved = [share.moved / max(share.total, 1.0) for share in (self.first, self.second)]
        return float(np.linalg.norm(moved[0] + moved[1])) / 2.0

    @property
    def reliable(self) -> bool:
        """Whether both are."""
        return self.first.reliable and self.second.reliable

    def fixed(self, level: float) -> tuple[float, float]:
        """Return the distances to the ends of both intervals, combined by the correlation of their errors."""
        if not self.reliable:
            return WHOLE
        (low1, high1), (low2, high2) = self.first.fixed(level), self.second.fixed(level)
        errors = [math.hypot(share.sampling, share.noise) for share in (self.first, self.second)]
        together = self.sampling**2 + self.noise**2
        apart = 2.0 * errors[0] * errors[1]
        correlation = 0.0 if apart == 0.0 else (4.0 * together - errors[0] ** 2 - errors[1] ** 2) / apart

        def half(a: float, b: float) -> float:
            return math.sqrt(max(0.0, a * a + b * b + 2.0 * max(0.0, correlation) * a * b)) / 2.0

        down = half(self.first.value - low1, self.second.value - low2)
        up = half(high1 - self.first.value, high2 - self.second.value)
        return max(0.0, self.value - down), min(1.0, self.value + up)

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return the mean of both bounds, at half the probability each; the noises are within ± h at once."""
        h = two_sided(beta / len(self.first.plus)) * self.first.sd
        both = [share.bounded(exponent + math.log(2.0), h) for share in (self.first, self.second)]
        return (both[0][0] + both[1][0]) / 2.0, (both[0][1] + both[1][1]) / 2.0


@dataclass(frozen=True)
class RankedPairs:
    """½ + S/(P·N): S the sum of the centred ranks of the P positive records, N = records − P; ties count half.

    The sampling variance of such a share of pairs is at most θ(1 − θ)/min(P, N), whatever the model (van Dantzig 1951,
    Birnbaum & Klose 1957). That bound is used, as no more of the order of the records is released.
    """

    ranks: float
    positives: float
    records: int
    rank_sd: float
    sd: float
    ends = WHOLE

    @property
    def fewer(self) -> float:
        """The number of records of the rarer kind."""
        return min(self.positives, self.records - self.positives)

    @property
    def reliable(self) -> bool:
        """Whether both kinds exceed 4 sds of the noise."""
        return self.fewer >= 1.0 and self.fewer > _SURE * self.sd

    @property
    def value(self) -> float:
        """The share of pairs."""
        return min(1.0, max(0.0, 0.5 + self.ranks / self._pairs)) if self.fewer > 0.0 else 0.5

    @property
    def sampling(self) -> float:
        """The most that it can be."""
        return math.sqrt(self.value * (1.0 - self.value) / max(self.fewer, 1.0))

    @property
    def noise(self) -> float:
        """That of S, and of P times how far the value is from one half."""
        of_p = (self.value - 0.5) * (self.records - 2.0 * self.positives) * self.sd
        return math.hypot(self.rank_sd, of_p) / max(self._pairs, 1.0)

    def fixed(self, level: float) -> tuple[float, float]:
        """Return Fieller's interval."""
        if not self.reliable:
            return WHOLE
        of_p = ((self.records - 2.0 * self.positives) * self.sd) ** 2
        spread = self._pairs**2 / self.fewer
        variance = np.array([self.rank_sd**2 + of_p / 4.0, spread - of_p, of_p - spread])
        middle = min(self._pairs, max(0.0, self.ranks + self._pairs / 2.0))
        return within(middle, self._pairs, normal_quantile(level) ** 2 * variance)

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return Hoeffding's bound for min(P, N) pairs, at the ends of what the noise leaves possible."""
        z = two_sided(beta / 2.0)
        ends = [self.positives - z * self.sd, self.positives + z * self.sd]
        fewer = min(ends[0], self.records - ends[1])
        if fewer < 1.0:
            return WHOLE
        ends += [self.records / 2.0] if ends[0] < self.records / 2.0 < ends[1] else []
        pairs = [positives * (self.records - positives) for positives in ends]
        ranks = [self.ranks - z * self.rank_sd, self.ranks + z * self.rank_sd]
        values = [min(1.0, max(0.0, 0.5 + rank_sum / of)) for rank_sum in ranks for of in pairs]
        return chernoff(min(values), fewer, exponent)[0], chernoff(max(values), fewer, exponent)[1]

    @property
    def _pairs(self) -> float:
        return self.positives * (self.records - self.positives)


@dataclass(frozen=True)
class Gaps:
    """Σ |positives − chances|/records over parts: how far chances are from what comes true, by bins.

    The noise makes gaps of nothing. So the value is Σ √(gap² − its error²), 0 where the error is larger.
    """

    positives: tuple[float, ...]
    chances: tuple[float, ...]
    sizes: tuple[int, ...]
    sd: float
    ends = WHOLE

    @property
    def records(self) -> int:
        """Of all parts."""
        return sum(self.sizes)

    @cached_property
    def gaps(self) -> Floats:
        """The noisy gap of each part."""
        return np.asarray((np.array(self.positives) - np.array(self.chances)) / self.records)

    @cached_property
    def variances(self) -> Floats:
        """Of sampling, for each gap."""
        size, mean = np.array(self.sizes, dtype=np.float64), np.array(self.chances)
        share = np.clip((np.clip(np.array(self.positives), 0.0, size) + 1.0) / (size + 2.0), 0.0, 1.0)
        return np.asarray(size * (share * (1.0 - share) + (share - mean / size) ** 2) / self.records**2)

    @property
    def value(self) -> float:
        """The sum of the gaps beyond their errors."""
        beyond = self.gaps**2 - self.variances - (self.sd / self.records) ** 2
        return float(min(1.0, np.sqrt(np.maximum(0.0, beyond)).sum()))

    @property
    def sampling(self) -> float:
        """As if the sign of every gap were known."""
        return math.sqrt(float(self.variances.sum()))

    @property
    def noise(self) -> float:
        """The same of the noise."""
        return self.sd * math.sqrt(len(self.sizes)) / self.records

    @property
    def reliable(self) -> bool:
        """Nothing noisy is divided by."""
        return True

    def fixed(self, level: float) -> tuple[float, float]:
        """Return the least and the largest Σ |gap| of all gaps in the ellipsoid of Scheffé."""
        variances = self.variances + (self.sd / self.records) ** 2
        radius, sizes = chi_squared(len(self.sizes), level), np.abs(self.gaps)
        low, high = 0.0, float(sizes.max() / variances.min()) + 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            used = float((np.minimum(sizes, middle * variances) ** 2 / variances).sum())
            low, high = (middle, high) if used <= radius else (low, middle)
        least = float(np.maximum(0.0, sizes - high * variances).sum())
        return least, min(1.0, float(sizes.sum()) + math.sqrt(radius * float(variances.sum())))

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return Σ |gap| ± what all signs of all gaps leave possible: numbers in [−1, 1], 2^parts means of them."""
        parts = len(self.sizes)
        sampling = math.sqrt(2.0 * (parts * math.log(2.0) + exponent) / self.records)
        half = sampling + two_sided(2.0 * beta / 2.0**parts) * self.noise
        total = float(np.abs(self.gaps).sum())
        return min(1.0, max(0.0, total - half)), min(1.0, total + half)


def within(a: float, b: float, variance: Floats) -> tuple[float, float]:
    """Return all x in [0, 1] with (a − b·x)² ≤ v₀ + v₁·x + v₂·x², for a/b in [0, 1].

    >>> [round(end, 3) for end in within(50.0, 100.0, 1.96**2 * np.array([0.0, 100.0, -100.0]))]
    [0.404, 0.596]
    """
    square, half, constant = b * b - variance[2], -a * b - variance[1] / 2.0, a * a - variance[0]
    inside = half * half - square * constant
    if square <= 0.0 or inside < 0.0:
        return WHOLE
    low, high = ((-half + sign * math.sqrt(inside)) / square for sign in (-1.0, 1.0))
    return max(0.0, float(low)), min(1.0, float(high))


def chi_squared(freedom: int, level: float) -> float:
    """Return the quantile of the χ² distribution.

    >>> round(chi_squared(10, 0.95), 2)
    18.31
    """
    from scipy.stats import chi2

    return float(chi2.ppf(level, freedom))


def _chernoff(right: float, wrong: float, exponent: float) -> tuple[float, float]:
    total = right + wrong
    return WHOLE if total <= 0.0 else chernoff(right / total, total, exponent)


class KnownOfGroup(Protocol):
    """What is known of one group, or of all records."""

    @property
    def records(self) -> int | None:
        """How many records there are; None where that is private."""

    @property
    def total(self) -> tuple[float, float]:
        """How many records there are as far as is known, and the sd of the noise on that."""

    @property
    def sd(self) -> float:
        """Of the noise on a number of records, or on what stands for one."""


Kind = Literal["right", "classes", "ranks", "chances", "squares"]
BINS = 10
SUBPARTS: dict[Kind, int] = {"right": 1, "classes": 2, "ranks": 1, "chances": BINS, "squares": 1}


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums:
    """What is known of one group, or of all records: noisy sums of labels by part, and what depends on no label.

    Attributes
    ----------
    sums : float array
        Of `ranks` the number of positive records and the sum of their centred ranks; else the positive (or right)
        records of each part.
    sds : float array
        Of the noise on each.
    sizes : int array
        How many records each part has.
    chances : float array
        The sum of the chances of each part.
    """

    sums: Floats
    sds: Floats
    sizes: NDArray[np.int64]
    chances: Floats

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.sizes.sum())

    @property
    def total(self) -> tuple[float, float]:
        """The number of records, without noise."""
        return float(self.records), 0.0

    @property
    def sd(self) -> float:
        """Of the noise on a number of records."""
        return float(self.sds[0])

    @property
    def outcomes(self) -> Outcomes:
        """The records of each part that are not positive (or right), and those that are: one noise moves both."""
        inside = np.clip(self.sums, 0.0, self.sizes)
        counts = np.asarray(np.stack([self.sizes - inside, inside], axis=1).ravel(), dtype=np.float64)
        return counts, np.asarray(np.kron(np.eye(len(inside)), [[-1.0], [1.0]]), dtype=np.float64), self.sd


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric by its name."""

    name: str
    kind: Kind
    greater_is_better: bool
    read: Callable[[Any], PartReading]
    unread: tuple[str, ...] = ()
    """The fields of a record's ``released`` that hold sums, which this metric is not read from."""


Outcomes = tuple[Floats, Floats, float]
"""Noisy numbers of records by part and outcome, how far each noise moves each, and the sd of the noises."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedOutcomes:
    """What is known of one group, or of all records, where their number is private.

    Attributes
    ----------
    counts : float array
        The noisy number of records of each part with either outcome: first those that are not right, or not positive.
    sd : float
        Of the noise on each.
    """

    counts: Floats
    sd: float

    @property
    def records(self) -> None:
        """Their number is private."""

    @property
    def total(self) -> tuple[float, float]:
        """The noisy number of records, and the sd of its noise."""
        return float(self.counts.sum()), self.sd * math.sqrt(len(self.counts))

    @property
    def outcomes(self) -> Outcomes:
        """The counts; each has a noise of its own."""
        return np.maximum(self.counts, 0.0), np.eye(len(self.counts)), self.sd


def _share(known: Any, *, right: list[int], wrong: list[int], doubled: bool = False) -> Share:
    """Return right/(right + wrong) of records by their part and outcome."""
    counts, moves, sd = known.outcomes
    plus, minus = (tuple(moves[places].sum(axis=0).tolist()) for places in (right, wrong))
    return Share(float(counts[right].sum()), float(counts[wrong].sum()), plus, minus, sd, doubled=doubled)


# Of classes: true negatives, false negatives, false positives, true positives.
_TN, _FN, _FP, _TP = range(4)


_right = partial(_share, right=[1], wrong=[0])
_wrong = partial(_share, right=[0], wrong=[1])
_precision = partial(_share, right=[_TP], wrong=[_FP])
_recall = partial(_share, right=[_TP], wrong=[_FN])
_specificity = partial(_share, right=[_TN], wrong=[_FP])
_f1 = partial(_share, right=[_TP], wrong=[_FP, _FN], doubled=True)


def _balanced(known: Any) -> MeanOfTwo:
    return MeanOfTwo(_recall(known), _specificity(known))


def _roc_auc(known: GroupSums) -> RankedPairs:
    records = int(known.sizes.sum())
    positives = min(float(records), max(0.0, float(known.sums[0])))
    return RankedPairs(float(known.sums[1]), positives, records, float(known.sds[1]), float(known.sds[0]))


def _calibration(known: GroupSums) -> Gaps:
    some = known.sizes > 0
    lists = (numbers[some].tolist() for numbers in (known.sums, known.chances, known.sizes))
    positives, chances, sizes = (tuple(numbers) for numbers in lists)
    return Gaps(positives, chances, sizes, float(known.sds[0]))


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "right", True, _right),
        Measure("zero_one_loss", "right", False, _wrong),
        Measure("precision", "classes", True, _precision, ("sums.*.0.*",)),
        Measure("recall", "classes", True, _recall),
        Measure("specificity", "classes", True, _specificity),
        Measure("f1", "classes", True, _f1),
        Measure("balanced_accuracy", "classes", True, _balanced),
        Measure("roc_auc", "ranks", True, _roc_auc),
        Measure("calibration_error", "chances", False, _calibration),
        Measure("r2", "squares", True, Determination),
        Measure("mean_squared_error", "squares", False, MeanSquare, ("sums.**",)),
    )
}


def parse_measures(metric: str | Sequence[str]) -> tuple[Measure, ...]:
    """Return the metrics of one name or several of one kind (HG171).

    >>> [one.name for one in parse_measures(["f1", "recall"])]
    ['f1', 'recall']
    """
    names = [metric] if isinstance(metric, str) else list(metric)
    names = [name.replace("-", "_") if isinstance(name, str) else name for name in names]
    names = ["zero_one_loss" if name == "zero_one" else name for name in names]
    unknown = [name for name in names if name not in MEASURES]
    if unknown or not names or len(set(names)) < len(names):
        raise ParameterError(
            "HG171",
            rule="A look by parts tells one or more of " + ", ".join(MEASURES) + ".",
            finding=f"Found {format_argument(unknown[0])}." if unknown else "Found none, or one twice.",
            remedy="For brier and log-loss, make a test set with this metric. No look was taken.",
        )
    measures = tuple(MEASURES[name] for name in names)
    if len({measure.kind for measure in measures}) > 1:
        raise ParameterError(
            "HG171",
            rule="All metrics of one look must be computed from the same predictions and the same noisy numbers.",
            finding="The requested metrics need different predictions or different noisy numbers.",
            remedy="Take a look for each kind: "
            + "; ".join(
                ", ".join(measure.name for measure in MEASURES.values() if measure.kind == kind) for kind in SUBPARTS
            )
            + ". No look was taken.",
        )
    return measures
