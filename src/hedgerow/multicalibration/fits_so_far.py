"""What the fits of one estimator and of its clones cost together in this process, where no ledger adds them up.

Whether a fit is the second is a matter of calls: an estimator, its clones and its copies share a word, and fits are
counted by it. No value of the data is looked at, so the count and its warning tell nothing.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation


@dataclass(frozen=True, slots=True)
class FitsSoFar:
    """An upper bound of what several fits cost together, by adding up what each was allowed to cost.

    Attributes
    ----------
    fits : int
        How many private fits began to read records.
    epsilon, delta : float
        Sums: (ε₁ + ε₂ + …, δ₁ + δ₂ + …)-differential privacy holds for all of them together, on the same records. ε is
        infinite where fits protect by different relations, which have no common price.
    relation : Relation or None
        Whom the fits protect.
    """

    fits: int = 0
    epsilon: float = 0.0
    delta: float = 0.0
    relation: Relation | None = None

    def plus(self, relation: Relation, budget: Budget) -> FitsSoFar:
        """Return the sum with one fit more.

        >>> FitsSoFar().plus(Relation.ADD_REMOVE, Budget(1.0, 0.0)).plus(Relation.ADD_REMOVE, Budget(0.5, 0.0))
        FitsSoFar(fits=2, epsilon=1.5, delta=0.0, relation=<Relation.ADD_REMOVE: 'add-remove'>)
        """
        alike = self.relation in (None, relation)
        epsilon = self.epsilon + budget.epsilon if alike else math.inf
        return FitsSoFar(self.fits + 1, epsilon, min(1.0, self.delta + budget.delta), relation)


_COUNTED: dict[str, FitsSoFar] = {}
_LOCK = threading.Lock()


def fits_of(word: str, known: FitsSoFar) -> FitsSoFar:
    """Return what is counted under a word, or what an estimator from another process knows, if that is more."""
    return max(_COUNTED.get(word, known), known, key=lambda one: one.fits)


def count_fit(word: str, known: FitsSoFar, relation: Relation, budget: Budget) -> FitsSoFar:
    """Count one fit more under a word and return the sum."""
    with _LOCK:
        _COUNTED[word] = fits_of(word, known).plus(relation, budget)
        return _COUNTED[word]
