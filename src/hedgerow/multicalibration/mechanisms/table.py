"""``table``: one noisy count table, atom × score bin × label; all calibration after it is post-processing.

Guarantee   ε-differential privacy of the model and of everything read from it. One record has one atom, one score bin
and one label, so it is in ONE cell of the table: under add-remove one count moves by 1, under replace-one two do. Each
count gets two-sided geometric noise, P(z) ∝ exp(−|z|/scale); scale = 1/ε₁ under add-remove, 2/ε₁ under replace-one
(multicalibration.md). Where the scores of each bin lie is released beside it in the same way at ε₂ (`bin_means`), ε₁ +
ε₂ = ε.

However many rounds of calibration, buckets, groups and metrics are read from the table, nothing more is paid. It is the
mechanism of choice wherever the atoms are few; its size is atoms × bins × 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import Budget
from hedgerow.mechanisms.mechanism import Composition, GeometricCounts, Single
from hedgerow.multicalibration.groups.family import Family
from hedgerow.multicalibration.mechanisms.bin_means import PLACED, exact_places, means_of
from hedgerow.multicalibration.mechanisms.mechanism import Fitted, Setting, least_noise_for
from hedgerow.multicalibration.mechanisms.read_table import BINARY, read_table
from hedgerow.multicalibration.model.records import Records
from hedgerow.multicalibration.model.score_bins import ScoreBins
from hedgerow.noise.source import NoiseSource
from hedgerow.noise.table import AdditiveTable
from hedgerow.release.draw.draw import noisy_counts

# Atoms × bins: above, a cell holds less than its noise for any data of common size, and bins are made coarser.
FINE_CELLS = 20_000
MOST_CELLS = 200_000
MOST_BINS, FEWEST_BINS = 40, 10


@dataclass(frozen=True, slots=True)
class Table:
    """The one-shot count table (multicalibration.md).

    Parameters
    ----------
    bins : int, optional
        Logit-spaced score bins; by default 40, or as many as keep atoms × bins ≤ 20,000, at least 10: a public choice.
    z : float
        A cell of the noisy table moves when its residual sum exceeds z standard deviations of the noise in it, privacy
        noise and the binomial noise of labels together.
    place_share : float
        The part of the precision that tells where in their bin scores lie, for those that take few values.

    Examples
    --------
    >>> from hedgerow.facts.relation import Relation
    >>> public = Setting(Family((), depth=1), Relation.ADD_REMOVE, None)
    >>> [part.cells for part in Table().describe(public, Budget(1.0, 0.0)).parts]
    [80, 40]
    """

    bins: int | None = None
    z: float = 2.5
    place_share: float = 0.05

    def __post_init__(self) -> None:
        if self.bins is not None and not (isinstance(self.bins, int) and 2 <= self.bins <= 1000):
            raise ParameterError(
                "HG165", rule="A table has from 2 to 1,000 score bins.", finding=f"Found {self.bins!r}."
            )
        if not self.z >= 0.0:
            raise ParameterError("HG165", rule="`z` of a table is not negative.", finding=f"Found {self.z!r}.")
        if not 0.0 < self.place_share < 1.0:
            raise ParameterError(
                "HG165", rule="`place_share` of a table lies between 0 and 1.", finding=f"Found {self.place_share!r}."
            )

    @property
    def name(self) -> str:
        """``"table"``."""
        return "table"

    @property
    def default_delta(self) -> float:
        """0: the price is pure."""
        return 0.0

    def score_bins(self, family: Family) -> ScoreBins:
        """Return the bins for a family: a public choice."""
        chosen = min(MOST_BINS, max(FEWEST_BINS, FINE_CELLS // family.atoms)) if self.bins is None else self.bins
        return ScoreBins(chosen)

    def describe(self, setting: Setting, budget: Budget) -> Single | Composition:
        """Return what one model needs: the noisy counts, and where in their bins scores lie.

        Raises
        ------
        UncertifiedError
            HG422: the family has too many atoms for a table.
        """
        cells = setting.family.atoms * self.score_bins(setting.family).count
        if cells > MOST_CELLS:
            raise UncertifiedError(
                "HG422",
                rule=f"A count table has at most {MOST_CELLS:,} cells of atom and score bin.",
                finding=f"This family has {setting.family.atoms:,} atoms.",
                remedy='Take fewer or coarser columns, or mechanism="rounds", which needs no atoms.',
            )
        bins, share = self.score_bins(setting.family).count, self.place_share

        def build(precision: float) -> Composition:
            counts = GeometricCounts(1.0 / ((1.0 - share) * precision), 2 * cells)
            return Composition((counts, GeometricCounts(1.0 / (share * precision), bins)))

        return least_noise_for(build, setting, budget)

    def run(
        self, setting: Setting, described: Single | Composition | None, records: Records, noise: NoiseSource
    ) -> Fitted:
        """Release two noisy tables, and read them: only the first line touches records."""
        table, places = self.release(setting, described, records, noise)
        bins = self.score_bins(setting.family)
        count = table.values.sum(axis=1).reshape(-1, bins.count).sum(axis=0)
        means = means_of(places, count, table.sd(BINARY[0]) * math.sqrt(2.0 * setting.family.atoms), bins)
        return read_table((table, places), setting, means, bins, z=self.z)

    def counts(self, records: Records) -> NDArray[np.int64]:
        """Return the exact table, (atoms × bins, 2). PRIVATE."""
        bins = self.score_bins(records.family)
        atom = records.family.atom_codes(records.patterns)[records.pattern]
        cell = (atom * bins.count + bins.of(records.scores)) * 2 + records.label
        counts = np.zeros(records.family.atoms * bins.count * 2, dtype=np.int64)
        np.add.at(counts, cell, records.count)
        return counts.reshape(-1, 2)

    def release(
        self, setting: Setting, described: Single | Composition | None, records: Records, noise: NoiseSource
    ) -> tuple[AdditiveTable, AdditiveTable]:
        """Return both exact tables plus the noise that `described` states: from here on everything is public."""
        if not isinstance(described, Composition):
            raise TypeError("a table runs as it was described")
        counts, placed = described.parts
        bins = self.score_bins(setting.family)
        each = range(bins.count)
        cells = [{"atom": atom, "score_bin": bin_} for atom in range(setting.family.atoms) for bin_ in each]
        places = exact_places(records, bins).reshape(-1, 1)
        return (
            noisy_counts(self.counts(records), counts, noise, cells=cells, features=BINARY),
            noisy_counts(places, placed, noise, cells=[{"score_bin": bin_} for bin_ in each], features=PLACED),
        )
