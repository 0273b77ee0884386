"""A release of statistics before it is spent: one plan on an opened source, as a product."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.clock import today
from hedgerow.engines.source import ColumnSource
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.noise.lattice import AdditiveTable, NoiseSource
from hedgerow.release.execute import run_reserved
from hedgerow.release.forecast import Forecast
from hedgerow.release.plan import Plan
from hedgerow.release.result import Release, release_from_record
from hedgerow.release.spend import OpenedSource

Drawn = list[AdditiveTable | None]


@dataclass(frozen=True, slots=True)
class StatisticsProduct:
    """A release of statistics: the plan on an opened source, at the price of the plan."""

    plan: Plan
    opened: OpenedSource
    price: Certificate

    @property
    def request(self) -> dict[str, Any]:
        """What the plan was asked for."""
        return self.plan.public_record()

    @property
    def in_words(self) -> tuple[str, ...]:
        """What the plan was asked for, in words."""
        return self.plan.in_words

    def expected(self, *, n: int | None = None) -> Forecast:
        """Return the errors to expect in the worst case; n is a guess where it is private."""
        return self.plan.forecast(n=n)

    def reading(self) -> AbstractContextManager[ColumnSource]:
        """Reach the source for the questions of the plan."""
        return self.opened.source.reading(self.plan.sent())

    def draw(self, source: ColumnSource, noise: NoiseSource) -> Drawn:
        """Read, and add noise."""
        return run_reserved(self.plan, source, noise)

    def read(self, noisy: Drawn) -> Release:
        """Read the estimates from the noisy tables."""
        return Release._of(
            self.plan,
            noisy,
            self.price,
            source=self.opened.source.name,
            backend=self.opened.backend,
            identity=self.opened.identity,
            date=today(),
            about=self.opened.about,
        )

    def write(self, result: Release) -> str:
        """Return the record of the release."""
        return result.to_json()

    def from_record(self, text: str) -> Release:
        """Return the release that wrote a record, on this source."""
        release = release_from_record(text, backend=self.opened.backend)
        return replace(release, _asked=self.plan.request.statistics, _identity=self.opened.identity)
