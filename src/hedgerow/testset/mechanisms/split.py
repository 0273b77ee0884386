"""`split`: every look has ⌊n/looks⌋ records of its own, and the whole ε; pure, and best for few looks that adapt.

No answer tells of the records of a later look, so the interval of each holds whatever the model was fitted to. One
record is read by one look alone: all looks together cost what one costs (parallel composition, also where the looks
adapt), and the first look pays. Which records belong to which look is drawn by the test set's secret, so that labels
that lie in some order do no harm.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import UncertifiedError
from hedgerow.mechanisms.mechanism import GeometricCounts, MomentsGeometric
from hedgerow.noise.source import NoiseSource
from hedgerow.testset.mechanisms.gaussian import LaplaceLook
from hedgerow.testset.mechanisms.mechanism import (
    Answer,
    Conditions,
    Drawn,
    LookMechanism,
    Options,
    Question,
    replace_one_only,
)


@dataclass(frozen=True, slots=True)
class SplitLook(LookMechanism):
    """The mechanism `laplace` for one look at a part.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 10, 10_000, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> look = SplitLook.fitted(facts, Options())
    >>> look.records_a_look, look.information(9), round(look.described.noise_sd, 2)
    (1000, 0.0, 1.36)
    """

    described: GeometricCounts | MomentsGeometric
    name: ClassVar[str] = "split"
    describes: ClassVar[tuple[str, ...]] = LaplaceLook.describes
    once: ClassVar[bool] = True
    by_name_only: ClassVar[str] = "by name only: best for few looks that adapt, see `hedgerow testset plan`"

    @classmethod
    def fitted(cls, conditions: Conditions, options: Options, *, checked: bool = True) -> Self:
        """Return the mechanism of least noise (HG431 under add-remove, or where a look has less than two records)."""
        n = replace_one_only("split", conditions)
        if n // conditions.n_looks < 2:
            raise UncertifiedError(
                "HG431",
                rule="`split` gives every look at least two records of its own.",
                finding=f"{conditions.n_looks:,} looks at {n:,} records leave fewer.",
                remedy="Use mechanism='gaussian', or fewer looks.",
            )
        look = LaplaceLook.fitted(_of_one_look(conditions), options, checked=checked)
        return cls(conditions, look.described)

    @property
    def records_a_look(self) -> int | None:
        """⌊n/looks⌋."""
        return _of_one_look(self.conditions).n

    @property
    def _look(self) -> LaplaceLook:
        return LaplaceLook(_of_one_look(self.conditions), self.described)

    def expected_error(self) -> float | None:
        """Return the noise on a look and what its records differ by from all, R/2·√(1/part − 1/n), as one sd."""
        n, part = float(self.conditions.n or 1), float(self.records_a_look or 1)
        chosen = self.conditions.half_range * math.sqrt(1.0 / part - 1.0 / n)
        return math.hypot(self._look.expected_error() or 0.0, chosen)

    def information(self, looks: int) -> float:
        """Return 0: what other looks answered tells nothing of the records of this one."""
        return 0.0

    def spread(self, beta: float, *, paid: bool = True) -> float:
        """Return the quantile of the noise."""
        return self._look.spread(beta)

    def rows(self, key: bytes, look: int) -> NDArray[np.int64] | None:
        """Return the rows of a look; the order is one of all orders, by a stream of the key."""
        n, part = self.conditions.n or 0, self.records_a_look or 0
        stream = hashlib.shake_256(b"hedgerow split" + key).digest(8 * n)
        order = np.argsort(np.frombuffer(stream, dtype="<u8"), kind="stable")
        return np.sort(order[look * part : (look + 1) * part])

    def draw(self, question: Question, noise: NoiseSource) -> Drawn:
        """Add noise to the sum of the part."""
        return self._look.draw(question, noise)

    def read(self, drawn: Drawn) -> Answer:
        """Read it as one look at the part."""
        answer = self._look.read(drawn)
        return replace(answer, estimate=replace(answer.estimate, method=self.name))


def _of_one_look(conditions: Conditions) -> Conditions:
    return replace(conditions, n=(conditions.n or 0) // conditions.n_looks, n_looks=1)
