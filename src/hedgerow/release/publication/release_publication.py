"""A release as the output formats read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hedgerow.inference.estimate import Estimate, said_once
from hedgerow.release.publication.printed_table import PrintedTable, printed_estimates
from hedgerow.release.publication.shared import hidden_cells

if TYPE_CHECKING:
    from hedgerow.plots.bars import ErrorBar


class _Release(Protocol):
    """What is read of a release."""

    @property
    def source(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def answers(self) -> dict[str, Estimate]: ...
    @property
    def _large(self) -> bool: ...
    def __iter__(self) -> Iterator[Estimate]: ...
    def price(self) -> str: ...
    def to_columns(self, level: float) -> dict[str, list[Any]]: ...
    def _json_parts(self, level: float) -> Iterator[str]: ...
    def _error_bars(self, level: float) -> list[ErrorBar]: ...


@dataclass(frozen=True, slots=True)
class ReleasePublication:
    """A release as the formats read it, with intervals at one level."""

    release: _Release
    level: float
    title: str | None = None

    @property
    def kind(self) -> Literal["release"]:
        """The kind of publication: a release or a table."""
        return "release"

    def lines(self) -> Iterator[Sequence[Any]]:
        """Yield the names of the columns, then one line per estimate."""
        columns = self.columns()
        yield list(columns)
        yield from zip(*columns.values(), strict=True)

    @property
    def large(self) -> bool:
        """Whether there are more cells than a record lists."""
        return self.release._large

    def columns(self) -> dict[str, list[Any]]:
        """Return the estimates as columns of equal length."""
        return self.release.to_columns(self.level)

    def printed(self) -> PrintedTable:
        """Return the estimates for a paper, what was asked with them below."""
        release = self.release
        caption = f"Estimates from {release.source}" if self.title is None else self.title
        estimates = [*release, *release.answers.values()]
        said = [*release.notes, *(estimate.note for estimate in release), *hidden_cells(release)]
        notes = (f"Guarantee: {release.price()}.", *said_once(said))
        return printed_estimates(estimates, caption=caption, notes=notes, level=self.level)

    def json_parts(self) -> Iterator[str]:
        """Yield the JSON text, one line for each estimate and each released table."""
        return self.release._json_parts(self.level)

    def error_bars(self) -> list[ErrorBar]:
        """Return the estimates as bars to be drawn."""
        return self.release._error_bars(self.level)
