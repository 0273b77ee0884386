r"""`LogitRegression`: coefficients of a logistic regression with errors that count sampling and privacy noise.

Everything here is computed from released numbers alone, so it costs nothing and anybody can repeat it. With g and H the
noisy gradient and curvature at β, of noise σ and s a number, the next coefficients are β + d, d = H⁻¹g.

**Of a model with a constant** the first step is a pilot at β = 0. It tells the moments of the regressors, and normal
regressors with these moments (`normal_regressors`) tell three things:

===========  =========================================================================================================
start        where the second step is taken
curvature    H = (1 − λ)·released + λ·(their curvature): two noisy numbers for one, λ by the noise of both and by a
             tenth that normal regressors may be wrong
remainder    what a Newton step leaves behind: d solves Hd + R(d) = g, R their response less its slope. Where R/3 would
             move the coefficients by more than 0.4 of a standard error, the steps have not converged
===========  =========================================================================================================

Intervals are all values whose score is not rejected, as those of `least_squares`: they have ends unless noise hides
whether the outcome varies with a regressor, given the others. Then no interval has: what such a regressor explains
moves all other coefficients, and not in proportion.

**Of a model without one, and of earlier versions,** all steps are Newton's, from β = 0 on. Where noise could make H
singular, its eigenvalues are raised to s·√P; a step that would move some record's linear predictor by more than 4 is
shortened. Neither happens at a last step that is relied on. A Newton step leaves about half its relative size behind:
½·q·λ in standard errors, λ² = d'Hd, q the root mean square by which d moves the linear predictor.

==========  ==========================================================================================================
sampling    H⁻¹: that of a logistic model that holds
noise       H⁻¹(σ²I + Σ K_z dd'K_z)H⁻¹, H with the noise Σ z K_z: what that does to a last step d
noise of H  r = 2√‖H^−½ Σ K_z H⁻¹K_z H^−½‖: a remark from ¼ on, nothing is relied on from 1 on
==========  ==========================================================================================================

(docs/methods/logit.md)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.mechanisms.newton_steps import NewtonSteps, ReleasedStep
from hedgerow.regression.coefficients import Coefficients, FitContext, reading_back
from hedgerow.regression.contrasts import Contrast
from hedgerow.regression.least_squares import score_interval
from hedgerow.regression.logit.logit_model import LogitModel
from hedgerow.regression.model_table import counted_in_words
from hedgerow.regression.normal_regressors import Beta, NormalRegressors

Floats = NDArray[np.float64]
REMARK, UNRELIABLE = 0.25, 1.0
"""Noise of the curvature relative to it, from which on a remark is made, and from which on nothing is relied on."""
CONVERGED = 0.4
"""The most that the last step may have left behind, in standard errors."""
_FARTHEST = 4.0
_WRONG = 0.1
"""How wrong the curvature of normal regressors is taken to be, as a part of it."""
_LEFT = 3.0
"""What normal regressors leave of the remainder of a step is taken to be one part of so many."""
_MOST_ITERATIONS, _FARTHEST_AT_ONCE = 60, 2.0


def symmetric(upper: Floats, size: int) -> Floats:
    """Return a matrix from its upper triangle, by rows."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return matrix + np.triu(matrix, 1).T


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """One step: where it was taken, what it released, and what follows.

    `normal` are the regressors that the pilot told, of a step that follows a pilot. `most_rows` is the most that the
    sampling variance of a record may count: units of several rows may have so many that depend on each other.
    """

    beta: Beta
    numbers: Floats
    released: ReleasedStep
    reach: Floats
    normal: NormalRegressors | None = None
    most_rows: int = 1

    @cached_property
    def told(self) -> Floats:
        """The curvature that was released, symmetric."""
        return symmetric(self.released.curvature, len(self.beta))

    @cached_property
    def blend(self) -> tuple[Floats, Floats, float]:
        """H, its noise by parts, (z, P, P), and the noise of one of its numbers."""
        size, sd = len(self.beta), self.released.curvature_sd
        places = np.eye(size * (size + 1) // 2)
        each = np.stack([symmetric(place, size) for place in places])
        if self.normal is None:
            return self.told, sd * each, sd
        theirs = self.normal.curvature(np.array(self.beta))
        noise, wrong = self.normal.curvature_noise(theirs), _WRONG * float(np.linalg.eigvalsh(theirs)[0])
        share = sd**2 / (sd**2 + noise**2 + wrong**2)
        parts = [(1.0 - share) * sd * each, share * noise * each, (share * _WRONG * theirs)[None]]
        both = math.hypot((1.0 - share) * sd, share * noise)
        return (1.0 - share) * self.told + share * theirs, np.concatenate(parts), both

    @property
    def parts(self) -> Floats:
        """What each independent part of the noise, of variance 1, adds to H: (z, P, P)."""
        return self.blend[1]

    @property
    def _floor(self) -> float:
        return max(self.blend[2] * math.sqrt(len(self.beta)), 1e-300)

    @cached_property
    def _solved(self) -> tuple[Floats, Floats, Floats, bool]:
        """The step d, what it leaves behind R, the curvature where it ends, and whether it was found."""
        curvature, gradient = self.blend[0], self.released.gradient
        if self.normal is None:
            return _raised_inverse(curvature, self._floor) @ gradient, np.zeros(len(gradient)), curvature, True
        beta, moved = np.array(self.beta), np.zeros(len(gradient))
        here, theirs = self.normal.response(beta), self.normal.curvature(beta)
        for _ in range(_MOST_ITERATIONS):
            left = self.normal.response(beta + moved) - here - theirs @ moved
            there = curvature + self.normal.curvature(beta + moved) - theirs
            further = _raised_inverse(there, self._floor) @ (gradient - curvature @ moved - left)
            length = float(np.abs(further) @ self.reach)
            if length <= 1e-12:
                return moved, left, there, True
            moved = moved + further * min(1.0, _FARTHEST_AT_ONCE / length)
        return moved, left, there, length <= 1e-6

    @property
    def whole(self) -> Floats:
        """The step d before it is shortened."""
        return self._solved[0]

    @property
    def curvature(self) -> Floats:
        """H where the step ends."""
        return self._solved[2]

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.curvature)
        return values, vectors

    @cached_property
    def positive(self) -> bool:
        """Whether H is positive definite; without normal regressors, farther from singular than noise may move it."""
        return bool(self._eigen[0][0] > (0.0 if self.normal is not None else self._floor))

    @cached_property
    def inverse(self) -> Floats:
        """H⁻¹, where H is positive; else eigenvalues below s·√P are raised to it."""
        values, vectors = self._eigen
        return np.asarray(vectors / (values if self.positive else np.maximum(values, self._floor)) @ vectors.T)

    @property
    def shortened(self) -> bool:
        """Whether d is too long to be taken as it is."""
        return bool(np.abs(self.whole) @ self.reach > _FARTHEST)

    @cached_property
    def moved(self) -> Floats:
        """The step d, shortened."""
        farthest = float(np.abs(self.whole) @ self.reach)
        return self.whole * min(1.0, _FARTHEST / farthest) if farthest > 0.0 else self.whole

    @property
    def after(self) -> Beta:
        """The coefficients after it."""
        return tuple((np.array(self.beta) + self.moved).tolist())

    @property
    def last(self) -> Floats:
        """The coefficients after it, where it is the last one."""
        return np.array(self.beta) + (self.moved if self.normal is None else self.whole)

    @cached_property
    def scores(self) -> Floats:
        """What each part of the noise adds to the score of the coefficients after it: (z, P)."""
        d = self.moved if self.normal is None else self.whole
        return np.concatenate([self.released.gradient_sd * np.eye(len(d)), -(self.parts @ d)])

    @property
    def sampling(self) -> Floats:
        """The sampling covariance of the coefficients after it; of units of several rows an upper bound."""
        return self.most_rows * self.inverse

    @cached_property
    def noise(self) -> Floats:
        """The covariance that the noise gives to the coefficients after it."""
        moved = self.scores @ self.inverse
        return np.asarray(moved.T @ moved)

    @cached_property
    def noise_ratio(self) -> float:
        """r: about the size of the noise in H relative to H."""
        if not self.positive:
            return float(np.inf)
        values, vectors = self._eigen
        root = vectors / np.sqrt(values) @ vectors.T
        relative = root @ self.parts @ root
        return float(2.0 * np.sqrt(np.linalg.eigvalsh(np.einsum("zij,zkj->ik", relative, relative))[-1]))

    @cached_property
    def remainder(self) -> float:
        """About how far the coefficients after it are from where steps would end, in standard errors."""
        errors = float(np.trace((self.sampling + self.noise) @ self.curvature))
        if self.normal is not None:
            _, left, _, ended = self._solved
            known = ended and self.positive and errors > 0.0
            return math.sqrt(max(float(left @ self.inverse @ left), 0.0) / errors) / _LEFT if known else math.inf
        square = max(float(self.whole @ self.curvature @ self.whole), 0.0)
        # Σμ(1 − μ)x² of the first feature, a constant where there is one: at most the sum of the weights by which
        # d'Hd is a mean square.
        weight = float(self.released.curvature[0])
        if min(weight, errors) <= 0.0:
            return float(np.inf)
        return float(0.5 * square / np.sqrt(weight * errors))

    def accepted(self, weights: Floats, level: float, *, census: bool) -> tuple[float, float]:
        """Return the values of w'β that are not rejected, of a step that is the last one."""
        from hedgerow.special import ndtri

        square = float(ndtri(0.5 + level / 2.0)) ** 2
        noise = np.concatenate([np.zeros((len(self.beta),) * 3), self.parts])
        low, high = score_interval(
            (weights, float(weights @ self.whole)),
            (self.inverse, self.scores, noise),
            lambda own, information: (square, 0.0 if census else self.most_rows * information),
        )
        start = float(weights @ np.array(self.beta))
        return start + low, start + high


def _raised_inverse(matrix: Floats, floor: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors / np.maximum(values, floor) @ vectors.T)


@dataclass(frozen=True, eq=False)
class NewtonPath:
    """All steps that were run, in order; the last one is what is reported."""

    steps: tuple[NewtonStep, ...]

    @property
    def last(self) -> NewtonStep:
        """The last step."""
        return self.steps[-1]

    @property
    def beta(self) -> Floats:
        """The coefficients after it."""
        return self.last.last

    @property
    def covariance(self) -> Floats:
        """Of the coefficients, sampling and noise."""
        return self.last.sampling + self.last.noise

    @property
    def piloted(self) -> bool:
        """Whether the last step follows a pilot."""
        return self.last.normal is not None

    @property
    def converged(self) -> bool:
        """Whether what the last step left behind is small, and nothing had to be shortened there."""
        return self.last.remainder <= CONVERGED and (self.piloted or not self.last.shortened)

    @property
    def reliable(self) -> bool:
        """Whether the last step can be relied on: it converged, and noise does not hide the curvature."""
        return self.converged and self.last.positive and self.last.noise_ratio < UNRELIABLE

    @property
    def swamped(self) -> bool:
        """Whether noise hides the curvature; after a pilot that where the last step was taken."""
        if self.piloted:
            return bool(np.linalg.eigvalsh(self.last.blend[0])[0] <= 0.0)
        return not self.last.positive or self.last.noise_ratio >= UNRELIABLE

    @property
    def informative(self) -> bool:
        """Whether errors are stated: of a fit that is relied on; after a pilot of every one that converged."""
        return self.converged and self.last.positive if self.piloted else self.reliable

    @classmethod
    def run(cls, mechanism: NewtonSteps, numbers: Callable[[int, Beta], Floats]) -> NewtonPath:
        """Take all steps; `numbers` gives what a step released at its coefficients: drawn now, or on record."""
        reach = np.abs(np.array(mechanism.ranges)).max(axis=1)
        beta: Beta = (0.0,) * len(mechanism.ranges)
        steps: list[NewtonStep] = []
        normal = None
        for step in range(len(mechanism.precisions)):
            noisy = np.asarray(numbers(step, beta), dtype=np.float64)
            told = mechanism.released(noisy, step, beta)
            steps.append(NewtonStep(beta, noisy, told, reach, normal, mechanism.most_rows or 1))
            if step == 0 and mechanism.piloted:
                normal = NormalRegressors.of_curvature(steps[0].told, steps[0].released.curvature_sd)
                beta = normal.start(steps[0].released.gradient)
            else:
                beta = steps[-1].after
        return cls(tuple(steps))

    @classmethod
    def replayed(cls, mechanism: NewtonSteps, recorded: Floats) -> NewtonPath:
        """Repeat the steps from the numbers on record."""
        return cls.run(mechanism, lambda step, beta: recorded[step])


_SWAMPED = (
    "The noise swamps the curvature: these coefficients are not reliable, and nothing is known of their errors. The "
    "price was paid; a larger epsilon, more records or fewer regressors would help."
)
_WIDE = (
    "The noise swamps the curvature: these coefficients are not reliable, and their intervals are as wide as what is "
    "known. The price was paid; a larger epsilon, more records or fewer regressors would help."
)
_FAR = (
    "The Newton steps have not converged: there were too few, or some combination of the regressors separates the "
    "outcomes (nearly), and then no finite coefficients fit best. These are where the last step ended, and nothing is "
    "known of their errors. The price was paid; more `steps`, or fewer regressors, would help."
)
_NEAR = "The noise is not small beside the curvature: standard errors are approximate."
_MODEL = "Standard errors hold where the logistic model does."
_BOUND = (
    "Standard errors hold where the logistic model does, however the rows of one unit depend on each other: their "
    "sampling part is an upper bound, that of independent rows times the root of the most rows of a unit."
)


@dataclass(frozen=True, eq=False)
class LogitFit:
    """What the steps tell of the coefficients, in the regressors' own units."""

    path: NewtonPath
    back: Floats
    census: bool

    @cached_property
    def params(self) -> Floats:
        """The coefficients after the last step."""
        return np.asarray(self.back @ self.path.beta)

    @property
    def reliable(self) -> bool:
        """Whether the steps converged, and noise does not hide the curvature."""
        return self.path.reliable

    @property
    def noise_ratio(self) -> float:
        """The noise of the curvature relative to it."""
        return self.path.last.noise_ratio

    def _moved(self, covariance: Floats) -> Floats:
        if not self.path.informative:
            return np.full_like(covariance, math.inf)
        return np.asarray(self.back @ covariance @ self.back.T)

    @cached_property
    def sampling_covariance(self) -> Floats:
        """H⁻¹; 0 of a census, infinite where nothing is known of it."""
        known = np.zeros_like(self.back) if self.census else self.path.last.sampling
        return self._moved(known)

    @cached_property
    def noise_covariance(self) -> Floats:
        """The part of the noise; infinite where nothing is known of it."""
        return self._moved(self.path.last.noise)

    def errors(self, weights: Floats) -> tuple[float, float]:
        """Return the sampling and the noise error of w'β."""
        if not self.path.informative:
            return math.inf, math.inf
        parts = (weights @ part @ weights for part in (self.sampling_covariance, self.noise_covariance))
        sampling, noise = (math.sqrt(max(0.0, float(part))) for part in parts)
        return sampling, noise

    def _accepted(self, weights: Floats, level: float) -> tuple[float, float]:
        return self.path.last.accepted(self.back.T @ weights, level, census=self.census)

    @cached_property
    def _hidden(self) -> bool:
        """Whether noise hides a coefficient: what is not known of one moves all others, and not linearly."""
        return any(math.isinf(self._accepted(row, 0.95)[0]) for row in np.eye(len(self.back)))

    def accepted(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return the values of w'β that are not rejected at a level: (−∞, ∞) where nothing is known of it."""
        from hedgerow.special import ndtri

        if not self.path.informative:
            return -math.inf, math.inf
        if self.path.piloted:
            return (-math.inf, math.inf) if self._hidden else self._accepted(weights, level)
        reach = float(ndtri(0.5 + level / 2.0)) * math.hypot(*self.errors(weights))
        middle = float(weights @ self.params)
        return middle - reach, middle + reach


_HOW = (
    "A few Newton steps were taken. Of each, gradient and curvature were added up exactly and released with noise, and "
    "the coefficients moved by what was released. Standard errors count the sampling of records, where the logistic "
    "model holds, and the noise of the last step. Where the steps did not converge, or noise hides the curvature, none "
    "is stated."
)


@dataclass(frozen=True, eq=False, repr=False)
class LogitRegression(Coefficients[LogitModel, NewtonSteps]):
    """A logistic regression, computed from noisy Newton steps.

    Guarantee: everything in the result together is (ε, δ)-differentially private, at the price that ``certificate``
    states. Contrasts and predictions are computed from released numbers, so they cost no further budget.

    Attributes
    ----------
    about : FitContext
        The request and the data source, with all public facts.
    released : float array, (steps, numbers)
        The noisy numbers of each Newton step, in multiples of 2⁻³⁰: first the gradient, then the curvature.
    """

    family: ClassVar[str] = "Logit"
    how: ClassVar[str] = _HOW

    @cached_property
    def fit(self) -> LogitFit:
        """The algebra behind it."""
        path = NewtonPath.replayed(self.about.mechanism, self.released)
        return LogitFit(path, self.about.model.back, self.about.census)

    @property
    def rsquared(self) -> float:
        """NaN, because a logistic regression has no R²."""
        return math.nan

    @property
    def scale(self) -> float:
        """1, because the variance of an outcome of 0 or 1 has no separate parameter."""
        return 1.0

    @property
    def nobs(self) -> float:
        """The number of records of the file if this number is public. Otherwise NaN, as no number was released."""
        return math.nan if self.about.n is None else float(self.about.n)

    @property
    def df_resid(self) -> float:
        """Infinity, because the intervals use the normal distribution."""
        return math.inf

    @property
    def size(self) -> str:
        """The value of the response that counts as an outcome of 1, and the number of Newton steps, in words."""
        return f"{self.about.model.response} = {self.about.model.value}, {len(self.released)} Newton steps"

    def facts_of_fit(self) -> dict[str, str]:
        """Return the number of records, or the word "private" if this number is not public."""
        return {self._what: "private" if self.about.n is None else f"{self.about.n:,}"}

    @property
    def _what(self) -> str:
        """What n counts."""
        return "Records" if self.about.mechanism.most_rows is None else "Units"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers, as sentences."""
        path, sentences = self.fit.path, [_MODEL if self.about.mechanism.most_rows is None else _BOUND]
        if not path.reliable:
            sentences = [_WIDE if path.informative else _SWAMPED if path.swamped else _FAR]
        elif self.fit.noise_ratio > REMARK:
            sentences.append(_NEAR)
        return (*sentences, *self.about.remarks)

    def submodel(self, formula: object, regressors: object = None, *, intercept: bool = True) -> LogitRegression:
        """Raise an error: the released Newton steps determine only the coefficients of their own model.

        Parameters
        ----------
        formula, regressors, intercept
            The arguments of `Regression.submodel`.

        Returns
        -------
        LogitRegression
            The method never returns.

        Raises
        ------
        ParameterError
            HG193: the method always raises this error.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.logit("z", ["x"], bounds={"x": (0, 3)}, epsilon=1.0)
        >>> fit.submodel("z", [])
        Traceback (most recent call last):
            ...
        hedgerow.errors.ParameterError: HG193...
        """
        raise ParameterError(
            "HG193",
            rule="A release of a logistic regression contains only the Newton steps of its own model.",
            finding=f"The release is of {self.about.formula}; asked was {format_argument(formula)}.",
            remedy="Release the other model in a call of its own.",
        )

    def predict(self, records: object, level: float = 0.95) -> list[Contrast]:
        """Return the predicted probability of the outcome for each given record, with an interval.

        Parameters
        ----------
        records : {column: value}, {column: values}, list of {column: value}, or data frame
        level : float
            The confidence level of the intervals.

        Returns
        -------
        list of Contrast
            A list with one prediction for each record, even for a single record.

        Raises
        ------
        ParameterError
            HG194: a record lacks a column of the model, or has a value that was not declared.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.logit("z", ["x"], bounds={"x": (0, 3)}, epsilon=1.0)
        >>> 0.0 <= fit.predict({"x": 1.0})[0].estimate <= 1.0
        True
        """
        chances = []
        for odds in super().predict(records, level):
            chance, low, high = (_chance(log_odds) for log_odds in (odds.estimate, odds.low, odds.high))
            slope = chance * (1.0 - chance)
            errors = (
                (odds.sampling_error * slope, odds.privacy_error * slope)
                if self.fit.path.informative
                else (math.inf,) * 2
            )
            chances.append(
                replace(odds, estimate=chance, sampling_error=errors[0], privacy_error=errors[1], low=low, high=high)
            )
        return chances

    def header(self) -> dict[str, str]:
        """Return the facts above the coefficients that statsmodels prints, under the same names as in statsmodels."""
        facts = {counted_in_words(name): size for name, size in self.facts_of_fit().items()}
        outcome = f"{self.about.model.response} = {self.about.model.value}"
        steps = {"Newton steps": str(len(self.released)), "Covariance Type": "nonrobust"}
        return {"Dep. Variable": outcome, **facts, "Model": self.family, **steps}

    def asked(self) -> dict[str, Any]:
        """Return the request as plain JSON data."""
        return self.about.model.asked(self.about.formula)


def _chance(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0


def logit_from_record(record: Mapping[str, Any] | str) -> LogitRegression:
    """Return the fit of a record, read anew from the released numbers of its steps (HG502 where it is none)."""
    content: Any = record_of(record) if isinstance(record, str) else record
    with reading_back():
        facts, certificate = dict(content["release"]), Certificate.from_dict(content["certificate"])
        mechanism, notes = NewtonSteps.of_record(certificate.mechanism), facts.pop("notes")
        model = LogitModel.of_record(content["regression"])
        (cell,) = content["fits"]
        released = np.array(cell["released"], dtype=np.float64)
        if mechanism.ranges != model.ranges:
            raise ValueError
        size = len(model.ranges)
        if released.shape != (len(mechanism.precisions), size + size * (size + 1) // 2):
            raise ValueError
        formula, asked = str(content["regression"]["formula"]), content["request"] if "reading" in content else None
        about = FitContext(model, formula, mechanism, facts["n"], facts, tuple(notes), asked)
        fit = LogitRegression(about, released, model.regressors, certificate)
        _ = fit.fit.params
    return fit
