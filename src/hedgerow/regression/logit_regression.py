"""`LogitRegression`: coefficients of a logistic regression with errors that count sampling and privacy noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.validation import format_argument
from hedgerow.mechanisms.certificate import Certificate, record_of
from hedgerow.mechanisms.newton_steps import NewtonSteps
from hedgerow.regression.coefficients import Coefficients, Contrast, FitContext, reading_back
from hedgerow.regression.logit.newton import REMARK, NewtonPath
from hedgerow.regression.logit_model import LogitModel

Floats = NDArray[np.float64]
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
        path, found = self.fit.path, [_MODEL]
        if not path.reliable:
            swamped = not path.last.positive or not path.last.noise_ratio < 1.0
            found = [_SWAMPED if swamped else _FAR]
        elif self.fit.noise_ratio > REMARK:
            found.append(_NEAR)
        return (*found, *self.about.remarks)

    def submodel(self, formula: object, regressors: object = None, *, intercept: bool = True) -> LogitRegression:
        """Refuse: what Newton steps release tells the model they were taken for, and no other (HG193)."""
        raise ParameterError(
            "HG193",
            rule="A logistic regression is released with the steps of its own model.",
            finding=f"The release is of {self.about.formula}; asked was {format_argument(formula)}.",
            remedy="Release that model by itself.",
        )

    def predict(self, records: Sequence[Mapping[str, Any]], level: float = 0.95) -> list[Contrast]:
        """Return the chance of the outcome for records with these columns, each with its interval.

        Raises
        ------
        ParameterError
            HG194: a record without one of the columns, or with a value that was not declared.
        """
        found = []
        for odds in super().predict(records, level):
            chance, low, high = (_chance(one) for one in (odds.estimate, odds.low, odds.high))
            slope = chance * (1.0 - chance)
            errors = (odds.sampling_error * slope, odds.privacy_error * slope) if self.reliable else (math.inf,) * 2
            found.append(
                replace(odds, estimate=chance, sampling_error=errors[0], privacy_error=errors[1], low=low, high=high)
            )
        return found

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
    found: Any = record_of(record) if isinstance(record, str) else record
    with reading_back():
        facts, certificate = dict(found["release"]), Certificate.from_dict(found["certificate"])
        mechanism, notes = NewtonSteps.of_record(certificate.mechanism), facts.pop("notes")
        model = LogitModel.of_record(found["regression"])
        (one,) = found["fits"]
        released = np.array(one["released"], dtype=np.float64)
        if mechanism.ranges != model.ranges:
            raise ValueError
        size = len(model.ranges)
        if released.shape != (len(mechanism.precisions), size + size * (size + 1) // 2):
            raise ValueError
        formula, asked = str(found["regression"]["formula"]), found["request"] if "reading" in found else None
        about = FitContext(model, formula, mechanism, facts["n"], facts, tuple(notes), asked)
        fit = LogitRegression(about, released, model.regressors, certificate)
        _ = fit.fit.params
    return fit
