"""The one chooser of noise law, basis and weights of joint moments: those of least forecast error, by public facts.

What is asked are smooth functions of moments: means, ratios, coefficients. At a guessed truth each is linear, with a
sampling variance v. Noise on the moments gives it a variance η, gives v itself a standard deviation s, and moves what
the function divides by, by m relative to it. The forecast is the squared error that an interval shows,
(v + η + s/2)(1 + 2m). What is minimised is the mean logarithm of it over the functions and over guessed truths, so that
no unit of measurement counts. Weights are searched for from one start (`simplex`); the price is exact for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint.numbers import JointLayout
from hedgerow.mechanisms.joint.weights import JointWeights
from hedgerow.mechanisms.joint_moments import JointMoments, cost_of, joint_moments
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.number import gaussian_mu
from hedgerow.release.designs.simplex import lowest
from hedgerow.resampling.grid_sums import Monomial

# A certificate rounds ε up to 1e-6, and a price is rounded up in its last digits: aim below by less than it shows.
_AIM = 1.0 - 1e-9
_LEAST_WEIGHT, _MOST_WEIGHT = math.log(1e-3), 2.0  # logarithms


class Forecast(NamedTuple):
    """The squared error of each function at each guess, (guesses, functions), and the part of the noise."""

    squares: Floats
    noise: Floats


@dataclass(frozen=True, slots=True)
class Linearised:
    """Functions at guessed truths, linear in some numbers that have noise.

    Attributes
    ----------
    sampling : float array, (guesses, functions)
        The sampling variance v.
    slopes, of_variance : float array, (guesses, functions, numbers)
        What each number adds to the function, and to its sampling variance.
    of_divisor : float array, (guesses, functions, numbers), or None
        What each number adds to what the function divides by, relative to it, where that may be lost in the noise.
    """

    sampling: Floats
    slopes: Floats
    of_variance: Floats
    of_divisor: Floats | None = None

    def through(self, matrix: Floats) -> Linearised:
        """Return the functions as linear in other numbers, of which these are combinations: (numbers, others)."""
        divisor = None if self.of_divisor is None else self.of_divisor @ matrix
        return Linearised(self.sampling, self.slopes @ matrix, self.of_variance @ matrix, divisor)

    def forecast(self, sds: Floats | float = 1.0) -> Forecast:
        """Return the squared errors where the numbers have independent noise of these standard deviations."""
        eta, unsure = (np.sum((rows * sds) ** 2, axis=-1) for rows in (self.slopes, self.of_variance))
        squares = self.sampling + eta + 0.5 * np.sqrt(unsure)
        if self.of_divisor is not None:
            squares = squares * (1.0 + 2.0 * np.sum((self.of_divisor * sds) ** 2, axis=-1))
        return Forecast(np.asarray(squares), np.asarray(np.maximum(eta, np.finfo(float).tiny)))


class Candidate(NamedTuple):
    """A law and a basis, and the weights that it makes of the logarithms of some parameters.

    With `lean` the parameters are searched for by these weights of a smaller question.
    """

    name: str
    law: Law
    weights: Callable[[Floats], JointWeights]
    start: tuple[float, ...]
    lean: tuple[Question, Callable[[Floats], JointWeights]] | None = None


class Question(Protocol):
    """What a release of joint moments is for; equal questions have one answer, which is kept by their hash."""

    title: ClassVar[str]
    """What needs noise that fits, in the words of a refusal."""
    noise_itself: ClassVar[float]
    """What the logarithm of the noise counts, beside that of the error: sampling may hide the noise."""
    search: ClassVar[tuple[int, float, float]]
    """How many points are tried; it ends where parameters, and scores, differ by no more."""

    @property
    def layout(self) -> JointLayout:
        """The features as the mechanism sees them."""
        ...

    def __hash__(self) -> int:
        """Return a number that equal questions share."""
        ...

    def candidates(self, law: Law) -> Sequence[Candidate]:
        """Return the ways of the release with noise of a law."""
        ...

    def forecast(self, law: Law, weights: JointWeights, precision: float, relation: Relation) -> Forecast:
        """Return the squared errors; ParameterError where no such noise fits the integers, or it tells too little."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The release of least forecast error.

    Attributes
    ----------
    mechanism : JointMoments
    name : str
        Its law and basis.
    errors : tuple of float
        The forecast error of each function, averaged over the guesses.
    score : float
        The mean logarithm of the squared errors.
    precision : float
        At which the mechanism was made: μ, or of Laplace noise ε.
    runner_up : Choice or None
        The best one of another law or basis.
    """

    mechanism: JointMoments
    name: str = ""
    errors: tuple[float, ...] = ()
    score: float = 0.0
    precision: float = 0.0
    runner_up: Choice | None = None

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self.mechanism.noise_law


def choose(question: Question, budget: Budget, relation: Relation, *, laws: Sequence[Law] = ()) -> Choice:
    """Return the release of least forecast error within a budget.

    Parameters
    ----------
    question : Question
    budget : Budget
    relation : Relation
    laws : sequence of Law, optional
        The laws of noise that may be taken; by default all that the budget allows.

    Raises
    ------
    UncertifiedError
        HG401: no law of noise fits the budget and 64-bit integers.

    Examples
    --------
    One mean, n public: Laplace noise of 1.41 R/n, where Gaussian noise would have 4.23.

    >>> from hedgerow.mechanisms.joint.numbers import JointFeature
    >>> from hedgerow.release.designs.joint_choice import Asked, mean_of
    >>> asked = Asked(JointLayout((JointFeature(2**20),), "public", 1), (mean_of(0),), 1000.0, known=True)
    >>> choice = choose(asked, Budget(1.0, 1e-6), Relation.REPLACE_ONE)
    >>> choice.name, choice.runner_up.name
    ('Laplace noise, centred moments', 'Laplace noise, partition blocks')
    """
    return _chosen(question, budget, relation, tuple(laws))


@lru_cache(maxsize=32)
def _chosen(question: Question, budget: Budget, relation: Relation, laws: tuple[Law, ...]) -> Choice:
    """Choose once where the same is planned and released, or released again and again."""
    choices = []
    for law in laws or ((LAPLACE,) if budget.delta == 0.0 else (LAPLACE, GAUSSIAN)):
        precision = _AIM * (gaussian_mu(budget) if law.power == 2 else budget.epsilon / math.sqrt(law.draws))
        made = [_best(one, question, precision, relation) for one in question.candidates(law)]
        choices += [one for one in made if one is not None]
    if not choices:
        raise UncertifiedError(
            "HG401",
            rule=f"{question.title} needs noise that fits its budget and 64-bit integers.",
            finding="No law of noise does.",
            remedy="Take coarser steps, fewer columns, or a larger epsilon.",
        )
    first, *others = sorted(choices, key=lambda choice: choice.score)
    return replace(first, runner_up=others[0] if others else None)


def _best(candidate: Candidate, question: Question, precision: float, relation: Relation) -> Choice | None:
    """Return the candidate with its best weights; None where no noise of it fits the integers, or tells too little."""

    def made(logs: Floats, weights: Callable[[Floats], JointWeights]) -> JointWeights:
        return weights(np.clip(logs, _LEAST_WEIGHT, _MOST_WEIGHT))

    def forecast(logs: Floats, about: Question, weights: Callable[[Floats], JointWeights]) -> Forecast | None:
        try:
            return about.forecast(candidate.law, made(logs, weights), precision, relation)
        except ParameterError:
            return None

    def score(errors: Forecast | None) -> float:
        if errors is None:
            return math.inf
        noise = question.noise_itself * np.log(errors.noise).mean() if question.noise_itself else 0.0
        return float(np.log(errors.squares).mean() + noise)

    def chosen(logs: Floats) -> Choice | None:
        errors = forecast(logs, question, candidate.weights)
        if errors is None:
            return None
        try:
            mechanism = joint_moments(
                candidate.law, question.layout, made(logs, candidate.weights), precision, relation
            )
        except ParameterError:
            return None
        each = tuple(np.sqrt(errors.squares.mean(axis=0)).tolist())
        return Choice(mechanism, candidate.name, each, score(errors), precision)

    start = np.array(candidate.start)
    if not candidate.start:
        return chosen(start)
    if forecast(start, question, candidate.weights) is None:
        return None
    searched = candidate.lean or (question, candidate.weights)
    most, near, alike = question.search
    simplex = np.vstack([start, start + 0.5 * np.eye(len(start))])
    best, _ = lowest(lambda logs: score(forecast(logs, *searched)), simplex, most=most, near=near, alike=alike)
    return chosen(best)


def noise_of_numbers(
    layout: JointLayout, weights: JointWeights, relation: Relation, law: Law, *, precision: float = 1.0
) -> Floats:
    """Return the standard deviation of the noise of each count and sum at a precision, in units of its reach."""
    scale = cost_of(layout, weights, relation, law.power) ** (1.0 / law.power) / precision
    return np.array([law.sd(scale / weight) for weight in (*weights.counts.values(), *weights.sums.values())])


def reading_of_numbers(
    layout: JointLayout, weights: JointWeights, relation: Relation, wanted: Sequence[Monomial], *, n: float | None
) -> Floats:
    """Return how wanted moments are combined of counts and sums, each in units of its reach: (moments, numbers)."""
    matrix = joint_moments(GAUSSIAN, layout, weights, 1.0, relation).reading(wanted, n=n).matrix
    reach = [layout.reach((), ())] * len(weights.counts)
    reach += [layout.reach(of, (1,) * len(of)) for of in weights.sums]
    return matrix * np.array(reach, dtype=np.float64)
