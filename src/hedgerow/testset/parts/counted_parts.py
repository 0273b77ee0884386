r"""Parts of a test set whose number of records is private: noisy counts of both outcomes of each part.

Under add-remove nobody knows which of the records that were predicted for there are. So each part has two numbers, how
many records it holds and Σ ±1 of their outcomes, with the noise of a plain look, which has these two of all records.
One record comes or goes in one part, so the price is that of a plain look, however many parts there are
(`MomentsGaussian` of so many cells). Records without a group have a part of their own, which only the figure for all
records counts.

Of one record, the number of all known, a part tells twice what a plain look does: not only its outcome, also its place.
So the noise is √2 times that of a plain look, which gives the same bound on the information.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.mechanisms.laws import GAUSSIAN
from hedgerow.mechanisms.noisy_moments import MomentsGaussian
from hedgerow.noise.lattice import NoiseSource
from hedgerow.resampling.counted_values import Histogram
from hedgerow.testset.entries import Entries, entries_of
from hedgerow.testset.mechanisms.look_mechanism import Conditions
from hedgerow.testset.mechanisms.noisy_sum import SummedLosses
from hedgerow.testset.metric import accuracy
from hedgerow.testset.parts.measures import SUBPARTS, CountedOutcomes, Kind

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_CONDITIONS = Conditions(Relation.ADD_REMOVE, Budget(1.0), 1, None, accuracy().grid)
_PLACES = math.sqrt(0.5)  # of μ


@dataclass(frozen=True, slots=True, eq=False)
class CountedParts:
    """What a look by parts asks where the number of records is private.

    Attributes
    ----------
    kind : Kind
        ``"right"`` or ``"classes"``.
    groups : tuple of str
        The names of the groups that were sent; one, "", where none were.
    values : tuple of str
        The same as `Entries.kinds_and_values` tells them; empty where none were sent.
    positive : label
    cell : int array, optional
        The part of each record, where records are at hand.
    """

    kind: Kind
    groups: tuple[str, ...]
    values: tuple[str, ...] = ()
    positive: Any = None
    cell: Integers | None = None
    records: ClassVar[None] = None
    relation: ClassVar[Relation] = Relation.ADD_REMOVE

    @property
    def cells(self) -> int:
        """How many parts there are in all, those of records without a group included."""
        return (len(self.groups) + (self.groups != ("",))) * SUBPARTS[self.kind]

    def asked(self) -> dict[str, Any]:
        """Return what else tells such a look from others: nothing."""
        return {}

    def mechanism(self, mu: float) -> MomentsGaussian:
        """Return the release, which costs less than μ and tells of a record what a plain look of that price may."""
        described: Any = SummedLosses(_CONDITIONS, GAUSSIAN).mechanism(mu * _PLACES)
        return MomentsGaussian(replace(described.layout, cells=self.cells), described.noise)

    def placed(self, predictions: Entries, groups: Entries | None) -> CountedParts:
        """Return the same with the part of each record: that of no group where none was sent for it."""
        parts = SUBPARTS[self.kind]
        called = predictions.equal(entries_of([self.positive]).taken(np.zeros(len(predictions), dtype=np.int64)))
        place = np.zeros(len(predictions), dtype=np.int64)
        if self.values and groups is not None:
            known = {value: number for number, value in enumerate(self.values)}
            place = np.array([known.get(value, len(known)) for value in groups.kinds_and_values()], dtype=np.int64)
        return replace(self, cell=place * parts + (called if parts > 1 else 0))

    def draw(self, described: MomentsGaussian, outcome: NDArray[np.bool_], noise: NoiseSource) -> Floats:
        """Draw the noise, once, and return (N, Σ ±1) of each part, (groups, parts of a group, 2)."""
        cell = np.zeros(0, dtype=np.int64) if self.cell is None else self.cell
        counts = np.bincount(cell * 2 + outcome, minlength=2 * self.cells).reshape(-1, 2)
        rows, index = np.nonzero(counts)
        histogram = Histogram.from_triplets(rows, index, counts[rows, index], cells=self.cells)
        values = described.noisy(histogram, noise, cells=({},) * self.cells).values
        reach = np.array([1.0, float(described.layout.reach)])
        return np.asarray((values / reach).reshape(-1, SUBPARTS[self.kind], 2))

    def of_groups(self, described: MomentsGaussian, sums: Floats) -> list[CountedOutcomes]:
        """Return what noisy sums, (groups, parts of a group, 2), tell of each group and, last, of all records."""
        sd = described.noise.total.in_units / float(described.layout.reach) / math.sqrt(2.0)
        # Outcomes of a part: (N − Σ)/2 are not right or positive, (N + Σ)/2 are. Their noises are independent.
        counts = np.stack([sums[:, :, 0] - sums[:, :, 1], sums[:, :, 0] + sums[:, :, 1]], axis=-1) / 2.0
        shown = [CountedOutcomes(group.ravel(), sd) for group in counts[: len(self.groups)]]
        return [*shown, CountedOutcomes(counts.sum(axis=0).ravel(), sd * math.sqrt(len(counts)))]

    def record(self, sums: Floats) -> dict[str, Any]:
        """Return the parts and their noisy sums as plain JSON data."""
        return {"of": self.kind, "groups": list(self.groups), "sums": sums.tolist()}

    @classmethod
    def from_record(cls, released: Mapping[str, Any]) -> tuple[CountedParts, Floats]:
        """Return the parts and the sums from their record."""
        parts = cls(released["of"], tuple(released["groups"]))
        return parts, np.array(released["sums"], dtype=np.float64).reshape(-1, SUBPARTS[parts.kind], 2)
