"""What can be had before the first look: the mechanism and ε with the narrowest interval, of given records and looks.

Half-widths are for losses of 0 and 1 at a score of one half, where they are largest. Nothing is read.

Attacks on a test set, by made-up labels: models that are fitted to nothing but the answers.

Labels are fair coins, so the expected accuracy of every model on new records is one half. An attack asks for the scores
of its models and, with the last look, for that of the model which it made from the answers. What that score shows
beyond one half is overstated. No records of anybody are read.

=================  ==================================================================================================
attack             what it does
=================  ==================================================================================================
``block-signs``    asks for sums over blocks of records by a Hadamard matrix, and sets each block to its better side
``majority``       asks for random guesses, which then vote, each for or against itself by its score
``hill-climbing``  changes a few predictions at a time, and keeps what scores better than the best before
``stepwise``       adds random features one by one to a voting model, and keeps those with which it scores better
=================  ==================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.relation import Relation
from hedgerow.facts.validation import as_float
from hedgerow.mechanisms.noisy_counts import gaussian_mu
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testset.adaptive_bounds import (
    Earlier,
    earlier_answers,
    for_fitted_model,
    half_width,
    split_half_width,
)
from hedgerow.testset.mechanisms.choose import choose
from hedgerow.testset.mechanisms.look_mechanism import (
    Conditions,
    LookAnswer,
    LookMechanism,
    Options,
    Question,
    two_sided,
)
from hedgerow.testset.metric import accuracy

_BETA = 0.05
_LEAST = 1e-3  # the least ε that a budget may have


@dataclass(frozen=True, slots=True)
class Planned:
    """One mechanism at one ε.

    Attributes
    ----------
    mechanism : str
    epsilon : float
        Of all looks together.
    looks : int
    first, last : float
        Half-widths of the 95 % intervals of the first look, and of the last one for a model fitted to all others.
    bound : str
        What proves the last: "likelihood" or "mutual information" of the answers, or "own records" of each look.
    vacuous : bool
        Whether the last interval holds every score that there can be.
    """

    mechanism: str
    epsilon: float
    looks: int
    first: float
    last: float
    bound: str
    vacuous: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LooksForecast:
    """What can be had.

    Attributes
    ----------
    choices : tuple of Planned
        The narrowest last interval first.
    wanted : float or None
        The half-width that was wanted of the last look.
    most : Planned or None
        The plan with the most looks, up to those asked for, that has this half-width; None if none has, or none was
        wanted.
    """

    choices: tuple[Planned, ...]
    wanted: float | None = None
    most: Planned | None = None

    @property
    def best(self) -> Planned:
        """The narrowest."""
        return self.choices[0]

    @property
    def vacuous(self) -> bool:
        """Whether no mechanism known to us says anything of a model fitted to all other answers."""
        return all(choice.vacuous for choice in self.choices)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        most = None if self.most is None else self.most.to_dict()
        choices = [choice.to_dict() for choice in self.choices]
        return {"choices": choices, "vacuous": self.vacuous, "wanted": self.wanted, "most": most}


ByNoise = Callable[[Conditions, int, float], Iterable[Planned]]
"""From conditions, looks and ε to what Gaussian noise gives."""
Otherwise = Callable[[Conditions, int], Iterable[Planned]]
"""From conditions and looks to what other mechanisms give."""


def plan_looks(
    n: int, looks: int, *, epsilon: float = 1.0, delta: float = DEFAULT_DELTA, width: float | None = None
) -> LooksForecast:
    """Return which mechanism and ε give the narrowest interval of the last look, for a model fitted to all others.

    Parameters
    ----------
    n, looks : int
        How many records and looks there are.
    epsilon, delta : float
        The most that all looks together may cost. A smaller ε may give narrower intervals: it tells less to fit.
    width : float, optional
        The half-width wanted of the last look.

    Raises
    ------
    ParameterError
        HG101 to HG103 for the budget, HG173 for the numbers, HG707 for the width.

    Examples
    --------
    >>> best = plan_looks(10_000, 1000).best
    >>> best.mechanism, best.bound, round(best.epsilon, 1), round(best.last, 2)
    ('gaussian', 'likelihood', 0.3, 0.17)
    >>> plan_looks(10_000, 10).best.mechanism
    'split'
    >>> 150 < plan_looks(10_000, 1000, width=0.1).most.looks < 250
    True
    """
    conditions = Conditions(Relation.REPLACE_ONE, Budget(epsilon, delta), looks, n, accuracy().grid)
    return forecast_of(conditions, width, _gaussian, _split)


def forecast_of(conditions: Conditions, width: float | None, by_noise: ByNoise, otherwise: Otherwise) -> LooksForecast:
    """Return the forecast of Gaussian noise, at any ε, and of what else there is (HG707 for the width)."""
    wanted = None if width is None else as_float(width)
    if width is not None and (wanted is None or not 0.0 < wanted < 1.0):
        raise ParameterError(
            "HG707",
            rule="The half-width of an interval for a score is a number between 0 and 1.",
            finding="The given value does not follow the rule.",
            remedy="Write a share as 0.05, not as 5.",
        )

    def choices(looks: int) -> tuple[Planned, ...]:
        return _choices(conditions, looks, by_noise, otherwise)

    most = None
    if wanted is not None:
        low, high = 0, conditions.n_looks
        while low < high:  # a last interval is wider the more looks there are
            middle = (low + high + 1) // 2
            low, high = (middle, high) if choices(middle)[0].last <= wanted else (low, middle - 1)
        most = choices(low)[0] if low else None
    return LooksForecast(choices(conditions.n_looks), wanted, most)


def _choices(conditions: Conditions, looks: int, by_noise: ByNoise, otherwise: Otherwise) -> tuple[Planned, ...]:
    """Return the best ε of each bound, all of ε, and what else there is; the narrowest last interval first."""
    noisy = [choice for epsilon in _epsilons(conditions) for choice in by_noise(conditions, looks, epsilon)]
    best = {choice.bound: choice for choice in sorted(noisy, key=_order, reverse=True)}
    declared = [choice for choice in noisy if choice.epsilon == conditions.budget.epsilon]
    choices = sorted([*best.values(), *otherwise(conditions, looks), *declared[:1]], key=_order)
    # Where both bounds are equal, it is that of the information.
    return tuple({(choice.mechanism, choice.epsilon, choice.last): choice for choice in choices[::-1]}.values())[::-1]


def _order(choice: Planned) -> tuple[bool, float]:
    return choice.vacuous, choice.last


def _epsilons(conditions: Conditions) -> list[float]:
    budget = conditions.budget
    if budget.delta == 0.0:
        return []
    spread = np.geomspace(budget.epsilon, max(budget.epsilon / 200.0, _LEAST), 24).tolist()
    return [budget.epsilon, *(float(f"{epsilon:.4g}") for epsilon in spread[1:])]


def narrowest(conditions: Conditions, options: Options) -> LookMechanism:
    """Return the mechanism, with its noise, that has the narrowest proven last interval: splitting, or Gaussian noise.

    The noise may be more than the budget asks for: then all looks together cost less than it.

    Raises
    ------
    UncertifiedError
        HG431: n is private, so nothing can be planned; or no mechanism serves.

    Examples
    --------
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 200, 10_000, accuracy().grid)
    >>> look = narrowest(facts, Options())
    >>> look.name, round(look.expected_error(), 3), narrowest(replace(facts, n_looks=10), Options()).name
    ('gaussian', 0.027, 'split')
    """
    if conditions.n is None:
        raise UncertifiedError(
            "HG431",
            rule="The mechanism with the narrowest interval can be computed only if the number of records is public.",
            finding="Under add-remove the number of records is private.",
            remedy="Use mechanism='auto' or 'gaussian'.",
        )
    choices = _choices(conditions, conditions.n_looks, _gaussian, _split)
    if not choices:
        return choose("laplace", conditions, options)
    planned = replace(conditions, budget=Budget(choices[0].epsilon, conditions.budget.delta))
    return replace(choose(choices[0].mechanism, planned, options), conditions=conditions)


def _gaussian(conditions: Conditions, looks: int, epsilon: float) -> Iterator[Planned]:
    n = float(conditions.n or 1)
    mu = mu_of_a_look(conditions, looks, epsilon)
    numbers, each = (1, mu**2 / 8.0) if conditions.binary else (2, mu**2 / 6.0)
    first = min(1.0, 1.96 * math.hypot(0.5 / math.sqrt(n), 1.0 / (n * mu)))
    for bound, earlier in by_bound(n, looks - 1, numbers, each).items():
        last = min(1.0, half_width(earlier, n, partial(_normal, 1.0 / (n * mu)), _BETA)) if looks > 1 else first
        yield Planned("gaussian", epsilon, looks, first, last, bound, last >= 0.5)


def mu_of_a_look(conditions: Conditions, looks: int, epsilon: float) -> float:
    """Return the price of each of so many looks with Gaussian noise that cost ε together."""
    return gaussian_mu(Budget(epsilon, conditions.budget.delta)) / math.sqrt(looks)


def by_bound(n: float, before: int, numbers: int, of_one_record: float) -> dict[str, Earlier]:
    """Return so many earlier answers of so many numbers each, as each bound reads them."""
    information = n * before * of_one_record
    return {
        "mutual information": Earlier(information, before, None, of_one_record),
        "likelihood": Earlier(information, before, before * numbers, of_one_record),
    }


def _normal(sd: float, beta: float) -> float:
    return two_sided(beta) * sd


def _split(conditions: Conditions, looks: int) -> Iterator[Planned]:
    n, epsilon = conditions.n or 0, conditions.budget.epsilon
    part = n // looks
    if part >= 2:
        noise = math.sqrt(2.0) / (part * epsilon)
        width = min(1.0, math.hypot(split_half_width(n, looks), 1.96 * noise))
        yield Planned("split", epsilon, looks, width, width, "own records", width >= 0.5)


Signs = NDArray[np.int8]
Ask = Callable[[Signs], float]
TRUTH = 0.5
_KEY = b"made-up records"


@dataclass(frozen=True, slots=True)
class Attacked:
    """What one attack did in several runs.

    Attributes
    ----------
    attack : str
    runs : int
    held : int
        In how many runs the interval of the last look held the truth.
    fixed_held : int
        The same for the interval of a model that was made before any answer was known.
    overstated : float
        By how much the last score exceeded the truth, on average.
    most_overstated : float
        The most of all runs.
    half_width : float
        Of the last interval, on average.
    """

    attack: str
    runs: int
    held: int
    fixed_held: int
    overstated: float
    most_overstated: float
    half_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def attack(
    name: str,
    mechanism: LookMechanism,
    *,
    runs: int,
    noise: NoiseSource,
    rng: np.random.Generator,
    private_n: int = 0,
) -> Attacked:
    """Run an attack against a mechanism for losses of 0 and 1.

    Parameters
    ----------
    name : str
        One of `ATTACKS`.
    mechanism : LookMechanism
        As `hedgerow.testset.mechanisms.choose.choose` returns it, with two looks or more.
    runs : int
        How often, each time with other labels.
    noise : NoiseSource
    rng : Generator
        Draws labels and guesses.
    private_n : int
        How many records there are, under add-remove.
    """
    n, looks = mechanism.conditions.n or private_n, mechanism.conditions.n_looks
    outcomes = []
    for _ in range(runs):
        scoreboard = _Scoreboard(mechanism, noise, rng.choice(np.array([-1, 1], dtype=np.int8), n))
        model = ATTACKS[name](scoreboard.ask, n, looks - 1, rng)
        answer = scoreboard.look(model)
        estimate = answer.estimate
        fixed = estimate.confidence_interval()
        if mechanism.information(looks - 1) > 0.0:
            numbers = None if mechanism.numbers is None else (looks - 1) * mechanism.numbers
            estimate = for_fitted_model(answer, mechanism, earlier_answers(mechanism, looks - 1, numbers))
        interval = estimate.confidence_interval()
        width = max(interval.high - estimate.estimate, estimate.estimate - interval.low)
        held, fixed_held = (held_by.low <= TRUTH <= held_by.high for held_by in (interval, fixed))
        outcomes.append((held, fixed_held, estimate.estimate - TRUTH, width))
    table = np.array(outcomes, dtype=np.float64)
    over = table[:, 2]
    held_runs, fixed_runs = int(table[:, 0].sum()), int(table[:, 1].sum())
    return Attacked(name, runs, held_runs, fixed_runs, float(over.mean()), float(over.max()), float(table[:, 3].mean()))


class _Scoreboard:
    """A test set of made-up labels, ±1, that answers the accuracy of predictions, ±1."""

    def __init__(self, mechanism: LookMechanism, noise: NoiseSource, labels: Signs) -> None:
        self._mechanism, self._noise, self._labels = mechanism, noise, labels
        self._looks, self._answered = 0, 0
        self._threshold = mechanism.secret_noise(noise)

    def look(self, predictions: Signs) -> LookAnswer:
        rows = self._mechanism.rows(_KEY, self._looks)
        right = self._labels == predictions if rows is None else self._labels[rows] == predictions[rows]
        successes = int(np.count_nonzero(right))
        counts, index = np.array([len(right) - successes, successes]), np.array([0, 1])
        filled = counts > 0
        histogram = Histogram.from_triplets(np.zeros_like(index[filled]), index[filled], counts[filled], cells=1)
        answer = self._mechanism.answer(Question(histogram, TRUTH, self._threshold, self._answered), self._noise)
        self._looks, self._answered = self._looks + 1, self._answered + answer.paid
        return answer

    def ask(self, predictions: Signs) -> float:
        answers = self._mechanism.answers
        # A run that is out of answers tells no more; the attacker goes on with what it knows.
        return (
            TRUTH if answers is not None and self._answered >= answers - 1 else self.look(predictions).estimate.estimate
        )


def _guess(n: int, rng: np.random.Generator) -> Signs:
    return np.where(rng.integers(0, 2, n, dtype=np.int8) == 1, 1, -1).astype(np.int8)


def _block_signs(ask: Ask, n: int, looks: int, rng: np.random.Generator) -> Signs:
    hadamard = np.ones((1, 1), dtype=np.int8)
    while 2 * len(hadamard) <= looks:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    base, block = _guess(n, rng), rng.integers(0, len(hadamard), n)
    sums = np.zeros(len(hadamard))
    for row in hadamard:
        sums += row * (ask(base * row[block]) - TRUTH)
    better = np.where(sums >= 0.0, 1, -1).astype(np.int8)
    return base * better[block]


def _majority(ask: Ask, n: int, looks: int, rng: np.random.Generator) -> Signs:
    votes = np.zeros(n)
    for _ in range(looks):
        guess = _guess(n, rng)
        votes += guess * (ask(guess) - TRUTH)
    return np.where(votes >= 0.0, 1, -1).astype(np.int8)


def _hill_climbing(ask: Ask, n: int, looks: int, rng: np.random.Generator) -> Signs:
    model = _guess(n, rng)
    best = ask(model)
    for _ in range(looks - 1):
        tried = model.copy()
        tried[rng.integers(0, n, max(1, n // 10))] *= -1
        score = ask(tried)
        if score > best:
            model, best = tried, score
    return model


def _stepwise(ask: Ask, n: int, looks: int, rng: np.random.Generator) -> Signs:
    votes, best = np.zeros(n), TRUTH
    tie = 0.5 * _guess(n, rng)
    for _ in range(looks):
        tried = votes + _guess(n, rng)
        score = ask(np.where(tried + tie > 0.0, 1, -1).astype(np.int8))
        if score > best:
            votes, best = tried, score
    return np.where(votes + tie > 0.0, 1, -1).astype(np.int8)


ATTACKS: dict[str, Callable[[Ask, int, int, np.random.Generator], Signs]] = {
    "block-signs": _block_signs,
    "majority": _majority,
    "hill-climbing": _hill_climbing,
    "stepwise": _stepwise,
}
"""Every attack by its name."""
