"""Noise on the exact sum of the losses: what `gaussian` and `laplace` share.

A loss of 0 or 1 is a proportion: its sampling error follows from its value. Any other loss is a mean that is released
with its second moment (moments.md §1), so that the sampling error comes with it. Under add-remove, where n is private,
a noisy number of records is released beside the sum, and divides.
"""

from __future__ import annotations

from dataclasses import replace

from hedgerow.facts.columns import Missing
from hedgerow.facts.relation import Target
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.mechanism import Single
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.counts import CountsDesign
from hedgerow.release.designs.counts import Family as Counts
from hedgerow.release.designs.design import PublicFacts
from hedgerow.release.designs.moments import Family as Moments
from hedgerow.release.designs.moments import MomentsDesign
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.statistic import Mean, Proportion
from hedgerow.testset.mechanisms.conditions import Conditions
from hedgerow.testset.mechanisms.reading import COVERS

_COLUMN, _REASON = "loss", "the score of a test set"


def counts_design(conditions: Conditions, family: Counts) -> CountsDesign:
    """Return the design that counts records of loss 1 (and, where n is private, those of loss 0)."""
    missing = Missing.DECLARED_COMPLETE
    return CountsDesign(Proportion(_COLUMN, 1), (), _facts(conditions), missing, family, _REASON)


def moments_design(conditions: Conditions, family: Moments) -> MomentsDesign:
    """Return the design that adds up losses on their grid, and their squares."""
    missing = Missing.DECLARED_COMPLETE
    return MomentsDesign(Mean(_COLUMN, conditions.grid), (), _facts(conditions), missing, family, family, _REASON)


def draw_and_read(
    design: CountsDesign | MomentsDesign, described: Single, histogram: Histogram, noise: NoiseSource, *, name: str
) -> Estimate:
    """Add noise to the sums of the losses, and read them."""
    return read_table(design, design.table(histogram, described, noise), name=name)


def read_table(design: CountsDesign | MomentsDesign, table: AdditiveTable, *, name: str) -> Estimate:
    """Read noisy sums as a score."""
    (estimate,) = design.estimates(table)
    return replace(estimate, statistic="score", column=None, method=name, covers=COVERS)


def _facts(conditions: Conditions) -> PublicFacts:
    return PublicFacts(conditions.relation, "row", Target.POPULATION, conditions.n)
