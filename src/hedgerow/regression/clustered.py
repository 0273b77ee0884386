"""A regression of units of several rows: rows are added up, and each unit is one cluster of dependent residuals.

**The first step** releases what the fit of rows does: their number, Σ f_i and Σ f_i f_j, over at most L rows of a unit.
A unit adds L times a mean of what rows add and of zeros, so it moves no more than L equal rows of one cell
(`JointLayout.most_rows`), and the price is that of rows which are there or not, with L times the noise.

**The second step** tells the middle of the sandwich A⁻¹ΩA⁻¹/N with Ω = Σ_u s_u s_u'/N over units, s_u = Σ x e over the
rows of the unit, e = y − x'β̂ at the β̂ and A that the first step made public. Each coordinate of z_u = A^(−½)s_u is
clipped at a public c; with k regressors z_u/(c√k) lies in a ball of length 1. Released are Σ_u z_i z_j.

A unit moves them by the matrices z z' of its cells, at most m = min(L, cells) of them, and two units move them by
‖zz' − ww'‖² ≤ |z|⁴ + |w|⁴ in a cell, as (z'w)² ≥ 0. So the price is m times that of one record in a ball.

**The clip** is as large as keeps the noise below a twentieth of the variance of every coefficient, and at least six
standard deviations of a unit's score if residuals are the same in all rows of a unit. Units are taken to have 1 to L
rows with even chances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import SCORES, SumsQuery
from hedgerow.errors import UncertifiedError
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import UnitLimit
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN
from hedgerow.regression.coefficient_question import CoefficientQuestion
from hedgerow.regression.features import LinearFeatures
from hedgerow.regression.formula import Monomial
from hedgerow.regression.least_squares import LeastSquaresFit
from hedgerow.regression.sandwich import PRICE_SHARES, Residual, RobustFit, forecast_fit
from hedgerow.release.designs.joint.chooser import JointChoice
from hedgerow.resampling.counted_values import GridSums
from hedgerow.resampling.counted_values import Monomial as Moment

Floats = NDArray[np.float64]
Exact = NDArray[np.object_]
KINDS_OF_CLUSTERS = {"HC0": "CR0", "HC1": "CR1"}
_BITS, _BITS_OF_SCORES = 28, 20
"""Of a product of columns: a unit's total of two such fits 62 bits, and leaves room for the factors of a score."""
_BITS_OF_A_SUM, _BITS_OF_A_CLIP = 58, 52  # of the sum of a unit's totals times their factors; doubles hold a clip
_LEAST_CLIP, _NOISE = 6.0, 0.05


@dataclass(frozen=True)
class TotalsOfUnits:
    """What is added up of a linear model over the rows of a unit, and over units.

    Attributes
    ----------
    model : LinearFeatures
        On grids that leave room for the totals.
    most_rows : int
        L.
    """

    model: LinearFeatures
    most_rows: int

    @classmethod
    def of(cls, model: LinearFeatures, most_rows: int, bits: int = _BITS) -> TotalsOfUnits:
        """Return those of a model (HG402 with a ball)."""
        if model.ball is not None:
            raise UncertifiedError(
                "HG402",
                rule="A regression for units of several rows has no option clip_norm.",
                finding="The option `clip_norm` was given.",
                remedy="Leave `clip_norm` out, or bring the data to one row per unit first.",
                shell="Leave --clip-norm out, or bring the data to one row per unit first.",
            )
        return cls(replace(model, bits=min(model.bits, bits)), most_rows)

    @cached_property
    def products(self) -> tuple[Monomial, ...]:
        """The products of columns whose totals are asked for, in the order of `LinearFeatures.known`."""
        return tuple(self.model.known)[1:]

    def query(self, by: tuple[Category, ...], missing: Missing, unit: UnitLimit) -> SumsQuery:
        """Return the question for the number of rows and the sums of products over them."""
        values = tuple(map(self.model.value, self.products))
        alone = tuple(((place, 1),) for place in range(len(values) + 1))
        return SumsQuery(values, alone, by, frozenset(range(len(values))), unit, missing)

    @cached_property
    def lines(self) -> list[tuple[int, int, int]]:
        """(a, b, M) of the number of rows and each product: over rows, M times it is a·total + b·rows, all whole."""
        lines = [(1, 0, 1)]
        for product in self.products:
            size = self.model.value(product).size - 1
            signed = any(power % 2 for _, power in product.powers)
            if not signed:
                lines.append((1, 0, size))
            elif len(product.levels) + product.degree == 1:
                lines.append((2, -size, size))
            else:
                lines.append((1, -size // 2, size // 2))
        return lines

    def exact(self, mechanism: JointMoments, answer: GridSums) -> Exact:
        """Return the whole numbers that the first step releases: (cells, numbers)."""
        size, known, features = len(self.products), self.model.known, self.model.features
        rows = answer.sums[((size, 1),)].astype(object)
        sums = [rows, *(answer.sums[((place, 1),)].astype(object) for place in range(size))]
        sums = [a * total + b * rows for total, (a, b, _) in zip(sums, self.lines, strict=True)]
        counts = {number.of for number in mechanism.coordinates if number.kind == "count"}
        scales = []
        for feature, (alpha, beta), grid in zip(features, self.model.scales, mechanism.layout.features, strict=True):
            scales.append((int(alpha) * grid.steps // self.lines[known[feature]][2], int(beta) * grid.steps))
        columns = []
        for number in mechanism.coordinates:
            factors = [(features[i], *scales[i]) for i in number.of]
            if len(factors) < 2:
                columns.append(
                    rows if not factors else factors[0][1] * sums[known[factors[0][0]]] + factors[0][2] * rows
                )
                continue
            (first, a, b), (second, c, d) = factors
            made, (i, j) = first * second, number.of
            both = 0 if made is None else a * c * sums[known[made]]
            offset = mechanism.layout.offset(i, (), counts) if i == j else 0
            columns.append(both + a * d * sums[known[first]] + c * b * sums[known[second]] + (b * d - offset) * rows)
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Scores:
    """The scores of units at public coefficients: how they are asked for, released and read.

    Attributes
    ----------
    totals : TotalsOfUnits
        On grids that leave room for the factors.
    """

    totals: TotalsOfUnits

    @classmethod
    def of(cls, model: LinearFeatures, most_rows: int) -> Scores:
        """Return those of a model."""
        return cls(TotalsOfUnits.of(model, most_rows, _BITS_OF_SCORES))

    @property
    def size(self) -> int:
        """How many regressors there are."""
        return len(self.totals.model.regressors)

    @property
    def steps(self) -> int:
        """The length of the ball in the whole numbers of scores, even."""
        return 2 * math.ceil(math.sqrt(self.size) * SCORES / 2.0)

    def layout(self, cells: int) -> JointLayout:
        """Return the scores as the mechanism sees them."""
        features = (JointFeature(self.steps),) * self.size
        return JointLayout(features, "private", cells, ball=self.size, most_rows=self.totals.most_rows)

    @property
    def weights(self) -> JointWeights:
        """Even weights of the products."""
        pairs = combinations_with_replacement(range(self.size), 2)
        return JointWeights(self.size, {}, {(i, j): 1.0 if i == j else math.sqrt(2.0) for i, j in pairs})

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The products, in the words of a release of joint moments."""
        return tuple(tuple((i, of.count(i)) for i in sorted(set(of))) for of in self.weights.sums)

    def mechanism(self, precision: float, asked: CoefficientQuestion) -> JointMoments:
        """Return what is drawn at a precision."""
        return joint_moments(GAUSSIAN, self.layout(asked.layout.cells), self.weights, precision, asked.relation)

    def noise_of_square(self, mechanism: JointMoments) -> float:
        """Return the standard deviation of the noise of Σ (a'z)² over units, |a| = 1, where the clip is 1."""
        place = [number.of for number in mechanism.coordinates].index((0, 0))
        return float(mechanism.noise_sds()[place]) / SCORES**2

    def clip_of(self, fit: LeastSquaresFit, mechanism: JointMoments) -> float:
        """Return the clip of the coordinates of scores, in the unit of the response, from released numbers alone."""
        reach = Residual.of(self.totals.model, fit).reach
        most = self.totals.most_rows * reach * float(np.abs(fit.whitener).sum(axis=1).max())
        if not fit.positive:
            return most
        sampling, n = np.diag(fit.sampling_covariance), max(fit.moments.n, 1.0)
        # Of each coefficient, the noise of its sampling variance over that variance is noise·clip²/(N σ̂²).
        ratio = float(np.min((sampling + np.diag(fit.noise_covariance)) / np.maximum(sampling, 1e-300)))
        wide = math.sqrt(_NOISE * ratio * n * fit.scale / self.noise_of_square(mechanism))
        alike = math.sqrt(fit.raised_scale) * spread_of_rows(self.totals.most_rows)
        return min(most, max(wide, _LEAST_CLIP * alike, 2.0**-9 * reach))

    def _factors(self, fit: LeastSquaresFit, clip: float) -> tuple[list[tuple[int, ...]], int]:
        """Return each coordinate as a sum of a unit's totals times whole factors, and the bits of the clip there."""
        model, whitener, residual = self.totals.model, fit.whitener, Residual.of(self.totals.model, fit)
        alpha, beta = np.array(model.scales).T
        e = np.concatenate([[residual.constant + float(residual.slopes @ beta)], residual.slopes * alpha])
        exact = np.zeros((len(whitener), 1 + len(self.totals.products)))
        for row, places in enumerate(model.table):
            for column, place in enumerate(places):
                exact[:, max(place, 0)] += whitener[:, row] * e[column] * (place >= 0)
        largest = self.totals.most_rows * float(np.abs(exact).sum(axis=1).max())
        bits = min(_BITS_OF_A_CLIP, _BITS_OF_A_SUM - math.ceil(math.log2(largest / clip)))
        factors = []
        for own in exact:
            each = [round(math.ldexp(c / clip, bits) / m) for c, (_, _, m) in zip(own, self.totals.lines, strict=True)]
            parts = list(zip(each, self.totals.lines, strict=True))
            factors.append((*(c * a for c, (a, _, _) in parts[1:]), sum(c * b for c, (_, b, _) in parts) + each[0]))
        return factors, bits

    def query(
        self, fits: Sequence[tuple[LeastSquaresFit, float]], by: tuple[Category, ...], missing: Missing, unit: UnitLimit
    ) -> SumsQuery:
        """Return the question about the scores at the coefficients and the clip of each cell."""
        made = [self._factors(fit, clip) for fit, clip in fits]
        bits = min(own for _, own in made)
        scores = tuple(tuple(factor >> (own - bits) for factor in row) for factors, own in made for row in factors)
        places = range(len(fits) * self.size)
        alone = [((place, 1),) for place in places]
        pairs = [
            _product(first, second)
            for first, second in combinations_with_replacement(places, 2)
            if first // self.size == second // self.size
        ]
        asked = self.totals.query(by, missing, unit)
        return replace(asked, monomials=((), *alone, *pairs), scores=scores, score_bits=bits)

    def exact(self, mechanism: JointMoments, answer: GridSums, cell: int) -> Exact:
        """Return the whole numbers of a cell that are released: Σ q_i q_j over units, q the centred score."""
        first, columns = cell * self.size, []
        for i, j in ((first + number.of[0], first + number.of[1]) for number in mechanism.coordinates):
            asked: tuple[Moment, ...] = _product(i, j), ((i, 1),), ((j, 1),), ()
            both, one, other, every = (int(answer.sums[moment][cell]) for moment in asked)
            columns.append(4 * both - 2 * SCORES * (one + other) + SCORES**2 * every)
        return np.array(columns, dtype=object)

    def middle(self, sums: Floats, fit: LeastSquaresFit, clip: float) -> Floats:
        """Return Σ s_u s_u' over (1, P_1, …), (p, p, …), from the products of coordinates, (products, …)."""
        whole = np.zeros((self.size, self.size, *sums.shape[1:]))
        for (i, j), total in zip(self.weights.sums, sums, strict=True):
            whole[i, j] = whole[j, i] = total
        back = np.linalg.pinv(fit.whitener) * (clip * self.steps / SCORES)
        return np.asarray(np.einsum("ai,ij...,bj->ab...", back, whole, back))


def _product(first: int, second: int) -> Moment:
    return ((first, 2),) if first == second else ((first, 1), (second, 1))


def spread_of_rows(most_rows: int) -> float:
    """Return the root of the mean square of 1, …, L: a unit's score, where its rows are alike, over that of a row.

    >>> spread_of_rows(1), round(spread_of_rows(8), 3)
    (1.0, 5.05)
    """
    return math.sqrt((most_rows + 1.0) * (2.0 * most_rows + 1.0) / 6.0)


def design_effect(most_rows: int) -> float:
    """Return what a forecast takes clusters to make of a sampling variance: half of the variation is between units.

    A unit has 1 to L rows with even chances, so a row has (2L + 1)/3 in its unit on average.

    >>> design_effect(1), design_effect(4)
    (1.0, 2.0)
    """
    return 1.0 + 0.5 * ((2.0 * most_rows + 1.0) / 3.0 - 1.0)


def rows_of_unit(most_rows: int) -> float:
    """Return how many rows a unit has on average, by what a forecast takes."""
    return (1.0 + most_rows) / 2.0


@dataclass(frozen=True)
class ClusterStep:
    """The second step of a regression of units: its kind, its share of the price."""

    kind: str
    scores: Scores
    share: float

    def precisions(self, precision: float) -> tuple[float, float]:
        """Return the μ of each step: μ² is what is shared."""
        return precision * math.sqrt(1.0 - self.share), precision * math.sqrt(self.share)

    def mechanism(self, precision: float, asked: CoefficientQuestion) -> JointMoments:
        """Return what is drawn at a precision of its own."""
        return self.scores.mechanism(precision, asked)


def choose_cluster_step(
    kind: str, asked: CoefficientQuestion, chosen: JointChoice, model: LinearFeatures, most_rows: int
) -> ClusterStep:
    """Return the second step for which intervals are forecast to be shortest, from public facts alone."""
    scores, lines = Scores.of(model, most_rows), []
    noise = scores.noise_of_square(scores.mechanism(1.0, asked)) / chosen.precision
    for fit in (forecast_fit(asked, chosen, records) for records in asked.guessed):
        plain = replace(fit, moments=replace(fit.moments, noise=np.zeros((1, *fit.moments.second.shape))))
        sampling = np.diag(plain.sampling_covariance)
        raised = 1.0 + float(np.linalg.norm(fit.scale_parts))
        unsure = sampling * noise * raised * (_LEAST_CLIP * spread_of_rows(most_rows)) ** 2 / asked.n
        lines.append((design_effect(most_rows) * sampling, np.diag(fit.noise_covariance), unsure))

    def length(share: float) -> float:
        return float(np.mean([_length(share, *line) for line in lines]))

    return ClusterStep(kind, scores, min(PRICE_SHARES, key=length))


def _length(share: float, sampling: Floats, noise: Floats, unsure: Floats) -> float:
    """Return the mean logarithm of the squared lengths of intervals, up to a constant."""
    from hedgerow.special import stdtrit

    total, own = sampling + noise / (1.0 - share), unsure / math.sqrt(share)
    freedom = np.maximum(1.0, 2.0 * (total / np.maximum(own, 1e-6 * total)) ** 2)
    return float(np.mean(np.log(total + 0.5 * own) + 2.0 * np.log(stdtrit(np.minimum(freedom, 1e6), 0.975))))


@dataclass(frozen=True, eq=False)
class ClusteredFit(RobustFit):
    """A fit whose sampling errors are those of the sandwich over units; `middle` is Σ s_u s_u'/N.

    Attributes
    ----------
    most_rows : int
        N/L is a lower bound on the number of units, by which errors of few units are raised.
    """

    most_rows: int = 1

    @cached_property
    def cut(self) -> float:
        """0: what the clip of scores takes off is not known."""
        return 0.0

    @property
    def _units(self) -> float:
        return max(2.0, self.moments.n / self.most_rows)

    @cached_property
    def _factor(self) -> float:
        """What the middle is multiplied by: the rows, the few units (CR1), and the unit of the response."""
        n, k = max(self.moments.n, 1.0), len(self.rows)
        few = self._units / (self._units - 1.0) * (n - 1.0) / (n - k) if self.kind == "CR1" and n > k + 1.0 else 1.0
        return few / n / self._size**2

    @property
    def freedom(self) -> float:
        """Units less 1, at least 1."""
        return max(1.0, self._units - 1.0)

    @property
    def is_unsure(self) -> bool:
        """Whether the noise of a sampling variance is half as large as the whole variance, so that intervals grow."""
        whole = np.diag(self.sampling_covariance) + np.diag(self.noise_covariance)
        return self.reliable and bool(np.any(self.unsure > 0.5 * whole))


@dataclass(frozen=True, eq=False)
class ClusterRelease:
    """The noisy numbers of the second step of a cell: Σ over units of products of scores.

    Attributes
    ----------
    kind : "CR0" or "CR1"
    mechanism : JointMoments
        How the numbers are read.
    clip : float
        Of each coordinate of a whitened score, in the unit of the response.
    released : float array
    """

    kind: str
    mechanism: JointMoments
    clip: float
    released: Floats

    def robust_fit(self, fit: LeastSquaresFit, model: LinearFeatures) -> ClusteredFit:
        """Return a fit with the errors that these numbers tell."""
        most_rows, n = self.mechanism.layout.most_rows or 1, max(fit.moments.n, 1.0)
        scores = Scores.of(model, most_rows)
        reading = self.mechanism.reading(scores.moments)
        middle = scores.middle(reading.values(self.released[None, :])[0], fit, self.clip) / n
        noise = np.ascontiguousarray(np.moveaxis(scores.middle(reading.mixing, fit, self.clip) / n, 2, 0))
        return ClusteredFit(
            *(fit.moments, fit.rows, fit.response, fit.constant, middle, noise, self.kind),
            most_rows=most_rows,
            shrinks=fit.shrinks,
        )

    def notes(self, fit: RobustFit) -> tuple[str, ...]:
        """Return what a reader must know, in sentences."""
        sentence = (
            f"Standard errors are cluster-robust ({self.kind}): residuals of one unit's rows may depend on each other. "
            f"Scores of units were clipped at {self.clip:.4g} for them."
        )
        long = "The noise of the second step is not small beside some variances: intervals are long."
        return (sentence, long) if fit.is_unsure else (sentence,)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"clip": self.clip, "released": self.released.tolist()}


def clusters_of(
    record: Mapping[str, Any], kind: str, parts: Sequence[AtomicMechanism], model: LinearFeatures
) -> ClusterRelease:
    """Return the second step of a record; what is none raises LookupError, TypeError or ValueError."""
    first, mechanism = (JointMoments.of_record(part) for part in parts[:2])
    released, clip = np.array(record["released"], dtype=np.float64), float(record["clip"])
    layout = Scores.of(model, first.layout.most_rows or 1).layout(first.layout.cells)
    if kind not in KINDS_OF_CLUSTERS.values() or mechanism.layout != layout or not 0.0 < clip < math.inf:
        raise ValueError
    if released.shape != (len(mechanism.names),):
        raise ValueError
    return ClusterRelease(kind, mechanism, clip, released)
