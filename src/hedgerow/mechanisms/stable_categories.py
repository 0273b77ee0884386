r"""Categories that nobody declared: noisy counts of the values that occur, shown where they reach a threshold.

Every value v that occurs in c_v ≥ 1 records has a noisy count c_v + Z, P(Z = z) ∝ α^|z|, α = e^(−1/scale). The pairs
(v, c_v + Z) with c_v + Z ≥ threshold are released, and nothing else. A value that does not occur has no noise and is
never shown.

The price
---------
Let p = P(1 + Z ≥ threshold) = α^(threshold − 1)/(1 + α), the chance that the value of a single record is shown, and
let G(ε) be the curve of one noisy count that moves by 1. One record touches

* a value that others have too. What is shown follows from the noisy count, which moves by 1: at most G(ε).
* a value that no other record has. It is shown with chance p where the record is there, and never where it is not:
  δ(ε) = p for every ε ≥ 0, in both orders at most p.

Under add-remove a record touches one value, under replace-one two, each with noise of its own. Write G₂ for the curve
of two noisy counts that move by 1. With two values of others' the curve is at most G₂(ε). With one value of its own it
is at most p + (1 − p) G(ε): without the value the rest has likelihoods P and (1 − p)Q, or (1 − p)P and Q, and

    sup_S P(S) − e^ε (1 − p) Q(S) ≤ p + (1 − p) sup_S (P(S) − e^ε Q(S)).

With two values of its own nothing is shared: δ(ε) = p. So the release costs no more than a pair that tells everything
with chance p and else moves one count by 1, or two: δ(ε) = p + (1 − p) G₂(ε). At the ε at which G, or G₂, is 0 this is
p, and it is attained: the price at that ε is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.accounting.exact_laws import LaplacePair, OutcomePair
from hedgerow.accounting.lower import Attained
from hedgerow.accounting.terms import ROUND_UP, DiscreteLaplace, Revealed, Term
from hedgerow.errors import ParameterError
from hedgerow.facts.given import format_argument
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.description import Floats, Neighbours, Record, Score, Single, Specimen
from hedgerow.noise.lattice import require_drawable, require_positive
from hedgerow.noise.source import NoiseSource
from hedgerow.resampling.histogram import Histogram

HIDDEN = 0
"""What an output holds in the place of a value that is not shown."""
_CERTAIN = 40.0  # stands for an infinite change of the log-density
_MOST = 2**53
_DOWN = 1.0 - 1e-11


@dataclass(frozen=True, slots=True)
class StableCategories(Single):
    """The values that occur whose counts plus two-sided geometric noise of `scale` reach `threshold`, and those counts.

    >>> StableCategories(scale=4.0, threshold=54).alone
    9.896253301161638e-07
    """

    scale: float
    threshold: int
    type: Literal["stable-categories"] = "stable-categories"

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)
        require_drawable(self.scale)
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or not 2 <= self.threshold <= _MOST:
            raise ParameterError(
                "HG406",
                rule="The threshold of categories is a whole number of records, 2 or more.",
                finding=f"Found {format_argument(self.threshold)}.",
            )

    @classmethod
    def of_scale(cls, scale: float, delta: float) -> StableCategories:
        """Return the least threshold at which the value of a single record is shown with chance δ at most.

        >>> StableCategories.of_scale(4.0, 1e-6)
        StableCategories(scale=4.0, threshold=54, type='stable-categories')
        """
        guess = 1 + math.ceil(-scale * (math.log(delta) + math.log1p(math.exp(-1.0 / scale))))
        threshold = max(2, guess - 2)
        while cls(scale, threshold).alone > delta:
            threshold += 1
        return cls(scale, threshold)

    @classmethod
    def specimens(cls) -> tuple[Specimen, ...]:
        """Return low thresholds, at which a value that one record has is often shown."""
        return (
            Specimen("categories that occur", cls(1.0, 6), Relation.ADD_REMOVE, 1e-2),
            Specimen("categories that occur", cls(1.5, 8), Relation.REPLACE_ONE, 1e-2),
        )

    @property
    def alone(self) -> float:
        """The chance p that the value of a single record is shown, rounded up."""
        return math.exp((1 - self.threshold) / self.scale) / (1.0 + math.exp(-1.0 / self.scale)) * ROUND_UP

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of one count: √(2α)/(1 − α)."""
        return math.sqrt(2.0 * math.exp(-1.0 / self.scale)) / -math.expm1(-1.0 / self.scale)

    def touched(self, relation: Relation) -> int:
        """Return how many counts one record can change by 1."""
        return 2 if relation is Relation.REPLACE_ONE else 1

    def terms(self, relation: Relation) -> tuple[Term, ...]:
        """Return all that is told with chance p, and counts that move by 1."""
        return Revealed(self.alone), DiscreteLaplace(self.scale, self.touched(relation))

    def attained(self, relation: Relation) -> Attained:
        """Return values that many others share, whose counts move by 1, and a value that the record alone has.

        The more records share a value, the nearer the law of what is shown is to that of its noisy count: the former
        pair is the limit, which data sets come as near as one likes.
        """
        shared = LaplacePair(1, self.scale, 1.0), self.touched(relation)
        own = OutcomePair((self.alone * _DOWN, 1.0 - self.alone), (0.0, 1.0)), 1
        return Attained(((shared,), (own,)), "The price lets a record move shared counts and show a value of its own.")

    def select(self, counts: NDArray[np.int64], source: NoiseSource) -> NDArray[np.int64]:
        """Return the noisy counts of values that occur, `HIDDEN` for those below the threshold.

        >>> from hedgerow.testing.simulated import SimulatedNoise
        >>> StableCategories(1.0, 20).select(np.array([1, 500]), SimulatedNoise(1)).tolist()
        [0, 501]
        """
        noisy = counts + source.two_sided_geometric(self.scale, counts.size)
        return np.where(noisy >= self.threshold, noisy, HIDDEN)

    def worst_pairs(self, relation: Relation) -> tuple[Neighbours, ...]:
        """Return a record with a value of its own or a shared one, against none or one with another value."""
        far = self.threshold + math.ceil(30.0 * self.scale)
        own, shared = Record(0, 0), Record(0, far)
        if relation is not Relation.REPLACE_ONE:
            return (
                Neighbours("a value of its own", own, None, 1),
                Neighbours("a shared value", shared, None, 1, (far,)),
            )
        return (
            Neighbours("two values of its own", own, Record(1, 0), 2),
            Neighbours("a value of its own, a shared one", own, Record(1, far), 2, (0, far)),
            Neighbours("two shared values", shared, Record(1, far), 2, (far, far)),
        )

    def outputs(self, data: Histogram, n: int, noise: NoiseSource) -> Floats:
        """Return `n` outputs, (n, cells, 1): noisy counts, `HIDDEN` where a value is not shown or does not occur."""
        counts = np.tile(data.cell_sums() + data.missing, (n, 1))
        seen = np.full(counts.shape, HIDDEN, dtype=np.int64)
        seen[counts > 0] = self.select(counts[counts > 0], noise)
        return seen.astype(np.float64)[:, :, None]

    def change(self, record: Record) -> Score:
        """Return the change of the log-density; the index of a record says how many others have its value."""
        others, noise = record.index, 1.0 / self.scale
        if others == 0:
            absent, present = math.log1p(-self.alone), None
        else:
            absent = self._log_hidden(others + 1) - self._log_hidden(others)
            present = others

        def score(outputs: Floats) -> Floats:
            seen = outputs[:, 0]
            if present is None:
                moved = np.full(len(seen), _CERTAIN)
            else:
                moved = (np.abs(seen - present) - np.abs(seen - present - 1.0)) * noise
            return np.asarray(np.where(seen == HIDDEN, absent, moved))

        return score

    def _log_hidden(self, count: int) -> float:
        """Return log P(count + Z < threshold)."""
        need, alpha = self.threshold - count, math.exp(-1.0 / self.scale)
        if need > 0:
            return math.log1p(-math.exp(-need / self.scale) / (1.0 + alpha))
        return (need - 1) / self.scale - math.log1p(alpha)
