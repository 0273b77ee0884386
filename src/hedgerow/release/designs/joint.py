"""One call, one release: what every statistic of a call needs, as joint moments asked, drawn and read together.

Statistics are smooth functions of the means of some columns. Their moments are sums over the records in which all these
columns have a value, so that covariances between the means are known too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from hedgerow.engines.query import CellLabels, Indicator, SumsQuery, ValueOnGrid
from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.facts.columns import Category, Missing
from hedgerow.facts.relation import Relation
from hedgerow.inference.joint.functions import SmoothFunction, gradient
from hedgerow.inference.joint.totals import JointTotals
from hedgerow.mechanisms.description import Floats
from hedgerow.mechanisms.joint_moments import JointMoments
from hedgerow.mechanisms.joint_numbers import JointFeature, JointLayout
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.designs.design import PublicFacts, complete
from hedgerow.release.designs.joint_choice import Asked, JointChoice, Slopes, choose_joint
from hedgerow.resampling.grid_sums import GridSums

_TYPICAL = 1000.0  # records of a cell, where nothing is known of them


@dataclass(frozen=True, slots=True)
class JointDesign:
    """The joint moments of some columns by cell, and the functions that are read from them.

    Attributes
    ----------
    values : tuple of ValueOnGrid or Indicator
        The columns, each scaled to [−1, 1] (an indicator: −1 or 1).
    functions : tuple of SmoothFunction
        What was asked, as functions of the totals (N, Σ f_1, …) of a cell.
    by : tuple of Category
    facts : PublicFacts
    missing : Missing
        What becomes of a record in which one of the values is missing.
    powers : tuple of tuples of whole numbers
        The features: products of powers of the columns, as for a variance, which is a function of the means of u and
        u²; by default each column alone.
    """

    values: tuple[ValueOnGrid | Indicator, ...]
    functions: tuple[SmoothFunction, ...]
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing
    powers: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.facts.limit is not None:
            raise UncertifiedError(
                "HG402",
                rule="Joint moments are certified for units of one row.",
                finding="Units have several.",
                remedy='Use unit="row", or bring the data to one row per unit first.',
            )

    @property
    def layout(self) -> JointLayout:
        """The features as the mechanism sees them: a record has all of them, or is in no cell."""
        known = self.facts.relation is Relation.REPLACE_ONE and not self.by and self.missing is not Missing.DROP
        features = tuple(JointFeature(value.size - 1) for value in self.values)
        return JointLayout(features, "public" if known else "private", len(CellLabels(self.by)))

    @property
    def asked(self) -> Asked:
        """What the release is for, in the words of the choice."""
        layout, n = self.layout, self.facts.n
        slopes = tuple(self._slopes(function) for function in self.functions)
        guess = _TYPICAL if n is None else max(1.0, n / layout.cells)
        known = layout.presence == "public" and n is not None
        return Asked(layout, slopes, guess, known, self.facts.census, covariances=True, powers=self.powers)

    def choice(self, budget: Budget) -> JointChoice:
        """Return the mechanism of least forecast error, with the runner-up; from public facts."""
        return choose_joint(self.asked, budget, self.facts.relation)

    def query(self, mechanism: JointMoments) -> SumsQuery:
        """Return the one question to the engine."""
        needed = frozenset(range(len(self.values)))
        return SumsQuery(self.values, mechanism.monomials(), self.by, needed, None, self.missing)

    def table(self, sums: GridSums, mechanism: JointMoments, source: NoiseSource) -> AdditiveTable:
        """Return the exact sums with noise: what becomes public.

        Raises
        ------
        SpentError
            HG602: a value is missing in a column that was declared complete.
        """
        complete(sums, self.missing)
        return mechanism.noisy(mechanism.exact(sums), source, cells=CellLabels(self.by))

    def totals(self, table: AdditiveTable, mechanism: JointMoments) -> JointTotals:
        """Return the released moments as totals and products of the features, with the noise on them: post-processing.

        Of a census, which has no sampling error, products are such that the features' estimated variance is 0.
        """
        asked = self.asked
        size = 1 + len(asked.features)
        n = self.facts.n if self.facts.relation is Relation.REPLACE_ONE else None
        # The upper triangle by rows, as the noise of totals is listed.
        pairs = list(combinations_with_replacement(range(size), 2))
        read = asked.pairs()
        reading = mechanism.reading([asked.moment(a, b) for a, b in read], n=asked.n if asked.known else None)
        moments = np.zeros((len(table.values), size, size))
        rows, columns = np.array(read).T
        moments[:, rows, columns] = moments[:, columns, rows] = reading.values(table.values)
        mixing = np.zeros((len(pairs), reading.mixing.shape[1]))
        mixing[: len(read)] = reading.mixing
        powers = self.powers or None
        found = JointTotals(moments[:, 0, 0], moments[:, 0, 1:], moments[:, 1:, 1:], mixing, table.noise_law, n, powers)
        if not self.facts.census:
            return found
        # What is subtracted for the noise leaves no variance at all.
        rest = np.maximum(found.positive_count - 1.0, 0.0)[:, None, None]
        return replace(found, products=found.products - found.feature_covariance() * rest)

    def _slopes(self, function: SmoothFunction) -> Slopes:
        def slopes(totals: Floats) -> Floats:
            return np.asarray(gradient(function, totals[None, :])[0], dtype=np.float64)

        return slopes
