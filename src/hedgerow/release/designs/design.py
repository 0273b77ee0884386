"""A design: how one statistic is released, priced and read, decided from public facts before any data are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hedgerow.engines.query import Query
from hedgerow.facts.relation import Relation, Target
from hedgerow.facts.unit import UnitLimit
from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.mechanism import Single
from hedgerow.noise.source import NoiseSource
from hedgerow.release.draw.table import AdditiveTable
from hedgerow.resampling.histogram import Histogram
from hedgerow.resampling.statistic import Statistic


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """What is public about the records of a survey: whom the guarantee protects, and n where the relation shows it."""

    relation: Relation
    unit: str | UnitLimit
    target: Target
    n: int | None

    @property
    def limit(self) -> UnitLimit | None:
        """The limit of rows where units have several; n then counts units."""
        return self.unit if isinstance(self.unit, UnitLimit) else None

    @property
    def census(self) -> bool:
        """Whether the records are all there is to know, so that sampling error is 0."""
        return self.target is Target.FILE


class Design(Protocol):
    """One statistic's way through a release."""

    @property
    def query(self) -> Query:
        """The one question to the engine."""
        ...

    @property
    def method(self) -> str:
        """Name of the method, as in the contract."""
        ...

    @property
    def reason(self) -> str:
        """Why this method, in a sentence."""
        ...

    def mechanism(self, mu: float) -> Single:
        """Return the mechanism whose noise is the sensitivity divided by μ."""
        ...

    def table(self, histogram: Histogram, mechanism: Single, source: NoiseSource) -> AdditiveTable:
        """Add noise to the histogram's sums."""
        ...

    def estimates(self, table: AdditiveTable) -> Sequence[Estimate]:
        """Read the table. Post-processing."""
        ...


@dataclass(frozen=True, slots=True)
class PlannedStatistic:
    """One statistic with its design and mechanism; both None where the answer is public and free."""

    statistic: Statistic
    design: Design | None
    mechanism: Single | None
