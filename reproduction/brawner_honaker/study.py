"""Studies of coverage and width: fresh samples from a known law, released with seeded noise. NOT PRIVATE.

`simulated.Study` draws noise many times on one data set; here every run has a data set of its own, so that an interval
for the population can be judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.query import SumsQuery
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.estimate import Estimate
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.plan import make_plan
from hedgerow.release.request import parse_request
from hedgerow.resampling.counted_values import Histogram
from hedgerow.statistics.mean import mean
from hedgerow.testing.simulated import SimulatedNoise, draw_estimates, grid_sums


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A law on equally spaced points 0, 1/m, …, 1, so that its mean and variance are exact.

    Attributes
    ----------
    name : str
    probability : float array, m + 1 entries that add up to 1

    Examples
    --------
    >>> Law("coin", np.array([0.5, 0.5])).mean, Law("coin", np.array([0.5, 0.5])).variance
    (0.5, 0.25)
    """

    name: str
    probability: NDArray[np.float64]

    @property
    def points(self) -> NDArray[np.float64]:
        """The m + 1 points."""
        return np.linspace(0.0, 1.0, len(self.probability))

    @property
    def mean(self) -> float:
        """Of the clamped and rounded variable: what the intervals are about."""
        return float(self.probability @ self.points)

    @property
    def variance(self) -> float:
        """Of one record."""
        return float(self.probability @ (self.points - self.mean) ** 2)

    def sample(self, n: int, rng: np.random.Generator) -> Histogram:
        """Return the histogram of n fresh records, its index that of the point."""
        drawn = rng.multinomial(n, self.probability)
        index = np.flatnonzero(drawn)
        return Histogram.from_triplets(np.zeros_like(index), index, drawn[index], cells=1)


def simulated_means(
    law: Law, *, n: int, runs: int, rng: np.random.Generator | int | None = None, **options: Any
) -> Iterator[Estimate]:
    """Yield the released mean of each of `runs` fresh samples under replace-one; `options` as for `Survey.release`.

    The plan, hence the noise, is that of a certified release of the same options; the draws are seeded.

    Examples
    --------
    >>> coin = Law("coin", np.array([0.5, 0.5]))
    >>> [drawn] = simulated_means(coin, n=1000, runs=1, rng=1, epsilon=1.0)
    >>> drawn.confidence_interval().low < 0.5 < drawn.confidence_interval().high
    True
    """
    generator = np.random.default_rng(rng)
    asked = mean("x", bounds=(0, 1), step=1 / (len(law.probability) - 1))
    request = parse_request([asked], **({"missing": "error-if-declared-complete"} | options))
    plan = make_plan(request, PublicFacts(Relation.REPLACE_ONE, "row", Target.POPULATION, n))
    design = plan.items[0].design
    if design is None:
        raise TypeError("a mean has a design")
    noise = SimulatedNoise(generator)
    query = design.query
    for _ in range(runs):
        sample = law.sample(n, generator)
        answer = grid_sums(query, sample) if isinstance(query, SumsQuery) else sample
        yield draw_estimates(plan, {query: answer}, noise)[0]
