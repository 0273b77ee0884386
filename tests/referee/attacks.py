"""Attacks on public calls whose exact vectors the recorder cannot compare: their outputs alone, on real neighbours.

Such calls add no noise to a vector, or resample records, or promise bootstrap-dp. Each runs many times on two
neighbours with simulated noise. What the product draws is the output: all that becomes public is computed from it. A
fifth of the runs learns a score, the rest judges: `hedgerow.audit.attack.threshold_attack` bounds ε from below.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from tests.referee.cases import Case
from tests.referee.recorder import products
from tests.referee.walk import Pair, random_pair

from hedgerow.audit.attack import Attack, threshold_attack
from hedgerow.facts.relation import Relation
from hedgerow.noise.lattice import NoiseSource
from hedgerow.testing.simulated import SimulatedNoise

Numbers = dict[str, float]
ALPHA = 1e-6


class Drawn(BaseException):
    """Ends a call once its product has drawn: what follows is post-processing."""

    def __init__(self, product: Any, noisy: Any) -> None:
        super().__init__("drawn")
        self.product, self.noisy = product, noisy


@contextmanager
def stopped_after_the_draw(noise: NoiseSource) -> Iterator[None]:
    """Give every product this noise, and end each call with what the product draws."""

    def stopping(draw: Callable[..., Any]) -> Callable[..., Any]:
        def stopped(self: Any, source: Any, _: Any) -> Any:
            raise Drawn(self, draw(self, source, noise))

        return stopped

    with ExitStack() as patches, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for product in products().values():
            patches.enter_context(mock.patch.object(product, "draw", stopping(product.draw)))
        yield


def drawn(case: Case, data: Any, relation: Relation) -> Drawn:
    """Return what a public call draws."""
    try:
        case.call(data, relation)
    except Drawn as ended:
        return ended
    raise AssertionError(f"{case.name} ended without a draw")


def numbers_in(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of what a product draws, with its place."""
    # A privacy curve follows from the mechanism beside it; its 20,000 numbers of each call would fill all memory.
    if value is None or isinstance(value, str) or hasattr(value, "epsilon_upper"):
        return
    if isinstance(value, (int, float, np.generic)):
        yield place, float(value)
    elif isinstance(value, np.ndarray):
        yield from ((f"{place}{index}", float(number)) for index, number in np.ndenumerate(value))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from numbers_in(getattr(value, field.name), f"{place}.{field.name}")
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from numbers_in(held, f"{place}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, held in enumerate(value):
            yield from numbers_in(held, f"{place}.{index}")


def outputs(case: Case, data: Any, relation: Relation, runs: int) -> list[Numbers]:
    """Return the numbers that each of many calls draws."""
    return [dict(numbers_in(drawn(case, data, relation).noisy)) for _ in range(runs)]


def as_columns(*sides: list[Numbers]) -> list[NDArray[np.float64]]:
    """Return a matrix for each neighbour: a column for each number, and one that says whether the number is there."""
    places = sorted({place for side in sides for numbers in side for place in numbers})
    matrices = []
    for side in sides:
        there = np.array([[place in numbers for place in places] for numbers in side], dtype=np.float64)
        values = np.array([[numbers.get(place, 0.0) for place in places] for numbers in side])
        matrices.append(np.hstack([np.nan_to_num(values, posinf=1e12, neginf=-1e12), there]))
    return matrices


def separation(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the weights of a linear score that tells two neighbours apart, and how far it does, in its sd."""
    spread = np.vstack([first, second]).std(axis=0)
    used = spread > 0.0
    weights = np.zeros(len(used))
    weights[used] = (first.mean(axis=0) - second.mean(axis=0))[used] / spread[used] ** 2
    scores = first @ weights, second @ weights
    width = math.hypot(*(float(part.std()) for part in scores))
    gap = abs(float(scores[0].mean() - scores[1].mean()))
    return weights, gap / width if width else (math.inf if gap else 0.0)


def worst_pair(case: Case, relation: Relation, rng: np.random.Generator, *, tried: int, runs: int) -> Pair:
    """Return the neighbours, of some that are drawn at random, that a short attack tells apart best."""
    pairs = [random_pair(case, relation, rng) for _ in range(tried)]
    if tried == 1:
        return pairs[0]
    apart = [separation(*as_columns(*(outputs(case, data, relation, runs) for data in pair)))[1] for pair in pairs]
    return pairs[int(np.argmax(apart))]


def attack(
    case: Case, relation: Relation, *, runs: int, tried: int, noise: NoiseSource | None = None, seed: int = 1
) -> tuple[Attack, Any]:
    """Return a lower bound on ε at the δ of the price, from `runs` public calls on each neighbour, and the price."""
    rng = np.random.default_rng([seed, *case.name.encode()])
    with stopped_after_the_draw(SimulatedNoise(seed) if noise is None else noise):
        pair = worst_pair(case, relation, rng, tried=tried, runs=max(20, runs // 50))
        price = drawn(case, pair[0], relation).product.price
        learning = max(50, runs // 5)
        sides = as_columns(*(outputs(case, data, relation, runs + learning) for data in pair))
    weights, _ = separation(*(side[:learning] for side in sides))
    scores = [side[learning:] @ weights for side in sides]
    taken = [iter(np.split(score, [runs // 5])) for score in scores]
    found = threshold_attack(
        lambda _: [next(taken[0])],
        lambda _: [next(taken[1])],
        lambda score: score,
        delta=getattr(price, "delta", 0.0),
        runs=runs,
        alpha=ALPHA,
    )
    return found, price
