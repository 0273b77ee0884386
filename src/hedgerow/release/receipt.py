"""The receipt of what was spent: what the ledger knows of a result, and the one place that a result takes it from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from hedgerow.errors import SpentError

_UNCOUNTED = "No ledger counts this price against the budget of the facts: other calls may spend it again."


def not_on_record() -> SpentError:
    """Return what is said of a result that was released and could not be kept in the ledger (HG606).

    >>> not_on_record().code
    'HG606'
    """
    return SpentError(
        "HG606",
        rule="What was released is kept in the ledger, beside its price.",
        finding="The price is there, but the result could not be written: it is here only, and cannot be shown again.",
        remedy="Keep this result, mend the disk or the permissions, and see `hedgerow ledger verify`.",
    )


def receipts() -> tuple[str, ...]:
    """Return the sentences that a result may carry beside its own: that it is not on record, or on no account."""
    return str(not_on_record()), _UNCOUNTED


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the ledger knows of a result.

    Attributes
    ----------
    head : str or None
        The head of the ledger after the result; None without a ledger.
    replayed : bool
        Whether the ledger's record answered.
    unrecorded : bool
        Whether the ledger holds the price alone: the result could not be written there.
    uncounted : bool
        Whether the facts set a budget, and no ledger counts this call against it.
    """

    head: str | None = None
    replayed: bool = False
    unrecorded: bool = False
    uncounted: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result must carry with it: where it is not on record, or on no account, that."""
        return ((str(not_on_record()),) if self.unrecorded else ()) + ((_UNCOUNTED,) if self.uncounted else ())


class Receivable:
    """A result that takes a receipt: a frozen dataclass with the fields ``ledger_head``, ``replayed`` and others."""

    __slots__ = ()

    def noted(self, notes: Sequence[str]) -> Self:
        """Return the result with further notes."""
        result: Any = self
        noted: Self = replace(result, notes=(*result.notes, *notes))
        return noted

    def received(self, receipt: Receipt) -> Self:
        """Return the result with what the ledger knows of it."""
        noted: Any = self.noted(receipt.notes)
        known: Self = replace(noted, ledger_head=receipt.head, replayed=receipt.replayed, unrecorded=receipt.unrecorded)
        return known
