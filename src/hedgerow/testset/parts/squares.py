r"""A look at squared errors: R² and the mean squared error of numbers, from one noisy vector of joint moments.

Labels and predictions are moved into declared bounds and scaled to u, v ∈ [−1, 1]. A record has three features,
a = (u − v)²/4 ∈ [0, 1], u, and c = u², on public grids. One look releases their sums and, at no further price, all
their squares and products (`JointMoments`, presence public). So MSE = 4·E a and R² = 1 − 4·E a/(E c − (E u)²) come with
the covariance of their sampling errors. The noise is 1.8 times that of one sum. R² is told from −1 on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_float
from hedgerow.inference.interval import normal_quantile
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, Of
from hedgerow.mechanisms.laws import GAUSSIAN
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import GridSums, Monomial
from hedgerow.testset.adaptive_bounds import chernoff
from hedgerow.testset.entries import Entries
from hedgerow.testset.mechanisms.look_mechanism import two_sided

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_STEPS = 2**16  # squares of so many steps, of 2³¹ records, fit 63 bits
_PLACES = range(3)
_FIRST: tuple[Monomial, ...] = tuple(((i, 1),) for i in _PLACES)
_PAIRS = tuple(combinations_with_replacement(_PLACES, 2))
_SECOND: tuple[Monomial, ...] = tuple(((i, 2),) if i == j else ((i, 1), (j, 1)) for i, j in _PAIRS)
_SURE = 4.0
_SQUARE, _PRODUCT = 0.5, 0.2  # weights beside the sums
_TELLS = math.sqrt(3.0 / (3.0 + 3.0 * (_SQUARE / 2.0) ** 2 + 3.0 * _PRODUCT**2))
"""What μ is multiplied by, so that this look tells no more of a record than a plain one: its values lie within μ/2."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupMoments:
    """What is known of one group or of all records: means of (a, u, c), the covariance of one record's, the noise's.

    Attributes
    ----------
    means : float array, (3,)
    of_record : float array, (3, 3)
        The noisy covariance of (a, u, c), without directions that the noise made negative.
    of_noise : float array, (3, 3)
        The covariance of the noise on the means.
    sizes : int array, (1,)
    sds : float array, (1,)
        The noise on Σ a.
    half_range : float
        Of labels.
    """

    means: Floats
    of_record: Floats
    of_noise: Floats
    sizes: Integers
    sds: Floats
    half_range: float

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
        """Of the noise on Σ a."""
        return float(self.sds[0])


@dataclass(frozen=True, slots=True, eq=False)
class SquaredParts:
    """Groups of the records as far as their moments are read: their sizes, no record.

    Attributes
    ----------
    groups : tuple of str
    sizes : int array, (groups,)
    bounds : (float, float)
        Of labels.
    """

    groups: tuple[str, ...]
    sizes: Integers
    bounds: tuple[float, float]
    NUMBERS: ClassVar[int] = len(_FIRST + _SECOND)  # of each group
    relation: ClassVar[Relation] = Relation.REPLACE_ONE

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.sizes.sum())

    def asked(self) -> dict[str, Any]:
        """Return what else tells such a look from others."""
        return {"bounds": list(self.bounds)}

    def mechanism(self, mu: float) -> JointMoments:
        """Return the release that costs μ at most, and tells of a record what a plain look of that price may tell."""
        layout = JointLayout((JointFeature(_STEPS),) * 3, "public", len(self.groups))
        sums: dict[Of, float] = {(i,): 1.0 for i in _PLACES}
        sums |= {pair: _SQUARE if pair[0] == pair[1] else _PRODUCT for pair in _PAIRS}
        weights = JointWeights(3, {}, sums)
        return joint_moments(GAUSSIAN, layout, weights, mu * _TELLS, Relation.REPLACE_ONE)

    def of_groups(self, described: JointMoments, sums: Floats) -> list[GroupMoments]:
        """Return what noisy moments, (groups, 9), tell of each group and, last, of all records."""
        noise = described.reading((*_FIRST, *_SECOND), n=1.0).covariance[:3, :3]
        groups = [self._of_group(moments, size, noise) for moments, size in zip(sums, self.sizes.tolist(), strict=True)]
        return [*groups, self._of_group(sums.sum(axis=0), int(self.sizes.sum()), len(sums) * noise)]

    def _of_group(self, moments: Floats, size: int, noise: Floats) -> GroupMoments:
        """Read sums of f = 2t/steps − 1: a and c are (1 + f)/2, u is f."""
        scale = np.array([0.5, 1.0, 0.5])
        mean, second = moments[:3] / size, np.zeros((3, 3))
        for (i, j), product in zip(_PAIRS, moments[3:] / size, strict=True):
            second[i, j] = second[j, i] = product
        both = np.outer(scale, scale)
        values, vectors = np.linalg.eigh((second - np.outer(mean, mean)) * both)
        of_record = (vectors * np.maximum(values, 0.0)) @ vectors.T
        means = np.where(scale == 1.0, mean, (1.0 + mean) / 2.0)
        of_noise, half = noise * both / size**2, (self.bounds[1] - self.bounds[0]) / 2.0
        return GroupMoments(means, of_record, of_noise, np.array([size]), np.sqrt(noise[:1, 0]) / 2.0, half)

    def record(self, sums: Floats) -> dict[str, Any]:
        """Return the groups and their noisy moments as plain JSON data."""
        groups = {"groups": list(self.groups), "sizes": self.sizes.tolist()}
        return {"of": "squares", **groups, "bounds": list(self.bounds), "sums": sums.tolist()}

    @classmethod
    def from_record(cls, released: Mapping[str, Any]) -> tuple[SquaredParts, Floats]:
        """Return the groups and their moments from their record."""
        low, high = map(float, released["bounds"])
        parts = cls(tuple(released["groups"]), np.array(released["sizes"], dtype=np.int64), (low, high))
        return parts, np.array(released["sums"], dtype=np.float64).reshape(len(parts.groups), cls.NUMBERS)


@dataclass(frozen=True, slots=True, eq=False)
class Squares(SquaredParts):
    """What a look at squared errors asks.

    Attributes
    ----------
    group : int array
        Of each record.
    scaled : float array
        v: predictions within the bounds, from −1 to 1.
    """

    group: Integers
    scaled: Floats

    @classmethod
    def of(cls, sent: Entries, groups: tuple[tuple[str, ...], Integers], bounds: Any) -> Squares:
        """Return what is asked (HG171 where the bounds are none)."""
        given = [as_float(end) for end in bounds] if isinstance(bounds, (list, tuple)) else []
        ends = [end for end in given if end is not None and math.isfinite(end)]
        if len(given) != 2 or len(ends) != 2 or not ends[0] < ends[1]:
            raise ParameterError(
                "HG171",
                rule="Squared errors need bounds of the labels, because the noise is proportional to the square of "
                "these bounds.",
                finding="No bounds were given, or the bounds are not two numbers with the lower number first.",
                remedy="Give declared bounds, for example bounds=(0, 100), which are not read from the labels. No look "
                "was taken.",
            )
        names, group = groups
        sizes = np.bincount(group, minlength=len(names))
        squares = cls(names, sizes, (ends[0], ends[1]), group, np.zeros(0))
        return replace(squares, scaled=squares.within(sent.numbers))

    def placed(self, predictions: Entries, groups: Entries | None) -> Squares:
        """Return the same: the group of each record follows from what was sent."""
        return self

    def within(self, numbers: Floats) -> Floats:
        """Return numbers moved into the bounds, from −1 to 1; what is no number stays none."""
        low, high = self.bounds
        return np.asarray((np.clip(numbers, low, high) - (low + high) / 2.0) * 2.0 / (high - low))

    def places(self, labels: Floats) -> Integers:
        """Return the grid integers of (a, u, c), (records, 3); a label that is no number counts as the worst error."""
        missing, u = np.isnan(labels), np.nan_to_num(self.within(labels))
        a = np.where(missing, 1.0, np.square(u - self.scaled) / 4.0)
        return np.asarray(np.rint(np.stack([a, (1.0 + u) / 2.0, u * u], axis=1) * _STEPS), dtype=np.int64)

    def sums(self, labels: Floats, described: JointMoments) -> NDArray[np.object_]:
        """Return the exact integers to be released."""
        placed, sums = self.places(labels), {}
        for monomial in described.monomials():
            product = np.ones(len(placed), dtype=np.int64)
            for i, power in monomial:
                product = product * placed[:, i] ** power
            sums[monomial] = np.array(
                [int(product[self.group == group].sum()) for group in range(len(self.groups))], dtype=object
            )
        return described.exact(GridSums(sums, np.zeros(len(self.groups), dtype=np.int64), 0))

    def draw(self, described: JointMoments, labels: Floats, noise: NoiseSource) -> Floats:
        """Draw the noise, once, and return the noisy moments of each group, (groups, 9)."""
        released = described.noisy(self.sums(labels, described), noise, cells=({},) * len(self.groups)).values
        moments = [
            described.reading((*_FIRST, *_SECOND), n=float(size)).values(released[cell : cell + 1])[0]
            for cell, size in enumerate(self.sizes.tolist())
        ]
        return np.stack(moments)


@dataclass(frozen=True)
class MeanSquare:
    """4·E a in the square of the labels' unit."""

    moments: GroupMoments

    @property
    def _unit(self) -> float:
        return 4.0 * self.moments.half_range**2

    @property
    def ends(self) -> tuple[float, float]:
        """From 0 to the square of the range."""
        return 0.0, self._unit

    @property
    def value(self) -> float:
        """The mean square."""
        return self._unit * min(1.0, max(0.0, float(self.moments.means[0])))

    @property
    def sampling(self) -> float:
        """The sampling error."""
        return self._unit * math.sqrt(self.moments.of_record[0, 0] / float(self.moments.sizes[0]))

    @property
    def noise(self) -> float:
        """The error of the noise."""
        return self._unit * math.sqrt(self.moments.of_noise[0, 0])

    @property
    def reliable(self) -> bool:
        """Nothing noisy is divided by."""
        return True

    def fixed(self, level: float) -> tuple[float, float]:
        """Return the normal interval."""
        half = normal_quantile(level) * math.hypot(self.sampling, self.noise)
        return max(0.0, self.value - half), min(self._unit, self.value + half)

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return the Chernoff–Hoeffding bound."""
        low, high = bounded(self.moments, exponent, beta)[0]
        return self._unit * low, self._unit * high


@dataclass(frozen=True)
class Determination:
    """1 − ρ, ρ = 4·E a/(E c − (E u)²), from −1 on."""

    moments: GroupMoments
    ends = (-1.0, 1.0)

    @property
    def spread(self) -> float:
        """E c − (E u)², without what the noise adds."""
        _, u, c = self.moments.means
        return float(c - u * u + self.moments.of_noise[1, 1])

    @property
    def reliable(self) -> bool:
        """Whether the variance of the labels exceeds 4 sds of its noise."""
        u = float(self.moments.means[1])
        gradient = np.array([0.0, -2.0 * u, 1.0])
        return self.spread > _SURE * math.sqrt(float(gradient @ self.moments.of_noise @ gradient))

    @property
    def _ratio(self) -> float:
        return min(2.0, max(0.0, 4.0 * float(self.moments.means[0]) / self.spread)) if self.reliable else 1.0

    @property
    def value(self) -> float:
        """1 − ρ."""
        return 1.0 - self._ratio

    @property
    def sampling(self) -> float:
        """The error of 4a − ρ(c − u²), over the variance."""
        return self._error(self.moments.of_record / float(self.moments.sizes[0]))

    @property
    def noise(self) -> float:
        """The same of the noise."""
        return self._error(self.moments.of_noise)

    def fixed(self, level: float) -> tuple[float, float]:
        """Return 1 − all ρ with (4a − ρ·spread)² ≤ z²·Var (Fieller)."""
        if not self.reliable:
            return self.ends
        covariance, u = (
            self.moments.of_record / float(self.moments.sizes[0]) + self.moments.of_noise,
            float(self.moments.means[1]),
        )
        base, slope = np.array([4.0, 0.0, 0.0]), np.array([0.0, 2.0 * u, -1.0])
        z2, a, b = normal_quantile(level) ** 2, 4.0 * max(0.0, float(self.moments.means[0])), self.spread
        square = b * b - z2 * slope @ covariance @ slope
        half, constant = -a * b - z2 * base @ covariance @ slope, a * a - z2 * base @ covariance @ base
        inside = half * half - square * constant
        if square <= 0.0 or inside < 0.0:
            return self.ends
        low, high = ((-half + sign * math.sqrt(inside)) / square for sign in (-1.0, 1.0))
        return max(-1.0, 1.0 - float(high)), min(1.0, 1.0 - max(0.0, float(low)))

    def fitted(self, exponent: float, beta: float) -> tuple[float, float]:
        """Return the ends for all three means within Chernoff–Hoeffding bounds at once."""
        (least, most), u, c = bounded(self.moments, exponent + math.log(3.0), beta / 3.0)
        ends = [2.0 * end - 1.0 for end in u]
        squares = (0.0 if ends[0] < 0.0 < ends[1] else min(end * end for end in ends), max(end * end for end in ends))
        low, high = c[0] - squares[1], c[1] - squares[0]
        worst = 2.0 if low <= 0.0 else min(2.0, 4.0 * most / low)
        best = 0.0 if high <= 0.0 else min(2.0, 4.0 * least / high)
        return 1.0 - worst, 1.0 - best

    def _error(self, covariance: Floats) -> float:
        gradient = np.array([4.0, 2.0 * self._ratio * float(self.moments.means[1]), -self._ratio])
        return math.sqrt(float(gradient @ covariance @ gradient)) / max(self.spread, 1e-12) if self.reliable else 1.0


def bounded(moments: GroupMoments, exponent: float, beta: float) -> list[tuple[float, float]]:
    """Return bounds of E a, (1 + E u)/2 and E c, each with tails e^−exponent and `beta`; grids err by half a step."""
    bounds, z, scale = [], two_sided(beta), np.array([1.0, 0.5, 1.0])
    places = np.array([moments.means[0], (1.0 + moments.means[1]) / 2.0, moments.means[2]])
    for place, h in zip(places, z * scale * np.sqrt(np.diag(moments.of_noise)) + 0.5 / _STEPS, strict=True):
        low, high = (min(1.0, max(0.0, float(end))) for end in (place - h, place + h))
        n = float(moments.sizes[0])
        bounds.append((chernoff(low, n, exponent)[0], chernoff(high, n, exponent)[1]))
    return bounds
