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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.joint.joint_moments import MOST_BITS, JointMoments, cost_of, joint_moments, priced_weights
from hedgerow.mechanisms.joint.joint_numbers import JointLayout, Kind, Shape, parts_of_shape
from hedgerow.mechanisms.joint.joint_sensitivity import JointWeights, Of
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.noise.lattice import lattice_widths
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
_FAR = 1.5  # a search improves a score by less


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
    thorough: ClassVar[bool]
    """Whether each candidate is searched, in all of its parameters."""

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

    >>> from hedgerow.mechanisms.joint.joint_numbers import JointFeature
    >>> from hedgerow.release.designs.joint.joint_choice import JointQuestion, mean_of
    >>> asked = JointQuestion(JointLayout((JointFeature(2**20),), "public", 1), (mean_of(0),), 1000.0, known=True)
    >>> choice = choose(asked, Budget(1.0, 1e-6), Relation.REPLACE_ONE)
    >>> choice.name, choice.runner_up.name
    ('Laplace noise, centred moments', 'Laplace noise, partition blocks')
    """
    return _chosen(question, budget, relation, tuple(laws))


@lru_cache(maxsize=32)
def _chosen(question: ReleaseQuestion, budget: Budget, relation: Relation, laws: tuple[Law, ...]) -> JointChoice:
    """Choose once where the same is planned and released, or released again and again."""
    each = _searched(question, _rounded(budget), relation, laws)
    choices = []
    for law, precision in _precisions(budget, laws):
        for place, candidate in enumerate(question.candidates(law)):
            logs = each.get((law, place))
            choice = (
                None if logs is None else _Weighing(candidate, question, precision, relation).choice(np.array(logs))
            )
            choices += [] if choice is None else [choice]
    if not choices:
        raise UncertifiedError(
            "HG401",
            rule=f"{question.title} needs noise that fits its budget and 64-bit integers.",
            finding="No noise distribution meets the budget with numbers of 64 bits.",
            remedy="Use coarser steps, fewer columns, or a larger epsilon.",
        )
    first, *others = sorted(choices, key=lambda choice: choice.score)
    return replace(first, runner_up=others[0] if others else None)


def _rounded(budget: Budget) -> Budget:
    """Return a budget near by, for which weights are searched: a few per cent move the best weights by little."""
    mu = None if budget.mu is None else float(f"{budget.mu:.2g}")
    # Rounded up to 1, a delta would be no delta.
    return Budget(float(f"{budget.epsilon:.2g}"), min(float(f"{budget.delta:.1g}"), 0.9), mu)


def _precisions(budget: Budget, laws: tuple[Law, ...]) -> list[tuple[Law, float]]:
    """Return the laws that may be taken, and at which precision each meets the budget."""
    return [
        (law, _AIM * (gaussian_mu(budget) if law.power == 2 else budget.epsilon / math.sqrt(law.draws)))
        for law in laws or ((LAPLACE,) if budget.delta == 0.0 else (LAPLACE, GAUSSIAN))
    ]


@lru_cache(maxsize=256)
def _searched(
    question: ReleaseQuestion, budget: Budget, relation: Relation, laws: tuple[Law, ...]
) -> Mapping[tuple[Law, int], tuple[float, ...]]:
    """Return the best parameters of each candidate, by its law and place.

    No search is made where the start of another candidate is better by far than a search improves it.
    """
    weighings = {
        (law, place): _Weighing(candidate, question, precision, relation)
        for law, precision in _precisions(budget, laws)
        for place, candidate in enumerate(question.candidates(law))
    }
    starts = {name: weighing.score_at_start() for name, weighing in weighings.items()}
    near = min(starts.values(), default=math.inf) + (math.inf if question.thorough else _FAR)
    return {
        name: tuple((weighings[name].searched() if score <= near else weighings[name].start).tolist())
        for name, score in starts.items()
        if score < math.inf
    }


@dataclass(frozen=True, slots=True)
class _Weighing:
    """A candidate at a precision, of which weights are searched."""

    candidate: Candidate
    question: ReleaseQuestion
    precision: float
    relation: Relation

    @property
    def start(self) -> Floats:
        """The parameters to begin with."""
        return np.array(self.candidate.start, dtype=np.float64)

    def score_at_start(self) -> float:
        """Return the score at the start; infinite where no noise fits the integers, or it tells too little."""
        return self._score(self.start, self.question, self.candidate.weights)

    def searched(self) -> Floats:
        """Return the best parameters; those that change no weight stay as they are."""
        start = self.start
        about, weights = self.candidate.lean or (self.question, self.candidate.weights)
        steps = 0.5 * np.eye(len(start))
        free = [
            place
            for place, step in enumerate(steps)
            if self.question.thorough or not _alike(weights(start), weights(start + step))
        ]
        if not free:
            return start

        def score(part: Floats) -> float:
            logs = start.copy()
            logs[free] = part
            return self._score(logs, about, weights)

        most, near, alike = self.question.search
        simplex = np.vstack([start, start + steps[free]])[:, free]
        start[free], _ = lowest(score, simplex, most=most, near=near, alike=alike)
        return start

    def choice(self, logs: Floats) -> JointChoice | None:
        """Return the release with the weights of these parameters; None where no noise of it fits the integers."""
        weights, about = _within(self.candidate.weights, logs), (self.precision, self.relation)
        try:
            errors = self.question.forecast(self.candidate.law, weights, *about)
            mechanism = joint_moments(self.candidate.law, self.question.layout, weights, *about)
        except ParameterError:
            return None
        each = tuple(np.sqrt(errors.squares.mean(axis=0)).tolist())
        return JointChoice(mechanism, self.candidate.name, each, _score(errors, self.question), self.precision)

    def _score(self, logs: Floats, about: ReleaseQuestion, weights: Callable[[Floats], JointWeights]) -> float:
        made = _within(weights, logs)
        try:
            return _score(about.forecast(self.candidate.law, made, self.precision, self.relation), self.question)
        except ParameterError:
            return math.inf


def _within(weights: Callable[[Floats], JointWeights], logs: Floats) -> JointWeights:
    return weights(np.minimum(np.maximum(logs, _LEAST_WEIGHT), _MOST_WEIGHT))


def _score(errors: SquaredErrors, question: ReleaseQuestion) -> float:
    noise = question.noise_itself * np.log(errors.noise).mean() if question.noise_itself else 0.0
    return float(np.log(errors.squares).mean() + noise)


def _alike(first: JointWeights, second: JointWeights) -> bool:
    return all(getattr(first, part.name) == getattr(second, part.name) for part in fields(JointWeights))


def noise_of_shape(
    law: Law, layout: JointLayout, weights: JointWeights, precision: float, relation: Relation
) -> tuple[Shape, Floats]:
    """Return the shape of the numbers of `joint_moments`, and the standard deviation of the noise on each of them.

    A search for weights asks again and again, so nothing else is made of the mechanism.

    Raises
    ------
    ParameterError
        HG107: noise that does not fit 64-bit integers.

    Examples
    --------
    >>> from hedgerow.mechanisms.joint.joint_numbers import JointFeature
    >>> weights, layout = JointWeights(1, {}, {(0,): 1.0, (0, 0): 0.5}), JointLayout((JointFeature(100),), "public", 1)
    >>> shape, sds = noise_of_shape(LAPLACE, layout, weights, 1.0, Relation.REPLACE_ONE)
    >>> joint = joint_moments(LAPLACE, layout, weights, 1.0, Relation.REPLACE_ONE)
    >>> shape == joint.numbers.shape, sds.tolist() == joint.noise_sds().tolist()
    (True, True)
    """
    positive, scale = priced_weights(law, layout, weights, precision, relation)
    keys = tuple(positive.counts), tuple(positive.sums), tuple(positive.restricted)
    shape, reach, parts = _shape_of(layout, *keys, tuple(positive.across), tuple(positive.blocks))
    weighed = positive.counts, positive.sums, positive.restricted, positive.across, positive.blocks
    widths = scale * reach / np.array([weight for part in weighed for weight in part.values()])
    coarse = 2.0 ** np.maximum(0.0, np.ceil(np.log2(widths)) - MOST_BITS)
    return shape, (law.sd(1.0) * coarse * lattice_widths(widths / coarse))[parts]


@lru_cache(maxsize=64)
def _shape_of(
    layout: JointLayout,
    counts: tuple[Of, ...],
    sums: tuple[Of, ...],
    restricted: tuple[tuple[Of, Of], ...],
    across: tuple[tuple[Of, int], ...],
    blocks: tuple[tuple[Of, Of], ...],
) -> tuple[Shape, Floats, NDArray[np.intp]]:
    """Return a shape, the reach of each of its coordinates and blocks, and of which of them each number is."""
    kinds: list[tuple[Kind, Of, Of, int]] = [("count", of, (), 0) for of in counts]
    kinds += [("sum", of, (), 0) for of in sums] + [("sum", of, present, 0) for of, present in restricted]
    kinds += [("across", of, (), lag) for of, lag in across]
    shape = tuple(kinds), blocks
    reach = [layout.reach(of, (int(kind != "count"),) * len(of)) for kind, of, *_ in kinds]
    reach += [layout.reach(*block) for block in blocks]
    return shape, np.array(reach, dtype=np.float64), np.array(parts_of_shape(layout, *shape), np.intp)


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
