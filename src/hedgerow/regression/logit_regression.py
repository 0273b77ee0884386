r"""`LogitRegression`: coefficients of a logistic regression with errors that count sampling and privacy noise.

Noisy Newton steps: from what each step released to the next coefficients, and to the errors of the last.

Everything here is computed from released numbers alone, so it costs nothing and anybody can repeat it. With g and H the
noisy gradient and curvature at β, of noise σ and s a number, the next coefficients are β + d, d = H⁻¹g, from β = 0 on.
Where noise could make H singular, its eigenvalues are raised to s·√P; a step that would move some record's linear
predictor by more than 4 is shortened. Neither happens at a last step that is relied on.

==========  ==========================================================================================================
sampling    H⁻¹: that of a logistic model that holds
noise       H⁻¹(σ²I + M)H⁻¹, M = s²(|d|²I + dd' − diag d²): what the noise of H does to a last step d
noise of H  r = 2√‖H^−½ E[NH⁻¹N] H^−½‖, N the noise: a remark from ¼ on, nothing is relied on from 1 on
remainder   a Newton step leaves about half its relative size behind: ½·q·λ in standard errors, λ² = d'Hd, q the root
            mean square by which d moves the linear predictor. Above 0.4 of a standard error the steps have not
            converged: there were too few, or the outcome is separated
==========  ==========================================================================================================

(docs/methods/logit.md)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.mechanisms.newton_steps import NewtonSteps, ReleasedStep
from hedgerow.regression.coefficients import Coefficients, Contrast, FitContext, reading_back
from hedgerow.regression.logit_model import LogitModel

Floats = NDArray[np.float64]
Beta = tuple[float, ...]
REMARK, UNRELIABLE = 0.25, 1.0
"""Noise of the curvature relative to it, from which on a remark is made, and from which on nothing is relied on."""
CONVERGED = 0.4
"""The most that the last step may have left behind, in standard errors."""
USUAL_STEPS = 5
_LAST, _GROWTH = 0.65, 1.7
_FARTHEST = 4.0


def precisions(mu: float, steps: int) -> tuple[float, ...]:
    """Return μ_t of each step: the last one has 0.65 of μ², those before grow by 1.7 from one to the next.

    >>> [round(mu**2, 3) for mu in precisions(1.0, 5)]
    [0.033, 0.057, 0.096, 0.164, 0.65]
    """
    if steps == 1:
        return (mu,)
    before = _GROWTH ** np.arange(steps - 1)
    shares = [*((1.0 - _LAST) * before / before.sum()), _LAST]
    return tuple(float(mu * np.sqrt(share)) for share in shares)


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """One step: where it was taken, what it released, and what follows."""

    beta: Beta
    numbers: Floats
    released: ReleasedStep
    reach: Floats

    @cached_property
    def curvature(self) -> Floats:
        """H, symmetric."""
        size = len(self.beta)
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = self.released.curvature
        return matrix + np.triu(matrix, 1).T

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.curvature)
        return values, vectors

    @cached_property
    def positive(self) -> bool:
        """Whether H is farther from singular than noise may move it."""
        return bool(self._eigen[0][0] > self._floor)

    @property
    def _floor(self) -> float:
        return max(self.released.curvature_sd * float(np.sqrt(len(self.beta))), 1e-300)

    @cached_property
    def inverse(self) -> Floats:
        """H⁻¹, eigenvalues below s·√P raised to it."""
        values, vectors = self._eigen
        return np.asarray(vectors / np.maximum(values, self._floor) @ vectors.T)

    @cached_property
    def whole(self) -> Floats:
        """The step d before it is shortened."""
        return np.asarray(self.inverse @ self.released.gradient)

    @cached_property
    def moved(self) -> Floats:
        """The step d."""
        farthest = float(np.abs(self.whole) @ self.reach)
        return self.whole * min(1.0, _FARTHEST / farthest) if farthest > 0.0 else self.whole

    @property
    def shortened(self) -> bool:
        """Whether d was."""
        return bool(np.abs(self.whole) @ self.reach > _FARTHEST)

    @property
    def after(self) -> Beta:
        """The coefficients after it."""
        return tuple((np.array(self.beta) + self.moved).tolist())

    @cached_property
    def sampling(self) -> Floats:
        """The sampling covariance of the coefficients after it."""
        return self.inverse

    @cached_property
    def noise(self) -> Floats:
        """The covariance that the noise of this step gives to the coefficients after it."""
        d, size = self.moved, len(self.beta)
        own = self.released.curvature_sd**2 * ((d @ d) * np.eye(size) + np.outer(d, d) - np.diag(d**2))
        return np.asarray(self.inverse @ (self.released.gradient_sd**2 * np.eye(size) + own) @ self.inverse)

    @cached_property
    def noise_ratio(self) -> float:
        """r: about the size of the noise in H relative to H."""
        if not self.positive:
            return float(np.inf)
        values, vectors = self._eigen
        root, inverse = vectors / np.sqrt(values) @ vectors.T, self.inverse
        spread = self.released.curvature_sd**2 * (
            np.trace(inverse) * np.eye(len(root)) + inverse - np.diag(np.diag(inverse))
        )
        return float(2.0 * np.sqrt(np.linalg.eigvalsh(root @ spread @ root)[-1]))

    @cached_property
    def remainder(self) -> float:
        """About how far the coefficients after it are from where steps would end, in standard errors."""
        square = max(float(self.whole @ self.curvature @ self.whole), 0.0)
        # Σμ(1 − μ)x² of the first feature, a constant where there is one: at most the sum of the weights by which
        # d'Hd is a mean square.
        weight = float(self.released.curvature[0])
        errors = float(np.trace((self.sampling + self.noise) @ self.curvature))
        if min(weight, errors) <= 0.0:
            return float(np.inf)
        return float(0.5 * square / np.sqrt(weight * errors))


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
        return np.array(self.last.after)

    @property
    def covariance(self) -> Floats:
        """Of the coefficients, sampling and noise."""
        return self.last.sampling + self.last.noise

    @property
    def converged(self) -> bool:
        """Whether what the last step left behind is small, and nothing had to be shortened there."""
        return self.last.remainder <= CONVERGED and not self.last.shortened

    @property
    def reliable(self) -> bool:
        """Whether the last step can be relied on: it converged, and noise does not hide the curvature."""
        return self.converged and self.last.positive and self.last.noise_ratio < UNRELIABLE

    @classmethod
    def run(cls, mechanism: NewtonSteps, numbers: Callable[[int, Beta], Floats]) -> NewtonPath:
        """Take all steps; `numbers` gives what a step released at its coefficients: drawn now, or on record."""
        reach = np.abs(np.array(mechanism.ranges)).max(axis=1)
        beta: Beta = (0.0,) * len(mechanism.ranges)
        steps: list[NewtonStep] = []
        for step in range(len(mechanism.precisions)):
            noisy = np.asarray(numbers(step, beta), dtype=np.float64)
            steps.append(NewtonStep(beta, noisy, mechanism.released(noisy, step, beta), reach))
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
_FAR = (
    "The Newton steps have not converged: there were too few, or some combination of the regressors separates the "
    "outcomes (nearly), and then no finite coefficients fit best. These are where the last step ended, and nothing is "
    "known of their errors. The price was paid; more `steps`, or fewer regressors, would help."
)
_NEAR = "The noise is not small beside the curvature: standard errors are approximate."
_MODEL = "Standard errors hold where the logistic model does."


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
        if not self.reliable:
            return np.full_like(covariance, math.inf)
        return np.asarray(self.back @ covariance @ self.back.T)

    @cached_property
    def sampling_covariance(self) -> Floats:
        """H⁻¹; 0 of a census, infinite where nothing is known of it."""
        known = np.zeros_like(self.back) if self.census else self.path.last.sampling
        return self._moved(known)

    @cached_property
    def noise_covariance(self) -> Floats:
        """H⁻¹(σ²I + M)H⁻¹; infinite where nothing is known of it."""
        return self._moved(self.path.last.noise)

    def errors(self, weights: Floats) -> tuple[float, float]:
        """Return the sampling and the noise error of w'β."""
        if not self.reliable:
            return math.inf, math.inf
        parts = (weights @ part @ weights for part in (self.sampling_covariance, self.noise_covariance))
        sampling, noise = (math.sqrt(max(0.0, float(part))) for part in parts)
        return sampling, noise

    def accepted(self, weights: Floats, level: float) -> tuple[float, float]:
        """Return the values of w'β that are not rejected at a level: (−∞, ∞) where the fit is not reliable."""
        from hedgerow.special import ndtri

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
    """A logistic regression, read from noisy Newton steps; contrasts and predictions come at no further price.

    Guarantee   (ε, δ)-differential privacy of everything in it, priced by ``certificate``: all that the methods do is
    post-processing of the released numbers.

    Attributes
    ----------
    about : FitContext
        What was asked of what.
    released : float array, (steps, numbers)
        The noisy numbers of each step, in units of 2⁻³⁰: gradient, then curvature.
    """

    how: ClassVar[str] = _HOW

    @cached_property
    def fit(self) -> LogitFit:
        """The algebra behind it."""
        path = NewtonPath.replayed(self.about.mechanism, self.released)
        return LogitFit(path, self.about.model.back, self.about.census)

    @property
    def rsquared(self) -> float:
        """NaN: a logistic regression has none."""
        return math.nan

    @property
    def scale(self) -> float:
        """1: an outcome of 0 or 1 has no variance of its own."""
        return 1.0

    @property
    def nobs(self) -> float:
        """The number of records of the file, where it is public; else NaN: none was released."""
        return math.nan if self.about.n is None else float(self.about.n)

    @property
    def df_resid(self) -> float:
        """Infinite: intervals are normal."""
        return math.inf

    @property
    def size(self) -> str:
        """Which response is an outcome of 1, and how many steps were taken."""
        return f"{self.about.model.response} = {self.about.model.value}, {len(self.released)} Newton steps"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, in sentences."""
        path, sentences = self.fit.path, [_MODEL]
        if not path.reliable:
            swamped = not path.last.positive or not path.last.noise_ratio < 1.0
            sentences = [_SWAMPED if swamped else _FAR]
        elif self.fit.noise_ratio > REMARK:
            sentences.append(_NEAR)
        return (*sentences, *self.about.remarks)

    def submodel(self, formula: object, regressors: object = None, *, intercept: bool = True) -> LogitRegression:
        """Refuse: the released Newton steps determine the coefficients of their own model, and of no other.

        Parameters
        ----------
        formula, regressors, intercept
            As in `Regression.submodel`.

        Returns
        -------
        LogitRegression
            Never: it always raises.

        Raises
        ------
        ParameterError
            HG193: always.

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
            rule="A logistic regression is released with the steps of its own model.",
            finding=f"The release is of {self.about.formula}; asked was {format_argument(formula)}.",
            remedy="Release that model by itself.",
        )

    def predict(self, records: Sequence[Mapping[str, Any]], level: float = 0.95) -> list[Contrast]:
        """Return the chance of the outcome for records with these columns, each with its interval.

        Parameters
        ----------
        records : list of {column: value}
        level : float
            Of the intervals.

        Returns
        -------
        list of Contrast
            One for each record.

        Raises
        ------
        ParameterError
            HG194: a record without one of the columns, or with a value that was not declared.

        Examples
        --------
        >>> import hedgerow as hg, pyarrow
        >>> data = pyarrow.table({"x": [0.0, 1.0, 2.0, 3.0] * 500, "y": [1.0, 2.0, 2.0, 4.0] * 500, "z": [0, 1] * 1000})
        >>> survey = hg.open(data, relation="replace-one")
        >>> fit = survey.logit("z", ["x"], bounds={"x": (0, 3)}, epsilon=1.0)
        >>> 0.0 <= fit.predict([{"x": 1.0}])[0].estimate <= 1.0
        True
        """
        chances = []
        for odds in super().predict(records, level):
            chance, low, high = (_chance(log_odds) for log_odds in (odds.estimate, odds.low, odds.high))
            slope = chance * (1.0 - chance)
            errors = (odds.sampling_error * slope, odds.privacy_error * slope) if self.reliable else (math.inf,) * 2
            chances.append(
                replace(odds, estimate=chance, sampling_error=errors[0], privacy_error=errors[1], low=low, high=high)
            )
        return chances

    def head(self) -> tuple[str, ...]:
        """Return the lines above the table of coefficients."""
        size = "" if math.isnan(self.nobs) else f"Records of the file: {self.nobs:,.0f}   "
        model = self.about.model
        outcome = f"Logit {self.about.formula}, {model.response} = {model.value}"
        return outcome, f"{size}Newton steps: {len(self.released)}"

    def asked(self) -> dict[str, Any]:
        """Return what was asked for as plain JSON data."""
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
