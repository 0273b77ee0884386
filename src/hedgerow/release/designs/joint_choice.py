"""How joint moments are released: the noise law, the basis and the weights of least forecast error, by public facts.

Asked are smooth functions of the moments of a cell. At a guessed truth each is linear: an estimate of slopes g has
sampling variance v = g'Mg, with M the moments of (1, f), noise variance η = g'Vg, and since v is estimated from the
same noisy vector, noise on v of some standard deviation s. Forecast is the squared error that an interval shows,
v + η + s/2. What is minimised is the mean logarithm of it over the functions asked and over guessed truths, so that no
unit of measurement counts.

=====================  =============================================================================================
candidate              what is released
=====================  =============================================================================================
centred moments        Σ f, Σ f², the products needed, and a count where it is private
partition blocks       a block of each feature, and the products needed beside them
one partition block    the tensor product of all features, up to three
=====================  =============================================================================================

Each with Laplace noise, and with Gaussian noise where δ > 0, at the price that is exact for it. The weights of a kind
are searched for; the runner-up is the best candidate of another law or basis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint_moments import JointMoments, joint_moments
from hedgerow.mechanisms.joint_numbers import JointLayout
from hedgerow.mechanisms.joint_weights import JointWeights, Of
from hedgerow.mechanisms.laws import GAUSSIAN, LAPLACE, Law
from hedgerow.mechanisms.number import gaussian_mu
from hedgerow.resampling.grid_sums import Monomial

Slopes = Callable[[Floats], Floats]
"""The gradient of a function at the totals (N, Σ f_1, …, Σ f_d) of a cell, in the same order."""
# A certificate rounds ε up to 1e-6, and a price is rounded up in its last digits: aim below by less than it shows.
_AIM = 1.0 - 1e-9
# Guessed truths: the mean of every feature, and its standard deviation.
_GUESSES = ((0.0, 0.5), (0.5, 0.4), (-0.5, 0.4))
_LEAST_WEIGHT, _SEARCHES = 1e-3, 80


@dataclass(frozen=True, slots=True)
class Asked:
    """What a joint release is for.

    Attributes
    ----------
    layout : JointLayout
    functions : tuple of callables
        The gradient of each function.
    n : float
        The number of records of a cell, public or guessed.
    known : bool
        Whether that number is public.
    census : bool
        Whether the file itself is the target: no sampling error, so no second moments.
    covariances : bool
        Whether the product of every pair of features is released; else those that the functions' errors need.
    """

    layout: JointLayout
    functions: tuple[Slopes, ...]
    n: float
    known: bool
    census: bool = False
    covariances: bool = False


@dataclass(frozen=True, slots=True)
class JointChoice:
    """The release of least forecast error.

    Attributes
    ----------
    mechanism : JointMoments
    name : str
        Its law and basis.
    errors : tuple of float
        The forecast error of each function, averaged over the guesses, in units of f.
    runner_up : str or None
        The best one of another law or basis, and its errors.
    runner_up_errors : tuple of float
    """

    mechanism: JointMoments
    name: str
    errors: tuple[float, ...]
    runner_up: str | None
    runner_up_errors: tuple[float, ...]


class _Candidate(NamedTuple):
    """A law and a basis, and the weights that it makes of the logarithms of some parameters."""

    name: str
    law: Law
    weights: Callable[[Floats], JointWeights]
    start: tuple[float, ...]


class _Found(NamedTuple):
    candidate: _Candidate
    mechanism: JointMoments
    squares: Floats


def mean_of(i: int) -> Slopes:
    """Return the slopes of the mean of feature i.

    >>> mean_of(1)(np.array([100.0, 0.0, 50.0])).tolist()
    [-0.005, 0.0, 0.01]
    """

    def slopes(totals: Floats) -> Floats:
        found = np.zeros_like(totals)
        found[0], found[i + 1] = -totals[i + 1] / totals[0] ** 2, 1.0 / totals[0]
        return found

    return slopes


def ratio_of(i: int, j: int) -> Slopes:
    """Return the slopes of the ratio of the sums of features i and j, each read from the lower end of its range.

    >>> ratio_of(0, 1)(np.array([100.0, 0.0, 50.0])).round(6).tolist()
    [0.002222, 0.006667, -0.004444]
    """

    def slopes(totals: Floats) -> Floats:
        above, below = (totals[0] + totals[i + 1]) / 2.0, (totals[0] + totals[j + 1]) / 2.0
        found = np.zeros_like(totals)
        found[i + 1], found[j + 1] = 0.5 / below, -0.5 * above / below**2
        found[0] = found[i + 1] + found[j + 1]
        return found

    return slopes


def choose_joint(asked: Asked, budget: Budget, relation: Relation, *, laws: Sequence[Law] = ()) -> JointChoice:
    """Return the joint release of least forecast error within a budget.

    Parameters
    ----------
    asked : Asked
    budget : Budget
    relation : Relation
    laws : sequence of Law, optional
        The laws of noise that may be taken; by default all that the budget allows.

    Raises
    ------
    UncertifiedError
        HG401: no law of noise fits the budget.

    Examples
    --------
    One mean, n public: Laplace noise of 1.41 R/n, where Gaussian noise would have 4.23.

    >>> from hedgerow.mechanisms.joint_numbers import JointFeature
    >>> asked = Asked(JointLayout((JointFeature(2**20),), "public", 1), (mean_of(0),), 1000.0, known=True)
    >>> choice = choose_joint(asked, Budget(1.0, 1e-6), Relation.REPLACE_ONE)
    >>> choice.name, choice.runner_up
    ('Laplace noise, centred moments', 'Laplace noise, partition blocks')
    """
    allowed = laws or ((LAPLACE,) if budget.delta == 0.0 else (LAPLACE, GAUSSIAN))
    precision = {law: (gaussian_mu(budget) if law == GAUSSIAN else budget.epsilon) * _AIM for law in allowed}
    found = []
    for law in allowed:
        for candidate in _candidates(asked, law):
            best = _best_weights(candidate, asked, precision[law], relation)
            if best is not None:
                found.append(best)
    if not found:
        raise UncertifiedError(
            "HG401",
            rule="A joint release needs noise that fits its budget and 64-bit integers.",
            finding="No law of noise does.",
            remedy="Take coarser steps, fewer columns, or a larger epsilon.",
        )
    ranked = sorted(found, key=lambda one: _score(one.squares))
    first, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    return JointChoice(
        first.mechanism,
        first.candidate.name,
        _errors(first.squares),
        None if second is None else second.candidate.name,
        () if second is None else _errors(second.squares),
    )


def _candidates(asked: Asked, law: Law) -> list[_Candidate]:
    layout, d = asked.layout, len(asked.layout.features)
    noise = "Gaussian noise" if law == GAUSSIAN else "Laplace noise"
    pairs, others = _pairs(asked), _other_pairs(asked)
    # Beside a square of weight 1 all products of a feature together weigh a part, by the norm of the price.
    part = 0.5 / max(1, d - 1) ** (1.0 / law.power)
    alone = [(i,) for i in range(d)]
    binary = {i for i, feature in enumerate(layout.features) if feature.steps == 1}
    squares = [] if asked.census else [(i, i) for i in range(d) if i not in binary]
    counted: list[Of] = [(i,) for i in sorted(layout.missing)]
    counted += [()] if layout.presence == "private" and not asked.known else []
    degrees = {i: 1 if asked.census or i in binary else 2 for i in range(d)}

    def centred(logs: Floats) -> JointWeights:
        count, square, pair = np.exp(logs)
        sums: dict[Of, float] = dict.fromkeys(alone, 1.0) | dict.fromkeys(squares, square) | dict.fromkeys(pairs, pair)
        return JointWeights(d, dict.fromkeys(counted, count), sums | dict.fromkeys(others, part * square))

    def blocks(logs: Floats) -> JointWeights:
        parts: dict[tuple[Of, Of], float] = {((i,), (degrees[i],)): 1.0 for i in range(d)}
        pair = float(np.exp(logs[0])) if pairs else 0.0
        return JointWeights(d, {}, dict.fromkeys(pairs, pair) | dict.fromkeys(others, 0.2 * part), parts)

    def tensor(_: Floats) -> JointWeights:
        part = tuple(range(d)), tuple(degrees[i] for i in range(d))
        return JointWeights(d, {}, {}, {part: 1.0})

    found = [
        _Candidate(f"{noise}, centred moments", law, centred, (-0.3, -0.7, -0.7)),
        _Candidate(f"{noise}, partition blocks", law, blocks, (-0.7,) if pairs else ()),
    ]
    if 2 <= d <= 3 and (pairs or others):
        found.append(_Candidate(f"{noise}, one partition block", law, tensor, ()))
    return found


def _pairs(asked: Asked) -> list[Of]:
    """Return the pairs of features whose product some function's sampling variance holds."""
    if asked.census:
        return []
    d = len(asked.layout.features)
    totals = np.concatenate([[1.0], np.linspace(0.1, 0.3, d)]) * asked.n
    used = [np.flatnonzero(function(totals)[1:]).tolist() for function in asked.functions]
    return sorted({pair for places in used for pair in combinations(places, 2)})


def _other_pairs(asked: Asked) -> list[Of]:
    """Return the other pairs of features whose product is released."""
    wanted = asked.covariances and not asked.census
    return sorted(set(combinations(range(len(asked.layout.features)), 2)) - set(_pairs(asked))) if wanted else []


def _best_weights(candidate: _Candidate, asked: Asked, precision: float, relation: Relation) -> _Found | None:
    """Return the candidate with its best weights; None where no noise of it fits the integers, or tells too little."""
    from scipy.optimize import minimize

    def built(logs: Floats) -> _Found | None:
        weights = candidate.weights(np.clip(logs, math.log(_LEAST_WEIGHT), 2.0))
        try:
            mechanism = joint_moments(candidate.law, asked.layout, weights, precision, relation)
            return _Found(candidate, mechanism, _forecast(mechanism, asked))
        except ParameterError:
            return None

    def cost(logs: Floats) -> float:
        found = built(logs)
        return math.inf if found is None else _score(found.squares)

    start = np.array(candidate.start)
    first = built(start)
    if first is None or not candidate.start:
        return first
    simplex = np.vstack([start, start + 0.5 * np.eye(len(start))])
    options = {"maxfev": _SEARCHES, "xatol": 0.01, "fatol": 1e-4, "initial_simplex": simplex}
    return built(minimize(cost, start, method="Nelder-Mead", options=options).x)


def _forecast(mechanism: JointMoments, asked: Asked) -> Floats:
    """Return the squared error of each function at each guess, (guesses, functions)."""
    d = len(asked.layout.features)
    squares, pairs = [] if asked.census else list(range(d)), _pairs(asked)
    moments: list[Monomial] = [(), *(((i, 1),) for i in range(d))]
    moments += [((i, 2),) for i in squares if asked.layout.features[i].steps > 1]
    moments += [((i, 1), (j, 1)) for i, j in pairs]
    place = {moment: k for k, moment in enumerate(moments)}
    noise = mechanism.reading(moments, n=asked.n if asked.known else None).covariance
    found = np.zeros((len(_GUESSES), len(asked.functions)))
    for row, (mean, sd) in enumerate(_GUESSES):
        # A feature of two values has no other spread; its square is 1.
        spread = [1.0 - mean**2 if feature.steps == 1 else sd**2 for feature in asked.layout.features]
        totals = asked.n * np.concatenate([[1.0], np.full(d, mean)])
        second = np.full((d + 1, d + 1), mean**2) + np.diag([0.0, *spread])
        second[0], second[:, 0] = totals / asked.n, totals / asked.n
        for column, function in enumerate(asked.functions):
            slopes = function(totals)
            eta = slopes @ noise[: d + 1, : d + 1] @ slopes
            if asked.census:
                found[row, column] = eta
                continue
            sampling = asked.n * slopes @ second @ slopes
            told = np.zeros(len(moments))
            used = np.flatnonzero(slopes).tolist()
            for a, b in product(used, used):
                told[place[moment_of(a, b, asked.layout)]] += slopes[a] * slopes[b]
            found[row, column] = sampling + eta + 0.5 * math.sqrt(told @ noise @ told)
    return found


def moment_of(a: int, b: int, layout: JointLayout) -> Monomial:
    """Return the moment of the product of the a-th and b-th of (1, f_1, …, f_d); f² is 1 on a grid of one step."""
    a, b = min(a, b), max(a, b)
    if a == 0:
        return ((b - 1, 1),) if b else ()
    if a == b:
        return ((a - 1, 2),) if layout.features[a - 1].steps > 1 else ()
    return ((a - 1, 1), (b - 1, 1))


def _score(squares: Floats) -> float:
    return float(np.log(squares).mean())


def _errors(squares: Floats) -> tuple[float, ...]:
    return tuple(np.sqrt(squares.mean(axis=0)).tolist())
