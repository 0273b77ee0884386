"""The errors that a logistic regression may be expected to have, by a guess that was made without the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.given import as_float, format_argument
from hedgerow.mechanisms.adaptive.logistic import logistic
from hedgerow.mechanisms.adaptive.newton_steps import UNIT, NewtonSteps, ReleasedStep
from hedgerow.regression.design import ExpectedCoefficient
from hedgerow.regression.logit.model import LogitModel
from hedgerow.regression.logit.newton import NewtonStep
from hedgerow.regression.terms import INTERCEPT
from hedgerow.release.designs.guess import correlations, laws_of, parse_guesses, typical_records

Floats = NDArray[np.float64]
SHARE = 0.5
_MIDDLING = 0.3  # the sd of a column about which nothing is guessed, in units of half its range


def expected_errors(
    model: LogitModel,
    mechanism: NewtonSteps,
    guess: Mapping[str, Any],
    effects: Mapping[str, float],
    *,
    n: float,
    share: object,
) -> tuple[ExpectedCoefficient, ...]:
    """Return the expected errors of each coefficient, where this share has the outcome.

    Raises
    ------
    ParameterError
        HG707: a guess that cannot be.
    """
    features = _guessed(model, guess)
    beta = _coefficients(model, features, effects, share)
    mu, less = logistic(features @ np.array(beta))
    size, reach = len(model.ranges), np.abs(np.array(model.ranges)).max(axis=1)
    second = n * ((features * (mu * less)[:, None]).T @ features / len(features))[np.triu_indices(size)]

    def step(place: int) -> NewtonStep:
        noise = mechanism.noise(place, beta)
        sds = noise.gradient.in_units * UNIT, noise.curvature.in_units * UNIT
        return NewtonStep(beta, np.zeros(0), ReleasedStep(np.zeros(size), second, *sds), reach)

    last = step(len(mechanism.precisions) - 1)
    # The last step makes up for the noise of the one before it, and the noise of its own curvature meets that.
    missed = step(len(mechanism.precisions) - 2).noise if len(mechanism.precisions) > 1 else np.zeros((size, size))
    own = last.released.curvature_sd**2 * (np.trace(missed) * np.eye(size) + missed - np.diag(np.diag(missed)))
    noise = last.noise + last.inverse @ own @ last.inverse
    parts = (np.sqrt(np.diag(model.back @ one @ model.back.T)) for one in (last.sampling, noise))
    return tuple(
        ExpectedCoefficient(one.name, float(s), float(p), last.noise_ratio)
        for one, s, p in zip(model.regressors, *parts, strict=True)
    )


def _coefficients(
    model: LogitModel, features: Floats, effects: Mapping[str, float], share: object
) -> tuple[float, ...]:
    """Return the coefficients of features for these of regressors, the constant so that the share is met."""
    names, chance = [one.name for one in model.regressors], as_float(share)
    if chance is None or not 0.0 < chance < 1.0 or not set(effects) <= set(names) - {INTERCEPT}:
        given = ", ".join(map(format_argument, effects)) or "of none"
        raise ParameterError(
            "HG707",
            rule="A guess names coefficients but the intercept, and a share of records with the outcome in (0, 1).",
            finding=f"Found the share {format_argument(share)}, and coefficients {given}.",
            remedy='For example share=0.3, effects={"age": 0.02}.',
            shell="Such guesses are made in Python.",
        )
    beta = np.linalg.solve(model.back, np.array([float(effects.get(name, 0.0)) for name in names]))
    if model.ranges[0] != (1.0, 1.0):
        return tuple(beta.tolist())
    low, high = -50.0, 50.0
    for _ in range(60):
        beta[0] = (low + high) / 2.0
        low, high = (beta[0], high) if logistic(features @ beta)[0].mean() < chance else (low, beta[0])
    return tuple(beta.tolist())


def _guessed(model: LogitModel, given: Mapping[str, Any]) -> Floats:
    """Return the features of 4,096 records of a guess; categories have even chances."""
    guesses = parse_guesses(given)
    laws = laws_of(model.used, guesses, dict.fromkeys(model.used, (0.0, _MIDDLING)))
    indices = typical_records(laws, correlations(guesses)) if laws else np.zeros((4096, 0), dtype=np.int64)
    chance = np.random.default_rng(0)  # the same numbers in every plan: no data, no noise
    levels = {column: chance.integers(0, len(values), len(indices)) for column, values in model.categories.items()}
    return model.features({column: indices[:, k] for k, (column, *_) in enumerate(laws)}, levels, len(indices))
