"""The one chooser of noise law, basis and weights of joint moments: those of least forecast error, by public facts.

What is asked are smooth functions of moments: means, ratios, coefficients. At a guessed truth each is linear, with a
sampling variance v. Noise on the moments gives it a variance η, gives v itself a standard deviation s, and moves what
the function divides by, by m relative to it. The forecast is the squared error that an interval shows,
(v + η + s/2)(1 + 2m). What is minimised is the mean logarithm of it over the functions and over guessed truths, so that
no unit of measurement counts. Weights are searched for from one start (`simplex`); the price is exact for each.

The search for weights of noise: Nelder and Mead's simplex, which needs values alone.

As `scipy.optimize.minimize(method="Nelder-Mead")`, step by step, without importing the rest of that package: a fifth of
a second of a command that lasts one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint_moments import JointMoments, cost_of, joint_moments
from hedgerow.mechanisms.joint_numbers import JointLayout
from hedgerow.mechanisms.joint_sensitivity import JointWeights
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.resampling.counted_values import Monomial

Floats = NDArray[np.float64]


class _Enough(Exception):
    """No more values may be asked for."""


def lowest(
    function: Callable[[Floats], float], simplex: Floats, *, most: int, near: float, alike: float
) -> tuple[Floats, float]:
    """Return the lowest point found by at most `most` values, and its value.

    Parameters
    ----------
    function : callable
        What is to be low; infinite where it is not defined.
    simplex : float array, (N + 1, N)
        The points to begin with.
    most : int
        How many values may be asked for.
    near, alike : float
        It ends where no coordinate and no value differs by more from that of the lowest point.

    Examples
    --------
    >>> start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> point, value = lowest(lambda x: float(((x - 2.0) ** 2).sum()), start, most=200, near=1e-6, alike=1e-9)
    >>> point.round(4).tolist(), round(value, 6)
    ([2.0, 2.0], 0.0)
    """
    asked = 0

    def value(point: Floats) -> float:
        nonlocal asked
        if asked >= most:
            raise _Enough
        asked += 1
        return function(point.copy())

    points, values = simplex.astype(np.float64), np.full(len(simplex), np.inf)
    try:
        for place, point in enumerate(points):
            values[place] = value(point)
        points, values = _sorted(points, values)
        while asked < most and (np.abs(points[1:] - points[0]).max() > near or _differ(values) > alike):
            _moved(points, values, value)
            points, values = _sorted(points, values)
    except _Enough:
        points, values = _sorted(points, values)
    return points[0], float(values[0])


def _sorted(points: Floats, values: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(values)
    return points[order], values[order]


def _differ(values: Floats) -> float:
    with np.errstate(invalid="ignore"):  # two infinite values
        return float(np.abs(values[0] - values[1:]).max())


def _moved(points: Floats, values: Floats, value: Callable[[Floats], float]) -> None:
    """Replace the highest point by one that is reflected, farther, or nearer; else shrink to the lowest."""
    middle, worst = np.add.reduce(points[:-1], 0) / (len(points) - 1), points[-1].copy()
    at = 2.0 * middle - worst
    reflected = value(at)
    if reflected < values[0]:
        farther = 3.0 * middle - 2.0 * worst
        moved = value(farther)
        points[-1], values[-1] = (farther, moved) if moved < reflected else (at, reflected)
        return
    if reflected < values[-2]:
        points[-1], values[-1] = at, reflected
        return
    outside = reflected < values[-1]
    nearer = 1.5 * middle - 0.5 * worst if outside else 0.5 * middle + 0.5 * worst
    moved = value(nearer)
    if moved <= reflected if outside else moved < values[-1]:
        points[-1], values[-1] = nearer, moved
        return
    for place in range(1, len(points)):
        points[place] = points[0] + 0.5 * (points[place] - points[0])
        values[place] = value(points[place])


# A certificate rounds ε up to 1e-6, and a price is rounded up in its last digits: aim below by less than it shows.
_AIM = 1.0 - 1e-9
_LEAST_WEIGHT, _MOST_WEIGHT = math.log(1e-3), 2.0  # logarithms


class SquaredErrors(NamedTuple):
    """The squared error of each function at each guess, (guesses, functions), and the part of the noise."""

    squares: Floats
    noise: Floats


@dataclass(frozen=True, slots=True)
class LinearFunctions:
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

    def through(self, matrix: Floats) -> LinearFunctions:
        """Return the functions as linear in other numbers, of which these are combinations: (numbers, others)."""
        divisor = None if self.of_divisor is None else self.of_divisor @ matrix
        return LinearFunctions(self.sampling, self.slopes @ matrix, self.of_variance @ matrix, divisor)

    def forecast(self, sds: Floats | float = 1.0) -> SquaredErrors:
        """Return the squared errors where the numbers have independent noise of these standard deviations."""
        eta, unsure = (np.sum((rows * sds) ** 2, axis=-1) for rows in (self.slopes, self.of_variance))
        squares = self.sampling + eta + 0.5 * np.sqrt(unsure)
        if self.of_divisor is not None:
            squares = squares * (1.0 + 2.0 * np.sum((self.of_divisor * sds) ** 2, axis=-1))
        return SquaredErrors(np.asarray(squares), np.asarray(np.maximum(eta, np.finfo(float).tiny)))


class Candidate(NamedTuple):
    """A law and a basis, and the weights that it makes of the logarithms of some parameters.

    With `lean` the parameters are searched for by these weights of a smaller question.
    """

    name: str
    law: Law
    weights: Callable[[Floats], JointWeights]
    start: tuple[float, ...]
    lean: tuple[ReleaseQuestion, Callable[[Floats], JointWeights]] | None = None


class ReleaseQuestion(Protocol):
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

    def forecast(self, law: Law, weights: JointWeights, precision: float, relation: Relation) -> SquaredErrors:
        """Return the squared errors; ParameterError where no such noise fits the integers, or it tells too little."""
        ...


@dataclass(frozen=True, slots=True)
class JointChoice:
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
    runner_up : JointChoice or None
        The best one of another law or basis.
    """

    mechanism: JointMoments
    name: str = ""
    errors: tuple[float, ...] = ()
    score: float = 0.0
    precision: float = 0.0
    runner_up: JointChoice | None = None

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self.mechanism.noise_law


def choose(question: ReleaseQuestion, budget: Budget, relation: Relation, *, laws: Sequence[Law] = ()) -> JointChoice:
    """Return the release of least forecast error within a budget.

    Parameters
    ----------
    question : ReleaseQuestion
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

    >>> from hedgerow.mechanisms.joint_numbers import JointFeature
    >>> from hedgerow.release.designs.joint_choice import JointQuestion, mean_of
    >>> asked = JointQuestion(JointLayout((JointFeature(2**20),), "public", 1), (mean_of(0),), 1000.0, known=True)
    >>> choice = choose(asked, Budget(1.0, 1e-6), Relation.REPLACE_ONE)
    >>> choice.name, choice.runner_up.name
    ('Laplace noise, centred moments', 'Laplace noise, partition blocks')
    """
    return _chosen(question, budget, relation, tuple(laws))


@lru_cache(maxsize=32)
def _chosen(question: ReleaseQuestion, budget: Budget, relation: Relation, laws: tuple[Law, ...]) -> JointChoice:
    """Choose once where the same is planned and released, or released again and again."""
    choices = []
    for law in laws or ((LAPLACE,) if budget.delta == 0.0 else (LAPLACE, GAUSSIAN)):
        precision = _AIM * (gaussian_mu(budget) if law.power == 2 else budget.epsilon / math.sqrt(law.draws))
        made = [_best(candidate, question, precision, relation) for candidate in question.candidates(law)]
        choices += [choice for choice in made if choice is not None]
    if not choices:
        raise UncertifiedError(
            "HG401",
            rule=f"{question.title} needs noise that fits its budget and 64-bit integers.",
            finding="No noise distribution meets the budget.",
            remedy="Use coarser steps, fewer columns, or a larger epsilon.",
        )
    first, *others = sorted(choices, key=lambda choice: choice.score)
    return replace(first, runner_up=others[0] if others else None)


def _best(candidate: Candidate, question: ReleaseQuestion, precision: float, relation: Relation) -> JointChoice | None:
    """Return the candidate with its best weights; None where no noise of it fits the integers, or tells too little."""

    def made(logs: Floats, weights: Callable[[Floats], JointWeights]) -> JointWeights:
        return weights(np.clip(logs, _LEAST_WEIGHT, _MOST_WEIGHT))

    def forecast(
        logs: Floats, about: ReleaseQuestion, weights: Callable[[Floats], JointWeights]
    ) -> SquaredErrors | None:
        try:
            return about.forecast(candidate.law, made(logs, weights), precision, relation)
        except ParameterError:
            return None

    def score(errors: SquaredErrors | None) -> float:
        if errors is None:
            return math.inf
        noise = question.noise_itself * np.log(errors.noise).mean() if question.noise_itself else 0.0
        return float(np.log(errors.squares).mean() + noise)

    def chosen(logs: Floats) -> JointChoice | None:
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
        return JointChoice(mechanism, candidate.name, each, score(errors), precision)

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
