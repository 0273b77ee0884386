"""One call, one release: what every statistic of a call needs, as joint moments asked, drawn and read together.

Statistics are smooth functions of the means of some columns. Their moments are sums over the records in which all these
columns have a value, so that covariances between the means are known too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from hedgerow.release.designs.joint_choice import Asked, JointChoice, Slopes, choose_joint, moment_of
from hedgerow.resampling.grid_sums import GridSums

_TYPICAL = 1000.0  # records of a cell, where nothing is known of them


@dataclass(frozen=True, slots=True)
class JointDesign:
    """The joint moments of some columns by cell, and the functions that are read from them.

    Attributes
    ----------
    values : tuple of ValueOnGrid or Indicator
        The columns; feature i is the i-th, scaled to [−1, 1] (an indicator: −1 or 1).
    functions : tuple of SmoothFunction
        What was asked, as functions of the totals (N, Σ f_1, …) of a cell.
    by : tuple of Category
    facts : PublicFacts
    missing : Missing
        What becomes of a record in which one of the values is missing.
    """

    values: tuple[ValueOnGrid | Indicator, ...]
    functions: tuple[SmoothFunction, ...]
    by: tuple[Category, ...]
    facts: PublicFacts
    missing: Missing

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

    def choice(self, budget: Budget) -> JointChoice:
        """Return the mechanism of least forecast error, with the runner-up; from public facts."""
        layout, n = self.layout, self.facts.n
        slopes = tuple(self._slopes(function) for function in self.functions)
        guess = _TYPICAL if n is None else max(1.0, n / layout.cells)
        known = layout.presence == "public" and n is not None
        asked = Asked(layout, slopes, guess, known, self.facts.census, covariances=True)
        return choose_joint(asked, budget, self.facts.relation)

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
        d, layout = len(self.values), self.layout
        n = self.facts.n if self.facts.relation is Relation.REPLACE_ONE else None
        pairs = [(a, b) for a in range(d + 1) for b in range(a, d + 1)]
        read = pairs[: d + 1] if self.facts.census else pairs
        wanted = [moment_of(a, b, layout) for a, b in read]
        reading = mechanism.reading(wanted, n=n if layout.presence == "public" else None)
        moments = np.zeros((len(table.values), d + 1, d + 1))
        rows, columns = np.array(read).T
        moments[:, rows, columns] = moments[:, columns, rows] = reading.values(table.values)
        mixing = np.zeros((len(pairs), reading.mixing.shape[1]))
        mixing[: len(read)] = reading.mixing
        found = JointTotals(moments[:, 0, 0], moments[:, 0, 1:], moments[:, 1:, 1:], mixing, table.noise_law, n)
        if not self.facts.census:
            return found
        # What is subtracted for the noise leaves no variance at all.
        rest = np.maximum(found.positive_count - 1.0, 0.0)[:, None, None]
        return replace(found, products=found.products - found.feature_covariance() * rest)

    def _slopes(self, function: SmoothFunction) -> Slopes:
        def slopes(totals: Floats) -> Floats:
            return np.asarray(gradient(function, totals[None, :])[0], dtype=np.float64)

        return slopes
