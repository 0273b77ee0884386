"""What can be had before the first look: the mechanism and ε with the narrowest interval, of given records and looks.

Half-widths are for losses of 0 and 1 at a score of one half, where they are largest. Nothing is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget
from hedgerow.facts.given import as_float
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.number import gaussian_mu
from hedgerow.testset.adaptive.bounds import half_width, split_half_width
from hedgerow.testset.mechanisms.mechanism import Conditions
from hedgerow.testset.mechanisms.reading import two_sided
from hedgerow.testset.metric import accuracy

_BETA = 0.05


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
    """

    mechanism: str
    epsilon: float
    looks: int
    first: float
    last: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LooksPlan:
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        most = None if self.most is None else self.most.to_dict()
        return {"choices": [one.to_dict() for one in self.choices], "wanted": self.wanted, "most": most}


def plan_looks(
    n: int, looks: int, *, epsilon: float = 1.0, delta: float = DEFAULT_DELTA, width: float | None = None
) -> LooksPlan:
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
    >>> best.mechanism, round(best.epsilon, 1), round(best.last, 2)
    ('gaussian', 0.3, 0.2)
    >>> plan_looks(10_000, 10).best.mechanism
    'split'
    >>> plan_looks(10_000, 1000, width=0.1).most.looks
    96
    """
    conditions = Conditions(Relation.REPLACE_ONE, Budget(epsilon, delta), looks, n, accuracy().grid)
    wanted = None if width is None else as_float(width)
    if width is not None and (wanted is None or not 0.0 < wanted < 1.0):
        raise ParameterError(
            "HG707",
            rule="A half-width is a number between 0 and 1.",
            finding="This one is not.",
            remedy="A share is given as 0.05, not as 5.",
        )
    choices = _choices(conditions)
    return LooksPlan(choices, wanted, None if wanted is None else _most(conditions, wanted))


def _choices(conditions: Conditions, looks: int | None = None) -> tuple[Planned, ...]:
    looks = conditions.n_looks if looks is None else looks
    narrow = min(_gaussian(conditions, looks), key=lambda one: one.last)
    declared = next(_gaussian(conditions, looks))
    found = [narrow, *_split(conditions, looks), *([declared] if declared.epsilon != narrow.epsilon else [])]
    return tuple(sorted(found, key=lambda one: one.last))


def _most(conditions: Conditions, wanted: float) -> Planned | None:
    """Return the plan of the most looks, by halving: a last interval is wider the more looks there are."""
    low, high = 0, conditions.n_looks
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _choices(conditions, middle)[0].last <= wanted else (low, middle - 1)
    return _choices(conditions, low)[0] if low else None


def _gaussian(conditions: Conditions, looks: int) -> Iterator[Planned]:
    n, budget = float(conditions.n or 1), conditions.budget
    if budget.delta == 0.0:
        return
    for epsilon in np.geomspace(budget.epsilon, budget.epsilon / 200.0, 40).tolist():
        mu = gaussian_mu(Budget(float(f"{epsilon:.4g}"), budget.delta)) / math.sqrt(looks)
        sd = 1.0 / (n * mu)
        information = n * mu**2 / 8.0 * (looks - 1)
        first = 1.96 * math.hypot(0.5 / math.sqrt(n), sd)
        last = half_width(information, n, partial(_normal, sd), _BETA) if looks > 1 else first
        yield Planned("gaussian", float(f"{epsilon:.4g}"), looks, min(1.0, first), min(1.0, last))


def _normal(sd: float, beta: float) -> float:
    return two_sided(beta) * sd


def _split(conditions: Conditions, looks: int) -> Iterator[Planned]:
    n, epsilon = conditions.n or 0, conditions.budget.epsilon
    part = n // looks
    if part >= 2:
        noise = math.sqrt(2.0) / (part * epsilon)
        width = min(1.0, math.hypot(split_half_width(n, looks), 1.96 * noise))
        yield Planned("split", epsilon, looks, width, width)
