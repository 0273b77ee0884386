"""The step before data are read: the price is reserved in a ledger, or nowhere, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from hedgerow.accounting.certificate import Certificate
from hedgerow.errors import LedgerError, SpentError
from hedgerow.ledger.entry import Replay, fingerprint_of
from hedgerow.ledger.guarantee import Price
from hedgerow.ledger.store import Ledger
from hedgerow.mechanisms.mechanism import parts_of


class Reservation(Protocol):
    """A price that is spent from here on, whatever happens."""

    def record(self, result: str) -> str | None:
        """Keep the released text beside the entry; return the head of the ledger."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """The request was released before under the same id: its text, at no further price."""

    result: str
    head: str


class Spending(Protocol):
    """Where prices are reserved."""

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Make the price durable, or refuse it with `BudgetExceeded`; nothing was read yet."""
        ...


class NoLedger:
    """No budget is kept: every call carries its own certificate, and their prices add up."""

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> NoLedger:
        """Do nothing."""
        return self

    def record(self, result: str) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class InLedger:
    """Prices are reserved in the ledger at a path, which must be there: a mistyped path creates nothing."""

    path: Path

    def reserve(self, certificate: Price, request: Mapping[str, Any], request_id: str | None) -> Reservation | Answered:
        """Reserve under an id; the same request under the same id is answered from what was recorded.

        Raises
        ------
        BudgetExceeded
            HG310: nothing was spent.
        LedgerError
            HG301 to HG312, HG316: the ledger is missing, damaged, locked, for another guarantee, or the id was used for
            another request.
        SpentError
            HG607: the disk failed after the reservation had reached it.
        """
        name, refused = uuid4().hex if request_id is None else request_id, None
        with Ledger.open(self.path) as ledger:
            try:
                found = ledger.reserve(certificate, request_id=name, fingerprint=fingerprint_of(request))
            except LedgerError as failure:
                refused = failure
        if refused is not None:
            # A transaction whose end failed may be on the disk all the same, and is then as good as any other.
            raise _spent_after_all() if refused.code == "HG307" and _holds(self.path, name) else refused
        if isinstance(found, Replay):
            return Answered(found.result, str(found.head))
        return _Entry(self.path, found.request_id)


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    request_id: str

    def record(self, result: str) -> str:
        # Opened anew: counting may have taken hours, and a connection must not be held for them.
        with Ledger.open(self.path) as ledger:
            return str(ledger.record(self.request_id, result))


def _holds(path: Path, name: str) -> bool:
    try:
        with Ledger.open(path) as ledger:
            return any(entry.request_id == name for entry in ledger.entries())
    except LedgerError:
        # It could be read a moment ago. Now nobody can say, so it counts as spent.
        return True


def _spent_after_all() -> SpentError:
    return SpentError(
        "HG607",
        rule="A reservation that is on the disk is spent.",
        finding="The disk failed meanwhile, and it is there or cannot be looked for. No data were read.",
        remedy="Count the price of this call as spent, and mend the disk before the next.",
    )


def spending_in(ledger: str | Path | None, certificate: Price) -> Spending:
    """Return where a price is reserved: nowhere without a ledger, or where nothing is to be paid."""
    free = isinstance(certificate, Certificate) and parts_of(certificate.mechanism) == ()
    return NoLedger() if ledger is None or free else InLedger(Path(ledger))
