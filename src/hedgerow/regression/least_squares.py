"""Least squares from noisy moments: coefficients, their errors in two parts, and intervals that hold.

Records have a vector P = (1, P_1, …) of which regressors x = QP and the response y = ℓ'P are combinations. What is
released tells B = ΣPP'/N + Σ_z z K_z, the z independent, of mean 0, variance 1 and the law of the noise. With A = QBQ',
b = QBℓ the estimate is β̂ = A⁻¹b. Write v = ℓ − Q'β̂ for the residual, s_z = QK_z v for the noise of its score, and
M = Σ s_z s_z'. Then (docs/methods/regression.md)

=============  =====================================================================================================
noise          Var = A⁻¹MA⁻¹
sampling       σ̂² A⁻¹/N, σ̂² = (v'Bv + tr A⁻¹M)·N/(N − k), 0 where that is negative: v minimises the noisy sum, so
               without the trace it would be too small
bias           β̂ is moved by A⁻¹ Σ_z QK_zQ'A⁻¹s_z, what noise in A does to it on average
interval       of w'β: all numbers whose score lies within the quantile of its own error (Fieller), so that noise in A
               is counted: a score at β is linear in the noise, its variance a square in β. The noise in the moments of
               the other regressors times that of the score, a square in the noise, has its mean and variance counted
=============  =====================================================================================================

The interval is unbounded where the noise hides whether a regressor varies at all, given the others; and where A is not
positive definite. Where the noise swamps the fit it is wide, and the fit is marked unreliable.

What the moments of a linear model are released for: its coefficients, at guessed truths.

Released are Σf of each feature, Σf_i f_j of the pairs that the model needs (`features`), and a count where it is
private. Squares and products have weights of their own by what they are: a square or a product of regressors, a product
with the response, the response's own square. At guessed truths the error of each coefficient is known in closed form
(`moments`), linear in the noise of single numbers; law and weights are those of least forecast error (`chooser`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.relation import Relation
from hedgerow.inference.interval import draws_of, quantiles_of
from hedgerow.mechanisms.joint_numbers import JointLayout
from hedgerow.mechanisms.joint_sensitivity import JointWeights, Of
from hedgerow.mechanisms.laws import GAUSSIAN, Law
from hedgerow.regression.features import LinearFeatures
from hedgerow.release.designs.chooser import (
    Candidate,
    JointChoice,
    LinearFunctions,
    SquaredErrors,
    noise_of_numbers,
    reading_of_numbers,
)
from hedgerow.release.designs.guess import correlations, laws_of, parse_guesses, typical_records

Floats = NDArray[np.float64]
REMARK, UNRELIABLE = 0.25, 1.0
"""From which relative noise of the moment matrix on a remark is made, and from which on a fit is marked unreliable."""
_MOST_DRAWS = 64


def score_interval(
    asked: tuple[Floats, float],
    algebra: tuple[Floats, Floats, Floats],
    spread: Callable[[Floats, float], tuple[float, float]],
) -> tuple[float, float]:
    """Return the values of w'β whose score lies within its quantile: (−∞, ∞) where the noise hides w'β.

    Parameters
    ----------
    asked : (float array, float)
        w, and the estimate of w'β.
    algebra : three float arrays
        A⁻¹; the noise of the score of the estimate by part, (z, k); what each part of the noise adds to A, (z, k, k).
    spread : callable
        From the noise of the score along A⁻¹w, by part, and 1/(w'A⁻¹w): the squared quantile, and the sampling variance
        of that score.
    """
    (w, estimate), (inverse, scores, noise) = asked, algebra
    size = float(w @ inverse @ w)
    direction = inverse @ w / size
    information = 1.0 / size
    own = np.asarray(scores @ direction)
    across = np.einsum("i,zij->zj", direction, noise)
    slope = across @ direction
    # What noise in the matrix of the other regressors moves the score by; that of this one is in its slope.
    others = across @ (inverse - np.outer(direction, direction) / information)
    both = others.T @ scores
    centre = estimate + float(np.trace(both)) / information
    second = float(np.sum((others.T @ others) * (scores.T @ scores)) + np.sum(both * both.T))
    z2, sampling = spread(own, information)
    # All δ with d²δ² ≤ z²[Σ(a_z − δb_z)² + C + σ²d/N].
    bend = information**2 - z2 * float(slope @ slope)
    turn = z2 * float(own @ slope)
    rest = z2 * (float(own @ own) + second + sampling)
    if bend <= 0.0:
        return -math.inf, math.inf
    middle = centre - turn / bend
    reach = math.sqrt(max(0.0, (turn / bend) ** 2 + rest / bend))
    return middle - reach, middle + reach


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    """Noisy second moments of (1, P_1, …).

    Attributes
    ----------
    n : float
        The number of records: public, or noisy.
    second : float array, (p, p)
        ΣPP'/N.
    noise : float array, (z, p, p)
        What each independent part of the noise, of variance 1, adds to them.
    law : str
        The law of the noise.
    census : bool
        Whether the records are all there is to know.
    """

    n: float
    second: Floats
    noise: Floats
    law: str
    census: bool = False


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """The least-squares fit of a response on regressors, each a combination of (1, P_1, …).

    Attributes
    ----------
    moments : RegressionMoments
    rows : float array, (k, p)
        The regressors, in their own units.
    response : float array, (p,)
        The response, in its own unit.
    constant : bool
        Whether a combination of the regressors is constant.
    """

    moments: RegressionMoments
    rows: Floats
    response: Floats
    constant: bool = True

    @cached_property
    def _basis(self) -> tuple[Floats, Floats]:
        """Orthonormal rows Q, and R with rows = RQ: regressors of one size, whatever their units."""
        q, r = np.linalg.qr(self.rows.T)
        return q.T, r.T

    @cached_property
    def _size(self) -> float:
        return float(np.abs(self.response[1:]).max())

    @cached_property
    def _response(self) -> Floats:
        return self.response / self._size

    @cached_property
    def matrix(self) -> Floats:
        """A, the noisy second moments of the scaled regressors."""
        q, _ = self._basis
        return q @ self.moments.second @ q.T

    @cached_property
    def positive(self) -> bool:
        """Whether A is positive definite, and there are more records than regressors."""
        return bool(self.moments.n > len(self.rows) + 1.0 and np.linalg.eigvalsh(self.matrix)[0] > 0.0)

    @cached_property
    def inverse(self) -> Floats:
        """A⁻¹; where A is not positive definite that of the nearest matrix that is, to have some number to show."""
        values, vectors = np.linalg.eigh(self.matrix)
        raised = np.maximum(values, 1e-12 * max(float(np.abs(values).max()), 1e-300))
        return np.asarray(vectors / raised @ vectors.T)

    @cached_property
    def whitener(self) -> Floats:
        """A^(−½)Q, by which moments of scaled regressors are 1 and uncorrelated; Q where A is not positive definite."""
        q, _ = self._basis
        values, vectors = np.linalg.eigh(self.matrix)
        return np.asarray(vectors / np.sqrt(values) @ vectors.T @ q if self.positive else q)

    @cached_property
    def noise_ratio(self) -> float:
        """r: about the size of the noise in A relative to A, 2√‖Σ W_z²‖ with W_z = A^−½ (QK_zQ') A^−½.

        Of a symmetric matrix of independent normal noise it is the largest eigenvalue in size, in any units.
        """
        if not self.positive:
            return math.inf
        parts = self.whitener @ self.moments.noise @ self.whitener.T
        return 2.0 * math.sqrt(float(np.linalg.eigvalsh(np.einsum("zij,zkj->ik", parts, parts))[-1]))

    @property
    def reliable(self) -> bool:
        """Whether A is positive definite and not swamped by the noise."""
        return self.positive and self.noise_ratio < UNRELIABLE

    @cached_property
    def _plain(self) -> Floats:
        q, _ = self._basis
        return np.asarray(self.inverse @ (q @ self.moments.second @ self._response))

    @cached_property
    def residual(self) -> Floats:
        """The residual v = ℓ − Q'β̂ as a combination of (1, P_1, …), in units of the response's half-range."""
        q, _ = self._basis
        return np.asarray(self._response - q.T @ self._plain)

    @cached_property
    def _scores(self) -> Floats:
        """The noise of the score of the residual, by part: (z, k)."""
        q, _ = self._basis
        return np.asarray(self.moments.noise @ self.residual @ q.T)

    @cached_property
    def _bias(self) -> Floats:
        q, _ = self._basis
        return np.asarray(np.einsum("zi,ij->j", self._moved @ q.T, self.inverse))

    @cached_property
    def _moved(self) -> Floats:
        """K_z Q'A⁻¹s_z by part: (z, p)."""
        q, _ = self._basis
        return np.asarray(np.einsum("zij,zj->zi", self.moments.noise, self._scores @ self.inverse @ q))

    @cached_property
    def _back(self) -> Floats:
        """The matrix from scaled coefficients to those of the regressors' own units."""
        _, r = self._basis
        return np.asarray(self._size * np.linalg.inv(r).T)

    @cached_property
    def params(self) -> Floats:
        """The coefficients, (k,), bias removed where the fit is reliable."""
        return np.asarray(self._back @ (self._plain + (self._bias if self.reliable else 0.0)))

    @cached_property
    def scale(self) -> float:
        """σ̂², the variance of the residual, in the squared unit of the response."""
        return self._scale * self._size**2

    @cached_property
    def _raw_scale(self) -> float:
        n, k = self.moments.n, len(self.rows)
        if n <= k + 1.0:
            return 0.0
        square = self.residual @ self.moments.second @ self.residual
        square += float(np.sum((self._scores @ self.inverse) * self._scores))
        return float(square) * n / (n - k)

    @property
    def hidden(self) -> bool:
        """Whether the noise hides the variance of the residual, which then counts as 0."""
        return self._raw_scale <= 0.0

    @property
    def _scale(self) -> float:
        return max(0.0, self._raw_scale)

    @cached_property
    def _scale_noise(self) -> float:
        """The standard deviation of the noise of σ̂²."""
        return float(np.linalg.norm(np.einsum("i,zij,j->z", self.residual, self.moments.noise, self.residual)))

    @property
    def raised_scale(self) -> float:
        """σ̂² and one standard deviation of its noise, in the squared unit of the response."""
        return (self._scale + self._scale_noise) * self._size**2

    @cached_property
    def sampling_covariance(self) -> Floats:
        """σ̂²A⁻¹/N in the regressors' own units; 0 of a census."""
        if self.moments.census:
            return np.zeros((len(self.rows),) * 2)
        inner = self._scale / max(self.moments.n, 1.0) * self.inverse
        return np.asarray(self._back @ inner @ self._back.T)

    @cached_property
    def noise_covariance(self) -> Floats:
        """A⁻¹MA⁻¹ in the regressors' own units."""
        moved = self._scores @ self.inverse @ self._back.T
        return np.asarray(moved.T @ moved)

    @property
    def parts(self) -> Floats:
        """What each part of the noise adds to the coefficients, in their own units: (z, k)."""
        return np.asarray(self._scores @ self.inverse @ self._back.T)

    @property
    def directions(self) -> Floats:
        """For each coefficient its regressor less what the others tell of it, as a combination of (1, P_1, …)."""
        q, _ = self._basis
        moved = self._back @ self.inverse
        return np.asarray(moved @ q / np.sum(moved * self._back, axis=1)[:, None])

    @property
    def covariance_factor(self) -> Floats:
        """A⁻¹ in the coefficients' own units, over the squared unit of the response: (k, k)."""
        return np.asarray(self._back @ self.inverse @ self._back.T)

    @property
    def scale_parts(self) -> Floats:
        """What each part of the noise adds to σ̂², relative to it: (z,)."""
        parts = np.einsum("i,zij,j->z", self.residual, self.moments.noise, self.residual)
        return np.asarray(parts / max(self._scale, 1e-12))

    @property
    def freedom(self) -> float:
        """N − k, at least 1."""
        return max(1.0, self.moments.n - len(self.rows))

    @cached_property
    def rsquared(self) -> float:
        """1 − SSR/SST, about the mean where there is a constant; NaN where the noise hides it."""
        if not self.reliable or self.hidden:
            return math.nan
        second, y = self.moments.second, self._response
        total = float(y @ second @ y) - (float(second[0] @ y) ** 2 if self.constant else 0.0)
        n, k = self.moments.n, len(self.rows)
        return 1.0 - self._scale * (n - k) / n / total if total > 0.0 and n > k + 1.0 else math.nan

    def errors(self, weights: Floats) -> tuple[float, float]:
        """Return the sampling and the noise error of w'β."""
        parts = (weights @ part @ weights for part in (self.sampling_covariance, self.noise_covariance))
        sampling, noise = (math.sqrt(max(0.0, float(part))) for part in parts)
        return sampling, noise

    def _sampling(self, w: Floats) -> tuple[float, float]:
        """Return the sampling variance of w'β that intervals count, w in scaled units, and its own uncertainty."""
        if self.moments.census:
            return 0.0, 0.0
        variance = max(self._raw_scale + 0.5 * self._scale_noise, 0.0)
        return variance * float(w @ self.inverse @ w) / max(self.moments.n, 1.0), 0.0

    def accepted(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return the values of w'β that are not rejected at a level: (−∞, ∞) where the noise hides it."""
        if not self.positive:
            return -math.inf, math.inf
        q, _ = self._basis
        w = self._back.T @ weights

        def spread(own: Floats, information: float) -> tuple[float, float]:
            sampling, unsure = (part * information**2 for part in self._sampling(w))
            longer = self._longer(own, sampling, unsure, level)
            return (self._quantile(own, sampling, level) * longer) ** 2, sampling

        algebra = self.inverse, self._scores, q @ self.moments.noise @ q.T
        return score_interval((w, float(w @ self._plain)), algebra, spread)

    @staticmethod
    def _longer(noise: Floats, sampling: float, unsure: float, level: float) -> float:
        """Return by how much Student's quantile is longer, where the variance is noisy itself (Satterthwaite)."""
        from hedgerow.special import ndtri, stdtrit

        if unsure <= 0.0:
            return 1.0
        freedom = max(1.0, 2.0 * ((float(noise @ noise) + sampling) / unsure) ** 2)
        tail = 0.5 + level / 2.0
        return float(stdtrit(min(freedom, 1e6), tail)) / float(ndtri(tail))

    def _quantile(self, noise: Floats, sampling: float, level: float) -> float:
        """Return the quantile of the sum of both errors over its standard deviation."""
        from hedgerow.special import ndtri, stdtrit

        squares = float(noise @ noise)
        total = math.sqrt(squares + sampling)
        if total == 0.0:
            return 0.0
        law = self.moments.law
        if (draws := draws_of(law)) is not None:
            # A sum of Laplace numbers is read as one of equal ones with its variance and at least its kurtosis.
            fourth = float(np.sum(noise**4)) / draws
            equal = max(1, min(_MOST_DRAWS, int(squares**2 / fourth))) if fourth > 0.0 else _MOST_DRAWS
            law = "laplace" if equal == 1 else f"averaged-laplace-{equal}"
        sds = np.array([math.sqrt(sampling)]), np.array([math.sqrt(squares)])
        quantile = float(quantiles_of(law, level, *sds)[0]) / total
        tail = 0.5 + level / 2.0
        wider = float(stdtrit(self.freedom, tail)) / float(ndtri(tail)) - 1.0
        return quantile * (1.0 + wider * sampling / total**2)


# Guessed truths: mean and standard deviation of every scaled regressor, those of the response, and the correlation of
# each two. Most responses lie near one end of their bounds, as incomes do, and then the sums of regressors matter.
_GUESSES = ((0.1, 0.4, -0.7, 0.3, 0.2), (-0.2, 0.3, -0.5, 0.3, 0.2), (0.0, 0.25, 0.0, 0.2, 0.3))
_COLLINEAR = (0.1, 0.4, -0.7, 0.3, 0.9)
"""Truth at which two laws of noise are compared that are alike at the others: products then matter most."""
# In a ball about the midpoints most records lie near these, or they would be shrunk.
_IN_BALL = ((0.0, 0.25, 0.0, 0.2, 0.3), (-0.1, 0.25, -0.2, 0.2, 0.2))
_RECORDS = 1_000
TYPICAL = 10_000.0  # records of a cell, where nothing is known of them
TYPICAL_WEIGHT = 0.5  # of a record, over the largest
# Logarithms of the weights: count, response, squares, products, products with the response, square of the response.
_START = (-0.3, 0.0, -0.7, -0.4, 0.0, -1.2)
_LOWEST, _HIGHEST = -5.0, 2.0
_EXPECTED = 0.4  # the correlation of a regressor with the response, where none is guessed
_ALIKE = math.log(1.1)  # errors of two laws that differ by less than a tenth
_SHRUNK = 0.1  # the weight of the number of records that were shrunk into a ball: a hundredth of the price or less


@dataclass(frozen=True)
class CoefficientQuestion:
    """What is weighed: a model on a layout, and whom the price protects."""

    model: LinearFeatures
    layout: JointLayout
    relation: Relation
    n: float
    census: bool
    guess: Mapping[str, Any] | None = None
    title: ClassVar[str] = "A regression"
    noise_itself: ClassVar[float] = 0.0
    search: ClassVar[tuple[int, float, float]] = (160, 0.02, 1e-3)

    def __hash__(self) -> int:
        return hash((self.layout, self.model.response, self.model.sums, self.relation, self.n, self.census))

    @cached_property
    def kinds(self) -> list[int]:
        """Of each sum, which of the weights it has."""
        last = len(self.model.features) - 1

        def kind(of: Of) -> int:
            if len(of) == 1:
                return 1 if of[0] == last else 6
            if of[0] == of[1]:
                return 5 if of[0] == last else 2
            return 4 if last in of else 3

        return [kind(of) for of in self.model.sums]

    def weights(self, logs: Floats) -> JointWeights:
        """Return the weights of a point of the search."""
        size = np.exp(np.append(np.clip(logs, _LOWEST, _HIGHEST), 0.0))
        if self.layout.ball is not None:
            return self._in_ball(size)
        counts: dict[Of, float] = {(): float(size[0])} if self.layout.presence == "private" else {}
        sums = {of: float(size[kind]) for of, kind in zip(self.model.sums, self.kinds, strict=True)}
        centres = self.layout.centres(((of[0], ()) for of in sums if len(of) == 2 and of[0] == of[1]), set(counts))
        return JointWeights(len(self.layout.features), counts, sums, centres=centres)

    def _in_ball(self, size: Floats) -> JointWeights:
        """Return even weights, whose price in a ball is exact; and a small one for the number of records shrunk."""
        counts: dict[Of, float] = {(): float(size[0])} if self.layout.presence == "private" else {}
        product = float(size[2]) * math.sqrt(2.0)
        sums = {of: 1.0 if len(of) == 1 else float(size[2]) if of[0] == of[1] else product for of in self.model.sums}
        return JointWeights(len(self.layout.features), counts, sums | {(len(self.model.features),): _SHRUNK})

    def checked(self) -> CoefficientQuestion:
        """Return the question; HG707 where its guess cannot be, before anything is searched for."""
        _ = self.guessed
        return self

    @cached_property
    def guessed(self) -> list[Floats]:
        """Records of each guessed truth."""
        if self.guess is not None:
            return [guessed_records(self.model, self.guess)]
        usual = _GUESSES if self.model.ball is None else _IN_BALL
        return [_guessed(self.model, *guess) for guess in usual]

    @cached_property
    def _linearised(self) -> LinearFunctions:
        """The coefficients at the guessed truths, linear in what is released, each number in units of its reach."""
        return self._linear_at(self.guessed)

    def _linear_at(self, truths: Sequence[Floats]) -> LinearFunctions:
        known = None if self.layout.presence == "private" else self.n
        flat = self.weights(np.zeros(len(_START)))
        reading = reading_of_numbers(self.layout, flat, self.relation, self.model.moments(), n=known)
        parts = noise_parts(self.model, reading, self.n)
        each = [linear_in(self.fit(records, parts)) for records in truths]
        return LinearFunctions(*map(np.stack, zip(*each, strict=True)))

    def fit(self, records: Floats, parts: Floats) -> LeastSquaresFit:
        """Return the fit of guessed records, with this noise in its moments."""
        second = records.T @ records / len(records)
        moments = RegressionMoments(self.n, second, parts, "gaussian", self.census)
        return LeastSquaresFit(moments, self.model.rows(self.model.regressors), self.model.target)

    def candidates(self, law: Law) -> list[Candidate]:
        """Return the one way of the release: its weights are searched for."""
        return [Candidate("Gaussian noise" if law == GAUSSIAN else "Laplace noise", law, self.weights, _START)]

    def forecast(self, law: Law, weights: JointWeights, precision: float, relation: Relation) -> SquaredErrors:
        """Return the squared error of each coefficient at each guess, and the part of the noise."""
        return self._linearised.forecast(noise_of_numbers(self.layout, weights, relation, law, precision=precision))

    def score(self, choice: JointChoice) -> float:
        """Return the mean logarithm of the squared errors of what was chosen, maybe for another question."""
        weights = choice.mechanism.weights()
        return float(np.log(self.forecast(choice.law, weights, choice.precision, self.relation).squares).mean())

    def settled(self, choice: JointChoice) -> JointChoice:
        """Return the choice, or the best one of the other law where that is nearly as good, and better if collinear.

        Regressors that nobody made a guess of may be collinear. Then what the laws do to products is what matters.
        """
        other, collinear = choice.runner_up, len(self.model.grids) > 2 and self.layout.ball is None
        if other is None or self.guess is not None or not collinear or other.score - choice.score > 2.0 * _ALIKE:
            return choice
        linear = self._linear_at([_guessed(self.model, *_COLLINEAR)])
        first, second = (np.log(linear.forecast(_noise_of(self, each)).squares).mean() for each in (choice, other))
        return replace(other, runner_up=replace(choice, runner_up=None)) if second < first else choice


def _noise_of(asked: CoefficientQuestion, choice: JointChoice) -> Floats:
    weights = choice.mechanism.weights()
    return noise_of_numbers(asked.layout, weights, asked.relation, choice.law, precision=choice.precision)


def linear_in(fit: LeastSquaresFit) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the coefficients' sampling variances, and what each part of the noise adds to them and theirs."""
    noise, direction = fit.moments.noise, fit.directions
    sampling, information = np.diag(fit.sampling_covariance), 1.0 / np.diag(fit.covariance_factor)
    divisor = np.einsum("ki,zij,kj->zk", direction, noise, direction) / information
    return sampling, fit.parts.T, np.outer(sampling, fit.scale_parts), divisor.T


def noise_parts(model: LinearFeatures, mixing: Floats, n: float) -> Floats:
    """Return what each independent part of the noise adds to ΣPP'/N, (parts, p, p), of noise on count and sums."""
    parts = model.untangled @ mixing / n
    parts = np.vstack([parts, np.zeros(parts.shape[1])])  # what is 0 for every record has no noise
    return np.ascontiguousarray(np.moveaxis(parts[model.table], 2, 0))


def _guessed(
    model: LinearFeatures, mean: float, sd: float, outcome: float, spread: float, correlation: float
) -> Floats:
    """Return records of a guessed truth: equally correlated columns, and categories with even chances."""
    chance = np.random.default_rng(0)  # the same numbers in every plan: no data, no noise
    shared = chance.normal(size=_RECORDS)
    columns = {}
    for column in model.grids:
        about, size = (outcome, spread) if column == model.response else (mean, sd)
        own = math.sqrt(correlation) * shared + math.sqrt(1.0 - correlation) * chance.normal(size=_RECORDS)
        columns[column] = np.clip(about + size * own, -1.0, 1.0)
    if model.ball is not None:
        # Hardly a record is taken to be outside of it.
        length = np.quantile(np.linalg.norm(list(columns.values()), axis=0), 0.99)
        columns = {column: values * min(1.0, model.ball / length) for column, values in columns.items()}
    return model.records(columns, _even(model, chance, _RECORDS))


def _even(model: LinearFeatures, chance: np.random.Generator, records: int) -> dict[str, NDArray[np.intp]]:
    return {
        column: chance.integers(0, len(values), records).astype(np.intp) for column, values in model.categories.items()
    }


def guessed_records(model: LinearFeatures, given: Mapping[str, Any]) -> Floats:
    """Return 4,096 records of a guess, made without the data (HG707 where it is impossible).

    What is not guessed of a column is what the plan takes where nothing is, as is its correlation with the response;
    others are 0, and categories have even chances.

    Parameters
    ----------
    model : LinearFeatures
    given : {column: {"mean": …, "sd": …, "correlation": {other: …}}}
    """
    guesses = parse_guesses(given)
    usual, _, last, spread, _ = _GUESSES[0]
    middling = {column: (last if column == model.response else usual, spread) for column in model.used}
    expected = correlations(guesses)
    for column in model.used:
        pair = (min(column, model.response), max(column, model.response))
        if column != model.response:
            # Were no slope expected, nothing would tell the moments of the regressors.
            expected.setdefault(pair, min(_EXPECTED, 0.8 / math.sqrt(len(model.used))))
    indices = typical_records(laws_of(model.used, guesses, middling), expected)
    columns = {column: 2.0 * indices[:, k] / grid.steps - 1.0 for k, (column, grid) in enumerate(model.used.items())}
    return model.records(columns, _even(model, np.random.default_rng(0), len(indices)))


def reason_of(choice: JointChoice, gain: float | None = None) -> str:
    """Return why a release was chosen, in a sentence; `gain` is by how much a guess makes errors smaller."""
    said = f"one release of joint moments, {choice.name}, weights chosen for the coefficients"
    other = choice.runner_up
    if other is not None:
        ratio = math.exp(0.5 * (other.score - choice.score))
        said += f"; with {other.name} errors would be {ratio:.3g} times as large"
    return said if gain is None else f"{said}; without the guess errors would be {gain:.3g} times as large"
