"""What the moments of a linear model are released for: its coefficients, at guessed truths.

Released are Σf of each feature, Σf_i f_j of the pairs that the model needs (`features`), and a count where it is
private. Squares and products have weights of their own by what they are: a square or a product of regressors, a product
with the response, the response's own square. At guessed truths the error of each coefficient is known in closed form
(`moments`), linear in the noise of single numbers; law and weights are those of least forecast error (`chooser`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_numbers import JointLayout
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, Of
from hedgerow.mechanisms.laws import GAUSSIAN, Law
from hedgerow.regression.features import LinearFeatures
from hedgerow.regression.least_squares import LeastSquaresFit, RegressionMoments, noise_parts
from hedgerow.release.designs.guess import correlations, laws_of, parse_guesses, typical_records
from hedgerow.release.designs.joint.chooser import (
    Candidate,
    JointChoice,
    LinearFunctions,
    SquaredErrors,
    noise_of_numbers,
    reading_of_numbers,
)

Floats = NDArray[np.float64]

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
    thorough: ClassVar[bool] = True

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
