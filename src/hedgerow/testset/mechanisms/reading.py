"""From the noisy mean or sums of a look to an estimate with its errors, in the metric's unit. Post-processing.

Write u ∈ [−1, 1] for a loss about the midpoint in units of half the range. A mean of u has variance at most
(1 − ū²)/n, and exactly that where the losses are 0 or 1, so the error of sampling needs no second release.

`gaussian` and `laplace` add noise to exact sums, by the designs of a release. A loss of 0 or 1 is a proportion. Any
other loss is a mean that is released with its second moment (moments.md §1), from which its sampling error follows.
Under add-remove, where n is private, a noisy number of records is released too, and divides the sum.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Relation, Target
from hedgerow.inference.estimate import Estimate
from hedgerow.inference.score import Quadratic, ScoreArrays
from hedgerow.mechanisms.mechanism import Counts, Moments, Single
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.design import NoiseLaw, PublicFacts
from hedgerow.release.designs.moments import MomentsDesign
from hedgerow.resampling.histogram import Histogram
from hedgerow.statistics.mean import Mean
from hedgerow.statistics.proportion import Proportion
from hedgerow.testset.mechanisms.mechanism import Answer, Conditions, Drawn

_COLUMN, _REASON = "loss", "the score of a test set"
COVERS = "the expected score on records drawn as the test set was; sampling and privacy noise are counted"


def estimate_of_mean(
    u: float,
    conditions: Conditions,
    *,
    mechanism: str,
    resampling: Quadratic,
    noise_variance: float = 0.0,
    noise_law: str = "gaussian",
) -> Estimate:
    """Return the estimate of a metric from a noisy mean of u, n public.

    Parameters
    ----------
    u : float
        The noisy mean, unbiased for ū; it may lie outside [−1, 1].
    resampling : Quadratic
        Variance of the resampling about the test set's own ū, as a function of ū.
    noise_variance, noise_law
        Variance of the added noise, and its law.

    Examples
    --------
    >>> from hedgerow.facts.budget import Budget
    >>> from hedgerow.facts.columns import Grid
    >>> from hedgerow.facts.relation import Relation
    >>> facts = Conditions(Relation.REPLACE_ONE, Budget(1.0), 1, 2500, Grid.from_bounds("accuracy", (0, 1), 1))
    >>> found = estimate_of_mean(0.6, facts, mechanism="example", resampling=Quadratic(), noise_variance=1e-4)
    >>> round(found.estimate, 6), round(found.sampling_error, 6), round(found.privacy_error, 6)
    (0.8, 0.008, 0.005)
    """
    n, half, centre = float(conditions.n or 0), conditions.half_range, conditions.grid.centre
    inside = min(max(u, -1.0), 1.0)
    sampling = Quadratic(constant=half**2 / n, square=-1.0 / n)
    other = Quadratic(
        constant=half**2 * (resampling.constant + noise_variance),
        linear=half * resampling.linear,
        square=resampling.square,
    )
    low, high = conditions.grid.as_bounds()
    basis = ScoreArrays.single(
        half * u,
        shift=centre,
        sampling=sampling,
        noise=other,
        low=low,
        high=high,
        noise_law=noise_law,
        method=mechanism,
        margin=conditions.grid.rounding,
    )
    resampled = resampling.constant + inside * (resampling.linear + inside * resampling.square)
    return Estimate(
        statistic="score",
        column=None,
        cell={},
        estimate=centre + half * inside,
        sampling_error=half * math.sqrt(max(0.0, 1.0 - inside**2) / n),
        bootstrap_error=half * math.sqrt(max(0.0, resampled)),
        privacy_error=half * math.sqrt(noise_variance),
        method=mechanism,
        n_resamples=None,
        reliable=True,
        note=None,
        covers=COVERS,
        basis=basis,
    )


def two_sided(beta: float) -> float:
    """Return z such that a standard normal lies beyond ±z with probability `beta`, however small.

    >>> round(two_sided(0.05), 2)
    1.96
    """
    return -NormalDist().inv_cdf(max(beta, 1e-300) / 2.0)


def counts_design(conditions: Conditions, law: NoiseLaw) -> CountsDesign:
    """Return the design that counts records of loss 1 (and, where n is private, those of loss 0)."""
    missing = Missing.DECLARED_COMPLETE
    return CountsDesign(Proportion(_COLUMN, 1), (), _facts(conditions), missing, law, _REASON)


def moments_design(conditions: Conditions, law: NoiseLaw) -> MomentsDesign:
    """Return the design that adds up losses on their grid, and their squares."""
    missing = Missing.DECLARED_COMPLETE
    return MomentsDesign(Mean(_COLUMN, conditions.grid), (), _facts(conditions), missing, law, law, _REASON)


def noisy_sums(
    design: CountsDesign | MomentsDesign, described: Counts | Moments, histogram: Histogram, noise: NoiseSource
) -> Drawn:
    """Return the sums of the losses with noise, in records."""
    values = design.table(histogram, described, noise).values[0]
    return Drawn(tuple((values / list(_units(described).values())).tolist()))


def read_sums(design: CountsDesign | MomentsDesign, described: Counts | Moments, drawn: Drawn, *, name: str) -> Answer:
    """Read noisy sums of the losses."""
    units = _units(described)
    names = design.features if isinstance(design, CountsDesign) else tuple(units)
    values = np.array([drawn.numbers]) * list(units.values())
    table = AdditiveTable(({},), names, values, described.table_spread(names), described.noise_law.name)
    sums = None
    if design.facts.relation is Relation.ADD_REMOVE:
        first, second = drawn.numbers[:2]
        sums = (first + second, first - second) if isinstance(design, CountsDesign) else (first, second)
    return Answer(read_table(design, table, name=name), sums=sums)


def restated_sums(design: CountsDesign | MomentsDesign, described: Counts | Moments) -> Single:
    """Return a description of noisy sums, with the cells or the layout of a design."""
    if isinstance(design, CountsDesign):
        return replace(described, cells=len(design.features))
    return replace(described, layout=design.layout)


def _units(described: Counts | Moments) -> dict[str, float]:
    """Return the names of the numbers that are drawn, and what a record is in each."""
    if isinstance(described, Counts):
        return {str(cell): 1.0 for cell in range(described.cells)}
    reach = float(described.layout.reach)
    return {name: {"total": reach, "square": reach**2}.get(name, 1.0) for name in described.noise.coordinates()}


def read_table(design: CountsDesign | MomentsDesign, table: AdditiveTable, *, name: str) -> Estimate:
    """Read noisy sums as a score."""
    (estimate,) = design.estimates(table)
    return replace(estimate, statistic="score", column=None, method=name, covers=COVERS)


def _facts(conditions: Conditions) -> PublicFacts:
    return PublicFacts(conditions.relation, "row", Target.POPULATION, conditions.n)
