"""Robust errors: A⁻¹ΩA⁻¹/N with Ω = Σ e² x x'/N from the second step, where variances differ from record to record.

Ω̂ = Q(S + Σ_z z K_z)Q' from the noisy sums of the second step (`second_step`). A variance a'Ω̂a/N is unbiased but for the
clip, with a noise τ = ‖(a'QK_zQ'a)_z‖/N of its own.

=============  =====================================================================================================
projected      A^−½Ω̂A^−½ may have eigenvalues below 0: they count as 0, which can only make variances larger
clipped        where the mean of the clipped squares lies below σ̂² by more than twice their noise, all variances are
               raised by the ratio of the two, σ̂² lowered by its noise
noise          intervals take the variance plus τ/2, and Student's quantile of 2(V/τ)² degrees of freedom, V the whole
               variance (Satterthwaite), so that they are long where little is known
HC1            N/(N − k) times HC0
=============  =====================================================================================================

The second step of a regression: Σ e² x x' at coefficients that the first one made public, for robust errors.

With β̂ public and a public clip c, a record has s = min(|e|, c)/c ∈ [0, 1], e = y − x'β̂, and the constant and features
F = (1, f_1, …) of its regressors. Released are Σ s², Σ s² f_i and Σ s² f_i f_j, with noise. A record counts here by a
share u = s² of itself: two records move these sums by ‖uV(F) − u'V(F')‖, V the vector of products, and that is convex
in u and in u', so largest where each is 0 or 1. So the price is that of joint moments of records that are there or not,
whatever β̂ and c turned out to be, and both steps compose as any two mechanisms do of which the second may depend on
what the first released. The share of the price is chosen by the plan, from public facts.

What the second step of a regression released of a cell: how it was asked for, recorded and read.

Records that count by a share of themselves, by a squared residual or by their survey weight: how they are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import SHARES, ClippedSquare, SumsQuery, Value, WeightOnGrid
from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import STEPS, Weights
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.interface import AtomicMechanism
from hedgerow.mechanisms.joint.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint.joint_numbers import JointFeature, JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, Of
from hedgerow.mechanisms.laws import Law
from hedgerow.regression.coefficient_question import CoefficientQuestion
from hedgerow.regression.features import LinearFeatures
from hedgerow.regression.formula import FormulaTerms
from hedgerow.regression.least_squares import LeastSquaresFit, noise_parts
from hedgerow.release.designs.joint.chooser import JointChoice, noise_of_numbers, reading_of_numbers
from hedgerow.resampling.counted_values import GridSums
from hedgerow.resampling.counted_values import Monomial as Moment

Floats = NDArray[np.float64]
BITS_IN_ALL = 31
"""Of a product of columns: the square of two such, times a share of 18 bits, fits 84."""
_COARSER = 8
WEIGHTS: int = STEPS >> _COARSER
"""How many steps the grid of weights has."""


def weight_on_grid(weights: Weights) -> WeightOnGrid:
    """Return the column of weights as an engine reads it."""
    return WeightOnGrid(weights.column, weights.grid(coarser=_COARSER))


def shares_query(
    mechanism: JointMoments,
    values: Sequence[Value],
    share: ClippedSquare | WeightOnGrid,
    by: tuple[Category, ...],
    missing: Missing,
) -> SumsQuery:
    """Return the question for the sums of a mechanism over records that count by a share."""
    asked = tuple(_shared(moment, len(values)) for moment in mechanism.monomials())
    return SumsQuery((*values, share), asked, by, frozenset(range(len(values) + 1)), None, missing)


def shares_exact(mechanism: JointMoments, answer: GridSums, values: int) -> NDArray[np.object_]:
    """Return the exact integers to be released from the answer to such a question: (cells, numbers)."""
    sums = {moment: answer.sums[_shared(moment, values)] for moment in mechanism.monomials()}
    return mechanism.exact(replace(answer, sums=sums))


def _shared(moment: Moment, place: int) -> Moment:
    return (*moment, (place, 1))


@dataclass(frozen=True, eq=False)
class RobustFit(LeastSquaresFit):
    """A fit whose sampling errors are those of the sandwich.

    Attributes
    ----------
    middle : float array, (p, p)
        Σ min(|e|, c)² P P'/N, noisy, in the squared unit of the response.
    middle_noise : float array, (z, p, p)
        What each independent part of the second step's noise, of variance 1, adds to it.
    kind : "HC0" or "HC1"
    weighted : bool
        Whether the residuals were multiplied by weights: Σ w² e² P P', the weights over the largest, and N is Σ w.
    """

    middle: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    middle_noise: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    kind: str = "HC1"
    weighted: bool = False

    @cached_property
    def cut(self) -> float:
        """The share of the residual's variance that the clip takes off: 0 where noise may explain it."""
        if not self.positive or self.hidden or self.weighted:
            return 0.0
        n, k = self.moments.n, len(self.rows)
        whole, clipped = self._raw_scale * (n - k) / n, float(self.middle[0, 0]) / self._size**2
        noise = math.hypot(self._scale_noise, float(np.linalg.norm(self.middle_noise[:, 0, 0])) / self._size**2)
        return (
            1.0 - max(clipped, 0.1 * whole) / (whole - noise)
            if whole - max(clipped, 0.1 * whole) > 2.0 * noise
            else 0.0
        )

    @cached_property
    def _factor(self) -> float:
        """What the middle is multiplied by: the records, the clip, HC1, and the unit of the response."""
        n, k = max(self.moments.n, 1.0), len(self.rows)
        small = n / (n - k) if self.kind == "HC1" and n > k + 1.0 else 1.0
        return small / (1.0 - self.cut) / n / self._size**2

    @cached_property
    def _between(self) -> tuple[Floats, bool]:
        """A⁻¹Ω̂A⁻¹/N of the scaled coefficients, projected; and whether it had to be."""
        q, _ = self._basis
        values, vectors = np.linalg.eigh(self.inverse)
        root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        inner = root @ (q @ self.middle @ q.T) @ root
        own, axes = np.linalg.eigh((inner + inner.T) / 2.0)
        projected = axes * np.maximum(own, 0.0) @ axes.T
        return np.asarray(root @ projected @ root * self._factor), bool(own[0] < 0.0)

    @property
    def projected(self) -> bool:
        """Whether noise made the middle of the sandwich no covariance."""
        return self._between[1]

    @cached_property
    def sampling_covariance(self) -> Floats:
        """A⁻¹ΩA⁻¹/N in the regressors' own units; of a shrunk fit with its gain in place of A⁻¹."""
        if not self.shrunk:
            return np.asarray(self._back @ self._between[0] @ self._back.T)
        q, _ = self._basis
        values, vectors = np.linalg.eigh(q @ self.middle @ q.T * self._factor)
        moved = self._back @ self._shrinkage[1]
        return np.asarray(moved @ (vectors * np.maximum(values, 0.0)) @ vectors.T @ moved.T)

    def _sampling(self, w: Floats) -> tuple[float, float]:
        q, _ = self._basis
        through = w @ self.inverse @ q
        noise = np.einsum("i,zij,j->z", through, self.middle_noise, through) * self._factor
        unsure = float(np.linalg.norm(noise))
        return float(w @ self._between[0] @ w) + 0.5 * unsure, unsure

    @cached_property
    def unsure(self) -> Floats:
        """The noise of each coefficient's sampling variance, in its own squared unit: (k,)."""
        return np.array([self._sampling(self._back.T @ row)[1] for row in np.eye(len(self.rows))])

    @property
    def is_unsure(self) -> bool:
        """Whether the noise of a sampling variance is as large as the variance."""
        return self.reliable and bool(np.any(self.unsure > np.diag(self.sampling_covariance)))


KINDS = ("HC0", "HC1")
_CLIP_BITS, _WEIGHTED_BITS = 50, 38  # of the clip, where a weight is to be multiplied by it
_LEAST_CLIP, _MOST_CLIP = 5.0, 12.0
"""The clip in standard deviations of the residual: as much as keeps the noise below a tenth of what is estimated."""
_NOISE = 0.1
PRICE_SHARES = (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3)
# Weights, beside 1 of each Σ s² f_i: of Σ s², of squares and of products.
_WEIGHTS = tuple(product((1.0, 1.5), (0.5, 0.7, 1.0), (0.35, 0.5, 0.7, 1.0)))


def parse_robust(given: object, terms: FormulaTerms) -> str | None:
    """Return the kind of robust errors, None of classical ones (HG197)."""
    if given is None or given is False:
        return None
    kind = KINDS[1] if given is True else given
    if isinstance(kind, str) and kind in KINDS and terms.terms:
        return kind
    raise ParameterError(
        "HG197",
        rule="`robust` is True, False, 'HC0' or 'HC1', and the regression needs a regressor other than the intercept.",
        finding=f"Found {format_argument(given)}." if terms.terms else "There is none.",
        remedy="robust=True is HC1." if terms.terms else "Leave `robust` out: of a mean both errors are the same.",
        shell="Leave --robust out." if not terms.terms else "--robust is HC1.",
    )


@dataclass(frozen=True)
class Meat:
    """What the second step adds up, and how the middle Σ s² P P' of the sandwich is read from it."""

    model: LinearFeatures

    @classmethod
    def of(cls, model: LinearFeatures) -> Meat:
        """Return that of a model, on grids that leave room for the shares."""
        return cls(replace(model, bits=min(model.bits, BITS_IN_ALL)))

    @cached_property
    def pairs(self) -> tuple[Of, ...]:
        """The pairs of features of regressors whose products are asked for."""
        last = len(self.model.features) - 1
        return tuple(pair for pair in self.model.pairs if last not in pair)

    @cached_property
    def sums(self) -> tuple[Of, ...]:
        """What is added up beside the shares: features of regressors, and products."""
        return (*((i,) for i in range(len(self.model.features) - 1)), *self.pairs)

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The sum of the shares and the sums, in the words of a release of joint moments."""
        return ((), *(tuple((i, of.count(i)) for i in sorted(set(of))) for of in self.sums))

    @cached_property
    def _kept(self) -> list[int]:
        place = {of: k for k, of in enumerate(self.model.sums, start=1)}
        return [0, *(place[of] for of in self.sums)]

    def layout(self, cells: int) -> JointLayout:
        """Return the features as the mechanism sees them; a record counts by its share."""
        features = tuple(JointFeature(value.size - 1) for value in self.values)
        ball = None if self.model.ball is None or not features else len(features)
        return JointLayout(features, "private", cells, ball=ball, shares=SHARES)

    def products(self, sums: Floats) -> Floats:
        """Return the sums of P P', (p, p, …), from those of the moments, (moments, …); 0 in the response's place."""
        whole = np.zeros((1 + len(self.model.sums), *sums.shape[1:]))
        whole[self._kept] = sums
        untangled = self.model.untangled @ whole
        products = np.zeros((len(whole) + 1, *sums.shape[1:]))
        products[self._kept] = untangled[self._kept]
        return np.asarray(products[self.model.table])

    @property
    def values(self) -> tuple[Value, ...]:
        """The features of the regressors, as an engine reads them."""
        return self.model.values[: len(self.model.features) - 1]


@dataclass(frozen=True, eq=False)
class Residual:
    """The residual of a fit as a combination of features, constant + Σ slope_i f_i: public."""

    constant: float
    slopes: Floats
    least: float
    ball: bool = False

    @classmethod
    def of(cls, model: LinearFeatures, fit: LeastSquaresFit) -> Residual:
        """Return y − x'β̂; y itself where A is not positive definite."""
        combined = fit.response - (fit.rows.T @ fit.params if fit.positive else 0.0)
        alpha, beta = np.array(model.scales).T
        slopes = combined[1:] / alpha
        least = 1e-9 * float(np.abs(fit.response).max())
        return cls(float(combined[0] - slopes @ beta), slopes, least, model.ball is not None)

    @property
    def reach(self) -> float:
        """More than any record's |e|."""
        size = float(np.linalg.norm(self.slopes) if self.ball else np.abs(self.slopes).sum())
        return max(abs(self.constant) + size, self.least)

    def share(self, model: LinearFeatures, clip: float, weight: WeightOnGrid | None = None) -> ClippedSquare:
        """Return s² as the engine computes it."""
        bits = _CLIP_BITS if weight is None else _WEIGHTED_BITS
        whole = 2.0**bits / clip
        steps = [value.size - 1 for value in model.values[: len(model.features)]]
        factors = tuple(round(whole * slope / m) for slope, m in zip(self.slopes.tolist(), steps, strict=True))
        return ClippedSquare(model.values[: len(steps)], factors, round(whole * self.constant), bits, weight)


def clip_of(fit: LeastSquaresFit, residual: Residual, noise: Floats) -> float:
    """Return the clip of |e|, in the unit of the response: from released numbers alone.

    Parameters
    ----------
    fit : LeastSquaresFit
    residual : Residual
    noise : float array, (z, p, p)
        What each part of the second step's noise adds to Σ s² P P'/N.
    """
    if not fit.positive or fit.hidden:
        return residual.reach
    relative = np.linalg.norm(slopes_of(fit, noise), axis=0).max()
    wide = math.sqrt(_NOISE / max(float(relative), 1e-12))
    chosen = min(max(wide, _LEAST_CLIP), _MOST_CLIP) * math.sqrt(fit.scale)
    return min(residual.reach, max(chosen, 2.0**-9 * residual.reach))


def slopes_of(fit: LeastSquaresFit, noise: Floats) -> Floats:
    """Return what each part of the noise adds to each coefficient's sandwich variance, over σ̂² = 1: (z, k)."""
    direction, factor = fit.directions, np.diag(fit.covariance_factor)
    return np.asarray(np.einsum("ki,zij,kj->zk", direction, noise, direction) * factor)


@dataclass(frozen=True)
class SecondStep:
    """The second step that was chosen: its kind, its weights, its share of the price.

    `length` is the mean logarithm of the squared lengths of intervals that are forecast with it, up to a constant.
    """

    kind: str
    middle: Meat
    law: Law
    weights: JointWeights
    share: float
    length: float = 0.0

    def precisions(self, precision: float) -> tuple[float, float]:
        """Return the precision of each step: μ², or of Laplace noise ε, is what is shared."""
        power = 1.0 / self.law.power
        return precision * (1.0 - self.share) ** power, precision * self.share**power

    def mechanism(self, precision: float, asked: CoefficientQuestion) -> JointMoments:
        """Return what is drawn at a precision of its own."""
        layout = self.middle.layout(asked.layout.cells)
        return joint_moments(self.law, layout, self.weights, precision, asked.relation)


def choose_second(kind: str, asked: CoefficientQuestion, chosen: JointChoice) -> SecondStep:
    """Return the second step for which intervals are forecast to be shortest, from public facts alone.

    What is weighed: the noise that its share of the price adds to the coefficients, against the longer quantile of
    Student's t by which intervals count that the variance is noisy itself.
    """
    middle = Meat.of(asked.model)
    fits = [forecast_fit(asked, chosen, records) for records in asked.guessed]
    layout = middle.layout(asked.layout.cells)
    tried = {
        weights: [_relative_noise(middle, layout, weights, asked, chosen.law, fit) / chosen.precision for fit in fits]
        for weights in _weights(middle, layout)
    }
    weights = min(tried, key=lambda weights: float(np.mean([np.log(noise).mean() for noise in tried[weights]])))
    smallest = SecondStep(kind, middle, chosen.law, weights, PRICE_SHARES[0])

    def at(share: float) -> SecondStep:
        step = replace(smallest, share=share)
        lengths = [_length(step, fit, noise) for fit, noise in zip(fits, tried[weights], strict=True)]
        return replace(step, length=float(np.mean(lengths)))

    return min(map(at, PRICE_SHARES), key=lambda step: step.length)


def _weights(middle: Meat, layout: JointLayout) -> list[JointWeights]:
    ball, d = layout.ball is not None, len(layout.features)
    centres = {} if ball else layout.centres(((of[0], ()) for of in middle.pairs if of[0] == of[1]), {()})

    def made(count: float, square: float, other: float) -> JointWeights:
        weight = {1: square, 2: square * math.sqrt(2.0) if ball else other}
        sums = {of: 1.0 if len(of) == 1 else weight[len(set(of))] for of in middle.sums}
        return JointWeights(d, {(): count}, sums, centres=centres)

    return [made(*sizes) for sizes in _WEIGHTS]


def forecast_fit(asked: CoefficientQuestion, chosen: JointChoice, records: Floats) -> LeastSquaresFit:
    """Return the fit at a guessed truth, with the noise of the first step at the whole price."""
    known = None if asked.layout.presence == "private" else asked.n
    mixing = chosen.mechanism.reading(asked.model.moments(), n=known).mixing
    return asked.fit(records, noise_parts(asked.model, mixing, asked.n))


def _relative_noise(
    middle: Meat, layout: JointLayout, weights: JointWeights, asked: CoefficientQuestion, law: Law, fit: LeastSquaresFit
) -> Floats:
    """Return the noise of each coefficient's sandwich variance at precision 1 and c = σ, over σ² = 1."""
    matrix = reading_of_numbers(layout, weights, asked.relation, middle.moments, n=None)
    sds = noise_of_numbers(layout, weights, asked.relation, law)
    noise = np.moveaxis(middle.products(matrix * sds) / asked.n, 2, 0)
    return np.asarray(np.linalg.norm(slopes_of(fit, noise), axis=0))


def _length(step: SecondStep, fit: LeastSquaresFit, relative: Floats) -> float:
    """Return the mean logarithm of the squared lengths of intervals, up to a constant."""
    from hedgerow.special import stdtrit

    plain = replace(fit, moments=replace(fit.moments, noise=np.zeros((1, *fit.moments.second.shape))))
    first, second = step.precisions(1.0)
    sampling = np.diag(plain.sampling_covariance)
    total = sampling + np.diag(fit.noise_covariance) / first**2
    reach = Residual.of(step.middle.model, plain).reach / math.sqrt(max(plain.scale, 1e-300))
    unsure = sampling * min(_LEAST_CLIP, reach) ** 2 * relative / second
    freedom = np.maximum(1.0, 2.0 * (total / np.maximum(unsure, 1e-6 * total)) ** 2)
    return float(np.mean(np.log(total + 0.5 * unsure) + 2.0 * np.log(stdtrit(np.minimum(freedom, 1e6), 0.975))))


CLASSICAL = (
    "Standard errors of a submodel are those of equal variances: robust ones need the residuals of the submodel, which "
    "were not released."
)
_UNSURE = "The noise of the second step is as large as some sampling variances that it tells: intervals are long."


@dataclass(frozen=True, eq=False)
class SandwichRelease:
    """The noisy numbers of the second step of a cell, and the clip of its residuals.

    Attributes
    ----------
    kind : "HC0" or "HC1"
    mechanism : JointMoments
        How the numbers are read.
    clip : float
        In the unit of the response.
    released : float array
    weighted : bool
        Whether the residuals were multiplied by weights.
    """

    kind: str
    mechanism: JointMoments
    clip: float
    released: Floats
    weighted: bool = False

    def robust_fit(self, fit: LeastSquaresFit, model: LinearFeatures) -> RobustFit:
        """Return a fit with the errors that these numbers tell."""
        middle, n = Meat.of(model), max(fit.moments.n, 1.0)
        reading = self.mechanism.reading(middle.moments)
        middle_sums = self.clip**2 / n * middle.products(reading.values(self.released[None, :])[0])
        noise = self.clip**2 * _noise(middle, self.mechanism, n)
        return RobustFit(
            *(fit.moments, fit.rows, fit.response, fit.constant, middle_sums, noise, self.kind, self.weighted),
            shrinks=fit.shrinks,
        )

    def notes(self, fit: RobustFit) -> tuple[str, ...]:
        """Return what a reader must know, in sentences."""
        sentences = [
            f"Standard errors are robust ({self.kind}): they hold where variances of residuals differ from record to "
            f"record. Residuals were clipped at {self.clip:.4g} for them."
        ]
        if fit.cut > 0.0:
            sentences.append(
                f"The clip takes off about {fit.cut:.0%} of the residual's variance; all variances are raised by it."
            )
        if fit.is_unsure:
            sentences.append(_UNSURE)
        return tuple(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {"clip": self.clip, "released": self.released.tolist()}


def second_of(
    record: Mapping[str, Any], kind: str, parts: Sequence[AtomicMechanism], model: LinearFeatures, *, weighted: bool
) -> SandwichRelease:
    """Return the second step of a record; what is none raises LookupError, TypeError or ValueError."""
    first, mechanism = (JointMoments.of_record(part) for part in parts[:2])
    middle, clip = Meat.of(model), float(record["clip"])
    released = np.array(record["released"], dtype=np.float64)
    if kind not in KINDS or not 0.0 < clip < np.inf:
        raise ValueError
    if mechanism.layout != middle.layout(first.layout.cells) or released.shape != (len(mechanism.names),):
        raise ValueError
    return SandwichRelease(kind, mechanism, clip, released, weighted)


def residual_query(
    fit: LeastSquaresFit, middle: Meat, mechanism: JointMoments, weight: WeightOnGrid | None
) -> tuple[ClippedSquare, float]:
    """Return how the engine computes the shares of records at the coefficients of a fit, and the clip."""
    residual = Residual.of(middle.model, fit)
    clip = clip_of(fit, residual, _noise(middle, mechanism, max(fit.moments.n, 1.0)))
    return residual.share(middle.model, clip, weight), clip


def _noise(middle: Meat, mechanism: JointMoments, n: float) -> Floats:
    """Return what each part of the second step's noise adds to Σ s² P P'/N: (parts, p, p)."""
    mixing = mechanism.reading(middle.moments).mixing
    return np.ascontiguousarray(np.moveaxis(middle.products(mixing / n), 2, 0))
