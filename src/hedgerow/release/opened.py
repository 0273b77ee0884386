"""What a table or a search needs of an opened survey: where to count, whom to protect, what is declared, the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hedgerow.engines.source import ColumnSource
from hedgerow.facts.declared import Facts, Protection
from hedgerow.release.spend import Account


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """An opened source with its public facts.

    Attributes
    ----------
    source : ColumnSource
        Where histograms are counted.
    protection : Protection
        Relation, unit and target in force.
    facts : Facts or None
        What is declared about the source.
    n : int or None
        The number of units, under replace-one.
    ledger : Path or None
        Where prices are reserved.
    backend : str or None
        The caller's own frame library.
    identity : str
        What identifies the source: a path, a URL without its password, or the identity of a frame.
    """

    source: ColumnSource
    protection: Protection
    facts: Facts | None
    n: int | None
    ledger: Path | None
    backend: str | None
    identity: str = ""

    def account(self, request_id: str | None) -> Account:
        """Return where a call on this source is paid."""
        return Account(None if self.facts is None else self.facts.budget, self.ledger, request_id)
